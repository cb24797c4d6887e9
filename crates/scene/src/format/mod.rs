//! The description of the scene format.
//!
//! [`section!`] declares a table once: the struct that it is read as, and for every key the type, unit, default
//! and meaning. Everything else follows: the reader ([`Fields`], [`Read`]), which reports what is wrong with the
//! form of a table, the tables of `docs/scenes.md` ([`docs`]) and the JSON Schema ([`json`]).

pub(crate) mod docs;
mod fields;
pub mod json;
mod types;
mod values;

pub(crate) use {
    fields::{Fields, ROOT_NAME},
    types::{Range, Type, is_plain_name, plain_name, wrong_type},
    values::{Direction, Keys, Read, Words, unchanged},
};

/// A table of the format.
pub(crate) struct Section {
    /// The name in the documentation and in the schema.
    pub name: &'static str,
    pub keys: &'static [Key],
    pub rules: &'static [Rule],
}

/// A key of a table.
pub(crate) struct Key {
    pub name: &'static str,
    pub takes: Type,
    pub default: Preset,
    /// The meaning, for the documentation.
    pub doc: &'static str,
}

/// Tables whose keys depend on the word after `type`.
pub(crate) struct Union {
    /// The name in the schema.
    pub name: &'static str,
    /// Keys of all of them, besides `type`.
    pub common: &'static [Key],
    /// The word of each, its meaning, and its table without the common keys; the same word may stand several times.
    pub members: fn() -> Vec<(&'static str, String, &'static Section)>,
}

/// The value of a key that is not given.
#[derive(Clone, Copy)]
pub(crate) enum Preset {
    Required,
    /// A resolution: required of what deforms, this number for what only needs to look right.
    Resolution(u32),
    Absent,
    /// In words: it follows from other keys.
    Said(&'static str),
    Num(f64),
    Int(u32),
    Bool(bool),
    Chosen(&'static str),
    Vec(&'static [f64]),
}

/// Conditions between keys.
pub(crate) enum Rule {
    ExactlyOne(&'static [&'static str]),
    AtMostOne(&'static [&'static str]),
    /// At least one of the keys; what is wrong with a table without any.
    Some(&'static [&'static str], &'static str),
    /// Keys of exactly one of the groups.
    OneGroup(&'static [&'static [&'static str]]),
    /// The key needs one of the others.
    Needs(&'static str, &'static [&'static str]),
    /// With one of the words as the value of the key, the other key is needed.
    Demands(&'static str, &'static [&'static str], &'static str),
    /// With one of the words as the value of the key, the others have no meaning, for this reason.
    Excludes(
        &'static str,
        &'static [&'static str],
        &'static [&'static str],
        &'static str,
    ),
}

/// Declares a table: `struct NAME "name" [rules] { key: type = form, default, meaning; … }`.
///
/// The struct is declared, or with `for` instead of `struct` one that exists is filled. A key that is no
/// identifier of Rust stands behind the name of its field, `length as "static": …`. With `=> TYPE, FUNCTION`
/// a function turns the keys into a value of another type, or checks them.
macro_rules! section {
    ($(#[$meta:meta])* struct $keys:ident $name:literal $([$($rule:expr),* $(,)?])? $(=> $made:ty, $by:path)? {
        $($field:ident $(as $key:literal)?: $of:ty = $takes:expr, $default:expr, $doc:expr;)*
    }) => {
        $(#[$meta])*
        #[allow(dead_code, reason = "a key of type `()` is read by other means")]
        pub(crate) struct $keys { $(pub $field: $of),* }
        $crate::format::section! { for $keys $name $([$($rule),*])? $(=> $made, $by)? {
            $($field $(as $key)?: $of = $takes, $default, $doc;)*
        } }
    };
    (for $keys:ident $name:literal $([$($rule:expr),* $(,)?])? $(=> $made:ty, $by:path)? {
        $($field:ident $(as $key:literal)?: $of:ty = $takes:expr, $default:expr, $doc:expr;)*
    }) => {
        impl $crate::format::Keys for $keys {
            const SECTION: &'static $crate::format::Section = &$crate::format::Section {
                name: $name,
                keys: $crate::format::keys!($($field $(as $key)?: $takes, $default, $doc;)*),
                rules: {
                    #[allow(unused_imports)]
                    use $crate::format::Rule::*;
                    &[$($($rule),*)?]
                },
            };
            fn keys(f: &$crate::format::Fields<'_>) -> Option<Self> {
                // All of them are read before one that is missing ends it.
                $(let $field: Option<$of> = f.take($crate::format::key!($field $($key)?));)*
                Some(Self { $($field: $field?),* })
            }
        }
        $crate::format::section!(@read $keys $($made, $by)?);
    };
    (@read $keys:ident) => { $crate::format::section!(@read $keys $keys, $crate::format::unchanged); };
    (@read $keys:ident $made:ty, $by:path) => {
        impl $crate::format::Read for $made {
            fn read(f: &$crate::format::Fields<'_>, key: &str, node: &$crate::tree::Node) -> Option<Self> {
                let f = f.inside(key, node, <$keys as $crate::format::Keys>::SECTION)?;
                let keys = <$keys as $crate::format::Keys>::keys(&f)?;
                $by(&f, keys)
            }
        }
    };
}

/// A list of [`Key`]s, one line each.
macro_rules! keys {
    ($($field:ident $(as $key:literal)?: $takes:expr, $default:expr, $doc:expr;)*) => {{
        #[allow(unused_imports)]
        use $crate::format::{Keys as _, Preset::*, Range::*, Type::*, Words as _};
        &[$($crate::format::Key { name: $crate::format::key!($field $($key)?), takes: $takes, default: $default, doc: $doc }),*]
    }};
}

/// The name of a key.
macro_rules! key {
    ($field:ident) => {
        stringify!($field)
    };
    ($field:ident $key:literal) => {
        $key
    };
}

/// Declares the words that stand for the values of a type.
macro_rules! words {
    ($t:ident: $($word:literal => $value:ident),+ $(,)?) => {
        impl $crate::format::Words for $t {
            const WORDS: &'static [&'static str] = &[$($word),+];
            const VALUES: &'static [Self] = &[$($t::$value),+];
        }
        impl $crate::format::Read for $t {
            fn read(_: &$crate::format::Fields<'_>, _: &str, node: &$crate::tree::Node) -> Option<Self> {
                $crate::format::Words::of(node)
            }
        }
    };
}
pub(crate) use {key, keys, section, words};
