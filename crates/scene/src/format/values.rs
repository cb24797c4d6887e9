//! Values of keys as Rust values.

use stiction_math::Vec3;

use super::Preset;
use crate::tree::Value;

/// A type that values of keys are read as. Whether a value is good has been checked before.
pub(crate) trait FromValue: Sized {
    fn of(value: &Value) -> Option<Self>;

    /// The value of a key that is neither given nor has a default.
    fn absent() -> Option<Self> {
        None
    }
}

impl FromValue for f64 {
    fn of(value: &Value) -> Option<Self> {
        match value {
            Value::Integer(i) => Some(*i as f64),
            Value::Float(x) => Some(*x),
            _ => None,
        }
    }
}

macro_rules! integers {
    ($($t:ty),*) => {$(
        impl FromValue for $t {
            fn of(value: &Value) -> Option<Self> {
                match value {
                    Value::Integer(i) => Self::try_from(*i).ok(),
                    _ => None,
                }
            }
        }
    )*};
}
integers!(u32, u64, usize);

impl FromValue for bool {
    fn of(value: &Value) -> Option<Self> {
        match value {
            Value::Bool(b) => Some(*b),
            _ => None,
        }
    }
}

impl FromValue for String {
    fn of(value: &Value) -> Option<Self> {
        match value {
            Value::String(s) => Some(s.clone()),
            _ => None,
        }
    }
}

impl<T: FromValue> FromValue for Vec<T> {
    /// A value in place of a list is a list of one.
    fn of(value: &Value) -> Option<Self> {
        match value {
            Value::Array(items) => items.iter().map(|n| T::of(&n.value)).collect(),
            other => Some(vec![T::of(other)?]),
        }
    }
}

impl<T: FromValue + Copy, const N: usize> FromValue for [T; N] {
    /// A value in place of a list stands for all of its entries.
    fn of(value: &Value) -> Option<Self> {
        match value {
            Value::Array(_) => Vec::of(value)?.try_into().ok(),
            other => T::of(other).map(|x| [x; N]),
        }
    }
}

impl FromValue for Vec3 {
    fn of(value: &Value) -> Option<Self> {
        <[f64; 3]>::of(value).map(Self::from)
    }
}

impl<T: FromValue> FromValue for Option<T> {
    fn of(value: &Value) -> Option<Self> {
        T::of(value).map(Some)
    }

    fn absent() -> Option<Self> {
        Some(None)
    }
}

impl Preset {
    /// The default as a value; `lenient` if resolutions have one.
    pub fn value(self, lenient: bool) -> Option<Value> {
        Some(match self {
            Self::Num(x) => Value::Float(x),
            Self::Int(n) => Value::Integer(n.into()),
            Self::Resolution(n) if lenient => Value::Integer(n.into()),
            Self::Bool(flag) => Value::Bool(flag),
            Self::Chosen(word) => Value::String(word.to_owned()),
            Self::Vec(numbers) => {
                let node = |x: &f64| crate::tree::Node {
                    place: super::NOWHERE,
                    value: Value::Float(*x),
                };
                Value::Array(numbers.iter().map(node).collect())
            }
            Self::Required | Self::Resolution(_) | Self::Absent | Self::Said(_) => return None,
        })
    }
}
