//! The splitting solver on generated problems, judged by the certificate, by answers by hand and
//! by the slow solver.
#![allow(clippy::unwrap_used, clippy::panic)]

use stiction_contact::detect::ContactSource;
use stiction_contact::generate::{RandomProblem, incline, pulled_chain, random, stack};
use stiction_contact::solver::Tolerance;
use stiction_contact::solver::{
    ContactSolver, Solution, SolverReport, Task, TaskStart, solve_alone,
};
use stiction_contact::{Certificate, CertifyConfig, Contact, ContactSet, FrictionProblem, certify};
use stiction_math::{Cancel, Vec3};
use stiction_solvers::admm::{
    Acceleration, Admm, AdmmWeights, Config, Error, LAMBDA, Polish, ProjectionKernel, Sleep, Start,
    Velocity,
};
use stiction_solvers::newton::NewtonSolver;
use stiction_solvers::reference::Reference;

fn run(
    solver: &mut dyn ContactSolver,
    problem: &FrictionProblem,
    state: &mut Solution,
) -> Result<SolverReport, Error> {
    let start = TaskStart::Configured;
    solve_alone(solver, &mut problem.clone(), state, start, None)
}

/// Solves from nothing.
fn solve(problem: &FrictionProblem, config: &Config) -> Result<(Solution, SolverReport), Error> {
    let mut state = Solution::default();
    let report = run(&mut Admm::new(config.clone()), problem, &mut state)?;
    Ok((state, report))
}

fn judge(problem: &FrictionProblem, state: &Solution) -> Certificate {
    certify(problem, &state.v, &state.r, &CertifyConfig::default()).unwrap()
}

fn distance(a: &[Vec3], b: &[Vec3]) -> f64 {
    assert_eq!(a.len(), b.len());
    let pairs = a.iter().zip(b);
    pairs.map(|(a, b)| (a - b).norm()).fold(0.0, f64::max)
}

/// Solves to rounding and asserts that the laws hold.
fn solved(problem: &FrictionProblem, config: &Config) -> (Solution, SolverReport) {
    let (state, report) = solve(problem, config).unwrap();
    let c = judge(problem, &state);
    assert!(report.converged, "{report:?}");
    assert!(c.residual < 1e-8 && c.linear < 1e-8, "{c:?} {report:?}");
    (state, report)
}

#[test]
fn random_problems_are_solved_as_the_slow_solver_solves_them() {
    for kind in RandomProblem::ALL {
        for seed in 0..8 {
            let problem = random(kind, 20, seed);
            let (state, _) = solved(&problem, &Config::accurate());
            // Normals that differ by 1e-6 make v a million times less certain than the law, and
            // friction of 10 has several answers: see `agreement.rs`.
            if matches!(
                kind,
                RandomProblem::NearDegenerate | RandomProblem::HighFriction
            ) {
                continue;
            }
            let mut slow = Solution::default();
            let known = run(&mut Reference::default(), &problem, &mut slow).unwrap();
            if known.converged {
                let d = distance(&state.v, &slow.v);
                assert!(d < 1e-6, "{kind:?} {seed}: {d:e}");
            }
        }
    }
}

#[test]
fn unsolved_problems_are_reported_and_finite() {
    let config = Config {
        max_iterations: 40,
        ..Config::accurate()
    };
    let (mut open, mut closed) = (0, 0);
    for kind in [RandomProblem::NearDegenerate, RandomProblem::HighFriction] {
        for seed in 0..12 {
            let problem = random(kind, 20, seed);
            let (state, report) = solve(&problem, &config).unwrap();
            let c = judge(&problem, &state);
            assert!(c.residual.is_finite() && c.linear.is_finite());
            if report.converged {
                closed += 1;
                let worst = c.solution_error();
                assert!(
                    worst * problem.h <= config.tolerance.displacement(problem.h),
                    "{c:?}"
                );
            } else {
                open += 1;
            }
        }
    }
    assert!(open > 0 && closed > 0, "{open} open, {closed} solved");
}

/// A gram between a kilogram under a thousand tons and four kilograms: contacts one after another
/// pass on a millionth of their loads in each sweep, so that plain iterations take millions.
#[test]
fn heavy_on_light_is_solved_in_hundreds_of_iterations_not_millions() {
    let case = stack(&[1.0, 1e6, 1e-3, 4.0], 0.5, 0.19);
    let config = Config {
        // A load of 1e5 N·s on a kilogram is known to 1.5e-11 m/s.
        tolerance: Tolerance::Displacement(1e-11),
        ..Config::accurate()
    };
    let (state, report) = solve(&case.problem, &config).unwrap();
    assert!(report.converged && report.iterations < 300, "{report:?}");
    assert!(distance(&state.v, &case.v) < 1e-8);
    let plain = Config {
        acceleration: None,
        max_iterations: 5000,
        ..config
    };
    assert!(!solve(&case.problem, &plain).unwrap().1.converged);
}

#[test]
fn answers_by_hand() {
    for case in [
        incline(6, 0.3, 0.5, 0.0),
        incline(6, 0.3, 0.5, 1.0),
        incline(6, 0.8, 0.5, 0.0),
        incline(6, 0.0, 0.0, 0.3),
        stack(&[1.0, 2.0, 0.5], 0.4, 0.01),
    ] {
        let (state, _) = solved(&case.problem, &Config::accurate());
        assert!(distance(&state.v, &case.v) < 1e-11);
        assert!(distance(&state.r, &case.r) < 1e-11);
    }
}

/// The slope of [larionov, Sect. V-A1] and others: rest exactly when tan θ < μ, outside a band of a
/// thousandth, and h g (sin θ − μ cos θ) otherwise.
#[test]
fn a_block_slides_from_the_right_angle_on() {
    let config = Config {
        tolerance: Tolerance::Displacement(1e-12),
        ..Config::accurate()
    };
    for i in 1..=8 {
        let mu = 0.15 * f64::from(i);
        for ratio in [0.3, 0.7, 0.95, 0.999, 1.001, 1.05, 1.3, 2.0] {
            let angle = (mu * ratio).atan();
            let case = incline(5, angle, mu, 0.0);
            let (state, report) = solve(&case.problem, &config).unwrap();
            assert!(report.converged);
            let gain = 0.01 * 9.81 * (angle.sin() - mu * angle.cos());
            let downhill = Vec3::new(angle.cos(), 0.0, -angle.sin());
            for v in &state.v {
                if ratio < 1.0 {
                    assert!(v.norm() < 1e-10, "creep {:e} at {mu} {ratio}", v.norm());
                } else {
                    let error = (v - downhill * gain).norm();
                    assert!(error < 1e-3 * gain, "{error:e} of {gain:e} at {mu} {ratio}");
                }
            }
        }
    }
}

/// [larionov, Sect. V-A1]: 10°, μ = 0.177, 0.1 m/s: stops after 0.769 m and 15.38 s, then rests.
/// With the default tolerance and warm starts, as in a run.
#[test]
fn a_block_slides_to_a_stop_where_it_should() {
    let (angle, mu, h) = (10f64.to_radians(), 0.177, 0.01);
    let downhill = Vec3::new(angle.cos(), 0.0, -angle.sin());
    let mut speed = 0.1;
    let (mut distance, mut stop) = (0.0, None);
    let mut state = Solution::default();
    let mut solver = Admm::new(Config::default());
    for step in 1..=2000 {
        let problem = incline(4, angle, mu, speed).problem;
        run(&mut solver, &problem, &mut state).unwrap();
        speed = state.v.iter().map(|v| v.dot(&downhill)).sum::<f64>() / 4.0;
        distance += h * speed;
        if speed < 1e-9 && stop.is_none() {
            stop = Some((f64::from(step) * h, distance));
        }
    }
    let (time, stopped_at) = stop.unwrap();
    let deceleration = 9.81 * (mu * angle.cos() - angle.sin());
    assert!((time / (0.1 / deceleration) - 1.0).abs() < 0.01, "{time} s");
    let exact = 0.005 / deceleration;
    assert!(
        (distance / exact - 1.0).abs() < 0.01,
        "{distance} m of {exact}"
    );
    assert!(
        (distance - stopped_at).abs() < 1e-12,
        "creep after the stop"
    );
}

/// The paper's own tolerance, step after step: what holds must come to hold exactly.
#[test]
fn rest_becomes_exact_and_stays() {
    let mut held = incline(20, 0.3, 0.5, 0.0).problem;
    // A load that differs from node to node, so that the first answer is far from the last.
    for (i, f) in held.f.iter_mut().enumerate() {
        f.x += 1e-3 * (i as f64).sin();
        f.y += 1e-3 * (1.7 * i as f64).cos();
    }
    for problem in [
        held,
        stack(&[1.0, 2.0, 0.5], 0.4, 0.01).problem,
        pulled_chain(30, 0.02),
    ] {
        let mut solver = Admm::new(Config::default());
        let mut state = Solution::default();
        let mut last = 0;
        for step in 0..400 {
            let report = run(&mut solver, &problem, &mut state).unwrap();
            let c = judge(&problem, &state);
            if step >= 300 {
                // How impulses share the load of a stiff body settles last and moves nothing.
                assert!(c.residual < 1e-10 && c.linear < 1e-8, "{step}: {c:?}");
                assert!(c.creep < 1e-15, "{step}: {c:?}");
                last = report.iterations;
            }
        }
        assert_eq!(last, 1, "an exact start needs one iteration");
    }
}

/// Rest under the forces of the last step is solved before anything is iterated.
#[test]
fn a_start_that_is_solved_is_the_answer() {
    let problem = incline(20, 0.3, 0.5, 0.0).problem;
    let solver = |residual: f64| {
        let config = Config {
            polish: Some(Polish::to(residual)),
            ..Config::default()
        };
        Admm::new(config).with_polisher(Box::new(NewtonSolver::default()))
    };
    let mut state = Solution::default();
    let first = run(&mut solver(1e-14), &problem, &mut state).unwrap();
    assert!(first.converged && first.iterations > 0, "{first:?}");
    // An answer that is only just good enough is no start to rest on: it would creep at the bound for ever.
    let mut coarse = Solution::default();
    run(&mut solver(1e-9), &problem, &mut coarse).unwrap();
    let again = run(&mut solver(1e-9), &problem, &mut coarse).unwrap();
    assert!(judge(&problem, &coarse).residual < 1e-13 || again.iterations > 0);
    let report = run(&mut solver(1e-9), &problem, &mut state).unwrap();
    assert!(report.converged, "{report:?}");
    assert_eq!((report.iterations, report.factorisations), (0, 0));
    assert!(judge(&problem, &state).residual < 1e-10);
}

/// Forces of a rest that has ended must not linger, not even with few iterations.
#[test]
fn bodies_that_lift_off_are_free_at_once() {
    let rest = incline(12, 0.2, 0.5, 0.0).problem;
    let mut thrown = rest.clone();
    thrown.f.iter_mut().for_each(|f| *f += Vec3::z() * 0.1);
    let mut alone = rest.clone();
    alone.contacts = ContactSet::default();
    for next in [thrown, alone] {
        let mut solver = Admm::new(Config::default());
        let mut state = Solution::default();
        for _ in 0..5 {
            run(&mut solver, &rest, &mut state).unwrap();
        }
        state.carry(&rest.contacts.key, &next.contacts.key);
        let report = run(&mut solver, &next, &mut state).unwrap();
        assert_eq!(report.iterations, 1);
        for j in 0..next.blocks() {
            // 0.2 kg each, and all move alike.
            assert!((state.v[j] - next.f[j] / 0.2).norm() < 1e-12);
        }
    }
}

#[test]
fn both_velocities_and_all_options_lead_to_the_same_answer() {
    let exact = Config::accurate();
    let problems = [
        random(RandomProblem::Dense, 24, 3),
        random(RandomProblem::Rigid, 24, 5),
        random(RandomProblem::Compliant, 24, 1),
        random(RandomProblem::Cohesive, 24, 2),
        pulled_chain(25, 0.05),
    ];
    for problem in problems {
        let (plain, report) = solved(&problem, &exact);
        let variants = [
            Config {
                velocity: Velocity::Balanced,
                ..exact.clone()
            },
            Config {
                start: Start::Unconstrained,
                ..exact.clone()
            },
            Config {
                start: Start::Given,
                ..exact.clone()
            },
            Config {
                sleep: Some(Sleep {
                    threshold: 0.01,
                    sweeps: 10,
                }),
                ..exact.clone()
            },
            Config {
                acceleration: Some(Acceleration::Momentum { restart: 0.999 }),
                ..exact.clone()
            },
            Config {
                local: ProjectionKernel::Blocks,
                ..exact.clone()
            },
            Config {
                weights: AdmmWeights::Diagonal { part: 0.1 },
                sweeps: 25,
                ..exact.clone()
            },
        ];
        for (i, config) in variants.iter().enumerate() {
            let (other, _) = solved(&problem, config);
            let d = distance(&plain.v, &other.v);
            assert!(d < 1e-10, "variant {i}: {d:e} after {report:?}");
        }
    }
}

#[test]
fn a_hundred_iterations_of_the_accelerated_method_get_further() {
    let problem = pulled_chain(60, 0.1);
    let delta = |acceleration| {
        let config = Config {
            max_iterations: 100,
            acceleration,
            ..Config::accurate()
        };
        solve(&problem, &config).unwrap().1.change
    };
    let (plain, fast) = (
        delta(None),
        delta(Some(Acceleration::Momentum { restart: 0.999 })),
    );
    assert!(
        fast < 0.5 * plain,
        "{fast:e} with momentum, {plain:e} without"
    );
}

/// Extremes that have a solution or not; nothing may become infinite or wrong in silence.
#[test]
fn extremes() {
    let mut pinched = incline(1, 0.0, 0.5, 0.0).problem;
    // Two planes that close on a node from both sides.
    for normal in [Vec3::x(), -Vec3::x()] {
        let contact = Contact {
            normal,
            k: -normal,
            mu: 0.3,
            ..Contact::default()
        };
        pinched.contacts.push(&[(0, 1.0)], contact);
    }
    let mut none = pulled_chain(5, 0.1);
    none.contacts = ContactSet::default();
    let mut heavy = stack(&[1.0, 1e6], 0.5, 0.0).problem;
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

    for (name, problem, has_solution) in [
        ("pinched", &pinched, false),
        ("none", &none, true),
        ("heavy", &heavy, true),
        ("twice", &twice, true),
        ("weightless", &weightless, true),
    ] {
        let config = Config {
            max_iterations: 3000,
            ..Config::accurate()
        };
        let (state, report) = solve(problem, &config).unwrap();
        let finite = |x: &[Vec3]| x.iter().all(|x| x.iter().all(|x| x.is_finite()));
        assert!(finite(&state.v) && finite(&state.r) && finite(state.column(LAMBDA)));
        assert!(report.change.is_finite());
        if name != "heavy" {
            assert_eq!(report.converged, has_solution, "{name}: {report:?}");
        }
        if report.converged {
            let c = judge(problem, &state);
            assert!(c.residual < 1e-8 && c.linear < 1e-8, "{name}: {c:?}");
        }
    }
}

#[test]
fn another_model_is_solved_by_the_same_solver() {
    let (first, second) = (
        random(RandomProblem::Rigid, 20, 1),
        random(RandomProblem::Sparse, 30, 2),
    );
    let config = Config::accurate();
    let mut solver = Admm::new(config.clone());
    let mut state = Solution::default();
    run(&mut solver, &first, &mut state).unwrap();
    run(&mut solver, &second, &mut state).unwrap();
    let (fresh, _) = solved(&second, &config);
    assert!(distance(&state.v, &fresh.v) < 1e-10);
}

#[test]
fn bad_input_is_refused_and_leaves_the_state() {
    let good = incline(3, 0.2, 0.5, 0.0).problem;
    let config = Config::default();
    let mut solver = Admm::new(config.clone());
    let mut state = Solution::new(vec![Vec3::new(f64::NAN, 0.0, 0.0); 3], Vec::new());
    let error = run(&mut solver, &good, &mut state).unwrap_err();
    assert_eq!(error, Error::Start("v"));
    let mut bad = good.clone();
    bad.f[1].x = f64::INFINITY;
    let mut state = Solution::default();
    assert!(matches!(
        run(&mut solver, &bad, &mut state),
        Err(Error::Problem(_))
    ));
    assert_eq!(state, Solution::default());
    let senseless = Config {
        weights: AdmmWeights::Diagonal { part: 0.0 },
        ..config
    };
    let error = run(&mut Admm::new(senseless), &good, &mut state).unwrap_err();
    assert_eq!(
        error,
        Error::Setting {
            name: "part",
            value: 0.0
        }
    );
}

/// Hands out the contacts of a complete problem three at a time.
struct Late {
    all: ContactSet,
    asked: usize,
}

impl ContactSource for Late {
    fn more_contacts(&mut self, _: &[Vec3], contacts: &mut ContactSet) -> usize {
        self.asked += 1;
        let late = contacts.len()..(contacts.len() + 3).min(self.all.len());
        for c in late.clone() {
            contacts.push_entries(self.all.entries(c), self.all.contact(c));
        }
        late.len()
    }
}

#[test]
fn contacts_that_come_late_count_in_full() {
    for kind in [
        RandomProblem::Sparse,
        RandomProblem::Rigid,
        RandomProblem::Compliant,
        RandomProblem::Cohesive,
    ] {
        let complete = random(kind, 24, 4);
        let (known, _) = solved(&complete, &Config::accurate());
        let mut late = complete.clone();
        late.contacts = ContactSet::default();
        let mut source = Late {
            all: complete.contacts.clone(),
            asked: 0,
        };
        let mut state = Solution::default();
        let mut deltas = Vec::new();
        let mut task = Task {
            problem: &mut late,
            source: &mut source,
            start: TaskStart::Configured,
            polish: true,
            target: None,
            local: None,
            cancel: Cancel::NEVER,
            observer: &mut |i| deltas.push(i.change),
        };
        let report = Admm::new(Config::accurate())
            .solve(&mut task, &mut state)
            .unwrap();
        assert_eq!(report.new_contacts, complete.contacts.len());
        // Every five iterations, and whenever the loop would have ended.
        assert!(source.asked > report.iterations / 5);
        assert_eq!(deltas.len(), report.iterations);
        assert!(distance(&state.v, &known.v) < 1e-10);
        assert!(judge(&complete, &state).residual < 1e-8);
    }
}

/// Lists all contacts of a complete problem at once, as soon as a velocity runs into one.
struct Watchful(ContactSet);

impl ContactSource for Watchful {
    fn more_contacts(&mut self, v: &[Vec3], contacts: &mut ContactSet) -> usize {
        let runs_into = |c: usize| self.0.velocity(c, v).dot(&self.0.normal[c]) < -1e-9;
        if contacts.len() == self.0.len() || !(0..self.0.len()).any(runs_into) {
            return 0;
        }
        contacts.clone_from(&self.0);
        contacts.len()
    }
}

/// However few iterations there are, the returned velocity was checked.
#[test]
fn an_unconverged_answer_does_not_run_into_undetected_contacts() {
    let known = incline(12, 0.3, 0.5, 0.0);
    for max_iterations in [1, 3, 5] {
        let config = Config {
            max_iterations,
            tolerance: Tolerance::Displacement(0.0),
            velocity: Velocity::Feasible,
            ..Config::paper()
        };
        let mut late = known.problem.clone();
        late.contacts = ContactSet::default();
        let mut source = Watchful(known.problem.contacts.clone());
        let mut state = Solution::default();
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
        let report = Admm::new(config).solve(&mut task, &mut state).unwrap();
        assert!(!report.converged);
        assert_eq!(report.new_contacts, 12);
        assert_eq!(state.r.len(), 12);
        for c in 0..12 {
            let u = late.contacts.velocity(c, &state.v);
            assert!(u.dot(&late.contacts.normal[c]) >= -1e-12, "{u}");
        }
        // The splitting goes on from there as from any other of its iterations.
        let more = Config {
            start: Start::Given,
            ..Config::accurate()
        };
        let report = run(&mut Admm::new(more), &late, &mut state).unwrap();
        assert!(report.converged, "{report:?}");
        assert!(distance(&state.v, &known.v) < 1e-9);
    }
}
