//! Bodies that start within the contact thickness are not launched.
#![allow(clippy::unwrap_used)]

mod common;

use stiction_bodies::{
    Model, State,
    builder::{BodySpec, Builder},
    energy,
    material::Damping,
    rod::{Natural, RodMaterial, Twist, shear_modulus},
};
use stiction_contact::detect::{Laws, PairLaw};
use stiction_geometry::{
    Strands,
    shapes::{BoxSolid, BoxSurface, TetPattern},
};
use stiction_math::{Quat, Vec3};
use stiction_sim::{
    Simulation,
    admm::{Config, admm},
    colliders::{ContactRules, material_names},
};

const THICKNESS: f64 = 1e-3;
/// The size of the bodies [m]: m g times it is the scale of their energy.
const SIZE: f64 = 0.1;
const ROD_RADIUS: f64 = 2e-3;
const PARTICLE_RADIUS: f64 = 5e-3;

#[derive(Clone, Copy, Debug)]
enum What {
    Cloth,
    Block,
    Rigid,
    Rods,
    Particles,
}

/// A body above the floor whose surface is closer to it than the thickness by `overlap` [m].
fn scene(what: What, overlap: f64) -> (Model, State) {
    let mut b = Builder::new(common::GRAVITY, None);
    b.contact(true);
    b.obstacle(common::floor());
    let lift = |z: f64| Vec3::new(0.0, 0.0, z + THICKNESS - overlap);
    let (same, unit) = (Quat::identity(), Vec3::repeat(SIZE));
    let spec = BodySpec::new("body");
    match what {
        What::Cloth => {
            let mut mesh = common::sheet(3);
            mesh.transform(&same, &unit, &lift(0.0));
            b.shell(spec, mesh, &common::cloth()).unwrap();
        }
        What::Block => {
            let block = BoxSolid {
                size: [1.0; 3],
                cells: [2; 3],
                pattern: TetPattern::Kuhn,
            };
            let mut mesh = block.build().unwrap();
            mesh.transform(&same, &unit, &lift(0.5 * SIZE));
            b.solid(spec, mesh, &common::rubber()).unwrap();
        }
        What::Rigid => {
            let (size, cells) = ([1.0; 3], [1; 3]);
            let mut mesh = BoxSurface { size, cells }.build().unwrap();
            mesh.transform(&same, &unit, &lift(0.5 * SIZE));
            b.rigid(spec, &mesh, 500.0, Damping::default()).unwrap();
        }
        What::Rods => {
            let radius = ROD_RADIUS;
            let node = |i: u32| lift(radius) + Vec3::x() * (SIZE * f64::from(i) / 6.0);
            let material = RodMaterial {
                density: 1000.0,
                young: 1e7,
                stretch: 1e7,
                shear: shear_modulus(1e7, 0.3),
                radii: [radius; 2],
                natural: Natural::Given,
                twist: Twist::Dynamic,
                damping: Damping::default(),
            };
            let strands = Strands::single((0..7).map(node).collect());
            b.rods(spec, strands, &material, &Vec3::z()).unwrap();
        }
        What::Particles => {
            let radius = PARTICLE_RADIUS;
            let points = vec![lift(radius), lift(radius) + Vec3::x() * 0.05];
            b.particles(spec, points, radius, 1000.0, Damping::default())
                .unwrap();
        }
    }
    b.finish().unwrap()
}

/// How fast an overlap is taken out at most [m/s]: the distance at which the body touches the floor in
/// five seconds.
fn release(what: What) -> f64 {
    let radius = match what {
        What::Rods => ROD_RADIUS,
        What::Particles => PARTICLE_RADIUS,
        What::Cloth | What::Block | What::Rigid => 0.0,
    };
    (THICKNESS + radius) / 5.0
}

fn energy(sim: &Simulation) -> f64 {
    let (model, state) = (sim.model(), sim.state());
    let of = |body| {
        energy::kinetic_energy(body, state)
            + energy::elastic_energy(body, state)
            + energy::potential_energy(model, body, state)
    };
    model.bodies.iter().map(of).sum()
}

/// The energy grows by what it takes to lift the body out of the overlap, and by no more than a
/// millionth of m g times its size besides, at any time step. (A box at half the thickness gained
/// 2,500 times its energy at 1e-5 s when overlaps were taken out within a step.)
#[test]
fn overlaps_within_the_thickness_add_no_energy_at_any_time_step() {
    let all = [
        What::Cloth,
        What::Block,
        What::Rigid,
        What::Rods,
        What::Particles,
    ];
    for what in all {
        for h in [1e-5, 1e-4, 1e-3, 1e-2] {
            for part in [0.0, 0.01, 0.5, 0.99] {
                let (model, state) = scene(what, part * THICKNESS);
                let count = material_names(&model).len() as u32;
                let mu = 0.5;
                let rules = ContactRules {
                    thickness: THICKNESS,
                    laws: Laws::new(count, |_, _| PairLaw {
                        mu,
                        ..PairLaw::default()
                    }),
                };
                let method = Box::new(admm(Config::default(), rules));
                let weight: f64 = model.bodies.iter().map(|b| b.total_mass() * 9.81).sum();
                let mut sim = Simulation::new(model, state, method, h).unwrap();
                let before = energy(&sim);
                for step in 1..=40 {
                    sim.step().unwrap();
                    let lifted =
                        weight * (release(what) * h * f64::from(step)).min(part * THICKNESS);
                    let added = energy(&sim) - before - lifted;
                    assert!(
                        added <= 1e-6 * weight * SIZE,
                        "{what:?}, h {h}, {part} of the thickness, step {step}: {added:e} J of {:e}",
                        weight * SIZE
                    );
                }
            }
        }
    }
}
