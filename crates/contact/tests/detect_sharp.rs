//! Contacts of thick rods over sharp edges: wherever an edge of a rod is deepest, a contact is listed, to a
//! tenth of the thickness; not at a joint with an edge that is deeper still.
//!
//! Rods, straight or bent by up to 90° at every vertex, lie at random on corners and edges of boxes, on the tip and the
//! rim of a cone and on the rims of a cylinder; of boxes also as meshes of an obstacle and of a rigid body. Samples of the
//! exact distance along every edge of the rod are the reference. `STICTION_LONG=5000` looks at as many poses of each.
#![allow(clippy::unwrap_used, clippy::panic)]

mod detect_scenes;

use detect_scenes::{Scene, T, block};
use stiction_contact::detect::{ColliderBody, ColliderForm, Points};
use stiction_geometry::SplitMix;
use stiction_geometry::analytic::{Pose, Shape};
use stiction_math::{Quat, Vec3};

/// Thickness of the rod; the pair has the mean of it and T.
const ROD: f64 = 7.0 * T;
const PAIR: f64 = 0.5 * (ROD + T);
/// Samples of an edge of the rod: no farther apart than a fortieth of the thickness of the pair, so that the deepest one is as deep
/// as the deepest place to half of that at most.
const SPACING: f64 = PAIR / 40.0;
/// Depth that contacts may miss, as a fraction of the thickness of the pair.
const MISSED: f64 = 0.1;

#[derive(Clone, Copy, PartialEq)]
enum Form {
    Analytic,
    Obstacle,
    Rigid,
}

fn direction(random: &mut SplitMix) -> Vec3 {
    loop {
        let x = Vec3::from_fn(|_, _| 2.0 * random.uniform() - 1.0);
        if x.norm() > 0.1 && x.norm() < 1.0 {
            return x.normalize();
        }
    }
}

/// The sharp features of a shape: a point of one of them and the direction away from the shape there.
fn feature(shape: &Shape, random: &mut SplitMix) -> (Vec3, Vec3) {
    match *shape {
        Shape::Box { half } => {
            let sign = Vec3::from_fn(|_, _| if random.uniform() < 0.5 { -1.0 } else { 1.0 });
            let mut p = half.component_mul(&sign);
            let axis = (3.0 * random.uniform()) as usize;
            p[axis] *= 2.0 * random.uniform() - 1.0;
            let mut away = sign;
            away[axis] = 0.0;
            (p, away.normalize())
        }
        Shape::Cone { radius, height } if random.uniform() < 0.5 => {
            let _ = radius;
            (Vec3::z() * height, Vec3::z())
        }
        Shape::Cone { radius, .. } => rim(radius, 0.0, -1.0, random),
        Shape::Cylinder { radius, half } => rim(radius, half, 1.0, random),
        _ => panic!("{shape:?} has no sharp features here"),
    }
}

fn rim(radius: f64, z: f64, up: f64, random: &mut SplitMix) -> (Vec3, Vec3) {
    let (sin, cos) = (std::f64::consts::TAU * random.uniform()).sin_cos();
    let away = Vec3::new(cos, sin, up).normalize();
    (Vec3::new(radius * cos, radius * sin, z), away)
}

/// A rod across a sharp feature of a shape, in the frame of the shape, whose distance is between 0.3 and 1 of the thickness.
fn rod(shape: &Shape, random: &mut SplitMix) -> Vec<Vec3> {
    let (p, away) = feature(shape, random);
    let along = away.cross(&direction(random)).normalize();
    let count = 2 + (3.0 * random.uniform()) as usize;
    let length = PAIR * 10f64.powf(1.5 * random.uniform() - 0.3);
    let mut x = vec![p];
    let mut heading = along;
    for _ in 1..count {
        x.push(x[x.len() - 1] + heading * length);
        let turn = std::f64::consts::FRAC_PI_2 * random.uniform();
        heading = Quat::from_scaled_axis(direction(random) * turn) * heading;
    }
    // Some place of the first edges above the feature, then outwards until it is where it is to be.
    let place = x[0] + (x[1] - x[0]) * random.uniform();
    let least = |x: &[Vec3]| {
        samples(x)
            .map(|s| shape.nearest(&s.1).distance)
            .fold(f64::INFINITY, f64::min)
    };
    let wanted = PAIR * (0.3 + 0.7 * random.uniform());
    let moved = |x: &[Vec3], by: f64| -> Vec<Vec3> {
        x.iter().map(|x| x + (p - place) + away * by).collect()
    };
    let (mut low, mut high) = (0.0, 0.4);
    for _ in 0..40 {
        let middle = 0.5 * (low + high);
        match least(&moved(&x, middle)) < wanted {
            true => low = middle,
            false => high = middle,
        }
    }
    moved(&x, high)
}

/// The number of the edge and the point of every sample of a rod.
fn samples(x: &[Vec3]) -> impl Iterator<Item = (usize, Vec3)> {
    x.windows(2).enumerate().flat_map(|(e, ends)| {
        let n = ((ends[1] - ends[0]).norm() / SPACING).ceil().max(1.0);
        let step = (ends[1] - ends[0]) / n;
        (0..=n as usize).map(move |i| (e, ends[0] + step * i as f64))
    })
}

/// The scene of a rod, whose nodes are the first blocks, with a solid in a pose.
fn scene(shape: &Shape, form: Form, pose: &Pose, x: &[Vec3]) -> Scene {
    let mut s = Scene::default();
    let nodes = x.len() as u32;
    s.add(ColliderForm::Body(ColliderBody {
        triangles: Vec::new(),
        rods: (1..nodes).map(|i| [i - 1, i]).collect(),
        points: Points::nodes(0..nodes),
        rest: x.to_vec(),
        closed: false,
        self_contact: false,
        exempt: None,
    }));
    s.colliders[0].thickness = ROD;
    let x: Vec<Vec3> = x.iter().map(|x| pose.apply(x)).collect();
    s.blocks(&x);
    match (form, *shape) {
        (Form::Analytic, shape) => s.shape(shape, [*pose; 2]),
        (Form::Obstacle, Shape::Box { half }) => s.mesh(block(half), [*pose; 2]),
        (Form::Rigid, Shape::Box { half }) => {
            s.rigid(block(half), pose.translation);
            s.rotations[0] = pose.rotation;
        }
        _ => panic!("only boxes are meshes here"),
    }
    s
}

fn every_edge_of_a_rod_has_a_contact_where_it_is_deepest(shape: &Shape, form: Form) {
    let poses = std::env::var("STICTION_LONG").map_or(150, |n| n.parse().unwrap());
    let (mut judged, mut inner, mut worst) = (0, 0, (0.0f64, String::new()));
    for seed in 0..poses {
        let mut random = SplitMix::new(7000 + seed);
        let rod = rod(shape, &mut random);
        let pose = Pose {
            rotation: Quat::from_scaled_axis(direction(&mut random) * 3.0 * random.uniform()),
            translation: direction(&mut random) * 0.1,
        };
        let s = scene(shape, form, &pose, &rod);
        let (contacts, _) = s.contacts();
        let edges = rod.len() - 1;
        let (mut least, mut listed) = (vec![f64::INFINITY; edges], vec![f64::INFINITY; edges]);
        let mut ends = vec![f64::INFINITY; edges];
        // Whether an edge is deepest where it joins the one before or the next.
        let mut joint = vec![[false; 2]; edges];
        for (e, x) in samples(&rod) {
            let distance = shape.nearest(&x).distance;
            if distance < least[e] {
                least[e] = distance;
                joint[e] = [0, 1].map(|k| (x - rod[e + k]).norm() < 0.5 * SPACING);
            }
        }
        for c in 0..contacts.len() {
            let mut nodes: Vec<usize> = contacts.entries(c).map(|e| e.node as usize).collect();
            nodes.retain(|n| *n <= edges);
            let distance = contacts.gap[c] + PAIR;
            for e in 0..edges {
                if nodes.iter().all(|n| *n == e || *n == e + 1) {
                    listed[e] = listed[e].min(distance);
                    if nodes.len() == 1 {
                        ends[e] = ends[e].min(distance);
                    }
                }
            }
        }
        for e in 0..edges {
            // Contacts are required where the rod touches, not where it is merely near.
            if least[e] > PAIR {
                continue;
            }
            // Nor next to a joint, from where the rod goes on deeper.
            let before = joint[e][0] && e > 0 && least[e - 1] < least[e];
            let next = joint[e][1] && e + 1 < edges && least[e + 1] < least[e];
            if before || next {
                continue;
            }
            judged += 1;
            inner += usize::from(ends[e] > least[e] + MISSED * PAIR);
            let missed = (listed[e] - least[e]) / PAIR;
            if missed > worst.0 {
                worst = (missed, format!("seed {seed}, edge {e} of {rod:?}"));
            }
        }
    }
    assert!(judged as u64 >= poses, "only {judged} edges touch");
    // Contacts of vertices alone would not do.
    assert!(
        inner * 4 > judged,
        "only {inner} of {judged} touch between their ends"
    );
    let (missed, what) = worst;
    assert!(missed <= MISSED, "{missed} of the thickness missed: {what}");
}

const BOX: Shape = Shape::Box {
    half: Vec3::new(0.03, 0.05, 0.02),
};

#[test]
fn over_edges_of_an_analytic_box() {
    every_edge_of_a_rod_has_a_contact_where_it_is_deepest(&BOX, Form::Analytic);
}

#[test]
fn over_edges_of_a_meshed_obstacle() {
    every_edge_of_a_rod_has_a_contact_where_it_is_deepest(&BOX, Form::Obstacle);
}

#[test]
fn over_edges_of_a_rigid_body() {
    every_edge_of_a_rod_has_a_contact_where_it_is_deepest(&BOX, Form::Rigid);
}

/// Sharp and blunt: the tip has 37° and 127°.
#[test]
fn over_the_tip_and_the_rim_of_a_cone() {
    for (radius, height) in [(0.02, 0.06), (0.04, 0.02)] {
        let cone = Shape::Cone { radius, height };
        every_edge_of_a_rod_has_a_contact_where_it_is_deepest(&cone, Form::Analytic);
    }
}

#[test]
fn over_the_rims_of_a_cylinder() {
    let (radius, half) = (0.03, 0.04);
    let cylinder = Shape::Cylinder { radius, half };
    every_edge_of_a_rod_has_a_contact_where_it_is_deepest(&cylinder, Form::Analytic);
}
