//! Damped Newton on the residual of a stage: by elimination [larionov, Alg. 1] or inexactly, by
//! iteration [larionov, Alg. 2].
//!
//! The direction need only satisfy ‖r + J p‖ ≤ σ_k ‖r‖, with σ_k = min((‖r_k‖/‖r_{k−1}‖)^φ, σ) and
//! φ = (1 + √5)/2 [eisenstat1996]: rough far from the root, fine near it. The length α is halved
//! until ‖r(v + α p)‖ ≤ (1 − c₁ α (1 − σ_k)) ‖r‖.
//!
//! **Deviations from the paper**
//! - It does not say when to stop: here, when a direction changes no velocity by more than the
//!   tolerance and the residual that it leaves gives no single block a larger speed, or when the
//!   residual is down to what rounding leaves of it. A stiff contact turns a small velocity into a
//!   large force: up to three more directions are spent on the second condition.
//! - In the first iteration, where there is no ‖r_{k−1}‖, σ_k = σ.
//! - The direct solver treats the dense rank-one part of enclosed volumes exactly (`woodbury`), unless it is asked to leave it out as the paper does.
//! - Where no length lowers the residual, or several directions hardly do, at folds where the Jacobian
//!   is nearly singular and ‖r‖ has valleys without a root, a few directions are taken with the projected
//!   Hessians of elasticity, and the residual may rise, up to that of the first guess. Only then is the
//!   step cut.
//! - Where a direction by elimination had to be shortened much, the next one is found by iteration:
//!   near a fold the exact direction is long along what is nearly singular and leads nowhere, and a rough
//!   one leaves just that out.
//! - A solve may take a tenth more than the limit of iterations while every direction is taken whole and
//!   leaves less than a tenth of the residual.
//! - Diagonal blocks and the dense parts of volumes precondition the iteration.
//! - A contact model may shorten directions first, as a barrier does to where nothing collides
//!   ([`super::ContactStage::reach`]).

use std::sync::Arc;
use stiction_math::elementary::pow;

use stiction_bodies::Hessian;
use stiction_math::{
    BicgstabWorkspace, BlockJacobi, BlocksAndRanks, Cancel, CgConfig, GmresWorkspace, Lu,
    LuSymbolic, Preconditioner, Vec3, Woodbury, bicgstab, reduce,
};

use super::{is_infeasible, problem::StageProblem};
use crate::{error::SolveError, method::SolveReport};

/// Solver for search directions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Solver {
    /// Sparse LU of the assembled Jacobian.
    #[default]
    Direct,
    /// BiCGSTAB with products of the Jacobian. Contact and friction are differentiated in the products, or
    /// assembled where bodies that deform touch one another.
    Iterative,
    /// Sparse LU of the projected Jacobian and descent on the potential of the stage (`minimise`), for
    /// steps far longer than what moves can resolve. Exact where friction is lagged.
    Descent,
    /// Newton's method on ½‖r‖² with a Wolfe search (`stabilised`), for contact forces with kinks.
    Stabilised(LinearSolver),
}

/// Solver for the directions of [`Solver::Stabilised`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LinearSolver {
    /// Sparse LU of the Jacobian.
    #[default]
    Direct,
    /// GMRES with a basis of `max_linear` vectors, without a restart.
    Gmres,
}

/// Treatment of the dense Jacobian of enclosed volumes by the direct solver.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum VolumeJacobian {
    /// Exact, by one more solve per volume.
    #[default]
    Exact,
    /// The sparse part only [larionov, Sect. III-D].
    Sparse,
}

/// Settings of Newton's method.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Config {
    /// Solver for search directions.
    pub solver: Solver,
    /// Treatment of enclosed volumes by the direct solver.
    pub volume: VolumeJacobian,
    /// A full step that changes no velocity by more than this ends the solve [m/s].
    pub tolerance: f64,
    /// Newton iterations allowed, and a tenth more where the root is near.
    pub max_iterations: usize,
    /// Iterations of BiCGSTAB allowed per direction.
    pub max_linear: usize,
    /// σ, the largest relative residual of a direction.
    pub sigma: f64,
    /// c₁ of the line search.
    pub decrease: f64,
    /// ρ, by which a step is shortened.
    pub shorten: f64,
    /// Largest number of such reductions.
    pub max_shorten: usize,
}

impl Default for Config {
    /// σ, c₁ and ρ from [larionov, Alg. 2].
    fn default() -> Self {
        Self {
            solver: Solver::Direct,
            volume: VolumeJacobian::Exact,
            tolerance: 1e-8,
            max_iterations: 50,
            max_linear: 1000,
            sigma: 0.01,
            decrease: 1e-4,
            shorten: 0.5,
            max_shorten: 20,
        }
    }
}

/// Vectors and factors kept from solve to solve.
#[derive(Default)]
pub(super) struct StageNewton {
    lu: Option<Lu>,
    pub(super) jacobi: BlockJacobi,
    pub(super) woodbury: Woodbury,
    pub(super) gmres: GmresWorkspace,
    krylov: BicgstabWorkspace,
    pub(super) r: Vec<Vec3>,
    pub(super) trial_r: Vec<Vec3>,
    pub(super) direction: Vec<Vec3>,
    pub(super) rhs: Vec<Vec3>,
    pub(super) trial: Vec<Vec3>,
}

/// Acceptance rule for the residual of a step.
#[derive(Clone, Copy)]
enum Limit {
    /// Less than `norm`, in keeping with the relative residual `reached` of the direction
    /// [larionov, Alg. 2].
    Decrease { norm: f64, reached: f64 },
    /// No more than this [N·s].
    AtMost(f64),
}

/// Most directions with a projected Jacobian in a stage: leaving a saddle takes many, at first short.
const RESCUE: usize = 30;
/// They end where the residual has fallen to this fraction of its initial value.
const RESCUED: f64 = 0.1;
/// They begin where no length lowers the residual, or so many directions in a row lower it by less than
/// this fraction.
const STALL: (usize, f64) = (4, 3e-3);
/// After a direction that was shortened below this the direct solver iterates once.
const SHORT: f64 = 0.1;

/// A solve is not given up at once after a direction that was taken whole and left less than this of the
/// residual: the root is near.
const HOMING: f64 = 0.1;

/// Most directions beyond the first that is short enough, to bring momentum into balance.
const MOST_SETTLING: usize = 3;

/// Directions with a projected Jacobian, to leave where exact ones lead nowhere.
struct Rescue {
    /// Whether they are taken now.
    on: bool,
    /// Number left.
    left: usize,
    /// The residual that began them [N·s].
    began: f64,
    /// Number of exact directions in a row with little progress.
    slow: usize,
}

impl Rescue {
    fn new() -> Self {
        Self {
            on: false,
            left: RESCUE,
            began: 0.0,
            slow: 0,
        }
    }

    /// Begins at a residual, if it may.
    fn begin(&mut self, norm: f64) -> bool {
        let may = !self.on && self.left > 0;
        if may {
            (self.on, self.began, self.slow) = (true, norm, 0);
        }
        may
    }

    /// Counts a direction that led from one residual to the next, of which rounding is `noise` [N·s].
    fn count(&mut self, norm: f64, next: f64, noise: f64) {
        if self.on {
            self.left -= 1;
            self.on = self.left > 0 && next >= RESCUED * self.began;
            return;
        }
        let slow = next > noise && next > (1.0 - STALL.1) * norm;
        self.slow = if slow { self.slow + 1 } else { 0 };
        if self.slow == STALL.0 {
            self.begin(next);
        }
    }
}

impl StageNewton {
    /// Improves `v` until it solves the stage.
    pub fn solve(
        &mut self,
        problem: &mut StageProblem<'_>,
        config: &Config,
        cancel: &Cancel,
        v: &mut [Vec3],
    ) -> Result<SolveReport, SolveError> {
        self.resize(v.len());
        let phi = 0.5 * (1.0 + 5.0f64.sqrt());
        let mut report = SolveReport::default();
        let mut norm = finite(problem.residual(v, &mut self.r)?, problem, v)?;
        let mut sigma = config.sigma;
        // The worst residual that is accepted while the Jacobian is projected: the first guess's.
        let start = norm;
        let mut rescue = Rescue::new();
        // How much of the last direction was taken.
        let mut taken = 1.0;
        // How many directions were short enough while momentum was out of balance.
        let mut settling = 0;
        // Whether the last direction was taken whole and left little of the residual.
        let mut homing = false;
        let most = config.max_iterations;
        while report.iterations < if homing { most + most / 10 } else { most } {
            SolveError::unless(cancel)?;
            if norm == 0.0 {
                report.converged = true;
                return Ok(report);
            }
            let assemble = config.solver != Solver::Iterative || problem.assembles();
            let hessian = match rescue.on {
                false => Hessian::Full,
                true => Hessian::Projected,
            };
            problem.linearise(v, assemble, hessian)?;
            let noise = problem.noise();
            report.iterations += 1;
            let reached = match config.solver {
                Solver::Direct if taken < SHORT => {
                    match self.iterate(problem, config, true, sigma, &mut report) {
                        Err(SolveError::Direction(_)) => self.eliminate(problem, config)?,
                        other => other?,
                    }
                }
                Solver::Direct | Solver::Descent | Solver::Stabilised(_) => {
                    self.eliminate(problem, config)?
                }
                Solver::Iterative => self.iterate(problem, config, assemble, sigma, &mut report)?,
            };
            let size = reduce::norm_inf(&self.direction);
            if !size.is_finite() {
                return Err(SolveError::not_finite(
                    problem.model,
                    first_bad(&self.direction),
                ));
            }
            let limit = match rescue.on {
                false => Limit::Decrease { norm, reached },
                true => Limit::AtMost(start),
            };
            let Some((alpha, next)) = self.search(problem, config, limit, v)? else {
                // Rounding hides any decrease: there is nothing left to find.
                if norm <= noise || size <= config.tolerance {
                    problem.residual(v, &mut self.r)?;
                    report.converged = true;
                    return Ok(report);
                }
                if rescue.begin(norm) {
                    taken = 1.0;
                    continue;
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
            sigma = config.sigma.min(pow(next / norm, phi));
            let exact = !rescue.on;
            homing = exact && alpha == 1.0 && next < HOMING * norm;
            rescue.count(norm, next, noise);
            (norm, taken) = (next, alpha);
            report.change = alpha * size;
            // A direction that is short enough may have been shortened further by rounding.
            let mut done = exact && alpha == 1.0 && norm <= noise;
            if exact && size <= config.tolerance {
                let balanced = problem.momentum_residual(&self.r) <= config.tolerance;
                done |= balanced || settling == MOST_SETTLING;
                settling += 1;
            }
            if done {
                report.converged = true;
                return Ok(report);
            }
        }
        if settling > 0 {
            report.converged = true;
            return Ok(report);
        }
        Err(SolveError::NotConverged {
            iterations: report.iterations,
            change: report.change,
            tolerance: config.tolerance,
        })
    }

    /// Makes the vectors as long as there are blocks.
    pub(super) fn resize(&mut self, blocks: usize) {
        for list in [
            &mut self.r,
            &mut self.trial_r,
            &mut self.direction,
            &mut self.rhs,
            &mut self.trial,
        ] {
            list.resize(blocks, Vec3::zeros());
        }
    }

    /// The residual left by the last solve [N·s].
    pub fn residual(&self) -> &[Vec3] {
        &self.r
    }

    /// p = −J⁻¹ r.
    pub(super) fn eliminate(
        &mut self,
        problem: &StageProblem<'_>,
        config: &Config,
    ) -> Result<f64, SolveError> {
        let jacobian = &*problem.jacobian;
        let pattern = &jacobian.matrix.pattern;
        let lu = match &mut self.lu {
            Some(lu) if Arc::ptr_eq(lu.symbolic().pattern(), pattern) => lu,
            lu => lu.insert(Lu::new(Arc::new(LuSymbolic::analyse(pattern)?))?),
        };
        lu.refactor(&jacobian.matrix)?;
        for (p, r) in self.direction.iter_mut().zip(&self.r) {
            *p = -r;
        }
        lu.solve_in_place(&mut self.direction);
        let ranks = jacobian.ranks();
        if ranks.is_empty() || config.volume == VolumeJacobian::Sparse {
            return Ok(0.0);
        }
        self.woodbury.set(ranks, |z| lu.solve_in_place(z));
        self.woodbury.correct(ranks, &mut self.direction);
        Ok(0.0)
    }

    /// p with ‖r + J p‖ ≤ σ_k ‖r‖; the relative residual that was reached.
    fn iterate(
        &mut self,
        problem: &StageProblem<'_>,
        config: &Config,
        assembled: bool,
        sigma: f64,
        report: &mut SolveReport,
    ) -> Result<f64, SolveError> {
        let operator = problem.operator(assembled)?;
        let n = self.r.len();
        let diagonal = problem.diagonal(assembled)?;
        self.jacobi.update_general(n, |i| diagonal[i]);
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
        let asked = CgConfig {
            relative: sigma,
            absolute: 0.0,
            max_iterations: config.max_linear,
        };
        let size = reduce::norm(&self.rhs);
        let solved = bicgstab(
            &operator,
            &mut inverse,
            &self.rhs,
            &mut self.direction,
            &asked,
            &mut self.krylov,
        );
        let (iterations, residual) = match solved {
            Ok(done) => (done.iterations, done.residual),
            // A direction that is less exact than required may still be a descent direction.
            Err(error) if error.reached().1 < 0.9 * size => error.reached(),
            Err(error) => return Err(SolveError::Direction(error)),
        };
        report.linear_iterations += iterations;
        Ok(sigma.max(residual / size))
    }

    /// The length of the step and the norm of the residual after it, or none if no length is good
    /// enough.
    fn search(
        &mut self,
        problem: &mut StageProblem<'_>,
        config: &Config,
        limit: Limit,
        v: &[Vec3],
    ) -> Result<Option<(f64, f64)>, SolveError> {
        for i in 0..v.len() {
            self.trial[i] = v[i] + self.direction[i];
        }
        let mut alpha = problem.reach(v, &self.trial)?;
        for _ in 0..=config.max_shorten {
            for i in 0..v.len() {
                self.trial[i] = v[i] + self.direction[i] * alpha;
            }
            let next = match problem.residual(&self.trial, &mut self.trial_r) {
                Err(error) if is_infeasible(&error) => f64::INFINITY,
                other => other?,
            };
            // Also false where the residual is not a number.
            let limit = match limit {
                Limit::Decrease { norm, reached } => {
                    (1.0 - config.decrease * alpha * (1.0 - reached)) * norm
                }
                Limit::AtMost(norm) => norm,
            };
            if next <= limit {
                return Ok(Some((alpha, next)));
            }
            alpha *= config.shorten;
        }
        Ok(None)
    }
}

pub(super) fn finite(norm: f64, problem: &StageProblem<'_>, v: &[Vec3]) -> Result<f64, SolveError> {
    if norm.is_finite() {
        Ok(norm)
    } else {
        Err(SolveError::not_finite(problem.model, first_bad(v)))
    }
}

pub(super) fn first_bad(v: &[Vec3]) -> usize {
    let bad = |v: &Vec3| !v.iter().all(|c| c.is_finite());
    v.iter().position(bad).unwrap_or(0)
}
