//! The friction table: the contact law of every two materials, by their names.

use std::collections::BTreeMap;

use stiction_bodies::Model;
use stiction_contact::detect::{Laws, PairLaw};

use crate::colliders::{ContactRules, material_names};

/// Rule that combines the coefficients of two materials.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Combine {
    /// √(a b).
    #[default]
    GeometricMean,
    /// min(a, b).
    Min,
    /// max(a, b).
    Max,
    /// (a + b)/2.
    Average,
    /// a b.
    Multiply,
}

/// Friction, cohesion and compliance between every two materials.
///
/// A pair that is listed has its own law. For any other, the laws of the two materials with themselves
/// are combined; a material without its own takes the default.
#[derive(Clone, Debug, PartialEq)]
pub struct FrictionTable {
    /// For materials without their own law.
    pub default: PairLaw,
    /// Rule that combines two materials.
    pub combine: Combine,
    /// Laws of single materials.
    pub materials: BTreeMap<String, PairLaw>,
    /// Listed pairs, names in alphabetical order.
    pub pairs: BTreeMap<(String, String), PairLaw>,
}

impl Combine {
    /// The combined coefficient.
    pub fn of(self, a: f64, b: f64) -> f64 {
        match self {
            Self::GeometricMean => (a * b).sqrt(),
            Self::Min => a.min(b),
            Self::Max => a.max(b),
            Self::Average => 0.5 * (a + b),
            Self::Multiply => a * b,
        }
    }
}

impl Default for FrictionTable {
    /// μ = 0.5 between all materials, of the order of dry cloth, wood and rubber.
    fn default() -> Self {
        Self {
            default: friction(0.5),
            combine: Combine::default(),
            materials: BTreeMap::new(),
            pairs: BTreeMap::new(),
        }
    }
}

impl FrictionTable {
    /// Lists a pair of materials; whether it was listed before.
    pub fn insert(&mut self, a: &str, b: &str, law: PairLaw) -> bool {
        self.pairs.insert(ordered(a, b), law).is_some()
    }

    /// The law between materials `a` and `b`, whatever their order.
    ///
    /// Cohesion and compliance are properties of pairs: of two single materials, the smaller
    /// cohesion and the larger compliance hold.
    pub fn between(&self, a: &str, b: &str) -> PairLaw {
        if let Some(law) = self.pairs.get(&ordered(a, b)) {
            return *law;
        }
        let [a, b] = [a, b].map(|name| self.materials.get(name).unwrap_or(&self.default));
        let sliding = |law: &PairLaw| law.kinetic.unwrap_or(law.mu);
        let mu = self.combine.of(a.mu, b.mu);
        let kinetic = self.combine.of(sliding(a), sliding(b));
        PairLaw {
            mu,
            kinetic: (kinetic < mu).then_some(kinetic),
            cohesion: a.cohesion.min(b.cohesion),
            compliance: a.compliance.max(b.compliance),
        }
    }

    /// The contact rules of the materials of a model at a contact `thickness` [m].
    pub fn rules(&self, model: &Model, thickness: f64) -> ContactRules {
        let names = material_names(model);
        let law = |a: u32, b: u32| self.between(&names[a as usize], &names[b as usize]);
        ContactRules {
            thickness,
            laws: Laws::new(names.len() as u32, law),
        }
    }
}

/// One coefficient at rest and in sliding.
pub fn friction(mu: f64) -> PairLaw {
    PairLaw {
        mu,
        ..PairLaw::default()
    }
}

/// The key of a pair.
fn ordered(a: &str, b: &str) -> (String, String) {
    (a.min(b).to_owned(), a.max(b).to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_listed_pair_wins_in_either_order_and_others_are_combined() {
        let mut table = FrictionTable::default();
        table.materials.insert("ice".into(), friction(0.02));
        let listed = PairLaw {
            kinetic: Some(0.01),
            ..friction(0.03)
        };
        assert!(!table.insert("steel", "ice", listed));
        assert!(table.insert("ice", "steel", listed));
        assert_eq!(table.between("ice", "steel"), listed);
        assert_eq!(table.between("steel", "ice"), listed);
        assert!((table.between("ice", "wood").mu - 0.1).abs() < 1e-15);
        assert_eq!(table.between("wood", "wood"), friction(0.5));
        for (rule, want) in [
            (Combine::Min, 0.02),
            (Combine::Max, 0.5),
            (Combine::Average, 0.26),
            (Combine::Multiply, 0.01),
        ] {
            table.combine = rule;
            let got = table.between("wood", "ice").mu;
            assert!((got - want).abs() < 1e-15, "{rule:?}");
        }
    }

    #[test]
    fn friction_in_sliding_is_combined_like_friction_at_rest() {
        let mut table = FrictionTable::default();
        let rubber = PairLaw {
            kinetic: Some(0.32),
            ..friction(0.72)
        };
        table.materials.insert("rubber".into(), rubber);
        // √(0.5 · 0.72) and √(0.5 · 0.32).
        let law = table.between("rubber", "wood");
        assert!((law.mu - 0.6).abs() < 1e-15, "{law:?}");
        assert!((law.kinetic.unwrap_or(0.0) - 0.4).abs() < 1e-15, "{law:?}");
    }
}
