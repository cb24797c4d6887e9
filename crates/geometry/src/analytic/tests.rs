#![allow(clippy::unwrap_used, clippy::panic)]

use stiction_math::{Quat, Vec3};

use super::{MovingSolid, Pose, Shape, ShapeFault};
use crate::SplitMix;

fn shapes() -> Vec<Shape> {
    vec![
        Shape::Plane {
            normal: Vec3::new(0.6, 0.0, 0.8),
            offset: 0.1,
        },
        Shape::Box {
            half: Vec3::new(0.5, 0.3, 0.7),
        },
        Shape::Sphere { radius: 0.6 },
        Shape::Capsule {
            radius: 0.3,
            half: 0.5,
        },
        Shape::Cylinder {
            radius: 0.4,
            half: 0.6,
        },
        Shape::Cylinder {
            radius: 0.7,
            half: 0.2,
        },
        Shape::Cone {
            radius: 0.5,
            height: 0.9,
        },
        Shape::Cone {
            radius: 0.9,
            height: 0.2,
        },
        Shape::Torus {
            major: 0.6,
            minor: 0.2,
        },
    ]
}

/// Membership straight from the definition of each solid.
fn contains(shape: &Shape, x: &Vec3) -> bool {
    let r2 = x.x * x.x + x.y * x.y;
    match *shape {
        Shape::Plane { normal, offset } => normal.dot(x) <= offset,
        Shape::Box { half } => (0..3).all(|k| x[k].abs() <= half[k]),
        Shape::Sphere { radius } => x.norm_squared() <= radius * radius,
        Shape::Capsule { radius, half } => {
            let z = (x.z.abs() - half).max(0.0);
            r2 + z * z <= radius * radius
        }
        Shape::Cylinder { radius, half } => r2 <= radius * radius && x.z.abs() <= half,
        Shape::Cone { radius, height } => {
            let at = radius * (1.0 - x.z / height);
            x.z >= 0.0 && x.z <= height && r2 <= at * at
        }
        Shape::Torus { major, minor } => {
            let q = r2 + x.z * x.z + major * major - minor * minor;
            q * q <= 4.0 * major * major * r2
        }
    }
}

/// A point deep inside that a surface point sees through the solid.
fn inner(shape: &Shape, x: &Vec3) -> Vec3 {
    match *shape {
        Shape::Plane { normal, .. } => x - normal,
        Shape::Cone { height, .. } => Vec3::new(0.0, 0.0, 0.25 * height),
        Shape::Torus { major, .. } => Vec3::new(x.x, x.y, 0.0).normalize() * major,
        _ => Vec3::zeros(),
    }
}

/// The distance to the nearest point of another membership along many rays, refined by bisection:
/// an upper bound on the distance to the surface that shares no formula with it.
fn brute(shape: &Shape, x: &Vec3, reach: f64, guess: &Vec3, random: &mut SplitMix) -> f64 {
    let inside = contains(shape, x);
    let ray = |d: &Vec3, reach: f64| -> f64 {
        let mut low = 0.0;
        for i in 1..=64 {
            let s = reach * f64::from(i) / 64.0;
            if contains(shape, &(x + d * s)) != inside {
                let mut high = s;
                for _ in 0..50 {
                    let m = 0.5 * (low + high);
                    if contains(shape, &(x + d * m)) == inside {
                        low = m;
                    } else {
                        high = m;
                    }
                }
                return high;
            }
            low = s;
        }
        f64::INFINITY
    };
    let mut best = (f64::INFINITY, *guess);
    let try_one = |d: Vec3, best: &mut (f64, Vec3)| {
        let d = d.normalize();
        let s = ray(&d, reach);
        if s < best.0 {
            *best = (s, d);
        }
    };
    try_one(*guess, &mut best);
    for _ in 0..600 {
        try_one(direction(random), &mut best);
    }
    let mut spread = 0.3;
    for _ in 0..12 {
        for _ in 0..25 {
            let d = best.1 + direction(random) * spread;
            try_one(d, &mut best);
        }
        spread *= 0.5;
    }
    best.0
}

fn direction(random: &mut SplitMix) -> Vec3 {
    loop {
        let mut c = || 2.0 * random.uniform() - 1.0;
        let v = Vec3::new(c(), c(), c());
        if v.norm() > 0.1 && v.norm() < 1.0 {
            return v.normalize();
        }
    }
}

fn points(random: &mut SplitMix) -> Vec<Vec3> {
    let mut c = || 2.4 * random.uniform() - 1.2;
    let mut all: Vec<Vec3> = (0..60).map(|_| Vec3::new(c(), c(), c())).collect();
    // Axes, centres, edges and rims, where closest points are not unique.
    for z in [-0.7, -0.2, 0.0, 0.1, 0.45, 0.9, 1.3] {
        for r in [0.0, 0.3, 0.5, 0.6, 0.9] {
            all.push(Vec3::new(r, 0.0, z));
            all.push(Vec3::new(0.0, -r, z));
        }
    }
    all
}

#[test]
fn the_signed_distance_is_that_of_membership_along_rays() {
    let mut random = SplitMix::new(1);
    for shape in shapes() {
        for x in points(&mut random) {
            let near = shape.nearest(&x);
            assert!((near.normal.norm() - 1.0).abs() < 1e-14, "{shape:?} {x:?}");
            if near.distance.abs() > 1e-9 {
                assert_eq!(near.distance < 0.0, contains(&shape, &x), "{shape:?} {x:?}");
            }
            assert!((x - near.point).norm() <= near.distance.abs() + 1e-14);
            let to_inside = (inner(&shape, &near.point) - near.point) * 1e-7;
            assert!(
                contains(&shape, &(near.point + to_inside)),
                "{shape:?} {x:?}"
            );
            assert!(
                !contains(&shape, &(near.point - to_inside)),
                "{shape:?} {x:?}"
            );
            let guess = -near.normal * near.distance.signum();
            let d = near.distance.abs();
            let true_distance = brute(&shape, &x, 3.0, &guess, &mut random);
            assert!(
                true_distance > d - 1e-9 && true_distance < d + 0.1,
                "{shape:?} at {x:?}: {d} but {true_distance}"
            );
        }
    }
}

#[test]
fn no_two_points_differ_by_more_than_their_distance() {
    let mut random = SplitMix::new(2);
    for shape in shapes() {
        let all = points(&mut random);
        for (i, x) in all.iter().enumerate() {
            for y in &all[i + 1..] {
                let change = (shape.nearest(x).distance - shape.nearest(y).distance).abs();
                assert!(change <= (x - y).norm() + 1e-14, "{shape:?} {x:?} {y:?}");
            }
        }
    }
}

#[test]
fn the_deepest_point_of_an_edge_is_found() {
    let mut random = SplitMix::new(3);
    for shape in shapes() {
        for _ in 0..100 {
            let mut c = || 2.4 * random.uniform() - 1.2;
            let ends = [Vec3::new(c(), c(), c()), Vec3::new(c(), c(), c())];
            let found = shape.edge_minimum(&ends);
            let at = |s: f64| shape.nearest(&(ends[0] + (ends[1] - ends[0]) * s)).distance;
            let dense = (0..=2000).map(|i| at(f64::from(i) / 2000.0));
            let least = dense.fold(f64::INFINITY, f64::min);
            let value = found.nearest.distance;
            assert!((at(found.at) - value).abs() < 1e-14);
            assert!(value <= least + 1e-6, "{shape:?}: {value} above {least}");
        }
    }
}

/// By halving where the slope changes its sign; edges that lie along faces and edges of the shape included.
#[test]
fn the_deepest_point_of_an_edge_is_that_of_bisection() {
    let mut random = SplitMix::new(8);
    for shape in shapes().into_iter().filter(Shape::is_convex) {
        for case in 0..200 {
            let mut c = || 2.4 * random.uniform() - 1.2;
            let mut ends = [Vec3::new(c(), c(), c()), Vec3::new(c(), c(), c())];
            // Level, and upright.
            match case % 4 {
                1 => ends[1].z = ends[0].z,
                2 => (ends[1].x, ends[1].y) = (ends[0].x, ends[0].y),
                _ => {}
            }
            let e = ends[1] - ends[0];
            let near = |at: f64| shape.nearest(&(ends[0] + e * at));
            let (mut low, mut high) = (0.0, 1.0);
            for _ in 0..50 {
                let middle = 0.5 * (low + high);
                match near(middle).normal.dot(&e) < 0.0 {
                    true => low = middle,
                    false => high = middle,
                }
            }
            let least = near(low).distance.min(near(high).distance);
            let value = shape.edge_minimum(&ends).nearest.distance;
            let allowed = e.norm() * 0.5f64.powi(40) + 1e-14;
            assert!(
                (value - least).abs() <= allowed,
                "{shape:?} {ends:?}: {value:e}, {least:e}"
            );
        }
    }
}

#[test]
fn no_impact_is_missed_by_points_and_edges_of_moving_shapes() {
    let mut random = SplitMix::new(4);
    let (mut hits, mut early) = (0, 0.0);
    for shape in shapes() {
        for case in 0..150 {
            let mut c = |s: f64| s * (2.0 * random.uniform() - 1.0);
            let mut v = |s: f64| Vec3::new(c(s), c(s), c(s));
            let pose = |r: Vec3, t: Vec3| Pose {
                rotation: Quat::from_scaled_axis(r),
                translation: t,
            };
            let turn = if case % 3 == 0 { 0.0 } else { 1.0 };
            let moving = MovingSolid::new(shape, pose(v(turn), v(0.5)), pose(v(turn), v(0.5)));
            let a = [v(2.0), v(1.0)];
            let b = [v(2.0), v(1.0)];
            let d = 0.05;
            let at = |x: &[Vec3; 2], t: f64| x[0] + (x[1] - x[0]) * t;
            let point = |t: f64| {
                let x = moving.pose(t).invert(&at(&a, t));
                shape.nearest(&x).distance
            };
            let edge = |t: f64| {
                let pose = moving.pose(t);
                let ends = [pose.invert(&at(&a, t)), pose.invert(&at(&b, t))];
                let along = |s: u32| ends[0] + (ends[1] - ends[0]) * (f64::from(s) / 40.0);
                (0..=40).fold(f64::INFINITY, |m, s| {
                    m.min(shape.nearest(&along(s)).distance)
                })
            };
            let mut check = |f: &dyn Fn(f64) -> f64, answer: Option<f64>| {
                let times = (0..=400).map(|i| f64::from(i) / 400.0);
                let first = times.clone().find(|t| f(*t) < d);
                match (first, answer) {
                    (Some(t), Some(a)) => {
                        assert!(a <= t, "{shape:?} case {case}: {a} after {t}");
                        hits += 1;
                        early += t - a;
                    }
                    (Some(t), None) => panic!("{shape:?} case {case}: missed at {t}"),
                    (None, Some(a)) => {
                        // Early answers must at least be near misses.
                        assert!(f(a) < d + 0.1, "{shape:?} case {case}: {}", f(a));
                    }
                    (None, None) => {}
                }
            };
            check(&point, moving.point_impact(&a, d));
            check(&edge, moving.edge_impact(&a, &b, d));
        }
    }
    assert!(hits > 500, "only {hits} impacts tested");
    assert!(
        early / f64::from(hits) < 0.02,
        "mean {}",
        early / f64::from(hits)
    );
}

#[test]
fn balls_at_the_points_touch_the_surface_from_inside() {
    for shape in shapes() {
        for (centre, radius) in shape.points() {
            let d = shape.nearest(&centre).distance;
            assert!((d + radius).abs() < 1e-15, "{shape:?} {centre:?}");
        }
        let down = Vec3::new(0.3, -0.2, -1.0);
        for rim in shape.rims(&down).into_iter().flatten() {
            assert!(shape.nearest(&rim).distance.abs() < 1e-15);
            let others = shape.points().into_iter().filter(|(p, _)| p.z == rim.z);
            let ahead = others.map(|(p, _)| p.dot(&down) - rim.dot(&down));
            let most = ahead.fold(f64::NEG_INFINITY, f64::max);
            assert!(most <= 0.0 && -most <= shape.rim_excess(&down) + 1e-15);
        }
    }
}

#[test]
fn numbers_that_make_no_solid_are_refused() {
    for shape in shapes() {
        shape.check().unwrap();
    }
    let spindle = Shape::Torus {
        major: 0.1,
        minor: 0.2,
    };
    assert!(matches!(spindle.check(), Err(ShapeFault::Spindle { .. })));
    let flat = Shape::Box {
        half: Vec3::new(1.0, 0.0, 1.0),
    };
    assert!(matches!(flat.check(), Err(ShapeFault::Length { .. })));
    let long = Shape::Plane {
        normal: Vec3::new(0.0, 0.0, 2.0),
        offset: 0.0,
    };
    assert_eq!(long.check(), Err(ShapeFault::Normal(2.0)));
}

#[test]
fn a_turn_about_its_own_axis_does_not_change_when_a_shape_is_met() {
    let axis = Vec3::new(0.3, -0.5, 0.8).normalize();
    for shape in shapes() {
        let up = Quat::rotation_between(&Vec3::z(), &axis).unwrap();
        let start = Pose {
            rotation: up,
            translation: Vec3::zeros(),
        };
        let end = Pose {
            rotation: Quat::from_scaled_axis(axis * 0.02) * up,
            translation: Vec3::new(0.01, 0.0, 0.0),
        };
        let moving = MovingSolid::new(shape, start, end);
        let round = !matches!(shape, Shape::Plane { .. } | Shape::Box { .. });
        let Some(still) = moving.without_spin() else {
            assert!(!round, "{shape:?}");
            continue;
        };
        assert!(round && still.angle() == 0.0);
        let x = Vec3::new(0.2, 0.1, -0.3);
        for t in [0.0, 0.4, 1.0] {
            let [a, b] = [&moving, &still].map(|m| shape.nearest(&m.pose(t).invert(&x)).distance);
            assert!((a - b).abs() < 1e-14, "{shape:?}: {a} {b}");
        }
        // About another axis it is not the same.
        let tilted = Pose {
            rotation: Quat::from_scaled_axis(Vec3::x() * 0.02) * up,
            ..end
        };
        let other = MovingSolid::new(shape, start, tilted).without_spin();
        assert_eq!(other.is_some(), matches!(shape, Shape::Sphere { .. }));
    }
}

/// A face four hundred times as wide as its distance from a round side is not taken for one that touches.
#[test]
fn wide_faces_keep_their_distance_from_lying_cylinders_and_cones() {
    let pose = Pose {
        rotation: Quat::identity(),
        translation: Vec3::zeros(),
    };
    let still = |shape: Shape| MovingSolid::new(shape, pose, pose);
    let (radius, gap) = (0.05, 1e-3);
    let cylinder = Shape::Cylinder { radius, half: 0.1 };
    // The face lies along the side at z and at an angle about the axis.
    for angle in [0.0, 0.4, 2.0] {
        let turn = Quat::from_axis_angle(&Vec3::z_axis(), angle);
        let on = |s: f64, z: f64| [turn * Vec3::new(radius + gap, s, z); 2];
        for corners in [
            [(-0.4, -0.05), (0.4, -0.05), (0.4, 0.05)],
            [(-0.4, 0.02), (0.1, 0.2), (0.4, -0.3)],
        ] {
            let face = corners.map(|(s, z)| on(s, z));
            let impact = still(cylinder).face_impact(&face, 0.9 * gap);
            assert!(impact.is_none(), "{angle} {corners:?}: {impact:?}");
            assert_eq!(still(cylinder).face_impact(&face, 1.1 * gap), Some(0.0));
        }
    }
    let (radius, height) = (0.05, 0.08);
    let slant = Vec3::new(height, 0.0, radius).normalize();
    let along = Vec3::new(-radius, 0.0, height).normalize();
    let middle = Vec3::new(0.5 * radius, 0.0, 0.5 * height) + slant * gap;
    let on = |s: f64, t: f64| [middle + Vec3::y() * s + along * t; 2];
    let face = [on(-0.4, -0.03), on(0.3, -0.02), on(0.4, 0.03)];
    let cone = Shape::Cone { radius, height };
    assert_eq!(still(cone).face_impact(&face, 0.9 * gap), None);
    assert_eq!(still(cone).face_impact(&face, 1.1 * gap), Some(0.0));
}
