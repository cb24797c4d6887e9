//! Documents show what exists: commands, options, code and packages.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod common;

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use common::{stdout, stiction};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../..")
        .canonicalize()
        .unwrap()
}

/// Documents for users: the front page and the book.
fn documents() -> Vec<(String, String)> {
    let mut found = vec![root().join("README.md")];
    let mut folders = vec![root().join("docs")];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            match path.is_dir() {
                true => folders.push(path),
                false if path.extension().is_some_and(|e| e == "md") => found.push(path),
                false => {}
            }
        }
    }
    found.sort();
    let read = |path: &PathBuf| {
        let shown = path.strip_prefix(root()).unwrap().display().to_string();
        (shown, fs::read_to_string(path).unwrap())
    };
    found.iter().map(read).collect()
}

/// The blocks of code of a document in one language, each with the line above it.
fn blocks<'a>(text: &'a str, language: &str) -> Vec<(&'a str, &'a str)> {
    let mark = format!("```{language}\n");
    let mut found = Vec::new();
    let mut from = 0;
    while let Some(at) = text[from..].find(&mark) {
        let start = from + at + mark.len();
        let end = start + text[start..].find("```").unwrap();
        let above = text[..from + at].trim_end_matches('\n').lines().last();
        found.push((above.unwrap_or(""), &text[start..end]));
        from = end + 3;
    }
    found
}

/// Commands in blocks for the shell can be copied: the subcommand and its options exist.
#[test]
fn commands_in_documents_exist() {
    let mut help = BTreeMap::new();
    let mut seen = 0;
    for (shown, text) in documents() {
        for (_, block) in blocks(&text, "sh") {
            for line in block.lines() {
                let command = line.split(" #").next().unwrap().trim();
                let words: Vec<&str> = command.split_whitespace().collect();
                if words.first() != Some(&"stiction") {
                    continue;
                }
                let name = words[1].to_owned();
                let text = help
                    .entry(name.clone())
                    .or_insert_with(|| stdout(&stiction(&[&name, "--help"])));
                assert!(text.contains("Usage:"), "{shown}: no command `{command}`");
                for option in words.iter().filter(|w| w.starts_with("--")) {
                    let option = option.split('=').next().unwrap();
                    let known = text.contains(&format!("{option} "))
                        || text.contains(&format!("{option}\n"));
                    assert!(known, "{shown}: `stiction {name}` has no {option}");
                }
                seen += 1;
            }
        }
    }
    assert!(seen > 50, "only {seen} commands found");
}

/// Code that a document takes from an example is the example's.
#[test]
fn code_in_documents_is_that_of_the_examples() {
    let mut seen = 0;
    for (shown, text) in documents() {
        for (above, block) in blocks(&text, "rust") {
            let path = above.strip_prefix("<!-- from ");
            let Some(path) = path.and_then(|p| p.strip_suffix(" -->")) else {
                continue;
            };
            let source = fs::read_to_string(root().join(path)).unwrap();
            assert!(source.contains(block), "{shown} shows an older {path}");
            seen += 1;
        }
    }
    assert!(seen >= 4, "only {seen} blocks found");
}

/// Every example of the library is shown in the tutorial.
#[test]
fn every_example_is_in_the_tutorial() {
    let text = fs::read_to_string(root().join("docs/tutorials/rust.md")).unwrap();
    for entry in fs::read_dir(root().join("crates/stiction/examples")).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        let marker = format!("<!-- from crates/stiction/examples/{name} -->");
        assert!(text.contains(&marker), "{name}");
    }
}

fn cargo(args: &[&str]) -> String {
    let cargo = option_env!("CARGO").unwrap_or("cargo");
    let output = Command::new(cargo)
        .args(args)
        .current_dir(root())
        .output()
        .unwrap();
    let complaint = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "cargo {args:?}: {complaint}");
    String::from_utf8(output.stdout).unwrap()
}

/// The library alone brings neither a command line nor plots nor files of others.
#[test]
fn the_library_without_features_is_small() {
    let tree = |more: &[&str]| {
        let args = ["tree", "--offline", "--locked", "-p", "stiction"];
        let args = [&args[..], &["--prefix", "none", "-e", "normal,build"], more].concat();
        let tree = cargo(&args);
        let names = tree
            .lines()
            .map(|l| l.split(' ').next().unwrap().to_owned());
        names.collect::<Vec<String>>()
    };
    let small = tree(&["--no-default-features"]);
    assert!(small.iter().any(|p| p == "stiction-sim"), "{small:?}");
    for unwanted in [
        "clap",
        "indicatif",
        "ctrlc",
        "plotters",
        "png",
        "hdf5-pure",
        "dejavu",
        // Draws errors; a program does that.
        "textwrap",
    ] {
        assert!(!small.iter().any(|p| p == unwanted), "{unwanted}");
    }
    let files = tree(&["--no-default-features", "--features", "files"]);
    assert!(files.iter().any(|p| p == "stiction-record"), "{files:?}");
    for unwanted in ["clap", "indicatif", "ctrlc", "plotters", "png", "hdf5-pure"] {
        assert!(!files.iter().any(|p| p == unwanted), "{unwanted}");
    }
    // The features that bring them are those that are named after them.
    let full = tree(&["--no-default-features", "--features", "render,fclib"]);
    assert!(full.iter().any(|p| p == "plotters") && full.iter().any(|p| p == "hdf5-pure"));
}

/// A registry refuses packages without a description or a licence, and dependencies without a version.
#[test]
fn every_package_has_what_a_registry_wants() {
    let metadata = cargo(&[
        "metadata",
        "--offline",
        "--locked",
        "--no-deps",
        "--format-version",
        "1",
    ]);
    let metadata: serde_json::Value = serde_json::from_str(&metadata).unwrap();
    let packages = metadata["packages"].as_array().unwrap();
    assert!(packages.len() >= 12);
    for package in packages {
        let name = &package["name"];
        for key in [
            "description",
            "license",
            "rust_version",
            "readme",
            "documentation",
        ] {
            let text = package[key].as_str().unwrap_or("");
            assert!(!text.is_empty(), "{name} has no {key}");
        }
        for key in ["keywords", "categories", "authors"] {
            let list = package[key].as_array().unwrap();
            assert!((1..=5).contains(&list.len()), "{name}: {key}");
        }
        assert_eq!(package["publish"], serde_json::Value::Null, "{name}");
        for dependency in package["dependencies"].as_array().unwrap() {
            assert_ne!(dependency["req"], "*", "{name}: {dependency}");
        }
    }
}
