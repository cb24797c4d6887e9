//! The incomplete LU factor: complete where the matrix is small, bounded and useful where it is not.
#![allow(clippy::unwrap_used)]

use std::sync::Arc;

use stiction_math::{
    BlockMatrix, BlockPattern, CgConfig, GmresWorkspace, Identity, IncompleteLu, Lu, LuSymbolic,
    Mat3, Preconditioner, Vec3, gmres,
};

/// Springs between neighbours of a grid of w × w nodes on a weak foundation. On every fifth one acts friction that
/// follows its normal force, which is a hundred times as stiff: an unsymmetric block.
fn dragged(w: usize) -> BlockMatrix {
    let at = |i: usize, j: usize| i * w + j;
    let mut edges = Vec::new();
    for (i, j) in (0..w).flat_map(|i| (0..w).map(move |j| (i, j))) {
        edges.extend((i + 1 < w).then(|| [at(i, j), at(i + 1, j)]));
        edges.extend((j + 1 < w).then(|| [at(i, j), at(i, j + 1)]));
    }
    let cliques: Vec<[u32; 2]> = edges.iter().map(|e| e.map(|e| e as u32)).collect();
    let cliques = cliques.iter().map(|e| &e[..]);
    let pattern = Arc::new(BlockPattern::from_cliques(w * w, cliques).unwrap());
    let mut a = BlockMatrix::zeros(pattern);
    let k = Mat3::from_diagonal(&Vec3::new(100.0, 10.0, 1.0));
    let (n, d) = (Vec3::z(), Vec3::x());
    let drag = (n - d * 0.5) * n.transpose() * 1e4;
    for (e, &[i, j]) in edges.iter().enumerate() {
        for (row, col, sign) in [(i, i, 1.0), (j, j, 1.0), (i, j, -1.0), (j, i, -1.0)] {
            a.add(row, col, &(k * sign)).unwrap();
            if e % 5 == 0 {
                a.add(row, col, &(drag * sign)).unwrap();
            }
        }
    }
    for i in 0..w * w {
        a.add(i, i, &Mat3::identity()).unwrap();
    }
    a
}

/// Numbers without a pattern.
fn loads(n: usize) -> Vec<Vec3> {
    let number = |i: usize| ((i * 7919 + 13) % 1009) as f64 / 1009.0 - 0.5;
    (0..n)
        .map(|i| Vec3::new(number(3 * i), number(3 * i + 1), number(3 * i + 2)))
        .collect()
}

fn iterations(a: &BlockMatrix, preconditioner: &mut dyn Preconditioner) -> usize {
    let mut x = vec![Vec3::zeros(); a.n()];
    let config = CgConfig {
        relative: 1e-8,
        absolute: 0.0,
        max_iterations: 2000,
    };
    let work = &mut GmresWorkspace::default();
    let solved = gmres(a, preconditioner, &loads(a.n()), &mut x, 50, &config, work);
    solved.map_or_else(|e| e.reached().0, |report| report.iterations)
}

/// A matrix that fits keeps all of its fill: only what is 1e-7 of the diagonal is dropped, so that one application
/// solves to about that times the spread of its stiffnesses, 1e4, and a second iteration to its square.
#[test]
fn a_small_matrix_is_factorised() {
    let a = dragged(12);
    let mut factor = IncompleteLu::default();
    assert!(factor.update(&a));
    let b = loads(a.n());
    let mut x = b.clone();
    factor.apply(&b, &mut x);
    let mut exact = b;
    let symbolic = LuSymbolic::analyse(&a.pattern).unwrap();
    let mut lu = Lu::new(Arc::new(symbolic)).unwrap();
    lu.refactor(&a).unwrap();
    lu.solve_in_place(&mut exact);
    let error = x
        .iter()
        .zip(&exact)
        .map(|(x, e)| (x - e).norm())
        .fold(0.0, f64::max);
    let size = exact.iter().map(|e| e.norm()).fold(0.0, f64::max);
    assert!(error < 1e-2 * size, "{error:e} of {size:e}");
    let iterations = iterations(&a, &mut factor);
    assert!(iterations <= 4, "{iterations}");
}

#[test]
fn a_large_matrix_has_a_factor_of_bounded_size_that_serves() {
    let a = dragged(70);
    let mut factor = IncompleteLu::default();
    assert!(factor.update(&a));
    // 1.5 times the blocks of A with their columns, and of every row a pivot and two ends.
    let entries = (1.5 * a.pattern.nnz() as f64).max(16_384.0) as usize;
    let most = entries * (size_of::<Mat3>() + 4) + a.n() * (size_of::<Mat3>() + 16) + 16;
    assert!(factor.bytes() <= most, "{} of {most}", factor.bytes());
    // Stiffnesses are 1e4 apart, of which the factor leaves those of the grid alone, 1e2: a tenth by the root.
    let without = iterations(&a, &mut Identity);
    let with = iterations(&a, &mut factor);
    assert!(10 * with <= without, "{with} of {without}");
}

#[test]
fn a_singular_pivot_is_reported() {
    let mut a = dragged(2);
    a.set_zero();
    assert!(!IncompleteLu::default().update(&a));
}
