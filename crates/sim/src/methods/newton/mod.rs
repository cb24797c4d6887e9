//! Method `newton` in the registry.

mod keys;

use crate::{
    capabilities::{Capabilities, Features},
    colliders::ContactRules,
    method::Method,
    needs::ModelFeature,
    newton::{Config, Newton},
    registry::{MethodConfig, MethodEntry},
};

/// The method's name.
pub const NAME: &str = "newton";

/// The method in the registry.
pub const ENTRY: MethodEntry = MethodEntry {
    name: NAME,
    description: "solves each step by projected Newton, without contact.",
    keys: keys::KEYS,
    configure: |keys| Box::new(keys::configure(keys)),
    validation: None,
};

impl MethodConfig for Config {
    fn name(&self) -> &'static str {
        NAME
    }

    fn capabilities(&self) -> Capabilities {
        // Enclosed volumes would make the Hessian of the potential dense.
        Capabilities::new(Features::all_but(&[
            ModelFeature::Volumes,
            ModelFeature::Contact,
            ModelFeature::ParticleContact,
            ModelFeature::Cohesion,
            ModelFeature::Compliance,
            ModelFeature::Granular,
            ModelFeature::PerStep,
            ModelFeature::PerStepContact,
            ModelFeature::AnimatedObstacles,
        ]))
    }

    fn build(&self, _rules: ContactRules) -> Box<dyn Method> {
        Box::new(Newton::new(*self))
    }

    fn boxed(&self) -> Box<dyn MethodConfig> {
        Box::new(*self)
    }
}
