//! Closest points against exact rational arithmetic, over random, lattice-aligned, degenerate,
//! coplanar, collinear, parallel and nearly touching input.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout
)]

mod collide_exact;

use collide_exact::distance as exact;
use proptest::prelude::*;
use stiction_geometry::collide::{
    EdgeFeature, TriangleFeature, edge_edge, edge_edge_normal, point_edge, point_edge_normal,
    point_triangle, point_triangle_normal,
};
use stiction_math::Vec3;

/// Largest error of a distance, in units of u times the largest distance between input points.
const UNITS: f64 = 8.0;

fn random() -> impl Strategy<Value = Vec3> {
    [-1.0..1.0, -1.0..1.0, -1.0..1.0f64].prop_map(Vec3::from)
}

fn lattice() -> impl Strategy<Value = Vec3> {
    [-2..3i32, -2..3, -2..3].prop_map(|p| Vec3::from(p.map(f64::from)))
}

/// Four points: in general position, on a lattice, or with the later ones near an affine
/// combination of the earlier ones (down to the last bit), at scales from 10⁻⁶ to 10⁶.
fn four_points() -> impl Strategy<Value = [Vec3; 4]> {
    let general = [random(), random(), random(), random()].boxed();
    let grid = [lattice(), lattice(), lattice(), lattice()].boxed();
    let needle = (
        [random(), random(), random()],
        -2.0..2.0f64,
        -18..0i32,
        0..4usize,
    )
        .prop_map(|([a, b, c], s, e, last)| {
            let near = a + s * (b - a) + 10f64.powi(e) * c;
            let mut x = [a, b, near, c];
            x.swap(2, last);
            x
        })
        .boxed();
    let touching = (
        [random(), random(), random(), random()],
        -0.5..1.5f64,
        -0.5..1.5f64,
        -18..0i32,
    )
        .prop_map(|([a, b, c, d], s, t, e)| {
            [a + s * (b - a) + t * (c - a) + 10f64.powi(e) * d, a, b, c]
        })
        .boxed();
    let parallel = (
        [random(), random(), random(), random()],
        -2.0..2.0f64,
        -18..0i32,
    )
        .prop_map(|([a, b, c, d], s, e)| [a, b, c, c + s * (b - a) + 10f64.powi(e) * d])
        .boxed();
    let all = prop_oneof![
        2 => general, 3 => grid, 3 => needle, 3 => touching, 3 => parallel
    ];
    // A power of two keeps lattices exact; the other factor does not.
    let scale = prop_oneof![Just(1.0), Just(1e-6), Just(1e6), Just(2f64.powi(-20))];
    (all, scale).prop_map(|(x, s)| x.map(|p| s * p))
}

fn size(x: &[Vec3]) -> f64 {
    let pairs = x.iter().flat_map(|a| x.iter().map(move |b| (a - b).norm()));
    pairs.fold(0.0, f64::max)
}

fn check_distance(found: f64, truth: f64, size: f64) -> Result<(), TestCaseError> {
    let allowed = UNITS * 0.5 * f64::EPSILON * size;
    prop_assert!(
        (found - truth).abs() <= allowed,
        "found {found:e}, exact {truth:e}, error {} units",
        (found - truth).abs() / (0.5 * f64::EPSILON * size)
    );
    Ok(())
}

fn check_weights(w: &[f64]) -> Result<(), TestCaseError> {
    prop_assert!(w.iter().all(|w| (0.0..=1.0).contains(w)), "{w:?}");
    prop_assert!((w.iter().sum::<f64>() - 1.0).abs() < 4.0 * f64::EPSILON);
    Ok(())
}

fn positive(w: &[f64]) -> usize {
    w.iter().filter(|w| **w > 0.0).count()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(20000))]

    #[test]
    fn point_triangle_distance_is_exact_to_rounding(x in four_points()) {
        let corners = [x[1], x[2], x[3]];
        let found = point_triangle(&x[0], &corners);
        let truth = exact::point_triangle(&x[0], &corners);
        check_distance(found.squared.sqrt(), truth, size(&x))?;
        check_weights(&found.weights)?;
        let w = &found.weights;
        let q = w[0] * x[1] + w[1] * x[2] + w[2] * x[3];
        let rounding = 1e-15 * x.iter().map(|p| p.norm()).fold(0.0, f64::max);
        prop_assert!((x[0] - q - found.separation).norm() <= 4.0 * rounding);
        let expected = match found.feature {
            TriangleFeature::Vertex(k) => { prop_assert_eq!(w[k as usize], 1.0); 1 }
            TriangleFeature::Edge(k) => { prop_assert_eq!(w[(k as usize + 2) % 3], 0.0); 2 }
            TriangleFeature::Face => 3,
        };
        prop_assert_eq!(positive(w), expected);
    }

    #[test]
    fn edge_edge_distance_is_exact_to_rounding(x in four_points()) {
        let (a, b) = ([x[0], x[1]], [x[2], x[3]]);
        let found = edge_edge(&a, &b);
        check_distance(found.squared.sqrt(), exact::edge_edge(&a, &b), size(&x))?;
        let [wa, wb] = found.weights;
        check_weights(&wa)?;
        check_weights(&wb)?;
        let between = wa[0] * a[0] + wa[1] * a[1] - wb[0] * b[0] - wb[1] * b[1];
        let rounding = 1e-15 * x.iter().map(|p| p.norm()).fold(0.0, f64::max);
        prop_assert!((between - found.separation).norm() <= 4.0 * rounding);
        for (feature, w) in [(found.feature.0, wa), (found.feature.1, wb)] {
            match feature {
                EdgeFeature::End(k) => prop_assert_eq!(w[k as usize], 1.0),
                EdgeFeature::Interior => prop_assert_eq!(positive(&w), 2),
            }
        }
    }

    #[test]
    fn point_edge_distance_is_exact_to_rounding(x in four_points()) {
        let ends = [x[1], x[2]];
        let found = point_edge(&x[0], &ends);
        check_distance(found.squared.sqrt(), exact::point_edge(&x[0], &ends), size(&x[..3]))?;
        check_weights(&found.weights)?;
    }

    #[test]
    fn normals_are_unit_vectors_across_the_active_features(x in four_points(), hint in random()) {
        let corners = [x[1], x[2], x[3]];
        let p = point_triangle(&x[0], &corners);
        let n = point_triangle_normal(&p.separation, &corners, &hint);
        prop_assert!((n.norm() - 1.0).abs() < 1e-14);
        prop_assert!(n.dot(&p.separation) >= -1e-9 * size(&x));
        let (a, b) = ([x[0], x[1]], [x[2], x[3]]);
        let e = edge_edge(&a, &b);
        let n = edge_edge_normal(&e.separation, &a, &b, &hint);
        prop_assert!((n.norm() - 1.0).abs() < 1e-14);
        let q = point_edge(&x[0], &b);
        let n = point_edge_normal(&q.separation, &b, &hint);
        prop_assert!((n.norm() - 1.0).abs() < 1e-14);
    }

    /// Two features that touch exactly: the normal is across both and on the hint's side.
    #[test]
    fn normals_of_touching_features_follow_the_hint(
        x in [random(), random(), random()],
        hint in random(),
        s in 0.1..0.4f64,
        t in 0.1..0.4f64,
    ) {
        let face = (x[1] - x[0]).cross(&(x[2] - x[0]));
        prop_assume!(face.norm() > 1e-3 && face.dot(&hint).abs() > 1e-3);
        let p = x[0] + s * (x[1] - x[0]) + t * (x[2] - x[0]);
        let c = point_triangle(&p, &x);
        let n = point_triangle_normal(&c.separation, &x, &hint);
        prop_assert!(n.dot(&hint) > 0.0 && n.cross(&face).norm() < 1e-9 * face.norm());
        let a = [p - (x[1] - x[0]), p + (x[1] - x[0])];
        let b = [p - (x[2] - x[0]), p + 2.0 * (x[2] - x[0])];
        let c = edge_edge(&a, &b);
        let n = edge_edge_normal(&c.separation, &a, &b, &hint);
        prop_assert!(n.dot(&hint) > 0.0 && n.cross(&face).norm() < 1e-9 * face.norm());
        // Collinear overlapping edges: across the line, as near to the hint as can be.
        let b = [p, p + 3.0 * (x[1] - x[0])];
        let c = edge_edge(&a, &b);
        let n = edge_edge_normal(&c.separation, &a, &b, &hint);
        prop_assert!(n.dot(&(x[1] - x[0])).abs() < 1e-6 && n.dot(&hint) > -1e-9);
    }
}
