//! The response of one contact in a proximal round: the convex form of Coulomb's law.
//!
//! With the slip s = ‖u_T‖ given, the laws of Signorini and Coulomb are those of a convex problem
//! [acary2011]: K_μ ∋ r ⊥ u + μ s n + c r_N n ∈ K_μ*. From impulses r⁰ a contact answers velocities u with
//!
//! ```text
//! r⁺ = argmin over K_μ of  ‖r − r⁰‖²/2ρ + c r_N²/2 + r·(u + μ s n)
//! ```
//!
//! which is a projection to a cone once the normal is measured with 1/ρ + c and the tangent with 1/ρ.
//! Minus the derivative of r⁺ by u is symmetric and positive semi-definite: the row of a sliding contact
//! is n + μ d, where the row n of the paper leaves friction behind the normal force.

use stiction_math::{Mat3, Vec3};

/// The law of one contact in a round.
#[derive(Clone, Copy, Debug)]
pub(super) struct ProximalCone {
    pub n: Vec3,
    pub mu: f64,
    /// Compliance along the normal [1/kg].
    pub compliance: f64,
    /// ρ [kg].
    pub rho: f64,
    /// The given slip s [m/s].
    pub slip: f64,
}

impl ProximalCone {
    /// r⁺ [N·s] and −∂r⁺/∂u [kg] for impulses `r` at the start of the round and the velocity `u`.
    pub fn answer(&self, r: &Vec3, u: &Vec3) -> (Vec3, Mat3) {
        let Self { n, rho, .. } = *self;
        let shifted = r / rho - u - n * (self.mu * self.slip);
        // D x = D² r⁺ inside the cone.
        let normal = 1.0 / (1.0 / rho + self.compliance).sqrt();
        let tangent = rho.sqrt();
        let mu = self.mu * normal / tangent;
        let x_n = shifted.dot(&n);
        let x_t = (shifted - n * x_n) * tangent;
        let (x_n, t) = (x_n * normal, x_t.norm());
        let identity = Mat3::identity() - n * n.transpose();
        if t <= mu * x_n {
            let r = n * (x_n * normal) + x_t * tangent;
            let g = n * n.transpose() * (normal * normal) + identity * (tangent * tangent);
            return (r, g);
        }
        let along = (x_n + mu * t) / (1.0 + mu * mu);
        // Also where a number is not finite.
        if along.is_nan() || along <= 0.0 {
            return (Vec3::zeros(), Mat3::zeros());
        }
        if mu == 0.0 || t == 0.0 {
            let row = n * normal;
            return (row * along, row * row.transpose());
        }
        let d = x_t / t;
        let row = n * normal + d * (mu * tangent);
        let turn = (identity - d * d.transpose()) * (mu * along / t * tangent * tangent);
        let g = row * row.transpose() / (1.0 + mu * mu) + turn;
        (row * along, g)
    }
}

#[cfg(test)]
mod tests {
    use stiction_contact::coulomb_residual;

    use super::*;

    fn law() -> ProximalCone {
        ProximalCone {
            n: Vec3::new(1.0, 2.0, -2.0) / 3.0,
            mu: 0.7,
            compliance: 0.3,
            rho: 2.5,
            slip: 0.2,
        }
    }

    #[test]
    fn the_matrix_is_the_symmetric_derivative_in_every_state() {
        let law = law();
        let r = law.n * 2.0 + Vec3::new(2.0, -1.0, 0.0) * 0.2;
        for u in [
            law.n * 3.0,
            Vec3::new(0.1, 0.0, 0.05),
            Vec3::new(1.0, -2.0, 0.3),
        ] {
            let (_, g) = law.answer(&r, &u);
            assert!((g - g.transpose()).norm() < 1e-14);
            let e = 1e-6;
            for i in 0..3 {
                let step = Vec3::ith(i, e);
                let (ahead, _) = law.answer(&r, &(u + step));
                let (behind, _) = law.answer(&r, &(u - step));
                let difference = (behind - ahead) / (2.0 * e);
                let error = (difference - g.column(i)).norm();
                assert!(error < 1e-8, "column {i}: {error:e}");
            }
        }
    }

    #[test]
    fn states_that_satisfy_the_laws_are_fixed_points() {
        let law = law();
        let t = Vec3::new(2.0, -1.0, 0.0) / 5.0f64.sqrt();
        for (u, r) in [
            (law.n * 0.4 + t, Vec3::zeros()),
            (-law.n * 0.3 * 1.5, law.n * 1.5 + t * 0.5),
            (-law.n * 0.3 * 1.5 - t * 0.2, law.n * 1.5 + t * 1.5 * 0.7),
        ] {
            let slack = law.n * (law.compliance * r.dot(&law.n));
            assert!(coulomb_residual(&(u + slack), &r, &law.n, law.mu, 1.0) < 1e-15);
            let slip = (u - law.n * u.dot(&law.n)).norm();
            let (answer, _) = ProximalCone { slip, ..law }.answer(&r, &u);
            assert!((answer - r).norm() < 1e-14, "{r:?} became {answer:?}");
        }
    }
}
