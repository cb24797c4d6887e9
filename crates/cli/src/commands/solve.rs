//! `stiction solve`: stored friction problems, with any solver.

use std::{
    path::{Path, PathBuf},
    process::ExitCode,
    time::Instant,
};

use clap::{
    Args,
    builder::{PossibleValue, PossibleValuesParser},
};
use miette::miette;
use serde::Serialize;
use stiction_contact::{
    Certificate, CertifyConfig, certify,
    file::StoredProblem,
    solver::{Solution, Target, TaskStart, solve_alone},
};
use stiction_math::Vec3;
use stiction_record::{
    Table, file_stems,
    plot::{Plot, Scale, Series},
    problems::{read_problem, write_problem},
};
use stiction_solvers::{SOLVERS, SolverEntry};

use super::{Failure, with_threads};

#[derive(Debug, Args)]
pub struct SolveArgs {
    /// Problem files: our own, FCLIB's HDF5 or Siconos' text.
    #[arg(required = true)]
    files: Vec<PathBuf>,
    /// Which solver; `all` takes one after another.
    #[arg(long, default_value = "admm", value_parser = solver_names())]
    solver: String,
    /// Solved when the certificate's `residual` and `linear` are below this [m/s].
    #[arg(long, default_value_t = 1e-8)]
    tolerance: f64,
    /// Iterations before giving up.
    #[arg(long, default_value_t = 5000)]
    max_iterations: usize,
    /// Start from the guess in the file.
    #[arg(long)]
    warm: bool,
    /// Where to write the curves of error over time, as CSV, SVG and PNG.
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Write the problems to that folder as FCLIB's HDF5 files, too.
    #[arg(long, requires = "out")]
    fclib: bool,
    /// Threads to use; all cores by default.
    #[arg(long)]
    threads: Option<usize>,
    /// Print one JSON document: a list of results.
    #[arg(long)]
    json: bool,
}

/// The names of the solvers, with what they are.
fn solver_names() -> PossibleValuesParser {
    let one = |s: &SolverEntry| PossibleValue::new(s.name).help(s.about);
    let all = PossibleValue::new("all").help("one after another");
    SOLVERS
        .iter()
        .map(one)
        .chain([all])
        .collect::<Vec<_>>()
        .into()
}

/// What a solver made of a problem.
#[derive(Debug, Serialize)]
struct Outcome {
    file: String,
    origin: String,
    blocks: usize,
    contacts: usize,
    solver: &'static str,
    /// Whether the certificate is below the tolerance.
    solved: bool,
    iterations: usize,
    /// Of the one solve that counts [s].
    seconds: f64,
    residual: f64,
    linear: f64,
    cone: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
    /// Time [s], iterations and error [m/s] on the way.
    #[serde(skip)]
    curve: Vec<(f64, usize, f64)>,
}

/// An answer, or why there is none.
type Answer = Result<(Vec<Vec3>, Vec<Vec3>, usize), String>;

pub fn main(args: SolveArgs) -> Result<ExitCode, Failure> {
    with_threads(args.threads, || solve(&args))
}

fn solve(args: &SolveArgs) -> Result<ExitCode, Failure> {
    if !(args.tolerance.is_finite() && args.tolerance > 0.0) {
        return Err(Failure::Input(miette!(
            "--tolerance {}: a velocity above zero makes sense",
            args.tolerance
        )));
    }
    // All files are read first: bad input is refused before anything is done.
    let mut problems = Vec::new();
    for path in &args.files {
        let read = read_problem(path).map_err(|e| Failure::Input(miette!("{e}")))?;
        problems.push((path, read));
    }
    let chosen = |s: &&SolverEntry| args.solver == "all" || args.solver == s.name;
    let solvers: Vec<&SolverEntry> = SOLVERS.iter().filter(chosen).collect();
    let mut outcomes = Vec::new();
    for (path, stored) in &problems {
        for solver in &solvers {
            let outcome = one(path, stored, solver, args)?;
            if !args.json {
                if outcomes.is_empty() {
                    println!("{}", heading());
                }
                println!("{}", line(&outcome));
            }
            outcomes.push(outcome);
        }
    }
    if let Some(dir) = args.out.as_ref().filter(|_| args.fclib) {
        stiction_record::make_folder(dir).map_err(Failure::run)?;
        let stems = stems(problems.iter().map(|(path, _)| stem(path)));
        for ((_, stored), stem) in problems.iter().zip(stems) {
            let path = dir.join(format!("{stem}.hdf5"));
            write_problem(&path, stored).map_err(Failure::run)?;
        }
    }
    if let Some(dir) = &args.out {
        curves(dir, &outcomes).map_err(Failure::run)?;
    }
    if args.json {
        let text = serde_json::to_string_pretty(&outcomes).map_err(Failure::run)?;
        println!("{text}");
    }
    let failed = outcomes.iter().any(|o| !o.solved);
    Ok(ExitCode::from(u8::from(failed)))
}

fn one(
    path: &Path,
    stored: &StoredProblem,
    solver: &SolverEntry,
    args: &SolveArgs,
) -> Result<Outcome, Failure> {
    let problem = &stored.problem;
    let begin = Instant::now();
    let answer = run(stored, solver, args, args.max_iterations);
    let seconds = begin.elapsed().as_secs_f64();
    let judge = |v: &[Vec3], r: &[Vec3]| {
        certify(problem, v, r, &CertifyConfig::default()).map_err(Failure::run)
    };
    let mut outcome = Outcome {
        file: path.display().to_string(),
        origin: stored.origin.clone(),
        blocks: problem.blocks(),
        contacts: problem.contacts.len(),
        solver: solver.name,
        solved: false,
        iterations: 0,
        seconds,
        residual: f64::INFINITY,
        linear: f64::INFINITY,
        cone: f64::INFINITY,
        error: None,
        curve: Vec::new(),
    };
    match answer {
        Ok((v, r, iterations)) => {
            let c: Certificate = judge(&v, &r)?;
            outcome.solved = c.solution_error() <= args.tolerance;
            (outcome.residual, outcome.linear, outcome.cone) = (c.residual, c.linear, c.cone);
            outcome.iterations = iterations;
        }
        Err(error) => outcome.error = Some(error),
    }
    if args.out.is_some() {
        // The same solve again with fewer iterations, so that watching costs the solver nothing
        // and the certificate is the judge of every point.
        let mut limit = 1;
        while limit <= outcome.iterations.max(1) {
            let begin = Instant::now();
            if let Ok((v, r, iterations)) = run(stored, solver, args, limit) {
                let c = judge(&v, &r)?;
                let error = c.solution_error();
                // More iterations take longer; if not, the machine was busy with something else.
                let before = outcome.curve.last().map_or(0.0, |p| p.0);
                let point = (begin.elapsed().as_secs_f64().max(before), iterations, error);
                outcome.curve.push(point);
            }
            limit = (limit + 1).max(limit * 5 / 4);
        }
        let error = outcome.residual.max(outcome.linear);
        outcome.curve.push((seconds, outcome.iterations, error));
    }
    Ok(outcome)
}

/// Solves with at most `limit` iterations; what was reached then is an answer, too.
fn run(stored: &StoredProblem, solver: &SolverEntry, args: &SolveArgs, limit: usize) -> Answer {
    let given = |x: &Option<Vec<Vec3>>| x.clone().filter(|_| args.warm).unwrap_or_default();
    let mut solution = Solution::new(given(&stored.v), given(&stored.r));
    let start = match solution.v.is_empty() {
        true => TaskStart::Configured,
        false => TaskStart::Given,
    };
    let target = Target {
        error: args.tolerance,
        max_iterations: limit,
    };
    let (mut solver, mut problem) = ((solver.make)(), stored.problem.clone());
    let report = solve_alone(
        &mut *solver,
        &mut problem,
        &mut solution,
        start,
        Some(target),
    )
    .map_err(|e| e.to_string())?;
    Ok((solution.v, solution.r, report.iterations))
}

fn heading() -> String {
    format!(
        "{:<28} {:>7} {:>8} {:<9} {:>6} {:>10} {:>9} {:>9} {:>9}",
        "problem",
        "blocks",
        "contacts",
        "solver",
        "solved",
        "iterations",
        "seconds",
        "residual",
        "linear"
    )
}

fn line(o: &Outcome) -> String {
    let name = Path::new(&o.file).file_name().unwrap_or_default();
    let text = format!(
        "{:<28} {:>7} {:>8} {:<9} {:>6} {:>10} {:>9.4} {:>9.1e} {:>9.1e}",
        name.to_string_lossy(),
        o.blocks,
        o.contacts,
        o.solver,
        if o.solved { "yes" } else { "no" },
        o.iterations,
        o.seconds,
        o.residual,
        o.linear
    );
    match &o.error {
        Some(error) => format!("{text}  {error}"),
        None => text,
    }
}

/// The name of a file without its ending.
fn stem(file: impl AsRef<Path>) -> String {
    let stem = file.as_ref().file_stem().unwrap_or_default();
    stem.to_string_lossy().into_owned()
}

/// Stems of output files, each once: files from several folders may have the same name.
fn stems(names: impl Iterator<Item = String>) -> Vec<String> {
    let names: Vec<String> = names.collect();
    file_stems(names.iter().map(String::as_str))
}

/// One table and one plot per problem, a curve per solver.
fn curves(dir: &Path, outcomes: &[Outcome]) -> Result<(), stiction_record::RecordError> {
    stiction_record::make_folder(dir)?;
    let groups = || outcomes.chunk_by(|a, b| a.file == b.file);
    let stems = stems(groups().map(|all| stem(&all[0].file)));
    for (all, stem) in groups().zip(stems) {
        for o in all {
            let path = dir.join(format!("{stem}-{}.csv", o.solver));
            let mut table = Table::create(&path, &["error"])?;
            for (seconds, iterations, error) in &o.curve {
                table.numbers(*iterations as u64, *seconds, &[*error])?;
            }
            table.sync()?;
        }
        let series = all.iter().map(|o| Series {
            name: o.solver.to_owned(),
            points: o.curve.iter().map(|p| (p.0, p.2)).collect(),
        });
        let plot = Plot {
            title: stem.clone(),
            x_label: "time [s]".into(),
            y_label: "certificate: residual or linear [m/s]".into(),
            x_scale: Scale::Logarithmic,
            y_scale: Scale::Logarithmic,
            series: series.collect(),
            ..Plot::default()
        };
        plot.write(&dir.join(format!("{stem}.svg")))?;
        plot.write(&dir.join(format!("{stem}.png")))?;
    }
    Ok(())
}
