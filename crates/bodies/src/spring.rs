//! Mass-spring cloth: springs along the edges and across them.
//!
//! A spring of rest length l₀ [m] and stiffness k [N] (a force per unit strain) has
//!
//! E = ½ k l₀ (l/l₀ − 1)²,   tension k (l/l₀ − 1).
//!
//! Projected Hessian: k/l₀ (d dᵀ + max(1 − l₀/l, 0) (I − d dᵀ)) with d the direction. It equals
//! the exact one while the spring is not compressed; a compressed spring keeps its axial
//! stiffness and drops the buckling term.
//!
//! At l = 0 the direction is undefined: the gradient is taken as zero there, and the exact Hessian
//! uses l ≥ 10⁻⁶ l₀ in its buckling term, so that everything stays finite.

use crate::elements::{ElementDerivatives, ElementError, Elements, Hessian, gather_rest, require};
use crate::hinges::interior_edges;
use stiction_math::{Mat3, Vec3};

/// Shortest relative length at which the buckling term of the exact Hessian is evaluated.
const SHORTEST: f64 = 1e-6;

/// Stiffnesses of a mass-spring cloth.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SpringConfig {
    /// Stiffness k of the springs along edges [N].
    pub edge: f64,
    /// Stiffness k of the springs that join the two vertices opposite an interior edge [N].
    pub bending: f64,
}

impl SpringConfig {
    /// The cloth of [ding, Sect. 4], which takes its model from [bridson2003].
    pub fn paper() -> Self {
        let divisor = 1.0 + std::f64::consts::SQRT_2;
        Self {
            edge: 1000.0 / divisor,   // "linear stiffness 1000/(1 + √2)" [ding, Sect. 4]
            bending: 200.0 / divisor, // "bending stiffness 200/(1 + √2)" [ding, Sect. 4]
        }
    }
}

/// Springs between pairs of nodes.
#[derive(Clone, Debug)]
pub struct Springs {
    nodes: Vec<[u32; 2]>,
    /// Rest lengths [m].
    lengths: Vec<f64>,
    /// Stiffnesses [N].
    stiffness: Vec<f64>,
}

impl Springs {
    /// Springs with the given end nodes and stiffness [N] each, at rest at `positions` [m].
    ///
    /// # Errors
    /// If a node is missing, a rest length is zero or a stiffness is negative or not finite.
    pub fn new(positions: &[Vec3], springs: &[([u32; 2], f64)]) -> Result<Self, ElementError> {
        let mut lengths = Vec::with_capacity(springs.len());
        for (element, (ends, k)) in springs.iter().enumerate() {
            require(
                *k >= 0.0 && k.is_finite(),
                "spring stiffness",
                *k,
                "finite and not negative",
            )?;
            let [a, b] = gather_rest(element, ends, positions)?;
            let length = (b - a).norm();
            if !(length > 0.0 && length.is_finite()) {
                return Err(ElementError::Degenerate {
                    element,
                    measure: "length",
                    value: length,
                });
            }
            lengths.push(length);
        }
        Ok(Self {
            nodes: springs.iter().map(|s| s.0).collect(),
            lengths,
            stiffness: springs.iter().map(|s| s.1).collect(),
        })
    }

    /// A cloth: one spring per edge, then one across each interior edge.
    ///
    /// # Errors
    /// As [`Springs::new`], and if more than two triangles share an edge.
    pub fn cloth(
        positions: &[Vec3],
        triangles: &[[u32; 3]],
        config: SpringConfig,
    ) -> Result<Self, ElementError> {
        let mut edges: Vec<[u32; 2]> = triangles
            .iter()
            .flat_map(|&[a, b, c]| [[a, b], [b, c], [c, a]])
            .map(|[a, b]| [a.min(b), a.max(b)])
            .collect();
        edges.sort_unstable();
        edges.dedup();
        let along = edges.into_iter().map(|e| (e, config.edge));
        let across = interior_edges(triangles)?
            .into_iter()
            .map(|hinge| ([hinge.nodes[2], hinge.nodes[3]], config.bending));
        Self::new(positions, &along.chain(across).collect::<Vec<_>>())
    }

    /// Rest lengths [m].
    pub fn rest_lengths(&self) -> &[f64] {
        &self.lengths
    }
}

impl Elements<2> for Springs {
    fn nodes(&self) -> &[[u32; 2]] {
        &self.nodes
    }

    fn energy(&self, e: usize, x: &[Vec3; 2]) -> f64 {
        let rest = self.lengths[e];
        let strain = ((x[1] - x[0]).norm() - rest) / rest;
        0.5 * self.stiffness[e] * rest * strain * strain
    }

    fn gradient(&self, e: usize, x: &[Vec3; 2]) -> [Vec3; 2] {
        let (length, d) = direction(x);
        let rest = self.lengths[e];
        let pull = d * (self.stiffness[e] * (length - rest) / rest);
        [-pull, pull]
    }

    fn local(&self, e: usize, x: &[Vec3; 2], kind: Hessian) -> ElementDerivatives<2> {
        let (length, d) = direction(x);
        let (rest, k) = (self.lengths[e], self.stiffness[e]);
        let strain = (length - rest) / rest;
        let pull = d * (k * strain);
        let across = match kind {
            Hessian::Full => 1.0 - rest / length.max(SHORTEST * rest),
            Hessian::Projected => (1.0 - rest / length.max(SHORTEST * rest)).max(0.0),
        };
        let stiff =
            (d * d.transpose() * (1.0 - across) + Mat3::from_diagonal_element(across)) * (k / rest);
        ElementDerivatives {
            energy: 0.5 * k * rest * strain * strain,
            gradient: [-pull, pull],
            hessian: [[stiff, -stiff], [-stiff, stiff]],
        }
    }
}

/// Length and unit direction from the first to the second end; the zero vector at zero length.
fn direction(x: &[Vec3; 2]) -> (f64, Vec3) {
    let d = x[1] - x[0];
    let length = d.norm();
    (
        length,
        if length > 0.0 {
            d / length
        } else {
            Vec3::zeros()
        },
    )
}
