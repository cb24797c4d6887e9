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

mod contact;
mod evidence;
mod guard;
#[cfg(test)]
mod tests;

use stiction_bodies::{Model, State};
use stiction_contact::detect::Overlap;
use stiction_contact::smooth::{FrictionTime, SmoothConfig};
use stiction_math::Vec3;

use self::{contact::Contacts, evidence::Record};
use crate::{
    colliders::ContactRules,
    forces::Place,
    implicit::{Contact, ContactStage, History, Implicit, Knot, Step},
    integrators::Integrator,
    method::{Evidence, Memory, Method, SolveError, SolveReport, StepContext, Unsupported},
    prescribed::Side,
    stages::{Stage, Stages},
};

pub use crate::implicit::{NewtonConfig, Solver, VolumeJacobian};

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

/// Contact and friction as smooth forces.
pub struct Smooth {
    config: Config,
    rules: ContactRules,
    work: Option<Work>,
    history: History,
    /// The contact stiffness κ that ended the last step [N/m]; zero until it is set.
    kappa: f64,
    /// Sides of sheets from a checkpoint, until contacts take them.
    sides: Option<Vec<([u32; 2], f64)>>,
}

struct Work {
    core: Implicit,
    contacts: Option<Contacts>,
    record: Option<Record>,
}

impl Smooth {
    /// The method with the given settings.
    pub fn new(config: Config, rules: ContactRules) -> Self {
        Self {
            config,
            rules,
            work: None,
            history: History::default(),
            kappa: 0.0,
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
        Unsupported::per_step(self.name(), model)?;
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
        // Blocks that exist for one step have matrices of their own.
        if self.work.is_none() || model.has_per_step() {
            let made = Work::new(model, &self.rules, &self.config);
            self.work = Some(made?);
        }
        let Some(work) = self.work.as_mut() else {
            return Ok(SolveReport::default());
        };
        let history = &mut self.history;
        let ratio = history.ratio(model, state, h);
        let tables = match state.step < self.config.startup {
            true => Integrator::startup(),
            false => self.config.integrator.stages(ratio),
        };
        if let Some(contacts) = &mut work.contacts {
            if self.kappa > 0.0 {
                contacts.set_stiffness(self.kappa)?;
            }
            if let Some(sides) = self.sides.take() {
                contacts.set_sides(sides);
            }
        }
        let mut report = SolveReport::default();
        let step = Step {
            model,
            state,
            h,
            fixed: dynamics.fixed(),
            integrator: self.config.integrator,
            tables: &tables,
            before: ratio.map(|_| &history.before),
            newton: &self.config.newton,
        };
        let kappa = work.contacts.as_ref().map_or(0.0, Contacts::stiffness);
        // Forces at the start are those that ended the last step, whatever κ is raised to below.
        stages.time(Stage::Build, || work.begin(&step))?;
        for attempt in 0..=MOST_STIFFENINGS {
            let done = work.solve(&step, self.config.contact.friction, kappa, v, stages)?;
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
        if let Some(block) = v.iter().position(|v| !v.iter().all(|c| c.is_finite())) {
            return Err(SolveError::not_finite(model, block));
        }
        if let Some(contacts) = &work.contacts {
            if let Some(record) = &mut work.record {
                record.set(contacts, &work.core, dynamics.fixed(), h)?;
            }
            self.kappa = contacts.stiffness();
        }
        history.commit(model, &work.core, state, h);
        Ok(report)
    }

    fn mean_velocity(&self) -> Option<&[Vec3]> {
        Some(&self.history.mean)
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
        let History { h, before, end, .. } = &self.history;
        let numbers = vec![Vec3::new(*h, self.kappa, 0.0)];
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
        self.kappa = numbers.y;
        self.history = History {
            h: numbers.x,
            mean: Vec::new(),
            before: Knot {
                shift: column("shift"),
                p: column("momentum"),
                ..Knot::default()
            },
            end: column("end"),
        };
        self.sides = Some(memory.keys.chunks_exact(2).map(unpack).collect());
    }
}

impl Work {
    fn new(model: &Model, rules: &ContactRules, config: &Config) -> Result<Self, SolveError> {
        let (contacts, record) = match model.contact {
            true => (
                Some(Contacts::guarded(model, rules, &config.contact)?),
                Some(Record::new(model, rules)?),
            ),
            false => (None, None),
        };
        Ok(Self {
            core: Implicit::new(model)?,
            contacts,
            record,
        })
    }

    fn begin(&mut self, step: &Step<'_>) -> Result<(), SolveError> {
        let contacts = self.contacts.as_mut().map(|c| c as &mut dyn Contact);
        self.core.begin(step, contacts)
    }

    /// All stages of a step, with friction lagged as often as asked for; `kappa` [N/m] is κ at the
    /// start of the step.
    fn solve(
        &mut self,
        step: &Step<'_>,
        friction: FrictionTime,
        kappa: f64,
        v: &mut [Vec3],
        stages: &mut Stages,
    ) -> Result<SolveReport, SolveError> {
        let Step { model, state, .. } = *step;
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
                    contacts.lag_with(kappa, Place::of(state))?;
                } else {
                    contacts.lag(self.core.stage().place())?;
                }
            }
            let contacts = self.contacts.as_mut().map(|c| c as &mut dyn Contact);
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
