//! Continuous collision detection: the earliest time in [0, 1] at which two features that move
//! along straight lines come as close as a minimum separation d. It may answer early. It never
//! answers late and never misses an impact, whatever the rounding.
//!
//! # Method
//! Conservative advancement with a separating slab, a directional form of additive continuous
//! collision detection [li2021]. For any vector n with ‖n‖ ≤ 1 and any vertices xᵢ of the first
//! feature and yⱼ of the second,
//!
//! dist(t) ≥ minᵢⱼ gᵢⱼ(t),  gᵢⱼ(t) = n · (xᵢ(t) − yⱼ(t)),
//!
//! because the features are convex hulls of their vertices. Each gᵢⱼ is linear in t. So if all
//! gᵢⱼ are at least d at t and at t′, the features are at least d apart in all of [t, t′]. One
//! round takes n from the closest points at the time t reached so far and goes on to the largest
//! t′ for which this holds. When n is the exact direction of the closest points, minᵢⱼ gᵢⱼ(t) is
//! the distance itself, so that rounds make progress until the distance is d. Features that do
//! not turn need one round; others converge linearly, never slower than with bounds on
//! the speed alone.
//!
//! # Rounding
//! The proof above does not use how n was found: inaccurate closest points cost progress, not
//! safety. What remains is to bound the arithmetic in gᵢⱼ. Let u = 2⁻⁵³ and M the largest
//! modulus of all coordinates, so that ‖xᵢ − yⱼ‖ ≤ 2√3 M.
//!
//! | source | bound |
//! | --- | --- |
//! | n scaled by 1 − 4u after division, so that ‖n‖ ≤ 1 holds exactly | 0 |
//! | gᵢⱼ at t = 0 and 1: one rounding of each difference, three in the scalar product | 14 u M |
//! | gᵢⱼ(t) between them | 11 u M |
//! | t′: four roundings, at most 4u, times the largest change of gᵢⱼ | 28 u M |
//! | the caller's own x + t (x′ − x), on both sides | 18 u M |
//!
//! Together less than [`ROUNDING`]·u·M with `ROUNDING` = 96, which is added to d. The last row
//! means that positions computed in floating point at the answered time are still d apart.
//! Coordinates must not over- or underflow when squared (10⁻¹⁵⁰ to 10¹⁵⁰).
//!
//! # Work
//! A query does at most [`CcdConfig::rounds`] rounds. It stops earlier when the remaining gap
//! is at most [`CcdConfig::remaining`] of the initial one, and then answers the time reached so far.
//! Positions that are not finite admit no proof, so that the answer is an impact at time 0.

mod slab;

use stiction_math::Vec3;

use super::Candidate;

pub(crate) use slab::{Pair, advance};

/// Multiple of u·M that bounds all rounding errors of a query; see the module's table.
pub const ROUNDING: f64 = 96.0;

/// Settings of continuous collision detection.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CcdConfig {
    /// Minimum separation d [m], not negative: coming closer than this is an impact.
    pub d_min: f64,
    /// A query stops when the gap beyond `d_min` has fallen to this fraction of its initial value.
    /// Smaller answers later, at the price of more rounds.
    pub remaining: f64,
    /// Largest number of rounds of one query. A query that needs more answers the time reached.
    pub rounds: u32,
}

impl CcdConfig {
    /// The defaults with minimum separation `d_min` [m].
    pub fn new(d_min: f64) -> Self {
        CcdConfig {
            d_min,
            remaining: 0.01,
            rounds: 64,
        }
    }
}

/// Features closer than the minimum separation, or not provably farther.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Impact {
    /// Fraction of the step in [0, 1]: up to this time the features are provably at least
    /// `d_min` apart, except that 0 is also the answer if they are too close from the start.
    pub time: f64,
    /// Weights of the closest points at that time: those of each feature's vertices sum to one.
    pub weights: [f64; 4],
    /// From the closest point of the second feature to that of the first at that time [m].
    pub separation: Vec3,
}

/// The answer of one query.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CcdAnswer {
    /// The impact; `None` if the features provably stay at least `d_min` apart in all of [0, 1].
    pub impact: Option<Impact>,
    /// Rounds of closest-point search spent.
    pub work: u32,
    /// Without an impact: how much nearer than it comes the pair could come at any time [m], by one
    /// direction that parts it at all times; zero if none is known. As long as the ends of the two
    /// features change by less than this together, there is still no impact.
    pub clearance: f64,
}

/// Vertex and face: `[p, a, b, c]` at the start and at the end of the step [m].
pub fn vertex_face(start: &[Vec3; 4], end: &[Vec3; 4], config: &CcdConfig) -> CcdAnswer {
    query(Pair::VertexFace, start, end, config)
}

/// Edge and edge: `[a₀, a₁, b₀, b₁]` at the start and at the end of the step [m].
pub fn edge_edge(start: &[Vec3; 4], end: &[Vec3; 4], config: &CcdConfig) -> CcdAnswer {
    query(Pair::EdgeEdge, start, end, config)
}

/// Vertex and edge: `[p, a, b]` at the start and at the end of the step [m]. The weights are
/// those of p, a and b; the last is zero.
pub fn vertex_edge(start: &[Vec3; 3], end: &[Vec3; 3], config: &CcdConfig) -> CcdAnswer {
    let fill = |x: &[Vec3; 3]| [x[0], x[1], x[2], x[2]];
    query(Pair::VertexEdge, &fill(start), &fill(end), config)
}

/// Vertex and vertex: `[p, q]` at the start and at the end of the step [m]. The weights are
/// those of p and q; the others are zero.
pub fn vertex_vertex(start: &[Vec3; 2], end: &[Vec3; 2], config: &CcdConfig) -> CcdAnswer {
    let fill = |x: &[Vec3; 2]| [x[0], x[1], x[1], x[1]];
    query(Pair::VertexVertex, &fill(start), &fill(end), config)
}

/// Whether a vertex and a face, or two edges, provably stay at least `d_min` [m] apart, wherever each of
/// their vertices ends between two corners [m]. False proves nothing.
pub fn stays_apart(pair: &Candidate, start: &[Vec3; 4], ends: &[[Vec3; 2]; 4], d_min: f64) -> bool {
    let pair = match pair {
        Candidate::VertexFace(..) => Pair::VertexFace,
        Candidate::EdgeEdge(..) => Pair::EdgeEdge,
    };
    let coordinates = start.iter().chain(ends.iter().flatten());
    let largest = coordinates.fold(0.0, |m: f64, x| m.max(x.amax()));
    slab::stays_apart(pair, start, ends, d_min, rounding(largest))
}

fn query(pair: Pair, start: &[Vec3; 4], end: &[Vec3; 4], config: &CcdConfig) -> CcdAnswer {
    let coordinates = start.iter().chain(end);
    let largest = coordinates.fold(0.0, |m: f64, x| m.max(x.amax()));
    advance(pair, start, end, config, rounding(largest), f64::INFINITY)
}

/// Addition to d that covers rounding, for coordinates up to `largest` [m].
pub(crate) fn rounding(largest: f64) -> f64 {
    ROUNDING * 0.5 * f64::EPSILON * largest
}
