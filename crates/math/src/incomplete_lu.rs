//! Incomplete LU factor of a block matrix that need not be symmetric, with a bound on its memory [saad1994].
//!
//! A ≈ (1 + L) (D + U), row by row in the given order, with 3×3 pivots D. Of every row, entries that are small compared
//! with the diagonal blocks of their row and column are dropped, and of the others the largest are kept, up to a limit. A
//! small matrix loses nothing but rounding; the factor of a large one needs a bounded multiple of the memory of A.

use std::{cmp::Reverse, collections::BinaryHeap};

use crate::{BlockMatrix, Mat3, Preconditioner, Vec3};

/// An incomplete LU factor.
#[derive(Clone, Debug, Default)]
pub struct IncompleteLu {
    /// L, divided by the pivots, and U.
    lower: Rows,
    upper: Rows,
    /// Inverses of the pivots.
    pivots: Vec<Mat3>,
    work: Work,
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
        let n = a.n();
        self.lower.clear();
        self.upper.clear();
        self.pivots.clear();
        self.work.clear(a);
        let most = (FILL * a.pattern.nnz() as f64).max(LEAST as f64);
        let limit = (0.5 * most / n.max(1) as f64) as usize;
        (0..n).all(|i| self.eliminate(a, i, limit))
    }

    /// Adds row `i` to the factor, with at most `limit` entries on each side of the pivot.
    fn eliminate(&mut self, a: &BlockMatrix, i: usize, limit: usize) -> bool {
        let work = &mut self.work;
        let first = a.pattern.row_start()[i];
        for (k, &j) in a.pattern.row(i).iter().enumerate() {
            work.add(i, j, a.values[first + k]);
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
        work.keep(i, limit, &mut self.lower, |j| j < i, |unit| unit);
        work.keep(i, limit, &mut self.upper, |j| j > i, |unit| 1.0 / unit);
        work.entries.clear();
        let size = pivot.norm();
        let sound = pivot.determinant().abs() > SINGULAR * size * size * size;
        let inverse = pivot.try_inverse().filter(|_| sound);
        self.pivots.extend(inverse);
        inverse.is_some()
    }

    /// Heap memory [bytes].
    pub fn bytes(&self) -> usize {
        self.lower.bytes() + self.upper.bytes() + size_of_val(&self.pivots[..])
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
    fn clear(&mut self, a: &BlockMatrix) {
        self.place.clear();
        self.place.resize(a.n(), NOWHERE);
        self.entries.clear();
        self.left.clear();
        self.unit.clear();
        let units = (0..a.n()).map(|i| a.diagonal(i).norm().sqrt());
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

    /// Appends the largest entries of one side of row `i` to `rows`, in the order of their columns; `weight` makes of the
    /// unit of a column the inverse of that of an entry.
    fn keep(
        &mut self,
        i: usize,
        limit: usize,
        rows: &mut Rows,
        side: impl Fn(usize) -> bool,
        weight: impl Fn(f64) -> f64,
    ) {
        self.kept.clear();
        for &(j, x) in self.entries.iter().filter(|e| side(e.0 as usize)) {
            let size = x.norm() * weight(self.unit[j as usize]) / self.unit[i];
            if size > DROP {
                self.kept.push((size, j, x));
            }
        }
        if self.kept.len() > limit {
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
    }
}

impl Preconditioner for IncompleteLu {
    fn apply(&mut self, r: &[Vec3], z: &mut [Vec3]) {
        for i in 0..z.len() {
            let known = self.lower.row(i).map(|(j, l)| l * z[j]);
            z[i] = r[i] - known.sum::<Vec3>();
        }
        for i in (0..z.len()).rev() {
            let known = self.upper.row(i).map(|(j, u)| u * z[j]);
            z[i] = self.pivots[i] * (z[i] - known.sum::<Vec3>());
        }
    }
}
