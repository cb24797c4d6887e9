//! Friction problems to try solvers on: random ones of every difficult kind, and structured ones
//! with answers by hand.
//!
//! All are made from a seed or from plain numbers alone, the same on every machine, and all have a
//! solution: with the velocities that random ones are built around every contact opens, which is
//! enough for one to exist [acary2011].

mod random;
mod structured;

pub use random::{RandomProblem, random};
pub use structured::{SolvedProblem, incline, pulled_chain, stack};
