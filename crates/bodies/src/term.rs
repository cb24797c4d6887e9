//! Elements bound to a body's matrix: what the time step sees of an elastic model.

use std::{fmt, sync::Arc};

use rayon::prelude::*;
use stiction_math::{
    Vec3,
    block::{BlockMatrix, BlockPattern},
    coloring::BlockColoring,
    scatter::{self, ScatterMap},
};

use crate::elements::{ElementError, Elements, Hessian};

/// One elastic term of a body: E(x) over the body's own nodes.
///
/// Sums run in a fixed order, so results have the same bits for any number of threads.
pub trait Term: fmt::Debug + Send + Sync {
    /// E(x) [J].
    fn energy(&self, x: &[Vec3]) -> f64;

    /// g += s ∂E/∂x.
    fn add_gradient(&self, x: &[Vec3], s: f64, g: &mut [Vec3]);

    /// g += s ∂E/∂x and A += t ∂²E/∂x².
    fn add_local(&self, x: &[Vec3], kind: Hessian, s: f64, g: &mut [Vec3], t: f64, a: &mut BlockMatrix);

    /// How many elements there are.
    fn len(&self) -> usize;

    /// Whether there are none.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// Elements that wait for the pattern of their body's matrix.
pub trait Recipe: Send {
    /// The nodes of every element.
    fn cliques(&self) -> Box<dyn Iterator<Item = &[u32]> + '_>;

    /// Binds the elements to the pattern.
    fn bind(self: Box<Self>, pattern: &BlockPattern) -> Result<Arc<dyn Term>, ElementError>;
}

/// Elements as a recipe.
pub fn recipe<const K: usize, E: Elements<K> + fmt::Debug + Send + 'static>(elements: E) -> Box<dyn Recipe> {
    Box::new(Unbound::<K, E>(elements))
}

struct Unbound<const K: usize, E>(E);

impl<const K: usize, E: Elements<K> + fmt::Debug + Send + 'static> Recipe for Unbound<K, E> {
    fn cliques(&self) -> Box<dyn Iterator<Item = &[u32]> + '_> {
        Box::new(self.0.nodes().iter().map(|n| n.as_slice()))
    }

    fn bind(self: Box<Self>, pattern: &BlockPattern) -> Result<Arc<dyn Term>, ElementError> {
        let nodes = self.0.nodes();
        let coloring = BlockColoring::new(pattern.n(), nodes.len(), BLOCK, |e| nodes[e].as_slice());
        let map = ScatterMap::new(pattern, nodes)?;
        Ok(Arc::new(Bound::<K, E> { elements: self.0, coloring, map }))
    }
}

/// Elements that one thread takes at a time: large enough to be worth it, small enough to share.
const BLOCK: usize = 128;

/// Elements with their colouring and their places in the matrix.
struct Bound<const K: usize, E> {
    elements: E,
    coloring: BlockColoring,
    map: ScatterMap<K>,
}
