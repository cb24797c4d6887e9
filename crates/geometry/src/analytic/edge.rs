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
/// Slope of the distance along an edge, over the length, that is rounding of a unit normal.
const LEVEL: f64 = 4.0 * f64::EPSILON;
/// Largest excess over the minimum at which the search on a torus ends, as a fraction of the length.
const TOLERANCE: f64 = 0.01;

impl Shape {
    /// The point of the segment `ends` with the least signed distance, in the frame of the shape.
    ///
    /// The distance to a convex solid is a convex function, so that its slope n·e along the
    /// segment changes sign once: the place is found to 2⁻⁴⁰ of the length. Along a torus the
    /// distance may have several minima; the value is at most 0.01 of the length too large.
    pub fn edge_minimum(&self, ends: &[Vec3; 2]) -> EdgeMinimum {
        if self.is_convex() {
            return self.bracket(ends, 0.0, 1.0);
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
        self.bracket(ends, (at - TOLERANCE).max(0.0), (at + TOLERANCE).min(1.0))
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

    /// The minimum between two places, by an interval at whose ends the slopes have different signs. The next place
    /// is in turn the root of the secant of the slopes, which is exact for a quadratic function, and the point
    /// where the tangents meet, which is exact for a kink; halving where these do not shorten the interval.
    fn bracket(&self, ends: &[Vec3; 2], low: f64, high: f64) -> EdgeMinimum {
        let e = ends[1] - ends[0];
        let level = LEVEL * e.norm();
        let found = |at: f64| {
            let nearest = self.nearest(&(ends[0] + e * at));
            let slope = nearest.normal.dot(&e);
            (EdgeMinimum { at, nearest }, slope)
        };
        let mut left = found(low);
        if left.1 >= 0.0 {
            return left.0;
        }
        let mut right = found(high);
        if right.1 <= 0.0 {
            return right.0;
        }
        let resolution = 0.5f64.powi(HALVINGS as i32);
        let mut best = match right.0.nearest.distance < left.0.nearest.distance {
            true => right.0,
            false => left.0,
        };
        // The interval before the last secant.
        let mut before = f64::INFINITY;
        let mut turn = 0;
        loop {
            let ((a, p), (b, q)) = (left, right);
            let width = b.at - a.at;
            if width <= resolution {
                return best;
            }
            if turn == 2 && width <= 0.25 * before {
                turn = 0;
            }
            let place = match turn {
                0 => a.at - p * width / (q - p),
                1 => {
                    let (fa, fb) = (a.nearest.distance, b.nearest.distance);
                    a.at + (fb - fa - q * width) / (p - q)
                }
                _ => 0.5 * (a.at + b.at),
            };
            if turn == 0 {
                before = width;
            }
            turn = (turn + 1) % 3;
            // Next to an end, far enough inside to close the interval if the minimum is there.
            let inset = (0.5 * resolution).min(0.5 * width);
            let middle = found(place.clamp(a.at + inset, b.at - inset));
            if middle.0.nearest.distance < best.nearest.distance {
                best = middle.0;
            }
            match middle.1 {
                s if s.abs() <= level => return middle.0,
                s if s < 0.0 => left = middle,
                s if s > 0.0 => right = middle,
                // Not a number.
                _ => return best,
            }
        }
    }
}
