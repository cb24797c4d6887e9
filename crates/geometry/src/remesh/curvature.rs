//! Change of the normal across the edges of a sheet.

use stiction_math::{Mat2, Vec3, elementary::atan2};

use super::{edit::area_vector, sizing::TangentFrame};
use crate::mesh::TriMesh;

/// Angles [rad] by which the surface bends across each edge of each triangle, beyond those at rest.
/// Edge k of a triangle runs from corner k to corner k + 1. Zero at boundaries.
pub(super) fn bends(rest: &[Vec3], world: &[Vec3], triangles: &[[u32; 3]]) -> Vec<[f64; 3]> {
    let mesh = TriMesh {
        positions: Vec::new(),
        triangles: triangles.to_vec(),
    };
    let mut out = vec![[0.0; 3]; triangles.len()];
    for pair in mesh
        .half_edges()
        .chunk_by(|a, b| a.low == b.low && a.high == b.high)
    {
        let [p, q] = pair else {
            continue;
        };
        let [a, b] = p.directed();
        let ends = [a, b, p.opposite, q.opposite];
        let angle = dihedral(world, ends) - dihedral(rest, ends);
        for h in [p, q] {
            let corners = triangles[h.triangle as usize];
            for k in 0..3 {
                if corners[(k + 2) % 3] == h.opposite {
                    out[h.triangle as usize][k] = angle;
                }
            }
        }
    }
    out
}

/// The dihedral angle of [`TriMesh::hinges`].
fn dihedral(x: &[Vec3], hinge: [u32; 4]) -> f64 {
    let [a, b, c, d] = hinge.map(|v| x[v as usize]);
    let e = b - a;
    let (m, n) = (e.cross(&(c - a)), (d - a).cross(&e));
    atan2(m.cross(&n).dot(&e), m.dot(&n) * e.norm())
}

/// Σ ½ |θ| (l/A) t⊗t over the edges of a triangle [1/m]: the gradient of the normal that halves of the
/// bends θ give at the midpoints of edges of length l, with outward directions t. Bends of either sign
/// add up: folds as fine as the mesh do not cancel.
pub(super) fn shape_operator(frame: &TangentFrame, corners: &[Vec3; 3], bends: &[f64; 3]) -> Mat2 {
    let area = area_vector(corners).norm();
    let mut s = Mat2::zeros();
    for k in 0..3 {
        let e = frame.flat(&(corners[(k + 1) % 3] - corners[k]));
        let length = e.norm();
        let t = stiction_math::Vec2::new(e.y, -e.x) / length;
        s += t * t.transpose() * (0.5 * bends[k].abs() * length / area);
    }
    s
}
