//! St. Venant–Kirchhoff elasticity: linear in the Green strain Eᵢ = ½(σᵢ² − 1).
//!
//! ψ = μ ΣEᵢ² + λ/2 (ΣEᵢ)²
//!
//! Smooth everywhere, but even in each σᵢ: it softens under compression and a mirrored element is
//! at rest too. Use it for moderate compression; the other laws recover from inversion.

use super::{IsotropicLaw, Lame};
use stiction_math::{Mat3, Vec3};

/// The St. Venant–Kirchhoff law.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Stvk {
    /// Material parameters.
    pub lame: Lame,
}

impl Stvk {
    /// λ ΣEᵢ − μ.
    #[inline]
    fn offset(&self, sigma: &Vec3) -> f64 {
        0.5 * self.lame.lambda * (sigma.norm_squared() - 3.0) - self.lame.mu
    }
}

impl IsotropicLaw for Stvk {
    #[inline]
    fn energy(&self, sigma: &Vec3) -> f64 {
        let e = sigma.map(|s| 0.5 * (s - 1.0) * (s + 1.0));
        let trace = e.sum();
        self.lame.mu * e.norm_squared() + 0.5 * self.lame.lambda * trace * trace
    }

    #[inline]
    fn gradient(&self, sigma: &Vec3) -> Vec3 {
        let offset = self.offset(sigma);
        sigma.map(|s| s * (self.lame.mu * s * s + offset))
    }

    #[inline]
    fn stretch_hessian(&self, sigma: &Vec3) -> Mat3 {
        let Lame { mu, lambda } = self.lame;
        let offset = self.offset(sigma);
        sigma * sigma.transpose() * lambda
            + Mat3::from_diagonal(&sigma.map(|s| 3.0 * mu * s * s + offset))
    }

    #[inline]
    fn twist(&self, i: usize, j: usize, sigma: &Vec3) -> f64 {
        let (a, b) = (sigma[i], sigma[j]);
        self.lame.mu * (a * a - a * b + b * b) + self.offset(sigma)
    }

    #[inline]
    fn flip(&self, i: usize, j: usize, sigma: &Vec3) -> f64 {
        let (a, b) = (sigma[i], sigma[j]);
        self.lame.mu * (a * a + a * b + b * b) + self.offset(sigma)
    }
}
