//! Contacts between rods that hold from step to step.
//!
//! The closest points of two edges depend on their directions without bound where they are nearly parallel: they jump from
//! one end to the other when rods move by a micrometre. A load that jumps with them bends the rods, which moves the closest
//! points again, and rods that lie along one another never come to rest. Surfaces have vertices above faces next to such
//! edges, which bear the load at definite places; rods have nothing else.
//!
//! So a contact of two rods that bore a load and did not slip stays, at the same material points, as long as it does:
//!
//! ```text
//! n = (x_A − x_B)/‖x_A − x_B‖,      gap = ‖x_A − x_B‖ − t
//! ```
//!
//! This excludes no motion that is possible: no two points of two bodies may be closer than the thickness t, so that
//! ‖x_A − x_B‖ ≥ t holds for any choice of them. When rods slide, roll off or open, these points get farther apart than
//! the closest ones, bear nothing any more and are dropped. At rest the problem of a step is that of the step before, with
//! its solution.
//!
//! The closest points are listed as well where they are closer by more than [`SAME`].

use stiction_geometry::collide::ProximityKind;
use stiction_math::Vec3;

use super::detector::Detector;
use super::emit::{AGAIN, EDGE, FACE, Found, KIND, Kind, VERTEX, Wait};
use super::pairs::REACH;
use super::step::{DetectStep, Motion};
use super::world::World;
use crate::{ContactKey, ContactSet};

/// Slip in one step up to which a contact stays, as a fraction of its thickness.
const SLIP: f64 = 1e-3;

/// Difference of two gaps, as a fraction of the thickness, below which the contacts are the same.
const SAME: f64 = 1e-9;

/// Least cosine between the normals of a contact that stays in two steps (15°).
const TURNED: f64 = 0.966;

/// Most contacts of one pair of features that stay: along a line two of them bear any load.
const MOST: usize = 2;

/// Point of action of a contact on its features, and its load.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct HeldPoint {
    /// Coordinates on the features [1]: one along each of two edges, two on a face, one on an edge.
    pub at: [f64; 2],
    /// The normal impulse [N·s] of a contact that did not slip; zero for all others.
    pub load: f64,
}

/// The vertices of the two features of a key; none if one is a solid.
fn features(world: &World, key: &ContactKey) -> Option<(ProximityKind, [u32; 4])> {
    let number = |name: u64| (name & ((1 << AGAIN) - 1)) as usize;
    let (i, j) = (number(key.first), number(key.second));
    let (edges, triangles) = (world.surface.edges(), world.surface.triangles());
    let p = i as u32;
    Some(match (key.first >> KIND, key.second >> KIND) {
        (VERTEX, VERTEX) => (
            ProximityKind::VertexVertex,
            [p, j as u32, j as u32, j as u32],
        ),
        (VERTEX, EDGE) => {
            let [a, b] = *edges.get(j)?;
            (ProximityKind::VertexEdge, [p, a, b, b])
        }
        (VERTEX, FACE) => {
            let [a, b, c] = *triangles.get(j)?;
            (ProximityKind::VertexFace, [p, a, b, c])
        }
        (EDGE, EDGE) => {
            let ([a, b], [c, d]) = (*edges.get(i)?, *edges.get(j)?);
            (ProximityKind::EdgeEdge, [a, b, c, d])
        }
        _ => return None,
    })
}

/// Signed weights of the vertices of two features at given coordinates.
fn weights(kind: ProximityKind, [s, t]: [f64; 2]) -> [f64; 4] {
    match kind {
        ProximityKind::VertexVertex => [1.0, -1.0, 0.0, 0.0],
        ProximityKind::VertexEdge => [1.0, s - 1.0, -s, 0.0],
        ProximityKind::VertexFace => [1.0, s + t - 1.0, -s, -t],
        ProximityKind::EdgeEdge => [1.0 - s, s, t - 1.0, -t],
    }
}

/// The key of the pair of features without the number of the contact.
pub(super) fn pair_of(key: &ContactKey) -> ContactKey {
    ContactKey {
        first: key.first & !(0xf << AGAIN),
        ..*key
    }
}

impl World {
    /// The coordinates of a contact on its features, named by its key; none but for two rods.
    pub(super) fn coordinates(&self, key: &ContactKey, found: &Found) -> Option<[f64; 2]> {
        let (kind, v) = features(self, key)?;
        let is_thin = |v: u32| self.fans.of(v as usize).is_empty();
        let is_particle = |v: &u32| self.particles.binary_search(v).is_ok();
        let rods = v.iter().all(|v| is_thin(*v) && !is_particle(v));
        if !rods {
            return None;
        }
        let weight = |v: u32| {
            let all = found.vertices.iter().zip(&found.weights);
            all.filter(|(w, _)| **w == v).map(|(_, w)| w.abs()).sum()
        };
        Some(match kind {
            ProximityKind::VertexVertex => [0.0, 0.0],
            ProximityKind::VertexEdge => [weight(v[2]), 0.0],
            ProximityKind::VertexFace => [weight(v[2]), weight(v[3])],
            ProximityKind::EdgeEdge => [weight(v[1]), weight(v[3])],
        })
    }

    /// The contacts of the last step that stay, in ascending order of keys; those `found` at the start
    /// that coincide with them are taken out, and others of the same features move here under names of
    /// their own.
    pub(super) fn held(
        &self,
        motion: &Motion,
        step: &DetectStep,
        found: &mut Vec<Found>,
    ) -> Vec<(ContactKey, Found)> {
        let previous = step.previous;
        if step.held.len() != previous.key.len() || previous.normal.len() != previous.key.len() {
            return Vec::new();
        }
        let all = (0..step.held.len()).filter(|&c| step.held[c].load > 0.0);
        let mut all: Vec<usize> = all.collect();
        let rank = |c: &usize| (pair_of(&previous.key[*c]), previous.key[*c]);
        all.sort_by(|a, b| {
            let load = step.held[*b].load.total_cmp(&step.held[*a].load);
            rank(a)
                .0
                .cmp(&rank(b).0)
                .then(load)
                .then(rank(a).cmp(&rank(b)))
        });
        let mut held: Vec<(ContactKey, Found)> = Vec::new();
        for pair in all.chunk_by(|a, b| rank(a).0 == rank(b).0) {
            let stay = pair.iter().filter_map(|&c| {
                let (key, normal) = (previous.key[c], &previous.normal[c]);
                Some((key, self.stays(motion, &key, step.held[c].at, normal)?))
            });
            held.extend(stay.take(MOST));
        }
        held.sort_by_key(|h| h.0);
        let mut more = Vec::new();
        found.retain(|f| {
            let key = f.key(self);
            let first = held.partition_point(|h| pair_of(&h.0) < key);
            let count = held[first..].iter().take_while(|h| pair_of(&h.0) == key);
            let own = first..first + count.count();
            if own.is_empty() {
                return true;
            }
            if own
                .clone()
                .any(|h| held[h].1.distance - f.distance <= SAME * f.thickness)
            {
                return false;
            }
            let names = (0..=MOST as u64).map(|n| Found::again(key, n));
            let mut names = names.filter(|n| own.clone().all(|h| held[h].0 != *n));
            more.extend(names.next().map(|name| (name, f.clone())));
            false
        });
        held.extend(more);
        held.sort_by_key(|h| h.0);
        held
    }

    /// A contact of the last step at its material points, if they are still close and it has not turned.
    fn stays(
        &self,
        motion: &Motion,
        key: &ContactKey,
        at: [f64; 2],
        before: &Vec3,
    ) -> Option<Found> {
        let (kind, vertices) = features(self, key)?;
        let weights = weights(kind, at);
        let origin = motion.x0[vertices[0] as usize];
        let offset = |i: usize| (motion.x0[vertices[i] as usize] - origin) * weights[i];
        let separation = offset(0) + offset(1) + offset(2) + offset(3);
        let distance = separation.norm();
        let full = self.full_thickness(kind, &vertices);
        let thickness = self.pair_thickness(kind, &vertices, full);
        let near = distance.is_normal() && distance <= REACH * thickness;
        let normal = separation / distance;
        (near && normal.dot(before) >= TURNED).then_some(Found {
            kind: Kind::Pair(kind),
            vertices,
            weights,
            normal,
            distance,
            thickness,
            touch: None,
            continuous: false,
            deep: false,
            wait: Wait::Never,
            spare: false,
        })
    }
}

impl Detector {
    /// Records that a listed contact acts at another place of its features.
    pub(super) fn move_point(&mut self, key: ContactKey, found: &Found) {
        let place = self.points.binary_search_by_key(&key, |p| p.0);
        if let (Ok(place), Some(at)) = (place, self.world.coordinates(&key, found)) {
            self.points[place].1 = at;
        }
    }

    /// For each contact of the step's solution `v` [m/s], `r` [N·s], whether and where it stays in the next
    /// step.
    pub fn hold(&self, contacts: &ContactSet, v: &[Vec3], r: &[Vec3]) -> Vec<HeldPoint> {
        let one = |c: usize| {
            let key = &contacts.key[c];
            let at = self.points.partition_point(|p| p.0 < *key);
            let point = self.points.get(at).filter(|p| p.0 == *key);
            let (Some((_, at)), Some(r)) = (point, r.get(c)) else {
                return HeldPoint::default();
            };
            let (at, normal) = (*at, &contacts.normal[c]);
            let u = contacts.velocity(c, v) + contacts.k[c];
            let slip = (u - normal * u.dot(normal)).norm() * self.motion.h;
            let thickness = features(&self.world, key)
                .map_or(0.0, |(kind, v)| self.world.full_thickness(kind, &v));
            let load = r.dot(normal).max(0.0);
            match slip <= SLIP * thickness {
                true => HeldPoint { at, load },
                false => HeldPoint { at, load: 0.0 },
            }
        };
        (0..contacts.len()).map(one).collect()
    }
}
