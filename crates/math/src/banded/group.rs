//! A group of banded matrices of one size that are stored together.

use super::{BandedError, LANES, kernels, layout::BandSize, scratch::with_scratch};

/// Matrices of one size that are stored together.
#[derive(Debug, PartialEq)]
pub(super) struct Group {
    pub(super) size: BandSize,
    /// The matrices, one per lane; padding lanes hold the identity.
    pub(super) members: Vec<u32>,
    /// 1 or [`LANES`].
    pub(super) lanes: usize,
}

impl Group {
    /// Number of stored values.
    pub(super) fn values(&self) -> usize {
        self.size.n * (self.size.bandwidth + 1) * self.lanes
    }

    /// Position of entry (i, j), j ≤ i, of a lane.
    pub(super) fn at(&self, lane: usize, i: usize, j: usize) -> usize {
        let b = self.size.bandwidth;
        (i * (b + 1) + b + j - i) * self.lanes + lane
    }

    /// Position of entry (i, j), in either triangle, of a lane; none outside the band.
    pub(super) fn find(&self, lane: usize, i: usize, j: usize) -> Option<usize> {
        let (i, j) = (i.max(j), i.min(j));
        (i < self.size.n && i - j <= self.size.bandwidth).then(|| self.at(lane, i, j))
    }
}

impl Group {
    pub(super) fn factor(&self, values: &mut [f64]) -> Option<BandedError> {
        let b = self.size.bandwidth;
        let mut failure: Option<(u32, usize, f64)> = None;
        let bad = |lane: usize, row, pivot| {
            // Padding lanes hold the identity and cannot fail.
            if let Some(&m) = self.members.get(lane)
                && failure.is_none_or(|f| m < f.0)
            {
                failure = Some((m, row, pivot));
            }
        };
        with_scratch(b * self.lanes, |u| match self.lanes {
            1 => kernels::factor::<1>(as_lanes(values), b, as_lanes(u), bad),
            _ => kernels::factor::<LANES>(as_lanes(values), b, as_lanes(u), bad),
        });
        failure.map(|(m, row, pivot)| BandedError::NotPositiveDefinite {
            matrix: m as usize,
            row,
            pivot,
        })
    }

    pub(super) fn solve(&self, values: &[f64], x: &mut [f64]) {
        let b = self.size.bandwidth;
        match self.lanes {
            1 => kernels::solve::<1>(values.as_chunks().0, b, as_lanes(x)),
            _ => kernels::solve::<LANES>(values.as_chunks().0, b, as_lanes(x)),
        }
    }

    pub(super) fn apply(&self, values: &[f64], x: &[f64], y: &mut [f64]) {
        let b = self.size.bandwidth;
        match self.lanes {
            1 => kernels::apply::<1>(values.as_chunks().0, b, x.as_chunks().0, as_lanes(y)),
            _ => kernels::apply::<LANES>(values.as_chunks().0, b, x.as_chunks().0, as_lanes(y)),
        }
    }
}

fn as_lanes<const L: usize>(values: &mut [f64]) -> &mut [[f64; L]] {
    values.as_chunks_mut().0
}
