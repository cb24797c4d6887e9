//! The incomplete factor with fill, on a matrix whose fill is known.
#![allow(clippy::unwrap_used)]

use std::sync::Arc;

use stiction_math::{BlockCholesky, BlockMatrix, BlockPattern, Mat3, Preconditioner, Vec3};

/// Eliminating one node of a ring of four joins its neighbours, and nothing else is filled: the factor with the first
/// level is exact, also with a bond that is a thousand times as stiff in one direction, and the one without is not.
#[test]
fn a_ring_of_four_has_fill_of_the_first_level_alone() {
    let edges: [[u32; 2]; 4] = [[0, 1], [1, 2], [2, 3], [0, 3]];
    let cliques = edges.iter().map(|e| &e[..]);
    let pattern = Arc::new(BlockPattern::from_cliques(4, cliques).unwrap());
    let mut a = BlockMatrix::zeros(pattern);
    let normal = Vec3::new(0.6, 0.0, 0.8);
    for (k, [i, j]) in edges.iter().map(|e| e.map(|e| e as usize)).enumerate() {
        let stiff = if k == 0 { 1e3 } else { 0.0 };
        let spring = Mat3::identity() + normal * normal.transpose() * stiff;
        a.add(i, i, &spring).unwrap();
        a.add(j, j, &spring).unwrap();
        a.add(i, j, &-spring).unwrap();
        a.add(j, i, &-spring).unwrap();
    }
    for i in 0..4 {
        a.add(i, i, &(Mat3::identity() * 0.5)).unwrap();
    }
    let x = [
        Vec3::new(1.0, -2.0, 0.5),
        Vec3::new(0.3, 0.7, -1.1),
        Vec3::new(-0.4, 1.9, 0.2),
        Vec3::new(2.2, -0.6, 0.9),
    ];
    let mut y = x;
    a.apply(&x, &mut y);
    let error = |factor: &mut BlockCholesky| {
        factor.update(&a);
        let mut z = x;
        factor.apply(&y, &mut z);
        let pairs = z.iter().zip(&x);
        pairs.map(|(z, x)| (z - x).norm()).fold(0.0, f64::max)
    };
    let (mut with, mut without) = (BlockCholesky::default(), BlockCholesky::default());
    with.prepare_filled(&a).unwrap();
    without.prepare(&a);
    // Pivots lose the digits of a thousand, and then those of the condition, 4e3, of sixteen.
    let filled = error(&mut with);
    assert!(filled < 1e-9, "{filled:e}");
    let plain = error(&mut without);
    assert!(plain > 1e-3, "{plain:e}");
    // Back to no fill on the same matrix.
    with.prepare(&a);
    assert_eq!(error(&mut with), plain);
}
