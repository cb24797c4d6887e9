//! A flat disc.

use super::revolve::{Circle, revolve};
use super::{ShapeError, at_least_one, disc_nodes, limited, positive};
use crate::mesh::TriMesh;

/// A disc in the xy plane, centred at the origin, facing +z. Vertex 0 is the centre; ring k has
/// 6k vertices, which makes the triangles nearly equilateral.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Disc {
    /// Radius [m].
    pub radius: f64,
    /// Number of rings of triangles between centre and rim.
    pub rings: u32,
}

const SHAPE: &str = "disc";

impl Disc {
    /// The number of vertices.
    pub fn node_count(&self) -> Result<u64, ShapeError> {
        positive(SHAPE, "radius", self.radius)?;
        at_least_one(SHAPE, "rings", self.rings)?;
        limited(SHAPE, disc_nodes(self.rings))
    }

    /// Builds the mesh.
    pub fn build(&self) -> Result<TriMesh, ShapeError> {
        self.node_count()?;
        let mut profile = vec![Circle::pole(0.0)];
        for k in 1..=self.rings {
            profile.push(Circle {
                radius: self.radius * f64::from(k) / f64::from(self.rings),
                z: 0.0,
                count: 6 * k,
            });
        }
        Ok(revolve(&profile))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::super::testing::{assert_manifold, assert_second_order};
    use super::*;
    use std::f64::consts::PI;

    #[test]
    fn discs_are_well_shaped_and_their_area_converges() {
        let mut areas = Vec::new();
        for rings in [1, 2, 4, 8, 16] {
            let shape = Disc { radius: 0.3, rings };
            let m = shape.build().unwrap();
            assert_eq!(m.positions.len() as u64, shape.node_count().unwrap());
            assert_eq!(m.triangles.len() as u32, 6 * rings * rings);
            assert_manifold(&m, "disc");
            assert!(m.triangle_normals().iter().all(|n| n.z > 0.999));
            assert!(m.quality().unwrap().min_angle.to_degrees() > 35.0);
            assert_eq!(m.boundary_edges().len() as u32, 6 * rings);
            areas.push(m.area());
        }
        assert_second_order(PI * 0.09, &areas[1..], "disc");
    }
}
