//! Method `newton`: backward Euler by projected Newton, without contact.
//!
//! Each iteration minimises the quadratic model of the incremental potential Φ with the projected
//! Hessian [teran2005], then searches along the line. With a fixed count of iterations this is
//! the integrator that [daviet2020, Sect. 4.4] builds on; to a tolerance, it solves the step.

use std::borrow::Cow;

use stiction_bodies::{Model, State};
use stiction_math::{
    LineSearchConfig, SystemError, SystemFactor, SystemMatrix, Vec3, armijo, reduce,
};

use crate::{
    capabilities::Unsupported,
    dynamics::Dynamics,
    error::SolveError,
    method::{Method, Persistent, SolveReport, SolvedStep, StepContext},
    methods::newton::NAME,
    needs::needs,
    registry::MethodConfig,
    stages::Stage,
};

/// When Newton stops.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum NewtonStop {
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

/// Settings of the method.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Config {
    /// When to stop.
    pub stop: NewtonStop,
    /// Relative residual of the linear solves across attachments.
    pub linear_tolerance: f64,
    /// The backtracking line search.
    pub line_search: LineSearchConfig,
}

impl Config {
    /// Two iterations, as for the large examples of [daviet2020, Table 5].
    pub fn paper() -> Self {
        Self {
            stop: NewtonStop::Fixed(2),
            ..Self::default()
        }
    }
}

impl Default for Config {
    /// To 1e-8 m/s: a hundredth of a micron per second, below anything a scene shows.
    fn default() -> Self {
        Self {
            stop: NewtonStop::Tolerance {
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
    /// The generation of the model that it was made for.
    generation: u64,
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
        NAME
    }

    fn needs(&self, model: &Model) -> Result<(), Unsupported> {
        let capabilities = self.config.capabilities();
        capabilities.check(self.name(), &needs(model, None))
    }

    fn build(&mut self, step: &mut StepContext<'_>, _v: &mut [Vec3]) -> Result<(), SolveError> {
        let generation = step.model.generation;
        if self
            .work
            .as_ref()
            .is_none_or(|w| w.generation != generation)
        {
            self.work = Some(Work::new(step.model)?);
        }
        step.dynamics.lag(step.model, step.state)?;
        Ok(())
    }

    fn solve(
        &mut self,
        step: &mut StepContext<'_>,
        v: &mut [Vec3],
    ) -> Result<SolveReport, SolveError> {
        let StepContext {
            model,
            state,
            dynamics,
            stages,
            cancel,
            ..
        } = step;
        let Some(work) = self.work.as_mut() else {
            return Ok(SolveReport::default());
        };
        let (max, tolerance) = match self.config.stop {
            NewtonStop::Fixed(n) => (n, None),
            NewtonStop::Tolerance { tolerance, max } => (max, Some(tolerance)),
        };
        let mut report = SolveReport::default();
        while report.iterations < max {
            SolveError::unless(cancel)?;
            stages.time(Stage::Build, |_| {
                dynamics.linearise(model, state, v, &mut work.gradient, &mut work.matrix)
            })?;
            report.iterations += 1;
            report.linear_iterations += work
                .direct(self.config.linear_tolerance)
                .map_err(|e| SolveError::system(model, e))?;
            let Some(alpha) = search(&self.config, dynamics, (model, state), v, work) else {
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

impl SolvedStep for Newton {
    fn momentum_residual(
        &mut self,
        step: &mut StepContext<'_>,
        v: &[Vec3],
    ) -> Result<Cow<'_, [Vec3]>, SolveError> {
        let Some(work) = self.work.as_mut() else {
            return Ok(Cow::Borrowed(&[]));
        };
        let (model, state) = (step.model, step.state);
        step.dynamics
            .gradient(model, state, v, &mut work.gradient)?;
        Ok(Cow::Borrowed(&work.gradient))
    }
}

/// Nothing is carried from step to step.
impl Persistent for Newton {}

impl Work {
    /// The Newton direction; iterations of the linear solver across attachments.
    fn direct(&mut self, tolerance: f64) -> Result<usize, SystemError> {
        self.factor.refactor(&self.matrix, None)?;
        for (d, g) in self.direction.iter_mut().zip(&self.gradient) {
            *d = -g;
        }
        self.factor
            .solve(&self.matrix, &mut self.direction, tolerance)
    }

    fn new(model: &Model) -> Result<Self, SolveError> {
        let matrix = Dynamics::matrix(model);
        let rest: Vec<&[Vec3]> = model.bodies.iter().map(|b| b.rest()).collect();
        let factor = SystemFactor::new(&matrix, &rest).map_err(|e| SolveError::system(model, e))?;
        let n = model.blocks();
        Ok(Self {
            generation: model.generation,
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
