//! Rods that touch: what they rest on, one another, and the same bits for any number of threads.
#![allow(clippy::unwrap_used)]

mod common;

use stiction_bodies::{
    Model, State,
    builder::{BodySpec, Builder},
    material::Damping,
    rod::{Natural, RodMaterial, Twist, shear_modulus},
};
use stiction_contact::detect::{Laws, PairLaw};
use stiction_geometry::Strands;
use stiction_math::Vec3;
use stiction_sim::{
    Simulation, admm,
    colliders::ContactRules,
    probe::{Axis, ContactSum, Quantity, Resultant},
};

const RADIUS: f64 = 2e-3;
const THICKNESS: f64 = 5e-4;

fn material() -> RodMaterial {
    RodMaterial {
        density: 1000.0,
        young: 1e7,
        stretch: 1e6,
        shear: shear_modulus(1e7, 0.3),
        radii: [RADIUS; 2],
        natural: Natural::Given,
        twist: Twist::Dynamic,
        damping: Damping {
            mass: 5.0,
            stiffness: 1e-3,
        },
    }
}

/// A straight rod of 12 edges through `centre`.
fn bar(centre: Vec3, along: Vec3) -> Vec<Vec3> {
    (0..13)
        .map(|i| centre + along * (0.01 * (f64::from(i) - 6.0)))
        .collect()
}

/// Two bars across one another above a floor.
fn crossed() -> (Model, State) {
    let mut b = Builder::new(Vec3::new(0.0, 0.0, -9.81), None);
    b.contact(true);
    b.obstacle(common::floor());
    let mut strands = Strands::single(bar(Vec3::new(0.0, 0.0, 0.003), Vec3::x()));
    strands.push(&bar(Vec3::new(0.001, 0.002, 0.009), Vec3::y()));
    b.rods(BodySpec::new("bars"), strands, &material(), &Vec3::z())
        .unwrap();
    b.finish().unwrap()
}

fn simulate(steps: usize) -> Simulation {
    let (model, state) = crossed();
    let rules = ContactRules {
        thickness: THICKNESS,
        laws: Laws::new(2, |_, _| PairLaw {
            mu: 0.4,
            ..PairLaw::default()
        }),
    };
    let method = Box::new(admm(admm::Config::default(), rules));
    let mut sim = Simulation::new(model, state, method, 0.005).unwrap();
    for _ in 0..steps {
        sim.step().unwrap();
    }
    sim
}

/// The lower bar lies on the floor, the upper one lies across it: centre lines are a radius and the
/// thickness from the floor, and two radii and the thickness from one another.
#[test]
fn a_bar_rests_across_another() {
    let sim = simulate(300);
    let body = &sim.model().bodies[0];
    let at = |i: usize| sim.state().x[body.node_block(i).unwrap()];
    let lower = RADIUS + THICKNESS;
    for i in 0..13 {
        let z = at(i).z;
        assert!(z > lower - 1e-5, "node {i} of the lower bar is at {z}");
    }
    assert!((at(6).z - lower).abs() < 1e-4, "{}", at(6).z);
    // The upper bar leans: where it crosses is between its nodes 5 and 6.
    let (a, b) = (at(13 + 5), at(13 + 6));
    let along = (b - a).normalize();
    let normal = along.cross(&Vec3::x()).normalize();
    let apart = normal.dot(&(a - at(6))).abs();
    let touching = 2.0 * RADIUS + THICKNESS;
    assert!((apart - touching).abs() < 1e-5, "{apart}");
    let speed = sim.state().v.iter().map(|v| v.norm()).fold(0.0, f64::max);
    assert!(speed < 1e-3, "{speed}");
}

/// Contact probes against the balance of forces and of torques. The floor bears both bars
/// whole. The upper bar, of weight w and half length a = 6 cm, leans: its middle is d = 2 mm past where it
/// crosses the lower one and the end beyond stands on the floor, so that torques about that end give
/// w a cos θ / (a + d) for the crossing.
#[test]
fn probes_distinguish_contacts_of_a_body_with_itself_from_others() {
    let sim = simulate(300);
    let contacts = sim.contacts();
    let sum = |with, what| {
        let quantity = Quantity::Contact(ContactSum {
            body: 0,
            with: Some(with),
            what,
        });
        quantity.measure(sim.model(), sim.state(), &contacts)
    };
    let (itself, floor) = (0, 1);
    let weight = 9.81 * sim.model().bodies[0].total_mass();
    let borne = sum(floor, Resultant::Force(Axis::Along(Vec3::z())));
    assert!((borne / weight - 1.0).abs() < 0.01, "{borne} of {weight}");

    assert_eq!(sum(itself, Resultant::Count), 1.0);
    let pressed = sum(itself, Resultant::Normal);
    let rise: f64 = (2.0 * RADIUS + THICKNESS) / 0.062;
    let leaning = 0.5 * weight * (0.060 / 0.062) * rise.atan().cos();
    assert!(
        (pressed / leaning - 1.0).abs() < 0.02,
        "{pressed}, not {leaning}"
    );
    // What one part does to another does nothing to the whole.
    assert_eq!(sum(itself, Resultant::Force(Axis::Along(Vec3::z()))), 0.0);
    assert_eq!(
        sum(itself, Resultant::Friction(Axis::Along(Vec3::y()))),
        0.0
    );
}

#[test]
fn rods_in_contact_give_the_same_bits_for_any_number_of_threads() {
    let with = |threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads);
        pool.build()
            .unwrap()
            .install(|| simulate(40).state().clone())
    };
    assert_eq!(with(1), with(3));
}
