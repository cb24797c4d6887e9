//! Building and refitting: sort along a Morton curve, then bound from the leaves up.

use super::sort::{BITS, order};
use super::{Aabb32, Bvh, BvhError, Leaves, Padded, Row, Tree, WIDTH, Wide};
use stiction_math::parallel;

/// Nodes per parallel task: below this, starting a task costs more than the task.
const GRAIN: usize = 512;

impl Bvh {
    /// A hierarchy over the boxes; pairs name them by their index.
    pub fn build(boxes: &[Aabb32]) -> Result<Bvh, BvhError> {
        check(boxes)?;
        let around = boxes.iter().fold(Aabb32::EMPTY, |all, b| all.union(b));
        let items = along_curve(boxes.len(), &around, |i| boxes[i])?;
        let leaves = leaves(&items, boxes);
        let tree = Tree::over(items, &leaves.as_slice());
        Ok(Bvh { tree, leaves })
    }

    /// Takes the boxes' new places and keeps the tree. On an error the tree is as before.
    pub fn refit(&mut self, boxes: &[Aabb32]) -> Result<(), BvhError> {
        if boxes.len() != self.len() {
            return Err(BvhError::CountChanged {
                built: self.len(),
                given: boxes.len(),
            });
        }
        check(boxes)?;
        self.leaves = leaves(self.tree.items(), boxes);
        self.tree.bound(&self.leaves.as_slice());
        Ok(())
    }
}

impl<R: Row> Tree<R> {
    /// A hierarchy over items in the order of a curve. Their boxes must have no coordinate that is
    /// not a number.
    pub(crate) fn over(items: Vec<u32>, leaves: &impl Leaves<Row = R>) -> Tree<R> {
        let mut levels: Vec<Vec<R>> = Vec::new();
        let mut count = leaves.groups();
        while count > 1 || (count == 1 && levels.is_empty()) {
            count = count.div_ceil(WIDTH);
            levels.push(vec![R::EMPTY; count]);
        }
        let mut tree = Tree {
            items,
            levels,
            cost_at_build: 0.0,
        };
        tree.bound(leaves);
        tree.cost_at_build = tree.cost();
        tree
    }

    /// Bounds all nodes anew, given as many leaves as the tree has.
    pub(crate) fn bound(&mut self, leaves: &impl Leaves<Row = R>) {
        if let Some(lowest) = self.levels.first_mut() {
            parallel::chunks_mut(lowest, PART, |first, nodes| {
                bound_part(nodes, first, leaves)
            });
        }
        self.bound_above();
    }

    /// Bounds the nodes above the lowest ones.
    fn bound_above(&mut self) {
        let Some((lowest, mut above)) = self.levels.split_first_mut() else {
            return;
        };
        let mut below: &[R] = lowest;
        while let Some((level, rest)) = above.split_first_mut() {
            parallel::chunks_mut(level, GRAIN, |first, nodes| {
                let groups = below[first * WIDTH..].chunks(WIDTH);
                nodes
                    .iter_mut()
                    .zip(groups)
                    .for_each(|(own, children)| *own = node(children));
            });
            below = level;
            above = rest;
        }
    }
}

/// Lowest nodes that are bounded by one task.
const PART: usize = GRAIN / WIDTH;

/// Bounds the lowest nodes from `first` on.
fn bound_part<R: Row>(nodes: &mut [R], first: usize, leaves: &impl Leaves<Row = R>) {
    let last = leaves.groups();
    for (i, own) in nodes.iter_mut().enumerate() {
        let first = (first + i) * WIDTH;
        if first + WIDTH <= last {
            *own = R::of(&std::array::from_fn(|k| leaves.around(first + k)));
        } else {
            (first..last).for_each(|group| own.set(group - first, &leaves.around(group)));
        }
    }
}

/// Bounds two trees whose leaves come from the same vertices, part by part along the curve, so that
/// the vertices of a part are still in the cache for the second.
pub(crate) fn bound_together<R: Row, A: Leaves<Row = R>, B: Leaves<Row = R>>(
    a: (&mut Tree<R>, &A),
    b: (&mut Tree<R>, &B),
) {
    let ((a, leaves_a), (b, leaves_b)) = (a, b);
    let low = |tree: &Tree<R>| tree.levels.first().map_or(0, |l| l.len());
    let count = low(a).max(low(b)).div_ceil(PART);
    let mut parts: Vec<_> = parts(a, count).into_iter().zip(parts(b, count)).collect();
    parallel::chunks_mut(&mut parts, 1, |_, parts| {
        for (part_a, part_b) in parts {
            bound_part(part_a.nodes, part_a.first, leaves_a);
            bound_part(part_b.nodes, part_b.first, leaves_b);
        }
    });
    a.bound_above();
    b.bound_above();
}

/// Some of the lowest nodes.
struct Part<'a, R> {
    first: usize,
    nodes: &'a mut [R],
}

/// The lowest nodes in a given number of parts of about the same size.
fn parts<R>(tree: &mut Tree<R>, count: usize) -> Vec<Part<'_, R>> {
    let mut rest = tree.levels.first_mut().map_or(&mut [][..], |l| l);
    let all = rest.len();
    let mut parts = Vec::with_capacity(count);
    let mut first = 0;
    for part in 1..=count {
        let next = all * part / count;
        let (nodes, tail) = rest.split_at_mut(next - first);
        parts.push(Part { first, nodes });
        (first, rest) = (next, tail);
    }
    parts
}

/// The boxes in the order of the items.
fn leaves(items: &[u32], boxes: &[Aabb32]) -> Vec<Wide> {
    let of = |i: &u32| Padded::from(&boxes[*i as usize]);
    parallel::map(items.len().div_ceil(WIDTH), GRAIN, |group| {
        let end = items.len().min((group + 1) * WIDTH);
        leaf(&items[group * WIDTH..end], of)
    })
}

/// The boxes of what is in up to eight slots.
#[inline]
pub(crate) fn leaf<T, R: Row>(slots: &[T], of: impl Fn(&T) -> R::One) -> R {
    if let Some(eight) = slots.first_chunk::<WIDTH>() {
        return R::of(&std::array::from_fn(|k| of(&eight[k])));
    }
    let mut wide = R::EMPTY;
    for (k, slot) in slots.iter().enumerate() {
        wide.set(k, &of(slot));
    }
    wide
}

/// The boxes around up to eight nodes.
#[inline]
fn node<R: Row>(children: &[R]) -> R {
    leaf(children, R::all)
}

fn check(boxes: &[Aabb32]) -> Result<(), BvhError> {
    let nan = |b: &Aabb32| b.min.iter().chain(&b.max).any(|x| x.is_nan());
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
    range: &Aabb32,
    of: impl Fn(usize) -> Aabb32 + Sync,
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
    Ok(order(parallel::map(count, 4 * GRAIN, code)))
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
