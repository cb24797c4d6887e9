//! Bending rigidities of shells, by direction and by curvature.
//!
//! Fabrics are published as three rows of five values k_e [N·m] [wang2011]: for folds along the warp, the bias
//! and the weft, at the curvatures 0, 5, 10, 15 and 20 m⁻¹. The program of [narain2012] uses them in
//! E = k_e ‖ē‖² / (8 (Ā₁ + Ā₂)) (θ − θ̄)², that is, the rigidity is D = k_e / 4, at the curvature
//! κ = θ ‖ē‖ / (2 (Ā₁ + Ā₂)); it is linear in the direction between rows and in the curvature between columns,
//! constant beyond the last, and negative values are set to zero.
//!
//! **Deviations** from that program: the angle is that from rest; a hinge has the mean of its two triangles instead of
//! the smaller value; the moment follows from an energy.

use crate::elements::{ElementError, require};
use std::f64::consts::{FRAC_PI_2, FRAC_PI_4, PI};

/// Number of curvatures at which rigidities are tabulated.
pub(crate) const CURVATURES: usize = 5;
/// Distance of these curvatures [1/m] [wang2011].
pub(crate) const CURVATURE_STEP: f64 = 5.0;

/// Bending rigidity [N·m] by bending direction.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BendingRigidity {
    /// For bending along the warp (the fold runs along the weft) [N·m].
    pub warp: f64,
    /// For bending along the weft [N·m].
    pub weft: f64,
    /// For bending along the two diagonals between them [N·m].
    pub bias: f64,
}

impl BendingRigidity {
    /// A direction-independent rigidity D [N·m].
    ///
    /// # Errors
    /// Unless D is finite and not negative.
    pub fn isotropic(rigidity: f64) -> Result<Self, ElementError> {
        Self::measured(rigidity, rigidity, rigidity)
    }

    /// A homogeneous plate, D = Eh³/(12(1−ν²)): Young's modulus [Pa], Poisson's ratio,
    /// thickness [m].
    ///
    /// # Errors
    /// Unless E > 0, −1 < ν < 1 and thickness > 0.
    pub fn plate(young: f64, poisson: f64, thickness: f64) -> Result<Self, ElementError> {
        let positive = "positive and finite";
        require(young > 0.0 && young.is_finite(), "young", young, positive)?;
        require(
            poisson > -1.0 && poisson < 1.0,
            "poisson",
            poisson,
            "between -1 and 1",
        )?;
        require(
            thickness > 0.0 && thickness.is_finite(),
            "thickness",
            thickness,
            positive,
        )?;
        Self::isotropic(young * thickness.powi(3) / (12.0 * (1.0 - poisson * poisson)))
    }

    /// Rigidities as measured on strips cut along warp, weft and bias [N·m], as in [wang2011].
    ///
    /// # Errors
    /// Unless all are finite and not negative.
    pub fn measured(warp: f64, weft: f64, bias: f64) -> Result<Self, ElementError> {
        for (name, value) in [
            ("warp rigidity", warp),
            ("weft rigidity", weft),
            ("bias rigidity", bias),
        ] {
            require(
                value >= 0.0 && value.is_finite(),
                name,
                value,
                "finite and not negative",
            )?;
        }
        Ok(Self { warp, weft, bias })
    }

    /// The rigidity [N·m] for bending in a direction at `angle` [rad] to the warp: linear in the
    /// angle between warp (0°), bias (45°) and weft (90°).
    pub fn along(&self, angle: f64) -> f64 {
        BendingTable::from(*self).along(angle)[0]
    }
}

/// Bending rigidities [N·m] by bending direction, each at the curvatures 0, 5, 10, 15 and 20 m⁻¹.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BendingTable {
    warp: [f64; CURVATURES],
    bias: [f64; CURVATURES],
    weft: [f64; CURVATURES],
}

impl BendingTable {
    /// The table of a fabric as published [wang2011]: k_e [N·m] for folds along the warp, the bias and
    /// the weft. What folds along the warp bends along the weft.
    ///
    /// # Errors
    /// Unless all are finite.
    pub fn published(samples: &[[f64; CURVATURES]; 3]) -> Result<Self, ElementError> {
        for k in samples.iter().flatten() {
            require(k.is_finite(), "bending.samples", *k, "finite")?;
        }
        let [weft, bias, warp] = samples.map(|row| row.map(|k| 0.25 * k.max(0.0)));
        Ok(Self { warp, bias, weft })
    }

    /// The rigidities [N·m] for bending in a direction at `angle` [rad] to the warp.
    pub(crate) fn along(&self, angle: f64) -> [f64; CURVATURES] {
        let folded = angle.rem_euclid(PI);
        let folded = if folded > FRAC_PI_2 {
            PI - folded
        } else {
            folded
        };
        let t = folded / FRAC_PI_4;
        let (from, to, t) = if t <= 1.0 {
            (&self.warp, &self.bias, t)
        } else {
            (&self.bias, &self.weft, t - 1.0)
        };
        std::array::from_fn(|i| from[i] + (to[i] - from[i]) * t)
    }
}

impl From<BendingRigidity> for BendingTable {
    fn from(rigidity: BendingRigidity) -> Self {
        let constant = |d: f64| [d; CURVATURES];
        Self {
            warp: constant(rigidity.warp),
            bias: constant(rigidity.bias),
            weft: constant(rigidity.weft),
        }
    }
}

/// The mean of the rigidities on both sides of a hinge [N·m].
pub(crate) fn mean(sides: &[[f64; CURVATURES]; 2]) -> [f64; CURVATURES] {
    std::array::from_fn(|i| 0.5 * sides[0][i] + 0.5 * sides[1][i])
}
