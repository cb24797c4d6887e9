//! Sizing tensors: symmetric forms M on rest space for which an edge x̄ has the size
//! s = √(x̄ᵀ M x̄) [li2018, Eq. 13]. An edge is short enough when s ≤ 1.

use stiction_math::{Mat2, Mat3, Vec2, Vec3, sym_eig2};

/// Sizing tensor of a vertex.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sizing {
    /// M, tangential to the rest surface [1/m²].
    pub tensor: Mat3,
    /// Unit normal of the rest surface.
    pub normal: Vec3,
}

impl Sizing {
    /// The form M of a flat surface: edges of length `length` [m] have size 1.
    pub fn uniform(normal: Vec3, length: f64) -> Self {
        let tangential = Mat3::identity() - normal * normal.transpose();
        Self {
            tensor: tangential / (length * length),
            normal,
        }
    }

    /// A rest vector in the tangent plane, with its length. A vector along the normal stays as it is.
    fn laid(&self, d: &Vec3) -> Vec3 {
        let flat = d - self.normal * self.normal.dot(d);
        let (was, is) = (d.norm(), flat.norm());
        match is > 0.1 * was {
            true => flat * (was / is),
            false => *d,
        }
    }

    /// The squared size of a rest vector [1].
    pub fn squared(&self, d: &Vec3) -> f64 {
        let d = self.laid(d);
        d.dot(&(self.tensor * d))
    }

    /// M in the plane of `frame` [1/m²].
    pub fn within(&self, frame: &TangentFrame) -> Mat2 {
        let [p, q] = frame.axes.map(|e| self.laid(&e));
        let (mp, mq) = (self.tensor * p, self.tensor * q);
        Mat2::new(p.dot(&mp), p.dot(&mq), q.dot(&mp), q.dot(&mq))
    }

    /// The mean of two, for a point halfway between.
    pub fn mean(&self, other: &Self) -> Self {
        let sum = self.normal + other.normal;
        Self {
            tensor: (self.tensor + other.tensor) * 0.5,
            normal: sum.try_normalize(1e-6).unwrap_or(self.normal),
        }
    }
}

/// Two orthonormal axes in the plane of a triangle.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TangentFrame {
    /// The axes.
    pub axes: [Vec3; 2],
    /// The unit normal.
    pub normal: Vec3,
}

impl TangentFrame {
    /// The frame of a triangle, its first axis along the first edge; none if it has no area.
    pub fn of(corners: &[Vec3; 3]) -> Option<Self> {
        let [a, b, c] = corners;
        let along = (b - a).try_normalize(0.0)?;
        let normal = (b - a).cross(&(c - a)).try_normalize(0.0)?;
        Some(Self {
            axes: [along, normal.cross(&along)],
            normal,
        })
    }

    /// Coordinates of a vector in the plane.
    pub fn flat(&self, d: &Vec3) -> Vec2 {
        Vec2::new(self.axes[0].dot(d), self.axes[1].dot(d))
    }

    /// A tensor of the plane in space.
    pub fn lift(&self, m: &Mat2) -> Mat3 {
        let [p, q] = &self.axes;
        p * p.transpose() * m[(0, 0)]
            + (p * q.transpose() + q * p.transpose()) * m[(0, 1)]
            + q * q.transpose() * m[(1, 1)]
    }
}

/// Limits of edge lengths.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SizeLimits {
    /// Edges are not split for being longer than this [m].
    pub smallest: f64,
    /// No edge is longer than this [m].
    pub largest: f64,
    /// Least ratio of the lengths that a sizing tensor allows in two directions, in (0, 1].
    pub aspect: f64,
}

impl SizeLimits {
    /// The tensor with eigenvalues between 1/largest² and 1/smallest², none below aspect² times the
    /// other.
    pub fn clamp(&self, m: &Mat2) -> Mat2 {
        let (values, axes) = sym_eig2(m);
        let [low, high] = [self.largest, self.smallest].map(|l| 1.0 / (l * l));
        let values = values.map(|v| if v.is_nan() { low } else { v.clamp(low, high) });
        let least = values.max() * self.aspect * self.aspect;
        let values = values.map(|v| v.max(least));
        axes * Mat2::from_diagonal(&values) * axes.transpose()
    }
}

/// The least tensor of those with the axes of a simultaneous reduction that is at least both, for
/// `a` positive definite: where a = PᵀP and b = PᵀDP, it is Pᵀ max(1, D) P. Every edge has at least
/// the size that it has in either.
pub fn combine(a: &Mat2, b: &Mat2) -> Mat2 {
    let (values, axes) = sym_eig2(a);
    let definite = values.min() > 0.0;
    if !definite {
        return a + b;
    }
    let root = values.map(f64::sqrt);
    let p = Mat2::from_diagonal(&root) * axes.transpose();
    let inverse = axes * Mat2::from_diagonal(&root.map(|v| 1.0 / v));
    let (d, q) = sym_eig2(&(inverse.transpose() * b * inverse));
    let d = d.map(|v| v.max(1.0));
    let m = p.transpose() * q * Mat2::from_diagonal(&d) * q.transpose() * p;
    (m + m.transpose()) * 0.5
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::SplitMix;

    fn random(random: &mut SplitMix) -> Mat2 {
        let mut u = || 2.0 * random.uniform() - 1.0;
        let a = Mat2::new(u(), u(), u(), u());
        a.transpose() * a
    }

    #[test]
    fn a_combined_tensor_is_at_least_both_and_touches_them() {
        let mut rng = SplitMix::new(3);
        for _ in 0..500 {
            let (a, b) = (random(&mut rng) + Mat2::identity() * 0.01, random(&mut rng));
            let m = combine(&a, &b);
            let scale = m.norm();
            for other in [a, b] {
                let (least, _) = sym_eig2(&(m - other));
                assert!(least.min() > -1e-9 * scale, "{m} {other}");
            }
            // It is the least: m − a and m − b together are singular in both axes, so that
            // det(m − a) = det(m − b) = 0 unless one contains the other.
            let (da, db) = ((m - a).determinant(), (m - b).determinant());
            assert!(da.min(db).abs() < 1e-8 * scale * scale);
        }
    }

    #[test]
    fn limits_bound_lengths_and_their_ratio() {
        let limits = SizeLimits {
            smallest: 0.01,
            largest: 0.5,
            aspect: 0.2,
        };
        let (e, _) = sym_eig2(&limits.clamp(&Mat2::new(1e9, 0.0, 0.0, 0.0)));
        assert!(
            (e[1] - 1e4).abs() < 1e-6 && (e[0] - 400.0).abs() < 1e-6,
            "{e}"
        );
        let (e, _) = sym_eig2(&limits.clamp(&Mat2::zeros()));
        assert!((e - Vec2::new(4.0, 4.0)).norm() < 1e-12, "{e}");
    }
}
