//! Contacts moved to vertices [li2018, Sect. 5.2].
//!
//! A contact at a point of an edge or of a triangle is moved to the nearest vertex of that feature, on each side
//! that follows nodes, so that it becomes a contact of one node per side. Its normal and its gap stay those of the
//! points where it was found: if the vertex approaches by no more than that gap, so does a point that moves with it.
//!
//! **Deviations from the paper**: rigid bodies and obstacles keep their own points, which need no node; of the
//! vertices of a feature only those that can move are taken, because a contact at a pinned one would do nothing.

use super::emit::Found;
use super::step::{Motion, Turn};
use super::world::World;

/// The vertices at which a contact meets, one per side; none on a side that nothing moves.
pub(super) type Meeting = [Option<u32>; 2];

/// For each side, which of the contact's vertices is nearest to it and can move.
fn nearest(found: &Found, motion: &Motion) -> [Option<usize>; 2] {
    let mut nearest: [Option<usize>; 2] = [None; 2];
    for (i, (&v, &w)) in found.vertices.iter().zip(&found.weights).enumerate() {
        let side = &mut nearest[usize::from(w < 0.0)];
        let free = w != 0.0 && motion.free[v as usize];
        // Of equals the lower number, so that the order of a face's vertices does not matter.
        let nearer = |&j: &usize| {
            let (most, own) = (found.weights[j].abs(), found.vertices[j]);
            w.abs() > most || w.abs() == most && v < own
        };
        if free && side.as_ref().is_none_or(nearer) {
            *side = Some(i);
        }
    }
    nearest
}

/// The vertices at which a contact meets.
pub(super) fn meeting(found: &Found, motion: &Motion) -> Meeting {
    nearest(found, motion).map(|n| n.map(|i| found.vertices[i]))
}

impl World {
    /// The contact with the weights of each side that follows nodes moved to the nearest vertex.
    pub(super) fn relocated(&self, found: &Found, motion: &Motion) -> Found {
        let mut moved = found.clone();
        for (side, place) in nearest(found, motion).into_iter().enumerate() {
            let nodal = |i: &usize| {
                let owner = self.owner[found.vertices[*i] as usize];
                motion.turns[owner as usize] == Turn::Nodes
            };
            let Some(place) = place.filter(nodal) else {
                continue;
            };
            let own = |w: &f64| usize::from(*w < 0.0) == side;
            let sum: f64 = found.weights.iter().filter(|w| own(w)).sum();
            moved
                .weights
                .iter_mut()
                .filter(|w| own(w))
                .for_each(|w| *w = 0.0);
            moved.weights[place] = sum;
        }
        moved
    }
}
