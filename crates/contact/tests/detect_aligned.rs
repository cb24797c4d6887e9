//! Contacts of meshes that are aligned do not depend on rounding.
#![allow(clippy::unwrap_used)]

mod detect_scenes;

use detect_scenes::{Scene, T, block, sheet};
use stiction_contact::ContactKey;
use stiction_math::{Quat, Vec3};

/// The contacts of a soft block whose corners lie on edges of the cloth below it, turned by `angle`.
fn contacts_turned_by(angle: f64) -> Vec<ContactKey> {
    let turn = Quat::from_axis_angle(&Vec3::z_axis(), angle);
    let placed = |(x, t): (Vec<Vec3>, Vec<[u32; 3]>), by: Vec3| {
        (x.iter().map(|x| turn * (x + by)).collect::<Vec<_>>(), t)
    };
    let mut s = Scene::default();
    s.shell(placed(sheet(5, 0.08, Vec3::zeros()), Vec3::zeros()));
    let above = Vec3::new(0.0, 0.0, 0.01 + T);
    s.nodes(placed(block(Vec3::new(0.03, 0.02, 0.01)), above), true);
    let (contacts, _) = s.contacts();
    let mut keys = contacts.key.clone();
    keys.sort_unstable();
    keys
}

/// Rounding may add redundant pairs of edges, and never takes a contact away.
#[test]
fn turning_aligned_meshes_loses_no_contact() {
    let expected = contacts_turned_by(0.0);
    assert!(expected.len() >= 4);
    for i in 1..20 {
        let angle = 0.317 * f64::from(i);
        let found = contacts_turned_by(angle);
        let missing: Vec<_> = expected.iter().filter(|k| !found.contains(k)).collect();
        assert!(missing.is_empty(), "turned by {angle}: {missing:?}");
        assert!(
            found.len() <= expected.len() + 2,
            "turned by {angle}: {}",
            found.len()
        );
    }
}
