//! Elementary functions with the same bits on every processor.
//!
//! The functions of the standard library are the system's: glibc chooses between variants with and
//! without fused multiply–add at program start, and their last bits differ. These are the `libm`
//! crate's, in plain arithmetic. Addition, multiplication, division and the square root are exactly
//! rounded everywhere and need no replacement; so is `f64::mul_add`.
//!
//! Core crates call no other elementary functions, and no nalgebra function that does; rotations by
//! angles are therefore defined here as well.

use crate::{Quat, Vec3};
use nalgebra::{Quaternion, Unit};

/// sin x.
pub fn sin(x: f64) -> f64 {
    libm::sin(x)
}

/// cos x.
pub fn cos(x: f64) -> f64 {
    libm::cos(x)
}

/// (sin x, cos x).
pub fn sin_cos(x: f64) -> (f64, f64) {
    libm::sincos(x)
}

/// tan x.
pub fn tan(x: f64) -> f64 {
    libm::tan(x)
}

/// The angle in [0, π] whose cosine is x.
pub fn acos(x: f64) -> f64 {
    libm::acos(x)
}

/// The angle in [−π, π] of the point (x, y).
pub fn atan2(y: f64, x: f64) -> f64 {
    libm::atan2(y, x)
}

/// eˣ.
pub fn exp(x: f64) -> f64 {
    libm::exp(x)
}

/// The natural logarithm.
pub fn ln(x: f64) -> f64 {
    libm::log(x)
}

/// ln(1 + x), exact for small x.
pub fn ln_1p(x: f64) -> f64 {
    libm::log1p(x)
}

/// xʸ.
pub fn pow(x: f64, y: f64) -> f64 {
    libm::pow(x, y)
}

/// The cube root.
pub fn cbrt(x: f64) -> f64 {
    libm::cbrt(x)
}

/// √(x² + y²) without overflow.
pub fn hypot(x: f64, y: f64) -> f64 {
    libm::hypot(x, y)
}

/// The angle in [0, π] between two vectors; 0 if one of them is zero.
pub fn angle_between(u: &Vec3, v: &Vec3) -> f64 {
    let lengths = u.norm() * v.norm();
    match lengths == 0.0 {
        true => 0.0,
        false => acos((u.dot(v) / lengths).clamp(-1.0, 1.0)),
    }
}

/// The rotation by |φ| [rad] about φ.
pub fn rotation(phi: &Vec3) -> Quat {
    let half = phi * 0.5;
    let squared = half.norm_squared();
    if squared <= f64::EPSILON * f64::EPSILON {
        return Quat::identity();
    }
    let angle = squared.sqrt();
    let (sin, cos) = sin_cos(angle);
    Quat::new_unchecked(Quaternion::from_parts(cos, half * (sin / angle)))
}

/// The rotation by an angle [rad] about an axis.
pub fn rotation_about(axis: &Unit<Vec3>, angle: f64) -> Quat {
    let (sin, cos) = sin_cos(0.5 * angle);
    Quat::new_unchecked(Quaternion::from_parts(cos, axis.as_ref() * sin))
}

/// The angle of a rotation, in [0, π].
pub fn rotation_angle(q: &Quat) -> f64 {
    2.0 * atan2(q.imag().norm(), q.w.abs())
}

/// The inverse of [`rotation`]: axis times angle, the angle in [0, π].
pub fn rotation_vector(q: &Quat) -> Vec3 {
    match q.axis() {
        Some(axis) => axis.into_inner() * rotation_angle(q),
        None => Vec3::zeros(),
    }
}

/// The shortest rotation from the direction of `u` to that of `v`; none if they are opposite, the
/// identity if one is zero.
pub fn rotation_between(u: &Vec3, v: &Vec3) -> Option<Quat> {
    let Some((a, b)) = Unit::try_new(*u, 0.0).zip(Unit::try_new(*v, 0.0)) else {
        return Some(Quat::identity());
    };
    let cosine = a.dot(&b);
    // Rounding may leave a cross product of opposite directions.
    match Unit::try_new(a.cross(&b), f64::EPSILON) {
        _ if cosine <= -1.0 => None,
        Some(axis) => Some(rotation_about(&axis, acos(cosine.min(1.0)))),
        None if cosine < 0.0 => None,
        None => Some(Quat::identity()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn vector() -> impl Strategy<Value = Vec3> {
        let part = || prop_oneof![-4.0..4.0f64, -1e-9..1e-9f64, Just(0.0)];
        (part(), part(), part()).prop_map(|(x, y, z)| Vec3::new(x, y, z))
    }

    proptest! {
        #[test]
        fn they_agree_with_the_system(x in -50.0..50.0f64, y in -3.0..3.0f64) {
            let near = |a: f64, b: f64| (a - b).abs() <= 4.0 * f64::EPSILON * a.abs().max(b.abs());
            prop_assert!(near(sin(x), x.sin()) && near(cos(x), x.cos()));
            prop_assert_eq!(sin_cos(x), (sin(x), cos(x)));
            prop_assert!(near(tan(x), x.tan()) && near(atan2(x, y), x.atan2(y)));
            prop_assert!(near(exp(x), x.exp()) && near(cbrt(x), x.cbrt()));
            prop_assert!(near(ln(x.abs()), x.abs().ln()) && near(ln_1p(x.abs()), x.abs().ln_1p()));
            prop_assert!(near(acos(y / 3.0), (y / 3.0).acos()) && near(hypot(x, y), x.hypot(y)));
            prop_assert!(near(pow(x.abs(), y), x.abs().powf(y)));
        }

        #[test]
        fn rotations_agree_with_those_of_nalgebra(u in vector(), v in vector()) {
            let close = |a: &Quat, b: &Quat| (a.coords - b.coords).norm() < 1e-15;
            prop_assert!(close(&rotation(&u), &Quat::from_scaled_axis(u)));
            prop_assert!((rotation_angle(&rotation(&u)) - rotation(&u).angle()).abs() < 1e-15);
            prop_assert!((rotation_vector(&rotation(&u)) - rotation(&u).scaled_axis()).norm() < 1e-14);
            prop_assert!((angle_between(&u, &v) - u.angle(&v)).abs() < 1e-15);
            if let Some(axis) = Unit::try_new(u, 1e-6) {
                let expected = Quat::from_axis_angle(&axis, v.x);
                prop_assert!(close(&rotation_about(&axis, v.x), &expected));
            }
            match (rotation_between(&u, &v), Quat::rotation_between(&u, &v)) {
                (Some(a), Some(b)) => prop_assert!(close(&a, &b), "{a} {b}"),
                (a, b) => prop_assert_eq!(a, b),
            }
        }
    }
}
