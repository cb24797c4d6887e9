//! The residual with velocities eliminated in the records of a run: with a friction problem a figure in every
//! step, without one no figure at all.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod common;

use std::path::{Path, PathBuf};

use common::{code, stderr, stdout, stiction};
use stiction_cli::record::{Summary, read_table};

const SCENE: &str = r#"
gravity = [2, 0, -9.81]
[time]
step = 0.01
duration = 0.05
frame_every = 1
[method]
METHOD
[contact]
enabled = true
thickness = 1e-3
[[body]]
name = "cloth"
shape = { type = "sheet", size = [0.3, 0.3], cells = [4, 4], pattern = "irregular", seed = 3 }
material = { kind = "shell", area_density = 0.2, thickness = 1e-3, young = 1e5, poisson = 0.3, bending = 1e-5 }
translate = [0, 0, 1e-3]
[[obstacle]]
name = "floor"
shape = { type = "plane", normal = [0, 0, 1] }
[output]
formats = ["vtu"]
"#;

/// Runs the scene with a method; returns what it printed, its exit code and its folder.
fn run(dir: &Path, name: &str, method: &str, more: &[&str]) -> (String, i32, PathBuf) {
    let (scene, out) = (dir.join(format!("{name}.toml")), dir.join(name));
    std::fs::write(&scene, SCENE.replace("METHOD", method)).unwrap();
    let (scene, folder) = (scene.to_string_lossy(), out.to_string_lossy());
    let output = stiction(&[&["run", &scene, "--out", &folder][..], more].concat());
    let said = format!("{}{}", stdout(&output), stderr(&output));
    (said, code(&output), out)
}

#[test]
fn a_method_with_a_friction_problem_records_it_in_every_step() {
    let dir = tempfile::tempdir().unwrap();
    let require = ["--require", "eliminated<1e-9"];
    let (said, code, out) = run(dir.path(), "admm", "name = \"admm\"", &require);
    assert_eq!(code, 0, "{said}");
    assert!(said.contains("m/s with velocities eliminated"), "{said}");
    assert!(said.contains("ok   --require eliminated<1e-9"), "{said}");
    let column = read_table(&out.join("certificate.csv"))
        .unwrap()
        .numbers("eliminated")
        .unwrap();
    assert_eq!(column.len(), 5);
    assert!(column.iter().all(|x| (0.0..1e-9).contains(x)), "{column:?}");
    let summary = Summary::read(&out.join("summary.json")).unwrap();
    let worst = column.iter().copied().fold(0.0, f64::max);
    assert_eq!(summary.certificate.get("eliminated").unwrap().max, worst);
    let frame = std::fs::read(out.join("frames/cloth_000005.vtu")).unwrap();
    let name = b"\"eliminated\"";
    assert!(frame.windows(name.len()).any(|w| w == name));
}

#[test]
fn a_bound_that_is_broken_is_told_with_its_figure() {
    let dir = tempfile::tempdir().unwrap();
    let method = "name = \"admm\"\ntolerance = 1e-5";
    let require = ["--require", "eliminated<1e-12"];
    let (said, code, _) = run(dir.path(), "loose", method, &require);
    assert_eq!(code, 1, "{said}");
    assert!(
        said.contains("breaks the requirement eliminated<1e-12"),
        "{said}"
    );
}

#[test]
fn a_method_without_a_friction_problem_has_none() {
    let dir = tempfile::tempdir().unwrap();
    let smooth = "name = \"smooth\"";
    let (said, code, out) = run(dir.path(), "smooth", smooth, &[]);
    assert_eq!(code, 0, "{said}");
    assert!(!said.contains("eliminated"), "{said}");
    let table = read_table(&out.join("certificate.csv")).unwrap();
    let at = table
        .columns
        .iter()
        .position(|c| c == "eliminated")
        .unwrap();
    assert!(table.rows.iter().all(|row| row[at].is_empty()));
    let summary = Summary::read(&out.join("summary.json")).unwrap();
    assert!(summary.certificate.get("eliminated").is_none());
    assert!(summary.certificate.get("residual").is_some());
    let require = ["--require", "eliminated<1"];
    let (said, code, _) = run(dir.path(), "required", smooth, &require);
    assert_eq!(code, 1, "{said}");
    assert!(said.contains("does not apply"), "{said}");
}
