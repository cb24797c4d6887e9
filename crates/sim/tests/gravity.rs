//! Gravity that changes over time.
#![allow(clippy::unwrap_used)]

use stiction_bodies::{
    builder::{BodySpec, Builder},
    energy::momentum,
    material::Damping,
    motion::{Interpolation, Track},
    rod::{Natural, RodMaterial, Twist, shear_modulus},
};
use stiction_geometry::Strands;
use stiction_math::Vec3;
use stiction_sim::{Newton, Simulation, newton::Config};

/// A freely falling body has the momentum m ∫ g dt, to rounding where g is linear over each step.
#[test]
fn falling_bodies_add_up_gravity() {
    let (down, back) = (Vec3::new(0.0, 0.0, -9.81), Vec3::new(0.0, -4.0, 0.0));
    let keys = vec![back, back, down];
    let track = Track::new(vec![0.0, 0.2, 0.4], keys, Interpolation::Linear).unwrap();
    let mut b = Builder::new(Vec3::zeros(), None);
    b.gravity_over_time(track);
    let material = RodMaterial {
        density: 1000.0,
        young: 1e7,
        stretch: 1e7,
        shear: shear_modulus(1e7, 0.3),
        radii: [1e-3; 2],
        natural: Natural::Given,
        twist: Twist::QuasiStatic,
        damping: Damping::default(),
    };
    let strand = Strands::single((0..5).map(|i| Vec3::x() * (0.01 * f64::from(i))).collect());
    b.rods(BodySpec::new("rod"), strand, &material, &Vec3::z())
        .unwrap();
    let (model, state) = b.finish().unwrap();
    assert_eq!(model.gravity, back);
    let method = Box::new(Newton::new(Config::default()));
    let mut sim = Simulation::new(model, state, method, 0.01).unwrap();
    for _ in 0..60 {
        sim.step().unwrap();
    }
    let expected = back * 0.2 + (back + down) * 0.1 + down * 0.2;
    let body = &sim.model().bodies[0];
    let found = momentum(body, sim.state()) / body.total_mass();
    assert!((found - expected).norm() < 1e-9, "{found} {expected}");
}
