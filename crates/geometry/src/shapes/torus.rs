//! A torus, or ring: its surface and its volume.

use std::f64::consts::TAU;
use stiction_math::elementary::{cos, sin};

use stiction_math::Vec3;

use super::disc::Disc;
use super::sweep::sweep;
use super::{ShapeError, at_least_one, at_least_three, disc_nodes, limited, positive, require};
use crate::mesh::{TetMesh, TriMesh};

/// The surface of a torus around the z axis, centred at the origin, facing outwards.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TorusSurface {
    /// Distance of the centre line from the axis [m].
    pub major: f64,
    /// Radius of the cross-section [m], smaller than `major`.
    pub minor: f64,
    /// Number of cells around the axis.
    pub around: u32,
    /// Number of cells around the cross-section.
    pub across: u32,
}

/// A torus of tetrahedra around the z axis, centred at the origin.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TorusSolid {
    /// Distance of the centre line from the axis [m].
    pub major: f64,
    /// Radius of the cross-section [m], smaller than `major`.
    pub minor: f64,
    /// Number of cells around the axis.
    pub around: u32,
    /// Number of rings of cells in the cross-section, which is a [`Disc`].
    pub rings: u32,
}

const SHAPE: &str = "torus";

impl TorusSurface {
    /// The number of vertices.
    pub fn node_count(&self) -> Result<u64, ShapeError> {
        check_radii(self.major, self.minor)?;
        at_least_three(SHAPE, "around", self.around)?;
        at_least_three(SHAPE, "across", self.across)?;
        limited(SHAPE, u128::from(self.around) * u128::from(self.across))
    }

    /// Builds the mesh. Vertex j of section i has index i·across + j.
    pub fn build(&self) -> Result<TriMesh, ShapeError> {
        self.node_count()?;
        let (m, n) = (self.around, self.across);
        let mut mesh = TriMesh::default();
        for i in 0..m {
            for j in 0..n {
                let theta = TAU * f64::from(j) / f64::from(n);
                let rho = self.minor * cos(theta);
                let zeta = self.minor * sin(theta);
                mesh.positions.push(on_torus(self.major, rho, zeta, i, m));
            }
        }
        for i in 0..m {
            for j in 0..n {
                let at = |di: u32, dj: u32| (i + di) % m * n + (j + dj) % n;
                let [a, b, c, d] = [at(0, 0), at(1, 0), at(1, 1), at(0, 1)];
                mesh.triangles.extend([[a, b, c], [a, c, d]]);
            }
        }
        Ok(mesh)
    }
}

impl TorusSolid {
    /// The number of vertices.
    pub fn node_count(&self) -> Result<u64, ShapeError> {
        check_radii(self.major, self.minor)?;
        at_least_three(SHAPE, "around", self.around)?;
        at_least_one(SHAPE, "rings", self.rings)?;
        limited(SHAPE, u128::from(self.around) * disc_nodes(self.rings))
    }

    /// Builds the mesh.
    pub fn build(&self) -> Result<TetMesh, ShapeError> {
        self.node_count()?;
        let disc = Disc {
            radius: self.minor,
            rings: self.rings,
        }
        .build()?;
        let mut mesh = TetMesh::default();
        for i in 0..self.around {
            for p in &disc.positions {
                // The disc's x axis goes to z, so that it faces along the sweep.
                let node = on_torus(self.major, p.y, p.x, i, self.around);
                mesh.positions.push(node);
            }
        }
        let n = disc.positions.len() as u32;
        mesh.tets = sweep(&disc.triangles, n, self.around, true);
        Ok(mesh)
    }
}

fn on_torus(major: f64, rho: f64, zeta: f64, i: u32, around: u32) -> Vec3 {
    let phi = TAU * f64::from(i) / f64::from(around);
    let r = major + rho;
    Vec3::new(r * cos(phi), r * sin(phi), zeta)
}

fn check_radii(major: f64, minor: f64) -> Result<(), ShapeError> {
    positive(SHAPE, "major", major)?;
    positive(SHAPE, "minor", minor)?;
    let requirement = "smaller than the major radius";
    require(minor < major, SHAPE, "minor", requirement, minor)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::super::testing::{assert_closed_surface, assert_second_order, assert_solid};
    use super::*;
    use std::f64::consts::PI;

    const VOLUME: f64 = 2.0 * PI * PI * 0.5 * 0.04;

    #[test]
    fn surfaces_have_one_hole_and_converge() {
        for (around, across) in [(3, 3), (3, 8), (10, 4), (24, 9)] {
            let shape = TorusSurface {
                major: 0.5,
                minor: 0.2,
                around,
                across,
            };
            let m = shape.build().unwrap();
            assert_eq!(m.positions.len() as u64, shape.node_count().unwrap());
            assert_closed_surface(&m, 1, &format!("torus {around}×{across}"));
        }
        let at = |n: u32| {
            TorusSurface {
                major: 0.5,
                minor: 0.2,
                around: 3 * n,
                across: n,
            }
            .build()
            .unwrap()
        };
        let meshes: Vec<TriMesh> = [12, 24, 48].map(at).into();
        let areas: Vec<f64> = meshes.iter().map(|m| m.area()).collect();
        let volumes: Vec<f64> = meshes.iter().map(|m| m.volume()).collect();
        assert_second_order(4.0 * PI * PI * 0.1, &areas, "area");
        assert_second_order(VOLUME, &volumes, "volume");
    }

    #[test]
    fn solids_have_one_hole_and_converge() {
        let mut volumes = Vec::new();
        for (around, rings) in [(3, 1), (20, 2), (40, 4), (80, 8)] {
            let shape = TorusSolid {
                major: 0.5,
                minor: 0.2,
                around,
                rings,
            };
            let m = shape.build().unwrap();
            assert_eq!(m.positions.len() as u64, shape.node_count().unwrap());
            // Three long cells around are a choice of the caller, not of the shape.
            let least = if around == 3 { 1.0 } else { 15.0 };
            assert_solid(&m, 1, least, &format!("torus {around}×{rings}"));
            volumes.push(m.volume());
        }
        assert_second_order(VOLUME, &volumes[1..], "volume");
    }

    #[test]
    fn a_torus_that_meets_itself_is_refused() {
        let shape = TorusSurface {
            major: 0.2,
            minor: 0.2,
            around: 8,
            across: 8,
        };
        let message = shape.build().unwrap_err().to_string();
        assert!(message.contains("`minor` must be smaller than the major radius"));
    }
}
