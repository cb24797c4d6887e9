//! Elastic terms split off the rest of a step, for integrators that alternate between a linear system
//! with a constant matrix and small problems of single elements [narain2016].
//!
//! Each element e has its own copy zₑ of its nodes' positions Sₑ x and a scaled multiplier uₑ. With a
//! constant metric Lₑ, an iteration does
//!
//! ```text
//! x ← argmin  (inertia, contact) + Σₑ ½ ‖Sₑ x − zₑ + uₑ‖²_Lₑ      one linear system
//! zₑ ← argmin Eₑ(z) + ½ ‖z − (Sₑ x + uₑ)‖²_Lₑ                     3K unknowns each
//! uₑ ← uₑ + Sₑ x − zₑ
//! ```
//!
//! At a fixed point zₑ = Sₑ x and Lₑ uₑ = ∂Eₑ/∂x: the elastic forces themselves.
//!
//! **Deviation.** [narain2016] splits on deformation gradients, so every law needs its own operator.
//! Here the metric is Lₑ = ⅓ Σ_d H^dd ⊗ I of the element's Hessian H at rest, d over the three axes:
//! the same for all directions, zero for translations, and as stiff as the material. It needs nothing
//! that [`Elements`] does not give. On a tetrahedron it is a weighted metric of the deformation gradient.
//! The Hessian of a hinge has rank one; a fraction of the stiffness is added against every other relative
//! motion of its nodes. Without it copies and multipliers drift along them, forces of a bent hinge have no
//! multiplier, and a hanging sheet gains energy at short time steps.

use std::sync::Arc;

use stiction_math::{BlockMatrix, Mat3, MatrixPart, Scatter, ScatterError, Vec3, parallel};

use crate::{
    elements::{Elements, Hessian},
    kind::{BodyAt, StepDamping, TermWeights},
    model::BodyKind,
    rod::RodSplit,
    term::AssembledElements,
};

/// Maximum number of unknowns of an element: four nodes.
const MOST: usize = 12;
/// Maximum number of Newton iterations of an element; two or three are usual.
const ITERATIONS: usize = 20;
/// Stiffness of the metric against every relative motion of an element's nodes, as a fraction of the mean
/// stiffness of a node.
const RELATIVE: f64 = 0.01;
/// Relative step size, compared with the size of an element, at which it is solved.
const TOLERANCE: f64 = 1e-10;

/// The elements of one term with their copies and multipliers.
pub trait Split: Send + Sync {
    /// z ← S x for positions `x` [m]; multipliers stay as they are.
    fn restart(&mut self, x: &[Vec3]);

    /// A ← A + t Σₑ Sₑᵀ Lₑ Sₑ [N/m times t].
    fn add_metric(&self, t: f64, a: &mut BlockMatrix) -> Result<(), ScatterError>;

    /// g ← g + s Σₑ Sₑᵀ Lₑ (Sₑ x − zₑ + uₑ) [N times s].
    fn add_gradient(&self, x: &[Vec3], s: f64, g: &mut [Vec3]) -> Result<(), ScatterError>;

    /// The local step at positions `x`: new copies and multipliers, and their change, f ← f + s Σₑ
    /// Sₑᵀ Lₑ Δ(zₑ − uₑ). Returns the largest ‖Sₑ x − zₑ‖ of a node [m].
    fn update(&mut self, x: &[Vec3], s: f64, f: &mut [Vec3]) -> Result<f64, ScatterError>;

    /// The multipliers, node after node of each element [m]: the state that persists between steps.
    fn multipliers(&self) -> Vec<Vec3>;

    /// Restores the result of `multipliers`; a list of another length is ignored.
    fn set_multipliers(&mut self, u: &[Vec3]);
}

/// The elasticity of a body in an alternating integrator.
pub enum BodySplit {
    /// The terms of a deformable body; none for a rigid one.
    Terms(Vec<Box<dyn Split>>),
    /// Rods.
    Rods(RodSplit),
}

impl BodySplit {
    /// Starts a step of `h` [s] from `start` with trial positions in `at`, for a body of kind `kind`
    /// with the damping rate `beta` [s].
    pub fn begin(&mut self, kind: &BodyKind, at: &BodyAt<'_>, h: f64, beta: f64) {
        match (self, kind.as_rods()) {
            (Self::Terms(splits), _) => {
                let start = &at.start.x[at.first..at.first + at.x.len()];
                splits.iter_mut().for_each(|split| split.restart(start));
            }
            // Strands swing: they are better guessed by their last velocity.
            (Self::Rods(split), Some(rods)) => {
                split.begin(rods, &rods.start_of(at.first, &at.start), at.x, h, beta);
            }
            (Self::Rods(_), None) => {}
        }
    }

    /// g += s ∂E/∂x and A += m M + d D + t K of the body, with the metric K of the split elements in
    /// place of the elastic Hessian.
    pub fn add_system(
        &mut self,
        kind: &BodyKind,
        at: &BodyAt<'_>,
        damping: &StepDamping<'_>,
        weights: &TermWeights<'_>,
        g: &mut [Vec3],
        part: &mut MatrixPart,
    ) -> Result<(), ScatterError> {
        let (s, t) = (weights.gradient, weights.stiffness);
        match (self, kind.as_rods()) {
            (Self::Rods(split), Some(rods)) => {
                split.add_gradient(rods, at.x, s, g);
                split.add_matrix(rods, t, weights.mass, part);
                Ok(())
            }
            (Self::Rods(_), None) => Ok(()),
            (Self::Terms(splits), _) => {
                let outer = TermWeights {
                    gradient: 0.0,
                    stiffness: 0.0,
                    ..*weights
                };
                kind.mechanics().add_system(at, damping, &outer, g, part)?;
                if let MatrixPart::Sparse(a) = part {
                    for split in splits {
                        split.add_gradient(at.x, s, g)?;
                        split.add_metric(t, a)?;
                    }
                }
                Ok(())
            }
        }
    }

    /// The local step of a step of `h` [s]: solves every element at the trial positions of `at` and
    /// adds its forces to `f` [N·s]. Returns the largest distance between copies and nodes, which is
    /// NaN if an element could not be solved.
    pub fn update(&mut self, kind: &BodyKind, at: &BodyAt<'_>, h: f64, f: &mut [Vec3]) -> f64 {
        match (self, kind.as_rods()) {
            (Self::Terms(splits), _) => {
                let mut unmet: f64 = 0.0;
                for split in splits {
                    match split.update(at.x, h, f) {
                        Ok(gap) => unmet = unmet.max(gap),
                        Err(_) => return f64::NAN,
                    }
                }
                unmet
            }
            (Self::Rods(split), Some(rods)) => {
                let start = rods.start_of(at.first, &at.start);
                split.update(rods, &start, at.x, h, f)
            }
            (Self::Rods(_), None) => 0.0,
        }
    }

    /// Multipliers of every group of elements, for a checkpoint.
    pub fn multipliers(&self) -> Vec<Vec<Vec3>> {
        match self {
            Self::Terms(splits) => splits.iter().map(|s| s.multipliers()).collect(),
            Self::Rods(split) => vec![split.forces()],
        }
    }

    /// Sets the multipliers of group `t`.
    pub fn set_multipliers(&mut self, t: usize, values: &[Vec3]) {
        match self {
            Self::Terms(splits) => {
                if let Some(split) = splits.get_mut(t) {
                    split.set_multipliers(values);
                }
            }
            Self::Rods(split) if t == 0 => split.set_forces(values),
            Self::Rods(_) => {}
        }
    }

    /// Number of groups of elements.
    pub fn groups(&self) -> usize {
        match self {
            Self::Terms(splits) => splits.len(),
            Self::Rods(_) => 1,
        }
    }
}

/// Splits off `elements`, whose metric is taken at the positions `rest` [m].
pub(crate) fn split<const K: usize, E: Elements<K> + Send + 'static>(
    term: Arc<AssembledElements<K, E>>,
    rest: &[Vec3],
) -> Box<dyn Split> {
    let (elements, scatter) = (&term.elements, &term.scatter);
    let metric = |e: usize| {
        let x = gather(scatter, e, rest);
        let hessian = elements.local(e, &x, Hessian::Projected).hessian;
        let mut metric: [[f64; K]; K] =
            std::array::from_fn(|i| std::array::from_fn(|j| hessian[i][j].trace() / 3.0));
        let added = RELATIVE * (0..K).map(|i| metric[i][i]).sum::<f64>() / K as f64;
        for (i, row) in metric.iter_mut().enumerate() {
            for (j, l) in row.iter_mut().enumerate() {
                *l += added * (f64::from(u8::from(i == j)) - 1.0 / K as f64);
            }
        }
        metric
    };
    let count = scatter.nodes().len();
    let metric = parallel::map(count, 64, metric);
    let copies = (0..count).map(|e| gather(scatter, e, rest)).collect();
    Box::new(Elementwise {
        term,
        metric,
        copies,
        multipliers: vec![[Vec3::zeros(); K]; count],
        change: vec![[Vec3::zeros(); K]; count],
    })
}

fn gather<const K: usize>(scatter: &Scatter<K>, e: usize, x: &[Vec3]) -> [Vec3; K] {
    scatter.nodes()[e].map(|i| x[i as usize])
}

struct Elementwise<const K: usize, E> {
    term: Arc<AssembledElements<K, E>>,
    /// Lₑ without its three equal axes [N/m].
    metric: Vec<[[f64; K]; K]>,
    /// zₑ [m].
    copies: Vec<[Vec3; K]>,
    /// uₑ [m].
    multipliers: Vec<[Vec3; K]>,
    /// Scratch: Lₑ Δ(zₑ − uₑ) [N].
    change: Vec<[Vec3; K]>,
}

/// L y.
fn apply<const K: usize>(metric: &[[f64; K]; K], y: &[Vec3; K]) -> [Vec3; K] {
    std::array::from_fn(|i| (0..K).fold(Vec3::zeros(), |s, j| s + y[j] * metric[i][j]))
}

impl<const K: usize, E: Elements<K> + Send + 'static> Split for Elementwise<K, E> {
    fn restart(&mut self, x: &[Vec3]) {
        for (e, z) in self.copies.iter_mut().enumerate() {
            *z = gather(&self.term.scatter, e, x);
        }
    }

    fn add_metric(&self, t: f64, a: &mut BlockMatrix) -> Result<(), ScatterError> {
        let mut unused = vec![Vec3::zeros(); a.n()];
        let of = |e: usize| {
            let l = &self.metric[e];
            let block = |i: usize, j: usize| Mat3::from_diagonal_element(t * l[i][j]);
            let hessian: [[Mat3; K]; K] =
                std::array::from_fn(|i| std::array::from_fn(|j| block(i, j)));
            (0.0, [Vec3::zeros(); K], hessian)
        };
        self.term
            .scatter
            .add_to_system(&mut unused, a, of)
            .map(|_| ())
    }

    fn add_gradient(&self, x: &[Vec3], s: f64, g: &mut [Vec3]) -> Result<(), ScatterError> {
        let of = |e: usize| {
            let x = gather(&self.term.scatter, e, x);
            let (z, u) = (&self.copies[e], &self.multipliers[e]);
            let y: [Vec3; K] = std::array::from_fn(|i| x[i] - z[i] + u[i]);
            (0.0, apply(&self.metric[e], &y).map(|f| f * s))
        };
        self.term.scatter.add_to_nodes(g, of).map(|_| ())
    }

    fn update(&mut self, x: &[Vec3], s: f64, f: &mut [Vec3]) -> Result<f64, ScatterError> {
        let AssembledElements { elements, scatter } = &*self.term;
        let metric = &self.metric;
        let columns = self.copies.iter_mut().zip(&mut self.multipliers);
        let mut columns: Vec<_> = columns.zip(&mut self.change).collect();
        let gaps = parallel::map_chunks_mut(&mut columns, 64, |first, columns| {
            let mut gap: f64 = 0.0;
            for (((z, u), change), e) in columns.iter_mut().zip(first..) {
                let x = gather(scatter, e, x);
                let target: [Vec3; K] = std::array::from_fn(|i| x[i] + u[i]);
                let before: [Vec3; K] = std::array::from_fn(|i| z[i] - u[i]);
                **z = proximal(elements, e, &metric[e], &target, **z);
                let mut moved = [Vec3::zeros(); K];
                for i in 0..K {
                    let off = x[i] - z[i];
                    gap = gap.max(off.norm());
                    u[i] += off;
                    moved[i] = z[i] - u[i] - before[i];
                }
                **change = apply(&metric[e], &moved);
            }
            gap
        });
        let change = &self.change;
        let of = |e: usize| (0.0, change[e].map(|f| f * s));
        scatter.add_to_nodes(f, of)?;
        Ok(gaps.into_iter().fold(0.0, f64::max))
    }

    fn multipliers(&self) -> Vec<Vec3> {
        self.multipliers.as_flattened().to_vec()
    }

    fn set_multipliers(&mut self, u: &[Vec3]) {
        let places = self.multipliers.as_flattened_mut();
        if places.len() == u.len() {
            places.copy_from_slice(u);
        }
    }
}

/// argmin Eₑ(z) + ½ ‖z − target‖²_L by Newton from `z`, with the target's mean: both terms leave
/// translations free. Elements of more than four nodes are not solved; methods refuse them before.
fn proximal<const K: usize, E: Elements<K>>(
    elements: &E,
    e: usize,
    metric: &[[f64; K]; K],
    target: &[Vec3; K],
    z: [Vec3; K],
) -> [Vec3; K] {
    let mean = |x: &[Vec3; K]| x.iter().sum::<Vec3>() / K as f64;
    let shift = mean(target) - mean(&z);
    let mut z = z.map(|z| z + shift);
    let trace = (0..K).map(|i| metric[i][i]).sum::<f64>() / K as f64;
    if trace <= 0.0 || 3 * K > MOST {
        return *target;
    }
    let size = (0..K).fold(0.0f64, |s, i| s.max((z[i] - z[0]).norm()));
    let objective = |z: &[Vec3; K]| {
        let y: [Vec3; K] = std::array::from_fn(|i| z[i] - target[i]);
        let force = apply(metric, &y);
        let quadratic: f64 = (0..K).map(|i| 0.5 * y[i].dot(&force[i])).sum();
        elements.energy(e, z) + quadratic
    };
    let mut value = objective(&z);
    for _ in 0..ITERATIONS {
        let local = elements.local(e, &z, Hessian::Projected);
        let y: [Vec3; K] = std::array::from_fn(|i| z[i] - target[i]);
        let force = apply(metric, &y);
        let mut g = [0.0; MOST];
        let mut h = [[0.0; MOST]; MOST];
        for i in 0..K {
            for a in 0..3 {
                g[3 * i + a] = local.gradient[i][a] + force[i][a];
                for j in 0..K {
                    for b in 0..3 {
                        h[3 * i + a][3 * j + b] = local.hessian[i][j][(a, b)];
                    }
                    // The mean gets a stiffness of its own, which moves nothing: g has no mean.
                    h[3 * i + a][3 * j + a] += metric[i][j] + trace / K as f64;
                }
            }
        }
        let Some(step) = solve(&mut h, &g, 3 * K) else {
            break;
        };
        let slope: f64 = -(0..3 * K).map(|k| g[k] * step[k]).sum::<f64>();
        let moved = |t: f64| -> [Vec3; K] {
            std::array::from_fn(|i| {
                z[i] - Vec3::new(step[3 * i], step[3 * i + 1], step[3 * i + 2]) * t
            })
        };
        let mut t = 1.0;
        let mut next = moved(t);
        let mut found = objective(&next);
        // Near the minimum rounding hides the decrease, and full steps are right.
        let floor = 1e-14 * value.abs();
        for _ in 0..30 {
            if found <= value + 1e-4 * t * slope + floor {
                break;
            }
            t *= 0.5;
            next = moved(t);
            found = objective(&next);
        }
        if !found.is_finite() {
            break;
        }
        z = next;
        value = found;
        let length = (0..3 * K).map(|k| step[k] * step[k]).sum::<f64>().sqrt();
        if t * length <= TOLERANCE * size {
            break;
        }
    }
    z
}

/// x with H x = g for the leading `n` unknowns, by Cholesky in place; none if H is not positive.
fn solve(h: &mut [[f64; MOST]; MOST], g: &[f64; MOST], n: usize) -> Option<[f64; MOST]> {
    for j in 0..n {
        for k in 0..j {
            let f = h[j][k];
            for i in j..n {
                h[i][j] -= h[i][k] * f;
            }
        }
        let d = h[j][j];
        if !(d > 0.0 && d.is_finite()) {
            return None;
        }
        let inverse = 1.0 / d.sqrt();
        for row in &mut h[j..n] {
            row[j] *= inverse;
        }
    }
    let mut x = *g;
    for i in 0..n {
        for k in 0..i {
            x[i] -= h[i][k] * x[k];
        }
        x[i] /= h[i][i];
    }
    for i in (0..n).rev() {
        for k in i + 1..n {
            x[i] -= h[k][i] * x[k];
        }
        x[i] /= h[i][i];
    }
    Some(x)
}
