//! The scene's tables in the terms of [`stiction_format`].

pub(crate) use stiction_format::{
    Direction, KeySpec, Preset, Range, Read, Rule, Section, TableKeys, Type, Union, Words,
    error::{DocumentError as SceneError, ProblemKind, Reporter},
    is_plain_name, keys, plain_name,
    source::{At, NOWHERE, SourceOrigin, SourceSpan, Sources},
    suggest,
    tree::{self, TableEntry, TreeNode, TreeTable, Value},
    wrong_type,
};

use crate::read::Context;

/// A table of a scene being read.
pub(crate) type Fields<'a> = stiction_format::Fields<'a, Context>;

/// Declares a table of the scene format.
macro_rules! section {
    ($($table:tt)*) => { stiction_format::section! { in $crate::read::Context; $($table)* } };
}

/// Declares the words that stand for the values of a type.
macro_rules! words {
    ($($values:tt)*) => { stiction_format::words! { in $crate::read::Context; $($values)* } };
}
pub(crate) use {section, words};
