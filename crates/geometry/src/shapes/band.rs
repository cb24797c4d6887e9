//! A closed band: a rubber band, or a belt around two pulleys.

use std::f64::consts::{PI, TAU};
use stiction_math::elementary::{cos, sin};

use stiction_math::Vec3;

use super::{ShapeError, at_least_one, at_least_three, limited, positive, require};
use crate::mesh::TriMesh;

/// A band around the z axis, centred at the origin, facing outwards. Seen along z it is two
/// half circles, one at each end of two straight runs along x; without straight runs it is a
/// circle. Vertices are spaced evenly along it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Band {
    /// Radius of the half circles [m].
    pub radius: f64,
    /// Length of each straight run [m], that is, the distance of the pulley axes; 0 for a
    /// circle.
    pub straight: f64,
    /// Width along z [m].
    pub width: f64,
    /// Number of cells along the band.
    pub around: u32,
    /// Number of cells across the width.
    pub across: u32,
}

const SHAPE: &str = "band";

impl Band {
    /// The number of vertices.
    pub fn node_count(&self) -> Result<u64, ShapeError> {
        positive(SHAPE, "radius", self.radius)?;
        positive(SHAPE, "width", self.width)?;
        let good = self.straight >= 0.0 && self.straight.is_finite();
        let requirement = "zero or positive, and finite";
        require(good, SHAPE, "straight", requirement, self.straight)?;
        at_least_three(SHAPE, "around", self.around)?;
        at_least_one(SHAPE, "across", self.across)?;
        let across = u128::from(self.across) + 1;
        limited(SHAPE, u128::from(self.around) * across)
    }

    /// The length of the smooth curve that the band follows [m].
    pub fn length(&self) -> f64 {
        TAU * self.radius + 2.0 * self.straight
    }

    /// Builds the mesh. Vertex i of row j has index j·around + i; rows run towards −z.
    pub fn build(&self) -> Result<TriMesh, ShapeError> {
        self.node_count()?;
        let n = self.around;
        let mut mesh = TriMesh::default();
        for j in 0..=self.across {
            let z = self.width * (0.5 - f64::from(j) / f64::from(self.across));
            for i in 0..n {
                let [x, y] = self.at(self.length() * f64::from(i) / f64::from(n));
                mesh.positions.push(Vec3::new(x, y, z));
            }
        }
        for j in 0..self.across {
            for i in 0..n {
                let (upper, lower, next) = (j * n, (j + 1) * n, (i + 1) % n);
                mesh.triangles.extend([
                    [upper + i, lower + i, lower + next],
                    [upper + i, lower + next, upper + next],
                ]);
            }
        }
        Ok(mesh)
    }

    /// The point at arc length s, starting at the tip on the +x side, counter-clockwise.
    fn at(&self, s: f64) -> [f64; 2] {
        let (r, half) = (self.radius, 0.5 * self.straight);
        let quarter = 0.5 * PI * r;
        if s <= quarter {
            let phi = s / r;
            return [half + r * cos(phi), r * sin(phi)];
        }
        let s = s - quarter;
        if s <= self.straight {
            return [half - s, r];
        }
        let s = s - self.straight;
        if s <= PI * r {
            let phi = 0.5 * PI + s / r;
            return [-half + r * cos(phi), r * sin(phi)];
        }
        let s = s - PI * r;
        if s <= self.straight {
            return [-half + s, -r];
        }
        let phi = 1.5 * PI + (s - self.straight) / r;
        [half + r * cos(phi), r * sin(phi)]
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::super::testing::{assert_manifold, assert_second_order};
    use super::*;

    #[test]
    fn bands_follow_their_curve_and_face_outwards() {
        for straight in [0.0, 0.7] {
            let mut areas = Vec::new();
            for around in [20, 40, 80] {
                let shape = Band {
                    radius: 0.2,
                    straight,
                    width: 0.1,
                    around,
                    across: 3,
                };
                let m = shape.build().unwrap();
                assert_eq!(m.positions.len() as u64, shape.node_count().unwrap());
                assert_manifold(&m, "band");
                assert_eq!(m.boundary_edges().len() as u32, 2 * around);
                for p in &m.positions {
                    let beyond = (p.x.abs() - 0.5 * straight).max(0.0);
                    assert!((beyond.hypot(p.y) - 0.2).abs() < 1e-12);
                }
                for t in 0..m.triangles.len() {
                    let centre: Vec3 = m.corners(t).iter().sum();
                    assert!(m.area_vector(t).xy().dot(&centre.xy()) > 0.0);
                }
                areas.push(m.area());
            }
            let exact = 0.1 * (TAU * 0.2 + 2.0 * straight);
            assert_second_order(exact, &areas, "band");
        }
    }
}
