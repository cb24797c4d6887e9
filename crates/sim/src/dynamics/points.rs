//! What acts between points: attachments, and dashpots of drag and of attachments.

use stiction_bodies::{Arm, Attachment, BodyKind, Model, Stencil};
use stiction_math::{Mat3, Quat, SystemMatrix, Vec3};

use super::Dynamics;

/// ½ (u − w)ᵀ C (u − w) of a point or of a pair of points, with C [N·s/m] and the wind w [m/s].
pub(super) struct Dashpot {
    pub ends: Ends,
    pub c: Mat3,
    pub wind: Vec3,
}

/// Which points a dashpot joins: by index, so that nothing is copied in a step.
#[derive(Clone, Copy)]
pub(super) enum Ends {
    /// A drag point: entry and vertex in `Dynamics::drag`.
    Drag(usize, usize),
    /// An attachment of the model.
    Attachment(usize),
}

impl Dynamics {
    /// From the second end of an attachment to the first, at the trial configuration [m].
    pub(super) fn difference(&self, spring: &Attachment) -> Vec3 {
        spring.a.position_at(&self.x, &self.rotations)
            - spring.b.position_at(&self.x, &self.rotations)
    }

    /// The points a dashpot joins, with their signs.
    fn ends<'a>(&'a self, model: &'a Model, ends: Ends) -> [Option<(&'a Stencil, f64)>; 2] {
        match ends {
            Ends::Drag(entry, i) => [Some((&self.drag[entry].1[i], 1.0)), None],
            Ends::Attachment(i) => {
                let spring = &model.attachments[i];
                [Some((&spring.a, 1.0)), Some((&spring.b, -1.0))]
            }
        }
    }

    /// u − w of a dashpot, with arms from the start of the step.
    pub(super) fn relative_velocity(&self, model: &Model, pot: &Dashpot, v: &[Vec3]) -> Vec3 {
        let mut u = -pot.wind;
        for (stencil, sign) in self.ends(model, pot.ends).into_iter().flatten() {
            stencil.for_each_arm(&self.r0, |j, arm| u += arm.matrix() * v[j as usize] * sign);
        }
        u
    }

    /// Attachments and dashpots: gradient and, if asked for, matrix.
    pub(super) fn springs(
        &self,
        model: &Model,
        v: &[Vec3],
        g: &mut [Vec3],
        mut a: Option<&mut SystemMatrix>,
    ) {
        let h = self.h;
        for spring in &model.attachments {
            let pull = spring.pull(&self.difference(spring));
            let ends = [Some((&spring.a, 1.0)), Some((&spring.b, -1.0))];
            // The exact derivative of exp(h ω) needs the left Jacobian at the trial rotation.
            let arm = |j: u32, arm: Arm| match arm {
                Arm::Weight(b) => Mat3::from_diagonal_element(b),
                Arm::Lever(_) => arm.matrix() * self.jacobian_of(model, j),
            };
            self.scatter(
                &ends,
                &self.rotations,
                &(pull.gradient * h),
                &(pull.hessian * (h * h)),
                &arm,
                g,
                &mut a,
            );
        }
        for pot in &self.dashpots {
            let u = self.relative_velocity(model, pot, v);
            let ends = self.ends(model, pot.ends);
            self.scatter(
                &ends,
                &self.r0,
                &(pot.c * u * h),
                &(pot.c * h),
                &|_, arm| arm.matrix(),
                g,
                &mut a,
            );
        }
    }

    /// g += Σ sᵢ armᵢᵀ f and A += Σ sᵢ sⱼ armᵢᵀ H armⱼ.
    fn scatter(
        &self,
        ends: &[Option<(&Stencil, f64)>; 2],
        rotations: &[Quat],
        f: &Vec3,
        hessian: &Mat3,
        arm_of: &dyn Fn(u32, Arm) -> Mat3,
        g: &mut [Vec3],
        a: &mut Option<&mut SystemMatrix>,
    ) {
        for (stencil, sign) in ends.iter().flatten() {
            stencil.for_each_arm(rotations, |i, arm| {
                let left = arm_of(i, arm).transpose() * *sign;
                g[i as usize] += left * f;
                if let Some(a) = a.as_deref_mut() {
                    let lh = left * hessian;
                    for (other, sign) in ends.iter().flatten() {
                        other.for_each_arm(rotations, |j, arm| {
                            a.add(i as usize, j as usize, &(lh * arm_of(j, arm) * *sign));
                        });
                    }
                }
            });
        }
    }

    fn jacobian_of(&self, model: &Model, block: u32) -> Mat3 {
        match model.body_of(block as usize).map(|b| &b.kind) {
            Some(BodyKind::Rigid(r)) => self.jacobians[r.index],
            _ => Mat3::identity(),
        }
    }
}
