//! The little of XML that VTU files need: elements, attributes and the text that follows a tag.

use super::super::bytes::{Cursor, shorten};
use super::super::error::{FileLocation, MeshFileError, MeshFileProblem};

/// More attributes than any VTK element has; bounds the look-up of one.
const MOST_ATTRIBUTES: usize = 64;

/// Goes from tag to tag.
pub(super) struct Xml<'a> {
    cursor: Cursor<'a>,
    size: usize,
}

pub(super) enum Event<'a> {
    Open(Element<'a>),
    Close(&'a [u8]),
}

pub(super) struct Element<'a> {
    pub name: &'a [u8],
    pub attributes: Attributes,
    /// Whether the tag ends with `/>`.
    pub closed: bool,
    /// The text between this tag and the next.
    pub text: Cursor<'a>,
}

pub(super) struct Attributes {
    list: Vec<(String, String)>,
    element: String,
    /// The tag.
    pub place: FileLocation,
}

impl<'a> Xml<'a> {
    pub fn new(bytes: &'a [u8]) -> Result<Self, MeshFileError> {
        Ok(Xml {
            cursor: Cursor::new(bytes)?,
            size: bytes.len(),
        })
    }

    /// Everything after the last tag.
    pub fn rest(&self) -> &'a [u8] {
        self.cursor.rest()
    }

    pub fn next_event(&mut self) -> Result<Option<Event<'a>>, MeshFileError> {
        loop {
            let rest = self.cursor.rest();
            let Some(open) = rest.iter().position(|&b| b == b'<') else {
                return Ok(None);
            };
            self.cursor.advance(open);
            let rest = self.cursor.rest();
            if rest.starts_with(b"<!--") {
                self.skip_past(b"-->")?;
            } else if rest.starts_with(b"<?") || rest.starts_with(b"<!") {
                self.skip_past(b">")?;
            } else {
                return self.read_tag().map(Some);
            }
        }
    }

    fn skip_past(&mut self, end: &'static [u8]) -> Result<(), MeshFileError> {
        let rest = self.cursor.rest();
        match rest.windows(end.len()).position(|w| w == end) {
            Some(found) => {
                self.cursor.advance(found + end.len());
                Ok(())
            }
            None => Err(self.ended()),
        }
    }

    fn ended(&self) -> MeshFileError {
        let expected = "`>` to end the tag";
        MeshFileError::new(
            self.cursor.text_place(),
            MeshFileProblem::Ended { expected },
        )
    }

    fn read_tag(&mut self) -> Result<Event<'a>, MeshFileError> {
        let rest = self.cursor.rest();
        let length = tag_length(rest).ok_or_else(|| self.ended())?;
        let place = match self.cursor.text_place() {
            FileLocation::Text { line, offset, .. } => FileLocation::Text {
                line,
                offset,
                length,
            },
            other => other,
        };
        let inner = &rest[1..length - 1];
        self.cursor.advance(length);
        if let Some(name) = inner.strip_prefix(b"/") {
            return Ok(Event::Close(name.trim_ascii()));
        }
        let (inner, closed) = match inner.strip_suffix(b"/") {
            Some(inner) => (inner, true),
            None => (inner, false),
        };
        let end = inner.iter().position(u8::is_ascii_whitespace);
        let (name, attributes) = inner.split_at(end.unwrap_or(inner.len()));
        let text = self.cursor.rest();
        let text_end = text.iter().position(|&b| b == b'<');
        let text_end = text_end.map_or(self.size, |length| self.cursor.position() + length);
        Ok(Event::Open(Element {
            name,
            attributes: Attributes::read(name, attributes, place)?,
            closed,
            text: self.cursor.until(text_end),
        }))
    }
}

/// Bytes from `<` to the matching `>`, which may stand in quotes in between.
fn tag_length(bytes: &[u8]) -> Option<usize> {
    let mut quote = None;
    for (i, &byte) in bytes.iter().enumerate() {
        match (quote, byte) {
            (None, b'>') => return Some(i + 1),
            (None, b'"' | b'\'') => quote = Some(byte),
            (Some(open), _) if open == byte => quote = None,
            _ => {}
        }
    }
    None
}

impl Attributes {
    fn read(name: &[u8], mut rest: &[u8], place: FileLocation) -> Result<Self, MeshFileError> {
        let element = shorten(name);
        let wrong = |rest: &[u8]| {
            let expected = "an attribute such as `Name=\"x\"`";
            let found = shorten(rest);
            MeshFileError::new(place, MeshFileProblem::Expected { expected, found })
        };
        let mut list = Vec::new();
        loop {
            rest = rest.trim_ascii();
            if rest.is_empty() {
                return Ok(Attributes {
                    list,
                    element,
                    place,
                });
            }
            let equals = rest.iter().position(|&b| b == b'=');
            let Some(equals) = equals.filter(|_| list.len() < MOST_ATTRIBUTES) else {
                return Err(wrong(rest));
            };
            let key = rest[..equals].trim_ascii();
            let value = rest[equals + 1..].trim_ascii_start();
            let quote = match value.first() {
                Some(&quote @ (b'"' | b'\'')) => quote,
                _ => return Err(wrong(rest)),
            };
            let Some(length) = value[1..].iter().position(|&b| b == quote) else {
                return Err(wrong(rest));
            };
            let key = String::from_utf8_lossy(key).into_owned();
            list.push((key, unescape(&value[1..=length])));
            rest = &value[length + 2..];
        }
    }

    pub fn get(&self, key: &str) -> Option<&str> {
        self.list
            .iter()
            .find(|(name, _)| name == key)
            .map(|(_, value)| value.as_str())
    }

    pub fn require(&self, key: &str) -> Result<&str, MeshFileError> {
        self.get(key).ok_or_else(|| {
            let what = format!("the attribute `{key}` of `{}`", self.element);
            let remedy = "write the file again";
            MeshFileError::new(self.place, MeshFileProblem::Missing { what, remedy })
        })
    }

    pub fn count(&self, key: &str) -> Result<u64, MeshFileError> {
        let text = self.require(key)?;
        text.trim()
            .parse()
            .map_err(|_| self.unexpected("a count", text))
    }

    pub fn unexpected(&self, expected: &'static str, found: &str) -> MeshFileError {
        let found = shorten(found.as_bytes());
        MeshFileError::new(self.place, MeshFileProblem::Expected { expected, found })
    }
}

/// Resolves the five named entities and character numbers; leaves anything else as it stands.
fn unescape(text: &[u8]) -> String {
    let text = String::from_utf8_lossy(text);
    let mut out = String::with_capacity(text.len());
    let mut rest: &str = &text;
    while let Some(start) = rest.find('&') {
        out.push_str(&rest[..start]);
        rest = &rest[start..];
        // The longest entity is `&#x10ffff;`; looking further would be quadratic.
        let end = rest.bytes().take(12).position(|b| b == b';');
        let resolved = end.and_then(|end| entity(&rest[1..end]).map(|c| (c, end)));
        match resolved {
            Some((character, end)) => {
                out.push(character);
                rest = &rest[end + 1..];
            }
            None => {
                out.push('&');
                rest = &rest[1..];
            }
        }
    }
    out.push_str(rest);
    out
}

fn entity(name: &str) -> Option<char> {
    match name {
        "amp" => Some('&'),
        "lt" => Some('<'),
        "gt" => Some('>'),
        "quot" => Some('"'),
        "apos" => Some('\''),
        _ => {
            let number = name.strip_prefix('#')?;
            let code = match number.strip_prefix('x') {
                Some(hex) => u32::from_str_radix(hex, 16).ok()?,
                None => number.parse().ok()?,
            };
            char::from_u32(code)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entities_are_resolved_and_others_left_alone() {
        assert_eq!(
            unescape(b"a &lt; b &#x3bc;&#956; &amp;lt; &x; &"),
            "a < b μμ &lt; &x; &"
        );
    }
}
