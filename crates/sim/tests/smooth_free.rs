//! Method `smooth` without contact: derivatives, orders of convergence, restarts, cut steps.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod common;

use common::{GRAVITY, mixed, rubber};
use stiction_bodies::{
    Hessian, Model, State,
    builder::{BodySpec, Builder},
    check::check_product,
    rigid::left_jacobian,
    volume::{Region, VolumeLaw},
};
use stiction_contact::detect::{Laws, PairLaw};
use stiction_geometry::shapes::{BoxSolid, TetPattern};
use stiction_math::{LinearOperator, Mat3, Quat, Vec3};
use stiction_sim::{
    Method, Newton, Simulation, Smooth,
    colliders::ContactRules,
    forces::{ForceState, Forces, momentum},
    implicit::Jacobian,
    integrators::Integrator,
    newton,
    smooth::{Config, NewtonConfig, Solver},
};

fn rules() -> ContactRules {
    ContactRules {
        thickness: 1e-3,
        laws: Laws::uniform(PairLaw::default()),
    }
}

fn method(integrator: Integrator, solver: Solver) -> Box<dyn Method> {
    let config = Config {
        integrator,
        newton: NewtonConfig {
            solver,
            tolerance: 1e-11,
            ..NewtonConfig::default()
        },
        ..Config::default()
    };
    Box::new(Smooth::new(config, rules()))
}

/// A soft block, pinned at one end, swinging; water inside it.
fn swinging() -> (Model, State) {
    let mut b = Builder::new(GRAVITY, None);
    let mesh = BoxSolid {
        size: [0.4, 0.1, 0.1],
        cells: [4, 1, 1],
        pattern: TetPattern::Kuhn,
    }
    .build()
    .unwrap();
    let pinned: Vec<u32> = (0..mesh.positions.len() as u32)
        .filter(|i| mesh.positions[*i as usize].x < -0.199)
        .collect();
    let mut material = rubber();
    material.damping.stiffness = 0.005;
    let spec = BodySpec {
        angular_velocity: Vec3::new(0.0, -4.0, 0.5),
        ..BodySpec::new("block")
    };
    let body = b.solid(spec, mesh, &material).unwrap();
    b.pin(body, &pinned, None).unwrap();
    let law = VolumeLaw::NearlyIncompressible { compression: 1e-6 };
    b.volume("water", body, Region::Solid, law, 0.0).unwrap();
    b.finish().unwrap()
}

fn run(scene: fn() -> (Model, State), method: Box<dyn Method>, h: f64, end: f64) -> State {
    let (model, state) = scene();
    let mut sim = Simulation::new(model, state, method, h).unwrap();
    for _ in 0..(end / h).round() as usize {
        assert_eq!(sim.step().unwrap().parts, 1);
    }
    sim.state().clone()
}

fn advance(sim: &mut Simulation, steps: usize) {
    for _ in 0..steps {
        sim.step().unwrap();
    }
}

fn distance(a: &State, b: &State) -> f64 {
    let places = a.x.iter().zip(&b.x).map(|(a, b)| (a - b).norm_squared());
    let turns = a
        .rotations
        .iter()
        .zip(&b.rotations)
        .map(|(a, b)| a.angle_to(b).powi(2));
    (places.sum::<f64>() + turns.sum::<f64>()).sqrt()
}

#[test]
fn the_jacobian_is_the_derivative_of_the_residual() {
    let (mut model, mut state) = mixed();
    let law = VolumeLaw::Gas { ambient: 2e4 };
    let volume =
        stiction_bodies::Volume::new("gas".to_owned(), &model.bodies[1], Region::Solid, law, 1e3);
    model.volumes.push(volume.unwrap());
    for (i, x) in state.x.iter_mut().enumerate() {
        *x += Vec3::new(0.011, -0.007, 0.009) * ((i * 7 % 5) as f64 - 2.0);
    }
    for (body, _) in model.rigids() {
        state.x[body.blocks.start + 1] = Vec3::zeros();
    }
    let mut forces = Forces::new(&model);
    forces.lag(&model, &state.x, &state.rotations).unwrap();
    let a = 0.02;
    let place = |v: &[Vec3]| {
        let x: Vec<Vec3> = state.x.iter().zip(v).map(|(x, v)| x + v * a).collect();
        let turn = |w: &Vec3, q: &Quat| Quat::from_scaled_axis(w * a) * q;
        let rotations: Vec<Quat> = model
            .rigids()
            .map(|(b, r)| turn(&v[b.blocks.start + 1], &state.rotations[r.index]))
            .collect();
        (x, rotations)
    };
    let residual = |v: &[Vec3]| {
        let (x, rotations) = place(v);
        let at = ForceState {
            x: &x,
            rotations: &rotations,
            v,
            ..ForceState::of(&state)
        };
        let mut r = vec![Vec3::zeros(); v.len()];
        momentum(&model, at, &mut r);
        forces.add(&model, at, -a, &mut r).unwrap();
        r
    };
    let mut other = Forces::new(&model);
    other.lag(&model, &state.x, &state.rotations).unwrap();
    let other = std::cell::RefCell::new(other);
    let product = |v: &[Vec3], d: &[Vec3]| {
        let (x, rotations) = place(v);
        let at = ForceState {
            x: &x,
            rotations: &rotations,
            v,
            ..ForceState::of(&state)
        };
        let turns: Vec<Mat3> = model
            .rigids()
            .map(|(b, _)| left_jacobian(&(v[b.blocks.start + 1] * a)))
            .collect();
        let mut jacobian = Jacobian::new(&model).unwrap();
        other
            .borrow_mut()
            .linearise(&model, at, &turns, a, Hessian::Full, &mut jacobian)
            .unwrap();
        let mut y = vec![Vec3::zeros(); d.len()];
        jacobian.apply(d, &mut y);
        y
    };
    for k in 0..6 {
        let d: Vec<Vec3> = (0..state.v.len())
            .map(|i| {
                Vec3::from_fn(|c, _| (((i * 31 + c * 17 + k * 101) % 23) as f64 - 11.0) / 11.0)
            })
            .collect();
        // Steps of differences are 4 % of this and less; the block is a few centimetres.
        let error = check_product(residual, product, &state.v, &d, 0.5, 1e-9);
        assert!(error < 1e-7, "direction {k}: {error:e}");
    }
}

#[test]
fn every_integrator_has_its_order() {
    for scene in [swinging as fn() -> _, mixed] {
        let truth = run(
            scene,
            method(Integrator::Sdirk2, Solver::Direct),
            1e-4,
            0.04,
        );
        for (name, integrator) in Integrator::NAMES {
            if integrator == Integrator::TrapezoidalDecoupled {
                continue;
            }
            let error = |h: f64| {
                distance(
                    &run(scene, method(integrator, Solver::Direct), h, 0.04),
                    &truth,
                )
            };
            let (coarse, fine) = (error(0.002), error(0.001));
            let order = (coarse / fine).log2();
            let stated = f64::from(integrator.order());
            assert!((order - stated).abs() < 0.25, "{name}: order {order}");
        }
    }
}

#[test]
fn backward_euler_is_what_method_newton_does() {
    // Without the volume's law, which only this method supports.
    let scene = || {
        let (mut model, state) = swinging();
        model.volumes.clear();
        (model, state)
    };
    let config = newton::Config {
        stop: newton::NewtonStop::Tolerance {
            tolerance: 1e-13,
            max: 50,
        },
        ..newton::Config::default()
    };
    let run = |method: Box<dyn Method>| {
        let (model, state) = scene();
        let mut sim = Simulation::new(model, state, method, 0.01).unwrap();
        for _ in 0..20 {
            sim.step().unwrap();
        }
        sim.state().clone()
    };
    let a = run(Box::new(Newton::new(config)));
    for solver in [Solver::Direct, Solver::Iterative] {
        let b = run(method(Integrator::BackwardEuler, solver));
        let gap = distance(&a, &b);
        assert!(gap < 1e-9, "{solver:?}: {gap:e} m apart");
    }
}

#[test]
fn both_solvers_find_the_same_root() {
    for integrator in [Integrator::TrBdf2, Integrator::Bdf2] {
        let a = run(mixed, method(integrator, Solver::Direct), 0.005, 0.05);
        let b = run(mixed, method(integrator, Solver::Iterative), 0.005, 0.05);
        assert!(distance(&a, &b) < 1e-9, "{integrator:?}");
    }
}

#[test]
fn a_resumed_run_has_the_same_bits() {
    for (_, integrator) in Integrator::NAMES {
        let make = || {
            let (model, state) = mixed();
            Simulation::new(model, state, method(integrator, Solver::Direct), 0.005).unwrap()
        };
        let mut whole = make();
        advance(&mut whole, 6);
        let mut first = make();
        advance(&mut first, 3);
        let mut second = make();
        second.restore(first.state().clone(), first.method().save());
        advance(&mut second, 3);
        assert_eq!(whole.state(), second.state(), "{integrator:?}");
    }
}

#[test]
fn steps_that_are_cut_keep_the_order() {
    // So few iterations that the long steps fail and are halved; BDF2 must go on with what it has.
    let truth = run(
        swinging,
        method(Integrator::Sdirk2, Solver::Direct),
        2e-4,
        0.08,
    );
    for (integrator, max_iterations) in [(Integrator::Bdf2, 4), (Integrator::TrBdf2, 2)] {
        let config = Config {
            integrator,
            newton: NewtonConfig {
                tolerance: 1e-6,
                max_iterations,
                ..NewtonConfig::default()
            },
            ..Config::default()
        };
        let (model, state) = swinging();
        let smooth = Box::new(Smooth::new(config, rules()));
        let mut sim = Simulation::new(model, state, smooth, 0.02).unwrap();
        let mut parts = Vec::new();
        for _ in 0..4 {
            parts.push(sim.step().unwrap().parts);
        }
        let error = distance(sim.state(), &truth);
        assert!(parts.iter().any(|p| *p > 1), "{parts:?}");
        assert!((sim.state().time - 0.08).abs() < 1e-15);
        assert!(error < 0.02, "{integrator:?}: {error}");
    }
}
