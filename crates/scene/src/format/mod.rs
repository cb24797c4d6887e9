//! The description of the scene format: what tables there are, and which keys each of them has.
//!
//! Every table is a [`Section`], every key a [`Key`] with its type, unit, default and meaning. They stand
//! next to the readers in `read`, and everything else follows from them: which keys and values are
//! accepted ([`Fields`]), the tables of `docs/scenes.md` ([`docs`]) and the JSON Schema ([`json`]).

pub(crate) mod docs;
pub(crate) mod fields;
pub mod json;
mod values;

use crate::{
    error::{ProblemKind, Reporter},
    source::SourceSpan,
    suggest,
    tree::{Node, Value},
};
pub(crate) use {fields::Fields, values::FromValue};

/// A table of the format.
pub(crate) struct Section {
    /// The name in the documentation and in the schema.
    pub name: &'static str,
    pub keys: &'static [Key],
    pub rules: &'static [Rule],
}

/// A key of a table.
pub(crate) struct Key {
    pub name: &'static str,
    pub takes: Type,
    pub default: Preset,
    /// The meaning, for the documentation.
    pub doc: &'static str,
}

/// The values that a key takes.
#[derive(Clone, Copy)]
pub(crate) enum Type {
    /// A finite number: its unit and range.
    Number(&'static str, Range),
    /// A whole number from the given one to 2³² − 1.
    Count(u32),
    /// True or false.
    Flag,
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
    /// A list of any length.
    List(&'static Type),
    /// A formula in quotes, or a number.
    Formula,
    Table(&'static Section),
    /// A list of tables.
    Tables(&'static Section),
    /// A table or a list of them.
    TableOrTables(&'static Section),
    /// Tables by names of the user's choice.
    Named(&'static Section),
    /// A table whose other keys depend on a word in it.
    Union(Family),
    /// A list of such tables.
    Unions(Family),
    /// Any of these; their values are distinguished by their form.
    Either(&'static [Type]),
}

/// Tables whose keys depend on a word in them.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Family {
    Method,
    BodyShape,
    ObstacleShape,
    Probe,
}

/// A set of numbers.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Range {
    Any,
    Positive,
    NotNegative,
}

/// The value of a key that is not given.
#[derive(Clone, Copy)]
pub(crate) enum Preset {
    Required,
    /// A resolution: required of what deforms, this number for what only needs to look right.
    Resolution(u32),
    Absent,
    /// In words: it follows from other keys.
    Said(&'static str),
    Num(f64),
    Int(u32),
    Bool(bool),
    Chosen(&'static str),
    Vec(&'static [f64]),
}

/// Conditions between keys. Readers have messages of their own for all but the first two.
pub(crate) enum Rule {
    ExactlyOne(&'static [&'static str]),
    AtMostOne(&'static [&'static str]),
    /// At least one of the keys.
    Some(&'static [&'static str]),
    /// Keys of exactly one of the groups.
    OneGroup(&'static [&'static [&'static str]]),
    /// With one of the words as the value of the key, other keys are needed, and others are not allowed.
    With(
        &'static str,
        &'static [&'static str],
        &'static [&'static str],
        &'static [&'static str],
    ),
    /// The first key needs one of the others.
    Needs(&'static str, &'static [&'static str]),
}

/// Words and what they stand for.
pub(crate) struct Words<T: 'static> {
    pub words: &'static [&'static str],
    pub values: &'static [T],
}

/// Declares a [`Section`]: its name, the rules between its keys, and for each key a line of name, type,
/// default and meaning.
macro_rules! section {
    ($(#[$meta:meta])* $vis:vis $id:ident $name:literal $([$($rule:expr),*])?; $($key:literal: $takes:expr, $default:expr, $doc:expr;)*) => {
        $(#[$meta])*
        $vis const $id: $crate::format::Section = $crate::format::Section {
            name: $name,
            keys: $crate::format::keys!($($key: $takes, $default, $doc;)*),
            rules: {
                #[allow(unused_imports)]
                use $crate::format::Rule::*;
                &[$($($rule),*)?]
            },
        };
    };
}

/// A list of [`Key`]s, one line each.
macro_rules! keys {
    ($($key:literal: $takes:expr, $default:expr, $doc:expr;)*) => {{
        #[allow(unused_imports)]
        use $crate::format::{Preset::*, Range::*, Type::*};
        &[$($crate::format::Key { name: $key, takes: $takes, default: $default, doc: $doc }),*]
    }};
}

/// Declares [`Words`].
macro_rules! words {
    ($vis:vis $id:ident: $t:ty = $($word:literal => $value:expr),+ $(,)?) => {
        $vis const $id: $crate::format::Words<$t> = $crate::format::Words { words: &[$($word),+], values: &[$($value),+] };
    };
}
pub(crate) use {keys, section, words};

impl Range {
    fn holds(self, x: f64) -> bool {
        match self {
            Self::Any => true,
            Self::Positive => x > 0.0,
            Self::NotNegative => x >= 0.0,
        }
    }

    fn rule(self) -> &'static str {
        match self {
            Self::Any => "finite",
            Self::Positive => "positive",
            Self::NotNegative => "zero or positive",
        }
    }
}

impl Type {
    /// Reports a value that is not of this type. Tables are checked by their readers.
    pub fn check(&self, reporter: &Reporter, node: &Node, what: &str) -> Option<()> {
        let wrong = |wanted: &str| wrong_type(reporter, node, what, wanted);
        match (self, &node.value) {
            (Self::Number(_, range), Value::Integer(_) | Value::Float(_)) => {
                let x = number(node)?;
                let rule = match x.is_finite() {
                    true if range.holds(x) => return Some(()),
                    true => range.rule(),
                    false => "finite",
                };
                let message = format!("{what} is {x}, but must be {rule}");
                reporter.fail(ProblemKind::Value, node.place, message, None)
            }
            (Self::Count(least), Value::Integer(i)) => match u32::try_from(*i) {
                Ok(n) if n >= *least => Some(()),
                _ => {
                    let most = u32::MAX;
                    let message =
                        format!("{what} is {i}, but must be a whole number from {least} to {most}");
                    reporter.fail(ProblemKind::Value, node.place, message, None)
                }
            },
            (Self::Flag, Value::Bool(_)) | (Self::Text, Value::String(_)) => Some(()),
            (Self::Name, Value::String(name)) => plain_name(reporter, name, node.place, what),
            (Self::Word(words), Value::String(word)) => match words.contains(&word.as_str()) {
                true => Some(()),
                false => {
                    let help = suggest::help(word, "values", words.iter().copied());
                    let message = format!("{what} cannot be `{word}`");
                    reporter.fail(ProblemKind::UnknownName, node.place, message, Some(help))
                }
            },
            (Self::Vector(_) | Self::Direction, Value::Array(items)) if items.len() == 3 => {
                each(reporter, items, &Self::Number("", Range::Any), what)?;
                let zero = items.iter().all(|n| number(n) == Some(0.0));
                if matches!(self, Self::Direction) && zero {
                    let message = format!("{what} has length zero and gives no direction");
                    let help = "give the vector along the direction, for example [0, 0, 1]";
                    return reporter.fail(
                        ProblemKind::Value,
                        node.place,
                        message,
                        Some(help.to_owned()),
                    );
                }
                Some(())
            }
            (Self::Numbers(n, unit, range), Value::Array(items)) if items.len() == *n => {
                each(reporter, items, &Self::Number(unit, *range), what)
            }
            (Self::Counts(n, least), Value::Array(items)) if items.len() == *n => {
                each(reporter, items, &Self::Count(*least), what)
            }
            (Self::List(of), Value::Array(items)) => each(reporter, items, of, what),
            (Self::Formula, Value::String(_)) => Some(()),
            (Self::Formula, _) => match node.value {
                Value::Integer(_) | Value::Float(_) => {
                    Self::Number("", Range::Any).check(reporter, node, what)
                }
                _ => wrong(&self.wanted()),
            },
            (Self::Either(types), value) => match types.iter().find(|t| t.may_be(value)) {
                Some(found) => found.check(reporter, node, what),
                None => wrong(&self.wanted()),
            },
            _ if self.is_table() => Some(()),
            _ => wrong(&self.wanted()),
        }
    }

    /// Whether a value has the form of this type.
    fn may_be(&self, value: &Value) -> bool {
        match (self, value) {
            (Self::Number(..) | Self::Formula, Value::Integer(_) | Value::Float(_))
            | (Self::Count(_), Value::Integer(_))
            | (Self::Flag, Value::Bool(_))
            | (Self::Text | Self::Name | Self::Word(_) | Self::Formula, Value::String(_))
            | (
                Self::Vector(_)
                | Self::Direction
                | Self::Numbers(..)
                | Self::Counts(..)
                | Self::List(_)
                | Self::Tables(_)
                | Self::TableOrTables(_)
                | Self::Unions(_),
                Value::Array(_),
            ) => true,
            (Self::Either(types), value) => types.iter().any(|t| t.may_be(value)),
            (other, Value::Table(_)) => other.is_table() && !matches!(other, Self::Tables(_)),
            _ => false,
        }
    }

    fn is_table(&self) -> bool {
        matches!(
            self,
            Self::Table(_)
                | Self::Tables(_)
                | Self::TableOrTables(_)
                | Self::Named(_)
                | Self::Union(_)
                | Self::Unions(_)
        )
    }

    /// The type in messages.
    fn wanted(&self) -> String {
        match self {
            Self::Number(..) => "a number".to_owned(),
            Self::Count(_) => "a whole number".to_owned(),
            Self::Flag => "true or false".to_owned(),
            Self::Text | Self::Name | Self::Word(_) => "a text in quotes".to_owned(),
            Self::Vector(_) | Self::Direction => "a list of 3 numbers".to_owned(),
            Self::Numbers(n, ..) | Self::Counts(n, _) => format!("a list of {n} numbers"),
            Self::List(_) | Self::Tables(_) | Self::Unions(_) => "a list".to_owned(),
            Self::Formula => "a formula in quotes or a number".to_owned(),
            Self::Either(types) => {
                let all: Vec<String> = types.iter().map(Self::wanted).collect();
                all.join(" or ")
            }
            Self::Table(_) | Self::TableOrTables(_) | Self::Named(_) | Self::Union(_) => {
                "a table".to_owned()
            }
        }
    }
}

fn each(reporter: &Reporter, items: &[Node], of: &Type, what: &str) -> Option<()> {
    // All that is wrong is reported.
    let good = items
        .iter()
        .filter(|n| of.check(reporter, n, what).is_some());
    (good.count() == items.len()).then_some(())
}

fn number(node: &Node) -> Option<f64> {
    match node.value {
        Value::Integer(i) => Some(i as f64),
        Value::Float(x) => Some(x),
        _ => None,
    }
}

/// Reports a value of another type than the one wanted.
pub(crate) fn wrong_type<T>(
    reporter: &Reporter,
    node: &Node,
    what: &str,
    wanted: &str,
) -> Option<T> {
    let message = format!("{what} must be {wanted}, but is {}", node.value.describe());
    reporter.fail(ProblemKind::Type, node.place, message, None)
}

/// Whether a name may become a file name, a column and a word of an override.
pub(crate) fn is_plain_name(name: &str) -> bool {
    let good = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '.' | ' ' | ':' | ',');
    let long = name.chars().count() > 100;
    !name.trim().is_empty() && name.chars().all(good) && !long && !name.starts_with('.')
}

/// Reports a name that is not plain.
pub(crate) fn plain_name(
    reporter: &Reporter,
    name: &str,
    place: SourceSpan,
    what: &str,
) -> Option<()> {
    if is_plain_name(name) {
        return Some(());
    }
    let shown: String = name.chars().take(100).collect();
    let message = format!("{what} cannot be \"{shown}\"");
    let help = "use up to 100 letters, digits, spaces, and - _ : , . (the dot not first)";
    reporter.fail(ProblemKind::Value, place, message, Some(help.to_owned()))
}

/// A place in the file at which nothing stands.
pub(crate) const NOWHERE: SourceSpan = SourceSpan {
    source: 0,
    start: 0,
    end: 0,
};
