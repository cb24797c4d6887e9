//! Scene files: text to a model, its first state, a method, probes and checks.
//!
//! [`load`] reads a scene in TOML, applies overrides, builds the model and asks the method whether
//! it can run it. What is wrong is reported with the line and a suggestion, several problems at
//! once. `docs/scenes.md` describes the format.

mod build;
pub mod builtin;
mod continuation;
mod docs;
mod extension;
mod files;
mod format;
mod kept;
pub mod library;
mod load;
mod read;
mod schema;
mod settings;
mod variant;

/// Readers of mesh and strand files.
pub use stiction_meshio as mesh_files;
/// Friction between materials, by their names.
pub use stiction_sim::friction;

pub use continuation::differences;
pub use extension::Extension;
pub use kept::MeshSource;
pub use load::{
    LoadOptions, RunPlan, Scene, SceneLimits, SceneSource, VariantInfo, load, variants,
};
pub use schema::schema;
pub use settings::{ContactSettings, OutputFrames, OutputSettings, OverlapPolicy, TimeSettings};
pub use stiction_format::{
    differences::Difference,
    error::{DocumentError as SceneError, Problem as SceneProblem, ProblemKind},
};
