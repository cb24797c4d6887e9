//! Second-order expansions of signed distances.
//!
//! A shape of revolution has, at a point with the distance r from its axis, the Hessian
//!
//! ```text
//! κ m mᵗ + (n_r/r) e_φ e_φᵗ
//! ```
//!
//! with the unit normal n, the meridian tangent m, the hoop direction e_φ and the curvature κ of the level
//! line in the half-plane: 0 along a straight line, 1/ρ at the distance ρ from a point. A box has κ = 1/d
//! off its edges and corners.

use stiction_math::{Mat3, Vec3};

use super::{
    Shape,
    nearest::{Axis, cone, cylinder},
};

/// Value, gradient and Hessian of a field at a point.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FieldExpansion {
    /// The value [m].
    pub value: f64,
    /// The gradient [1]; a unit vector for a signed distance.
    pub gradient: Vec3,
    /// The Hessian [1/m].
    pub hessian: Mat3,
}

impl Shape {
    /// The signed distance around `x` [m], in the frame of the shape, to second order. Where the closest point
    /// is not unique, the expansion is that of the one that [`Shape::nearest`] chooses.
    pub fn expand(&self, x: &Vec3) -> FieldExpansion {
        let nearest = self.nearest(x);
        FieldExpansion {
            value: nearest.distance,
            gradient: nearest.normal,
            hessian: self.hessian(x, &nearest.normal),
        }
    }

    fn hessian(&self, x: &Vec3, n: &Vec3) -> Mat3 {
        match *self {
            Shape::Plane { .. } => Mat3::zeros(),
            Shape::Sphere { .. } => around_point(n, x.norm()),
            Shape::Capsule { half, .. } => {
                let core = Vec3::new(0.0, 0.0, x.z.clamp(-half, half));
                match x.z.abs() <= half {
                    true => revolved(x, n, 0.0),
                    false => around_point(n, (x - core).norm()),
                }
            }
            Shape::Box { half } => {
                let q = x.abs() - half;
                let beyond = q.map(|c| c.max(0.0));
                let distance = beyond.norm();
                if beyond.iter().filter(|c| **c > 0.0).count() < 2 {
                    return Mat3::zeros();
                }
                // Off an edge or a corner: the directions in which the closest point stays.
                let free = Mat3::from_diagonal(&beyond.map(|c| f64::from(u8::from(c > 0.0))));
                (free - n * n.transpose()) * inverse(distance)
            }
            Shape::Cylinder { radius, half } => {
                let axis = Axis::new(x);
                revolved(x, n, cylinder(axis.r, x.z, radius, half).2)
            }
            Shape::Cone { radius, height } => {
                let axis = Axis::new(x);
                revolved(x, n, cone(axis.r, x.z, radius, height).2)
            }
            Shape::Torus { major, .. } => {
                let axis = Axis::new(x);
                let (r, z) = (axis.r - major, x.z);
                revolved(x, n, inverse((r * r + z * z).sqrt()))
            }
        }
    }
}

/// The Hessian of the distance `rho` from a point, in the direction `n`.
fn around_point(n: &Vec3, rho: f64) -> Mat3 {
    (Mat3::identity() - n * n.transpose()) * inverse(rho)
}

/// The Hessian of a shape of revolution about z with the curvature `kappa` in the half-plane.
fn revolved(x: &Vec3, n: &Vec3, kappa: f64) -> Mat3 {
    let axis = Axis::new(x);
    let hoop = Vec3::z().cross(&axis.away);
    let meridian = hoop.cross(n);
    // On the axis the two curvatures are equal.
    let around = match axis.r.is_normal() {
        true => n.dot(&axis.away) / axis.r,
        false => kappa,
    };
    meridian * meridian.transpose() * kappa + hoop * hoop.transpose() * around
}

/// 1/x, or zero where there is none.
pub(super) fn inverse(x: f64) -> f64 {
    if x.is_normal() { 1.0 / x } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn shapes() -> [Shape; 7] {
        [
            Shape::Plane {
                normal: Vec3::new(0.6, 0.0, 0.8),
                offset: 0.1,
            },
            Shape::Box {
                half: Vec3::new(0.5, 0.3, 0.7),
            },
            Shape::Sphere { radius: 0.6 },
            Shape::Capsule {
                radius: 0.3,
                half: 0.4,
            },
            Shape::Cylinder {
                radius: 0.5,
                half: 0.4,
            },
            Shape::Cone {
                radius: 0.5,
                height: 0.8,
            },
            Shape::Torus {
                major: 0.6,
                minor: 0.25,
            },
        ]
    }

    proptest! {
        /// Against central differences of the normal, away from where it jumps.
        #[test]
        fn hessians_are_differences_of_normals(p in prop::array::uniform3(-1.2..1.2f64), kind in 0..7usize) {
            let (shape, x) = (shapes()[kind], Vec3::from(p));
            let step = 1e-5;
            let n = |x: Vec3| shape.nearest(&x).normal;
            let mut expected = Mat3::zeros();
            let mut jumps = false;
            for k in 0..3 {
                let mut e = Vec3::zeros();
                e[k] = step;
                let (up, down) = (n(x + e), n(x - e));
                // A change beyond that of a curvature of 1e3 is a jump.
                jumps |= (up - down).norm() > 2e3 * step;
                let halves = (n(x + e) - n(x)) / step - (n(x) - n(x - e)) / step;
                jumps |= halves.norm() > 1e-2;
                expected.set_column(k, &((up - down) / (2.0 * step)));
            }
            let found = shape.expand(&x);
            if !jumps && found.value.abs() > 0.02 {
                prop_assert!((found.hessian - expected).norm() < 1e-5, "{shape:?} {x:?}\n{}{expected}", found.hessian);
                prop_assert!((found.hessian * found.gradient).norm() < 1e-12 * (1.0 + found.hessian.norm()));
            }
        }
    }
}
