//! Stage build: the incremental potential of one backward Euler step, its gradient and its Hessian.
//!
//! With x(v) = xᵗ + h v (and R(v) = exp(h ω) Rᵗ for rigid bodies), one step without contact is
//! the minimum over v of
//!
//! Φ(v) = ½ (v − v̂)ᵀ M (v − v̂) + E(x(v)) + h ψ(v)   [J],
//!
//! where v̂ = vᵗ + h a is the velocity the body would have by inertia and uniform acceleration
//! alone (for the angular part of a rigid body, the exact torque-free spin), E is the sum of all
//! elastic terms and attachments, and ψ(v) = ½ vᵀ D v collects damping and drag with coefficients
//! from the start of the step. ∂Φ/∂v is an impulse [N·s], so `A v = f + Bᵀ r` has impulses r.

mod points;
mod prescribe;

use crate::error::SolveError;
use points::{Dashpot, Ends};
use rayon::prelude::*;
use stiction_bodies::{
    Body, BodyKind, BodySplit, Hessian, Model, Rods, State, Stencil,
    rigid::{advance_rotation, left_jacobian},
    rod::RodStart,
    surface::vertex_areas,
};
use stiction_math::{BlockMatrix, Mat3, Part, PartShape, Quat, ScatterError, SystemMatrix, Vec3};

/// The potential of the current step. Scratch: made once, filled anew by every step.
pub struct Dynamics {
    /// The generation of the model that it was made for.
    generation: u64,
    h: f64,
    /// Orientations at the start of the step.
    r0: Vec<Quat>,
    /// Twists of rods that are no degrees of freedom, at the start of the step [rad], and which of them
    /// are held.
    angle: Vec<f64>,
    held: Vec<bool>,
    /// v̂ of each body [m/s]; empty for rods, for which it is told by `push`.
    inertial: Vec<Vec<Vec3>>,
    /// What gravity and the like give to the velocity of each body in the step [m/s].
    push: Vec<Vec3>,
    /// Whether each block's velocity is prescribed, and to what [m/s], in the order of blocks.
    fixed: Vec<bool>,
    prescribed: Vec<(usize, Vec3)>,
    /// Inertia of each rigid body at the start of the step [kg·m²].
    inertia: Vec<Mat3>,
    /// The trial configuration x(v), R(v) and the rotation Jacobians J(h ω).
    x: Vec<Vec3>,
    rotations: Vec<Quat>,
    jacobians: Vec<Mat3>,
    /// D of each body's stiffness-proportional damping, where it has any.
    damping: Vec<Option<BlockMatrix>>,
    /// Drag and attachment damping: ½ (u − w)ᵀ C (u − w) of a point or of a pair of points.
    dashpots: Vec<Dashpot>,
    /// The drag stencils of every body with drag, kept for one generation of the model.
    drag: Vec<(usize, Vec<Stencil>)>,
    surface_x: Vec<Vec3>,
    surface_v: Vec<Vec3>,
    areas: Vec<Vec3>,
    scratch: Vec<Vec3>,
}

impl Dynamics {
    /// Scratch for `model`.
    pub fn new(model: &Model) -> Self {
        let n = model.blocks();
        let damping = model
            .bodies
            .iter()
            .map(|b| match &b.kind {
                BodyKind::Deformable(d) if b.damping.stiffness > 0.0 => {
                    Some(BlockMatrix::zeros(d.pattern.clone()))
                }
                _ => None,
            })
            .collect();
        let drag = match model.air {
            None => Vec::new(),
            Some(_) => model
                .bodies
                .iter()
                .enumerate()
                .filter(|(_, b)| b.drag.is_some())
                .map(|(i, b)| {
                    (
                        i,
                        (0..b.surface.len()).map(|v| b.surface.stencil(v)).collect(),
                    )
                })
                .collect(),
        };
        let rigids = model.rigids().count();
        Self {
            generation: model.generation,
            h: 0.0,
            r0: vec![Quat::identity(); rigids],
            angle: Vec::new(),
            held: Vec::new(),
            inertial: vec![Vec::new(); model.bodies.len()],
            push: vec![Vec3::zeros(); model.bodies.len()],
            fixed: vec![false; n],
            prescribed: Vec::new(),
            inertia: vec![Mat3::zeros(); rigids],
            x: vec![Vec3::zeros(); n],
            rotations: vec![Quat::identity(); rigids],
            jacobians: vec![Mat3::identity(); rigids],
            damping,
            dashpots: Vec::new(),
            drag,
            surface_x: Vec::new(),
            surface_v: Vec::new(),
            areas: Vec::new(),
            scratch: Vec::new(),
        }
    }

    /// The matrix of this potential, with the sparsity that the model's terms and attachments need.
    pub fn matrix(model: &Model) -> SystemMatrix {
        Self::matrix_with(model, |r| PartShape::Banded(r.layout().clone()))
    }

    /// The matrix with elastic terms replaced by what stands for them in an alternating integrator:
    /// that of rods is the same for all directions, unless something is attached to them.
    pub fn split_matrix(model: &Model) -> SystemMatrix {
        let attached = |body: &Body| {
            let mut springs = model.attachments.iter();
            springs.any(|s| {
                let mut blocks = s.a.blocks().into_iter().chain(s.b.blocks());
                blocks.any(|i| body.blocks.contains(&(i as usize)))
            })
        };
        let bare: Vec<usize> = model
            .rods()
            .filter(|(body, _)| !attached(body))
            .map(|(_, rods)| rods.edges().start)
            .collect();
        Self::matrix_with(model, |r| {
            if bare.contains(&r.edges().start) {
                PartShape::Scalar(r.first_blocks().collect())
            } else {
                PartShape::Banded(r.layout().clone())
            }
        })
    }

    fn matrix_with(model: &Model, of_rods: impl Fn(&Rods) -> PartShape) -> SystemMatrix {
        let parts = model
            .bodies
            .iter()
            .map(|b| match &b.kind {
                BodyKind::Deformable(d) => PartShape::Sparse(d.pattern.clone()),
                BodyKind::Rigid(_) => PartShape::Dense,
                BodyKind::Rods(r) => of_rods(r),
            })
            .collect();
        let mut pairs = Vec::new();
        for spring in &model.attachments {
            for i in spring.a.blocks() {
                for j in spring.b.blocks() {
                    pairs.push((i, j));
                }
            }
        }
        SystemMatrix::new(parts, &pairs)
    }

    /// Stage begin: prescribed velocities and inertial velocities for a step of `h` [s] from `state`;
    /// later calls in this step must pass the same state. Leaves the first guess of the velocity in
    /// `v`. The potential and its derivatives also need [`Dynamics::lag`].
    pub fn begin(
        &mut self,
        model: &Model,
        state: &State,
        h: f64,
        v: &mut [Vec3],
    ) -> Result<(), SolveError> {
        if !(h.is_finite() && h > 0.0) {
            return Err(SolveError::TimeStep(h));
        }
        if self.generation != model.generation {
            *self = Self::new(model);
        }
        self.h = h;
        self.r0.copy_from_slice(&state.rotations);
        self.angle.clone_from(&state.frames.angle);
        self.held.clone_from(&state.frames.held);
        // A deformable body near equilibrium is better guessed by its last velocity than by free fall;
        // Newton finds free fall in one iteration anyway.
        v.copy_from_slice(&state.v);
        for (b, body) in model.bodies.iter().enumerate() {
            // In the middle of the step: the mean of what changes steadily.
            let gravity = model.gravity_at(state.time + 0.5 * h);
            let push = (gravity + body.acceleration) * h;
            self.push[b] = push;
            if let BodyKind::Rods(_) = &body.kind {
                continue;
            }
            let hat = &mut self.inertial[b];
            hat.clear();
            hat.extend(state.v[body.blocks.clone()].iter().map(|v| v + push));
            if let BodyKind::Rigid(r) = &body.kind {
                let q = &state.rotations[r.index];
                self.inertia[r.index] = r.world_inertia(q);
                hat[1] = r.free_spin(q, &state.v[body.blocks.start + 1], h);
                v[body.blocks.clone()].copy_from_slice(hat);
            }
        }
        self.prescribe(model, state, h);
        for (i, prescribed) in &self.prescribed {
            v[*i] = *prescribed;
        }
        Ok(())
    }

    /// The start of the step of a body of rods.
    pub(crate) fn rod_start<'a>(
        &'a self,
        body: &Body,
        rods: &Rods,
        state: &'a State,
    ) -> RodStart<'a> {
        RodStart {
            angle: self.angle.get(rods.edges()).unwrap_or_default(),
            held: self.held.get(rods.edges()).unwrap_or_default(),
            ..rods.start(&state.x[body.blocks.clone()], &state.frames)
        }
    }

    /// Scratch for one vector per block, valid until the potential is evaluated again.
    pub fn scratch(&mut self) -> &mut [Vec3] {
        &mut self.x
    }

    /// Sets the trial configuration to the end of the step: q⁺ = q + h v̄ with the mean velocity v̄,
    /// rotations by the exponential.
    pub fn finish(&mut self, model: &Model, state: &State, mean: &[Vec3]) {
        let h = self.h;
        for i in 0..mean.len() {
            self.x[i] = state.x[i] + mean[i] * h;
        }
        for (body, rigid) in model.rigids() {
            let ang = body.blocks.start + 1;
            self.x[ang] = Vec3::zeros();
            self.rotations[rigid.index] =
                advance_rotation(&state.rotations[rigid.index], &mean[ang], h);
        }
    }

    /// Positions [m] and orientations at the end of the step, after [`Dynamics::finish`].
    pub fn end(&self) -> (&[Vec3], &[Quat]) {
        (&self.x, &self.rotations)
    }

    /// Stage advance: the state becomes that at the end of the step, at the time `end` [s], with
    /// velocities `v`, after [`Dynamics::finish`]. The frames of rods follow.
    pub fn advance(&mut self, model: &Model, state: &mut State, v: &[Vec3], end: f64) {
        state.v.copy_from_slice(v);
        state.rotations.copy_from_slice(&self.rotations);
        for (body, rods) in model.rods() {
            let (from, to) = (&state.x[body.blocks.clone()], &self.x[body.blocks.clone()]);
            if let Some(angle) = rods.settled(to, &self.rod_start(body, rods, state)) {
                state.frames.angle[rods.edges()].copy_from_slice(&angle);
                state.frames.held[rods.edges()].copy_from_slice(&self.held[rods.edges()]);
            }
            rods.carry(from, to, &mut state.frames);
        }
        std::mem::swap(&mut state.x, &mut self.x);
        state.time = end;
    }

    /// Takes the coefficients of dissipation from the start of the step, which the potential and its
    /// derivatives need.
    pub fn lag(&mut self, model: &Model, state: &State) -> Result<(), ScatterError> {
        let damped = self.damping.iter().any(Option::is_some);
        self.scratch
            .resize(if damped { self.x.len() } else { 0 }, Vec3::zeros());
        let slices = match damped {
            true => split(&mut self.scratch, &model.bodies),
            false => Vec::new(),
        };
        self.damping
            .par_iter_mut()
            .zip(&model.bodies)
            .zip(slices)
            .try_for_each(|((d, body), g)| {
                if let (Some(d), BodyKind::Deformable(soft)) = (d, &body.kind) {
                    d.set_zero();
                    let x = &state.x[body.blocks.clone()];
                    for term in &soft.terms {
                        term.add_local(x, Hessian::Projected, 0.0, g, body.damping.stiffness, d)?;
                    }
                }
                Ok::<(), ScatterError>(())
            })?;
        self.dashpots.clear();
        if let Some(air) = &model.air {
            for (entry, (body, stencils)) in self.drag.iter().enumerate() {
                let body = &model.bodies[*body];
                let Some(drag) = &body.drag else { continue };
                body.surface
                    .positions(&state.x, &state.rotations, &mut self.surface_x);
                body.surface.velocities(state, &mut self.surface_v);
                vertex_areas(&self.surface_x, &body.surface.triangles, &mut self.areas);
                for i in 0..stencils.len() {
                    let wind = air.velocity(&self.surface_x[i], state.time + self.h);
                    let c = drag.matrix(air, &self.areas[i], &(self.surface_v[i] - wind));
                    if c != Mat3::zeros() {
                        self.dashpots.push(Dashpot {
                            ends: Ends::Drag(entry, i),
                            c,
                            wind,
                        });
                    }
                }
            }
        }
        for (i, spring) in model.attachments.iter().enumerate() {
            if spring.damping > 0.0 {
                let d = spring.a.position(state) - spring.b.position(state);
                let c = spring.pull(&d).hessian * spring.damping;
                self.dashpots.push(Dashpot {
                    ends: Ends::Attachment(i),
                    c,
                    wind: Vec3::zeros(),
                });
            }
        }
        Ok(())
    }

    /// Whether each block's velocity is prescribed.
    pub fn fixed(&self) -> &[bool] {
        &self.fixed
    }

    /// Φ(v) [J].
    pub fn potential(&mut self, model: &Model, state: &State, v: &[Vec3]) -> f64 {
        self.configure(model, state, v);
        let (h, this) = (self.h, &*self);
        let parts: Vec<f64> = model
            .bodies
            .par_iter()
            .enumerate()
            .map(|(b, body)| {
                let r = body.blocks.clone();
                let (v, hat) = (&v[r.clone()], &this.inertial[b]);
                match &body.kind {
                    BodyKind::Deformable(d) => {
                        let alpha = body.damping.mass;
                        let mut sum = 0.0;
                        let pattern = &d.pattern;
                        for i in 0..v.len() {
                            let m_v = d.mass.row(pattern, v, i);
                            let m_hat = d.mass.row(pattern, hat, i);
                            sum += 0.5 * (v[i] - hat[i]).dot(&(m_v - m_hat))
                                + 0.5 * h * alpha * v[i].dot(&m_v);
                        }
                        if let Some(damping) = &this.damping[b] {
                            let d_v = |i: usize| v[i].dot(&damping.row_product(i, v));
                            sum += 0.5 * h * (0..v.len()).map(d_v).sum::<f64>();
                        }
                        sum + d
                            .terms
                            .iter()
                            .map(|t| t.energy(&this.x[r.clone()]))
                            .sum::<f64>()
                    }
                    BodyKind::Rigid(rigid) => {
                        let j = &this.inertia[rigid.index];
                        let (dv, dw) = (v[0] - hat[0], v[1] - hat[1]);
                        let alpha = h * body.damping.mass;
                        0.5 * (rigid.mass * dv.norm_squared() + dw.dot(&(j * dw)))
                            + 0.5
                                * alpha
                                * (rigid.mass * v[0].norm_squared() + v[1].dot(&(j * v[1])))
                    }
                    BodyKind::Rods(rods) => {
                        let start = this.rod_start(body, rods, state);
                        let alpha = h * body.damping.mass;
                        let square = |m: &Vec3, v: &Vec3| v.dot(&m.component_mul(v));
                        let mut sum = rods.energy(&this.x[r.clone()], &start);
                        this.each_hat(b, body, rods, state, |i, hat| {
                            let m = &rods.mass()[i];
                            sum += 0.5 * (square(m, &(v[i] - hat)) + alpha * square(m, &v[i]));
                        });
                        if body.damping.stiffness > 0.0 {
                            let mut d_v = vec![Vec3::zeros(); v.len()];
                            rods.add_product(&start, body.damping.stiffness, v, &mut d_v);
                            sum += 0.5 * h * v.iter().zip(&d_v).map(|(v, d)| v.dot(d)).sum::<f64>();
                        }
                        sum
                    }
                }
            })
            .collect();
        let mut sum: f64 = parts.iter().sum();
        for spring in &model.attachments {
            sum += spring.pull(&self.difference(spring)).energy;
        }
        for pot in &self.dashpots {
            let u = self.relative_velocity(model, pot, v);
            sum += 0.5 * h * u.dot(&(pot.c * u));
        }
        sum
    }

    /// g ← ∂Φ/∂v [N·s], zero at prescribed blocks.
    pub fn gradient(
        &mut self,
        model: &Model,
        state: &State,
        v: &[Vec3],
        g: &mut [Vec3],
    ) -> Result<(), ScatterError> {
        self.configure(model, state, v);
        let this = &*self;
        let slices = split(g, &model.bodies);
        model
            .bodies
            .par_iter()
            .zip(slices)
            .enumerate()
            .try_for_each(|(b, (body, g))| {
                this.body_gradient((body, b), state, v, g, false);
                if let BodyKind::Deformable(soft) = &body.kind {
                    for term in &soft.terms {
                        term.add_gradient(&this.x[body.blocks.clone()], this.h, g)?;
                    }
                }
                if let BodyKind::Rods(rods) = &body.kind {
                    let x = &this.x[body.blocks.clone()];
                    rods.add_gradient(x, &this.rod_start(body, rods, state), this.h, g);
                }
                Ok::<(), ScatterError>(())
            })?;
        self.springs(model, v, g, None);
        self.clear_fixed(g);
        Ok(())
    }

    /// g ← ∂Φ/∂v and A ← the projected ∂²Φ/∂v² [kg], with prescribed blocks eliminated.
    ///
    /// Second derivatives of rotations are left out of A (Gauss–Newton), which keeps it positive
    /// definite; Newton on a body in free flight never sees them.
    pub fn linearise(
        &mut self,
        model: &Model,
        state: &State,
        v: &[Vec3],
        g: &mut [Vec3],
        a: &mut SystemMatrix,
    ) -> Result<(), ScatterError> {
        self.linearise_with((model, state), v, g, a, None)
    }

    /// The same with elastic terms replaced by what stands for them in an alternating integrator,
    /// given for every body.
    pub fn linearise_with(
        &mut self,
        (model, state): (&Model, &State),
        v: &[Vec3],
        g: &mut [Vec3],
        a: &mut SystemMatrix,
        splits: Option<&mut [BodySplit]>,
    ) -> Result<(), ScatterError> {
        self.configure(model, state, v);
        a.set_zero();
        let this = &*self;
        let slices = split(g, &model.bodies);
        let splits: Vec<Option<&mut BodySplit>> = match splits {
            None => model.bodies.iter().map(|_| None).collect(),
            Some(splits) => splits.iter_mut().map(Some).collect(),
        };
        let parts = a
            .parts_mut()
            .par_iter_mut()
            .zip(&model.bodies)
            .zip(slices)
            .zip(splits)
            .enumerate();
        parts.try_for_each(|(b, (((part, body), g), split))| {
            this.body_gradient((body, b), state, v, g, split.is_some());
            this.body_matrix((body, b), state, part, g, split)
        })?;
        self.springs(model, v, g, Some(a));
        self.clear_fixed(g);
        a.eliminate(&self.fixed);
        Ok(())
    }

    /// One body's part of A; elastic terms add their gradient on the way.
    fn body_matrix(
        &self,
        (body, b): (&Body, usize),
        state: &State,
        part: &mut Part,
        g: &mut [Vec3],
        split: Option<&mut BodySplit>,
    ) -> Result<(), ScatterError> {
        let h = self.h;
        let alpha = 1.0 + h * body.damping.mass;
        match (&body.kind, part) {
            (BodyKind::Deformable(d), Part::Sparse(m)) => {
                d.mass.add_to(alpha, m);
                if let Some(damping) = &self.damping[b] {
                    m.add_scaled(h, damping)?;
                }
                let x = &self.x[body.blocks.clone()];
                match split {
                    Some(BodySplit::Terms(splits)) => {
                        for split in splits {
                            split.add_gradient(x, h, g)?;
                            split.add_metric(h * h, m)?;
                        }
                    }
                    _ => {
                        for term in &d.terms {
                            term.add_local(x, Hessian::Projected, h, g, h * h, m)?;
                        }
                    }
                }
            }
            (BodyKind::Rigid(r), Part::Dense(m)) => {
                for c in 0..3 {
                    m[(c, c)] += alpha * r.mass;
                }
                let mut angular = m.fixed_view_mut::<3, 3>(3, 3);
                angular += self.inertia[r.index] * alpha;
            }
            (BodyKind::Rods(rods), part) if split.is_some() => {
                if let Some(BodySplit::Rods(split)) = split {
                    let x = &self.x[body.blocks.clone()];
                    split.add_gradient(rods, x, h, g);
                    split.add_matrix(rods, h * h, alpha, part);
                }
            }
            (BodyKind::Rods(rods), Part::Banded(m)) => {
                let start = self.rod_start(body, rods, state);
                let x = &self.x[body.blocks.clone()];
                rods.add_gradient(x, &start, h, g);
                rods.add_matrix(x, &start, Hessian::Projected, h * h, alpha, m);
                let beta = body.damping.stiffness;
                if beta > 0.0 {
                    rods.add_matrix(start.x, &start, Hessian::Projected, h * beta, 0.0, m);
                }
            }
            // `Dynamics::matrix` gives every body the part of its kind.
            (BodyKind::Deformable(_) | BodyKind::Rigid(_) | BodyKind::Rods(_), _) => {}
        }
        Ok(())
    }

    /// Sets the trial configuration to x(v), R(v).
    fn configure(&mut self, model: &Model, state: &State, v: &[Vec3]) {
        let h = self.h;
        for i in 0..v.len() {
            self.x[i] = state.x[i] + v[i] * h;
        }
        for (body, r) in model.rigids() {
            let ang = body.blocks.start + 1;
            self.x[ang] = Vec3::zeros();
            self.rotations[r.index] = advance_rotation(&self.r0[r.index], &v[ang], h);
            self.jacobians[r.index] = left_jacobian(&(v[ang] * h));
        }
    }

    /// v̂ of every block of a body of rods, by its number in the body. Gravity does not twist.
    fn each_hat(
        &self,
        b: usize,
        body: &Body,
        rods: &Rods,
        state: &State,
        mut take: impl FnMut(usize, Vec3),
    ) {
        let v = &state.v[body.blocks.clone()];
        let mut next = 0;
        for twists in rods.twist_block_ranges() {
            for i in next..twists.start {
                take(i, v[i] + self.push[b]);
            }
            for i in twists.clone() {
                take(i, v[i]);
            }
            next = twists.end;
        }
    }

    /// The inertia and damping part of one body's gradient; what is split off damps rods itself.
    fn body_gradient(
        &self,
        (body, b): (&Body, usize),
        state: &State,
        v: &[Vec3],
        g: &mut [Vec3],
        split: bool,
    ) {
        let r = body.blocks.clone();
        let (v, hat) = (&v[r], &self.inertial[b]);
        let alpha = self.h * body.damping.mass;
        match &body.kind {
            BodyKind::Deformable(d) => {
                for i in 0..v.len() {
                    let m_v = d.mass.row(&d.pattern, v, i);
                    g[i] = m_v * (1.0 + alpha) - d.mass.row(&d.pattern, hat, i);
                }
                if let Some(damping) = &self.damping[b] {
                    for i in 0..v.len() {
                        g[i] += damping.row_product(i, v) * self.h;
                    }
                }
            }
            BodyKind::Rigid(rigid) => {
                let j = &self.inertia[rigid.index];
                g[0] = (v[0] * (1.0 + alpha) - hat[0]) * rigid.mass;
                g[1] = j * (v[1] * (1.0 + alpha) - hat[1]);
            }
            BodyKind::Rods(rods) => {
                self.each_hat(b, body, rods, state, |i, hat| {
                    g[i] = rods.mass()[i].component_mul(&(v[i] * (1.0 + alpha) - hat));
                });
                let beta = body.damping.stiffness;
                if beta > 0.0 && !split {
                    rods.add_product(&self.rod_start(body, rods, state), self.h * beta, v, g);
                }
            }
        }
    }

    fn clear_fixed(&self, g: &mut [Vec3]) {
        for (g, fixed) in g.iter_mut().zip(&self.fixed) {
            if *fixed {
                *g = Vec3::zeros();
            }
        }
    }
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
