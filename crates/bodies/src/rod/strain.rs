//! Curvature and twist at an inner vertex of a rod, and their derivatives.
//!
//! With a the edge before the vertex and b the one after it, κb = 2 tₐ×t_b / (1 + tₐ·t_b) and
//!
//! κ₁ = ½ κb·(m₂ₐ + m₂_b),  κ₂ = −½ κb·(m₁ₐ + m₁_b),  τ = θ_b − θₐ + (reference twist)
//!
//! [bergou2008, Sect. 4.2], [bergou2010, Sect. 5]. The directors at a trial configuration are those of the start of
//! the step, transported from the tangent t₀ that the edge had then to its tangent t now. The
//! derivatives that [bergou2010] gives hold for transport along the path of the tangent; transport
//! from a fixed t₀ turns the frame additionally by dψ = ½ κb(t, t₀)·dt (the area of the geodesic
//! triangle t₀, t, t + dt on the sphere), which acts as a change of θ. With it, gradient and Hessian are exact for any distance from
//! the start of the step.

use stiction_math::elementary::sin_cos;
use stiction_math::{Dual, Real, Vec3, Vector};

use super::frames::transport;

/// Number of variables of the strains of a vertex: the vectors of both edges and both twists, in
/// the order eₐ, e_b, θₐ, θ_b.
pub const VARIABLES: usize = 8;

/// One edge at the start of a step and now.
#[derive(Clone, Copy, Debug)]
pub struct Edge {
    /// The unit tangent at the start of the step.
    pub t0: Vec3,
    /// The reference director at the start of the step.
    pub d0: Vec3,
    /// The vector along the edge now [m].
    pub e: Vec3,
    /// Its length now [m].
    pub length: f64,
    /// The unit tangent now.
    pub t: Vec3,
    /// The reference director now.
    pub d: Vec3,
    /// The twist: angle of the material frame in the reference frame [rad].
    pub theta: f64,
}

impl Edge {
    /// An edge along `e` [m] with the twist `theta` [rad], whose director `d0` had the tangent `t0` at
    /// the start of the step.
    #[inline]
    pub fn new(t0: Vec3, d0: Vec3, e: Vec3, theta: f64) -> Self {
        let length = e.norm();
        let t = e / length;
        Self {
            t0,
            d0,
            e,
            length,
            t,
            d: transport(&d0, &t0, &t),
            theta,
        }
    }

    /// m₁ = cos θ d₁ + sin θ d₂.
    pub fn material_director(&self) -> Vec3 {
        let (sin, cos) = sin_cos(self.theta);
        self.d * cos + self.t.cross(&self.d) * sin
    }
}

/// Strains of a vertex and their derivatives.
#[derive(Clone, Copy, Debug)]
pub struct Strain<T> {
    /// κ₁, κ₂.
    pub curvature: [T; 2],
    /// ∂(κ₁, κ₂, τ)/∂(eₐ, e_b, θₐ, θ_b).
    pub jacobian: [[T; VARIABLES]; 3],
}

/// One edge in generic arithmetic.
struct Side<T> {
    /// Tangent, inverse length.
    t: Vector<T>,
    inverse: T,
    m1: Vector<T>,
    m2: Vector<T>,
    /// ∂ψ/∂e of the frame's rotation in addition to transport along the path.
    turn: Vector<T>,
}

impl<T: Real> Side<T> {
    #[inline]
    fn new(edge: &Edge, e: Vector<T>, cos: T, sin: T) -> Self {
        let inverse = T::constant(1.0) / e.norm();
        let t = e.scale(inverse);
        let (t0, d0) = (Vector::constant(&edge.t0), Vector::constant(&edge.d0));
        let near = T::constant(1.0) / (t0.dot(&t) + 1.0);
        let d1 = d0 - (t0 + t).scale(d0.dot(&t) * near);
        let d2 = t.cross(&d1);
        Self {
            m1: d1.scale(cos) + d2.scale(sin),
            m2: d2.scale(cos) - d1.scale(sin),
            turn: t.cross(&t0).scale(near * inverse),
            t,
            inverse,
        }
    }
}

#[inline]
fn strain<T: Real>(a: &Side<T>, b: &Side<T>) -> Strain<T> {
    let chi = T::constant(1.0) / (a.t.dot(&b.t) + 1.0);
    let kb = a.t.cross(&b.t).scale(chi * 2.0);
    let (m1, m2) = (a.m1 + b.m1, a.m2 + b.m2);
    let k1 = kb.dot(&m2) * 0.5;
    let k2 = kb.dot(&m1) * -0.5;
    let mean = (a.t + b.t).scale(chi);
    let (m1, m2) = (m1.scale(chi), m2.scale(chi));
    let by_theta = [
        [kb.dot(&a.m1) * -0.5, kb.dot(&b.m1) * -0.5],
        [kb.dot(&a.m2) * -0.5, kb.dot(&b.m2) * -0.5],
        [T::constant(-1.0), T::constant(1.0)],
    ];
    let by_edge = [
        [
            b.t.cross(&m2) - mean.scale(k1),
            -(a.t.cross(&m2)) - mean.scale(k1),
        ],
        [
            -(b.t.cross(&m1)) - mean.scale(k2),
            a.t.cross(&m1) - mean.scale(k2),
        ],
        [kb.times(0.5), kb.times(0.5)],
    ];
    let mut jacobian = [[T::constant(0.0); VARIABLES]; 3];
    for k in 0..3 {
        for (side, edge) in [a, b].into_iter().enumerate() {
            let slope = by_theta[k][side];
            let g = by_edge[k][side].scale(edge.inverse) + edge.turn.scale(slope);
            jacobian[k][3 * side..3 * side + 3].copy_from_slice(&g.0);
            jacobian[k][6 + side] = slope;
        }
    }
    Strain {
        curvature: [k1, k2],
        jacobian,
    }
}

/// κ₁ and κ₂ between two edges.
#[inline]
pub fn curvature(a: &Edge, b: &Edge) -> [f64; 2] {
    let kb = a.t.cross(&b.t) * (2.0 / (1.0 + a.t.dot(&b.t)));
    let director = |edge: &Edge| {
        let (sin, cos) = sin_cos(edge.theta);
        let d2 = edge.t.cross(&edge.d);
        (edge.d * cos + d2 * sin, d2 * cos - edge.d * sin)
    };
    let (a1, a2) = director(a);
    let (b1, b2) = director(b);
    [0.5 * kb.dot(&(a2 + b2)), -0.5 * kb.dot(&(a1 + b1))]
}

/// The curvatures between two edges, and the derivatives of curvatures and twist.
#[inline]
pub fn strains(a: &Edge, b: &Edge) -> Strain<f64> {
    let side = |edge: &Edge| {
        let (sin, cos) = sin_cos(edge.theta);
        Side::new(edge, Vector([edge.e.x, edge.e.y, edge.e.z]), cos, sin)
    };
    strain(&side(a), &side(b))
}

/// The second derivatives of κ₁, κ₂ and τ, each times its entry of `f`, summed.
pub fn second_derivatives(a: &Edge, b: &Edge, f: &[f64; 3]) -> [[f64; VARIABLES]; VARIABLES] {
    type D = Dual<VARIABLES>;
    let seed = |value: f64, at: usize, slope: f64| {
        let mut d = [0.0; VARIABLES];
        d[at] = slope;
        D::new(value, d)
    };
    let side = |edge: &Edge, at: usize| {
        let e = Vector(std::array::from_fn(|c| seed(edge.e[c], 3 * at + c, 1.0)));
        let (sin, cos) = sin_cos(edge.theta);
        Side::new(edge, e, seed(cos, 6 + at, -sin), seed(sin, 6 + at, cos))
    };
    let exact = strain(&side(a, 0), &side(b, 1));
    let mut sum = [[0.0; VARIABLES]; VARIABLES];
    for k in 0..3 {
        for i in 0..VARIABLES {
            for j in 0..VARIABLES {
                sum[i][j] += f[k] * exact.jacobian[k][i].d[j];
            }
        }
    }
    sum
}
