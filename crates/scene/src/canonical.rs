//! A fingerprint of what decides the motion, for checkpoints.

use crate::tree::{Node, Table, Value};

/// FNV-1a over 64 bits: the same on every machine and in every version.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Fingerprint(u64);

impl Fingerprint {
    pub fn new() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }

    pub fn bytes(&mut self, bytes: &[u8]) {
        for b in bytes {
            self.0 = (self.0 ^ u64::from(*b)).wrapping_mul(0x0000_0100_0000_01b3);
        }
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
        self.0
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

/// The fingerprint of a document without what may change between a run and its continuation:
/// how long it goes on, what is written, and what the scene is called.
pub(crate) fn document(root: &Table) -> Fingerprint {
    let mut f = Fingerprint::new();
    f.table(root, &|key| {
        matches!(key, "name" | "description" | "output" | "time")
    });
    if let Some(Node {
        value: Value::Table(time),
        ..
    }) = root.get("time")
    {
        f.table(time, &|key| {
            matches!(key, "duration" | "frames_per_second" | "frame_every")
        });
    }
    f
}
