//! All forces but contact as functions of positions and velocities, and their derivatives.
//!
//! Where [`crate::dynamics`] has the potential of one backward Euler step, this has
//!
//! f(q, v) = −∂E/∂q − W′(V) ∂V/∂q − D v − C(u) u + M g   [N],
//!
//! which any integrator may combine. Momentum p = M v (R J Rᵀ ω for the angular block of a rigid
//! body, so that gyroscopic torque needs no term of its own) is here too.
//!
//! Some coefficients are lagged: the matrix D of stiffness-proportional damping, the areas and
//! levers of drag and the stiffness of dashpots belong to positions that the caller names before
//! the solve. Taken where the stage is predicted to end, they leave schemes of second order what
//! they are, and D stays positive semi-definite and constant during the solve.

use rayon::prelude::*;
use stiction_bodies::{
    Arm, BodyKind, Hessian, Model, Stencil, rigid::Rigid, surface::vertex_areas,
};
use stiction_math::{BlockMatrix, Mat3, Quat, ScatterError, Vec3};

use crate::{dynamics::split, jacobian::Jacobian};

/// Positions, orientations and velocities at which forces are asked for.
#[derive(Clone, Copy, Debug)]
pub struct Place<'a> {
    /// One per block [m].
    pub x: &'a [Vec3],
    /// One per rigid body.
    pub rotations: &'a [Quat],
    /// One per block [m/s, rad/s].
    pub v: &'a [Vec3],
}

/// The forces of a model, with what is lagged.
pub struct Forces {
    /// β K⁺ of each body with stiffness-proportional damping.
    damping: Vec<Option<BlockMatrix>>,
    /// Stencils of the surface vertices of bodies with drag, kept because topology stands.
    drag: Vec<(usize, Vec<Stencil>)>,
    /// Area vector of every such vertex [m²], in the same order.
    areas: Vec<Vec<Vec3>>,
    /// Damping matrix of every attachment [N·s/m].
    dashpots: Vec<Mat3>,
    /// Orientations that levers of drag and dashpots belong to.
    rotations: Vec<Quat>,
    surface: Vec<Vec3>,
    scratch: Vec<Vec3>,
}

impl Forces {
    /// Scratch for `model`.
    pub fn new(model: &Model) -> Self {
        let damping = model.bodies.iter().map(|b| match &b.kind {
            BodyKind::Deformable(d) if b.damping.stiffness > 0.0 => {
                Some(BlockMatrix::zeros(d.pattern.clone()))
            }
            _ => None,
        });
        let dragged = model.bodies.iter().enumerate();
        let drag: Vec<_> = dragged
            .filter(|(_, b)| b.drag.is_some() && model.air.is_some())
            .map(|(i, b)| {
                (
                    i,
                    (0..b.surface.len()).map(|v| b.surface.stencil(v)).collect(),
                )
            })
            .collect();
        Self {
            damping: damping.collect(),
            areas: vec![Vec::new(); drag.len()],
            drag,
            dashpots: vec![Mat3::zeros(); model.attachments.len()],
            rotations: vec![Quat::identity(); model.rigids().count()],
            surface: Vec::new(),
            scratch: vec![Vec3::zeros(); model.blocks()],
        }
    }

    /// Takes what is lagged from positions `x` [m] and orientations `rotations`.
    pub fn lag(
        &mut self,
        model: &Model,
        x: &[Vec3],
        rotations: &[Quat],
    ) -> Result<(), ScatterError> {
        let slices = split(&mut self.scratch, &model.bodies);
        self.damping
            .par_iter_mut()
            .zip(&model.bodies)
            .zip(slices)
            .try_for_each(|((d, body), g)| {
                if let (Some(d), BodyKind::Deformable(soft)) = (d, &body.kind) {
                    d.set_zero();
                    let x = &x[body.blocks.clone()];
                    for term in &soft.terms {
                        term.add_local(x, Hessian::Projected, 0.0, g, body.damping.stiffness, d)?;
                    }
                }
                Ok::<(), ScatterError>(())
            })?;
        self.rotations.copy_from_slice(rotations);
        for ((body, _), areas) in self.drag.iter().zip(&mut self.areas) {
            let surface = &model.bodies[*body].surface;
            surface.positions(x, rotations, &mut self.surface);
            vertex_areas(&self.surface, &surface.triangles, areas);
        }
        for (spring, c) in model.attachments.iter().zip(&mut self.dashpots) {
            let d = spring.a.position_at(x, rotations) - spring.b.position_at(x, rotations);
            *c = spring.pull(&d).hessian * spring.damping;
        }
        Ok(())
    }

    /// f += s f(q, v), with every volume's energy found on the way.
    pub fn add(
        &self,
        model: &Model,
        at: Place<'_>,
        s: f64,
        f: &mut [Vec3],
    ) -> Result<(), ScatterError> {
        let slices = split(f, &model.bodies);
        let bodies = model.bodies.par_iter().zip(slices).enumerate();
        bodies.try_for_each(|(b, (body, f))| {
            let (x, v) = (&at.x[body.blocks.clone()], &at.v[body.blocks.clone()]);
            let a = model.gravity + body.acceleration;
            let alpha = body.damping.mass;
            match &body.kind {
                BodyKind::Deformable(d) => {
                    let lumped = d.mass.lumped();
                    for i in 0..v.len() {
                        f[i] += (a * lumped[i] - d.mass.row(&d.pattern, v, i) * alpha) * s;
                    }
                    if let Some(damping) = &self.damping[b] {
                        for i in 0..v.len() {
                            f[i] -= damping.row_product(i, v) * s;
                        }
                    }
                    for term in &d.terms {
                        term.add_gradient(x, -s, f)?;
                    }
                }
                BodyKind::Rigid(r) => {
                    let inertia = r.world_inertia(&at.rotations[r.index]);
                    f[0] += (a - v[0] * alpha) * (s * r.mass);
                    f[1] -= inertia * v[1] * (s * alpha);
                }
                // The method has refused rods.
                BodyKind::Rods(_) => {}
            }
            Ok::<(), ScatterError>(())
        })?;
        for volume in &model.volumes {
            let slope = volume.energy(volume.measure(at.x))[1];
            volume.add_gradient(at.x, -s * slope, f);
        }
        for spring in &model.attachments {
            let d =
                spring.a.position_at(at.x, at.rotations) - spring.b.position_at(at.x, at.rotations);
            let pull = spring.pull(&d).gradient;
            for (end, sign) in [(&spring.a, -s), (&spring.b, s)] {
                end.for_each_arm(at.rotations, |i, arm| {
                    f[i as usize] += arm.transpose_mul(&pull) * sign;
                });
            }
        }
        self.for_each_dissipation(model, at.v, |ends, u, point| {
            let force = point.force(u) * -s;
            for (stencil, sign) in ends.iter().flatten() {
                stencil.for_each_arm(&self.rotations, |i, arm| {
                    f[i as usize] += arm.transpose_mul(&force) * *sign;
                });
            }
        });
        Ok(())
    }

    /// J ← ∂p/∂v − a ∂f/∂v − a² (∂f/∂q) T for positions that follow v at the rate `a` [s], where
    /// T = I for nodes and the given Jacobian of the rotation vector for the angular block of each
    /// rigid body. Elasticity has its exact derivative or its projection, as `hessian` says.
    pub fn linearise(
        &mut self,
        model: &Model,
        at: Place<'_>,
        turns: &[Mat3],
        a: f64,
        hessian: Hessian,
        jacobian: &mut Jacobian,
    ) -> Result<(), ScatterError> {
        jacobian.set_zero();
        let (damping, scratch) = (&self.damping, &mut self.scratch);
        jacobian.add_bodies(model, scratch, |b, body, g, m| {
            let BodyKind::Deformable(d) = &body.kind else {
                return Ok(());
            };
            d.mass.add_to(1.0 + a * body.damping.mass, m);
            if let Some(damping) = &damping[b] {
                m.add_scaled(a, damping)?;
            }
            let x = &at.x[body.blocks.clone()];
            for term in &d.terms {
                term.add_local(x, hessian, 0.0, g, a * a, m)?;
            }
            Ok(())
        })?;
        for (body, r) in model.rigids() {
            let first = body.blocks.start;
            let alpha = 1.0 + a * body.damping.mass;
            let angular = momentum_derivative(r, at, first + 1, &turns[r.index], a);
            jacobian.add(first, first, &Mat3::from_diagonal_element(alpha * r.mass))?;
            jacobian.add(first + 1, first + 1, &(angular * alpha))?;
        }
        self.volume_jacobian(model, at, a, jacobian)?;
        self.spring_jacobian(model, at, turns, a, jacobian)
    }

    /// The sparse part goes into the matrix, the dense one is kept as a vector and a weight.
    fn volume_jacobian(
        &self,
        model: &Model,
        at: Place<'_>,
        a: f64,
        jacobian: &mut Jacobian,
    ) -> Result<(), ScatterError> {
        for (k, volume) in model.volumes.iter().enumerate() {
            let [_, first, second] = volume.energy(volume.measure(at.x));
            let mut done = Ok(());
            volume.for_each_block(at.x, |i, j, m| {
                if done.is_ok() {
                    done = jacobian.add(i as usize, j as usize, &(m * (a * a * first)));
                }
            });
            done?;
            let gradient = jacobian.rank_one(k, a * a * second);
            volume.add_gradient(at.x, 1.0, gradient);
        }
        Ok(())
    }

    fn spring_jacobian(
        &self,
        model: &Model,
        at: Place<'_>,
        turns: &[Mat3],
        a: f64,
        jacobian: &mut Jacobian,
    ) -> Result<(), ScatterError> {
        let mut done = Ok(());
        let mut add = |i: u32, j: u32, m: &Mat3| {
            if done.is_ok() {
                done = jacobian.add(i as usize, j as usize, m);
            }
        };
        for spring in &model.attachments {
            let d =
                spring.a.position_at(at.x, at.rotations) - spring.b.position_at(at.x, at.rotations);
            let pull = spring.pull(&d).gradient;
            let h = spring.hessian(&d) * (a * a);
            let ends = [(&spring.a, 1.0), (&spring.b, -1.0)];
            for (end, sign) in ends {
                end.for_each_arm(at.rotations, |i, arm| {
                    let left = arm.matrix().transpose() * h * sign;
                    for (other, sign) in ends {
                        other.for_each_arm(at.rotations, |j, arm| {
                            let right = arm.matrix() * turn_of(model, turns, j, &arm);
                            add(i, j, &(left * right * sign));
                        });
                    }
                    // The torque ρ × g turns with the lever.
                    if let Arm::Lever(rho) = arm {
                        let turned = pull.cross_matrix() * rho.cross_matrix();
                        let turn = turn_of(model, turns, i, &arm);
                        add(i, i, &(turned * turn * (a * a * sign)));
                    }
                });
            }
        }
        self.for_each_dissipation(model, at.v, |ends, u, point| {
            let c = point.derivative(u) * a;
            for (stencil, sign) in ends.iter().flatten() {
                stencil.for_each_arm(&self.rotations, |i, arm| {
                    let left = arm.matrix().transpose() * c * *sign;
                    for (other, sign) in ends.iter().flatten() {
                        other.for_each_arm(&self.rotations, |j, arm| {
                            add(i, j, &(left * arm.matrix() * *sign));
                        });
                    }
                });
            }
        });
        done
    }

    /// Calls `f` for every dashpot and drag point with its ends, its velocity and its law.
    fn for_each_dissipation(
        &self,
        model: &Model,
        v: &[Vec3],
        mut f: impl FnMut(&[Option<(&Stencil, f64)>; 2], &Vec3, &Point<'_>),
    ) {
        let velocity = |ends: &[Option<(&Stencil, f64)>; 2]| {
            let mut u = Vec3::zeros();
            for (stencil, sign) in ends.iter().flatten() {
                stencil.for_each_arm(&self.rotations, |j, arm| {
                    u += arm.matrix() * v[j as usize] * *sign;
                });
            }
            u
        };
        for (spring, c) in model.attachments.iter().zip(&self.dashpots) {
            if spring.damping > 0.0 {
                let ends = [Some((&spring.a, 1.0)), Some((&spring.b, -1.0))];
                f(&ends, &velocity(&ends), &Point::Dashpot(c));
            }
        }
        let Some(air) = &model.air else { return };
        for ((body, stencils), areas) in self.drag.iter().zip(&self.areas) {
            let Some(drag) = &model.bodies[*body].drag else {
                continue;
            };
            for (stencil, area) in stencils.iter().zip(areas) {
                let ends = [Some((stencil, 1.0)), None];
                let u = velocity(&ends) - air.wind;
                f(&ends, &u, &Point::Drag { drag, air, area });
            }
        }
    }
}

/// What holds a point back.
enum Point<'a> {
    Dashpot(&'a Mat3),
    Drag {
        drag: &'a stiction_bodies::drag::Drag,
        air: &'a stiction_bodies::drag::Air,
        area: &'a Vec3,
    },
}

impl Point<'_> {
    /// The force against the velocity u [N].
    fn force(&self, u: &Vec3) -> Vec3 {
        match self {
            Self::Dashpot(c) => *c * u,
            Self::Drag { drag, air, area } => drag.matrix(air, area, u) * u,
        }
    }

    fn derivative(&self, u: &Vec3) -> Mat3 {
        match self {
            Self::Dashpot(c) => **c,
            Self::Drag { drag, air, area } => drag.derivative(air, area, u),
        }
    }
}

fn turn_of(model: &Model, turns: &[Mat3], block: u32, arm: &Arm) -> Mat3 {
    match (arm, model.body_of(block as usize).map(|b| &b.kind)) {
        (Arm::Lever(_), Some(BodyKind::Rigid(r))) => turns[r.index],
        _ => Mat3::identity(),
    }
}

/// p ← M v [kg·m/s, kg·m²/s].
pub fn momentum(model: &Model, at: Place<'_>, p: &mut [Vec3]) {
    let slices = split(p, &model.bodies);
    let bodies = model.bodies.par_iter().zip(slices);
    bodies.for_each(|(body, p)| {
        let v = &at.v[body.blocks.clone()];
        match &body.kind {
            BodyKind::Deformable(d) => {
                for (i, p) in p.iter_mut().enumerate() {
                    *p = d.mass.row(&d.pattern, v, i);
                }
            }
            BodyKind::Rigid(r) => {
                p[0] = v[0] * r.mass;
                p[1] = r.world_inertia(&at.rotations[r.index]) * v[1];
            }
            BodyKind::Rods(r) => {
                for ((p, m), v) in p.iter_mut().zip(r.mass()).zip(v) {
                    *p = m.component_mul(v);
                }
            }
        }
    });
}

/// ∂(I ω)/∂ω where the inertia I turns with the body: I + a (I [ω]× − [I ω]×) T.
fn momentum_derivative(r: &Rigid, at: Place<'_>, block: usize, turn: &Mat3, a: f64) -> Mat3 {
    let inertia = r.world_inertia(&at.rotations[r.index]);
    let w = &at.v[block];
    let spun = (inertia * w).cross_matrix();
    inertia + (inertia * w.cross_matrix() - spun) * turn * a
}
