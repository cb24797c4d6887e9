//! The slow and trusted solver, for comparison.
//!
//! The problem is reduced to its contacts, dense: u = W r + q with W = B A⁻¹ Bᵀ. Sweeps over the
//! contacts solve each exactly by the cases of Coulomb's law while the others hold [bonnefon2011];
//! between sweeps, Newton steps on all contacts together finish what sweeps would only approach.
//! Cost is cubic in nodes and contacts: for some hundreds of each.
//!
//! For large μ a problem can have several solutions, or one that sweeps do not reach; what is not
//! solved is returned as an error that says how far it got.

mod delassus;
mod law;
mod local;
mod newton;
mod quartic;

use stiction_contact::{FrictionProblem, ProblemError};
use stiction_math::{Vec3, nalgebra};

use delassus::{Delassus, Reduced};
use law::{part, scale_and_rounding, worst};

/// How long and how far to go.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Config {
    /// Done when the worst residual is below this part of the largest relative velocity without
    /// contact (plus what rounding makes of the sums).
    pub tolerance: f64,
    /// Sweeps over all contacts before giving up.
    pub max_sweeps: usize,
    /// Sweeps between attempts of Newton's method.
    pub newton_every: usize,
    /// The largest number of rows of A or W that is accepted: dense matrices of this size are
    /// built.
    pub max_rows: usize,
}

/// The solution and the way to it.
#[derive(Clone, Debug, PartialEq)]
pub struct Report {
    /// Velocities of the blocks [m/s].
    pub v: Vec<Vec3>,
    /// Impulses at the contacts [N·s], world frame.
    pub r: Vec<Vec3>,
    /// Sweeps taken.
    pub sweeps: usize,
    /// Newton steps taken.
    pub newton_steps: usize,
    /// The worst residual of Coulomb's law over contacts [m/s].
    pub residual: f64,
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
    /// The limit of sweeps was reached.
    #[error("not solved after {} sweeps: residual {:e} m/s", .best.sweeps, .best.residual)]
    NotConverged {
        /// The best impulses found, and their residual.
        best: Box<Report>,
    },
}

impl Default for Config {
    fn default() -> Self {
        Self {
            tolerance: 1e-12,
            max_sweeps: 20_000,
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
    let mut r = match start {
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

    let reduced = &delassus.reduced;
    let mut search = Search {
        config,
        sweeps: 0,
        newton_steps: 0,
    };
    let (scale, rounding) = scale_and_rounding(reduced, &r);
    let target = config.tolerance * scale + rounding;
    search.run(reduced, &mut r, config.newton_every.max(1), target);
    let mut best = (worst(reduced, &r, &reduced.velocity(&r)), r.clone());
    let mut tie = 1e-2;
    while search.sweeps < config.max_sweeps {
        let (scale, rounding) = scale_and_rounding(reduced, &best.1);
        let target = config.tolerance * scale + rounding;
        if best.0 <= target {
            break;
        }
        let mut trial = best.1.clone();
        let mut error = best.0;
        for from in 0..2 {
            let start = if from == 0 { &best.1 } else { &r };
            trial = start.clone();
            let tied = reduced.tied(start, tie);
            let inner = (0.01 * worst(reduced, start, &reduced.velocity(start))).max(0.1 * target);
            let e = search.run(&tied, &mut trial, 5 * config.newton_every.max(1), inner);
            error = worst(reduced, &trial, &reduced.velocity(&trial));
            if std::env::var("DBG").is_ok() {
                eprintln!(
                    "tie {tie:e} from {from} inner {e:e} of {inner:e} outer {error:e} sweeps {}",
                    search.sweeps
                );
            }
            let mut direct = trial.clone();
            search.newton_steps += newton::improve(reduced, &mut direct, 50, target);
            let e2 = worst(reduced, &direct, &reduced.velocity(&direct));
            if e2 < best.0 {
                best = (e2, direct);
            }
            if e <= inner {
                r = trial.clone();
                tie *= 0.2;
                break;
            }
            if from == 1 {
                tie = (tie * 10.0).min(1.0);
            }
        }
        if error < best.0 {
            best = (error, trial.clone());
        }
        tie = tie.max(1e-12);
    }
    let Search {
        sweeps,
        newton_steps,
        ..
    } = search;

    let (residual, local) = best;
    let r = delassus.world(problem, &local);
    let (scale, rounding) = scale_and_rounding(reduced, &local);
    let report = Report {
        v: delassus.motion(problem, &r),
        r,
        sweeps,
        newton_steps,
        residual,
    };
    if residual <= config.tolerance * scale + rounding {
        Ok(report)
    } else {
        let best = Box::new(report);
        Err(Error::NotConverged { best })
    }
}

struct Search<'a> {
    config: &'a Config,
    sweeps: usize,
    newton_steps: usize,
}

impl Search<'_> {
    fn run(
        &mut self,
        problem: &Reduced,
        r: &mut nalgebra::DVector<f64>,
        limit: usize,
        target: f64,
    ) -> f64 {
        let mut error = worst(problem, r, &problem.velocity(r));
        for i in 0..limit {
            if error <= target {
                break;
            }
            if i % self.config.newton_every.max(1) == 0 {
                let mut trial = r.clone();
                self.newton_steps += newton::improve(problem, &mut trial, 50, target);
                let e = worst(problem, &trial, &problem.velocity(&trial));
                if e < 0.5 * error {
                    *r = trial;
                    error = e;
                    continue;
                }
                let mut trial = r.clone();
                self.newton_steps += newton::leap(problem, &mut trial, 40, target);
                let e = worst(problem, &trial, &problem.velocity(&trial));
                if e < 0.5 * error {
                    *r = trial;
                    error = e;
                    continue;
                }
            }
            sweep(problem, r);
            self.sweeps += 1;
            error = worst(problem, r, &problem.velocity(r));
        }
        error
    }
}

/// Solves every contact once, in order, each with what the others do now.
fn sweep(problem: &Reduced, r: &mut nalgebra::DVector<f64>) {
    let mut u = problem.velocity(r);
    for c in 0..problem.len() {
        let w = problem.block(c);
        let old = part(r, c);
        let new = local::solve_one(&w, &(part(&u, c) - w * old), problem.mu[c], &old);
        let change = new - old;
        u += problem.w.fixed_columns::<3>(3 * c) * change;
        r.fixed_rows_mut::<3>(3 * c).copy_from(&new);
    }
}
