//! Contacts as constraints: properties of B, k and the order.
#![allow(clippy::unwrap_used, clippy::panic)]

mod detect_scenes;

use detect_scenes::{H, Scene, T, at, block, floor, sheet};
use stiction_contact::ContactSet;
use stiction_contact::detect::{
    ColliderBody, ColliderForm, ContactSource, Detector, Points, match_keys,
};
use stiction_geometry::SplitMix;
use stiction_geometry::analytic::{Pose, Shape};
use stiction_geometry::collide::{edge_edge, point_triangle};
use stiction_math::{Quat, Vec3};

fn vector(random: &mut SplitMix, scale: f64) -> Vec3 {
    let mut c = || scale * (2.0 * random.uniform() - 1.0);
    Vec3::new(c(), c(), c())
}

/// A tetrahedron that carries an embedded triangle, a rigid box, a sheet, a turning cylinder and a
/// moving mesh, all within reach of one another.
fn mixed() -> Scene {
    let mut s = Scene::default();
    s.shell(sheet(3, 0.1, Vec3::zeros()));
    s.rigid(block(Vec3::repeat(0.02)), Vec3::new(0.011, -0.013, 0.0205));
    let tet = [
        Vec3::new(-0.04, -0.04, -0.001),
        Vec3::new(0.01, -0.03, -0.03),
        Vec3::new(-0.03, 0.02, -0.02),
        Vec3::new(-0.02, -0.01, -0.05),
    ];
    let first = s.x.len() as u32;
    let weights = [
        [0.9, 0.05, 0.03, 0.02],
        [0.1, 0.7, 0.1, 0.1],
        [0.1, 0.1, 0.7, 0.1],
    ];
    let rest = weights.map(|w| (0..4).map(|a| tet[a] * w[a]).sum::<Vec3>());
    // The top vertex of the embedded triangle is lifted to just below the sheet.
    let lift = Vec3::new(0.0, 0.0, -0.8e-3 - rest[0].z);
    s.add(ColliderForm::Body(ColliderBody {
        triangles: vec![[0, 1, 2]],
        rods: Vec::new(),
        points: Points::Weighted {
            start: vec![0, 4, 8, 12],
            entries: weights
                .iter()
                .flat_map(|w| (0..4).map(move |a| (first + a as u32, w[a])))
                .collect(),
        },
        rest: rest.iter().map(|r| r + lift).collect(),
        closed: false,
        self_contact: true,
        exempt: None,
    }));
    s.blocks(&tet.map(|x| x + lift));
    let pose = |angle: f64, z: f64| Pose {
        rotation: Quat::from_scaled_axis(Vec3::new(0.1, 1.4 + angle, 0.0)),
        translation: Vec3::new(0.035, 0.04, z),
    };
    let cylinder = Shape::Cylinder {
        radius: 0.01,
        half: 0.005,
    };
    s.shape(cylinder, [pose(0.0, -0.0112), pose(2e-3, -0.0113)]);
    s.mesh(
        sheet(2, 0.02, Vec3::new(-0.04, 0.02, 0.9e-3)),
        [at(0.0, 0.0, 0.0), at(1e-4, 2e-4, 1e-4)],
    );
    s.fixed[4] = true;
    s
}

#[test]
fn the_relative_velocity_is_the_rate_of_the_true_gap() {
    let mut random = SplitMix::new(5);
    let mut s = mixed();
    let (c, _) = s.contacts();
    let kinds: std::collections::BTreeSet<[u64; 2]> = c
        .key
        .iter()
        .map(|k| [k.first >> 60, k.second >> 60])
        .collect();
    assert!(kinds.len() >= 3, "{kinds:?}");
    let pairs: std::collections::BTreeSet<[u32; 2]> = c.pair.iter().copied().collect();
    assert!(pairs.len() >= 4, "the sheet touches all others: {pairs:?}");
    assert!(c.levers.iter().any(|l| *l != Vec3::zeros()));
    for _ in 0..5 {
        for v in &mut s.v {
            *v = vector(&mut random, 0.01);
        }
        s.v[10] *= 10.0;
        let (c, _) = s.contacts();
        // The same scene a little later, and a little earlier.
        let later = |dt: f64| {
            let mut t = s.clone();
            for (x, v) in t.x.iter_mut().zip(&s.v) {
                *x += v * dt;
            }
            t.rotations[0] = Quat::from_scaled_axis(s.v[10] * dt) * s.rotations[0];
            for p in &mut t.poses {
                let f = dt / H;
                let turn = (p[1].rotation * p[0].rotation.inverse()).scaled_axis() * f;
                p[0] = Pose {
                    rotation: Quat::from_scaled_axis(turn) * p[0].rotation,
                    translation: p[0].translation + (p[1].translation - p[0].translation) * f,
                };
            }
            for v in &mut t.v {
                *v = Vec3::zeros();
            }
            t.contacts().0
        };
        let dt = 1e-5;
        let (before, after) = (later(-dt), later(dt));
        let mut tested = 0;
        for i in 0..c.len() {
            // Sample points on a rim are not the closest ones, so that the true gap also changes
            // by their slide along the rim.
            let part = c.key[i].second & 0xffff;
            if c.key[i].second >> 60 == 4 && (1..=32).contains(&part) {
                continue;
            }
            let find = |c: &ContactSet, key| c.key.iter().position(|k| *k == key);
            let (Some(a), Some(b)) = (find(&before, c.key[i]), find(&after, c.key[i])) else {
                continue;
            };
            let rate = (after.gap[b] - before.gap[a]) / (2.0 * dt);
            let u = c.velocity(i, &s.v) + c.k[i];
            let expected = rate + c.correction[i] / H;
            let error = (u.dot(&c.normal[i]) - expected).abs();
            assert!(
                error < 2e-5,
                "{:?}: {} {expected}",
                c.key[i],
                u.dot(&c.normal[i])
            );
            tested += 1;
        }
        assert!(tested >= 8, "{tested} of {}", c.len());
    }
}

/// Crumpled sheets over solids and a rigid box, with random velocities.
fn heap(seed: u64) -> Scene {
    let mut random = SplitMix::new(seed);
    let mut s = Scene::default();
    for i in 0..3 {
        let (mut x, t) = sheet(10, 0.09, Vec3::new(0.0, 0.0, 0.012 + 0.008 * f64::from(i)));
        for x in &mut x {
            x.z += 2e-3 * (70.0 * x.x + f64::from(i)).sin() * (50.0 * x.y).cos();
            *x += vector(&mut random, 4e-4);
        }
        let first = s.shell((x, t)) as usize;
        let drift = vector(&mut random, 0.6);
        for v in &mut s.v[first..] {
            *v = drift + vector(&mut random, 0.4);
        }
    }
    let b = s.rigid(
        block(Vec3::new(0.02, 0.015, 0.006)),
        Vec3::new(0.0, 0.0, 0.045),
    ) as usize;
    s.v[b] = Vec3::new(0.0, 0.0, -1.2);
    s.v[b + 1] = vector(&mut random, 10.0);
    s.shape(floor(), [at(0.0, 0.0, 0.0); 2]);
    let ball = [at(0.02, 0.01, 0.0), at(0.02, 0.012, 0.003)];
    s.shape(Shape::Sphere { radius: 0.008 }, ball);
    let plate = Shape::Box {
        half: Vec3::new(0.01, 0.02, 0.006),
    };
    s.shape(plate, [at(-0.02, 0.0, 0.0), at(-0.02, 0.0, 0.002)]);
    s
}

/// Corrects velocities until no listed contact approaches, and lists new ones.
fn resolve(s: &Scene, d: &mut Detector, c: &mut ContactSet) -> Vec<Vec3> {
    let mut v = s.v.clone();
    for _ in 0..60 {
        for _ in 0..60 {
            let mut worst = 0.0f64;
            for i in 0..c.len() {
                let u = (c.velocity(i, &v) + c.k[i]).dot(&c.normal[i]);
                if u < 0.0 {
                    worst = worst.max(-u);
                    // Unit masses; the inertia of the box is that of unit mass and its size.
                    let inverse = |node: u32| if node == 301 { 4000.0 } else { 1.0 };
                    let n = c.normal[i];
                    let jacobian: Vec<(u32, Vec3)> =
                        c.entries(i).map(|e| (e.node, e.tr_mul(&n))).collect();
                    let scale = |(n, j): &(u32, Vec3)| j.norm_squared() * inverse(*n);
                    let r = -u / jacobian.iter().map(scale).sum::<f64>();
                    for (node, j) in &jacobian {
                        v[*node as usize] += j * (r * inverse(*node));
                    }
                }
            }
            if worst < 1e-4 {
                break;
            }
        }
        if d.more_contacts(&v, c) == 0 {
            break;
        }
    }
    v
}

/// A point of a ball that turns by φ about its centre comes R φ²/2 below where its surface was: 7.5 mm
/// here, more than the thickness. What stays in place and is pressed on must not follow it.
#[test]
fn bodies_sliding_on_a_turning_ball_do_not_sink_into_it() {
    let (radius, angle) = (0.06, 0.5);
    let pose = |angle: f64| Pose {
        rotation: Quat::from_scaled_axis(Vec3::z() * angle),
        translation: Vec3::zeros(),
    };
    for rod in [false, true] {
        let mut s = Scene::default();
        // A vertex, or the middle of an edge.
        let ends: &[f64] = if rod { &[-0.01, 0.01] } else { &[0.0] };
        let x: Vec<Vec3> = ends
            .iter()
            .map(|z| Vec3::new(radius + T, 0.0, *z))
            .collect();
        let first = s.nodes((x, Vec::new()), false);
        if let (ColliderForm::Body(body), true) = (&mut s.colliders[0].form, rod) {
            body.rods = vec![[0, 1]];
        }
        for v in &mut s.v[first as usize..] {
            *v = Vec3::new(-0.5, 0.0, 0.0);
        }
        let ball = Shape::Sphere { radius };
        s.shape(ball, [pose(0.0), pose(angle)]);
        let mut d = s.detector();
        let (mut c, _) = s.contacts_by(&mut d, &ContactSet::default());
        let v = resolve(&s, &mut d, &mut c);
        let all = s.x.iter().zip(&v);
        let end: Vec3 = all.map(|(x, v)| x + v * H).sum::<Vec3>() / s.x.len() as f64;
        let gap = end.norm() - radius;
        assert!(gap > 0.4 * T && gap < 2.0 * T, "{gap:e}");
    }
}

/// A rod crosses another at a small angle, and the place where it does so slides from one end to the other
/// while it is pressed on: the plane at the first place does not part them at the last. Two that are too
/// close already must not come closer step by step.
#[test]
fn rods_that_are_too_close_and_slide_do_not_come_closer_still() {
    let (half, slope) = (0.01, 0.1);
    for press in [0.1, 0.15, 0.2, 0.3, 0.5] {
        let mut s = Scene::default();
        let ends = [-half, half];
        let below = ends.map(|x| Vec3::new(x, 0.0, 0.0));
        let above = ends.map(|x| Vec3::new(x, slope * (x + 0.8 * half), 0.4 * T));
        for (i, rod) in [below, above].into_iter().enumerate() {
            s.nodes((rod.to_vec(), Vec::new()), false);
            if let ColliderForm::Body(body) = &mut s.colliders[i].form {
                body.rods = vec![[0, 1]];
            }
        }
        s.fixed[..2].fill(true);
        s.v[2..].fill(Vec3::new(0.0, -slope * 1.6 * half / H, -press * T / H));
        let mut d = s.detector();
        let (mut c, _) = s.contacts_by(&mut d, &ContactSet::default());
        let v = resolve(&s, &mut d, &mut c);
        let end = |i: usize| s.x[i] + v[i] * H;
        let apart = edge_edge(&[end(0), end(1)], &[end(2), end(3)])
            .squared
            .sqrt();
        assert!(
            end(2).z > 0.0 && end(3).z > 0.0,
            "pressed by {press}: passed"
        );
        assert!(apart > 0.35 * T, "pressed by {press}: {apart:e}");
    }
}

#[test]
fn a_step_that_keeps_the_listed_contacts_and_is_clipped_never_intersects() {
    let none = ContactSet::default();
    let (mut whole, scenes) = (0, 12);
    for seed in 0..scenes {
        let s = heap(seed);
        let mut d = s.detector();
        assert!(s.step(&none, |x| d.intersections(x)).unwrap().is_empty());
        let (mut c, _) = s.contacts_by(&mut d, &none);
        assert!(c.len() > 20);
        // Without contacts bodies would pass through one another.
        let free = d.safe_fraction(&s.v, 0.05 * T).unwrap();
        assert!(free < 0.9, "seed {seed}: {free}");
        let v = resolve(&s, &mut d, &mut c);
        let safe = d.safe_fraction(&v, 0.05 * T).unwrap();
        whole += u32::from(safe == 1.0);
        let mut end = s.clone();
        for (i, x) in end.x.iter_mut().enumerate() {
            *x += v[i] * (H * safe);
        }
        // Vertices of the box move along straight lines: the linear motion of detection.
        let b = s.x.len() - 2;
        let (local, t) = block(Vec3::new(0.02, 0.015, 0.006));
        let moved = local
            .iter()
            .map(|p| p + v[b + 1].cross(p) * (H * safe))
            .collect();
        let ColliderForm::Body(body) = &mut end.colliders[3].form else {
            panic!("the box is the fourth collider");
        };
        body.points = Points::Rigid {
            block: b as u32,
            rigid: 0,
            local: moved,
        };
        assert_eq!(body.triangles, t);
        for p in &mut end.poses {
            let now = p[0].translation + (p[1].translation - p[0].translation) * safe;
            *p = [at(now.x, now.y, now.z); 2];
        }
        let found = end
            .step(&none, |x| end.detector().intersections(x))
            .unwrap();
        assert!(found.is_empty(), "seed {seed}: {found:?}");
    }
    // The constraints alone are enough in most scenes; clipping is the safety net.
    assert!(
        whole * 2 > scenes as u32,
        "only {whole} of {scenes} whole steps"
    );
}

#[test]
fn the_closest_places_of_any_two_bodies_are_among_the_contacts() {
    let (mut compared, mut crossed) = (0, 0);
    for seed in 20..32 {
        let mut s = heap(seed);
        let mut random = SplitMix::new(seed);
        // Bodies pressed together until some cross.
        for (i, x) in s.x.iter_mut().enumerate() {
            x.z -= (4e-3 + 2e-4 * (seed - 20) as f64) * (i / 100).min(3) as f64;
            *x += vector(&mut random, 2e-4);
        }
        for v in &mut s.v {
            *v = Vec3::zeros();
        }
        let (c, _) = s.contacts();
        let none = ContactSet::default();
        let crossings = s.step(&none, |x| s.detector().intersections(x)).unwrap();
        let bodies = |k: usize| {
            let ColliderForm::Body(b) = &s.colliders[k].form else {
                panic!("the first four colliders are bodies");
            };
            let x: Vec<Vec3> = match &b.points {
                Points::Rigid { block, local, .. } => {
                    local.iter().map(|p| p + s.x[*block as usize]).collect()
                }
                Points::Weighted { entries, .. } => {
                    entries.iter().map(|e| s.x[e.0 as usize]).collect()
                }
            };
            (x, b.triangles.clone())
        };
        for (a, b) in [(0, 1), (1, 2), (0, 2), (2, 3)] {
            let least = distance(&bodies(a), &bodies(b));
            let (a, b) = (10 + a as u32, 10 + b as u32);
            let pair = |i: &usize| c.pair[*i] == [a, b] || c.pair[*i] == [b, a];
            let listed = (0..c.len()).filter(pair).map(|i| c.gap[i] + T);
            let nearest = listed.map(f64::abs).fold(f64::INFINITY, f64::min);
            if crossings
                .iter()
                .any(|x| x.first.0 + 10 == a && x.second.0 + 10 == b)
            {
                // Distances of features say little about surfaces that cross.
                assert!(nearest.is_finite());
                crossed += 1;
            } else if least < 1.5 * T {
                assert!((nearest - least).abs() < 1e-12, "{least} {nearest}");
                compared += 1;
            } else {
                assert_eq!(nearest, f64::INFINITY);
            }
        }
    }
    assert!(compared > 12 && crossed > 2, "{compared} {crossed}");
}

/// The least distance of vertices to triangles and of edges, by brute force.
fn distance(a: &(Vec<Vec3>, Vec<[u32; 3]>), b: &(Vec<Vec3>, Vec<[u32; 3]>)) -> f64 {
    let corners = |m: &(Vec<Vec3>, Vec<[u32; 3]>), t: &[u32; 3]| t.map(|v| m.0[v as usize]);
    let mut least = f64::INFINITY;
    for s in a.1.iter().map(|t| corners(a, t)) {
        for t in b.1.iter().map(|t| corners(b, t)) {
            for k in 0..3 {
                least = least.min(point_triangle(&s[k], &t).squared);
                least = least.min(point_triangle(&t[k], &s).squared);
                for l in 0..3 {
                    let (e, f) = ([s[k], s[(k + 1) % 3]], [t[l], t[(l + 1) % 3]]);
                    least = least.min(edge_edge(&e, &f).squared);
                }
            }
        }
    }
    least.sqrt()
}

/// Contacts are found during the iterations, and an iterate may fling light bodies anywhere. What it
/// finds there may keep them from going on, but not forbid them to stay where they are.
#[test]
fn contacts_found_in_diverging_iterates_let_bodies_rest() {
    let mut added = 0;
    for seed in 0..24 {
        let mut random = SplitMix::new(seed);
        let mut s = Scene::default();
        for i in 0..3 {
            // Strands that lie on a ball, just out of reach of it and of one another.
            let turn = Quat::from_scaled_axis(Vec3::x() * (0.3 * i as f64));
            let strand = (0..9).map(|k| {
                let angle = 0.1 * k as f64;
                turn * Vec3::new(angle.sin(), 0.0, angle.cos()) * (0.06 + 1.6 * T)
            });
            s.nodes((strand.collect(), Vec::new()), false);
            if let ColliderForm::Body(body) = &mut s.colliders[i].form {
                body.rods = (0..8).map(|k| [k, k + 1]).collect();
            }
        }
        s.shape(Shape::Sphere { radius: 0.06 }, [Pose::default(); 2]);
        let mut d = s.detector();
        let (mut c, _) = s.contacts_by(&mut d, &ContactSet::default());
        let (start, size) = (c.len(), 0.2 * random.uniform() / H);
        for _ in 0..8 {
            let v: Vec<Vec3> = s.x.iter().map(|_| vector(&mut random, size)).collect();
            d.more_contacts(&v, &mut c);
        }
        added += c.len() - start;
        let gaps = c.gap[start..].iter();
        let least = gaps.copied().fold(f64::INFINITY, f64::min);
        assert!(least >= 0.0, "seed {seed}: {least:e}");
    }
    assert!(added > 200, "{added}");
}

#[test]
fn contacts_added_later_are_those_that_a_new_search_finds() {
    for seed in 40..52 {
        let s = heap(seed);
        let mut random = SplitMix::new(seed);
        let mut d = s.detector();
        let (mut c, _) = s.contacts_by(&mut d, &ContactSet::default());
        let mut changed = s.clone();
        for v in &mut changed.v {
            *v = *v * -1.5 + vector(&mut random, 0.5);
        }
        d.more_contacts(&changed.v, &mut c);
        let (fresh, _) = changed.contacts();
        let missing = match_keys(&c.key, &fresh.key);
        assert!(missing.iter().all(Option::is_some), "seed {seed}");
        // Equal numbers too: they depend on the velocities at which they were found only through
        // the time of impact.
        for (i, m) in missing.iter().enumerate() {
            if let Some(m) = m
                && c.k[*m as usize] == fresh.k[i]
            {
                assert_eq!(c.normal[*m as usize], fresh.normal[i]);
            }
        }
        detect_scenes::check(&c, &s);
    }
}

#[test]
fn a_clipped_step_never_intersects() {
    let none = ContactSet::default();
    let mut clipped = 0;
    for seed in 100..160 {
        let mut s = heap(seed);
        // Without the box, whose corners would have to leave its frame.
        s.v[300] = Vec3::zeros();
        s.v[301] = Vec3::zeros();
        let mut d = s.detector();
        s.contacts_by(&mut d, &none);
        let safe = d.safe_fraction(&s.v, 1e-6).unwrap();
        clipped += u32::from(safe < 1.0);
        let mut end = s.clone();
        for (i, x) in end.x.iter_mut().enumerate() {
            *x += s.v[i] * (H * safe);
        }
        for p in &mut end.poses {
            let now = p[0].translation + (p[1].translation - p[0].translation) * safe;
            *p = [at(now.x, now.y, now.z); 2];
        }
        let found = end.step(&none, |x| d.intersections(x)).unwrap();
        assert!(found.is_empty(), "seed {seed}: {found:?}");
    }
    assert!(clipped > 40, "{clipped}");
}

#[test]
fn the_bits_do_not_depend_on_threads_or_on_the_history_of_the_trees() {
    let run = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(threads)
            .build()
            .unwrap();
        pool.install(|| {
            let mut s = heap(3);
            let mut d = s.detector();
            let mut all = Vec::new();
            let mut previous = ContactSet::default();
            for step in 0..4 {
                let (mut c, report) = s.contacts_by(&mut d, &previous);
                let (fresh, _) = s.contacts_by(&mut s.detector(), &previous);
                assert_eq!(bits(&fresh), bits(&c), "a refitted tree and a new one");
                assert_eq!(report.rebuilt, step == 0);
                let v: Vec<Vec3> = s.v.iter().map(|v| v * -1.7).collect();
                assert!(d.more_contacts(&v, &mut c) > 0);
                all.push(bits(&c));
                previous = c;
                for (x, v) in s.x.iter_mut().zip(&s.v) {
                    *x += v * 2e-4;
                }
            }
            all
        })
    };
    let one = run(1);
    assert_eq!(one, run(2));
    assert_eq!(one, run(3));
}

fn bits(c: &ContactSet) -> Vec<u64> {
    let mut all: Vec<u64> = c
        .start
        .iter()
        .chain(&c.nodes)
        .map(|i| u64::from(*i))
        .collect();
    all.extend(c.weights.iter().chain(&c.gap).map(|w| w.to_bits()));
    let vectors = c.levers.iter().chain(&c.normal).chain(&c.k);
    all.extend(vectors.flat_map(|v| [v.x.to_bits(), v.y.to_bits(), v.z.to_bits()]));
    all.extend(c.key.iter().flat_map(|k| [k.first, k.second]));
    all
}
