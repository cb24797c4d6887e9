//! A ball: its surface, its volume, and a hollow ball with a thick wall.
//!
//! All three start from the icosahedron, whose 20 equal faces come closest to a uniform mesh of
//! the sphere. Mapping a cube to the ball instead would flatten the tetrahedra along its edges.

use stiction_math::Vec3;
use stiction_math::elementary::{cos, sin};

use super::simplex::{subdivide_tets, subdivide_triangles, subdivision_nodes};
use super::sweep::sweep;
use super::{ShapeError, at_least_one, limited, positive, require};
use crate::mesh::{TetMesh, TriMesh};

/// A sphere of triangles, centred at the origin, facing outwards.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BallSurface {
    /// Radius [m].
    pub radius: f64,
    /// Number of parts into which each edge of the icosahedron is cut (2ˢ for s subdivisions).
    pub frequency: u32,
}

/// A full ball of tetrahedra, centred at the origin.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BallSolid {
    /// Radius [m].
    pub radius: f64,
    /// Number of layers from the centre to the surface. The surface is that of
    /// [`BallSurface`] with this frequency.
    pub layers: u32,
}

/// A hollow ball of tetrahedra, centred at the origin.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BallShell {
    /// Outer radius [m].
    pub radius: f64,
    /// Thickness of the wall [m], smaller than the radius.
    pub thickness: f64,
    /// Number of parts into which each edge of the icosahedron is cut.
    pub frequency: u32,
    /// Number of layers through the wall.
    pub layers: u32,
}

const SHAPE: &str = "ball";

impl BallSurface {
    /// The number of vertices.
    pub fn node_count(&self) -> Result<u64, ShapeError> {
        positive(SHAPE, "radius", self.radius)?;
        at_least_one(SHAPE, "frequency", self.frequency)?;
        limited(SHAPE, sphere_nodes(self.frequency))
    }

    /// Builds the mesh.
    pub fn build(&self) -> Result<TriMesh, ShapeError> {
        self.node_count()?;
        let corners = icosahedron();
        let place = |weights: &[(u32, u32)]| {
            let sum = weights
                .iter()
                .map(|(v, w)| corners[*v as usize] * f64::from(*w));
            self.radius * sum.sum::<Vec3>().normalize()
        };
        let (positions, triangles) = subdivide_triangles(&FACES, self.frequency, place);
        Ok(TriMesh {
            positions,
            triangles,
        })
    }
}

impl BallSolid {
    /// The number of vertices.
    pub fn node_count(&self) -> Result<u64, ShapeError> {
        positive(SHAPE, "radius", self.radius)?;
        at_least_one(SHAPE, "layers", self.layers)?;
        limited(SHAPE, subdivision_nodes([13, 42, 50, 20], self.layers))
    }

    /// Builds the mesh.
    pub fn build(&self) -> Result<TetMesh, ShapeError> {
        self.node_count()?;
        let corners = icosahedron();
        let n = self.layers;
        // Vertex 12 is the centre; its weight says how deep below the surface a vertex lies.
        let place = |weights: &[(u32, u32)]| {
            let (mut sum, mut out) = (Vec3::zeros(), 0);
            for (v, w) in weights.iter().filter(|(v, _)| *v < 12) {
                sum += corners[*v as usize] * f64::from(*w);
                out += w;
            }
            if out == 0 {
                return Vec3::zeros();
            }
            self.radius * f64::from(out) / f64::from(n) * sum.normalize()
        };
        let sectors = FACES.map(|[a, b, c]| [12, a, b, c]);
        let (positions, tets, _) = subdivide_tets(&sectors, n, place);
        Ok(TetMesh { positions, tets })
    }
}

impl BallShell {
    /// The number of vertices.
    pub fn node_count(&self) -> Result<u64, ShapeError> {
        positive(SHAPE, "radius", self.radius)?;
        positive(SHAPE, "thickness", self.thickness)?;
        let thin = self.thickness < self.radius;
        let requirement = "smaller than the radius";
        require(thin, SHAPE, "thickness", requirement, self.thickness)?;
        at_least_one(SHAPE, "frequency", self.frequency)?;
        at_least_one(SHAPE, "layers", self.layers)?;
        let per_layer = sphere_nodes(self.frequency);
        limited(SHAPE, per_layer * (u128::from(self.layers) + 1))
    }

    /// Builds the mesh, layer by layer from the inner to the outer wall.
    pub fn build(&self) -> Result<TetMesh, ShapeError> {
        self.node_count()?;
        let sphere = BallSurface {
            radius: 1.0,
            frequency: self.frequency,
        }
        .build()?;
        let mut mesh = TetMesh::default();
        for l in 0..=self.layers {
            let depth = 1.0 - f64::from(l) / f64::from(self.layers);
            let r = self.radius - self.thickness * depth;
            mesh.positions
                .extend(sphere.positions.iter().map(|p| r * p));
        }
        let n = sphere.positions.len() as u32;
        mesh.tets = sweep(&sphere.triangles, n, self.layers, false);
        Ok(mesh)
    }
}

fn sphere_nodes(frequency: u32) -> u128 {
    let n = u128::from(frequency);
    10 * n * n + 2
}

/// The twelve unit vertices: two poles and two rings of five.
fn icosahedron() -> [Vec3; 12] {
    let (z, r) = (0.2_f64.sqrt(), 0.8_f64.sqrt());
    let ring = |i: usize, upper: bool| {
        let turn = i as f64 + if upper { 0.0 } else { 0.5 };
        let phi = turn * std::f64::consts::TAU / 5.0;
        Vec3::new(r * cos(phi), r * sin(phi), if upper { z } else { -z })
    };
    std::array::from_fn(|i| match i {
        0 => Vec3::z(),
        1..=5 => ring(i - 1, true),
        6..=10 => ring(i - 6, false),
        _ => -Vec3::z(),
    })
}

/// The twenty faces of [`icosahedron`], counter-clockwise from outside.
const FACES: [[u32; 3]; 20] = [
    [0, 1, 2],
    [0, 2, 3],
    [0, 3, 4],
    [0, 4, 5],
    [0, 5, 1],
    [1, 6, 2],
    [2, 7, 3],
    [3, 8, 4],
    [4, 9, 5],
    [5, 10, 1],
    [6, 7, 2],
    [7, 8, 3],
    [8, 9, 4],
    [9, 10, 5],
    [10, 6, 1],
    [11, 7, 6],
    [11, 8, 7],
    [11, 9, 8],
    [11, 10, 9],
    [11, 6, 10],
];

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::super::testing::{assert_closed_surface, assert_second_order, assert_solid};
    use super::*;
    use std::f64::consts::PI;

    #[test]
    fn spheres_are_uniform_and_converge() {
        let (mut areas, mut volumes) = (Vec::new(), Vec::new());
        for frequency in [1, 2, 3, 4, 5, 8, 16] {
            let shape = BallSurface {
                radius: 0.7,
                frequency,
            };
            let m = shape.build().unwrap();
            assert_eq!(m.positions.len() as u64, shape.node_count().unwrap());
            assert_closed_surface(&m, 0, &format!("sphere {frequency}"));
            assert!(m.positions.iter().all(|p| (p.norm() - 0.7).abs() < 1e-14));
            assert!(m.quality().unwrap().min_angle.to_degrees() > 45.0);
            if frequency.is_power_of_two() {
                areas.push(m.area());
                volumes.push(m.volume());
            }
        }
        assert_second_order(4.0 * PI * 0.49, &areas[1..], "area");
        assert_second_order(4.0 / 3.0 * PI * 0.343, &volumes[1..], "volume");
    }

    #[test]
    fn solid_balls_are_well_shaped_and_converge() {
        let mut volumes = Vec::new();
        for layers in [1, 2, 3, 4, 5, 8] {
            let shape = BallSolid {
                radius: 0.7,
                layers,
            };
            let m = shape.build().unwrap();
            assert_eq!(m.positions.len() as u64, shape.node_count().unwrap());
            assert_eq!(m.tets.len() as u32, 20 * layers.pow(3));
            assert_solid(&m, 0, 30.0, &format!("ball {layers}"));
            if layers.is_power_of_two() {
                volumes.push(m.volume());
            }
        }
        assert_second_order(4.0 / 3.0 * PI * 0.343, &volumes[1..], "volume");
    }

    #[test]
    fn hollow_balls_have_two_walls() {
        let mut volumes = Vec::new();
        for frequency in [2, 4, 8] {
            let shape = BallShell {
                radius: 0.7,
                thickness: 0.2,
                frequency,
                layers: 1 + frequency / 4,
            };
            let m = shape.build().unwrap();
            assert_eq!(m.positions.len() as u64, shape.node_count().unwrap());
            assert!((0..m.tets.len()).all(|t| m.tet_volume(t) > 0.0));
            let (skin, _) = m.surface();
            skin.check_closed().unwrap();
            assert_eq!(skin.components().count, 2);
            assert!((skin.volume() - m.volume()).abs() < 1e-12);
            volumes.push(m.volume());
        }
        let exact = 4.0 / 3.0 * PI * (0.343 - 0.125);
        assert_second_order(exact, &volumes, "volume");
        let solid = BallShell {
            radius: 0.7,
            thickness: 0.7,
            frequency: 2,
            layers: 1,
        };
        let message = solid.build().unwrap_err().to_string();
        assert!(message.contains("`thickness` must be smaller than the radius"));
    }
}
