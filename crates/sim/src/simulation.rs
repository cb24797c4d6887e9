//! One step, one straight line.

use stiction_bodies::{Model, State, energy};
use stiction_contact::{Certificate, CertifyConfig, Outcome, outcomes};
use stiction_math::Vec3;

use crate::{
    dynamics::{BeginError, Dynamics},
    method::{Memory, Method, SolveError, SolveReport, StepContext, Unsupported},
    stages::{Stage, Stages},
};

/// A model, its state and the method that moves it.
pub struct Simulation {
    model: Model,
    state: State,
    method: Box<dyn Method>,
    /// The time step [s].
    h: f64,
    /// How often a failing step may be halved.
    halvings: u32,
    dynamics: Dynamics,
    v: Vec<Vec3>,
    stages: Stages,
}

/// What happened in a step.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct StepReport {
    /// Iterations of the method, over all parts of the step.
    pub iterations: usize,
    /// Contacts at the end of the step.
    pub contacts: usize,
    /// Into how many parts the step was cut; 1 if it went through at once.
    pub parts: usize,
    /// Whether the method met its stopping criterion in every part.
    pub converged: bool,
    /// The last change of the velocity, the largest of all parts [m/s]; times the time step it is
    /// the δ∞ of [daviet2020, Sect. 6.2.4].
    pub change: f64,
    /// How well the laws were kept.
    pub certificate: Certificate,
}

impl StepReport {
    /// Counts one part of the step.
    fn add(&mut self, solved: &SolveReport) {
        self.iterations += solved.iterations;
        self.converged &= solved.converged;
        self.change = self.change.max(solved.change);
        self.contacts = solved.contacts;
        self.parts += 1;
    }
}

/// Why a step failed for good. The state is as it was before the step.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum StepError {
    /// The step cannot begin.
    #[error(transparent)]
    Begin(#[from] BeginError),
    /// The method failed even in the smallest part of the step.
    #[error("step {step} at t = {time} s failed, also when cut into parts of {h:e} s: {source}")]
    Solve {
        /// The step, counted from 1.
        step: u64,
        /// The time at its start [s].
        time: f64,
        /// The smallest part tried [s].
        h: f64,
        /// What went wrong in it.
        source: SolveError,
    },
}

impl Simulation {
    /// Puts the parts together. The method is asked whether it can run the model.
    pub fn new(
        model: Model,
        state: State,
        method: Box<dyn Method>,
        h: f64,
    ) -> Result<Self, Unsupported> {
        method.needs(&model)?;
        let dynamics = Dynamics::new(&model);
        let v = state.v.clone();
        Ok(Self {
            model,
            state,
            method,
            h,
            halvings: 6,
            dynamics,
            v,
            stages: Stages::default(),
        })
    }

    /// What does not change.
    pub fn model(&self) -> &Model {
        &self.model
    }

    /// What does.
    pub fn state(&self) -> &State {
        &self.state
    }

    /// Goes on from another state of the same model, with what the method remembers: a checkpoint.
    pub fn restore(&mut self, state: State, memory: Memory) {
        self.state = state;
        self.method.recall(memory);
    }

    /// Asks the method to keep what its solves start from, for [`Evidence::start`](crate::Evidence).
    pub fn keep_start(&mut self) {
        self.method.keep_start();
    }

    /// The method.
    pub fn method(&self) -> &dyn Method {
        &*self.method
    }

    /// What every contact of the last step did; the bodies are numbered first, then the obstacles.
    /// Of a step that was cut into parts, the last part.
    pub fn contacts(&self) -> Vec<Outcome> {
        match self.method.evidence() {
            Some(e) => outcomes(e.problem, e.v, e.r, &CertifyConfig::default()),
            None => Vec::new(),
        }
    }

    /// The time step [s].
    pub fn time_step(&self) -> f64 {
        self.h
    }

    /// Seconds spent in each stage so far.
    pub fn stages_mut(&mut self) -> &mut Stages {
        &mut self.stages
    }

    /// Seconds spent in each stage so far.
    pub fn stages(&self) -> &Stages {
        &self.stages
    }

    /// One step of `time_step()`. If the method fails, the step is cut in two and tried again;
    /// on error the state is untouched.
    pub fn step(&mut self) -> Result<StepReport, StepError> {
        let step = self.state.step;
        let mut report = StepReport {
            converged: true,
            ..StepReport::default()
        };
        match self.part(self.h) {
            Ok(solved) => report.add(&solved),
            Err(StepError::Solve { .. }) if self.halvings > 0 => {
                // Only what was cut can fail half-way.
                let before = self.state.clone();
                if let Err(error) = self.halves(self.h, self.halvings, &mut report) {
                    self.state = before;
                    return Err(error);
                }
            }
            Err(error) => return Err(error),
        }
        // Counted, not summed: no drift, and the same bits after a resume.
        self.state.step = step + 1;
        self.state.time = self.state.step as f64 * self.h;
        let Self {
            model,
            state,
            method,
            stages,
            h,
            ..
        } = self;
        let judged = stages.time(Stage::Certify, || certify(model, state, &mut **method));
        report.certificate = judged.map_err(|source| StepError::Solve {
            step: state.step,
            time: state.time,
            h: *h,
            source,
        })?;
        Ok(report)
    }

    /// Covers `h` seconds in one part or, where that fails, in two halves.
    fn cover(&mut self, h: f64, halvings: u32, report: &mut StepReport) -> Result<(), StepError> {
        match self.part(h) {
            Ok(solved) => {
                report.add(&solved);
                Ok(())
            }
            Err(StepError::Solve { .. }) if halvings > 0 => self.halves(h, halvings, report),
            Err(error) => Err(error),
        }
    }

    fn halves(&mut self, h: f64, halvings: u32, report: &mut StepReport) -> Result<(), StepError> {
        self.cover(0.5 * h, halvings - 1, report)?;
        self.cover(0.5 * h, halvings - 1, report)
    }

    /// The straight line: begin, build and solve, advance.
    fn part(&mut self, h: f64) -> Result<SolveReport, StepError> {
        let Self {
            model,
            state,
            method,
            dynamics,
            v,
            stages,
            ..
        } = self;
        let begun = stages.time(Stage::Begin, || {
            model.open_step(state, h);
            v.resize(state.v.len(), Vec3::zeros());
            dynamics.begin(model, state, h, v)
        });
        let context = StepContext {
            model,
            state,
            h,
            dynamics,
            stages,
        };
        let solved = match begun {
            Ok(()) => method.solve(context, v).map_err(|source| StepError::Solve {
                step: state.step + 1,
                time: state.time,
                h,
                source,
            }),
            Err(error) => Err(error.into()),
        };
        if solved.is_err() {
            model.close_step(state);
        }
        let report = solved?;
        stages.time(Stage::Advance, || {
            let mean = method.mean_velocity().unwrap_or(v);
            dynamics.advance(model, state, v, mean);
            model.end_step(state, h);
        });
        Ok(report)
    }
}

/// Stage 6: Coulomb's law on what the method found, and the energies.
fn certify(
    model: &Model,
    state: &State,
    method: &mut dyn Method,
) -> Result<Certificate, SolveError> {
    let overlap = method.overlap(model, state)?;
    let judged = match method.evidence() {
        Some(e) => stiction_contact::certify(e.problem, e.v, e.r, &CertifyConfig::default())?,
        None => Certificate::default(),
    };
    let sum = |f: &dyn Fn(&stiction_bodies::Body) -> f64| model.bodies.iter().map(f).sum::<f64>();
    Ok(Certificate {
        penetration: overlap.depth,
        overlap: overlap.share,
        kinetic: sum(&|b| energy::kinetic_energy(b, state)),
        elastic: sum(&|b| energy::elastic_energy(b, state))
            + energy::attachment_energy(model, state)
            + energy::volume_energy(model, state),
        potential: sum(&|b| energy::potential_energy(model, b, state)),
        ..judged
    })
}
