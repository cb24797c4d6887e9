#![allow(clippy::unwrap_used, clippy::panic)]

use std::sync::{Arc, OnceLock};

use stiction_math::{Quat, Vec3};

use super::{LevelSet, LevelSetError};
use crate::analytic::{MovingSolid, Pose, Shape, Solid};
use crate::shapes::{BallSurface, BoxSurface, TorusSurface};
use crate::{SplitMix, TriMesh};

fn random(r: &mut SplitMix, size: f64) -> Vec3 {
    Vec3::from_fn(|_, _| size * (2.0 * r.uniform() - 1.0))
}

/// Meshes, their formulas, and how far the mesh may be from the formula [m].
fn solids() -> Vec<(TriMesh, Shape, f64)> {
    let ball = BallSurface {
        radius: 0.5,
        frequency: 14,
    };
    let cuboid = BoxSurface {
        size: [0.8, 0.5, 0.6],
        cells: [1; 3],
    };
    let torus = TorusSurface {
        major: 0.5,
        minor: 0.2,
        around: 80,
        across: 40,
    };
    vec![
        (ball.build().unwrap(), Shape::Sphere { radius: 0.5 }, 4e-3),
        (
            cuboid.build().unwrap(),
            Shape::Box {
                half: Vec3::new(0.4, 0.25, 0.3),
            },
            1e-12,
        ),
        (
            torus.build().unwrap(),
            Shape::Torus {
                major: 0.5,
                minor: 0.2,
            },
            3e-3,
        ),
    ]
}

/// The solids with cells of 0.04 m and a band of 0.1 m, made once for all tests.
fn sampled() -> &'static [(TriMesh, Shape, f64, Arc<LevelSet>)] {
    static SETS: OnceLock<Vec<(TriMesh, Shape, f64, Arc<LevelSet>)>> = OnceLock::new();
    SETS.get_or_init(|| {
        let sample = |(mesh, shape, off): (TriMesh, Shape, f64)| {
            let set = LevelSet::new(&mesh, 0.04, 0.1).unwrap();
            (mesh, shape, off, Arc::new(set))
        };
        solids().into_iter().map(sample).collect()
    })
}

/// The signed distance of a mesh, one triangle after the other.
fn brute_force(mesh: &TriMesh, x: &Vec3) -> f64 {
    let one = |t| {
        let c = mesh.corners(t);
        let w = crate::closest_point_on_triangle(x, &c);
        (c[0] * w[0] + c[1] * w[1] + c[2] * w[2] - x).norm()
    };
    let length = (0..mesh.triangles.len()).map(one).fold(f64::MAX, f64::min);
    if crate::InsideTest::new(mesh).unwrap().contains(x) {
        -length
    } else {
        length
    }
}

#[test]
fn values_keep_the_stated_bound_and_are_far_better_on_smooth_surfaces() {
    let mut r = SplitMix::new(1);
    for (_, shape, off, set) in sampled() {
        let (mut worst, mut count): (f64, _) = (0.0, 0);
        while count < 3000 {
            let x = random(&mut r, 0.8);
            let exact = shape.nearest(&x).distance;
            if exact.abs() > set.band() {
                continue;
            }
            count += 1;
            let wrong = (set.nearest(&x).distance - exact).abs();
            worst = worst.max(wrong);
            assert!(wrong <= set.error() + off, "{shape:?} at {x}: {wrong}");
        }
        // ⅜ κ cell² with the largest curvature within the band, 1/(0.2 − 0.1) on the torus and
        // 1/(0.5 − 0.1) on the ball.
        match shape {
            Shape::Sphere { .. } => assert!(worst < 0.375 * 1.6e-3 / 0.4 * 2.0 + off, "{worst}"),
            Shape::Torus { .. } => assert!(worst < 0.375 * 1.6e-3 / 0.1 * 2.0 + off, "{worst}"),
            _ => {}
        }
    }
}

#[test]
fn flat_parts_are_exact_and_samples_are_those_of_brute_force() {
    let mesh = BoxSurface {
        size: [0.8, 0.5, 0.6],
        cells: [1; 3],
    }
    .build()
    .unwrap();
    let set = LevelSet::new(&mesh, 0.02, 0.05).unwrap();
    for i in 0..100 {
        let z = 0.26 + 0.0008 * f64::from(i);
        let near = set.nearest(&Vec3::new(0.006 * f64::from(i) - 0.3, 0.07, z));
        assert!(
            (near.distance - (z - 0.3)).abs() < 1e-8,
            "{}",
            near.distance
        );
        assert!((near.normal - Vec3::z()).norm() < 1e-6);
    }
    let mut r = SplitMix::new(4);
    for _ in 0..200 {
        // A corner of a cell: nothing is interpolated there.
        let cells = random(&mut r, 0.4).map(|c| (c / 0.02).round());
        let x = set.origin + Vec3::repeat(25.0 * 0.02) + cells * 0.02;
        let exact = brute_force(&mesh, &x);
        if exact.abs() < set.band() {
            assert!((set.nearest(&x).distance - exact).abs() < 1e-7, "{x}");
        }
    }
}

#[test]
fn the_normal_is_the_gradient_of_the_value() {
    let mut r = SplitMix::new(2);
    for (_, _, _, set) in sampled() {
        let (h, mut compared) = (1e-7, 0);
        for _ in 0..2000 {
            let x = random(&mut r, 0.8);
            let near = set.nearest(&x);
            // Within one cell the field is smooth; across faces the gradient jumps.
            let u = ((x - set.origin) / set.cell).map(|c| (c - c.floor() - 0.5).abs());
            if near.distance.abs() > set.band() || u.max() > 0.49 {
                continue;
            }
            let f = |d: Vec3| set.nearest(&(x + d)).distance;
            let gradient = Vec3::from_fn(|k, _| {
                let mut d = Vec3::zeros();
                d[k] = h;
                (f(d) - f(-d)) / (2.0 * h)
            });
            assert!(gradient.norm() <= set.slope() + 1e-6);
            if gradient.norm() > 0.1 {
                let turned = (gradient.normalize() - near.normal).norm();
                assert!(turned < 1e-4, "{turned}");
                compared += 1;
            }
        }
        assert!(compared > 100);
    }
}

#[test]
fn no_two_points_differ_by_more_than_the_slope_and_clearance_bounds_both() {
    let mut r = SplitMix::new(3);
    for (_, _, _, set) in sampled() {
        assert!(set.slope() <= 3_f64.sqrt() + 1e-6);
        for _ in 0..20_000 {
            let x = random(&mut r, 1.2);
            let step = random(&mut r, 0.3);
            let bound = set.clearance(&x) - set.slope() * step.norm();
            let there = set.nearest(&(x + step)).distance;
            if bound > 0.0 {
                let least = bound.min(set.band() - set.error()) - 1e-9;
                assert!(there >= least, "{x} {step}: {there} {least}");
            }
        }
    }
}

#[test]
fn the_least_value_of_an_edge_is_that_of_dense_samples() {
    let mut r = SplitMix::new(5);
    for (_, _, _, set) in sampled() {
        let mut near = 0;
        for _ in 0..600 {
            let ends = [random(&mut r, 0.7), random(&mut r, 0.7)];
            let found = set.edge_minimum(&ends);
            let at = |i: usize| ends[0] + (ends[1] - ends[0]) * (i as f64 / 2000.0);
            let dense = (0..=2000).map(|i| set.nearest(&at(i)).distance);
            let dense = dense.fold(f64::MAX, f64::min);
            if dense.abs() < 0.5 * set.band() {
                near += 1;
                assert!(found.nearest.distance <= dense + 1e-9);
                assert!(set.edge_clearance(&ends) <= dense + 1e-9);
            }
            assert!(set.edge_clearance(&ends) <= dense.max(set.clearance(&ends[0])) + 1e-9);
        }
        assert!(near > 50, "{near}");
    }
}

#[test]
fn moving_points_and_edges_never_pass_unseen() {
    let mut r = SplitMix::new(6);
    let (_, sphere, _, set) = &sampled()[0];
    let pose = |r: &mut SplitMix| Pose {
        rotation: Quat::from_scaled_axis(random(r, 1.0)),
        translation: random(r, 0.6),
    };
    let (mut hits, mut agreed) = (0, 0);
    for _ in 0..600 {
        let moving = MovingSolid::new(set.clone(), pose(&mut r), pose(&mut r));
        let exact = MovingSolid::new(*sphere, moving.pose(0.0), moving.pose(1.0));
        let d = 0.02;
        let a = [random(&mut r, 1.5), random(&mut r, 1.5)];
        let b = [random(&mut r, 1.5), random(&mut r, 1.5)];
        let at = |x: &[Vec3; 2], t: f64| x[0] + (x[1] - x[0]) * t;
        let safe = moving.point_impact(&a, d);
        // Up to the answer the field stays above d.
        for i in 0..=500 {
            let t = safe.unwrap_or(1.0) * f64::from(i) / 500.0;
            let x = moving.pose(t).invert(&at(&a, t));
            if safe != Some(0.0) {
                assert!(set.nearest(&x).distance >= d);
            }
        }
        let safe_edge = moving.edge_impact(&a, &b, d);
        if safe_edge != Some(0.0) {
            for i in 0..=100 {
                let t = safe_edge.unwrap_or(1.0) * f64::from(i) / 100.0;
                let pose = moving.pose(t);
                let ends = [pose.invert(&at(&a, t)), pose.invert(&at(&b, t))];
                assert!(set.edge_minimum(&ends).nearest.distance >= d);
            }
        }
        // Whatever enters the exact ball by more than the error bound is seen, and no later than
        // the exact answer for that deeper distance.
        let slack = set.error() + 4e-3;
        if let Some(late) = exact.point_impact(&a, d - slack) {
            hits += 1;
            let early = safe.unwrap();
            assert!(early <= late + 1e-9, "{early} after {late}");
        }
        // And nothing is seen that stays clear of it.
        agreed += u32::from(exact.point_impact(&a, d + slack).is_none() && safe.is_none());
    }
    assert!(hits > 50 && agreed > 50, "{hits} {agreed}");
}

#[test]
fn thin_shapes_have_an_inside_as_long_as_a_cell_fits() {
    let plate = |thickness: f64| BoxSurface {
        size: [0.5, 0.4, thickness],
        cells: [3, 3, 1],
    };
    let turn = Quat::from_scaled_axis(Vec3::new(0.3, 0.5, 0.2));
    let mut mesh = plate(0.03).build().unwrap();
    mesh.transform(&turn, &Vec3::repeat(1.0), &Vec3::new(0.1, 0.2, 0.3));
    let set = LevelSet::new(&mesh, 0.01, 0.05).unwrap();
    let at = |x: f64, y: f64, z: f64| turn * Vec3::new(x, y, z) + Vec3::new(0.1, 0.2, 0.3);
    for (x, y) in [(0.0, 0.0), (0.2, 0.1), (-0.2, 0.15), (0.1, -0.15)] {
        assert!(set.nearest(&at(x, y, 0.0)).distance < -0.005);
        for z in [0.02, 0.03] {
            let above = set.nearest(&at(x, y, z));
            assert!((above.distance - (z - 0.015)).abs() < 1e-6);
            assert!(above.normal.dot(&(turn * Vec3::z())) > 0.999);
            let below = set.nearest(&at(x, y, -z));
            assert!(below.normal.dot(&(turn * Vec3::z())) < -0.999);
        }
    }
    // On a plane between the grid points nothing of a foil is left.
    let error = LevelSet::new(&plate(1e-4).build().unwrap(), 0.04, 0.1);
    assert!(
        matches!(error, Err(LevelSetError::Vanished { .. })),
        "{error:?}"
    );
}

#[test]
fn far_away_answers_are_honest() {
    let mut r = SplitMix::new(8);
    for (_, shape, off, set) in sampled() {
        let block = 8.0 * 0.04 * 3_f64.sqrt();
        for _ in 0..1000 {
            let x = random(&mut r, 2.0);
            let exact = shape.nearest(&x).distance;
            let near = set.nearest(&x);
            if exact > set.band() {
                assert!(
                    near.distance >= exact - set.error() - off,
                    "{shape:?} at {x}"
                );
                assert!(set.clearance(&x) <= exact + off);
            }
            let size = Vec3::from(set.count.map(|n| 0.32 * n as f64));
            let u = x - set.origin;
            if u.min() > 0.0 && (size - u).min() > 0.0 {
                let wrong = (near.distance - exact).abs();
                assert!(wrong < block + off, "{x}: {wrong}, {exact}");
            }
            assert!((near.normal.norm() - 1.0).abs() < 1e-9);
        }
        let bad = set.nearest(&Vec3::new(f64::NAN, 0.0, 0.0));
        assert!(bad.distance.is_nan());
    }
}

#[test]
fn memory_follows_the_surface_and_absurd_cells_are_refused() {
    let (mesh, _, _) = solids().swap_remove(0);
    let bytes = |cell: f64| LevelSet::new(&mesh, cell, 2.0 * cell).unwrap().bytes() as f64;
    let growth = bytes(0.02) / bytes(0.04);
    assert!(growth < 5.5, "{growth}");
    for (cell, band) in [(0.0, 1.0), (f64::NAN, 1.0), (0.1, -1.0)] {
        let error = LevelSet::new(&mesh, cell, band);
        assert!(matches!(error, Err(LevelSetError::Length { .. })));
    }
    let error = LevelSet::new(&mesh, 1e-5, 1e-4);
    assert!(matches!(error, Err(LevelSetError::TooLarge { .. })));
    let mut open = mesh.clone();
    open.triangles.pop();
    let error = LevelSet::new(&open, 0.05, 0.1);
    assert!(matches!(error, Err(LevelSetError::Mesh(_))));
    let solid = Solid::from(Arc::new(LevelSet::new(&mesh, 0.05, 0.1).unwrap()));
    assert!(solid.radius() >= 0.5 && !solid.is_plane());
}
