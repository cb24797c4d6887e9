//! A folder holds one run, whole: verdicts, tables and frames of all of its parts and of no other run.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod common;

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
    process::Output,
};

use common::{assert_same_run, code, command, contents, stderr, stiction};
use stiction_cli::record::{LOCK, Status, Summary, read_pvd};

/// A cube of 1 kg falls from rest: after n steps its kinetic energy is 0.005 n² J.
const FALL: &str = r#"
gravity = [0, 0, -10]
[time]
step = 0.01
duration = 0.2
frame_every = 2
[method]
name = "newton"
[[body]]
name = "cube"
kind = "rigid"
shape = { type = "box", size = [0.1, 0.1, 0.1] }
material = { kind = "rigid", density = 1000 }
[[probe]]
name = "z"
type = "centroid"
body = "cube"
axis = "z"
[output]
formats = ["vtu"]
"#;

/// Bodies and an obstacle whose names are the same as file names.
const NAMES: &str = r#"
[time]
step = 0.01
duration = 0.04
frame_every = 1
[method]
name = "admm"
[contact]
enabled = true
[[body]]
name = "a b"
kind = "rigid"
shape = { type = "box", size = [0.1, 0.1, 0.1] }
material = { kind = "rigid", density = 1000 }
translate = [0, 0, 0.06]
[[body]]
name = "a_b"
kind = "rigid"
shape = { type = "box", size = [0.1, 0.1, 0.1] }
material = { kind = "rigid", density = 1000 }
translate = [1, 0, 0.06]
[[body]]
name = "obstacle_floor"
kind = "rigid"
shape = { type = "box", size = [0.1, 0.1, 0.1] }
material = { kind = "rigid", density = 1000 }
translate = [2, 0, 0.06]
[[body]]
name = "contacts_"
kind = "rigid"
shape = { type = "box", size = [0.1, 0.1, 0.1] }
material = { kind = "rigid", density = 1000 }
translate = [3, 0, 0.06]
[[obstacle]]
name = "floor"
shape = { type = "plane", normal = [0, 0, 1] }
[output]
formats = ["vtu", "ply"]
"#;

struct Bench {
    dir: tempfile::TempDir,
    scene: String,
}

impl Bench {
    fn new(scene: &str) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("scene.toml");
        fs::write(&path, scene).unwrap();
        let scene = path.to_string_lossy().into_owned();
        Self { dir, scene }
    }

    fn out(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    fn run(&self, name: &str, more: &[&str]) -> Output {
        let out = self.out(name).to_string_lossy().into_owned();
        let mut args = vec!["run", &self.scene, "--out", &out, "--quiet"];
        args.extend(more);
        stiction(&args)
    }

    fn done(&self, name: &str, more: &[&str]) {
        let output = self.run(name, more);
        assert_eq!(code(&output), 0, "{more:?}: {}", stderr(&output));
    }

    fn refused(&self, name: &str, more: &[&str], words: &[&str]) {
        let output = self.run(name, more);
        let told = stderr(&output);
        assert_eq!(code(&output), 2, "{more:?}: {told}");
        for word in words {
            assert!(told.contains(word), "{more:?}: no `{word}` in {told}");
        }
    }

    fn summary(&self, name: &str) -> Summary {
        Summary::read(&self.out(name).join("summary.json")).unwrap()
    }
}

fn frames(dir: &Path) -> BTreeSet<String> {
    let files = fs::read_dir(dir.join("frames")).unwrap();
    files
        .map(|f| f.unwrap().file_name().to_string_lossy().into_owned())
        .collect()
}

#[test]
fn a_requirement_that_was_broken_before_a_resume_stays_broken() {
    let bench = Bench::new(FALL);
    let require = ["--require", "kinetic<0.4999"];
    let output = bench.run("a", &require);
    assert_eq!(code(&output), 1);
    assert!(stderr(&output).contains("step 10"), "{}", stderr(&output));
    // With the same requirement it stops where it stopped.
    let output = bench.run("a", &["--resume", require[0], require[1]]);
    assert_eq!(code(&output), 1);
    assert!(stderr(&output).contains("step 10"), "{}", stderr(&output));
    let summary = bench.summary("a");
    assert_eq!((summary.status, summary.steps), (Status::Failed, 10));
    // Without, it goes to its end, and the verdict is that on the whole run.
    assert_eq!(code(&bench.run("a", &["--resume"])), 1);
    let summary = bench.summary("a");
    assert_eq!((summary.status, summary.steps), (Status::Done, 20));
    let [verdict] = &summary.requirements[..] else {
        panic!("{:?}", summary.requirements)
    };
    assert!(!verdict.passed && verdict.value > 1.9, "{verdict:?}");
}

#[test]
fn a_requirement_holds_for_the_parts_of_a_run_that_did_not_name_it() {
    let bench = Bench::new(FALL);
    // Named before the resume only.
    bench.done("a", &["--frames", "2", "--require", "kinetic<0.4999"]);
    assert_eq!(code(&bench.run("a", &["--resume"])), 1);
    assert!(!bench.summary("a").requirements[0].passed);
    // Named after it only.
    bench.done("b", &["--frames", "6"]);
    let output = bench.run("b", &["--resume", "--require", "kinetic<0.4999"]);
    assert_eq!(code(&output), 1);
    assert!(stderr(&output).contains("step 10"), "{}", stderr(&output));
    assert!(!bench.summary("b").requirements[0].passed);
    // What holds everywhere holds.
    bench.done("c", &["--frames", "2", "--require", "kinetic<3"]);
    bench.done("c", &["--resume"]);
    assert!(bench.summary("c").requirements[0].passed);
}

#[test]
fn frames_that_were_not_tested_exactly_are_said_to_be_untested() {
    let bench = Bench::new(NAMES);
    bench.done("a", &["--frames", "2", "--exact"]);
    let last = |name: &str| bench.summary(name).checks.pop().unwrap();
    assert!(last("a").passed && last("a").untested.is_none());
    assert_eq!(code(&bench.run("a", &["--resume"])), 1);
    let check = last("a");
    assert_eq!(check.untested.as_deref(), Some("2 of 4 frames"));
    assert!(!check.passed);
    bench.done("b", &["--frames", "3"]);
    assert_eq!(code(&bench.run("b", &["--resume", "--exact"])), 1);
    assert_eq!(last("b").untested.as_deref(), Some("3 of 4 frames"));
    bench.done("c", &["--frames", "3", "--exact"]);
    bench.done("c", &["--resume", "--exact"]);
    assert!(last("c").passed);
}

#[test]
fn overwriting_removes_the_files_of_the_earlier_run() {
    let bench = Bench::new(FALL);
    bench.done("a", &["--contacts", "--format", "vtu,obj,ply,gltf"]);
    let own = bench.out("a").join("notes.txt");
    fs::write(&own, "mine").unwrap();
    bench.done("a", &["--overwrite", "--frames", "2"]);
    bench.done("b", &["--frames", "2"]);
    assert_eq!(fs::read(&own).unwrap(), b"mine");
    fs::remove_file(&own).unwrap();
    assert_same_run(&bench.out("a"), &bench.out("b"));
}

#[test]
fn a_checkpoint_without_its_rows_or_frames_is_refused() {
    let bench = Bench::new(FALL);
    bench.done("a", &["--frames", "6"]);
    let dir = bench.out("a");
    let good = contents(&dir);
    let restore = || {
        for (path, bytes) in &good {
            fs::write(dir.join(path), bytes).unwrap();
        }
    };
    for table in ["probes.csv", "certificate.csv"] {
        let text = fs::read_to_string(dir.join(table)).unwrap();
        // Cut to its first rows, replaced by another run's, or lost.
        let short: String = text.split_inclusive('\n').take(4).collect();
        fs::write(dir.join(table), &short).unwrap();
        bench.refused("a", &["--resume"], &[table, "afresh"]);
        assert_eq!(fs::read_to_string(dir.join(table)).unwrap(), short);
        fs::write(dir.join(table), text.replace("0.05", "0.06")).unwrap();
        bench.refused("a", &["--resume"], &[table, "afresh"]);
        fs::remove_file(dir.join(table)).unwrap();
        bench.refused("a", &["--resume"], &[table]);
        restore();
    }
    fs::remove_file(dir.join("frames/cube_000003.vtu")).unwrap();
    bench.refused("a", &["--resume"], &["cube_000003.vtu"]);
    restore();
    fs::remove_file(dir.join("frames.pvd")).unwrap();
    bench.refused("a", &["--resume"], &["frames.pvd"]);
    restore();
    bench.done("a", &["--resume"]);
    bench.done("whole", &[]);
    assert_same_run(&dir, &bench.out("whole"));
}

#[test]
fn a_run_that_has_ended_is_not_started_afresh_by_a_resume() {
    let bench = Bench::new(FALL);
    bench.done("a", &[]);
    fs::remove_file(bench.out("a").join("checkpoint.bin")).unwrap();
    let before = contents(&bench.out("a"));
    bench.refused("a", &["--resume"], &["not its checkpoint"]);
    assert!(contents(&bench.out("a")) == before);
}

#[test]
fn frames_beyond_the_checkpoint_go_when_a_run_is_resumed() {
    let bench = Bench::new(FALL);
    bench.done("a", &["--frames", "3"]);
    let kept = fs::read(bench.out("a").join("checkpoint.bin")).unwrap();
    bench.done("a", &["--resume"]);
    // As after a crash: the checkpoint is older than the tables and the frames.
    fs::write(bench.out("a").join("checkpoint.bin"), kept).unwrap();
    bench.done("a", &["--resume", "--frames", "5"]);
    bench.done("b", &["--frames", "5"]);
    assert_same_run(&bench.out("a"), &bench.out("b"));
}

#[test]
fn output_that_begins_with_a_resume_is_named() {
    let bench = Bench::new(FALL);
    bench.done("a", &["--frames", "3"]);
    let out = bench.out("a").to_string_lossy().into_owned();
    let args = ["run", &bench.scene, "--out", &out, "--resume", "--contacts"];
    let output = stiction(&[&args[..], &["--format", "ply"]].concat());
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    for words in [
        "the first 4 frames were not written as ply",
        "contacts up to step 6 were not recorded",
    ] {
        assert!(stderr(&output).contains(words), "{}", stderr(&output));
    }
    assert!(!frames(&bench.out("a")).contains("cube_000003.ply"));
}

#[test]
fn bodies_whose_names_make_the_same_file_name_are_all_recorded() {
    let bench = Bench::new(NAMES);
    bench.done("a", &[]);
    let dir = bench.out("a");
    // Five frames of four bodies as vtu and ply, of contacts, and one of the obstacle.
    assert_eq!(frames(&dir).len(), 5 * (2 * 4 + 1) + 1);
    let entries = read_pvd(&dir.join("frames.pvd")).unwrap();
    let named: BTreeSet<_> = entries
        .iter()
        .map(|e| (&e.name, e.time.to_bits()))
        .collect();
    assert_eq!((entries.len(), named.len()), (30, 30));
    let moving = entries.iter().filter(|e| !e.name.starts_with("obstacle."));
    let files: BTreeSet<_> = moving.map(|e| &e.file).collect();
    assert_eq!(files.len(), 25);
    let exported = bench.out("obj").to_string_lossy().into_owned();
    let from = dir.to_string_lossy().into_owned();
    let output = stiction(&["export", &from, "--format", "obj", "--out", &exported]);
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    assert_eq!(fs::read_dir(exported).unwrap().count(), 5 * 5);
}

#[test]
fn two_processes_do_not_write_to_one_folder() {
    let bench = Bench::new(&FALL.replace("duration = 0.2", "duration = 10000"));
    let out = bench.out("a");
    let folder = out.to_string_lossy().into_owned();
    let args = ["run", &bench.scene, "--out", &folder, "--quiet"];
    let mut first = command(&args).spawn().unwrap();
    while !out.join("frames/cube_000002.vtu").exists() {
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
    let owner = format!("process {}", first.id());
    for more in ["--overwrite", "--resume"] {
        bench.refused("a", &[more], &[&owner, "another output folder"]);
    }
    // A process that is killed leaves no lock.
    first.kill().unwrap();
    first.wait().unwrap();
    assert!(out.join(LOCK).exists());
    bench.done("a", &["--resume", "--frames", "3"]);
    assert!(!out.join(LOCK).exists());
}

/// A folder that was moved away while its run went on, with another run in its place.
#[cfg(unix)]
#[test]
fn a_run_whose_folder_was_replaced_ends_and_leaves_the_new_run_alone() {
    use std::{process::Stdio, thread::sleep, time::Duration};
    let bench = Bench::new(&FALL.replace("duration = 0.2", "duration = 10000"));
    let out = bench.out("a");
    bench.done("b", &["--frames", "2"]);
    let before = contents(&bench.out("b"));
    // Frames far apart, so that none is being written when the folder goes.
    let folder = out.to_string_lossy().into_owned();
    let args = ["run", &bench.scene, "--out", &folder, "--quiet"];
    let rare = ["--set", "time.frame_every=10000"];
    let mut first = command(&[&args[..], &rare].concat());
    let mut first = first.stderr(Stdio::piped()).spawn().unwrap();
    let signal = |name: &str| {
        let id = first.id().to_string();
        let sent = std::process::Command::new("kill")
            .args([name, &id])
            .status();
        assert!(sent.unwrap().success());
    };
    while !out.join("frames/cube_000001.vtu").exists() {
        sleep(Duration::from_millis(1));
    }
    sleep(Duration::from_millis(20));
    signal("-STOP");
    fs::rename(&out, bench.out("away")).unwrap();
    fs::rename(bench.out("b"), &out).unwrap();
    signal("-CONT");
    // A run that goes on is not waited for.
    let clock = std::time::Instant::now();
    while first.try_wait().unwrap().is_none() && clock.elapsed().as_secs() < 20 {
        sleep(Duration::from_millis(5));
    }
    let _ = first.kill();
    let first = first.wait_with_output().unwrap();
    let said = stderr(&first);
    assert!(said.contains("removed or replaced"), "{said}");
    assert_eq!(code(&first), 1, "{said}");
    assert!(contents(&out) == before, "{:?}", frames(&out));
}

#[test]
fn a_folder_with_files_of_the_user_is_left_alone() {
    let bench = Bench::new(FALL);
    let dir = bench.out("mine");
    fs::create_dir(&dir).unwrap();
    for name in ["probes.csv", "summary.json", "thesis.tex"] {
        fs::write(dir.join(name), "mine").unwrap();
    }
    let before = contents(&dir);
    for more in [&[][..], &["--overwrite"], &["--resume"]] {
        bench.refused("mine", more, &["probes.csv", "another output folder"]);
        assert!(contents(&dir) == before);
    }
}

#[cfg(unix)]
#[test]
fn planted_links_are_not_written_through() {
    use std::os::unix::fs::symlink;
    let bench = Bench::new(FALL);
    bench.done("a", &["--frames", "2"]);
    let (dir, other) = (bench.out("a"), bench.out("other"));
    fs::create_dir(&other).unwrap();
    fs::write(other.join("file"), "mine").unwrap();
    let target = other.join("file");
    for name in ["probes.csv", "certificate.csv", "summary.json", "run.lock"] {
        let _ = fs::remove_file(dir.join(name));
        symlink(&target, dir.join(name)).unwrap();
        let output = bench.run("a", &["--overwrite", "--frames", "2"]);
        assert!(code(&output) == 0 || code(&output) == 2, "{name}");
        assert_eq!(fs::read(&target).unwrap(), b"mine", "{name}");
        let _ = fs::remove_file(dir.join(name));
        bench.done("a", &["--overwrite", "--frames", "2"]);
    }
    symlink(&target, dir.join(".summary.json.partial")).unwrap();
    bench.done("a", &["--overwrite", "--frames", "2"]);
    assert_eq!(fs::read(&target).unwrap(), b"mine");
    fs::remove_dir_all(dir.join("frames")).unwrap();
    symlink(&other, dir.join("frames")).unwrap();
    bench.refused("a", &["--overwrite"], &["frames", "symbolic link"]);
    assert_eq!(fs::read_dir(&other).unwrap().count(), 1);
}
