//! Solvers of frictional contact problems, one folder each. A solver runs from a
//! `FrictionProblem` alone and knows no body, mesh, scene or file; solvers never import one
//! another. `projection` is what `admm` and `ica` share; `finish` lets `newton` finish for `admm`.

pub mod admm;
pub mod finish;
pub mod ica;
pub mod newton;
pub mod projection;
pub mod reference;
