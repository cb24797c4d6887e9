//! The materials library: published values, each with its source.

use toml::{Table, Value};

/// The library as it is written, `crates/scene/materials.toml`.
pub const TEXT: &str = include_str!("../materials.toml");

/// A material of the library.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LibraryEntry {
    /// The name by which scenes use it.
    pub name: String,
    /// `shell`, `solid`, `rigid` or `rod`.
    pub kind: String,
    /// Description.
    pub description: String,
    /// Source of the numbers.
    pub source: String,
}

/// The materials of the library, in alphabetical order.
pub fn list() -> Vec<LibraryEntry> {
    let table: Table = TEXT.parse().unwrap_or_default();
    let text = |t: &Value, key: &str| {
        let found = t.get(key).and_then(Value::as_str);
        found.unwrap_or_default().to_owned()
    };
    let entries = table.iter().map(|(name, t)| LibraryEntry {
        name: name.clone(),
        kind: text(t, "kind"),
        description: text(t, "description"),
        source: text(t, "source"),
    });
    entries.collect()
}
