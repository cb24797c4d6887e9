//! Compressible neo-Hookean membrane that stays smooth on degenerate triangles.
//!
//! With s = det(FᵀF), the squared area ratio,
//!
//! ψ = h [ μ/2 (tr FᵀF − 2) + U(s) ],  U(s) = λ̂/4 (s − 1) − (λ̂/4 + μ/2) ln s   [N/m]
//!
//! This is the compressible neo-Hookean law of Ciarlet and Geymonat [ciarlet1988, Sect. 4.10]
//! written for two stretches, with the plane-stress modulus λ̂ = Eν/(1−ν²) in place of λ: its
//! linearisation at rest is the isotropic sheet in plane stress. Below half the rest area
//! (s < s₀ = ¼) U continues as its second-order Taylor polynomial, so that ψ is finite and twice
//! continuously differentiable for every F, also where a triangle collapses to a line or a point.
//! In triangles crushed almost to a point (tr FᵀF < 1) the first term is weakened, see
//! [`square_term`]; otherwise they would shrink to a point and stay there. A triangle in space has no inside: mirror images cost the same, so at s = 0 the force across
//! the line vanishes by symmetry, as an unstable balance.
//!
//! Since ψ depends on the singular values σ₁, σ₂ of F alone, its second derivative has a known
//! eigen-structure: a 2×2 block in the stretches, one in-plane twist μ + 2U′σ₁σ₂ and flip
//! μ − 2U′σ₁σ₂, and two out-of-plane modes μ + 2U′σ₂² and μ + 2U′σ₁² (times h, and with the
//! weakened slope for μ). The projected Hessian clamps each to be non-negative and equals the
//! exact one where that is positive.
//!
//! **Deviations.** A sheet in exact plane stress would solve for its thickness stretch; this law
//! agrees with it to second order in strain only. The extrapolation and the
//! weakening are our own choice.

use super::{RestTriangles, eig2, spread_hessian};
use crate::elements::{ElementDerivatives, ElementError, Elements, Hessian, require};
use crate::square_term::square_term;
use stiction_math::elementary::ln_1p;
use stiction_math::{Mat3, Vec2, Vec3};

/// Squared area ratio below which the energy is extrapolated.
const S0: f64 = 0.25;

/// Triangles with the neo-Hookean law.
#[derive(Clone, Debug)]
pub struct NeoHookeanMembrane {
    rest: RestTriangles,
    /// μh [N/m].
    mu: f64,
    /// λ̂h [N/m].
    lambda: f64,
}

impl NeoHookeanMembrane {
    /// An isotropic sheet: Young's modulus [Pa], Poisson's ratio, thickness [m].
    ///
    /// # Errors
    /// Unless E > 0, 0 ≤ ν ≤ ½ and thickness > 0.
    pub fn new(
        rest: RestTriangles,
        young: f64,
        poisson: f64,
        thickness: f64,
    ) -> Result<Self, ElementError> {
        let positive = "positive and finite";
        require(young > 0.0 && young.is_finite(), "young", young, positive)?;
        require(
            (0.0..=0.5).contains(&poisson),
            "poisson",
            poisson,
            "from 0 to 0.5",
        )?;
        require(
            thickness > 0.0 && thickness.is_finite(),
            "thickness",
            thickness,
            positive,
        )?;
        Ok(Self {
            rest,
            mu: 0.5 * young * thickness / (1.0 + poisson),
            lambda: young * poisson * thickness / (1.0 - poisson * poisson),
        })
    }

    /// The rest shape.
    pub fn rest(&self) -> &RestTriangles {
        &self.rest
    }

    /// U, U′ and U″ [N/m] from s and, more accurate near rest, `excess` = s − 1.
    fn area_term(&self, s: f64, excess: f64) -> [f64; 3] {
        let a = 0.25 * self.lambda;
        let b = a + 0.5 * self.mu;
        let at = s.max(S0);
        let excess = excess.max(S0 - 1.0);
        let (u, du, ddu) = (a * excess - b * ln_1p(excess), a - b / at, b / (at * at));
        let below = (s - S0).min(0.0);
        [u + below * (du + 0.5 * ddu * below), du + ddu * below, ddu]
    }

    /// ψ, U′, U″, 2f′, 4f″ [N/m] and the stress columns P = ∂ψ/∂F [N/m].
    fn stress(&self, f: &[Vec3; 2]) -> (f64, [f64; 4], [Vec3; 2]) {
        let (a, b, c) = (f[0].norm_squared(), f[0].dot(&f[1]), f[1].norm_squared());
        // The cross product keeps all digits of s where a·c − b² would cancel.
        let s = f[0].cross(&f[1]).norm_squared();
        // Near rest ψ is a small difference of large terms. Both use the same rounded a − 1 and
        // c − 1, so that the rounding errors cancel to first order as well.
        let (da, dc) = (a - 1.0, c - 1.0);
        let near_rest = da.abs() < 0.5 && dc.abs() < 0.5;
        let excess = if near_rest {
            da + dc + da * dc - b * b
        } else {
            s - 1.0
        };
        let [u, du, ddu] = self.area_term(s, excess);
        let [square, slope, curve] = square_term(a + c);
        let (slope, curve) = (self.mu * slope, self.mu * curve);
        let square = if near_rest {
            0.5 * (da + dc)
        } else {
            square - 1.0
        };
        let d = 2.0 * du;
        let p = [
            f[0] * (slope + d * c) - f[1] * (d * b),
            f[1] * (slope + d * a) - f[0] * (d * b),
        ];
        (self.mu * square + u, [du, ddu, slope, curve], p)
    }
}

impl Elements<3> for NeoHookeanMembrane {
    fn nodes(&self) -> &[[u32; 3]] {
        self.rest.nodes()
    }

    fn energy(&self, e: usize, x: &[Vec3; 3]) -> f64 {
        self.stress(&self.rest.deformation(e, x)).0 * self.rest.areas[e]
    }

    fn gradient(&self, e: usize, x: &[Vec3; 3]) -> [Vec3; 3] {
        self.rest
            .spread(e, &self.stress(&self.rest.deformation(e, x)).2)
    }

    fn local(&self, e: usize, x: &[Vec3; 3], kind: Hessian) -> ElementDerivatives<3> {
        let f = self.rest.deformation(e, x);
        let (density, [du, ddu, slope, curve], p) = self.stress(&f);
        let frame = Frame::new(&f);
        let [s1, s2] = frame.sigma;
        let d = 2.0 * du;
        let mut out = [slope + d * s2 * s2, slope + d * s1 * s1];
        let mut twist = slope + d * s1 * s2;
        let mut flip = slope - d * s1 * s2;
        let (c1, c2) = (2.0 * s1 * s2 * s2, 2.0 * s2 * s1 * s1); // ∂s/∂σ
        let mut stretch = [
            out[0] + curve * s1 * s1 + ddu * c1 * c1,
            (2.0 * d + curve) * s1 * s2 + ddu * c1 * c2,
            out[1] + curve * s2 * s2 + ddu * c2 * c2,
        ];
        if kind == Hessian::Projected {
            out = out.map(|v| v.max(0.0));
            twist = twist.max(0.0);
            flip = flip.max(0.0);
            let (l1, l2, v) = eig2(stretch[0], stretch[1], stretch[2]);
            if l2 < 0.0 {
                let l1 = l1.max(0.0);
                stretch = [l1 * v.x * v.x, l1 * v.x * v.y, l1 * v.y * v.y];
            }
        }
        let same = 0.5 * (flip + twist);
        let cross = 0.5 * (flip - twist);
        let [u1, u2, n] = frame.u;
        let dyad = |a: &Vec3, b: &Vec3| a * b.transpose();
        let (d11, d22, dnn, d12) = (dyad(&u1, &u1), dyad(&u2, &u2), dyad(&n, &n), dyad(&u1, &u2));
        let m: [Mat3; 3] = [
            d11 * stretch[0] + d22 * same + dnn * out[0],
            d12 * stretch[1] + d12.transpose() * cross,
            d11 * same + d22 * stretch[2] + dnn * out[1],
        ];
        let v = frame.v;
        let turned =
            self.rest.gradients[e].map(|g| Vec2::new(v.x * g.x + v.y * g.y, v.x * g.y - v.y * g.x));
        let area = self.rest.areas[e];
        ElementDerivatives {
            energy: density * area,
            gradient: self.rest.spread(e, &p),
            hessian: spread_hessian(area, &turned, &m),
        }
    }
}

/// F = σ₁ u₁v₁ᵀ + σ₂ u₂v₂ᵀ, with n normal to both u and v₂ = v₁ turned by 90°.
struct Frame {
    u: [Vec3; 3],
    sigma: [f64; 2],
    v: Vec2,
}

impl Frame {
    fn new(f: &[Vec3; 2]) -> Self {
        let (_, _, v) = eig2(f[0].norm_squared(), f[0].dot(&f[1]), f[1].norm_squared());
        let a = f[0] * v.x + f[1] * v.y;
        let b = f[1] * v.x - f[0] * v.y;
        let s1 = a.norm();
        let u1 = if s1 > 0.0 { a / s1 } else { Vec3::x() };
        let b = b - u1 * u1.dot(&b);
        let s2 = b.norm();
        // On a triangle collapsed to a line the modes along u₂ and n have equal eigenvalues, so
        // any direction across the line gives the same Hessian.
        let u2 = if s2 > 1e-12 * s1 {
            b / s2
        } else {
            let mut axis = Vec3::zeros();
            axis[u1.iamin()] = 1.0;
            u1.cross(&axis).normalize()
        };
        Self {
            u: [u1, u2, u1.cross(&u2)],
            sigma: [s1, s2],
            v,
        }
    }
}
