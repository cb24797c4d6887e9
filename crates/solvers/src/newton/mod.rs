//! Frictional contact to rounding: Newton's method on the velocities inside a proximal loop on the
//! impulses, for problems on which first-order methods stall. Starts that are far from an answer are
//! brought close to one by an interior-point method (`interior`).
//!
//! # The two loops
//! From impulses r, which are in their cones, a round solves for velocities v and new impulses r⁺
//!
//! ```text
//! A v − f − Bᵀ r⁺ = 0,    r⁺_N = max(0, r_N − ρ u⁺_N),    r⁺_T = the point of ‖·‖ ≤ μ r⁺_N next to r_T − ρ u_T
//! ```
//!
//! with u = B v + k and u⁺_N = u_N + c r⁺_N, where c is the contact's compliance, and goes on with
//! r ← r⁺. Where r⁺ = r, that is Coulomb's law in the form of [alart1991]; it fails by
//! (r − r⁺)/ρ, a velocity. Cohesion shifts r by ξ n first.
//!
//! As r⁺ is a function of v, contact by contact, the equation has v alone as unknown, and Newton's
//! matrix is
//!
//! ```text
//! A + Bᵀ G B,    G = −∂r⁺/∂u:    0 where open,    ρ I where held,    ρ (n + μ d) nᵀ + ρ (μ r⁺_N/‖y‖) (I − n nᵀ − d dᵀ) where sliding
//! ```
//!
//! with y = r_T − ρ u_T and d its direction. It has the size of A however many contacts there are,
//! and redundant contacts do no harm: components of r that move nothing stay as they were, for
//! which a system in v and r together would need a regularisation. Where contacts slide it is not
//! symmetric, so it is factorised as L U with exchanges of rows.
//!
//! # Starts
//! Each round finds out by Newton's method which contacts open, hold and slide. From a start that is close to
//! an answer few change; from zero impulses that takes more than a hundred factorisations in a heap of a hundred
//! boxes. The interior-point method takes 15 to 20 to an error of 10⁻⁴ m/s, and the rounds that
//! follow a few more. The two take turns: a start closer than that is taken by rounds at once, rounds that
//! do not end are interrupted.
//!
//! # Globalisation
//! - ρ is a multiple of the inverse of the contact's local Delassus scale, the ρ of the certificate.
//!   A large multiple makes rounds few and each of them hard, a small one the reverse. It grows when
//!   a round changes little, and falls when Newton's method fails in one.
//! - A Newton step is shortened until the next one from there, with the same factor, would be
//!   shorter [deuflhard2004, Sect. 3.3.3]. Unlike norms of the residual that test does not
//!   depend on ρ or on masses.
//! - A round starts with one step in which every contact keeps its state of the end of the last
//!   one. The new ρ and r suggest other states at first, because the error of the last round counts once more.
//! - u = B v + k follows the steps of v by increments. Evaluated from v it has the rounding of v, and ρ
//!   makes that an error of impulses above 10⁻⁹ m/s.
//! - The answer with the best certificate is kept, and `converged` is said of a certificate alone.
//!
//! Every round is as well defined for contradictory contacts as for others; their impulses then
//! grow from round to round, and the limit of iterations ends it.
//!
//! Alternatives that were measured on stored problems of all scenes: the projection to the cone in
//! place of Alart and Curnier's function took a tenth more factorisations; with the slip in De
//! Saxcé's term fixed during a round the matrix is symmetric, but a fifth of the problems was not
//! solved in a hundred.

mod approach;
mod interior;
mod law;
mod matrix;
mod search;

use stiction_contact::solver::{ContactSolver, Solution, SolverReport, Task};

/// Stopping criteria.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Config {
    /// Done when the certificate's `residual` and `linear` are below this [m/s].
    pub tolerance: f64,
    /// Factorisations before giving up.
    pub max_iterations: usize,
    /// The first ρ, in inverses of a contact's local Delassus scale [1].
    pub stiffness: f64,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            tolerance: 1e-8,
            max_iterations: 1000,
            stiffness: 100.0,
        }
    }
}

pub use stiction_contact::solver::SolverError as Error;

/// The solver. It keeps nothing between solves.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct NewtonSolver {
    config: Config,
}

impl NewtonSolver {
    /// A solver with the given settings.
    pub fn new(config: Config) -> Self {
        Self { config }
    }
}

impl ContactSolver for NewtonSolver {
    fn name(&self) -> &'static str {
        "newton"
    }

    /// Contacts are those of the task's problem at its start: the source is not used.
    fn solve(
        &mut self,
        task: &mut Task<'_>,
        solution: &mut Solution,
    ) -> Result<SolverReport, Error> {
        if task.local.is_some() {
            return Err(Error::LocalStep(self.name()));
        }
        let mut config = self.config;
        if let Some(target) = task.target {
            config.tolerance = target.error;
            config.max_iterations = target.iterations(config.max_iterations);
        }
        for (name, value) in [
            ("tolerance", config.tolerance),
            ("stiffness", config.stiffness),
        ] {
            if !(value.is_finite() && value > 0.0) {
                return Err(Error::Setting { name, value });
            }
        }
        task.problem.check()?;
        solution.check()?;
        search::search(task.problem, solution, &config, task.cancel)
    }
}
