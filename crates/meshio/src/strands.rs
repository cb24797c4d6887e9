//! Strand files: polylines as text or as bytes, see `docs/strands.md`.

use std::{
    fmt::Write as _,
    fs,
    path::{Path, PathBuf},
};

use stiction_geometry::Strands;
use stiction_math::{Vec3, checksum::crc32};

use super::{
    MeshLimits,
    bytes::{Cursor, Encoding, Scalar, finite},
    error::{FileLocation, MeshFileError, MeshFileProblem},
    read_bytes,
};

/// Format of strand files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StrandFormat {
    /// Text, exact.
    Text,
    /// Bytes with 64-bit coordinates, exact.
    Double,
    /// Bytes with 32-bit coordinates: half the size, seven digits.
    Single,
}

/// First bytes of the binary form.
const MAGIC: &[u8; 8] = b"STRANDS\0";
const VERSION: u32 = 1;
/// Bytes of a binary file before its counts.
const HEADER: usize = 8 + 4 + 4 + 8 + 8;
/// Bytes of the sum at its end.
const SUM: usize = 4;

/// Reads the strand file at `path`, in whichever form it is.
pub fn load(path: &Path, limits: &MeshLimits) -> Result<Strands, MeshFileError> {
    read(&read_bytes(path, limits)?, limits).map_err(|error| error.in_file(path))
}

/// Reads strands in whichever form they are.
pub fn read(bytes: &[u8], limits: &MeshLimits) -> Result<Strands, MeshFileError> {
    // A file that is cut off inside the eight bytes is binary all the same.
    if bytes.starts_with(b"STRANDS") || (MAGIC.starts_with(bytes) && !bytes.is_empty()) {
        read_binary(bytes, limits)
    } else {
        read_text(bytes, limits)
    }
}

fn read_text(bytes: &[u8], limits: &MeshLimits) -> Result<Strands, MeshFileError> {
    let mut cursor = Cursor::new(bytes)?.with_hash_comments();
    cursor.keyword("strands")?;
    let version = cursor.token("the version of the format")?;
    if version.count("the version of the format")? != u64::from(VERSION) {
        return Err(version.unexpected("version 1"));
    }
    let mut strands = Strands::default();
    loop {
        let word = cursor.token("`strand` or `end`")?;
        if word.is("end") {
            break;
        }
        if !word.is("strand") {
            return Err(word.unexpected("`strand` or `end`"));
        }
        let number = strands.len() as u64 + 1;
        let count = cursor.token("the number of points");
        let named = |error: MeshFileError| error.at("strand", number);
        let count = count.map_err(named)?;
        let place = count.place;
        let count = count.count("the number of points").map_err(named)?;
        let present = strands.points.len() as u64;
        let total = present.saturating_add(count);
        limit("points", total, limits.max_nodes, place).map_err(named)?;
        limit("strands", number, limits.max_elements, place).map_err(named)?;
        let least = 3 * Encoding::Text.least_bytes(Scalar::F64);
        cursor
            .check_count("points", count, least, u64::MAX, place)
            .map_err(named)?;
        let start = strands.points.len();
        let mut last = place;
        for _ in 0..count {
            let mut point = Vec3::zeros();
            for (value, axis) in point.iter_mut().zip(['x', 'y', 'z']) {
                let (real, place) = cursor
                    .real(Scalar::F64, Encoding::Text, "a coordinate")
                    .map_err(named)?;
                *value = finite(real, axis, 0, place).map_err(named)?;
                last = place;
            }
            strands.points.push(point);
            check(&strands.points[start..], last).map_err(named)?;
        }
        enough(count, place).map_err(named)?;
        strands.starts.push(strands.points.len() as u32);
    }
    match cursor.next() {
        Some(word) => Err(word.unexpected("nothing behind `end`")),
        None => Ok(strands),
    }
}

fn read_binary(bytes: &[u8], limits: &MeshLimits) -> Result<Strands, MeshFileError> {
    let mut cursor = Cursor::new(bytes)?;
    let little = Encoding::Little;
    let magic = cursor.take(MAGIC.len(), "the name of the format")?;
    if magic != MAGIC {
        let what = "the file does not begin with `STRANDS` and a zero byte".to_string();
        return Err(broken(FileLocation::Byte { offset: 0 }, what));
    }
    let (version, place) = cursor.count(Scalar::U32, little, "the version")?;
    if version != u64::from(VERSION) {
        let what = format!("version {version} of the format");
        let remedy = "write the strands in version 1";
        return Err(MeshFileError::new(
            place,
            MeshFileProblem::Unsupported { what, remedy },
        ));
    }
    let (width, place) = cursor.count(Scalar::U32, little, "the width of a coordinate")?;
    let scalar = match width {
        4 => Scalar::F32,
        8 => Scalar::F64,
        _ => {
            let what = format!("a coordinate has {width} bytes, but can have 4 or 8");
            return Err(broken(place, what));
        }
    };
    let (count, place) = cursor.count(Scalar::U64, little, "the number of strands")?;
    cursor.check_count("strands", count, 4, limits.max_elements, place)?;
    let (total, place) = cursor.count(Scalar::U64, little, "the number of points")?;
    cursor.check_count("points", total, 3 * width, limits.max_nodes, place)?;
    limit("points", total, u64::from(u32::MAX), place)?;
    // Both are within limits, so that nothing overflows.
    let expected = HEADER as u64 + 4 * count + 3 * width * total + SUM as u64;
    if expected != bytes.len() as u64 {
        let place = FileLocation::Byte {
            offset: bytes.len(),
        };
        let what = format!(
            "{count} strands of {total} points take {expected} bytes, but the file has {}",
            bytes.len()
        );
        return Err(broken(place, what));
    }
    let (body, sum) = bytes.split_at(bytes.len() - SUM);
    if crc32(body).to_le_bytes() != *sum {
        let what = "the sum of the file is not the one it names".to_string();
        return Err(broken(FileLocation::Byte { offset: body.len() }, what));
    }
    let mut strands = Strands {
        points: Vec::with_capacity(total as usize),
        starts: Vec::with_capacity(count as usize + 1),
    };
    strands.starts.push(0);
    let mut end = 0u64;
    for s in 0..count {
        let (points, place) = cursor.count(Scalar::U32, little, "the points of a strand")?;
        enough(points, place).map_err(|e| e.at("strand", s + 1))?;
        end += points;
        if end > total {
            let what = format!("its points go beyond the {total} of the file");
            return Err(broken(place, what).at("strand", s + 1));
        }
        strands.starts.push(end as u32);
    }
    if end != total {
        let what = format!("the strands have {end} points, but the file {total}");
        return Err(broken(cursor.byte_place(), what));
    }
    for s in 0..count as usize {
        let start = strands.points.len();
        for _ in strands.starts[s]..strands.starts[s + 1] {
            let place = cursor.byte_place();
            let point = cursor.position3(scalar, little, 0);
            let point = point.map_err(|e| e.at("strand", s as u64 + 1))?;
            strands.points.push(Vec3::from(point));
            check(&strands.points[start..], place).map_err(|e| e.at("strand", s as u64 + 1))?;
        }
    }
    Ok(strands)
}

fn broken(place: FileLocation, what: String) -> MeshFileError {
    let remedy = "the file is truncated or corrupt: copy or write it again";
    MeshFileError::new(place, MeshFileProblem::Inconsistent { what, remedy })
}

fn limit(
    what: &'static str,
    count: u64,
    limit: u64,
    place: FileLocation,
) -> Result<(), MeshFileError> {
    if count > limit {
        return Err(MeshFileError::new(
            place,
            MeshFileProblem::TooMany { what, count, limit },
        ));
    }
    Ok(())
}

fn enough(points: u64, place: FileLocation) -> Result<(), MeshFileError> {
    if points >= 2 {
        return Ok(());
    }
    let what = format!("a strand of {points} points has no segment");
    let remedy = "give it at least two points, or leave it out";
    Err(MeshFileError::new(
        place,
        MeshFileProblem::Inconsistent { what, remedy },
    ))
}

/// Refuses a last segment without length.
fn check(strand: &[Vec3], place: FileLocation) -> Result<(), MeshFileError> {
    match strand {
        [.., a, b] if a == b => {
            let what = format!(
                "points {} and {} are in one place",
                strand.len() - 1,
                strand.len()
            );
            let remedy = "remove one of the two points";
            Err(MeshFileError::new(
                place,
                MeshFileProblem::Inconsistent { what, remedy },
            ))
        }
        _ => Ok(()),
    }
}

/// Strands as they are written to a file.
pub fn write(strands: &Strands, form: StrandFormat) -> Vec<u8> {
    match form {
        StrandFormat::Text => text(strands).into_bytes(),
        StrandFormat::Double => binary(strands, |out, x| out.extend(x.to_le_bytes()), 8),
        StrandFormat::Single => binary(strands, |out, x| out.extend((x as f32).to_le_bytes()), 4),
    }
}

/// Writes strands to a file, which appears when it is whole.
pub fn save(path: &Path, strands: &Strands, form: StrandFormat) -> Result<(), MeshFileError> {
    let mut partial = path.as_os_str().to_owned();
    partial.push(".partial");
    let partial = PathBuf::from(partial);
    let written =
        fs::write(&partial, write(strands, form)).and_then(|()| fs::rename(&partial, path));
    written.map_err(|error| {
        // What is half-written is of no use; that it may not be there either is no matter.
        let _ = fs::remove_file(&partial);
        let reason = error.to_string();
        MeshFileError::new(FileLocation::File, MeshFileProblem::Unwritable { reason }).in_file(path)
    })
}

fn text(strands: &Strands) -> String {
    let mut out = format!("strands {VERSION}\n");
    for s in 0..strands.len() {
        let points = strands.strand(s);
        // Writing to a string cannot fail.
        let _ = writeln!(out, "strand {}", points.len());
        for p in points {
            let _ = writeln!(out, "{} {} {}", p.x, p.y, p.z);
        }
    }
    out.push_str("end\n");
    out
}

fn binary(strands: &Strands, put: impl Fn(&mut Vec<u8>, f64), width: usize) -> Vec<u8> {
    let (count, total) = (strands.len(), strands.points.len());
    let mut out = Vec::with_capacity(HEADER + 4 * count + 3 * width * total + SUM);
    out.extend(MAGIC);
    out.extend(VERSION.to_le_bytes());
    out.extend((width as u32).to_le_bytes());
    out.extend((count as u64).to_le_bytes());
    out.extend((total as u64).to_le_bytes());
    for pair in strands.starts.windows(2) {
        out.extend((pair[1] - pair[0]).to_le_bytes());
    }
    for x in strands.points.iter().flat_map(|p| [p.x, p.y, p.z]) {
        put(&mut out, x);
    }
    let sum = crc32(&out);
    out.extend(sum.to_le_bytes());
    out
}
