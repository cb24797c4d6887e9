//! Pentadiagonal matrices A ⊗ I₃, with the same values for x, y and z.
//!
//! Where the matrix of a step is isotropic, as in alternating integrators with isotropic metrics, a
//! polyline needs three values per vertex, and three for its factor, instead of the forty of banded
//! blocks. All polylines of a body are stored one after another.

use std::sync::Arc;

use crate::{BandedError, BlockError, BlockMatrix, BlockPattern, Mat3, Vec3, block::for_parts_mut};

/// Polylines per task: enough to amortise the overhead of a task.
const GRAIN: usize = 16;

/// Symmetric matrices Aᵢ ⊗ I with Aᵢ pentadiagonal, one per polyline; only the lower triangle is
/// stored.
#[derive(Clone, Debug, PartialEq)]
pub struct ScalarBands {
    /// The first block of every matrix, and the number of blocks at the end.
    starts: Arc<[usize]>,
    /// Entries (i, i − 2), (i, i − 1) and (i, i); zero where a matrix has no such column.
    rows: Vec<[f64; 3]>,
}

impl ScalarBands {
    /// Zero matrices with the given first blocks; the last of `starts` is the number of blocks.
    pub fn zeros(starts: Arc<[usize]>) -> Self {
        let n = starts.last().copied().unwrap_or(0);
        Self {
            starts,
            rows: vec![[0.0; 3]; n],
        }
    }

    /// Number of blocks.
    pub fn n(&self) -> usize {
        self.rows.len()
    }

    /// All matrices ← 0.
    pub fn set_zero(&mut self) {
        self.rows.fill([0.0; 3]);
    }

    /// The entries (i, i − 2), (i, i − 1) and (i, i) of every block. Entries in columns outside a
    /// matrix must stay zero.
    pub fn rows_mut(&mut self) -> &mut [[f64; 3]] {
        &mut self.rows
    }

    /// Whether entry (i, j) is within the band.
    pub fn has(&self, i: usize, j: usize) -> bool {
        let (i, j) = (i.max(j), i.min(j));
        let matrix = |b: usize| self.starts.partition_point(|&s| s <= b);
        i < self.n() && i - j <= 2 && matrix(i) == matrix(j)
    }

    /// Entry (i, j), zero outside the band.
    pub fn get(&self, i: usize, j: usize) -> f64 {
        let (i, j) = (i.max(j), i.min(j));
        if i < self.n() && i - j <= 2 {
            self.rows[i][2 + j - i]
        } else {
            0.0
        }
    }

    /// Adds `value` to entry (i, j) = (j, i); false if it lies outside the band.
    pub fn add(&mut self, i: usize, j: usize, value: f64) -> bool {
        let inside = self.has(i, j);
        if inside {
            let (i, j) = (i.max(j), i.min(j));
            self.rows[i][2 + j - i] += value;
        }
        inside
    }

    /// Whether the values of a row are finite; those right of the diagonal belong to the rows
    /// below.
    pub fn row_is_finite(&self, i: usize) -> bool {
        self.rows[i].iter().all(|a| a.is_finite())
    }

    /// Eliminates the blocks marked in `fixed`: their rows and columns become those of the
    /// identity.
    pub fn eliminate(&mut self, fixed: &[bool]) {
        for i in 0..self.rows.len() {
            if fixed[i] {
                self.rows[i] = [0.0, 0.0, 1.0];
                continue;
            }
            for k in 1..=2.min(i) {
                if fixed[i - k] {
                    self.rows[i][2 - k] = 0.0;
                }
            }
        }
    }

    /// y ← A x.
    pub fn apply(&self, x: &[Vec3], y: &mut [Vec3]) {
        for_parts_mut(&self.starts, y, GRAIN, &|m, y| {
            let first = self.starts[m];
            let (rows, x) = (&self.rows[first..], &x[first..]);
            let n = y.len();
            for i in 0..n {
                let row = &rows[i];
                let mut sum = x[i] * row[2];
                if i >= 1 {
                    sum += x[i - 1] * row[1];
                }
                if i >= 2 {
                    sum += x[i - 2] * row[0];
                }
                if i + 1 < n {
                    sum += x[i + 1] * rows[i + 1][1];
                }
                if i + 2 < n {
                    sum += x[i + 2] * rows[i + 2][0];
                }
                y[i] = sum;
            }
        });
    }

    /// The pairs of blocks i < j that a matrix has entries for, sorted.
    pub fn block_pairs(&self) -> Vec<[u32; 2]> {
        let mut pairs = Vec::with_capacity(2 * self.n());
        for ends in self.starts.windows(2) {
            for i in ends[0]..ends[1] {
                let near = (i + 1..(i + 3).min(ends[1])).map(|j| [i as u32, j as u32]);
                pairs.extend(near);
            }
        }
        pairs
    }

    /// Converts to 3×3 blocks, with storage for the additional block pairs `more`.
    pub fn to_sparse(&self, more: &[[u32; 2]]) -> Result<BlockMatrix, BlockError> {
        let pairs = self.block_pairs();
        let all = pairs.iter().chain(more).map(|p| &p[..]);
        let pattern = BlockPattern::from_cliques(self.n(), all)?;
        let mut sparse = BlockMatrix::zeros(Arc::new(pattern));
        let block = |i, j| Mat3::from_diagonal_element(self.get(i, j));
        for i in 0..self.n() {
            sparse.add(i, i, &block(i, i))?;
        }
        for pair in pairs {
            let [i, j] = pair.map(|b| b as usize);
            sparse.add(i, j, &block(i, j))?;
            sparse.add(j, i, &block(i, j))?;
        }
        Ok(sparse)
    }

    /// Heap memory of the values [bytes].
    pub fn bytes(&self) -> usize {
        24 * self.rows.len()
    }
}

/// A = L D Lᵀ of [`ScalarBands`], three numbers per block.
#[derive(Clone, Debug)]
pub struct ScalarFactors {
    starts: Arc<[usize]>,
    /// Entries (i, i − 2) and (i, i − 1) of L, and 1/D.
    rows: Vec<[f64; 3]>,
}

impl ScalarFactors {
    /// Allocates factors of `matrices` and sets them to those of the identity.
    pub fn new(matrices: &ScalarBands) -> Self {
        Self {
            starts: Arc::clone(&matrices.starts),
            rows: vec![[0.0, 0.0, 1.0]; matrices.n()],
        }
    }

    /// Factorises the matrices with `shift(block)` added to the diagonal. After an error the factors
    /// must not be used.
    pub fn refactor(
        &mut self,
        matrices: &ScalarBands,
        shift: impl Fn(usize) -> f64 + Sync,
    ) -> Result<(), BandedError> {
        if self.starts != matrices.starts {
            return Err(BandedError::Layout);
        }
        let starts = &self.starts;
        for_parts_mut(starts, &mut self.rows, GRAIN, &|m, rows| {
            let first = starts[m];
            // The last two pivots and the entry below the first of them.
            let (mut d2, mut d1) = (0.0, 0.0);
            let mut below = 0.0;
            for (i, row) in rows.iter_mut().enumerate() {
                let [a2, a1, a0] = matrices.rows[first + i];
                let l2 = if i >= 2 { a2 / d2 } else { 0.0 };
                let l1 = if i >= 1 {
                    (a1 - l2 * d2 * below) / d1
                } else {
                    0.0
                };
                let d = a0 + shift(first + i) - l2 * l2 * d2 - l1 * l1 * d1;
                *row = [l2, l1, 1.0 / d];
                (d2, d1, below) = (d1, d, l1);
            }
        });
        let bad = |row: &[f64; 3]| !(row[2] > 0.0 && row[2].is_finite());
        match self.rows.iter().position(bad) {
            None => Ok(()),
            Some(block) => {
                let matrix = self.starts.partition_point(|&s| s <= block) - 1;
                Err(BandedError::NotPositiveDefinite {
                    matrix,
                    row: block - self.starts[matrix],
                    pivot: 1.0 / self.rows[block][2],
                })
            }
        }
    }

    /// x ← A⁻¹ x.
    pub fn solve(&self, x: &mut [Vec3]) {
        for_parts_mut(&self.starts, x, GRAIN, &|m, x| {
            let rows = &self.rows[self.starts[m]..];
            for i in 1..x.len() {
                let mut sum = x[i] - x[i - 1] * rows[i][1];
                if i >= 2 {
                    sum -= x[i - 2] * rows[i][0];
                }
                x[i] = sum;
            }
            let n = x.len();
            for i in (0..n).rev() {
                let mut sum = x[i] * rows[i][2];
                if i + 1 < n {
                    sum -= x[i + 1] * rows[i + 1][1];
                }
                if i + 2 < n {
                    sum -= x[i + 2] * rows[i + 2][0];
                }
                x[i] = sum;
            }
        });
    }

    /// Heap memory of the values [bytes].
    pub fn bytes(&self) -> usize {
        24 * self.rows.len()
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    use super::*;
    use nalgebra::DMatrix;

    /// Three positive definite matrices of 1, 2 and 7 rows with made-up numbers.
    fn some() -> (ScalarBands, DMatrix<f64>) {
        let mut a = ScalarBands::zeros([0, 1, 3, 10].into());
        let mut dense = DMatrix::zeros(10, 10);
        for i in 0..10 {
            for j in 0..=i {
                let value = if i == j {
                    4.0 + 0.3 * i as f64
                } else {
                    (1.7 * i as f64 + 0.9 * j as f64).sin()
                };
                if a.add(i, j, value) {
                    dense[(i, j)] = value;
                    dense[(j, i)] = value;
                }
            }
        }
        (a, dense)
    }

    fn column(n: usize) -> Vec<Vec3> {
        (0..n)
            .map(|i| Vec3::new(i as f64, 1.0, -0.5 * i as f64))
            .collect()
    }

    fn by_dense(m: &DMatrix<f64>, x: &[Vec3]) -> Vec<Vec3> {
        let product = |i: usize| (0..x.len()).map(|j| x[j] * m[(i, j)]).sum();
        (0..x.len()).map(product).collect()
    }

    #[test]
    fn products_and_solutions_are_those_of_the_dense_matrix() {
        let (a, dense) = some();
        assert!(!a.has(0, 1) && !a.has(2, 3) && !a.has(3, 6) && a.has(5, 3));
        let x = column(10);
        let mut y = column(10);
        a.apply(&x, &mut y);
        for (y, exact) in y.iter().zip(by_dense(&dense, &x)) {
            assert!((y - exact).norm() < 1e-13 * exact.norm().max(1.0));
        }
        let mut factor = ScalarFactors::new(&a);
        factor.refactor(&a, |i| 0.1 * i as f64).unwrap();
        let mut shifted = dense;
        for i in 0..10 {
            shifted[(i, i)] += 0.1 * i as f64;
        }
        let mut z = by_dense(&shifted, &x);
        factor.solve(&mut z);
        for (z, x) in z.iter().zip(&x) {
            assert!((z - x).norm() < 1e-12);
        }
    }

    #[test]
    fn eliminated_blocks_stay_zero_and_blocks_say_the_same() {
        let (mut a, _) = some();
        let fixed: Vec<bool> = (0..10).map(|i| i == 3 || i == 6).collect();
        a.eliminate(&fixed);
        let x = column(10);
        let (mut y, mut z) = (column(10), column(10));
        a.apply(&x, &mut y);
        crate::LinearOperator::apply(&a.to_sparse(&[]).unwrap(), &x, &mut z);
        for i in 0..10 {
            assert!((y[i] - z[i]).norm() < 1e-13);
            assert!(!fixed[i] || y[i] == x[i]);
        }
    }

    #[test]
    fn a_matrix_that_is_not_positive_is_named() {
        let (mut a, _) = some();
        a.rows_mut()[4][2] = -1.0;
        let error = ScalarFactors::new(&a).refactor(&a, |_| 0.0).unwrap_err();
        let expected = matches!(
            error,
            BandedError::NotPositiveDefinite { matrix: 2, row: 1, pivot } if pivot < 0.0
        );
        assert!(expected, "{error}");
    }
}
