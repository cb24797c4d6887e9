//! A flat rectangle, the usual piece of cloth.

use stiction_math::Vec3;

use super::delaunay::make_delaunay;
use super::{ShapeError, at_least_one, limited, positive, require};
use crate::mesh::TriMesh;
use crate::random::SplitMix;

/// A rectangle in the xy plane, centred at the origin, facing +z. Vertex (i, j) has index
/// j·(cells\[0\] + 1) + i.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sheet {
    /// Edge lengths along x and y [m].
    pub size: [f64; 2],
    /// Number of cells along x and y.
    pub cells: [u32; 2],
    /// Subdivision of cells into triangles.
    pub pattern: SheetPattern,
}

/// Subdivision of the cells of a sheet into triangles.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum SheetPattern {
    /// One diagonal direction in all cells.
    Regular,
    /// Diagonals alternate like a chess board, so that no direction is preferred.
    Alternating,
    /// Inner vertices are displaced at random and the Delaunay triangulation is taken: no
    /// direction is preferred, and no symmetry hides an error. For square cells every angle
    /// stays above 20° at any jitter, since neighbours keep a distance of (1 − 2·0.19) cells and
    /// empty circles a radius below (√½ + 0.19) cells.
    Irregular {
        /// From 0 (vertices on the grid) to 1 (moved by up to 0.19 of the shorter cell edge).
        jitter: f64,
        /// Seed of the random displacement.
        seed: u64,
    },
}

const SHAPE: &str = "sheet";
const LARGEST_JITTER: f64 = 0.19;

impl Sheet {
    /// The number of vertices.
    pub fn node_count(&self) -> Result<u64, ShapeError> {
        for size in self.size {
            positive(SHAPE, "size", size)?;
        }
        for cells in self.cells {
            at_least_one(SHAPE, "cells", cells)?;
        }
        if let SheetPattern::Irregular { jitter, .. } = self.pattern {
            let good = (0.0..=1.0).contains(&jitter);
            require(good, SHAPE, "jitter", "between 0 and 1", jitter)?;
        }
        let [nx, ny] = self.cells.map(|n| u128::from(n) + 1);
        limited(SHAPE, nx * ny)
    }

    /// Builds the mesh.
    pub fn build(&self) -> Result<TriMesh, ShapeError> {
        self.node_count()?;
        let [nx, ny] = self.cells;
        let mut mesh = TriMesh::default();
        for j in 0..=ny {
            for i in 0..=nx {
                let x = self.size[0] * (f64::from(i) / f64::from(nx) - 0.5);
                let y = self.size[1] * (f64::from(j) / f64::from(ny) - 0.5);
                mesh.positions.push(Vec3::new(x, y, 0.0));
            }
        }
        let at = |i: u32, j: u32| j * (nx + 1) + i;
        for j in 0..ny {
            for i in 0..nx {
                let [a, b, c, d] = [at(i, j), at(i + 1, j), at(i + 1, j + 1), at(i, j + 1)];
                if self.pattern == SheetPattern::Alternating && (i + j) % 2 == 1 {
                    mesh.triangles.extend([[a, b, d], [b, c, d]]);
                } else {
                    mesh.triangles.extend([[a, b, c], [a, c, d]]);
                }
            }
        }
        if let SheetPattern::Irregular { jitter, seed } = self.pattern {
            let cell = (self.size[0] / f64::from(nx)).min(self.size[1] / f64::from(ny));
            let reach = LARGEST_JITTER * jitter * cell;
            let mut random = SplitMix::new(seed);
            for j in 1..ny {
                for i in 1..nx {
                    let [dx, dy] = random.in_disc();
                    mesh.positions[at(i, j) as usize] += Vec3::new(reach * dx, reach * dy, 0.0);
                }
            }
            make_delaunay(&mut mesh);
        }
        Ok(mesh)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::super::testing::in_circle;
    use super::*;

    fn sheet(cells: [u32; 2], pattern: SheetPattern) -> Sheet {
        let size = cells.map(|n| 0.1 * f64::from(n));
        Sheet {
            size,
            cells,
            pattern,
        }
    }

    #[test]
    fn every_pattern_tiles_the_rectangle() {
        for cells in [[1, 1], [1, 7], [5, 4], [30, 20]] {
            for pattern in [
                SheetPattern::Regular,
                SheetPattern::Alternating,
                SheetPattern::Irregular {
                    jitter: 1.0,
                    seed: 3,
                },
            ] {
                let shape = sheet(cells, pattern);
                let m = shape.build().unwrap();
                m.check().unwrap();
                assert_eq!(m.positions.len() as u64, shape.node_count().unwrap());
                assert_eq!(m.triangles.len() as u32, 2 * cells[0] * cells[1]);
                let exact = shape.size[0] * shape.size[1];
                assert!((m.area() - exact).abs() < 1e-12);
                assert!(m.triangle_normals().iter().all(|n| n.z > 0.999));
                assert_eq!(m.boundary_edges().len() as u32, 2 * (cells[0] + cells[1]));
                assert_eq!(m.components().count, 1);
            }
        }
    }

    #[test]
    fn irregular_sheets_have_no_angle_below_twenty_degrees() {
        for seed in 0..40 {
            let pattern = SheetPattern::Irregular { jitter: 1.0, seed };
            let m = sheet([25, 25], pattern).build().unwrap();
            let q = m.quality().unwrap();
            assert!(q.min_angle.to_degrees() >= 20.0, "seed {seed}: {q:?}");
        }
    }

    #[test]
    fn irregular_sheets_are_delaunay_by_brute_force() {
        let pattern = SheetPattern::Irregular {
            jitter: 1.0,
            seed: 11,
        };
        let m = sheet([9, 7], pattern).build().unwrap();
        for t in &m.triangles {
            for v in 0..m.positions.len() as u32 {
                let [a, b, c, d] = [t[0], t[1], t[2], v].map(|i| m.positions[i as usize]);
                assert!(t.contains(&v) || in_circle(&a, &b, &c, &d) <= 1e-12);
            }
        }
        // It is really irregular: some vertex has other than four, six or eight neighbours.
        let around = m.vertex_neighbours();
        assert!((0..m.positions.len()).any(|v| around.of(v).len() == 7));
    }

    #[test]
    fn the_seed_decides() {
        let build = |seed| {
            let pattern = SheetPattern::Irregular { jitter: 0.5, seed };
            sheet([6, 6], pattern).build().unwrap()
        };
        assert_eq!(build(1), build(1));
        assert_ne!(build(1), build(2));
    }

    #[test]
    fn bad_parameters_are_named() {
        let message = |s: Sheet| s.build().unwrap_err().to_string();
        let mut s = sheet([2, 2], SheetPattern::Regular);
        s.cells = [0, 2];
        assert_eq!(message(s), "sheet: `cells` must be at least 1, but is 0");
        s.cells = [u32::MAX, u32::MAX];
        assert!(matches!(
            s.build().unwrap_err(),
            ShapeError::TooLarge { nodes, .. } if nodes == 1u128 << 64
        ));
        s.cells = [2, 2];
        s.size = [1.0, f64::NAN];
        assert!(message(s).contains("`size`"));
        s.size = [1.0, 1.0];
        s.pattern = SheetPattern::Irregular {
            jitter: 1.5,
            seed: 0,
        };
        assert!(message(s).contains("`jitter` must be between 0 and 1"));
    }
}
