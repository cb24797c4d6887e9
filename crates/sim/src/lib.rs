//! The time step and its methods.
//!
//! A [`Simulation`] takes a constant model from state to state. What differs between methods is behind
//! the trait [`Method`]; [`Linearised`] is one for every contact solver.

pub mod adapt;
pub mod admm;
pub mod attachment;
pub mod capabilities;
mod certify;
pub mod check;
pub mod colliders;
mod control;
pub mod dynamics;
mod error;
mod failsafe;
pub mod forces;
pub mod friction;
pub mod implicit;
pub mod integrators;
pub mod keys;
pub mod linearised;
mod method;
pub mod methods;
pub mod needs;
pub mod newton;
mod observer;
pub mod overlap;
pub mod prescribed;
pub mod probe;
pub mod registry;
mod repeat;
pub mod resolve;
mod simulation;
pub mod smooth;
mod splitting;
mod stages;

pub use admm::admm;
pub use capabilities::Unsupported;
pub use control::Controls;
pub use error::SolveError;
pub use failsafe::{Failsafe, Separation};
pub use linearised::Linearised;
pub use method::{
    Footprint, Memory, Method, Persistent, SolveReport, SolvedContacts, SolvedStep, StepContext,
    System,
};
pub use newton::Newton;
pub use observer::{Observer, StepVerdict};
pub use registry::{MethodConfig, MethodEntry, Registry};
pub use simulation::{Simulation, StepError, StepReport};
pub use smooth::Smooth;
pub use stages::{Stage, Stages};
