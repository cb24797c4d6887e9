//! Iteration over the blocks of a system matrix, independent of the storage of its parts.

use std::ops::Range;

use super::{MatrixPart, SystemMatrix};
use crate::Mat3;

impl MatrixPart {
    /// Positions (i, j) of its blocks above the diagonal, i < j, in its own numbering.
    pub fn block_pairs(&self) -> Vec<[u32; 2]> {
        match self {
            Self::Sparse(m) => {
                let row = |i: u32| {
                    let row = m.pattern.row(i as usize).iter().filter(move |&&j| j > i);
                    row.map(move |&j| [i, j])
                };
                (0..m.n() as u32).flat_map(row).collect()
            }
            Self::Dense(_) => vec![[0, 1]],
            Self::Banded(m) => m.layout().block_pairs(),
            Self::Scalar(m) => m.block_pairs(),
        }
    }

    /// Calls `visit` with each block (i, j) in its own numbering: sparse and dense parts row by row,
    /// banded ones with the diagonal first.
    pub fn for_each_block(&self, mut visit: impl FnMut(usize, usize, &Mat3)) {
        match self {
            Self::Sparse(m) => {
                let rows = m.pattern.row_start();
                for i in 0..m.n() {
                    for at in rows[i]..rows[i + 1] {
                        visit(i, m.pattern.cols()[at] as usize, &m.values[at]);
                    }
                }
            }
            Self::Dense(m) => {
                for (i, j) in [(0, 0), (0, 1), (1, 0), (1, 1)] {
                    visit(i, j, &m.fixed_view::<3, 3>(3 * i, 3 * j).into_owned());
                }
            }
            Self::Banded(m) => {
                for i in 0..self.len() {
                    visit(i, i, &m.diagonal(i));
                }
                for pair in m.layout().block_pairs() {
                    let [i, j] = pair.map(|b| b as usize);
                    let block = m.block(i, j);
                    visit(i, j, &block);
                    visit(j, i, &block.transpose());
                }
            }
            Self::Scalar(m) => {
                let block = |i, j| Mat3::from_diagonal_element(m.get(i, j));
                for i in 0..self.len() {
                    visit(i, i, &block(i, i));
                }
                for pair in m.block_pairs() {
                    let [i, j] = pair.map(|b| b as usize);
                    visit(i, j, &block(i, j));
                    visit(j, i, &block(i, j));
                }
            }
        }
    }
}

impl SystemMatrix {
    /// The parts with the ranges of their blocks.
    pub fn ranges(&self) -> impl ExactSizeIterator<Item = (Range<usize>, &MatrixPart)> {
        let parts = self.parts.iter().enumerate();
        parts.map(|(p, part)| (self.starts[p]..self.starts[p + 1], part))
    }

    /// Positions (i, j) of the blocks above the diagonal, i < j: part by part, then couplings.
    pub fn block_pairs(&self) -> Vec<[u32; 2]> {
        let mut pairs = Vec::new();
        for (range, part) in self.ranges() {
            let first = range.start as u32;
            pairs.extend(part.block_pairs().iter().map(|p| p.map(|i| first + i)));
        }
        pairs.extend(self.couplings().map(|(i, j, _)| [i, j]));
        pairs
    }

    /// Calls `visit` with each block (i, j): part by part, then couplings with their transposes.
    pub fn for_each_block(&self, mut visit: impl FnMut(usize, usize, &Mat3)) {
        for (range, part) in self.ranges() {
            let first = range.start;
            part.for_each_block(|i, j, block| visit(first + i, first + j, block));
        }
        for (i, j, block) in self.couplings() {
            visit(i as usize, j as usize, block);
            visit(j as usize, i as usize, &block.transpose());
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::testing::{random_numbers, random_vectors};
    use crate::{BandSize, BandedLayout, BlockPattern, LinearOperator, PartShape, Vec3};
    use std::sync::Arc;

    /// One part of every storage scheme, two of them coupled.
    fn matrix() -> SystemMatrix {
        let pattern = BlockPattern::from_cliques(4, [&[0, 1, 2][..], &[2, 3]]).unwrap();
        let size = BandSize { n: 9, bandwidth: 5 };
        let layout = BandedLayout::new(&[size; 2], 6, |m, i| 9 * m + i).unwrap();
        let starts: Arc<[usize]> = [0, 3, 5].into();
        let shapes = vec![
            PartShape::Sparse(Arc::new(pattern)),
            PartShape::Dense,
            PartShape::Banded(Arc::new(layout)),
            PartShape::Scalar(starts),
        ];
        let mut a = SystemMatrix::new(shapes, &[(1, 4), (5, 7)]);
        let mut random = random_numbers(3);
        let n = a.len();
        for i in 0..n {
            for j in i..n {
                let scalar = Mat3::from_diagonal_element(random());
                let mut block = Mat3::from_fn(|_, _| random());
                if i == j {
                    block += block.transpose();
                }
                for block in [block, scalar] {
                    if a.add(i, j, &block) {
                        if i != j {
                            a.add(j, i, &block.transpose());
                        }
                        break;
                    }
                }
            }
        }
        a
    }

    #[test]
    fn the_blocks_that_are_visited_are_the_matrix() {
        let a = matrix();
        let x = random_vectors(a.len(), 5);
        let mut expected = vec![Vec3::zeros(); a.len()];
        a.apply(&x, &mut expected);
        let mut y = vec![Vec3::zeros(); a.len()];
        let mut above = Vec::new();
        a.for_each_block(|i, j, block| {
            y[i] += block * x[j];
            if i < j {
                above.push([i as u32, j as u32]);
            }
        });
        for (y, expected) in y.iter().zip(&expected) {
            // A dozen terms below one.
            assert!((y - expected).norm() < 1e-14, "{y} {expected}");
            assert!(expected.norm() > 0.0);
        }
        assert_eq!(above, a.block_pairs());
        let lengths: usize = a
            .ranges()
            .map(|(range, part)| range.len().min(part.len()))
            .sum();
        assert_eq!(lengths, a.len());
    }
}
