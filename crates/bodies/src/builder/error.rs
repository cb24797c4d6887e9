use stiction_geometry::MassError;
use stiction_math::ScatterError;

use crate::{
    elements::ElementError, frames::FrameError, material::MaterialError, volume::VolumeError,
};

/// Why a model cannot be built.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum BuildError {
    /// A material parameter is out of range.
    #[error("body `{body}`: {source}")]
    Material {
        /// The body.
        body: String,
        /// The parameter.
        source: MaterialError,
    },
    /// An element cannot be used.
    #[error("body `{body}`: {source}")]
    Element {
        /// The body.
        body: String,
        /// The element.
        source: ElementError,
    },
    /// Elements act on nodes, which rigid bodies and rods do not offer.
    #[error("body `{body}`: elements can be added to shells, solids and particles only")]
    NoElements {
        /// The body.
        body: String,
    },
    /// Frames cannot carry the body.
    #[error("body `{body}`: {source}")]
    Frames {
        /// The body.
        body: String,
        /// Why.
        source: FrameError,
    },
    /// The matrix of the body cannot be laid out.
    #[error("body `{body}`: {source}")]
    Matrix {
        /// The body.
        body: String,
        /// Why.
        source: ScatterError,
    },
    /// Mass and inertia cannot be found.
    #[error("body `{body}`: {source}")]
    Mass {
        /// The body.
        body: String,
        /// Why.
        source: MassError,
    },
    /// A node without mass cannot be moved by the laws of motion.
    #[error(
        "body `{body}`, node {node}: no element gives it mass; remove the isolated vertex (`stiction doctor` lists them)"
    )]
    Massless {
        /// The body.
        body: String,
        /// The node.
        node: usize,
    },
    /// A body has no such volume.
    #[error("volume `{volume}` of body `{body}`: {source}")]
    Volume {
        /// The volume.
        volume: String,
        /// The body.
        body: String,
        /// Why.
        source: VolumeError,
    },
    /// Two bodies of one name.
    #[error("two bodies are called `{name}`; give each its own name")]
    Duplicate {
        /// The name.
        name: String,
    },
    /// There is nothing in the body.
    #[error("body `{body}` has no elements")]
    Empty {
        /// The body.
        body: String,
    },
    /// A pin or anchor names a node that is not there.
    #[error("body `{body}` has no node {node}; it has {count}")]
    Node {
        /// The body.
        body: String,
        /// The node asked for.
        node: usize,
        /// How many there are.
        count: usize,
    },
    /// Only rods have roots.
    #[error("body `{body}` is not made of rods and has no roots")]
    NotRods {
        /// The body.
        body: String,
    },
    /// Rods cannot grow there.
    #[error(
        "the rods of body `{rods}` cannot grow out of body `{body}`: it needs a surface of triangles and \
         elements that are not flat"
    )]
    Ground {
        /// The rods.
        rods: String,
        /// What they were to grow out of.
        body: String,
    },
    /// A block is pinned twice.
    #[error("body `{body}`, node {node}: pinned twice; let the pins' regions not overlap")]
    PinnedTwice {
        /// The body.
        body: String,
        /// The node.
        node: usize,
    },
    /// A number that must be finite and not negative.
    #[error("{what} is {value}; it must be finite and not negative")]
    Number {
        /// Which number.
        what: String,
        /// What was given.
        value: f64,
    },
}
