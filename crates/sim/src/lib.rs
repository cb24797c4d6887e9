//! The time step and its methods.
//!
//! A [`Simulation`] takes a constant model from state to state. What differs between methods is one
//! stage of the step, behind the narrow trait [`Method`].

pub mod check;
pub mod dynamics;
mod method;
pub mod newton;
pub mod probe;
mod simulation;
mod stages;

pub use method::{Method, SolveError, SolveReport, StepContext, Unsupported};
pub use newton::Newton;
pub use simulation::{Simulation, StepError, StepReport};
pub use stages::{Stage, Stages};
