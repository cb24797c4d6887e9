//! Friction that holds: cloth, elastic solids and rigid bodies in frictional contact.
//!
//! This crate is the facade of the workspace: the parts under their short names, and the
//! command line. A simulation from a scene file:
//!
//! ```
//! use stiction::scene::{self, LoadOptions, SceneSource};
//!
//! let source = SceneSource::builtin("free-fall").expect("a built-in scene");
//! let scene = scene::load(source, &LoadOptions::default()).expect("it is valid");
//! let (mut simulation, _settings) = scene.into_simulation().expect("its method supports it");
//! let report = simulation.step().expect("a step succeeds");
//! assert!(report.converged && simulation.state().time > 0.0);
//! ```

pub use stiction_bodies as bodies;
pub use stiction_contact as contact;
pub use stiction_geometry as geometry;
pub use stiction_math as math;
pub use stiction_record as record;
pub use stiction_scene as scene;
pub use stiction_sim as sim;
pub use stiction_solvers as solvers;

pub mod commands;
