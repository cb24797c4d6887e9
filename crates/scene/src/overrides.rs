//! `--set KEY=VALUE`: changes to a scene from the command line.
//!
//! A key is a dotted path. Entries of a list of tables (`body`, `pin`, …) are addressed by their
//! name or by their index from 0; entries of any other list by their index. What an override puts
//! into the document remembers where it came from, so that later errors quote the override, and
//! the lines of the file keep their numbers.

use toml_edit::Key;

use crate::{
    error::{Kind, Reporter},
    source::Place,
    suggest,
    tree::{Entry, Node, Table, Value, parse_value},
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

/// Applies override `text`, which is source number `source`, to the tree.
pub(crate) fn apply(text: &str, source: u32, root: &mut Table, reporter: &Reporter) -> Option<()> {
    let whole = Place::new(source, 0..text.len());
    let Some(equals) = find_equals(text) else {
        let help = "write KEY=VALUE, for example `time.step=0.005`";
        return reporter.fail(
            Kind::Override,
            whole,
            format!("`{text}` has no `=`"),
            Some(help.to_owned()),
        );
    };
    let key_place = Place::new(source, 0..equals);
    let path = match Key::parse(&text[..equals]) {
        Ok(keys) => keys.iter().map(|k| k.get().to_owned()).collect::<Vec<_>>(),
        Err(_) => {
            let help = "a key is a dotted path such as `body.strip.shape.cells`";
            let message = format!("`{}` is not a key", &text[..equals]);
            return reporter.fail(Kind::Override, key_place, message, Some(help.to_owned()));
        }
    };
    let node = value(&text[equals + 1..], equals + 1, source, reporter)?;
    walk(root, &path, &text[..equals], key_place, node, reporter)
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

/// The value: TOML, or else bare text.
fn value(text: &str, offset: usize, source: u32, reporter: &Reporter) -> Option<Node> {
    let trimmed = text.trim();
    let offset = offset + (text.len() - text.trim_start().len());
    match parse_value(trimmed, offset, source, reporter) {
        Ok(node) => node,
        Err(message) if trimmed.starts_with(['[', '{', '"', '\'']) => {
            let place = Place::new(source, offset..offset + trimmed.len());
            let help = "lists are written [1, 2, 3], tables { key = value }; quote the whole override in the shell";
            let message = format!(
                "the value is not valid TOML: {}",
                message.trim().replace('\n', "; ")
            );
            reporter.fail(Kind::Override, place, message, Some(help.to_owned()))
        }
        Err(_) => {
            let place = Place::new(source, offset..offset + trimmed.len());
            let value = Value::String(trimmed.to_owned());
            Some(Node { place, value })
        }
    }
}

/// Puts `value` where `path` leads.
fn walk(
    table: &mut Table,
    path: &[String],
    key: &str,
    key_place: Place,
    value: Node,
    reporter: &Reporter,
) -> Option<()> {
    let Some((first, rest)) = path.split_first() else {
        return Some(());
    };
    if rest.is_empty() {
        if let Some(old) = replaced(first) {
            table.remove(old);
        }
        table.set(Entry {
            key: first.clone(),
            key_place,
            node: value,
        });
        return Some(());
    }
    if table.get(first).is_none() {
        let node = Node {
            place: key_place,
            value: Value::Table(Table::default()),
        };
        table.set(Entry {
            key: first.clone(),
            key_place,
            node,
        });
    }
    descend(table.get_mut(first)?, rest, key, key_place, value, reporter)
}

fn descend(
    node: &mut Node,
    path: &[String],
    key: &str,
    key_place: Place,
    value: Node,
    reporter: &Reporter,
) -> Option<()> {
    let Some((first, rest)) = path.split_first() else {
        *node = value;
        return Some(());
    };
    let refuse = |message: String, help: Option<String>| {
        reporter.fail(Kind::Override, key_place, message, help)
    };
    match &mut node.value {
        Value::Table(table) => walk(table, path, key, key_place, value, reporter),
        Value::Array(items) => {
            let count = items.len();
            let index = match items.iter().position(|n| name_of(n) == Some(first)) {
                Some(named) => named,
                None => match first.parse::<usize>() {
                    Ok(index) if index < count => index,
                    Ok(index) => {
                        return refuse(
                            format!(
                                "in `{key}`: there is no entry {index}; the list has {count}, counted from 0"
                            ),
                            None,
                        );
                    }
                    Err(_) => {
                        let help = suggest::help(first, "names", items.iter().filter_map(name_of));
                        return refuse(
                            format!("in `{key}`: no entry is called `{first}`"),
                            Some(help),
                        );
                    }
                },
            };
            descend(&mut items[index], rest, key, key_place, value, reporter)
        }
        other => refuse(
            format!("in `{key}`: there is no `{first}` in {}", other.describe()),
            None,
        ),
    }
}

fn name_of(node: &Node) -> Option<&str> {
    match &node.value {
        Value::Table(t) => match &t.get("name")?.value {
            Value::String(s) => Some(s),
            _ => None,
        },
        _ => None,
    }
}
