//! Seeded pseudo-random numbers, the same on every machine.

/// The SplitMix64 generator [steele2014]: small, fast, and good enough to scatter points. Not
/// for cryptography.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SplitMix {
    state: u64,
}

impl SplitMix {
    /// A generator whose sequence depends on the seed alone; any seed is fine.
    pub fn new(seed: u64) -> Self {
        SplitMix { state: seed }
    }

    /// The next 64 random bits.
    pub fn next_u64(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number in [0, 1), uniformly.
    pub fn uniform(&mut self) -> f64 {
        (self.next_u64() >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
    }

    /// A point of the unit disc, uniformly.
    pub fn in_disc(&mut self) -> [f64; 2] {
        // Rejection instead of sine and cosine, whose last bits differ between machines.
        loop {
            let (x, y) = (2.0 * self.uniform() - 1.0, 2.0 * self.uniform() - 1.0);
            if x * x + y * y <= 1.0 {
                return [x, y];
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sequence_is_the_published_one() {
        let mut r = SplitMix::new(1_234_567);
        let expected = [
            6_457_827_717_110_365_317,
            3_203_168_211_198_807_973,
            9_817_491_932_198_370_423,
            4_593_380_528_125_082_431,
            16_408_922_859_458_223_821,
        ];
        for e in expected {
            assert_eq!(r.next_u64(), e);
        }
    }

    #[test]
    fn uniform_numbers_have_the_right_moments() {
        let mut r = SplitMix::new(7);
        let x: Vec<f64> = (0..100_000).map(|_| r.uniform()).collect();
        let mean = x.iter().sum::<f64>() / 1e5;
        let square = x.iter().map(|x| x * x).sum::<f64>() / 1e5;
        // Five standard deviations of the sample means.
        assert!((mean - 0.5).abs() < 5.0 * 0.289 / 316.0);
        assert!((square - 1.0 / 3.0).abs() < 5.0 * 0.298 / 316.0);
        assert!(x.iter().all(|x| (0.0..1.0).contains(x)));
    }
}
