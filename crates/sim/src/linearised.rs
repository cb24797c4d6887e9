//! Methods that linearise the step and hand friction problems to a contact solver.
//!
//! Each Newton iteration linearises the step to A v = f + Bᵀ r and hands it, with the contacts, to
//! a [`ContactSolver`]. Contacts are detected once per step along the unconstrained motion, again by
//! the solver while it works, and at last along the whole motion of the answer: a step that is not
//! safe is solved again with contacts of the passing pairs, and then refused.
//!
//! The certificate evaluates the laws of contact on the last linear problem.

mod revising;
mod turning;

use std::borrow::Cow;

use stiction_bodies::{Body, Model, State, adapt::Adaptation};
use stiction_contact::{
    CertifyConfig, ContactKey, ContactSet, FrictionProblem,
    detect::{ContactSource, DetectConfig, DetectStep, Detector, HeldPoint, Placement},
    eliminated_residual_iterated, eliminated_residual_near,
    solver::{ContactSolver, Solution, SolverError, Target, Task, TaskStart},
};
use stiction_math::{LinearOperator, SystemFactor, Vec3};

pub use revising::Revisions;

use crate::{
    adapt::keys,
    capabilities::{Capabilities, Unsupported},
    certify::largest_speed,
    colliders::{ContactRules, collider_names, colliders, place, sewn},
    dynamics::Dynamics,
    error::SolveError,
    method::{
        Footprint, Memory, Method, Persistent, SolveReport, SolvedContacts, SolvedStep,
        StepContext, System,
    },
    needs::needs,
    splitting::{self, SplitElements},
    stages::{Stage, Stages},
};

/// Settings of the linearisation and of the safeguard against collisions.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Config {
    /// Solution of the elastic step.
    pub integrator: ElasticSolver,
    /// The detector.
    pub detect: DetectConfig,
    /// Whether a step that would make surfaces touch or pass is refused.
    pub safe: bool,
    /// Bound on `residual`, `linear` and `eliminated` of the certificate [m/s] to which the solver goes, if
    /// there is one: turning bodies are followed to it, and the momentum of rigid bodies is then balanced exactly.
    pub residual: Option<f64>,
    /// Re-linearisation of contacts at the answer; none to keep them as they were detected.
    pub revisions: Option<Revisions>,
}

/// Solution of the elastic step.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ElasticSolver {
    /// Projected Newton.
    Newton(Linearisations),
    /// One alternating loop in which every elastic element is a constraint with its own local step
    /// and contact is one more [daviet2020, Sect. 6.1], [narain2016]. Its matrix does not depend on
    /// the deformation. It uses the solver's tolerance and iterations; attachments and rotations of
    /// rigid bodies are linearised once per step. The solver must support local steps.
    Splitting,
}

/// The number of linearisations of a step.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Linearisations {
    /// So many, at least one.
    Fixed(usize),
    /// Until the momentum residual is below a tolerance.
    Converge {
        /// The tolerance [m/s].
        tolerance: f64,
        /// Linearisations allowed.
        max: usize,
    },
}

/// Fraction of the thickness that surfaces must keep, so that rounding does not make them touch.
pub(crate) const CLEARANCE: f64 = 1e-3;

/// Change of a relative velocity [m/s] below which the arcs of turning bodies are not linearised again
/// for its sake alone.
const STRAIGHT: f64 = 1e-10;

/// Fraction of the bound on the certificate below which a change of the velocity is not followed by another
/// linearisation: what that would change is of second order in it.
const UNCHANGED: f64 = 1e-4;

/// Displacement of the points of a contact by the turn of their bodies before they meet, as a fraction of the thickness, above
/// which a step that was not solved is refused: half of it has a quarter of that.
const ASIDE: f64 = 0.1;

/// Most solves of a step with contacts against surfaces that would pass.
const ROUNDS: usize = 4;

/// A method of linearised steps, for any contact solver.
pub struct Linearised {
    name: &'static str,
    capabilities: Capabilities,
    config: Config,
    rules: ContactRules,
    solver: Box<dyn ContactSolver>,
    work: Option<Work>,
    /// As of the end of the last step.
    kept: Kept,
    /// As of the end of the step that is being solved.
    trial: Kept,
    /// Velocities and impulses that the last contact problem was started from, if they are kept.
    start: Option<(Vec<Vec3>, Vec<Vec3>)>,
    /// `eliminated` of the certificate of the last answer [m/s].
    eliminated: Option<f64>,
    /// Whether `trial` holds the answer to the problem in `work`, or `kept` does.
    answer: Where,
    /// The memory of the last solve.
    held: Footprint,
}

/// Data carried from step to step.
#[derive(Default)]
struct Kept {
    solution: Solution,
    /// Keys, normals, gaps and corrections of the contacts.
    contacts: ContactSet,
    /// Points of action of the loaded contacts that did not slip.
    held: Vec<HeldPoint>,
    /// Multipliers of elastic elements, by body and term.
    multipliers: Vec<(String, Vec<Vec3>)>,
}

/// Location of the answer to the last problem.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Where {
    #[default]
    Nowhere,
    Trial,
    Kept,
}

struct Work {
    /// The generation of the model that it was made for.
    generation: u64,
    detector: Detector,
    problem: FrictionProblem,
    /// For the alternating integrator.
    elements: Option<SplitElements>,
    placements: Vec<Placement<'static>>,
}

impl Linearised {
    /// A method with the given name, capabilities, settings and contact solver.
    pub fn new(
        name: &'static str,
        capabilities: Capabilities,
        config: Config,
        rules: ContactRules,
        solver: Box<dyn ContactSolver>,
    ) -> Self {
        Self {
            name,
            capabilities,
            config,
            rules,
            solver,
            work: None,
            kept: Kept::default(),
            trial: Kept::default(),
            start: None,
            eliminated: None,
            answer: Where::Nowhere,
            held: Footprint::default(),
        }
    }

    /// Everything of a step but the memory, made at the first one.
    fn work<'a>(
        work: &'a mut Option<Work>,
        model: &Model,
        rules: &ContactRules,
        config: &Config,
    ) -> Result<&'a mut Work, SolveError> {
        let made = match work.take().filter(|w| w.generation == model.generation) {
            Some(work) => work,
            None => Work::new(model, rules, config)?,
        };
        Ok(work.insert(made))
    }

    /// One solve of the linear problem in `work`, from the trial solution to it and to `v`, until its
    /// certificate is below `bound` [m/s] if that is given, else as configured. Returns whether the start was
    /// the answer.
    fn solve_linear(
        &mut self,
        step: &mut StepContext<'_>,
        start: TaskStart,
        polish: bool,
        bound: Option<f64>,
        v: &mut [Vec3],
        report: &mut SolveReport,
    ) -> Result<bool, SolveError> {
        let Self {
            solver,
            work: Some(work),
            trial,
            ..
        } = self
        else {
            return Ok(false);
        };
        let solution = &mut trial.solution;
        // The problem of an alternating integrator changes while it is solved: it has no start to show.
        if let Some((v, r)) = self.start.as_mut().filter(|_| work.elements.is_none()) {
            v.clone_from(&solution.v);
            r.clone_from(&solution.r);
        }
        let problem = &mut work.problem;
        // The predicted velocities have served detection.
        step.dynamics.release();
        solution.r.resize(problem.contacts.len(), Vec3::zeros());
        let (from, h) = ((step.model, step.state), problem.h);
        let mut elastic = match &mut work.elements {
            Some(elements) => Some(elements.local_step(from, step.dynamics, v, h)),
            None => None,
        };
        let mut source = Timed {
            detector: &mut work.detector,
            stages: step.stages,
        };
        let mut task = Task {
            problem,
            source: &mut source,
            start,
            polish,
            target: bound.map(Target::to),
            local: elastic.as_mut().map(|e| e as _),
            cancel: step.cancel,
            observer: &mut |_| {},
        };
        let solved = solver.solve(&mut task, solution)?;
        step.stages.linear += solved.linear_seconds;
        step.stages.projection += solved.projection_seconds;
        report.iterations += solved.iterations + solved.factorisations;
        report.linear_iterations += solved.linear_iterations;
        // A problem that is linearised again is not solved to its end.
        if polish {
            report.converged = solved.converged;
        }
        report.change = solved.change;
        report.contacts = problem.contacts.len();
        for i in 0..v.len() {
            if !problem.fixed[i] {
                v[i] = solution.v[i];
            }
        }
        Ok(solved.converged && solved.iterations + solved.factorisations == 0)
    }

    /// All linearisations of the step; the first one is built, and its contacts are detected.
    fn linearisations(
        &mut self,
        step: &mut StepContext<'_>,
        v: &mut [Vec3],
        report: &mut SolveReport,
    ) -> Result<(), SolveError> {
        let (most, tolerance) = match self.config.integrator {
            ElasticSolver::Splitting => (1, None),
            ElasticSolver::Newton(Linearisations::Fixed(count)) => (count, None),
            ElasticSolver::Newton(Linearisations::Converge { tolerance, max }) => {
                (max, Some(tolerance))
            }
        };
        let linear = step.model.is_linear();
        // At rest the first answer is the point of its linearisation. Turning bodies are followed by the last one.
        let bound = self.config.residual.filter(|_| !step.dynamics.has_lone());
        let (point, mut rests) = (v.to_vec(), false);
        for newton in 0..most {
            let mut start = TaskStart::Configured;
            if newton > 0 {
                // The last iterate of the contact solver is the best guess [daviet2020, Sect. 6.2.1].
                start = TaskStart::Given;
                let mut changes = v.iter().zip(&point).map(|(v, point)| (v - point).amax());
                if let (true, None, Some(bound)) = (rests, tolerance, bound)
                    && changes.all(|change| change <= UNCHANGED * bound)
                {
                    self.solve_revised(step, v, report)?;
                    break;
                }
                if let Some(work) = &mut self.work {
                    let contacts = &mut work.problem.contacts;
                    let change = work.detector.follow_turns(v, contacts);
                    // Turning was followed by the solve, unless that failed: then another one may do better.
                    let followed = self.config.residual.is_some() && report.converged;
                    if linear && (followed || change <= STRAIGHT) {
                        break;
                    }
                    step.time(Stage::Build, |s| work.linearise(s, v))?;
                }
            }
            // Only the last linearisation is polished; where that is not known, all but the first.
            let last = newton + 1 == most || linear || tolerance.is_some() && newton > 0;
            rests = self.solve_turning(step, start, last, v, report)? && newton == 0;
            if last {
                self.solve_revised(step, v, report)?;
            }
            if let Some(tolerance) = tolerance {
                self.answer = Where::Trial;
                let residual = self.momentum_residual(step, v)?;
                let reached = largest_speed(step.model, step.state, &residual) <= tolerance;
                report.converged &= reached;
                if reached && newton > 0 {
                    break;
                }
            }
        }
        Ok(())
    }

    /// Refuses a step that was not solved because bodies slide and turn far while they meet.
    fn refuse_tumbling(&self, report: &SolveReport) -> Result<(), SolveError> {
        let Some(work) = self.work.as_ref().filter(|_| !report.converged) else {
            return Ok(());
        };
        match work.detector.turned_aside(&work.problem.contacts) {
            aside if aside > ASIDE => Err(SolveError::Tumbles { aside }),
            _ => Ok(()),
        }
    }

    /// Solves the step again with contacts of the pairs that would pass, until there are none.
    fn make_safe(
        &mut self,
        step: &mut StepContext<'_>,
        v: &mut [Vec3],
        report: &mut SolveReport,
    ) -> Result<(), SolveError> {
        let clearance = CLEARANCE * self.rules.thickness;
        for round in 0.. {
            let Some(work) = &mut self.work else {
                return Ok(());
            };
            let fraction = step.time(Stage::Detect, |_| work.safe_fraction(v, clearance))?;
            if fraction >= 1.0 {
                return Ok(());
            }
            let more = step.time(Stage::Detect, |_| {
                work.detector.more_contacts(v, &mut work.problem.contacts)
            });
            if more == 0 || round == ROUNDS {
                if step.may_pass {
                    report.converged = false;
                    return Ok(());
                }
                let pair = work.limiting_pair(v, clearance)?;
                return Err(SolveError::Passes { fraction, pair });
            }
            self.solve_turning(step, TaskStart::Given, true, v, report)?;
        }
        Ok(())
    }
}

impl Method for Linearised {
    fn name(&self) -> &'static str {
        self.name
    }

    fn needs(&self, model: &Model) -> Result<(), Unsupported> {
        let needs = needs(model, Some(&self.rules));
        self.capabilities.check(self.name(), &needs)
    }

    fn build(&mut self, step: &mut StepContext<'_>, v: &mut [Vec3]) -> Result<(), SolveError> {
        self.answer = Where::Nowhere;
        // The velocities of the last answer served reports: the solver does not start from them.
        self.kept.solution.v = Vec::new();
        let work = Self::work(&mut self.work, step.model, &self.rules, &self.config)?;
        step.dynamics.lag(step.model, step.state)?;
        if self.config.integrator == ElasticSolver::Splitting {
            let multipliers = &self.kept.multipliers;
            // Without multipliers to start from there is no step before this one.
            let elements = match work.elements.take().filter(|_| !multipliers.is_empty()) {
                Some(elements) => elements,
                None => SplitElements::new(step.model),
            };
            let elements = work.elements.insert(elements);
            elements.begin(
                step.model,
                step.dynamics,
                step.state,
                v,
                step.h,
                multipliers,
            );
        }
        work.linearise(step, v)
    }

    fn predict(&mut self, step: &mut StepContext<'_>, v: &[Vec3]) -> Result<(), SolveError> {
        let Self {
            work: Some(work),
            solver,
            ..
        } = self
        else {
            return Ok(());
        };
        work.predict(&mut **solver, step.model, v, step.dynamics.scratch())
    }

    fn detect(&mut self, step: &mut StepContext<'_>, _v: &[Vec3]) -> Result<(), SolveError> {
        let Self {
            work: Some(work),
            kept,
            trial,
            ..
        } = self
        else {
            return Ok(());
        };
        work.detect(step, &kept.contacts, &kept.held)?;
        // The solver works in the columns that it starts from: it is given copies.
        let Solution { v, r, columns } = &mut trial.solution;
        v.clone_from(&step.state.v);
        r.clone_from(&kept.solution.r);
        columns.clone_from(&kept.solution.columns);
        let found = &work.problem.contacts.key;
        trial.solution.carry(&kept.contacts.key, found);
        Ok(())
    }

    fn solve(
        &mut self,
        step: &mut StepContext<'_>,
        v: &mut [Vec3],
    ) -> Result<SolveReport, SolveError> {
        let mut report = SolveReport {
            converged: true,
            ..SolveReport::default()
        };
        self.linearisations(step, v, &mut report)?;
        if self.config.safe {
            self.make_safe(step, v, &mut report)?;
            self.refuse_tumbling(&report)?;
        }
        let Self {
            work: Some(work),
            trial,
            kept,
            solver,
            ..
        } = self
        else {
            return Ok(report);
        };
        self.held = work.held(&**solver, trial, kept);
        let eliminated = step.time(Stage::Certify, |_| {
            work.eliminated(&mut **solver, &trial.solution)
        })?;
        // A bound on the certificate is one on both norms.
        report.converged &= self.config.residual.is_none_or(|bound| eliminated <= bound);
        self.eliminated = Some(eliminated);
        solver.release();
        let found = &work.problem.contacts;
        trial.contacts.key.clone_from(&found.key);
        trial.contacts.normal.clone_from(&found.normal);
        trial.contacts.gap.clone_from(&found.gap);
        trial.contacts.correction.clone_from(&found.correction);
        step.time(Stage::Detect, |_| {
            let solution = &trial.solution;
            trial.held = work.detector.hold(found, &solution.v, &solution.r);
            work.detector.follow_sides(v, &mut trial.contacts);
        });
        if let Some(elements) = &work.elements {
            trial.multipliers = elements.multipliers().collect();
        }
        self.answer = Where::Trial;
        Ok(report)
    }
}

impl SolvedStep for Linearised {
    fn momentum_residual(
        &mut self,
        step: &mut StepContext<'_>,
        v: &[Vec3],
    ) -> Result<Cow<'_, [Vec3]>, SolveError> {
        let mut residual = vec![Vec3::zeros(); v.len()];
        let (model, state) = (step.model, step.state);
        step.dynamics.gradient(model, state, v, &mut residual)?;
        step.dynamics.momentum_of_lone(model, v, &mut residual);
        if let Some(SolvedContacts { contacts, r, .. }) = self.contacts() {
            for (c, r) in r.iter().enumerate() {
                for e in contacts.entries(c) {
                    residual[e.node as usize] -= e.tr_mul(r);
                }
            }
        }
        Ok(Cow::Owned(residual))
    }

    fn contacts(&self) -> Option<SolvedContacts<'_>> {
        let problem = &self.work.as_ref()?.problem;
        let solution = match self.answer {
            Where::Nowhere => return None,
            Where::Trial => &self.trial.solution,
            Where::Kept => &self.kept.solution,
        };
        let start = self.start.as_ref().map(|(v, r)| (&v[..], &r[..]));
        let start = start.filter(|s| s.0.len() == solution.v.len());
        Some(SolvedContacts {
            contacts: &problem.contacts,
            h: problem.h,
            v: &solution.v,
            r: &solution.r,
            system: System::Problem(problem),
            eliminated: self.eliminated,
            start,
        })
    }

    fn detector(&mut self) -> Option<(&mut Detector, &ContactSet)> {
        let work = self
            .work
            .as_mut()
            .filter(|w| !w.detector.colliders().is_empty())?;
        Some((&mut work.detector, &self.trial.contacts))
    }

    fn footprint(&self) -> Footprint {
        self.held
    }

    fn keep_start(&mut self) {
        self.start.get_or_insert_default();
    }
}

impl Persistent for Linearised {
    fn commit(&mut self) {
        std::mem::swap(&mut self.kept, &mut self.trial);
        self.answer = Where::Kept;
        // Columns of the step before: their memory is not kept while detection needs it.
        self.trial = Kept::default();
    }

    fn save(&self) -> Memory {
        let Kept {
            solution,
            contacts,
            held,
            multipliers,
        } = &self.kept;
        let own = [("r", &solution.r[..]), ("normal", &contacts.normal[..])];
        let gaps = contacts.gap.iter().zip(&contacts.correction);
        let gaps = gaps.map(|(gap, correction)| Vec3::new(*gap, *correction, 0.0));
        let held = held.iter().map(|p| Vec3::new(p.at[0], p.at[1], p.load));
        let columns = self.solver.columns().iter();
        let columns = columns.map(|name| (*name, solution.column(name)));
        Memory {
            columns: own
                .into_iter()
                .chain(columns)
                .map(|(name, c)| (name.to_owned(), c.to_vec()))
                .chain([
                    ("gap".to_owned(), gaps.collect()),
                    ("held".to_owned(), held.collect()),
                ])
                .chain(multipliers.iter().cloned())
                .collect(),
            keys: contacts
                .key
                .iter()
                .flat_map(|k| [k.first, k.second])
                .collect(),
        }
    }

    fn recall(&mut self, memory: Memory) {
        let names = self.solver.columns();
        let solution = Solution {
            v: Vec::new(),
            r: memory.column("r"),
            columns: names.iter().map(|n| (*n, memory.column(n))).collect(),
        };
        let keys = memory.keys.chunks_exact(2);
        let keys = keys.map(|key| ContactKey {
            first: key[0],
            second: key[1],
        });
        let gaps = memory.column("gap");
        let held = memory.column("held");
        let held = held.iter().map(|p| HeldPoint {
            at: [p.x, p.y],
            load: p.z,
        });
        let held = held.collect();
        let mut contacts = ContactSet {
            key: keys.collect(),
            normal: memory.column("normal"),
            gap: gaps.iter().map(|g| g.x).collect(),
            correction: gaps.iter().map(|g| g.y).collect(),
            ..ContactSet::default()
        };
        // What does not belong together is forgotten.
        if contacts.key.len() != contacts.normal.len() {
            contacts.clear();
        }
        let multipliers = memory.columns.into_iter();
        self.kept = Kept {
            solution,
            contacts,
            held,
            multipliers: multipliers.filter(|c| splitting::is_column(&c.0)).collect(),
        };
        self.answer = Where::Nowhere;
    }

    fn repeats(&self) -> bool {
        true
    }

    fn adapt(
        &mut self,
        change: &Adaptation<'_>,
        _before: &State,
        after: &State,
    ) -> Result<(), SolveError> {
        let Kept {
            solution,
            contacts,
            held,
            multipliers,
        } = &mut self.kept;
        let carried = keys::Carried {
            key: &contacts.key,
            normal: &contacts.normal,
            r: &solution.r,
        };
        let carried = keys::carry(change, &self.rules, self.config.detect, after, &carried)?;
        let n = change.before.blocks();
        for (name, column) in &mut solution.columns {
            // Before the first step there is nothing to transfer.
            *column = match (column.len() == n, self.solver.is_extensive(name)) {
                (false, _) => Vec::new(),
                (true, true) => change.impulses(column),
                (true, false) => change.interpolated(column),
            };
        }
        solution.v = Vec::new();
        solution.r = carried.r;
        (contacts.key, contacts.normal) = (carried.key, carried.normal);
        // Of the new features no gap is known.
        (contacts.gap, contacts.correction) = (Vec::new(), Vec::new());
        held.clear();
        // Elements of a new mesh start from nothing.
        let kept = |body: usize| change.change.of_body(body).is_none();
        multipliers.retain(|c| splitting::belongs(&c.0, kept));
        self.answer = Where::Nowhere;
        Ok(())
    }
}

/// The detector as a source of contacts, with its time booked to detection.
struct Timed<'a> {
    detector: &'a mut Detector,
    stages: &'a mut Stages,
}

impl ContactSource for Timed<'_> {
    fn more_contacts(&mut self, v: &[Vec3], contacts: &mut ContactSet) -> usize {
        let detector = &mut *self.detector;
        self.stages
            .time(Stage::Detect, |_| detector.more_contacts(v, contacts))
    }
}

impl Work {
    fn new(model: &Model, rules: &ContactRules, config: &Config) -> Result<Self, SolveError> {
        let n = model.blocks();
        let a = match config.integrator {
            ElasticSolver::Newton(_) => Dynamics::matrix(model),
            ElasticSolver::Splitting => Dynamics::split_matrix(model),
        };
        let mut problem = FrictionProblem::new(a, vec![Vec3::zeros(); n], 1.0);
        // Rods are eliminated from end to end wherever they are.
        let rods = |b: &Body| b.kind.as_rods().is_some();
        problem.positions = match model.bodies.iter().all(rods) {
            true => Vec::new(),
            false => {
                let bodies = model.bodies.iter();
                bodies.flat_map(|b| b.block_positions()).collect()
            }
        };
        problem.mass = model.bodies.iter().flat_map(|b| b.block_masses()).collect();
        let bodies = match model.contact {
            true => colliders(model, rules),
            false => Vec::new(),
        };
        Ok(Self {
            generation: model.generation,
            detector: Detector::new(bodies, rules.laws.clone(), config.detect)?
                .named(collider_names(model))
                .sewn(&sewn(model)),
            elements: None,
            placements: Vec::new(),
            problem,
        })
    }

    /// A and f of the step at `v`: A is the projected Hessian, f = A v − g on blocks that may move.
    fn linearise(&mut self, step: &mut StepContext<'_>, v: &[Vec3]) -> Result<(), SolveError> {
        let problem = &mut self.problem;
        let dynamics = &mut *step.dynamics;
        let at = (step.model, step.state);
        let splits = self.elements.as_mut().map(SplitElements::splits_mut);
        // The gradient is where f will be.
        dynamics.linearise_with(at, v, &mut problem.f, &mut problem.a, splits)?;
        dynamics.momentum_of_lone(step.model, v, &mut problem.f);
        problem.h = step.h;
        problem.fixed.copy_from_slice(dynamics.fixed());
        // A has no entries from prescribed blocks to others: their velocities are not part of A v.
        let product = dynamics.scratch();
        problem.a.apply(v, product);
        for i in 0..v.len() {
            problem.f[i] = if problem.fixed[i] {
                Vec3::zeros()
            } else {
                product[i] - problem.f[i]
            };
        }
        Ok(())
    }

    /// The velocity without contact, prescribed where it is. The solver may go on with the factor.
    fn predict(
        &mut self,
        solver: &mut dyn ContactSolver,
        model: &Model,
        v: &[Vec3],
        predicted: &mut [Vec3],
    ) -> Result<(), SolveError> {
        let problem = &mut self.problem;
        // Contacts of the step before do not belong to this one's matrix.
        problem.contacts.clear();
        solver
            .unconstrained(problem, predicted, 1e-6)
            .map_err(|e| match e {
                SolverError::System(e) => SolveError::system(model, e),
                e => e.into(),
            })?;
        for i in 0..v.len() {
            if problem.fixed[i] {
                predicted[i] = v[i];
            }
        }
        Ok(())
    }

    /// The contacts of the step along the predicted motion, which is in the scratch column of the
    /// dynamics.
    fn detect(
        &mut self,
        step: &mut StepContext<'_>,
        previous: &ContactSet,
        held: &[HeldPoint],
    ) -> Result<(), SolveError> {
        let (state, h) = (step.state, step.h);
        self.placements.clear();
        // The detector has no colliders in a model without contact.
        if step.model.contact {
            place(step.model, state.time, state.time + h, &mut self.placements);
        }
        let step = DetectStep {
            h,
            x: &state.x,
            rotations: &state.rotations,
            v: step.dynamics.scratch(),
            start: &state.v,
            fixed: &self.problem.fixed,
            obstacles: &self.placements,
            previous,
            held,
        };
        self.detector.detect(&step, &mut self.problem.contacts)?;
        Ok(())
    }

    /// The residual of the impulses alone [m/s], with the factor that the solver left behind, or without a
    /// factor if it makes none.
    fn eliminated(
        &self,
        solver: &mut dyn ContactSolver,
        solution: &Solution,
    ) -> Result<f64, SolverError> {
        let (problem, config) = (&self.problem, CertifyConfig::default());
        let Solution { v, r, .. } = solution;
        let factorises = solver.factorises();
        match solver.factor_at_hand(problem) {
            Some(factor) => eliminated_residual_near(problem, v, r, factor, &config),
            None if problem.contacts.is_empty() => Ok(0.0),
            None if !factorises => eliminated_residual_iterated(problem, v, r, &config),
            None => {
                let mut factor = SystemFactor::new(&problem.a, &problem.part_positions())?;
                factor.refactor(&problem.a, None)?;
                eliminated_residual_near(problem, v, r, &mut factor, &config)
            }
        }
    }

    /// Memory at the end of a solve, with the columns of this step and of the one before.
    fn held(&self, solver: &dyn ContactSolver, trial: &Kept, kept: &Kept) -> Footprint {
        let columns = [&self.problem.f, &self.problem.positions];
        let columns: usize = columns.map(|c| size_of_val(&c[..])).iter().sum();
        let solver = solver.bytes();
        let carried = trial.solution.bytes() + kept.solution.bytes();
        Footprint {
            system: self.problem.a.bytes() + solver.system + columns + carried,
            detection: self.detector.bytes(),
            contacts: self.problem.contacts.bytes()
                + kept.contacts.bytes()
                + solver.contacts
                + size_of_val(&trial.solution.r[..])
                + size_of_val(&kept.solution.r[..]),
        }
    }

    /// The names of the bodies or obstacles that limit [`Self::safe_fraction`].
    fn limiting_pair(
        &mut self,
        v: &[Vec3],
        clearance: f64,
    ) -> Result<Option<[String; 2]>, SolveError> {
        let mut pair = None;
        for k in 0..6 {
            let d = clearance * 10f64.powi(-k);
            pair = self.detector.limiting_pair(v, d)?;
            if self.detector.safe_fraction(v, d)? > 0.0 {
                break;
            }
        }
        Ok(pair)
    }

    /// The fraction of the step at `v` in which all surfaces stay `clearance` [m] apart. What starts
    /// closer need not get out at once: it must keep a tenth of that, and so on.
    fn safe_fraction(&mut self, v: &[Vec3], clearance: f64) -> Result<f64, SolveError> {
        safe_fraction(&mut self.detector, v, clearance)
    }
}

/// The fraction of the step of the last detection at `v` [m/s] in which all surfaces stay `clearance` [m] apart, or a
/// tenth of it where they start closer, and so on.
pub(crate) fn safe_fraction(
    detector: &mut Detector,
    v: &[Vec3],
    clearance: f64,
) -> Result<f64, SolveError> {
    let mut fraction = 0.0;
    for k in 0..6 {
        fraction = detector.safe_fraction(v, clearance * 10f64.powi(-k))?;
        if fraction > 0.0 {
            break;
        }
    }
    Ok(fraction)
}
