//! Contacts of bodies with solids given by their signed distance: vertices, and the search over
//! edges (`shape_edges`) and faces (`shape_faces`).

use stiction_geometry::analytic::{MovingSolid, Nearest};
use stiction_math::{Vec3, parallel};

use super::collider::ColliderForm;
use super::emit::{Found, Kind, SolidPoint, Wait};
use super::pairs::{REACH, relisting_threshold};
use super::step::Motion;
use super::supports::{Start, Supports};
use super::world::World;

/// A place of an edge or face counts where it is deeper than the interpolation between places that
/// count already, its corners first, by this fraction of the thickness.
pub(super) const DEEPER: f64 = 0.1;

/// Depth that counts for points at sharp features of a solid. Next to them normals turn within a
/// thickness, and
/// a corner that is just beyond an edge does not stand in for the place above it. A corner δ beyond an edge, at the
/// thickness T, is farther away by δ²/2T and its normal leans by δ/T; the wrench of its force, moments over the
/// longest lever, is off by up to √2 δ/T. With this fraction that is 0.1 at most.
pub(super) const SHARP: f64 = 0.0025;

/// Clearance that is proven together with the absence of a contact of an edge or face, so that it is
/// not checked again before its ends have moved that far, as a fraction of the thickness.
const MARGIN: f64 = 0.05;

/// Normals with a smaller cosine are those of different sides.
const SAME_SIDE: f64 = 0.5;

/// Contacts that a pass over bodies and solids detects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Pass {
    /// Contacts within reach at the start, and those that would come closer than the thickness.
    First,
    /// The latter, and relisted pairs, as among meshes: contacts within reach at the start are listed
    /// already.
    Again,
}

impl World {
    /// Contacts with solids. What is computed at the start of the step is kept in `starts`.
    pub(super) fn on_shapes(
        &self,
        motion: &Motion,
        starts: &mut Vec<Start>,
        pass: Pass,
    ) -> Vec<Found> {
        let mut found = Vec::new();
        self.for_each_near(motion, starts, |search| search.run(pass, &mut found));
        found
    }

    /// The largest fraction of the step for which no vertex, edge or part of a solid comes closer
    /// than `d` [m].
    pub(super) fn safe_from_shapes(&self, motion: &Motion, starts: &mut Vec<Start>, d: f64) -> f64 {
        let mut fraction: f64 = 1.0;
        self.for_each_near(motion, starts, |search| {
            fraction = fraction.min(search.earliest(d));
        });
        fraction
    }

    /// The fraction of [`World::safe_from_shapes`], with the colliders of the pair that limits it.
    pub(super) fn first_of_shapes(
        &self,
        motion: &Motion,
        starts: &mut Vec<Start>,
        d: f64,
    ) -> Option<(f64, [u32; 2])> {
        let mut first: Option<(f64, [u32; 2])> = None;
        self.for_each_near(motion, starts, |search| {
            let fraction = search.earliest(d);
            if fraction < first.map_or(1.0, |f| f.0) {
                first = Some((fraction, [search.body as u32, search.collider]));
            }
        });
        first
    }

    /// Calls `f` for each body and solid that may touch.
    fn for_each_near(&self, motion: &Motion, starts: &mut Vec<Start>, mut f: impl FnMut(&Search)) {
        if motion.shapes.is_empty() {
            return;
        }
        let bodies = |b: &usize| matches!(self.colliders[*b].form, ColliderForm::Body(_));
        let bodies: Vec<(usize, [Vec3; 2])> = (0..self.colliders.len())
            .filter(bodies)
            .filter(|b| self.first_vertex[*b] < self.first_vertex[b + 1])
            .map(|b| (b, self.path_bounds(motion, b)))
            .collect();
        for shape in &motion.shapes {
            let (collider, real) = shape;
            let still = real.without_spin();
            let moving = still.as_ref().unwrap_or(real);
            for (body, bounds) in &bodies {
                let thickness = self.thickness(*collider, *body as u32);
                if !is_near(moving, bounds, REACH * thickness) {
                    continue;
                }
                let name = (*collider, *body as u32);
                let known = starts.binary_search_by_key(&name, |s| (s.collider, s.body));
                let known = known.unwrap_or_else(|place| {
                    starts.insert(place, Start::new(self, motion, shape, *body));
                    place
                });
                f(&Search {
                    world: self,
                    motion,
                    moving,
                    real,
                    collider: *collider,
                    body: *body,
                    thickness,
                    supports: Supports::new(self, motion, moving, &starts[known]),
                });
            }
        }
    }

    /// The edges of a body.
    pub(super) fn edges_of(&self, body: usize) -> &[[u32; 2]] {
        let edges = self.surface.edges();
        let [from, to] = [body, body + 1].map(|b| {
            let vertex = self.first_vertex[b];
            edges.partition_point(|e| e[0] < vertex)
        });
        &edges[from..to]
    }

    /// The triangles of a body.
    pub(super) fn triangles_of(&self, body: usize) -> &[[u32; 3]] {
        let [from, to] = [body, body + 1].map(|b| self.first_triangle[b] as usize);
        &self.surface.triangles()[from..to]
    }

    /// The box around all that a body passes.
    fn path_bounds(&self, motion: &Motion, body: usize) -> [Vec3; 2] {
        let range = self.first_vertex[body] as usize..self.first_vertex[body + 1] as usize;
        let both = [&motion.x0[range.clone()], &motion.x1[range]];
        let far = Vec3::repeat(f64::INFINITY);
        both.into_iter()
            .flatten()
            .fold([far, -far], |[low, high], x| [low.inf(x), high.sup(x)])
    }
}

/// Whether a box comes within `reach` of a solid, by the distance of its middle at the start. What is
/// not finite is near.
fn is_near(moving: &MovingSolid, [low, high]: &[Vec3; 2], reach: f64) -> bool {
    let middle = 0.5 * (low + high);
    // As if the middle of the box stood still while the solid moves.
    let travel = moving.travel(&[[middle; 2]]) + moving.angle() * 0.5 * (high - low).norm();
    let radius = 0.5 * (high - low).norm() + travel;
    let distance = moving.shape.clearance(&moving.pose(0.0).invert(&middle));
    let slack = moving.rounding(&[[*low, *high]]);
    let far = distance - moving.shape.slope() * radius > (reach + slack) * (1.0 + 1e-9);
    !far
}

/// One body and one solid.
pub(super) struct Search<'a> {
    pub world: &'a World,
    pub motion: &'a Motion,
    /// The solid, without a turn about its own axis.
    pub moving: &'a MovingSolid,
    /// The motion of its points.
    real: &'a MovingSolid,
    collider: u32,
    body: usize,
    pub thickness: f64,
    pub supports: Supports<'a>,
}

impl Search<'_> {
    fn run(&self, pass: Pass, found: &mut Vec<Found>) {
        let vertices: Vec<u32> = self.vertices().collect();
        found.extend(gather(&vertices, |_, v, out| self.vertex(*v, pass, out)));
        // No edge or face is deeper in a plane's half-space than its vertices.
        if self.moving.shape.is_plane() {
            return;
        }
        found.extend(gather(self.edges(), |i, e, out| {
            self.edge((i, e), pass, out);
        }));
        if let Some(cell) = self.moving.shape.cell() {
            found.extend(gather(self.triangles(), |_, t, out| {
                self.sampled_face(t, cell, pass, out);
            }));
            return;
        }
        let points = self.moving.shape.points();
        found.extend(gather(self.triangles(), |i, t, out| {
            self.face((i, t), &points, pass, out);
        }));
    }

    fn earliest(&self, d: f64) -> f64 {
        let free = |v: &u32| self.motion.free[*v as usize];
        let moves = |v: &[u32]| v.iter().any(free) && !self.supports.stays_beyond(v, d);
        let vertex = |v: u32| match moves(&[v]) {
            true => self.moving.point_impact(&self.path(v), d),
            false => None,
        };
        let edge = |e: &[u32; 2]| match moves(e) {
            true => self
                .moving
                .edge_impact(&self.path(e[0]), &self.path(e[1]), d),
            false => None,
        };
        let parts = self.moving.shape.points();
        let face = |t: &[u32; 3]| {
            if !moves(t) {
                return None;
            }
            let paths = t.map(|v| self.path(v));
            match self.moving.shape.cell() {
                None => {
                    let rim = self.moving.face_impact(&paths, d);
                    let part = |p: &(Vec3, f64)| self.part_impact(&paths, p, d);
                    let parts = parts.iter().filter_map(part);
                    rim.into_iter().chain(parts).reduce(f64::min)
                }
                Some(cell) => self.lattice_impact(&paths, cell, d).map(|i| i.0),
            }
        };
        let range = self.vertices();
        let time = earliest(1.0, range.len(), |i| vertex(range.start + i as u32));
        if self.moving.shape.is_plane() {
            return time;
        }
        let (edges, faces) = (self.edges(), self.triangles());
        let time = earliest(time, edges.len(), |i| edge(&edges[i]));
        earliest(time, faces.len(), |i| face(&faces[i]))
    }

    fn vertices(&self) -> std::ops::Range<u32> {
        self.world.first_vertex[self.body]..self.world.first_vertex[self.body + 1]
    }

    fn edges(&self) -> &[[u32; 2]] {
        self.world.edges_of(self.body)
    }

    fn triangles(&self) -> &[[u32; 3]] {
        self.world.triangles_of(self.body)
    }

    /// The number of a vertex among those of the body.
    fn number(&self, vertex: u32) -> usize {
        (vertex - self.world.first_vertex[self.body]) as usize
    }

    /// Whether an edge or face is out of reach, or not deeper than its corners. If so, by how much their ends may move
    /// before it is to be checked again [m]. `None` proves nothing.
    pub(super) fn stays_out(&self, vertices: &[u32]) -> Option<f64> {
        let margin = self.supports.stays_above(vertices) - REACH * self.thickness;
        match margin > 0.0 {
            true => Some(margin),
            false => self.supports.stays_level(vertices, self.thickness),
        }
    }

    /// Largest displacement of the ends of some vertices since the step was set [m].
    pub(super) fn moved(&self, vertices: &[u32]) -> f32 {
        let moved = vertices.iter().map(|v| self.motion.moved[*v as usize]);
        moved.fold(0.0, f32::max)
    }

    /// Approach beyond the relisting threshold, for an initial `distance` [m], that a proof of clearance
    /// must exceed to be worth its cost [m].
    pub(super) fn margin(&self, distance: f64) -> f64 {
        match distance > 0.0 {
            true => MARGIN * self.thickness.min(distance) / self.moving.shape.slope().max(1.0),
            false => MARGIN * self.thickness / self.moving.shape.slope().max(1.0),
        }
    }

    fn vertex(&self, v: u32, pass: Pass, found: &mut Vec<Found>) {
        if !self.motion.free[v as usize] {
            return;
        }
        let leaves = &self.supports.start.vertices;
        let (number, moved) = (self.number(v), self.moved(&[v]));
        if pass == Pass::Again && leaves.spare(number, moved) {
            return;
        }
        let distance = self.supports.near(v).distance;
        let is_near = distance <= REACH * self.thickness;
        let again = relisting_threshold(self.thickness, distance);
        let close = match (pass, is_near) {
            (Pass::First, true) => f64::INFINITY,
            (Pass::Again, true) => again,
            (_, false) => self.thickness.max(again),
        };
        let margin = self.supports.stays_above(&[v]) - close;
        if margin > 0.0 {
            leaves.set(number, moved, margin);
            return;
        }
        let path = self.path(v);
        let mut add = |time: f64, deep: bool| {
            let x = self.motion.at(v, time);
            let near = match time > 0.0 {
                true => {
                    let pose = self.moving.pose(time);
                    self.moving.shape.nearest(&pose.invert(&x))
                }
                false => *self.supports.near(v),
            };
            let (vertices, weights) = ([v; 4], [1.0, 0.0, 0.0, 0.0]);
            let one = self.found(Kind::VertexShape, vertices, weights, 0, &near, time);
            found.push(Found { deep, ..one });
        };
        if is_near {
            if pass == Pass::First {
                add(0.0, false);
                return;
            }
        } else if let Some(time) = self.moving.point_impact(&path, self.thickness) {
            add(time, false);
        } else {
            return;
        }
        if pass == Pass::Again
            && let Some(time) = self.deep(distance, |d| self.moving.point_impact(&path, d))
        {
            add(time, true);
            if self.stays_on_side(&[v], time) {
                add(1.0, true);
                if let Some(last) = found.last_mut() {
                    last.spare = true;
                }
            }
        }
    }

    /// Whether the middle of some vertices is on the same side of the solid at a time and at the end.
    ///
    /// A point of a turning solid moves along a chord below its surface, and a sliding feature may follow
    /// it, however often it is relisted. The tangent plane of the solid at the end of the step, below which
    /// a convex solid lies, finally holds it; earlier it would keep off features that move along.
    pub(super) fn stays_on_side(&self, vertices: &[u32], time: f64) -> bool {
        let normal = |time: f64| {
            let pose = self.moving.pose(time);
            let sum: Vec3 = vertices.iter().map(|v| self.motion.at(*v, time)).sum();
            let x = sum / vertices.len() as f64;
            pose.rotation * self.moving.shape.nearest(&pose.invert(&x)).normal
        };
        normal(time).dot(&normal(1.0)) > SAME_SIDE
    }

    /// Time at which a feature that starts at a `distance` [m] is relisted.
    pub(super) fn deep(&self, distance: f64, impact: impl Fn(f64) -> Option<f64>) -> Option<f64> {
        if distance <= 0.0 {
            return None;
        }
        impact(relisting_threshold(self.thickness, distance)).filter(|time| *time > 0.0)
    }

    pub(super) fn path(&self, v: u32) -> [Vec3; 2] {
        [self.motion.x0[v as usize], self.motion.x1[v as usize]]
    }

    pub(super) fn found(
        &self,
        kind: Kind,
        vertices: [u32; 4],
        weights: [f64; 4],
        part: u32,
        near: &Nearest,
        time: f64,
    ) -> Found {
        let pose = self.moving.pose(time);
        // Where that point of the solid is in its own frame.
        let point = match std::ptr::eq(self.real, self.moving) {
            true => near.point,
            false => self.real.pose(time).invert(&pose.apply(&near.point)),
        };
        Found {
            kind,
            vertices,
            weights,
            normal: (pose.rotation * near.normal).normalize(),
            distance: near.distance,
            thickness: self.thickness,
            touch: Some(Box::new(SolidPoint {
                collider: self.collider,
                part,
                from: self.real.pose(0.0).apply(&point),
                to: self.real.pose(1.0).apply(&point),
            })),
            continuous: time > 0.0,
            deep: false,
            wait: Wait::Never,
            spare: false,
        }
    }
}

/// Number of items per task.
const CHUNK: usize = 512;

/// Collects the results of `one` for each item, which it gets with its number, in their order.
pub(super) fn gather<T: Sync>(
    items: &[T],
    one: impl Fn(usize, &T, &mut Vec<Found>) + Sync,
) -> Vec<Found> {
    parallel::gather(items.len(), CHUNK, |range, found| {
        for i in range {
            one(i, &items[i], found);
        }
    })
}

/// The least of `limit` and the times of `count` items.
fn earliest(limit: f64, count: usize, time: impl Fn(usize) -> Option<f64> + Sync) -> f64 {
    let times = parallel::map_ranges(count, CHUNK, |range| {
        range.filter_map(&time).fold(limit, f64::min)
    });
    times.into_iter().fold(limit, f64::min)
}
