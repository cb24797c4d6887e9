//! A fingerprint of values.

use stiction_math::checksum::Fnv1a;

use crate::tree::{TreeNode, TreeTable, Value};

/// A hash of values, the same on every machine and in every version.
#[derive(Clone, Copy, Debug)]
pub struct Fingerprint(Fnv1a);

impl Default for Fingerprint {
    fn default() -> Self {
        Self::new()
    }
}

impl Fingerprint {
    /// The fingerprint of nothing.
    pub fn new() -> Self {
        Self(Fnv1a::new())
    }

    /// Adds bytes.
    pub fn bytes(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    /// Adds a text. A length in front of the bytes keeps "ab" + "c" apart from "a" + "bc".
    pub fn text(&mut self, text: &str) {
        self.bytes(&(text.len() as u64).to_le_bytes());
        self.bytes(text.as_bytes());
    }

    /// Adds a number.
    pub fn number(&mut self, x: f64) {
        // −0 and 0 move nothing differently.
        self.bytes(&(x + 0.0).to_bits().to_le_bytes());
    }

    /// Adds numbers, without their count.
    pub fn numbers<'a>(&mut self, numbers: impl IntoIterator<Item = &'a f64>) {
        numbers.into_iter().for_each(|x| self.number(*x));
    }

    /// Adds indices, without their count.
    pub fn indices<'a>(&mut self, indices: impl IntoIterator<Item = &'a u32>) {
        let bytes = indices.into_iter().map(|i| i.to_le_bytes());
        bytes.for_each(|b| self.bytes(&b));
    }

    /// The fingerprint of all that was added.
    pub fn finish(self) -> u64 {
        self.0.finish()
    }

    /// Adds a table, whatever its layout, comments and order of keys; keys for which `skip` holds are
    /// left out.
    pub fn table(&mut self, table: &TreeTable, skip: &dyn Fn(&str) -> bool) {
        let mut entries: Vec<_> = table.entries.iter().filter(|e| !skip(&e.key)).collect();
        entries.sort_by(|a, b| a.key.cmp(&b.key));
        self.bytes(b"{");
        for e in entries {
            self.text(&e.key);
            self.node(&e.node);
        }
        self.bytes(b"}");
    }

    /// Adds a value.
    pub fn node(&mut self, node: &TreeNode) {
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
