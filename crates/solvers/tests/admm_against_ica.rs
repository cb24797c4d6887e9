//! Nested relaxation finds the same answers by other iterations.
#![allow(clippy::unwrap_used, clippy::panic)]

use stiction_contact::generate::{RandomProblem, incline, pulled_chain, random};
use stiction_contact::solver::Tolerance;
use stiction_contact::solver::{
    ContactSolver, Solution, SolverError, SolverReport, TaskStart, solve_alone,
};
use stiction_contact::{CertifyConfig, Contact, FrictionProblem, certify};
use stiction_math::Vec3;
use stiction_solvers::{
    admm::{self, Admm},
    ica::{self, Ica},
};

/// Solves with a new solver, from `state` to `state`.
fn run(
    solver: &mut dyn ContactSolver,
    problem: &FrictionProblem,
    state: &mut Solution,
) -> Result<SolverReport, SolverError> {
    let start = TaskStart::Configured;
    solve_alone(solver, &mut problem.clone(), state, start, None)
}

const EXACT: ica::Config = ica::Config {
    tolerance: Tolerance::Displacement(1e-14),
    max_iterations: 20_000,
    relaxations: 1,
    sweeps: 10,
};

#[test]
fn both_methods_agree() {
    let mut solved = 0;
    for kind in RandomProblem::ALL {
        // Wedges that almost close and friction that lets a body climb defeat both.
        if matches!(
            kind,
            RandomProblem::NearDegenerate | RandomProblem::HighFriction
        ) {
            continue;
        }
        for seed in 0..4 {
            let problem = random(kind, 16, seed);
            let mut state = Solution::default();
            let report = run(&mut Ica::new(EXACT), &problem, &mut state).unwrap();
            if !report.converged {
                continue;
            }
            solved += 1;
            let c = certify(&problem, &state.v, &state.r, &CertifyConfig::default()).unwrap();
            assert!(c.residual < 1e-8 && c.linear < 1e-8, "{kind:?}: {c:?}");
            let mut other = Solution::default();
            let mut splitting = Admm::new(admm::Config::accurate());
            run(&mut splitting, &problem, &mut other).unwrap();
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
        let mut state = Solution::default();
        let report = run(&mut Ica::new(EXACT), &case.problem, &mut state).unwrap();
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
        tolerance: Tolerance::Displacement(1e-9),
        ..EXACT
    };
    let nested = run(&mut Ica::new(config), &problem, &mut Solution::default()).unwrap();
    let config = admm::Config {
        tolerance: Tolerance::Displacement(1e-9),
        ..admm::Config::accurate()
    };
    let split = run(&mut Admm::new(config), &problem, &mut Solution::default()).unwrap();
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
    let mut state = Solution::default();
    let report = run(&mut Ica::new(config), &pinched, &mut state).unwrap();
    assert!(!report.converged && state.v[0].iter().all(|x| x.is_finite()));
    state.v[0].x = f64::NAN;
    let error = run(&mut Ica::new(config), &pinched, &mut state).unwrap_err();
    assert_eq!(error, SolverError::Start("v"));
}
