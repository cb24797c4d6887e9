//! Every force term against differences of its energy and of itself, products against assembled
//! matrices, and the potential of backward Euler against the residual of the same step.
#![allow(clippy::unwrap_used)]

mod common;

use common::all_kinds;
use stiction_bodies::{
    Hessian, Model, State,
    check::{check_gradient, check_product},
    rigid::left_jacobian,
};
use stiction_geometry::SplitMix;
use stiction_math::{LinearOperator, Mat3, Quat, Vec3};
use stiction_sim::{
    dynamics::Dynamics,
    forces::{
        Attachments, Change, Dissipation, ForceState, ForceTerm, Forces, Rates, TorqueForm,
        Volumes, add_momentum_product, momentum,
    },
    implicit::{Implicit, Jacobian, NewtonConfig, StepAttempt},
    integrators::Integrator,
};

fn random(n: usize, size: f64, seed: u64) -> Vec<Vec3> {
    let mut rng = SplitMix::new(seed);
    let mut next = || size * (2.0 * rng.uniform() - 1.0);
    (0..n).map(|_| Vec3::new(next(), next(), next())).collect()
}

/// Zero at components of twist blocks that hold no twist.
fn masked(model: &Model, mut v: Vec<Vec3>) -> Vec<Vec3> {
    for (body, rods) in model.rods() {
        let v = &mut v[body.blocks.clone()];
        let all = v.to_vec();
        for twists in rods.twist_block_ranges() {
            v[twists].fill(Vec3::zeros());
        }
        for edge in 0..rods.edges().len() {
            let (b, c) = rods.twist_of(edge).unwrap();
            v[b][c] = all[b][c];
        }
    }
    v
}

/// A model with all kinds of bodies in a shaken state.
fn shaken() -> (Model, State) {
    let (model, mut state) = all_kinds();
    let mut shift = masked(&model, random(state.x.len(), 2e-3, 3));
    // Pinned blocks stay in place: a motion that jumps has no velocity.
    model
        .pins
        .iter()
        .for_each(|p| shift[p.block] = Vec3::zeros());
    let before = state.x.clone();
    state.x.iter_mut().zip(&shift).for_each(|(x, d)| *x += d);
    for (body, rods) in model.rods() {
        let r = body.blocks.clone();
        rods.carry(&before[r.clone()], &state.x[r], &mut state.frames);
    }
    for (body, _) in model.rigids() {
        state.x[body.blocks.start + 1] = Vec3::zeros();
    }
    let speed = masked(&model, random(state.x.len(), 0.1, 4));
    state.v.iter_mut().zip(&speed).for_each(|(v, d)| *v += d);
    (model, state)
}

/// Positions that follow displacements `d`; rotation vectors for angular blocks.
fn moved(model: &Model, state: &State, d: &[Vec3]) -> (Vec<Vec3>, Vec<Quat>, Vec<Mat3>) {
    let mut x: Vec<Vec3> = state.x.iter().zip(d).map(|(x, d)| x + d).collect();
    let mut rotations = state.rotations.clone();
    let mut turns = vec![Mat3::identity(); rotations.len()];
    for (body, rigid) in model.rigids() {
        let ang = body.blocks.start + 1;
        x[ang] = Vec3::zeros();
        rotations[rigid.index] = Quat::from_scaled_axis(d[ang]) * rotations[rigid.index];
        turns[rigid.index] = left_jacobian(&d[ang]);
    }
    (x, rotations, turns)
}

/// World rotations that displacements `d` of rotation vectors make.
fn turned(model: &Model, turns: &[Mat3], d: &[Vec3]) -> Vec<Vec3> {
    let mut d = d.to_vec();
    for (body, rigid) in model.rigids() {
        let ang = body.blocks.start + 1;
        d[ang] = turns[rigid.index] * d[ang];
    }
    d
}

/// Calls `check` for every force term with its name.
fn for_each_term(model: &Model, state: &State, mut check: impl FnMut(&str, &dyn ForceTerm)) {
    let mut dissipation = Dissipation::new(model);
    dissipation.lag(model, &state.x, &state.rotations);
    check("attachments", &Attachments);
    check("volumes", &Volumes);
    check("dissipation", &dissipation);
    dissipation.lag_linear(model, state, state.time + 0.01);
    check("lagged dissipation", &dissipation);
}

#[test]
fn elastic_forces_are_derivatives_of_their_energies() {
    let (model, state) = shaken();
    let n = state.x.len();
    let terms: [(&str, &dyn ForceTerm); 2] = [("attachments", &Attachments), ("volumes", &Volumes)];
    for (name, term) in terms {
        let f = |d: &[Vec3]| {
            let (x, rotations, turns) = moved(&model, &state, d);
            let at = ForceState {
                x: &x,
                rotations: &rotations,
                ..ForceState::of(&state)
            };
            let (mut energy, mut g) = (0.0, vec![Vec3::zeros(); n]);
            term.add_energy(&model, at, 1.0, &mut energy);
            term.add_force(&model, at, TorqueForm::Potential(&turns), -1.0, &mut g);
            (energy, g)
        };
        let error = check_gradient(f, &random(n, 0.01, 5), 0.1, 1e-6);
        assert!(error < 1e-7, "{name}: {error:e}");
    }
}

#[test]
fn the_lagged_dissipation_potential_has_the_force_as_derivative() {
    let (model, state) = shaken();
    let mut dissipation = Dissipation::new(&model);
    dissipation.lag_linear(&model, &state, state.time + 0.01);
    let f = |v: &[Vec3]| {
        let at = ForceState {
            v,
            ..ForceState::of(&state)
        };
        let (mut potential, mut g) = (0.0, vec![Vec3::zeros(); v.len()]);
        dissipation.add_energy(&model, at, 1.0, &mut potential);
        dissipation.add_force(&model, at, TorqueForm::Balance, -1.0, &mut g);
        (potential, g)
    };
    let error = check_gradient(f, &state.v, 1.0, 1e-6);
    assert!(error < 1e-7, "{error:e}");
}

#[test]
fn products_of_every_term_are_derivatives_and_sums_of_its_blocks() {
    let (model, state) = shaken();
    let (n, a) = (state.x.len(), 0.02);
    for_each_term(&model, &state, |name, term| {
        let force = |v: &[Vec3]| {
            let d: Vec<Vec3> = v.iter().map(|v| v * a).collect();
            let (x, rotations, _) = moved(&model, &state, &d);
            let at = ForceState {
                x: &x,
                rotations: &rotations,
                v,
                ..ForceState::of(&state)
            };
            let mut f = vec![Vec3::zeros(); n];
            term.add_force(&model, at, TorqueForm::Balance, 1.0, &mut f);
            f
        };
        let both = |v: &[Vec3], d: &[Vec3]| {
            let step: Vec<Vec3> = v.iter().map(|v| v * a).collect();
            let (x, rotations, turns) = moved(&model, &state, &step);
            let at = ForceState {
                x: &x,
                rotations: &rotations,
                v,
                ..ForceState::of(&state)
            };
            let dq: Vec<Vec3> = d.iter().map(|d| d * a).collect();
            let dq = turned(&model, &turns, &dq);
            let mut y = vec![Vec3::zeros(); n];
            let change = Change { dq: &dq, dv: d };
            term.add_product(&model, at, change, 1.0, &mut y);
            let rates = Rates {
                position: a,
                velocity: 1.0,
                turns: &turns,
                form: TorqueForm::Balance,
            };
            let mut blocks = vec![Vec3::zeros(); n];
            term.for_each_block(&model, at, &rates, &mut |i, j, m| {
                blocks[i as usize] -= m * d[j as usize];
            });
            // The dense part of volumes is of rank one and not among the blocks.
            if name == "volumes" {
                for volume in &model.volumes {
                    let mut g = vec![Vec3::zeros(); n];
                    volume.add_gradient(&x, 1.0, &mut g);
                    let rate: f64 = g.iter().zip(&dq).map(|(g, d)| g.dot(d)).sum();
                    let second = volume.energy(volume.measure(&x))[2];
                    let add = |(y, g): (&mut Vec3, &Vec3)| *y -= g * (second * rate);
                    blocks.iter_mut().zip(&g).for_each(add);
                }
            }
            (y, blocks)
        };
        for seed in 0..4 {
            let d = random(n, 1.0, 10 + seed);
            let error = check_product(force, |v, d| both(v, d).0, &state.v, &d, 0.5, 1e-6);
            assert!(error < 1e-6, "{name}: {error:e}");
            let (product, blocks) = both(&state.v, &d);
            let size: f64 = product.iter().map(|y| y.norm()).sum();
            let apart: f64 = product
                .iter()
                .zip(&blocks)
                .map(|(a, b)| (a - b).norm())
                .sum();
            // Rounding of sums over a few hundred terms.
            assert!(apart < 1e-12 * size, "{name}: {:e}", apart / size);
        }
    });
}

#[test]
fn the_jacobian_of_all_kinds_is_a_derivative_and_its_product_the_assembled_one() {
    let (model, state) = shaken();
    let (n, a) = (state.x.len(), 0.01);
    let mut forces = Forces::new(&model);
    forces.lag(&model, &state.x, &state.rotations).unwrap();
    let forces = std::cell::RefCell::new(forces);
    let residual = |v: &[Vec3]| {
        let d: Vec<Vec3> = v.iter().map(|v| v * a).collect();
        let (x, rotations, _) = moved(&model, &state, &d);
        let at = ForceState {
            x: &x,
            rotations: &rotations,
            v,
            ..ForceState::of(&state)
        };
        let mut r = vec![Vec3::zeros(); n];
        momentum(&model, at, &mut r);
        forces.borrow().add(&model, at, -a, &mut r).unwrap();
        r
    };
    let both = |v: &[Vec3], d: &[Vec3], hessian: Hessian| {
        let step: Vec<Vec3> = v.iter().map(|v| v * a).collect();
        let (x, rotations, turns) = moved(&model, &state, &step);
        let at = ForceState {
            x: &x,
            rotations: &rotations,
            v,
            ..ForceState::of(&state)
        };
        let mut jacobian = Jacobian::new(&model).unwrap();
        let mut forces = forces.borrow_mut();
        let done = forces.linearise(&model, at, &turns, a, hessian, &mut jacobian);
        done.unwrap();
        let mut assembled = vec![Vec3::zeros(); n];
        jacobian.apply(d, &mut assembled);
        let dq: Vec<Vec3> = d.iter().map(|d| d * a).collect();
        let dq = turned(&model, &turns, &dq);
        let mut product = vec![Vec3::zeros(); n];
        let change = Change { dq: &dq, dv: d };
        add_momentum_product(&model, at, change, &mut product);
        let done = forces.add_product(&model, at, hessian, change, -a, &mut product);
        done.unwrap();
        (assembled, product)
    };
    for seed in 0..4 {
        let d = masked(&model, random(n, 1.0, 20 + seed));
        let product = |v: &[Vec3], d: &[Vec3]| both(v, d, Hessian::Full).0;
        let error = check_product(residual, product, &state.v, &d, 0.2, 1e-6);
        assert!(error < 1e-6, "{error:e}");
        for hessian in [Hessian::Full, Hessian::Projected] {
            let (assembled, product) = both(&state.v, &d, hessian);
            let size: f64 = assembled.iter().map(|y| y.norm()).sum();
            let pairs = assembled.iter().zip(&product);
            let apart: f64 = pairs.map(|(a, b)| (a - b).norm()).sum();
            assert!(apart < 1e-12 * size, "{hessian:?}: {:e}", apart / size);
        }
    }
}

/// g of Φ and r of one step of backward Euler at the velocity `v`, with the prescribed blocks.
fn gradient_and_residual(
    model: &Model,
    state: &State,
    h: f64,
    v: impl Fn(&[Vec3]) -> Vec<Vec3>,
) -> [Vec<Vec3>; 2] {
    let n = state.x.len();
    let mut dynamics = Dynamics::new(model);
    let mut guess = vec![Vec3::zeros(); n];
    dynamics.begin(model, state, h, &mut guess).unwrap();
    dynamics.lag(model, state).unwrap();
    let mut trial = v(&guess);
    for (i, fixed) in dynamics.fixed().iter().enumerate() {
        if *fixed {
            trial[i] = guess[i];
        }
    }
    let mut g = vec![Vec3::zeros(); n];
    dynamics.gradient(model, state, &trial, &mut g).unwrap();
    let tables = Integrator::BackwardEuler.stages(None);
    let step = StepAttempt {
        model,
        state,
        h,
        fixed: dynamics.fixed(),
        integrator: Integrator::BackwardEuler,
        tables: &tables,
        before: None,
        contact_force: None,
        newton: &NewtonConfig::default(),
        cancel: stiction_math::Cancel::NEVER,
    };
    let mut core = Implicit::new(model).unwrap();
    core.begin(&step).unwrap();
    core.set(&step, 0, &mut trial).unwrap();
    let mut r = vec![Vec3::zeros(); n];
    core.problem(model, None).residual(&trial, &mut r).unwrap();
    [g, r]
}

/// Volumes have no potential in `Dynamics`, which methods with one refuse.
fn without_volumes() -> (Model, State) {
    let (mut model, state) = shaken();
    model.volumes.clear();
    (model, state)
}

#[test]
fn the_gradient_of_the_potential_is_the_residual_of_backward_euler() {
    for air in [true, false] {
        let (mut model, mut state) = without_volumes();
        for body in model.bodies.iter().filter(|b| b.kind.as_rigid().is_some()) {
            state.v[body.blocks.start + 1] = Vec3::zeros();
        }
        // Drag is lagged in the potential alone: the same only where the velocity is that at the start.
        let change = match air {
            true => vec![Vec3::zeros(); state.v.len()],
            false => masked(&model, random(state.v.len(), 0.5, 31)),
        };
        if !air {
            model.air = None;
        }
        let [g, r] = gradient_and_residual(&model, &state, 0.01, |_| {
            let mut v: Vec<Vec3> = state.v.iter().zip(&change).map(|(v, d)| v + d).collect();
            // Without spin, rotation vectors and the inertia are those of the world frame.
            for (body, _) in model.rigids() {
                v[body.blocks.start + 1] = Vec3::zeros();
            }
            v
        });
        let size: f64 = g.iter().map(|g| g.norm()).sum();
        assert!(size > 1e-3);
        for (i, (g, r)) in g.iter().zip(&r).enumerate() {
            assert!((g - r).norm() < 1e-12 * size, "block {i}: {g:?} {r:?}");
        }
    }
}

/// The potential takes the inertia of a spinning body from the start of the step, and derivatives by
/// rotation vectors: torques then agree to second order in h near the solution.
#[test]
fn torques_of_a_spinning_body_agree_to_second_order() {
    let (mut model, mut state) = without_volumes();
    model.air = None;
    let block = model.rigids().next().unwrap().0.blocks.start + 1;
    state.v[block] = Vec3::new(1.0, 2.0, 3.0);
    let apart = |h: f64| {
        let [g, r] = gradient_and_residual(&model, &state, h, |guess| {
            let mut v = guess.to_vec();
            v[block] += Vec3::new(3.0, -2.0, 5.0) * h;
            v
        });
        (g[block] - r[block]).norm()
    };
    let order = (apart(1e-3) / apart(5e-4)).log2();
    assert!((order - 2.0).abs() < 0.1, "{order}");
}
