//! Particles: contacts with one another, with meshes and with rods.
#![allow(clippy::unwrap_used, clippy::panic)]

mod detect_scenes;

use detect_scenes::{H, Scene, T, at, block, sheet};
use stiction_contact::ContactSet;
use stiction_contact::detect::{ColliderBody, ColliderForm, ContactSource, Points};
use stiction_math::Vec3;

/// The diameter of the particles [m].
const D: f64 = 0.01;

/// Numbers in [0, 1) from a linear congruence.
struct Numbers(u64);

impl Numbers {
    fn next(&mut self) -> f64 {
        self.0 = self
            .0
            .wrapping_mul(6364136223846793005)
            .wrapping_add(1442695040888963407);
        (self.0 >> 11) as f64 / (1u64 << 53) as f64
    }

    fn point(&mut self, size: f64) -> Vec3 {
        Vec3::new(self.next(), self.next(), self.next()) * size
    }
}

/// The least distance of two points on straight paths, by its parabola.
fn least_distance(x: [Vec3; 2], path: [Vec3; 2]) -> f64 {
    let (d, w) = (x[0] - x[1], path[0] - path[1]);
    let time = if w.norm_squared() > 0.0 {
        (-d.dot(&w) / w.norm_squared()).clamp(0.0, 1.0)
    } else {
        0.0
    };
    (d + w * time).norm()
}

#[test]
fn pairs_of_moving_particles_are_those_of_brute_force() {
    for seed in 0..20 {
        let mut numbers = Numbers(seed);
        let mut s = Scene::default();
        // Two bodies of different size.
        let first: Vec<Vec3> = (0..120).map(|_| numbers.point(0.1)).collect();
        let second: Vec<Vec3> = (0..60).map(|_| numbers.point(0.1)).collect();
        s.particles(&first, D);
        s.particles(&second, 0.3 * D);
        for v in &mut s.v {
            *v = (numbers.point(2.0) - Vec3::repeat(1.0)) * (0.02 / H);
        }
        let (c, _) = s.contacts();
        let listed = |i: usize, j: usize| {
            let is = |k: usize| c.entries(k).map(|e| e.node as usize).eq([i, j]);
            (0..c.len()).find(|k| is(*k))
        };
        let size = |i: usize| if i < 120 { D } else { 0.3 * D };
        let mut count = 0;
        for j in 0..s.x.len() {
            for i in 0..j {
                let thickness = 0.5 * (size(i) + size(j));
                let now = (s.x[i] - s.x[j]).norm();
                let least = least_distance([s.x[i], s.x[j]], [s.v[i] * H, s.v[j] * H]);
                let at = listed(i, j);
                if now <= thickness * 1.1 || least < thickness {
                    let k = at.unwrap_or_else(|| panic!("{i} and {j} at {least} are missing"));
                    let along = c.normal[k].dot(&(s.x[i] - s.x[j]));
                    assert!((c.gap[k] - (along - thickness)).abs() < 1e-12);
                    count += 1;
                } else if least > thickness * 1.01 {
                    // Conservative advancement may stop a little early.
                    assert!(at.is_none(), "{i} and {j} at {least}");
                }
            }
        }
        assert!(count > 50, "{count}");
    }
}

#[test]
fn two_particles_that_meet_at_speed_stay_a_diameter_apart() {
    // Head-on and off centre, each passing far beyond the other in one step.
    for aside in [0.0, 0.3 * D, 0.9 * D] {
        let mut s = Scene::default();
        s.particles(&[Vec3::zeros(), Vec3::new(0.3, aside, 0.0)], D);
        s.v = vec![Vec3::new(40.0, 0.0, 0.0), Vec3::new(-40.0, 0.0, 0.0)];
        let (c, report) = s.contacts();
        assert_eq!((c.len(), report.near), (1, 0));
        assert_eq!(c.pair[0], [10, 10]);
        // Along the line of centres when they meet.
        let across = aside / D;
        let expected = Vec3::new(-(1.0 - across * across).sqrt(), -across, 0.0);
        assert!((c.normal[0] - expected).norm() < 0.05, "{:?}", c.normal[0]);
        let mut d = s.detector();
        s.contacts_by(&mut d, &ContactSet::default());
        let fraction = d.safe_fraction(&s.v, D).unwrap();
        let apart = (s.x[0] + s.v[0] * (H * fraction) - s.x[1] - s.v[1] * (H * fraction)).norm();
        assert!((D..1.5 * D).contains(&apart), "{apart}");
    }
    // Past each other.
    let mut s = Scene::default();
    s.particles(&[Vec3::zeros(), Vec3::new(0.3, 1.05 * D, 0.0)], D);
    s.v = vec![Vec3::new(40.0, 0.0, 0.0), Vec3::new(-40.0, 0.0, 0.0)];
    assert_eq!(s.contacts().0.len(), 0);
}

#[test]
fn a_particle_touches_faces_edges_and_vertices_of_a_mesh() {
    let t = 0.5 * (D + T);
    // Over a face, outside the border of the sheet, and beyond its corner.
    let cases = [
        (Vec3::new(0.035, -0.03, 0.9 * t), 3),
        (Vec3::new(0.1 + 0.6 * t, 0.013, 0.6 * t), 2),
        (Vec3::new(0.1 + 0.5 * t, 0.1 + 0.5 * t, 0.5 * t), 1),
    ];
    for (x, corners) in cases {
        let closest = Vec3::new(x.x.min(0.1), x.y.min(0.1), 0.0);
        let outward = x - closest;
        for speed in [0.0, 50.0] {
            let mut s = Scene::default();
            s.mesh(sheet(5, 0.2, Vec3::zeros()), [at(0.0, 0.0, 0.0); 2]);
            s.particles(&[x + outward.normalize() * (speed * 0.5 * H)], D);
            s.v[0] = -outward.normalize() * speed;
            let (c, _) = s.contacts();
            assert_eq!(c.len(), 1, "{corners} {speed}");
            let sign = if c.weights[0] > 0.0 { 1.0 } else { -1.0 };
            let n = c.normal[0] * sign;
            assert!((n - outward.normalize()).norm() < 1e-6, "{n:?}");
            let gap = outward.norm() - t + speed * 0.5 * H;
            assert!((c.gap[0] - gap).abs() < 1e-9, "{} {gap}", c.gap[0]);
        }
        // The same against a shell, where the mesh's share shows which feature it is.
        let mut s = Scene::default();
        s.shell(sheet(5, 0.2, Vec3::zeros()));
        s.particles(&[x], D);
        let (c, _) = s.contacts();
        assert_eq!((c.len(), c.entries(0).len()), (1, 1 + corners));
    }
}

#[test]
fn a_particle_touches_a_rigid_box_from_outside_only() {
    let mut s = Scene::default();
    s.rigid(block(Vec3::repeat(0.05)), Vec3::zeros());
    let p = s.particles(&[Vec3::new(0.01, 0.02, 0.2)], D) as usize;
    s.v[p].z = -20.0;
    let (c, _) = s.contacts();
    assert_eq!(c.len(), 1);
    let sign = if c.entries(0).next().unwrap().node as usize == p {
        1.0
    } else {
        -1.0
    };
    assert!((c.normal[0] * sign - Vec3::z()).norm() < 1e-9);
    assert!((c.gap[0] - (0.15 - 0.5 * (D + T))).abs() < 1e-12);
}

#[test]
fn particles_touch_rods_along_and_at_their_ends() {
    let rods = vec![[0, 1], [1, 2]];
    let x = [
        Vec3::zeros(),
        Vec3::new(0.1, 0.0, 0.0),
        Vec3::new(0.2, 0.0, 0.0),
    ];
    let t = 0.5 * (D + T);
    for (at, count) in [
        (Vec3::new(0.04, 0.0, 0.9 * t), 3),
        // Over the joint, and beyond the end.
        (Vec3::new(0.1, 0.0, 0.9 * t), 2),
        (Vec3::new(0.2 + 0.5 * t, 0.0, 0.5 * t), 2),
    ] {
        let mut s = Scene::default();
        s.add(ColliderForm::Body(ColliderBody {
            triangles: Vec::new(),
            rods: rods.clone(),
            points: Points::nodes(0..3),
            rest: x.to_vec(),
            closed: false,
            self_contact: true,
            exempt: None,
        }));
        s.blocks(&x);
        s.particles(&[at], D);
        let (c, report) = s.contacts();
        assert_eq!((c.len(), report.near), (1, 1), "{at:?}");
        assert_eq!(c.entries(0).len(), count, "{at:?}");
        // From above, through the rod.
        s.x[3].z += 0.2;
        s.v[3].z = -40.0;
        let (c, _) = s.contacts();
        assert_eq!((c.len(), c.entries(0).len()), (1, count), "{at:?}");
    }
}

#[test]
fn contacts_that_appear_during_a_solve_are_listed() {
    let mut s = Scene::default();
    s.mesh(sheet(5, 0.2, Vec3::zeros()), [at(0.0, 0.0, 0.0); 2]);
    s.particles(&[Vec3::new(0.03, 0.0, 0.1), Vec3::new(0.03, 0.0, 0.3)], D);
    let mut d = s.detector();
    let (mut c, _) = s.contacts_by(&mut d, &ContactSet::default());
    assert_eq!(c.len(), 0);
    // The first falls through the sheet, the second through the first and the sheet.
    let v = [Vec3::new(0.0, 0.0, -20.0), Vec3::new(0.0, 0.0, -60.0)];
    assert_eq!(d.more_contacts(&v, &mut c), 3);
    let down = [Vec3::zeros(), Vec3::zeros()];
    assert_eq!(d.more_contacts(&down, &mut c), 0);
}

#[test]
fn overlap_of_particles_is_measured() {
    let mut s = Scene::default();
    s.particles(&[Vec3::zeros(), Vec3::new(0.0, 0.7 * D, 0.0)], D);
    let mut d = s.detector();
    let none = ContactSet::default();
    let overlap = s.step(&none, |step| d.overlap(step)).unwrap();
    assert!((overlap.depth - 0.3 * D).abs() < 1e-15 && (overlap.share - 0.3).abs() < 1e-12);
    // In one place there is still a direction to part in.
    s.x[1] = s.x[0];
    let (c, _) = s.contacts();
    assert_eq!(c.len(), 1);
    assert!((c.gap[0] + D).abs() < 1e-15);
}

#[test]
fn the_same_bits_for_any_number_of_threads() {
    let mut numbers = Numbers(7);
    let mut s = Scene::default();
    let x: Vec<Vec3> = (0..3000).map(|_| numbers.point(0.25)).collect();
    s.particles(&x, D);
    for v in &mut s.v {
        *v = (numbers.point(2.0) - Vec3::repeat(1.0)) / H * 0.01;
    }
    let run = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads);
        pool.build().unwrap().install(|| s.contacts().0)
    };
    let one = run(1);
    assert!(one.len() > 1000);
    for threads in [2, 5] {
        let other = run(threads);
        assert_eq!((&one.key, &one.k), (&other.key, &other.k));
    }
}
