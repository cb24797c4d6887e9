//! STL: text and binary. Corners with equal coordinates become one vertex; nothing is rounded.
//! Each named solid of a text file is a group. Normals are skipped: the corners give them.

use std::collections::HashMap;

use super::bytes::{Cursor, Encoding, Scalar};
use super::error::{FileLocation, MeshFileError, MeshFileProblem};
use super::soup::Soup;
use super::{MeshFile, MeshLimits};

/// Bytes before the triangles of a binary file: a free comment and the count.
const HEADER: usize = 84;
/// Bytes per triangle: normal, three corners, attribute.
const RECORD: usize = 50;

/// Reads an STL file, text or binary.
///
/// Many binary files begin with the word `solid` too. The size settles it: a file that is exactly
/// as long as its binary header says is binary; after that, a text file is one that begins with
/// `solid`, goes on with `facet` or `endsolid` and holds no zero byte in its first kilobyte.
pub fn read(bytes: &[u8], limits: &MeshLimits) -> Result<MeshFile, MeshFileError> {
    let cursor = Cursor::new(bytes)?;
    if is_exactly_binary(bytes) || !looks_like_text(bytes) {
        read_binary(bytes, limits)
    } else {
        read_text(cursor, bytes.len(), limits)
    }
}

fn declared_triangles(bytes: &[u8]) -> Option<u64> {
    let count: [u8; 4] = bytes.get(HEADER - 4..HEADER)?.try_into().ok()?;
    Some(u64::from(u32::from_le_bytes(count)))
}

fn is_exactly_binary(bytes: &[u8]) -> bool {
    declared_triangles(bytes)
        .is_some_and(|n| n.checked_mul(RECORD as u64) == Some((bytes.len() - HEADER) as u64))
}

fn looks_like_text(bytes: &[u8]) -> bool {
    let start = bytes.trim_ascii_start();
    let start = &start[..start.len().min(1024)];
    let has = |word: &[u8]| {
        start
            .windows(word.len())
            .any(|w| w.eq_ignore_ascii_case(word))
    };
    start
        .get(..5)
        .is_some_and(|w| w.eq_ignore_ascii_case(b"solid"))
        && !start.contains(&0)
        && (has(b"facet") || has(b"endsolid") || bytes.len() < HEADER)
}

fn read_binary(bytes: &[u8], limits: &MeshLimits) -> Result<MeshFile, MeshFileError> {
    let Some(declared) = declared_triangles(bytes) else {
        let expected = "the 84-byte header of a binary STL file";
        let place = FileLocation::Byte {
            offset: bytes.len(),
        };
        return Err(MeshFileError::new(
            place,
            MeshFileProblem::Ended { expected },
        ));
    };
    let place = FileLocation::Byte { offset: HEADER - 4 };
    let mut cursor = Cursor::new(bytes)?;
    cursor.take(HEADER, "the header")?;
    let count = cursor.check_count(
        "triangles",
        declared,
        RECORD as u64,
        limits.max_elements,
        place,
    )?;
    let present = (cursor.remaining() / RECORD as u64) as usize;
    // A few stray bytes at the end are harmless, whole triangles that would be dropped are not.
    if present != count {
        let what = format!("the header declares {count} triangles, but {present} follow");
        let remedy = "the header lies or the file was damaged: export the mesh again";
        return Err(MeshFileError::new(
            place,
            MeshFileProblem::Inconsistent { what, remedy },
        ));
    }
    let mut soup = Soup::new(limits, bytes.len());
    let mut weld = Weld::default();
    for number in 0..declared {
        let at_triangle = |error: MeshFileError| error.at("triangle", number);
        cursor.take(12, "a normal").map_err(at_triangle)?;
        let mut corners = [0; 3];
        for corner in &mut corners {
            let place = cursor.byte_place();
            let position = cursor.position3(Scalar::F32, Encoding::Little, weld.seen)?;
            *corner = weld.vertex(position, &mut soup, place)?;
        }
        cursor.take(2, "an attribute").map_err(at_triangle)?;
        soup.push_polygon(&corners, cursor.byte_place())?;
    }
    soup.finish()
}

fn read_text(
    mut cursor: Cursor,
    size: usize,
    limits: &MeshLimits,
) -> Result<MeshFile, MeshFileError> {
    let mut soup = Soup::new(limits, size);
    let mut weld = Weld::default();
    let mut group = None;
    let mut open = false;
    let mut number = 0;
    while let Some(word) = cursor.next() {
        if word.is("solid") {
            let name = cursor.rest_of_line().text;
            group = (!name.is_empty()).then(|| soup.groups.named(name));
            open = true;
        } else if word.is("endsolid") {
            cursor.rest_of_line();
            group = None;
            open = false;
        } else if word.is("facet") {
            let corners = read_facet(&mut cursor, &mut weld, &mut soup).map_err(|e| {
                if e.element().is_none() {
                    e.at("triangle", number)
                } else {
                    e
                }
            })?;
            soup.push_polygon(&corners, word.place)?;
            if let Some(group) = group {
                soup.groups.add(group, &corners, word.place)?;
            }
            number += 1;
        } else {
            return Err(word.unexpected("`facet`, `solid` or `endsolid`"));
        }
    }
    if open {
        let expected = "`facet` or `endsolid`";
        return Err(MeshFileError::new(
            cursor.text_place(),
            MeshFileProblem::Ended { expected },
        ));
    }
    soup.finish()
}

/// Reads from `facet` to `endfacet`, both included.
fn read_facet(
    cursor: &mut Cursor,
    weld: &mut Weld,
    soup: &mut Soup,
) -> Result<[u32; 3], MeshFileError> {
    cursor.keyword("normal")?;
    // Not parsed: programs write `nan` here for thin triangles, and nobody needs it.
    for _ in 0..3 {
        cursor.token("a normal")?;
    }
    cursor.keyword("outer")?;
    cursor.keyword("loop")?;
    let mut corners = [0; 3];
    for corner in &mut corners {
        let place = cursor.keyword("vertex")?.place;
        let position = cursor.position3(Scalar::F64, Encoding::Text, weld.seen)?;
        *corner = weld.vertex(position, soup, place)?;
    }
    cursor.keyword("endloop")?;
    cursor.keyword("endfacet")?;
    Ok(corners)
}

/// Finds the vertex with given coordinates. The map is only looked up, never walked, so its
/// random order cannot show.
#[derive(Default)]
struct Weld {
    by_bits: HashMap<[u64; 3], u32>,
    /// Corners so far: how STL counts vertices in an error.
    seen: u64,
}

impl Weld {
    fn vertex(
        &mut self,
        position: [f64; 3],
        soup: &mut Soup,
        place: FileLocation,
    ) -> Result<u32, MeshFileError> {
        self.seen += 1;
        // Adding zero turns −0 into +0, which is the same place.
        let position = position.map(|x| x + 0.0);
        let key = position.map(f64::to_bits);
        if let Some(&vertex) = self.by_bits.get(&key) {
            return Ok(vertex);
        }
        let vertex = soup.positions.len() as u32;
        soup.push_position(position, place)?;
        self.by_bits.insert(key, vertex);
        Ok(vertex)
    }
}
