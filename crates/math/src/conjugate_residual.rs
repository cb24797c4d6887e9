//! Preconditioned conjugate residuals [luenberger1970] on vectors of 3-blocks.
//!
//! The method minimises ‖b − A x‖ in the norm of the preconditioner over the same Krylov spaces in which
//! conjugate gradients minimise the error in the norm of A. The residual therefore falls in every
//! iteration, so that a solve can be cut short anywhere. It takes one product with A and one application of
//! the preconditioner per iteration.

use crate::reduce::{axpy, copy, dot, xpby};
use crate::{CgConfig, CgReport, KrylovError, LinearOperator, Preconditioner, Vec3};

/// The vectors of a solve; reuse it and warm solves allocate nothing.
#[derive(Clone, Debug, Default)]
pub struct CrWorkspace {
    r: Vec<Vec3>,
    /// M r and A M r.
    z: Vec<Vec3>,
    w: Vec<Vec3>,
    /// The direction, A times it, and M A times it.
    p: Vec<Vec3>,
    q: Vec<Vec3>,
    s: Vec<Vec3>,
}

impl CrWorkspace {
    /// Heap memory [bytes].
    pub fn bytes(&self) -> usize {
        let columns = [&self.r, &self.z, &self.w, &self.p, &self.q, &self.s];
        columns.iter().map(|c| size_of_val(&c[..])).sum()
    }
}

/// Solves A x = b from x = 0 for symmetric positive definite A and M, until the residual has fallen to
/// `config.relative` or `config.absolute` in the norm √(rᵀ M r). The residual of the report is that of the
/// recurrence, in the same norm.
pub fn conjugate_residuals(
    a: &(impl LinearOperator + ?Sized),
    preconditioner: &mut (impl Preconditioner + ?Sized),
    b: &[Vec3],
    x: &mut [Vec3],
    config: &CgConfig,
    work: &mut CrWorkspace,
) -> Result<CgReport, KrylovError> {
    let n = a.len();
    KrylovError::check_sizes(n, [b, x])?;
    let CrWorkspace { r, z, w, p, q, s } = work;
    for vector in [&mut *r, &mut *z, &mut *w, &mut *p, &mut *q, &mut *s] {
        vector.resize(n, Vec3::zeros());
    }
    x.fill(Vec3::zeros());
    copy(b, r);
    preconditioner.apply(r, z);
    let first = dot(r, z);
    let target = (config.relative * first.abs().sqrt()).max(config.absolute);
    a.apply(z, w);
    copy(z, p);
    copy(w, q);
    let mut curvature = dot(z, w);
    let (mut square, mut iterations) = (first, 0);
    loop {
        if !square.is_finite() || !curvature.is_finite() {
            return Err(KrylovError::NotFinite { iterations });
        }
        let residual = square.abs().sqrt();
        if square < 0.0 || (residual > target && curvature <= 0.0) {
            return Err(KrylovError::NotPositiveDefinite {
                iterations,
                residual,
            });
        }
        if residual <= target {
            return Ok(CgReport {
                iterations,
                residual,
            });
        }
        if iterations >= config.max_iterations {
            return Err(KrylovError::NotConverged {
                iterations,
                residual,
            });
        }
        preconditioner.apply(q, s);
        let denominator = dot(q, s);
        // Also where a number is not finite.
        if denominator.is_nan() || denominator <= 0.0 {
            return Err(KrylovError::NotPositiveDefinite {
                iterations,
                residual,
            });
        }
        let alpha = curvature / denominator;
        if !alpha.is_finite() {
            return Err(KrylovError::NotPositiveDefinite {
                iterations,
                residual,
            });
        }
        iterations += 1;
        axpy(alpha, p, x);
        axpy(-alpha, q, r);
        axpy(-alpha, s, z);
        a.apply(z, w);
        let next = dot(z, w);
        let beta = next / curvature;
        curvature = next;
        xpby(z, beta, p);
        xpby(w, beta, q);
        square = dot(r, z);
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::{
        BlockCholesky, BlockMatrix, BlockPattern, Identity, Mat3, testing::random_vectors,
    };

    /// A row of springs on a weak foundation.
    fn row(n: u32) -> BlockMatrix {
        let edges: Vec<[u32; 2]> = (0..n - 1).map(|i| [i, i + 1]).collect();
        let cliques = edges.iter().map(|e| &e[..]);
        let mut a = BlockMatrix::zeros(Arc::new(
            BlockPattern::from_cliques(n as usize, cliques).unwrap(),
        ));
        let k = Mat3::from_diagonal(&Vec3::new(100.0, 10.0, 1.0));
        for [i, j] in edges.iter().map(|e| e.map(|e| e as usize)) {
            a.add(i, i, &k).unwrap();
            a.add(j, j, &k).unwrap();
            a.add(i, j, &-k).unwrap();
            a.add(j, i, &-k).unwrap();
        }
        for i in 0..n as usize {
            a.add(i, i, &Mat3::identity()).unwrap();
        }
        a
    }

    #[test]
    fn the_residual_falls_in_every_iteration_to_the_solution() {
        let a = row(40);
        let b = random_vectors(40, 5);
        let mut last = f64::INFINITY;
        for max_iterations in 0..60 {
            let mut x = vec![Vec3::zeros(); 40];
            let config = CgConfig {
                relative: 0.0,
                absolute: 0.0,
                max_iterations,
            };
            let solved = conjugate_residuals(
                &a,
                &mut Identity,
                &b,
                &mut x,
                &config,
                &mut CrWorkspace::default(),
            );
            let (_, residual) = match solved {
                Ok(report) => (report.iterations, report.residual),
                Err(error) => error.reached(),
            };
            assert!(residual <= last * (1.0 + 1e-12), "{max_iterations}");
            last = residual;
            let mut y = x.clone();
            a.apply(&x, &mut y);
            axpy(-1.0, &b, &mut y);
            assert!((dot(&y, &y).sqrt() - residual).abs() < 1e-10);
        }
        // The bound of Chebyshev for eigenvalues between 1 and 401.
        let root = 401.0f64.sqrt();
        let bound = 2.0 * ((root - 1.0) / (root + 1.0)).powi(59);
        assert!(last < bound * dot(&b, &b).sqrt(), "{last:e}");
    }

    #[test]
    fn an_exact_preconditioner_takes_one_iteration() {
        let a = row(40);
        let b = random_vectors(40, 9);
        let mut factor = BlockCholesky::default();
        factor.prepare(&a);
        factor.update(&a);
        let mut x = vec![Vec3::zeros(); 40];
        let config = CgConfig {
            relative: 1e-10,
            ..CgConfig::default()
        };
        let work = &mut CrWorkspace::default();
        let report = conjugate_residuals(&a, &mut factor, &b, &mut x, &config, work).unwrap();
        assert_eq!(report.iterations, 1);
    }
}
