//! Problems of mesh files, their location and remedy.

use std::fmt;
use std::path::{Path, PathBuf};

use thiserror::Error;

use super::MeshFormat;

/// A refused mesh file: the file, the location in it, the element and the problem.
///
/// Displays as `cube.obj:12: face 3: vertex index 9 is out of range …`. [`MeshFileError::remedy`] says
/// what to do; it is also the help text of the `miette` report.
#[derive(Clone, Debug, PartialEq, Error)]
#[error("{0}")]
pub struct MeshFileError(Box<Detail>);

#[derive(Clone, Debug, PartialEq)]
struct Detail {
    file: Option<PathBuf>,
    place: FileLocation,
    element: Option<FileElement>,
    problem: MeshFileProblem,
}

/// A place in a mesh file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileLocation {
    /// The file as a whole.
    File,
    /// A piece of a text file.
    Text {
        /// Line, counted from 1.
        line: u64,
        /// First byte, counted from 0.
        offset: usize,
        /// Bytes to underline.
        length: usize,
    },
    /// A place in binary data.
    Byte {
        /// First byte, counted from 0.
        offset: usize,
    },
}

/// The element of the mesh that is at fault, numbered as its file numbers it: from 1 in OBJ, by
/// tag in Gmsh, by index in TetGen, from 0 elsewhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileElement {
    /// For example `vertex`, `face`, `tetrahedron`.
    pub kind: &'static str,
    /// Number in the file.
    pub number: u64,
}

/// The problem of a mesh file.
#[derive(Clone, Debug, PartialEq, Error)]
pub enum MeshFileProblem {
    /// The operating system refused.
    #[error("cannot be read: {reason}")]
    Unreadable {
        /// The system's message.
        reason: String,
    },
    /// The operating system refused to write.
    #[error("cannot be written: {reason}")]
    Unwritable {
        /// The system's message.
        reason: String,
    },
    /// The extension stands for no known format.
    #[error("the extension `{extension}` is not a mesh format")]
    UnknownExtension {
        /// Lower case, without the dot.
        extension: String,
    },
    /// Nothing but white space.
    #[error("the file is empty")]
    Empty,
    /// More than [`super::MeshLimits`] allows.
    #[error("{count} {what} exceed the limit of {limit}")]
    TooMany {
        /// The items counted.
        what: &'static str,
        /// The count that was declared or reached.
        count: u64,
        /// The limit.
        limit: u64,
    },
    /// A declared count needs more bytes than the file has left.
    #[error(
        "{count} {what} are declared, which need at least {needed} bytes, but only {present} follow"
    )]
    Short {
        /// The items declared.
        what: &'static str,
        /// The declared count.
        count: u64,
        /// Bytes that so many take at least.
        needed: u64,
        /// Bytes that are left.
        present: u64,
    },
    /// The file stops in the middle.
    #[error("the file ends where {expected} should be")]
    Ended {
        /// The expected continuation.
        expected: &'static str,
    },
    /// Something else stands where a word or number should be.
    #[error("expected {expected}, found `{found}`")]
    Expected {
        /// The expected text.
        expected: &'static str,
        /// The text found, shortened.
        found: String,
    },
    /// A coordinate is infinite or not a number.
    #[error("coordinate {axis} is {value}")]
    NonFinite {
        /// `x`, `y` or `z`.
        axis: char,
        /// `NaN`, `inf` or `-inf`.
        value: f64,
    },
    /// An element names a vertex that does not exist.
    #[error("vertex index {index} is out of range: the file has {}", numbered(*.count, *.first))]
    IndexOutOfRange {
        /// The index as written.
        index: i64,
        /// The number of the first vertex.
        first: i64,
        /// Number of vertices.
        count: u64,
    },
    /// An element names a node tag that does not exist.
    #[error("node {tag} is not defined in the file")]
    UnknownNode {
        /// The tag as written.
        tag: i64,
    },
    /// The file is sound but holds something that Stiction cannot use.
    #[error("{what} cannot be read")]
    Unsupported {
        /// Contents of the file.
        what: String,
        /// Advice on a correction.
        remedy: &'static str,
    },
    /// Two parts of the file contradict each other.
    #[error("{what}")]
    Inconsistent {
        /// The contradiction.
        what: String,
        /// Advice on a correction.
        remedy: &'static str,
    },
    /// A part that the format requires is absent.
    #[error("{what} is missing")]
    Missing {
        /// The absent part.
        what: String,
        /// Advice on a correction.
        remedy: &'static str,
    },
    /// A polygon that cannot be cut into triangles.
    #[error("the polygon with {corners} corners {reason}")]
    Polygon {
        /// Number of corners.
        corners: usize,
        /// The reason.
        reason: &'static str,
    },
    /// A file without triangles or tetrahedra.
    #[error("the file holds {vertices} vertices but neither triangles nor tetrahedra")]
    NoElements {
        /// Number of vertices.
        vertices: u64,
    },
}

fn numbered(count: u64, first: i64) -> String {
    match count {
        0 => "no vertices".to_string(),
        1 => format!("one vertex, numbered {first}"),
        _ => format!(
            "{count} vertices, numbered {first} to {}",
            first.saturating_add_unsigned(count - 1)
        ),
    }
}

impl MeshFileProblem {
    fn remedy(&self) -> String {
        match self {
            MeshFileProblem::Unreadable { .. } | MeshFileProblem::Unwritable { .. } => {
                "check the path and its permissions".into()
            }
            MeshFileProblem::UnknownExtension { .. } => {
                format!("known extensions: {}", MeshFormat::EXTENSIONS.join(", "))
            }
            MeshFileProblem::Empty => "export the mesh again".into(),
            MeshFileProblem::TooMany { what, .. } => {
                format!("use a coarser mesh, or raise the limit on {what} if the count is right")
            }
            MeshFileProblem::Short { .. } | MeshFileProblem::Ended { .. } => {
                "the file is truncated or its header lies: copy or export it again".into()
            }
            MeshFileProblem::Expected { .. } => {
                "correct this place, or export the mesh again".into()
            }
            MeshFileProblem::NonFinite { .. } => {
                "repair the vertex in the program that made the mesh".into()
            }
            MeshFileProblem::IndexOutOfRange { .. } | MeshFileProblem::UnknownNode { .. } => {
                "correct the index, or export the mesh with all its vertices".into()
            }
            MeshFileProblem::Polygon { .. } => "triangulate the mesh before export".into(),
            MeshFileProblem::NoElements { .. } => {
                "export the faces or the volume elements together with the vertices".into()
            }
            MeshFileProblem::Unsupported { remedy, .. }
            | MeshFileProblem::Inconsistent { remedy, .. }
            | MeshFileProblem::Missing { remedy, .. } => (*remedy).into(),
        }
    }
}

impl MeshFileError {
    pub(super) fn new(place: FileLocation, problem: MeshFileProblem) -> Self {
        MeshFileError(Box::new(Detail {
            file: None,
            place,
            element: None,
            problem,
        }))
    }

    pub(super) fn at(mut self, kind: &'static str, number: u64) -> Self {
        self.0.element = Some(FileElement { kind, number });
        self
    }

    /// Adds the file name.
    pub fn in_file(mut self, path: &Path) -> Self {
        self.0.file = Some(path.to_path_buf());
        self
    }

    /// The file, if the mesh came from one.
    pub fn file(&self) -> Option<&Path> {
        self.0.file.as_deref()
    }

    /// Location in the file.
    pub fn place(&self) -> FileLocation {
        self.0.place
    }

    /// The element at fault, where there is one.
    pub fn element(&self) -> Option<FileElement> {
        self.0.element
    }

    /// The problem.
    pub fn problem(&self) -> &MeshFileProblem {
        &self.0.problem
    }

    /// Advice on a correction.
    pub fn remedy(&self) -> String {
        self.0.problem.remedy()
    }

    /// Line in a text file, from 1.
    pub fn line(&self) -> Option<u64> {
        match self.0.place {
            FileLocation::Text { line, .. } => Some(line),
            FileLocation::File | FileLocation::Byte { .. } => None,
        }
    }

    /// The bytes to underline in a report, as (offset, length); only for text.
    pub fn span(&self) -> Option<(usize, usize)> {
        match self.0.place {
            FileLocation::Text { offset, length, .. } => Some((offset, length)),
            FileLocation::File | FileLocation::Byte { .. } => None,
        }
    }
}

impl fmt::Display for Detail {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.file {
            Some(file) => write!(f, "{}", file.display())?,
            None => write!(f, "mesh")?,
        }
        match self.place {
            FileLocation::File => write!(f, ": ")?,
            FileLocation::Text { line, .. } => write!(f, ":{line}: ")?,
            FileLocation::Byte { offset } => write!(f, ", byte {offset}: ")?,
        }
        if let Some(element) = self.element {
            write!(f, "{} {}: ", element.kind, element.number)?;
        }
        write!(f, "{}", self.problem)
    }
}

impl miette::Diagnostic for MeshFileError {
    fn code<'a>(&'a self) -> Option<Box<dyn fmt::Display + 'a>> {
        Some(Box::new("mesh_file"))
    }

    fn help<'a>(&'a self) -> Option<Box<dyn fmt::Display + 'a>> {
        Some(Box::new(self.remedy()))
    }
}
