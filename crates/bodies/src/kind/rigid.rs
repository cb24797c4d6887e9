//! Rigid bodies: a linear and an angular block.

use stiction_math::{Mat3, MatrixPart, PartShape, ScatterError, Vec3};

use super::{
    BodyAt, Elastic, Inertia, Inertial, InnerDamping, StepDamping, StepEnd, StepMotion,
    StepPotential, Structure, TermWeights,
};
use crate::{
    elements::Hessian,
    rigid::{Rigid, advance_rotation},
};

impl Structure for Rigid {
    fn rest(&self) -> &[Vec3] {
        &[]
    }

    fn block_positions(&self) -> Vec<Vec3> {
        vec![Vec3::zeros(); 2]
    }

    fn block_masses(&self) -> Vec<f64> {
        vec![self.mass, self.inertia.trace() / 3.0]
    }

    fn total_mass(&self) -> f64 {
        self.mass
    }

    fn part(&self) -> PartShape {
        PartShape::Dense
    }

    fn element_count(&self) -> usize {
        0
    }
}

impl Rigid {
    /// Inertia in the world frame at the orientations of `at` [kg·m²].
    fn inertia_at(&self, at: &BodyAt<'_>) -> Mat3 {
        self.world_inertia(&at.rotations[self.index])
    }
}

impl Inertia for Rigid {
    fn momentum(&self, at: &BodyAt<'_>, p: &mut [Vec3]) {
        p[0] = at.v[0] * self.mass;
        p[1] = self.inertia_at(at) * at.v[1];
    }

    fn add_momentum_product(
        &self,
        at: &BodyAt<'_>,
        dq: &[Vec3],
        dv: &[Vec3],
        s: f64,
        y: &mut [Vec3],
    ) {
        let (inertia, w, turn) = (self.inertia_at(at), &at.v[1], &dq[1]);
        y[0] += dv[0] * (s * self.mass);
        // The inertia turns with the body.
        let turned = turn.cross(&(inertia * w)) - inertia * turn.cross(w);
        y[1] += (inertia * dv[1] + turned) * s;
    }

    fn add_weight(&self, at: &BodyAt<'_>, a: &Vec3, alpha: f64, s: f64, f: &mut [Vec3]) {
        f[0] += (a - at.v[0] * alpha) * (s * self.mass);
        f[1] -= self.inertia_at(at) * at.v[1] * (s * alpha);
    }

    fn kinetic_energy(&self, at: &BodyAt<'_>) -> f64 {
        let w = &at.v[1];
        0.5 * (self.mass * at.v[0].norm_squared() + w.dot(&(self.inertia_at(at) * w)))
    }

    fn angular_momentum(&self, at: &BodyAt<'_>) -> Vec3 {
        at.x[0].cross(&(at.v[0] * self.mass)) + self.inertia_at(at) * at.v[1]
    }

    fn for_each_mass(&self, f: &mut dyn FnMut(usize, f64)) {
        f(0, self.mass);
    }
}

impl Elastic for Rigid {
    fn elastic_energy(&self, _: &BodyAt<'_>) -> f64 {
        0.0
    }

    fn add_elastic_gradient(
        &self,
        _: &BodyAt<'_>,
        _: f64,
        _: &mut [Vec3],
    ) -> Result<(), ScatterError> {
        Ok(())
    }

    fn add_elastic_product(
        &self,
        _: &BodyAt<'_>,
        _: Hessian,
        _: &[Vec3],
        _: f64,
        _: &mut [Vec3],
    ) -> Result<(), ScatterError> {
        Ok(())
    }

    fn add_system(
        &self,
        at: &BodyAt<'_>,
        _: &StepDamping<'_>,
        weights: &TermWeights<'_>,
        _: &mut [Vec3],
        part: &mut MatrixPart,
    ) -> Result<(), ScatterError> {
        let MatrixPart::Dense(a) = part else {
            return Ok(());
        };
        for c in 0..3 {
            a[(c, c)] += weights.mass * self.mass;
        }
        let inertia = self.inertia_at(at);
        let derivative = match weights.turns {
            None => inertia,
            // ∂(I ω)/∂ω where the inertia turns with the body: I + a (I [ω]× − [I ω]×) T.
            Some((turns, rate)) => {
                let w = &at.v[1];
                let spun = (inertia * w).cross_matrix();
                inertia + (inertia * w.cross_matrix() - spun) * turns[self.index] * rate
            }
        };
        let mut angular = a.fixed_view_mut::<3, 3>(3, 3);
        angular += derivative * weights.mass;
        Ok(())
    }
}

impl InnerDamping for Rigid {}

impl StepPotential for Rigid {
    fn inertial_velocity(&self, at: &BodyAt<'_>, increment: &Vec3, h: f64, hat: &mut Vec<Vec3>) {
        hat.clear();
        hat.push(at.v[0] + increment);
        hat.push(self.free_spin(&at.rotations[self.index], &at.v[1], h));
    }

    fn guesses_inertial(&self) -> bool {
        true
    }

    fn step_potential(
        &self,
        at: &BodyAt<'_>,
        inertial: &Inertial<'_>,
        damping: &StepDamping<'_>,
        h: f64,
    ) -> f64 {
        let (v, hat, alpha) = (at.v, inertial.hat, h * damping.material.mass);
        let inertia = self.inertia_at(at);
        let (dv, dw) = (v[0] - hat[0], v[1] - hat[1]);
        0.5 * (self.mass * dv.norm_squared() + dw.dot(&(inertia * dw)))
            + 0.5 * alpha * (self.mass * v[0].norm_squared() + v[1].dot(&(inertia * v[1])))
    }

    fn step_gradient(
        &self,
        at: &BodyAt<'_>,
        inertial: &Inertial<'_>,
        damping: &StepDamping<'_>,
        h: f64,
        g: &mut [Vec3],
    ) {
        let (v, hat, alpha) = (at.v, inertial.hat, h * damping.material.mass);
        g[0] = (v[0] * (1.0 + alpha) - hat[0]) * self.mass;
        g[1] = self.inertia_at(at) * (v[1] * (1.0 + alpha) - hat[1]);
    }
}

impl StepMotion for Rigid {
    fn orientation(&self) -> Option<usize> {
        Some(self.index)
    }

    fn advance(&self, end: StepEnd<'_>) {
        end.to[1] = Vec3::zeros();
        let rotation = &mut end.rotations[self.index];
        *rotation = advance_rotation(rotation, &end.mean[1], end.h);
    }
}
