//! The list of solvers, and solvers put together.

use stiction_contact::solver::ContactSolver;

use crate::{admm, ica, newton, reference};

/// A solver by name.
#[derive(Clone, Copy, Debug)]
pub struct SolverEntry {
    /// The name used on the command line.
    pub name: &'static str,
    /// What it is, in one line.
    pub about: &'static str,
    /// Makes it, with settings for stored problems: accurate, from any start.
    pub make: fn() -> Box<dyn ContactSolver>,
}

/// All solvers. Adding one is a folder and a line here.
pub const SOLVERS: &[SolverEntry] = &[
    SolverEntry {
        name: "admm",
        about: "splitting with a factorised matrix and a projection to Coulomb's law",
        make: || Box::new(admm::Admm::new(admm::Config::accurate())),
    },
    SolverEntry {
        name: "ica",
        about: "nested relaxation with the exact law",
        make: || Box::new(ica::Ica::new(ica::Config::paper())),
    },
    SolverEntry {
        name: "newton",
        about: "Newton's method inside a loop on the impulses; iterations are factorisations",
        make: || Box::new(newton::Newton::default()),
    },
    SolverEntry {
        name: "reference",
        about: "slow and trusted, dense",
        make: || Box::new(reference::Reference::default()),
    },
];

/// The solver of a name.
pub fn solver(name: &str) -> Option<Box<dyn ContactSolver>> {
    SOLVERS.iter().find(|s| s.name == name).map(|s| (s.make)())
}

/// The splitting with Newton's method as its polishing solver, which is used where
/// [`admm::Config::polish`] asks for it.
pub fn polished_admm(config: admm::Config) -> admm::Admm {
    admm::Admm::new(config).with_polisher(Box::new(newton::Newton::default()))
}
