//! Signed distances.
//!
//! Shapes of revolution are solved in the half-plane of (distance from the axis, z). Where the
//! closest point is not unique (on an axis, at a centre, in the middle of a box) one is chosen by
//! a fixed rule, so that the answer is always a unit normal and the same one.

use stiction_math::Vec3;
use stiction_math::elementary::hypot;

use super::{Shape, expansion::inverse};

/// The surface point that is closest to a given point.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Nearest {
    /// Distance to the surface [m], negative inside.
    pub distance: f64,
    /// Outward unit normal: the gradient of the distance. Outside it points from the closest
    /// point to the given one.
    pub normal: Vec3,
    /// The closest point of the surface [m].
    pub point: Vec3,
}

impl Shape {
    /// The signed distance of `x` [m], in the frame of the shape.
    pub fn nearest(&self, x: &Vec3) -> Nearest {
        let (distance, normal) = match *self {
            Shape::Plane { normal, offset } => (normal.dot(x) - offset, normal),
            Shape::Box { half } => cuboid(x, &half),
            Shape::Sphere { radius } => ball(x, radius, Vec3::x()),
            Shape::Capsule { radius, half } => {
                let core = Vec3::new(0.0, 0.0, x.z.clamp(-half, half));
                ball(&(x - core), radius, Vec3::x())
            }
            Shape::Cylinder { radius, half } => {
                let axis = Axis::new(x);
                let (d, n, _) = cylinder(axis.r, x.z, radius, half);
                (d, axis.lift(n))
            }
            Shape::Cone { radius, height } => {
                let axis = Axis::new(x);
                let (d, n, _) = cone(axis.r, x.z, radius, height);
                (d, axis.lift(n))
            }
            Shape::Torus { major, minor } => {
                let axis = Axis::new(x);
                let (r, z) = (axis.r - major, x.z);
                let length = hypot(r, z);
                let n = if length > 0.0 {
                    [r / length, z / length]
                } else {
                    [1.0, 0.0]
                };
                (length - minor, axis.lift(n))
            }
        };
        Nearest {
            distance,
            normal,
            point: x - normal * distance,
        }
    }
}

fn ball(x: &Vec3, radius: f64, otherwise: Vec3) -> (f64, Vec3) {
    let length = x.norm();
    if length.is_normal() {
        (length - radius, (x / length).normalize())
    } else {
        (-radius, otherwise)
    }
}

fn cuboid(x: &Vec3, half: &Vec3) -> (f64, Vec3) {
    let sign = x.map(|c| if c < 0.0 { -1.0 } else { 1.0 });
    let q = x.abs() - half;
    let outside = q.map(|c| c.max(0.0));
    let length = outside.norm();
    if length.is_normal() {
        return (length, (outside / length).component_mul(&sign).normalize());
    }
    // Inside, the nearest face; of several equally near the first.
    let k = q.imax();
    let mut n = Vec3::zeros();
    n[k] = sign[k];
    (q[k], n)
}

/// Distance from the z axis and the direction away from it, x if there is none.
pub(super) struct Axis {
    pub r: f64,
    pub away: Vec3,
}

impl Axis {
    pub fn new(x: &Vec3) -> Self {
        let r = (x.x * x.x + x.y * x.y).sqrt();
        let away = if r.is_normal() {
            Vec3::new(x.x / r, x.y / r, 0.0)
        } else {
            Vec3::x()
        };
        Axis { r, away }
    }

    /// A direction of the half-plane as a unit vector in space.
    fn lift(&self, n: [f64; 2]) -> Vec3 {
        (self.away * n[0] + Vec3::new(0.0, 0.0, n[1])).normalize()
    }
}

/// Distance, normal and curvature [1/m] in the half-plane.
pub(super) fn cylinder(r: f64, z: f64, radius: f64, half: f64) -> (f64, [f64; 2], f64) {
    let up = if z < 0.0 { -1.0 } else { 1.0 };
    let (a, b) = (r - radius, z.abs() - half);
    let length = (a * a + b * b).sqrt();
    if a > 0.0 && b > 0.0 && length.is_normal() {
        return (length, [a / length, up * b / length], inverse(length));
    }
    // A point on the axis is nearer to the caps of a flat cylinder, and the tie goes to them: that
    // normal is unique.
    if b >= a {
        (b, [0.0, up], 0.0)
    } else {
        (a, [1.0, 0.0], 0.0)
    }
}

/// Distance, normal and curvature [1/m] in the half-plane.
pub(super) fn cone(r: f64, z: f64, radius: f64, height: f64) -> (f64, [f64; 2], f64) {
    let slant = hypot(radius, height);
    // Along the side from the rim to the apex, and its outward normal.
    let (along, out) = (
        [-radius / slant, height / slant],
        [height / slant, radius / slant],
    );
    let s = (r - radius) * along[0] + z * along[1];
    let side = (r - radius) * out[0] + z * out[1];
    if side <= 0.0 && z >= 0.0 {
        return if -z > side {
            (-z, [0.0, -1.0], 0.0)
        } else {
            (side, out, 0.0)
        };
    }
    let to = |p: [f64; 2], otherwise: [f64; 2]| {
        let d = [r - p[0], z - p[1]];
        let length = hypot(d[0], d[1]);
        if length.is_normal() {
            (length, [d[0] / length, d[1] / length], inverse(length))
        } else {
            (0.0, otherwise, 0.0)
        }
    };
    if z < 0.0 && r <= radius {
        (-z, [0.0, -1.0], 0.0)
    } else if s <= 0.0 {
        to([radius, 0.0], out)
    } else if s >= slant {
        to([0.0, height], [0.0, 1.0])
    } else {
        (side, out, 0.0)
    }
}
