//! The registry of methods: for each one its name, keys, capabilities and constructor.
//!
//! Nothing outside a method's own folder names it. To add a method, write its folder with a
//! [`MethodEntry`] and add one line to [`crate::methods::BUILT_IN`]; programs that use this library
//! register methods of their own with [`Registry::with`].

use std::{any::Any, fmt::Debug};

use crate::{
    capabilities::Capabilities,
    colliders::ContactRules,
    keys::{Key, KeySource, KeyValue, Keys, NoKeys},
    method::Method,
    methods,
    needs::{ModelFeature, Need},
};

/// A method as the registry lists it.
pub struct MethodEntry {
    /// The name in scenes and on the command line.
    pub name: &'static str,
    /// One sentence for the documentation.
    pub description: &'static str,
    /// The keys of its settings, in the order of the documentation.
    pub keys: &'static [Key],
    /// Reads its settings.
    pub configure: fn(&Keys<'_>) -> Box<dyn MethodConfig>,
    /// Its part in the validation of friction; none for a method without contact.
    pub validation: Option<Validation>,
}

/// The settings of a method, read and typed.
pub trait MethodConfig: Any + Debug + Send + Sync {
    /// The method's name.
    fn name(&self) -> &'static str;

    /// Capabilities of the method with these settings.
    fn capabilities(&self) -> Capabilities;

    /// The method itself, with the laws of contact.
    fn build(&self, rules: ContactRules) -> Box<dyn Method>;

    /// Adapts the settings to bodies that overlap at the start and must be able to separate.
    fn allow_overlap(&mut self) {}

    /// A copy.
    fn boxed(&self) -> Box<dyn MethodConfig>;
}

impl Clone for Box<dyn MethodConfig> {
    fn clone(&self) -> Self {
        (**self).boxed()
    }
}

impl dyn MethodConfig {
    /// The settings as their own type, if that is `T`.
    pub fn downcast_ref<T: MethodConfig>(&self) -> Option<&T> {
        (self as &dyn Any).downcast_ref()
    }
}

/// Properties of a method that the validation of friction uses.
#[derive(Clone, Copy, Debug)]
pub struct Validation {
    /// The law that the method solves.
    pub friction: FrictionModel,
    /// Response of contacts to load.
    pub contact: ContactYielding,
    /// The settings with which the method reaches an accuracy.
    pub settings: fn(&Accuracy) -> Vec<(&'static str, KeyValue)>,
}

/// The law of friction that a method solves.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum FrictionModel {
    /// Coulomb's law: a contact that sticks does not move.
    Exact,
    /// Friction smoothed around zero velocity: a contact that should stick creeps.
    Smoothed {
        /// The speed ε below which friction is smoothed [m/s].
        epsilon: f64,
    },
}

/// The response of a method's contacts to load.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ContactYielding {
    /// A constraint: contacts do not yield.
    Constraint,
    /// A potential within the contact thickness.
    Potential,
    /// Springs of contact points, whose stiffness comes from mean mass m of a point, thickness δ and step h:
    /// 100 m (1/h² + 4 g/δ).
    Springs,
}

/// The accuracy that an experiment demands; a method uses what applies to it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Accuracy {
    /// Displacement in an iteration below which an exact solver stops [m].
    pub tolerance: f64,
    /// Residual of the certificate to be reached in every step [m/s].
    pub residual: Option<f64>,
    /// Stiffness of penalty forces [N/m].
    pub stiffness: f64,
}

impl MethodEntry {
    /// The settings that `source` gives.
    pub fn configure(&self, source: &dyn KeySource) -> Box<dyn MethodConfig> {
        (self.configure)(&Keys::new(self.keys, source))
    }

    /// The settings without any key.
    pub fn defaults(&self) -> Box<dyn MethodConfig> {
        self.configure(&NoKeys)
    }
}

/// The methods that scenes can name.
#[derive(Clone)]
pub struct Registry {
    /// Never empty.
    entries: Vec<&'static MethodEntry>,
}

impl Default for Registry {
    /// The built-in methods.
    fn default() -> Self {
        Self {
            entries: methods::BUILT_IN.to_vec(),
        }
    }
}

impl Registry {
    /// With one more method; it replaces one of the same name.
    pub fn with(mut self, entry: &'static MethodEntry) -> Self {
        match self.entries.iter_mut().find(|e| e.name == entry.name) {
            Some(same) => *same = entry,
            None => self.entries.push(entry),
        }
        self
    }

    /// The methods in order.
    pub fn entries(&self) -> &[&'static MethodEntry] {
        &self.entries
    }

    /// The names of the methods.
    pub fn names(&self) -> Vec<&'static str> {
        self.entries.iter().map(|e| e.name).collect()
    }

    /// The method of a name.
    pub fn get(&self, name: &str) -> Option<&'static MethodEntry> {
        self.entries.iter().copied().find(|e| e.name == name)
    }

    /// The name of the method of scenes that choose none: the first, or the first that solves contact
    /// where bodies collide.
    pub fn default_for(&self, contact: bool) -> &'static str {
        let solves = |e: &&&MethodEntry| e.defaults().capabilities().has(ModelFeature::Contact);
        let able = self.entries.iter().find(solves).filter(|_| contact);
        able.or(self.entries.first()).map_or("", |e| e.name)
    }

    /// The names of the methods that, with their default settings, support all of `needs`.
    pub fn able(&self, needs: &[Need]) -> Vec<&'static str> {
        let able = |entry: &&&'static MethodEntry| {
            let capabilities = entry.defaults().capabilities();
            needs.iter().all(|n| capabilities.has(n.feature))
        };
        self.entries.iter().filter(able).map(|e| e.name).collect()
    }
}

impl Debug for Registry {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.names()).finish()
    }
}
