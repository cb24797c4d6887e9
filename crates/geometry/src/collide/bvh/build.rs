//! Building and refitting: sort along a Morton curve, then bound from the leaves up.

use rayon::prelude::*;

use super::sort::{BITS, order};
use super::{Bound, Bvh, BvhError, WIDTH, Wide};

/// Nodes per parallel task: below this, starting a task costs more than the task.
const GRAIN: usize = 512;

impl Bvh {
    /// A hierarchy over the boxes; pairs name them by their index.
    pub fn build(boxes: &[Bound]) -> Result<Bvh, BvhError> {
        check(boxes)?;
        let around = boxes.iter().fold(Bound::EMPTY, |all, b| all.union(b));
        let items = along_curve(boxes.len(), &around, |i| boxes[i])?;
        let of = |i: &u32| boxes[*i as usize];
        Ok(Bvh::over(items.clone(), &items, of))
    }

    /// A hierarchy over items in the order of a curve, given what is in each slot and its box,
    /// which must have no coordinate that is not a number.
    pub(crate) fn over<T: Sync>(
        items: Vec<u32>,
        slots: &[T],
        of: impl Fn(&T) -> Bound + Sync,
    ) -> Bvh {
        let mut levels: Vec<Vec<Wide>> = Vec::new();
        if !slots.is_empty() {
            let leaves = slots.par_chunks(WIDTH).with_min_len(GRAIN);
            levels.push(leaves.map(|slots| leaf(slots, &of)).collect());
        }
        while let Some(below) = levels.last().filter(|l| l.len() > 1) {
            let groups = below.par_chunks(WIDTH).with_min_len(GRAIN);
            levels.push(groups.map(node).collect());
        }
        let mut bvh = Bvh {
            items,
            levels,
            cost_at_build: 0.0,
        };
        bvh.cost_at_build = bvh.cost();
        bvh
    }

    /// The index of the box in each slot.
    pub(crate) fn items(&self) -> &[u32] {
        &self.items
    }

    /// Takes the boxes' new places and keeps the tree. On an error the tree is as before.
    pub fn refit(&mut self, boxes: &[Bound]) -> Result<(), BvhError> {
        if boxes.len() != self.items.len() {
            return Err(BvhError::CountChanged {
                built: self.items.len(),
                given: boxes.len(),
            });
        }
        check(boxes)?;
        let items = std::mem::take(&mut self.items);
        self.bound(&items, |i| boxes[*i as usize]);
        self.items = items;
        Ok(())
    }

    /// Bounds all nodes anew, given what is in each slot and its box, which must have no
    /// coordinate that is not a number.
    pub(crate) fn bound<T: Sync>(&mut self, slots: &[T], of: impl Fn(&T) -> Bound + Sync) {
        let Some((leaves, above)) = self.levels.split_first_mut() else {
            return;
        };
        let Some((parents, mut above)) = above.split_first_mut() else {
            leaves[0] = leaf(slots, &of);
            return;
        };
        // Leaves are most of the memory: each is bounded while it is still in the cache.
        parents
            .par_iter_mut()
            .with_min_len(GRAIN / WIDTH)
            .zip(leaves.par_chunks_mut(WIDTH))
            .zip(slots.par_chunks(WIDTH * WIDTH))
            .for_each(|((parent, leaves), slots)| {
                let leaves = leaves.iter_mut().zip(slots.chunks(WIDTH));
                for (k, (own, slots)) in leaves.enumerate() {
                    for (j, slot) in slots.iter().enumerate() {
                        own.set(j, &of(slot));
                    }
                    parent.set(k, &own.all());
                }
            });
        let mut below: &[Wide] = parents;
        while let Some((level, rest)) = above.split_first_mut() {
            let groups = below.par_chunks(WIDTH);
            let nodes = level.par_iter_mut().with_min_len(GRAIN).zip(groups);
            nodes.for_each(|(own, children)| *own = node(children));
            below = level;
            above = rest;
        }
    }
}

/// The boxes of up to eight slots.
#[inline]
pub(super) fn leaf<T>(slots: &[T], of: &impl Fn(&T) -> Bound) -> Wide {
    let mut wide = Wide::EMPTY;
    for (k, slot) in slots.iter().enumerate().take(WIDTH) {
        wide.set(k, &of(slot));
    }
    wide
}

/// The boxes around up to eight nodes.
#[inline]
fn node(children: &[Wide]) -> Wide {
    let mut wide = Wide::EMPTY;
    for (k, child) in children.iter().enumerate().take(WIDTH) {
        wide.set(k, &child.all());
    }
    wide
}

fn check(boxes: &[Bound]) -> Result<(), BvhError> {
    let nan = |b: &Bound| b.min.iter().chain(&b.max).any(|x| x.is_nan());
    match boxes.iter().position(nan) {
        Some(i) => Err(BvhError::NotANumber(i)),
        None => Ok(()),
    }
}

/// Indices of the boxes, all of which lie in `range`, by the places of their centres along a Morton
/// curve. The curve halves the longest side of the current cell, so that flat sets spend no bits on
/// their thickness.
pub(crate) fn along_curve(
    count: usize,
    range: &Bound,
    of: impl Fn(usize) -> Bound + Sync,
) -> Result<Vec<u32>, BvhError> {
    if count > u32::MAX as usize {
        return Err(BvhError::TooMany(count));
    }
    if count == 0 {
        return Ok(Vec::new());
    }
    let mut extent: [f32; 3] = std::array::from_fn(|k| range.max[k] - range.min[k]);
    let scale_extent = extent;
    let mut bits = [0u32; 3];
    // The axis of each bit, most significant first.
    let axes: Vec<usize> = (0..BITS)
        .map(|_| {
            let mut axis = 0;
            for k in 1..3 {
                if extent[k] > extent[axis] {
                    axis = k;
                }
            }
            extent[axis] *= 0.5;
            bits[axis] += 1;
            axis
        })
        .collect();
    // Spreads the bits of one coordinate to their places, a table per axis and byte.
    let tables: Vec<Vec<[u32; 256]>> = (0..3).map(|k| spread(k, bits[k], &axes)).collect();
    let scale: [f64; 3] = std::array::from_fn(|k| {
        let cells = (1u64 << bits[k]) as f64;
        let e = scale_extent[k] as f64;
        if e > 0.0 && e.is_finite() {
            cells / e
        } else {
            0.0
        }
    });
    let code = |i: usize| {
        let b = of(i);
        let mut code = 0;
        for k in 0..3 {
            let cells = 1u64 << bits[k];
            let centre = 0.5 * b.min[k] + 0.5 * b.max[k];
            // A float-to-integer cast saturates, so that infinite centres do no harm.
            let cell = ((centre - range.min[k]) as f64 * scale[k]) as u64;
            let cell = cell.min(cells - 1);
            for (byte, table) in tables[k].iter().enumerate() {
                code |= table[(cell >> (8 * byte)) as usize & 255];
            }
        }
        code
    };
    let all = (0..count).into_par_iter().with_min_len(4 * GRAIN);
    Ok(order(all.map(code).collect()))
}

/// For each byte of a coordinate with `bits` bits along `axis`, where its bits go.
fn spread(axis: usize, bits: u32, axes: &[usize]) -> Vec<[u32; 256]> {
    let mut place = vec![0u32; bits as usize];
    let mut next = bits;
    for (i, a) in axes.iter().enumerate() {
        if *a == axis {
            next -= 1;
            place[next as usize] = BITS - 1 - i as u32;
        }
    }
    let bytes = place.chunks(8);
    bytes
        .map(|places| {
            std::array::from_fn(|value| {
                let set = places.iter().enumerate();
                set.fold(0, |code, (b, place)| {
                    code | (((value >> b) & 1) as u32) << place
                })
            })
        })
        .collect()
}
