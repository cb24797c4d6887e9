#![allow(clippy::unwrap_used, clippy::panic)]

use std::sync::Arc;

use nalgebra::{DMatrix, DVector};
use proptest::prelude::*;

use super::*;
use crate::{
    Vec3,
    krylov::LinearOperator,
    testing::{random_numbers, random_vectors},
};

/// Sizes as in a groom: many matrices of few sizes.
fn sizes() -> impl Strategy<Value = Vec<BandSize>> {
    let kinds = prop::collection::vec((0usize..30, 0usize..12), 1..4);
    (kinds, prop::collection::vec(0usize..4, 0..30)).prop_map(|(kinds, which)| {
        let size = |w: &usize| {
            let (n, bandwidth) = kinds[w % kinds.len()];
            BandSize { n, bandwidth }
        };
        which.iter().map(size).collect()
    })
}

/// A map that scatters rows over a vector with gaps, or one that keeps them in order.
fn map_of(sizes: &[BandSize], seed: u64) -> (usize, Vec<Vec<usize>>) {
    let rows: usize = sizes.iter().map(|s| s.n).sum();
    let blocks = rows.div_ceil(3) + 4;
    let mut places: Vec<usize> = (0..3 * blocks).collect();
    if seed % 2 == 1 {
        let mut random = random_numbers(seed);
        for i in (1..places.len()).rev() {
            places.swap(i, ((random() + 0.5) * (i + 1) as f64) as usize);
        }
    }
    let mut places = places.into_iter();
    let map = sizes.iter().map(|s| places.by_ref().take(s.n).collect());
    (blocks, map.collect())
}

fn layout(sizes: &[BandSize], seed: u64, lanes: usize) -> Arc<BandedLayout> {
    let (blocks, map) = map_of(sizes, seed);
    Arc::new(BandedLayout::with_lanes(sizes, blocks, |m, i| map[m][i], lanes).unwrap())
}

/// Random matrices that are diagonally dominant, in any order of entries.
fn fill(layout: &Arc<BandedLayout>, seed: u64) -> BandedMatrices {
    let mut a = BandedMatrices::zeros(Arc::clone(layout));
    let mut random = random_numbers(seed);
    for m in 0..layout.matrices() {
        let BandSize { n, bandwidth } = layout.size(m);
        for i in 0..n {
            a.add(m, i, i, 1.0 + bandwidth as f64 + random()).unwrap();
            for j in i.saturating_sub(bandwidth)..i {
                // Either triangle addresses the same entry.
                let (i, j) = if random() > 0.0 { (i, j) } else { (j, i) };
                a.add(m, i, j, random()).unwrap();
            }
        }
    }
    a
}

/// All matrices as one dense matrix over the components of the vector.
fn dense(a: &BandedMatrices, map: &[Vec<usize>]) -> DMatrix<f64> {
    let mut full = DMatrix::identity(3 * a.layout.blocks(), 3 * a.layout.blocks());
    for (m, map) in map.iter().enumerate() {
        for (i, j) in (0..map.len()).flat_map(|i| (0..map.len()).map(move |j| (i, j))) {
            full[(map[i], map[j])] = a.get(m, i, j);
        }
    }
    full
}

fn flat(x: &[Vec3]) -> DVector<f64> {
    DVector::from_iterator(3 * x.len(), x.iter().flat_map(|v| [v.x, v.y, v.z]))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn equals_dense_cholesky(sizes in sizes(), seed in any::<u64>()) {
        let layout = layout(&sizes, seed, LANES);
        let (blocks, map) = map_of(&sizes, seed);
        let a = fill(&layout, seed);
        let full = dense(&a, &map);
        let x = random_vectors(blocks, seed ^ 1);

        let mut y = random_vectors(blocks, seed ^ 2);
        a.apply(&x, &mut y);
        prop_assert!((flat(&y) - &full * flat(&x)).amax() < 1e-13 * 30.0);

        let shift = |c: usize| 0.1 * (c % 7) as f64;
        let mut shifted = full.clone();
        for c in map.iter().flatten() {
            shifted[(*c, *c)] += shift(*c);
        }
        let expected = shifted.cholesky().unwrap().solve(&flat(&x));
        let mut factors = BandedFactors::new(Arc::clone(&layout));
        factors.refactor(&a, shift).unwrap();
        let mut solved = x.clone();
        factors.solve(&mut solved);
        prop_assert!((flat(&solved) - &expected).amax() < 1e-13);

        // In place, and with the shift added first: the same bits.
        let mut other = a.clone();
        other.shift(shift);
        let mut again = x.clone();
        other.clone().into_factors(|_| 0.0).unwrap().solve(&mut again);
        prop_assert_eq!(&again, &solved);

        for block in 0..blocks {
            let expected = full.fixed_view::<3, 3>(3 * block, 3 * block);
            // Components of two matrices in one block are not coupled.
            prop_assert_eq!(a.diagonal(block), expected.into_owned());
        }

        let fixed = |c: usize| c.is_multiple_of(5);
        let mut cut = full;
        for c in (0..3 * blocks).filter(|&c| fixed(c)) {
            cut.row_mut(c).fill(0.0);
            cut.column_mut(c).fill(0.0);
            cut[(c, c)] = 1.0;
        }
        let mut eliminated = a.clone();
        eliminated.eliminate(fixed);
        prop_assert_eq!(dense(&eliminated, &map), cut);
    }

    /// The bits of a matrix depend neither on its group nor on the split of the vector.
    #[test]
    fn gives_the_same_bits_alone_and_beside_others(sizes in sizes(), seed in any::<u64>()) {
        let mut results = Vec::new();
        for lanes in [1, LANES] {
            for threads in [1, 3] {
                let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
                results.push(pool.install(|| {
                    let layout = layout(&sizes, seed, lanes);
                    let a = fill(&layout, seed);
                    let x = random_vectors(layout.blocks(), seed);
                    let mut y = x.clone();
                    a.apply(&x, &mut y);
                    let mut z = x;
                    let mut factors = BandedFactors::new(Arc::clone(&layout));
                    factors.refactor(&a, |_| 0.5).unwrap();
                    factors.solve(&mut z);
                    (y, z)
                }));
            }
        }
        for other in &results[1..] {
            prop_assert_eq!(other, &results[0]);
        }
    }

    /// Split and unsplit vectors give the same bits.
    #[test]
    fn gives_the_same_bits_through_any_map(seed in any::<u64>()) {
        let sizes = [BandSize { n: 9, bandwidth: 4 }; 19];
        let mut results = Vec::new();
        for map in [seed & !1, seed | 1] {
            let layout = layout(&sizes, map, LANES);
            let (blocks, map) = map_of(&sizes, map);
            prop_assert_eq!(layout.cuts.is_some(), results.is_empty());
            let a = fill(&layout, seed);
            let rows = random_vectors(57, seed);
            let mut x = vec![Vec3::zeros(); blocks];
            for (row, &c) in map.iter().flatten().enumerate() {
                x[c / 3][c % 3] = rows[row / 3][row % 3];
            }
            let mut y = x.clone();
            a.apply(&x, &mut y);
            let mut factors = a.into_factors(|_| 0.0).unwrap();
            factors.solve(&mut x);
            let take = |x: &[Vec3]| -> Vec<f64> {
                map.iter().flatten().map(|&c| x[c / 3][c % 3]).collect()
            };
            results.push((take(&x), take(&y)));
        }
        prop_assert_eq!(&results[0], &results[1]);
    }

    #[test]
    fn names_the_first_matrix_and_row_that_is_not_positive_definite(
        sizes in sizes(), seed in any::<u64>(), at in any::<usize>(), count in 1usize..4,
        pivot in prop::sample::select(vec![-1.0, 0.0, f64::NAN, f64::INFINITY]),
    ) {
        let layout = layout(&sizes, seed, LANES);
        let mut a = BandedMatrices::zeros(Arc::clone(&layout));
        for (m, size) in sizes.iter().enumerate() {
            for i in 0..size.n {
                a.add(m, i, i, 2.0).unwrap();
            }
        }
        let rows: Vec<(usize, usize)> = (0..sizes.len())
            .flat_map(|m| (0..sizes[m].n).map(move |i| (m, i)))
            .collect();
        prop_assume!(!rows.is_empty());
        let mut bad: Vec<_> = (0..count).map(|k| rows[(at % rows.len() + 17 * k) % rows.len()]).collect();
        bad.sort_unstable();
        bad.dedup();
        for &(m, i) in &bad {
            a.add(m, i, i, pivot - 2.0).unwrap();
        }
        let error = a.into_factors(|_| 0.0).unwrap_err();
        let BandedError::NotPositiveDefinite { matrix, row, .. } = error else {
            panic!("{error}");
        };
        prop_assert_eq!((matrix, row), bad[0]);
    }
}

#[test]
fn refuses_entries_outside_the_band_and_maps_that_do_not_fit() {
    let size = BandSize { n: 5, bandwidth: 2 };
    let sizes = [size; 4];
    let layout = Arc::new(BandedLayout::new(&sizes, 7, |m, i| 5 * m + i).unwrap());
    let mut a = BandedMatrices::zeros(Arc::clone(&layout));
    for (matrix, row, column) in [(0, 0, 3), (1, 4, 1), (0, 5, 5), (4, 0, 0)] {
        let error = BandedError::OutsideBand {
            matrix,
            row,
            column,
        };
        assert_eq!(a.add(matrix, row, column, 1.0), Err(error));
    }
    a.for_each_group(|mut group| {
        // Padding lanes belong to no matrix.
        assert_eq!(group.matrices(), [0, 1, 2, 3]);
        assert!(group.add(4, 0, 0, 1.0).is_err());
        assert!(group.add(3, 4, 2, 1.0).is_ok());
    });
    assert_eq!(a.get(3, 2, 4), 1.0);
    assert_eq!(
        BandedLayout::new(&sizes, 6, |m, i| 5 * m + i),
        Err(BandedError::OutsideVector {
            matrix: 3,
            row: 3,
            component: 18,
            len: 18
        })
    );
    assert_eq!(
        BandedLayout::new(&sizes, 9, |_, i| i),
        Err(BandedError::Shared {
            matrix: 1,
            row: 0,
            component: 0
        })
    );
    let other = BandedLayout::new(&[size], 9, |_, i| i).unwrap();
    let mut factors = BandedFactors::new(Arc::new(other));
    assert_eq!(factors.refactor(&a, |_| 0.0), Err(BandedError::Layout));
}

#[test]
fn stores_each_number_once_and_fills_up_at_most_one_group() {
    let sizes = [BandSize {
        n: 123,
        bandwidth: 10,
    }; 20];
    let layout = Arc::new(BandedLayout::new(&sizes, 20 * 41, |m, i| 123 * m + i).unwrap());
    let a = BandedMatrices::zeros(Arc::clone(&layout));
    assert_eq!(a.bytes(), 24 * 123 * 11 * 8);
    let alone = BandedLayout::new(&sizes[..1], 41, |_, i| i).unwrap();
    assert_eq!(BandedMatrices::zeros(Arc::new(alone)).bytes(), 123 * 11 * 8);
}
