//! Method `attachment`: sliding and stopping, attachments that stay, restarts, momentum, both linear solvers.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod common;

use stiction_bodies::{
    Model, State,
    builder::{BodySpec, Builder},
    material::Damping,
    motion::Pose,
    obstacle::{Obstacle, ObstacleShape, Solid},
};
use stiction_contact::detect::{Laws, PairLaw};
use stiction_geometry::shapes::{BoxSolid, BoxSurface, TetPattern};
use stiction_math::{Quat, Vec3};
use stiction_sim::{
    Simulation,
    attachment::{AttachmentMethod, Config},
    colliders::{ContactRules, material_names},
    implicit::{LinearSolver, Solver},
};

const THICKNESS: f64 = 1e-3;
const G: f64 = 9.81;
const H: f64 = 0.005;

fn simulation((model, state): (Model, State), mu: f64, config: Config) -> Simulation {
    let law = PairLaw {
        mu,
        ..PairLaw::default()
    };
    let laws = Laws::new(material_names(&model).len() as u32, |_, _| law);
    let rules = ContactRules {
        thickness: THICKNESS,
        laws,
    };
    let method = Box::new(AttachmentMethod::new(config, rules));
    Simulation::new(model, state, method, H).unwrap()
}

/// The tangent of the slope.
const SLOPE: f64 = 0.11;

fn slope() -> Builder {
    let c = 1.0 / (1.0 + SLOPE * SLOPE).sqrt();
    let mut b = Builder::new(Vec3::new(SLOPE, 0.0, -1.0) * (c * G), None);
    b.contact(true);
    b.obstacle(Obstacle {
        name: "slope".to_owned(),
        material: "floor".to_owned(),
        shape: ObstacleShape::Solid(Solid::Plane {
            normal: Vec3::z(),
            offset: 0.0,
        }),
        placement: Pose::default(),
        motion: None,
    });
    b
}

fn lifted(name: &str, speed: f64) -> BodySpec {
    BodySpec {
        velocity: Vec3::new(speed, 0.0, 0.0),
        ..BodySpec::new(name)
    }
}

fn soft(b: &mut Builder, height: f64, speed: f64) {
    let shape = BoxSolid {
        size: [0.1, 0.1, 0.05],
        cells: [2, 2, 1],
        pattern: TetPattern::Kuhn,
    };
    let mut mesh = shape.build().unwrap();
    let up = Vec3::new(0.0, 0.0, height + 0.025);
    mesh.transform(&Quat::identity(), &Vec3::repeat(1.0), &up);
    let mut rubber = common::rubber();
    rubber.young = 1e6;
    rubber.poisson = 0.3;
    rubber.damping.stiffness = 0.01;
    b.solid(lifted("soft", speed), mesh, &rubber).unwrap();
}

fn rigid(b: &mut Builder, name: &str, centre: Vec3, speed: f64) {
    let shape = BoxSurface {
        size: [0.1; 3],
        cells: [1; 3],
    };
    let mut mesh = shape.build().unwrap();
    mesh.transform(&Quat::identity(), &Vec3::repeat(1.0), &centre);
    b.rigid(lifted(name, speed), &mesh, 1000.0, Damping::default())
        .unwrap();
}

fn mean(values: &[Vec3]) -> Vec3 {
    values.iter().sum::<Vec3>() / values.len() as f64
}

/// The force of friction is μ times that of the contact at any time, so that the impulses over a step are: whatever the
/// block does along the normal, it loses μ times what that takes.
#[test]
fn a_soft_block_slides_as_coulombs_law_says_and_stops_for_good() {
    let c = 1.0 / (1.0 + SLOPE * SLOPE).sqrt();
    for (mu, stops) in [(0.1, false), (0.125, true)] {
        let mut b = slope();
        soft(&mut b, THICKNESS, 0.1);
        let mut sim = simulation(b.finish().unwrap(), mu, Config::default());
        let start = mean(&sim.state().x);
        for _ in 0..200 {
            let report = sim.step().unwrap();
            // Rounding of coordinates of 0.1 m over springs of a few micrometres.
            assert!(report.certificate.cone < 1e-9);
            assert!(report.certificate.dynamics < 1e-6);
        }
        let moved = mean(&sim.state().x).x - start.x;
        let a = G * c * (SLOPE - mu);
        if !stops {
            // Backward Euler adds half a step: a h t/2.
            let exact = 0.1 + 0.5 * a + 0.5 * a * H;
            assert!((moved - exact).abs() < 1e-4, "{moved} {exact}");
            continue;
        }
        // Half a step of the first speed, and less for the springs.
        let exact = 0.1 * 0.1 / (-2.0 * a);
        assert!((moved - exact).abs() < 0.1 * H, "{moved} {exact}");
        for _ in 0..200 {
            sim.step().unwrap();
        }
        let (state, memory) = (sim.state().clone(), sim.method().save());
        assert!(memory.keys.len() >= 8);
        for _ in 0..200 {
            let report = sim.step().unwrap();
            assert!(
                report.certificate.creep < 1e-7,
                "{:e}",
                report.certificate.creep
            );
        }
        // The attachments are the same bits; the block is where it was to the tolerance of a step.
        assert_eq!(memory, sim.method().save());
        let far = sim
            .state()
            .x
            .iter()
            .zip(&state.x)
            .map(|(a, b)| (a - b).norm());
        assert!(far.fold(0.0, f64::max) < 1e-9);
    }
}

#[test]
fn a_stack_of_rigid_and_soft_resumes_bit_for_bit() {
    let stack = || {
        let mut b = slope();
        soft(&mut b, THICKNESS, 0.0);
        rigid(
            &mut b,
            "top",
            Vec3::new(0.0, 0.0, 2.0 * THICKNESS + 0.1),
            0.0,
        );
        b.finish().unwrap()
    };
    let mut whole = simulation(stack(), 0.3, Config::default());
    for _ in 0..30 {
        whole.step().unwrap();
    }
    let mut again = simulation(stack(), 0.3, Config::default());
    again.restore(whole.state().clone(), whole.method().save());
    for _ in 0..30 {
        whole.step().unwrap();
        again.step().unwrap();
        assert_eq!(whole.state().x, again.state().x);
        assert_eq!(whole.state().v, again.state().v);
        assert_eq!(whole.method().save(), again.method().save());
    }
    // It stands: the top is held by friction at the soft block alone.
    let top = whole.state().x.last_chunk::<2>().unwrap()[0];
    assert!(top.x < 2e-3 && (top.z - 0.102).abs() < 2e-3, "{top}");
    let mut loose = simulation(stack(), 0.05, Config::default());
    for _ in 0..60 {
        loose.step().unwrap();
    }
    let top = loose.state().x.last_chunk::<2>().unwrap()[0];
    assert!(top.x > 5e-3, "{top}");
}

/// The steps that both solvers take are roots of one residual.
#[test]
fn gmres_and_elimination_agree() {
    let solvers = [LinearSolver::Direct, LinearSolver::Gmres].map(Solver::Stabilised);
    let ends = solvers.map(|solver| {
        let mut b = slope();
        soft(&mut b, THICKNESS, 0.1);
        let mut config = Config::default();
        config.newton.solver = solver;
        config.newton.tolerance = 1e-9;
        let mut sim = simulation(b.finish().unwrap(), 0.2, config);
        for _ in 0..40 {
            sim.step().unwrap();
        }
        sim.state().x.clone()
    });
    let apart = ends[0].iter().zip(&ends[1]).map(|(a, b)| (a - b).norm());
    // 40 steps of 5 ms with 1e-9 m/s, and what they add up to.
    assert!(apart.fold(0.0, f64::max) < 1e-8);
}

/// Two rigid boxes that collide off centre. Forces act along the spring between two points, with the levers of the end of
/// the step: backward Euler changes the angular momentum by h J × v, with the impulse J and the velocity v of one body relative
/// to the other, as of any force.
#[test]
fn a_collision_of_rigid_bodies_keeps_momentum() {
    let mut b = Builder::new(Vec3::zeros(), None);
    b.contact(true);
    rigid(&mut b, "a", Vec3::zeros(), 1.0);
    rigid(&mut b, "b", Vec3::new(0.12, 0.03, 0.04), -0.5);
    let mut sim = simulation(b.finish().unwrap(), 0.5, Config::default());
    let momenta = |sim: &Simulation| {
        let state = sim.state();
        let (mut p, mut l) = (Vec3::zeros(), Vec3::zeros());
        for k in 0..2 {
            let (x, v, w) = (state.x[2 * k], state.v[2 * k], state.v[2 * k + 1]);
            // 1 kg, and a cube's inertia, which does not turn.
            let inertia = 0.1 * 0.1 / 6.0;
            p += v;
            l += x.cross(&v) + w * inertia;
        }
        (p, l)
    };
    let before = momenta(&sim);
    let mut touched = 0;
    for _ in 0..30 {
        touched += sim.step().unwrap().contacts;
    }
    let after = momenta(&sim);
    assert!(touched > 0);
    assert!(sim.state().v[1].norm() > 1e-3);
    // 30 steps, each solved to 1e-8 m/s.
    assert!((after.0 - before.0).norm() < 1e-6, "{}", after.0 - before.0);
    let (impulse, speed) = (1.5, 1.5);
    let turned = (after.1 - before.1).norm();
    assert!(turned < H * impulse * speed, "{turned}");
}
