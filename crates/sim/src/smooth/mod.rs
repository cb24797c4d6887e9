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
mod evidence;
mod guard;
mod newton;
mod stage;
#[cfg(test)]
mod tests;
mod woodbury;

use stiction_bodies::{Model, State, adapt::Adaptation};
use stiction_contact::detect::Overlap;
use stiction_contact::smooth::{FrictionTime, Penalty, SmoothConfig};
use stiction_math::{BlockError, ScatterError, Vec3};

use self::{
    contact::Contacts,
    evidence::Record,
    guard::{Configuration, Guard},
    newton::Work as NewtonWork,
    stage::{Knot, Problem, Stage as StageWork},
};
use crate::{
    colliders::ContactRules,
    forces::{Forces, Place, momentum},
    integrators::{self, Integrator},
    jacobian::Jacobian,
    method::{Evidence, Memory, Method, SolveError, SolveReport, StepContext, Unsupported},
    prescribed::{Prescribed, Side},
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
    history: History,
    /// The mean velocity over the last step [m/s].
    mean: Vec<Vec3>,
    /// Sides of sheets from a checkpoint, until contacts take them.
    sides: Option<Vec<([u32; 2], f64)>>,
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
    record: Option<Record>,
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
            history: History::default(),
            mean: Vec::new(),
            sides: None,
        }
    }
}

impl Smooth {
    fn sides(&self) -> &[([u32; 2], f64)] {
        if let Some(waiting) = &self.sides {
            return waiting;
        }
        let contacts = self.work.as_ref().and_then(|w| w.contacts.as_ref());
        contacts.map_or(&[], Contacts::sides)
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
        "smooth"
    }

    fn needs(&self, model: &Model) -> Result<(), Unsupported> {
        Unsupported::rods(self.name(), model)?;
        Unsupported::changing_gravity(self.name(), model)?;
        Unsupported::gusts(self.name(), model)?;
        if !model.contact {
            return Ok(());
        }
        Unsupported::particles(self.name(), model)?;
        Contacts::new(model, &self.rules, &self.config.contact)
            .map(|_| ())
            .map_err(|error| Unsupported {
                method: self.name(),
                reason: error.to_string(),
                remedy: "change what it names, or choose another method".to_owned(),
            })
    }

    fn solve(&mut self, step: StepContext<'_>, v: &mut [Vec3]) -> Result<SolveReport, SolveError> {
        let StepContext {
            model,
            state,
            h,
            dynamics,
            stages,
        } = step;
        self.work.take_if(|w| w.generation != model.generation);
        if self.work.is_none() {
            let made = Work::new(model, &self.rules, &self.config);
            self.work = Some(made?);
        }
        let Some(work) = self.work.as_mut() else {
            return Ok(SolveReport::default());
        };
        let history = &mut self.history;
        let follows = history.h > 0.0 && history.end == state.x;
        let ratio = follows.then(|| h / history.h);
        let tables = match state.step < self.config.startup {
            true => Integrator::startup(),
            false => self.config.integrator.stages(ratio),
        };
        if let Some(contacts) = &mut work.contacts {
            if history.kappa > 0.0 {
                contacts.set_stiffness(history.kappa)?;
            }
            if let Some(sides) = self.sides.take() {
                contacts.set_sides(sides);
            }
        }
        let mut report = SolveReport::default();
        let run = Run {
            model,
            state,
            h,
            fixed: dynamics.fixed(),
            config: &self.config,
            before: ratio.map(|_| &history.before),
            kappa: work.contacts.as_ref().map_or(0.0, Contacts::stiffness),
        };
        // Forces at the start are those that ended the last step, whatever κ is raised to below.
        stages.time(Stage::Build, || work.begin(&run, &tables))?;
        for attempt in 0..=MOST_STIFFENINGS {
            let done = work.step(&run, &tables, v, stages)?;
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
        if let Some(block) = v.iter().position(|v| !v.iter().all(|c| c.is_finite())) {
            return Err(SolveError::not_finite(model, block));
        }
        if let Some(contacts) = &work.contacts {
            let (fixed, r) = (dynamics.fixed(), work.newton.residual());
            let (stage, jacobian) = (&work.stage, &work.jacobian);
            if let Some(record) = &mut work.record {
                record.set(contacts, stage, jacobian, fixed, r, h)?;
            }
            history.kappa = contacts.stiffness();
        }
        history.commit(
            model,
            &mut self.mean,
            work.stage.moved(),
            &work.start,
            state,
            h,
        );
        Ok(report)
    }

    fn mean_velocity(&self) -> Option<&[Vec3]> {
        Some(&self.mean)
    }

    fn evidence(&self) -> Option<Evidence<'_>> {
        let work = self.work.as_ref()?;
        work.record.as_ref().map(Record::evidence)
    }

    fn overlap(&mut self, model: &Model, state: &State) -> Result<Overlap, SolveError> {
        match self.work.as_mut().and_then(|w| w.record.as_mut()) {
            Some(record) => Ok(record.overlap(model, state)?),
            None => Ok(Overlap::default()),
        }
    }

    fn save(&self) -> Memory {
        let History {
            h,
            before,
            end,
            kappa,
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
            keys: self.sides().iter().flat_map(pack).collect(),
        }
    }

    fn recall(&mut self, memory: Memory) {
        let column = |name: &str| {
            let found = memory.columns.iter().find(|c| c.0 == name);
            found.map(|c| c.1.clone()).unwrap_or_default()
        };
        let numbers = column("numbers").first().copied().unwrap_or_default();
        self.history = History {
            h: numbers.x,
            kappa: numbers.y,
            before: Knot {
                shift: column("shift"),
                p: column("momentum"),
                ..Knot::default()
            },
            end: column("end"),
        };
        self.sides = Some(memory.keys.chunks_exact(2).map(unpack).collect());
    }

    fn adapt(
        &mut self,
        change: &Adaptation<'_>,
        _before: &State,
        _after: &State,
    ) -> Result<(), SolveError> {
        self.sides = Some(adapt::sides(change, self.sides()));
        adapt::history(change, &mut self.history);
        self.work = None;
        Ok(())
    }
}

impl History {
    /// Keeps what the next step needs, and the mean velocity of this one.
    fn commit(
        &mut self,
        model: &Model,
        mean: &mut Vec<Vec3>,
        shift: &[Vec3],
        start: &Knot,
        state: &State,
        h: f64,
    ) {
        mean.clear();
        mean.extend(shift.iter().map(|d| d / h));
        self.h = h;
        self.before.shift.clear();
        self.before.shift.extend(shift.iter().map(|d| -d));
        self.before.p.clone_from(&start.p);
        // As the step advances positions, so that the comparison is exact.
        self.end.clear();
        let moved = state.x.iter().zip(&*mean).map(|(x, w)| x + w * h);
        self.end.extend(moved);
        for (body, _) in model.rigids() {
            self.end[body.blocks.start + 1] = Vec3::zeros();
        }
    }
}

/// What does not change during one attempt at a step.
struct Run<'a> {
    model: &'a Model,
    state: &'a State,
    h: f64,
    fixed: &'a [bool],
    config: &'a Config,
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
            record: match model.contact {
                true => Some(Record::new(model, rules)?),
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
        tables: &[integrators::Stage],
        v: &mut [Vec3],
        stages: &mut Stages,
    ) -> Result<SolveReport, SolveError> {
        let Run { model, state, .. } = *run;
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
            for (k, table) in tables.iter().enumerate() {
                let done = self.stage(run, table, k, v, stages)?;
                report.iterations += done.iterations;
                report.linear_iterations += done.linear_iterations;
                report.change = done.change;
                report.converged &= done.converged;
                if k + 1 < tables.len() {
                    let Self {
                        first,
                        forces,
                        jacobian,
                        contacts,
                        stage,
                        prescribed,
                        ..
                    } = self;
                    let mut problem = Problem {
                        model,
                        prescribed,
                        stage,
                        forces,
                        contacts: contacts.as_mut(),
                        guard: None,
                        jacobian,
                    };
                    problem.knot(v, first)?;
                }
            }
        }
        if let Some(contacts) = &self.contacts {
            report.contacts = contacts.count(self.stage.place())?;
        }
        Ok(report)
    }

    /// Momenta and, where the table asks for them, forces at the start of the step.
    fn begin(&mut self, run: &Run<'_>, tables: &[integrators::Stage]) -> Result<(), SolveError> {
        let Run { model, state, .. } = *run;
        let Self {
            start,
            forces,
            contacts,
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
        if tables.iter().any(|t| t.start_rate != 0.0) {
            forces.add(model, at, 1.0, &mut start.f[0])?;
        }
        if let Some(contacts) = contacts {
            contacts.frame(model, state.time, run.h, Side::After);
            contacts.find(at, run.h)?;
            if tables.iter().any(|t| t.contact[0] != 0.0) {
                contacts.lag(at)?;
                contacts.add(at, 1.0, &mut start.f[1])?;
            }
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
            let start = || hold_back(run, prescribed, stage, contacts, guard, v);
            stages.time(Stage::Detect, start)?;
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
            let solve = || newton.solve(&mut problem, &run.config.newton, v);
            let done = stages.time(Stage::Solve, solve)?;
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
            let find = || contacts.find(stage.place(), h);
            stages.time(Stage::Detect, find)?;
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
