//! The document as a tree of values with their spans.

use toml::{
    Spanned,
    de::{DeTable, DeValue},
};

use crate::{
    error::{ProblemKind, Reporter},
    source::{NOWHERE, SourceSpan},
};

/// A value and its place.
#[derive(Clone, Debug)]
pub struct TreeNode {
    /// Its place in the text.
    pub place: SourceSpan,
    /// The value.
    pub value: Value,
}

/// A value of TOML.
#[derive(Clone, Debug)]
pub enum Value {
    /// A text.
    String(String),
    /// A whole number.
    Integer(i64),
    /// A number.
    Float(f64),
    /// True or false.
    Bool(bool),
    /// A date, as it is written.
    Datetime(String),
    /// A list.
    Array(Vec<TreeNode>),
    /// A table.
    Table(TreeTable),
}

/// Keys and values. Keys are distinct.
#[derive(Clone, Debug, Default)]
pub struct TreeTable {
    /// In the order of the text.
    pub entries: Vec<TableEntry>,
}

/// A key and its value.
#[derive(Clone, Debug)]
pub struct TableEntry {
    /// The key.
    pub key: String,
    /// The place of the key in the text.
    pub key_place: SourceSpan,
    /// The value.
    pub node: TreeNode,
}

impl TreeTable {
    /// The value of a key.
    pub fn get(&self, key: &str) -> Option<&TreeNode> {
        self.entries.iter().find(|e| e.key == key).map(|e| &e.node)
    }

    /// The text at a key.
    pub fn text(&self, key: &str) -> Option<&str> {
        self.get(key)?.text()
    }

    /// The entries of the list `key`.
    pub fn items(&self, key: &str) -> &[TreeNode] {
        self.get(key).map_or(&[], TreeNode::items)
    }

    /// The value of a key, to be changed.
    pub fn get_mut(&mut self, key: &str) -> Option<&mut TreeNode> {
        self.entries
            .iter_mut()
            .find(|e| e.key == key)
            .map(|e| &mut e.node)
    }

    /// The keys, in the order of the text.
    pub fn keys(&self) -> impl Iterator<Item = &str> {
        self.entries.iter().map(|e| e.key.as_str())
    }

    /// Sets or adds a key.
    pub fn set(&mut self, entry: TableEntry) {
        match self.entries.iter_mut().find(|e| e.key == entry.key) {
            Some(old) => *old = entry,
            None => self.entries.push(entry),
        }
    }

    /// Takes a key out.
    pub fn remove(&mut self, key: &str) {
        self.entries.retain(|e| e.key != key);
    }
}

impl TableEntry {
    /// An entry that stands nowhere in the file.
    pub fn new(key: &str, value: Value) -> Self {
        Self {
            key: key.to_owned(),
            key_place: NOWHERE,
            node: TreeNode::new(NOWHERE, value),
        }
    }
}

impl TreeNode {
    /// A value and its place.
    pub fn new(place: SourceSpan, value: Value) -> Self {
        Self { place, value }
    }

    /// The text, if the value is one.
    pub fn text(&self) -> Option<&str> {
        match &self.value {
            Value::String(text) => Some(text),
            _ => None,
        }
    }

    /// The number, if the value is one.
    pub fn number(&self) -> Option<f64> {
        match self.value {
            Value::Integer(i) => Some(i as f64),
            Value::Float(x) => Some(x),
            _ => None,
        }
    }

    /// The table, if the value is one.
    pub fn table(&self) -> Option<&TreeTable> {
        match &self.value {
            Value::Table(table) => Some(table),
            _ => None,
        }
    }

    /// The table to be changed, if the value is one.
    pub fn table_mut(&mut self) -> Option<&mut TreeTable> {
        match &mut self.value {
            Value::Table(table) => Some(table),
            _ => None,
        }
    }

    /// Whether the value is a list.
    pub fn is_list(&self) -> bool {
        matches!(self.value, Value::Array(_))
    }

    /// The entries of a list; none of any other value.
    pub fn items(&self) -> &[Self] {
        match &self.value {
            Value::Array(items) => items,
            _ => &[],
        }
    }

    /// The `name` of a table.
    pub fn name(&self) -> Option<&str> {
        self.table()?.text("name")
    }
}

impl Value {
    /// Description for messages: `a number`, `a list`, …
    pub fn describe(&self) -> String {
        match self {
            Self::String(s) if s.chars().count() <= 40 => format!("the text \"{s}\""),
            Self::String(_) => "a text".to_owned(),
            Self::Integer(i) => format!("the number {i}"),
            Self::Float(x) => format!("the number {x}"),
            Self::Bool(b) => format!("`{b}`"),
            Self::Datetime(_) => "a date".to_owned(),
            Self::Array(a) => format!("a list of {}", a.len()),
            Self::Table(_) => "a table".to_owned(),
        }
    }
}

/// Parses a document; problems go to the reporter.
pub fn parse(text: &str, source: u32, reporter: &Reporter) -> Option<TreeTable> {
    let (document, errors) = DeTable::parse_recoverable(text);
    // What follows the first syntax error is often only its echo.
    if let Some(error) = errors.first() {
        return syntax(error, text, source, reporter);
    }
    table(document.get_ref(), source, reporter)
}

/// Parses a single value, such as the right side of an override.
pub fn parse_value(
    text: &str,
    offset: usize,
    source: u32,
    reporter: &Reporter,
) -> Result<Option<TreeNode>, String> {
    let value = DeValue::parse(text).map_err(|e| e.message().to_owned())?;
    let mut node = convert(&value, source, reporter);
    if let Some(node) = &mut node {
        shift(node, offset as u32);
    }
    Ok(node)
}

fn syntax<T>(error: &toml::de::Error, text: &str, source: u32, reporter: &Reporter) -> Option<T> {
    syntax_at(error.span(), error.message(), text, source, reporter)
}

/// Reports what a parser of TOML says about `text`.
pub fn syntax_at<T>(
    span: Option<std::ops::Range<usize>>,
    message: &str,
    text: &str,
    source: u32,
    reporter: &Reporter,
) -> Option<T> {
    let span = span.unwrap_or(0..0);
    let end = span.end.min(text.len());
    let place = SourceSpan::new(source, span.start.min(end)..end);
    let message = message.trim().replace('\n', "; ");
    let help = if message.contains("duplicate key") {
        "give every key once; tables of a list start with [[name]]"
    } else {
        "scenes are TOML: text in quotes, lists in [ ], tables in { } or under [name]"
    };
    reporter.fail(
        ProblemKind::Syntax,
        place,
        format!("not valid TOML: {message}"),
        help,
    )
}

fn shift(node: &mut TreeNode, offset: u32) {
    let moved = |p: &mut SourceSpan| {
        p.start += offset;
        p.end += offset;
    };
    moved(&mut node.place);
    match &mut node.value {
        Value::Array(items) => items.iter_mut().for_each(|n| shift(n, offset)),
        Value::Table(t) => {
            for e in &mut t.entries {
                moved(&mut e.key_place);
                shift(&mut e.node, offset);
            }
        }
        _ => {}
    }
}

fn table(from: &DeTable<'_>, source: u32, reporter: &Reporter) -> Option<TreeTable> {
    let mut entries = Vec::with_capacity(from.len());
    for (key, value) in from.iter() {
        entries.push(TableEntry {
            key: key.get_ref().to_string(),
            key_place: SourceSpan::new(source, key.span()),
            node: convert(value, source, reporter)?,
        });
    }
    // The parser sorts by key; people read from top to bottom.
    entries.sort_by_key(|e| e.key_place);
    Some(TreeTable { entries })
}

fn convert(from: &Spanned<DeValue<'_>>, source: u32, reporter: &Reporter) -> Option<TreeNode> {
    let place = SourceSpan::new(source, from.span());
    let too_large = |message: String| reporter.refuse(place, message, None);
    let value = match from.get_ref() {
        DeValue::String(s) => Value::String(s.to_string()),
        DeValue::Integer(i) => match i64::from_str_radix(i.as_str(), i.radix()) {
            Ok(i) => Value::Integer(i),
            Err(_) => return too_large(format!("the integer {i} is too large")),
        },
        DeValue::Float(x) => match x.as_str().parse::<f64>() {
            Ok(inf) if inf.is_infinite() && !x.as_str().contains("inf") => {
                return too_large(format!("the number {x} is too large"));
            }
            Ok(x) => Value::Float(x),
            Err(_) => {
                let message = format!("`{x}` is not a number");
                return reporter.fail(ProblemKind::Syntax, place, message, None);
            }
        },
        DeValue::Boolean(b) => Value::Bool(*b),
        DeValue::Datetime(d) => Value::Datetime(d.to_string()),
        DeValue::Array(items) => {
            let items: Option<Vec<TreeNode>> =
                items.iter().map(|v| convert(v, source, reporter)).collect();
            Value::Array(items?)
        }
        DeValue::Table(t) => Value::Table(table(t, source, reporter)?),
    };
    Some(TreeNode { place, value })
}
