//! `stiction view` and `run --view` find the viewer, or say how to get it.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
#![cfg(unix)]

mod common;

use std::{
    fs,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    process::{Command, Output},
};

use common::{code, stderr, stdout};

/// The program in a folder of its own, so that no viewer is next to it unless a test puts one there.
fn alone(dir: &Path) -> PathBuf {
    let program = dir.join("stiction");
    let built = env!("CARGO_BIN_EXE_stiction");
    if fs::hard_link(built, &program).is_err() {
        fs::copy(built, &program).unwrap();
    }
    program
}

fn call(program: &Path, args: &[&str], path: &str) -> Output {
    let mut command = Command::new(program);
    command.args(args).env("NO_COLOR", "1").env("PATH", path);
    command.output().unwrap()
}

/// A viewer that writes down how it was called, and when its standard input was closed.
fn pretend(dir: &Path) {
    let script = "#!/bin/sh\necho \"$@\" > \"$0.called\"\necho http://127.0.0.1:1/\n\
                  /bin/cat > /dev/null\necho ended >> \"$0.called\"\n";
    let path = dir.join("stiction-viewer");
    fs::write(&path, script).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
}

#[test]
fn a_viewer_that_is_not_there_is_explained_before_the_run() {
    let dir = tempfile::tempdir().unwrap();
    let program = alone(dir.path());
    let out = dir.path().join("run");
    let folder = out.to_string_lossy();
    let refused = call(
        &program,
        &["run", "free-fall", "--view", "--out", &folder],
        "",
    );
    assert_eq!(code(&refused), 2);
    let said = stderr(&refused);
    assert!(said.contains("`stiction-viewer` was not found"), "{said}");
    assert!(
        said.contains("cargo install --path crates/viewer"),
        "{said}"
    );
    assert!(!out.exists());

    // A folder that holds no run is reported first.
    let refused = call(&program, &["view", &folder], "");
    assert_eq!(code(&refused), 2);
    assert!(stderr(&refused).contains("frames.pvd does not exist"));
}

#[test]
fn a_run_is_handed_to_the_viewer_and_ends_it() {
    let dir = tempfile::tempdir().unwrap();
    let program = alone(dir.path());
    let tools = dir.path().join("tools");
    fs::create_dir(&tools).unwrap();
    pretend(&tools);
    let out = dir.path().join("run");
    let folder = out.to_string_lossy();
    let path = tools.to_string_lossy();
    let args = [
        "run",
        "free-fall",
        "--view",
        "--frames",
        "2",
        "--format",
        "none",
        "--json",
        "--out",
        &folder,
    ];
    let made = call(&program, &args, &path);
    assert_eq!(code(&made), 0, "{}", stderr(&made));
    // Standard output holds the summary and nothing else.
    let summary = stdout(&made);
    assert!(
        summary.starts_with('{') && !summary.contains("127.0.0.1"),
        "{summary}"
    );
    let called = fs::read_to_string(tools.join("stiction-viewer.called")).unwrap();
    assert_eq!(called, format!("--follow -- {folder}\nended\n"));
    // The viewer's files are written, whatever formats were requested.
    assert!(out.join("frames.pvd").exists());

    // The folder of the program comes before the search path.
    pretend(dir.path());
    let seen = call(
        &program,
        &["view", &folder, "--paused", "--save", "a.rrd"],
        &path,
    );
    assert_eq!(code(&seen), 0, "{}", stderr(&seen));
    let called = fs::read_to_string(dir.path().join("stiction-viewer.called")).unwrap();
    assert!(
        called.starts_with(&format!("--save a.rrd --paused -- {folder}\n")),
        "{called}"
    );
}
