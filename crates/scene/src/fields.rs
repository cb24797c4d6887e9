//! Reading tables: every key is known, every value has the right type, every number is finite.

use stiction_math::Vec3;

use crate::{
    error::{Kind, Reporter},
    source::{At, Place},
    suggest,
    tree::{Node, Table, Value},
};

/// A table being read. Wrong and absent values both read as `None`: what is wrong has been
/// reported, and a scene with a report is not used.
#[derive(Clone)]
pub(crate) struct Fields<'a> {
    pub reporter: &'a Reporter,
    pub table: &'a Table,
    pub place: Place,
    /// What the table is, for messages: ``body `strip` ``.
    pub what: String,
}

impl<'a> Fields<'a> {
    /// Reads `node` as a table whose keys are among `known`.
    pub fn new(
        reporter: &'a Reporter,
        node: &'a Node,
        what: impl Into<String>,
        known: &[&str],
    ) -> Option<Self> {
        let fields = Self::open(reporter, node, what)?;
        fields.allow(known);
        Some(fields)
    }

    /// Reads `node` as an entry of the list `kind`, which messages call by its name.
    pub fn named(
        reporter: &'a Reporter,
        node: &'a Node,
        kind: &str,
        known: &[&str],
    ) -> Option<Self> {
        let mut fields = Self::open(reporter, node, format!("[[{kind}]]"))?;
        if let Some(Node {
            value: Value::String(name),
            ..
        }) = fields.get("name")
        {
            fields.what = format!("{kind} `{name}`");
        }
        fields.allow(known);
        Some(fields)
    }

    /// Reads `node` as a table; which keys are known is said later by `allow`.
    pub fn open(reporter: &'a Reporter, node: &'a Node, what: impl Into<String>) -> Option<Self> {
        let what = what.into();
        match &node.value {
            Value::Table(table) => Some(Self {
                reporter,
                table,
                place: node.place,
                what,
            }),
            other => wrong_type(reporter, node, &what, "a table", other),
        }
    }

    /// Reports keys that are not among `known`.
    pub fn allow(&self, known: &[&str]) {
        for e in &self.table.entries {
            if known.contains(&e.key.as_str()) {
                continue;
            }
            let help = suggest::help(&e.key, "keys", known.iter().copied());
            let message = format!("{} has no key `{}`", self.what, e.key);
            self.reporter
                .fail::<()>(Kind::UnknownKey, e.key_place, message, Some(help));
        }
    }

    pub fn get(&self, key: &str) -> Option<&'a Node> {
        self.table.get(key)
    }

    pub fn has(&self, key: &str) -> bool {
        self.get(key).is_some()
    }

    /// The place of a key's value, or of the whole table.
    pub fn place_of(&self, key: &str) -> Place {
        self.get(key).map_or(self.place, |n| n.place)
    }

    /// A key that must be there.
    pub fn need(&self, key: &str) -> Option<&'a Node> {
        self.get(key).or_else(|| self.missing(key))
    }

    pub fn missing<T>(&self, key: &str) -> Option<T> {
        let message = format!("{} needs the key `{key}`", self.what);
        self.reporter
            .fail(Kind::MissingKey, self.place, message, None)
    }

    pub fn fail<T>(
        &self,
        kind: Kind,
        key: &str,
        message: impl Into<String>,
        help: Option<String>,
    ) -> Option<T> {
        self.reporter.fail(kind, self.place_of(key), message, help)
    }

    fn label(&self, key: &str) -> String {
        format!("`{key}` of {}", self.what)
    }

    pub fn string(&self, key: &str) -> Option<At<&'a str>> {
        string(self.reporter, self.get(key)?, &self.label(key))
    }

    pub fn need_string(&self, key: &str) -> Option<At<&'a str>> {
        string(self.reporter, self.need(key)?, &self.label(key))
    }

    pub fn bool(&self, key: &str) -> Option<bool> {
        let node = self.get(key)?;
        match &node.value {
            Value::Bool(b) => Some(*b),
            other => wrong_type(
                self.reporter,
                node,
                &self.label(key),
                "true or false",
                other,
            ),
        }
    }

    pub fn number(&self, key: &str) -> Option<f64> {
        number(self.reporter, self.get(key)?, &self.label(key))
    }

    pub fn need_number(&self, key: &str) -> Option<f64> {
        number(self.reporter, self.need(key)?, &self.label(key))
    }

    /// A number greater than zero.
    pub fn positive(&self, key: &str) -> Option<f64> {
        let x = self.number(key)?;
        if x > 0.0 {
            Some(x)
        } else {
            self.out_of_range(key, x, "positive")
        }
    }

    pub fn need_positive(&self, key: &str) -> Option<f64> {
        self.need(key)?;
        self.positive(key)
    }

    /// A number not less than zero.
    pub fn not_negative(&self, key: &str) -> Option<f64> {
        let x = self.number(key)?;
        if x >= 0.0 {
            Some(x)
        } else {
            self.out_of_range(key, x, "zero or positive")
        }
    }

    pub fn out_of_range<T>(&self, key: &str, x: f64, rule: &str) -> Option<T> {
        let message = format!("{} is {x}, but must be {rule}", self.label(key));
        self.fail(Kind::Value, key, message, None)
    }

    /// A whole number from `least` up to 2³² − 1.
    pub fn count(&self, key: &str, least: u32) -> Option<u32> {
        count(self.reporter, self.get(key)?, &self.label(key), least)
    }

    pub fn need_count(&self, key: &str, least: u32) -> Option<u32> {
        count(self.reporter, self.need(key)?, &self.label(key), least)
    }

    /// A list of `N` whole numbers.
    pub fn counts<const N: usize>(&self, key: &str, least: u32) -> Option<[u32; N]> {
        let label = self.label(key);
        let items = list(self.reporter, self.get(key)?, &label, Some(N))?;
        let all: Option<Vec<u32>> = items
            .iter()
            .map(|n| count(self.reporter, n, &label, least))
            .collect();
        all?.try_into().ok()
    }

    /// A list of `N` numbers.
    pub fn numbers<const N: usize>(&self, key: &str) -> Option<[f64; N]> {
        let label = self.label(key);
        let items = list(self.reporter, self.get(key)?, &label, Some(N))?;
        let all: Option<Vec<f64>> = items
            .iter()
            .map(|n| number(self.reporter, n, &label))
            .collect();
        all?.try_into().ok()
    }

    pub fn need_numbers<const N: usize>(&self, key: &str) -> Option<[f64; N]> {
        self.need(key)?;
        self.numbers(key)
    }

    pub fn vector(&self, key: &str) -> Option<Vec3> {
        vector(self.reporter, self.get(key)?, &self.label(key))
    }

    pub fn need_vector(&self, key: &str) -> Option<Vec3> {
        vector(self.reporter, self.need(key)?, &self.label(key))
    }

    /// A vector of any length but zero, made a unit vector.
    pub fn direction(&self, key: &str) -> Option<Vec3> {
        let v = self.vector(key)?;
        direction(self.reporter, v, self.place_of(key), &self.label(key))
    }

    pub fn need_direction(&self, key: &str) -> Option<Vec3> {
        self.need(key)?;
        self.direction(key)
    }

    /// A list of numbers of any length.
    pub fn number_list(&self, key: &str) -> Option<Vec<f64>> {
        let label = self.label(key);
        let items = list(self.reporter, self.need(key)?, &label, None)?;
        items
            .iter()
            .map(|n| number(self.reporter, n, &label))
            .collect()
    }

    /// One of a set of words.
    pub fn choice<T: Copy>(&self, key: &str, options: &[(&str, T)]) -> Option<T> {
        let word = self.string(key)?;
        match options.iter().find(|o| o.0 == word.value) {
            Some(o) => Some(o.1),
            None => {
                let help = suggest::help(word.value, "values", options.iter().map(|o| o.0));
                word.fail(
                    self.reporter,
                    Kind::UnknownName,
                    format!("{} cannot be `{}`", self.label(key), word.value),
                    Some(help),
                )
            }
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
                let help = format!("write [[{key}]] in front of each");
                let message = format!(
                    "`{key}` is {}, but must be a list of tables",
                    node.value.describe()
                );
                self.reporter
                    .fail::<()>(Kind::Type, node.place, message, Some(help));
                &[]
            }
            None => &[],
        }
    }

    /// Whether a key is given and is no list.
    pub fn has_other_than_list(&self, key: &str) -> bool {
        let node = self.get(key);
        node.is_some_and(|node| !matches!(node.value, Value::Array(_)))
    }

    /// Reports all but one of `keys` being given; says whether exactly one is.
    pub fn exactly_one(&self, keys: &[&str]) -> bool {
        let given: Vec<&str> = keys.iter().copied().filter(|k| self.has(k)).collect();
        if given.len() == 1 {
            return true;
        }
        let all = keys
            .iter()
            .map(|k| format!("`{k}`"))
            .collect::<Vec<_>>()
            .join(", ");
        if given.is_empty() {
            let message = format!("{} needs one of {all}", self.what);
            self.reporter
                .fail::<()>(Kind::MissingKey, self.place, message, None);
        } else {
            let message = format!("{} takes only one of {all}", self.what);
            self.fail::<()>(
                Kind::Value,
                given[1],
                message,
                Some("remove one of them".to_owned()),
            );
        }
        false
    }
}

pub(crate) fn wrong_type<T>(
    reporter: &Reporter,
    node: &Node,
    what: &str,
    wanted: &str,
    found: &Value,
) -> Option<T> {
    let message = format!("{what} must be {wanted}, but is {}", found.describe());
    reporter.fail(Kind::Type, node.place, message, None)
}

pub(crate) fn string<'a>(reporter: &Reporter, node: &'a Node, what: &str) -> Option<At<&'a str>> {
    match &node.value {
        Value::String(s) => Some(At::new(s.as_str(), node.place)),
        other => wrong_type(reporter, node, what, "a text in quotes", other),
    }
}

pub(crate) fn number(reporter: &Reporter, node: &Node, what: &str) -> Option<f64> {
    let x = match &node.value {
        Value::Integer(i) => *i as f64,
        Value::Float(x) => *x,
        other => return wrong_type(reporter, node, what, "a number", other),
    };
    if x.is_finite() {
        Some(x)
    } else {
        reporter.fail(
            Kind::Value,
            node.place,
            format!("{what} is {x}, but must be finite"),
            None,
        )
    }
}

pub(crate) fn count(reporter: &Reporter, node: &Node, what: &str, least: u32) -> Option<u32> {
    let i = match &node.value {
        Value::Integer(i) => *i,
        other => return wrong_type(reporter, node, what, "a whole number", other),
    };
    match u32::try_from(i) {
        Ok(n) if n >= least => Some(n),
        _ => reporter.fail(
            Kind::Value,
            node.place,
            format!(
                "{what} is {i}, but must be a whole number from {least} to {}",
                u32::MAX
            ),
            None,
        ),
    }
}

pub(crate) fn list<'a>(
    reporter: &Reporter,
    node: &'a Node,
    what: &str,
    length: Option<usize>,
) -> Option<&'a [Node]> {
    let wanted = || match length {
        Some(n) => format!("a list of {n} numbers"),
        None => "a list".to_owned(),
    };
    match &node.value {
        Value::Array(items) if length.is_none_or(|n| n == items.len()) => Some(items),
        other => wrong_type(reporter, node, what, &wanted(), other),
    }
}

pub(crate) fn vector(reporter: &Reporter, node: &Node, what: &str) -> Option<Vec3> {
    let items = list(reporter, node, what, Some(3))?;
    let all: Option<Vec<f64>> = items.iter().map(|n| number(reporter, n, what)).collect();
    all.map(|v| Vec3::new(v[0], v[1], v[2]))
}

pub(crate) fn direction(reporter: &Reporter, v: Vec3, place: Place, what: &str) -> Option<Vec3> {
    // Scaled first: the norm of a huge vector overflows, that of a tiny one underflows.
    let largest = v.amax();
    if largest == 0.0 {
        let message = format!("{what} has length zero and gives no direction");
        let help = "give the vector along the direction, for example [0, 0, 1]";
        return reporter.fail(Kind::Value, place, message, Some(help.to_owned()));
    }
    Some((v / largest).normalize())
}
