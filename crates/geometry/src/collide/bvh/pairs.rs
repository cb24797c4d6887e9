//! Traversal: all pairs of overlapping boxes, within one tree or between two.

use rayon::prelude::*;

use super::{Bound, Bvh, WIDTH, Wide};

/// Leaf groups per parallel task.
const GRAIN: usize = 32;

impl Bvh {
    /// All pairs [i, j], i < j, of overlapping boxes that the filter keeps, in ascending order.
    pub fn self_pairs(&self, keep: impl Fn(u32, u32) -> bool + Sync) -> Vec<[u32; 2]> {
        let keep = |i: u32, j: u32| {
            let pair = [i.min(j), i.max(j)];
            keep(pair[0], pair[1]).then_some(pair)
        };
        self.collect(self, true, self.len(), keep)
    }

    /// All pairs [i, j] of a box i of this tree and a box j of the other that overlap and that
    /// the filter keeps, in ascending order.
    pub fn pairs(&self, other: &Bvh, keep: impl Fn(u32, u32) -> bool + Sync) -> Vec<[u32; 2]> {
        self.collect(other, false, self.len(), |i, j| {
            keep(i, j).then_some([i, j])
        })
    }

    /// Calls `found` for each box that overlaps `query`, in no particular order.
    pub fn overlapping(&self, query: &Bound, mut found: impl FnMut(u32)) {
        if self.is_empty() {
            return;
        }
        let mut stack = Vec::with_capacity(64);
        let groups = |level: usize| &self.levels[level];
        stack.push((self.levels.len() - 1, 0usize));
        while let Some((level, node)) = stack.pop() {
            for k in lanes(groups(level)[node].mask(query)) {
                let child = node * WIDTH + k;
                if level == 0 {
                    found(self.items[child]);
                } else {
                    stack.push((level - 1, child));
                }
            }
        }
    }

    fn collect(
        &self,
        other: &Bvh,
        same: bool,
        count: usize,
        keep: impl Fn(u32, u32) -> Option<[u32; 2]> + Sync,
    ) -> Vec<[u32; 2]> {
        if self.is_empty() || other.is_empty() {
            return Vec::new();
        }
        let tasks: Vec<Vec<[u32; 2]>> = self.levels[0]
            .par_chunks(GRAIN)
            .enumerate()
            .map(|(task, groups)| {
                let mut out = Vec::new();
                let mut stack = Vec::with_capacity(64);
                for (i, group) in groups.iter().enumerate() {
                    let group_index = task * GRAIN + i;
                    self.group_pairs(group, group_index, other, same, &keep, &mut stack, &mut out);
                }
                out
            })
            .collect();
        ordered(tasks, count)
    }

    /// The pairs of one leaf group with the other tree. Of the same tree, only groups that do not
    /// come before it.
    fn group_pairs(
        &self,
        group: &Wide,
        index: usize,
        other: &Bvh,
        same: bool,
        keep: &impl Fn(u32, u32) -> Option<[u32; 2]>,
        stack: &mut Vec<(usize, usize)>,
        out: &mut Vec<[u32; 2]>,
    ) {
        let bound = group.all();
        let own = &self.items[index * WIDTH..];
        let boxes: [Bound; WIDTH] = std::array::from_fn(|k| group.lane(k));
        let first = if same { index } else { 0 };
        stack.clear();
        stack.push((other.levels.len() - 1, 0));
        while let Some((level, node)) = stack.pop() {
            let wide = &other.levels[level][node];
            if level > 0 {
                // The slots below this child end before the group that asks: done already.
                let last = first >> (3 * (level - 1));
                for k in lanes(wide.mask(&bound)) {
                    let child = node * WIDTH + k;
                    if child >= last {
                        stack.push((level - 1, child));
                    }
                }
                continue;
            }
            let theirs = &other.items[node * WIDTH..];
            let diagonal = same && node == index;
            let around = match other.levels.get(1) {
                Some(parents) => parents[node / WIDTH].lane(node % WIDTH),
                None => wide.all(),
            };
            for a in lanes(group.mask(&around)) {
                let mut hits = wide.mask(&boxes[a]);
                if diagonal {
                    hits &= !((2u32 << a) - 1);
                }
                for b in lanes(hits) {
                    out.extend(keep(own[a], theirs[b]));
                }
            }
        }
    }
}

/// The set bits, lowest first.
#[inline]
fn lanes(mut mask: u32) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        (mask != 0).then(|| {
            let k = mask.trailing_zeros() as usize;
            mask &= mask - 1;
            k
        })
    })
}

/// All pairs in ascending order: by the first index in one counting pass, then each short list
/// by the second.
fn ordered(tasks: Vec<Vec<[u32; 2]>>, count: usize) -> Vec<[u32; 2]> {
    let mut starts = vec![0usize; count + 1];
    for [i, _] in tasks.iter().flatten() {
        starts[*i as usize + 1] += 1;
    }
    for i in 0..count {
        starts[i + 1] += starts[i];
    }
    let total = starts[count];
    let mut all = vec![[0; 2]; total];
    let mut next = starts.clone();
    for pair in tasks.iter().flatten() {
        let slot = &mut next[pair[0] as usize];
        all[*slot] = *pair;
        *slot += 1;
    }
    let mut rest = all.as_mut_slice();
    let mut lists = Vec::with_capacity(count);
    for i in 0..count {
        let (list, tail) = rest.split_at_mut(starts[i + 1] - starts[i]);
        if list.len() > 1 {
            lists.push(list);
        }
        rest = tail;
    }
    lists
        .par_iter_mut()
        .with_min_len(1024)
        .for_each(|list| list.sort_unstable_by_key(|p| p[1]));
    all
}
