//! One contact: the impulse that answers a velocity, and its derivative [alart1991].

use stiction_math::{Mat3, Vec3};

/// The constants of a contact.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AugmentedLaw {
    /// Unit normal.
    pub n: Vec3,
    /// Coefficient of friction μ [1].
    pub mu: f64,
    /// Velocity per impulse along the normal c [1/kg].
    pub compliance: f64,
    /// Impulse per velocity ρ [kg].
    pub rho: f64,
}

/// State of a contact.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    Open,
    Held,
    Slides,
}

/// The answer of a contact to a velocity.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ContactResponse {
    pub mode: Mode,
    /// The impulse r⁺ [N·s].
    pub impulse: Vec3,
    /// G = −∂r⁺/∂u [kg].
    pub stiffness: Mat3,
}

impl AugmentedLaw {
    /// The impulse after `r` [N·s] at the velocity `u` = B v + k [m/s]: see the module.
    pub fn answer(&self, r: &Vec3, u: &Vec3) -> ContactResponse {
        let (push, y) = self.trial(r, u);
        // Not a number is open, too: it must not spread.
        if push.is_nan() || push <= 0.0 {
            self.answer_as(Mode::Open, r, u)
        } else if self.mu > 0.0 && y.norm() <= self.mu * push {
            self.answer_as(Mode::Held, r, u)
        } else {
            self.answer_as(Mode::Slides, r, u)
        }
    }

    /// Response in the given mode; the impulse may then be outside the cone.
    pub fn answer_as(&self, mode: Mode, r: &Vec3, u: &Vec3) -> ContactResponse {
        let Self { n, mu, rho, .. } = *self;
        let (push, y) = self.trial(r, u);
        let normal = n * n.transpose();
        let tangent = Mat3::identity() - normal;
        let (impulse, stiffness) = match mode {
            Mode::Open => (Vec3::zeros(), Mat3::zeros()),
            Mode::Held => (n * push + y, normal * self.along() + tangent * rho),
            Mode::Slides => {
                let (size, limit) = (y.norm(), mu * push);
                // Without a direction to slide in there is no drag, and nothing to turn it.
                let (d, across) = match size > 0.0 {
                    true => (y / size, rho * limit / size),
                    false => (Vec3::zeros(), 0.0),
                };
                let turn = (tangent - d * d.transpose()) * across;
                let press = (n + d * mu) * n.transpose() * self.along();
                (n * push + d * limit, press + turn)
            }
        };
        ContactResponse {
            mode,
            impulse,
            stiffness,
        }
    }

    /// r⁺_N before it is cut at zero, from r⁺_N = r_N − ρ (u_N + c r⁺_N), and r_T − ρ u_T.
    fn trial(&self, r: &Vec3, u: &Vec3) -> (f64, Vec3) {
        let Self { n, rho, .. } = *self;
        let (r_n, u_n) = (r.dot(&n), u.dot(&n));
        let push = (r_n / rho - u_n) * self.along();
        (push, (r - n * r_n) - (u - n * u_n) * rho)
    }

    /// −∂r⁺_N/∂u_N.
    fn along(&self) -> f64 {
        self.rho / (1.0 + self.rho * self.compliance)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn law() -> AugmentedLaw {
        AugmentedLaw {
            n: Vec3::new(1.0, 2.0, -2.0) / 3.0,
            mu: 0.7,
            compliance: 0.3,
            rho: 2.5,
        }
    }

    #[test]
    fn the_stiffness_is_the_derivative_in_every_mode() {
        let law = law();
        let r = law.n * 2.0 + Vec3::new(2.0, -1.0, 0.0) * 0.2;
        let cases = [
            (law.n * 3.0, Mode::Open),
            (Vec3::new(0.1, 0.0, 0.05), Mode::Held),
            (Vec3::new(1.0, -2.0, 0.3), Mode::Slides),
        ];
        for (u, mode) in cases {
            let answer = law.answer(&r, &u);
            assert_eq!(answer.mode, mode);
            let e = 1e-6;
            for i in 0..3 {
                let step = Vec3::ith(i, e);
                let ahead = law.answer(&r, &(u + step)).impulse;
                let behind = law.answer(&r, &(u - step)).impulse;
                let difference = (behind - ahead) / (2.0 * e);
                let error = (difference - answer.stiffness.column(i)).norm();
                assert!(error < 1e-8, "{mode:?}, column {i}: {error:e}");
            }
        }
    }

    #[test]
    fn velocities_that_satisfy_the_law_are_their_own_solution() {
        let law = law();
        let t = Vec3::new(2.0, -1.0, 0.0) / 5.0f64.sqrt();
        let keeps = [
            // Lifts off; rests inside the cone; slides against the drag. With compliance.
            (law.n * 0.4 + t, Vec3::zeros()),
            (-law.n * 0.3 * 1.5, law.n * 1.5 + t * 0.5),
            (-law.n * 0.3 * 1.5 - t * 0.2, law.n * 1.5 + t * 1.5 * 0.7),
        ];
        for (u, r) in keeps {
            let answer = law.answer(&r, &u).impulse;
            assert!((answer - r).norm() < 1e-15, "{r:?} became {answer:?}");
        }
    }

    #[test]
    fn without_friction_nothing_pulls_along_the_surface() {
        let law = AugmentedLaw { mu: 0.0, ..law() };
        for u in [
            Vec3::zeros(),
            Vec3::new(0.3, 0.1, 0.0) - law.n,
            Vec3::repeat(f64::NAN),
        ] {
            let answer = law.answer(&law.n, &u);
            let across = answer.impulse - law.n * answer.impulse.dot(&law.n);
            assert!(across.norm() < 1e-15);
            assert!(answer.stiffness.iter().all(|x| x.is_finite()));
        }
    }
}
