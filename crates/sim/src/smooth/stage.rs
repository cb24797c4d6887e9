//! The residual of one implicit stage [larionov, Eq. 15] and its Jacobian.
//!
//! With positions q(v) = q̄ + a v, where q̄ and a = h γ come from the integrator's table,
//!
//! r(v) = p(q(v), v) − p̄ − a f(q(v), v) − a_c f_c(q(v), v)   [N·s].
//!
//! Rotation vectors take the place of positions for rigid bodies: R(v) = exp(θ̄ + a ω) Rᵗ. Blocks
//! whose motion is prescribed are where it puts them and have no residual.

use stiction_bodies::{Hessian, Model, State, rigid::left_jacobian};
use stiction_contact::smooth::Room;
use stiction_math::{LinearOperator, Mat3, Quat, ScatterError, Vec3, reduce};

use super::{
    contact::Contacts,
    guard::{Configuration, Guard},
};
use crate::{
    error::SolveError,
    forces::{Forces, Place, momentum},
    integrators,
    jacobian::Jacobian,
    prescribed::Prescribed,
};

/// A point on the way of a step: positions relative to its start, momenta, and their rates.
#[derive(Clone, Debug, Default)]
pub(super) struct Knot {
    /// Displacement from the start of the step [m]; a rotation vector for angular blocks [rad].
    pub shift: Vec<Vec3>,
    /// p [kg·m/s].
    pub p: Vec<Vec3>,
    /// v [m/s].
    pub v: Vec<Vec3>,
    /// f without contact, and contact forces [N].
    pub f: [Vec<Vec3>; 2],
}

/// What a stage is made of and where its trial is.
#[derive(Default)]
pub(super) struct Stage {
    /// h γ of all forces and of contact [s].
    pub a: f64,
    pub a_contact: f64,
    /// The time at the end of the stage [s].
    pub time: f64,
    /// Where the step started.
    start_x: Vec<Vec3>,
    start_rotations: Vec<Quat>,
    /// Displacement that is known before the solve, and known momentum.
    shift: Vec<Vec3>,
    p: Vec<Vec3>,
    /// The trial.
    pub x: Vec<Vec3>,
    pub rotations: Vec<Quat>,
    pub turns: Vec<Mat3>,
    pub v: Vec<Vec3>,
    moved: Vec<Vec3>,
    scratch: Vec<Vec3>,
    /// Blocks of contacts that the Jacobian has had room for since the last search.
    pub room: Room,
}

impl Stage {
    /// The stage of a table for a step of `h` [s] from `state`, with the knots it refers to.
    pub fn set(
        &mut self,
        state: &State,
        h: f64,
        table: &integrators::Stage,
        start: &Knot,
        before: Option<&Knot>,
        first: Option<&Knot>,
    ) {
        self.a = h * table.implicit;
        self.a_contact = h * table.contact[1];
        self.time = state.time + table.time * h;
        self.start_x.clone_from(&state.x);
        self.start_rotations.clone_from(&state.rotations);
        self.rotations.clone_from(&state.rotations);
        self.turns.resize(state.rotations.len(), Mat3::identity());
        self.p.clone_from(&start.p);
        for list in [
            &mut self.x,
            &mut self.v,
            &mut self.shift,
            &mut self.scratch,
            &mut self.moved,
        ] {
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
        for i in 0..v.len() {
            self.x[i] = self.start_x[i] + self.moved[i];
        }
        for (body, rigid) in model.rigids() {
            let ang = body.blocks.start + 1;
            let theta = self.moved[ang];
            self.x[ang] = Vec3::zeros();
            let mut turned = Quat::from_scaled_axis(theta) * self.start_rotations[rigid.index];
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
    pub fn place(&self) -> Place<'_> {
        Place {
            x: &self.x,
            rotations: &self.rotations,
            v: &self.v,
        }
    }

    /// The displacement from the start of the step to the trial.
    pub fn moved(&self) -> &[Vec3] {
        &self.moved
    }
}

/// A stage with everything its residual needs.
pub(super) struct Problem<'a> {
    pub model: &'a Model,
    pub prescribed: &'a Prescribed,
    pub stage: &'a mut Stage,
    pub forces: &'a mut Forces,
    pub contacts: Option<&'a mut Contacts>,
    /// Where iterates must not pass through one another.
    pub guard: Option<&'a mut Guard>,
    pub jacobian: &'a mut Jacobian,
}

impl Problem<'_> {
    /// r ← r(v); its Euclidean norm.
    pub fn residual(&mut self, v: &[Vec3], r: &mut [Vec3]) -> Result<f64, SolveError> {
        let Self { model, stage, .. } = self;
        stage.configure(model, self.prescribed, v);
        momentum(model, stage.place(), r);
        reduce::axpy(-1.0, &stage.p, r);
        self.forces.add(model, stage.place(), -stage.a, r)?;
        if let Some(contacts) = self.contacts.as_deref_mut() {
            contacts.add(stage.place(), -stage.a_contact, r)?;
        }
        self.prescribed.clear(r);
        Ok(reduce::norm(r))
    }

    /// The part of the step from `v` to `to` without collisions: 1 without a barrier.
    pub fn reach(&mut self, v: &[Vec3], to: &[Vec3]) -> Result<f64, SolveError> {
        let Some(guard) = self.guard.as_deref_mut() else {
            return Ok(1.0);
        };
        let Self { model, stage, .. } = self;
        stage.configure(model, self.prescribed, v);
        let (x, rotations) = (stage.x.clone(), stage.rotations.clone());
        stage.configure(model, self.prescribed, to);
        let from = Configuration {
            x: &x,
            rotations: &rotations,
        };
        let end = Configuration {
            x: &stage.x,
            rotations: &stage.rotations,
        };
        guard.fraction(model, &from, &end, [stage.time; 2])
    }

    /// The Jacobian at v: assembled with contact for a direct solver, and without it for products,
    /// which then add contact by themselves.
    pub fn linearise(
        &mut self,
        v: &[Vec3],
        assemble: bool,
        hessian: Hessian,
    ) -> Result<(), SolveError> {
        let Self {
            model,
            stage,
            jacobian,
            ..
        } = self;
        stage.configure(model, self.prescribed, v);
        if let Some(contacts) = self.contacts.as_deref().filter(|_| assemble) {
            // Of all that may touch, few do: room for them alone keeps the factors small.
            let mut room = std::mem::take(&mut stage.room);
            let made = contacts.make_room(stage.place(), &mut room);
            stage.room = room;
            made?;
            let cliques = stage.room.cliques().map(<[u32]>::to_vec).collect();
            let room = jacobian.touch(model, cliques);
            room.map_err(ScatterError::Block)?;
        }
        self.forces.linearise(
            model,
            stage.place(),
            &stage.turns,
            stage.a,
            hessian,
            jacobian,
        )?;
        jacobian.keep_diagonal();
        if let Some(contacts) = self.contacts.as_deref().filter(|_| assemble) {
            let (a, a_contact) = (stage.a, stage.a_contact);
            contacts.add_blocks(stage.place(), &stage.turns, a, a_contact, jacobian)?;
        }
        jacobian.eliminate(self.prescribed.fixed());
        Ok(())
    }

    /// Whether contact is assembled also for products: contacts between bodies that deform depend
    /// on so many blocks that differentiating them anew in every product costs more.
    pub fn assembles(&self) -> bool {
        self.contacts.as_deref().is_some_and(Contacts::is_dense)
    }

    /// The Jacobian as products, with contact and friction differentiated on the way unless they
    /// are `assembled`.
    pub fn operator(&self, assembled: bool) -> Result<Products<'_>, SolveError> {
        let contacts = self.contacts.as_deref().filter(|_| !assembled);
        let active = contacts.map(|c| c.active(self.stage.place())).transpose()?;
        Ok(Products {
            stage: self.stage,
            prescribed: self.prescribed,
            jacobian: self.jacobian,
            contacts,
            active: active.unwrap_or_default(),
            model: self.model,
        })
    }

    /// What rounding leaves of the residual [N·s]: positions are known to ε‖x‖ only, and stiffness
    /// turns that into forces.
    pub fn noise(&self) -> f64 {
        let a = self.stage.a;
        let one = |i: usize| {
            let size = self.stage.x[i].amax() / a + self.stage.v[i].amax();
            let stiff = self.jacobian.matrix.diagonal(i).norm() * size;
            stiff * stiff
        };
        let n = self.stage.x.len();
        4.0 * f64::EPSILON * reduce::sum_ordered(n, one).sqrt()
    }

    /// f without contact and contact forces at the end of the solved stage, from the balance itself.
    pub fn knot(&mut self, v: &[Vec3], knot: &mut Knot) -> Result<(), SolveError> {
        let Self { model, stage, .. } = self;
        stage.configure(model, self.prescribed, v);
        knot.shift.clone_from(&stage.moved);
        knot.v.clear();
        knot.v.extend_from_slice(v);
        let n = v.len();
        knot.p.resize(n, Vec3::zeros());
        momentum(model, stage.place(), &mut knot.p);
        for f in &mut knot.f {
            f.clear();
            f.resize(n, Vec3::zeros());
        }
        self.forces.add(model, stage.place(), 1.0, &mut knot.f[0])?;
        if let Some(contacts) = self.contacts.as_deref_mut() {
            contacts.add(stage.place(), 1.0, &mut knot.f[1])?;
        }
        Ok(())
    }
}

/// J p without J: sparse and rank-one parts from memory, contact and friction by dual numbers.
pub(super) struct Products<'a> {
    stage: &'a Stage,
    prescribed: &'a Prescribed,
    jacobian: &'a Jacobian,
    contacts: Option<&'a Contacts>,
    active: Vec<u32>,
    model: &'a Model,
}

impl LinearOperator for Products<'_> {
    fn len(&self) -> usize {
        self.jacobian.len()
    }

    fn apply(&self, p: &[Vec3], y: &mut [Vec3]) {
        self.jacobian.apply(p, y);
        let Some(contacts) = self.contacts.filter(|_| !self.active.is_empty()) else {
            return;
        };
        let stage = self.stage;
        let mut dv = p.to_vec();
        self.prescribed.clear(&mut dv);
        let mut dx: Vec<Vec3> = dv.iter().map(|d| d * stage.a).collect();
        for (body, rigid) in self.model.rigids() {
            let ang = body.blocks.start + 1;
            dx[ang] = stage.turns[rigid.index] * dx[ang];
        }
        let mut z = vec![Vec3::zeros(); p.len()];
        let done = contacts.add_product(
            &self.active,
            stage.place(),
            &dx,
            &dv,
            -stage.a_contact,
            &mut z,
        );
        // An operator has no way to fail: what is not a number ends the iteration.
        if done.is_err() {
            y.fill(Vec3::repeat(f64::NAN));
            return;
        }
        self.prescribed.clear(&mut z);
        reduce::axpy(1.0, &z, y);
    }
}
