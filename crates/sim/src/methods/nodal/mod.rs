//! Method `nodal` in the registry: frictional contact by primal Gauss–Seidel at vertices, inside
//! projected Newton [li2018].
//!
//! The method type [`Linearised`] with the contact solver `nodal`, polished by Newton's method where
//! that is configured.
//!
//! **Deviations from the paper**
//! - Contacts stay by default where they were detected, at points of edges and triangles: the solver needs no
//!   contact at a vertex. With `relocate` they move there. Meshes are refined by `[[adapt]]` alone.
//! - All contacts are listed by default; with `prune_angle`, those that pruning removed are relisted when
//!   the solve violates them, and so are pairs that relocated contacts do not keep apart.
//! - A step whose end is not reached safely is solved again with contacts of the passing pairs, and at last
//!   refused and divided into substeps. The paper removes intersections after the step [volino2006], as
//!   `contact.failsafe = "contours"` with `safe = false` does.
//! - The solver's own deviations are listed at [`stiction_solvers::nodal`].

mod keys;

use stiction_contact::detect::DetectConfig;
use stiction_solvers::{newton::NewtonSolver, nodal};

use crate::{
    capabilities::{Capabilities, Features},
    colliders::ContactRules,
    keys::KeyValue,
    linearised::{self, ElasticSolver, Linearisations, Linearised},
    method::Method,
    needs::ModelFeature,
    registry::{Accuracy, ContactYielding, FrictionModel, MethodConfig, MethodEntry, Validation},
};

/// The method's name.
pub const NAME: &str = "nodal";

/// The method in the registry.
pub const ENTRY: MethodEntry = MethodEntry {
    name: NAME,
    description: "solves frictional contact in velocities, vertex by vertex [li2018], inside projected Newton.",
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
    /// Linearisations per step.
    pub linearisations: Linearisations,
    /// The contact solver.
    pub solver: nodal::Config,
    /// Bound on `residual`, `linear` and `eliminated` of the certificate of every step [m/s]; none for the
    /// paper's stopping criterion.
    pub residual: Option<f64>,
    /// The detector.
    pub detect: DetectConfig,
    /// Whether a step that would make surfaces touch or pass is refused, and so divided into substeps.
    pub safe: bool,
}

/// Default bound on the certificate [m/s], as for the other exact methods.
const RESIDUAL: f64 = crate::admm::RESIDUAL;

/// Bound on the certificate of linearisations that another one follows [m/s]: what they leave stirs a body at
/// rest by a small fraction of it in every step, and Newton's method takes one factorisation from 2e-5 to there.
const COARSE: f64 = 1e-7;

/// Angle between normals up to which contacts count as one [rad]: 10° [li2018, Sect. 5.2].
const PRUNE: f64 = std::f64::consts::PI / 18.0;

/// Sweeps before the polishing solver takes over, by default.
const SWEEPS: usize = 100;

/// Factorisations of the polishing solver per solve.
const POLISH: usize = 1000;

impl Config {
    /// The paper's settings.
    pub fn paper() -> Self {
        Self {
            linearisations: Linearisations::Fixed(1), // [li2018, Sect. 4.1]: A v + b = 0 once per step
            solver: nodal::Config::paper(),
            residual: None,
            detect: DetectConfig {
                prune: Some(PRUNE),
                relocate: true, // [li2018, Sect. 5.2]
                ..DetectConfig::default()
            },
            safe: true,
        }
    }
}

impl Default for Config {
    /// Two linearisations, from the impulses of the last step, until the certificate is below 1e-9 m/s.
    fn default() -> Self {
        Self {
            linearisations: Linearisations::Fixed(2),
            solver: nodal::Config {
                tolerance: RESIDUAL,
                coarse: COARSE,
                max_iterations: SWEEPS,
                start: nodal::NodalStart::Held,
                polish: POLISH,
                sleep: None,
                ..nodal::Config::paper()
            },
            residual: Some(RESIDUAL),
            detect: DetectConfig::default(),
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
            residual: self.residual,
            revisions: None,
        };
        let solver =
            nodal::Nodal::new(self.solver).with_polisher(Box::new(NewtonSolver::default()));
        let capabilities = self.capabilities();
        Box::new(Linearised::new(
            NAME,
            capabilities,
            settings,
            rules,
            Box::new(solver),
        ))
    }

    fn allow_overlap(&mut self) {
        self.safe = false;
    }

    fn boxed(&self) -> Box<dyn MethodConfig> {
        Box::new(self.clone())
    }
}
