//! The tables of `docs/scenes.md`, made from the description of the format.

#![cfg(test)]

use super::{Key, Keys, Preset, Range, Section, Type};
use crate::read::{Root, obstacle, probe, shape};

/// The tables that the document leads to.
fn sections() -> Vec<&'static Section> {
    let mut found = vec![Root::SECTION, probe::ProbeKeys::SECTION];
    let mut next = 0;
    while let Some(section) = found.get(next) {
        section
            .keys
            .iter()
            .for_each(|k| collect(&k.takes, &mut found));
        next += 1;
    }
    found
}

/// Adds the tables that a value may be, and those in members of a union.
fn collect(takes: &Type, found: &mut Vec<&'static Section>) {
    match takes {
        Type::Table(s) | Type::Tables(s) | Type::TableOrTables(s) | Type::Named(s)
            if found.iter().all(|f| f.name != s.name) =>
        {
            found.push(s);
        }
        Type::Union(union) | Type::Unions(union) => {
            for key in (union.members)().iter().flat_map(|m| m.2.keys) {
                collect(&key.takes, found);
            }
        }
        Type::Either(types) => types.iter().for_each(|t| collect(t, found)),
        _ => {}
    }
}

impl Type {
    /// The type in the documentation.
    fn shown(&self) -> String {
        let of = |unit: &str| {
            if unit.is_empty() {
                String::new()
            } else {
                format!(" [{unit}]")
            }
        };
        match self {
            Self::Number(unit, _) => format!("number{}", of(unit)),
            Self::Count(_) => "whole number".to_owned(),
            Self::Flag => "true or false".to_owned(),
            Self::Text | Self::Name | Self::Word(_) => "text".to_owned(),
            Self::Vector(unit) => format!("vector{}", of(unit)),
            Self::Direction => "vector".to_owned(),
            Self::Numbers(n, unit, _) => format!("{n} numbers{}", of(unit)),
            Self::Counts(n, _) => format!("{n} whole numbers"),
            Self::Formulas => "3 formulas".to_owned(),
            Self::List(Self::List(_)) => "list of lists of numbers".to_owned(),
            Self::List(of) => {
                let one = of.shown();
                let (thing, unit) = one.split_at(one.find(" [").unwrap_or(one.len()));
                format!("list of {thing}s{unit}")
            }
            Self::Formula => "number or formula".to_owned(),
            Self::Table(_) | Self::Union(_) | Self::Method => "table".to_owned(),
            Self::Tables(_) | Self::Unions(_) => "list of tables".to_owned(),
            Self::TableOrTables(_) => "table or list of tables".to_owned(),
            Self::Named(_) => "tables".to_owned(),
            Self::Either(types) => {
                let all: Vec<String> = types.iter().map(Self::shown).collect();
                all.join(" or ")
            }
        }
    }
}

impl Preset {
    fn shown(self) -> String {
        match self {
            Self::Required => "required".to_owned(),
            Self::Resolution(n) => format!("{n}, required for shells and solids"),
            Self::Absent => String::new(),
            Self::Said(text) => text.to_owned(),
            Self::Num(x) => format!("{x}"),
            Self::Int(n) => format!("{n}"),
            Self::Bool(flag) => format!("`{flag}`"),
            Self::Chosen(word) => format!("`\"{word}\"`"),
            Self::Vec(numbers) => {
                let all: Vec<String> = numbers.iter().map(f64::to_string).collect();
                format!("`[{}]`", all.join(", "))
            }
        }
    }
}

fn row(cells: &[&str]) -> String {
    let cell = |c: &&str| {
        if c.is_empty() {
            " |".to_owned()
        } else {
            format!(" {c} |")
        }
    };
    format!("|{}\n", cells.iter().map(cell).collect::<String>())
}

/// The table of a section.
fn keys(section: &Section) -> String {
    let head = match section.name.rsplit_once('.') {
        Some((_, own)) => format!("key of `{own}`"),
        None => "key".to_owned(),
    };
    let mut table = row(&[&head, "type", "default", "meaning"]) + "| --- | --- | --- | --- |\n";
    for key in section.keys {
        let name = format!("`{}`", key.name);
        table += &row(&[&name, &key.takes.shown(), &key.default.shown(), key.doc]);
    }
    table
}

/// The keys of a shape or probe in one line: name, type, default.
fn inline(keys: &mut dyn Iterator<Item = &Key>) -> String {
    let one = |key: &Key| {
        let sign = match key.takes {
            Type::Number(_, Range::Positive) | Type::Text => String::new(),
            _ => key.takes.shown(),
        };
        let default = match key.default {
            Preset::Required | Preset::Absent => String::new(),
            Preset::Resolution(n) => format!("default {n}"),
            Preset::Said(text) if text.starts_with("required") => text.to_owned(),
            other => format!("default {}", other.shown()),
        };
        let words = match key.takes {
            Type::Word(words) => words
                .iter()
                .map(|w| format!("`\"{w}\"`"))
                .collect::<Vec<_>>()
                .join(" or "),
            _ => sign,
        };
        let said: Vec<String> = [words, default, key.doc.to_owned()]
            .into_iter()
            .filter(|s| !s.is_empty())
            .collect();
        match said.is_empty() {
            true => format!("`{}`", key.name),
            false => format!("`{}` ({})", key.name, said.join(", ")),
        }
    };
    keys.map(one).collect::<Vec<_>>().join("; ")
}

/// The shapes of bodies and obstacles.
fn shapes() -> String {
    let mut table = row(&["`type`", "for", "keys", "meaning"]) + "| --- | --- | --- | --- |\n";
    for kind in shape::kinds() {
        let whose: Vec<&str> = kind.purposes.iter().map(|p| p.body()).collect();
        let (name, keys) = (
            format!("`{}`", kind.word),
            inline(&mut kind.section.keys.iter()),
        );
        table += &row(&[&name, &whose.join(", "), &keys, kind.doc]);
    }
    for kind in obstacle::KINDS {
        let (name, keys) = (
            format!("`{}`", kind.word),
            inline(&mut kind.section.keys.iter()),
        );
        table += &row(&[&name, "an obstacle", &keys, kind.doc]);
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

/// The documentation with its tables made anew: each stands behind a line `<!-- keys: NAME -->`.
fn renewed(docs: &str) -> Result<String, String> {
    let mut out = String::new();
    let mut lines = docs.lines().peekable();
    let (sections, mut found) = (sections(), Vec::new());
    while let Some(line) = lines.next() {
        out += &format!("{line}\n");
        let Some(name) = line
            .strip_prefix("<!-- keys: ")
            .and_then(|l| l.strip_suffix(" -->"))
        else {
            continue;
        };
        found.push(name);
        while lines
            .peek()
            .is_some_and(|l| l.is_empty() || l.starts_with('|'))
        {
            lines.next();
        }
        let table = match name {
            "shapes" => shapes(),
            "probes" => probes(),
            name => match sections.iter().find(|s| s.name == name) {
                Some(section) => keys(section),
                None => return Err(format!("there is no table `{name}`")),
            },
        };
        out += &format!("\n{table}");
        if lines.peek().is_some() {
            out += "\n";
        }
    }
    match sections.iter().find(|s| !found.contains(&s.name)) {
        Some(missing) => Err(format!("<!-- keys: {} --> is missing", missing.name)),
        None => Ok(out),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)]
mod tests {
    use super::*;

    /// `STICTION_WRITE_DOCS=1 cargo test -p stiction-scene --lib docs` writes the tables.
    #[test]
    fn the_tables_of_the_documentation_are_those_of_the_format() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/scenes.md");
        let docs = std::fs::read_to_string(path).unwrap();
        let expected = renewed(&docs).unwrap();
        if std::env::var_os("STICTION_WRITE_DOCS").is_some() {
            std::fs::write(path, &expected).unwrap();
            return;
        }
        for (have, want) in docs.lines().zip(expected.lines()) {
            assert_eq!(
                have, want,
                "run with STICTION_WRITE_DOCS=1 to renew the tables"
            );
        }
        assert_eq!(
            docs, expected,
            "run with STICTION_WRITE_DOCS=1 to renew the tables"
        );
    }

    #[test]
    fn every_library_material_is_documented() {
        let docs = include_str!("../../../../docs/scenes.md");
        for entry in crate::library::list() {
            assert!(
                docs.contains(&format!("`{}`", entry.name)),
                "{}",
                entry.name
            );
        }
    }
}
