//! Contacts act at one point of space: the thickness between two points is no lever.
#![allow(clippy::unwrap_used)]

mod detect_scenes;

use detect_scenes::{H, Scene, T, at, block, floor, sheet};
use stiction_contact::ContactSet;
use stiction_geometry::analytic::{Pose, Shape};
use stiction_math::{Quat, Vec3};

/// Pairs of bodies a little closer than the thickness, with what of them is an angular block.
fn pairs() -> Vec<(&'static str, Scene, Vec<u32>)> {
    let half = Vec3::new(0.02, 0.03, 0.01);
    let above = Vec3::new(0.004, -0.003, 0.9 * T);
    let turned = |(x, t): (Vec<Vec3>, Vec<[u32; 3]>)| {
        let turn = Quat::from_axis_angle(&Vec3::z_axis(), 0.4);
        (x.iter().map(|x| turn * x).collect::<Vec<_>>(), t)
    };
    let moved = |(x, t): (Vec<Vec3>, Vec<[u32; 3]>), by: Vec3| {
        (x.iter().map(|x| x + by).collect::<Vec<_>>(), t)
    };
    let mut all = Vec::new();

    let mut s = Scene::default();
    let first = s.rigid(block(half), Vec3::new(0.3, 0.2, -0.01));
    let second = s.rigid(turned(block(half)), Vec3::new(0.3, 0.2, 0.01) + above);
    all.push(("two rigid boxes", s, vec![first + 1, second + 1]));

    let mut s = Scene::default();
    let first = s.rigid(block(half), Vec3::new(0.0, 0.0, -0.01));
    s.shell(moved(turned(sheet(6, 0.07, Vec3::zeros())), above));
    all.push(("cloth on a rigid box", s, vec![first + 1]));

    let mut s = Scene::default();
    let first = s.rigid(block(half), Vec3::new(0.0, 0.0, -0.01));
    let up = above + Vec3::z() * 0.01;
    s.nodes(moved(turned(block(half)), up), true);
    all.push(("a soft block on a rigid one", s, vec![first + 1]));

    let mut s = Scene::default();
    s.nodes(moved(block(half), Vec3::new(0.0, 0.0, -0.01)), true);
    s.nodes(moved(turned(block(half)), up), true);
    all.push(("two soft blocks", s, Vec::new()));
    all
}

/// Total impulse and total angular momentum about the origin of impulses `r` at the contacts.
fn totals(s: &Scene, contacts: &ContactSet, r: &[Vec3], angular: &[u32]) -> [Vec3; 2] {
    let mut y = vec![Vec3::zeros(); s.x.len()];
    contacts.add_transpose(r, &mut y);
    let mut totals = [Vec3::zeros(); 2];
    for (j, y) in y.iter().enumerate() {
        if angular.contains(&(j as u32)) {
            totals[1] += y;
        } else {
            totals[0] += y;
            totals[1] += s.x[j].cross(y);
        }
    }
    totals
}

#[test]
fn impulses_of_a_pair_conserve_linear_and_angular_momentum() {
    for (name, s, angular) in pairs() {
        let (contacts, _) = s.contacts();
        assert!(!contacts.is_empty(), "{name}");
        for c in 0..contacts.len() {
            let mut r = vec![Vec3::zeros(); contacts.len()];
            r[c] = Vec3::new(0.3, -0.7, 0.5);
            let [linear, turning] = totals(&s, &contacts, &r, &angular);
            // Rounding of levers of some centimetres.
            assert!(linear.norm() < 1e-15, "{name}: {linear:e}");
            assert!(turning.norm() < 1e-16, "{name}, {c}: {turning:e}");
        }
    }
}

/// A corner comes down on a plate while it slides 3 cm along it and both turn by 0.1 rad: the two points that meet are
/// more than 1 cm apart at the start. The contact says how far apart they are at the end, by the rotations themselves,
/// and its impulse acts at one point all the same. (By the motion of that point it is off by tenths of a millimetre.)
#[test]
fn a_contact_found_late_in_a_step_is_that_of_the_points_that_meet() {
    let mut s = Scene::default();
    let plate = s.rigid(block(Vec3::new(0.1, 0.1, 0.01)), Vec3::new(0.0, 0.0, -0.01));
    let local = block(Vec3::new(0.02, 0.03, 0.01));
    let turn = Quat::from_scaled_axis(Vec3::new(0.5, 0.4, 0.0));
    let corners = local.0.iter().map(|x| turn * x).enumerate();
    let (number, corner) = corners.min_by(|a, b| a.1.z.total_cmp(&b.1.z)).unwrap();
    let body = s.rigid(local, Vec3::new(0.0, 0.0, 6.0 * T) - corner.z * Vec3::z());
    s.rotations[1] = turn;
    let blocks = [plate, plate + 1, body, body + 1].map(|b| b as usize);
    s.v[blocks[1]] = Vec3::new(1.0, -4.0, 2.0);
    s.v[blocks[2]] = Vec3::new(3.0, 0.5, -0.8);
    s.v[blocks[3]] = Vec3::new(2.0, 8.0, -3.0);
    let (contacts, _) = s.contacts();
    // Vertices of the plate come first.
    let name = 1 << 60 | (8 + number as u64);
    let c = contacts.key.iter().position(|k| k.first == name).unwrap();
    let own = s.x[blocks[2]] + corner;
    let other = contacts.point[c] * 2.0 - own;
    assert!(other.z.abs() < 1e-15, "it is on the plate: {other}");
    assert!((own - other).norm() > 0.01);
    let end = |[centre, spin]: [usize; 2], x: Vec3| {
        let turn = Quat::from_scaled_axis(s.v[spin] * H);
        s.x[centre] + s.v[centre] * H + turn * (x - s.x[centre])
    };
    let apart = end([blocks[2], blocks[3]], own) - end([blocks[0], blocks[1]], other);
    let u = contacts.velocity(c, &s.v) + contacts.k[c];
    let off = H * u.dot(&contacts.normal[c]) - (apart.dot(&contacts.normal[c]) - T);
    // Half of what is between the points along the normal turns with each body, whose cosine is not in the contact.
    let turned = (s.v[blocks[1]].norm_squared() + s.v[blocks[3]].norm_squared()) * H * H;
    let between = (own - other).dot(&contacts.normal[c]);
    assert!(off.abs() < 0.25 * between * turned, "{off:e}");
    let mut r = vec![Vec3::zeros(); contacts.len()];
    r[c] = Vec3::new(0.3, -0.7, 0.5);
    let [_, turning] = totals(&s, &contacts, &r, &[plate + 1, body + 1]);
    assert!(turning.norm() < 1e-16, "{turning:e}");
}

#[test]
fn bodies_that_move_as_one_do_not_slide() {
    let (v, omega) = (Vec3::new(0.4, -0.2, 0.1), Vec3::new(1.0, -2.0, 3.0));
    for (name, s, angular) in pairs() {
        let (contacts, _) = s.contacts();
        let blocks = s.x.iter().enumerate();
        let moves: Vec<Vec3> = blocks
            .map(|(j, x)| match angular.contains(&(j as u32)) {
                true => omega,
                false => v + omega.cross(x),
            })
            .collect();
        for c in 0..contacts.len() {
            let u = contacts.velocity(c, &moves);
            assert!(u.norm() < 1e-14, "{name}, {c}: {u:e}");
        }
    }
}

#[test]
fn a_box_that_turns_with_its_table_is_at_rest_on_it() {
    // About an axis that is neither across the table nor through it.
    let axis = Vec3::new(0.3, -0.5, 1.0).normalize();
    let (omega, pivot) = (axis * 2.0, Vec3::new(0.2, 0.1, -0.05));
    let turn = Quat::from_scaled_axis(omega * H);
    let end = |pose: &Pose| Pose {
        rotation: turn * pose.rotation,
        translation: pivot + turn * (pose.translation - pivot),
    };
    let half = Vec3::new(0.05, 0.05, 0.02);
    let table = at(0.0, 0.0, -0.1);
    let shapes = [
        Some(Shape::Box {
            half: Vec3::new(0.3, 0.3, 0.1),
        }),
        None,
    ];
    for shape in shapes {
        let mut s = Scene::default();
        let first = s.rigid(block(half), Vec3::new(0.1, 0.0, 0.02 + 0.9 * T));
        let mesh = shape.is_none();
        match shape {
            Some(shape) => s.shape(shape, [table, end(&table)]),
            None => s.mesh(
                sheet(4, 0.6, Vec3::zeros()),
                [at(0.0, 0.0, 0.0), end(&at(0.0, 0.0, 0.0))],
            ),
        }
        let centre = s.x[first as usize];
        s.v[first as usize] = (turn * (centre - pivot) - (centre - pivot)) / H;
        s.v[first as usize + 1] = omega;
        let (contacts, _) = s.contacts();
        assert!(contacts.len() >= 4, "mesh {mesh}: {}", contacts.len());
        for c in 0..contacts.len() {
            let lost = contacts.normal[c] * (contacts.correction[c] / H);
            let u = contacts.velocity(c, &s.v) + contacts.k[c] - lost;
            assert!(u.norm() < 1e-14, "mesh {mesh}, {c}: {u:e}");
        }
    }
}

#[test]
fn an_overlap_is_removed_slowly_and_deeper_penetration_at_once() {
    let mut s = Scene::default();
    s.shell(sheet(2, 0.1, Vec3::new(0.0, 0.0, 0.4 * T)));
    s.shape(floor(), [at(0.0, 0.0, 0.0); 2]);
    let (first, _) = s.contacts();
    for c in 0..4 {
        assert!((first.gap[c] + 0.6 * T).abs() < 1e-15);
        // A thickness in five seconds.
        assert!((first.correction[c] + H * T / 5.0).abs() < 1e-15);
        assert!((first.k[c].z - first.correction[c] / H).abs() < 1e-12);
    }
    // It sank by a tenth of the thickness since.
    for x in &mut s.x {
        x.z -= 0.1 * T;
    }
    let (contacts, _) = s.contacts_by(&mut s.detector(), &first);
    for c in 0..4 {
        let expected = -0.1 * T - 2.0 * H * T / 5.0;
        assert!((contacts.correction[c] - expected).abs() < 1e-15);
    }
}
