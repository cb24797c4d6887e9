//! Signals, closed pipes and full disks end nothing silently.
#![cfg(unix)]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod common;

use std::{
    fs::{self, OpenOptions},
    path::Path,
    process::{Child, Command, Stdio},
    thread::sleep,
    time::{Duration, Instant},
};

use common::{assert_same_run, code, command, stderr, stiction};
use stiction_cli::record::{Status, Summary};

fn summary(dir: &Path) -> Summary {
    Summary::read(&dir.join("summary.json")).unwrap()
}

#[test]
fn a_run_continues_when_its_log_is_closed() {
    let dir = tempfile::tempdir().unwrap();
    let (whole, cut) = (dir.path().join("whole"), dir.path().join("cut"));
    let args = |out: &Path| {
        let out = out.to_string_lossy().into_owned();
        ["run", "slope", "--frames", "4", "--out", &out].map(str::to_owned)
    };
    let plain = args(&whole);
    assert_eq!(code(&stiction(&plain.each_ref().map(String::as_str))), 0);
    let closed = args(&cut);
    let mut child = command(&closed.each_ref().map(String::as_str))
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop((child.stdout.take(), child.stderr.take()));
    assert_eq!(child.wait().unwrap().code(), Some(0));
    assert_eq!(summary(&cut).status, Status::Done);
    assert_same_run(&whole, &cut);
}

#[test]
fn exit_codes_do_not_depend_on_the_reader() {
    for (args, expected) in [
        (&["scenes"][..], 0),
        (&["--help"], 0),
        (&["doctor", "no-such-file.obj"], 2),
    ] {
        let mut child = command(args)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        drop((child.stdout.take(), child.stderr.take()));
        assert_eq!(child.wait().unwrap().code(), Some(expected), "{args:?}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn output_that_cannot_be_written_is_an_error_and_no_panic() {
    for args in [
        &["scenes"][..],
        &["doctor", "tumbling", "--json"],
        &["--help"],
    ] {
        let full = OpenOptions::new().write(true).open("/dev/full").unwrap();
        let output = command(args).stdout(full).output().unwrap();
        assert_eq!(code(&output), 1, "{args:?}: {}", stderr(&output));
        assert!(!stderr(&output).contains("panicked"), "{}", stderr(&output));
    }
    let full = OpenOptions::new().write(true).open("/dev/full").unwrap();
    let output = command(&["run", "no-such-scene"]).stderr(full).output();
    assert_eq!(code(&output.unwrap()), 2);
}

/// Cloth that is dragged over a floor: a step that is never precise enough for its tolerance goes on for hours.
const ENDLESS: &str = r#"
gravity = [2, 0, -9.81]
[time]
step = 0.01
duration = 1
frame_every = 1
[method]
METHOD
[contact]
enabled = true
[[body]]
name = "cloth"
shape = { type = "sheet", size = [1, 1], cells = [12, 12], pattern = "irregular", seed = 3 }
material = { kind = "shell", area_density = 0.2, thickness = 1e-3, young = 2e5, poisson = 0.3, bending = 1e-5 }
translate = [0, 0, 0.01]
[[obstacle]]
name = "floor"
shape = { type = "plane", normal = [0, 0, 1] }
[output]
formats = []
"#;

fn started(dir: &Path, method: &str) -> Child {
    let scene = dir.join("scene.toml");
    fs::write(&scene, ENDLESS.replace("METHOD", method)).unwrap();
    let out = dir.join("out");
    let child = command(&[
        "run",
        &scene.to_string_lossy(),
        "--out",
        &out.to_string_lossy(),
        "--threads",
        "1",
    ])
    .stderr(Stdio::piped())
    .spawn()
    .unwrap();
    let clock = Instant::now();
    while !out.join("summary.json").exists() {
        sleep(Duration::from_millis(5));
        assert!(
            clock.elapsed() < Duration::from_secs(60),
            "it did not start"
        );
    }
    child
}

#[test]
fn a_signal_is_obeyed_within_a_second_in_the_middle_of_a_step() {
    let endless = "name = \"admm\"\nmax_iterations = 1000000000\ntolerance = 1e-300";
    for (method, signal) in [(endless, "-INT"), (endless, "-TERM")] {
        let dir = tempfile::tempdir().unwrap();
        let mut child = started(dir.path(), method);
        sleep(Duration::from_millis(700));
        let clock = Instant::now();
        let sent = Command::new("kill")
            .args([signal, &child.id().to_string()])
            .status();
        assert!(sent.unwrap().success());
        // A run that does not obey is not waited for.
        while child.try_wait().unwrap().is_none() && clock.elapsed() < Duration::from_secs(20) {
            sleep(Duration::from_millis(5));
        }
        let waited = clock.elapsed();
        let _ = child.kill();
        let output = child.wait_with_output().unwrap();
        assert_eq!(code(&output), 130, "{}", stderr(&output));
        // A busy machine may take longer to end a process than to be told so.
        assert!(waited < Duration::from_millis(2000), "{waited:?}");
        // The solver saw it: the run did not have to be ended from outside.
        assert!(!stderr(&output).contains("middle"), "{}", stderr(&output));
        let out = dir.path().join("out");
        let summary = summary(&out);
        assert_eq!(summary.status, Status::Interrupted);
        assert!(summary.steps < 100 && out.join("checkpoint.bin").exists());
    }
}

/// Commands that run scenes, and one that has nothing to save.
#[test]
fn every_command_that_a_signal_ends_exits_with_130() {
    let dir = tempfile::tempdir().unwrap();
    let path = |name: &str| dir.path().join(name).to_string_lossy().into_owned();
    let (scene, out) = (path("scene.toml"), path("compared"));
    let endless = "name = \"admm\"\nmax_iterations = 1000000000\ntolerance = 1e-300";
    let checked = "[[check]]\nof = \"certificate.residual\"\nat = 1\nbelow = 1\n";
    let text = ENDLESS.replace("METHOD", endless) + checked;
    fs::write(&scene, text).unwrap();
    for args in [
        &["check", &scene, "--threads", "1"][..],
        &["compare", &scene, "--with", "admm", "--out", &out],
        &["bench", "detection", "--threads", "1"],
    ] {
        let child = command(args)
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        sleep(Duration::from_millis(1000));
        let sent = Command::new("kill").arg(child.id().to_string()).status();
        assert!(sent.unwrap().success());
        let clock = Instant::now();
        let output = child.wait_with_output().unwrap();
        assert_eq!(code(&output), 130, "{args:?}: {}", stderr(&output));
        assert!(clock.elapsed() < Duration::from_secs(4), "{args:?}");
    }
    // The results so far are printed, and the interrupted run is removed.
    let rows = fs::read_to_string(Path::new(&out).join("compare.json")).unwrap();
    assert!(!rows.contains("\"done\""), "{rows}");
}
