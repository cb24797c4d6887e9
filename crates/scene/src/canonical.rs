//! A fingerprint of what decides the motion, for checkpoints.

use stiction_math::checksum::Fnv1a;

use crate::tree::{Node, Table, Value};

/// A hash of values, the same on every machine and in every version.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Fingerprint(Fnv1a);

impl Fingerprint {
    pub fn new() -> Self {
        Self(Fnv1a::new())
    }

    pub fn bytes(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    /// A length in front of the bytes keeps "ab" + "c" apart from "a" + "bc".
    pub fn text(&mut self, text: &str) {
        self.bytes(&(text.len() as u64).to_le_bytes());
        self.bytes(text.as_bytes());
    }

    pub fn number(&mut self, x: f64) {
        // −0 and 0 move nothing differently.
        self.bytes(&(x + 0.0).to_bits().to_le_bytes());
    }

    pub fn finish(self) -> u64 {
        self.0.finish()
    }

    /// A table, whatever its layout, comments and order of keys; keys for which `skip` holds are
    /// left out.
    pub fn table(&mut self, table: &Table, skip: &dyn Fn(&str) -> bool) {
        let mut entries: Vec<_> = table.entries.iter().filter(|e| !skip(&e.key)).collect();
        entries.sort_by(|a, b| a.key.cmp(&b.key));
        self.bytes(b"{");
        for e in entries {
            self.text(&e.key);
            self.node(&e.node);
        }
        self.bytes(b"}");
    }

    pub fn node(&mut self, node: &Node) {
        match &node.value {
            Value::String(s) => {
                self.bytes(b"s");
                self.text(s);
            }
            // 1 and 1.0 are the same number.
            Value::Integer(i) => {
                self.bytes(b"n");
                self.number(*i as f64);
            }
            Value::Float(x) => {
                self.bytes(b"n");
                self.number(*x);
            }
            Value::Bool(b) => self.bytes(if *b { b"t" } else { b"f" }),
            Value::Datetime(d) => {
                self.bytes(b"d");
                self.text(d);
            }
            Value::Array(items) => {
                self.bytes(b"[");
                items.iter().for_each(|n| self.node(n));
                self.bytes(b"]");
            }
            Value::Table(t) => self.table(t, &|_| false),
        }
    }
}

/// Whether a key may change between a run and its continuation: how long the run goes on, what it
/// writes, and what the scene is called.
pub(crate) fn may_change(path: &[impl AsRef<str>]) -> bool {
    match path {
        [top] => matches!(top.as_ref(), "name" | "description" | "output"),
        [top, key] if top.as_ref() == "time" => matches!(
            key.as_ref(),
            "duration" | "frames_per_second" | "frame_every"
        ),
        _ => false,
    }
}

/// The fingerprint of a document without what may change between a run and its continuation.
pub(crate) fn document(root: &Table) -> Fingerprint {
    let mut f = Fingerprint::new();
    f.table(root, &|key| key == "time" || may_change(&[key]));
    if let Some(Node {
        value: Value::Table(time),
        ..
    }) = root.get("time")
    {
        f.table(time, &|key| may_change(&["time", key]));
    }
    f
}
