//! Damped Newton on the residual of a stage: by elimination [larionov, Alg. 1] or inexactly, by
//! iteration [larionov, Alg. 2].
//!
//! The direction need only satisfy ‖r + J p‖ ≤ σ_k ‖r‖, with σ_k = min((‖r_k‖/‖r_{k−1}‖)^φ, σ) and
//! φ = (1 + √5)/2 [eisenstat1996]: rough far from the root, fine near it. The length α is halved
//! until ‖r(v + α p)‖ ≤ (1 − c₁ α (1 − σ_k)) ‖r‖.
//!
//! **Deviations from the paper**
//! - It does not say when to stop: here, when a full step changes no velocity by more than the
//!   tolerance, or when the residual is down to what rounding leaves of it.
//! - In the first iteration, where there is no ‖r_{k−1}‖, σ_k = σ.
//! - The direct solver treats the dense rank-one part of enclosed volumes exactly, by the formula
//!   of Sherman and Morrison, unless it is asked to leave it out as the paper does.
//! - Diagonal blocks precondition the iteration.

use std::sync::Arc;

use stiction_math::{
    BicgstabError, BicgstabWorkspace, BlockJacobi, CgConfig, Lu, LuSymbolic, Mat3, Vec3, bicgstab,
    nalgebra::{DMatrix, DVector},
    reduce,
};

use super::stage::Problem;
use crate::method::{SolveError, SolveReport};

/// How directions are found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Solver {
    /// Sparse LU of the assembled Jacobian.
    #[default]
    Direct,
    /// BiCGSTAB with products of the Jacobian, contact and friction differentiated on the way.
    Iterative,
}

/// What the direct solver makes of the dense Jacobian of enclosed volumes.
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
    /// How directions are found.
    pub solver: Solver,
    /// What the direct solver makes of enclosed volumes.
    pub volume: VolumeJacobian,
    /// A full step that changes no velocity by more than this ends the solve [m/s].
    pub tolerance: f64,
    /// Newton iterations allowed.
    pub max_iterations: usize,
    /// Iterations of BiCGSTAB allowed per direction.
    pub max_linear: usize,
    /// σ, the largest relative residual of a direction.
    pub sigma: f64,
    /// c₁ of the line search.
    pub decrease: f64,
    /// ρ, by which a step is shortened.
    pub shorten: f64,
    /// How often.
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
pub(super) struct Work {
    lu: Option<Lu>,
    jacobi: BlockJacobi,
    krylov: BicgstabWorkspace,
    r: Vec<Vec3>,
    trial_r: Vec<Vec3>,
    direction: Vec<Vec3>,
    rhs: Vec<Vec3>,
    trial: Vec<Vec3>,
}

impl Work {
    /// Improves `v` until it solves the stage.
    pub fn solve(
        &mut self,
        problem: &mut Problem<'_>,
        config: &Config,
        v: &mut [Vec3],
    ) -> Result<SolveReport, SolveError> {
        let n = v.len();
        for list in [
            &mut self.r,
            &mut self.trial_r,
            &mut self.direction,
            &mut self.rhs,
            &mut self.trial,
        ] {
            list.resize(n, Vec3::zeros());
        }
        let phi = 0.5 * (1.0 + 5.0f64.sqrt());
        let mut report = SolveReport::default();
        let mut norm = finite(problem.residual(v, &mut self.r)?, problem, v)?;
        let mut sigma = config.sigma;
        while report.iterations < config.max_iterations {
            if norm == 0.0 {
                report.converged = true;
                return Ok(report);
            }
            problem.linearise(v, config.solver == Solver::Direct)?;
            let noise = problem.noise();
            report.iterations += 1;
            let reached = match config.solver {
                Solver::Direct => self.eliminate(problem, config)?,
                Solver::Iterative => self.iterate(problem, config, sigma, &mut report)?,
            };
            let size = reduce::norm_inf(&self.direction);
            if !size.is_finite() {
                return Err(SolveError::not_finite(
                    problem.model,
                    first_bad(&self.direction),
                ));
            }
            let Some((alpha, next)) = self.search(problem, config, reached, norm, v)? else {
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
            sigma = config.sigma.min((next / norm).powf(phi));
            norm = next;
            report.change = alpha * size;
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

    /// The residual left by the last solve [N·s].
    pub fn residual(&self) -> &[Vec3] {
        &self.r
    }

    /// p = −J⁻¹ r.
    fn eliminate(&mut self, problem: &Problem<'_>, config: &Config) -> Result<f64, SolveError> {
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
        // (S + G W Gᵀ)⁻¹ b = y − Z (I + W Gᵀ Z)⁻¹ W Gᵀ y with y = S⁻¹ b and Z = S⁻¹ G.
        let k = ranks.len();
        let columns: Vec<Vec<Vec3>> = ranks
            .iter()
            .map(|(g, _)| {
                let mut z = g.clone();
                lu.solve_in_place(&mut z);
                z
            })
            .collect();
        let small = DMatrix::from_fn(k, k, |i, j| {
            let one = if i == j { 1.0 } else { 0.0 };
            one + ranks[i].1 * reduce::dot(&ranks[i].0, &columns[j])
        });
        let right = DVector::from_fn(k, |i, _| {
            ranks[i].1 * reduce::dot(&ranks[i].0, &self.direction)
        });
        let nan = || DVector::from_element(k, f64::NAN);
        let weights = small.lu().solve(&right).unwrap_or_else(nan);
        for (z, w) in columns.iter().zip(weights.iter()) {
            reduce::axpy(-w, z, &mut self.direction);
        }
        Ok(0.0)
    }

    /// p with ‖r + J p‖ ≤ σ_k ‖r‖; the relative residual that was reached.
    fn iterate(
        &mut self,
        problem: &Problem<'_>,
        config: &Config,
        sigma: f64,
        report: &mut SolveReport,
    ) -> Result<f64, SolveError> {
        let operator = problem.operator();
        let n = self.r.len();
        let diagonal = problem.diagonal()?;
        self.jacobi.update_general(n, |i| diagonal[i]);
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
            &mut self.jacobi,
            &self.rhs,
            &mut self.direction,
            &asked,
            &mut self.krylov,
        );
        let (iterations, residual) = match solved {
            Ok(done) => (done.iterations, done.residual),
            // A direction that is less exact than asked for may still lead down.
            Err(
                BicgstabError::NotConverged {
                    iterations,
                    residual,
                }
                | BicgstabError::Breakdown {
                    iterations,
                    residual,
                },
            ) if residual < 0.9 * size => (iterations, residual),
            Err(error) => return Err(SolveError::Direction(error)),
        };
        report.linear_iterations += iterations;
        Ok(sigma.max(residual / size))
    }

    /// The length of the step and the norm of the residual after it, or none if no length lowers it.
    fn search(
        &mut self,
        problem: &mut Problem<'_>,
        config: &Config,
        sigma: f64,
        norm: f64,
        v: &[Vec3],
    ) -> Result<Option<(f64, f64)>, SolveError> {
        let mut alpha = 1.0;
        for _ in 0..=config.max_shorten {
            for i in 0..v.len() {
                self.trial[i] = v[i] + self.direction[i] * alpha;
            }
            let next = problem.residual(&self.trial, &mut self.trial_r)?;
            // Also false where the residual is not a number.
            if next <= (1.0 - config.decrease * alpha * (1.0 - sigma)) * norm {
                return Ok(Some((alpha, next)));
            }
            alpha *= config.shorten;
        }
        Ok(None)
    }
}

fn finite(norm: f64, problem: &Problem<'_>, v: &[Vec3]) -> Result<f64, SolveError> {
    if norm.is_finite() {
        Ok(norm)
    } else {
        Err(SolveError::not_finite(problem.model, first_bad(v)))
    }
}

fn first_bad(v: &[Vec3]) -> usize {
    let bad = |v: &Vec3| !v.iter().all(|c| c.is_finite());
    v.iter().position(bad).unwrap_or(0)
}

impl Problem<'_> {
    /// Diagonal blocks of the Jacobian, contact included, for the preconditioner.
    fn diagonal(&self) -> Result<Vec<Mat3>, SolveError> {
        let matrix = &self.jacobian.matrix;
        let mut blocks: Vec<Mat3> = (0..matrix.n()).map(|i| matrix.diagonal(i)).collect();
        for (g, w) in self.jacobian.ranks() {
            for (block, g) in blocks.iter_mut().zip(g) {
                *block += g * g.transpose() * *w;
            }
        }
        if let Some(contacts) = self.contacts.as_deref() {
            let (stage, fixed) = (&self.stage, self.prescribed.fixed());
            let (a, a_contact) = (stage.a, stage.a_contact);
            contacts.for_each_block(stage.place(), &stage.turns, a, a_contact, |i, j, m| {
                if i == j && !fixed[i] {
                    blocks[i] += m;
                }
            })?;
        }
        Ok(blocks)
    }
}
