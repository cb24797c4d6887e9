//! Friction that holds: cloth, elastic solids and rigid bodies in frictional contact.
//!
//! This crate is the facade of the workspace: the parts under their short names, and the
//! command line. A simulation from a scene file:
//!
//! ```
//! use stiction::scene::{LoadOptions, SceneSource, load};
//!
//! let source = SceneSource::Builtin("free-fall".to_owned());
//! let scene = load(&source, &LoadOptions::default())?;
//! let (mut simulation, plan) = scene.simulation()?;
//! for _ in 0..10 {
//!     let report = simulation.step()?;
//!     assert!(report.converged);
//! }
//! assert_eq!(simulation.state().time, 10.0 * plan.time.step);
//! # Ok::<(), Box<dyn std::error::Error>>(())
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
pub mod replay;
pub mod validate;
pub mod view;
