//! Symmetric banded matrices: assembly, elimination of rows and products with vectors.

use std::sync::Arc;

use super::{
    BandedError, BandedFactors, BandedLayout,
    factors::first_failure,
    group::Group,
    layout::NONE,
    scratch::{gather, scatter, with_scratch},
};
use crate::{Mat3, Vec3, block::for_parts_mut, krylov::LinearOperator, parallel};

/// Symmetric banded matrices; only the lower triangle is stored.
#[derive(Clone, Debug)]
pub struct BandedMatrices {
    pub(super) layout: Arc<BandedLayout>,
    /// Values of every group; layout in [`kernels`](super::kernels).
    pub(super) values: Vec<Box<[f64]>>,
}

/// Mutable access to the matrices of one group, for assembly.
#[derive(Debug)]
pub struct BandedGroup<'a> {
    pub(super) group: &'a Group,
    pub(super) values: &'a mut [f64],
}

impl BandedGroup<'_> {
    /// The matrices in this group, one per lane.
    pub fn matrices(&self) -> &[u32] {
        &self.group.members
    }

    /// Adds `value` to entry (row, column) = (column, row) of the matrix in `lane`.
    pub fn add(
        &mut self,
        lane: usize,
        row: usize,
        column: usize,
        value: f64,
    ) -> Result<(), BandedError> {
        match self.group.find(lane, row, column) {
            Some(at) if lane < self.group.members.len() => {
                self.values[at] += value;
                Ok(())
            }
            _ => Err(BandedError::OutsideBand {
                matrix: self
                    .group
                    .members
                    .get(lane)
                    .map_or(usize::MAX, |&m| m as usize),
                row,
                column,
            }),
        }
    }
}

impl BandedMatrices {
    /// Zero matrices.
    pub fn zeros(layout: Arc<BandedLayout>) -> Self {
        let groups = &layout.groups;
        let zeros = |g: usize| vec![0.0; groups[g].values()].into_boxed_slice();
        let mut matrices = Self {
            values: parallel::map(groups.len(), 1, zeros),
            layout,
        };
        matrices.set_zero();
        matrices
    }

    /// Sizes and row map.
    pub fn layout(&self) -> &Arc<BandedLayout> {
        &self.layout
    }

    /// All matrices ← 0.
    pub fn set_zero(&mut self) {
        self.for_each_group(|mut group| {
            group.values.fill(0.0);
            let spare = group.group.members.len()..group.group.lanes;
            for (lane, row) in spare.flat_map(|l| (0..group.group.size.n).map(move |r| (l, r))) {
                group.set(lane, row, row, 1.0);
            }
        });
    }

    /// Calls `fill` with every group, in parallel.
    pub fn for_each_group(&mut self, fill: impl Fn(BandedGroup) + Sync) {
        let groups = &self.layout.groups;
        parallel::each_mut(&mut self.values, 1, |g, values| {
            fill(BandedGroup {
                group: &groups[g],
                values,
            });
        });
    }

    /// Adds `value` to entry (row, column) = (column, row) of a matrix.
    pub fn add(
        &mut self,
        matrix: usize,
        row: usize,
        column: usize,
        value: f64,
    ) -> Result<(), BandedError> {
        let outside = BandedError::OutsideBand {
            matrix,
            row,
            column,
        };
        let &(group, lane) = self.layout.places.get(matrix).ok_or(outside)?;
        let group = group as usize;
        let at = self.layout.groups[group].find(lane as usize, row, column);
        self.values[group][at.ok_or(outside)?] += value;
        Ok(())
    }

    /// Entry (row, column) of a matrix, zero outside its band.
    pub fn get(&self, matrix: usize, row: usize, column: usize) -> f64 {
        let (group, lane) = self.layout.places[matrix];
        let at = self.layout.groups[group as usize].find(lane as usize, row, column);
        at.map_or(0.0, |at| self.values[group as usize][at])
    }

    /// Adds `shift(component)` to the diagonal.
    pub fn shift(&mut self, shift: impl Fn(usize) -> f64 + Sync) {
        let layout = Arc::clone(&self.layout);
        parallel::each_mut(&mut self.values, 1, |g, v| layout.shift(g, v, &shift));
    }

    /// The 3×3 diagonal block that belongs to block `block` of the vector; the identity on
    /// components that no row maps to.
    pub fn diagonal(&self, block: usize) -> Mat3 {
        let places: [_; 3] = std::array::from_fn(|c| self.layout.place(3 * block + c));
        Mat3::from_fn(|r, c| match (places[r], places[c]) {
            (Some((g, lane, i)), Some((h, other, j))) if (g, lane) == (h, other) => {
                let at = self.layout.groups[g].find(lane, i, j);
                at.map_or(0.0, |at| self.values[g][at])
            }
            _ => f64::from(u8::from(r == c && places[r].is_none())),
        })
    }

    /// Eliminates the components with `fixed(component)`: their rows and columns become those of
    /// the identity.
    pub fn eliminate(&mut self, fixed: impl Fn(usize) -> bool + Sync) {
        let layout = Arc::clone(&self.layout);
        parallel::each_mut(&mut self.values, 1, |g, values| {
            let group = &layout.groups[g];
            for (slot, &component) in layout.components(g).iter().enumerate() {
                if component == NONE || !fixed(component as usize) {
                    continue;
                }
                let (i, lane) = (slot / group.lanes, slot % group.lanes);
                let b = group.size.bandwidth;
                for j in i.saturating_sub(b)..(i + b + 1).min(group.size.n) {
                    if let Some(at) = group.find(lane, i, j) {
                        values[at] = f64::from(u8::from(i == j));
                    }
                }
            }
        });
    }

    /// Heap memory of the values [bytes].
    pub fn bytes(&self) -> usize {
        8 * self.values.iter().map(|v| v.len()).sum::<usize>()
    }

    /// Factorises in place, with `shift(component)` added to the diagonal, and consumes the
    /// matrices.
    pub fn into_factors(
        mut self,
        shift: impl Fn(usize) -> f64 + Sync,
    ) -> Result<BandedFactors, BandedError> {
        let layout = &self.layout;
        first_failure(parallel::map_chunks_mut(
            &mut self.values,
            1,
            |g, values| {
                layout.shift(g, &mut values[0], &shift);
                layout.groups[g].factor(&mut values[0])
            },
        ))?;
        Ok(BandedFactors {
            layout: self.layout,
            values: self.values,
            work: Vec::new(),
        })
    }
}

impl BandedGroup<'_> {
    fn set(&mut self, lane: usize, row: usize, column: usize, value: f64) {
        if let Some(at) = self.group.find(lane, row, column) {
            self.values[at] = value;
        }
    }
}

impl LinearOperator for BandedMatrices {
    fn len(&self) -> usize {
        self.layout.blocks()
    }

    /// y ← A x.
    fn apply(&self, x: &[Vec3], y: &mut [Vec3]) {
        let layout = &*self.layout;
        let Some(cuts) = &layout.cuts else {
            // Component by component: each is written by one thread, whatever its matrix.
            parallel::each_mut(y, 256, |block, y| {
                for c in 0..3 {
                    y[c] = match layout.place(3 * block + c) {
                        None => x[block][c],
                        Some((g, lane, row)) => self.row(g, lane, row, x),
                    };
                }
            });
            return;
        };
        for_parts_mut(cuts, y, 1, &|g, y| {
            let first = cuts[g];
            y.copy_from_slice(&x[first..first + y.len()]);
            let group = &layout.groups[g];
            with_scratch(2 * group.size.n * group.lanes, |scratch| {
                let (from, to) = scratch.split_at_mut(group.size.n * group.lanes);
                gather(layout.components(g), x, 0, from);
                group.apply(&self.values[g], from, to);
                scatter(layout.components(g), to, y, first);
            });
        });
    }
}

impl BandedMatrices {
    /// One row's product with x, summed in the order of columns.
    fn row(&self, g: usize, lane: usize, row: usize, x: &[Vec3]) -> f64 {
        let group = &self.layout.groups[g];
        let components = self.layout.components(g);
        let (n, b) = (group.size.n, group.size.bandwidth);
        let mut sum = 0.0;
        for j in row.saturating_sub(b)..(row + b + 1).min(n) {
            let component = components[j * group.lanes + lane] as usize;
            if let Some(at) = group.find(lane, row, j) {
                sum += self.values[g][at] * x[component / 3][component % 3];
            }
        }
        sum
    }
}
