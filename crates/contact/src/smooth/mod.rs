//! Contact and friction as smooth forces, for methods that integrate them like any other force
//! [larionov].
//!
//! [`SmoothContacts`] is the interface. Vertices are kept out of potentials
//! ([`stiction_geometry::implicit`]) by a penalty, and friction is Coulomb's law smoothed below a
//! small speed ε, both functions of position and velocity alone (`law`). `world` maps vertices to
//! blocks, `points` chooses query points in addition to vertices, `rest` starts contacts, `search` lists
//! pairs of vertices and surfaces, `touch` has the forces of one pair, `kinematics` has derivatives: all code is
//! written over numbers with or without them; `slopes` has the blocks of Jacobians, `pattern` their positions in a matrix.
//!
//! # Exact properties
//! Forces of a pair of bodies sum to zero, and so do their torques, to rounding: for the normal
//! force because the potential does not change under rigid motions, for friction because the
//! motion of the surface is extended to the query point by a map that is exact for rigid motions,
//! and forces go back by the transpose. Friction never does positive work on the pair.
//!
//! # Deviations from the paper
//! - The normal force that friction sees is N = λ‖∂d/∂q‖ instead of λ, the force that really acts;
//!   the two are equal where the potential is a distance.
//! - Both sides of a pair of bodies are queries.
//! - Open sheets have two sides: a vertex keeps the one on which it came into contact.
//! - Query points are vertices, and points on long edges and large faces, so that surfaces without vertices
//!   near one another do touch.
//! - Coarse meshes have the distance to their faces as potential instead of blended planes, where
//!   those would be wrong by more than δ, divided at sharp concave edges. At flatter concave edges the
//!   gradient of the distance jumps.
//! - Blended planes end by distance: where they come closer than the faces, the gap follows the distance to the faces, and
//!   nothing acts from farther away than δ ([`stiction_geometry::implicit::End`]).
//! - In a step of backward Euler the sliding velocity is the displacement over the step, along the arcs of turning bodies
//!   ([`ContactKinematics::chord`]), and forces between two rigid bodies have the levers of the start of the step, so that their angular
//!   momentum is conserved.
//! - A contact that begins closer than δ, and one that is pressed while κ is raised, has an offset
//!   instead of the penalty's energy at that gap ([`Rest`]); in the paper, raising κ drives all contacts
//!   apart.

mod config;
mod contacts;
mod law;
mod pattern;
mod points;
mod rest;
mod samples;
mod search;
mod slopes;
mod touch;
mod world;

pub use crate::kinematics::{ContactKinematics, RigidFrame};
pub use config::{FrictionTime, SmoothConfig, SmoothError};
pub use contacts::{Deepest, SmoothContacts};
pub use law::{Penalty, SmoothFriction, Stribeck, transition};
pub use pattern::JacobianPattern;
pub use rest::{ContactLoad, Rest};
pub use samples::ContactSample;
