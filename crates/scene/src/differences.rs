//! Differences of two scenes, key by key.

use std::fmt;

use crate::{
    canonical::{Fingerprint, may_change},
    error::{Reporter, SceneError},
    kept::{inline, key},
    source::{Origin, Sources},
    tree::{self, Node, Table},
};

/// A key whose value decides the motion and differs between two scenes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// The key as `--set` takes it.
    pub key: String,
    /// Its value in the first scene, if it is set there.
    pub then: Option<String>,
    /// Its value in the second scene, if it is set there.
    pub now: Option<String>,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown = |value: &Option<String>| value.clone().unwrap_or_else(|| "not set".to_owned());
        let (then, now) = (shown(&self.then), shown(&self.now));
        write!(f, "{}: {then} in the run, {now} now", self.key)
    }
}

/// Differences between two texts of scenes. Keys that may change between a run and its continuation do
/// not count: the name, the description, the duration, the frames and the output.
pub fn differences(then: &str, now: &str) -> Result<Vec<Difference>, SceneError> {
    let parse = |name: &str, text: &str| {
        let mut sources = Sources::default();
        let source = sources.add(Origin::Scene, name, text);
        let reporter = Reporter::new(sources);
        reporter.given(tree::parse(text, source, &reporter))
    };
    let (then, now) = (parse("scene of the run", then)?, parse("scene", now)?);
    let mut found = Vec::new();
    tables(&mut Vec::new(), &then, &now, &mut found);
    Ok(found)
}

fn tables(path: &mut Vec<String>, then: &Table, now: &Table, found: &mut Vec<Difference>) {
    let added = now.keys().filter(|k| then.get(k).is_none());
    for name in then.keys().chain(added) {
        path.push(name.to_owned());
        if !may_change(path) {
            values(path, then.get(name), now.get(name), found);
        }
        path.pop();
    }
}

fn values(
    path: &mut Vec<String>,
    then: Option<&Node>,
    now: Option<&Node>,
    found: &mut Vec<Difference>,
) {
    if let (Some(a), Some(b)) = (then, now) {
        if let (Some(a), Some(b)) = (a.table(), b.table()) {
            return tables(path, a, b, found);
        }
        if lists_tables(a) && lists_tables(b) {
            return entries(path, a.items(), b.items(), found);
        }
        if same(a, b) {
            return;
        }
    }
    let keys: Vec<String> = path.iter().map(|part| key(part)).collect();
    found.push(Difference {
        key: keys.join("."),
        then: then.map(short),
        now: now.map(short),
    });
}

/// Lists of tables: by name where every entry has one, by index otherwise.
fn entries(path: &mut Vec<String>, then: &[Node], now: &[Node], found: &mut Vec<Difference>) {
    let (Some(a), Some(b)) = (names(then), names(now)) else {
        for i in 0..then.len().max(now.len()) {
            path.push(i.to_string());
            values(path, then.get(i), now.get(i), found);
            path.pop();
        }
        return;
    };
    let of = |names: &[&str], name: &str| names.iter().position(|n| *n == name);
    for name in a.iter().chain(b.iter().filter(|n| !a.contains(n))) {
        path.push((*name).to_owned());
        let (first, second) = (of(&a, name), of(&b, name));
        values(
            path,
            first.map(|i| &then[i]),
            second.map(|i| &now[i]),
            found,
        );
        path.pop();
    }
    let common: Vec<&str> = a.iter().copied().filter(|n| b.contains(n)).collect();
    if !b.iter().filter(|n| a.contains(n)).eq(common.iter()) {
        let keys: Vec<String> = path.iter().map(|part| key(part)).collect();
        found.push(Difference {
            key: format!("order of {}", keys.join(".")),
            then: Some(clipped(a.join(", "))),
            now: Some(clipped(b.join(", "))),
        });
    }
}

fn lists_tables(node: &Node) -> bool {
    node.is_list() && node.items().iter().all(|i| i.table().is_some())
}

/// The distinct names of the entries of a list.
fn names(items: &[Node]) -> Option<Vec<&str>> {
    let mut names = Vec::new();
    for item in items {
        names.push(item.name().filter(|name| !names.contains(name))?);
    }
    Some(names)
}

/// Values are the same if their fingerprints are.
fn same(a: &Node, b: &Node) -> bool {
    let of = |node: &Node| {
        let mut fingerprint = Fingerprint::new();
        fingerprint.node(node);
        fingerprint.finish()
    };
    of(a) == of(b)
}

fn short(node: &Node) -> String {
    clipped(inline(node))
}

fn clipped(text: String) -> String {
    const MOST: usize = 70;
    match text.char_indices().nth(MOST) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}
