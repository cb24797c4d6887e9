//! Values of keys as Rust values.

use stiction_math::Vec3;

use super::{Fields, Preset, Section};
use crate::{
    source::{At, NOWHERE},
    tree::{Node, Value},
};

/// A type that values of keys are read as. Whether a value is of the key's type has been checked before.
pub(crate) trait Read: Sized {
    /// Reads the value of `key`, which stands in the table `f`.
    fn read(f: &Fields<'_>, key: &str, node: &Node) -> Option<Self>;

    /// The value of a key that is neither given nor has a default.
    fn absent() -> Option<Self> {
        None
    }
}

/// The keys of a table, as [`section!`](super::section) declares them.
pub(crate) trait Keys: Sized {
    const SECTION: &'static Section;

    /// Reads the keys of a table that has been checked.
    fn keys(f: &Fields<'_>) -> Option<Self>;
}

/// The keys as they are.
pub(crate) fn unchanged<T>(_: &Fields<'_>, keys: T) -> Option<T> {
    Some(keys)
}

/// A type whose values have words.
pub(crate) trait Words: Copy + 'static {
    const WORDS: &'static [&'static str];
    /// In the order of the words.
    const VALUES: &'static [Self];

    fn of(node: &Node) -> Option<Self> {
        let found = Self::WORDS.iter().position(|w| Some(*w) == node.text());
        Self::VALUES.get(found?).copied()
    }

    fn word(self) -> &'static str
    where
        Self: PartialEq,
    {
        let found = Self::VALUES.iter().position(|v| *v == self);
        found.map_or("", |i| Self::WORDS[i])
    }
}

/// A key that a reader looks at itself.
impl Read for () {
    fn read(_: &Fields<'_>, _: &str, _: &Node) -> Option<Self> {
        Some(())
    }

    fn absent() -> Option<Self> {
        Some(())
    }
}

impl Read for f64 {
    fn read(_: &Fields<'_>, _: &str, node: &Node) -> Option<Self> {
        node.number()
    }
}

impl Read for bool {
    fn read(_: &Fields<'_>, _: &str, node: &Node) -> Option<Self> {
        match node.value {
            Value::Bool(flag) => Some(flag),
            _ => None,
        }
    }
}

impl Read for String {
    fn read(_: &Fields<'_>, _: &str, node: &Node) -> Option<Self> {
        node.text().map(str::to_owned)
    }
}

macro_rules! integers {
    ($($t:ty),*) => {$(
        impl Read for $t {
            fn read(_: &Fields<'_>, _: &str, node: &Node) -> Option<Self> {
                match node.value {
                    Value::Integer(i) => Self::try_from(i).ok(),
                    _ => None,
                }
            }
        }
    )*};
}
integers!(u32, u64, usize);

impl<T: Read> Read for Vec<T> {
    /// A value in place of a list is a list of one.
    fn read(f: &Fields<'_>, key: &str, node: &Node) -> Option<Self> {
        let items = match &node.value {
            Value::Array(items) => items,
            _ => std::slice::from_ref(node),
        };
        // All are read before one that is wrong ends it.
        let all: Vec<Option<T>> = items.iter().map(|n| T::read(f, key, n)).collect();
        all.into_iter().collect()
    }

    fn absent() -> Option<Self> {
        Some(Vec::new())
    }
}

impl<T: Read + Copy, const N: usize> Read for [T; N] {
    /// A value in place of a list stands for all of its entries.
    fn read(f: &Fields<'_>, key: &str, node: &Node) -> Option<Self> {
        match node.value {
            Value::Array(_) => Vec::read(f, key, node)?.try_into().ok(),
            _ => T::read(f, key, node).map(|x| [x; N]),
        }
    }
}

impl Read for Vec3 {
    fn read(f: &Fields<'_>, key: &str, node: &Node) -> Option<Self> {
        <[f64; 3]>::read(f, key, node).map(Self::from)
    }
}

/// A vector of length one.
#[derive(Clone, Copy)]
pub(crate) struct Direction(pub Vec3);

impl Read for Direction {
    fn read(f: &Fields<'_>, key: &str, node: &Node) -> Option<Self> {
        let v = Vec3::read(f, key, node)?;
        // Scaled first: the norm of a huge vector overflows, that of a tiny one underflows.
        Some(Self((v / v.amax()).normalize()))
    }
}

impl<T: Read> Read for Option<T> {
    fn read(f: &Fields<'_>, key: &str, node: &Node) -> Option<Self> {
        T::read(f, key, node).map(Some)
    }

    fn absent() -> Option<Self> {
        Some(None)
    }
}

impl<T: Read> Read for At<T> {
    fn read(f: &Fields<'_>, key: &str, node: &Node) -> Option<Self> {
        Some(Self::new(T::read(f, key, node)?, node.place))
    }
}

impl Preset {
    /// The default as a value; `lenient` if resolutions have one.
    pub fn node(self, lenient: bool) -> Option<Node> {
        let value = match self {
            Self::Num(x) => Value::Float(x),
            Self::Int(n) => Value::Integer(n.into()),
            Self::Resolution(n) if lenient => Value::Integer(n.into()),
            Self::Bool(flag) => Value::Bool(flag),
            Self::Chosen(word) => Value::String(word.to_owned()),
            Self::Vec(numbers) => {
                let node = |x: &f64| Node::new(NOWHERE, Value::Float(*x));
                Value::Array(numbers.iter().map(node).collect())
            }
            Self::Required | Self::Resolution(_) | Self::Absent | Self::Said(_) => return None,
        };
        Some(Node::new(NOWHERE, value))
    }
}
