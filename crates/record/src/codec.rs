//! Little-endian encoding of plain values for checkpoint sections. Numbers keep every bit,
//! including the sign of zero and NaN payloads.

use stiction_math::Vec3;

/// Encodes values into the bytes of one section, or streams them to a sink.
#[derive(Default)]
pub struct Encoder<'a> {
    bytes: Vec<u8>,
    sink: Option<&'a mut dyn FnMut(&[u8])>,
}

/// Number of bytes written to the sink at once.
const PIECE: usize = 1 << 16;

impl<'a> Encoder<'a> {
    /// An empty section.
    pub fn new() -> Self {
        Self::default()
    }

    /// A section whose bytes are streamed to `sink` and not kept.
    pub fn into_sink(sink: &'a mut dyn FnMut(&[u8])) -> Self {
        Self {
            bytes: Vec::with_capacity(PIECE + 8),
            sink: Some(sink),
        }
    }

    fn put(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
        if self.bytes.len() >= PIECE {
            self.pass_on();
        }
    }

    fn pass_on(&mut self) {
        if let Some(sink) = &mut self.sink {
            sink(&self.bytes);
            self.bytes.clear();
        }
    }

    /// Appends one byte.
    pub fn byte(&mut self, value: u8) {
        self.put(&[value]);
    }

    /// Appends a Boolean as one byte.
    pub fn bool(&mut self, value: bool) {
        self.byte(u8::from(value));
    }

    /// Appends an unsigned integer.
    pub fn u64(&mut self, value: u64) {
        self.put(&value.to_le_bytes());
    }

    /// Appends a signed integer.
    pub fn i64(&mut self, value: i64) {
        self.put(&value.to_le_bytes());
    }

    /// Appends a number.
    pub fn f64(&mut self, value: f64) {
        self.put(&value.to_bits().to_le_bytes());
    }

    /// Appends a vector.
    pub fn vec3(&mut self, value: &Vec3) {
        value.iter().for_each(|&x| self.f64(x));
    }

    /// Appends the count and the bytes.
    pub fn bytes(&mut self, values: &[u8]) {
        self.u64(values.len() as u64);
        self.put(values);
    }

    /// Appends a text.
    pub fn str(&mut self, text: &str) {
        self.bytes(text.as_bytes());
    }

    /// Appends the count and the integers.
    pub fn u32s(&mut self, values: &[u32]) {
        self.u64(values.len() as u64);
        values.iter().for_each(|v| self.put(&v.to_le_bytes()));
    }

    /// Appends the count and the integers.
    pub fn u64s(&mut self, values: &[u64]) {
        self.u64(values.len() as u64);
        values.iter().for_each(|&value| self.u64(value));
    }

    /// Appends the count and the numbers.
    pub fn f64s(&mut self, values: &[f64]) {
        self.u64(values.len() as u64);
        values.iter().for_each(|&value| self.f64(value));
    }

    /// Appends the count and the vectors.
    pub fn vec3s(&mut self, values: &[Vec3]) {
        self.u64(values.len() as u64);
        values.iter().for_each(|value| self.vec3(value));
    }

    /// Returns the section's bytes, or flushes the last ones to the sink.
    pub fn finish(mut self) -> Vec<u8> {
        self.pass_on();
        self.bytes
    }
}

/// An unexpected value in a section.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "section \"{section}\", byte {offset}: {reason}; the checkpoint was written by another version \
     of the program or for another scene, start the run afresh"
)]
pub struct DecodeError {
    /// Name of the section.
    pub section: String,
    /// Offset of the value in the section [bytes].
    pub offset: usize,
    /// Description of the error.
    pub reason: String,
}

/// Decodes values of a section in the order of encoding.
#[derive(Clone, Debug)]
pub struct Decoder<'a> {
    section: &'a str,
    bytes: &'a [u8],
    offset: usize,
}

impl<'a> Decoder<'a> {
    /// Reads `bytes`; `section` appears in errors.
    pub fn new(section: &'a str, bytes: &'a [u8]) -> Self {
        Self {
            section,
            bytes,
            offset: 0,
        }
    }

    /// An error at the current offset, for values that decode but are invalid.
    pub fn error(&self, reason: impl Into<String>) -> DecodeError {
        DecodeError {
            section: self.section.to_owned(),
            offset: self.offset,
            reason: reason.into(),
        }
    }

    /// Reads a Boolean.
    pub fn bool(&mut self) -> Result<bool, DecodeError> {
        match self.bytes.get(self.offset) {
            Some(0 | 1) => Ok(self.take(1)? == [1]),
            Some(other) => Err(self.error(format!("expected a truth value, found {other}"))),
            None => Err(self.short(1)),
        }
    }

    /// Reads an unsigned integer.
    pub fn u64(&mut self) -> Result<u64, DecodeError> {
        self.word().map(u64::from_le_bytes)
    }

    /// Reads an unsigned integer that is a count or an index.
    pub fn usize(&mut self) -> Result<usize, DecodeError> {
        let at = self.clone();
        let value = self.u64()?;
        usize::try_from(value).map_err(|_| at.error(format!("{value} is too large to count to")))
    }

    /// Reads a signed integer.
    pub fn i64(&mut self) -> Result<i64, DecodeError> {
        self.word().map(i64::from_le_bytes)
    }

    /// Reads a number.
    pub fn f64(&mut self) -> Result<f64, DecodeError> {
        self.u64().map(f64::from_bits)
    }

    /// Reads a vector.
    pub fn vec3(&mut self) -> Result<Vec3, DecodeError> {
        Ok(Vec3::new(self.f64()?, self.f64()?, self.f64()?))
    }

    /// Reads a count and as many bytes.
    pub fn bytes(&mut self) -> Result<&'a [u8], DecodeError> {
        self.list(1)
    }

    /// Reads a text.
    pub fn str(&mut self) -> Result<&'a str, DecodeError> {
        let at = self.clone();
        std::str::from_utf8(self.list(1)?).map_err(|_| at.error("the text is not UTF-8"))
    }

    /// Reads a count and as many integers.
    pub fn u32s(&mut self) -> Result<Vec<u32>, DecodeError> {
        let (chunks, _) = self.list(4)?.as_chunks();
        Ok(chunks
            .iter()
            .map(|&chunk| u32::from_le_bytes(chunk))
            .collect())
    }

    /// Reads a count and as many integers.
    pub fn u64s(&mut self) -> Result<Vec<u64>, DecodeError> {
        let (chunks, _) = self.list(8)?.as_chunks();
        Ok(chunks
            .iter()
            .map(|&chunk| u64::from_le_bytes(chunk))
            .collect())
    }

    /// Reads a count and as many numbers.
    pub fn f64s(&mut self) -> Result<Vec<f64>, DecodeError> {
        let (chunks, _) = self.list(8)?.as_chunks();
        let bits = chunks.iter().map(|&chunk| u64::from_le_bytes(chunk));
        Ok(bits.map(f64::from_bits).collect())
    }

    /// Reads a count and as many vectors.
    pub fn vec3s(&mut self) -> Result<Vec<Vec3>, DecodeError> {
        let (words, _) = self.list(24)?.as_chunks::<8>();
        let (triples, _) = words.as_chunks::<3>();
        let vector =
            |t: &[[u8; 8]; 3]| Vec3::from(t.map(|w| f64::from_bits(u64::from_le_bytes(w))));
        Ok(triples.iter().map(vector).collect())
    }

    /// Number of bytes that are left.
    pub fn remaining(&self) -> usize {
        self.bytes.len() - self.offset
    }

    /// Checks that no bytes are left.
    pub fn finish(self) -> Result<(), DecodeError> {
        match self.remaining() {
            0 => Ok(()),
            left => Err(self.error(format!("{left} bytes more than expected"))),
        }
    }

    fn word(&mut self) -> Result<[u8; 8], DecodeError> {
        let mut word = [0; 8];
        word.copy_from_slice(self.take(8)?);
        Ok(word)
    }

    fn take(&mut self, count: usize) -> Result<&'a [u8], DecodeError> {
        let taken = self.bytes[self.offset..]
            .get(..count)
            .ok_or_else(|| self.short(count))?;
        self.offset += count;
        Ok(taken)
    }

    /// The bytes of a counted list of `width` bytes each. The count is compared with the remaining
    /// bytes before anything is allocated, so that a wrong count costs nothing.
    fn list(&mut self, width: usize) -> Result<&'a [u8], DecodeError> {
        let start = self.clone();
        let count = self.u64()?;
        let most = (self.remaining() / width) as u64;
        if count > most {
            return Err(start.error(format!("{count} entries announced, but only {most} fit")));
        }
        self.take(count as usize * width)
    }

    fn short(&self, count: usize) -> DecodeError {
        let left = self.remaining();
        self.error(format!("{count} bytes expected, {left} left"))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    use super::*;

    fn odd() -> Vec<f64> {
        vec![
            -0.0,
            0.1,
            f64::from_bits(0x7ff8_dead_beef_0001),
            f64::from_bits(0xfff4_0000_0000_0007),
            f64::INFINITY,
            5e-324,
        ]
    }

    fn encoded() -> Vec<u8> {
        let mut out = Encoder::new();
        out.bool(true);
        out.u64(u64::MAX);
        out.i64(-7);
        out.str("Stoff, µ = 0.5");
        out.f64s(&odd());
        out.vec3s(&[Vec3::new(-0.0, odd()[2], 3.0), Vec3::x()]);
        out.u32s(&[1, u32::MAX]);
        out.u64s(&[3]);
        out.bytes(b"raw");
        out.f64(-0.0);
        out.finish()
    }

    fn decode(bytes: &[u8]) -> Result<(), DecodeError> {
        let bits = |values: &[f64]| -> Vec<u64> { values.iter().map(|x| x.to_bits()).collect() };
        let mut input = Decoder::new("state", bytes);
        assert!(input.bool()?);
        assert_eq!(input.u64()?, u64::MAX);
        assert_eq!(input.i64()?, -7);
        assert_eq!(input.str()?, "Stoff, µ = 0.5");
        assert_eq!(bits(&input.f64s()?), bits(&odd()));
        let vectors = input.vec3s()?;
        assert_eq!(bits(vectors[0].as_slice()), bits(&[-0.0, odd()[2], 3.0]));
        assert_eq!(vectors[1], Vec3::x());
        assert_eq!(input.u32s()?, [1, u32::MAX]);
        assert_eq!(input.u64s()?, [3]);
        assert_eq!(input.bytes()?, b"raw");
        assert!(input.f64()?.is_sign_negative());
        input.finish()
    }

    #[test]
    fn every_bit_survives_and_every_cut_is_an_error() {
        let bytes = encoded();
        decode(&bytes).unwrap();
        for cut in 0..bytes.len() {
            let error = decode(&bytes[..cut]).unwrap_err();
            assert!(error.section == "state" && error.offset <= cut, "{error}");
        }
        let mut longer = bytes;
        longer.push(0);
        assert!(decode(&longer).unwrap_err().reason.contains("1 bytes more"));
    }

    #[test]
    fn lying_counts_are_refused_where_they_stand() {
        let mut out = Encoder::new();
        out.u64(1);
        out.u64(u64::MAX);
        let bytes = out.finish();
        type Take = fn(&mut Decoder<'_>) -> Result<(), DecodeError>;
        let takes: [Take; 5] = [
            |d| d.f64s().map(drop),
            |d| d.vec3s().map(drop),
            |d| d.u32s().map(drop),
            |d| d.str().map(drop),
            |d| d.bytes().map(drop),
        ];
        for take in takes {
            let mut input = Decoder::new("q", &bytes);
            input.u64().unwrap();
            let error = take(&mut input).unwrap_err();
            assert_eq!(error.offset, 8);
            assert!(
                error.to_string().contains("section \"q\", byte 8"),
                "{error}"
            );
        }
        assert!(Decoder::new("q", &[2]).bool().is_err());
        let mut out = Encoder::new();
        out.bytes(&[0xff, 0xfe]);
        assert!(Decoder::new("q", &out.finish()).str().is_err());
    }
}
