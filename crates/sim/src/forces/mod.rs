//! All forces but contact, as functions of positions and velocities, with their derivatives.
//!
//! f(q, v) = −∂E/∂q − W′(V) ∂V/∂q − D v − C(u) u + M g   [N].
//!
//! Forces within bodies ([`BodyForces`]) come from the bodies' kinds; forces between points of any
//! bodies are [`ForceTerm`]s: [`Attachments`], [`Dissipation`] (dashpots and drag) and [`Volumes`].
//! Both the incremental potential of backward Euler ([`crate::dynamics`]) and the residual of any
//! integrator ([`crate::implicit`]) are assembled from them.
//!
//! Some coefficients are lagged: the matrix D of stiffness-proportional damping, the areas and
//! levers of drag and the stiffness of dashpots belong to positions that the caller names before
//! the solve. Taken where the stage is predicted to end, they leave schemes of second order what
//! they are, and D stays positive semi-definite and constant during the solve.

mod attachments;
mod bodies;
mod dissipation;
mod volumes;

use stiction_bodies::{
    Arm, Body, Hessian, Model, State,
    kind::{BodyAt, StepStart},
};
use stiction_math::{Mat3, Quat, ScatterError, Vec3, parallel};

pub use attachments::Attachments;
pub use bodies::BodyForces;
pub use dissipation::Dissipation;
pub use volumes::Volumes;

use crate::implicit::Jacobian;

/// Positions, orientations and velocities at which forces are evaluated.
#[derive(Clone, Copy, Debug)]
pub struct ForceState<'a> {
    /// One per block [m].
    pub x: &'a [Vec3],
    /// One per rigid body.
    pub rotations: &'a [Quat],
    /// One per block [m/s, rad/s].
    pub v: &'a [Vec3],
    /// The start of the step, from which reference frames of rods are transported.
    pub start: StepStart<'a>,
    /// The time [s], at which moving points of the world are where they are.
    pub time: f64,
}

impl<'a> ForceState<'a> {
    /// Positions and velocities of `state`, which is also the start of the step.
    pub fn of(state: &'a State) -> Self {
        Self {
            x: &state.x,
            rotations: &state.rotations,
            v: &state.v,
            start: StepStart::new(&state.x, &state.frames),
            time: state.time,
        }
    }

    /// The blocks of one body.
    pub fn body(&self, body: &Body) -> BodyAt<'a> {
        BodyAt {
            x: &self.x[body.blocks.clone()],
            v: &self.v[body.blocks.clone()],
            rotations: self.rotations,
            first: body.blocks.start,
            start: self.start,
        }
    }
}

/// The space in which forces on the angular blocks of rigid bodies are expressed.
#[derive(Clone, Copy, Debug)]
pub enum TorqueForm<'a> {
    /// Torques in the world frame, as the balance of momentum needs them.
    Balance,
    /// Tᵀ times the torque, with the Jacobian T of every rotation vector: derivatives of a potential
    /// by rotation vectors. Second derivatives of rotations are left out (Gauss–Newton).
    Potential(&'a [Mat3]),
}

/// Weights of the blocks −(b ∂f/∂v + c (∂f/∂q) T) of a force.
#[derive(Clone, Copy, Debug)]
pub struct Rates<'a> {
    /// c [s²].
    pub position: f64,
    /// b [s].
    pub velocity: f64,
    /// T: the Jacobian of every rotation vector.
    pub turns: &'a [Mat3],
    /// The form of the forces that are differentiated.
    pub form: TorqueForm<'a>,
}

/// Changes of positions and velocities; world rotations and angular velocities for angular blocks.
#[derive(Clone, Copy, Debug)]
pub struct Change<'a> {
    /// dq [m, rad].
    pub dq: &'a [Vec3],
    /// dv [m/s, rad/s].
    pub dv: &'a [Vec3],
}

/// A force between points of any bodies.
pub trait ForceTerm {
    /// sum += s E for the energy E [J], or the dissipation potential ½ uᵀ C u [W] where coefficients
    /// are lagged; nothing for forces without either.
    fn add_energy(&self, model: &Model, at: ForceState<'_>, s: f64, sum: &mut f64);

    /// f += s f(q, v).
    fn add_force(
        &self,
        model: &Model,
        at: ForceState<'_>,
        form: TorqueForm<'_>,
        s: f64,
        f: &mut [Vec3],
    );

    /// Calls `sink` with blocks (i, j) whose sum is −(b ∂f/∂v + c (∂f/∂q) T).
    fn for_each_block(
        &self,
        model: &Model,
        at: ForceState<'_>,
        rates: &Rates<'_>,
        sink: &mut dyn FnMut(u32, u32, &Mat3),
    );

    /// y += s (∂f/∂q dq + ∂f/∂v dv), in the form [`TorqueForm::Balance`].
    fn add_product(
        &self,
        model: &Model,
        at: ForceState<'_>,
        change: Change<'_>,
        s: f64,
        y: &mut [Vec3],
    );
}

/// The forces of a model, with their lagged coefficients.
pub struct Forces {
    bodies: BodyForces,
    dissipation: Dissipation,
}

impl Forces {
    /// Workspace for `model`.
    pub fn new(model: &Model) -> Self {
        Self {
            bodies: BodyForces::new(model),
            dissipation: Dissipation::new(model),
        }
    }

    /// Takes lagged coefficients from positions `x` [m] and orientations `rotations`.
    pub fn lag(
        &mut self,
        model: &Model,
        x: &[Vec3],
        rotations: &[Quat],
    ) -> Result<(), ScatterError> {
        self.bodies.lag(model, x)?;
        self.dissipation.lag(model, x, rotations);
        Ok(())
    }

    /// The forces between points, in the order in which they are summed.
    fn terms(&self) -> [&dyn ForceTerm; 3] {
        [&Volumes, &Attachments, &self.dissipation]
    }

    /// f += s f(q, v).
    pub fn add(
        &self,
        model: &Model,
        at: ForceState<'_>,
        s: f64,
        f: &mut [Vec3],
    ) -> Result<(), ScatterError> {
        self.bodies.add(model, at, s, f)?;
        for term in self.terms() {
            term.add_force(model, at, TorqueForm::Balance, s, f);
        }
        Ok(())
    }

    /// y += s (∂f/∂q dq + ∂f/∂v dv), with the exact or projected Hessians of elasticity.
    pub fn add_product(
        &self,
        model: &Model,
        at: ForceState<'_>,
        hessian: Hessian,
        change: Change<'_>,
        s: f64,
        y: &mut [Vec3],
    ) -> Result<(), ScatterError> {
        self.bodies.add_product(model, at, hessian, change, s, y)?;
        for term in self.terms() {
            term.add_product(model, at, change, s, y);
        }
        Ok(())
    }

    /// J ← ∂p/∂v − a ∂f/∂v − a² (∂f/∂q) T for positions that follow v at the rate `a` [s], where
    /// T = I for nodes and the given Jacobian of the rotation vector for the angular block of each
    /// rigid body. Elasticity has its exact derivative or its projection, as `hessian` says.
    pub fn linearise(
        &mut self,
        model: &Model,
        at: ForceState<'_>,
        turns: &[Mat3],
        a: f64,
        hessian: Hessian,
        jacobian: &mut Jacobian,
    ) -> Result<(), ScatterError> {
        jacobian.set_zero();
        self.bodies
            .linearise(model, at, turns, a, hessian, jacobian)?;
        let rates = Rates {
            position: a * a,
            velocity: a,
            turns,
            form: TorqueForm::Balance,
        };
        let mut done = Ok(());
        for term in self.terms() {
            term.for_each_block(model, at, &rates, &mut |i, j, m| {
                if done.is_ok() {
                    done = jacobian.add(i as usize, j as usize, m);
                }
            });
        }
        Volumes::add_ranks(model, at, a * a, jacobian);
        done
    }
}

/// p ← M v [kg·m/s, kg·m²/s].
pub fn momentum(model: &Model, at: ForceState<'_>, p: &mut [Vec3]) {
    for_bodies(model, p, |_, body, p| {
        body.kind.mechanics().momentum(&at.body(body), p);
    });
}

/// y += ∂p/∂v dv + ∂p/∂q dq.
pub fn add_momentum_product(model: &Model, at: ForceState<'_>, change: Change<'_>, y: &mut [Vec3]) {
    for_bodies(model, y, |_, body, y| {
        let blocks = body.blocks.clone();
        let (dq, dv) = (&change.dq[blocks.clone()], &change.dv[blocks]);
        let mechanics = body.kind.mechanics();
        mechanics.add_momentum_product(&at.body(body), dq, dv, 1.0, y);
    });
}

/// Calls `f` for every body in parallel, with its number and its slice of a vector over all blocks.
pub(crate) fn for_bodies<R: Send>(
    model: &Model,
    all: &mut [Vec3],
    f: impl Fn(usize, &Body, &mut [Vec3]) -> R + Sync,
) -> Vec<R> {
    let mut slices = split(all, &model.bodies);
    parallel::map_chunks_mut(&mut slices, 1, |b, slice| f(b, &model.bodies[b], slice[0]))
}

/// Cuts a vector over all blocks into one slice per body.
pub(crate) fn split<'a>(all: &'a mut [Vec3], bodies: &[Body]) -> Vec<&'a mut [Vec3]> {
    let mut rest = all;
    let mut cut = Vec::with_capacity(bodies.len());
    for body in bodies {
        let (mine, after) = rest.split_at_mut(body.blocks.len());
        cut.push(mine);
        rest = after;
    }
    cut
}

/// The Jacobian of the rotation vector for a lever on `block`; none for weights.
fn turn_of<'a>(model: &Model, turns: &'a [Mat3], block: u32, arm: &Arm) -> Option<&'a Mat3> {
    let Arm::Lever(_) = arm else { return None };
    let body = model.body_of(block as usize)?;
    let index = body.kind.mechanics().orientation()?;
    turns.get(index)
}

/// The derivative of a point's velocity by the rate of a rotation vector, or by a node's velocity.
fn turned(model: &Model, turns: &[Mat3], block: u32, arm: &Arm) -> Mat3 {
    match turn_of(model, turns, block, arm) {
        Some(turn) => arm.matrix() * turn,
        None => arm.matrix(),
    }
}
