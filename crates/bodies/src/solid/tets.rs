//! Tetrahedra with an isotropic law.
//!
//! The second derivative of ψ by F is assembled from its eigen-structure (see [`IsotropicLaw`])
//! in the frames U, V of F and mapped to the nodes by the constant shape gradients ∇Nₐ. With
//! g = Vᵀ∇N the node blocks are H_ab = V₀ U M_ab Uᵀ,
//!
//! M_ab[i,i] = ψᵢᵢ gₐᵢ g_bᵢ + Σ_{j≠i} ½(flip + twist)ᵢⱼ gₐⱼ g_bⱼ,
//! M_ab[i,j] = ψᵢⱼ gₐᵢ g_bⱼ + ½(flip − twist)ᵢⱼ gₐⱼ g_bᵢ.
//!
//! Projected Hessian: the 3×3 stretch block is replaced by its positive part, twists and flips by
//! max(·, 0). This is the closest positive semi-definite matrix to ∂²ψ/∂F², and equal to it where
//! that is positive semi-definite already.

use super::IsotropicLaw;
use crate::elements::{ElementDerivatives, ElementError, Elements, Hessian, gather_rest, require};
use stiction_math::{Mat3, Svd3, Vec3, psd3, svd3};

/// A rest tetrahedron flatter than this fraction of its longest edge is refused.
const FLATTEST: f64 = 1e-9;

/// Tetrahedra that share one law; the law is a type so that its calls are inlined.
#[derive(Clone, Debug)]
pub struct Tets<L> {
    law: L,
    nodes: Vec<[u32; 4]>,
    /// Shape gradients ∇N₁, ∇N₂, ∇N₃ [1/m]; ∇N₀ is minus their sum.
    gradients: Vec<[Vec3; 3]>,
    /// Rest volume × weight [m³].
    volumes: Vec<f64>,
}

impl<L> Tets<L> {
    /// Tetrahedra at rest at `positions` [m]; nodes (a, b, c, d) with (b−a)×(c−a)·(d−a) > 0.
    ///
    /// `weights`, if given, holds for each tetrahedron the fraction in (0, 1] of it that is
    /// filled with material, as for cells of an embedding lattice that the surface cuts.
    ///
    /// # Errors
    /// If a tetrahedron is malformed, flat or inverted, or a weight is outside (0, 1].
    pub fn new(
        law: L,
        positions: &[Vec3],
        tets: &[[u32; 4]],
        weights: Option<&[f64]>,
    ) -> Result<Self, ElementError> {
        if let Some(w) = weights
            && w.len() != tets.len()
        {
            return Err(ElementError::Length {
                name: "the weights",
                got: w.len(),
                expected: tets.len(),
            });
        }
        let mut gradients = Vec::with_capacity(tets.len());
        let mut volumes = Vec::with_capacity(tets.len());
        for (element, nodes) in tets.iter().enumerate() {
            let [a, b, c, d] = gather_rest(element, nodes, positions)?;
            let (p, q, r) = (b - a, c - a, d - a);
            let det = p.cross(&q).dot(&r);
            let longest = [p, q, r, q - p, r - q, p - r]
                .iter()
                .map(|e| e.norm())
                .fold(0.0, f64::max);
            if !(det > FLATTEST * longest.powi(3) && det.is_finite()) {
                return Err(ElementError::Degenerate {
                    element,
                    measure: "volume",
                    value: det / 6.0,
                });
            }
            let weight = weights.map_or(1.0, |w| w[element]);
            require(
                weight > 0.0 && weight <= 1.0,
                "weight",
                weight,
                "above 0 and at most 1",
            )?;
            gradients.push([q.cross(&r) / det, r.cross(&p) / det, p.cross(&q) / det]);
            volumes.push(weight * det / 6.0);
        }
        Ok(Self {
            law,
            nodes: tets.to_vec(),
            gradients,
            volumes,
        })
    }

    /// The law.
    pub fn law(&self) -> &L {
        &self.law
    }

    /// Rest volume × weight of every tetrahedron [m³].
    pub fn volumes(&self) -> &[f64] {
        &self.volumes
    }

    /// The deformation gradient F of tetrahedron `e` at the node positions `x`.
    #[inline]
    pub fn deformation(&self, e: usize, x: &[Vec3; 4]) -> Mat3 {
        let g = &self.gradients[e];
        let d = [x[1] - x[0], x[2] - x[0], x[3] - x[0]];
        let column = |j: usize| d[0] * g[0][j] + d[1] * g[1][j] + d[2] * g[2][j];
        Mat3::from_columns(&[column(0), column(1), column(2)])
    }

    /// Maps ψᵢ in the frames of F to the nodes: V₀ U diag(ψᵢ) Vᵀ ∇Nₐ, with `turned` = Vᵀ∇N.
    #[inline]
    fn spread(u: &Mat3, stress: &Vec3, turned: &[Vec3; 3]) -> [Vec3; 4] {
        let n = turned.map(|g| u * stress.component_mul(&g));
        [-(n[0] + n[1] + n[2]), n[0], n[1], n[2]]
    }
}

impl<L: IsotropicLaw> Elements<4> for Tets<L> {
    fn nodes(&self) -> &[[u32; 4]] {
        &self.nodes
    }

    fn energy(&self, e: usize, x: &[Vec3; 4]) -> f64 {
        self.law.energy(&svd3(&self.deformation(e, x)).sigma) * self.volumes[e]
    }

    fn gradient(&self, e: usize, x: &[Vec3; 4]) -> [Vec3; 4] {
        let Svd3 { u, sigma, v } = svd3(&self.deformation(e, x));
        let turned = self.gradients[e].map(|g| v.tr_mul(&g));
        Self::spread(&u, &(self.law.gradient(&sigma) * self.volumes[e]), &turned)
    }

    fn local(&self, e: usize, x: &[Vec3; 4], kind: Hessian) -> ElementDerivatives<4> {
        let Svd3 { u, sigma, v } = svd3(&self.deformation(e, x));
        let volume = self.volumes[e];
        let turned = self.gradients[e].map(|g| v.tr_mul(&g));
        let modes = Modes::new(&self.law, &sigma, kind);

        let mut hessian = [[Mat3::zeros(); 4]; 4];
        let scaled = turned.map(|g| g * volume);
        for a in 0..3 {
            for b in a..3 {
                let block = modes.block(&scaled[a], &turned[b]);
                hessian[a + 1][b + 1] = u * block * u.transpose();
            }
        }
        hessian[2][1] = hessian[1][2].transpose();
        hessian[3][1] = hessian[1][3].transpose();
        hessian[3][2] = hessian[2][3].transpose();
        // Rows and columns sum to zero: a translation costs nothing.
        for b in 1..4 {
            hessian[0][b] = -(hessian[1][b] + hessian[2][b] + hessian[3][b]);
            hessian[b][0] = hessian[0][b].transpose();
        }
        hessian[0][0] = -(hessian[0][1] + hessian[0][2] + hessian[0][3]);
        ElementDerivatives {
            energy: self.law.energy(&sigma) * volume,
            gradient: Self::spread(&u, &(self.law.gradient(&sigma) * volume), &turned),
            hessian,
        }
    }
}

/// ∂²ψ/∂F² in the frames of F.
pub(crate) struct Modes {
    stretch: Mat3,
    /// ½(flip + twist) of the pairs (1,2), (0,2), (0,1), by the index that is missing.
    same: [f64; 3],
    /// ½(flip − twist), likewise.
    cross: [f64; 3],
}

impl Modes {
    #[inline]
    pub(crate) fn new<L: IsotropicLaw>(law: &L, sigma: &Vec3, kind: Hessian) -> Self {
        let pairs = [(1, 2), (0, 2), (0, 1)];
        let twist = pairs.map(|(i, j)| law.twist(i, j, sigma));
        let flip = pairs.map(|(i, j)| law.flip(i, j, sigma));
        Self::from_parts(law.stretch_hessian(sigma), twist, flip, kind)
    }

    /// From the derivatives of principal stresses by stretches, and the eigenvalues of the modes of the pairs (1,2),
    /// (0,2), (0,1).
    #[inline]
    pub(crate) fn from_parts(
        mut stretch: Mat3,
        mut twist: [f64; 3],
        mut flip: [f64; 3],
        kind: Hessian,
    ) -> Self {
        if kind == Hessian::Projected {
            if !positive_definite(&stretch) {
                stretch = psd3(&stretch);
            }
            twist = twist.map(|t| t.max(0.0));
            flip = flip.map(|f| f.max(0.0));
        }
        Self {
            stretch,
            same: std::array::from_fn(|k| 0.5 * (flip[k] + twist[k])),
            cross: std::array::from_fn(|k| 0.5 * (flip[k] - twist[k])),
        }
    }

    /// The change of Uᵀ P V for the change `d` of Uᵀ F V.
    #[inline]
    pub(crate) fn apply(&self, d: &Mat3) -> Mat3 {
        let diagonal = self.stretch * d.diagonal();
        Mat3::from_fn(|i, j| match i == j {
            true => diagonal[i],
            false => {
                let k = 3 - i - j;
                self.same[k] * d[(i, j)] + self.cross[k] * d[(j, i)]
            }
        })
    }

    /// M_ab for the turned shape gradients of two nodes.
    #[inline]
    pub(crate) fn block(&self, a: &Vec3, b: &Vec3) -> Mat3 {
        let s = &self.stretch;
        let [p0, p1, p2] = self.same;
        let [q0, q1, q2] = self.cross;
        let (x, y, z) = (a.x * b.x, a.y * b.y, a.z * b.z);
        let (xy, yx) = (a.x * b.y, a.y * b.x);
        let (xz, zx) = (a.x * b.z, a.z * b.x);
        let (yz, zy) = (a.y * b.z, a.z * b.y);
        Mat3::new(
            s.m11 * x + p2 * y + p1 * z,
            s.m12 * xy + q2 * yx,
            s.m13 * xz + q1 * zx,
            s.m21 * yx + q2 * xy,
            s.m22 * y + p2 * x + p0 * z,
            s.m23 * yz + q0 * zy,
            s.m31 * zx + q1 * xz,
            s.m32 * zy + q0 * yz,
            s.m33 * z + p1 * x + p0 * y,
        )
    }
}

/// Whether the leading minors are positive, which is far cheaper than an eigen-decomposition.
#[inline]
fn positive_definite(s: &Mat3) -> bool {
    let minor = s.m11 * s.m22 - s.m12 * s.m12;
    s.m11 > 0.0 && minor > 0.0 && s.determinant() > 0.0
}
