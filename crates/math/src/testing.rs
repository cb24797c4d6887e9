//! Generators and comparisons shared by this crate's unit tests.
#![allow(clippy::unwrap_used)]

use crate::{BlockMatrix, BlockPattern, Mat3, Vec3};
use nalgebra::DMatrix;
use proptest::prelude::*;
use std::sync::Arc;

/// Up to twenty cliques of one to five nodes out of `n`, repeated nodes included.
pub fn cliques(n: u32) -> impl Strategy<Value = Vec<Vec<u32>>> {
    prop::collection::vec(prop::collection::vec(0..n, 1..5), 0..20)
}

/// Uniform numbers in [−½, ½) that depend on the seed alone.
pub fn random_numbers(seed: u64) -> impl FnMut() -> f64 {
    let mut state = seed;
    move || {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (((z ^ (z >> 31)) >> 11) as f64) / (1u64 << 53) as f64 - 0.5
    }
}

/// `n` random vectors.
pub fn random_vectors(n: usize, seed: u64) -> Vec<Vec3> {
    let mut random = random_numbers(seed);
    (0..n).map(|_| Vec3::from_fn(|_, _| random())).collect()
}

/// A random symmetric matrix on the pattern of the cliques.
pub fn random_symmetric(n: usize, cliques: &[Vec<u32>], seed: u64) -> BlockMatrix {
    let pattern = BlockPattern::from_cliques(n, cliques.iter().map(Vec::as_slice)).unwrap();
    let mut a = BlockMatrix::zeros(Arc::new(pattern));
    let mut random = random_numbers(seed);
    for i in 0..n {
        for j in a.pattern.row(i).to_vec() {
            let block = Mat3::from_fn(|_, _| random());
            a.add(i, j as usize, &block).unwrap();
            a.add(j as usize, i, &block.transpose()).unwrap();
        }
    }
    a
}

/// A random symmetric positive definite matrix, by a dominant diagonal.
pub fn random_spd(n: usize, cliques: &[Vec<u32>], seed: u64) -> BlockMatrix {
    let mut a = random_symmetric(n, cliques, seed);
    for i in 0..n {
        let dominant = 3.0 * a.pattern.row(i).len() as f64 + 1.0;
        a.add(i, i, &(Mat3::identity() * dominant)).unwrap();
    }
    a
}

/// The matrix with all its zeros.
pub fn to_dense(a: &BlockMatrix) -> DMatrix<f64> {
    let n = a.n();
    let mut dense = DMatrix::zeros(3 * n, 3 * n);
    for i in 0..n {
        for (k, &j) in a.pattern.row(i).iter().enumerate() {
            let block = &a.values[a.pattern.row_start()[i] + k];
            dense
                .fixed_view_mut::<3, 3>(3 * i, 3 * j as usize)
                .copy_from(block);
        }
    }
    dense
}

/// Runs `f` in pools of one, two and three threads and asserts that the results are equal.
pub fn in_pools<T: PartialEq + std::fmt::Debug + Send>(f: impl Fn() -> T + Sync) -> T {
    let run = |threads| {
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(threads)
            .build()
            .unwrap();
        pool.install(&f)
    };
    let one = run(1);
    for threads in [2, 3] {
        assert!(run(threads) == one, "{threads} threads differ from one");
    }
    one
}
