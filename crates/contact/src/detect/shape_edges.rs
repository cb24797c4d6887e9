//! Contacts of edges with solids.
//!
//! An edge that lies along a face of a solid is deepest on a whole piece of itself, and one contact
//! there would let it rock. The ends of the piece are where the edge passes the solid's own edges
//! ([`Shape::sharp_places`](stiction_geometry::analytic::Shape::sharp_places)). Of these places and the
//! deepest one, those are listed that are deeper than the interpolation between the ends of the edge and the places
//! listed so far, by [`SHARP`] or [`DEEPER`] of the thickness. What holds the edge of a rigid body on either side does
//! not stand in for the deepest place if its normal leans: an edge that crosses the side of a cone next to the apex is
//! held where it crosses.

use stiction_geometry::analytic::{Nearest, SharpPlace};
use stiction_math::Vec3;

use super::emit::{Found, Kind};
use super::pairs::{REACH, relisting_threshold};
use super::shapes::{DEEPER, Pass, SHARP, Search};
use super::supports::TURNED;
use super::world::NONE;

/// On a sampled mesh, what is deeper than the deepest place plus this fraction of the thickness
/// belongs to a flat piece.
pub(super) const FLAT: f64 = 0.05;

/// A place of an edge that counts.
struct EdgeContact {
    part: u32,
    at: f64,
    near: Nearest,
}

impl Search<'_> {
    pub(super) fn edge(&self, (number, e): (usize, &[u32; 2]), pass: Pass, found: &mut Vec<Found>) {
        if !e.iter().any(|v| self.motion.free[*v as usize]) {
            return;
        }
        let (leaves, moved) = (&self.supports.start.edges, self.moved(e));
        if pass == Pass::Again && leaves.spare(number, moved) {
            return;
        }
        let reach = REACH * self.thickness;
        if let Some(margin) = self.stays_out(e) {
            leaves.set(number, moved, margin);
            return;
        }
        let paths = e.map(|v| self.path(v));
        let ends = e.map(|v| self.supports.near(v).distance);
        let length = (paths[0][0] - paths[1][0]).norm();
        let slope = self.moving.shape.slope();
        let free = 0.5 * (ends[0] + ends[1] - slope * length);
        if free - slope * self.moving.travel(&paths) > reach {
            return;
        }
        let impact = |d: f64| self.moving.edge_impact(&paths[0], &paths[1], d);
        let mut places = Vec::new();
        let distance = self.places(e, 0.0, &mut places);
        if pass == Pass::Again {
            let margin = self.margin(distance);
            if self.is_quiet(&places, distance, &paths, margin) {
                leaves.set(number, moved, margin);
                return;
            }
        }
        let mut listed = false;
        for place in &places {
            if place.near.distance <= reach {
                listed = true;
                if pass == Pass::First {
                    found.push(self.on_edge(e, place, 0.0));
                }
                continue;
            }
            // A place beyond reach that the motion brings down, such as the far end of a body that rocks.
            let along = |k: usize| paths[0][k] * (1.0 - place.at) + paths[1][k] * place.at;
            let path = [along(0), along(1)];
            if let Some(time) = self.moving.point_impact(&path, self.thickness)
                && time > 0.0
                && self.least(e, time) > -self.thickness
            {
                let x = self
                    .moving
                    .pose(time)
                    .invert(&(path[0] + (path[1] - path[0]) * time));
                let near = self.moving.shape.nearest(&x);
                found.push(self.on_edge(e, &EdgeContact { near, ..*place }, time));
            }
        }
        if !listed {
            match impact(self.thickness) {
                Some(time) if time > 0.0 => {
                    self.places(e, time, &mut places);
                    let close = places.iter().filter(|p| p.near.distance <= reach);
                    found.extend(close.map(|p| self.on_edge(e, p, time)));
                }
                Some(_) => {}
                None => return,
            }
        }
        if pass == Pass::Again
            && let Some(time) = self.deep(distance, impact)
        {
            let mut add = |time: f64, spare: bool| {
                self.places(e, time, &mut places);
                let depth = |p: &&EdgeContact| p.near.distance;
                let deepest = places.iter().min_by(|a, b| depth(a).total_cmp(&depth(b)));
                found.extend(deepest.map(|p| Found {
                    deep: true,
                    spare,
                    ..self.on_edge(e, p, time)
                }));
            };
            add(time, false);
            if self.stays_on_side(e, time) {
                add(1.0, true);
            }
        }
    }

    /// Whether nothing happens to an edge that is listed already, wherever its ends are within `margin`
    /// [m] of the given ones: none of the `places` that count at the start comes down to the
    /// thickness from beyond reach, the edge does not do so if there is none within reach, and it does not come
    /// so close that it is relisted. Distances change no more than ends do.
    fn is_quiet(
        &self,
        places: &[EdgeContact],
        distance: f64,
        paths: &[[Vec3; 2]; 2],
        margin: f64,
    ) -> bool {
        let reach = REACH * self.thickness;
        let slack = margin * self.moving.shape.slope();
        let stays = |d: f64| {
            let d = d + slack;
            let impact = self.moving.edge_impact(&paths[0], &paths[1], d);
            impact.is_none()
        };
        let listed = places.iter().any(|p| p.near.distance <= reach);
        if !listed {
            return stays(self.thickness);
        }
        let mut beyond = places.iter().filter(|p| p.near.distance > reach);
        let keeps = |place: &EdgeContact| {
            let along = |k: usize| paths[0][k] * (1.0 - place.at) + paths[1][k] * place.at;
            let path = [along(0), along(1)];
            let impact = self.moving.point_impact(&path, self.thickness + slack);
            impact.is_none()
        };
        let again = relisting_threshold(self.thickness, distance);
        beyond.all(keeps) && (distance <= 0.0 || stays(again))
    }

    /// The least distance of an edge at a time [m]. Far below zero, other places are reached only
    /// through the solid.
    fn least(&self, e: &[u32; 2], time: f64) -> f64 {
        let pose = self.moving.pose(time);
        let x = e.map(|v| pose.invert(&self.motion.at(v, time)));
        self.moving.shape.edge_minimum(&x).nearest.distance
    }

    /// Sets `out` to the places of an edge that count at a time; the least distance of any place [m].
    fn places(&self, e: &[u32; 2], time: f64, out: &mut Vec<EdgeContact>) -> f64 {
        out.clear();
        let pose = self.moving.pose(time);
        let x = e.map(|v| pose.invert(&self.motion.at(v, time)));
        let shape = &self.moving.shape;
        let deepest = shape.edge_minimum(&x);
        let tolerance = DEEPER * self.thickness;
        // The profile of what is listed, in ascending order.
        let profiled = |at: f64, near: &Nearest| (at, near.distance, near.normal);
        let mut profile = [(0.0, x[0]), (1.0, x[1])]
            .map(|(at, x)| profiled(at, &shape.nearest(&x)))
            .to_vec();
        let mut sharp: Vec<SharpPlace> = Vec::new();
        shape.sharp_places(&x, FLAT * self.thickness, &mut sharp);
        let mut candidates: Vec<EdgeContact> = Vec::with_capacity(sharp.len());
        for place in &sharp {
            let point = x[0] + (x[1] - x[0]) * place.at;
            let mut near = shape.nearest(&point);
            if shape.cell().is_some() {
                // Samples round edges off, and a flat piece has one normal.
                near.normal = deepest.nearest.normal;
                near.point = point - near.normal * near.distance;
            }
            // Of a feature that others hide, the place means nothing.
            if place.distance - near.distance.abs() <= tolerance {
                let (part, at) = (place.part, place.at);
                candidates.push(EdgeContact { part, at, near });
            }
        }
        // The one that is deepest below the profile goes first.
        while let Some((i, depth)) = candidates
            .iter()
            .map(|c| below(&profile, c.at, c.near.distance))
            .enumerate()
            .max_by(|a, b| a.1.total_cmp(&b.1).then(b.0.cmp(&a.0)))
            && depth > SHARP * self.thickness
        {
            let place = candidates.remove(i);
            let next = profile.partition_point(|p| p.0 < place.at);
            profile.insert(next, profiled(place.at, &place.near));
            out.push(place);
        }
        let (at, near) = (deepest.at, deepest.nearest);
        let leans = |p: &Place| (p.2 - near.normal).norm_squared() > TURNED * TURNED;
        // Nodes of a body that deforms are held each by its own contacts.
        let rigid = self.world.angular[e[0] as usize] != NONE;
        let counts = match rigid && around(&profile, at).iter().any(leans) {
            true => SHARP,
            false => DEEPER,
        };
        if at > 0.0 && at < 1.0 && below(&profile, at, near.distance) > counts * self.thickness {
            out.push(EdgeContact { part: 0, at, near });
        }
        near.distance
    }

    fn on_edge(&self, e: &[u32; 2], place: &EdgeContact, time: f64) -> Found {
        let vertices = [e[0], e[1], e[1], e[1]];
        let weights = [1.0 - place.at, place.at, 0.0, 0.0];
        self.found(
            Kind::EdgeShape,
            vertices,
            weights,
            place.part,
            &place.near,
            time,
        )
    }
}

/// Place where an edge is held, with its distance [m] and the normal there.
type Place = (f64, f64, Vec3);

/// The two neighbouring places of an ascending profile that a place is between.
fn around(profile: &[Place], at: f64) -> [Place; 2] {
    let next = profile.partition_point(|p| p.0 < at);
    let next = next.clamp(1, profile.len() - 1);
    [profile[next - 1], profile[next]]
}

/// Depth of a place with a distance below the interpolation of a profile [m].
fn below(profile: &[Place], at: f64, distance: f64) -> f64 {
    let [(a, da, _), (b, db, _)] = around(profile, at);
    let part = if b > a { (at - a) / (b - a) } else { 0.0 };
    da + (db - da) * part - distance
}
