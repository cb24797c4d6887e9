//! PLY polygon files: text, little-endian and big-endian. Elements and properties other than the
//! vertex coordinates, their texture coordinates (`s` and `t`, `u` and `v`, `texture_u` and
//! `texture_v`) and the face indices are skipped, whatever their order.

use stiction_math::Vec2;

use super::bytes::{Cursor, Encoding, Scalar, finite, shorten};
use super::error::{FileLocation, MeshFileError, MeshFileProblem};
use super::soup::Soup;
use super::{MeshFile, MeshLimits};

/// Reads a PLY file.
pub fn read(bytes: &[u8], limits: &MeshLimits) -> Result<MeshFile, MeshFileError> {
    let mut cursor = Cursor::new(bytes)?;
    let header = read_header(&mut cursor)?;
    let vertices = header.element("vertex")?;
    let faces = header.element("face")?;
    let mut soup = Soup::new(limits, bytes.len());
    let encoding = header.encoding;
    let mut faces_start = None;
    // What follows the last element of interest needs no reading, even if it is damaged.
    let last = header.elements.iter().rposition(|e| e.role != Role::Other);
    for element in header.elements.iter().take(last.map_or(0, |i| i + 1)) {
        let limit = match element.role {
            Role::Vertex => limits.max_nodes,
            Role::Face => limits.max_elements,
            Role::Other => u64::MAX,
        };
        let what = element.role.plural();
        cursor.check_count(
            what,
            element.count,
            element.least_bytes(encoding),
            limit,
            element.place,
        )?;
        match element.role {
            Role::Vertex => read_vertices(&mut cursor, element, encoding, &mut soup)?,
            Role::Face => {
                // Faces before vertices are legal; they wait until the positions are known.
                faces_start = Some(cursor);
                if soup.positions.len() as u64 == vertices.count {
                    read_faces(&mut cursor, element, encoding, vertices.count, &mut soup)?;
                    faces_start = None;
                } else {
                    skip(&mut cursor, element, encoding)?;
                }
            }
            Role::Other => skip(&mut cursor, element, encoding)?,
        }
    }
    if let Some(mut start) = faces_start {
        read_faces(&mut start, faces, encoding, vertices.count, &mut soup)?;
    }
    soup.finish()
}

#[derive(Debug)]
struct Header {
    encoding: Encoding,
    elements: Vec<ElementKind>,
}

#[derive(Debug)]
struct ElementKind {
    role: Role,
    count: u64,
    place: FileLocation,
    properties: Vec<Property>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Role {
    Vertex,
    Face,
    Other,
}

impl Role {
    fn plural(self) -> &'static str {
        match self {
            Role::Vertex => "vertices",
            Role::Face => "faces",
            Role::Other => "elements",
        }
    }
}

#[derive(Debug)]
struct Property {
    meaning: Meaning,
    /// The type of the length of a list; `None` for a single number.
    list: Option<Scalar>,
    scalar: Scalar,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Meaning {
    Coordinate(usize),
    Texture(usize),
    Corners,
    Other,
}

impl Header {
    fn element(&self, name: &'static str) -> Result<&ElementKind, MeshFileError> {
        let role = if name == "vertex" {
            Role::Vertex
        } else {
            Role::Face
        };
        self.elements
            .iter()
            .find(|element| element.role == role)
            .ok_or_else(|| {
                let what = format!("`element {name}`");
                let remedy = "export the mesh with vertices and faces";
                MeshFileError::new(
                    FileLocation::File,
                    MeshFileProblem::Missing { what, remedy },
                )
            })
    }
}

impl ElementKind {
    fn least_bytes(&self, encoding: Encoding) -> u64 {
        self.properties
            .iter()
            .map(|p| encoding.least_bytes(p.list.unwrap_or(p.scalar)))
            .sum()
    }
}

fn read_header(cursor: &mut Cursor) -> Result<Header, MeshFileError> {
    if !cursor.rest().starts_with(b"ply") {
        let found = shorten(cursor.rest_of_line().text);
        let expected = "`ply`";
        let place = FileLocation::Text {
            line: 1,
            offset: 0,
            length: found.len(),
        };
        return Err(MeshFileError::new(
            place,
            MeshFileProblem::Expected { expected, found },
        ));
    }
    cursor.keyword("ply")?;
    let mut encoding = None;
    let mut elements: Vec<ElementKind> = Vec::new();
    loop {
        let word = cursor.token("`end_header`")?;
        match word.text {
            b"comment" | b"obj_info" => {
                cursor.rest_of_line();
            }
            b"format" => {
                let name = cursor.token("a format")?;
                encoding = Some(match name.text {
                    b"ascii" => Encoding::Text,
                    b"binary_little_endian" => Encoding::Little,
                    b"binary_big_endian" => Encoding::Big,
                    _ => {
                        return Err(name
                            .unexpected("`ascii`, `binary_little_endian` or `binary_big_endian`"));
                    }
                });
                cursor.rest_of_line();
            }
            b"element" => {
                let name = cursor.token("an element name")?;
                let role = match name.text {
                    b"vertex" => Role::Vertex,
                    b"face" => Role::Face,
                    _ => Role::Other,
                };
                if role != Role::Other && elements.iter().any(|e| e.role == role) {
                    let what = format!("`element {}` is declared twice", shorten(name.text));
                    let remedy = "keep one of the two";
                    return Err(MeshFileError::new(
                        name.place,
                        MeshFileProblem::Inconsistent { what, remedy },
                    ));
                }
                let count = cursor.token("an element count")?;
                elements.push(ElementKind {
                    role,
                    count: count.count("an element count")?,
                    place: count.place,
                    properties: Vec::new(),
                });
            }
            b"property" => {
                let Some(element) = elements.last_mut() else {
                    return Err(word.unexpected("`element`"));
                };
                element
                    .properties
                    .push(read_property(cursor, element.role)?);
            }
            b"end_header" => {
                cursor.rest_of_line();
                break;
            }
            _ => return Err(word.unexpected("a header keyword")),
        }
    }
    let encoding = encoding.ok_or_else(|| {
        let what = "`format`".to_string();
        let remedy = "add a line such as `format ascii 1.0` to the header";
        MeshFileError::new(
            FileLocation::File,
            MeshFileProblem::Missing { what, remedy },
        )
    })?;
    for element in &elements {
        element.check_properties()?;
    }
    Ok(Header { encoding, elements })
}

impl ElementKind {
    fn check_properties(&self) -> Result<(), MeshFileError> {
        let needed: &[(Meaning, &str)] = match self.role {
            Role::Vertex => &[
                (Meaning::Coordinate(0), "property x"),
                (Meaning::Coordinate(1), "property y"),
                (Meaning::Coordinate(2), "property z"),
            ],
            Role::Face => &[(Meaning::Corners, "property list … vertex_indices")],
            Role::Other => &[],
        };
        for &(meaning, name) in needed {
            match self
                .properties
                .iter()
                .filter(|p| p.meaning == meaning)
                .count()
            {
                1 => {}
                0 => {
                    let what = format!("`{name}`");
                    let remedy = "export the mesh with this property";
                    return Err(MeshFileError::new(
                        self.place,
                        MeshFileProblem::Missing { what, remedy },
                    ));
                }
                _ => {
                    let what = format!("`{name}` is declared twice");
                    let remedy = "keep one of the two";
                    return Err(MeshFileError::new(
                        self.place,
                        MeshFileProblem::Inconsistent { what, remedy },
                    ));
                }
            }
        }
        Ok(())
    }
}

fn read_property(cursor: &mut Cursor, role: Role) -> Result<Property, MeshFileError> {
    let kind = cursor.token("a property type")?;
    let (list, scalar) = if kind.text == b"list" {
        let length = cursor.token("a list length type")?;
        let length_scalar = scalar_type(length.text)
            .filter(|scalar| !scalar.is_real())
            .ok_or_else(|| length.unexpected("an integer type"))?;
        let item = cursor.token("a list item type")?;
        let scalar = scalar_type(item.text).ok_or_else(|| item.unexpected("a number type"))?;
        (Some(length_scalar), scalar)
    } else {
        let scalar = scalar_type(kind.text).ok_or_else(|| kind.unexpected("a number type"))?;
        (None, scalar)
    };
    let name = cursor.token("a property name")?;
    let meaning = match (role, name.text, list) {
        (Role::Vertex, b"x", None) => Meaning::Coordinate(0),
        (Role::Vertex, b"y", None) => Meaning::Coordinate(1),
        (Role::Vertex, b"z", None) => Meaning::Coordinate(2),
        (Role::Vertex, b"s" | b"u" | b"texture_u", None) => Meaning::Texture(0),
        (Role::Vertex, b"t" | b"v" | b"texture_v", None) => Meaning::Texture(1),
        (Role::Face, b"vertex_indices" | b"vertex_index", Some(_)) => {
            if scalar.is_real() {
                return Err(name.unexpected("a list of integers"));
            }
            Meaning::Corners
        }
        _ => Meaning::Other,
    };
    Ok(Property {
        meaning,
        list,
        scalar,
    })
}

fn scalar_type(name: &[u8]) -> Option<Scalar> {
    Some(match name {
        b"char" | b"int8" => Scalar::I8,
        b"uchar" | b"uint8" => Scalar::U8,
        b"short" | b"int16" => Scalar::I16,
        b"ushort" | b"uint16" => Scalar::U16,
        b"int" | b"int32" => Scalar::I32,
        b"uint" | b"uint32" => Scalar::U32,
        b"float" | b"float32" => Scalar::F32,
        b"double" | b"float64" => Scalar::F64,
        b"int64" => Scalar::I64,
        b"uint64" => Scalar::U64,
        _ => return None,
    })
}

fn read_vertices(
    cursor: &mut Cursor,
    element: &ElementKind,
    encoding: Encoding,
    soup: &mut Soup,
) -> Result<(), MeshFileError> {
    let has = |axis| {
        let named = |p: &&Property| p.meaning == Meaning::Texture(axis);
        element.properties.iter().filter(named).count() == 1
    };
    let textured = has(0) && has(1);
    for number in 0..element.count {
        let at_vertex = |error: MeshFileError| error.at("vertex", number);
        let (mut position, mut uv) = ([0.0; 3], Vec2::zeros());
        for property in &element.properties {
            let (to, axis) = match property.meaning {
                Meaning::Coordinate(axis) => (&mut position[axis], ['x', 'y', 'z'][axis]),
                Meaning::Texture(axis) => (&mut uv[axis], ['u', 'v'][axis]),
                Meaning::Corners | Meaning::Other => {
                    skip_property(cursor, property, encoding).map_err(at_vertex)?;
                    continue;
                }
            };
            let (value, place) = cursor
                .real(property.scalar, encoding, "a coordinate")
                .map_err(at_vertex)?;
            *to = finite(value, axis, number, place)?;
        }
        soup.push_position(position, element.place)?;
        if textured {
            soup.vertex_uv.push(uv);
        }
    }
    Ok(())
}

fn read_faces(
    cursor: &mut Cursor,
    element: &ElementKind,
    encoding: Encoding,
    vertices: u64,
    soup: &mut Soup,
) -> Result<(), MeshFileError> {
    let (mut corners, mut uv) = (Vec::new(), Vec::new());
    for number in 0..element.count {
        let at_face = |error: MeshFileError| error.at("face", number);
        for property in &element.properties {
            let (Meaning::Corners, Some(length)) = (property.meaning, property.list) else {
                skip_property(cursor, property, encoding).map_err(at_face)?;
                continue;
            };
            let (count, place) = cursor
                .count(length, encoding, "a number of corners")
                .map_err(at_face)?;
            corners.clear();
            for _ in 0..count {
                let (index, place) = cursor
                    .integer(property.scalar, encoding, "a vertex index")
                    .map_err(at_face)?;
                let range = MeshFileProblem::IndexOutOfRange {
                    index,
                    first: 0,
                    count: vertices,
                };
                match u64::try_from(index) {
                    Ok(vertex) if vertex < vertices => corners.push(vertex as u32),
                    _ => return Err(at_face(MeshFileError::new(place, range))),
                }
            }
            match soup.vertex_uv.is_empty() {
                true => soup.push_polygon(&corners, place),
                false => {
                    uv.clear();
                    uv.extend(corners.iter().map(|&v| soup.vertex_uv[v as usize]));
                    soup.push_textured(&corners, &uv, place)
                }
            }
            .map_err(at_face)?;
        }
    }
    Ok(())
}

fn skip(
    cursor: &mut Cursor,
    element: &ElementKind,
    encoding: Encoding,
) -> Result<(), MeshFileError> {
    // Without properties an element takes no bytes, and its count bounds nothing.
    if element.properties.is_empty() {
        return Ok(());
    }
    for _ in 0..element.count {
        for property in &element.properties {
            skip_property(cursor, property, encoding)?;
        }
    }
    Ok(())
}

fn skip_property(
    cursor: &mut Cursor,
    property: &Property,
    encoding: Encoding,
) -> Result<(), MeshFileError> {
    const WHAT: &str = "a property";
    let count = match property.list {
        Some(length) => cursor.count(length, encoding, "a list length")?.0,
        None => 1,
    };
    if encoding == Encoding::Text {
        for _ in 0..count {
            cursor.token(WHAT)?;
        }
    } else {
        let bytes = count.saturating_mul(property.scalar.size() as u64);
        cursor.take(usize::try_from(bytes).unwrap_or(usize::MAX), WHAT)?;
    }
    Ok(())
}
