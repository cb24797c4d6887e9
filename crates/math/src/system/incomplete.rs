//! Approximate inverse of a system matrix by incomplete Cholesky factors, body by body.
//!
//! It serves Krylov methods that must not pay for a full factor. Couplings between bodies are left to the
//! iteration; a rigid body has its 6×6 inverse.

use std::sync::Arc;

use rayon::prelude::*;

use super::{MatrixPart, SystemMatrix};
use crate::{
    BlockCholesky, BlockError, BlockMatrix, BlockPattern, Mat6, Vec3,
    krylov::{CgConfig, CgReport, CgWorkspace, KrylovError, Preconditioner, conjugate_gradients},
};

/// Incomplete factors of the parts of a system matrix. Symmetric and positive definite.
#[derive(Debug, Default)]
pub struct IncompleteFactors {
    parts: Vec<IncompletePart>,
    work: CgWorkspace,
}

#[derive(Debug)]
enum IncompletePart {
    /// A 6×6 matrix and its inverse.
    Rigid(Mat6),
    Sparse(BlockCholesky),
    /// A part in bands, copied to blocks.
    Bands(BlockMatrix, BlockCholesky),
}

impl IncompleteFactors {
    /// Factorises the parts of `a` incompletely. Keeps the layout of parts whose pattern has not changed.
    pub fn update(&mut self, a: &SystemMatrix) -> Result<(), BlockError> {
        let mut before = std::mem::take(&mut self.parts).into_iter();
        let paired: Vec<_> = a.parts.iter().map(|part| (part, before.next())).collect();
        let parts = paired.into_par_iter();
        let parts = parts.map(|(part, before)| IncompletePart::new(part, before));
        self.parts = parts.collect::<Result<_, _>>()?;
        Ok(())
    }

    /// Solves A x = b by conjugate gradients from the given `x`, for the matrix of the last update.
    pub fn solve(
        &mut self,
        a: &SystemMatrix,
        b: &[Vec3],
        x: &mut [Vec3],
        config: &CgConfig,
    ) -> Result<CgReport, KrylovError> {
        let mut work = std::mem::take(&mut self.work);
        let solved = conjugate_gradients(a, self, b, x, config, &mut work);
        self.work = work;
        solved
    }

    /// Heap memory [bytes], without shared patterns.
    pub fn bytes(&self) -> usize {
        let parts = self.parts.iter().map(|part| match part {
            IncompletePart::Rigid(_) => 0,
            IncompletePart::Sparse(factor) => factor.bytes(),
            IncompletePart::Bands(matrix, factor) => {
                size_of_val(&matrix.values[..]) + factor.bytes()
            }
        });
        size_of_val(&self.parts[..]) + parts.sum::<usize>()
    }
}

impl IncompletePart {
    /// The factor of a part; what `before` has of the same pattern is used again.
    fn new(part: &MatrixPart, before: Option<Self>) -> Result<Self, BlockError> {
        match part {
            MatrixPart::Dense(m) => {
                let inverse = m
                    .cholesky()
                    .map(|c| c.inverse())
                    .or_else(|| m.try_inverse());
                Ok(Self::Rigid(inverse.unwrap_or_else(Mat6::identity)))
            }
            MatrixPart::Sparse(m) => {
                let mut factor = match before {
                    Some(Self::Sparse(factor)) => factor,
                    _ => BlockCholesky::default(),
                };
                factor.prepare(m);
                factor.update(m);
                Ok(Self::Sparse(factor))
            }
            MatrixPart::Banded(_) | MatrixPart::Scalar(_) => {
                let (matrix, mut factor) = match before {
                    Some(Self::Bands(mut matrix, factor)) if matrix.n() == part.len() => {
                        matrix.set_zero();
                        match copied(part, &mut matrix) {
                            Ok(()) => (matrix, factor),
                            Err(_) => (blocks_of(part)?, factor),
                        }
                    }
                    _ => (blocks_of(part)?, BlockCholesky::default()),
                };
                factor.prepare(&matrix);
                factor.update(&matrix);
                Ok(Self::Bands(matrix, factor))
            }
        }
    }

    fn apply(&mut self, r: &[Vec3], z: &mut [Vec3]) {
        match self {
            Self::Rigid(inverse) => {
                for i in 0..2 {
                    let block = |j: usize| inverse.fixed_view::<3, 3>(3 * i, 3 * j) * r[j];
                    z[i] = block(0) + block(1);
                }
            }
            Self::Sparse(factor) | Self::Bands(_, factor) => factor.apply(r, z),
        }
    }
}

impl Preconditioner for IncompleteFactors {
    fn apply(&mut self, r: &[Vec3], z: &mut [Vec3]) {
        let mut rest = z;
        let mut first = 0;
        let mut pieces = Vec::with_capacity(self.parts.len());
        for part in &mut self.parts {
            let len = match &*part {
                IncompletePart::Rigid(_) => 2,
                IncompletePart::Sparse(f) | IncompletePart::Bands(_, f) => f.len(),
            };
            let (own, tail) = rest.split_at_mut(len);
            pieces.push((part, &r[first..first + len], own));
            (rest, first) = (tail, first + len);
        }
        let pieces = pieces.into_par_iter().with_min_len(8);
        pieces.for_each(|(part, r, z)| part.apply(r, z));
    }
}

/// A part as a matrix of blocks.
fn blocks_of(part: &MatrixPart) -> Result<BlockMatrix, BlockError> {
    let pairs = part.block_pairs();
    let cliques = pairs.iter().map(|p| &p[..]);
    let pattern = Arc::new(BlockPattern::from_cliques(part.len(), cliques)?);
    let mut matrix = BlockMatrix::zeros(pattern);
    copied(part, &mut matrix)?;
    Ok(matrix)
}

/// Adds a part to a matrix with its pattern.
fn copied(part: &MatrixPart, to: &mut BlockMatrix) -> Result<(), BlockError> {
    let mut done = Ok(());
    part.for_each_block(|i, j, block| {
        if done.is_ok() {
            done = to.add(i, j, block);
        }
    });
    done
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::{
        Mat3, PartShape, SystemFactor,
        testing::{random_spd, random_vectors},
    };

    /// A sparse body, a rigid one and a chain in bands, coupled.
    fn system(seed: u64) -> SystemMatrix {
        let sets: Vec<Vec<u32>> = (0..40).map(|i| vec![i, (i * 7 + 1) % 40]).collect();
        let sparse = random_spd(40, &sets, seed);
        let starts: Arc<[usize]> = Arc::from([0usize, 12]);
        let shapes = vec![
            PartShape::Sparse(Arc::clone(&sparse.pattern)),
            PartShape::Dense,
            PartShape::Scalar(starts),
        ];
        let mut a = SystemMatrix::new(shapes, &[(3, 40), (7, 45)]);
        for i in 0..40 {
            for &j in sparse.pattern.row(i) {
                let j = j as usize;
                let place = sparse.pattern.find(i, j).unwrap();
                a.add(i, j, &sparse.values[place]);
            }
        }
        for i in 0..a.len() {
            a.add(
                i,
                i,
                &(Mat3::identity() * (3.0 + (i + seed as usize) as f64 % 5.0)),
            );
        }
        for i in 42..53 {
            a.add(i, i + 1, &-Mat3::identity());
            a.add(i + 1, i, &-Mat3::identity());
        }
        for (i, j) in [(3, 40), (7, 45)] {
            a.add(i, j, &(Mat3::identity() * -0.3));
        }
        a
    }

    #[test]
    fn conjugate_gradients_with_them_agree_with_the_full_factor() {
        let mut incomplete = IncompleteFactors::default();
        for seed in 0..4 {
            let a = system(seed);
            let b = random_vectors(a.len(), seed);
            let none: [&[Vec3]; 3] = [&[], &[], &[]];
            let mut full = SystemFactor::new(&a, &none).unwrap();
            full.refactor(&a, None).unwrap();
            let mut exact = b.clone();
            full.solve(&a, &mut exact, 1e-14).unwrap();
            // The layout of the last seed serves this one.
            incomplete.update(&a).unwrap();
            let config = CgConfig {
                relative: 1e-13,
                ..CgConfig::default()
            };
            let mut x = vec![Vec3::zeros(); a.len()];
            let report = incomplete.solve(&a, &b, &mut x, &config).unwrap();
            assert!(report.iterations < 60, "{report:?}");
            for (x, exact) in x.iter().zip(&exact) {
                assert!((x - exact).norm() < 1e-10);
            }
        }
    }

    #[test]
    fn they_are_symmetric_and_positive_definite() {
        let a = system(1);
        let mut incomplete = IncompleteFactors::default();
        incomplete.update(&a).unwrap();
        let (x, y) = (random_vectors(a.len(), 5), random_vectors(a.len(), 6));
        let mut apply = |x: &[Vec3]| {
            let mut z = x.to_vec();
            incomplete.apply(x, &mut z);
            z
        };
        let dot = |a: &[Vec3], b: &[Vec3]| a.iter().zip(b).map(|(a, b)| a.dot(b)).sum::<f64>();
        let (mx, my) = (apply(&x), apply(&y));
        assert!((dot(&x, &my) - dot(&y, &mx)).abs() < 1e-12 * dot(&x, &mx).abs());
        assert!(dot(&x, &mx) > 0.0 && dot(&y, &my) > 0.0);
    }
}
