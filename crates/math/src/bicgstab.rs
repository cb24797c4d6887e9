//! Stabilised biconjugate gradients [vandervorst1992] for unsymmetric matrices.
//!
//! The preconditioner is applied from the right, so that the tested residual is that of A x = b.
//!
//! # Breakdown
//! The recurrence divides by r̂ᵀ r, r̂ᵀ A p and ‖A s‖², any of which may vanish although A is
//! regular. Where one is negligible compared with its vectors, the iteration restarts from the
//! current x with r̂ = r. A breakdown in the first iteration after a restart is an error. The
//! iterate with the smallest residual is returned in every case, because the residual of this
//! method is not monotone.

use crate::krylov::true_residual;
use crate::reduce::{axpy, copy, dot, norm};
use crate::{CgConfig, CgReport, KrylovError, LinearOperator, Preconditioner, Vec3};

/// Relative size below which a divisor counts as zero.
const NEGLIGIBLE: f64 = 1e-14;

/// The vectors of a solve; reuse it and warm solves allocate nothing.
#[derive(Clone, Debug, Default)]
pub struct BicgstabWorkspace {
    r: Vec<Vec3>,
    shadow: Vec<Vec3>,
    p: Vec<Vec3>,
    v: Vec<Vec3>,
    t: Vec<Vec3>,
    z: Vec<Vec3>,
    best: Vec<Vec3>,
}

/// Solves A x = b, starting from the given `x`. `config.max_iterations` counts iterations of two
/// products each.
pub fn bicgstab(
    a: &(impl LinearOperator + ?Sized),
    preconditioner: &mut (impl Preconditioner + ?Sized),
    b: &[Vec3],
    x: &mut [Vec3],
    config: &CgConfig,
    workspace: &mut BicgstabWorkspace,
) -> Result<CgReport, KrylovError> {
    let n = a.len();
    KrylovError::check_sizes(n, [b, x])?;
    let BicgstabWorkspace {
        r,
        shadow,
        p,
        v,
        t,
        z,
        best,
    } = workspace;
    for vector in [
        &mut *r,
        &mut *shadow,
        &mut *p,
        &mut *v,
        &mut *t,
        &mut *z,
        &mut *best,
    ] {
        vector.resize(n, Vec3::zeros());
    }
    let target = (config.relative * norm(b)).max(config.absolute);
    let mut residual = true_residual(a, b, x, r, t);
    let mut smallest = residual;
    copy(x, best);
    let mut iterations = 0;
    // Number of iterations since the last restart.
    let mut age = 0;
    let mut rho = 0.0;
    loop {
        if !residual.is_finite() {
            copy(best, x);
            return Err(KrylovError::NotFinite { iterations });
        }
        if residual <= target {
            // The recurrence drifts from b − A x; believe only the latter.
            residual = true_residual(a, b, x, r, t);
            if residual <= target {
                return Ok(CgReport {
                    iterations,
                    residual,
                });
            }
            age = 0;
        }
        if residual < smallest {
            smallest = residual;
            copy(x, best);
        }
        if iterations >= config.max_iterations {
            copy(best, x);
            return Err(KrylovError::NotConverged {
                iterations,
                residual: smallest,
            });
        }
        if age == 0 {
            copy(r, shadow);
            copy(r, p);
            rho = dot(shadow, r);
        }
        iterations += 1;
        let step = half_steps(a, preconditioner, x, r, shadow, p, v, t, z, rho);
        let Some(next) = step else {
            if age == 0 {
                copy(best, x);
                return Err(KrylovError::Breakdown {
                    iterations,
                    residual: smallest,
                });
            }
            residual = true_residual(a, b, x, r, t);
            age = 0;
            continue;
        };
        residual = norm(r);
        let Next { alpha, omega } = next;
        let rho_new = dot(shadow, r);
        if omega == 0.0 || rho_new.abs() <= NEGLIGIBLE * norm(shadow) * residual {
            age = 0;
            continue;
        }
        let beta = rho_new / rho * (alpha / omega);
        for ((p, r), v) in p.iter_mut().zip(&*r).zip(&*v) {
            *p = r + (*p - v * omega) * beta;
        }
        rho = rho_new;
        age += 1;
    }
}

struct Next {
    alpha: f64,
    omega: f64,
}

/// One iteration: the step along p, then the step that minimises the residual. Returns none, with x
/// and r unchanged, if it would divide by zero.
#[expect(clippy::too_many_arguments, reason = "the vectors of the workspace")]
fn half_steps(
    a: &(impl LinearOperator + ?Sized),
    preconditioner: &mut (impl Preconditioner + ?Sized),
    x: &mut [Vec3],
    r: &mut [Vec3],
    shadow: &[Vec3],
    p: &[Vec3],
    v: &mut [Vec3],
    t: &mut [Vec3],
    z: &mut [Vec3],
    rho: f64,
) -> Option<Next> {
    preconditioner.apply(p, z);
    a.apply(z, v);
    let along = dot(shadow, v);
    if along.abs() <= NEGLIGIBLE * norm(shadow) * norm(v) {
        return None;
    }
    let alpha = rho / along;
    axpy(alpha, z, x);
    axpy(-alpha, v, r);
    preconditioner.apply(r, z);
    a.apply(z, t);
    let square = dot(t, t);
    // The second half is skipped if the residual vanished in the first.
    let omega = if square > 0.0 {
        dot(t, r) / square
    } else {
        0.0
    };
    axpy(omega, z, x);
    axpy(-omega, t, r);
    Some(Next { alpha, omega })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::testing::{cliques, in_pools, random_numbers, random_vectors, to_dense};
    use crate::{BlockJacobi, BlockMatrix, BlockPattern, Identity, Lu, LuSymbolic, Mat3};
    use nalgebra::DVector;
    use proptest::prelude::*;
    use std::sync::Arc;

    /// A random unsymmetric matrix with a dominant diagonal.
    fn random_general(n: usize, cliques: &[Vec<u32>], seed: u64) -> BlockMatrix {
        let pattern = BlockPattern::from_cliques(n, cliques.iter().map(Vec::as_slice)).unwrap();
        let mut a = BlockMatrix::zeros(Arc::new(pattern));
        let mut random = random_numbers(seed);
        for value in &mut a.values {
            *value = Mat3::from_fn(|_, _| random());
        }
        for i in 0..n {
            let dominant = 1.5 * a.pattern.row(i).len() as f64 + 1.0;
            a.add(i, i, &(Mat3::identity() * dominant)).unwrap();
        }
        a
    }

    fn solve(
        a: &BlockMatrix,
        m: &mut dyn Preconditioner,
        b: &[Vec3],
        x: &mut [Vec3],
    ) -> Result<CgReport, KrylovError> {
        let config = CgConfig {
            relative: 1e-12,
            ..CgConfig::default()
        };
        bicgstab(a, m, b, x, &config, &mut BicgstabWorkspace::default())
    }

    proptest! {
        #[test]
        fn agrees_with_dense_and_sparse_elimination(sets in cliques(12), seed in any::<u64>()) {
            let a = random_general(12, &sets, seed);
            let b = random_vectors(12, seed ^ 2);
            let flat = DVector::from_iterator(36, b.iter().flat_map(|v| v.iter().copied()));
            let expected = to_dense(&a).lu().solve(&flat).unwrap();
            let mut jacobi = BlockJacobi::default();
            jacobi.update_general(12, |i| a.diagonal(i));
            let mut lu = Lu::new(Arc::new(LuSymbolic::analyse(&a.pattern).unwrap())).unwrap();
            lu.refactor(&a).unwrap();
            let preconditioners: [&mut dyn Preconditioner; 3] = [&mut Identity, &mut jacobi, &mut lu];
            for (k, m) in preconditioners.into_iter().enumerate() {
                let mut x = random_vectors(12, seed ^ 3);
                let report = solve(&a, m, &b, &mut x).unwrap();
                // With the exact inverse one iteration is enough.
                let enough = if k == 2 { 2 } else { 80 };
                prop_assert!(report.iterations <= enough);
                for i in 0..36 {
                    prop_assert!((x[i / 3][i % 3] - expected[i]).abs() < 1e-9);
                }
            }
            let mut x = b.clone();
            lu.solve_in_place(&mut x);
            for i in 0..36 {
                prop_assert!((x[i / 3][i % 3] - expected[i]).abs() < 1e-12);
            }
        }
    }

    /// A quarter turn: pᵀ A p = 0 in the first step from any start.
    #[test]
    fn breakdown_is_reported_and_leaves_the_best_iterate() {
        let pattern = BlockPattern::from_cliques(1, []).unwrap();
        let mut a = BlockMatrix::zeros(Arc::new(pattern));
        a.values[0] = Mat3::new(0.0, -1.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 1.0);
        let mut x = vec![Vec3::zeros()];
        let error = solve(&a, &mut Identity, &[Vec3::x()], &mut x).unwrap_err();
        assert!(matches!(
            error,
            KrylovError::Breakdown { iterations: 1, .. }
        ));
        assert_eq!(x, [Vec3::zeros()]);
    }

    #[test]
    fn not_converging_keeps_the_best_iterate() {
        let sets: Vec<Vec<u32>> = (1..60).map(|i| vec![i - 1, i]).collect();
        let pattern = BlockPattern::from_cliques(60, sets.iter().map(Vec::as_slice)).unwrap();
        let mut a = BlockMatrix::zeros(Arc::new(pattern));
        for i in 0..60usize {
            a.add(i, i, &(Mat3::identity() * 2.0)).unwrap();
            if i > 0 {
                // Convection: upwind neighbours weigh more.
                a.add(i, i - 1, &(Mat3::identity() * -1.3)).unwrap();
                a.add(i - 1, i, &(Mat3::identity() * -0.7)).unwrap();
            }
        }
        let b = vec![Vec3::x(); 60];
        let mut x = vec![Vec3::zeros(); 60];
        let config = CgConfig {
            max_iterations: 10,
            ..CgConfig::default()
        };
        let workspace = &mut BicgstabWorkspace::default();
        let error = bicgstab(&a, &mut Identity, &b, &mut x, &config, workspace).unwrap_err();
        let KrylovError::NotConverged { residual, .. } = error else {
            unreachable!("{error}");
        };
        let mut left = vec![Vec3::zeros(); 60];
        a.apply(&x, &mut left);
        axpy(-1.0, &b, &mut left);
        assert!((norm(&left) - residual).abs() < 1e-9 * norm(&b));
        assert!(residual <= norm(&b));
        solve(&a, &mut Identity, &b, &mut x).unwrap();
    }

    #[test]
    fn non_finite_and_wrong_sizes_are_reported() {
        let mut a = random_general(3, &[vec![0, 1, 2]], 1);
        let b = random_vectors(3, 2);
        let mut x = vec![Vec3::zeros(); 3];
        let error = solve(&a, &mut Identity, &b[1..], &mut x).unwrap_err();
        assert!(matches!(error, KrylovError::SizeMismatch { .. }));
        a.values[0][(0, 0)] = f64::NAN;
        let error = solve(&a, &mut Identity, &b, &mut x).unwrap_err();
        assert!(matches!(error, KrylovError::NotFinite { .. }));
        let mut lu = Lu::new(Arc::new(LuSymbolic::analyse(&a.pattern).unwrap())).unwrap();
        assert!(lu.refactor(&a).is_err());
        lu.solve_in_place(&mut x);
        assert!(x.iter().all(|v| v.x.is_nan()));
    }

    #[test]
    fn singular_matrices_give_no_finite_solution() {
        let pattern = BlockPattern::from_cliques(2, [&[0u32, 1][..]]).unwrap();
        let a = BlockMatrix::zeros(Arc::new(pattern));
        let mut lu = Lu::new(Arc::new(LuSymbolic::analyse(&a.pattern).unwrap())).unwrap();
        let mut x = vec![Vec3::x(), Vec3::y()];
        if lu.refactor(&a).is_ok() {
            lu.solve_in_place(&mut x);
            assert!(!x.iter().all(|v| v.iter().all(|c| c.is_finite())));
        }
    }

    #[test]
    fn same_bits_for_any_thread_count() {
        let sets: Vec<Vec<u32>> = (0..3000).map(|i| vec![i, (i + 1) % 3000]).collect();
        let a = random_general(3000, &sets, 3);
        let b = random_vectors(3000, 4);
        in_pools(|| {
            let mut x = vec![Vec3::zeros(); 3000];
            let mut jacobi = BlockJacobi::default();
            jacobi.update_general(3000, |i| a.diagonal(i));
            let report = solve(&a, &mut jacobi, &b, &mut x).unwrap();
            let mut lu = Lu::new(Arc::new(LuSymbolic::analyse(&a.pattern).unwrap())).unwrap();
            lu.refactor(&a).unwrap();
            let mut y = b.clone();
            lu.solve_in_place(&mut y);
            (x, report, y)
        });
    }
}
