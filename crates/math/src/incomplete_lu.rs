//! Incomplete LU factor of a block matrix that need not be symmetric, with a bound on its memory [saad1994].
//!
//! A ≈ (1 + L) (D + U), row by row, with 3×3 pivots D. Of every row, entries that are small compared with the diagonal
//! blocks of their row and column are dropped, and of the others the largest are kept, up to a limit. A small matrix loses
//! nothing but rounding; the factor of a large one needs a bounded multiple of the memory of A.
//!
//! Rows are in an order of small fill as long as all of it fits. Where it does not, that order is a bad one for
//! incomplete factors, whose neighbours should follow one another, and the given order is kept.

use std::{cmp::Reverse, collections::BinaryHeap, sync::Arc};

use crate::{BlockMatrix, BlockPattern, Mat3, Preconditioner, Vec3, factor::amd_of_pattern};

/// An incomplete LU factor.
#[derive(Clone, Debug, Default)]
pub struct IncompleteLu {
    order: Order,
    /// L, divided by the pivots, and U.
    lower: Rows,
    upper: Rows,
    /// Inverses of the pivots.
    pivots: Vec<Mat3>,
    work: Work,
}

/// Order of elimination, for one pattern.
#[derive(Clone, Debug, Default)]
struct Order {
    pattern: Option<Arc<BlockPattern>>,
    /// Rows of A in the order of elimination, and the reverse.
    rows: Vec<u32>,
    rank: Vec<u32>,
    /// Whether it is one of small fill.
    sparse: bool,
}

/// Sparse rows of blocks.
#[derive(Clone, Debug, Default)]
struct Rows {
    start: Vec<usize>,
    cols: Vec<u32>,
    values: Vec<Mat3>,
}

/// The row that is being eliminated.
#[derive(Clone, Debug, Default)]
struct Work {
    /// Position in `entries` of every column, or `NOWHERE`.
    place: Vec<u32>,
    entries: Vec<(u32, Mat3)>,
    /// Columns left of the diagonal that are to be eliminated.
    left: BinaryHeap<Reverse<u32>>,
    /// Roots of the norms of the diagonal blocks of A: the units of rows and columns.
    unit: Vec<f64>,
    /// Entries of one side that are kept, with their sizes in these units.
    kept: Vec<(f64, u32, Mat3)>,
    /// A right-hand side in the order of elimination.
    column: Vec<Vec3>,
}

const NOWHERE: u32 = u32::MAX;

/// Size below which an entry is dropped, in units of its row and column.
const DROP: f64 = 1e-7;
/// Entries of the factor, in multiples of those of A, ...
const FILL: f64 = 1.5;
/// ... or so many, if that is more: about a megabyte.
const LEAST: usize = 16_384;
/// Determinant of a pivot, relative to the cube of its norm, at which it counts as singular.
const SINGULAR: f64 = 1e-13;

impl IncompleteLu {
    /// Factorises `a`; returns whether all pivots could be inverted. The factor serves only if they could.
    pub fn update(&mut self, a: &BlockMatrix) -> bool {
        self.order.follow(&a.pattern);
        match self.factorise(a) {
            // The fill of the sparse order does not fit.
            None => {
                self.order.keep_given();
                self.factorise(a).unwrap_or_default()
            }
            Some(sound) => sound,
        }
    }

    /// Returns whether all pivots could be inverted; nothing if an entry was left out that a sparse order should have.
    fn factorise(&mut self, a: &BlockMatrix) -> Option<bool> {
        let n = a.n();
        self.lower.clear();
        self.upper.clear();
        self.pivots.clear();
        self.work.clear(a, &self.order.rows);
        let most = 0.5 * (FILL * a.pattern.nnz() as f64).max(LEAST as f64);
        let mean = (most / n.max(1) as f64) as usize;
        for i in 0..n {
            if !self.eliminate(a, i, mean)? {
                return Some(false);
            }
        }
        Some(true)
    }

    /// Adds row `i` to the factor, with `mean` entries on each side of the pivot, or more where other rows have fewer.
    /// Returns whether the pivot could be inverted, and nothing as above.
    fn eliminate(&mut self, a: &BlockMatrix, i: usize, mean: usize) -> Option<bool> {
        let work = &mut self.work;
        let row = self.order.rows[i] as usize;
        let first = a.pattern.row_start()[row];
        for (k, &j) in a.pattern.row(row).iter().enumerate() {
            work.add(i, self.order.rank[j as usize], a.values[first + k]);
        }
        // In the order of columns, so that an entry is complete when it is its turn.
        while let Some(Reverse(k)) = work.left.pop() {
            let row = k as usize;
            let entry = &mut work.entries[work.place[row] as usize].1;
            if entry.norm() <= DROP * work.unit[i] * work.unit[row] {
                *entry = Mat3::zeros();
                continue;
            }
            let factor = *entry * self.pivots[row];
            *entry = factor;
            for (j, above) in self.upper.row(row) {
                work.add(i, j as u32, -factor * above);
            }
        }
        let pivot = work.pivot(i);
        // Rows of small fill come first: what they leave belongs to the last ones. In the given order all are alike.
        let most = mean * if self.order.sparse { a.n() } else { i + 1 };
        let whole = work.keep(i, most, &mut self.lower, |j| j < i, |unit| unit)
            & work.keep(i, most, &mut self.upper, |j| j > i, |unit| 1.0 / unit);
        work.entries.clear();
        if self.order.sparse && !whole {
            return None;
        }
        let size = pivot.norm();
        let sound = pivot.determinant().abs() > SINGULAR * size * size * size;
        let inverse = pivot.try_inverse().filter(|_| sound);
        self.pivots.extend(inverse);
        Some(inverse.is_some())
    }

    /// Heap memory [bytes].
    pub fn bytes(&self) -> usize {
        self.lower.bytes() + self.upper.bytes() + size_of_val(&self.pivots[..])
    }
}

impl Order {
    /// A sparse order for `pattern`, unless there is one already.
    fn follow(&mut self, pattern: &Arc<BlockPattern>) {
        let same = |known: &Arc<BlockPattern>| Arc::ptr_eq(known, pattern);
        if self.pattern.as_ref().is_some_and(same) {
            return;
        }
        self.pattern = Some(Arc::clone(pattern));
        match amd_of_pattern(pattern) {
            Ok(order) => {
                self.sparse = true;
                self.rows.clear();
                self.rows.extend(order.iter().map(|&row| row as u32));
                self.rank.clear();
                self.rank.resize(order.len(), 0);
                for (i, &row) in order.iter().enumerate() {
                    self.rank[row] = i as u32;
                }
            }
            // A pattern that is too large to be ordered.
            Err(_) => {
                self.rows.resize(pattern.n(), 0);
                self.keep_given();
            }
        }
    }

    fn keep_given(&mut self) {
        self.sparse = false;
        let n = self.rows.len() as u32;
        self.rows.clear();
        self.rows.extend(0..n);
        self.rank.clone_from(&self.rows);
    }
}

impl Rows {
    fn clear(&mut self) {
        self.start.clear();
        self.start.push(0);
        self.cols.clear();
        self.values.clear();
    }

    fn row(&self, i: usize) -> impl Iterator<Item = (usize, &Mat3)> {
        let range = self.start[i]..self.start[i + 1];
        let cols = self.cols[range.clone()].iter().map(|&j| j as usize);
        cols.zip(&self.values[range])
    }

    fn bytes(&self) -> usize {
        size_of_val(&self.start[..]) + size_of_val(&self.cols[..]) + size_of_val(&self.values[..])
    }
}

impl Work {
    fn clear(&mut self, a: &BlockMatrix, rows: &[u32]) {
        self.place.clear();
        self.place.resize(a.n(), NOWHERE);
        self.entries.clear();
        self.left.clear();
        self.unit.clear();
        let units = rows
            .iter()
            .map(|&row| a.diagonal(row as usize).norm().sqrt());
        self.unit.extend(units);
    }

    /// Adds to an entry of row `i`.
    fn add(&mut self, i: usize, j: u32, value: Mat3) {
        let place = &mut self.place[j as usize];
        if *place == NOWHERE {
            *place = self.entries.len() as u32;
            self.entries.push((j, value));
            if (j as usize) < i {
                self.left.push(Reverse(j));
            }
        } else {
            self.entries[*place as usize].1 += value;
        }
    }

    /// The pivot of row `i`, after which no more is added to the row.
    fn pivot(&mut self, i: usize) -> Mat3 {
        let at = self.place[i];
        for (j, _) in &self.entries {
            self.place[*j as usize] = NOWHERE;
        }
        let entry = self.entries.get(at as usize);
        entry.map_or(Mat3::zeros(), |entry| entry.1)
    }

    /// Appends the largest entries of one side of row `i` to `rows`, in the order of their columns, as long as those have
    /// fewer than `most`; `weight` makes of the unit of a column the inverse of that of an entry. Returns whether
    /// these are all.
    fn keep(
        &mut self,
        i: usize,
        most: usize,
        rows: &mut Rows,
        side: impl Fn(usize) -> bool,
        weight: impl Fn(f64) -> f64,
    ) -> bool {
        self.kept.clear();
        for &(j, x) in self.entries.iter().filter(|e| side(e.0 as usize)) {
            let size = x.norm() * weight(self.unit[j as usize]) / self.unit[i];
            if size > DROP {
                self.kept.push((size, j, x));
            }
        }
        let limit = most.saturating_sub(rows.cols.len());
        let whole = self.kept.len() <= limit;
        if !whole {
            let larger = |a: &(f64, u32, Mat3), b: &(f64, u32, Mat3)| {
                b.0.total_cmp(&a.0).then(a.1.cmp(&b.1))
            };
            self.kept.sort_unstable_by(larger);
            self.kept.truncate(limit);
        }
        self.kept.sort_unstable_by_key(|k| k.1);
        for &(_, j, x) in &self.kept {
            rows.cols.push(j);
            rows.values.push(x);
        }
        rows.start.push(rows.cols.len());
        whole
    }
}

impl Preconditioner for IncompleteLu {
    fn apply(&mut self, r: &[Vec3], z: &mut [Vec3]) {
        let Self {
            order,
            lower,
            upper,
            pivots,
            work,
        } = self;
        let y = &mut work.column;
        y.clear();
        for (i, &row) in order.rows.iter().enumerate() {
            let known = lower.row(i).map(|(j, l)| l * y[j]);
            let rest = r[row as usize] - known.sum::<Vec3>();
            y.push(rest);
        }
        for (i, &row) in order.rows.iter().enumerate().rev() {
            let known = upper.row(i).map(|(j, u)| u * y[j]);
            y[i] = pivots[i] * (y[i] - known.sum::<Vec3>());
            z[row as usize] = y[i];
        }
    }
}
