//! Membranes: triangles that resist stretching and shearing in their own plane.
//!
//! The deformation gradient of a triangle is the 3×2 matrix F = [f₁ f₂] = ∂x/∂X, constant per
//! triangle, where X are isometric material coordinates in the plane of the rest triangle: the
//! first coordinate runs along the warp, the second along the weft. Energies are densities per
//! rest area [N/m] (thickness included) times the rest area [m²].

mod neo_hookean;
mod stvk;
mod tabulated;

pub use neo_hookean::NeoHookeanMembrane;
pub use stvk::{StretchModuli, StvkMembrane};
pub use tabulated::{StretchTable, TabulatedMembrane};

use crate::elements::{ElementError, gather_rest};
use stiction_math::{Mat3, Vec2, Vec3};

/// The warp direction of a cloth that does not specify one: the x axis of the rest pose.
pub const DEFAULT_WARP: Vec3 = Vec3::new(1.0, 0.0, 0.0);

/// A rest triangle thinner than this fraction of its longest edge is refused.
const THINNEST: f64 = 1e-8;

/// The rest shape of a set of triangles: material shape gradients and areas.
#[derive(Clone, Debug)]
pub struct RestTriangles {
    nodes: Vec<[u32; 3]>,
    /// Shape gradients ∇N₁, ∇N₂ [1/m] in material coordinates; ∇N₀ = −∇N₁ − ∇N₂.
    gradients: Vec<[Vec2; 2]>,
    /// Rest areas [m²].
    areas: Vec<f64>,
}

impl RestTriangles {
    /// Computes the rest shape from 3D rest positions [m].
    ///
    /// The warp of each triangle is `warp` projected into its plane (see [`material_frame`]).
    ///
    /// # Errors
    /// If a triangle refers to a missing node, has a non-finite position or has no area.
    pub fn new(
        positions: &[Vec3],
        triangles: &[[u32; 3]],
        warp: Vec3,
    ) -> Result<Self, ElementError> {
        let pattern = triangles
            .iter()
            .enumerate()
            .map(|(e, nodes)| {
                let [a, b, c] = gather_rest(e, nodes, positions)?;
                let normal = (b - a).cross(&(c - a));
                // Without a normal there is no material frame either.
                if normal == Vec3::zeros() {
                    return Err(ElementError::Degenerate {
                        element: e,
                        measure: "area",
                        value: 0.0,
                    });
                }
                let [u, v] = material_frame(&normal, &warp);
                let flat = |p: Vec3| Vec2::new(p.dot(&u), p.dot(&v));
                Ok([Vec2::zeros(), flat(b - a), flat(c - a)])
            })
            .collect::<Result<Vec<_>, ElementError>>()?;
        Self::from_pattern(&pattern, triangles)
    }

    /// Computes the rest shape from flat patterns: for each triangle its three corners [m] in
    /// material coordinates (warp, weft), as garments are cut.
    ///
    /// # Errors
    /// If the lists differ in length or a pattern triangle has no area. A pattern triangle that is
    /// clockwise is refused as inverted.
    pub fn from_pattern(
        pattern: &[[Vec2; 3]],
        triangles: &[[u32; 3]],
    ) -> Result<Self, ElementError> {
        if pattern.len() != triangles.len() {
            return Err(ElementError::Length {
                name: "the pattern",
                got: pattern.len(),
                expected: triangles.len(),
            });
        }
        let mut gradients = Vec::with_capacity(pattern.len());
        let mut areas = Vec::with_capacity(pattern.len());
        for (element, p) in pattern.iter().enumerate() {
            let (b, c) = (p[1] - p[0], p[2] - p[0]);
            let det = b.x * c.y - b.y * c.x;
            let longest = b
                .norm_squared()
                .max(c.norm_squared())
                .max((c - b).norm_squared());
            // Written so that NaN is refused too.
            if !(det > THINNEST * longest && det.is_finite()) {
                return Err(ElementError::Degenerate {
                    element,
                    measure: "area",
                    value: 0.5 * det,
                });
            }
            gradients.push([Vec2::new(c.y, -c.x) / det, Vec2::new(-b.y, b.x) / det]);
            areas.push(0.5 * det);
        }
        Ok(Self {
            nodes: triangles.to_vec(),
            gradients,
            areas,
        })
    }

    /// The nodes of every triangle.
    pub fn nodes(&self) -> &[[u32; 3]] {
        &self.nodes
    }

    /// Rest areas [m²], one per triangle.
    pub fn areas(&self) -> &[f64] {
        &self.areas
    }

    /// The columns f₁, f₂ of the deformation gradient at the node positions `x`.
    pub fn deformation(&self, e: usize, x: &[Vec3; 3]) -> [Vec3; 2] {
        let [g1, g2] = &self.gradients[e];
        let (d1, d2) = (x[1] - x[0], x[2] - x[0]);
        [d1 * g1.x + d2 * g2.x, d1 * g1.y + d2 * g2.y]
    }

    /// Maps the stress P = ∂ψ/∂F (columns `p`) to node gradients A·P·∇Nₐ.
    fn spread(&self, e: usize, p: &[Vec3; 2]) -> [Vec3; 3] {
        let area = self.areas[e];
        let [g1, g2] = &self.gradients[e];
        let n1 = (p[0] * g1.x + p[1] * g1.y) * area;
        let n2 = (p[0] * g2.x + p[1] * g2.y) * area;
        [-(n1 + n2), n1, n2]
    }
}

/// Maps the second derivative of ψ, given as the blocks M₁₁, M₁₂, M₂₂ with M_ij = ∂²ψ/∂fᵢ∂fⱼ in
/// the basis in which the shape gradients `g` are written, to the 3×3 node blocks.
fn spread_hessian(area: f64, g: &[Vec2; 2], m: &[Mat3; 3]) -> [[Mat3; 3]; 3] {
    let m21 = m[1].transpose();
    let block = |a: &Vec2, b: &Vec2| {
        m[0] * (area * a.x * b.x)
            + m[1] * (area * a.x * b.y)
            + m21 * (area * a.y * b.x)
            + m[2] * (area * a.y * b.y)
    };
    let h11 = block(&g[0], &g[0]);
    let h12 = block(&g[0], &g[1]);
    let h22 = block(&g[1], &g[1]);
    let h21 = h12.transpose();
    // Rows and columns sum to zero: a translation costs nothing.
    let (h01, h02) = (-(h11 + h21), -(h12 + h22));
    let h00 = -(h01 + h02);
    [
        [h00, h01, h02],
        [h01.transpose(), h11, h12],
        [h02.transpose(), h21, h22],
    ]
}

/// Unit warp and weft in the plane with the given normal (any length).
///
/// The warp is `axis` projected into the plane. Where the axis is within about 0.06° of the
/// normal its projection means nothing, and the coordinate axis least aligned with `axis` takes
/// its place. The weft completes warp, weft, normal to a right-handed frame.
pub fn material_frame(normal: &Vec3, axis: &Vec3) -> [Vec3; 2] {
    let n = normal.normalize();
    let project = |a: &Vec3| a - n * n.dot(a);
    let mut warp = project(axis);
    if warp.norm() <= 1e-3 * axis.norm() {
        let mut other = Vec3::zeros();
        other[axis.iamin()] = 1.0;
        warp = project(&other);
    }
    let warp = warp.normalize();
    [warp, n.cross(&warp)]
}

/// Eigenvalues l₁ ≥ l₂ of the symmetric matrix [[a, b], [b, c]] and the unit eigenvector of l₁;
/// that of l₂ is the same turned by 90°.
fn eig2(a: f64, b: f64, c: f64) -> (f64, f64, Vec2) {
    let mean = 0.5 * (a + c);
    let d = 0.5 * (a - c);
    let r = (d * d + b * b).sqrt();
    // Of the two formulas for the eigenvector, take the one free of cancellation.
    let v = if d >= 0.0 {
        Vec2::new(r + d, b)
    } else {
        Vec2::new(b, r - d)
    };
    let len = v.norm();
    let v = if len > 0.0 {
        v / len
    } else {
        Vec2::new(1.0, 0.0)
    };
    (mean + r, mean - r, v)
}
