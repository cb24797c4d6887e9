//! The surface of a box whose upper face is smaller or larger than its lower one: wedges, voussoirs, frustums.

use super::{BoxSurface, ShapeError, positive};
use crate::mesh::TriMesh;

/// The closed surface of a box whose cross-section changes linearly along z, facing outwards. Its sides are flat.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TaperedBox {
    /// The box with the lower face at both ends.
    pub base: BoxSurface,
    /// Size of the upper face along x and y, as a multiple of the lower face's [1].
    pub taper: [f64; 2],
}

impl TaperedBox {
    /// The number of vertices.
    pub fn node_count(&self) -> Result<u64, ShapeError> {
        for factor in self.taper {
            positive("box", "taper", factor)?;
        }
        self.base.node_count()
    }

    /// Builds the mesh, with the vertices of the box in its order.
    pub fn build(&self) -> Result<TriMesh, ShapeError> {
        self.node_count()?;
        let mut mesh = self.base.build()?;
        let height = self.base.size[2];
        for p in &mut mesh.positions {
            let s = p.z / height + 0.5;
            p.x *= 1.0 + (self.taper[0] - 1.0) * s;
            p.y *= 1.0 + (self.taper[1] - 1.0) * s;
        }
        Ok(mesh)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::super::testing::assert_closed_surface;
    use super::*;

    #[test]
    fn a_tapered_box_is_closed_and_has_the_volume_of_a_frustum() {
        let shape = TaperedBox {
            base: BoxSurface {
                size: [0.3, 0.2, 0.5],
                cells: [2, 1, 3],
            },
            taper: [2.0, 0.5],
        };
        let mesh = shape.build().unwrap();
        assert_eq!(mesh.positions.len() as u64, shape.node_count().unwrap());
        assert_closed_surface(&mesh, 0, "tapered box");
        // ∫ (1 + s) (1 − s/2) ds over s from 0 to 1 is 13/12.
        let volume = 0.3 * 0.2 * 0.5 * 13.0 / 12.0;
        assert!((mesh.volume() / volume - 1.0).abs() < 1e-12);
        let flat = TaperedBox {
            taper: [1.0, 0.0],
            ..shape
        };
        assert!(flat.build().is_err());
    }
}
