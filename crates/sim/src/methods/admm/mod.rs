//! Method `admm` in the registry.

mod keys;

use crate::{
    admm::{Config, admm},
    capabilities::{Capabilities, Features, Restriction},
    colliders::ContactRules,
    keys::KeyValue,
    linearised::ElasticSolver,
    method::Method,
    needs::ModelFeature,
    registry::{Accuracy, ContactYielding, FrictionModel, MethodConfig, MethodEntry, Validation},
};

/// The method's name.
pub const NAME: &str = "admm";

/// The method in the registry.
pub const ENTRY: MethodEntry = MethodEntry {
    name: NAME,
    description: "solves frictional contact by splitting [daviet2020], inside projected Newton.",
    keys: keys::KEYS,
    configure: |keys| Box::new(keys::configure(keys)),
    validation: Some(Validation {
        friction: FrictionModel::Exact,
        contact: ContactYielding::Constraint,
        settings: accurate,
    }),
};

/// Settings that reach an accuracy.
fn accurate(accuracy: &Accuracy) -> Vec<(&'static str, KeyValue)> {
    match accuracy.residual {
        None => vec![
            ("tolerance", KeyValue::Number(accuracy.tolerance)),
            ("max_iterations", KeyValue::Count(3000)),
        ],
        // Splitting converges slowly in the last digits: Newton's method takes over early.
        Some(residual) => vec![
            ("tolerance", KeyValue::Number(1e-6)),
            ("max_iterations", KeyValue::Count(20)),
            ("residual", KeyValue::Number(residual)),
        ],
    }
}

/// Its local problems have four nodes, and its matrix holds the frames of rods fixed.
const SPLITTING: Restriction = Restriction {
    setting: "integrator = \"splitting\"",
    instead: "integrator = \"newton\"",
    lacks: Features::of(&[
        ModelFeature::DynamicTwist,
        ModelFeature::AffineFrames,
        ModelFeature::OpenKinds,
    ]),
};

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
        if self.integrator == ElasticSolver::Splitting {
            capabilities.restrictions.push(SPLITTING);
        }
        capabilities.separates_surfaces = true;
        capabilities
    }

    fn build(&self, rules: ContactRules) -> Box<dyn Method> {
        Box::new(admm(self.clone(), rules))
    }

    fn allow_overlap(&mut self) {
        self.safe = false;
    }

    fn boxed(&self) -> Box<dyn MethodConfig> {
        Box::new(self.clone())
    }
}
