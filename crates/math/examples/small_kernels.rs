//! Times the 3×3 kernels against nalgebra's general ones, in one run.
#![allow(clippy::print_stdout)]

use std::hint::black_box;
use std::time::Instant;
use stiction_math::{Mat3, polar3, svd3};

fn nanoseconds<T>(matrices: &[Mat3], f: impl Fn(&Mat3) -> T) -> f64 {
    let mut best = f64::INFINITY;
    for _ in 0..5 {
        let start = Instant::now();
        for m in matrices {
            black_box(f(black_box(m)));
        }
        best = best.min(start.elapsed().as_secs_f64() / matrices.len() as f64);
    }
    best * 1e9
}

fn main() {
    let mut seed = 1u64;
    let mut random = || {
        seed = seed
            .wrapping_mul(6364136223846793005)
            .wrapping_add(1442695040888963407);
        (seed >> 11) as f64 / (1u64 << 53) as f64 - 0.5
    };
    let matrices: Vec<Mat3> = (0..20_000)
        .map(|_| Mat3::from_fn(|_, _| random()))
        .collect();
    let near_rest: Vec<Mat3> = matrices
        .iter()
        .map(|m| Mat3::identity() + m * 0.05)
        .collect();
    for (name, m) in [("random", &matrices), ("near the identity", &near_rest)] {
        println!(
            "{name}: svd3 {:.0} ns, polar3 {:.0} ns, nalgebra svd {:.0} ns",
            nanoseconds(m, svd3),
            nanoseconds(m, polar3),
            nanoseconds(m, |m| m.svd(true, true)),
        );
    }
}
