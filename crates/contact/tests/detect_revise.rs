//! Contacts that a solver has brought up to date [verschoor2019, Sect. 3.3].
#![allow(clippy::unwrap_used)]

mod detect_scenes;

use detect_scenes::{H, Scene, T, check, floor, sheet};
use stiction_contact::ContactSet;
use stiction_contact::detect::{ContactSource, MOST_TURN, RevisionRule};
use stiction_geometry::SplitMix;
use stiction_geometry::analytic::{Pose, Shape};
use stiction_math::Vec3;

fn vector(random: &mut SplitMix, scale: f64) -> Vec3 {
    let mut c = || scale * (2.0 * random.uniform() - 1.0);
    Vec3::new(c(), c(), c())
}

/// h u_N of a contact at `v` [m]: the gap at the end of the step by the linear constraint.
fn gap(c: &ContactSet, i: usize, v: &[Vec3]) -> f64 {
    H * (c.velocity(i, v) + c.k[i]).dot(&c.normal[i])
}

/// A single triangle that lies just above the origin of a ball or plane, one corner down.
fn spike(tip: Vec3) -> (Vec<Vec3>, Vec<[u32; 3]>) {
    let arm = |x: f64, y: f64| tip + Vec3::new(x, y, 0.05);
    (vec![tip, arm(0.02, 0.0), arm(-0.01, 0.02)], vec![[0, 1, 2]])
}

/// The tip moves around a ball by far more than a plane can follow.
#[test]
fn a_normal_turns_by_steps_of_at_most_15_degrees_until_the_constraint_is_exact() {
    let radius = 0.03;
    let mut s = Scene::default();
    s.shell(spike(Vec3::new(0.0, 0.0, radius + T)));
    s.shape(Shape::Sphere { radius }, [Pose::default(); 2]);
    let mut d = s.detector();
    let (mut c, _) = s.contacts_by(&mut d, &ContactSet::default());
    assert_eq!(c.len(), 1);
    assert!((c.normal[0] - Vec3::z()).norm() < 1e-12);
    // To the side of the ball, 40° down, 0.2 mm too deep.
    let angle = 40f64.to_radians();
    let direction = Vec3::new(angle.sin(), 0.0, angle.cos());
    let end = direction * (radius + 0.8 * T);
    let v = vec![(end - s.x[0]) / H; 3];
    let mut before = c.normal[0];
    for revision in 1..=3 {
        let done = d.revise(&v, &mut c, &RevisionRule::ALL);
        check(&c, &s);
        let place = done.places[0].unwrap() as usize;
        let turn = before.angle(&c.normal[place]);
        let left = before.angle(&direction);
        assert!(
            (turn - left.min(MOST_TURN)).abs() < 1e-7,
            "{revision}: {turn}"
        );
        before = c.normal[place];
    }
    assert!((before - direction).norm() < 1e-12);
    // Signed distance less the thickness, by the sphere itself.
    let place = c.key.iter().position(|k| k.first >> 56 & 0xf == 0).unwrap();
    assert!((gap(&c, place, &v) + 0.2 * T).abs() < 1e-12);
}

/// Features of two crumpled sheets: whatever the motion, each revised contact says at `v` what the
/// geometry at the end of the motion says along its normal.
#[test]
fn revised_contacts_are_exact_where_they_were_revised() {
    let (mut changed, mut exact) = (0, 0);
    for seed in 0..20 {
        let mut random = SplitMix::new(seed);
        let mut s = Scene::default();
        for k in 0..2 {
            let (mut x, t) = sheet(6, 0.06, Vec3::new(0.0, 0.0, 1.2e-3 * f64::from(k)));
            x.iter_mut().for_each(|x| *x += vector(&mut random, 1e-4));
            s.shell((x, t));
        }
        let mut d = s.detector();
        let (mut c, _) = s.contacts_by(&mut d, &ContactSet::default());
        let v: Vec<Vec3> = s.x.iter().map(|_| vector(&mut random, 0.05)).collect();
        let count = c.len();
        let done = d.revise(&v, &mut c, &RevisionRule::ALL);
        check(&c, &s);
        assert_eq!(done.places.len(), count);
        assert_eq!(c.len(), count - done.dropped() + done.added);
        changed += done.changed;
        // A second revision at the same velocities finds normals that it need not turn any more.
        let normals = c.normal.clone();
        let again = d.revise(&v, &mut c, &RevisionRule::ALL);
        for (i, place) in again.places.iter().enumerate() {
            let Some(place) = place.map(|p| p as usize) else {
                continue;
            };
            if normals[i].angle(&c.normal[place]) > 1e-6 {
                continue;
            }
            // B v + k of a revised contact is the separation of its two points at the end.
            let end = |node: u32| s.x[node as usize] + v[node as usize] * H;
            let entries = c.entries(place);
            let apart: Vec3 = entries.map(|e| end(e.node) * e.weight).sum();
            let left = c.correction[place] - c.gap[place];
            let expected = apart.dot(&c.normal[place]) - T + left;
            assert!((gap(&c, place, &v) - expected).abs() < 1e-12, "seed {seed}");
            // And its points are the closest ones: the separation is along the normal.
            exact += usize::from(apart.cross(&c.normal[place]).norm() < 1e-9);
        }
    }
    assert!(
        changed > 500 && exact > 300,
        "{changed} changed, {exact} exact"
    );
}

/// A vertex that leaves the sheet sideways loses its contact and gets it again when it returns.
#[test]
fn contacts_that_slide_off_are_dropped_and_may_come_back() {
    let mut s = Scene::default();
    s.shell(sheet(2, 0.02, Vec3::zeros()));
    s.fixed.iter_mut().for_each(|f| *f = true);
    s.shell(spike(Vec3::new(6e-3, 2e-3, 1.1 * T)));
    let mut d = s.detector();
    let (mut c, _) = s.contacts_by(&mut d, &ContactSet::default());
    assert!(!c.is_empty());
    let at_rest = c.key.clone();
    let mut v = vec![Vec3::zeros(); s.x.len()];
    v[4..].fill(Vec3::new(2.0, 0.0, 0.0));
    let done = d.revise(&v, &mut c, &RevisionRule::ALL);
    assert_eq!(done.dropped(), at_rest.len());
    // Back and down: the same pair is found again.
    v[4..].fill(Vec3::new(0.0, 0.0, -0.05));
    let back = d.revise(&v, &mut c, &RevisionRule::ALL);
    assert!(back.added > 0 && c.key.iter().any(|k| at_rest.contains(k)));
}

/// A pair that was listed several times has one contact after a revision.
#[test]
fn further_contacts_of_a_pair_are_replaced_by_one() {
    let radius = 0.03;
    let mut s = Scene::default();
    s.shell(spike(Vec3::new(0.0, 0.0, radius + T)));
    s.shape(Shape::Sphere { radius }, [Pose::default(); 2]);
    let mut d = s.detector();
    let (mut c, _) = s.contacts_by(&mut d, &ContactSet::default());
    // Along the tangent and into the ball from the side: its plane holds, and it sinks all the same.
    for x in [0.02, 0.025, 0.028] {
        let end = Vec3::new(x, 0.0, radius + T);
        let down = Vec3::new(x, 0.0, radius - 0.012);
        for end in [end, down] {
            d.more_contacts(&[(end - s.x[0]) / H; 3], &mut c);
        }
    }
    let listed = c.len();
    let v = vec![Vec3::new(0.1, 0.0, 0.0); 3];
    let done = d.revise(&v, &mut c, &RevisionRule::ALL);
    let vertices = c.key.iter().filter(|k| k.first >> 60 == 1).count();
    assert_eq!(vertices, 1, "{listed} before, {} dropped", done.dropped());
}

/// Planes stay planes: a revision of exact contacts changes nothing but rounding.
#[test]
fn contacts_with_a_plane_stay_as_they_are() {
    let mut s = Scene::default();
    s.shell(sheet(4, 0.03, Vec3::new(0.0, 0.0, 1.1 * T)));
    s.shape(floor(), [Pose::default(); 2]);
    let mut d = s.detector();
    let (mut c, _) = s.contacts_by(&mut d, &ContactSet::default());
    let old = c.clone();
    let v: Vec<Vec3> = (0..16)
        .map(|i| Vec3::new(0.1, 0.02 * f64::from(i), -0.01))
        .collect();
    let done = d.revise(&v, &mut c, &RevisionRule::ALL);
    assert_eq!((done.dropped(), done.added), (0, 0));
    for i in 0..c.len() {
        assert_eq!(c.key[i], old.key[i]);
        assert!((c.normal[i] - old.normal[i]).norm() < 1e-15);
        assert!((gap(&c, i, &v) - gap(&old, i, &v)).abs() < 1e-15);
    }
}

/// Of two vertices above a ball one comes to touch it where its plane does not say so; the other stays far.
#[test]
fn only_what_touches_against_its_plane_changes() {
    let radius = 0.03;
    let mut s = Scene::default();
    s.shell(spike(Vec3::new(0.0, 0.0, radius + T)));
    s.shape(Shape::Sphere { radius }, [Pose::default(); 2]);
    let mut d = s.detector();
    let (mut c, _) = s.contacts_by(&mut d, &ContactSet::default());
    let rule = RevisionRule::within(1e-6);
    // Level motion by x: the plane says that the gap stays zero, and it grows by x²/2R.
    let level = |x: f64| vec![Vec3::new(x / H, 0.0, 0.0); 3];
    let revise = |x: f64, d: &mut _, c: &mut ContactSet| {
        ContactSource::revise(d, &level(x), c, &rule).changed
    };
    // 0.9 µm and 1.2 µm off.
    let at = |gap: f64| (2.0 * radius * gap).sqrt();
    assert_eq!(revise(at(0.9e-6), &mut d, &mut c), 0);
    assert_eq!(revise(at(1.2e-6), &mut d, &mut c), 1);
    // What parts by plane and geometry may be off as it likes.
    let (mut c, _) = s.contacts_by(&mut d, &ContactSet::default());
    let mut v = level(at(2e-4));
    v.iter_mut().for_each(|v| v.z = 1e-4 / H);
    assert_eq!(d.revise(&v, &mut c, &rule).changed, 0);
}
