//! Projection of element velocities that removes rigid rotations.
//!
//! Stiffness-proportional damping must resist the rate of strain alone. The Hessian K of a stressed
//! element also contains its geometric stiffness: K (ω × x) = ω × ∂E/∂x, which is not zero, so that
//! a stretched element damped by β K would resist rotation. With the projection P onto velocities
//! that are orthogonal to all ω × (x − x̄), the matrix β P K⁺ P is symmetric and positive
//! semi-definite as β K⁺ is, gives no force or torque in rigid motions, and exerts no torque.

use stiction_math::{Mat3, Vec3};

/// Relative residual after orthogonalisation below which a rotation is dependent on the others, as
/// the rotation about a straight line of nodes (rounding is 1e-16; a fraction is a sine).
const DEPENDENT: f64 = 1e-7;

/// Rigid rotations of K nodes about their mean: an orthonormal basis of their velocities.
pub(crate) struct Rotations<const K: usize> {
    basis: [[Vec3; K]; 3],
    count: usize,
}

fn dot<const K: usize>(a: &[Vec3; K], b: &[Vec3; K]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a.dot(b)).sum()
}

impl<const K: usize> Rotations<K> {
    /// The rotations of nodes at `x` [m].
    pub fn of(x: &[Vec3; K]) -> Self {
        let mean = x.iter().sum::<Vec3>() / K as f64;
        let mut this = Self {
            basis: [[Vec3::zeros(); K]; 3],
            count: 0,
        };
        for axis in [Vec3::x(), Vec3::y(), Vec3::z()] {
            let mut turn = x.map(|x| axis.cross(&(x - mean)));
            let before = dot(&turn, &turn);
            // Two passes are enough for orthogonality to rounding.
            for _ in 0..2 {
                this.remove(&mut turn);
            }
            let after = dot(&turn, &turn);
            if after > DEPENDENT * DEPENDENT * before && after > f64::MIN_POSITIVE {
                let scale = 1.0 / after.sqrt();
                this.basis[this.count] = turn.map(|t| t * scale);
                this.count += 1;
            }
        }
        this
    }

    /// d ← P d.
    pub fn remove(&self, d: &mut [Vec3; K]) {
        for turn in &self.basis[..self.count] {
            let along = dot(turn, d);
            for (d, turn) in d.iter_mut().zip(turn) {
                *d -= turn * along;
            }
        }
    }

    /// H ← P H P.
    pub fn project(&self, h: &mut [[Mat3; K]; K]) {
        for turn in &self.basis[..self.count] {
            let w: [Vec3; K] =
                std::array::from_fn(|r| (0..K).map(|c| h[r][c] * turn[c]).sum::<Vec3>());
            let twice = dot(turn, &w);
            for (r, row) in h.iter_mut().enumerate() {
                for (c, block) in row.iter_mut().enumerate() {
                    *block +=
                        turn[r] * (turn[c] * twice - w[c]).transpose() - w[r] * turn[c].transpose();
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rotations_are_removed_and_nothing_else() {
        let straight = [
            Vec3::zeros(),
            Vec3::new(1.0, 2.0, -0.5),
            Vec3::new(2.0, 4.0, -1.0),
        ];
        let bent = [
            Vec3::zeros(),
            Vec3::new(1.0, 2.0, -0.5),
            Vec3::new(2.0, 3.0, 1.0),
        ];
        for (x, rank) in [(straight, 2), (bent, 3)] {
            let rotations = Rotations::of(&x);
            assert_eq!(rotations.count, rank);
            let omega = Vec3::new(0.3, -2.0, 1.1);
            let mut d = x.map(|x| omega.cross(&x) + Vec3::new(5.0, 0.0, 1.0));
            rotations.remove(&mut d);
            // The remainder is the mean velocity, the same for all nodes.
            assert!(d.iter().all(|v| (v - d[0]).norm() < 1e-13), "{d:?}");
            let stretch = x.map(|p| (p - x[1]) * 3.0);
            let mut kept = stretch;
            rotations.remove(&mut kept);
            assert!(
                kept.iter()
                    .zip(&stretch)
                    .all(|(a, b)| (a - b).norm() < 1e-13)
            );
        }
    }
}
