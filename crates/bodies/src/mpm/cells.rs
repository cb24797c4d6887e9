//! Forces of points on the nodes of a step's grid.
//!
//! A point of the rest volume V has the trial deformation F = (Σ xᵢ ⊗ ∇wᵢ) Fₙ, with Fₙ its elastic deformation at the start
//! of the step, and the force −V P Fₙᵀ ∇wᵢ on node i. All points of a cell see the same nodes and are one element.

use stiction_math::{BlockMatrix, Mat3, ScatterError, Svd3, Vec3, svd3};

use super::{
    grid::StepGrid,
    kernel::SUPPORT,
    response::{PointLaw, stress},
};
use crate::elements::{ElementDerivatives, Elements, Hessian};

/// Points on the grid of a step.
#[derive(Clone, Debug)]
pub struct GridCells {
    /// The grid.
    pub grid: StepGrid,
    /// Material of the points.
    pub law: PointLaw,
    /// Rest volume of a point [m³].
    pub volume: f64,
    /// Length of the step [s].
    pub h: f64,
    /// Elastic deformation of every point at the start of the step.
    pub deformation: Vec<Mat3>,
    /// Volume gain of every point there, see [`super::Response`].
    pub gain: Vec<f64>,
}

impl GridCells {
    /// Singular values of the trial deformation of a point.
    pub fn trial(&self, p: usize, x: &[Vec3; SUPPORT]) -> Svd3 {
        svd3(&(self.grid.strain(p, x) * self.deformation[p]))
    }

    /// The positions of the nodes of a cell.
    pub fn gather(&self, c: usize, x: &[Vec3]) -> [Vec3; SUPPORT] {
        self.grid.scatter.nodes()[c].map(|i| x[i as usize])
    }

    fn point_energy(&self, p: usize, svd: &Svd3) -> f64 {
        self.volume * self.law.response(&svd.sigma, self.gain[p], self.h).energy
    }

    /// V P Fₙᵀ [N·m].
    fn pull(&self, p: usize, svd: &Svd3) -> Mat3 {
        let response = self.law.response(&svd.sigma, self.gain[p], self.h);
        stress(svd, &response.stress) * self.deformation[p].transpose() * self.volume
    }

    /// The derivative of V P Fₙᵀ along `d`, a change of Σ xᵢ ⊗ ∇wᵢ [N·m].
    fn turned<'a>(&'a self, p: usize, svd: &'a Svd3, kind: Hessian) -> impl Fn(&Mat3) -> Mat3 + 'a {
        let modes = self.law.modes(&svd.sigma, self.gain[p], self.h, kind);
        let f = &self.deformation[p];
        move |d| {
            let inner = modes.apply(&(svd.u.transpose() * d * f * svd.v));
            svd.u * inner * svd.v.transpose() * f.transpose() * self.volume
        }
    }

    /// Σ over elements of their energies [J].
    pub fn total_energy(&self, x: &[Vec3]) -> f64 {
        self.grid
            .scatter
            .sum(|c| self.energy(c, &self.gather(c, x)))
    }

    /// g += s ∂E/∂x; minus the forces where they derive from no energy.
    pub fn add_gradient(&self, x: &[Vec3], s: f64, g: &mut [Vec3]) -> Result<(), ScatterError> {
        let of = |c| (0.0, self.gradient(c, &self.gather(c, x)).map(|g| g * s));
        self.grid.scatter.add_to_nodes(g, of).map(|_| ())
    }

    /// g += s ∂E/∂x and A += t ∂g/∂x, for [s, t].
    pub fn add_local(
        &self,
        x: &[Vec3],
        kind: Hessian,
        [s, t]: [f64; 2],
        g: &mut [Vec3],
        a: &mut BlockMatrix,
    ) -> Result<(), ScatterError> {
        let of = |c| {
            let mut local = self.local(c, &self.gather(c, x), kind);
            local.gradient.iter_mut().for_each(|g| *g *= s);
            local.hessian.iter_mut().flatten().for_each(|h| *h *= t);
            (local.energy, local.gradient, local.hessian)
        };
        self.grid.scatter.add_to_system(g, a, of).map(|_| ())
    }

    /// y += s ∂g/∂x d.
    pub fn add_product(
        &self,
        x: &[Vec3],
        kind: Hessian,
        d: &[Vec3],
        s: f64,
        y: &mut [Vec3],
    ) -> Result<(), ScatterError> {
        let of = |c| {
            let (x, d) = (self.gather(c, x), self.gather(c, d));
            let mut sums = [Vec3::zeros(); SUPPORT];
            for &p in self.grid.points(c) {
                let p = p as usize;
                let gradients = self.grid.kernels[p].gradients();
                let mut change = Mat3::zeros();
                for (d, g) in d.iter().zip(&gradients) {
                    change += d * g.transpose();
                }
                let svd = self.trial(p, &x);
                let pulled = self.turned(p, &svd, kind)(&change) * s;
                for (sum, g) in sums.iter_mut().zip(&gradients) {
                    *sum += pulled * g;
                }
            }
            (0.0, sums)
        };
        self.grid.scatter.add_to_nodes(y, of).map(|_| ())
    }
}

impl Elements<SUPPORT> for GridCells {
    fn nodes(&self) -> &[[u32; SUPPORT]] {
        self.grid.scatter.nodes()
    }

    fn energy(&self, c: usize, x: &[Vec3; SUPPORT]) -> f64 {
        let points = self.grid.points(c).iter();
        let one = |&p: &u32| self.point_energy(p as usize, &self.trial(p as usize, x));
        points.map(one).sum()
    }

    fn gradient(&self, c: usize, x: &[Vec3; SUPPORT]) -> [Vec3; SUPPORT] {
        let mut sums = [Vec3::zeros(); SUPPORT];
        for &p in self.grid.points(c) {
            let p = p as usize;
            let pull = self.pull(p, &self.trial(p, x));
            for (a, sum) in sums.iter_mut().enumerate() {
                *sum += pull * self.grid.kernels[p].gradient(a);
            }
        }
        sums
    }

    fn local(&self, c: usize, x: &[Vec3; SUPPORT], kind: Hessian) -> ElementDerivatives<SUPPORT> {
        let mut sum = ElementDerivatives {
            energy: 0.0,
            gradient: [Vec3::zeros(); SUPPORT],
            hessian: [[Mat3::zeros(); SUPPORT]; SUPPORT],
        };
        for &p in self.grid.points(c) {
            let p = p as usize;
            let svd = self.trial(p, x);
            let gradients = self.grid.kernels[p].gradients();
            sum.energy += self.point_energy(p, &svd);
            let pull = self.pull(p, &svd);
            let turned = self.turned(p, &svd, kind);
            // The change of V P Fₙᵀ with each entry of Σ xᵢ ⊗ ∇wᵢ: the shape gradients are applied from both sides.
            let columns: [[Mat3; 3]; 3] = std::array::from_fn(|k| {
                std::array::from_fn(|l| {
                    let mut d = Mat3::zeros();
                    d[(k, l)] = 1.0;
                    turned(&d)
                })
            });
            for a in 0..SUPPORT {
                sum.gradient[a] += pull * gradients[a];
                let left: [Mat3; 3] = std::array::from_fn(|k| {
                    Mat3::from_columns(&std::array::from_fn::<Vec3, 3, _>(|l| {
                        columns[k][l] * gradients[a]
                    }))
                });
                for (block, g) in sum.hessian[a].iter_mut().zip(&gradients) {
                    for (k, left) in left.iter().enumerate() {
                        let mut column = block.column_mut(k);
                        column += left * g;
                    }
                }
            }
        }
        sum
    }
}
