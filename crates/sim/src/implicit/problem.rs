//! The residual of one implicit stage [larionov, Eq. 15], its Jacobian and products with it.
//!
//! r(v) = p(q(v), v) − p̄ − a f(q(v), v) − a_c f_c(q(v), v)   [N·s], and zero at prescribed blocks.

use stiction_bodies::{Body, Hessian, Model};
use stiction_math::{LinearOperator, Mat3, ScatterError, Vec3, reduce};

use super::{
    contact::{Blocks, ContactModel, ContactRates, Trial},
    jacobian::Jacobian,
    stage::{ImplicitStage, Knot},
};
use crate::{
    error::SolveError,
    forces::{Change, Forces, add_momentum_product, momentum},
    prescribed::Prescribed,
};

/// A stage with everything its residual needs.
pub struct StageProblem<'a> {
    /// The model.
    pub model: &'a Model,
    /// Prescribed motions at the end of the stage.
    pub prescribed: &'a Prescribed,
    /// The stage and its trial.
    pub stage: &'a mut ImplicitStage,
    /// All forces but contact.
    pub forces: &'a mut Forces,
    /// Contact, if bodies collide.
    pub contacts: Option<&'a mut dyn ContactModel>,
    /// The Jacobian of the last linearisation.
    pub jacobian: &'a mut Jacobian,
}

impl StageProblem<'_> {
    /// r ← r(v); its Euclidean norm.
    pub fn residual(&mut self, v: &[Vec3], r: &mut [Vec3]) -> Result<f64, SolveError> {
        let Self { model, stage, .. } = self;
        stage.configure(model, self.prescribed, v);
        momentum(model, stage.place(), r);
        reduce::axpy(-1.0, &stage.p, r);
        self.forces.add(model, stage.place(), -stage.a, r)?;
        if let Some(contacts) = &mut self.contacts {
            contacts.add(stage.contact_place(), -stage.a_contact, r)?;
        }
        self.prescribed.clear(r);
        Ok(reduce::norm(r))
    }

    /// The admissible fraction of the step from `v` to `to`: 1 without contact.
    pub fn reach(&mut self, v: &[Vec3], to: &[Vec3]) -> Result<f64, SolveError> {
        let Some(contacts) = &mut self.contacts else {
            return Ok(1.0);
        };
        let trial = Trial {
            model: self.model,
            prescribed: self.prescribed,
            stage: self.stage,
        };
        contacts.reach(trial, v, to)
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
            forces,
            ..
        } = self;
        stage.configure(model, self.prescribed, v);
        if let Some(contacts) = self.contacts.as_mut().filter(|_| assemble) {
            // Of all that may touch, few do: blocks for them alone keep the factors small.
            let cliques = contacts.cliques(stage.contact_place())?;
            let changed = jacobian.touch(model, cliques);
            changed.map_err(ScatterError::Block)?;
        }
        let at = stage.place();
        forces.linearise(model, at, &stage.turns, stage.a, hessian, jacobian)?;
        jacobian.keep_diagonal();
        if let Some(contacts) = self.contacts.as_ref().filter(|_| assemble) {
            let mut done = Ok(());
            contacts.for_each_block(
                stage.contact_place(),
                &rates(stage),
                Blocks::All,
                &mut |i, j, m| {
                    if done.is_ok() {
                        done = jacobian.add(i, j, m);
                    }
                },
            )?;
            done?;
        }
        jacobian.eliminate(self.prescribed.fixed());
        Ok(())
    }

    /// Tells contact where an iteration of a minimisation has ended; whether its forces have changed.
    pub fn accept(&mut self) -> Result<bool, SolveError> {
        match &mut self.contacts {
            Some(contacts) => contacts.accept(self.stage.contact_place()),
            None => Ok(false),
        }
    }

    /// Whether contact is assembled also for products: contacts between bodies that deform depend
    /// on so many blocks that differentiating them anew in every product costs more.
    pub fn assembles(&self) -> bool {
        self.contacts.as_ref().is_some_and(|c| c.is_dense())
    }

    /// The Jacobian of the last linearisation as products, with contact and friction differentiated
    /// in every product unless they are `assembled`.
    pub fn operator(&self, assembled: bool) -> Result<Products<'_>, SolveError> {
        let contacts = self.contacts.as_deref().filter(|_| !assembled);
        self.products(Base::Assembled(self.jacobian), contacts)
    }

    /// The Jacobian at the trial as products, with nothing assembled: every force is differentiated
    /// in every product.
    pub fn matrix_free(&self, hessian: Hessian) -> Result<Products<'_>, SolveError> {
        let base = Base::Free(self.forces, hessian);
        self.products(base, self.contacts.as_deref())
    }

    fn products<'a>(
        &'a self,
        base: Base<'a>,
        contacts: Option<&'a dyn ContactModel>,
    ) -> Result<Products<'a>, SolveError> {
        let active = contacts
            .map(|c| c.active(self.stage.contact_place()))
            .transpose()?;
        Ok(Products {
            stage: self.stage,
            prescribed: self.prescribed,
            base,
            contacts,
            active: active.unwrap_or_default(),
            model: self.model,
        })
    }

    /// Diagonal blocks of the sparse part of the Jacobian, contact included, for a preconditioner.
    pub fn diagonal(&self, assembled: bool) -> Result<Vec<Mat3>, SolveError> {
        let matrix = &self.jacobian.matrix;
        let mut blocks: Vec<Mat3> = (0..matrix.n()).map(|i| matrix.diagonal(i)).collect();
        if let Some(contacts) = self.contacts.as_ref().filter(|_| !assembled) {
            let (stage, fixed) = (&*self.stage, self.prescribed.fixed());
            let (at, rates) = (stage.contact_place(), rates(stage));
            contacts.for_each_block(at, &rates, Blocks::Diagonal, &mut |i, _, m| {
                if !fixed[i] {
                    blocks[i] += m;
                }
            })?;
        }
        Ok(blocks)
    }

    /// Rounding error of the residual [N·s]: positions are known to ε‖x‖ only, and stiffness turns
    /// that into forces.
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

    /// The largest speed that the residual `r` [N·s] would give to a single block [m/s]: what a
    /// certificate calls the momentum residual.
    pub fn momentum_residual(&self, r: &[Vec3]) -> f64 {
        let rotations = &self.stage.rotations;
        let of = |body: &Body| body.largest_speed(&r[body.blocks.clone()], rotations);
        self.model.bodies.iter().map(of).fold(0.0, f64::max)
    }

    /// Forces without contact and contact forces at the end of the solved stage.
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
        if let Some(contacts) = &mut self.contacts {
            contacts.add(stage.contact_place(), 1.0, &mut knot.f[1])?;
        }
        Ok(())
    }
}

fn rates(stage: &ImplicitStage) -> ContactRates<'_> {
    ContactRates {
        a: stage.a,
        a_contact: stage.a_contact,
        slip: stage.slip_rate,
        turns: &stage.turns,
    }
}

/// J p at the trial of a stage.
pub struct Products<'a> {
    stage: &'a ImplicitStage,
    prescribed: &'a Prescribed,
    base: Base<'a>,
    contacts: Option<&'a dyn ContactModel>,
    active: Vec<u32>,
    model: &'a Model,
}

/// All of a product but contact.
enum Base<'a> {
    /// From the assembled matrix and its rank-one parts.
    Assembled(&'a Jacobian),
    /// By differentiating every force.
    Free(&'a Forces, Hessian),
}

impl Products<'_> {
    /// z += the parts of J p that are differentiated in the product.
    fn differentiate(&self, p: &[Vec3], z: &mut [Vec3]) -> Result<(), SolveError> {
        let stage = self.stage;
        let mut dv = p.to_vec();
        self.prescribed.clear(&mut dv);
        let mut dq: Vec<Vec3> = dv.iter().map(|d| d * stage.a).collect();
        for (body, rigid) in self.model.rigids() {
            let ang = body.blocks.start + 1;
            dq[ang] = stage.turns[rigid.index] * dq[ang];
        }
        let (at, change) = (stage.place(), Change { dq: &dq, dv: &dv });
        if let Base::Free(forces, hessian) = self.base {
            add_momentum_product(self.model, at, change, z);
            forces.add_product(self.model, at, hessian, change, -stage.a, z)?;
        }
        match self.contacts.filter(|_| !self.active.is_empty()) {
            Some(c) => {
                dv.iter_mut().for_each(|v| *v *= stage.slip_rate);
                let change = Change { dq: &dq, dv: &dv };
                c.add_product(
                    &self.active,
                    stage.contact_place(),
                    change,
                    -stage.a_contact,
                    z,
                )
            }
            None => Ok(()),
        }
    }
}

impl LinearOperator for Products<'_> {
    fn len(&self) -> usize {
        self.stage.v.len()
    }

    fn apply(&self, p: &[Vec3], y: &mut [Vec3]) {
        match self.base {
            Base::Assembled(jacobian) => {
                jacobian.apply(p, y);
                if self.active.is_empty() {
                    return;
                }
            }
            // Prescribed blocks are taken out of the system, as from the assembled one.
            Base::Free(..) => {
                let fixed = self.prescribed.fixed();
                for ((y, p), fixed) in y.iter_mut().zip(p).zip(fixed) {
                    *y = if *fixed { *p } else { Vec3::zeros() };
                }
            }
        }
        let mut z = vec![Vec3::zeros(); p.len()];
        // An operator cannot return an error: NaN ends the iteration.
        if self.differentiate(p, &mut z).is_err() {
            y.fill(Vec3::repeat(f64::NAN));
            return;
        }
        self.prescribed.clear(&mut z);
        reduce::axpy(1.0, &z, y);
    }
}
