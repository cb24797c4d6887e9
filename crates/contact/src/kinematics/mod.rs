//! Positions and velocities at which contact forces are evaluated, with block derivatives.
//!
//! Forces are written over numbers with or without derivatives ([`Blocks`]); [`Framed`] is the pose and the
//! motion of a frame, [`FrameOf`] the rigid body or obstacle that has it.

mod frame;

use stiction_geometry::analytic::Pose;
use stiction_math::elementary::{self, rotation_vector};
use stiction_math::{Dual, Quat, Real, Vec3, Vector};

pub(crate) use frame::{FrameOf, Framed};

/// Positions and velocities at which a force is evaluated.
#[derive(Clone, Copy, Debug)]
pub struct ContactKinematics<'a> {
    /// Positions of all blocks [m]; what stands at the angular block of a rigid body is not read.
    pub x: &'a [Vec3],
    /// Orientations of the rigid bodies.
    pub rotations: &'a [Quat],
    /// Velocities of all blocks [m/s, rad/s].
    pub v: &'a [Vec3],
    /// Poses and velocities of the obstacles: one for each mesh or shape among the colliders,
    /// in their order.
    pub obstacles: &'a [RigidFrame],
    /// Length h of a step of backward Euler that ends here [s], whose velocities are displacements over h; zero
    /// where they are rates. Turning at ω then moves the end ℓ of a lever by (1 − exp(−h ω×)) ℓ instead of h ω × ℓ,
    /// and what sticks to a turning surface stays on its circle.
    pub chord: f64,
}

/// A rigid frame and its motion.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct RigidFrame {
    /// Its pose.
    pub pose: Pose,
    /// The velocity of its origin [m/s].
    pub velocity: Vec3,
    /// Its angular velocity [rad/s], in the world.
    pub spin: Vec3,
}

impl RigidFrame {
    /// A frame at rest.
    pub fn still(pose: Pose) -> Self {
        Self {
            pose,
            ..Self::default()
        }
    }

    /// The frame at `to`, with the mean velocities of its motion from `from` within `h` [s].
    pub fn reached(from: &Pose, to: &Pose, h: f64) -> Self {
        let turn = if from.rotation == to.rotation {
            Vec3::zeros()
        } else {
            rotation_vector(&(to.rotation * from.rotation.inverse()))
        };
        Self {
            pose: *to,
            velocity: (to.translation - from.translation) / h,
            spin: turn / h,
        }
    }
}

/// A copy of a [`ContactKinematics`], kept by lagged friction.
#[derive(Clone, Debug, Default)]
pub(crate) struct Kept {
    x: Vec<Vec3>,
    rotations: Vec<Quat>,
    obstacles: Vec<RigidFrame>,
}

impl Kept {
    pub(crate) fn set(&mut self, at: &ContactKinematics) {
        self.x.clear();
        self.x.extend_from_slice(at.x);
        self.rotations.clear();
        self.rotations.extend_from_slice(at.rotations);
        self.obstacles.clear();
        self.obstacles.extend_from_slice(at.obstacles);
    }
}

/// The blocks as numbers over [`Real`]: with or without derivatives.
pub(crate) trait Blocks<T: Real>: Sync {
    /// The position of block `j`.
    fn x(&self, j: u32) -> Vector<T>;

    /// The infinitesimal rotation of angular block `j`: zero, with its derivatives.
    fn turn(&self, j: u32) -> Vector<T>;

    /// The velocity of block `j`.
    fn v(&self, j: u32) -> Vector<T>;

    /// The orientation of a rigid body, without derivatives.
    fn rotation(&self, rigid: u32) -> Quat;

    /// An obstacle.
    fn obstacle(&self, i: u32) -> RigidFrame;

    /// Length of the step whose chords are the velocities [s]; zero where they are rates.
    fn chord(&self) -> f64;
}

/// Velocity of the end ℓ of a lever that turns at ω: ω × ℓ, or its mean (1 − exp(−h ω×)) ℓ/h over the step of `h` [s]
/// that ends there.
pub(crate) fn swing<T: Real>(omega: &Vector<T>, lever: &Vector<T>, h: f64) -> Vector<T> {
    let turned = omega.cross(lever);
    if h == 0.0 {
        return turned;
    }
    // With the angle θ = h |ω|: sin θ/θ ω × ℓ − h (1 − cos θ)/θ² ω × (ω × ℓ), both even functions of θ.
    let s = omega.norm_squared() * (h * h);
    let (first, second) = (s.value(), s + (-s.value()));
    let ([a, da], [b, db]) = even(first);
    let (a, b) = (second * da + a, second * db + b);
    turned.scale(a) - omega.cross(&turned).scale(b * h)
}

/// sin θ/θ and (1 − cos θ)/θ² with their derivatives by s = θ².
fn even(s: f64) -> ([f64; 2], [f64; 2]) {
    // Below, terms of s⁴ are less than rounding: 1e-3⁴/9!.
    if s < 1e-3 {
        return (
            [
                1.0 - s / 6.0 * (1.0 - s / 20.0 * (1.0 - s / 42.0)),
                -1.0 / 6.0 * (1.0 - s / 10.0 * (1.0 - s / 28.0)),
            ],
            [
                0.5 - s / 24.0 * (1.0 - s / 30.0 * (1.0 - s / 56.0)),
                -1.0 / 24.0 * (1.0 - s / 15.0 * (1.0 - 3.0 * s / 112.0)),
            ],
        );
    }
    let angle = s.sqrt();
    let (sin, cos) = elementary::sin_cos(angle);
    let (a, b) = (sin / angle, (1.0 - cos) / s);
    ([a, 0.5 * (cos - a) / s], [b, 0.5 * (a - 2.0 * b) / s])
}

impl Blocks<f64> for ContactKinematics<'_> {
    #[inline]
    fn x(&self, j: u32) -> Vector<f64> {
        Vector::constant(&self.x[j as usize])
    }

    #[inline]
    fn turn(&self, _: u32) -> Vector<f64> {
        Vector::zero()
    }

    #[inline]
    fn v(&self, j: u32) -> Vector<f64> {
        Vector::constant(&self.v[j as usize])
    }

    fn rotation(&self, rigid: u32) -> Quat {
        self.rotations[rigid as usize]
    }

    fn obstacle(&self, i: u32) -> RigidFrame {
        self.obstacles[i as usize]
    }

    fn chord(&self) -> f64 {
        self.chord
    }
}

/// Blocks that move along one direction.
pub(crate) struct Along<'a> {
    pub at: &'a ContactKinematics<'a>,
    pub dx: &'a [Vec3],
    pub dv: &'a [Vec3],
}

fn along(value: &Vec3, d: &Vec3) -> Vector<Dual<1>> {
    Vector(std::array::from_fn(|k| Dual::new(value[k], [d[k]])))
}

impl Blocks<Dual<1>> for Along<'_> {
    #[inline]
    fn x(&self, j: u32) -> Vector<Dual<1>> {
        along(&self.at.x[j as usize], &self.dx[j as usize])
    }

    #[inline]
    fn turn(&self, j: u32) -> Vector<Dual<1>> {
        along(&Vec3::zeros(), &self.dx[j as usize])
    }

    #[inline]
    fn v(&self, j: u32) -> Vector<Dual<1>> {
        along(&self.at.v[j as usize], &self.dv[j as usize])
    }

    fn rotation(&self, rigid: u32) -> Quat {
        self.at.rotations[rigid as usize]
    }

    fn obstacle(&self, i: u32) -> RigidFrame {
        self.at.obstacles[i as usize]
    }

    fn chord(&self) -> f64 {
        self.at.chord
    }
}

/// Block columns of a Jacobian that are taken at once.
pub(crate) const COLUMNS: usize = 4;
/// Three directions for each of them.
pub(crate) const LANES: usize = 3 * COLUMNS;

/// Blocks of which a few move along the three axes, each by `cx` in place and `cv` in velocity.
pub(crate) struct Seeded<'a> {
    pub at: &'a ContactKinematics<'a>,
    pub cx: f64,
    pub cv: f64,
    /// At most [`COLUMNS`] blocks.
    pub columns: &'a [u32],
}

impl Seeded<'_> {
    #[inline]
    fn seed(&self, value: &Vec3, j: u32, c: f64) -> Vector<Dual<LANES>> {
        let mut y: Vector<Dual<LANES>> = Vector::constant(value);
        if let Some(column) = self.columns.iter().position(|&b| b == j) {
            for (k, y) in y.0.iter_mut().enumerate() {
                y.d[3 * column + k] = c;
            }
        }
        y
    }
}

impl Blocks<Dual<LANES>> for Seeded<'_> {
    #[inline]
    fn x(&self, j: u32) -> Vector<Dual<LANES>> {
        self.seed(&self.at.x[j as usize], j, self.cx)
    }

    #[inline]
    fn turn(&self, j: u32) -> Vector<Dual<LANES>> {
        self.seed(&Vec3::zeros(), j, self.cx)
    }

    #[inline]
    fn v(&self, j: u32) -> Vector<Dual<LANES>> {
        self.seed(&self.at.v[j as usize], j, self.cv)
    }

    fn rotation(&self, rigid: u32) -> Quat {
        self.at.rotations[rigid as usize]
    }

    fn obstacle(&self, i: u32) -> RigidFrame {
        self.at.obstacles[i as usize]
    }

    fn chord(&self) -> f64 {
        self.at.chord
    }
}

/// Places that were kept, with the velocities of now: what lagged friction sees.
pub(crate) struct Frozen<'a, B> {
    pub kept: &'a Kept,
    pub now: &'a B,
}

impl<T: Real, B: Blocks<T>> Blocks<T> for Frozen<'_, B> {
    fn x(&self, j: u32) -> Vector<T> {
        Vector::constant(&self.kept.x[j as usize])
    }

    fn turn(&self, _: u32) -> Vector<T> {
        Vector::zero()
    }

    fn v(&self, j: u32) -> Vector<T> {
        self.now.v(j)
    }

    fn rotation(&self, rigid: u32) -> Quat {
        self.kept.rotations[rigid as usize]
    }

    fn obstacle(&self, i: u32) -> RigidFrame {
        let now = self.now.obstacle(i);
        RigidFrame {
            pose: self.kept.obstacles[i as usize].pose,
            ..now
        }
    }

    fn chord(&self) -> f64 {
        self.now.chord()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_swing_is_the_chord_of_a_rotation_and_has_its_derivatives() {
        let (h, lever) = (0.02, Vec3::new(0.3, -0.2, 0.5));
        for size in [0.0, 1e-3, 1.0, 1.5, 1.6, 40.0, 120.0] {
            let omega = Vec3::new(0.6, -0.64, 0.48) * size;
            let back = Quat::from_scaled_axis(-omega * h) * lever;
            let at = |w: &Vec3| swing(&Vector::constant(w), &Vector::constant(&lever), h).plain();
            assert!((at(&omega) - (lever - back) / h).norm() < 1e-12 * (1.0 + size));
            let seeded = Vector(std::array::from_fn(|k| {
                let mut y = Dual::<3>::constant(omega[k]);
                y.d[k] = 1.0;
                y
            }));
            let found = swing(&seeded, &Vector::constant(&lever), h);
            for k in 0..3 {
                // Central differences: their error is of the order step² h² and rounding over the step.
                let mut step = Vec3::zeros();
                step[k] = 1e-4;
                let slope = (at(&(omega + step)) - at(&(omega - step))) / 2e-4;
                for i in 0..3 {
                    let error = (found.0[i].d[k] - slope[i]).abs();
                    assert!(error < 1e-8, "{size} {i} {k}: {error}");
                }
            }
        }
    }
}
