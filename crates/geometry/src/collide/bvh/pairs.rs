//! Traversal: all pairs of overlapping boxes, within one tree or between two.

use super::{Aabb32, Bvh, Groups, Leaves, MIXED, Padded, Row, Tree, WIDTH};
use stiction_math::parallel;

/// Leaf groups per parallel task: enough for a task to be worth starting, few enough for its pairs
/// to stay in the cache.
const GRAIN: usize = 32;

impl Bvh {
    /// All pairs [i, j], i < j, of overlapping boxes that the filter keeps, in ascending order.
    pub fn self_pairs(&self, keep: impl Fn(u32, u32) -> bool + Sync) -> Vec<[u32; 2]> {
        self.pairs_apart(|_| MIXED, keep)
    }

    /// Pairs of boxes in groups, within which the filter keeps no pairs: nodes of the tree that
    /// hold a single group are not searched for it. `u32::MAX` is no group.
    pub fn pairs_apart(
        &self,
        group: impl Fn(u32) -> u32,
        keep: impl Fn(u32, u32) -> bool + Sync,
    ) -> Vec<[u32; 2]> {
        let items = self.tree.items();
        let groups = Groups::new(items.len(), |slot| group(items[slot]));
        let keep = |a: u32, b: u32| {
            let (i, j) = (items[a as usize], items[b as usize]);
            let pair = [i.min(j), i.max(j)];
            (pair, keep(pair[0], pair[1]))
        };
        let pairs = Pairs::within(&self.tree, self.leaves.as_slice());
        let pairs = pairs.apart(&groups, &groups);
        ordered(pairs.tasks(keep, std::mem::take), self.len(), |pair| *pair)
    }

    /// All pairs [i, j] of a box i of this tree and a box j of the other that overlap and that
    /// the filter keeps, in ascending order.
    pub fn pairs(&self, other: &Bvh, keep: impl Fn(u32, u32) -> bool + Sync) -> Vec<[u32; 2]> {
        let (items, others) = (self.tree.items(), other.tree.items());
        let keep = |a: u32, b: u32| {
            let (i, j) = (items[a as usize], others[b as usize]);
            ([i, j], keep(i, j))
        };
        let leaves = (self.leaves.as_slice(), other.leaves.as_slice());
        let pairs = Pairs::between(leaves.0, &other.tree, leaves.1);
        ordered(pairs.tasks(keep, std::mem::take), self.len(), |pair| *pair)
    }

    /// Calls `found` for each box that overlaps `query`, in no particular order.
    pub fn overlapping(&self, query: &Aabb32, mut found: impl FnMut(u32)) {
        let Tree { items, levels, .. } = &self.tree;
        let query = &Padded::from(query);
        let mut stack = Vec::with_capacity(64);
        stack.extend(levels.len().checked_sub(1).map(|top| (top, 0usize)));
        while let Some((level, node)) = stack.pop() {
            for k in lanes(levels[level][node].mask(query)) {
                let child = node * WIDTH + k;
                if level > 0 {
                    stack.push((level - 1, child));
                    continue;
                }
                for k in lanes(self.leaves[child].mask(query)) {
                    found(items[child * WIDTH + k]);
                }
            }
        }
    }
}

/// A search for overlapping boxes: what asks, and the tree that is asked.
pub(crate) struct Pairs<'a, A: Leaves, T> {
    asking: A,
    tree: &'a Tree<A::Row>,
    leaves: T,
    /// Whether the tree asks itself, so that every pair would be met twice.
    same: bool,
    /// Groups of what asks and of the tree, within which there are no pairs.
    groups: Option<(&'a Groups, &'a Groups)>,
}

impl<'a, L: Leaves + Copy> Pairs<'a, L, L> {
    /// Among the leaves of one tree.
    pub(crate) fn within(tree: &'a Tree<L::Row>, leaves: L) -> Self {
        Pairs {
            same: true,
            ..Pairs::between(leaves, tree, leaves)
        }
    }
}

impl<'a, A: Leaves, T: Leaves<Row = A::Row>> Pairs<'a, A, T> {
    /// Between boxes, best in the order of a curve, and the leaves of a tree.
    pub(crate) fn between(asking: A, tree: &'a Tree<A::Row>, leaves: T) -> Self {
        Pairs {
            asking,
            tree,
            leaves,
            same: false,
            groups: None,
        }
    }

    /// Leaves out pairs within a group.
    pub(crate) fn apart(mut self, asking: &'a Groups, tree: &'a Groups) -> Self {
        self.groups = Some((asking, tree));
        self
    }

    /// Asks `keep` what to make of the slots of each overlapping pair, and whether to keep it, and
    /// hands the kept pairs, task by task, to `finish`: the answers by task, whose pairs and order do
    /// not depend on the number of threads. Only the pairs of one task per thread are in memory at
    /// a time.
    pub(crate) fn tasks<P: Send, R: Send>(
        &self,
        keep: impl Fn(u32, u32) -> (P, bool) + Sync,
        finish: impl Fn(&mut Vec<P>) -> R + Sync,
    ) -> Vec<R> {
        if self.tree.levels.is_empty() {
            return Vec::new();
        }
        let count = self.asking.groups();
        parallel::map_ranges(count, GRAIN, |groups| {
            let (mut stack, mut out) = (Vec::with_capacity(64), Vec::new());
            for group in groups {
                self.group_pairs(group, &keep, &mut stack, &mut out);
            }
            finish(&mut out)
        })
    }

    /// The pairs of one leaf group with the tree. Of the same tree, only groups that do not come
    /// before it.
    fn group_pairs<P>(
        &self,
        index: usize,
        keep: &impl Fn(u32, u32) -> (P, bool),
        stack: &mut Vec<(usize, usize)>,
        out: &mut Vec<P>,
    ) {
        let group = self.asking.group(index);
        let bound = A::Row::query(&group.all());
        let first = if self.same { index } else { 0 };
        let levels = &self.tree.levels;
        let own = self
            .groups
            .map_or(MIXED, |(asking, _)| asking.leaves(index));
        let own = self
            .groups
            .map(|g| g.1)
            .filter(|_| own != MIXED)
            .map(|g| (g, own));
        stack.clear();
        stack.push((levels.len() - 1, 0));
        while let Some((level, node)) = stack.pop() {
            let wide = &levels[level][node];
            // The slots below a child before this one end before the group that asks: done already.
            let last = first >> (3 * level);
            for k in lanes(wide.mask(&bound)) {
                let child = node * WIDTH + k;
                if child < last || own.is_some_and(|(g, own)| g.child(level, child) == own) {
                    continue;
                }
                if level > 0 {
                    stack.push((level - 1, child));
                } else {
                    let around = A::Row::query(&wide.lane(k));
                    self.meet(index, &group, &bound, child, &around, keep, out);
                }
            }
        }
    }

    /// The pairs of two groups, each with the box around it.
    #[inline]
    fn meet<P>(
        &self,
        index: usize,
        group: &A::Row,
        bound: &<A::Row as Row>::Query,
        node: usize,
        around: &<A::Row as Row>::Query,
        keep: &impl Fn(u32, u32) -> (P, bool),
        out: &mut Vec<P>,
    ) {
        let diagonal = self.same && node == index;
        let wide = self.leaves.group(node);
        // Of each group, the boxes that reach into the other at all.
        let (mine, theirs) = (group.mask(around), wide.mask(bound));
        let mut add = |a: usize, b: usize| {
            let (pair, keep) = keep((index * WIDTH + a) as u32, (node * WIDTH + b) as u32);
            // Without a branch: which pairs are kept is hard to predict.
            out.push(pair);
            out.truncate(out.len() - usize::from(!keep));
        };
        if mine.count_ones() <= theirs.count_ones() {
            for a in lanes(mine) {
                let mut hits = wide.mask(&A::Row::query(&group.lane(a)));
                if diagonal {
                    hits &= !((2u32 << a) - 1);
                }
                lanes(hits).for_each(|b| add(a, b));
            }
        } else {
            for b in lanes(theirs) {
                let mut hits = group.mask(&A::Row::query(&wide.lane(b)));
                if diagonal {
                    hits &= (1 << b) - 1;
                }
                lanes(hits).for_each(|a| add(a, b));
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

/// All entries in ascending order of their keys, the first of which is below `count`: by the first
/// in one counting pass, then each short list by the second.
pub(crate) fn ordered<T: Copy + Send + Sync>(
    tasks: Vec<Vec<T>>,
    count: usize,
    key: impl Fn(&T) -> [u32; 2] + Sync,
) -> Vec<T> {
    let Some(filler) = tasks.iter().flatten().next().copied() else {
        return Vec::new();
    };
    let mut starts = vec![0usize; count + 1];
    for entry in tasks.iter().flatten() {
        starts[key(entry)[0] as usize + 1] += 1;
    }
    for i in 0..count {
        starts[i + 1] += starts[i];
    }
    let mut all = vec![filler; starts[count]];
    let mut next = starts.clone();
    for task in tasks {
        for entry in task {
            let slot = &mut next[key(&entry)[0] as usize];
            all[*slot] = entry;
            *slot += 1;
        }
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
    parallel::chunks_mut(&mut lists, 1024, |_, lists| {
        for list in lists {
            list.sort_unstable_by_key(|entry| key(entry)[1]);
        }
    });
    all
}
