//! A run whose linearisation is wrong does not look right: its certificate says so.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod common;

use common::{code, stdout, stiction};

/// A soft cube that falls on a floor. At rest on it, and above it, it has less energy than 0.59 J.
const SCENE: &str = r#"
gravity = [0, 0, -9.81]
[time]
step = STEP
duration = END
frame_every = 10
[method]
name = "admm"
newton_iterations = 1
[contact]
enabled = true
thickness = 1e-3
[[body]]
name = "cube"
kind = "solid"
shape = { type = "box", size = [0.1, 0.1, 0.1], cells = [2, 2, 2] }
material = { kind = "solid", density = 1000, young = 1e4, poisson = POISSON }
translate = [0, 0, 0.06]
[[obstacle]]
name = "floor"
shape = { type = "plane", normal = [0, 0, 1] }
[[check]]
name = "momentum"
of = "certificate.dynamics"
from = 0
to = END
below = 1e-2
[[check]]
name = "energy"
of = "certificate.kinetic + certificate.elastic + certificate.potential"
from = 0
to = END
below = 0.6
[output]
formats = []
"#;

/// The checks that fail, with one linearisation per step.
fn failing(step: f64, poisson: &str) -> Vec<String> {
    let dir = tempfile::tempdir().unwrap();
    let scene = dir.path().join("scene.toml");
    let text = SCENE
        .replace("STEP", &step.to_string())
        .replace("END", &(10.0 * step).to_string())
        .replace("POISSON", poisson);
    std::fs::write(&scene, text).unwrap();
    let out = dir.path().join("out");
    let output = stiction(&[
        "run",
        &scene.to_string_lossy(),
        "--out",
        &out.to_string_lossy(),
    ]);
    let said = stdout(&output);
    let failed = said.lines().filter_map(|l| l.trim().strip_prefix("FAIL "));
    let failed: Vec<String> = failed
        .map(|l| l.split(':').next().unwrap().to_owned())
        .collect();
    assert_eq!(code(&output), i32::from(!failed.is_empty()), "{said}");
    failed
}

/// The residual of the contact problem is 0 in all of them.
#[test]
fn steps_that_are_too_long_to_be_linearised_are_flagged_by_their_momentum() {
    assert_eq!(failing(10.0, "0.3"), ["momentum"]);
    // A step that is short enough is not.
    assert_eq!(failing(2e-4, "0.3"), [""; 0]);
}

#[test]
fn nearly_incompressible_solids_that_gain_energy_are_flagged() {
    assert_eq!(failing(0.01, "0.49999999999"), ["momentum", "energy"]);
}
