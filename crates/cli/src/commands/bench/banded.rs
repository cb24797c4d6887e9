//! `stiction bench banded`: the factors of many rods, eight interleaved against one by one, in one
//! run: few rods stay in the cache and show the gain in arithmetic, many show the limit of memory.

use std::sync::Arc;

use serde::Serialize;
use stiction_geometry::SplitMix;
use stiction_math::{
    BandSize, BandedError, BandedFactors, BandedLayout, BandedMatrices, LinearOperator, Vec3,
};

use super::{Failure, clock::Clock, projection::triad};

/// A rod of 31 vertices: 31 positions and 30 twists.
const SIZE: BandSize = BandSize {
    n: 123,
    bandwidth: 10,
};
/// Blocks of such a rod: three twists in one.
const BLOCKS: usize = 41;
const ROUNDS: usize = 7;

/// One operation on all matrices. Times in seconds, the least of the repetitions.
#[derive(Debug, Serialize)]
pub struct Row {
    operation: &'static str,
    matrices: usize,
    threads: usize,
    interleaved: f64,
    one_by_one: f64,
    /// one_by_one / interleaved.
    ratio: f64,
    /// Memory that must be moved per second, over that of a triad: 1 is all that the machine can do.
    bandwidth: f64,
}

/// Measures on the threads of the pool it runs in.
pub fn run(matrices: usize, threads: usize) -> Result<Vec<Row>, Failure> {
    let mut eight = Case::new(matrices, true).map_err(Failure::run)?;
    let mut one = Case::new(matrices, false).map_err(Failure::run)?;
    let (mut a, mut b) = ([f64::INFINITY; 3], [f64::INFINITY; 3]);
    for _ in 0..ROUNDS {
        eight.lap(&mut a).map_err(Failure::run)?;
        one.lap(&mut b).map_err(Failure::run)?;
    }
    let triad = triad(threads);
    // Factors are written, and a vector of 3 × 8 bytes and a map of 3 × 4 per block goes with them.
    let values = eight.matrices.bytes() as f64;
    let vectors = (2 * 24 + 12) as f64 * eight.x.len() as f64;
    let rows = [
        ("factor", 2.0 * values),
        ("solve", values + vectors),
        ("apply", values + vectors),
    ];
    Ok(rows
        .into_iter()
        .enumerate()
        .map(|(k, (operation, bytes))| Row {
            operation,
            matrices,
            threads,
            interleaved: a[k],
            one_by_one: b[k],
            ratio: b[k] / a[k],
            bandwidth: 1e-9 * bytes / a[k] / triad,
        })
        .collect())
}

/// As a table of text.
pub fn print(rows: &[Row]) {
    println!(
        "banded LDLᵀ of rods with 123 rows and half-bandwidth 10: eight interleaved, one by one"
    );
    println!(
        "{:<8} {:>8} {:>7} {:>12} {:>12} {:>7} {:>7}",
        "", "rods", "threads", "interleaved", "one by one", "ratio", "triad"
    );
    for r in rows {
        println!(
            "{:<8} {:>8} {:>7} {:>9.1} ms {:>9.1} ms {:>7.2} {:>7.2}",
            r.operation,
            r.matrices,
            r.threads,
            r.interleaved * 1e3,
            r.one_by_one * 1e3,
            r.ratio,
            r.bandwidth
        );
    }
}

struct Case {
    matrices: BandedMatrices,
    factors: BandedFactors,
    x: Vec<Vec3>,
    y: Vec<Vec3>,
}

impl Case {
    fn new(count: usize, interleaved: bool) -> Result<Self, BandedError> {
        let sizes = vec![SIZE; count];
        // Rows are x₀ θ₀ x₁ θ₁ …; a rod's blocks are its positions, then its twists.
        let map = |m: usize, i: usize| {
            let local = match i % 4 {
                3 => 3 * 31 + i / 4,
                c => 3 * (i / 4) + c,
            };
            3 * BLOCKS * m + local
        };
        let layout = Arc::new(match interleaved {
            true => BandedLayout::new(&sizes, BLOCKS * count, map)?,
            false => BandedLayout::one_by_one(&sizes, BLOCKS * count, map)?,
        });
        let mut matrices = BandedMatrices::zeros(Arc::clone(&layout));
        let mut random = SplitMix::new(5);
        for m in 0..count {
            for i in 0..SIZE.n {
                matrices.add(m, i, i, 11.0)?;
                for j in i.saturating_sub(SIZE.bandwidth)..i {
                    matrices.add(m, i, j, random.uniform() - 0.5)?;
                }
            }
        }
        Ok(Self {
            matrices,
            factors: BandedFactors::new(layout),
            x: (0..BLOCKS * count)
                .map(|_| Vec3::from_fn(|_, _| random.uniform()))
                .collect(),
            y: vec![Vec3::zeros(); BLOCKS * count],
        })
    }

    /// The least times of factorising, solving and multiplying.
    fn lap(&mut self, least: &mut [f64; 3]) -> Result<(), BandedError> {
        let mut clock = Clock::start();
        let mut lap = |k: usize| {
            least[k] = least[k].min(clock.seconds());
            clock = Clock::start();
        };
        self.factors.refactor(&self.matrices, |_| 0.5)?;
        lap(0);
        self.factors.solve(&mut self.x);
        lap(1);
        self.matrices.apply(&self.x, &mut self.y);
        lap(2);
        Ok(())
    }
}
