//! The block pattern of a contact Jacobian.

use super::config::SmoothError;
use super::contacts::{Pair, SmoothContacts};
use super::world::{Follow, FrameOf, Skin, faceted};
use crate::kinematics::{Blocks, ContactKinematics, Frozen};
use stiction_geometry::collide::point_triangle;

/// The blocks that meet in contacts, gathered over the iterates of a solve.
///
/// A pair lists every sample that its vertex may come to feel during the motion, which in a long
/// step are thousands; at one position it feels a few dozen. A pattern of those alone keeps the matrix sparse.
#[derive(Clone, Debug, Default)]
pub struct JacobianPattern {
    /// By pair, in ascending order: its blocks, ascending.
    cliques: Vec<(u32, Vec<u32>)>,
}

/// Samples count from a little beyond their radius, so that rounding does not lose one.
const ROUNDING: f64 = 1.0 + 1e-9;
/// Radius to which the pattern grows, in radii of samples, so that it need not grow again as soon
/// as something slides.
const SPARE: f64 = 1.1;

impl JacobianPattern {
    /// Forgets all. Needed after every [`SmoothContacts::find`], which numbers pairs anew.
    pub fn clear(&mut self) {
        self.cliques.clear();
    }

    /// Sets of blocks that meet.
    pub fn cliques(&self) -> impl Iterator<Item = &[u32]> {
        self.cliques.iter().map(|c| &c.1[..])
    }
}

impl SmoothContacts {
    /// Extends the pattern to all blocks that [`assemble`](Self::assemble) writes at `at`.
    pub fn grow_pattern(
        &self,
        at: &ContactKinematics,
        pattern: &mut JacobianPattern,
    ) -> Result<(), SmoothError> {
        let mut needed = Vec::new();
        let mut grown = Vec::new();
        for k in self.active(at)? {
            let pair = &self.pairs[k as usize];
            self.blocks_at(pair, at, ROUNDING, &mut needed);
            let place = match pattern.cliques.binary_search_by_key(&k, |c| c.0) {
                Ok(place) => place,
                Err(place) => {
                    pattern.cliques.insert(place, (k, Vec::new()));
                    place
                }
            };
            let clique = &mut pattern.cliques[place].1;
            if needed.iter().all(|b| clique.binary_search(b).is_ok()) {
                continue;
            }
            self.blocks_at(pair, at, SPARE, &mut grown);
            clique.append(&mut grown);
            clique.sort_unstable();
            clique.dedup();
        }
        Ok(())
    }

    /// The blocks that the forces of a pair with a deforming surface depend on, in no order.
    pub(super) fn blocks_in_reach(&self, pair: &Pair, at: &ContactKinematics, out: &mut Vec<u32>) {
        self.blocks_at(pair, at, ROUNDING, out);
    }

    /// The blocks of a pair whose samples are within so many of their radii, in no order.
    fn blocks_at(&self, pair: &Pair, at: &ContactKinematics, radii: f64, out: &mut Vec<u32>) {
        out.clear();
        self.world.blocks_of(pair.query, out);
        let part = &self.world.colliders[pair.surface as usize];
        if !matches!(part.skin, Skin::Deforming(_)) {
            if let Follow::Framed(FrameOf::Rigid { block, .. }) = part.follow {
                out.extend([block, block + 1]);
            }
            return;
        }
        self.blocks_of_samples(pair, at, radii, out);
        if let Some(lagged) = &self.lagged {
            let (kept, now) = (&lagged.kept, at);
            self.blocks_of_samples(pair, &Frozen { kept, now }, radii, out);
        }
    }

    fn blocks_of_samples(
        &self,
        pair: &Pair,
        at: &impl Blocks<f64>,
        radii: f64,
        out: &mut Vec<u32>,
    ) {
        let part = &self.world.colliders[pair.surface as usize];
        let Skin::Deforming(samples) = &part.skin else {
            return;
        };
        let x = |vertex: u32| self.world.motion(vertex, at).x.plain();
        let query = x(pair.query);
        if faceted(samples) {
            // The closest counts, and those nearly as close may become the closest.
            let closest = self.closest_facet(pair, samples, at);
            for near in &self.near[pair.near.clone()] {
                let sample = &samples[near.sample as usize];
                let limit =
                    closest.map_or(0.0, |c| radii * c.0.distance) + (radii - 1.0) * sample.radius;
                if point_triangle(&query, &sample.corners.map(x)).squared <= limit * limit {
                    for corner in sample.corners {
                        self.world.blocks_of(corner, out);
                    }
                }
            }
            return;
        }
        for near in &self.near[pair.near.clone()] {
            let sample = &samples[near.sample as usize];
            let [p, q, r] = sample.corners.map(x);
            let [a, b, c] = sample.weights;
            if (query - (p * a + q * b + r * c)).norm() < radii * sample.radius {
                for corner in sample.corners {
                    self.world.blocks_of(corner, out);
                }
            }
        }
    }
}
