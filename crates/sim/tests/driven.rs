//! External loads, and attachments to points that move.
#![allow(clippy::unwrap_used)]

mod common;

use stiction_bodies::{
    BodyLoad,
    builder::{Anchor, BodySpec, Builder},
    energy::{angular_momentum, momentum},
    material::Damping,
    motion::Motion,
    schedule::Schedule,
};
use stiction_geometry::shapes::BoxSurface;
use stiction_math::{Vec3, formula::Formula};

use common::{cloth, sheet, simulate};

fn formulas(texts: [&str; 3]) -> Schedule<Vec3> {
    let parse = |text| Formula::parse(text, |name| (name == "t").then_some(0)).unwrap();
    Schedule::Formula {
        of: texts.map(parse),
        scale: 1.0,
    }
}

fn cube() -> stiction_geometry::TriMesh {
    let shape = BoxSurface {
        size: [0.2, 0.1, 0.1],
        cells: [1, 1, 1],
    };
    shape.build().unwrap()
}

/// Momentum is the integral of the force, angular momentum that of the torque, to rounding where both
/// are linear over a step.
#[test]
fn momentum_is_the_integral_of_the_loads() {
    let mut b = Builder::new(Vec3::zeros(), None);
    let load = |torque| {
        Some(Box::new(BodyLoad {
            force: Some(formulas(["2 * t", "0", "1 - t"])),
            torque,
            ..BodyLoad::default()
        }))
    };
    let spec = BodySpec {
        load: load(Some(formulas(["0", "0.1*t", "0.02"]))),
        angular_velocity: Vec3::new(1.0, 0.5, 0.2),
        ..BodySpec::new("box")
    };
    b.rigid(spec, &cube(), 500.0, Damping::default()).unwrap();
    let spec = BodySpec {
        load: load(None),
        ..BodySpec::new("cloth")
    };
    b.shell(spec, sheet(2), &cloth()).unwrap();
    let built = b.finish().unwrap();
    let before = angular_momentum(&built.0.bodies[0], &built.1);
    let sim = simulate(built, 0.01, 40);
    let t = sim.state().time;
    for body in &sim.model().bodies {
        let p = momentum(body, sim.state());
        let expected = Vec3::new(t * t, 0.0, t - 0.5 * t * t);
        assert!((p - expected).norm() < 1e-9, "`{}`: {p}", body.name);
    }
    let state = sim.state();
    let body = &sim.model().bodies[0];
    let about = angular_momentum(body, state) - state.x[0].cross(&momentum(body, state));
    let gained = about - before;
    let expected = Vec3::new(0.0, 0.05 * t * t, 0.02 * t);
    assert!((gained - expected).norm() < 1e-9, "{gained}");
}

/// A box that hangs on a point which moves steadily ends up moving along with it, with no force in the
/// spring: the dashpot sees the velocity relative to the point.
#[test]
fn an_attachment_follows_its_moving_point() {
    let mut b = Builder::new(Vec3::zeros(), None);
    let rigid = b
        .rigid(BodySpec::new("box"), &cube(), 500.0, Damping::default())
        .unwrap();
    let near = Anchor::Body {
        body: rigid,
        near: Vec3::zeros(),
    };
    let to = Anchor::World(Vec3::zeros());
    let spring = b.attach(&near, &to, 100.0, 0.0, 0.2).unwrap();
    let velocity = Vec3::new(0.3, -0.1, 0.2);
    b.move_attachment(
        spring,
        Motion {
            translation: Some(Schedule::Uniform {
                velocity,
                acceleration: Vec3::zeros(),
            }),
            ..Motion::default()
        },
    );
    let sim = simulate(b.finish().unwrap(), 0.01, 400);
    let state = sim.state();
    assert!((state.v[0] - velocity).norm() < 1e-6, "{}", state.v[0]);
    let off = sim.model().attachments[0].difference_in(state);
    assert!(off.norm() < 1e-6, "{off}");
}
