//! A limit on the number of pairs, so that bodies heaped into one place end with an error.
//!
//! Surfaces that touch have some tens of pairs per vertex: 13 per triangle in the crowded scene of
//! `stiction bench detection`, about a hundred per vertex in dense hair. A scene in which each vertex has
//! [`PER_VERTEX`] on average, 40 bytes each with what is found in them, is not one that could be solved.

use std::sync::atomic::{AtomicUsize, Ordering};

use super::world::{DetectError, World};

/// Most pairs per vertex, on average.
const PER_VERTEX: usize = 512;

/// So many pairs are allowed to any scene.
const ANY: usize = 1 << 20;

/// Counts pairs up to a limit. Whether it is passed does not depend on the order in which they come.
pub(super) struct Quota {
    limit: usize,
    count: AtomicUsize,
}

impl Quota {
    /// For pairs among `vertices`.
    pub(super) fn new(vertices: usize) -> Self {
        Quota {
            limit: (PER_VERTEX * vertices).max(ANY),
            count: AtomicUsize::new(0),
        }
    }

    /// Counts a pair; whether it is within the limit.
    #[inline]
    pub(super) fn admits(&self) -> bool {
        self.count.fetch_add(1, Ordering::Relaxed) < self.limit
    }

    /// An error if there were too many. `search` is to give all pairs once more, by the places of
    /// their colliders, to a counter.
    pub(super) fn check(
        &self,
        world: &World,
        search: impl FnOnce(&(dyn Fn(u32, u32) + Sync)),
    ) -> Result<(), DetectError> {
        let pairs = self.count.load(Ordering::Relaxed);
        if pairs <= self.limit {
            return Ok(());
        }
        let zero = || AtomicUsize::new(0);
        let counts: Vec<AtomicUsize> = world.colliders.iter().map(|_| zero()).collect();
        let own: Vec<AtomicUsize> = world.colliders.iter().map(|_| zero()).collect();
        search(&|a, b| {
            let list = if a == b { &own } else { &counts };
            list[a as usize].fetch_add(1, Ordering::Relaxed);
            if a != b {
                list[b as usize].fetch_add(1, Ordering::Relaxed);
            }
        });
        let most = |list: &[AtomicUsize], but: Option<usize>| {
            let numbered = list.iter().map(|c| c.load(Ordering::Relaxed)).enumerate();
            let numbered = numbered.filter(|(c, _)| Some(*c) != but);
            let most = numbered.max_by_key(|(c, n)| (*n, std::cmp::Reverse(*c)));
            most.unwrap_or((0, 0))
        };
        let (alone, within) = most(&own, None);
        let (first, between) = most(&counts, None);
        let [first, second] = match within >= between {
            true => [alone; 2],
            false => [first, most(&counts, Some(first)).0],
        };
        Err(DetectError::Crowded {
            first: world.name(first as u32),
            second: world.name(second as u32),
            pairs,
            limit: self.limit,
        })
    }
}
