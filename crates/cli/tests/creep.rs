//! Rest at any time step where friction holds: bodies of every kind, `admm` without keys, steps of 0.1 to 10 ms.
//!
//! `STICTION_LONG=1` takes all seven time steps and longer runs, and prints the table of docs/results.md with `--nocapture`.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
#![allow(clippy::print_stdout)] // the table, with --nocapture

use stiction_cli::{
    math::Vec3,
    scene::{LoadOptions, SceneSource, load},
    sim::Simulation,
};

/// The promise: no sticking contact creeps faster, and nothing moves faster on average [m/s].
const REST: f64 = 1e-8;

/// Something that friction holds.
struct Case {
    name: &'static str,
    source: SceneSource,
    overrides: Vec<String>,
    /// Time until it rests [s].
    settles: f64,
}

impl Case {
    fn builtin(name: &'static str, scene: &str, overrides: &[&str], settles: f64) -> Self {
        Self {
            name,
            source: SceneSource::Builtin(scene.to_owned()),
            overrides: overrides.iter().map(|o| (*o).to_owned()).collect(),
            settles,
        }
    }

    /// Bodies that lie on one another where friction bears tan 10° = 0.176 of the weight, with μ = 0.5.
    fn stack(name: &'static str, body: &str, settles: f64) -> Self {
        let text = format!(
            r#"
            gravity = [1.703488600, 0, -9.660964058]
            time = {{ step = 0.01, duration = 10 }}
            contact = {{ thickness = 0.001 }}
            friction = {{ default = 0.5 }}
            [[body]]
            name = "body"
            {body}
            [[obstacle]]
            name = "floor"
            shape = {{ type = "plane" }}
            "#
        );
        Self {
            name,
            source: SceneSource::Text {
                name: "stack".to_owned(),
                text,
            },
            overrides: Vec::new(),
            settles,
        }
    }

    fn simulation(&self, h: f64, method: &str) -> Simulation {
        let own = [format!("time.step={h}"), format!("method.name={method}")];
        let options = LoadOptions {
            overrides: self.overrides.iter().cloned().chain(own).collect(),
            ..LoadOptions::default()
        };
        let scene = load(&self.source, &options).unwrap_or_else(|e| panic!("{}", e.plain()));
        scene.simulation().unwrap().0
    }

    /// The largest creep and the largest mean speed of anything over so many steps at rest [m/s].
    fn creep(&self, h: f64, method: &str, steps: usize) -> [f64; 2] {
        let mut sim = self.simulation(h, method);
        for _ in 0..(self.settles / h).round() as usize {
            sim.step().unwrap();
        }
        let start: Vec<Vec3> = sim.state().x.clone();
        let mut creep = 0.0f64;
        for _ in 0..steps {
            creep = creep.max(sim.step().unwrap().certificate.creep);
        }
        let moved = sim
            .state()
            .x
            .iter()
            .zip(&start)
            .map(|(a, b)| (a - b).norm());
        [creep, moved.fold(0.0, f64::max) / (h * steps as f64)]
    }
}

/// A rigid board of 1 × 0.1 × 0.02 m leans at a wall, 2 % steeper than it must (`stiction validate --case board`: the
/// least tan θ is (1 − μ²)/(2 μ + 0.02 (1 + μ²)) for μ = 0.4, corners 0.1 mm away from floor and wall).
fn board() -> Case {
    let limit = (1.0 - 0.16) / (0.8 + 0.02 * 1.16);
    let (sin, cos) = f64::atan(1.02 * limit).sin_cos();
    let angle = f64::atan2(sin, cos).to_degrees();
    let x = 1e-4 + 0.5 * (cos + 0.02 * sin);
    let z = 1e-4 + 0.5 * (sin + 0.02 * cos);
    let overrides = [
        format!("body.board.rotate.angle={angle}"),
        format!("body.board.translate=[{x}, 0, {z}]"),
    ];
    let overrides = [&*overrides[0], &*overrides[1]];
    Case::builtin("leaning board", "validation/board", &overrides, 0.05)
}

fn cases() -> Vec<Case> {
    // tan 20° = 0.364.
    let locks = ["friction.default=0.4"];
    let solid = r#"
        kind = "solid"
        shape = { type = "box", size = [0.04, 0.04, 0.02], cells = [1, 1, 1] }
        material = { kind = "solid", density = 500, young = 1e5, poisson = 0.3, damping = { stiffness = 0.01 } }
        translate = [0, 0, 0.011]
        repeat = { count = 3, step = [0, 0, 0.021] }
    "#;
    let rods = r#"
        shape = { type = "path", moves = [[0.05]], segments = 4 }
        material = { kind = "rod", density = 1000, radius = 1e-3, young_bending = 1e8, young_stretch = 1e8, poisson = 0.3, damping = { mass = 50, stiffness = 0.001 } }
        translate = [-0.025, 0, 0.0021]
        repeat = { count = 3, step = [0, 0.01, 0] }
    "#;
    vec![
        Case::builtin("wedge that locks itself", "validation/wedge", &locks, 0.35),
        board(),
        Case::builtin("ten plates", "validation/stack", &[], 0.05),
        Case::builtin("ten sheets", "validation/stack-cloth", &[], 0.1),
        Case::stack("three solids", solid, 0.3),
        Case::stack("three rods", rods, 0.3),
    ]
}

#[test]
fn what_friction_holds_rests_at_any_time_step() {
    let long = std::env::var("STICTION_LONG").is_ok_and(|v| v == "1");
    let milliseconds: &[f64] = match long {
        true => &[0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0],
        false => &[0.5, 2.0, 10.0],
    };
    for case in cases() {
        let mut row = format!("| {} |", case.name);
        for h in milliseconds {
            let [creep, speed] = case.creep(1e-3 * h, "admm", if long { 200 } else { 20 });
            row += &format!(" {creep:.1e}, {speed:.1e} |");
            assert!(
                creep < REST,
                "{} creeps at {creep:e} m/s, {h} ms",
                case.name
            );
            assert!(speed < REST, "{} moves at {speed:e} m/s, {h} ms", case.name);
        }
        println!("{row}");
    }
}

/// With smoothed friction (ε = 1e-4 m/s) the same board moves: rest is not a property of the scene.
#[test]
fn smoothed_friction_does_not_rest() {
    let [_, speed] = board().creep(2e-3, "smooth", 20);
    assert!(speed > REST, "the board moves at {speed:e} m/s");
}
