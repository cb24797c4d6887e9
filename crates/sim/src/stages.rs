//! The stages of a step and the time spent in each.

use std::time::Instant;

/// The eight stages of one step, in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// Prescribed motion at t + h.
    Begin,
    /// Contacts.
    Detect,
    /// Topology changes that are due.
    Adapt,
    /// Matrix and right-hand side, or residual.
    Build,
    /// The method.
    Solve,
    /// Coulomb's law, momentum and energy examined.
    Certify,
    /// Positions moved.
    Advance,
    /// Frames, probes and report written.
    Record,
}

impl Stage {
    /// All stages in order.
    pub const ALL: [Self; 8] = [
        Self::Begin,
        Self::Detect,
        Self::Adapt,
        Self::Build,
        Self::Solve,
        Self::Certify,
        Self::Advance,
        Self::Record,
    ];

    /// The name used in documents, timers and reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::Begin => "begin",
            Self::Detect => "detect",
            Self::Adapt => "adapt",
            Self::Build => "build",
            Self::Solve => "solve",
            Self::Certify => "certify",
            Self::Advance => "advance",
            Self::Record => "record",
        }
    }
}

/// Seconds spent in each stage.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Stages {
    seconds: [f64; 8],
    /// Of the stage `solve`, the part spent on linear systems [s].
    pub linear: f64,
    /// Of the stage `solve`, the part spent on projections to Coulomb's law [s].
    pub projection: f64,
}

impl Stages {
    /// Runs `work` and counts its time for `stage`.
    pub fn time<T>(&mut self, stage: Stage, work: impl FnOnce() -> T) -> T {
        let start = Instant::now();
        let result = work();
        self.seconds[stage as usize] += start.elapsed().as_secs_f64();
        result
    }

    /// Counts `seconds` for `stage`.
    pub fn add(&mut self, stage: Stage, seconds: f64) {
        self.seconds[stage as usize] += seconds;
    }

    /// Seconds spent in `stage` so far.
    pub fn seconds(&self, stage: Stage) -> f64 {
        self.seconds[stage as usize]
    }
}
