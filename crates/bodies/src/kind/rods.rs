//! Rods: nodes and twists, with banded matrices.

use stiction_math::{MatrixPart, PartShape, ScatterError, Vec3};

use super::{
    BodyAt, Elastic, Inertia, Inertial, InnerDamping, StepDamping, StepEnd, StepMotion,
    StepPotential, StepStart, Structure, TermWeights,
};
use crate::{
    elements::Hessian,
    rod::{RodSplit, RodStart, Rods},
    split::BodySplit,
};

impl Structure for Rods {
    fn rest(&self) -> &[Vec3] {
        Self::rest(self)
    }

    fn block_positions(&self) -> Vec<Vec3> {
        self.rest_blocks()
    }

    fn block_masses(&self) -> Vec<f64> {
        self.mass().iter().map(Vec3::mean).collect()
    }

    fn total_mass(&self) -> f64 {
        Self::total_mass(self)
    }

    fn part(&self) -> PartShape {
        PartShape::Banded(self.layout().clone())
    }

    fn element_count(&self) -> usize {
        2 * self.edges().len() - self.len()
    }
}

impl Rods {
    /// The start of a step of a body of rods whose first block is `first`.
    pub fn start_of<'a>(&self, first: usize, start: &StepStart<'a>) -> RodStart<'a> {
        let edges = self.edges();
        RodStart {
            x: &start.x[first..first + self.block_count()],
            director: &start.director[edges.clone()],
            twist: &start.twist[edges.clone()],
            angle: start.angle.get(edges.clone()).unwrap_or_default(),
            held: start.held.get(edges).unwrap_or_default(),
        }
    }

    fn start_at<'a>(&self, at: &BodyAt<'a>) -> RodStart<'a> {
        self.start_of(at.first, &at.start)
    }

    /// Calls `f` with every block in order, and whether it holds twists.
    fn for_each_block(&self, mut f: impl FnMut(usize, bool)) {
        let mut next = 0;
        for twists in self.twist_block_ranges() {
            (next..twists.start).for_each(|i| f(i, false));
            twists.clone().for_each(|i| f(i, true));
            next = twists.end;
        }
    }

    /// Calls `f` with every block and its v̂ [m/s]. Gravity does not act on twists.
    fn for_each_hat(&self, inertial: &Inertial<'_>, mut f: impl FnMut(usize, Vec3)) {
        let v = inertial.v;
        self.for_each_block(|i, twist| match twist {
            false => f(i, v[i] + inertial.increment),
            true => f(i, v[i]),
        });
    }
}

impl Inertia for Rods {
    fn momentum(&self, at: &BodyAt<'_>, p: &mut [Vec3]) {
        for ((p, m), v) in p.iter_mut().zip(self.mass()).zip(at.v) {
            *p = m.component_mul(v);
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
        for ((y, m), dv) in y.iter_mut().zip(self.mass()).zip(dv) {
            *y += m.component_mul(dv) * s;
        }
    }

    fn add_weight(&self, at: &BodyAt<'_>, a: &Vec3, alpha: f64, s: f64, f: &mut [Vec3]) {
        // Gravity does not act on twists.
        self.for_each_block(|i, twist| {
            let a = if twist { Vec3::zeros() } else { *a };
            f[i] += self.mass()[i].component_mul(&(a - at.v[i] * alpha)) * s;
        });
    }

    fn kinetic_energy(&self, at: &BodyAt<'_>) -> f64 {
        let terms = self.mass().iter().zip(at.v);
        0.5 * terms.map(|(m, v)| v.dot(&m.component_mul(v))).sum::<f64>()
    }

    fn angular_momentum(&self, at: &BodyAt<'_>) -> Vec3 {
        let node = |b: u32| {
            let b = b as usize;
            at.x[b].cross(&(at.v[b] * self.mass()[b].x))
        };
        let spin = |edge: usize| {
            let (Some((b, c)), Some([i, j])) = (self.twist_of(edge), self.edge_blocks(edge)) else {
                return Vec3::zeros();
            };
            // (rθ)˙ r m is the moment of inertia times the rate of twist.
            let along = (at.x[j] - at.x[i]).normalize();
            along * (self.mass()[b][c] * at.v[b][c] * self.section().radius)
        };
        let nodes: Vec3 = self.node_blocks().map(node).sum();
        nodes + (0..self.edges().len()).map(spin).sum::<Vec3>()
    }

    fn for_each_mass(&self, f: &mut dyn FnMut(usize, f64)) {
        for b in self.node_blocks() {
            f(b as usize, self.mass()[b as usize].x);
        }
    }
}

impl Elastic for Rods {
    fn elastic_energy(&self, at: &BodyAt<'_>) -> f64 {
        self.energy(at.x, &self.start_at(at))
    }

    fn add_elastic_gradient(
        &self,
        at: &BodyAt<'_>,
        s: f64,
        g: &mut [Vec3],
    ) -> Result<(), ScatterError> {
        self.add_gradient(at.x, &self.start_at(at), s, g);
        Ok(())
    }

    fn add_elastic_product(
        &self,
        at: &BodyAt<'_>,
        hessian: Hessian,
        d: &[Vec3],
        s: f64,
        y: &mut [Vec3],
    ) -> Result<(), ScatterError> {
        self.add_product(at.x, &self.start_at(at), hessian, s, d, y);
        Ok(())
    }

    fn add_system(
        &self,
        at: &BodyAt<'_>,
        damping: &StepDamping<'_>,
        weights: &TermWeights<'_>,
        g: &mut [Vec3],
        part: &mut MatrixPart,
    ) -> Result<(), ScatterError> {
        let MatrixPart::Banded(a) = part else {
            return Ok(());
        };
        let start = self.start_at(at);
        if weights.gradient != 0.0 {
            self.add_gradient(at.x, &start, weights.gradient, g);
        }
        let TermWeights {
            hessian,
            mass,
            stiffness: t,
            ..
        } = *weights;
        self.add_matrix(at.x, &start, hessian, t, mass, a);
        let beta = damping.material.stiffness;
        if beta > 0.0 {
            let d = weights.damping * beta;
            self.add_damping_matrix(&start, d, a);
        }
        Ok(())
    }

    fn split(&self) -> BodySplit {
        BodySplit::Rods(RodSplit::new(self))
    }
}

impl InnerDamping for Rods {
    fn add_damping(
        &self,
        at: &BodyAt<'_>,
        damping: &StepDamping<'_>,
        d: &[Vec3],
        s: f64,
        f: &mut [Vec3],
    ) {
        let beta = damping.material.stiffness;
        if beta > 0.0 {
            let start = self.start_at(at);
            self.add_damping_product(&start, s * beta, d, f);
        }
    }
}

impl StepPotential for Rods {
    /// Left empty: one vector per block of a hundred thousand strands would cost too much memory.
    fn inertial_velocity(&self, _: &BodyAt<'_>, _: &Vec3, _: f64, _: &mut Vec<Vec3>) {}

    fn step_potential(
        &self,
        at: &BodyAt<'_>,
        inertial: &Inertial<'_>,
        damping: &StepDamping<'_>,
        h: f64,
    ) -> f64 {
        let (v, alpha) = (at.v, h * damping.material.mass);
        let square = |m: &Vec3, v: &Vec3| v.dot(&m.component_mul(v));
        let mut sum = self.elastic_energy(at);
        self.for_each_hat(inertial, |i, hat| {
            let m = &self.mass()[i];
            sum += 0.5 * (square(m, &(v[i] - hat)) + alpha * square(m, &v[i]));
        });
        if damping.material.stiffness > 0.0 {
            let mut d_v = vec![Vec3::zeros(); v.len()];
            self.add_damping(at, damping, v, 1.0, &mut d_v);
            sum += 0.5 * h * v.iter().zip(&d_v).map(|(v, d)| v.dot(d)).sum::<f64>();
        }
        sum
    }

    fn step_gradient(
        &self,
        at: &BodyAt<'_>,
        inertial: &Inertial<'_>,
        damping: &StepDamping<'_>,
        h: f64,
        g: &mut [Vec3],
    ) {
        let (v, alpha) = (at.v, h * damping.material.mass);
        self.for_each_hat(inertial, |i, hat| {
            g[i] = self.mass()[i].component_mul(&(v[i] * (1.0 + alpha) - hat));
        });
        self.add_damping(at, damping, v, h, g);
    }
}

impl StepMotion for Rods {
    fn orientation(&self) -> Option<usize> {
        None
    }

    fn advance(&self, end: StepEnd<'_>) {
        let StepEnd {
            from, to, frames, ..
        } = end;
        if let Some((angle, held)) = end.twists {
            let start = RodStart {
                angle: angle.get(self.edges()).unwrap_or_default(),
                held: held.get(self.edges()).unwrap_or_default(),
                ..self.start(from, frames)
            };
            if let Some(settled) = self.settled(to, &start) {
                frames.angle[self.edges()].copy_from_slice(&settled);
                frames.held[self.edges()].copy_from_slice(&held[self.edges()]);
            }
        }
        self.carry(from, to, frames);
    }
}
