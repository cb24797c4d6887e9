//! Newton's method on generated problems, judged by the certificate, by answers by hand and by the
//! slow solver.
#![allow(clippy::unwrap_used, clippy::panic)]

use stiction_contact::generate::{Kind, incline, pulled_chain, random, stack};
use stiction_contact::{CertifyConfig, Contact, ContactSet, FrictionProblem, certify};
use stiction_math::Vec3;
use stiction_solvers::newton::{Config, Error, Report, State, solve};
use stiction_solvers::reference;

/// What is asked for, in residual and in dynamics [m/s].
const ASKED: f64 = 1e-9;

fn asked() -> Config {
    Config {
        tolerance: ASKED,
        ..Config::default()
    }
}

fn judged(problem: &FrictionProblem, state: &State) -> f64 {
    let c = certify(problem, &state.v, &state.r, &CertifyConfig::default()).unwrap();
    c.residual.max(c.dynamics)
}

fn distance(a: &[Vec3], b: &[Vec3]) -> f64 {
    let pairs = a.iter().zip(b);
    pairs.map(|(a, b)| (a - b).norm()).fold(0.0, f64::max)
}

/// From nothing: no velocities, no impulses, no other solver before.
fn from_nothing(problem: &FrictionProblem, config: &Config) -> (State, Report) {
    let mut state = State::default();
    let report = solve(problem, &mut state, config).unwrap();
    assert_eq!(report.certificate, judged(problem, &state));
    assert_eq!(report.converged, report.certificate <= config.tolerance);
    (state, report)
}

#[test]
fn random_problems_of_every_kind_are_solved_from_nothing_as_the_slow_solver_solves_them() {
    for seed in 0..60 {
        let kind = Kind::ALL[seed as usize % Kind::ALL.len()];
        let problem = random(kind, 4 + (5 * seed as usize) % 27, seed);
        let name = format!("{kind:?} {seed}");
        let (state, report) = from_nothing(&problem, &asked());
        assert!(report.converged, "{name}: {report:?}");
        assert!(report.iterations < 100, "{name}: {report:?}");
        let slow = match reference::solve(&problem, &Default::default(), None) {
            Ok(slow) => slow,
            Err(error) => panic!("{name}: {error}"),
        };
        let d = distance(&state.v, &slow.v);
        // See `agreement.rs`: with μ = 10 there are several answers.
        match kind {
            Kind::HighFriction => {}
            Kind::NearDegenerate => assert!(d < 1e6 * ASKED, "{name}: {d:e}"),
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

/// What is kept is the best answer: a limit that ends the search early can only make it worse.
#[test]
fn what_is_not_solved_is_reported_and_never_worse_than_the_start() {
    for seed in 0..24 {
        let kind = Kind::ALL[seed as usize % Kind::ALL.len()];
        let problem = random(kind, 25, seed);
        let mut last = f64::INFINITY;
        for max_iterations in [0, 1, 3, 10, 30] {
            let config = Config {
                max_iterations,
                ..asked()
            };
            let (_, report) = from_nothing(&problem, &config);
            assert!(report.iterations <= max_iterations);
            assert!(report.certificate <= last, "{kind:?} {seed}: {report:?}");
            last = report.certificate;
        }
    }
}

/// The answer is where it stays, and a second solve from it has nothing to do.
#[test]
fn an_answer_is_left_alone() {
    let problem = random(Kind::Redundant, 20, 3);
    let (state, _) = from_nothing(&problem, &asked());
    let mut again = state.clone();
    let report = solve(&problem, &mut again, &asked()).unwrap();
    assert_eq!((report.iterations, report.converged), (0, true));
    assert_eq!(state, again);
}

#[test]
fn bad_input_is_refused_and_leaves_the_state() {
    let good = incline(3, 0.2, 0.5, 0.0).problem;
    let mut state = State {
        r: vec![Vec3::new(f64::NAN, 0.0, 0.0); 3],
        ..State::default()
    };
    let config = Config::default();
    let refused = solve(&good, &mut state, &config);
    assert_eq!(refused, Err(Error::Start("r")));
    let mut bad = good.clone();
    bad.f[1].x = f64::INFINITY;
    let mut state = State::default();
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
    assert_eq!(state, State::default());
}
