//! The weight of a sample by its distance, and how weights become a value.

use stiction_math::{Real, Vector};

use super::{Blend, Jet};

/// Distance of the kernel from a pole at its centre: small numbers follow the faces closely, large
/// ones smooth over the whole support.
pub(super) const TOLERANCE: f64 = 0.1;

/// ∫ K dA over a plane, in units of R²: π ∫₀¹ K(s) ds. The sum of weights within a fine mesh.
pub(super) const FULL: f64 = 0.191_500_2;

/// Part of [`FULL`] below which the potential of an open sheet fades. At the sharpest corner of a
/// regular mesh, held by one face, the sum is 0.08 of it: the sheet itself is whole. Beyond a
/// straight border the plane goes on for about a third of an edge before it fades.
const THIN: f64 = 0.06;

/// K(s) = τ²(1 − s)³/(s + τ)² and its slope, for s = ‖q − c‖²/R² < 1; twice continuously
/// differentiable at s = 1, where it ends.
#[inline]
pub(super) fn kernel<T: Real>(s: T) -> (T, T) {
    let (u, p) = (-s + 1.0, s + TOLERANCE);
    let u2 = u.squared() * (TOLERANCE * TOLERANCE);
    let inverse = T::constant(1.0) / p;
    let inverse2 = inverse.squared();
    let value = u2 * u * inverse2;
    let slope = -(u2 * (p * 3.0 + u * 2.0) * inverse2 * inverse);
    (value, slope)
}

/// Sums over samples: weights, weighted planes, and the gradients of both by the query point.
#[derive(Clone, Copy)]
pub(super) struct Sums<T> {
    pub mass: T,
    pub moment: T,
    pub mass_gradient: Vector<T>,
    pub moment_gradient: Vector<T>,
}

/// ψ, its gradient, and what the derivatives by other variables need:
/// dψ = (dmoment − `tilt` dmass) · `scale`.
#[derive(Clone, Copy)]
pub(super) struct Blended<T> {
    pub jet: Jet<T>,
    pub tilt: T,
    pub scale: T,
}

impl<T: Real> Sums<T> {
    pub fn zero() -> Self {
        let zero = T::constant(0.0);
        Self {
            mass: zero,
            moment: zero,
            mass_gradient: Vector::zero(),
            moment_gradient: Vector::zero(),
        }
    }

    /// Adds the sample at the offset r = q − c with the area vector `a` (already with its side,
    /// share and 1/R²) and its length `area`. Returns the weight per area and its slope by r as a
    /// factor of r; none outside the support.
    #[inline]
    pub fn add(&mut self, r: &Vector<T>, a: &Vector<T>, area: T, radius: f64) -> Option<(T, T)> {
        let inverse = 1.0 / (radius * radius);
        let s = r.norm_squared() * inverse;
        if s.value() >= 1.0 {
            return None;
        }
        let (k, slope) = kernel(s);
        let slope = slope * (2.0 * inverse);
        let plane = a.dot(r);
        self.mass = self.mass + k * area;
        self.moment = self.moment + k * plane;
        self.mass_gradient += r.scale(slope * area);
        self.moment_gradient += r.scale(slope * plane) + a.scale(k);
        Some((k, slope))
    }

    /// The value; none if no sample has weight.
    pub fn blend(&self, blend: &Blend) -> Option<Blended<T>> {
        let mass = self.mass.value();
        if mass.is_nan() || mass <= f64::MIN_POSITIVE {
            return None;
        }
        let zero = T::constant(0.0);
        // The weight of the value `far`, and its slope by the mass.
        let thin = THIN * FULL;
        let (far, weight, slope) = match blend.far {
            Some(far) if self.mass.value() < thin => {
                let missing = -(self.mass * (1.0 / thin)) + 1.0;
                let square = missing.squared();
                (far, square * missing * thin, square * (-3.0))
            }
            _ => (0.0, zero, zero),
        };
        let scale = T::constant(1.0) / (self.mass + weight);
        let value = (self.moment + weight * far) * scale;
        let tilt = value - slope * (-value + far);
        let gradient = (self.moment_gradient - self.mass_gradient.scale(tilt)).scale(scale);
        Some(Blended {
            jet: Jet { value, gradient },
            tilt,
            scale,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use stiction_math::Dual;

    #[test]
    fn the_kernel_ends_smoothly_and_its_integral_is_known() {
        for s in [0.0, 0.01, 0.3, 0.7, 0.999] {
            let (k, slope) = kernel(s);
            let dual = kernel(Dual::<1>::new(s, [1.0])).0;
            assert!((dual.re - k).abs() < 1e-15 && (dual.d[0] - slope).abs() < 1e-12 * slope.abs());
        }
        assert!((kernel(0.0).0 - 1.0f64).abs() < 1e-15);
        let (k, slope) = kernel(1.0 - 1e-6);
        assert!(k < 1e-18 && slope.abs() < 1e-12);
        let n = 100_000;
        let sum: f64 = (0..n)
            .map(|i| kernel((f64::from(i) + 0.5) / f64::from(n)).0)
            .sum();
        let integral = std::f64::consts::PI * sum / f64::from(n);
        assert!((integral - FULL).abs() < 1e-6, "{integral}");
    }
}
