//! Running statistics of a run for its summary. They go into every checkpoint, so that a resumed
//! run ends with the summary of an uninterrupted one.

use stiction_contact::Certificate;
use stiction_sim::{
    Separation, Stage, StepReport,
    check::{Check, CheckProgress, Moment, accepted},
};

use crate::{
    codec::{DecodeError, Decoder, Encoder},
    running::Running,
};

/// The newest version of the section `history`. Version 1 had different fields of the certificate
/// and different stages, version 2 no moving bounds of checks, version 3 no `eliminated`, version 4 no failsafe.
pub const HISTORY_VERSION: u32 = 5;

/// Running statistics of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct History {
    /// Iterations of the method per step.
    pub iterations: Running,
    /// Contacts per step.
    pub contacts: Running,
    /// Every field of the certificate, in the order of `Certificate::FIELDS`; without values where a
    /// field does not apply to the method.
    pub certificate: Vec<Running>,
    /// Every probe, in the order of the scene.
    pub probes: Vec<Running>,
    /// Every check, in the order of the scene.
    pub checks: Vec<CheckProgress>,
    /// Number of steps that were substepped.
    pub cut_steps: u64,
    /// Number of steps in which the method missed its own stopping criterion, and whose certificate does not meet
    /// the scene's demands either ([`accepted`]).
    pub unconverged_steps: u64,
    /// Number of steps in which surfaces crossed and the failsafe moved them apart.
    pub separated_steps: u64,
    /// Crossings per step before the failsafe and after it.
    pub crossings: [Running; 2],
    /// Number of frames written.
    pub frames: u64,
    /// Wall-clock time before the last resume [s].
    pub wall: f64,
    /// Wall-clock time per stage before the last resume [s].
    pub stages: [f64; Stage::ALL.len()],
}

impl History {
    /// An empty history.
    pub fn new(probes: usize, checks: usize) -> Self {
        Self {
            iterations: Running::default(),
            contacts: Running::default(),
            certificate: vec![Running::default(); Certificate::FIELDS.len()],
            probes: vec![Running::default(); probes],
            checks: vec![CheckProgress::default(); checks],
            cut_steps: 0,
            unconverged_steps: 0,
            separated_steps: 0,
            crossings: Default::default(),
            frames: 0,
            wall: 0.0,
            stages: [0.0; Stage::ALL.len()],
        }
    }

    /// Adds a step of `h` [s] that ended at time `t` [s] with the given probes.
    pub fn step(&mut self, report: &StepReport, checks: &[Check], t: f64, h: f64, probes: &[f64]) {
        self.iterations.push(report.iterations as f64);
        self.contacts.push(report.contacts as f64);
        self.cut_steps += u64::from(report.parts > 1);
        let accepted = accepted(checks, t, h, &report.certificate);
        self.unconverged_steps += u64::from(!report.converged && !accepted);
        let Separation { before, after, .. } = report.separation;
        self.separated_steps += u64::from(before > 0);
        for (running, count) in self.crossings.iter_mut().zip([before, after]) {
            running.push(count as f64);
        }
        for (running, value) in self.certificate.iter_mut().zip(report.certificate.values()) {
            if let Some(value) = value {
                running.push(value);
            }
        }
        self.watch(checks, t, h, probes, Some(&report.certificate));
    }

    /// The largest value of a field of the certificate over all steps. None before the first step, for a
    /// field that this program does not have, and for one that does not apply to the method.
    pub fn worst(&self, field: &str) -> Option<f64> {
        let at = Certificate::FIELDS.iter().position(|f| *f == field)?;
        let running = &self.certificate[at];
        (running.count() > 0).then(|| running.max().max)
    }

    /// Adds the probes of the state before the first step, at time `t` [s].
    pub fn start(&mut self, checks: &[Check], t: f64, h: f64, probes: &[f64]) {
        self.watch(checks, t, h, probes, None);
    }

    fn watch(
        &mut self,
        checks: &[Check],
        time: f64,
        h: f64,
        probes: &[f64],
        certificate: Option<&Certificate>,
    ) {
        let at = Moment {
            time,
            probes,
            certificate,
        };
        for (running, value) in self.probes.iter_mut().zip(probes) {
            running.push(*value);
        }
        for (check, progress) in checks.iter().zip(&mut self.checks) {
            check.watch(progress, &at, h);
        }
    }

    /// Writes the checkpoint section.
    pub fn encode(&self, out: &mut Encoder) {
        self.iterations.encode(out);
        self.contacts.encode(out);
        for list in [&self.certificate, &self.probes] {
            out.u64(list.len() as u64);
            list.iter().for_each(|r| r.encode(out));
        }
        out.u64(self.checks.len() as u64);
        for c in &self.checks {
            for value in c.numbers() {
                out.f64(value);
            }
        }
        out.u64(self.cut_steps);
        out.u64(self.unconverged_steps);
        out.u64(self.separated_steps);
        self.crossings.iter().for_each(|r| r.encode(out));
        out.u64(self.frames);
        out.f64(self.wall);
        out.f64s(&self.stages);
    }

    /// Reads a checkpoint section of the given version and checks it against the scene.
    pub fn decode(
        version: u32,
        input: &mut Decoder<'_>,
        probes: usize,
        checks: usize,
    ) -> Result<Self, DecodeError> {
        if version < HISTORY_VERSION {
            return Err(input.error(
                "its statistics have the fields of an earlier version; resume with the program \
                 that wrote it, or start the run afresh",
            ));
        }
        let mut history = Self::new(probes, checks);
        history.iterations = Running::decode(input)?;
        history.contacts = Running::decode(input)?;
        for list in [&mut history.certificate, &mut history.probes] {
            expect(input, "followed numbers", list.len())?;
            for running in list.iter_mut() {
                *running = Running::decode(input)?;
            }
        }
        expect(input, "checks", checks)?;
        for progress in &mut history.checks {
            let mut numbers = CheckProgress::default().numbers();
            for value in &mut numbers {
                *value = input.f64()?;
            }
            *progress = CheckProgress::from_numbers(numbers);
        }
        history.cut_steps = input.u64()?;
        history.unconverged_steps = input.u64()?;
        history.separated_steps = input.u64()?;
        for running in &mut history.crossings {
            *running = Running::decode(input)?;
        }
        history.frames = input.u64()?;
        history.wall = input.f64()?;
        let stages = input.f64s()?;
        history.stages = stages
            .try_into()
            .map_err(|_| input.error("the stages of a step are others in this version"))?;
        Ok(history)
    }
}

fn expect(input: &mut Decoder<'_>, what: &str, expected: usize) -> Result<(), DecodeError> {
    let found = input.usize()?;
    if found == expected {
        return Ok(());
    }
    Err(input.error(format!(
        "{found} {what} stored, {expected} in the scene; probes and checks may not change before a resume"
    )))
}
