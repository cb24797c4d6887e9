//! Method `smooth` with contact: stopping, creep, orders, gas, restarts.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod common;

use stiction_bodies::{
    Model, State,
    builder::{BodySpec, Builder},
    material::{BendingLaw, Damping, MembraneLaw, RestAngles, ShellMaterial},
    motion::{Interpolation, Motion, Pose, Track},
    obstacle::{Obstacle, ObstacleShape, Solid},
    volume::{ATMOSPHERE, Region, VolumeLaw},
};
use stiction_contact::{
    detect::{Laws, PairLaw},
    smooth::{FrictionTime, Penalty},
};
use stiction_geometry::shapes::{BallSurface, BoxSolid, TetPattern};
use stiction_math::{Quat, Vec3};
use stiction_sim::{
    Memory, Simulation, Smooth,
    colliders::{ContactRules, material_names},
    forces::{ForceState, Forces},
    integrators::Integrator,
    smooth::{Config, Solver},
};

const THICKNESS: f64 = 1e-3;
const G: f64 = 9.81;

fn plane(name: &str, normal: Vec3, offset: f64, motion: Option<Motion>) -> Obstacle {
    Obstacle {
        name: name.to_owned(),
        material: "floor".to_owned(),
        shape: ObstacleShape::Solid(Solid::Plane { normal, offset }),
        placement: Pose::default(),
        motion,
    }
}

fn simulation((model, state): (Model, State), mu: f64, h: f64, config: Config) -> Simulation {
    let law = PairLaw {
        mu,
        ..PairLaw::default()
    };
    let laws = Laws::new(material_names(&model).len() as u32, |_, _| law);
    let rules = ContactRules {
        thickness: THICKNESS,
        laws,
    };
    Simulation::new(model, state, Box::new(Smooth::new(config, rules)), h).unwrap()
}

/// A stiff block of 0.1 × 0.1 × 0.05 m on a slope, with axes along it: gravity is tilted instead.
/// `sunk` is how far below the distance δ it starts, near its height at rest.
fn block(angle: f64, speed: f64, sunk: f64) -> (Model, State) {
    let (s, c) = angle.sin_cos();
    let mut b = Builder::new(Vec3::new(s, 0.0, -c) * G, None);
    b.contact(true);
    b.obstacle(plane("slope", Vec3::z(), 0.0, None));
    let shape = BoxSolid {
        size: [0.1, 0.1, 0.05],
        cells: [2, 2, 1],
        pattern: TetPattern::Kuhn,
    };
    let mut mesh = shape.build().unwrap();
    let up = Vec3::new(0.0, 0.0, 0.025 + THICKNESS - sunk);
    mesh.transform(&Quat::identity(), &Vec3::repeat(1.0), &up);
    let mut rubber = common::rubber();
    rubber.young = 1e6;
    rubber.poisson = 0.3;
    rubber.damping.stiffness = 0.01;
    let spec = BodySpec {
        velocity: Vec3::new(speed, 0.0, 0.0),
        ..BodySpec::new("block")
    };
    b.solid(spec, mesh, &rubber).unwrap();
    b.finish().unwrap()
}

fn mean(values: &[Vec3]) -> Vec3 {
    values.iter().sum::<Vec3>() / values.len() as f64
}

fn smooth(integrator: Integrator, epsilon: f64) -> Config {
    let mut config = Config {
        integrator,
        // The heights at rest below are those of this stiffness.
        kappa: Some(1e3),
        ..Config::default()
    };
    config.contact.epsilon = epsilon;
    config.newton.tolerance = 1e-3 * epsilon;
    config
}

/// Sliding distance of the block on 10° with μ = 0.177 from 0.1 m/s, and its stopping time: the first
/// time from which on a step moves it by less than 1 mm/s.
fn slide(scene: (Model, State), config: Config, h: f64) -> (f64, f64) {
    stops(simulation(scene, 0.177, h, config), h)
}

fn stops(mut sim: Simulation, h: f64) -> (f64, f64) {
    let start = mean(&sim.state().x).x;
    let mut stopped = 0.0;
    for _ in 0..(16.5 / h).round() as usize {
        let before = mean(&sim.state().x).x;
        sim.step().unwrap();
        if mean(&sim.state().x).x - before > 1e-3 * h {
            stopped = sim.state().time + h;
        }
    }
    (mean(&sim.state().x).x - start, stopped)
}

/// The contacts of a run for another one that does not follow its last step.
fn settled_contacts(sim: &Simulation) -> Memory {
    let mut memory = sim.method().save();
    for (name, column) in &mut memory.columns {
        if name == "numbers" {
            column[0].x = 0.0;
        }
    }
    memory
}

#[test]
fn a_block_stops_where_and_when_coulomb_says() {
    // v₀²/2a and v₀/a with a = g (μ cos θ − sin θ) [larionov, Sect. V-A1].
    let theta = 10f64.to_radians();
    let a = G * (0.177 * theta.cos() - theta.sin());
    let (far, long) = (0.005 / a, 0.1 / a);
    assert!((far - 0.769).abs() < 5e-4 && (long - 15.38).abs() < 5e-3);
    for h in [0.05, 0.025] {
        let (x, t) = slide(
            block(theta, 0.1, 0.0),
            smooth(Integrator::BackwardEuler, 1e-6),
            h,
        );
        assert!((x / far - 1.0).abs() < 0.01, "h = {h}: {x} m");
        assert!((t / long - 1.0).abs() < 0.01, "h = {h}: {t} s");
    }
    // The trapezoidal rule never damps the bounce of a fall, so the block has settled before the
    // push.
    let rest = smooth(Integrator::BackwardEuler, 1e-6);
    let mut sim = simulation(block(theta, 0.0, 4.4e-4), 0.177, 0.05, rest);
    (0..100).for_each(|_| assert!(sim.step().unwrap().converged));
    // Its contacts, which began in their thickness, are part of what has settled.
    let settled = |config: Config, h: f64| {
        let mut state = sim.state().clone();
        (state.time, state.step) = (0.0, 0);
        state.v.iter_mut().for_each(|v| v.x += 0.1);
        let start = (sim.model().clone(), state.clone());
        let mut pushed = simulation(start, 0.177, h, config);
        pushed.restore(state, settled_contacts(&sim));
        pushed
    };
    for h in [0.1, 0.05] {
        let (x, t) = stops(settled(smooth(Integrator::Trapezoidal, 1e-6), h), h);
        assert!((x / far - 1.0).abs() < 0.05, "h = {h}: {x} m");
        assert!((t / long - 1.0).abs() < 0.05, "h = {h}: {t} s");
    }
    // Lagged friction, which misses the normal force while the block still falls, does not get
    // there at the same step [larionov, Fig. 4].
    let mut lagged = smooth(Integrator::BackwardEuler, 1e-6);
    lagged.contact.friction = FrictionTime::Lagged { iterations: 1 };
    let (x, _) = slide(block(theta, 0.1, 0.0), lagged, 0.05);
    assert!((x / far - 1.0).abs() > 0.05, "lagged: {x} m");
}

#[test]
fn sticking_contacts_creep_as_the_smoothing_says() {
    // s(v) = 1 − (1 − v/ε)² = tan θ/μ. Friction is spread over the nodes by creeping a few elastic
    // displacements, which takes the longer the smaller ε is: so do the steps.
    let theta = 20f64.to_radians();
    let ratio = 1.0 - (1.0 - theta.tan() / 0.5).sqrt();
    for solver in [Solver::Direct, Solver::Iterative] {
        // The block lies on its contacts before it is let go: steps of up to 100 s are far too long to
        // fall onto them.
        let rest = smooth(Integrator::BackwardEuler, 1e-4);
        let mut settled = simulation(block(theta, 0.0, 4.4e-4), 0.5, 0.01, rest);
        (0..50).for_each(|_| assert!(settled.step().unwrap().converged));
        for epsilon in [1e-4, 1e-6, 1e-8] {
            let mut config = smooth(Integrator::BackwardEuler, epsilon);
            config.newton.solver = solver;
            let h = 1e-6 / epsilon;
            let mut sim = simulation(block(theta, 0.0, 4.4e-4), 0.5, h, config);
            let mut start = settled.state().clone();
            start.v.fill(Vec3::zeros());
            sim.restore(start, settled_contacts(&settled));
            for _ in 0..150 {
                assert_eq!(sim.step().unwrap().parts, 1, "{solver:?} {epsilon:e}");
            }
            let creep = mean(&sim.state().v).x;
            assert!(
                (creep / (epsilon * ratio) - 1.0).abs() < 0.01,
                "{solver:?} ε = {epsilon:e}: {creep:e} m/s"
            );
            let judged = sim.step().unwrap().certificate;
            // The certificate shows what smoothing costs.
            assert!(judged.creep > 0.9 * creep && judged.creep < epsilon);
            assert!(
                judged.overlap < 1.0,
                "the surfaces themselves do not overlap"
            );
        }
    }
}

#[test]
fn orders_hold_with_contact_and_friction() {
    // Settled first, then pushed: contacts stay closed and keep sliding.
    let mut sim = simulation(
        block(0.3, 0.0, 4.4e-4),
        0.2,
        0.01,
        smooth(Integrator::BackwardEuler, 1e-3),
    );
    for _ in 0..100 {
        sim.step().unwrap();
    }
    let mut settled = sim.state().clone();
    settled.time = 0.0;
    settled.step = 0;
    let contacts = settled_contacts(&sim);
    for (x, v) in settled.x.iter().zip(&mut settled.v) {
        *v += Vec3::new(0.1, 0.02, 0.0) + Vec3::new(0.0, 0.05, 0.005) * (x.z / 0.05);
    }
    let run = |integrator, h: f64| {
        let (model, _) = block(0.3, 0.0, 0.0);
        let mut config = smooth(integrator, 1e-3);
        config.newton.tolerance = 1e-11;
        let mut sim = simulation((model, settled.clone()), 0.2, h, config);
        sim.restore(settled.clone(), contacts.clone());
        for _ in 0..(0.02 / h).round() as usize {
            let report = sim.step().unwrap();
            assert!(report.contacts >= 9);
        }
        sim.state().clone()
    };
    let truth = run(Integrator::Sdirk2, 5e-5);
    for (name, integrator) in Integrator::NAMES {
        let error = |h: f64| {
            let end = run(integrator, h);
            let apart = end.x.iter().zip(&truth.x).map(|(a, b)| (a - b).norm());
            apart.fold(0.0, f64::max)
        };
        let (coarse, fine) = (error(1e-3), error(5e-4));
        let order = (coarse / fine).log2();
        // Leaving contact out of the trapezoidal rule costs an order, and so does friction that lags.
        let stated = match integrator {
            Integrator::BackwardEuler
            | Integrator::TrapezoidalDecoupled
            | Integrator::TrapezoidalIpc => 1.0,
            _ => 2.0,
        };
        assert!((order - stated).abs() < 0.3, "{name}: order {order}");
    }
}

/// A ball of thin rubber full of gas, between a floor and a plate that comes down.
fn ball() -> (Model, State) {
    let mut b = Builder::new(Vec3::zeros(), None);
    b.contact(true);
    b.obstacle(plane("floor", Vec3::z(), -0.1 - THICKNESS, None));
    let keys = vec![Vec3::zeros(), Vec3::new(0.0, 0.0, -0.09)];
    let track = Track::new(vec![0.0, 1.0], keys, Interpolation::Linear).unwrap();
    let motion = Motion {
        translation: Some(track.into()),
        ..Motion::default()
    };
    b.obstacle(plane("plate", -Vec3::z(), -0.1 - THICKNESS, Some(motion)));
    let mesh = BallSurface {
        radius: 0.1,
        frequency: 4,
    };
    let film = ShellMaterial {
        thickness: 1e-3,
        area_density: 1.0,
        membrane: MembraneLaw::NeoHookean {
            young: 1e8,
            poisson: 0.45,
        },
        bending: BendingLaw::FromThickness,
        rest_angles: RestAngles::Mesh,
        damping: Damping {
            mass: 5.0,
            stiffness: 1e-3,
        },
    };
    let body = b
        .shell(BodySpec::new("ball"), mesh.build().unwrap(), &film)
        .unwrap();
    let law = VolumeLaw::Gas {
        ambient: ATMOSPHERE,
    };
    b.volume("air", body, Region::Enclosed, law, 5e4).unwrap();
    b.finish().unwrap()
}

#[test]
fn gas_in_a_squeezed_ball_keeps_pressure_times_volume() {
    for solver in [Solver::Direct, Solver::Iterative] {
        let mut config = smooth(Integrator::BackwardEuler, 1e-3);
        config.newton.solver = solver;
        let mut sim = simulation(ball(), 0.3, 0.02, config);
        let mut without = sim.model().clone();
        let gas = without.volumes.remove(0);
        let amount = (ATMOSPHERE + 5e4) * gas.rest;
        let (mut least, mut worst) = (f64::INFINITY, 0.0f64);
        for step in 0..50 {
            sim.step().unwrap();
            let state = sim.state();
            // The pressure that balances elastic and contact forces, without asking the gas.
            let mut forces = Forces::new(&without);
            forces.lag(&without, &state.x, &state.rotations).unwrap();
            let mut f = vec![Vec3::zeros(); state.x.len()];
            forces
                .add(&without, ForceState::of(state), 1.0, &mut f)
                .unwrap();
            let solved = sim.method().contacts().unwrap();
            for (c, r) in solved.r.iter().enumerate() {
                for e in solved.contacts.entries(c) {
                    f[e.node as usize] += e.tr_mul(r) / solved.h;
                }
            }
            let mut g = vec![Vec3::zeros(); f.len()];
            gas.add_gradient(&state.x, 1.0, &mut g);
            let along: f64 = g.iter().zip(&f).map(|(g, f)| g.dot(f)).sum();
            let square: f64 = g.iter().map(|g| g.norm_squared()).sum();
            let pressure = ATMOSPHERE - along / square;
            let volume = gas.measure(&state.x);
            least = least.min(volume / gas.rest);
            // The first steps accelerate the film.
            if step >= 5 {
                worst = worst.max((pressure * volume / amount - 1.0).abs());
            }
        }
        assert!(least < 0.95 && worst < 0.01, "{solver:?}: {least} {worst}");
    }
}

#[test]
fn a_hard_landing_stiffens_the_contact_until_nothing_overlaps() {
    let scene = || {
        let (mut model, mut state) = block(0.0, 0.0, 0.0);
        model.bodies[0].damping = Damping::default();
        state.v.fill(Vec3::new(0.3, 0.0, -3.0));
        (model, state)
    };
    let start = 1e3;
    let config = smooth(Integrator::TrBdf2, 1e-4);
    let mut sim = simulation(scene(), 0.5, 0.002, config);
    let kappa = |sim: &Simulation| {
        let saved = sim.method().save();
        let numbers = saved.columns.iter().find(|c| c.0 == "numbers");
        numbers.unwrap().1[0].y
    };
    let mut steps = 0;
    while kappa(&sim) <= start {
        let report = sim.step().unwrap();
        assert!(report.certificate.overlap < 1.0);
        steps += 1;
        assert!(steps < 10, "the contact was never stiffened");
    }
    // A resumed run goes on bit for bit, stiffness included.
    let mut resumed = simulation(scene(), 0.5, 0.002, config);
    resumed.restore(sim.state().clone(), sim.method().save());
    for _ in 0..10 {
        sim.step().unwrap();
        resumed.step().unwrap();
        assert_eq!(sim.state(), resumed.state());
    }
}

/// A block flies at 20 m/s towards a thin slab, which is an obstacle or a body, without gravity:
/// 0.2 m per step, forty times the thickness of the slab.
fn shot(onto_a_body: bool) -> (Model, State) {
    let mut b = Builder::new(Vec3::zeros(), None);
    b.contact(true);
    let solid = |size: [f64; 3], cells: [u32; 3], z: f64| {
        let shape = BoxSolid {
            size,
            cells,
            pattern: TetPattern::Five,
        };
        let mut mesh = shape.build().unwrap();
        let up = Vec3::new(0.0, 0.0, z);
        mesh.transform(&Quat::identity(), &Vec3::repeat(1.0), &up);
        mesh
    };
    let mut rubber = common::rubber();
    rubber.young = 1e6;
    rubber.poisson = 0.3;
    rubber.damping.stiffness = 0.001;
    let spec = BodySpec {
        velocity: Vec3::new(0.0, 0.0, -20.0),
        ..BodySpec::new("block")
    };
    let size = [0.05, 0.05, 0.05];
    b.solid(spec, solid(size, [2, 2, 2], 0.1), &rubber).unwrap();
    let size = [0.2, 0.2, 0.005];
    if onto_a_body {
        let slab = solid(size, [4, 4, 1], 0.0);
        b.solid(BodySpec::new("slab"), slab, &rubber).unwrap();
    } else {
        let half = Vec3::from(size) * 0.5;
        b.obstacle(Obstacle {
            shape: ObstacleShape::Solid(Solid::Box { half }),
            ..plane("slab", Vec3::z(), 0.0, None)
        });
    }
    b.finish().unwrap()
}

#[test]
fn a_barrier_lets_nothing_pass_where_a_penalty_does() {
    for onto_a_body in [false, true] {
        // The lowest node of the block over the highest of the slab, and how deep they overlap.
        let play = |penalty: Penalty| {
            let mut config = smooth(Integrator::BackwardEuler, 1e-3);
            config.newton.tolerance = 1e-4;
            config.contact.penalty = penalty;
            let mut sim = simulation(shot(onto_a_body), 0.3, 0.01, config);
            let mut deepest: f64 = 0.0;
            for _ in 0..6 {
                let report = sim.step();
                let report = report
                    .unwrap_or_else(|e| panic!("{penalty:?}, onto a body: {onto_a_body}: {e}"));
                assert!(report.converged);
                deepest = deepest.max(report.certificate.overlap);
            }
            let over = sim.model().bodies[0].blocks.clone();
            let height = |x: &[Vec3]| x.iter().map(|x| x.z).sum::<f64>() / x.len() as f64;
            let block = height(&sim.state().x[over.clone()]);
            let slab = match onto_a_body {
                true => height(&sim.state().x[over.end..]),
                false => 0.0,
            };
            (block - slab, deepest)
        };
        let (above, deepest) = play(Penalty::Barrier);
        assert!(above > 0.01, "{onto_a_body}: {above} m");
        assert!(deepest < 1.0, "{onto_a_body}: {deepest}");
        let (above, _) = play(Penalty::Cubic);
        assert!(
            above < 0.0,
            "a penalty at this step sees nothing: {above} m"
        );
    }
}
