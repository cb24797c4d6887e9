//! The local form against the trusted solver, and where relaxation alone stalls.
#![allow(clippy::unwrap_used)]

use std::sync::Arc;

use stiction_contact::{
    CertifyConfig, LocalProblem, certify, eliminated_residual,
    generate::{Kind, random},
    solver::{Solution, Target, TaskStart, solve_alone, solve_balanced},
};
use stiction_math::{BlockMatrix, BlockPattern, Cancel, Mat3, Vec3};
use stiction_solvers::{admm, local, polished_admm, solver};

const TARGET: Target = Target {
    error: 1e-8,
    max_iterations: 5000,
};

/// Every kind of problem, with cohesion and compliance where they have it: solved with velocities that
/// balance the impulses.
#[test]
fn every_kind_is_solved_in_the_local_form() {
    for kind in Kind::ALL {
        for seed in 0..4 {
            let mut problem = random(kind, 12, seed);
            let mut solution = Solution::default();
            let mut solver = solver("local").unwrap();
            let (start, target) = (TaskStart::Configured, Some(TARGET));
            let report = solve_alone(&mut *solver, &mut problem, &mut solution, start, target);
            let report = report.unwrap();
            assert!(report.converged, "{kind:?} {seed}: {:e}", report.error);
            let config = CertifyConfig::default();
            let c = certify(&problem, &solution.v, &solution.r, &config).unwrap();
            let eliminated = eliminated_residual(&problem, &solution.r, &config).unwrap();
            assert!(
                c.solution_error() <= 1e-8 && eliminated <= 1e-8,
                "{kind:?} {seed}"
            );
        }
    }
}

/// `auto` answers with velocities that make the two residuals one number.
#[test]
fn auto_is_below_the_bound_in_both_norms() {
    for kind in Kind::ALL {
        let mut problem = random(kind, 20, 5);
        let mut solution = Solution::default();
        let mut solver = solver("auto").unwrap();
        let start = TaskStart::Configured;
        let report = solve_balanced(
            &mut *solver,
            &mut problem,
            &mut solution,
            start,
            TARGET,
            Cancel::NEVER,
        );
        assert!(report.unwrap().converged, "{kind:?}");
        let config = CertifyConfig::default();
        let c = certify(&problem, &solution.v, &solution.r, &config).unwrap();
        let eliminated = eliminated_residual(&problem, &solution.r, &config).unwrap();
        assert!(c.residual <= 1e-8 && eliminated <= 1e-8, "{kind:?}");
        assert!((c.residual - eliminated).abs() <= 1e-11, "{kind:?}");
    }
}

/// A momentum residual that `linear` hardly shows: an answer certified at 1e-8 has more with velocities
/// eliminated, and `solve_balanced` goes on until it has not.
#[test]
fn splitting_is_below_the_bound_in_both_norms() {
    for seed in 0..6 {
        let mut problem = random(Kind::Sparse, 40, seed);
        let mut solution = Solution::default();
        let mut solver = solver("admm").unwrap();
        let start = TaskStart::Configured;
        let report = solve_balanced(
            &mut *solver,
            &mut problem,
            &mut solution,
            start,
            TARGET,
            Cancel::NEVER,
        );
        let report = report.unwrap();
        let config = CertifyConfig::default();
        let eliminated = eliminated_residual(&problem, &solution.r, &config).unwrap();
        assert!(
            report.converged && eliminated <= 1e-8,
            "{seed}: {eliminated:e}"
        );
    }
}

/// A bound on the certificate of a step is one in both norms.
#[test]
fn a_polished_answer_is_below_the_bound_in_both_norms() {
    let config = admm::Config {
        polish: Some(admm::Polish::to(1e-8)),
        tolerance: admm::Tolerance::Velocity(1e-3),
        max_iterations: 500,
        ..admm::Config::default()
    };
    let mut above = 0;
    for kind in [Kind::Sparse, Kind::Rigid, Kind::MassRatio] {
        for seed in 0..4 {
            let mut problem = random(kind, 60, seed);
            let mut solution = Solution::default();
            let mut solver = polished_admm(config.clone());
            let start = TaskStart::Configured;
            let report = solve_alone(&mut solver, &mut problem, &mut solution, start, None);
            assert!(report.unwrap().converged, "{kind:?} {seed}");
            let judge = CertifyConfig::default();
            let eliminated = eliminated_residual(&problem, &solution.r, &judge).unwrap();
            above += usize::from(eliminated > 1.1e-8);
            let c = certify(&problem, &solution.v, &solution.r, &judge).unwrap();
            assert!(c.solution_error() <= 1e-8, "{kind:?} {seed}: {c:?}");
        }
    }
    assert_eq!(
        above, 0,
        "answers above the bound with velocities eliminated"
    );
}

/// A pin in a wedge of many contacts with friction high enough to jam, W of rank 6: sweeps go round in
/// circles, Newton's method does not.
#[test]
fn a_jammed_pin_is_solved_where_sweeps_stall() {
    let contacts = 18;
    let mut w = {
        let all: Vec<u32> = (0..contacts as u32).collect();
        let pattern = BlockPattern::from_cliques(contacts, [&all[..]]).unwrap();
        BlockMatrix::zeros(Arc::new(pattern))
    };
    // Contacts around a pin of unit mass; u = N (v + ω × ρ) in frames with the normal first.
    let b = |c: usize| {
        let turn = 2.0 * std::f64::consts::PI * c as f64 / 6.0;
        let n = Vec3::new(turn.cos(), turn.sin(), 0.05 * (c as f64).sin()).normalize();
        let t = Vec3::z().cross(&n).normalize();
        let frame = Mat3::from_columns(&[n, t, n.cross(&t)]);
        let arm = -n * 0.1 + Vec3::z() * (0.3 * (c / 6) as f64 - 0.3);
        (frame.transpose(), -frame.transpose() * arm.cross_matrix())
    };
    let inertia = 1.0 / 0.02;
    for c in 0..contacts {
        for d in 0..contacts {
            let ((a, g), (e, h)) = (b(c), b(d));
            let block = a * e.transpose() + g * h.transpose() * inertia;
            w.add(c, d, &block).unwrap();
        }
    }
    let load = Vec3::new(0.02, -0.07, -0.4);
    let problem = LocalProblem {
        q: (0..contacts)
            .map(|c| b(c).0 * load - Vec3::x() * 0.01 * (c % 2) as f64)
            .collect(),
        mu: vec![0.9; contacts],
        w,
    };
    let mut r = Vec::new();
    let config = local::Config::default();
    let report = local::solve(&problem, &mut r, &config, Cancel::NEVER).unwrap();
    assert!(report.converged, "{report:?}");
    let c = problem.certify(&r, &CertifyConfig::default()).unwrap();
    assert!(c.residual <= 1e-8 && c.cone < 1e-9, "{c:?}");
}
