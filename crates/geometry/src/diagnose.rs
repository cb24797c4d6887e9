//! Examines a mesh before a run: what is wrong, where, and what to do about it.
//!
//! Nothing here fails on a broken mesh. Elements with impossible indices or positions are
//! reported and left out of the checks that follow.

mod checks;

use std::fmt;

use crate::mesh::{TetMesh, TriMesh};
use checks::Examination;

/// One thing that was found.
#[derive(Clone, Debug, PartialEq)]
pub struct Finding {
    /// Severity.
    pub severity: Severity,
    /// Kind of the finding.
    pub kind: FindingKind,
    /// The first elements concerned, at most [`MAX_LISTED`].
    pub elements: FindingElements,
    /// Number of elements concerned; 0 if it concerns the mesh as a whole.
    pub count: usize,
    /// Description in one sentence with the elements named.
    pub message: String,
    /// Advice on a correction.
    pub remedy: &'static str,
}

/// Severity of a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// A simulation of this mesh cannot work.
    Error,
    /// Probably not intended.
    Warning,
    /// For information.
    Note,
}

/// Kind of a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum FindingKind {
    /// There are no elements.
    Empty,
    /// A coordinate is infinite or not a number.
    NonFiniteVertex,
    /// An element refers to a vertex that does not exist.
    IndexOutOfRange,
    /// A vertex belongs to no element.
    IsolatedVertex,
    /// Vertices at exactly the same place.
    DuplicateVertices,
    /// Vertices nearer to each other than a millionth of the mesh's size.
    NearbyVertices,
    /// An element without area or volume, relative to its size.
    DegenerateElement,
    /// An element with very different heights, relative to its size.
    PoorElement,
    /// A tetrahedron with negative volume.
    InvertedTet,
    /// Elements with the same vertices.
    DuplicateElement,
    /// An edge with more than two triangles.
    NonManifoldEdge,
    /// A face with more than two tetrahedra.
    NonManifoldFace,
    /// A vertex where parts of the surface meet in one point only.
    NonManifoldVertex,
    /// Neighbouring triangles that face opposite sides.
    InconsistentOrientation,
    /// A closed surface that faces inwards.
    InwardOrientation,
    /// The surface has a boundary.
    OpenBoundary,
    /// The mesh has several parts.
    SeveralComponents,
    /// The size suggests that the file is not in metres.
    SuspiciousUnits,
}

/// The elements that a finding concerns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FindingElements {
    /// The mesh as a whole.
    Mesh,
    /// Vertices.
    Vertices(Vec<u32>),
    /// Edges as pairs of vertices.
    Edges(Vec<[u32; 2]>),
    /// Triangles of a surface.
    Triangles(Vec<u32>),
    /// Faces as triples of vertices.
    Faces(Vec<[u32; 3]>),
    /// Tetrahedra.
    Tets(Vec<u32>),
}

/// A finding lists no more elements than this, but gives their number.
pub const MAX_LISTED: usize = 20;

impl TriMesh {
    /// Everything worth knowing before a simulation, errors first.
    pub fn diagnose(&self) -> Vec<Finding> {
        let mut e = Examination::new(&self.positions, &self.triangles, FindingElements::Triangles);
        e.elements_and_vertices();
        let (sound, original) = e.sound(&self.triangles);
        let sound = TriMesh {
            positions: self.positions.clone(),
            triangles: sound,
        };
        e.triangle_shapes(&sound, &original);
        e.duplicate_elements(&sound.triangles, &original);
        e.surface(&sound, &original);
        e.inward_components(&sound, &original);
        e.components(&sound.components(), &sound.triangles);
        e.units();
        e.finish()
    }
}

impl TetMesh {
    /// Everything worth knowing before a simulation, errors first.
    pub fn diagnose(&self) -> Vec<Finding> {
        let mut e = Examination::new(&self.positions, &self.tets, FindingElements::Tets);
        e.elements_and_vertices();
        let (sound, original) = e.sound(&self.tets);
        let sound = TetMesh {
            positions: self.positions.clone(),
            tets: sound,
        };
        e.tet_shapes(&sound, &original);
        e.duplicate_elements(&sound.tets, &original);
        e.solid(&sound);
        e.components(&sound.components(), &sound.tets);
        e.units();
        e.finish()
    }
}

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Severity::Error => "error",
            Severity::Warning => "warning",
            Severity::Note => "note",
        })
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {} ({})", self.severity, self.message, self.remedy)
    }
}

impl fmt::Display for FindingElements {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let list = |one: &str, many: &str, items: Vec<String>| {
            let name = if items.len() == 1 { one } else { many };
            format!("{name} {}", items.join(", "))
        };
        let numbers = |v: &[u32]| v.iter().map(u32::to_string).collect();
        let tuple = |v: &[u32]| {
            let inner: Vec<String> = v.iter().map(u32::to_string).collect();
            format!("({})", inner.join(", "))
        };
        f.write_str(&match self {
            FindingElements::Mesh => "the mesh".to_owned(),
            FindingElements::Vertices(v) => list("vertex", "vertices", numbers(v)),
            FindingElements::Edges(e) => {
                list("edge", "edges", e.iter().map(|e| tuple(e)).collect())
            }
            FindingElements::Triangles(t) => list("triangle", "triangles", numbers(t)),
            FindingElements::Faces(t) => {
                list("face", "faces", t.iter().map(|t| tuple(t)).collect())
            }
            FindingElements::Tets(t) => list("tetrahedron", "tetrahedra", numbers(t)),
        })
    }
}

#[cfg(test)]
mod tests;
