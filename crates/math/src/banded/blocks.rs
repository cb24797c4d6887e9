//! Access to banded matrices by 3×3 blocks of the vector that they act on, for couplings between
//! bodies and for output.

use std::sync::Arc;

use super::{BandedGroup, BandedLayout, BandedMatrices, layout::NONE};
use crate::{BlockError, BlockMatrix, BlockPattern, Mat3, parallel};

impl BandedLayout {
    /// Whether the band has storage for all of block (i, j).
    pub fn has_block(&self, i: usize, j: usize) -> bool {
        (0..9).all(|k| self.entry(3 * i + k / 3, 3 * j + k % 3).is_some())
    }

    /// The matrix that the first component of a block belongs to, if one does.
    pub fn matrix_of(&self, block: usize) -> Option<u32> {
        let (g, lane, _) = self.place(3 * block)?;
        self.groups[g].members.get(lane).copied()
    }

    /// Group and position of the entry at two components, if it is stored.
    fn entry(&self, row: usize, column: usize) -> Option<(usize, usize)> {
        let ((g, lane, r), (h, other, c)) = (self.place(row)?, self.place(column)?);
        if (g, lane) != (h, other) {
            return None;
        }
        Some((g, self.groups[g].find(lane, r, c)?))
    }

    /// The pairs of blocks i < j that a matrix has entries for, sorted.
    pub fn block_pairs(&self) -> Vec<[u32; 2]> {
        let mut pairs = Vec::new();
        for (g, group) in self.groups.iter().enumerate() {
            let components = self.components(g);
            for (slot, &component) in components.iter().enumerate() {
                let (row, lane) = (slot / group.lanes, slot % group.lanes);
                for column in row.saturating_sub(group.size.bandwidth)..row {
                    let other = components[column * group.lanes + lane];
                    let (i, j) = (component / 3, other / 3);
                    if component != NONE && i != j {
                        pairs.push([i.min(j), i.max(j)]);
                    }
                }
            }
        }
        pairs.sort_unstable();
        pairs.dedup();
        pairs
    }
}

impl BandedGroup<'_> {
    /// Adds the lower triangle of `local` to N consecutive rows of the matrix in `lane`, from
    /// `first` on. Skips rows outside the matrix and entries outside the band.
    pub fn add_local<const N: usize>(&mut self, lane: usize, first: usize, local: &[[f64; N]; N]) {
        let (b, lanes) = (self.group.size.bandwidth, self.group.lanes);
        let rows = N.min(self.group.size.n.saturating_sub(first));
        for (r, row) in local.iter().enumerate().take(rows) {
            let left = r.saturating_sub(b);
            let start = self.group.at(lane, first + r, first + left);
            let places = self.values[start..].iter_mut().step_by(lanes);
            for (place, value) in places.zip(&row[left..=r]) {
                *place += value;
            }
        }
    }
}

impl BandedMatrices {
    /// Block (i, j) of the matrix; the identity on components that no row maps to.
    pub fn block(&self, i: usize, j: usize) -> Mat3 {
        if i == j {
            return self.diagonal(i);
        }
        Mat3::from_fn(|r, c| {
            let at = self.layout.entry(3 * i + r, 3 * j + c);
            at.map_or(0.0, |(g, at)| self.values[g][at])
        })
    }

    /// Whether all numbers are finite.
    pub fn is_finite(&self) -> bool {
        // Branch-free, so that it runs at memory bandwidth.
        let finite = |v: &[f64]| v.iter().fold(true, |all, x| all & x.is_finite());
        let values = &self.values;
        let all = parallel::map_ranges(values.len(), 64, |range| {
            values[range].iter().all(|v| finite(v))
        });
        !all.contains(&false)
    }

    /// Whether all numbers in the rows of a block are finite; those right of the diagonal belong to
    /// the rows below.
    pub fn block_is_finite(&self, block: usize) -> bool {
        let places = (3 * block..3 * block + 3).filter_map(|c| self.layout.place(c));
        let mut places = places.map(|(g, lane, row)| (g, &self.layout.groups[g], lane, row));
        places.all(|(g, group, lane, row)| {
            (row.saturating_sub(group.size.bandwidth)..=row)
                .all(|column| self.values[g][group.at(lane, row, column)].is_finite())
        })
    }

    /// Adds `value` to block (i, j); the caller adds its transpose to (j, i) as well, unless i = j.
    /// Returns false, and skips the entry, if an entry lies outside the band.
    pub fn add_block(&mut self, i: usize, j: usize, value: &Mat3) -> bool {
        let mut inside = true;
        for (r, c) in (0..3).flat_map(|r| (0..3).map(move |c| (r, c))) {
            // Only one triangle is stored: of each mirrored pair, one entry is added.
            if (i, r) < (j, c) || value[(r, c)] == 0.0 {
                continue;
            }
            match self.layout.entry(3 * i + r, 3 * j + c) {
                Some((g, at)) => self.values[g][at] += value[(r, c)],
                None => inside = false,
            }
        }
        inside
    }

    /// Converts to 3×3 blocks, with storage for the additional block pairs `more`.
    pub fn to_sparse(&self, more: &[[u32; 2]]) -> Result<BlockMatrix, BlockError> {
        let pairs = self.layout.block_pairs();
        let all = pairs.iter().chain(more).map(|p| &p[..]);
        let pattern = BlockPattern::from_cliques(self.layout.blocks(), all)?;
        let mut sparse = BlockMatrix::zeros(Arc::new(pattern));
        for i in 0..self.layout.blocks() {
            sparse.add(i, i, &self.diagonal(i))?;
        }
        for pair in pairs {
            let [i, j] = pair.map(|b| b as usize);
            let block = self.block(i, j);
            sparse.add(i, j, &block)?;
            sparse.add(j, i, &block.transpose())?;
        }
        Ok(sparse)
    }
}
