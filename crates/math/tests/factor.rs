//! The sparse factor against dense algebra, for both storage schemes and all orderings.
#![allow(clippy::unwrap_used)]

use nalgebra::{DMatrix, DVector};
use proptest::prelude::*;
use std::sync::Arc;
use stiction_math::{
    BlockMatrix, BlockPattern, CgConfig, CgWorkspace, Factor, FactorError, Mat3, Ordering,
    Symbolic, Vec3, conjugate_gradients, nalgebra,
};

fn random(seed: &mut u64) -> f64 {
    *seed = seed
        .wrapping_mul(6364136223846793005)
        .wrapping_add(1442695040888963407);
    (*seed >> 11) as f64 / (1u64 << 53) as f64 - 0.5
}

/// Diagonally dominant on the pattern of the cliques.
fn spd(n: usize, cliques: &[Vec<u32>], mut seed: u64) -> BlockMatrix {
    let pattern = BlockPattern::from_cliques(n, cliques.iter().map(Vec::as_slice)).unwrap();
    let mut a = BlockMatrix::zeros(Arc::new(pattern));
    for i in 0..n {
        let row = a.pattern.row(i).to_vec();
        for &j in &row {
            let block = Mat3::from_fn(|_, _| random(&mut seed));
            a.add(i, j as usize, &block).unwrap();
            a.add(j as usize, i, &block.transpose()).unwrap();
        }
        a.add(i, i, &(Mat3::identity() * (3.0 * row.len() as f64 + 1.0)))
            .unwrap();
    }
    a
}

fn vectors(n: usize, mut seed: u64) -> Vec<Vec3> {
    (0..n)
        .map(|_| Vec3::from_fn(|_, _| random(&mut seed)))
        .collect()
}

fn dense(a: &BlockMatrix) -> DMatrix<f64> {
    DMatrix::from_fn(3 * a.n(), 3 * a.n(), |i, j| {
        let at = a.pattern.find(i / 3, j / 3);
        at.map_or(0.0, |at| a.values[at][(i % 3, j % 3)])
    })
}

/// n³ nodes, each clique a cell of eight.
fn grid(n: u32) -> (Vec<Vec3>, Vec<Vec<u32>>) {
    let node = |i, j, k| (i * n + j) * n + k;
    let mut x = Vec::new();
    let mut cells = Vec::new();
    for i in 0..n {
        for j in 0..n {
            for k in 0..n {
                x.push(Vec3::new(i.into(), j.into(), k.into()));
                if i + 1 < n && j + 1 < n && k + 1 < n {
                    let corner = |c: u32| node(i + (c & 1), j + (c >> 1 & 1), k + (c >> 2));
                    cells.push((0..8).map(corner).collect());
                }
            }
        }
    }
    (x, cells)
}

fn factor(a: &BlockMatrix, ordering: Ordering) -> Factor {
    Factor::new(Arc::new(Symbolic::analyse(&a.pattern, ordering).unwrap())).unwrap()
}

fn max_residual(a: &BlockMatrix, x: &[Vec3], b: &[Vec3]) -> f64 {
    let mut ax = vec![Vec3::zeros(); a.n()];
    a.apply(x, &mut ax);
    ax.iter()
        .zip(b)
        .map(|(p, q)| (p - q).amax())
        .fold(0.0, f64::max)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn solves_like_a_dense_cholesky(
        cliques in prop::collection::vec(prop::collection::vec(0u32..30, 1..6), 0..60),
        seed in any::<u64>(),
    ) {
        let mut a = spd(30, &cliques, seed);
        let x = vectors(30, seed);
        let b = vectors(30, seed ^ 7);
        let shift: Vec<f64> = (0..30).map(|i| 0.1 * i as f64).collect();
        for ordering in [Ordering::Amd, Ordering::NestedDissection(&x), Ordering::Auto(&x)] {
            let mut f = factor(&a, ordering);
            // Each refactor starts afresh: other values, then a shift, then none again.
            for shift in [None, Some(shift.as_slice()), None] {
                let mut expected = dense(&a);
                for i in 0..90 {
                    expected[(i, i)] += shift.map_or(0.0, |s| s[i / 3]);
                }
                let flat = DVector::from_iterator(90, b.iter().flat_map(|v| v.iter().copied()));
                let expected = expected.cholesky().unwrap().solve(&flat);
                f.refactor(&a, shift).unwrap();
                let mut y = b.clone();
                f.solve_in_place(&mut y);
                for i in 0..90 {
                    prop_assert!((y[i / 3][i % 3] - expected[i]).abs() < 1e-12);
                }
                for value in &mut a.values {
                    *value *= 1.25;
                }
            }
        }
    }
}

/// The chain is thin enough for the column-by-column scheme, the grid has dense panels.
#[test]
fn both_schemes_solve_and_name_the_bad_pivot() {
    let chain: Vec<Vec<u32>> = (1..200).map(|i| vec![i - 1, i]).collect();
    let line: Vec<Vec3> = (0..200).map(|i| Vec3::new(i.into(), 0.0, 0.0)).collect();
    let (cube, cells) = grid(9);
    for (x, cliques) in [(line, chain), (cube, cells)] {
        let n = x.len();
        let mut a = spd(n, &cliques, 5);
        for ordering in [Ordering::Amd, Ordering::NestedDissection(&x)] {
            let mut f = factor(&a, ordering);
            f.refactor(&a, None).unwrap();
            let b = vectors(n, 3);
            let mut y = b.clone();
            f.solve_in_place(&mut y);
            assert!(max_residual(&a, &y, &b) < 1e-13);
            assert!(f.nnz() >= 9 * (a.pattern.nnz() - n) / 2 + 6 * n);
            assert!(f.bytes() >= 8 * f.nnz());

            for bad in [0, 1, n / 2, n - 1] {
                let at = a.pattern.find(bad, bad).unwrap();
                let saved = a.values[at];
                // The node alone makes the matrix indefinite, whatever is eliminated before it.
                a.values[at] = -saved;
                let error = f.refactor(&a, None).unwrap_err();
                assert_eq!(error, FactorError::NotPositiveDefinite { block: bad });
                let mut y = b.clone();
                f.solve_in_place(&mut y);
                assert!(
                    y[0].x.is_nan(),
                    "a failed factor must not look like a solution"
                );
                a.values[at][(1, 1)] = f64::INFINITY;
                let error = f.refactor(&a, None).unwrap_err();
                assert_eq!(error, FactorError::NotFinite { block: bad });
                a.values[at] = saved;
            }
            f.refactor(&a, None).unwrap();
        }
    }
}

#[test]
fn dissection_is_a_permutation_and_beats_minimum_degree_on_a_cube() {
    let (x, cells) = grid(14);
    let a = spd(x.len(), &cells, 1);
    let amd = Symbolic::analyse(&a.pattern, Ordering::Amd).unwrap();
    let nd = Symbolic::analyse(&a.pattern, Ordering::NestedDissection(&x)).unwrap();
    let auto = Symbolic::analyse(&a.pattern, Ordering::Auto(&x)).unwrap();
    for symbolic in [&amd, &nd] {
        let mut order = symbolic.order().to_vec();
        order.sort_unstable();
        assert!(order.into_iter().eq(0..x.len()));
    }
    assert!(
        nd.flops() < 0.8 * amd.flops(),
        "{:e} {:e}",
        nd.flops(),
        amd.flops()
    );
    assert_eq!(auto.flops(), nd.flops());
}

/// Coinciding or non-finite positions and complete graphs leave nothing to cut.
#[test]
fn dissection_survives_bad_geometry() {
    let all: Vec<u32> = (0..150).collect();
    let chain: Vec<Vec<u32>> = (1..150).map(|i| vec![i - 1, i]).collect();
    let positions = [
        vec![Vec3::zeros(); 150],
        vec![Vec3::repeat(f64::NAN); 150],
        vectors(150, 8),
    ];
    for cliques in [vec![all], chain, Vec::new()] {
        let a = spd(150, &cliques, 2);
        for x in &positions {
            let mut f = factor(&a, Ordering::NestedDissection(x));
            f.refactor(&a, None).unwrap();
            let b = vectors(150, 1);
            let mut y = b.clone();
            f.solve_in_place(&mut y);
            assert!(max_residual(&a, &y, &b) < 1e-12);
        }
    }
}

#[test]
fn same_bits_for_any_thread_count() {
    let (x, cells) = grid(12);
    let a = spd(x.len(), &cells, 9);
    let b = vectors(x.len(), 10);
    let run = |threads| {
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(threads)
            .build()
            .unwrap();
        pool.install(|| {
            let mut f = factor(&a, Ordering::Auto(&x));
            f.refactor(&a, Some(&vec![0.5; x.len()])).unwrap();
            let mut y = b.clone();
            f.solve_in_place(&mut y);
            y
        })
    };
    let one = run(1);
    assert_eq!(one, run(2));
    assert_eq!(one, run(3));
}

/// An exact factor as preconditioner: one step, up to rounding two.
#[test]
fn factor_preconditions_conjugate_gradients() {
    let (x, cells) = grid(6);
    let a = spd(x.len(), &cells, 4);
    let mut f = factor(&a, Ordering::Amd);
    f.refactor(&a, None).unwrap();
    let b = vectors(x.len(), 2);
    let mut y = vec![Vec3::zeros(); x.len()];
    let config = CgConfig {
        relative: 1e-12,
        ..CgConfig::default()
    };
    let mut workspace = CgWorkspace::default();
    let report = conjugate_gradients(&a, &mut f, &b, &mut y, &config, &mut workspace).unwrap();
    assert!(report.iterations <= 2);
    assert!(max_residual(&a, &y, &b) < 1e-11);
}

#[test]
fn misfits_are_errors_and_empty_is_fine() {
    let a = spd(4, &[vec![0, 1]], 1);
    let short = vec![Vec3::zeros(); 3];
    let error = Symbolic::analyse(&a.pattern, Ordering::NestedDissection(&short)).unwrap_err();
    assert!(matches!(
        error,
        FactorError::SizeMismatch {
            found: 3,
            expected: 4,
            ..
        }
    ));
    let mut f = factor(&a, Ordering::Amd);
    let other = spd(4, &[], 1);
    assert!(matches!(
        f.refactor(&other, None),
        Err(FactorError::SizeMismatch { .. })
    ));
    let error = f.refactor(&a, Some(&[0.0])).unwrap_err();
    assert!(matches!(
        error,
        FactorError::SizeMismatch {
            found: 1,
            expected: 4,
            ..
        }
    ));
    let empty = spd(0, &[], 1);
    for ordering in [Ordering::Amd, Ordering::NestedDissection(&[])] {
        let mut f = factor(&empty, ordering);
        f.refactor(&empty, None).unwrap();
        f.solve_in_place(&mut []);
    }
}
