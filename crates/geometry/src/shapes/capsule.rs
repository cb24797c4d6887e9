//! A capsule: a cylinder with half balls at its ends.

use std::f64::consts::{FRAC_PI_2, FRAC_PI_3};
use stiction_math::elementary::{cos, sin};

use stiction_math::Vec3;

use super::revolve::{Circle, revolve};
use super::simplex::{subdivide_tets, subdivision_nodes};
use super::sweep::sweep;
use super::{ShapeError, at_least_one, disc_nodes, limited, positive};
use crate::mesh::{TetMesh, TriMesh};

/// The surface of a capsule along the z axis, centred at the origin, facing outwards.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CapsuleSurface {
    /// Radius [m].
    pub radius: f64,
    /// Length of the cylinder, without the half balls [m].
    pub length: f64,
    /// Number of rings of cells from each pole to the cylinder, which has 6·rings cells around.
    pub rings: u32,
    /// Number of cells along the cylinder.
    pub along: u32,
}

/// A capsule of tetrahedra along the z axis, centred at the origin.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CapsuleSolid {
    /// Radius [m].
    pub radius: f64,
    /// Length of the cylinder, without the half balls [m].
    pub length: f64,
    /// Number of rings of cells from the axis to the surface.
    pub rings: u32,
    /// Number of cells along the cylinder.
    pub along: u32,
}

const SHAPE: &str = "capsule";

impl CapsuleSurface {
    /// The number of vertices.
    pub fn node_count(&self) -> Result<u64, ShapeError> {
        check(self.radius, self.length, self.rings, self.along)?;
        let between = (u128::from(self.along) - 1) * 6 * u128::from(self.rings);
        limited(SHAPE, 2 * disc_nodes(self.rings) + between)
    }

    /// Builds the mesh.
    pub fn build(&self) -> Result<TriMesh, ShapeError> {
        self.node_count()?;
        let (r, half) = (self.radius, 0.5 * self.length);
        let mut upper = vec![Circle::pole(half + r)];
        for k in 1..=self.rings {
            let theta = FRAC_PI_2 * f64::from(k) / f64::from(self.rings);
            upper.push(Circle {
                radius: r * sin(theta),
                z: half + r * cos(theta),
                count: 6 * k,
            });
        }
        let lower = upper.iter().rev().map(|c| Circle { z: -c.z, ..*c });
        let between = (1..self.along).map(|k| Circle {
            radius: r,
            z: half - self.length * f64::from(k) / f64::from(self.along),
            count: 6 * self.rings,
        });
        let profile: Vec<Circle> = upper.iter().copied().chain(between).chain(lower).collect();
        Ok(revolve(&profile))
    }
}

impl CapsuleSolid {
    /// The number of vertices.
    pub fn node_count(&self) -> Result<u64, ShapeError> {
        check(self.radius, self.length, self.rings, self.along)?;
        let half_ball = subdivision_nodes([8, 19, 18, 6], self.rings);
        let between = (u128::from(self.along) - 1) * disc_nodes(self.rings);
        limited(SHAPE, 2 * half_ball + between)
    }

    /// Builds the mesh: the lower half ball, the upper one, and layers of the disc between.
    pub fn build(&self) -> Result<TetMesh, ShapeError> {
        self.node_count()?;
        let half = 0.5 * self.length;
        let (ball, disc, equator) = half_ball(self.radius, self.rings);
        let ball_nodes = ball.positions.len() as u32;
        let disc_nodes = equator.len() as u32;

        let mut mesh = TetMesh::default();
        let down = |p: &Vec3| Vec3::new(p.x, p.y, -half - p.z);
        let up = |p: &Vec3| Vec3::new(p.x, p.y, half + p.z);
        mesh.positions.extend(ball.positions.iter().map(down));
        mesh.positions.extend(ball.positions.iter().map(up));
        // Mirroring turns the lower tetrahedra inside out, so two corners are swapped back.
        mesh.tets
            .extend(ball.tets.iter().map(|&[a, b, c, d]| [a, b, d, c]));
        mesh.tets
            .extend(ball.tets.iter().map(|t| t.map(|v| v + ball_nodes)));

        for k in 1..self.along {
            let z = -half + self.length * f64::from(k) / f64::from(self.along);
            let flat =
                |&v: &u32| Vec3::new(1.0, 1.0, 0.0).component_mul(&ball.positions[v as usize]);
            let layer = equator.iter().map(|v| flat(v) + Vec3::new(0.0, 0.0, z));
            mesh.positions.extend(layer);
        }
        let node = |id: u32| {
            let (layer, v) = (id / disc_nodes, id % disc_nodes);
            if layer == 0 {
                equator[v as usize]
            } else if layer == self.along {
                ball_nodes + equator[v as usize]
            } else {
                2 * ball_nodes + (layer - 1) * disc_nodes + v
            }
        };
        let cylinder = sweep(&disc, disc_nodes, self.along, false);
        mesh.tets.extend(cylinder.into_iter().map(|t| t.map(node)));
        Ok(mesh)
    }
}

fn check(radius: f64, length: f64, rings: u32, along: u32) -> Result<(), ShapeError> {
    positive(SHAPE, "radius", radius)?;
    positive(SHAPE, "length", length)?;
    at_least_one(SHAPE, "rings", rings)?;
    at_least_one(SHAPE, "along", along)
}

/// The upper half of a ball, cut like a pyramid on a hexagon; the triangles of its flat side,
/// facing up, over a compact list of vertices; and that list.
fn half_ball(radius: f64, n: u32) -> (TetMesh, Vec<[u32; 3]>, Vec<u32>) {
    // Coarse vertices: the centre, the pole and six corners on the equator.
    const POLE: u32 = 1;
    let sectors: [[u32; 4]; 6] = std::array::from_fn(|i| {
        let i = i as u32;
        [0, 2 + i, 2 + (i + 1) % 6, POLE]
    });
    let place = |weights: &[(u32, u32)]| {
        let equatorial: Vec<(u32, u32)> = weights.iter().copied().filter(|w| w.0 > 1).collect();
        let ring: u32 = equatorial.iter().map(|w| w.1).sum();
        let pole: u32 = weights.iter().filter(|w| w.0 == POLE).map(|w| w.1).sum();
        let shell = ring + pole;
        if shell == 0 {
            return Vec3::zeros();
        }
        let r = radius * f64::from(shell) / f64::from(n);
        let theta = FRAC_PI_2 * f64::from(ring) / f64::from(shell);
        let sector = match equatorial[..] {
            [] => 0.0,
            [(corner, _)] => f64::from(corner - 2),
            // The sector between the last corner and the first.
            [(2, first), (7, _), ..] => 5.0 + f64::from(first) / f64::from(ring),
            [(corner, _), (_, next), ..] => {
                f64::from(corner - 2) + f64::from(next) / f64::from(ring)
            }
        };
        let phi = FRAC_PI_3 * sector;
        let z = if pole == 0 { 0.0 } else { cos(theta) };
        r * Vec3::new(sin(theta) * cos(phi), sin(theta) * sin(phi), z)
    };
    let (positions, tets, weights) = subdivide_tets(&sectors, n, place);
    let ball = TetMesh { positions, tets };

    let flat: Vec<bool> = weights
        .iter()
        .map(|w| w.iter().all(|(v, _)| *v != POLE))
        .collect();
    let equator: Vec<u32> = (0..flat.len() as u32)
        .filter(|v| flat[*v as usize])
        .collect();
    let mut compact = vec![0; flat.len()];
    for (i, &v) in equator.iter().enumerate() {
        compact[v as usize] = i as u32;
    }
    let (skin, nodes) = ball.surface();
    let disc = skin
        .triangles
        .iter()
        .map(|t| t.map(|v| nodes[v as usize]))
        .filter(|t| t.iter().all(|v| flat[*v as usize]))
        .map(|[a, b, c]| [a, c, b].map(|v| compact[v as usize]))
        .collect();
    (ball, disc, equator)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::super::testing::{assert_closed_surface, assert_second_order, assert_solid};
    use super::*;
    use std::f64::consts::PI;

    const VOLUME: f64 = PI * 0.09 * 0.8 + 4.0 / 3.0 * PI * 0.027;

    #[test]
    fn surfaces_are_closed_and_converge() {
        let (mut areas, mut volumes) = (Vec::new(), Vec::new());
        for rings in [1, 2, 4, 8, 16] {
            let shape = CapsuleSurface {
                radius: 0.3,
                length: 0.8,
                rings,
                along: 2 * rings,
            };
            let m = shape.build().unwrap();
            assert_eq!(m.positions.len() as u64, shape.node_count().unwrap());
            assert_closed_surface(&m, 0, &format!("capsule {rings}"));
            areas.push(m.area());
            volumes.push(m.volume());
        }
        assert_second_order(TAU_R * 0.8 + 4.0 * PI * 0.09, &areas[1..], "area");
        assert_second_order(VOLUME, &volumes[1..], "volume");
    }
    const TAU_R: f64 = 2.0 * PI * 0.3;

    #[test]
    fn solids_are_well_shaped_and_converge() {
        let mut volumes = Vec::new();
        for rings in [1, 2, 3, 4, 5, 8] {
            for along in [1, 2, 3 * rings] {
                let shape = CapsuleSolid {
                    radius: 0.3,
                    length: 0.8,
                    rings,
                    along,
                };
                let m = shape.build().unwrap();
                assert_eq!(m.positions.len() as u64, shape.node_count().unwrap());
                // One long cell along the cylinder is a choice of the caller, not of the shape.
                let least = if along == 3 * rings { 15.0 } else { 1.0 };
                assert_solid(&m, 0, least, &format!("capsule {rings}×{along}"));
                if rings.is_power_of_two() && along == 3 * rings {
                    volumes.push(m.volume());
                }
            }
        }
        assert_second_order(VOLUME, &volumes[1..], "volume");
    }
}
