//! Contacts of flat pairs: the listed contacts support all of the area of contact with a solid.
//!
//! A body and a solid are placed at random, half of the time with faces or edges along each other.
//! Samples of both surfaces say where they touch; each is a wrench on the body, and the contacts must
//! span it: a force n at p is a sum of forces at the contacts with coefficients that are not negative.
//! `STICTION_LONG=1` looks at 10⁵ poses of every solid, `STICTION_LONG=2000` at 2000, `STICTION_FIRST=500` from the
//! 500th on; `STICTION_SEED=500` looks at the 500th alone and says of each force how far off it is.
#![allow(clippy::unwrap_used, clippy::panic)]

mod detect_scenes;

use detect_scenes::{Scene, T, block};
use stiction_geometry::SplitMix;
use stiction_geometry::analytic::{Pose, Shape};
use stiction_math::{Quat, Vec3};

/// A wrench: a force and its moment about the origin over a length, so that both count alike.
type Wrench = [f64; 6];

fn wrench(n: &Vec3, p: &Vec3, length: f64) -> Wrench {
    let m = p.cross(n) / length;
    [n.x, n.y, n.z, m.x, m.y, m.z]
}

/// Distance of a wrench from the cone of others: projected gradients on the coefficients.
fn distance_to_cone(target: &Wrench, cone: &[Wrench]) -> f64 {
    let dot = |a: &Wrench, b: &Wrench| a.iter().zip(b).map(|(x, y)| x * y).sum::<f64>();
    let mut rest = *target;
    let mut weights = vec![0.0; cone.len()];
    // Exact minimisation over one coefficient at a time.
    for round in 0..4000 {
        let mut change: f64 = 0.0;
        for (w, c) in weights.iter_mut().zip(cone) {
            let new = f64::max(0.0, *w + dot(&rest, c) / dot(c, c));
            for k in 0..6 {
                rest[k] -= (new - *w) * c[k];
            }
            change = change.max((new - *w).abs());
            *w = new;
        }
        if change < 1e-9 || round > 50 && dot(&rest, &rest).sqrt() < 1e-4 {
            break;
        }
    }
    dot(&rest, &rest).sqrt()
}

fn solids() -> Vec<(&'static str, Shape)> {
    let half = Vec3::new(0.03, 0.05, 0.02);
    let (radius, height) = (0.03, 0.05);
    vec![
        (
            "plane",
            Shape::Plane {
                normal: Vec3::z(),
                offset: 0.0,
            },
        ),
        ("box", Shape::Box { half }),
        ("sphere", Shape::Sphere { radius }),
        ("capsule", Shape::Capsule { radius, half: 0.04 }),
        ("cylinder", Shape::Cylinder { radius, half: 0.04 }),
        ("cone", Shape::Cone { radius, height }),
    ]
}

/// A rotation that takes z to a random one of some directions, then a random turn about z.
fn turned(random: &mut SplitMix, directions: &[Vec3]) -> Quat {
    let pick = (random.uniform() * directions.len() as f64) as usize;
    let direction = directions[pick.min(directions.len() - 1)];
    let up = Quat::rotation_between(&direction, &Vec3::z())
        .unwrap_or_else(|| Quat::from_axis_angle(&Vec3::x_axis(), std::f64::consts::PI));
    Quat::from_axis_angle(&Vec3::z_axis(), std::f64::consts::TAU * random.uniform()) * up
}

/// Outward directions of a solid along which flat bodies lie on it.
fn outward(shape: &Shape) -> Vec<Vec3> {
    match *shape {
        Shape::Cone { radius, height } => {
            let side = Vec3::new(height, 0.0, radius).normalize();
            vec![-Vec3::z(), side]
        }
        Shape::Plane { normal, .. } => vec![normal],
        _ => vec![
            Vec3::x(),
            Vec3::y(),
            Vec3::z(),
            Vec3::new(1.0, 1.0, 0.0).normalize(),
        ],
    }
}

fn random_turn(random: &mut SplitMix) -> Quat {
    let c = |random: &mut SplitMix| random.uniform() - 0.5;
    Quat::from_scaled_axis(Vec3::new(c(random), c(random), c(random)) * 6.0)
}

/// The least value of a convex function between −1 and 1, by golden sections, to 1e-10 of the interval.
fn least(f: impl Fn(f64) -> f64) -> f64 {
    const GOLDEN: f64 = 0.618_033_988_749_894_8;
    let (mut low, mut high) = (-1.0, 1.0);
    let inner = |low: f64, high: f64, part: f64| {
        let x = low + (high - low) * part;
        (x, f(x))
    };
    let (mut a, mut b) = (inner(low, high, 1.0 - GOLDEN), inner(low, high, GOLDEN));
    for _ in 0..48 {
        if a.1 < b.1 {
            (high, b) = (b.0, a);
            a = inner(low, high, 1.0 - GOLDEN);
        } else {
            (low, a) = (a.0, b);
            b = inner(low, high, GOLDEN);
        }
    }
    a.1.min(b.1)
}

/// The distance of a box from a solid that it does not enter: the distance to a convex solid is a convex function on
/// each of its sides.
fn distance_of_box(half: &Vec3, distance: impl Fn(&Vec3) -> f64) -> f64 {
    let side = |axis: usize, sign: f64| {
        least(|u| {
            least(|v| {
                let mut x = Vec3::repeat(sign);
                (x[(axis + 1) % 3], x[(axis + 2) % 3]) = (u, v);
                distance(&x.component_mul(half))
            })
        })
    };
    let sides = (0..3).flat_map(|axis| [side(axis, -1.0), side(axis, 1.0)]);
    sides.fold(f64::INFINITY, f64::min)
}

/// Points of the surface of a body: of vertices, edges and faces, also where these meet.
fn samples(x: &[Vec3], triangles: &[[u32; 3]], n: usize) -> Vec<Vec3> {
    let mut all = Vec::new();
    for t in triangles {
        let [a, b, c] = t.map(|v| x[v as usize]);
        for i in 0..=n {
            for j in 0..=n - i {
                let (u, v) = (i as f64 / n as f64, j as f64 / n as f64);
                all.push(a * (1.0 - u - v) + b * u + c * v);
            }
        }
    }
    all
}

/// One pose: none if nothing touches, else the worst distance of a sampled wrench from the cone, and a description.
fn worst(shape: &Shape, seed: u64) -> Option<(f64, String)> {
    let (random, flat) = (&mut SplitMix::new(1000 + seed), seed.is_multiple_of(2));
    let size = |r: &mut SplitMix| 0.01 * 12f64.powf(r.uniform());
    let half = Vec3::new(size(random), size(random), size(random));
    let (local, triangles) = block(half);
    // The solid turns so that one of its directions points up, the body so that one of its own
    // points down, a little askew.
    let (below, body) = match flat {
        true => {
            let axes = [Vec3::x(), Vec3::y(), Vec3::z()];
            (turned(random, &outward(shape)), turned(random, &axes))
        }
        false => (random_turn(random), random_turn(random)),
    };
    let askew = 10f64.powf(-3.0 - 8.0 * random.uniform());
    let c = |r: &mut SplitMix| r.uniform() - 0.5;
    let tilt = Vec3::new(c(random), c(random), 0.0) * askew;
    let body = Quat::from_scaled_axis(tilt) * body;
    let solid = Pose {
        rotation: below,
        translation: Vec3::zeros(),
    };
    let mut place = Vec3::new(0.1 * c(random), 0.1 * c(random), 0.0);
    // The distance of two convex solids, by projections from one to the other in turn.
    let gap = |place: &Vec3| {
        let mut p = *place;
        for _ in 0..4000 {
            let on = solid.apply(&shape.nearest(&solid.invert(&p)).point);
            let inside = body.inverse() * (on - place);
            let next = body * inside.sup(&-half).inf(&half) + place;
            let change = (next - p).norm();
            p = next;
            if change < 1e-12 {
                break;
            }
        }
        shape.nearest(&solid.invert(&p)).distance
    };
    // Down from above until it touches at the thickness.
    place.z = 0.5;
    for _ in 0..400 {
        let above = gap(&place) - T;
        if above.abs() < 1e-9 {
            break;
        }
        place.z -= above;
        if place.z < -0.3 {
            return None;
        }
    }
    // Projections converge slowly where normals are nearly parallel, and end too far away.
    let mut least = f64::INFINITY;
    for _ in 0..40 {
        least = distance_of_box(&half, |x| {
            shape.nearest(&solid.invert(&(body * x + place))).distance
        });
        if (least - T).abs() < 1e-9 {
            break;
        }
        place.z -= least - T;
    }
    if (least - T).abs() > 1e-8 {
        return None;
    }
    let x: Vec<Vec3> = local.iter().map(|p| body * p + place).collect();
    let all = samples(&x, &triangles, 24).into_iter();
    let all: Vec<(f64, Vec3)> = all
        .map(|p| (shape.nearest(&solid.invert(&p)).distance, p))
        .collect();
    let nearest = all.iter().fold(f64::INFINITY, |m, s| m.min(s.0));
    assert!(nearest > least - 1e-9, "a sample is nearer: {nearest}");
    let mut s = Scene::default();
    s.rigid((local, triangles), place);
    s.rotations[0] = body;
    s.shape(*shape, [solid; 2]);
    let (contacts, _) = s.contacts();
    let mut what = format!("{half:?} {body:?} {place:?} {below:?}");
    for i in 0..contacts.len() {
        let (point, normal) = (solid.invert(&contacts.point[i]), contacts.normal[i]);
        let (normal, gap) = (below.inverse() * normal, contacts.gap[i] / T);
        what += &format!("\ncontact at {point:?}, normal {normal:?}, gap/T {gap:.1e}");
    }
    let nearest = (0..contacts.len()).fold(f64::INFINITY, |m, i| m.min(contacts.gap[i] + T));
    // The deepest place, to a tenth of the thickness.
    if nearest > least + 0.1 * T {
        return Some((1.0, what));
    }
    let length = half.norm();
    let about = |p: &Vec3| p - place;
    let point = |i: usize| contacts.point[i];
    let cone = (0..contacts.len()).map(|i| wrench(&contacts.normal[i], &about(&point(i)), length));
    let cone: Vec<Wrench> = cone.collect();
    // Where they touch; samples stand for 1/24 of a face.
    let touching = all.iter().filter(|s| s.0 <= least + 1e-4 * T);
    let touching = touching.map(|(_, p)| (below * shape.nearest(&solid.invert(p)).normal, *p));
    let mut worst = 0.0f64;
    for (normal, p) in extreme(touching.collect()) {
        let off = distance_to_cone(&wrench(&normal, &about(&p), length), &cone);
        let (on, normal) = (solid.invert(&p), below.inverse() * normal);
        what += &format!("\nforce at {on:?}, normal {normal:?}, off by {off:.3}");
        worst = worst.max(off);
    }
    Some((worst, what))
}

/// Of forces with one normal, those at the corners of the convex hull of their points: a force at a point inside is a
/// sum of these, so that a cone that has them has it too.
fn extreme(mut forces: Vec<(Vec3, Vec3)>) -> Vec<(Vec3, Vec3)> {
    let mut all = Vec::new();
    while let Some((normal, _)) = forces.first().copied() {
        let same = |f: &(Vec3, Vec3)| (f.0 - normal).norm() < 1e-12;
        let (alike, others): (Vec<_>, Vec<_>) = forces.into_iter().partition(same);
        forces = others;
        let u = normal.cross(&Vec3::ith(normal.iamin(), 1.0)).normalize();
        let v = normal.cross(&u);
        let flat = |p: &Vec3| (p.dot(&u), p.dot(&v));
        let mut points: Vec<(f64, f64, Vec3)> = alike
            .iter()
            .map(|(_, p)| (flat(p).0, flat(p).1, *p))
            .collect();
        points.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.total_cmp(&b.1)));
        let turn = |a: &(f64, f64, Vec3), b: &(f64, f64, Vec3), c: &(f64, f64, Vec3)| {
            (b.0 - a.0) * (c.1 - a.1) - (b.1 - a.1) * (c.0 - a.0)
        };
        // The lower chain from left to right, then the upper one back.
        for direction in 0..2 {
            let mut chain: Vec<(f64, f64, Vec3)> = Vec::new();
            for p in &points {
                while let [.., a, b] = chain.as_slice()
                    && turn(a, b, p) <= 1e-14
                {
                    chain.pop();
                }
                chain.push(*p);
            }
            all.extend(chain.iter().skip(direction).map(|p| (normal, p.2)));
            points.reverse();
        }
    }
    all
}

/// Largest distance of a wrench from the cone of the contacts: a corner within 0.1 of the thickness beyond an edge has a
/// normal that leans by 0.1.
const BOUND: f64 = 0.1;

/// Poses that were missed once. Of the cone: an edge of the body crosses its side between places that are closest to apex and
/// rim, or between its ends, whose normals lean, and was held at these alone (off by 0.11, 0.27, 0.19 and 0.10; the
/// third was placed too deep by this test, too). Of the box: a corner 0.1 of the thickness beyond an edge, next to one
/// above the face, was to stand in for the edge between them (0.13); a side of the body along an edge of the box was
/// placed 1 % of the thickness too deep.
const MISSED: [(&str, u64); 6] = [
    ("box", 34_108),
    ("box", 95_760),
    ("cone", 47_254),
    ("cone", 50_610),
    ("cone", 77_960),
    ("cone", 97_041),
];

/// Looks at the poses of one solid.
fn contacts_span_all_that_touches(name: &str) {
    let number = |name: &str| std::env::var(name).ok().map(|n| n.parse().unwrap_or(1));
    let poses = match number("STICTION_LONG") {
        None => 60,
        Some(1) => 100_000,
        Some(poses) => poses,
    };
    let first = number("STICTION_FIRST").unwrap_or(0);
    let (_, shape) = solids().into_iter().find(|s| s.0 == name).unwrap();
    if let Some(seed) = number("STICTION_SEED") {
        let (worst, what) = worst(&shape, seed).unwrap();
        assert!(worst <= BOUND, "{name}, seed {seed}: {worst} {what}");
        return;
    }
    let (mut seen, mut missed, mut example) = (0, Vec::new(), String::new());
    let once = MISSED.iter().filter(|(solid, _)| *solid == name);
    for seed in (first..first + poses).chain(once.map(|(_, seed)| *seed)) {
        let Some((worst, what)) = worst(&shape, seed) else {
            assert!(!MISSED.contains(&(name, seed)), "{seed} does not touch");
            continue;
        };
        seen += 1;
        if worst > BOUND {
            missed.push(seed);
            example = format!("seed {seed}: {worst} {what}");
        }
    }
    assert!(
        seen * 4 > poses,
        "{name}: only {seen} of {poses} poses touch"
    );
    assert!(
        missed.is_empty(),
        "{name}: {missed:?} of {seen} missed, {example}"
    );
}

macro_rules! solids {
    ($($test:ident $name:literal)*) => {
        $(#[test]
        fn $test() {
            contacts_span_all_that_touches($name);
        })*
    };
}

solids! {
    contacts_with_a_plane_span_all_that_touches "plane"
    contacts_with_a_box_span_all_that_touches "box"
    contacts_with_a_sphere_span_all_that_touches "sphere"
    contacts_with_a_capsule_span_all_that_touches "capsule"
    contacts_with_a_cylinder_span_all_that_touches "cylinder"
    contacts_with_a_cone_span_all_that_touches "cone"
}
