//! Method `cr` in the registry.

mod keys;

use crate::{
    capabilities::{Capabilities, Features},
    colliders::ContactRules,
    cr::{Config, cr},
    keys::KeyValue,
    method::Method,
    needs::ModelFeature,
    registry::{Accuracy, FrictionModel, MethodConfig, MethodEntry, Validation},
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
        settings: accurate,
    }),
};

/// Settings that reach an accuracy. The default is accurate to 1e-9 m/s.
fn accurate(accuracy: &Accuracy) -> Vec<(&'static str, KeyValue)> {
    let residual = accuracy.residual.into_iter();
    residual
        .map(|bound| ("residual", KeyValue::Number(bound)))
        .collect()
}

impl MethodConfig for Config {
    fn name(&self) -> &'static str {
        NAME
    }

    fn capabilities(&self) -> Capabilities {
        // Enclosed volumes would make the Hessian of the potential dense; rods need a factorisation.
        let mut capabilities = Capabilities::new(Features::all_but(&[
            ModelFeature::Rods,
            ModelFeature::DynamicTwist,
            ModelFeature::Volumes,
            ModelFeature::PerStep,
            ModelFeature::PerStepContact,
        ]));
        capabilities.separates_surfaces = true;
        capabilities
    }

    fn build(&self, rules: ContactRules) -> Box<dyn Method> {
        Box::new(cr(self.clone(), rules))
    }

    fn allow_overlap(&mut self) {
        self.safe = false;
    }

    fn boxed(&self) -> Box<dyn MethodConfig> {
        Box::new(self.clone())
    }
}
