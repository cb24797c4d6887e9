//! Stiffness-proportional damping resists the rate of strain, and no rigid motion.
#![allow(clippy::unwrap_used)]

mod common;

use stiction_bodies::{
    Model, State,
    builder::{BodySpec, Builder},
    energy::angular_momentum,
    kind::BodyAt,
    material::Damping,
    rod::{Natural, RodMaterial, Twist, shear_modulus},
};
use stiction_geometry::{
    Strands,
    shapes::{BoxSolid, TetPattern},
};
use stiction_math::Vec3;
use stiction_sim::forces::BodyForces;

use common::{cloth, rubber, sheet, simulate};

fn damped(beta: f64) -> Damping {
    Damping {
        mass: 0.0,
        stiffness: beta,
    }
}

fn rod(twist: Twist, beta: f64) -> RodMaterial {
    RodMaterial {
        density: 1200.0,
        young: 2e5,
        stretch: 2e5,
        shear: shear_modulus(2e5, 0.4),
        radii: [5e-3, 4e-3],
        natural: Natural::Given,
        twist,
        damping: damped(beta),
    }
}

fn block() -> stiction_geometry::TetMesh {
    let shape = BoxSolid {
        size: [0.6, 0.4, 0.2],
        cells: [3, 2, 1],
        pattern: TetPattern::Kuhn,
    };
    shape.build().unwrap()
}

/// A shell, a solid and rods of both kinds, all damped.
fn all(beta: f64) -> (Model, State) {
    let mut b = Builder::new(Vec3::zeros(), None);
    let mut fabric = cloth();
    fabric.damping = damped(beta);
    b.shell(BodySpec::new("shell"), sheet(4), &fabric).unwrap();
    let mut flesh = rubber();
    flesh.damping = damped(beta);
    b.solid(BodySpec::new("solid"), block(), &flesh).unwrap();
    for (name, twist) in [("dynamic", Twist::Dynamic), ("quiet", Twist::QuasiStatic)] {
        let point = |i: usize| {
            let s = i as f64 / 6.0;
            match twist {
                Twist::Dynamic => Vec3::new(0.6 * s, 0.2 * (3.0 * s).sin(), 0.1 * s * s),
                Twist::QuasiStatic => Vec3::new(0.6, 0.2, 0.1) * s,
            }
        };
        let strand = Strands::single((0..7).map(point).collect());
        b.rods(BodySpec::new(name), strand, &rod(twist, beta), &Vec3::z())
            .unwrap();
    }
    b.finish().unwrap()
}

/// Positions stretched by a third, bent and sheared: everything is under stress.
fn stress(model: &Model, state: &mut State) {
    for body in &model.bodies {
        let twists: Vec<usize> = match body.kind.as_rods() {
            Some(rods) => rods.twist_block_ranges().flatten().collect(),
            None => Vec::new(),
        };
        for i in body.blocks.clone() {
            let x = &mut state.x[i];
            if twists.contains(&(i - body.blocks.start)) {
                *x += Vec3::new(1e-3, -5e-4, 2e-4);
                continue;
            }
            let p = *x;
            // Twists that are no degrees of freedom turn along from step to step only: what is bent
            // resists turning about its own tangent, what is straight resists nothing.
            if body.name == "quiet" {
                *x = p * 1.33;
                continue;
            }
            *x = p * 1.33 + Vec3::new(0.1 * p.y, 0.0, 0.15 * (4.0 * p.x).sin());
        }
    }
}

/// The force of damping on a body with velocities `v` of its blocks.
fn force(model: &Model, state: &State, forces: &BodyForces, b: usize, v: &[Vec3]) -> f64 {
    let body = &model.bodies[b];
    let at = BodyAt::of(body.blocks.clone(), state);
    let mut f = vec![Vec3::zeros(); v.len()];
    let mechanics = body.kind.mechanics();
    mechanics.add_damping(&at, &forces.damping(b, body), v, 1.0, &mut f);
    f.iter().map(Vec3::norm).fold(0.0, f64::max)
}

#[test]
fn a_rigid_motion_of_a_stressed_body_is_not_damped() {
    let (model, mut state) = all(0.05);
    stress(&model, &mut state);
    let mut forces = BodyForces::new(&model);
    forces.lag(&model, &state.x).unwrap();
    let (omega, drift) = (Vec3::new(1.0, -2.0, 3.0), Vec3::new(0.4, 0.1, -0.7));
    for (b, body) in model.bodies.iter().enumerate() {
        let x = &state.x[body.blocks.clone()];
        let mut rigid: Vec<Vec3> = x.iter().map(|x| omega.cross(x) + drift).collect();
        let mut strained: Vec<Vec3> = x.iter().map(|x| x * omega.norm()).collect();
        if let Some(rods) = body.kind.as_rods() {
            for block in rods.twist_block_ranges().flatten() {
                rigid[block] = Vec3::zeros();
                strained[block] = Vec3::zeros();
            }
            for edge in 0..rods.edges().len() {
                let [i, j] = rods.edge_blocks(edge).unwrap();
                if let Some((block, c)) = rods.twist_of(edge) {
                    let along = (x[j] - x[i]).normalize();
                    rigid[block][c] = omega.dot(&along) * rods.section().radius;
                }
            }
        }
        let [rigid, strained] = [rigid, strained].map(|v| force(&model, &state, &forces, b, &v));
        // Rounding: 1e-16 of the entries of the matrix, which sum up to what strain makes.
        assert!(
            strained > 0.0 && rigid < 1e-11 * strained,
            "`{}`: {rigid:e} N against {strained:e} N",
            body.name
        );
    }
}

/// A spinning body is stretched by its own inertia. The spin of backward Euler decays at the rate
/// h ω² = 0.2 1/s by itself, a little more or less as the body swings outwards; damping of β times the
/// whole stiffness would add β ω² = 8 1/s, that of strain adds nothing.
#[test]
fn damping_does_not_slow_the_spin_of_stretched_bodies() {
    let spinning = |kind: &str, beta: f64| {
        let mut b = Builder::new(Vec3::zeros(), None);
        let spec = BodySpec {
            angular_velocity: Vec3::new(0.0, 0.0, 20.0),
            start_scale: Vec3::new(1.05, 1.05, 1.0),
            ..BodySpec::new(kind)
        };
        match kind {
            "shell" => {
                let mut fabric = cloth();
                fabric.damping = damped(beta);
                b.shell(spec, sheet(4), &fabric).unwrap();
            }
            "solid" => {
                let mut flesh = rubber();
                flesh.young = 3e5;
                flesh.damping = damped(beta);
                b.solid(spec, block(), &flesh).unwrap();
            }
            _ => {
                let points = (0..9).map(|i| Vec3::x() * (0.05 * f64::from(i)));
                let strand = Strands::single(points.collect());
                let twist = match kind {
                    "dynamic" => Twist::Dynamic,
                    _ => Twist::QuasiStatic,
                };
                b.rods(spec, strand, &rod(twist, beta), &Vec3::z()).unwrap();
            }
        }
        // The chord of a turn is a strain rate of the order of h: 1 % here.
        let sim = simulate(b.finish().unwrap(), 0.00025, 800);
        angular_momentum(&sim.model().bodies[0], sim.state()).z
    };
    for kind in ["shell", "solid", "dynamic", "quiet"] {
        let [free, damped] = [0.0, 0.02].map(|beta| spinning(kind, beta));
        let off = damped / free - 1.0;
        assert!(
            off.abs() < 0.02,
            "{kind}: {free:e} without damping, {damped:e} with it"
        );
    }
}
