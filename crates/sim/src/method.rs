//! What a method is: the one stage of a step that differs.

use stiction_bodies::{Model, State, rod::Twist};
use stiction_contact::{
    FrictionProblem, ProblemError,
    detect::{DetectError, Overlap},
    smooth::SmoothError,
};
use stiction_math::{BandedError, BicgstabError, FactorError, ScatterError, SystemError, Vec3};
use stiction_solvers::{admm, ica};

use crate::{dynamics::Dynamics, stages::Stages};

/// A way to find the velocity at the end of a step.
pub trait Method: Send {
    /// The name used in scenes and on the command line.
    fn name(&self) -> &'static str;

    /// Whether the method can run the model at all. Asked once, when the scene is loaded.
    fn needs(&self, model: &Model) -> Result<(), Unsupported>;

    /// Stages 4 and 5: improves the guess `v` to the velocity at the end of the step [m/s].
    fn solve(&mut self, step: StepContext<'_>, v: &mut [Vec3]) -> Result<SolveReport, SolveError>;

    /// The mean velocity over the last step where that is not the velocity at its end, as with
    /// integrators of higher order: positions advance by it [m/s].
    fn mean_velocity(&self) -> Option<&[Vec3]> {
        None
    }

    /// What the certificate judges: the contact problem of the last solve and its solution. None
    /// for a method without contact, and before the first step.
    fn evidence(&self) -> Option<Evidence<'_>> {
        None
    }

    /// Asks it to keep what its solves start from, for [`Evidence::start`].
    fn keep_start(&mut self) {}

    /// The deepest overlap in a state.
    fn overlap(&mut self, _model: &Model, _state: &State) -> Result<Overlap, SolveError> {
        Ok(Overlap::default())
    }

    /// What it holds, as far as it counts it.
    fn footprint(&self) -> Footprint {
        Footprint::default()
    }

    /// What a checkpoint must keep, so that a resumed run goes on bit for bit.
    fn save(&self) -> Memory {
        Memory::default()
    }

    /// Takes back what `save` gave.
    fn recall(&mut self, _memory: Memory) {}
}

/// A contact problem and what a method made of it.
#[derive(Clone, Copy, Debug)]
pub struct Evidence<'a> {
    /// The last linear problem of the step.
    pub problem: &'a FrictionProblem,
    /// Velocities of its blocks [m/s].
    pub v: &'a [Vec3],
    /// Impulses at its contacts [N·s].
    pub r: &'a [Vec3],
    /// Velocities and impulses that the solver started from, if it was asked to keep them; contacts
    /// found on the way have none.
    pub start: Option<(&'a [Vec3], &'a [Vec3])>,
}

/// Memory that a method held at the end of its last solve [bytes].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Footprint {
    /// Matrix, factor and columns of the linear systems.
    pub system: usize,
    /// Positions, topology, hierarchies and candidate pairs of collision detection.
    pub detection: usize,
    /// Contacts and what is solved for them.
    pub contacts: usize,
}

/// What a method carries from step to step, as plain columns.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Memory {
    /// Named columns of vectors.
    pub columns: Vec<(String, Vec<Vec3>)>,
    /// Keys of the contacts of the last step, two numbers each.
    pub keys: Vec<u64>,
}

/// What a method sees of a step. The model and the state are not changed by it.
pub struct StepContext<'a> {
    /// What does not change.
    pub model: &'a Model,
    /// The state at the start of the step.
    pub state: &'a State,
    /// The time step [s].
    pub h: f64,
    /// The potential of the step, already begun.
    pub dynamics: &'a mut Dynamics,
    /// Timers.
    pub stages: &'a mut Stages,
}

/// A scene that a method cannot run.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("method `{method}` cannot run this scene: {reason}")]
pub struct Unsupported {
    /// The method.
    pub method: &'static str,
    /// Which body or obstacle, and why.
    pub reason: String,
    /// What to do about it.
    pub remedy: String,
}

impl Unsupported {
    /// Refuses particles: a method whose contact is between surfaces would let them pass.
    pub fn particles(method: &'static str, model: &Model) -> Result<(), Self> {
        match model.bodies.iter().find(|b| b.is_particles()) {
            None => Ok(()),
            Some(body) => Err(Self {
                method,
                reason: format!(
                    "body `{}` is made of particles, which it does not know",
                    body.name
                ),
                remedy: "choose method `admm`, or remove the body".to_owned(),
            }),
        }
    }

    /// Refuses bodies of open kinds, whose elements a splitting integrator cannot split.
    pub fn open_kinds(method: &'static str, model: &Model) -> Result<(), Self> {
        let open = model
            .bodies
            .iter()
            .find_map(|b| Some((b, b.kind.as_open()?)));
        match open {
            None => Ok(()),
            Some((body, kind)) => Err(Self {
                method,
                reason: format!(
                    "body `{}` is of kind `{}`, which its integrator `splitting` does not support",
                    body.name,
                    kind.name()
                ),
                remedy: "choose integrator `newton`, or remove the body".to_owned(),
            }),
        }
    }

    /// Refuses bodies whose blocks exist for one step only.
    pub fn per_step(method: &'static str, model: &Model) -> Result<(), Self> {
        let mut bodies = model.bodies.iter();
        match bodies.find(|b| b.kind.per_step().is_some()) {
            None => Ok(()),
            Some(body) => Err(Self {
                method,
                reason: format!(
                    "the degrees of freedom of body `{}` are made anew for every step, which the \
                     method does not support",
                    body.name
                ),
                remedy: "choose method `smooth` without contact, or remove the body".to_owned(),
            }),
        }
    }

    /// Refuses rods.
    pub fn rods(method: &'static str, model: &Model) -> Result<(), Self> {
        match model.rods().next() {
            None => Ok(()),
            Some((body, _)) => Err(Self {
                method,
                reason: format!(
                    "body `{}` is made of rods, which it does not know",
                    body.name
                ),
                remedy:
                    "choose method `admm` or `newton`, with integrator `newton`, or remove the body"
                        .to_owned(),
            }),
        }
    }

    /// Refuses frames: the local problems of an integrator that splits elements have four nodes.
    pub fn frames(method: &'static str, model: &Model) -> Result<(), Self> {
        match model.bodies.iter().find(|b| b.is_frames()) {
            None => Ok(()),
            Some(body) => Err(Self {
                method,
                reason: format!(
                    "body `{}` is carried by frames, which its splitting integrator does not know",
                    body.name
                ),
                remedy: "choose integrator `newton`, or remove the body".to_owned(),
            }),
        }
    }

    /// Refuses rods whose twists are degrees of freedom: an alternating integrator holds frames.
    pub fn dynamic_twist(method: &'static str, model: &Model) -> Result<(), Self> {
        match model
            .rods()
            .find(|(_, rods)| rods.twist() == Twist::Dynamic)
        {
            None => Ok(()),
            Some((body, _)) => Err(Self {
                method,
                reason: format!(
                    "the twists of body `{}` are degrees of freedom, which its integrator `splitting` \
                     does not know",
                    body.name
                ),
                remedy:
                    "set `twist = \"quasi-static\"` for the body, or choose integrator `newton`"
                        .to_owned(),
            }),
        }
    }

    /// Refuses gravity that changes: a method with stages would need it at the time of each.
    pub fn changing_gravity(method: &'static str, model: &Model) -> Result<(), Self> {
        match model.gravity_track {
            None => Ok(()),
            Some(_) => Err(Self {
                method,
                reason: "its gravity changes over time, which it does not know".to_owned(),
                remedy: "choose method `admm` or `newton`, or give one vector as `gravity`"
                    .to_owned(),
            }),
        }
    }

    /// Refuses wind that changes with time and place.
    pub fn gusts(method: &'static str, model: &Model) -> Result<(), Self> {
        match model.air.and_then(|air| air.gust) {
            None => Ok(()),
            Some(_) => Err(Self {
                method,
                reason: "the wind has gusts, and it knows steady wind only".to_owned(),
                remedy: "choose method `admm` or `newton`, or remove `gust` from [air]".to_owned(),
            }),
        }
    }

    /// Refuses enclosed volumes: a method that minimises a potential would need their dense Hessian.
    pub fn volumes(method: &'static str, model: &Model) -> Result<(), Self> {
        match model.volumes.first() {
            None => Ok(()),
            Some(volume) => Err(Self {
                method,
                reason: format!(
                    "volume `{}` is enclosed, which it does not know",
                    volume.name
                ),
                remedy: "choose method `smooth`, or remove the [[volume]] table".to_owned(),
            }),
        }
    }
}

/// What a solve took.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct SolveReport {
    /// Outer iterations; factorisations of a finish count, too.
    pub iterations: usize,
    /// Iterations of inner linear solvers, all together.
    pub linear_iterations: usize,
    /// Contacts of the last linear problem.
    pub contacts: usize,
    /// The last change of the velocity [m/s].
    pub change: f64,
    /// Whether the method met its own stopping criterion. A fixed count of iterations always does.
    pub converged: bool,
}

/// Why a solve failed. The step is then tried again in halves.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum SolveError {
    /// The matrix of a body could not be factorised.
    #[error("body `{body}`: {source}")]
    Factor {
        /// The body.
        body: String,
        /// What went wrong.
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
    #[error("no Newton direction: BiCGSTAB: {0}; try `solver = \"direct\"`")]
    Direction(BicgstabError),
    /// The detector was given something it cannot search.
    #[error("collision detection: {0}")]
    Detect(#[from] DetectError),
    /// The contact problem of the step is not sound, so that nothing can be said of its solution.
    #[error("the contact problem of the step is not sound: {0}")]
    Problem(#[from] ProblemError),
    /// Smooth contact could not be evaluated.
    #[error("smooth contact: {0}")]
    Smooth(#[from] SmoothError),
    /// The contact solver could not work.
    #[error(transparent)]
    Admm(#[from] admm::Error),
    /// Rods could not be factorised.
    #[error("body `{body}`: rod {source}")]
    Rods {
        /// The body.
        body: String,
        /// What went wrong; its matrices are the rods.
        source: BandedError,
    },
    /// Surfaces would pass through one another, and contacts against it did not help.
    #[error(
        "surfaces would touch or pass through one another after {fraction:.3} of the step; a larger contact thickness, a smaller time step or more iterations may help, or `safe = false` in [method] lets it happen"
    )]
    Passes {
        /// The part of the step before it happens.
        fraction: f64,
    },
    /// Nested relaxation could not work.
    #[error("nested relaxation: {0}")]
    Ica(#[from] ica::Error),
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
        /// What was asked for [m/s].
        tolerance: f64,
    },
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
