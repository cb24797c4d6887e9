//! Wavefront OBJ: vertices and polygons, with groups (`g`) and objects (`o`) as named vertex sets.
//!
//! Texture coordinates, normals, materials, smoothing groups and free-form curves are skipped.
//! Points (`p`) and lines (`l`) make no elements, but their vertices join the current groups.

use super::bytes::{Cursor, Token, finite};
use super::error::{FileLocation, MeshFileError, MeshFileProblem};
use super::soup::Soup;
use super::{MeshFile, MeshLimits};

/// Reads an OBJ file. Faces may name vertices that come later, as long as they come.
pub fn read(bytes: &[u8], limits: &MeshLimits) -> Result<MeshFile, MeshFileError> {
    let mut soup = Soup::new(limits, bytes.len());
    // Vertices first: concave polygons need the positions of all their corners.
    let mut statements = Statements::new(bytes)?;
    while let Some((keyword, place)) = statements.next_statement() {
        if keyword == b"v" {
            let position = read_vertex(&mut statements, place, soup.positions.len() as u64 + 1)?;
            soup.push_position(position, place)?;
        }
    }
    let mut faces = Faces {
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

/// The second pass: faces and groups.
struct Faces {
    soup: Soup,
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
            b"f" | b"fo" => {
                self.face += 1;
                let number = self.face;
                let at_face = |error: MeshFileError| error.at("face", number);
                self.read_corners(statements).map_err(at_face)?;
                self.soup
                    .push_polygon(&self.corners, place)
                    .map_err(at_face)?;
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
        while let Some(token) = statements.next_word() {
            let corner = self.read_corner(token)?;
            self.corners.push(corner);
        }
        Ok(())
    }

    /// The vertex of `7`, `7/1`, `7/1/2`, `7//2` or `-1`.
    fn read_corner(&self, token: Token) -> Result<u32, MeshFileError> {
        let end = token.text.iter().position(|&b| b == b'/');
        let first = Token {
            text: &token.text[..end.unwrap_or(token.text.len())],
            ..token
        };
        let index = first
            .integer("a vertex index")
            .map_err(|_| token.unexpected("a vertex index"))?;
        let from_zero = if index < 0 {
            self.seen.saturating_add(index)
        } else {
            index - 1
        };
        if let Some(vertex) = u64::try_from(from_zero).ok().filter(|&v| v < self.count) {
            return Ok(vertex as u32);
        }
        let problem = if index < 0 {
            let seen = self.seen;
            MeshFileProblem::Inconsistent {
                what: format!("vertex index {index} counts back past the {seen} vertices above it"),
                remedy: "correct the index, or write the vertices before the faces",
            }
        } else {
            let (first, count) = (1, self.count);
            MeshFileProblem::IndexOutOfRange {
                index,
                first,
                count,
            }
        };
        Err(MeshFileError::new(token.place, problem))
    }

    fn join_groups(&mut self, place: FileLocation) -> Result<(), MeshFileError> {
        for &handle in self.object.iter().chain(&self.groups) {
            self.soup.groups.add(handle, &self.corners, place)?;
        }
        Ok(())
    }
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
