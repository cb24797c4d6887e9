#![allow(clippy::unwrap_used, clippy::panic)]

use stiction_math::{Dual, Quat, Real, Vec3, Vector};

use super::{Blend, Jet, Patch, RigidSurface, SampleConfig, SmoothSolid, SurfaceSample, samples};
use crate::analytic::Shape;
use crate::{SplitMix, TriMesh};

fn vector(random: &mut SplitMix) -> Vec3 {
    let mut c = || 2.0 * random.uniform() - 1.0;
    Vec3::new(c(), c(), c())
}

fn grid(n: u32) -> TriMesh {
    let mut mesh = TriMesh {
        positions: Vec::new(),
        triangles: Vec::new(),
    };
    for j in 0..=n {
        for i in 0..=n {
            let at = |i: u32| f64::from(i) / f64::from(n) - 0.5;
            mesh.positions.push(Vec3::new(at(i), at(j), 0.0));
            if i < n && j < n {
                let a = j * (n + 1) + i;
                mesh.triangles.push([a, a + 1, a + n + 2]);
                mesh.triangles.push([a, a + n + 2, a + n + 1]);
            }
        }
    }
    mesh
}

/// A latitude and longitude sphere: faces of many sizes, and slivers at the poles.
fn globe(radius: f64, n: u32) -> TriMesh {
    let mut mesh = TriMesh {
        positions: Vec::new(),
        triangles: Vec::new(),
    };
    let angle = |k: u32| std::f64::consts::PI * f64::from(k) / f64::from(n);
    for j in 0..=n {
        for i in 0..2 * n {
            let (t, p) = (angle(j), angle(i));
            mesh.positions
                .push(Vec3::new(t.sin() * p.cos(), t.sin() * p.sin(), t.cos()) * radius);
            if j < n {
                let right = (i + 1) % (2 * n);
                let [a, b] = [j * 2 * n + i, j * 2 * n + right];
                let [c, d] = [a + 2 * n, b + 2 * n];
                if j > 0 {
                    mesh.triangles.push([a, c, b]);
                }
                if j + 1 < n {
                    mesh.triangles.push([b, c, d]);
                }
            }
        }
    }
    mesh
}

fn patch(list: &[SurfaceSample], x: &[Vec3], q: &Vec3, blend: &Blend) -> Option<Patch<f64>> {
    let x: Vec<Vector<f64>> = x.iter().map(Vector::constant).collect();
    let near = list.iter().map(|s| (s, s.corners));
    Patch::new(&Vector::constant(q), near, &x, blend)
}

fn all(list: &[SurfaceSample]) -> Vec<u32> {
    (0..list.len() as u32).collect()
}

#[test]
fn planes_are_reproduced_exactly() {
    let mesh = grid(6);
    let turn = Quat::from_euler_angles(0.3, -0.7, 1.1);
    let shift = Vec3::new(0.4, 2.0, -1.0);
    let mut random = SplitMix::new(1);
    // An irregular mesh of the plane: vertices shifted within it.
    let x: Vec<Vec3> = mesh
        .positions
        .iter()
        .map(|p| {
            turn * (p + vector(&mut random).component_mul(&Vec3::new(0.04, 0.04, 0.0))) + shift
        })
        .collect();
    let n = turn * Vec3::z();
    for spacing in [f64::INFINITY, 0.05] {
        let config = SampleConfig {
            spacing,
            ..SampleConfig::default()
        };
        let list = samples(&mesh.triangles, &x, &config);
        let rigid = RigidSurface::new(&list, &x).unwrap();
        for _ in 0..50 {
            let q = vector(&mut random).component_mul(&Vec3::new(0.45, 0.45, 0.03));
            let height = q.z;
            let q = turn * q + shift;
            for side in [1.0, -1.0] {
                let blend = Blend {
                    side,
                    far: Some(0.5),
                    end: None,
                };
                let jets = [
                    *patch(&list, &x, &q, &blend).unwrap().jet(),
                    rigid
                        .jet(&Vector::constant(&q), &all(&list), &blend)
                        .unwrap(),
                ];
                for jet in jets {
                    assert!((jet.value - side * height).abs() < 1e-15 * 10.0);
                    assert!((jet.gradient.plain() - n * side).norm() < 1e-12);
                }
            }
        }
    }
}

#[test]
fn a_sphere_is_approached_with_the_square_of_the_edge_length() {
    let mut random = SplitMix::new(2);
    let directions: Vec<Vec3> = (0..60).map(|_| vector(&mut random).normalize()).collect();
    let mut errors = Vec::new();
    for n in [12, 24, 48] {
        let mesh = globe(1.0, n);
        let list = samples(&mesh.triangles, &mesh.positions, &SampleConfig::default());
        let surface = RigidSurface::new(&list, &mesh.positions).unwrap();
        let (mut value, mut slope): (f64, f64) = (0.0, 0.0);
        for d in &directions {
            for r in [0.98, 1.0, 1.02] {
                let q = d * r;
                let mut near = Vec::new();
                surface.near(&q, 0.0, &mut near);
                let jet = surface
                    .jet(&Vector::<f64>::constant(&q), &near, &Blend::default())
                    .unwrap();
                value = value.max((jet.value - (r - 1.0)).abs());
                slope = slope.max((jet.gradient.plain() - d).norm());
            }
        }
        errors.push((value, slope));
    }
    for w in errors.windows(2) {
        assert!(w[0].0 / w[1].0 > 3.2, "values {errors:?}");
        assert!(w[0].1 / w[1].1 > 1.6, "gradients {errors:?}");
    }
    assert!(errors[2].0 < 3e-3 && errors[2].1 < 0.1, "{errors:?}");
}

/// Central differences, extrapolated once.
fn slope(f: impl Fn(f64) -> f64, t: f64) -> f64 {
    let d = |t: f64| (f(t) - f(-t)) / (2.0 * t);
    (4.0 * d(t) - d(2.0 * t)) / 3.0
}

#[test]
fn gradients_and_hessian_products_are_differences() {
    let mesh = globe(1.0, 8);
    let mut random = SplitMix::new(3);
    let x: Vec<Vec3> = mesh
        .positions
        .iter()
        .map(|p| p + vector(&mut random) * 0.02)
        .collect();
    let list = samples(&mesh.triangles, &mesh.positions, &SampleConfig::default());
    let gradient = |x: &[Vector<Dual<1>>], q: &Vector<Dual<1>>, blend: &Blend| {
        let near = list.iter().map(|s| (s, s.corners));
        let patch = Patch::new(q, near, x, blend).unwrap();
        let mut g = vec![Vector::zero(); x.len() + 1];
        g[x.len()] = patch.jet().gradient;
        patch.for_each_gradient(Dual::constant(1.0), |i, y| g[i as usize] += y);
        (patch.jet().value, g)
    };
    for (r, far, side) in [
        (1.03, None, 1.0),
        (0.9, None, 1.0),
        (1.5, Some(0.1), 1.0),
        (0.6, Some(0.1), -1.0),
    ] {
        let blend = Blend {
            side,
            far,
            end: None,
        };
        for _ in 0..3 {
            let q = vector(&mut random).normalize() * r;
            let dx: Vec<Vec3> = x.iter().map(|_| vector(&mut random)).collect();
            let dq = vector(&mut random);
            let at = |t: f64, d: f64| {
                let moved = |p: &Vec3, v: &Vec3| {
                    let p = p + v * t;
                    Vector(std::array::from_fn(|k| Dual::new(p[k], [v[k] * d])))
                };
                let x: Vec<_> = x.iter().zip(&dx).map(|(p, v)| moved(p, v)).collect();
                gradient(&x, &moved(&q, &dq), &blend)
            };
            let (value, g) = at(0.0, 1.0);
            let inner: f64 = g
                .iter()
                .zip(dx.iter().chain([&dq]))
                .fold(0.0, |s, (g, d)| s + g.value().dot(d));
            assert!((inner - value.d[0]).abs() < 1e-12 * inner.abs().max(1.0));
            let by_value = slope(|t| at(t, 0.0).0.re, 1e-4);
            assert!(
                (by_value - inner).abs() < 1e-8 * inner.abs().max(1.0),
                "{by_value} {inner}"
            );
            let scale: f64 = g.iter().flat_map(|g| &g.0).map(|c| c.d[0].abs()).sum();
            for i in 0..g.len() {
                for k in 0..3 {
                    let by_gradient = slope(|t| at(t, 0.0).1[i].0[k].re, 1e-4);
                    let error = (by_gradient - g[i].0[k].d[0]).abs();
                    assert!(error < 1e-7 * scale, "{r} {i} {k}: {error:e} of {scale:e}");
                }
            }
        }
    }
}

#[test]
fn rigid_motions_are_carried_exactly_and_forces_keep_their_torque() {
    let mesh = globe(1.0, 7);
    let mut random = SplitMix::new(4);
    let x: Vec<Vec3> = mesh
        .positions
        .iter()
        .map(|p| p + vector(&mut random) * 0.03)
        .collect();
    let list = samples(&mesh.triangles, &mesh.positions, &SampleConfig::default());
    let (velocity, spin) = (vector(&mut random), vector(&mut random));
    for _ in 0..20 {
        let q = vector(&mut random).normalize() * 1.1;
        let p = patch(&list, &x, &q, &Blend::default()).unwrap();
        let v: Vec<Vector<f64>> = x
            .iter()
            .map(|x| Vector::constant(&(velocity + spin.cross(x))))
            .collect();
        let expected = velocity + spin.cross(&q);
        assert!((p.velocity(&v).plain() - expected).norm() < 1e-13);
        let f = vector(&mut random);
        let (mut force, mut torque, mut work, mut weights) =
            (Vec3::zeros(), Vec3::zeros(), 0.0, 0.0);
        let any: Vec<Vector<f64>> = x
            .iter()
            .map(|_| Vector::constant(&vector(&mut random)))
            .collect();
        p.spread(&Vector::constant(&f), |i, y| {
            force += y.plain();
            torque += x[i as usize].cross(&y.plain());
            work += y.dot(&any[i as usize]);
        });
        p.for_each_weight(|_, w| weights += w);
        assert!((force - f).norm() < 1e-13 && (torque - q.cross(&f)).norm() < 1e-13);
        assert!((work - f.dot(&p.velocity(&any).plain())).abs() < 1e-13);
        assert!((weights - 1.0).abs() < 1e-13);
    }
}

#[test]
fn the_potential_ends_smoothly_next_to_an_open_sheet() {
    let mesh = grid(8);
    let list = samples(&mesh.triangles, &mesh.positions, &SampleConfig::default());
    let far = 0.02;
    let blend = Blend {
        side: 1.0,
        far: Some(far),
        end: None,
    };
    // Along a line out of the sheet, 5 mm above it.
    let value = |y: f64| {
        patch(&list, &mesh.positions, &Vec3::new(y, 0.1, 0.005), &blend).map(|p| p.jet().value)
    };
    assert!((value(0.4).unwrap() - 0.005).abs() < 1e-15);
    let (mut last, mut y) = (value(0.4).unwrap(), 0.4);
    let end = loop {
        y += 1e-4;
        match value(y) {
            Some(now) => {
                // No jump: at most 20 times the mean slope over a tenth of a radius.
                assert!(
                    (now - last).abs() < 20.0 * far * 1e-4 / 0.03,
                    "at {y}: {last} {now}"
                );
                last = now;
            }
            None => break y,
        }
    };
    assert!((last - far).abs() < 1e-4 * far, "{last} at {end}");
    assert!(end < 0.5 + 0.25, "{end}");
}

#[test]
fn degenerate_faces_and_coincident_vertices_give_numbers() {
    let mut mesh = grid(4);
    // A face without area, a face on one point, and a vertex on top of another.
    mesh.triangles.push([0, 1, 1]);
    mesh.triangles.push([2, 2, 2]);
    mesh.positions[7] = mesh.positions[8];
    let config = SampleConfig {
        reach: 0.01,
        ..SampleConfig::default()
    };
    let list = samples(&mesh.triangles, &mesh.positions, &config);
    let rigid = RigidSurface::new(&list, &mesh.positions).unwrap();
    for q in mesh
        .positions
        .iter()
        .chain(&[Vec3::new(1.0 / 3.0, 0.1, 0.0)])
    {
        let p = patch(&list, &mesh.positions, q, &Blend::default()).unwrap();
        assert!(p.jet().value.abs() < 1e-15);
        assert!((p.jet().gradient.plain() - Vec3::z()).norm() < 1e-13);
        p.for_each_gradient(1.0, |_, y| assert!(y.plain().iter().all(|c| c.is_finite())));
        p.spread(&Vector([1.0, 2.0, 3.0]), |_, y| {
            assert!(y.plain().iter().all(|c| c.is_finite()))
        });
        let mut near = Vec::new();
        rigid.near(q, 0.0, &mut near);
        let jet = rigid.jet(&Vector::<f64>::constant(q), &near, &Blend::default());
        assert!(jet.unwrap().value.abs() < 1e-15);
    }
    let flat = samples(&[[0, 1, 1]], &mesh.positions, &config);
    assert!(
        patch(
            &flat,
            &mesh.positions,
            &mesh.positions[0],
            &Blend::default()
        )
        .is_none()
    );
    let none = Vec3::new(0.0, 0.0, 5.0);
    assert!(patch(&list, &mesh.positions, &none, &Blend::default()).is_none());
    let empty = RigidSurface::new(&[], &[]).unwrap();
    let mut near = Vec::new();
    empty.near(&none, 1.0, &mut near);
    assert!(near.is_empty() && empty.bounds().is_none() && empty.height(&none, &near).is_none());
}

#[test]
fn the_search_finds_the_samples_in_reach() {
    let mesh = globe(1.0, 10);
    let list = samples(&mesh.triangles, &mesh.positions, &SampleConfig::default());
    let surface = RigidSurface::new(&list, &mesh.positions).unwrap();
    let mut random = SplitMix::new(6);
    for margin in [0.0, 0.05] {
        for _ in 0..50 {
            let q = vector(&mut random) * 1.3;
            let mut near = Vec::new();
            surface.near(&q, margin, &mut near);
            let brute: Vec<u32> = all(&list)
                .into_iter()
                .filter(|&i| {
                    let s = &list[i as usize];
                    let c: Vec3 = (0..3)
                        .map(|k| mesh.positions[s.corners[k] as usize] * s.weights[k])
                        .sum();
                    (q - c).norm() < s.radius + margin
                })
                .collect();
            assert_eq!(near, brute);
        }
    }
}

#[test]
fn subdivided_faces_keep_their_area_and_follow_a_box() {
    // A box of twelve triangles: one sample each is far too coarse.
    let positions: Vec<Vec3> = (0..8u32)
        .map(|i| Vec3::new(f64::from(i & 1), f64::from(i >> 1 & 1), f64::from(i >> 2)))
        .collect();
    let quads = [
        [0, 2, 3, 1],
        [4, 5, 7, 6],
        [0, 1, 5, 4],
        [2, 6, 7, 3],
        [0, 4, 6, 2],
        [1, 3, 7, 5],
    ];
    let triangles: Vec<[u32; 3]> = quads
        .iter()
        .flat_map(|q| [[q[0], q[1], q[2]], [q[0], q[2], q[3]]])
        .collect();
    let config = SampleConfig {
        spacing: 0.05,
        ..SampleConfig::default()
    };
    let list = samples(&triangles, &positions, &config);
    let share: f64 = list.iter().map(|s| s.share).sum();
    assert!((share - 12.0).abs() < 1e-9);
    let surface = RigidSurface::new(&list, &positions).unwrap();
    // Away from edges the faces are exact; at an edge the potential is off by a fraction of a radius.
    let value = |q: Vec3| {
        let mut near = Vec::new();
        surface.near(&q, 0.0, &mut near);
        surface
            .jet(&Vector::<f64>::constant(&q), &near, &Blend::default())
            .unwrap()
            .value
    };
    assert!((value(Vec3::new(0.5, 0.4, 1.01)) - 0.01).abs() < 1e-14);
    assert!(value(Vec3::new(0.5, 1.0, 1.0)).abs() < 0.05);
}

#[test]
fn solids_are_their_signed_distances_and_jets_their_derivatives() {
    let shapes = [
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
        Shape::Cone {
            radius: 0.5,
            height: 0.9,
        },
        Shape::Torus {
            major: 0.6,
            minor: 0.2,
        },
    ];
    let mut random = SplitMix::new(7);
    for shape in shapes {
        for rounding in [0.0, 0.05] {
            let solid = SmoothSolid::rounded(shape, rounding);
            for _ in 0..300 {
                let q = vector(&mut random);
                let d = vector(&mut random);
                let dual = |t: f64, s: f64| {
                    let q = q + d * t;
                    Vector(std::array::from_fn(|k| Dual::<1>::new(q[k], [d[k] * s])))
                };
                let jet: Jet<Dual<1>> = solid.jet(&dual(0.0, 1.0));
                let exact = shape.nearest(&q);
                if rounding == 0.0 {
                    assert!(
                        (jet.value.re - exact.distance).abs() < 1e-14,
                        "{shape:?} {q:?}"
                    );
                    assert!((jet.gradient.value() - exact.normal).norm() < 1e-12);
                } else {
                    // Rounding only takes away: 0 ≤ ψ − d ≤ what is missing at the sharpest point.
                    let more = jet.value.re - exact.distance;
                    assert!(
                        (-1e-14..2.5 * rounding).contains(&more),
                        "{shape:?} {q:?} {more}"
                    );
                }
                assert!((jet.gradient.value().norm() - 1.0).abs() < 1e-12);
                let along = jet.gradient.value().dot(&d);
                assert!((jet.value.d[0] - along).abs() < 1e-12, "{shape:?} {q:?}");
                // Second derivatives, unless the differences cross a place where they jump.
                let t = 1e-6;
                let side = |t: f64| solid.jet(&dual(t, 1.0)).value.d[0];
                let (left, right) = ((side(0.0) - side(-t)) / t, (side(t) - side(0.0)) / t);
                if (left - right).abs() < 1e-3 {
                    let second = (0..3).fold(0.0, |s, k| s + jet.gradient.0[k].d[0] * d[k]);
                    assert!(
                        (0.5 * (left + right) - second).abs() < 2e-3,
                        "{shape:?} {q:?}"
                    );
                }
            }
        }
        // Centres, axes and cores, where the gradient is not unique.
        let solid = SmoothSolid::rounded(shape, 0.02);
        for q in [
            Vec3::zeros(),
            Vec3::new(0.0, 0.0, 0.9),
            Vec3::new(0.6, 0.0, 0.0),
        ] {
            let q = Vector(std::array::from_fn(|k| Dual::<1>::new(q[k], [1.0])));
            let jet = solid.jet(&q);
            let numbers = jet.gradient.0.iter().chain([&jet.value]);
            assert!(
                numbers.flat_map(|c| [c.re, c.d[0]]).all(f64::is_finite),
                "{shape:?}"
            );
            assert!((jet.gradient.value().norm() - 1.0).abs() < 1e-12);
        }
    }
}

#[test]
fn rounded_edges_turn_their_normals_steadily() {
    let shape = Shape::Box {
        half: Vec3::repeat(0.5),
    };
    let rounding = 0.05;
    let normal = |solid: &SmoothSolid, s: f64| {
        // Across an edge, 1 cm deep.
        let q = Vec3::new(0.49 - 0.05 + s, 0.49 + 0.05 - s, 0.0);
        solid.jet(&Vector::<f64>::constant(&q)).gradient.plain()
    };
    let jump = |solid: &SmoothSolid| {
        let steps = (0..1000).map(|i| f64::from(i) * 1e-4);
        steps
            .map(|s| (normal(solid, s + 1e-4) - normal(solid, s)).norm())
            .fold(0.0, f64::max)
    };
    assert!(jump(&SmoothSolid::new(shape)) > 1.0);
    assert!(jump(&SmoothSolid::rounded(shape, rounding)) < 0.01);
}
