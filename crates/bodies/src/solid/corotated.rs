//! Co-rotated linear elasticity: linear elasticity in the frame that the polar decomposition
//! turns with the element.
//!
//! ψ = μ Σ(σᵢ − 1)² + λ/2 (Σ(σᵢ − 1))²
//!
//! The rotation of F is not unique where σᵢ + σⱼ = 0 (with the signs used here: σ₁ = −σ₂, an
//! element squeezed to a line, or inverted until two stretches match). There the energy has a
//! ridge: the force stays finite but jumps, and the exact Hessian grows like 1/(σᵢ + σⱼ). The sum
//! is kept above 10⁻⁶ in that quotient so that no infinity arises.
//!
//! **Deviations.** None in the energy; the full derivative of the rotation is used, where many
//! codes keep the rotation fixed during a step.

use super::{IsotropicLaw, Lame};
use stiction_math::{Mat3, Vec3};

/// Smallest σᵢ + σⱼ that the twist modes divide by.
pub(super) const SMALLEST_SUM: f64 = 1e-6;

/// The co-rotated linear law.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Corotated {
    /// Material parameters.
    pub lame: Lame,
}

impl IsotropicLaw for Corotated {
    #[inline]
    fn energy(&self, sigma: &Vec3) -> f64 {
        let e = sigma.add_scalar(-1.0);
        let trace = e.sum();
        self.lame.mu * e.norm_squared() + 0.5 * self.lame.lambda * trace * trace
    }

    #[inline]
    fn gradient(&self, sigma: &Vec3) -> Vec3 {
        let e = sigma.add_scalar(-1.0);
        (e * (2.0 * self.lame.mu)).add_scalar(self.lame.lambda * e.sum())
    }

    #[inline]
    fn stretch_hessian(&self, _sigma: &Vec3) -> Mat3 {
        Mat3::from_diagonal_element(2.0 * self.lame.mu).add_scalar(self.lame.lambda)
    }

    #[inline]
    fn twist(&self, i: usize, j: usize, sigma: &Vec3) -> f64 {
        let Lame { mu, lambda } = self.lame;
        let sum = (sigma[i] + sigma[j]).max(SMALLEST_SUM);
        2.0 * mu + (2.0 * lambda * (sigma.sum() - 3.0) - 4.0 * mu) / sum
    }

    #[inline]
    fn flip(&self, _i: usize, _j: usize, _sigma: &Vec3) -> f64 {
        2.0 * self.lame.mu
    }
}
