//! `stiction bench cr`: iterations, time and memory of contact solvers on the steps of scenes after
//! [verschoor2019, Table 1], each on the same problems from the same warm start.
//!
//! The scene runs with method `cr`. After its run-up, the last friction problem of every step goes to all solvers, which
//! start from the velocities and impulses of the step before. Solvers that follow the paper's thresholds and those that go
//! to a certificate stop at different accuracies: the table has the certificate of each.

mod curves;

use std::{path::Path, time::Instant};

use serde::Serialize;
use stiction_contact::{
    CertifyConfig, ContactKey, FrictionProblem, certify,
    solver::{ContactSolver, Solution, TaskStart, Tolerance, carried, solve_alone},
};
use stiction_math::{SystemFactor, Vec3};
use stiction_sim::Simulation;
use stiction_solvers::{admm, cr, ica, sp};

use super::{Failure, or_dash};

/// A scene of the paper's table.
struct PaperScene {
    name: &'static str,
    scene: &'static str,
    overrides: &'static [&'static str],
    /// Variants of the quick and of the full form.
    variants: [Option<&'static str>; 2],
    /// Time from which steps are measured in both forms [s].
    from: [f64; 2],
    /// Elements and mean constraints, three per contact, of the paper.
    size: [usize; 2],
    /// Mean and median iterations of the paper, by row of [`SOLVERS`], where it has them.
    paper: [Option<[f64; 2]>; SOLVERS.len()],
}

const SCENES: [PaperScene; 5] = [
    PaperScene {
        name: "rings",
        scene: "rings",
        overrides: &[],
        variants: [Some("quick"), Some("paper")],
        from: [0.08, 1.0],
        size: [12_960, 2_280],
        paper: [
            Some([97.0, 76.0]),
            Some([451.0, 340.0]),
            None,
            None,
            Some([1546.0, 780.0]),
            Some([814.0, 728.0]),
            None,
            None,
            Some([180.0, 134.0]),
            None,
        ],
    },
    PaperScene {
        name: "rings*",
        scene: "rings",
        overrides: &["material.ring.young=5e6"],
        variants: [Some("quick"), Some("paper")],
        from: [0.08, 1.0],
        size: [12_960, 1_898],
        paper: [
            Some([154.0, 103.0]),
            None,
            None,
            None,
            Some([3373.0, 2423.0]),
            None,
            None,
            None,
            Some([655.0, 550.0]),
            None,
        ],
    },
    PaperScene {
        name: "pyramid",
        scene: "pyramid",
        overrides: &[],
        variants: [Some("quick"), None],
        from: [0.1, 0.1],
        size: [60_480, 8_565],
        paper: [
            Some([69.0, 59.0]),
            Some([229.0, 179.0]),
            None,
            None,
            Some([1088.0, 604.0]),
            Some([463.0, 332.0]),
            None,
            None,
            Some([558.0, 75.0]),
            None,
        ],
    },
    PaperScene {
        name: "bunnies",
        scene: "bunnies",
        // The material of [verschoor2019]: that of the scene is another paper's.
        overrides: &["method={name=\"cr\"}", "material.bunny.young=5e6"],
        variants: [Some("quick"), Some("paper")],
        from: [0.2, 1.0],
        size: [152_400, 700],
        paper: [
            Some([900.0, 534.0]),
            None,
            None,
            None,
            None,
            None,
            None,
            None,
            Some([7206.0, 6261.0]),
            None,
        ],
    },
    PaperScene {
        name: "bearing",
        scene: "bearing",
        overrides: &[],
        variants: [Some("quick"), Some("paper")],
        from: [0.1, 0.1],
        size: [115_659, 4_044],
        paper: [
            Some([480.0, 463.0]),
            None,
            None,
            None,
            None,
            None,
            None,
            None,
            None,
            None,
        ],
    },
];

/// Bound on the certificate of the solvers that go to one [m/s]: that of the scene.
const BOUND: f64 = 1e-6;

/// ε₂ [verschoor2019, Sect. 6.2], the displacement at which solvers without a certificate stop [m].
const DISPLACEMENT: f64 = 5e-6;

/// Name, and constructor for a step of h [s].
type Entry = (&'static str, fn(f64) -> Box<dyn ContactSolver>);

const SOLVERS: [Entry; 10] = [
    ("cr, full", |_| Box::new(cr::Cr::new(cr::Config::paper()))),
    ("cr, diagonal", |_| Box::new(cr::Cr::new(diagonal()))),
    ("minres, diagonal", |_| {
        Box::new(cr::Cr::new(cr::Config {
            krylov: cr::KktKrylov::Minres,
            ..diagonal()
        }))
    }),
    ("cr, cholesky", |_| {
        Box::new(cr::Cr::new(cr::Config {
            preconditioner: cr::CrPreconditioner::Cholesky,
            ..cr::Config::paper()
        }))
    }),
    ("sp, active set", |h| staggered(h, sp::Config::paper())),
    ("sp, 2 × cr", |h| {
        staggered(
            h,
            sp::Config {
                switching: sp::ActiveSetRule::Intervals,
                ..sp::Config::paper()
            },
        )
    }),
    ("sp, minres", |h| {
        staggered(
            h,
            sp::Config {
                krylov: cr::KktKrylov::Minres,
                ..sp::Config::paper()
            },
        )
    }),
    ("ica", |_| Box::new(ica::Ica::new(relaxation()))),
    ("ica, pyramid", |_| {
        Box::new(ica::Ica::faceted(relaxation(), ica::PYRAMID))
    }),
    ("cr to 1e-6 m/s", |_| {
        Box::new(cr::Cr::new(cr::Config {
            stop: cr::CrStop::Certificate(BOUND),
            ..cr::Config::accurate()
        }))
    }),
];

/// The splitting counts iterations of another kind: it has a factor.
fn splitting() -> Box<dyn ContactSolver> {
    Box::new(admm::Admm::new(admm::Config {
        tolerance: Tolerance::Velocity(BOUND),
        ..admm::Config::accurate()
    }))
}

fn diagonal() -> cr::Config {
    cr::Config {
        preconditioner: cr::CrPreconditioner::Diagonal,
        ..cr::Config::paper()
    }
}

fn staggered(h: f64, config: sp::Config) -> Box<dyn ContactSolver> {
    Box::new(sp::StaggeredProjections::new(sp::Config {
        tolerance: DISPLACEMENT / h,
        ..config
    }))
}

fn relaxation() -> ica::Config {
    ica::Config {
        tolerance: Tolerance::Displacement(DISPLACEMENT),
        max_iterations: 20_000,
        ..ica::Config::paper()
    }
}

/// Steps that are measured in the quick and in the full form.
const STEPS: [usize; 2] = [20, 20];

/// One solver on the steps of one scene.
#[derive(Debug, Serialize)]
pub struct CrRow {
    scene: &'static str,
    solver: &'static str,
    /// Iterations per problem.
    mean: f64,
    median: usize,
    worst: usize,
    /// Mean and median of the paper.
    paper: Option<[f64; 2]>,
    /// Time per problem [ms].
    milliseconds: f64,
    /// Problems that met their criterion.
    converged: usize,
    /// The worst `residual` or `linear` of the certificate [m/s].
    error: f64,
    /// Memory of the solver's system per degree of freedom and of its contacts per contact [bytes].
    bytes_per_dof: f64,
    bytes_per_contact: f64,
}

/// A scene's size, and the time of the Delassus operator on its problems.
#[derive(Debug, Serialize)]
pub struct CrScene {
    name: &'static str,
    elements: usize,
    dofs: usize,
    problems: usize,
    /// Contacts per problem.
    contacts: f64,
    paper_elements: usize,
    paper_constraints: usize,
    /// Iterations of the whole step with method `cr`, revisions of contacts and all linearisations included.
    step_iterations: f64,
    /// Time of L A⁻¹ Lᵀ by a factor of A and one solve per constraint, per problem [ms] [verschoor2019, Fig. 12].
    delassus_milliseconds: f64,
}

#[derive(Debug, Serialize)]
pub struct CrTables {
    scenes: Vec<CrScene>,
    rows: Vec<CrRow>,
}

/// A problem with its start.
struct Captured {
    problem: FrictionProblem,
    start: Solution,
}

/// Measures all scenes; `full` takes the sizes of the paper. `out` gets residuals over iterations and iterations over
/// time steps and stiffness as tables and pictures.
pub fn run(full: bool, out: Option<&Path>) -> Result<CrTables, Failure> {
    let mut tables = CrTables {
        scenes: Vec::new(),
        rows: Vec::new(),
    };
    for scene in &SCENES {
        let (captured, about) = capture(scene, full)?;
        tables.scenes.push(about);
        let admm: Entry = ("admm to 1e-6 m/s", |_| splitting());
        for (k, &(name, make)) in SOLVERS.iter().chain([&admm]).enumerate() {
            let paper = scene.paper.get(k).copied().flatten();
            tables
                .rows
                .push(measure(scene.name, name, make, paper, &captured)?);
        }
        if let Some(dir) = out {
            let largest = captured.iter().max_by_key(|c| c.problem.contacts.len());
            if let Some(largest) = largest {
                curves::residuals(dir, scene.name, largest)?;
            }
        }
    }
    if let Some(dir) = out {
        curves::sweeps(dir)?;
    }
    Ok(tables)
}

/// The simulation of a scene in its quick or full form.
fn simulation(scene: &PaperScene, full: bool, more: &[String]) -> Result<Simulation, Failure> {
    let mut overrides: Vec<String> = scene.overrides.iter().map(|&s| s.to_owned()).collect();
    overrides.push(format!("method.residual={BOUND}"));
    overrides.extend_from_slice(more);
    let plan = super::plan(scene.scene, scene.variants[usize::from(full)], &overrides)?;
    Ok(plan.simulation().map_err(Failure::input)?.0)
}

/// The last problems of the steps after the run-up.
fn capture(scene: &PaperScene, full: bool) -> Result<(Vec<Captured>, CrScene), Failure> {
    let mut sim = simulation(scene, full, &[])?;
    let form = usize::from(full);
    while sim.state().time < scene.from[form] {
        sim.step().map_err(Failure::run)?;
    }
    let mut captured: Vec<Captured> = Vec::new();
    let (mut iterations, mut seconds) = (0, 0.0);
    for _ in 0..STEPS[form] {
        let v = sim.state().v.clone();
        let (keys, r): (Vec<ContactKey>, Vec<Vec3>) = match sim.method().contacts() {
            Some(c) => (c.contacts.key.clone(), c.r.to_vec()),
            None => Default::default(),
        };
        iterations += sim.step().map_err(Failure::run)?.iterations;
        let solved = sim.method().contacts();
        let Some(problem) = solved.as_ref().and_then(|c| c.problem()) else {
            continue;
        };
        let clock = Instant::now();
        delassus(problem)?;
        seconds += clock.elapsed().as_secs_f64();
        let r = carried(&r, &keys, &problem.contacts.key);
        captured.push(Captured {
            problem: problem.clone(),
            start: Solution::new(v, r),
        });
    }
    let count = captured.len().max(1) as f64;
    let contacts: usize = captured.iter().map(|c| c.problem.contacts.len()).sum();
    let elements = sim.model().bodies.iter();
    let about = CrScene {
        name: scene.name,
        elements: elements.map(|b| b.kind.mechanics().element_count()).sum(),
        dofs: sim.model().dofs(),
        problems: captured.len(),
        contacts: contacts as f64 / count,
        paper_elements: scene.size[0],
        paper_constraints: scene.size[1],
        step_iterations: iterations as f64 / count,
        delassus_milliseconds: seconds / count * 1e3,
    };
    Ok((captured, about))
}

/// Computes L A⁻¹ Lᵀ of all constraints column by column and returns its trace, so that nothing is optimised away.
fn delassus(problem: &FrictionProblem) -> Result<f64, Failure> {
    let set = &problem.contacts;
    let positions = problem.part_positions();
    let mut factor = SystemFactor::new(&problem.a, &positions).map_err(Failure::run)?;
    factor.refactor(&problem.a, None).map_err(Failure::run)?;
    let mut trace = 0.0;
    let mut column = vec![Vec3::zeros(); problem.blocks()];
    let mut rows = vec![Vec3::zeros(); set.len()];
    for c in 0..set.len() {
        for axis in 0..3 {
            column.fill(Vec3::zeros());
            set.add_transpose_of(c, &Vec3::ith(axis, 1.0), &mut column);
            factor
                .solve(&problem.a, &mut column, 1e-12)
                .map_err(Failure::run)?;
            set.apply(&column, &mut rows);
            trace += rows[c][axis];
        }
    }
    Ok(trace)
}

fn measure(
    scene: &'static str,
    solver: &'static str,
    make: fn(f64) -> Box<dyn ContactSolver>,
    paper: Option<[f64; 2]>,
    captured: &[Captured],
) -> Result<CrRow, Failure> {
    let mut row = CrRow {
        scene,
        solver,
        mean: 0.0,
        median: 0,
        worst: 0,
        paper,
        milliseconds: 0.0,
        converged: 0,
        error: 0.0,
        bytes_per_dof: 0.0,
        bytes_per_contact: 0.0,
    };
    let mut iterations = Vec::new();
    for Captured { problem, start } in captured {
        let (mut problem, mut solution) = (problem.clone(), start.clone());
        let mut solver = make(problem.h);
        let clock = Instant::now();
        let solved = solve_alone(
            &mut *solver,
            &mut problem,
            &mut solution,
            TaskStart::Given,
            None,
        );
        row.milliseconds += clock.elapsed().as_secs_f64() * 1e3;
        let held = solver.bytes();
        let (dofs, contacts) = (3 * problem.blocks(), problem.contacts.len().max(1));
        row.bytes_per_dof = row.bytes_per_dof.max(held.system as f64 / dofs as f64);
        row.bytes_per_contact = row
            .bytes_per_contact
            .max(held.contacts as f64 / contacts as f64);
        // Divergence is a result, not a failure of the benchmark.
        let Ok(report) = solved else {
            row.error = f64::INFINITY;
            continue;
        };
        iterations.push(report.iterations);
        row.converged += usize::from(report.converged);
        let judged = certify(
            &problem,
            &solution.v,
            &solution.r,
            &CertifyConfig::default(),
        );
        row.error = row
            .error
            .max(judged.map_err(Failure::run)?.solution_error());
    }
    let count = iterations.len().max(1);
    iterations.sort_unstable();
    row.mean = iterations.iter().sum::<usize>() as f64 / count as f64;
    row.median = iterations.get(count / 2).copied().unwrap_or(0);
    row.worst = iterations.last().copied().unwrap_or(0);
    row.milliseconds /= captured.len().max(1) as f64;
    Ok(row)
}

impl CrTables {
    pub fn print(&self) {
        println!("last friction problems of consecutive steps, each solver from the step before");
        for s in &self.scenes {
            println!(
                "{}: {} elements, {} dofs, {:.0} contacts ({} elements and {} constraints in the paper); whole step: {:.1} iterations; Delassus operator: {:.1} ms",
                s.name,
                s.elements,
                s.dofs,
                s.contacts,
                s.paper_elements,
                s.paper_constraints,
                s.step_iterations,
                s.delassus_milliseconds
            );
        }
        println!(
            "{:<8} {:<18} {:>8} {:>7} {:>7} {:>12} {:>9} {:>7} {:>9} {:>7} {:>10}",
            "scene",
            "solver",
            "mean",
            "median",
            "worst",
            "paper",
            "time",
            "solved",
            "error",
            "B/dof",
            "B/contact"
        );
        for r in &self.rows {
            let problems = self.scenes.iter().find(|s| s.name == r.scene);
            let paper = match r.paper {
                Some([mean, median]) => format!("{mean:.0} ({median:.0})"),
                None => or_dash(None, 0),
            };
            println!(
                "{:<8} {:<18} {:>8.1} {:>7} {:>7} {:>12} {:>6.1} ms {:>3}/{:<3} {:>9.1e} {:>7.0} {:>10.0}",
                r.scene,
                r.solver,
                r.mean,
                r.median,
                r.worst,
                paper,
                r.milliseconds,
                r.converged,
                problems.map_or(0, |s| s.problems),
                r.error,
                r.bytes_per_dof,
                r.bytes_per_contact
            );
        }
    }
}
