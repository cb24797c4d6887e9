//! A closed box with walls of tetrahedra.

use super::{BoxSolid, ShapeError, TetPattern, at_least_one, limited};
use crate::mesh::TetMesh;

/// A box with a cavity, centred at the origin. Vertices come in the order of
/// [`BoxSolid`], without those inside the cavity.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BoxShell {
    /// Outer edge lengths [m].
    pub size: [f64; 3],
    /// Number of cells along each outer edge.
    pub cells: [u32; 3],
    /// Thickness of the walls in cells.
    pub walls: u32,
    /// Subdivision of a cell into tetrahedra.
    pub pattern: TetPattern,
}

const SHAPE: &str = "box";

impl BoxShell {
    /// The number of vertices.
    pub fn node_count(&self) -> Result<u64, ShapeError> {
        let solid = self.solid();
        let all = solid.node_count()?;
        at_least_one(SHAPE, "walls", self.walls)?;
        let least = self.cells.iter().copied().min().unwrap_or(0);
        if u64::from(least) <= 2 * u64::from(self.walls) {
            return Err(ShapeError::Parameter {
                shape: SHAPE,
                parameter: "walls",
                requirement: "less than half the number of cells",
                value: f64::from(self.walls),
            });
        }
        let inside = self
            .cells
            .map(|n| u128::from(n) - 2 * u128::from(self.walls) - 1);
        limited(SHAPE, u128::from(all) - inside.iter().product::<u128>())
    }

    /// Builds the mesh.
    pub fn build(&self) -> Result<TetMesh, ShapeError> {
        self.node_count()?;
        let mut mesh = self.solid().build()?;
        let [nx, ny, nz] = self.cells;
        let cavity = |c: u32, n: u32| c >= self.walls && c + self.walls < n;
        let per_cell = mesh.tets.len() / (nx as usize * ny as usize * nz as usize);
        let mut cell = 0;
        let mut tets = Vec::new();
        for k in 0..nz {
            for j in 0..ny {
                for i in 0..nx {
                    if !(cavity(i, nx) && cavity(j, ny) && cavity(k, nz)) {
                        tets.extend_from_slice(&mesh.tets[cell * per_cell..][..per_cell]);
                    }
                    cell += 1;
                }
            }
        }
        let mut number = vec![u32::MAX; mesh.positions.len()];
        for &v in tets.iter().flatten() {
            number[v as usize] = 0;
        }
        let mut positions = Vec::new();
        for (x, number) in mesh.positions.iter().zip(&mut number) {
            if *number == 0 {
                *number = positions.len() as u32;
                positions.push(*x);
            }
        }
        mesh.tets = tets.iter().map(|t| t.map(|v| number[v as usize])).collect();
        mesh.positions = positions;
        Ok(mesh)
    }

    fn solid(&self) -> BoxSolid {
        BoxSolid {
            size: self.size,
            cells: self.cells,
            pattern: self.pattern,
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn the_room_is_left_out_and_the_walls_are_whole() {
        for pattern in [TetPattern::Kuhn, TetPattern::Five] {
            for (cells, walls) in [([3, 3, 3], 1), ([4, 5, 6], 1), ([7, 6, 5], 2)] {
                let shape = BoxShell {
                    size: [0.7, 0.6, 0.5],
                    cells,
                    walls,
                    pattern,
                };
                let mesh = shape.build().unwrap();
                mesh.check().unwrap();
                assert_eq!(mesh.positions.len() as u64, shape.node_count().unwrap());
                let kept = |size: f64, n: u32| size * f64::from(n - 2 * walls) / f64::from(n);
                let cavity: f64 = (0..3).map(|a| kept(shape.size[a], cells[a])).product();
                let volume: f64 = shape.size.iter().product::<f64>() - cavity;
                assert!((mesh.volume() - volume).abs() < 1e-12);
                assert!((0..mesh.tets.len()).all(|t| mesh.tet_volume(t) > 0.0));
                // Outside counts the whole box, the wall of the cavity counts negative.
                let (skin, _) = mesh.surface();
                assert!((skin.volume() - volume).abs() < 1e-12);
                assert!(skin.boundary_edges().is_empty());
            }
        }
    }

    #[test]
    fn walls_without_a_room_are_refused() {
        let shape = BoxShell {
            size: [1.0; 3],
            cells: [5, 4, 5],
            walls: 2,
            pattern: TetPattern::Kuhn,
        };
        let message = shape.build().unwrap_err().to_string();
        assert!(message.contains("walls"), "{message}");
    }
}
