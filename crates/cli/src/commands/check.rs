//! `stiction check`: scenes that test themselves.

use std::process::ExitCode;

use clap::Args;
use miette::miette;
use stiction_record::{CheckResult, RunFolder, Status, Summary};
use stiction_scene::{SceneSource, builtin, variants};

use super::{Failure, SceneArgs, job::Job, output::counted, run::load, signals, with_threads};

#[derive(Debug, Args)]
pub struct CheckArgs {
    /// Scene files or names. By default all built-in scenes with checks; with --variant, those that
    /// have the variant, and with `--variant quick` all of them: scenes without it are quick as they are.
    scenes: Vec<String>,
    #[command(flatten)]
    with: SceneArgs,
    /// Short for `--variant quick`.
    #[arg(long, conflicts_with = "variant")]
    quick: bool,
    /// Print one JSON document: a list of summaries.
    #[arg(long)]
    json: bool,
}

pub fn main(args: CheckArgs) -> Result<ExitCode, Failure> {
    with_threads(args.with.threads, || check(&args))
}

/// The variant that scenes have only where they need it: one without it is checked as it is.
const QUICK: &str = "quick";

/// The scenes to check.
fn names(args: &CheckArgs) -> Result<Vec<String>, Failure> {
    if !args.scenes.is_empty() {
        return Ok(args.scenes.clone());
    }
    let wanted = args.with.variant.as_ref().filter(|name| *name != QUICK);
    let names: Vec<String> = builtin::list()
        .iter()
        .filter(|s| wanted.is_none_or(|name| s.has_variant(name)))
        .map(|s| s.name.to_owned())
        .collect();
    match (names.is_empty(), wanted) {
        (true, Some(name)) => Err(Failure::Input(miette!(
            help = "`stiction scenes` lists the built-in scenes with their variants",
            "no built-in scene has a variant `{name}`"
        ))),
        _ => Ok(names),
    }
}

/// The arguments for one scene: with `--variant quick`, its variant of that name if it has one.
fn arguments(args: &CheckArgs, scene: &str) -> Result<SceneArgs, Failure> {
    let mut with = args.with.clone();
    if args.quick || with.variant.as_deref() == Some(QUICK) {
        let variants = variants(&SceneSource::from_argument(scene)).map_err(Failure::input)?;
        let found = variants.into_iter().find(|v| v.name == QUICK);
        if found.is_none() && !args.scenes.is_empty() {
            eprintln!("{scene} has no variant `{QUICK}`: it is checked as it is");
        }
        with.variant = found.map(|v| v.name);
    }
    Ok(with)
}

fn check(args: &CheckArgs) -> Result<ExitCode, Failure> {
    let names = names(args)?;
    let folder = tempfile::tempdir().map_err(Failure::run)?;
    let mut summaries: Vec<Summary> = Vec::new();
    signals::attend();
    let mut interrupted = false;
    for (i, name) in names.iter().enumerate() {
        let with = arguments(args, name)?;
        let scene = load(name, &with)?;
        if scene.plan.checks.is_empty() && args.scenes.is_empty() {
            continue;
        }
        let job = Job {
            contacts: false,
            exact: true,
            view: false,
            formats: Vec::new(),
            frames: None,
            resume: false,
            quiet: true,
            require: Vec::new(),
            dump: None,
        };
        let dir = folder.path().join(i.to_string());
        let dir = RunFolder::claim(&dir).map_err(Failure::run)?;
        let summary = match job.run(&dir, scene) {
            Ok(summary) => summary,
            // The failed run is a failed check, not the end of the others.
            Err(Failure::Run(report)) => {
                eprintln!("{report:?}");
                Summary {
                    scene: name.clone(),
                    variant: with.variant.clone(),
                    status: Status::Failed,
                    ..Summary::default()
                }
            }
            Err(input) => return Err(input),
        };
        if !args.json {
            let variant = summary.variant.as_ref();
            println!(
                "{} {}{} ({:.1} s)",
                if passed(&summary) { "pass" } else { "FAIL" },
                summary.scene,
                variant.map_or_else(String::new, |v| format!(" [{v}]")),
                summary.wall
            );
            summary.checks.iter().for_each(|c| println!("{}", line(c)));
        }
        interrupted = summary.status == Status::Interrupted;
        summaries.push(summary);
        if interrupted {
            break;
        }
    }
    let failed = summaries.iter().filter(|s| !passed(s)).count();
    if args.json {
        println!(
            "{}",
            serde_json::to_string_pretty(&summaries).map_err(Failure::run)?
        );
    } else {
        let checks: usize = summaries.iter().map(|s| s.checks.len()).sum();
        println!(
            "{}, {}, {} failed",
            counted(summaries.len(), "scene"),
            counted(checks, "check"),
            counted(failed, "scene")
        );
    }
    Ok(ExitCode::from(match interrupted {
        true => signals::INTERRUPTED,
        false => u8::from(failed > 0),
    }))
}

fn passed(summary: &Summary) -> bool {
    summary.status == Status::Done && summary.checks.iter().all(|c| c.passed)
}

/// One check as a line of a table.
pub fn line(check: &CheckResult) -> String {
    line_with(if check.passed { "ok" } else { "FAIL" }, check)
}

/// One check as a line that begins with this verdict.
pub fn line_with(verdict: &str, check: &CheckResult) -> String {
    let bound = match (check.min, check.max) {
        (Some(lo), Some(hi)) => format!("in [{}, {}]", number(lo), number(hi)),
        (Some(lo), None) => format!("at least {}", number(lo)),
        (None, Some(hi)) => format!("at most {}", number(hi)),
        (None, None) => "unbounded".to_owned(),
    };
    let when = match (check.from, check.to) {
        (Some(a), Some(b)) if a == b => format!("at {a} s"),
        (Some(a), Some(b)) => format!("from {a} to {b} s"),
        (Some(a), None) => format!("from {a} s on"),
        _ => "at the end".to_owned(),
    };
    let verdict = format!("  {verdict:4}");
    let value = match (check.value.is_nan(), &check.untested) {
        (true, Some(part)) => {
            return format!("{verdict} {}: {} {when}: {part}", check.name, check.of);
        }
        _ => number(check.value),
    };
    let untested = check.untested.as_ref();
    let untested = untested.map_or_else(String::new, |part| format!("; untested: {part}"));
    format!(
        "{verdict} {}: {} = {value} {when}, {bound}{untested}",
        check.name, check.of
    )
}

/// A number with up to eight significant digits, without trailing zeros; with a power of ten where that is shorter
/// to read.
fn number(x: f64) -> String {
    let size = x.abs();
    if x == 0.0 || !x.is_finite() {
        return format!("{x}");
    }
    if (1e-3..1e6).contains(&size) {
        let whole = size.log10().floor() as i32 + 1;
        let text = format!("{x:.*}", (8 - whole).max(0) as usize);
        return trimmed(&text).to_owned();
    }
    let text = format!("{x:.7e}");
    match text.split_once('e') {
        Some((digits, power)) => format!("{}e{power}", trimmed(digits)),
        None => text,
    }
}

/// Decimals without trailing zeros.
fn trimmed(digits: &str) -> &str {
    match digits.contains('.') {
        true => digits.trim_end_matches('0').trim_end_matches('.'),
        false => digits,
    }
}

#[cfg(test)]
mod tests {
    use super::number;

    #[test]
    fn numbers_are_short_and_keep_their_digits() {
        for (x, text) in [
            (0.0, "0"),
            (19.62, "19.62"),
            (1.511540684, "1.5115407"),
            (-0.0012345678912, "-0.0012345679"),
            (1e-9, "1e-9"),
            (3.962567458e-18, "3.9625675e-18"),
            (123456.0, "123456"),
            (2.5e6, "2.5e6"),
            (f64::INFINITY, "inf"),
        ] {
            assert_eq!(number(x), text);
        }
    }
}
