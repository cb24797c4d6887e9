//! The values that keys take.

use crate::{
    Section, Union,
    error::{ProblemKind, Reporter},
    source::SourceSpan,
    tree::{TreeNode, Value},
};

/// The values that a key takes.
#[derive(Clone, Copy)]
pub enum Type {
    /// A finite number: its unit and range.
    Number(&'static str, Range),
    /// A whole number from the given one to 2³² − 1.
    Count(u32),
    /// True or false.
    Flag,
    /// A text.
    Text,
    /// A text that may become a file name, a column and a word of an override.
    Name,
    /// One of these words.
    Word(&'static [&'static str]),
    /// Three numbers of a unit.
    Vector(&'static str),
    /// A vector of any length but zero.
    Direction,
    /// So many numbers of a unit and range.
    Numbers(usize, &'static str, Range),
    /// So many whole numbers from a least one on.
    Counts(usize, u32),
    /// So many values.
    Rows(usize, &'static Type),
    /// A list of any length.
    List(&'static Type),
    /// A formula in quotes, or a number.
    Formula,
    /// A formula or number for each component of a vector.
    Formulas,
    /// A table.
    Table(&'static Section),
    /// A list of tables.
    Tables(&'static Section),
    /// A table or a list of them.
    TableOrTables(&'static Section),
    /// Tables by names of the user's choice.
    Named(&'static Section),
    /// A table whose other keys depend on its `type`.
    Union(&'static Union),
    /// A list of such tables.
    Unions(&'static Union),
    /// A table that is read by other means; the schema has its keys from elsewhere, by this name.
    Open(&'static str),
    /// Any of these; their values are distinguished by their form.
    Either(&'static [Type]),
}

/// A set of numbers.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Range {
    /// All finite ones.
    Any,
    /// Above zero.
    Positive,
    /// From zero on.
    NotNegative,
}

impl Type {
    /// Reports a value that is not of this type. Tables are checked when they are read.
    pub fn check(&self, reporter: &Reporter, node: &TreeNode, what: &str) -> Option<()> {
        if !self.may_be(&node.value) {
            return wrong_type(reporter, node, what, &self.wanted());
        }
        let refuse = |message: String, help: &str| reporter.refuse(node.place, message, help);
        match (self, &node.value) {
            (Self::Number(_, range), _) => {
                let x = node.number()?;
                let (good, rule) = match range {
                    Range::Positive if x.is_finite() => (x > 0.0, "positive"),
                    Range::NotNegative if x.is_finite() => (x >= 0.0, "zero or positive"),
                    _ => (x.is_finite(), "finite"),
                };
                match good {
                    true => Some(()),
                    false => refuse(format!("{what} is {x}, but must be {rule}"), ""),
                }
            }
            (Self::Count(least), Value::Integer(i)) => match u32::try_from(*i) {
                Ok(n) if n >= *least => Some(()),
                _ => {
                    let most = u32::MAX;
                    let rule = format!("a whole number from {least} to {most}");
                    refuse(format!("{what} is {i}, but must be {rule}"), "")
                }
            },
            (Self::Name, Value::String(name)) => plain_name(reporter, name, node.place, what),
            (Self::Word(words), Value::String(word)) if !words.contains(&word.as_str()) => {
                let message = format!("{what} cannot be `{word}`");
                let known = words.iter().copied();
                reporter.unknown(node.place, message, word, "values", known)
            }
            (Self::Vector(_), _) => Self::Numbers(3, "", Range::Any).check(reporter, node, what),
            (Self::Direction, Value::Array(items)) => {
                Self::Vector("").check(reporter, node, what)?;
                if items.iter().all(|n| n.number() == Some(0.0)) {
                    let message = format!("{what} has length zero and gives no direction");
                    let help = "give the vector along the direction, for example [0, 0, 1]";
                    return refuse(message, help);
                }
                Some(())
            }
            (Self::Numbers(_, unit, range), Value::Array(items)) => {
                each(reporter, items, &Self::Number(unit, *range), what)
            }
            (Self::Counts(_, least), Value::Array(items)) => {
                each(reporter, items, &Self::Count(*least), what)
            }
            (Self::Formulas, Value::Array(items)) => each(reporter, items, &Self::Formula, what),
            (Self::Rows(n, of), Value::Array(items)) if items.len() != *n => {
                let found = items.len();
                let rows = if of.is_list() { "rows" } else { "entries" };
                refuse(format!("{what} has {found} {rows}, but must have {n}"), "")
            }
            (Self::List(of) | Self::Rows(_, of), Value::Array(items)) => {
                each(reporter, items, of, what)
            }
            (Self::Formula, Value::Integer(_) | Value::Float(_)) => {
                Self::Number("", Range::Any).check(reporter, node, what)
            }
            (Self::Either(types), value) => {
                let found = types.iter().find(|t| t.may_be(value))?;
                found.check(reporter, node, what)
            }
            _ => Some(()),
        }
    }

    /// Whether a value has the form of this type.
    fn may_be(&self, value: &Value) -> bool {
        match (self, value) {
            (Self::Either(types), value) => types.iter().any(|t| t.may_be(value)),
            (_, Value::Integer(_)) => {
                matches!(self, Self::Number(..) | Self::Formula | Self::Count(_))
            }
            (_, Value::Float(_)) => matches!(self, Self::Number(..) | Self::Formula),
            (_, Value::Bool(_)) => matches!(self, Self::Flag),
            (_, Value::String(_)) => matches!(
                self,
                Self::Text | Self::Name | Self::Word(_) | Self::Formula
            ),
            (Self::Vector(_) | Self::Direction | Self::Formulas, Value::Array(items)) => {
                items.len() == 3
            }
            (Self::Numbers(n, ..) | Self::Counts(n, _), Value::Array(items)) => items.len() == *n,
            (_, Value::Array(_)) => matches!(
                self,
                Self::List(_)
                    | Self::Rows(..)
                    | Self::Tables(_)
                    | Self::TableOrTables(_)
                    | Self::Unions(_)
            ),
            (_, Value::Table(_)) => matches!(
                self,
                Self::Table(_)
                    | Self::TableOrTables(_)
                    | Self::Named(_)
                    | Self::Union(_)
                    | Self::Open(_)
            ),
            (_, Value::Datetime(_)) => false,
        }
    }

    /// The type in messages.
    fn wanted(&self) -> String {
        let wanted = match self {
            Self::Number(..) => "a number",
            Self::Count(_) => "a whole number",
            Self::Flag => "true or false",
            Self::Text | Self::Name | Self::Word(_) => "a text in quotes",
            Self::Vector(_) | Self::Direction => "a list of 3 numbers",
            Self::Numbers(n, ..) | Self::Counts(n, _) => return format!("a list of {n} numbers"),
            Self::List(_) | Self::Rows(..) => "a list",
            Self::Tables(_) | Self::Unions(_) => "a list of tables",
            Self::Formula => "a formula in quotes or a number",
            Self::Formulas => "a list of three formulas or numbers, one per component",
            Self::Table(_)
            | Self::TableOrTables(_)
            | Self::Named(_)
            | Self::Union(_)
            | Self::Open(_) => "a table",
            Self::Either(types) => {
                let all: Vec<String> = types.iter().map(Self::wanted).collect();
                return all.join(" or ");
            }
        };
        wanted.to_owned()
    }

    /// Whether the value is a list of numbers or of values.
    fn is_list(&self) -> bool {
        matches!(
            self,
            Self::Numbers(..) | Self::Counts(..) | Self::List(_) | Self::Rows(..)
        )
    }

    /// Whether the value is a list of tables, each below a heading `[[key]]`.
    pub fn is_list_of_tables(&self) -> bool {
        matches!(self, Self::Tables(_) | Self::Unions(_))
    }
}

/// Checks every item; all that is wrong is reported.
fn each(reporter: &Reporter, items: &[TreeNode], of: &Type, what: &str) -> Option<()> {
    let good = items
        .iter()
        .filter(|n| of.check(reporter, n, what).is_some());
    (good.count() == items.len()).then_some(())
}

/// Reports a value of another type than the one wanted.
pub fn wrong_type<T>(reporter: &Reporter, node: &TreeNode, what: &str, wanted: &str) -> Option<T> {
    let message = format!("{what} must be {wanted}, but is {}", node.value.describe());
    reporter.fail(ProblemKind::Type, node.place, message, None)
}

/// Whether a name may become a file name, a column and a word of an override.
pub fn is_plain_name(name: &str) -> bool {
    let good = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '.' | ' ' | ':' | ',');
    let long = name.chars().count() > 100;
    !name.trim().is_empty() && name.chars().all(good) && !long && !name.starts_with('.')
}

/// Reports a name that is not plain.
pub fn plain_name(reporter: &Reporter, name: &str, place: SourceSpan, what: &str) -> Option<()> {
    if is_plain_name(name) {
        return Some(());
    }
    let shown: String = name.chars().take(100).collect();
    let message = format!("{what} cannot be \"{shown}\"");
    let help = "use up to 100 letters, digits, spaces, and - _ : , . (the dot not first)";
    reporter.refuse(place, message, help)
}
