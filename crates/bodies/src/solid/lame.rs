//! Lamé parameters.

use crate::elements::{ElementError, require};

/// Lamé parameters of an isotropic material.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Lame {
    /// Shear modulus μ [Pa].
    pub mu: f64,
    /// First Lamé parameter λ [Pa].
    pub lambda: f64,
}

impl Lame {
    /// From Young's modulus E [Pa] and Poisson's ratio ν:
    /// μ = E/(2(1+ν)), λ = Eν/((1+ν)(1−2ν)).
    ///
    /// # Errors
    /// Unless E > 0 is finite and 0 ≤ ν < ½. A negative ν is refused because the laws in large
    /// strain need λ ≥ 0 to resist every deformation.
    pub fn new(young: f64, poisson: f64) -> Result<Self, ElementError> {
        require(
            young > 0.0 && young.is_finite(),
            "young",
            young,
            "positive and finite",
        )?;
        require(
            (0.0..0.5).contains(&poisson),
            "poisson",
            poisson,
            "at least 0 and below 0.5",
        )?;
        let mu = 0.5 * young / (1.0 + poisson);
        let lambda = young * poisson / ((1.0 + poisson) * (1.0 - 2.0 * poisson));
        require(
            lambda.is_finite(),
            "poisson",
            poisson,
            "at least 0 and below 0.5",
        )?;
        Ok(Self { mu, lambda })
    }
}
