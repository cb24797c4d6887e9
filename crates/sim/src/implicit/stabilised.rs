//! Newton's method on E(v) = ½ ‖r(v)‖² [ding, Sect. 3], for forces that derive from no potential and have kinks.
//!
//! With H = ∂r/∂v the slope of E along a direction p is rᵗ H p. The Newton direction p = −H⁻¹ r leads down whatever
//! H is, since its slope is −‖r‖²; an inexact one is tested, and replaced by the steepest descent
//! p = −(DᵗD)⁻¹ Hᵗ r, D the diagonal blocks of H, where it does not. The length satisfies the strong Wolfe conditions
//! on E; slopes at trials are products with H there, which nothing assembles.
//!
//! The solve ends when no block would get a speed above the tolerance from r. It also ends where Hᵗ r vanishes
//! and r does not: that is a local minimum of E, and an error.
//!
//! **Deviations from the paper**
//! - The paper stops at min(‖g‖, ‖Hᵗg‖) < τ in units of momentum and accepts either. Here both are measured as
//!   speeds, block by block, and the second alone does not solve the step, which is then taken in substeps.
//! - The fallback is scaled by the diagonal blocks.
//! - Directions come from a sparse LU factorisation, or from 20 iterations of GMRES, as in the paper, with
//!   diagonal blocks as preconditioner.
//! - Where no length lowers E, at a kink, the step is accepted if its residual is below a second, looser
//!   tolerance; the certificate shows it. The paper goes on with whatever was reached.

use std::convert::Infallible;

use stiction_bodies::Hessian;
use stiction_math::{
    BlocksAndRanks, Cancel, CgConfig, KrylovError, LinearOperator, Preconditioner, Vec3,
    WolfeConfig, WolfeError, WolfeSample, gmres, reduce, wolfe,
};

use super::{
    is_infeasible,
    newton::{Config, LinearSolver, StageNewton, finite, first_bad},
    problem::StageProblem,
};
use crate::{error::SolveError, method::SolveReport};

/// A direction leads down if its slope is at most this fraction of −‖r‖ ‖H p‖.
const DOWN: f64 = 1e-4;
/// At a kink a step is accepted with this multiple of the tolerance.
const KINK: f64 = 100.0;

/// Result of a search.
enum Found {
    /// The fraction of the direction to take.
    Step(f64),
    /// No length lowers E.
    Nothing,
}

impl StageNewton {
    /// Improves `v` until it solves the stage.
    pub(super) fn stabilise(
        &mut self,
        problem: &mut StageProblem<'_>,
        config: &Config,
        linear: LinearSolver,
        cancel: &Cancel,
        v: &mut [Vec3],
    ) -> Result<SolveReport, SolveError> {
        self.resize(v.len());
        let mut report = SolveReport::default();
        let mut norm = finite(problem.residual(v, &mut self.r)?, problem, v)?;
        loop {
            SolveError::unless(cancel)?;
            let speed = problem.momentum_residual(&self.r);
            if norm == 0.0 || (report.iterations > 0 && speed <= config.tolerance) {
                report.converged = true;
                return Ok(report);
            }
            if report.iterations >= config.max_iterations {
                return self.end(report, speed, config, |_| SolveError::NotConverged {
                    iterations: report.iterations,
                    change: report.change,
                    tolerance: config.tolerance,
                });
            }
            report.iterations += 1;
            problem.linearise(v, true, Hessian::Full)?;
            let noise = problem.noise();
            match linear {
                LinearSolver::Direct => {
                    self.eliminate(problem, config)?;
                }
                LinearSolver::Gmres => self.krylov_direction(problem, config, &mut report)?,
            }
            let bad = |p: &[Vec3]| !reduce::norm_inf(p).is_finite();
            if bad(&self.direction) {
                let block = first_bad(&self.direction);
                return Err(SolveError::not_finite(problem.model, block));
            }
            let mut slope = self.slope(problem)?;
            let mut found = match slope {
                Some(slope) => self.search_wolfe(problem, config, norm, slope, v)?,
                None => Found::Nothing,
            };
            if matches!(found, Found::Nothing) && norm > noise {
                // The direction was no descent, or ended at once at a kink. The search has left other trials behind.
                problem.residual(v, &mut self.r)?;
                problem.linearise(v, true, Hessian::Full)?;
                let stationary = self.steepest(problem);
                if stationary <= config.tolerance && speed > KINK * config.tolerance {
                    return Err(SolveError::LocalMinimum {
                        iterations: report.iterations,
                        residual: speed,
                    });
                }
                slope = self.slope(problem)?;
                if let Some(slope) = slope {
                    found = self.search_wolfe(problem, config, norm, slope, v)?;
                }
            }
            let Found::Step(alpha) = found else {
                problem.residual(v, &mut self.r)?;
                if norm <= noise {
                    report.converged = true;
                    return Ok(report);
                }
                return self.end(report, speed, config, |change| SolveError::LineSearch {
                    iterations: report.iterations,
                    change,
                });
            };
            for (v, p) in v.iter_mut().zip(&self.direction) {
                *v += p * alpha;
            }
            // The search may have ended at another trial than the last one.
            norm = finite(problem.residual(v, &mut self.r)?, problem, v)?;
            report.change = alpha * reduce::norm_inf(&self.direction);
            if norm <= noise {
                report.converged = true;
                return Ok(report);
            }
        }
    }

    /// A solve that can go no farther: accepted with a small residual, else an error.
    fn end(
        &self,
        report: SolveReport,
        speed: f64,
        config: &Config,
        error: impl FnOnce(f64) -> SolveError,
    ) -> Result<SolveReport, SolveError> {
        match speed <= KINK * config.tolerance {
            true => Ok(SolveReport {
                converged: true,
                ..report
            }),
            false => Err(error(reduce::norm_inf(&self.direction))),
        }
    }

    /// p ≈ −H⁻¹ r by GMRES; whatever it reaches within its limit of iterations.
    fn krylov_direction(
        &mut self,
        problem: &StageProblem<'_>,
        config: &Config,
        report: &mut SolveReport,
    ) -> Result<(), SolveError> {
        let operator = problem.operator(true)?;
        let diagonal = problem.diagonal(true)?;
        self.jacobi.update_general(self.r.len(), |i| diagonal[i]);
        let ranks = problem.jacobian.ranks();
        self.woodbury.set(ranks, |z| {
            let r = z.to_vec();
            self.jacobi.apply(&r, z);
        });
        let mut inverse = BlocksAndRanks {
            blocks: &mut self.jacobi,
            ranks,
            woodbury: &self.woodbury,
        };
        for (b, r) in self.rhs.iter_mut().zip(&self.r) {
            *b = -r;
        }
        self.direction.fill(Vec3::zeros());
        let limits = CgConfig {
            relative: config.sigma,
            absolute: 0.0,
            max_iterations: config.max_linear,
        };
        let solved = gmres(
            &operator,
            &mut inverse,
            &self.rhs,
            &mut self.direction,
            config.max_linear,
            &limits,
            &mut self.gmres,
        );
        report.linear_iterations += match solved {
            Ok(done) => done.iterations,
            // A direction that is less exact may still lead down: it is tested.
            Err(error @ (KrylovError::NotConverged { .. } | KrylovError::Breakdown { .. })) => {
                error.reached().0
            }
            Err(error) => return Err(SolveError::Direction(error)),
        };
        Ok(())
    }

    /// rᵗ H p, if p leads down.
    fn slope(&mut self, problem: &StageProblem<'_>) -> Result<Option<f64>, SolveError> {
        problem
            .operator(true)?
            .apply(&self.direction, &mut self.rhs);
        let slope = reduce::dot(&self.r, &self.rhs);
        let size = reduce::norm(&self.r) * reduce::norm(&self.rhs);
        Ok((slope < -DOWN * size).then_some(slope))
    }

    /// p = −(DᵗD)⁻¹ Hᵗ r; returns its largest entry, the size of the gradient of E as a speed.
    fn steepest(&mut self, problem: &StageProblem<'_>) -> f64 {
        let jacobian = &*problem.jacobian;
        jacobian.apply_transpose(&self.r, &mut self.rhs);
        for (i, (p, g)) in self.direction.iter_mut().zip(&self.rhs).enumerate() {
            let block = jacobian.matrix.diagonal(i);
            let square = block.tr_mul(&block);
            *p = match square.cholesky() {
                Some(cholesky) => -cholesky.solve(g),
                None => Vec3::zeros(),
            };
        }
        reduce::norm_inf(&self.direction)
    }

    /// Searches along the direction for a smaller E.
    fn search_wolfe(
        &mut self,
        problem: &mut StageProblem<'_>,
        config: &Config,
        norm: f64,
        slope: f64,
        v: &[Vec3],
    ) -> Result<Found, SolveError> {
        let limits = WolfeConfig {
            sufficient_decrease: config.decrease,
            max_evaluations: config.max_shorten,
            ..WolfeConfig::default()
        };
        let start = WolfeSample {
            value: 0.5 * norm * norm,
            slope,
        };
        let Self {
            direction,
            trial,
            trial_r,
            rhs,
            ..
        } = self;
        let mut failed = None;
        let evaluate = |alpha: f64| -> Result<WolfeSample, Infallible> {
            for i in 0..v.len() {
                trial[i] = v[i] + direction[i] * alpha;
            }
            let mut sample = || -> Result<WolfeSample, SolveError> {
                let norm = problem.residual(trial, trial_r)?;
                problem.matrix_free(Hessian::Full)?.apply(direction, rhs);
                Ok(WolfeSample {
                    value: 0.5 * norm * norm,
                    slope: reduce::dot(trial_r, rhs),
                })
            };
            Ok(sample().unwrap_or_else(|error| {
                if !is_infeasible(&error) {
                    failed = Some(error);
                }
                WolfeSample {
                    value: f64::INFINITY,
                    slope: f64::NAN,
                }
            }))
        };
        let found = wolfe(start, evaluate, &limits);
        match (found, failed) {
            (Ok(found), _) => Ok(Found::Step(found.step)),
            (Err(_), Some(error)) => Err(error),
            (Err(WolfeError::Evaluation(never)), None) => match never {},
            (Err(_), None) => Ok(Found::Nothing),
        }
    }
}
