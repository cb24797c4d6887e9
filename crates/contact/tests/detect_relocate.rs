//! Contacts moved to the nearest vertex of each side [li2018, Sect. 5.2].
#![allow(clippy::unwrap_used)]

mod detect_scenes;

use detect_scenes::{Scene, T, at, sheet};
use stiction_contact::detect::DetectConfig;
use stiction_contact::{ContactSet, StencilEntry};
use stiction_geometry::SplitMix;
use stiction_math::Vec3;

/// Two rough sheets on one another and on a finer, rough mesh.
fn scene() -> Scene {
    let mut random = SplitMix::new(5);
    let mut rough = |(mut x, t): (Vec<Vec3>, Vec<[u32; 3]>)| {
        for x in &mut x {
            x.z += 0.3 * T * random.uniform();
        }
        (x, t)
    };
    let mut s = Scene::default();
    s.shell(rough(sheet(9, 0.05, Vec3::new(0.0, 0.0, T))));
    s.shell(rough(sheet(8, 0.05, Vec3::new(0.002, 0.001, 2.0 * T))));
    let below = rough(sheet(30, 0.06, Vec3::zeros()));
    s.mesh(below, [at(0.0, 0.0, 0.0); 2]);
    s
}

/// The entries of one side of a contact.
fn side(c: &ContactSet, i: usize, sign: f64) -> Vec<StencilEntry> {
    let own = c.entries(i).filter(|e| e.weight * sign > 0.0);
    own.collect()
}

#[test]
fn every_contact_has_one_node_per_side_and_the_gap_of_its_points() {
    let s = scene();
    let listed = |relocate: bool| {
        let config = DetectConfig {
            relocate,
            ..DetectConfig::default()
        };
        s.contacts_by(&mut s.detector_with(config), &ContactSet::default())
            .0
    };
    let (points, nodes) = (listed(false), listed(true));
    assert_eq!(points.key, nodes.key);
    assert_eq!(points.normal, nodes.normal);
    assert_eq!(points.gap, nodes.gap);
    // Without motion of obstacles, k is the gap over the time step along the normal.
    assert_eq!(points.k, nodes.k);
    let mut moved = 0;
    for i in 0..points.len() {
        for sign in [1.0, -1.0] {
            let (before, after) = (side(&points, i, sign), side(&nodes, i, sign));
            if before.is_empty() {
                // The mesh below does not move.
                assert!(after.is_empty());
                continue;
            }
            assert_eq!(after.len(), 1);
            // Weights of a side add up to one, but for their rounding.
            assert!((after[0].weight - sign).abs() < 1e-12);
            let own = before.iter().find(|e| e.node == after[0].node).unwrap();
            let most = before.iter().map(|e| e.weight.abs()).fold(0.0, f64::max);
            assert_eq!(own.weight.abs(), most);
            moved += usize::from(before.len() > 1);
        }
    }
    // Edges and faces are in the scene.
    assert!(moved > 100, "{moved}");
}
