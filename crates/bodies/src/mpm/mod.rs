//! The material point method: continua that may flow and come apart, such as sand.
//!
//! A body is a set of points with mass, volume, velocity and elastic deformation. Every step has a sparse grid of its own,
//! whose nodes are the blocks of the body for that step: the points give it mass and momentum by affine transfers
//! [jiang2015], the step is solved on it together with all other bodies, contact included, and the points follow it.
//!
//! | file | content |
//! | --- | --- |
//! | `kernel.rs` | quadratic B-splines |
//! | `grid.rs` | nodes, cells, transfers |
//! | `hencky.rs` | logarithmic strain, sand and goo |
//! | `response.rs` | stress and its derivative |
//! | `cells.rs` | forces on nodes |
//! | `kind.rs` | the kind of body |
//!
//! **Deviations from the papers**
//! - Plastic flow is part of the implicit step: stress is that after the return mapping, with its exact, unsymmetric
//!   derivative. [ding] does not say; [klar2016] uses P(F) of the returned deformation where this uses the Kirchhoff
//!   stress over the trial stretch, which stays on the yield surface to rounding.
//! - The cone of sand is the one on which planes slide over one another with tan φ; that of [klar2016] meets Coulomb's
//!   law in triaxial compression and makes slopes steeper, see [`Yield::sand`].
//! - Every body has its own grid: bodies of points do not touch one another.
//! - There are no conditions on the grid: obstacles act on points by contact alone, as in [ding].

mod cells;
mod grid;
mod hencky;
mod kernel;
mod kind;
mod response;

pub use cells::GridCells;
pub use grid::{PointMotion, StepGrid};
pub use hencky::{Flow, Hencky, Yield};
pub use kernel::{Kernel, NodeKey, SUPPORT, offset, support};
pub use kind::MaterialPoints;
pub use response::{PointLaw, Response};
