//! Stage 8: what a run leaves in its folder.
//!
//! ```text
//! DIR/frames.pvd         the time series for ParaView
//! DIR/frames/            one file per body and frame
//! DIR/probes.csv         one row per step
//! DIR/certificate.csv    one row per step
//! DIR/contacts.csv       on request, one row per step and contact
//! DIR/pairs.csv          on request, one row per step and pair of things that touch
//! DIR/summary.json       rewritten whenever a checkpoint is
//! DIR/checkpoint.bin     the last complete state
//! ```

use std::{
    fs,
    path::{Path, PathBuf},
};

use stiction_bodies::{Body, Columns, Frames, Model, State};
use stiction_contact::{Certificate, Outcome};
use stiction_geometry::TriMesh;
use stiction_math::{Quat, Vec3, nalgebra::Quaternion};
use stiction_sim::{
    Memory, Simulation, Stage, StepReport,
    check::{Check, Subject, When},
    probe::Probe,
};

use crate::{
    Bound, CONTACTS, Cells, CheckResult, Checkpoint, CheckpointError, ContactTable, Data, Encoder,
    Encoding, Frame, Named, PairTable, Pvd, RecordError, Section, Status, Summary, Table,
    history::History,
    obstacles::{self, PREFIX},
    peak_memory, sequence_path, write_checkpoint, write_contacts_vtu, write_obj, write_ply,
    write_vtu,
};

/// A format of frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Format {
    /// VTU with a PVD time series, for ParaView.
    Vtu,
    /// Wavefront OBJ, surfaces only.
    Obj,
    /// Binary PLY, surfaces only.
    Ply,
}

impl Format {
    /// All formats with their names.
    pub const ALL: [(&str, Self); 3] = [("vtu", Self::Vtu), ("obj", Self::Obj), ("ply", Self::Ply)];
}

/// What identifies a run.
#[derive(Clone, Debug)]
pub struct RunInfo {
    /// The scene's name.
    pub scene: String,
    /// A hash of all that determines the trajectory; a checkpoint of another one is refused.
    pub hash: u64,
    /// The formats of frames.
    pub formats: Vec<Format>,
    /// Whether every contact of every step is written down.
    pub contacts: bool,
    /// What is followed.
    pub probes: Vec<Probe>,
    /// What is checked.
    pub checks: Vec<Check>,
}

/// Probes, certificates and, on request, contacts.
type Tables = (Table, Table, Option<(ContactTable, PairTable)>);

/// Writes a run to a folder.
pub struct Recorder {
    dir: PathBuf,
    info: RunInfo,
    pvd: Option<Pvd>,
    probes: Table,
    certificate: Table,
    /// On request: contacts and their sums per pair.
    contacts: Option<(ContactTable, PairTable)>,
    history: History,
    /// Of the last step: frames carry it.
    last: Certificate,
    values: Vec<f64>,
    points: Vec<Vec3>,
    velocities: Vec<Vec3>,
    /// The obstacles in their own frames.
    obstacles: Vec<TriMesh>,
}

impl Recorder {
    /// The checkpoint's place in a run's folder.
    pub fn checkpoint_path(dir: &Path) -> PathBuf {
        dir.join("checkpoint.bin")
    }

    /// Starts recording: makes the folder and writes the state before the first step.
    pub fn create(dir: &Path, info: RunInfo, sim: &Simulation) -> Result<Self, RecordError> {
        let frames = dir.join("frames");
        fs::create_dir_all(&frames).map_err(|e| RecordError::io("create folder", &frames, e))?;
        crate::atomic::remove_leftovers(dir)?;
        let history = History::new(info.probes.len(), info.checks.len());
        let pvd = match info.formats.contains(&Format::Vtu) {
            true => Some(Pvd::create(&dir.join("frames.pvd"))?),
            false => None,
        };
        let probes = Table::create(&dir.join("probes.csv"), &columns(&info.probes))?;
        let certificate = Table::create(&dir.join("certificate.csv"), &Certificate::FIELDS)?;
        let contacts = match info.contacts {
            true => Some((
                ContactTable::create(&dir.join("contacts.csv"))?,
                PairTable::create(&dir.join("pairs.csv"))?,
            )),
            false => None,
        };
        let tables = (probes, certificate, contacts);
        let obstacles = obstacles::meshes(sim.model(), sim.state());
        let mut recorder = Self::new(dir, info, pvd, tables, history, obstacles);
        recorder.measure(sim, &[]);
        recorder.history.probes(
            &recorder.info.checks,
            0.0,
            sim.time_step(),
            &recorder.values,
        );
        recorder.probes.numbers(0, 0.0, &recorder.values)?;
        recorder.frame(sim)?;
        Ok(recorder)
    }

    /// Goes on after a checkpoint: puts its state into `sim` and cuts the tables back to it.
    pub fn resume(
        dir: &Path,
        info: RunInfo,
        sim: &mut Simulation,
    ) -> Result<Self, CheckpointError> {
        crate::atomic::remove_leftovers(dir)?;
        let checkpoint = of_scene(&Self::checkpoint_path(dir), info.hash)?;
        let state = decode_state(&checkpoint, sim.state())?;
        let mut history = checkpoint.section("history")?;
        let history = History::decode(&mut history, info.probes.len(), info.checks.len())?;
        let (step, time) = (state.step, state.time);
        let pvd = match info.formats.contains(&Format::Vtu) {
            true => Some(Pvd::resume(&dir.join("frames.pvd"), time)?),
            false => None,
        };
        let probes = Table::resume(&dir.join("probes.csv"), &columns(&info.probes), step)?;
        let certificate = Table::resume(&dir.join("certificate.csv"), &Certificate::FIELDS, step)?;
        let contacts = match info.contacts {
            true => Some((
                ContactTable::resume(&dir.join("contacts.csv"), step)?,
                PairTable::resume(&dir.join("pairs.csv"), step)?,
            )),
            false => None,
        };
        let tables = (probes, certificate, contacts);
        // From the state before the first step, which the simulation still has: a plane's patch
        // lies where it lay.
        let obstacles = obstacles::meshes(sim.model(), sim.state());
        sim.restore(state, decode_memory(&checkpoint)?);
        Ok(Self::new(dir, info, pvd, tables, history, obstacles))
    }

    /// Puts a simulation of the scene with the given fingerprint where the checkpoint of a run in `dir`
    /// left off, and records nothing.
    pub fn restore(dir: &Path, hash: u64, sim: &mut Simulation) -> Result<(), CheckpointError> {
        let checkpoint = of_scene(&Self::checkpoint_path(dir), hash)?;
        let state = decode_state(&checkpoint, sim.state())?;
        sim.restore(state, decode_memory(&checkpoint)?);
        Ok(())
    }

    fn new(
        dir: &Path,
        info: RunInfo,
        pvd: Option<Pvd>,
        (probes, certificate, contacts): Tables,
        history: History,
        obstacles: Vec<TriMesh>,
    ) -> Self {
        Self {
            dir: dir.to_owned(),
            info,
            pvd,
            probes,
            certificate,
            contacts,
            history,
            last: Certificate::default(),
            values: Vec::new(),
            points: Vec::new(),
            velocities: Vec::new(),
            obstacles,
        }
    }

    /// What is known of the run so far.
    pub fn history(&self) -> &History {
        &self.history
    }

    fn measure(&mut self, sim: &Simulation, contacts: &[Outcome]) {
        let (model, state) = (sim.model(), sim.state());
        self.values.clear();
        self.values.extend(
            self.info
                .probes
                .iter()
                .map(|p| p.quantity.measure(model, state, contacts)),
        );
    }

    /// Records a step that was just taken.
    pub fn step(&mut self, sim: &Simulation, report: &StepReport) -> Result<(), RecordError> {
        let state = sim.state();
        let asked = self.info.probes.iter().any(|p| p.quantity.needs_contacts());
        let contacts = match asked || self.contacts.is_some() {
            true => sim.contacts(),
            false => Vec::new(),
        };
        self.measure(sim, &contacts);
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
            .numbers(state.step, state.time, &report.certificate.values())
    }

    /// Writes a frame of the current state.
    pub fn frame(&mut self, sim: &Simulation) -> Result<(), RecordError> {
        let (model, state) = (sim.model(), sim.state());
        let number = self.history.frames as usize;
        let folder = self.dir.join("frames");
        let mut files = Vec::new();
        for body in &model.bodies {
            for format in self.info.formats.clone() {
                match format {
                    Format::Vtu => {
                        let path = sequence_path(&folder, &body.name, number, "vtu");
                        self.whole(body, state, &path)?;
                        let file = path.file_name().map(|f| f.to_string_lossy().into_owned());
                        files.push((
                            body.name.clone(),
                            format!("frames/{}", file.unwrap_or_default()),
                        ));
                    }
                    Format::Obj => {
                        self.surface(body, state, |f| {
                            write_obj(&sequence_path(&folder, &body.name, number, "obj"), f)
                        })?;
                    }
                    Format::Ply => {
                        self.surface(body, state, |f| {
                            write_ply(&sequence_path(&folder, &body.name, number, "ply"), f)
                        })?;
                    }
                }
            }
        }
        if self.pvd.is_some() {
            self.obstacle_frames(model, state.time, number, &folder, &mut files)?;
            let path = sequence_path(&folder, CONTACTS, number, "vtu");
            write_contacts_vtu(&path, state.time, &sim.contacts())?;
            let file = path.file_name().map(|f| f.to_string_lossy().into_owned());
            files.push((
                CONTACTS.to_owned(),
                format!("frames/{}", file.unwrap_or_default()),
            ));
        }
        if let Some(pvd) = &mut self.pvd {
            let files: Vec<(&str, &str)> = files
                .iter()
                .map(|(n, f)| (n.as_str(), f.as_str()))
                .collect();
            pvd.add_frame(state.time, &files)?;
        }
        self.history.frames += 1;
        Ok(())
    }

    /// Obstacles beside the bodies: one file each, or one per frame for those that move.
    fn obstacle_frames(
        &mut self,
        model: &Model,
        time: f64,
        number: usize,
        folder: &Path,
        files: &mut Vec<(String, String)>,
    ) -> Result<(), RecordError> {
        for (obstacle, mesh) in model.obstacles.iter().zip(&self.obstacles) {
            let name = format!("{PREFIX}{}", obstacle.name);
            let number = if obstacle.motion.is_some() { number } else { 0 };
            let path = sequence_path(folder, &name, number, "vtu");
            if obstacle.motion.is_some() || !path.exists() {
                let pose = obstacle.pose(time);
                self.points.clear();
                self.points
                    .extend(mesh.positions.iter().map(|x| pose.apply(x)));
                let frame = Frame {
                    name: &name,
                    time,
                    positions: &self.points,
                    cells: Cells::Triangles(&mesh.triangles),
                    point_data: &[],
                    cell_data: &[],
                    field_data: &[],
                };
                write_vtu(&path, &frame, Encoding::Raw)?;
            }
            let file = path.file_name().map(|f| f.to_string_lossy().into_owned());
            files.push((name, format!("frames/{}", file.unwrap_or_default())));
        }
        Ok(())
    }

    /// A body with all it has: a solid with its tetrahedra, anything else as its surface.
    fn whole(&mut self, body: &Body, state: &State, path: &Path) -> Result<(), RecordError> {
        let values = self.last.values();
        let conforming = matches!(body.surface.skin, stiction_bodies::Skin::Nodes(_));
        if !body.tets.is_empty() && conforming && body.kind.as_deformable().is_some() {
            let r = body.blocks.clone();
            let frame = Frame {
                name: &body.name,
                time: state.time,
                positions: &state.x[r.clone()],
                cells: Cells::Tets(&body.tets),
                point_data: &[("velocity", Data::Vectors(&state.v[r]))],
                cell_data: &[],
                field_data: &fields(&values),
            };
            return write_vtu(path, &frame, Encoding::Raw);
        }
        self.surface(body, state, |frame| write_vtu(path, frame, Encoding::Raw))
    }

    fn surface(
        &mut self,
        body: &Body,
        state: &State,
        write: impl Fn(&Frame<'_>) -> Result<(), RecordError>,
    ) -> Result<(), RecordError> {
        let values = self.last.values();
        body.surface
            .positions(&state.x, &state.rotations, &mut self.points);
        body.surface.velocities(state, &mut self.velocities);
        let radius;
        let velocity = ("velocity", Data::Vectors(&self.velocities));
        let (cells, point_data): (_, &[(&str, Data<'_>)]) = if body.radius > 0.0 {
            radius = vec![body.radius; self.points.len()];
            let cells = match &body.surface.segments[..] {
                [] => Cells::Points,
                segments => Cells::Lines(segments),
            };
            (cells, &[velocity, ("radius", Data::Scalars(&radius))])
        } else {
            (Cells::Triangles(&body.surface.triangles), &[velocity])
        };
        write(&Frame {
            name: &body.name,
            time: state.time,
            positions: &self.points,
            cells,
            point_data,
            cell_data: &[],
            field_data: &fields(&values),
        })
    }

    /// Writes a checkpoint of the current state. Tables reach the disk first, so that whatever the
    /// checkpoint promises is there.
    pub fn checkpoint(&mut self, sim: &Simulation, wall: f64) -> Result<(), CheckpointError> {
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
        let sections: [Section; 4] = [
            ("scene", &scene),
            ("state", &|out| encode_state(sim.state(), out)),
            ("method", &|out| encode_memory(&memory, out)),
            ("history", &|out| history.encode(out)),
        ];
        write_checkpoint(&Self::checkpoint_path(&self.dir), &sections)
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
            // Energies have a range, not an error: their mean square says nothing.
            let energy = matches!(*name, "kinetic" | "elastic" | "potential" | "contact_work");
            let bound: Bound = if energy {
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
            certificate,
            dofs: sim.model().dofs() as u64,
            peak_memory: peak_memory(),
            threads: rayon::current_num_threads() as u64,
            probes,
            requirements: Vec::new(),
            checks: self.check_results(),
        }
    }

    /// Writes `summary.json`.
    pub fn write_summary(&self, summary: &Summary) -> Result<(), RecordError> {
        summary.write(&self.dir.join("summary.json"))
    }

    fn check_results(&self) -> Vec<CheckResult> {
        let finite = |x: f64| x.is_finite().then_some(x);
        self.info
            .checks
            .iter()
            .zip(&self.history.checks)
            .map(|(check, progress)| {
                let outcome = check.outcome(progress);
                let (from, to) = match check.when {
                    When::At(t) => (Some(t), Some(t)),
                    When::Between(from, to) => (finite(from), finite(to)),
                    When::End => (None, None),
                };
                CheckResult {
                    of: match &check.of {
                        Subject::Probe(i) => self.info.probes[*i].name.clone(),
                        Subject::Certificate(field) => format!("certificate.{field}"),
                    },
                    name: outcome.name,
                    value: outcome.measured,
                    min: finite(outcome.min),
                    max: finite(outcome.max),
                    from,
                    to,
                    passed: outcome.passed,
                }
            })
            .collect()
    }
}

/// The certificate of the step that led to a frame, by name.
/// The checkpoint at `path`, if it is of the scene with this fingerprint.
fn of_scene(path: &Path, hash: u64) -> Result<Checkpoint, CheckpointError> {
    let checkpoint = Checkpoint::read(path)?;
    let mut scene = checkpoint.section("scene")?;
    let (written, name, method) = (
        scene.u64()?,
        scene.str()?.to_owned(),
        scene.str()?.to_owned(),
    );
    if written != hash {
        let reason = format!(
            "it was written by scene `{name}` with method `{method}` and other settings; \
             resume with the same scene, --set and --method, or start afresh"
        );
        return Err(RecordError::malformed(path, reason).into());
    }
    Ok(checkpoint)
}

fn fields(values: &[f64; Certificate::FIELDS.len()]) -> Vec<(&'static str, Data<'_>)> {
    let names = Certificate::FIELDS.iter().zip(values);
    names
        .map(|(name, value)| (*name, Data::Scalars(std::slice::from_ref(value))))
        .collect()
}

fn columns(probes: &[Probe]) -> Vec<&str> {
    probes.iter().map(|p| p.name.as_str()).collect()
}

fn encode_state(state: &State, out: &mut Encoder) {
    out.u64(state.step);
    out.f64(state.time);
    out.vec3s(&state.x);
    out.vec3s(&state.v);
    out.u64(state.rotations.len() as u64);
    for q in &state.rotations {
        q.coords.iter().for_each(|c| out.f64(*c));
    }
    // Scenes without rods are stored as they were before there were rods.
    if !state.frames.director.is_empty() {
        out.vec3s(&state.frames.director);
        state.frames.twist.iter().for_each(|t| out.f64(*t));
    }
    // As are rods whose twists are all degrees of freedom.
    for (angle, held) in state.frames.angle.iter().zip(&state.frames.held) {
        out.f64(*angle);
        out.u64(u64::from(*held));
    }
    // And bodies without columns of their own.
    for columns in &state.columns {
        out.u64(columns.iter().len() as u64);
        for column in columns.iter() {
            out.str(&column.name);
            out.f64s(&column.values);
        }
    }
}

/// The stored state, which must have the shape of `like`.
fn decode_state(checkpoint: &Checkpoint, like: &State) -> Result<State, CheckpointError> {
    let mut input = checkpoint.section("state")?;
    let (step, time) = (input.u64()?, input.f64()?);
    let (x, v) = (input.vec3s()?, input.vec3s()?);
    let count = input.usize()?;
    if x.len() != like.x.len() || v.len() != like.v.len() || count != like.rotations.len() {
        return Err(input
            .error("the stored state has another number of nodes than the scene")
            .into());
    }
    let mut rotations = Vec::with_capacity(count);
    for _ in 0..count {
        let c = [input.f64()?, input.f64()?, input.f64()?, input.f64()?];
        // Stored as x, y, z, w; taken as they are, because normalising could change a bit.
        rotations.push(Quat::new_unchecked(Quaternion::new(c[3], c[0], c[1], c[2])));
    }
    let mut frames = Frames::default();
    let edges = like.frames.director.len();
    if edges > 0 {
        frames.director = input.vec3s()?;
        if frames.director.len() != edges {
            return Err(input
                .error("the stored state has another number of edges of rods than the scene")
                .into());
        }
        for _ in 0..edges {
            frames.twist.push(input.f64()?);
        }
    }
    for _ in 0..like.frames.angle.len() {
        frames.angle.push(input.f64()?);
        frames.held.push(input.u64()? != 0);
    }
    let mut columns = Vec::with_capacity(like.columns.len());
    for _ in &like.columns {
        let mut own = Columns::default();
        for _ in 0..input.usize()? {
            let name = input.str()?.to_owned();
            *own.get_mut(&name) = input.f64s()?;
        }
        columns.push(own);
    }
    input.finish()?;
    Ok(State {
        columns,
        frames,
        time,
        step,
        x,
        v,
        rotations,
    })
}

fn encode_memory(memory: &Memory, out: &mut Encoder) {
    out.u64(memory.columns.len() as u64);
    for (name, column) in &memory.columns {
        out.str(name);
        out.vec3s(column);
    }
    out.u64s(&memory.keys);
}

fn decode_memory(checkpoint: &Checkpoint) -> Result<Memory, CheckpointError> {
    let mut input = checkpoint.section("method")?;
    let mut memory = Memory::default();
    for _ in 0..input.usize()? {
        let name = input.str()?.to_owned();
        memory.columns.push((name, input.vec3s()?));
    }
    memory.keys = input.u64s()?;
    input.finish()?;
    Ok(memory)
}
