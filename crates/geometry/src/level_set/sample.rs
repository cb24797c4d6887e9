//! From a mesh to samples.

use stiction_math::{Vec3, parallel};

use super::{BLOCK, Block, COARSE, LevelSet, LevelSetError, MAX_LEVEL_SET_BYTES, NODES, SIDE};
use crate::bounds::Aabb;
use crate::inside::InsideTest;
use crate::mesh::TriMesh;

impl LevelSet {
    /// Samples the signed distance to a closed mesh in cells of side `cell` [m], finely up to the
    /// distance `band` [m] on either side; the band is at least two cells.
    ///
    /// Distances come from the closest triangle; signs from the winding number, so that flipped or
    /// overlapping parts do not spoil them. The work is one search per sample of the band.
    pub fn new(mesh: &TriMesh, cell: f64, band: f64) -> Result<Self, LevelSetError> {
        for (name, value) in [("cell", cell), ("band", band)] {
            if !(value > 0.0 && value.is_finite()) {
                return Err(LevelSetError::Length { name, value });
            }
        }
        mesh.check()?;
        mesh.check_closed()?;
        let Some(bounds) = Aabb::of(&mesh.positions) else {
            return Err(LevelSetError::Vanished { cell });
        };
        let band = band.max(2.0 * cell);
        let side = SIDE as f64 * cell;
        // Beyond the grid nothing is closer than the band.
        let pad = Vec3::repeat(band + cell);
        let origin = bounds.min - pad;
        let along = (bounds.extent() + 2.0 * pad).map(|e| (e / side).ceil().max(1.0));
        let total = along.product() * size_of::<Block>() as f64;
        let limit = |bytes: f64| {
            if bytes <= MAX_LEVEL_SET_BYTES as f64 {
                return Ok(());
            }
            let bytes = bytes as usize;
            Err(LevelSetError::TooLarge { cell, bytes })
        };
        limit(total)?;
        let mut set = LevelSet {
            cell,
            band,
            slope: 1.0,
            bounds,
            origin,
            count: [0, 1, 2].map(|k| along[k] as usize),
            blocks: Vec::new(),
            samples: Vec::new(),
        };
        let surface = InsideTest::new(mesh)?;
        let count: usize = set.count.iter().product();
        set.blocks = parallel::map(count, 1, |i| set.coarse(&surface, i));
        let mut fine = Vec::new();
        let reach = band + 0.5 * 3_f64.sqrt() * side;
        for (i, block) in set.blocks.iter_mut().enumerate() {
            if block.distance.abs() <= reach * (1.0 + 1e-9) {
                block.fine = fine.len() as u32;
                fine.push(i);
            }
        }
        limit(total + (fine.len() * BLOCK * size_of::<f32>()) as f64)?;
        let mut samples = vec![0.0_f32; fine.len() * BLOCK];
        let slopes = parallel::map_chunks_mut(&mut samples, BLOCK, |first, out| {
            set.fine(&surface, fine[first / BLOCK], out);
            slope_of(out, cell)
        });
        let slope = slopes.into_iter().fold(0.0, f64::max);
        if !samples.iter().any(|s| *s < 0.0) {
            return Err(LevelSetError::Vanished { cell });
        }
        // A slope below 1 would be a bound too; 1 keeps steps where nothing is sampled honest.
        set.slope = slope.max(1.0) * (1.0 + 1e-12);
        set.samples = samples;
        Ok(set)
    }

    /// The place of a block along the axes.
    fn place(&self, block: usize) -> [usize; 3] {
        let [nx, ny, _] = self.count;
        [block % nx, block / nx % ny, block / (nx * ny)]
    }

    pub(super) fn centre(&self, place: [usize; 3]) -> Vec3 {
        let side = SIDE as f64 * self.cell;
        self.origin + Vec3::from(place.map(|i| (i as f64 + 0.5) * side))
    }

    fn coarse(&self, surface: &InsideTest, block: usize) -> Block {
        let centre = self.centre(self.place(block));
        let closest = surface.closest_point(&centre, f64::INFINITY);
        let closest = closest.unwrap_or(self.bounds.min);
        let length = (centre - closest).norm();
        let inside = surface.contains(&centre);
        Block {
            closest,
            distance: if inside { -length } else { length },
            fine: COARSE,
        }
    }

    fn fine(&self, surface: &InsideTest, block: usize, out: &mut [f32]) {
        let place = self.place(block);
        let centre = self.centre(place);
        let first = place.map(|i| i * SIDE);
        let known = self.blocks[block].distance.abs();
        let mut n = 0;
        for k in 0..NODES {
            for j in 0..NODES {
                let mut before: Option<(f64, bool)> = None;
                for i in 0..NODES {
                    // From whole numbers of cells, so that neighbours agree to the last bit.
                    let at = [first[0] + i, first[1] + j, first[2] + k];
                    let x = self.origin + Vec3::from(at.map(|i| i as f64 * self.cell));
                    let within = (known + (x - centre).norm()) * (1.0 + 1e-9);
                    let closest = surface.closest_point(&x, within);
                    let length = closest.map_or(within, |c| (x - c).norm());
                    // A ball of this size around a sample does not meet the surface: the next
                    // sample in it has the same sign.
                    let inside = match before {
                        Some((d, inside)) if d.max(length) > 1.001 * self.cell => inside,
                        _ => surface.contains(&x),
                    };
                    before = Some((length, inside));
                    out[n] = if inside { -length } else { length } as f32;
                    n += 1;
                }
            }
        }
    }
}

/// The largest gradient of the interpolated field in any cell of a block: each component is a
/// mean of the four differences along the edges of the cell in its direction.
fn slope_of(samples: &[f32], cell: f64) -> f64 {
    let stride = [1, NODES, NODES * NODES];
    let mut most: f64 = 0.0;
    for k in 0..SIDE {
        for j in 0..SIDE {
            for i in 0..SIDE {
                let base = i + NODES * (j + NODES * k);
                let mut squared = 0.0;
                for axis in 0..3 {
                    let (u, v) = (stride[(axis + 1) % 3], stride[(axis + 2) % 3]);
                    let steepest = [0, u, v, u + v].iter().fold(0.0, |m: f64, side| {
                        let from = f64::from(samples[base + side]);
                        let to = f64::from(samples[base + side + stride[axis]]);
                        m.max((to - from).abs())
                    });
                    squared += (steepest / cell).powi(2);
                }
                most = most.max(squared);
            }
        }
    }
    most.sqrt()
}
