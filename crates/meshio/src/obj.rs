//! Wavefront OBJ: vertices and polygons, with groups (`g`) and objects (`o`) as named vertex sets.
//!
//! Texture coordinates (`vt`) are those of corners, so that seams of a texture are kept. Normals,
//! materials, smoothing groups and free-form curves are skipped.
//! Points (`p`) and lines (`l`) make no elements, but their vertices join the current groups.

use stiction_math::Vec2;

use super::bytes::{Cursor, Token, finite};
use super::error::{FileLocation, MeshFileError, MeshFileProblem};
use super::soup::Soup;
use super::{MeshFile, MeshLimits};

/// Reads an OBJ file. Faces may name vertices that come later, as long as they come.
pub fn read(bytes: &[u8], limits: &MeshLimits) -> Result<MeshFile, MeshFileError> {
    let mut soup = Soup::new(limits, bytes.len());
    // Vertices first: concave polygons need the positions of all their corners.
    let mut statements = Statements::new(bytes)?;
    let mut texture: Vec<Vec2> = Vec::new();
    while let Some((keyword, place)) = statements.next_statement() {
        if keyword == b"v" {
            let position = read_vertex(&mut statements, place, soup.positions.len() as u64 + 1)?;
            soup.push_position(position, place)?;
        } else if keyword == b"vt" {
            let number = texture.len() as u64 + 1;
            texture.push(read_texture(&mut statements, place, number)?);
        }
    }
    let mut faces = Faces {
        texture,
        count: soup.positions.len() as u64,
        soup,
        ..Faces::new(limits)
    };
    let mut statements = Statements::new(bytes)?;
    while let Some((keyword, place)) = statements.next_statement() {
        faces.read_statement(keyword, place, &mut statements)?;
    }
    faces.soup.finish()
}

fn read_vertex(
    statements: &mut Statements,
    place: FileLocation,
    number: u64,
) -> Result<[f64; 3], MeshFileError> {
    let mut position = [0.0; 3];
    for (value, axis) in position.iter_mut().zip(['x', 'y', 'z']) {
        let Some(token) = statements.next_word() else {
            let what = "one of its three coordinates".to_string();
            let remedy = "write `v x y z`";
            let problem = MeshFileProblem::Missing { what, remedy };
            return Err(MeshFileError::new(place, problem).at("vertex", number));
        };
        let real = token
            .real("a coordinate")
            .map_err(|error| error.at("vertex", number))?;
        *value = finite(real, axis, number, token.place)?;
    }
    Ok(position)
}

/// The texture coordinates `vt u [v [w]]`; v is zero where it is not given.
fn read_texture(
    statements: &mut Statements,
    place: FileLocation,
    number: u64,
) -> Result<Vec2, MeshFileError> {
    let mut uv = Vec2::zeros();
    for (k, axis) in ['u', 'v'].into_iter().enumerate() {
        let Some(token) = statements.next_word() else {
            if k == 1 {
                break;
            }
            let what = "its coordinate".to_string();
            let remedy = "write `vt u v`";
            let problem = MeshFileProblem::Missing { what, remedy };
            return Err(MeshFileError::new(place, problem).at("texture vertex", number));
        };
        let real = token
            .real("a texture coordinate")
            .map_err(|error| error.at("texture vertex", number))?;
        uv[k] = finite(real, axis, number, token.place)
            .map_err(|error| error.at("texture vertex", number))?;
    }
    Ok(uv)
}

/// The second pass: faces and groups.
struct Faces {
    soup: Soup,
    /// All texture coordinates, and how many of them stand above the current line.
    texture: Vec<Vec2>,
    seen_texture: i64,
    /// Texture coordinates of the corners of the current face, as far as they have any.
    uv: Vec<Vec2>,
    /// Vertices in the file.
    count: u64,
    /// Vertices so far, to which negative indices refer.
    seen: i64,
    face: u64,
    object: Option<usize>,
    groups: Vec<usize>,
    corners: Vec<u32>,
}

impl Faces {
    fn new(limits: &MeshLimits) -> Self {
        Faces {
            soup: Soup::new(limits, 0),
            texture: Vec::new(),
            seen_texture: 0,
            uv: Vec::new(),
            count: 0,
            seen: 0,
            face: 0,
            object: None,
            groups: Vec::new(),
            corners: Vec::new(),
        }
    }

    fn read_statement(
        &mut self,
        keyword: &[u8],
        place: FileLocation,
        statements: &mut Statements,
    ) -> Result<(), MeshFileError> {
        match keyword {
            b"v" => self.seen += 1,
            b"vt" => self.seen_texture += 1,
            b"f" | b"fo" => {
                self.face += 1;
                let number = self.face;
                let at_face = |error: MeshFileError| error.at("face", number);
                self.read_corners(statements).map_err(at_face)?;
                let pushed = match self.uv.len() == self.corners.len() {
                    true => self.soup.push_textured(&self.corners, &self.uv, place),
                    false => self.soup.push_polygon(&self.corners, place),
                };
                pushed.map_err(at_face)?;
                self.join_groups(place)?;
            }
            b"l" | b"p" => {
                self.read_corners(statements)?;
                self.join_groups(place)?;
            }
            b"o" => {
                let name = statements.rest();
                self.object = (!name.is_empty()).then(|| self.soup.groups.named(&name));
            }
            b"g" => {
                self.groups.clear();
                while let Some(name) = statements.next_word() {
                    let handle = self.soup.groups.named(name.text);
                    if !self.groups.contains(&handle) {
                        self.groups.push(handle);
                    }
                    if self.groups.len() > MOST_GROUPS {
                        return Err(MeshFileError::new(
                            name.place,
                            MeshFileProblem::TooMany {
                                what: "group names on one line",
                                count: self.groups.len() as u64,
                                limit: MOST_GROUPS as u64,
                            },
                        ));
                    }
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn read_corners(&mut self, statements: &mut Statements) -> Result<(), MeshFileError> {
        self.corners.clear();
        self.uv.clear();
        while let Some(token) = statements.next_word() {
            let (corner, texture) = self.read_corner(token)?;
            self.corners.push(corner);
            self.uv.extend(texture.map(|at| self.texture[at as usize]));
        }
        Ok(())
    }

    /// The vertex, and the texture vertex if there is one, of `7`, `7/1`, `7/1/2`, `7//2` or `-1`.
    fn read_corner(&self, token: Token) -> Result<(u32, Option<u32>), MeshFileError> {
        let mut parts = token.text.split(|&b| b == b'/');
        let first = Token {
            text: parts.next().unwrap_or_default(),
            ..token
        };
        let index = first
            .integer("a vertex index")
            .map_err(|_| token.unexpected("a vertex index"))?;
        let vertex = resolved(index, self.seen, self.count).ok_or_else(|| {
            self.out_of_range("vertex", index, self.seen, self.count, token.place)
        })?;
        let Some(text) = parts.next().filter(|t| !t.is_empty()) else {
            return Ok((vertex, None));
        };
        let index = Token { text, ..token }
            .integer("a texture index")
            .map_err(|_| token.unexpected("a texture index"))?;
        let count = self.texture.len() as u64;
        let texture = resolved(index, self.seen_texture, count).ok_or_else(|| {
            self.out_of_range("texture", index, self.seen_texture, count, token.place)
        })?;
        Ok((vertex, Some(texture)))
    }

    fn out_of_range(
        &self,
        kind: &'static str,
        index: i64,
        seen: i64,
        count: u64,
        place: FileLocation,
    ) -> MeshFileError {
        let problem = match (index < 0, kind) {
            (true, _) => MeshFileProblem::Inconsistent {
                what: format!(
                    "{kind} index {index} counts back past the {seen} {} above it",
                    if kind == "vertex" {
                        "vertices"
                    } else {
                        "texture vertices"
                    }
                ),
                remedy: "correct the index, or write the vertices before the faces",
            },
            (false, "vertex") => MeshFileProblem::IndexOutOfRange {
                index,
                first: 1,
                count,
            },
            (false, _) => MeshFileProblem::Inconsistent {
                what: format!("{kind} index {index} is out of range: the file has {count} `vt`"),
                remedy: "correct the index, or export the mesh without texture coordinates",
            },
        };
        MeshFileError::new(place, problem)
    }

    fn join_groups(&mut self, place: FileLocation) -> Result<(), MeshFileError> {
        for &handle in self.object.iter().chain(&self.groups) {
            self.soup.groups.add(handle, &self.corners, place)?;
        }
        Ok(())
    }
}

/// The index from 0 of a vertex that is named from 1, or by a negative number from the last of the
/// `seen` ones above the line; none if there is no such vertex among `count`.
fn resolved(index: i64, seen: i64, count: u64) -> Option<u32> {
    let from_zero = match index < 0 {
        true => seen.saturating_add(index),
        false => index - 1,
    };
    let vertex = u64::try_from(from_zero).ok().filter(|&v| v < count)?;
    u32::try_from(vertex).ok()
}

/// Most groups that a face can be in at once.
const MOST_GROUPS: usize = 64;

/// Logical lines: a backslash at the end of a line continues it on the next one.
struct Statements<'a> {
    cursor: Cursor<'a>,
    /// Whether words of the current statement may be left.
    inside: bool,
}

impl<'a> Statements<'a> {
    fn new(bytes: &'a [u8]) -> Result<Self, MeshFileError> {
        Ok(Statements {
            cursor: Cursor::new(bytes)?.with_hash_comments(),
            inside: false,
        })
    }

    /// Skips what is left of the current statement and gives the first word of the next one.
    fn next_statement(&mut self) -> Option<(&'a [u8], FileLocation)> {
        while self.inside && self.next_word().is_some() {}
        self.inside = true;
        let token = self.cursor.next()?;
        Some((token.text, token.place))
    }

    fn next_word(&mut self) -> Option<Token<'a>> {
        loop {
            let token = self.cursor.next_on_line()?;
            // The backslash may stick to the last word; elsewhere it is part of a name.
            let text = match token.text.strip_suffix(b"\\") {
                Some(text) if { self.cursor }.next_on_line().is_none() => text,
                _ => return Some(token),
            };
            self.cursor.rest_of_line();
            if !text.is_empty() {
                return Some(Token { text, ..token });
            }
        }
    }

    /// The words up to the end of the statement, with single blanks between them.
    fn rest(&mut self) -> Vec<u8> {
        let mut words: Vec<&[u8]> = Vec::new();
        while let Some(token) = self.next_word() {
            words.push(token.text);
        }
        words.join(&b' ')
    }
}
