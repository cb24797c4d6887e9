//! Method `newton`: backward Euler by projected Newton, without contact.
//!
//! Each iteration minimises the quadratic model of the incremental potential Φ with the projected
//! Hessian [teran2005], then searches along the line. With a fixed count of iterations this is
//! the integrator that [daviet2020, Sect. 4.4] builds on; to a tolerance, it solves the step.

use stiction_bodies::{Model, State};
use stiction_math::{LineSearchConfig, SystemFactor, SystemMatrix, Vec3, armijo, reduce};

use crate::{
    dynamics::Dynamics,
    method::{Method, SolveError, SolveReport, StepContext, Unsupported},
    stages::Stage,
};

/// When Newton stops.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Stop {
    /// After this many iterations.
    Fixed(usize),
    /// When an iteration changes no velocity by more than the tolerance [m/s].
    Tolerance {
        /// [m/s].
        tolerance: f64,
        /// Iterations allowed.
        max: usize,
    },
}

/// How Newton is run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Config {
    /// When to stop.
    pub stop: Stop,
    /// Relative residual of the linear solves across attachments.
    pub linear_tolerance: f64,
    /// The backtracking line search.
    pub line_search: LineSearchConfig,
}

impl Config {
    /// Two iterations, as for the large examples of [daviet2020, Table 5].
    pub fn paper() -> Self {
        Self {
            stop: Stop::Fixed(2),
            ..Self::default()
        }
    }
}

impl Default for Config {
    /// To 1e-8 m/s: a hundredth of a micron per second, below anything a scene shows.
    fn default() -> Self {
        Self {
            stop: Stop::Tolerance {
                tolerance: 1e-8,
                max: 50,
            },
            linear_tolerance: 1e-12,
            line_search: LineSearchConfig::default(),
        }
    }
}

/// Backward Euler by projected Newton.
pub struct Newton {
    config: Config,
    work: Option<Work>,
}

/// Matrices and vectors kept from step to step.
struct Work {
    matrix: SystemMatrix,
    factor: SystemFactor,
    gradient: Vec<Vec3>,
    direction: Vec<Vec3>,
    trial: Vec<Vec3>,
}

impl Newton {
    /// The method with the given settings.
    pub fn new(config: Config) -> Self {
        Self { config, work: None }
    }
}

impl Method for Newton {
    fn name(&self) -> &'static str {
        "newton"
    }

    fn needs(&self, model: &Model) -> Result<(), Unsupported> {
        Unsupported::volumes(self.name(), model)?;
        Unsupported::per_step(self.name(), model)?;
        if !model.contact {
            return Ok(());
        }
        let reason = match model.obstacles.first() {
            Some(o) => format!(
                "obstacle `{}` would be touched, and this method solves no contact",
                o.name
            ),
            None => {
                "contact between bodies is asked for, and this method solves no contact".to_owned()
            }
        };
        let remedy = "set `contact.enabled = false` to let things pass through one another, \
                      or choose a method that solves contact";
        Err(Unsupported {
            method: self.name(),
            reason,
            remedy: remedy.to_owned(),
        })
    }

    fn solve(&mut self, step: StepContext<'_>, v: &mut [Vec3]) -> Result<SolveReport, SolveError> {
        let StepContext {
            model,
            state,
            dynamics,
            stages,
            ..
        } = step;
        if self.work.is_none() {
            self.work = Some(stages.time(Stage::Build, || Work::new(model))?);
        }
        let Some(work) = self.work.as_mut() else {
            return Ok(SolveReport::default());
        };
        let (max, tolerance) = match self.config.stop {
            Stop::Fixed(n) => (n, None),
            Stop::Tolerance { tolerance, max } => (max, Some(tolerance)),
        };
        let mut report = SolveReport::default();
        while report.iterations < max {
            let build =
                || dynamics.linearise(model, state, v, &mut work.gradient, &mut work.matrix);
            stages.time(Stage::Build, build)?;
            report.iterations += 1;
            report.linear_iterations += stages
                .time(Stage::Solve, || {
                    work.factor.refactor(&work.matrix, None)?;
                    for (d, g) in work.direction.iter_mut().zip(&work.gradient) {
                        *d = -g;
                    }
                    work.factor.solve(
                        &work.matrix,
                        &mut work.direction,
                        self.config.linear_tolerance,
                    )
                })
                .map_err(|e| SolveError::system(model, e))?;
            let alpha = stages.time(Stage::Solve, || {
                search(&self.config, dynamics, (model, state), v, work)
            });
            let Some(alpha) = alpha else {
                return Err(SolveError::LineSearch {
                    iterations: report.iterations,
                    change: report.change,
                });
            };
            for (v, d) in v.iter_mut().zip(&work.direction) {
                *v += d * alpha;
            }
            report.change = alpha * reduce::norm_inf(&work.direction);
            if !report.change.is_finite() {
                let block = v.iter().position(|v| !v.iter().all(|c| c.is_finite()));
                return Err(SolveError::not_finite(model, block.unwrap_or(0)));
            }
            if tolerance.is_some_and(|tolerance| report.change <= tolerance) {
                report.converged = true;
                return Ok(report);
            }
        }
        match tolerance {
            None => {
                report.converged = true;
                Ok(report)
            }
            Some(tolerance) => Err(SolveError::NotConverged {
                iterations: report.iterations,
                change: report.change,
                tolerance,
            }),
        }
    }
}

impl Work {
    fn new(model: &Model) -> Result<Self, SolveError> {
        let matrix = Dynamics::matrix(model);
        let rest: Vec<&[Vec3]> = model.bodies.iter().map(|b| b.rest()).collect();
        let factor = SystemFactor::new(&matrix, &rest).map_err(|e| SolveError::system(model, e))?;
        let n = model.blocks();
        Ok(Self {
            matrix,
            factor,
            gradient: vec![Vec3::zeros(); n],
            direction: vec![Vec3::zeros(); n],
            trial: vec![Vec3::zeros(); n],
        })
    }
}

/// The step length along `work.direction`, or none if no length lowers Φ.
fn search(
    config: &Config,
    dynamics: &mut Dynamics,
    (model, state): (&Model, &State),
    v: &[Vec3],
    work: &mut Work,
) -> Option<f64> {
    let slope = reduce::dot(&work.gradient, &work.direction);
    let start = dynamics.potential(model, state, v);
    let (trial, direction) = (&mut work.trial, &work.direction);
    let phi = |alpha: f64| {
        for i in 0..v.len() {
            trial[i] = v[i] + direction[i] * alpha;
        }
        dynamics.potential(model, state, trial)
    };
    // A decrease that rounding hides cannot be searched for: Newton's own step is then the best.
    if slope.abs() <= config.line_search.rounding * start.abs() {
        return Some(1.0);
    }
    armijo(start, slope, phi, &config.line_search)
        .ok()
        .map(|r| r.step)
}
