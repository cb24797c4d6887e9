//! Stage 8: output of a run in its folder.
//!
//! ```text
//! DIR/scene.toml         the scene with all overrides; it runs again
//! DIR/frames.pvd         the time series for ParaView
//! DIR/frames/            one file per body and frame
//! DIR/probes.csv         one row per step
//! DIR/certificate.csv    one row per step
//! DIR/contacts.csv       on request, one row per step and contact
//! DIR/pairs.csv          on request, one row per step and pair of bodies in contact
//! DIR/summary.json       rewritten whenever a checkpoint is
//! DIR/checkpoint.bin     the last complete state
//! DIR/run.lock           while the run goes on: the process that writes
//! ```
//!
//! A checkpoint names the extent of each table and the frames that belong to it. A run is not
//! resumed if one of them is missing or belongs to another run.

mod frames;

use std::path::{Path, PathBuf};

use stiction_contact::{Certificate, ContactOutcome};
use stiction_geometry::TriMesh;
use stiction_math::Vec3;
use stiction_sim::{
    Simulation, Stage, StepReport,
    check::{Check, When},
    probe::Probe,
};

use crate::{
    CheckResult, CheckpointError, CheckpointFile, CheckpointSection, ContactTable, Encoder,
    FailsafeSummary, KeptScene, MaxRms, Named, PairTable, Pvd, RecordError, RunFolder, Status,
    Summary, Table, Verdicts,
    history::{HISTORY_VERSION, History},
    names::SeriesNames,
    obstacles, peak_memory, processor,
    promises::{self, Promises, kept_formats, resume_tables},
    stored::{STATE_VERSION, decode_state, encode_memory, encode_state, put},
    topology, verdicts, write_checkpoint,
};

/// A format of frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FrameFormat {
    /// VTU with a PVD time series, for ParaView.
    Vtu,
    /// Wavefront OBJ, surfaces only.
    Obj,
    /// Binary PLY, surfaces only.
    Ply,
}

impl FrameFormat {
    /// All formats with their names.
    pub const ALL: [(&str, Self); 3] = [("vtu", Self::Vtu), ("obj", Self::Obj), ("ply", Self::Ply)];

    /// The name, which is also the extension of its files.
    pub fn name(self) -> &'static str {
        match self {
            Self::Vtu => "vtu",
            Self::Obj => "obj",
            Self::Ply => "ply",
        }
    }
}

/// Identity and output settings of a run.
#[derive(Clone, Debug)]
pub struct RunInfo {
    /// The scene's name.
    pub scene: String,
    /// The scene's variant, if one was chosen.
    pub variant: Option<String>,
    /// A hash of all that determines the trajectory; a checkpoint with a different hash is refused.
    pub hash: u64,
    /// The scene, which the run keeps in its folder.
    pub source: KeptScene,
    /// The formats of frames.
    pub formats: Vec<FrameFormat>,
    /// Whether every contact of every step is recorded.
    pub contacts: bool,
    /// The probes.
    pub probes: Vec<Probe>,
    /// The checks.
    pub checks: Vec<Check>,
}

/// The scene that a checkpoint belongs to.
#[derive(Clone, Debug)]
pub struct StoredScene {
    /// Hash of all that determines the trajectory.
    pub hash: u64,
    /// Its name.
    pub name: String,
    /// The method.
    pub method: String,
    /// The scene; checkpoints of early versions have none.
    pub source: Option<KeptScene>,
}

/// Probes, certificates and, on request, contacts.
pub(crate) type Tables = (Table, Table, Option<(ContactTable, PairTable)>);

/// Names of the tables.
pub(crate) const PROBES: &str = "probes.csv";
pub(crate) const CERTIFICATE: &str = "certificate.csv";
pub(crate) const CONTACT_TABLE: &str = "contacts.csv";
pub(crate) const PAIR_TABLE: &str = "pairs.csv";

/// Writes a run to a folder.
pub struct Recorder {
    folder: RunFolder,
    info: RunInfo,
    pvd: Option<Pvd>,
    probes: Table,
    certificate: Table,
    /// On request: contacts and their sums per pair.
    contacts: Option<(ContactTable, PairTable)>,
    history: History,
    verdicts: Verdicts,
    /// Formats of frames with the first frame of each.
    formats: Vec<(FrameFormat, u64)>,
    /// Data that a resumed run does not have from its beginning, for the user.
    notes: Vec<String>,
    /// Certificate of the last step, stored in frames.
    last: Certificate,
    values: Vec<f64>,
    points: Vec<Vec3>,
    velocities: Vec<Vec3>,
    names: SeriesNames,
    /// The obstacles in their own frames.
    obstacles: Vec<TriMesh>,
}

impl Recorder {
    /// The path of the checkpoint in a run's folder.
    pub fn checkpoint_path(dir: &Path) -> PathBuf {
        dir.join("checkpoint.bin")
    }

    /// Starts recording: removes an earlier run from the folder and writes the state before the
    /// first step.
    pub fn create(folder: RunFolder, info: RunInfo, sim: &Simulation) -> Result<Self, RecordError> {
        let dir = folder.path();
        // User files in the place of the scene are detected before anything is removed.
        info.source.check(dir)?;
        folder.clear()?;
        folder.make("frames")?;
        crate::atomic::remove_leftovers(dir)?;
        info.source.keep(dir)?;
        let history = History::new(info.probes.len(), info.checks.len());
        let pvd = match info.formats.contains(&FrameFormat::Vtu) {
            true => Some(Pvd::create(&dir.join("frames.pvd"))?),
            false => None,
        };
        let probes = Table::create(&dir.join(PROBES), &columns(&info.probes))?;
        let certificate = Table::create(&dir.join(CERTIFICATE), &Certificate::FIELDS)?;
        let contacts = match info.contacts {
            true => Some((
                ContactTable::create(&dir.join(CONTACT_TABLE))?,
                PairTable::create(&dir.join(PAIR_TABLE))?,
            )),
            false => None,
        };
        let tables = (probes, certificate, contacts);
        let mut recorder = Self::new(folder, info, pvd, tables, history, sim);
        recorder.measure(sim, &[], None);
        recorder.history.start(
            &recorder.info.checks,
            0.0,
            sim.time_step(),
            &recorder.values,
        );
        recorder.probes.numbers(0, 0.0, &recorder.values)?;
        recorder.frame(sim)?;
        Ok(recorder)
    }

    /// Resumes from a checkpoint: restores its state into `sim` and truncates the tables to it.
    /// Refuses a folder in which rows or frames that the checkpoint depends on are missing.
    pub fn resume(
        folder: RunFolder,
        info: RunInfo,
        sim: &mut Simulation,
    ) -> Result<Self, CheckpointError> {
        let dir = folder.path();
        let checkpoint = of_scene(&Self::checkpoint_path(dir), info.hash)?;
        let (version, mut history) = checkpoint.versioned("history", HISTORY_VERSION)?;
        let (probes, checks) = (info.probes.len(), info.checks.len());
        let history = History::decode(version, &mut history, probes, checks)?;
        let verdicts = Verdicts::decode(&checkpoint)?;
        let promises = Promises::decode(&checkpoint)?;
        let state = decode_state(&checkpoint, sim.state())?;
        let (step, time) = (state.step, state.time);
        let mut notes: Vec<String> = processor::note(&checkpoint)?.into_iter().collect();
        let formats = match &promises {
            Some(promises) => kept_formats(
                dir,
                &info,
                promises,
                sim.model(),
                history.frames,
                &mut notes,
            )?,
            None => info.formats.iter().map(|f| (*f, 0)).collect(),
        };
        let tables = resume_tables(dir, &info, promises.as_ref(), step, &mut notes)?;
        let vtu = formats.iter().find(|f| f.0 == FrameFormat::Vtu);
        let pvd = match vtu {
            Some((_, first)) => {
                let pvd = Pvd::resume(&dir.join("frames.pvd"), time)?;
                let listed = pvd.frames() as u64;
                if listed != history.frames.saturating_sub(*first) {
                    let reason = format!(
                        "it lists {listed} of {} frames up to the checkpoint; restore it from a copy, \
                         or start the run afresh",
                        history.frames.saturating_sub(*first)
                    );
                    return Err(RecordError::malformed(&dir.join("frames.pvd"), reason).into());
                }
                Some(pvd)
            }
            None => None,
        };
        // The duration, the frames and the output may have changed.
        info.source.keep(dir)?;
        crate::atomic::remove_leftovers(dir)?;
        folder.make("frames")?;
        // Steps after the checkpoint are repeated.
        folder.remove_numbered("frames", history.frames)?;
        folder.remove_numbered("problems", step + 1)?;
        // Obstacles come from the state before the first step, which the simulation still has, so
        // that the patch of a plane stays in place.
        let mut recorder = Self::new(folder, info, pvd, tables, history, sim);
        put(&checkpoint, state, sim)?;
        (recorder.verdicts, recorder.formats, recorder.notes) = (verdicts, formats, notes);
        Ok(recorder)
    }

    /// Restores the checkpoint of a run in `dir` into a simulation of the scene with the given
    /// fingerprint, without recording.
    pub fn restore(dir: &Path, hash: u64, sim: &mut Simulation) -> Result<(), CheckpointError> {
        let checkpoint = of_scene(&Self::checkpoint_path(dir), hash)?;
        let state = decode_state(&checkpoint, sim.state())?;
        put(&checkpoint, state, sim)
    }

    /// The scene of the checkpoint in the folder of a run.
    pub fn stored_scene(dir: &Path) -> Result<StoredScene, CheckpointError> {
        scene_of(&CheckpointFile::read(&Self::checkpoint_path(dir))?)
    }

    fn new(
        folder: RunFolder,
        info: RunInfo,
        pvd: Option<Pvd>,
        (probes, certificate, contacts): Tables,
        history: History,
        sim: &Simulation,
    ) -> Self {
        Self {
            folder,
            formats: info.formats.iter().map(|f| (*f, 0)).collect(),
            info,
            pvd,
            probes,
            certificate,
            contacts,
            history,
            verdicts: Verdicts::default(),
            notes: Vec::new(),
            last: Certificate::default(),
            values: Vec::new(),
            points: Vec::new(),
            velocities: Vec::new(),
            names: SeriesNames::of(sim.model()),
            obstacles: obstacles::meshes(sim.model(), sim.state()),
        }
    }

    /// Statistics of the run so far.
    pub fn history(&self) -> &History {
        &self.history
    }

    /// Notes on data that a resumed run does not have from its beginning.
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    /// Requirements on the whole run, including the time before a resume.
    pub fn verdicts(&self) -> &Verdicts {
        &self.verdicts
    }

    /// Requirements on the whole run.
    pub fn verdicts_mut(&mut self) -> &mut Verdicts {
        &mut self.verdicts
    }

    fn measure(
        &mut self,
        sim: &Simulation,
        contacts: &[ContactOutcome],
        certificate: Option<&Certificate>,
    ) {
        let (model, state) = (sim.model(), sim.state());
        self.values.clear();
        let probes = self.info.probes.iter().zip(&self.history.probes);
        self.values.extend(probes.map(|(probe, past)| {
            let quantity = &probe.quantity;
            quantity.follow(model, state, contacts, certificate, past.last())
        }));
    }

    /// Records the last step.
    pub fn step(&mut self, sim: &Simulation, report: &StepReport) -> Result<(), RecordError> {
        let state = sim.state();
        let asked = self.info.probes.iter().any(|p| p.quantity.needs_contacts());
        let contacts = match asked || self.contacts.is_some() {
            true => sim.contacts(),
            false => Vec::new(),
        };
        self.measure(sim, &contacts, Some(&report.certificate));
        if let Some((table, pairs)) = &mut self.contacts {
            let model = sim.model();
            let bodies = model.bodies.iter().map(|b| b.name.as_str());
            let names: Vec<&str> = bodies
                .chain(model.obstacles.iter().map(|o| o.name.as_str()))
                .collect();
            table.append(state.step, state.time, &names, &contacts)?;
            pairs.append(state.step, state.time, &names, &contacts)?;
        }
        self.history.step(
            report,
            &self.info.checks,
            state.time,
            sim.time_step(),
            &self.values,
        );
        self.probes.numbers(state.step, state.time, &self.values)?;
        self.last = report.certificate;
        self.certificate
            .numbers_that_apply(state.step, state.time, &report.certificate.values())
    }

    /// Writes a checkpoint of the current state. Tables are flushed first, so that all data that
    /// the checkpoint refers to are on disk.
    pub fn checkpoint(&mut self, sim: &Simulation, wall: f64) -> Result<(), CheckpointError> {
        self.folder.check_held()?;
        self.probes.sync()?;
        self.certificate.sync()?;
        if let Some(pvd) = &self.pvd {
            pvd.sync()?;
        }
        if let Some((contacts, pairs)) = &mut self.contacts {
            contacts.sync()?;
            pairs.sync()?;
        }
        let mut history = self.history.clone();
        history.wall += wall;
        for (total, stage) in history.stages.iter_mut().zip(Stage::ALL) {
            *total += sim.stages().seconds(stage);
        }
        let memory = sim.method().save();
        let scene = |out: &mut Encoder| {
            out.u64(self.info.hash);
            out.str(&self.info.scene);
            out.str(sim.method().name());
        };
        let adapted = sim.adapted();
        let meshes = |out: &mut Encoder| {
            if let Some((topology, memory)) = &adapted {
                topology::encode(topology, memory, out);
            }
        };
        let source = |out: &mut Encoder| self.info.source.encode(out);
        let state = |out: &mut Encoder| encode_state(sim.state(), out);
        let method = |out: &mut Encoder| encode_memory(&memory, out);
        let past = |out: &mut Encoder| history.encode(out);
        let mut promised = Promises {
            tables: vec![
                (PROBES.to_owned(), self.probes.mark()),
                (CERTIFICATE.to_owned(), self.certificate.mark()),
            ],
            formats: self.formats.clone(),
        };
        if let Some((contacts, pairs)) = &self.contacts {
            let marks = [(CONTACT_TABLE, contacts.mark()), (PAIR_TABLE, pairs.mark())];
            promised
                .tables
                .extend(marks.map(|(n, m)| (n.to_owned(), m)));
        }
        let files = |out: &mut Encoder| promised.encode(out);
        let judged = |out: &mut Encoder| self.verdicts.encode(out);
        let mut sections: Vec<CheckpointSection> = vec![
            ("scene", 1, &scene),
            ("source", 1, &source),
            ("state", STATE_VERSION, &state),
            ("method", 1, &method),
            ("history", HISTORY_VERSION, &past),
            (promises::SECTION, promises::VERSION, &files),
            (verdicts::SECTION, verdicts::VERSION, &judged),
            (processor::SECTION, processor::VERSION, &processor::encode),
        ];
        if adapted.is_some() {
            sections.push((topology::SECTION, topology::VERSION, &meshes));
        }
        write_checkpoint(&Self::checkpoint_path(self.folder.path()), &sections)
    }

    /// The summary of the run so far; `wall` [s] counts from the start or the last resume.
    pub fn summary(
        &self,
        sim: &Simulation,
        status: Status,
        error: Option<String>,
        wall: f64,
    ) -> Summary {
        let history = &self.history;
        let mut stages = Named::default();
        for (i, stage) in Stage::ALL.into_iter().enumerate() {
            stages.insert(
                stage.name(),
                history.stages[i] + sim.stages().seconds(stage),
            );
        }
        let mut certificate = Named::default();
        for (name, running) in Certificate::FIELDS.iter().zip(&history.certificate) {
            // Without a friction problem there is none.
            if *name == "eliminated" && running.count() == 0 {
                continue;
            }
            // Energies have a range, not an error, so that their mean square is not meaningful.
            let energy = matches!(*name, "kinetic" | "elastic" | "potential" | "contact_work");
            let bound: MaxRms = if energy {
                running.max()
            } else {
                running.max_rms()
            };
            certificate.insert(*name, bound);
        }
        let mut probes = Named::default();
        for (probe, running) in self.info.probes.iter().zip(&history.probes) {
            probes.insert(probe.name.clone(), running.probe(probe.quantity.unit()));
        }
        Summary {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            scene: self.info.scene.clone(),
            variant: self.info.variant.clone(),
            method: sim.method().name().to_owned(),
            status,
            error,
            steps: sim.state().step,
            frames: history.frames,
            time: sim.state().time,
            wall: history.wall + wall,
            stages,
            contacts: history.contacts.mean_max(),
            iterations: history.iterations.mean_max(),
            unconverged_steps: history.unconverged_steps,
            cut_steps: history.cut_steps,
            failsafe: sim.failsafe().map(|_| FailsafeSummary {
                steps: history.separated_steps,
                before: history.crossings[0].mean_max(),
                after: history.crossings[1].mean_max(),
            }),
            certificate,
            dofs: sim.model().dofs() as u64,
            peak_memory: peak_memory(),
            threads: rayon::current_num_threads() as u64,
            probes,
            requirements: self.verdicts.requirements(history),
            checks: self.check_results(sim.state().time, sim.time_step()),
        }
    }

    /// Writes `summary.json`.
    pub fn write_summary(&self, summary: &Summary) -> Result<(), RecordError> {
        self.folder.check_held()?;
        summary.write(&self.folder.path().join("summary.json"))
    }

    /// The results of the checks after steps of `h` [s] until `end` [s].
    fn check_results(&self, end: f64, h: f64) -> Vec<CheckResult> {
        let finite = |x: f64| x.is_finite().then_some(x);
        let names: Vec<&str> = self.info.probes.iter().map(|p| p.name.as_str()).collect();
        let checks = self.info.checks.iter().zip(&self.history.checks);
        checks
            .map(|(check, progress)| {
                let outcome = check.outcome(progress);
                let unreached = check.unreached(progress, end, h);
                let (from, to) = match check.when {
                    When::At(t) => (Some(t), Some(t)),
                    When::Between(from, to) => (finite(from), finite(to)),
                    When::End => (None, None),
                };
                CheckResult {
                    of: check.of.text(&names),
                    name: outcome.name,
                    value: outcome.measured,
                    min: finite(outcome.min),
                    max: finite(outcome.max),
                    from,
                    to,
                    passed: outcome.passed && unreached.is_none(),
                    untested: unreached,
                }
            })
            .chain(self.verdicts.exact(&self.history))
            .collect()
    }
}

/// The scene of a checkpoint.
fn scene_of(checkpoint: &CheckpointFile) -> Result<StoredScene, CheckpointError> {
    let mut scene = checkpoint.section("scene")?;
    let mut stored = StoredScene {
        hash: scene.u64()?,
        name: scene.str()?.to_owned(),
        method: scene.str()?.to_owned(),
        source: None,
    };
    if checkpoint.sections().any(|(name, _)| name == "source") {
        stored.source = Some(KeptScene::decode(checkpoint.section("source")?)?);
    }
    Ok(stored)
}

/// Reads the checkpoint at `path`; refuses one of another scene.
fn of_scene(path: &Path, hash: u64) -> Result<CheckpointFile, CheckpointError> {
    let checkpoint = CheckpointFile::read(path)?;
    let stored = scene_of(&checkpoint)?;
    if stored.hash != hash {
        let StoredScene { name, method, .. } = stored;
        let reason = format!(
            "it was written by scene `{name}` with method `{method}` and other settings; \
             resume with the same scene, --set and --method, or start afresh"
        );
        return Err(RecordError::malformed(path, reason).into());
    }
    Ok(checkpoint)
}

pub(crate) fn columns(probes: &[Probe]) -> Vec<&str> {
    probes.iter().map(|p| p.name.as_str()).collect()
}
