//! Rigid bodies: inertia, the implicit gyroscopic term and the exponential update.

use stiction_math::elementary;
use stiction_math::elementary::sin;
use stiction_math::{Mat3, Quat, Vec3};

/// A rigid body: two 3-blocks, the velocity of its centre of mass and its angular velocity.
#[derive(Clone, Debug, PartialEq)]
pub struct Rigid {
    /// Its index in `State::rotations`.
    pub index: usize,
    /// Mass [kg].
    pub mass: f64,
    /// Inertia about the centre of mass in the body's frame [kg·m²].
    pub inertia: Mat3,
}

impl Rigid {
    /// R J Rᵀ, the inertia in the world frame [kg·m²].
    pub fn world_inertia(&self, rotation: &Quat) -> Mat3 {
        let r = rotation.to_rotation_matrix();
        r.matrix() * self.inertia * r.matrix().transpose()
    }

    /// The angular velocity [rad/s] after a step of `h` [s] without torque, from `omega`.
    ///
    /// With R⁺ = exp(h ω⁺) R, the angular momentum at the end of the step is
    /// R⁺ J R⁺ᵀ ω⁺ = exp(h ω⁺) I ω⁺, where I = R J Rᵀ is the inertia at its start, because a
    /// rotation about ω⁺ leaves ω⁺ where it is. Setting this equal to I ω makes the gyroscopic
    /// term fully implicit and conserves angular momentum to rounding.
    pub fn free_spin(&self, rotation: &Quat, omega: &Vec3, h: f64) -> Vec3 {
        self.driven_spin(rotation, omega, &Vec3::zeros(), h)
    }

    /// Like [`free_spin`](Self::free_spin), with the angular `impulse` [N·m·s] of an external
    /// torque during the step.
    pub fn driven_spin(&self, rotation: &Quat, omega: &Vec3, impulse: &Vec3, h: f64) -> Vec3 {
        let momentum = self.world_inertia(rotation) * omega + impulse;
        self.spin_with(rotation, &momentum, omega, h)
    }

    /// The angular momentum exp(h ω) I ω [N·m·s] at the end of a step of `h` [s] with the angular
    /// velocity `omega`, from the orientation at its start.
    pub fn end_momentum(&self, rotation: &Quat, omega: &Vec3, h: f64) -> Vec3 {
        elementary::rotation(&(omega * h)) * (self.world_inertia(rotation) * omega)
    }

    /// The angular velocity [rad/s] whose [`end_momentum`](Self::end_momentum) is `momentum`, close to
    /// `guess`.
    pub fn spin_with(&self, rotation: &Quat, momentum: &Vec3, guess: &Vec3, h: f64) -> Vec3 {
        let inertia = self.world_inertia(rotation);
        let tolerance = 1e-15 * momentum.norm();
        let mut w = *guess;
        let mut best = (f64::INFINITY, w);
        // Newton on g(w) = I w − exp(−h w) L. Quadratic from a close guess unless the body turns by more
        // than about a radian per step; 20 iterations bound the work there.
        for _ in 0..20 {
            let turned = elementary::rotation(&(-w * h)) * momentum;
            let g = inertia * w - turned;
            let size = g.norm();
            if size < best.0 {
                best = (size, w);
            }
            if size <= tolerance {
                break;
            }
            // d(exp(−h w) L) = h [exp(−h w) L]× J(−h w) dw with J the left Jacobian.
            let jacobian = inertia - turned.cross_matrix() * left_jacobian(&(-w * h)) * h;
            let Some(inverse) = jacobian.try_inverse() else {
                break;
            };
            w -= inverse * g;
        }
        best.1
    }
}

/// The left Jacobian of the rotation group: exp((φ + dφ)×) ≈ exp((J(φ) dφ)×) exp(φ×).
pub fn left_jacobian(phi: &Vec3) -> Mat3 {
    let angle2 = phi.norm_squared();
    let k = phi.cross_matrix();
    let (a, b) = if angle2 < 1e-8 {
        (0.5 - angle2 / 24.0, 1.0 / 6.0 - angle2 / 120.0)
    } else {
        let angle = angle2.sqrt();
        let half = sin(0.5 * angle);
        // 1 − cos by the half angle: no cancellation.
        (
            2.0 * half * half / angle2,
            (angle - sin(angle)) / (angle2 * angle),
        )
    };
    Mat3::identity() + k * a + k * k * b
}

/// exp(h ω) R, normalised.
pub fn advance_rotation(rotation: &Quat, omega: &Vec3, h: f64) -> Quat {
    let mut next = elementary::rotation(&(omega * h)) * rotation;
    next.renormalize();
    next
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tumbling() -> (Rigid, Quat, Vec3) {
        let body = Rigid {
            index: 0,
            mass: 1.0,
            inertia: Mat3::from_diagonal(&Vec3::new(1.0, 2.0, 3.5)),
        };
        (
            body,
            Quat::from_euler_angles(0.3, -0.4, 0.8),
            Vec3::new(0.1, 5.0, 0.2),
        )
    }

    #[test]
    fn a_tumbling_body_conserves_angular_momentum() {
        let (body, mut r, mut w) = tumbling();
        let start = body.world_inertia(&r) * w;
        for _ in 0..1000 {
            w = body.free_spin(&r, &w, 0.01);
            r = advance_rotation(&r, &w, 0.01);
        }
        let drift = (body.world_inertia(&r) * w - start).norm() / start.norm();
        assert!(drift < 1e-12, "drift {drift:e}");
    }

    #[test]
    fn the_spin_with_a_momentum_has_it_at_the_end_of_the_step() {
        let (body, r, w) = tumbling();
        let h = 0.01;
        let momentum = body.end_momentum(&r, &w, h) + Vec3::new(0.3, -0.2, 0.1);
        let spin = body.spin_with(&r, &momentum, &w, h);
        let end = advance_rotation(&r, &spin, h);
        let found = body.world_inertia(&end) * spin;
        assert!((found - momentum).norm() < 1e-14 * momentum.norm());
    }

    #[test]
    fn a_fast_spin_stays_finite_and_keeps_its_momentum() {
        let (body, mut r, _) = tumbling();
        let mut w = Vec3::new(80.0, 100.0, -60.0);
        let start = body.world_inertia(&r) * w;
        for _ in 0..100 {
            w = body.free_spin(&r, &w, 0.01);
            r = advance_rotation(&r, &w, 0.01);
        }
        assert!(w.iter().all(|c| c.is_finite()));
        assert!((body.world_inertia(&r) * w).norm() <= start.norm() * 2.0);
    }

    #[test]
    fn the_left_jacobian_matches_differences() {
        let eps = 1e-6;
        for phi in [
            Vec3::new(0.3, -0.2, 0.9),
            Vec3::new(1e-5, 0.0, 2e-5),
            Vec3::new(2.0, 1.0, -1.5),
        ] {
            let j = left_jacobian(&phi);
            for axis in 0..3 {
                let mut d = Vec3::zeros();
                d[axis] = eps;
                let plus = Quat::from_scaled_axis(phi + d);
                let minus = Quat::from_scaled_axis(phi - d);
                let rate = (plus * minus.inverse()).scaled_axis() / (2.0 * eps);
                assert!((rate - j.column(axis)).norm() < 1e-8, "{phi:?} axis {axis}");
            }
        }
    }
}
