//! Sorting by 32-bit codes in linear time.
//!
//! Codes and indices are packed into one word each. Many words are first dealt into buckets by
//! their leading bits, so that the passes that follow stay in the cache: without that, the time per
//! word grows with their number.

use stiction_math::parallel;

/// Bits of a code.
pub(super) const BITS: u32 = 32;
/// Words per bucket, as a power of two: a bucket and its copy fit into the cache of one core.
const BUCKET: u32 = 12;
/// Largest number of bits dealt or sorted in one pass.
const DIGIT: u32 = 11;

/// The indices of the codes in ascending order of the codes, ties by index.
pub(super) fn order(codes: Vec<u32>) -> Vec<u32> {
    let word = |(i, code): (usize, &u32)| u64::from(*code) << BITS | i as u64;
    let words = codes.iter().enumerate().map(word);
    let size = usize::BITS - codes.len().leading_zeros();
    let leading = size.saturating_sub(BUCKET).min(DIGIT);
    // Dealing into a few buckets gains nothing.
    if leading < 3 {
        let mut words: Vec<u64> = words.collect();
        let mut other = vec![0; words.len()];
        sort(&mut words, &mut other, BITS);
        return words.iter().map(|w| *w as u32).collect();
    }
    let digit = |code: u32| (code >> (BITS - leading)) as usize;
    let mut counts = vec![0; 1 << leading];
    for code in &codes {
        counts[digit(*code)] += 1;
    }
    let mut next = starts(&counts);
    let mut dealt = vec![0; codes.len()];
    for w in words {
        let slot = &mut next[digit((w >> BITS) as u32)];
        dealt[*slot] = w;
        *slot += 1;
    }
    let mut result = codes;
    let mut buckets = Vec::with_capacity(counts.len());
    let (mut words, mut places) = (dealt.as_mut_slice(), result.as_mut_slice());
    for count in counts {
        let (own, rest) = words.split_at_mut(count);
        let (place, left) = places.split_at_mut(count);
        buckets.push((own, place));
        (words, places) = (rest, left);
    }
    parallel::chunks_mut(&mut buckets, 16, |_, buckets| {
        let mut other = Vec::new();
        for (own, place) in buckets {
            other.resize(own.len(), 0);
            sort(own, &mut other, BITS - leading);
            for (p, w) in place.iter_mut().zip(own.iter()) {
                *p = *w as u32;
            }
        }
    });
    result
}

/// Sorts by the lowest `bits` bits of the codes; equal ones keep their order.
fn sort(words: &mut [u64], other: &mut [u64], bits: u32) {
    if words.len() < 2 {
        return;
    }
    let passes = bits.div_ceil(DIGIT);
    let width = bits.div_ceil(passes);
    let (mut from, mut to) = (words, other);
    for pass in 0..passes {
        let digit = |w: u64| (w >> (BITS + pass * width)) as usize & ((1 << width) - 1);
        let mut counts = [0; 1 << DIGIT];
        for w in from.iter() {
            counts[digit(*w)] += 1;
        }
        let mut next = starts(&counts[..1 << width]);
        for w in from.iter() {
            let slot = &mut next[digit(*w)];
            to[*slot] = *w;
            *slot += 1;
        }
        std::mem::swap(&mut from, &mut to);
    }
    if passes % 2 == 1 {
        to.copy_from_slice(from);
    }
}

/// Exclusive prefix sums of the counts.
fn starts(counts: &[usize]) -> Vec<usize> {
    let add = |sum: &mut usize, count: &usize| Some(std::mem::replace(sum, *sum + count));
    counts.iter().scan(0, add).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::SplitMix;

    #[test]
    fn the_order_is_that_of_a_comparison_sort() {
        let mut random = SplitMix::new(1);
        for count in [0, 1, 2, 100, 4_000, 20_000, 70_000, 300_000] {
            // Spread evenly, crowded at one place, and many equal.
            for mask in [u32::MAX, 0x0001_ffff, 0x8000_0007] {
                let code = |_| (random.uniform() * 4294967296.0) as u32 & mask;
                let codes: Vec<u32> = (0..count).map(code).collect();
                let mut expected: Vec<u32> = (0..count as u32).collect();
                expected.sort_by_key(|i| codes[*i as usize]);
                assert_eq!(order(codes), expected);
            }
        }
    }
}
