//! The friction table: which coefficients hold between which materials.

use std::collections::BTreeMap;

/// Coefficients of friction between two materials.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Coefficients {
    /// The coefficient μ at rest [1].
    pub static_: f64,
    /// The coefficient μ in sliding [1], not above the one at rest.
    pub kinetic: f64,
    /// The pull that a contact bears before it opens [Pa].
    pub cohesion: f64,
    /// Displacement of a contact under pressure [m/Pa]; zero for a rigid one.
    pub compliance: f64,
}

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

/// Friction between every two materials.
///
/// A pair that is listed has its own coefficients. For any other, the coefficients of the two
/// materials are combined; a material without its own takes the default.
#[derive(Clone, Debug, PartialEq)]
pub struct FrictionTable {
    /// For materials without their own coefficients.
    pub default: Coefficients,
    /// Rule that combines two materials.
    pub combine: Combine,
    /// Coefficients of single materials.
    pub materials: BTreeMap<String, Coefficients>,
    /// Listed pairs, names in alphabetical order.
    pub pairs: BTreeMap<(String, String), Coefficients>,
}

impl Coefficients {
    /// One coefficient at rest and in sliding.
    pub fn uniform(mu: f64) -> Self {
        Self {
            static_: mu,
            kinetic: mu,
            cohesion: 0.0,
            compliance: 0.0,
        }
    }
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
            default: Coefficients::uniform(0.5),
            combine: Combine::default(),
            materials: BTreeMap::new(),
            pairs: BTreeMap::new(),
        }
    }
}

impl FrictionTable {
    /// The coefficients between materials `a` and `b`, whatever their order.
    ///
    /// Cohesion and compliance are properties of pairs: of two single materials, the smaller
    /// cohesion and the larger compliance hold.
    pub fn between(&self, a: &str, b: &str) -> Coefficients {
        if let Some(c) = self.pairs.get(&ordered(a, b)) {
            return *c;
        }
        let (a, b) = (self.of(a), self.of(b));
        let static_ = self.combine.of(a.static_, b.static_);
        Coefficients {
            static_,
            kinetic: self.combine.of(a.kinetic, b.kinetic).min(static_),
            cohesion: a.cohesion.min(b.cohesion),
            compliance: a.compliance.max(b.compliance),
        }
    }

    fn of(&self, material: &str) -> Coefficients {
        self.materials
            .get(material)
            .copied()
            .unwrap_or(self.default)
    }
}

/// The key of a pair.
pub(crate) fn ordered(a: &str, b: &str) -> (String, String) {
    let (a, b) = if a <= b { (a, b) } else { (b, a) };
    (a.to_owned(), b.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_listed_pair_wins_in_either_order_and_others_are_combined() {
        let mut table = FrictionTable::default();
        table
            .materials
            .insert("ice".into(), Coefficients::uniform(0.02));
        table.pairs.insert(
            ordered("steel", "ice"),
            Coefficients {
                kinetic: 0.01,
                ..Coefficients::uniform(0.03)
            },
        );
        assert_eq!(table.between("ice", "steel").kinetic, 0.01);
        assert_eq!(table.between("steel", "ice").static_, 0.03);
        assert!((table.between("ice", "wood").static_ - 0.1).abs() < 1e-15);
        assert_eq!(table.between("wood", "wood"), Coefficients::uniform(0.5));
        for (rule, want) in [
            (Combine::Min, 0.02),
            (Combine::Max, 0.5),
            (Combine::Average, 0.26),
            (Combine::Multiply, 0.01),
        ] {
            table.combine = rule;
            let got = table.between("wood", "ice").static_;
            assert!((got - want).abs() < 1e-15, "{rule:?}");
        }
    }
}
