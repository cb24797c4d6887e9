//! `stiction solve`: stored friction problems, with any solver.

mod answer;
mod case;

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
use stiction_contact::solver::Target;
use stiction_record::{
    Table, file_stems,
    plot::{Plot, Scale, Series},
    problems::write_exchange,
};
use stiction_solvers::{SOLVERS, SolverEntry};

use super::{Failure, with_threads};
use answer::AnswerFormat;
use case::{CertifiedSolution, SolveCase};

#[derive(Debug, Args)]
pub struct SolveArgs {
    /// Problem files: our own, FCLIB's HDF5 or Siconos' text, local or global.
    #[arg(required = true)]
    files: Vec<PathBuf>,
    /// Which solver; `all` takes one after another.
    #[arg(long, default_value = "auto", value_parser = solver_names())]
    solver: String,
    /// Solved when the certificate's `residual` and `linear`, and the residual with velocities
    /// eliminated, are below this [m/s].
    #[arg(long, default_value_t = 1e-8)]
    tolerance: f64,
    /// Iterations before giving up.
    #[arg(long, default_value_t = 5000)]
    max_iterations: usize,
    /// Start from the guess in the file.
    #[arg(long)]
    warm: bool,
    /// A file for v, u, r and the certificate: FILE.json, FILE.csv or, with the problem, FILE.hdf5
    /// (FCLIB). Or a folder for the curves of error over time, as CSV, SVG and PNG.
    #[arg(short, long, value_name = "FILE|DIR")]
    out: Option<PathBuf>,
    /// Write the problems with their answers to that folder as FCLIB's HDF5 files, too.
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

/// Result of a solver for a problem.
#[derive(Debug, Serialize)]
struct Outcome {
    file: String,
    origin: String,
    blocks: usize,
    contacts: usize,
    solver: &'static str,
    /// Whether `residual`, `linear` and `eliminated` are below the tolerance.
    solved: bool,
    iterations: usize,
    factorisations: usize,
    /// Of the one solve that counts [s].
    seconds: f64,
    residual: f64,
    linear: f64,
    /// `residual` with velocities eliminated, v* = A⁻¹ (f + Bᵀ r) [m/s].
    eliminated: f64,
    cone: f64,
    slip_angle: f64,
    creep: f64,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    warnings: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
    /// Time [s], iterations and error [m/s] during the solve.
    #[serde(skip)]
    curve: Vec<(f64, usize, f64)>,
}

impl Outcome {
    /// The fields that judge the answer, by name.
    fn certificate(&self) -> [(&'static str, f64); 6] {
        [
            ("residual", self.residual),
            ("linear", self.linear),
            ("eliminated", self.eliminated),
            ("cone", self.cone),
            ("slip_angle", self.slip_angle),
            ("creep", self.creep),
        ]
    }
}

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
    let chosen = |s: &&SolverEntry| match args.solver.as_str() {
        // Which is all of the others in turn.
        "all" => s.name != "auto",
        name => s.name == name,
    };
    let solvers: Vec<&SolverEntry> = SOLVERS.iter().filter(chosen).collect();
    let answer_file = args
        .out
        .as_deref()
        .and_then(|path| Some((path, AnswerFormat::of(path)?)));
    if answer_file.is_some() && (args.files.len() * solvers.len() != 1 || args.fclib) {
        return Err(Failure::Input(miette!(
            "--out with a file takes one problem, one solver and no --fclib; several results go to a folder"
        )));
    }
    // All files are read first: bad input is refused before anything is done.
    let mut cases = Vec::new();
    for path in &args.files {
        let case = SolveCase::read(path.clone())?;
        for warning in &case.warnings {
            eprintln!("warning: {}: {warning}", path.display());
        }
        cases.push(case);
    }
    let folder = args.out.as_ref().filter(|_| answer_file.is_none());
    let mut outcomes = Vec::new();
    let mut answers = Vec::new();
    for case in &cases {
        let mut best: Option<CertifiedSolution> = None;
        for solver in &solvers {
            let (outcome, answer) = one(case, solver, args, folder.is_some())?;
            if !args.json {
                if outcomes.is_empty() {
                    println!("{}", heading());
                }
                println!("{}", line(&outcome));
            }
            if let (Some((path, format)), Some(answer)) = (answer_file, &answer) {
                answer::write(path, format, case, &outcome, answer).map_err(Failure::run)?;
            }
            let error = |a: &Option<CertifiedSolution>| {
                a.as_ref().map_or(f64::INFINITY, CertifiedSolution::error)
            };
            if error(&answer) < error(&best) {
                best = answer;
            }
            outcomes.push(outcome);
        }
        answers.push(best);
    }
    if let Some(dir) = folder.filter(|_| args.fclib) {
        stiction_record::make_folder(dir).map_err(Failure::run)?;
        let stems = stems(cases.iter().map(|case| stem(&case.path)));
        for ((case, answer), stem) in cases.iter().zip(&answers).zip(stems) {
            let path = dir.join(format!("{stem}.hdf5"));
            let made = match answer {
                Some(answer) => case.exchange(answer),
                None => continue,
            };
            let exchange = made.map_err(|e| Failure::run(std::io::Error::other(e)))?;
            write_exchange(&path, &exchange).map_err(Failure::run)?;
        }
    }
    if let Some(dir) = folder {
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
    case: &SolveCase,
    solver: &SolverEntry,
    args: &SolveArgs,
    watched: bool,
) -> Result<(Outcome, Option<CertifiedSolution>), Failure> {
    let target = |limit: usize| Target {
        error: args.tolerance,
        max_iterations: limit,
    };
    let (blocks, contacts) = case.size();
    // A local problem is given velocities once, and not in the time of each solver.
    if blocks == 0 && !matches!(solver.name, "auto" | "local") {
        let _ = case.stored();
    }
    let begin = Instant::now();
    let solved = case.solve(solver, target(args.max_iterations), args.warm);
    let seconds = begin.elapsed().as_secs_f64();
    let mut outcome = Outcome {
        file: case.path.display().to_string(),
        origin: case.origin().to_owned(),
        blocks,
        contacts,
        solver: solver.name,
        solved: false,
        iterations: 0,
        factorisations: 0,
        seconds,
        residual: f64::INFINITY,
        linear: f64::INFINITY,
        eliminated: f64::INFINITY,
        cone: f64::INFINITY,
        slip_angle: f64::INFINITY,
        creep: f64::INFINITY,
        warnings: case.warnings.clone(),
        error: None,
        curve: Vec::new(),
    };
    let mut answer = None;
    match solved {
        Ok(solved) => {
            let found = case.judge(solved)?;
            let c = &found.certificate;
            outcome.solved = found.error() <= args.tolerance;
            (outcome.residual, outcome.linear) = (c.residual, c.linear);
            (outcome.cone, outcome.slip_angle, outcome.creep) = (c.cone, c.slip_angle, c.creep);
            outcome.eliminated = found.eliminated;
            outcome.iterations = found.iterations;
            outcome.factorisations = found.factorisations;
            answer = Some(found);
        }
        Err(error) => outcome.error = Some(error),
    }
    if watched {
        // The same solve again with fewer iterations, so that watching costs the solver nothing
        // and the certificate is the judge of every point.
        let mut limit = 1;
        while limit <= outcome.iterations.max(1) {
            let begin = Instant::now();
            if let Ok(solved) = case.solve(solver, target(limit), args.warm) {
                let seconds = begin.elapsed().as_secs_f64();
                let found = case.judge(solved)?;
                // More iterations take longer; if not, the machine was busy with something else, or
                // `auto` had its other solvers try.
                let before = outcome.curve.last().map_or((0.0, 0), |p| (p.0, p.1));
                let spent = (seconds.max(before.0), found.iterations.max(before.1));
                outcome.curve.push((spent.0, spent.1, found.error()));
            }
            limit = (limit + 1).max(limit * 5 / 4);
        }
        let error = answer
            .as_ref()
            .map_or(f64::INFINITY, CertifiedSolution::error);
        let before = outcome.curve.last().map_or((0.0, 0), |p| (p.0, p.1));
        let last = (
            seconds.max(before.0),
            outcome.iterations.max(before.1),
            error,
        );
        outcome.curve.push(last);
    }
    Ok((outcome, answer))
}

fn heading() -> String {
    format!(
        "{:<28} {:>7} {:>8} {:<9} {:>6} {:>10} {:>9} {:>9} {:>9} {:>10}",
        "problem",
        "blocks",
        "contacts",
        "solver",
        "solved",
        "iterations",
        "seconds",
        "residual",
        "linear",
        "eliminated"
    )
}

fn line(o: &Outcome) -> String {
    let name = Path::new(&o.file).file_name().unwrap_or_default();
    let text = format!(
        "{:<28} {:>7} {:>8} {:<9} {:>6} {:>10} {:>9.4} {:>9.1e} {:>9.1e} {:>10.1e}",
        name.to_string_lossy(),
        o.blocks,
        o.contacts,
        o.solver,
        if o.solved { "yes" } else { "no" },
        o.iterations,
        o.seconds,
        o.residual,
        o.linear,
        o.eliminated
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
            y_label: "certificate: the worst residual [m/s]".into(),
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
