//! `stiction bench ball-in-box`: the energy of a ball in a box with two rules of time integration, as [larionov, Fig. 6].

use std::{fmt::Write as _, path::Path};

use serde::Serialize;
use stiction_bodies::energy::kinetic_energy;
use stiction_record::plot::{Figure, Plot, Scale, Series};
use stiction_scene::{LoadOptions, SceneSource};

use super::Failure;

/// A rule: its name, and its settings in `[method]`.
const RULES: [(&str, &[&str]); 2] = [
    ("coupled TR", &[]),
    (
        "TR of IPC",
        &[
            "method.integrator=trapezoidal-ipc",
            "method.solver=descent",
            "method.max_iterations=500",
        ],
    ),
];

/// One rule.
#[derive(Debug, Serialize)]
pub struct EnergyRow {
    rule: &'static str,
    /// Energy at the start [J].
    start: f64,
    /// Energy at every second of time [J].
    seconds: Vec<f64>,
    /// Smallest and largest energy of all steps [J].
    range: (f64, f64),
    /// Error that ended the run early.
    failure: Option<String>,
    /// Energy over time, a point per step [s, J].
    #[serde(skip)]
    curve: Vec<(f64, f64)>,
}

/// Runs the variant `paper-step` with both rules; writes a plot and a table to `out`.
pub fn run(out: Option<&Path>) -> Result<Vec<EnergyRow>, Failure> {
    let mut rows = Vec::new();
    for (rule, settings) in RULES {
        rows.push(bounce(rule, settings)?);
    }
    if let Some(dir) = out {
        write(dir, &rows)?;
    }
    Ok(rows)
}

fn bounce(rule: &'static str, settings: &[&str]) -> Result<EnergyRow, Failure> {
    let options = LoadOptions {
        overrides: settings.iter().map(|s| (*s).to_owned()).collect(),
        variant: Some("paper-step".to_owned()),
        ..LoadOptions::default()
    };
    let source = SceneSource::from_argument("ball-in-box");
    let scene = stiction_scene::load(&source, &options).map_err(Failure::input)?;
    let (mut sim, plan) = scene.simulation().map_err(Failure::input)?;
    let steps = (plan.time.duration / plan.time.step).round() as usize;
    let every = (1.0 / plan.time.step).round() as usize;
    let bodies = &sim.model().bodies;
    let mut row = EnergyRow {
        rule,
        // Nothing is stretched yet.
        start: bodies.iter().map(|b| kinetic_energy(b, sim.state())).sum(),
        seconds: Vec::new(),
        range: (f64::INFINITY, 0.0),
        failure: None,
        curve: Vec::new(),
    };
    row.curve.push((0.0, row.start));
    for k in 1..=steps {
        let done = match sim.step() {
            Ok(report) => report.certificate,
            Err(error) => {
                row.failure = Some(error.to_string());
                break;
            }
        };
        let energy = done.kinetic + done.elastic + done.potential;
        row.curve.push((k as f64 * plan.time.step, energy));
        row.range = (row.range.0.min(energy), row.range.1.max(energy));
        if k % every == 0 {
            row.seconds.push(energy);
        }
    }
    Ok(row)
}

fn write(dir: &Path, rows: &[EnergyRow]) -> Result<(), Failure> {
    std::fs::create_dir_all(dir).map_err(Failure::run)?;
    let mut text = String::from("rule,time,energy\n");
    for row in rows {
        for (time, energy) in &row.curve {
            let _ = writeln!(text, "{},{time},{energy}", row.rule);
        }
    }
    std::fs::write(dir.join("ball-in-box.csv"), text).map_err(Failure::run)?;
    let plot = Plot {
        title: "Energy of a spinning ball in an elastic box, h = 10 ms".to_owned(),
        x_label: "time [s]".to_owned(),
        y_label: "energy [J]".to_owned(),
        x_scale: Scale::Linear,
        y_scale: Scale::Linear,
        series: rows
            .iter()
            .map(|r| Series {
                name: r.rule.to_owned(),
                points: r.curve.clone(),
            })
            .collect(),
        size: (620, 420),
    };
    let figure = Figure {
        plots: vec![plot],
        columns: 1,
    };
    for ending in ["svg", "png"] {
        let path = dir.join("ball-in-box").with_extension(ending);
        figure.write(&path).map_err(Failure::run)?;
    }
    Ok(())
}

/// Prints the energies [J].
pub fn print(rows: &[EnergyRow]) {
    println!("rule        start [J]  then after every second [J]");
    for r in rows {
        print!("{:<10}  {:>9.3}", r.rule, r.start);
        for energy in &r.seconds {
            print!("  {energy:.2}");
        }
        println!("  {}", r.failure.as_deref().unwrap_or(""));
    }
}
