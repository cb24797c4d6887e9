//! Which parts of a hierarchy hold features of one group only.
//!
//! Features of one group, such as those of a rigid body, are never paired with one another. Where a
//! search meets a node that holds nothing else, the whole subtree is left out: a body in empty space
//! costs no more than its boxes.

use super::WIDTH;

/// No group, or several.
pub(crate) const MIXED: u32 = u32::MAX;

/// The group of each node, from the groups of eight leaves upwards.
#[derive(Clone, Debug, Default)]
pub(crate) struct Groups(Vec<Vec<u32>>);

impl Groups {
    /// Of features in slots, with the group of each.
    pub(crate) fn new(count: usize, of: impl Fn(usize) -> u32) -> Self {
        let mut level: Vec<u32> = (0..count.div_ceil(WIDTH))
            .map(|i| common((i * WIDTH..((i + 1) * WIDTH).min(count)).map(&of)))
            .collect();
        let mut levels = Vec::new();
        while level.len() > 1 {
            let above = level.chunks(WIDTH).map(|c| common(c.iter().copied()));
            let above = above.collect();
            levels.push(std::mem::replace(&mut level, above));
        }
        levels.push(level);
        Groups(levels)
    }

    /// The group of eight leaves.
    #[inline]
    pub(crate) fn leaves(&self, i: usize) -> u32 {
        self.child(0, i)
    }

    /// The group of a child of a node of a level of the tree; leaves are below level 0.
    #[inline]
    pub(crate) fn child(&self, level: usize, child: usize) -> u32 {
        let groups = self.0.get(level);
        groups.and_then(|g| g.get(child)).copied().unwrap_or(MIXED)
    }

    /// Memory in use [bytes].
    pub(crate) fn bytes(&self) -> usize {
        self.0.iter().map(|l| size_of_val(&l[..])).sum()
    }
}

/// The group that all have in common.
fn common(mut groups: impl Iterator<Item = u32>) -> u32 {
    let first = groups.next().unwrap_or(MIXED);
    if groups.all(|g| g == first) {
        first
    } else {
        MIXED
    }
}
