//! The methods: one folder each, one line each in [`BUILT_IN`].

pub mod admm;
pub mod attachment;
pub mod cr;
mod linearisations;
pub mod newton;
pub mod nodal;
pub mod smooth;

use crate::registry::MethodEntry;
use linearisations::linearisations;

/// The methods that come with the library. The first is that of scenes that choose none.
pub const BUILT_IN: [&MethodEntry; 6] = [
    &newton::ENTRY,
    &admm::ENTRY,
    &smooth::ENTRY,
    &nodal::ENTRY,
    &cr::ENTRY,
    &attachment::ENTRY,
];
