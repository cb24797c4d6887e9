//! The part of a system matrix that belongs to one body, in a storage scheme that suits the body.

use std::sync::Arc;

use crate::{BandedLayout, BandedMatrices, BlockMatrix, BlockPattern, Mat3, Mat6, ScalarBands};

/// Storage scheme of one body's part.
#[derive(Clone, Debug)]
pub enum PartShape {
    /// A shell or solid: 3×3-block-sparse.
    Sparse(Arc<BlockPattern>),
    /// A rigid body: two blocks, dense.
    Dense,
    /// Rods: many small banded matrices.
    Banded(Arc<BandedLayout>),
    /// Rods whose matrix is the same for all directions: the first block of each, and the number of
    /// blocks at the end.
    Scalar(Arc<[usize]>),
}

/// One body's part of the matrix.
#[derive(Clone, Debug)]
pub enum MatrixPart {
    /// A shell or solid.
    Sparse(BlockMatrix),
    /// A rigid body.
    Dense(Box<Mat6>),
    /// Rods.
    Banded(BandedMatrices),
    /// Rods whose matrix is the same for all directions.
    Scalar(ScalarBands),
}

impl MatrixPart {
    /// A zero matrix with the given storage scheme.
    pub fn zeros(shape: PartShape) -> Self {
        match shape {
            PartShape::Sparse(pattern) => Self::Sparse(BlockMatrix::zeros(pattern)),
            PartShape::Dense => Self::Dense(Box::new(Mat6::zeros())),
            PartShape::Banded(layout) => Self::Banded(BandedMatrices::zeros(layout)),
            PartShape::Scalar(starts) => Self::Scalar(ScalarBands::zeros(starts)),
        }
    }

    /// A ← 0.
    pub fn set_zero(&mut self) {
        match self {
            Self::Sparse(m) => m.set_zero(),
            Self::Dense(m) => m.fill(0.0),
            Self::Banded(m) => m.set_zero(),
            Self::Scalar(m) => m.set_zero(),
        }
    }

    /// The stored blocks (i, j), in a fixed order, mirror images included.
    pub fn stored_blocks(&self) -> Vec<[u32; 2]> {
        let n = self.len() as u32;
        let mirrored = |pairs: Vec<[u32; 2]>| {
            let both = pairs.into_iter().flat_map(|[i, j]| [[i, j], [j, i]]);
            (0..n).map(|i| [i, i]).chain(both).collect()
        };
        match self {
            Self::Sparse(m) => {
                let row = |i: u32| m.pattern.row(i as usize).iter().map(move |&j| [i, j]);
                (0..n).flat_map(row).collect()
            }
            Self::Dense(_) => vec![[0, 0], [0, 1], [1, 0], [1, 1]],
            Self::Banded(m) => mirrored(m.layout().block_pairs()),
            Self::Scalar(m) => mirrored(m.block_pairs()),
        }
    }

    /// Calls `f` with the index in [`MatrixPart::stored_blocks`] and the value of every block; `stored`
    /// is that list, unused by sparse parts.
    pub fn for_each_stored(&self, stored: &[[u32; 2]], mut f: impl FnMut(usize, &Mat3)) {
        let blocks = stored.iter().map(|b| b.map(|b| b as usize)).enumerate();
        match self {
            Self::Sparse(m) => m.values.iter().enumerate().for_each(|(k, m)| f(k, m)),
            Self::Dense(m) => blocks.for_each(|(k, [i, j])| {
                f(k, &m.fixed_view::<3, 3>(3 * i, 3 * j).into_owned());
            }),
            // Only one triangle is stored, and components without a row have a unit diagonal, as in
            // the factorisation.
            Self::Banded(m) => blocks.for_each(|(k, [i, j])| match i > j {
                true => f(k, &m.block(j, i).transpose()),
                false => f(k, &m.block(i, j)),
            }),
            Self::Scalar(m) => blocks.for_each(|(k, [i, j])| {
                f(k, &Mat3::from_diagonal_element(m.get(i, j)));
            }),
        }
    }
    /// Number of blocks.
    pub fn len(&self) -> usize {
        match self {
            Self::Sparse(m) => m.n(),
            Self::Dense(_) => 2,
            Self::Banded(m) => m.layout().blocks(),
            Self::Scalar(m) => m.n(),
        }
    }

    /// Whether it has none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    pub(super) fn has_bands(&self) -> bool {
        matches!(self, Self::Banded(_) | Self::Scalar(_))
    }

    /// Adds `value` to block (i, j) of its own numbering; false if it lies outside the pattern.
    pub(super) fn add(&mut self, i: usize, j: usize, value: &Mat3) -> bool {
        match self {
            Self::Banded(m) => m.add_block(i, j, value),
            Self::Scalar(m) => {
                let same = Mat3::from_diagonal_element(value[(0, 0)]) == *value;
                // Only one triangle is stored: of each mirrored pair, one entry is added.
                same && (i < j || m.add(i, j, value[(0, 0)]))
            }
            Self::Sparse(m) => m.add(i, j, value).is_ok(),
            Self::Dense(m) => {
                let mut block = m.fixed_view_mut::<3, 3>(3 * i, 3 * j);
                block += value;
                true
            }
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use crate::{BandSize, LinearOperator, SystemMatrix, Vec3};

    /// The assembled blocks of every storage scheme act like the matrix.
    #[test]
    fn stored_blocks_are_all_of_the_matrix() {
        let pattern = BlockPattern::from_cliques(4, [[0u32, 2].as_slice(), &[1, 2, 3]]).unwrap();
        let size = BandSize { n: 9, bandwidth: 4 };
        let layout = BandedLayout::new(&[size], 4, |_, row| row).unwrap();
        let shapes = [
            PartShape::Sparse(Arc::new(pattern)),
            PartShape::Dense,
            PartShape::Banded(Arc::new(layout)),
            PartShape::Scalar([0, 3, 5].as_slice().into()),
        ];
        for shape in shapes {
            let mut system = SystemMatrix::new(vec![shape], &[]);
            let part = &mut system.parts_mut()[0];
            let stored = part.stored_blocks();
            let scalar = matches!(part, MatrixPart::Scalar(_));
            for &[i, j] in &stored {
                let number = |r: usize, c: usize| {
                    let (a, b) = (3 * i as usize + r, 3 * j as usize + c);
                    1.0 / (1.0 + (a + b) as f64)
                };
                let value = match scalar {
                    true => Mat3::from_diagonal_element(number(0, 0)),
                    false => Mat3::from_fn(number),
                };
                part.add(i as usize, j as usize, &value);
            }
            let n = part.len();
            let x: Vec<Vec3> = (0..n).map(|i| Vec3::new(1.0, i as f64, -0.5)).collect();
            let mut by_blocks = vec![Vec3::zeros(); n];
            let mut count = 0;
            part.for_each_stored(&stored, |k, m| {
                let [i, j] = stored[k].map(|b| b as usize);
                by_blocks[i] += m * x[j];
                count += 1;
            });
            assert_eq!(count, stored.len());
            let mut y = vec![Vec3::zeros(); n];
            system.apply(&x, &mut y);
            for (a, b) in y.iter().zip(&by_blocks) {
                assert!((a - b).norm() < 1e-13, "{a:?} {b:?}");
            }
        }
    }
}
