//! The solver `cr`, judged by the certificate, the slow solver and answers by hand.
#![allow(clippy::unwrap_used, clippy::panic)]

use stiction_contact::{
    CertifyConfig, Contact, ContactSet, FrictionProblem, certify,
    detect::ContactSource,
    generate::{RandomProblem, incline, pulled_chain, random, stack},
    solver::{ContactSolver, KeptFactor, Solution, SolverReport, Task, TaskStart, solve_alone},
};
use stiction_math::{Cancel, Vec3};
use stiction_solvers::{
    cr::{Config, Cr, CrPreconditioner, CrStop, KktKrylov, SwitchRule},
    reference::Reference,
};

fn from_nothing(problem: &FrictionProblem, config: Config) -> (Solution, SolverReport) {
    let mut solution = Solution::default();
    let (problem, start) = (&mut problem.clone(), TaskStart::Configured);
    let solver = &mut Cr::new(config) as &mut dyn ContactSolver;
    let report = solve_alone(solver, problem, &mut solution, start, None).unwrap();
    (solution, report)
}

fn judged(problem: &FrictionProblem, solution: &Solution) -> f64 {
    let judged = certify(problem, &solution.v, &solution.r, &CertifyConfig::default());
    judged.unwrap().solution_error()
}

fn distance(a: &[Vec3], b: &[Vec3]) -> f64 {
    let pairs = a.iter().zip(b);
    pairs.map(|(a, b)| (a - b).norm()).fold(0.0, f64::max)
}

/// Kinds on which it does not always converge: μ = 10, where several answers exist and the slip of a contact
/// moves its own normal force by more than it is; and normals that differ by 1e-6, which leave H with
/// eigenvalues that an iteration cannot tell apart to nine digits.
const HARD: [RandomProblem; 2] = [RandomProblem::HighFriction, RandomProblem::NearDegenerate];

#[test]
fn random_problems_are_solved_from_nothing_as_the_slow_solver_solves_them() {
    let (mut solved, mut hard) = (0, 0);
    for i in (0..200).step_by(3) {
        let kind = RandomProblem::ALL[(i + i / 12) % RandomProblem::ALL.len()];
        let problem = random(kind, 4 + (7 * i) % 27, i as u64);
        let (solution, report) = from_nothing(&problem, Config::accurate());
        let name = format!("{kind:?} {i}: {report:?}");
        let error = judged(&problem, &solution);
        if HARD.contains(&kind) {
            hard += 1;
            solved += usize::from(report.converged);
            assert!(!report.converged || error <= 1e-9, "{name}: {error:e}");
            continue;
        }
        assert!(report.converged && error <= 1e-9, "{name}: {error:e}");
        let mut slow = Solution::default();
        let start = TaskStart::Configured;
        let solver = &mut Reference::default() as &mut dyn ContactSolver;
        solve_alone(solver, &mut problem.clone(), &mut slow, start, None).unwrap();
        // Both are within 1e-9 of laws whose solution is one on these problems.
        let d = distance(&solution.v, &slow.v);
        assert!(d < 1e-7, "{name}: {d:e}");
    }
    assert!(2 * solved > hard, "{solved} of {hard} hard ones");
}

#[test]
fn answers_by_hand() {
    for (name, solved) in [
        ("rest", incline(4, 0.2, 0.5, 0.0)),
        ("slide", incline(4, 0.6, 0.5, 0.0)),
        ("stop", incline(4, 0.1, 0.5, 0.01)),
        ("pushed stack", stack(&[1.0, 2.0, 3.0], 0.5, 0.1)),
        ("heavy on light", stack(&[1.0, 1e3], 0.5, 0.0)),
        ("light on heavy", stack(&[1e3, 1.0], 0.5, 0.0)),
    ] {
        for preconditioner in [
            CrPreconditioner::Diagonal,
            CrPreconditioner::Full,
            CrPreconditioner::Cholesky,
        ] {
            let config = Config {
                preconditioner,
                ..Config::accurate()
            };
            let (solution, report) = from_nothing(&solved.problem, config);
            assert!(report.converged, "{name}: {report:?}");
            let d = distance(&solution.v, &solved.v);
            assert!(d < 1e-6, "{name}, {preconditioner:?}: {d:e}");
        }
    }
}

/// The rules of the paper decide between rest and sliding, and are as accurate as their thresholds.
#[test]
fn the_paper_s_rules_hold_what_holds_and_slide_what_slides() {
    for (angle, holds) in [(0.2, true), (0.45, true), (0.5, false), (0.8, false)] {
        let solved = incline(4, angle, 0.5, 0.0);
        for krylov in [KktKrylov::ConjugateResiduals, KktKrylov::Minres] {
            let config = Config {
                krylov,
                ..Config::paper()
            };
            let (solution, report) = from_nothing(&solved.problem, config);
            assert!(report.converged, "{angle}: {report:?}");
            // Rows are within 5 µm of a step of 10 ms; the magnitude of friction follows within as much.
            let d = distance(&solution.v, &solved.v);
            assert!(d < 2e-3, "{angle}: {d:e}");
        }
        let speed = solved.v[0].norm();
        assert_eq!(speed < 1e-12, holds, "{angle}");
    }
}

/// Every node of the chain has a contact of its own, so that all blocks are no better than the diagonal; the
/// incomplete factor of a chain has no fill to leave out.
#[test]
fn the_factor_of_a_chain_needs_a_third_of_the_iterations() {
    let total = |preconditioner| {
        let config = Config {
            preconditioner,
            ..Config::accurate()
        };
        let run = |n: usize| {
            let (_, report) = from_nothing(&pulled_chain(n, 0.05 * n as f64), config);
            assert!(report.converged, "{preconditioner:?} {n}: {report:?}");
            report.iterations
        };
        [10, 20, 40, 80].map(run).iter().sum::<usize>()
    };
    let [diagonal, full, cholesky] = [
        CrPreconditioner::Diagonal,
        CrPreconditioner::Full,
        CrPreconditioner::Cholesky,
    ]
    .map(total);
    assert!(
        3 * cholesky < full.min(diagonal),
        "{cholesky}, {full}, {diagonal}"
    );
}

#[test]
fn an_answer_is_left_alone() {
    let problem = pulled_chain(20, 1.0);
    let (mut solution, _) = from_nothing(&problem, Config::accurate());
    let before = solution.clone();
    let start = TaskStart::Given;
    let solver = &mut Cr::default() as &mut dyn ContactSolver;
    let report = solve_alone(solver, &mut problem.clone(), &mut solution, start, None).unwrap();
    assert!(report.converged && report.iterations <= 2, "{report:?}");
    assert!(distance(&solution.v, &before.v) <= 1e-9);
}

#[test]
fn what_is_not_solved_is_reported_and_never_worse_than_the_start() {
    for seed in 0..24 {
        let problem = random(RandomProblem::ALL[seed as usize % 12], 12, seed);
        let zero = Solution::new(
            vec![Vec3::zeros(); problem.blocks()],
            vec![Vec3::zeros(); problem.contacts.len()],
        );
        let config = Config {
            max_iterations: 3,
            ..Config::accurate()
        };
        let mut solution = zero.clone();
        let start = TaskStart::Given;
        let solver = &mut Cr::new(config) as &mut dyn ContactSolver;
        let report = solve_alone(solver, &mut problem.clone(), &mut solution, start, None).unwrap();
        let error = judged(&problem, &solution);
        assert!(error <= judged(&problem, &zero), "{seed}");
        assert_eq!(report.converged, error <= 1e-9, "{seed}: {error:e}");
    }
}

#[test]
fn the_same_bits_for_any_number_of_threads() {
    let problem = pulled_chain(3000, 30.0);
    let config = Config {
        stop: CrStop::Certificate(1e-6),
        preconditioner: CrPreconditioner::Cholesky,
        ..Config::accurate()
    };
    let run = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads);
        pool.build()
            .unwrap()
            .install(|| from_nothing(&problem, config))
    };
    let (one, report) = run(1);
    assert!(report.converged, "{report:?}");
    let (two, again) = run(3);
    assert_eq!(one, two);
    assert_eq!(report.iterations, again.iterations);
}

/// A source that lists the floor under a node when the node falls.
struct Late {
    listed: bool,
}

impl ContactSource for Late {
    fn more_contacts(&mut self, v: &[Vec3], contacts: &mut ContactSet) -> usize {
        if self.listed || v[0].z >= 0.0 {
            return 0;
        }
        self.listed = true;
        let contact = Contact {
            mu: 0.5,
            ..Contact::default()
        };
        contacts.push(&[(0, 1.0)], contact);
        1
    }
}

#[test]
fn contacts_that_come_late_are_in_the_answer() {
    let solved = incline(1, 0.2, 0.5, 0.0);
    let mut problem = solved.problem.clone();
    let hidden = std::mem::take(&mut problem.contacts);
    // The slope's own contact has the normal of the slope; the floor's is z.
    assert_eq!(hidden.len(), 1);
    let mut solution = Solution::default();
    let mut source = Late { listed: false };
    let mut task = Task {
        problem: &mut problem,
        source: &mut source,
        start: TaskStart::Configured,
        polish: true,
        target: None,
        local: None,
        cancel: Cancel::NEVER,
        observer: &mut |_| {},
    };
    let report = Cr::default().solve(&mut task, &mut solution).unwrap();
    assert!(report.converged && report.new_contacts == 1, "{report:?}");
    assert!(solution.v[0].z > -1e-9, "{}", solution.v[0]);
}

/// The velocity without contact, by conjugate gradients and by a factor.
#[test]
fn predictions_agree_with_a_factor() {
    for kind in RandomProblem::ALL {
        let problem = random(kind, 12, 5);
        let (mut x, mut exact) = (problem.f.clone(), problem.f.clone());
        Cr::default()
            .unconstrained(&problem, &mut x, 1e-12)
            .unwrap();
        let mut factor = KeptFactor::default();
        factor.unconstrained(&problem, &mut exact, 1e-12).unwrap();
        let size = exact.iter().map(Vec3::norm).fold(0.0, f64::max);
        // Twelve digits of the residual, of which the condition takes a few.
        assert!(distance(&x, &exact) <= 1e-6 * size, "{kind:?}");
    }
}

/// Its sources name no factor but incomplete ones, it leaves none behind for the certificate, and says so.
#[test]
fn nothing_is_factorised() {
    let sources = [
        include_str!("../src/cr/mod.rs"),
        include_str!("../src/cr/iterate.rs"),
        include_str!("../src/kkt/mod.rs"),
        include_str!("../src/kkt/iteration.rs"),
        include_str!("../src/kkt/minres.rs"),
        include_str!("../src/kkt/precondition.rs"),
        include_str!("../src/cr/linear.rs"),
        include_str!("../src/cr/pace.rs"),
        include_str!("../src/cr/proximal.rs"),
        include_str!("../src/cr/states.rs"),
        include_str!("../src/cr/tangent.rs"),
        include_str!("../src/assembled.rs"),
    ];
    for name in ["SystemFactor", "KeptFactor", "Symbolic", "Lu", "polisher"] {
        let word = |text: &str| {
            let letters = |c: char| !(c.is_alphanumeric() || c == '_');
            text.split(letters).any(|w| w == name)
        };
        assert!(!sources.iter().any(|s| word(s)), "{name}");
    }
    let mut problem = pulled_chain(20, 1.0);
    let mut solver = Cr::default();
    let (solver, start) = (&mut solver as &mut dyn ContactSolver, TaskStart::Configured);
    solve_alone(solver, &mut problem, &mut Solution::default(), start, None).unwrap();
    assert!(!solver.factorises() && solver.factor_at_hand(&problem).is_none());
}

#[test]
fn bad_settings_are_refused() {
    let problem = incline(1, 0.2, 0.5, 0.0).problem;
    for config in [
        Config {
            stop: CrStop::Certificate(-1.0),
            ..Config::accurate()
        },
        Config {
            law: SwitchRule {
                turn: f64::NAN,
                ..Config::paper().law
            },
            ..Config::accurate()
        },
    ] {
        let solver = &mut Cr::new(config) as &mut dyn ContactSolver;
        let start = TaskStart::Configured;
        let mut solution = Solution::default();
        let result = solve_alone(solver, &mut problem.clone(), &mut solution, start, None);
        assert!(result.is_err());
    }
}
