//! Inverse of a matrix with a few dense rank-one terms, from the inverse without them.
//!
//! ```text
//! (S + G W Gᵀ)⁻¹ b = y − Z (I + W Gᵀ Z)⁻¹ W Gᵀ y,    y = S⁻¹ b,  Z = S⁻¹ G
//! ```
//!
//! Enclosed volumes are such terms: each couples all nodes of its surface. A direct solver uses S,
//! an iterative one its diagonal blocks: a preconditioner with only the diagonal of the dense terms
//! would impede every motion that keeps the volume.

use nalgebra::{DMatrix, DVector};

use crate::{BlockJacobi, Preconditioner, Vec3, reduce};

/// Z and the small matrix, for one S.
#[derive(Default)]
pub struct Woodbury {
    columns: Vec<Vec<Vec3>>,
    small: Option<DMatrix<f64>>,
}

impl Woodbury {
    /// Computes Z and the small matrix for the terms `ranks` (vectors g and weights w), with S⁻¹ by
    /// `solve`.
    pub fn set(&mut self, ranks: &[(Vec<Vec3>, f64)], mut solve: impl FnMut(&mut [Vec3])) {
        let k = ranks.len();
        self.columns.clear();
        for (g, _) in ranks {
            let mut z = g.clone();
            solve(&mut z);
            self.columns.push(z);
        }
        let small = DMatrix::from_fn(k, k, |i, j| {
            let one = if i == j { 1.0 } else { 0.0 };
            one + ranks[i].1 * reduce::dot(&ranks[i].0, &self.columns[j])
        });
        self.small = small.try_inverse();
    }

    /// Turns S⁻¹ b into (S + G W Gᵀ)⁻¹ b. A singular correction gives NaN.
    pub fn correct(&self, ranks: &[(Vec<Vec3>, f64)], y: &mut [Vec3]) {
        let k = ranks.len();
        if k == 0 {
            return;
        }
        let right = DVector::from_fn(k, |i, _| ranks[i].1 * reduce::dot(&ranks[i].0, y));
        let weights = match &self.small {
            Some(inverse) => inverse * right,
            None => DVector::from_element(k, f64::NAN),
        };
        for (z, w) in self.columns.iter().zip(weights.iter()) {
            reduce::axpy(-w, z, y);
        }
    }
}

/// Diagonal blocks and dense terms as a preconditioner.
pub struct BlocksAndRanks<'a> {
    /// Inverses of the diagonal blocks.
    pub blocks: &'a mut BlockJacobi,
    /// Vectors and weights of the dense terms.
    pub ranks: &'a [(Vec<Vec3>, f64)],
    /// The correction, set for `blocks` and `ranks`.
    pub woodbury: &'a Woodbury,
}

impl Preconditioner for BlocksAndRanks<'_> {
    fn apply(&mut self, r: &[Vec3], z: &mut [Vec3]) {
        self.blocks.apply(r, z);
        self.woodbury.correct(self.ranks, z);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Mat3;

    #[test]
    fn the_formula_inverts_the_sum() {
        let (n, k) = (5, 2);
        let number = |i: usize| ((i * 37 + 11) as f64).sin();
        let vector = |i: usize| Vec3::new(number(i), number(i + 100), number(i + 200));
        let ranks: Vec<(Vec<Vec3>, f64)> = (0..k)
            .map(|c| ((0..n).map(|i| vector(10 * c + i)).collect(), 1e3 + c as f64))
            .collect();
        let block =
            |i: usize| Mat3::from_fn(|a, b| number(9 * i + 3 * a + b)) + Mat3::identity() * 3.0;
        let mut blocks = BlockJacobi::default();
        blocks.update_general(n, block);
        let mut woodbury = Woodbury::default();
        woodbury.set(&ranks, |z| {
            let r = z.to_vec();
            blocks.apply(&r, z);
        });
        let x: Vec<Vec3> = (0..n).map(|i| vector(50 + i)).collect();
        let mut b: Vec<Vec3> = (0..n).map(|i| block(i) * x[i]).collect();
        for (g, w) in &ranks {
            reduce::axpy(w * reduce::dot(g, &x), g, &mut b);
        }
        let mut found = vec![Vec3::zeros(); n];
        let mut inverse = BlocksAndRanks {
            blocks: &mut blocks,
            ranks: &ranks,
            woodbury: &woodbury,
        };
        inverse.apply(&b, &mut found);
        for i in 0..n {
            assert!((found[i] - x[i]).norm() < 1e-10, "{i}");
        }
    }
}
