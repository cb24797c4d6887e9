//! Contacts with sampled meshes, compared with analytic shapes.
#![allow(clippy::unwrap_used, clippy::panic)]

mod detect_scenes;

use std::sync::Arc;

use detect_scenes::{H, Scene, T, at, sheet};
use stiction_contact::ContactSet;
use stiction_contact::detect::{ColliderForm, ContactSource};
use stiction_geometry::analytic::{Pose, Shape};
use stiction_geometry::shapes::{BallSurface, BoxSurface, Cone};
use stiction_geometry::{LevelSet, TriMesh};
use stiction_math::{Quat, Vec3};

const CELL: f64 = 0.005;

fn sampled(s: &mut Scene, mesh: &TriMesh, poses: [Pose; 2]) -> Arc<LevelSet> {
    let set = Arc::new(LevelSet::new(mesh, CELL, 4.0 * CELL).unwrap());
    s.add(ColliderForm::LevelSet(set.clone()));
    s.poses.push(poses);
    set
}

fn ball() -> TriMesh {
    BallSurface {
        radius: 0.05,
        frequency: 12,
    }
    .build()
    .unwrap()
}

#[test]
fn a_sheet_on_a_ball_has_the_contacts_of_the_formula() {
    let poses = [at(0.003, -0.002, -0.05), at(0.003, -0.002, -0.05)];
    let (mut sampled_scene, mut exact) = (Scene::default(), Scene::default());
    for s in [&mut sampled_scene, &mut exact] {
        s.shell(sheet(21, 0.04, Vec3::new(0.0, 0.0, 0.9e-3)));
    }
    sampled(&mut sampled_scene, &ball(), poses);
    exact.shape(Shape::Sphere { radius: 0.05 }, poses);
    let (a, report) = sampled_scene.contacts();
    let (b, expected) = exact.contacts();
    assert!(a.len() > 20 && report.near == a.len());
    // The facets of the mesh lie 0.5 mm below the sphere, the field ⅜ κ cell² = 0.2 mm off it.
    let off = 0.7e-3;
    for (i, key) in a.key.iter().enumerate() {
        let Some(j) = b.key.iter().position(|k| k == key) else {
            continue;
        };
        assert!(
            (a.gap[i] - b.gap[j]).abs() < off,
            "{} {}",
            a.gap[i],
            b.gap[j]
        );
        assert!(a.normal[i].dot(&b.normal[j]) > 0.99);
    }
    assert!((report.penetration - expected.penetration).abs() < off);
}

#[test]
fn a_bullet_does_not_pass_and_arrives_when_it_does_at_the_formula() {
    // 0.5 m in one step, through a ball of 0.1 m that comes against it and spins.
    let poses = [
        at(0.0, 0.0, 0.3),
        Pose {
            rotation: Quat::from_scaled_axis(Vec3::new(0.4, 0.2, 0.9)),
            translation: Vec3::new(0.0, 0.0, 0.2),
        },
    ];
    let (mut s, mut exact) = (Scene::default(), Scene::default());
    for s in [&mut s, &mut exact] {
        s.shell(sheet(3, 0.02, Vec3::zeros()));
        s.v.fill(Vec3::new(0.3, 0.0, 0.5 / H));
    }
    let set = sampled(&mut s, &ball(), poses);
    exact.shape(Shape::Sphere { radius: 0.05 }, poses);
    let safe = |s: &Scene| {
        let mut d = s.detector();
        let mut c = ContactSet::default();
        s.step(&ContactSet::default(), |step| d.detect(step, &mut c))
            .unwrap();
        assert!(c.len() >= 9, "{}", c.len());
        (d.safe_fraction(&s.v, 0.5 * T).unwrap(), c)
    };
    let (early, contacts) = safe(&s);
    let (exactly, _) = safe(&exact);
    // The relative displacement is 0.6 m: the bound on the field as a fraction of it, and what is left undone
    // when an advancement ends.
    let slack = (set.error() + 0.5e-3) / 0.6;
    assert!(
        early > 0.0 && (early - exactly).abs() < slack + 0.02,
        "{early} {exactly}"
    );
    for n in &contacts.normal {
        assert!(n.z < -0.9, "{n}");
    }
}

#[test]
fn velocities_of_a_moving_level_set_are_those_of_the_contact_point() {
    let turn = Vec3::new(0.02, -0.01, 0.03);
    let shift = Vec3::new(1e-4, -2e-4, 0.5e-4);
    let from = at(0.0, 0.0, -0.0508);
    let to = Pose {
        rotation: Quat::from_scaled_axis(turn),
        translation: from.translation + shift,
    };
    let mut s = Scene::default();
    s.shell(sheet(5, 0.008, Vec3::zeros()));
    sampled(&mut s, &ball(), [from, to]);
    let (c, _) = s.contacts();
    assert!(!c.is_empty());
    for i in 0..c.len() {
        // The sheet is at rest: without the gap, u is minus the velocity of the level set there.
        let u = c.k[i] - c.normal[i] * (c.correction[i] / H);
        let point = s.x[c.nodes[c.start[i] as usize] as usize];
        let expected = (shift + turn.cross(&(point - from.translation))) / H;
        // Second order in the angle of 0.04 over a lever of 0.05 m, per step.
        assert!((u + expected).norm() < 1e-3 * 0.05 / H, "{u} {expected}");
    }
}

#[test]
fn edges_and_faces_are_held_where_their_vertices_are_clear() {
    // One triangle of 0.3 m over a spike: all corners and edges are far from it.
    let cone = Cone {
        radius: 0.02,
        height: 0.06,
        around: 24,
        along: 4,
    };
    let mut s = Scene::default();
    let corners = [(-0.15, -0.1), (0.15, -0.1), (0.0, 0.2)];
    let x = corners.map(|(x, y)| Vec3::new(x, y, 0.0)).to_vec();
    s.shell((x.clone(), vec![[0, 1, 2]]));
    // The field rounds the tip by less than a cell.
    let pose = at(0.01, 0.02, -0.0602 + 0.8 * CELL);
    sampled(&mut s, &cone.build().unwrap(), [pose; 2]);
    let (c, _) = s.contacts();
    assert_eq!(c.len(), 1);
    assert_eq!(c.key[0].first >> 60, 3);
    assert!(c.normal[0].z > 0.8, "{}", c.normal[0]);
    // A triangle that comes from afar is held as well.
    let mut s = Scene::default();
    s.shell((
        x.iter().map(|x| x + Vec3::z() * 0.2).collect(),
        vec![[0, 1, 2]],
    ));
    s.v.fill(Vec3::z() * (-0.4 / H));
    sampled(&mut s, &cone.build().unwrap(), [pose; 2]);
    let (c, _) = s.contacts();
    assert!(c.key.iter().any(|k| k.first >> 60 == 3));
    // An edge across the top of a bar.
    let bar = BoxSurface {
        size: [0.3, 0.02, 0.02],
        cells: [1; 3],
    };
    let mut s = Scene::default();
    let x = [(0.0, -0.15), (0.0, 0.15), (0.2, 0.0)];
    let x = x.map(|(x, y)| Vec3::new(x, y, 0.0)).to_vec();
    s.shell((x, vec![[0, 1, 2]]));
    let pose = at(0.0, 0.0, -0.0108);
    sampled(&mut s, &bar.build().unwrap(), [pose; 2]);
    let (c, _) = s.contacts();
    assert!(c.key.iter().any(|k| k.first >> 60 == 2));
    for (n, gap) in c.normal.iter().zip(&c.gap) {
        assert!(n.z > 0.99 && (gap + 0.2e-3).abs() < 1e-6, "{n} {gap}");
    }
}

#[test]
fn a_solver_that_passes_through_is_reported_and_overlap_is_measured() {
    let pose = at(0.0, 0.0, -0.06);
    let mut s = Scene::default();
    s.shell(sheet(4, 0.03, Vec3::zeros()));
    sampled(&mut s, &ball(), [pose; 2]);
    let mut d = s.detector();
    let mut c = ContactSet::default();
    s.step(&ContactSet::default(), |step| d.detect(step, &mut c))
        .unwrap();
    assert!(c.is_empty());
    let fast = vec![Vec3::z() * (-0.1 / H); s.x.len()];
    assert!(d.more_contacts(&fast, &mut c) >= 16);
    let none = s
        .step(&ContactSet::default(), |step| d.intersections(step))
        .unwrap();
    assert!(none.is_empty());
    for x in &mut s.x {
        x.z = -0.012;
    }
    let crossed = s
        .step(&ContactSet::default(), |step| d.intersections(step))
        .unwrap();
    assert!(crossed.iter().all(|c| c.second == (1, None)) && !crossed.is_empty());
    let depth = s
        .step(&ContactSet::default(), |step| d.overlap(step))
        .unwrap()
        .depth;
    assert!((depth - 2e-3 - T).abs() < 1.2e-3, "{depth}");
}
