//! Tables as a JSON Schema (draft 2020-12), for editors and other programs.
//!
//! Changes of a document have its keys without anything required, and address entries of lists by name or
//! index; every table is therefore described twice, whole and as a part (`NAME.part`).

use serde_json::{Map, Value as Json, json};

use crate::{KeySpec, Preset, Range, Rule, Section, Type, Union};

/// A member of a family: its word, its meaning and its table without the word.
pub type Member = (&'static str, String, Json);

/// Tables whose keys depend on a word.
pub struct Family {
    /// The key of the word.
    pub tag: &'static str,
    /// Whether the word must be given.
    pub required: bool,
    /// The tables.
    pub members: Vec<Member>,
}

/// A schema while it is made.
pub struct Schema<'a> {
    /// The tables that a format reads by other means, by the name of [`Type::Open`].
    pub open: &'a dyn Fn(&str) -> Family,
    /// The definitions so far.
    pub definitions: Map<String, Json>,
}

impl Schema<'_> {
    /// A reference to the definition of a table, which is added if it is missing.
    pub fn table(&mut self, section: &'static Section, part: bool) -> Json {
        let name = match part {
            true => format!("{}.part", section.name),
            false => section.name.to_owned(),
        };
        if !self.definitions.contains_key(&name) {
            // Known before it is made, so that a table may hold tables of its own kind.
            self.definitions.insert(name.clone(), Json::Null);
            let made = self.object(section.keys.iter(), section.rules, part);
            self.definitions.insert(name.clone(), made);
        }
        json!({ "$ref": format!("#/$defs/{}", name.replace(' ', "%20")) })
    }

    fn object(
        &mut self,
        keys: impl Iterator<Item = &'static KeySpec> + Clone,
        rules: &[Rule],
        part: bool,
    ) -> Json {
        let properties = self.properties(keys.clone(), part);
        let mut object =
            json!({ "type": "object", "properties": properties, "additionalProperties": false });
        if part {
            return object;
        }
        // What a table lacks, the one that it is based on may have.
        let inherits = keys.clone().any(|k| k.name == "based_on");
        let required: Vec<&str> = keys
            .filter(|k| matches!(k.default, Preset::Required))
            .map(|k| k.name)
            .collect();
        if !required.is_empty() {
            object["required"] = json!(required);
        }
        let rules: Vec<Json> = rules.iter().map(|r| rule(r, inherits)).collect();
        if !rules.is_empty() {
            object["allOf"] = json!(rules);
        }
        object
    }

    /// The keys of a table.
    pub fn properties(
        &mut self,
        keys: impl Iterator<Item = &'static KeySpec>,
        part: bool,
    ) -> Map<String, Json> {
        let mut properties = Map::new();
        for key in keys {
            let mut value = self.value(&key.takes, part);
            describe(&mut value, key.doc, unit(&key.takes));
            match (preset(key.default), key.default) {
                (Some(default), _) => value["default"] = default,
                (None, Preset::Said(text)) => {
                    let known = value["description"].as_str().unwrap_or_default();
                    value["description"] = json!(format!("{known}. Default: {}", plain(text)));
                }
                _ => {}
            }
            properties.insert(key.name.to_owned(), value);
        }
        properties
    }

    fn value(&mut self, takes: &Type, part: bool) -> Json {
        match takes {
            Type::Number(_, range) => number(*range),
            Type::Count(least) => {
                json!({ "type": "integer", "minimum": least, "maximum": u32::MAX })
            }
            Type::Flag => json!({ "type": "boolean" }),
            Type::Text => json!({ "type": "string" }),
            Type::Name => {
                let plain = r"^[\p{Alphabetic}\p{N}\-_:, ][\p{Alphabetic}\p{N}\-_:,. ]*$";
                json!({ "type": "string", "minLength": 1, "maxLength": 100, "pattern": plain })
            }
            Type::Word(words) => json!({ "type": "string", "enum": words }),
            Type::Vector(_) => list(number(Range::Any), Some(3)),
            Type::Direction => {
                let mut vector = list(number(Range::Any), Some(3));
                vector["contains"] = json!({ "not": { "const": 0 } });
                vector
            }
            Type::Numbers(n, _, range) => list(number(*range), Some(*n)),
            Type::Counts(n, least) => list(self.value(&Type::Count(*least), part), Some(*n)),
            Type::List(of) => list(self.value(of, part), None),
            Type::Rows(n, of) => list(self.value(of, part), Some(*n)),
            Type::Formulas => list(self.value(&Type::Formula, part), Some(3)),
            Type::Formula => json!({ "type": ["number", "string"] }),
            Type::Table(section) => self.table(section, part),
            Type::Tables(section) => {
                let whole = list(self.table(section, false), None);
                match part {
                    true => entries(whole, self.table(section, true)),
                    false => whole,
                }
            }
            Type::TableOrTables(section) => {
                let whole = self.table(section, false);
                let whole = json!({ "anyOf": [whole, list(whole.clone(), None)] });
                match part {
                    true => {
                        let part = self.table(section, true);
                        json!({ "anyOf": [part, entries(whole, part.clone())] })
                    }
                    false => whole,
                }
            }
            Type::Named(section) => {
                json!({ "type": "object", "additionalProperties": self.table(section, part) })
            }
            Type::Union(union) => self.union(union, part),
            Type::Open(name) => self.family(name, part, &|schema| (schema.open)(name)),
            Type::Unions(union) => {
                let whole = list(self.union(union, false), None);
                match part {
                    true => entries(whole, self.union(union, true)),
                    false => whole,
                }
            }
            Type::Either(types) => {
                let all: Vec<Json> = types.iter().map(|t| self.value(t, part)).collect();
                json!({ "anyOf": all })
            }
        }
    }

    fn union(&mut self, union: &Union, part: bool) -> Json {
        self.family(union.name, part, &|schema| {
            let own = |key: &&KeySpec| key.name != "type";
            let members = (union.members)().into_iter();
            let table = |(word, doc, section): (_, _, &'static Section)| {
                let keys = union.common.iter().filter(own).chain(section.keys);
                (word, doc, schema.object(keys, section.rules, part))
            };
            Family {
                tag: "type",
                required: true,
                members: members.map(table).collect(),
            }
        })
    }

    /// A reference to the definition of tables whose keys depend on a word.
    fn family(&mut self, name: &str, part: bool, family: &dyn Fn(&mut Self) -> Family) -> Json {
        let name = format!("{name}{}", if part { ".part" } else { "" });
        if !self.definitions.contains_key(&name) {
            let family = family(self);
            let made = match part {
                true => merged(&family.members, family.tag),
                false => json!({ "type": "object", "anyOf": group(family) }),
            };
            self.definitions.insert(name.clone(), made);
        }
        json!({ "$ref": format!("#/$defs/{name}") })
    }
}

/// Members of a family with their words; those with the same word are alternatives.
fn group(family: Family) -> Vec<Json> {
    let tag = family.tag;
    let mut groups: Vec<(&str, Vec<Json>)> = Vec::new();
    for (word, doc, mut table) in family.members {
        table["properties"][tag] = json!({ "const": word, "description": plain(&doc) });
        let required = table["required"].as_array().cloned().unwrap_or_default();
        let tagged = std::iter::once(json!(tag))
            .filter(|_| family.required)
            .chain(required);
        table["required"] = tagged.collect();
        match groups.iter_mut().find(|g| g.0 == word) {
            Some(group) => group.1.push(table),
            None => groups.push((word, vec![table])),
        }
    }
    let one = |(_, mut tables): (&str, Vec<Json>)| match tables.len() {
        1 => tables.remove(0),
        _ => json!({ "anyOf": tables }),
    };
    groups.into_iter().map(one).collect()
}

/// A table with the keys of all members, none of them required.
fn merged(members: &[Member], tag: &str) -> Json {
    let mut properties: Map<String, Json> = Map::new();
    for (_, _, table) in members {
        for (key, value) in table["properties"].as_object().into_iter().flatten() {
            match properties.get_mut(key) {
                None => {
                    properties.insert(key.clone(), value.clone());
                }
                Some(known) if known == value => {}
                Some(known) => *known = json!({ "anyOf": [known.clone(), value] }),
            }
        }
    }
    let words: Vec<&str> = members.iter().map(|m| m.0).collect();
    properties.insert(
        tag.to_owned(),
        json!({ "type": "string", "enum": unique(words), "description": "the kind of this table" }),
    );
    json!({ "type": "object", "properties": properties, "additionalProperties": false })
}

fn unique(words: Vec<&str>) -> Vec<&str> {
    let mut found: Vec<&str> = Vec::new();
    for word in words {
        if !found.contains(&word) {
            found.push(word);
        }
    }
    found
}

/// A whole list, or some of its entries by name or index.
fn entries(whole: Json, entry: Json) -> Json {
    json!({ "anyOf": [whole, { "type": "object", "additionalProperties": entry }] })
}

fn list(items: Json, count: Option<usize>) -> Json {
    match count {
        Some(n) => json!({ "type": "array", "items": items, "minItems": n, "maxItems": n }),
        None => json!({ "type": "array", "items": items }),
    }
}

/// Numbers of a range.
pub fn number(range: Range) -> Json {
    let most = f64::MAX;
    match range {
        Range::Any => json!({ "type": "number", "minimum": -most, "maximum": most }),
        Range::Positive => json!({ "type": "number", "exclusiveMinimum": 0, "maximum": most }),
        Range::NotNegative => json!({ "type": "number", "minimum": 0, "maximum": most }),
    }
}

fn rule(rule: &Rule, inherits: bool) -> Json {
    let has = |key: &&str| json!({ "required": [key] });
    let any = |keys: &[&str]| -> Vec<Json> { keys.iter().map(has).collect() };
    let chosen = |key: &str, words: &[&str]| json!({ "required": [key], "properties": { key: { "enum": words } } });
    match rule {
        Rule::ExactlyOne(keys) => json!({ "oneOf": any(keys) }),
        Rule::AtMostOne(keys) => {
            let pairs = keys.iter().enumerate().flat_map(|(i, a)| {
                let after = keys[i + 1..].iter();
                after.map(move |b| json!({ "required": [a, b] }))
            });
            let pairs: Vec<Json> = pairs.collect();
            json!({ "not": { "anyOf": pairs } })
        }
        Rule::Some(keys, _) => json!({ "anyOf": any(keys) }),
        Rule::OneGroup(groups) => {
            let all: Vec<Json> = groups.iter().map(|g| json!({ "anyOf": any(g) })).collect();
            json!({ "oneOf": all })
        }
        Rule::Demands(key, words, needed) => {
            let mut either = vec![*needed];
            either.extend(inherits.then_some("based_on"));
            json!({ "if": chosen(key, words), "then": { "anyOf": any(&either) } })
        }
        Rule::Excludes(key, words, others, _) => {
            let chosen = if words.is_empty() {
                has(key)
            } else {
                chosen(key, words)
            };
            json!({ "if": chosen, "then": { "not": { "anyOf": any(others) } } })
        }
        Rule::Needs(key, others) => json!({ "if": has(key), "then": { "anyOf": any(others) } }),
    }
}

fn unit(takes: &Type) -> &'static str {
    match takes {
        Type::Number(unit, _) | Type::Vector(unit) | Type::Numbers(_, unit, _) => unit,
        Type::List(of) | Type::Rows(_, of) => unit(of),
        Type::Either(types) => types.first().map_or("", unit),
        _ => "",
    }
}

/// Adds the meaning and the unit.
pub fn describe(value: &mut Json, doc: &str, unit: &str) {
    let unit = match unit {
        "" => String::new(),
        unit => format!("[{unit}]"),
    };
    let text = match (doc.is_empty(), unit.is_empty()) {
        (true, _) => unit,
        (false, true) => plain(doc),
        (false, false) => format!("{} {unit}", plain(doc)),
    };
    if !text.is_empty() {
        value["description"] = json!(text);
    }
}

/// A text of the documentation without links.
fn plain(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some(end) = rest.find("](#") {
        let start = rest[..end].rfind('[').unwrap_or(end);
        // A link of a heading in brackets, such as [`[time]`](#time).
        let start = rest[..start].strip_suffix("[`").map_or(start, str::len);
        out.push_str(&rest[..start]);
        out.push_str(
            rest[start..end]
                .trim_start_matches("[`")
                .trim_start_matches('[')
                .trim_end_matches('`'),
        );
        rest = rest[end..].split_once(')').map_or("", |r| r.1);
    }
    out.push_str(rest);
    out
}

fn preset(default: Preset) -> Option<Json> {
    Some(match default {
        Preset::Num(x) => json!(x),
        Preset::Int(n) | Preset::Resolution(n) => json!(n),
        Preset::Bool(flag) => json!(flag),
        Preset::Chosen(word) => json!(word),
        Preset::Vec(numbers) => json!(numbers),
        Preset::Required | Preset::Absent | Preset::Said(_) => return None,
    })
}
