//! Scene files: text to a model, its first state, a method, probes and checks.
//!
//! [`load`] reads a scene in TOML, applies overrides, builds the model and asks the method whether
//! it can run it. What is wrong is reported with the line and a suggestion, several problems at
//! once. `docs/scenes.md` describes the format.

mod build;
pub mod builtin;
mod canonical;
mod differences;
mod error;
mod extension;
mod files;
mod format;
pub mod friction;
mod kept;
pub mod library;
mod load;
mod overrides;
mod read;
mod settings;
mod source;
mod suggest;
mod tree;
mod variant;

/// Readers of mesh and strand files.
pub use stiction_meshio as mesh_files;

pub use differences::{Difference, differences};
pub use error::{ProblemKind, SceneError, SceneProblem};
pub use extension::Extension;
pub use format::json::schema;
pub use kept::MeshSource;
pub use load::{
    LoadOptions, RunPlan, Scene, SceneLimits, SceneSource, VariantInfo, load, variants,
};
pub use settings::{
    Adaptations, ContactSettings, OutputFrames, OutputSettings, OverlapPolicy, TimeSettings,
};
