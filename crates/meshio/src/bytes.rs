//! A cursor over a file's bytes that reads words and binary numbers and tracks its line.

use super::error::{FileLocation, MeshFileError, MeshFileProblem};

/// A number type in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Scalar {
    I8,
    U8,
    I16,
    U16,
    I32,
    U32,
    I64,
    U64,
    F32,
    F64,
}

impl Scalar {
    pub fn size(self) -> usize {
        match self {
            Scalar::I8 | Scalar::U8 => 1,
            Scalar::I16 | Scalar::U16 => 2,
            Scalar::I32 | Scalar::U32 | Scalar::F32 => 4,
            Scalar::I64 | Scalar::U64 | Scalar::F64 => 8,
        }
    }

    pub fn is_real(self) -> bool {
        matches!(self, Scalar::F32 | Scalar::F64)
    }
}

/// Encoding of numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Encoding {
    Text,
    Little,
    Big,
}

impl Encoding {
    /// The fewest bytes that one number takes; in text a digit and a separator.
    pub fn least_bytes(self, scalar: Scalar) -> u64 {
        match self {
            Encoding::Text => 2,
            Encoding::Little | Encoding::Big => scalar.size() as u64,
        }
    }
}

/// A word or number as it stands in the file.
#[derive(Clone, Copy, Debug)]
pub(super) struct Token<'a> {
    pub text: &'a [u8],
    pub place: FileLocation,
}

impl<'a> Token<'a> {
    pub fn is(&self, word: &str) -> bool {
        self.text.eq_ignore_ascii_case(word.as_bytes())
    }

    pub fn unexpected(&self, expected: &'static str) -> MeshFileError {
        MeshFileError::new(
            self.place,
            MeshFileProblem::Expected {
                expected,
                found: shorten(self.text),
            },
        )
    }

    pub fn real(&self, expected: &'static str) -> Result<f64, MeshFileError> {
        std::str::from_utf8(self.text)
            .ok()
            .and_then(|text| text.parse().ok())
            .ok_or_else(|| self.unexpected(expected))
    }

    pub fn integer(&self, expected: &'static str) -> Result<i64, MeshFileError> {
        std::str::from_utf8(self.text)
            .ok()
            .and_then(|text| text.parse().ok())
            .ok_or_else(|| self.unexpected(expected))
    }

    pub fn count(&self, expected: &'static str) -> Result<u64, MeshFileError> {
        std::str::from_utf8(self.text)
            .ok()
            .and_then(|text| text.parse().ok())
            .ok_or_else(|| self.unexpected(expected))
    }
}

/// Foreign bytes made fit for an error message: printable and short.
pub(super) fn shorten(text: &[u8]) -> String {
    const MOST: usize = 40;
    let mut out: String = String::from_utf8_lossy(&text[..text.len().min(MOST)])
        .chars()
        .map(|c| if c.is_control() { '\u{fffd}' } else { c })
        .collect();
    if text.len() > MOST {
        out.push('…');
    }
    out
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Cursor<'a> {
    bytes: &'a [u8],
    position: usize,
    line: u64,
    hash_comments: bool,
}

impl<'a> Cursor<'a> {
    /// Fails when there is nothing but white space, the one problem that every format shares.
    pub fn new(bytes: &'a [u8]) -> Result<Self, MeshFileError> {
        if bytes.iter().all(u8::is_ascii_whitespace) {
            return Err(MeshFileError::new(
                FileLocation::File,
                MeshFileProblem::Empty,
            ));
        }
        Ok(Cursor {
            bytes,
            position: 0,
            line: 1,
            hash_comments: false,
        })
    }

    /// Text from `#` to the end of the line counts as white space.
    pub fn with_hash_comments(mut self) -> Self {
        self.hash_comments = true;
        self
    }

    /// Limits the cursor to the bytes before `end`.
    pub fn until(mut self, end: usize) -> Self {
        self.bytes = &self.bytes[..end.min(self.bytes.len())];
        self
    }

    pub fn position(&self) -> usize {
        self.position
    }

    pub fn rest(&self) -> &'a [u8] {
        &self.bytes[self.position..]
    }

    pub fn remaining(&self) -> u64 {
        (self.bytes.len() - self.position) as u64
    }

    /// The place of the next byte of binary data.
    pub fn byte_place(&self) -> FileLocation {
        FileLocation::Byte {
            offset: self.position,
        }
    }

    /// The place of the next byte of text.
    pub fn text_place(&self) -> FileLocation {
        FileLocation::Text {
            line: self.line,
            offset: self.position,
            length: 0,
        }
    }

    /// The place of the next word or number.
    pub fn place(&self, encoding: Encoding) -> FileLocation {
        match encoding {
            Encoding::Text => self.text_place(),
            Encoding::Little | Encoding::Big => self.byte_place(),
        }
    }

    /// Steps over `count` bytes of text, counting lines.
    pub fn advance(&mut self, count: usize) {
        let end = self.position.saturating_add(count).min(self.bytes.len());
        let passed = &self.bytes[self.position..end];
        self.line += passed.iter().filter(|&&b| b == b'\n').count() as u64;
        self.position = end;
    }

    /// Skips white space and comments; with `stay`, only up to the end of the line.
    fn skip_space(&mut self, stay: bool) {
        while let Some(&byte) = self.bytes.get(self.position) {
            match byte {
                b'\n' if stay => return,
                b'\n' => self.line += 1,
                b'#' if self.hash_comments => {
                    let rest = self.rest();
                    let to_end = rest.iter().position(|&b| b == b'\n');
                    self.position += to_end.unwrap_or(rest.len());
                    continue;
                }
                _ if byte.is_ascii_whitespace() || byte == 0x0b => {}
                _ => return,
            }
            self.position += 1;
        }
    }

    fn word(&mut self) -> Option<Token<'a>> {
        let rest = self.rest();
        let length = rest
            .iter()
            .position(|b| b.is_ascii_whitespace() || *b == 0x0b)
            .unwrap_or(rest.len());
        if length == 0 {
            return None;
        }
        let token = Token {
            text: &rest[..length],
            place: FileLocation::Text {
                line: self.line,
                offset: self.position,
                length,
            },
        };
        self.position += length;
        Some(token)
    }

    /// The next word, on this line or a later one.
    pub fn next(&mut self) -> Option<Token<'a>> {
        self.skip_space(false);
        self.word()
    }

    /// The next word on this line.
    pub fn next_on_line(&mut self) -> Option<Token<'a>> {
        self.skip_space(true);
        self.word()
    }

    pub fn peek(&self) -> Option<Token<'a>> {
        let mut ahead = *self;
        ahead.next()
    }

    pub fn token(&mut self, expected: &'static str) -> Result<Token<'a>, MeshFileError> {
        let end = self.text_place();
        self.next()
            .ok_or_else(|| MeshFileError::new(end, MeshFileProblem::Ended { expected }))
    }

    /// The next word, which must be `word` (in upper or lower case).
    pub fn keyword(&mut self, word: &'static str) -> Result<Token<'a>, MeshFileError> {
        let token = self.token(word)?;
        if token.is(word) {
            Ok(token)
        } else {
            Err(token.unexpected(word))
        }
    }

    /// The rest of the line without its line break, which is consumed.
    pub fn rest_of_line(&mut self) -> Token<'a> {
        let rest = self.rest();
        let length = rest.iter().position(|&b| b == b'\n');
        let line = &rest[..length.unwrap_or(rest.len())];
        let token = Token {
            text: line.trim_ascii(),
            place: FileLocation::Text {
                line: self.line,
                offset: self.position,
                length: line.len(),
            },
        };
        self.advance(line.len() + 1);
        token
    }

    pub fn take(
        &mut self,
        count: usize,
        expected: &'static str,
    ) -> Result<&'a [u8], MeshFileError> {
        match self.rest().get(..count) {
            Some(bytes) => {
                self.position += count;
                Ok(bytes)
            }
            None => Err(MeshFileError::new(
                FileLocation::Byte {
                    offset: self.bytes.len(),
                },
                MeshFileProblem::Ended { expected },
            )),
        }
    }

    /// A real number of any type.
    pub fn real(
        &mut self,
        scalar: Scalar,
        encoding: Encoding,
        expected: &'static str,
    ) -> Result<(f64, FileLocation), MeshFileError> {
        if encoding == Encoding::Text {
            let token = self.token(expected)?;
            return Ok((token.real(expected)?, token.place));
        }
        let place = self.byte_place();
        let raw = self.raw(scalar, encoding, expected)?;
        Ok((raw.real(scalar), place))
    }

    /// An integer of any integer type.
    pub fn integer(
        &mut self,
        scalar: Scalar,
        encoding: Encoding,
        expected: &'static str,
    ) -> Result<(i64, FileLocation), MeshFileError> {
        if encoding == Encoding::Text {
            let token = self.token(expected)?;
            return Ok((token.integer(expected)?, token.place));
        }
        let place = self.byte_place();
        let raw = self.raw(scalar, encoding, expected)?;
        let value = raw.integer(scalar).ok_or_else(|| {
            MeshFileError::new(
                place,
                MeshFileProblem::Expected {
                    expected,
                    found: raw.0.to_string(),
                },
            )
        })?;
        Ok((value, place))
    }

    /// An integer that cannot be negative.
    pub fn count(
        &mut self,
        scalar: Scalar,
        encoding: Encoding,
        expected: &'static str,
    ) -> Result<(u64, FileLocation), MeshFileError> {
        let (value, place) = self.integer(scalar, encoding, expected)?;
        match u64::try_from(value) {
            Ok(count) => Ok((count, place)),
            Err(_) => Err(MeshFileError::new(
                place,
                MeshFileProblem::Expected {
                    expected,
                    found: value.to_string(),
                },
            )),
        }
    }

    fn raw(
        &mut self,
        scalar: Scalar,
        encoding: Encoding,
        expected: &'static str,
    ) -> Result<Raw, MeshFileError> {
        let bytes = self.take(scalar.size(), expected)?;
        Ok(Raw::new(bytes, encoding))
    }

    /// A vertex position [m]; refused unless finite.
    pub fn position3(
        &mut self,
        scalar: Scalar,
        encoding: Encoding,
        number: u64,
    ) -> Result<[f64; 3], MeshFileError> {
        let mut position = [0.0; 3];
        for (value, axis) in position.iter_mut().zip(['x', 'y', 'z']) {
            let (real, place) = self
                .real(scalar, encoding, "a coordinate")
                .map_err(|error| error.at("vertex", number))?;
            *value = finite(real, axis, number, place)?;
        }
        Ok(position)
    }

    /// Accepts a declared count when it is within `limit` and the rest of the file can hold it at
    /// `least_bytes` each, so that memory can be reserved for it.
    pub fn check_count(
        &self,
        what: &'static str,
        count: u64,
        least_bytes: u64,
        limit: u64,
        place: FileLocation,
    ) -> Result<usize, MeshFileError> {
        if count > limit {
            return Err(MeshFileError::new(
                place,
                MeshFileProblem::TooMany { what, count, limit },
            ));
        }
        let needed = count.saturating_mul(least_bytes);
        let present = self.remaining();
        // The last number of a text file may lack its separator.
        if needed > present + 1 {
            return Err(MeshFileError::new(
                place,
                MeshFileProblem::Short {
                    what,
                    count,
                    needed,
                    present,
                },
            ));
        }
        Ok(count as usize)
    }
}

/// Refuses a coordinate that is infinite or not a number.
pub(super) fn finite(
    value: f64,
    axis: char,
    vertex: u64,
    place: FileLocation,
) -> Result<f64, MeshFileError> {
    if value.is_finite() {
        Ok(value)
    } else {
        Err(
            MeshFileError::new(place, MeshFileProblem::NonFinite { axis, value })
                .at("vertex", vertex),
        )
    }
}

/// Up to eight bytes of a binary number, as an unsigned integer.
#[derive(Clone, Copy)]
pub(super) struct Raw(u64);

impl Raw {
    /// `bytes` holds at most eight.
    pub fn new(bytes: &[u8], encoding: Encoding) -> Raw {
        let push = |value: u64, byte: &u8| value << 8 | u64::from(*byte);
        Raw(match encoding {
            Encoding::Big => bytes.iter().fold(0, push),
            Encoding::Text | Encoding::Little => bytes.iter().rev().fold(0, push),
        })
    }

    pub fn real(self, scalar: Scalar) -> f64 {
        match scalar {
            Scalar::F32 => f64::from(f32::from_bits(self.0 as u32)),
            Scalar::F64 => f64::from_bits(self.0),
            Scalar::U64 => self.0 as f64,
            _ => self.integer(scalar).unwrap_or_default() as f64,
        }
    }

    /// `None` for a real type and beyond 2⁶³.
    pub fn integer(self, scalar: Scalar) -> Option<i64> {
        match scalar {
            Scalar::I8 => Some(i64::from(self.0 as i8)),
            Scalar::I16 => Some(i64::from(self.0 as i16)),
            Scalar::I32 => Some(i64::from(self.0 as i32)),
            Scalar::I64 => Some(self.0 as i64),
            Scalar::U8 | Scalar::U16 | Scalar::U32 | Scalar::U64 => i64::try_from(self.0).ok(),
            Scalar::F32 | Scalar::F64 => None,
        }
    }
}

/// The six bits of a digit of base64 text.
pub(super) fn sextet(digit: u8) -> Option<u32> {
    Some(u32::from(match digit {
        b'A'..=b'Z' => digit - b'A',
        b'a'..=b'z' => digit - b'a' + 26,
        b'0'..=b'9' => digit - b'0' + 52,
        b'+' => 62,
        b'/' => 63,
        _ => return None,
    }))
}
