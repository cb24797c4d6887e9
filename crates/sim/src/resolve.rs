//! Things that overlap at the start, moved apart.
//!
//! Each round finds pairs that cross or are closer than the contact thickness
//! ([`Detector::untangle`]) and takes one backward Euler step from rest, without gravity, friction,
//! damping and attachments: the displacement h v that minimises ½ vᵀ M v + E(x + h v) such that the
//! contacts hold. Nodes thus move as little as their mass and elasticity allow, pinned nodes and
//! obstacles stay, and rest shapes and velocities are not touched.
//!
//! At the end of a step only what crosses is moved apart ([`separate`]): there the elastic forces are in the
//! balance of the step already, so that a round minimises ½ vᵀ A v with the Hessian A of the same potential, and
//! nothing moves without a contact.

use stiction_bodies::{
    Body, Model, State, material::Damping, obstacle::Obstacle, rigid::advance_rotation,
};
use stiction_contact::{
    ContactSet, FrictionProblem,
    detect::{
        DetectConfig, DetectStep, Detector, Laws, Offence, PairLaw, Placement, Sides, Tangle,
        TangleScope,
    },
    solver::{ContactSolver, Solution, Task, TaskStart},
};
use stiction_math::{Cancel, Vec3};
use stiction_solvers::admm;

use crate::{
    colliders::{ContactRules, colliders, place, sewn},
    dynamics::Dynamics,
    error::SolveError,
    overlap::{Overlap, Surfaces, overlaps},
};

/// Settings of the resolution of overlaps.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Config {
    /// Rounds before giving up.
    pub rounds: usize,
    /// Tolerated penetration below the contact thickness, as a fraction of it [1].
    pub tolerance: f64,
    /// The time step that weighs elasticity against mass [s].
    pub h: f64,
}

impl Default for Config {
    /// A hundredth of the thickness: linear contacts leave a little where surfaces turn.
    fn default() -> Self {
        Self {
            rounds: 80,
            tolerance: 0.01,
            h: 0.01,
        }
    }
}

/// Result of the resolution.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ResolveReport {
    /// Rounds taken; zero if nothing overlapped.
    pub rounds: usize,
    /// The largest displacement of a node or centre of mass [m].
    pub moved: f64,
}

/// Reason for which bodies cannot be moved apart. The state is as it was.
#[derive(Clone, Debug, thiserror::Error)]
pub enum ResolveError {
    /// Nothing that overlaps can move: it is all pinned, or an obstacle.
    #[error("{0}, and all overlapping bodies are pinned: they cannot be moved apart")]
    Held(Box<Overlap>),
    /// Something still overlaps after all rounds.
    #[error("{first} after {rounds} rounds of moving bodies apart, and {} more pairs do", .pairs - 1)]
    Stuck {
        /// The first pair.
        first: Box<Overlap>,
        /// All pairs.
        pairs: usize,
        /// Rounds taken.
        rounds: usize,
    },
    /// Points of a granular body are inside something else.
    #[error("{0}, and points of granular bodies are not moved")]
    Points(Box<Overlap>),
    /// A round failed.
    #[error(transparent)]
    Round(#[from] SolveError),
}

/// Separates overlapping bodies in `state`; on error the state is untouched.
pub fn resolve(
    model: &Model,
    state: &mut State,
    rules: &ContactRules,
    config: &Config,
) -> Result<ResolveReport, ResolveError> {
    let mut rounds = Rounds::new(model, state, rules, config.h, TangleScope::All)?;
    for round in 0..=config.rounds {
        let tangle = rounds.detect()?;
        let idle = rounds.problem.contacts.is_empty();
        let end = idle || round == config.rounds;
        let left = match end {
            true => rounds.offences(config.tolerance)?,
            false => Vec::new(),
        };
        let in_order = tangle.crossings == 0 && tangle.depth <= config.tolerance;
        if let (Some(first), false) = (left.first(), in_order) {
            let pairs = left.len();
            let surfaces = Surfaces::new(&rounds.model, &rounds.now);
            let first = Box::new(surfaces.name(&rounds.model, first));
            return Err(match idle {
                true => ResolveError::Held(first),
                false => ResolveError::Stuck {
                    first,
                    pairs,
                    rounds: round,
                },
            });
        }
        if in_order || end {
            let moved = rounds.moved(state);
            rounds.now.v.copy_from_slice(&state.v);
            // Points of granular bodies have no blocks that could be moved.
            if model.has_per_step() {
                let left = overlaps(model, &rounds.now, rules).map_err(SolveError::from)?;
                if let Some(first) = left.into_iter().find(|o| o.overlaps) {
                    return Err(ResolveError::Points(Box::new(first)));
                }
            }
            *state = rounds.now;
            return Ok(ResolveReport {
                rounds: round,
                moved,
            });
        }
        rounds.displace(Cancel::NEVER)?;
    }
    Ok(ResolveReport::default())
}

/// Moves surfaces that cross in `state` apart, in no more than `config.rounds` rounds; the positions of rigid
/// bodies, of prescribed nodes and of all that is not close to a crossing stay. What still crosses then is no
/// error. On error the state is untouched.
pub fn separate(
    model: &Model,
    state: &mut State,
    rules: &ContactRules,
    config: &Config,
    cancel: &Cancel,
) -> Result<ResolveReport, SolveError> {
    let mut rounds = Rounds::new(model, state, rules, config.h, TangleScope::Crossings)?;
    let mut report = ResolveReport::default();
    for round in 0..config.rounds {
        let tangle = rounds.detect()?;
        if tangle.crossings == 0 || rounds.problem.contacts.is_empty() {
            break;
        }
        rounds.displace(cancel)?;
        report.rounds = round + 1;
    }
    report.moved = rounds.moved(state);
    rounds.now.v.copy_from_slice(&state.v);
    *state = rounds.now;
    Ok(report)
}

/// Rounds of moving bodies apart.
struct Rounds {
    /// The model without loads and motion of its own.
    model: Model,
    now: State,
    scope: TangleScope,
    h: f64,
    detector: Detector,
    dynamics: Dynamics,
    /// Which blocks stay.
    fixed: Vec<bool>,
    placements: Vec<Placement<'static>>,
    problem: FrictionProblem,
    sides: Sides,
    solver: admm::Admm,
    still: Vec<Vec3>,
    previous: ContactSet,
}

impl Rounds {
    fn new(
        model: &Model,
        state: &State,
        rules: &ContactRules,
        h: f64,
        scope: TangleScope,
    ) -> Result<Self, SolveError> {
        let model = standing(model, state);
        let laws = Laws::new(rules.laws.count(), |_, _| PairLaw::default());
        let detector = Detector::new(colliders(&model, rules), laws, DetectConfig::default())?
            .sewn(&sewn(&model));
        let mut placements = Vec::new();
        place(&model, state.time, state.time, &mut placements);
        let n = model.blocks();
        let mut problem = FrictionProblem::new(Dynamics::matrix(&model), vec![Vec3::zeros(); n], h);
        problem.positions = model
            .bodies
            .iter()
            .flat_map(|b| b.block_positions())
            .collect();
        problem.mass = model.bodies.iter().flat_map(|b| b.block_masses()).collect();
        let dynamics = Dynamics::new(&model);
        let mut now = state.clone();
        now.v.fill(Vec3::zeros());
        let solver = admm::Admm::new(admm::Config {
            max_iterations: 200,
            contacts_every: 0,
            start: admm::Start::Unconstrained,
            velocity: admm::Velocity::Feasible,
            ..admm::Config::default()
        });
        Ok(Self {
            model,
            now,
            scope,
            h,
            detector,
            dynamics,
            fixed: Vec::new(),
            placements,
            problem,
            sides: Sides::default(),
            solver,
            still: vec![Vec3::zeros(); n],
            previous: ContactSet::default(),
        })
    }

    /// The state as a step in which nothing moves.
    fn step(&self) -> DetectStep<'_> {
        DetectStep {
            h: self.h,
            x: &self.now.x,
            rotations: &self.now.rotations,
            v: &self.still,
            fixed: &self.fixed,
            start: &self.still,
            obstacles: &self.placements,
            previous: &self.previous,
            held: &[],
        }
    }

    /// The contacts of the next round.
    fn detect(&mut self) -> Result<Tangle, SolveError> {
        let mut v = std::mem::take(&mut self.still);
        let begun = self
            .dynamics
            .begin(&self.model, &self.now, self.h, &mut v)
            .and_then(|()| Ok(self.dynamics.lag(&self.model, &self.now)?));
        v.fill(Vec3::zeros());
        self.still = v;
        begun?;
        self.fixed.clear();
        self.fixed.extend_from_slice(self.dynamics.fixed());
        if self.scope == TangleScope::Crossings {
            for (body, _) in self.model.rigids() {
                self.fixed[body.blocks.clone()].fill(true);
            }
        }
        let mut contacts = std::mem::take(&mut self.problem.contacts);
        let mut sides = std::mem::take(&mut self.sides);
        let tangle = {
            let step = self.step();
            self.detector
                .untangle(&step, self.scope, &mut sides, &mut contacts)
        };
        (self.problem.contacts, self.sides) = (contacts, sides);
        Ok(tangle?)
    }

    /// All that still overlaps.
    fn offences(&self, tolerance: f64) -> Result<Vec<Offence>, SolveError> {
        Ok(self.detector.offences(&self.step(), tolerance)?)
    }

    /// The displacement of a round.
    fn displace(&mut self, cancel: &Cancel) -> Result<(), SolveError> {
        let problem = &mut self.problem;
        let dynamics = &mut self.dynamics;
        dynamics.linearise(
            &self.model,
            &self.now,
            &self.still,
            &mut problem.f,
            &mut problem.a,
        )?;
        match self.scope {
            TangleScope::All => problem.f.iter_mut().for_each(|f| *f = -*f),
            TangleScope::Crossings => {
                problem.f.fill(Vec3::zeros());
                problem.a.eliminate(&self.fixed);
            }
        }
        problem.fixed.copy_from_slice(&self.fixed);
        let mut found = Solution::default();
        let mut task = Task {
            problem,
            source: &mut self.detector,
            start: TaskStart::Configured,
            polish: false,
            target: None,
            local: None,
            cancel,
            observer: &mut |_| {},
        };
        self.solver.solve(&mut task, &mut found)?;
        advance(&self.model, &mut self.now, &found.v, self.h, &self.fixed);
        Ok(())
    }

    /// The largest displacement of a node or centre of mass from `state` [m].
    fn moved(&self, state: &State) -> f64 {
        let moved = self.now.x.iter().zip(&state.x).map(|(a, b)| (a - b).norm());
        moved.fold(0.0, f64::max)
    }
}

/// The model without loads and motion of its own, and with prescribed bodies at rest.
fn standing(model: &Model, state: &State) -> Model {
    let mut still = model.clone();
    still.gravity = Vec3::zeros();
    still.gravity_track = None;
    still.air = None;
    // Stitches name the vertices that are to meet, and pull at nothing.
    still.attachments.retain(|s| s.closing.is_some());
    for stitch in &mut still.attachments {
        stitch.stiffness = 0.0;
        stitch.damping = 0.0;
    }
    for body in &mut still.bodies {
        body.acceleration = Vec3::zeros();
        body.load = None;
        body.damping = Damping::default();
        body.drag = None;
    }
    for pin in &mut still.pins {
        pin.motion = None;
        pin.start = state.x[pin.block];
        if let Some(spin) = &mut pin.spin {
            spin.start = state.rotations[spin.rigid];
        }
        if let Some(clamp) = &mut pin.clamp {
            clamp.director = material_director(&model.bodies[clamp.body], clamp.edge, state);
        }
    }
    for frame in &mut still.held_frames {
        frame.motion = None;
        let clamp = &mut frame.clamp;
        clamp.director = material_director(&model.bodies[clamp.body], clamp.edge, state);
    }
    for obstacle in &mut still.obstacles {
        *obstacle = Obstacle {
            placement: obstacle.pose(state.time),
            motion: None,
            ..obstacle.clone()
        };
    }
    still
}

/// The material director of an edge of a rod as it is.
fn material_director(body: &Body, edge: usize, state: &State) -> Vec3 {
    let x = &state.x[body.blocks.clone()];
    let rods = body.kind.as_rods();
    let edge = rods.and_then(|rods| rods.edge_at(edge, x, &rods.start(x, &state.frames)));
    edge.map_or_else(Vec3::x, |e| e.material_director())
}

/// One displacement, from rest.
fn advance(model: &Model, state: &mut State, v: &[Vec3], h: f64, fixed: &[bool]) {
    let before = state.x.clone();
    for body in &model.bodies {
        let rigid = body.kind.mechanics().orientation();
        for i in body.blocks.clone() {
            if fixed[i] || !v[i].iter().all(|c| c.is_finite()) {
                continue;
            }
            match rigid {
                Some(r) if i > body.blocks.start => {
                    state.rotations[r] = advance_rotation(&state.rotations[r], &v[i], h);
                }
                _ => state.x[i] += v[i] * h,
            }
        }
        if let Some(rods) = body.kind.as_rods() {
            let range = body.blocks.clone();
            rods.carry(&before[range.clone()], &state.x[range], &mut state.frames);
        }
    }
}
