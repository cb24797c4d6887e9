//! Exact predicates and intersection tests against integer arithmetic.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod collide_exact;

use collide_exact::distance::{edge_edge_squared, point_triangle_squared};
use collide_exact::{Int3, cross, dot, integers, sub};
use num_bigint::BigInt;
use num_traits::{Signed, Zero};
use stiction_geometry::SplitMix;
use stiction_geometry::collide::{orient2d, orient3d, segment_meets_triangle, triangles_intersect};
use stiction_math::Vec3;

fn sign(x: &BigInt) -> i32 {
    if x.is_zero() {
        0
    } else if x.is_positive() {
        1
    } else {
        -1
    }
}

/// Points on a lattice, in general position, or nearly coplanar with those before.
fn points<const N: usize>(random: &mut SplitMix, number: usize) -> [Vec3; N] {
    let unit = |r: &mut SplitMix| 2.0 * r.uniform() - 1.0;
    let mut x = [Vec3::zeros(); N];
    for i in 0..N {
        x[i] = match number % 4 {
            0 => Vec3::from_fn(|_, _| (random.next_u64() % 4) as f64),
            1 => Vec3::from_fn(|_, _| unit(random)),
            2 if i >= 3 => {
                let (s, t) = (unit(random), unit(random));
                x[0] + s * (x[1] - x[0]) + t * (x[2] - x[0])
            }
            2 => Vec3::from_fn(|_, _| unit(random)),
            _ => Vec3::from_fn(|k, _| {
                let c = (random.next_u64() % 5) as f64;
                if k == 2 { 0.0 } else { c }
            }),
        };
    }
    // A rotation by 45°, rounded, makes lattices nearly coplanar; the scale is arbitrary.
    let turn = random.next_u64() % 2 == 1;
    x.map(|p| {
        if turn {
            1e-3 * Vec3::new(p.x - 0.3 * p.y, p.x * 0.3 + p.y, p.z + 0.1 * p.x)
        } else {
            p
        }
    })
}

fn determinant(x: &[Int3]) -> BigInt {
    dot(
        &sub(&x[0], &x[3]),
        &cross(&sub(&x[1], &x[3]), &sub(&x[2], &x[3])),
    )
}

#[test]
fn orientations_have_the_exact_sign() {
    let mut random = SplitMix::new(11);
    let mut zeros = 0;
    for number in 0..40_000 {
        let x: [Vec3; 4] = points(&mut random, number);
        let expected = sign(&determinant(&integers(&x).0));
        assert_eq!(orient3d(&x[0], &x[1], &x[2], &x[3]), expected, "{x:?}");
        zeros += usize::from(expected == 0);
        let flat = x.map(|p| [p.x, p.y]);
        let (i, _) = integers(&x.map(|p| Vec3::new(p.x, p.y, 0.0)));
        let turn = &cross(&sub(&i[0], &i[2]), &sub(&i[1], &i[2]))[2];
        assert_eq!(orient2d(flat[0], flat[1], flat[2]), sign(turn), "{x:?}");
    }
    assert!(zeros > 1_000 && zeros < 30_000);
}

/// Intersection of the line of the segment with the plane, by solving for it.
fn meets(s: &[Int3], t: &[Int3]) -> bool {
    let n = cross(&sub(&t[1], &t[0]), &sub(&t[2], &t[0]));
    let (dp, dq) = (dot(&n, &sub(&s[0], &t[0])), dot(&n, &sub(&s[1], &t[0])));
    let zero = |p: &Int3, t: &[Int3]| {
        point_triangle_squared(&[p.clone(), t[0].clone(), t[1].clone(), t[2].clone()])
            .0
            .is_zero()
    };
    if dp == dq {
        let crossing = (0..3).any(|k| {
            let x = [&s[0], &s[1], &t[k], &t[(k + 1) % 3]].map(|p| p.clone());
            edge_edge_squared(&x).0.is_zero()
        });
        return zero(&s[0], t) || crossing;
    }
    if (&dp * &dq).is_positive() {
        return false;
    }
    let w = &dq - &dp;
    let x: Int3 = std::array::from_fn(|k| &s[0][k] * &dq - &s[1][k] * &dp);
    let scaled: Vec<Int3> = t
        .iter()
        .map(|p| std::array::from_fn(|k| &p[k] * &w))
        .collect();
    zero(&x, &scaled)
}

#[test]
fn segments_and_triangles_meet_exactly_when_integers_say_so() {
    let mut random = SplitMix::new(12);
    let mut hits = 0;
    for number in 0..20_000 {
        let x: [Vec3; 6] = points(&mut random, number);
        let (i, _) = integers(&x);
        let segment = [x[3], x[4]];
        let triangle = [x[0], x[1], x[2]];
        let expected = meets(&i[3..5], &i[..3]);
        assert_eq!(
            segment_meets_triangle(&segment, &triangle),
            expected,
            "{x:?}"
        );
        let other = [x[3], x[4], x[5]];
        let edge = |a: usize, b: usize| [i[a].clone(), i[b].clone()];
        let expected = [(3, 4), (4, 5), (5, 3)]
            .iter()
            .any(|(a, b)| meets(&edge(*a, *b), &i[..3]))
            || [(0, 1), (1, 2), (2, 0)]
                .iter()
                .any(|(a, b)| meets(&edge(*a, *b), &i[3..]));
        assert_eq!(triangles_intersect(&triangle, &other), expected, "{x:?}");
        assert_eq!(triangles_intersect(&other, &triangle), expected, "{x:?}");
        hits += usize::from(expected);
    }
    assert!(hits > 2_000 && hits < 18_000, "{hits}");
}
