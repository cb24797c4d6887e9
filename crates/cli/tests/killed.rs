//! A run that is killed at any moment and resumed equals one that was not disturbed: every table, frame and
//! summary, for each method, in a new folder and over an earlier run.
//!
//! `STICTION_KILLS=100 cargo test -p stiction-cli --test killed` kills that often; the default is a handful.
//! `STICTION_PROGRAM=target/release/stiction` tests another build.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod common;

use std::{
    fs,
    path::Path,
    thread::sleep,
    time::{Duration, Instant},
};

use common::{Draw, assert_same_run, code, command, stderr, stiction};
use serde_json::Value;

const SCENE: &str = r#"
[time]
step = 0.01
duration = 0.16
frame_every = 1
[method]
name = "METHOD"
[contact]
enabled = CONTACT
[[body]]
name = "cloth"
shape = { type = "sheet", size = [0.4, 0.4], cells = [5, 5], pattern = "irregular", seed = 3 }
material = { kind = "shell", area_density = 0.2, thickness = 1e-3, young = 1e5, poisson = 0.3, bending = 1e-5 }
translate = [0, 0, 0.01]
velocity = [0.5, 0, -0.2]
[[body]]
name = "box"
kind = "rigid"
shape = { type = "box", size = [0.05, 0.05, 0.05] }
material = { kind = "rigid", density = 500 }
translate = [0.5, 0.03, 0.04]
velocity = [0.2, 0, 0]
[[obstacle]]
name = "floor"
shape = { type = "plane", normal = [0, 0, 1] }
[[probe]]
name = "height"
type = "centroid"
body = "cloth"
axis = "z"
[[check]]
of = "height"
at = 0.16
below = 1.0
[output]
formats = ["vtu", "obj"]
checkpoint_every = 2
contacts = true
"#;

/// The summary without clocks and memory.
fn summary(dir: &Path) -> Value {
    let text = fs::read_to_string(dir.join("summary.json")).unwrap();
    let mut summary: Value = serde_json::from_str(&text).unwrap();
    for measured in ["wall", "stages", "peak_memory", "threads"] {
        summary[measured] = Value::Null;
    }
    summary
}

fn killed_and_resumed(method: &str, contact: bool) {
    let kills = std::env::var("STICTION_KILLS").ok();
    let kills: usize = kills.map_or(6, |n| n.parse().unwrap());
    let dir = tempfile::tempdir().unwrap();
    let scene = dir.path().join("scene.toml");
    let text = SCENE.replace("METHOD", method);
    fs::write(&scene, text.replace("CONTACT", &contact.to_string())).unwrap();
    let scene = scene.to_string_lossy().into_owned();
    let (whole, killed) = (dir.path().join("whole"), dir.path().join("killed"));
    let args = |out: &Path, more: &str| {
        let out = out.to_string_lossy().into_owned();
        let mut args = ["run", &scene, "--out", &out, "--quiet"]
            .map(str::to_owned)
            .to_vec();
        args.extend((!more.is_empty()).then(|| more.to_owned()));
        args
    };
    let run = |out: &Path, more: &str| {
        let args = args(out, more);
        let output = stiction(&args.iter().map(String::as_str).collect::<Vec<_>>());
        assert_eq!(code(&output), 0, "{more}: {}", stderr(&output));
    };
    let clock = Instant::now();
    run(&whole, "");
    let wall = clock.elapsed().as_secs_f64();
    let mut draw = Draw(method.len() as u64);
    for kill in 0..kills {
        // A new folder, a completed run that is overwritten, and a run that was killed before.
        let how = match (kill, draw.uniform() < 0.5) {
            (0, _) => "",
            (_, true) => "--overwrite",
            (_, false) => "--resume",
        };
        if how == "--resume" {
            let args = args(&killed, "--overwrite");
            let mut child = command(&args.iter().map(String::as_str).collect::<Vec<_>>());
            let mut child = child.spawn().unwrap();
            sleep(Duration::from_secs_f64(0.7 * wall * draw.uniform()));
            child.kill().unwrap();
            child.wait().unwrap();
        }
        let args = args(&killed, how);
        let mut child = command(&args.iter().map(String::as_str).collect::<Vec<_>>());
        let mut child = child.spawn().unwrap();
        sleep(Duration::from_secs_f64(1.1 * wall * draw.uniform()));
        child.kill().unwrap();
        child.wait().unwrap();
        run(&killed, "--resume");
        assert_same_run(&whole, &killed);
        assert_eq!(summary(&whole), summary(&killed), "{method}, kill {kill}");
    }
}

#[test]
fn newton_resumes_after_a_kill_at_any_moment() {
    killed_and_resumed("newton", false);
}

#[test]
fn admm_resumes_after_a_kill_at_any_moment() {
    killed_and_resumed("admm", true);
}

#[test]
fn smooth_resumes_after_a_kill_at_any_moment() {
    killed_and_resumed("smooth", true);
}

#[test]
fn nodal_resumes_after_a_kill_at_any_moment() {
    killed_and_resumed("nodal", true);
}

#[test]
fn cr_resumes_after_a_kill_at_any_moment() {
    killed_and_resumed("cr", true);
}

#[test]
fn attachment_resumes_after_a_kill_at_any_moment() {
    killed_and_resumed("attachment", true);
}
