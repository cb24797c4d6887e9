//! LDLᵀ factors of banded matrices.

use std::sync::Arc;

use super::{
    BandedError, BandedLayout, BandedMatrices,
    layout::NONE,
    scratch::{gather, scatter, with_scratch},
};
use crate::{Vec3, block::for_parts_mut, parallel};

/// Factors A = L D Lᵀ of many banded matrices.
#[derive(Clone, Debug)]
pub struct BandedFactors {
    pub(super) layout: Arc<BandedLayout>,
    pub(super) values: Vec<Box<[f64]>>,
    /// Workspace of one number per slot, used where groups share pieces of the vector.
    pub(super) work: Vec<f64>,
}

impl BandedFactors {
    /// Allocates factors of matrices with this layout and sets them to those of the identity.
    pub fn new(layout: Arc<BandedLayout>) -> Self {
        let groups = &layout.groups;
        let identity = |g: usize| {
            let g = &groups[g];
            let mut values = vec![0.0; g.values()].into_boxed_slice();
            for (row, lane) in (0..g.size.n).flat_map(|r| (0..g.lanes).map(move |l| (r, l))) {
                values[g.at(lane, row, row)] = 1.0;
            }
            values
        };
        Self {
            values: parallel::map(groups.len(), 1, identity),
            layout,
            work: Vec::new(),
        }
    }

    /// Factorises the matrices with `shift(component)` added to the diagonal. After an error the
    /// factors must not be used.
    pub fn refactor(
        &mut self,
        matrices: &BandedMatrices,
        shift: impl Fn(usize) -> f64 + Sync,
    ) -> Result<(), BandedError> {
        let layout = &self.layout;
        if !Arc::ptr_eq(layout, &matrices.layout) && **layout != *matrices.layout {
            return Err(BandedError::Layout);
        }
        first_failure(parallel::map_chunks_mut(
            &mut self.values,
            1,
            |g, values| {
                let values = &mut values[0];
                values.copy_from_slice(&matrices.values[g]);
                layout.shift(g, values, &shift);
                layout.groups[g].factor(values)
            },
        ))
    }

    /// x ← A⁻¹ x.
    pub fn solve(&mut self, x: &mut [Vec3]) {
        let Self {
            layout,
            values,
            work,
        } = self;
        if let Some(cuts) = &layout.cuts {
            for_parts_mut(cuts, x, 1, &|g, x| {
                let group = &layout.groups[g];
                with_scratch(group.size.n * group.lanes, |scratch| {
                    gather(layout.components(g), x, cuts[g], scratch);
                    group.solve(&values[g], scratch);
                    scatter(layout.components(g), scratch, x, cuts[g]);
                });
            });
            return;
        }
        work.resize(layout.slots[layout.groups.len()], 0.0);
        let from = &*x;
        for_parts_mut(&layout.slots, work, 1, &|g, work| {
            gather(layout.components(g), from, 0, work);
            layout.groups[g].solve(&values[g], work);
        });
        parallel::each_mut(x, 1024, |block, x| {
            for c in 0..3 {
                let slot = layout.inverse[3 * block + c];
                if slot != NONE {
                    x[c] = work[slot as usize];
                }
            }
        });
    }

    /// Heap memory of the values [bytes].
    pub fn bytes(&self) -> usize {
        8 * (self.values.iter().map(|v| v.len()).sum::<usize>() + self.work.len())
    }
}

/// The failure of the matrix with the lowest index, independent of thread timing.
pub(super) fn first_failure(failures: Vec<Option<BandedError>>) -> Result<(), BandedError> {
    let number = |e: &BandedError| match e {
        BandedError::NotPositiveDefinite { matrix, .. } => *matrix,
        _ => usize::MAX,
    };
    match failures.into_iter().flatten().min_by_key(number) {
        Some(error) => Err(error),
        None => Ok(()),
    }
}
