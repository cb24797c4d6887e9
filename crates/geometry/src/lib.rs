//! Geometry for Stiction: meshes, procedural shapes, topology, mass properties, embedding
//! lattices and the examination of meshes. It has no forces and does no input or output.

pub mod analytic;
mod bounds;
pub mod collide;
mod diagnose;
mod embedding;
mod fill;
pub mod implicit;
mod inside;
mod level_set;
mod mass_properties;
mod mesh;
mod place;
mod plant;
mod quality;
mod random;
mod refine;
pub mod remesh;
mod seam;
mod select;
pub mod shapes;
mod strands;
mod topology;
mod weights;

pub use bounds::Aabb;
pub use collide::closest_point_on_triangle;
pub use diagnose::{Finding, FindingElements, FindingKind, MAX_LISTED, Severity};
pub use embedding::{EmbeddedVertex, Embedding, EmbeddingConfig, EmbeddingError, MAX_CELLS};
pub use fill::{fill, fill_candidates};
pub use inside::InsideTest;
pub use level_set::{LevelSet, LevelSetError, MAX_LEVEL_SET_BYTES};
pub use mass_properties::{MassError, MassProperties, PrincipalAxes};
pub use mesh::{MeshError, TetMesh, TriMesh};
pub use place::by_place;
pub use plant::{Plant, PlantPart, PlantSection, PlantVertex, Station};
pub use quality::{EdgeLengths, TetQuality, TriQuality};
pub use random::SplitMix;
pub use refine::{CHILDREN, Refinement};
pub use seam::{Outline, SeamError, Stitch, stitches};
pub use select::{SelectError, Selection, select};
pub use strands::Strands;
pub use topology::{Adjacency, Components};
pub use weights::WeightRows;
