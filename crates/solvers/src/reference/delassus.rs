//! The problem reduced to its contacts, dense and in contact frames.

use stiction_contact::FrictionProblem;
use stiction_math::{LinearOperator, Mat3, Vec3, frame, nalgebra};

type Matrix = nalgebra::DMatrix<f64>;
type Vector = nalgebra::DVector<f64>;

/// A problem in terms of its contacts alone, u = W r + q and (u, r) ∈ C_μ, in local coordinates
/// (normal, tangent, tangent).
#[derive(Clone)]
pub(super) struct Reduced {
    /// W = B A⁻¹ Bᵀ + C [1/kg], 3×3 block per pair of contacts.
    pub w: Matrix,
    /// q = B A⁻¹ f + k − W ξ n [m/s].
    pub q: Vector,
    /// Coefficients of friction.
    pub mu: Vec<f64>,
    /// ρ of every contact: the inverse of the mean diagonal of its block of W [kg].
    pub rho: Vec<f64>,
}

/// The reduced problem of the impulses r + ξ n of Coulomb's law, and the recovery of velocities.
pub(super) struct Delassus {
    /// The problem of the contacts.
    pub reduced: Reduced,
    /// Contact frames: columns n, t, t.
    frames: Vec<Mat3>,
    factor: nalgebra::Cholesky<f64, nalgebra::Dyn>,
}

impl Reduced {
    pub fn len(&self) -> usize {
        self.mu.len()
    }

    /// The diagonal block of W at contact `c`.
    pub fn block(&self, c: usize) -> Mat3 {
        self.w.fixed_view::<3, 3>(3 * c, 3 * c).into_owned()
    }

    /// u = W r + q.
    pub fn velocity(&self, r: &Vector) -> Vector {
        &self.w * r + &self.q
    }

    /// The problem in which every impulse is tied to its value in `r` by a compliance of `part`
    /// times the contact's own: u = W r + q + part/ρ (r − r̄).
    pub fn tied(&self, r: &Vector, part: f64) -> Self {
        let mut tied = self.clone();
        for i in 0..r.len() {
            let tie = part / self.rho[i / 3];
            tied.w[(i, i)] += tie;
            tied.q[i] -= tie * r[i];
        }
        tied
    }
}

impl Delassus {
    /// Reduces a problem that has passed its check; `None` if A is not positive definite.
    pub fn new(problem: &FrictionProblem) -> Option<Self> {
        let set = &problem.contacts;
        let factor = dense(problem).cholesky()?;
        let frames: Vec<Mat3> = set.normal.iter().map(frame).collect();
        let m = set.len();

        // Columns of Bᵀ in local coordinates.
        let mut columns = Matrix::zeros(3 * problem.blocks(), 3 * m);
        for c in 0..m {
            for e in set.entries(c) {
                let block = e.matrix().transpose() * frames[c];
                let at = (3 * e.node as usize, 3 * c);
                columns.fixed_view_mut::<3, 3>(at.0, at.1).copy_from(&block);
            }
        }
        let mut free = Vector::zeros(3 * problem.blocks());
        for (i, f) in problem.f.iter().enumerate() {
            free.fixed_rows_mut::<3>(3 * i).copy_from(f);
        }
        factor.solve_mut(&mut free);
        let mut q = columns.tr_mul(&free);

        // W = Yᵀ Y with Y = L⁻¹ Bᵀ: symmetric and semi-definite whatever the rounding.
        factor.l_dirty().solve_lower_triangular_mut(&mut columns);
        let mut w = columns.tr_mul(&columns);
        for c in 0..m {
            w[(3 * c, 3 * c)] += set.compliance[c];
            let k = frames[c].tr_mul(&set.k[c]);
            let mut q = q.fixed_rows_mut::<3>(3 * c);
            q += k;
        }
        for c in 0..m {
            if set.cohesion[c] != 0.0 {
                q -= w.column(3 * c) * set.cohesion[c];
            }
        }
        let rho = (0..m)
            .map(|c| 3.0 / w.fixed_view::<3, 3>(3 * c, 3 * c).trace())
            .collect();
        let mu = set.mu.clone();
        Some(Self {
            reduced: Reduced { w, q, mu, rho },
            frames,
            factor,
        })
    }

    /// Local impulses r + ξ n of world impulses r.
    pub fn local(&self, problem: &FrictionProblem, r: &[Vec3]) -> Vector {
        let mut local = Vector::zeros(3 * self.frames.len());
        for (c, r) in r.iter().enumerate() {
            let mut x = self.frames[c].tr_mul(r);
            x.x += problem.contacts.cohesion[c];
            local.fixed_rows_mut::<3>(3 * c).copy_from(&x);
        }
        local
    }

    /// World impulses r [N·s] of local ones.
    pub fn world(&self, problem: &FrictionProblem, r: &Vector) -> Vec<Vec3> {
        let world = |c: usize| {
            let mut x = r.fixed_rows::<3>(3 * c).into_owned();
            x.x -= problem.contacts.cohesion[c];
            self.frames[c] * x
        };
        (0..self.frames.len()).map(world).collect()
    }

    /// v = A⁻¹ (f + Bᵀ r) [m/s], with one step of refinement.
    pub fn motion(&self, problem: &FrictionProblem, r: &[Vec3]) -> Vec<Vec3> {
        let n = problem.blocks();
        let mut v = vec![Vec3::zeros(); n];
        let mut missing = vec![Vec3::zeros(); n];
        for _ in 0..2 {
            problem.momentum_residual(&v, r, &mut missing);
            let mut step = Vector::zeros(3 * n);
            for (i, y) in missing.iter().enumerate() {
                step.fixed_rows_mut::<3>(3 * i).copy_from(&-y);
            }
            self.factor.solve_mut(&mut step);
            for (i, v) in v.iter_mut().enumerate() {
                *v += step.fixed_rows::<3>(3 * i);
            }
        }
        v
    }
}

/// A as a dense matrix, column by column from its products.
fn dense(problem: &FrictionProblem) -> Matrix {
    let n = problem.blocks();
    let mut a = Matrix::zeros(3 * n, 3 * n);
    let mut x = vec![Vec3::zeros(); n];
    let mut y = vec![Vec3::zeros(); n];
    for column in 0..3 * n {
        x[column / 3][column % 3] = 1.0;
        problem.a.apply(&x, &mut y);
        x[column / 3][column % 3] = 0.0;
        for (i, y) in y.iter().enumerate() {
            a.fixed_view_mut::<3, 1>(3 * i, column).copy_from(y);
        }
    }
    a
}
