//! Surfaces that cross at the end of a step are moved apart.
#![allow(clippy::unwrap_used)]

mod common;

use common::{cloth, sheet};
use stiction_bodies::{
    Model, State,
    builder::{BodySpec, Builder},
    material::Damping,
    motion::Motion,
    obstacle::{Obstacle, ObstacleShape, Solid},
};
use stiction_contact::detect::{Laws, PairLaw};
use stiction_geometry::collide::triangles_intersect;
use stiction_geometry::{analytic::Pose, shapes::BoxSurface};
use stiction_math::{Quat, Vec3};
use stiction_sim::{
    Failsafe, MethodConfig, Simulation, StepReport,
    colliders::{ContactRules, material_names},
    linearised::Linearisations,
    methods::nodal,
};

const T: f64 = 2e-3;

fn rules(model: &Model) -> ContactRules {
    let law = PairLaw {
        mu: 0.3,
        ..PairLaw::default()
    };
    ContactRules {
        thickness: T,
        laws: Laws::new(material_names(model).len() as u32, |_, _| law),
    }
}

fn shell(b: &mut Builder, name: &str, cells: u32, turn: Vec3, shift: Vec3) {
    let mut mesh = sheet(cells);
    let size = Vec3::repeat(0.2);
    mesh.transform(&Quat::from_scaled_axis(turn), &size, &shift);
    b.shell(BodySpec::new(name), mesh, &cloth()).unwrap();
}

/// Every pair of triangles without a common vertex, one by one.
fn crossings(model: &Model, state: &State) -> usize {
    let mut all = Vec::new();
    for (i, body) in model.bodies.iter().enumerate() {
        let mut x = Vec::new();
        body.vertices(state, &mut x);
        for t in &body.surface.triangles {
            all.push((i, *t, t.map(|v| x[v as usize])));
        }
    }
    let mut count = 0;
    for (k, (i, a, xa)) in all.iter().enumerate() {
        let apart =
            |(j, b, _): &&(usize, [u32; 3], [Vec3; 3])| i != j || !a.iter().any(|v| b.contains(v));
        let others = all[k + 1..].iter().filter(apart);
        count += others.filter(|o| triangles_intersect(xa, &o.2)).count();
    }
    count
}

/// The paper's solver, stopped after one sweep, in steps that are never refused.
fn stopped_early() -> nodal::Config {
    let mut config = nodal::Config::paper();
    config.solver.max_iterations = 1;
    config.linearisations = Linearisations::Fixed(1);
    config.safe = false;
    config
}

fn simulation(
    model: Model,
    state: State,
    config: &nodal::Config,
    failsafe: bool,
    h: f64,
) -> Simulation {
    let rules = rules(&model);
    let method = config.build(rules.clone());
    let mut sim = Simulation::new(model, state, method, h).unwrap();
    if failsafe {
        sim.separate_by(Failsafe::new(rules));
    }
    sim
}

#[test]
fn two_sheets_that_start_crossed_come_apart_in_one_step() {
    for tilt in [0.05, 0.15, -0.1] {
        let step = |failsafe: bool| -> (StepReport, Simulation) {
            let mut b = Builder::new(Vec3::zeros(), None);
            b.contact(true);
            shell(&mut b, "lower", 12, Vec3::zeros(), Vec3::zeros());
            // One side of the upper sheet dips through the lower one.
            let height = 0.1 * f64::sin(f64::abs(tilt)) - 2e-3;
            let shift = Vec3::new(0.013, 0.007, height);
            shell(&mut b, "upper", 11, Vec3::new(0.0, tilt, 0.0), shift);
            let (model, state) = b.finish().unwrap();
            assert!(crossings(&model, &state) > 5);
            let config = nodal::Config {
                safe: false,
                ..nodal::Config::default()
            };
            let mut sim = simulation(model, state, &config, failsafe, 5e-3);
            (sim.step().unwrap(), sim)
        };
        let (left, without) = step(false);
        let (report, sim) = step(true);
        let crossed = crossings(without.model(), without.state());
        assert!(crossed > 5);
        assert_eq!(left.separation, Default::default());
        assert_eq!(report.separation.before, crossed);
        assert_eq!(report.separation.after, 0);
        assert_eq!(crossings(sim.model(), sim.state()), 0);
        // Positions alone change.
        assert_eq!(sim.state().v, without.state().v);
        // By a few times what the sheets were through, and the thickness.
        assert!(report.separation.moved < 0.015, "{:?}", report.separation);
    }
}

/// A sheet falls on a block that stands on nothing, at 3 m/s.
fn falling() -> (Model, State) {
    let mut b = Builder::new(Vec3::new(0.0, 0.0, -9.81), None);
    b.contact(true);
    shell(&mut b, "sheet", 16, Vec3::zeros(), Vec3::z() * 0.01);
    let mut block = BoxSurface {
        size: [0.06, 0.05, 0.08],
        cells: [2, 2, 2],
    }
    .build()
    .unwrap();
    let turn = Quat::from_euler_angles(0.5, 0.4, 0.2);
    block.transform(&turn, &Vec3::repeat(1.0), &(Vec3::z() * -0.06));
    let body = b
        .rigid(BodySpec::new("block"), &block, 1000.0, Damping::default())
        .unwrap();
    let (model, mut state) = b.finish().unwrap();
    let own = model.bodies[body].blocks.clone();
    for (i, v) in state.v.iter_mut().enumerate() {
        *v = match own.contains(&i) {
            true => Vec3::zeros(),
            false => Vec3::z() * -3.0,
        };
    }
    (model, state)
}

#[test]
fn a_solver_that_is_stopped_early_leaves_no_crossing() {
    let run = |failsafe: bool| {
        let (model, state) = falling();
        let mut sim = simulation(model, state, &stopped_early(), failsafe, 4e-3);
        let (mut ran, mut crossed) = (0, 0);
        for _ in 0..15 {
            let report = sim.step().unwrap();
            ran += usize::from(report.separation.before > 0);
            assert_eq!(report.separation.after, 0, "{:?}", report.separation);
            crossed += crossings(sim.model(), sim.state());
        }
        (ran, crossed)
    };
    let (_, without) = run(false);
    assert!(without > 0);
    let (ran, with) = run(true);
    assert!(ran > 0);
    assert_eq!(with, 0);
}

#[test]
fn impact_zones_alone_leave_no_crossing() {
    let (model, state) = falling();
    let rules = rules(&model);
    let mut sim = simulation(model, state, &stopped_early(), false, 4e-3);
    sim.separate_by(Failsafe {
        rounds: 0,
        impact_zones: true,
        ..Failsafe::new(rules)
    });
    let mut all = Vec::new();
    for _ in 0..15 {
        let report = sim.step().unwrap();
        all.push(report.separation);
        assert_eq!(report.separation.after, 0, "{all:?}");
        assert_eq!(crossings(sim.model(), sim.state()), 0);
    }
    assert!(all.iter().any(|s| s.zones > 0), "{all:?}");
}

#[test]
fn a_step_that_no_substep_could_take_goes_on_with_the_failsafe() {
    // Two plates close on a sheet until they are nearer than two thicknesses.
    let scene = || {
        let mut b = Builder::new(Vec3::zeros(), None);
        b.contact(true);
        shell(&mut b, "sheet", 3, Vec3::zeros(), Vec3::zeros());
        for (name, side) in [("top", 1.0), ("bottom", -1.0)] {
            let half = Vec3::new(0.5, 0.5, 0.1);
            let mut translation = Vec3::z() * (side * (0.1 + 1.5 * T));
            translation.x = 0.01;
            let at = |translation: Vec3| Pose {
                translation,
                ..Pose::default()
            };
            let closed = at(Vec3::z() * (-side * 1.6 * T));
            let motion = Motion::between(0.0, &Pose::default(), 0.02, &closed, Vec3::zeros());
            b.obstacle(Obstacle {
                name: name.to_owned(),
                material: name.to_owned(),
                shape: ObstacleShape::Solid(Solid::Box { half }),
                placement: at(translation),
                motion: Some(motion),
            });
        }
        b.finish().unwrap()
    };
    let mut config = nodal::Config::default();
    // Nothing balances the plates: the solver may stop early.
    config.solver.polish = 3;
    let run = |failsafe: bool| {
        let (model, state) = scene();
        let mut sim = simulation(model, state, &config, failsafe, 4e-3);
        (0..6).try_for_each(|_| sim.step().map(|_| ()))
    };
    assert!(run(false).is_err());
    run(true).unwrap();
}
