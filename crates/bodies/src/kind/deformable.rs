//! Shells and solids: nodes, elastic terms, a mass matrix.

use stiction_math::{BlockMatrix, MatrixPart, PartShape, ScatterError, Vec3};

use super::{
    BodyAt, Elastic, Inertia, Inertial, InnerDamping, StepDamping, StepEnd, StepMotion,
    StepPotential, Structure, TermWeights,
};
use crate::{elements::Hessian, model::Deformable, split::BodySplit};

impl Structure for Deformable {
    fn rest(&self) -> &[Vec3] {
        &self.rest
    }

    fn block_positions(&self) -> Vec<Vec3> {
        self.rest.clone()
    }

    fn block_masses(&self) -> Vec<f64> {
        self.mass.lumped().to_vec()
    }

    fn total_mass(&self) -> f64 {
        self.mass.total()
    }

    fn part(&self) -> PartShape {
        PartShape::Sparse(self.pattern.clone())
    }

    fn element_count(&self) -> usize {
        self.terms.iter().map(|t| t.len()).sum()
    }
}

impl Inertia for Deformable {
    fn momentum(&self, at: &BodyAt<'_>, p: &mut [Vec3]) {
        for (i, p) in p.iter_mut().enumerate() {
            *p = self.mass.row(&self.pattern, at.v, i);
        }
    }

    fn add_momentum_product(
        &self,
        _: &BodyAt<'_>,
        _: &[Vec3],
        dv: &[Vec3],
        s: f64,
        y: &mut [Vec3],
    ) {
        for (i, y) in y.iter_mut().enumerate() {
            *y += self.mass.row(&self.pattern, dv, i) * s;
        }
    }

    fn add_weight(&self, at: &BodyAt<'_>, a: &Vec3, alpha: f64, s: f64, f: &mut [Vec3]) {
        let lumped = self.mass.lumped();
        for i in 0..f.len() {
            f[i] += (a * lumped[i] - self.mass.row(&self.pattern, at.v, i) * alpha) * s;
        }
    }

    fn kinetic_energy(&self, at: &BodyAt<'_>) -> f64 {
        let row = |i: usize| at.v[i].dot(&self.mass.row(&self.pattern, at.v, i));
        0.5 * (0..at.v.len()).map(row).sum::<f64>()
    }

    fn angular_momentum(&self, at: &BodyAt<'_>) -> Vec3 {
        let row = |i: usize| at.x[i].cross(&self.mass.row(&self.pattern, at.v, i));
        (0..at.v.len()).map(row).sum()
    }

    fn for_each_mass(&self, f: &mut dyn FnMut(usize, f64)) {
        for (i, m) in self.mass.lumped().iter().enumerate() {
            f(i, *m);
        }
    }
}

impl Elastic for Deformable {
    fn elastic_energy(&self, at: &BodyAt<'_>) -> f64 {
        self.terms.iter().map(|t| t.energy(at.x)).sum()
    }

    fn add_elastic_gradient(
        &self,
        at: &BodyAt<'_>,
        s: f64,
        g: &mut [Vec3],
    ) -> Result<(), ScatterError> {
        let mut terms = self.terms.iter();
        terms.try_for_each(|term| term.add_gradient(at.x, s, g))
    }

    fn add_elastic_product(
        &self,
        at: &BodyAt<'_>,
        hessian: Hessian,
        d: &[Vec3],
        s: f64,
        y: &mut [Vec3],
    ) -> Result<(), ScatterError> {
        let mut terms = self.terms.iter();
        terms.try_for_each(|term| term.add_product(at.x, hessian, d, s, y))
    }

    fn add_system(
        &self,
        at: &BodyAt<'_>,
        damping: &StepDamping<'_>,
        weights: &TermWeights<'_>,
        g: &mut [Vec3],
        part: &mut MatrixPart,
    ) -> Result<(), ScatterError> {
        let MatrixPart::Sparse(a) = part else {
            return Ok(());
        };
        self.mass.add_to(weights.mass, a);
        if let Some(lagged) = damping.lagged {
            a.add_scaled(weights.damping, lagged)?;
        }
        let TermWeights {
            hessian,
            gradient: s,
            stiffness: t,
            ..
        } = *weights;
        if s == 0.0 && t == 0.0 {
            return Ok(());
        }
        let mut terms = self.terms.iter();
        terms.try_for_each(|term| term.add_local(at.x, hessian, s, g, t, a))
    }

    fn split(&self) -> BodySplit {
        let terms = self.terms.iter().cloned();
        BodySplit::Terms(terms.map(|t| t.split(&self.rest)).collect())
    }
}

impl InnerDamping for Deformable {
    fn damping_matrix(&self) -> Option<BlockMatrix> {
        Some(BlockMatrix::zeros(self.pattern.clone()))
    }

    fn lag_damping(
        &self,
        x: &[Vec3],
        beta: f64,
        scratch: &mut [Vec3],
        d: &mut BlockMatrix,
    ) -> Result<(), ScatterError> {
        d.set_zero();
        let mut terms = self.terms.iter();
        terms.try_for_each(|term| term.add_damping(x, beta, scratch, d))
    }

    fn add_damping(
        &self,
        _: &BodyAt<'_>,
        damping: &StepDamping<'_>,
        d: &[Vec3],
        s: f64,
        f: &mut [Vec3],
    ) {
        if let Some(lagged) = damping.lagged {
            for i in 0..f.len() {
                f[i] += lagged.row_product(i, d) * s;
            }
        }
    }
}

impl StepPotential for Deformable {
    fn inertial_velocity(&self, at: &BodyAt<'_>, increment: &Vec3, _: f64, hat: &mut Vec<Vec3>) {
        hat.clear();
        hat.extend(at.v.iter().map(|v| v + increment));
    }

    fn step_potential(
        &self,
        at: &BodyAt<'_>,
        inertial: &Inertial<'_>,
        damping: &StepDamping<'_>,
        h: f64,
    ) -> f64 {
        let (v, hat, alpha) = (at.v, inertial.hat, damping.material.mass);
        let mut sum = 0.0;
        for i in 0..v.len() {
            let m_v = self.mass.row(&self.pattern, v, i);
            let m_hat = self.mass.row(&self.pattern, hat, i);
            sum += 0.5 * (v[i] - hat[i]).dot(&(m_v - m_hat)) + 0.5 * h * alpha * v[i].dot(&m_v);
        }
        if let Some(lagged) = damping.lagged {
            let d_v = |i: usize| v[i].dot(&lagged.row_product(i, v));
            sum += 0.5 * h * (0..v.len()).map(d_v).sum::<f64>();
        }
        sum + self.elastic_energy(at)
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
        for i in 0..v.len() {
            let m_v = self.mass.row(&self.pattern, v, i);
            g[i] = m_v * (1.0 + alpha) - self.mass.row(&self.pattern, hat, i);
        }
        self.add_damping(at, damping, v, h, g);
    }
}

impl StepMotion for Deformable {
    fn orientation(&self) -> Option<usize> {
        None
    }

    fn advance(&self, _: StepEnd<'_>) {}
}
