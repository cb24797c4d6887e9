//! The matrix of a whole step: block-diagonal by body, with sparse couplings between bodies.
//!
//! A v = f is solved directly body by body where nothing couples them; otherwise by conjugate
//! gradients with the bodies' exact factors as preconditioner [daviet2020, Sect. 6.2.5], rods that are
//! tied to a body eliminated from it.

mod elimination;
mod incomplete;
mod part;
mod walk;

use std::{borrow::Borrow, sync::Arc};

use rayon::prelude::*;

use elimination::{Eliminated, Elimination};
pub use incomplete::IncompleteFactors;
pub use part::{MatrixPart, PartShape};

use crate::{
    BandedError, BandedFactors, BlockError, Factor, FactorError, Mat3, Mat6, Ordering,
    ScalarFactors, Symbolic, Vec3,
    block::for_parts_mut,
    krylov::{CgConfig, CgWorkspace, LinearOperator, Preconditioner, conjugate_gradients},
    parallel,
};

/// A symmetric positive definite matrix over all 3-blocks of a model.
#[derive(Clone, Debug)]
pub struct SystemMatrix {
    parts: Vec<MatrixPart>,
    /// The first block of each part, and the number of blocks at the end.
    starts: Vec<usize>,
    /// Blocks (i, j) with i < j outside the patterns of all parts, sorted; (j, i) is the transpose.
    pairs: Vec<(u32, u32)>,
    couplings: Vec<Mat3>,
}

impl SystemMatrix {
    /// Builds a zero matrix with the given parts and with couplings at `pairs` of blocks. Pairs
    /// inside one part belong to that part's pattern, unless they lie outside its bands.
    pub fn new(shapes: Vec<PartShape>, pairs: &[(u32, u32)]) -> Self {
        let mut starts = vec![0];
        let mut parts = Vec::with_capacity(shapes.len());
        for shape in shapes {
            let part = MatrixPart::zeros(shape);
            starts.push(starts[starts.len() - 1] + part.len());
            parts.push(part);
        }
        let mut matrix = Self {
            parts,
            starts,
            pairs: Vec::new(),
            couplings: Vec::new(),
        };
        let mut pairs: Vec<(u32, u32)> = pairs
            .iter()
            .filter(|p| matrix.couples(p.0 as usize, p.1 as usize))
            .map(|&(i, j)| (i.min(j), i.max(j)))
            .collect();
        pairs.sort_unstable();
        pairs.dedup();
        matrix.couplings = vec![Mat3::zeros(); pairs.len()];
        matrix.pairs = pairs;
        matrix
    }

    /// Number of 3-blocks.
    pub fn len(&self) -> usize {
        self.starts[self.parts.len()]
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The parts, one per body.
    pub fn parts(&self) -> &[MatrixPart] {
        &self.parts
    }

    /// The parts, one per body.
    pub fn parts_mut(&mut self) -> &mut [MatrixPart] {
        &mut self.parts
    }

    /// Whether bodies are coupled.
    pub fn is_coupled(&self) -> bool {
        !self.pairs.is_empty()
    }

    /// The blocks (i, j) of A between parts, or outside the bands of one, with i < j, sorted by
    /// (i, j); block (j, i) is the transpose.
    pub fn couplings(&self) -> impl ExactSizeIterator<Item = (u32, u32, &Mat3)> {
        let pairs = self.pairs.iter().zip(&self.couplings);
        pairs.map(|(&(i, j), value)| (i, j, value))
    }

    /// A ← 0.
    pub fn set_zero(&mut self) {
        parallel::each_mut(&mut self.parts, 1, |_, part| part.set_zero());
        self.couplings.fill(Mat3::zeros());
    }

    fn part_of(&self, block: usize) -> usize {
        self.starts.partition_point(|&s| s <= block) - 1
    }

    /// Whether block (i, j) is a coupling and not stored in a part.
    fn couples(&self, i: usize, j: usize) -> bool {
        let p = self.part_of(i);
        let first = self.starts[p];
        match &self.parts[p] {
            _ if p != self.part_of(j) => true,
            MatrixPart::Banded(m) => i != j && !m.layout().has_block(i - first, j - first),
            MatrixPart::Scalar(m) => i != j && !m.has(i - first, j - first),
            MatrixPart::Sparse(_) | MatrixPart::Dense(_) => false,
        }
    }

    /// Adds `value` to block (i, j). The caller must add both (i, j) and (j, i); of two blocks in
    /// different parts, the one with i > j is implied by the other. Returns false for blocks
    /// outside the pattern, and for blocks of a scalar part that are not a multiple of the
    /// identity.
    pub fn add(&mut self, i: usize, j: usize, value: &Mat3) -> bool {
        if self.couples(i, j) {
            if i > j {
                return true;
            }
            let Ok(at) = self.pairs.binary_search(&(i as u32, j as u32)) else {
                return false;
            };
            self.couplings[at] += value;
            return true;
        }
        let p = self.part_of(i);
        let first = self.starts[p];
        self.parts[p].add(i - first, j - first, value)
    }

    /// The 3×3 diagonal block of block `i`.
    pub fn diagonal(&self, i: usize) -> Mat3 {
        let p = self.part_of(i);
        let local = i - self.starts[p];
        match &self.parts[p] {
            MatrixPart::Sparse(m) => m.diagonal(local),
            MatrixPart::Dense(m) => m.fixed_view::<3, 3>(3 * local, 3 * local).into_owned(),
            MatrixPart::Banded(m) => m.diagonal(local),
            MatrixPart::Scalar(m) => Mat3::from_diagonal_element(m.get(local, local)),
        }
    }

    /// Eliminates the blocks marked in `fixed`: their rows and columns become zero, their diagonal
    /// blocks a multiple of the identity of the previous magnitude. A right-hand side that is zero
    /// there then leaves them zero.
    pub fn eliminate(&mut self, fixed: &[bool]) {
        let starts = &self.starts;
        parallel::each_mut(&mut self.parts, 1, |p, part| {
            let fixed = &fixed[starts[p]..starts[p + 1]];
            if !fixed.contains(&true) {
                return;
            }
            match part {
                MatrixPart::Sparse(m) => m.eliminate(fixed, 1.0),
                MatrixPart::Banded(m) => m.eliminate(|component| fixed[component / 3]),
                MatrixPart::Scalar(m) => m.eliminate(fixed),
                MatrixPart::Dense(m) => {
                    for i in (0..2).filter(|&i| fixed[i]) {
                        m.fixed_rows_mut::<3>(3 * i).fill(0.0);
                        m.fixed_columns_mut::<3>(3 * i).fill(0.0);
                        for c in 3 * i..3 * i + 3 {
                            m[(c, c)] = 1.0;
                        }
                    }
                }
            }
        });
        for (pair, value) in self.pairs.iter().zip(&mut self.couplings) {
            if fixed[pair.0 as usize] || fixed[pair.1 as usize] {
                *value = Mat3::zeros();
            }
        }
    }

    /// Converts banded parts to 3×3 blocks, including the couplings inside them, for solvers that
    /// do not support bands.
    pub fn without_bands(&self) -> Result<Self, BlockError> {
        let mut copy = self.clone();
        for (p, part) in copy.parts.iter_mut().enumerate() {
            if !part.has_bands() {
                continue;
            }
            let range = self.starts[p] as u32..self.starts[p + 1] as u32;
            let inside = self
                .pairs
                .iter()
                .filter(|c| range.contains(&c.1) && range.contains(&c.0));
            let more: Vec<[u32; 2]> = inside
                .map(|&(i, j)| [i - range.start, j - range.start])
                .collect();
            *part = match part {
                MatrixPart::Banded(m) => MatrixPart::Sparse(m.to_sparse(&more)?),
                MatrixPart::Scalar(m) => MatrixPart::Sparse(m.to_sparse(&more)?),
                MatrixPart::Sparse(_) | MatrixPart::Dense(_) => continue,
            };
        }
        (copy.pairs, copy.couplings) = (Vec::new(), Vec::new());
        for (&(i, j), value) in self.pairs.iter().zip(&self.couplings) {
            if copy.part_of(i as usize) == copy.part_of(j as usize) {
                copy.add(i as usize, j as usize, value);
                copy.add(j as usize, i as usize, &value.transpose());
            } else {
                copy.pairs.push((i, j));
                copy.couplings.push(*value);
            }
        }
        Ok(copy)
    }

    /// Whether a part is banded.
    pub fn has_bands(&self) -> bool {
        self.parts.iter().any(MatrixPart::has_bands)
    }

    /// Heap memory of the values [bytes].
    pub fn bytes(&self) -> usize {
        let parts: usize = self
            .parts
            .iter()
            .map(|p| match p {
                MatrixPart::Sparse(m) => m.bytes(),
                MatrixPart::Dense(_) => size_of::<Mat6>(),
                MatrixPart::Banded(m) => m.bytes(),
                MatrixPart::Scalar(m) => m.bytes(),
            })
            .sum();
        parts + self.couplings.len() * (size_of::<Mat3>() + 8)
    }
}

impl LinearOperator for SystemMatrix {
    fn len(&self) -> usize {
        self.len()
    }

    /// y ← A x.
    fn apply(&self, x: &[Vec3], y: &mut [Vec3]) {
        for_parts_mut(&self.starts, y, 1, &|p, y: &mut [Vec3]| {
            let x = &x[self.starts[p]..self.starts[p + 1]];
            match &self.parts[p] {
                MatrixPart::Sparse(m) => m.apply(x, y),
                MatrixPart::Banded(m) => m.apply(x, y),
                MatrixPart::Scalar(m) => m.apply(x, y),
                MatrixPart::Dense(m) => {
                    let mut six = nalgebra::Vector6::zeros();
                    six.fixed_rows_mut::<3>(0).copy_from(&x[0]);
                    six.fixed_rows_mut::<3>(3).copy_from(&x[1]);
                    let product = **m * six;
                    y[0] = product.fixed_rows::<3>(0).into_owned();
                    y[1] = product.fixed_rows::<3>(3).into_owned();
                }
            }
        });
        // Few and scattered: one after another keeps the order of sums fixed.
        for (&(i, j), value) in self.pairs.iter().zip(&self.couplings) {
            let (i, j) = (i as usize, j as usize);
            y[i] += value * x[j];
            y[j] += value.tr_mul(&x[i]);
        }
    }
}

/// Errors of a system solve.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum SystemError {
    /// A part could not be factorised.
    #[error("part {part}: {source}")]
    Factor {
        /// The part: the body's index.
        part: usize,
        /// The cause.
        source: FactorError,
    },
    /// Rods could not be factorised.
    #[error("part {part}: {source}")]
    Banded {
        /// The part: the body's index.
        part: usize,
        /// The cause.
        source: BandedError,
    },
    /// Conjugate gradients across couplings did not converge.
    #[error(
        "conjugate gradients stopped after {iterations} iterations at relative residual {residual:e}"
    )]
    Linear {
        /// Iterations taken.
        iterations: usize,
        /// ‖b − A x‖ / ‖b‖ reached.
        residual: f64,
    },
}

/// Factors of all parts and the workspace of conjugate gradients.
pub struct SystemFactor {
    factors: PartFactors,
    elimination: Elimination,
    workspace: CgWorkspace,
    /// The right-hand side, where bodies are coupled.
    rhs: Vec<Vec3>,
}

/// Exact factors of the block-diagonal part.
struct PartFactors {
    starts: Vec<usize>,
    parts: Vec<PartFactor>,
}

enum PartFactor {
    Sparse(Box<Factor>),
    /// The inverse of the 6×6 matrix: cheaper to apply than a factor, and as accurate for a
    /// body's own inertia.
    Dense(Box<Mat6>),
    Banded(BandedFactors),
    Scalar(ScalarFactors),
}

impl SystemFactor {
    /// Analyses the structure of `matrix`. `positions` [m] of every part's blocks guide the
    /// elimination order, where there are any.
    pub fn new(matrix: &SystemMatrix, positions: &[&[Vec3]]) -> Result<Self, SystemError> {
        let parts: Result<Vec<PartFactor>, SystemError> = matrix
            .parts
            .par_iter()
            .enumerate()
            .map(|(part, p)| match p {
                MatrixPart::Dense(_) => Ok(PartFactor::Dense(Box::new(Mat6::zeros()))),
                MatrixPart::Banded(m) => Ok(PartFactor::Banded(BandedFactors::new(Arc::clone(
                    m.layout(),
                )))),
                MatrixPart::Scalar(m) => Ok(PartFactor::Scalar(ScalarFactors::new(m))),
                MatrixPart::Sparse(m) => {
                    let named = |source| SystemError::Factor { part, source };
                    let ordering = match positions[part] {
                        [] => Ordering::Amd,
                        known => Ordering::Auto(known),
                    };
                    let symbolic = Symbolic::analyse(&m.pattern, ordering).map_err(named)?;
                    Ok(PartFactor::Sparse(Box::new(
                        Factor::new(Arc::new(symbolic)).map_err(named)?,
                    )))
                }
            })
            .collect();
        Ok(Self {
            factors: PartFactors {
                starts: matrix.starts.clone(),
                parts: parts?,
            },
            elimination: Elimination::new(matrix),
            workspace: CgWorkspace::default(),
            rhs: Vec::new(),
        })
    }

    /// Factorises the parts of `matrix`, each with `shift` (one number per block) added to its
    /// diagonal. Couplings are left to `solve`.
    pub fn refactor(
        &mut self,
        matrix: &SystemMatrix,
        shift: Option<&[f64]>,
    ) -> Result<(), SystemError> {
        if shift.is_some() || !self.elimination.applies(matrix) {
            return self.factors.refactor(&matrix.parts, shift, Which::All);
        }
        self.factors.refactor(&matrix.parts, None, Which::Rods)?;
        self.elimination.reduce(matrix, &mut self.factors);
        let bodies = matrix.parts.iter().zip(&self.elimination.reduced);
        let bodies = bodies.map(|(part, reduced)| reduced.as_ref().unwrap_or(part));
        self.factors
            .refactor(&bodies.collect::<Vec<_>>(), None, Which::Bodies)
    }

    /// x ← A⁻¹ x for the matrix last factorised without shift; returns the iterations of
    /// conjugate gradients, zero where the bodies are not coupled.
    pub fn solve(
        &mut self,
        matrix: &SystemMatrix,
        x: &mut [Vec3],
        tolerance: f64,
    ) -> Result<usize, SystemError> {
        if !matrix.is_coupled() {
            self.factors.solve(x, Which::All);
            return Ok(0);
        }
        let config = CgConfig {
            relative: tolerance,
            absolute: 0.0,
            max_iterations: 1000,
        };
        self.solve_near(matrix, x, &config)
    }

    /// x ← A⁻¹ x by conjugate gradients, preconditioned with the last factor, which may be that of A
    /// plus a positive diagonal: with the factor of A itself it is one solve and one product. Returns
    /// the iterations. On error x is the last iterate.
    pub fn solve_near(
        &mut self,
        matrix: &SystemMatrix,
        x: &mut [Vec3],
        config: &CgConfig,
    ) -> Result<usize, SystemError> {
        self.rhs.clear();
        self.rhs.extend_from_slice(x);
        let mut eliminated;
        let preconditioner: &mut dyn Preconditioner = match self.elimination.applies(matrix) {
            false => &mut self.factors,
            true => {
                eliminated = Eliminated {
                    factors: &mut self.factors,
                    elimination: &mut self.elimination,
                    matrix,
                };
                &mut eliminated
            }
        };
        preconditioner.apply(&self.rhs, x);
        match conjugate_gradients(
            matrix,
            preconditioner,
            &self.rhs,
            x,
            config,
            &mut self.workspace,
        ) {
            Ok(report) => Ok(report.iterations),
            Err(error) => {
                let (iterations, residual) = error.reached();
                Err(SystemError::Linear {
                    iterations,
                    residual,
                })
            }
        }
    }

    /// Heap memory of the factors [bytes].
    pub fn bytes(&self) -> usize {
        self.factors
            .parts
            .iter()
            .map(|p| match p {
                PartFactor::Sparse(f) => f.bytes(),
                PartFactor::Dense(_) => size_of::<Mat6>(),
                PartFactor::Banded(f) => f.bytes(),
                PartFactor::Scalar(f) => f.bytes(),
            })
            .sum()
    }
}

impl PartFactors {
    /// Factorises parts, each with `shift` added to its diagonal.
    fn refactor<P: Borrow<MatrixPart> + Sync>(
        &mut self,
        parts: &[P],
        shift: Option<&[f64]>,
        which: Which,
    ) -> Result<(), SystemError> {
        let starts = &self.starts;
        self.parts
            .par_iter_mut()
            .zip(parts)
            .enumerate()
            .filter(|(_, (factor, _))| which.takes(factor))
            .try_for_each(|(p, (factor, part))| {
                let shift = shift.map(|s| &s[starts[p]..starts[p + 1]]);
                match (factor, part.borrow()) {
                    (PartFactor::Sparse(factor), MatrixPart::Sparse(m)) => factor
                        .refactor(m, shift)
                        .map_err(|source| SystemError::Factor { part: p, source }),
                    (PartFactor::Banded(factor), MatrixPart::Banded(m)) => factor
                        .refactor(m, |component| shift.map_or(0.0, |s| s[component / 3]))
                        .map_err(|source| SystemError::Banded { part: p, source }),
                    (PartFactor::Scalar(factor), MatrixPart::Scalar(m)) => factor
                        .refactor(m, |block| shift.map_or(0.0, |s| s[block]))
                        .map_err(|source| SystemError::Banded { part: p, source }),
                    (PartFactor::Dense(inverse), MatrixPart::Dense(m)) => {
                        let mut shifted = **m;
                        if let Some(shift) = shift {
                            for c in 0..6 {
                                shifted[(c, c)] += shift[c / 3];
                            }
                        }
                        let source = FactorError::NotPositiveDefinite { block: 0 };
                        **inverse = shifted
                            .cholesky()
                            .ok_or(SystemError::Factor { part: p, source })?
                            .inverse();
                        Ok(())
                    }
                    _ => Ok(()),
                }
            })
    }

    fn solve(&mut self, x: &mut [Vec3], which: Which) {
        let Self { starts, parts } = self;
        solve_parts(starts, parts, x, which);
    }
}

/// Some of the parts.
#[derive(Clone, Copy, PartialEq)]
enum Which {
    All,
    /// The banded ones.
    Rods,
    /// The others.
    Bodies,
}

impl Which {
    fn takes(self, factor: &PartFactor) -> bool {
        match self {
            Self::All => true,
            Self::Rods => matches!(factor, PartFactor::Banded(_)),
            Self::Bodies => !matches!(factor, PartFactor::Banded(_)),
        }
    }
}

fn solve_parts(starts: &[usize], parts: &mut [PartFactor], x: &mut [Vec3], which: Which) {
    match parts {
        [] => {}
        [part] if !which.takes(part) => {}
        [PartFactor::Sparse(factor)] => factor.solve_in_place(x),
        [PartFactor::Banded(factor)] => factor.solve(x),
        [PartFactor::Scalar(factor)] => factor.solve(x),
        [PartFactor::Dense(inverse)] => {
            let mut six = nalgebra::Vector6::zeros();
            six.fixed_rows_mut::<3>(0).copy_from(&x[0]);
            six.fixed_rows_mut::<3>(3).copy_from(&x[1]);
            let product = **inverse * six;
            x[0] = product.fixed_rows::<3>(0).into_owned();
            x[1] = product.fixed_rows::<3>(3).into_owned();
        }
        _ => {
            let middle = parts.len() / 2;
            let (left, right) = parts.split_at_mut(middle);
            let (x_left, x_right) = x.split_at_mut(starts[middle] - starts[0]);
            rayon::join(
                || solve_parts(&starts[..=middle], left, x_left, which),
                || solve_parts(&starts[middle..], right, x_right, which),
            );
        }
    }
}

impl Preconditioner for PartFactors {
    fn apply(&mut self, r: &[Vec3], z: &mut [Vec3]) {
        z.copy_from_slice(r);
        self.solve(z, Which::All);
    }
}
