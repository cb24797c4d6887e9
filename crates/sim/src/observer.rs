//! Observers of a step.

use crate::stages::Stage;

/// Called before every stage of every substep. It may stop the step: the state and the memory of the
/// method are then as they were before it.
pub trait Observer: Send {
    /// Called before `stage` of a substep of `h` [s].
    fn enter(&mut self, stage: Stage, h: f64) -> StepVerdict;
}

/// Verdict of an observer on a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StepVerdict {
    /// The step goes on.
    Continue,
    /// The substep counts as failed: it is repeated in two smaller ones.
    Reject,
    /// The step ends with an error.
    Stop,
}
