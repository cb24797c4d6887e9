//! Eigenvalues of small symmetric matrices by cyclic Jacobi, and projection to the positive
//! semi-definite cone.
//!
//! Jacobi needs no special cases for repeated or zero eigenvalues and its vectors are orthogonal
//! to rounding. For element Hessians of nine or twelve rows it costs microseconds: project those
//! by their known eigen-structure and keep [`psd_n`] for tests and rare paths.

use crate::{Mat2, Mat3, Vec2, Vec3};
use nalgebra::{SMatrix, SVector};

/// Eigenvalues of a symmetric 2×2 matrix, ascending, and unit eigenvectors as the columns of a
/// rotation (determinant +1). See [`sym_eig_n`].
pub fn sym_eig2(a: &Mat2) -> (Vec2, Mat2) {
    sym_eig_n(a)
}

/// Eigenvalues of a symmetric 3×3 matrix, ascending, and unit eigenvectors as the columns of a
/// rotation (determinant +1). See [`sym_eig_n`].
pub fn sym_eig3(a: &Mat3) -> (Vec3, Mat3) {
    sym_eig_n(a)
}

/// Whether the symmetric matrix of the lower triangle of `a` has positive pivots.
pub fn is_positive_definite3(a: &Mat3) -> bool {
    let first = a[(0, 0)];
    let (l, m) = (a[(1, 0)] / first, a[(2, 0)] / first);
    let second = a[(1, 1)] - l * a[(1, 0)];
    let across = a[(2, 1)] - m * a[(1, 0)];
    let third = a[(2, 2)] - m * a[(2, 0)] - across * across / second;
    first > 0.0 && second > 0.0 && third > 0.0
}

/// The positive semi-definite 2×2 matrix closest to `a`. See [`psd_n`].
pub fn psd2(a: &Mat2) -> Mat2 {
    psd_n(a)
}

/// The positive semi-definite 3×3 matrix closest to `a`. See [`psd_n`].
pub fn psd3(a: &Mat3) -> Mat3 {
    psd_n(a)
}

/// The symmetric positive semi-definite matrix closest to ½(a + aᵀ) in the Frobenius norm:
/// negative eigenvalues become zero. A matrix that has none is returned as it is (symmetrised).
pub fn psd_n<const N: usize>(a: &SMatrix<f64, N, N>) -> SMatrix<f64, N, N> {
    let (values, vectors) = sym_eig_n(a);
    if values.iter().all(|&x| x >= 0.0) {
        return symmetrised(a);
    }
    let mut projected = SMatrix::zeros();
    for k in 0..N {
        if values[k] > 0.0 {
            let column = vectors.column(k);
            projected += column * column.transpose() * values[k];
        }
    }
    symmetrised(&projected)
}

/// Eigenvalues of ½(a + aᵀ), ascending, and unit eigenvectors as the columns of a rotation
/// (determinant +1): a = V diag(λ) Vᵀ.
///
/// The backward error is a few roundings of the largest entry. Non-finite entries give non-finite
/// values.
pub fn sym_eig_n<const N: usize>(a: &SMatrix<f64, N, N>) -> (SVector<f64, N>, SMatrix<f64, N, N>) {
    // Squares of entries must neither overflow nor vanish; powers of two scale without rounding.
    let exponent = (a.amax().to_bits() >> 52).clamp(23, 2023);
    let mut a = symmetrised(&(a * f64::from_bits((2046 - exponent) << 52)));
    let mut v = SMatrix::<f64, N, N>::identity();
    for _ in 0..MAX_SWEEPS {
        let mut rotated = false;
        for p in 0..N {
            for q in p + 1..N {
                rotated |= annihilate(&mut a, &mut v, p, q);
            }
        }
        if !rotated {
            break;
        }
    }

    let mut order = [0; N];
    for (i, o) in order.iter_mut().enumerate() {
        *o = i;
    }
    order.sort_by(|&i, &j| a[(i, i)].total_cmp(&a[(j, j)]));
    let unscale = f64::from_bits(exponent << 52);
    let values = SVector::from_fn(|i, _| a[(order[i], order[i])] * unscale);
    let mut vectors = SMatrix::from_fn(|i, j| v[(i, order[j])]);
    // Jacobi rotations have determinant +1; an odd permutation turns it over.
    let inversions = (0..N)
        .flat_map(|i| (i + 1..N).map(move |j| (i, j)))
        .filter(|&(i, j)| order[i] > order[j])
        .count();
    if inversions % 2 == 1 {
        for i in 0..N {
            vectors[(i, 0)] = -vectors[(i, 0)];
        }
    }
    (values, vectors)
}

/// Jacobi converges quadratically: about five sweeps for N = 3, eight for N = 12.
const MAX_SWEEPS: usize = 32;

/// Off-diagonal entries below this are rounding: the matrix is scaled to largest entry 1 to 2.
const NEGLIGIBLE: f64 = 0.125 * f64::EPSILON;

fn symmetrised<const N: usize>(a: &SMatrix<f64, N, N>) -> SMatrix<f64, N, N> {
    SMatrix::from_fn(|i, j| 0.5 * a[(i, j)] + 0.5 * a[(j, i)])
}

/// One Jacobi rotation in the (p, q) plane, by the angle of at most π/4 that zeroes a_pq.
#[inline(always)]
fn annihilate<const N: usize>(
    a: &mut SMatrix<f64, N, N>,
    v: &mut SMatrix<f64, N, N>,
    p: usize,
    q: usize,
) -> bool {
    let pq = a[(p, q)];
    if pq.abs() <= NEGLIGIBLE {
        return false;
    }
    let d = a[(q, q)] - a[(p, p)];
    let w = 2.0 * pq;
    let t = w / (d + (d * d + w * w).sqrt().copysign(d));
    let c = 1.0 / (1.0 + t * t).sqrt();
    let s = t * c;
    a[(p, p)] -= t * pq;
    a[(q, q)] += t * pq;
    a[(p, q)] = 0.0;
    a[(q, p)] = 0.0;
    for k in 0..N {
        if k != p && k != q {
            let (kp, kq) = (a[(k, p)], a[(k, q)]);
            let (new_kp, new_kq) = (c * kp - s * kq, s * kp + c * kq);
            a[(k, p)] = new_kp;
            a[(p, k)] = new_kp;
            a[(k, q)] = new_kq;
            a[(q, k)] = new_kq;
        }
        let (vp, vq) = (v[(k, p)], v[(k, q)]);
        v[(k, p)] = c * vp - s * vq;
        v[(k, q)] = s * vp + c * vq;
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn check<const N: usize>(a: &SMatrix<f64, N, N>) {
        let a = symmetrised(a);
        let (values, v) = sym_eig_n(&a);
        let scale = if a.amax() > 0.0 { a.amax() } else { 1.0 };
        let orthogonality = (v.transpose() * v - SMatrix::<f64, N, N>::identity()).amax();
        assert!(orthogonality < 1e-14, "{orthogonality:e}");
        let back = v * SMatrix::<f64, N, N>::from_diagonal(&(values / scale)) * v.transpose();
        assert!((back - a / scale).norm() < 1e-14 * (a / scale).norm().max(1.0));
        assert!((1..N).all(|i| values[i - 1] <= values[i]));
    }

    fn entries(n: usize) -> impl Strategy<Value = Vec<f64>> {
        // Zeros and equal entries make repeated eigenvalues likely.
        prop::collection::vec(prop_oneof![-1.0..1.0f64, Just(0.0), Just(1.0)], n)
    }

    proptest! {
        #[test]
        fn reconstructs(e in entries(144), exponent in -150i32..150) {
            let scale = 10f64.powi(exponent);
            for s in [1.0, scale] {
                check(&(SMatrix::<f64, 2, 2>::from_column_slice(&e[..4]) * s));
                check(&(SMatrix::<f64, 3, 3>::from_column_slice(&e[..9]) * s));
                check(&(SMatrix::<f64, 9, 9>::from_column_slice(&e[..81]) * s));
            }
            check(&SMatrix::<f64, 12, 12>::from_column_slice(&e));
        }

        #[test]
        fn agrees_with_nalgebra(e in entries(81)) {
            let a3 = symmetrised(&Mat3::from_column_slice(&e[..9]));
            let mut expected = a3.symmetric_eigenvalues();
            expected.as_mut_slice().sort_by(f64::total_cmp);
            let (values, vectors) = sym_eig3(&a3);
            prop_assert!((values - expected).amax() < 1e-14);
            prop_assert!((vectors.determinant() - 1.0).abs() < 1e-14);
            let a2 = symmetrised(&Mat2::from_column_slice(&e[..4]));
            prop_assert!((sym_eig2(&a2).1.determinant() - 1.0).abs() < 1e-14);
            let a9 = symmetrised(&SMatrix::<f64, 9, 9>::from_column_slice(&e));
            let mut expected = a9.symmetric_eigenvalues();
            expected.as_mut_slice().sort_by(f64::total_cmp);
            prop_assert!((sym_eig_n(&a9).0 - expected).amax() < 1e-13);
        }

        /// Optimality of the projection P of A: P ⪰ 0, P − A ⪰ 0 and ⟨P − A, P⟩ = 0.
        #[test]
        fn psd_is_the_projection(e in entries(81)) {
            let a = symmetrised(&SMatrix::<f64, 9, 9>::from_column_slice(&e));
            let p = psd_n(&a);
            prop_assert!(p.symmetric_eigenvalues().min() > -1e-13);
            prop_assert!((p - a).symmetric_eigenvalues().min() > -1e-13);
            prop_assert!((p - a).dot(&p).abs() < 1e-12);
            let a = Mat3::from_column_slice(&e[..9]);
            prop_assert!(psd3(&a).symmetric_eigenvalues().min() > -1e-14);
            let spd = a * a.transpose() + Mat3::identity();
            prop_assert_eq!(psd3(&spd), spd);
            let a = Mat2::from_column_slice(&e[..4]);
            prop_assert!(psd2(&a).symmetric_eigenvalues().min() > -1e-14);
        }
    }

    #[test]
    fn closed_forms() {
        let (values, vectors) = sym_eig2(&Mat2::new(2.0, 1.0, 1.0, 2.0));
        assert!((values - Vec2::new(1.0, 3.0)).amax() < 1e-15);
        assert!((vectors.column(1).x.abs() - 0.5f64.sqrt()).abs() < 1e-15);
        let (values, _) = sym_eig3(&Mat3::repeat(1.0));
        assert!((values - Vec3::new(0.0, 0.0, 3.0)).amax() < 1e-15);
        assert_eq!(sym_eig3(&Mat3::zeros()).0, Vec3::zeros());
        assert_eq!(psd3(&-Mat3::identity()), Mat3::zeros());
        assert!(
            sym_eig3(&Mat3::repeat(f64::NAN))
                .0
                .iter()
                .all(|x| x.is_nan())
        );
    }
}
