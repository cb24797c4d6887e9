//! `stiction bench nodal`: the columns of [li2018, Table 2] on remeshed scenes, and the contact solvers of
//! [daviet2020, Table 1] side by side on the same scenes; with `--prune` the thresholds of [li2018, Fig. 11].
//!
//! Intersections are counted after the contact solver and after the failsafe, by exact tests. By default a step
//! that would let surfaces pass is solved again with their contacts, and divided, before the failsafe has anything
//! to do. Row `li2018` has the paper's settings: contacts at vertices, pruned within 10°, its stopping criterion of
//! 1e-8 m/s with at most 2000 sweeps, one linearisation, no refused steps.

use serde::Serialize;
use stiction_scene::{LoadOptions, SceneSource};
use stiction_sim::Stage;

use super::Failure;

/// A scene, its variant and overrides.
struct Case {
    name: &'static str,
    scene: &'static str,
    variant: Option<&'static str>,
    friction: Option<f64>,
    /// [li2018, Table 2]: vertices, contacts, seconds per step and of the solver, error [m/s], iterations; none
    /// where the paper has no row.
    paper: Option<[f64; 6]>,
}

const CASES: [Case; 6] = [
    Case {
        name: "inclined plane",
        scene: "inclined-plane",
        variant: None,
        friction: None,
        paper: None,
    },
    Case {
        name: "box and cone",
        scene: "box-and-cone",
        variant: Some("adaptive"),
        friction: None,
        paper: Some([4372.0, 2364.0, 1.66, 0.54, 6.3e-9, 129.0]),
    },
    Case {
        name: "belt",
        scene: "belt",
        variant: Some("adaptive"),
        friction: None,
        paper: Some([502.0, 476.0, 2.48, 2.42, 5.7e-9, 261.0]),
    },
    Case {
        name: "cards, μ = 0.2",
        scene: "cards",
        variant: Some("adaptive"),
        friction: Some(0.2),
        paper: Some([75.0, 176.0, 0.09, 0.09, 2.6e-12, 387.0]),
    },
    Case {
        name: "cards, μ = 0.6",
        scene: "cards",
        variant: Some("adaptive"),
        friction: None,
        paper: Some([218.0, 119.0, 0.29, 0.28, 3.9e-11, 1778.0]),
    },
    Case {
        name: "drag",
        scene: "drag",
        variant: Some("adaptive"),
        friction: None,
        paper: Some([59.0, 26.0, 0.04, 0.04, 1.5e-10, 25.0]),
    },
];

/// The paper's settings, without those of pruning.
const PAPER: &str = "name = \"nodal\", relocate = true, tolerance = 1e-8, max_iterations = 2000, newton_iterations = 1, safe = false";

/// Pruning thresholds of [li2018, Fig. 11] [°]: 0, 0.17, 0.34 and 0.5 radians.
const THRESHOLDS: [f64; 4] = [0.0, 10.0, 19.0, 29.0];

/// Contact solvers, as `[method]`.
const SOLVERS: [(&str, &str); 3] = [
    ("nodal", "method={ name = \"nodal\" }"),
    ("ica", "method={ name = \"admm\", solver = \"ica\" }"),
    ("admm", "method={ name = \"admm\" }"),
];

/// Means over the measured steps of one scene with one contact solver. Times in seconds per step.
#[derive(Debug, Serialize)]
pub struct NodalRow {
    scene: &'static str,
    solver: String,
    steps: usize,
    /// Blocks of the bodies.
    vertices: f64,
    contacts: f64,
    /// Steps that were divided because surfaces would have passed.
    divided: usize,
    /// Steps in which the failsafe ran.
    separated: usize,
    /// Pairs of triangles that cross after the solver, and after the failsafe.
    before: f64,
    after: f64,
    /// A whole step without recording.
    step: f64,
    adapt: f64,
    detect: f64,
    solve: f64,
    /// The residual of Coulomb's law [m/s].
    residual: f64,
    iterations: f64,
    /// The paper's row for `nodal`.
    #[serde(skip_serializing_if = "Option::is_none")]
    paper: Option<[f64; 6]>,
    /// Error that ended the run early.
    failure: Option<String>,
}

/// Runs `steps` steps from the start of every scene with every solver; of scenes whose name contains `only`,
/// if that is given. With `prune` only the scene of [li2018, Fig. 11], with its pruning thresholds.
pub fn run(steps: usize, only: Option<&str>, prune: bool) -> Result<Vec<NodalRow>, Failure> {
    let mut rows = Vec::new();
    let method = |angle: f64| format!("method={{ {PAPER}, prune_angle = {angle:.1} }}");
    if prune {
        for angle in THRESHOLDS {
            rows.push(measure(
                &CASES[1],
                &format!("{angle}°"),
                &method(angle),
                steps,
            )?);
        }
        return Ok(rows);
    }
    for case in &CASES {
        if only.is_some_and(|part| !case.scene.contains(part)) {
            continue;
        }
        for (solver, method) in SOLVERS {
            rows.push(measure(case, solver, method, steps)?);
        }
        rows.push(measure(case, "li2018", &method(10.0), steps)?);
    }
    Ok(rows)
}

fn measure(case: &Case, solver: &str, method: &str, steps: usize) -> Result<NodalRow, Failure> {
    let failsafe = "contact.failsafe=\"contours\"".to_owned();
    let mut overrides = vec![method.to_owned(), failsafe];
    overrides.extend(case.friction.map(|mu| format!("friction.default={mu}")));
    let options = LoadOptions {
        overrides,
        variant: case.variant.map(str::to_owned),
        ..LoadOptions::default()
    };
    let source = SceneSource::from_argument(case.scene);
    let scene = stiction_scene::load(&source, &options).map_err(Failure::input)?;
    let (mut sim, _) = scene.simulation().map_err(Failure::input)?;
    let mut row = NodalRow {
        scene: case.name,
        solver: solver.to_owned(),
        steps: 0,
        vertices: 0.0,
        contacts: 0.0,
        divided: 0,
        separated: 0,
        before: 0.0,
        after: 0.0,
        step: 0.0,
        adapt: 0.0,
        detect: 0.0,
        solve: 0.0,
        residual: 0.0,
        iterations: 0.0,
        paper: case.paper.filter(|_| solver == "li2018"),
        failure: None,
    };
    for _ in 0..steps {
        match sim.step() {
            Ok(report) => {
                row.steps += 1;
                row.vertices += sim.model().blocks() as f64;
                row.contacts += report.contacts as f64;
                row.divided += usize::from(report.parts > 1);
                row.separated += usize::from(report.separation.before > 0);
                row.before += report.separation.before as f64;
                row.after += report.separation.after as f64;
                row.residual += report.certificate.residual;
                row.iterations += report.iterations as f64;
            }
            Err(error) => {
                row.failure = Some(error.to_string());
                break;
            }
        }
    }
    let stages = sim.stages();
    row.step = Stage::ALL.iter().map(|s| stages.seconds(*s)).sum();
    row.adapt = stages.seconds(Stage::Adapt);
    row.detect = stages.seconds(Stage::Detect);
    row.solve = stages.seconds(Stage::Solve);
    let count = row.steps.max(1) as f64;
    for sum in [
        &mut row.vertices,
        &mut row.contacts,
        &mut row.before,
        &mut row.after,
        &mut row.step,
        &mut row.adapt,
        &mut row.detect,
        &mut row.solve,
        &mut row.residual,
        &mut row.iterations,
    ] {
        *sum /= count;
    }
    Ok(row)
}

/// Prints the rows, times in milliseconds.
pub fn print(rows: &[NodalRow]) {
    println!(
        "{:<15} {:<6} {:>5} {:>8} {:>8} {:>7} {:>8} {:>7} {:>7} {:>8} {:>8} {:>8} {:>8} {:>8} {:>7}",
        "scene",
        "solver",
        "steps",
        "vertices",
        "contacts",
        "divided",
        "failsafe",
        "before",
        "after",
        "step",
        "adapt",
        "detect",
        "solve",
        "residual",
        "iter."
    );
    for r in rows {
        println!(
            "{:<15} {:<6} {:>5} {:>8.0} {:>8.0} {:>7} {:>8} {:>7.3} {:>7.3} {:>8.2} {:>8.2} {:>8.2} {:>8.2} {:>8.0e} {:>7.0}",
            r.scene,
            r.solver,
            r.steps,
            r.vertices,
            r.contacts,
            r.divided,
            r.separated,
            r.before,
            r.after,
            1e3 * r.step,
            1e3 * r.adapt,
            1e3 * r.detect,
            1e3 * r.solve,
            r.residual,
            r.iterations
        );
        if let Some([vertices, contacts, step, solve, error, iterations]) = r.paper {
            println!(
                "{:<15} {:<6} {:>5} {vertices:>8.0} {contacts:>8.0} {:>7} {:>8} {:>7} {:>7} {:>8.0} {:>8} {:>8} {:>8.0} {error:>8.0e} {iterations:>7.0}",
                "",
                "paper",
                "all",
                "",
                "",
                "",
                "",
                1e3 * step,
                "",
                "",
                1e3 * solve,
            );
        }
        if let Some(failure) = &r.failure {
            println!("  {failure}");
        }
    }
    println!(
        "before, after: crossings per step; times in ms per step; paper: [li2018, Table 2], whole sequences, on other hardware"
    );
}
