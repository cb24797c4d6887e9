//! Method `smooth`: contact and friction as smooth forces, a step as the root of a residual
//! [larionov].
//!
//! Every force, friction included, is a function of positions and velocities, so that any implicit
//! integrator of [`crate::integrators`] applies to all of them alike, and a stage is solved by
//! damped Newton with the Jacobian as it is: not symmetric, not projected. What sticks creeps at up
//! to ε; the certificate shows it.
//!
//! **Deviations from the paper**
//! - Rigid bodies take part: their momentum is integrated, and rotation vectors stand for positions.
//! - Stiffness-proportional damping has its matrix from where the stage is predicted to end, so that
//!   it needs no third derivatives; see [`crate::forces`].
//! - A failed step is cut in halves like with every method; BDF2 then has coefficients for steps of
//!   changing length.

mod adapt;
mod contact;
mod guard;
mod newton;
mod solved;
mod stage;
#[cfg(test)]
mod tests;
mod woodbury;

use std::borrow::Cow;

use stiction_bodies::{Model, State, adapt::Adaptation};
use stiction_contact::smooth::{FrictionTime, Penalty, SmoothConfig};
use stiction_contact::{ContactSet, detect::Detector};
use stiction_math::{BlockError, ScatterError, Vec3};

use self::{
    contact::Contacts,
    guard::{Configuration, Guard},
    newton::Work as NewtonWork,
    solved::Solved,
    stage::{Knot, Problem, Stage as StageWork},
};
use crate::{
    capabilities::Unsupported,
    colliders::ContactRules,
    error::SolveError,
    forces::{Forces, Place, momentum},
    integrators::{self, Integrator},
    jacobian::Jacobian,
    method::{Answer, Memory, Method, Persistent, SolveReport, SolvedContacts, StepContext},
    methods::smooth::NAME,
    needs::needs,
    prescribed::{Prescribed, Side},
    registry::MethodConfig,
    stages::{Stage, Stages},
};

pub use newton::{Config as NewtonConfig, Solver, VolumeJacobian};

/// How the method is run.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Config {
    /// How time is advanced.
    pub integrator: Integrator,
    /// So many first steps are taken by halves of backward Euler ([`Integrator::startup`]).
    pub startup: u64,
    /// How stages are solved.
    pub newton: NewtonConfig,
    /// Contact and friction.
    pub contact: SmoothConfig,
}

/// How often a step may be repeated with a stiffer contact.
const MOST_STIFFENINGS: usize = 20;

/// How often contacts are searched for again in a stage.
const MOST_SEARCHES: usize = 5;

/// Contact and friction as smooth forces.
pub struct Smooth {
    config: Config,
    rules: ContactRules,
    work: Option<Work>,
    /// The stages of the step that is being solved, and whether it follows the last one.
    plan: Plan,
    /// As of the end of the last step.
    history: History,
    /// As of the end of the step that is being solved.
    next: History,
    /// The mean velocity over the last step [m/s].
    mean: Vec<Vec3>,
}

/// The rule of one step.
#[derive(Clone, Debug, Default)]
struct Plan {
    tables: Vec<integrators::Stage>,
    /// Whether the step follows the last one, so that multistep schemes may use it.
    follows: bool,
    /// κ at the start of the step [N/m].
    kappa: f64,
}

/// What is carried from step to step.
#[derive(Clone, Debug, Default)]
struct History {
    /// The length of the last step [s]; zero if there was none.
    h: f64,
    /// Where the last step started, as seen from its end, and the momenta then.
    before: Knot,
    /// Where it ended, to tell whether the next step follows it.
    end: Vec<Vec3>,
    /// The contact stiffness κ [N/m]; zero until it is set.
    kappa: f64,
    /// On which sides of sheets vertices are.
    sides: Vec<([u32; 2], f64)>,
}

struct Work {
    /// The generation of the model that it was made for.
    generation: u64,
    forces: Forces,
    jacobian: Jacobian,
    contacts: Option<Contacts>,
    newton: NewtonWork,
    stage: StageWork,
    prescribed: Prescribed,
    start: Knot,
    first: Knot,
    x: Vec<Vec3>,
    /// The residual that Newton left of stages before the last one [N·s], per block the largest.
    left: Vec<Vec3>,
    residual: Vec<Vec3>,
    solved: Option<Solved>,
    /// Of a barrier.
    guard: Option<Guard>,
}

impl Smooth {
    /// The method with the given settings.
    pub fn new(config: Config, rules: ContactRules) -> Self {
        Self {
            config,
            rules,
            work: None,
            plan: Plan::default(),
            history: History::default(),
            next: History::default(),
            mean: Vec::new(),
        }
    }

    /// What does not change during the step, and the rest.
    fn run<'a>(
        &'a mut self,
        step: &'a mut StepContext<'_>,
    ) -> Option<(&'a mut Work, Run<'a>, &'a mut Stages)> {
        let work = self.work.as_mut()?;
        let run = Run {
            model: step.model,
            state: step.state,
            h: step.h,
            fixed: step.dynamics.fixed(),
            config: &self.config,
            tables: &self.plan.tables,
            before: self.plan.follows.then_some(&self.history.before),
            kappa: self.plan.kappa,
        };
        Some((work, run, step.stages))
    }
}

/// A side as two numbers of a checkpoint.
fn pack((key, side): &([u32; 2], f64)) -> [u64; 2] {
    [u64::from(key[0]) << 32 | u64::from(key[1]), side.to_bits()]
}

fn unpack(numbers: &[u64]) -> ([u32; 2], f64) {
    let key = [(numbers[0] >> 32) as u32, numbers[0] as u32];
    (key, f64::from_bits(numbers[1]))
}

impl Method for Smooth {
    fn name(&self) -> &'static str {
        NAME
    }

    fn needs(&self, model: &Model) -> Result<(), Unsupported> {
        let capabilities = self.config.capabilities();
        capabilities.check(self.name(), &needs(model, Some(&self.rules)))?;
        if !model.contact {
            return Ok(());
        }
        Contacts::new(model, &self.rules, &self.config.contact)
            .map(|_| ())
            .map_err(|error| Unsupported {
                method: self.name(),
                reason: error.to_string(),
                remedies: vec!["change what it names".to_owned()],
            })
    }

    fn build(&mut self, step: &mut StepContext<'_>, _v: &mut [Vec3]) -> Result<(), SolveError> {
        let generation = step.model.generation;
        let made = match self.work.take().filter(|w| w.generation == generation) {
            Some(work) => work,
            None => Work::new(step.model, &self.rules, &self.config)?,
        };
        let work = self.work.insert(made);
        let history = &self.history;
        let follows = history.h > 0.0 && history.end == step.state.x;
        let ratio = follows.then(|| step.h / history.h);
        let mut kappa = 0.0;
        if let Some(contacts) = &mut work.contacts {
            kappa = match history.kappa > 0.0 {
                true => history.kappa,
                false => self.config.contact.stiffness,
            };
            contacts.set_stiffness(kappa)?;
            contacts.set_sides(history.sides.clone());
        }
        self.plan = Plan {
            tables: match step.state.step < self.config.startup {
                true => Integrator::startup(),
                false => self.config.integrator.stages(ratio),
            },
            follows,
            kappa,
        };
        match self.run(step) {
            Some((work, run, _)) => work.begin(&run),
            None => Ok(()),
        }
    }

    /// Contacts at the start of the step. Forces at the start are those that ended the last step,
    /// whatever κ is raised to later.
    fn detect(&mut self, step: &mut StepContext<'_>, _v: &[Vec3]) -> Result<(), SolveError> {
        match self.run(step) {
            Some((work, run, _)) => work.find_contacts(&run),
            None => Ok(()),
        }
    }

    fn solve(
        &mut self,
        step: &mut StepContext<'_>,
        v: &mut [Vec3],
    ) -> Result<SolveReport, SolveError> {
        let mut report = SolveReport::default();
        let Some((work, run, stages)) = self.run(step) else {
            return Ok(report);
        };
        for attempt in 0..=MOST_STIFFENINGS {
            let done = work.step(&run, v, stages)?;
            report.iterations += done.iterations;
            report.linear_iterations += done.linear_iterations;
            report.change = done.change;
            report.contacts = done.contacts;
            report.converged = done.converged;
            let Some(contacts) = &mut work.contacts else {
                break;
            };
            // A step that ends with an overlap is taken again, with a stiffer contact.
            let place = work.stage.place();
            if attempt == MOST_STIFFENINGS || !contacts.stiffen(place)? {
                contacts.relax(place)?;
                break;
            }
        }
        let (fixed, h) = (run.fixed, run.h);
        let (stage, jacobian) = (&work.stage, &work.jacobian);
        if let (Some(contacts), Some(solved)) = (&work.contacts, &mut work.solved) {
            solved.set(contacts, stage, jacobian, fixed, h)?;
        }
        let (next, mean) = (&mut self.next, &mut self.mean);
        if let Some(work) = &self.work {
            next.set(step, mean, work);
        }
        Ok(report)
    }
}

impl Answer for Smooth {
    /// The residual of the last stage at `v`, or what Newton left of an earlier one where that is
    /// more.
    fn momentum_residual(
        &mut self,
        step: &mut StepContext<'_>,
        v: &[Vec3],
    ) -> Result<Cow<'_, [Vec3]>, SolveError> {
        let Some(work) = self.work.as_mut() else {
            return Ok(Cow::Borrowed(&[]));
        };
        let mut residual = std::mem::take(&mut work.residual);
        residual.resize(v.len(), Vec3::zeros());
        let evaluated = work.problem(step.model).residual(v, &mut residual);
        work.residual = residual;
        evaluated?;
        for (r, left) in work.residual.iter_mut().zip(&work.left) {
            if left.norm() > r.norm() {
                *r = *left;
            }
        }
        Ok(Cow::Borrowed(&work.residual))
    }

    fn mean_velocity(&self) -> Option<&[Vec3]> {
        Some(&self.mean)
    }

    fn contacts(&self) -> Option<SolvedContacts<'_>> {
        let work = self.work.as_ref()?;
        work.solved.as_ref().map(Solved::contacts)
    }

    fn detector(&mut self) -> Option<(&mut Detector, &ContactSet)> {
        let solved = self.work.as_mut()?.solved.as_mut()?;
        Some((&mut solved.detector, &solved.none))
    }
}

impl Persistent for Smooth {
    fn commit(&mut self) {
        std::mem::swap(&mut self.history, &mut self.next);
    }

    fn save(&self) -> Memory {
        let History {
            h,
            before,
            end,
            kappa,
            sides,
        } = &self.history;
        let numbers = vec![Vec3::new(*h, *kappa, 0.0)];
        let columns = [
            ("numbers", &numbers),
            ("shift", &before.shift),
            ("momentum", &before.p),
            ("end", end),
        ];
        Memory {
            columns: columns
                .into_iter()
                .map(|(name, c)| (name.to_owned(), c.clone()))
                .collect(),
            keys: sides.iter().flat_map(pack).collect(),
        }
    }

    fn recall(&mut self, memory: Memory) {
        let numbers = memory
            .column("numbers")
            .first()
            .copied()
            .unwrap_or_default();
        self.history = History {
            h: numbers.x,
            kappa: numbers.y,
            before: Knot {
                shift: memory.column("shift"),
                p: memory.column("momentum"),
                ..Knot::default()
            },
            end: memory.column("end"),
            sides: memory.keys.chunks_exact(2).map(unpack).collect(),
        };
    }

    fn adapt(
        &mut self,
        change: &Adaptation<'_>,
        _before: &State,
        _after: &State,
    ) -> Result<(), SolveError> {
        self.history.sides = adapt::sides(change, &self.history.sides);
        adapt::history(change, &mut self.history);
        Ok(())
    }
}

impl History {
    /// Takes what the step after this one needs, and the mean velocity of this one.
    fn set(&mut self, step: &StepContext<'_>, mean: &mut Vec<Vec3>, work: &Work) {
        let (h, shift) = (step.h, work.stage.moved());
        mean.clear();
        mean.extend(shift.iter().map(|d| d / h));
        self.h = h;
        self.before.shift.clear();
        self.before.shift.extend(shift.iter().map(|d| -d));
        self.before.p.clone_from(&work.start.p);
        // As the step advances positions, so that the comparison is exact.
        self.end.clear();
        let moved = step.state.x.iter().zip(&*mean).map(|(x, w)| x + w * h);
        self.end.extend(moved);
        for (body, _) in step.model.rigids() {
            self.end[body.blocks.start + 1] = Vec3::zeros();
        }
        self.kappa = work.contacts.as_ref().map_or(0.0, Contacts::stiffness);
        let sides = work.contacts.as_ref().map_or(&[][..], Contacts::sides);
        self.sides.clear();
        self.sides.extend_from_slice(sides);
    }
}

/// What does not change during one attempt at a step.
struct Run<'a> {
    model: &'a Model,
    state: &'a State,
    h: f64,
    fixed: &'a [bool],
    config: &'a Config,
    tables: &'a [integrators::Stage],
    before: Option<&'a Knot>,
    /// κ at the start of the step [N/m].
    kappa: f64,
}

impl Work {
    fn new(model: &Model, rules: &ContactRules, config: &Config) -> Result<Self, SolveError> {
        let contacts = if model.contact {
            Some(Contacts::new(model, rules, &config.contact)?)
        } else {
            None
        };
        Ok(Self {
            generation: model.generation,
            forces: Forces::new(model),
            jacobian: Jacobian::new(model).map_err(block)?,
            contacts,
            newton: NewtonWork::default(),
            stage: StageWork::default(),
            prescribed: Prescribed::default(),
            start: Knot::default(),
            first: Knot::default(),
            x: Vec::new(),
            left: Vec::new(),
            residual: Vec::new(),
            solved: match model.contact {
                true => Some(Solved::new(model, rules)?),
                false => None,
            },
            guard: match config.contact.penalty {
                Penalty::Barrier if model.contact => Some(Guard::new(model, rules)?),
                _ => None,
            },
        })
    }

    /// All stages of a step, with friction lagged as often as asked for.
    fn step(
        &mut self,
        run: &Run<'_>,
        v: &mut [Vec3],
        stages: &mut Stages,
    ) -> Result<SolveReport, SolveError> {
        let Run {
            model,
            state,
            tables,
            ..
        } = *run;
        let solves = match run.config.contact.friction {
            FrictionTime::Lagged { iterations } => iterations.max(1),
            FrictionTime::Implicit => 1,
        };
        let mut report = SolveReport {
            converged: true,
            ..SolveReport::default()
        };
        for solve in 0..solves {
            if let Some(contacts) = &mut self.contacts {
                // The obstacles are where the places belong: at the start, then at the end.
                if solve == 0 {
                    contacts.frame(model, state.time, run.h, Side::After);
                    contacts.lag_with(run.kappa, Place::of(state))?;
                } else {
                    contacts.lag(self.stage.place())?;
                }
            }
            v.copy_from_slice(&state.v);
            self.left.clear();
            for (k, table) in tables.iter().enumerate() {
                let done = self.stage(run, table, k, v, stages)?;
                report.iterations += done.iterations;
                report.linear_iterations += done.linear_iterations;
                report.change = done.change;
                report.converged &= done.converged;
                if k + 1 < tables.len() {
                    self.left.extend_from_slice(self.newton.residual());
                    let mut first = std::mem::take(&mut self.first);
                    let taken = self.problem(model).knot(v, &mut first);
                    self.first = first;
                    taken?;
                }
            }
        }
        if let Some(contacts) = &self.contacts {
            report.contacts = contacts.count(self.stage.place())?;
        }
        Ok(report)
    }

    /// The present stage with everything that its residual needs, without the guard of a barrier.
    fn problem<'a>(&'a mut self, model: &'a Model) -> Problem<'a> {
        Problem {
            model,
            prescribed: &self.prescribed,
            stage: &mut self.stage,
            forces: &mut self.forces,
            contacts: self.contacts.as_mut(),
            guard: None,
            jacobian: &mut self.jacobian,
        }
    }

    /// Momenta and, where the table needs them, forces without contact at the start of the step.
    fn begin(&mut self, run: &Run<'_>) -> Result<(), SolveError> {
        let Run { model, state, .. } = *run;
        let Self {
            start,
            forces,
            prescribed,
            ..
        } = self;
        let n = state.x.len();
        start.v.clone_from(&state.v);
        prescribed.set(model, state, run.fixed, state.time, run.h, Side::After);
        prescribed.drive(&mut start.v);
        let at = Place {
            v: &start.v,
            ..Place::of(state)
        };
        start.p.resize(n, Vec3::zeros());
        momentum(model, at, &mut start.p);
        forces.lag(model, at.x, at.rotations)?;
        for f in &mut start.f {
            f.clear();
            f.resize(n, Vec3::zeros());
        }
        if run.tables.iter().any(|t| t.start_rate != 0.0) {
            forces.add(model, at, 1.0, &mut start.f[0])?;
        }
        Ok(())
    }

    /// Contacts within reach of the start of the step and, where the table needs them, their forces.
    fn find_contacts(&mut self, run: &Run<'_>) -> Result<(), SolveError> {
        let Run { model, state, .. } = *run;
        let Self {
            start,
            contacts: Some(contacts),
            ..
        } = self
        else {
            return Ok(());
        };
        let at = Place {
            v: &start.v,
            ..Place::of(state)
        };
        contacts.frame(model, state.time, run.h, Side::After);
        contacts.find(at, run.h)?;
        if run.tables.iter().any(|t| t.contact[0] != 0.0) {
            contacts.lag(at)?;
            contacts.add(at, 1.0, &mut start.f[1])?;
        }
        Ok(())
    }

    fn stage(
        &mut self,
        run: &Run<'_>,
        table: &integrators::Stage,
        k: usize,
        v: &mut [Vec3],
        stages: &mut Stages,
    ) -> Result<SolveReport, SolveError> {
        let Run {
            model, state, h, ..
        } = *run;
        let first = (k > 0).then_some(&self.first);
        self.stage
            .set(state, h, table, &self.start, run.before, first);
        self.prescribed
            .set(model, state, run.fixed, self.stage.time, h, Side::Before);
        self.prescribed.drive(v);
        if run.config.integrator.order() > 1 {
            self.lag_ahead(run, table.time * h)?;
        }
        let Self {
            forces,
            jacobian,
            contacts,
            newton,
            stage,
            prescribed,
            guard,
            ..
        } = self;
        if let Some(contacts) = contacts {
            contacts.frame(model, stage.time, h, Side::Before);
        }
        if let (Some(guard), Some(contacts)) = (guard.as_mut(), contacts.as_mut()) {
            stages.time(Stage::Detect, |_| {
                hold_back(run, prescribed, stage, contacts, guard, v)
            })?;
        }
        let mut report = SolveReport::default();
        for _ in 0..MOST_SEARCHES {
            stage.room.clear();
            let mut problem = Problem {
                model,
                prescribed,
                stage,
                forces,
                contacts: contacts.as_mut(),
                guard: guard.as_mut(),
                jacobian,
            };
            let done = newton.solve(&mut problem, &run.config.newton, v)?;
            report = SolveReport {
                iterations: report.iterations + done.iterations,
                linear_iterations: report.linear_iterations + done.linear_iterations,
                ..done
            };
            // What moved farther than was searched for may have missed a contact.
            let Some(contacts) = contacts.as_mut() else {
                break;
            };
            if !contacts.is_stale(stage.place())? {
                break;
            }
            stages.time(Stage::Detect, |_| contacts.find(stage.place(), h))?;
        }
        Ok(report)
    }

    /// Takes lagged coefficients from where the bodies will be after `dt` [s] if nothing stops them.
    fn lag_ahead(&mut self, run: &Run<'_>, dt: f64) -> Result<(), SolveError> {
        let Run { model, state, .. } = *run;
        self.x.clear();
        let v = &self.start.v;
        self.x
            .extend(state.x.iter().zip(v).map(|(x, v)| x + v * dt));
        let mut rotations = state.rotations.clone();
        for (body, rigid) in model.rigids() {
            let w = &v[body.blocks.start + 1];
            let turned = &mut rotations[rigid.index];
            *turned = stiction_bodies::rigid::advance_rotation(turned, w, dt);
        }
        self.forces.lag(model, &self.x, &rotations)?;
        Ok(())
    }
}

/// How often a first guess is shortened for a barrier.
const MOST_SHORTENINGS: i32 = 30;

/// Shortens the way to the first guess `v` of a stage until nothing collides on it and nothing in
/// reach is inside: where a barrier has forces. What is prescribed moves in any case.
fn hold_back(
    run: &Run<'_>,
    prescribed: &Prescribed,
    stage: &mut StageWork,
    contacts: &mut Contacts,
    guard: &mut Guard,
    v: &mut [Vec3],
) -> Result<(), SolveError> {
    let Run { model, state, .. } = *run;
    let from = Configuration {
        x: &state.x,
        rotations: &state.rotations,
    };
    let stay = stage.stay();
    let mut fraction = 0.0;
    for _ in 0..MOST_SHORTENINGS {
        stage.configure(model, prescribed, v);
        let to = Configuration {
            x: &stage.x,
            rotations: &stage.rotations,
        };
        let times = [state.time, stage.time];
        fraction = guard.fraction(model, &from, &to, times)?;
        if fraction >= 1.0 {
            if contacts.is_stale(stage.place())? {
                contacts.find(stage.place(), run.h)?;
            }
            if contacts.is_feasible(stage.place())? {
                return Ok(());
            }
        }
        let keep = fraction.min(0.5);
        for (v, stay) in v.iter_mut().zip(&stay) {
            *v = stay + (*v - stay) * keep;
        }
        prescribed.drive(v);
    }
    Err(SolveError::Passes { fraction })
}

impl<'a> Place<'a> {
    /// Where a state is.
    pub fn of(state: &'a State) -> Self {
        Self {
            x: &state.x,
            rotations: &state.rotations,
            v: &state.v,
        }
    }
}

fn block(error: BlockError) -> SolveError {
    SolveError::Assembly(ScatterError::Block(error))
}
