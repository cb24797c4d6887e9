//! The tables of `docs/scenes.md`, made from the description of the format.

#![cfg(test)]
#![allow(clippy::unwrap_used, clippy::panic)]

use stiction_format::docs::{inline, renewed, row};

use crate::{
    format::{Preset, Section, TableKeys},
    read::{Root, obstacle, probe, shape},
};

/// `STICTION_WRITE_DOCS=1 cargo test -p stiction-scene --lib docs` writes the tables.
#[test]
fn the_tables_of_the_documentation_are_those_of_the_format() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/scenes.md");
    let docs = std::fs::read_to_string(path).unwrap();
    let expected = renewed(
        &docs,
        &[Root::SECTION, probe::ProbeKeys::SECTION],
        &[("shapes", shapes()), ("probes", probes())],
    )
    .unwrap();
    if std::env::var_os("STICTION_WRITE_DOCS").is_some() {
        std::fs::write(path, &expected).unwrap();
        return;
    }
    let mut lines = docs.lines().zip(expected.lines());
    let first = lines.find(|(have, want)| have != want);
    assert_eq!(first, None, "STICTION_WRITE_DOCS=1 renews the tables");
    assert!(docs == expected, "STICTION_WRITE_DOCS=1 renews the tables");
}

#[test]
fn every_library_material_is_documented() {
    let docs = include_str!("../../../docs/scenes.md");
    for entry in crate::library::list() {
        let name = format!("`{}`", entry.name);
        assert!(docs.contains(&name), "{name}");
    }
}

/// The shapes of bodies and obstacles.
fn shapes() -> String {
    let mut table = row(&["`type`", "for", "keys", "meaning"]) + "| --- | --- | --- | --- |\n";
    let mut add = |word: &str, whose: &str, section: &Section, doc: &str| {
        table += &row(&[&format!("`{word}`"), whose, &inline(section.keys), doc]);
    };
    for kind in shape::kinds() {
        let whose: Vec<&str> = kind.purposes.iter().map(|p| p.body()).collect();
        add(kind.word, &whose.join(", "), kind.section, kind.doc);
    }
    for kind in obstacle::KINDS {
        add(kind.word, "an obstacle", kind.section, kind.doc);
    }
    table
}

fn probes() -> String {
    let mut table =
        row(&["`type`", "other keys", "unit", "meaning"]) + "| --- | --- | --- | --- |\n";
    for kind in probe::KINDS {
        let keys = kind.section.keys.iter().map(|k| match k.default {
            Preset::Said(default) => format!("`{}` (default {default})", k.name),
            Preset::Vec(_) => format!("`{}` (default {})", k.name, k.default.shown()),
            _ => format!("`{}`", k.name),
        });
        let (word, keys) = (format!("`{}`", kind.section.name), keys.collect::<Vec<_>>());
        table += &row(&[&word, &keys.join(", "), kind.unit, kind.doc]);
    }
    table
}
