//! A playing card: a rectangle of two triangles, refined.

use super::{ShapeError, Sheet, SheetPattern, limited, positive, require};
use crate::mesh::TriMesh;

/// A rectangle in the xy plane, centred at the origin, facing +z: two triangles, each split
/// into four `refinements` times.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Card {
    /// Edge lengths along x and y [m].
    pub size: [f64; 2],
    /// Number of refinements of the two triangles; 0 for two triangles.
    pub refinements: u32,
}

const SHAPE: &str = "card";

impl Card {
    /// The number of vertices.
    pub fn node_count(&self) -> Result<u64, ShapeError> {
        for size in self.size {
            positive(SHAPE, "size", size)?;
        }
        let refinements = f64::from(self.refinements);
        let requirement = "at most 31";
        let small = self.refinements <= 31;
        require(small, SHAPE, "refinements", requirement, refinements)?;
        let side = (1_u128 << self.refinements) + 1;
        limited(SHAPE, side * side)
    }

    /// Builds the mesh.
    pub fn build(&self) -> Result<TriMesh, ShapeError> {
        self.node_count()?;
        Sheet {
            size: self.size,
            cells: [1 << self.refinements; 2],
            pattern: SheetPattern::Regular,
        }
        .build()
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn each_refinement_quadruples_the_triangles() {
        for refinements in 0..6 {
            let shape = Card {
                size: [0.0635, 0.0889],
                refinements,
            };
            let m = shape.build().unwrap();
            assert_eq!(m.positions.len() as u64, shape.node_count().unwrap());
            assert_eq!(m.triangles.len(), 2 << (2 * refinements));
            assert!((m.area() - 0.0635 * 0.0889).abs() < 1e-15);
        }
        for refinements in [20, 31, 32, u32::MAX] {
            let shape = Card {
                size: [1.0; 2],
                refinements,
            };
            assert!(shape.build().is_err());
        }
    }
}
