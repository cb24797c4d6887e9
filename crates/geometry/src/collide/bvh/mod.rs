//! A bounding volume hierarchy over boxes: which pairs of boxes overlap.
//!
//! Boxes are sorted along a space-filling curve and grouped by eight, groups again by eight, and
//! so on. The tree has no pointers: child k of node i is node 8 i + k of the level below. Refitting
//! to boxes that moved is one linear pass; the order along the curve is kept until
//! [`Bvh::degradation`] says that sorting again pays.
//!
//! A tree itself holds only the boxes around groups. Those of the items, seven eighths of all, come
//! from the caller: from a list in a [`Bvh`], from the vertices in a surface. A refit of large
//! surfaces waits for memory alone, and to bound eight triangles again where a search meets them
//! costs less than to have stored all of them before.
//!
//! Pairs come in ascending order and depend on the boxes alone: not on the number of threads, nor
//! on whether the tree was built or refitted.

mod boxes;
mod build;
mod groups;
mod pairs;
mod sort;

pub use boxes::Aabb32;
pub(crate) use boxes::{Hull, Padded, Row, Wide, WideMoving};
pub(crate) use build::{along_curve, bound_together, leaf};
pub(crate) use groups::{Groups, MIXED};
pub(crate) use pairs::{Pairs, ordered};

/// Number of children of a node.
pub(crate) const WIDTH: usize = 8;

/// A hierarchy over a list of boxes.
#[derive(Clone, Debug)]
pub struct Bvh {
    tree: Tree<Wide>,
    leaves: Vec<Wide>,
}

/// The boxes at the leaves of a tree, in groups of eight along the curve.
pub(crate) trait Leaves: Sync {
    /// Eight boxes.
    type Row: Row;
    /// The number of groups.
    fn groups(&self) -> usize;
    /// The boxes of a group.
    fn group(&self, i: usize) -> Self::Row;
    /// The box around a group.
    #[inline]
    fn around(&self, i: usize) -> <Self::Row as Row>::One {
        self.group(i).all()
    }
}

impl Leaves for &[Wide] {
    type Row = Wide;

    fn groups(&self) -> usize {
        self.len()
    }

    #[inline]
    fn group(&self, i: usize) -> Wide {
        self[i]
    }
}

/// The part of a hierarchy above its leaves.
#[derive(Clone, Debug)]
pub(crate) struct Tree<R> {
    /// Index of the box in each slot along the curve.
    items: Vec<u32>,
    /// Lane k of `levels[0][i]` bounds the group 8 i + k of leaves, lane k of `levels[l + 1][i]`
    /// bounds `levels[l][8 i + k]`. The last level is one node. Empty for no boxes.
    levels: Vec<Vec<R>>,
    cost_at_build: f64,
}

/// Reason for which a hierarchy cannot be built or refitted.
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
        self.tree.items.len()
    }

    /// Whether there are no boxes.
    pub fn is_empty(&self) -> bool {
        self.tree.items.is_empty()
    }

    /// Memory in use [bytes].
    pub fn bytes(&self) -> usize {
        self.tree.bytes() + size_of_val(&self.leaves[..])
    }

    /// The expected number of boxes to test per query, by the surface-area rule: the sum of the
    /// surfaces of all inner boxes over that of the root.
    pub fn cost(&self) -> f64 {
        self.tree.cost()
    }

    /// The cost now over the cost after the build: 1 for a fresh tree, larger as the boxes lose
    /// their order. Building anew pays from about 1.5 to 2.
    pub fn degradation(&self) -> f64 {
        self.tree.degradation()
    }
}

impl<R: Row> Tree<R> {
    /// The index of the box in each slot.
    pub(crate) fn items(&self) -> &[u32] {
        &self.items
    }

    /// Memory in use [bytes].
    pub(crate) fn bytes(&self) -> usize {
        let nodes: usize = self.levels.iter().map(|l| l.len()).sum();
        nodes * size_of::<R>() + self.items.len() * size_of::<u32>()
    }

    fn cost(&self) -> f64 {
        let Some(top) = self.levels.last().and_then(|l| l.first()) else {
            return 0.0;
        };
        let root = top.all().own().half_area();
        let inner = self.levels.iter().flatten();
        let sum: f64 = inner
            .map(|w| (0..WIDTH).map(|k| w.lane(k).own().half_area()).sum::<f64>())
            .sum();
        if root > 0.0 { sum / root } else { 1.0 }
    }

    /// See [`Bvh::degradation`].
    pub(crate) fn degradation(&self) -> f64 {
        if self.cost_at_build > 0.0 {
            self.cost() / self.cost_at_build
        } else {
            1.0
        }
    }
}
