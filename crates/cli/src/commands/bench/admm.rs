//! `stiction bench admm`: the method `admm` compared with nested relaxation, on the papers' model scenes,
//! and what its parts are worth.
//!
//! - Table 1 of [daviet2020]: contact solver time per step on five model scenes, both solvers from
//!   the same state to the same tolerance.
//! - The paper's settings on the same scenes: iterations and δ∞.
//! - Table 3: on one heavy problem, without sleeping, with full local blocks, and nested relaxation.
//! - Figure 16: iterations to the tolerance over the weight β, with and without momentum.
//! - Figure 17: δ∞ per step of a whole scene.

use std::{fmt::Write as _, path::Path, time::Instant};

use serde::Serialize;
use stiction_contact::FrictionProblem;
use stiction_contact::solver::{
    ContactSolver, NoNewContacts, Solution, SolverError, SolverReport, Task, TaskStart, solve_alone,
};
use stiction_record::plot::{Plot, Scale, Series};
use stiction_scene::{LoadOptions, SceneSource};
use stiction_sim::{
    Simulation, Stage,
    admm::{self, SolverChoice},
};
use stiction_solvers::{
    admm::{Acceleration, Admm, AdmmWeights, Config, ProjectionKernel, Start, Tolerance},
    ica,
};

use super::Failure;

/// A model scene, the time from which it is measured, and the figures of the papers.
struct Case {
    name: &'static str,
    scene: &'static str,
    overrides: &'static [&'static str],
    /// Time at which both solvers start [s].
    at: f64,
    /// [daviet2020, Table 1]: ms per step of splitting and of nested relaxation.
    paper: [f64; 2],
}

const CASES: [Case; 5] = [
    Case {
        name: "belt",
        scene: "belt",
        overrides: &[],
        at: 0.4,
        paper: [45.0, 189.0],
    },
    Case {
        name: "cards, μ = 0.2",
        scene: "cards",
        overrides: &["friction.default=0.2"],
        at: 0.2,
        paper: [2.4, 8.7],
    },
    Case {
        name: "cards, μ = 0.6",
        scene: "cards",
        overrides: &[],
        at: 0.1,
        paper: [92.0, 495.0],
    },
    Case {
        name: "drag",
        scene: "drag",
        overrides: &["body.cloth.shape.cells=[10, 10]"],
        at: 1.6,
        paper: [0.4, 8.2],
    },
    Case {
        name: "box and cone",
        scene: "box-and-cone",
        overrides: &[],
        at: 0.3,
        paper: [275.0, 490.0],
    },
];

/// Further scenes with contact, and until when they run with the paper's settings [s].
const OTHERS: [(&str, f64); 7] = [
    ("slope", 1.8),
    ("block-slide", 4.0),
    ("pinch", 2.0),
    ("pinched-spheres", 1.0),
    ("bunnies", 0.4),
    ("shirt-stack", 0.4),
    ("grains", 0.8),
];

/// Steps that are timed.
const STEPS: usize = 20;
/// To the same tolerance [m], with as many iterations as it takes within reason.
const TOLERANCE: f64 = 1e-6;
const MOST: usize = 5000;
/// The paper's tolerance: 0.01 mm.
const PAPER_TOLERANCE: f64 = 1e-5;

/// All figures, as printed with `--json`.
#[derive(Debug, Serialize)]
pub struct AdmmTables {
    table1: Vec<Timed>,
    settings: Vec<PaperSettings>,
    table3: Ablation,
    beta: Vec<Beta>,
    frames: Vec<Frame>,
}

/// Both solvers on one scene.
#[derive(Debug, Serialize)]
struct Timed {
    scene: &'static str,
    dofs: usize,
    contacts: f64,
    splitting: Solver,
    relaxation: Solver,
    /// Time of relaxation over that of splitting, here and in the paper.
    ratio: f64,
    paper_ratio: f64,
    /// The paper's times [ms].
    paper: [f64; 2],
}

#[derive(Clone, Copy, Debug, Default, Serialize)]
struct Solver {
    /// Contact solver time per step [ms].
    ms: f64,
    iterations: f64,
    /// The certificate's residual, the worst of all steps [m/s].
    residual: f64,
}

/// A scene with the paper's tolerance, iterations and start.
#[derive(Debug, Serialize)]
struct PaperSettings {
    scene: &'static str,
    iterations_mean: f64,
    iterations_max: usize,
    /// The last δ∞ of a step [m].
    delta_mean: f64,
    delta_max: f64,
    /// Steps that met 0.01 mm within 25 iterations per linearisation, as a part.
    converged: f64,
}

/// Variants on one heavy problem.
#[derive(Debug, Serialize)]
struct Ablation {
    dofs: usize,
    contacts: usize,
    rows: Vec<Variant>,
    /// Projection time without sleep over that with it.
    sleep: f64,
    /// Projection time with full blocks over that in closed form, where contacts may sleep.
    blocks: f64,
    /// Blocks without sleep: contact for contact.
    blocks_awake: f64,
}

#[derive(Debug, Serialize)]
struct Variant {
    name: &'static str,
    /// δ∞ after 25 iterations [m] and the time in the projection [s]; of nested relaxation, all.
    delta: f64,
    seconds: f64,
    /// Iterations to 0.01 mm, and the time.
    iterations: usize,
    converged: bool,
    seconds_to_tolerance: f64,
}

#[derive(Debug, Serialize)]
struct Beta {
    beta: f64,
    iterations: usize,
    accelerated: usize,
}

#[derive(Debug, Serialize)]
struct Frame {
    time: f64,
    contacts: usize,
    iterations: usize,
    delta: f64,
    residual: f64,
}

/// Runs everything; `out` gets the two figures as tables and pictures.
pub fn run(out: Option<&Path>) -> Result<AdmmTables, Failure> {
    let mut table1 = Vec::new();
    let mut settings = Vec::new();
    for case in &CASES {
        table1.push(timed(case)?);
        settings.push(paper_settings(
            case.name,
            case.scene,
            case.overrides,
            case.at,
        )?);
    }
    for (scene, until) in OTHERS {
        settings.push(paper_settings(scene, scene, &[], until)?);
    }
    let problem = heavy()?;
    let table3 = ablation(&problem)?;
    let beta = sweep(&problem)?;
    let frames = frames()?;
    if let Some(dir) = out {
        write(dir, &beta, &frames)?;
    }
    Ok(AdmmTables {
        table1,
        settings,
        table3,
        beta,
        frames,
    })
}

/// A built-in scene, with its own settings or with others.
fn simulation(
    scene: &str,
    overrides: &[&str],
    method: Option<admm::Config>,
) -> Result<Simulation, Failure> {
    let options = LoadOptions {
        overrides: overrides.iter().map(|s| (*s).to_owned()).collect(),
        ..LoadOptions::default()
    };
    let source = SceneSource::Builtin(scene.to_owned());
    let mut loaded = stiction_scene::load(&source, &options).map_err(Failure::input)?;
    if let Some(method) = method {
        loaded.plan.method = Box::new(method);
    }
    let (simulation, _) = loaded.simulation().map_err(Failure::input)?;
    Ok(simulation)
}

fn timed(case: &Case) -> Result<Timed, Failure> {
    let mut run_up = simulation(case.scene, case.overrides, None)?;
    while run_up.state().time < case.at {
        run_up.step().map_err(Failure::run)?;
    }
    let mut figures = [Solver::default(); 2];
    let (mut contacts, mut dofs) = (0.0, 0);
    let solvers = [SolverChoice::Splitting, SolverChoice::NestedRelaxation];
    for (by, figures) in solvers.into_iter().zip(&mut figures) {
        // Both stop by the same rule, when hardly anything changes any more.
        let mut config = admm::Config::paper();
        config.by = by;
        config.solver.start = Start::Held;
        config.solver.tolerance = Tolerance::Displacement(TOLERANCE);
        config.solver.max_iterations = MOST;
        let mut sim = simulation(case.scene, case.overrides, Some(config))?;
        sim.restore(run_up.state().clone(), run_up.method().save());
        let before = sim.stages().seconds(Stage::Solve);
        for _ in 0..STEPS {
            // A diverging solver ends its row: what it did until then counts.
            let Ok(report) = sim.step() else { break };
            figures.iterations += report.iterations as f64 / STEPS as f64;
            figures.residual = figures.residual.max(report.certificate.residual);
            if by == SolverChoice::Splitting {
                contacts += report.contacts as f64 / STEPS as f64;
            }
        }
        figures.ms = (sim.stages().seconds(Stage::Solve) - before) / STEPS as f64 * 1e3;
        dofs = sim.model().dofs();
    }
    let [splitting, relaxation] = figures;
    Ok(Timed {
        scene: case.name,
        dofs,
        contacts,
        splitting,
        relaxation,
        ratio: relaxation.ms / splitting.ms,
        paper_ratio: case.paper[1] / case.paper[0],
        paper: case.paper,
    })
}

/// The paper's settings from the start to a few steps behind the time at which solvers are timed.
fn paper_settings(
    name: &'static str,
    scene: &str,
    overrides: &[&str],
    until: f64,
) -> Result<PaperSettings, Failure> {
    let mut sim = simulation(scene, overrides, Some(admm::Config::paper()))?;
    let (mut steps, mut met) = (0, 0);
    let mut row = PaperSettings {
        scene: name,
        iterations_mean: 0.0,
        iterations_max: 0,
        delta_mean: 0.0,
        delta_max: 0.0,
        converged: 0.0,
    };
    while sim.state().time < until + STEPS as f64 * sim.time_step() {
        let report = sim.step().map_err(Failure::run)?;
        let delta = report.change * sim.time_step();
        steps += 1;
        met += usize::from(delta <= PAPER_TOLERANCE);
        row.iterations_mean += report.iterations as f64;
        row.iterations_max = row.iterations_max.max(report.iterations);
        row.delta_mean += delta;
        row.delta_max = row.delta_max.max(delta);
    }
    let count = f64::from(steps.max(1));
    row.iterations_mean /= count;
    row.delta_mean /= count;
    row.converged = met as f64 / count;
    Ok(row)
}

/// Ten finely meshed layers that have just fallen on a ball.
fn heavy() -> Result<FrictionProblem, Failure> {
    let fine = ["body.layer.shape.cells=[40, 40]"];
    let mut sim = simulation("shirt-stack", &fine, Some(admm::Config::paper()))?;
    for _ in 0..16 {
        sim.step().map_err(Failure::run)?;
    }
    match sim.method().contacts().and_then(|c| c.problem()) {
        Some(problem) => Ok(problem.clone()),
        None => Err(Failure::Run(miette::miette!("the stack had no contacts"))),
    }
}

/// Iterations, δ∞ and seconds in the projection of one solve from nothing.
fn solve(problem: &FrictionProblem, config: &Config) -> Result<(usize, f64, f64, bool), Failure> {
    let mut seconds = 0.0;
    let mut task = Task {
        problem: &mut problem.clone(),
        source: &mut NoNewContacts,
        start: TaskStart::Configured,
        polish: true,
        target: None,
        local: None,
        cancel: stiction_math::Cancel::NEVER,
        observer: &mut |i| seconds += i.projection,
    };
    let report = Admm::new(config.clone())
        .solve(&mut task, &mut Solution::default())
        .map_err(Failure::run)?;
    let delta = report.change * problem.h;
    let tolerance = config.tolerance.displacement(problem.h);
    let met = delta.max(report.settling * problem.h) <= tolerance;
    Ok((report.iterations, delta, seconds, met))
}

fn ablation(problem: &FrictionProblem) -> Result<Ablation, Failure> {
    let ours = Config::paper();
    let variants = [
        ("ours", ours.clone()),
        (
            "no sleep",
            Config {
                sleep: None,
                ..ours.clone()
            },
        ),
        (
            "full blocks",
            Config {
                local: ProjectionKernel::Blocks,
                ..ours.clone()
            },
        ),
        (
            "both",
            Config {
                local: ProjectionKernel::Blocks,
                sleep: None,
                ..ours.clone()
            },
        ),
    ];
    let mut rows = Vec::new();
    for (name, config) in variants {
        let fixed = Config {
            tolerance: Tolerance::Displacement(0.0),
            ..config.clone()
        };
        // The least of three: other work on the machine only adds.
        let (mut delta, mut seconds) = (0.0, f64::INFINITY);
        for _ in 0..3 {
            let (_, reached, time, _) = solve(problem, &fixed)?;
            (delta, seconds) = (reached, seconds.min(time));
        }
        let to_tolerance = Config {
            max_iterations: 500,
            ..config
        };
        let (iterations, _, seconds_to_tolerance, converged) = solve(problem, &to_tolerance)?;
        rows.push(Variant {
            name,
            delta,
            seconds,
            iterations,
            converged,
            seconds_to_tolerance,
        });
    }
    rows.push(relaxation(problem)?);
    Ok(Ablation {
        dofs: 3 * problem.blocks(),
        contacts: problem.contacts.len(),
        sleep: rows[1].seconds / rows[0].seconds,
        blocks: rows[2].seconds / rows[0].seconds,
        blocks_awake: rows[3].seconds / rows[1].seconds,
        rows,
    })
}

fn relaxation(problem: &FrictionProblem) -> Result<Variant, Failure> {
    let run = |tolerance, max_iterations| {
        let config = ica::Config {
            tolerance: Tolerance::Displacement(tolerance),
            max_iterations,
            ..ica::Config::paper()
        };
        let (mut problem, mut solution) = (problem.clone(), Solution::default());
        let mut solver = ica::Ica::new(config);
        let clock = Instant::now();
        let start = TaskStart::Configured;
        let report = solve_alone(&mut solver, &mut problem, &mut solution, start, None);
        (report, clock.elapsed().as_secs_f64())
    };
    let (fixed, seconds) = run(0.0, 25);
    let (full, seconds_to_tolerance) = run(PAPER_TOLERANCE, 2000);
    // Divergence is a result, not a failure of the benchmark.
    let end = |report: Result<SolverReport, SolverError>| match report {
        Ok(r) => Ok((r.iterations, r.change * problem.h, r.converged)),
        Err(SolverError::Overflow { iterations, .. }) => Ok((iterations, f64::INFINITY, false)),
        Err(other) => Err(Failure::run(other)),
    };
    let (_, delta, _) = end(fixed)?;
    let (iterations, _, converged) = end(full)?;
    Ok(Variant {
        name: "ica",
        delta,
        seconds,
        iterations,
        converged,
        seconds_to_tolerance,
    })
}

fn sweep(problem: &FrictionProblem) -> Result<Vec<Beta>, Failure> {
    let mut rows = Vec::new();
    for beta in [1.0, 2.5, 5.0, 10.0, 25.0, 50.0, 100.0, 250.0, 1000.0] {
        let count = |acceleration| {
            let config = Config {
                weights: AdmmWeights::Mass { sigma: 0.001, beta },
                max_iterations: 300,
                acceleration,
                ..Config::paper()
            };
            Ok::<_, Failure>(solve(problem, &config)?.0)
        };
        rows.push(Beta {
            beta,
            iterations: count(None)?,
            accelerated: count(Some(Acceleration::Momentum { restart: 0.999 }))?,
        });
    }
    Ok(rows)
}

/// δ∞ over a whole scene with many layers, at the paper's settings.
fn frames() -> Result<Vec<Frame>, Failure> {
    let mut sim = simulation("shirt-stack", &[], Some(admm::Config::paper()))?;
    let mut rows = Vec::new();
    for _ in 0..100 {
        let report = sim.step().map_err(Failure::run)?;
        rows.push(Frame {
            time: sim.state().time,
            contacts: report.contacts,
            iterations: report.iterations,
            delta: report.change * sim.time_step(),
            residual: report.certificate.residual,
        });
    }
    Ok(rows)
}

fn write(dir: &Path, beta: &[Beta], frames: &[Frame]) -> Result<(), Failure> {
    std::fs::create_dir_all(dir).map_err(Failure::run)?;
    let mut text = String::from("beta,iterations,accelerated\n");
    for b in beta {
        let _ = writeln!(text, "{},{},{}", b.beta, b.iterations, b.accelerated);
    }
    std::fs::write(dir.join("beta.csv"), text).map_err(Failure::run)?;
    let mut text = String::from("time,contacts,iterations,delta,residual\n");
    for f in frames {
        let _ = writeln!(
            text,
            "{},{},{},{:e},{:e}",
            f.time, f.contacts, f.iterations, f.delta, f.residual
        );
    }
    std::fs::write(dir.join("frames.csv"), text).map_err(Failure::run)?;
    for (name, plot) in [("beta", weights(beta)), ("frames", lengths(frames))] {
        for ending in ["svg", "png"] {
            let path = dir.join(name).with_extension(ending);
            plot.write(&path).map_err(Failure::run)?;
        }
    }
    Ok(())
}

/// Iterations over the weight [daviet2020, Fig. 16].
fn weights(beta: &[Beta]) -> Plot {
    let series = |name: &str, count: fn(&Beta) -> usize| Series {
        name: name.into(),
        points: beta.iter().map(|b| (b.beta, count(b) as f64)).collect(),
    };
    Plot {
        title: "Iterations to 0.01 mm".into(),
        x_label: "weight β".into(),
        y_label: "iterations (at most 300)".into(),
        x_scale: Scale::Logarithmic,
        y_scale: Scale::Logarithmic,
        series: vec![
            series("plain", |b| b.iterations),
            series("with momentum", |b| b.accelerated),
        ],
        ..Plot::default()
    }
}

/// δ∞ and the certificate's residual over time [daviet2020, Fig. 17].
fn lengths(frames: &[Frame]) -> Plot {
    let series = |name: &str, of: fn(&Frame) -> f64| Series {
        name: name.into(),
        points: frames.iter().map(|f| (f.time, of(f))).collect(),
    };
    Plot {
        title: "Ten layers at the paper's settings".into(),
        x_label: "time [s]".into(),
        y_label: "at the end of the step".into(),
        y_scale: Scale::Logarithmic,
        series: vec![
            series("δ∞ [mm]", |f| f.delta * 1e3),
            series("residual [m/s]", |f| f.residual),
        ],
        ..Plot::default()
    }
}

impl AdmmTables {
    /// As tables of text.
    pub fn print(&self) {
        println!(
            "contact solver, ms per step to {TOLERANCE:e} m ([daviet2020, Table 1]: four cores of \
             another machine, finer meshes)"
        );
        println!(
            "{:<16} {:>6} {:>8} | {:>9} {:>6} {:>8} | {:>9} {:>6} {:>8} | {:>6} | paper {:>5} {:>5} {:>6}",
            "scene",
            "dofs",
            "contacts",
            "admm",
            "iter",
            "residual",
            "ica",
            "iter",
            "residual",
            "ratio",
            "admm",
            "ica",
            "ratio"
        );
        for r in &self.table1 {
            let (a, b) = (r.splitting, r.relaxation);
            println!(
                "{:<16} {:>6} {:>8.0} | {:>6.1} ms {:>6.0} {:>8.1e} | {:>6.1} ms {:>6.0} {:>8.1e} \
                 | {:>6.1} | {:>11.1} {:>5.1} {:>6.1}",
                r.scene,
                r.dofs,
                r.contacts,
                a.ms,
                a.iterations,
                a.residual,
                b.ms,
                b.iterations,
                b.residual,
                r.ratio,
                r.paper[0],
                r.paper[1],
                r.paper_ratio
            );
        }
        println!("\nthe paper's settings: 0.01 mm, at most 25 iterations, twice per step");
        println!(
            "{:<16} {:>15} {:>6} {:>14} {:>10} {:>6}",
            "scene", "iterations mean", "max", "δ∞ mean [mm]", "max", "met"
        );
        for r in &self.settings {
            println!(
                "{:<16} {:>15.1} {:>6} {:>14.4} {:>10.4} {:>5.0}%",
                r.scene,
                r.iterations_mean,
                r.iterations_max,
                1e3 * r.delta_mean,
                1e3 * r.delta_max,
                1e2 * r.converged
            );
        }
        let t = &self.table3;
        println!(
            "\nablation on {} contacts over {} dofs ([daviet2020, Table 3]); projection time, of \
             ica all",
            t.contacts, t.dofs
        );
        println!(
            "{:<12} {:>18} {:>9} {:>12} {:>9}",
            "", "25 iter: δ∞ [mm]", "time", "to 0.01 mm", "time"
        );
        for r in &t.rows {
            let count = match r.converged {
                true => r.iterations.to_string(),
                false => format!("> {}", r.iterations),
            };
            println!(
                "{:<12} {:>18.4} {:>7.3} s {:>12} {:>7.3} s",
                r.name,
                1e3 * r.delta,
                r.seconds,
                count,
                r.seconds_to_tolerance
            );
        }
        println!(
            "sleeping saves {:.1} times (paper 2.4, asked 1.8); closed form is {:.1} times faster \
             than full blocks with sleep, {:.1} times without (paper 5.6, asked 4)",
            t.sleep, t.blocks, t.blocks_awake
        );
        println!("\niterations to 0.01 mm over β ([daviet2020, Fig. 16])");
        for b in &self.beta {
            println!(
                "β = {:<6} {:>5}, with momentum {:>5}",
                b.beta, b.iterations, b.accelerated
            );
        }
    }
}
