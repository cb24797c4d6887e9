//! Bodies that turn: the linear problem follows the spin of its own solution.
//!
//! Arcs of contact points and the momentum of rigid bodies are not linear in the spin. Both enter a
//! linear problem through k and f at the spin of the last linearisation; A and B stay those of the start of
//! the step. A solution is therefore put in once more: its impulses give the rigid bodies their exact
//! momentum (see `dynamics::momentum`), k and f are evaluated there, and the certificate of the new problem
//! says whether another solve is needed. Each one shortens the error by the angle of a step, so that a
//! body at rest needs none.
//!
//! At the end the momentum of every such body is L + Σ ρ × r to rounding, whatever the tolerance.

use stiction_contact::{
    CertifyConfig, certify,
    solver::{Solution, TaskStart},
};
use stiction_math::{LinearOperator, Vec3};

use super::Linearised;
use crate::{
    error::SolveError,
    method::{SolveReport, StepContext},
};

/// Most further solves for bodies that turn. An angle of 0.3 rad in a step takes about so many.
const TURNS: usize = 20;

impl Linearised {
    /// One solve of the linear problem, repeated until it agrees with the spin that it gives to rigid
    /// bodies. A linearisation that another one follows (`polish` is false) is not repeated.
    pub(super) fn solve_turning(
        &mut self,
        step: &mut StepContext<'_>,
        start: TaskStart,
        polish: bool,
        v: &mut [Vec3],
        report: &mut SolveReport,
    ) -> Result<(), SolveError> {
        self.solve_linear(step, start, polish, v, report)?;
        let follows = polish && step.dynamics.has_lone() && report.contacts > 0;
        let Some(bound) = self.config.residual.filter(|_| follows) else {
            return Ok(());
        };
        for _ in 0..TURNS {
            // An answer that was not reached is not balanced: its own velocities are closer to rest.
            if !report.converged || self.balance(step, v)? <= bound {
                return Ok(());
            }
            let before = self.trial.solution.clone();
            let velocities = v.to_vec();
            self.solve_linear(step, TaskStart::Given, polish, v, report)?;
            if !report.converged && self.go_back(before)? {
                v.copy_from_slice(&velocities);
                return Ok(());
            }
        }
        report.converged &= self.balance(step, v)? <= bound;
        Ok(())
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
