//! `--set KEY=VALUE`: changes to a scene from the command line, and the same changes from
//! variants.
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
    tree::{Node, Table, TableEntry, Value, parse_value},
};

/// Of these keys a table has one or the other: to set one is to take the other out.
const INSTEAD: [[&str; 2]; 2] = [["shape", "mesh"], ["mesh", "shape"]];

/// The key that goes when `key` is set.
fn replaced(key: &str) -> Option<&'static str> {
    INSTEAD
        .iter()
        .find(|[new, _]| *new == key)
        .map(|[_, old]| *old)
}

/// One step of a resolved path.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum PathStep {
    Key(String),
    Index(usize),
}

/// A resolved path from the document to one of its values.
pub(crate) type Steps = Vec<PathStep>;

/// Applies override `text`, which is source number `source`, to the tree.
pub(crate) fn apply(text: &str, source: u32, root: &mut Table, reporter: &Reporter) -> Option<()> {
    let whole = SourceSpan::new(source, 0..text.len());
    let Some(equals) = find_equals(text) else {
        let help = "write KEY=VALUE, for example `time.step=0.005`";
        return reporter.fail(
            ProblemKind::Override,
            whole,
            format!("`{text}` has no `=`"),
            help,
        );
    };
    let key_place = SourceSpan::new(source, 0..equals);
    let path = path(At::new(&text[..equals], key_place), reporter)?;
    if path.first().is_some_and(|k| k.value == "variant") {
        let help = "choose a variant with --variant NAME";
        let message = "variants cannot be changed by an override";
        return reporter.fail(ProblemKind::Override, key_place, message, help);
    }
    let change = Change {
        path: &path,
        shown: &text[..equals],
        node: value(&text[equals + 1..], equals + 1, source, reporter)?,
    };
    change.apply(root, reporter)
}

/// Parses a dotted key. Every part of it is reported at the place of the whole.
pub(crate) fn path(text: At<&str>, reporter: &Reporter) -> Option<Vec<At<String>>> {
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

/// A value to be set at a path.
pub(crate) struct Change<'a> {
    /// The path; a problem with a part of it is reported at the part's place.
    pub path: &'a [At<String>],
    /// The path in messages.
    pub shown: &'a str,
    /// The value.
    pub node: Node,
}

impl Change<'_> {
    /// Sets the value in the tree. Tables that the path needs are created, entries of lists must
    /// exist.
    pub fn apply(self, root: &mut Table, reporter: &Reporter) -> Option<()> {
        let walk = Walk {
            shown: self.shown,
            reporter,
        };
        walk.table(root, self.path, self.node)
    }
}

/// Resolves the path of a value that exists.
pub(crate) fn locate(
    path: &[At<String>],
    shown: &str,
    root: &Table,
    reporter: &Reporter,
) -> Option<Steps> {
    let (first, rest) = path.split_first()?;
    let mut steps = vec![PathStep::Key(first.value.clone())];
    let mut node = known_key(root, first, shown, reporter)?;
    for part in rest {
        node = match &node.value {
            Value::Table(table) => {
                steps.push(PathStep::Key(part.value.clone()));
                known_key(table, part, shown, reporter)?
            }
            Value::Array(items) => {
                let index = entry(items, part, shown, reporter)?;
                steps.push(PathStep::Index(index));
                &items[index]
            }
            other => return nothing_in(other, part, shown, reporter),
        };
    }
    Some(steps)
}

/// Removes the value at `steps` from the tree.
pub(crate) fn remove(steps: &[PathStep], root: &mut Table) -> Option<()> {
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
fn value(text: &str, offset: usize, source: u32, reporter: &Reporter) -> Option<Node> {
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
        Err(_) => Some(Node {
            place,
            value: Value::String(trimmed.to_owned()),
        }),
    }
}

/// A walk along a path.
struct Walk<'a> {
    shown: &'a str,
    reporter: &'a Reporter,
}

impl Walk<'_> {
    /// Sets `value` at `path` below a table.
    fn table(&self, table: &mut Table, path: &[At<String>], value: Node) -> Option<()> {
        let Some((first, rest)) = path.split_first() else {
            return Some(());
        };
        let key = &first.value;
        let entry = |node: Node| TableEntry {
            key: key.clone(),
            key_place: first.place,
            node,
        };
        if rest.is_empty() {
            if let Some(old) = replaced(key) {
                table.remove(old);
            }
            table.set(entry(value));
            return Some(());
        }
        if table.get(key).is_none() {
            table.set(entry(Node {
                place: first.place,
                value: Value::Table(Table::default()),
            }));
        }
        self.node(table.get_mut(key)?, rest, value)
    }

    /// Sets `value` at `path` below any value.
    fn node(&self, node: &mut Node, path: &[At<String>], value: Node) -> Option<()> {
        let Some((first, rest)) = path.split_first() else {
            *node = value;
            return Some(());
        };
        match &mut node.value {
            Value::Table(table) => self.table(table, path, value),
            Value::Array(items) => {
                let index = entry(items, first, self.shown, self.reporter)?;
                self.node(&mut items[index], rest, value)
            }
            other => nothing_in(other, first, self.shown, self.reporter),
        }
    }
}

/// The index of the entry of a list that `part` names or counts.
fn entry(items: &[Node], part: &At<String>, shown: &str, reporter: &Reporter) -> Option<usize> {
    let (first, count) = (&part.value, items.len());
    if let Some(named) = items.iter().position(|n| n.name() == Some(first)) {
        return Some(named);
    }
    match first.parse::<usize>() {
        Ok(index) if index < count => Some(index),
        Ok(index) => {
            let message = format!(
                "in `{shown}`: there is no entry {index}; the list has {count}, counted from 0"
            );
            part.fail(reporter, ProblemKind::Override, message, None)
        }
        Err(_) => {
            let help = suggest::help(first, "names", items.iter().filter_map(Node::name));
            let message = format!("in `{shown}`: no entry is called `{first}`");
            part.fail(reporter, ProblemKind::Override, message, help)
        }
    }
}

/// The value of a key that must exist.
fn known_key<'a>(
    table: &'a Table,
    part: &At<String>,
    shown: &str,
    reporter: &Reporter,
) -> Option<&'a Node> {
    table.get(&part.value).or_else(|| {
        let help = suggest::help(&part.value, "keys", table.keys());
        let message = format!("in `{shown}`: there is no `{}`", part.value);
        part.fail(reporter, ProblemKind::Override, message, help)
    })
}

fn nothing_in<T>(value: &Value, part: &At<String>, shown: &str, reporter: &Reporter) -> Option<T> {
    let message = format!(
        "in `{shown}`: there is no `{}` in {}",
        part.value,
        value.describe()
    );
    part.fail(reporter, ProblemKind::Override, message, None)
}
