//! Building and refitting: sort along a Morton curve, then bound level by level.

use rayon::prelude::*;

use super::{Bound, Bvh, BvhError, WIDTH, Wide};

/// Bits of a position along the curve.
const BITS: u32 = 33;
/// Bits sorted per pass.
const DIGIT: u32 = 11;
/// Nodes per parallel task: below this, starting a task costs more than the task.
const GRAIN: usize = 512;

impl Bvh {
    /// A hierarchy over the boxes; pairs name them by their index.
    pub fn build(boxes: &[Bound]) -> Result<Bvh, BvhError> {
        if boxes.len() > u32::MAX as usize {
            return Err(BvhError::TooMany(boxes.len()));
        }
        check(boxes)?;
        let items = along_curve(boxes);
        let mut levels = Vec::new();
        let mut count = items.len();
        while count > 0 {
            count = count.div_ceil(WIDTH);
            levels.push(vec![Wide::EMPTY; count]);
            if count == 1 {
                break;
            }
        }
        let mut bvh = Bvh {
            items,
            levels,
            cost_at_build: 0.0,
        };
        bvh.bound_items(boxes);
        bvh.cost_at_build = bvh.cost();
        Ok(bvh)
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
        self.bound_items(boxes);
        Ok(())
    }

    /// The index of the box in each slot. Data in this order is refitted without detours.
    pub(crate) fn items(&self) -> &[u32] {
        &self.items
    }

    fn bound_items(&mut self, boxes: &[Bound]) {
        let items = std::mem::take(&mut self.items);
        self.bound(&items, |i| boxes[*i as usize]);
        self.items = items;
    }

    /// Bounds all nodes, given what is in each slot and its box, which must have no coordinate
    /// that is not a number.
    pub(crate) fn bound<T: Sync>(&mut self, slots: &[T], of: impl Fn(&T) -> Bound + Sync) {
        let Some((leaves, mut above)) = self.levels.split_first_mut() else {
            return;
        };
        leaves
            .par_iter_mut()
            .with_min_len(GRAIN)
            .zip(slots.par_chunks(WIDTH))
            .for_each(|(leaf, slots)| {
                for (k, slot) in slots.iter().enumerate() {
                    leaf.set(k, &of(slot));
                }
            });
        let mut below: &[Wide] = leaves;
        while let Some((level, rest)) = above.split_first_mut() {
            let groups = below.par_chunks(WIDTH);
            level
                .par_iter_mut()
                .with_min_len(GRAIN)
                .zip(groups)
                .for_each(|(node, children)| {
                    for (k, child) in children.iter().enumerate() {
                        node.set(k, &child.all());
                    }
                });
            below = level;
            above = rest;
        }
    }
}

fn check(boxes: &[Bound]) -> Result<(), BvhError> {
    let nan = |b: &Bound| b.min.iter().chain(&b.max).any(|x| x.is_nan());
    match boxes.iter().position(nan) {
        Some(i) => Err(BvhError::NotANumber(i)),
        None => Ok(()),
    }
}

/// Indices of the boxes by the place of their centres along a Morton curve, ties by index. The
/// curve halves the longest side of the current cell, so that flat sets spend no bits on their
/// thickness.
fn along_curve(boxes: &[Bound]) -> Vec<u32> {
    let centre =
        |b: &Bound| -> [f32; 3] { std::array::from_fn(|k| 0.5 * b.min[k] + 0.5 * b.max[k]) };
    let mut range = Bound::EMPTY;
    for b in boxes {
        let c = centre(b);
        range = range.union(&Bound { min: c, max: c });
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
    let tables: Vec<Vec<[u64; 256]>> = (0..3).map(|k| spread(k, bits[k], &axes)).collect();
    let scale: [f64; 3] = std::array::from_fn(|k| {
        let cells = (1u64 << bits[k]) as f64;
        let e = scale_extent[k] as f64;
        if e > 0.0 && e.is_finite() {
            cells / e
        } else {
            0.0
        }
    });
    let code = |b: &Bound| {
        let c = centre(b);
        let mut code = 0;
        for k in 0..3 {
            let cells = 1u64 << bits[k];
            // A float-to-integer cast saturates, so that infinite centres do no harm.
            let cell = ((c[k] - range.min[k]) as f64 * scale[k]) as u64;
            let cell = cell.min(cells - 1);
            for (byte, table) in tables[k].iter().enumerate() {
                code |= table[(cell >> (8 * byte)) as usize & 255];
            }
        }
        code
    };
    let keys: Vec<(u64, u32)> = boxes
        .par_iter()
        .with_min_len(4 * GRAIN)
        .enumerate()
        .map(|(i, b)| (code(b), i as u32))
        .collect();
    sorted(keys)
}

/// For each byte of a coordinate with `bits` bits along `axis`, where its bits go.
fn spread(axis: usize, bits: u32, axes: &[usize]) -> Vec<[u64; 256]> {
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
                    code | (((value >> b) & 1) as u64) << place
                })
            })
        })
        .collect()
}

/// The second members in the order of the first, ties in the order given.
fn sorted(keys: Vec<(u64, u32)>) -> Vec<u32> {
    if rayon::current_num_threads() > 1 && keys.len() > 1 << 14 {
        let mut keys = keys;
        keys.par_sort_unstable();
        return keys.into_iter().map(|(_, i)| i).collect();
    }
    let mut from = keys;
    let mut to = vec![(0, 0); from.len()];
    for pass in 0..BITS.div_ceil(DIGIT) {
        let digit = |key: u64| (key >> (pass * DIGIT)) as usize & ((1 << DIGIT) - 1);
        let mut starts = vec![0usize; 1 << DIGIT];
        for (key, _) in &from {
            starts[digit(*key)] += 1;
        }
        let mut sum = 0;
        for s in &mut starts {
            sum += std::mem::replace(s, sum);
        }
        for entry in &from {
            let start = &mut starts[digit(entry.0)];
            to[*start] = *entry;
            *start += 1;
        }
        std::mem::swap(&mut from, &mut to);
    }
    from.into_iter().map(|(_, i)| i).collect()
}
