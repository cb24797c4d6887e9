//! Anisotropic adaptive remeshing of triangle sheets [narain2012].
//!
//! A sheet has a rest shape and a place in the world. A [`Sizing`] tensor per vertex says how long an
//! edge of the rest shape may be in each direction. [`remesh()`] splits, flips and collapses edges until
//! every edge has size s ≤ 1, and no edge can be collapsed such that all others stay below 1 by a
//! margin, and triangles are close to Delaunay in the metric [bossen1996]. [`sizing_field()`] makes
//! tensors from curvature, motion, compression and nearby surfaces ([`TangentPlane`]).
//!
//! # Invariants
//! - The rest surface, as a polyhedron with labels, is the same before and after: flips and
//!   collapses stay within its planes, vertices on boundaries, creases and lines between labels
//!   move along these. A flat sheet can become coarser than it was given, down to its corners; a
//!   curved one only down to the mesh that it was given as.
//! - Splits change nothing in world space either. Flips and collapses keep triangles well shaped there
//!   and facing as before; a [`Guard`] can refuse them, such as near other surfaces.
//! - The result depends on the input alone.
//!
//! # Deviations from the paper
//! - Tensors live in the tangent plane of the rest shape in space and not in texture coordinates,
//!   so that no parametrisation is needed.
//! - Tensors are combined by simultaneous reduction, which bounds both, where [narain2013] samples
//!   directions.
//! - The Delaunay criterion has a margin, and a flip may not cause an edge that is too long: no
//!   criterion undoes what another one did.

mod curvature;
mod edit;
mod field;
mod nearest;
mod passes;
mod sheet;
mod sizing;
#[cfg(test)]
mod tests;
mod trace;

use stiction_math::Vec3;

use crate::WeightRows;
use edit::Editor;
use sheet::Sheet;
use trace::Trace;

pub use field::{FieldConfig, SheetMotion, TangentPlane, sizing_field};
pub use nearest::{NearestTriangle, TriangleTree};
pub use sheet::SheetError;
pub use sizing::{SizeLimits, Sizing, TangentFrame, combine};

/// A sheet to remesh.
#[derive(Clone, Copy, Debug)]
pub struct SheetInput<'a> {
    /// Rest positions of the vertices [m].
    pub rest: &'a [Vec3],
    /// World positions of the vertices [m].
    pub world: &'a [Vec3],
    /// Triangles, counter-clockwise seen from outside; a manifold with or without boundary.
    pub triangles: &'a [[u32; 3]],
    /// A label of each triangle; lines between labels stay.
    pub labels: &'a [u32],
    /// Restrictions on each vertex.
    pub hold: &'a [Hold],
    /// Sizing tensor of each vertex.
    pub sizing: &'a [Sizing],
}

/// Restrictions on a vertex.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Hold {
    /// The motion that prescribes its position, as a number. Edges within one pin stay as lines.
    pub pin: Option<u32>,
    /// Whether the vertex must stay.
    pub fixed: bool,
}

/// Settings of [`remesh()`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RemeshConfig {
    /// A collapse must leave all its edges below 1 − hysteresis, in [0, 1), so that they are not split
    /// again soon.
    pub hysteresis: f64,
    /// Bound on the number of vertices at which splits end.
    pub most_vertices: usize,
}

impl Default for RemeshConfig {
    fn default() -> Self {
        Self {
            hysteresis: 0.2,
            most_vertices: 1 << 24,
        }
    }
}

/// An operation that changes the surface in world space: the triangles before and after it.
#[derive(Clone, Copy, Debug)]
pub struct Replacement<'a> {
    /// In rest space [m].
    pub rest: [&'a [[Vec3; 3]]; 2],
    /// In world space [m].
    pub world: [&'a [[Vec3; 3]]; 2],
    /// Their labels.
    pub labels: [&'a [u32]; 2],
}

/// Judge of operations that change the surface in world space.
pub trait Guard {
    /// Whether an operation may be made. One that is allowed is made.
    fn allows(&self, change: &Replacement<'_>) -> bool;
}

/// Number of operations of each kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RemeshCounts {
    /// Edges split.
    pub splits: usize,
    /// Edges flipped.
    pub flips: usize,
    /// Vertices removed.
    pub collapses: usize,
    /// Whether splits ended at the largest number of vertices.
    pub limited: bool,
}

/// A new mesh in terms of the old one.
#[derive(Clone, Debug, PartialEq)]
pub struct Remeshed {
    /// The new triangles.
    pub triangles: Vec<[u32; 3]>,
    /// The new vertices as weighted old ones: those that are left in their order, then new ones.
    pub nodes: WeightRows,
    /// The old vertices as points of the new mesh.
    pub old_nodes: WeightRows,
    /// Pairs of a new and an old triangle that share an area of the rest surface, by new, then old
    /// triangle; at least one for each new triangle. All of one new triangle have the same label.
    pub overlaps: Vec<TriangleOverlap>,
}

/// A new triangle and an old one that share an area of the rest surface.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TriangleOverlap {
    /// The new triangle.
    pub child: u32,
    /// The old triangle.
    pub triangle: u32,
    /// Barycentric coordinates of the new corners in the old triangle, negative outside.
    pub corners: [[f64; 3]; 3],
}

/// Remeshes a sheet; none if its mesh is as it should be.
pub fn remesh(
    input: &SheetInput<'_>,
    config: RemeshConfig,
    guard: Option<&dyn Guard>,
) -> Result<(Option<Remeshed>, RemeshCounts), SheetError> {
    let sheet = Sheet::new(input.rest, input.world, input.triangles, input.labels)?;
    let mut editor = Editor {
        sheet,
        sizing: input.sizing.to_vec(),
        hold: input.hold.to_vec(),
        trace: Trace::new(input.rest, input.triangles),
        config,
        guard,
        counts: RemeshCounts::default(),
        fresh: Vec::new(),
    };
    editor.run();
    let counts = editor.counts;
    let changed = counts.splits + counts.flips + counts.collapses > 0;
    let made = changed.then(|| editor.trace.finish(&editor.sheet));
    Ok((made.flatten(), counts))
}
