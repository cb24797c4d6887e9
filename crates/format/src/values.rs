//! Values of keys as Rust values.

use stiction_math::Vec3;

use crate::{
    Fields, Preset, Section,
    source::{At, NOWHERE},
    tree::{TreeNode, Value},
};

/// A type that values of keys are read as. Whether a value is of the key's type has been checked before.
pub trait Read<C>: Sized {
    /// Reads the value of `key`, which stands in the table `f`.
    fn read(f: &Fields<'_, C>, key: &str, node: &TreeNode) -> Option<Self>;

    /// The value of a key that is neither given nor has a default.
    fn absent() -> Option<Self> {
        None
    }
}

/// The keys of a table, as [`section!`](crate::section) declares them.
pub trait TableKeys<C>: Sized {
    /// The table.
    const SECTION: &'static Section;

    /// Reads the keys of a table that has been checked.
    fn keys(f: &Fields<'_, C>) -> Option<Self>;
}

/// The keys as they are.
pub fn unchanged<C, T>(_: &Fields<'_, C>, keys: T) -> Option<T> {
    Some(keys)
}

/// A type whose values have words.
pub trait Words<C>: Copy + 'static {
    /// The words.
    const WORDS: &'static [&'static str];
    /// The values, in the order of the words.
    const VALUES: &'static [Self];

    /// The value whose word is at `node`.
    fn of(node: &TreeNode) -> Option<Self> {
        let found = Self::WORDS.iter().position(|w| Some(*w) == node.text());
        Self::VALUES.get(found?).copied()
    }

    /// The word of the value.
    fn word(self) -> &'static str
    where
        Self: PartialEq,
    {
        let found = Self::VALUES.iter().position(|v| *v == self);
        found.map_or("", |i| Self::WORDS[i])
    }
}

/// A key that a reader looks at itself.
impl<C> Read<C> for () {
    fn read(_: &Fields<'_, C>, _: &str, _: &TreeNode) -> Option<Self> {
        Some(())
    }

    fn absent() -> Option<Self> {
        Some(())
    }
}

impl<C> Read<C> for f64 {
    fn read(_: &Fields<'_, C>, _: &str, node: &TreeNode) -> Option<Self> {
        node.number()
    }
}

impl<C> Read<C> for bool {
    fn read(_: &Fields<'_, C>, _: &str, node: &TreeNode) -> Option<Self> {
        match node.value {
            Value::Bool(flag) => Some(flag),
            _ => None,
        }
    }
}

impl<C> Read<C> for String {
    fn read(_: &Fields<'_, C>, _: &str, node: &TreeNode) -> Option<Self> {
        node.text().map(str::to_owned)
    }
}

macro_rules! integers {
    ($($t:ty),*) => {$(
        impl<C> Read<C> for $t {
            fn read(_: &Fields<'_, C>, _: &str, node: &TreeNode) -> Option<Self> {
                match node.value {
                    Value::Integer(i) => Self::try_from(i).ok(),
                    _ => None,
                }
            }
        }
    )*};
}
integers!(u32, u64, usize);

impl<C, T: Read<C>> Read<C> for Vec<T> {
    /// A value in place of a list is a list of one.
    fn read(f: &Fields<'_, C>, key: &str, node: &TreeNode) -> Option<Self> {
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

impl<C, T: Read<C> + Clone, const N: usize> Read<C> for [T; N] {
    /// A value in place of a list stands for all of its entries.
    fn read(f: &Fields<'_, C>, key: &str, node: &TreeNode) -> Option<Self> {
        match node.value {
            Value::Array(_) => Vec::read(f, key, node)?.try_into().ok(),
            _ => T::read(f, key, node).map(|x| std::array::from_fn(|_| x.clone())),
        }
    }
}

impl<C> Read<C> for Vec3 {
    fn read(f: &Fields<'_, C>, key: &str, node: &TreeNode) -> Option<Self> {
        <[f64; 3]>::read(f, key, node).map(Self::from)
    }
}

/// A vector of length one.
#[derive(Clone, Copy)]
pub struct Direction(pub Vec3);

impl<C> Read<C> for Direction {
    fn read(f: &Fields<'_, C>, key: &str, node: &TreeNode) -> Option<Self> {
        let v = Vec3::read(f, key, node)?;
        // Scaled first: the norm of a huge vector overflows, that of a tiny one underflows.
        Some(Self((v / v.amax()).normalize()))
    }
}

impl<C, T: Read<C>> Read<C> for Option<T> {
    fn read(f: &Fields<'_, C>, key: &str, node: &TreeNode) -> Option<Self> {
        T::read(f, key, node).map(Some)
    }

    fn absent() -> Option<Self> {
        Some(None)
    }
}

impl<C, T: Read<C>> Read<C> for At<T> {
    fn read(f: &Fields<'_, C>, key: &str, node: &TreeNode) -> Option<Self> {
        Some(Self::new(T::read(f, key, node)?, node.place))
    }
}

impl Preset {
    /// The default as a value; `lenient` if resolutions have one.
    pub fn node(self, lenient: bool) -> Option<TreeNode> {
        let value = match self {
            Self::Num(x) => Value::Float(x),
            Self::Int(n) => Value::Integer(n.into()),
            Self::Resolution(n) if lenient => Value::Integer(n.into()),
            Self::Bool(flag) => Value::Bool(flag),
            Self::Chosen(word) => Value::String(word.to_owned()),
            Self::Vec(numbers) => {
                let node = |x: &f64| TreeNode::new(NOWHERE, Value::Float(*x));
                Value::Array(numbers.iter().map(node).collect())
            }
            Self::Required | Self::Resolution(_) | Self::Absent | Self::Said(_) => return None,
        };
        Some(TreeNode::new(NOWHERE, value))
    }
}
