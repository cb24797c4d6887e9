//! Settings of a scene other than the model: time, method, contact, friction, output.

/// Steps and frames.
#[derive(Clone, Debug, PartialEq)]
pub struct TimeSettings {
    /// The time step [s].
    pub step: f64,
    /// Duration of the run [s].
    pub duration: f64,
    /// When frames are written.
    pub frames: OutputFrames,
}

/// When frames are written. Frame 0 is the start.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum OutputFrames {
    /// So many frames in a second of simulated time, each at the first step that reaches its time.
    PerSecond(f64),
    /// A frame every so many steps.
    EverySteps(u64),
}

impl TimeSettings {
    /// Number of steps of the run.
    pub fn steps(&self) -> u64 {
        // A duration that is a multiple of the step up to rounding takes exactly that many steps.
        (self.duration / self.step * (1.0 - 1e-12) - 1e-9)
            .ceil()
            .max(0.0) as u64
    }

    /// Number of frames due after `step` steps, the one at the start not counted.
    pub fn frames_until(&self, step: u64) -> u64 {
        match self.frames {
            OutputFrames::EverySteps(n) => step / n.max(1),
            // At most one frame per step.
            OutputFrames::PerSecond(rate) => {
                let per_step = rate * self.step;
                if per_step >= 1.0 {
                    step
                } else {
                    (step as f64 * per_step * (1.0 + 1e-12) + 1e-9).floor() as u64
                }
            }
        }
    }

    /// Whether a frame is written after `step` steps.
    pub fn is_frame(&self, step: u64) -> bool {
        step == 0 || self.frames_until(step) > self.frames_until(step - 1)
    }
}

/// Settings of contact detection.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ContactSettings {
    /// Whether bodies collide.
    pub enabled: bool,
    /// Distance between surfaces at which they are in contact [m].
    pub thickness: f64,
    /// Policy for bodies that overlap at the start.
    pub overlap: OverlapPolicy,
    /// Treatment of surfaces that cross at the end of a step.
    pub failsafe: FailsafePolicy,
}

/// Treatment of surfaces that cross at the end of a step.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FailsafePolicy {
    /// The method's own.
    #[default]
    None,
    /// They are moved apart by shortening the contours of their intersections.
    Contours,
    /// Impact zones in addition, where that leaves crossings.
    ImpactZones,
}

/// Policy for bodies that overlap at the start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OverlapPolicy {
    /// The scene is refused.
    #[default]
    Refuse,
    /// It is moved apart before the first step.
    Resolve,
    /// The run starts all the same.
    Ignore,
}

impl Default for ContactSettings {
    /// One millimetre: the thickness of a heavy cloth.
    fn default() -> Self {
        Self {
            enabled: false,
            thickness: 1e-3,
            overlap: OverlapPolicy::Refuse,
            failsafe: FailsafePolicy::None,
        }
    }
}

/// Output of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OutputSettings {
    /// The formats of frames, by their names.
    pub formats: Vec<String>,
    /// A checkpoint every so many frames; `None` leaves it to the program.
    pub checkpoint_every: Option<u64>,
    /// Whether `contacts.csv` and `pairs.csv` are written, with rows for every step.
    pub contacts: bool,
}

impl OutputSettings {
    /// The formats that frames can be written in.
    pub const FORMATS: [&'static str; 5] = ["vtu", "obj", "ply", "usd", "gltf"];
}

impl Default for OutputSettings {
    fn default() -> Self {
        Self {
            formats: vec!["vtu".to_owned()],
            checkpoint_every: None,
            contacts: false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn time(step: f64, duration: f64, frames: OutputFrames) -> TimeSettings {
        TimeSettings {
            step,
            duration,
            frames,
        }
    }

    #[test]
    fn a_multiple_of_the_step_takes_that_many_steps() {
        for (step, n) in [
            (0.01, 200),
            (0.1, 3),
            (0.002, 3250),
            (1.0 / 24.0, 240),
            (1e-5, 1_000_000),
        ] {
            let t = time(step, step * n as f64, OutputFrames::EverySteps(1));
            assert_eq!(t.steps(), n, "step {step}");
        }
        assert_eq!(time(0.01, 2.0, OutputFrames::EverySteps(1)).steps(), 200);
        assert_eq!(time(0.3, 1.0, OutputFrames::EverySteps(1)).steps(), 4);
    }

    #[test]
    fn frames_come_at_the_requested_rate() {
        let t = time(0.01, 2.0, OutputFrames::PerSecond(24.0));
        let frames: Vec<u64> = (0..=200).filter(|s| t.is_frame(*s)).collect();
        assert_eq!(frames.len(), 49);
        for (k, s) in frames.iter().enumerate() {
            let late = *s as f64 * 0.01 - k as f64 / 24.0;
            assert!((-1e-9..0.01).contains(&late), "frame {k} at step {s}");
        }
        let t = time(0.01, 2.0, OutputFrames::PerSecond(25.0));
        assert!((0..=200).filter(|s| t.is_frame(*s)).all(|s| s % 4 == 0));
        let t = time(0.1, 2.0, OutputFrames::PerSecond(25.0));
        assert!((0..=20).all(|s| t.is_frame(s)));
    }
}
