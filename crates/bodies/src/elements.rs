//! The interface of every elastic model: many small elements, each over K nodes.

use stiction_math::{Mat3, Vec3};

/// Form of an element's Hessian.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hessian {
    /// The exact second derivative, possibly indefinite.
    Full,
    /// A positive semi-definite matrix close to the exact one, and equal to it if the exact one is
    /// positive semi-definite up to the model's stated approximation.
    Projected,
}

/// Energy [J], its gradient [N] and its Hessian [N/m] of one element.
///
/// The Hessian is stored as K×K blocks of 3×3; `hessian[a][b]` is ∂²E/∂xₐ∂x_b, and
/// `hessian[b][a]` is its transpose.
#[derive(Clone, Copy, Debug)]
pub struct ElementDerivatives<const K: usize> {
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

    /// Energy, gradient and Hessian together, with shared intermediate results.
    fn local(&self, e: usize, x: &[Vec3; K], kind: Hessian) -> ElementDerivatives<K>;
}

/// Errors of building elements.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum ElementError {
    /// An element refers to a node that does not exist.
    #[error("element {element} names node {node}, but there are only {count} nodes")]
    NodeOutOfRange {
        /// Index of the element.
        element: usize,
        /// The node it names.
        node: u32,
        /// Number of nodes of the body.
        count: usize,
    },
    /// More blocks than the matrix can number.
    #[error("{count} blocks are more than a matrix can number; split the body")]
    TooMany {
        /// Required number of blocks.
        count: usize,
    },
    /// A rest position holds an infinity or a NaN.
    #[error("the rest position of node {node} is not finite")]
    NonFinite {
        /// Index of the node.
        node: usize,
    },
    /// An element has no length, area or (positive) volume at rest.
    #[error(
        "element {element} is degenerate or inverted at rest: its {measure} is {value:e}; repair the mesh or reorder its nodes"
    )]
    Degenerate {
        /// Index of the element.
        element: usize,
        /// `"length"`, `"area"` or `"volume"`.
        measure: &'static str,
        /// The offending value [m], [m²] or [m³].
        value: f64,
    },
    /// More than two triangles meet at an edge, so that no single hinge angle exists.
    #[error("the edge ({a}, {b}) belongs to {count} triangles; a shell allows at most two")]
    NonManifoldEdge {
        /// First node of the edge.
        a: u32,
        /// Second node of the edge.
        b: u32,
        /// Number of triangles at the edge.
        count: usize,
    },
    /// A material parameter is outside its range.
    #[error("{name} = {value} is not allowed: it must be {rule}")]
    Parameter {
        /// Name of the parameter.
        name: &'static str,
        /// The value given.
        value: f64,
        /// The condition that it violates.
        rule: &'static str,
    },
    /// A list of per-element values has the wrong length.
    #[error("{name} has {got} entries but there are {expected} elements")]
    Length {
        /// Name of the list.
        name: &'static str,
        /// Its length.
        got: usize,
        /// Number of elements.
        expected: usize,
    },
}

/// Fails with [`ElementError::Parameter`] unless `ok`.
pub(crate) fn require(
    ok: bool,
    name: &'static str,
    value: f64,
    rule: &'static str,
) -> Result<(), ElementError> {
    if ok {
        Ok(())
    } else {
        Err(ElementError::Parameter { name, value, rule })
    }
}

/// The rest positions of one element, or the error.
pub(crate) fn gather_rest<const K: usize>(
    element: usize,
    nodes: &[u32; K],
    positions: &[Vec3],
) -> Result<[Vec3; K], ElementError> {
    let mut x = [Vec3::zeros(); K];
    for (xa, &node) in x.iter_mut().zip(nodes) {
        let p = positions
            .get(node as usize)
            .ok_or(ElementError::NodeOutOfRange {
                element,
                node,
                count: positions.len(),
            })?;
        if !p.iter().all(|v| v.is_finite()) {
            return Err(ElementError::NonFinite {
                node: node as usize,
            });
        }
        *xa = *p;
    }
    Ok(x)
}
