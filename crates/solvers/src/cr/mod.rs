//! Conjugate Residual iterations with constraints that switch state [verschoor2019].
//!
//! Velocities and impulses are found together, from the equations
//!
//! ```text
//! A v = f + Bᵀ r,     P (B v + k + C r) = 0
//! ```
//!
//! where P selects the rows that are active: none of an open contact, three of one that sticks, the
//! normal one of one that slides, whose friction stands on the right-hand side. The Conjugate Residual
//! method needs products with A and B alone. Rows change their state while it runs, and the residual is
//! split into f − A v and a rest of the contacts, so that such a change costs no product with A. Nothing
//! is factorised, and no Delassus operator is built.
//!
//! `crate::kkt` holds the equations, the approximations of their inverse and the iterations, `law` the changes of
//! state, `iterate` the iteration of the paper, `states` what it does with contacts; `cone` is the law of a contact
//! in the proximal loop, `pace` the choice of ρ and the extrapolation there, `linear` has the systems
//! of its Newton steps, `tangent` approximates their matrix.
//!
//! **Two sets of rules**
//! - [`Config::paper`]: those of the paper. Sliding forces follow in small steps, and the answer is as
//!   accurate as its thresholds: directions within 1.2°, rows within 5 µm. Nothing keeps states from going
//!   round in circles; where they do, the iterations run out.
//! - [`Config::accurate`], the default: the answer's certificate decides. Contacts switch between conjugate
//!   residual solves on the velocities inside a proximal loop on the impulses, in which every switch
//!   reduces a convex function (`proximal`).
//!
//! **Deviations from the paper**
//! - The default eliminates impulses by the proximal term: H = A + Bᵀ G B, symmetric and positive definite,
//!   takes the place of the indefinite matrix B. Conjugate residuals on it cannot break down, and redundant
//!   contacts need no treatment. The rows of a sliding contact are n + μ d and the tangent across d, so that
//!   friction follows the normal force within a linear solve; the slips follow instead [acary2011].
//! - An incomplete Cholesky factor of H, with the fill of the first level, is the default preconditioner, and an incomplete
//!   LU factor [saad1994] that of steps that follow slips, with generalised minimal residuals [saad1986]. The form of
//!   [verschoor2019, Eq. 22] counts contacts per body for its scaling Z, which makes it positive definite.
//! - By the rules of the paper rows are vectors in the world frame with projectors, and the approximation of A
//!   is that of its 3×3 diagonal blocks (6×6 of a rigid body), so that the iteration does not depend on the axes.
//! - The residual that governs intervals is weighted by these blocks [√J], which adds impulses and
//!   velocities in one unit.
//! - Changes of forces count by the masses of the blocks, where Algorithm 2 has S_d: a stiff body hides a
//!   change of friction in S_d that moves it as a whole, and friction was postponed for good.
//! - A row that becomes active counts as a change by its violation: by the formula of Algorithm 2 its
//!   change would be zero, and it would always be postponed.
//! - Compliance enters as the lower right block, and cohesion as a shift of the normal impulse; the
//!   paper has neither.
//! - An indefinite preconditioner can break the iteration down. It is started again then, and with the
//!   diagonal one if that happens often.

mod cone;
mod iterate;
mod law;
mod linear;
mod pace;
mod proximal;
mod states;
mod tangent;

use stiction_contact::{
    FrictionProblem,
    detect::RevisionRule,
    solver::{ContactSolver, Solution, SolverBytes, SolverReport, Task},
};
use stiction_math::{
    CgConfig, CgWorkspace, KrylovError, Preconditioner as Approximate, Vec3, conjugate_gradients,
};

use iterate::Workspace;
use linear::KrylovColumns;
use proximal::{Goal, Rounds};
use states::revise;
use tangent::TangentInverse;

use crate::kkt::Approximation;
pub use crate::kkt::{CrPreconditioner, KktKrylov};
pub use stiction_contact::solver::SolverError as Error;

/// Settings of the solver and its stopping criteria.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Config {
    /// Stopping criterion.
    pub stop: CrStop,
    /// Iterations before giving up.
    pub max_iterations: usize,
    /// The approximate inverse.
    pub preconditioner: CrPreconditioner,
    /// The Krylov method with [`CrStop::Thresholds`].
    pub krylov: KktKrylov,
    /// Rule by which contacts change their state with [`CrStop::Thresholds`].
    pub law: SwitchRule,
    /// Treatment of contacts when the problem is solved for the current ones.
    pub contacts: ContactUpdate,
    /// Largest number of such treatments.
    pub max_revisions: usize,
    /// Bound on the certificate of problems that another linearisation follows [m/s].
    pub rough: f64,
}

/// Treatment of contacts when the problem is solved for the current ones.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ContactUpdate {
    /// They are brought up to date with the motion: re-linearised, dropped and appended
    /// [verschoor2019, Sect. 3.3].
    Revise(RevisionRule),
    /// New ones are appended.
    Append,
}

/// Stopping criterion of a solve.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum CrStop {
    /// `residual` and `linear` of the answer's certificate are below this [m/s].
    Certificate(f64),
    /// The thresholds of the paper, and its rules for changes of state.
    Thresholds(Thresholds),
}

/// Stopping criterion of the paper: ‖r‖ is below a fraction ε₁ of ‖f‖, both weighted by the diagonal blocks
/// of A, and no active row is violated by ε₂ [verschoor2019, Alg. 1].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Thresholds {
    /// ε₁ [1].
    pub relative: f64,
    /// ε₂ [m].
    pub constraint: f64,
}

/// The numbers of Algorithms 2 and 3 [verschoor2019], by which contacts change their state.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SwitchRule {
    /// Normal forces in the moving average that bounds friction.
    pub average: usize,
    /// Angle between sliding and friction above which the latter turns [rad].
    pub angle: f64,
    /// Rate of rotation: fraction of the difference.
    pub turn: f64,
}

impl Config {
    /// The settings of the paper.
    pub fn paper() -> Self {
        Self {
            stop: CrStop::Thresholds(Thresholds {
                relative: 5e-5,   // [verschoor2019, Sect. 6.2]: ε₁
                constraint: 5e-6, // [verschoor2019, Sect. 6.2]: ε₂
            }),
            max_iterations: 20_000, // of the hardest scene: 7,206 on average [verschoor2019, Table 1]
            preconditioner: CrPreconditioner::Full, // [verschoor2019, Sect. 3.4]
            krylov: KktKrylov::ConjugateResiduals, // [verschoor2019, Alg. 1]
            law: SwitchRule {
                average: 2,                  // [verschoor2019, Sect. 3.2]
                angle: 1.2_f64.to_radians(), // [verschoor2019, Sect. 3.2]: ε_θ
                turn: 0.01,                  // [verschoor2019, Sect. 3.2]: α_θ
            },
            // [verschoor2019, Sect. 3.3] with ε₂
            contacts: ContactUpdate::Revise(RevisionRule::within(5e-6)),
            max_revisions: 10, // [verschoor2019, Sect. 6.2.1]: peaks of 10 linearisations
            rough: 0.0,        // [verschoor2019, Sect. 3]: one linearisation
        }
    }

    /// Settings for answers that the certificate accepts.
    pub fn accurate() -> Self {
        Self {
            stop: CrStop::Certificate(1e-9),
            // On stiff slender bodies the diagonal blocks take many times the iterations.
            preconditioner: CrPreconditioner::Cholesky,
            contacts: ContactUpdate::Append,
            rough: 2e-5,
            ..Self::paper()
        }
    }
}

impl Default for Config {
    fn default() -> Self {
        Self::accurate()
    }
}

/// The solver.
#[derive(Default)]
pub struct Cr {
    config: Config,
    work: Workspace,
    inverse: TangentInverse,
    krylov: KrylovColumns,
}

impl Cr {
    /// A solver with the given settings.
    pub fn new(config: Config) -> Self {
        Self {
            config,
            ..Self::default()
        }
    }
}

impl ContactSolver for Cr {
    fn name(&self) -> &'static str {
        "cr"
    }

    fn solve(
        &mut self,
        task: &mut Task<'_>,
        solution: &mut Solution,
    ) -> Result<SolverReport, Error> {
        if task.local.is_some() {
            return Err(Error::LocalStep(self.name()));
        }
        let mut config = self.config;
        if let Some(target) = task.target {
            config.stop = CrStop::Certificate(target.error);
            config.max_iterations = target.iterations(config.max_iterations);
        }
        if let (CrStop::Certificate(bound), false) = (&mut config.stop, task.polish) {
            *bound = bound.max(config.rough);
        }
        config.check()?;
        task.problem.check()?;
        solution.check()?;
        match config.stop {
            CrStop::Certificate(bound) => self.solve_exactly(task, solution, &config, bound),
            CrStop::Thresholds(at) => self.work.solve(task, solution, &config, at),
        }
    }

    fn unconstrained(
        &mut self,
        problem: &FrictionProblem,
        x: &mut [Vec3],
        tolerance: f64,
    ) -> Result<(), Error> {
        let form = self.config.preconditioner;
        self.work.unconstrained(problem, form, x, tolerance)
    }

    fn factorises(&self) -> bool {
        false
    }

    fn release(&mut self) {
        *self = Self::new(self.config);
    }

    fn bytes(&self) -> SolverBytes {
        let mut bytes = self.work.bytes();
        bytes.system += self.inverse.bytes() + self.krylov.bytes();
        bytes
    }
}

impl Cr {
    /// Solves until the certificate is below `bound` [m/s], with the contacts that appear during the solve.
    fn solve_exactly(
        &mut self,
        task: &mut Task<'_>,
        solution: &mut Solution,
        config: &Config,
        bound: f64,
    ) -> Result<SolverReport, Error> {
        let mut report = SolverReport {
            change: f64::INFINITY,
            error: f64::INFINITY,
            asked: bound,
            ..SolverReport::default()
        };
        let goal = Goal {
            tolerance: bound,
            max_iterations: config.max_iterations,
            preconditioner: config.preconditioner,
        };
        solution.v.resize(task.problem.blocks(), Vec3::zeros());
        solution
            .r
            .resize(task.problem.contacts.len(), Vec3::zeros());
        for revision in 0.. {
            let (v, r) = (&solution.v, &solution.r);
            let (inverse, krylov) = (&mut self.inverse, &mut self.krylov);
            let mut rounds = Rounds::new(task.problem, v, r, goal, inverse, krylov)?;
            rounds.run(&mut report, task.cancel, task.observer)?;
            (_, solution.v, solution.r) = rounds.into_best();
            if revision == config.max_revisions {
                break;
            }
            let Some(revision) = revise(task, config.contacts, &solution.v)? else {
                break;
            };
            report.new_contacts += revision.added;
            solution.r = revision.moved(&solution.r, Vec3::zeros(), task.problem.contacts.len());
        }
        report.converged = report.error <= bound;
        Ok(report)
    }
}

impl Config {
    fn check(&self) -> Result<(), Error> {
        let mut settings = vec![];
        match self.stop {
            CrStop::Certificate(bound) => settings.push(("tolerance", bound)),
            CrStop::Thresholds(at) => {
                settings.extend([("relative", at.relative), ("constraint", at.constraint)]);
            }
        }
        settings.extend([("angle", self.law.angle), ("turn", self.law.turn)]);
        let wrong = |s: &&(&'static str, f64)| !(s.1.is_finite() && s.1 >= 0.0);
        match settings.iter().find(wrong) {
            Some(&(name, value)) => Err(Error::Setting { name, value }),
            None => Ok(()),
        }
    }
}

/// x ← A⁻¹ f by conjugate gradients with the approximation of A⁻¹ that is at hand.
fn conjugate(
    problem: &FrictionProblem,
    approximation: &mut Approximation,
    x: &mut [Vec3],
    tolerance: f64,
    work: &mut CgWorkspace,
) -> Result<(), Error> {
    struct Inverse<'a>(&'a mut Approximation);
    impl Approximate for Inverse<'_> {
        fn apply(&mut self, r: &[Vec3], z: &mut [Vec3]) {
            self.0.solve(r, z);
        }
    }
    let config = CgConfig {
        relative: tolerance,
        absolute: 0.0,
        max_iterations: 20_000,
    };
    x.fill(Vec3::zeros());
    let mut inverse = Inverse(approximation);
    match conjugate_gradients(&problem.a, &mut inverse, &problem.f, x, &config, work) {
        // A prediction that is not exact still predicts.
        Ok(_) | Err(KrylovError::NotConverged { .. }) => Ok(()),
        Err(_) => Err(Error::NotPositiveDefinite),
    }
}
