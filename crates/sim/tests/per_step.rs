//! Bodies of an open kind: blocks that exist for one step, and columns of their own.
#![allow(clippy::unwrap_used)]

mod common;
#[path = "common/dust.rs"]
mod dust;

use common::{GRAVITY, cloth, sheet};
use stiction_bodies::{
    Model, State,
    builder::{BodySpec, Builder},
    energy::{kinetic_energy, momentum, potential_energy},
};
use stiction_contact::detect::{Laws, PairLaw};
use stiction_math::Vec3;
use stiction_sim::{
    Method, Newton, Observer, Simulation, Smooth, Stage, StepVerdict, admm,
    colliders::ContactRules,
    integrators::Integrator,
    newton,
    smooth::{Config, NewtonConfig, Solver},
};

/// A pinned sheet and a cloud of dust next to it.
fn cloud() -> (Model, State) {
    let mut b = Builder::new(GRAVITY, None);
    let body = b.shell(BodySpec::new("cloth"), sheet(3), &cloth()).unwrap();
    b.pin(body, &[0, 3], None).unwrap();
    let (mut model, mut state) = b.finish().unwrap();
    let number = |i: usize, c: usize| ((i * 37 + c * 91 + 13) % 101) as f64 / 101.0;
    let x: Vec<Vec3> = (0..40)
        .map(|i| Vec3::from_fn(|c, _| number(i, c) * 0.3))
        .collect();
    let v: Vec<Vec3> = (0..40)
        .map(|i| Vec3::from_fn(|c, _| number(i, c + 3) * 2.0 - 0.5))
        .collect();
    dust::add(&mut model, &mut state, "dust", &x, &v);
    (model, state)
}

fn rules() -> ContactRules {
    ContactRules {
        thickness: 1e-3,
        laws: Laws::uniform(PairLaw::default()),
    }
}

fn smooth(solver: Solver) -> Smooth {
    let config = Config {
        integrator: Integrator::BackwardEuler,
        newton: NewtonConfig {
            solver,
            tolerance: 1e-11,
            ..NewtonConfig::default()
        },
        ..Config::default()
    };
    Smooth::new(config, rules())
}

/// Rejects substeps longer than so many seconds.
struct Impatient(f64);

impl Observer for Impatient {
    fn enter(&mut self, stage: Stage, h: f64) -> StepVerdict {
        match stage == Stage::Solve && h > self.0 {
            true => StepVerdict::Reject,
            false => StepVerdict::Continue,
        }
    }
}

#[test]
fn dust_falls_with_its_momentum_on_grids_of_changing_size() {
    let h = 0.01;
    for solver in [Solver::Direct, Solver::Iterative] {
        let (model, state) = cloud();
        let blocks = state.x.len();
        let start = momentum(&model.bodies[1], &state);
        let mass = 0.4;
        let mut sim = Simulation::new(model, state, Box::new(smooth(solver)), h).unwrap();
        for step in 1..=20 {
            sim.step().unwrap();
            let (model, state) = (sim.model(), sim.state());
            assert_eq!(state.x.len(), blocks);
            assert!(model.bodies[1].blocks.is_empty());
            // Sums of weights are one to rounding, so that transfers keep momentum.
            let expected = start + GRAVITY * (mass * h * f64::from(step));
            let found = momentum(&model.bodies[1], state);
            assert!((found - expected).norm() < 1e-9, "{found:?} {expected:?}");
            let age = state.columns[0].get("age");
            assert!(age.iter().all(|t| (t - h * f64::from(step)).abs() < 1e-12));
        }
        let nodes = sim.state().columns[0].get("nodes").to_vec();
        assert_eq!(nodes.len(), 20);
        assert!(nodes.iter().any(|n| *n != nodes[0]), "{nodes:?}");
    }
}

/// The columns follow the same path whatever else is in the model, and energies are those of the
/// particles.
#[test]
fn energies_are_those_of_the_particles() {
    let (model, state) = cloud();
    let body = &model.bodies[1];
    let columns = &state.columns[0];
    let (x, v) = (
        dust::vectors(columns.get("x")),
        dust::vectors(columns.get("v")),
    );
    let kinetic: f64 = v.iter().map(|v| 0.5 * 0.01 * v.norm_squared()).sum();
    let potential: f64 = x.iter().map(|x| -0.01 * GRAVITY.dot(x)).sum();
    assert!((kinetic_energy(body, &state) - kinetic).abs() < 1e-12 * kinetic);
    assert!((potential_energy(&model, body, &state) - potential).abs() < 1e-12 * potential.abs());
    let mut sim = Simulation::new(model, state, Box::new(smooth(Solver::Direct)), 0.01).unwrap();
    let report = sim.step().unwrap();
    let cloth = kinetic_energy(&sim.model().bodies[0], sim.state());
    let dust = kinetic_energy(&sim.model().bodies[1], sim.state());
    assert!((report.certificate.kinetic - cloth - dust).abs() < 1e-15);
    assert!(dust > 0.0);
}

#[test]
fn a_failed_step_leaves_no_blocks_behind() {
    let (model, state) = cloud();
    let simulation = |limit, h| {
        let method = Box::new(smooth(Solver::Direct));
        let mut sim = Simulation::new(model.clone(), state.clone(), method, h).unwrap();
        sim.observe(Some(Box::new(Impatient(limit))));
        sim
    };
    let (mut whole, mut halved) = (simulation(0.006, 0.005), simulation(0.006, 0.01));
    for _ in 0..5 {
        assert_eq!(halved.step().unwrap().parts, 2);
        whole.step().unwrap();
        whole.step().unwrap();
    }
    let (a, b) = (halved.state(), whole.state());
    assert_eq!(a.x, b.x);
    assert_eq!(a.columns, b.columns);

    let mut stuck = simulation(0.0, 0.01);
    assert!(stuck.step().is_err());
    assert_eq!(*stuck.state(), state);
}

#[test]
fn methods_with_constant_matrices_refuse_blocks_that_exist_for_one_step() {
    let (model, _) = cloud();
    let newton = Newton::new(newton::Config::default());
    let admm = admm(admm::Config::default(), rules());
    for refused in [newton.needs(&model), admm.needs(&model)] {
        let message = refused.unwrap_err().to_string();
        assert!(message.contains("`dust`"), "{message}");
    }
}
