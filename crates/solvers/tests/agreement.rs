//! Solvers on the same generated problems, judged by the certificate alone.
//!
//! `STICTION_LONG=1` takes all 200 problems, with up to 60 nodes; otherwise every fourth, with up
//! to 30.
#![allow(clippy::unwrap_used, clippy::panic)]

use stiction_contact::generate::{RandomProblem, random};
use stiction_contact::solver::Tolerance;
use stiction_contact::solver::{
    ContactSolver, Solution, SolverError, SolverReport, TaskStart, solve_alone,
};
use stiction_contact::{CertifyConfig, FrictionProblem, certify};
use stiction_math::Vec3;
use stiction_solvers::{admm, cr, ica, newton, reference};

/// Required tolerance of `residual` and `linear` [m/s].
const ASKED: f64 = 1e-9;

fn problems() -> Vec<(RandomProblem, u64, FrictionProblem)> {
    let long = std::env::var_os("STICTION_LONG").is_some();
    let (stride, largest) = if long { (1, 60) } else { (4, 30) };
    (0..200)
        .step_by(stride)
        .map(|i| {
            // Strides of twelve kinds: a stride of four must not miss any.
            let kind = RandomProblem::ALL[(i + i / 12) % RandomProblem::ALL.len()];
            let size = 4 + (7 * i) % (largest - 3);
            (kind, i as u64, random(kind, size, i as u64))
        })
        .collect()
}

fn judged(problem: &FrictionProblem, v: &[Vec3], r: &[Vec3]) -> f64 {
    let c = certify(problem, v, r, &CertifyConfig::default()).unwrap();
    c.solution_error()
}

/// Solves from nothing.
fn run(
    solver: &mut dyn ContactSolver,
    problem: &FrictionProblem,
) -> Result<(Solution, SolverReport), SolverError> {
    let mut solution = Solution::default();
    let (problem, start) = (&mut problem.clone(), TaskStart::Configured);
    let report = solve_alone(solver, problem, &mut solution, start, None)?;
    Ok((solution, report))
}

fn distance(a: &[Vec3], b: &[Vec3]) -> f64 {
    let pairs = a.iter().zip(b);
    pairs.map(|(a, b)| (a - b).norm()).fold(0.0, f64::max)
}

#[test]
fn splitting_and_the_slow_solver_solve_all_problems_and_agree_where_one_answer_exists() {
    let (mut several, mut count) = (Vec::new(), 0);
    for (kind, seed, problem) in problems() {
        let config = admm::Config {
            tolerance: Tolerance::Velocity(ASKED),
            ..admm::Config::accurate()
        };
        let (state, report) = run(&mut admm::Admm::new(config), &problem).unwrap();
        let name = format!("{kind:?} {seed}");
        assert!(report.converged, "{name}: {report:?}");
        assert!(judged(&problem, &state.v, &state.r) <= ASKED, "{name}");
        let (slow, report) = run(&mut reference::Reference::default(), &problem).unwrap();
        assert!(report.converged, "{name}: {report:?}");
        assert!(judged(&problem, &slow.v, &slow.r) <= ASKED, "{name}");
        count += 1;

        let d = distance(&state.v, &slow.v);
        // Without friction v is the minimum of a strictly convex function. With some, no second
        // answer is known on these problems; with μ = 10 there are several, all of which the
        // certificate accepts, and normals that differ by 1e-6 leave v less certain by as much.
        match kind {
            RandomProblem::HighFriction if d > 1e-6 => several.push(name),
            RandomProblem::HighFriction => {}
            RandomProblem::NearDegenerate => assert!(d < 1e6 * ASKED, "{name}: {d:e}"),
            _ => assert!(d < 100.0 * ASKED, "{name}: {d:e}"),
        }
    }
    assert!(count == 50 || count == 200);
    assert!(several.len() * 40 < count, "second answers: {several:?}");
}

/// For any tolerance, «converged» means that the certificate is below it.
#[test]
fn no_solver_claims_convergence_against_the_certificate() {
    let mut claims = 0;
    for (kind, seed, problem) in problems() {
        for tolerance in [1e-3, 1e-6, 1e-10] {
            let length = tolerance * problem.h;
            let max_iterations = 300;
            let splitting = |base: admm::Config| -> Box<dyn ContactSolver> {
                Box::new(admm::Admm::new(admm::Config {
                    tolerance: Tolerance::Displacement(length),
                    max_iterations,
                    ..base
                }))
            };
            let solvers: [Box<dyn ContactSolver>; 6] = [
                splitting(admm::Config::paper()),
                splitting(admm::Config::accurate()),
                Box::new(ica::Ica::new(ica::Config {
                    tolerance: Tolerance::Displacement(length),
                    max_iterations,
                    ..ica::Config::paper()
                })),
                Box::new(newton::NewtonSolver::new(newton::Config {
                    tolerance,
                    max_iterations,
                    ..newton::Config::default()
                })),
                Box::new(cr::Cr::new(cr::Config {
                    stop: cr::CrStop::Certificate(tolerance),
                    max_iterations,
                    ..cr::Config::accurate()
                })),
                Box::new(reference::Reference::new(reference::Config {
                    tolerance,
                    max_iterations,
                    ..reference::Config::default()
                })),
            ];
            for mut solver in solvers {
                let name = solver.name();
                match run(&mut *solver, &problem) {
                    Ok((state, report)) if report.converged => {
                        claims += 1;
                        let found = judged(&problem, &state.v, &state.r);
                        assert!(found <= report.asked, "{name}, {kind:?} {seed}: {found:e}");
                        // The slow solver aims at a fraction of the speeds of the problem.
                        let own = name == "reference" || report.asked <= tolerance * (1.0 + 1e-15);
                        assert!(own, "{name}: {} for {tolerance}", report.asked);
                    }
                    Ok(_) => {}
                    Err(SolverError::Overflow { .. }) if name == "ica" => {}
                    Err(error) => panic!("{name}, {kind:?} {seed}: {error}"),
                }
            }
        }
    }
    assert!(claims > 550, "{claims} claims");
}
