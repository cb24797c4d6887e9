//! Variants of scenes on the command line.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod common;

use std::{fs, path::Path};

use common::{code, stderr, stdout, stiction};
use serde_json::Value;
use stiction_cli::{record::Summary, scene::builtin};

/// A ball in free fall, which the variant `quick` follows for a tenth of the time.
const SCENE: &str = r#"
[time]
step = 0.01
duration = 1.0

[[body]]
name = "ball"
kind = "rigid"
shape = { type = "sphere", radius = 0.1 }
material = "steel"

[[probe]]
name = "fall"
type = "travel"
body = "ball"

[[check]]
name = "it falls"
of = "fall"
above = 4

[variant.quick]
time.duration = 0.1
check."it falls".above = 0.04
"#;

fn scene(dir: &Path, text: &str) -> String {
    let path = dir.join("ball.toml");
    fs::write(&path, text).unwrap();
    path.to_string_lossy().into_owned()
}

fn summaries(args: &[&str]) -> (i32, Value, String) {
    let output = stiction(args);
    let text = stdout(&output);
    let all = serde_json::from_str(&text).unwrap_or_else(|_| panic!("{text} {}", stderr(&output)));
    (code(&output), all, stderr(&output))
}

#[test]
fn a_run_applies_the_variant_then_the_overrides_and_says_so_in_its_summary() {
    let dir = tempfile::tempdir().unwrap();
    let scene = scene(dir.path(), SCENE);
    let run = |name: &str, more: &[&str]| {
        let out = dir.path().join(name);
        let to = out.to_string_lossy().into_owned();
        let output = stiction(&[&["run", &scene, "--out", &to], more].concat());
        assert_eq!(code(&output), 0, "{}", stderr(&output));
        let text = fs::read_to_string(out.join("summary.json")).unwrap();
        let summary = Summary::read(&out.join("summary.json")).unwrap();
        (summary, text, stdout(&output))
    };
    let (plain, text, _) = run("plain", &[]);
    assert_eq!((plain.steps, plain.variant), (100, None));
    assert!(!text.contains("variant"), "{text}");
    let (quick, _, said) = run("quick", &["--variant", "quick"]);
    assert_eq!((quick.steps, quick.variant.as_deref()), (10, Some("quick")));
    assert!(said.contains("variant quick"), "{said}");
    let (both, _, _) = run(
        "both",
        &["--variant", "quick", "--set", "time.duration=0.2"],
    );
    assert_eq!((both.steps, both.variant.as_deref()), (20, Some("quick")));
}

#[test]
fn an_unknown_variant_exits_with_2_and_lists_those_there_are() {
    let dir = tempfile::tempdir().unwrap();
    let scene = scene(dir.path(), SCENE);
    for command in ["run", "check", "doctor"] {
        let output = stiction(&[command, &scene, "--variant", "quik"]);
        let said = stderr(&output);
        assert_eq!(code(&output), 2, "{command}: {said}");
        assert!(said.contains("did you mean `quick`"), "{command}: {said}");
    }
    let output = stiction(&["check", "--variant", "no-such-variant"]);
    let said = stderr(&output);
    assert_eq!(code(&output), 2, "{said}");
    assert!(
        said.contains("no built-in scene has a variant `no-such-variant`"),
        "{said}"
    );
    let output = stiction(&["check", &scene, "--quick", "--variant", "quick"]);
    assert_eq!(code(&output), 2);
}

#[test]
fn a_quick_check_takes_the_variant_where_there_is_one_and_says_where_there_is_none() {
    let dir = tempfile::tempdir().unwrap();
    let path = scene(dir.path(), SCENE);
    let (code, all, said) = summaries(&["check", "--variant", "quick", "--json", &path, "weight"]);
    assert_eq!(code, 0, "{said}");
    assert_eq!(all[0]["variant"], "quick");
    assert_eq!(all[0]["steps"], 10);
    assert_eq!(all[1]["scene"], "weight");
    assert_eq!(all[1]["variant"], Value::Null);
    assert!(
        said.contains("weight has no variant `quick`: it is checked as it is"),
        "{said}"
    );
    // A variant that fails its check fails.
    let hard = SCENE.replace("above = 0.04", "above = 1");
    let path = scene(dir.path(), &hard);
    let (code, all, _) = summaries(&["check", "--quick", "--json", &path]);
    assert_eq!(
        (code, &all[0]["checks"][0]["passed"]),
        (1, &Value::Bool(false))
    );
}

#[test]
fn all_runs_of_a_comparison_take_the_variant() {
    let dir = tempfile::tempdir().unwrap();
    let scene = scene(dir.path(), SCENE);
    let out = dir.path().join("compare").to_string_lossy().into_owned();
    let (code, rows, said) = summaries(&[
        "compare",
        &scene,
        "--with",
        "newton",
        "--with",
        ": time.step=0.02",
        "--variant",
        "quick",
        "--json",
        "--out",
        &out,
    ]);
    assert_eq!(code, 0, "{said}");
    assert_eq!(rows[0]["steps"], 10);
    assert_eq!(rows[1]["steps"], 5);
    let command = rows[0]["command"].as_str().unwrap();
    assert!(command.contains("--variant quick"), "{command}");
}

#[test]
fn variants_of_built_in_scenes_are_listed() {
    let listed = stdout(&stiction(&["scenes"]));
    for scene in builtin::list() {
        let line = listed
            .lines()
            .find(|l| l.split_whitespace().next() == Some(scene.name))
            .unwrap();
        let names = scene.text.lines().filter_map(|l| {
            let name = l.strip_prefix("[variant.")?.strip_suffix(']')?;
            (!name.contains('.')).then_some(name)
        });
        let names: Vec<&str> = names.collect();
        match names.is_empty() {
            true => assert!(!line.ends_with(']'), "{line}"),
            false => assert!(line.ends_with(&format!("[{}]", names.join(", "))), "{line}"),
        }
    }
}
