//! Changes to a document, `KEY=VALUE`.
//!
//! A key is a dotted path. Entries of a list of tables (`body`, `pin`, …) are addressed by their
//! name or by their index from 0; entries of any other list by their index. What an override puts
//! into the document remembers where it came from, so that later errors quote the override, and
//! the lines of the file keep their numbers.

use toml_edit::Key;

use crate::{
    error::{ProblemKind, Reporter},
    source::{At, SourceSpan},
    suggest,
    tree::{TableEntry, TreeNode, TreeTable, Value, parse_value},
};

/// One step of a resolved path.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum PathStep {
    /// A key of a table.
    Key(String),
    /// An entry of a list.
    Index(usize),
}

/// A resolved path from the document to one of its values.
pub type Steps = Vec<PathStep>;

/// Applies override `text`, which is source number `source`, to the tree. `may` reports keys that overrides leave alone.
pub fn apply(
    text: &str,
    source: u32,
    root: &mut TreeTable,
    rivals: Rivals,
    reporter: &Reporter,
    may: impl Fn(&str, SourceSpan) -> Option<()>,
) -> Option<()> {
    let whole = SourceSpan::new(source, 0..text.len());
    let Some(equals) = find_equals(text) else {
        let help = "write KEY=VALUE, for example `time.step=0.005`";
        let message = format!("`{text}` has no `=`");
        return reporter.fail(ProblemKind::Override, whole, message, help);
    };
    let shown = &text[..equals];
    let key_place = SourceSpan::new(source, 0..equals);
    let path = path(At::new(shown, key_place), reporter)?;
    may(path.first().map_or("", |k| &k.value), key_place)?;
    let value = value(&text[equals + 1..], equals + 1, source, reporter)?;
    let walk = Walk {
        shown,
        rivals,
        reporter,
    };
    walk.set(root, &path, value)
}

/// Parses a dotted key. Every part of it is reported at the place of the whole.
pub fn path(text: At<&str>, reporter: &Reporter) -> Option<Vec<At<String>>> {
    match Key::parse(text.value) {
        Ok(keys) => {
            let part = |k: &Key| At::new(k.get().to_owned(), text.place);
            Some(keys.iter().map(part).collect())
        }
        Err(_) => {
            let help = "a key is a dotted path such as `body.strip.shape.cells`";
            let message = format!("`{}` is not a key", text.value);
            text.fail(reporter, ProblemKind::Override, message, help)
        }
    }
}

/// Removes the value at `steps` from the tree.
pub fn remove(steps: &[PathStep], root: &mut TreeTable) -> Option<()> {
    let (last, path) = steps.split_last()?;
    let Some((PathStep::Key(first), path)) = path.split_first() else {
        let PathStep::Key(key) = last else {
            return None;
        };
        root.remove(key);
        return Some(());
    };
    let mut node = root.get_mut(first)?;
    for step in path {
        node = match (step, &mut node.value) {
            (PathStep::Key(key), Value::Table(table)) => table.get_mut(key)?,
            (PathStep::Index(index), Value::Array(items)) => items.get_mut(*index)?,
            _ => return None,
        };
    }
    match (last, &mut node.value) {
        (PathStep::Key(key), Value::Table(table)) => table.remove(key),
        (PathStep::Index(index), Value::Array(items)) if *index < items.len() => {
            items.remove(*index);
        }
        _ => return None,
    }
    Some(())
}

/// The first `=` outside quotes.
fn find_equals(text: &str) -> Option<usize> {
    let mut quote = None;
    for (i, c) in text.char_indices() {
        match (quote, c) {
            (None, '=') => return Some(i),
            (None, '"' | '\'') => quote = Some(c),
            (Some(q), c) if q == c => quote = None,
            _ => {}
        }
    }
    None
}

/// The value as a node: TOML, or else bare text.
fn value(text: &str, offset: usize, source: u32, reporter: &Reporter) -> Option<TreeNode> {
    let trimmed = text.trim();
    let offset = offset + (text.len() - text.trim_start().len());
    let place = SourceSpan::new(source, offset..offset + trimmed.len());
    match parse_value(trimmed, offset, source, reporter) {
        Ok(node) => node,
        Err(message) if trimmed.starts_with(['[', '{', '"', '\'']) => {
            let help = "lists are written [1, 2, 3], tables { key = value }; quote the whole override in the shell";
            let message = format!(
                "the value is not valid TOML: {}",
                message.trim().replace('\n', "; ")
            );
            reporter.fail(ProblemKind::Override, place, message, help)
        }
        Err(_) => Some(TreeNode::new(place, Value::String(trimmed.to_owned()))),
    }
}

/// Pairs of keys of which a table has one or the other: setting one takes the other out.
pub type Rivals = &'static [[&'static str; 2]];

/// A walk along a path; a problem with a part of it is reported at the part's place.
pub struct Walk<'a> {
    /// The path in messages.
    pub shown: &'a str,
    /// Keys that take one another out.
    pub rivals: Rivals,
    /// The collector of problems.
    pub reporter: &'a Reporter,
}

impl Walk<'_> {
    /// Sets the value at `path` below a table. Tables that the path needs are created, entries of lists must
    /// exist.
    pub fn set(&self, table: &mut TreeTable, path: &[At<String>], value: TreeNode) -> Option<()> {
        let Some((first, rest)) = path.split_first() else {
            return Some(());
        };
        let key = &first.value;
        let entry = |node: TreeNode| TableEntry {
            key: key.clone(),
            key_place: first.place,
            node,
        };
        if rest.is_empty() {
            for pair in self.rivals.iter().filter(|p| p.contains(&key.as_str())) {
                let others = pair.iter().filter(|k| *k != key);
                others.for_each(|other| table.remove(other));
            }
            table.set(entry(value));
            return Some(());
        }
        if table.get(key).is_none() {
            let empty = Value::Table(TreeTable::default());
            table.set(entry(TreeNode::new(first.place, empty)));
        }
        self.set_below(table.get_mut(key)?, rest, value)
    }

    fn set_below(&self, node: &mut TreeNode, path: &[At<String>], value: TreeNode) -> Option<()> {
        let Some((first, rest)) = path.split_first() else {
            *node = value;
            return Some(());
        };
        match &mut node.value {
            Value::Table(table) => self.set(table, path, value),
            Value::Array(items) => {
                let index = self.entry(items, first)?;
                self.set_below(&mut items[index], rest, value)
            }
            other => self.nothing_in(other, first),
        }
    }

    /// Resolves the path of a value that exists.
    pub fn locate(&self, root: &TreeTable, path: &[At<String>]) -> Option<Steps> {
        let (first, rest) = path.split_first()?;
        let mut steps = vec![PathStep::Key(first.value.clone())];
        let mut node = self.known_key(root, first)?;
        for part in rest {
            node = match &node.value {
                Value::Table(table) => {
                    steps.push(PathStep::Key(part.value.clone()));
                    self.known_key(table, part)?
                }
                Value::Array(items) => {
                    let index = self.entry(items, part)?;
                    steps.push(PathStep::Index(index));
                    &items[index]
                }
                other => return self.nothing_in(other, part),
            };
        }
        Some(steps)
    }

    /// The index of the entry of a list that `part` names or counts.
    fn entry(&self, items: &[TreeNode], part: &At<String>) -> Option<usize> {
        let (first, count) = (&part.value, items.len());
        if let Some(named) = items.iter().position(|n| n.name() == Some(first)) {
            return Some(named);
        }
        match first.parse::<usize>() {
            Ok(index) if index < count => Some(index),
            Ok(index) => {
                let wrong =
                    format!("there is no entry {index}; the list has {count}, counted from 0");
                self.refuse(part, &wrong, None)
            }
            Err(_) => {
                let help = suggest::help(first, "names", items.iter().filter_map(TreeNode::name));
                self.refuse(part, &format!("no entry is called `{first}`"), Some(help))
            }
        }
    }

    /// The value of a key that must exist.
    fn known_key<'t>(&self, table: &'t TreeTable, part: &At<String>) -> Option<&'t TreeNode> {
        table.get(&part.value).or_else(|| {
            let help = suggest::help(&part.value, "keys", table.keys());
            self.refuse(part, &format!("there is no `{}`", part.value), Some(help))
        })
    }

    fn nothing_in<T>(&self, value: &Value, part: &At<String>) -> Option<T> {
        let (key, found) = (&part.value, value.describe());
        self.refuse(part, &format!("there is no `{key}` in {found}"), None)
    }

    fn refuse<T>(&self, part: &At<String>, wrong: &str, help: Option<String>) -> Option<T> {
        let message = format!("in `{}`: {wrong}", self.shown);
        part.fail(self.reporter, ProblemKind::Override, message, help)
    }
}
