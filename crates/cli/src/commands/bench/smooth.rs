//! `stiction bench smooth`: the direct and the iterative solver of method `smooth` on the ball of
//! [larionov, Table II], at three resolutions, and what contact between bodies that deform costs.

use serde::Serialize;
use stiction_record::{peak_memory, processor_time, reset_peak_memory};
use stiction_sim::Simulation;

use super::{Failure, or_dash, simulation};

/// Steps of each run: all of the plate's path.
const STEPS: usize = 20;
/// The time step [s]; the paper's is 0.001 s.
const STEP: &str = "time.step=0.05";

/// A thin ball under its weight, and plates that close to 0.6 of it: pressed as far as in the scene, balls of
/// these resolutions fold in steps of this length.
const BALL: [&str; 3] = [
    "gravity=[0,0,-9.81]",
    "body.ball.shape.thickness=0.05",
    "obstacle.plate.motion.translate.values=[[0,0,0],[0,0,-0.4]]",
];

/// A resolution of the ball.
struct Size {
    name: &'static str,
    frequency: u32,
    layers: u32,
}

/// 60 · frequency² · layers tetrahedra.
const SIZES: [Size; 3] = [
    Size {
        name: "1k",
        frequency: 4,
        layers: 1,
    },
    Size {
        name: "55k",
        frequency: 21,
        layers: 2,
    },
    Size {
        name: "160k",
        frequency: 30,
        layers: 3,
    },
];

/// κ_v [1/atm] of air and of the paper's water.
const COMPRESSIONS: [&str; 2] = ["1", "0.01"];

/// One solver on one ball.
#[derive(Debug, Serialize)]
pub struct Row {
    size: &'static str,
    elements: u32,
    dofs: usize,
    /// κ_v [1/atm].
    compression: &'static str,
    solver: &'static str,
    /// Time of all processors together, mean of all steps [s].
    core_seconds_per_step: f64,
    /// Newton iterations per step.
    iterations: f64,
    /// Peak memory of the run above that before it [bytes]; zero where the system
    /// does not tell.
    memory: u64,
    /// Lost part of the volume inside.
    volume_loss: f64,
    /// Time and memory over those of the direct solver on the same ball.
    time_ratio: Option<f64>,
    memory_ratio: Option<f64>,
    /// Largest distance from the direct solver's end positions [m].
    apart: Option<f64>,
    /// Factor by which less volume is lost than with κ_v = 1/atm by the same solver.
    kept: Option<f64>,
}

/// A scene of method `smooth` whose time goes into contact between bodies that deform.
#[derive(Debug, Serialize)]
pub struct ContactRow {
    scene: &'static str,
    solver: &'static str,
    contacts: f64,
    core_seconds_per_step: f64,
    iterations: f64,
}

#[derive(Debug, Serialize)]
pub struct SmoothTables {
    ball: Vec<Row>,
    contact: Vec<ContactRow>,
}

/// Which rows are measured.
pub struct Which {
    sizes: Vec<&'static Size>,
    compressions: Vec<&'static str>,
}

impl Which {
    /// All, or one ball or filling of them; the largest ball only on request: its
    /// factorisation takes gigabytes.
    pub fn new(
        large: bool,
        ball: Option<String>,
        filling: Option<String>,
    ) -> Result<Self, Failure> {
        let unknown = |option: &str, value: &str, known: &[&str]| {
            Failure::Input(miette::miette!(
                help = format!("one of {}", known.join(", ")),
                "--{option} {value}: there is no such value"
            ))
        };
        let sizes = match ball {
            None => SIZES.iter().take(if large { 3 } else { 2 }).collect(),
            Some(name) => {
                let size = SIZES.iter().find(|s| s.name == name);
                vec![size.ok_or_else(|| unknown("ball", &name, &SIZES.each_ref().map(|s| s.name)))?]
            }
        };
        let compressions = match filling {
            None => COMPRESSIONS.to_vec(),
            Some(name) => {
                let known = COMPRESSIONS.iter().find(|c| **c == name);
                vec![*known.ok_or_else(|| unknown("filling", &name, &COMPRESSIONS))?]
            }
        };
        Ok(Self {
            sizes,
            compressions,
        })
    }

    fn all(&self) -> bool {
        self.sizes.len() > 1 && self.compressions.len() > 1
    }
}

/// The requested tables.
pub fn run(which: &Which) -> Result<SmoothTables, Failure> {
    let mut ball = Vec::new();
    eprintln!("{}", Row::HEAD);
    for size in &which.sizes {
        for &compression in &which.compressions {
            let mut direct: Option<(f64, u64, Simulation)> = None;
            for solver in ["direct", "iterative"] {
                let (mut row, sim) = measure(size, compression, solver)?;
                if let Some((seconds, memory, other)) = &direct {
                    row.time_ratio = Some(row.core_seconds_per_step / seconds);
                    row.memory_ratio = (*memory > 0).then(|| row.memory as f64 / *memory as f64);
                    let pairs = sim.state().x.iter().zip(&other.state().x);
                    let apart = pairs.map(|(a, b)| (a - b).norm()).fold(0.0, f64::max);
                    row.apart = Some(apart);
                } else {
                    direct = Some((row.core_seconds_per_step, row.memory, sim));
                }
                let air = ball.iter().find(|r: &&Row| {
                    (r.size, r.solver, r.compression) == (size.name, solver, COMPRESSIONS[0])
                });
                row.kept = air.map(|air| air.volume_loss / row.volume_loss);
                // The large rows take minutes: each is shown when it is there.
                eprintln!("{}", row.line());
                ball.push(row);
            }
        }
    }
    let mut contact = Vec::new();
    let scenes = [("tube-bend", 3), ("bowl-grasp", 20)];
    for (scene, steps) in scenes.into_iter().filter(|_| which.all()) {
        for solver in ["direct", "iterative"] {
            let mut sim = simulation(scene, &[format!("method.solver={solver}")])?;
            let (mut contacts, mut iterations) = (0, 0);
            let start = processor_time();
            for _ in 0..steps {
                let report = sim.step().map_err(Failure::run)?;
                contacts += report.contacts;
                iterations += report.iterations;
            }
            let per_step = |sum: usize| sum as f64 / f64::from(steps);
            contact.push(ContactRow {
                scene,
                solver,
                contacts: per_step(contacts),
                core_seconds_per_step: (processor_time() - start) / f64::from(steps),
                iterations: per_step(iterations),
            });
        }
    }
    Ok(SmoothTables { ball, contact })
}

fn measure(
    size: &Size,
    compression: &'static str,
    solver: &'static str,
) -> Result<(Row, Simulation), Failure> {
    let before = reset_peak_memory();
    let mut overrides = BALL.map(str::to_owned).to_vec();
    overrides.extend([
        STEP.to_owned(),
        format!("body.ball.shape.frequency={}", size.frequency),
        format!("body.ball.shape.layers={}", size.layers),
        format!("volume.filling.compression_per_atm={compression}"),
        format!("method.solver={solver}"),
    ]);
    let mut sim = simulation("ball-squish", &overrides)?;
    let volume = |sim: &Simulation| {
        let volumes = sim.model().volumes.iter();
        volumes.map(|v| v.measure(&sim.state().x)).sum::<f64>()
    };
    let first = volume(&sim);
    let mut iterations = 0;
    let start = processor_time();
    for _ in 0..STEPS {
        iterations += sim.step().map_err(Failure::run)?.iterations;
    }
    let seconds = processor_time() - start;
    let row = Row {
        size: size.name,
        elements: 60 * size.frequency.pow(2) * size.layers,
        dofs: 3 * sim.model().blocks(),
        compression,
        solver,
        core_seconds_per_step: seconds / STEPS as f64,
        iterations: iterations as f64 / STEPS as f64,
        memory: before.map_or(0, |b| peak_memory().saturating_sub(b)),
        volume_loss: 1.0 - volume(&sim) / first,
        time_ratio: None,
        memory_ratio: None,
        apart: None,
        kept: None,
    };
    Ok((row, sim))
}

impl Row {
    const HEAD: &str = "elements  κ_v   solver     core s/step  newton  memory MB  volume loss  times less  time/direct  memory/direct  apart [m]";

    fn line(&self) -> String {
        format!(
            "{:<8}  {:<4}  {:<9}  {:>11.3}  {:>6.1}  {:>9.1}  {:>11.3e}  {:>10}  {:>11}  {:>13}  {}",
            self.size,
            self.compression,
            self.solver,
            self.core_seconds_per_step,
            self.iterations,
            self.memory as f64 / 1e6,
            self.volume_loss,
            or_dash(self.kept, 2),
            or_dash(self.time_ratio, 2),
            or_dash(self.memory_ratio, 2),
            self.apart.map_or("-".to_owned(), |x| format!("{x:.1e}")),
        )
    }
}

impl SmoothTables {
    pub fn print(&self) {
        println!("{}", Row::HEAD);
        for r in &self.ball {
            println!("{}", r.line());
        }
        println!("\nscene       solver     core s/step  newton  contacts");
        for r in &self.contact {
            println!(
                "{:<10}  {:<9}  {:>11.3}  {:>6.1}  {:>8.0}",
                r.scene, r.solver, r.core_seconds_per_step, r.iterations, r.contacts
            );
        }
    }
}
