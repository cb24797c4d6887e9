//! Method `attachment` in the registry.

mod keys;

use crate::{
    attachment::{AttachmentMethod, Config},
    capabilities::{Capabilities, Features},
    colliders::ContactRules,
    method::Method,
    needs::ModelFeature,
    registry::{ContactYielding, FrictionModel, MethodConfig, MethodEntry, Validation},
};

/// The method's name.
pub const NAME: &str = "attachment";

/// The method in the registry.
pub const ENTRY: MethodEntry = MethodEntry {
    name: NAME,
    description: "holds contacts by springs to attachment points that slide as Coulomb's law demands, in one implicit solve with all other forces [ding].",
    keys: keys::KEYS,
    configure: |keys| Box::new(keys::configure(keys)),
    validation: Some(Validation {
        friction: FrictionModel::Exact,
        contact: ContactYielding::Springs,
        // The default stiffness: a weight sinks by a hundredth of the thickness.
        settings: |_| Vec::new(),
    }),
};

impl MethodConfig for Config {
    fn name(&self) -> &'static str {
        NAME
    }

    fn capabilities(&self) -> Capabilities {
        // Attachments are on surfaces, which neither rods nor particles have for one another.
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
            ModelFeature::AnimatedObstacles,
            ModelFeature::Seams,
        ]))
    }

    fn build(&self, rules: ContactRules) -> Box<dyn Method> {
        Box::new(AttachmentMethod::new(*self, rules))
    }

    fn boxed(&self) -> Box<dyn MethodConfig> {
        Box::new(*self)
    }
}
