//! A bowl: part of a sphere, open at the top; as a shell, or with a thick wall.

use stiction_math::Vec3;
use stiction_math::elementary::{acos, cos, sin};

use super::revolve::{Circle, revolve};
use super::sweep::sweep;
use super::{ShapeError, at_least_one, disc_nodes, limited, positive, require};
use crate::mesh::{TetMesh, TriMesh};

/// A bowl without thickness: an open surface facing away from the centre of its sphere, which is
/// the origin. The bottom is at z = −radius, the rim `depth` above it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bowl {
    /// Radius of the sphere [m].
    pub radius: f64,
    /// Height of the rim over the bottom [m], below 2·radius; equal to `radius` for a
    /// hemisphere.
    pub depth: f64,
    /// Number of rings of cells from the bottom to the rim, which has 6·rings cells.
    pub rings: u32,
}

/// The closed surface of a bowl with a thick wall, facing outwards.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BowlSurface {
    /// Radius of the outer sphere [m].
    pub radius: f64,
    /// Height of the outer rim over the bottom [m], below 2·radius.
    pub depth: f64,
    /// Thickness of the wall [m], smaller than the radius.
    pub thickness: f64,
    /// Number of rings of cells from the bottom to the rim.
    pub rings: u32,
    /// Number of cells across the rim.
    pub layers: u32,
}

/// A bowl of tetrahedra with a thick wall.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BowlSolid {
    /// Radius of the outer sphere [m].
    pub radius: f64,
    /// Height of the outer rim over the bottom [m], below 2·radius.
    pub depth: f64,
    /// Thickness of the wall [m], smaller than the radius.
    pub thickness: f64,
    /// Number of rings of cells from the bottom to the rim.
    pub rings: u32,
    /// Number of layers through the wall.
    pub layers: u32,
}

const SHAPE: &str = "bowl";

impl Bowl {
    /// The number of vertices.
    pub fn node_count(&self) -> Result<u64, ShapeError> {
        check(self.radius, self.depth, self.rings)?;
        limited(SHAPE, disc_nodes(self.rings))
    }

    /// Builds the mesh. The last vertex is the bottom, the first 6·rings are the rim.
    pub fn build(&self) -> Result<TriMesh, ShapeError> {
        self.node_count()?;
        Ok(revolve(&self.profile()))
    }

    /// From the rim to the bottom.
    fn profile(&self) -> Vec<Circle> {
        let angle = acos(1.0 - self.depth / self.radius);
        let mut profile = Vec::new();
        for k in (1..=self.rings).rev() {
            let theta = angle * f64::from(k) / f64::from(self.rings);
            profile.push(Circle {
                radius: self.radius * sin(theta),
                z: -self.radius * cos(theta),
                count: 6 * k,
            });
        }
        profile.push(Circle::pole(-self.radius));
        profile
    }
}

impl BowlSurface {
    /// The number of vertices.
    pub fn node_count(&self) -> Result<u64, ShapeError> {
        check(self.radius, self.depth, self.rings)?;
        check_wall(self.radius, self.thickness, self.layers)?;
        let rim = (u128::from(self.layers) - 1) * 6 * u128::from(self.rings);
        limited(SHAPE, 2 * disc_nodes(self.rings) + rim)
    }

    /// Builds the mesh: up the inner wall, over the rim, down the outer wall.
    pub fn build(&self) -> Result<TriMesh, ShapeError> {
        self.node_count()?;
        let outer = Bowl {
            radius: self.radius,
            depth: self.depth,
            rings: self.rings,
        }
        .profile();
        let scaled = |c: &Circle, s: f64| Circle {
            radius: s * c.radius,
            z: s * c.z,
            count: c.count,
        };
        let hollow = 1.0 - self.thickness / self.radius;
        let inner = outer.iter().rev().map(|c| scaled(c, hollow));
        let rim = (1..self.layers).map(|l| {
            let s = hollow + (1.0 - hollow) * f64::from(l) / f64::from(self.layers);
            scaled(&outer[0], s)
        });
        let profile: Vec<Circle> = inner.chain(rim).chain(outer.iter().copied()).collect();
        Ok(revolve(&profile))
    }
}

impl BowlSolid {
    /// The number of vertices.
    pub fn node_count(&self) -> Result<u64, ShapeError> {
        check(self.radius, self.depth, self.rings)?;
        check_wall(self.radius, self.thickness, self.layers)?;
        let copies = u128::from(self.layers) + 1;
        limited(SHAPE, disc_nodes(self.rings) * copies)
    }

    /// Builds the mesh, layer by layer from the inner to the outer wall.
    pub fn build(&self) -> Result<TetMesh, ShapeError> {
        self.node_count()?;
        let outer = Bowl {
            radius: self.radius,
            depth: self.depth,
            rings: self.rings,
        }
        .build()?;
        let mut mesh = TetMesh::default();
        for l in 0..=self.layers {
            let inward = 1.0 - f64::from(l) / f64::from(self.layers);
            let s = 1.0 - self.thickness / self.radius * inward;
            let layer = outer.positions.iter().map(|p: &Vec3| s * p);
            mesh.positions.extend(layer);
        }
        let n = outer.positions.len() as u32;
        mesh.tets = sweep(&outer.triangles, n, self.layers, false);
        Ok(mesh)
    }
}

fn check(radius: f64, depth: f64, rings: u32) -> Result<(), ShapeError> {
    positive(SHAPE, "radius", radius)?;
    positive(SHAPE, "depth", depth)?;
    let requirement = "smaller than twice the radius";
    require(depth < 2.0 * radius, SHAPE, "depth", requirement, depth)?;
    at_least_one(SHAPE, "rings", rings)
}

fn check_wall(radius: f64, thickness: f64, layers: u32) -> Result<(), ShapeError> {
    positive(SHAPE, "thickness", thickness)?;
    let requirement = "smaller than the radius";
    require(
        thickness < radius,
        SHAPE,
        "thickness",
        requirement,
        thickness,
    )?;
    at_least_one(SHAPE, "layers", layers)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::super::testing::*;
    use super::*;
    use std::f64::consts::PI;

    const R: f64 = 0.4;
    const R_IN: f64 = 0.3;

    #[test]
    fn shells_face_away_from_the_centre_and_converge() {
        for depth in [0.1, 0.4, 0.6] {
            let mut areas = Vec::new();
            for rings in [2, 4, 8, 16] {
                let shape = Bowl {
                    radius: R,
                    depth,
                    rings,
                };
                let m = shape.build().unwrap();
                assert_eq!(m.positions.len() as u64, shape.node_count().unwrap());
                assert_manifold(&m, "bowl");
                assert_eq!(m.boundary_edges().len() as u32, 6 * rings);
                let rim = m.boundary_vertices();
                assert!(rim.iter().all(|v| *v < 6 * rings));
                assert!((m.positions[0].z - (depth - R)).abs() < 1e-12);
                for t in 0..m.triangles.len() {
                    assert!(m.area_vector(t).dot(&m.corners(t)[0]) > 0.0);
                }
                areas.push(m.area());
            }
            // The cap of a sphere has the area 2πRh.
            assert_second_order(2.0 * PI * R * depth, &areas, "area");
        }
    }

    #[test]
    fn thick_bowls_are_closed_and_converge() {
        for depth in [0.1, 0.4, 0.6] {
            let (mut volumes, mut solids) = (Vec::new(), Vec::new());
            for rings in [2, 4, 8, 16] {
                let layers = 1 + rings / 4;
                let surface = BowlSurface {
                    radius: R,
                    depth,
                    thickness: R - R_IN,
                    rings,
                    layers,
                };
                let m = surface.build().unwrap();
                assert_eq!(m.positions.len() as u64, surface.node_count().unwrap());
                assert_closed_surface(&m, 0, &format!("bowl {depth} {rings}"));
                volumes.push(m.volume());
                let solid = BowlSolid {
                    radius: R,
                    depth,
                    thickness: R - R_IN,
                    rings,
                    layers,
                };
                let m = solid.build().unwrap();
                assert_eq!(m.positions.len() as u64, solid.node_count().unwrap());
                assert_solid(&m, 0, 5.0, &format!("bowl {depth} {rings}"));
                solids.push(m.volume());
            }
            // The part of a spherical layer inside a cone: 2π/3 (1 − cos α)(R³ − r³).
            let exact = 2.0 * PI / 3.0 * depth / R * (R.powi(3) - R_IN.powi(3));
            assert_second_order(exact, &volumes, "surface");
            assert_second_order(exact, &solids, "solid");
        }
    }

    #[test]
    fn bad_parameters_are_named() {
        let too_deep = Bowl {
            radius: R,
            depth: 0.8,
            rings: 4,
        };
        let message = too_deep.build().unwrap_err().to_string();
        assert!(message.contains("`depth` must be smaller than twice the radius"));
    }
}
