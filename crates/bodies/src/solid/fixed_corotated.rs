//! Fixed co-rotated elasticity [stomakhin2012]: the co-rotated law with a volume term in J.
//!
//! ψ = μ Σ(σᵢ − 1)² + λ/2 (J − 1)²,  J = σ₀σ₁σ₂
//!
//! The first term has the ridge of the co-rotated law at σᵢ + σⱼ = 0; the sum is kept above 10⁻⁶ in
//! the twist modes.
//!
//! **Deviations from the paper:** none.

use super::corotated::SMALLEST_SUM;
use super::invariants::{cofactors, stretch_hessian, third};
use super::{IsotropicLaw, Lame};
use stiction_math::{Mat3, Vec3};

/// The fixed co-rotated law.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FixedCorotated {
    /// Material parameters.
    pub lame: Lame,
}

impl FixedCorotated {
    /// λ(J − 1).
    #[inline]
    fn pressure(&self, sigma: &Vec3) -> f64 {
        self.lame.lambda * (sigma.product() - 1.0)
    }
}

impl IsotropicLaw for FixedCorotated {
    #[inline]
    fn energy(&self, sigma: &Vec3) -> f64 {
        let j = sigma.product() - 1.0;
        self.lame.mu * sigma.add_scalar(-1.0).norm_squared() + 0.5 * self.lame.lambda * j * j
    }

    #[inline]
    fn gradient(&self, sigma: &Vec3) -> Vec3 {
        sigma.add_scalar(-1.0) * (2.0 * self.lame.mu) + cofactors(sigma) * self.pressure(sigma)
    }

    #[inline]
    fn stretch_hessian(&self, sigma: &Vec3) -> Mat3 {
        stretch_hessian(
            sigma,
            2.0 * self.lame.mu,
            0.0,
            self.pressure(sigma),
            self.lame.lambda,
        )
    }

    #[inline]
    fn twist(&self, i: usize, j: usize, sigma: &Vec3) -> f64 {
        let sum = (sigma[i] + sigma[j]).max(SMALLEST_SUM);
        let mu = self.lame.mu;
        2.0 * mu - 4.0 * mu / sum + self.pressure(sigma) * sigma[third(i, j)]
    }

    #[inline]
    fn flip(&self, i: usize, j: usize, sigma: &Vec3) -> f64 {
        2.0 * self.lame.mu - self.pressure(sigma) * sigma[third(i, j)]
    }
}
