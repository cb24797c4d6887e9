//! Method `attachment`: contact by springs to relaxed attachment points, solved implicitly with all other
//! forces [ding].
//!
//! A step of backward Euler is the root of one residual, friction included. Attachments are stored on the
//! objects and do not move while they stick, so that bodies at rest cannot creep: a particle oscillates on the
//! spring of its attachment until it is at rest. The geometry of attachments is in `stiction_contact::attach`, the
//! solver in `crate::implicit::stabilised`; both list deviations from the paper.
//!
//! **Deviations from the paper**
//! - The stiffness has a default, from masses, gravity, thickness and the time step.
//! - A step that does not converge is repeated in two substeps, as with every method.
//! - Rods and contact among particles are not supported yet, nor are anisotropic friction and restitution.
//! - Bodies of material points each have a grid of their own, see `stiction_bodies::mpm`.

mod contact;

use std::borrow::Cow;

use stiction_bodies::{Model, State, adapt::Adaptation};
use stiction_contact::attach::{AttachError, StoredPair};
use stiction_contact::{ContactSet, detect::Detector};
use stiction_math::Vec3;

use self::contact::Contacts;
use crate::{
    capabilities::Unsupported,
    colliders::{ContactRules, collider_names},
    error::SolveError,
    forces::ForceState,
    implicit::{
        ContactModel, ContactStage, Implicit, LinearSolver, NewtonConfig, Solved, Solver,
        StepAttempt,
    },
    integrators::{Integrator, SchemeStage},
    method::{Memory, Method, Persistent, SolveReport, SolvedContacts, SolvedStep, StepContext},
    methods::attachment::NAME,
    needs::needs,
    prescribed::Side,
    registry::MethodConfig,
    smooth::adapt::renumbered,
    stages::Stages,
};

/// Settings of the method.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Config {
    /// Stiffness k of the springs [N/m]; `None` takes it from masses, gravity, thickness and the time step.
    pub stiffness: Option<f64>,
    /// Settings of the solver of steps.
    pub newton: NewtonConfig,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            stiffness: None,
            newton: NewtonConfig {
                solver: Solver::Stabilised(LinearSolver::Direct),
                max_iterations: 100,
                max_linear: 20, // [ding, Sect. 5]
                max_shorten: 30,
                ..NewtonConfig::default()
            },
        }
    }
}

/// Contact by attachments.
pub struct AttachmentMethod {
    config: Config,
    rules: ContactRules,
    work: Option<Work>,
    tables: Vec<SchemeStage>,
    /// As of the end of the last step.
    kept: Kept,
    /// As of the end of the step that is being solved.
    next: Kept,
}

/// Data carried from step to step.
#[derive(Clone, Debug, Default)]
struct Kept {
    /// k [N/m]; zero until it is set.
    stiffness: f64,
    pairs: Vec<StoredPair>,
}

struct Work {
    /// The generation of the model that it was made for.
    generation: u64,
    core: Implicit,
    contacts: Option<Contacts>,
    solved: Option<Solved>,
}

impl AttachmentMethod {
    /// The method with the given settings.
    pub fn new(config: Config, rules: ContactRules) -> Self {
        Self {
            config,
            rules,
            work: None,
            tables: Integrator::BackwardEuler.stages(None),
            kept: Kept::default(),
            next: Kept::default(),
        }
    }

    /// The attachments at the end of the last step.
    pub fn pairs(&self) -> &[StoredPair] {
        &self.kept.pairs
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
            integrator: Integrator::BackwardEuler,
            tables: &self.tables,
            before: None,
            contact_force: None,
            newton: &self.config.newton,
            cancel: context.cancel,
        };
        Some((work, step, context.stages))
    }
}

impl Work {
    fn new(model: &Model, rules: &ContactRules) -> Result<Self, SolveError> {
        let (contacts, solved) = match model.contact {
            true => (
                Some(Contacts::new(model, rules)?),
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
}

impl Method for AttachmentMethod {
    fn name(&self) -> &'static str {
        NAME
    }

    fn needs(&self, model: &Model) -> Result<(), Unsupported> {
        let capabilities = self.config.capabilities();
        capabilities.check(self.name(), &needs(model, Some(&self.rules)))?;
        if !model.contact {
            return Ok(());
        }
        let refused = |error: AttachError| Unsupported {
            method: self.name(),
            reason: match &error {
                AttachError::Collider { collider, reason } => {
                    let names = collider_names(model);
                    let name = names.get(*collider).map_or("", |n| n.as_str());
                    format!("`{name}`: {reason}")
                }
                _ => error.to_string(),
            },
            remedies: vec!["change what it names".to_owned()],
        };
        Contacts::new(model, &self.rules)
            .map(|_| ())
            .map_err(refused)
    }

    fn build(&mut self, context: &mut StepContext<'_>, _v: &mut [Vec3]) -> Result<(), SolveError> {
        let (model, h) = (context.model, context.h);
        let usable = |w: &Work| w.generation == model.generation && !model.has_per_step();
        let made = match self.work.take().filter(usable) {
            Some(work) => work,
            None => Work::new(model, &self.rules)?,
        };
        let work = self.work.insert(made);
        self.next.stiffness = self.kept.stiffness;
        if let Some(contacts) = &mut work.contacts {
            if self.next.stiffness <= 0.0 {
                let derived = || contacts.default_stiffness(model, self.rules.thickness, h);
                self.next.stiffness = self.config.stiffness.unwrap_or_else(derived);
            }
            contacts.set_stiffness(self.next.stiffness)?;
        }
        match self.step(context) {
            Some((work, step, _)) => work.core.begin(&step),
            None => Ok(()),
        }
    }

    /// Features that may meet in the step.
    fn detect(&mut self, context: &mut StepContext<'_>, _v: &[Vec3]) -> Result<(), SolveError> {
        let pairs = std::mem::take(&mut self.kept.pairs);
        let done = match self.step(context) {
            Some((work, step, _)) => match &mut work.contacts {
                Some(contacts) => {
                    contacts.place(step.model, step.state.time, step.h, Side::After);
                    let begun = contacts.begin(ForceState::of(step.state), &pairs);
                    begun.and_then(|()| work.core.find_contacts(&step, contacts))
                }
                None => Ok(()),
            },
            None => Ok(()),
        };
        self.kept.pairs = pairs;
        done
    }

    fn solve(
        &mut self,
        context: &mut StepContext<'_>,
        v: &mut [Vec3],
    ) -> Result<SolveReport, SolveError> {
        let Some((work, step, stages)) = self.step(context) else {
            return Ok(SolveReport::default());
        };
        let contacts = work.contacts.as_mut().map(|c| c as &mut dyn ContactModel);
        let mut report = work.core.solve(&step, contacts, v, stages)?;
        let place = work.core.stage().place();
        let mut pairs = Vec::new();
        if let Some(contacts) = &work.contacts {
            report.contacts = contacts.count(place)?;
            pairs = contacts.stored(place)?;
            if let Some(solved) = &mut work.solved {
                solved.set(&work.core, step.fixed, step.h, |at, set, r| {
                    contacts.contact_set(at, step.h, step.fixed, set, r)
                })?;
            }
        }
        self.next.pairs = pairs;
        Ok(report)
    }
}

impl SolvedStep for AttachmentMethod {
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

    fn contacts(&self) -> Option<SolvedContacts<'_>> {
        let work = self.work.as_ref()?;
        work.solved.as_ref().map(Solved::contacts)
    }

    fn detector(&mut self) -> Option<(&mut Detector, &ContactSet)> {
        let solved = self.work.as_mut()?.solved.as_mut()?;
        Some((&mut solved.detector, &solved.none))
    }
}

/// Bits of the third number of a pair: the other side of a sheet, and an attachment that slid.
const SIDE: u64 = 1;
const SLID: u64 = 2;

impl Persistent for AttachmentMethod {
    fn commit(&mut self) {
        std::mem::swap(&mut self.kept, &mut self.next);
    }

    /// Two keys per pair, with its place and its thickness in columns.
    fn save(&self) -> Memory {
        let Kept { stiffness, pairs } = &self.kept;
        let places = pairs.iter().map(|p| p.place).collect();
        let thickness = |p: &StoredPair| Vec3::new(p.thickness, 0.0, 0.0);
        let thicknesses = pairs.iter().map(thickness).collect();
        let keys = pairs.iter().flat_map(|p| {
            let [particle, object, side] = p.key;
            let mut flags = if p.slid { SLID } else { 0 };
            if side != 0 {
                flags |= SIDE;
            }
            [
                u64::from(particle) << 32 | u64::from(object),
                u64::from(p.triangle) << 2 | flags,
            ]
        });
        Memory {
            columns: vec![
                (
                    "stiffness".to_owned(),
                    vec![Vec3::new(*stiffness, 0.0, 0.0)],
                ),
                ("attachments".to_owned(), places),
                ("thicknesses".to_owned(), thicknesses),
            ],
            keys: keys.collect(),
        }
    }

    fn recall(&mut self, memory: Memory) {
        let stiffness = memory.column("stiffness").first().map_or(0.0, |s| s.x);
        let places = memory.column("attachments");
        let placed = places.into_iter().zip(memory.column("thicknesses"));
        let pairs = memory
            .keys
            .chunks_exact(2)
            .zip(placed)
            .map(|(key, (place, thickness))| {
                let [pair, rest] = [key[0], key[1]];
                StoredPair {
                    key: [(pair >> 32) as u32, pair as u32, (rest & SIDE) as u32],
                    triangle: (rest >> 2) as u32,
                    place,
                    slid: rest & SLID != 0,
                    thickness: thickness.x,
                }
            });
        self.kept = Kept {
            stiffness,
            pairs: pairs.collect(),
        };
    }

    /// Attachments of bodies that have changed are new.
    fn adapt(
        &mut self,
        change: &Adaptation<'_>,
        _before: &State,
        _after: &State,
    ) -> Result<(), SolveError> {
        let keys = renumbered(change);
        let pair = |p: &StoredPair| {
            let [particle, object, side] = p.key;
            let [particle, object] = keys([particle, object])?;
            let key = [particle, object, side];
            Some(StoredPair { key, ..*p })
        };
        self.kept.pairs = self.kept.pairs.iter().filter_map(pair).collect();
        Ok(())
    }
}
