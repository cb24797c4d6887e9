//! Differences of two documents, key by key.

use std::fmt;

use crate::{
    fingerprint::Fingerprint,
    tree::{TreeNode, TreeTable},
    write::{inline, key},
};

/// A key whose value differs between two documents.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// The key as `--set` takes it.
    pub key: String,
    /// Its value in the first document, if it is set there.
    pub then: Option<String>,
    /// Its value in the second document, if it is set there.
    pub now: Option<String>,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown = |value: &Option<String>| value.clone().unwrap_or_else(|| "not set".to_owned());
        let (then, now) = (shown(&self.then), shown(&self.now));
        write!(f, "{}: {then} in the run, {now} now", self.key)
    }
}

/// Differences between two documents. Keys for which `skip` holds do not count.
pub fn differences(
    then: &TreeTable,
    now: &TreeTable,
    skip: &dyn Fn(&[String]) -> bool,
) -> Vec<Difference> {
    let mut walk = Walk {
        path: Vec::new(),
        skip,
        found: Vec::new(),
    };
    walk.tables(then, now);
    walk.found
}

/// A walk through two documents.
struct Walk<'a> {
    path: Vec<String>,
    skip: &'a dyn Fn(&[String]) -> bool,
    found: Vec<Difference>,
}

impl Walk<'_> {
    fn tables(&mut self, then: &TreeTable, now: &TreeTable) {
        let added = now.keys().filter(|k| then.get(k).is_none());
        for name in then.keys().chain(added) {
            self.path.push(name.to_owned());
            if !(self.skip)(&self.path) {
                self.values(then.get(name), now.get(name));
            }
            self.path.pop();
        }
    }

    fn values(&mut self, then: Option<&TreeNode>, now: Option<&TreeNode>) {
        if let (Some(a), Some(b)) = (then, now) {
            if let (Some(a), Some(b)) = (a.table(), b.table()) {
                return self.tables(a, b);
            }
            if lists_tables(a) && lists_tables(b) {
                return self.entries(a.items(), b.items());
            }
            if same(a, b) {
                return;
            }
        }
        let (key, then, now) = (self.key(), then.map(short), now.map(short));
        self.found.push(Difference { key, then, now });
    }

    /// Lists of tables: by name where every entry has one, by index otherwise.
    fn entries(&mut self, then: &[TreeNode], now: &[TreeNode]) {
        let (Some(a), Some(b)) = (names(then), names(now)) else {
            for i in 0..then.len().max(now.len()) {
                self.path.push(i.to_string());
                self.values(then.get(i), now.get(i));
                self.path.pop();
            }
            return;
        };
        let of = |names: &[&str], name: &str| names.iter().position(|n| *n == name);
        for name in a.iter().chain(b.iter().filter(|n| !a.contains(n))) {
            self.path.push((*name).to_owned());
            let (first, second) = (of(&a, name), of(&b, name));
            self.values(first.map(|i| &then[i]), second.map(|i| &now[i]));
            self.path.pop();
        }
        let common: Vec<&str> = a.iter().copied().filter(|n| b.contains(n)).collect();
        if !b.iter().filter(|n| a.contains(n)).eq(common.iter()) {
            self.found.push(Difference {
                key: format!("order of {}", self.key()),
                then: Some(clipped(a.join(", "))),
                now: Some(clipped(b.join(", "))),
            });
        }
    }

    /// The path as `--set` takes it.
    fn key(&self) -> String {
        let keys: Vec<String> = self.path.iter().map(|part| key(part)).collect();
        keys.join(".")
    }
}

fn lists_tables(node: &TreeNode) -> bool {
    node.is_list() && node.items().iter().all(|i| i.table().is_some())
}

/// The distinct names of the entries of a list.
fn names(items: &[TreeNode]) -> Option<Vec<&str>> {
    let mut names = Vec::new();
    for item in items {
        names.push(item.name().filter(|name| !names.contains(name))?);
    }
    Some(names)
}

/// Values are the same if their fingerprints are.
fn same(a: &TreeNode, b: &TreeNode) -> bool {
    let of = |node: &TreeNode| {
        let mut fingerprint = Fingerprint::new();
        fingerprint.node(node);
        fingerprint.finish()
    };
    of(a) == of(b)
}

fn short(node: &TreeNode) -> String {
    clipped(inline(node))
}

fn clipped(text: String) -> String {
    const MOST: usize = 70;
    match text.char_indices().nth(MOST) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}
