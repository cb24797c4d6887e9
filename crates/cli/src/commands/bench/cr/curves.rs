//! Tables and pictures of `stiction bench cr --out`: the certificate over iterations [verschoor2019, Fig. 6], and
//! iterations over the time step and the stiffness [verschoor2019, Fig. 9].

use std::{fmt::Write as _, path::Path};

use stiction_contact::{
    CertifyConfig, certify,
    solver::{TaskStart, solve_alone},
};
use stiction_record::plot::{Plot, Scale, Series};
use stiction_solvers::cr::{Config, Cr, CrPreconditioner};

use super::{Captured, Failure, SCENES};

/// Certificates of iterates on one problem with the paper's rules and both of its preconditioners, and by default.
pub fn residuals(dir: &Path, scene: &str, captured: &Captured) -> Result<(), Failure> {
    let diagonal = Config {
        preconditioner: CrPreconditioner::Diagonal,
        ..Config::paper()
    };
    let forms = [
        ("full", Config::paper()),
        ("diagonal", diagonal),
        ("default", Config::accurate()),
    ];
    let mut series = Vec::new();
    for (name, config) in forms {
        let mut points = Vec::new();
        let mut limit = 1;
        loop {
            let (mut problem, mut solution) = (captured.problem.clone(), captured.start.clone());
            let limited = Config {
                max_iterations: limit,
                ..config
            };
            let solver = &mut Cr::new(limited);
            let start = TaskStart::Given;
            let solved = solve_alone(solver, &mut problem, &mut solution, start, None);
            let Ok(report) = solved else { break };
            let judged = certify(
                &problem,
                &solution.v,
                &solution.r,
                &CertifyConfig::default(),
            );
            let error = judged.map_err(Failure::run)?.solution_error();
            points.push((limit.min(report.iterations.max(1)) as f64, error));
            if report.converged || report.iterations < limit {
                break;
            }
            limit = (limit + 1).max(limit * 5 / 4);
        }
        series.push(Series {
            name: name.to_owned(),
            points,
        });
    }
    let stem = format!("residual-{}", scene.replace('*', "-stiff"));
    let axes = ["iterations", "certificate of the iterate [m/s]"];
    write(dir, &stem, &format!("One problem of {scene}"), axes, series)
}

/// Time steps [s] of the sweep, and stiffnesses [Pa], each half of the one before.
const TIME_STEPS: [f64; 4] = [0.0005, 0.001, 0.002, 0.004];
const STIFFNESSES: [f64; 5] = [5e6, 2.5e6, 1.25e6, 6.25e5, 3.125e5];

/// Time until which steps are counted [s].
const UNTIL: f64 = 0.12;

/// Iterations per step of method `cr` in the quick form of the first scene, by the paper's rules and by default.
pub fn sweeps(dir: &Path) -> Result<(), Failure> {
    let methods = [
        ("full", "method={name=\"cr\", tolerance=5e-6}"),
        ("default", "method={name=\"cr\", residual=1e-6}"),
    ];
    let sweeps: [(&str, &str, &[f64]); 2] = [
        ("time step [s]", "time.step", &TIME_STEPS),
        ("Young's modulus [Pa]", "material.ring.young", &STIFFNESSES),
    ];
    for (label, key, values) in sweeps {
        let mut series = Vec::new();
        for (name, method) in methods {
            let mut points = Vec::new();
            for &value in values {
                let variant = SCENES[0].variants[0];
                let overrides = [format!("{key}={value}"), method.to_owned()];
                let plan = super::super::plan(SCENES[0].scene, variant, &overrides)?;
                let mut sim = plan.simulation().map_err(Failure::input)?.0;
                let (mut iterations, mut steps) = (0, 0);
                while sim.state().time < UNTIL {
                    let report = sim.step().map_err(Failure::run)?;
                    iterations += report.iterations;
                    steps += 1;
                }
                points.push((value, iterations as f64 / f64::from(steps.max(1))));
            }
            series.push(Series {
                name: name.to_owned(),
                points,
            });
        }
        let stem = format!("iterations-{}", key.replace('.', "-"));
        let axes = [label, "iterations per step"];
        write(dir, &stem, "Rings, whole steps", axes, series)?;
    }
    Ok(())
}

fn write(
    dir: &Path,
    stem: &str,
    title: &str,
    [x, y]: [&str; 2],
    series: Vec<Series>,
) -> Result<(), Failure> {
    std::fs::create_dir_all(dir).map_err(Failure::run)?;
    let mut text = format!("series,{x},{y}\n");
    for s in &series {
        for (a, b) in &s.points {
            let _ = writeln!(text, "{},{a},{b}", s.name);
        }
    }
    std::fs::write(dir.join(stem).with_extension("csv"), text).map_err(Failure::run)?;
    let plot = Plot {
        title: title.to_owned(),
        x_label: x.to_owned(),
        y_label: y.to_owned(),
        x_scale: Scale::Logarithmic,
        y_scale: Scale::Logarithmic,
        series,
        ..Plot::default()
    };
    for ending in ["svg", "png"] {
        let path = dir.join(stem).with_extension(ending);
        plot.write(&path).map_err(Failure::run)?;
    }
    Ok(())
}
