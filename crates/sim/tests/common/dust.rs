//! A kind of body for tests: particles without cohesion that move on a grid, node by node, with the
//! nodes of the grid made anew for every step.
#![allow(dead_code, clippy::unwrap_used)]

use std::{collections::BTreeMap, sync::Arc};

use stiction_bodies::{
    Body, BodyKind, Columns, Hessian, Model, Skin, State, Surface,
    kind::{
        BodyAt, Elastic, Inertia, Inertial, InnerDamping, OpenKind, PerStep, StepDamping, StepEnd,
        StepMotion, StepPotential, Structure, TermWeights,
    },
    material::Damping,
};
use stiction_math::{BlockPattern, Mat3, MatrixPart, PartShape, ScatterError, Vec3};

/// Particles in the columns `x`, `v` (three numbers each) and `age` [s]; the column `nodes` counts the
/// grid nodes of every step.
#[derive(Clone, Debug)]
pub struct Dust {
    /// Mass of a particle [kg].
    pub mass: f64,
    /// Number of particles.
    pub count: usize,
    /// Size of a cell [m].
    pub cell: f64,
    /// Place in `State::columns`.
    pub place: usize,
    /// Mass of every node of the step [kg].
    nodes: Vec<f64>,
    /// Nodes and weights of every particle.
    weights: Vec<Vec<(usize, f64)>>,
}

/// Adds dust with particles at `x` [m] and velocities `v` [m/s] to a model.
pub fn add(model: &mut Model, state: &mut State, name: &str, x: &[Vec3], v: &[Vec3]) {
    let end = state.x.len();
    let mut columns = Columns::default();
    *columns.get_mut("x") = flat(x);
    *columns.get_mut("v") = flat(v);
    *columns.get_mut("age") = vec![0.0; x.len()];
    model.bodies.push(Body {
        name: name.to_owned(),
        material: "dust".to_owned(),
        blocks: end..end,
        kind: BodyKind::Open(Box::new(Dust {
            mass: 0.01,
            count: x.len(),
            cell: 0.1,
            place: state.columns.len(),
            nodes: Vec::new(),
            weights: Vec::new(),
        })),
        texture: None,
        surface: Surface {
            triangles: Vec::new(),
            segments: Vec::new(),
            skin: Skin::Nodes(Vec::new()),
        },
        radius: 0.0,
        padding: 0.0,
        rooted: None,
        tets: Vec::new(),
        damping: Damping::default(),
        drag: None,
        acceleration: Vec3::zeros(),
        load: None,
    });
    state.columns.push(columns);
}

fn flat(list: &[Vec3]) -> Vec<f64> {
    list.iter().flat_map(|v| [v.x, v.y, v.z]).collect()
}

/// A column of vectors.
pub fn vectors(column: &[f64]) -> Vec<Vec3> {
    column
        .chunks_exact(3)
        .map(Vec3::from_column_slice)
        .collect()
}

impl OpenKind for Dust {
    fn name(&self) -> &str {
        "dust"
    }

    fn place(&self) -> usize {
        self.place
    }

    fn boxed(&self) -> Box<dyn OpenKind> {
        Box::new(self.clone())
    }

    fn advance_columns(&self, _: &[Vec3], v: &[Vec3], h: f64, columns: &mut Columns) {
        let mut x = vectors(columns.get("x"));
        let mut own = Vec::new();
        for (x, weights) in x.iter_mut().zip(&self.weights) {
            let mean: Vec3 = weights.iter().map(|&(i, w)| v[i] * w).sum();
            *x += mean * h;
            own.push(mean);
        }
        *columns.get_mut("x") = flat(&x);
        *columns.get_mut("v") = flat(&own);
        columns.get_mut("age").iter_mut().for_each(|age| *age += h);
        columns.get_mut("nodes").push(self.nodes.len() as f64);
    }

    fn per_step(&self) -> Option<&dyn PerStep> {
        Some(self)
    }

    fn per_step_mut(&mut self) -> Option<&mut dyn PerStep> {
        Some(self)
    }
}

impl PerStep for Dust {
    fn open(
        &mut self,
        columns: &Columns,
        _: f64,
        x: &mut Vec<Vec3>,
        v: &mut Vec<Vec3>,
    ) -> Result<(), ScatterError> {
        self.close();
        let first = x.len();
        let mut numbers: BTreeMap<[i64; 3], usize> = BTreeMap::new();
        let (places, speeds) = (vectors(columns.get("x")), vectors(columns.get("v")));
        let mut momentum: Vec<Vec3> = Vec::new();
        for (p, speed) in places.iter().zip(&speeds) {
            let base = (p / self.cell).map(f64::floor);
            let inside = p / self.cell - base;
            let mut weights = Vec::new();
            for corner in 0..8usize {
                let up = [corner & 1, corner >> 1 & 1, corner >> 2].map(|c| c as f64);
                let key = std::array::from_fn(|c| (base[c] + up[c]) as i64);
                let along = |c: usize| up[c] * inside[c] + (1.0 - up[c]) * (1.0 - inside[c]);
                let node = *numbers.entry(key).or_insert_with(|| {
                    x.push(Vec3::from_fn(|c, _| key[c] as f64 * self.cell));
                    self.nodes.push(0.0);
                    momentum.push(Vec3::zeros());
                    self.nodes.len() - 1
                });
                let weight = along(0) * along(1) * along(2);
                // A particle exactly in a corner would leave nodes without mass.
                let weight = weight.max(1e-9);
                weights.push((node, weight));
            }
            let total: f64 = weights.iter().map(|w| w.1).sum();
            for (node, weight) in &mut weights {
                *weight /= total;
                self.nodes[*node] += *weight * self.mass;
                momentum[*node] += speed * (*weight * self.mass);
            }
            self.weights.push(weights);
        }
        v.extend(momentum.iter().zip(&self.nodes).map(|(p, m)| p / *m));
        assert_eq!(x.len() - first, self.nodes.len());
        Ok(())
    }

    fn close(&mut self) {
        self.nodes.clear();
        self.weights.clear();
    }

    fn for_each_point(&self, columns: &Columns, f: &mut dyn FnMut(&Vec3, &Vec3, f64)) {
        let (x, v) = (vectors(columns.get("x")), vectors(columns.get("v")));
        x.iter().zip(&v).for_each(|(x, v)| f(x, v, self.mass));
    }

    fn stored_energy(&self, _: &Columns) -> f64 {
        0.0
    }
}

impl Structure for Dust {
    fn rest(&self) -> &[Vec3] {
        &[]
    }

    fn block_positions(&self) -> Vec<Vec3> {
        vec![Vec3::zeros(); self.nodes.len()]
    }

    fn block_masses(&self) -> Vec<f64> {
        self.nodes.clone()
    }

    fn total_mass(&self) -> f64 {
        self.mass * self.count as f64
    }

    fn part(&self) -> PartShape {
        let pattern = BlockPattern::from_cliques(self.nodes.len(), []).unwrap();
        PartShape::Sparse(Arc::new(pattern))
    }

    fn element_count(&self) -> usize {
        0
    }
}

impl Inertia for Dust {
    fn momentum(&self, at: &BodyAt<'_>, p: &mut [Vec3]) {
        for i in 0..p.len() {
            p[i] = at.v[i] * self.nodes[i];
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
        for i in 0..y.len() {
            y[i] += dv[i] * (s * self.nodes[i]);
        }
    }

    fn add_weight(&self, at: &BodyAt<'_>, a: &Vec3, alpha: f64, s: f64, f: &mut [Vec3]) {
        for i in 0..f.len() {
            f[i] += (a - at.v[i] * alpha) * (s * self.nodes[i]);
        }
    }

    fn kinetic_energy(&self, at: &BodyAt<'_>) -> f64 {
        let nodes = self.nodes.iter().zip(at.v);
        nodes.map(|(m, v)| 0.5 * m * v.norm_squared()).sum()
    }

    fn angular_momentum(&self, at: &BodyAt<'_>) -> Vec3 {
        let nodes = self.nodes.iter().zip(at.v).zip(at.x);
        nodes.map(|((m, v), x)| x.cross(v) * *m).sum()
    }

    fn for_each_mass(&self, f: &mut dyn FnMut(usize, f64)) {
        self.nodes.iter().enumerate().for_each(|(i, m)| f(i, *m));
    }
}

impl Elastic for Dust {
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
        _: &BodyAt<'_>,
        _: &StepDamping<'_>,
        weights: &TermWeights<'_>,
        _: &mut [Vec3],
        part: &mut MatrixPart,
    ) -> Result<(), ScatterError> {
        if let MatrixPart::Sparse(a) = part {
            for (i, m) in self.nodes.iter().enumerate() {
                a.add(i, i, &Mat3::from_diagonal_element(weights.mass * m))?;
            }
        }
        Ok(())
    }
}

impl InnerDamping for Dust {}

impl StepPotential for Dust {
    fn inertial_velocity(&self, at: &BodyAt<'_>, increment: &Vec3, _: f64, hat: &mut Vec<Vec3>) {
        hat.clear();
        hat.extend(at.v.iter().map(|v| v + increment));
    }

    fn step_potential(
        &self,
        at: &BodyAt<'_>,
        inertial: &Inertial<'_>,
        _: &StepDamping<'_>,
        _: f64,
    ) -> f64 {
        let change = at.v.iter().zip(inertial.hat).map(|(v, hat)| v - hat);
        let nodes = self.nodes.iter().zip(change);
        nodes.map(|(m, d)| 0.5 * m * d.norm_squared()).sum()
    }

    fn step_gradient(
        &self,
        at: &BodyAt<'_>,
        inertial: &Inertial<'_>,
        _: &StepDamping<'_>,
        _: f64,
        g: &mut [Vec3],
    ) {
        for i in 0..g.len() {
            g[i] = (at.v[i] - inertial.hat[i]) * self.nodes[i];
        }
    }
}

impl StepMotion for Dust {
    fn orientation(&self) -> Option<usize> {
        None
    }

    fn advance(&self, _: StepEnd<'_>) {}
}
