//! A pair that is close from the start is listed as it is there, however late it is found.
#![allow(clippy::unwrap_used)]

mod detect_scenes;

use detect_scenes::{H, Scene, T, at, block};
use stiction_contact::ContactSet;
use stiction_contact::detect::{ContactSource, Detector};
use stiction_math::Vec3;

/// Two triangles over an edge of a box at 45°, `x` along the slope, `y` across and `above` the edge [m].
fn over_an_edge(x: f64, y: f64, above: f64) -> Vec3 {
    let down = Vec3::new(1.0, 0.0, -1.0) / 2f64.sqrt();
    down * x + Vec3::new(0.0, y, 0.0) + normal() * above
}

fn normal() -> Vec3 {
    Vec3::new(1.0, 0.0, 1.0) / 2f64.sqrt()
}

/// The two triangles, `apart` from the box [m], the corner that only one of them has lower by `lower`.
fn triangles(apart: f64, lower: f64) -> Vec<Vec3> {
    vec![
        over_an_edge(-4e-4, 0.0, apart),
        over_an_edge(0.05, 0.0, apart - lower),
        over_an_edge(0.05, 0.05, apart),
        over_an_edge(-4e-4, 0.05, apart),
    ]
}

fn scene(x: Vec<Vec3>) -> Scene {
    let mut s = Scene::default();
    s.mesh(block(Vec3::new(0.5, 0.5, 0.5)), [at(-0.5, 0.0, -0.5); 2]);
    s.shell((x, vec![[0, 1, 2], [0, 2, 3]]));
    s
}

/// The contacts where the common edge of the triangles passes the edge of the box.
fn of_common_edge(c: &ContactSet) -> Vec<usize> {
    let common = 0.05 * 4e-4 / (0.05 + 4e-4);
    let there = |i: &usize| (c.point[*i].y - common).abs() < 2e-5;
    let listed: Vec<usize> = (0..c.len()).filter(there).collect();
    assert!(!listed.is_empty(), "{:?}", c.point);
    listed
}

/// Contacts of a motion in which the triangles sink to 0.4 of their distance `apart` and turn by 0.6° of it.
fn sunk(s: &Scene, d: &mut Detector, apart: f64) -> ContactSet {
    let mut c = ContactSet::default();
    s.step(&ContactSet::default(), |step| d.detect(step, &mut c))
        .unwrap();
    let sinks = |more: f64| normal() * (-(0.6 + more) * apart / H);
    d.more_contacts(&[sinks(0.0), sinks(0.0), sinks(0.5), sinks(0.0)], &mut c);
    c
}

/// The contact of the common edge is left to that of the border, which is
/// nearer by 2e-5 of the slope. In the predicted motion both sink by half the thickness and turn by 0.6°, and the common
/// edge becomes the nearer one. Its contact is that of the start: with the normal of the motion, turned by θ, a cloth at
/// rest would have to leave by θ²/2 of the thickness, and would never come to rest.
#[test]
fn a_pair_found_late_keeps_the_normal_of_the_start() {
    let apart = T * (1.0 - 1e-6);
    let s = scene(triangles(apart, 1e-6));
    let c = sunk(&s, &mut s.detector(), apart);
    for i in of_common_edge(&c) {
        let turned = c.normal[i].cross(&normal()).norm();
        assert!(turned < 1e-4, "turned by {turned} rad");
        assert!(c.gap[i].abs() < 1e-4 * T, "gap {}", c.gap[i]);
    }
}

/// The two triangles begin at half the thickness. The late contact corrects nothing and leaves the whole overlap to later
/// steps. In the next one the common edge is the nearer, and rises by h/(5 s) of the thickness and by what it has
/// come down, 2e-6 m at most, not by half the thickness at once.
#[test]
fn an_overlap_of_a_pair_found_by_its_motion_is_left_to_later_steps() {
    let mut s = scene(triangles(0.5 * T, 1e-6));
    let mut d = s.detector();
    let late = sunk(&s, &mut d, 0.5 * T);
    for i in of_common_edge(&late) {
        let left = late.correction[i] - late.gap[i];
        assert_eq!(late.correction[i], 0.0);
        assert!((left - 0.5 * T).abs() < 2e-6, "left {left}");
    }
    s.x = triangles(0.5 * T, -1e-6);
    let (next, _) = s.contacts_by(&mut d, &late);
    for i in of_common_edge(&next) {
        let correction = next.correction[i];
        assert!((next.gap[i] + 0.5 * T).abs() < 2e-6, "gap {}", next.gap[i]);
        assert!(
            (-H * T / 5.0 - 2e-6..0.0).contains(&correction),
            "{correction}"
        );
    }
}
