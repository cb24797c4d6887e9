//! Canonical text.

use std::fmt::Write as _;

use crate::{
    Section,
    tree::{TableEntry, TreeNode, TreeTable, Value},
};

/// The document as canonical TOML: tables in the order of `section`, keys in one order, numbers
/// in the shortest form that gives the same bits.
pub fn text(root: &TreeTable, section: &Section) -> String {
    let mut entries: Vec<&TableEntry> = root.entries.iter().collect();
    let rank = |e: &TableEntry| section.keys.iter().position(|key| key.name == e.key);
    entries.sort_by_key(|e| (rank(e).unwrap_or(usize::MAX), e.key.clone()));
    let mut out = String::new();
    // Plain values come first: behind a header they would belong to its table.
    for e in entries.iter().filter(|e| !has_header(&e.node)) {
        line(&mut out, e);
    }
    for e in entries.iter().filter(|e| has_header(&e.node)) {
        let name = key(&e.key);
        for table in e.node.items().iter().filter_map(TreeNode::table) {
            block(&mut out, &format!("[[{name}]]"), table);
        }
        match e.node.table() {
            Some(table) if all_tables(table) => {
                for e in sorted(table) {
                    let inner = e.node.table().into_iter();
                    let header = format!("[{name}.{}]", key(&e.key));
                    inner.for_each(|t| block(&mut out, &header, t));
                }
            }
            Some(table) => block(&mut out, &format!("[{name}]"), table),
            None => {}
        }
    }
    out
}

/// Whether a value at the top level is written below a header of its own.
fn has_header(node: &TreeNode) -> bool {
    let items = node.items();
    node.table().is_some() || !items.is_empty() && items.iter().all(|i| i.table().is_some())
}

fn all_tables(table: &TreeTable) -> bool {
    let mut nodes = table.entries.iter().map(|e| &e.node);
    !table.entries.is_empty() && nodes.all(|n| n.table().is_some())
}

fn block(out: &mut String, header: &str, table: &TreeTable) {
    let _ = writeln!(out, "\n{header}");
    sorted(table).into_iter().for_each(|e| line(out, e));
}

fn line(out: &mut String, entry: &TableEntry) {
    let _ = writeln!(out, "{} = {}", key(&entry.key), inline(&entry.node));
}

/// Names and kinds first, then the alphabet.
fn sorted(table: &TreeTable) -> Vec<&TableEntry> {
    let mut entries: Vec<&TableEntry> = table.entries.iter().collect();
    let rank = |key: &str| match key {
        "name" => 0,
        "kind" | "type" => 1,
        _ => 2,
    };
    entries.sort_by(|a, b| (rank(&a.key), &a.key).cmp(&(rank(&b.key), &b.key)));
    entries
}

/// A key, in quotes where it needs them.
pub fn key(key: &str) -> String {
    toml_edit::Key::new(key).display_repr().into_owned()
}

/// A value on one line.
pub fn inline(node: &TreeNode) -> String {
    match &node.value {
        Value::String(s) => toml_edit::Value::from(s.as_str()).to_string(),
        Value::Integer(i) => i.to_string(),
        Value::Float(x) if x.is_nan() => "nan".to_owned(),
        Value::Float(x) => format!("{x:?}"),
        Value::Bool(b) => b.to_string(),
        Value::Datetime(d) => d.clone(),
        Value::Array(items) => {
            let items: Vec<String> = items.iter().map(inline).collect();
            format!("[{}]", items.join(", "))
        }
        Value::Table(table) if table.entries.is_empty() => "{}".to_owned(),
        Value::Table(table) => {
            let entries = sorted(table).into_iter();
            let entries: Vec<String> = entries
                .map(|e| format!("{} = {}", key(&e.key), inline(&e.node)))
                .collect();
            format!("{{ {} }}", entries.join(", "))
        }
    }
}
