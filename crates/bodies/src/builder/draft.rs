//! Deformable bodies before their matrices have patterns.

use std::{ops::Range, sync::Arc};

use stiction_math::{BlockPattern, ScatterError, Vec3};

use super::BuildError;
use crate::{
    attachment::Attachment,
    mass::{Mass, lump},
    material::MassKind,
    term::{Recipe, Term},
};

/// A deformable body before its matrix has a pattern.
#[derive(Default)]
pub(crate) struct Draft {
    pub recipes: Vec<Box<dyn Recipe>>,
    pub mass: Option<Spread>,
    pub kind: MassKind,
    pub rest: Vec<Vec3>,
}

/// Distribution of mass.
pub(crate) enum Spread {
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

    /// Binds the terms to the pattern of the body's matrix, in which the blocks of each list of
    /// `joined` are coupled as well. `body` is a name for errors.
    pub fn bind(self, body: &str, joined: &[Vec<u32>]) -> Result<AssembledDraft, BuildError> {
        let elements = self.recipes.iter().flat_map(|r| r.cliques());
        let cliques = elements.chain(joined.iter().map(Vec::as_slice));
        let matrix = |source: ScatterError| BuildError::Matrix {
            body: body.to_owned(),
            source,
        };
        let pattern = BlockPattern::from_cliques(self.rest.len(), cliques);
        let pattern = Arc::new(pattern.map_err(|e| matrix(e.into()))?);
        let mass = self.mass_matrix(&pattern);
        let terms: Result<Vec<Arc<dyn Term>>, ScatterError> =
            self.recipes.into_iter().map(|r| r.bind(&pattern)).collect();
        Ok(AssembledDraft {
            terms: terms.map_err(matrix)?,
            mass,
            pattern,
        })
    }

    /// The mass matrix on the body's pattern.
    fn mass_matrix(&self, pattern: &BlockPattern) -> Mass {
        match &self.mass {
            Some(Spread::Triangles(t, m)) => Mass::of_simplices(self.kind, pattern, t, m),
            Some(Spread::Tets(t, m)) => Mass::of_simplices(self.kind, pattern, t, m),
            Some(Spread::Points(m)) => Mass::Lumped(m.clone()),
            None => Mass::Lumped(Vec::new()),
        }
    }
}

/// A draft whose matrix has its pattern.
pub(crate) struct AssembledDraft {
    pub terms: Vec<Arc<dyn Term>>,
    pub mass: Mass,
    pub pattern: Arc<BlockPattern>,
}

/// The blocks of the body that owns `range`, in its own numbering, that attachments couple in its
/// matrix.
pub(crate) fn joined(attachments: &[Attachment], range: &Range<usize>) -> Vec<Vec<u32>> {
    let own = |spring: &Attachment| {
        let blocks = spring.a.blocks().into_iter().chain(spring.b.blocks());
        blocks
            .map(|i| i as usize)
            .filter(|i| range.contains(i))
            .map(|i| (i - range.start) as u32)
            .collect()
    };
    attachments.iter().map(own).collect()
}
