//! The stages of a step and the time spent in each.

use std::time::Instant;

/// The stages of one step, in the order in which they happen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// Topology changes that are due.
    Adapt,
    /// Prescribed motion at t + h, first guess of the velocity.
    Begin,
    /// Matrix and right-hand side, or residual.
    Build,
    /// The velocity without contact.
    Predict,
    /// Contacts along the predicted motion.
    Detect,
    /// The method: velocities and contact impulses.
    Solve,
    /// Surfaces that cross at the end moved apart.
    Separate,
    /// Coulomb's law, momentum, geometry and energy examined.
    Certify,
    /// State and method memory replaced by those at the end of the step.
    Advance,
    /// Frames, probes and report written.
    Record,
}

impl Stage {
    /// All stages in order.
    pub const ALL: [Self; 10] = [
        Self::Adapt,
        Self::Begin,
        Self::Build,
        Self::Predict,
        Self::Detect,
        Self::Solve,
        Self::Separate,
        Self::Certify,
        Self::Advance,
        Self::Record,
    ];

    /// The name used in documents, timers and reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::Adapt => "adapt",
            Self::Begin => "begin",
            Self::Build => "build",
            Self::Predict => "predict",
            Self::Detect => "detect",
            Self::Solve => "solve",
            Self::Separate => "separate",
            Self::Certify => "certify",
            Self::Advance => "advance",
            Self::Record => "record",
        }
    }
}

/// Seconds spent in each stage: one clock that is always booked to the innermost stage.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Stages {
    seconds: [f64; Stage::ALL.len()],
    /// The stage that runs now, and since when.
    current: Option<(Stage, Instant)>,
    /// Of the stage `solve`, the seconds spent on linear systems [s].
    pub linear: f64,
    /// Of the stage `solve`, the seconds spent on projections to Coulomb's law [s].
    pub projection: f64,
}

impl Stages {
    /// Runs `work` and books its time to `stage`. The clock of an enclosing stage stands still
    /// meanwhile, so that every second is booked once.
    pub fn time<T>(&mut self, stage: Stage, work: impl FnOnce(&mut Self) -> T) -> T {
        let outer = self.switch(Some(stage));
        let result = work(self);
        self.switch(outer);
        result
    }

    /// Starts the clock of `stage`. The result is for [`Stages::stop`], which ends it.
    #[must_use]
    pub fn start(&mut self, stage: Stage) -> Option<Stage> {
        self.switch(Some(stage))
    }

    /// Ends the stage that was started, and goes on with the one around it.
    pub fn stop(&mut self, outer: Option<Stage>) {
        self.switch(outer);
    }

    /// Books the time since the last switch and goes on with `stage`. Returns the stage before.
    pub(crate) fn switch(&mut self, stage: Option<Stage>) -> Option<Stage> {
        let now = Instant::now();
        let before = self.current.take();
        if let Some((stage, since)) = before {
            self.seconds[stage as usize] += now.duration_since(since).as_secs_f64();
        }
        self.current = stage.map(|stage| (stage, now));
        before.map(|(stage, _)| stage)
    }

    /// Seconds spent in `stage` so far.
    pub fn seconds(&self, stage: Stage) -> f64 {
        self.seconds[stage as usize]
    }
}

#[cfg(test)]
mod tests {
    use std::{thread::sleep, time::Duration};

    use super::*;

    #[test]
    fn every_second_is_booked_once_in_the_innermost_stage() {
        let mut stages = Stages::default();
        let start = Instant::now();
        let nap = || sleep(Duration::from_millis(4));
        stages.time(Stage::Solve, |stages| {
            nap();
            stages.time(Stage::Detect, |_| nap());
            nap();
        });
        let whole = start.elapsed().as_secs_f64();
        let [solve, detect] = [Stage::Solve, Stage::Detect].map(|s| stages.seconds(s));
        assert!(detect >= 4e-3 && solve >= 8e-3);
        let booked: f64 = Stage::ALL.into_iter().map(|s| stages.seconds(s)).sum();
        assert_eq!(booked, solve + detect);
        // Both are readings of one clock, taken inside the interval.
        assert!(booked <= whole);
    }
}
