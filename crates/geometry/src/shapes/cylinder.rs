//! A cylinder: its surface and its volume.

use stiction_math::Vec3;

use super::sweep::sweep;
use super::{Disc, ShapeError, Tube, TubeEnds, at_least_one, disc_nodes, limited, positive};
use crate::mesh::{TetMesh, TriMesh};

/// The closed surface of a cylinder along the z axis, centred at the origin, facing outwards.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CylinderSurface {
    /// Radius [m].
    pub radius: f64,
    /// Length along z [m].
    pub length: f64,
    /// Number of cells around the axis.
    pub around: u32,
    /// Number of cells along the axis.
    pub along: u32,
}

/// A cylinder of tetrahedra along the z axis, centred at the origin.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CylinderSolid {
    /// Radius [m].
    pub radius: f64,
    /// Length along z [m].
    pub length: f64,
    /// Number of rings of cells in the cross-section, which is a [`Disc`].
    pub rings: u32,
    /// Number of cells along the axis.
    pub along: u32,
}

const SHAPE: &str = "cylinder";

impl CylinderSurface {
    /// The number of vertices.
    pub fn node_count(&self) -> Result<u64, ShapeError> {
        self.tube().count(SHAPE)
    }

    /// Builds the mesh.
    pub fn build(&self) -> Result<TriMesh, ShapeError> {
        self.node_count()?;
        Ok(self.tube().mesh())
    }

    fn tube(&self) -> Tube {
        Tube {
            radius: self.radius,
            length: self.length,
            around: self.around,
            along: self.along,
            ends: TubeEnds::Closed,
        }
    }
}

impl CylinderSolid {
    /// The number of vertices.
    pub fn node_count(&self) -> Result<u64, ShapeError> {
        positive(SHAPE, "radius", self.radius)?;
        positive(SHAPE, "length", self.length)?;
        at_least_one(SHAPE, "rings", self.rings)?;
        at_least_one(SHAPE, "along", self.along)?;
        let copies = u128::from(self.along) + 1;
        limited(SHAPE, disc_nodes(self.rings) * copies)
    }

    /// Builds the mesh, disc by disc towards +z.
    pub fn build(&self) -> Result<TetMesh, ShapeError> {
        self.node_count()?;
        let disc = Disc {
            radius: self.radius,
            rings: self.rings,
        }
        .build()?;
        let mut mesh = TetMesh::default();
        for k in 0..=self.along {
            let z = self.length * (f64::from(k) / f64::from(self.along) - 0.5);
            let shift = Vec3::new(0.0, 0.0, z);
            mesh.positions
                .extend(disc.positions.iter().map(|p| p + shift));
        }
        let n = disc.positions.len() as u32;
        mesh.tets = sweep(&disc.triangles, n, self.along, false);
        Ok(mesh)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::super::testing::{assert_closed_surface, assert_second_order, assert_solid};
    use super::*;
    use std::f64::consts::PI;

    #[test]
    fn surfaces_and_solids_converge_to_the_same_volume() {
        let (mut surfaces, mut solids) = (Vec::new(), Vec::new());
        for rings in [1, 2, 4, 8] {
            let surface = CylinderSurface {
                radius: 0.2,
                length: 0.6,
                around: 6 * rings,
                along: 3 * rings,
            };
            let m = surface.build().unwrap();
            assert_eq!(m.positions.len() as u64, surface.node_count().unwrap());
            assert_closed_surface(&m, 0, &format!("cylinder {rings}"));
            surfaces.push(m.volume());
            let solid = CylinderSolid {
                radius: 0.2,
                length: 0.6,
                rings,
                along: 3 * rings,
            };
            let m = solid.build().unwrap();
            assert_eq!(m.positions.len() as u64, solid.node_count().unwrap());
            assert_solid(&m, 0, 20.0, &format!("cylinder {rings}"));
            solids.push(m.volume());
        }
        assert_second_order(PI * 0.04 * 0.6, &surfaces[1..], "surface");
        assert_second_order(PI * 0.04 * 0.6, &solids[1..], "solid");
    }
}
