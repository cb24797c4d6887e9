//! Contacts that bear a load and do not slip stay at their material points.
#![allow(clippy::unwrap_used)]

mod detect_scenes;

use detect_scenes::{H, Scene, T, check};
use stiction_contact::ContactSet;
use stiction_contact::detect::{ColliderBody, ColliderForm, Detector, HeldPoint, Points};
use stiction_math::Vec3;

/// Two rods of one segment along x, the upper one turned by small angles about y and z.
fn rods(tilt: f64, turn: f64) -> Scene {
    let mut scene = Scene::default();
    for (z, tilt, turn) in [(0.0, 0.0, 0.0), (T, tilt, turn)] {
        let first = scene.x.len() as u32;
        scene.add(ColliderForm::Body(ColliderBody {
            triangles: Vec::new(),
            rods: vec![[0, 1]],
            points: Points::nodes(first..first + 2),
            rest: vec![Vec3::new(-0.01, 0.0, 0.0), Vec3::new(0.01, 0.0, 0.0)],
            closed: false,
            self_contact: true,
            exempt: None,
        }));
        for x in [-0.01, 0.01] {
            scene.x.push(Vec3::new(x, turn * x, z + tilt * x));
        }
    }
    scene.v.resize(4, Vec3::zeros());
    scene.fixed.resize(4, false);
    scene
}

fn detect(
    scene: &Scene,
    detector: &mut Detector,
    previous: &ContactSet,
    held: &[HeldPoint],
) -> ContactSet {
    let mut out = ContactSet::default();
    scene.step(previous, |step| {
        let mut step = *step;
        step.held = held;
        detector.detect(&step, &mut out).unwrap();
    });
    check(&out, scene);
    out
}

/// The impulse of a load of 1 N·s on every contact.
fn loads(contacts: &ContactSet) -> Vec<Vec3> {
    contacts.normal.clone()
}

#[test]
fn rods_that_rest_on_each_other_keep_their_contacts() {
    let crossed = rods(0.0, 0.01);
    let mut detector = crossed.detector();
    let first = detect(&crossed, &mut detector, &ContactSet::default(), &[]);
    let held = detector.hold(&first, &crossed.v, &loads(&first));
    assert!(held.iter().any(|p| p.load > 0.0));
    // A micrometre at the ends moves the closest points by half the rods.
    let moved = rods(1e-4, 0.0101);
    let fresh = detect(&moved, &mut moved.detector(), &first, &[]);
    let kept = detect(&moved, &mut detector, &first, &held);
    for (c, point) in held.iter().enumerate().filter(|(_, p)| p.load > 0.0) {
        let at = kept.key.iter().position(|k| *k == first.key[c]).unwrap();
        let step = (kept.point[at] - first.point[c]).norm();
        assert!(step < 2e-6, "{point:?} moved by {step}");
        // No two points are closer than the closest ones.
        let least = fresh.gap.iter().copied().fold(f64::INFINITY, f64::min);
        assert!(kept.gap[at] >= least - 1e-12 * T);
    }
    // The closest points are there as well.
    let least = |c: &ContactSet| c.gap.iter().copied().fold(f64::INFINITY, f64::min);
    assert!((least(&kept) - least(&fresh)).abs() < 1e-9 * T);
}

#[test]
fn a_state_at_rest_has_the_contacts_of_the_step_before() {
    let crossed = rods(1e-5, 0.01);
    let mut detector = crossed.detector();
    let mut last = detect(&crossed, &mut detector, &ContactSet::default(), &[]);
    for _ in 0..3 {
        let held = detector.hold(&last, &crossed.v, &loads(&last));
        let next = detect(&crossed, &mut detector, &last, &held);
        assert_eq!(last.key, next.key);
        for c in 0..last.len() {
            assert!((last.point[c] - next.point[c]).norm() < 1e-15);
            assert!((last.k[c] - next.k[c]).norm() < 1e-12);
        }
        last = next;
    }
}

#[test]
fn contacts_that_slip_open_or_bear_nothing_are_forgotten() {
    let mut crossed = rods(0.0, 0.5);
    let mut detector = crossed.detector();
    let first = detect(&crossed, &mut detector, &ContactSet::default(), &[]);
    let bears = |held: &[HeldPoint]| held.iter().any(|p| p.load > 0.0);
    assert!(bears(&detector.hold(&first, &crossed.v, &loads(&first))));
    let nothing = vec![Vec3::zeros(); first.len()];
    assert!(!bears(&detector.hold(&first, &crossed.v, &nothing)));
    // A slip of a hundredth of the thickness in the step.
    let slip = Vec3::new(0.01 * T / H, 0.0, 0.0);
    let v: Vec<Vec3> = [Vec3::zeros(), Vec3::zeros(), slip, slip].to_vec();
    assert!(!bears(&detector.hold(&first, &v, &loads(&first))));
    // Out of reach.
    let held = detector.hold(&first, &crossed.v, &loads(&first));
    crossed.x[2].z += T;
    crossed.x[3].z += T;
    assert!(detect(&crossed, &mut detector, &first, &held).is_empty());
}
