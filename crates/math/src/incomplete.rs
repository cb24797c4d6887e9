//! Incomplete Cholesky factor of a block matrix, without fill or with that of the first level.
//!
//! A ≈ (D + L) D⁻¹ (D + Lᵀ) with L on the pattern of the strict lower triangle of A and 3×3 pivots D:
//! products agree with A on its pattern. It is an approximate inverse for Krylov methods and costs as
//! much memory as half of A. Matrices of elements are no M-matrices, so that a pivot may fail to be
//! positive definite; the factor is then that of A with a larger diagonal.

use std::sync::Arc;

use crate::{
    BlockError, BlockMatrix, BlockPattern, Mat3, Preconditioner, Vec3, is_positive_definite3,
    sym_eig3,
};

/// An incomplete Cholesky factor.
///
/// Its fill, if any, is that of the first level.
#[derive(Clone, Debug, Default)]
pub struct BlockCholesky {
    pattern: Option<Arc<BlockPattern>>,
    /// The pattern of A and the positions of its values in that of the factor, where that has fill.
    filled: Option<(Arc<BlockPattern>, Vec<u32>)>,
    /// Of each row, the number of entries left of the diagonal.
    lower: Vec<u32>,
    /// L on the pattern of A; what is not left of the diagonal is not used.
    values: Vec<Mat3>,
    /// Inverses of the pivots.
    pivots: Vec<Mat3>,
}

/// Relative increases of the diagonal, tried in turn until all pivots are positive definite. With the
/// last one the matrix is diagonally dominant enough for any stiffness matrix that was projected.
const SHIFTS: [f64; 6] = [0.0, 1e-3, 1e-2, 0.1, 0.5, 2.0];

impl BlockCholesky {
    /// Number of block rows.
    pub fn len(&self) -> usize {
        self.pivots.len()
    }

    /// Whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.pivots.is_empty()
    }

    /// Lays out the factor for the pattern of `a`; allocates only if that changed.
    pub fn prepare(&mut self, a: &BlockMatrix) {
        let same = |known: &Arc<BlockPattern>| Arc::ptr_eq(known, &a.pattern);
        if self.filled.is_none() && self.pattern.as_ref().is_some_and(same) {
            return;
        }
        self.filled = None;
        self.lay_out(&a.pattern);
    }

    /// As [`BlockCholesky::prepare`], with the fill of the first level: that between two neighbours of a row that is
    /// eliminated before both of them, from entries of A alone.
    pub fn prepare_filled(&mut self, a: &BlockMatrix) -> Result<(), BlockError> {
        let same = |known: &(Arc<BlockPattern>, Vec<u32>)| Arc::ptr_eq(&known.0, &a.pattern);
        if self.filled.as_ref().is_some_and(same) {
            return Ok(());
        }
        let n = a.n();
        let right = |i: usize| {
            let row = a.pattern.row(i);
            &row[row.partition_point(|&j| (j as usize) < i)..]
        };
        let pattern = Arc::new(BlockPattern::from_cliques(n, (0..n).map(right))?);
        let mut places = Vec::with_capacity(a.values.len());
        for row in 0..n {
            for &col in a.pattern.row(row) {
                let col = col as usize;
                let place = pattern.find(row, col);
                places.push(place.ok_or(BlockError::Missing { row, col })? as u32);
            }
        }
        self.lay_out(&pattern);
        self.filled = Some((Arc::clone(&a.pattern), places));
        Ok(())
    }

    fn lay_out(&mut self, pattern: &Arc<BlockPattern>) {
        let n = pattern.n();
        let left = |i: usize| pattern.row(i).partition_point(|&j| (j as usize) < i) as u32;
        self.lower = (0..n).map(left).collect();
        self.values = vec![Mat3::zeros(); pattern.cols().len()];
        self.pivots = vec![Mat3::identity(); n];
        self.pattern = Some(Arc::clone(pattern));
    }

    /// Copies A to the values.
    fn load(&mut self, a: &BlockMatrix) {
        match &self.filled {
            None => self.values.copy_from_slice(&a.values),
            Some((_, places)) => {
                self.values.fill(Mat3::zeros());
                for (&place, value) in places.iter().zip(&a.values) {
                    self.values[place as usize] = *value;
                }
            }
        }
    }

    /// Factorises `a`, which must have the pattern of [`BlockCholesky::prepare`]. Returns the relative
    /// increase of the diagonal.
    pub fn update(&mut self, a: &BlockMatrix) -> f64 {
        for shift in SHIFTS {
            if self.try_factor(a, shift) {
                return shift;
            }
        }
        // The diagonal alone is always an approximation.
        for i in 0..self.pivots.len() {
            self.pivots[i] = a.diagonal(i).try_inverse().unwrap_or_default();
        }
        self.values.fill(Mat3::zeros());
        f64::INFINITY
    }

    fn try_factor(&mut self, a: &BlockMatrix, shift: f64) -> bool {
        let Some(pattern) = self.pattern.clone() else {
            return false;
        };
        let (start, cols) = (pattern.row_start(), pattern.cols());
        self.load(a);
        for i in 0..self.pivots.len() {
            let row = start[i]..start[i] + self.lower[i] as usize;
            let mut pivot = a.diagonal(i) * (1.0 + shift);
            for at in row.clone() {
                let j = cols[at] as usize;
                // Entries k < j that rows i and j share, both sorted.
                let mut sum = self.values[at];
                let mut other = start[j];
                let end = start[j] + self.lower[j] as usize;
                for own in row.start..at {
                    let k = cols[own];
                    while other < end && cols[other] < k {
                        other += 1;
                    }
                    if other < end && cols[other] == k {
                        let scaled = self.values[own] * self.pivots[k as usize];
                        sum -= scaled * self.values[other].transpose();
                    }
                }
                self.values[at] = sum;
                pivot -= sum * self.pivots[j] * sum.transpose();
            }
            let mut pivot = (pivot + pivot.transpose()) * 0.5;
            if self.filled.is_some() {
                pivot = repaired(&pivot, &a.diagonal(i));
            }
            let floor = match self.filled {
                None => a.diagonal(i) * PIVOT,
                Some(_) => Mat3::zeros(),
            };
            match is_positive_definite3(&(pivot - floor)).then(|| pivot.try_inverse()) {
                Some(Some(inverse)) => self.pivots[i] = inverse,
                _ => return false,
            }
        }
        true
    }

    /// Heap memory [bytes], without the pattern of A.
    pub fn bytes(&self) -> usize {
        let own = match (&self.filled, &self.pattern) {
            (Some((_, places)), Some(pattern)) => {
                size_of_val(&places[..])
                    + size_of_val(pattern.cols())
                    + size_of_val(pattern.row_start())
            }
            _ => 0,
        };
        size_of_val(&self.values[..])
            + size_of_val(&self.pivots[..])
            + size_of_val(&self.lower[..])
            + own
    }
}

/// The pivot without eigenvalues that are small compared with the least one of the diagonal block, which it has
/// where fill was dropped: they become that.
fn repaired(pivot: &Mat3, diagonal: &Mat3) -> Mat3 {
    let exceeds = |floor: f64| is_positive_definite3(&(pivot - Mat3::identity() * floor));
    // The least eigenvalue is at most the least diagonal entry.
    if exceeds(diagonal.diagonal().min() * REPAIRED) {
        return *pivot;
    }
    let least = sym_eig3(diagonal).0.min();
    if exceeds(least * REPAIRED) {
        return *pivot;
    }
    let (values, vectors) = sym_eig3(pivot);
    let values = values.map(|x| if x >= least * REPAIRED { x } else { least });
    let sound = vectors * Mat3::from_diagonal(&values) * vectors.transpose();
    (sound + sound.transpose()) * 0.5
}

/// Least eigenvalue of a pivot, as a fraction of that of its diagonal block, with fill: contacts make the largest one a
/// thousand times larger, so that a fraction of the block itself would count sound pivots as failed.
const REPAIRED: f64 = 0.02;

/// Smallest pivot as a fraction of the diagonal block: smaller ones make the inverse useless.
const PIVOT: f64 = 1e-4;

impl Preconditioner for BlockCholesky {
    fn apply(&mut self, r: &[Vec3], z: &mut [Vec3]) {
        let Some(pattern) = self.pattern.as_deref() else {
            z.copy_from_slice(r);
            return;
        };
        let (start, cols) = (pattern.row_start(), pattern.cols());
        let row = |i: usize| start[i]..start[i] + self.lower[i] as usize;
        for i in 0..z.len() {
            let mut sum = r[i];
            for at in row(i) {
                sum -= self.values[at] * z[cols[at] as usize];
            }
            z[i] = self.pivots[i] * sum;
        }
        for i in (0..z.len()).rev() {
            let zi = z[i];
            for at in row(i) {
                let j = cols[at] as usize;
                z[j] -= self.pivots[j] * self.values[at].tr_mul(&zi);
            }
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::{CgConfig, CgWorkspace, Identity, conjugate_gradients, testing::random_vectors};

    /// A grid of springs, stiff along one direction, on a weak foundation.
    fn grid(w: usize) -> BlockMatrix {
        let at = |i: usize, j: usize| (i * w + j) as u32;
        let mut edges: Vec<[u32; 2]> = Vec::new();
        for i in 0..w {
            for j in 0..w {
                if i + 1 < w {
                    edges.push([at(i, j), at(i + 1, j)]);
                }
                if j + 1 < w {
                    edges.push([at(i, j), at(i, j + 1)]);
                }
            }
        }
        let cliques = edges.iter().map(|e| &e[..]);
        let pattern = Arc::new(BlockPattern::from_cliques(w * w, cliques).unwrap());
        let mut a = BlockMatrix::zeros(pattern);
        let k = Mat3::from_diagonal(&Vec3::new(100.0, 10.0, 1.0));
        for [i, j] in edges.iter().map(|e| e.map(|e| e as usize)) {
            a.add(i, i, &k).unwrap();
            a.add(j, j, &k).unwrap();
            a.add(i, j, &-k).unwrap();
            a.add(j, i, &-k).unwrap();
        }
        for i in 0..w * w {
            a.add(i, i, &(Mat3::identity() * 0.1)).unwrap();
        }
        a
    }

    #[test]
    fn a_tree_has_no_fill_and_the_factor_is_exact() {
        let edges: Vec<[u32; 2]> = (0..19).map(|i| [i, i + 1]).collect();
        let cliques = edges.iter().map(|e| &e[..]);
        let pattern = Arc::new(BlockPattern::from_cliques(20, cliques).unwrap());
        let mut a = BlockMatrix::zeros(pattern);
        let b = Mat3::new(2.0, 0.3, 0.1, 0.3, 3.0, -0.2, 0.1, -0.2, 1.0);
        for i in 0..20 {
            a.add(i, i, &(b * 3.0)).unwrap();
        }
        for i in 0..19 {
            let c = Mat3::new(0.5, 0.2, 0.0, -0.4, 0.3, 0.1, 0.3, 0.0, 0.6);
            a.add(i, i + 1, &c).unwrap();
            a.add(i + 1, i, &c.transpose()).unwrap();
        }
        let mut factor = BlockCholesky::default();
        factor.prepare(&a);
        assert_eq!(factor.update(&a), 0.0);
        let x = random_vectors(20, 3);
        let (mut y, mut z) = (x.clone(), x.clone());
        a.apply(&x, &mut y);
        factor.apply(&y, &mut z);
        for (z, x) in z.iter().zip(&x) {
            assert!((z - x).norm() < 1e-13);
        }
    }

    /// Without fill the number of iterations still falls several times [meijerink1977].
    #[test]
    fn conjugate_gradients_need_fewer_iterations() {
        let a = grid(40);
        let b = random_vectors(1600, 7);
        let config = CgConfig {
            relative: 1e-8,
            absolute: 0.0,
            max_iterations: 5000,
        };
        let mut factor = BlockCholesky::default();
        factor.prepare(&a);
        factor.update(&a);
        let run = |with: &mut dyn Preconditioner| {
            let mut x = vec![Vec3::zeros(); b.len()];
            let mut work = CgWorkspace::default();
            let done = conjugate_gradients(&a, with, &b, &mut x, &config, &mut work).unwrap();
            done.iterations
        };
        let plain = run(&mut Identity);
        let with = run(&mut factor);
        assert!(3 * with < plain, "{with} and {plain} iterations");
    }

    #[test]
    fn a_pivot_that_fails_raises_the_diagonal() {
        // A clique of three in a row of four whose eliminated fill would be needed.
        let mut a = grid(6);
        for i in 0..36 {
            // Nearly singular: the foundation is all but taken away.
            a.add(i, i, &(Mat3::identity() * -0.0999)).unwrap();
        }
        let mut factor = BlockCholesky::default();
        factor.prepare(&a);
        assert!(factor.update(&a).is_finite());
        let r = random_vectors(36, 1);
        let mut z = r.clone();
        factor.apply(&r, &mut z);
        let product: f64 = r.iter().zip(&z).map(|(r, z)| r.dot(z)).sum();
        assert!(product > 0.0);
    }
}
