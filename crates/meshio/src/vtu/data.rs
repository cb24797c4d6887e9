//! The numbers of a `DataArray`: text, base64 or raw, plain or in compressed blocks.

use miniz_oxide::inflate::decompress_to_vec_zlib_with_limit;

use super::super::MeshLimits;
use super::super::bytes::{Cursor, Encoding, Raw, Scalar, sextet, shorten};
use super::super::error::{MeshFileError, MeshFileProblem};
use super::xml::Attributes;
use super::{Declared, Source, Values, inconsistent};

/// DEFLATE cannot do better than 258 bytes from two bits, 1032 to 1.
const BEST_RATIO: u64 = 1032;

/// Decoder of data arrays: the byte order, header type and compressor of the file, and the memory that is left.
pub(super) struct Decoder<'a> {
    order: Encoding,
    header: Scalar,
    compressed: bool,
    appended: Option<Appended<'a>>,
    /// Bytes that may still be taken from the file. Two arrays cannot share their bytes, so all
    /// of them together are no longer than the file.
    bytes_left: u64,
    /// Bytes that inflated numbers may still take in memory.
    inflated_left: u64,
    max_bytes: u64,
}

#[derive(Clone, Copy)]
struct Appended<'a> {
    bytes: &'a [u8],
    base64: bool,
}

/// Bytes as they are in the file or as base64 text.
#[derive(Clone, Copy)]
struct Stream<'a> {
    bytes: &'a [u8],
    base64: bool,
}

impl<'a> Decoder<'a> {
    /// `attributes` are those of the element `VTKFile`.
    pub fn new(
        attributes: &Attributes,
        size: usize,
        limits: &MeshLimits,
    ) -> Result<Self, MeshFileError> {
        let kind = attributes.require("type")?;
        if kind != "UnstructuredGrid" {
            let what = format!("a VTK file of type {}", shorten(kind.as_bytes()));
            let remedy = "save the mesh as an unstructured grid (.vtu)";
            return Err(MeshFileError::new(
                attributes.place,
                MeshFileProblem::Unsupported { what, remedy },
            ));
        }
        let order = match attributes.get("byte_order") {
            None | Some("LittleEndian") => Encoding::Little,
            Some("BigEndian") => Encoding::Big,
            Some(other) => {
                return Err(attributes.unexpected("`LittleEndian` or `BigEndian`", other));
            }
        };
        let header = match attributes.get("header_type") {
            None | Some("UInt32") => Scalar::U32,
            Some("UInt64") => Scalar::U64,
            Some(other) => return Err(attributes.unexpected("`UInt32` or `UInt64`", other)),
        };
        let compressed = match attributes.get("compressor") {
            None | Some("") => false,
            Some("vtkZLibDataCompressor") => true,
            Some(other) => {
                let what = format!("data compressed with {}", shorten(other.as_bytes()));
                let remedy = "save the file with zlib compression or without compression";
                return Err(MeshFileError::new(
                    attributes.place,
                    MeshFileProblem::Unsupported { what, remedy },
                ));
            }
        };
        Ok(Decoder {
            order,
            header,
            compressed,
            appended: None,
            bytes_left: size as u64,
            inflated_left: limits.max_bytes,
            max_bytes: limits.max_bytes,
        })
    }

    /// `rest` is what follows the tag `AppendedData`; the data begins after an underscore.
    pub fn set_appended(
        &mut self,
        attributes: &Attributes,
        rest: &'a [u8],
    ) -> Result<(), MeshFileError> {
        let base64 = match attributes.get("encoding") {
            Some("raw") => false,
            None | Some("base64") => true,
            Some(other) => return Err(attributes.unexpected("`raw` or `base64`", other)),
        };
        let bytes = rest.trim_ascii_start().strip_prefix(b"_").ok_or_else(|| {
            let what = "the underscore that begins the appended data".to_string();
            let remedy = "write the file again";
            MeshFileError::new(attributes.place, MeshFileProblem::Missing { what, remedy })
        })?;
        self.appended = Some(Appended { bytes, base64 });
        Ok(())
    }

    pub fn decode(&mut self, array: &Declared, scalar: Scalar) -> Result<Values, MeshFileError> {
        let stream = match array.source {
            Source::Text(mut text) => return read_text(&mut text, scalar),
            Source::Base64(bytes) => Stream {
                bytes,
                base64: true,
            },
            Source::Appended(offset) => {
                let Some(Appended { bytes, base64 }) = self.appended else {
                    let what = format!("the appended data of array `{}`", array.name);
                    let remedy = "the file is truncated: write it again";
                    return Err(MeshFileError::new(
                        array.place,
                        MeshFileProblem::Missing { what, remedy },
                    ));
                };
                let bytes = usize::try_from(offset).ok().and_then(|at| bytes.get(at..));
                let bytes = bytes.ok_or_else(|| {
                    let name = &array.name;
                    let what =
                        format!("array `{name}` begins at {offset}, after the end of the data");
                    inconsistent(array.place, what)
                })?;
                Stream { bytes, base64 }
            }
        };
        let plain = if self.compressed {
            self.inflate(stream, array, scalar)?
        } else {
            let width = self.header.size() as u64;
            let start = self.take(stream, 0, width, array)?;
            let length = self.header_value(&start);
            self.take(stream, width, length, array)?
        };
        read_binary(&plain, scalar, self.order, array)
    }

    fn header_value(&self, bytes: &[u8]) -> u64 {
        let raw = Raw::new(bytes, self.order);
        // Lengths beyond 2⁶³ exceed any file; they only have to stay large.
        raw.integer(self.header).map_or(u64::MAX, i64::unsigned_abs)
    }

    /// Decoded bytes `start..start + length` of a stream.
    fn take(
        &mut self,
        stream: Stream,
        start: u64,
        length: u64,
        array: &Declared,
    ) -> Result<Vec<u8>, MeshFileError> {
        let present = stream.decoded_length();
        if length > present.saturating_sub(start) {
            let problem = MeshFileProblem::Short {
                what: "bytes of array data",
                count: length,
                needed: start.saturating_add(length),
                present,
            };
            return Err(MeshFileError::new(array.place, problem));
        }
        let Some(left) = self.bytes_left.checked_sub(length) else {
            let what = format!("array `{}` overlaps another array", array.name);
            return Err(inconsistent(array.place, what));
        };
        self.bytes_left = left;
        stream
            .decode(start as usize, length as usize)
            .ok_or_else(|| {
                let what = format!(
                    "the base64 text of array `{}` is damaged or cut off",
                    array.name
                );
                inconsistent(array.place, what)
            })
    }

    /// Header `blocks, block size, last block size, compressed sizes…`, then the blocks.
    fn inflate(
        &mut self,
        stream: Stream,
        array: &Declared,
        scalar: Scalar,
    ) -> Result<Vec<u8>, MeshFileError> {
        let width = self.header.size();
        let start = self.take(stream, 0, 3 * width as u64, array)?;
        let mut words = start
            .chunks_exact(width)
            .map(|word| self.header_value(word));
        let mut next = || words.next().unwrap_or_default();
        let (blocks, block_size, last_size) = (next(), next(), next());
        if blocks == 0 {
            return Ok(Vec::new());
        }
        let table_start = 3 * width as u64;
        let table_length = blocks.saturating_mul(width as u64);
        let table = self.take(stream, table_start, table_length, array)?;
        let sizes: Vec<u64> = table
            .chunks_exact(width)
            .map(|word| self.header_value(word))
            .collect();
        let packed_length = sizes
            .iter()
            .fold(0u64, |sum, &size| sum.saturating_add(size));
        let data_start = table_start + table_length;
        let packed = self.take(stream, data_start, packed_length, array)?;
        // A last size of 0 means that the last block is as long as the others.
        let last_size = if last_size == 0 {
            block_size
        } else {
            last_size
        };
        let total = (blocks - 1)
            .saturating_mul(block_size)
            .saturating_add(last_size);
        let refuse = |problem| Err(MeshFileError::new(array.place, problem));
        // Numbers of every type take eight bytes in memory.
        let in_memory = total.saturating_mul(8 / scalar.size() as u64);
        if in_memory > self.inflated_left {
            return refuse(MeshFileProblem::TooMany {
                what: "bytes of uncompressed array data",
                count: in_memory,
                limit: self.max_bytes,
            });
        }
        if total > packed_length.saturating_mul(BEST_RATIO) {
            return refuse(MeshFileProblem::Short {
                what: "bytes of uncompressed array data",
                count: total,
                needed: total / BEST_RATIO,
                present: packed_length,
            });
        }
        self.inflated_left -= in_memory;
        let mut plain = Vec::new();
        let mut rest: &[u8] = &packed;
        for (block, &size) in sizes.iter().enumerate() {
            let (bytes, after) = rest.split_at((size as usize).min(rest.len()));
            rest = after;
            let due = if block as u64 + 1 == blocks {
                last_size
            } else {
                block_size
            };
            let inflated = decompress_to_vec_zlib_with_limit(bytes, due as usize).ok();
            match inflated.filter(|inflated| inflated.len() as u64 == due) {
                Some(inflated) => plain.extend_from_slice(&inflated),
                None => {
                    let what = format!(
                        "block {block} of array `{}` does not inflate to {due} bytes",
                        array.name
                    );
                    return Err(inconsistent(array.place, what));
                }
            }
        }
        Ok(plain)
    }
}

fn read_text(text: &mut Cursor, scalar: Scalar) -> Result<Values, MeshFileError> {
    if scalar.is_real() {
        let mut values = Vec::new();
        while let Some(token) = text.next() {
            values.push(token.real("a number")?);
        }
        return Ok(Values::Real(values));
    }
    let mut values = Vec::new();
    while let Some(token) = text.next() {
        values.push(token.integer("an integer")?);
    }
    Ok(Values::Integer(values))
}

fn read_binary(
    bytes: &[u8],
    scalar: Scalar,
    order: Encoding,
    array: &Declared,
) -> Result<Values, MeshFileError> {
    let words = bytes.chunks_exact(scalar.size());
    if !words.remainder().is_empty() {
        let what = format!(
            "array `{}` holds {} bytes, which is not a multiple of {}",
            array.name,
            bytes.len(),
            scalar.size()
        );
        return Err(inconsistent(array.place, what));
    }
    let words = words.map(|word| Raw::new(word, order));
    if scalar.is_real() {
        return Ok(Values::Real(words.map(|raw| raw.real(scalar)).collect()));
    }
    let values: Option<Vec<i64>> = words.map(|raw| raw.integer(scalar)).collect();
    values.map(Values::Integer).ok_or_else(|| {
        let what = format!("array `{}` holds an integer beyond 2^63", array.name);
        inconsistent(array.place, what)
    })
}

impl Stream<'_> {
    /// The most bytes that can be decoded.
    fn decoded_length(self) -> u64 {
        let length = self.bytes.len() as u64;
        if self.base64 {
            length / 4 * 3 + 3
        } else {
            length
        }
    }

    /// Bytes `start..start + length`; `None` if the text is damaged or too short.
    ///
    /// Base64 text may be padded in the middle: writers encode the header and the data as two
    /// texts or as one. Decoding group by group reads both the same way.
    fn decode(self, start: usize, length: usize) -> Option<Vec<u8>> {
        let end = start.checked_add(length)?;
        if !self.base64 {
            return self.bytes.get(start..end).map(<[u8]>::to_vec);
        }
        let mut out = Vec::with_capacity(length);
        let mut seen = 0;
        let mut digits = self
            .bytes
            .iter()
            .filter(|byte| !byte.is_ascii_whitespace())
            .take_while(|&&byte| byte != b'<');
        while seen < end {
            let mut group = 0;
            let mut count = 0;
            for position in 0..4 {
                let digit = *digits.next()?;
                if digit == b'=' {
                    group <<= 6;
                    continue;
                }
                // Nothing but padding may follow padding.
                if count < position {
                    return None;
                }
                group = group << 6 | sextet(digit)?;
                count += 1;
            }
            let [_, bytes @ ..] = u32::to_be_bytes(group);
            let whole = match count {
                4 => 3,
                3 => 2,
                2 => 1,
                _ => return None,
            };
            for byte in &bytes[..whole] {
                if (start..end).contains(&seen) {
                    out.push(*byte);
                }
                seen += 1;
            }
        }
        Some(out)
    }
}
