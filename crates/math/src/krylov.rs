//! Preconditioned conjugate gradients [hestenes1952] on vectors of 3-blocks.
//!
//! All sums are ordered (see [`crate::reduce`]), so a solve gives the same bits for any number of
//! threads if its operator and preconditioner do.

use crate::reduce::{axpy, copy, dot, norm, xpby};
use crate::{BlockMatrix, Factor, Mat3, Vec3, parallel};

/// A square matrix given by its products.
pub trait LinearOperator {
    /// Number of block rows.
    fn len(&self) -> usize;

    /// y = A x.
    fn apply(&self, x: &[Vec3], y: &mut [Vec3]);

    /// Whether there are no rows.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl LinearOperator for BlockMatrix {
    fn len(&self) -> usize {
        self.n()
    }

    fn apply(&self, x: &[Vec3], y: &mut [Vec3]) {
        BlockMatrix::apply(self, x, y);
    }
}

/// An approximation of an inverse; symmetric and positive definite where conjugate gradients use
/// it.
pub trait Preconditioner {
    /// z ≈ A⁻¹ r.
    fn apply(&mut self, r: &[Vec3], z: &mut [Vec3]);
}

/// No preconditioning: z = r.
#[derive(Clone, Copy, Debug, Default)]
pub struct Identity;

impl Preconditioner for Identity {
    fn apply(&mut self, r: &[Vec3], z: &mut [Vec3]) {
        copy(r, z);
    }
}

/// Block Jacobi: the inverses of the 3×3 diagonal blocks.
#[derive(Clone, Debug, Default)]
pub struct BlockJacobi {
    inverses: Vec<Mat3>,
}

impl BlockJacobi {
    /// From the diagonal of `a`. A block that is not positive definite is replaced by the
    /// identity times its largest entry, or by the identity if it is zero or not finite.
    pub fn new(a: &BlockMatrix) -> Self {
        let mut jacobi = Self::default();
        jacobi.update(a);
        jacobi
    }

    /// Recomputes the inverses from diagonal blocks that need not be symmetric. A block that cannot
    /// be inverted is replaced as in [`BlockJacobi::new`].
    pub fn update_general(&mut self, n: usize, block: impl Fn(usize) -> Mat3 + Sync) {
        self.inverses.resize(n, Mat3::identity());
        self.fill(|i| {
            let block = block(i);
            let exact = block
                .try_inverse()
                .filter(|m| m.iter().all(|x| x.is_finite()));
            exact.unwrap_or_else(|| inverse_or_scale(&block))
        });
    }

    /// Recomputes the inverses; allocates only if the size has grown.
    pub fn update(&mut self, a: &BlockMatrix) {
        self.inverses.resize(a.n(), Mat3::identity());
        self.fill(|i| inverse_or_scale(&a.diagonal(i)));
    }

    fn fill(&mut self, inverse: impl Fn(usize) -> Mat3 + Sync) {
        parallel::each_mut(&mut self.inverses, 256, |i, m| *m = inverse(i));
    }
}

fn inverse_or_scale(block: &Mat3) -> Mat3 {
    match block.cholesky() {
        Some(cholesky) => cholesky.inverse(),
        None => {
            let size = block.amax();
            let usable = size > 0.0 && size.is_finite();
            Mat3::identity() / if usable { size } else { 1.0 }
        }
    }
}

impl Preconditioner for BlockJacobi {
    fn apply(&mut self, r: &[Vec3], z: &mut [Vec3]) {
        let inverses = &self.inverses;
        parallel::chunks_mut(z, 1024, |first, z| {
            let rows = z.iter_mut().zip(&r[first..]).zip(&inverses[first..]);
            rows.for_each(|((z, r), inverse)| *z = inverse * r);
        });
    }
}

impl Preconditioner for Factor {
    fn apply(&mut self, r: &[Vec3], z: &mut [Vec3]) {
        copy(r, z);
        self.solve_in_place(z);
    }
}

/// Stopping criteria.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CgConfig {
    /// Stop at ‖b − A x‖₂ ≤ relative · ‖b‖₂ …
    pub relative: f64,
    /// … or at ‖b − A x‖₂ ≤ absolute, in the unit of b.
    pub absolute: f64,
    /// Maximum number of products with A, without that of the first residual.
    pub max_iterations: usize,
}

impl Default for CgConfig {
    fn default() -> Self {
        Self {
            relative: 1e-8,
            absolute: 0.0,
            max_iterations: 1000,
        }
    }
}

/// Result of a solve.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CgReport {
    /// Number of products with A.
    pub iterations: usize,
    /// ‖b − A x‖₂, computed from its definition at the end.
    pub residual: f64,
}

/// Errors of an iterative solve. `x` holds the last finite iterate of conjugate gradients, which is
/// the best one in the energy norm of the error, or the iterate of BiCGSTAB with the smallest
/// residual.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
pub enum KrylovError {
    /// The tolerance was not reached.
    #[error("no convergence in {iterations} iterations, residual {residual:e}")]
    NotConverged {
        /// Iterations.
        iterations: usize,
        /// ‖b − A x‖₂.
        residual: f64,
    },
    /// Conjugate gradients: a direction p with pᵀ A p ≤ 0, or a preconditioner with rᵀ M r ≤ 0.
    #[error("the matrix or its preconditioner is not positive definite (iteration {iterations})")]
    NotPositiveDefinite {
        /// Iterations.
        iterations: usize,
        /// ‖b − A x‖₂.
        residual: f64,
    },
    /// BiCGSTAB: the recurrence divides by zero, even after a restart.
    #[error("breakdown in iteration {iterations}, residual {residual:e}")]
    Breakdown {
        /// Iterations.
        iterations: usize,
        /// ‖b − A x‖₂.
        residual: f64,
    },
    /// A value that is not finite.
    #[error("a number that is not finite came up in iteration {iterations}")]
    NotFinite {
        /// Iterations.
        iterations: usize,
    },
    /// The vectors do not have the operator's length.
    #[error("vectors of {found} blocks for an operator of {expected}")]
    SizeMismatch {
        /// Length of the vector.
        found: usize,
        /// Length of the operator.
        expected: usize,
    },
}

impl KrylovError {
    /// Iterations taken and ‖b − A x‖₂ of `x`, NaN if it is unknown.
    pub fn reached(&self) -> (usize, f64) {
        match *self {
            Self::NotConverged {
                iterations,
                residual,
            }
            | Self::NotPositiveDefinite {
                iterations,
                residual,
            }
            | Self::Breakdown {
                iterations,
                residual,
            } => (iterations, residual),
            Self::NotFinite { iterations } => (iterations, f64::NAN),
            Self::SizeMismatch { .. } => (0, f64::NAN),
        }
    }

    /// Checks that vectors have the length `expected` of the operator.
    pub(crate) fn check_sizes(expected: usize, vectors: [&[Vec3]; 2]) -> Result<(), Self> {
        match vectors.iter().find(|v| v.len() != expected) {
            Some(vector) => Err(Self::SizeMismatch {
                found: vector.len(),
                expected,
            }),
            None => Ok(()),
        }
    }
}

/// The vectors of a solve; reuse it and warm solves allocate nothing.
#[derive(Clone, Debug, Default)]
pub struct CgWorkspace {
    r: Vec<Vec3>,
    z: Vec<Vec3>,
    p: Vec<Vec3>,
    q: Vec<Vec3>,
}

/// Solves A x = b for a symmetric positive definite A, starting from the given `x`.
pub fn conjugate_gradients(
    a: &(impl LinearOperator + ?Sized),
    preconditioner: &mut (impl Preconditioner + ?Sized),
    b: &[Vec3],
    x: &mut [Vec3],
    config: &CgConfig,
    workspace: &mut CgWorkspace,
) -> Result<CgReport, KrylovError> {
    let n = a.len();
    KrylovError::check_sizes(n, [b, x])?;
    let CgWorkspace { r, z, p, q } = workspace;
    for vector in [&mut *r, &mut *z, &mut *p, &mut *q] {
        vector.resize(n, Vec3::zeros());
    }

    let target = (config.relative * norm(b)).max(config.absolute);
    let mut residual = true_residual(a, b, x, r, q);
    let mut iterations = 0;
    // Zero starts a new sequence of directions.
    let mut rho_old = 0.0;
    loop {
        if !residual.is_finite() {
            return Err(KrylovError::NotFinite { iterations });
        }
        if residual <= target {
            // The recurrence drifts from b − A x: continue from the true residual.
            residual = true_residual(a, b, x, r, q);
            if residual <= target {
                return Ok(CgReport {
                    iterations,
                    residual,
                });
            }
            rho_old = 0.0;
        }
        if iterations >= config.max_iterations {
            return Err(KrylovError::NotConverged {
                iterations,
                residual,
            });
        }
        preconditioner.apply(r, z);
        let rho = dot(r, z);
        let beta = if rho_old == 0.0 { 0.0 } else { rho / rho_old };
        if beta == 0.0 {
            copy(z, p);
        } else {
            xpby(z, beta, p);
        }
        a.apply(p, q);
        iterations += 1;
        let curvature = dot(p, q);
        if rho <= 0.0 || curvature <= 0.0 {
            return Err(KrylovError::NotPositiveDefinite {
                iterations,
                residual,
            });
        }
        let alpha = rho / curvature;
        if !alpha.is_finite() {
            return Err(KrylovError::NotFinite { iterations });
        }
        axpy(alpha, p, x);
        axpy(-alpha, q, r);
        residual = norm(r);
        rho_old = rho;
    }
}

/// r = b − A x and its norm.
pub(crate) fn true_residual(
    a: &(impl LinearOperator + ?Sized),
    b: &[Vec3],
    x: &[Vec3],
    r: &mut [Vec3],
    scratch: &mut [Vec3],
) -> f64 {
    a.apply(x, scratch);
    copy(b, r);
    axpy(-1.0, scratch, r);
    norm(r)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::testing::{cliques, in_pools, random_spd, random_vectors, to_dense};
    use nalgebra::DVector;
    use proptest::prelude::*;

    fn solve(
        a: &BlockMatrix,
        m: &mut dyn Preconditioner,
        b: &[Vec3],
        x: &mut [Vec3],
        config: CgConfig,
    ) -> Result<CgReport, KrylovError> {
        conjugate_gradients(a, m, b, x, &config, &mut CgWorkspace::default())
    }

    proptest! {
        #[test]
        fn agrees_with_a_dense_solve(sets in cliques(12), seed in any::<u64>()) {
            let a = random_spd(12, &sets, seed);
            let b = random_vectors(12, seed ^ 2);
            let flat = DVector::from_iterator(36, b.iter().flat_map(|v| v.iter().copied()));
            let expected = to_dense(&a).cholesky().unwrap().solve(&flat);
            let mut jacobi = BlockJacobi::new(&a);
            let preconditioners: [&mut dyn Preconditioner; 2] = [&mut Identity, &mut jacobi];
            for m in preconditioners {
                let mut x = random_vectors(12, seed ^ 3);
                let config = CgConfig { relative: 1e-13, ..CgConfig::default() };
                let report = solve(&a, m, &b, &mut x, config).unwrap();
                // In exact arithmetic CG ends within as many steps as there are unknowns.
                prop_assert!(report.iterations <= 40);
                for i in 0..36 {
                    prop_assert!((x[i / 3][i % 3] - expected[i]).abs() < 1e-12);
                }
                // Starting at the solution costs nothing.
                let again = solve(&a, m, &b, &mut x, config).unwrap();
                prop_assert_eq!(again.iterations, 0);
            }
        }
    }

    fn chain(n: u32) -> BlockMatrix {
        let links: Vec<Vec<u32>> = (1..n).map(|i| vec![i - 1, i]).collect();
        let mut a = random_spd(n as usize, &links, 0);
        a.set_zero();
        for i in 0..n as usize {
            a.add(i, i, &(Mat3::identity() * 2.0)).unwrap();
            if i > 0 {
                a.add(i, i - 1, &-Mat3::identity()).unwrap();
                a.add(i - 1, i, &-Mat3::identity()).unwrap();
            }
        }
        a
    }

    /// The chain (−1, 2, −1) needs n steps; stopping early is an error that leaves progress in x.
    #[test]
    fn non_convergence_is_a_value_and_keeps_the_iterate() {
        let a = chain(100);
        let b = vec![Vec3::x(); 100];
        let mut x = vec![Vec3::zeros(); 100];
        let config = CgConfig {
            max_iterations: 20,
            ..CgConfig::default()
        };
        let error = solve(&a, &mut Identity, &b, &mut x, config).unwrap_err();
        assert!(matches!(
            error,
            KrylovError::NotConverged { iterations: 20, .. }
        ));
        // Energy ½xᵀAx − bᵀx has fallen below its value 0 at the start.
        let mut ax = vec![Vec3::zeros(); 100];
        a.apply(&x, &mut ax);
        assert!(0.5 * dot(&x, &ax) - dot(&b, &x) < -100.0);
        let full = CgConfig::default();
        solve(&a, &mut Identity, &b, &mut x, full).unwrap();
        // Closed form: x_i = (i + 1)(n − i)/2 solves −x'' = 1 on the chain.
        for (i, v) in x.iter().enumerate() {
            let exact = (i + 1) as f64 * (100 - i) as f64 / 2.0;
            assert!((v.x - exact).abs() < 1e-4 * exact && v.y == 0.0);
        }
    }

    #[test]
    fn indefinite_and_non_finite_are_reported() {
        let mut a = chain(5);
        let b = vec![Vec3::x(); 5];
        let mut x = vec![Vec3::zeros(); 5];
        let config = CgConfig::default();
        for value in &mut a.values {
            *value = -*value;
        }
        let error = solve(&a, &mut Identity, &b, &mut x, config).unwrap_err();
        assert!(matches!(error, KrylovError::NotPositiveDefinite { .. }));
        a.values[0][(0, 0)] = f64::NAN;
        let error = solve(&a, &mut Identity, &b, &mut x, config).unwrap_err();
        assert!(matches!(error, KrylovError::NotFinite { .. }));
        assert!(x.iter().all(|v| v.iter().all(|x| x.is_finite())));
        let error = solve(&a, &mut Identity, &b[1..], &mut x, config).unwrap_err();
        let expected = KrylovError::SizeMismatch {
            found: 4,
            expected: 5,
        };
        assert_eq!(error, expected);
    }

    #[test]
    fn same_bits_for_any_thread_count() {
        let sets: Vec<Vec<u32>> = (0..6000).map(|i| vec![i, (i * 7 + 1) % 6000]).collect();
        let a = random_spd(6000, &sets, 3);
        let b = random_vectors(6000, 4);
        in_pools(|| {
            let mut x = vec![Vec3::zeros(); 6000];
            let mut jacobi = BlockJacobi::new(&a);
            let report = solve(&a, &mut jacobi, &b, &mut x, CgConfig::default()).unwrap();
            (x, report)
        });
    }
}
