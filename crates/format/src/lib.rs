//! Text formats of tables.
//!
//! [`section!`] declares a table once: the struct that it is read as, and for every key the type, unit, default
//! and meaning. Everything else follows: the reader ([`Fields`], [`Read`]), which reports what is wrong with the
//! form of a table, the tables of a manual ([`docs`]) and the JSON Schema ([`json`]).
//!
//! A document is TOML ([`tree`]). Every value keeps its place ([`source`]), so that problems ([`error`]) point at
//! the text, several at once, with suggestions ([`suggest`]). Values may be changed by paths ([`overrides`]), the
//! tree written in one canonical form ([`mod@write`]), compared ([`differences`]) and fingerprinted ([`fingerprint`]).
//!
//! Readers of a format share a context of type `C`, for example the names that its tables refer to.

pub mod differences;
pub mod docs;
pub mod error;
mod fields;
pub mod fingerprint;
pub mod json;
pub mod overrides;
pub mod source;
pub mod suggest;
pub mod tree;
mod types;
mod values;
pub mod write;

pub use fields::Fields;
pub use types::{Range, Type, is_plain_name, plain_name, wrong_type};
pub use values::{Direction, Read, TableKeys, Words, unchanged};

/// A table of the format.
pub struct Section {
    /// The name in the documentation and in the schema.
    pub name: &'static str,
    /// Its keys, in the order of the documentation.
    pub keys: &'static [KeySpec],
    /// Conditions between them.
    pub rules: &'static [Rule],
}

/// A key of a table.
pub struct KeySpec {
    /// The name.
    pub name: &'static str,
    /// The values that it takes.
    pub takes: Type,
    /// The value where it is not given.
    pub default: Preset,
    /// The meaning, for the documentation.
    pub doc: &'static str,
}

/// Tables whose keys depend on the word after `type`.
pub struct Union {
    /// The name in the schema.
    pub name: &'static str,
    /// Keys of all of them, besides `type`.
    pub common: &'static [KeySpec],
    /// The word of each, its meaning, and its table without the common keys; the same word may stand several times.
    pub members: fn() -> Vec<(&'static str, String, &'static Section)>,
}

/// The value of a key that is not given.
#[derive(Clone, Copy)]
pub enum Preset {
    /// There is none: the key is required.
    Required,
    /// A resolution: required of what deforms, this number for what only needs to look right.
    Resolution(u32),
    /// None; the key may be left out.
    Absent,
    /// In words: it follows from other keys.
    Said(&'static str),
    /// A number.
    Num(f64),
    /// A whole number.
    Int(u32),
    /// True or false.
    Bool(bool),
    /// One of the words.
    Chosen(&'static str),
    /// A list of numbers.
    Vec(&'static [f64]),
}

/// Conditions between keys.
pub enum Rule {
    /// Exactly one of the keys.
    ExactlyOne(&'static [&'static str]),
    /// At most one of the keys.
    AtMostOne(&'static [&'static str]),
    /// At least one of the keys; what is wrong with a table without any.
    Some(&'static [&'static str], &'static str),
    /// Keys of exactly one of the groups.
    OneGroup(&'static [&'static [&'static str]]),
    /// The key needs one of the others.
    Needs(&'static str, &'static [&'static str]),
    /// With one of the words as the value of the key, the other key is needed.
    Demands(&'static str, &'static [&'static str], &'static str),
    /// With one of the words as the value of the key (with any value, if there are none), the others have no
    /// meaning, for this reason.
    Excludes(
        &'static str,
        &'static [&'static str],
        &'static [&'static str],
        &'static str,
    ),
}

/// Declares a table for readers with the context `C`: `in C; struct NAME "name" [rules] { key: type = form, default, meaning; … }`.
///
/// The struct is declared, or with `for` instead of `struct` one that exists is filled. A key that is no
/// identifier of Rust stands behind the name of its field, `length as "static": …`. With `=> TYPE, FUNCTION`
/// a function turns the keys into a value of another type, or checks them.
#[macro_export]
macro_rules! section {
    (in $c:ty; $(#[$meta:meta])* struct $keys:ident $name:literal $([$($rule:expr),* $(,)?])? $(=> $made:ty, $by:path)? {
        $($field:ident $(as $key:literal)?: $of:ty = $takes:expr, $default:expr, $doc:expr;)*
    }) => {
        $(#[$meta])*
        #[allow(dead_code, reason = "a key of type `()` is read by other means")]
        pub(crate) struct $keys { $(pub $field: $of),* }
        $crate::section! { in $c; for $keys $name $([$($rule),*])? $(=> $made, $by)? {
            $($field $(as $key)?: $of = $takes, $default, $doc;)*
        } }
    };
    (in $c:ty; for $keys:ident $name:literal $([$($rule:expr),* $(,)?])? $(=> $made:ty, $by:path)? {
        $($field:ident $(as $key:literal)?: $of:ty = $takes:expr, $default:expr, $doc:expr;)*
    }) => {
        impl $crate::TableKeys<$c> for $keys {
            const SECTION: &'static $crate::Section = &$crate::Section {
                name: $name,
                keys: $crate::keys!($($field $(as $key)?: $takes, $default, $doc;)*),
                rules: {
                    #[allow(unused_imports)]
                    use $crate::Rule::*;
                    &[$($($rule),*)?]
                },
            };
            fn keys(f: &$crate::Fields<'_, $c>) -> Option<Self> {
                // All of them are read before one that is missing ends it.
                $(let $field: Option<$of> = f.take($crate::key!($field $($key)?));)*
                Some(Self { $($field: $field?),* })
            }
        }
        $crate::section!(@read $c; $keys $($made, $by)?);
    };
    (@read $c:ty; $keys:ident) => { $crate::section!(@read $c; $keys $keys, $crate::unchanged); };
    (@read $c:ty; $keys:ident $made:ty, $by:path) => {
        impl $crate::Read<$c> for $made {
            fn read(f: &$crate::Fields<'_, $c>, key: &str, node: &$crate::tree::TreeNode) -> Option<Self> {
                let f = f.inside(key, node, <$keys as $crate::TableKeys<$c>>::SECTION)?;
                let keys = <$keys as $crate::TableKeys<$c>>::keys(&f)?;
                $by(&f, keys)
            }
        }
    };
}

/// A list of [`Key`]s, one line each.
#[macro_export]
macro_rules! keys {
    ($($field:ident $(as $key:literal)?: $takes:expr, $default:expr, $doc:expr;)*) => {{
        #[allow(unused_imports)]
        use $crate::{TableKeys as _, Preset::*, Range::*, Type::*, Words as _};
        &[$($crate::KeySpec { name: $crate::key!($field $($key)?), takes: $takes, default: $default, doc: $doc }),*]
    }};
}

/// The name of a key.
#[macro_export]
macro_rules! key {
    ($field:ident) => {
        stringify!($field)
    };
    ($field:ident $key:literal) => {
        $key
    };
}

/// Declares the words that stand for the values of a type.
#[macro_export]
macro_rules! words {
    (in $c:ty; $t:ident: $($word:literal => $value:ident),+ $(,)?) => {
        impl $crate::Words<$c> for $t {
            const WORDS: &'static [&'static str] = &[$($word),+];
            const VALUES: &'static [Self] = &[$($t::$value),+];
        }
        impl $crate::Read<$c> for $t {
            fn read(_: &$crate::Fields<'_, $c>, _: &str, node: &$crate::tree::TreeNode) -> Option<Self> {
                <Self as $crate::Words<$c>>::of(node)
            }
        }
    };
}
