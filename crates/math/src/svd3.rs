//! Singular values and polar rotation of a 3×3 matrix, with proper rotations on both sides.
//!
//! The kernel is one-sided Jacobi with the larger column of each pair moved to the front. It works
//! on the columns of F and never forms FᵀF, so that small singular values keep full relative
//! accuracy, and repeated or zero values need no special treatment.

use crate::{Mat3, Vec3};

/// F = u · diag(sigma) · vᵀ with rotations u and v (determinant +1).
///
/// σ₀ ≥ σ₁ ≥ |σ₂|, and σ₂ carries the sign of det F: an inverted element has σ₂ < 0.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Svd3 {
    /// Left rotation.
    pub u: Mat3,
    /// Singular values, the last one signed.
    pub sigma: Vec3,
    /// Right rotation.
    pub v: Mat3,
}

/// Signed singular value decomposition of `f`, see [`Svd3`].
///
/// Supports any finite matrix: zero, rank-deficient, with repeated singular values, subnormal or
/// near overflow. If an entry is not finite, the singular values are NaN and the rotations the
/// identity.
pub fn svd3(f: &Mat3) -> Svd3 {
    let largest = f.amax();
    if largest == 0.0 || !f.iter().all(|x| x.is_finite()) {
        let value = if largest == 0.0 { 0.0 } else { f64::NAN };
        return Svd3 {
            u: Mat3::identity(),
            sigma: Vec3::repeat(value),
            v: Mat3::identity(),
        };
    }
    // Products of four entries must neither overflow nor vanish. Powers of two scale without
    // rounding; the exponent is clamped so that the inverse is a number too.
    let exponent = (largest.to_bits() >> 52).clamp(23, 2023);
    let scale = f64::from_bits((2046 - exponent) << 52);
    let unscale = f64::from_bits(exponent << 52);
    let mut svd = svd3_scaled(&(f * scale));
    svd.sigma *= unscale;
    svd
}

/// The rotation closest to `f` in the Frobenius norm (determinant +1, also for det F < 0).
pub fn polar3(f: &Mat3) -> Mat3 {
    let svd = svd3(f);
    svd.u * svd.v.transpose()
}

/// Quadratic convergence needs three or four sweeps; the cap only guards against cycling on the
/// last bit.
const MAX_SWEEPS: usize = 16;

type Columns = [[f64; 3]; 3];

fn svd3_scaled(f: &Mat3) -> Svd3 {
    let mut a: Columns = (*f).into();
    let mut v: Columns = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]];
    for _ in 0..MAX_SWEEPS {
        let unfinished = orthogonalise::<0, 1>(&mut a, &mut v)
            | orthogonalise::<0, 2>(&mut a, &mut v)
            | orthogonalise::<1, 2>(&mut a, &mut v);
        if !unfinished {
            break;
        }
    }

    let [a0, a1, a2] = a;
    let s0 = dot(&a0, &a0).sqrt();
    let u0 = scaled(&a0, 1.0 / s0);
    let (u1, s1) = second_direction(&u0, &a1, s0);
    let u2 = cross(&u0, &u1);
    let s2 = dot(&u2, &a2);
    // Equal singular values may come out in the wrong order by one rounding.
    let s1 = s1.min(s0);
    let s2 = s2.clamp(-s1, s1);
    Svd3 {
        u: [u0, u1, u2].into(),
        sigma: Vec3::new(s0, s1, s2),
        v: v.into(),
    }
}

/// Rotates columns P and Q of `a` (and of `v`) so that they are orthogonal and the longer one
/// stands at P. Returns whether another sweep is needed.
#[inline(always)]
fn orthogonalise<const P: usize, const Q: usize>(a: &mut Columns, v: &mut Columns) -> bool {
    // Relative orthogonality, and an absolute floor where products would underflow.
    const TOLERANCE: f64 = 2.0 * f64::EPSILON;
    const FLOOR: f64 = 1e-290;
    let pp = dot(&a[P], &a[P]);
    let qq = dot(&a[Q], &a[Q]);
    let pq = dot(&a[P], &a[Q]);
    if pq * pq <= (TOLERANCE * TOLERANCE) * (pp * qq) + FLOOR {
        if pp < qq {
            rotate::<P, Q>(a, 0.0, 1.0);
            rotate::<P, Q>(v, 0.0, 1.0);
        }
        return false;
    }
    let d = (pp - qq).abs();
    let w = 2.0 * pq.abs();
    let (large, small) = half_angle_rotation(d, w);
    // θ lies in (−π/4, π/4) if p is the longer column and beyond otherwise.
    let swap = pp < qq;
    let c = if swap { small } else { large };
    let s = if swap { large } else { small }.copysign(pq);
    rotate::<P, Q>(a, c, s);
    rotate::<P, Q>(v, c, s);
    // Angles below 1e-8 leave products of angles, which is below rounding: no further sweep.
    const SMALL: f64 = 1e-8;
    w > SMALL * d || pq * pq > (SMALL * SMALL) * (pp * qq)
}

/// Nearly (cos θ, sin θ) with tan 2θ = w / d, for d, w ≥ 0 not both zero.
///
/// The pair is an exact rotation, by an angle within 0.02 and O(θ³) of the wanted one, so the
/// sweeps converge as fast as with the exact angle; but it costs one division instead of two
/// square roots and a division: tan θ/2 is taken as a rational function of w / d that is right at
/// both ends.
#[inline(always)]
fn half_angle_rotation(d: f64, w: f64) -> (f64, f64) {
    const COT_PI_8: f64 = 2.414_213_562_373_095;
    let sh = w * (d + w);
    let ch = 4.0 * d * (d + w) + COT_PI_8 * (w * w);
    let (ch2, sh2) = (ch * ch, sh * sh);
    let sum = ch2 + sh2;
    if sum > 1e-280 {
        let inverse = 1.0 / sum;
        return ((ch2 - sh2) * inverse, 2.0 * ch * sh * inverse);
    }
    let x = d + (d * d + w * w).sqrt();
    let inverse = 1.0 / (x * x + w * w).sqrt();
    (x * inverse, w * inverse)
}

/// (p, q) ← (c p + s q, c q − s p).
#[inline(always)]
fn rotate<const P: usize, const Q: usize>(m: &mut Columns, c: f64, s: f64) {
    for i in 0..3 {
        let (p, q) = (m[P][i], m[Q][i]);
        m[P][i] = c * p + s * q;
        m[Q][i] = c * q - s * p;
    }
}

/// A unit vector orthogonal to the unit vector `u0`, along `a1` where `a1` has a direction, and
/// the length of `a1` along it.
#[inline(always)]
fn second_direction(u0: &[f64; 3], a1: &[f64; 3], s0: f64) -> ([f64; 3], f64) {
    let w = minus_projection(a1, u0);
    let s1 = dot(&w, &w).sqrt();
    if s1 > 1e-140 * s0 {
        let u1 = scaled(&w, 1.0 / s1);
        if s1 > 1e-7 * s0 {
            return (u1, s1);
        }
        // A column at rounding level of the first may still lean on it: project once more.
        let w = minus_projection(&u1, u0);
        let length = dot(&w, &w).sqrt();
        if length > 0.5 {
            return (scaled(&w, 1.0 / length), s1);
        }
    }
    let smallest = (0..3).fold(0, |m, i| if u0[i].abs() < u0[m].abs() { i } else { m });
    let mut axis = [0.0; 3];
    axis[smallest] = 1.0;
    let w = minus_projection(&axis, u0);
    let u1 = scaled(&w, 1.0 / dot(&w, &w).sqrt());
    (u1, dot(&u1, a1).abs())
}

#[inline(always)]
fn minus_projection(a: &[f64; 3], u: &[f64; 3]) -> [f64; 3] {
    let along = dot(a, u);
    [
        a[0] - along * u[0],
        a[1] - along * u[1],
        a[2] - along * u[2],
    ]
}

#[inline(always)]
fn dot(a: &[f64; 3], b: &[f64; 3]) -> f64 {
    a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
}

#[inline(always)]
fn scaled(a: &[f64; 3], s: f64) -> [f64; 3] {
    [a[0] * s, a[1] * s, a[2] * s]
}

#[inline(always)]
fn cross(a: &[f64; 3], b: &[f64; 3]) -> [f64; 3] {
    [
        a[1] * b[2] - a[2] * b[1],
        a[2] * b[0] - a[0] * b[2],
        a[0] * b[1] - a[1] * b[0],
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn check(f: &Mat3) {
        let Svd3 { u, sigma, v } = svd3(f);
        let scale = f.amax();
        let unit = if scale > 0.0 { scale } else { 1.0 };
        for (name, m) in [("u", &u), ("v", &v)] {
            let error = (m.transpose() * m - Mat3::identity()).amax();
            assert!(
                error < 1e-14,
                "{name} of {f} is off orthogonal by {error:e}"
            );
            assert!((m.determinant() - 1.0).abs() < 1e-14, "det {name} of {f}");
        }
        let error = (u * Mat3::from_diagonal(&(sigma / unit)) * v.transpose() - f / unit).norm();
        let size = (f / unit).norm();
        assert!(error <= 1e-14 * size, "backward error {error:e} for {f}");
        assert!(
            sigma[0] >= sigma[1] && sigma[1] >= sigma[2].abs(),
            "{sigma}"
        );
    }

    fn matrix() -> impl Strategy<Value = Mat3> {
        prop::array::uniform9(-1.0..1.0f64).prop_map(|a| Mat3::from_column_slice(&a))
    }

    fn rotation() -> impl Strategy<Value = Mat3> {
        prop::array::uniform4(-1.0..1.0f64).prop_filter_map("too short", |q| {
            let q = nalgebra::Quaternion::from(nalgebra::Vector4::from(q));
            (q.norm() > 0.1).then(|| crate::Quat::from_quaternion(q).to_rotation_matrix().into())
        })
    }

    proptest! {
        #[test]
        fn reconstructs_random_matrices(f in matrix(), exponent in -150i32..=150) {
            check(&f);
            check(&(f * 10f64.powi(exponent)));
        }

        #[test]
        fn reconstructs_prescribed_spectra(
            u in rotation(), v in rotation(),
            pick in prop::array::uniform3(0usize..7),
        ) {
            const VALUES: [f64; 7] = [1.0, 1.0 + 1e-15, 1.0 + 1e-8, 0.3, 1e-8, 1e-17, 0.0];
            let s = Vec3::from(pick.map(|i| VALUES[i]));
            for signs in [Vec3::new(1.0, 1.0, 1.0), Vec3::new(1.0, 1.0, -1.0), Vec3::new(-1.0, 1.0, 1.0)] {
                let s = s.component_mul(&signs);
                let f = u * Mat3::from_diagonal(&s) * v.transpose();
                check(&f);
                let mut expected: Vec<f64> = s.iter().map(|x| x.abs()).collect();
                expected.sort_by(|a, b| b.total_cmp(a));
                let got = svd3(&f).sigma;
                for i in 0..3 {
                    prop_assert!((got[i].abs() - expected[i]).abs() < 2e-15);
                }
                if expected[2] > 1e-10 {
                    prop_assert_eq!(got[2] > 0.0, s.product() > 0.0);
                }
            }
        }

        #[test]
        fn agrees_with_nalgebra(f in matrix()) {
            let mut expected = f.singular_values();
            expected.as_mut_slice().sort_by(|a, b| b.total_cmp(a));
            let got = svd3(&f).sigma;
            prop_assert!((got.abs() - expected).amax() < 1e-14);
            if expected[2] > 1e-12 {
                prop_assert_eq!(got[2] > 0.0, f.determinant() > 0.0);
            }
        }

        #[test]
        fn rank_one_and_two(a in prop::array::uniform3(-1.0..1.0f64), b in prop::array::uniform3(-1.0..1.0f64),
                            c in prop::array::uniform3(-1.0..1.0f64), d in prop::array::uniform3(-1.0..1.0f64)) {
            let [a, b, c, d] = [a, b, c, d].map(Vec3::from);
            check(&(a * b.transpose()));
            check(&(a * b.transpose() + c * d.transpose()));
            check(&(a * b.transpose() + c * d.transpose() * 1e-12));
        }

        /// Graded columns: one-sided Jacobi finds each singular value to full relative accuracy.
        #[test]
        fn small_values_keep_their_digits(u in rotation(), e in 1i32..60) {
            let s = Vec3::new(1.0, 10f64.powi(-e), 10f64.powi(-2 * e));
            let got = svd3(&(u * Mat3::from_diagonal(&s))).sigma;
            for i in 0..3 {
                prop_assert!((got[i] / s[i] - 1.0).abs() < 1e-14, "{} {}", got, s);
            }
        }

        #[test]
        fn polar_is_the_closest_rotation(f in matrix(), q in rotation()) {
            let r = polar3(&f);
            prop_assert!((r.determinant() - 1.0).abs() < 1e-14);
            prop_assert!((f - r).norm() <= (f - q).norm() + 1e-14);
            // Stationarity on the rotation group: Rᵀ F is symmetric.
            let s = r.transpose() * f;
            prop_assert!((s - s.transpose()).amax() < 1e-14);
        }
    }

    #[test]
    fn exact_and_extreme_matrices() {
        let specials = [
            Mat3::zeros(),
            Mat3::identity(),
            -Mat3::identity(),
            Mat3::repeat(1.0),
            Mat3::from_diagonal(&Vec3::new(1.0, 2.0, 3.0)),
            Mat3::from_diagonal(&Vec3::new(0.0, 0.0, -3.0)),
            Mat3::new(0.0, 1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0),
            Mat3::new(1.0, 1e200, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1e-200),
            Mat3::new(1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0),
            Mat3::from_diagonal(&Vec3::new(1.0, 1e-150, 1e-150)),
            Mat3::new(1.0, 1e-155, 0.0, 1e-155, 1e-154, 1e-156, 0.0, 0.0, 1e-159),
        ];
        for f in specials {
            for scale in [1.0, 1e-150, 1e-60, 1e60, 1e100] {
                check(&(f * scale));
            }
        }
        check(&Mat3::repeat(f64::MAX / 4.0));
        // At the smallest subnormal number, only order, rotations and magnitude can be checked.
        let sigma = svd3(&(Mat3::identity() * 5e-324)).sigma;
        assert_eq!(sigma, Vec3::repeat(5e-324));
    }

    #[test]
    fn non_finite_input_gives_nan_values_not_a_hang() {
        for bad in [f64::NAN, f64::INFINITY] {
            let mut f = Mat3::identity();
            f[(1, 2)] = bad;
            let svd = svd3(&f);
            assert!(svd.sigma.iter().all(|s| s.is_nan()));
            assert_eq!(svd.u, Mat3::identity());
        }
    }
}
