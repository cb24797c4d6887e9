//! Adaptive stiffness of the barrier in [`Integrator::TrapezoidalIpc`], after [li2020] and its released
//! program.
//!
//! There the barrier is b(s) = −(s − ŝ)² ln(s/ŝ) of the squared distance s, and κ b is added to ½ ‖x − x̃‖²_M
//! without the weight β h² of elasticity. Here forces have that weight, and the barrier is one of the
//! distance d itself, −(d − δ)² ln(d/δ), of which the former is 8 δ² times as much near d = δ. So κ of the
//! paper is 8 δ² κ/(β h²) here [N/m].
//!
//! [`Integrator::TrapezoidalIpc`]: crate::integrators::Integrator::TrapezoidalIpc

use stiction_bodies::{Model, State};
use stiction_math::{Vec3, elementary};

use crate::probe::extent;

/// Relative distance below which a pair that comes closer doubles κ, in sizes of the model [li2020].
pub(super) const CLOSE: f64 = 1e-9;
/// β of the scheme.
const BETA: f64 = 0.25;

/// The range of κ [N/m] and the closest distance so far [m] in a step.
#[derive(Clone, Copy, Debug)]
pub(super) struct BarrierLimits {
    least: f64,
    most: f64,
    close: f64,
    gap: f64,
}

impl BarrierLimits {
    /// κ_min = 1e11 m/(4 s b″(s)) at s = (1e-8 l)² and κ_max = 100 κ_min [li2020], for the mean mass `mass` of
    /// a contact point [kg], the diagonal l of the model [m], δ [m] and steps of `h` [s].
    pub fn new(mass: f64, diagonal: f64, delta: f64, h: f64) -> Self {
        let (s, end) = (1e-16 * diagonal * diagonal, delta * delta);
        let beyond = (s - end) / s;
        let second = -2.0 * elementary::ln(s / end) - 4.0 * beyond + beyond * beyond;
        let paper = 1e11 * mass / (4.0 * s * second);
        let least = paper * 8.0 * end / (BETA * h * h);
        Self {
            least,
            most: 100.0 * least,
            close: CLOSE * diagonal,
            gap: f64::INFINITY,
        }
    }

    /// `kappa` within the limits.
    pub fn clamp(&self, kappa: f64) -> f64 {
        kappa.max(self.least).min(self.most)
    }

    /// Forgets distances.
    pub fn start(&mut self) {
        self.gap = f64::INFINITY;
    }

    /// κ after an iteration that ended with the smallest distance `gap` [m].
    pub fn next(&mut self, kappa: f64, gap: f64) -> f64 {
        let closer = gap < self.close && gap < self.gap && self.gap < self.close;
        self.gap = gap;
        match closer {
            true => (2.0 * kappa).min(self.most).max(kappa),
            false => kappa,
        }
    }
}

/// The diagonal of the box around all bodies [m].
pub(super) fn diagonal(model: &Model, state: &State) -> f64 {
    let width = |axis: Vec3| {
        let ends = model.bodies.iter().map(|b| extent(b, state, &axis));
        let (lo, hi) = ends.fold((f64::INFINITY, f64::NEG_INFINITY), |all, one| {
            (all.0.min(one.0), all.1.max(one.1))
        });
        hi - lo
    };
    Vec3::new(width(Vec3::x()), width(Vec3::y()), width(Vec3::z())).norm()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// b″ ≈ (ŝ/s)² for s ≪ ŝ, so that κ_min ≈ 2.5e-6 m l²/δ⁴ in the units of the paper.
    #[test]
    fn the_least_stiffness_is_that_of_the_paper() {
        let (mass, l, delta, h) = (1e-3, 0.05, 5e-4, 0.01);
        let limits = BarrierLimits::new(mass, l, delta, h);
        let paper = 2.5e-6 * mass * l * l / delta.powi(4);
        let expected = paper * 8.0 * delta * delta / (0.25 * h * h);
        assert!((limits.clamp(0.0) / expected - 1.0).abs() < 1e-6);
        assert!((limits.clamp(1e30) / expected - 100.0).abs() < 1e-3);
    }

    #[test]
    fn stiffness_doubles_where_the_closest_pair_comes_closer() {
        let mut limits = BarrierLimits::new(1e-3, 0.05, 5e-4, 0.01);
        let kappa = limits.clamp(0.0);
        let close = CLOSE * 0.05;
        assert_eq!(limits.next(kappa, 2.0 * close), kappa);
        assert_eq!(limits.next(kappa, 0.9 * close), kappa);
        assert_eq!(limits.next(kappa, 0.8 * close), 2.0 * kappa);
        assert_eq!(limits.next(kappa, 0.85 * close), kappa);
    }
}
