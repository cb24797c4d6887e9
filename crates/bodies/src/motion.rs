//! Prescribed motion of pinned nodes, driven rigid bodies and obstacles.

use std::sync::Arc;

use stiction_math::elementary::{rotation_about, rotation_vector};
use stiction_math::{Quat, Vec3, nalgebra::Unit};

pub use stiction_geometry::analytic::Pose;

use crate::{
    obstacle::{Obstacle, ObstacleShape},
    schedule::Schedule,
};

/// Interpolation between the keys of a track.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Interpolation {
    /// Linear: the velocity jumps at the keys.
    #[default]
    Linear,
    /// Linear with s = 3τ² − 2τ³ between keys: the velocity vanishes at every key.
    Smooth,
    /// A Catmull–Rom curve through the keys: continuous velocity along a path.
    Spline,
}

/// A value interpolated between keys in time, and constant before the first and after the last.
#[derive(Clone, Debug, PartialEq)]
pub struct Track<T> {
    times: Vec<f64>,
    values: Vec<T>,
    interpolation: Interpolation,
}

/// Errors of a track.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
pub enum TrackError {
    /// No key.
    #[error("a motion needs at least one key")]
    Empty,
    /// Different numbers of times and values.
    #[error("{times} times are given for {values} values; give one time per value")]
    Count {
        /// Number of times.
        times: usize,
        /// Number of values.
        values: usize,
    },
    /// Times that are not finite or do not increase.
    #[error(
        "key {index} is at {time} s, which is not after the key before it; sort the keys and give each its own time"
    )]
    Order {
        /// The offending key, counted from 0.
        index: usize,
        /// Its time [s].
        time: f64,
    },
}

/// A value type of a track: a vector space over f64.
pub trait Keyed: Copy + std::ops::Add<Output = Self> + std::ops::Mul<f64, Output = Self> {}
impl<T: Copy + std::ops::Add<Output = T> + std::ops::Mul<f64, Output = T>> Keyed for T {}

impl TrackError {
    /// Checks that there is one finite, ascending time for each of `values` values.
    pub(crate) fn check(times: &[f64], values: usize) -> Result<(), Self> {
        if values == 0 {
            return Err(Self::Empty);
        }
        if times.len() != values {
            let times = times.len();
            return Err(Self::Count { times, values });
        }
        for (index, &time) in times.iter().enumerate() {
            if !time.is_finite() || (index > 0 && time <= times[index - 1]) {
                return Err(Self::Order { index, time });
            }
        }
        Ok(())
    }
}

impl<T: Keyed> Track<T> {
    /// A track through `values` at `times` [s].
    pub fn new(
        times: Vec<f64>,
        values: Vec<T>,
        interpolation: Interpolation,
    ) -> Result<Self, TrackError> {
        TrackError::check(&times, values.len())?;
        Ok(Self {
            times,
            values,
            interpolation,
        })
    }

    /// A straight track from `from` at `start` to `to` at `end` [s]; it jumps where `end` is not after
    /// `start`.
    pub fn ramp(start: f64, from: T, end: f64, to: T) -> Self {
        let (times, values) = match end > start {
            true => (vec![start, end], vec![from, to]),
            false => (vec![end], vec![to]),
        };
        Self {
            times,
            values,
            interpolation: Interpolation::Linear,
        }
    }

    /// The value at time `t` [s].
    pub fn at(&self, t: f64) -> T {
        let last = self.times.len() - 1;
        if t <= self.times[0] {
            return self.values[0];
        }
        if t >= self.times[last] {
            return self.values[last];
        }
        // times[i] ≤ t < times[i+1]
        let i = self.times.partition_point(|&k| k <= t) - 1;
        let (t0, t1) = (self.times[i], self.times[i + 1]);
        let s = (t - t0) / (t1 - t0);
        let (a, b) = (self.values[i], self.values[i + 1]);
        match self.interpolation {
            Interpolation::Linear => a * (1.0 - s) + b * s,
            Interpolation::Smooth => {
                let w = s * s * (3.0 - 2.0 * s);
                a * (1.0 - w) + b * w
            }
            Interpolation::Spline => {
                // Hermite form with tangents from the neighbours, scaled for uneven keys.
                let tangent = |k: usize| -> T {
                    let (p, n) = (k.saturating_sub(1), (k + 1).min(last));
                    let dt = self.times[n] - self.times[p];
                    (self.values[n] + self.values[p] * -1.0) * ((t1 - t0) / dt)
                };
                let (s2, s3) = (s * s, s * s * s);
                a * (2.0 * s3 - 3.0 * s2 + 1.0)
                    + tangent(i) * (s3 - 2.0 * s2 + s)
                    + b * (3.0 * s2 - 2.0 * s3)
                    + tangent(i + 1) * (s3 - s2)
            }
        }
    }
}

/// A rotation about a fixed axis through a pivot.
#[derive(Clone, Debug, PartialEq)]
pub struct Turn {
    /// The direction of the axis.
    pub axis: Unit<Vec3>,
    /// A point on the axis [m].
    pub pivot: Vec3,
    /// The angle over time [rad]; it may pass many full turns.
    pub angle: Schedule<f64>,
}

/// A prescribed rigid motion: the turns one after another, then the translation.
///
/// A point that starts at x₀ is at `pose(t) · x₀` at time t.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Motion {
    /// Applied first, in order.
    pub turns: Vec<Turn>,
    /// The displacement over time [m], applied last.
    pub translation: Option<Schedule<Vec3>>,
    /// From this time [s] on, nothing is prescribed: pins are released. Obstacles ignore it.
    pub release: Option<f64>,
    /// The triangle of an animated obstacle that carries what moves, applied before all else.
    pub carrier: Option<Carrier>,
}

/// The frame of a triangle of a moving obstacle, which carries points with it.
#[derive(Clone, Debug, PartialEq)]
pub struct Carrier {
    /// The obstacle.
    pub obstacle: Arc<Obstacle>,
    /// The triangle of its mesh; none for an obstacle that moves as a whole.
    pub triangle: Option<usize>,
}

impl Carrier {
    /// The frame at time `t` [s]: the centroid, an edge and the normal of the triangle.
    fn frame(&self, t: f64) -> Pose {
        let pose = self.obstacle.pose(t);
        let (Some(triangle), ObstacleShape::Animated(mesh)) = (self.triangle, &self.obstacle.shape)
        else {
            return pose;
        };
        let [a, b, c] = mesh.triangles()[triangle].map(|v| pose.apply(&mesh.vertex(v as usize, t)));
        let normal = (b - a).cross(&(c - a));
        let rotation = match normal.norm() > 0.0 {
            true => Quat::from_basis_unchecked(&{
                let (x, z) = ((b - a).normalize(), normal.normalize());
                [x, z.cross(&x), z]
            }),
            false => Quat::identity(),
        };
        Pose {
            rotation,
            translation: (a + b + c) / 3.0,
        }
    }

    /// The rigid motion of the frame from time zero to `t` [s].
    fn pose(&self, t: f64) -> Pose {
        let [from, to] = [self.frame(0.0), self.frame(t)];
        let rotation = to.rotation * from.rotation.inverse();
        Pose {
            rotation,
            translation: to.translation - rotation * from.translation,
        }
    }
}

impl Motion {
    /// The motion from `from` at `start` to `to` at `end` [s]: the point that starts at `about` [m]
    /// moves along a straight line, and the rotation between the two poses has a constant axis and
    /// rate. The pose is constant before and after.
    pub fn between(start: f64, from: &Pose, end: f64, to: &Pose, about: Vec3) -> Self {
        let turn = |rotation: Quat, from: f64| {
            let vector = rotation_vector(&rotation);
            let axis = Unit::try_new(vector, 0.0).unwrap_or(Vec3::z_axis());
            let angle = vector.norm();
            Turn {
                axis,
                pivot: about,
                angle: Track::ramp(start, angle * from, end, angle).into(),
            }
        };
        let turned = to.rotation * from.rotation.inverse();
        let displacement = |pose: &Pose| pose.apply(&about) - about;
        Self {
            turns: vec![turn(from.rotation, 1.0), turn(turned, 0.0)],
            translation: Some(Track::ramp(start, displacement(from), end, displacement(to)).into()),
            release: None,
            carrier: None,
        }
    }

    /// The placement at time `t` [s].
    pub fn pose(&self, t: f64) -> Pose {
        let mut pose = self
            .carrier
            .as_ref()
            .map_or_else(Pose::default, |c| c.pose(t));
        for turn in &self.turns {
            let r = rotation_about(&turn.axis, turn.angle.at(t));
            pose.rotation = r * pose.rotation;
            pose.translation = r * (pose.translation - turn.pivot) + turn.pivot;
        }
        if let Some(schedule) = &self.translation {
            pose.translation += schedule.at(t);
        }
        pose
    }

    /// Whether the motion is prescribed at time `t` [s].
    pub fn holds(&self, t: f64) -> bool {
        self.release.is_none_or(|end| t <= end)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn linear_smooth_and_spline_pass_through_their_keys() {
        for kind in [
            Interpolation::Linear,
            Interpolation::Smooth,
            Interpolation::Spline,
        ] {
            let track = Track::new(vec![0.0, 1.0, 3.0], vec![1.0, 2.0, -1.0], kind).unwrap();
            for (t, want) in [
                (-1.0, 1.0),
                (0.0, 1.0),
                (1.0, 2.0),
                (3.0, -1.0),
                (9.0, -1.0),
            ] {
                assert_eq!(track.at(t), want, "{kind:?} at {t}");
            }
        }
    }

    #[test]
    fn a_spline_through_a_straight_line_is_that_line() {
        let track = Track::new(
            vec![0.0, 1.0, 3.0, 3.5],
            vec![0.0, 2.0, 6.0, 7.0],
            Interpolation::Spline,
        )
        .unwrap();
        for k in 0..=35 {
            let t = f64::from(k) * 0.1;
            assert!((track.at(t) - 2.0 * t).abs() < 1e-12);
        }
    }

    #[test]
    fn many_full_turns_are_not_shortened() {
        let turn = Turn {
            axis: Vec3::z_axis(),
            pivot: Vec3::new(1.0, 0.0, 0.0),
            angle: Track::new(
                vec![0.0, 1.0],
                vec![0.0, 5.0 * std::f64::consts::TAU],
                Interpolation::Linear,
            )
            .unwrap()
            .into(),
        };
        let motion = Motion {
            turns: vec![turn],
            ..Motion::default()
        };
        // A quarter turn after a twentieth of the time.
        let x = motion.pose(0.05).apply(&Vec3::new(2.0, 0.0, 0.0));
        assert!((x - Vec3::new(1.0, 1.0, 0.0)).norm() < 1e-12);
    }

    #[test]
    fn a_motion_between_two_poses_meets_both_and_moves_its_point_straight() {
        let pose = |axis: Vec3, translation: Vec3| Pose {
            rotation: Quat::from_scaled_axis(axis),
            translation,
        };
        let from = pose(Vec3::new(0.3, -1.0, 0.2), Vec3::new(1.0, 2.0, 3.0));
        let to = pose(Vec3::new(-0.5, 0.4, 2.0), Vec3::new(-1.0, 0.5, 3.5));
        let about = Vec3::new(0.7, -0.2, 0.1);
        let motion = Motion::between(1.0, &from, 1.5, &to, about);
        let points = [about, Vec3::new(1.0, 1.0, 0.0), Vec3::new(-2.0, 0.0, 1.0)];
        for (t, pose) in [(0.0, &from), (1.0, &from), (1.5, &to), (9.0, &to)] {
            for x in &points {
                let off = (motion.pose(t).apply(x) - pose.apply(x)).norm();
                assert!(off < 1e-14, "{t}: {off:e}");
            }
        }
        let middle = (from.apply(&about) + to.apply(&about)) * 0.5;
        assert!((motion.pose(1.25).apply(&about) - middle).norm() < 1e-14);
    }

    #[test]
    fn unsorted_keys_are_refused_by_index() {
        let error =
            Track::new(vec![0.0, 2.0, 2.0], vec![0.0; 3], Interpolation::Linear).unwrap_err();
        assert_eq!(
            error,
            TrackError::Order {
                index: 2,
                time: 2.0
            }
        );
    }
}
