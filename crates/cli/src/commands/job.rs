//! One run: steps, records and checkpoints until the end, a signal or a failure.

use std::{
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use miette::miette;
use stiction_contact::file::{StoredProblem, StoredSolution};
use stiction_record::{
    FrameFormat, KeptMesh, KeptScene, RecordError, Recorder, RunFolder, RunInfo, SCENE_FILE,
    Status, Summary,
};
use stiction_scene::{Scene, TimeSettings};
use stiction_sim::{
    Simulation, Stage, StepError, StepReport, colliders::ContactRules, overlap::crossings,
};

use super::{Failure, progress::Progress, requirement::Requirement, signals, view::Viewer};

/// Most differences between two scenes that a refusal lists.
const MOST_DIFFERENCES: usize = 5;

/// A checkpoint is written when this much work would be lost otherwise.
const CHECKPOINT_INTERVAL: Duration = Duration::from_secs(10);

/// A step that takes longer than a signal waits is followed by a checkpoint if that costs less than this
/// fraction of the step.
const CHECKPOINT_COST: f64 = 0.1;

/// One run into one folder.
pub struct Job {
    /// Look at it in the browser.
    pub view: bool,
    /// Formats of frames.
    pub formats: Vec<FrameFormat>,
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
    /// Runs the scene to its end, to Ctrl-C or to a failure, and writes all of it to `folder`.
    pub fn run(&self, folder: &RunFolder, scene: Scene) -> Result<Summary, Failure> {
        let (mut run, wall) = (self.start(folder, scene)?, Instant::now());
        let wall = || wall.elapsed().as_secs_f64();
        let viewer = match self.view {
            true => Some(Viewer::follow(folder.path())?),
            false => None,
        };
        let end = match run.advance(self, &wall) {
            Ok(end) => end,
            Err(failure) => {
                // The summary tells why the run ended, if it can still be written.
                let error = Some(failure.message());
                let _ = run.summarise(Status::Failed, error, wall());
                return Err(failure);
            }
        };
        signals::saving(true);
        let recorder = &mut run.recorder;
        recorder
            .checkpoint(&run.sim, wall())
            .map_err(Failure::run)?;
        let (status, error) = match &end {
            End::Done => (Status::Done, None),
            End::Interrupted => (Status::Interrupted, None),
            End::Failed(error) => (Status::Failed, Some(error.to_string())),
            End::Broken(text) => (Status::Failed, Some(text.clone())),
        };
        let summary = run.summarise(status, error, wall())?;
        signals::saving(false);
        if let Some(viewer) = viewer {
            if !self.quiet {
                eprintln!("the run has ended; Ctrl-C closes the viewer");
            }
            viewer.wait()?;
        }
        match end {
            End::Done | End::Interrupted => Ok(summary),
            End::Failed(error) => Err(explain(folder.path(), &error)),
            End::Broken(broken) => {
                let help = format!(
                    "the run up to there is in {}; certificate.csv has all steps; --resume without \
                     this --require goes on, and the run still counts as failed",
                    folder.path().display()
                );
                Err(Failure::Run(miette!(help = help, "{broken}")))
            }
        }
    }

    /// Makes the simulation and its records, new or from a checkpoint.
    fn start(&self, folder: &RunFolder, scene: Scene) -> Result<Run, Failure> {
        let rules = scene.contact_rules().filter(|_| self.exact);
        let (mut sim, plan) = scene.simulation().map_err(Failure::input)?;
        let rules = rules.filter(|_| plan.method.capabilities().separates_surfaces);
        if self.exact && rules.is_none() && !self.quiet {
            eprintln!("--exact tests nothing here: the method does not keep surfaces apart");
        }
        sim.cancel_by(signals::cancel());
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
        let mut recorder = self.recorder(folder, info, &mut sim)?;
        let verdicts = recorder.verdicts_mut();
        verdicts.require(self.require.iter().map(|r| r.0.clone()));
        if rules.is_some() {
            verdicts.exact.get_or_insert_default();
        }
        let mut run = Run {
            sim,
            recorder,
            rules,
            dir: folder.path().to_owned(),
            name,
            time,
            every,
        };
        if run.sim.state().step == 0 {
            // From here on there is a state to go on from.
            let saved = run.recorder.checkpoint(&run.sim, 0.0);
            saved.map_err(Failure::run)?;
        }
        run.summarise(Status::Running, None, 0.0)?;
        Ok(run)
    }

    /// Refuses to write problems of a method that solves none.
    fn check_dump(&self, sim: &Simulation) -> Result<(), Failure> {
        let solved = sim.method().contacts();
        if solved.is_some_and(|s| s.problem().is_none()) {
            return Err(Failure::Input(miette!(
                help = "leave --dump-problems out, or choose a method with exact friction",
                "method `{}` solves no friction problem: its contact is a force",
                sim.method().name()
            )));
        }
        Ok(())
    }

    fn recorder(
        &self,
        folder: &RunFolder,
        info: RunInfo,
        sim: &mut Simulation,
    ) -> Result<Recorder, Failure> {
        let dir = folder.path();
        if self.resume && Recorder::checkpoint_path(dir).exists() {
            let (hash, now) = (info.hash, info.source.clone());
            return Recorder::resume(folder.clone(), info, sim).map_err(|error| {
                // A checkpoint that cannot be used is bad input: it says why.
                another_scene(dir, hash, &now).unwrap_or_else(|| Failure::Input(miette!("{error}")))
            });
        }
        if self.resume {
            let ended = Summary::read(&dir.join("summary.json")).ok();
            if ended.is_some_and(|s| s.status != Status::Running) {
                return Err(Failure::Input(miette!(
                    help = "put its checkpoint back, start afresh with --overwrite, or choose another --out",
                    "{} holds a run that has ended, but not its checkpoint",
                    dir.display()
                )));
            }
            if !self.quiet {
                eprintln!(
                    "{} holds no checkpoint: starting from the beginning",
                    dir.display()
                );
            }
        }
        Recorder::create(folder.clone(), info, sim).map_err(|error| match error {
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
}

/// A run in progress.
struct Run {
    sim: Simulation,
    recorder: Recorder,
    /// Of the exact test of frames, if it is made.
    rules: Option<ContactRules>,
    dir: PathBuf,
    name: String,
    time: TimeSettings,
    /// Frames between checkpoints, if the scene says so.
    every: Option<u64>,
}

/// End of the steps of a run.
enum End {
    Done,
    Interrupted,
    Failed(StepError),
    /// A requirement was broken, in words.
    Broken(String),
}

impl Run {
    /// Takes all steps until one of the ends.
    fn advance(&mut self, job: &Job, wall: &dyn Fn() -> f64) -> Result<End, Failure> {
        let last = job.last_step(&self.time);
        let frames = self.time.frames_until(last);
        let progress = Progress::new(job.quiet, last, frames, self.sim.state().step);
        if job.resume && self.sim.state().step > 0 {
            progress.say(&format!(
                "resumed at t = {:.4} s, step {}",
                self.sim.state().time,
                self.sim.state().step
            ));
        }
        for note in self.recorder.notes() {
            progress.say(note);
        }
        let end = self.steps(job, last, &progress, wall);
        progress.finish();
        end
    }

    fn steps(
        &mut self,
        job: &Job,
        last: u64,
        progress: &Progress,
        wall: &dyn Fn() -> f64,
    ) -> Result<End, Failure> {
        // What earlier parts of the run broke is broken.
        for requirement in &job.require {
            let step = self.sim.state().step;
            if let Some(text) = requirement.broken_before(&self.dir, step, &self.recorder)? {
                return Ok(End::Broken(text));
            }
        }
        let (mut saved, mut cost) = (Instant::now(), Duration::ZERO);
        while self.sim.state().step < last {
            if signals::stop() {
                return Ok(End::Interrupted);
            }
            let began = Instant::now();
            let report = match self.sim.step() {
                Ok(report) => report,
                Err(error) if error.is_cancelled() => return Ok(End::Interrupted),
                Err(error) => return Ok(End::Failed(error)),
            };
            let took = began.elapsed();
            let long = took > signals::GRACE && cost < took.mul_f64(CHECKPOINT_COST);
            let clock = self.sim.stages_mut().start(Stage::Record);
            let (step, frame) = (self.sim.state().step, self.record(job, &report)?);
            if self.time.is_frame(step) {
                progress.frame(step, self.sim.state().time, frame, &report);
            }
            let due = match self.every {
                Some(n) => self.time.is_frame(step) && frame.is_multiple_of(n.max(1)),
                None => long || saved.elapsed() > CHECKPOINT_INTERVAL,
            };
            if due {
                let began = Instant::now();
                let saved_now = self.recorder.checkpoint(&self.sim, wall());
                saved_now.map_err(Failure::run)?;
                self.summarise(Status::Running, None, wall())?;
                (saved, cost) = (Instant::now(), began.elapsed());
            }
            self.sim.stages_mut().stop(clock);
            progress.step(step, frame, &report);
            let time = self.sim.state().time;
            let mut broken = job.require.iter();
            if let Some(text) = broken.find_map(|r| r.step(step, time, &report.certificate)) {
                return Ok(End::Broken(text));
            }
        }
        Ok(End::Done)
    }

    /// Records the step just taken, and returns the number of frames so far.
    fn record(&mut self, job: &Job, report: &StepReport) -> Result<u64, Failure> {
        let step = self.sim.state().step;
        if job.dump.is_some_and(|n| step.is_multiple_of(n)) {
            job.check_dump(&self.sim)?;
            dump(&self.dir, &self.name, &self.sim).map_err(Failure::run)?;
        }
        self.recorder
            .step(&self.sim, report)
            .map_err(Failure::run)?;
        if self.time.is_frame(step) {
            self.recorder.frame(&self.sim).map_err(Failure::run)?;
            if let Some(rules) = &self.rules {
                let found = crossings(self.sim.model(), self.sim.state(), rules);
                let found = found.map_err(Failure::run)?;
                self.recorder.verdicts_mut().crossings(found as u64);
            }
        }
        Ok(self.time.frames_until(step))
    }

    /// Writes the summary.
    fn summarise(
        &self,
        status: Status,
        error: Option<String>,
        wall: f64,
    ) -> Result<Summary, Failure> {
        let summary = self.recorder.summary(&self.sim, status, error, wall);
        let written = self.recorder.write_summary(&summary);
        written.map_err(Failure::run)?;
        Ok(summary)
    }
}

fn explain(dir: &Path, error: &StepError) -> Failure {
    let help = format!(
        "the last good state is in {}; a smaller `time.step`, softer materials or more damping may help",
        Recorder::checkpoint_path(dir).display()
    );
    Failure::Run(miette!(help = help, "{error}"))
}

/// Refusal to resume a run of another scene than the one given, which names the differences; none if
/// the checkpoint is of that scene, cannot be read or does not contain its scene.
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
        solution: Some(StoredSolution {
            v: solved.v.to_vec(),
            r: solved.r.to_vec(),
        }),
    };
    let folder = dir.join("problems");
    stiction_record::make_folder(&folder)?;
    let path = folder.join(format!("{:06}.problem", state.step));
    stiction_record::problems::write_problem(&path, &stored)
}
