//! Contact sets, friction problems and the certificate, which measures the error in Coulomb's law. It
//! shares no code with the solvers that it checks.

pub mod attach;
mod certificate;
mod contact_set;
mod coulomb;
pub mod detect;
pub mod exchange;
pub mod file;
pub mod generate;
mod kinematics;
mod local;
mod outcome;
mod problem;
pub mod smooth;
pub mod solver;

pub use certificate::Certificate;
pub use contact_set::{Contact, ContactKey, ContactSet, StencilEntry};
pub use coulomb::{
    CertifyConfig, balanced_velocities, certify, coulomb_residual, eliminated_residual,
    eliminated_residual_iterated, eliminated_residual_near, judge, project_cone,
};
pub use local::LocalProblem;
pub use outcome::{ContactOutcome, ContactState, outcomes};
pub use problem::{BlockFault, ContactFault, FrictionProblem, ProblemError};
