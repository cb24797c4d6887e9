//! Bodies of frames in motion: free fall, free spin, splitting refused.
#![allow(clippy::print_stdout)] // what was measured, with --nocapture
#![allow(clippy::unwrap_used)]

mod common;

use common::{GRAVITY, simulate};
use stiction_bodies::{
    Model, State,
    builder::{BodySpec, Builder},
    energy::{angular_momentum, momentum},
    material::{Damping, SolidLaw, SolidMaterial},
};
use stiction_geometry::{Plant, PlantPart, PlantSection};
use stiction_math::Vec3;
use stiction_sim::{Method, admm, colliders::ContactRules, linearised};

fn bar(gravity: Vec3, spec: BodySpec, young: f64) -> (Model, State) {
    let material = SolidMaterial {
        density: 300.0,
        young,
        poisson: 0.3,
        law: SolidLaw::Corotated,
        damping: Damping::default(),
    };
    let bar = PlantPart {
        points: vec![Vec3::zeros(), Vec3::x()],
        section: PlantSection::Flat {
            widths: vec![0.2],
            thickness: 0.05,
        },
        up: Vec3::z(),
        frames: [5, 1],
        cells: [2, 4],
        stiffness: 1.0,
        parent: None,
    };
    let mut leaf = bar.clone();
    leaf.points = vec![Vec3::new(0.6, 0.12, 0.0), Vec3::new(0.7, 0.5, 0.1)];
    leaf.frames = [3, 2];
    leaf.parent = Some(0);
    let mut b = Builder::new(gravity, None);
    let plant = Plant {
        parts: vec![bar, leaf],
    };
    b.frames(spec, &plant, &material).unwrap();
    b.finish().unwrap()
}

/// Backward Euler in free fall: x_n = x_0 + n h v_0 + h² g n(n+1)/2.
#[test]
fn free_fall_follows_the_integrators_own_trajectory() {
    let (h, n) = (0.01, 50);
    let velocity = Vec3::new(1.0, -0.5, 3.0);
    let spec = BodySpec {
        velocity,
        ..BodySpec::new("bar")
    };
    let (model, state) = bar(GRAVITY, spec, 1e6);
    let start = state.clone();
    let sim = simulate((model, state), h, n);
    let m = n as f64;
    let shift = velocity * (m * h) + GRAVITY * (h * h * m * (m + 1.0) / 2.0);
    for (x, x0) in sim.state().x.iter().zip(&start.x) {
        assert!(
            (x - x0 - shift).norm() < 1e-11,
            "{:e}",
            (x - x0 - shift).norm()
        );
    }
}

/// Relative changes of linear and angular momentum over half a second.
fn drift(h: f64) -> (f64, f64) {
    let spec = BodySpec {
        velocity: Vec3::new(0.3, -0.2, 0.1),
        angular_velocity: Vec3::new(1.0, 2.0, -1.0),
        ..BodySpec::new("bar")
    };
    let (model, state) = bar(Vec3::zeros(), spec, 1e6);
    let before = state.clone();
    let sim = simulate((model, state), h, (0.5 / h).round() as usize);
    let body = &sim.model().bodies[0];
    let (p, l) = (momentum(body, &before), angular_momentum(body, &before));
    let (p1, l1) = (
        momentum(body, sim.state()),
        angular_momentum(body, sim.state()),
    );
    ((p1 - p).norm() / p.norm(), (l1 - l).norm() / l.norm())
}

#[test]
fn momentum_is_conserved_as_far_as_backward_euler_can() {
    let (coarse, fine) = (drift(0.005), drift(0.0025));
    assert!(coarse.0 < 1e-10, "linear {:e}", coarse.0);
    // First order in h, as for every elastic body.
    let ratio = coarse.1 / fine.1;
    assert!(
        (1.8..2.2).contains(&ratio),
        "angular {:e} then {:e}",
        coarse.1,
        fine.1
    );
    assert!(fine.1 < 0.02, "angular {:e}", fine.1);
}

/// Slopes of frames along a spine have a mean that no force sees; inertia alone must turn it.
#[test]
fn a_stiff_body_spins_as_a_rigid_one_and_its_frames_turn_with_it() {
    let spin = Vec3::new(0.0, 0.0, 3.0);
    let spec = BodySpec {
        angular_velocity: spin,
        ..BodySpec::new("bar")
    };
    let (model, state) = bar(Vec3::zeros(), spec, 1e8);
    let (h, steps) = (1e-3, 500);
    let start = state.clone();
    let sim = simulate((model, state), h, steps);
    let (x, x0) = (&sim.state().x, &start.x);
    // Every pair of nodes of a frame keeps its distance, and so do nodes of different frames.
    let mut worst: f64 = 0.0;
    for i in 0..x.len() {
        for j in 0..i {
            let (d, d0) = ((x[i] - x[j]).norm(), (x0[i] - x0[j]).norm());
            worst = worst.max((d - d0).abs());
        }
    }
    println!("distances change by {worst:.2e}");
    assert!(worst < 1e-3, "{worst} m");
}

#[test]
fn the_splitting_integrator_refuses_frames() {
    let (model, _) = bar(GRAVITY, BodySpec::new("bar"), 1e6);
    let rules = ContactRules {
        thickness: 1e-3,
        laws: stiction_contact::detect::Laws::uniform(Default::default()),
    };
    let config = admm::Config {
        integrator: linearised::ElasticSolver::Splitting,
        ..admm::Config::default()
    };
    let refused = admm(config, rules.clone()).needs(&model).unwrap_err();
    assert!(refused.reason.contains("`bar`"), "{refused}");
    admm(admm::Config::default(), rules).needs(&model).unwrap();
}
