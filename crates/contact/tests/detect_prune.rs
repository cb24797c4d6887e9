//! Contacts at the same vertices with nearly the same normal are listed once, the deepest of them
//! [li2018, Sect. 5.2].
#![allow(clippy::unwrap_used)]

mod detect_scenes;

use detect_scenes::{Scene, T, at, sheet};
use stiction_contact::ContactSet;
use stiction_contact::detect::DetectConfig;
use stiction_geometry::SplitMix;
use stiction_math::Vec3;

/// Two rough sheets on one another and on a finer, rough mesh.
fn scene() -> Scene {
    let mut random = SplitMix::new(11);
    let mut rough = |(mut x, t): (Vec<Vec3>, Vec<[u32; 3]>), size: f64| {
        for x in &mut x {
            x.z += size * random.uniform();
        }
        (x, t)
    };
    let mut s = Scene::default();
    s.shell(rough(sheet(9, 0.05, Vec3::new(0.0, 0.0, T)), 0.3 * T));
    s.shell(rough(
        sheet(8, 0.05, Vec3::new(0.002, 0.001, 2.0 * T)),
        0.3 * T,
    ));
    s.mesh(
        rough(sheet(30, 0.06, Vec3::zeros()), 0.3 * T),
        [at(0.0, 0.0, 0.0); 2],
    );
    s
}

/// The nodes with the largest weight on each side.
fn meeting(c: &ContactSet, i: usize) -> [Option<u32>; 2] {
    [1.0, -1.0].map(|sign| {
        let own = c.entries(i).filter(|e| e.weight * sign > 0.0);
        let order =
            |e: &stiction_contact::StencilEntry| (e.weight.abs(), std::cmp::Reverse(e.node));
        own.max_by(|a, b| order(a).partial_cmp(&order(b)).unwrap())
            .map(|e| e.node)
    })
}

#[test]
fn the_deepest_of_nearly_equal_contacts_stays() {
    let s = scene();
    let listed = |angle: Option<f64>| {
        let config = DetectConfig {
            prune: angle,
            ..DetectConfig::default()
        };
        s.contacts_by(&mut s.detector_with(config), &ContactSet::default())
    };
    let (all, report) = listed(None);
    assert_eq!(report.pruned, 0);
    let mut before = all.len();
    for degrees in [2.0_f64, 10.0, 29.0] {
        let angle = degrees.to_radians();
        let (few, report) = listed(Some(angle));
        assert_eq!(report.pruned, all.len() - few.len());
        // A larger angle removes more.
        assert!(few.len() < before, "{degrees}: {} of {before}", few.len());
        before = few.len();
        let same = |c: &ContactSet, i: usize, k: usize| {
            // Of rounding at the limit itself.
            let near = all.normal[i].dot(&c.normal[k]) >= angle.cos() - 1e-12;
            near && meeting(&all, i) == meeting(c, k)
        };
        for i in 0..all.len() {
            if few.key.contains(&all.key[i]) {
                continue;
            }
            // Nothing moves, so that the predicted penetration is that at the start.
            let deeper = |k: usize| same(&few, i, k) && few.gap[k] <= all.gap[i] + 1e-15;
            assert!((0..few.len()).any(deeper), "{degrees}: {i}");
        }
        for i in 0..few.len() {
            for k in 0..i {
                let near = few.normal[i].dot(&few.normal[k]) >= angle.cos() + 1e-12;
                assert!(
                    !near || meeting(&few, i) != meeting(&few, k),
                    "{degrees}: {i} {k}"
                );
            }
        }
    }
}
