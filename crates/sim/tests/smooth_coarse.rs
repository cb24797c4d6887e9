//! Method `smooth` with meshes of few large faces, in moving frames, and from overlapping starts.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod common;

use stiction_bodies::{
    Model, State,
    builder::{BodySpec, Builder},
    energy,
    material::Damping,
    motion::Pose,
    obstacle::{Obstacle, ObstacleShape, Solid},
};
use stiction_contact::detect::{Laws, PairLaw};
use stiction_geometry::{
    TriMesh,
    shapes::{BoxSolid, BoxSurface, Sheet, SheetPattern, TetPattern},
};
use stiction_math::{Quat, Vec3};
use stiction_sim::{
    Simulation, Smooth,
    colliders::{ContactRules, material_names},
    smooth::Config,
};

const G: f64 = 9.81;
const THICKNESS: f64 = 1e-3;

fn simulation((model, state): (Model, State), mu: f64, h: f64) -> Simulation {
    let law = PairLaw {
        mu,
        ..PairLaw::default()
    };
    let laws = Laws::new(material_names(&model).len() as u32, |_, _| law);
    let rules = ContactRules {
        thickness: THICKNESS,
        laws,
    };
    let method = Box::new(Smooth::new(Config::default(), rules));
    Simulation::new(model, state, method, h).unwrap()
}

/// A box of twelve triangles with its middle at `at`.
fn slab(size: [f64; 3], at: Vec3) -> TriMesh {
    let mut mesh = BoxSurface {
        size,
        cells: [1, 1, 1],
    }
    .build()
    .unwrap();
    mesh.transform(&Quat::identity(), &Vec3::repeat(1.0), &at);
    mesh
}

fn rigid(b: &mut Builder, name: &str, mesh: &TriMesh, velocity: Vec3) {
    let spec = BodySpec {
        velocity,
        ..BodySpec::new(name)
    };
    b.rigid(spec, mesh, 500.0, Damping::default()).unwrap();
}

fn obstacle(b: &mut Builder, shape: ObstacleShape) {
    b.obstacle(Obstacle {
        name: "ground".to_owned(),
        material: "ground".to_owned(),
        shape,
        placement: Pose::default(),
        motion: None,
    });
}

fn floor(b: &mut Builder) {
    let (normal, offset) = (Vec3::z(), 0.0);
    obstacle(b, ObstacleShape::Solid(Solid::Plane { normal, offset }));
}

fn builder(gravity: f64) -> Builder {
    let mut b = Builder::new(Vec3::new(0.0, 0.0, -gravity), None);
    b.contact(true);
    b
}

#[test]
fn boards_farther_apart_than_the_thickness_feel_nothing() {
    // Side by side, end to end, above one another and askew, from 1.05 thicknesses on.
    let size = [1.0, 0.1, 0.02];
    for apart in [1.05 * THICKNESS, 0.01, 0.2] {
        let places = [
            Vec3::new(0.0, 0.1 + apart, 0.0),
            Vec3::new(1.0 + apart, 0.0, 0.0),
            Vec3::new(0.3, 0.02, 0.02 + apart),
            Vec3::new(0.9, 0.1 + apart, 0.01),
        ];
        for at in places {
            let mut b = builder(0.0);
            rigid(&mut b, "first", &slab(size, Vec3::zeros()), Vec3::zeros());
            rigid(&mut b, "second", &slab(size, at), Vec3::zeros());
            let mut sim = simulation(b.finish().unwrap(), 0.5, 0.01);
            for _ in 0..3 {
                sim.step().unwrap();
            }
            let fastest = sim.state().v.iter().map(|v| v.norm()).fold(0.0, f64::max);
            assert_eq!(fastest, 0.0, "{apart} m apart at {at:?}");
        }
    }
}

#[test]
fn stacked_slabs_come_to_rest_where_they_are() {
    let mut b = builder(G);
    floor(&mut b);
    let size = [0.3, 0.2, 0.02];
    for i in 0..3 {
        let z = 0.01 + THICKNESS + f64::from(i) * (0.02 + THICKNESS);
        let x = 0.02 * f64::from(i);
        let name = format!("slab {i}");
        rigid(
            &mut b,
            &name,
            &slab(size, Vec3::new(x, 0.0, z)),
            Vec3::zeros(),
        );
    }
    let mut sim = simulation(b.finish().unwrap(), 0.5, 0.005);
    let start = sim.state().clone();
    let mut fastest: f64 = 0.0;
    for _ in 0..100 {
        sim.step().unwrap();
        fastest = sim
            .state()
            .v
            .iter()
            .map(|v| v.norm())
            .fold(fastest, f64::max);
    }
    // They sink by a fraction of three thicknesses at most: v² < 2 g 3 δ.
    assert!(fastest < (6.0 * G * THICKNESS).sqrt(), "{fastest} m/s");
    let moved = sim
        .state()
        .x
        .iter()
        .zip(&start.x)
        .map(|(x, y)| (x - y).norm());
    assert!(moved.fold(0.0, f64::max) < 3.0 * THICKNESS);
    let left = sim.state().v.iter().map(|v| v.norm()).fold(0.0, f64::max);
    assert!(left < 1e-3, "{left} m/s");
}

#[test]
fn a_plank_without_vertices_above_an_obstacle_rests_on_it() {
    let half = Vec3::new(0.05, 0.15, 0.05);
    let shapes = [
        ObstacleShape::Solid(Solid::Box { half }),
        ObstacleShape::Solid(Solid::Sphere { radius: 0.05 }),
        ObstacleShape::Mesh(slab([0.1, 0.3, 0.1], Vec3::zeros())),
    ];
    for (k, shape) in shapes.into_iter().enumerate() {
        let mut b = builder(G);
        obstacle(&mut b, shape);
        let at = Vec3::new(0.0, 0.0, 0.06 + THICKNESS);
        rigid(&mut b, "plank", &slab([1.0, 0.1, 0.02], at), Vec3::zeros());
        let mut sim = simulation(b.finish().unwrap(), 0.5, 0.005);
        for _ in 0..40 {
            sim.step().unwrap();
        }
        let fallen = 0.06 + THICKNESS - sim.state().x[0].z;
        assert!(fallen < 1.5 * THICKNESS, "shape {k}: fell {fallen} m");
    }
}

#[test]
fn a_scene_that_moves_as_a_whole_goes_on_as_the_one_at_rest() {
    // A slab slides off another one; far from both a third is passed by.
    let scene = |drift: Vec3| {
        let mut b = builder(0.0);
        let size = [0.3, 0.2, 0.02];
        rigid(&mut b, "low", &slab(size, Vec3::zeros()), drift);
        let push = drift + Vec3::new(0.3, 0.1, -0.1);
        let at = Vec3::new(0.05, 0.02, 0.025);
        rigid(&mut b, "high", &slab(size, at), push);
        let sheet = Sheet {
            size: [0.2, 0.2],
            cells: [4, 4],
            pattern: SheetPattern::Regular,
        };
        let mut cloth = sheet.build().unwrap();
        cloth.transform(
            &Quat::identity(),
            &Vec3::repeat(1.0),
            &Vec3::new(0.0, 0.0, -0.03),
        );
        let spec = BodySpec {
            velocity: drift,
            ..BodySpec::new("cloth")
        };
        b.shell(spec, cloth, &common::cloth()).unwrap();
        simulation(b.finish().unwrap(), 0.5, 0.005)
    };
    let drift = Vec3::new(10.0, -3.0, 2.0);
    let (mut still, mut moving) = (scene(Vec3::zeros()), scene(drift));
    for step in 0..40 {
        let counts = [still.step().unwrap(), moving.step().unwrap()].map(|r| r.contacts);
        assert_eq!(counts[0], counts[1], "contacts in step {step}");
        let rotated = still.model().rigids().map(|(b, _)| b.blocks.start + 1);
        let angular: Vec<usize> = rotated.collect();
        let shift = drift * still.state().time;
        for (i, (x, y)) in still.state().x.iter().zip(&moving.state().x).enumerate() {
            let shift = if angular.contains(&i) {
                Vec3::zeros()
            } else {
                shift
            };
            assert!((y - shift - x).norm() < 1e-8, "block {i} in step {step}");
        }
    }
}

#[derive(Clone, Copy, Debug)]
enum Kind {
    Rigid,
    Stack,
    Solid,
    Cloth,
}

/// A body that begins at the distance (1 − overlap) δ from what is below it.
fn overlapping(kind: Kind, overlap: f64) -> (Model, State) {
    let mut b = builder(G);
    floor(&mut b);
    let gap = (1.0 - overlap) * THICKNESS;
    match kind {
        Kind::Rigid => {
            let at = Vec3::new(0.0, 0.0, 0.05 + gap);
            rigid(&mut b, "box", &slab([0.1, 0.1, 0.1], at), Vec3::zeros());
        }
        Kind::Stack => {
            let at = Vec3::new(0.0, 0.0, 0.05 + THICKNESS);
            rigid(&mut b, "low", &slab([0.1, 0.1, 0.1], at), Vec3::zeros());
            let at = at + Vec3::new(0.03, 0.02, 0.1 + gap);
            rigid(&mut b, "high", &slab([0.1, 0.1, 0.1], at), Vec3::zeros());
        }
        Kind::Solid => {
            let mut mesh = BoxSolid {
                size: [0.1, 0.1, 0.05],
                cells: [2, 2, 1],
                pattern: TetPattern::Kuhn,
            }
            .build()
            .unwrap();
            let up = Vec3::new(0.0, 0.0, 0.025 + gap);
            mesh.transform(&Quat::identity(), &Vec3::repeat(1.0), &up);
            b.solid(BodySpec::new("solid"), mesh, &common::rubber())
                .unwrap();
        }
        Kind::Cloth => {
            let sheet = Sheet {
                size: [0.2, 0.2],
                cells: [4, 4],
                pattern: SheetPattern::Regular,
            };
            let mut cloth = sheet.build().unwrap();
            cloth.transform(
                &Quat::identity(),
                &Vec3::repeat(1.0),
                &Vec3::new(0.0, 0.0, gap),
            );
            b.shell(BodySpec::new("cloth"), cloth, &common::cloth())
                .unwrap();
        }
    }
    b.finish().unwrap()
}

fn energies(sim: &Simulation) -> [f64; 3] {
    let (model, state) = (sim.model(), sim.state());
    let sum = |f: &dyn Fn(&stiction_bodies::Body) -> f64| model.bodies.iter().map(f).sum::<f64>();
    [
        sum(&|b| energy::kinetic_energy(b, state)),
        sum(&|b| energy::elastic_energy(b, state)),
        sum(&|b| energy::potential_energy(model, b, state)),
    ]
}

#[test]
fn a_start_inside_the_thickness_adds_no_energy() {
    // Whatever a body gains in motion and strain must come out of its height.
    for kind in [Kind::Rigid, Kind::Stack, Kind::Solid, Kind::Cloth] {
        for h in [1e-5, 1e-4, 1e-3, 1e-2] {
            for overlap in [0.0, 0.1, 0.5, 0.9, 1.0] {
                let mut sim = simulation(overlapping(kind, overlap), 0.5, h);
                let before = energies(&sim);
                let scale = before[2].abs();
                for step in 0..20 {
                    sim.step()
                        .unwrap_or_else(|e| panic!("{kind:?} {h} {overlap}: {e}"));
                    let now = energies(&sim);
                    let gain = now.iter().sum::<f64>() - before.iter().sum::<f64>();
                    assert!(
                        gain <= 1e-6 * scale,
                        "{kind:?}, h = {h}, overlap {overlap}: {gain:e} J of {scale:e} J in step {step}"
                    );
                }
            }
        }
    }
}

#[test]
fn a_box_in_the_corner_of_a_coarse_room_is_held_by_all_walls() {
    // The walls of a cavity are faces of one mesh that meet at concave edges.
    let mut cavity = slab([0.4, 0.4, 0.4], Vec3::zeros());
    cavity.triangles.iter_mut().for_each(|t| t.swap(1, 2));
    let mut b = Builder::new(Vec3::new(4.0, 3.0, -8.0), None);
    b.contact(true);
    obstacle(&mut b, ObstacleShape::Mesh(cavity));
    let corner = 0.2 - 0.05 - 1.5 * THICKNESS;
    let at = Vec3::new(corner, corner, -corner);
    rigid(&mut b, "box", &slab([0.1, 0.1, 0.1], at), Vec3::zeros());
    let mut sim = simulation(b.finish().unwrap(), 0.3, 0.005);
    for _ in 0..100 {
        sim.step().unwrap();
    }
    let moved = sim.state().x[0] - at;
    assert!(moved.amax() < 1.5 * THICKNESS, "{moved:?}");
    // It creeps below ε = 1e-4 m/s at most.
    let left = sim.state().v.iter().map(|v| v.norm()).fold(0.0, f64::max);
    assert!(left < 1e-3, "{left} m/s");
}

#[test]
fn the_derived_stiffness_bears_any_weight_at_any_step() {
    for density in [1.0, 500.0, 8000.0] {
        for h in [1e-4, 1e-2, 0.1] {
            let mut b = builder(G);
            floor(&mut b);
            let mesh = slab([0.1, 0.1, 0.1], Vec3::new(0.0, 0.0, 0.05 + THICKNESS));
            let spec = BodySpec::new("box");
            b.rigid(spec, &mesh, density, Damping::default()).unwrap();
            let mut sim = simulation(b.finish().unwrap(), 0.5, h);
            for _ in 0..50 {
                let report = sim.step().unwrap();
                assert!(report.certificate.overlap < 1.0, "{density} kg/m³, h = {h}");
            }
        }
    }
}
