//! The term ½ I of neo-Hookean laws, I = Σσᵢ², weakened in elements crushed almost to a point.
//!
//! ½ μ I pulls every stretch to zero, and the volume term that opposes it is of higher order in σ:
//! whatever its (finite) slope, an element shrunk far enough would stay a point for ever. Below
//! I = 1 the slope therefore goes to zero with I, as q(I) = 2f′ = I (2 − I) in place of 1. The
//! change is twice continuously differentiable, and it leaves rest and F = 0, now unstable, as
//! the only states of balance.

/// f, 2f′ and 4f″ where f = ½ I for I ≥ 1.
#[inline]
pub(crate) fn square_term(i: f64) -> [f64; 3] {
    if i >= 1.0 {
        [0.5 * i, 1.0, 0.0]
    } else {
        [
            0.5 * (i * i * (1.0 - i / 3.0) + 1.0 / 3.0),
            i * (2.0 - i),
            4.0 * (1.0 - i),
        ]
    }
}
