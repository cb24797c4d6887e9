//! Reading a table: what is wrong with its form is reported when it is opened.

use stiction_math::Vec3;

use super::section;
use super::{Key, Preset, Rule, Section, Type, Words, values::FromValue, wrong_type};
use crate::{
    error::{ProblemKind, Reporter},
    source::{At, SourceSpan},
    suggest,
    tree::{Node, Table, Value},
};

section! { /// The keys of every shape.
    pub(crate) SHAPE "shape";
    "type": Text, Required, "the shape";
}

/// A table being read. Wrong values and absent ones without a default both read as `None`: what is wrong
/// has been reported, and a scene with a report is not used.
#[derive(Clone)]
pub(crate) struct Fields<'a> {
    pub reporter: &'a Reporter,
    pub table: &'a Table,
    pub place: SourceSpan,
    /// Name of the table in messages: ``body `strip` ``.
    pub what: String,
    /// The keys that it may have.
    keys: Vec<&'static Key>,
    /// Whether resolutions have defaults.
    lenient: bool,
    /// Keys whose values were refused.
    bad: Vec<&'static str>,
}

impl<'a> Fields<'a> {
    /// Reads `node` as a table of the given section.
    pub fn new(
        reporter: &'a Reporter,
        node: &'a Node,
        what: impl Into<String>,
        section: &'static Section,
    ) -> Option<Self> {
        Self::open(reporter, node, what).map(|f| f.of(section))
    }

    /// Reads `node` as an entry of the list `kind`, which messages call by its name.
    pub fn named(
        reporter: &'a Reporter,
        node: &'a Node,
        kind: &str,
        section: &'static Section,
    ) -> Option<Self> {
        let mut fields = Self::open(reporter, node, format!("[[{kind}]]"))?;
        if let Some(name) = node.name() {
            fields.what = format!("{kind} `{name}`");
        }
        Some(fields.of(section))
    }

    /// Reads `node` as a table; which keys it may have is said later.
    pub fn open(reporter: &'a Reporter, node: &'a Node, what: impl Into<String>) -> Option<Self> {
        let what = what.into();
        match &node.value {
            Value::Table(table) => Some(Self::over(reporter, table, node.place, what)),
            _ => wrong_type(reporter, node, &what, "a table"),
        }
    }

    /// A table that is no node of its own, such as the document.
    pub fn over(reporter: &'a Reporter, table: &'a Table, place: SourceSpan, what: String) -> Self {
        Self {
            reporter,
            table,
            place,
            what,
            keys: Vec::new(),
            lenient: false,
            bad: Vec::new(),
        }
    }

    /// Sets the name of the table in messages.
    pub fn called(self, what: String) -> Self {
        Self { what, ..self }
    }

    /// Checks the table against a section.
    pub fn of(self, section: &'static Section) -> Self {
        let fields = self.with_keys(section.keys, true);
        for rule in section.rules {
            match rule {
                Rule::ExactlyOne(keys) => {
                    fields.exactly_one(keys);
                }
                Rule::AtMostOne(keys) if keys.iter().filter(|k| fields.has(k)).count() > 1 => {
                    fields.exactly_one(keys);
                }
                _ => {}
            }
        }
        fields
    }

    /// Checks the table: unknown keys, missing ones and values of a wrong type.
    pub fn with_keys(
        mut self,
        keys: impl IntoIterator<Item = &'static Key>,
        complete: bool,
    ) -> Self {
        self.keys = keys.into_iter().collect();
        if complete {
            let known: Vec<&str> = self.keys.iter().map(|k| k.name).collect();
            self.allow(&known);
        }
        for key in self.keys.clone() {
            let needed = match key.default {
                Preset::Required => true,
                Preset::Resolution(_) => !self.lenient,
                _ => false,
            };
            match self.get(key.name) {
                Some(node) => {
                    let good = key.takes.check(self.reporter, node, &self.label(key.name));
                    if good.is_none() {
                        self.bad.push(key.name);
                    }
                }
                None if needed => {
                    self.missing::<()>(key.name);
                }
                None => {}
            }
        }
        self
    }

    /// Checks the table of a shape, which has a `type`; `lenient` if resolutions have defaults.
    pub fn of_shape(self, keys: &'static [Key], lenient: bool) -> Self {
        let keys = SHAPE.keys.iter().chain(keys);
        Self { lenient, ..self }.with_keys(keys, true)
    }

    /// Reports keys that are not among `known`.
    pub fn allow(&self, known: &[&str]) {
        for e in &self.table.entries {
            if !known.contains(&e.key.as_str()) {
                let help = suggest::help(&e.key, "keys", known.iter().copied());
                let message = format!("{} has no key `{}`", self.what, e.key);
                self.reporter
                    .fail::<()>(ProblemKind::UnknownKey, e.key_place, message, Some(help));
            }
        }
    }

    pub fn get(&self, key: &str) -> Option<&'a Node> {
        self.table.get(key)
    }

    /// Whether resolutions have defaults.
    pub fn is_lenient(&self) -> bool {
        self.lenient
    }

    pub fn has(&self, key: &str) -> bool {
        self.get(key).is_some()
    }

    /// The place of a key's value, or of the whole table.
    pub fn place_of(&self, key: &str) -> SourceSpan {
        self.get(key).map_or(self.place, |n| n.place)
    }

    /// The key in messages.
    pub fn label(&self, key: &str) -> String {
        format!("`{key}` of {}", self.what)
    }

    /// The value of a key, or its default.
    pub fn take<T: FromValue>(&self, key: &str) -> Option<T> {
        let known = self.keys.iter().find(|k| k.name == key);
        debug_assert!(known.is_some(), "`{key}` is no key of {}", self.what);
        match self.get(key) {
            Some(_) if self.bad.contains(&key) => None,
            Some(node) => T::of(&node.value),
            None => match known.and_then(|k| k.default.value(self.lenient)) {
                Some(value) => T::of(&value),
                None => T::absent(),
            },
        }
    }

    /// The value of a key that is needed here, though not in every such table.
    pub fn need<T: FromValue>(&self, key: &str) -> Option<T> {
        match self.has(key) {
            true => self.take(key),
            false => self.missing(key),
        }
    }

    /// The value of a key that the table's section does not have, of the given type.
    pub fn checked<T: FromValue>(&self, key: &str, takes: Type) -> Option<T> {
        let node = self.get(key)?;
        takes.check(self.reporter, node, &self.label(key))?;
        T::of(&node.value)
    }

    /// A number, with its place.
    pub fn number_at(&self, key: &str) -> Option<At<f64>> {
        Some(At::new(self.take(key)?, self.place_of(key)))
    }

    /// A text, with its place.
    pub fn text(&self, key: &str) -> Option<At<&'a str>> {
        match self.get(key) {
            Some(Node {
                value: Value::String(s),
                place,
            }) if !self.bad.contains(&key) => Some(At::new(s.as_str(), *place)),
            _ => None,
        }
    }

    /// The `name`, with its place.
    pub fn name(&self) -> Option<At<String>> {
        self.text("name")
            .map(|n| At::new(n.value.to_owned(), n.place))
    }

    /// A vector of length one.
    pub fn direction(&self, key: &str) -> Option<Vec3> {
        let v: Vec3 = self.take(key)?;
        // Scaled first: the norm of a huge vector overflows, that of a tiny one underflows.
        Some((v / v.amax()).normalize())
    }

    /// The meaning of a word.
    pub fn choice<T: Copy>(&self, key: &str, words: &Words<T>) -> Option<T> {
        let word: String = self.take(key)?;
        let index = words.words.iter().position(|w| *w == word)?;
        words.values.get(index).copied()
    }

    /// The table of a key, or `None` inside if it is not given.
    pub fn sub(&self, key: &str, section: &'static Section) -> Option<Option<Fields<'a>>> {
        match self.get(key) {
            Some(node) => Fields::new(self.reporter, node, self.label(key), section).map(Some),
            None => Some(None),
        }
    }

    /// The tables of a key that takes one or a list of them.
    pub fn one_or_more(&self, key: &str) -> &'a [Node] {
        match self.get(key) {
            None => &[],
            Some(Node {
                value: Value::Array(items),
                ..
            }) => items,
            Some(node) => std::slice::from_ref(node),
        }
    }

    /// The entries of a list of tables, `[[key]]` in the file.
    pub fn tables(&self, key: &str) -> &'a [Node] {
        match self.get(key) {
            Some(Node {
                value: Value::Array(items),
                ..
            }) => items,
            Some(node) => {
                let found = node.value.describe();
                let message = format!("`{key}` is {found}, but must be a list of tables");
                let help = format!("write [[{key}]] in front of each");
                self.reporter
                    .fail::<()>(ProblemKind::Type, node.place, message, Some(help));
                &[]
            }
            None => &[],
        }
    }

    pub fn missing<T>(&self, key: &str) -> Option<T> {
        let message = format!("{} needs the key `{key}`", self.what);
        self.reporter
            .fail(ProblemKind::MissingKey, self.place, message, None)
    }

    /// Reports a problem with the value of a key.
    pub fn fail<T>(
        &self,
        kind: ProblemKind,
        key: &str,
        message: impl Into<String>,
        help: Option<String>,
    ) -> Option<T> {
        self.reporter.fail(kind, self.place_of(key), message, help)
    }

    /// Reports a value that cannot be, and the remedy; none if it is empty.
    pub fn refuse<T>(&self, key: &str, message: impl Into<String>, help: &str) -> Option<T> {
        let help = (!help.is_empty()).then(|| help.to_owned());
        self.fail(ProblemKind::Value, key, message, help)
    }

    pub fn out_of_range<T>(&self, key: &str, x: f64, rule: &str) -> Option<T> {
        self.refuse(
            key,
            format!("{} is {x}, but must be {rule}", self.label(key)),
            "",
        )
    }

    /// Reports all but one of `keys` being given; says whether exactly one is.
    pub fn exactly_one(&self, keys: &[&str]) -> bool {
        let given: Vec<&str> = keys.iter().copied().filter(|k| self.has(k)).collect();
        if given.len() == 1 {
            return true;
        }
        let all: Vec<String> = keys.iter().map(|k| format!("`{k}`")).collect();
        let all = all.join(", ");
        if given.is_empty() {
            let message = format!("{} needs one of {all}", self.what);
            self.reporter
                .fail::<()>(ProblemKind::MissingKey, self.place, message, None);
        } else {
            let message = format!("{} takes only one of {all}", self.what);
            self.refuse::<()>(given[1], message, "remove one of them");
        }
        false
    }
}
