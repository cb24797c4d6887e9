//! A cylindrical shell with open or closed ends.

use super::revolve::{Circle, cap, cap_nodes, revolve};
use super::{ShapeError, at_least_one, at_least_three, limited, positive};
use crate::mesh::TriMesh;

/// A cylindrical surface around the z axis, centred at the origin, facing outwards.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Tube {
    /// Radius [m].
    pub radius: f64,
    /// Length along z [m].
    pub length: f64,
    /// Number of cells around the axis.
    pub around: u32,
    /// Number of cells along the axis.
    pub along: u32,
    /// Shape of the ends.
    pub ends: TubeEnds,
}

/// Shape of the ends of a tube.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TubeEnds {
    /// Nothing: a sleeve with two rims.
    Open,
    /// Flat discs: a closed surface.
    Closed,
}

impl Tube {
    /// The number of vertices.
    pub fn node_count(&self) -> Result<u64, ShapeError> {
        self.count("tube")
    }

    /// Builds the mesh.
    pub fn build(&self) -> Result<TriMesh, ShapeError> {
        self.node_count()?;
        Ok(self.mesh())
    }

    pub(super) fn count(&self, shape: &'static str) -> Result<u64, ShapeError> {
        positive(shape, "radius", self.radius)?;
        positive(shape, "length", self.length)?;
        at_least_three(shape, "around", self.around)?;
        at_least_one(shape, "along", self.along)?;
        let wall = u128::from(self.around) * (u128::from(self.along) + 1);
        let caps = match self.ends {
            TubeEnds::Open => 0,
            TubeEnds::Closed => 2 * cap_nodes(self.around),
        };
        limited(shape, wall + caps)
    }

    pub(super) fn mesh(&self) -> TriMesh {
        let half = 0.5 * self.length;
        let closed = self.ends == TubeEnds::Closed;
        let mut profile = Vec::new();
        if closed {
            profile = cap(self.radius, half, self.around);
        }
        for k in 0..=self.along {
            profile.push(Circle {
                radius: self.radius,
                z: half - self.length * f64::from(k) / f64::from(self.along),
                count: self.around,
            });
        }
        if closed {
            profile.extend(cap(self.radius, -half, self.around).into_iter().rev());
        }
        revolve(&profile)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::super::testing::{assert_closed_surface, assert_manifold, assert_second_order};
    use super::*;
    use std::f64::consts::PI;

    fn tube(around: u32, along: u32, ends: TubeEnds) -> Tube {
        Tube {
            radius: 0.5,
            length: 2.0,
            around,
            along,
            ends,
        }
    }

    #[test]
    fn tubes_of_all_sizes_are_manifold_and_face_outwards() {
        for around in [3, 4, 5, 6, 7, 11, 12, 20, 33] {
            for along in [1, 2, 5] {
                let open = tube(around, along, TubeEnds::Open);
                let m = open.build().unwrap();
                assert_eq!(m.positions.len() as u64, open.node_count().unwrap());
                assert_manifold(&m, "tube");
                assert_eq!(m.boundary_edges().len() as u32, 2 * around);
                for t in 0..m.triangles.len() {
                    let centre: stiction_math::Vec3 = m.corners(t).iter().sum();
                    assert!(m.area_vector(t).xy().dot(&centre.xy()) > 0.0);
                }
                let closed = tube(around, along, TubeEnds::Closed);
                let m = closed.build().unwrap();
                assert_eq!(m.positions.len() as u64, closed.node_count().unwrap());
                assert_closed_surface(&m, 0, &format!("closed tube {around}×{along}"));
            }
        }
    }

    #[test]
    fn caps_are_well_shaped_for_any_number_of_cells_around() {
        for around in 5..80 {
            let mut shape = tube(around, 1, TubeEnds::Closed);
            shape.length = 3.0 / f64::from(around);
            let degrees = shape
                .build()
                .unwrap()
                .quality()
                .unwrap()
                .min_angle
                .to_degrees();
            assert!(degrees > 25.0, "{around}: {degrees}");
        }
    }

    #[test]
    fn area_and_volume_converge() {
        let at = |n| tube(n, n, TubeEnds::Closed).build().unwrap();
        let meshes: Vec<TriMesh> = [12, 24, 48].map(at).into();
        let volumes: Vec<f64> = meshes.iter().map(|m| m.volume()).collect();
        assert_second_order(PI * 0.25 * 2.0, &volumes, "volume");
        let areas: Vec<f64> = meshes.iter().map(|m| m.area()).collect();
        assert_second_order(PI * 2.0 + 2.0 * PI * 0.25, &areas, "area");
    }

    #[test]
    fn absurd_sizes_are_refused_at_once() {
        let mut t = tube(u32::MAX, 1, TubeEnds::Closed);
        assert!(matches!(t.build(), Err(ShapeError::TooLarge { .. })));
        t.around = 2;
        assert!(t.build().unwrap_err().to_string().contains("`around`"));
    }
}
