//! Multifrontal LU against dense elimination, and its fallback to unrestricted pivoting.
#![allow(clippy::unwrap_used)]

use nalgebra::{DMatrix, DVector};
use proptest::prelude::*;
use std::sync::Arc;
use stiction_math::{
    BlockMatrix, BlockPattern, FactorError, Lu, LuSymbolic, Mat3, Ordering, Symbolic, Vec3,
    nalgebra,
};

fn random(seed: &mut u64) -> f64 {
    *seed = seed
        .wrapping_mul(6364136223846793005)
        .wrapping_add(1442695040888963407);
    (*seed >> 11) as f64 / (1u64 << 53) as f64 - 0.5
}

/// Random values on the pattern of the cliques, with `dominance` on the diagonal.
fn general(n: usize, cliques: &[Vec<u32>], dominance: f64, mut seed: u64) -> BlockMatrix {
    let pattern = BlockPattern::from_cliques(n, cliques.iter().map(Vec::as_slice)).unwrap();
    let mut a = BlockMatrix::zeros(Arc::new(pattern));
    for value in &mut a.values {
        *value = Mat3::from_fn(|_, _| random(&mut seed));
    }
    for i in 0..n {
        a.add(i, i, &(Mat3::identity() * dominance)).unwrap();
    }
    a
}

/// Sheet of n × n nodes, each clique a cell of four.
fn sheet(n: u32) -> Vec<Vec<u32>> {
    let node = |i: u32, j: u32| i * n + j;
    let cells = (0..n - 1).flat_map(|i| (0..n - 1).map(move |j| (i, j)));
    let corners = |(i, j)| {
        vec![
            node(i, j),
            node(i + 1, j),
            node(i, j + 1),
            node(i + 1, j + 1),
        ]
    };
    cells.map(corners).collect()
}

fn dense(a: &BlockMatrix) -> DMatrix<f64> {
    DMatrix::from_fn(3 * a.n(), 3 * a.n(), |i, j| {
        let at = a.pattern.find(i / 3, j / 3);
        at.map_or(0.0, |at| a.values[at][(i % 3, j % 3)])
    })
}

fn right_hand_side(n: usize, mut seed: u64) -> Vec<Vec3> {
    (0..n)
        .map(|_| Vec3::from_fn(|_, _| random(&mut seed)))
        .collect()
}

/// The largest difference to dense elimination, relative to the largest entry.
fn error(lu: &mut Lu, a: &BlockMatrix, seed: u64) -> f64 {
    let b = right_hand_side(a.n(), seed);
    let flat = DVector::from_iterator(3 * a.n(), b.iter().flat_map(|v| v.iter().copied()));
    let expected = dense(a).full_piv_lu().solve(&flat).unwrap();
    let mut x = b;
    lu.solve_in_place(&mut x);
    let difference = (0..3 * a.n()).map(|i| (x[i / 3][i % 3] - expected[i]).abs());
    difference.fold(0.0, f64::max) / expected.amax()
}

proptest! {
    #[test]
    fn agrees_with_dense_elimination(
        sets in prop::collection::vec(prop::collection::vec(0u32..20, 1..7), 1..25),
        seed in any::<u64>(),
        // From far from dominant to dominant.
        dominance in 0.0..20.0f64,
    ) {
        let a = general(20, &sets, dominance, seed);
        let condition = {
            let singular = dense(&a).singular_values();
            singular.max() / singular.min()
        };
        prop_assume!(condition < 1e8);
        let mut lu = Lu::new(Arc::new(LuSymbolic::analyse(&a.pattern).unwrap())).unwrap();
        lu.refactor(&a).unwrap();
        prop_assert!(error(&mut lu, &a, seed ^ 1) < 1e-13 * condition.max(10.0));
    }
}

#[test]
fn fronts_suffice_for_sheets_and_hold_twice_the_fill_of_cholesky() {
    let n = 12;
    let cells = sheet(n);
    let mut a = general((n * n) as usize, &cells, 3.0, 7);
    let symbolic = Arc::new(LuSymbolic::analyse(&a.pattern).unwrap());
    let cholesky = Symbolic::analyse(&a.pattern, Ordering::Amd).unwrap();
    assert!(
        symbolic.nnz() < 3 * cholesky.nnz(),
        "{} {}",
        symbolic.nnz(),
        cholesky.nnz()
    );
    let mut lu = Lu::new(symbolic).unwrap();
    // Factored again and again with other values, as Newton's method does.
    for seed in 0..3 {
        lu.refactor(&a).unwrap();
        assert!(!lu.is_pivoting());
        assert!(error(&mut lu, &a, seed) < 1e-11);
        for value in &mut a.values {
            *value *= 1.5;
            value[(0, 1)] -= 0.2;
        }
    }
}

#[test]
fn rows_are_exchanged_freely_where_a_front_has_no_pivot() {
    // A saddle: blocks without any diagonal of their own, tied to neighbours.
    let n = 10;
    let ties: Vec<Vec<u32>> = (0..n).map(|i| vec![i, i + n]).collect();
    let chain = (1..n).map(|i| vec![i - 1, i]);
    let cliques: Vec<Vec<u32>> = ties.into_iter().chain(chain).collect();
    let mut a = general(2 * n as usize, &cliques, 4.0, 3);
    for i in n..2 * n {
        let at = a.pattern.find(i as usize, i as usize).unwrap();
        a.values[at] = Mat3::zeros();
    }
    let mut lu = Lu::new(Arc::new(LuSymbolic::analyse(&a.pattern).unwrap())).unwrap();
    lu.refactor(&a).unwrap();
    assert!(error(&mut lu, &a, 5) < 1e-11);
    // Two nodes whose own blocks are tiny and whose ties are large: a front of one of them loses
    // all digits, and the residual tells.
    let pair = [vec![0, 1], vec![1, 2]];
    let mut a = general(3, &pair, 0.0, 9);
    for i in 0..3 {
        let at = a.pattern.find(i, i).unwrap();
        a.values[at] *= 1e-12;
    }
    let mut lu = Lu::new(Arc::new(LuSymbolic::analyse(&a.pattern).unwrap())).unwrap();
    lu.refactor(&a).unwrap();
    let condition = {
        let singular = dense(&a).singular_values();
        singular.max() / singular.min()
    };
    assert!(error(&mut lu, &a, 5) < 1e-13 * condition, "{condition:e}");
}

#[test]
fn matrices_that_cannot_be_factored_are_refused() {
    let mut a = general(4, &[vec![0, 1, 2, 3]], 3.0, 1);
    let mut lu = Lu::new(Arc::new(LuSymbolic::analyse(&a.pattern).unwrap())).unwrap();
    let mut x = right_hand_side(4, 1);
    lu.solve_in_place(&mut x);
    assert!(x.iter().all(|x| x.iter().all(|x| x.is_nan())));
    let at = a.pattern.find(2, 0).unwrap();
    a.values[at][(1, 1)] = f64::INFINITY;
    assert_eq!(lu.refactor(&a), Err(FactorError::NotFinite { block: 2 }));
    let empty = Arc::new(BlockPattern::from_cliques(0, []).unwrap());
    let mut none = Lu::new(Arc::new(LuSymbolic::analyse(&empty).unwrap())).unwrap();
    none.refactor(&BlockMatrix::zeros(empty)).unwrap();
    none.solve_in_place(&mut []);
}
