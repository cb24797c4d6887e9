//! Sweeps, Newton steps and a proximal method where both stall.

use stiction_math::nalgebra;

use super::{
    Config,
    delassus::Reduced,
    law::{part, scale_and_rounding, worst},
    local, newton,
};

type Vector = nalgebra::DVector<f64>;

/// Newton steps in one attempt. Near a solution five are enough; the rest is for finding which
/// contacts are closed.
const NEWTON: usize = 40;
/// Compliances that tie impulses to where they are, as parts of the contacts' own: the first in
/// each round.
const TIES: [f64; 3] = [1e-2, 1e-1, 1.0];
/// Steps from no friction to full friction.
const ROUGHENING: usize = 20;
/// Two sweeps whose changes differ by less than this fraction are a drift: of contacts with almost
/// parallel normals one hands its load to the other, by their angle in each sweep. It ends where the
/// first one opens, so that is where the search goes on.
const DRIFT: f64 = 1e-3;
/// Ties below this are lost in rounding.
const LEAST_TIE: f64 = 1e-12;

/// A search for a solution and what it cost.
pub(super) struct Search<'a> {
    pub config: &'a Config,
    pub iterations: usize,
    pub newton_steps: usize,
    /// The best residual [m/s] and its impulses.
    pub best: (f64, Vector),
}

impl Search<'_> {
    /// Target of the residual: the tolerance, and the rounding of sums.
    pub fn target(&self, problem: &Reduced) -> f64 {
        let (scale, rounding) = scale_and_rounding(problem, &self.best.1);
        self.config.tolerance * scale + rounding
    }

    /// Searches from the best impulses until the residual is good enough or the limit of
    /// iterations is reached.
    pub fn run(&mut self, problem: &Reduced) {
        let every = self.config.newton_every.max(1);
        let mut r = self.best.1.clone();
        self.note(problem, &r);
        for _ in 0..every {
            if self.done(problem) {
                return;
            }
            sweep(problem, &mut r);
            self.iterations += 1;
            self.note(problem, &r);
        }
        for round in 0.. {
            if self.done(problem) {
                return;
            }
            let target = self.target(problem);
            self.improve(problem, &mut r, 5 * every, target);
            self.note(problem, &r);
            self.loosen(problem, &mut r, TIES[round % TIES.len()]);
            // Where sweeps turn in circles, the next round had better start elsewhere.
            if round % 2 == 0 {
                self.roughen(problem, &mut r);
                self.note(problem, &r);
            } else {
                r.copy_from(&self.best.1);
            }
        }
    }

    /// Newton steps, and sweeps where they do not help, until the residual of `problem` is below
    /// `target` or `limit` is reached. Returns the residual.
    fn improve(&mut self, problem: &Reduced, r: &mut Vector, limit: usize, target: f64) -> f64 {
        let every = self.config.newton_every.max(1);
        let residual = |r: &Vector| worst(problem, r, &problem.velocity(r));
        let mut error = residual(r);
        let mut drift: Option<Vector> = None;
        for i in 0..limit {
            if error <= target || self.iterations >= self.config.max_iterations {
                break;
            }
            self.iterations += 1;
            if i % every == 0 {
                let mut trial = r.clone();
                self.newton_steps += newton::descend(problem, &mut trial, NEWTON, target);
                let mut found = residual(&trial);
                if found > 0.5 * error {
                    trial.copy_from(r);
                    self.newton_steps += newton::leap(problem, &mut trial, NEWTON, target);
                    found = residual(&trial);
                }
                if found <= 0.5 * error {
                    (*r, error) = (trial, found);
                    continue;
                }
            }
            let before = r.clone();
            sweep(problem, r);
            let change = &*r - before;
            if let Some(last) = drift.take()
                && (&change - last).norm() <= DRIFT * change.norm()
            {
                r.axpy(until_open(r, &change), &change, 1.0);
            } else {
                drift = Some(change);
            }
            error = residual(r);
        }
        error
    }

    /// A proximal method for what sweeps and Newton steps do not solve as it is: problems whose
    /// impulses are tied to where they are by a compliance are easier, and their solutions lead to
    /// one of the problem itself as the ties are loosened.
    fn loosen(&mut self, problem: &Reduced, r: &mut Vector, mut tie: f64) {
        while tie > LEAST_TIE && !self.done(problem) {
            let target = self.target(problem);
            let mut trial = r.clone();
            let inner = (0.01 * worst(problem, r, &problem.velocity(r))).max(0.1 * target);
            let limit = 5 * self.config.newton_every.max(1);
            if self.improve(&problem.tied(r, tie), &mut trial, limit, inner) > inner {
                return;
            }
            self.note(problem, &trial);
            *r = trial.clone();
            self.newton_steps += newton::descend(problem, &mut trial, NEWTON, target);
            self.note(problem, &trial);
            tie *= 0.2;
        }
    }

    /// Follows the solution from no friction, where there is only one, to the problem's own
    /// coefficients.
    fn roughen(&mut self, problem: &Reduced, r: &mut Vector) {
        r.fill(0.0);
        let every = self.config.newton_every.max(1);
        let mut rough = problem.clone();
        let target = self.target(problem);
        for step in 0..=ROUGHENING {
            // Squared: the first little friction decides the direction of sliding.
            let part = (step as f64 / ROUGHENING as f64).powi(2);
            for (mu, own) in rough.mu.iter_mut().zip(&problem.mu) {
                *mu = part * own;
            }
            self.improve(&rough, r, every, target);
        }
    }

    fn done(&self, problem: &Reduced) -> bool {
        self.iterations >= self.config.max_iterations || self.best.0 <= self.target(problem)
    }

    fn note(&mut self, problem: &Reduced, r: &Vector) {
        let error = worst(problem, r, &problem.velocity(r));
        if error < self.best.0 {
            self.best = (error, r.clone());
        }
    }
}

/// Multiple of `change` from `r` at which the first closed contact opens; zero if none does.
fn until_open(r: &Vector, change: &Vector) -> f64 {
    let closing = (0..r.len()).step_by(3);
    let multiples = closing
        .filter(|&i| r[i] > 0.0 && change[i] < 0.0)
        .map(|i| -r[i] / change[i]);
    let least = multiples.fold(f64::INFINITY, f64::min);
    if least.is_finite() { least } else { 0.0 }
}

/// Solves every contact once, in order, each with what the others do now.
fn sweep(problem: &Reduced, r: &mut Vector) {
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
