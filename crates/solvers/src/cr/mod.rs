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
//! `kkt` holds the equations, `precondition` the approximations of their inverse, `law` the changes of
//! state, `iterate` the iteration, `states` what it does with contacts.
//!
//! **Two sets of rules**
//! - [`Config::paper`]: those of the paper. Sliding forces follow in small steps, and the answer is as
//!   accurate as its thresholds: directions within 1.2°, rows within 5 µm.
//! - [`Config::accurate`], the default: the answer's certificate decides. Rows are chosen by
//!   r − ρ u, all at once, where that changes the residual by more than the iteration has left of it.
//!   The direction of sliding is an unknown: the tangential row across the sliding direction stays
//!   active with the compliance of Coulomb's law there, ‖u_T‖/‖r_T‖, which is symmetric. The magnitude of
//!   friction follows the normal force as in the paper, more slowly where that does not settle.
//!   Rows that are chosen at once may go round in circles: contacts are then relaxed one by one for
//!   a few rounds, and the iteration goes on from there.
//!
//! **Deviations from the paper**
//! - Rows are vectors in the world frame with projectors, and the approximation of A is that of its 3×3
//!   diagonal blocks (6×6 of a rigid body), so that the iteration does not depend on the axes.
//! - The residual that governs intervals is weighted by these blocks [√J], which adds impulses and
//!   velocities in one unit.
//! - A row that becomes active counts as a change by its violation: by the formula of Algorithm 2 its
//!   change would be zero, and it would always be postponed.
//! - Compliance enters as the lower right block, and cohesion as a shift of the normal impulse; the
//!   paper has neither.
//! - An indefinite preconditioner can break the iteration down. It is started again then, and with the
//!   diagonal one if that happens often.

mod iterate;
mod kkt;
mod law;
mod precondition;
mod states;

use stiction_contact::{
    FrictionProblem,
    solver::{ContactSolver, Solution, SolverBytes, SolverReport, Task},
};
use stiction_math::{
    CgConfig, CgWorkspace, KrylovError, Preconditioner as Approximate, Vec3, conjugate_gradients,
};

use iterate::Workspace;
use precondition::Approximation;

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
    /// Rule by which contacts change their state.
    pub law: SwitchRule,
    /// Treatment of contacts when the problem is solved for the current ones.
    pub contacts: ContactUpdate,
    /// Largest number of such treatments.
    pub max_revisions: usize,
    /// Bound on the certificate of problems that another linearisation follows [m/s].
    pub rough: f64,
}

/// Treatment of contacts when the problem is solved for the current ones.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ContactUpdate {
    /// All are brought up to date with the motion: re-linearised, dropped and appended
    /// [verschoor2019, Sect. 3.3].
    #[default]
    Revise,
    /// New ones are appended.
    Append,
}

/// Stopping criterion of a solve.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum CrStop {
    /// `residual` and `linear` of the answer's certificate are below this [m/s].
    Certificate(f64),
    /// ‖r‖ is below a fraction ε₁ of ‖f‖, both weighted by the diagonal blocks of A, and no active row
    /// is violated by ε₂ [m]; or the gradient of the residual is below ε₁ of its first value
    /// [verschoor2019, Alg. 1, Sect. 4.3].
    Thresholds {
        /// ε₁ [1].
        relative: f64,
        /// ε₂ [m].
        constraint: f64,
    },
}

/// Rule by which contacts change their state.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum SwitchRule {
    /// Algorithms 2 and 3 of the paper.
    Switching {
        /// Normal forces in the moving average that bounds friction.
        average: usize,
        /// Angle between sliding and friction above which the latter turns [rad].
        angle: f64,
        /// Rate of rotation: fraction of the difference.
        turn: f64,
    },
    /// All rows at once, by r − ρ u.
    Projection {
        /// Changes are made when they change the residual by this fraction of what is left of it.
        threshold: f64,
    },
}

/// The approximate inverse of the equations [verschoor2019, Sect. 3.4].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CrPreconditioner {
    /// Blocks on the diagonal: D⁻¹ and S⁻¹, positive definite.
    Diagonal,
    /// All four blocks, with the diagonal blocks D of A in place of A.
    #[default]
    Full,
    /// All four blocks, with an incomplete Cholesky factor in place of A.
    Cholesky,
}

impl Config {
    /// The settings of the paper.
    pub fn paper() -> Self {
        Self {
            stop: CrStop::Thresholds {
                relative: 5e-5,   // [verschoor2019, Sect. 6.2]: ε₁
                constraint: 5e-6, // [verschoor2019, Sect. 6.2]: ε₂
            },
            max_iterations: 20_000, // of the hardest scene: 7,206 on average [verschoor2019, Table 1]
            preconditioner: CrPreconditioner::Full, // [verschoor2019, Sect. 3.4]
            law: SwitchRule::Switching {
                average: 2,                  // [verschoor2019, Sect. 3.2]
                angle: 1.2_f64.to_radians(), // [verschoor2019, Sect. 3.2]: ε_θ
                turn: 0.01,                  // [verschoor2019, Sect. 3.2]: α_θ
            },
            contacts: ContactUpdate::Revise, // [verschoor2019, Sect. 3.3]
            max_revisions: 10, // [verschoor2019, Sect. 6.2.1]: peaks of 10 linearisations
            rough: 0.0,        // [verschoor2019, Sect. 3]: one linearisation
        }
    }

    /// Settings for answers that the certificate accepts.
    pub fn accurate() -> Self {
        Self {
            stop: CrStop::Certificate(1e-9),
            // On stiff slender bodies the diagonal blocks of A take fifteen times the iterations, and miss the bound.
            preconditioner: CrPreconditioner::Cholesky,
            law: SwitchRule::Projection { threshold: 1.0 },
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
}

impl Cr {
    /// A solver with the given settings.
    pub fn new(config: Config) -> Self {
        Self {
            config,
            work: Workspace::default(),
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
            if let SwitchRule::Switching { .. } = config.law {
                config.law = Self::default().config.law;
            }
        }
        if let (CrStop::Certificate(bound), false) = (&mut config.stop, task.polish) {
            *bound = bound.max(config.rough);
        }
        config.check()?;
        task.problem.check()?;
        solution.check()?;
        self.work.solve(task, solution, &config)
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

    fn release(&mut self) {
        self.work = Workspace::default();
    }

    fn bytes(&self) -> SolverBytes {
        self.work.bytes()
    }
}

impl Config {
    fn check(&self) -> Result<(), Error> {
        let mut settings = vec![];
        match self.stop {
            CrStop::Certificate(bound) => settings.push(("tolerance", bound)),
            CrStop::Thresholds {
                relative,
                constraint,
            } => settings.extend([("relative", relative), ("constraint", constraint)]),
        }
        match self.law {
            SwitchRule::Switching { angle, turn, .. } => {
                settings.extend([("angle", angle), ("turn", turn)]);
            }
            SwitchRule::Projection { threshold } => settings.push(("threshold", threshold)),
        }
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
