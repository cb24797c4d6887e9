//! Geometry for Stiction: meshes, procedural shapes, topology, mass properties, embedding
//! lattices and the examination of meshes. It knows no forces and does no input or output.

mod mesh;

pub use mesh::{TetMesh, TriMesh};
