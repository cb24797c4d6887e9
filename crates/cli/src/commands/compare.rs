//! `stiction compare`: one scene with several methods and settings.
//!
//! Every run is a process of its own, so that memory is its own and a run that fails is a row that
//! says why, whatever it died of.

use std::{
    io::Read,
    path::{Path, PathBuf},
    process::{Command, ExitCode, Stdio},
    str::FromStr,
};

use clap::Args;
use miette::miette;
use serde::Serialize;
use stiction_record::{Status, Summary, atomic};

use super::{
    Failure, SceneArgs,
    curves::{Recorded, figure},
    known_methods, own_folder,
    run::load,
    signals,
};

#[derive(Debug, Args)]
pub struct CompareArgs {
    /// A scene file, or the name of a built-in scene.
    scene: String,
    /// Variants to compare: methods `admm,smooth`, or one with settings `'admm: method.sweeps=5;
    /// time.step=0.005'`. An empty method is the scene's own: `': time.step=0.005'`. May be repeated.
    #[arg(long = "with", value_name = "METHOD[: KEY=VALUE; …]", required = true)]
    with: Vec<Contenders>,
    /// A variant of the scene, in all runs.
    #[arg(long, value_name = "NAME")]
    variant: Option<String>,
    /// Override any key of the scene in all runs. May be repeated.
    #[arg(long = "set", value_name = "KEY=VALUE")]
    overrides: Vec<String>,
    /// Threads of each run; all cores by default. Runs come one after another.
    #[arg(long)]
    threads: Option<usize>,
    /// Columns to plot, as for `stiction plot`.
    #[arg(long, value_delimiter = ',')]
    columns: Vec<String>,
    /// Folder of runs, table and plots; `out/compare-NAME` by default.
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Print one JSON document: a list of rows.
    #[arg(long)]
    json: bool,
}

/// A method and changes to the scene.
#[derive(Clone, Debug, PartialEq)]
struct Contender {
    label: String,
    /// None for the scene's own.
    method: Option<String>,
    settings: Vec<String>,
}

/// Contents of one `--with`.
#[derive(Clone, Debug, PartialEq)]
struct Contenders(Vec<Contender>);

impl FromStr for Contenders {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let word = |m: &str| m.chars().all(|c| c.is_ascii_alphanumeric() || c == '-');
        let Some((method, settings)) = text.split_once(':') else {
            let methods = text.split(',').map(str::trim).map(|method| {
                if method.is_empty() || !word(method) {
                    return Err(format!(
                        "`{method}` is not a method; settings come after a colon: 'METHOD: KEY=VALUE; KEY=VALUE'"
                    ));
                }
                Ok(Contender {
                    label: method.to_owned(),
                    method: Some(method.to_owned()),
                    settings: Vec::new(),
                })
            });
            return methods.collect::<Result<_, _>>().map(Self);
        };
        let method = method.trim();
        if !word(method) {
            return Err(format!("`{method}` before the colon is not a method"));
        }
        let settings: Vec<String> = split_settings(settings)
            .into_iter()
            .map(|s| s.trim().to_owned())
            .filter(|s| !s.is_empty())
            .collect();
        if let Some(bad) = settings.iter().find(|s| !s.contains('=')) {
            return Err(format!("`{bad}` is not of the form KEY=VALUE"));
        }
        let label = match (method, settings.join(", ")) {
            ("", all) => all,
            (method, all) if all.is_empty() => method.to_owned(),
            (method, all) => format!("{method}: {all}"),
        };
        Ok(Self(vec![Contender {
            label: if label.is_empty() {
                "scene".into()
            } else {
                label
            },
            method: (!method.is_empty()).then(|| method.to_owned()),
            settings,
        }]))
    }
}

/// At semicolons that are not in quotes.
fn split_settings(text: &str) -> Vec<String> {
    let mut parts = vec![String::new()];
    let mut quote = None;
    for c in text.chars() {
        match quote {
            None if c == ';' => {
                parts.push(String::new());
                continue;
            }
            None if c == '"' || c == '\'' => quote = Some(c),
            Some(q) if q == c => quote = None,
            _ => {}
        }
        if let Some(last) = parts.last_mut() {
            last.push(c);
        }
    }
    parts
}

impl Contender {
    /// Arguments of `stiction run`. The scene's parameters stay if they are for the same method.
    fn arguments(&self, scene: &str, own: &str, common: &[String]) -> Vec<String> {
        let mut args = vec!["run".to_owned(), scene.to_owned()];
        let mut set = |text: String| args.extend(["--set".to_owned(), text]);
        common.iter().cloned().for_each(&mut set);
        let other = self.method.as_deref().filter(|m| *m != own);
        let mut table = other.map(|m| format!("method={{name=\"{m}\""));
        for setting in &self.settings {
            match (&mut table, setting.strip_prefix("method.")) {
                (Some(table), Some(rest)) => {
                    table.push_str(", ");
                    table.push_str(rest);
                }
                _ => set(setting.clone()),
            }
        }
        if let Some(table) = table {
            set(format!("{table}}}"));
        }
        args
    }
}

/// Status of a run that a signal ended.
const INTERRUPTED: &str = "interrupted";

/// One line of the table.
#[derive(Debug, Serialize)]
struct Row {
    label: String,
    method: String,
    /// `done`, `failed`, `interrupted` or `refused`.
    status: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
    /// [s].
    wall: f64,
    steps: u64,
    contacts: f64,
    iterations: f64,
    iterations_max: f64,
    /// Worst over the steps [m/s].
    residual: f64,
    /// Mean over the steps [m/s].
    residual_mean: f64,
    /// Worst [m/s].
    creep: f64,
    /// Worst [m].
    penetration: f64,
    /// Worst [m/s].
    dynamics: f64,
    /// Of the run's own process [bytes].
    peak_memory: u64,
    checks: usize,
    checks_passed: usize,
    /// The run as a command.
    command: String,
}

pub fn main(args: CompareArgs) -> Result<ExitCode, Failure> {
    let common = SceneArgs {
        variant: args.variant.clone(),
        overrides: args.overrides.clone(),
        ..SceneArgs::default()
    };
    // Bad input is refused before anything is run.
    let contenders: Vec<&Contender> = args.with.iter().flat_map(|c| &c.0).collect();
    known_methods(contenders.iter().filter_map(|c| c.method.as_deref()))?;
    let plan = load(&args.scene, &common)?.plan;
    let made = [
        "compare.json",
        "compare.csv",
        "compare.png",
        "compare.svg",
        "run-1",
    ];
    let held = |dir: &&PathBuf| made.iter().any(|name| dir.join(name).exists());
    if let Some(dir) = args.out.as_ref().filter(held) {
        return Err(Failure::Input(miette!(
            help = "choose another --out",
            "{} already holds a comparison",
            dir.display()
        )));
    }
    let dir = own_folder(args.out.as_deref(), &format!("compare-{}", plan.name))?;
    let (mut rows, mut runs) = (Vec::new(), Vec::new());
    for (i, contender) in contenders.iter().enumerate() {
        if !args.json {
            eprintln!("{}/{} {}", i + 1, contenders.len(), contender.label);
        }
        let folder = dir.join(format!("run-{}", i + 1));
        let mut arguments = contender.arguments(&args.scene, plan.method.name(), &args.overrides);
        if let Some(variant) = &args.variant {
            arguments.extend(["--variant".to_owned(), variant.clone()]);
        }
        if let Some(threads) = args.threads {
            arguments.extend(["--threads".to_owned(), threads.to_string()]);
        }
        let row = run(&folder, &arguments, contender)?;
        if let Ok(recorded) = Recorded::read(&folder, &contender.label) {
            runs.push(recorded);
        }
        let interrupted = row.status == INTERRUPTED;
        rows.push(row);
        if interrupted || signals::stop() {
            break;
        }
    }
    for row in &mut rows {
        let own = runs.iter().find(|r| r.label == row.label);
        let values = own.map(|r| r.certificate("residual")).unwrap_or_default();
        row.residual_mean = values.iter().sum::<f64>() / values.len() as f64;
    }
    write(&dir, &rows, &runs, &args.columns)?;
    match args.json {
        true => println!(
            "{}",
            serde_json::to_string_pretty(&rows).map_err(Failure::run)?
        ),
        false => {
            print(&rows);
            println!("in {}", dir.display());
        }
    }
    let interrupted = signals::stop() || rows.iter().any(|r| r.status == INTERRUPTED);
    Ok(ExitCode::from(match interrupted {
        true => signals::INTERRUPTED,
        false => u8::from(rows.iter().any(|r| r.status != "done")),
    }))
}

fn run(folder: &Path, arguments: &[String], contender: &Contender) -> Result<Row, Failure> {
    let program = std::env::current_exe().map_err(Failure::run)?;
    let mut child = Command::new(program)
        .args(arguments)
        .arg("--out")
        .arg(folder)
        .args(["--quiet", "--overwrite", "--format", "none"])
        .env("NO_COLOR", "1")
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(Failure::run)?;
    // Read while it runs, so that a full pipe does not stop it.
    let said = child.stderr.take().map(|mut pipe| {
        std::thread::spawn(move || {
            let mut bytes = Vec::new();
            // What was said before an error is kept.
            let _ = pipe.read_to_end(&mut bytes);
            bytes
        })
    });
    let ended = signals::wait_for(&mut child, 2 * signals::GRACE).map_err(Failure::run)?;
    let said = said
        .and_then(|reader| reader.join().ok())
        .unwrap_or_default();
    let quoted = arguments
        .iter()
        .map(|a| match a.contains([' ', '"', '{', '[', ';']) {
            true => format!("'{a}'"),
            false => a.clone(),
        });
    let command = format!("stiction {}", quoted.collect::<Vec<_>>().join(" "));
    let said = plain(&String::from_utf8_lossy(&said));
    let read = Summary::read(&folder.join("summary.json"));
    let (status, summary) = match (read, ended.code()) {
        (_, Some(2)) | (Err(_), _) => ("refused", Summary::default()),
        (Ok(s), Some(code)) if code == i32::from(signals::INTERRUPTED) => (INTERRUPTED, s),
        (Ok(s), _) => match s.status {
            Status::Done => ("done", s),
            Status::Interrupted => (INTERRUPTED, s),
            Status::Failed | Status::Running => ("failed", s),
        },
    };
    let worst = |name: &str| summary.certificate.get(name).map_or(f64::NAN, |b| b.max);
    let error = summary.error.clone().or(Some(said));
    Ok(Row {
        label: contender.label.clone(),
        method: match status {
            "refused" => contender.method.clone().unwrap_or_default(),
            _ => summary.method.clone(),
        },
        status,
        error: error.filter(|_| status != "done"),
        wall: summary.wall,
        steps: summary.steps,
        contacts: summary.contacts.mean,
        iterations: summary.iterations.mean,
        iterations_max: summary.iterations.max,
        residual: worst("residual"),
        residual_mean: f64::NAN,
        creep: worst("creep"),
        penetration: worst("penetration"),
        dynamics: worst("dynamics"),
        peak_memory: summary.peak_memory,
        checks: summary.checks.len(),
        checks_passed: summary.checks.iter().filter(|c| c.passed).count(),
        command,
    })
}

/// A message without the frame it is drawn in.
fn plain(said: &str) -> String {
    let kept = said.chars().map(|c| {
        if "│╰╭─┬×▶·".contains(c) {
            ' '
        } else {
            c
        }
    });
    let text: String = kept.collect();
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn write(dir: &Path, rows: &[Row], runs: &[Recorded], columns: &[String]) -> Result<(), Failure> {
    let json = serde_json::to_string_pretty(rows).map_err(Failure::run)?;
    atomic::write(&dir.join("compare.json"), json.as_bytes()).map_err(Failure::run)?;
    let mut csv = String::from(
        "label,method,status,wall,steps,contacts,iterations,iterations_max,residual,residual_mean,creep,penetration,dynamics,peak_memory,checks,checks_passed,error\n",
    );
    for r in rows {
        let quote = |t: &str| format!("\"{}\"", t.replace('"', "\"\""));
        csv.push_str(&format!(
            "{},{},{},{:?},{},{:?},{:?},{:?},{:?},{:?},{:?},{:?},{:?},{},{},{},{}\n",
            quote(&r.label),
            r.method,
            r.status,
            r.wall,
            r.steps,
            r.contacts,
            r.iterations,
            r.iterations_max,
            r.residual,
            r.residual_mean,
            r.creep,
            r.penetration,
            r.dynamics,
            r.peak_memory,
            r.checks,
            r.checks_passed,
            quote(r.error.as_deref().unwrap_or("")),
        ));
    }
    atomic::write(&dir.join("compare.csv"), csv.as_bytes()).map_err(Failure::run)?;
    if runs.is_empty() {
        return Ok(());
    }
    let figure = figure(runs, columns).map_err(|e| Failure::Input(miette!("{e}")))?;
    for name in ["compare.png", "compare.svg"] {
        figure.write(&dir.join(name)).map_err(Failure::run)?;
    }
    Ok(())
}

fn print(rows: &[Row]) {
    let width = rows
        .iter()
        .map(|r| r.label.chars().count())
        .max()
        .unwrap_or(0)
        .max(5);
    println!(
        "{:width$} {:>9} {:>11} {:>9} {:>9} {:>9} {:>9} {:>11} {:>7} {:>7}",
        "run",
        "wall [s]",
        "iterations",
        "residual",
        "  (mean)",
        "creep",
        "momentum",
        "penetration",
        "memory",
        "checks"
    );
    println!(
        "{:width$} {:>9} {:>11} {:>9} {:>9} {:>9} {:>9} {:>11} {:>7} {:>7}",
        "", "", "mean (max)", "[m/s]", "[m/s]", "[m/s]", "[m/s]", "[m]", "[MB]", "passed"
    );
    for r in rows {
        if r.status == "refused" {
            println!(
                "{:width$} refused: {}",
                r.label,
                r.error.as_deref().unwrap_or("")
            );
            continue;
        }
        let iterations = format!("{:.1} ({:.0})", r.iterations, r.iterations_max);
        println!(
            "{:width$} {:>9.2} {iterations:>11} {:>9.1e} {:>9.1e} {:>9.1e} {:>9.1e} {:>11.1e} {:>7.0} {:>7}",
            r.label,
            r.wall,
            r.residual,
            r.residual_mean,
            r.creep,
            r.dynamics,
            r.penetration,
            r.peak_memory as f64 / 1e6,
            format!("{}/{}", r.checks_passed, r.checks),
        );
        if let Some(error) = &r.error {
            println!(
                "{:width$} {} after {} steps: {error}",
                "", r.status, r.steps
            );
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn read(text: &str) -> Vec<Contender> {
        text.parse::<Contenders>().unwrap().0
    }

    #[test]
    fn methods_and_settings_are_distinguished() {
        let both = read("admm, smooth");
        assert_eq!(both.len(), 2);
        assert_eq!(both[1].label, "smooth");
        let one = &read("smooth: method.epsilon=1e-5; time.step=0.005")[0];
        assert_eq!(one.method.as_deref(), Some("smooth"));
        assert_eq!(one.settings, ["method.epsilon=1e-5", "time.step=0.005"]);
        assert_eq!(read(": a=\"x;y\"")[0].settings, ["a=\"x;y\""]);
        for bad in ["", "admm,", "time.step=1", "a b: x=1", "admm: x"] {
            assert!(bad.parse::<Contenders>().is_err(), "{bad}");
        }
    }

    #[test]
    fn settings_of_another_method_make_a_table_of_their_own() {
        let one = &read("smooth: method.epsilon=1e-5; time.step=0.005; method.kappa=10")[0];
        let other = one.arguments("slope", "admm", &["a=1".to_owned()]);
        let table = "method={name=\"smooth\", epsilon=1e-5, kappa=10}";
        assert_eq!(
            other,
            [
                "run",
                "slope",
                "--set",
                "a=1",
                "--set",
                "time.step=0.005",
                "--set",
                table
            ]
        );
        let own = one.arguments("slope", "smooth", &[]);
        assert!(own.contains(&"method.epsilon=1e-5".to_owned()), "{own:?}");
    }
}
