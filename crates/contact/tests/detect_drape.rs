//! Three sheets fall on solids and on one another, step after step.
#![allow(clippy::unwrap_used, clippy::panic)]

mod detect_scenes;

use detect_scenes::{H, Scene, T, at, floor, sheet};
use stiction_contact::ContactSet;
use stiction_contact::detect::{ContactSource, Detector};
use stiction_geometry::SplitMix;
use stiction_geometry::analytic::Shape;
use stiction_math::Vec3;

/// Vertices along a side of a sheet.
const N: usize = 12;

fn scene(seed: u64) -> Scene {
    let mut random = SplitMix::new(seed);
    let mut s = Scene::default();
    for i in 0..3 {
        let height = 0.02 + 0.004 * f64::from(i);
        let (mut x, t) = sheet(N, 0.11, Vec3::new(0.0, 0.0, height));
        for x in &mut x {
            let mut c = || 2e-4 * (2.0 * random.uniform() - 1.0);
            *x += Vec3::new(c(), c(), c());
        }
        s.shell((x, t));
    }
    let solids = [
        (floor(), at(0.0, 0.0, 0.0)),
        (Shape::Sphere { radius: 0.012 }, at(0.02, 0.01, 0.004)),
        (
            Shape::Box {
                half: Vec3::new(0.012, 0.02, 0.008),
            },
            at(-0.03, 0.0, 0.002),
        ),
        (
            Shape::Cone {
                radius: 0.012,
                height: 0.016,
            },
            at(0.0, -0.035, 0.0),
        ),
    ];
    for (shape, pose) in solids {
        s.shape(shape, [pose; 2]);
    }
    s
}

/// Springs along the edges of the sheets: two nodes and a length.
fn springs(x: &[Vec3]) -> Vec<(usize, usize, f64)> {
    let mut all = Vec::new();
    for a in 0..x.len() {
        let (i, j) = (a % (N * N) / N, a % N);
        for (di, dj) in [(1, 0), (0, 1), (1, 1)] {
            if i + di < N && j + dj < N {
                let b = a + di * N + dj;
                all.push((a, b, (x[a] - x[b]).norm()));
            }
        }
    }
    all
}

/// Velocities that gravity and stiff springs would give.
fn predict(s: &Scene, springs: &[(usize, usize, f64)]) -> Vec<Vec3> {
    let fall = Vec3::new(0.0, 0.0, -9.81 * H);
    let both = s.x.iter().zip(&s.v);
    let mut y: Vec<Vec3> = both.map(|(x, v)| x + (v * 0.98 + fall) * H).collect();
    for _ in 0..10 {
        for &(a, b, length) in springs {
            let e = y[b] - y[a];
            let pull = e * (0.45 * (e.norm() - length) / e.norm());
            y[a] += pull;
            y[b] -= pull;
        }
    }
    y.iter().zip(&s.x).map(|(y, x)| (y - x) / H).collect()
}

/// Impulses along normals, one contact after another, until none approaches and no more appear.
fn resolve(v: &mut [Vec3], d: &mut Detector, c: &mut ContactSet) {
    for _ in 0..20 {
        for _ in 0..200 {
            let mut worst = 0.0f64;
            for i in 0..c.len() {
                let u = (c.velocity(i, v) + c.k[i]).dot(&c.normal[i]);
                if u < 0.0 {
                    worst = worst.max(-u);
                    let sum: f64 = c.entries(i).map(|e| e.weight * e.weight).sum();
                    for e in c.entries(i) {
                        v[e.node as usize] += c.normal[i] * (-u * e.weight / sum);
                    }
                }
            }
            if worst < 1e-5 {
                break;
            }
        }
        if d.more_contacts(v, c) == 0 {
            return;
        }
    }
}

#[test]
fn sheets_that_fall_on_solids_and_on_one_another_never_cross_anything() {
    let mut s = scene(1);
    let springs = springs(&s.x);
    let mut d = s.detector();
    let mut previous = ContactSet::default();
    let mut most = 0;
    for step in 0..28 {
        s.v = predict(&s, &springs);
        let (mut c, report) = s.contacts_by(&mut d, &previous);
        // Pairs are relisted once a pair is closer than half the thickness.
        assert!(report.penetration < 0.55 * T, "step {step}: {report:?}");
        let mut v = s.v.clone();
        resolve(&mut v, &mut d, &mut c);
        detect_scenes::check(&c, &s);
        assert_eq!(d.safe_fraction(&v, 1e-6).unwrap(), 1.0, "step {step}");
        for (x, v) in s.x.iter_mut().zip(&v) {
            *x += v * H;
        }
        s.v = v;
        let found = s.step(&c, |x| d.intersections(x)).unwrap();
        assert!(found.is_empty(), "step {step}: {found:?}");
        most = most.max(c.len());
        previous = c;
    }
    assert!(most > 500, "{most}");
    let lowest = s.x.iter().map(|x| x.z).fold(f64::INFINITY, f64::min);
    assert!(
        lowest > 0.5 * T && lowest < 5.0 * T,
        "they came down: {lowest}"
    );
}
