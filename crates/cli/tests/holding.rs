//! Sticking bodies do not move, however long the run: a hundred thousand steps with
//! STICTION_LONG=1, some hundred otherwise.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
#![allow(clippy::print_stdout)] // the figures, with --nocapture

use stiction_cli::{
    math::Vec3,
    scene::{LoadOptions, SceneSource, load},
    sim::Simulation,
};

/// No node that is held may wander further than this from where it was [m].
const DRIFT: f64 = 1e-9;
/// The creep of every later step [m/s].
const CREEP: f64 = 1e-9;

fn steps() -> usize {
    match std::env::var("STICTION_LONG").is_ok_and(|v| v == "1") {
        true => 100_000,
        false => 400,
    }
}

fn simulation(source: SceneSource, overrides: &[&str]) -> Simulation {
    let options = LoadOptions {
        overrides: overrides.iter().map(|o| o.to_string()).collect(),
        ..LoadOptions::default()
    };
    let scene = load(&source, &options).unwrap_or_else(|e| panic!("{}", e.plain()));
    scene.simulation().unwrap().0
}

/// Lets bodies settle for so many steps, then watches the nodes that are held.
fn watch(name: &str, mut sim: Simulation, settle: usize, held: impl Fn(&Vec3) -> bool) {
    for _ in 0..settle {
        sim.step().unwrap();
    }
    let start = sim.state().x.clone();
    assert!(start.iter().any(&held), "no node of {name} is held");
    let (mut drift, mut creep): (f64, f64) = (0.0, 0.0);
    for _ in 0..steps() {
        let report = sim.step().unwrap();
        creep = creep.max(report.certificate.creep);
        let now = sim.state().x.iter().zip(&start).filter(|(_, b)| held(b));
        drift = now.fold(drift, |d, (a, b)| d.max((a - b).norm()));
    }
    println!(
        "{name}, {} steps: drift {drift:.1e} m, creep {creep:.1e} m/s",
        steps()
    );
    assert!(drift < DRIFT, "{name} drifts by {drift:e} m");
    assert!(creep < CREEP, "{name} creeps at {creep:e} m/s");
}

#[test]
fn a_cloth_on_a_slope_does_not_drift() {
    let text = r#"
        time = { step = 0.005, duration = 1 }
        method = { name = "admm" }
        contact = { thickness = 0.002 }
        friction = { default = 0.5 }
        [[body]]
        name = "cloth"
        shape = { type = "sheet", size = [0.2, 0.2], cells = [4, 4] }
        material = { kind = "shell", area_density = 0.2, thickness = 1e-3, young = 1e5, poisson = 0.3, bending = 1e-5 }
        rotate = { axis = [0, 1, 0], angle = 20 }
        translate = [0.000684, 0, 0.001879]
        [[obstacle]]
        name = "slope"
        shape = { type = "plane", normal = [0.3420201433256687, 0, 0.9396926207859084] }
    "#;
    let source = SceneSource::Text {
        name: "cloth".into(),
        text: text.into(),
    };
    watch(
        "cloth on a slope of 20°",
        simulation(source, &[]),
        400,
        |_| true,
    );
}

/// The plate touches its pedestal with edges and faces alone: all its corners are beyond it.
#[test]
fn a_plate_wider_than_its_pedestal_does_not_rock() {
    let text = r#"
        gravity = [0.855, 0, -9.773]
        time = { step = 0.002, duration = 1 }
        method = { name = "admm" }
        contact = { thickness = 0.001 }
        friction = { default = 0.5 }
        [[body]]
        name = "plate"
        kind = "rigid"
        shape = { type = "box", size = [0.6, 0.1, 0.02] }
        material = { kind = "rigid", density = 1000 }
        translate = [0.05, 0, 0.011]
        [[obstacle]]
        name = "pedestal"
        shape = { type = "box", size = [0.2, 0.3, 0.1] }
        translate = [0, 0, -0.05]
    "#;
    let source = SceneSource::Text {
        name: "plate".into(),
        text: text.into(),
    };
    let mut sim = simulation(source, &[]);
    for _ in 0..50 {
        sim.step().unwrap();
    }
    for _ in 0..100 {
        let certificate = sim.step().unwrap().certificate;
        assert!(certificate.residual < 1e-8, "{}", certificate.residual);
        let speed = sim.state().v.iter().fold(0.0, |m: f64, v| m.max(v.norm()));
        assert!(speed < 1e-8, "it moves at {speed:e} m/s");
    }
}

#[test]
fn a_cloth_between_two_pads_does_not_drift() {
    let coarse = ["body.cloth.shape.cells=[4, 4]"];
    let pinch = simulation(SceneSource::Builtin("pinch".into()), &coarse);
    // The pads have lifted it by 0.1 m and hold it there; its lower end hangs free.
    let held = |x: &Vec3| x.x.abs() < 0.04 && (0.17..0.23).contains(&x.z) && x.y.abs() < 0.01;
    // What is left of its swinging falls by a factor of five in 200 steps, from 1e-9 m after 800 of them.
    watch("pinch", pinch, 1200, held);
}
