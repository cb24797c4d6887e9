//! Method `admm`: frictional contact by splitting, inside projected Newton [daviet2020].
//!
//! Each Newton iteration linearises the step to A v = f + Bᵀ r and hands it, with the contacts, to
//! the solver. Contacts are looked for once per step along the unconstrained motion, and again by
//! the solver while it works.
//!
//! **Deviations from the paper**
//! - A step whose end is not reached safely, by conservative detection along the whole motion, is
//!   solved again with contacts against what passes, and at last refused: the step is then cut in
//!   halves. The paper accepts it.
//! - No line search: the contact solve replaces the step that a line search would shorten.
//! - The last iteration's linear problem is what the certificate judges.
//!
//! For comparison, the same Newton iterations can hand their linear problems to nested relaxation
//! instead [daviet2020, Sect. 7.1]: see [`ContactSolver`].

use stiction_bodies::{Body, Model, State};
use stiction_contact::{
    ContactKey, ContactSet, FrictionProblem,
    detect::{ContactSource, DetectConfig, Detector, Overlap, Placement, Step},
};
use stiction_math::{LinearOperator, Vec3};
use stiction_solvers::{admm as solver, finish::admm_with_newton, ica};

use crate::{
    colliders::{ContactRules, colliders, place},
    dynamics::Dynamics,
    method::{
        Evidence, Footprint, Memory, Method, SolveError, SolveReport, StepContext, Unsupported,
    },
    splitting::{self, Elements},
    stages::{Stage, Stages},
};

/// How the method is run.
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    /// How the elastic step is solved.
    pub integrator: Integrator,
    /// Which solver the linear problems go to; the splitting integrator has its own.
    pub by: ContactSolver,
    /// How it works; nested relaxation takes tolerance, iterations and sweeps from it.
    pub solver: solver::Config,
    /// The detector.
    pub detect: DetectConfig,
    /// Whether a step that would make surfaces touch or pass is refused, and so cut in halves:
    /// then nothing ever interpenetrates, whatever the solver's tolerance.
    pub safe: bool,
}

/// How the elastic step is solved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Integrator {
    /// Projected Newton with so many linearisations per step.
    Newton(usize),
    /// One alternating loop in which every elastic element is a constraint with its own local step
    /// and contact is one more [daviet2020, Sect. 6.1], [narain2016]. Its matrix does not depend on
    /// the deformation. It uses the solver's tolerance and iterations; attachments and rotations of
    /// rigid bodies are linearised once per step.
    Splitting,
}

/// Surfaces must keep this part of their thickness, lest rounding makes them touch.
const CLEARANCE: f64 = 1e-3;

/// How often a step that would make surfaces pass is solved again with contacts against it.
const ROUNDS: usize = 4;

/// Who solves the linear problems.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ContactSolver {
    /// Splitting, which the method is named after.
    #[default]
    Splitting,
    /// Nested relaxation with the same law (NL-ICA), with the contacts known at its start.
    NestedRelaxation,
}

impl Config {
    /// The paper's settings.
    pub fn paper() -> Self {
        Self {
            integrator: Integrator::Newton(2), // [daviet2020, Table 5]
            by: ContactSolver::Splitting,
            solver: solver::Config::paper(),
            detect: DetectConfig::default(),
            safe: true,
        }
    }
}

impl Default for Config {
    /// The paper's two Newton iterations; the solver starts such that rest stays rest and is given
    /// the iterations to get there.
    fn default() -> Self {
        let solver = solver::Config {
            tolerance: 1e-7,
            max_iterations: 500,
            ..solver::Config::default()
        };
        Self {
            solver,
            ..Self::paper()
        }
    }
}

/// Frictional contact by splitting.
pub struct Admm {
    config: Config,
    rules: ContactRules,
    work: Option<Work>,
    /// What is carried from step to step.
    state: solver::State,
    /// The contacts of the last step: keys and normals, which are all that is asked for again.
    contacts: ContactSet,
    /// Multipliers of elastic elements from a checkpoint, by body and term.
    multipliers: Vec<(String, Vec<Vec3>)>,
    /// Velocities and impulses that the last contact problem was started from, if they are asked for.
    start: Option<(Vec<Vec3>, Vec<Vec3>)>,
    /// The memory of the last solve.
    held: Footprint,
}

struct Work {
    detector: Detector,
    problem: FrictionProblem,
    /// For the alternating integrator.
    elements: Option<Elements>,
    /// Made at the first solve: it examines a matrix with numbers in it.
    solver: Option<solver::Admm>,
    placements: Vec<Placement<'static>>,
}

impl Admm {
    /// The method with the given settings.
    pub fn new(config: Config, rules: ContactRules) -> Self {
        Self {
            config,
            rules,
            work: None,
            state: solver::State::default(),
            contacts: ContactSet::default(),
            multipliers: Vec::new(),
            start: None,
            held: Footprint::default(),
        }
    }

    fn attempt(&mut self, step: StepContext, v: &mut [Vec3]) -> Result<SolveReport, SolveError> {
        let StepContext {
            model,
            state,
            h,
            dynamics,
            stages,
        } = step;
        let Self {
            config,
            rules,
            work,
            contacts,
            ..
        } = self;
        let work = match work {
            Some(work) => work,
            None => work.insert(stages.time(Stage::Build, || Work::new(model, rules, config))?),
        };
        let mut report = SolveReport {
            converged: true,
            ..SolveReport::default()
        };
        let linearisations = match config.integrator {
            Integrator::Newton(count) => count,
            Integrator::Splitting => {
                let elements = work.elements.get_or_insert_with(|| Elements::new(model));
                elements.begin(model, dynamics, state, v, h, &mut self.multipliers);
                1
            }
        };
        for newton in 0..linearisations {
            stages.time(Stage::Build, || {
                work.linearise((model, state), dynamics, h, v)
            })?;
            let mut start = solver::Start::Given;
            if newton == 0 {
                let room = dynamics.room();
                stages.time(Stage::Solve, || work.predict(model, v, room))?;
                stages.time(Stage::Detect, || {
                    work.detect(model, state, h, room, contacts)
                })?;
                self.state.carry(contacts, &work.problem.contacts);
                // Later the last iterate of the contact solver is the best guess [Sect. 6.2.1].
                start = config.solver.start;
            }
            // What is linearised again need not be finished.
            let last = newton + 1 == linearisations;
            remember(&mut self.start, work, &self.state);
            stages.time(Stage::Solve, || {
                let step = (model, state, &*dynamics);
                work.solve(step, &mut self.state, config, start, last, v, &mut report)
            })?;
            work.tell_time(stages);
        }
        if config.safe {
            let clearance = CLEARANCE * rules.thickness;
            for round in 0.. {
                let fraction = stages.time(Stage::Detect, || work.safe_fraction(v, clearance))?;
                if fraction >= 1.0 {
                    break;
                }
                let more = stages.time(Stage::Detect, || {
                    work.detector.more_contacts(v, &mut work.problem.contacts)
                });
                if more == 0 || round == ROUNDS {
                    return Err(SolveError::Passes { fraction });
                }
                remember(&mut self.start, work, &self.state);
                stages.time(Stage::Solve, || {
                    let start = solver::Start::Given;
                    let step = (model, state, &*dynamics);
                    work.solve(step, &mut self.state, config, start, true, v, &mut report)
                })?;
                work.tell_time(stages);
            }
        }
        if let Some(block) = v.iter().position(|v| !v.iter().all(|c| c.is_finite())) {
            return Err(SolveError::not_finite(model, block));
        }
        self.held = work.held(&self.state, contacts);
        if let Some(solver) = &mut work.solver {
            solver.rest();
        }
        let found = &work.problem.contacts;
        self.contacts.key.clone_from(&found.key);
        self.contacts.normal.clone_from(&found.normal);
        stages.time(Stage::Detect, || {
            work.detector.follow_sides(v, &mut self.contacts);
        });
        Ok(report)
    }
}

impl Method for Admm {
    fn name(&self) -> &'static str {
        "admm"
    }

    fn needs(&self, model: &Model) -> Result<(), Unsupported> {
        if self.config.integrator == Integrator::Splitting {
            Unsupported::dynamic_twist(self.name(), model)?;
            Unsupported::frames(self.name(), model)?;
            Unsupported::open_kinds(self.name(), model)?;
        }
        Unsupported::per_step(self.name(), model)?;
        Unsupported::volumes(self.name(), model)
    }

    fn solve(&mut self, step: StepContext<'_>, v: &mut [Vec3]) -> Result<SolveReport, SolveError> {
        // After a failure the halves of the step start where the whole did.
        // Where steps are not refused, which takes a second copy of all columns, only the impulses are
        // kept: they are put in a new order first. Velocities and λ then start from nothing.
        let impulses = !self.config.safe;
        let kept = match impulses {
            true => solver::State {
                r: self.state.r.clone(),
                ..solver::State::default()
            },
            false => self.state.clone(),
        };
        let solved = self.attempt(step, v);
        if solved.is_err() {
            match impulses {
                true => self.state.r = kept.r,
                false => self.state = kept,
            }
        }
        solved
    }

    fn evidence(&self) -> Option<Evidence<'_>> {
        let problem = &self.work.as_ref()?.problem;
        let (v, r) = (&self.state.v, &self.state.r);
        // A solve that failed leaves nothing to judge.
        if v.len() != problem.blocks() || r.len() != problem.contacts.len() {
            return None;
        }
        let start = self.start.as_ref().map(|(v, r)| (&v[..], &r[..]));
        let start = start.filter(|s| s.0.len() == v.len());
        Some(Evidence {
            problem,
            v,
            r,
            start,
        })
    }

    fn keep_start(&mut self) {
        self.start.get_or_insert_default();
    }

    fn footprint(&self) -> Footprint {
        self.held
    }

    fn overlap(&mut self, model: &Model, state: &State) -> Result<Overlap, SolveError> {
        let Some(work) = self.work.as_mut() else {
            return Ok(Overlap::default());
        };
        place(model, state.time, state.time, &mut work.placements);
        let now = Step {
            h: work.problem.h,
            x: &state.x,
            rotations: &state.rotations,
            v: &state.v,
            start: &state.v,
            fixed: &work.problem.fixed,
            obstacles: &work.placements,
            previous: &self.contacts,
        };
        Ok(work.detector.overlap(&now, 0.0)?)
    }

    fn save(&self) -> Memory {
        let s = &self.state;
        let columns = [
            ("v", &s.v),
            ("lambda", &s.lambda),
            ("balance", &s.balance),
            ("r", &s.r),
            ("normal", &self.contacts.normal),
        ];
        let elements = self.work.as_ref().and_then(|w| w.elements.as_ref());
        Memory {
            columns: columns
                .into_iter()
                .map(|(name, c)| (name.to_owned(), c.clone()))
                .chain(elements.into_iter().flat_map(Elements::multipliers))
                .collect(),
            keys: self
                .contacts
                .key
                .iter()
                .flat_map(|k| [k.first, k.second])
                .collect(),
        }
    }

    fn recall(&mut self, memory: Memory) {
        let column = |name: &str| {
            memory
                .columns
                .iter()
                .find(|c| c.0 == name)
                .map(|c| c.1.clone())
                .unwrap_or_default()
        };
        self.state = solver::State {
            v: column("v"),
            lambda: column("lambda"),
            balance: column("balance"),
            r: column("r"),
        };
        self.multipliers = memory
            .columns
            .iter()
            .filter(|c| splitting::is_column(&c.0))
            .cloned()
            .collect();
        let keys = memory.keys.chunks_exact(2);
        let keys = keys.map(|key| ContactKey {
            first: key[0],
            second: key[1],
        });
        self.contacts.key = keys.collect();
        self.contacts.normal = column("normal");
        // What does not belong together is forgotten.
        if self.contacts.key.len() != self.contacts.normal.len() {
            self.contacts.clear();
        }
    }
}

/// Keeps what a solve starts from, if that is asked for. The problem of an alternating integrator
/// changes while it is solved: it has no start to show.
fn remember(start: &mut Option<(Vec<Vec3>, Vec<Vec3>)>, work: &Work, state: &solver::State) {
    if let Some((v, r)) = start.as_mut().filter(|_| work.elements.is_none()) {
        v.clone_from(&state.v);
        r.clone_from(&state.r);
    }
}

/// Nested relaxation from the velocities and impulses of the step before.
fn relax(
    problem: &FrictionProblem,
    state: &mut solver::State,
    config: &solver::Config,
) -> Result<solver::Report, SolveError> {
    let config = ica::Config {
        tolerance: config.tolerance,
        max_iterations: config.max_iterations,
        sweeps: config.sweeps,
        ..ica::Config::paper()
    };
    let mut own = ica::State {
        v: std::mem::take(&mut state.v),
        r: std::mem::take(&mut state.r),
    };
    let solved = ica::solve(problem, &mut own, &config);
    (state.v, state.r) = (own.v, own.r);
    let solved = solved?;
    Ok(solver::Report {
        iterations: solved.iterations,
        delta: solved.delta,
        converged: solved.converged,
        ..solver::Report::default()
    })
}

impl Work {
    fn new(model: &Model, rules: &ContactRules, config: &Config) -> Result<Self, SolveError> {
        let n = model.blocks();
        let a = match config.integrator {
            Integrator::Newton(_) => Dynamics::matrix(model),
            Integrator::Splitting => Dynamics::split_matrix(model),
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
        Ok(Self {
            detector: Detector::new(colliders(model, rules), rules.laws.clone(), config.detect)?,
            elements: None,
            solver: None,
            placements: Vec::new(),
            problem,
        })
    }

    /// A and f of the step at `v`: A is the projected Hessian, f = A v − g on blocks that may move.
    fn linearise(
        &mut self,
        (model, state): (&Model, &State),
        dynamics: &mut Dynamics,
        h: f64,
        v: &[Vec3],
    ) -> Result<(), SolveError> {
        let problem = &mut self.problem;
        let splits = self.elements.as_mut().map(Elements::splits_mut);
        // The gradient is where f will be.
        dynamics.linearise_with((model, state), v, &mut problem.f, &mut problem.a, splits)?;
        problem.h = h;
        problem.fixed.copy_from_slice(dynamics.fixed());
        // A has no entries from prescribed blocks to others: their velocities are not part of A v.
        let product = dynamics.room();
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

    /// The velocity without contact, prescribed where it is. The solver goes on with the factor.
    fn predict(
        &mut self,
        model: &Model,
        v: &[Vec3],
        predicted: &mut [Vec3],
    ) -> Result<(), SolveError> {
        let Self {
            problem, solver, ..
        } = self;
        // Contacts of the step before do not belong to this one's matrix.
        problem.contacts.clear();
        let solver = match solver {
            Some(solver) => solver,
            None => solver.insert(admm_with_newton(problem)?),
        };
        solver
            .unconstrained(problem, predicted, 1e-6)
            .map_err(|e| match e {
                solver::Error::System(e) => SolveError::system(model, e),
                e => e.into(),
            })?;
        for i in 0..v.len() {
            if problem.fixed[i] {
                predicted[i] = v[i];
            }
        }
        Ok(())
    }

    /// The contact solver on the problem of the step, from `state` to `state` and `v`; whether it is
    /// the `last` linearisation.
    fn solve(
        &mut self,
        (model, from, dynamics): (&Model, &State, &Dynamics),
        state: &mut solver::State,
        config: &Config,
        start: solver::Start,
        last: bool,
        v: &mut [Vec3],
        report: &mut SolveReport,
    ) -> Result<(), SolveError> {
        let problem = &mut self.problem;
        let solver = match &mut self.solver {
            Some(solver) => solver,
            none => none.insert(admm_with_newton(problem)?),
        };
        let mut settings = solver::Config {
            start,
            ..config.solver.clone()
        };
        if !last && settings.finish.take().is_some() {
            settings.stop = solver::Stop::Change;
        }
        state.r.resize(problem.contacts.len(), Vec3::zeros());
        let detector = &mut self.detector;
        let solved = match (&mut self.elements, config.by) {
            (Some(elements), _) => {
                let mut elastic = elements.local_step((model, from), dynamics, v, problem.h);
                solver.solve_split(problem, state, &settings, detector, &mut elastic)?
            }
            (None, ContactSolver::NestedRelaxation) => relax(problem, state, &settings)?,
            (None, ContactSolver::Splitting) => {
                solver.solve_with(problem, state, &settings, detector, &mut |_| {})?
            }
        };
        report.iterations += solved.iterations + solved.factorisations;
        report.linear_iterations += solved.linear_iterations;
        // A problem that is linearised again was not meant to be finished.
        if last {
            report.converged = solved.converged;
        }
        report.change = solved.delta / problem.h;
        report.contacts = problem.contacts.len();
        for i in 0..v.len() {
            if !problem.fixed[i] {
                v[i] = state.v[i];
            }
        }
        Ok(())
    }

    /// What is held at the end of a solve from `state`, with the `contacts` of the step before.
    fn held(&self, state: &solver::State, contacts: &ContactSet) -> Footprint {
        let columns = [
            &self.problem.f,
            &self.problem.positions,
            &state.v,
            &state.lambda,
            &state.balance,
        ];
        let columns: usize = columns.map(|c| size_of_val(&c[..])).iter().sum();
        let solver = self.solver.as_ref();
        Footprint {
            system: self.problem.a.bytes() + solver.map_or(0, |s| s.bytes()) + columns,
            detection: self.detector.bytes(),
            contacts: self.problem.contacts.bytes()
                + contacts.bytes()
                + solver.map_or(0, |s| s.projection_bytes())
                + size_of_val(&state.r[..]),
        }
    }

    /// Counts what the solver did where it belongs: contacts that it asked for are detection.
    fn tell_time(&mut self, stages: &mut Stages) {
        let Some(solver) = &mut self.solver else {
            return;
        };
        let clock = std::mem::take(&mut solver.clock);
        stages.add(Stage::Detect, clock.detection);
        stages.add(Stage::Solve, -clock.detection);
        stages.linear += clock.linear;
        stages.projection += clock.projection;
    }

    /// The fraction of the step at `v` in which all surfaces stay `clearance` [m] apart. What starts
    /// closer need not get out at once: it is asked to keep a tenth of that, and so on.
    fn safe_fraction(&mut self, v: &[Vec3], clearance: f64) -> Result<f64, SolveError> {
        let mut fraction = 0.0;
        for k in 0..6 {
            fraction = self.detector.safe_fraction(v, clearance * 10f64.powi(-k))?;
            if fraction > 0.0 {
                break;
            }
        }
        Ok(fraction)
    }

    fn detect(
        &mut self,
        model: &Model,
        state: &State,
        h: f64,
        predicted: &[Vec3],
        previous: &ContactSet,
    ) -> Result<usize, SolveError> {
        place(model, state.time, state.time + h, &mut self.placements);
        let step = Step {
            h,
            x: &state.x,
            rotations: &state.rotations,
            v: predicted,
            start: &state.v,
            fixed: &self.problem.fixed,
            obstacles: &self.placements,
            previous,
        };
        self.detector.detect(&step, &mut self.problem.contacts)?;
        Ok(self.problem.contacts.len())
    }
}
