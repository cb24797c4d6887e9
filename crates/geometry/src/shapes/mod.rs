//! Procedural shapes, one file per shape.
//!
//! A shape is a struct of its parameters. `node_count()` says how many vertices it would have,
//! without building anything; `build()` makes the mesh. Both refuse impossible parameters and
//! absurd sizes with a [`ShapeError`] that names the parameter. Names without an ending are
//! surfaces that have their form by nature ([`Sheet`], [`Tube`], [`Bowl`]); where a form is
//! available in several variants the ending says which: `Surface` a closed triangle surface, `Solid`
//! tetrahedra, `Shell` tetrahedra between two walls.
//!
//! All shapes are centred at the origin unless their description says otherwise; axes of
//! revolution are the z axis. Closed surfaces are manifold and face outwards, tetrahedra have
//! positive volume.

mod accordion;
mod ball;
mod band;
mod blob;
mod block;
mod bowl;
mod capsule;
mod card;
mod cone;
mod cylinder;
mod delaunay;
mod disc;
mod grid;
mod groom;
mod hollow_box;
mod palm;
mod path;
mod plane;
mod revolve;
mod segment_grid;
mod sheet;
mod simplex;
mod sweep;
mod tapered_box;
#[cfg(test)]
mod testing;
mod torus;
mod tube;

pub use accordion::Accordion;
pub use ball::{BallShell, BallSolid, BallSurface};
pub use band::Band;
pub use blob::Blob;
pub use block::{BoxSolid, BoxSurface, TetPattern};
pub use bowl::{Bowl, BowlSolid, BowlSurface};
pub use capsule::{CapsuleSolid, CapsuleSurface};
pub use card::Card;
pub use cone::Cone;
pub use cylinder::{CylinderSolid, CylinderSurface};
pub use disc::Disc;
pub use grid::Grid;
pub use groom::{Groom, Root, Scalp};
pub use hollow_box::BoxShell;
pub use palm::Palm;
pub use path::{Move, Path};
pub use plane::PlanePatch;
pub use sheet::{Sheet, SheetPattern};
pub use tapered_box::TaperedBox;
pub use torus::{TorusSolid, TorusSurface};
pub use tube::{Tube, TubeEnds};

/// No shape builds more vertices than this. A caller may well want a lower limit of its own.
pub const MAX_NODES: u64 = 50_000_000;

/// Reason for which a shape cannot be built.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum ShapeError {
    /// A parameter has an impossible value.
    #[error("{shape}: `{parameter}` must be {requirement}, but is {value}")]
    Parameter {
        /// The shape, in words.
        shape: &'static str,
        /// The name of the field.
        parameter: &'static str,
        /// The required range.
        requirement: &'static str,
        /// The given value.
        value: f64,
    },
    /// The mesh would be absurdly large.
    #[error("{shape}: {nodes} vertices are more than the limit of {MAX_NODES}; use fewer cells")]
    TooLarge {
        /// The shape, in words.
        shape: &'static str,
        /// The requested number of vertices.
        nodes: u128,
    },
    /// A strand comes too near to others whatever it tries.
    #[error(
        "groom: strand {strand} found no place {apart} m from the others in {tries} tries; use \
         fewer strands, more `frizz` or a smaller `apart`"
    )]
    NoRoom {
        /// Its number.
        strand: usize,
        /// Number of shapes tried.
        tries: u64,
        /// The requested distance [m].
        apart: f64,
    },
}

fn positive(shape: &'static str, parameter: &'static str, value: f64) -> Result<(), ShapeError> {
    require(
        value > 0.0 && value.is_finite(),
        shape,
        parameter,
        "positive and finite",
        value,
    )
}

fn require(
    holds: bool,
    shape: &'static str,
    parameter: &'static str,
    requirement: &'static str,
    value: f64,
) -> Result<(), ShapeError> {
    if holds {
        return Ok(());
    }
    Err(ShapeError::Parameter {
        shape,
        parameter,
        requirement,
        value,
    })
}

fn at_least_one(
    shape: &'static str,
    parameter: &'static str,
    value: u32,
) -> Result<(), ShapeError> {
    require(value >= 1, shape, parameter, "at least 1", f64::from(value))
}

fn at_least_three(
    shape: &'static str,
    parameter: &'static str,
    value: u32,
) -> Result<(), ShapeError> {
    require(value >= 3, shape, parameter, "at least 3", f64::from(value))
}

/// Counts are polynomials of at most third degree in 32-bit parameters, so 128 bits never
/// overflow.
fn limited(shape: &'static str, nodes: u128) -> Result<u64, ShapeError> {
    if nodes > u128::from(MAX_NODES) {
        return Err(ShapeError::TooLarge { shape, nodes });
    }
    Ok(nodes as u64)
}

/// Vertices of a disc with 6k vertices on ring k.
fn disc_nodes(rings: u32) -> u128 {
    let m = u128::from(rings);
    1 + 3 * m * (m + 1)
}
