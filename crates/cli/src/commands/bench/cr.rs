//! `stiction bench cr`: iterations and time per step of contact solvers on the scenes of
//! [verschoor2019, Table 1], all from the same states.

use std::time::Instant;

use serde::Serialize;
use stiction_sim::{Simulation, Stage};

use super::{Failure, simulation};

/// A scene of the paper's table.
struct PaperScene {
    name: &'static str,
    overrides: &'static [&'static str],
    /// Time from which steps are measured [s]: the first rings have landed.
    from: f64,
    /// Elements and mean constraints, three per contact, of the paper.
    size: [usize; 2],
    /// Mean iterations of the paper by row of [`SETTINGS`], where it has them.
    paper: [Option<f64>; 6],
}

const SCENES: [PaperScene; 2] = [
    PaperScene {
        name: "rings",
        overrides: &[],
        from: 0.2,
        size: [12_960, 2_280],
        paper: [Some(97.0), Some(451.0), None, None, None, Some(180.0)],
    },
    PaperScene {
        name: "rings*",
        overrides: &["material.ring.young=5e6"],
        from: 0.2,
        size: [12_960, 1_898],
        paper: [Some(154.0), None, None, None, None, Some(655.0)],
    },
];

/// Name and method of every row. The first three follow the paper's rules and thresholds; the next two
/// go to the same certificate; nested relaxation stops by the change of its iterate.
const SETTINGS: [(&str, &str); 6] = [
    ("cr, full", "{name=\"cr\", tolerance=5e-6}"),
    (
        "cr, diagonal",
        "{name=\"cr\", tolerance=5e-6, preconditioner=\"diagonal\"}",
    ),
    (
        "cr, cholesky",
        "{name=\"cr\", tolerance=5e-6, preconditioner=\"cholesky\"}",
    ),
    (
        "cr to 1e-6 m/s",
        "{name=\"cr\", residual=1e-6, newton_iterations=1}",
    ),
    (
        "admm to 1e-6 m/s",
        "{name=\"admm\", residual=1e-6, newton_iterations=1}",
    ),
    (
        "nested relaxation",
        "{name=\"admm\", solver=\"ica\", tolerance=1e-6, max_iterations=5000, newton_iterations=1}",
    ),
];

/// Steps that are measured.
const STEPS: usize = 20;

/// One solver on one scene.
#[derive(Debug, Serialize)]
pub struct CrRow {
    scene: &'static str,
    solver: &'static str,
    elements: usize,
    dofs: usize,
    /// Contacts per step, mean.
    contacts: f64,
    /// Iterations per step.
    mean: f64,
    median: usize,
    /// Of the paper, on 12,960 elements.
    paper: Option<f64>,
    /// Time of stage `solve` per step, and of the whole step [ms].
    solve_ms: f64,
    step_ms: f64,
    /// The certificate's worst residual [m/s] and penetration [m].
    residual: f64,
    penetration: f64,
    /// Memory of system and contacts per degree of freedom and per contact [bytes].
    bytes_per_dof: f64,
    bytes_per_contact: f64,
}

/// Measures all scenes; `large` takes the number of bodies of the paper.
pub fn run(large: bool) -> Result<Vec<CrRow>, Failure> {
    let mut rows = Vec::new();
    for scene in &SCENES {
        let mut overrides: Vec<String> = scene.overrides.iter().map(|&s| s.to_owned()).collect();
        if large {
            let colours = ["red", "green", "blue", "gold"];
            overrides.extend(colours.map(|c| format!("body.{c}.repeat.count=30")));
        }
        let mut run_up = simulation("rings", &overrides)?;
        while run_up.state().time < scene.from {
            run_up.step().map_err(Failure::run)?;
        }
        for ((solver, method), paper) in SETTINGS.iter().zip(scene.paper) {
            let mut with = overrides.clone();
            with.push(format!("method={method}"));
            let sim = simulation("rings", &with)?;
            rows.push(measure(scene.name, solver, paper, sim, &run_up)?);
        }
    }
    Ok(rows)
}

fn measure(
    scene: &'static str,
    solver: &'static str,
    paper: Option<f64>,
    mut sim: Simulation,
    run_up: &Simulation,
) -> Result<CrRow, Failure> {
    sim.restore(run_up.state().clone(), run_up.method().save());
    let mut iterations = Vec::new();
    let (mut contacts, mut residual, mut penetration) = (0, 0.0f64, 0.0f64);
    let before = sim.stages().seconds(Stage::Solve);
    let clock = Instant::now();
    for _ in 0..STEPS {
        // A diverging solver ends its row: what it did until then counts.
        let Ok(report) = sim.step() else { break };
        iterations.push(report.iterations);
        contacts += report.contacts;
        residual = residual.max(report.certificate.residual);
        penetration = penetration.max(report.certificate.penetration);
    }
    let count = iterations.len().max(1) as f64;
    let elements = sim.model().bodies.iter();
    let elements = elements.map(|b| b.kind.mechanics().element_count()).sum();
    let held = sim.method().footprint();
    iterations.sort_unstable();
    Ok(CrRow {
        scene,
        solver,
        elements,
        dofs: sim.model().dofs(),
        contacts: contacts as f64 / count,
        mean: iterations.iter().sum::<usize>() as f64 / count,
        median: iterations.get(iterations.len() / 2).copied().unwrap_or(0),
        paper,
        solve_ms: (sim.stages().seconds(Stage::Solve) - before) / count * 1e3,
        step_ms: clock.elapsed().as_secs_f64() / count * 1e3,
        residual,
        penetration,
        bytes_per_dof: held.system as f64 / sim.model().dofs() as f64,
        bytes_per_contact: held.contacts as f64 * count / contacts.max(1) as f64,
    })
}

/// Prints the rows as a table.
pub fn print(rows: &[CrRow]) {
    println!("iterations and time per step, {STEPS} steps from the same state");
    for scene in &SCENES {
        println!(
            "{}: the paper has {} elements and {} constraints",
            scene.name, scene.size[0], scene.size[1]
        );
    }
    println!(
        "{:<8} {:<18} {:>8} {:>8} {:>8} {:>8} {:>6} {:>10} {:>10} {:>9} {:>8} {:>8}",
        "scene",
        "solver",
        "elements",
        "contacts",
        "mean",
        "median",
        "paper",
        "solve",
        "step",
        "residual",
        "B/dof",
        "B/contact"
    );
    for r in rows {
        println!(
            "{:<8} {:<18} {:>8} {:>8.0} {:>8.1} {:>8} {:>6} {:>7.1} ms {:>7.1} ms {:>9.1e} {:>8.0} {:>8.0}",
            r.scene,
            r.solver,
            r.elements,
            r.contacts,
            r.mean,
            r.median,
            super::or_dash(r.paper, 0),
            r.solve_ms,
            r.step_ms,
            r.residual,
            r.bytes_per_dof,
            r.bytes_per_contact
        );
    }
}
