//! The JSON Schema of the format, judged by an independent validator: it accepts the built-in scenes and
//! rejects scenes that are wrong in form.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::path::PathBuf;

use serde_json::Value;
use stiction_scene::{LoadOptions, ProblemKind, SceneSource, builtin, load, schema};
use stiction_sim::Registry;

/// A scene as JSON; `None` if it is no TOML or has a number that JSON has not.
fn json(text: &str) -> Option<Value> {
    fn finite(value: &toml::Value) -> bool {
        match value {
            toml::Value::Float(x) => x.is_finite(),
            toml::Value::Array(items) => items.iter().all(finite),
            toml::Value::Table(table) => table.iter().all(|(_, v)| finite(v)),
            _ => true,
        }
    }
    let table: toml::Table = text.parse().ok()?;
    let value = toml::Value::Table(table);
    finite(&value).then(|| serde_json::to_value(&value).unwrap())
}

fn validator() -> jsonschema::Validator {
    let schema = schema(&Registry::default());
    jsonschema::draft202012::meta::validate(&schema).unwrap_or_else(|e| panic!("{e}"));
    jsonschema::draft202012::new(&schema).unwrap()
}

#[test]
fn every_built_in_scene_is_accepted() {
    let validator = validator();
    for scene in builtin::list().iter().chain(builtin::validation()) {
        let value = json(scene.text).expect(scene.name);
        let errors: Vec<String> = validator
            .iter_errors(&value)
            .map(|e| format!("{}: {e}", e.instance_path()))
            .collect();
        assert!(errors.is_empty(), "{}: {errors:?}", scene.name);
    }
}

/// First scenes of `stiction init`, and scenes in documents.
#[test]
fn first_scenes_and_scenes_in_documents_are_accepted() {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..");
    let read = |folder: &str, extension: &str| -> Vec<(String, String)> {
        let entries = std::fs::read_dir(root.join(folder)).unwrap();
        let paths = entries.map(|e| e.unwrap().path());
        let paths = paths.filter(|p| p.extension().is_some_and(|e| e == extension));
        let named = |p: PathBuf| {
            (
                p.display().to_string(),
                std::fs::read_to_string(&p).unwrap(),
            )
        };
        paths.map(named).collect()
    };
    let mut scenes = read("crates/cli/src/commands/init", "toml");
    assert!(scenes.len() >= 5, "{}", scenes.len());
    let mut documents = read("docs", "md");
    documents.extend(read("docs/tutorials", "md"));
    for (name, text) in documents {
        let blocks = text.split("```toml\n").skip(1);
        let blocks = blocks.filter_map(|rest| Some(rest.split_once("```")?.0.to_owned()));
        let whole = |text: &String| text.contains("[time]\n") && text.contains("[[body]]\n");
        scenes.extend(blocks.filter(whole).map(|text| (name.clone(), text)));
    }
    let validator = validator();
    for (name, text) in scenes {
        let value = json(&text).expect(&name);
        let errors = validator.iter_errors(&value);
        let errors: Vec<String> = errors
            .map(|e| format!("{}: {e}", e.instance_path()))
            .collect();
        assert!(errors.is_empty(), "{name}: {errors:?}");
    }
}

/// Wrong in form: an unknown or missing key or table, a value of the wrong type. Exceptions need the
/// values of other tables to be seen.
#[test]
fn every_scene_that_is_wrong_in_form_is_rejected() {
    let validator = validator();
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../scenes/broken");
    let mut rejected = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|e| e != "toml") {
            continue;
        }
        let name = path.file_stem().unwrap().to_string_lossy().into_owned();
        let text = std::fs::read_to_string(&path).unwrap();
        let wrong = json(&text).is_none_or(|value| !validator.is_valid(&value));
        let error = load(&SceneSource::File(path), &LoadOptions::default()).expect_err(&name);
        let form = [
            ProblemKind::Syntax,
            ProblemKind::UnknownKey,
            ProblemKind::MissingKey,
            ProblemKind::Type,
        ];
        if form.contains(&error.kind()) {
            assert!(wrong, "{name} is accepted: {}", error.plain());
        }
        if wrong {
            rejected.push(name);
        }
    }
    // Of other kinds: ranges, words, rules between keys.
    for name in [
        "gas-with-compression",
        "infinite-gravity",
        "motion-two-ways",
        "negative-duration",
        "negative-friction",
        "negative-size",
        "not-a-number",
        "particles-without-radius",
        "torque-of-a-shell",
        "unknown-method",
        "unknown-shape",
        "zero-axis",
        "zero-cells",
        "zero-step",
    ] {
        assert!(rejected.iter().any(|r| r == name), "{name} is accepted");
    }
}

/// The schema describes, and not only restricts: every key has a meaning or a unit, or is a table.
#[test]
fn keys_have_descriptions_and_defaults() {
    let schema = schema(&Registry::default());
    let time = &schema["$defs"]["time"]["properties"]["step"];
    assert_eq!(time["description"], "the time step [s]");
    let thickness = &schema["$defs"]["contact"]["properties"]["thickness"];
    assert_eq!(thickness["default"], 1e-3);
    for (name, table) in schema["$defs"].as_object().unwrap() {
        let tables = ["shape", "obstacle.shape", "method"];
        if tables.iter().any(|t| name.starts_with(t)) {
            continue;
        }
        for (key, value) in table["properties"].as_object().into_iter().flatten() {
            let said = value["description"].as_str().is_some_and(|d| !d.is_empty());
            assert!(said || value["anyOf"].is_array(), "{name}: {key}: {value}");
        }
    }
}
