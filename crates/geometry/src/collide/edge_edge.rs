//! Edge and edge.

use stiction_math::Vec3;

use super::point_edge::{EdgeFeature, project};

/// Features of two edges on which the closest points lie, first edge first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EdgeEdgeFeature(pub EdgeFeature, pub EdgeFeature);

/// The two points, one on each edge, that are closest to each other.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct EdgeEdge {
    /// Weights of the ends of either edge: non-negative, their sum is one.
    pub weights: [[f64; 2]; 2],
    /// From the point on the second edge to the point on the first [m].
    pub separation: Vec3,
    /// Squared distance [m²]: the squared length of `separation`.
    pub squared: f64,
    /// Features on which the closest points lie. Of parallel edges it names an end of one of them.
    pub feature: EdgeEdgeFeature,
}

/// The closest points of the edges `a` and `b`.
///
/// Holds for every pair, also parallel and collinear edges and edges without length. With L the
/// largest distance among the four points and u = 2⁻⁵³, the distance is accurate to about ten
/// u L, by the argument given at [`super::point_triangle()`] with the parallelogram of the two
/// edges in place of the triangle.
pub fn edge_edge(a: &[Vec3; 2], b: &[Vec3; 2]) -> EdgeEdge {
    let (ea, eb) = (a[1] - a[0], b[1] - b[0]);
    let r = a[0] - b[0];
    let lines = Lines::new(&ea, &eb, &r);
    let [s, t] = lines.at;
    if lines.trusted && s > 0.0 && s < 1.0 && t > 0.0 && t < 1.0 {
        return crossing(&lines);
    }
    let mut best = EdgeEdge {
        weights: [[1.0, 0.0]; 2],
        separation: r,
        squared: f64::INFINITY,
        feature: EdgeEdgeFeature(EdgeFeature::End(0), EdgeFeature::End(0)),
    };
    if !lines.trusted && s > 0.0 && s < 1.0 && t > 0.0 && t < 1.0 {
        best = crossing(&lines);
    }
    // The squared distance is a convex function of (s, t), so that its least value on the unit
    // square lies on a side that faces the lines' closest points; only if these are not
    // trusted, all sides are tried.
    let faces = |outside: bool| outside || !lines.trusted;
    for i in 0..2 {
        if faces(if i == 0 { s <= 0.0 } else { s >= 1.0 }) {
            let on = project(&(a[i] - b[0]), &(a[i] - b[1]), &eb);
            if on.squared < best.squared {
                best = EdgeEdge {
                    weights: [unit(i), on.weights],
                    separation: on.separation,
                    squared: on.squared,
                    feature: EdgeEdgeFeature(EdgeFeature::End(i as u8), on.feature),
                };
            }
        }
    }
    for j in 0..2 {
        if faces(if j == 0 { t <= 0.0 } else { t >= 1.0 }) {
            let on = project(&(b[j] - a[0]), &(b[j] - a[1]), &ea);
            if on.squared < best.squared {
                best = EdgeEdge {
                    weights: [on.weights, unit(j)],
                    separation: -on.separation,
                    squared: on.squared,
                    feature: EdgeEdgeFeature(on.feature, EdgeFeature::End(j as u8)),
                };
            }
        }
    }
    best
}

/// Below this sine of the angle (times the ratio of lengths) the crossing point alone is not
/// accurate to the last places.
const PARALLEL: f64 = 1e-6;

/// The closest points of the two lines, as far as they exist.
struct Lines {
    /// Their places along the edges, 0 and 1 at the ends; not numbers if there are none.
    at: [f64; 2],
    /// The separation there.
    separation: Vec3,
    /// Whether the edges are far enough from parallel for this to be accurate.
    trusted: bool,
}

impl Lines {
    #[inline]
    fn new(ea: &Vec3, eb: &Vec3, r: &Vec3) -> Lines {
        let (a2, b2) = (ea.norm_squared(), eb.norm_squared());
        // Minimises |r + s ea − t eb| over s and t: the shorter edge is made orthogonal to the
        // longer one, twice, so that its error does not grow as the edges become parallel.
        let (at, separation, across2, base2);
        if a2 >= b2 {
            let across = across(eb, ea, a2);
            across2 = across.norm_squared();
            base2 = a2;
            let t = r.dot(&across) / across2;
            let rest = r - t * eb;
            let s = -rest.dot(ea) / a2;
            at = [s, t];
            separation = rest + s * ea;
        } else {
            let across = across(ea, eb, b2);
            across2 = across.norm_squared();
            base2 = b2;
            let s = -r.dot(&across) / across2;
            let rest = r + s * ea;
            let t = rest.dot(eb) / b2;
            at = [s, t];
            separation = rest - t * eb;
        }
        Lines {
            at,
            separation,
            trusted: across2 > PARALLEL * PARALLEL * base2,
        }
    }
}

fn crossing(lines: &Lines) -> EdgeEdge {
    let [s, t] = lines.at;
    EdgeEdge {
        weights: [[1.0 - s, s], [1.0 - t, t]],
        separation: lines.separation,
        squared: lines.separation.norm_squared(),
        feature: EdgeEdgeFeature(EdgeFeature::Interior, EdgeFeature::Interior),
    }
}

#[inline]
fn across(v: &Vec3, base: &Vec3, base2: f64) -> Vec3 {
    let once = v - (v.dot(base) / base2) * base;
    once - (once.dot(base) / base2) * base
}

#[inline]
fn unit(end: usize) -> [f64; 2] {
    if end == 0 { [1.0, 0.0] } else { [0.0, 1.0] }
}
