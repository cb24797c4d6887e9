//! Gmsh MSH 2.2 and 4.1, text and binary: triangles, quadrangles and tetrahedra of first order.
//! Points and lines make no elements, but their nodes count for the physical groups.
//!
//! Physical groups become named vertex sets; a group without a name is called
//! `physical_<dimension>_<tag>`.

mod nodes;
mod v2;
mod v4;

use std::collections::BTreeMap;

use super::bytes::{Cursor, Encoding, Scalar, shorten};
use super::error::{FileLocation, MeshFileError, MeshFileProblem};
use super::soup::Soup;
use super::{MeshFile, MeshLimits};
use nodes::Nodes;

/// Reads an MSH file, version 2.0 to 2.2 or 4.1.
pub fn read(bytes: &[u8], limits: &MeshLimits) -> Result<MeshFile, MeshFileError> {
    let mut cursor = Cursor::new(bytes)?;
    let format = read_format(&mut cursor)?;
    let mut file = Reader {
        limits,
        format,
        soup: Soup::new(limits, bytes.len()),
        nodes: Nodes::default(),
        names: BTreeMap::new(),
        entities: BTreeMap::new(),
        seen_nodes: false,
        seen_elements: false,
    };
    while let Some(section) = cursor.next() {
        let Some(name) = section.text.strip_prefix(b"$") else {
            return Err(section.unexpected("a section such as `$Nodes`"));
        };
        match name {
            b"PhysicalNames" => file.read_physical_names(&mut cursor)?,
            b"Entities" if file.format.version == Version::V4 => file.read_entities(&mut cursor)?,
            b"Nodes" if file.seen_nodes => return Err(section.unexpected("only one `$Nodes`")),
            b"Nodes" => {
                file.seen_nodes = true;
                match file.format.version {
                    Version::V2 => file.read_nodes_v2(&mut cursor)?,
                    Version::V4 => file.read_nodes_v4(&mut cursor)?,
                }
            }
            b"ParametricNodes" => {
                let what = "a section of parametric nodes of version 2".to_string();
                let remedy = "save the mesh as version 4.1, or without parametric coordinates";
                let problem = MeshFileProblem::Unsupported { what, remedy };
                return Err(MeshFileError::new(section.place, problem));
            }
            b"Elements" if !file.seen_nodes => {
                return Err(section.unexpected("`$Nodes` before `$Elements`"));
            }
            b"Elements" if file.seen_elements => {
                return Err(section.unexpected("only one `$Elements`"));
            }
            b"Elements" => {
                file.seen_elements = true;
                match file.format.version {
                    Version::V2 => file.read_elements_v2(&mut cursor)?,
                    Version::V4 => file.read_elements_v4(&mut cursor)?,
                }
            }
            _ => {
                skip_section(&mut cursor, name, section.place)?;
                continue;
            }
        }
        let end = cursor.token("the end of the section")?;
        if end.text.strip_prefix(b"$End") != Some(name) {
            return Err(end.unexpected("the end of the section"));
        }
    }
    for (seen, name) in [
        (file.seen_nodes, "$Nodes"),
        (file.seen_elements, "$Elements"),
    ] {
        if !seen {
            let what = format!("the section `{name}`");
            let remedy = "mesh the model before saving it";
            return Err(MeshFileError::new(
                FileLocation::File,
                MeshFileProblem::Missing { what, remedy },
            ));
        }
    }
    file.soup.finish()
}

#[derive(Clone, Copy, PartialEq)]
enum Version {
    V2,
    V4,
}

#[derive(Clone, Copy)]
struct FileFormat {
    version: Version,
    encoding: Encoding,
    /// The type that Gmsh calls `size_t`.
    size: Scalar,
}

struct Reader<'a> {
    limits: &'a MeshLimits,
    format: FileFormat,
    soup: Soup,
    nodes: Nodes,
    /// Names of physical groups by dimension and tag.
    names: BTreeMap<(i64, i64), Vec<u8>>,
    /// Physical tags by dimension and tag of the entity (version 4 only).
    entities: BTreeMap<(i64, i64), Vec<i64>>,
    seen_nodes: bool,
    seen_elements: bool,
}

fn read_format(cursor: &mut Cursor) -> Result<FileFormat, MeshFileError> {
    cursor.keyword("$MeshFormat")?;
    let number = cursor.token("a version")?;
    let version = match number.text {
        b"2" | b"2.0" | b"2.1" | b"2.2" => Version::V2,
        b"4.1" => Version::V4,
        _ => {
            number.real("a version")?;
            let what = format!("MSH version {}", shorten(number.text));
            let remedy = "save the mesh as version 4.1 or 2.2 (gmsh -format msh41 or msh22)";
            return Err(MeshFileError::new(
                number.place,
                MeshFileProblem::Unsupported { what, remedy },
            ));
        }
    };
    let kind = cursor.token("0 for text or 1 for binary")?;
    let binary = match kind.text {
        b"0" => false,
        b"1" => true,
        _ => return Err(kind.unexpected("0 for text or 1 for binary")),
    };
    let width = cursor.token("data size 4 or 8")?;
    let size = match width.text {
        b"8" => Scalar::U64,
        b"4" if version == Version::V4 => Scalar::U32,
        _ => return Err(width.unexpected("data size 8")),
    };
    let encoding = if binary {
        cursor.rest_of_line();
        let place = cursor.byte_place();
        match cursor.take(4, "the byte order mark")? {
            [1, 0, 0, 0] => Encoding::Little,
            [0, 0, 0, 1] => Encoding::Big,
            other => {
                let expected = "the byte order mark 1";
                let found = format!("{other:?}");
                return Err(MeshFileError::new(
                    place,
                    MeshFileProblem::Expected { expected, found },
                ));
            }
        }
    } else {
        Encoding::Text
    };
    cursor.keyword("$EndMeshFormat")?;
    Ok(FileFormat {
        version,
        encoding,
        size,
    })
}

/// Passes over a section that holds no mesh. The search for its end starts where the last one
/// stopped, so that all sections together are read once.
fn skip_section(
    cursor: &mut Cursor,
    name: &[u8],
    place: FileLocation,
) -> Result<(), MeshFileError> {
    const LONGEST_NAME: usize = 64;
    if name.len() > LONGEST_NAME {
        // Searching for the end of a section with an endless name could take quadratic time.
        let (expected, found) = ("a section such as `$Nodes`", shorten(name));
        return Err(MeshFileError::new(
            place,
            MeshFileProblem::Expected { expected, found },
        ));
    }
    let end = [b"$End", name].concat();
    let rest = cursor.rest();
    let mut from = 0;
    while let Some(dollar) = rest[from..].iter().position(|&b| b == b'$') {
        from += dollar;
        if rest[from..].starts_with(&end) {
            cursor.advance(from + end.len());
            return Ok(());
        }
        from += 1;
    }
    let what = format!("`{}`", shorten(&end));
    let remedy = "the file is truncated: copy or save it again";
    Err(MeshFileError::new(
        place,
        MeshFileProblem::Missing { what, remedy },
    ))
}

/// The corners of an element type, or why it is refused.
#[derive(Clone, Copy, PartialEq)]
enum Shape {
    Point,
    Line,
    Triangle,
    Quadrangle,
    Tetrahedron,
}

impl Shape {
    fn of(kind: i64, place: FileLocation) -> Result<Shape, MeshFileError> {
        const SPLIT: &str =
            "mesh with triangles and tetrahedra (no recombination, no extrusion in layers)";
        const FIRST: &str = "save a mesh of first order (gmsh -order 1)";
        let (what, remedy) = match kind {
            1 => return Ok(Shape::Line),
            2 => return Ok(Shape::Triangle),
            3 => return Ok(Shape::Quadrangle),
            4 => return Ok(Shape::Tetrahedron),
            15 => return Ok(Shape::Point),
            5 => ("a hexahedron", SPLIT),
            6 => ("a prism", SPLIT),
            7 => ("a pyramid", SPLIT),
            8 => ("a second-order line", FIRST),
            9 => ("a second-order triangle", FIRST),
            10 | 16 => ("a second-order quadrangle", FIRST),
            11 => ("a second-order tetrahedron", FIRST),
            12..=14 | 17..=19 => ("a second-order element", FIRST),
            20..=140 => ("a higher-order element", FIRST),
            _ => ("an element", "export the mesh again"),
        };
        let what = format!("{what} (Gmsh element type {kind})");
        Err(MeshFileError::new(
            place,
            MeshFileProblem::Unsupported { what, remedy },
        ))
    }

    fn corners(self) -> usize {
        match self {
            Shape::Point => 1,
            Shape::Line => 2,
            Shape::Triangle => 3,
            Shape::Quadrangle | Shape::Tetrahedron => 4,
        }
    }

    fn dimension(self) -> i64 {
        match self {
            Shape::Point => 0,
            Shape::Line => 1,
            Shape::Triangle | Shape::Quadrangle => 2,
            Shape::Tetrahedron => 3,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Shape::Point => "point element",
            Shape::Line => "line element",
            Shape::Triangle => "triangle",
            Shape::Quadrangle => "quadrangle",
            Shape::Tetrahedron => "tetrahedron",
        }
    }
}

impl Reader<'_> {
    fn read_physical_names(&mut self, cursor: &mut Cursor) -> Result<(), MeshFileError> {
        let count = cursor.token("the number of physical names")?;
        for _ in 0..count.count("the number of physical names")? {
            let dimension = cursor.token("a dimension")?.integer("a dimension")?;
            let tag = cursor.token("a physical tag")?.integer("a physical tag")?;
            let line = cursor.rest_of_line();
            let name = line.text.strip_prefix(b"\"").unwrap_or(line.text);
            let name = name.strip_suffix(b"\"").unwrap_or(name);
            if name.is_empty() {
                return Err(line.unexpected("a name in quotes"));
            }
            self.names.insert((dimension, tag), name.to_vec());
        }
        Ok(())
    }

    /// The handle of a physical group.
    fn group(&mut self, dimension: i64, tag: i64) -> usize {
        match self.names.get(&(dimension, tag)) {
            Some(name) => self.soup.groups.named(name),
            None => {
                let name = format!("physical_{dimension}_{tag}");
                self.soup.groups.named(name.as_bytes())
            }
        }
    }

    /// Reads the node tags of one element.
    fn read_corners<const N: usize>(
        &self,
        cursor: &mut Cursor,
        scalar: Scalar,
        shape: Shape,
        number: u64,
    ) -> Result<[u32; N], MeshFileError> {
        let at_element = |error: MeshFileError| error.at(shape.name(), number);
        let mut corners = [0; N];
        for corner in corners.iter_mut().take(shape.corners()) {
            let (tag, place) = cursor
                .integer(scalar, self.format.encoding, "a node tag")
                .map_err(at_element)?;
            *corner = self.nodes.find(tag).ok_or_else(|| {
                at_element(MeshFileError::new(
                    place,
                    MeshFileProblem::UnknownNode { tag },
                ))
            })?;
        }
        Ok(corners)
    }

    fn push_element(
        &mut self,
        shape: Shape,
        corners: &[u32; 4],
        number: u64,
        place: FileLocation,
    ) -> Result<(), MeshFileError> {
        let result = match shape {
            Shape::Point | Shape::Line => Ok(()),
            Shape::Triangle => self.soup.push_polygon(&corners[..3], place),
            Shape::Quadrangle => self.soup.push_polygon(corners, place),
            Shape::Tetrahedron => self.soup.push_tet(*corners, place),
        };
        result.map_err(|error| error.at(shape.name(), number))
    }
}
