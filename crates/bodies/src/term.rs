//! Elastic terms: elements bound to a body's matrix.

use std::{fmt, sync::Arc};

use stiction_math::{BlockMatrix, BlockPattern, Scatter, ScatterError, Vec3};

use crate::{
    corotation::Rotations,
    elements::{Elements, Hessian},
    split::{Split, split},
};

/// One elastic term of a body: E(x) over the body's own nodes.
///
/// Sums run in a fixed order, so results have the same bits for any number of threads.
pub trait Term: fmt::Debug + Send + Sync {
    /// E(x) [J].
    fn energy(&self, x: &[Vec3]) -> f64;

    /// g += s ∂E/∂x.
    fn add_gradient(&self, x: &[Vec3], s: f64, g: &mut [Vec3]) -> Result<(), ScatterError>;

    /// g += s ∂E/∂x and A += t ∂²E/∂x².
    fn add_local(
        &self,
        x: &[Vec3],
        kind: Hessian,
        s: f64,
        g: &mut [Vec3],
        t: f64,
        a: &mut BlockMatrix,
    ) -> Result<(), ScatterError>;

    /// D += t Σₑ P K⁺ P with the projected Hessian K⁺ of each element at `x` [m], and P, which removes
    /// its rigid rotations: damping of the rate of strain.
    /// `scratch` has one entry per node.
    fn add_damping(
        &self,
        x: &[Vec3],
        t: f64,
        scratch: &mut [Vec3],
        d: &mut BlockMatrix,
    ) -> Result<(), ScatterError>;

    /// y += s (∂²E/∂x²) d.
    fn add_product(
        &self,
        x: &[Vec3],
        kind: Hessian,
        d: &[Vec3],
        s: f64,
        y: &mut [Vec3],
    ) -> Result<(), ScatterError>;

    /// The term's elements with copies of their nodes, for integrators that solve elements one by
    /// one; `rest` are the body's positions at rest [m].
    fn split(self: Arc<Self>, rest: &[Vec3]) -> Box<dyn Split>;

    /// Number of elements.
    fn len(&self) -> usize;

    /// Whether there are none.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// Elements that are not yet bound to the pattern of their body's matrix.
pub trait Recipe: Send {
    /// The nodes of every element.
    fn cliques(&self) -> Box<dyn Iterator<Item = &[u32]> + '_>;

    /// Binds the elements to the pattern.
    fn bind(self: Box<Self>, pattern: &Arc<BlockPattern>) -> Result<Arc<dyn Term>, ScatterError>;
}

/// Wraps elements as a recipe.
pub fn recipe<const K: usize, E: Elements<K> + fmt::Debug + Send + 'static>(
    elements: E,
) -> Box<dyn Recipe> {
    Box::new(Unbound::<K, E>(elements))
}

struct Unbound<const K: usize, E>(E);

impl<const K: usize, E: Elements<K> + fmt::Debug + Send + 'static> Recipe for Unbound<K, E> {
    fn cliques(&self) -> Box<dyn Iterator<Item = &[u32]> + '_> {
        Box::new(self.0.nodes().iter().map(|n| n.as_slice()))
    }

    fn bind(self: Box<Self>, pattern: &Arc<BlockPattern>) -> Result<Arc<dyn Term>, ScatterError> {
        let scatter =
            Scatter::new(pattern.n(), self.0.nodes())?.with_pattern(Arc::clone(pattern))?;
        Ok(Arc::new(AssembledElements::<K, E> {
            elements: self.0,
            scatter,
        }))
    }
}

/// Elements with their colouring and their positions in the matrix.
#[derive(Debug)]
pub(crate) struct AssembledElements<const K: usize, E> {
    pub(crate) elements: E,
    pub(crate) scatter: Scatter<K>,
}

impl<const K: usize, E: Elements<K>> AssembledElements<K, E> {
    fn gather(&self, e: usize, x: &[Vec3]) -> [Vec3; K] {
        self.scatter.nodes()[e].map(|i| x[i as usize])
    }
}

impl<const K: usize, E: Elements<K> + fmt::Debug + Send + 'static> Term
    for AssembledElements<K, E>
{
    fn split(self: Arc<Self>, rest: &[Vec3]) -> Box<dyn Split> {
        split(self, rest)
    }

    fn energy(&self, x: &[Vec3]) -> f64 {
        self.scatter
            .sum(|e| self.elements.energy(e, &self.gather(e, x)))
    }

    fn add_gradient(&self, x: &[Vec3], s: f64, g: &mut [Vec3]) -> Result<(), ScatterError> {
        let of = |e| {
            (
                0.0,
                self.elements.gradient(e, &self.gather(e, x)).map(|g| g * s),
            )
        };
        self.scatter.add_to_nodes(g, of).map(|_| ())
    }

    fn add_local(
        &self,
        x: &[Vec3],
        kind: Hessian,
        s: f64,
        g: &mut [Vec3],
        t: f64,
        a: &mut BlockMatrix,
    ) -> Result<(), ScatterError> {
        let of = |e| {
            let mut local = self.elements.local(e, &self.gather(e, x), kind);
            local.gradient.iter_mut().for_each(|g| *g *= s);
            local.hessian.iter_mut().flatten().for_each(|h| *h *= t);
            (local.energy, local.gradient, local.hessian)
        };
        self.scatter.add_to_system(g, a, of).map(|_| ())
    }

    fn add_damping(
        &self,
        x: &[Vec3],
        t: f64,
        scratch: &mut [Vec3],
        d: &mut BlockMatrix,
    ) -> Result<(), ScatterError> {
        let of = |e| {
            let local = self
                .elements
                .local(e, &self.gather(e, x), Hessian::Projected);
            let mut hessian = local.hessian;
            Rotations::of(&self.gather(e, x)).project(&mut hessian);
            hessian.iter_mut().flatten().for_each(|h| *h *= t);
            (0.0, [Vec3::zeros(); K], hessian)
        };
        self.scatter.add_to_system(scratch, d, of).map(|_| ())
    }

    fn add_product(
        &self,
        x: &[Vec3],
        kind: Hessian,
        d: &[Vec3],
        s: f64,
        y: &mut [Vec3],
    ) -> Result<(), ScatterError> {
        let of = |e| {
            let hessian = self.elements.local(e, &self.gather(e, x), kind).hessian;
            let d = self.gather(e, d);
            let row = |r: usize| (0..K).map(|c| hessian[r][c] * d[c]).sum::<Vec3>() * s;
            (0.0, std::array::from_fn(row))
        };
        self.scatter.add_to_nodes(y, of).map(|_| ())
    }

    fn len(&self) -> usize {
        self.scatter.nodes().len()
    }
}
