//! Motion as a whole: a step to the reported earliest time never intersects.
//!
//! Random scenes of crumpled sheets, rods and obstacles (analytic shapes and meshes, moving and
//! at rest, of different thickness) take three steps each, every one clipped at the reported
//! fraction. What is there afterwards is judged by tests that share nothing with the search: exact
//! predicates over all pairs of triangles and of segments and triangles, and samples of all
//! triangles and segments against solids.
//!
//! `STICTION_LONG=1` runs a thousand scenes instead of forty.
#![allow(clippy::unwrap_used, clippy::panic, clippy::print_stdout)]

mod detect_scenes;

use detect_scenes::{H, Scene, at, block, floor, sheet};
use stiction_contact::ContactSet;
use stiction_contact::detect::{ColliderBody, ColliderForm, Points};
use stiction_geometry::SplitMix;
use stiction_geometry::analytic::{MovingSolid, Pose, Shape};
use stiction_geometry::collide::{edge_edge, segment_meets_triangle, triangles_intersect};
use stiction_math::{Quat, Vec3};

fn vector(random: &mut SplitMix, scale: f64) -> Vec3 {
    let mut c = || scale * (2.0 * random.uniform() - 1.0);
    Vec3::new(c(), c(), c())
}

fn solid(random: &mut SplitMix) -> Shape {
    let size = 4e-3 + 6e-3 * random.uniform();
    match (random.uniform() * 4.0) as u32 {
        0 => Shape::Sphere { radius: size },
        1 => Shape::Capsule {
            radius: 0.6 * size,
            half: size,
        },
        2 => Shape::Cylinder {
            radius: size,
            half: 0.7 * size,
        },
        _ => Shape::Box {
            half: Vec3::new(size, 0.8 * size, 0.5 * size),
        },
    }
}

/// Two or three crumpled sheets with rods between and above them, over a floor with solids and a
/// moving mesh.
fn scene(seed: u64) -> Scene {
    let mut random = SplitMix::new(seed);
    let mut s = Scene::default();
    let sheets = 2 + (random.uniform() * 2.0) as u32;
    for i in 0..sheets {
        let height = 0.018 + 0.01 * f64::from(i);
        let (mut x, t) = sheet(8, 0.07, Vec3::new(0.0, 0.0, height));
        let waves = [
            40.0 + 60.0 * random.uniform(),
            40.0 + 60.0 * random.uniform(),
        ];
        for x in &mut x {
            x.z += 2e-3 * (waves[0] * x.x).sin() * (waves[1] * x.y).cos();
            *x += vector(&mut random, 5e-4);
        }
        s.shell((x, t));
        // A rod that winds above the sheet.
        let height = height + 5e-3;
        let points = |k: u32| {
            let along = 0.06 * (f64::from(k) / 11.0 - 0.5);
            let across = 8e-3 * (f64::from(k) * 1.3 + f64::from(i)).sin();
            Vec3::new(along, across, height)
        };
        let x: Vec<Vec3> = (0..12)
            .map(|k| points(k) + vector(&mut random, 8e-4))
            .collect();
        let first = s.x.len() as u32;
        s.add(ColliderForm::Body(ColliderBody {
            triangles: Vec::new(),
            rods: (0..11).map(|k| [k, k + 1]).collect(),
            points: Points::nodes(first..first + 12),
            rest: x.clone(),
            closed: false,
            self_contact: true,
            exempt: None,
        }));
        s.blocks(&x);
    }
    s.shape(floor(), [at(0.0, 0.0, -2e-3); 2]);
    for k in 0..3 {
        let pose = |random: &mut SplitMix, near: Option<Pose>| match near {
            None => Pose {
                rotation: Quat::from_scaled_axis(vector(random, 2.0)),
                translation: Vec3::new(-0.025 + 0.025 * f64::from(k), 0.0, 0.0)
                    + vector(random, 4e-3),
            },
            Some(p) => Pose {
                rotation: Quat::from_scaled_axis(vector(random, 0.1)) * p.rotation,
                translation: p.translation + vector(random, 4e-3),
            },
        };
        let from = pose(&mut random, None);
        let to = pose(&mut random, Some(from));
        let shape = solid(&mut random);
        s.shape(shape, [from, to]);
    }
    let half = Vec3::new(0.02, 6e-3, 3e-3) + vector(&mut random, 1e-3);
    let from = Vec3::new(0.0, 0.03, 6e-3) + vector(&mut random, 2e-3);
    let to = from + vector(&mut random, 5e-3);
    s.mesh(
        block(half),
        [at(from.x, from.y, from.z), at(to.x, to.y, to.z)],
    );
    for c in &mut s.colliders {
        c.thickness = 3e-4 * 10f64.powf(random.uniform());
    }
    s
}

/// All that is there, in one list of positions.
struct Judge {
    x: Vec<Vec3>,
    triangles: Vec<[usize; 3]>,
    rods: Vec<[usize; 2]>,
    /// From here on, vertices belong to obstacles.
    obstacles: usize,
    solids: Vec<MovingSolid>,
}

impl Judge {
    fn new(s: &Scene) -> Self {
        let mut j = Judge {
            x: s.x.clone(),
            triangles: Vec::new(),
            rods: Vec::new(),
            obstacles: s.x.len(),
            solids: Vec::new(),
        };
        let mut poses = s.poses.iter();
        for c in &s.colliders {
            match &c.form {
                ColliderForm::Body(b) => {
                    let Points::Weighted { entries, .. } = &b.points else {
                        panic!("no rigid bodies here");
                    };
                    let of = |v: &u32| entries[*v as usize].0 as usize;
                    j.triangles.extend(
                        b.triangles
                            .iter()
                            .map(|t| [of(&t[0]), of(&t[1]), of(&t[2])]),
                    );
                    j.rods.extend(b.rods.iter().map(|e| [of(&e[0]), of(&e[1])]));
                }
                ColliderForm::Mesh(m) => {
                    let pose = poses.next().unwrap()[0];
                    let first = j.x.len();
                    j.x.extend(m.vertices.iter().map(|v| pose.apply(v)));
                    let shift = |t: &[u32; 3]| t.map(|v| first + v as usize);
                    j.triangles.extend(m.triangles.iter().map(shift));
                }
                ColliderForm::Shape(shape) => {
                    let pose = poses.next().unwrap()[0];
                    j.solids.push(MovingSolid::new(*shape, pose, pose));
                }
                _ => panic!("no other colliders here"),
            }
        }
        j
    }

    /// Description of an intersection.
    fn fault(&self) -> Option<String> {
        let at = |t: &[usize; 3]| t.map(|v| self.x[v]);
        let prescribed = |v: usize| v >= self.obstacles;
        for (i, a) in self.triangles.iter().enumerate() {
            for b in &self.triangles[i + 1..] {
                let apart = !a.iter().any(|v| b.contains(v));
                let counts = apart && !(prescribed(a[0]) && prescribed(b[0]));
                if counts && triangles_intersect(&at(a), &at(b)) {
                    return Some(format!("triangles {a:?} and {b:?}"));
                }
            }
            for e in &self.rods {
                if segment_meets_triangle(&e.map(|v| self.x[v]), &at(a)) {
                    return Some(format!("rod {e:?} and triangle {a:?}"));
                }
            }
        }
        for (i, a) in self.rods.iter().enumerate() {
            for b in &self.rods[i + 1..] {
                let ends = |e: &[usize; 2]| e.map(|v| self.x[v]);
                let apart = !a.iter().any(|v| b.contains(v));
                if apart && edge_edge(&ends(a), &ends(b)).squared <= 0.0 {
                    return Some(format!("rods {a:?} and {b:?}"));
                }
            }
        }
        for solid in &self.solids {
            let pose = solid.pose(0.0);
            let inside = |x: Vec3| solid.shape.nearest(&pose.invert(&x)).distance < 0.0;
            let bodies = self.triangles.iter().filter(|t| !prescribed(t[0]));
            for t in bodies {
                let [a, b, c] = at(t);
                const N: u32 = 8;
                for i in 0..=N {
                    for j in 0..=N - i {
                        let (u, v) = (f64::from(i) / f64::from(N), f64::from(j) / f64::from(N));
                        if inside(a + (b - a) * u + (c - a) * v) {
                            return Some(format!("triangle {t:?} and {:?}", solid.shape));
                        }
                    }
                }
            }
            for e in &self.rods {
                let along = |i: u32| self.x[e[0]].lerp(&self.x[e[1]], f64::from(i) / 40.0);
                if (0..=40).any(|i| inside(along(i))) {
                    return Some(format!("rod {e:?} and {:?}", solid.shape));
                }
            }
        }
        None
    }
}

/// The scene after a fraction of its step.
fn advanced(s: &Scene, fraction: f64) -> Scene {
    let mut s = s.clone();
    for (x, v) in s.x.iter_mut().zip(&s.v) {
        *x += v * (H * fraction);
    }
    let obstacles = s
        .colliders
        .iter()
        .filter(|c| !matches!(c.form, ColliderForm::Body(_)));
    for (p, c) in s.poses.iter_mut().zip(obstacles) {
        p[0] = match &c.form {
            ColliderForm::Shape(shape) => MovingSolid::new(*shape, p[0], p[1]).pose(fraction),
            // Vertices of meshes move along straight lines; these do not turn.
            _ => Pose {
                rotation: p[0].rotation,
                translation: p[0].translation.lerp(&p[1].translation, fraction),
            },
        };
    }
    s
}

#[test]
fn a_step_to_the_earliest_time_never_intersects() {
    let wanted = match std::env::var("STICTION_LONG") {
        Ok(value) if value == "1" => 1000,
        _ => 40,
    };
    let (mut scenes, mut steps, mut clipped, mut moved, mut crossed, mut seed) = (0, 0, 0, 0, 0, 0);
    while scenes < wanted {
        seed += 1;
        assert!(
            seed < 4 * wanted,
            "most scenes must be free of overlap at first"
        );
        let mut s = scene(seed);
        if Judge::new(&s).fault().is_some() {
            continue;
        }
        scenes += 1;
        let mut random = SplitMix::new(seed);
        let mut detector = s.detector();
        let mut previous = ContactSet::default();
        for round in 0..3 {
            let drift = vector(&mut random, 0.5) - Vec3::new(0.0, 0.0, 0.7);
            for v in &mut s.v {
                *v = drift + vector(&mut random, 0.6);
            }
            previous = s.contacts_by(&mut detector, &previous).0;
            // A little less in every round, so that what was clipped is not stuck.
            let d_min = 1e-6 * 0.5f64.powi(round);
            let safe = detector.safe_fraction(&s.v, d_min).unwrap();
            steps += 1;
            clipped += u32::from(safe < 1.0);
            moved += u32::from(safe > 1e-3);
            if round == 0 {
                // Without the clip there is something to find.
                crossed += u64::from(Judge::new(&advanced(&s, 1.0)).fault().is_some());
            }
            s = advanced(&s, safe);
            for p in &mut s.poses {
                p[1].translation = p[0].translation + vector(&mut random, 4e-3);
            }
            if let Some(fault) = Judge::new(&s).fault() {
                panic!("seed {seed}, round {round}, fraction {safe}: {fault}");
            }
        }
    }
    println!(
        "{scenes} scenes, {steps} steps: {clipped} clipped, {moved} by more than a thousandth; \
         unclipped, {crossed} first steps intersect"
    );
    assert!(2 * clipped > steps && 2 * moved > steps && 10 * crossed > 9 * scenes);
}
