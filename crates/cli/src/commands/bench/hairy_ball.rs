//! `stiction bench hairy-ball`: the rows of [daviet2020, Table 2] for hair on a ball, in core-seconds, since the
//! paper's machines had 8 to 24 cores.

use std::path::Path;

use serde::Serialize;
use stiction_record::{Recorder, peak_memory, processor_time, reset_peak_memory};
use stiction_sim::{Simulation, Stage};

use super::{Failure, or_dash};

/// Strands, contacts and core-seconds per frame, and memory [GB] of the paper.
const PAPER: [(usize, f64, f64, f64); 4] = [
    (15_565, 212e3, 672.0, 7.7),
    (31_765, 555e3, 1544.0, 13.3),
    (63_529, 1.4e6, 6288.0, 27.0),
    (127_058, 3.9e6, 14_832.0, 51.3),
];

/// Measured sizes.
#[derive(Clone, Copy, Debug)]
pub struct HairyBallPlan {
    /// Frames that are run but not measured: hair that has just been let go touches little.
    pub after: u64,
    /// Frames that are measured.
    pub frames: u64,
}

/// One ball.
#[derive(Debug, Serialize)]
pub struct Row {
    strands: usize,
    dofs: usize,
    /// The time that the measured frames begin at [s].
    from: f64,
    frames: u64,
    contacts: f64,
    contacts_max: usize,
    /// Of all processors together, per frame of 1/24 s: mean and largest [s].
    core_seconds: f64,
    core_seconds_max: f64,
    /// The share of the time on the wall clock that the contact solver takes, without detection.
    solver: f64,
    /// Parts of the solver's time.
    linear: f64,
    projection: f64,
    /// Most memory of the process [bytes].
    memory: u64,
    /// Most memory per strand [bytes].
    memory_per_strand: f64,
    /// Linear systems and detection per strand, and contacts per contact, after the last step [bytes].
    system_per_strand: f64,
    detection_per_strand: f64,
    memory_per_contact: Option<f64>,
    /// Core-seconds of a frame over contacts of a step [µs].
    microseconds_per_contact: Option<f64>,
    /// Largest overlap [m], and as a fraction of the distance at which hairs touch, at 1 of which their
    /// centrelines meet; steps that met the tolerance.
    penetration: f64,
    overlap: f64,
    converged: u64,
    steps: u64,
}

/// A row per size, from the checkpoint in `from` if there is one.
pub fn run(
    strands: &[usize],
    plan: HairyBallPlan,
    from: Option<&Path>,
) -> Result<Vec<Row>, Failure> {
    let mut rows = Vec::new();
    for &count in strands {
        reset_peak_memory();
        let overrides = [format!("body.hair.shape.count={count}")];
        // With the paper's iterations: the scene itself goes on to a bound.
        let scene = super::plan("hairy-ball", Some("paper"), &overrides)?;
        let hash = scene.plan.hash;
        let mut sim = scene.simulation().map_err(Failure::input)?.0;
        if let Some(dir) = from {
            Recorder::restore(dir, hash, &mut sim)
                .map_err(|e| Failure::Input(miette::miette!("{e}")))?;
        }
        let row = measure(count, &mut sim, plan)?;
        // Rows take minutes: each is shown when it is there.
        eprintln!("{}", row.line());
        rows.push(row);
    }
    Ok(rows)
}

fn measure(strands: usize, sim: &mut Simulation, plan: HairyBallPlan) -> Result<Row, Failure> {
    let steps_per_frame = (1.0 / 24.0 / sim.time_step()).round().max(1.0) as u64;
    for frame in 0..plan.after {
        let mut contacts = 0;
        for _ in 0..steps_per_frame {
            contacts = sim.step().map_err(Failure::run)?.contacts;
        }
        eprintln!("frame {}: {contacts} contacts", frame + 1);
    }
    let mut row = Row {
        strands,
        dofs: sim.model().dofs(),
        from: sim.state().time,
        frames: plan.frames,
        contacts: 0.0,
        contacts_max: 0,
        core_seconds: 0.0,
        core_seconds_max: 0.0,
        solver: 0.0,
        linear: 0.0,
        projection: 0.0,
        memory: 0,
        memory_per_strand: 0.0,
        system_per_strand: 0.0,
        detection_per_strand: 0.0,
        memory_per_contact: None,
        microseconds_per_contact: None,
        penetration: 0.0,
        overlap: 0.0,
        converged: 0,
        steps: plan.frames * steps_per_frame,
    };
    let before = *sim.stages();
    let (mut contacts, mut last) = (0, 0);
    for frame in 0..plan.frames {
        let (start, before, mut overlap) = (processor_time(), contacts, 0.0f64);
        for _ in 0..steps_per_frame {
            let report = sim.step().map_err(Failure::run)?;
            contacts += report.contacts;
            last = report.contacts;
            row.contacts_max = row.contacts_max.max(report.contacts);
            row.penetration = row.penetration.max(report.certificate.penetration);
            overlap = overlap.max(report.certificate.overlap);
            row.converged += u64::from(report.converged);
        }
        let spent = processor_time() - start;
        row.core_seconds += spent / plan.frames as f64;
        row.core_seconds_max = row.core_seconds_max.max(spent);
        row.overlap = row.overlap.max(overlap);
        let mean = (contacts - before) as f64 / steps_per_frame as f64;
        // Frames of large balls take many minutes: each is shown when it is there.
        eprintln!(
            "measured frame {}: {mean:.0} contacts ({last} in the last step), {spent:.1} core s, {} µs/contact, peak {:.2} GB, overlap {:.0}%",
            frame + 1,
            or_dash(per(1e6 * spent, mean), 0),
            peak_memory() as f64 / 1e9,
            overlap * 1e2,
        );
    }
    let now = sim.stages();
    let spent = |stage| now.seconds(stage) - before.seconds(stage);
    let all: f64 = Stage::ALL.into_iter().map(spent).sum();
    let solver = spent(Stage::Solve);
    row.contacts = contacts as f64 / row.steps as f64;
    row.solver = solver / all;
    row.linear = (now.linear - before.linear) / solver;
    row.projection = (now.projection - before.projection) / solver;
    row.memory = peak_memory();
    row.memory_per_strand = row.memory as f64 / strands as f64;
    let held = sim.method().footprint();
    row.system_per_strand = held.system as f64 / strands as f64;
    row.detection_per_strand = held.detection as f64 / strands as f64;
    row.memory_per_contact = per(held.contacts as f64, last as f64);
    row.microseconds_per_contact = per(1e6 * row.core_seconds, row.contacts);
    Ok(row)
}

const HEAD: &str = "strands   dofs     from     contacts (max)         core s/frame (max)  paper   solver  %linear  %projection  µs/contact  peak GB  paper  kB/strand: system, detection, B/contact  overlap        converged";

/// A part of an amount; none while nothing touches.
fn per(amount: f64, contacts: f64) -> Option<f64> {
    (contacts > 0.0).then(|| amount / contacts)
}

impl Row {
    fn line(&self) -> String {
        let paper = PAPER.iter().find(|p| p.0 == self.strands);
        format!(
            "{:<8}  {:<7}  {:>4.2} s  {:>9.0} ({:>9})  {:>9.1} ({:>7.1})  {:>6}  {:>5.1}%  {:>6.1}%  {:>10.1}%  {:>10}  {:>7.2}  {:>5}  {:>6.1} {:>6.1} {:>6}  {:>5.1} µm {:>4.0}%  {}/{}",
            self.strands,
            self.dofs,
            self.from,
            self.contacts,
            self.contacts_max,
            self.core_seconds,
            self.core_seconds_max,
            or_dash(paper.map(|p| p.2), 0),
            self.solver * 1e2,
            self.linear * 1e2,
            self.projection * 1e2,
            or_dash(self.microseconds_per_contact, 0),
            self.memory as f64 / 1e9,
            or_dash(paper.map(|p| p.3), 1),
            self.system_per_strand / 1e3,
            self.detection_per_strand / 1e3,
            or_dash(self.memory_per_contact, 0),
            self.penetration * 1e6,
            self.overlap * 1e2,
            self.converged,
            self.steps,
        )
    }
}

/// As a table of text.
pub fn print(rows: &[Row]) {
    println!("{HEAD}");
    for row in rows {
        println!("{}", row.line());
    }
}
