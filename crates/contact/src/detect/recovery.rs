//! Overlaps are removed without energy.
//!
//! A contact whose points are closer than the thickness could demand that they part within the step,
//! at the speed −gap/h. Bodies that start within the thickness, or come to be there when a contact
//! appears late, would be launched, the faster the smaller the step. So an overlap that two colliders
//! have when they first touch is kept at first, and removed at a rate of one thickness in [`RELEASE`],
//! slowly enough that its energy does not count. All that goes deeper, or is deeper than the thickness,
//! is removed at once: errors of a step (curved paths, turning normals, a solver's tolerance) do
//! not accumulate.
//!
//! The rest of an overlap is carried from step to step with its contact. Features that are new, because
//! bodies slide, take over the largest remaining overlap of their two colliders. They may be deeper than
//! that because the step lost it, by no more than their displacement, which is removed at once, or because
//! they were not listed while others were released, as where bodies bend: that overlap is released as one
//! that is new.
//!
//! A contact found by its motion removes no overlap. Its features may overlap at the start all the same, where
//! closer ones were listed for their bodies: that overlap is its remaining one. (Counted as none, it was removed within
//! the next step if the features were the closest then: bodies of two meshes were launched by a whole thickness.)
//!
//! All of this is independent of the time step and of scale.

use stiction_geometry::collide::{ProximityKind, point_edge};
use stiction_math::Vec3;

use super::emit::{AGAIN, EDGE, FACE, Found, KIND, Kind, SOLID, VERTEX};
use super::revise::closest;
use super::step::Motion;
use super::world::World;
use crate::{ContactKey, ContactSet};

/// Time in which an overlap of a whole thickness is removed from points at rest [s].
const RELEASE: f64 = 5.0;

/// The overlaps that the last step left.
#[derive(Clone, Debug, Default)]
pub(super) struct Recovery {
    /// Remaining overlap of each contact [m], in ascending order of keys.
    contacts: Vec<(ContactKey, f64)>,
    /// The largest of two colliders [m], in ascending order.
    pairs: Vec<([u32; 2], f64)>,
}

impl Recovery {
    /// Takes the contacts of the last step, with their gaps and corrections as far as they are known.
    pub(super) fn set(&mut self, world: &World, previous: &ContactSet) {
        self.contacts.clear();
        self.pairs.clear();
        let n = previous.key.len();
        if previous.gap.len() != n || previous.correction.len() != n {
            return;
        }
        let left = |c: usize| (previous.correction[c] - previous.gap[c]).max(0.0);
        self.contacts
            .extend((0..n).map(|c| (previous.key[c], left(c))));
        sort(&mut self.contacts);
        let pairs = self.contacts.iter();
        self.pairs
            .extend(pairs.filter_map(|(key, left)| Some((world.pair(key)?, *left))));
        sort(&mut self.pairs);
        self.pairs.dedup_by_key(|p| p.0);
    }

    /// The part of an overlap `gap` [m], both below zero, that a step of `h` [s] takes out. `lost` is the most
    /// that a step may have lost where the points are [m].
    pub(super) fn correction(
        &self,
        world: &World,
        key: ContactKey,
        gap: f64,
        thickness: f64,
        h: f64,
        lost: impl FnOnce() -> f64,
    ) -> f64 {
        let left = self.left(world, key, -gap, thickness, lost);
        gap + (left - h * thickness / RELEASE).max(0.0)
    }

    /// The part of an `overlap` [m] at the start of a step that is not removed at once.
    pub(super) fn left(
        &self,
        world: &World,
        key: ContactKey,
        overlap: f64,
        thickness: f64,
        lost: impl FnOnce() -> f64,
    ) -> f64 {
        let own = find(&self.contacts, &key);
        let of_pair = || find(&self.pairs, &world.pair(&key)?);
        let left = match own.or_else(of_pair) {
            // Taken out within a step, all of it would launch bodies in a short one.
            Some(left) if own.is_none() && left < overlap => left.max(overlap - lost()),
            Some(left) => left,
            None => overlap,
        };
        left.min(overlap).min(thickness)
    }

    pub(super) fn bytes(&self) -> usize {
        size_of_val(&self.contacts[..]) + size_of_val(&self.pairs[..])
    }
}

/// By name, and of one name the largest number first.
fn sort<K: Ord>(list: &mut [(K, f64)]) {
    list.sort_unstable_by(|a, b| a.0.cmp(&b.0).then(b.1.total_cmp(&a.1)));
}

/// The number of the first entry with the given name.
fn find<K: Ord>(sorted: &[(K, f64)], name: &K) -> Option<f64> {
    let at = sorted.partition_point(|s| s.0 < *name);
    sorted.get(at).filter(|s| s.0 == *name).map(|s| s.1)
}

impl World {
    /// The overlap of the features of a contact at the start of the step, wherever its points are [m]; not more than
    /// the thickness.
    pub(super) fn overlap_at_start(&self, motion: &Motion, found: &Found) -> f64 {
        let x = found.vertices.map(|v| motion.x0[v as usize]);
        let along = |separation: &Vec3| {
            let distance = separation.norm();
            distance.copysign(separation.dot(&found.normal))
        };
        let distance = match found.kind {
            Kind::Pair(kind @ (ProximityKind::EdgeEdge | ProximityKind::VertexFace)) => {
                closest(kind, &x, &found.normal).distance
            }
            Kind::Pair(ProximityKind::VertexVertex) => along(&(x[0] - x[1])),
            Kind::Pair(_) => along(&point_edge(&x[0], &[x[1], x[2]]).separation),
            _ => {
                let solid = |t: &u32| motion.shapes.iter().find(|s| s.0 == *t);
                let touched = found.touch.as_ref().map(|t| t.collider);
                let Some((_, moving)) = touched.as_ref().and_then(solid) else {
                    return 0.0;
                };
                let point = x.iter().zip(&found.weights).map(|(x, w)| x * *w).sum();
                let local = moving.pose(0.0).invert(&point);
                moving.shape.nearest(&local).distance
            }
        };
        // Features that are far apart may begin on any side.
        match distance.abs() < found.thickness {
            true => (found.thickness - distance).min(found.thickness),
            false => 0.0,
        }
    }

    /// The colliders of the features that a key names.
    fn pair(&self, key: &ContactKey) -> Option<[u32; 2]> {
        Some([self.collider(key.first)?, self.collider(key.second)?])
    }

    fn collider(&self, name: u64) -> Option<u32> {
        let number = (name & ((1 << AGAIN) - 1)) as usize;
        let vertex = match name >> KIND {
            VERTEX => number as u32,
            EDGE => self.surface.edges().get(number)?[0],
            FACE => self.surface.triangles().get(number)?[0],
            SOLID => return Some((number >> 16) as u32),
            _ => return None,
        };
        self.owner.get(vertex as usize).copied()
    }
}
