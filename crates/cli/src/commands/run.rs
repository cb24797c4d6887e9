//! `stiction run`: a scene goes in, a simulation comes out.

use std::{
    path::{Path, PathBuf},
    process::ExitCode,
    sync::atomic::{AtomicBool, Ordering},
    time::{Duration, Instant},
};

use clap::Args;
use miette::miette;
use stiction_contact::file::{Solution, StoredProblem};
use stiction_record::{
    CheckResult, Format, KeptMesh, KeptScene, OVERLAPS, RecordError, Recorder, RunInfo, SCENE_FILE,
    Status, Summary, animation::Whole, write_overlaps,
};
use stiction_scene::{Kind, LoadOptions, Overlap, Scene, SceneError, SceneSource, TimeSettings};
use stiction_sim::{Simulation, Stage, StepError, overlap::crossings};

use super::{
    Failure, SceneArgs, export, fresh_folder,
    progress::Progress,
    requirement::{self, Requirement, Requirements},
    view::{self, Viewer},
    with_threads,
};
use crate::replay::Replay;

/// The scene of `stiction run` without a scene.
pub const DEFAULT_SCENE: &str = "slope";

/// Most differences between two scenes that a refusal lists.
const MOST_DIFFERENCES: usize = 5;

/// A checkpoint is written when this much work would be lost otherwise.
const CHECKPOINT_INTERVAL: Duration = Duration::from_secs(10);

#[derive(Debug, Args)]
pub struct RunArgs {
    /// A scene file, or the name of a built-in scene.
    scene: Option<String>,
    #[command(flatten)]
    with: SceneArgs,
    /// Where to write; `out/NAME` by default.
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Stop after this many frames, whatever the scene's duration.
    #[arg(long)]
    frames: Option<u64>,
    /// Formats of frames in place of the scene's: vtu, obj, ply, or none; usd
    /// and gltf add a file of the whole run.
    #[arg(long, value_delimiter = ',')]
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
    /// Look at the run in the browser while it goes on, and after it until Ctrl-C.
    #[arg(long)]
    view: bool,
    /// Go on from the checkpoint in the output folder.
    #[arg(long)]
    resume: bool,
    /// Write over an earlier run in the output folder.
    #[arg(long, conflicts_with = "resume")]
    overwrite: bool,
    /// Print nothing but errors.
    #[arg(long)]
    quiet: bool,
    /// Print the summary as one JSON document on standard output.
    #[arg(long)]
    json: bool,
}

pub fn main(args: RunArgs) -> Result<ExitCode, Failure> {
    with_threads(args.with.threads, || run(&args))
}

fn run(args: &RunArgs) -> Result<ExitCode, Failure> {
    let name = args.scene.as_deref().unwrap_or(DEFAULT_SCENE);
    let folder = |scene: &Scene| {
        args.out.clone().unwrap_or_else(|| match args.resume {
            true => Path::new("out").join(&scene.plan.name),
            false => fresh_folder(&scene.plan.name),
        })
    };
    let scene = match try_load(name, &args.with, None) {
        Ok(scene) => scene,
        Err(error) => {
            // The message names one pair; the file shows them all.
            if error.problems().iter().any(|p| p.kind() == Kind::Overlap)
                && let Ok(scene) = try_load(name, &args.with, Some(Overlap::Ignore))
            {
                show_overlaps(&scene, &folder(&scene), args.quiet || args.json)?;
            }
            return Err(Failure::input(error));
        }
    };
    let dir = folder(&scene);
    let has_run = dir.join("summary.json").exists() || Recorder::checkpoint_path(&dir).exists();
    if has_run && !args.resume && !args.overwrite {
        return Err(Failure::Input(miette!(
            help = "go on with --resume, start afresh with --overwrite, or choose another --out",
            "{} already holds a run",
            dir.display()
        )));
    }
    if !args.resume && scene.plan.contact.overlap == Overlap::Ignore {
        show_overlaps(&scene, &dir, args.quiet || args.json)?;
    }
    if args.view {
        // Before hours of work, not after.
        view::find()?;
    }
    let (mut formats, wholes) = formats(args.format.as_deref(), &scene.plan.output.formats)?;
    if args.view && !formats.contains(&Format::Vtu) {
        formats.push(Format::Vtu);
    }
    let job = Job {
        dir,
        view: args.view,
        formats,
        contacts: args.contacts,
        exact: args.exact,
        frames: args.frames,
        resume: args.resume,
        quiet: args.quiet || args.json,
        require: args.require.clone(),
        dump: args.dump_problems,
    };
    catch_ctrl_c();
    let summary = job.run(scene)?;
    for whole in wholes {
        export::write_whole(&Replay::open(&job.dir)?, &job.dir, whole, false)?;
    }
    if args.json {
        print!("{}", summary.to_json().map_err(Failure::run)?);
    } else if !args.quiet {
        report(&summary, &job.dir);
    }
    // A run that was cut short by --frames has not come to what its checks look at.
    let judged = args.frames.is_none();
    let failed =
        summary.status != Status::Done || judged && summary.checks.iter().any(|c| !c.passed);
    Ok(if failed {
        ExitCode::from(1)
    } else {
        ExitCode::SUCCESS
    })
}

/// Loads a scene by file or built-in name.
pub fn load(name: &str, with: &SceneArgs) -> Result<Scene, Failure> {
    load_with(name, with, None)
}

/// The same with another answer to overlap at the start than the scene's.
pub fn load_with(name: &str, with: &SceneArgs, overlap: Option<Overlap>) -> Result<Scene, Failure> {
    try_load(name, with, overlap).map_err(Failure::input)
}

fn try_load(name: &str, with: &SceneArgs, overlap: Option<Overlap>) -> Result<Scene, SceneError> {
    let source = SceneSource::from_argument(name);
    let options = LoadOptions {
        variant: with.variant.clone(),
        overrides: with.overrides.clone(),
        method: with.method.clone(),
        overlap,
        ..LoadOptions::default()
    };
    stiction_scene::load(&source, &options)
}

/// Writes what overlaps at the start to the output folder, and says so.
fn show_overlaps(scene: &Scene, dir: &Path, quiet: bool) -> Result<(), Failure> {
    let found = scene.overlaps().map_err(Failure::run)?;
    if found.is_empty() {
        return Ok(());
    }
    std::fs::create_dir_all(dir).map_err(Failure::run)?;
    let path = dir.join(OVERLAPS);
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
) -> Result<(Vec<Format>, Vec<Whole>), Failure> {
    let (mut found, mut wholes) = (Vec::new(), Vec::new());
    for name in asked.unwrap_or(of_scene) {
        let format = Format::ALL.iter().find(|(n, _)| n == name);
        let whole = Whole::ALL.iter().find(|(n, _)| n == name);
        match (format, whole) {
            (Some((_, format)), _) => found.push(*format),
            (None, Some((_, whole))) => wholes.push(*whole),
            (None, None) if name == "none" => {}
            (None, None) => {
                let frames = Format::ALL.iter().map(|(n, _)| *n);
                let known: Vec<&str> = frames.chain(Whole::ALL.iter().map(|(n, _)| *n)).collect();
                return Err(Failure::Input(miette!(
                    help = format!("known formats: {}, none", known.join(", ")),
                    "unknown format `{name}`"
                )));
            }
        }
    }
    if !wholes.is_empty() && !found.contains(&Format::Vtu) {
        found.push(Format::Vtu);
    }
    Ok((found, wholes))
}

/// Set by Ctrl-C and by a request to terminate.
static STOP: AtomicBool = AtomicBool::new(false);

fn catch_ctrl_c() {
    // A second handler in one process is refused; the first one then does the work.
    let _ = ctrlc::set_handler(|| {
        if STOP.swap(true, Ordering::SeqCst) {
            // Asked twice: leave at once. The last checkpoint is complete on disk.
            std::process::exit(1);
        }
    });
}

/// One run into one folder.
pub struct Job {
    /// The folder.
    pub dir: PathBuf,
    /// Look at it in the browser.
    pub view: bool,
    /// Formats of frames.
    pub formats: Vec<Format>,
    /// Write down every contact of every step.
    pub contacts: bool,
    /// Test by exact arithmetic at every frame that no surfaces cross, and make it a check.
    pub exact: bool,
    /// Stop after so many frames.
    pub frames: Option<u64>,
    /// Go on from a checkpoint.
    pub resume: bool,
    /// Print nothing.
    pub quiet: bool,
    /// Bounds on the certificate of every step.
    pub require: Vec<Requirement>,
    /// Every so many steps the friction problem is written.
    pub dump: Option<u64>,
}

impl Job {
    /// Runs the scene to its end, to Ctrl-C or to a failure, and writes all of it down.
    pub fn run(&self, scene: Scene) -> Result<Summary, Failure> {
        let rules = scene.contact_rules().filter(|_| self.exact);
        let (mut sim, plan) = scene.simulation().map_err(Failure::input)?;
        let rules = rules.filter(|_| plan.method.capabilities().separates_surfaces);
        let mut crossed = 0;
        if self.dump.is_some() {
            sim.keep_start();
        }
        let (time, every) = (plan.time.clone(), plan.output.checkpoint_every);
        let name = plan.name.clone();
        let meshes = plan.meshes.iter();
        let meshes: Result<Vec<_>, _> = meshes.map(|m| KeptMesh::read(&m.kept, &m.path)).collect();
        let info = RunInfo {
            scene: plan.name,
            variant: plan.variant,
            hash: plan.hash,
            source: KeptScene {
                text: plan.text,
                meshes: meshes.map_err(Failure::run)?,
            },
            formats: self.formats.clone(),
            contacts: self.contacts || plan.output.contacts,
            probes: plan.probes,
            checks: plan.checks,
        };
        let mut recorder = self.recorder(info, &mut sim)?;
        let viewer = match self.view {
            true => Some(Viewer::follow(&self.dir)?),
            false => None,
        };
        let last = self.last_step(&time);
        let progress = Progress::new(self.quiet, last, time.frames_until(last), sim.state().step);
        if self.resume && sim.state().step > 0 {
            progress.say(&format!(
                "resumed at t = {:.4} s, step {}",
                sim.state().time,
                sim.state().step
            ));
        }
        let start = Instant::now();
        let wall = || start.elapsed().as_secs_f64();
        let mut saved = Instant::now();
        let mut status = Status::Done;
        let mut failure = None;
        let mut broken = None;
        let mut required = Requirements::new(self.require.clone());
        while sim.state().step < last {
            if STOP.load(Ordering::SeqCst) {
                status = Status::Interrupted;
                break;
            }
            let report = match sim.step() {
                Ok(report) => report,
                Err(error) => {
                    status = Status::Failed;
                    failure = Some(error);
                    break;
                }
            };
            let step = sim.state().step;
            let clock = sim.stages_mut().start(Stage::Record);
            if self.dump.is_some_and(|n| step % n == 0) {
                self.check_dump(&sim)?;
                dump(&self.dir, &name, &sim).map_err(Failure::run)?;
            }
            broken = required.step(step, sim.state().time, &report.certificate);
            recorder.step(&sim, &report).map_err(Failure::run)?;
            let frame = time.frames_until(step);
            if time.is_frame(step) {
                recorder.frame(&sim).map_err(Failure::run)?;
                if let Some(rules) = &rules {
                    let found = crossings(sim.model(), sim.state(), rules);
                    crossed = crossed.max(found.map_err(Failure::run)?);
                }
                progress.frame(step, sim.state().time, frame, &report);
            }
            let due = match every {
                Some(n) => time.is_frame(step) && frame % n.max(1) == 0,
                None => saved.elapsed() > CHECKPOINT_INTERVAL,
            };
            if due {
                recorder.checkpoint(&sim, wall()).map_err(Failure::run)?;
                saved = Instant::now();
            }
            sim.stages_mut().stop(clock);
            progress.step(step, frame, &report);
            if broken.is_some() {
                status = Status::Failed;
                break;
            }
        }
        progress.finish();
        recorder.checkpoint(&sim, wall()).map_err(Failure::run)?;
        let mut summary = recorder.summary(
            &sim,
            status,
            failure.as_ref().map(ToString::to_string).or(broken.clone()),
            wall(),
        );
        if rules.is_some() {
            summary.checks.push(CheckResult {
                name: "no surfaces cross at any frame".to_owned(),
                of: "crossings".to_owned(),
                value: crossed as f64,
                max: Some(0.0),
                passed: crossed == 0,
                ..CheckResult::default()
            });
        }
        summary.requirements = required.results();
        recorder.write_summary(&summary).map_err(Failure::run)?;
        if let Some(viewer) = viewer {
            if !self.quiet {
                eprintln!("the run has ended; Ctrl-C closes the viewer");
            }
            viewer.wait()?;
        }
        match (failure, broken) {
            (Some(error), _) => Err(self.explain(error)),
            (None, Some(broken)) => {
                let help = format!(
                    "the run up to there is in {}; certificate.csv has all steps",
                    self.dir.display()
                );
                Err(Failure::Run(miette!(help = help, "{broken}")))
            }
            (None, None) => Ok(summary),
        }
    }

    /// Refuses to write problems of a method that solves none.
    fn check_dump(&self, sim: &Simulation) -> Result<(), Failure> {
        let solved = sim.method().contacts();
        if solved.is_some_and(|s| s.problem().is_none()) {
            return Err(Failure::Input(miette!(
                help = "leave --dump-problems out, or choose a method with exact friction",
                "method `{}` solves no friction problem: its friction is a smooth force",
                sim.method().name()
            )));
        }
        Ok(())
    }

    fn recorder(&self, info: RunInfo, sim: &mut Simulation) -> Result<Recorder, Failure> {
        if self.resume && Recorder::checkpoint_path(&self.dir).exists() {
            let (hash, now) = (info.hash, info.source.clone());
            return Recorder::resume(&self.dir, info, sim).map_err(|error| {
                // A checkpoint that cannot be used is bad input: it says why.
                another_scene(&self.dir, hash, &now)
                    .unwrap_or_else(|| Failure::Input(miette!("{error}")))
            });
        }
        if self.resume && !self.quiet {
            eprintln!(
                "{} holds no checkpoint: starting from the beginning",
                self.dir.display()
            );
        }
        Recorder::create(&self.dir, info, sim).map_err(|error| match error {
            // The folder has something else in the place of the run's files.
            RecordError::Invalid { .. } => Failure::Input(miette!("{error}")),
            _ => Failure::run(error),
        })
    }

    fn last_step(&self, time: &TimeSettings) -> u64 {
        let all = time.steps();
        match self.frames {
            Some(frames) => (0..=all)
                .find(|&s| time.frames_until(s) >= frames)
                .unwrap_or(all),
            None => all,
        }
    }

    fn explain(&self, error: StepError) -> Failure {
        let help = format!(
            "the last good state is in {}; a smaller `time.step`, softer materials or more damping may help",
            Recorder::checkpoint_path(&self.dir).display()
        );
        Failure::Run(miette!(help = help, "{error}"))
    }
}

/// Refusal to resume a run of another scene than the one given, which names the differences; none if
/// the checkpoint is of that scene, cannot be read or does not know its scene.
fn another_scene(dir: &Path, hash: u64, now: &KeptScene) -> Option<Failure> {
    let stored = Recorder::stored_scene(dir).ok()?;
    let then = stored.source.filter(|_| stored.hash != hash)?;
    let mut found: Vec<String> = stiction_scene::differences(&then.text, &now.text)
        .ok()?
        .iter()
        .map(ToString::to_string)
        .collect();
    for mesh in &now.meshes {
        let kept = then.meshes.iter().find(|m| m.kept == mesh.kept);
        if kept.is_some_and(|m| m.checksum != mesh.checksum) {
            found.push(format!("the contents of {} changed", mesh.path.display()));
        }
    }
    if found.is_empty() {
        found.push(
            "its keys are the same, but this version of the program reads them otherwise".into(),
        );
    }
    let more = found.len().saturating_sub(MOST_DIFFERENCES);
    found.truncate(MOST_DIFFERENCES);
    if more > 0 {
        found.push(format!("and {more} more"));
    }
    let shown = dir.display();
    Some(Failure::Input(miette!(
        help = format!(
            "continue the run as it was with `stiction run {shown}/{SCENE_FILE} --out {shown} --resume`, \
             or run the changed scene from the start with --overwrite or another --out"
        ),
        "{} is of another scene than the one given:\n{}",
        Recorder::checkpoint_path(dir).display(),
        found.join("\n")
    )))
}

/// Writes the friction problem of the step just taken, with what the solver made of it.
fn dump(dir: &Path, scene: &str, sim: &Simulation) -> Result<(), RecordError> {
    // A step without contact has none.
    let Some(solved) = sim.method().contacts() else {
        return Ok(());
    };
    let Some(problem) = solved.problem() else {
        return Ok(());
    };
    let (method, state) = (sim.method().name(), sim.state());
    let stored = StoredProblem {
        problem: problem.clone(),
        origin: format!(
            "scene {scene}, method {method}, step {}, t = {} s, stiction {}",
            state.step,
            state.time,
            env!("CARGO_PKG_VERSION")
        ),
        v: solved.start.map(|s| s.0.to_vec()),
        r: solved.start.map(|s| {
            let mut r = s.1.to_vec();
            // Contacts that were found during the solve started from nothing.
            r.resize(solved.r.len(), Default::default());
            r
        }),
        solution: Some(Solution {
            v: solved.v.to_vec(),
            r: solved.r.to_vec(),
        }),
    };
    let folder = dir.join("problems");
    stiction_record::make_folder(&folder)?;
    let path = folder.join(format!("{:06}.problem", state.step));
    stiction_record::problems::write_problem(&path, &stored)
}

/// The closing words of a run.
fn report(summary: &Summary, dir: &Path) {
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
    for (count, what) in [
        (summary.unconverged_steps, "did not converge"),
        (summary.cut_steps, "were cut into parts"),
    ] {
        if count > 0 {
            println!("{count} of {} steps {what}", summary.steps);
        }
    }
    if summary.contacts.max > 0.0 {
        let worst = |name: &str| summary.certificate.get(name).map_or(f64::NAN, |b| b.max);
        println!(
            "certificate, worst step: residual {:.1e} m/s, creep {:.1e} m/s, penetration {:.1e} m, momentum residual {:.1e} m/s",
            worst("residual"),
            worst("creep"),
            worst("penetration"),
            worst("dynamics")
        );
    }
    for check in &summary.checks {
        println!("{}", super::check::line(check));
    }
    println!("in {}", dir.display());
}
