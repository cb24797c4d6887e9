/// Streaming XXH64 with seed 0: a fast 64-bit checksum against accidental damage, not forgery.
///
/// The algorithm is public (Yann Collet, xxHash fast digest algorithm, XXH64): four lanes of
/// multiply-and-rotate over blocks of 32 bytes, then the tail, then an avalanche.
#[derive(Clone, Debug)]
pub struct Xxh64 {
    lanes: [u64; 4],
    block: [u8; 32],
    filled: usize,
    total: u64,
}

const P1: u64 = 0x9E37_79B1_85EB_CA87;
const P2: u64 = 0xC2B2_AE3D_27D4_EB4F;
const P3: u64 = 0x1656_67B1_9E37_79F9;
const P4: u64 = 0x85EB_CA77_C2B2_AE63;
const P5: u64 = 0x27D4_EB2F_1656_67C5;

fn round(lane: u64, word: u64) -> u64 {
    lane.wrapping_add(word.wrapping_mul(P2))
        .rotate_left(31)
        .wrapping_mul(P1)
}

impl Xxh64 {
    /// Checksum of the empty text.
    pub fn new() -> Self {
        Self {
            lanes: [P1.wrapping_add(P2), P2, 0, P1.wrapping_neg()],
            block: [0; 32],
            filled: 0,
            total: 0,
        }
    }

    /// Checksum of `bytes`.
    pub fn of(bytes: &[u8]) -> u64 {
        let mut hash = Self::new();
        hash.update(bytes);
        hash.finish()
    }

    /// Appends `bytes` to the checked text.
    pub fn update(&mut self, mut bytes: &[u8]) {
        self.total = self.total.wrapping_add(bytes.len() as u64);
        if self.filled > 0 {
            let take = bytes.len().min(32 - self.filled);
            self.block[self.filled..self.filled + take].copy_from_slice(&bytes[..take]);
            self.filled += take;
            bytes = &bytes[take..];
            if self.filled < 32 {
                return;
            }
            let block = self.block;
            self.mix(&block);
            self.filled = 0;
        }
        let (blocks, rest) = bytes.as_chunks::<32>();
        for block in blocks {
            self.mix(block);
        }
        self.block[..rest.len()].copy_from_slice(rest);
        self.filled = rest.len();
    }

    /// Checksum of everything so far.
    pub fn finish(&self) -> u64 {
        let mut hash = if self.total >= 32 {
            let [a, b, c, d] = self.lanes;
            let sum = a
                .rotate_left(1)
                .wrapping_add(b.rotate_left(7))
                .wrapping_add(c.rotate_left(12))
                .wrapping_add(d.rotate_left(18));
            self.lanes.iter().fold(sum, |hash, &lane| {
                (hash ^ round(0, lane)).wrapping_mul(P1).wrapping_add(P4)
            })
        } else {
            P5
        };
        hash = hash.wrapping_add(self.total);
        let (words, rest) = self.block[..self.filled].as_chunks::<8>();
        for word in words {
            hash = (hash ^ round(0, u64::from_le_bytes(*word)))
                .rotate_left(27)
                .wrapping_mul(P1)
                .wrapping_add(P4);
        }
        let (halves, rest) = rest.as_chunks::<4>();
        for half in halves {
            hash = (hash ^ u64::from(u32::from_le_bytes(*half)).wrapping_mul(P1))
                .rotate_left(23)
                .wrapping_mul(P2)
                .wrapping_add(P3);
        }
        for &byte in rest {
            hash = (hash ^ u64::from(byte).wrapping_mul(P5))
                .rotate_left(11)
                .wrapping_mul(P1);
        }
        hash = (hash ^ (hash >> 33)).wrapping_mul(P2);
        hash = (hash ^ (hash >> 29)).wrapping_mul(P3);
        hash ^ (hash >> 32)
    }

    fn mix(&mut self, block: &[u8; 32]) {
        let (words, _) = block.as_chunks::<8>();
        for (lane, word) in self.lanes.iter_mut().zip(words) {
            *lane = round(*lane, u64::from_le_bytes(*word));
        }
    }
}

impl Default for Xxh64 {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Computed with the reference implementation, xxHash 0.8 (XXH64, seed 0).
    #[test]
    fn agrees_with_the_reference_implementation() {
        let bytes: Vec<u8> = (0..300u32).map(|i| ((i * 7 + 3) % 251) as u8).collect();
        let expected = [
            (0, 0xef46db3751d8e999),
            (1, 0x1f25c8d0bc1f4bb6),
            (3, 0x31d2363f52e564c9),
            (4, 0x9bb64b7d66ee9fda),
            (5, 0xc7608efddb7051fe),
            (8, 0xdab99d95c6f90092),
            (12, 0xd52e407833af5133),
            (31, 0xa2aa5f33cc4a6119),
            (32, 0x23c3c17ef790fd97),
            (33, 0x50a7cfc7ba588784),
            (63, 0xf1438f15b9ed16e9),
            (64, 0x2cd990a1beed6894),
            (100, 0x778e26df8290f456),
            (299, 0x70520c5749fcd736),
        ];
        for (length, hash) in expected {
            assert_eq!(Xxh64::of(&bytes[..length]), hash, "{length} bytes");
        }
    }

    #[test]
    fn pieces_hash_like_the_whole() {
        let bytes: Vec<u8> = (0..300u32).map(|i| (i * i) as u8).collect();
        for first in 0..bytes.len() {
            let mut hash = Xxh64::new();
            hash.update(&bytes[..first]);
            hash.update(&bytes[first..]);
            assert_eq!(hash.finish(), Xxh64::of(&bytes));
        }
    }
}
