//! Sizes and grouping of many banded matrices, and the map from their rows to a vector.

use super::{BandedError, group::Group};

/// Number of interleaved matrices.
pub const LANES: usize = 8;
/// Smallest remainder of a size that is padded and interleaved; fewer matrices are faster and
/// smaller one by one.
const WORTH: usize = 3;
/// Marks slots and components without a mapping.
pub(super) const NONE: u32 = u32::MAX;

/// The size of one matrix.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct BandSize {
    /// Rows.
    pub n: usize,
    /// Half-bandwidth b: entries (i, j) with |i − j| > b are zero.
    pub bandwidth: usize,
}

/// Sizes and grouping of the matrices, and the map from rows to components of a vector. Shared by
/// matrices and factors.
#[derive(Debug, PartialEq)]
pub struct BandedLayout {
    pub(super) groups: Vec<Group>,
    /// Group and lane of every matrix.
    pub(super) places: Vec<(u32, u32)>,
    /// The first slot of every group, and the number of slots at the end. Slots are the rows of all
    /// matrices in the order in which they are stored.
    pub(super) slots: Vec<usize>,
    /// The component that a slot maps to; [`NONE`] for padding lanes.
    pub(super) components: Vec<u32>,
    /// The slot that maps to a component.
    pub(super) inverse: Vec<u32>,
    /// Positions that split the vector into one contiguous piece per group, if they exist.
    pub(super) cuts: Option<Vec<usize>>,
}

impl BandedLayout {
    /// Groups matrices of equal size, and maps row i of matrix m to component `map(m, i)` of a
    /// vector of `blocks` 3-blocks. On components that no row maps to, all matrices act as the
    /// identity.
    ///
    /// Matrices keep their order within a size, and sizes come in order of first appearance.
    /// Solving is slightly faster if every group maps to a contiguous piece of the vector, as for
    /// rods sorted by length.
    pub fn new(
        sizes: &[BandSize],
        blocks: usize,
        map: impl Fn(usize, usize) -> usize,
    ) -> Result<Self, BandedError> {
        Self::with_lanes(sizes, blocks, map, LANES)
    }

    /// Like [`new`](Self::new), but without interleaving; the baseline of benchmarks.
    pub fn one_by_one(
        sizes: &[BandSize],
        blocks: usize,
        map: impl Fn(usize, usize) -> usize,
    ) -> Result<Self, BandedError> {
        Self::with_lanes(sizes, blocks, map, 1)
    }

    pub(super) fn with_lanes(
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

    /// Number of matrices.
    pub fn matrices(&self) -> usize {
        self.places.len()
    }

    /// Number of 3-blocks of a vector.
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
    pub(super) fn place(&self, component: usize) -> Option<(usize, usize, usize)> {
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

    /// The group of a slot. Most groups have one size, so that a proportional guess is nearly
    /// always right.
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
    pub(super) fn components(&self, g: usize) -> &[u32] {
        &self.components[self.slots[g]..self.slots[g + 1]]
    }
}

/// Groups of matrices of equal size, up to `lanes` each, in order.
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
/// the pieces are in order and share no block.
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
    // Groups without rows have no piece.
    (cuts[0] == 0 && cuts.is_sorted()).then_some(cuts)
}

impl BandedLayout {
    pub(super) fn shift(
        &self,
        g: usize,
        values: &mut [f64],
        shift: &(impl Fn(usize) -> f64 + Sync),
    ) {
        let group = &self.groups[g];
        for (slot, &component) in self.components(g).iter().enumerate() {
            if component != NONE {
                let (row, lane) = (slot / group.lanes, slot % group.lanes);
                values[group.at(lane, row, row)] += shift(component as usize);
            }
        }
    }
}
