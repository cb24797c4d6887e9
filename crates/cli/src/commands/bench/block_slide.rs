//! `stiction bench block-slide`: where a sliding block stops with four schemes, as [larionov, Fig. 4].

use std::{fmt::Write as _, path::Path};

use serde::Serialize;
use stiction_math::Vec3;
use stiction_record::plot::{Figure, Plot, Scale, Series};
use stiction_scene::{LoadOptions, SceneSource};

use super::Failure;

/// Position and time at which Coulomb's law stops it [m, s].
const EXACT: (f64, f64) = (0.769, 15.38);
/// It has stopped where it is slower than this [m/s].
const STOPPED: f64 = 1e-4;
/// Duration of the run [s]; the paper's limit.
const DURATION: f64 = 50.0;

/// A scheme: its name and its settings of `[method]`.
const SCHEMES: [(&str, &[&str]); 5] = [
    ("implicit", &[]),
    ("lagged", &["method.friction=lagged"]),
    (
        "implicit TR",
        &["method.integrator=trapezoidal", "method.startup=4"],
    ),
    (
        "lagged TR",
        &[
            "method.integrator=trapezoidal",
            "method.startup=4",
            "method.friction=lagged",
        ],
    ),
    // Forces of a barrier are rounded at some 1e-8 m/s.
    (
        "TR of IPC",
        &["method.integrator=trapezoidal-ipc", "method.tolerance=1e-7"],
    ),
];

/// Time that the picture shows [s].
const SHOWN: f64 = 20.0;

/// Time steps [s].
const STEPS: [f64; 3] = [0.1, 0.05, 0.01];

/// One scheme with one time step.
#[derive(Debug, Serialize)]
pub struct Row {
    scheme: &'static str,
    step: f64,
    /// Distance and time of the stop; none if it did not stop.
    stops: Option<(f64, f64)>,
    /// Position [m] and time [s] at the end.
    end: (f64, f64),
    /// Error that ended the run early.
    failure: Option<String>,
    /// Distance over time, a point every 0.1 s.
    #[serde(skip)]
    curve: Vec<(f64, f64)>,
}

pub fn run(out: Option<&Path>) -> Result<Vec<Row>, Failure> {
    let mut rows = Vec::new();
    for step in STEPS {
        for (scheme, settings) in SCHEMES {
            rows.push(slide(scheme, settings, step)?);
        }
    }
    if let Some(dir) = out {
        write(dir, &rows)?;
    }
    Ok(rows)
}

fn slide(scheme: &'static str, settings: &[&str], step: f64) -> Result<Row, Failure> {
    let mut overrides = vec![
        format!("time.step={step}"),
        format!("time.duration={DURATION}"),
    ];
    overrides.extend(settings.iter().map(|s| (*s).to_owned()));
    let options = LoadOptions {
        overrides,
        variant: Some("pressed".to_owned()),
        ..LoadOptions::default()
    };
    let source = SceneSource::from_argument("block-slide");
    let scene = stiction_scene::load(&source, &options).map_err(Failure::input)?;
    let (mut sim, ..) = scene.simulation().map_err(Failure::input)?;
    // The linear block of the only body.
    let start: Vec3 = sim.state().x[0];
    let mut row = Row {
        scheme,
        step,
        stops: None,
        end: (0.0, 0.0),
        failure: None,
        curve: vec![(0.0, 0.0)],
    };
    let every = (0.1 / step).round() as usize;
    let last = (DURATION / step).round() as usize;
    for k in 1..=last {
        if let Err(error) = sim.step() {
            row.failure = Some(error.to_string());
            break;
        }
        let time = k as f64 * step;
        let distance = (sim.state().x[0] - start).norm();
        row.end = (distance, time);
        if k % every == 0 {
            row.curve.push((time, distance));
        }
        if row.stops.is_none() && sim.state().v[0].norm() < STOPPED {
            row.stops = Some((distance, time));
        }
        // What has stopped stays; two seconds show it.
        if row.stops.is_some_and(|s| time > s.1 + 2.0) {
            break;
        }
    }
    Ok(row)
}

fn write(dir: &Path, rows: &[Row]) -> Result<(), Failure> {
    std::fs::create_dir_all(dir).map_err(Failure::run)?;
    let mut text = String::from("scheme,step,time,distance\n");
    for row in rows {
        for (time, distance) in &row.curve {
            let _ = writeln!(text, "{},{},{time},{distance}", row.scheme, row.step);
        }
    }
    std::fs::write(dir.join("block-slide.csv"), text).map_err(Failure::run)?;
    let distance = |(t, d): (f64, f64)| (t, d);
    let off = |(t, d): (f64, f64)| (t, 1e3 * (d - by_coulomb(t)));
    let mut plots: Vec<Plot> = Vec::new();
    for (of, (label, least, most)) in [
        (
            &distance as &dyn Fn((f64, f64)) -> (f64, f64),
            ("distance [m]", 0.0, 1.2),
        ),
        (&off, ("distance less Coulomb's law [mm]", -8.0, 8.0)),
    ] {
        for step in STEPS {
            let own = rows.iter().filter(|r| r.step == step);
            // Curves end where they leave the picture.
            let inside = |p: &(f64, f64)| p.0 <= SHOWN && (least..=most).contains(&p.1);
            let curve = |r: &Row| Series {
                name: r.scheme.to_owned(),
                points: r.curve.iter().map(|&p| of(p)).take_while(inside).collect(),
            };
            let law = (0..=200).map(|k| 0.005 * f64::from(k) * SHOWN);
            let law = Series {
                name: "Coulomb's law".to_owned(),
                points: law.map(|t| of((t, by_coulomb(t)))).collect(),
            };
            plots.push(Plot {
                title: format!("h = {step} s"),
                x_label: "time [s]".to_owned(),
                y_label: label.to_owned(),
                x_scale: Scale::Linear,
                y_scale: Scale::Linear,
                series: std::iter::once(law).chain(own.map(curve)).collect(),
                size: (460, 400),
            });
        }
    }
    let figure = Figure {
        plots,
        columns: STEPS.len(),
    };
    for ending in ["svg", "png"] {
        let path = dir.join("block-slide").with_extension(ending);
        figure.write(&path).map_err(Failure::run)?;
    }
    Ok(())
}

/// Distance by Coulomb's law at the time `t` [s] [m]: steady deceleration to rest.
fn by_coulomb(t: f64) -> f64 {
    let left = (1.0 - t / EXACT.1).max(0.0);
    EXACT.0 * (1.0 - left * left)
}

pub fn print(rows: &[Row]) {
    println!("scheme       h [s]  stops at [m]        [s]  error [%]  end [m]   at [s]");
    for r in rows {
        let (distance, time, error) = match r.stops {
            Some((distance, time)) => (
                format!("{distance:.4}"),
                format!("{time:.2}"),
                format!("{:+.2}", 100.0 * (distance / EXACT.0 - 1.0)),
            ),
            None => ("never".to_owned(), "-".to_owned(), "-".to_owned()),
        };
        println!(
            "{:<11}  {:<5}  {distance:>12}  {time:>9}  {error:>9}  {:>7.4}  {:>7.2}  {}",
            r.scheme,
            r.step,
            r.end.0,
            r.end.1,
            r.failure.as_deref().unwrap_or(""),
        );
    }
}
