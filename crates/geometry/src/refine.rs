//! Uniform refinement of a surface: every triangle becomes four.

use crate::mesh::{MeshError, TriMesh};

/// A surface whose edges are all halved.
///
/// Vertices of the coarse mesh keep their numbers; the midpoints follow in the order of
/// [`TriMesh::edges`]. Triangle (a, b, c) with number t becomes the triangles 4t … 4t + 3:
///
/// ```text
/// (a, ab, ca)   (ab, b, bc)   (ca, bc, c)   (ab, bc, ca)
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Refinement {
    /// Triangles of the fine mesh.
    pub triangles: Vec<[u32; 3]>,
    /// Ends of the coarse edge that each new vertex halves.
    pub edges: Vec<[u32; 2]>,
}

/// Barycentric coordinates of the corners of the four children in their parent, in the order of
/// [`Refinement::triangles`].
pub const CHILDREN: [[[f64; 3]; 3]; 4] = {
    const A: [f64; 3] = [1.0, 0.0, 0.0];
    const B: [f64; 3] = [0.0, 1.0, 0.0];
    const C: [f64; 3] = [0.0, 0.0, 1.0];
    const AB: [f64; 3] = [0.5, 0.5, 0.0];
    const BC: [f64; 3] = [0.0, 0.5, 0.5];
    const CA: [f64; 3] = [0.5, 0.0, 0.5];
    [[A, AB, CA], [AB, B, BC], [CA, BC, C], [AB, BC, CA]]
};

impl TriMesh {
    /// Refines `triangles` over `vertices` vertices. Fails if 32-bit indices cannot name the result.
    pub fn refine(vertices: usize, triangles: &[[u32; 3]]) -> Result<Refinement, MeshError> {
        let mut edges: Vec<[u32; 2]> = triangles
            .iter()
            .flat_map(|&[a, b, c]| [[a, b], [b, c], [c, a]])
            .map(|[a, b]| [a.min(b), a.max(b)])
            .collect();
        edges.sort_unstable();
        edges.dedup();
        let count = (vertices + edges.len()).max(4 * triangles.len());
        if count > u32::MAX as usize {
            return Err(MeshError::TooLarge { count });
        }
        // Every edge of a triangle is in the list.
        let middle = |a: u32, b: u32| {
            let at = edges.partition_point(|e| *e < [a.min(b), a.max(b)]);
            (vertices + at) as u32
        };
        let triangles = triangles
            .iter()
            .flat_map(|&[a, b, c]| {
                let (ab, bc, ca) = (middle(a, b), middle(b, c), middle(c, a));
                [[a, ab, ca], [ab, b, bc], [ca, bc, c], [ab, bc, ca]]
            })
            .collect();
        Ok(Refinement { triangles, edges })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shapes::{Sheet, SheetPattern};
    use stiction_math::Vec3;

    #[test]
    fn children_cover_their_parents_and_neighbours_share_midpoints() {
        let coarse = Sheet {
            size: [1.0, 2.0],
            cells: [3, 2],
            pattern: SheetPattern::Alternating,
        };
        let coarse = coarse.build().unwrap_or_default();
        let n = coarse.positions.len();
        let fine = TriMesh::refine(n, &coarse.triangles).unwrap_or_default();
        assert_eq!(fine.triangles.len(), 4 * coarse.triangles.len());
        let mut mesh = TriMesh {
            positions: coarse.positions.clone(),
            triangles: fine.triangles.clone(),
        };
        let middle = |e: &[u32; 2]| {
            (coarse.positions[e[0] as usize] + coarse.positions[e[1] as usize]) * 0.5
        };
        mesh.positions.extend(fine.edges.iter().map(middle));
        // Euler's formula of a disc: no vertex was made twice.
        assert_eq!(
            mesh.positions.len() + mesh.triangles.len(),
            mesh.edges().len() + 1
        );
        for (t, parent) in (0..coarse.triangles.len()).map(|t| (t, coarse.corners(t))) {
            let area = |[a, b, c]: [Vec3; 3]| (b - a).cross(&(c - a)) * 0.5;
            for (k, child) in CHILDREN.iter().enumerate() {
                let corners = mesh.corners(4 * t + k);
                assert!((area(corners) * 4.0 - area(parent)).norm() < 1e-15);
                for (at, w) in corners.iter().zip(child) {
                    let p = parent[0] * w[0] + parent[1] * w[1] + parent[2] * w[2];
                    assert!((at - p).norm() < 1e-15);
                }
            }
        }
    }
}
