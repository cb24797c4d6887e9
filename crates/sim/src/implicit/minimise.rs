//! Minimisation of a stage whose residual is the gradient of a potential Φ(v), as [li2020] solves its steps.
//!
//! Directions are p = −H⁻¹ ∇Φ with the projected Hessians of elasticity. Where contact makes H indefinite, so that
//! p does not lead down, multiples of the block diagonal are added until it does. A contact model
//! shortens p to where nothing collides; the length is then halved until Φ falls along it, by the trapezoidal
//! rule over ∇Φ·p at both ends. So a step of any length ends in a minimum of Φ, also where the residual has
//! valleys without a root, which [`super::newton`] cannot leave.
//!
//! Implicit friction is no gradient: there the same steps are taken along the residual, without the guarantee.
//!
//! **Deviations from the paper**
//! - Contact is shifted as a whole instead of projected pair by pair.
//! - Φ itself is not evaluated: its change along a direction is estimated from the slopes at both ends.

use stiction_bodies::Hessian;
use stiction_math::{Cancel, Vec3, reduce};

use super::{
    is_infeasible,
    newton::{Config, StageNewton, finite, first_bad},
    problem::StageProblem,
};
use crate::{error::SolveError, method::SolveReport};

/// Multiples of the block diagonal that are added to H, until a direction leads down.
const SHIFTS: [f64; 8] = [0.0, 1e-3, 1e-2, 0.1, 1.0, 10.0, 1e2, 1e3];
/// A direction leads down if its slope is at most this fraction of −‖∇Φ‖ ‖p‖.
const DOWN: f64 = 1e-10;
/// The slope at the end of a step may be as large as this fraction of the slope at its start.
const RISE: f64 = 0.9;

impl StageNewton {
    /// Improves `v` until no direction changes a velocity by more than the tolerance.
    pub(super) fn minimise(
        &mut self,
        problem: &mut StageProblem<'_>,
        config: &Config,
        cancel: &Cancel,
        v: &mut [Vec3],
    ) -> Result<SolveReport, SolveError> {
        self.resize(v.len());
        let mut report = SolveReport::default();
        let mut norm = finite(problem.residual(v, &mut self.r)?, problem, v)?;
        while report.iterations < config.max_iterations {
            SolveError::unless(cancel)?;
            if norm == 0.0 {
                report.converged = true;
                return Ok(report);
            }
            report.iterations += 1;
            let slope = self.descend(problem, config, v)?;
            let size = reduce::norm_inf(&self.direction);
            if !size.is_finite() {
                let block = first_bad(&self.direction);
                return Err(SolveError::not_finite(problem.model, block));
            }
            let noise = problem.noise();
            let Some((alpha, next)) = self.fall(problem, config, slope, v)? else {
                // Rounding hides any decrease: there is nothing left to find.
                if norm <= noise || size <= config.tolerance {
                    problem.residual(v, &mut self.r)?;
                    report.converged = true;
                    return Ok(report);
                }
                return Err(SolveError::LineSearch {
                    iterations: report.iterations,
                    change: size,
                });
            };
            for (v, p) in v.iter_mut().zip(&self.direction) {
                *v += p * alpha;
            }
            std::mem::swap(&mut self.r, &mut self.trial_r);
            norm = next;
            report.change = alpha * size;
            if problem.accept()? {
                norm = finite(problem.residual(v, &mut self.r)?, problem, v)?;
                continue;
            }
            if alpha == 1.0 && (size <= config.tolerance || norm <= noise) {
                report.converged = true;
                return Ok(report);
            }
        }
        Err(SolveError::NotConverged {
            iterations: report.iterations,
            change: report.change,
            tolerance: config.tolerance,
        })
    }

    /// Sets a direction that leads down; returns the slope of Φ along it.
    fn descend(
        &mut self,
        problem: &mut StageProblem<'_>,
        config: &Config,
        v: &[Vec3],
    ) -> Result<f64, SolveError> {
        let mut slope = f64::INFINITY;
        for shift in SHIFTS {
            problem.linearise(v, true, Hessian::Projected)?;
            if shift > 0.0 {
                problem.jacobian.shift(shift);
            }
            self.eliminate(problem, config)?;
            slope = reduce::dot(&self.r, &self.direction);
            let size = reduce::norm(&self.r) * reduce::norm(&self.direction);
            if slope <= -DOWN * size {
                break;
            }
        }
        Ok(slope)
    }

    /// The length of a step along which Φ falls, and the norm of the residual after it.
    fn fall(
        &mut self,
        problem: &mut StageProblem<'_>,
        config: &Config,
        slope: f64,
        v: &[Vec3],
    ) -> Result<Option<(f64, f64)>, SolveError> {
        for i in 0..v.len() {
            self.trial[i] = v[i] + self.direction[i];
        }
        let mut alpha = problem.reach(v, &self.trial)?;
        for _ in 0..=2 * config.max_shorten {
            for i in 0..v.len() {
                self.trial[i] = v[i] + self.direction[i] * alpha;
            }
            let next = match problem.residual(&self.trial, &mut self.trial_r) {
                Err(error) if is_infeasible(&error) => f64::INFINITY,
                other => other?,
            };
            let end = reduce::dot(&self.trial_r, &self.direction);
            if next.is_finite() && end <= -RISE * slope {
                return Ok(Some((alpha, next)));
            }
            alpha *= config.shorten;
        }
        Ok(None)
    }
}
