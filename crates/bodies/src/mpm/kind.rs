//! Material points as a kind of body whose blocks are the nodes of the grid of one step.

use std::sync::Arc;

use stiction_math::{BlockPattern, Mat3, MatrixPart, PartShape, ScatterError, Vec3, parallel};

use super::{
    cells::GridCells,
    grid::{PointMotion, StepGrid},
    kernel::SUPPORT,
    response::PointLaw,
};
use crate::{
    elements::Hessian,
    kind::{
        BodyAt, Elastic, Inertia, Inertial, InnerDamping, OpenKind, PerStep, StepDamping, StepEnd,
        StepMotion, StepPotential, Structure, TermWeights,
    },
    state::Columns,
    surface::{Skin, Surface},
};

/// A continuum that is carried by points and moves on a grid [ding; klar2016].
///
/// Its columns are the `position`, `velocity`, `affine` velocity, elastic `deformation` and volume `gain` of every point.
#[derive(Clone, Debug)]
pub struct MaterialPoints {
    /// The material.
    pub law: PointLaw,
    /// Size of a cell of the grid [m].
    pub cell: f64,
    /// Number of points.
    pub count: usize,
    /// Mass of a point [kg].
    pub mass: f64,
    /// Its volume at rest [m³].
    pub volume: f64,
    /// Place of its columns in `State::columns`.
    pub place: usize,
    /// The grid of the step in progress.
    step: Option<GridCells>,
}

/// A column of vectors.
fn vectors(column: &[f64]) -> impl ExactSizeIterator<Item = Vec3> + '_ {
    column.chunks_exact(3).map(Vec3::from_column_slice)
}

fn vector(columns: &Columns, name: &str, p: usize) -> Vec3 {
    let found = columns.get(name).get(3 * p..3 * p + 3);
    found.map_or(Vec3::zeros(), Vec3::from_column_slice)
}

fn matrix(columns: &Columns, name: &str, p: usize) -> Mat3 {
    let found = columns.get(name).get(9 * p..9 * p + 9);
    found.map_or(Mat3::identity(), Mat3::from_column_slice)
}

impl MaterialPoints {
    /// Points at rest at `x` [m] with velocities `v` [m/s] and spin `affine` [1/s], and their columns.
    pub fn new(
        law: PointLaw,
        cell: f64,
        [mass, volume]: [f64; 2],
        x: &[Vec3],
        motion: impl Fn(&Vec3) -> (Vec3, Mat3),
        place: usize,
    ) -> (Self, Columns) {
        let mut columns = Columns::default();
        for x in x {
            let (v, affine) = motion(x);
            let rest = Mat3::identity();
            let rows: [(&str, &[f64]); 5] = [
                ("position", x.as_slice()),
                ("velocity", v.as_slice()),
                ("affine", affine.as_slice()),
                ("deformation", rest.as_slice()),
                ("gain", &[0.0]),
            ];
            for (name, row) in rows {
                columns.get_mut(name).extend_from_slice(row);
            }
        }
        let points = Self {
            law,
            cell,
            count: x.len(),
            mass,
            volume,
            place,
            step: None,
        };
        (points, columns)
    }

    /// The points on the grid of the step in progress.
    pub fn cells(&self) -> Option<&GridCells> {
        self.step.as_ref()
    }

    fn mass_of_nodes(&self) -> &[f64] {
        self.step.as_ref().map_or(&[], |s| &s.grid.mass)
    }

    /// A point at the end of a step: motion, elastic deformation and volume gain.
    fn advanced(
        &self,
        step: &GridCells,
        p: usize,
        from: &Vec3,
        x: &[Vec3],
        v: &[Vec3],
    ) -> (PointMotion, Mat3, f64) {
        let motion = step.grid.to_point(p, from, x, v);
        let nodes: [Vec3; SUPPORT] = step.grid.support(p).map(|i| x[i as usize]);
        match self.law {
            PointLaw::Elastic(_) => {
                let f = step.grid.strain(p, &nodes) * step.deformation[p];
                (motion, f, step.gain[p])
            }
            PointLaw::Plastic(..) => {
                let svd = step.trial(p, &nodes);
                let after = self.law.response(&svd.sigma, step.gain[p], step.h);
                let f = svd.u * Mat3::from_diagonal(&after.sigma) * svd.v.transpose();
                (motion, f, after.gain)
            }
        }
    }
}

impl OpenKind for MaterialPoints {
    fn name(&self) -> &str {
        "granular"
    }

    fn place(&self) -> usize {
        self.place
    }

    fn boxed(&self) -> Box<dyn OpenKind> {
        Box::new(self.clone())
    }

    fn advance_columns(&self, x: &[Vec3], v: &[Vec3], _h: f64, columns: &mut Columns) {
        let Some(step) = &self.step else { return };
        let from: Vec<Vec3> = vectors(columns.get("position")).collect();
        let of = |p: usize| self.advanced(step, p, &from[p], x, v);
        let after = parallel::map(from.len(), 64, of);
        let mut fill = |name: &str, row: &dyn Fn(usize, &mut Vec<f64>)| {
            let column = columns.get_mut(name);
            column.clear();
            (0..after.len()).for_each(|p| row(p, column));
        };
        fill("position", &|p, c| c.extend(after[p].0.x.iter()));
        fill("velocity", &|p, c| c.extend(after[p].0.v.iter()));
        fill("affine", &|p, c| c.extend(after[p].0.affine.iter()));
        fill("deformation", &|p, c| c.extend(after[p].1.iter()));
        fill("gain", &|p, c| c.push(after[p].2));
    }

    fn per_step(&self) -> Option<&dyn PerStep> {
        Some(self)
    }

    fn per_step_mut(&mut self) -> Option<&mut dyn PerStep> {
        Some(self)
    }

    fn material_points(&self) -> Option<&MaterialPoints> {
        Some(self)
    }
}

impl PerStep for MaterialPoints {
    fn open(
        &mut self,
        columns: &Columns,
        h: f64,
        x: &mut Vec<Vec3>,
        v: &mut Vec<Vec3>,
    ) -> Result<(), ScatterError> {
        let mut grid = StepGrid::new(vectors(columns.get("position")), self.cell)?;
        let velocities = grid.to_nodes(self.mass, |p| PointMotion {
            x: vector(columns, "position", p),
            v: vector(columns, "velocity", p),
            affine: matrix(columns, "affine", p),
        })?;
        x.extend_from_slice(&grid.nodes);
        v.extend(velocities);
        let deformation = (0..self.count).map(|p| matrix(columns, "deformation", p));
        self.step = Some(GridCells {
            grid,
            law: self.law,
            volume: self.volume,
            h,
            deformation: deformation.collect(),
            gain: columns.get("gain").to_vec(),
        });
        Ok(())
    }

    fn close(&mut self) {
        self.step = None;
    }

    fn carry(&self, first: usize, surface: &mut Surface) {
        let (mut start, mut entries) = (vec![0], Vec::new());
        for p in 0..self.count {
            if let Some(GridCells { grid, .. }) = &self.step {
                let weight = |(a, i): (usize, &u32)| (first as u32 + i, grid.kernels[p].weight(a));
                entries.extend(grid.support(p).iter().enumerate().map(weight));
            }
            start.push(entries.len() as u32);
        }
        surface.skin = Skin::Blended { start, entries };
    }

    fn for_each_point(&self, columns: &Columns, f: &mut dyn FnMut(&Vec3, &Vec3, f64)) {
        let points = vectors(columns.get("position")).zip(vectors(columns.get("velocity")));
        points.for_each(|(x, v)| f(&x, &v, self.mass));
    }

    fn stored_energy(&self, columns: &Columns) -> f64 {
        let one = |p: usize| {
            let sigma = stiction_math::svd3(&matrix(columns, "deformation", p)).sigma;
            match self.law {
                PointLaw::Elastic(_) => self.law.response(&sigma, 0.0, 0.0).energy,
                PointLaw::Plastic(elastic, _) => {
                    elastic.energy(&sigma.map(stiction_math::elementary::ln))
                }
            }
        };
        self.volume * stiction_math::reduce::sum_ordered(self.count, one)
    }
}

impl Structure for MaterialPoints {
    fn rest(&self) -> &[Vec3] {
        self.step.as_ref().map_or(&[], |s| &s.grid.nodes)
    }

    fn block_positions(&self) -> Vec<Vec3> {
        self.rest().to_vec()
    }

    fn block_masses(&self) -> Vec<f64> {
        self.mass_of_nodes().to_vec()
    }

    fn total_mass(&self) -> f64 {
        self.mass * self.count as f64
    }

    fn part(&self) -> PartShape {
        let pattern = self.step.as_ref().map(|s| Arc::clone(&s.grid.pattern));
        PartShape::Sparse(pattern.unwrap_or_else(|| Arc::new(BlockPattern::default())))
    }

    fn element_count(&self) -> usize {
        self.count
    }
}

impl Inertia for MaterialPoints {
    fn momentum(&self, at: &BodyAt<'_>, p: &mut [Vec3]) {
        for ((p, v), m) in p.iter_mut().zip(at.v).zip(self.mass_of_nodes()) {
            *p = v * *m;
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
        for ((y, dv), m) in y.iter_mut().zip(dv).zip(self.mass_of_nodes()) {
            *y += dv * (s * m);
        }
    }

    fn add_weight(&self, at: &BodyAt<'_>, a: &Vec3, alpha: f64, s: f64, f: &mut [Vec3]) {
        for ((f, v), m) in f.iter_mut().zip(at.v).zip(self.mass_of_nodes()) {
            *f += (a - v * alpha) * (s * m);
        }
    }

    fn kinetic_energy(&self, at: &BodyAt<'_>) -> f64 {
        let nodes = self.mass_of_nodes().iter().zip(at.v);
        nodes.map(|(m, v)| 0.5 * m * v.norm_squared()).sum()
    }

    fn angular_momentum(&self, at: &BodyAt<'_>) -> Vec3 {
        let nodes = self.mass_of_nodes().iter().zip(at.v).zip(at.x);
        nodes.map(|((m, v), x)| x.cross(v) * *m).sum()
    }

    fn for_each_mass(&self, f: &mut dyn FnMut(usize, f64)) {
        let nodes = self.mass_of_nodes().iter().enumerate();
        nodes.for_each(|(i, m)| f(i, *m));
    }
}

impl Elastic for MaterialPoints {
    fn elastic_energy(&self, at: &BodyAt<'_>) -> f64 {
        self.step.as_ref().map_or(0.0, |s| s.total_energy(at.x))
    }

    fn add_elastic_gradient(
        &self,
        at: &BodyAt<'_>,
        s: f64,
        g: &mut [Vec3],
    ) -> Result<(), ScatterError> {
        match &self.step {
            Some(step) => step.add_gradient(at.x, s, g),
            None => Ok(()),
        }
    }

    fn add_elastic_product(
        &self,
        at: &BodyAt<'_>,
        hessian: Hessian,
        d: &[Vec3],
        s: f64,
        y: &mut [Vec3],
    ) -> Result<(), ScatterError> {
        match &self.step {
            Some(step) => step.add_product(at.x, hessian, d, s, y),
            None => Ok(()),
        }
    }

    fn add_system(
        &self,
        at: &BodyAt<'_>,
        _: &StepDamping<'_>,
        weights: &TermWeights<'_>,
        g: &mut [Vec3],
        part: &mut MatrixPart,
    ) -> Result<(), ScatterError> {
        let (Some(step), MatrixPart::Sparse(a)) = (&self.step, part) else {
            return Ok(());
        };
        for (i, m) in step.grid.mass.iter().enumerate() {
            a.add(i, i, &Mat3::from_diagonal_element(weights.mass * m))?;
        }
        let (s, t) = (weights.gradient, weights.stiffness);
        if s == 0.0 && t == 0.0 {
            return Ok(());
        }
        step.add_local(at.x, weights.hessian, [s, t], g, a)
    }
}

impl InnerDamping for MaterialPoints {}

impl StepPotential for MaterialPoints {
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
        let alpha = h * damping.material.mass;
        let nodes = self.mass_of_nodes().iter().zip(at.v).zip(inertial.hat);
        let one = |((m, v), hat): ((&f64, &Vec3), &Vec3)| {
            0.5 * m * ((v - hat).norm_squared() + alpha * v.norm_squared())
        };
        nodes.map(one).sum::<f64>() + self.elastic_energy(at)
    }

    fn step_gradient(
        &self,
        at: &BodyAt<'_>,
        inertial: &Inertial<'_>,
        damping: &StepDamping<'_>,
        h: f64,
        g: &mut [Vec3],
    ) {
        let alpha = h * damping.material.mass;
        for (i, m) in self.mass_of_nodes().iter().enumerate() {
            g[i] = (at.v[i] * (1.0 + alpha) - inertial.hat[i]) * *m;
        }
    }
}

impl StepMotion for MaterialPoints {
    fn orientation(&self) -> Option<usize> {
        None
    }

    fn advance(&self, _: StepEnd<'_>) {}
}
