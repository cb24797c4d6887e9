//! The time step and its methods.
//!
//! A [`Simulation`] takes a constant model from state to state. What differs between methods is one
//! stage of the step, behind the narrow trait [`Method`].

pub mod admm;
pub mod check;
pub mod colliders;
pub mod dynamics;
pub mod forces;
pub mod implicit;
pub mod integrators;
mod method;
pub mod newton;
pub mod overlap;
pub mod prescribed;
pub mod probe;
pub mod resolve;
mod simulation;
pub mod smooth;
mod splitting;
mod stages;

pub use admm::Admm;
pub use method::{
    Evidence, Footprint, Memory, Method, SolveError, SolveReport, StepContext, Unsupported,
};
pub use newton::Newton;
pub use simulation::{Simulation, StepError, StepReport};
pub use smooth::Smooth;
pub use stages::{Stage, Stages};
