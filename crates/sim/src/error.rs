//! Failures of substeps.

use stiction_bodies::{Model, StateMisfit};
use stiction_contact::{
    ProblemError, attach::AttachError, detect::DetectError, smooth::SmoothError,
    solver::SolverError,
};
use stiction_math::{BandedError, Cancel, FactorError, KrylovError, ScatterError, SystemError};

use crate::stages::Stage;

/// Reason for which a substep failed. Most failures are cured by smaller substeps.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum SolveError {
    /// The matrix of a body could not be factorised.
    #[error("body `{body}`: {source}")]
    Factor {
        /// The body.
        body: String,
        /// The error.
        source: FactorError,
    },
    /// The matrix does not fit the model.
    #[error("the system matrix cannot be assembled: {0}")]
    Assembly(#[from] ScatterError),
    /// The linear system across couplings did not converge.
    #[error(
        "conjugate gradients across attachments stopped after {iterations} iterations at residual {residual:e}; attachments far stiffer than the bodies they join cause this: lower their stiffness"
    )]
    Linear {
        /// Iterations taken.
        iterations: usize,
        /// Relative residual reached.
        residual: f64,
    },
    /// The Jacobian of the step could not be factorised.
    #[error("the Jacobian of the step cannot be factorised: {0}")]
    Lu(#[from] FactorError),
    /// The linear system of an inexact Newton iteration was not solved at all.
    #[error("no Newton direction: {0}; try `solver = \"direct\"`")]
    Direction(KrylovError),
    /// The detector was given something it cannot search.
    #[error("collision detection: {0}")]
    Detect(#[from] DetectError),
    /// The contact problem of the step is not valid, so that it has no certified solution.
    #[error("the contact problem of the step is not valid: {0}")]
    Problem(#[from] ProblemError),
    /// Smooth contact could not be evaluated.
    #[error("smooth contact: {0}")]
    Smooth(#[from] SmoothError),
    /// Contact by attachments could not be evaluated.
    #[error("contact by attachments: {0}")]
    Attach(#[from] AttachError),
    /// The residual of a stage has a local minimum that is no root.
    #[error(
        "Newton's method ended where the residual has a local minimum of {residual:e} m/s, and no root, after {iterations} iterations; a smaller `time.step` or `method.stiffness` may help"
    )]
    LocalMinimum {
        /// Newton iterations taken.
        iterations: usize,
        /// The momentum residual [m/s].
        residual: f64,
    },
    /// The contact solver failed.
    #[error(transparent)]
    Contact(#[from] SolverError),
    /// Rods could not be factorised.
    #[error("body `{body}`: rod {source}")]
    Rods {
        /// The body.
        body: String,
        /// The error; its matrices are the rods.
        source: BandedError,
    },
    /// Surfaces would pass through one another, and contacts against it did not help.
    #[error(
        "surfaces{} would touch or pass through one another after {fraction:.3} of the step; a smaller `time.step`, a larger `contact.thickness` or a larger `method.max_iterations` may help. Where rigid or prescribed bodies squeeze something that cannot yield, `compliance` in [friction] shares the overlap, and `safe = false` in [method] lets surfaces pass",
        of_pair(pair)
    )]
    Passes {
        /// The fraction of the step before it happens.
        fraction: f64,
        /// The two bodies or obstacles, where they are known.
        pair: Option<[String; 2]>,
    },
    /// Bodies slide and turn too far for the contacts that they meet in the step.
    #[error(
        "bodies slide and turn so far in one step that the contacts that they met were not solved: points that meet rise or sink by {aside:.1} of the contact thickness before they do; a smaller `time.step` may help, and `safe = false` in [method] accepts such steps"
    )]
    Tumbles {
        /// The displacement as a fraction of the thickness.
        aside: f64,
    },
    /// The contacts of a stage kept changing.
    #[error(
        "bodies moved farther than contacts were detected for in each of {searches} solves of one stage; a smaller time step may help"
    )]
    Restless {
        /// Number of detection passes.
        searches: usize,
    },
    /// The line search found no decrease.
    #[error(
        "no step along the Newton direction lowers the energy after {iterations} iterations (last change {change:e} m/s)"
    )]
    LineSearch {
        /// Newton iterations taken.
        iterations: usize,
        /// The last change of the velocity [m/s].
        change: f64,
    },
    /// The tolerance was not met.
    #[error(
        "Newton did not converge in {iterations} iterations: the last change was {change:e} m/s, the tolerance is {tolerance:e} m/s"
    )]
    NotConverged {
        /// Newton iterations taken.
        iterations: usize,
        /// The last change of the velocity [m/s].
        change: f64,
        /// The required tolerance [m/s].
        tolerance: f64,
    },
    /// The state was replaced by one of another model.
    #[error(transparent)]
    State(#[from] StateMisfit),
    /// The time step is out of its range.
    #[error("the time step is {0} s; it must be positive and finite")]
    TimeStep(f64),
    /// An observer made the substep fail.
    #[error("an observer rejected the substep in stage `{}`", .0.name())]
    Rejected(Stage),
    /// An observer stopped the step.
    #[error("stopped in stage `{}`", .0.name())]
    Stopped(Stage),
    /// The step was cancelled.
    #[error("the step was cancelled")]
    Cancelled,
    /// A number is not finite any more.
    #[error("body `{body}`, node {node}: the velocity is not finite")]
    NotFinite {
        /// The body.
        body: String,
        /// The node, in the body's own numbering.
        node: usize,
    },
}

impl SolveError {
    /// Whether smaller substeps may succeed.
    pub fn is_curable(&self) -> bool {
        let hopeless = matches!(self, Self::State(_) | Self::TimeStep(_) | Self::Stopped(_));
        !hopeless && !self.is_cancelled()
    }

    /// Whether the step was cancelled.
    pub fn is_cancelled(&self) -> bool {
        match self {
            Self::Contact(error) => error.is_cancelled(),
            other => *other == Self::Cancelled,
        }
    }

    /// Refuses to go on once `cancel` is requested.
    pub fn unless(cancel: &Cancel) -> Result<(), Self> {
        match cancel.is_requested() {
            true => Err(Self::Cancelled),
            false => Ok(()),
        }
    }

    /// A failed linear solve, with the body named.
    pub(crate) fn system(model: &Model, error: SystemError) -> Self {
        match error {
            SystemError::Factor { part, source } => Self::Factor {
                body: model.bodies[part].name.clone(),
                source,
            },
            SystemError::Banded { part, source } => Self::Rods {
                body: model.bodies[part].name.clone(),
                source,
            },
            SystemError::Linear {
                iterations,
                residual,
            } => Self::Linear {
                iterations,
                residual,
            },
        }
    }

    /// The body and node of a block whose velocity is not finite.
    pub(crate) fn not_finite(model: &Model, block: usize) -> Self {
        let (body, first) = model
            .body_of(block)
            .map_or((String::new(), 0), |b| (b.name.clone(), b.blocks.start));
        Self::NotFinite {
            body,
            node: block - first,
        }
    }
}

/// The owners of surfaces, in a message.
fn of_pair(pair: &Option<[String; 2]>) -> String {
    match pair {
        None => String::new(),
        Some([a, b]) if a == b => format!(" of {a}"),
        Some([a, b]) => format!(" of {a} and {b}"),
    }
}
