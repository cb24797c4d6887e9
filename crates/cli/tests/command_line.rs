//! The command line is a contract: exit codes, messages, documents.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod common;

use std::{fs, path::Path};

use common::{code, root, stderr, stdout, stiction};
use stiction_cli::record::Summary;
use stiction_cli::scene::mesh_files::{MeshLimits, vtu};

#[test]
fn every_broken_scene_exits_with_2_and_names_its_culprit() {
    let mut seen = 0;
    for entry in fs::read_dir(root().join("scenes/broken")).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|e| e != "toml") {
            continue;
        }
        let text = fs::read_to_string(&path).unwrap();
        let expect = text
            .lines()
            .next()
            .unwrap()
            .strip_prefix("# expect: ")
            .unwrap();
        let out = tempfile::tempdir().unwrap();
        let folder = out.path().join("run").to_string_lossy().into_owned();
        let output = stiction(&["run", &path.to_string_lossy(), "--out", &folder, "--quiet"]);
        let said = stderr(&output);
        assert_eq!(code(&output), 2, "{}: {said}", path.display());
        let expect = expect.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(
            said.contains(&expect),
            "{}: expected `{expect}`, got {said}",
            path.display()
        );
        assert!(output.stdout.is_empty(), "{}", path.display());
        // Nothing half-written is left behind; what overlaps is shown in a file of its own.
        let left: Vec<_> = fs::read_dir(out.path().join("run"))
            .map(|files| files.map(|f| f.unwrap().file_name()).collect())
            .unwrap_or_default();
        let shown = said.contains("overlap") && left == ["overlaps.vtu"];
        assert!(left.is_empty() || shown, "{}: {left:?}", path.display());
        seen += 1;
    }
    assert!(seen >= 30, "only {seen} broken scenes");
}

/// Meshes that no reader accepts, and meshes that the examination must refuse.
#[test]
fn every_broken_mesh_is_refused_by_the_doctor() {
    let mut seen = 0;
    for entry in fs::read_dir(root().join("scenes/broken/meshes")).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        // The other half of a pair, and surfaces that are fine as shells.
        if matches!(name.as_str(), "missing_node.node" | "open.obj") {
            continue;
        }
        let output = stiction(&["doctor", &path.to_string_lossy()]);
        let said = format!("{} {}", stdout(&output), stderr(&output));
        // A shell runs with neighbours that face opposite sides, so that is a warning.
        let warned = name == "inconsistent_orientation.obj";
        assert_eq!(code(&output), if warned { 0 } else { 2 }, "{name}: {said}");
        let finding = if warned {
            "warning surface: each of triangles 0, 1"
        } else {
            "error "
        };
        let names_it = said.contains(&name) || said.contains(finding);
        assert!(names_it && !said.contains("panicked"), "{name}: {said}");
        seen += 1;
    }
    assert!(seen >= 14, "only {seen} broken meshes");
}

#[test]
fn json_is_exactly_one_document_and_equals_the_summary() {
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().join("o").to_string_lossy().into_owned();
    let output = stiction(&["run", "tumbling", "--out", &out, "--json", "--frames", "2"]);
    let printed = stdout(&output);
    let document: serde_json::Value = serde_json::from_str(&printed).unwrap();
    assert_eq!(
        printed,
        fs::read_to_string(dir.path().join("o/summary.json")).unwrap()
    );
    for key in [
        "scene",
        "method",
        "status",
        "steps",
        "frames",
        "time",
        "wall",
        "stages",
        "contacts",
        "iterations",
        "certificate",
        "dofs",
        "peak_memory",
        "threads",
        "probes",
        "checks",
    ] {
        assert!(document.get(key).is_some(), "no `{key}` in the summary");
    }
    for stage in [
        "adapt", "begin", "build", "predict", "detect", "solve", "certify", "advance", "record",
    ] {
        assert!(
            document["stages"].get(stage).is_some(),
            "no stage `{stage}`"
        );
    }
    assert!(document["peak_memory"].as_u64().unwrap() > 0 || !cfg!(target_os = "linux"));
}

#[test]
fn usage_errors_exit_with_2_and_help_with_0() {
    assert_eq!(code(&stiction(&[])), 2);
    assert_eq!(code(&stiction(&["nonsense"])), 2);
    assert_eq!(code(&stiction(&["run", "--threads", "0"])), 2);
    assert_eq!(code(&stiction(&["run", "tumbling", "--format", "docx"])), 2);
    assert_eq!(code(&stiction(&["--help"])), 0);
    assert_eq!(code(&stiction(&["--version"])), 0);
    let output = stiction(&["run", "tumblin"]);
    assert_eq!(code(&output), 2);
    assert!(stderr(&output).contains("tumbling"), "{}", stderr(&output));
    let output = stiction(&["scenes", "tumblin"]);
    assert_eq!(code(&output), 2);
    let output = stiction(&["run", "no/such/scene.toml"]);
    assert_eq!(code(&output), 2);
    assert!(
        stderr(&output).contains("scene.toml"),
        "{}",
        stderr(&output)
    );
}

#[test]
fn scenes_are_listed_and_printed() {
    let listed = stdout(&stiction(&["scenes"]));
    for scene in stiction_cli::scene::builtin::list() {
        assert!(listed.contains(scene.name), "{} is not listed", scene.name);
        assert!(
            !scene.description().is_empty(),
            "{} has no description",
            scene.name
        );
        let printed = stdout(&stiction(&["scenes", scene.name]));
        let listed = printed.strip_prefix(scene.text).unwrap();
        // What follows the scene is comments, one for each variant.
        assert!(listed.lines().all(|l| l.is_empty() || l.starts_with('#')));
        let variants = scene.variants();
        assert_eq!(listed.is_empty(), variants.is_empty(), "{listed}");
        for variant in variants {
            let (name, description) = (&variant.name, &variant.description);
            assert!(!description.is_empty(), "{} {name}", scene.name);
            let found = listed.lines().any(|l| {
                l.starts_with(&format!("#   {name} ")) && l.ends_with(description.as_str())
            });
            assert!(found, "{listed}");
        }
    }
}

#[test]
fn an_earlier_run_is_not_overwritten_unasked() {
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().join("o").to_string_lossy().into_owned();
    let args = ["run", "tumbling", "--out", &out, "--quiet", "--frames", "2"];
    stiction(&args);
    let before = common::contents(dir.path());
    let output = stiction(&args);
    assert_eq!(code(&output), 2);
    assert!(
        stderr(&output).contains("already holds a run"),
        "{}",
        stderr(&output)
    );
    assert!(common::contents(dir.path()) == before);
    let mut again = args.to_vec();
    again.push("--overwrite");
    assert_ne!(code(&stiction(&again)), 2);
}

/// Without `--out` a second run gets a folder of its own, unless it is to replace the first.
#[test]
fn overwriting_without_a_folder_replaces_the_run_of_that_name() {
    let dir = tempfile::tempdir().unwrap();
    let run = |more: &[&str]| {
        let args = [&["run", "tumbling", "--quiet", "--frames", "1"], more].concat();
        let output = common::command(&args).current_dir(dir.path()).output();
        assert_ne!(code(&output.unwrap()), 2);
        fs::read_dir(dir.path().join("out")).unwrap().count()
    };
    assert_eq!(run(&[]), 1);
    assert_eq!(run(&["--overwrite"]), 1);
    assert_eq!(run(&[]), 2);
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_ends_the_run_with_1_and_names_the_file() {
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().join("o").to_string_lossy().into_owned();
    // Files of at most 8 or 16 KiB: the first one that grows beyond is refused, as by a full disk.
    let limited = "trap '' XFSZ; ulimit -f 16; exec \"$0\" \"$@\"";
    let args = [
        "run", "tumbling", "--out", &out, "--quiet", "--format", "none",
    ];
    let output = std::process::Command::new("sh")
        .args(["-c", limited])
        .arg(common::program())
        .args(args)
        .output()
        .unwrap();
    let said = stderr(&output);
    assert_eq!(code(&output), 1, "{said}");
    assert!(
        said.contains(".csv") && said.contains("File too large"),
        "{said}"
    );
    let summary = Summary::read(&dir.path().join("o/summary.json")).unwrap();
    assert!(summary.error.unwrap().contains(".csv"));
}

#[cfg(target_os = "linux")]
#[test]
fn a_first_scene_that_cannot_be_written_whole_is_not_left_behind() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.toml");
    // Files of no bytes at all: the file can be made, and not written.
    let limited = "trap '' XFSZ; ulimit -f 0; exec \"$0\" init --out \"$1\"";
    let output = std::process::Command::new("sh")
        .args(["-c", limited])
        .arg(common::program())
        .arg(&path)
        .stderr(std::process::Stdio::piped())
        .output()
        .unwrap();
    assert_eq!(code(&output), 2, "{}", stderr(&output));
    assert!(!path.exists());
    assert_eq!(
        code(&stiction(&["init", "--out", &path.to_string_lossy()])),
        0
    );
}

/// The README's next command after `stiction init` runs what it wrote.
#[test]
fn first_scenes_run() {
    let mut seen = 0;
    for entry in fs::read_dir(root().join("crates/cli/src/commands/init")).unwrap() {
        let path = entry.unwrap().path();
        let kind = path.file_stem().unwrap().to_string_lossy().into_owned();
        let dir = tempfile::tempdir().unwrap();
        let inside = |name: &str| dir.path().join(name).to_string_lossy().into_owned();
        let (scene, out) = (inside("scene.toml"), inside("run"));
        assert_eq!(code(&stiction(&["init", &kind, "--out", &scene])), 0);
        let output = stiction(&["run", &scene, "--frames", "1", "--out", &out, "--quiet"]);
        assert_eq!(code(&output), 0, "{kind}: {}", stderr(&output));
        seen += 1;
    }
    assert_eq!(seen, 5);
}

#[test]
fn an_output_folder_that_cannot_be_made_is_named() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("file"), "").unwrap();
    let out = dir
        .path()
        .join("file/inside")
        .to_string_lossy()
        .into_owned();
    let output = stiction(&["run", "tumbling", "--out", &out, "--quiet"]);
    assert_eq!(code(&output), 1);
    assert!(stderr(&output).contains("inside"), "{}", stderr(&output));
}

#[test]
fn a_failed_check_exits_with_1_and_says_which() {
    let dir = tempfile::tempdir().unwrap();
    let scene = dir.path().join("wrong.toml");
    let text = r#"
gravity = [0, 0, -10]
[time]
step = 0.01
duration = 0.1
[method]
name = "newton"
[[body]]
name = "box"
kind = "rigid"
shape = { type = "box", size = [1, 1, 1] }
material = { kind = "rigid", density = 1 }
[[probe]]
name = "z"
type = "centroid"
body = "box"
axis = "z"
[[check]]
name = "it floats"
of = "z"
equals = 0
within = 1e-3
"#;
    fs::write(&scene, text).unwrap();
    let output = stiction(&["check", &scene.to_string_lossy()]);
    assert_eq!(code(&output), 1);
    let said = stdout(&output);
    assert!(
        said.contains("FAIL it floats") && said.contains("1 scene failed"),
        "{said}"
    );
}

/// A rigid box between a floor and a press has nowhere to go.
const SQUEEZE: &str = r#"
[time]
step = 0.005
duration = 0.2

[contact]
thickness = 0.002

[[body]]
name = "crate"
kind = "rigid"
shape = { type = "box", size = [0.1, 0.1, 0.1] }
material = "steel"
translate = [0, 0, 0.052]

[[obstacle]]
name = "floor"
shape = { type = "plane" }

[[obstacle]]
name = "press"
shape = { type = "box", size = [0.3, 0.3, 0.02] }
translate = [0, 0, 0.12]
motion = { translate = { times = [0, 0.1], values = [[0, 0, 0], [0, 0, -0.03]] } }
"#;

#[test]
fn surfaces_that_would_pass_are_named_with_the_remedy() {
    let dir = tempfile::tempdir().unwrap();
    let scene = dir.path().join("squeeze.toml");
    fs::write(&scene, SQUEEZE).unwrap();
    let out = dir.path().join("out").to_string_lossy().into_owned();
    let run = |more: &[&str]| {
        let scene = scene.to_string_lossy();
        let args = ["run", &scene, "--out", &out, "--overwrite", "--quiet"];
        stiction(&[&args[..], more].concat())
    };
    let output = run(&[]);
    assert_eq!(code(&output), 1);
    let said = stderr(&output);
    let named = ["press", "floor"].map(|other| format!("surfaces of `crate` and `{other}` would"));
    assert!(named.iter().any(|n| said.contains(n)), "{said}");
    assert!(said.contains("`compliance` in [friction]"), "{said}");
    // The remedy helps.
    let output = run(&["--set", "method={ name = \"admm\", safe = false }"]);
    assert_eq!(code(&output), 0, "{}", stderr(&output));
}

#[test]
fn steps_that_do_not_converge_are_counted_and_reported() {
    let dir = tempfile::tempdir().unwrap();
    let run = |most: &str| {
        let out = dir.path().join(most).to_string_lossy().into_owned();
        let most = format!("method.max_iterations={most}");
        let run = [
            "run",
            "block-slide",
            "--out",
            &out,
            "--frames",
            "2",
            "--set",
            &most,
        ];
        let output = stiction(&run);
        assert_eq!(code(&output), 0, "{}", stderr(&output));
        let summary = Summary::read(&Path::new(&out).join("summary.json")).unwrap();
        (stdout(&output), summary)
    };
    let (said, summary) = run("1");
    assert!(summary.unconverged_steps > 0);
    let line = format!(
        "{} of {} steps ended above the solver's tolerance",
        summary.unconverged_steps, summary.steps
    );
    assert!(said.contains(&line), "{said}");
    let (said, summary) = run("2000");
    assert_eq!(summary.unconverged_steps, 0);
    assert!(!said.contains("above the solver's tolerance"), "{said}");
}

#[test]
fn a_picture_of_a_run_is_a_png_with_something_on_it() {
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().join("o").to_string_lossy().into_owned();
    stiction(&["run", "tumbling", "--out", &out, "--quiet", "--frames", "3"]);
    let png = dir.path().join("p.png");
    let output = stiction(&[
        "render",
        &out,
        "--out",
        &png.to_string_lossy(),
        "--size",
        "96,64",
    ]);
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    let sheet = dir.path().join("s.png");
    let output = stiction(&[
        "render",
        &out,
        "--all",
        "4",
        "--out",
        &sheet.to_string_lossy(),
        "--size",
        "96,64",
    ]);
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    for file in [png, sheet] {
        let bytes = fs::read(file).unwrap();
        assert!(
            bytes.starts_with(b"\x89PNG") && bytes.len() > 1000,
            "{} bytes",
            bytes.len()
        );
    }
    let output = stiction(&["render", &out, "--frame", "77", "--out", "x.png"]);
    assert_eq!(code(&output), 2);
    assert!(
        stderr(&output).contains("frames 0 to 3"),
        "{}",
        stderr(&output)
    );
}

#[test]
fn the_doctor_examines_scenes_and_meshes() {
    let output = stiction(&["doctor", "tumbling"]);
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    assert!(stdout(&output).contains("0 errors"), "{}", stdout(&output));
    let dir = tempfile::tempdir().unwrap();
    let mesh = dir.path().join("two.obj");
    fs::write(&mesh, "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 5 5 5\nf 1 2 3\n").unwrap();
    let output = stiction(&["doctor", &mesh.to_string_lossy(), "--json"]);
    let report: serde_json::Value = serde_json::from_str(&stdout(&output)).unwrap();
    assert!(report["errors"].as_u64().unwrap() >= 1, "{report}");
    assert!(
        report
            .to_string()
            .contains("vertex 3 belongs to no element"),
        "{report}"
    );
}

/// Requirements end a run at the step that breaks them, and the problems it left can be solved.
#[test]
fn requirements_stop_a_run_and_its_problems_are_solved_alone() {
    let out = tempfile::tempdir().unwrap();
    let dir = out.path().join("run");
    let folder = dir.to_string_lossy().into_owned();
    let run = ["run", "slope", "--frames", "2", "--out", &folder, "--quiet"];
    let with = |more: &[&str]| stiction(&[&run[..], more].concat());
    let unknown = with(&["--require", "slipperiness<1"]);
    assert_eq!(code(&unknown), 2);
    assert!(
        stderr(&unknown).contains("residual"),
        "{}",
        stderr(&unknown)
    );
    let fine = with(&["--require", "residual<1", "--dump-problems", "every=2"]);
    assert_eq!(code(&fine), 0, "{}", stderr(&fine));
    let summary = fs::read_to_string(dir.join("summary.json")).unwrap();
    assert!(summary.contains("\"requirements\"") && summary.contains("certificate.residual"));

    let problem = dir.join("problems/000002.problem");
    let file = problem.to_string_lossy().into_owned();
    let curves = out.path().join("curves");
    let output = stiction(&[
        "solve",
        &file,
        "--solver",
        "all",
        "--tolerance",
        "1e-6",
        "--out",
        &curves.to_string_lossy(),
    ]);
    let said = stdout(&output);
    assert!(said.contains("reference") && said.contains("ica"), "{said}");
    for solver in ["admm", "newton"] {
        let mut lines = said.lines();
        let solved = lines.any(|l| l.contains(solver) && l.contains("yes"));
        assert!(solved, "{said}");
    }
    // Files of the same name from several folders have files of their own.
    let other = out.path().join("other");
    fs::create_dir(&other).unwrap();
    fs::copy(&problem, other.join("000002.problem")).unwrap();
    let both = out.path().join("both");
    let second = other.join("000002.problem").to_string_lossy().into_owned();
    let to = both.to_string_lossy().into_owned();
    let output = stiction(&["solve", &file, &second, "--fclib", "--out", &to]);
    assert!(code(&output) <= 1, "{}", stderr(&output));
    for name in ["000002.hdf5", "000002-2.hdf5", "000002-2-auto.csv"] {
        assert!(both.join(name).exists(), "{name}");
    }
    for name in ["000002.svg", "000002.png", "000002-admm.csv"] {
        assert!(curves.join(name).exists(), "{name}");
    }

    let bytes = fs::read(&problem).unwrap();
    fs::write(&problem, &bytes[..bytes.len() / 2]).unwrap();
    let broken = stiction(&["solve", &file]);
    assert_eq!(code(&broken), 2);
    assert!(stderr(&broken).contains("bytes"), "{}", stderr(&broken));

    let strict = with(&["--overwrite", "--require", "kinetic<0"]);
    assert_eq!(code(&strict), 1);
    assert!(stderr(&strict).contains("step 1"), "{}", stderr(&strict));
    let summary = fs::read_to_string(dir.join("summary.json")).unwrap();
    assert!(summary.contains("\"failed\""), "{summary}");
}

/// Initial overlaps are named and shown in a file.
#[test]
fn doctor_and_run_show_overlaps() {
    let scene = root().join("scenes/broken/overlap-that-is-held.toml");
    let scene = scene.to_string_lossy();
    for command in ["doctor", "run"] {
        let out = tempfile::tempdir().unwrap();
        let folder = out.path().to_string_lossy().into_owned();
        let output = stiction(&[command, &scene, "--out", &folder]);
        assert_ne!(code(&output), 0, "{command}");
        let said = stdout(&output) + &stderr(&output);
        assert!(
            said.contains("`sheet`") && said.contains("`ball`"),
            "{command}: {said}"
        );
        let file = fs::read(out.path().join("overlaps.vtu")).unwrap();
        let stored = vtu::read(&file, &MeshLimits::default()).unwrap();
        let column = |name: &str| stored.cell_data.iter().any(|a| a.name == name);
        assert!(stored.cells.types.len() > 1, "{command}");
        assert!(
            column("body") && column("element"),
            "{command}: {:?}",
            stored.cell_data
        );
    }
}

#[test]
fn curves_of_a_run_have_axes_with_units() {
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().join("o").to_string_lossy().into_owned();
    stiction(&["run", "tumbling", "--out", &out, "--quiet", "--frames", "3"]);
    let output = stiction(&["plot", &out]);
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    let png = fs::read(dir.path().join("o/plot.png")).unwrap();
    assert!(png.starts_with(b"\x89PNG"));
    let file = dir.path().join("p.svg");
    let output = stiction(&["plot", &out, "--out", &file.to_string_lossy()]);
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    let svg = fs::read_to_string(file).unwrap();
    assert!(svg.contains("time [s]") && svg.contains("certificate [J]"));
    let header = fs::read_to_string(dir.path().join("o/probes.csv")).unwrap();
    let probe = header.lines().next().unwrap().split(',').nth(2).unwrap();
    assert!(svg.contains(probe), "{probe} is not shown");
    let output = stiction(&["plot", &out, "--columns", "nonsense"]);
    assert_eq!(code(&output), 2);
    assert!(stderr(&output).contains(probe), "{}", stderr(&output));
    assert_eq!(code(&stiction(&["plot", "no/such/run"])), 2);
    assert_eq!(code(&stiction(&["plot", &out, "--out", "p.docx"])), 2);
}

#[test]
fn a_comparison_has_a_row_for_every_run_and_says_why_one_was_refused() {
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().join("o").to_string_lossy().into_owned();
    let output = stiction(&[
        "compare",
        "slope",
        "--set",
        "time.duration=0.05",
        "--with",
        "admm,newton",
        "--with",
        "smooth: method.epsilon=1e-5",
        "--out",
        &out,
        "--json",
    ]);
    assert_eq!(code(&output), 1, "{}", stderr(&output));
    let rows: serde_json::Value = serde_json::from_str(&stdout(&output)).unwrap();
    let status: Vec<&str> = (0..3)
        .map(|i| rows[i]["status"].as_str().unwrap())
        .collect();
    assert_eq!(status, ["done", "refused", "done"]);
    assert!(rows[1]["error"].as_str().unwrap().contains("no contact"));
    assert_eq!(rows[0]["steps"], 5);
    // Smooth friction creeps, exact friction does not: at no more than ε, and by far.
    let creep = |i: usize| rows[i]["creep"].as_f64().unwrap();
    assert!(
        creep(0) < 1e-9 && creep(2) > 1e-7 && creep(2) <= 1.001e-5,
        "{rows}"
    );
    assert!(rows[0]["residual_mean"].as_f64().unwrap() <= rows[0]["residual"].as_f64().unwrap());
    for file in [
        "compare.csv",
        "compare.json",
        "compare.svg",
        "compare.png",
        "run-1/probes.csv",
    ] {
        assert!(dir.path().join("o").join(file).exists(), "{file}");
    }
    let csv = fs::read_to_string(dir.path().join("o/compare.csv")).unwrap();
    assert_eq!(csv.lines().count(), 4);
}

#[test]
fn a_comparison_with_an_unknown_method_runs_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().join("o").to_string_lossy().into_owned();
    let output = stiction(&["compare", "slope", "--with", "admm,smoth", "--out", &out]);
    assert_eq!(code(&output), 2);
    let said = stderr(&output);
    assert!(
        said.contains("there is no method `smoth`") && said.contains("smooth"),
        "{said}"
    );
    assert!(!dir.path().join("o").exists());
}

/// The house of cards has contacts whose impulses are not unique, on which splitting stalls.
#[test]
fn problems_that_stall_splitting_are_solved_by_newton_and_by_a_run_with_residual() {
    let out = tempfile::tempdir().unwrap();
    let with = |name: &str, more: &[&str]| {
        let dir = out.path().join(name).to_string_lossy().into_owned();
        let run = [
            "run", "cards", "--frames", "1", "--quiet", "--format", "none",
        ];
        let output = stiction(&[&run[..], &["--out", &dir], more].concat());
        assert_eq!(code(&output), 0, "{}", stderr(&output));
        dir
    };
    let plain = with("plain", &["--dump-problems", "every=10"]);
    let file = format!("{plain}/problems/000010.problem");
    let solve = |more: &[&str]| stiction(&[&["solve", &file, "--threads", "1"], more].concat());
    let stalled = solve(&["--solver", "admm", "--max-iterations", "2000"]);
    assert_eq!(code(&stalled), 1, "{}", stdout(&stalled));
    for more in [&["--solver", "newton"][..], &[]] {
        let solved = solve(more);
        assert_eq!(code(&solved), 0, "{}", stdout(&solved));
    }
    let bounds = ["residual<1.001e-8", "linear<1.001e-8"].map(|b| ["--require", b]);
    let asked = ["--set", "method.residual=1e-8"];
    with("asked", &[&asked[..], &bounds.concat()].concat());
}
