//! Frictional contact in the local form u = W r + q: relaxation contact by contact, then Newton's
//! method where that stalls.
//!
//! Problems of rigid bodies have a sparse W: contacts meet where they share a body. A sweep of
//! nonlinear Gauss–Seidel [jean1999] costs as much as one product with W, and its fixed point does
//! not depend on how mass is distributed. So
//!
//! 1. **Relaxation.** Each contact in turn takes the impulse that solves Coulomb's law exactly for the
//!    present impulses of the others (`one`). Sweeps are combined by Anderson's method [anderson1965]:
//!    once it is settled which contacts are open, stick or slide, a sweep is almost linear, and few
//!    modes are slow.
//! 2. **Newton.** Where sweeps go round in circles, which wedges with high friction do, a proximal loop
//!    as that of `newton` takes over, with impulses y as unknowns:
//!
//!    ```text
//!    y = r⁺(r, W y + q),    matrix I + G W,    G = −∂r⁺/∂u
//!    ```
//!
//!    and r⁺ the function of [alart1991]. Open contacts have G = 0 and leave the matrix.
//!
//! The two take turns until the residual is below the tolerance. A [`LocalProblem`] is solved as it is;
//! a problem with velocities is reduced first (`reduce`), body by body.

mod anderson;
mod newton;
mod one;
mod reduce;
mod relax;

use stiction_contact::{
    CertifyConfig, LocalProblem, certify,
    solver::{ContactSolver, Solution, SolverReport, Task},
};
use stiction_math::{Cancel, Vec3};

pub use stiction_contact::solver::SolverError as Error;

/// Stopping criteria.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Config {
    /// Done when the residual is below this [m/s].
    pub tolerance: f64,
    /// Sweeps and factorisations before giving up.
    pub max_iterations: usize,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            tolerance: 1e-8,
            max_iterations: 5000,
        }
    }
}

/// Sweeps of the first turn, if they keep reducing the residual; each later one has twice as many.
const SWEEPS: usize = 1000;
/// Factorisations of the first turn; each later one has twice as many.
const FACTORISATIONS: usize = 40;

/// Solves `problem` from the impulses `r` [N·s], which may be empty, and leaves the best answer there.
pub fn solve(
    problem: &LocalProblem,
    r: &mut Vec<Vec3>,
    config: &Config,
    cancel: &Cancel,
) -> Result<SolverReport, Error> {
    let value = config.tolerance;
    if !(value.is_finite() && value > 0.0) {
        let name = "tolerance";
        return Err(Error::Setting { name, value });
    }
    problem.check()?;
    if r.len() != problem.len() {
        *r = vec![Vec3::zeros(); problem.len()];
    }
    let mut report = SolverReport {
        error: problem.residual(r),
        asked: config.tolerance,
        ..SolverReport::default()
    };
    let mut relaxation = relax::Relaxation::new(problem);
    let mut search = None;
    let (mut sweeps, mut factors) = (SWEEPS, FACTORISATIONS);
    while report.error > config.tolerance && report.iterations < config.max_iterations {
        let left = config.max_iterations - report.iterations;
        let limit = sweeps.min(left);
        report.iterations +=
            relaxation.run(r, &mut report.error, config.tolerance, limit, cancel)?;
        let left = config.max_iterations - report.iterations;
        if report.error <= config.tolerance || left == 0 {
            break;
        }
        let search = search.get_or_insert_with(|| newton::Search::new(problem));
        let limit = factors.min(left);
        let done = search.run(r, &mut report.error, config.tolerance, limit, cancel)?;
        report.iterations += done;
        report.factorisations += done;
        (sweeps, factors) = (2 * sweeps, 2 * factors);
    }
    report.converged = report.error <= config.tolerance;
    Ok(report)
}

/// The solver for problems with velocities, which it reduces. It keeps nothing between solves.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct LocalSolver {
    config: Config,
}

impl LocalSolver {
    /// A solver with the given settings.
    pub fn new(config: Config) -> Self {
        Self { config }
    }
}

impl ContactSolver for LocalSolver {
    fn name(&self) -> &'static str {
        "local"
    }

    /// Contacts are those of the task's problem at its start: the source is not used. The velocities
    /// of the answer balance its impulses to rounding.
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
            config.max_iterations = target.max_iterations;
        }
        let asked = config.tolerance;
        // Margin for the rounding of the reduction.
        config.tolerance *= 0.5;
        let problem = &*task.problem;
        problem.check()?;
        solution.check()?;
        let reduced = reduce::Reduced::new(problem)?;
        let mut r = reduced.impulses_in_frames(problem, &solution.r);
        let mut report = solve(&reduced.local, &mut r, &config, task.cancel)?;
        solution.r = reduced.impulses_in_world(problem, &r);
        solution.v = reduced.velocities(problem, &solution.r);
        let judged = certify(problem, &solution.v, &solution.r, &CertifyConfig::default())?;
        report.error = judged.solution_error();
        report.asked = asked;
        report.converged = report.error <= asked;
        Ok(report)
    }
}
