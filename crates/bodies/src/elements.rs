//! The one interface of every elastic model: many small elements, each over K nodes.

use stiction_math::{Mat3, Vec3};

/// Which Hessian an element returns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hessian {
    /// The exact second derivative, possibly indefinite.
    Full,
    /// A positive semi-definite matrix near the exact one, and equal to it where the exact one is
    /// already positive semi-definite up to the model's stated approximation.
    Projected,
}

/// Energy [J], its gradient [N] and its Hessian [N/m] of one element.
///
/// The Hessian is stored as K×K blocks of 3×3; `hessian[a][b]` is ∂²E/∂xₐ∂x_b, and
/// `hessian[b][a]` is its transpose.
#[derive(Clone, Copy, Debug)]
pub struct Local<const K: usize> {
    /// E(x) [J].
    pub energy: f64,
    /// ∂E/∂xₐ [N]; the force on node a is its negative.
    pub gradient: [Vec3; K],
    /// ∂²E/∂xₐ∂x_b [N/m].
    pub hessian: [[Mat3; K]; K],
}

/// A family of elements with one energy law: E(x) = Σₑ Eₑ(x at the K nodes of e).
pub trait Elements<const K: usize>: Sync {
    /// The nodes of every element, as indices into the body's node positions.
    fn nodes(&self) -> &[[u32; K]];

    /// Eₑ [J] at the node positions `x` [m].
    fn energy(&self, e: usize, x: &[Vec3; K]) -> f64;

    /// ∂Eₑ/∂x [N] at the node positions `x` [m].
    fn gradient(&self, e: usize, x: &[Vec3; K]) -> [Vec3; K];

    /// Energy, gradient and Hessian together, sharing what they have in common.
    fn local(&self, e: usize, x: &[Vec3; K], kind: Hessian) -> Local<K>;
}
