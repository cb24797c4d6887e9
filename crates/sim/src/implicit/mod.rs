//! The force-based core: implicit stages of any integrator, solved as roots of a residual.
//!
//! A stage with positions q(v) = q̄ + a v solves
//!
//! r(v) = p(q(v), v) − p̄ − a f(q(v), v) − a_c f_c(q(v), v) = 0   [N·s],
//!
//! where q̄, p̄, a and a_c come from the integrator's table ([`crate::integrators`]), the momentum p and
//! the forces f from the model ([`crate::forces`]), and the contact forces f_c from the method, behind
//! [`ContactForces`] and [`ContactStage`]. Momentum is integrated, not velocity, so that rigid bodies
//! need no gyroscopic term.
//!
//! | file | content |
//! | --- | --- |
//! | `stage.rs` | the trial configuration of a stage |
//! | `problem.rs` | residual, Jacobian and its products |
//! | `jacobian.rs` | the assembled Jacobian |
//! | `newton.rs` | damped Newton with a direct or an iterative linear solver |
//! | `minimise.rs` | descent on the potential of a stage, for comparison with [li2020] |
//! | `stabilised.rs` | Newton's method on ½‖r‖² for unsymmetric forces with kinks [ding] |
//! | `step.rs` | all stages of a step |
//! | `contact.rs` | what a method's contact provides |
//! | `solved.rs` | contacts of a solved step for the certificate |

mod contact;
mod jacobian;
mod minimise;
mod newton;
mod problem;
mod solved;
mod stabilised;
mod stage;
mod step;

use stiction_contact::smooth::SmoothError;

pub use contact::{Blocks, ContactForces, ContactModel, ContactRates, ContactStage, Trial};
pub use jacobian::Jacobian;
pub use newton::{Config as NewtonConfig, LinearSolver, Solver, VolumeJacobian};
pub use problem::{Products, StageProblem};
pub(crate) use solved::Solved;
pub use stage::{ImplicitStage, Knot};
pub use step::{Implicit, IntegratorHistory, StepAttempt};

use crate::error::SolveError;

/// Whether an evaluation failed because the trial lies outside the domain of a force: a barrier has
/// none for what has crossed it. A shorter step may lie inside.
fn is_infeasible(error: &SolveError) -> bool {
    matches!(error, SolveError::Smooth(SmoothError::Crossed { .. }))
}
