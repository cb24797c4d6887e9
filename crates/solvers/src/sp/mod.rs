//! Staggered projections [kaufman2008], for comparison: the normal and the friction problem are solved alternately.
//!
//! ```text
//! normal:    A v = f + Bᵀ r,   0 ≤ r_N ⊥ u_N ≥ 0             r_T given
//! friction:  A v = f + Bᵀ r,   r_T = argmax of −r_T·u_T over a set of size μ r_N       r_N given
//! ```
//!
//! Each is a convex quadratic program over the impulses. As in [verschoor2019, Sect. 6.2.3] it is solved together with
//! the velocities, by an active set with Krylov iterations on the equations of the active rows, so that nothing is
//! factorised; every solve starts from the last solution. `qp` solves one program, `crate::facets` has the polygon.
//! The alternation need not converge: it oscillates where friction forces change normal forces by more than their own
//! magnitude. The report shows it.
//!
//! **Deviations from the papers**
//! - [`FrictionSet::Disc`], the default, has Coulomb's disc in place of a polygon: a fixed point solves the exact law. The
//!   friction problem then is no quadratic program; a contact that slides along d has the row across d with the
//!   compliance ‖u_T‖/μ r_N, which is Newton's method on the direction. [`FrictionSet::Polygon`] is that of the papers.
//! - Active sets change by r − ρ u with a small ρ: after an exact solve its signs are those of multipliers and of
//!   violations. After some rounds one contact changes at a time, which breaks cycles.
//! - With discs the alternation ends by the certificate, with polygons by the change between two staggers.
//! - Compliance and cohesion, as for `cr`.

mod qp;

use stiction_contact::{
    CertifyConfig, FrictionProblem, certify,
    solver::{ContactSolver, KeptFactor, Solution, SolverBytes, SolverReport, Task},
};
use stiction_math::{SystemFactor, Vec3, reduce};

use crate::kkt::{CrPreconditioner, KktKrylov};
use qp::{Program, ProgramTask, Workspace};

pub use stiction_contact::solver::SolverError as Error;

/// Settings of the solver and its stopping criteria.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Config {
    /// Bound on the certificate with [`FrictionSet::Disc`], on the change in a stagger with a polygon [m/s].
    pub tolerance: f64,
    /// Krylov iterations before giving up, all together.
    pub max_iterations: usize,
    /// Staggers before giving up; each solves two programs.
    pub max_staggers: usize,
    /// The set of friction forces.
    pub friction: FrictionSet,
    /// Rule by which the active set of a program changes.
    pub switching: ActiveSetRule,
    /// The Krylov method of the programs.
    pub krylov: KktKrylov,
    /// Its approximate inverse; all four blocks fail on programs with normal rows alone [verschoor2019, Sect. 6.2.3].
    pub preconditioner: CrPreconditioner,
}

/// The set of friction forces of a contact.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FrictionSet {
    /// Coulomb's disc.
    Disc,
    /// A regular polygon around it, with the given number of sides, at least three.
    Polygon(usize),
}

/// Rule by which the active set of a program changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ActiveSetRule {
    /// When the equations of the active rows are solved: "SP (Active Set)" of [verschoor2019, Table 1].
    Solved,
    /// Also before, at the intervals of [verschoor2019, Alg. 2]: "SP (2×CR)" there.
    Intervals,
}

impl Config {
    /// The settings of the comparison [verschoor2019, Sect. 6.2.3].
    pub fn paper() -> Self {
        Self {
            tolerance: 5e-6 / 1e-3, // [verschoor2019, Sect. 6.2]: ε₂ in a step of 1 ms
            max_iterations: 20_000, // of the hardest scene: 6,839 on average [verschoor2019, Table 1]
            max_staggers: 500,
            friction: FrictionSet::Polygon(4), // [verschoor2019, Sect. 6.2.3]: a pyramid
            switching: ActiveSetRule::Solved,
            krylov: KktKrylov::ConjugateResiduals,
            preconditioner: CrPreconditioner::Diagonal,
        }
    }

    /// Settings for answers that the certificate accepts.
    pub fn accurate() -> Self {
        Self {
            tolerance: 1e-9,
            max_iterations: 200_000,
            friction: FrictionSet::Disc,
            krylov: KktKrylov::Minres, // it does not break down [verschoor2019, Sect. 7]
            ..Self::paper()
        }
    }

    fn check(&self) -> Result<(), Error> {
        let sides = match self.friction {
            FrictionSet::Disc => usize::MAX,
            FrictionSet::Polygon(sides) => sides,
        };
        for (name, value, sound) in [
            ("tolerance", self.tolerance, self.tolerance >= 0.0),
            ("sides", sides as f64, sides >= 3),
        ] {
            if !(value.is_finite() && sound) {
                return Err(Error::Setting { name, value });
            }
        }
        Ok(())
    }
}

impl Default for Config {
    fn default() -> Self {
        Self::accurate()
    }
}

/// The solver.
#[derive(Default)]
pub struct StaggeredProjections {
    config: Config,
    work: Workspace,
    /// For velocities without contact; the programs need no factor.
    factor: KeptFactor,
}

/// Fraction of the last stagger's error to which the equations of a program are solved, and of the tolerance.
const INNER: f64 = 1e-2;

impl StaggeredProjections {
    /// A solver with the given settings.
    pub fn new(config: Config) -> Self {
        Self {
            config,
            ..Self::default()
        }
    }
}

impl ContactSolver for StaggeredProjections {
    fn name(&self) -> &'static str {
        "sp"
    }

    /// Contacts are those of the task's problem at its start: the source is not used.
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
            config.tolerance = target.error;
            config.max_iterations = target.iterations(config.max_iterations);
        }
        config.check()?;
        task.problem.check()?;
        solution.check()?;
        self.stagger(task, solution, &config)
    }

    fn unconstrained(
        &mut self,
        problem: &FrictionProblem,
        x: &mut [Vec3],
        tolerance: f64,
    ) -> Result<(), Error> {
        Ok(self.factor.unconstrained(problem, x, tolerance)?)
    }

    fn factor_at_hand(&mut self, problem: &FrictionProblem) -> Option<&mut SystemFactor> {
        let (factor, new) = self.factor.of(problem).ok()?;
        (!new).then_some(factor)
    }

    fn release(&mut self) {
        self.work = Workspace::default();
    }

    fn bytes(&self) -> SolverBytes {
        let mut bytes = self.work.bytes();
        bytes.system += self.factor.bytes();
        bytes
    }
}

impl StaggeredProjections {
    fn stagger(
        &mut self,
        task: &mut Task<'_>,
        solution: &mut Solution,
        config: &Config,
    ) -> Result<SolverReport, Error> {
        let Task {
            problem,
            cancel,
            observer,
            ..
        } = task;
        let problem = &**problem;
        let exact = config.friction == FrictionSet::Disc;
        let mut report = SolverReport {
            change: f64::INFINITY,
            error: f64::INFINITY,
            asked: if exact {
                config.tolerance
            } else {
                f64::INFINITY
            },
            ..SolverReport::default()
        };
        let work = &mut self.work;
        work.begin(problem, solution, config)?;
        let mut best: Option<(f64, Solution)> = None;
        let mut error = f64::INFINITY;
        for stagger in 0..config.max_staggers {
            let accuracy = INNER * error.max(config.tolerance);
            let mut task = ProgramTask {
                problem,
                config,
                cancel,
                observer: &mut **observer,
                // The first stagger has no error to go by.
                accuracy: match accuracy.is_finite() {
                    true => accuracy,
                    false => INNER * work.speed(problem).max(config.tolerance),
                },
            };
            let before = work.iteration.y.v.clone();
            for program in [Program::Normal, Program::Friction] {
                work.solve(program, &mut task, &mut report)?;
            }
            let y = &work.iteration.y;
            let judged = certify(problem, &y.v, &y.c, &CertifyConfig::default())?;
            report.change = reduce::max_ordered(before.len(), |j| (y.v[j] - before[j]).norm());
            error = judged.solution_error();
            if !error.is_finite() {
                return Err(Error::Overflow {
                    iterations: report.iterations,
                    change: report.change,
                });
            }
            if best.as_ref().is_none_or(|b| error < b.0) {
                best = Some((error, Solution::new(y.v.clone(), y.c.clone())));
            }
            report.converged = match exact {
                true => error <= config.tolerance,
                // Of programs that were solved to more than that.
                false => {
                    stagger > 0
                        && report.change <= config.tolerance
                        && accuracy <= 2.0 * INNER * config.tolerance
                }
            };
            if report.converged || report.iterations >= config.max_iterations {
                break;
            }
            if !exact {
                // The certificate does not vanish at the answer of a polygon.
                error = report.change;
            }
        }
        // What oscillates is judged by its best answer; what settled, by the last one.
        let y = &work.iteration.y;
        let answer = match (report.converged, best) {
            (false, Some((_, best))) => best,
            _ => Solution::new(y.v.clone(), y.c.clone()),
        };
        report.error =
            certify(problem, &answer.v, &answer.r, &CertifyConfig::default())?.solution_error();
        (solution.v, solution.r) = (answer.v, answer.r);
        Ok(report)
    }
}
