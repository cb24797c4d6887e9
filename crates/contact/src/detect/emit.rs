//! Writes detected contacts to the columns of a contact set.

use stiction_geometry::collide::ProximityKind;
use stiction_math::Vec3;

use super::pairs::REACH;
use super::recovery::Recovery;
use super::stencil::{Arc, Stencil};
use super::step::Motion;
use super::world::World;
use crate::{Contact, ContactKey, ContactSet};

/// Points that move faster along each other at the start of a step slide [m/s]: above the residual
/// of solvers at a sticking contact, and far below any visible motion.
const SLIDING: f64 = 1e-5;

/// Which features touch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Kind {
    /// Two features of meshes.
    Pair(ProximityKind),
    /// A vertex, edge or face and a solid.
    VertexShape,
    EdgeShape,
    FaceShape,
}

/// When a contact is listed. While contacts of the list are violated, they may yet keep other pairs apart.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Wait {
    /// At once.
    Never,
    /// When its approach [m/s] exceeds every violation of the list.
    Sinks(f64),
    /// When no contact of the list is violated by much.
    Holds,
    /// It is no contact, but a pair to be watched, with the distance that it should keep [m].
    Watch(f64),
}

/// A contact before it is written.
#[derive(Clone, Debug)]
pub(super) struct Found {
    pub kind: Kind,
    /// Vertices and their weights as in `collide::Contact`; of a solid only the first side.
    pub vertices: [u32; 4],
    pub weights: [f64; 4],
    /// Unit vector from the second side to the first.
    pub normal: Vec3,
    /// Distance when it was found [m]; used to tell which of several is nearest.
    pub distance: f64,
    pub thickness: f64,
    /// The solid's side. Apart, as most contacts have none and lists of them are long.
    pub touch: Option<Box<SolidPoint>>,
    /// Found by its motion, not by its distance at the start.
    pub continuous: bool,
    /// Found deep within the thickness: listed even if its pair is.
    pub deep: bool,
    /// Further condition for its listing.
    pub wait: Wait,
    /// Deep at the end of the step: listed if its pair reached the relisting limit.
    pub spare: bool,
}

/// A moving point of a solid.
#[derive(Clone, Copy, Debug)]
pub(super) struct SolidPoint {
    pub collider: u32,
    /// Which point of the solid: zero if it is simply the closest.
    pub part: u32,
    /// Positions at the start and at the end of the step [m].
    pub from: Vec3,
    pub to: Vec3,
}

/// Bit layout of a name in a contact key: the kind of the feature above `KIND`, how often its pair was
/// listed before above `AGAIN`, its number below.
pub(super) const VERTEX: u64 = 1;
pub(super) const EDGE: u64 = 2;
pub(super) const FACE: u64 = 3;
pub(super) const SOLID: u64 = 4;
pub(super) const KIND: u32 = 60;
pub(super) const AGAIN: u32 = 56;

/// The vertices of two features that stay a pair while they slide: vertex and face or two edges.
pub(super) fn lasting_vertices(
    world: &World,
    key: &ContactKey,
) -> Option<(ProximityKind, [u32; 4])> {
    let number = |name: u64| (name & ((1 << AGAIN) - 1)) as usize;
    let (i, j) = (number(key.first), number(key.second));
    match (key.first >> KIND, key.second >> KIND) {
        (VERTEX, FACE) => {
            let [a, b, c] = *world.surface.triangles().get(j)?;
            Some((ProximityKind::VertexFace, [i as u32, a, b, c]))
        }
        (EDGE, EDGE) => {
            let edges = world.surface.edges();
            let ([a, b], [c, d]) = (*edges.get(i)?, *edges.get(j)?);
            Some((ProximityKind::EdgeEdge, [a, b, c, d]))
        }
        _ => None,
    }
}

/// Whether a name is that of a further contact of its pair.
pub(super) fn is_again(key: &ContactKey) -> bool {
    key.first >> AGAIN & 0xf != 0
}

/// The vertex that a name has as its first feature.
pub(super) fn feature(key: &ContactKey) -> Option<u32> {
    let number = key.first & ((1 << AGAIN) - 1);
    (key.first >> KIND == VERTEX).then_some(number as u32)
}

/// The solid that a name has as its second feature, where the closest point of it is meant.
pub(super) fn solid_of(key: &ContactKey) -> Option<u32> {
    let (collider, part) = (key.second >> 16, key.second & 0xffff);
    let is_closest = key.second >> KIND == SOLID && part == 0;
    is_closest.then_some((collider & ((1 << (AGAIN - 16)) - 1)) as u32)
}

impl Found {
    pub(super) fn turn(&mut self) {
        self.normal = -self.normal;
        self.distance = -self.distance;
    }

    /// The name of the pair: the kind of each feature above its number.
    pub(super) fn key(&self, world: &World) -> ContactKey {
        let code = |kind: u64, index: usize| kind << KIND | index as u64;
        let vertex = |v: u32| code(VERTEX, v as usize);
        let edge = |a: u32, b: u32| code(EDGE, world.edge(a.min(b), a.max(b)));
        let face = |a: u32, b: u32, c: u32| code(FACE, world.triangle([a, b, c]));
        let solid = self.touch.as_ref().map_or(0, |t| {
            code(SOLID, 0) | u64::from(t.collider) << 16 | u64::from(t.part)
        });
        let [a, b, c, d] = self.vertices;
        let (first, second) = match self.kind {
            Kind::Pair(ProximityKind::VertexVertex) => (vertex(a), vertex(b)),
            Kind::Pair(ProximityKind::VertexEdge) => (vertex(a), edge(b, c)),
            Kind::Pair(ProximityKind::VertexFace) => (vertex(a), face(b, c, d)),
            Kind::Pair(ProximityKind::EdgeEdge) => (edge(a, b), edge(c, d)),
            Kind::VertexShape => (vertex(a), solid),
            Kind::EdgeShape => (edge(a, b), solid),
            Kind::FaceShape => (face(a, b, c), solid),
        };
        ContactKey { first, second }
    }

    /// The name of a further contact of the pair, the n-th.
    pub(super) fn again(key: ContactKey, n: u64) -> ContactKey {
        ContactKey {
            first: key.first | n << AGAIN,
            ..key
        }
    }

    /// Predicted relative displacement of the two points across the normal and against it [m]: parting is no
    /// approach. `drift` is the velocity that obstacles add [m/s].
    fn approach(&self, motion: &Motion, drift: &Vec3) -> f64 {
        let still = match self.touch {
            Some(_) => drift * motion.h,
            None => Vec3::zeros(),
        };
        let moves = self.vertices.iter().zip(&self.weights);
        let moved = moves.fold(still, |sum, (&v, w)| {
            sum + (motion.x1[v as usize] - motion.x0[v as usize]) * *w
        });
        let along = moved.dot(&self.normal);
        (moved - self.normal * along).norm() + (-along).max(0.0)
    }

    /// The order of contacts: by place in the meshes, so that neighbours are near in memory.
    pub(super) fn order(&self) -> ([u32; 4], Kind, Option<(u32, u32)>, [bool; 3]) {
        let touch = self.touch.as_ref().map(|t| (t.collider, t.part));
        let found = [self.continuous, self.deep, self.spare];
        (self.vertices, self.kind, touch, found)
    }
}

/// Number of contacts at each vertex: areas are shared among them.
#[derive(Debug, Default)]
pub(super) struct Shares(Vec<f64>);

impl Shares {
    pub(super) fn clear(&mut self, vertices: usize) {
        self.0.clear();
        self.0.resize(vertices, 0.0);
    }

    pub(super) fn add(&mut self, found: &Found) {
        for (v, w) in found.vertices.iter().zip(&found.weights) {
            self.0[*v as usize] += w.abs();
        }
    }
}

/// Treatment of overlaps.
#[derive(Clone, Copy)]
pub(super) enum Overlaps<'a> {
    /// At once.
    AtOnce,
    /// Slowly, except for the error of the last step.
    By(&'a Recovery),
    /// All but this much [m]: what a contact that is written again left for later steps.
    AllBut(f64),
}

/// Context in which contacts are written.
pub(super) struct Emission<'a> {
    pub motion: &'a Motion,
    pub shares: &'a Shares,
    pub overlaps: Overlaps<'a>,
    /// Whether contacts are moved to vertices.
    pub relocate: bool,
    /// Arcs of free rigid bodies in the contacts written.
    pub arcs: &'a mut Vec<Arc>,
}

impl World {
    /// Appends a contact; false if nothing in it can move.
    ///
    /// u = B v + k with k = k̇ + (gap/h) n, where k̇ is what prescribed blocks and obstacles do and
    /// gap = n·(x_A − x_B) − t at the start, so that u_N ≥ 0 says that the points are at least t
    /// apart along n at the end of the step [daviet2020, Sect. 4.2]. Both sides are evaluated at one
    /// point of space, see [`Stencil`](super::stencil::Stencil).
    ///
    /// Of an overlap, a step takes out only as much as [`Recovery`] says. What was found by its motion applies no
    /// penetration correction; the overlap that its features have is left to later steps. Its plane may belong to a diverging
    /// iterate, such as light hair that springs from under a load, and one that requires more than rest
    /// would drive bodies that rest. (The spare plane at the end of the step, [`Found::spare`], must
    /// correct penetration: see `stays_on_side`.)
    pub(super) fn emit(
        &self,
        with: &mut Emission,
        found: &Found,
        key: ContactKey,
        out: &mut ContactSet,
    ) -> bool {
        let motion = with.motion;
        let mut stencil = self.stencil(motion, found);
        if with.relocate {
            // The gap is that of the points where it was found.
            let separation = stencil.separation;
            stencil = self.stencil(motion, &self.relocated(found, motion));
            stencil.separation = separation;
        }
        let Stencil { entries, drift, .. } = &stencil;
        if entries.is_empty() {
            return false;
        }
        let first = self.owner[found.vertices[0] as usize];
        let second = match (&found.touch, found.kind) {
            (Some(t), _) => t.collider,
            (None, Kind::Pair(ProximityKind::EdgeEdge)) => self.owner[found.vertices[2] as usize],
            _ => self.owner[found.vertices[1] as usize],
        };
        let gap = found.normal.dot(&stencil.separation) - found.thickness;
        let nearness = nearness(gap, found.thickness);
        let lost = || found.approach(motion, drift);
        let (gap, correction) = match with.overlaps {
            Overlaps::AllBut(left) => (gap, gap + left),
            Overlaps::By(recovery) if found.continuous && !found.spare => {
                let correction = gap.max(0.0);
                let left = match self.overlap_at_start(motion, found) {
                    overlap if overlap > 0.0 => {
                        recovery.left(self, key, overlap, found.thickness, lost)
                    }
                    _ => 0.0,
                };
                (correction - left, correction)
            }
            Overlaps::By(recovery) if gap < 0.0 && !found.spare => {
                let correction =
                    recovery.correction(self, key, gap, found.thickness, motion.h, lost);
                (gap, correction)
            }
            Overlaps::By(_) | Overlaps::AtOnce => (gap, gap),
        };
        let (a, b) = (
            &self.colliders[first as usize],
            &self.colliders[second as usize],
        );
        let law = self.laws.between(a.material, b.material);
        // Where no more than one coefficient is given, nothing needs to be known of the past.
        let slides = || {
            let u = entries
                .iter()
                .fold(*drift, |u, e| u + e.mul(&motion.start[e.node as usize]));
            (u - found.normal * u.dot(&found.normal)).norm() > SLIDING
        };
        let mu = law.kinetic.filter(|_| slides()).unwrap_or(law.mu);
        let (mut cohesion, mut compliance) = (0.0, 0.0);
        if law.cohesion != 0.0 || law.compliance != 0.0 {
            let area = self.contact_area(with.shares, found);
            cohesion = law.cohesion * nearness * area * motion.h;
            if area > 0.0 {
                compliance = law.compliance / (area * motion.h * motion.h);
            }
        }
        let contact = Contact {
            point: stencil.point,
            normal: found.normal,
            k: drift + found.normal * (correction / motion.h),
            mu,
            cohesion,
            compliance,
            gap,
            correction: Some(correction),
            key,
            pair: [a.id, b.id],
        };
        with.arcs.extend(stencil.arcs(out.len(), key));
        out.push_entries(stencil.entries, contact);
        true
    }

    /// The area that a contact stands for [m²]: each vertex of a body shares its third of the
    /// triangles around it (its half of the edges of a rod, as wide as the rod) among the contacts that lean on it; of two bodies, the mean of both
    /// sides.
    fn contact_area(&self, shares: &Shares, found: &Found) -> f64 {
        let mut sides = [(0.0, false); 2];
        for (&v, &w) in found.vertices.iter().zip(&found.weights) {
            let body = matches!(self.owner(v).form, super::ColliderForm::Body(_));
            if w != 0.0 && body {
                let side = &mut sides[usize::from(w < 0.0)];
                let share = w.abs() / shares.0[v as usize].max(1.0);
                side.0 += share * self.area[v as usize];
                side.1 = true;
            }
        }
        let count = sides.iter().filter(|s| s.1).count().max(1);
        (sides[0].0 + sides[1].0) / count as f64
    }
}

/// The fraction of its cohesion with which a contact pulls at a gap: a linear fall-off from one where it is closed to
/// zero at the distance from which pairs are listed at rest, so that no pull begins or ends with a jump
/// [daviet2020, Sect. 7.4].
fn nearness(gap: f64, thickness: f64) -> f64 {
    match gap > 0.0 {
        true => (1.0 - gap / ((REACH - 1.0) * thickness)).max(0.0),
        false => 1.0,
    }
}
