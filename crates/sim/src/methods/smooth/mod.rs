//! Method `smooth` in the registry.

mod keys;

use crate::{
    capabilities::{Capabilities, Features},
    colliders::ContactRules,
    keys::KeyValue,
    method::Method,
    needs::ModelFeature,
    registry::{ContactYielding, FrictionModel, MethodConfig, MethodEntry, Validation},
    smooth::{Config, Smooth},
};

/// The method's name.
pub const NAME: &str = "smooth";

/// The method in the registry.
pub const ENTRY: MethodEntry = MethodEntry {
    name: NAME,
    description: "makes contact and friction smooth forces and solves each step as the root of a residual [larionov].",
    keys: keys::KEYS,
    configure: |keys| Box::new(keys::configure(keys)),
    validation: Some(Validation {
        friction: FrictionModel::Smoothed {
            epsilon: keys::EPSILON,
        },
        contact: ContactYielding::Potential,
        settings: |accuracy| vec![("kappa", KeyValue::Number(accuracy.stiffness))],
    }),
};

impl MethodConfig for Config {
    fn name(&self) -> &'static str {
        NAME
    }

    fn capabilities(&self) -> Capabilities {
        // Stages would need changing gravity and gusts at their own times; contact forces act on
        // surfaces, which particles do not have; obstacles
        // are rigid there.
        Capabilities::new(Features::all_but(&[
            ModelFeature::Rods,
            ModelFeature::DynamicTwist,
            ModelFeature::ChangingGravity,
            ModelFeature::MovingAttachments,
            ModelFeature::Loads,
            ModelFeature::Gusts,
            ModelFeature::ParticleContact,
            ModelFeature::Cohesion,
            ModelFeature::Compliance,
            ModelFeature::Granular,
            ModelFeature::PerStepContact,
            ModelFeature::AnimatedObstacles,
            ModelFeature::Seams,
        ]))
    }

    fn build(&self, rules: ContactRules) -> Box<dyn Method> {
        Box::new(Smooth::new(*self, rules))
    }

    fn boxed(&self) -> Box<dyn MethodConfig> {
        Box::new(*self)
    }
}
