//! The two halves of a glTF file: JSON and bytes, and the numbers that accessors find in them.

use serde_json::Value;

use super::{fault, inconsistent, unsupported};
use crate::MeshLimits;
use crate::bytes::sextet;
use crate::error::{MeshFileError, MeshFileProblem};

/// A parsed file.
pub(super) struct Document {
    pub json: Value,
    buffers: Vec<Vec<u8>>,
}

/// The array at `key`; empty if it is absent or something else.
pub(super) fn items<'a>(of: &'a Value, key: &str) -> &'a [Value] {
    of.get(key)
        .and_then(Value::as_array)
        .map_or(&[], Vec::as_slice)
}

/// A number that counts something.
pub(super) fn index(value: &Value) -> Option<usize> {
    value.as_u64().and_then(|i| usize::try_from(i).ok())
}

const JSON: &[u8] = b"JSON";
const BIN: &[u8] = b"BIN\0";

/// Components of an accessor.
#[derive(Clone, Copy)]
struct Component {
    size: usize,
    read: fn(&[u8]) -> f64,
    /// The number that stands for one where integers are normalised.
    one: f64,
}

/// Bytes of a fixed length from the start of a slice; zeros where it is too short.
fn array<const N: usize>(bytes: &[u8]) -> [u8; N] {
    let mut out = [0; N];
    for (to, from) in out.iter_mut().zip(bytes) {
        *to = *from;
    }
    out
}

fn component_of(kind: u64) -> Option<Component> {
    let made = |size, read, one| Some(Component { size, read, one });
    match kind {
        5120 => made(1, |b| f64::from(i8::from_le_bytes(array(b))), 127.0),
        5121 => made(1, |b| f64::from(u8::from_le_bytes(array(b))), 255.0),
        5122 => made(2, |b| f64::from(i16::from_le_bytes(array(b))), 32767.0),
        5123 => made(2, |b| f64::from(u16::from_le_bytes(array(b))), 65535.0),
        5125 => made(4, |b| f64::from(u32::from_le_bytes(array(b))), 1.0),
        5126 => made(4, |b| f64::from(f32::from_le_bytes(array(b))), 1.0),
        _ => None,
    }
}

impl Document {
    pub fn parse(bytes: &[u8], limits: &MeshLimits) -> Result<Self, MeshFileError> {
        let (text, chunk) = match bytes.starts_with(b"glTF") {
            true => chunks(bytes)?,
            false => (bytes, None),
        };
        if text.iter().all(u8::is_ascii_whitespace) {
            return Err(fault(MeshFileProblem::Empty));
        }
        let json: Value = serde_json::from_slice(text)
            .map_err(|error| inconsistent(format!("its JSON is damaged: {error}")))?;
        let version = json.get("asset").and_then(|a| a.get("version"));
        match version.and_then(Value::as_str) {
            Some(v) if v.starts_with("2.") => {}
            other => {
                let what = format!("glTF of version {}", other.unwrap_or("unknown"));
                return Err(unsupported(what, "export it as glTF 2.0"));
            }
        }
        let mut buffers = Vec::new();
        for (i, buffer) in items(&json, "buffers").iter().enumerate() {
            let length = buffer.get("byteLength").and_then(index).unwrap_or(0);
            let data = match (buffer.get("uri").and_then(Value::as_str), chunk) {
                (Some(uri), _) => data_uri(uri, limits)?,
                (None, Some(chunk)) if i == 0 => chunk.to_vec(),
                _ => return Err(inconsistent(format!("buffer {i} has no data"))),
            };
            if data.len() < length {
                return Err(inconsistent(format!(
                    "buffer {i} has {} of its {length} bytes",
                    data.len()
                )));
            }
            buffers.push(data);
        }
        Ok(Self { json, buffers })
    }

    /// The values of an accessor, `N` numbers to an entry.
    pub fn values<const N: usize>(
        &self,
        accessor: usize,
        limits: &MeshLimits,
    ) -> Result<Vec<[f64; N]>, MeshFileError> {
        let wrong = |what: &str| inconsistent(format!("accessor {accessor} {what}"));
        let all = items(&self.json, "accessors");
        let of = all.get(accessor).ok_or_else(|| wrong("does not exist"))?;
        let number = |v: &Value, key| v.get(key).and_then(index);
        if of.get("sparse").is_some() {
            let remedy = "export without sparse accessors";
            return Err(unsupported(
                format!("accessor {accessor}, which is sparse,"),
                remedy,
            ));
        }
        let count = number(of, "count").ok_or_else(|| wrong("has no count"))?;
        let most = limits.max_elements.saturating_mul(3);
        if count as u64 > most {
            let (what, count, limit) = ("entries of an accessor", count as u64, most);
            return Err(fault(MeshFileProblem::TooMany { what, count, limit }));
        }
        let kind = of.get("type").and_then(Value::as_str).unwrap_or("");
        let width = match kind {
            "SCALAR" => 1,
            "VEC2" => 2,
            "VEC3" => 3,
            "VEC4" => 4,
            "MAT4" => 16,
            _ => 0,
        };
        if width != N {
            return Err(wrong(&format!(
                "has the type `{kind}`, which does not fit its use"
            )));
        }
        let component = of.get("componentType").and_then(Value::as_u64);
        let component = component
            .and_then(component_of)
            .ok_or_else(|| wrong("has an unknown type of components"))?;
        let scale = match of.get("normalized").and_then(Value::as_bool) {
            Some(true) => 1.0 / component.one,
            _ => 1.0,
        };
        let Some(view) = number(of, "bufferView") else {
            // The format's zeros, which take no bytes of the file: as many as it has bytes are allowed.
            let bytes: usize = self.buffers.iter().map(Vec::len).sum();
            return match count <= bytes {
                true => Ok(vec![[0.0; N]; count]),
                false => Err(wrong("has no data")),
            };
        };
        let views = items(&self.json, "bufferViews");
        let view = views
            .get(view)
            .ok_or_else(|| wrong("names a view that does not exist"))?;
        let buffer = number(view, "buffer").and_then(|b| self.buffers.get(b));
        let buffer = buffer.ok_or_else(|| wrong("names a buffer that does not exist"))?;
        let size = component.size * N;
        let stride = number(view, "byteStride").unwrap_or(size);
        if stride < size {
            return Err(wrong("has entries closer than they are long"));
        }
        let start = number(view, "byteOffset").unwrap_or(0);
        let length = number(view, "byteLength").unwrap_or(0);
        let bytes = start
            .checked_add(length)
            .and_then(|end| buffer.get(start..end))
            .ok_or_else(|| wrong("has a view that is longer than its buffer"))?;
        let offset = number(of, "byteOffset").unwrap_or(0);
        let needed = (count.saturating_sub(1))
            .checked_mul(stride)
            .and_then(|n| n.checked_add(size)?.checked_add(offset));
        if count > 0 && needed.is_none_or(|n| n > bytes.len()) {
            return Err(wrong("is longer than its view"));
        }
        let mut values = Vec::with_capacity(count);
        for i in 0..count {
            let at = offset + i * stride;
            let mut entry = [0.0; N];
            for (k, x) in entry.iter_mut().enumerate() {
                *x = (component.read)(&bytes[at + k * component.size..]) * scale;
                if !x.is_finite() {
                    return Err(wrong(&format!("has the number {x} in entry {i}")));
                }
            }
            values.push(entry);
        }
        Ok(values)
    }
}

/// JSON and binary chunk of a `.glb` file.
fn chunks(bytes: &[u8]) -> Result<(&[u8], Option<&[u8]>), MeshFileError> {
    let word = |at: usize| {
        let bytes = bytes.get(at..at.checked_add(4)?)?;
        Some(u32::from_le_bytes(array(bytes)) as usize)
    };
    let ended = || {
        let expected = "a chunk";
        fault(MeshFileProblem::Ended { expected })
    };
    match word(4) {
        Some(2) => {}
        Some(version) => {
            let what = format!("a binary glTF file of version {version}");
            return Err(unsupported(what, "export it as glTF 2.0"));
        }
        None => return Err(ended()),
    }
    let (mut text, mut data, mut at) = (None, None, 12usize);
    while let Some(length) = word(at) {
        let kind = bytes.get(at + 4..at + 8).ok_or_else(ended)?;
        let body = at + 8;
        let end = body.checked_add(length).ok_or_else(ended)?;
        let chunk = bytes.get(body..end).ok_or_else(ended)?;
        match kind {
            JSON if text.is_none() => text = Some(chunk),
            BIN if data.is_none() => data = Some(chunk),
            _ => {}
        }
        at = end;
    }
    Ok((text.ok_or_else(ended)?, data))
}

/// The bytes of a `data:` address.
fn data_uri(uri: &str, limits: &MeshLimits) -> Result<Vec<u8>, MeshFileError> {
    let Some((_, text)) = uri
        .strip_prefix("data:")
        .and_then(|rest| rest.split_once(";base64,"))
    else {
        let remedy = "export it as one binary file (.glb), or with embedded buffers";
        return Err(unsupported("a buffer outside the file", remedy));
    };
    if text.len() as u64 > limits.max_bytes {
        let (what, count, limit) = ("bytes", text.len() as u64, limits.max_bytes);
        return Err(fault(MeshFileProblem::TooMany { what, count, limit }));
    }
    let (mut bits, mut count) = (0u32, 0);
    let mut out = Vec::with_capacity(text.len() / 4 * 3);
    for digit in text.bytes().take_while(|&b| b != b'=') {
        let six = sextet(digit).ok_or_else(|| inconsistent("its base64 data are damaged"))?;
        bits = bits << 6 | six;
        count += 6;
        if count >= 8 {
            count -= 8;
            out.push((bits >> count) as u8);
            bits &= (1 << count) - 1;
        }
    }
    Ok(out)
}
