//! The incremental potential against differences of itself.
#![allow(clippy::unwrap_used)]

mod common;

use std::cell::RefCell;

use stiction_bodies::check::{check_gradient, check_product};
use stiction_geometry::SplitMix;
use stiction_math::{LinearOperator, Vec3};
use stiction_sim::dynamics::Dynamics;

fn random(n: usize, size: f64, seed: u64) -> Vec<Vec3> {
    let mut rng = SplitMix::new(seed);
    let mut next = || size * (2.0 * rng.uniform() - 1.0);
    (0..n).map(|_| Vec3::new(next(), next(), next())).collect()
}

#[test]
fn the_gradient_is_the_derivative_of_the_potential() {
    let (model, state) = common::mixed();
    let n = model.blocks();
    for seed in 0..20 {
        let dynamics = RefCell::new(Dynamics::new(&model));
        let mut v = vec![Vec3::zeros(); n];
        dynamics
            .borrow_mut()
            .begin(&model, &state, 0.02, &mut v)
            .unwrap();
        dynamics.borrow_mut().lag(&model, &state).unwrap();
        let fixed = dynamics.borrow().fixed().to_vec();
        for (i, d) in random(n, 1.0, seed).into_iter().enumerate() {
            if !fixed[i] {
                v[i] += d;
            }
        }
        let f = |v: &[Vec3]| {
            let mut g = vec![Vec3::zeros(); n];
            let mut dynamics = dynamics.borrow_mut();
            dynamics.gradient(&model, &state, v, &mut g).unwrap();
            (dynamics.potential(&model, &state, v), g)
        };
        // Prescribed blocks have a zero gradient by definition, so only free ones are varied.
        let free: Vec<usize> = (0..n).filter(|&i| !fixed[i]).collect();
        let on_free = |x: &[Vec3]| {
            let mut all = v.clone();
            free.iter().zip(x).for_each(|(&i, x)| all[i] = *x);
            let (e, g) = f(&all);
            (e, free.iter().map(|&i| g[i]).collect::<Vec<_>>())
        };
        let x: Vec<Vec3> = free.iter().map(|&i| v[i]).collect();
        let error = check_gradient(on_free, &x, 1.0, 1e-3);
        assert!(error < 1e-6, "seed {seed}: {error:e}");
    }
}

/// With unloaded springs and elements in tension the projected Hessian is the exact one.
#[test]
fn the_matrix_is_the_derivative_of_the_gradient_near_rest() {
    let (mut model, state) = common::mixed();
    for spring in &mut model.attachments {
        spring.length = (spring.a.position(&state) - spring.b.position(&state)).norm();
    }
    let mut state = state;
    state.v.fill(Vec3::zeros());
    let n = model.blocks();
    let dynamics = RefCell::new(Dynamics::new(&model));
    let matrix = RefCell::new(Dynamics::matrix(&model));
    let mut v = vec![Vec3::zeros(); n];
    dynamics
        .borrow_mut()
        .begin(&model, &state, 0.02, &mut v)
        .unwrap();
    dynamics.borrow_mut().lag(&model, &state).unwrap();
    v.fill(Vec3::zeros());
    let fixed = dynamics.borrow().fixed().to_vec();
    let gradient = |v: &[Vec3]| {
        let mut g = vec![Vec3::zeros(); n];
        dynamics
            .borrow_mut()
            .gradient(&model, &state, v, &mut g)
            .unwrap();
        g
    };
    let product = |v: &[Vec3], d: &[Vec3]| {
        let mut g = vec![Vec3::zeros(); n];
        let mut a = matrix.borrow_mut();
        dynamics
            .borrow_mut()
            .linearise(&model, &state, v, &mut g, &mut a)
            .unwrap();
        let mut y = vec![Vec3::zeros(); n];
        a.apply(d, &mut y);
        y
    };
    for seed in 0..10 {
        let mut d = random(n, 1.0, seed);
        d.iter_mut()
            .zip(&fixed)
            .filter(|(_, f)| **f)
            .for_each(|(d, _)| *d = Vec3::zeros());
        let error = check_product(gradient, product, &v, &d, 1e-3, 1e-6);
        assert!(error < 1e-6, "seed {seed}: {error:e}");
    }
}

#[test]
fn the_matrix_is_symmetric_and_positive_definite_at_wild_states() {
    let (model, state) = common::mixed();
    let n = model.blocks();
    let mut dynamics = Dynamics::new(&model);
    let mut matrix = Dynamics::matrix(&model);
    let mut v = vec![Vec3::zeros(); n];
    for seed in 0..50 {
        dynamics.begin(&model, &state, 0.05, &mut v).unwrap();
        dynamics.lag(&model, &state).unwrap();
        v.iter_mut()
            .zip(random(n, 20.0, seed))
            .for_each(|(v, d)| *v += d);
        let mut g = vec![Vec3::zeros(); n];
        dynamics
            .linearise(&model, &state, &v, &mut g, &mut matrix)
            .unwrap();
        let (p, q) = (random(n, 1.0, seed + 100), random(n, 1.0, seed + 200));
        let apply = |x: &[Vec3]| {
            let mut y = vec![Vec3::zeros(); n];
            matrix.apply(x, &mut y);
            y
        };
        let dot = |a: &[Vec3], b: &[Vec3]| a.iter().zip(b).map(|(a, b)| a.dot(b)).sum::<f64>();
        let (ap, aq) = (apply(&p), apply(&q));
        let scale = (dot(&p, &ap) * dot(&q, &aq)).sqrt();
        assert!(
            (dot(&p, &aq) - dot(&q, &ap)).abs() < 1e-12 * scale,
            "seed {seed}: not symmetric"
        );
        assert!(dot(&p, &ap) > 0.0, "seed {seed}: not positive definite");
    }
}
