//! Restarted generalised minimal residuals [saad1986] for unsymmetric matrices.
//!
//! The preconditioner is applied from the right, so that the norm that is minimised is that of
//! b − A x. Over a Krylov space of dimension m the residual cannot grow, whatever the matrix, so that a
//! solve can be cut short anywhere and its last iterate is its best. Memory is one vector per dimension.
//!
//! The basis is made orthogonal by the modified Gram–Schmidt process, twice: with one pass the angles
//! between its vectors grow with the condition of the matrix. Givens rotations keep the Hessenberg matrix
//! triangular, so that the residual of every iteration is known without forming the iterate.

use crate::krylov::true_residual;
use crate::reduce::{axpy, copy, dot, norm};
use crate::{CgConfig, CgReport, KrylovError, LinearOperator, Preconditioner, Vec3};

/// A new direction that keeps less than this fraction of its length outside of the basis adds nothing: the
/// Krylov space contains the solution.
const DEPENDENT: f64 = 1e-14;

/// The vectors of a solve; reuse it and warm solves allocate nothing.
#[derive(Clone, Debug, Default)]
pub struct GmresWorkspace {
    basis: Vec<Vec<Vec3>>,
    r: Vec<Vec3>,
    z: Vec<Vec3>,
    /// The columns of the triangular factor, one after the other, each with `restart` entries.
    columns: Vec<f64>,
    rotations: Vec<[f64; 2]>,
    /// The right-hand side of the least-squares problem.
    g: Vec<f64>,
}

/// Solves A x = b, starting from the given `x`, with a basis of at most `restart` vectors.
///
/// `config.max_iterations` counts products with A, without those of true residuals. The iterate of an
/// unsuccessful solve is the one with the smallest residual.
pub fn gmres(
    a: &(impl LinearOperator + ?Sized),
    preconditioner: &mut (impl Preconditioner + ?Sized),
    b: &[Vec3],
    x: &mut [Vec3],
    restart: usize,
    config: &CgConfig,
    workspace: &mut GmresWorkspace,
) -> Result<CgReport, KrylovError> {
    let n = a.len();
    KrylovError::check_sizes(n, [b, x])?;
    let most = restart.max(1);
    workspace.resize(n, most);
    let target = (config.relative * norm(b)).max(config.absolute);
    let mut iterations = 0;
    let mut last = f64::INFINITY;
    loop {
        let GmresWorkspace { r, z, .. } = workspace;
        let residual = true_residual(a, b, x, r, z);
        if !residual.is_finite() {
            return Err(KrylovError::NotFinite { iterations });
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
        // A cycle that takes nothing off the residual would be repeated as it is.
        if residual >= last {
            return Err(KrylovError::Breakdown {
                iterations,
                residual,
            });
        }
        last = residual;
        let limit = most.min(config.max_iterations - iterations);
        let made = workspace.cycle(a, preconditioner, residual, target, limit);
        iterations += made;
        workspace.add_solution(preconditioner, x, made);
    }
}

impl GmresWorkspace {
    /// Heap memory [bytes].
    pub fn bytes(&self) -> usize {
        let columns = self.basis.iter().chain([&self.r, &self.z]);
        let columns: usize = columns.map(|c| size_of_val(&c[..])).sum();
        columns + size_of_val(&self.columns[..])
    }

    /// Vectors of the basis get their length when they are needed.
    fn resize(&mut self, n: usize, most: usize) {
        self.basis.resize_with(most + 1, Vec::new);
        self.r.resize(n, Vec3::zeros());
        self.z.resize(n, Vec3::zeros());
        self.columns.resize(most * most, 0.0);
        self.rotations.resize(most, [1.0, 0.0]);
        self.g.resize(most + 1, 0.0);
    }

    /// Extends the basis from the residual in `r` until the least-squares residual is at most `target`, or
    /// there are `limit` vectors; returns their number.
    fn cycle(
        &mut self,
        a: &(impl LinearOperator + ?Sized),
        preconditioner: &mut (impl Preconditioner + ?Sized),
        residual: f64,
        target: f64,
        limit: usize,
    ) -> usize {
        let (most, n) = (self.rotations.len(), self.r.len());
        self.basis[0].resize(n, Vec3::zeros());
        copy(&self.r, &mut self.basis[0]);
        scale(1.0 / residual, &mut self.basis[0]);
        self.g.fill(0.0);
        self.g[0] = residual;
        for j in 0..limit {
            preconditioner.apply(&self.basis[j], &mut self.z);
            let (known, rest) = self.basis.split_at_mut(j + 1);
            let next = &mut rest[0];
            next.resize(n, Vec3::zeros());
            a.apply(&self.z, next);
            let length = norm(next);
            let column = &mut self.columns[j * most..j * most + j + 1];
            column.fill(0.0);
            for _ in 0..2 {
                for (v, h) in known.iter().zip(column.iter_mut()) {
                    let share = dot(v, next);
                    axpy(-share, v, next);
                    *h += share;
                }
            }
            let below = norm(next);
            // Also where a number is not finite: the true residual then shows it.
            if !(below.is_finite() && column.iter().all(|h| h.is_finite())) {
                return j;
            }
            for (i, [c, s]) in self.rotations[..j].iter().enumerate() {
                let (up, down) = (column[i], column[i + 1]);
                column[i] = c * up + s * down;
                column[i + 1] = c * down - s * up;
            }
            let size = (column[j] * column[j] + below * below).sqrt();
            if size <= DEPENDENT * length || size == 0.0 {
                // The matrix is singular on what is left.
                return j;
            }
            let [c, s] = [column[j] / size, below / size];
            column[j] = size;
            self.rotations[j] = [c, s];
            self.g[j + 1] = -s * self.g[j];
            self.g[j] *= c;
            if self.g[j + 1].abs() <= target || below <= DEPENDENT * length {
                return j + 1;
            }
            scale(1.0 / below, next);
        }
        limit
    }

    /// x += M V y with the least-squares solution y of the last cycle.
    fn add_solution(
        &mut self,
        preconditioner: &mut (impl Preconditioner + ?Sized),
        x: &mut [Vec3],
        made: usize,
    ) {
        let most = self.rotations.len();
        for i in (0..made).rev() {
            let known = (i + 1..made).map(|j| self.columns[j * most + i] * self.g[j]);
            let rest = self.g[i] - known.sum::<f64>();
            self.g[i] = rest / self.columns[i * most + i];
        }
        self.r.fill(Vec3::zeros());
        for (v, y) in self.basis[..made].iter().zip(&self.g) {
            axpy(*y, v, &mut self.r);
        }
        if made > 0 {
            preconditioner.apply(&self.r, &mut self.z);
            axpy(1.0, &self.z, x);
        }
    }
}

fn scale(s: f64, x: &mut [Vec3]) {
    for v in x {
        *v *= s;
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::testing::{cliques, in_pools, random_symmetric, random_vectors, to_dense};
    use crate::{BlockJacobi, BlockMatrix, Identity, Mat3};
    use nalgebra::{DMatrix, DVector};
    use proptest::prelude::*;

    /// A matrix without symmetry: two random symmetric ones, one of them with its sign turned below the
    /// diagonal, and a dominant diagonal that turns.
    fn unsymmetric(n: usize, sets: &[Vec<u32>], seed: u64) -> BlockMatrix {
        let mut a = random_symmetric(n, sets, seed);
        let other = random_symmetric(n, sets, seed ^ 9);
        let pattern = a.pattern.clone();
        for i in 0..n {
            for (k, &j) in pattern.row(i).iter().enumerate() {
                let at = pattern.row_start()[i] + k;
                let sign = if (j as usize) < i { -1.0 } else { 1.0 };
                a.values[at] += other.values[at] * sign;
            }
            let turn = Vec3::new(1.0, -2.0, 0.5).cross_matrix();
            let size = 3.0 * pattern.row(i).len() as f64 + 1.0;
            a.add(i, i, &(Mat3::identity() * size + turn)).unwrap();
        }
        a
    }

    fn flat(x: &[Vec3]) -> DVector<f64> {
        DVector::from_iterator(3 * x.len(), x.iter().flat_map(|v| v.iter().copied()))
    }

    /// The smallest ‖b − A K y‖ over the Krylov space of dimension m, by a dense QR factorisation.
    fn smallest(a: &DMatrix<f64>, b: &DVector<f64>, m: usize) -> f64 {
        let mut k = DMatrix::zeros(b.len(), m);
        let mut v = b.clone();
        for j in 0..m {
            // Only the space matters: an orthogonal basis of it keeps digits.
            for _ in 0..2 {
                for i in 0..j {
                    let column = k.column(i).clone_owned();
                    v -= &column * column.dot(&v);
                }
            }
            let unit = v.normalize();
            k.set_column(j, &unit);
            v = a * unit;
        }
        let q = (a * k).qr().q();
        (b - &q * (q.transpose() * b)).norm()
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(24))]
        #[test]
        fn agrees_with_a_dense_solve(sets in cliques(12), seed in any::<u64>()) {
            let a = unsymmetric(12, &sets, seed);
            let b = random_vectors(12, seed ^ 2);
            let expected = to_dense(&a).lu().solve(&flat(&b)).unwrap();
            let mut jacobi = BlockJacobi::default();
            jacobi.update_general(12, |i| a.diagonal(i));
            let preconditioners: [&mut dyn Preconditioner; 2] = [&mut Identity, &mut jacobi];
            for m in preconditioners {
                for restart in [36, 5] {
                    let mut x = random_vectors(12, seed ^ 3);
                    let config = CgConfig { relative: 1e-12, ..CgConfig::default() };
                    let work = &mut GmresWorkspace::default();
                    gmres(&a, m, &b, &mut x, restart, &config, work).unwrap();
                    prop_assert!((flat(&x) - &expected).amax() < 1e-10);
                    let again = gmres(&a, m, &b, &mut x, restart, &config, work).unwrap();
                    prop_assert_eq!(again.iterations, 0);
                }
            }
        }

        /// The defining property: no vector of the Krylov space has a smaller residual.
        #[test]
        fn the_residual_is_the_smallest_of_the_krylov_space(sets in cliques(8), seed in any::<u64>()) {
            let a = unsymmetric(8, &sets, seed);
            let b = random_vectors(8, seed ^ 5);
            let (dense, right) = (to_dense(&a), flat(&b));
            for m in 1..6 {
                let config = CgConfig { relative: 0.0, absolute: 0.0, max_iterations: m };
                let mut x = vec![Vec3::zeros(); 8];
                let work = &mut GmresWorkspace::default();
                let error = gmres(&a, &mut Identity, &b, &mut x, m, &config, work).unwrap_err();
                let found = (&right - &dense * flat(&x)).norm();
                let best = smallest(&dense, &right, m);
                prop_assert!((found - best).abs() < 1e-10 * right.norm(), "{m}: {found} {best}");
                prop_assert!((error.reached().1 - found).abs() < 1e-12 * right.norm());
            }
        }
    }

    /// A rotation by a right angle: xᵀ A x = 0 for all x. Methods that need definite matrices fail; the
    /// residual stays for one iteration and vanishes in the second.
    #[test]
    fn a_quarter_turn_takes_two_iterations() {
        struct Turn;
        impl LinearOperator for Turn {
            fn len(&self) -> usize {
                1
            }
            fn apply(&self, x: &[Vec3], y: &mut [Vec3]) {
                y[0] = Vec3::new(-x[0].y, x[0].x, x[0].z);
            }
        }
        let (b, mut x) = ([Vec3::new(3.0, 4.0, 0.0)], [Vec3::zeros()]);
        let work = &mut GmresWorkspace::default();
        let config = CgConfig::default();
        let report = gmres(&Turn, &mut Identity, &b, &mut x, 20, &config, work).unwrap();
        assert_eq!(report.iterations, 2);
        assert!((x[0] - Vec3::new(4.0, -3.0, 0.0)).norm() < 1e-14);
        // With a basis of one vector every cycle is the first iteration, which gains nothing.
        x[0] = Vec3::zeros();
        let error = gmres(&Turn, &mut Identity, &b, &mut x, 1, &config, work).unwrap_err();
        assert!(matches!(error, KrylovError::Breakdown { .. }), "{error}");
    }

    #[test]
    fn singular_and_non_finite_systems_end_with_an_error() {
        let sets = [vec![0, 1]];
        let mut a = unsymmetric(2, &sets, 1);
        a.set_zero();
        a.add(0, 0, &Mat3::identity()).unwrap();
        let b = vec![Vec3::x(); 2];
        let mut x = vec![Vec3::zeros(); 2];
        let work = &mut GmresWorkspace::default();
        let config = CgConfig::default();
        let error = gmres(&a, &mut Identity, &b, &mut x, 20, &config, work).unwrap_err();
        assert!(matches!(error, KrylovError::Breakdown { .. }), "{error}");
        // The part that can be solved is.
        assert!((x[0] - Vec3::x()).norm() < 1e-14 && (error.reached().1 - 1.0).abs() < 1e-14);
        a.values[0][(0, 0)] = f64::NAN;
        let error = gmres(&a, &mut Identity, &b, &mut x, 20, &config, work).unwrap_err();
        assert!(matches!(error, KrylovError::NotFinite { .. }), "{error}");
    }

    #[test]
    fn same_bits_for_any_thread_count() {
        let sets: Vec<Vec<u32>> = (0..3000).map(|i| vec![i, (i * 7 + 1) % 3000]).collect();
        let a = unsymmetric(3000, &sets, 3);
        let b = random_vectors(3000, 4);
        in_pools(|| {
            let mut x = vec![Vec3::zeros(); 3000];
            let mut jacobi = BlockJacobi::default();
            jacobi.update_general(3000, |i| a.diagonal(i));
            let work = &mut GmresWorkspace::default();
            let report = gmres(&a, &mut jacobi, &b, &mut x, 20, &CgConfig::default(), work);
            (x, report.unwrap())
        });
    }
}
