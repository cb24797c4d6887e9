//! The registry of methods: tables of keys against the settings that are read, and capabilities
//! against models.
#![allow(clippy::unwrap_used, clippy::panic)]

mod common;

use std::cell::RefCell;

use common::{GRAVITY, cloth, mixed, sheet};
use stiction_bodies::builder::{BodySpec, Builder};
use stiction_contact::detect::{Laws, PairLaw};
use stiction_sim::{
    MethodEntry, Registry, admm,
    capabilities::{Capabilities, Features, Restriction},
    colliders::ContactRules,
    keys::{Key, KeyDefault, KeyKind, KeyRange, KeySource, KeyValue},
    needs::{ModelFeature, needs},
    newton, smooth,
};

/// A few values by their keys, and the complaints about them.
#[derive(Default)]
struct Given {
    values: Vec<(&'static str, KeyValue)>,
    refused: RefCell<Vec<String>>,
}

impl Given {
    fn one(key: &'static str, value: KeyValue) -> Self {
        Self {
            values: vec![(key, value)],
            ..Self::default()
        }
    }

    fn get(&self, key: &str) -> Option<KeyValue> {
        let found = self.values.iter().find(|v| v.0 == key);
        found.map(|v| v.1)
    }
}

impl KeySource for Given {
    fn has(&self, key: &str) -> bool {
        self.get(key).is_some()
    }
    fn number(&self, key: &str, range: KeyRange) -> Option<f64> {
        match self.get(key)? {
            KeyValue::Number(x) => {
                assert!(
                    x > 0.0 || range == KeyRange::NotNegative && x == 0.0,
                    "{key}"
                );
                Some(x)
            }
            other => panic!("`{key}` is {other}, no number"),
        }
    }
    fn count(&self, key: &str, least: u32) -> Option<u32> {
        match self.get(key)? {
            KeyValue::Count(n) => {
                assert!(n >= least, "{key}");
                Some(n)
            }
            other => panic!("`{key}` is {other}, no count"),
        }
    }
    fn is_word(&self, key: &str, word: &str) -> bool {
        matches!(self.get(key), Some(KeyValue::Word(w)) if w == word)
    }
    fn flag(&self, key: &str) -> Option<bool> {
        match self.get(key)? {
            KeyValue::Flag(flag) => Some(flag),
            other => panic!("`{key}` is {other}, no flag"),
        }
    }
    fn word(&self, key: &str, words: &[&str]) -> Option<usize> {
        match self.get(key)? {
            KeyValue::Word(word) => words.iter().position(|w| *w == word),
            other => panic!("`{key}` is {other}, no word"),
        }
    }
    fn refuse(&self, key: &str, message: &str, _help: Option<&str>) {
        self.refused.borrow_mut().push(format!("{key}: {message}"));
    }
}

/// The settings as text, which tells any two apart.
fn read(entry: &MethodEntry, given: &Given) -> String {
    format!("{:?}", entry.configure(given))
}

fn defaults(entry: &MethodEntry) -> String {
    read(entry, &Given::default())
}

/// Values that a key may have, other than its default.
fn others(key: &Key) -> Vec<KeyValue> {
    let all = match key.kind {
        KeyKind::Number { .. } => vec![KeyValue::Number(0.37)],
        KeyKind::Count { .. } => vec![KeyValue::Count(7)],
        KeyKind::CountOr { word, .. } => vec![KeyValue::Count(7), KeyValue::Word(word)],
        KeyKind::Flag => vec![KeyValue::Flag(true), KeyValue::Flag(false)],
        KeyKind::Word(words) => words.iter().map(|w| KeyValue::Word(w)).collect(),
    };
    let other = |v: &KeyValue| key.default != KeyDefault::Value(*v);
    all.into_iter().filter(other).collect()
}

#[test]
fn settings_without_keys_are_the_defaults_of_their_types() {
    let of = |name| defaults(Registry::default().get(name).unwrap());
    assert_eq!(of("newton"), format!("{:?}", newton::Config::default()));
    assert_eq!(of("admm"), format!("{:?}", admm::Config::default()));
    assert_eq!(of("smooth"), format!("{:?}", smooth::Config::default()));
}

#[test]
fn documented_defaults_are_the_defaults() {
    for entry in Registry::default().entries() {
        for key in entry.keys {
            if let KeyDefault::Value(value) = key.default {
                let given = Given::one(key.name, value);
                let told = read(entry, &given);
                assert_eq!(told, defaults(entry), "{} {}", entry.name, key.name);
                assert!(given.refused.borrow().is_empty(), "{}", key.name);
            }
        }
    }
}

/// A key that changes nothing would be one that nobody reads. Some have a meaning only together with others.
#[test]
fn every_documented_key_is_read() {
    for entry in Registry::default().entries() {
        for key in entry.keys {
            for value in others(key) {
                let given = Given::one(key.name, value);
                let changed = read(entry, &given) != defaults(entry);
                let refused = !given.refused.borrow().is_empty();
                assert!(changed || refused, "{}: {} = {value}", entry.name, key.name);
            }
        }
    }
}

#[test]
fn keys_have_names_of_their_own_and_words_are_documented() {
    for entry in Registry::default().entries() {
        for (i, key) in entry.keys.iter().enumerate() {
            assert!(entry.keys[..i].iter().all(|k| k.name != key.name));
            assert_ne!(key.name, "name");
            let KeyKind::Word(words) = key.kind else {
                continue;
            };
            let shown = |w: &&&str| key.row().contains(&format!("`\"{w}\"`"));
            let missing: Vec<_> = words.iter().filter(|w| !shown(w)).collect();
            assert!(missing.is_empty(), "{}: {missing:?}", key.name);
        }
    }
}

#[test]
fn settings_of_the_validation_are_keys_of_the_method() {
    let accuracy = |residual| stiction_sim::registry::Accuracy {
        tolerance: 1e-10,
        residual,
        stiffness: 1e5,
    };
    let mut validated = 0;
    for entry in Registry::default().entries() {
        let Some(validation) = entry.validation else {
            continue;
        };
        validated += 1;
        for residual in [None, Some(1e-7)] {
            let values = (validation.settings)(&accuracy(residual));
            for (key, _) in &values {
                assert!(entry.keys.iter().any(|k| k.name == *key), "{key}");
            }
            let given = Given {
                values,
                ..Given::default()
            };
            entry.configure(&given);
            assert!(given.refused.borrow().is_empty(), "{}", entry.name);
        }
    }
    assert!(validated > 0);
}

#[test]
fn a_model_needs_what_it_has() {
    let (model, _) = mixed();
    let found: Vec<ModelFeature> = needs(&model, None).iter().map(|n| n.feature).collect();
    let expected = [
        ModelFeature::Shells,
        ModelFeature::Solids,
        ModelFeature::RigidBodies,
        ModelFeature::Pins,
        ModelFeature::Attachments,
        ModelFeature::Drag,
    ];
    assert_eq!(found, expected);
}

#[test]
fn laws_are_needs_where_there_is_contact() {
    let mut builder = Builder::new(GRAVITY, None);
    let spec = BodySpec {
        material: "felt".into(),
        ..BodySpec::new("sheet")
    };
    builder.shell(spec, sheet(1), &cloth()).unwrap();
    let (mut model, _) = builder.finish().unwrap();
    let law = PairLaw {
        cohesion: 10.0,
        ..PairLaw::default()
    };
    let rules = ContactRules {
        thickness: 1e-3,
        laws: Laws::uniform(law),
    };
    assert_eq!(needs(&model, Some(&rules)).len(), 1);
    model.contact = true;
    let needs = needs(&model, Some(&rules));
    let said: Vec<String> = needs.iter().map(|n| n.to_string()).collect();
    assert_eq!(
        said[1..],
        [
            "contact between bodies is enabled, and this method solves no contact",
            "materials `felt` and `felt` have cohesion, which it does not support",
        ]
    );
    assert_eq!(Registry::default().able(&needs), ["admm", "nodal", "cr"]);
}

#[test]
fn refusals_follow_from_capabilities() {
    let (model, _) = mixed();
    let needs = needs(&model, None);
    let all = Capabilities::new(Features::all_but(&[]));
    assert_eq!(all.check("x", &needs), Ok(()));

    let few = Capabilities::new(Features::all_but(&[
        ModelFeature::Solids,
        ModelFeature::Drag,
    ]));
    let refused = few.check("x", &needs).unwrap_err();
    assert!(
        refused
            .reason
            .contains("is an elastic solid, which it does not support; body")
    );
    assert_eq!(
        refused.clone().or_choose(&["x", "y", "z"]).remedy(),
        "choose method `y` or `z`, or remove the body and remove `drag` from the body"
    );
    assert_eq!(
        refused.or_choose(&["x"]).remedy(),
        "remove the body and remove `drag` from the body"
    );

    // A setting is a remedy only if it lifts all that is missing.
    let restriction = Restriction {
        setting: "fast = true",
        instead: "fast = false",
        lacks: Features::of(&[ModelFeature::Solids]),
    };
    let mut restricted = all.clone();
    restricted.restrictions.push(restriction);
    let refused = restricted.check("x", &needs).unwrap_err();
    assert!(
        refused
            .reason
            .ends_with("does not support with `fast = true`")
    );
    assert_eq!(refused.remedy(), "set `fast = false`, or remove the body");
    let mut both = few;
    both.restrictions.push(Restriction {
        lacks: Features::of(&[ModelFeature::Pins]),
        ..restriction
    });
    let refused = both.check("x", &needs).unwrap_err();
    assert!(
        !refused.remedy().contains("fast = false"),
        "{}",
        refused.remedy()
    );
}

#[test]
fn a_method_of_the_same_name_takes_the_place() {
    let registry = Registry::default();
    let (first, count) = (registry.entries()[0], registry.entries().len());
    let registry = registry.with(first);
    assert_eq!(registry.entries().len(), count);
    assert!(registry.get("no-such-method").is_none());
}
