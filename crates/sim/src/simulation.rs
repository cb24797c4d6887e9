//! One step, one straight line.

use stiction_bodies::{
    Model, State,
    adapt::{AdaptError, Topology},
};
use stiction_contact::{Certificate, CertifyConfig, ContactOutcome, detect::Placement, outcomes};
use stiction_math::{Cancel, Vec3};

use crate::{
    adapt::{self, Adapter, Before, ChangeError},
    capabilities::Unsupported,
    certify::{certify, with_energies},
    dynamics::Dynamics,
    error::SolveError,
    failsafe::{Failsafe, Separation},
    method::{Memory, Method, SolveReport, StepContext},
    observer::{Observer, StepVerdict},
    repeat::Repeat,
    stages::{Stage, Stages},
};

/// A model, its state and the method that moves it.
pub struct Simulation {
    pub(crate) model: Model,
    pub(crate) state: State,
    method: Box<dyn Method>,
    adapter: Option<Box<dyn Adapter>>,
    failsafe: Option<Failsafe>,
    /// The time step [s].
    h: f64,
    /// Largest number of halvings of a failing step.
    halvings: u32,
    dynamics: Dynamics,
    v: Vec<Vec3>,
    placements: Vec<Placement<'static>>,
    stages: Stages,
    observer: Option<Box<dyn Observer>>,
    cancel: Cancel,
    /// The last substep, if nothing moved in it.
    repeat: Option<Repeat>,
}

/// Report of a step.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct StepReport {
    /// Iterations of the method, over all substeps.
    pub iterations: usize,
    /// Contacts at the end of the step.
    pub contacts: usize,
    /// The number of substeps; 1 if the step went through at once.
    pub parts: usize,
    /// Whether the method met its stopping criterion in every substep.
    pub converged: bool,
    /// The last change of the velocity, the largest of all substeps [m/s]; times the time step it is
    /// the δ∞ of [daviet2020, Sect. 6.2.4].
    pub change: f64,
    /// Work of the failsafe, over all substeps.
    pub separation: Separation,
    /// The worst certificate of all substeps.
    pub certificate: Certificate,
}

impl StepReport {
    /// Counts one substep.
    fn add(&mut self, solved: &SolveReport, separation: &Separation, certificate: &Certificate) {
        self.iterations += solved.iterations;
        self.converged = solved.converged && (self.converged || self.parts == 0);
        self.change = self.change.max(solved.change);
        self.contacts = solved.contacts;
        self.separation = self.separation.then(separation);
        self.certificate = match self.parts {
            0 => *certificate,
            _ => self.certificate.then(certificate),
        };
        self.parts += 1;
    }
}

/// A step that failed for good. State and method memory are as they were before the step.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum StepError {
    /// The topology cannot change.
    #[error("step {step} at t = {time} s: the mesh cannot be adapted: {source}")]
    Adapt {
        /// The step, counted from 1.
        step: u64,
        /// The time at its start [s].
        time: f64,
        /// The cause.
        source: Box<ChangeError>,
    },
    /// A stage failed even in the smallest substep.
    #[error("step {step} at t = {time} s failed, also with substeps of {h:e} s: {source}")]
    Solve {
        /// The step, counted from 1.
        step: u64,
        /// The time at the start of the failed substep [s].
        time: f64,
        /// The length of the failed substep [s].
        h: f64,
        /// The error.
        source: SolveError,
    },
    /// A stage failed and smaller substeps cannot help.
    #[error("step {step} at t = {time} s: {source}")]
    Final {
        /// The step, counted from 1.
        step: u64,
        /// The time at the start of the failed substep [s].
        time: f64,
        /// The error.
        source: SolveError,
    },
}

impl StepError {
    /// Whether the step was cancelled.
    pub fn is_cancelled(&self) -> bool {
        matches!(self, Self::Final { source, .. } if source.is_cancelled())
    }
}

impl Simulation {
    /// Puts the parts together. Fails if the method does not support the model.
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
            adapter: None,
            failsafe: None,
            h,
            halvings: 6,
            dynamics,
            v,
            placements: Vec::new(),
            stages: Stages::default(),
            observer: None,
            cancel: Cancel::default(),
            repeat: None,
        })
    }

    /// Lets `adapter` change the topology at the start of steps.
    pub fn adapt_by(&mut self, adapter: Box<dyn Adapter>) {
        self.adapter = Some(adapter);
    }

    /// Lets `failsafe` move surfaces apart that cross at the end of a substep. A step in which surfaces would pass is
    /// then refused only as long as smaller substeps can follow.
    pub fn separate_by(&mut self, failsafe: Failsafe) {
        self.failsafe = Some(failsafe);
    }

    /// The failsafe, if there is one.
    pub fn failsafe(&self) -> Option<&Failsafe> {
        self.failsafe.as_ref()
    }

    /// The model, constant during a step.
    pub fn model(&self) -> &Model {
        &self.model
    }

    /// The current state.
    pub fn state(&self) -> &State {
        &self.state
    }

    /// The topology and the memory of the adapter, if the topology has changed: a checkpoint needs
    /// them.
    pub fn adapted(&self) -> Option<(Topology, Vec<u64>)> {
        let memory = self.adapter.as_ref().map(|a| a.save()).unwrap_or_default();
        (self.model.generation > 0).then(|| (Topology::of(&self.model), memory))
    }

    /// Goes on with the topology of a checkpoint, before the first step. The state must be restored
    /// after it.
    pub fn restore_topology(
        &mut self,
        topology: Topology,
        memory: &[u64],
    ) -> Result<(), AdaptError> {
        self.model = topology.apply(&self.model)?;
        self.wake();
        if let Some(adapter) = &mut self.adapter {
            adapter.recall(memory);
        }
        Ok(())
    }

    /// Goes on from another state of the same model and the memory of the method there: a
    /// checkpoint.
    pub fn restore(&mut self, state: State, memory: Memory) {
        self.wake();
        self.v.clone_from(&state.v);
        self.state = state;
        self.method.recall(memory);
    }

    /// Lets the method keep the starting points of its solves, for
    /// [`SolvedContacts::start`](crate::SolvedContacts).
    pub fn keep_start(&mut self) {
        self.method.keep_start();
    }

    /// Sets the observer that is called before every stage.
    pub fn observe(&mut self, observer: Option<Box<dyn Observer>>) {
        self.observer = observer;
    }

    /// Lets `cancel` end a step at any time, also from another thread. Solvers look at it in every
    /// iteration. A cancelled step fails with [`SolveError::Cancelled`] or the solver's
    /// [`Cancelled`](stiction_contact::solver::SolverError::Cancelled) and changes nothing.
    pub fn cancel_by(&mut self, cancel: Cancel) {
        self.cancel = cancel;
    }

    /// The method.
    pub fn method(&self) -> &dyn Method {
        &*self.method
    }

    /// The outcome of every contact of the last step; the bodies are numbered first, then the obstacles.
    /// For a step with several substeps, that of the last one.
    pub fn contacts(&self) -> Vec<ContactOutcome> {
        match self.method.contacts() {
            Some(c) => outcomes(c.contacts, c.h, c.v, c.r, &CertifyConfig::default()),
            None => Vec::new(),
        }
    }

    /// The time step [s].
    pub fn time_step(&self) -> f64 {
        self.h
    }

    /// The timers.
    pub fn stages_mut(&mut self) -> &mut Stages {
        &mut self.stages
    }

    /// The timers.
    pub fn stages(&self) -> &Stages {
        &self.stages
    }

    /// One step of `time_step()`: one substep, or halves of it where that fails, and so on.
    ///
    /// A step is a transaction: state and method memory change together when all of its substeps
    /// have succeeded and were certified, and not at all otherwise.
    pub fn step(&mut self) -> Result<StepReport, StepError> {
        let fits = self.model.check_state(&self.state);
        fits.map_err(|misfit| self.failed(self.h, misfit.into()))?;
        let before = self.adapt()?;
        let stepped = self.substeps();
        if let (Err(_), Some(before)) = (&stepped, before) {
            self.undo(before);
        }
        stepped
    }

    /// Stage adapt: all changes of topology that are due. Returns the former model and state, if one was made.
    fn adapt(&mut self) -> Result<Option<Before>, StepError> {
        let (step, time) = (self.state.step + 1, self.state.time);
        let failed = |source: ChangeError| StepError::Adapt {
            step,
            time,
            source: Box::new(source),
        };
        if let Some(observer) = &mut self.observer
            && observer.enter(Stage::Adapt, self.h) != StepVerdict::Continue
        {
            let source = SolveError::Stopped(Stage::Adapt);
            return Err(StepError::Final { step, time, source });
        }
        let Self {
            model,
            state,
            method,
            adapter: Some(adapter),
            stages,
            ..
        } = self
        else {
            return Ok(None);
        };
        let made = stages.time(Stage::Adapt, |_| {
            adapt::run(&mut **adapter, model, state, &mut **method)
        });
        let before = made.map_err(failed)?;
        if before.is_some() {
            self.wake();
            self.v.clone_from(&self.state.v);
        }
        Ok(before)
    }

    /// Takes a change of topology back.
    fn undo(&mut self, before: Before) {
        let Before {
            model,
            state,
            memory,
            adapter,
        } = before;
        self.model = model;
        self.restore(state, memory);
        if let Some(own) = &mut self.adapter {
            own.recall(&adapter);
        }
    }

    /// Ends a rest: the next substep is computed. For all that changes the model, the state or the memory of the method
    /// between steps.
    pub(crate) fn wake(&mut self) {
        self.repeat = None;
    }

    /// One step on the present topology.
    fn substeps(&mut self) -> Result<StepReport, StepError> {
        let mut report = StepReport::default();
        // Counted, not summed: no drift, and the same bits after a resume.
        let end = (self.state.step + 1) as f64 * self.h;
        let first = self.halvings;
        match self.substep(self.h, end, first, &mut report) {
            Err(error) if error.is_curable() && self.halvings > 0 => {
                // Only a step with several substeps can fail after part of it.
                let (state, memory) = (self.state.clone(), self.method.save());
                if let Err(error) = self.halves(self.h, end, self.halvings, &mut report) {
                    self.restore(state, memory);
                    return Err(error);
                }
            }
            done => done.map_err(|error| self.failed(self.h, error))?,
        }
        self.state.step += 1;
        Ok(report)
    }

    /// Covers `h` seconds until `end` in one substep or, where that fails, in two halves.
    fn cover(
        &mut self,
        h: f64,
        end: f64,
        halvings: u32,
        report: &mut StepReport,
    ) -> Result<(), StepError> {
        match self.substep(h, end, halvings, report) {
            Err(error) if error.is_curable() && halvings > 0 => {
                self.halves(h, end, halvings, report)
            }
            done => done.map_err(|error| self.failed(h, error)),
        }
    }

    fn halves(
        &mut self,
        h: f64,
        end: f64,
        halvings: u32,
        report: &mut StepReport,
    ) -> Result<(), StepError> {
        let middle = self.state.time + 0.5 * h;
        self.cover(0.5 * h, middle, halvings - 1, report)?;
        self.cover(0.5 * h, end, halvings - 1, report)
    }

    /// The straight line: one substep of `h` [s] until `end` [s], which may be divided `halvings` times if it fails.
    /// On error nothing has changed.
    fn substep(
        &mut self,
        h: f64,
        end: f64,
        halvings: u32,
        report: &mut StepReport,
    ) -> Result<(), SolveError> {
        let Self {
            model,
            state,
            method,
            dynamics,
            v,
            placements,
            stages,
            observer,
            cancel,
            repeat,
            failsafe,
            ..
        } = self;
        let known = repeat.as_ref().and_then(|r| r.answer(h));
        // Bodies may bring blocks for this substep alone.
        if let Err(error) = model.open_step(state, h) {
            model.close_step(state);
            return Err(error.into());
        }
        v.resize(state.v.len(), Vec3::zeros());
        let mut step = Substep {
            context: StepContext {
                model,
                state,
                h,
                end,
                dynamics,
                stages,
                may_pass: failsafe.is_some() && halvings == 0,
                cancel,
            },
            failsafe: failsafe.as_ref(),
            observer: observer.as_deref_mut(),
        };
        if let Some((solved, separation, certificate)) = known {
            step.pass()?;
            state.time = end;
            report.add(&solved, &separation, &certificate);
            return Ok(());
        }
        let last = repeat.take();
        let done = step.run(&mut **method, v, placements);
        let (solved, separation, certificate) = match done {
            Ok(done) => done,
            Err(error) => {
                model.close_step(state);
                return Err(error);
            }
        };
        stages.time(Stage::Advance, |_| {
            let mean = method.mean_velocity().unwrap_or(v);
            dynamics.advance(model, state, v, mean, end);
            model.end_step(state, h);
            method.commit();
        });
        let certificate = stages.time(Stage::Certify, |_| with_energies(certificate, model, state));
        report.add(&solved, &separation, &certificate);
        let now = (&*model, &*state, &**method);
        *repeat = stages.time(Stage::Advance, |_| {
            Repeat::after(last, now, h, (solved, separation, certificate))
        });
        Ok(())
    }

    fn failed(&self, h: f64, source: SolveError) -> StepError {
        let (step, time) = (self.state.step + 1, self.state.time);
        match source.is_curable() {
            true => StepError::Solve {
                step,
                time,
                h,
                source,
            },
            false => StepError::Final { step, time, source },
        }
    }
}

/// A substep in progress.
struct Substep<'a> {
    context: StepContext<'a>,
    failsafe: Option<&'a Failsafe>,
    observer: Option<&'a mut (dyn Observer + 'static)>,
}

impl<'a> Substep<'a> {
    /// The stages that may fail, in order. Stage advance, which may not, follows.
    fn run(
        &mut self,
        method: &mut dyn Method,
        v: &mut [Vec3],
        placements: &mut Vec<Placement<'static>>,
    ) -> Result<(SolveReport, Separation, Certificate), SolveError> {
        self.stage(Stage::Begin, |s| s.dynamics.begin(s.model, s.state, s.h, v))?;
        self.stage(Stage::Build, |s| method.build(s, v))?;
        self.stage(Stage::Predict, |s| method.predict(s, v))?;
        self.stage(Stage::Detect, |s| method.detect(s, v))?;
        let solved = self.stage(Stage::Solve, |s| method.solve(s, v))?;
        if let Some(block) = v.iter().position(|v| !v.iter().all(|c| c.is_finite())) {
            return Err(SolveError::not_finite(self.context.model, block));
        }
        let separation = match self.failsafe {
            Some(failsafe) => {
                self.stage(Stage::Separate, |s| failsafe.run(s, method, v, placements))?
            }
            None => Separation::default(),
        };
        let certificate = self.stage(Stage::Certify, |s| certify(s, method, v, placements))?;
        self.stage(Stage::Advance, |_| Ok(()))?;
        Ok((solved, separation, certificate))
    }

    /// The stages of a substep that repeats the last one.
    fn pass(&mut self) -> Result<(), SolveError> {
        // Adaptation comes before the substep, and recording after it.
        let stages = Stage::ALL.into_iter();
        let own = stages.filter(|s| !matches!(s, Stage::Adapt | Stage::Record));
        for stage in own {
            self.stage(stage, |_| Ok(()))?;
        }
        Ok(())
    }

    /// One stage: the observer is asked, then the work is done on the stage's clock.
    fn stage<T>(
        &mut self,
        stage: Stage,
        work: impl FnOnce(&mut StepContext<'a>) -> Result<T, SolveError>,
    ) -> Result<T, SolveError> {
        SolveError::unless(self.context.cancel)?;
        let verdict = match &mut self.observer {
            Some(observer) => observer.enter(stage, self.context.h),
            None => StepVerdict::Continue,
        };
        match verdict {
            StepVerdict::Continue => self.context.time(stage, work),
            StepVerdict::Reject => Err(SolveError::Rejected(stage)),
            StepVerdict::Stop => Err(SolveError::Stopped(stage)),
        }
    }
}
