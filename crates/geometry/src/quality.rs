//! Shape quality of the elements of a mesh.

use stiction_math::Vec3;
use stiction_math::elementary::atan2;

use crate::mesh::{TetMesh, TriMesh};

/// Lengths over all edges of a mesh [m].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct EdgeLengths {
    /// The shortest.
    pub min: f64,
    /// The mean.
    pub mean: f64,
    /// The longest.
    pub max: f64,
}

/// The quality of a triangle mesh.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TriQuality {
    /// The smallest angle of any triangle [rad]; at best π/3.
    pub min_angle: f64,
    /// The triangle that has it.
    pub worst: usize,
    /// The largest ratio of longest edge to height over it, scaled to 1 for an equilateral
    /// triangle.
    pub max_aspect: f64,
    /// Edge lengths [m].
    pub edges: EdgeLengths,
}

/// The quality of a tetrahedral mesh.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TetQuality {
    /// The smallest dihedral angle of any tetrahedron [rad]; at best arccos(1/3) ≈ 70.5°.
    pub min_dihedral: f64,
    /// The largest dihedral angle of any tetrahedron [rad].
    pub max_dihedral: f64,
    /// The tetrahedron with the smallest dihedral angle.
    pub worst: usize,
    /// The largest ratio of longest edge to smallest height, scaled to 1 for a regular
    /// tetrahedron.
    pub max_aspect: f64,
    /// Edge lengths [m].
    pub edges: EdgeLengths,
}

impl TriMesh {
    /// Statistics over all triangles; `None` if there are none.
    pub fn quality(&self) -> Option<TriQuality> {
        let edges = edge_lengths(&self.positions, &self.edges())?;
        let mut worst = (f64::INFINITY, 0);
        let mut max_aspect = 0.0_f64;
        for t in 0..self.triangles.len() {
            let x = self.corners(t);
            let angle = triangle_min_angle(&x);
            if angle < worst.0 {
                worst = (angle, t);
            }
            max_aspect = max_aspect.max(triangle_aspect(&x));
        }
        Some(TriQuality {
            min_angle: worst.0,
            worst: worst.1,
            max_aspect,
            edges,
        })
    }
}

impl TetMesh {
    /// Statistics over all tetrahedra; `None` if there are none.
    pub fn quality(&self) -> Option<TetQuality> {
        let edges = edge_lengths(&self.positions, &self.edges())?;
        let mut worst = (f64::INFINITY, 0);
        let (mut max_dihedral, mut max_aspect) = (0.0_f64, 0.0_f64);
        for t in 0..self.tets.len() {
            let x = self.corners(t);
            let [low, high] = dihedral_range(&x);
            if low < worst.0 {
                worst = (low, t);
            }
            max_dihedral = max_dihedral.max(high);
            max_aspect = max_aspect.max(tet_aspect(&x));
        }
        Some(TetQuality {
            min_dihedral: worst.0,
            max_dihedral,
            worst: worst.1,
            max_aspect,
            edges,
        })
    }
}

/// The smallest angle [rad]; 0 for a degenerate triangle.
pub(crate) fn triangle_min_angle(x: &[Vec3; 3]) -> f64 {
    (0..3)
        .map(|k| angle(&(x[(k + 1) % 3] - x[k]), &(x[(k + 2) % 3] - x[k])))
        .fold(f64::INFINITY, f64::min)
}

/// Longest edge over the height on it, 1 for an equilateral triangle, infinite if degenerate.
pub(crate) fn triangle_aspect(x: &[Vec3; 3]) -> f64 {
    let longest = (0..3)
        .map(|k| (x[(k + 1) % 3] - x[k]).norm())
        .fold(0.0, f64::max);
    let area2 = (x[1] - x[0]).cross(&(x[2] - x[0])).norm();
    ratio(longest * longest * 0.75_f64.sqrt(), area2)
}

/// Longest edge over the smallest height, 1 for a regular tetrahedron, infinite if degenerate.
pub(crate) fn tet_aspect(x: &[Vec3; 4]) -> f64 {
    let mut longest = 0.0_f64;
    let mut area2 = 0.0_f64;
    for k in 0..4 {
        let (a, b, c) = (x[(k + 1) % 4], x[(k + 2) % 4], x[(k + 3) % 4]);
        longest = longest.max((a - x[k]).norm()).max((b - x[k]).norm());
        area2 = area2.max((b - a).cross(&(c - a)).norm());
    }
    let volume6 = (x[1] - x[0])
        .cross(&(x[2] - x[0]))
        .dot(&(x[3] - x[0]))
        .abs();
    ratio(longest * area2 * (2.0_f64 / 3.0).sqrt(), volume6)
}

/// The smallest and the largest of the six interior dihedral angles [rad].
pub(crate) fn dihedral_range(x: &[Vec3; 4]) -> [f64; 2] {
    const OPPOSITE: [[usize; 4]; 6] = [
        [0, 1, 2, 3],
        [0, 2, 1, 3],
        [0, 3, 1, 2],
        [1, 2, 0, 3],
        [1, 3, 0, 2],
        [2, 3, 0, 1],
    ];
    let mut range = [f64::INFINITY, 0.0_f64];
    for [a, b, c, d] in OPPOSITE {
        let e = x[b] - x[a];
        let theta = angle(&e.cross(&(x[c] - x[a])), &e.cross(&(x[d] - x[a])));
        range = [range[0].min(theta), range[1].max(theta)];
    }
    range
}

fn angle(u: &Vec3, v: &Vec3) -> f64 {
    atan2(u.cross(v).norm(), u.dot(v))
}

fn ratio(a: f64, b: f64) -> f64 {
    if b > 0.0 { a / b } else { f64::INFINITY }
}

fn edge_lengths(positions: &[Vec3], edges: &[[u32; 2]]) -> Option<EdgeLengths> {
    if edges.is_empty() {
        return None;
    }
    let (mut min, mut max, mut sum) = (f64::INFINITY, 0.0_f64, 0.0);
    for [a, b] in edges {
        let l = (positions[*a as usize] - positions[*b as usize]).norm();
        (min, max, sum) = (min.min(l), max.max(l), sum + l);
    }
    let mean = sum / edges.len() as f64;
    Some(EdgeLengths { min, mean, max })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn regular_elements_score_one() {
        let h = 0.75_f64.sqrt();
        let mut m = TriMesh {
            positions: vec![
                Vec3::zeros(),
                Vec3::new(1.0, 0.0, 0.0),
                Vec3::new(0.5, h, 0.0),
            ],
            triangles: vec![[0, 1, 2]],
        };
        let q = m.quality().unwrap();
        assert!((q.min_angle.to_degrees() - 60.0).abs() < 1e-12);
        assert!((q.max_aspect - 1.0).abs() < 1e-12);
        m.positions[2] = Vec3::new(0.0, 1.0, 0.0);
        let right = m.quality().unwrap();
        assert!((right.min_angle.to_degrees() - 45.0).abs() < 1e-12);
        assert_eq!(right.edges.max, 2.0_f64.sqrt());

        let regular = TetMesh {
            positions: vec![
                Vec3::new(1.0, 1.0, 1.0),
                Vec3::new(1.0, -1.0, -1.0),
                Vec3::new(-1.0, 1.0, -1.0),
                Vec3::new(-1.0, -1.0, 1.0),
            ],
            tets: vec![[0, 2, 1, 3]],
        };
        assert!(regular.volume() > 0.0);
        let q = regular.quality().unwrap();
        let best = (1.0_f64 / 3.0).acos();
        assert!((q.min_dihedral - best).abs() < 1e-12);
        assert!((q.max_dihedral - best).abs() < 1e-12);
        assert!((q.max_aspect - 1.0).abs() < 1e-12);
    }

    #[test]
    fn degenerate_elements_have_infinite_aspect() {
        let x = [
            Vec3::zeros(),
            Vec3::new(1.0, 0.0, 0.0),
            Vec3::new(2.0, 0.0, 0.0),
        ];
        assert_eq!(triangle_aspect(&x), f64::INFINITY);
        assert_eq!(triangle_min_angle(&x), 0.0);
        let flat = [x[0], x[1], Vec3::new(0.0, 1.0, 0.0), x[2]];
        assert_eq!(tet_aspect(&flat), f64::INFINITY);
        assert!(TriMesh::default().quality().is_none());
        assert!(TetMesh::default().quality().is_none());
    }
}
