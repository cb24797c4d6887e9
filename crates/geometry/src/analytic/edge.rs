//! The deepest point of a segment.

use stiction_math::Vec3;

use super::{Nearest, Shape};

/// The point of a segment with the least signed distance.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct EdgeMinimum {
    /// The place: 0 at the first end, 1 at the second.
    pub at: f64,
    /// The surface point closest to it.
    pub nearest: Nearest,
}

/// Halvings of the interval that holds the minimum.
const HALVINGS: u32 = 40;
/// Largest excess over the minimum at which the search on a torus ends, as a fraction of the length.
const TOLERANCE: f64 = 0.01;

impl Shape {
    /// The point of the segment `ends` with the least signed distance, in the frame of the shape.
    ///
    /// The distance to a convex solid is a convex function, so that its slope n·e along the
    /// segment changes sign once: bisection finds the place to 2⁻⁴⁰ of the length. Along a torus the
    /// distance may have several minima; the value is at most 0.01 of the length too large.
    pub fn edge_minimum(&self, ends: &[Vec3; 2]) -> EdgeMinimum {
        if self.is_convex() {
            return self.bisect(ends, 0.0, 1.0);
        }
        // Branch and bound: a piece of length l cannot hold a value below that of its middle less
        // l/2, because distances are 1-Lipschitz.
        let length = (ends[1] - ends[0]).norm();
        let value = |at: f64| {
            let x = ends[0] + (ends[1] - ends[0]) * at;
            self.nearest(&x).distance
        };
        let (first, last) = (value(0.0), value(1.0));
        let mut best = if last < first {
            (last, 1.0)
        } else {
            (first, 0.0)
        };
        let mut pieces = vec![(0.0, 1.0)];
        while let Some((low, high)) = pieces.pop() {
            let middle = 0.5 * (low + high);
            let f = value(middle);
            if f < best.0 {
                best = (f, middle);
            }
            if f - 0.5 * length * (high - low) < best.0 - TOLERANCE * length {
                pieces.push((low, middle));
                pieces.push((middle, high));
            }
        }
        let at = best.1;
        self.bisect(ends, (at - TOLERANCE).max(0.0), (at + TOLERANCE).min(1.0))
    }

    /// Largest amount by which the distance may be below [`Shape::edge_minimum`] on a segment of this
    /// length [m].
    pub(super) fn edge_error(&self, length: f64) -> f64 {
        if self.is_convex() {
            length * 2f64.powi(-(HALVINGS as i32))
        } else {
            TOLERANCE * length
        }
    }

    fn bisect(&self, ends: &[Vec3; 2], low: f64, high: f64) -> EdgeMinimum {
        let e = ends[1] - ends[0];
        let place = |at: f64| ends[0] + e * at;
        let found = |at: f64| EdgeMinimum {
            at,
            nearest: self.nearest(&place(at)),
        };
        let first = found(low);
        if first.nearest.normal.dot(&e) >= 0.0 {
            return first;
        }
        let last = found(high);
        if last.nearest.normal.dot(&e) <= 0.0 {
            return last;
        }
        let (mut low, mut high) = (low, high);
        let mut best = if last.nearest.distance < first.nearest.distance {
            last
        } else {
            first
        };
        for _ in 0..HALVINGS {
            let middle = found(0.5 * (low + high));
            if middle.nearest.distance < best.nearest.distance {
                best = middle;
            }
            match middle.nearest.normal.dot(&e) {
                s if s < 0.0 => low = middle.at,
                s if s > 0.0 => high = middle.at,
                _ => return middle,
            }
        }
        best
    }
}
