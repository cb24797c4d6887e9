//! Neo-Hookean elasticity, extrapolated below 70 % of the rest volume [verschoor2019, Sect. 6.2.1].
//!
//! ψ = μ/2 (I − 3) + φ(J),  φ(J) = −μ ln J + λ/2 ln²J  for J ≥ J₀ = 0.7,
//!
//! with I = Σσᵢ² and J = σ₀σ₁σ₂. For J < J₀ the volume term continues as its second-order Taylor
//! polynomial at J₀. φ is convex and decreasing for every J < 1, so that collapsed and inverted
//! elements are pushed open with a finite force. In elements crushed almost to a point (I < 1, for
//! even compression less than a fifth of the rest volume) the first term is weakened, see
//! [`square_term`]; otherwise they would shrink to a point and stay there.
//!
//! **Deviations from the paper.** [verschoor2019] extrapolates linearly, after [stomakhin2012], who
//! do so along the principal stretches. Here only φ is extrapolated, as a function of J, and to
//! second order: the energy then is twice continuously differentiable, which Newton's method
//! needs, and symmetric in the stretches without special cases. The weakening for I < 1 is ours.

use super::invariants::{self, excess_square, excess_volume, third};
use super::{IsotropicLaw, Lame};
use crate::square_term::square_term;
use stiction_math::elementary::{ln, ln_1p};
use stiction_math::{Mat3, Vec3};

/// Volume ratio below which the energy is extrapolated: "when the volume of an element drops
/// below 70% of its initial volume" [verschoor2019, Sect. 6.2.1].
const J0: f64 = 0.7;

/// The extrapolated neo-Hookean law.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NeoHookean {
    /// Material parameters.
    pub lame: Lame,
}

impl NeoHookean {
    /// 2f′ and 4f″ of the term in I.
    #[inline]
    fn square(&self, sigma: &Vec3) -> [f64; 2] {
        let [_, slope, curve] = square_term(sigma.norm_squared());
        [self.lame.mu * slope, self.lame.mu * curve]
    }

    /// φ, φ′, φ″.
    #[inline]
    fn volume_term(&self, sigma: &Vec3) -> [f64; 3] {
        let Lame { mu, lambda } = self.lame;
        let j = sigma.product();
        let at = j.max(J0);
        let log = if j > J0 {
            ln_1p(excess_volume(sigma))
        } else {
            ln(J0)
        };
        let phi = (0.5 * lambda * log - mu) * log;
        let slope = (lambda * log - mu) / at;
        let curve = (lambda * (1.0 - log) + mu) / (at * at);
        let below = (j - J0).min(0.0);
        // Above J₀ the second derivative is that at J itself, and the correction vanishes.
        [
            phi + below * (slope + 0.5 * curve * below),
            slope + curve * below,
            curve,
        ]
    }
}

impl IsotropicLaw for NeoHookean {
    #[inline]
    fn energy(&self, sigma: &Vec3) -> f64 {
        let i = sigma.norm_squared();
        // Both branches are f(I) − 3/2; the first keeps its digits near rest.
        let square = if i >= 1.0 {
            0.5 * excess_square(sigma)
        } else {
            square_term(i)[0] - 1.5
        };
        self.lame.mu * square + self.volume_term(sigma)[0]
    }

    #[inline]
    fn gradient(&self, sigma: &Vec3) -> Vec3 {
        invariants::gradient(sigma, self.square(sigma)[0], self.volume_term(sigma)[1])
    }

    #[inline]
    fn stretch_hessian(&self, sigma: &Vec3) -> Mat3 {
        let [_, slope, curve] = self.volume_term(sigma);
        let [first, second] = self.square(sigma);
        invariants::stretch_hessian(sigma, first, second, slope, curve)
    }

    #[inline]
    fn twist(&self, i: usize, j: usize, sigma: &Vec3) -> f64 {
        self.square(sigma)[0] + self.volume_term(sigma)[1] * sigma[third(i, j)]
    }

    #[inline]
    fn flip(&self, i: usize, j: usize, sigma: &Vec3) -> f64 {
        self.square(sigma)[0] - self.volume_term(sigma)[1] * sigma[third(i, j)]
    }
}
