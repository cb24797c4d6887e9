//! Reading a table: what is wrong with its form is reported when it is opened.

use crate::{
    KeySpec, Preset, Read, Rule, Section, Type,
    error::{Help, ProblemKind, Reporter},
    source::{NOWHERE, SourceSpan},
    suggest,
    tree::{TreeNode, TreeTable, Value},
    wrong_type,
};

/// A table being read. Wrong values and absent ones without a default both read as `None`: what is wrong
/// has been reported, and a scene with a report is not used.
pub struct Fields<'a, C> {
    /// The context that readers of the format share.
    pub cx: &'a C,
    reporter: &'a Reporter,
    /// Its keys and values.
    pub table: &'a TreeTable,
    /// Its place in the text.
    pub place: SourceSpan,
    /// Name of the table in messages: ``body `strip` ``.
    pub what: String,
    /// The keys that it may have.
    keys: [&'static [KeySpec]; 2],
    /// Whether resolutions have defaults.
    pub lenient: bool,
    /// Keys whose values were refused.
    bad: Vec<&'static str>,
    /// Whether it is the document itself.
    root: bool,
}

impl<'a, C> Fields<'a, C> {
    /// The document, called `what` in messages. It has no header of its own: errors about it point at its first line.
    pub fn document(cx: &'a C, reporter: &'a Reporter, table: &'a TreeTable, what: &str) -> Self {
        Self {
            cx,
            reporter,
            table,
            place: NOWHERE,
            what: what.to_owned(),
            root: true,
            keys: [&[], &[]],
            lenient: false,
            bad: Vec::new(),
        }
    }

    /// Opens `node` as a table of the same document; which keys it may have is said later.
    pub fn open<'b>(&self, node: &'b TreeNode, what: String) -> Option<Fields<'b, C>>
    where
        'a: 'b,
    {
        match &node.value {
            Value::Table(table) => Some(self.over(table, node.place, what)),
            _ => wrong_type(self.reporter, node, &what, "a table"),
        }
    }

    /// Opens a table that is no node of its own.
    pub fn over<'b>(&self, table: &'b TreeTable, place: SourceSpan, what: String) -> Fields<'b, C>
    where
        'a: 'b,
    {
        Fields {
            cx: self.cx,
            reporter: self.reporter,
            table,
            place,
            what,
            keys: [&[], &[]],
            lenient: false,
            bad: Vec::new(),
            root: false,
        }
    }

    /// Opens the value `node` of `key` as a table of the given section.
    pub fn inside<'b>(
        &'b self,
        key: &str,
        node: &'b TreeNode,
        section: &'static Section,
    ) -> Option<Fields<'b, C>>
    where
        'a: 'b,
    {
        Some(self.open(node, self.title(key, node))?.of(section))
    }

    /// The name in messages of the table `node`, the value of `key` or an entry of it.
    pub fn title(&self, key: &str, node: &TreeNode) -> String {
        let listed = |k: &KeySpec| k.takes.is_list_of_tables();
        if !self.root {
            return self.label(key);
        }
        let text = |key: &str| node.table().and_then(|t| t.text(key));
        match (text("name").or(text("of")), text("body")) {
            _ if !self.key(key).is_some_and(listed) => format!("[{key}]"),
            (Some(name), _) => format!("{key} `{name}`"),
            (None, Some(body)) => format!("the {key} of body `{body}`"),
            (None, None) => format!("[[{key}]]"),
        }
    }

    /// Checks the table against a section.
    pub fn of(self, section: &'static Section) -> Self {
        let fields = self.with_keys(&[], section.keys, true);
        fields.rules(section.rules, |key| fields.word(key));
        fields
    }

    /// Checks the table: unknown keys, unless more keys may come, missing ones and values of a wrong type.
    pub fn with_keys(
        mut self,
        common: &'static [KeySpec],
        own: &'static [KeySpec],
        complete: bool,
    ) -> Self {
        self.keys = [common, own];
        let all = || common.iter().chain(own);
        if complete {
            let known: Vec<&str> = all().map(|k| k.name).collect();
            self.allow(&known);
        }
        for key in all() {
            let needed = match key.default {
                Preset::Required => true,
                Preset::Resolution(_) => !self.lenient,
                _ => false,
            };
            match self.get(key.name) {
                Some(node) if key.takes.is_list_of_tables() && !node.is_list() => {
                    let (name, found) = (key.name, node.value.describe());
                    let message = format!("`{name}` is {found}, but must be a list of tables");
                    let help = format!("write [[{name}]] in front of each");
                    self.fail::<()>(ProblemKind::Type, name, message, help);
                    self.bad.push(name);
                }
                Some(node) => {
                    let label = self.label(key.name);
                    if key.takes.check(self.reporter, node, &label).is_none() {
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

    /// Reports keys that are not among `known`.
    pub fn allow(&self, known: &[&str]) {
        let unknown = |key: &str| !known.contains(&key);
        for e in self.table.entries.iter().filter(|e| unknown(&e.key)) {
            let help = suggest::help(&e.key, "keys", known.iter().copied());
            let message = format!("{} has no key `{}`", self.what, e.key);
            let reporter = self.reporter();
            reporter.fail::<()>(ProblemKind::UnknownKey, e.key_place, message, help);
        }
    }

    /// Reports keys that do not go together. `word` gives the values of keys that are words.
    pub fn rules(&self, rules: &[Rule], word: impl Fn(&str) -> Option<String>) {
        let some = |keys: &[&str]| keys.iter().any(|k| self.has(k));
        let one_of = |words: &[&str], key: &str| {
            let found = word(key);
            words.iter().any(|w| found.as_deref() == Some(*w))
        };
        for rule in rules {
            match *rule {
                Rule::ExactlyOne(keys) => self.groups(&each(keys), true),
                Rule::AtMostOne(keys) => self.groups(&each(keys), false),
                Rule::OneGroup(groups) => self.groups(groups, true),
                Rule::Some(keys, wrong) if !some(keys) => {
                    let help = format!("give one or more of {}", quoted(keys));
                    let message = format!("{} {wrong}", self.what);
                    self.reporter()
                        .fail::<()>(ProblemKind::MissingKey, self.place, message, help);
                }
                Rule::Needs(key, others) if self.has(key) && !some(others) => {
                    let one = if others.len() > 1 { "one of " } else { "" };
                    let message = format!("{} needs {one}{}", self.label(key), quoted(others));
                    self.fail::<()>(ProblemKind::MissingKey, key, message, None);
                }
                Rule::Demands(key, words, needed) if !self.has(needed) && one_of(words, key) => {
                    self.missing::<()>(needed);
                }
                Rule::Excludes(key, [], others, why) if self.has(key) => {
                    for other in others.iter().filter(|k| self.has(k)) {
                        let message = format!("{} has no meaning: {why}", self.label(other));
                        self.refuse::<()>(other, message, format!("remove `{other}` or `{key}`"));
                    }
                }
                Rule::Excludes(key, words, others, why) if one_of(words, key) => {
                    for other in others.iter().filter(|k| self.has(k)) {
                        let message = format!("{} has no meaning: {why}", self.label(other));
                        let help = format!("remove `{other}`, or choose another `{key}`");
                        self.refuse::<()>(other, message, help);
                    }
                }
                _ => {}
            }
        }
    }

    /// Reports keys of several groups; if one is `needed`, also keys of none.
    fn groups(&self, groups: &[&[&'static str]], needed: bool) {
        let given = |keys: &&[&'static str]| keys.iter().copied().find(|k| self.has(k));
        let given: Vec<&str> = groups.iter().filter_map(given).collect();
        let all: Vec<&str> = groups.iter().map(|keys| keys[0]).collect();
        match given[..] {
            [] if needed => {
                let message = format!("{} needs one of {}", self.what, quoted(&all));
                self.reporter()
                    .fail::<()>(ProblemKind::MissingKey, self.place, message, None);
            }
            [_, key, ..] => {
                let message = format!("{} takes only one of {}", self.what, quoted(&all));
                self.refuse::<()>(
                    key,
                    message,
                    format!("remove `{key}`, or what goes with the other"),
                );
            }
            _ => {}
        }
    }

    /// The collector of problems.
    pub fn reporter(&self) -> &'a Reporter {
        self.reporter
    }

    fn key(&self, name: &str) -> Option<&'static KeySpec> {
        self.keys.into_iter().flatten().find(|k| k.name == name)
    }

    /// The value of a key, if it is given.
    pub fn get(&self, key: &str) -> Option<&'a TreeNode> {
        self.table.get(key)
    }

    /// Whether a key is given.
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
    pub fn take<T: Read<C>>(&self, key: &str) -> Option<T> {
        let known = self.key(key);
        debug_assert!(known.is_some(), "`{key}` is no key of {}", self.what);
        match self.get(key) {
            Some(_) if self.bad.contains(&key) => None,
            Some(node) => T::read(self, key, node),
            None => match known.and_then(|k| k.default.node(self.lenient)) {
                Some(node) => T::read(self, key, &node),
                None => T::absent(),
            },
        }
    }

    /// The value of a key that the table's section does not have, of the given type.
    pub fn checked<T: Read<C>>(&self, key: &str, takes: Type) -> Option<T> {
        let node = self.get(key)?;
        takes.check(self.reporter(), node, &self.label(key))?;
        T::read(self, key, node)
    }

    /// The text that a key has, or has by default.
    pub fn word(&self, key: &str) -> Option<String> {
        self.take::<Option<String>>(key)?
    }

    /// The value of a key that is needed here, though not in every such table.
    pub fn need<T>(&self, key: &str, value: Option<T>) -> Option<T> {
        value.or_else(|| self.missing(key))
    }

    /// Reports a key that is needed.
    pub fn missing<T>(&self, key: &str) -> Option<T> {
        let message = format!("{} needs the key `{key}`", self.what);
        self.reporter()
            .fail(ProblemKind::MissingKey, self.place, message, None)
    }

    /// Reports a problem with the value of a key.
    pub fn fail<T>(
        &self,
        kind: ProblemKind,
        key: &str,
        message: impl Into<String>,
        help: impl Into<Help>,
    ) -> Option<T> {
        self.reporter()
            .fail(kind, self.place_of(key), message, help)
    }

    /// Reports a value that cannot be, and the remedy; none if it is empty.
    pub fn refuse<T>(
        &self,
        key: &str,
        message: impl Into<String>,
        help: impl Into<Help>,
    ) -> Option<T> {
        self.fail(ProblemKind::Value, key, message, help)
    }

    /// Reports a name that refers to nothing, as the value of a key.
    pub fn unknown<'k, T>(
        &self,
        key: &str,
        message: impl Into<String>,
        name: &str,
        kinds: &str,
        known: impl IntoIterator<Item = &'k str>,
    ) -> Option<T> {
        let place = self.place_of(key);
        self.reporter.unknown(place, message, name, kinds, known)
    }

    /// Reports a number outside its range.
    pub fn out_of_range<T>(&self, key: &str, x: f64, rule: &str) -> Option<T> {
        let message = format!("{} is {x}, but must be {rule}", self.label(key));
        self.refuse(key, message, None)
    }
}

/// Each key as a group of its own.
fn each<'a>(keys: &'a [&'static str]) -> Vec<&'a [&'static str]> {
    keys.iter().map(std::slice::from_ref).collect()
}

/// Keys in a row.
fn quoted(keys: &[&str]) -> String {
    let keys: Vec<String> = keys.iter().map(|k| format!("`{k}`")).collect();
    keys.join(", ")
}
