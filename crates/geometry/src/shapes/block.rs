//! A rectangular block: its surface and its volume. (`box` is a reserved word.)

use stiction_math::Vec3;

use super::simplex::determinant;
use super::{ShapeError, at_least_one, limited, positive};
use crate::mesh::{TetMesh, TriMesh};

/// The surface of a block, centred at the origin, facing outwards.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BoxSurface {
    /// Edge lengths [m].
    pub size: [f64; 3],
    /// Number of cells along each edge.
    pub cells: [u32; 3],
}

/// A block of tetrahedra, centred at the origin. Vertex (i, j, k) has index
/// (k·(cells\[1\]+1) + j)·(cells\[0\]+1) + i.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BoxSolid {
    /// Edge lengths [m].
    pub size: [f64; 3],
    /// Number of cells along each edge.
    pub cells: [u32; 3],
    /// Subdivision of a cell into tetrahedra.
    pub pattern: TetPattern,
}

/// Subdivision of a cubic cell into tetrahedra.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TetPattern {
    /// Six congruent tetrahedra around the space diagonal, the same in every cell [kuhn1960].
    Kuhn,
    /// One regular tetrahedron and four corners, mirrored from cell to cell like a chess board:
    /// fewer elements and no preferred diagonal.
    Five,
}

const SHAPE: &str = "box";

impl BoxSurface {
    /// The number of vertices.
    pub fn node_count(&self) -> Result<u64, ShapeError> {
        check(&self.size, &self.cells)?;
        let [x, y, z] = self.cells.map(u128::from);
        limited(SHAPE, 2 * (x * y + y * z + z * x) + 2)
    }

    /// Builds the mesh.
    pub fn build(&self) -> Result<TriMesh, ShapeError> {
        self.node_count()?;
        let [nx, ny, nz] = self.cells;
        let mut mesh = TriMesh::default();
        for k in 0..=nz {
            for j in 0..=ny {
                let whole_row = k == 0 || k == nz || j == 0 || j == ny;
                let step = if whole_row { 1 } else { nx };
                for i in (0..=nx).step_by(step as usize) {
                    mesh.positions
                        .push(point(&self.size, &self.cells, [i, j, k]));
                }
            }
        }
        for axis in 0..3 {
            let (u, v) = ((axis + 1) % 3, (axis + 2) % 3);
            for side in [0, self.cells[axis]] {
                for q in 0..self.cells[v] {
                    for p in 0..self.cells[u] {
                        let at = |dp, dq| {
                            let mut c = [0; 3];
                            c[axis] = side;
                            c[u] = p + dp;
                            c[v] = q + dq;
                            self.index(c)
                        };
                        let [a, b, c, d] = [at(0, 0), at(1, 0), at(1, 1), at(0, 1)];
                        if side == 0 {
                            mesh.triangles.extend([[a, c, b], [a, d, c]]);
                        } else {
                            mesh.triangles.extend([[a, b, c], [a, c, d]]);
                        }
                    }
                }
            }
        }
        Ok(mesh)
    }

    /// The number of surface points before (i, j, k) in the order of `build`.
    fn index(&self, [i, j, k]: [u32; 3]) -> u32 {
        let [nx, ny, nz] = self.cells;
        let slab = (nx + 1) * (ny + 1);
        let hoop = 2 * (nx + ny);
        let before_slab = if k == 0 { 0 } else { slab + (k - 1) * hoop };
        let whole = k == 0 || k == nz;
        let within = if whole {
            j * (nx + 1) + i
        } else if j == 0 {
            i
        } else {
            let row = (nx + 1) + 2 * (j - 1);
            row + if j == ny || i == 0 { i } else { 1 }
        };
        before_slab + within
    }
}

impl BoxSolid {
    /// The number of vertices.
    pub fn node_count(&self) -> Result<u64, ShapeError> {
        check(&self.size, &self.cells)?;
        let [x, y, z] = self.cells.map(|n| u128::from(n) + 1);
        limited(SHAPE, x * y * z)
    }

    /// Builds the mesh.
    pub fn build(&self) -> Result<TetMesh, ShapeError> {
        self.node_count()?;
        let [nx, ny, nz] = self.cells;
        let mut mesh = TetMesh::default();
        for k in 0..=nz {
            for j in 0..=ny {
                for i in 0..=nx {
                    mesh.positions
                        .push(point(&self.size, &self.cells, [i, j, k]));
                }
            }
        }
        for k in 0..nz {
            for j in 0..ny {
                for i in 0..nx {
                    let at =
                        |[di, dj, dk]: [u32; 3]| ((k + dk) * (ny + 1) + j + dj) * (nx + 1) + i + di;
                    let corners: &[[usize; 4]] = match self.pattern {
                        TetPattern::Kuhn => &KUHN,
                        TetPattern::Five if (i + j + k) % 2 == 0 => &FIVE_EVEN,
                        TetPattern::Five => &FIVE_ODD,
                    };
                    for &tet in corners {
                        let corners = tet.map(|c| [0, 1, 2].map(|a| (c as u32 >> a) & 1));
                        let mut nodes = corners.map(at);
                        if determinant(&corners) < 0 {
                            nodes.swap(2, 3);
                        }
                        mesh.tets.push(nodes);
                    }
                }
            }
        }
        Ok(mesh)
    }
}

/// Corners are numbered by bits: 1 for x, 2 for y, 4 for z. Each row walks from corner 0 to
/// corner 7 along the three axes in one of the six orders.
const KUHN: [[usize; 4]; 6] = [
    [0, 1, 3, 7],
    [0, 1, 5, 7],
    [0, 2, 3, 7],
    [0, 2, 6, 7],
    [0, 4, 5, 7],
    [0, 4, 6, 7],
];
const FIVE_EVEN: [[usize; 4]; 5] = [
    [0, 3, 5, 6],
    [1, 0, 3, 5],
    [2, 0, 3, 6],
    [4, 0, 5, 6],
    [7, 3, 5, 6],
];
const FIVE_ODD: [[usize; 4]; 5] = [
    [1, 2, 4, 7],
    [0, 1, 2, 4],
    [3, 1, 2, 7],
    [5, 1, 4, 7],
    [6, 2, 4, 7],
];

fn check(size: &[f64; 3], cells: &[u32; 3]) -> Result<(), ShapeError> {
    for s in size {
        positive(SHAPE, "size", *s)?;
    }
    for n in cells {
        at_least_one(SHAPE, "cells", *n)?;
    }
    Ok(())
}

fn point(size: &[f64; 3], cells: &[u32; 3], index: [u32; 3]) -> Vec3 {
    Vec3::from_fn(|a, _| size[a] * (f64::from(index[a]) / f64::from(cells[a]) - 0.5))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::super::testing::{assert_closed_surface, assert_solid};
    use super::*;

    #[test]
    fn blocks_of_all_sizes_are_exact() {
        let size = [1.0, 2.0, 0.5];
        for cells in [
            [1, 1, 1],
            [1, 1, 4],
            [3, 1, 2],
            [2, 3, 4],
            [5, 2, 1],
            [4, 4, 4],
        ] {
            let shape = BoxSurface { size, cells };
            let m = shape.build().unwrap();
            assert_eq!(m.positions.len() as u64, shape.node_count().unwrap());
            assert_closed_surface(&m, 0, &format!("{cells:?}"));
            assert!((m.volume() - 1.0).abs() < 1e-12);
            assert!((m.area() - 7.0).abs() < 1e-12);
            for pattern in [TetPattern::Kuhn, TetPattern::Five] {
                let shape = BoxSolid {
                    size,
                    cells,
                    pattern,
                };
                let m = shape.build().unwrap();
                assert_eq!(m.positions.len() as u64, shape.node_count().unwrap());
                assert_solid(&m, 0, 1.0, &format!("{cells:?} {pattern:?}"));
                assert!((m.volume() - 1.0).abs() < 1e-12);
                let per_cell = if pattern == TetPattern::Kuhn { 6 } else { 5 };
                let count = per_cell * cells.iter().product::<u32>();
                assert_eq!(m.tets.len() as u32, count);
            }
        }
    }

    #[test]
    fn cubic_cells_give_the_known_dihedral_angles() {
        // Kuhn: 45°, 60°, 90°. Five: regular (70.5°) and corners (54.7°, 90°).
        let exact = [45.0, 2.0_f64.sqrt().atan().to_degrees()];
        for (pattern, exact) in [TetPattern::Kuhn, TetPattern::Five].into_iter().zip(exact) {
            let m = BoxSolid {
                size: [1.0, 2.0, 0.5],
                cells: [2, 4, 1],
                pattern,
            }
            .build()
            .unwrap();
            let q = m.quality().unwrap();
            assert!((q.min_dihedral.to_degrees() - exact).abs() < 1e-9);
            assert!((q.max_dihedral.to_degrees() - 90.0).abs() < 1e-9);
        }
    }

    #[test]
    fn bad_parameters_are_named() {
        let mut shape = BoxSolid {
            size: [1.0, -2.0, 1.0],
            cells: [1, 1, 1],
            pattern: TetPattern::Kuhn,
        };
        let message = shape.build().unwrap_err().to_string();
        assert_eq!(
            message,
            "box: `size` must be positive and finite, but is -2"
        );
        shape.size = [1.0; 3];
        shape.cells = [u32::MAX; 3];
        assert!(matches!(shape.build(), Err(ShapeError::TooLarge { .. })));
        shape.cells = [1000; 3];
        assert!(matches!(
            shape.node_count(),
            Err(ShapeError::TooLarge { .. })
        ));
    }
}
