//! Bodies: shells, solids, rods, frames and rigid bodies, their materials and forces.
//!
//! A [`builder::Builder`] makes a constant [`Model`] and its initial [`State`] from meshes and
//! materials. A [`kind`] implements the operations of the time step for one kind of body. Every
//! elastic model is a family of [`elements::Elements`]; a [`term::Term`] is such a family bound to
//! its body's matrix.

pub mod adapt;
pub mod animated;
mod attachment;
pub mod bending;
pub mod builder;
pub mod check;
mod corotation;
pub mod drag;
pub mod elements;
pub mod energy;
pub mod frames;
mod hinges;
pub mod kind;
pub mod mass;
pub mod material;
pub mod membrane;
mod model;
pub mod motion;
pub mod mpm;
pub mod obstacle;
pub mod rigid;
mod rigidity;
pub mod rod;
pub mod schedule;
pub mod solid;
pub mod split;
pub mod spring;
mod square_term;
mod state;
mod stencil;
pub mod surface;
pub mod term;
pub mod volume;

pub use attachment::{Attachment, Closing, SpringForce};
pub use elements::Hessian;
pub use model::{
    Body, BodyKind, BodyLoad, Clamp, Deformable, HeldFrame, Model, Pin, Rooted, ShellSource, Spin,
};
pub use rod::{RodFrames, Rods};
pub use split::{BodySplit, Split};
pub use state::{Column, Columns, State, StateMisfit};
pub use stencil::{Arm, Stencil};
pub use surface::{Skin, Surface};
pub use volume::Volume;
