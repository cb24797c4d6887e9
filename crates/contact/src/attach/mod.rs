//! Contact by attachments: a penalty force with exact Coulomb friction [ding].
//!
//! A *particle* Z that has entered an *object* is held by a spring of zero length to an attachment X on the
//! object's surface. The attachment slides along the surface only as far as Coulomb's law demands, to the
//! relaxed point Y = P(X, Z), and the force on the particle is
//!
//! ```text
//! f = k (P(X, Z) − Z),      ‖f − (f·n) n‖ ≤ μ f·n      [ding, Eq. 1]
//! ```
//!
//! with an equal and opposite force on the object at Y. X is constant in a step and becomes Y at its end.
//! It is stored in the object's own frame or by barycentric weights, so that a sticking attachment is the
//! same bits from step to step: what sticks cannot drift.
//!
//! | file | content |
//! | --- | --- |
//! | `solid.rs` | relaxation on planes, analytic shapes and level sets [ding, Sects. 2.1.1, 2.1.2] |
//! | `mesh.rs` | connectivity of a triangle mesh |
//! | `relax.rs` | relaxation on a triangle mesh as a machine of four states [ding, Sect. 2.1.3] |
//! | `world.rs` | particles and objects of all colliders |
//! | `detect.rs` | new pairs by continuous collision detection, without a collision-free state |
//! | `contacts.rs` | the table of pairs, forces and their derivatives |
//! | `samples.rs` | contacts for the certificate |
//!
//! All of it is written over numbers with or without derivatives, so that derivatives pass through every
//! state that a relaxation visits.
//!
//! **Deviations from the paper**
//! - Surfaces have the contact thickness of this library: solids are offset by it, meshes have their vertices
//!   moved along the directions in which all faces around them move by it. A sheet has one such surface on
//!   either side. Offsets of surfaces that deform have the directions of the start of the step, so that friction
//!   on them has a couple of the thickness times the friction force.
//! - On a solid, s is the root of g(s) on the projected path instead of the value for a plane, so that the force
//!   is in the cone, and the relaxation idempotent, on curved surfaces as well; derivatives follow from the
//!   implicit function theorem. For a plane the root is [ding, Eq. 2].
//! - A particle that enters a solid is attached where its path crosses the surface, as on meshes.
//! - A particle that begins within the contact thickness has the surface through it as its own, for as long as the
//!   pair lasts: no spring begins stretched, and nothing is launched.
//! - From a vertex, the attachment takes the neighbour along which it is pulled farthest, not the first one.
//! - An attachment at the border of an open mesh that is pulled off it has no force.
//! - Pairs are detected in every evaluation of the forces, not once per iteration, so that a line search sees
//!   one function. A pair found in a step that is not inside at a trial is forgotten.
//! - Inactive pairs are kept while the particle is within a hundredth of the thickness: the start of the
//!   next step may be inside by rounding.
//! - An attachment that slid in the step before has the kinetic coefficient of friction, and so has a new one of a particle
//!   that slides over the object at the start of the step.

mod contacts;
mod detect;
mod mesh;
mod relax;
mod samples;
mod solid;
mod world;

pub use contacts::{AttachConfig, AttachContacts, AttachError, AttachStatistics, StoredPair};
pub use mesh::SurfaceTopology;
pub use relax::{MeshPoint, RelaxState, RelaxTrace, Relaxed, relax_on_mesh};
pub use solid::{RelaxedOnSolid, relax_on_solid};
