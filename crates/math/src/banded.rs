//! Many small symmetric banded matrices at once: the hair of a head is a hundred thousand of them.
//!
//! Matrices of one size are interleaved eight by eight, so that every arithmetic operation of the
//! factorisation A = L D Lᵀ serves eight of them; groups of eight are worked on side by side. A
//! matrix gives the same bits in a full group, in a group that is filled up, alone, and on any
//! number of threads.
//!
//! The order of a matrix is its own: a [`BandedLayout`] maps row i of matrix m to a component of a
//! vector of 3-blocks. A rod eliminates x₀ θ₀ x₁ θ₁ … with half-bandwidth 10 while the vector holds
//! its positions first and its twists after them.

mod blocks;
mod kernels;
#[cfg(test)]
mod tests;

use std::{cell::RefCell, sync::Arc};

use rayon::prelude::*;

use crate::{Mat3, Vec3, block::for_parts_mut, krylov::LinearOperator};

/// How many matrices are interleaved.
pub const LANES: usize = 8;
/// A remainder of a size is interleaved, and filled up, when it has at least so many matrices;
/// fewer are quicker, and smaller, one by one.
const WORTH: usize = 3;
/// Marks places that nothing maps to.
const NONE: u32 = u32::MAX;

/// The size of one matrix.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct BandSize {
    /// Rows.
    pub n: usize,
    /// Half-bandwidth b: entries (i, j) with |i − j| > b are zero.
    pub bandwidth: usize,
}

/// What is wrong with banded matrices or their use.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
pub enum BandedError {
    /// A row maps to a component that the vector does not have.
    #[error("row {row} of matrix {matrix} maps to component {component} of a vector of {len}")]
    OutsideVector {
        /// The matrix.
        matrix: usize,
        /// The row.
        row: usize,
        /// The component it maps to.
        component: usize,
        /// How many components the vector has.
        len: usize,
    },
    /// Two rows map to one component.
    #[error("row {row} of matrix {matrix} maps to component {component}, as another row does")]
    Shared {
        /// The matrix.
        matrix: usize,
        /// The row.
        row: usize,
        /// The component it maps to.
        component: usize,
    },
    /// More numbers than can be counted in 32 bits.
    #[error("{0} rows are too many")]
    TooMany(usize),
    /// An entry that the matrix has no room for.
    #[error("entry ({row}, {column}) of matrix {matrix} lies outside its rows or its band")]
    OutsideBand {
        /// The matrix.
        matrix: usize,
        /// The row.
        row: usize,
        /// The column.
        column: usize,
    },
    /// A matrix is not positive definite, or holds no number.
    #[error("matrix {matrix} is not positive definite: its pivot in row {row} is {pivot:e}")]
    NotPositiveDefinite {
        /// The matrix: the first one with such a pivot.
        matrix: usize,
        /// Its first row with such a pivot.
        row: usize,
        /// The pivot.
        pivot: f64,
    },
    /// Two things that belong together have different layouts.
    #[error("the matrices and the factors have different layouts")]
    Layout,
}

/// Sizes, grouping and the map from rows to components of a vector. Shared by matrices and factors.
#[derive(Debug, PartialEq)]
pub struct BandedLayout {
    groups: Vec<Group>,
    /// Group and lane of every matrix.
    places: Vec<(u32, u32)>,
    /// The first slot of every group, and the number of slots at the end. Slots are the rows of all
    /// matrices in the order in which they are stored.
    slots: Vec<usize>,
    /// The component that a slot maps to; none for lanes that fill up a group.
    components: Vec<u32>,
    /// The slot that maps to a component.
    inverse: Vec<u32>,
    /// Where the vector can be cut so that every group has its own piece, if it can.
    cuts: Option<Vec<usize>>,
}

/// Matrices of one size that are stored together.
#[derive(Debug, PartialEq)]
struct Group {
    size: BandSize,
    /// The matrices, one per lane; the rest of the lanes holds the identity.
    members: Vec<u32>,
    /// 1 or [`LANES`].
    lanes: usize,
}

impl Group {
    /// Numbers stored.
    fn values(&self) -> usize {
        self.size.n * (self.size.bandwidth + 1) * self.lanes
    }

    /// Where entry (i, j), j ≤ i, of a lane is.
    fn at(&self, lane: usize, i: usize, j: usize) -> usize {
        let b = self.size.bandwidth;
        (i * (b + 1) + b + j - i) * self.lanes + lane
    }

    /// Where entry (i, j), in either triangle, of a lane is, if there is one.
    fn find(&self, lane: usize, i: usize, j: usize) -> Option<usize> {
        let (i, j) = (i.max(j), i.min(j));
        (i < self.size.n && i - j <= self.size.bandwidth).then(|| self.at(lane, i, j))
    }
}

impl BandedLayout {
    /// Groups matrices of equal size, and maps row i of matrix m to component `map(m, i)` of a
    /// vector of `blocks` 3-blocks. On components that no row maps to, all matrices act as the
    /// identity.
    ///
    /// Matrices keep their order inside a size, and sizes come in the order in which they first
    /// appear. Where that makes every group's components a piece of the vector of its own, as for
    /// rods sorted by length whose components follow one another, solving is a little faster.
    pub fn new(
        sizes: &[BandSize],
        blocks: usize,
        map: impl Fn(usize, usize) -> usize,
    ) -> Result<Self, BandedError> {
        Self::with_lanes(sizes, blocks, map, LANES)
    }

    /// As [`new`](Self::new), but one matrix after another: what interleaving is measured against.
    pub fn one_by_one(
        sizes: &[BandSize],
        blocks: usize,
        map: impl Fn(usize, usize) -> usize,
    ) -> Result<Self, BandedError> {
        Self::with_lanes(sizes, blocks, map, 1)
    }

    fn with_lanes(
        sizes: &[BandSize],
        blocks: usize,
        map: impl Fn(usize, usize) -> usize,
        lanes: usize,
    ) -> Result<Self, BandedError> {
        let groups = group(sizes, lanes);
        let mut slots = vec![0];
        for g in &groups {
            slots.push(slots[slots.len() - 1] + g.size.n * g.lanes);
        }
        let count = slots[groups.len()];
        if count.max(3 * blocks).max(sizes.len()) >= NONE as usize {
            return Err(BandedError::TooMany(count.max(3 * blocks)));
        }
        let mut places = vec![(0, 0); sizes.len()];
        let mut components = vec![NONE; count];
        let mut inverse = vec![NONE; 3 * blocks];
        for (g, group) in groups.iter().enumerate() {
            for (lane, &m) in group.members.iter().enumerate() {
                let matrix = m as usize;
                places[matrix] = (g as u32, lane as u32);
                for row in 0..group.size.n {
                    let component = map(matrix, row);
                    let len = inverse.len();
                    let slot = inverse
                        .get_mut(component)
                        .ok_or(BandedError::OutsideVector {
                            matrix,
                            row,
                            component,
                            len,
                        })?;
                    if *slot != NONE {
                        return Err(BandedError::Shared {
                            matrix,
                            row,
                            component,
                        });
                    }
                    let at = slots[g] + row * group.lanes + lane;
                    *slot = at as u32;
                    components[at] = component as u32;
                }
            }
        }
        let cuts = cuts(&slots, &components, blocks);
        Ok(Self {
            groups,
            places,
            slots,
            components,
            inverse,
            cuts,
        })
    }

    /// How many matrices there are.
    pub fn matrices(&self) -> usize {
        self.places.len()
    }

    /// How many 3-blocks a vector has.
    pub fn blocks(&self) -> usize {
        self.inverse.len() / 3
    }

    /// The size of a matrix.
    pub fn size(&self, matrix: usize) -> BandSize {
        self.groups[self.places[matrix].0 as usize].size
    }

    /// Heap memory of the map [bytes].
    pub fn bytes(&self) -> usize {
        4 * (self.components.len() + self.inverse.len())
            + 8 * self.places.len()
            + self.groups.len() * (size_of::<Group>() + 2 * size_of::<usize>())
            + 4 * self.groups.iter().map(|g| g.members.len()).sum::<usize>()
    }

    /// Group, lane and row of a component, if a row maps to it.
    fn place(&self, component: usize) -> Option<(usize, usize, usize)> {
        let slot = self.inverse[component];
        if slot == NONE {
            return None;
        }
        let slot = slot as usize;
        let g = self.group_of(slot);
        let lanes = self.groups[g].lanes;
        let local = slot - self.slots[g];
        Some((g, local % lanes, local / lanes))
    }

    /// The group that a slot is in. Most groups are of one size, so that a guess is nearly always right.
    fn group_of(&self, slot: usize) -> usize {
        let last = self.groups.len() - 1;
        let guess = (slot as u64 * self.groups.len() as u64 / self.slots[last + 1] as u64) as usize;
        for g in guess.saturating_sub(1)..=(guess + 1).min(last) {
            if (self.slots[g]..self.slots[g + 1]).contains(&slot) {
                return g;
            }
        }
        self.slots.partition_point(|&s| s <= slot) - 1
    }

    /// The components of a group, row by row and lane by lane.
    fn components(&self, g: usize) -> &[u32] {
        &self.components[self.slots[g]..self.slots[g + 1]]
    }
}

/// Matrices of equal size, up to `lanes` together, in order.
fn group(sizes: &[BandSize], lanes: usize) -> Vec<Group> {
    // Sizes in the order in which they appear, each with its matrices.
    let mut order: Vec<u32> = (0..sizes.len() as u32).collect();
    let mut first = std::collections::BTreeMap::new();
    for (m, &size) in sizes.iter().enumerate() {
        first.entry(size).or_insert(m);
    }
    order.sort_by_key(|&m| first[&sizes[m as usize]]);
    let mut groups = Vec::new();
    for same in order.chunk_by(|&a, &b| sizes[a as usize] == sizes[b as usize]) {
        let size = sizes[same[0] as usize];
        for members in same.chunks(lanes) {
            let whole = lanes > 1 && members.len() >= WORTH;
            for part in members.chunks(if whole { lanes } else { 1 }) {
                groups.push(Group {
                    size,
                    members: part.to_vec(),
                    lanes: if whole { lanes } else { 1 },
                });
            }
        }
    }
    groups
}

/// The first block of every group's piece of the vector, and the number of blocks at the end, if
/// the pieces come in order and share no block.
fn cuts(slots: &[usize], components: &[u32], blocks: usize) -> Option<Vec<usize>> {
    let mut cuts = Vec::with_capacity(slots.len());
    let mut end = 0;
    for pair in slots.windows(2) {
        let used = components[pair[0]..pair[1]].iter();
        let used = used.filter(|&&c| c != NONE).map(|&c| c as usize / 3);
        let (low, high) = used.fold((usize::MAX, 0), |(l, h), b| (l.min(b), h.max(b + 1)));
        if low < end {
            return None;
        }
        cuts.push(if cuts.is_empty() { 0 } else { low.min(blocks) });
        end = end.max(high);
    }
    cuts.push(blocks);
    // Groups without rows have no piece to begin with.
    (cuts[0] == 0 && cuts.is_sorted()).then_some(cuts)
}

/// Symmetric banded matrices; only the lower triangle is kept.
#[derive(Clone, Debug)]
pub struct BandedMatrices {
    layout: Arc<BandedLayout>,
    /// The numbers of every group, see [`kernels`].
    values: Vec<Box<[f64]>>,
}

/// The matrices of one group, to be filled.
#[derive(Debug)]
pub struct BandedGroup<'a> {
    group: &'a Group,
    values: &'a mut [f64],
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
        let values = layout.groups.par_iter();
        let values = values.map(|g| vec![0.0; g.values()].into_boxed_slice());
        let mut matrices = Self {
            values: values.collect(),
            layout,
        };
        matrices.set_zero();
        matrices
    }

    /// Sizes and map.
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

    /// Calls `fill` with every group, in parallel: how matrices are assembled on all threads.
    pub fn for_each_group(&mut self, fill: impl Fn(BandedGroup) + Sync) {
        let groups = self.layout.groups.par_iter();
        groups
            .zip(&mut self.values)
            .for_each(|(group, values)| fill(BandedGroup { group, values }));
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
        let values = self.values.par_iter_mut().enumerate();
        values.for_each(|(g, values)| layout.shift(g, values, &shift));
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

    /// Takes the components with `fixed(component)` out of the matrices: their rows and columns
    /// become those of the identity.
    pub fn eliminate(&mut self, fixed: impl Fn(usize) -> bool + Sync) {
        let layout = Arc::clone(&self.layout);
        let values = self.values.par_iter_mut().enumerate();
        values.for_each(|(g, values)| {
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

    /// Heap memory of the numbers [bytes].
    pub fn bytes(&self) -> usize {
        8 * self.values.iter().map(|v| v.len()).sum::<usize>()
    }

    /// Factorises in place, with `shift(component)` added to the diagonal: for those who do not
    /// need the matrices any more.
    pub fn into_factors(
        mut self,
        shift: impl Fn(usize) -> f64 + Sync,
    ) -> Result<BandedFactors, BandedError> {
        let layout = &self.layout;
        let values = self.values.par_iter_mut().enumerate();
        first_failure(values.map(|(g, values)| {
            layout.shift(g, values, &shift);
            layout.groups[g].factor(values)
        }))?;
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

impl BandedLayout {
    fn shift(&self, g: usize, values: &mut [f64], shift: &(impl Fn(usize) -> f64 + Sync)) {
        let group = &self.groups[g];
        for (slot, &component) in self.components(g).iter().enumerate() {
            if component != NONE {
                let (row, lane) = (slot / group.lanes, slot % group.lanes);
                values[group.at(lane, row, row)] += shift(component as usize);
            }
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
            // Component by component: each is written by one thread, whichever matrix it is of.
            y.par_iter_mut().enumerate().for_each(|(block, y)| {
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

/// A = L D Lᵀ of many banded matrices.
#[derive(Clone, Debug)]
pub struct BandedFactors {
    layout: Arc<BandedLayout>,
    values: Vec<Box<[f64]>>,
    /// One number per slot, used where groups have no pieces of the vector of their own.
    work: Vec<f64>,
}

impl BandedFactors {
    /// Room for the factors of matrices with this layout; they are those of the identity.
    pub fn new(layout: Arc<BandedLayout>) -> Self {
        let values = layout.groups.par_iter().map(|g| {
            let mut values = vec![0.0; g.values()].into_boxed_slice();
            for (row, lane) in (0..g.size.n).flat_map(|r| (0..g.lanes).map(move |l| (r, l))) {
                values[g.at(lane, row, row)] = 1.0;
            }
            values
        });
        Self {
            values: values.collect(),
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
        let values = self.values.par_iter_mut().zip(&matrices.values);
        first_failure(values.enumerate().map(|(g, (values, from))| {
            values.copy_from_slice(from);
            layout.shift(g, values, &shift);
            layout.groups[g].factor(values)
        }))
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
        x.par_iter_mut().enumerate().for_each(|(block, x)| {
            for c in 0..3 {
                let slot = layout.inverse[3 * block + c];
                if slot != NONE {
                    x[c] = work[slot as usize];
                }
            }
        });
    }

    /// Heap memory of the numbers [bytes].
    pub fn bytes(&self) -> usize {
        8 * (self.values.iter().map(|v| v.len()).sum::<usize>() + self.work.len())
    }
}

impl Group {
    fn factor(&self, values: &mut [f64]) -> Option<BandedError> {
        let b = self.size.bandwidth;
        let mut failure: Option<(u32, usize, f64)> = None;
        let bad = |lane: usize, row, pivot| {
            // Lanes that fill up a group hold the identity and cannot fail.
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

    fn solve(&self, values: &[f64], x: &mut [f64]) {
        let b = self.size.bandwidth;
        match self.lanes {
            1 => kernels::solve::<1>(values.as_chunks().0, b, as_lanes(x)),
            _ => kernels::solve::<LANES>(values.as_chunks().0, b, as_lanes(x)),
        }
    }

    fn apply(&self, values: &[f64], x: &[f64], y: &mut [f64]) {
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

/// The failure of the matrix with the lowest number, whichever thread sees it first.
fn first_failure(
    failures: impl ParallelIterator<Item = Option<BandedError>>,
) -> Result<(), BandedError> {
    let number = |e: &BandedError| match e {
        BandedError::NotPositiveDefinite { matrix, .. } => *matrix,
        _ => usize::MAX,
    };
    match failures.flatten_iter().min_by_key(number) {
        Some(error) => Err(error),
        None => Ok(()),
    }
}

/// Components of the piece of a vector that begins at block `first`, into slots.
fn gather(components: &[u32], x: &[Vec3], first: usize, slots: &mut [f64]) {
    for (slot, &component) in slots.iter_mut().zip(components) {
        let component = component as usize;
        *slot = if component == NONE as usize {
            0.0
        } else {
            x[component / 3 - first][component % 3]
        };
    }
}

/// Slots into the piece of a vector that begins at block `first`.
fn scatter(components: &[u32], slots: &[f64], x: &mut [Vec3], first: usize) {
    for (&slot, &component) in slots.iter().zip(components) {
        if component != NONE {
            let component = component as usize;
            x[component / 3 - first][component % 3] = slot;
        }
    }
}

/// Scratch memory of this thread: solving allocates nothing once every thread has its own.
fn with_scratch<R>(len: usize, f: impl FnOnce(&mut [f64]) -> R) -> R {
    thread_local! {
        static SCRATCH: RefCell<Vec<f64>> = const { RefCell::new(Vec::new()) };
    }
    SCRATCH.with(|scratch| match scratch.try_borrow_mut() {
        Ok(mut scratch) => {
            if scratch.len() < len {
                scratch.resize(len, 0.0);
            }
            f(&mut scratch[..len])
        }
        Err(_) => f(&mut vec![0.0; len]),
    })
}
