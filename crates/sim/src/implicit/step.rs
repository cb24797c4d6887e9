//! All stages of one step.

use stiction_bodies::{Model, State, rigid::advance_rotation};
use stiction_math::{BlockError, Cancel, ScatterError, Vec3};

use super::{
    contact::{ContactModel, Trial},
    jacobian::Jacobian,
    newton::{self, Solver, StageNewton},
    problem::StageProblem,
    stage::{ImplicitStage, Knot},
};
use crate::{
    error::SolveError,
    forces::{ForceState, Forces, momentum},
    integrators::{self, Integrator},
    method::SolveReport,
    prescribed::{Prescribed, Side},
    stages::{self, Stages},
};

/// Largest number of detection passes in a stage.
const MOST_SEARCHES: usize = 5;

/// Constant data of one attempt at a step.
#[derive(Clone, Copy)]
pub struct StepAttempt<'a> {
    /// The model.
    pub model: &'a Model,
    /// The state at the start of the step.
    pub state: &'a State,
    /// The time step [s].
    pub h: f64,
    /// Blocks whose motion is prescribed.
    pub fixed: &'a [bool],
    /// The integrator.
    pub integrator: Integrator,
    /// Its stages in this step.
    pub tables: &'a [integrators::SchemeStage],
    /// The start of the step before, as seen from its end, for integrators of two steps.
    pub before: Option<&'a Knot>,
    /// Contact forces that ended the step before, for integrators that keep them [N].
    pub contact_force: Option<&'a [Vec3]>,
    /// Settings of Newton's method.
    pub newton: &'a newton::Config,
    /// Ends the step when it is requested.
    pub cancel: &'a Cancel,
}

/// Forces, matrices and vectors of the core, kept from step to step.
pub struct Implicit {
    forces: Forces,
    jacobian: Jacobian,
    newton: StageNewton,
    stage: ImplicitStage,
    prescribed: Prescribed,
    start: Knot,
    first: Knot,
    x: Vec<Vec3>,
    /// The residual that Newton left of stages before the last one [N·s].
    left: Vec<Vec3>,
    /// The residual at the end of the step [N·s].
    residual: Vec<Vec3>,
}

impl Implicit {
    /// Workspace for `model`.
    pub fn new(model: &Model) -> Result<Self, SolveError> {
        let assembly = |error: BlockError| SolveError::Assembly(ScatterError::Block(error));
        Ok(Self {
            forces: Forces::new(model),
            jacobian: Jacobian::new(model).map_err(assembly)?,
            newton: StageNewton::default(),
            stage: ImplicitStage::default(),
            prescribed: Prescribed::default(),
            start: Knot::default(),
            first: Knot::default(),
            x: Vec::new(),
            left: Vec::new(),
            residual: Vec::new(),
        })
    }

    /// The last stage, with its trial where the last evaluation was.
    pub fn stage(&self) -> &ImplicitStage {
        &self.stage
    }

    /// The Jacobian of the last linearisation.
    pub fn jacobian(&self) -> &Jacobian {
        &self.jacobian
    }

    /// The momentum residual of the step at `v` [N·s]: that of its last stage, evaluated anew, or what
    /// Newton left of an earlier stage where that is more.
    pub fn momentum_residual(
        &mut self,
        model: &Model,
        mut contacts: Option<&mut dyn ContactModel>,
        v: &[Vec3],
    ) -> Result<&[Vec3], SolveError> {
        let mut residual = std::mem::take(&mut self.residual);
        residual.resize(v.len(), Vec3::zeros());
        let mut problem = self.problem(model, reborrow(&mut contacts));
        let evaluated = problem.residual(v, &mut residual);
        self.residual = residual;
        evaluated?;
        for (r, left) in self.residual.iter_mut().zip(&self.left) {
            if left.norm() > r.norm() {
                *r = *left;
            }
        }
        Ok(&self.residual)
    }

    /// Contact forces at the end of the step [N].
    pub fn contact_force(&self, contacts: &mut dyn ContactModel) -> Result<Vec<Vec3>, SolveError> {
        let mut force = vec![Vec3::zeros(); self.start.v.len()];
        contacts.add(self.stage.contact_place(), 1.0, &mut force)?;
        Ok(force)
    }

    /// −∇Φ/(β h²) of the potential without contact of [`Integrator::TrapezoidalIpc`] where the step begins,
    /// 4 p/h + M aᵗ + f [N]: what presses on contacts there.
    pub fn pressing(&self, step: &StepAttempt<'_>) -> Vec<Vec3> {
        let Knot { p, f, .. } = &self.start;
        let of = |i: usize| match step.fixed[i] {
            true => Vec3::zeros(),
            false => p[i] * (4.0 / step.h) + f[0][i] * 2.0 + f[1][i],
        };
        (0..p.len()).map(of).collect()
    }

    /// Positions and momenta at the start of the step.
    pub fn start(&self) -> &Knot {
        &self.start
    }

    /// The stage problem, for evaluations outside of a solve.
    pub fn problem<'a>(
        &'a mut self,
        model: &'a Model,
        contacts: Option<&'a mut dyn ContactModel>,
    ) -> StageProblem<'a> {
        StageProblem {
            model,
            prescribed: &self.prescribed,
            stage: &mut self.stage,
            forces: &mut self.forces,
            contacts,
            jacobian: &mut self.jacobian,
        }
    }

    /// Momenta at the start of the step and, where its tables need them, forces without contact.
    pub fn begin(&mut self, step: &StepAttempt<'_>) -> Result<(), SolveError> {
        let StepAttempt { model, state, .. } = *step;
        let Self {
            start,
            forces,
            prescribed,
            ..
        } = self;
        let n = state.x.len();
        start.v.clone_from(&state.v);
        prescribed.set(model, state, step.fixed, state.time, step.h, Side::After);
        prescribed.drive(&mut start.v);
        let at = ForceState {
            v: &start.v,
            ..ForceState::of(state)
        };
        start.p.resize(n, Vec3::zeros());
        momentum(model, at, &mut start.p);
        forces.lag(model, at.x, at.rotations)?;
        for f in &mut start.f {
            f.clear();
            f.resize(n, Vec3::zeros());
        }
        if step.tables.iter().any(|t| t.start_rate != 0.0) {
            forces.add(model, at, 1.0, &mut start.f[0])?;
        }
        Ok(())
    }

    /// Contacts within reach of the start of the step and, where its tables need them, their forces.
    pub fn find_contacts(
        &mut self,
        step: &StepAttempt<'_>,
        contacts: &mut dyn ContactModel,
    ) -> Result<(), SolveError> {
        let StepAttempt { model, state, .. } = *step;
        let start = &mut self.start;
        let at = ForceState {
            v: &start.v,
            ..ForceState::of(state)
        };
        contacts.place(model, state.time, step.h, Side::After);
        contacts.find(at, step.h)?;
        // The scheme has no offsets: contacts that begin pressed press.
        if !step.integrator.is_ipc() {
            contacts.settle(at)?;
        }
        if step.integrator.is_ipc() {
            let kept = step.contact_force.filter(|f| f.len() == start.v.len());
            if let Some(kept) = kept {
                start.f[1].copy_from_slice(kept);
            }
        } else if step.tables.iter().any(|t| t.contact[0] != 0.0) {
            contacts.lag(at)?;
            contacts.add(at, 1.0, &mut start.f[1])?;
        }
        Ok(())
    }

    /// Solves all stages of the step one after the other; `v` ends as the velocity at its end.
    pub fn solve(
        &mut self,
        step: &StepAttempt<'_>,
        mut contacts: Option<&mut dyn ContactModel>,
        v: &mut [Vec3],
        stages: &mut Stages,
    ) -> Result<SolveReport, SolveError> {
        let mut report = SolveReport {
            converged: true,
            ..SolveReport::default()
        };
        v.copy_from_slice(&step.state.v);
        self.left.clear();
        for k in 0..step.tables.len() {
            let done = self.set_and_solve(step, k, reborrow(&mut contacts), v, stages)?;
            report.iterations += done.iterations;
            report.linear_iterations += done.linear_iterations;
            report.change = done.change;
            report.converged &= done.converged;
            if k + 1 < step.tables.len() {
                self.left.extend_from_slice(self.newton.residual());
                let mut first = std::mem::take(&mut self.first);
                let mut problem = self.problem(step.model, reborrow(&mut contacts));
                let done = problem.knot(v, &mut first);
                self.first = first;
                done?;
            }
        }
        Ok(report)
    }

    /// Sets the trial of stage `k` up, without solving it.
    pub fn set(
        &mut self,
        step: &StepAttempt<'_>,
        k: usize,
        v: &mut [Vec3],
    ) -> Result<(), SolveError> {
        let StepAttempt {
            model, state, h, ..
        } = *step;
        let table = &step.tables[k];
        let first = (k > 0).then_some(&self.first);
        let stage = &mut self.stage;
        stage.set(state, h, table, &self.start, step.before, first);
        let time = stage.time();
        self.prescribed
            .set(model, state, step.fixed, time, h, Side::Before);
        self.prescribed.drive(v);
        if step.integrator.order() > 1 {
            self.lag_ahead(step, table.time * h)?;
        }
        Ok(())
    }

    fn set_and_solve(
        &mut self,
        step: &StepAttempt<'_>,
        k: usize,
        mut contacts: Option<&mut dyn ContactModel>,
        v: &mut [Vec3],
        stages: &mut Stages,
    ) -> Result<SolveReport, SolveError> {
        let StepAttempt { model, h, .. } = *step;
        self.set(step, k, v)?;
        let Self {
            forces,
            jacobian,
            newton,
            stage,
            prescribed,
            ..
        } = self;
        if let Some(contacts) = &mut contacts {
            contacts.place(model, stage.time(), h, Side::Before);
            let trial = Trial {
                model,
                prescribed,
                stage,
            };
            stages.time(stages::Stage::Detect, |_| contacts.admit(trial, v))?;
        }
        let mut report = SolveReport::default();
        for search in 1..=MOST_SEARCHES {
            let mut problem = StageProblem {
                model,
                prescribed,
                stage,
                forces,
                contacts: reborrow(&mut contacts),
                jacobian,
            };
            let done = match step.newton.solver {
                Solver::Descent => newton.minimise(&mut problem, step.newton, step.cancel, v)?,
                Solver::Stabilised(linear) => {
                    newton.stabilise(&mut problem, step.newton, linear, step.cancel, v)?
                }
                _ => newton.solve(&mut problem, step.newton, step.cancel, v)?,
            };
            report = SolveReport {
                iterations: report.iterations + done.iterations,
                linear_iterations: report.linear_iterations + done.linear_iterations,
                ..done
            };
            // What moved farther than detection looked may have missed a contact.
            let Some(contacts) = &mut contacts else {
                break;
            };
            if !contacts.is_stale(stage.place())? {
                break;
            }
            if search == MOST_SEARCHES {
                return Err(SolveError::Restless { searches: search });
            }
            stages.time(stages::Stage::Detect, |_| contacts.find(stage.place(), h))?;
        }
        Ok(report)
    }

    /// Takes lagged coefficients from where the bodies will be after `dt` [s] by inertia.
    fn lag_ahead(&mut self, step: &StepAttempt<'_>, dt: f64) -> Result<(), SolveError> {
        let StepAttempt { model, state, .. } = *step;
        self.x.clear();
        let v = &self.start.v;
        self.x
            .extend(state.x.iter().zip(v).map(|(x, v)| x + v * dt));
        let mut rotations = state.rotations.clone();
        for (body, rigid) in model.rigids() {
            let w = &v[body.blocks.start + 1];
            let turned = &mut rotations[rigid.index];
            *turned = advance_rotation(turned, w, dt);
        }
        self.forces.lag(model, &self.x, &rotations)?;
        Ok(())
    }
}

fn reborrow<'b>(
    contacts: &'b mut Option<&mut dyn ContactModel>,
) -> Option<&'b mut dyn ContactModel> {
    match contacts {
        Some(contacts) => Some(&mut **contacts),
        None => None,
    }
}

/// Data that integrators carry from step to step.
#[derive(Clone, Debug, Default)]
pub struct IntegratorHistory {
    /// The length of the last step [s]; zero if there was none.
    pub h: f64,
    /// The start of the last step, as seen from its end, and the momenta then.
    pub before: Knot,
    /// Positions at its end [m], to tell whether the next step follows it.
    pub end: Vec<Vec3>,
    /// The mean velocity over it [m/s].
    pub mean: Vec<Vec3>,
}

impl IntegratorHistory {
    /// The length of a step of `h` [s] from `state` relative to the one before; none if it does not
    /// follow that one, or has blocks that the one before did not have.
    pub fn ratio(&self, model: &Model, state: &State, h: f64) -> Option<f64> {
        let follows = self.h > 0.0 && self.end == state.x && !model.has_per_step();
        follows.then(|| h / self.h)
    }

    /// Takes the data for the next step of a step of `h` [s] from `state`.
    pub fn set(&mut self, model: &Model, core: &Implicit, state: &State, h: f64) {
        let shift = &core.stage.moved;
        self.mean.clear();
        self.mean.extend(shift.iter().map(|d| d / h));
        self.h = h;
        self.before.shift.clear();
        self.before.shift.extend(shift.iter().map(|d| -d));
        self.before.p.clone_from(&core.start.p);
        // As the step advances positions, so that the comparison is exact.
        self.end.clear();
        let moved = state.x.iter().zip(&self.mean).map(|(x, w)| x + w * h);
        self.end.extend(moved);
        for (body, _) in model.rigids() {
            self.end[body.blocks.start + 1] = Vec3::zeros();
        }
    }
}
