//! Input that is no file, never ends, or says nothing: refused at once and in few words.
#![cfg(unix)]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod common;

use std::{
    fs,
    path::Path,
    process::{Command, Output},
    time::{Duration, Instant},
};

use common::{code, stderr, stdout, stiction};

/// Runs the program, which must refuse its input within seconds.
fn refused(args: &[&str], words: &[&str]) -> Output {
    let clock = Instant::now();
    let output = stiction(args);
    assert!(clock.elapsed() < Duration::from_secs(20), "{args:?}");
    let told = stderr(&output);
    assert_eq!(code(&output), 2, "{args:?}: {told}");
    for word in words {
        assert!(told.contains(word), "{args:?}: no `{word}` in {told}");
    }
    output
}

fn text(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

#[test]
fn the_doctor_finds_nothing_wrong_with_rods_and_strands() {
    let dir = tempfile::tempdir().unwrap();
    for scene in ["capstan", "self-lock", "sticky-patch"] {
        let output = stiction(&["doctor", scene, "--out", &text(dir.path())]);
        let said = stdout(&output);
        assert_eq!(code(&output), 0, "{scene}: {said}");
        assert!(
            said.contains(": rods,") && said.contains("segments"),
            "{said}"
        );
    }
    let file = text(&dir.path().join("hair.strands"));
    assert_eq!(code(&stiction(&["groom", &file, "--count", "5"])), 0);
    let output = stiction(&["doctor", &file]);
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    assert!(stdout(&output).contains("5 strands, 155 points"));
    fs::write(&file, "strands 1\nstrand 3\n0 0 0\n0 0 1\n0 0 1\n").unwrap();
    let output = stiction(&["doctor", &file]);
    let said = format!("{}{}", stdout(&output), stderr(&output));
    assert_eq!(code(&output), 2, "{said}");
}

#[test]
fn grooms_that_are_not_finite_are_refused_and_not_written() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("hair.strands");
    let file = text(&path);
    for more in [
        &["--length", "inf"][..],
        &["--radius", "nan"],
        &["--length", "1e300", "--form", "single"],
        &["--length", "1e308", "--radius", "1.7e308"],
    ] {
        let args = [&["groom", &file, "--count", "3"][..], more].concat();
        refused(&args, &[]);
        assert!(!path.exists(), "{more:?}");
    }
}

#[test]
fn pipes_and_devices_are_refused_and_not_waited_for() {
    let dir = tempfile::tempdir().unwrap();
    let out = text(&dir.path().join("out"));
    let pipe = |name: &str| {
        let path = dir.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        assert!(
            Command::new("mkfifo")
                .arg(&path)
                .status()
                .unwrap()
                .success()
        );
        text(&path)
    };
    refused(&["doctor", &pipe("a.obj")], &["not a regular file"]);
    refused(&["doctor", &pipe("a.strands")], &["not a regular file"]);
    refused(
        &["groom", &out, "--on", &pipe("b.ply")],
        &["not a regular file"],
    );
    refused(&["run", &pipe("a.toml"), "--out", &out], &["not a file"]);
    refused(&["solve", &pipe("a.problem")], &["not a regular file"]);
    refused(&["solve", "/dev/zero"], &["not a regular file"]);
    pipe("run/frames.pvd");
    let run = text(&dir.path().join("run"));
    refused(
        &["export", &run, "--format", "obj", "--out", &out],
        &["not a regular file"],
    );
}

#[test]
fn a_series_that_names_files_outside_of_its_folder_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let (run, out) = (text(dir.path()), text(&dir.path().join("out")));
    for file in [
        "/dev/zero",
        "../secret.vtu",
        "/etc/passwd",
        "frames/../../a.vtu",
    ] {
        let series = format!(
            "<?xml version=\"1.0\"?>\n<VTKFile type=\"Collection\"><Collection><DataSet timestep=\"0\" \
             part=\"0\" name=\"a\" file=\"{file}\"/></Collection></VTKFile>\n"
        );
        fs::write(dir.path().join("frames.pvd"), series).unwrap();
        let args = ["export", &run, "--format", "obj", "--out", &out];
        refused(&args, &[file, "not in the folder of the run"]);
    }
    // A pipe in the place of a frame.
    let frame = dir.path().join("a.vtu");
    assert!(
        Command::new("mkfifo")
            .arg(&frame)
            .status()
            .unwrap()
            .success()
    );
    let series = "<?xml version=\"1.0\"?>\n<VTKFile type=\"Collection\"><Collection><DataSet \
                  timestep=\"0\" part=\"0\" name=\"a\" file=\"a.vtu\"/></Collection></VTKFile>\n";
    fs::write(dir.path().join("frames.pvd"), series).unwrap();
    refused(
        &["export", &run, "--format", "obj", "--out", &out],
        &["not a regular file"],
    );
}

#[test]
fn messages_quote_no_more_than_a_line_of_the_input() {
    let dir = tempfile::tempdir().unwrap();
    let long = "x".repeat(1 << 20);
    let (scene, mesh) = (dir.path().join("a.toml"), dir.path().join("a.obj"));
    fs::write(
        &scene,
        format!("name = \"{long}\"\n{long} = 1\n[method]\nname = \"{long}\"\n"),
    )
    .unwrap();
    fs::write(&mesh, format!("v 0 0 {long}\n")).unwrap();
    let out = text(&dir.path().join("out"));
    let argument = "y".repeat(100_000);
    for args in [
        &["run", &text(&scene), "--out", &out][..],
        &["doctor", &text(&mesh)],
        &["run", "slope", "--require", &argument],
        &["run", &argument],
        &["run", "slope", "--set", &argument],
        &["run", "slope", "--method", &argument],
    ] {
        let output = refused(args, &[]);
        assert!(output.stderr.len() < 16_000, "{}", output.stderr.len());
    }
}
