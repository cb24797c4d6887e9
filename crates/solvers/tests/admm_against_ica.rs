//! Nested relaxation finds the same answers, on its own way.
#![allow(clippy::unwrap_used, clippy::panic)]

use stiction_contact::generate::{Kind, incline, pulled_chain, random};
use stiction_contact::{CertifyConfig, Contact, certify};
use stiction_math::Vec3;
use stiction_solvers::{admm, ica};

const EXACT: ica::Config = ica::Config {
    tolerance: 1e-14,
    max_iterations: 20_000,
    relaxations: 1,
    sweeps: 10,
};

#[test]
fn both_methods_agree() {
    let mut solved = 0;
    for kind in Kind::ALL {
        // Wedges that almost close and friction that lets a body climb defeat both.
        if matches!(kind, Kind::NearDegenerate | Kind::HighFriction) {
            continue;
        }
        for seed in 0..4 {
            let problem = random(kind, 16, seed);
            let mut state = ica::State::default();
            let report = ica::solve(&problem, &mut state, &EXACT).unwrap();
            if !report.converged {
                continue;
            }
            solved += 1;
            let c = certify(&problem, &state.v, &state.r, &CertifyConfig::default()).unwrap();
            assert!(c.residual < 1e-8 && c.dynamics < 1e-8, "{kind:?}: {c:?}");
            let (other, _) = admm::solve(&problem, &admm::Config::accurate()).unwrap();
            for (a, b) in state.v.iter().zip(&other.v) {
                assert!(
                    (a - b).norm() < 1e-8,
                    "{kind:?} {seed}: {:e}",
                    (a - b).norm()
                );
            }
        }
    }
    assert!(solved >= 36, "only {solved} of 40");
}

#[test]
fn a_block_on_a_slope_holds_and_slides() {
    for (angle, mu) in [(0.3, 0.5), (0.6, 0.5), (0.2, 0.0)] {
        let case = incline(6, angle, mu, 0.0);
        let mut state = ica::State::default();
        let report = ica::solve(&case.problem, &mut state, &EXACT).unwrap();
        assert!(report.converged);
        for (a, b) in state.v.iter().zip(&case.v) {
            // Relaxation of a stiff body moves by a thousandth of its error in each iteration.
            assert!((a - b).norm() < 1e-8);
        }
    }
}

/// Elasticity is what splitting is for: [daviet2020, Table 1] has nested relaxation behind on every
/// scene.
#[test]
fn stiff_bodies_take_nested_relaxation_longer() {
    let problem = pulled_chain(40, 0.1);
    let config = ica::Config {
        tolerance: 1e-9,
        ..EXACT
    };
    let nested = ica::solve(&problem, &mut ica::State::default(), &config).unwrap();
    let config = admm::Config {
        tolerance: 1e-9,
        ..admm::Config::accurate()
    };
    let (_, split) = admm::solve(&problem, &config).unwrap();
    assert!(nested.converged && split.converged);
    assert!(split.iterations < nested.iterations, "{split:?} {nested:?}");
}

#[test]
fn contradictions_and_bad_starts_are_reported() {
    let mut pinched = incline(1, 0.0, 0.5, 0.0).problem;
    for normal in [Vec3::x(), -Vec3::x()] {
        let contact = Contact {
            normal,
            k: -normal,
            ..Contact::default()
        };
        pinched.contacts.push(&[(0, 1.0)], contact);
    }
    let config = ica::Config {
        max_iterations: 100,
        ..EXACT
    };
    let mut state = ica::State::default();
    let report = ica::solve(&pinched, &mut state, &config).unwrap();
    assert!(!report.converged && state.v[0].iter().all(|x| x.is_finite()));
    state.v[0].x = f64::NAN;
    let error = ica::solve(&pinched, &mut state, &config).unwrap_err();
    assert_eq!(error, ica::Error::Start("v"));
}
