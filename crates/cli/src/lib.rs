//! The `stiction` program: commands, the analytic friction suite and the scenes that are shown in the browser.
//!
//! The library that programs use is the crate `stiction`, whose parts are here under the same names.

pub use stiction::{bodies, contact, geometry, math, record, scene, sim, solvers};

pub mod commands;
pub mod replay;
pub mod validate;
pub mod view;
