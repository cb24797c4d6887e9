//! Rods in the splitting integrator: the same answers as Newton's, contact and the same bits for any
//! number of threads.
#![allow(clippy::unwrap_used)]

mod common;

use stiction_bodies::{
    Model, State,
    builder::{BodySpec, Builder},
    energy::kinetic_energy,
    material::Damping,
    rod::{Natural, RodMaterial, Twist, shear_modulus},
};
use stiction_contact::detect::{Laws, PairLaw};
use stiction_geometry::Strands;
use stiction_math::Vec3;
use stiction_sim::{Method, Newton, Simulation, admm, colliders::ContactRules, linearised, newton};
use stiction_solvers::admm::Tolerance;

fn material() -> RodMaterial {
    RodMaterial {
        density: 1200.0,
        young: 2e6,
        stretch: 2e7,
        shear: shear_modulus(2e6, 0.4),
        radii: [1e-3, 1.5e-3],
        natural: Natural::Given,
        twist: Twist::QuasiStatic,
        damping: Damping {
            mass: 10.0,
            stiffness: 1e-3,
        },
    }
}

fn splitting(tolerance: f64, iterations: usize) -> Box<dyn Method> {
    let mut config = admm::Config {
        integrator: linearised::ElasticSolver::Splitting,
        safe: false,
        ..admm::Config::default()
    };
    config.solver.tolerance = Tolerance::Displacement(tolerance);
    config.solver.max_iterations = iterations;
    let rules = ContactRules {
        thickness: 5e-4,
        laws: Laws::new(2, |_, _| PairLaw {
            mu: 0.4,
            ..PairLaw::default()
        }),
    };
    Box::new(admm(config, rules))
}

fn run(built: (Model, State), method: Box<dyn Method>, h: f64, steps: usize) -> Simulation {
    let mut sim = Simulation::new(built.0, built.1, method, h).unwrap();
    for _ in 0..steps {
        sim.step().unwrap();
    }
    sim
}

fn curl() -> Strands {
    let points = (0..40).map(|i| {
        let a = 0.4 * f64::from(i);
        Vec3::new(0.02 * a.cos(), 0.02 * a.sin(), -0.003 * a)
    });
    Strands::single(points.collect())
}

/// A curl, clamped at its upper end, that gravity draws out to more than twice its height.
fn hanging() -> (Model, State) {
    let mut b = Builder::new(Vec3::new(0.0, 0.0, -9.81), None);
    let body = b
        .rods(BodySpec::new("rod"), curl(), &material(), &Vec3::x())
        .unwrap();
    b.pin(body, &[0, 1], None).unwrap();
    b.finish().unwrap()
}

#[test]
fn a_hanging_curl_rests_where_newton_finds_it() {
    let exact = Box::new(Newton::new(newton::Config::default()));
    let exact = run(hanging(), exact, 0.02, 300);
    let found = run(hanging(), splitting(1e-9, 100), 0.02, 500);
    let body = &found.model().bodies[0];
    let kinetic = kinetic_energy(body, found.state());
    assert!(kinetic < 1e-12, "{kinetic:e}");
    let length = 0.4 * 39.0 * 0.02f64.hypot(0.003);
    assert!(exact.state().x[39].z < -0.12);
    for (a, b) in found.state().x.iter().zip(&exact.state().x) {
        assert!((a - b).norm() < 1e-4 * length, "{a} {b}");
    }
}

/// During the motion, splitting that is iterated far enough makes Newton's steps, but for twists that lag behind
/// by one step and for damping by finite changes of strains: the shorter the steps, the nearer they are.
#[test]
fn a_falling_curl_comes_nearer_to_newtons_with_shorter_steps() {
    let errors = [(0.00125, 40), (0.0003125, 160)].map(|(h, steps)| {
        let exact = Box::new(Newton::new(newton::Config::default()));
        let exact = run(hanging(), exact, h, steps);
        let found = run(hanging(), splitting(1e-10, 1000), h, steps);
        let fallen = (exact.state().x[39] - hanging().1.x[39]).norm();
        assert!(fallen > 2e-3, "{fallen}");
        let both = found.state().x.iter().zip(&exact.state().x);
        both.map(|(a, b)| (a - b).norm() / fallen)
            .fold(0.0, f64::max)
    });
    assert!(
        errors[1] < 0.01 && errors[1] < 0.4 * errors[0],
        "{errors:?}"
    );
}

/// Below its tolerance the loop ends at once, and rounding grows until it reaches it.
#[test]
fn a_helix_at_rest_stays_within_the_tolerance() {
    let mut b = Builder::new(Vec3::zeros(), None);
    b.rods(BodySpec::new("rod"), curl(), &material(), &Vec3::y())
        .unwrap();
    let (model, state) = b.finish().unwrap();
    let start = state.x.clone();
    let sim = run((model, state), splitting(1e-13, 300), 0.01, 100);
    for (x, start) in sim.state().x.iter().zip(&start) {
        let moved = (x - start).norm();
        assert!(moved < 1e-9, "{moved:e}");
    }
}

/// Two bars across one another on a floor.
fn crossed() -> (Model, State) {
    let mut b = Builder::new(Vec3::new(0.0, 0.0, -9.81), None);
    b.contact(true);
    b.obstacle(common::floor());
    let bar = |centre: Vec3, along: Vec3| -> Vec<Vec3> {
        let at = |i: i32| centre + along * (0.01 * f64::from(i - 6));
        (0..13).map(at).collect()
    };
    let mut strands = Strands::single(bar(Vec3::new(0.0, 0.0, 0.003), Vec3::x()));
    strands.push(&bar(Vec3::new(0.001, 0.002, 0.009), Vec3::y()));
    let material = RodMaterial {
        radii: [2e-3; 2],
        young: 1e7,
        ..material()
    };
    b.rods(BodySpec::new("bars"), strands, &material, &Vec3::z())
        .unwrap();
    b.finish().unwrap()
}

/// Centre lines are a radius and the thickness from the floor, and two radii and the thickness from
/// one another.
#[test]
fn a_bar_rests_across_another() {
    let sim = run(crossed(), splitting(1e-7, 300), 0.005, 200);
    let at = |i: usize| sim.state().x[i];
    for i in 0..13 {
        assert!(at(i).z > 2.5e-3 - 1e-5, "node {i}: {}", at(i).z);
    }
    assert!((at(6).z - 2.5e-3).abs() < 1e-4, "{}", at(6).z);
    let (a, b) = (at(13 + 5), at(13 + 6));
    let normal = (b - a).normalize().cross(&Vec3::x()).normalize();
    let apart = normal.dot(&(a - at(6))).abs();
    assert!((apart - 4.5e-3).abs() < 1e-5, "{apart}");
    let speed = sim.state().v.iter().map(|v| v.norm()).fold(0.0, f64::max);
    assert!(speed < 1e-3, "{speed}");
}

#[test]
fn the_number_of_threads_does_not_show() {
    let with = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
        pool.unwrap().install(|| {
            run(crossed(), splitting(1e-7, 50), 0.005, 40)
                .state()
                .x
                .clone()
        })
    };
    assert_eq!(with(1), with(3));
}

#[test]
fn twists_that_are_degrees_of_freedom_are_refused() {
    let mut b = Builder::new(Vec3::zeros(), None);
    let material = RodMaterial {
        twist: Twist::Dynamic,
        ..material()
    };
    b.rods(BodySpec::new("rod"), curl(), &material, &Vec3::x())
        .unwrap();
    let (model, state) = b.finish().unwrap();
    let error = Simulation::new(model, state, splitting(1e-7, 10), 0.01).err();
    let message = error.unwrap().to_string();
    assert!(
        message.contains("`rod` is made of rods with dynamic twist")
            && message.contains("with `integrator = \"splitting\"`"),
        "{message}"
    );
}
