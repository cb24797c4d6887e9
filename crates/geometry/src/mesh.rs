//! The two mesh types, their measures and their placement in space.
//!
//! A mesh is plain data: positions and indices. Methods that follow indices assume that these
//! are in range; [`TriMesh::check`] and [`TetMesh::check`] say so with an error, and every
//! function of this crate that takes a mesh from outside calls them first.

use stiction_math::elementary::atan2;
use stiction_math::{Quat, Vec3};

use crate::bounds::Aabb;

/// A surface of triangles, open or closed.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TriMesh {
    /// Vertex positions [m].
    pub positions: Vec<Vec3>,
    /// Three vertex indices per triangle, counter-clockwise seen from outside.
    pub triangles: Vec<[u32; 3]>,
}

/// A volume of tetrahedra.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TetMesh {
    /// Vertex positions [m].
    pub positions: Vec<Vec3>,
    /// Four vertex indices per tetrahedron, with (b−a)×(c−a)·(d−a) > 0.
    pub tets: Vec<[u32; 4]>,
}

/// Reason for which a mesh cannot be used.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum MeshError {
    /// An element refers to a vertex that does not exist.
    #[error("element {element} refers to vertex {index}, but there are only {count} vertices")]
    IndexOutOfRange {
        /// Index of the triangle or tetrahedron.
        element: usize,
        /// The vertex index found there.
        index: u32,
        /// Number of vertices of the mesh.
        count: usize,
    },
    /// A vertex coordinate is infinite or not a number.
    #[error("vertex {vertex} has a coordinate that is not finite")]
    NonFinite {
        /// Index of the vertex.
        vertex: usize,
    },
    /// Indices are 32-bit: the mesh would need more.
    #[error("the mesh has {count} vertices or elements, more than 32-bit indices can name")]
    TooLarge {
        /// The requested number.
        count: usize,
    },
    /// The surface should be closed, but has an edge with a triangle on one side only.
    #[error(
        "the surface is not closed: edge ({}, {}) of triangle {triangle} has no neighbour on its \
         other side", edge[0], edge[1]
    )]
    OpenEdge {
        /// The edge, in the direction in which the triangle runs along it.
        edge: [u32; 2],
        /// The triangle that has the edge.
        triangle: u32,
    },
    /// Triangles that share an edge run along it in the same direction.
    #[error(
        "triangles {} and {} are oriented against each other along edge ({}, {})",
        triangles[0], triangles[1], edge[0], edge[1]
    )]
    FlippedEdge {
        /// The edge, in the direction in which both triangles run along it.
        edge: [u32; 2],
        /// Two of the triangles that run along it in this direction.
        triangles: [u32; 2],
    },
}

impl TriMesh {
    /// Checks that all indices are in range and all coordinates finite.
    pub fn check(&self) -> Result<(), MeshError> {
        check(&self.positions, &self.triangles)
    }

    /// The axis-parallel bounding box of all vertices; `None` for a mesh without vertices.
    pub fn bounds(&self) -> Option<Aabb> {
        Aabb::of(&self.positions)
    }

    /// Moves every vertex: x ← R (s ∘ x) + t, with one scale factor per axis. A mirroring scale
    /// (negative product) also turns the triangles, so that outside stays outside.
    pub fn transform(&mut self, rotation: &Quat, scale: &Vec3, translation: &Vec3) {
        transform(&mut self.positions, rotation, scale, translation);
        if mirrors(scale) {
            for t in &mut self.triangles {
                t.swap(1, 2);
            }
        }
    }

    /// Turns every triangle over.
    pub fn flip(&mut self) {
        for t in &mut self.triangles {
            t.swap(1, 2);
        }
    }

    /// Adds the vertices and triangles of `other` behind its own. Returns the index that the
    /// first added vertex received.
    pub fn append(&mut self, other: &TriMesh) -> Result<u32, MeshError> {
        let base = capacity(self.positions.len(), other.positions.len())?;
        capacity(self.triangles.len(), other.triangles.len())?;
        self.positions.extend_from_slice(&other.positions);
        let moved = other.triangles.iter().map(|t| t.map(|i| i + base));
        self.triangles.extend(moved);
        Ok(base)
    }

    /// The corners of triangle `t` [m].
    pub fn corners(&self, t: usize) -> [Vec3; 3] {
        self.triangles[t].map(|i| self.positions[i as usize])
    }

    /// The area vector ½ (b−a)×(c−a) of triangle `t` [m²]: along the normal, as long as the
    /// area.
    pub fn area_vector(&self, t: usize) -> Vec3 {
        let [a, b, c] = self.corners(t);
        0.5 * (b - a).cross(&(c - a))
    }

    /// The total area [m²].
    pub fn area(&self) -> f64 {
        (0..self.triangles.len())
            .map(|t| self.area_vector(t).norm())
            .sum()
    }

    /// The enclosed volume [m³], positive if the triangles face outwards. It has a meaning only
    /// for a closed surface.
    pub fn volume(&self) -> f64 {
        // A reference point amid the mesh keeps the signed terms small, whatever the distance to
        // the origin.
        let o = self.bounds().map_or(Vec3::zeros(), |b| b.centre());
        (0..self.triangles.len())
            .map(|t| {
                let [a, b, c] = self.corners(t).map(|p| p - o);
                a.dot(&b.cross(&c)) / 6.0
            })
            .sum()
    }

    /// A unit normal per triangle; zero for a degenerate one.
    pub fn triangle_normals(&self) -> Vec<Vec3> {
        (0..self.triangles.len())
            .map(|t| unit_or_zero(self.area_vector(t)))
            .collect()
    }

    /// A unit normal per vertex: the triangle normals weighted by the angle at the vertex, which
    /// does not depend on how a flat region is cut into triangles. Zero for a vertex without a
    /// proper triangle.
    pub fn vertex_normals(&self) -> Vec<Vec3> {
        let mut sum = vec![Vec3::zeros(); self.positions.len()];
        for (t, corners) in self.triangles.iter().enumerate() {
            let x = self.corners(t);
            let n = unit_or_zero(self.area_vector(t));
            for k in 0..3 {
                let u = x[(k + 1) % 3] - x[k];
                let v = x[(k + 2) % 3] - x[k];
                sum[corners[k] as usize] += atan2(u.cross(&v).norm(), u.dot(&v)) * n;
            }
        }
        sum.into_iter().map(unit_or_zero).collect()
    }
}

impl TetMesh {
    /// Checks that all indices are in range and all coordinates finite.
    pub fn check(&self) -> Result<(), MeshError> {
        check(&self.positions, &self.tets)
    }

    /// The axis-parallel bounding box of all vertices; `None` for a mesh without vertices.
    pub fn bounds(&self) -> Option<Aabb> {
        Aabb::of(&self.positions)
    }

    /// Moves every vertex: x ← R (s ∘ x) + t, with one scale factor per axis. A mirroring scale
    /// (negative product) also reorders the tetrahedra, so that their volumes stay positive.
    pub fn transform(&mut self, rotation: &Quat, scale: &Vec3, translation: &Vec3) {
        transform(&mut self.positions, rotation, scale, translation);
        if mirrors(scale) {
            for t in &mut self.tets {
                t.swap(2, 3);
            }
        }
    }

    /// Adds the vertices and tetrahedra of `other` behind its own. Returns the index that the
    /// first added vertex received.
    pub fn append(&mut self, other: &TetMesh) -> Result<u32, MeshError> {
        let base = capacity(self.positions.len(), other.positions.len())?;
        capacity(self.tets.len(), other.tets.len())?;
        self.positions.extend_from_slice(&other.positions);
        let moved = other.tets.iter().map(|t| t.map(|i| i + base));
        self.tets.extend(moved);
        Ok(base)
    }

    /// The corners of tetrahedron `t` [m].
    pub fn corners(&self, t: usize) -> [Vec3; 4] {
        self.tets[t].map(|i| self.positions[i as usize])
    }

    /// The signed volume (b−a)×(c−a)·(d−a)/6 of tetrahedron `t` [m³].
    pub fn tet_volume(&self, t: usize) -> f64 {
        let [a, b, c, d] = self.corners(t);
        (b - a).cross(&(c - a)).dot(&(d - a)) / 6.0
    }

    /// The sum of the signed volumes [m³].
    pub fn volume(&self) -> f64 {
        (0..self.tets.len()).map(|t| self.tet_volume(t)).sum()
    }
}

fn check<const N: usize>(positions: &[Vec3], elements: &[[u32; N]]) -> Result<(), MeshError> {
    let count = positions.len();
    capacity(count, 0)?;
    capacity(elements.len(), 0)?;
    if let Some(vertex) = positions
        .iter()
        .position(|p| !p.iter().all(|x| x.is_finite()))
    {
        return Err(MeshError::NonFinite { vertex });
    }
    for (element, nodes) in elements.iter().enumerate() {
        if let Some(&index) = nodes.iter().find(|&&i| i as usize >= count) {
            return Err(MeshError::IndexOutOfRange {
                element,
                index,
                count,
            });
        }
    }
    Ok(())
}

fn capacity(have: usize, more: usize) -> Result<u32, MeshError> {
    let count = have.saturating_add(more);
    if count > u32::MAX as usize {
        return Err(MeshError::TooLarge { count });
    }
    Ok(have as u32)
}

pub(crate) fn transform(positions: &mut [Vec3], rotation: &Quat, scale: &Vec3, translation: &Vec3) {
    for p in positions {
        *p = rotation * p.component_mul(scale) + translation;
    }
}

fn mirrors(scale: &Vec3) -> bool {
    scale.iter().filter(|s| **s < 0.0).count() % 2 == 1
}

pub(crate) fn unit_or_zero(v: Vec3) -> Vec3 {
    let n = v.norm();
    if n > 0.0 && n.is_finite() {
        v / n
    } else {
        Vec3::zeros()
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::shapes::{BoxSolid, BoxSurface, TetPattern};

    fn brick() -> BoxSurface {
        BoxSurface {
            size: [1.0, 2.0, 3.0],
            cells: [2, 3, 4],
        }
    }

    #[test]
    fn measures_of_a_box_are_exact_far_from_the_origin() {
        let mut m = brick().build().unwrap();
        m.transform(
            &Quat::from_euler_angles(0.3, 0.5, -1.0),
            &Vec3::new(2.0, 2.0, 2.0),
            &Vec3::new(100.0, -50.0, 20.0),
        );
        assert!((m.area() - 4.0 * 22.0).abs() < 1e-10);
        assert!((m.volume() - 48.0).abs() < 1e-10);
    }

    #[test]
    fn a_mirroring_scale_keeps_volumes_positive() {
        let mirror = Vec3::new(-1.0, 1.0, 2.0);
        let mut m = brick().build().unwrap();
        m.transform(&Quat::identity(), &mirror, &Vec3::zeros());
        assert!((m.volume() - 12.0).abs() < 1e-12);
        let mut solid = BoxSolid {
            size: [1.0, 2.0, 3.0],
            cells: [1, 2, 1],
            pattern: TetPattern::Kuhn,
        }
        .build()
        .unwrap();
        solid.transform(&Quat::identity(), &mirror, &Vec3::zeros());
        assert!((0..solid.tets.len()).all(|t| solid.tet_volume(t) > 0.0));
        assert!((solid.volume() - 12.0).abs() < 1e-12);
    }

    #[test]
    fn vertex_normals_of_a_cube_corner_are_diagonal_however_it_is_cut() {
        let m = BoxSurface {
            size: [2.0, 2.0, 2.0],
            cells: [1, 1, 1],
        }
        .build()
        .unwrap();
        for (p, n) in m.positions.iter().zip(m.vertex_normals()) {
            assert!((n - p.normalize()).norm() < 1e-12, "{p} {n}");
        }
    }

    #[test]
    fn append_shifts_indices() {
        let one = brick().build().unwrap();
        let mut two = one.clone();
        let base = two.append(&one).unwrap();
        assert_eq!(base as usize, one.positions.len());
        assert_eq!(two.triangles.len(), 2 * one.triangles.len());
        assert_eq!(two.components().count, 2);
        assert!((two.volume() - 2.0 * one.volume()).abs() < 1e-12);
    }

    #[test]
    fn check_names_the_fault() {
        let mut m = brick().build().unwrap();
        let count = m.positions.len();
        m.triangles[3][1] = 999;
        let found = m.check().unwrap_err();
        let expected = MeshError::IndexOutOfRange {
            element: 3,
            index: 999,
            count,
        };
        assert_eq!(found, expected);
        m.positions[5].y = f64::NAN;
        assert_eq!(m.check().unwrap_err(), MeshError::NonFinite { vertex: 5 });
    }
}
