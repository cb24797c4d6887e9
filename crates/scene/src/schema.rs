//! The scene format as a JSON Schema: its tables, with the keys of the methods of a registry.

use serde_json::{Map, Value as Json, json};
use stiction_format::json::{Family, Member, Schema, describe, number};
use stiction_sim::{
    MethodEntry, Registry,
    keys::{Key, KeyDefault, KeyKind, KeyValue},
};

use crate::{format::TableKeys, read::Root, variant::VariantKeys};

/// The schema of scenes whose methods are those of `methods`.
pub fn schema(methods: &Registry) -> Json {
    // A table `[method]` without a name is that of the default; editors show the keys of all.
    let open = |_: &str| Family {
        tag: "name",
        required: false,
        members: methods.entries().iter().map(|e| method(e)).collect(),
    };
    let mut schema = Schema {
        open: &open,
        definitions: Map::new(),
    };
    schema.table(Root::SECTION, false);
    schema.table(Root::SECTION, true);
    let [mut root, part] = ["top level", "top level.part"]
        .map(|name| schema.definitions.remove(name).unwrap_or_default());
    let mut variant = schema.properties(VariantKeys::SECTION.keys.iter(), true);
    for (key, value) in part["properties"].as_object().into_iter().flatten() {
        if key != "variant" {
            variant.insert(key.clone(), value.clone());
        }
    }
    let variant = json!({ "type": "object", "properties": variant, "additionalProperties": false });
    schema.definitions.insert("variant".to_owned(), variant);
    root["required"] = json!(["time", "body"]);
    root["properties"]["body"]["minItems"] = json!(1);
    // Editors name the schema in the file itself.
    root["$schema"] = json!("https://json-schema.org/draft/2020-12/schema");
    root["title"] = json!("Stiction scene");
    root["description"] = json!("A scene of Stiction; docs/scenes.md describes the format.");
    root["$defs"] = Json::Object(schema.definitions);
    root
}

fn method(entry: &MethodEntry) -> Member {
    let properties = entry.keys.iter().map(|k| (k.name.to_owned(), value(k)));
    let properties: Map<String, Json> = properties.collect();
    let table =
        json!({ "type": "object", "properties": properties, "additionalProperties": false });
    (entry.name, entry.description.to_owned(), table)
}

fn value(key: &Key) -> Json {
    let count = |least: u32| json!({ "type": "integer", "minimum": least, "maximum": u32::MAX });
    let (mut value, unit) = match key.kind {
        KeyKind::Number { unit, range } => (number(crate::read::settings::range(range)), unit),
        KeyKind::Count { least } => (count(least), ""),
        KeyKind::CountOr { least, word } => {
            (json!({ "anyOf": [count(least), { "const": word }] }), "")
        }
        KeyKind::Flag => (json!({ "type": "boolean" }), ""),
        KeyKind::Word(words) => (json!({ "type": "string", "enum": words }), ""),
    };
    describe(&mut value, key.meaning, unit);
    if let KeyDefault::Value(default) = key.default {
        value["default"] = match default {
            KeyValue::Number(x) => json!(x),
            KeyValue::Count(n) => json!(n),
            KeyValue::Flag(flag) => json!(flag),
            KeyValue::Word(word) => json!(word),
        };
    }
    value
}
