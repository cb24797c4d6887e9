//! St. Venant–Kirchhoff membrane with orthotropic moduli.
//!
//! With the Green strain E = ½(FᵀF − I) in material coordinates (1 = warp, 2 = weft),
//!
//! ψ = ½ (c₁₁ E₁₁² + 2 c₁₂ E₁₁ E₂₂ + c₂₂ E₂₂² + 4 c₃₃ E₁₂²)   [N/m]
//!
//! The moduli include the thickness. This is the form in which measured cloth is published
//! [wang2011], there with moduli that also vary with strain.
//!
//! Projected Hessian: with S = ∂ψ/∂E the exact one is A (BᵀCB + S ⊗ I). The first term is positive
//! semi-definite; in the second S is replaced by its positive part. The result equals the exact
//! Hessian where the stress is tensile in every direction and exceeds it elsewhere.
//!
//! **Deviations** from [wang2011]: constant moduli per material; [`TabulatedMembrane`](super::TabulatedMembrane)
//! has those that depend on strain.

use super::{RestTriangles, eig2, spread_hessian};
use crate::elements::{ElementDerivatives, ElementError, Elements, Hessian, require};
use stiction_math::{Mat3, Vec3};

/// Orthotropic stretch moduli [N/m], thickness included.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct StretchModuli {
    /// Warp stiffness c₁₁ [N/m].
    pub c11: f64,
    /// Warp–weft coupling c₁₂ [N/m].
    pub c12: f64,
    /// Weft stiffness c₂₂ [N/m].
    pub c22: f64,
    /// Shear stiffness c₃₃ [N/m].
    pub c33: f64,
}

impl StretchModuli {
    /// Moduli as measured [N/m] [wang2011].
    ///
    /// # Errors
    /// Unless c₁₁, c₂₂, c₃₃ > 0 and c₁₁c₂₂ > c₁₂², that is, unless ψ is positive.
    pub fn measured(c11: f64, c12: f64, c22: f64, c33: f64) -> Result<Self, ElementError> {
        let positive = "positive and finite";
        require(c11 > 0.0 && c11.is_finite(), "c11", c11, positive)?;
        require(c22 > 0.0 && c22.is_finite(), "c22", c22, positive)?;
        require(c33 > 0.0 && c33.is_finite(), "c33", c33, positive)?;
        require(
            c12 * c12 < c11 * c22,
            "c12",
            c12,
            "smaller in size than sqrt(c11 c22)",
        )?;
        Ok(Self { c11, c12, c22, c33 })
    }

    /// An isotropic sheet in plane stress: Young's modulus E [Pa], Poisson's ratio ν, thickness
    /// h [m]. c₁₁ = c₂₂ = Eh/(1−ν²), c₁₂ = ν c₁₁, c₃₃ = Eh/(2(1+ν)).
    ///
    /// # Errors
    /// Unless E > 0, −1 < ν < 1 and h > 0.
    pub fn isotropic(young: f64, poisson: f64, thickness: f64) -> Result<Self, ElementError> {
        require(
            young > 0.0 && young.is_finite(),
            "young",
            young,
            "positive and finite",
        )?;
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
            "positive and finite",
        )?;
        let c11 = young * thickness / (1.0 - poisson * poisson);
        Ok(Self {
            c11,
            c12: poisson * c11,
            c22: c11,
            c33: 0.5 * young * thickness / (1.0 + poisson),
        })
    }
}

/// Triangles with the orthotropic St. Venant–Kirchhoff law.
#[derive(Clone, Debug)]
pub struct StvkMembrane {
    rest: RestTriangles,
    moduli: StretchModuli,
}

impl StvkMembrane {
    /// One material on all triangles.
    pub fn new(rest: RestTriangles, moduli: StretchModuli) -> Self {
        Self { rest, moduli }
    }

    /// The rest shape.
    pub fn rest(&self) -> &RestTriangles {
        &self.rest
    }

    /// ψ [N/m] and the second Piola–Kirchhoff stress S₁₁, S₁₂, S₂₂ [N/m].
    fn stress(&self, f: &[Vec3; 2]) -> (f64, [f64; 3]) {
        let c = &self.moduli;
        let e11 = 0.5 * (f[0].norm_squared() - 1.0);
        let e22 = 0.5 * (f[1].norm_squared() - 1.0);
        let shear = f[0].dot(&f[1]); // 2 E₁₂
        let s = [
            c.c11 * e11 + c.c12 * e22,
            c.c33 * shear,
            c.c12 * e11 + c.c22 * e22,
        ];
        (0.5 * (s[0] * e11 + s[2] * e22 + s[1] * shear), s)
    }
}

impl Elements<3> for StvkMembrane {
    fn nodes(&self) -> &[[u32; 3]] {
        self.rest.nodes()
    }

    fn energy(&self, e: usize, x: &[Vec3; 3]) -> f64 {
        self.stress(&self.rest.deformation(e, x)).0 * self.rest.areas[e]
    }

    fn gradient(&self, e: usize, x: &[Vec3; 3]) -> [Vec3; 3] {
        let f = self.rest.deformation(e, x);
        let (_, s) = self.stress(&f);
        self.rest
            .spread(e, &[f[0] * s[0] + f[1] * s[1], f[0] * s[1] + f[1] * s[2]])
    }

    fn local(&self, e: usize, x: &[Vec3; 3], kind: Hessian) -> ElementDerivatives<3> {
        let f = self.rest.deformation(e, x);
        let (density, s) = self.stress(&f);
        let gradient = self
            .rest
            .spread(e, &[f[0] * s[0] + f[1] * s[1], f[0] * s[1] + f[1] * s[2]]);
        let s = match kind {
            Hessian::Full => s,
            Hessian::Projected => positive_part(s),
        };
        let c = &self.moduli;
        let f11 = f[0] * f[0].transpose();
        let f12 = f[0] * f[1].transpose();
        let f22 = f[1] * f[1].transpose();
        let m = [
            f11 * c.c11 + f22 * c.c33 + Mat3::from_diagonal_element(s[0]),
            f12 * c.c12 + f12.transpose() * c.c33 + Mat3::from_diagonal_element(s[1]),
            f22 * c.c22 + f11 * c.c33 + Mat3::from_diagonal_element(s[2]),
        ];
        let area = self.rest.areas[e];
        ElementDerivatives {
            energy: density * area,
            gradient,
            hessian: spread_hessian(area, &self.rest.gradients[e], &m),
        }
    }
}

/// The positive part of the symmetric matrix [[s₀, s₁], [s₁, s₂]].
fn positive_part(s: [f64; 3]) -> [f64; 3] {
    let (l1, l2, v) = eig2(s[0], s[1], s[2]);
    if l2 >= 0.0 {
        return s;
    }
    let l1 = l1.max(0.0);
    [l1 * v.x * v.x, l1 * v.x * v.y, l1 * v.y * v.y]
}
