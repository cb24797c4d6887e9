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
//! - A failed step is repeated in two substeps as with every method; BDF2 then has coefficients for steps of
//!   changing length.

pub(crate) mod adapt;
mod barrier;
mod contact;
mod guard;
#[cfg(test)]
mod tests;

use std::borrow::Cow;

use stiction_bodies::{Model, State, adapt::Adaptation};
use stiction_contact::smooth::{FrictionTime, Rest, SmoothConfig, SmoothError};
use stiction_contact::{ContactSet, detect::Detector};
use stiction_math::Vec3;

use self::contact::Contacts;
use crate::{
    capabilities::Unsupported,
    colliders::ContactRules,
    error::SolveError,
    forces::ForceState,
    implicit::{
        ContactModel, ContactStage, Implicit, IntegratorHistory, Knot, Solved, StepAttempt,
    },
    integrators::{self, Integrator},
    method::{Memory, Method, Persistent, SolveReport, SolvedContacts, SolvedStep, StepContext},
    methods::smooth::NAME,
    needs::needs,
    prescribed::Side,
    registry::MethodConfig,
    stages::Stages,
};

pub use crate::implicit::{NewtonConfig, Solver, VolumeJacobian};

/// Settings of the method.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Config {
    /// Time integration scheme.
    pub integrator: Integrator,
    /// So many first steps are taken by halves of backward Euler ([`Integrator::startup`]).
    pub startup: u64,
    /// Settings of the solver of stages.
    pub newton: NewtonConfig,
    /// The contact stiffness κ at the start [N/m]; `None` takes it from masses, gravity, δ and the time
    /// step.
    pub kappa: Option<f64>,
    /// Contact and friction; its `stiffness` is not read.
    pub contact: SmoothConfig,
}

/// Largest number of repetitions of a step with a stiffer contact.
const MOST_STIFFENINGS: usize = 20;

/// Contact and friction as smooth forces.
pub struct Smooth {
    config: Config,
    rules: ContactRules,
    work: Option<Work>,
    /// The rule of the step that is being solved.
    plan: Plan,
    /// As of the end of the last step.
    kept: Kept,
    /// As of the end of the step that is being solved.
    next: Kept,
}

/// The rule of one step.
#[derive(Clone, Debug, Default)]
struct Plan {
    tables: Vec<integrators::SchemeStage>,
    /// Whether the step follows the last one, so that multistep schemes may use it.
    follows: bool,
    /// κ where nothing has penetrated yet [N/m]; zero without contact.
    base: f64,
}

/// The side of a sheet on which a vertex is: vertex and surface, and 1, −1 or 0.
type SideOf = ([u32; 2], f64);

/// Data carried from step to step.
#[derive(Clone, Debug, Default)]
struct Kept {
    history: IntegratorHistory,
    /// The contact stiffness κ [N/m]; zero until it is set.
    kappa: f64,
    /// κ where nothing has penetrated yet [N/m]; zero until it is set.
    base: f64,
    /// On which sides of sheets vertices are.
    sides: Vec<SideOf>,
    /// Contacts at the end of the step.
    rests: Vec<Rest>,
    /// Contact forces there, for integrators that keep them [N].
    contact_force: Vec<Vec3>,
}

struct Work {
    /// The generation of the model that it was made for.
    generation: u64,
    core: Implicit,
    contacts: Option<Contacts>,
    solved: Option<Solved>,
}

impl Smooth {
    /// The method with the given settings.
    pub fn new(config: Config, rules: ContactRules) -> Self {
        Self {
            config,
            rules,
            work: None,
            plan: Plan::default(),
            kept: Kept::default(),
            next: Kept::default(),
        }
    }

    /// The constant data of the step, and the rest.
    fn step<'a>(
        &'a mut self,
        context: &'a mut StepContext<'_>,
    ) -> Option<(&'a mut Work, StepAttempt<'a>, &'a mut Stages)> {
        let work = self.work.as_mut()?;
        let step = StepAttempt {
            model: context.model,
            state: context.state,
            h: context.h,
            fixed: context.dynamics.fixed(),
            integrator: self.config.integrator,
            tables: &self.plan.tables,
            before: self.plan.follows.then_some(&self.kept.history.before),
            contact_force: self.plan.follows.then_some(&self.kept.contact_force),
            newton: &self.config.newton,
            cancel: context.cancel,
        };
        Some((work, step, context.stages))
    }
}

/// Sides and contacts as numbers of a checkpoint: how many sides there are, two numbers for each, and
/// three for each contact.
fn pack(sides: &[SideOf], rests: &[Rest]) -> Vec<u64> {
    let key = |k: &[u32; 2]| u64::from(k[0]) << 32 | u64::from(k[1]);
    let mut keys = vec![sides.len() as u64];
    keys.extend(sides.iter().flat_map(|(k, side)| [key(k), side.to_bits()]));
    let rest = |r: &Rest| [key(&r.key), r.offset.to_bits(), r.pressed.to_bits()];
    keys.extend(rests.iter().flat_map(rest));
    keys
}

fn unpack(keys: &[u64]) -> (Vec<SideOf>, Vec<Rest>) {
    let Some((count, numbers)) = keys.split_first() else {
        return Default::default();
    };
    let key = |n: u64| [(n >> 32) as u32, n as u32];
    let split = numbers.len().min((*count as usize).saturating_mul(2));
    let (sides, rests) = numbers.split_at(split);
    let side = |n: &[u64]| (key(n[0]), f64::from_bits(n[1]));
    let rest = |n: &[u64]| Rest {
        key: key(n[0]),
        offset: f64::from_bits(n[1]),
        pressed: f64::from_bits(n[2]),
    };
    (
        sides.chunks_exact(2).map(side).collect(),
        rests.chunks_exact(3).map(rest).collect(),
    )
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
                reason: match &error {
                    SmoothError::Collider { collider, reason } => {
                        format!("{}: {reason}", collider_name(model, *collider))
                    }
                    _ => error.to_string(),
                },
                remedies: vec!["change what it names".to_owned()],
            })
    }

    fn build(&mut self, context: &mut StepContext<'_>, _v: &mut [Vec3]) -> Result<(), SolveError> {
        let (model, state, h) = (context.model, context.state, context.h);
        // Blocks that exist for one step have matrices of their own.
        let usable = |w: &Work| w.generation == model.generation && !model.has_per_step();
        let made = match self.work.take().filter(usable) {
            Some(work) => work,
            None => Work::new(model, &self.rules, &self.config)?,
        };
        let work = self.work.insert(made);
        let Kept {
            history,
            kappa,
            sides,
            rests,
            base,
            ..
        } = &self.kept;
        let ratio = history.ratio(model, state, h);
        self.plan.base = *base;
        if let Some(contacts) = &mut work.contacts {
            if self.plan.base <= 0.0 {
                let thickness = self.rules.thickness;
                let dies = self.config.integrator.is_l_stable();
                let derived = || contacts.default_stiffness(model, thickness, h, dies);
                self.plan.base = self.config.kappa.unwrap_or_else(derived);
            }
            contacts.set_base_stiffness(self.plan.base)?;
            contacts.set_stiffness(match *kappa > 0.0 {
                true => *kappa,
                false => self.plan.base,
            })?;
            // Positions follow velocities as x⁺ = x + h v⁺; lagged friction takes its directions elsewhere.
            contacts.set_chords(
                self.config.integrator == Integrator::BackwardEuler
                    && state.step >= self.config.startup
                    && self.config.contact.friction == FrictionTime::Implicit,
            );
            contacts.set_sides(sides.clone());
            contacts.set_rests(rests.clone());
        }
        self.plan = Plan {
            tables: match state.step < self.config.startup {
                true => Integrator::startup(),
                false => self.config.integrator.stages(ratio),
            },
            follows: ratio.is_some(),
            base: self.plan.base,
        };
        match self.step(context) {
            Some((work, step, _)) => work.core.begin(&step),
            None => Ok(()),
        }
    }

    /// Contacts at the start of the step. Forces at the start are those that ended the last step,
    /// whatever κ is raised to later.
    fn detect(&mut self, context: &mut StepContext<'_>, _v: &[Vec3]) -> Result<(), SolveError> {
        let thickness = self.rules.thickness;
        let adapts = self.config.integrator.is_ipc() && self.config.kappa.is_none();
        let Some((work, step, _)) = self.step(context) else {
            return Ok(());
        };
        let Some(contacts) = &mut work.contacts else {
            return Ok(());
        };
        work.core.find_contacts(&step, contacts)?;
        if adapts {
            let pressing = work.core.pressing(&step);
            contacts.balance(step.model, step.state, &pressing, thickness, step.h)?;
        }
        Ok(())
    }

    fn solve(
        &mut self,
        context: &mut StepContext<'_>,
        v: &mut [Vec3],
    ) -> Result<SolveReport, SolveError> {
        let mut report = SolveReport::default();
        let friction = self.config.contact.friction;
        let base = self.plan.base;
        let Some((work, step, stages)) = self.step(context) else {
            return Ok(report);
        };
        for attempt in 0..=MOST_STIFFENINGS {
            let done = work.solve(&step, friction, v, stages)?;
            report.iterations += done.iterations;
            report.linear_iterations += done.linear_iterations;
            report.change = done.change;
            report.contacts = done.contacts;
            report.converged = done.converged;
            let Some(contacts) = &mut work.contacts else {
                break;
            };
            // A step that ends with an overlap is taken again, with a stiffer contact.
            let place = work.core.stage().place();
            if attempt == MOST_STIFFENINGS || !contacts.stiffen(place)? {
                contacts.relax(place)?;
                break;
            }
        }
        if let (Some(contacts), Some(solved)) = (&work.contacts, &mut work.solved) {
            solved.set(&work.core, step.fixed, step.h, |at, set, r| {
                contacts.contact_set(at, step.h, step.fixed, set, r)
            })?;
        }
        let keeps = self.config.integrator.is_ipc();
        if let Some(work) = &mut self.work {
            self.next.set(context, work)?;
            self.next.base = base;
            self.next.contact_force = match work.contacts.as_mut().filter(|_| keeps) {
                Some(contacts) => work.core.contact_force(contacts)?,
                None => Vec::new(),
            };
        }
        Ok(report)
    }
}

impl SolvedStep for Smooth {
    fn momentum_residual(
        &mut self,
        step: &mut StepContext<'_>,
        v: &[Vec3],
    ) -> Result<Cow<'_, [Vec3]>, SolveError> {
        let Some(work) = self.work.as_mut() else {
            return Ok(Cow::Borrowed(&[]));
        };
        let contacts = work.contacts.as_mut().map(|c| c as &mut dyn ContactModel);
        let residual = work.core.momentum_residual(step.model, contacts, v)?;
        Ok(Cow::Borrowed(residual))
    }

    fn mean_velocity(&self) -> Option<&[Vec3]> {
        Some(&self.next.history.mean)
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
        std::mem::swap(&mut self.kept, &mut self.next);
    }

    fn save(&self) -> Memory {
        let Kept {
            history,
            kappa,
            base,
            sides,
            rests,
            contact_force,
        } = &self.kept;
        let IntegratorHistory { h, before, end, .. } = history;
        let numbers = vec![Vec3::new(*h, *kappa, *base)];
        let columns = [
            ("numbers", &numbers),
            ("shift", &before.shift),
            ("momentum", &before.p),
            ("end", end),
            ("contact_force", contact_force),
        ];
        Memory {
            columns: columns
                .into_iter()
                .map(|(name, c)| (name.to_owned(), c.clone()))
                .collect(),
            keys: pack(sides, rests),
        }
    }

    fn recall(&mut self, memory: Memory) {
        let numbers = memory.column("numbers").first().copied();
        let numbers = numbers.unwrap_or_default();
        let (sides, rests) = unpack(&memory.keys);
        self.kept = Kept {
            kappa: numbers.y,
            base: numbers.z,
            history: IntegratorHistory {
                h: numbers.x,
                mean: Vec::new(),
                before: Knot {
                    shift: memory.column("shift"),
                    p: memory.column("momentum"),
                    ..Knot::default()
                },
                end: memory.column("end"),
            },
            sides,
            rests,
            contact_force: memory.column("contact_force"),
        };
    }

    fn adapt(
        &mut self,
        change: &Adaptation<'_>,
        _before: &State,
        _after: &State,
    ) -> Result<(), SolveError> {
        self.kept.sides = adapt::sides(change, &self.kept.sides);
        self.kept.rests = adapt::rests(change, &self.kept.rests);
        adapt::history(change, &mut self.kept.history);
        self.kept.contact_force.clear();
        Ok(())
    }
}

/// The body or obstacle of a collider: colliders are the bodies, then the obstacles.
fn collider_name(model: &Model, collider: usize) -> String {
    let bodies = model.bodies.len();
    match (model.bodies.get(collider), collider.checked_sub(bodies)) {
        (Some(body), _) => format!("body `{}`", body.name),
        (_, Some(i)) if i < model.obstacles.len() => {
            format!("obstacle `{}`", model.obstacles[i].name)
        }
        _ => format!("collider {collider}"),
    }
}

impl Kept {
    /// Takes the data for the next step.
    fn set(&mut self, step: &StepContext<'_>, work: &Work) -> Result<(), SolveError> {
        self.history.set(step.model, &work.core, step.state, step.h);
        let contacts = work.contacts.as_ref();
        self.kappa = contacts.map_or(0.0, Contacts::stiffness);
        self.sides.clear();
        self.sides
            .extend_from_slice(contacts.map_or(&[], Contacts::sides));
        self.rests = match contacts {
            Some(contacts) => contacts.rests(work.core.stage().place())?,
            None => Vec::new(),
        };
        Ok(())
    }
}

impl Work {
    fn new(model: &Model, rules: &ContactRules, config: &Config) -> Result<Self, SolveError> {
        let (contacts, solved) = match model.contact {
            true => (
                Some(Contacts::guarded(model, rules, &config.contact)?),
                Some(Solved::new(model, rules)?),
            ),
            false => (None, None),
        };
        Ok(Self {
            generation: model.generation,
            core: Implicit::new(model)?,
            contacts,
            solved,
        })
    }

    /// All stages of a step, with the configured number of friction lags.
    fn solve(
        &mut self,
        step: &StepAttempt<'_>,
        friction: FrictionTime,
        v: &mut [Vec3],
        stages: &mut Stages,
    ) -> Result<SolveReport, SolveError> {
        let StepAttempt { model, state, .. } = *step;
        let solves = match friction {
            FrictionTime::Lagged { iterations } => iterations.max(1),
            FrictionTime::Implicit => 1,
        };
        let mut report = SolveReport {
            converged: true,
            ..SolveReport::default()
        };
        for solve in 0..solves {
            if let Some(contacts) = &mut self.contacts {
                // The obstacles are where the positions belong: at the start, then at the end.
                if solve == 0 {
                    contacts.place(model, state.time, step.h, Side::After);
                    // Whatever κ was raised to, forces at the start are those that ended the last step.
                    contacts.lag(ForceState::of(state))?;
                } else {
                    contacts.lag(self.core.stage().place())?;
                }
            }
            let contacts = self.contacts.as_mut().map(|c| c as &mut dyn ContactModel);
            let done = self.core.solve(step, contacts, v, stages)?;
            report.iterations += done.iterations;
            report.linear_iterations += done.linear_iterations;
            report.change = done.change;
            report.converged &= done.converged;
        }
        if let Some(contacts) = &self.contacts {
            report.contacts = contacts.count(self.core.stage().place())?;
        }
        Ok(report)
    }
}
