//! Krylov iterations on the equations of the active rows, between changes of their state.

use stiction_contact::{FrictionProblem, solver::Solution};
use stiction_math::{BlockError, LinearOperator as _, Vec3, elementary::ln, reduce};

use super::{
    ActiveRows, Approximation, Column, CrPreconditioner, Kkt, Transpose, for_contacts,
    minres::Lanczos,
};

/// Krylov method for the symmetric indefinite equations.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum KktKrylov {
    /// Conjugate residuals [luenberger1970], two-term recurrences, as in [verschoor2019, Alg. 1].
    #[default]
    ConjugateResiduals,
    /// MINRES [paige1975], three-term recurrences; its preconditioner is diagonal, since it has to be positive
    /// definite [verschoor2019, Sect. 7].
    Minres,
}

impl KktKrylov {
    /// The form of the preconditioner that is used where `form` is configured.
    pub(crate) fn preconditioner(self, form: CrPreconditioner) -> CrPreconditioner {
        match self {
            Self::ConjugateResiduals => form,
            Self::Minres => CrPreconditioner::Diagonal,
        }
    }
}

/// State of an iteration: the unknowns, the equations of the active rows and the columns of the Krylov method.
#[derive(Default)]
pub(crate) struct KktIteration {
    krylov: KktKrylov,
    pub transpose: Transpose,
    pub approximation: Approximation,
    pub rows: Vec<ActiveRows>,
    /// v and r.
    pub y: Column,
    /// f − A v.
    unconstrained: Vec<Vec3>,
    pub residual: Column,
    /// C⁻¹ times the residual, and the matrix times that.
    z: Column,
    w: Column,
    /// The direction, the matrix times it, and C⁻¹ times that.
    p: Column,
    q: Column,
    s: Column,
    /// A times the velocities of z and of p.
    az: Vec<Vec3>,
    ap: Vec<Vec3>,
    lanczos: Lanczos,
    /// zᵀ B z.
    curvature: f64,
    /// ‖r‖ after the last start [√J], and now.
    pub first: f64,
    pub now: f64,
    /// Iterations since the last start.
    pub since: usize,
}

/// Fraction of ‖z‖ ‖B z‖ below which zᵀ B z is too small to divide by.
const DEGENERATE: f64 = 1e-8;

/// Most iterations between evaluations of contacts.
const LONGEST: usize = 50;

/// Iterations between evaluations of contacts for a residual of `size` times its bound
/// [verschoor2019, Alg. 2, line 2].
pub(crate) fn switching_interval(size: f64) -> usize {
    let logarithm = ln(size.max(1.0));
    ((logarithm * logarithm / 3.0) as usize).clamp(1, LONGEST)
}

impl KktIteration {
    /// Columns for the problem, and the start.
    pub fn begin(
        &mut self,
        problem: &FrictionProblem,
        start: &Solution,
        krylov: KktKrylov,
        form: CrPreconditioner,
    ) -> Result<(), BlockError> {
        let (n, m) = (problem.blocks(), problem.contacts.len());
        self.krylov = krylov;
        let form = krylov.preconditioner(form);
        self.approximation.update_system(problem, form)?;
        self.y.reset(n, m);
        if start.v.len() == n {
            for j in (0..n).filter(|&j| !problem.fixed[j]) {
                self.y.v[j] = start.v[j];
            }
        }
        if start.r.len() == m {
            self.y.c.copy_from_slice(&start.r);
        }
        self.unconstrained.resize(n, Vec3::zeros());
        self.az.resize(n, Vec3::zeros());
        self.ap.resize(n, Vec3::zeros());
        self.rows.clear();
        self.rows.resize(m, ActiveRows::default());
        self.resize(problem);
        self.refresh(problem);
        Ok(())
    }

    /// Columns that follow the contacts.
    pub fn resize(&mut self, problem: &FrictionProblem) {
        let (n, m) = (problem.blocks(), problem.contacts.len());
        self.transpose.update(n, &problem.contacts);
        self.approximation.update_contacts(problem, &self.transpose);
        for column in [
            &mut self.residual,
            &mut self.z,
            &mut self.w,
            &mut self.p,
            &mut self.q,
            &mut self.s,
        ] {
            column.reset(n, m);
        }
    }

    /// f − A v from its definition.
    pub fn refresh(&mut self, problem: &FrictionProblem) {
        problem.a.apply(&self.y.v, &mut self.az);
        for_contacts(&mut self.unconstrained, |i, r| {
            *r = problem.f[i] - self.az[i];
        });
    }

    /// The residual of the rows that are active now, and the first direction [verschoor2019, Alg. 1,
    /// lines 19–21].
    pub fn restart(&mut self, problem: &FrictionProblem) {
        if self.krylov == KktKrylov::Minres {
            // Its steps leave f − A v behind.
            self.refresh(problem);
        }
        self.approximation.update_rows(&self.rows);
        let kkt = Kkt {
            problem,
            transpose: &self.transpose,
            rows: &self.rows,
        };
        kkt.residual(
            &self.unconstrained,
            &self.y.v,
            &self.y.c,
            &mut self.residual,
        );
        self.since = 0;
        match self.krylov {
            KktKrylov::ConjugateResiduals => {
                self.approximation.apply(&kkt, &self.residual, &mut self.z);
                kkt.apply(&self.z, &mut self.az, &mut self.w);
                let curvature = self.z.dot(&self.w);
                let size = self.z.dot(&self.z).sqrt() * self.w.dot(&self.w).sqrt();
                if curvature.abs() < DEGENERATE * size {
                    // zᵀ B z vanishes where rows alone are violated, and the next direction would be divided by it. One
                    // step along C⁻¹ B z minimises the residual and spreads it.
                    self.approximation.apply(&kkt, &self.w, &mut self.p);
                    kkt.apply(&self.p, &mut self.ap, &mut self.q);
                    self.approximation.apply(&kkt, &self.q, &mut self.s);
                    let alpha = self.residual.dot(&self.s) / self.q.dot(&self.s);
                    if alpha.is_finite() {
                        self.y.axpy(alpha, &self.p);
                        self.residual.axpy(-alpha, &self.q);
                        reduce::axpy(-alpha, &self.ap, &mut self.unconstrained);
                    }
                    self.approximation.apply(&kkt, &self.residual, &mut self.z);
                    kkt.apply(&self.z, &mut self.az, &mut self.w);
                }
                self.p.copy(&self.z);
                self.q.copy(&self.w);
                reduce::copy(&self.az, &mut self.ap);
                self.curvature = self.z.dot(&self.w);
            }
            KktKrylov::Minres => {
                self.p.reset(problem.blocks(), problem.contacts.len());
                self.lanczos
                    .start(&kkt, &mut self.approximation, &self.residual);
            }
        }
        self.first = self.approximation.norm(&self.residual);
        self.now = self.first;
    }

    /// One step. Returns its length α, none at a breakdown.
    pub fn step(&mut self, problem: &FrictionProblem) -> Option<f64> {
        self.since += 1;
        let Self {
            krylov,
            transpose,
            approximation,
            rows,
            y,
            unconstrained,
            residual,
            z,
            w,
            p,
            q,
            s,
            az,
            ap,
            lanczos,
            curvature,
            ..
        } = self;
        let kkt = Kkt {
            problem,
            transpose,
            rows,
        };
        let alpha = match krylov {
            KktKrylov::ConjugateResiduals => {
                approximation.apply(&kkt, q, s);
                let alpha = *curvature / q.dot(s);
                if !alpha.is_finite() || alpha == 0.0 {
                    return None;
                }
                y.axpy(alpha, p);
                residual.axpy(-alpha, q);
                reduce::axpy(-alpha, ap, unconstrained);
                z.axpy(-alpha, s);
                kkt.apply(z, az, w);
                let next = z.dot(w);
                let beta = next / *curvature;
                *curvature = next;
                p.xpby(z, beta);
                q.xpby(w, beta);
                reduce::xpby(az, beta, ap);
                Some(alpha)
            }
            KktKrylov::Minres => lanczos.step(&kkt, approximation, az, p, y, residual),
        };
        self.now = self.approximation.norm(&self.residual);
        alpha
    }

    /// The worse of the velocities that are missing at a block, in the metric of its diagonal block, with lengths
    /// `radii` for angular ones, and at an active row [m/s].
    pub fn missing(&self, radii: &[f64]) -> f64 {
        let Column { v, c } = &self.residual;
        let blocks = reduce::max_ordered(v.len(), |j| {
            self.approximation.block(j, &v[j]).norm() * radii[j]
        });
        let rows = reduce::max_ordered(c.len(), |c_| c[c_].norm());
        match blocks.is_nan() || rows.is_nan() {
            true => f64::INFINITY,
            false => blocks.max(rows).max(0.0),
        }
    }

    /// max |v| of the direction of the last step [m/s].
    pub fn direction(&self) -> f64 {
        reduce::norm_inf(&self.p.v)
    }

    /// The approximation of the given form from here on.
    pub fn change_preconditioner(
        &mut self,
        problem: &FrictionProblem,
        form: CrPreconditioner,
    ) -> Result<(), BlockError> {
        self.approximation.update_system(problem, form)
    }

    /// Memory of the system and of the contacts [bytes].
    pub fn bytes(&self) -> [usize; 2] {
        let columns = [
            &self.y,
            &self.residual,
            &self.z,
            &self.w,
            &self.p,
            &self.q,
            &self.s,
        ];
        let blocks = [&self.unconstrained, &self.az, &self.ap];
        let blocks: usize = blocks.map(|b| size_of_val(&b[..])).iter().sum();
        let [system, contacts] = self.approximation.bytes();
        [
            columns.map(Column::bytes).iter().sum::<usize>()
                + self.lanczos.bytes()
                + blocks
                + system,
            contacts + self.transpose.bytes() + size_of_val(&self.rows[..]),
        ]
    }
}
