//! The end of blended planes by distance.
//!
//! Next to a convex edge, and beyond the border of a sheet, the planes of faces go on, and the blended value ψ is less
//! than the distance D to the mesh, by a fraction of the size of the faces. What must not act farther away than δ takes
//! as its depth the smaller of δ − ψ and δ − D, smoothly:
//!
//! ```text
//! gap = δ − x Φ(y/x),    x = δ − ψ,    y = δ − D,
//! ```
//!
//! where Φ grows linearly from Φ(0) = 0 and ends as Φ(r) = 1 for r ≥ 1, twice continuously differentiable. So the gap is ψ
//! wherever planes are farther away than faces, in flat and in concave regions, where the gradient of a distance jumps;
//! it follows the distance in convex ones, where that is continuous; and it is never less than δ if D is not.
//! Φ depends on the ratio of the two depths alone, so that the transition is as wide as contacts are deep.

use stiction_math::Real;

/// A gap that ends by distance, and its derivatives.
#[derive(Clone, Copy, Debug)]
pub struct End<T> {
    /// The gap [m].
    pub gap: T,
    /// Its derivative by the value ψ of the planes.
    pub by_planes: T,
    /// Its derivative by the distance D.
    pub by_distance: T,
}

/// Ratio of depths up to which Φ is linear.
const LINEAR: f64 = 0.5;
/// Φ′ there, so that Φ(1) = 1: ∫ Φ′ over \[0, 1\] with a smooth step down between `LINEAR` and 1.
const SLOPE: f64 = 2.0 / (1.0 + LINEAR);
/// Depths that differ by less than this fraction are equal: Φ differs from one by its cube.
const SAME: f64 = 1e-6;

impl<T: Real> End<T> {
    /// The gap for the value `planes` < `delta` of blended planes and the signed distance `distance` [m]; none at
    /// `delta` and beyond.
    pub fn new(planes: T, distance: T, delta: f64) -> Option<Self> {
        let (x, y) = (-planes + delta, -distance + delta);
        if y.value() <= 0.0 {
            return None;
        }
        let one = T::constant(1.0);
        if !Self::is_felt(planes.value(), distance.value(), delta) {
            return Some(Self {
                gap: planes,
                by_planes: one,
                by_distance: T::constant(0.0),
            });
        }
        let r = y / x;
        let (value, slope) = if r.value() <= LINEAR {
            (r * SLOPE, T::constant(SLOPE))
        } else {
            // With t from 0 to 1: Φ′ = SLOPE (1 − t)² (1 + 2t).
            let width = 1.0 - LINEAR;
            let t = (r + (-LINEAR)) * (1.0 / width);
            let left = -t + 1.0;
            let cubed = t.squared() * t;
            let risen = t - cubed + cubed * t * 0.5;
            (
                (risen * width + LINEAR) * SLOPE,
                left.squared() * (t * 2.0 + 1.0) * SLOPE,
            )
        };
        Some(Self {
            gap: -(x * value) + delta,
            by_planes: value - r * slope,
            by_distance: slope,
        })
    }

    /// Whether the distance matters in addition to the planes.
    pub fn is_felt(planes: f64, distance: f64, delta: f64) -> bool {
        let (x, y) = (delta - planes, delta - distance);
        y < x * (1.0 - SAME)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use stiction_math::Dual;

    #[test]
    fn the_gap_ends_with_the_distance_and_is_that_of_planes_where_they_are_farther() {
        let delta = 1e-3;
        for planes in [-0.02, -1e-3, 0.0, 5e-4, 9.9e-4] {
            assert!(End::new(planes, delta, delta).is_none());
            assert!(End::new(planes, 2.0 * delta, delta).is_none());
            assert_eq!(End::new(planes, planes, delta).unwrap().gap, planes);
            assert_eq!(End::new(planes, planes - 1e-4, delta).unwrap().gap, planes);
            // Never deeper than the planes, nor than by a third more than the distance.
            for i in 1..100 {
                let y = (delta - planes) * f64::from(i) / 100.0;
                let depth = delta - End::new(planes, delta - y, delta).unwrap().gap;
                assert!(depth > y * (1.0 - 1e-12) && depth <= SLOPE * y * (1.0 + 1e-12));
                assert!(depth <= (delta - planes) * (1.0 + 1e-12));
            }
        }
    }

    #[test]
    fn derivatives_are_those_of_the_gap_and_continuous() {
        let delta = 1e-3;
        let mut before: Option<End<f64>> = None;
        for i in 1..=4000 {
            let (planes, distance) = (-1e-3, delta - 2.2e-3 * f64::from(i) / 4000.0);
            let seed = |x: f64, k: usize| {
                let mut y = Dual::<2>::constant(x);
                y.d[k] = 1.0;
                y
            };
            let found = End::new(seed(planes, 0), seed(distance, 1), delta).unwrap();
            for (slope, d) in [found.by_planes, found.by_distance].iter().zip(found.gap.d) {
                assert!((slope.re - d).abs() < 1e-12);
            }
            let now = End::new(planes, distance, delta).unwrap();
            if let Some(last) = before {
                // Φ″ < 4 and r changes by 2.8e-4 from one to the next.
                assert!((now.by_planes - last.by_planes).abs() < 2e-3);
                assert!((now.by_distance - last.by_distance).abs() < 2e-3);
            }
            before = Some(now);
        }
    }
}
