//! Friction that holds: cloth, hair, elastic solids, rigid bodies and grains in frictional contact.
//!
//! Coulomb's law is solved exactly: what should stick stays in place, and what should slide starts to slide at the
//! right angle. Every step has a certificate that says how well the law was met.
//!
//! # A first simulation
//!
//! A [`World`] is made from a scene, takes steps, and gives access to bodies, contacts and probes by name:
//!
//! ```
//! use stiction::{Body, Obstacle, SceneBuilder};
//!
//! let mut world = SceneBuilder::new()
//!     .step(0.01)
//!     .friction(0.5)
//!     .obstacle(Obstacle::plane("slope", [0.342020143, 0.0, 0.939692621]))
//!     .body(Body::rigid_box("box", [0.2, 0.2, 0.1], 500.0).rotate([0.0, 1.0, 0.0], 20.0).translate([0.017443027, 0.0, 0.047924324]))
//!     .build()?;
//! let start = world.body("box")?.position();
//! for _ in 0..20 {
//!     let report = world.step()?;
//!     assert!(report.certificate.residual < 1e-8);
//! }
//! assert!((world.body("box")?.position() - start).norm() < 1e-6);
//! # Ok::<(), stiction::Error>(())
//! ```
//!
//! # Scenes
//!
//! A scene is text ([`World::from_text`]), a file ([`World::open`]), a built-in scene ([`World::builtin`])
//! or built in code ([`SceneBuilder`]). The builder writes the same format, which `docs/scenes.md` describes.
//! Every key of the format can be set, defaults and messages are the same, and
//! [`SceneBuilder::text`] returns the scene as text. Meshes may come from memory.
//!
//! # Between steps
//!
//! | task | call |
//! | --- | --- |
//! | read positions, velocities, poses | [`World::body`], [`World::obstacle`] |
//! | set them | [`World::body_mut`] |
//! | apply forces and torques | [`BodyMut::set_force`], [`BodyMut::set_torque`] |
//! | move pinned bodies and obstacles | [`BodyMut::move_to`], [`World::move_obstacle`] |
//! | read contacts with names and forces | [`World::contacts`], [`World::contact_force`] |
//! | read probes and the certificate | [`World::probe`], [`World::certificate`] |
//! | save and restore the state | [`World::checkpoint`], [`World::restore`] |
//!
//! # Beyond scenes
//!
//! The parts of the library are here under their short names: [`bodies`] (a force model is
//! [`bodies::elements::Elements`], added by [`SceneBuilder::extend`]), [`contact`] (a contact solver is
//! [`contact::solver::ContactSolver`], a friction problem is plain data), [`sim`] (a method is
//! [`sim::Method`], registered in a [`sim::Registry`]). The folder `examples` has one program for each.
//!
//! # Features
//!
//! All are on by default. Without them the library writes no files and draws no plots.
//!
//! | feature | adds |
//! | --- | --- |
//! | `files` | the module `record`: frames, tables, summaries and checkpoints on disk |
//! | `render` | pictures of recorded runs as PNG, curves as PNG and SVG, reports |
//! | `fclib` | friction problems as FCLIB's HDF5 files |

mod body;
mod builder;
mod error;
mod world;

pub use body::{BodyMut, BodyRef, ObstacleRef};
pub use builder::{Body, Material, Obstacle, Pin, Probe, SceneBuilder};
pub use error::Error;
pub use world::{Checkpoint, ContactReport, World};

pub use stiction_bodies::motion::{Motion, Pose};
pub use stiction_contact::{Certificate, ContactState};
pub use stiction_math::{Quat, Vec3};
pub use stiction_sim::{StepError, StepReport};

pub use stiction_bodies as bodies;
pub use stiction_contact as contact;
pub use stiction_geometry as geometry;
pub use stiction_math as math;
#[cfg(feature = "files")]
pub use stiction_record as record;
pub use stiction_scene as scene;
pub use stiction_sim as sim;
pub use stiction_solvers as solvers;
