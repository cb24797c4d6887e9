//! The trial configuration of one implicit stage.
//!
//! Positions follow the velocity as q(v) = q̄ + a v, where q̄ and a = h γ come from the integrator's
//! table. Rotation vectors take the place of positions for rigid bodies: R(v) = exp(θ̄ + a ω) Rᵗ.
//! Prescribed blocks are where their motion puts them.

use stiction_bodies::{Model, RodFrames, State, kind::StepStart, rigid::left_jacobian};
use stiction_math::elementary::rotation;
use stiction_math::{Mat3, Quat, Vec3, reduce};

use crate::{forces::ForceState, integrators, prescribed::Prescribed};

/// A point on the trajectory of a step: positions relative to its start, momenta, and their rates.
#[derive(Clone, Debug, Default)]
pub struct Knot {
    /// Displacement from the start of the step [m]; a rotation vector for angular blocks [rad].
    pub shift: Vec<Vec3>,
    /// p [kg·m/s].
    pub p: Vec<Vec3>,
    /// v [m/s].
    pub v: Vec<Vec3>,
    /// f without contact, and contact forces [N].
    pub f: [Vec<Vec3>; 2],
}

/// The known part of a stage and its trial.
#[derive(Default)]
pub struct ImplicitStage {
    /// h γ of all forces but contact [s].
    pub a: f64,
    /// h γ of contact forces [s].
    pub a_contact: f64,
    /// The length of the step [s].
    pub h: f64,
    /// The time at the start of the step and at the end of the stage [s].
    pub times: [f64; 2],
    /// The configuration at the start of the step.
    pub(super) start_x: Vec<Vec3>,
    start_rotations: Vec<Quat>,
    start_frames: RodFrames,
    /// Displacement that is known before the solve, and known momentum.
    shift: Vec<Vec3>,
    pub(super) p: Vec<Vec3>,
    /// Positions of the trial [m].
    pub x: Vec<Vec3>,
    /// Orientations of the trial.
    pub rotations: Vec<Quat>,
    /// Jacobians of the rotation vectors of the trial.
    pub turns: Vec<Mat3>,
    /// Velocities of the trial [m/s].
    pub v: Vec<Vec3>,
    pub(super) moved: Vec<Vec3>,
    /// The rate of the velocity that friction acts on with v: 1, or a/h where that is the mean of the step.
    pub slip_rate: f64,
    /// Mean velocities of the trial over the step [m/s], where friction acts on them.
    slip: Vec<Vec3>,
}

impl ImplicitStage {
    /// The stage of a table for a step of `h` [s] from `state`, with the knots it refers to.
    pub(super) fn set(
        &mut self,
        state: &State,
        h: f64,
        table: &integrators::SchemeStage,
        start: &Knot,
        before: Option<&Knot>,
        first: Option<&Knot>,
    ) {
        self.a = h * table.implicit;
        self.a_contact = h * table.contact[1];
        self.h = h;
        self.slip_rate = if table.mean_slip { self.a / h } else { 1.0 };
        self.slip.clear();
        if table.mean_slip {
            self.slip.resize(state.x.len(), Vec3::zeros());
        }
        self.times = [state.time, state.time + table.time * h];
        self.start_x.clone_from(&state.x);
        self.start_rotations.clone_from(&state.rotations);
        self.start_frames.clone_from(&state.frames);
        self.rotations.clone_from(&state.rotations);
        self.turns.resize(state.rotations.len(), Mat3::identity());
        self.p.clone_from(&start.p);
        for list in [&mut self.x, &mut self.v, &mut self.shift, &mut self.moved] {
            list.clear();
            list.resize(state.x.len(), Vec3::zeros());
        }
        for (knot, weight) in [(before, table.before), (first, table.first)] {
            let Some(knot) = knot.filter(|_| weight != 0.0) else {
                continue;
            };
            reduce::axpy(weight, &knot.shift, &mut self.shift);
            for ((p, old), from) in self.p.iter_mut().zip(&knot.p).zip(&start.p) {
                *p += (old - from) * weight;
            }
        }
        let rates = [
            (Some(start), table.start_rate, table.contact[0]),
            (first, table.first_rate, table.first_rate),
        ];
        for (knot, weight, contact) in rates {
            let Some(knot) = knot else { continue };
            if weight != 0.0 {
                reduce::axpy(h * weight, &knot.v, &mut self.shift);
                reduce::axpy(h * weight, &knot.f[0], &mut self.p);
            }
            if contact != 0.0 && !knot.f[1].is_empty() {
                reduce::axpy(h * contact, &knot.f[1], &mut self.p);
            }
        }
    }

    /// Sets the trial to q(v).
    pub fn configure(&mut self, model: &Model, prescribed: &Prescribed, v: &[Vec3]) {
        self.v.copy_from_slice(v);
        for i in 0..v.len() {
            self.moved[i] = self.shift[i] + v[i] * self.a;
        }
        prescribed.place(&mut self.moved);
        for (slip, moved) in self.slip.iter_mut().zip(&self.moved) {
            *slip = moved / self.h;
        }
        for i in 0..v.len() {
            self.x[i] = self.start_x[i] + self.moved[i];
        }
        for (body, rigid) in model.rigids() {
            let ang = body.blocks.start + 1;
            let theta = self.moved[ang];
            self.x[ang] = Vec3::zeros();
            let mut turned = rotation(&theta) * self.start_rotations[rigid.index];
            turned.renormalize();
            self.rotations[rigid.index] = turned;
            self.turns[rigid.index] = left_jacobian(&theta);
        }
    }

    /// The velocities with which everything ends the stage where the step began [m/s].
    pub fn stay(&self) -> Vec<Vec3> {
        self.shift.iter().map(|s| -s / self.a).collect()
    }

    /// The trial as a place to evaluate forces at.
    pub fn place(&self) -> ForceState<'_> {
        ForceState {
            x: &self.x,
            rotations: &self.rotations,
            v: &self.v,
            start: StepStart::new(&self.start_x, &self.start_frames),
            time: self.times[1],
        }
    }

    /// The trial as a place to evaluate contact forces at, with the velocities that friction acts on.
    pub fn contact_place(&self) -> ForceState<'_> {
        let v = if self.slip.is_empty() {
            &self.v
        } else {
            &self.slip
        };
        ForceState { v, ..self.place() }
    }

    /// Positions [m] and orientations at the start of the step.
    pub fn start(&self) -> (&[Vec3], &[Quat]) {
        (&self.start_x, &self.start_rotations)
    }

    /// The time at the end of the stage [s].
    pub fn time(&self) -> f64 {
        self.times[1]
    }

    /// The displacement from the start of the step to the trial.
    pub fn moved(&self) -> &[Vec3] {
        &self.moved
    }
}
