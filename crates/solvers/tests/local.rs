//! The local form against the trusted solver, and where relaxation alone stalls.
#![allow(clippy::unwrap_used)]

use std::sync::Arc;

use stiction_contact::{
    CertifyConfig, LocalProblem, certify, eliminated_residual,
    generate::{RandomProblem, random},
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
    for kind in RandomProblem::ALL {
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
    for kind in RandomProblem::ALL {
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
        let mut problem = random(RandomProblem::Sparse, 40, seed);
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
    for kind in [
        RandomProblem::Sparse,
        RandomProblem::Rigid,
        RandomProblem::MassRatio,
    ] {
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

/// A body on many contacts with slanted normals and high friction: W has rank 6 of 54.
#[test]
fn redundant_contacts_with_high_friction_are_solved() {
    let mut state = 11u64;
    let mut random = || {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (state >> 11) as f64 / (1u64 << 53) as f64 * 2.0 - 1.0
    };
    let contacts = 18;
    for case in 0..40 {
        let all: Vec<u32> = (0..contacts as u32).collect();
        let pattern = BlockPattern::from_cliques(contacts, [&all[..]]).unwrap();
        let mut w = BlockMatrix::zeros(Arc::new(pattern));
        // u = Fᵀ (v + ω × ρ) of a body of unit mass, normals above the horizon, so that it can leave.
        let points: Vec<(Mat3, Mat3)> = (0..contacts)
            .map(|_| {
                let n = Vec3::new(random(), random(), 0.3 + 0.2 * random()).normalize();
                let t = Vec3::x().cross(&n).normalize();
                let frame = Mat3::from_columns(&[n, t, n.cross(&t)]).transpose();
                let arm = Vec3::new(random(), random(), random());
                (frame, -frame * arm.cross_matrix())
            })
            .collect();
        for (c, (a, g)) in points.iter().enumerate() {
            for (d, (e, h)) in points.iter().enumerate() {
                let block = a * e.transpose() + g * h.transpose() * 2.5;
                w.add(c, d, &block).unwrap();
            }
        }
        let load = Vec3::new(random(), random(), -1.0);
        let problem = LocalProblem {
            q: points.iter().map(|(a, _)| a * load).collect(),
            mu: vec![1.5; contacts],
            w,
        };
        let mut r = Vec::new();
        let config = local::Config::default();
        let report = local::solve(&problem, &mut r, &config, Cancel::NEVER).unwrap();
        assert!(report.converged, "{case}: {report:?}");
        let c = problem.certify(&r, &CertifyConfig::default()).unwrap();
        assert!(c.residual <= 1e-8 && c.cone < 1e-9, "{case}: {c:?}");
    }
}
