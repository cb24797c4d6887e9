//! Names of features in contact keys can be taken apart and put together again.
#![allow(clippy::unwrap_used)]

mod detect_scenes;

use detect_scenes::{Scene, T, at, block, floor, sheet};
use stiction_contact::ContactSet;
use stiction_contact::detect::Feature;
use stiction_math::Vec3;

/// Two sheets, a rigid box and a floor: vertices, edges, faces and a solid.
fn scene(n: usize) -> Scene {
    let mut s = Scene::default();
    s.shell(sheet(n, 0.1, Vec3::new(0.0, 0.0, T)));
    s.shell(sheet(5, 0.1, Vec3::new(0.003, 0.001, 2.0 * T)));
    s.rigid(
        block(Vec3::repeat(0.01)),
        Vec3::new(0.001, 0.002, 0.01 + 3.0 * T),
    );
    s.shape(floor(), [at(0.0, 0.0, 0.0); 2]);
    s
}

#[test]
fn every_key_of_a_step_comes_back() {
    let s = scene(4);
    let mut detector = s.detector();
    let (contacts, _) = s.contacts_by(&mut detector, &ContactSet::default());
    assert!(contacts.len() > 30);
    let mut kinds = [0; 4];
    for name in contacts.key.iter().flat_map(|k| [k.first, k.second]) {
        let (feature, again) = detector.feature(name).unwrap();
        assert_eq!(detector.name(&feature, again), Some(name));
        kinds[match feature {
            Feature::Vertex { .. } => 0,
            Feature::Edge { .. } => 1,
            Feature::Triangle { .. } => 2,
            Feature::Solid(_) => 3,
        }] += 1;
    }
    assert!(kinds.iter().all(|k| *k > 0), "{kinds:?}");
}

/// A finer first sheet renames all that follows it, and nothing but names.
#[test]
fn features_of_later_colliders_keep_their_own_numbers() {
    let (coarse, fine) = (scene(4).detector(), scene(7).detector());
    for feature in [
        Feature::Vertex {
            collider: 1,
            vertex: 24,
        },
        Feature::Edge {
            collider: 1,
            ends: [6, 12],
        },
        Feature::Triangle {
            collider: 2,
            triangle: 11,
        },
        Feature::Solid(coarse.name(&Feature::Solid(4 << 60 | 3 << 16), 0).unwrap()),
    ] {
        let [a, b] = [&coarse, &fine].map(|d| d.name(&feature, 2).unwrap());
        assert_eq!(a == b, matches!(feature, Feature::Solid(_)));
        assert_eq!(coarse.feature(a), Some((feature, 2)));
        assert_eq!(fine.feature(b), Some((feature, 2)));
    }
    let gone = Feature::Vertex {
        collider: 0,
        vertex: 16,
    };
    assert_eq!(coarse.name(&gone, 0), None);
    assert!(fine.name(&gone, 0).is_some());
    let no_edge = Feature::Edge {
        collider: 0,
        ends: [0, 15],
    };
    assert_eq!(coarse.name(&no_edge, 0), None);
    assert_eq!(coarse.feature(7 << 60), None);
}
