//! Solvers of frictional contact problems, one folder each. A solver runs from a
//! `FrictionProblem` alone and knows no body, mesh, scene or file; solvers never import one
//! another, but for two that others build on: `projection` is what `admm` and `ica` share, and
//! `newton` finishes for `admm` what stalls.

pub mod admm;
pub mod ica;
pub mod newton;
pub mod projection;
pub mod reference;
