//! Geometry for Stiction: meshes, procedural shapes, topology, mass properties, embedding
//! lattices and the examination of meshes. It knows no forces and does no input or output.

mod bounds;
mod mesh;
mod quality;
mod random;
pub mod shapes;
mod topology;

pub use bounds::Aabb;
pub use mesh::{MeshError, TetMesh, TriMesh};
pub use quality::{EdgeLengths, TetQuality, TriQuality};
pub use random::SplitMix;
pub use topology::{Adjacency, Components};
