//! Solvers of frictional contact problems, one folder each, all behind the trait
//! [`ContactSolver`]. A solver runs from a `FrictionProblem` alone and has no access to bodies, meshes, scenes or
//! file; solvers never import one another. `projection` is what `admm` and `ica` share, `assembled` what
//! `cr` and `newton` do, `kkt` what `cr` and `sp` do, `facets` what `ica` and `sp` do; [`SOLVERS`] puts them together.

pub mod admm;
mod assembled;
pub mod cr;
mod facets;
pub mod ica;
mod kkt;
pub mod local;
pub mod newton;
pub mod nodal;
pub mod projection;
pub mod reference;
mod registry;
pub mod sp;

pub use registry::{Auto, SOLVERS, SolverEntry, polished_admm, solver};
pub use stiction_contact::solver::ContactSolver;
