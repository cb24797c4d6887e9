//! The slow and trusted solver, for comparison.
//!
//! The problem is reduced to its contacts, dense: u = W r + q with W = B A⁻¹ Bᵀ. Sweeps over the
//! contacts solve each exactly by the cases of Coulomb's law while the others hold [bonnefon2011];
//! between sweeps, Newton steps on all contacts together [alart1991] finish what sweeps would only
//! approach; what resists both is approached through problems with compliant contacts or with less
//! friction. Cost is cubic in nodes and contacts: for some hundreds of each.
//!
//! For large μ a problem can have several solutions, or one that sweeps do not reach; what is not
//! solved is returned as an error that says how far it got.

mod delassus;
mod law;
mod local;
mod newton;
mod quartic;
mod search;

use stiction_contact::{CertifyConfig, FrictionProblem, ProblemError, certify};
use stiction_math::{Vec3, nalgebra};

use delassus::Delassus;
use search::Search;

/// How long and how far to go.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Config {
    /// Done when the worst residual is below this part of the largest relative velocity without
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

/// The solution and the way to it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Report {
    /// Velocities of the blocks [m/s].
    pub v: Vec<Vec3>,
    /// Impulses at the contacts [N·s], world frame.
    pub r: Vec<Vec3>,
    /// Sweeps and attempts of Newton's method taken.
    pub iterations: usize,
    /// Newton steps in all attempts.
    pub newton_steps: usize,
    /// The worst residual of Coulomb's law over contacts [m/s].
    pub residual: f64,
    /// What was good enough [m/s]: the tolerance, and what rounding does to sums. A solution's
    /// certificate, `residual` and `dynamics`, is below it.
    pub tolerance: f64,
}

/// Why there is no solution.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum Error {
    /// The problem is not sound.
    #[error(transparent)]
    Problem(#[from] ProblemError),
    /// The first impulses do not fit the contacts.
    #[error("{found} impulses to start from for {expected} contacts, or they are not finite")]
    Start {
        /// How many contacts there are.
        expected: usize,
        /// How many impulses were given.
        found: usize,
    },
    /// The dense matrices would be too large.
    #[error("{rows} rows are too many for the dense solver, whose limit is {limit}")]
    TooLarge {
        /// Rows of the larger of A and W.
        rows: usize,
        /// The limit.
        limit: usize,
    },
    /// A has no Cholesky factor.
    #[error("the system matrix is not positive definite")]
    NotPositiveDefinite,
    /// The limit of iterations was reached.
    #[error("not solved after {} iterations: residual {:e} m/s", .best.iterations, .best.residual)]
    NotConverged {
        /// The best impulses found, and their residual.
        best: Box<Report>,
    },
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

/// Solves `problem`, from the impulses `start` [N·s] if given, else from none.
pub fn solve(
    problem: &FrictionProblem,
    config: &Config,
    start: Option<&[Vec3]>,
) -> Result<Report, Error> {
    let m = problem.contacts.len();
    let rows = 3 * problem.blocks().max(m);
    if rows > config.max_rows {
        let limit = config.max_rows;
        return Err(Error::TooLarge { rows, limit });
    }
    problem.check()?;
    let delassus = Delassus::new(problem).ok_or(Error::NotPositiveDefinite)?;
    let start = match start {
        None => nalgebra::DVector::zeros(3 * m),
        Some(start) => {
            let finite = start.iter().flatten().all(|x| x.is_finite());
            if start.len() != m || !finite {
                return Err(Error::Start {
                    expected: m,
                    found: start.len(),
                });
            }
            delassus.local(problem, start)
        }
    };

    let mut search = Search {
        config,
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
    let judged = certify(problem, &v, &r, &CertifyConfig::default())?;
    let tolerance = MEASURES * target;
    let report = Report {
        v,
        r,
        iterations: search.iterations,
        newton_steps: search.newton_steps,
        residual,
        tolerance,
    };
    if residual <= target && judged.residual.max(judged.dynamics) <= tolerance {
        Ok(report)
    } else {
        let best = Box::new(report);
        Err(Error::NotConverged { best })
    }
}
