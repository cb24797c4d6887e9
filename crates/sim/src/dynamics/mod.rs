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

mod momentum;
mod prescribe;

use stiction_bodies::{
    Body, BodySplit, Model, Rods, State,
    elements::Hessian,
    kind::{BodyAt, Inertial, StepDamping, StepEnd, StepStart, TermWeights},
    material::Damping,
    rigid::{advance_rotation, left_jacobian},
    rod::RodStart,
};
use stiction_math::{
    Mat3, MatrixPart, PartShape, Quat, ScatterError, SystemMatrix, Vec3, parallel,
};

use crate::error::SolveError;
use crate::forces::{
    Attachments, BodyForces, Dissipation, ForceState, ForceTerm, Rates, TorqueForm, for_bodies,
    split,
};

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
    /// v̂ of each body [m/s]; empty for kinds that derive it from `increments`.
    inertial: Vec<Vec<Vec3>>,
    /// Velocity increment of each body from external accelerations in the step [m/s].
    increments: Vec<Vec3>,
    /// Whether each block's velocity is prescribed, and to what [m/s], in the order of blocks.
    fixed: Vec<bool>,
    prescribed: Vec<(usize, Vec3)>,
    /// The trial configuration x(v), R(v) and the rotation Jacobians J(h ω).
    x: Vec<Vec3>,
    rotations: Vec<Quat>,
    jacobians: Vec<Mat3>,
    /// Displacement of each block at the end of the step beyond its motion [m]; empty if there is none.
    correction: Vec<Vec3>,
    /// Rigid bodies that only contacts join to others, with their first blocks.
    lone: Vec<(usize, usize)>,
    /// Forces within bodies, with their lagged damping.
    bodies: BodyForces,
    /// Drag and attachment damping, with coefficients from the start of the step.
    dissipation: Dissipation,
}

impl Dynamics {
    /// Scratch for `model`.
    pub fn new(model: &Model) -> Self {
        let n = model.blocks();
        let rigids = model.rigids().count();
        Self {
            generation: model.generation,
            h: 0.0,
            r0: vec![Quat::identity(); rigids],
            angle: Vec::new(),
            held: Vec::new(),
            inertial: vec![Vec::new(); model.bodies.len()],
            increments: vec![Vec3::zeros(); model.bodies.len()],
            fixed: vec![false; n],
            prescribed: Vec::new(),
            x: vec![Vec3::zeros(); n],
            rotations: vec![Quat::identity(); rigids],
            jacobians: vec![Mat3::identity(); rigids],
            correction: Vec::new(),
            lone: momentum::lone_bodies(model),
            bodies: BodyForces::new(model),
            dissipation: Dissipation::new(model),
        }
    }

    /// The matrix of this potential, with the sparsity that the model's terms and attachments need.
    pub fn matrix(model: &Model) -> SystemMatrix {
        Self::matrix_with(model, |body| body.kind.mechanics().part())
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
        Self::matrix_with(model, |body| match body.kind.as_rods() {
            Some(rods) if !attached(body) => PartShape::Scalar(rods.first_blocks().collect()),
            _ => body.kind.mechanics().part(),
        })
    }

    fn matrix_with(model: &Model, shape: impl Fn(&Body) -> PartShape) -> SystemMatrix {
        let parts = model.bodies.iter().map(shape).collect();
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
        self.correction.clear();
        // Bodies may bring blocks for this step alone.
        self.fixed.resize(state.x.len(), false);
        self.x.resize(state.x.len(), Vec3::zeros());
        self.r0.copy_from_slice(&state.rotations);
        self.angle.clone_from(&state.frames.angle);
        self.held.clone_from(&state.frames.held);
        // A deformable body near equilibrium is better guessed by its last velocity than by free fall;
        // Newton finds free fall in one iteration anyway.
        v.copy_from_slice(&state.v);
        for (b, body) in model.bodies.iter().enumerate() {
            // In the middle of the step: the mean of what changes steadily.
            let gravity = model.gravity_at(state.time + 0.5 * h);
            let middle = state.time + 0.5 * h;
            let increment = (gravity + body.acceleration_at(middle)) * h;
            self.increments[b] = increment;
            let mechanics = body.kind.mechanics();
            let hat = &mut self.inertial[b];
            let at = BodyAt::of(body.blocks.clone(), state);
            mechanics.inertial_velocity(&at, &increment, h, hat);
            if let (Some(rigid), Some(torque)) = (body.kind.as_rigid(), body.torque_at(middle)) {
                let orientation = &state.rotations[rigid.index];
                hat[1] = rigid.driven_spin(orientation, &at.v[1], &(torque * h), h);
            }
            if mechanics.guesses_inertial() {
                v[body.blocks.clone()].copy_from_slice(hat);
            }
        }
        self.prescribe(model, state, h);
        for (i, prescribed) in &self.prescribed {
            v[*i] = *prescribed;
        }
        Ok(())
    }

    /// Takes the coefficients of dissipation from the start of the step, which the potential and its
    /// derivatives need.
    pub fn lag(&mut self, model: &Model, state: &State) -> Result<(), ScatterError> {
        self.bodies.lag(model, &state.x)?;
        let end = state.time + self.h;
        self.dissipation.lag_linear(model, state, end);
        Ok(())
    }

    /// The start of the step of a body of rods.
    fn rod_start<'a>(&'a self, body: &Body, rods: &Rods, state: &'a State) -> RodStart<'a> {
        rods.start_of(body.blocks.start, &self.step_start(state))
    }

    /// The start of the step, with the twists that this step prescribes.
    fn step_start<'a>(&'a self, state: &'a State) -> StepStart<'a> {
        StepStart {
            angle: &self.angle,
            held: &self.held,
            ..StepStart::new(&state.x, &state.frames)
        }
    }

    /// One body at the trial configuration; inertia is that at the start of the step.
    fn body_at<'a>(&'a self, body: &Body, state: &'a State, v: &'a [Vec3]) -> BodyAt<'a> {
        self.body_with(body, state, &self.x, v)
    }

    /// Equations of a body at given positions `x` of all blocks [m].
    pub(crate) fn body_with<'a>(
        &'a self,
        body: &Body,
        state: &'a State,
        x: &'a [Vec3],
        v: &'a [Vec3],
    ) -> BodyAt<'a> {
        BodyAt {
            x: &x[body.blocks.clone()],
            v: &v[body.blocks.clone()],
            rotations: &self.r0,
            first: body.blocks.start,
            start: self.step_start(state),
        }
    }

    /// v̂ of one body.
    fn inertial<'a>(&'a self, b: usize, body: &Body, state: &'a State) -> Inertial<'a> {
        Inertial {
            hat: &self.inertial[b],
            v: &state.v[body.blocks.clone()],
            increment: self.increments[b],
        }
    }

    /// The trial configuration as a place to evaluate forces between points at.
    fn place<'a>(&'a self, state: &'a State, v: &'a [Vec3]) -> ForceState<'a> {
        ForceState {
            x: &self.x,
            rotations: &self.rotations,
            v,
            start: self.step_start(state),
            time: state.time + self.h,
        }
    }

    /// Scratch for one vector per block, valid until the potential is evaluated again.
    pub fn scratch(&mut self) -> &mut [Vec3] {
        self.x.resize(self.fixed.len(), Vec3::zeros());
        &mut self.x
    }

    /// Releases the scratch, so that a solver can use its memory, until it is needed again.
    pub fn release(&mut self) {
        self.x = Vec::new();
    }

    /// Sets the trial configuration to the end of the step: q⁺ = q + h v̄ with the mean velocity v̄,
    /// rotations by the exponential, and the correction of the failsafe.
    pub fn finish(&mut self, model: &Model, state: &State, mean: &[Vec3]) {
        let h = self.h;
        self.x.resize(mean.len(), Vec3::zeros());
        for i in 0..mean.len() {
            self.x[i] = state.x[i] + mean[i] * h;
        }
        for (body, rigid) in model.rigids() {
            let ang = body.blocks.start + 1;
            self.x[ang] = Vec3::zeros();
            self.rotations[rigid.index] =
                advance_rotation(&state.rotations[rigid.index], &mean[ang], h);
        }
        self.add_correction();
    }

    /// Lets the step end at the positions `x` [m] of the blocks that move as points, after [`Dynamics::finish`].
    pub fn correct(&mut self, x: &[Vec3]) {
        let before = std::mem::take(&mut self.correction);
        let known = |i: usize| before.get(i).copied().unwrap_or_else(Vec3::zeros);
        let more = x.iter().zip(&self.x).enumerate();
        self.correction = more.map(|(i, (to, from))| to - from + known(i)).collect();
    }

    /// Takes the correction back.
    pub fn correct_nothing(&mut self) {
        self.correction.clear();
    }

    /// The largest correction [m].
    pub fn corrected(&self) -> f64 {
        self.correction.iter().map(|c| c.norm()).fold(0.0, f64::max)
    }

    fn add_correction(&mut self) {
        for (x, more) in self.x.iter_mut().zip(&self.correction) {
            *x += more;
        }
    }

    /// Positions [m] and orientations at the end of the step, after [`Dynamics::finish`].
    pub fn end(&self) -> (&[Vec3], &[Quat]) {
        (&self.x, &self.rotations)
    }

    /// Stage advance: the state becomes that at the end of the step, at the time `end` [s], with
    /// velocities `v` there and the mean velocities `mean`. The frames of rods follow.
    pub fn advance(
        &mut self,
        model: &Model,
        state: &mut State,
        v: &[Vec3],
        mean: &[Vec3],
        end: f64,
    ) {
        let h = self.h;
        state.v.copy_from_slice(v);
        for i in 0..v.len() {
            self.x[i] = state.x[i] + mean[i] * h;
        }
        self.add_correction();
        for body in &model.bodies {
            let range = body.blocks.clone();
            body.kind.mechanics().advance(StepEnd {
                h,
                from: &state.x[range.clone()],
                to: &mut self.x[range.clone()],
                mean: &mean[range],
                rotations: &mut state.rotations,
                frames: &mut state.frames,
                twists: Some((&self.angle, &self.held)),
            });
        }
        std::mem::swap(&mut state.x, &mut self.x);
        state.time = end;
    }

    /// Whether each block's velocity is prescribed.
    pub fn fixed(&self) -> &[bool] {
        &self.fixed
    }

    /// Φ(v) [J].
    pub fn potential(&mut self, model: &Model, state: &State, v: &[Vec3]) -> f64 {
        self.configure(model, state, v);
        let (h, this) = (self.h, &*self);
        let parts = parallel::map(model.bodies.len(), 1, |b| {
            let body = &model.bodies[b];
            let (at, inertial) = (this.body_at(body, state, v), this.inertial(b, body, state));
            let damping = this.bodies.damping(b, body);
            let mechanics = body.kind.mechanics();
            mechanics.step_potential(&at, &inertial, &damping, h)
        });
        let mut sum: f64 = parts.iter().sum();
        let at = self.place(state, v);
        Attachments.add_energy(model, at, 1.0, &mut sum);
        self.dissipation.add_energy(model, at, h, &mut sum);
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
        let done = for_bodies(model, g, |b, body, g| {
            let at = this.body_at(body, state, v);
            let (inertial, damping) = (this.inertial(b, body, state), this.bodies.damping(b, body));
            let mechanics = body.kind.mechanics();
            mechanics.step_gradient(&at, &inertial, &damping, this.h, g);
            mechanics.add_elastic_gradient(&at, this.h, g)
        });
        done.into_iter().collect::<Result<(), _>>()?;
        self.point_gradient(model, state, v, g);
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

    /// Matrix and right-hand side with elastic terms replaced by those of an alternating integrator,
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
        let parts = a.parts_mut().iter_mut().zip(slices).zip(splits);
        let mut parts: Vec<_> = parts.collect();
        let done = parallel::map_chunks_mut(&mut parts, 1, |b, parts| {
            let ((part, g), split) = &mut parts[0];
            let split = split.as_deref_mut();
            this.body_system((&model.bodies[b], b), state, v, part, g, split)
        });
        done.into_iter().collect::<Result<(), _>>()?;
        self.point_gradient(model, state, v, g);
        let rates = Rates {
            position: self.h * self.h,
            velocity: self.h,
            turns: &self.jacobians,
            form: TorqueForm::Potential(&self.jacobians),
        };
        for term in self.point_forces() {
            term.for_each_block(model, self.place(state, v), &rates, &mut |i, j, m| {
                a.add(i as usize, j as usize, m);
            });
        }
        self.clear_fixed(g);
        a.eliminate(&self.fixed);
        Ok(())
    }

    /// The forces between points that have a potential, in the order in which they are summed.
    fn point_forces(&self) -> [&dyn ForceTerm; 2] {
        [&Attachments, &self.dissipation]
    }

    /// g += h times the forces between points, as derivatives by v.
    fn point_gradient(&self, model: &Model, state: &State, v: &[Vec3], g: &mut [Vec3]) {
        let form = TorqueForm::Potential(&self.jacobians);
        for term in self.point_forces() {
            term.add_force(model, self.place(state, v), form, -self.h, g);
        }
    }

    /// One body's part of g and A, with elastic terms replaced by `split` where it is given.
    fn body_system(
        &self,
        (body, b): (&Body, usize),
        state: &State,
        v: &[Vec3],
        part: &mut MatrixPart,
        g: &mut [Vec3],
        split: Option<&mut BodySplit>,
    ) -> Result<(), ScatterError> {
        let h = self.h;
        let (at, inertial) = (self.body_at(body, state, v), self.inertial(b, body, state));
        let mechanics = body.kind.mechanics();
        let damping = self.bodies.damping(b, body);
        let weights = TermWeights {
            gradient: h,
            mass: 1.0 + h * body.damping.mass,
            damping: h,
            stiffness: h * h,
            hessian: Hessian::Projected,
            turns: None,
        };
        let Some(split) = split else {
            mechanics.step_gradient(&at, &inertial, &damping, h, g);
            return mechanics.add_system(&at, &damping, &weights, g, part);
        };
        // A split of rods damps them itself.
        let outer = Damping {
            stiffness: 0.0,
            ..*damping.material
        };
        let damping = StepDamping {
            material: &outer,
            ..damping
        };
        mechanics.step_gradient(&at, &inertial, &damping, h, g);
        split.add_system(&body.kind, &at, &damping, &weights, g, part)
    }

    /// Sets the trial configuration to x(v), R(v).
    fn configure(&mut self, model: &Model, state: &State, v: &[Vec3]) {
        let h = self.h;
        self.x.resize(v.len(), Vec3::zeros());
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

    fn clear_fixed(&self, g: &mut [Vec3]) {
        for (g, fixed) in g.iter_mut().zip(&self.fixed) {
            if *fixed {
                *g = Vec3::zeros();
            }
        }
    }
}
