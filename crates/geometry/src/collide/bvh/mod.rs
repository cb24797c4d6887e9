//! A bounding volume hierarchy over boxes: which pairs of boxes overlap.
//!
//! Boxes are sorted along a space-filling curve and grouped by eight, groups again by eight, and
//! so on. The tree has no pointers: child k of node i is node 8 i + k of the level below. Refitting
//! to boxes that moved is one linear pass; the order along the curve is kept until
//! [`Bvh::degradation`] says that sorting again pays.
//!
//! Pairs come in ascending order and depend on the boxes alone: not on the number of threads, nor
//! on whether the tree was built or refitted.

mod build;
mod pairs;
mod sort;

pub(crate) use build::along_curve;
pub(crate) use pairs::{Pairs, ordered};

use crate::Aabb;

/// An axis-parallel box in single precision, both corners included.
///
/// Rounding to the nearest single-precision number keeps the order of numbers, so that boxes that
/// overlap still overlap after rounding: no pair is lost. Boxes whose gap is below the resolution
/// of single precision, 6·10⁻⁸ of the coordinates, may be reported as well.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bound {
    /// The corner with the smallest coordinates [m].
    pub min: [f32; 3],
    /// The corner with the largest coordinates [m].
    pub max: [f32; 3],
}

impl Bound {
    /// The box that overlaps nothing.
    pub const EMPTY: Bound = Bound {
        min: [f32::INFINITY; 3],
        max: [f32::NEG_INFINITY; 3],
    };

    /// Whether the boxes share a point.
    pub fn overlaps(&self, other: &Bound) -> bool {
        (0..3).all(|k| self.min[k] <= other.max[k] && other.min[k] <= self.max[k])
    }

    /// The smallest box around both; coordinates must be numbers.
    #[inline]
    pub fn union(&self, other: &Bound) -> Bound {
        // Plain comparisons are one instruction each; `min` and `max` also care for what is not
        // a number.
        let less = |a: f32, b: f32| if a < b { a } else { b };
        let more = |a: f32, b: f32| if a > b { a } else { b };
        Bound {
            min: std::array::from_fn(|k| less(self.min[k], other.min[k])),
            max: std::array::from_fn(|k| more(self.max[k], other.max[k])),
        }
    }

    /// Half the surface [m²]; zero for the empty box.
    fn half_area(&self) -> f64 {
        let d: [f64; 3] = std::array::from_fn(|k| (self.max[k] - self.min[k]).max(0.0) as f64);
        d[0] * d[1] + d[1] * d[2] + d[2] * d[0]
    }
}

impl From<&Aabb> for Bound {
    fn from(b: &Aabb) -> Bound {
        Bound {
            min: std::array::from_fn(|k| b.min[k] as f32),
            max: std::array::from_fn(|k| b.max[k] as f32),
        }
    }
}

/// Number of children of a node.
const WIDTH: usize = 8;

/// Eight boxes side by side; lanes that are not used overlap nothing.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Wide {
    min: [[f32; WIDTH]; 3],
    max: [[f32; WIDTH]; 3],
}

/// The hierarchy.
#[derive(Clone, Debug)]
pub struct Bvh {
    /// Index of the box in each slot along the curve.
    items: Vec<u32>,
    /// `levels[0]` holds the boxes by slot; lane k of `levels[l + 1][i]` bounds
    /// `levels[l][8 i + k]`. The last level is one node. Empty for no boxes.
    levels: Vec<Vec<Wide>>,
    cost_at_build: f64,
}

/// Why a hierarchy cannot be built or refitted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BvhError {
    /// Indices are 32-bit.
    #[error("{0} boxes are more than 32-bit indices can name")]
    TooMany(usize),
    /// A refit needs as many boxes as the tree was built with.
    #[error("the tree has {built} boxes and cannot be refitted to {given}")]
    CountChanged {
        /// Number of boxes at the build.
        built: usize,
        /// Number of boxes given.
        given: usize,
    },
    /// A box has a coordinate that is not a number; it would silently overlap nothing.
    #[error("box {0} has a coordinate that is not a number")]
    NotANumber(usize),
}

impl Bvh {
    /// The number of boxes.
    pub fn len(&self) -> usize {
        self.items.len()
    }

    /// Whether there are no boxes.
    pub fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    /// Memory in use [bytes].
    pub fn bytes(&self) -> usize {
        let nodes: usize = self.levels.iter().map(|l| l.len()).sum();
        nodes * size_of::<Wide>() + self.items.len() * size_of::<u32>()
    }

    /// The expected number of boxes to test per query, by the surface-area rule: the sum of the
    /// surfaces of all inner boxes over that of the root.
    pub fn cost(&self) -> f64 {
        let Some(top) = self.levels.last().and_then(|l| l.first()) else {
            return 0.0;
        };
        let root = top.all().half_area();
        let inner = self.levels.iter().skip(1).flatten();
        let sum: f64 = inner
            .map(|w| (0..WIDTH).map(|k| w.lane(k).half_area()).sum::<f64>())
            .sum();
        if root > 0.0 { sum / root } else { 1.0 }
    }

    /// The cost now over the cost after the build: 1 for a fresh tree, larger as the boxes lose
    /// their order. Building anew pays from about 1.5 to 2.
    pub fn degradation(&self) -> f64 {
        if self.cost_at_build > 0.0 {
            self.cost() / self.cost_at_build
        } else {
            1.0
        }
    }
}

impl Wide {
    const EMPTY: Wide = Wide {
        min: [[f32::INFINITY; WIDTH]; 3],
        max: [[f32::NEG_INFINITY; WIDTH]; 3],
    };

    #[inline]
    fn lane(&self, k: usize) -> Bound {
        Bound {
            min: [self.min[0][k], self.min[1][k], self.min[2][k]],
            max: [self.max[0][k], self.max[1][k], self.max[2][k]],
        }
    }

    #[inline]
    fn set(&mut self, k: usize, b: &Bound) {
        for c in 0..3 {
            self.min[c][k] = b.min[c];
            self.max[c][k] = b.max[c];
        }
    }

    /// The box around all lanes.
    #[inline]
    fn all(&self) -> Bound {
        // Halves are compared lane by lane, which vectorises.
        fn fold(x: &[f32; WIDTH], pick: impl Fn(f32, f32) -> f32) -> f32 {
            let four: [f32; 4] = std::array::from_fn(|k| pick(x[k], x[k + 4]));
            pick(pick(four[0], four[2]), pick(four[1], four[3]))
        }
        let less = |a: f32, b: f32| if a < b { a } else { b };
        let more = |a: f32, b: f32| if a > b { a } else { b };
        Bound {
            min: std::array::from_fn(|k| fold(&self.min[k], less)),
            max: std::array::from_fn(|k| fold(&self.max[k], more)),
        }
    }

    /// One bit per lane that overlaps the box.
    #[inline]
    fn mask(&self, b: &Bound) -> u32 {
        let mut bits = [0u32; WIDTH];
        for k in 0..WIDTH {
            let hit = (self.min[0][k] <= b.max[0])
                & (b.min[0] <= self.max[0][k])
                & (self.min[1][k] <= b.max[1])
                & (b.min[1] <= self.max[1][k])
                & (self.min[2][k] <= b.max[2])
                & (b.min[2] <= self.max[2][k]);
            bits[k] = u32::from(hit) << k;
        }
        bits.iter().fold(0, |m, b| m | b)
    }
}
