//! Sources of text, and spans in them.

use std::{ops::Range, sync::Arc};

use miette::NamedSource;

/// A range of bytes in one of the texts that make up a document.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct SourceSpan {
    /// Which text, as numbered by [`Sources`].
    pub source: u32,
    /// First byte.
    pub start: u32,
    /// Byte after the last one.
    pub end: u32,
}

/// A place in the file at which nothing stands.
pub const NOWHERE: SourceSpan = SourceSpan {
    source: 0,
    start: 0,
    end: 0,
};

/// A value and the place where it stands.
#[derive(Clone, Debug, PartialEq)]
pub struct At<T> {
    /// The value.
    pub value: T,
    /// Its place in the text.
    pub place: SourceSpan,
}

/// Kind of a source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SourceOrigin {
    /// The document itself.
    Document,
    /// A library that documents refer to.
    Library,
    /// An argument of the command line, such as an override.
    Argument,
}

/// One text.
#[derive(Clone)]
pub struct Source {
    /// Its kind.
    pub origin: SourceOrigin,
    /// Its name and the text.
    pub named: Arc<NamedSource<String>>,
}

/// The texts that make up a document; its own comes first.
#[derive(Clone, Default)]
pub struct Sources {
    list: Vec<Source>,
}

impl Sources {
    /// Adds a text and returns its number.
    pub fn add(&mut self, origin: SourceOrigin, name: &str, text: &str) -> u32 {
        let named = NamedSource::new(name, text.to_owned()).with_language("TOML");
        let named = Arc::new(named);
        self.list.push(Source { origin, named });
        (self.list.len() - 1) as u32
    }

    /// The text of a place.
    pub fn get(&self, place: SourceSpan) -> Option<&Source> {
        self.list.get(place.source as usize)
    }

    /// The place of a range of bytes of a text value, at least one byte long; all of the value where it is
    /// written with escapes.
    pub fn within(&self, text: &At<&str>, range: &Range<usize>) -> SourceSpan {
        let start = text.place.start as usize;
        let source = self.get(text.place).map(|source| source.named.inner());
        let written = source.and_then(|all| all.get(start..text.place.end as usize));
        match written.and_then(|w| w.find(text.value)) {
            Some(offset) if !text.value.is_empty() => {
                // An error at the end of the text still underlines something.
                let from = range.start.min(text.value.len().saturating_sub(1));
                let start = start + offset;
                let range = start + from..start + range.end.max(from + 1);
                SourceSpan::new(text.place.source, range)
            }
            _ => text.place,
        }
    }

    /// Whether `place` was typed on the command line.
    pub fn is_argument(&self, place: SourceSpan) -> bool {
        self.get(place)
            .is_some_and(|s| s.origin == SourceOrigin::Argument)
    }
}

impl SourceSpan {
    /// `range` in text number `source`.
    pub fn new(source: u32, range: Range<usize>) -> Self {
        Self {
            source,
            start: range.start as u32,
            end: range.end as u32,
        }
    }
}

impl<T> At<T> {
    /// A value at a place.
    pub fn new(value: T, place: SourceSpan) -> Self {
        Self { value, place }
    }
}

/// Line and column of a byte, both from 1; the column counts characters.
pub fn line_column(text: &str, byte: usize) -> (usize, usize) {
    let mut byte = byte.min(text.len());
    while !text.is_char_boundary(byte) {
        byte -= 1;
    }
    let before = &text[..byte];
    let line = before.matches('\n').count() + 1;
    let column = before.rsplit('\n').next().map_or(0, |l| l.chars().count()) + 1;
    (line, column)
}
