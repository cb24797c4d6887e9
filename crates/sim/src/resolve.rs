//! Things that overlap at the start, moved apart.
//!
//! Each round finds pairs that cross or are closer than the contact thickness
//! ([`Detector::untangle`]) and takes one backward Euler step from rest, without gravity, friction,
//! damping and attachments: the displacement h v that minimises ½ vᵀ M v + E(x + h v) such that the
//! contacts hold. Nodes thus move as little as their mass and elasticity allow, pinned nodes and
//! obstacles stay, and rest shapes and velocities are not touched.

use stiction_bodies::{
    Body, Model, State, material::Damping, obstacle::Obstacle, rigid::advance_rotation,
};
use stiction_contact::{
    ContactSet, FrictionProblem,
    detect::{DetectConfig, DetectError, DetectStep, Detector, Laws, PairLaw, Sides},
    solver::{ContactSolver, Solution, SolverError, Task, TaskStart},
};
use stiction_math::{Cancel, ScatterError, Vec3};
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
    /// The search refuses the state.
    #[error(transparent)]
    Detect(#[from] DetectError),
    /// The step cannot begin.
    #[error(transparent)]
    Begin(#[from] SolveError),
    /// The matrix does not fit the model.
    #[error(transparent)]
    Assembly(#[from] ScatterError),
    /// The contact solver could not work.
    #[error(transparent)]
    Solver(#[from] SolverError),
}

/// Separates overlapping bodies in `state`; on error the state is untouched.
pub fn resolve(
    model: &Model,
    state: &mut State,
    rules: &ContactRules,
    config: &Config,
) -> Result<ResolveReport, ResolveError> {
    let mut apart = state.clone();
    let report = separate(model, &mut apart, rules, config)?;
    // Their points have no blocks that could be moved.
    if model.has_per_step() {
        let left = overlaps(model, &apart, rules)?;
        if let Some(first) = left.into_iter().find(|o| o.overlaps) {
            return Err(ResolveError::Points(Box::new(first)));
        }
    }
    *state = apart;
    Ok(report)
}

fn separate(
    model: &Model,
    state: &mut State,
    rules: &ContactRules,
    config: &Config,
) -> Result<ResolveReport, ResolveError> {
    let model = standing(model, state);
    let laws = Laws::new(rules.laws.count(), |_, _| PairLaw::default());
    let mut detector =
        Detector::new(colliders(&model, rules), laws, DetectConfig::default())?.sewn(&sewn(&model));
    let mut placements = Vec::new();
    place(&model, state.time, state.time, &mut placements);
    let n = model.blocks();
    let mut problem =
        FrictionProblem::new(Dynamics::matrix(&model), vec![Vec3::zeros(); n], config.h);
    problem.positions = model
        .bodies
        .iter()
        .flat_map(|b| b.block_positions())
        .collect();
    problem.mass = model.bodies.iter().flat_map(|b| b.block_masses()).collect();
    let mut dynamics = Dynamics::new(&model);
    let mut now = state.clone();
    now.v.fill(Vec3::zeros());
    let mut v = vec![Vec3::zeros(); n];
    let mut sides = Sides::default();
    let none = ContactSet::default();
    let mut solver = admm::Admm::new(admm::Config {
        max_iterations: 200,
        contacts_every: 0,
        start: admm::Start::Unconstrained,
        velocity: admm::Velocity::Feasible,
        ..admm::Config::default()
    });
    for round in 0..=config.rounds {
        dynamics.begin(&model, &now, config.h, &mut v)?;
        dynamics.lag(&model, &now)?;
        v.fill(Vec3::zeros());
        let step = DetectStep {
            h: config.h,
            x: &now.x,
            rotations: &now.rotations,
            v: &v,
            fixed: dynamics.fixed(),
            start: &v,
            obstacles: &placements,
            previous: &none,
            held: &[],
        };
        let tangle = detector.untangle(&step, &mut sides, &mut problem.contacts)?;
        let left = match problem.contacts.is_empty() || round == config.rounds {
            true => detector.offences(&step, config.tolerance)?,
            false => Vec::new(),
        };
        let in_order = tangle.crossings == 0 && tangle.depth <= config.tolerance;
        if let (Some(first), false) = (left.first(), in_order) {
            let pairs = left.len();
            let first = Box::new(Surfaces::new(&model, &now).name(&model, first));
            return Err(match problem.contacts.is_empty() {
                true => ResolveError::Held(first),
                false => ResolveError::Stuck {
                    first,
                    pairs,
                    rounds: round,
                },
            });
        }
        if in_order || problem.contacts.is_empty() || round == config.rounds {
            let moved = now.x.iter().zip(&state.x).map(|(a, b)| (a - b).norm());
            let moved = moved.fold(0.0, f64::max);
            now.v.copy_from_slice(&state.v);
            *state = now;
            return Ok(ResolveReport {
                rounds: round,
                moved,
            });
        }
        dynamics.linearise(&model, &now, &v, &mut problem.f, &mut problem.a)?;
        problem.f.iter_mut().for_each(|f| *f = -*f);
        problem.fixed.copy_from_slice(dynamics.fixed());
        let mut found = Solution::default();
        let mut task = Task {
            problem: &mut problem,
            source: &mut detector,
            start: TaskStart::Configured,
            polish: false,
            target: None,
            local: None,
            cancel: Cancel::NEVER,
            observer: &mut |_| {},
        };
        solver.solve(&mut task, &mut found)?;
        advance(&model, &mut now, &found.v, config.h, &problem.fixed);
    }
    Ok(ResolveReport::default())
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
