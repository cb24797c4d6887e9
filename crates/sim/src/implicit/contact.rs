//! Contact as the force-based core sees it.

use stiction_bodies::Model;
use stiction_math::{Mat3, Vec3};

use super::stage::ImplicitStage;
use crate::{
    error::SolveError,
    forces::{Change, ForceState},
    prescribed::{Prescribed, Side},
};

/// Which blocks of a contact Jacobian are meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Blocks {
    /// All of them.
    All,
    /// Those on the diagonal, for a preconditioner.
    Diagonal,
}

/// Weights of the contact Jacobian −a_c (s ∂f_c/∂v + a (∂f_c/∂q) T).
#[derive(Clone, Copy, Debug)]
pub struct ContactRates<'a> {
    /// a, the rate of positions with velocities [s].
    pub a: f64,
    /// a_c of contact forces [s].
    pub a_contact: f64,
    /// s, the rate of the velocities that friction acts on with v [1].
    pub slip: f64,
    /// T: the Jacobian of every rotation vector.
    pub turns: &'a [Mat3],
}

/// Contact and friction forces f_c(q, v) with derivatives.
pub trait ContactForces {
    /// f += s f_c.
    fn add(&mut self, at: ForceState<'_>, s: f64, f: &mut [Vec3]) -> Result<(), SolveError>;

    /// Cliques of blocks that contacts at `at` couple, and those they coupled earlier in the stage.
    fn cliques(&mut self, at: ForceState<'_>) -> Result<Vec<Vec<u32>>, SolveError>;

    /// Calls `sink` with blocks (i, j) of −a_c (s ∂f_c/∂v + a (∂f_c/∂q) T).
    fn for_each_block(
        &self,
        at: ForceState<'_>,
        rates: &ContactRates<'_>,
        blocks: Blocks,
        sink: &mut dyn FnMut(usize, usize, &Mat3),
    ) -> Result<(), SolveError>;

    /// The contacts that products at `at` need; none where nothing touches.
    fn active(&self, at: ForceState<'_>) -> Result<Vec<u32>, SolveError>;

    /// y += s (∂f_c/∂q dq + ∂f_c/∂v dv) of the contacts `active`.
    fn add_product(
        &self,
        active: &[u32],
        at: ForceState<'_>,
        change: Change<'_>,
        s: f64,
        y: &mut [Vec3],
    ) -> Result<(), SolveError>;

    /// Whether the Jacobian is cheaper to assemble than to apply.
    fn is_dense(&self) -> bool;
}

/// Contact in the course of a stage: obstacles, detection, lagged coefficients, admissible steps.
pub trait ContactStage {
    /// Moves obstacles to where they are at `time` [s] in a step of `h` [s].
    fn place(&mut self, model: &Model, time: f64, h: f64, side: Side);

    /// Detects contacts for motion from `at` over about `h` [s].
    fn find(&mut self, at: ForceState<'_>, h: f64) -> Result<(), SolveError>;

    /// Prepares contacts that are closed where the step begins, after [`find`](Self::find) there.
    fn settle(&mut self, at: ForceState<'_>) -> Result<(), SolveError>;

    /// Whether something moved so far that contacts may be missing.
    fn is_stale(&self, at: ForceState<'_>) -> Result<bool, SolveError>;

    /// Takes lagged coefficients from `at`.
    fn lag(&mut self, at: ForceState<'_>) -> Result<(), SolveError>;

    /// Adapts stiffness where an iteration of a minimisation has ended; whether forces have changed.
    fn accept(&mut self, _at: ForceState<'_>) -> Result<bool, SolveError> {
        Ok(false)
    }

    /// Changes the first guess `v` of a stage until it is admissible.
    fn admit(&mut self, trial: Trial<'_>, v: &mut [Vec3]) -> Result<(), SolveError>;

    /// The fraction of the step from `v` to `to` that is admissible.
    fn reach(&mut self, trial: Trial<'_>, v: &[Vec3], to: &[Vec3]) -> Result<f64, SolveError>;
}

/// A contact model of a force-based method.
pub trait ContactModel: ContactForces + ContactStage {}

impl<T: ContactForces + ContactStage> ContactModel for T {}

/// A stage whose trial may be moved.
pub struct Trial<'a> {
    /// The model.
    pub model: &'a Model,
    /// Prescribed motions at the end of the stage.
    pub prescribed: &'a Prescribed,
    /// The stage.
    pub stage: &'a mut ImplicitStage,
}
