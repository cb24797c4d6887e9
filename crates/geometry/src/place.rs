//! Numbering by space: what is near in space comes near in memory, which contact solvers notice
//! threefold.

use stiction_math::Vec3;

use crate::strands::Strands;

/// Indices of the points in the order in which a Morton curve through the cube around all of them
/// meets them; equal places keep their order. Coordinates that are no numbers count as smallest.
pub fn by_place(points: &[Vec3]) -> Vec<u32> {
    let low = points
        .iter()
        .fold(Vec3::repeat(f64::INFINITY), |a, b| a.inf(b));
    let high = points
        .iter()
        .fold(Vec3::repeat(f64::NEG_INFINITY), |a, b| a.sup(b));
    let extent = (high - low).max();
    let scale = if extent > 0.0 { CELLS / extent } else { 0.0 };
    // A conversion from floating point clamps to the range and takes what is no number as zero.
    let code = |p: &Vec3| {
        let cell = (p - low) * scale;
        let part = |x: f64| spread((x.min(CELLS - 1.0)) as u64);
        part(cell.x) | part(cell.y) << 1 | part(cell.z) << 2
    };
    let mut keys: Vec<(u64, u32)> = points.iter().map(code).zip(0..).collect();
    keys.sort_unstable();
    keys.into_iter().map(|(_, i)| i).collect()
}

/// Cells along each axis: three times 21 bits fill a word.
const CELLS: f64 = (1u64 << 21) as f64;

/// Puts two zeros between the lowest 21 bits.
fn spread(x: u64) -> u64 {
    let mut x = x & 0x1f_ffff;
    x = (x | x << 32) & 0x001f_0000_0000_ffff;
    x = (x | x << 16) & 0x001f_0000_ff00_00ff;
    x = (x | x << 8) & 0x100f_00f0_0f00_f00f;
    x = (x | x << 4) & 0x10c3_0c30_c30c_30c3;
    (x | x << 2) & 0x1249_2492_4924_9249
}

impl Strands {
    /// These strands, ordered by number of points and then by the positions of their first points.
    /// Strands of one size are then adjacent, as their factors require, and among them those close in
    /// space.
    pub fn sorted(&self) -> Self {
        let first = |s: usize| self.strand(s).first().copied().unwrap_or_default();
        let places: Vec<Vec3> = (0..self.len()).map(first).collect();
        let mut order = by_place(&places);
        order.sort_by_key(|&s| self.strand(s as usize).len());
        let mut sorted = Self::default();
        for s in order {
            sorted.push(self.strand(s as usize));
        }
        sorted
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn points(max: usize) -> impl Strategy<Value = Vec<Vec3>> {
        let point = prop::array::uniform3(-1e3..1e3f64).prop_map(Vec3::from);
        prop::collection::vec(point, 0..max)
    }

    proptest! {
        #[test]
        fn the_bits_of_a_cell_go_three_apart(x in 0u64..1 << 21) {
            let slow = (0..21).fold(0, |s, k| s | ((x >> k) & 1) << (3 * k));
            prop_assert_eq!(spread(x), slow);
        }

        #[test]
        fn the_order_is_a_permutation_and_halves_come_one_after_the_other(points in points(50)) {
            let order = by_place(&points);
            let mut sorted = order.clone();
            sorted.sort_unstable();
            prop_assert_eq!(sorted, (0..points.len() as u32).collect::<Vec<_>>());
            // The curve fills the lower half in z, the highest bit, before the upper half.
            let low = points.iter().fold(Vec3::repeat(1e9), |a, b| a.inf(b));
            let high = points.iter().fold(Vec3::repeat(-1e9), |a, b| a.sup(b));
            let middle = low.z + 0.5 * (high - low).max();
            let upper: Vec<bool> = order.iter().map(|&i| points[i as usize].z >= middle).collect();
            prop_assert!(upper.is_sorted());
        }

        #[test]
        fn sorting_strands_keeps_them(points in points(60), cuts in prop::collection::vec(0usize..6, 0..12)) {
            let mut strands = Strands::default();
            let mut rest = &points[..];
            for cut in cuts {
                let (head, tail) = rest.split_at(cut.min(rest.len()));
                strands.push(head);
                rest = tail;
            }
            let sorted = strands.sorted();
            let list = |s: &Strands| {
                let mut all: Vec<String> = (0..s.len()).map(|i| format!("{:?}", s.strand(i))).collect();
                all.sort();
                all
            };
            prop_assert_eq!(list(&sorted), list(&strands));
            prop_assert!((1..sorted.len()).all(|i| sorted.strand(i - 1).len() <= sorted.strand(i).len()));
        }
    }
}
