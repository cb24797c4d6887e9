//! Overlaps are taken out without energy.
//!
//! A contact whose points are closer than the thickness could demand that they part within the step,
//! at the speed −gap/h. Things that start within the thickness, or come to be there when a contact appears
//! late, would be launched, the faster the smaller the step. So a step takes out at once only what has
//! been lost since the last one: errors of a step (curved paths, turning normals, a solver's tolerance) do
//! not accumulate. What was there before is taken out at a thickness in [`RELEASE`], slowly enough that
//! its energy does not count.
//!
//! What was there before is, of a contact that the last step had, its gap then. Features that are new,
//! because things slide, are compared with the deepest contact that the two colliders had in the last step;
//! if they had none, nothing was lost.
//!
//! All of this is independent of the time step and of scale.

use super::emit::{AGAIN, EDGE, FACE, KIND, SOLID, VERTEX};
use super::world::World;
use crate::{ContactKey, ContactSet};

/// Time in which an overlap of a whole thickness is taken out from points at rest [s].
const RELEASE: f64 = 5.0;

/// The gaps of the contacts of the last step.
#[derive(Clone, Debug, Default)]
pub(super) struct Recovery {
    /// Gaps [m], in ascending order of keys.
    contacts: Vec<(ContactKey, f64)>,
    /// The least gap of two colliders [m], at most zero, in ascending order.
    pairs: Vec<([u32; 2], f64)>,
}

impl Recovery {
    /// Takes the contacts of the last step, with their gaps as far as they are known.
    pub(super) fn set(&mut self, world: &World, previous: &ContactSet) {
        self.contacts.clear();
        self.pairs.clear();
        if previous.gap.len() != previous.key.len() {
            return;
        }
        let all = previous
            .key
            .iter()
            .copied()
            .zip(previous.gap.iter().copied());
        self.contacts.extend(all);
        self.contacts
            .sort_unstable_by(|a, b| a.0.cmp(&b.0).then(a.1.total_cmp(&b.1)));
        let pairs = self.contacts.iter();
        let pairs = pairs.filter_map(|(key, gap)| Some((world.pair(key)?, gap.min(0.0))));
        self.pairs.extend(pairs);
        self.pairs
            .sort_unstable_by(|a, b| a.0.cmp(&b.0).then(a.1.total_cmp(&b.1)));
        self.pairs.dedup_by_key(|p| p.0);
    }

    /// The part of an overlap `gap` [m], both below zero, that a step of `h` [s] takes out.
    pub(super) fn correction(
        &self,
        world: &World,
        key: ContactKey,
        gap: f64,
        thickness: f64,
        h: f64,
    ) -> f64 {
        let own = find(&self.contacts, &key);
        let before = own.or_else(|| find(&self.pairs, &world.pair(&key)?));
        let lost = before.map_or(0.0, |before| (before.min(0.0) - gap).max(0.0));
        gap.max(-lost - h * thickness / RELEASE)
    }

    pub(super) fn bytes(&self) -> usize {
        size_of_val(&self.contacts[..]) + size_of_val(&self.pairs[..])
    }
}

/// The number of the first entry with the given name.
fn find<K: Ord>(sorted: &[(K, f64)], name: &K) -> Option<f64> {
    let at = sorted.partition_point(|s| s.0 < *name);
    sorted.get(at).filter(|s| s.0 == *name).map(|s| s.1)
}

impl World {
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
