//! Method `cr` in the registry: Conjugate Residual iterations with contacts that switch state
//! [verschoor2019], inside projected Newton.
//!
//! The method type [`Linearised`] with the contact solver `cr`. Nothing is factorised: the velocity without
//! contact comes from conjugate gradients, contact and friction from conjugate residuals, and the
//! certificate's `eliminated` from conjugate gradients, all with incomplete factors at most.
//!
//! **Deviations from the paper**
//! - Two linearisations of elasticity per step by default, where the paper has one.
//! - The certificate decides by default when a step is solved. `tolerance` follows the paper's rules instead.
//! - A step whose end is not reached safely, by conservative detection along the whole motion, is
//!   solved again with contacts of the passing pairs, and at last refused: it is then divided into substeps.
//! - Contacts are revised by the step, between solves of the last linearisation, not by the solver: any contact
//!   solver can so have nonlinear contacts, and the arcs of turning bodies are followed at the same place.
//! - The solver's own deviations are listed at [`stiction_solvers::cr`].

mod keys;

use stiction_contact::detect::DetectConfig;
use stiction_solvers::cr as solver;

use crate::{
    capabilities::{Capabilities, Features},
    colliders::ContactRules,
    keys::KeyValue,
    linearised::{self, ElasticSolver, Linearisations, Linearised, Revisions},
    method::Method,
    needs::ModelFeature,
    registry::{Accuracy, ContactYielding, FrictionModel, MethodConfig, MethodEntry, Validation},
};

/// The method's name.
pub const NAME: &str = "cr";

/// The method in the registry.
pub const ENTRY: MethodEntry = MethodEntry {
    name: NAME,
    description: "solves frictional contact by Conjugate Residual iterations with contacts that switch state [verschoor2019], inside projected Newton, without a factorisation.",
    keys: keys::KEYS,
    configure: |keys| Box::new(keys::configure(keys)),
    validation: Some(Validation {
        friction: FrictionModel::Exact,
        contact: ContactYielding::Constraint,
        settings: accurate,
    }),
};

/// Settings of the method.
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    /// Linearisations of elasticity per step.
    pub linearisations: Linearisations,
    /// The contact solver.
    pub solver: solver::Config,
    /// Whether contacts are re-linearised at the answer [verschoor2019, Sect. 3.3].
    pub revisions: bool,
    /// ε₂: gaps of touching contacts at the end of the step are right within this [m]; by default 0.005 of the
    /// contact thickness.
    pub gap_tolerance: Option<f64>,
    /// The detector.
    pub detect: DetectConfig,
    /// Whether a step that would make surfaces touch or pass is refused, and so divided into substeps.
    pub safe: bool,
}

/// Default bound on the certificate [m/s], as for the other exact methods.
const RESIDUAL: f64 = crate::admm::RESIDUAL;

/// ε₂ as a fraction of the contact thickness: the paper's 5e-6 m [verschoor2019, Sect. 6.2] at the default
/// thickness of 1 mm.
const GAP: f64 = 5e-3;

/// Revisions of contacts per linearisation: five on average with peaks of ten [verschoor2019, Sect. 6.2.1].
const MOST_REVISIONS: usize = 10;

/// Bound on the certificate of linearisations that another one follows [m/s]: what they leave stirs a body at
/// rest by a small fraction of it in every step.
const COARSE: f64 = 1e-7;

impl Config {
    /// The paper's settings.
    pub fn paper() -> Self {
        Self {
            linearisations: Linearisations::Fixed(1), // [verschoor2019, Eq. 4]: semi-implicit
            solver: solver::Config {
                contacts: solver::ContactUpdate::Append, // revised by the step
                ..solver::Config::paper()
            },
            revisions: true, // [verschoor2019, Sect. 3.3]
            gap_tolerance: None,
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
                stop: solver::CrStop::Certificate(RESIDUAL),
                rough: COARSE,
                ..solver::Config::accurate()
            },
            ..Self::paper()
        }
    }
}

/// Settings that reach an accuracy.
fn accurate(accuracy: &Accuracy) -> Vec<(&'static str, KeyValue)> {
    let residual = accuracy.residual.unwrap_or(RESIDUAL);
    vec![("residual", KeyValue::Number(residual))]
}

impl MethodConfig for Config {
    fn name(&self) -> &'static str {
        NAME
    }

    fn capabilities(&self) -> Capabilities {
        // Enclosed volumes would make the Hessian of the potential dense.
        let mut capabilities = Capabilities::new(Features::all_but(&[
            ModelFeature::Volumes,
            ModelFeature::Granular,
            ModelFeature::PerStep,
            ModelFeature::PerStepContact,
        ]));
        capabilities.separates_surfaces = true;
        capabilities
    }

    fn build(&self, rules: ContactRules) -> Box<dyn Method> {
        let settings = linearised::Config {
            integrator: ElasticSolver::Newton(self.linearisations),
            detect: self.detect,
            safe: self.safe,
            residual: match self.solver.stop {
                solver::CrStop::Certificate(bound) => Some(bound),
                solver::CrStop::Thresholds(_) => None,
            },
            revisions: self.revisions.then(|| Revisions {
                tolerance: self.gap_tolerance.unwrap_or(GAP * rules.thickness),
                most: MOST_REVISIONS,
            }),
        };
        let capabilities = self.capabilities();
        Box::new(Linearised::new(
            NAME,
            capabilities,
            settings,
            rules,
            Box::new(solver::Cr::new(self.solver)),
        ))
    }

    fn allow_overlap(&mut self) {
        self.safe = false;
    }

    fn boxed(&self) -> Box<dyn MethodConfig> {
        Box::new(self.clone())
    }
}
