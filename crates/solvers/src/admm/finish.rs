//! The second-order finish, our addition to the paper: what splitting began is handed to another
//! solver, which starts from p and the impulses of the last projection. Which one is not known here:
//! see [`Finisher`].
//!
//! The splitting finds out quickly which contacts hold, slide and open, and may then take ten
//! thousands of iterations for the rest where loads have to travel through light sheets or
//! redundant contacts. An answer is taken over with λ = W⁻¹ Bᵀ r, such that the splitting can go on
//! from it when new contacts are found; without success it goes on as if nothing had been tried.

use stiction_contact::FrictionProblem;
use stiction_math::{Vec3, reduce};

use super::{Admm, Config, Error, Report};

/// Who finishes.
pub trait Finisher: Send + Sync {
    /// Solves `problem` from velocities `v` [m/s] and impulses `r` [N·s], one per contact, until
    /// `residual` and `dynamics` of the certificate are below `bound` [m/s], and leaves the best
    /// answer there. `Err` says why there is none.
    fn finish(
        &self,
        problem: &FrictionProblem,
        v: &mut Vec<Vec3>,
        r: &mut Vec<Vec3>,
        bound: f64,
        max_iterations: usize,
    ) -> Result<Finished, String>;
}

/// How a finish went.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Finished {
    /// Factorisations taken.
    pub iterations: usize,
    /// `residual` and `dynamics` of the answer's certificate [m/s], the larger one.
    pub certificate: f64,
}

/// When to hand over.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Finish {
    /// What is asked of the certificate, `residual` and `dynamics` [m/s]; the tolerance divided by
    /// h if there is none.
    pub residual: Option<f64>,
    /// Iterations of the splitting before the first attempt, and before the next one after contacts
    /// were found; four times as many after one that failed.
    pub after: usize,
    /// Factorisations in one attempt.
    pub max_iterations: usize,
}

impl Default for Finish {
    /// To the tolerance, as soon as most contacts have settled.
    fn default() -> Self {
        Self {
            residual: None,
            after: 30,
            max_iterations: 1000,
        }
    }
}

impl Finish {
    /// Changes the settings of a solver such that its answers have a certificate below `residual`
    /// [m/s].
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
    /// How often contacts that came late have been given more iterations.
    extensions: usize,
    /// Certificate [m/s], velocities and impulses.
    best: Option<(f64, Vec<Vec3>, Vec<Vec3>)>,
}

/// Contacts that come late are given more iterations this often.
const EXTENSIONS: usize = 20;

impl Attempts {
    pub(super) fn new(finish: Option<Finish>) -> Self {
        let after = finish.map_or(0, |f| f.after);
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
    /// The same solver with someone who finishes, which [`Config::finish`] needs.
    pub fn with_finisher(mut self, finisher: Box<dyn Finisher>) -> Self {
        self.finisher = Some(finisher);
        self
    }

    /// The finisher from p and the impulses. Says whether the answer, which is then p and v, has
    /// a certificate below `bound` [m/s].
    pub(super) fn attempt(
        &mut self,
        problem: &FrictionProblem,
        finish: &Finish,
        bound: f64,
        attempts: &mut Attempts,
        report: &mut Report,
    ) -> Result<bool, Error> {
        let finisher = self.finisher.as_ref().ok_or(Error::NoFinisher)?;
        let mut v = self.p.clone();
        let mut r = vec![Vec3::zeros(); problem.contacts.len()];
        self.projection.impulses(&problem.contacts, &mut r);
        // A certificate may be asked for nothing at all, which no bound is above.
        let least = bound.max(f64::MIN_POSITIVE);
        let limit = finish.max_iterations;
        let solved = finisher
            .finish(problem, &mut v, &mut r, least, limit)
            .map_err(Error::Finish)?;
        report.factorisations += solved.iterations;
        let converged = solved.certificate <= bound;
        if converged {
            report.certificate = problem.h * solved.certificate;
            self.take(problem, &v, &r);
            attempts.wait = finish.after;
        } else {
            let best = attempts.best.as_ref();
            if best.is_none_or(|(best, _, _)| solved.certificate < *best) {
                attempts.best = Some((solved.certificate, v, r));
            }
            attempts.wait = attempts.wait.saturating_mul(4).max(1);
        }
        attempts.next = report.iterations + attempts.wait.max(1);
        Ok(converged)
    }

    /// The answer of an attempt that failed, if it is better than what there is.
    pub(super) fn fall_back(
        &mut self,
        problem: &FrictionProblem,
        attempts: Attempts,
        config: &Config,
        report: &mut Report,
    ) -> Result<(), Error> {
        // Contacts that were found after it are not in it.
        let contacts = problem.contacts.len();
        if let Some((certificate, v, r)) = attempts.best.filter(|b| b.2.len() == contacts) {
            report.certificate = self.certificate(problem, config.velocity)?;
            if problem.h * certificate < report.certificate {
                report.certificate = problem.h * certificate;
                self.take(problem, &v, &r);
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
