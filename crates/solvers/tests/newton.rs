//! Newton's method on generated problems, judged by the certificate, by answers by hand and by the
//! slow solver.
#![allow(clippy::unwrap_used, clippy::panic)]

use stiction_contact::detect::ContactSource;
use stiction_contact::generate::{RandomProblem, incline, pulled_chain, random, stack};
use stiction_contact::solver::Tolerance;
use stiction_contact::solver::{
    ContactSolver, Solution, SolverReport, Task, TaskStart, solve_alone,
};
use stiction_contact::{CertifyConfig, Contact, ContactSet, FrictionProblem, certify};
use stiction_math::{Cancel, Vec3};
use stiction_solvers::newton::{Config, Error, NewtonSolver};
use stiction_solvers::reference::Reference;
use stiction_solvers::{admm, polished_admm};

fn run(
    solver: &mut dyn ContactSolver,
    problem: &FrictionProblem,
    state: &mut Solution,
) -> Result<SolverReport, Error> {
    let start = TaskStart::Configured;
    solve_alone(solver, &mut problem.clone(), state, start, None)
}

fn solve(
    problem: &FrictionProblem,
    state: &mut Solution,
    config: &Config,
) -> Result<SolverReport, Error> {
    run(&mut NewtonSolver::new(*config), problem, state)
}

/// Required tolerance of `residual` and `linear` [m/s].
const ASKED: f64 = 1e-9;

fn asked() -> Config {
    Config {
        tolerance: ASKED,
        ..Config::default()
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

/// From nothing: no velocities, no impulses, no other solver before.
fn from_nothing(problem: &FrictionProblem, config: &Config) -> (Solution, SolverReport) {
    let mut state = Solution::default();
    let report = solve(problem, &mut state, config).unwrap();
    assert_eq!(report.error, judged(problem, &state));
    assert_eq!(report.converged, report.error <= config.tolerance);
    (state, report)
}

#[test]
fn random_problems_of_every_kind_are_solved_from_nothing_as_the_slow_solver_solves_them() {
    for seed in 0..60 {
        let kind = RandomProblem::ALL[seed as usize % RandomProblem::ALL.len()];
        let problem = random(kind, 4 + (5 * seed as usize) % 27, seed);
        let name = format!("{kind:?} {seed}");
        let (state, report) = from_nothing(&problem, &asked());
        assert!(report.converged, "{name}: {report:?}");
        assert!(report.iterations < 100, "{name}: {report:?}");
        let mut slow = Solution::default();
        let known = run(&mut Reference::default(), &problem, &mut slow).unwrap();
        assert!(known.converged, "{name}: {known:?}");
        let d = distance(&state.v, &slow.v);
        // See `agreement.rs`: with μ = 10 there are several answers.
        match kind {
            RandomProblem::HighFriction => {}
            RandomProblem::NearDegenerate => assert!(d < 1e6 * ASKED, "{name}: {d:e}"),
            _ => assert!(d < 100.0 * ASKED, "{name}: {d:e}"),
        }
    }
}

#[test]
fn answers_by_hand() {
    for (name, solved) in [
        ("rest", incline(4, 0.2, 0.5, 0.0)),
        ("slide", incline(4, 0.6, 0.5, 0.0)),
        ("stop", incline(4, 0.1, 0.5, 0.01)),
        ("pushed stack", stack(&[1.0, 2.0, 3.0], 0.5, 0.1)),
        ("heavy on light", stack(&[1.0, 1e6], 0.5, 0.0)),
        ("light on heavy", stack(&[1e6, 1.0], 0.5, 0.0)),
        ("all of it", stack(&[1.0, 1e6, 1e-3, 4.0], 0.5, 0.0)),
    ] {
        let (state, report) = from_nothing(&solved.problem, &asked());
        assert!(report.converged, "{name}: {report:?}");
        let d = distance(&state.v, &solved.v);
        assert!(d < 1e-6, "{name}: {d:e}");
    }
}

/// Extremes that have a solution or not; nothing may become infinite or wrong in silence.
#[test]
fn extremes() {
    // Two planes that close on a node from both sides, with and without friction.
    let pinched = |mu: f64| {
        let mut pinched = incline(1, 0.0, 0.5, 0.0).problem;
        for normal in [Vec3::x(), -Vec3::x()] {
            let contact = Contact {
                normal,
                k: -normal,
                mu,
                ..Contact::default()
            };
            pinched.contacts.push(&[(0, 1.0)], contact);
        }
        pinched
    };
    let mut none = pulled_chain(5, 0.1);
    none.contacts = ContactSet::default();
    let mut heavy = stack(&[1.0, 1e6, 1.0], 0.5, 0.0).problem;
    heavy.contacts.mu.fill(10.0);
    let mut twice = incline(3, 0.2, 0.5, 0.0).problem;
    let again = twice.contacts.clone();
    for c in 0..again.len() {
        twice
            .contacts
            .push_entries(again.entries(c), again.contact(c));
    }
    let mut weightless = pulled_chain(5, 0.0);
    weightless.f.fill(Vec3::zeros());
    let mut fast = incline(3, 0.2, 10.0, 0.0).problem;
    for f in &mut fast.f {
        *f *= 1e12;
    }

    for (name, problem, has_solution) in [
        ("pinched", &pinched(0.3), false),
        ("pinched, smooth", &pinched(0.0), false),
        ("pinched, rough", &pinched(10.0), false),
        ("none", &none, true),
        ("heavy", &heavy, true),
        ("twice", &twice, true),
        ("weightless", &weightless, true),
    ] {
        let (state, report) = from_nothing(problem, &Config::default());
        let finite = |x: &[Vec3]| x.iter().all(|x| x.iter().all(|x| x.is_finite()));
        assert!(finite(&state.v) && finite(&state.r), "{name}");
        assert_eq!(report.converged, has_solution, "{name}: {report:?}");
    }
    // Whether 1e-8 m/s can be told apart from 1e12 or not, the answer is finite and judged.
    let (state, _) = from_nothing(&fast, &Config::default());
    assert!(state.v.iter().all(|v| v.iter().all(|v| v.is_finite())));
}

/// The best answer is kept: a limit that ends the search early can only make it worse.
#[test]
fn unsolved_problems_are_reported_and_never_worse_than_the_start() {
    for seed in 0..24 {
        let kind = RandomProblem::ALL[seed as usize % RandomProblem::ALL.len()];
        let problem = random(kind, 25, seed);
        let mut last = f64::INFINITY;
        for max_iterations in [0, 1, 3, 10, 30] {
            let config = Config {
                max_iterations,
                ..asked()
            };
            let (_, report) = from_nothing(&problem, &config);
            assert!(report.iterations <= max_iterations);
            assert!(report.error <= last, "{kind:?} {seed}: {report:?}");
            last = report.error;
        }
    }
}

/// The answer is where it stays, and a second solve from it has nothing to do.
#[test]
fn an_answer_is_left_alone() {
    let problem = random(RandomProblem::Redundant, 20, 3);
    let (state, _) = from_nothing(&problem, &asked());
    let mut again = state.clone();
    let report = solve(&problem, &mut again, &asked()).unwrap();
    assert_eq!((report.iterations, report.converged), (0, true));
    assert_eq!(state, again);
}

#[test]
fn bad_input_is_refused_and_leaves_the_state() {
    let good = incline(3, 0.2, 0.5, 0.0).problem;
    let mut state = Solution::new(Vec::new(), vec![Vec3::new(f64::NAN, 0.0, 0.0); 3]);
    let config = Config::default();
    let refused = solve(&good, &mut state, &config);
    assert_eq!(refused, Err(Error::Start("r")));
    let mut bad = good.clone();
    bad.f[1].x = f64::INFINITY;
    let mut state = Solution::default();
    assert!(matches!(
        solve(&bad, &mut state, &config),
        Err(Error::Problem(_))
    ));
    for (name, senseless) in [
        (
            "stiffness",
            Config {
                stiffness: 0.0,
                ..config
            },
        ),
        (
            "tolerance",
            Config {
                tolerance: 0.0,
                ..config
            },
        ),
    ] {
        let refused = solve(&good, &mut state, &senseless);
        assert_eq!(refused, Err(Error::Setting { name, value: 0.0 }));
    }
    assert_eq!(state, Solution::default());
}

/// The paper's settings with polishing after few iterations.
fn polished(residual: f64) -> admm::Config {
    admm::Config {
        polish: Some(admm::Polish {
            after: 3,
            ..admm::Polish::to(residual)
        }),
        ..admm::Config::paper()
    }
}

fn split(problem: &FrictionProblem, config: &admm::Config) -> (Solution, SolverReport) {
    let mut state = Solution::default();
    let report = run(&mut polished_admm(config.clone()), problem, &mut state).unwrap();
    (state, report)
}

#[test]
fn polishing_without_a_polishing_solver_is_refused() {
    let problem = incline(3, 0.2, 0.5, 0.0).problem;
    // Nothing is below a bound of almost nothing before the first attempt.
    let mut alone = admm::Admm::new(polished(1e-300));
    let refused = run(&mut alone, &problem, &mut Solution::default());
    assert_eq!(refused, Err(Error::NoPolisher));
}

#[test]
fn a_polished_answer_rests() {
    let mut by_newton = 0;
    for seed in 0..24 {
        let kind = RandomProblem::ALL[seed as usize % RandomProblem::ALL.len()];
        let problem = random(kind, 20, seed);
        let name = format!("{kind:?} {seed}");
        let config = polished(ASKED);
        let (state, report) = split(&problem, &config);
        assert!(report.converged, "{name}: {report:?}");
        assert!(report.error <= ASKED, "{name}: {report:?}");
        assert!(judged(&problem, &state) <= ASKED, "{name}");
        by_newton += usize::from(report.factorisations > 0);
        // λ and the impulses fit the velocity: an iteration of the splitting moves nothing.
        let one = admm::Config {
            max_iterations: 1,
            start: admm::Start::Given,
            polish: None,
            ..config
        };
        let mut after = state.clone();
        run(&mut admm::Admm::new(one), &problem, &mut after).unwrap();
        // Masses that differ by a million make as large a momentum residual.
        let moved = distance(&after.v, &state.v);
        assert!(moved < 1e4 * ASKED, "{name}: {moved:e}");
    }
    assert!(by_newton > 12, "{by_newton}");
}

/// Hands out the contacts of a complete problem three at a time.
struct Late(ContactSet);

impl ContactSource for Late {
    fn more_contacts(&mut self, _: &[Vec3], contacts: &mut ContactSet) -> usize {
        let late = contacts.len()..(contacts.len() + 3).min(self.0.len());
        for c in late.clone() {
            contacts.push_entries(self.0.entries(c), self.0.contact(c));
        }
        late.len()
    }
}

/// Even those that are found when the splitting has no iterations left.
#[test]
fn contacts_that_come_late_are_in_the_polished_answer() {
    for kind in [
        RandomProblem::Sparse,
        RandomProblem::Rigid,
        RandomProblem::Compliant,
        RandomProblem::Cohesive,
    ] {
        let complete = random(kind, 24, 4);
        let mut late = complete.clone();
        late.contacts = ContactSet::default();
        let config = admm::Config {
            max_iterations: 2,
            contacts_every: 0,
            ..polished(ASKED)
        };
        let mut state = Solution::default();
        let mut source = Late(complete.contacts.clone());
        let mut task = Task {
            problem: &mut late,
            source: &mut source,
            start: TaskStart::Configured,
            polish: true,
            target: None,
            local: None,
            cancel: Cancel::NEVER,
            observer: &mut |_| {},
        };
        let report = polished_admm(config).solve(&mut task, &mut state).unwrap();
        assert!(report.converged, "{kind:?}: {report:?}");
        assert_eq!(report.new_contacts, complete.contacts.len());
        assert!(judged(&complete, &state) <= ASKED, "{kind:?}");
    }
}

/// An attempt that fails is no harm: the answer is the better one of the two.
#[test]
fn polishing_that_fails_never_claims_and_never_worsens() {
    for seed in 0..24 {
        let kind = RandomProblem::ALL[seed as usize % RandomProblem::ALL.len()];
        let problem = random(kind, 25, seed);
        let plain = admm::Config {
            max_iterations: 12,
            ..admm::Config::paper()
        };
        let with = admm::Config {
            polish: Some(admm::Polish {
                max_iterations: 2,
                after: 12,
                ..admm::Polish::to(1e-13)
            }),
            tolerance: Tolerance::Displacement(0.0),
            ..plain.clone()
        };
        let plain = admm::Config {
            tolerance: Tolerance::Displacement(0.0),
            ..plain
        };
        let judge = |config: &admm::Config| {
            let (state, report) = split(&problem, config);
            let found = judged(&problem, &state);
            assert_eq!(report.converged, found <= 1e-13 && config.polish.is_some());
            found
        };
        let (without, with) = (judge(&plain), judge(&with));
        assert!(with <= without, "{kind:?} {seed}: {with:e}, {without:e}");
    }
}
