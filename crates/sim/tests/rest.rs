//! A sheet at rest: exactly, without iterations, and no longer than its loads stay the same.
#![allow(clippy::unwrap_used)]

mod common;

use stiction_bodies::{
    BodyLoad,
    builder::{BodySpec, Builder},
    motion::{Motion, Pose},
    obstacle::{Obstacle, ObstacleShape, Solid},
    schedule::Schedule,
};
use stiction_contact::detect::{Laws, PairLaw};
use stiction_geometry::shapes::{Sheet, SheetPattern};
use stiction_math::{Quat, Vec3};
use stiction_sim::{
    Simulation, Stage, StepReport,
    admm::{Config, admm},
    colliders::{ContactRules, material_names},
};

const THICKNESS: f64 = 1e-3;

/// The bound on the certificate that method `admm` has by default [m/s].
const BOUND: f64 = 1e-9;

/// A cloth of `cells` by `cells` that lies on a tilted plane, at its contact distance: in axes that are not those of the
/// plane, gaps have rounding errors.
fn on_slope(cells: u32, mu: f64) -> Simulation {
    let turn = Quat::from_euler_angles(0.0, 20f64.to_radians(), 0.0);
    let normal = turn * Vec3::z();
    let mut b = Builder::new(common::GRAVITY, None);
    b.contact(true);
    b.obstacle(Obstacle {
        name: "slope".to_owned(),
        material: "slope".to_owned(),
        shape: ObstacleShape::Solid(Solid::Plane {
            normal,
            offset: 0.0,
        }),
        placement: Pose::default(),
        motion: None,
    });
    let sheet = Sheet {
        size: [0.04 * f64::from(cells); 2],
        cells: [cells; 2],
        pattern: SheetPattern::Alternating,
    };
    let mut mesh = sheet.build().unwrap();
    mesh.transform(&turn, &Vec3::repeat(1.0), &(normal * THICKNESS));
    b.shell(BodySpec::new("cloth"), mesh, &common::cloth())
        .unwrap();
    let (model, state) = b.finish().unwrap();
    let law = PairLaw {
        mu,
        ..PairLaw::default()
    };
    let laws = Laws::new(material_names(&model).len() as u32, |_, _| law);
    let rules = ContactRules {
        thickness: THICKNESS,
        laws,
    };
    let method = admm(Config::default(), rules);
    Simulation::new(model, state, Box::new(method), 0.01).unwrap()
}

/// A value that grows from zero at this rate.
fn growing(velocity: Vec3) -> Schedule<Vec3> {
    Schedule::Uniform {
        velocity,
        acceleration: Vec3::zeros(),
    }
}

fn steps(sim: &mut Simulation, count: usize) -> Vec<StepReport> {
    (0..count).map(|_| sim.step().unwrap()).collect()
}

/// Computes every step: access to the state ends a rest.
fn computed(sim: &mut Simulation, count: usize) -> Vec<StepReport> {
    let mut one = || {
        sim.state_mut();
        sim.step().unwrap()
    };
    (0..count).map(|_| one()).collect()
}

/// Every third start was off by more than it may be: the force that brought a gap back in one step opened it in the
/// next.
#[test]
fn a_sheet_on_a_slope_is_not_iterated_and_stays_where_it_is() {
    let mut sim = on_slope(10, 0.5);
    steps(&mut sim, 40);
    let before = sim.state().clone();
    for report in computed(&mut sim, 200) {
        assert_eq!(report.iterations, 0);
        assert!(report.converged && report.parts == 1);
        let certificate = report.certificate;
        // Fractions of the bound: a ten thousandth for motion, a tenth for forces.
        assert!(certificate.residual <= 1e-4 * BOUND, "{certificate:?}");
        assert!(certificate.linear <= 0.1 * BOUND, "{certificate:?}");
        assert!(certificate.eliminated.unwrap() <= BOUND);
        assert_eq!(certificate.kinetic, 0.0);
    }
    assert_eq!(before.x, sim.state().x);
}

/// Repeated steps have the numbers of a copy that computes every step, and do no work.
#[test]
fn steps_of_a_sheet_at_rest_repeat_and_are_what_would_be_computed() {
    let (mut one, mut other) = (on_slope(5, 0.5), on_slope(5, 0.5));
    assert_eq!(steps(&mut one, 40), computed(&mut other, 40));
    let seconds = |sim: &Simulation| [Stage::Build, Stage::Detect].map(|s| sim.stages().seconds(s));
    // Entering a stage takes less than a microsecond, and one of these at least ten. The least of several
    // rounds: another program may interrupt one of them.
    let mut least = [f64::INFINITY; 2];
    for _ in 0..5 {
        let before = seconds(&one);
        assert_eq!(steps(&mut one, 60), computed(&mut other, 60));
        let after = seconds(&one);
        least = std::array::from_fn(|k| least[k].min(after[k] - before[k]));
    }
    assert!(least.iter().all(|s| *s < 60.0 * 2e-6), "{least:?}");
    assert_eq!(one.state(), other.state());
    assert_eq!(one.method().save(), other.method().save());
    assert_eq!(one.contacts(), other.contacts());
}

/// Changes between steps are followed at once, as where every step is computed.
#[test]
fn a_sheet_at_rest_wakes_up() {
    let changes: [(&str, fn(&mut Simulation)); 5] = [
        ("gravity", |sim| sim.set_gravity(Vec3::new(6.0, 0.0, -6.0))),
        ("a load", |sim| {
            let load = BodyLoad {
                force: Some(growing(Vec3::x())),
                ..BodyLoad::default()
            };
            sim.set_load(0, load);
        }),
        ("the slope", |sim| {
            let motion = Motion {
                translation: Some(growing(Vec3::new(0.0, 0.1, 0.0))),
                ..Motion::default()
            };
            sim.move_obstacle(0, motion);
        }),
        ("a velocity", |sim| sim.state_mut().v[3].z = 0.1),
        ("controls", |sim| {
            let mut other = on_slope(5, 0.5);
            other.set_gravity(Vec3::new(6.0, 0.0, -6.0));
            sim.set_controls(&other.controls());
        }),
    ];
    for (what, change) in changes {
        let (mut one, mut other) = (on_slope(5, 0.5), on_slope(5, 0.5));
        steps(&mut one, 60);
        computed(&mut other, 60);
        let rest = one.state().x.clone();
        for sim in [&mut one, &mut other] {
            change(sim);
        }
        assert_eq!(steps(&mut one, 3), computed(&mut other, 3), "{what}");
        assert_eq!(one.state(), other.state(), "{what}");
        assert!(one.state().x != rest, "{what} does not move it");
    }
}
