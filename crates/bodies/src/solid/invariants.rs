//! Laws of the form ψ = f(I) + φ(J) with I = Σσᵢ² and J = σ₀σ₁σ₂.
//!
//! Writing k for the third index and Jₖ = σᵢσⱼ,
//! ψᵢ = 2f′σᵢ + φ′Jᵢ,
//! ψᵢᵢ = 2f′ + 4f″σᵢ² + φ″Jᵢ²,  ψᵢⱼ = 4f″σᵢσⱼ + φ″JᵢJⱼ + φ′σₖ,
//! twist = 2f′ + φ′σₖ,  flip = 2f′ − φ′σₖ.
//! The division in twist and flip is exact for every σ: such laws are smooth everywhere.

use stiction_math::{Mat3, Vec3};

/// ∂J/∂σ.
pub(super) fn cofactors(s: &Vec3) -> Vec3 {
    Vec3::new(s.y * s.z, s.z * s.x, s.x * s.y)
}

/// I − 3, with the digits that the plain sum would lose near rest. An energy that is a difference
/// of large terms keeps its relative accuracy there, which line searches rely on.
pub(super) fn excess_square(s: &Vec3) -> f64 {
    s.map(|s| (s - 1.0) * (s + 1.0)).sum()
}

/// J − 1, with the digits that the plain product would lose near rest.
pub(super) fn excess_volume(s: &Vec3) -> f64 {
    let e = s.add_scalar(-1.0);
    e.x + e.y + e.z + e.x * e.y + e.y * e.z + e.z * e.x + e.x * e.y * e.z
}

/// The third index, different from i and j.
pub(super) fn third(i: usize, j: usize) -> usize {
    3 - i - j
}

/// `slope`·σ + φ′ ∂J/∂σ, where `slope` = 2f′.
pub(super) fn gradient(sigma: &Vec3, slope: f64, dphi: f64) -> Vec3 {
    sigma * slope + cofactors(sigma) * dphi
}

/// ∂²ψ/∂σ² from `slope` = 2f′, `curve` = 4f″, φ′ and φ″.
pub(super) fn stretch_hessian(sigma: &Vec3, slope: f64, curve: f64, dphi: f64, ddphi: f64) -> Mat3 {
    let c = cofactors(sigma);
    let entry = |i: usize, j: usize| curve * sigma[i] * sigma[j] + ddphi * c[i] * c[j];
    let (a, b, d) = (
        entry(0, 1) + dphi * sigma.z,
        entry(0, 2) + dphi * sigma.y,
        entry(1, 2) + dphi * sigma.x,
    );
    Mat3::new(
        entry(0, 0) + slope,
        a,
        b, //
        a,
        entry(1, 1) + slope,
        d, //
        b,
        d,
        entry(2, 2) + slope,
    )
}
