//! Stopping, killing, resuming and counting threads changes no bit.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod common;

use std::{fs, path::Path, thread::sleep, time::Duration};

use common::{assert_same_run, code, command, stderr, stiction};
use stiction_cli::record::{CheckpointFile, Recorder, Status, Summary};

/// A scene with one of everything, short enough to be run often.
const SCENE: &str = r#"
gravity = [0, 0, -9.81]
[time]
step = 0.01
duration = 0.6
frame_every = 2
[method]
name = "newton"
iterations = 2
[air]
wind = [2, 1, 0]
[[body]]
name = "cloth"
kind = "shell"
shape = { type = "sheet", size = [1, 1], cells = [16, 16], pattern = "irregular", seed = 3 }
material = { kind = "shell", area_density = 0.2, thickness = 1e-3, young = 2e5, poisson = 0.3, bending = 1e-5, damping = { stiffness = 0.01 } }
drag = { normal = 1.2, tangential = 0.05 }
[[body]]
name = "soft"
kind = "embedded"
shape = { type = "torus", major = 0.2, minor = 0.08 }
cell = 0.08
material = { kind = "solid", density = 500, young = 5e4, poisson = 0.4, law = "neo-hookean" }
translate = [0, 0, 0.6]
angular_velocity = [1, 2, 3]
[[body]]
name = "box"
kind = "rigid"
shape = { type = "box", size = [0.3, 0.2, 0.1] }
material = { kind = "rigid", density = 200 }
translate = [0.6, 0, 0.3]
angular_velocity = [3, 2, 1]
[[body]]
name = "hair"
kind = "rods"
shape = { type = "groom", radius = 0.1, count = 40, length = 0.2, segments = 9, frizz = 0.3, seed = 2 }
material = { kind = "rod", density = 1300, radius = 1e-3, young_bending = 1e8, young_stretch = 1e7, poisson = 0.4, damping = { stiffness = 0.001 } }
translate = [0, 0, 1.5]
[[pin]]
body = "hair"
select = { roots = true }
motion = { rotate = { axis = [0, 0, 1], times = [0, 0.5], angles = [0, 120], interpolation = "smooth" } }
[[pin]]
body = "cloth"
select = { nearest = [-0.5, -0.5, 0] }
[[pin]]
body = "cloth"
select = { nearest = [-0.5, 0.5, 0] }
motion = { translate = { times = [0, 0.5], values = [[0, 0, 0], [0.2, 0, 0.1]], interpolation = "smooth" } }
[[attachment]]
a = { body = "cloth", near = [0.5, 0, 0] }
b = { body = "box", near = [0.5, 0, 0.3] }
stiffness = 50
damping = 0.01
[[probe]]
name = "energy"
type = "energy"
[[probe]]
name = "height"
type = "centroid"
body = "soft"
axis = "z"
[[check]]
of = "height"
at = 0.5
below = 1.0
[output]
formats = ["vtu", "ply"]
checkpoint_every = 1
"#;

fn scene(dir: &Path) -> String {
    let path = dir.join("scene.toml");
    fs::write(&path, SCENE).unwrap();
    path.to_string_lossy().into_owned()
}

fn run(scene: &str, out: &Path, more: &[&str]) {
    let out = out.to_string_lossy().into_owned();
    let mut args = vec!["run", scene, "--out", &out, "--quiet"];
    args.extend(more);
    let output = stiction(&args);
    assert_eq!(code(&output), 0, "{}", stderr(&output));
}

#[test]
fn one_two_and_three_threads_leave_the_same_bits() {
    let dir = tempfile::tempdir().unwrap();
    let scene = scene(dir.path());
    let folders: Vec<_> = [1, 2, 3]
        .iter()
        .map(|n| dir.path().join(format!("{n}")))
        .collect();
    for (n, folder) in (1..).zip(&folders) {
        run(&scene, folder, &["--threads", &format!("{n}")]);
    }
    assert_same_run(&folders[0], &folders[1]);
    assert_same_run(&folders[0], &folders[2]);
}

#[test]
fn a_resumed_run_equals_an_uninterrupted_one() {
    let dir = tempfile::tempdir().unwrap();
    let scene = scene(dir.path());
    let (whole, parts) = (dir.path().join("whole"), dir.path().join("parts"));
    run(&scene, &whole, &[]);
    run(&scene, &parts, &["--frames", "7"]);
    run(&scene, &parts, &["--frames", "19", "--resume"]);
    run(&scene, &parts, &["--resume"]);
    assert_same_run(&whole, &parts);
    // The summary, too, is that of one run, apart from the clock.
    let read = |d: &Path| Summary::read(&d.join("summary.json")).unwrap();
    let (a, b) = (read(&whole), read(&parts));
    assert_eq!(a.probes, b.probes);
    assert_eq!(a.checks, b.checks);
    assert_eq!(
        (a.steps, a.frames, a.iterations),
        (b.steps, b.frames, b.iterations)
    );
    assert_eq!(a.certificate, b.certificate);
}

/// Forces are carried from step to step, so they are part of what must survive.
#[test]
fn a_resumed_run_in_contact_equals_an_uninterrupted_one() {
    stopped_and_resumed("slope", &[]);
}

/// Twists that are no degrees of freedom and the forces of split elements are carried as well.
#[test]
fn a_resumed_run_of_rods_in_the_splitting_integrator_equals_an_uninterrupted_one() {
    stopped_and_resumed("groom", &["--set", "body.hair.shape.count=8"]);
}

/// Shells that are refined while they touch, hang, carry hair and a weight. Anything that numbers
/// blocks, nodes or features is in use before and after the change.
const ADAPTED: &str = r#"
[time]
step = 0.01
duration = 0.24
frame_every = 2
[method]
name = "admm"
[air]
wind = [1, 0.5, 0]
[contact]
enabled = true
[[body]]
name = "cloth"
shape = { type = "sheet", size = [0.4, 0.4], cells = [4, 4], pattern = "irregular", seed = 3 }
material = { kind = "shell", area_density = 0.2, thickness = 1e-3, young = 1e5, poisson = 0.3, bending = 1e-5, damping = { stiffness = 0.002 } }
drag = { normal = 1.2, tangential = 0.05 }
mass = "consistent"
translate = [0, 0, 0.5]
HAIR
[[body]]
name = "napkin"
shape = { type = "sheet", size = [0.2, 0.2], cells = [3, 3] }
material = { kind = "shell", area_density = 0.2, thickness = 1e-3, young = 1e5, poisson = 0.3, bending = 1e-5 }
translate = [1, 0, 0.002]
velocity = [0.3, 0, 0]
[[body]]
name = "weight"
kind = "rigid"
shape = { type = "box", size = [0.05, 0.05, 0.05] }
material = { kind = "rigid", density = 500 }
translate = [0.11, 0.03, 0.3]
[[obstacle]]
name = "floor"
shape = { type = "plane", normal = [0, 0, 1] }
[[pin]]
body = "cloth"
select = { box = { min = [-1, -1, 0], max = [-0.199, 1, 1] } }
motion = { translate = { times = [0, 0.5], values = [[0, 0, 0], [0.05, 0, 0.1]], interpolation = "smooth" } }
[[attachment]]
a = { body = "cloth", near = [0.11, 0.03, 0.5] }
b = { body = "weight", near = [0.11, 0.03, 0.325] }
stiffness = 100
length = 0.17
damping = 0.01
[[adapt]]
body = "cloth"
refine_at = [0.08]
[[adapt]]
body = "napkin"
refine_at = [0.06, 0.12]
[[probe]]
name = "hook"
type = "position"
body = "cloth"
near = [0.11, 0.03, 0.5]
axis = "z"
[[probe]]
name = "friction"
type = "friction-force"
body = "napkin"
[output]
formats = ["vtu"]
"#;

const HAIR: &str = r#"
[[body]]
name = "hair"
kind = "rods"
shape = { type = "path", moves = [[0.1]], segments = 5 }
rotate = { axis = [0, 1, 0], angle = -90 }
translate = [0.05, 0.02, 0.5]
material = { kind = "rod", density = 1300, radius = 1e-3, young_bending = 1e8, young_stretch = 1e7, poisson = 0.4 }
rooted = { body = "cloth" }
"#;

/// Stopped before, between and right after changes; with another number of threads.
fn adapted_run_equals(scene: &str) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("scene.toml");
    fs::write(&path, scene).unwrap();
    let path = path.to_string_lossy().into_owned();
    let (whole, parts) = (dir.path().join("whole"), dir.path().join("parts"));
    run(&path, &whole, &["--threads", "2"]);
    for frames in ["2", "4", "5", "7"] {
        run(
            &path,
            &parts,
            &["--frames", frames, "--resume", "--threads", "1"],
        );
    }
    run(&path, &parts, &["--resume", "--threads", "1"]);
    assert_same_run(&whole, &parts);
    // The meshes did change.
    let sizes: Vec<u64> = ["000000", "000012"]
        .iter()
        .map(|n| whole.join(format!("frames/cloth_{n}.vtu")))
        .map(|f| {
            fs::metadata(&f)
                .unwrap_or_else(|e| panic!("{f:?}: {e}"))
                .len()
        })
        .collect();
    assert!(sizes[1] > 2 * sizes[0], "{sizes:?}");
}

#[test]
fn a_resumed_run_with_refined_shells_equals_an_uninterrupted_one() {
    adapted_run_equals(&ADAPTED.replace("HAIR", HAIR));
}

#[test]
fn a_resumed_run_of_smooth_contact_with_refined_shells_equals_an_uninterrupted_one() {
    let method = "name = \"smooth\"\nintegrator = \"bdf2\"";
    let scene = ADAPTED.replace("HAIR", "");
    adapted_run_equals(&scene.replace("name = \"admm\"", method));
}

fn stopped_and_resumed(scene: &str, settings: &[&str]) {
    let dir = tempfile::tempdir().unwrap();
    let (whole, parts) = (dir.path().join("whole"), dir.path().join("parts"));
    let stop = ["--frames", "6"];
    let go_on = ["--resume", "--threads", "1"];
    for (out, more) in [(&whole, &[][..]), (&parts, &stop[..]), (&parts, &go_on[..])] {
        let out = out.to_string_lossy().into_owned();
        let mut args = vec!["run", scene, "--out", &out, "--quiet"];
        args.extend(["--set", "time.duration=0.6"]);
        args.extend(settings);
        args.extend(more);
        // The checks of the scene look at times that are not reached.
        assert!(code(&stiction(&args)) <= 1);
    }
    assert_same_run(&whole, &parts);
}

#[test]
fn a_longer_duration_extends_a_finished_run() {
    let dir = tempfile::tempdir().unwrap();
    let scene = scene(dir.path());
    let (whole, parts) = (dir.path().join("whole"), dir.path().join("parts"));
    run(&scene, &whole, &[]);
    run(&scene, &parts, &["--set", "time.duration=0.55"]);
    run(&scene, &parts, &["--resume"]);
    assert_same_run(&whole, &parts);
}

/// Killed at ten times spread over the run, resumed each time: a valid checkpoint or none is left,
/// and the end is that of an undisturbed run.
#[test]
fn a_killed_run_leaves_a_valid_checkpoint_or_none_and_resumes() {
    let dir = tempfile::tempdir().unwrap();
    let scene = scene(dir.path());
    let (whole, killed) = (dir.path().join("whole"), dir.path().join("killed"));
    let clock = std::time::Instant::now();
    run(&scene, &whole, &[]);
    let wall = clock.elapsed();
    let out = killed.to_string_lossy().into_owned();
    let mut kills = 0;
    let mut seed = 12345u64;
    let mut with_checkpoint = 0;
    while kills < 10 {
        // Wait for a random part of a fifth of the run: some kills hit start-up, some the middle.
        seed = seed
            .wrapping_mul(6364136223846793005)
            .wrapping_add(1442695040888963407);
        let part = (seed >> 40) as f64 / (1u64 << 24) as f64;
        let mut child = command(&["run", &scene, "--out", &out, "--quiet", "--resume"])
            .spawn()
            .unwrap();
        sleep(Duration::from_secs_f64(part * 0.2 * wall.as_secs_f64()));
        child.kill().unwrap();
        let finished = child.wait().unwrap().success();
        kills += 1;
        let path = Recorder::checkpoint_path(&killed);
        if path.exists() {
            CheckpointFile::read(&path).unwrap_or_else(|e| panic!("after kill {kills}: {e}"));
            with_checkpoint += 1;
        }
        if finished {
            break;
        }
    }
    assert!(
        with_checkpoint > 0,
        "no kill came late enough to test anything"
    );
    run(&scene, &killed, &["--resume"]);
    assert_same_run(&whole, &killed);
}

#[cfg(unix)]
#[test]
fn ctrl_c_writes_a_checkpoint_and_the_summary() {
    let dir = tempfile::tempdir().unwrap();
    let scene = scene(dir.path());
    let (whole, stopped) = (dir.path().join("whole"), dir.path().join("stopped"));
    run(&scene, &whole, &[]);
    let out = stopped.to_string_lossy().into_owned();
    let args = [
        "run",
        &scene,
        "--out",
        &out,
        "--quiet",
        "--set",
        "output.checkpoint_every=1000000",
    ];
    let mut child = command(&args).spawn().unwrap();
    while !stopped.join("frames/cloth_000003.vtu").exists() {
        sleep(Duration::from_millis(1));
    }
    let sent = std::process::Command::new("kill")
        .args(["-INT", &child.id().to_string()])
        .status()
        .unwrap();
    assert!(sent.success());
    assert_eq!(child.wait().unwrap().code(), Some(130));
    let summary = Summary::read(&stopped.join("summary.json")).unwrap();
    assert_eq!(summary.status, Status::Interrupted);
    assert!(
        summary.steps >= 6 && summary.steps < 60,
        "{}",
        summary.steps
    );
    run(&scene, &stopped, &["--resume"]);
    assert_same_run(&whole, &stopped);
}

#[test]
fn a_checkpoint_of_another_scene_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let scene = scene(dir.path());
    let out = dir.path().join("out");
    run(&scene, &out, &["--frames", "3"]);
    let folder = out.to_string_lossy().into_owned();
    let output = stiction(&[
        "run",
        &scene,
        "--out",
        &folder,
        "--resume",
        "--set",
        "gravity=[0,0,-1]",
    ]);
    assert_eq!(code(&output), 2);
    assert!(
        stderr(&output).contains("checkpoint.bin")
            && stderr(&output).contains("gravity: [0, 0, -9.81] in the run, [0, 0, -1] now"),
        "{}",
        stderr(&output)
    );
}

#[test]
fn a_truncated_or_corrupted_checkpoint_is_refused_by_name() {
    let dir = tempfile::tempdir().unwrap();
    let scene = scene(dir.path());
    let out = dir.path().join("out");
    run(&scene, &out, &["--frames", "3"]);
    let path = Recorder::checkpoint_path(&out);
    let good = fs::read(&path).unwrap();
    let folder = out.to_string_lossy().into_owned();
    let resume = || stiction(&["run", &scene, "--out", &folder, "--resume", "--quiet"]);
    fs::write(&path, &good[..good.len() / 2]).unwrap();
    let output = resume();
    assert_eq!(code(&output), 2);
    assert!(stderr(&output).contains("cut short"), "{}", stderr(&output));
    let mut bad = good.clone();
    bad[good.len() / 2] ^= 1;
    fs::write(&path, &bad).unwrap();
    let output = resume();
    assert_eq!(code(&output), 2);
    assert!(stderr(&output).contains("damaged"), "{}", stderr(&output));
    // Nothing was touched: with the good bytes back, the run goes on.
    fs::write(&path, &good).unwrap();
    assert_eq!(code(&resume()), 0);
}

/// Work that adds up, angles that go on over full turns and bounds that move survive a stop.
#[test]
fn a_resumed_run_goes_on_with_work_angles_and_moving_bounds() {
    let dir = tempfile::tempdir().unwrap();
    let scene = dir.path().join("spin.toml");
    let text = r#"
[time]
step = 0.01
duration = 0.6
frame_every = 2
[method]
name = "admm"
[friction]
default = 0.2
[[body]]
name = "block"
kind = "rigid"
shape = { type = "box", size = [0.2, 0.2, 0.05] }
material = "wood"
translate = [0, 0, 0.026]
angular_velocity = [0, 0, 1500]
[[obstacle]]
name = "floor"
shape = { type = "plane" }
[output]
checkpoint_every = 1
[[probe]]
name = "work"
type = "contact-work"
[[probe]]
name = "turned"
type = "angle"
body = "block"
axis = "z"
[[check]]
name = "friction takes energy"
of = "work"
below = -1e-3
[[check]]
name = "more than a turn"
of = "turned"
above = 400
[[check]]
name = "not ahead of a free spin"
of = "turned"
from = 0
below = "1500 * t + 1e-6"
"#;
    fs::write(&scene, text).unwrap();
    let scene = scene.to_string_lossy().into_owned();
    let (whole, parts) = (dir.path().join("whole"), dir.path().join("parts"));
    run(&scene, &whole, &[]);
    run(&scene, &parts, &["--frames", "15"]);
    run(&scene, &parts, &["--resume"]);
    assert_same_run(&whole, &parts);
    let read = |d: &Path| Summary::read(&d.join("summary.json")).unwrap();
    let (a, b) = (read(&whole), read(&parts));
    assert_eq!(a.probes, b.probes);
    assert_eq!(a.checks, b.checks);
}
