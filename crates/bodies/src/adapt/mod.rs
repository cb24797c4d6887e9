//! Topology changes between steps.
//!
//! A [`MeshChange`] relates the new mesh of one shell to its old one: new nodes as weighted old
//! nodes, old nodes as points of the new mesh, the old triangles that each new one overlaps. A
//! [`TopologyChange`] holds those of all bodies that change together, and renumbers the blocks of
//! the others. [`Topology`] is all of a model that a change replaces, as plain data: a model is
//! assembled from it after a change and after a restart alike. [`Adaptation`] transfers columns
//! from the old model to the new one.
//!
//! # Conserved quantities
//! Positions and velocities are interpolated linearly, so that the surface stays in place and no
//! overlap appears.
//! - Mass, centre of mass and linear momentum are kept: both mass matrices integrate linear
//!   functions over each triangle exactly, and an old triangle is the union of its children.
//! - The stretching energy is kept: children have the deformation gradient of their parent.
//! - A consistent mass also keeps angular momentum and kinetic energy, because it integrates
//!   quadratic functions exactly. A lumped mass does not: Σ m x × v of a triangle differs from the
//!   sum over its children by O(h²). The velocity is therefore corrected by the least change in the
//!   mass norm that restores both momenta, which is a rigid motion.
//! - Where nodes are removed or edges flipped, the surface changes within its curvature. Mass stays the
//!   same, because the rest surface does. A removed node leaves the momentum by which it moved
//!   faster than the surface that replaces it to the corners of its new triangle; the rigid motion
//!   restores both momenta. Kinetic energy is lost.
//! - The bending energy of a crease grows by the ratio of the hinge widths: the angle stays while
//!   the hinges around it get narrower. It relaxes in the following steps.
//! - What a change beyond refinement adds to the energy is taken from the motion of the changed bodies
//!   relative to their rigid motion, as far as there is any; remeshing makes no more flips and collapses than that
//!   can pay for (`energy`).

mod anchor;
mod change;
mod energy;
mod remesh;
mod topology;
mod transfer;

pub use change::{AdaptError, MeshChange, TopologyChange};
pub use stiction_geometry::{WeightRows, remesh::TriangleOverlap};
pub use topology::{ShellMesh, Topology};
pub use transfer::Adaptation;
