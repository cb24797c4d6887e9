//! The reference solver against answers by hand, brute force and the independent certificate.
#![allow(clippy::unwrap_used, clippy::panic)]

use std::sync::Arc;

use stiction_contact::solver::{Solution, SolverReport, TaskStart, solve_alone};
use stiction_contact::{
    CertifyConfig, Contact, FrictionProblem, certify,
    generate::{RandomProblem, incline, pulled_chain, random, stack},
};
use stiction_math::{
    BlockPattern, LinearOperator, Mat3, PartShape, SystemMatrix, Vec3, nalgebra::DMatrix,
    nalgebra::DVector,
};
use stiction_solvers::reference::{Config, Error, Reference};

fn solve(
    problem: &FrictionProblem,
    config: &Config,
    start: Option<&[Vec3]>,
) -> Result<(Solution, SolverReport), Error> {
    let mut solution = Solution::new(Vec::new(), start.unwrap_or_default().to_vec());
    let mut solver = Reference::new(*config);
    let (problem, start) = (&mut problem.clone(), TaskStart::Configured);
    let report = solve_alone(&mut solver, problem, &mut solution, start, None)?;
    assert_eq!(judged(problem, &solution), report.error);
    Ok((solution, report))
}

fn solved(problem: &FrictionProblem) -> Solution {
    let (solution, report) = solve(problem, &Config::default(), None).unwrap();
    assert!(report.converged, "{report:?}");
    solution
}

/// The certificate's residuals of Coulomb's law and of the dynamics.
fn judged(problem: &FrictionProblem, report: &Solution) -> f64 {
    let c = certify(problem, &report.v, &report.r, &CertifyConfig::default()).unwrap();
    c.solution_error()
}

#[track_caller]
fn close(a: &[Vec3], b: &[Vec3], tolerance: f64) {
    assert_eq!(a.len(), b.len());
    for (a, b) in a.iter().zip(b) {
        assert!((a - b).norm() < tolerance, "{a} is not {b}");
    }
}

/// Free nodes of the given masses [kg] that would move with velocities `free` [m/s].
fn nodes(masses: &[f64], free: &[Vec3]) -> FrictionProblem {
    let none: [&[u32]; 0] = [];
    let pattern = Arc::new(BlockPattern::from_cliques(masses.len(), none).unwrap());
    let mut a = SystemMatrix::new(vec![PartShape::Sparse(pattern)], &[]);
    for (i, &m) in masses.iter().enumerate() {
        a.add(i, i, &Mat3::from_diagonal_element(m));
    }
    let f = masses.iter().zip(free).map(|(m, v)| v * *m).collect();
    FrictionProblem::new(a, f, 0.01)
}

#[test]
fn blocks_on_slopes_hold_and_slide_as_the_angle_says() {
    for angle in [0.0, 0.2, 0.46, 0.47, 1.2] {
        for speed in [0.0, 0.01, 1.0] {
            for mu in [0.0, 0.5, 2.0] {
                let case = incline(5, angle, mu, speed);
                let report = solved(&case.problem);
                close(&report.v, &case.v, 1e-12);
                close(&report.r, &case.r, 1e-12);
            }
        }
    }
}

#[test]
fn stacks_bear_their_weight() {
    let case = stack(&[1.0, 2.0, 0.5, 3.0], 0.4, 0.1);
    let report = solved(&case.problem);
    close(&report.v, &case.v, 1e-11);
    close(&report.r, &case.r, 1e-11);
    // A ton on a gram: sums of 1e5 m/s cancel, so velocities are known to some 1e-10 m/s, and the
    // impulse to that times a ton.
    let case = stack(&[1e-3, 1e3], 0.4, 0.0);
    let report = solved(&case.problem);
    close(&report.v, &case.v, 1e-9);
    close(&report.r, &case.r, 1e-6);
}

/// A node in a wedge of two walls, pressed down: each wall bears its part, N = w/(2 sin α) without
/// friction for walls at α to the vertical.
#[test]
fn two_walls_share_a_load() {
    let alpha = 0.5f64;
    let mut p = nodes(&[2.0], &[Vec3::new(0.0, 0.0, -1.0)]);
    for side in [-1.0, 1.0] {
        let contact = Contact {
            normal: Vec3::new(side * alpha.cos(), 0.0, alpha.sin()),
            ..Contact::default()
        };
        p.contacts.push(&[(0, 1.0)], contact);
    }
    let report = solved(&p);
    close(&report.v, &[Vec3::zeros()], 1e-13);
    for r in &report.r {
        assert!((r.norm() - 2.0 / (2.0 * alpha.sin())).abs() < 1e-12);
    }
}

/// Two nodes one on the other: the upper one is dragged at 1 m/s and slides on the lower one, the
/// lower one is held by the floor as long as the floor's friction is larger.
#[test]
fn of_two_contacts_one_slides_and_one_sticks() {
    let free = [Vec3::new(0.0, 0.0, -0.1), Vec3::new(1.0, 0.0, -0.1)];
    let mut p = nodes(&[1.0, 2.0], &free);
    let contact = |mu| Contact {
        mu,
        ..Contact::default()
    };
    p.contacts.push(&[(0, 1.0)], contact(0.5));
    p.contacts.push(&[(1, 1.0), (0, -1.0)], contact(0.3));
    let report = solved(&p);
    // 0.2 N·s of weight drag with 0.06 N·s; the floor bears 0.3 N·s and could hold 0.15.
    close(
        &report.v,
        &[Vec3::zeros(), Vec3::new(0.97, 0.0, 0.0)],
        1e-13,
    );
    let r = [Vec3::new(-0.06, 0.0, 0.3), Vec3::new(-0.06, 0.0, 0.2)];
    close(&report.r, &r, 1e-13);
}

#[test]
fn a_pulled_chain_slides_at_its_head_and_holds_at_its_tail() {
    let p = pulled_chain(30, 0.05);
    let report = solved(&p);
    assert!(judged(&p, &report) < 1e-12);
    // Each node drags with at most μ h g m = 4.905 mN·s, so at least eleven of them slide or hold
    // with all they have; the tail moves not at all.
    assert!(report.v[0].x > 1e-4);
    assert!(report.v[29].norm() < 1e-13);
    let moving = report.v.iter().filter(|v| v.x > 1e-12).count();
    assert!((1..20).contains(&moving), "{moving}");
    // All impulses together balance what the moving part carries away.
    let drag: f64 = report.r.iter().map(|r| r.x).sum();
    let carried: f64 = report.v.iter().map(|v| 0.1 * v.x).sum();
    assert!((0.05 + drag - carried).abs() < 1e-13);
}

#[test]
fn random_problems_of_all_kinds_are_solved() {
    for kind in RandomProblem::ALL {
        for (size, seeds) in [(5, 30), (16, 20), (40, 4)] {
            for seed in 0..seeds {
                let p = random(kind, size, seed);
                let (_, report) = solve(&p, &Config::default(), None).unwrap();
                assert!(report.converged, "{kind:?} {size} {seed}: {report:?}");
                let error = report.error;
                assert!(error < 1e-10, "{kind:?} {size} {seed}: {error:e}");
            }
        }
    }
}

/// Without friction the problem is a quadratic programme: with W restricted to normals, exactly
/// one choice of closed contacts gives r ≥ 0 there and u ≥ 0 elsewhere. All are tried.
#[test]
fn frictionless_problems_agree_with_trying_all_active_sets() {
    for seed in 0..20 {
        let p = random(RandomProblem::Frictionless, 12, seed);
        let m = p.contacts.len();
        let n = 3 * p.blocks();
        let mut a = DMatrix::zeros(n, n);
        let mut x = vec![Vec3::zeros(); p.blocks()];
        let mut y = x.clone();
        for j in 0..n {
            x[j / 3][j % 3] = 1.0;
            p.a.apply(&x, &mut y);
            x[j / 3][j % 3] = 0.0;
            (0..n).for_each(|i| a[(i, j)] = y[i / 3][i % 3]);
        }
        let mut normals = DMatrix::zeros(m, n);
        for c in 0..m {
            for e in p.contacts.entries(c) {
                let row = e.matrix().transpose() * p.contacts.normal[c];
                (0..3).for_each(|k| normals[(c, 3 * e.node as usize + k)] += row[k]);
            }
        }
        let inverse = a.try_inverse().unwrap();
        let f = DVector::from_fn(n, |i, _| p.f[i / 3][i % 3]);
        let k = DVector::from_fn(m, |c, _| p.contacts.normal[c].dot(&p.contacts.k[c]));
        let w = &normals * &inverse * normals.transpose();
        let q = &normals * &inverse * &f + k;

        let mut found = Vec::new();
        for set in 0u32..1 << m {
            let closed: Vec<usize> = (0..m).filter(|c| set & (1 << c) != 0).collect();
            let part = w.select_rows(&closed).select_columns(&closed);
            let Some(inverse_part) = part.try_inverse() else {
                continue;
            };
            let r = -inverse_part * q.select_rows(&closed);
            let mut all = DVector::zeros(m);
            closed.iter().zip(r.iter()).for_each(|(&c, r)| all[c] = *r);
            let u = &w * &all + &q;
            if all.min() >= 0.0 && u.min() >= -1e-12 {
                found.push(&inverse * (&f + normals.transpose() * all));
            }
        }
        assert!(!found.is_empty(), "{seed}");
        let report = solved(&p);
        for v in found {
            for i in 0..n {
                assert!((report.v[i / 3][i % 3] - v[i]).abs() < 1e-10, "{seed}");
            }
        }
    }
}

#[test]
fn a_solution_is_recognised_where_it_starts() {
    let p = random(RandomProblem::RankDeficient, 16, 1);
    let report = solved(&p);
    let (answer, again) = solve(&p, &Config::default(), Some(&report.r)).unwrap();
    assert!(again.converged && again.iterations <= 1);
    close(&answer.r, &report.r, 1e-9);
    let p = random(RandomProblem::Cohesive, 16, 1);
    let report = solved(&p);
    let (_, again) = solve(&p, &Config::default(), Some(&report.r)).unwrap();
    assert!(again.converged && again.iterations <= 1);
}

/// A node between two walls that approach each other: nothing can open both.
#[test]
fn a_problem_without_solution_is_reported_as_such() {
    let mut p = nodes(&[1.0], &[Vec3::zeros()]);
    for normal in [Vec3::x(), -Vec3::x()] {
        let contact = Contact {
            normal,
            k: normal * -0.5,
            mu: 0.3,
            ..Contact::default()
        };
        p.contacts.push(&[(0, 1.0)], contact);
    }
    let config = Config {
        max_iterations: 100,
        ..Config::default()
    };
    let (_, report) = solve(&p, &config, None).unwrap();
    assert!(!report.converged && report.iterations <= 101);
    assert!(report.error > 0.1 && report.error.is_finite());
}

#[test]
fn bad_problems_are_refused() {
    let good = nodes(&[1.0], &[Vec3::x()]);
    assert_eq!(solved(&good).v, [Vec3::x()]);
    assert!(solved(&nodes(&[], &[])).v.is_empty());
    let mut p = good.clone();
    p.h = -1.0;
    let refused = |p: &FrictionProblem, config| solve(p, &config, None).map(|s| s.1);
    assert!(matches!(
        refused(&p, Config::default()),
        Err(Error::Problem(_))
    ));
    let small = Config {
        max_rows: 2,
        ..Config::default()
    };
    assert_eq!(
        refused(&good, small),
        Err(Error::TooLarge { rows: 3, limit: 2 })
    );
    let mut p = good.clone();
    p.contacts.push(&[(0, 1.0)], Contact::default());
    let endless = [Vec3::repeat(f64::INFINITY)];
    let start = solve(&p, &Config::default(), Some(&endless));
    assert_eq!(start.err(), Some(Error::Start("r")));
}
