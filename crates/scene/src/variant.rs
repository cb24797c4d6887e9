//! `[variant.NAME]`: named sets of changes to a scene.
//!
//! A variant has the keys of a scene. Tables under a heading and dotted keys lead on to a value;
//! the value at their end replaces that of the scene, exactly as `--set KEY=VALUE` does. A list of
//! tables such as `[[variant.NAME.check]]` is a value: it replaces the whole list. `remove` names
//! entries and keys to be taken out; it comes last, so that indices count the scene's own entries.

use stiction_format::overrides::{self, Rivals, Steps, Walk};
use toml_edit::{DocumentMut, Item, TableLike};

use crate::{
    format::{
        self, At, ProblemKind, Reporter, TableEntry, TreeNode, TreeTable, Type, Value, section,
    },
    load::VariantInfo,
};

/// The key of a variant that removes entries.
const REMOVE: &str = "remove";

section! { struct VariantKeys "variant" {
    remove: () = List(&Text), Absent, "paths of entries and keys to be taken out, after all changes; indices count the entries before any is taken out";
} }

/// A body or obstacle has a shape or a mesh.
const RIVALS: Rivals = &[["shape", "mesh"]];

/// Applies override `text`, which is source number `source`, to the tree.
pub(crate) fn change(
    text: &str,
    source: u32,
    root: &mut TreeTable,
    reporter: &Reporter,
) -> Option<()> {
    overrides::apply(text, source, root, RIVALS, reporter, |key, place| {
        let help = "choose a variant with --variant NAME";
        let message = "variants cannot be changed by an override";
        match key {
            "variant" => reporter.fail(ProblemKind::Override, place, message, help),
            _ => Some(()),
        }
    })
}

fn walk<'a>(shown: &'a str, reporter: &'a Reporter) -> Walk<'a> {
    let rivals = RIVALS;
    Walk {
        shown,
        rivals,
        reporter,
    }
}

/// The variants of a scene, in the order of the file.
#[derive(Clone, Debug, Default)]
pub(crate) struct Variants {
    tables: Vec<TableEntry>,
}

impl Variants {
    /// Takes the variants out of the tree.
    pub fn take(root: &mut TreeTable, reporter: &Reporter) -> Self {
        let mut variants = Self::default();
        let Some(node) = root.get("variant").cloned() else {
            return variants;
        };
        root.remove("variant");
        let Value::Table(all) = node.value else {
            let found = node.value.describe();
            let message = format!("`variant` is {found}, but must be a table of variants");
            let help = "write [variant.NAME] above the variant's keys";
            reporter.fail::<()>(ProblemKind::Type, node.place, message, help);
            return variants;
        };
        for entry in all.entries {
            let (name, place) = (&entry.key, entry.key_place);
            format::plain_name(reporter, name, place, "the name of a variant");
            if entry.node.table().is_some() {
                variants.tables.push(entry);
            } else {
                let what = format!("variant `{name}`");
                format::wrong_type::<()>(reporter, &entry.node, &what, "a table");
            }
        }
        variants
    }

    /// Their names.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.tables.iter().map(|e| e.key.as_str())
    }

    /// Their names with their descriptions.
    pub fn infos(&self) -> impl Iterator<Item = VariantInfo> {
        let description = |e: &TableEntry| e.node.table()?.text("description").map(str::to_owned);
        self.tables.iter().map(move |entry| VariantInfo {
            name: entry.key.clone(),
            description: description(entry).unwrap_or_default(),
        })
    }

    /// Applies variant `name` to the tree. `document` is the file, which tells headings and dotted
    /// keys from inline tables.
    pub fn apply(
        &self,
        name: At<&str>,
        root: &mut TreeTable,
        document: &DocumentMut,
        reporter: &Reporter,
    ) -> Option<()> {
        let found = self.tables.iter().find(|e| e.key == name.value);
        let Some(table) = found.and_then(|e| e.node.table()) else {
            let At { value: name, place } = name;
            let message = format!("the scene has no variant `{name}`");
            return reporter.unknown(place, message, name, "variants", self.names());
        };
        let all = document.get("variant")?;
        let own = all.as_table_like()?.get(name.value)?.as_table_like()?;
        apply(table, own, &mut Vec::new(), root, reporter);
        if let Some(node) = table.get(REMOVE) {
            remove(node, root, reporter);
        }
        Some(())
    }
}

/// Applies the keys of `table`, which is `own` in the document and stands at `path`.
fn apply(
    table: &TreeTable,
    own: &dyn TableLike,
    path: &mut Vec<At<String>>,
    root: &mut TreeTable,
    reporter: &Reporter,
) {
    for entry in &table.entries {
        let Some(item) = own.get(&entry.key) else {
            continue;
        };
        if path.is_empty() && entry.key == REMOVE {
            continue;
        }
        path.push(At::new(entry.key.clone(), entry.key_place));
        match (&entry.node.value, item.as_table_like()) {
            (Value::Table(inner), Some(own)) if leads_on(item) => {
                apply(inner, own, path, root, reporter);
            }
            _ => {
                let parts: Vec<&str> = path.iter().map(|k| k.value.as_str()).collect();
                let shown = &parts.join(".");
                // What cannot be applied has been reported; the rest may have problems too.
                let _ = walk(shown, reporter).set(root, path, entry.node.clone());
            }
        }
        path.pop();
    }
}

/// Whether a table is part of a path, under a heading or in a dotted key; `{ … }` is a value.
fn leads_on(item: &Item) -> bool {
    match item {
        Item::Table(_) => true,
        other => other.as_inline_table().is_some_and(|t| t.is_dotted()),
    }
}

/// Removes what the list `node` names.
fn remove(node: &TreeNode, root: &mut TreeTable, reporter: &Reporter) {
    let _ = Type::List(&Type::Text).check(reporter, node, "`remove` of a variant");
    let mut found: Vec<Steps> = Vec::new();
    for node in node.items() {
        let Some(text) = node.text() else { continue };
        let steps = overrides::path(At::new(text, node.place), reporter)
            .and_then(|path| walk(text, reporter).locate(root, &path));
        found.extend(steps);
    }
    // From the end of every list, so that the indices of what remains stay true.
    found.sort_by(|a, b| b.cmp(a));
    found.dedup();
    for steps in found {
        if overrides::remove(&steps, root).is_none() {
            let message = "this cannot be removed";
            reporter.fail::<()>(ProblemKind::Override, node.place, message, None);
        }
    }
}
