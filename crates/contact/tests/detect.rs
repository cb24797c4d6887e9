//! Contacts against values computed by hand.
#![allow(clippy::unwrap_used, clippy::panic)]

mod detect_scenes;

use detect_scenes::{H, Scene, T, at, block, floor, sheet};
use std::sync::Arc;

use stiction_contact::detect::{
    Collider, ColliderBody, ColliderForm, ContactSource, Crossing, DetectConfig, DetectError,
    Detector, Laws, PairLaw, Points, match_keys,
};
use stiction_contact::{ContactSet, FrictionProblem};
use stiction_geometry::analytic::{Pose, Shape};
use stiction_math::{BlockPattern, Mat3, PartShape, Quat, SystemMatrix, Vec3};

#[test]
fn every_vertex_of_a_sheet_touches_the_floor_below_it() {
    let mut s = Scene::default();
    s.shell(sheet(5, 0.1, Vec3::new(0.0, 0.0, 1.2e-3)));
    // The floor rises by a tenth of a millimetre and moves aside by two.
    s.shape(floor(), [at(0.0, 0.0, 0.0), at(2e-3, 0.0, 1e-4)]);
    let (c, report) = s.contacts();
    assert_eq!(c.len(), 25);
    assert_eq!(report.near, 25);
    assert_eq!(report.penetration, 0.0);
    for i in 0..25 {
        assert_eq!(
            c.nodes[i], i as u32,
            "contacts are in the order of vertices"
        );
        assert_eq!(c.weights[i], 1.0);
        assert_eq!(c.normal[i], Vec3::z());
        assert!((c.gap[i] - 0.2e-3).abs() < 1e-15);
        let k = Vec3::new(-2e-3, 0.0, -1e-4 + 0.2e-3) / H;
        assert!((c.k[i] - k).norm() < 1e-12, "{:?}", c.k[i]);
        assert_eq!(c.mu[i], 0.3);
        assert_eq!(c.pair[i], [10, 11]);
    }
    // Out of reach of proximity: only those that would come within the thickness.
    for x in &mut s.x {
        x.z = 5e-3;
    }
    assert_eq!(s.contacts().0.len(), 0);
    s.v[7].z = -0.45;
    let (c, report) = s.contacts();
    assert_eq!((c.len(), report.near), (1, 0));
    assert_eq!(c.nodes, [7]);
    assert!((c.gap[0] - 4e-3).abs() < 1e-15);
    s.v[7].z = -0.35;
    assert_eq!(s.contacts().0.len(), 0);
}

/// Two large triangles over something small.
fn tablecloth(z: f64) -> Scene {
    let mut s = Scene::default();
    s.shell(sheet(2, 0.2, Vec3::new(0.0, 0.0, z)));
    s
}

#[test]
fn a_box_edge_touches_the_edge_of_a_sheet_between_its_vertices() {
    // A bar along y, turned by 45° about it so that its edge points up.
    let half = Vec3::new(0.01, 0.3, 0.01);
    let top = 0.01 * 2f64.sqrt();
    let turned = Pose {
        rotation: Quat::from_axis_angle(&Vec3::y_axis(), std::f64::consts::FRAC_PI_4),
        translation: Vec3::new(0.02, 0.0, 0.0),
    };
    let mut s = tablecloth(top + 0.8e-3);
    s.shape(Shape::Box { half }, [turned; 2]);
    let (c, _) = s.contacts();
    // Two sides and the diagonal of the square cross the bar.
    assert_eq!(c.len(), 3, "{c:?}");
    for i in 0..3 {
        assert!((c.normal[i] - Vec3::z()).norm() < 1e-6, "{:?}", c.normal[i]);
        assert!((c.gap[i] + 0.2e-3).abs() < 1e-9);
        let place: Vec3 = c.entries(i).map(|e| s.x[e.node as usize] * e.weight).sum();
        assert!((place.x - 0.02).abs() < 1e-6);
    }
    // The same from above, by motion.
    for (x, v) in s.x.iter_mut().zip(&mut s.v) {
        x.z += 0.02;
        v.z = -2.5;
    }
    let (c, report) = s.contacts();
    assert_eq!((c.len(), report.near), (3, 0));
    for i in 0..3 {
        assert!((c.normal[i] - Vec3::z()).norm() < 1e-2);
        assert!((c.gap[i] - 19.8e-3).abs() < 1e-4);
    }
}

#[test]
fn solids_smaller_than_a_triangle_touch_its_middle() {
    // Each reaches up to z = 0.03 below the middle of the lower triangle.
    let cases = [
        (Shape::Sphere { radius: 0.01 }, at(0.03, -0.03, 0.02), 1),
        (
            Shape::Cone {
                radius: 0.01,
                height: 0.03,
            },
            at(0.03, -0.03, 0.0),
            1,
        ),
        (
            Shape::Box {
                half: Vec3::repeat(0.01),
            },
            at(0.03, -0.03, 0.02),
            4,
        ),
        (
            Shape::Cylinder {
                radius: 0.01,
                half: 0.01,
            },
            at(0.03, -0.03, 0.02),
            16,
        ),
        (
            Shape::Capsule {
                radius: 0.01,
                half: 0.01,
            },
            at(0.03, -0.03, 0.01),
            1,
        ),
        (
            Shape::Torus {
                major: 0.01,
                minor: 0.005,
            },
            at(0.03, -0.03, 0.025),
            16,
        ),
    ];
    for (shape, pose, count) in cases {
        let mut s = tablecloth(0.03 + 0.9e-3);
        s.shape(shape, [pose; 2]);
        let (c, _) = s.contacts();
        assert_eq!(c.len(), count, "{shape:?}");
        for i in 0..c.len() {
            assert!((c.normal[i] - Vec3::z()).norm() < 1e-9, "{shape:?}");
            assert!((c.gap[i] + 0.1e-3).abs() < 1e-12, "{shape:?}");
            assert!((c.weights[c.start[i] as usize..].iter().take(3).sum::<f64>() - 1.0) < 1e-12);
        }
        // From far above, by motion: no solid is passed.
        for (x, v) in s.x.iter_mut().zip(&mut s.v) {
            x.z += 0.05;
            v.z = -10.0;
        }
        let (c, _) = s.contacts();
        assert!(c.len() >= count.min(4), "{shape:?}: {}", c.len());
        for i in 0..c.len() {
            assert!(c.normal[i].z > 0.999, "{shape:?} {:?}", c.normal[i]);
        }
    }
}

#[test]
fn two_sheets_one_above_the_other_touch_by_vertices_and_edges() {
    let mut s = Scene::default();
    s.shell(sheet(4, 0.03, Vec3::zeros()));
    // Moved aside so that no vertices or edges coincide.
    s.shell(sheet(4, 0.03, Vec3::new(1.7e-3, 2.9e-3, 0.7e-3)));
    let (c, report) = s.contacts();
    assert!(report.near == c.len() && c.len() > 9, "{report:?}");
    assert!((report.penetration - 0.3e-3).abs() < 1e-15);
    for i in 0..c.len() {
        // Borders overhang, and there contacts lean outward; all others are upright.
        let sum: f64 = c.entries(i).map(|e| e.weight).sum();
        assert!(sum.abs() < 1e-12, "weights of the sides cancel");
        let first = c.entries(i).next().unwrap();
        let up = if first.node >= 16 { 1.0 } else { -1.0 };
        assert!(
            (c.normal[i] - Vec3::z() * up).norm() < 1e-9,
            "{:?}",
            c.normal[i]
        );
        assert!((c.gap[i] + 0.3e-3).abs() < 1e-12);
        assert!((c.k[i] - c.normal[i] * (c.correction[i] / H)).norm() < 1e-15);
    }
}

#[test]
fn bodies_sliding_over_a_flat_mesh_are_not_held_up_by_its_inner_edges() {
    let mut s = Scene::default();
    s.mesh(sheet(9, 0.08, Vec3::zeros()), [at(0.0, 0.0, 0.0); 2]);
    // A small triangle on top, its lowest corner at many places relative to edges and vertices.
    for i in 0..40 {
        let x = -0.0213 + 0.0011 * f64::from(i);
        let tip = Vec3::new(x, 0.37 * x, 1.1e-3);
        let mut s = s.clone();
        let corners = vec![
            tip,
            tip + Vec3::new(1e-3, 0.0, 0.02),
            tip + Vec3::new(0.0, 1e-3, 0.02),
        ];
        s.shell((corners, vec![[0, 1, 2]]));
        s.v[0] = Vec3::new(0.5, 0.1, -0.05);
        let (c, _) = s.contacts();
        assert!(!c.is_empty());
        for i in 0..c.len() {
            let sign = if c.weights[c.start[i] as usize] > 0.0 {
                1.0
            } else {
                -1.0
            };
            assert!((c.normal[i] * sign).z > 0.9, "{:?}", c.normal[i]);
        }
    }
}

#[test]
fn crossing_edges_touch_once_and_crossing_sheets_are_reported() {
    let mut s = Scene::default();
    let a = vec![
        Vec3::new(-1.0, 0.0, 0.0),
        Vec3::new(1.0, 0.0, 0.0),
        Vec3::new(0.0, 0.0, -1.0),
    ];
    let d = 0.8e-3;
    let b = vec![
        Vec3::new(0.0, -1.0, d),
        Vec3::new(0.0, 1.0, d),
        Vec3::new(0.0, 0.0, 1.0),
    ];
    s.shell((a, vec![[0, 1, 2]]));
    s.shell((b, vec![[0, 1, 2]]));
    let (c, _) = s.contacts();
    assert_eq!(c.len(), 1);
    assert_eq!(c.normal[0], -Vec3::z());
    assert!((c.gap[0] - (d - T)).abs() < 1e-15);
    let entries: Vec<(u32, f64)> = c.entries(0).map(|e| (e.node, e.weight)).collect();
    assert_eq!(entries, [(0, 0.5), (1, 0.5), (3, -0.5), (4, -0.5)]);
    let d = s.detector();
    let none = ContactSet::default();
    assert!(s.step(&none, |s| d.intersections(s)).unwrap().is_empty());
    for x in &mut s.x[3..] {
        x.z -= 0.1;
    }
    let crossing = Crossing {
        first: (0, 0),
        second: (1, Some(0)),
    };
    assert_eq!(s.step(&none, |s| d.intersections(s)).unwrap(), [crossing]);
    s.shape(Shape::Sphere { radius: 0.1 }, [at(0.5, 0.0, -0.2); 2]);
    let d = s.detector();
    let found = s.step(&none, |s| d.intersections(s)).unwrap();
    let solid = Crossing {
        first: (0, 0),
        second: (2, None),
    };
    assert_eq!(found, [crossing, solid]);
}

#[test]
fn a_sheet_at_rest_does_not_touch_itself_even_if_thicker_than_its_edges() {
    let mut s = Scene::default();
    s.shell(sheet(20, 0.02, Vec3::zeros()));
    s.colliders[0].thickness = 4e-3;
    assert_eq!(s.contacts().0.len(), 0);
    // Folded over a line, its halves touch; at rest they are far apart.
    for x in &mut s.x {
        if x.x > 0.0 {
            *x = Vec3::new(-x.x, x.y + 1e-4, 2e-3);
        }
    }
    let (c, _) = s.contacts();
    assert!(c.len() > 100);
    assert!(c.gap.iter().any(|g| (g + 2e-3).abs() < 1e-12));
}

#[test]
fn prescribed_blocks_move_contacts_and_are_not_named() {
    let mut s = Scene::default();
    s.shell(sheet(2, 0.1, Vec3::new(0.0, 0.0, 0.0)));
    let tip = Vec3::new(0.02, -0.01, 0.9e-3);
    s.shell((
        vec![
            tip,
            tip + Vec3::new(0.1, 0.0, 0.1),
            tip + Vec3::new(0.0, 0.1, 0.1),
        ],
        vec![[0, 1, 2]],
    ));
    for i in 0..4 {
        s.fixed[i] = true;
        s.v[i] = Vec3::new(0.3, 0.0, 0.02);
    }
    let (c, _) = s.contacts();
    assert_eq!(c.nodes, [4]);
    let k = Vec3::new(-0.3, 0.0, -0.02 + c.correction[0] / H);
    assert!((c.k[0] - k).norm() < 1e-12, "{:?}", c.k[0]);
    // The solver's velocities of prescribed blocks are not used.
    let mut d = s.detector();
    let (mut c, _) = s.contacts_by(&mut d, &ContactSet::default());
    assert_eq!(d.more_contacts(&[Vec3::zeros(); 7], &mut c), 0);
    for i in 4..7 {
        s.fixed[i] = true;
    }
    assert_eq!(s.contacts().0.len(), 0, "nothing here can move");
}

#[test]
fn a_vertex_inside_a_closed_body_is_pushed_out_and_thin_bodies_are_not_seen_from_behind() {
    let mut s = Scene::default();
    s.rigid(block(Vec3::new(0.1, 0.1, 0.01)), Vec3::zeros());
    let tip = Vec3::new(0.02, -0.03, 0.01 - 0.4e-3);
    let spike = |tip: Vec3| {
        let up = [Vec3::new(0.01, 0.0, 0.05), Vec3::new(0.0, 0.01, 0.05)];
        (vec![tip, tip + up[0], tip + up[1]], vec![[0, 1, 2]])
    };
    s.shell(spike(tip));
    let (c, report) = s.contacts();
    let of_tip = (0..c.len()).filter(|i| c.nodes[c.start[*i] as usize] == 2);
    let of_tip: Vec<usize> = of_tip.collect();
    assert_eq!(of_tip.len(), 1);
    let i = of_tip[0];
    assert_eq!(c.normal[i], Vec3::z());
    assert!((c.gap[i] + 1.4e-3).abs() < 1e-12);
    assert!((report.penetration - 1.4e-3).abs() < 1e-12);
    let none = ContactSet::default();
    let mut d = s.detector();
    let found = s.step(&none, |x| d.overlap(x)).unwrap();
    assert!((found.depth - 1.4e-3).abs() < 1e-12);
    // The thickness is 1 mm: the vertex has passed the face by 0.4 mm.
    assert!((found.share - 1.4).abs() < 1e-9);
    // A card half a millimetre thick, the vertex above it: only the upper face counts.
    let mut s = Scene::default();
    s.rigid(block(Vec3::new(0.1, 0.1, 0.25e-3)), Vec3::zeros());
    s.shell(spike(Vec3::new(0.02, -0.03, 0.25e-3 + 0.6e-3)));
    let (c, _) = s.contacts();
    assert_eq!(c.len(), 1);
    assert_eq!(c.normal[0], Vec3::z());
    assert!((c.gap[0] + 0.4e-3).abs() < 1e-12);
}

#[test]
fn a_vertex_that_slipped_through_a_sheet_is_sent_back_where_it_came_from() {
    let mut s = tablecloth(0.0);
    let tip = Vec3::new(0.02, -0.03, 0.2e-3);
    s.shell((
        vec![
            tip,
            tip + Vec3::new(0.1, 0.0, 0.1),
            tip + Vec3::new(0.0, 0.1, 0.1),
        ],
        vec![[0, 1, 2]],
    ));
    let (before, _) = s.contacts();
    assert_eq!(before.len(), 1);
    s.x[4].z = -0.1e-3;
    let (after, _) = s.contacts_by(&mut s.detector(), &before);
    let kept = match_keys(&before.key, &after.key);
    let i = kept.iter().position(|m| *m == Some(0)).unwrap();
    assert_eq!(after.normal[i], Vec3::z());
    assert!((after.gap[i] + 1.1e-3).abs() < 1e-12);
}

#[test]
fn a_box_on_a_box_is_held_at_all_its_corners() {
    let half = Vec3::new(0.05, 0.04, 0.02);
    for (dx, dy, turn) in [
        (0.0, 0.0, 0.0),
        (0.03, 0.0, 0.0),
        (0.02, 0.015, 0.0),
        (0.0, 0.0, 0.5),
    ] {
        let mut s = Scene::default();
        s.rigid(block(half), Vec3::zeros());
        s.rigid(block(half), Vec3::new(dx, dy, 2.0 * half.z + 0.9 * T));
        s.rotations[1] = Quat::from_scaled_axis(Vec3::new(0.0, 0.0, turn));
        let (c, _) = s.contacts();
        let mut corners = [false; 4];
        for i in 0..c.len() {
            let sign = if c.pair[i] == [11, 10] { 1.0 } else { -1.0 };
            assert!(
                (c.normal[i] * sign - Vec3::z()).norm() < 1e-9,
                "{dx} {dy} {turn}"
            );
            assert!((c.gap[i] + 0.1 * T).abs() < 1e-12);
            // The place relative to the middle of the common face.
            let lever = c.entries(i).find(|e| e.node == 1).unwrap().lever * -sign;
            let (x, y) = (lever.x - 0.5 * dx, lever.y - 0.5 * dy);
            if x.abs() > 0.01 && y.abs() > 0.01 {
                corners[usize::from(x > 0.0) + 2 * usize::from(y > 0.0)] = true;
            }
        }
        assert_eq!(corners, [true; 4], "{dx} {dy} {turn}");
    }
}

/// A chain of nodes without triangles.
fn rod(s: &mut Scene, x: &[Vec3], rest: &[Vec3]) {
    let first = s.x.len() as u32;
    s.add(ColliderForm::Body(ColliderBody {
        triangles: Vec::new(),
        rods: (1..x.len() as u32).map(|i| [i - 1, i]).collect(),
        points: Points::nodes(first..first + x.len() as u32),
        rest: rest.to_vec(),
        closed: false,
        self_contact: true,
        exempt: None,
    }));
    s.blocks(x);
}

#[test]
fn rods_touch_one_another_themselves_and_bodies_below() {
    let straight: Vec<Vec3> = (0..12)
        .map(|i| Vec3::new(5e-3 * f64::from(i), 0.0, 0.0))
        .collect();
    let across: Vec<Vec3> = (0..4)
        .map(|i| Vec3::new(0.0121, 5e-3 * f64::from(i) - 7e-3, 0.9e-3))
        .collect();
    let mut s = Scene::default();
    rod(&mut s, &straight, &straight);
    rod(&mut s, &across, &across);
    let (c, _) = s.contacts();
    assert_eq!(c.len(), 1, "two rods cross once");
    assert_eq!(c.normal[0], -Vec3::z());
    assert!((c.gap[0] + 0.1e-3).abs() < 1e-15);
    // Bent to a narrow hairpin: the legs touch along their length, though each place of one leg
    // is nearer to the bend on the other.
    let hairpin: Vec<Vec3> = (0..12)
        .map(|i| match i {
            0..6 => straight[i],
            _ => Vec3::new(
                straight[11 - i].x - 2e-3,
                1.2e-3 - 0.1 * straight[11 - i].x * 0.2,
                0.0,
            ),
        })
        .collect();
    let mut s = Scene::default();
    rod(&mut s, &hairpin, &straight);
    let (c, _) = s.contacts();
    assert!(c.len() >= 6, "{}", c.len());
    let legs = |i: usize| c.entries(i).map(|e| e.node).collect::<Vec<_>>();
    for node in [0, 1, 2] {
        assert!(
            (0..c.len()).any(|i| legs(i).contains(&node)),
            "node {node} is free"
        );
    }
    // Over a box, flat and then bent down on both sides.
    let mut s = Scene::default();
    rod(&mut s, &straight, &straight);
    let half = Vec3::new(1e-3, 0.1, 0.01);
    s.shape(Shape::Box { half }, [at(0.0125, 0.0, -0.01 - 0.9 * T); 2]);
    let (c, _) = s.contacts();
    assert_eq!(
        c.len(),
        2,
        "both edges of the narrow box are between two nodes"
    );
    let mut places: Vec<f64> = c.point.iter().map(|p| p.x).collect();
    places.sort_unstable_by(f64::total_cmp);
    for i in 0..2 {
        assert_eq!(c.normal[i], Vec3::z());
        assert!((c.gap[i] + 0.1 * T).abs() < 1e-12);
        let edge = 0.0125 + 1e-3 * (2.0 * i as f64 - 1.0);
        assert!((places[i] - edge).abs() < 1e-9, "{places:?}");
    }
    for x in &mut s.x {
        x.z = -0.35 * (x.x - 0.0125).abs();
    }
    let (c, _) = s.contacts();
    assert!(!c.is_empty());
    assert!(c.normal.iter().all(|n| n.z > 0.5));
}

/// One rod lies over another at the start of a step and under it at the end. Whether it passed through
/// or came around, which shows in no normal, decides which side it is on.
#[test]
fn rods_that_roll_around_one_another_have_not_passed() {
    let d = 0.9 * T;
    let over = |slope: f64, shift: f64, z: f64| {
        let end = |x: f64| Vec3::new(0.02 * x, slope * x + shift, z);
        [end(-1.0), end(1.0)]
    };
    let along = [Vec3::new(-0.02, 0.0, 0.0), Vec3::new(0.02, 0.0, 0.0)];
    let around = (over(-9.0 * d, 0.0, d), over(10.0 * d, 5.0 * d, -d));
    let through = (over(-9.0 * d, 0.0, d), over(-9.0 * d, 0.0, -d));
    for ((start, end), side) in [(around, 1.0), (through, -1.0)] {
        let mut s = Scene::default();
        rod(&mut s, &along, &along);
        rod(&mut s, &start, &start);
        let mut detector = s.detector();
        let (mut before, _) = s.contacts_by(&mut detector, &ContactSet::default());
        assert_eq!(before.len(), 1);
        assert_eq!(before.normal[0], -Vec3::z());
        for i in 0..2 {
            s.v[2 + i] = (end[i] - start[i]) / H;
        }
        detector.follow_sides(&s.v, &mut before);
        s.x[2..].copy_from_slice(&end);
        s.v.fill(Vec3::zeros());
        let (after, _) = s.contacts_by(&mut detector, &before);
        assert_eq!(after.key, before.key);
        assert!((after.normal[0] - Vec3::z() * side).norm() < 1e-6);
        // Those that came around touch; those that passed are two thicknesses from where they belong.
        let gap = side * d - T;
        assert!((after.gap[0] - gap).abs() < 1e-9, "{} {gap}", after.gap[0]);
    }
}

#[test]
fn keys_last_while_a_sheet_slides() {
    let mut s = Scene::default();
    s.shell(sheet(8, 0.07, Vec3::new(0.0, 0.0, T)));
    s.shape(floor(), [at(0.0, 0.0, 0.0); 2]);
    s.mesh(
        sheet(2, 0.5, Vec3::new(3.3e-3, 0.0, 2.0 * T)),
        [at(0.0, 0.0, 0.0); 2],
    );
    let mut d = s.detector();
    let (mut last, _) = s.contacts_by(&mut d, &ContactSet::default());
    for _ in 0..20 {
        for x in &mut s.x {
            *x += Vec3::new(1e-4, 2e-4, 0.0);
        }
        let (next, _) = s.contacts_by(&mut d, &last);
        let matched = match_keys(&last.key, &next.key);
        // All contacts with the floor, and all vertices with the large triangles except those
        // that cross the diagonal between them.
        let kept = matched.iter().flatten().count();
        assert!(kept + 12 > next.len(), "{kept} of {}", next.len());
        let floor = (0..next.len()).filter(|i| next.pair[*i] == [10, 11]);
        assert!(floor.clone().count() == 64 && floor.clone().all(|i| matched[i].is_some()));
        for (i, m) in matched.iter().enumerate() {
            if let Some(m) = m {
                assert_eq!(last.key[*m as usize], next.key[i]);
            }
        }
        last = next;
    }
}

#[test]
fn features_that_leave_their_box_are_searched_again() {
    let mut s = Scene::default();
    s.shell(sheet(6, 0.05, Vec3::zeros()));
    s.shell(sheet(6, 0.05, Vec3::new(1.1e-3, 0.7e-3, 0.2)));
    let mut d = s.detector();
    let (mut c, _) = s.contacts_by(&mut d, &ContactSet::default());
    assert_eq!(c.len(), 0);
    let mut v = s.v.clone();
    for v in &mut v[36..] {
        v.z = -25.0;
    }
    let added = d.more_contacts(&v, &mut c);
    assert!(added > 36 && added == c.len(), "{added}");
    detect_scenes::check(&c, &s);
    // As found at once by a search with these velocities.
    s.v = v.clone();
    let (direct, _) = s.contacts();
    let sorted = |c: &ContactSet| {
        let mut k = c.key.clone();
        k.sort_unstable();
        k
    };
    assert!(
        sorted(&direct) == sorted(&c),
        "{} {}",
        direct.len(),
        c.len()
    );
    assert_eq!(d.more_contacts(&v, &mut c), 0, "nothing is listed twice");
    v[40].x = f64::NAN;
    assert_eq!(d.more_contacts(&v, &mut c), 0);
}

#[test]
fn cohesion_and_compliance_share_the_area() {
    let mut s = Scene::default();
    s.shell(sheet(5, 0.1, Vec3::new(0.0, 0.0, T)));
    s.shape(floor(), [at(0.0, 0.0, 0.0); 2]);
    let laws = Laws::new(1, |_, _| PairLaw {
        mu: 0.1,
        kinetic: None,
        cohesion: 50.0,
        compliance: 1e-6,
    });
    let mut d = Detector::new(s.colliders.clone(), laws, DetectConfig::paper()).unwrap();
    let (c, _) = s.contacts_by(&mut d, &ContactSet::default());
    // 50 Pa on 0.01 m² for one step.
    assert!((c.cohesion.iter().sum::<f64>() - 50.0 * 0.01 * H).abs() < 1e-12);
    let stiffness: f64 = c.compliance.iter().map(|c| 1.0 / (c * H * H)).sum();
    assert!((stiffness - 0.01 / 1e-6).abs() < 1e-6 * stiffness);
}

/// Full at a gap of nothing, half at T/4, gone at T/2 where contacts end [daviet2020, Sect. 7.4].
#[test]
fn cohesion_falls_off_linearly_with_the_gap() {
    for (gap, fraction) in [
        (-0.1, 1.0),
        (0.0, 1.0),
        (0.125, 0.75),
        (0.25, 0.5),
        (0.45, 0.1),
    ] {
        let mut s = Scene::default();
        s.shell(sheet(5, 0.1, Vec3::new(0.0, 0.0, T * (1.0 + gap))));
        s.shape(floor(), [at(0.0, 0.0, 0.0); 2]);
        let laws = Laws::new(1, |_, _| PairLaw {
            mu: 0.1,
            kinetic: None,
            cohesion: 50.0,
            compliance: 0.0,
        });
        let mut d = Detector::new(s.colliders.clone(), laws, DetectConfig::paper()).unwrap();
        let (c, _) = s.contacts_by(&mut d, &ContactSet::default());
        let pull: f64 = c.cohesion.iter().sum();
        assert!(
            (pull - fraction * 50.0 * 0.01 * H).abs() < 1e-9 * H,
            "{gap}: {pull}"
        );
    }
}

#[test]
fn a_problem_with_detected_contacts_is_sound_and_nothing_gives_nothing() {
    let mut s = Scene::default();
    s.shell(sheet(4, 0.05, Vec3::new(0.0, 0.0, 0.8 * T)));
    let turned = Vec3::new(0.0, 0.0, 0.01 + 2.0 * T);
    s.rigid(block(Vec3::repeat(0.01)), turned);
    s.shape(floor(), [at(0.0, 0.0, 0.0); 2]);
    s.fixed[3] = true;
    let (contacts, _) = s.contacts();
    assert!(!contacts.levers.is_empty() && contacts.len() > 15);
    let n = s.x.len();
    let pattern = BlockPattern::from_cliques(n, std::iter::empty::<&[u32]>()).unwrap();
    let mut a = SystemMatrix::new(vec![PartShape::Sparse(Arc::new(pattern))], &[]);
    for i in 0..n {
        assert!(a.add(i, i, &Mat3::identity()));
    }
    let mut problem = FrictionProblem::new(a, vec![Vec3::zeros(); n], H);
    problem.fixed = s.fixed.clone();
    problem.contacts = contacts;
    problem.check().unwrap();

    let empty = Scene::default();
    assert_eq!(empty.contacts().0.len(), 0);
    let mut alone = Scene::default();
    alone.shape(floor(), [at(0.0, 0.0, 0.0); 2]);
    assert_eq!(alone.contacts().0.len(), 0);
}

#[test]
fn bad_input_is_refused_by_name() {
    let mut s = Scene::default();
    s.shell(sheet(3, 0.1, Vec3::zeros()));
    s.shape(floor(), [at(0.0, 0.0, 0.0); 2]);
    let (mut d, mut out) = (s.detector(), ContactSet::default());
    let none = ContactSet::default();
    let mut bad = s.clone();
    bad.poses.clear();
    let error = bad.step(&none, |x| d.detect(x, &mut out)).unwrap_err();
    assert!(
        matches!(
            error,
            DetectError::Length {
                column: "obstacles",
                ..
            }
        ),
        "{error}"
    );
    let mut bad = s.clone();
    bad.x[4].y = f64::NAN;
    let error = bad.step(&none, |x| d.detect(x, &mut out)).unwrap_err();
    assert!(error.to_string().contains("vertex 4"), "{error}");
    let mut bad = s.clone();
    bad.x.truncate(5);
    assert!(bad.step(&none, |x| d.detect(x, &mut out)).is_err());
    let mut bad = s.clone();
    bad.poses[0][1].translation.x = f64::INFINITY;
    let error = bad.step(&none, |x| d.detect(x, &mut out)).unwrap_err();
    assert_eq!(error, DetectError::NotFinite(1));
    // And goes on working afterwards.
    assert!(s.step(&none, |x| d.detect(x, &mut out)).is_ok());
    let refused = |c: Collider| {
        let laws = Laws::uniform(PairLaw::default());
        Detector::new(vec![c], laws, DetectConfig::default())
            .unwrap_err()
            .to_string()
    };
    let good = s.colliders[1].clone();
    let thin = Collider {
        thickness: -1.0,
        ..good.clone()
    };
    assert!(refused(thin).contains("thickness"));
    let unknown = Collider {
        material: 3,
        ..good.clone()
    };
    assert!(refused(unknown).contains("material 3"));
    let hollow = ColliderForm::Shape(Shape::Sphere { radius: -1.0 });
    assert!(
        refused(Collider {
            form: hollow,
            ..good
        })
        .contains("radius")
    );
}
