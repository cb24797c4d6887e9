//! VTK XML unstructured grids (`.vtu`): text, base64 and appended raw data, plain or compressed
//! with zlib, 32- and 64-bit headers, both byte orders. One piece per file.
//!
//! [`read`] gives the grid with all its data arrays, [`read_mesh`] its triangles and tetrahedra.

mod data;
mod xml;

use stiction_math::Vec3;

use super::bytes::{Cursor, Scalar, finite};
use super::cells;
use super::error::{FileLocation, MeshFileError, MeshFileProblem};
use super::soup::Soup;
use super::{MeshFile, MeshLimits};
use data::Decoder;
use xml::{Attributes, Event, Xml};

/// An unstructured grid with its data arrays.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct VtuFile {
    /// Point positions [m], finite.
    pub points: Vec<Vec3>,
    /// The cells.
    pub cells: VtuCells,
    /// Arrays with one tuple per point.
    pub point_data: Vec<DataArray>,
    /// Arrays with one tuple per cell.
    pub cell_data: Vec<DataArray>,
    /// Arrays that belong to the grid as a whole.
    pub field_data: Vec<DataArray>,
}

/// Cells of an unstructured grid. Cell `i` has the points
/// `connectivity[offsets[i − 1] .. offsets[i]]` (from 0 for the first cell).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct VtuCells {
    /// Point indices, all in range.
    pub connectivity: Vec<u32>,
    /// One end per cell, ascending, the last one the length of `connectivity`.
    pub offsets: Vec<u32>,
    /// VTK cell types: 1 vertex, 3 line, 5 triangle, 10 tetrahedron and so on.
    pub types: Vec<u8>,
}

impl VtuCells {
    /// Type and points of each cell.
    pub fn iter(&self) -> impl Iterator<Item = (u8, &[u32])> {
        let starts = std::iter::once(0).chain(self.offsets.iter().copied());
        self.types
            .iter()
            .zip(starts.zip(&self.offsets))
            .map(|(&kind, (start, &end))| (kind, &self.connectivity[start as usize..end as usize]))
    }
}

/// A named array of tuples.
#[derive(Clone, Debug, PartialEq)]
pub struct DataArray {
    /// `Name` in the file.
    pub name: String,
    /// Numbers per tuple, at least 1.
    pub components: usize,
    /// The numbers, `components` per tuple.
    pub values: Values,
}

/// The numbers of an array.
#[derive(Clone, Debug, PartialEq)]
pub enum Values {
    /// Of type `Float32` or `Float64`; may hold infinities and NaN.
    Real(Vec<f64>),
    /// Of any integer type.
    Integer(Vec<i64>),
}

impl Values {
    /// Number of values.
    pub fn len(&self) -> usize {
        match self {
            Values::Real(values) => values.len(),
            Values::Integer(values) => values.len(),
        }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl VtuFile {
    /// The point array called `name`.
    pub fn point_array(&self, name: &str) -> Option<&DataArray> {
        self.point_data.iter().find(|array| array.name == name)
    }

    /// The cell array called `name`.
    pub fn cell_array(&self, name: &str) -> Option<&DataArray> {
        self.cell_data.iter().find(|array| array.name == name)
    }

    /// The field array called `name`.
    pub fn field_array(&self, name: &str) -> Option<&DataArray> {
        self.field_data.iter().find(|array| array.name == name)
    }
}

/// Reads a VTU file as triangles and tetrahedra; points and lines are passed over.
pub fn read_mesh(bytes: &[u8], limits: &MeshLimits) -> Result<MeshFile, MeshFileError> {
    let file = read(bytes, limits)?;
    let mut soup = Soup::new(limits, bytes.len());
    for point in &file.points {
        soup.push_position([point.x, point.y, point.z], FileLocation::File)?;
    }
    for (number, (kind, corners)) in file.cells.iter().enumerate() {
        cells::push(
            &mut soup,
            i64::from(kind),
            corners,
            number as u64,
            FileLocation::File,
        )?;
    }
    soup.finish()
}

/// Reads a VTU file with all its arrays.
pub fn read(bytes: &[u8], limits: &MeshLimits) -> Result<VtuFile, MeshFileError> {
    let Scan {
        mut decoder,
        arrays,
        points,
        cells,
    } = scan(bytes, limits)?;
    let mut file = VtuFile::default();
    let mut parts: [Option<(DataArray, FileLocation)>; 4] = [None, None, None, None];
    for (section, declared) in arrays {
        // Names and other texts cannot be used; skipping them costs nothing.
        let Some(scalar) = declared.scalar else {
            continue;
        };
        let place = declared.place;
        let array = DataArray {
            values: decoder.decode(&declared, scalar)?,
            name: declared.name,
            components: declared.components,
        };
        if !array.values.len().is_multiple_of(array.components) {
            let what = format!(
                "array `{}` holds {} numbers, which is not a multiple of {}",
                array.name,
                array.values.len(),
                array.components
            );
            return Err(inconsistent(place, what));
        }
        let tuples = (array.values.len() / array.components) as u64;
        let check_tuples = |count: u64, what: &str| {
            if tuples == count {
                return Ok(());
            }
            let what = format!(
                "array `{}` holds {tuples} tuples for {count} {what}",
                array.name
            );
            Err(inconsistent(place, what))
        };
        match section {
            Section::Points => {
                check_tuples(points, "points")?;
                parts[0].get_or_insert((array, place));
            }
            Section::Cells => {
                let part = match array.name.as_str() {
                    "connectivity" => &mut parts[1],
                    "offsets" => &mut parts[2],
                    "types" => &mut parts[3],
                    _ => continue,
                };
                part.get_or_insert((array, place));
            }
            Section::PointData => {
                check_tuples(points, "points")?;
                file.point_data.push(array);
            }
            Section::CellData => {
                check_tuples(cells, "cells")?;
                file.cell_data.push(array);
            }
            Section::FieldData => file.field_data.push(array),
        }
    }
    let [positions, connectivity, offsets, types] = parts;
    if points > 0 || positions.is_some() {
        file.points = read_points(positions)?;
    }
    if cells > 0 || connectivity.is_some() {
        file.cells = read_cells(points, cells, connectivity, offsets, types)?;
    }
    Ok(file)
}

fn read_points(array: Option<(DataArray, FileLocation)>) -> Result<Vec<Vec3>, MeshFileError> {
    let (array, place) = array.ok_or_else(|| missing("the array of point positions"))?;
    if array.components != 3 {
        let what = format!("points have {} components instead of 3", array.components);
        return Err(inconsistent(place, what));
    }
    let values = match array.values {
        Values::Real(values) => values,
        Values::Integer(values) => values.into_iter().map(|value| value as f64).collect(),
    };
    let mut points = Vec::with_capacity(values.len() / 3);
    for (number, point) in values.chunks_exact(3).enumerate() {
        for (&value, axis) in point.iter().zip(['x', 'y', 'z']) {
            finite(value, axis, number as u64, place)?;
        }
        points.push(Vec3::new(point[0], point[1], point[2]));
    }
    Ok(points)
}

fn read_cells(
    points: u64,
    count: u64,
    connectivity: Option<(DataArray, FileLocation)>,
    offsets: Option<(DataArray, FileLocation)>,
    types: Option<(DataArray, FileLocation)>,
) -> Result<VtuCells, MeshFileError> {
    let (connectivity, connectivity_place) = integers(connectivity, "connectivity")?;
    let (offsets, offsets_place) = integers(offsets, "offsets")?;
    let (types, types_place) = integers(types, "types")?;
    for (found, place, name) in [
        (offsets.len(), offsets_place, "offsets"),
        (types.len(), types_place, "types"),
    ] {
        if found as u64 != count {
            let what = format!("array `{name}` holds {found} numbers for {count} cells");
            return Err(inconsistent(place, what));
        }
    }
    let mut cells = VtuCells::default();
    let mut cell_end = 0;
    for (number, &end) in offsets.iter().enumerate() {
        let in_range = end >= cell_end && end <= connectivity.len() as i64;
        let Some(narrow) = u32::try_from(end).ok().filter(|_| in_range) else {
            let what = format!(
                "offset {end} is not between {cell_end} and the length of `connectivity`, {}",
                connectivity.len()
            );
            return Err(inconsistent(offsets_place, what).at("cell", number as u64));
        };
        for &index in &connectivity[cell_end as usize..end as usize] {
            match u64::try_from(index) {
                Ok(vertex) if vertex < points => cells.connectivity.push(vertex as u32),
                _ => {
                    let (first, count) = (0, points);
                    let problem = MeshFileProblem::IndexOutOfRange {
                        index,
                        first,
                        count,
                    };
                    return Err(
                        MeshFileError::new(connectivity_place, problem).at("cell", number as u64)
                    );
                }
            }
        }
        cells.offsets.push(narrow);
        cell_end = end;
    }
    if cell_end != connectivity.len() as i64 {
        let what = format!(
            "the last offset is {cell_end}, but `connectivity` holds {} numbers",
            connectivity.len()
        );
        return Err(inconsistent(offsets_place, what));
    }
    for (number, &kind) in types.iter().enumerate() {
        let Ok(kind) = u8::try_from(kind) else {
            let what = format!("cell type {kind} does not exist");
            return Err(inconsistent(types_place, what).at("cell", number as u64));
        };
        cells.types.push(kind);
    }
    Ok(cells)
}

fn integers(
    array: Option<(DataArray, FileLocation)>,
    name: &str,
) -> Result<(Vec<i64>, FileLocation), MeshFileError> {
    let (array, place) = array.ok_or_else(|| missing(&format!("the array `{name}`")))?;
    match array.values {
        Values::Integer(values) => Ok((values, place)),
        Values::Real(_) => {
            let what = format!("array `{name}` is of a real type instead of an integer type");
            Err(inconsistent(place, what))
        }
    }
}

#[derive(Clone, Copy, PartialEq)]
enum Section {
    Points,
    Cells,
    PointData,
    CellData,
    FieldData,
}

/// Declarations of the XML, before any data is decoded.
struct Scan<'a> {
    decoder: Decoder<'a>,
    arrays: Vec<(Section, Declared<'a>)>,
    points: u64,
    cells: u64,
}

/// A `DataArray` element.
struct Declared<'a> {
    name: String,
    /// `None` for texts.
    scalar: Option<Scalar>,
    components: usize,
    source: Source<'a>,
    place: FileLocation,
}

enum Source<'a> {
    Text(Cursor<'a>),
    Base64(&'a [u8]),
    Appended(u64),
}

fn scan<'a>(bytes: &'a [u8], limits: &MeshLimits) -> Result<Scan<'a>, MeshFileError> {
    let mut xml = Xml::new(bytes)?;
    let mut decoder = None;
    let mut counts: Option<(u64, u64)> = None;
    let mut section = None;
    let mut arrays = Vec::new();
    while let Some(event) = xml.next_event()? {
        let element = match event {
            Event::Close(name) => {
                if section_of(name).is_some() {
                    section = None;
                }
                continue;
            }
            Event::Open(element) => element,
        };
        let attributes = element.attributes;
        match element.name {
            b"VTKFile" => decoder = Some(Decoder::new(&attributes, bytes.len(), limits)?),
            b"Piece" if counts.is_some() => {
                let what = "a file of several pieces".to_string();
                let remedy = "merge the pieces before saving (in ParaView: Merge Blocks)";
                let problem = MeshFileProblem::Unsupported { what, remedy };
                return Err(MeshFileError::new(attributes.place, problem));
            }
            b"Piece" => {
                let points = attributes.count("NumberOfPoints")?;
                let cells = attributes.count("NumberOfCells")?;
                let place = attributes.place;
                for (what, count, limit) in [
                    (
                        "points",
                        points,
                        limits.max_nodes.min(u64::from(u32::MAX) - 1),
                    ),
                    ("cells", cells, limits.max_elements),
                ] {
                    if count > limit {
                        return Err(MeshFileError::new(
                            place,
                            MeshFileProblem::TooMany { what, count, limit },
                        ));
                    }
                }
                counts = Some((points, cells));
            }
            b"DataArray" | b"Array" => {
                let declared = declare(&attributes, element.text)?;
                if let Some(section) = section {
                    arrays.push((section, declared));
                }
            }
            b"AppendedData" => {
                if let Some(decoder) = &mut decoder {
                    decoder.set_appended(&attributes, xml.rest())?;
                }
                // What follows is not XML any more.
                break;
            }
            name => {
                if let Some(opened) = section_of(name) {
                    section = (!element.closed).then_some(opened);
                }
            }
        }
    }
    let decoder = decoder.ok_or_else(|| missing("the element `VTKFile`"))?;
    let (points, cells) = counts.ok_or_else(|| missing("the element `Piece`"))?;
    Ok(Scan {
        decoder,
        arrays,
        points,
        cells,
    })
}

fn section_of(name: &[u8]) -> Option<Section> {
    match name {
        b"Points" => Some(Section::Points),
        b"Cells" => Some(Section::Cells),
        b"PointData" => Some(Section::PointData),
        b"CellData" => Some(Section::CellData),
        b"FieldData" => Some(Section::FieldData),
        _ => None,
    }
}

fn declare<'a>(attributes: &Attributes, text: Cursor<'a>) -> Result<Declared<'a>, MeshFileError> {
    let name = attributes.get("Name").unwrap_or_default().to_string();
    let kind = attributes.require("type")?;
    let scalar = match kind {
        "Int8" => Some(Scalar::I8),
        "UInt8" => Some(Scalar::U8),
        "Int16" => Some(Scalar::I16),
        "UInt16" => Some(Scalar::U16),
        "Int32" => Some(Scalar::I32),
        "UInt32" => Some(Scalar::U32),
        "Int64" => Some(Scalar::I64),
        "UInt64" => Some(Scalar::U64),
        "Float32" => Some(Scalar::F32),
        "Float64" => Some(Scalar::F64),
        "String" => None,
        _ => return Err(attributes.unexpected("a number type such as `Float64`", kind)),
    };
    let components = match attributes.get("NumberOfComponents") {
        None => 1,
        Some(text) => match text.trim().parse() {
            Ok(count) if count > 0 => count,
            _ => return Err(attributes.unexpected("a number of components", text)),
        },
    };
    let source = match attributes.get("format").unwrap_or("ascii") {
        "ascii" => Source::Text(text),
        "binary" => Source::Base64(text.rest()),
        "appended" => Source::Appended(attributes.count("offset")?),
        other => return Err(attributes.unexpected("`ascii`, `binary` or `appended`", other)),
    };
    Ok(Declared {
        name,
        scalar,
        components,
        source,
        place: attributes.place,
    })
}

fn inconsistent(place: FileLocation, what: String) -> MeshFileError {
    let remedy = "the file is damaged: write it again";
    MeshFileError::new(place, MeshFileProblem::Inconsistent { what, remedy })
}

fn missing(what: &str) -> MeshFileError {
    let what = what.to_string();
    let remedy = "write the file again as a VTK XML unstructured grid";
    MeshFileError::new(
        FileLocation::File,
        MeshFileProblem::Missing { what, remedy },
    )
}
