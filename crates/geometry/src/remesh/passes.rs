//! The order of operations: flips, splits, collapses.

use std::{cmp::Ordering, collections::BinaryHeap};

use super::{edit::Editor, sheet::NONE};

/// Size above which an edge is split, beyond rounding.
const LONG: f64 = 1.0 + 1e-9;
/// Bound on the flips after one operation, and per edge of the whole sheet: the criterion with
/// differing tensors need not have an end.
const FLIPS: usize = 32;

/// An edge in order of its size; of equals the one with the lower numbers.
struct Ranked {
    squared: f64,
    edge: [u32; 2],
}

impl Ord for Ranked {
    fn cmp(&self, other: &Self) -> Ordering {
        let size = self.squared.total_cmp(&other.squared);
        size.then(other.edge.cmp(&self.edge))
    }
}

impl PartialOrd for Ranked {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Ranked {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Ranked {}

impl Editor<'_> {
    /// Changes the sheet until every edge has size at most 1, as few as possible are left and the
    /// triangles are close to Delaunay in the metric.
    pub fn run(&mut self) {
        let all = self.edges();
        let bound = 4 * all.len();
        self.flips(all, bound);
        self.splits();
        self.collapses();
        self.fresh.clear();
    }

    /// Every edge once.
    fn edges(&self) -> Vec<[u32; 2]> {
        let mut all = Vec::new();
        for t in self.sheet.triangles() {
            for h in 3 * t..3 * t + 3 {
                let (a, b) = (self.sheet.from(h), self.sheet.to(h));
                if a < b || self.sheet.twin(h) == NONE {
                    all.push([a.min(b), a.max(b)]);
                }
            }
        }
        all.sort_unstable();
        all
    }

    /// Flips edges of the list, and those around flipped ones, until all are Delaunay.
    fn flips(&mut self, mut list: Vec<[u32; 2]>, bound: usize) {
        let mut left = bound;
        while let Some([a, b]) = list.pop() {
            let Some(h) = self.sheet.edge(a, b) else {
                continue;
            };
            let made = self.fresh.len();
            if self.flip_if_better(h) {
                list.extend_from_slice(&self.fresh[made..]);
                left -= 1;
                if left == 0 {
                    break;
                }
            }
        }
    }

    /// Flips around the edges that the last operation made.
    fn restore_delaunay(&mut self) {
        let list = self.fresh.clone();
        self.flips(list, FLIPS);
    }

    /// Splits the longest edge in the metric until none is too long.
    fn splits(&mut self) {
        let ranked = |editor: &Self, edge: [u32; 2]| {
            let squared = editor.squared_size(edge[0], edge[1]);
            (squared > LONG * LONG).then_some(Ranked { squared, edge })
        };
        let mut heap: BinaryHeap<Ranked> = self
            .edges()
            .into_iter()
            .filter_map(|e| ranked(self, e))
            .collect();
        self.fresh.clear();
        while let Some(Ranked { edge: [a, b], .. }) = heap.pop() {
            let Some(h) = self.sheet.edge(a, b) else {
                continue;
            };
            if self.sheet.rest.len() >= self.config.most_vertices {
                self.counts.limited = true;
                break;
            }
            self.split(h);
            self.restore_delaunay();
            let fresh = std::mem::take(&mut self.fresh);
            heap.extend(fresh.into_iter().filter_map(|e| ranked(self, e)));
        }
    }

    /// Collapses the shortest edges in the metric while all others stay short enough.
    fn collapses(&mut self) {
        let limit = 1.0 - self.config.hysteresis;
        // The shortest first.
        let ranked = |editor: &Self, edge: [u32; 2]| {
            let squared = editor.squared_size(edge[0], edge[1]);
            (squared < limit * limit).then_some(Ranked {
                squared: -squared,
                edge,
            })
        };
        let mut heap: BinaryHeap<Ranked> = self
            .edges()
            .into_iter()
            .filter_map(|e| ranked(self, e))
            .collect();
        while let Some(Ranked { edge: [a, b], .. }) = heap.pop() {
            self.fresh.clear();
            // The vertex that came later goes first, so that meshes return to what they were.
            if !self.collapse(b, a) && !self.collapse(a, b) {
                continue;
            }
            self.restore_delaunay();
            // What was refused before may be possible now around all vertices that are concerned.
            let mut around: Vec<u32> = self.fresh.iter().flatten().copied().collect();
            around.sort_unstable();
            around.dedup();
            for v in around {
                if !self.sheet.has(v) {
                    continue;
                }
                for w in self.sheet.neighbours(v) {
                    heap.extend(ranked(self, [v.min(w), v.max(w)]));
                }
            }
        }
    }
}
