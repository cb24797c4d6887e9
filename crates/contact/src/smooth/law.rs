//! Forces as functions of the gap and of the velocity, for one contact.

use stiction_math::Real;

/// The energy of a gap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Penalty {
    /// b(x) = κ (δ − x)³/δ below δ, for gaps of either sign [larionov, Sect. III-B].
    Cubic,
    /// b(x) = −κ (x − δ)² ln(x/δ) between 0 and δ, infinite below [li2020]; steps must be limited
    /// so that gaps stay positive. The cubic is the first term of its series about δ.
    Barrier,
}

impl Penalty {
    /// b(x; δ, κ) [J] of the gap `x` [m].
    pub fn energy<T: Real>(self, x: T, delta: f64, kappa: f64) -> T {
        if x.value() >= delta {
            return T::constant(0.0);
        }
        let depth = -x + delta;
        match self {
            Self::Cubic => depth.squared() * depth * (kappa / delta),
            Self::Barrier if x.value() <= 0.0 => T::constant(f64::INFINITY),
            Self::Barrier => -(depth.squared() * (x * (1.0 / delta)).ln()) * kappa,
        }
    }

    /// λ = −b′(x) [N]: the normal force. A barrier has none where `x` is not positive: it is
    /// infinite there.
    pub fn force<T: Real>(self, x: T, delta: f64, kappa: f64) -> T {
        if x.value() >= delta {
            return T::constant(0.0);
        }
        let depth = -x + delta;
        match self {
            Self::Cubic => depth.squared() * (3.0 * kappa / delta),
            Self::Barrier if x.value() <= 0.0 => T::constant(f64::INFINITY),
            Self::Barrier => {
                let log = (x * (1.0 / delta)).ln();
                (depth.squared() / x - depth * log * 2.0) * kappa
            }
        }
    }

    /// b′(d)/b′(δ/2): by how much κ is raised for the penetration `d` < 0 [m], so that the force
    /// found there appears at half the tolerance [larionov, Sect. IV-D].
    pub fn bump(d: f64, delta: f64) -> f64 {
        let ratio = (delta - d) / (0.5 * delta);
        ratio * ratio
    }
}

/// Friction beyond Coulomb's law [larionov, Eq. 8]. Static and dynamic coefficients are
/// those of the table of laws.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Stribeck {
    /// The Stribeck velocity v_s [m/s], over which static friction decays into dynamic. Ten times ε
    /// suits dry friction.
    pub speed: f64,
    /// The viscous coefficient μ_v of one contact [N·s/m].
    pub viscous: f64,
}

impl Default for Stribeck {
    /// None of it.
    fn default() -> Self {
        Self {
            speed: 1e-3,
            viscous: 0.0,
        }
    }
}

/// The friction law of one pair of materials.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SmoothFriction {
    /// Dynamic coefficient μ_d [1].
    pub dynamic: f64,
    /// Static coefficient μ_s [1].
    pub stat: f64,
    /// Viscous coefficient μ_v [N·s/m].
    pub viscous: f64,
    /// Stribeck velocity v_s [m/s].
    pub speed: f64,
    /// The smoothing ε [m/s].
    pub epsilon: f64,
}

impl SmoothFriction {
    /// c(v, λ)/v [N·s/m] for the sliding speed `v` [m/s] and the normal force `lambda` [N]
    /// [larionov, Eq. 8]. The friction force is −(c/v) times the sliding velocity, which has no
    /// singularity at rest: s(v)/v = 2/ε − v/ε² there.
    pub fn drag<T: Real>(&self, v: T, lambda: T) -> T {
        let s_over_v = if v.value() < self.epsilon {
            let e = 1.0 / self.epsilon;
            v * (-e * e) + 2.0 * e
        } else {
            T::constant(1.0) / v
        };
        self.coefficient(v) * s_over_v * lambda + self.viscous
    }

    /// μ_d + (μ_s − μ_d) g(v/v_s) [1]: the coefficient of friction at the sliding speed `v` [m/s],
    /// with g(x) = (2x + 1)(x − 1)² below 1.
    pub fn coefficient<T: Real>(&self, v: T) -> T {
        let x = v * (1.0 / self.speed);
        if x.value() >= 1.0 {
            return T::constant(self.dynamic);
        }
        let bell = (x * 2.0 + 1.0) * (x + (-1.0)).squared();
        bell * (self.stat - self.dynamic) + self.dynamic
    }
}

/// The pre-sliding transition s(v; ε) of [larionov, Eq. 7] for v ≥ 0.
pub fn transition(v: f64, epsilon: f64) -> f64 {
    if v < epsilon {
        let x = v / epsilon;
        x * (2.0 - x)
    } else {
        1.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use stiction_math::Dual;

    #[test]
    fn forces_are_slopes_of_energies_and_vanish_at_delta() {
        let (delta, kappa) = (0.01, 300.0);
        for penalty in [Penalty::Cubic, Penalty::Barrier] {
            for x in [1e-4, 0.002, 0.005, 0.0099] {
                let slope = penalty.energy(Dual::<1>::new(x, [1.0]), delta, kappa);
                let force = penalty.force(x, delta, kappa);
                assert!(
                    (slope.d[0] + force).abs() < 1e-12 * force,
                    "{penalty:?} {x}"
                );
                assert!(force > 0.0);
            }
            assert_eq!(penalty.energy(delta, delta, kappa), 0.0);
            assert_eq!(penalty.force(2.0 * delta, delta, kappa), 0.0);
        }
        // The cubic goes on below zero: −3κ(δ − x)²/δ.
        let force = Penalty::Cubic.force(-0.005, delta, kappa);
        assert!((force - 3.0 * kappa * 0.015 * 0.015 / delta).abs() < 1e-12);
        assert_eq!(Penalty::Barrier.energy(0.0, delta, kappa), f64::INFINITY);
        // Near δ the barrier is the cubic.
        let x = delta * (1.0 - 1e-4);
        let ratio =
            Penalty::Barrier.energy(x, delta, kappa) / Penalty::Cubic.energy(x, delta, kappa);
        assert!((ratio - 1.0).abs() < 1e-3);
    }

    #[test]
    fn the_bump_moves_the_force_to_half_the_tolerance() {
        let (delta, kappa, d) = (0.01, 300.0, -0.004);
        let raised = kappa * Penalty::bump(d, delta);
        let before = Penalty::Cubic.force(d, delta, kappa);
        let after = Penalty::Cubic.force(0.5 * delta, delta, raised);
        assert!((before / after - 1.0).abs() < 1e-14);
    }

    #[test]
    fn the_friction_curve_is_that_of_the_paper() {
        let law = SmoothFriction {
            dynamic: 0.5,
            stat: 0.8,
            viscous: 3.0,
            speed: 1e-2,
            epsilon: 1e-3,
        };
        let lambda = 7.0;
        for v in [1e-9, 1e-4, 9e-4, 1e-3, 4e-3, 1e-2, 0.3] {
            let bell = if v < law.speed {
                let x: f64 = v / law.speed;
                (2.0 * x + 1.0) * (x - 1.0) * (x - 1.0)
            } else {
                0.0
            };
            let mu = 0.5 + 0.3 * bell;
            let c = mu * transition(v, law.epsilon) * lambda + 3.0 * v;
            assert!((law.drag(v, lambda) * v / c - 1.0).abs() < 1e-12, "{v}");
        }
        let at_rest = law.drag(Dual::<1>::new(0.0, [1.0]), Dual::constant(lambda));
        assert!((at_rest.re - (0.8 * 2.0 / 1e-3 * lambda + 3.0)).abs() < 1e-9);
        assert!(at_rest.d[0].is_finite());
    }
}
