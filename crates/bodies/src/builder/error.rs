use stiction_geometry::MassError;
use stiction_math::ScatterError;

use crate::{
    elements::ElementError, frames::FrameError, material::MaterialError, volume::VolumeError,
};

/// Errors of building a model.
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
    /// Elements on a body without nodes, such as a rigid body or rods.
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
        /// The cause.
        source: FrameError,
    },
    /// The matrix of the body cannot be laid out.
    #[error("body `{body}`: {source}")]
    Matrix {
        /// The body.
        body: String,
        /// The cause.
        source: ScatterError,
    },
    /// Mass and inertia cannot be computed.
    #[error("body `{body}`: {source}")]
    Mass {
        /// The body.
        body: String,
        /// The cause.
        source: MassError,
    },
    /// A node without mass.
    #[error(
        "body `{body}`, node {node}: no element gives it mass; remove the isolated vertex (`stiction doctor` lists them)"
    )]
    Massless {
        /// The body.
        body: String,
        /// The node.
        node: usize,
    },
    /// An invalid volume.
    #[error("volume `{volume}` of body `{body}`: {source}")]
    Volume {
        /// The volume.
        volume: String,
        /// The body.
        body: String,
        /// The cause.
        source: VolumeError,
    },
    /// A surface without a point inside.
    #[error("body `{body}`: no point lies inside; make `cell` ({cell} m) smaller")]
    Unfilled {
        /// The body.
        body: String,
        /// Size of a cell [m].
        cell: f64,
    },
    /// A body listed after material points, whose blocks follow all others.
    #[error("body `{body}` is listed after a granular one; list granular bodies last")]
    AfterPoints {
        /// The body.
        body: String,
    },
    /// Two bodies of one name.
    #[error("two bodies are called `{name}`; give each its own name")]
    Duplicate {
        /// The name.
        name: String,
    },
    /// A body without elements.
    #[error("body `{body}` has no elements")]
    Empty {
        /// The body.
        body: String,
    },
    /// A pin or anchor refers to a node that does not exist.
    #[error("body `{body}` has no node {node}; it has {count}")]
    Node {
        /// The body.
        body: String,
        /// The requested node.
        node: usize,
        /// Number of nodes.
        count: usize,
    },
    /// Roots of a body without rods.
    #[error("body `{body}` is not made of rods and has no roots")]
    NotRods {
        /// The body.
        body: String,
    },
    /// An invalid position of a root.
    #[error(
        "the rods of body `{rods}` cannot grow out of body `{body}`: it needs a surface of triangles and \
         elements that are not flat"
    )]
    Ground {
        /// The rods.
        rods: String,
        /// The body that they are rooted in.
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
    /// A number that is negative or not finite.
    #[error("{what} is {value}; it must be finite and not negative")]
    Number {
        /// Name of the number.
        what: String,
        /// The given value.
        value: f64,
    },
}

impl BuildError {
    /// The name of the body concerned, if it is one.
    pub fn body(&self) -> Option<&str> {
        match self {
            Self::Material { body, .. }
            | Self::Element { body, .. }
            | Self::NoElements { body }
            | Self::Frames { body, .. }
            | Self::Matrix { body, .. }
            | Self::Mass { body, .. }
            | Self::Massless { body, .. }
            | Self::Volume { body, .. }
            | Self::Unfilled { body, .. }
            | Self::AfterPoints { body }
            | Self::Duplicate { name: body }
            | Self::Empty { body }
            | Self::Node { body, .. }
            | Self::NotRods { body }
            | Self::Ground { rods: body, .. }
            | Self::PinnedTwice { body, .. } => Some(body),
            Self::Number { .. } => None,
        }
    }

    /// Advice where the message gives none.
    pub fn remedy(&self) -> Option<&'static str> {
        match self {
            Self::Element { .. } | Self::Mass { .. } => {
                Some("`stiction doctor` examines a mesh and lists all such elements")
            }
            _ => None,
        }
    }
}
