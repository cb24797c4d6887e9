//! Particles at rest and at speed: on meshes, on one another, on slopes.
#![allow(clippy::unwrap_used)]

use stiction_bodies::{
    builder::{BodySpec, Builder},
    material::Damping,
    motion::Pose,
    obstacle::{Obstacle, ObstacleShape, Solid},
};
use stiction_contact::detect::{Laws, PairLaw};
use stiction_geometry::{TriMesh, shapes::BoxSurface};
use stiction_math::Vec3;
use stiction_sim::{
    Simulation,
    admm::{Config, admm},
    colliders::{ContactRules, material_names},
};
use stiction_solvers::admm::Tolerance;

const THICKNESS: f64 = 1e-3;
const RADIUS: f64 = 0.01;
const H: f64 = 0.005;

fn world(gravity: Vec3, floor: Option<ObstacleShape>) -> Builder {
    let mut b = Builder::new(gravity, None);
    b.contact(true);
    if let Some(shape) = floor {
        b.obstacle(Obstacle {
            name: "floor".to_owned(),
            material: "floor".to_owned(),
            shape,
            placement: Pose::default(),
            motion: None,
        });
    }
    b
}

fn plane() -> Option<ObstacleShape> {
    Some(ObstacleShape::Solid(Solid::Plane {
        normal: Vec3::z(),
        offset: 0.0,
    }))
}

fn particles(b: &mut Builder, positions: Vec<Vec3>, velocity: Vec3) {
    let count = b.model().bodies.len();
    let spec = BodySpec {
        velocity,
        ..BodySpec::new(format!("particles-{count}"))
    };
    b.particles(spec, positions, RADIUS, 2000.0, Damping::default())
        .unwrap();
}

fn simulation(b: Builder, mu: f64) -> Simulation {
    let (model, state) = b.finish().unwrap();
    let law = PairLaw {
        mu,
        ..PairLaw::default()
    };
    let rules = ContactRules {
        thickness: THICKNESS,
        laws: Laws::new(material_names(&model).len() as u32, |_, _| law),
    };
    let mut config = Config::default();
    config.solver.tolerance = Tolerance::Displacement(1e-10);
    config.solver.polish = None;
    config.solver.max_iterations = 5000;
    Simulation::new(model, state, Box::new(admm(config, rules)), H).unwrap()
}

/// Two triangles with a common edge along y at x = 0, each falling away from it by `slope`.
fn roof(slope: f64) -> TriMesh {
    let (x, y) = (0.3, 0.5);
    TriMesh {
        positions: vec![
            Vec3::new(0.0, -y, 0.0),
            Vec3::new(0.0, y, 0.0),
            Vec3::new(-x, 0.0, -slope * x),
            Vec3::new(x, 0.0, -slope * x),
        ],
        triangles: vec![[0, 1, 2], [0, 3, 1]],
    }
}

#[test]
fn a_particle_weighs_what_its_ball_does() {
    let mut b = world(Vec3::zeros(), None);
    particles(&mut b, vec![Vec3::zeros(), Vec3::x()], Vec3::zeros());
    let (model, _) = b.finish().unwrap();
    let ball = 4.0 / 3.0 * std::f64::consts::PI * RADIUS.powi(3) * 2000.0;
    assert!((model.bodies[0].total_mass() - 2.0 * ball).abs() < 1e-15);
}

#[test]
fn a_particle_falls_on_a_face_and_on_an_edge_of_a_mesh_and_rests_there() {
    // In the middle of a flat triangle, and on the ridge of a roof.
    for (slope, x) in [(0.0, 0.1), (0.5, 0.0)] {
        for speed in [0.0, 100.0] {
            let mut b = world(
                Vec3::new(0.0, 0.0, -9.81),
                Some(ObstacleShape::Mesh(roof(slope))),
            );
            let start = Vec3::new(x, 0.02, 0.05 + 0.5 * speed * H);
            particles(&mut b, vec![start], Vec3::new(0.0, 0.0, -speed));
            let mut sim = simulation(b, 0.5);
            for _ in 0..60 {
                sim.step().unwrap();
                let z = sim.state().x[0].z;
                assert!(z > RADIUS + THICKNESS - 1e-6, "at {z} after {speed} m/s");
            }
            let end = sim.state().x[0];
            assert!((end.z - (RADIUS + THICKNESS)).abs() < 1e-6, "{end:?}");
            assert!(sim.state().v[0].norm() < 1e-6);
        }
    }
}

#[test]
fn a_particle_at_speed_pushes_a_rigid_box_and_stays_outside() {
    let mut b = world(Vec3::zeros(), None);
    let cube = BoxSurface {
        size: [0.1; 3],
        cells: [1; 3],
    };
    let cube = cube.build().unwrap();
    b.rigid(BodySpec::new("box"), &cube, 100.0, Damping::default())
        .unwrap();
    let start = Vec3::new(0.013, -0.011, 0.3);
    particles(&mut b, vec![start], Vec3::new(0.0, 0.0, -60.0));
    let mut sim = simulation(b, 0.3);
    let momentum = |sim: &Simulation| -> Vec3 {
        let all = sim.model().bodies.iter();
        all.map(|b| stiction_bodies::energy::momentum(b, sim.state()))
            .sum()
    };
    let before = momentum(&sim);
    for _ in 0..10 {
        sim.step().unwrap();
        let state = sim.state();
        let local = state.rotations[0].inverse() * (state.x[2] - state.x[0]);
        let outside = (local.abs() - Vec3::repeat(0.05)).max();
        assert!(outside > RADIUS, "{local:?}");
    }
    assert!(sim.state().v[0].z < -1.0, "the box was not pushed");
    assert!((momentum(&sim) - before).norm() < 1e-9 * before.norm());
}

#[test]
fn two_particles_that_meet_stay_apart_and_share_their_momentum() {
    for speed in [0.1, 50.0] {
        for own in [true, false] {
            let mut b = world(Vec3::zeros(), None);
            let ends = [Vec3::zeros(), Vec3::new(0.1, 0.0, 0.0)];
            if own {
                particles(&mut b, ends.to_vec(), Vec3::zeros());
            } else {
                particles(&mut b, vec![ends[0]], Vec3::zeros());
                particles(&mut b, vec![ends[1]], Vec3::zeros());
            }
            let mut sim = {
                let (model, mut state) = b.finish().unwrap();
                state.v[0].x = speed;
                let rules = ContactRules {
                    thickness: THICKNESS,
                    laws: Laws::new(material_names(&model).len() as u32, |_, _| {
                        PairLaw::default()
                    }),
                };
                let method = admm(Config::default(), rules);
                Simulation::new(model, state, Box::new(method), H).unwrap()
            };
            let steps = if speed < 1.0 { 250 } else { 4 };
            for _ in 0..steps {
                sim.step().unwrap();
                let apart = sim.state().x[1].x - sim.state().x[0].x;
                assert!(apart > 2.0 * RADIUS + THICKNESS - 1e-7, "{apart}");
            }
            // Contact takes no more than it must: both go on together.
            for v in &sim.state().v {
                assert!((v.x - 0.5 * speed).abs() < 1e-3 * speed, "{v:?}");
            }
        }
    }
}

#[test]
fn a_column_of_particles_stands() {
    let mut b = world(Vec3::new(0.0, 0.0, -9.81), plane());
    let step = 2.0 * RADIUS + THICKNESS;
    let first = RADIUS + THICKNESS;
    let column = (0..10).map(|i| Vec3::new(0.0, 0.0, first + step * f64::from(i)));
    particles(&mut b, column.collect(), Vec3::zeros());
    let mut sim = simulation(b, 0.5);
    let start = sim.state().x.clone();
    for _ in 0..100 {
        sim.step().unwrap();
    }
    for (a, b) in sim.state().x.iter().zip(&start) {
        assert!((a - b).norm() < 1e-6, "{a:?} instead of {b:?}");
    }
}

/// Particles do not turn, so that one on a slope is a block: it sticks below tan θ = μ and slides
/// with g (sin θ − μ cos θ) above.
#[test]
fn a_particle_on_a_slope_sticks_and_slides_as_coulomb_says() {
    let mu = 0.4f64;
    for part in [0.95, 1.3] {
        let angle = (part * mu).atan();
        let (s, c) = angle.sin_cos();
        let mut b = world(Vec3::new(s, 0.0, -c) * 9.81, plane());
        let start = Vec3::new(0.0, 0.0, RADIUS + THICKNESS);
        particles(&mut b, vec![start], Vec3::zeros());
        let mut sim = simulation(b, mu);
        let steps = 100;
        for _ in 0..steps {
            sim.step().unwrap();
        }
        let v = sim.state().v[0].x;
        if part < 1.0 {
            assert!(v.abs() < 1e-9, "{v}");
        } else {
            let expected = 9.81 * (s - mu * c) * H * f64::from(steps);
            assert!((v / expected - 1.0).abs() < 1e-6, "{v} for {expected}");
        }
    }
}
