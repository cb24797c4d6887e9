//! Quadratic B-splines on a regular grid.
//!
//! A point sees three nodes along each axis. With ξ the distance to the first one in cells, ½ ≤ ξ < 3⁄2,
//!
//! w₀ = ½ (3⁄2 − ξ)²,  w₁ = ¾ − (ξ − 1)²,  w₂ = ½ (ξ − ½)²
//!
//! They sum to one and reproduce linear functions: Σ wᵢ xᵢ = x and Σ xᵢ ⊗ ∇wᵢ = I.

use stiction_math::Vec3;

/// Nodes that a point sees.
pub const SUPPORT: usize = 27;

/// Largest number of a node along an axis.
const FARTHEST: f64 = 1e15;

/// Node of a grid, in cells from the origin of the world.
pub type NodeKey = [i64; 3];

/// Weights of a point, axis by axis.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Kernel {
    /// The first of its nodes.
    pub base: NodeKey,
    weights: [[f64; 3]; 3],
    slopes: [[f64; 3]; 3],
}

impl Kernel {
    /// The weights of the point `x` [m] on a grid with cells of `cell` [m].
    pub fn new(x: &Vec3, cell: f64) -> Self {
        let mut kernel = Self {
            base: [0; 3],
            weights: [[0.0; 3]; 3],
            slopes: [[0.0; 3]; 3],
        };
        for axis in 0..3 {
            let place = x[axis] / cell;
            // Far beyond any scene nodes have no numbers.
            let base = (place - 0.5).floor().clamp(-FARTHEST, FARTHEST);
            let xi = place - base;
            kernel.base[axis] = base as i64;
            kernel.weights[axis] = [
                0.5 * (1.5 - xi) * (1.5 - xi),
                0.75 - (xi - 1.0) * (xi - 1.0),
                0.5 * (xi - 0.5) * (xi - 0.5),
            ];
            kernel.slopes[axis] = [
                (xi - 1.5) / cell,
                -2.0 * (xi - 1.0) / cell,
                (xi - 0.5) / cell,
            ];
        }
        kernel
    }

    /// Weight of node `a` of the support [1].
    pub fn weight(&self, a: usize) -> f64 {
        let [i, j, k] = offset(a);
        let w = &self.weights;
        w[0][i] * w[1][j] * w[2][k]
    }

    /// Its gradient at the point [1/m].
    pub fn gradient(&self, a: usize) -> Vec3 {
        let [i, j, k] = offset(a);
        let (w, d) = (&self.weights, &self.slopes);
        Vec3::new(
            d[0][i] * w[1][j] * w[2][k],
            w[0][i] * d[1][j] * w[2][k],
            w[0][i] * w[1][j] * d[2][k],
        )
    }

    /// All gradients [1/m].
    pub fn gradients(&self) -> [Vec3; SUPPORT] {
        std::array::from_fn(|a| self.gradient(a))
    }
}

/// Place of node `a` of a support behind the first one, in cells.
pub fn offset(a: usize) -> [usize; 3] {
    [a / 9, a / 3 % 3, a % 3]
}

/// The nodes of the support whose first node is `base`.
pub fn support(base: &NodeKey) -> [NodeKey; SUPPORT] {
    std::array::from_fn(|a| {
        let to = offset(a);
        std::array::from_fn(|axis| base[axis] + to[axis] as i64)
    })
}
