//! Method `cr`: Conjugate Residual iterations with contacts that switch state [verschoor2019], inside
//! projected Newton.
//!
//! The method type [`Linearised`] with the contact solver `cr`. Nothing is factorised: the velocity
//! without contact comes from conjugate gradients, contact and friction from Conjugate Residual
//! iterations on velocities and impulses together.
//!
//! Contacts are nonlinear [verschoor2019, Sect. 3.3]: whenever a linear problem is solved, the solver lets
//! detection bring its contacts up to date with the motion, and goes on until that changes nothing beyond
//! the tolerance. A step ends free of collisions, by conservative detection along the whole motion.
//!
//! **Deviations from the paper**
//! - Two linearisations of elasticity per step, as in `admm`, where the paper has one.
//! - By default the certificate decides when a step is solved, see [`stiction_solvers::cr`].
//! - Rods are refused: a strand is a chain of hundreds of stiff links, and an iteration without a factor
//!   carries a force by one link per product.

use stiction_contact::detect::DetectConfig;
use stiction_solvers::cr as solver;

use crate::{
    colliders::ContactRules,
    linearised::{self, ElasticSolver, Linearisations, Linearised},
    methods::cr::NAME,
    registry::MethodConfig,
};

/// Settings of the method.
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    /// Linearisations of elasticity in a step.
    pub linearisations: Linearisations,
    /// Settings of the contact solver.
    pub solver: solver::Config,
    /// The detector.
    pub detect: DetectConfig,
    /// Whether a step that would make surfaces touch or pass is refused, and so taken in substeps.
    pub safe: bool,
}

/// Default bound on iterations per linearisation.
pub const MAX_ITERATIONS: usize = 5000;

impl Config {
    /// The paper's settings.
    pub fn paper() -> Self {
        Self {
            linearisations: Linearisations::Fixed(1), // [verschoor2019, Eq. 4]: semi-implicit
            solver: solver::Config::paper(),
            detect: DetectConfig::default(),
            safe: true,
        }
    }
}

impl Default for Config {
    /// Two linearisations, the last one solved until its certificate is below 1e-9 m/s.
    fn default() -> Self {
        Self {
            linearisations: Linearisations::Fixed(2),
            solver: solver::Config {
                max_iterations: MAX_ITERATIONS,
                ..solver::Config::accurate()
            },
            ..Self::paper()
        }
    }
}

/// Frictional contact by Conjugate Residual iterations.
pub fn cr(config: Config, rules: ContactRules) -> Linearised {
    let settings = linearised::Config {
        integrator: ElasticSolver::Newton(config.linearisations),
        detect: config.detect,
        safe: config.safe,
        residual: match config.solver.stop {
            solver::CrStop::Certificate(bound) => Some(bound),
            solver::CrStop::Thresholds { .. } => None,
        },
    };
    let solver = Box::new(solver::Cr::new(config.solver));
    Linearised::new(NAME, config.capabilities(), settings, rules, solver)
}
