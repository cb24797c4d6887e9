//! Polishing by a second-order solver, our addition to the paper: the splitting hands its p and the
//! impulses of its last projection to another [`ContactSolver`].
//!
//! The splitting finds out quickly which contacts hold, slide and open, and may then take ten
//! thousands of iterations for the rest where loads have to travel through light sheets or
//! redundant contacts. A polished answer is taken over with λ = W⁻¹ Bᵀ r, such that the splitting can
//! go on from it when new contacts are found; without success it goes on as if nothing had been tried.

use stiction_contact::{
    FrictionProblem,
    solver::{ContactSolver, Solution, SolverReport, Target, TaskStart, solve_until},
};
use stiction_math::{Vec3, reduce};

use super::{Admm, Error, Velocity};

/// When to hand over.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Polish {
    /// Bound on the certificate, `residual` and `linear` [m/s], and on the residual with velocities
    /// eliminated; the tolerance divided by h if there is none.
    pub residual: Option<f64>,
    /// Iterations of the splitting before the first attempt, and before the next one after contacts
    /// were found; four times as many after one that failed.
    pub after: usize,
    /// Factorisations in one attempt.
    pub max_iterations: usize,
}

impl Default for Polish {
    /// To the tolerance, as soon as most contacts have settled.
    fn default() -> Self {
        Self {
            residual: None,
            after: 30,
            max_iterations: 1000,
        }
    }
}

impl Polish {
    /// The settings for answers whose certificate is below `residual` [m/s].
    pub fn to(residual: f64) -> Self {
        Self {
            residual: Some(residual),
            ..Self::default()
        }
    }
}

/// When the next attempt is due, and the best answer of those that failed.
pub(super) struct Attempts {
    next: usize,
    wait: usize,
    /// Number of times that contacts that came late got more iterations.
    extensions: usize,
    /// Its error [m/s].
    best: Option<(f64, Solution)>,
}

/// Contacts that come late are given more iterations this often.
const EXTENSIONS: usize = 20;

impl Attempts {
    /// The next attempt follows iteration `number` at once.
    pub(super) fn again(&mut self, number: usize) {
        self.next = number + 1;
    }

    /// The next attempt is due at iteration `number`, before another one.
    pub(super) fn at_once(&mut self, number: usize) {
        self.next = number;
    }

    pub(super) fn new(polish: Option<Polish>) -> Self {
        let after = polish.map_or(0, |p| p.after);
        Self {
            next: after,
            wait: after,
            extensions: 0,
            best: None,
        }
    }

    /// Whether there may be more iterations for contacts that came late.
    pub(super) fn extend(&mut self) -> bool {
        self.extensions += 1;
        self.extensions <= EXTENSIONS
    }

    /// Whether one is due at iteration `number`, the last one at the latest.
    pub(super) fn due(&self, number: usize, last: usize) -> bool {
        number >= self.next || number == last
    }
}

impl Admm {
    /// Sets the solver that polishes, which [`Config::polish`](super::Config) needs.
    pub fn with_polisher(mut self, polisher: Box<dyn ContactSolver>) -> Self {
        self.polisher = Some(polisher);
        self
    }

    /// The polishing solver from p and the impulses. Returns whether the answer, which is then p and
    /// v, has a certificate below `bound` [m/s].
    pub(super) fn attempt(
        &mut self,
        problem: &mut FrictionProblem,
        polish: &Polish,
        bound: f64,
        attempts: &mut Attempts,
        report: &mut SolverReport,
    ) -> Result<bool, Error> {
        let target = Target {
            // Half of it leaves a margin for velocities that balance the impulses exactly. A certificate of
            // exactly zero may be required, which no bound is above.
            error: (0.5 * bound).max(f64::MIN_POSITIVE),
            max_iterations: polish.max_iterations,
        };
        let (error, answer) = self.polished(problem, target, report)?;
        let converged = error <= bound;
        if converged {
            report.error = error;
            self.take(problem, &answer.v, &answer.r);
            attempts.wait = polish.after;
        } else {
            let best = attempts.best.as_ref();
            if best.is_none_or(|(best, _)| error < *best) {
                attempts.best = Some((error, answer));
            }
            attempts.wait = attempts.wait.saturating_mul(4).max(1);
        }
        attempts.next = report.iterations + attempts.wait.max(1);
        Ok(converged)
    }

    /// Improves the answer, which is certified, to `bound` [m/s] in at most so many factorisations, as far as they go.
    pub(super) fn improve(
        &mut self,
        problem: &mut FrictionProblem,
        (bound, most): (f64, usize),
        report: &mut SolverReport,
    ) -> Result<(), Error> {
        let target = Target {
            error: bound.max(f64::MIN_POSITIVE),
            max_iterations: most,
        };
        let (error, answer) = self.polished(problem, target, report)?;
        if error < report.error {
            report.error = error;
            self.take(problem, &answer.v, &answer.r);
        }
        Ok(())
    }

    /// The answer of the polishing solver from p and the impulses, with its error [m/s].
    fn polished(
        &mut self,
        problem: &mut FrictionProblem,
        target: Target,
        report: &mut SolverReport,
    ) -> Result<(f64, Solution), Error> {
        let polisher = self.polisher.as_mut().ok_or(Error::NoPolisher)?;
        let mut r = vec![Vec3::zeros(); problem.contacts.len()];
        self.projection.impulses(&problem.contacts, &mut r);
        let mut answer = Solution::new(self.p.clone(), r);
        let (start, target, cancel) = (TaskStart::Given, Some(target), &self.cancel);
        let solved = solve_until(&mut **polisher, problem, &mut answer, start, target, cancel)
            .map_err(|error| Error::Polish(Box::new(error)))?;
        report.factorisations += solved.iterations;
        Ok((solved.error, answer))
    }

    /// The answer of an attempt that failed, if it is better than the present one.
    pub(super) fn fall_back(
        &mut self,
        problem: &FrictionProblem,
        velocity: Velocity,
        attempts: &mut Attempts,
        report: &mut SolverReport,
    ) -> Result<(), Error> {
        // Contacts that were found after it are not in it.
        let contacts = problem.contacts.len();
        if let Some((error, answer)) = attempts.best.take().filter(|b| b.1.r.len() == contacts) {
            report.error = self.error(problem, velocity)?;
            if problem.h * error < problem.h * report.error {
                report.error = error;
                self.take(problem, &answer.v, &answer.r);
            }
        }
        Ok(())
    }

    /// v = p = the given velocity, and impulses and λ such that the splitting rests there.
    fn take(&mut self, problem: &FrictionProblem, v: &[Vec3], r: &[Vec3]) {
        self.projection.set_impulses(&problem.contacts, r);
        self.lambda.fill(Vec3::zeros());
        problem.contacts.add_transpose(r, &mut self.lambda);
        for (lambda, w) in self.lambda.iter_mut().zip(&self.w) {
            *lambda /= *w;
        }
        reduce::copy(v, &mut self.v);
        reduce::copy(v, &mut self.p);
        self.lambda_hat.clear();
    }
}
