//! Block colouring of elements for parallel sums into shared nodes.
//!
//! Consecutive elements form blocks of a fixed size; blocks are coloured greedily so that two
//! blocks of one colour share no node. Colours run one after another and the blocks of a colour in
//! parallel, so that every node receives its sums in one order for any number of threads. Elements
//! should be numbered along a space-filling order: blocks are then compact, and few colours
//! suffice.

use crate::BlockError;
use std::ops::Range;

/// Blocks of consecutive elements, sorted by colour.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BlockColoring {
    n_elements: usize,
    block_size: usize,
    /// Blocks, colour after colour, ascending within a colour.
    blocks: Vec<u32>,
    color_start: Vec<usize>,
}

/// Colours tried at once: one machine word of marks per node.
const ROUND: u32 = u64::BITS;

impl BlockColoring {
    /// Colours `n_elements` elements over `n_nodes` nodes in blocks of `block_size` (at least 1);
    /// `nodes_of(e)` are the nodes of element e, each below `n_nodes`.
    pub fn new<'a>(
        n_nodes: usize,
        n_elements: usize,
        block_size: usize,
        nodes_of: impl Fn(usize) -> &'a [u32],
    ) -> Result<Self, BlockError> {
        for e in 0..n_elements {
            if let Some(&node) = nodes_of(e).iter().find(|&&v| v as usize >= n_nodes) {
                return Err(BlockError::NodeOutOfRange {
                    node: node as usize,
                    n: n_nodes,
                });
            }
        }
        let block_size = block_size.max(1);
        let n_blocks = n_elements.div_ceil(block_size);
        let elements = |b: u32| {
            let begin = b as usize * block_size;
            begin..(begin + block_size).min(n_elements)
        };
        let mut color_of = vec![0u32; n_blocks];
        // Bit c of a node's mark: a block of colour c (of this round) has the node.
        let mut marks = vec![0u64; n_nodes];
        let mut waiting: Vec<u32> = (0..n_blocks as u32).collect();
        let mut first_color = 0;
        while !waiting.is_empty() {
            marks.fill(0);
            waiting.retain(|&b| {
                let nodes = || elements(b).flat_map(&nodes_of);
                let taken = nodes().fold(0, |taken, &v| taken | marks[v as usize]);
                let color = taken.trailing_ones();
                if color == ROUND {
                    return true;
                }
                for &v in nodes() {
                    marks[v as usize] |= 1 << color;
                }
                color_of[b as usize] = first_color + color;
                false
            });
            first_color += ROUND;
        }

        // A round may leave its last colours unused, so count only colours that occur.
        let mut blocks: Vec<u32> = (0..n_blocks as u32).collect();
        blocks.sort_by_key(|&b| color_of[b as usize]);
        let mut color_start = vec![0];
        for k in 1..n_blocks {
            if color_of[blocks[k] as usize] != color_of[blocks[k - 1] as usize] {
                color_start.push(k);
            }
        }
        if n_blocks > 0 {
            color_start.push(n_blocks);
        }
        Ok(Self {
            n_elements,
            block_size,
            blocks,
            color_start,
        })
    }

    /// Number of elements.
    pub fn n_elements(&self) -> usize {
        self.n_elements
    }

    /// Number of colours.
    pub fn n_colors(&self) -> usize {
        self.color_start.len() - 1
    }

    /// The blocks of colour `c`, ascending.
    pub fn color(&self, c: usize) -> &[u32] {
        &self.blocks[self.color_start[c]..self.color_start[c + 1]]
    }

    /// The elements of block `b`.
    pub fn elements(&self, b: u32) -> Range<usize> {
        let begin = b as usize * self.block_size;
        begin..(begin + self.block_size).min(self.n_elements)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use proptest::prelude::*;

    /// Every element once, and no node twice within a colour except inside one block.
    fn check(n_nodes: usize, coloring: &BlockColoring, elements: &[Vec<u32>]) {
        let mut seen = vec![0; elements.len()];
        for c in 0..coloring.n_colors() {
            assert!(!coloring.color(c).is_empty());
            let mut owner = vec![None; n_nodes];
            for &b in coloring.color(c) {
                for e in coloring.elements(b) {
                    seen[e] += 1;
                    for &v in &elements[e] {
                        let owner = owner[v as usize].get_or_insert(b);
                        assert_eq!(*owner, b, "node {v} in two blocks of colour {c}");
                    }
                }
            }
        }
        assert!(seen.iter().all(|&s| s == 1));
    }

    proptest! {
        #[test]
        fn blocks_of_a_color_share_no_node(
            elements in prop::collection::vec(prop::collection::vec(0u32..40, 1..5), 0..80),
            block_size in 1usize..9,
        ) {
            let coloring = BlockColoring::new(40, elements.len(), block_size, |e| &elements[e]).unwrap();
            check(40, &coloring, &elements);
        }
    }

    /// All blocks meet at node 0, so each needs its own colour: more than one round of marks.
    #[test]
    fn more_colors_than_bits() {
        let elements: Vec<Vec<u32>> = (0..300).map(|e| vec![0, e + 1]).collect();
        let coloring = BlockColoring::new(301, 300, 2, |e| &elements[e]).unwrap();
        check(301, &coloring, &elements);
        assert_eq!(coloring.n_colors(), 150);
    }

    #[test]
    fn a_chain_needs_two_colors() {
        let elements: Vec<Vec<u32>> = (0..1000).map(|e| vec![e, e + 1]).collect();
        let coloring = BlockColoring::new(1001, 1000, 16, |e| &elements[e]).unwrap();
        check(1001, &coloring, &elements);
        assert_eq!(coloring.n_colors(), 2);
        assert_eq!(BlockColoring::new(0, 0, 16, |_| &[]).unwrap().n_colors(), 0);
        let error = BlockColoring::new(1000, 1000, 16, |e| &elements[e]).unwrap_err();
        assert_eq!(
            error,
            BlockError::NodeOutOfRange {
                node: 1000,
                n: 1000
            }
        );
    }
}
