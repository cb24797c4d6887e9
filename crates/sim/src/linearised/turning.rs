//! Bodies that turn: the linear problem follows the spin of its own solution.
//!
//! Arcs of contact points and the momentum of rigid bodies are not linear in the spin. Both enter a
//! linear problem through k and f at the spin of the last linearisation; A and B stay those of the start of
//! the step. A solution is therefore put in once more: its impulses give the rigid bodies their exact
//! momentum (see `dynamics::momentum`), k and f are evaluated there, and the certificate of the new problem
//! says whether another solve is needed. Each one shortens the error by the angle of a step, so that a
//! body at rest needs none. Where impulses answer small changes of the problem by large ones (wedges, impacts
//! in a heap), repeated solves go round in circles: the next problem then follows a part of the change.
//!
//! As the problem changes, it is solved no better than a fraction of what the last solution was off by.
//!
//! At the end the momentum of every such body is L + Σ ρ × r to rounding, whatever the tolerance.

use stiction_contact::{
    CertifyConfig, FrictionProblem, certify,
    solver::{Solution, TaskStart},
};
use stiction_math::{LinearOperator, MatrixPart, Vec3};

use super::Linearised;
use crate::{
    error::SolveError,
    method::{SolveReport, StepContext},
};

/// Most further solves for bodies that turn. An angle of 0.3 rad in a step takes about so many.
const TURNS: usize = 20;
/// Bound on the error of the first solution [m/s]: `NEXT` of what turning adds to it in an impact, 0.1 to 0.3 m/s.
const ROUGH: f64 = 1e-2;
/// Bound on the error of the next solution, as a fraction of that of the last one.
const NEXT: f64 = 0.03;
/// Fraction of the error that was followed above which a repetition has not helped: the next one follows half the share of
/// the change.
const SLOW: f64 = 0.5;
/// Least share of the change of f and k that a problem follows.
const LEAST: f64 = 1.0 / 16.0;

/// The share of the change that the next problem follows, where one that followed `share` of it has left `ratio` of the
/// error. It leaves the rest, 1 − `share`, however well it turned out.
fn next_share(share: f64, ratio: f64) -> f64 {
    match ratio > 1.0 - share * (1.0 - SLOW) {
        true => (0.5 * share).max(LEAST),
        false => (2.0 * share).min(1.0),
    }
}

impl Linearised {
    /// One solve of the linear problem, repeated until it agrees with the spin that it gives to rigid
    /// bodies. A linearisation that another one follows (`polish` is false) is not repeated. Returns whether
    /// the start of the first solve was its answer.
    pub(super) fn solve_turning(
        &mut self,
        step: &mut StepContext<'_>,
        start: TaskStart,
        polish: bool,
        v: &mut [Vec3],
        report: &mut SolveReport,
    ) -> Result<bool, SolveError> {
        let follows = polish && step.dynamics.has_lone();
        let bound = self.config.residual.filter(|_| follows);
        // Of a problem that is going to change a rough solution will do. Elastic bodies turn little: their
        // first solution is the last one more often than not.
        let rough = self.is_rigid();
        let target = |error: f64| bound.map(|bound| bound.max(error)).filter(|_| rough);
        let rests = self.solve_linear(step, start, polish, target(ROUGH), v, report)?;
        let Some(bound) = bound.filter(|_| report.contacts > 0) else {
            return Ok(rests);
        };
        let (mut last, mut share) = (f64::INFINITY, 1.0f64);
        for _ in 0..TURNS {
            // An answer that was not reached is not balanced: its own velocities are closer to rest.
            if !report.converged {
                return Ok(false);
            }
            let solved = self.loads();
            let error = self.balance(step, v)?;
            if error <= bound {
                return Ok(rests);
            }
            share = next_share(share, error / last);
            last = error;
            let whole = self.loads();
            self.set_loads(solved, share);
            let before = self.trial.solution.clone();
            let velocities = v.to_vec();
            let next = target(NEXT * error);
            self.solve_linear(step, TaskStart::Given, polish, next, v, report)?;
            if !report.converged {
                // The certificate judges the answer to the whole problem.
                self.set_loads(whole, 0.0);
                if self.go_back(before)? {
                    v.copy_from_slice(&velocities);
                    return Ok(false);
                }
            }
        }
        report.converged &= self.balance(step, v)? <= bound;
        Ok(false)
    }

    /// f and k of the problem.
    fn loads(&self) -> (Vec<Vec3>, Vec<Vec3>) {
        let problem = self.work.as_ref().map(|w| &w.problem);
        problem.map_or_else(Default::default, |p| (p.f.clone(), p.contacts.k.clone()))
    }

    /// Whether all bodies are rigid and none is attached to another.
    fn is_rigid(&self) -> bool {
        let is_rigid = |part: &MatrixPart| matches!(part, MatrixPart::Dense(_));
        let matrix = self.work.as_ref().map(|w| &w.problem.a);
        matrix.is_some_and(|a| !a.is_coupled() && a.parts().iter().all(is_rigid))
    }

    /// Sets f and k to the given ones, which may lack the last contacts, plus a share of their change to
    /// the present ones.
    fn set_loads(&mut self, (f, k): (Vec<Vec3>, Vec<Vec3>), share: f64) {
        let Some(work) = self.work.as_mut().filter(|_| share < 1.0) else {
            return;
        };
        let FrictionProblem {
            f: own, contacts, ..
        } = &mut work.problem;
        let loads = own.iter_mut().zip(f);
        for (new, old) in loads.chain(contacts.k.iter_mut().zip(k)) {
            *new = old + (*new - old) * share;
        }
    }

    /// Goes back to an earlier solution if that is closer to one of the present problem, and says so.
    /// Contacts that were found since then have no impulse in it.
    fn go_back(&mut self, mut before: Solution) -> Result<bool, SolveError> {
        let Some(work) = &self.work else {
            return Ok(false);
        };
        let (problem, solution) = (&work.problem, &mut self.trial.solution);
        before.r.resize(problem.contacts.len(), Vec3::zeros());
        let error = |s: &Solution| certify(problem, &s.v, &s.r, &CertifyConfig::default());
        let better = error(&before)?.solution_error() < error(solution)?.solution_error();
        if better {
            *solution = before;
        }
        Ok(better)
    }

    /// Gives rigid bodies the momentum of the impulses that were found, and evaluates k and f there.
    /// Returns the worse of `residual` and `linear` of the new problem [m/s].
    fn balance(&mut self, step: &mut StepContext<'_>, v: &mut [Vec3]) -> Result<f64, SolveError> {
        let Self {
            work: Some(work),
            trial,
            ..
        } = self
        else {
            return Ok(0.0);
        };
        let (problem, solution) = (&mut work.problem, &mut trial.solution);
        let dynamics = &*step.dynamics;
        let mut impulses = vec![Vec3::zeros(); v.len()];
        problem.contacts.add_transpose(&solution.r, &mut impulses);
        dynamics.balance_lone(step.model, &impulses, v);
        work.detector.follow_turns(v, &mut problem.contacts);
        let free: Vec<usize> = dynamics
            .lone_blocks()
            .filter(|&i| !problem.fixed[i])
            .collect();
        for &i in &free {
            solution.v[i] = v[i];
        }
        // f = A v − g; A of these bodies is that of the start of the step and joins them to no others.
        let (mut product, mut missing) = (impulses, vec![Vec3::zeros(); v.len()]);
        dynamics.momentum_of_lone(step.model, v, &mut missing);
        problem.a.apply(&solution.v, &mut product);
        for i in free {
            problem.f[i] = product[i] - missing[i];
        }
        let judged = certify(problem, &solution.v, &solution.r, &CertifyConfig::default())?;
        Ok(judged.solution_error())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Repetitions whose whole change would multiply the error by `gain`: the shares of `count` of them.
    fn shares(gain: f64, from: f64, count: usize) -> Vec<f64> {
        let next = |share: &f64| Some(next_share(*share, (1.0 - share + share * gain).abs()));
        std::iter::successors(Some(from), next)
            .skip(1)
            .take(count)
            .collect()
    }

    #[test]
    fn repetitions_that_go_round_in_circles_are_damped_and_whole_ones_come_back() {
        // Every repetition overshoots to where it came from: half of it is the answer.
        assert_eq!(shares(-1.0, 1.0, 1), [0.5]);
        assert_eq!(
            shares(1.5, 1.0, 6),
            [0.5, 0.25, 0.125, 0.0625, 0.0625, 0.0625]
        );
        // A damped one that takes its share of the error away has helped.
        assert_eq!(shares(0.1, LEAST, 5), [0.125, 0.25, 0.5, 1.0, 1.0]);
    }
}
