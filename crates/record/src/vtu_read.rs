//! Reader of the VTU files written here, for tests of the writer.

use crate::RecordError;
use crate::frame::Cells;
use crate::xml::{Tag, tags};
use std::fs;
use std::path::Path;
use stiction_math::Vec3;

/// A frame as read from a VTU file.
#[derive(Clone, Debug, PartialEq)]
pub struct StoredFrame {
    /// Time of the frame [s], if the file gives one.
    pub time: Option<f64>,
    /// Vertex positions [m].
    pub positions: Vec<Vec3>,
    /// Connectivity of the vertices.
    pub cells: StoredCells,
    /// Named values, one per vertex.
    pub point_data: Vec<(String, StoredData)>,
    /// Named values, one per cell.
    pub cell_data: Vec<(String, StoredData)>,
    /// Named values of the frame as a whole, without the time.
    pub field_data: Vec<(String, StoredData)>,
}

/// Owned counterpart of [`Cells`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StoredCells {
    /// A surface.
    Triangles(Vec<[u32; 3]>),
    /// A volume.
    Tets(Vec<[u32; 4]>),
    /// Line segments.
    Lines(Vec<[u32; 2]>),
    /// Every vertex is a cell.
    Points,
}

impl StoredCells {
    /// Borrows the cells.
    pub fn as_cells(&self) -> Cells<'_> {
        match self {
            Self::Triangles(cells) => Cells::Triangles(cells),
            Self::Tets(cells) => Cells::Tets(cells),
            Self::Lines(cells) => Cells::Lines(cells),
            Self::Points => Cells::Points,
        }
    }
}

/// Owned counterpart of [`crate::Data`].
#[derive(Clone, Debug, PartialEq)]
pub enum StoredData {
    /// One number per entry.
    Scalars(Vec<f64>),
    /// Three numbers per entry.
    Vectors(Vec<Vec3>),
    /// One integer per entry.
    Ints(Vec<i64>),
}

impl StoredData {
    fn len(&self) -> usize {
        match self {
            Self::Scalars(values) => values.len(),
            Self::Vectors(values) => values.len(),
            Self::Ints(values) => values.len(),
        }
    }
}

/// Reads a VTU file written by [`crate::write_vtu`], in either encoding. Files of other programs
/// (compressed, base64, mixed cells) are refused with the reason.
pub fn read_vtu(path: &Path) -> Result<StoredFrame, RecordError> {
    let bytes = fs::read(path).map_err(|error| RecordError::io("read", path, error))?;
    parse(&bytes).map_err(|reason| RecordError::malformed(path, reason))
}

const MARK: &[u8] = b"<AppendedData encoding=\"raw\">";

fn parse(bytes: &[u8]) -> Result<StoredFrame, String> {
    let (head, appended) = match bytes.windows(MARK.len()).position(|window| window == MARK) {
        Some(at) => {
            let tail = &bytes[at + MARK.len()..];
            let start = tail.iter().position(|&byte| byte == b'_');
            let start = start.ok_or("the appended data do not begin with \"_\"")? + 1;
            (&bytes[..at], &tail[start..])
        }
        None => (bytes, &[][..]),
    };
    let head = std::str::from_utf8(head).map_err(|_| "its head is not UTF-8 text")?;
    let mut sections = Sections::default();
    let mut group = "";
    for tag in tags(head) {
        match tag.name {
            "VTKFile" => {
                let expected = [
                    ("type", "UnstructuredGrid"),
                    ("byte_order", "LittleEndian"),
                    ("header_type", "UInt64"),
                ];
                for (key, value) in expected {
                    if tag.get(key).as_deref() != Some(value) {
                        return Err(format!("expected {key}=\"{value}\""));
                    }
                }
                if tag.get("compressor").is_some() {
                    return Err("its data are compressed".into());
                }
            }
            "Piece" => {
                let counts = tag.parse("NumberOfPoints").zip(tag.parse("NumberOfCells"));
                if sections
                    .counts
                    .replace(counts.ok_or("a piece without counts")?)
                    .is_some()
                {
                    return Err("it has more than one piece".into());
                }
            }
            "FieldData" | "PointData" | "CellData" | "Points" | "Cells" => group = tag.name,
            "DataArray" => sections.add(group, &tag, appended)?,
            _ => {}
        }
    }
    sections.into_frame()
}

#[derive(Default)]
struct Sections {
    counts: Option<(usize, usize)>,
    points: Option<StoredData>,
    connectivity: Option<Vec<i64>>,
    offsets: Option<Vec<i64>>,
    types: Option<Vec<i64>>,
    point_data: Vec<(String, StoredData)>,
    cell_data: Vec<(String, StoredData)>,
    field_data: Vec<(String, StoredData)>,
}

impl Sections {
    fn add(&mut self, group: &str, tag: &Tag, appended: &[u8]) -> Result<(), String> {
        let name = tag.get("Name").unwrap_or_default();
        let data = array(tag, appended).map_err(|reason| format!("array \"{name}\": {reason}"))?;
        match (group, name.as_str(), data) {
            ("FieldData", _, data) => self.field_data.push((name, data)),
            ("PointData", _, data) => self.point_data.push((name, data)),
            ("CellData", _, data) => self.cell_data.push((name, data)),
            ("Points", _, data) => self.points = Some(data),
            ("Cells", "connectivity", StoredData::Ints(data)) => self.connectivity = Some(data),
            ("Cells", "offsets", StoredData::Ints(data)) => self.offsets = Some(data),
            ("Cells", "types", StoredData::Ints(data)) => self.types = Some(data),
            _ => return Err(format!("array \"{name}\" is out of place")),
        }
        Ok(())
    }

    fn into_frame(mut self) -> Result<StoredFrame, String> {
        let (points, cells) = self.counts.ok_or("it has no piece")?;
        let Some(StoredData::Vectors(positions)) = self.points.take() else {
            return Err("its points are not vectors of Float64".into());
        };
        if positions.len() != points {
            return Err(format!(
                "{points} points announced, {} found",
                positions.len()
            ));
        }
        for (columns, expected) in [(&self.point_data, points), (&self.cell_data, cells)] {
            for (name, data) in columns {
                let len = data.len();
                if len != expected {
                    return Err(format!(
                        "array \"{name}\" has {len} entries, expected {expected}"
                    ));
                }
            }
        }
        let mut time = None;
        self.field_data.retain(|(name, data)| match data {
            StoredData::Scalars(values) if name == "TimeValue" && values.len() == 1 => {
                time = Some(values[0]);
                false
            }
            _ => true,
        });
        let missing = || "connectivity, offsets or types are missing".to_string();
        let connectivity = self.connectivity.ok_or_else(missing)?;
        let offsets = self.offsets.ok_or_else(missing)?;
        let types = self.types.ok_or_else(missing)?;
        if types.len() != cells || offsets.len() != cells {
            return Err(format!("{cells} cells announced, {} found", types.len()));
        }
        let stored = match types.first() {
            None | Some(1) => {
                check_cells::<1>(&connectivity, &offsets, &types, 1, points)?;
                StoredCells::Points
            }
            Some(3) => StoredCells::Lines(check_cells(&connectivity, &offsets, &types, 3, points)?),
            Some(5) => {
                StoredCells::Triangles(check_cells(&connectivity, &offsets, &types, 5, points)?)
            }
            Some(10) => {
                StoredCells::Tets(check_cells(&connectivity, &offsets, &types, 10, points)?)
            }
            Some(other) => return Err(format!("cells of VTK type {other} are not supported")),
        };
        Ok(StoredFrame {
            time,
            positions,
            cells: stored,
            point_data: self.point_data,
            cell_data: self.cell_data,
            field_data: self.field_data,
        })
    }
}

fn check_cells<const N: usize>(
    connectivity: &[i64],
    offsets: &[i64],
    types: &[i64],
    kind: i64,
    points: usize,
) -> Result<Vec<[u32; N]>, String> {
    let regular = offsets
        .iter()
        .enumerate()
        .all(|(i, &end)| end == ((i + 1) * N) as i64);
    if !regular || connectivity.len() != offsets.len() * N || types.iter().any(|&t| t != kind) {
        return Err("its cells are not all of one shape".into());
    }
    let (cells, _) = connectivity.as_chunks::<N>();
    cells
        .iter()
        .enumerate()
        .map(|(at, cell)| {
            if let Some(index) = cell.iter().find(|&&i| i < 0 || i as usize >= points) {
                return Err(format!("cell {at} names vertex {index} of {points}"));
            }
            Ok(cell.map(|index| index as u32))
        })
        .collect()
}

fn array(tag: &Tag, appended: &[u8]) -> Result<StoredData, String> {
    let kind = tag.get("type").unwrap_or_default();
    let components: usize = tag.parse("NumberOfComponents").unwrap_or(1);
    match tag.get("format").as_deref() {
        Some("ascii") => {
            fn all<T: std::str::FromStr>(text: &str) -> Result<Vec<T>, String> {
                text.split_whitespace()
                    .map(|word| word.parse().map_err(|_| format!("\"{word}\" is no number")))
                    .collect()
            }
            match kind.as_str() {
                "Float64" => floats(all(tag.text)?, components),
                "Int64" | "UInt8" => Ok(StoredData::Ints(all(tag.text)?)),
                _ => Err(format!("type \"{kind}\" is not supported")),
            }
        }
        Some("appended") => {
            let offset: usize = tag.parse("offset").ok_or("it has no offset")?;
            let rest = appended
                .get(offset..)
                .ok_or("it begins beyond the end of the file")?;
            let (length, rest) = rest
                .split_first_chunk::<8>()
                .ok_or("the file is cut short")?;
            let length = usize::try_from(u64::from_le_bytes(*length)).unwrap_or(usize::MAX);
            let bytes = rest.get(..length).ok_or("the file is cut short")?;
            if kind == "UInt8" {
                return Ok(StoredData::Ints(
                    bytes.iter().map(|&b| i64::from(b)).collect(),
                ));
            }
            let (words, tail) = bytes.as_chunks::<8>();
            if !tail.is_empty() {
                return Err("its length is not a multiple of eight bytes".into());
            }
            match kind.as_str() {
                "Float64" => floats(
                    words.iter().map(|&w| f64::from_le_bytes(w)).collect(),
                    components,
                ),
                "Int64" => Ok(StoredData::Ints(
                    words.iter().map(|&w| i64::from_le_bytes(w)).collect(),
                )),
                _ => Err(format!("type \"{kind}\" is not supported")),
            }
        }
        other => Err(format!("format {other:?} is not supported")),
    }
}

fn floats(values: Vec<f64>, components: usize) -> Result<StoredData, String> {
    match components {
        1 => Ok(StoredData::Scalars(values)),
        3 => {
            let (triples, tail) = values.as_chunks::<3>();
            if !tail.is_empty() {
                return Err("its length is not a multiple of three".into());
            }
            Ok(StoredData::Vectors(
                triples.iter().map(|&t| Vec3::from(t)).collect(),
            ))
        }
        _ => Err(format!("{components} components are not supported")),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    use super::*;
    use crate::{Encoding, Frame, write_vtu};

    #[test]
    fn a_damaged_file_is_refused_or_still_well_formed_but_never_a_panic() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.vtu");
        let frame = Frame {
            name: "sheet",
            time: 0.5,
            positions: &[Vec3::zeros(), Vec3::x(), Vec3::y()],
            cells: Cells::Triangles(&[[0, 1, 2]]),
            point_data: &[],
            cell_data: &[],
            field_data: &[],
        };
        for encoding in [Encoding::Raw, Encoding::Ascii] {
            write_vtu(&path, &frame, encoding).unwrap();
            let bytes = fs::read(&path).unwrap();
            let in_range = |back: &StoredFrame| {
                let count = back.positions.len();
                back.cells
                    .as_cells()
                    .indices()
                    .iter()
                    .all(|&i| (i as usize) < count)
            };
            for at in 0..bytes.len() {
                for flip in [1, 0x10, 0x80] {
                    let mut damaged = bytes.clone();
                    damaged[at] ^= flip;
                    if let Ok(back) = parse(&damaged) {
                        assert!(in_range(&back), "byte {at}");
                    }
                }
                if encoding == Encoding::Raw && at + 40 < bytes.len() {
                    assert!(parse(&bytes[..at]).is_err(), "cut at byte {at}");
                }
            }
        }
    }
}
