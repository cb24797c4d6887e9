//! A moving shape, and the time at which something comes close to it.
//!
//! Conservative advancement: the signed distance f of a point changes no faster than the point
//! moves relative to the solid, because f is 1-Lipschitz (a sampled one: L-Lipschitz, see
//! [`Solid::slope`]). With s a bound on that speed, f stays at least d for the next (f − d)/(L s)
//! of the step. The times add up from below, so that the answer is
//! never late.

use stiction_math::Vec3;
use stiction_math::elementary::{rotation, rotation_vector};

use super::{Pose, Shape, Solid};
use crate::collide::closest_point_on_triangle;

/// Rounds of advancement after which the time reached is the answer.
const ROUNDS: u32 = 256;
/// The advancement stops when this fraction of the initial distance is left.
const LEAVE: f64 = 0.01;
/// Bounds the rounding of a signed distance, as a multiple of 2⁻⁵² times the largest coordinate.
const ROUNDING: f64 = 64.0;

/// A shape that moves from a pose to another during a step: its origin along a straight line, its
/// rotation about a fixed axis by the smaller angle, both evenly.
#[derive(Clone, Debug, PartialEq)]
pub struct MovingSolid {
    /// The shape.
    pub shape: Solid,
    start: Pose,
    end: Pose,
    /// The whole turn as axis times angle [rad], in the world.
    turn: Vec3,
}

impl MovingSolid {
    /// A shape that goes from `start` to `end`.
    pub fn new(shape: impl Into<Solid>, start: Pose, end: Pose) -> Self {
        let shape = shape.into();
        let turn = if start.rotation == end.rotation {
            Vec3::zeros()
        } else {
            rotation_vector(&(end.rotation * start.rotation.inverse()))
        };
        Self {
            shape,
            start,
            end,
            turn,
        }
    }

    /// This motion without the rotation of the shape about its own axis of symmetry, which does not
    /// change its field; none if there is no such rotation. Points of the shape itself move with `self`.
    pub fn without_spin(&self) -> Option<Self> {
        let Solid::Shape(shape) = &self.shape else {
            return None;
        };
        let axis = self.start.rotation * Vec3::z();
        let across = self.turn - axis * self.turn.dot(&axis);
        let spins = match shape {
            Shape::Sphere { .. } => true,
            Shape::Capsule { .. }
            | Shape::Cylinder { .. }
            | Shape::Cone { .. }
            | Shape::Torus { .. } => across.norm() <= 8.0 * f64::EPSILON,
            Shape::Plane { .. } | Shape::Box { .. } => false,
        };
        let end = Pose {
            rotation: self.start.rotation,
            ..self.end
        };
        let turns = self.turn != Vec3::zeros();
        (spins && turns).then(|| Self::new(self.shape.clone(), self.start, end))
    }

    /// The pose after the fraction `t` of the step.
    pub fn pose(&self, t: f64) -> Pose {
        if t <= 0.0 {
            return self.start;
        }
        if t >= 1.0 {
            return self.end;
        }
        Pose {
            rotation: rotation(&(self.turn * t)) * self.start.rotation,
            translation: self.start.translation
                + (self.end.translation - self.start.translation) * t,
        }
    }

    /// The angle of the whole turn [rad].
    pub fn angle(&self) -> f64 {
        self.turn.norm()
    }

    /// A fraction of the step up to which a point that moves evenly from `x[0]` to `x[1]` provably
    /// stays at a signed distance of at least `d` [m], if it does not for the whole step. Zero if
    /// it is closer from the start.
    pub fn point_impact(&self, x: &[Vec3; 2], d: f64) -> Option<f64> {
        self.advance(&[*x], d, |pose, t| {
            let at = pose.invert(&(x[0] + (x[1] - x[0]) * t));
            self.shape.clearance(&at)
        })
    }

    /// Earliest time of contact with the segment with ends `a` and `b`, each at the start and end
    /// of its motion.
    pub fn edge_impact(&self, a: &[Vec3; 2], b: &[Vec3; 2], d: f64) -> Option<f64> {
        let at = |x: &[Vec3; 2], t: f64| x[0] + (x[1] - x[0]) * t;
        // The middle and the Lipschitz bound settle most edges without a search.
        let travel = self.travel(&[*a, *b]) + 0.5 * (a[0] - b[0]).norm();
        let middle = self.start.invert(&(0.5 * (a[0] + b[0])));
        let clearance_left = self.shape.clearance(&middle) - self.shape.slope() * travel;
        if clearance_left > d + self.rounding(&[*a, *b]) {
            return None;
        }
        self.advance(&[*a, *b], d, |pose, t| {
            let ends = [pose.invert(&at(a, t)), pose.invert(&at(b, t))];
            self.shape.edge_clearance(&ends)
        })
    }

    /// Earliest time of contact of a triangle with a cylinder or cone, whose rims may reach between its
    /// edges. None for other solids, for which vertices, edges and [`Shape::points`] suffice.
    pub fn face_impact(&self, corners: &[[Vec3; 2]; 3], d: f64) -> Option<f64> {
        let Solid::Shape(shape) = &self.shape else {
            return None;
        };
        if !matches!(shape, Shape::Cylinder { .. } | Shape::Cone { .. }) {
            return None;
        }
        let [a, b, c] = corners.map(|x| x[0]);
        let middle = (a + b + c) / 3.0;
        let size = [a, b, c].map(|x| (x - middle).norm());
        let travel = self.travel(corners) + size[0].max(size[1]).max(size[2]);
        let clearance_left = shape.nearest(&self.start.invert(&middle)).distance - travel;
        if clearance_left > d + self.rounding(corners) {
            return None;
        }
        self.advance(corners, d, |pose, t| {
            let at = corners.map(|x| pose.invert(&(x[0] + (x[1] - x[0]) * t)));
            face_clearance(shape, &at)
        })
    }

    fn advance(
        &self,
        paths: &[[Vec3; 2]],
        d: f64,
        distance: impl Fn(&Pose, f64) -> f64,
    ) -> Option<f64> {
        let speed = self.travel(paths) * self.shape.slope();
        let slack = self.rounding(paths);
        let target = d + slack;
        if !(speed.is_finite() && target.is_finite()) {
            return Some(0.0);
        }
        let first = distance(&self.start, 0.0);
        if first < target {
            return Some(0.0);
        }
        let enough = target + LEAVE * (first - target);
        let (mut t, mut f) = (0.0, first);
        for _ in 0..ROUNDS {
            let step = (f - target) / speed;
            // A bound of zero leaves no motion: not a number or infinite.
            if t + step >= 1.0 || step.is_nan() {
                return None;
            }
            t += step * (1.0 - 4.0 * f64::EPSILON);
            f = distance(&self.pose(t), t);
            if f <= enough {
                // Close enough to stop, unless the rest of the motion is too short to matter.
                return (t + (f - target) / speed < 1.0).then_some(t);
            }
        }
        Some(t)
    }

    /// A bound on how far any point of the convex hull of the paths moves relative to the solid
    /// in the whole step [m].
    pub fn travel(&self, paths: &[[Vec3; 2]]) -> f64 {
        let travel = self.end.translation - self.start.translation;
        let angle = self.angle();
        let one = |x: &[Vec3; 2]| {
            // The distance from the origin is a convex function of time: largest at an end.
            let arm = (x[0] - self.start.translation)
                .norm()
                .max((x[1] - self.end.translation).norm());
            (x[1] - x[0] - travel).norm() + angle * arm
        };
        paths.iter().fold(0.0, |m: f64, x| m.max(one(x))) * (1.0 + 1e-12)
    }

    /// A bound on the rounding of signed distances along some paths [m].
    pub fn rounding(&self, paths: &[[Vec3; 2]]) -> f64 {
        let origin = self
            .start
            .translation
            .amax()
            .max(self.end.translation.amax());
        let points = paths.iter().flatten();
        let largest = points.fold(origin.max(self.shape.size()), |m, x| m.max(x.amax()));
        ROUNDING * f64::EPSILON * largest
    }
}

/// A number that the signed distance of a convex solid stays above on a triangle [m].
///
/// The distance f is convex: with its gradient n at any point p, f(x) ≥ f(p) + n·(x − p) for all x, and so is every mean of
/// such bounds; over a triangle one is least at a corner. The descent looks at the closest points of triangle
/// and solid in turn, each time at the least distance on the line there: over a face that is far wider than its distance to
/// a solid, projections alone barely move. Of all bounds the mean that is highest at its lowest corner is kept.
fn face_clearance(shape: &Shape, corners: &[Vec3; 3]) -> f64 {
    const STEPS: u32 = 40;
    let at = |w: &[f64; 3]| corners[0] * w[0] + corners[1] * w[1] + corners[2] * w[2];
    let mut weights = [1.0 / 3.0; 3];
    let mut bound = [f64::NEG_INFINITY; 3];
    let mut least = f64::INFINITY;
    for step in 0..STEPS {
        let p = at(&weights);
        let near = shape.nearest(&p);
        least = least.min(near.distance);
        let next = corners.map(|c| near.distance + near.normal.dot(&(c - p)));
        bound = if step == 0 {
            next
        } else {
            highest_mean(&bound, &next)
        };
        // Inside there is nothing to prove; close to the least value there is nothing to gain.
        if least <= 0.0 || lowest(&bound) > (1.0 - 1e-3) * least {
            break;
        }
        let toward = closest_point_on_triangle(&near.point, corners);
        // The line there, as far as the triangle goes.
        let far = (0..3)
            .filter(|&k| toward[k] < weights[k])
            .map(|k| weights[k] / (weights[k] - toward[k]))
            .fold(f64::INFINITY, f64::min);
        if !far.is_finite() {
            break;
        }
        let along = |t: f64| {
            let w = [0, 1, 2].map(|k| (weights[k] + t * (toward[k] - weights[k])).max(0.0));
            let sum = w[0] + w[1] + w[2];
            w.map(|w| w / sum)
        };
        let line = [p, at(&along(far))];
        weights = along(far * shape.edge_minimum(&line).at);
    }
    lowest(&bound)
}

fn lowest(bound: &[f64; 3]) -> f64 {
    bound[0].min(bound[1]).min(bound[2])
}

/// Of the means of two bounds, given at the corners of a triangle, the one that is highest at its lowest corner: its weight
/// is where two corners change places, or at an end.
fn highest_mean(a: &[f64; 3], b: &[f64; 3]) -> [f64; 3] {
    let mean = |t: f64| [0, 1, 2].map(|k| a[k] + t * (b[k] - a[k]));
    let change = |(i, j): (usize, usize)| (a[j] - a[i]) / ((b[i] - a[i]) - (b[j] - a[j]));
    let inner = [(0, 1), (1, 2), (2, 0)].map(change);
    let inner = inner.into_iter().filter(|t| (0.0..=1.0).contains(t));
    let means = inner.chain([1.0]).map(mean);
    means.fold(*a, |best, next| match lowest(&next) > lowest(&best) {
        true => next,
        false => best,
    })
}
