//! A sheet folded like an accordion: many walls close to one another.

use stiction_math::Vec3;

use super::{ShapeError, at_least_one, limited, positive, require};
use crate::mesh::TriMesh;

/// A sheet of square cells, folded to and fro along x, with its first corner at the origin; the
/// folds run along y and the walls rise in z. Vertex (i, j) has index i·(cells\[1\] + 1) + j. More
/// cells mean more folds of the same form, so that the density of neighbours stays the same.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Accordion {
    /// Number of cells across the folds and along them.
    pub cells: [u32; 2],
    /// Side of a cell [m].
    pub side: f64,
    /// Advance along x per cell [m], below the side: small for steep walls.
    pub pitch: f64,
    /// Number of cells from one fold to the next.
    pub panel: u32,
    /// Shift of rows along y per advance along x, so that two sheets are not aligned.
    pub shear: f64,
}

const SHAPE: &str = "accordion";

impl Accordion {
    /// The number of vertices.
    pub fn node_count(&self) -> Result<u64, ShapeError> {
        for cells in self.cells {
            at_least_one(SHAPE, "cells", cells)?;
        }
        at_least_one(SHAPE, "panel", self.panel)?;
        positive(SHAPE, "side", self.side)?;
        positive(SHAPE, "pitch", self.pitch)?;
        let folds = self.pitch < self.side;
        require(folds, SHAPE, "pitch", "below the side", self.pitch)?;
        require(self.shear.is_finite(), SHAPE, "shear", "finite", self.shear)?;
        let [nx, ny] = self.cells.map(|n| u128::from(n) + 1);
        limited(SHAPE, nx * ny)
    }

    /// Builds the mesh.
    pub fn build(&self) -> Result<TriMesh, ShapeError> {
        self.node_count()?;
        let [nx, ny] = self.cells;
        let rise = (self.side * self.side - self.pitch * self.pitch).sqrt();
        let mut mesh = TriMesh::default();
        for i in 0..=nx {
            let phase = i % (2 * self.panel);
            let height = f64::from(phase.min(2 * self.panel - phase)) * rise;
            let x = f64::from(i) * self.pitch;
            for j in 0..=ny {
                let y = f64::from(j) * self.side + self.shear * x;
                mesh.positions.push(Vec3::new(x, y, height));
            }
        }
        for i in 0..nx {
            for j in 0..ny {
                let a = i * (ny + 1) + j;
                let (b, c, d) = (a + 1, a + ny + 1, a + ny + 2);
                mesh.triangles.extend([[a, c, d], [a, d, b]]);
            }
        }
        Ok(mesh)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn accordion() -> Accordion {
        Accordion {
            cells: [24, 5],
            side: 8e-3,
            pitch: 3.2e-3,
            panel: 6,
            shear: 0.0,
        }
    }

    #[test]
    fn it_is_a_folded_sheet() {
        let shape = accordion();
        let m = shape.build().unwrap();
        m.check().unwrap();
        assert_eq!(m.positions.len() as u64, shape.node_count().unwrap());
        assert_eq!(m.triangles.len(), 2 * 24 * 5);
        assert!((m.area() - 24.0 * 5.0 * 8e-3 * 8e-3).abs() < 1e-15);
        assert_eq!(m.boundary_edges().len(), 2 * (24 + 5));
        let top = m.positions.iter().map(|p| p.z).fold(0.0, f64::max);
        assert!((top - 6.0 * (8e-3f64.powi(2) - 3.2e-3f64.powi(2)).sqrt()).abs() < 1e-15);
    }

    #[test]
    fn bad_parameters_are_named() {
        let message = |a: Accordion| a.build().unwrap_err().to_string();
        let mut a = accordion();
        a.pitch = 8e-3;
        assert!(message(a).contains("`pitch` must be below the side"));
        a = accordion();
        a.panel = 0;
        assert!(message(a).contains("`panel`"));
        a = accordion();
        a.shear = f64::NAN;
        assert!(message(a).contains("`shear`"));
    }
}
