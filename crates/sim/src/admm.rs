//! Method `admm`: frictional contact by splitting, inside projected Newton [daviet2020].
//!
//! The method type [`Linearised`] with the contact solver `admm`, polished by Newton's method where
//! that is configured.
//!
//! **Deviations from the paper**
//! - A step whose end is not reached safely, by conservative detection along the whole motion, is
//!   solved again with contacts of the passing pairs, and at last refused: it is then divided
//!   into substeps. The paper accepts it.
//! - No line search: the contact solve replaces the step that a line search would shorten.
//! - The solver's own deviations are listed at [`stiction_solvers::admm`].
//!
//! For comparison, the same Newton iterations can hand their linear problems to nested relaxation
//! instead [daviet2020, Sect. 7.1]: see [`SolverChoice`].

use stiction_contact::{detect::DetectConfig, solver::ContactSolver};
use stiction_solvers::{
    admm::{self as solver, Polish, Tolerance},
    ica, polished_admm,
};

use crate::{
    colliders::ContactRules,
    linearised::{self, ElasticSolver, Linearisations, Linearised},
    methods::admm::NAME,
    registry::MethodConfig,
};

/// Settings of the method.
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    /// Solution of the elastic step.
    pub integrator: ElasticSolver,
    /// The solver of the linear problems; the splitting integrator has its own.
    pub by: SolverChoice,
    /// Its settings; nested relaxation uses only `tolerance`, `max_iterations` and `sweeps`.
    pub solver: solver::Config,
    /// The detector.
    pub detect: DetectConfig,
    /// Whether a step that would make surfaces touch or pass is refused, and so cut into substeps:
    /// then nothing ever interpenetrates, whatever the solver's tolerance.
    pub safe: bool,
}

/// Default bound on `residual`, `linear` and `eliminated` of the certificate of every step [m/s]: a tenth of the
/// creep at which a body counts as resting, because a body may be faster than its worst contact.
pub const RESIDUAL: f64 = 1e-9;

/// Default bound on the changes of an iteration [m/s], for linearisations that another one follows:
/// their solution is only the point of the next linearisation.
const SPEED: f64 = 2e-5;

/// The solver of the linear problems.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SolverChoice {
    /// Splitting, which the method is named after.
    #[default]
    Splitting,
    /// Nested relaxation with the same law (NL-ICA), with the contacts known at its start.
    NestedRelaxation,
}

impl Config {
    /// The paper's settings.
    pub fn paper() -> Self {
        Self {
            integrator: ElasticSolver::Newton(Linearisations::Fixed(2)), // [daviet2020, Table 5]
            by: SolverChoice::Splitting,
            solver: solver::Config::paper(),
            detect: DetectConfig::default(),
            safe: true,
        }
    }
}

impl Default for Config {
    /// The paper's two Newton iterations; the solver starts such that rest stays rest, and the last
    /// linearisation is solved until its certificate is below [`RESIDUAL`], whatever the time step is.
    fn default() -> Self {
        let solver = solver::Config {
            tolerance: Tolerance::Velocity(SPEED),
            max_iterations: 500,
            polish: Some(Polish::to(RESIDUAL)),
            ..solver::Config::default()
        };
        Self {
            solver,
            ..Self::paper()
        }
    }
}

/// Frictional contact by splitting.
pub fn admm(config: Config, rules: ContactRules) -> Linearised {
    let capabilities = config.capabilities();
    let settings = linearised::Config {
        integrator: config.integrator,
        detect: config.detect,
        safe: config.safe,
        residual: config.solver.polish.and_then(|p| p.residual),
        revisions: None,
    };
    let splitting = config.integrator == ElasticSolver::Splitting;
    let solver: Box<dyn ContactSolver> = match config.by {
        SolverChoice::NestedRelaxation if !splitting => Box::new(ica::Ica::new(ica::Config {
            tolerance: config.solver.tolerance,
            max_iterations: config.solver.max_iterations,
            sweeps: config.solver.sweeps,
            ..ica::Config::paper()
        })),
        SolverChoice::NestedRelaxation | SolverChoice::Splitting => {
            Box::new(polished_admm(config.solver))
        }
    };
    Linearised::new(NAME, capabilities, settings, rules, solver)
}
