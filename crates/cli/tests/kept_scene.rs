//! A run keeps its scene, which runs again to the same bits, and `--resume` refuses another one by name.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod common;

use std::{fs, path::Path, process::Output};

use common::{assert_same_run, code, stderr, stiction};

const SCENE: &str = r#"
# A sheet falls next to a mesh.
[time]
step = 0.01
duration = 0.05
frame_every = 1
[method]
name = "newton"
iterations = 2
[[body]]
name = "sheet"
kind = "shell"
shape = { type = "sheet", size = [1, 1], cells = [4, 4] }
material = "denim"
[[body]]
name = "part"
kind = "shell"
mesh = "parts/quad.obj"
material = "denim"
translate = [0, 0, 2]
velocity = [0.1, 0, 0]
"#;

const QUAD: &str = "v 0 0 0\nv 1 0 0\nv 1 1 0\nv 0 1 0\nf 1 3 4\nf 1 2 3\n";

fn write(dir: &Path) -> String {
    fs::create_dir_all(dir.join("parts")).unwrap();
    fs::write(dir.join("parts/quad.obj"), QUAD).unwrap();
    let path = dir.join("mine.toml");
    fs::write(&path, SCENE).unwrap();
    path.to_string_lossy().into_owned()
}

fn run(scene: &str, out: &Path, more: &[&str]) -> Output {
    let out = out.to_string_lossy();
    let mut args = vec!["run", scene, "--out", &out, "--quiet"];
    args.extend(more);
    stiction(&args)
}

fn done(output: &Output) {
    assert_eq!(code(output), 0, "{}", stderr(output));
}

#[test]
fn the_kept_scene_runs_again_to_the_same_bits_without_the_original() {
    let dir = tempfile::tempdir().unwrap();
    let scene = write(&dir.path().join("scene"));
    let typed = dir.path().join("typed.obj");
    fs::write(&typed, QUAD.replace("1 1 0", "1 1 0.25")).unwrap();
    let typed = format!("body.sheet.mesh={}", typed.display());
    let changes = [
        "--set",
        &typed,
        "--set",
        "gravity=[0, 1, -3]",
        "--method",
        "admm",
    ];
    let (first, again) = (dir.path().join("first"), dir.path().join("again"));
    done(&run(&scene, &first, &changes));
    fs::remove_dir_all(dir.path().join("scene")).unwrap();
    fs::remove_file(dir.path().join("typed.obj")).unwrap();
    let kept = first.join("scene.toml").to_string_lossy().into_owned();
    done(&run(&kept, &again, &[]));
    assert_same_run(&first, &again);
    // In its own folder it continues and starts afresh.
    done(&run(&kept, &first, &["--resume"]));
    done(&run(&kept, &first, &["--overwrite"]));
    assert_same_run(&first, &again);
}

#[test]
fn another_layout_and_another_duration_resume() {
    let dir = tempfile::tempdir().unwrap();
    let scene = write(dir.path());
    let (whole, parts) = (dir.path().join("whole"), dir.path().join("parts-of-it"));
    done(&run(&scene, &whole, &[]));
    done(&run(
        &scene,
        &parts,
        &["--frames", "2", "--set", "time.duration=0.03"],
    ));
    let other = SCENE
        .replace(
            "# A sheet falls next to a mesh.",
            "gravity = [ 0, 0, -9.81 ] # now said",
        )
        .replace(
            "step = 0.01\nduration = 0.05",
            "duration = 5e-2\nstep = 1e-2",
        );
    // A default that is spelled out is a key that was not set.
    fs::write(&scene, &other).unwrap();
    let refused = run(&scene, &parts, &["--resume"]);
    assert_eq!(code(&refused), 2);
    assert!(
        stderr(&refused).contains("gravity: not set in the run, [0, 0, -9.81] now"),
        "{}",
        stderr(&refused)
    );
    fs::write(
        &scene,
        other.replace("gravity = [ 0, 0, -9.81 ] # now said", "# no comment"),
    )
    .unwrap();
    done(&run(&scene, &parts, &["--resume"]));
    assert_same_run(&whole, &parts);
}

#[test]
fn another_scene_is_refused_with_its_differences() {
    let dir = tempfile::tempdir().unwrap();
    let scene = write(dir.path());
    let out = dir.path().join("out");
    done(&run(&scene, &out, &["--frames", "2"]));
    let before = common::contents(&out);
    let refused = |more: &[&str], parts: &[&str]| {
        let mut args = vec!["--resume"];
        args.extend(more);
        let output = run(&scene, &out, &args);
        let told = stderr(&output);
        assert_eq!(code(&output), 2, "{told}");
        for part in parts
            .iter()
            .chain(&["checkpoint.bin", "scene.toml", "--overwrite"])
        {
            assert!(told.contains(part), "{more:?}: {told}");
        }
    };
    refused(
        &["--set", "body.sheet.shape.cells=[8, 8]"],
        &["body.sheet.shape.cells: [4, 4] in the run, [8, 8] now"],
    );
    refused(
        &["--method", "admm"],
        &[
            "method.name: \"newton\" in the run, \"admm\" now",
            "method.iterations: 2 in the run, not set now",
        ],
    );
    let many: Vec<String> = (0..7)
        .map(|i| format!("material.m{i}={{ based_on = \"denim\" }}"))
        .collect();
    let many: Vec<&str> = many.iter().flat_map(|m| ["--set", m]).collect();
    refused(&many, &["material: not set in the run"]);
    let more = [
        "--set",
        "gravity=[0, 0, 1]",
        "--set",
        "time.step=0.02",
        "--set",
        "body.sheet.velocity=[1, 0, 0]",
        "--set",
        "body.part.velocity=[1, 0, 0]",
        "--set",
        "body.part.translate=[0, 0, 3]",
        "--set",
        "body.part.material=tablecloth",
        "--set",
        "method.iterations=3",
    ];
    refused(&more, &["and 2 more"]);
    fs::write(
        dir.path().join("parts/quad.obj"),
        QUAD.replace("1 1 0", "1 1 0.5"),
    )
    .unwrap();
    refused(&[], &["the contents of", "quad.obj changed"]);
    assert!(
        common::contents(&out) == before,
        "a refusal leaves the run as it was"
    );
}

#[test]
fn a_scene_of_the_user_in_the_output_folder_stays() {
    let dir = tempfile::tempdir().unwrap();
    let scene = write(dir.path());
    let own = dir.path().join("scene.toml");
    fs::rename(&scene, &own).unwrap();
    let refused = run(&own.to_string_lossy(), dir.path(), &[]);
    assert_eq!(code(&refused), 2);
    assert!(
        stderr(&refused).contains("another output folder"),
        "{}",
        stderr(&refused)
    );
    assert_eq!(fs::read_to_string(&own).unwrap(), SCENE);
    assert!(!dir.path().join("summary.json").exists());
}
