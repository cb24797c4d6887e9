//! The slow and trusted solver, for comparison.
//!
//! The problem is reduced to its contacts, dense: u = W r + q with W = B A⁻¹ Bᵀ. Sweeps over the
//! contacts solve each exactly by the cases of Coulomb's law while the others hold [bonnefon2011];
//! between sweeps, Newton steps on all contacts together [alart1991] polish what sweeps would only
//! approach; what resists both is approached through problems with compliant contacts or with less
//! friction. Cost is cubic in nodes and contacts: for some hundreds of each.
//!
//! For large μ a problem can have several solutions, or one that sweeps do not reach; what is not
//! solved is reported as not converged, with the best answer found.

mod delassus;
mod law;
mod local;
mod newton;
mod quartic;
mod search;

use stiction_contact::{
    CertifyConfig, certify,
    solver::{ContactSolver, Solution, SolverReport, Task},
};
use stiction_math::nalgebra;

use delassus::Delassus;
use search::Search;

/// Stopping criteria.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Config {
    /// Done when the worst residual is below this fraction of the largest relative velocity without
    /// contact (plus what rounding makes of the sums).
    pub tolerance: f64,
    /// Sweeps over all contacts and attempts of Newton's method before giving up.
    pub max_iterations: usize,
    /// Sweeps between attempts of Newton's method.
    pub newton_every: usize,
    /// The largest number of rows of A or W that is accepted: dense matrices of this size are
    /// built.
    pub max_rows: usize,
}

pub use stiction_contact::solver::SolverError as Error;

/// The solver. It keeps nothing between solves.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Reference {
    config: Config,
}

impl Reference {
    /// A solver with the given settings.
    pub fn new(config: Config) -> Self {
        Self { config }
    }
}

/// By how much the certificate may differ from the search's own measure.
const MEASURES: f64 = 10.0;

impl Default for Config {
    fn default() -> Self {
        Self {
            tolerance: 1e-12,
            max_iterations: 20_000,
            newton_every: 20,
            max_rows: 6000,
        }
    }
}

impl ContactSolver for Reference {
    fn name(&self) -> &'static str {
        "reference"
    }

    /// Starts from the impulses of the solution. Of the target only the limit of iterations is
    /// used: the solver goes on to rounding. Contacts are those of the task's problem at its start.
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
            config.max_iterations = target.max_iterations;
        }
        let problem = &*task.problem;
        let m = problem.contacts.len();
        let rows = 3 * problem.blocks().max(m);
        if rows > config.max_rows {
            let limit = config.max_rows;
            return Err(Error::TooLarge { rows, limit });
        }
        problem.check()?;
        solution.check()?;
        let delassus = Delassus::new(problem).ok_or(Error::NotPositiveDefinite)?;
        let start = match solution.r.len() == m {
            false => nalgebra::DVector::zeros(3 * m),
            true => delassus.local(problem, &solution.r),
        };
        let mut search = Search {
            config: &config,
            iterations: 0,
            newton_steps: 0,
            best: (f64::INFINITY, start),
        };
        search.run(&delassus.reduced);

        let target = search.target(&delassus.reduced);
        let (residual, local) = search.best;
        let r = delassus.world(problem, &local);
        let v = delassus.motion(problem, &r);
        // The search measures each contact by its own block of W, the certificate by the blocks of A
        // it touches: bodies that are stiff make a difference.
        let error = certify(problem, &v, &r, &CertifyConfig::default())?.solution_error();
        let asked = MEASURES * target;
        (solution.v, solution.r) = (v, r);
        Ok(SolverReport {
            iterations: search.iterations,
            error,
            asked,
            converged: residual <= target && error <= asked,
            ..SolverReport::default()
        })
    }
}
