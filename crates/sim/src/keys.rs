//! Keys of a method's settings: their documentation, and the interface through which a method reads
//! them.
//!
//! A method lists its keys in a table of [`Key`]s and reads their values through [`Keys`], whatever
//! file format they come from. Kind, range and allowed words stand in the table alone.

/// A key of a method's settings.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Key {
    /// The name in a scene.
    pub name: &'static str,
    /// The values it takes.
    pub kind: KeyKind,
    /// The value without the key.
    pub default: KeyDefault,
    /// One sentence for the documentation.
    pub meaning: &'static str,
}

/// The values that a key takes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum KeyKind {
    /// A finite number.
    Number {
        /// The unit, as in `m/s`.
        unit: &'static str,
        /// The numbers allowed.
        range: KeyRange,
    },
    /// A whole number.
    Count {
        /// The least allowed.
        least: u32,
    },
    /// A whole number, or a word in its place.
    CountOr {
        /// The least number allowed.
        least: u32,
        /// The word.
        word: &'static str,
    },
    /// True or false.
    Flag,
    /// One of these words.
    Word(&'static [&'static str]),
}

/// A set of numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyRange {
    /// Greater than zero.
    Positive,
    /// Zero or greater.
    NotNegative,
}

/// The value of a key that is not given.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum KeyDefault {
    /// A constant.
    Value(KeyValue),
    /// Follows from other settings, in words.
    Derived(&'static str),
    /// There is none: the key selects something that is off without it.
    Absent,
}

/// A value of a key.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum KeyValue {
    /// A number.
    Number(f64),
    /// A whole number.
    Count(u32),
    /// True or false.
    Flag(bool),
    /// A word.
    Word(&'static str),
}

/// A source of values, such as a table of a scene file.
///
/// A value that is absent reads as `None`. A value that is wrong is reported by the source, with its
/// place, and reads as `None`, too; the source refuses the settings in the end.
pub trait KeySource {
    /// Whether the key is given.
    fn has(&self, key: &str) -> bool;

    /// A number of the range.
    fn number(&self, key: &str, range: KeyRange) -> Option<f64>;

    /// A whole number, `least` or more.
    fn count(&self, key: &str, least: u32) -> Option<u32>;

    /// Whether the value is just this word.
    fn is_word(&self, key: &str, word: &str) -> bool;

    /// True or false.
    fn flag(&self, key: &str) -> Option<bool>;

    /// The index of one of `words`.
    fn word(&self, key: &str, words: &[&str]) -> Option<usize>;

    /// Reports a value that does not go with the others, and the remedy.
    fn refuse(&self, key: &str, message: &str, help: Option<&str>);
}

/// The settings of a method, read from a source as its table of keys says.
#[derive(Clone, Copy)]
pub struct Keys<'a> {
    table: &'static [Key],
    source: &'a dyn KeySource,
}

impl<'a> Keys<'a> {
    /// The keys of `table`, with values from `source`.
    pub fn new(table: &'static [Key], source: &'a dyn KeySource) -> Self {
        Self { table, source }
    }

    fn kind(&self, key: &str) -> Option<KeyKind> {
        let found = self.table.iter().find(|k| k.name == key);
        debug_assert!(found.is_some(), "`{key}` is not in the table of keys");
        found.map(|k| k.kind)
    }

    /// Whether the key is given.
    pub fn has(&self, key: &str) -> bool {
        debug_assert!(self.kind(key).is_some());
        self.source.has(key)
    }

    /// A number.
    pub fn number(&self, key: &str) -> Option<f64> {
        match self.kind(key)? {
            KeyKind::Number { range, .. } => self.source.number(key, range),
            other => wrong_kind(key, other),
        }
    }

    /// A whole number.
    pub fn count(&self, key: &str) -> Option<u32> {
        match self.kind(key)? {
            KeyKind::Count { least } => self.source.count(key, least),
            other => wrong_kind(key, other),
        }
    }

    /// A whole number, or `None` inside where the word of the table stands in its place.
    pub fn count_or(&self, key: &str) -> Option<Option<u32>> {
        match self.kind(key)? {
            KeyKind::CountOr { word, .. } if self.source.is_word(key, word) => Some(None),
            KeyKind::CountOr { least, .. } => self.source.count(key, least).map(Some),
            other => wrong_kind(key, other),
        }
    }

    /// True or false.
    pub fn flag(&self, key: &str) -> Option<bool> {
        match self.kind(key)? {
            KeyKind::Flag => self.source.flag(key),
            other => wrong_kind(key, other),
        }
    }

    /// The value that belongs to the given word; `values` has one for each word of the table.
    pub fn choice<T: Copy>(&self, key: &str, values: &[(&str, T)]) -> Option<T> {
        match self.kind(key)? {
            KeyKind::Word(words) => {
                debug_assert!(
                    words.iter().eq(values.iter().map(|v| &v.0)),
                    "the words of `{key}` are not those of the table"
                );
                let chosen = self.source.word(key, words)?;
                values.get(chosen).map(|v| v.1)
            }
            other => wrong_kind(key, other),
        }
    }

    /// Overwrites `value` where the key is given.
    pub fn set_number(&self, key: &str, value: &mut f64) {
        *value = self.number(key).unwrap_or(*value);
    }

    /// Overwrites `value` where the key is given.
    pub fn set_count(&self, key: &str, value: &mut usize) {
        *value = self.count(key).map_or(*value, |n| n as usize);
    }

    /// Overwrites `value` where the key is given.
    pub fn set_choice<T: Copy>(&self, key: &str, values: &[(&str, T)], value: &mut T) {
        *value = self.choice(key, values).unwrap_or(*value);
    }

    /// Reports a value that does not go with the others, and the remedy.
    pub fn refuse(&self, key: &str, message: &str, help: Option<&str>) {
        self.source.refuse(key, message, help);
    }
}

fn wrong_kind<T>(key: &str, kind: KeyKind) -> Option<T> {
    debug_assert!(false, "`{key}` is a {kind:?} in the table of keys");
    None
}

/// A source without any value: settings read from it are the defaults.
pub struct NoKeys;

impl KeySource for NoKeys {
    fn has(&self, _key: &str) -> bool {
        false
    }
    fn number(&self, _key: &str, _range: KeyRange) -> Option<f64> {
        None
    }
    fn count(&self, _key: &str, _least: u32) -> Option<u32> {
        None
    }
    fn is_word(&self, _key: &str, _word: &str) -> bool {
        false
    }
    fn flag(&self, _key: &str) -> Option<bool> {
        None
    }
    fn word(&self, _key: &str, _words: &[&str]) -> Option<usize> {
        None
    }
    fn refuse(&self, _key: &str, _message: &str, _help: Option<&str>) {}
}

impl Key {
    /// A number greater than zero.
    pub const fn positive(
        name: &'static str,
        unit: &'static str,
        default: KeyDefault,
        meaning: &'static str,
    ) -> Self {
        let range = KeyRange::Positive;
        let kind = KeyKind::Number { unit, range };
        Self::new(name, kind, default, meaning)
    }

    /// A number, zero or greater.
    pub const fn not_negative(
        name: &'static str,
        unit: &'static str,
        default: KeyDefault,
        meaning: &'static str,
    ) -> Self {
        let range = KeyRange::NotNegative;
        let kind = KeyKind::Number { unit, range };
        Self::new(name, kind, default, meaning)
    }

    /// A whole number, `least` or more.
    pub const fn count(
        name: &'static str,
        least: u32,
        default: KeyDefault,
        meaning: &'static str,
    ) -> Self {
        Self::new(name, KeyKind::Count { least }, default, meaning)
    }

    /// A whole number, `least` or more, or `word`.
    pub const fn count_or(
        name: &'static str,
        least: u32,
        word: &'static str,
        default: KeyDefault,
        meaning: &'static str,
    ) -> Self {
        Self::new(name, KeyKind::CountOr { least, word }, default, meaning)
    }

    /// True or false.
    pub const fn flag(name: &'static str, default: bool, meaning: &'static str) -> Self {
        let default = KeyDefault::Value(KeyValue::Flag(default));
        Self::new(name, KeyKind::Flag, default, meaning)
    }

    /// One of a set of words.
    pub const fn word(
        name: &'static str,
        words: &'static [&'static str],
        default: &'static str,
        meaning: &'static str,
    ) -> Self {
        let default = KeyDefault::Value(KeyValue::Word(default));
        Self::new(name, KeyKind::Word(words), default, meaning)
    }

    const fn new(
        name: &'static str,
        kind: KeyKind,
        default: KeyDefault,
        meaning: &'static str,
    ) -> Self {
        Self {
            name,
            kind,
            default,
            meaning,
        }
    }

    /// A row of the documentation's table: key, type, default, meaning.
    pub fn row(&self) -> String {
        let default = match self.default {
            KeyDefault::Value(KeyValue::Word(word)) => format!("`\"{word}\"`"),
            KeyDefault::Value(KeyValue::Flag(flag)) => format!("`{flag}`"),
            KeyDefault::Value(value) => value.to_string(),
            KeyDefault::Derived(text) => text.to_owned(),
            KeyDefault::Absent => "none".to_owned(),
        };
        let kind = match self.kind {
            KeyKind::Number { unit, .. } => format!("number [{unit}]"),
            KeyKind::Count { .. } => "whole number".to_owned(),
            KeyKind::CountOr { word, .. } => format!("whole number or `\"{word}\"`"),
            KeyKind::Flag => "true or false".to_owned(),
            KeyKind::Word(_) => "text".to_owned(),
        };
        format!(
            "| `{}` | {kind} | {default} | {} |",
            self.name, self.meaning
        )
    }
}

impl KeyDefault {
    /// A constant number.
    pub const fn number(x: f64) -> Self {
        Self::Value(KeyValue::Number(x))
    }

    /// A constant whole number.
    pub const fn count(n: u32) -> Self {
        Self::Value(KeyValue::Count(n))
    }
}

impl std::fmt::Display for KeyValue {
    /// As in a scene file, words in quotes.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Number(x) if *x == 0.0 || (1e-3..1e5).contains(&x.abs()) => write!(f, "{x}"),
            Self::Number(x) => write!(f, "{x:e}"),
            Self::Count(n) => write!(f, "{n}"),
            Self::Flag(flag) => write!(f, "{flag}"),
            Self::Word(word) => write!(f, "\"{word}\""),
        }
    }
}
