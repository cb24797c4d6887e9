//! The primal solver on generated problems, judged by the certificate, by answers by hand and by the
//! slow solver.
#![allow(clippy::unwrap_used, clippy::panic)]

use stiction_contact::generate::{RandomProblem, incline, random, stack};
use stiction_contact::solver::{ContactSolver, Solution, SolverReport, TaskStart, solve_alone};
use stiction_contact::{CertifyConfig, Contact, FrictionProblem, certify};
use stiction_math::Vec3;
use stiction_solvers::newton::NewtonSolver;
use stiction_solvers::nodal::{Config, Nodal, NodalSleep};
use stiction_solvers::reference::Reference;

/// Required tolerance of `residual` and `linear` [m/s].
const ASKED: f64 = 1e-9;

fn solve(problem: &FrictionProblem, config: Config) -> (Solution, SolverReport) {
    solve_with(&mut Nodal::new(config), problem)
}

fn solve_with(
    solver: &mut dyn ContactSolver,
    problem: &FrictionProblem,
) -> (Solution, SolverReport) {
    let mut state = Solution::default();
    let (problem, start) = (&mut problem.clone(), TaskStart::Configured);
    let report = solve_alone(solver, problem, &mut state, start, None).unwrap();
    (state, report)
}

fn accurate() -> Config {
    Config {
        tolerance: ASKED,
        ..Config::accurate()
    }
}

fn judged(problem: &FrictionProblem, state: &Solution) -> f64 {
    let c = certify(problem, &state.v, &state.r, &CertifyConfig::default()).unwrap();
    c.solution_error()
}

fn distance(a: &[Vec3], b: &[Vec3]) -> f64 {
    let pairs = a.iter().zip(b);
    pairs.map(|(a, b)| (a - b).norm()).fold(0.0, f64::max)
}

/// All kinds of problems, layers and redundant contacts among them, agree with the slow solver.
#[test]
fn random_problems() {
    let mut unsolved = Vec::new();
    for seed in 0..60u64 {
        let kind = RandomProblem::ALL[seed as usize % RandomProblem::ALL.len()];
        let problem = random(kind, 4 + (5 * seed as usize) % 27, seed);
        let (mut state, mut report) = solve(&problem, accurate());
        let error = judged(&problem, &state);
        assert_eq!(report.converged, error <= ASKED, "{kind:?} {seed}");
        if !report.converged && kind == RandomProblem::NearDegenerate {
            // Wedges that almost close pass loads on by their angle, which relaxation takes forever for:
            // the polishing solver is for them.
            let newton = Box::new(NewtonSolver::default());
            let config = Config {
                polish: 1000,
                max_iterations: 1000,
                ..accurate()
            };
            (state, report) = solve_with(&mut Nodal::new(config).with_polisher(newton), &problem);
        }
        if !report.converged {
            unsolved.push(format!(
                "{kind:?} {seed}: {:e} after {}",
                error, report.iterations
            ));
            continue;
        }
        let (slow, known) = solve_with(&mut Reference::default(), &problem);
        assert!(known.converged);
        let d = distance(&state.v, &slow.v);
        // See `agreement.rs`: with μ = 10 there are several answers.
        match kind {
            RandomProblem::HighFriction => {}
            RandomProblem::NearDegenerate => assert!(d < 1e6 * ASKED, "{kind:?} {seed}: {d:e}"),
            _ => assert!(d < 1e3 * ASKED, "{kind:?} {seed}: {d:e}"),
        }
    }
    assert!(unsolved.is_empty(), "{unsolved:#?}");
}

#[test]
fn answers_by_hand() {
    for (name, solved) in [
        ("rest", incline(4, 0.2, 0.5, 0.0)),
        ("slide", incline(4, 0.6, 0.5, 0.0)),
        ("stop", incline(4, 0.1, 0.5, 0.01)),
        ("pushed stack", stack(&[1.0, 2.0, 3.0], 0.5, 0.1)),
        ("heavy on light", stack(&[1.0, 100.0], 0.5, 0.0)),
        ("light on heavy", stack(&[100.0, 1.0], 0.5, 0.0)),
    ] {
        let (state, report) = solve(&solved.problem, accurate());
        assert!(report.converged, "{name}: {report:?}");
        let d = distance(&state.v, &solved.v);
        assert!(d < 1e-6, "{name}: {d:e}");
    }
}

/// A vertex between two planes, and one in the corner of three: copies of one vertex end as one.
#[test]
fn a_vertex_with_several_contacts() {
    for mu in [0.0, 0.5] {
        let mut corner = incline(1, 0.3, mu, 0.0).problem;
        for normal in [Vec3::x(), -Vec3::x(), Vec3::y()] {
            let contact = Contact {
                normal,
                mu,
                ..Contact::default()
            };
            corner.contacts.push(&[(0, 1.0)], contact);
        }
        let (state, report) = solve(&corner, accurate());
        assert!(report.converged, "{report:?}");
        let (slow, _) = solve_with(&mut Reference::default(), &corner);
        assert!(distance(&state.v, &slow.v) < 1e-7);
    }
}

/// Sleeping contacts change the path, not the answer.
#[test]
fn sleep() {
    let sleep = NodalSleep {
        small: 1e-10,
        settled: 1e-11,
        sweeps: 10,
    };
    for seed in 0..12 {
        let problem = random(RandomProblem::Sparse, 20, seed);
        let (awake, _) = solve(&problem, accurate());
        let (state, report) = solve(
            &problem,
            Config {
                sleep: Some(sleep),
                ..accurate()
            },
        );
        assert!(report.converged, "{seed}: {report:?}");
        assert!(distance(&state.v, &awake.v) < 1e-6, "{seed}");
    }
}

/// The answer has the same bits for any number of threads.
#[test]
fn threads_change_no_bit() {
    let problem = random(RandomProblem::Sparse, 400, 5);
    let run = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(threads)
            .build()
            .unwrap();
        pool.install(|| {
            solve(
                &problem,
                Config {
                    max_iterations: 50,
                    ..Config::paper()
                },
            )
            .0
        })
    };
    assert_eq!(run(1), run(3));
}
