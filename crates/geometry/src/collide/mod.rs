//! Collision detection that misses nothing: closest points, continuous collision detection,
//! bounding volume hierarchies and the pairs of surface features that may touch.
//!
//! The files follow the data: closest points of one pair of features ([`point_edge`],
//! [`point_triangle`], [`edge_edge`]).

pub mod bvh;
pub mod ccd;
mod edge_edge;
mod normal;
mod point_edge;
mod point_triangle;

pub use edge_edge::{EdgeEdge, EdgeEdgeFeature, edge_edge};
pub use normal::{edge_edge_normal, point_edge_normal, point_triangle_normal};
pub use point_edge::{EdgeFeature, PointEdge, point_edge};
pub use point_triangle::{
    PointTriangle, TriangleFeature, closest_point_on_triangle, point_triangle,
};
