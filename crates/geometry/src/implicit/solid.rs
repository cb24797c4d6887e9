//! Potentials of analytic shapes.

use stiction_math::elementary::hypot;
use stiction_math::{Real, Vector};

use crate::analytic::Shape;

/// The value of a potential and its gradient with respect to the query point.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Jet<T> {
    /// ψ [m]: positive outside, zero on the surface.
    pub value: T,
    /// ∂ψ/∂q [1].
    pub gradient: Vector<T>,
}

/// The signed distance of a solid in its own frame, as a potential.
///
/// # Where it is smooth
/// Plane: everywhere. Sphere, capsule and torus: away from the centre, the core and the core ring
/// (and the axis of the torus), which lie a radius deep. Box, cylinder and cone: the gradient is
/// continuous outside, and jumps inside where two faces are equally near: on sheets that start at
/// the edges. With a rounding ρ the edges become arcs of radius ρ, and the sheets start ρ deep.
///
/// Second derivatives jump where the nearest point passes from a face to an edge or cap.
///
/// # Rounding
/// The solid is shrunk by ρ and thickened by ρ, which leaves flat faces where they are and takes
/// (√2 − 1) ρ off right-angled edges, (√3 − 1) ρ off corners of a box.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SmoothSolid {
    core: Shape,
    rounding: f64,
    /// Height of the core's origin on the z axis [m].
    lift: f64,
}

/// The largest rounding, as a fraction of the amount by which the solid can be shrunk before it vanishes.
const ROUNDEST: f64 = 0.9;

impl SmoothSolid {
    /// The exact solid.
    pub fn new(shape: Shape) -> Self {
        Self {
            core: shape,
            rounding: 0.0,
            lift: 0.0,
        }
    }

    /// The solid with edges rounded to the radius `rounding` [m], or to 0.9 of the radius of the
    /// largest ball that fits inside if that is less. Shapes without edges stay as they are.
    pub fn rounded(shape: Shape, rounding: f64) -> Self {
        let rho = |limit: f64| rounding.clamp(0.0, ROUNDEST * limit);
        match shape {
            Shape::Box { half } => {
                let rounding = rho(half.min());
                let half = half.add_scalar(-rounding);
                Self {
                    core: Shape::Box { half },
                    rounding,
                    lift: 0.0,
                }
            }
            Shape::Cylinder { radius, half } => {
                let rounding = rho(radius.min(half));
                Self {
                    core: Shape::Cylinder {
                        radius: radius - rounding,
                        half: half - rounding,
                    },
                    rounding,
                    lift: 0.0,
                }
            }
            Shape::Cone { radius, height } => {
                // Side and base move inwards by ρ: a similar cone, smaller by the ratio of ρ to
                // the radius of the largest ball inside, height · radius/(radius + slant).
                let slant = hypot(radius, height);
                let inner = height * radius / (radius + slant);
                let rounding = rho(inner);
                let scale = 1.0 - rounding / inner;
                Self {
                    core: Shape::Cone {
                        radius: radius * scale,
                        height: height * scale,
                    },
                    rounding,
                    lift: rounding,
                }
            }
            _ => Self::new(shape),
        }
    }

    /// ψ and ∂ψ/∂q at the point `q` [m], in the frame of the solid. The gradient has unit length;
    /// where it is not unique, one is chosen by a fixed rule.
    pub fn jet<T: Real>(&self, q: &Vector<T>) -> Jet<T> {
        let c = T::constant;
        let x = Vector([q.0[0], q.0[1], q.0[2] + (-self.lift)]);
        let (value, gradient) = match self.core {
            Shape::Plane { normal, offset } => {
                let n = Vector::constant(&normal);
                (n.dot(&x) + (-offset), n)
            }
            Shape::Box { half } => cuboid(&x, [half.x, half.y, half.z]),
            Shape::Sphere { radius } => ball(&x, radius),
            Shape::Capsule { radius, half } => {
                let z = x.0[2];
                // Around the core only the distance from the axis counts.
                let z = match z.value() {
                    v if v > half => z + (-half),
                    v if v < -half => z + half,
                    _ => c(0.0),
                };
                ball(&Vector([x.0[0], x.0[1], z]), radius)
            }
            Shape::Cylinder { radius, half } => around(&x, |r, z| cylinder(r, z, radius, half)),
            Shape::Cone { radius, height } => around(&x, |r, z| cone(r, z, radius, height)),
            Shape::Torus { major, minor } => around(&x, |r, z| {
                let (d, n) = from(r, z, [major, 0.0], [1.0, 0.0]);
                (d + (-minor), n)
            }),
        };
        Jet {
            value: value + (-self.rounding),
            gradient,
        }
    }
}

/// Below this a length has no direction.
fn vanishes<T: Real>(length: &T) -> bool {
    !length.value().is_normal()
}

fn ball<T: Real>(x: &Vector<T>, radius: f64) -> (T, Vector<T>) {
    let length = x.norm();
    if vanishes(&length) {
        let c = T::constant;
        return (c(-radius), Vector([c(1.0), c(0.0), c(0.0)]));
    }
    let n = x.scale(T::constant(1.0) / length);
    (length + (-radius), n)
}

fn cuboid<T: Real>(x: &Vector<T>, half: [f64; 3]) -> (T, Vector<T>) {
    let zero = T::constant(0.0);
    let sign = x.0.map(|c| if c.value() < 0.0 { -1.0 } else { 1.0 });
    let q: [T; 3] = std::array::from_fn(|k| x.0[k] * sign[k] + (-half[k]));
    let out = Vector(q.map(|c| if c.value() > 0.0 { c } else { zero }));
    let length = out.norm();
    if !vanishes(&length) {
        let n = out.scale(T::constant(1.0) / length);
        return (length, Vector(std::array::from_fn(|k| n.0[k] * sign[k])));
    }
    // Inside, the nearest face; of several equally near the first.
    let mut k = 0;
    for i in 1..3 {
        if q[i].value() > q[k].value() {
            k = i;
        }
    }
    let mut n = Vector([zero; 3]);
    n.0[k] = T::constant(sign[k]);
    (q[k], n)
}

/// A solid of revolution: solves in the half-plane of r, the distance from the z axis, and z.
fn around<T: Real>(x: &Vector<T>, solve: impl Fn(T, T) -> (T, [T; 2])) -> (T, Vector<T>) {
    let zero = T::constant(0.0);
    let r = (x.0[0].squared() + x.0[1].squared()).sqrt();
    let away = if vanishes(&r) {
        [T::constant(1.0), zero]
    } else {
        [x.0[0] / r, x.0[1] / r]
    };
    let (d, n) = solve(r, x.0[2]);
    (d, Vector([away[0] * n[0], away[1] * n[0], n[1]]))
}

/// Distance from the point `p` of the half-plane and the direction away from it.
fn from<T: Real>(r: T, z: T, p: [f64; 2], otherwise: [f64; 2]) -> (T, [T; 2]) {
    let d = [r + (-p[0]), z + (-p[1])];
    let length = (d[0].squared() + d[1].squared()).sqrt();
    if vanishes(&length) {
        return (T::constant(0.0), otherwise.map(T::constant));
    }
    (length, [d[0] / length, d[1] / length])
}

fn cylinder<T: Real>(r: T, z: T, radius: f64, half: f64) -> (T, [T; 2]) {
    let up = if z.value() < 0.0 { -1.0 } else { 1.0 };
    let (a, b) = (r + (-radius), z * up + (-half));
    if a.value() > 0.0 && b.value() > 0.0 {
        return from(r, z, [radius, up * half], [0.0, up]);
    }
    if b.value() >= a.value() {
        (b, [T::constant(0.0), T::constant(up)])
    } else {
        (a, [T::constant(1.0), T::constant(0.0)])
    }
}

fn cone<T: Real>(r: T, z: T, radius: f64, height: f64) -> (T, [T; 2]) {
    let slant = hypot(radius, height);
    // Along the side from the rim to the apex, and its outward normal.
    let (along, out) = (
        [-radius / slant, height / slant],
        [height / slant, radius / slant],
    );
    let s = (r.value() - radius) * along[0] + z.value() * along[1];
    let side = (r + (-radius)) * out[0] + z * out[1];
    let base = (-z, [0.0, -1.0].map(T::constant));
    let flank = (side, out.map(T::constant));
    if side.value() <= 0.0 && z.value() >= 0.0 {
        return if -z.value() > side.value() {
            base
        } else {
            flank
        };
    }
    if z.value() < 0.0 && r.value() <= radius {
        base
    } else if s <= 0.0 {
        from(r, z, [radius, 0.0], out)
    } else if s >= slant {
        from(r, z, [0.0, height], [0.0, 1.0])
    } else {
        flank
    }
}
