//! Kinds of bodies: the operations that differ between deformable bodies, rigid bodies and rods,
//! implemented in one file per kind.
//!
//! The operations are grouped by role into narrow traits; [`Mechanics`] combines them.
//! [`BodyKind::mechanics`] is the only place that maps the variants of [`BodyKind`] to their
//! implementations. A kind defined elsewhere joins a model as [`BodyKind::Open`].

mod deformable;
mod open;
mod rigid;
mod rods;

use std::fmt;

use stiction_math::{BlockMatrix, Mat3, MatrixPart, PartShape, Quat, ScatterError, Vec3};

pub use open::{OpenKind, PerStep};

use crate::{
    elements::Hessian,
    material::Damping,
    model::{BodyKind, Deformable},
    rigid::Rigid,
    rod::{RodFrames, Rods},
    split::BodySplit,
    state::State,
};

/// Positions and reference frames at the start of a step.
///
/// Reference frames of rods are transported from here, so that energies within the step are functions
/// of positions and twists alone.
#[derive(Clone, Copy, Debug, Default)]
pub struct StepStart<'a> {
    /// Positions, one per block [m].
    pub x: &'a [Vec3],
    /// Reference directors of all edges of rods.
    pub director: &'a [Vec3],
    /// Reference twists of all edges of rods [rad].
    pub twist: &'a [f64],
    /// Quasi-static twists of all edges of rods [rad].
    pub angle: &'a [f64],
    /// Whether such a twist is prescribed.
    pub held: &'a [bool],
}

impl<'a> StepStart<'a> {
    /// The start of a step from positions `x` [m] with the reference frames `frames`.
    pub fn new(x: &'a [Vec3], frames: &'a RodFrames) -> Self {
        Self {
            x,
            director: &frames.director,
            twist: &frames.twist,
            angle: &frames.angle,
            held: &frames.held,
        }
    }
}

/// Positions and velocities of one body within a step.
#[derive(Clone, Copy, Debug)]
pub struct BodyAt<'a> {
    /// Positions of its blocks [m].
    pub x: &'a [Vec3],
    /// Velocities of its blocks [m/s, rad/s].
    pub v: &'a [Vec3],
    /// Orientations of all rigid bodies, to which inertia belongs.
    pub rotations: &'a [Quat],
    /// The first block of the body.
    pub first: usize,
    /// The start of the step, of all bodies.
    pub start: StepStart<'a>,
}

impl<'a> BodyAt<'a> {
    /// A body with the given blocks in `state`, which is also the start of the step.
    pub fn of(blocks: std::ops::Range<usize>, state: &'a State) -> Self {
        Self {
            first: blocks.start,
            x: &state.x[blocks.clone()],
            v: &state.v[blocks],
            rotations: &state.rotations,
            start: StepStart::new(&state.x, &state.frames),
        }
    }
}

/// Velocity of a body after a step in which inertia and uniform acceleration act alone.
#[derive(Clone, Copy, Debug)]
pub struct Inertial<'a> {
    /// v̂ of its blocks [m/s]; empty for kinds that evaluate it from the two fields below.
    pub hat: &'a [Vec3],
    /// Velocities of its blocks at the start of the step [m/s].
    pub v: &'a [Vec3],
    /// Velocity increment from external accelerations [m/s].
    pub increment: Vec3,
}

/// Damping of a body in a step.
#[derive(Clone, Copy, Debug)]
pub struct StepDamping<'a> {
    /// Coefficients of the material.
    pub material: &'a Damping,
    /// D [N·s/m] at the lagged positions, for kinds that store it.
    pub lagged: Option<&'a BlockMatrix>,
}

/// Weights of g += s ∂E/∂x and A += m M + d D + t ∂²E/∂x².
#[derive(Clone, Copy, Debug)]
pub struct TermWeights<'a> {
    /// s of the elastic gradient; zero skips it.
    pub gradient: f64,
    /// m of the mass matrix.
    pub mass: f64,
    /// d of stiffness-proportional damping.
    pub damping: f64,
    /// t of the elastic Hessian; zero skips it.
    pub stiffness: f64,
    /// Whether the elastic Hessian is exact or projected.
    pub hessian: Hessian,
    /// Terms of an inertia that rotates with the body: the Jacobian of every rotation vector and
    /// the rate of positions with velocities [s]. M is then ∂p/∂v at positions that follow v.
    pub turns: Option<(&'a [Mat3], f64)>,
}

/// The end of a step of one body.
#[derive(Debug)]
pub struct StepEnd<'a> {
    /// Length of the step [s].
    pub h: f64,
    /// Positions of its blocks at the start [m].
    pub from: &'a [Vec3],
    /// Positions of its blocks at the end, q + h v̄ [m].
    pub to: &'a mut [Vec3],
    /// Mean velocities v̄ of its blocks [m/s, rad/s].
    pub mean: &'a [Vec3],
    /// Orientations of all rigid bodies.
    pub rotations: &'a mut [Quat],
    /// Reference frames of all rods.
    pub frames: &'a mut RodFrames,
    /// Quasi-static twists of all edges at the start of the step [rad], and which are prescribed;
    /// none leaves them unchanged.
    pub twists: Option<(&'a [f64], &'a [bool])>,
}

/// Constants of a body: rest shape, masses and the form of its matrix.
pub trait Structure {
    /// Rest positions of the nodes [m]; empty for a body without nodes.
    fn rest(&self) -> &[Vec3];

    /// Rest positions of the blocks [m]; the origin for blocks without a position.
    fn block_positions(&self) -> Vec<Vec3>;

    /// Mass of each block [kg]; a mean where its components differ.
    fn block_masses(&self) -> Vec<f64>;

    /// Total mass [kg].
    fn total_mass(&self) -> f64;

    /// The storage scheme of the body's part of a system matrix.
    fn part(&self) -> PartShape;

    /// Number of elastic elements.
    fn element_count(&self) -> usize;
}

/// Momentum, kinetic energy and weight of a body.
pub trait Inertia {
    /// p ← M v [kg·m/s, kg·m²/s].
    fn momentum(&self, at: &BodyAt<'_>, p: &mut [Vec3]);

    /// y += s (∂p/∂v dv + ∂p/∂q dq), with world rotations for the angular block of a rigid body.
    fn add_momentum_product(
        &self,
        at: &BodyAt<'_>,
        dq: &[Vec3],
        dv: &[Vec3],
        s: f64,
        y: &mut [Vec3],
    );

    /// f += s (M a − α M v) with the uniform acceleration a [m/s²] and the rate α [1/s] of
    /// mass-proportional damping.
    fn add_weight(&self, at: &BodyAt<'_>, a: &Vec3, alpha: f64, s: f64, f: &mut [Vec3]);

    /// ½ vᵀ M v [J].
    fn kinetic_energy(&self, at: &BodyAt<'_>) -> f64;

    /// Angular momentum about the world's origin [kg·m²/s].
    fn angular_momentum(&self, at: &BodyAt<'_>) -> Vec3;

    /// Calls `f` with every block that is a point with mass, and its mass [kg].
    fn for_each_mass(&self, f: &mut dyn FnMut(usize, f64));
}

/// Elastic energy of a body, its derivatives, and its matrix.
pub trait Elastic {
    /// E(x) [J].
    fn elastic_energy(&self, at: &BodyAt<'_>) -> f64;

    /// g += s ∂E/∂x.
    fn add_elastic_gradient(
        &self,
        at: &BodyAt<'_>,
        s: f64,
        g: &mut [Vec3],
    ) -> Result<(), ScatterError>;

    /// y += s (∂²E/∂x²) d.
    fn add_elastic_product(
        &self,
        at: &BodyAt<'_>,
        hessian: Hessian,
        d: &[Vec3],
        s: f64,
        y: &mut [Vec3],
    ) -> Result<(), ScatterError>;

    /// g += s ∂E/∂x and A += m M + d D + t ∂²E/∂x² into the body's part.
    fn add_system(
        &self,
        at: &BodyAt<'_>,
        damping: &StepDamping<'_>,
        weights: &TermWeights<'_>,
        g: &mut [Vec3],
        part: &mut MatrixPart,
    ) -> Result<(), ScatterError>;

    /// The elements with copies of their nodes, for integrators that solve elements one by one;
    /// empty for bodies without elements.
    fn split(&self) -> BodySplit {
        BodySplit::Terms(Vec::new())
    }
}

/// Stiffness-proportional damping D = β Σₑ P K⁺ P, with the projected Hessian K⁺ of every element at
/// lagged positions and P, which removes the element's rigid rotation from velocities: D resists the
/// rate of strain, and no rigid motion, however large the stress is.
pub trait InnerDamping {
    /// Workspace for D; none for kinds without such damping and for those that evaluate D at the
    /// start of the step.
    fn damping_matrix(&self) -> Option<BlockMatrix> {
        None
    }

    /// D at the positions `x` of the body's blocks [m]. `scratch` has one entry per block.
    fn lag_damping(
        &self,
        _x: &[Vec3],
        _beta: f64,
        _scratch: &mut [Vec3],
        _d: &mut BlockMatrix,
    ) -> Result<(), ScatterError> {
        Ok(())
    }

    /// f += s D d, of the body's blocks `d`.
    fn add_damping(
        &self,
        _at: &BodyAt<'_>,
        _damping: &StepDamping<'_>,
        _d: &[Vec3],
        _s: f64,
        _f: &mut [Vec3],
    ) {
    }
}

/// A body's term of the incremental potential of backward Euler, ½ (v − v̂)ᵀ M (v − v̂) + E(x) + h
/// (½ α vᵀ M v + ½ vᵀ D v).
pub trait StepPotential {
    /// v̂ for a step of `h` [s] into `hat` (cleared first), from the start `at`; kinds that evaluate
    /// v̂ from [`Inertial`] alone leave it empty.
    fn inertial_velocity(&self, at: &BodyAt<'_>, increment: &Vec3, h: f64, hat: &mut Vec<Vec3>);

    /// Whether v̂, rather than the velocity at the start, is the first guess of the velocity.
    fn guesses_inertial(&self) -> bool {
        false
    }

    /// The potential [J].
    fn step_potential(
        &self,
        at: &BodyAt<'_>,
        inertial: &Inertial<'_>,
        damping: &StepDamping<'_>,
        h: f64,
    ) -> f64;

    /// g ← its derivative by v [N·s], without elasticity.
    fn step_gradient(
        &self,
        at: &BodyAt<'_>,
        inertial: &Inertial<'_>,
        damping: &StepDamping<'_>,
        h: f64,
        g: &mut [Vec3],
    );
}

/// Motion of a body at the end of a step.
pub trait StepMotion {
    /// Index of the body's orientation in `State::rotations`, for a body that moves rigidly.
    fn orientation(&self) -> Option<usize>;

    /// Completes the end of a step: orientations, reference frames, blocks without a position.
    fn advance(&self, end: StepEnd<'_>);
}

/// Everything that differs between kinds of bodies.
pub trait Mechanics:
    Structure + Inertia + Elastic + InnerDamping + StepPotential + StepMotion + fmt::Debug + Send + Sync
{
}

impl<T> Mechanics for T where
    T: Structure
        + Inertia
        + Elastic
        + InnerDamping
        + StepPotential
        + StepMotion
        + fmt::Debug
        + Send
        + Sync
{
}

impl BodyKind {
    /// The mechanics of the kind.
    pub fn mechanics(&self) -> &dyn Mechanics {
        match self {
            Self::Deformable(d) => d,
            Self::Rigid(r) => r,
            Self::Rods(r) => &**r,
            Self::Open(kind) => &**kind,
        }
    }

    /// The shell or solid, if the body is one.
    pub fn as_deformable(&self) -> Option<&Deformable> {
        match self {
            Self::Deformable(d) => Some(d),
            _ => None,
        }
    }

    /// The rigid body, if the body is one.
    pub fn as_rigid(&self) -> Option<&Rigid> {
        match self {
            Self::Rigid(r) => Some(r),
            _ => None,
        }
    }

    /// The rods, if the body is made of them.
    pub fn as_rods(&self) -> Option<&Rods> {
        match self {
            Self::Rods(r) => Some(r),
            _ => None,
        }
    }

    /// The kind defined elsewhere, if the body is of one.
    pub fn as_open(&self) -> Option<&dyn OpenKind> {
        match self {
            Self::Open(kind) => Some(&**kind),
            _ => None,
        }
    }

    /// A short name, for reports.
    pub fn name(&self) -> &str {
        match self {
            Self::Deformable(_) => "deformable",
            Self::Rigid(_) => "rigid",
            Self::Rods(_) => "rods",
            Self::Open(kind) => kind.name(),
        }
    }
}
