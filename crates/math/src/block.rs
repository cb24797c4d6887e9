//! Symmetric matrices of 3×3 blocks in block-CSR storage, both triangles stored.
//!
//! Storing both triangles costs memory but lets every row be applied on its own: no scatter, no
//! colours, and the same bits for any number of threads.

use crate::{Mat3, Vec3, parallel};
use std::sync::Arc;

/// Sparsity pattern of an n×n block matrix. Symmetric, with a full diagonal.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BlockPattern {
    n: usize,
    row_start: Vec<usize>,
    cols: Vec<u32>,
}

/// Errors of block matrices.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BlockError {
    /// A clique names a node that does not exist.
    #[error("node {node} is out of range: the matrix has {n} block rows")]
    NodeOutOfRange {
        /// The node named.
        node: usize,
        /// The number of block rows.
        n: usize,
    },
    /// More rows than 32-bit column indices can address.
    #[error("{n} block rows are too many: at most 2^32 − 1")]
    TooLarge {
        /// The requested number of block rows.
        n: usize,
    },
    /// The pattern has no such block.
    #[error("block ({row}, {col}) is not in the pattern")]
    Missing {
        /// Block row.
        row: usize,
        /// Block column.
        col: usize,
    },
    /// Two matrices that must share a pattern do not.
    #[error("the matrices have different patterns")]
    DifferentPatterns,
}

impl BlockPattern {
    /// Builds the pattern that couples all nodes of each clique (an element, a stencil).
    ///
    /// `n` block rows; columns sorted in each row; diagonal added; duplicates merged. Time and
    /// memory are linear in the sum of squared clique sizes and in the size of the cliques.
    pub fn from_cliques<'a>(
        n: usize,
        cliques: impl IntoIterator<Item = &'a [u32]>,
    ) -> Result<Self, BlockError> {
        if n >= u32::MAX as usize {
            return Err(BlockError::TooLarge { n });
        }
        // Flat copy of the cliques and the cliques at each node, so that each row is gathered
        // once, without a list of all pairs.
        let mut clique_start = vec![0];
        let mut nodes = Vec::new();
        let mut incident_start = vec![0usize; n + 1];
        for clique in cliques {
            for &node in clique {
                match incident_start.get_mut(node as usize + 1) {
                    Some(count) => *count += 1,
                    None => {
                        return Err(BlockError::NodeOutOfRange {
                            node: node as usize,
                            n,
                        });
                    }
                }
            }
            nodes.extend_from_slice(clique);
            clique_start.push(nodes.len());
        }
        for i in 0..n {
            incident_start[i + 1] += incident_start[i];
        }
        let mut incident = vec![0usize; nodes.len()];
        let mut cursor = incident_start.clone();
        for (c, range) in clique_start.windows(2).enumerate() {
            for &node in &nodes[range[0]..range[1]] {
                incident[cursor[node as usize]] = c;
                cursor[node as usize] += 1;
            }
        }

        let mut row_start = Vec::with_capacity(n + 1);
        row_start.push(0);
        let mut cols: Vec<u32> = Vec::new();
        let mut seen_by = vec![u32::MAX; n];
        for i in 0..n {
            let begin = cols.len();
            seen_by[i] = i as u32;
            cols.push(i as u32);
            for &c in &incident[incident_start[i]..incident_start[i + 1]] {
                for &j in &nodes[clique_start[c]..clique_start[c + 1]] {
                    if seen_by[j as usize] != i as u32 {
                        seen_by[j as usize] = i as u32;
                        cols.push(j);
                    }
                }
            }
            cols[begin..].sort_unstable();
            row_start.push(cols.len());
        }
        cols.shrink_to_fit();
        Ok(Self { n, row_start, cols })
    }

    /// Number of block rows.
    pub fn n(&self) -> usize {
        self.n
    }

    /// Number of stored blocks, both triangles and the diagonal.
    pub fn nnz(&self) -> usize {
        self.cols.len()
    }

    /// Start of each row in [`BlockPattern::cols`]; n + 1 entries.
    pub fn row_start(&self) -> &[usize] {
        &self.row_start
    }

    /// Block columns, row after row, sorted within each row.
    pub fn cols(&self) -> &[u32] {
        &self.cols
    }

    /// The block columns of row `i`.
    pub fn row(&self, i: usize) -> &[u32] {
        &self.cols[self.row_start[i]..self.row_start[i + 1]]
    }

    /// The position of block (i, j) among the values, if it is stored.
    pub fn find(&self, i: usize, j: usize) -> Option<usize> {
        if i >= self.n || j >= self.n {
            return None;
        }
        let found = self.row(i).binary_search(&(j as u32)).ok()?;
        Some(self.row_start[i] + found)
    }

    /// Heap memory [bytes].
    pub fn bytes(&self) -> usize {
        self.row_start.capacity() * size_of::<usize>() + self.cols.capacity() * size_of::<u32>()
    }
}

/// A symmetric n×n matrix of 3×3 blocks on a shared pattern.
#[derive(Clone, Debug)]
pub struct BlockMatrix {
    /// Sparsity pattern.
    pub pattern: Arc<BlockPattern>,
    /// The blocks, in the order of the pattern's columns.
    pub values: Vec<Mat3>,
}

impl BlockMatrix {
    /// The zero matrix on `pattern`.
    pub fn zeros(pattern: Arc<BlockPattern>) -> Self {
        let values = vec![Mat3::zeros(); pattern.nnz()];
        Self { pattern, values }
    }

    /// Number of block rows.
    pub fn n(&self) -> usize {
        self.pattern.n
    }

    /// Sets every stored block to zero.
    pub fn set_zero(&mut self) {
        self.values.fill(Mat3::zeros());
    }

    /// Adds `block` at (i, j) only; the caller adds the transpose at (j, i).
    pub fn add(&mut self, i: usize, j: usize, block: &Mat3) -> Result<(), BlockError> {
        let at = self
            .pattern
            .find(i, j)
            .ok_or(BlockError::Missing { row: i, col: j })?;
        self.values[at] += block;
        Ok(())
    }

    /// The diagonal block of row `i`; zero if there is no such row.
    pub fn diagonal(&self, i: usize) -> Mat3 {
        match self.pattern.find(i, i) {
            Some(at) => self.values[at],
            None => Mat3::zeros(),
        }
    }

    /// y = A x, rows in parallel. `x` and `y` have one entry per block row.
    pub fn apply(&self, x: &[Vec3], y: &mut [Vec3]) {
        debug_assert!(x.len() == self.n() && y.len() == self.n());
        let pattern = &*self.pattern;
        parallel::each_mut(y, ROWS, |i, y| {
            let range = pattern.row_start[i]..pattern.row_start[i + 1];
            let mut sum = Vec3::zeros();
            for (&j, a) in pattern.cols[range.clone()].iter().zip(&self.values[range]) {
                let v = &x[j as usize];
                sum.x += a.m11 * v.x + a.m12 * v.y + a.m13 * v.z;
                sum.y += a.m21 * v.x + a.m22 * v.y + a.m23 * v.z;
                sum.z += a.m31 * v.x + a.m32 * v.y + a.m33 * v.z;
            }
            *y = sum;
        });
    }

    /// y = Aᵀ x, rows in parallel, by the blocks that stand across the diagonal: patterns are symmetric.
    pub fn apply_transpose(&self, x: &[Vec3], y: &mut [Vec3]) {
        debug_assert!(x.len() == self.n() && y.len() == self.n());
        let pattern = &*self.pattern;
        parallel::each_mut(y, ROWS, |i, y| {
            *y = pattern.row(i).iter().fold(Vec3::zeros(), |sum, &j| {
                match pattern.find(j as usize, i) {
                    Some(at) => sum + self.values[at].tr_mul(&x[j as usize]),
                    None => sum,
                }
            });
        });
    }

    /// Row `i` of A x.
    pub fn row_product(&self, i: usize, x: &[Vec3]) -> Vec3 {
        let range = self.pattern.row_start[i]..self.pattern.row_start[i + 1];
        let blocks = self.pattern.cols[range.clone()]
            .iter()
            .zip(&self.values[range]);
        blocks.fold(Vec3::zeros(), |sum, (&j, a)| sum + a * x[j as usize])
    }

    /// self += s · other, on equal patterns.
    pub fn add_scaled(&mut self, s: f64, other: &Self) -> Result<(), BlockError> {
        if !Arc::ptr_eq(&self.pattern, &other.pattern) && self.pattern != other.pattern {
            return Err(BlockError::DifferentPatterns);
        }
        parallel::chunks_mut(&mut self.values, BLOCKS, |first, a| {
            let pairs = a.iter_mut().zip(&other.values[first..]);
            pairs.for_each(|(a, b)| *a += b * s);
        });
        Ok(())
    }

    /// Zeroes the rows and columns of fixed nodes and puts `scale` · I on their diagonal.
    ///
    /// The matrix stays symmetric. The caller sets the right-hand side: b_i −= A_ij x_j for fixed
    /// j beforehand, and b_j = scale · x_j.
    pub fn eliminate(&mut self, fixed: &[bool], scale: f64) {
        debug_assert!(fixed.len() == self.n());
        let pattern = &*self.pattern;
        for_rows_mut(&pattern.row_start, &mut self.values, &|i, row| {
            let start = pattern.row_start[i];
            for (k, block) in row.iter_mut().enumerate() {
                let j = pattern.cols[start + k] as usize;
                if fixed[i] || fixed[j] {
                    *block = Mat3::identity() * if i == j { scale } else { 0.0 };
                }
            }
        });
    }

    /// Heap memory of the values [bytes], without the shared pattern.
    pub fn bytes(&self) -> usize {
        self.values.capacity() * size_of::<Mat3>()
    }
}

/// Rows per parallel task of `apply`; any number gives the same bits.
const ROWS: usize = 256;
/// Blocks per parallel task of entry-wise operations.
const BLOCKS: usize = 4096;

/// Values below which slices are visited in turn: waking another thread takes longer.
const SEQUENTIAL: usize = 512;

/// Calls `f(i, values of row i)` for every row of a CSR layout, rows in parallel.
pub(crate) fn for_rows_mut<T: Send>(
    row_start: &[usize],
    values: &mut [T],
    f: &(impl Fn(usize, &mut [T]) + Sync),
) {
    for_parts_mut(row_start, values, ROWS, f);
}

/// Calls `f(i, slice i of values)` for the slices that begin at `starts` and end at its last entry,
/// up to `grain` of them per task. Recursive halving avoids allocating a list of slices.
pub(crate) fn for_parts_mut<T: Send>(
    starts: &[usize],
    values: &mut [T],
    grain: usize,
    f: &(impl Fn(usize, &mut [T]) + Sync),
) {
    // Behind a pointer to `f`, so that it is compiled once for a type of values.
    fn halves<T: Send>(
        first: usize,
        starts: &[usize],
        values: &mut [T],
        grain: usize,
        f: &(dyn Fn(usize, &mut [T]) + Sync),
    ) {
        let parts = starts.len() - 1;
        if parts <= grain || values.len() <= SEQUENTIAL {
            let mut rest = values;
            for k in 0..parts {
                let (part, tail) = rest.split_at_mut(starts[k + 1] - starts[k]);
                f(first + k, part);
                rest = tail;
            }
            return;
        }
        let mid = parts / 2;
        let (low, high) = values.split_at_mut(starts[mid] - starts[0]);
        rayon::join(
            || halves(first, &starts[..=mid], low, grain, f),
            || halves(first + mid, &starts[mid..], high, grain, f),
        );
    }
    if !starts.is_empty() {
        halves(0, starts, values, grain, f);
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::testing::{cliques, in_pools, random_symmetric, random_vectors, to_dense};
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    proptest! {
        #[test]
        fn pattern_is_the_set_of_pairs(sets in cliques(12)) {
            let pattern = BlockPattern::from_cliques(12, sets.iter().map(Vec::as_slice)).unwrap();
            let mut expected: BTreeSet<(usize, usize)> = (0..12).map(|i| (i, i)).collect();
            for set in &sets {
                for &i in set {
                    expected.extend(set.iter().map(|&j| (i as usize, j as usize)));
                }
            }
            let got: Vec<(usize, usize)> = (0..12)
                .flat_map(|i| pattern.row(i).iter().map(move |&j| (i, j as usize)))
                .collect();
            prop_assert_eq!(got, expected.iter().copied().collect::<Vec<_>>());
            for i in 0..14 {
                for j in 0..14 {
                    let at = pattern.find(i, j);
                    prop_assert_eq!(at.is_some(), expected.contains(&(i, j)));
                    if let Some(at) = at {
                        prop_assert_eq!(pattern.cols()[at] as usize, j);
                    }
                }
            }
        }

        #[test]
        fn operations_match_dense(sets in cliques(10), seed in any::<u64>()) {
            let mut a = random_symmetric(10, &sets, seed);
            let b = random_symmetric(10, &sets, seed ^ 1);
            let x = random_vectors(10, seed);
            let mut y = vec![Vec3::zeros(); 10];
            a.apply(&x, &mut y);
            let flat = |v: &[Vec3]| nalgebra::DVector::from_iterator(30, v.iter().flat_map(|v| v.iter().copied()));
            prop_assert!((to_dense(&a) * flat(&x) - flat(&y)).amax() < 1e-12);
            let mut skew = a.clone();
            for (value, other) in skew.values.iter_mut().zip(&b.values) {
                *value = value.component_mul(other);
            }
            skew.values[0] *= 3.0;
            skew.apply_transpose(&x, &mut y);
            prop_assert!((to_dense(&skew).transpose() * flat(&x) - flat(&y)).amax() < 1e-12);
            a.apply(&x, &mut y);

            let expected = to_dense(&a) + to_dense(&b) * 0.25;
            a.add_scaled(0.25, &b).unwrap();
            prop_assert!((to_dense(&a) - &expected).amax() < 1e-15);

            let fixed: Vec<bool> = (0..10).map(|i| seed >> i & 1 == 1).collect();
            a.eliminate(&fixed, 7.0);
            let got = to_dense(&a);
            for i in 0..30 {
                for j in 0..30 {
                    let expected = match fixed[i / 3] || fixed[j / 3] {
                        true if i == j => 7.0,
                        true => 0.0,
                        false => expected[(i, j)],
                    };
                    prop_assert_eq!(got[(i, j)], expected);
                }
            }
        }
    }

    #[test]
    fn same_bits_for_any_thread_count() {
        let sets: Vec<Vec<u32>> = (0..2000u32)
            .map(|i| vec![i, (i * 7 + 1) % 2000, (i + 1) % 2000])
            .collect();
        let a = random_symmetric(2000, &sets, 3);
        let x = random_vectors(2000, 4);
        in_pools(|| {
            let mut y = vec![Vec3::zeros(); 2000];
            a.apply(&x, &mut y);
            let mut b = a.clone();
            b.add_scaled(0.3, &a).unwrap();
            b.eliminate(&vec![false; 2000], 1.0);
            (y, b.values)
        });
    }

    #[test]
    fn misfits_are_errors() {
        let bad = [0u32, 5];
        assert_eq!(
            BlockPattern::from_cliques(5, [bad.as_slice()]),
            Err(BlockError::NodeOutOfRange { node: 5, n: 5 })
        );
        let diagonal = Arc::new(BlockPattern::from_cliques(3, []).unwrap());
        let mut a = BlockMatrix::zeros(diagonal);
        assert_eq!(
            a.add(0, 1, &Mat3::identity()),
            Err(BlockError::Missing { row: 0, col: 1 })
        );
        a.add(2, 2, &Mat3::identity()).unwrap();
        assert_eq!(a.diagonal(2), Mat3::identity());
        assert_eq!(a.diagonal(1), Mat3::zeros());
        let other = BlockMatrix::zeros(Arc::new(BlockPattern::from_cliques(4, []).unwrap()));
        assert_eq!(
            a.add_scaled(1.0, &other),
            Err(BlockError::DifferentPatterns)
        );
        let empty = BlockMatrix::zeros(Arc::new(BlockPattern::from_cliques(0, []).unwrap()));
        empty.apply(&[], &mut []);
    }
}
