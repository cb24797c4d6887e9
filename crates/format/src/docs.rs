//! The tables of a manual, made from the description of the format.

use crate::{KeySpec, Preset, Range, Section, Type};

/// The tables that `roots` lead to, and these.
fn sections(roots: &[&'static Section]) -> Vec<&'static Section> {
    let mut found = roots.to_vec();
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
            Self::Rows(n, of) => {
                let one = of.shown();
                let (thing, unit) = one.split_at(one.find(" [").unwrap_or(one.len()));
                match of {
                    Self::Numbers(..) => format!("{n} lists of {thing}{unit}"),
                    _ => format!("{n} {thing}s{unit}"),
                }
            }
            Self::List(Self::List(_)) => "list of lists of numbers".to_owned(),
            Self::List(Self::Numbers(n, unit, _)) => {
                format!("list of lists of {n} numbers{}", of(unit))
            }
            Self::List(of) => {
                let one = of.shown();
                let (thing, unit) = one.split_at(one.find(" [").unwrap_or(one.len()));
                format!("list of {thing}s{unit}")
            }
            Self::Formula => "number or formula".to_owned(),
            Self::Table(_) | Self::Union(_) | Self::Open(_) => "table".to_owned(),
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
    /// The default in the documentation.
    pub fn shown(self) -> String {
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

/// A row of a table.
pub fn row(cells: &[&str]) -> String {
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
pub fn inline(keys: &[KeySpec]) -> String {
    let one = |key: &KeySpec| {
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
    keys.iter().map(one).collect::<Vec<_>>().join("; ")
}

/// A manual with its tables made anew: each stands behind a line `<!-- keys: NAME -->`. There is one for every
/// section that `roots` lead to, and for each of `others`, whose text is given.
pub fn renewed(
    docs: &str,
    roots: &[&'static Section],
    others: &[(&str, String)],
) -> Result<String, String> {
    let mut out = String::new();
    let mut lines = docs.lines().peekable();
    let (sections, mut found) = (sections(roots), Vec::new());
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
        let other = others.iter().find(|t| t.0 == name).map(|t| t.1.clone());
        let section = || sections.iter().find(|s| s.name == name);
        let Some(table) = other.or_else(|| section().map(|s| keys(s))) else {
            return Err(format!("there is no table `{name}`"));
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
