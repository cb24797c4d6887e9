//! Places of a segment next to the sharp features of a shape.
//!
//! If a segment lies along a face, its deepest "point" is a whole piece of it. The ends of that
//! piece are at an edge, a rim, the apex or an end of the core: there the distance to that
//! feature has a minimum along the segment.

use stiction_math::Vec3;
use stiction_math::elementary::{cbrt, hypot};

use super::Shape;
use crate::collide::edge_edge;

/// Halvings of the interval that holds a minimum.
const HALVINGS: u32 = 40;

/// Least half width of the interval around the axis in which a rim has no minimum, as a fraction of the segment.
const NUDGE: f64 = 1e-12;

/// The point of a segment that is closest to a sharp feature of a shape.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SharpPlace {
    /// The number of the feature, from 1. A rim has two, for the two places where a chord crosses it.
    pub part: u32,
    /// The place: 0 at the first end, 1 at the second; between them.
    pub at: f64,
    /// Distance to the feature [m]; to the surface around the end of a capsule's core.
    pub distance: f64,
}

impl Shape {
    /// Places between the `ends` of a segment, in the frame of the shape, that are closest to a
    /// sharp feature: edges of a box, rims of a cylinder or cone, the apex of a cone, the ends of a
    /// capsule's core. None for other shapes, nor where an end of the segment is closest.
    pub fn sharp_places(&self, ends: &[Vec3; 2], out: &mut Vec<SharpPlace>) {
        out.clear();
        match *self {
            Shape::Plane { .. } | Shape::Sphere { .. } | Shape::Torus { .. } => {}
            Shape::Box { half } => box_edges(&half, ends, out),
            Shape::Capsule { radius, half } => {
                for (part, z) in [(1, -half), (2, half)] {
                    closest_to(&Vec3::new(0.0, 0.0, z), radius, part, ends, out);
                }
            }
            Shape::Cylinder { radius, half } => {
                rim(radius, -half, 1, ends, out);
                rim(radius, half, 3, ends, out);
            }
            Shape::Cone { radius, height } => {
                rim(radius, 0.0, 1, ends, out);
                closest_to(&Vec3::new(0.0, 0.0, height), 0.0, 3, ends, out);
            }
        }
    }
}

fn box_edges(half: &Vec3, ends: &[Vec3; 2], out: &mut Vec<SharpPlace>) {
    for axis in 0..3 {
        for side in 0..4 {
            let sign = |bit: usize| if side >> bit & 1 == 0 { -1.0 } else { 1.0 };
            let (j, k) = ((axis + 1) % 3, (axis + 2) % 3);
            let mut from = Vec3::zeros();
            from[j] = sign(0) * half[j];
            from[k] = sign(1) * half[k];
            let mut to = from;
            from[axis] = -half[axis];
            to[axis] = half[axis];
            let near = edge_edge(ends, &[from, to]);
            // At a corner, all three edges answer with the same place.
            let at = near.weights[0][1];
            if at > 0.0 && at < 1.0 {
                out.push(SharpPlace {
                    part: 1 + 4 * axis as u32 + side as u32,
                    at,
                    distance: near.squared.sqrt(),
                });
            }
        }
    }
}

/// The place closest to a point with a radius.
fn closest_to(point: &Vec3, radius: f64, part: u32, ends: &[Vec3; 2], out: &mut Vec<SharpPlace>) {
    let e = ends[1] - ends[0];
    let at = (point - ends[0]).dot(&e) / e.norm_squared();
    if at > 0.0 && at < 1.0 {
        let distance = (ends[0] + e * at - point).norm() - radius;
        out.push(SharpPlace { part, at, distance });
    }
}

/// The minima of the distance to a circle about the z axis.
///
/// With the distance r from the axis, half the derivative of the squared distance is s = r r' + (z − z₀) z' − R r'. The
/// first two terms are linear in the place t, with slope |e|²; r' = e₂² (t − m)/r rises from −e₂ to e₂ around the place m
/// that is closest to the axis, at p from it, where e₂ is the length across the axis. So s' = |e|² − R e₂² p²/r³ is
/// negative where r³ < R e₂² p²/|e|², which is an interval around m or empty: minima are roots of s before and behind it.
/// The maximum between them is off the middle of the chord wherever the segment is not level.
fn rim(radius: f64, z: f64, part: u32, ends: &[Vec3; 2], out: &mut Vec<SharpPlace>) {
    let e = ends[1] - ends[0];
    let place = |at: f64| ends[0] + e * at;
    let slope = |at: f64| {
        let x = place(at);
        let r = (x.x * x.x + x.y * x.y).sqrt();
        let dr = if r > 0.0 {
            (x.x * e.x + x.y * e.y) / r
        } else {
            0.0
        };
        (r - radius) * dr + (x.z - z) * e.z
    };
    let flat = e.x * e.x + e.y * e.y;
    let mut add = |part: u32, low: f64, high: f64| {
        let (low, high) = (low.clamp(0.0, 1.0), high.clamp(0.0, 1.0));
        if let Some(at) = root(slope, low, high) {
            let x = place(at);
            let distance = hypot(hypot(x.x, x.y) - radius, x.z - z);
            out.push(SharpPlace { part, at, distance });
        }
    };
    let middle = -(ends[0].x * e.x + ends[0].y * e.y) / flat;
    let x = place(middle);
    let closest = x.x * x.x + x.y * x.y;
    let falling = cbrt(radius * flat * closest / e.norm_squared());
    let half = (falling * falling - closest) / flat;
    // On the axis itself r' has no value.
    let half = half.sqrt().max(NUDGE);
    let (before, behind) = (middle - half, middle + half);
    // A segment along the axis has no middle; of one that touches the circle, rounding may leave an interval.
    if half.is_nan() || slope(before) < 0.0 && slope(behind) > 0.0 {
        add(part, 0.0, 1.0);
    } else {
        add(part, 0.0, before);
        add(part + 1, behind, 1.0);
    }
}

/// The place, to 2⁻⁴⁰, where `slope` changes from negative to positive between two places, by secants and halving in turn;
/// none if it does not.
fn root(slope: impl Fn(f64) -> f64, low: f64, high: f64) -> Option<f64> {
    let (mut left, mut right) = ((low, slope(low)), (high, slope(high)));
    if !(left.1 < 0.0 && right.1 > 0.0) {
        return None;
    }
    let resolution = 0.5f64.powi(HALVINGS as i32);
    let mut halve = false;
    loop {
        let width = right.0 - left.0;
        if width.is_nan() || width <= resolution {
            return Some(0.5 * (left.0 + right.0));
        }
        let place = match halve {
            false => left.0 - left.1 * width / (right.1 - left.1),
            true => 0.5 * (left.0 + right.0),
        };
        halve = !halve;
        // Next to an end, far enough inside to close the interval if the root is there.
        let inset = (0.5 * resolution).min(0.5 * width);
        let place = place.clamp(left.0 + inset, right.0 - inset);
        let value = slope(place);
        if value < 0.0 {
            left = (place, value);
        } else {
            right = (place, value);
        }
    }
}
