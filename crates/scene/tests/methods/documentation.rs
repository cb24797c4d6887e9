//! `docs/scenes.md` says of methods what the registry says.

use stiction_sim::{Registry, needs::ModelFeature};

const DOCS: &str = include_str!("../../../../docs/scenes.md");

/// The text under `## [method]`.
fn section() -> &'static str {
    let rest = DOCS.split("\n## [method]\n").nth(1).unwrap();
    rest.split("\n## ").next().unwrap()
}

/// The rows of the first table of a text that are below its head.
fn rows(text: &str) -> Vec<&str> {
    let lines = text.lines().skip_while(|l| !l.starts_with("| ---")).skip(1);
    lines.take_while(|l| l.starts_with('|')).collect()
}

/// The methods of the documentation: names and what stands below them.
fn documented() -> Vec<(&'static str, &'static str)> {
    let parts = section().split("\n### `").skip(1);
    parts.map(|p| p.split_once("`\n").unwrap()).collect()
}

#[test]
fn every_method_has_its_section_in_order_and_there_are_no_others() {
    let names: Vec<&str> = documented().iter().map(|d| d.0).collect();
    assert_eq!(names, Registry::default().names());
}

#[test]
fn keys_are_those_of_the_registry_with_kind_default_and_meaning() {
    for entry in Registry::default().entries() {
        let found = documented().into_iter().find(|d| d.0 == entry.name);
        let (_, text) = found.unwrap();
        let first = format!("`{}` {}", entry.name, entry.description);
        assert!(text.contains(&first), "missing: {first}");
        let expected: Vec<String> = entry.keys.iter().map(|k| k.row()).collect();
        assert_eq!(
            rows(text),
            expected,
            "the table should be:\n{}",
            expected.join("\n")
        );
    }
}

#[test]
fn the_table_of_features_lists_what_methods_support() {
    let registry = Registry::default();
    let expected: Vec<String> = ModelFeature::ALL
        .iter()
        .map(|feature| {
            let marks = registry.entries().iter().map(|entry| {
                let has = entry.defaults().capabilities().has(*feature);
                if has { " yes |" } else { " no |" }
            });
            format!("| {} |{}", feature.title(), marks.collect::<String>())
        })
        .collect();
    let text = section()
        .split("\nWhat each method supports")
        .nth(1)
        .unwrap();
    assert_eq!(
        rows(text),
        expected,
        "the table should be:\n{}",
        expected.join("\n")
    );
}
