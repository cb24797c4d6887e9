//! The solvers for comparison, staggered projections and relaxation with faceted friction, judged by the certificate, the slow solver and answers by hand.
#![allow(clippy::unwrap_used, clippy::panic)]

use stiction_contact::{
    CertifyConfig, FrictionProblem, certify,
    generate::{RandomProblem, incline, random, stack},
    solver::{
        ContactSolver, Solution, SolverError, SolverReport, TaskStart, Tolerance, solve_alone,
    },
};
use stiction_math::{
    Vec3,
    elementary::{cos, sin, tan},
};
use stiction_solvers::{
    cr::KktKrylov,
    ica::{self, Ica},
    reference::Reference,
    sp::{ActiveSetRule, Config, FrictionSet, StaggeredProjections},
};

fn run(
    solver: &mut dyn ContactSolver,
    problem: &FrictionProblem,
) -> Result<(Solution, SolverReport), SolverError> {
    let mut solution = Solution::default();
    let (problem, start) = (&mut problem.clone(), TaskStart::Configured);
    let report = solve_alone(solver, problem, &mut solution, start, None)?;
    Ok((solution, report))
}

fn staggered(problem: &FrictionProblem, config: Config) -> (Solution, SolverReport) {
    run(&mut StaggeredProjections::new(config), problem).unwrap()
}

fn distance(a: &[Vec3], b: &[Vec3]) -> f64 {
    let pairs = a.iter().zip(b);
    pairs.map(|(a, b)| (a - b).norm()).fold(0.0, f64::max)
}

/// Every rule of the active set and both Krylov methods.
fn forms() -> [Config; 4] {
    let rules = [ActiveSetRule::Solved, ActiveSetRule::Intervals];
    let krylovs = [KktKrylov::ConjugateResiduals, KktKrylov::Minres];
    let both = rules.map(|switching| {
        krylovs.map(|krylov| Config {
            switching,
            krylov,
            ..Config::accurate()
        })
    });
    [both[0][0], both[0][1], both[1][0], both[1][1]]
}

#[test]
fn answers_by_hand() {
    for (name, solved) in [
        ("rest", incline(4, 0.2, 0.5, 0.0)),
        ("slide", incline(4, 0.6, 0.5, 0.0)),
        ("stop", incline(4, 0.1, 0.5, 0.01)),
        ("pushed stack", stack(&[1.0, 2.0, 3.0], 0.5, 0.1)),
        ("heavy on light", stack(&[1.0, 1e3], 0.5, 0.0)),
    ] {
        for config in forms() {
            let (solution, report) = staggered(&solved.problem, config);
            assert!(report.converged, "{name}, {config:?}: {report:?}");
            let d = distance(&solution.v, &solved.v);
            assert!(d < 1e-6, "{name}, {config:?}: {d:e}");
        }
    }
}

/// Nodes on a floor, pushed by `push` [m/s] at an angle [rad], that slide: their exact velocity is (push − μ g h) in the direction of the
/// push. Also its normal impulse per mass [m/s], g h.
fn pushed(nodes: usize, mu: f64, push: f64, angle: f64) -> (FrictionProblem, Vec3, f64) {
    let mut problem = incline(nodes, 0.0, mu, 0.0).problem;
    let weight = -problem.f[0].z / problem.mass[0];
    let direction = Vec3::new(cos(angle), sin(angle), 0.0);
    for (f, mass) in problem.f.iter_mut().zip(&problem.mass) {
        *f += direction * (push * mass);
    }
    let v = direction * (push - mu * weight);
    (problem, v, weight)
}

/// A polygon errs by what its shape says: friction is the point of the polygon next to a point whose closest point of the
/// disc is Coulomb's force, and within a sector of π/N the two are μ r_N tan(π/N) apart at most.
fn errs_within_its_bound(solver: impl Fn(usize) -> Box<dyn ContactSolver>) {
    let (mut before, tolerance) = (f64::INFINITY, 1e-8);
    for sides in [4, 16, 64, 256] {
        let mut worst: f64 = 0.0;
        for angle in [0.3, 0.5, 1.1, 2.0] {
            let (problem, v, weight) = pushed(3, 0.5, 0.1, angle);
            let (solution, report) = run(&mut *solver(sides), &problem).unwrap();
            assert!(report.converged, "{angle}, {sides}: {report:?}");
            let bound = 0.5 * weight * tan(std::f64::consts::PI / sides as f64);
            let error = distance(&solution.v, &[v; 3]);
            assert!(error <= bound + tolerance, "{angle}, {sides}: {error:e}");
            worst = worst.max(error);
        }
        // The bound falls by more than four with every polygon, and at some angle a corner is near.
        assert!(worst < before && worst > tolerance, "{sides}: {worst:e}");
        before = worst;
    }
}

#[test]
fn staggered_polygons_err_within_their_bound() {
    errs_within_its_bound(|sides| {
        Box::new(StaggeredProjections::new(Config {
            friction: FrictionSet::Polygon(sides),
            tolerance: 1e-10,
            ..Config::paper()
        }))
    });
}

#[test]
fn relaxed_polygons_err_within_their_bound() {
    errs_within_its_bound(|sides| Box::new(Ica::faceted(RELAXED, sides)));
}

#[test]
fn discs_do_not_err() {
    for angle in [0.3, 0.5, 1.1, 2.0] {
        let (problem, v, _) = pushed(3, 0.5, 0.1, angle);
        let (solution, report) = staggered(&problem, Config::accurate());
        assert!(report.converged, "{angle}: {report:?}");
        let error = distance(&solution.v, &[v; 3]);
        assert!(error < 1e-8, "{angle}: {error:e}");
    }
}

/// The answer is the slow solver's where it converges, and a claim of convergence is that of the certificate. Alternation is a
/// contraction where friction moves normal forces by less than they are: with a tenth of the friction of these
/// problems it converges on all but the degenerate ones; with all of it, it need not [verschoor2019, Sect. 6.2.3].
#[test]
fn random_problems_have_the_slow_solver_s_answers() {
    let (mut solved, mut count) = (0, 0);
    for i in (0..200).step_by(5) {
        let kind = RandomProblem::ALL[(i + i / 12) % RandomProblem::ALL.len()];
        let mut problem = random(kind, 4 + (7 * i) % 20, i as u64);
        if matches!(
            kind,
            RandomProblem::HighFriction | RandomProblem::NearDegenerate
        ) {
            continue;
        }
        for part in [1.0, 0.1] {
            for mu in &mut problem.contacts.mu {
                *mu *= part;
            }
            let config = Config {
                tolerance: 1e-10,
                max_iterations: 20_000,
                ..Config::accurate()
            };
            let (solution, report) = staggered(&problem, config);
            let judged = certify(
                &problem,
                &solution.v,
                &solution.r,
                &CertifyConfig::default(),
            );
            let error = judged.unwrap().solution_error();
            let name = format!("{kind:?} {i} {part}: {report:?}");
            assert_eq!(report.converged, error <= 1e-10, "{name}");
            count += usize::from(part < 1.0);
            solved += usize::from(part < 1.0 && report.converged);
            if !report.converged {
                continue;
            }
            let (slow, _) = run(&mut Reference::default(), &problem).unwrap();
            // Both are within 1e-9 m/s of laws whose solution is one on these problems.
            let d = distance(&solution.v, &slow.v);
            assert!(d < 1e-7, "{name}: {d:e}");
        }
    }
    assert!(count > 25 && solved == count, "{solved} of {count}");
}

const RELAXED: ica::Config = ica::Config {
    tolerance: Tolerance::Displacement(1e-13),
    max_iterations: 20_000,
    relaxations: 1,
    sweeps: 10,
};

/// Without friction there are no facets: the answer is that of the slow solver.
#[test]
fn faceted_relaxation_solves_problems_without_friction() {
    let mut solved = 0;
    for seed in 0..6 {
        let mut problem = random(RandomProblem::ALL[seed as usize], 12, seed);
        problem.contacts.mu.fill(0.0);
        let Ok((solution, report)) = run(&mut Ica::faceted(RELAXED, ica::PYRAMID), &problem) else {
            continue;
        };
        if !report.converged {
            continue;
        }
        solved += 1;
        let (slow, _) = run(&mut Reference::default(), &problem).unwrap();
        let d = distance(&solution.v, &slow.v);
        assert!(d < 1e-7, "{seed}: {d:e}");
    }
    // Relaxation does not converge on all of them [daviet2020, Table 3].
    assert!(solved >= 3, "{solved}");
}
