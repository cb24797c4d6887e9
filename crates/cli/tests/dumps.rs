//! The friction problems of the built-in scenes, solved again from their files.
//!
//! Each scene is run for a while with `--dump-problems`. Every solver then gets the same problems from
//! nothing: none may say that it converged above its tolerance, and where the dense reference is
//! affordable, `admm` and the reference must both reach the required tolerance. A few scenes
//! run always, all with STICTION_LONG=1.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
#![allow(clippy::print_stdout)] // what was solved, with --nocapture

mod common;

use std::{fs, path::Path};

use common::{code, stderr, stiction};
use stiction_cli::{
    contact::solver::{ContactSolver, Solution, SolverError, SolverReport, TaskStart, solve_alone},
    contact::{CertifyConfig, FrictionProblem, certify},
    math::Vec3,
    record::problems::read_problem,
    scene::{LoadOptions, SceneSource, builtin, load},
    solvers::{admm, ica, newton, polished_admm, reference},
};

/// Required certificate [m/s].
const TOLERANCE: f64 = 1e-8;
/// The reference builds dense matrices: of so many blocks and contacts at most.
const AFFORDABLE: (usize, usize) = (400, 130);

/// `residual` and `linear` of an answer, the larger one [m/s].
fn error(problem: &FrictionProblem, v: &[Vec3], r: &[Vec3]) -> f64 {
    let c = certify(problem, v, r, &CertifyConfig::default()).unwrap();
    c.solution_error()
}

fn run(
    solver: &mut dyn ContactSolver,
    problem: &FrictionProblem,
    solution: &mut Solution,
) -> Result<SolverReport, SolverError> {
    let start = TaskStart::Configured;
    solve_alone(solver, &mut problem.clone(), solution, start, None)
}

/// Solves a problem with all; returns whether the reference took part.
fn solve(name: &str, problem: &FrictionProblem) -> bool {
    let length = TOLERANCE * problem.h;
    // Rounding in sums of large impulses is the only excuse.
    let honest = |solver: &str, converged: bool, error: f64| {
        let most = TOLERANCE * (1.0 + 1e-6);
        assert!(
            !converged || error <= most,
            "{name}: {solver} claims {error:e} m/s"
        );
    };
    let config = admm::Config {
        tolerance: admm::Tolerance::Displacement(length),
        max_iterations: 5000,
        start: admm::Start::Unconstrained,
        // As in a scene with `residual`: Newton's method polishes.
        polish: Some(admm::Polish {
            residual: Some(TOLERANCE),
            ..admm::Polish::default()
        }),
        ..admm::Config::accurate()
    };
    let mut state = Solution::default();
    let report = run(&mut polished_admm(config), problem, &mut state)
        .unwrap_or_else(|e| panic!("{name}: admm: {e}"));
    let of_admm = error(problem, &state.v, &state.r);
    honest("admm", report.converged, of_admm);

    let config = ica::Config {
        tolerance: admm::Tolerance::Displacement(length),
        max_iterations: 300,
        ..ica::Config::paper()
    };
    let mut other = Solution::default();
    // Nested relaxation may diverge, and says so.
    if let Ok(report) = run(&mut ica::Ica::new(config), problem, &mut other) {
        honest("ica", report.converged, error(problem, &other.v, &other.r));
    }
    let config = newton::Config {
        tolerance: TOLERANCE,
        ..newton::Config::default()
    };
    let mut other = Solution::default();
    if let Ok(report) = run(&mut newton::NewtonSolver::new(config), problem, &mut other) {
        let of_newton = error(problem, &other.v, &other.r);
        honest("newton", report.converged, of_newton);
    }
    let affordable = problem.blocks() <= AFFORDABLE.0 && problem.contacts.len() <= AFFORDABLE.1;
    if affordable {
        // It asks far more of itself; what it came to without is judged like any answer.
        let refer = |start: &[Vec3]| {
            let mut answer = Solution::new(Vec::new(), start.to_vec());
            let report = run(&mut reference::Reference::default(), problem, &mut answer);
            let report = report.unwrap_or_else(|e| panic!("{name}: reference: {e}"));
            (answer, report)
        };
        let (mut answer, mut report) = refer(&[]);
        if error(problem, &answer.v, &answer.r) > TOLERANCE {
            // Where it stalls from nothing, such as on `pinch`, it must confirm the other's answer.
            (answer, report) = refer(&state.r);
        }
        let of_reference = error(problem, &answer.v, &answer.r);
        let most = report.asked * (1.0 + 1e-6);
        assert!(
            !report.converged || of_reference <= most,
            "{name}: reference claims {of_reference:e} m/s"
        );
        assert!(
            of_reference <= TOLERANCE && of_admm <= TOLERANCE,
            "{name}: reference {of_reference:e} m/s, admm {of_admm:e} m/s"
        );
    }
    println!(
        "{name}: {} blocks, {} contacts, admm {of_admm:.1e} m/s after {} iterations{}",
        problem.blocks(),
        problem.contacts.len(),
        report.iterations,
        if affordable {
            ", compared with the reference"
        } else {
            ""
        }
    );
    affordable
}

/// Runs a scene to the given part of its duration and solves some of its problems; returns how many,
/// and in how many the reference took part.
fn dump(scene: &str, part: f64, most: usize, dir: &Path) -> (usize, usize) {
    let source = SceneSource::Builtin(scene.to_owned());
    let quick = builtin::get(scene).is_some_and(|s| s.has_variant("quick"));
    let options = LoadOptions {
        variant: quick.then(|| "quick".to_owned()),
        ..LoadOptions::default()
    };
    let plan = load(&source, &options).unwrap().plan;
    let steps = (plan.time.steps() as f64 * part).ceil();
    let every = format!("every={}", (steps as usize / (3 * most)).max(1));
    let duration = format!("time.duration={}", steps * plan.time.step);
    let out = dir.join(scene).to_string_lossy().into_owned();
    let mut args = vec!["run", scene, "--set", &duration];
    args.extend(["--dump-problems", &every, "--format", "none"]);
    args.extend(["--quiet", "--out", &out]);
    if quick {
        args.extend(["--variant", "quick"]);
    }
    let output = stiction(&args);
    if ["smooth", "attachment"].contains(&plan.method.name()) {
        // Its friction is a force: there is no friction problem to write.
        assert_eq!(code(&output), 2, "{scene}: {}", stderr(&output));
        assert!(stderr(&output).contains("solves no friction problem"));
        return (0, 0);
    }
    // Checks that look at later times fail; anything else is not expected.
    assert!(code(&output) <= 1, "{scene}: {}", stderr(&output));
    let folder = dir.join(scene).join("problems");
    let Ok(entries) = fs::read_dir(folder) else {
        return (0, 0);
    };
    let mut files: Vec<_> = entries.map(|e| e.unwrap().path()).collect();
    files.sort();
    let problems: Vec<_> = files
        .iter()
        .map(|f| (f, read_problem(f).unwrap().problem))
        .filter(|(_, p)| !p.contacts.is_empty())
        .collect();
    let stride = problems.len().div_ceil(most).max(1);
    let mut count = (0, 0);
    for (file, problem) in problems.iter().step_by(stride) {
        let name = format!("{scene} {}", file.file_stem().unwrap().to_string_lossy());
        count.0 += 1;
        count.1 += usize::from(solve(&name, problem));
    }
    count
}

#[test]
fn problems_of_built_in_scenes_are_solved_alike_and_no_solver_overstates() {
    let long = std::env::var("STICTION_LONG").is_ok_and(|v| v == "1");
    let dir = tempfile::tempdir().unwrap();
    let (mut solved, mut compared) = (0, 0);
    if long {
        for scene in builtin::list() {
            let (all, dense) = dump(scene.name, 0.3, 4, dir.path());
            solved += all;
            compared += dense;
        }
    } else {
        assert_eq!(dump("ball-squish", 0.1, 3, dir.path()), (0, 0));
        // Rigid and soft bodies, cloth, grains.
        let some = [
            ("block-slide", 0.02),
            ("drag", 0.05),
            ("slope", 0.05),
            ("grains", 0.1),
        ];
        for (scene, part) in some {
            let (all, dense) = dump(scene, part, 3, dir.path());
            assert!(all > 0, "{scene} has no contact");
            solved += all;
            compared += dense;
        }
    }
    println!("{solved} problems, {compared} with the reference");
    assert!(compared >= 5 && solved >= compared);
}
