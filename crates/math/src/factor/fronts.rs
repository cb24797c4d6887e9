//! Fronts of a multifrontal factorisation: which columns are eliminated together, and where the
//! entries of the matrix and the Schur complements of earlier fronts go [duff1983].
//!
//! Columns with one structure form a front: a dense matrix of the rows and columns that they touch.
//! Its Schur complement is added into the front of the parent. The analysis depends on the pattern
//! alone; `frontal.rs` (LU) and `cholesky.rs` bring the numbers.

use std::ops::Range;

use super::{Triangle, block_tree, ordered_triangle};
use crate::{BlockPattern, FactorError};

/// Part of the matrix that a factorisation reads and stores.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Halves {
    /// The lower triangle of a symmetric matrix.
    Lower,
    /// Both triangles.
    Both,
}

/// Fronts, their structure and their memory layout.
#[derive(Debug)]
pub(super) struct Fronts {
    /// Original block of each ordered block.
    pub order: Vec<usize>,
    /// The fronts; children come before their parents.
    pub fronts: Vec<Front>,
    /// The blocks of the matrix of all fronts.
    pub entries: Vec<Entry>,
    /// Rows below the pivots of all fronts, as ordered blocks, and their positions in the parent.
    pub below: Vec<u32>,
    pub up: Vec<u32>,
    /// Number of values of the largest front, and of all pending Schur complements at worst.
    pub largest: usize,
    pub waiting: usize,
    halves: Halves,
}

/// One front. Ranges index the lists of [`Fronts`].
#[derive(Debug)]
pub(super) struct Front {
    /// Ordered blocks of the pivots.
    pub pivots: Range<usize>,
    pub below: Range<usize>,
    pub entries: Range<usize>,
    pub children: Vec<usize>,
}

/// Destination of block `source` of the matrix: block row and column of its front.
#[derive(Debug)]
pub(super) struct Entry {
    pub source: u32,
    pub row: u32,
    pub col: u32,
}

impl Front {
    /// Scalar pivots and rows below them.
    pub fn size(&self) -> (usize, usize) {
        (3 * self.pivots.len(), 3 * self.below.len())
    }
}

impl Fronts {
    /// The fronts of `pattern` in the order `order` (original block of each ordered one), a postorder
    /// of the elimination tree. A front absorbs its last child if it then has at most so many block
    /// columns and so large a fraction of zeros as one of `relaxed` says.
    pub fn new(
        pattern: &BlockPattern,
        order: Vec<usize>,
        halves: Halves,
        relaxed: &[(usize, f64)],
    ) -> Result<Self, FactorError> {
        let (parent, counts) = block_tree(pattern, &order)?;
        let starts = supernodes(&parent, &counts, relaxed);
        let n = order.len();
        let (lower, _) = ordered_triangle(pattern, &order, Triangle::Lower);
        let mut front_of = vec![0; n];
        for (s, w) in starts.windows(2).enumerate() {
            front_of[w[0]..w[1]].fill(s);
        }
        let mut all = Self {
            fronts: Vec::with_capacity(starts.len() - 1),
            entries: Vec::with_capacity(pattern.nnz()),
            below: Vec::new(),
            up: Vec::new(),
            largest: 0,
            waiting: 0,
            order,
            halves,
        };
        let mut children: Vec<Vec<usize>> = vec![Vec::new(); starts.len() - 1];
        // The local row of an ordered block in the front at hand.
        let mut local = vec![u32::MAX; n];
        let mut waiting = 0;
        for (s, w) in starts.windows(2).enumerate() {
            let pivots = w[0]..w[1];
            let mut below: Vec<u32> = Vec::new();
            let mut take = |row: usize| {
                if row >= pivots.end && local[row] != s as u32 {
                    local[row] = s as u32;
                    below.push(row as u32);
                }
            };
            for j in pivots.clone() {
                let column = lower.col_start[j]..lower.col_start[j + 1];
                lower.rows[column].iter().for_each(|&i| take(i));
            }
            let own = std::mem::take(&mut children[s]);
            for &child in &own {
                let rows = all.fronts[child].below.clone();
                rows.for_each(|k| take(all.below[k] as usize));
            }
            below.sort_unstable();
            let start = all.below.len();
            all.below.extend(&below);
            let front = Front {
                below: start..all.below.len(),
                entries: 0..0,
                children: own,
                pivots,
            };
            let (p, u) = front.size();
            all.largest = all.largest.max((p + u) * (p + u));
            // A child's Schur complement is freed once it has been added.
            let freed = front.children.iter().map(|&c| all.fronts[c].size().1);
            waiting = waiting + u * u - freed.map(|u| u * u).sum::<usize>();
            all.waiting = all.waiting.max(waiting);
            if let Some(&first) = below.first() {
                children[front_of[first as usize]].push(s);
            }
            all.fronts.push(front);
        }
        all.place(pattern)?;
        Ok(all)
    }

    /// Maps blocks of the matrix and rows of children to positions in each front.
    fn place(&mut self, pattern: &BlockPattern) -> Result<(), FactorError> {
        let n = self.order.len();
        let mut place = vec![0; n];
        for (new, &old) in self.order.iter().enumerate() {
            place[old] = new;
        }
        let small = |k: usize| u32::try_from(k).map_err(|_| FactorError::OutOfMemory);
        self.up = vec![0; self.below.len()];
        let mut local = vec![0u32; n];
        for s in 0..self.fronts.len() {
            let (pivots, below) = (self.fronts[s].pivots.clone(), self.fronts[s].below.clone());
            let rows = self.below[below].iter().map(|&i| i as usize);
            for (k, row) in pivots.clone().chain(rows).enumerate() {
                local[row] = k as u32;
            }
            for &child in &self.fronts[s].children {
                for k in self.fronts[child].below.clone() {
                    self.up[k] = local[self.below[k] as usize];
                }
            }
            let start = self.entries.len();
            for j in pivots.clone() {
                let old = self.order[j];
                let first = pattern.row_start()[old];
                for (k, &other) in pattern.row(old).iter().enumerate() {
                    let i = place[other as usize];
                    if i < pivots.start {
                        continue;
                    }
                    if self.halves == Halves::Both || i <= j {
                        self.entries.push(Entry {
                            source: small(first + k)?,
                            row: local[j],
                            col: local[i],
                        });
                    }
                    // Within the pivots, row i brings its own entry.
                    if i >= pivots.end
                        && let Some(mirror) = pattern.find(other as usize, old)
                    {
                        self.entries.push(Entry {
                            source: small(mirror)?,
                            row: local[i],
                            col: local[j],
                        });
                    }
                }
            }
            self.fronts[s].entries = start..self.entries.len();
        }
        Ok(())
    }
}

/// The first column of each front, and the end: columns with one structure, and children that add
/// little fill.
fn supernodes(parent: &[isize], counts: &[usize], relaxed: &[(usize, f64)]) -> Vec<usize> {
    let n = parent.len();
    // Fronts as (first column, columns, rows with pivots, zeros), in order; a front can absorb only
    // the one before it, which is its last child.
    let mut fronts: Vec<(usize, usize, usize, f64)> = Vec::new();
    for j in 0..n {
        let mut front = (j, 1, counts[j], 0.0);
        while let Some(&(first, columns, rows, zeros)) = fronts.last() {
            if parent[first + columns - 1] != front.0 as isize {
                break;
            }
            let (all, below) = (columns + front.1, front.2 - front.1);
            let height = all + below;
            // Additional zeros in the child's columns.
            let more = zeros + front.3 + (columns * (height - rows)) as f64;
            let total = (all * (all + 2 * below)) as f64;
            let share = 2.0 * more / total;
            let fits = more == 0.0 || relaxed.iter().any(|&(w, z)| all <= w && share <= z);
            if !fits {
                break;
            }
            front = (first, all, height, more);
            fronts.pop();
        }
        fronts.push(front);
    }
    let mut starts: Vec<usize> = fronts.iter().map(|f| f.0).collect();
    starts.push(n);
    starts
}
