//! Stable neo-Hookean elasticity [smith2018].
//!
//! ψ = μ̂/2 (I − 3) + λ̂/2 (J − α)² − μ̂/2 ln(I + 1) − ψ̂,  α = 1 + 3μ̂/(4λ̂)
//!
//! with I = Σσᵢ², J = σ₀σ₁σ₂ and the adjusted parameters μ̂ = 4/3 μ, λ̂ = λ + 5/6 μ, for which the
//! law linearises at rest to linear elasticity with μ and λ [smith2018, Sect. 3.4]. It is smooth
//! for every F, inverted or collapsed.
//!
//! **Deviations from the paper:** the constant ψ̂ is subtracted so that the energy at rest is zero.

use super::invariants::{self, excess_square, excess_volume, third};
use super::{IsotropicLaw, Lame};
use stiction_math::elementary::ln_1p;
use stiction_math::{Mat3, Vec3};

/// The stable neo-Hookean law.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct StableNeoHookean {
    mu: f64,
    lambda: f64,
    alpha: f64,
}

impl StableNeoHookean {
    /// The law that linearises to the given Lamé parameters.
    pub fn new(lame: Lame) -> Self {
        let mu = 4.0 / 3.0 * lame.mu;
        let lambda = lame.lambda + 5.0 / 6.0 * lame.mu;
        Self {
            mu,
            lambda,
            alpha: 1.0 + 0.75 * mu / lambda,
        }
    }

    /// 2f′ = μ̂ (1 − 1/(I + 1)).
    #[inline]
    fn slope(&self, sigma: &Vec3) -> f64 {
        let i = sigma.norm_squared();
        self.mu * i / (i + 1.0)
    }

    /// φ′ = λ̂ (J − α).
    #[inline]
    fn pressure(&self, sigma: &Vec3) -> f64 {
        self.lambda * (sigma.product() - self.alpha)
    }
}

impl IsotropicLaw for StableNeoHookean {
    #[inline]
    fn energy(&self, sigma: &Vec3) -> f64 {
        // The same as in the head comment, expanded about the rest state.
        let i = excess_square(sigma);
        let j = excess_volume(sigma);
        0.5 * self.mu * (i - ln_1p(0.25 * i)) + (0.5 * self.lambda * j - 0.75 * self.mu) * j
    }

    #[inline]
    fn gradient(&self, sigma: &Vec3) -> Vec3 {
        invariants::gradient(sigma, self.slope(sigma), self.pressure(sigma))
    }

    #[inline]
    fn stretch_hessian(&self, sigma: &Vec3) -> Mat3 {
        let i = sigma.norm_squared() + 1.0;
        invariants::stretch_hessian(
            sigma,
            self.slope(sigma),
            2.0 * self.mu / (i * i),
            self.pressure(sigma),
            self.lambda,
        )
    }

    #[inline]
    fn twist(&self, i: usize, j: usize, sigma: &Vec3) -> f64 {
        self.slope(sigma) + self.pressure(sigma) * sigma[third(i, j)]
    }

    #[inline]
    fn flip(&self, i: usize, j: usize, sigma: &Vec3) -> f64 {
        self.slope(sigma) - self.pressure(sigma) * sigma[third(i, j)]
    }
}
