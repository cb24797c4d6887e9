//! Points on a grid.

use stiction_math::Vec3;

use super::{ShapeError, at_least_one, limited, positive, require};
use crate::mesh::TriMesh;
use crate::random::SplitMix;

/// Points on a regular grid, centred at the origin, without triangles: x runs fastest, z slowest.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Grid {
    /// Points along x, y and z.
    pub count: [u32; 3],
    /// Distance of neighbours [m].
    pub spacing: f64,
    /// Every point is moved at random by up to this fraction of half the spacing along each axis, 0
    /// to 1.
    pub jitter: f64,
    /// Which of the random grids.
    pub seed: u64,
}

const SHAPE: &str = "grid";

impl Grid {
    /// The number of points.
    pub fn node_count(&self) -> Result<u64, ShapeError> {
        for count in self.count {
            at_least_one(SHAPE, "count", count)?;
        }
        positive(SHAPE, "spacing", self.spacing)?;
        let good = (0.0..=1.0).contains(&self.jitter);
        require(good, SHAPE, "jitter", "between 0 and 1", self.jitter)?;
        limited(SHAPE, self.count.map(u128::from).iter().product())
    }

    /// The points, as a mesh without triangles.
    pub fn build(&self) -> Result<TriMesh, ShapeError> {
        self.node_count()?;
        let mut mesh = TriMesh::default();
        let mut random = SplitMix::new(self.seed);
        let reach = 0.5 * self.jitter * self.spacing;
        let [nx, ny, nz] = self.count;
        for k in 0..nz {
            for j in 0..ny {
                for i in 0..nx {
                    let at =
                        |i: u32, n: u32| (f64::from(i) - 0.5 * f64::from(n - 1)) * self.spacing;
                    let place = Vec3::new(at(i, nx), at(j, ny), at(k, nz));
                    let mut aside = || reach * (2.0 * random.uniform() - 1.0);
                    let moved = Vec3::new(aside(), aside(), aside());
                    mesh.positions.push(place + moved);
                }
            }
        }
        Ok(mesh)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn a_grid_is_centred_and_its_points_stay_in_their_cells() {
        let mut grid = Grid {
            count: [3, 4, 5],
            spacing: 0.1,
            jitter: 0.0,
            seed: 3,
        };
        let even = grid.build().unwrap().positions;
        assert_eq!(even.len() as u64, grid.node_count().unwrap());
        assert!(even.iter().sum::<Vec3>().norm() < 1e-12);
        assert!((even[1] - even[0] - Vec3::x() * 0.1).norm() < 1e-15);
        assert!((even[12] - even[0] - Vec3::z() * 0.1).norm() < 1e-15);
        grid.jitter = 0.6;
        let moved = grid.build().unwrap().positions;
        let largest = moved.iter().zip(&even).map(|(a, b)| (a - b).amax());
        let largest = largest.fold(0.0, f64::max);
        assert!(largest > 0.02 && largest <= 0.03 + 1e-15, "{largest}");
    }

    #[test]
    fn impossible_grids_are_refused() {
        let good = Grid {
            count: [1; 3],
            spacing: 1.0,
            jitter: 0.0,
            seed: 0,
        };
        assert_eq!(good.node_count(), Ok(1));
        let bad = [
            Grid {
                count: [2, 0, 2],
                ..good
            },
            Grid {
                spacing: 0.0,
                ..good
            },
            Grid {
                jitter: 1.5,
                ..good
            },
            Grid {
                count: [u32::MAX; 3],
                ..good
            },
        ];
        for grid in bad {
            assert!(grid.build().is_err(), "{grid:?}");
        }
    }
}
