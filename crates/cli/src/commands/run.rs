//! `stiction run`: a scene goes in, a simulation comes out.

use std::{
    path::{Path, PathBuf},
    process::ExitCode,
};

use clap::Args;
use miette::miette;
use stiction_record::{
    CROSSINGS, CheckResult, FrameFormat, OVERLAPS, RecordError, RunFolder, Status, Summary,
    animation::Whole, write_overlaps,
};
use stiction_scene::{LoadOptions, OverlapPolicy, ProblemKind, Scene, SceneError, SceneSource};

use super::{
    Failure, SceneArgs, export, fresh_folders,
    job::Job,
    requirement::{self, Requirement},
    signals, view, with_threads,
};
use crate::replay::Replay;

/// The scene of `stiction run` without a scene.
pub const DEFAULT_SCENE: &str = "slope";

#[derive(Debug, Args)]
pub struct RunArgs {
    /// A scene file, or the name of a built-in scene.
    scene: Option<String>,
    #[command(flatten)]
    with: SceneArgs,
    /// Folder to write to. By default `out/NAME`, or `out/NAME-2` and so on if that holds a run that is neither
    /// resumed nor written over.
    #[arg(short, long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Stop after this many frames, whatever the scene's duration.
    #[arg(long)]
    frames: Option<u64>,
    /// Formats of frames in place of the scene's: vtu, obj, ply, or none; usd
    /// and gltf add a file of the whole run.
    #[arg(short, long, value_delimiter = ',')]
    format: Option<Vec<String>>,
    /// Test at every frame, by exact arithmetic, that no surfaces cross.
    #[arg(long)]
    exact: bool,
    /// Write every contact of every step to contacts.csv, and sums per pair to pairs.csv.
    #[arg(long)]
    contacts: bool,
    /// Stop at the first step whose certificate breaks a bound, e.g. `residual<1e-6` [m/s],
    /// `penetration<1e-4` [m], `creep<1e-9` [m/s]; exit 1. May be repeated.
    #[arg(long, value_name = "NAME<BOUND")]
    require: Vec<Requirement>,
    /// Write the friction problem of every N-th step to DIR/problems, e.g. `every=10`.
    #[arg(long, value_name = "every=N", value_parser = requirement::every)]
    dump_problems: Option<u64>,
    /// Show the run in the browser while it is computed, and afterwards until Ctrl-C.
    #[arg(long)]
    view: bool,
    /// Continue from the checkpoint in the output folder.
    #[arg(long)]
    resume: bool,
    /// Replace an earlier run in the output folder.
    #[arg(long, conflicts_with = "resume")]
    overwrite: bool,
    /// Print nothing but errors, failed checks and failed requirements.
    #[arg(short, long)]
    quiet: bool,
    /// Print the seconds of every stage and the scene's probes as well.
    #[arg(short, long, conflicts_with = "quiet")]
    verbose: bool,
    /// Print the summary as one JSON document on standard output.
    #[arg(long)]
    json: bool,
}

pub fn main(args: RunArgs) -> Result<ExitCode, Failure> {
    with_threads(args.with.threads, || run(&args))
}

fn run(args: &RunArgs) -> Result<ExitCode, Failure> {
    let name = args.scene.as_deref().unwrap_or(DEFAULT_SCENE);
    let quiet = args.quiet || args.json;
    let scene = match try_load(name, &args.with, None) {
        Ok(scene) => scene,
        Err(error) => {
            // The message names one pair; the file shows them all.
            if error
                .problems()
                .iter()
                .any(|p| p.kind() == ProblemKind::Overlap)
                && let Ok(scene) = try_load(name, &args.with, Some(OverlapPolicy::Ignore))
                && let Ok(folder) = claim(args, &scene)
                && !folder.has_run()
            {
                show_overlaps(&scene, &folder, quiet)?;
            }
            return Err(Failure::input(error));
        }
    };
    let (mut formats, wholes) = formats(args.format.as_deref(), &scene.plan.output.formats)?;
    if args.view {
        // Before hours of work, not after.
        view::find()?;
        if !formats.contains(&FrameFormat::Vtu) {
            formats.push(FrameFormat::Vtu);
        }
    }
    let folder = claim(args, &scene)?;
    if folder.has_run() && !args.resume && !args.overwrite {
        return Err(Failure::Input(miette!(
            help = "go on with --resume, start afresh with --overwrite, or choose another --out",
            "{} already holds a run",
            folder.path().display()
        )));
    }
    if !args.resume && scene.plan.contact.overlap == OverlapPolicy::Ignore {
        show_overlaps(&scene, &folder, quiet)?;
    }
    let job = Job {
        view: args.view,
        formats,
        contacts: args.contacts,
        exact: args.exact,
        frames: args.frames,
        resume: args.resume,
        quiet,
        require: args.require.clone(),
        dump: args.dump_problems,
    };
    signals::attend();
    let summary = job.run(&folder, scene)?;
    for whole in wholes {
        export::write_whole(&Replay::open(folder.path())?, folder.path(), whole, false)?;
    }
    if args.json {
        print!("{}", summary.to_json().map_err(Failure::run)?);
    } else if args.quiet {
        failures(&summary, args.frames.is_none());
    } else {
        report(&summary, folder.path(), args.verbose, args.frames.is_none());
    }
    Ok(ExitCode::from(match summary.status {
        Status::Interrupted => signals::INTERRUPTED,
        _ => u8::from(failed(&summary, args.frames.is_none())),
    }))
}

/// Whether a run did not do what was asked of it. One that was cut short by `--frames` has not come to
/// what the checks of its scene look at, so that these are not `judged`.
fn failed(summary: &Summary, judged: bool) -> bool {
    let broken = summary.requirements.iter().any(|r| !r.passed) || !is_certified(summary);
    let mut checks = summary
        .checks
        .iter()
        .filter(|c| judged || c.of == CROSSINGS);
    summary.status != Status::Done || broken || checks.any(|c| !c.passed)
}

/// Whether the certificate of every step is made of numbers.
fn is_certified(summary: &Summary) -> bool {
    let mut bounds = summary.certificate.0.iter().map(|(_, bound)| bound.max);
    bounds.all(f64::is_finite)
}

/// The folder of the run, for this process alone.
fn claim(args: &RunArgs, scene: &Scene) -> Result<RunFolder, Failure> {
    let refused = |error: RecordError| match error {
        RecordError::Io { .. } => Failure::run(error),
        _ => Failure::Input(miette!("{error}")),
    };
    let name = &scene.plan.name;
    // Only a run from the start, which leaves others alone, needs a folder of its own.
    let dir = match (&args.out, args.resume || args.overwrite) {
        (Some(dir), _) => dir.clone(),
        (None, true) => Path::new("out").join(name),
        (None, false) => {
            // Another process may take a folder in the same moment.
            for dir in fresh_folders(name) {
                match RunFolder::claim(&dir) {
                    Ok(folder) if !folder.has_run() => return Ok(folder),
                    Ok(_) | Err(RecordError::Busy { .. } | RecordError::Foreign { .. }) => {}
                    Err(error) => return Err(refused(error)),
                }
            }
            Path::new("out").join(name)
        }
    };
    RunFolder::claim(&dir).map_err(refused)
}

/// Loads a scene by file or built-in name.
pub fn load(name: &str, with: &SceneArgs) -> Result<Scene, Failure> {
    load_with(name, with, None)
}

/// Loads the scene with another policy for initial overlap than the scene's.
pub fn load_with(
    name: &str,
    with: &SceneArgs,
    overlap: Option<OverlapPolicy>,
) -> Result<Scene, Failure> {
    try_load(name, with, overlap).map_err(Failure::input)
}

fn try_load(
    name: &str,
    with: &SceneArgs,
    overlap: Option<OverlapPolicy>,
) -> Result<Scene, SceneError> {
    let source = SceneSource::from_argument(name);
    let options = LoadOptions {
        variant: with.variant.clone(),
        overrides: with.overrides.clone(),
        method: with.method.clone(),
        overlap,
        allowed: with.allowed.clone(),
        ..LoadOptions::default()
    };
    stiction_scene::load(&source, &options)
}

/// Writes what overlaps at the start to the output folder, and says so.
fn show_overlaps(scene: &Scene, folder: &RunFolder, quiet: bool) -> Result<(), Failure> {
    folder.remove(OVERLAPS).map_err(Failure::run)?;
    let found = scene.overlaps().map_err(Failure::run)?;
    if found.is_empty() {
        return Ok(());
    }
    let path = folder.path().join(OVERLAPS);
    write_overlaps(&path, &found).map_err(Failure::run)?;
    if !quiet {
        eprintln!(
            "{} pairs overlap at the start: see {}",
            found.len(),
            path.display()
        );
    }
    Ok(())
}

/// The formats of frames, and those of the whole run, which are made from frames as vtu.
fn formats(
    asked: Option<&[String]>,
    of_scene: &[String],
) -> Result<(Vec<FrameFormat>, Vec<Whole>), Failure> {
    let (mut found, mut wholes) = (Vec::new(), Vec::new());
    for name in asked.unwrap_or(of_scene) {
        let format = FrameFormat::ALL.iter().find(|(n, _)| n == name);
        let whole = Whole::ALL.iter().find(|(n, _)| n == name);
        match (format, whole) {
            (Some((_, format)), _) => found.push(*format),
            (None, Some((_, whole))) => wholes.push(*whole),
            (None, None) if name == "none" => {}
            (None, None) => {
                let frames = FrameFormat::ALL.iter().map(|(n, _)| *n);
                let known: Vec<&str> = frames.chain(Whole::ALL.iter().map(|(n, _)| *n)).collect();
                return Err(Failure::Input(miette!(
                    help = format!("known formats: {}, none", known.join(", ")),
                    "unknown format `{name}`"
                )));
            }
        }
    }
    if !wholes.is_empty() && !found.contains(&FrameFormat::Vtu) {
        found.push(FrameFormat::Vtu);
    }
    Ok((found, wholes))
}

/// Prints failures on standard error: all output of a quiet run.
fn failures(summary: &Summary, judged: bool) {
    if !is_certified(summary) {
        eprintln!("{NOT_A_NUMBER}");
    }
    let judged = |c: &&CheckResult| judged || c.of == CROSSINGS;
    let failed = summary.checks.iter().filter(judged).filter(|c| !c.passed);
    failed.for_each(|check| eprintln!("{}", super::check::line(check)));
    let failed = summary.requirements.iter().filter(|r| !r.passed);
    failed.for_each(|required| eprintln!("{}", requirement_line(required)));
}

/// The line about a certificate that overflowed.
const NOT_A_NUMBER: &str = "  FAIL the certificate of a step has a value that is not a number";

/// One requirement as a line.
fn requirement_line(required: &CheckResult) -> String {
    let found = match &required.untested {
        Some(reason) => format!("not tested, {reason}"),
        None => format!("worst of all steps {:.9e}", required.value),
    };
    let verdict = if required.passed { "  ok  " } else { "  FAIL" };
    format!("{verdict} --require {}: {found}", required.name)
}

/// The largest certificate bounds of steps that the solver did not solve to its tolerance, and whether the
/// scene's own checks accept them.
fn unconverged(summary: &Summary) -> String {
    let worst = |name: &str| summary.certificate.get(name).map_or(f64::NAN, |b| b.max);
    let bounded = ["residual", "linear", "eliminated"].map(|f| format!("certificate.{f}"));
    let of = |c: &&CheckResult| bounded.contains(&c.of);
    let bounds: Vec<&CheckResult> = summary.checks.iter().filter(of).collect();
    let matters = match (bounds.is_empty(), bounds.iter().all(|c| c.passed)) {
        (true, _) => {
            "no check of the scene bounds them; compare them with the velocities that matter, or \
             raise `method.max_iterations`"
        }
        (false, true) => "this meets the scene's checks",
        (false, false) => "this does not meet the scene's checks; raise `method.max_iterations`",
    };
    let eliminated = match summary.certificate.get("eliminated") {
        Some(bound) => format!(", with velocities eliminated {:.1e} m/s", bound.max),
        None => String::new(),
    };
    format!(
        "{} of {} steps ended above the solver's tolerance; over the run the residual is at most {:.1e} \
         m/s{eliminated}, of the linear problem {:.1e} m/s: {matters}",
        summary.unconverged_steps,
        summary.steps,
        worst("residual"),
        worst("linear")
    )
}

/// The closing words of a run.
/// Checks that a run cut short has not reached are not `judged`.
fn report(summary: &Summary, dir: &Path, verbose: bool, judged: bool) {
    let status = match summary.status {
        Status::Done => "done",
        Status::Interrupted => "interrupted",
        Status::Failed => "failed",
        Status::Running => "running",
    };
    let variant = summary.variant.as_ref();
    let variant = variant.map_or_else(String::new, |v| format!(" (variant {v})"));
    println!(
        "{status}: {}{variant} with {}, {} steps to t = {:.4} s in {:.1} s, {} frames, {} dofs, {:.0} MB",
        summary.scene,
        summary.method,
        summary.steps,
        summary.time,
        summary.wall,
        summary.frames,
        summary.dofs,
        summary.peak_memory as f64 / 1e6
    );
    println!(
        "iterations {:.1} mean, {:.0} max; contacts {:.0} mean, {:.0} max",
        summary.iterations.mean,
        summary.iterations.max,
        summary.contacts.mean,
        summary.contacts.max
    );
    if summary.unconverged_steps > 0 {
        println!("{}", unconverged(summary));
    }
    if summary.cut_steps > 0 {
        println!(
            "{} of {} steps were substepped",
            summary.cut_steps, summary.steps
        );
    }
    if let Some(failsafe) = &summary.failsafe {
        println!(
            "failsafe in {} of {} steps; crossings before it {:.2} mean, {:.0} max; after it {:.2} mean, {:.0} max",
            failsafe.steps,
            summary.steps,
            failsafe.before.mean,
            failsafe.before.max,
            failsafe.after.mean,
            failsafe.after.max
        );
    }
    let worst = |name: &str| summary.certificate.get(name).map_or(f64::NAN, |b| b.max);
    if summary.contacts.max > 0.0 {
        let eliminated = match summary.certificate.get("eliminated") {
            Some(bound) => format!(" ({:.1e} m/s with velocities eliminated)", bound.max),
            None => String::new(),
        };
        println!(
            "certificate, worst step: residual {:.1e} m/s{eliminated}, creep {:.1e} m/s, penetration {:.1e} m, momentum residual {:.1e} m/s",
            worst("residual"),
            worst("creep"),
            worst("penetration"),
            worst("dynamics")
        );
    } else if summary.steps > 0 {
        let dynamics = worst("dynamics");
        println!("certificate, worst step: no contacts, momentum residual {dynamics:.1e} m/s");
    }
    if !is_certified(summary) {
        println!("{NOT_A_NUMBER}");
    }
    for check in &summary.checks {
        println!(
            "{}",
            match check.untested.is_some() && !(judged || check.of == CROSSINGS) {
                true => super::check::line_with("--", check),
                false => super::check::line(check),
            }
        );
    }
    for required in &summary.requirements {
        println!("{}", requirement_line(required));
    }
    if verbose {
        for (stage, seconds) in &summary.stages.0 {
            println!("  {stage}: {:.3} s", seconds.0);
        }
        for (name, probe) in &summary.probes.0 {
            println!(
                "  {name}: first {:.6e}, last {:.6e}",
                probe.first, probe.last
            );
        }
    }
    println!("in {}", dir.display());
    let shown = quoted(dir);
    println!("look at it: stiction view {shown}");
    println!("            stiction render {shown} --all --out {shown}/frames.png");
    println!("            stiction plot {shown}");
}

/// A path as a shell takes it.
fn quoted(path: &Path) -> String {
    let text = path.display().to_string();
    let plain = |c: char| c.is_alphanumeric() || "/._-+".contains(c);
    match !text.is_empty() && text.chars().all(plain) && !text.starts_with('-') {
        true => text,
        false => format!("'{}'", text.replace('\'', "'\\''")),
    }
}
