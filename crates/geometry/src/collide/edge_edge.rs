//! Edge and edge.

use stiction_math::Vec3;

use super::point_edge::{EdgeFeature, project};

/// Where on two edges the closest points lie, first edge first.
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
    /// Where the closest points lie. Of parallel edges it names an end of one of them.
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
    // between[i][j] runs from end j of the second edge to end i of the first.
    let between = [[a[0] - b[0], a[0] - b[1]], [a[1] - b[0], a[1] - b[1]]];

    let (crossing, trusted) = crossing(&ea, &eb, &between[0][0]);
    if trusted && let Some(crossing) = crossing {
        return crossing;
    }
    let mut best = crossing;
    for i in 0..2 {
        let on = project(&between[i][0], &between[i][1], &eb);
        if best.is_none_or(|b| on.squared < b.squared) {
            best = Some(EdgeEdge {
                weights: [unit(i), on.weights],
                separation: on.separation,
                squared: on.squared,
                feature: EdgeEdgeFeature(EdgeFeature::End(i as u8), on.feature),
            });
        }
    }
    for j in 0..2 {
        let on = project(&-between[0][j], &-between[1][j], &ea);
        if best.is_none_or(|b| on.squared < b.squared) {
            best = Some(EdgeEdge {
                weights: [on.weights, unit(j)],
                separation: -on.separation,
                squared: on.squared,
                feature: EdgeEdgeFeature(on.feature, EdgeFeature::End(j as u8)),
            });
        }
    }
    // Only ends that are not finite have no nearest pair.
    best.unwrap_or(EdgeEdge {
        weights: [[1.0, 0.0]; 2],
        separation: between[0][0],
        squared: between[0][0].norm_squared(),
        feature: EdgeEdgeFeature(EdgeFeature::End(0), EdgeFeature::End(0)),
    })
}

/// Below this sine of the angle (times the ratio of lengths) the crossing point alone is not
/// accurate to the last places.
const PARALLEL: f64 = 1e-6;

/// The closest points of the two lines if both lie strictly inside the edges, and whether the
/// edges are far enough from parallel for it to be the final answer.
#[inline]
fn crossing(ea: &Vec3, eb: &Vec3, r: &Vec3) -> (Option<EdgeEdge>, bool) {
    let (a2, b2) = (ea.norm_squared(), eb.norm_squared());
    if a2 == 0.0 || b2 == 0.0 {
        return (None, false);
    }
    // Minimises |r + s ea − t eb| over s and t: the shorter edge is made orthogonal to the
    // longer one, twice, so that its error does not grow as the edges become parallel.
    let (s, t, separation, across2, base2);
    if a2 >= b2 {
        let across = across(eb, ea, a2);
        across2 = across.norm_squared();
        base2 = a2;
        if across2 == 0.0 {
            return (None, false);
        }
        t = r.dot(&across) / across2;
        let rest = r - t * eb;
        s = -rest.dot(ea) / a2;
        separation = rest + s * ea;
    } else {
        let across = across(ea, eb, b2);
        across2 = across.norm_squared();
        base2 = b2;
        if across2 == 0.0 {
            return (None, false);
        }
        s = -r.dot(&across) / across2;
        let rest = r + s * ea;
        t = rest.dot(eb) / b2;
        separation = rest - t * eb;
    }
    if !(s > 0.0 && s < 1.0 && t > 0.0 && t < 1.0) {
        return (None, false);
    }
    let crossing = EdgeEdge {
        weights: [[1.0 - s, s], [1.0 - t, t]],
        separation,
        squared: separation.norm_squared(),
        feature: EdgeEdgeFeature(EdgeFeature::Interior, EdgeFeature::Interior),
    };
    (Some(crossing), across2 > PARALLEL * PARALLEL * base2)
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
