//! A search structure for free space between strands.

use stiction_math::Vec3;

use crate::collide::edge_edge;

/// Segments are cut into so many pieces: short ones meet few cells.
const PIECES: usize = 4;
/// The end of a chain.
const END: u32 = u32::MAX;

/// Segments of strands, found by place: a table of chains, one for each cell of a grid (cells may
/// share a chain, which costs a look at most).
pub(super) struct SegmentGrid {
    /// Least distance between segments of different strands [m].
    apart: f64,
    /// Edge of a cell [m].
    cell: f64,
    heads: Vec<u32>,
    /// A segment and the next link of its chain.
    links: Vec<[u32; 2]>,
    segments: Vec<[Vec3; 2]>,
}

impl SegmentGrid {
    /// An empty grid for the given number of segments of the given length [m].
    pub(super) fn new(apart: f64, segments: usize, length: f64) -> Self {
        Self {
            apart,
            cell: apart.max(length / PIECES as f64),
            heads: vec![END; (4 * PIECES * segments).next_power_of_two()],
            links: Vec::new(),
            segments: Vec::with_capacity(segments),
        }
    }

    /// Whether a strand keeps its distance from all before.
    pub(super) fn has(&self, strand: &[Vec3]) -> bool {
        let mut segments = strand.windows(2).map(|w| [w[0], w[1]]);
        segments.all(|own| {
            self.cells(&own, self.apart).all(|chain| {
                let mut at = self.heads[chain];
                while at != END {
                    let [segment, next] = self.links[at as usize];
                    let other = &self.segments[segment as usize];
                    if edge_edge(&own, other).squared < self.apart * self.apart {
                        return false;
                    }
                    at = next;
                }
                true
            })
        })
    }

    /// Puts a strand there.
    pub(super) fn take(&mut self, strand: &[Vec3]) {
        for own in strand.windows(2).map(|w| [w[0], w[1]]) {
            let segment = self.segments.len() as u32;
            self.segments.push(own);
            let chains: Vec<usize> = self.cells(&own, 0.0).collect();
            for chain in chains {
                let link = self.links.len() as u32;
                // Pieces of a segment share cells.
                let head = self.heads[chain];
                if head != END && self.links[head as usize][0] == segment {
                    continue;
                }
                self.links.push([segment, head]);
                self.heads[chain] = link;
            }
        }
    }

    /// The chains of all cells that are within `margin` of a segment, and some more.
    fn cells(&self, [a, b]: &[Vec3; 2], margin: f64) -> impl Iterator<Item = usize> + '_ {
        let piece = (b - a) / PIECES as f64;
        let a = *a;
        (0..PIECES).flat_map(move |i| {
            let (from, to) = (a + piece * i as f64, a + piece * (i + 1) as f64);
            let pad = Vec3::repeat(margin);
            let low = (from.inf(&to) - pad) / self.cell;
            let high = (from.sup(&to) + pad) / self.cell;
            let range = move |k: usize| low[k].floor() as i64..=high[k].floor() as i64;
            range(0).flat_map(move |x| {
                range(1).flat_map(move |y| range(2).map(move |z| self.chain([x, y, z])))
            })
        })
    }

    fn chain(&self, cell: [i64; 3]) -> usize {
        let mixed = cell.iter().fold(0_u64, |h, &c| {
            (h ^ c as u64)
                .wrapping_mul(0x9e37_79b9_7f4a_7c15)
                .rotate_left(29)
        });
        mixed as usize & (self.heads.len() - 1)
    }
}
