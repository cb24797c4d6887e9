//! Collision detection that misses nothing: closest points, continuous collision detection,
//! bounding volume hierarchies and the pairs of surface features that may touch.
//!
//! The files follow the data. [`CollisionSurface`] names the features and [`SweptSurface`] puts them into
//! hierarchies of boxes ([`bvh`]); [`Candidates`] are the pairs whose boxes overlap;
//! [`proximity()`] turns candidates into contacts and [`earliest_step`] into the largest safe
//! step ([`ccd`]). Closest points of one pair of features are in [`point_edge()`],
//! [`point_triangle()`] and [`edge_edge()`]. [`triangles_intersect`] decides exactly whether
//! triangles meet; nothing else here relies on it, so that it can judge the rest.

pub mod bvh;
mod candidates;
pub mod ccd;
mod edge_edge;
mod normal;
mod point_edge;
mod point_triangle;
mod predicates;
mod proximity;
mod surface;
mod triangle_triangle;

pub use candidates::{Candidate, Candidates, SafeStep, earliest_step, earliest_step_within};
pub use edge_edge::{EdgeEdge, EdgeEdgeFeature, edge_edge};
pub use normal::{edge_edge_normal, point_edge_normal, point_triangle_normal};
pub use point_edge::{EdgeFeature, PointEdge, point_edge};
pub use point_triangle::{
    PointTriangle, TriangleFeature, closest_point_on_triangle, point_triangle,
};
pub use predicates::{orient2d, orient3d};
pub use proximity::{
    ProximityKind, ProximityPair, proximity, proximity_as, proximity_within, proximity_within_as,
};
pub use surface::{CollisionSurface, EndBox, EndPosition, Margin, SurfaceError, SweptSurface};
pub use triangle_triangle::{segment_meets_triangle, triangles_intersect};
