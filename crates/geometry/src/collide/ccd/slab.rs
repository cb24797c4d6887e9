//! One query: rounds of separating slabs.

use stiction_math::Vec3;

use super::{CcdAnswer, CcdConfig, Impact};
use crate::collide::edge_edge::edge_edge;
use crate::collide::point_edge::point_edge;
use crate::collide::point_triangle::point_triangle;

/// The kinds of feature pairs. Of four vertices, one belongs to the first feature (two for two
/// edges); unused vertices at the end repeat the last one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pair {
    VertexFace,
    EdgeEdge,
    VertexEdge,
    VertexVertex,
}

impl Pair {
    /// A vertex of the first feature and one of the second: all there are, some of them twice.
    #[inline]
    fn vertices(self) -> [(usize, usize); 4] {
        match self {
            Pair::EdgeEdge => [(0, 2), (0, 3), (1, 2), (1, 3)],
            _ => [(0, 1), (0, 2), (0, 3), (0, 3)],
        }
    }
}

/// Advances from time 0 until the pair is as close as `config.d_min` plus `slack`, or until it
/// is certain that the answer would be later than `limit`. The times visited do not depend on
/// `limit`, so an impact up to the limit has the same bits as without one.
pub(crate) fn advance(
    pair: Pair,
    start: &[Vec3; 4],
    end: &[Vec3; 4],
    config: &CcdConfig,
    slack: f64,
    limit: f64,
) -> CcdAnswer {
    let span = Span::new(pair, start, end);
    let d_min = if config.d_min < 0.0 {
        0.0
    } else {
        config.d_min
    };
    let target = d_min + slack;
    // Coordinate directions need no closest points and settle most pairs that only a swept box
    // brings together.
    let (first_gap, mut time) = span.axes(target);
    if time >= 1.0 || time > limit {
        return CcdAnswer {
            impact: None,
            work: 0,
            clearance: span.axis_clearance(target),
        };
    }
    let path = Path::new(start, end);
    let mut enough = match first_gap {
        Some(gap) => target + config.remaining * (gap - target),
        None => f64::NEG_INFINITY,
    };
    let mut work = 0;
    let mut least = f64::NEG_INFINITY;
    loop {
        work += 1;
        let now = path.at(time);
        let closest = closest(pair, &now);
        let mut slab = span.slab(&closest.separation, time, target);
        if !slab.holds && closest.separation.norm() > target {
            // The distance is positive, so the direction lost its digits to the size of
            // the features, which happens at distances below √u of it.
            let polished = span.slab(&polish(pair, &now, &closest), time, target);
            if polished.holds {
                slab = polished;
            }
        }
        let stop = |work| CcdAnswer {
            impact: Some(Impact {
                time,
                weights: closest.weights,
                separation: closest.separation,
            }),
            work,
            clearance: 0.0,
        };
        if !slab.holds || slab.gap <= enough {
            return stop(work);
        }
        least = least.max(slab.least);
        if slab.until >= 1.0 || slab.until > limit {
            return CcdAnswer {
                impact: None,
                work,
                clearance: (least - target).max(0.0),
            };
        }
        if work == 1 && first_gap.is_none() {
            enough = target + config.remaining * (slab.gap - target);
        }
        if work >= config.rounds || slab.until <= time {
            return stop(work);
        }
        time = slab.until;
    }
}

/// Whether a pair provably stays at least `d_min` plus `slack` apart, wherever each vertex ends between
/// two corners: by the direction across both edges, which costs little, or by that of the closest
/// points at the start or at the middle of the ends. False proves nothing.
pub(crate) fn stays_apart(
    pair: Pair,
    start: &[Vec3; 4],
    ends: &[[Vec3; 2]; 4],
    d_min: f64,
    slack: f64,
) -> bool {
    let target = d_min + slack;
    let middle = ends.map(|[low, high]| 0.5 * (low + high));
    let half = ends.map(|[low, high]| 0.5 * (high - low));
    let span = Span::new(pair, start, &middle);
    let widths = pair.vertices().map(|(i, j)| half[i] + half[j]);
    let proves = |direction: &Vec3| {
        let n = direction * ((1.0 - 2.0 * f64::EPSILON) / direction.norm());
        let size = n.abs();
        (0..4).all(|k| {
            let from = n.x * span.from[0][k] + n.y * span.from[1][k] + n.z * span.from[2][k];
            let to = n.x * span.to[0][k] + n.y * span.to[1][k] + n.z * span.to[2][k];
            from >= target && to - size.dot(&widths[k]) >= target
        })
    };
    if pair == Pair::EdgeEdge {
        let across = (start[1] - start[0]).cross(&(start[3] - start[2]));
        let side = across.dot(&(start[0] - start[2]));
        if proves(&(across * side.signum())) {
            return true;
        }
    }
    proves(&closest(pair, start).separation) || proves(&closest(pair, &middle).separation)
}

/// Bound on the gap along a direction from some time on.
struct Slab {
    /// Whether the gap is at or above the target at that time: nothing is proven otherwise.
    holds: bool,
    /// The gap along the direction at that time [m].
    gap: f64,
    /// Until when the gap stays at or above the target; 1 or more: to the end.
    until: f64,
    /// The least gap along the direction over the whole step [m].
    least: f64,
}

/// The vertices and their motion relative to the last vertex at time 0. Only closest points use
/// them, so that their rounding costs no safety.
struct Path {
    vertices: [Vec3; 4],
    moves: [Vec3; 4],
}

impl Path {
    #[inline]
    fn new(start: &[Vec3; 4], end: &[Vec3; 4]) -> Self {
        Path {
            vertices: start.map(|x| x - start[3]),
            moves: std::array::from_fn(|k| end[k] - start[k]),
        }
    }

    #[inline]
    fn at(&self, time: f64) -> [Vec3; 4] {
        std::array::from_fn(|k| self.vertices[k] + time * self.moves[k])
    }
}

/// The motion of a pair: differences of the vertices of its two features at the start and at
/// the end, component by component over the (at most four) vertex pairs.
struct Span {
    from: [[f64; 4]; 3],
    to: [[f64; 4]; 3],
}

impl Span {
    #[inline]
    fn new(pair: Pair, start: &[Vec3; 4], end: &[Vec3; 4]) -> Self {
        let mut span = Span {
            from: [[0.0; 4]; 3],
            to: [[0.0; 4]; 3],
        };
        for (k, (i, j)) in pair.vertices().into_iter().enumerate() {
            for c in 0..3 {
                span.from[c][k] = start[i][c] - start[j][c];
                span.to[c][k] = end[i][c] - end[j][c];
            }
        }
        span
    }

    /// The largest gap at time 0 along a coordinate direction, if one exceeds the target, and
    /// until when one of these directions holds.
    #[inline]
    fn axes(&self, target: f64) -> (Option<f64>, f64) {
        let mut first = None;
        let mut until = 0.0f64;
        for c in 0..3 {
            let (from, to) = (&self.from[c], &self.to[c]);
            let low = from[0].min(from[1]).min(from[2].min(from[3]));
            let high = from[0].max(from[1]).max(from[2].max(from[3]));
            let gap = low.max(-high);
            // What is not finite must not count as far away.
            if gap > target && from.iter().chain(to).all(|x| x.is_finite()) {
                let sign = if low > 0.0 { 1.0 } else { -1.0 };
                let mut part = f64::INFINITY;
                for k in 0..4 {
                    let (now, then) = (sign * from[k], sign * to[k]);
                    if then < target {
                        part = part.min((now - target) / (now - then));
                    }
                }
                first = Some(gap.max(first.unwrap_or(gap)));
                until = until.max(part);
            }
        }
        (first, until)
    }

    /// Excess of the least gap of a coordinate direction over the whole step above the target, at
    /// least zero.
    #[inline]
    fn axis_clearance(&self, target: f64) -> f64 {
        let mut best = 0.0f64;
        for c in 0..3 {
            let all = || self.from[c].iter().chain(&self.to[c]);
            let low = all().fold(f64::INFINITY, |m, x| m.min(*x));
            let high = all().fold(f64::NEG_INFINITY, |m, x| m.max(*x));
            best = best.max(low - target).max(-high - target);
        }
        best
    }

    #[inline]
    fn slab(&self, direction: &Vec3, time: f64, target: f64) -> Slab {
        let shrink = (1.0 - 2.0 * f64::EPSILON) / direction.norm();
        let n = direction * shrink;
        let mut now = [0.0; 4];
        let mut then = [0.0; 4];
        let mut least = f64::INFINITY;
        for k in 0..4 {
            let from = n.x * self.from[0][k] + n.y * self.from[1][k] + n.z * self.from[2][k];
            let to = n.x * self.to[0][k] + n.y * self.to[1][k] + n.z * self.to[2][k];
            now[k] = (1.0 - time) * from + time * to;
            then[k] = to;
            least = least.min(from).min(to);
        }
        let mut holds = true;
        let mut gap = f64::INFINITY;
        let mut part = f64::INFINITY;
        for k in 0..4 {
            // A position that is not finite makes `now` not a number, whatever the time.
            holds &= now[k] >= target;
            gap = gap.min(now[k]);
            if then[k] < target {
                part = part.min((now[k] - target) / (now[k] - then[k]));
            }
        }
        Slab {
            holds,
            gap,
            until: time + (1.0 - time) * part,
            least,
        }
    }
}

struct Closest {
    weights: [f64; 4],
    separation: Vec3,
}

#[inline]
fn closest(pair: Pair, x: &[Vec3; 4]) -> Closest {
    let (separation, weights) = match pair {
        Pair::VertexFace => {
            let c = point_triangle(&x[0], &[x[1], x[2], x[3]]);
            let [a, b, d] = c.weights;
            (c.separation, [1.0, a, b, d])
        }
        Pair::EdgeEdge => {
            let c = edge_edge(&[x[0], x[1]], &[x[2], x[3]]);
            let [[a, b], [d, e]] = c.weights;
            (c.separation, [a, b, d, e])
        }
        Pair::VertexEdge => {
            let c = point_edge(&x[0], &[x[1], x[2]]);
            (c.separation, [1.0, c.weights[0], c.weights[1], 0.0])
        }
        Pair::VertexVertex => (x[0] - x[1], [1.0, 1.0, 0.0, 0.0]),
    };
    Closest {
        weights,
        separation,
    }
}

/// The separation made orthogonal to the active features by cross products and projections,
/// which keep their relative accuracy however short the separation is.
fn polish(pair: Pair, x: &[Vec3; 4], closest: &Closest) -> Vec3 {
    let d = closest.separation;
    let w = &closest.weights;
    let inside = |i: usize, j: usize| w[i] > 0.0 && w[j] > 0.0;
    let across = |i: usize, j: usize| {
        let e = x[j] - x[i];
        d - (d.dot(&e) / e.norm_squared()) * e
    };
    let axis = match pair {
        Pair::VertexFace if inside(1, 2) && w[3] > 0.0 => (x[2] - x[1]).cross(&(x[3] - x[1])),
        Pair::EdgeEdge if inside(0, 1) && inside(2, 3) => (x[1] - x[0]).cross(&(x[3] - x[2])),
        Pair::EdgeEdge if inside(0, 1) => across(0, 1),
        Pair::VertexVertex => d,
        _ if inside(2, 3) => across(2, 3),
        _ if inside(1, 2) => across(1, 2),
        Pair::VertexFace if inside(1, 3) => across(1, 3),
        _ => d,
    };
    if axis.dot(&d) < 0.0 { -axis } else { axis }
}
