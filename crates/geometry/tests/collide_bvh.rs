//! The bounding volume hierarchy against brute force.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use proptest::prelude::*;
use stiction_geometry::Aabb;
use stiction_geometry::SplitMix;
use stiction_geometry::collide::bvh::{Aabb32, Bvh, BvhError};
use stiction_math::Vec3;

fn brute_self(boxes: &[Aabb32]) -> Vec<[u32; 2]> {
    let n = boxes.len() as u32;
    let all = (0..n).flat_map(|i| (i + 1..n).map(move |j| [i, j]));
    all.filter(|[i, j]| boxes[*i as usize].overlaps(&boxes[*j as usize]))
        .collect()
}

fn brute(a: &[Aabb32], b: &[Aabb32]) -> Vec<[u32; 2]> {
    let all = (0..a.len() as u32).flat_map(|i| (0..b.len() as u32).map(move |j| [i, j]));
    all.filter(|[i, j]| a[*i as usize].overlaps(&b[*j as usize]))
        .collect()
}

/// Boxes of very different sizes, points, plates and lattice boxes that touch exactly.
fn boxes(most: usize) -> impl Strategy<Value = Vec<Aabb32>> {
    let free = (
        [-1.0..1.0f32, -1.0..1.0, -1.0..1.0],
        [0.0..0.3f32, 0.0..0.3, 0.0..0.3],
    );
    let grid = ([-3..4i32, -3..4, -3..4], [0..2i32, 0..2, 0..2])
        .prop_map(|(c, r)| (c.map(|x| x as f32), r.map(|x| x as f32)));
    let flat = ([-1.0..1.0f32, -1.0..1.0], 0.0..0.2f32)
        .prop_map(|([x, y], r)| ([x, y, 0.25], [r, r, 0.0]));
    let one = prop_oneof![free, grid, flat].prop_map(|(c, r)| Aabb32 {
        min: std::array::from_fn(|k| c[k] - r[k]),
        max: std::array::from_fn(|k| c[k] + r[k]),
    });
    prop::collection::vec(one, 0..most)
}

fn all_kept(_: u32, _: u32) -> bool {
    true
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn pairs_equal_brute_force(a in boxes(300), b in boxes(100)) {
        let (tree_a, tree_b) = (Bvh::build(&a).unwrap(), Bvh::build(&b).unwrap());
        prop_assert_eq!(tree_a.self_pairs(all_kept), brute_self(&a));
        prop_assert_eq!(tree_a.pairs(&tree_b, all_kept), brute(&a, &b));
        for q in &b {
            let mut found = Vec::new();
            tree_a.overlapping(q, |i| found.push([i]));
            found.sort_unstable();
            let expected = (0..a.len() as u32).filter(|i| a[*i as usize].overlaps(q));
            prop_assert_eq!(found, expected.map(|i| [i]).collect::<Vec<_>>());
        }
    }

    #[test]
    fn a_refitted_tree_answers_like_a_new_one(a in boxes(300), seed in 0..u64::MAX) {
        let mut random = SplitMix::new(seed);
        let moved: Vec<Aabb32> = a.iter().map(|b| {
            let d = random.uniform() as f32;
            Aabb32 { min: b.min.map(|x| x + d), max: b.max.map(|x| x + d) }
        }).collect();
        let mut tree = Bvh::build(&a).unwrap();
        tree.refit(&moved).unwrap();
        prop_assert_eq!(tree.self_pairs(all_kept), brute_self(&moved));
        let odd = |i: u32, j: u32| (i + j) % 2 == 1;
        let mut expected = brute_self(&moved);
        expected.retain(|[i, j]| odd(*i, *j));
        prop_assert_eq!(tree.self_pairs(odd), expected);
    }
}

#[test]
fn none_one_and_many_equal_boxes() {
    let b = Aabb32 {
        min: [0.0; 3],
        max: [1.0; 3],
    };
    for n in [0, 1, 2, 7, 8, 9, 64, 65, 513] {
        let boxes = vec![b; n];
        let tree = Bvh::build(&boxes).unwrap();
        assert_eq!(tree.len(), n);
        assert_eq!(tree.self_pairs(all_kept), brute_self(&boxes));
    }
    let points = vec![
        Aabb32 {
            min: [2.0; 3],
            max: [2.0; 3]
        };
        50
    ];
    let tree = Bvh::build(&points).unwrap();
    assert_eq!(tree.self_pairs(all_kept).len(), 50 * 49 / 2);
}

#[test]
fn boxes_that_overlap_in_double_precision_overlap_after_rounding() {
    let mut random = SplitMix::new(5);
    for _ in 0..100_000 {
        // Boxes that share a face, exactly, anywhere.
        let mut x = || 1e3 * (random.uniform() - 0.5);
        let (a, shared, c) = (x(), x(), x());
        let left = Aabb {
            min: Vec3::new(a.min(shared), a, c),
            max: Vec3::new(shared, a, c),
        };
        let right = Aabb {
            min: Vec3::new(shared, a, c),
            max: Vec3::new(shared.max(c), a, c),
        };
        assert!(left.overlaps(&right));
        assert!(Aabb32::from(&left).overlaps(&Aabb32::from(&right)));
    }
}

/// Small boxes scattered over a square; the second set is the first after it was stirred.
fn stirred(n: usize) -> [Vec<Aabb32>; 2] {
    let mut random = SplitMix::new(9);
    let make = |x: f32, y: f32| Aabb32 {
        min: [x, y, 0.0],
        max: [x + 0.01, y + 0.01, 0.01],
    };
    let old: Vec<[f32; 2]> = (0..n)
        .map(|_| [random.uniform() as f32, random.uniform() as f32])
        .collect();
    let moved = old
        .iter()
        .map(|[x, y]| make(1.0 - y, (7.0 * x) % 1.0))
        .collect();
    [old.iter().map(|[x, y]| make(*x, *y)).collect(), moved]
}

#[test]
fn the_same_pairs_for_any_number_of_threads() {
    let [boxes, moved] = stirred(30_000);
    let run = |threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads);
        pool.build().unwrap().install(|| {
            let mut tree = Bvh::build(&boxes).unwrap();
            let first = tree.self_pairs(all_kept);
            tree.refit(&moved).unwrap();
            (first, tree.self_pairs(all_kept), tree.cost().to_bits())
        })
    };
    let one = run(1);
    assert!(one.0.len() > 100_000);
    assert_eq!(one, run(2));
    assert_eq!(one, run(5));
}

#[test]
fn degradation_indicates_when_to_rebuild() {
    let [boxes, moved] = stirred(5_000);
    let mut tree = Bvh::build(&boxes).unwrap();
    assert_eq!(tree.degradation(), 1.0);
    tree.refit(&moved).unwrap();
    assert!(tree.degradation() > 1.5, "{}", tree.degradation());
    tree.refit(&boxes).unwrap();
    assert_eq!(tree.degradation(), 1.0);
}

#[test]
fn bad_input_is_refused_by_name() {
    let [mut boxes, _] = stirred(20);
    let mut tree = Bvh::build(&boxes).unwrap();
    let before = tree.self_pairs(all_kept);
    let expected = BvhError::CountChanged {
        built: 20,
        given: 19,
    };
    assert_eq!(tree.refit(&boxes[..19]), Err(expected));
    boxes[7].max[1] = f32::NAN;
    assert_eq!(tree.refit(&boxes), Err(BvhError::NotANumber(7)));
    assert_eq!(Bvh::build(&boxes).unwrap_err(), BvhError::NotANumber(7));
    assert_eq!(tree.self_pairs(all_kept), before);
    boxes[7].max[1] = f32::INFINITY;
    assert_eq!(
        Bvh::build(&boxes).unwrap().self_pairs(all_kept),
        brute_self(&boxes)
    );
    // Boxes without any bounds, in groups with lanes that are not used.
    for b in &mut boxes[3..9] {
        (b.min, b.max) = ([f32::NEG_INFINITY; 3], [f32::INFINITY; 3]);
    }
    let tree = Bvh::build(&boxes).unwrap();
    assert_eq!(tree.self_pairs(all_kept), brute_self(&boxes));
    assert_eq!(tree.pairs(&tree, all_kept), brute(&boxes, &boxes));
    let mut found = Vec::new();
    tree.overlapping(&boxes[3], |i| found.push(i));
    assert_eq!(found.len(), boxes.len());
}
