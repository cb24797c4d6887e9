use stiction_math::{BlockPattern, Vec3};

use crate::{
    mass::{Mass, lump},
    material::MassKind,
    term::Recipe,
};

/// What is still needed to make a deformable body's matrix pattern.
#[derive(Default)]
pub(super) struct Draft {
    pub recipes: Vec<Box<dyn Recipe>>,
    pub mass: Option<Spread>,
    pub kind: MassKind,
    pub rest: Vec<Vec3>,
}

/// How mass is spread.
pub(super) enum Spread {
    Triangles(Vec<[u32; 3]>, Vec<f64>),
    Tets(Vec<[u32; 4]>, Vec<f64>),
    Points(Vec<f64>),
}

impl Draft {
    /// The mass of each node [kg].
    pub fn lumped(&self) -> Vec<f64> {
        match &self.mass {
            Some(Spread::Triangles(t, m)) => lump(self.rest.len(), t, m),
            Some(Spread::Tets(t, m)) => lump(self.rest.len(), t, m),
            Some(Spread::Points(m)) => m.clone(),
            None => Vec::new(),
        }
    }

    /// The mass matrix on the body's pattern.
    pub fn mass_matrix(&self, pattern: &BlockPattern) -> Mass {
        match &self.mass {
            Some(Spread::Triangles(t, m)) => Mass::of_simplices(self.kind, pattern, t, m),
            Some(Spread::Tets(t, m)) => Mass::of_simplices(self.kind, pattern, t, m),
            Some(Spread::Points(m)) => Mass::Lumped(m.clone()),
            None => Mass::Lumped(Vec::new()),
        }
    }
}
