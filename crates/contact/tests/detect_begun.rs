//! A pair that is close from the start is listed as it is there, however late it is found.
#![allow(clippy::unwrap_used)]

mod detect_scenes;

use detect_scenes::{H, Scene, T, at, block};
use stiction_contact::ContactSet;
use stiction_contact::detect::ContactSource;
use stiction_math::Vec3;

/// Two triangles lie over an edge of a box at 45°. The contact of their common edge is left to that of the border, which is
/// nearer by 2e-5 of the slope. In the predicted motion both sink by half the thickness and turn by 0.6°, and the common
/// edge becomes the nearer one. Its contact is that of the start: with the normal of the motion, turned by θ, a cloth at
/// rest would have to leave by θ²/2 of the thickness, and would never come to rest.
#[test]
fn a_pair_found_late_keeps_the_normal_of_the_start() {
    let normal = Vec3::new(1.0, 0.0, 1.0) / 2f64.sqrt();
    let down = Vec3::new(1.0, 0.0, -1.0) / 2f64.sqrt();
    let place = |s: f64, y: f64, below: f64| {
        down * s + Vec3::new(0.0, y, 0.0) + normal * (T * (1.0 - 1e-6) - below)
    };
    let mut s = Scene::default();
    s.mesh(block(Vec3::new(0.5, 0.5, 0.5)), [at(-0.5, 0.0, -0.5); 2]);
    let x = vec![
        place(-4e-4, 0.0, 0.0),
        place(0.05, 0.0, 1e-6),
        place(0.05, 0.05, 0.0),
        place(-4e-4, 0.05, 0.0),
    ];
    s.shell((x, vec![[0, 1, 2], [0, 2, 3]]));
    let mut d = s.detector();
    let mut c = ContactSet::default();
    s.step(&ContactSet::default(), |step| d.detect(step, &mut c))
        .unwrap();
    let sinks = |more: f64| normal * (-(0.6 * T + more) / H);
    d.more_contacts(&[sinks(0.0), sinks(0.0), sinks(5e-4), sinks(0.0)], &mut c);
    // Where the common edge passes the edge of the box.
    let common = 0.05 * 4e-4 / (0.05 + 4e-4);
    let there = |i: &usize| (c.point[*i].y - common).abs() < 2e-5;
    let listed: Vec<usize> = (0..c.len()).filter(there).collect();
    assert!(!listed.is_empty(), "{:?}", c.point);
    for i in listed {
        let turned = c.normal[i].cross(&normal).norm();
        assert!(turned < 1e-4, "turned by {turned} rad");
        assert!(c.gap[i].abs() < 1e-4 * T, "gap {}", c.gap[i]);
    }
}
