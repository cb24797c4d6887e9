//! Where everything is when a force is asked for, and how block derivatives enter.

use stiction_geometry::analytic::Pose;
use stiction_math::elementary::rotation_vector;
use stiction_math::{Dual, Quat, Real, Vec3, Vector};

/// Positions and velocities at which a force is asked for.
#[derive(Clone, Copy, Debug)]
pub struct Place<'a> {
    /// Positions of all blocks [m]; what stands at the angular block of a rigid body is not read.
    pub x: &'a [Vec3],
    /// Orientations of the rigid bodies.
    pub rotations: &'a [Quat],
    /// Velocities of all blocks [m/s, rad/s].
    pub v: &'a [Vec3],
    /// Where the obstacles are and how they move: one for each mesh or shape among the colliders,
    /// in their order.
    pub obstacles: &'a [Frame],
}

/// A rigid frame and its motion.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Frame {
    /// Where it is.
    pub pose: Pose,
    /// The velocity of its origin [m/s].
    pub velocity: Vec3,
    /// Its angular velocity [rad/s], in the world.
    pub spin: Vec3,
}

impl Frame {
    /// A frame at rest.
    pub fn still(pose: Pose) -> Self {
        Self {
            pose,
            ..Self::default()
        }
    }

    /// The frame at `to`, with the mean velocities of its way from `from` within `h` [s].
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

/// A copy of a [`Place`], kept by lagged friction.
#[derive(Clone, Debug, Default)]
pub(super) struct Kept {
    x: Vec<Vec3>,
    rotations: Vec<Quat>,
    obstacles: Vec<Frame>,
}

impl Kept {
    pub(super) fn set(&mut self, at: &Place) {
        self.x.clear();
        self.x.extend_from_slice(at.x);
        self.rotations.clear();
        self.rotations.extend_from_slice(at.rotations);
        self.obstacles.clear();
        self.obstacles.extend_from_slice(at.obstacles);
    }
}

/// The blocks as numbers over [`Real`]: with or without derivatives.
pub(super) trait Blocks<T: Real>: Sync {
    /// The position of block `j`.
    fn x(&self, j: u32) -> Vector<T>;

    /// The infinitesimal rotation of angular block `j`: zero, with its derivatives.
    fn turn(&self, j: u32) -> Vector<T>;

    /// The velocity of block `j`.
    fn v(&self, j: u32) -> Vector<T>;

    /// The orientation of a rigid body, without derivatives.
    fn rotation(&self, rigid: u32) -> Quat;

    /// An obstacle.
    fn obstacle(&self, i: u32) -> Frame;
}

impl Blocks<f64> for Place<'_> {
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

    fn obstacle(&self, i: u32) -> Frame {
        self.obstacles[i as usize]
    }
}

/// Blocks that move along one direction.
pub(super) struct Along<'a> {
    pub at: &'a Place<'a>,
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

    fn obstacle(&self, i: u32) -> Frame {
        self.at.obstacles[i as usize]
    }
}

/// Block columns of a Jacobian that are taken at once.
pub(super) const COLUMNS: usize = 4;
/// Three directions for each of them.
pub(super) const LANES: usize = 3 * COLUMNS;

/// Blocks of which a few move along the three axes, each by `cx` in place and `cv` in velocity.
pub(super) struct Seeded<'a> {
    pub at: &'a Place<'a>,
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

    fn obstacle(&self, i: u32) -> Frame {
        self.at.obstacles[i as usize]
    }
}

/// Places that were kept, with the velocities of now: what lagged friction sees.
pub(super) struct Frozen<'a, B> {
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

    fn obstacle(&self, i: u32) -> Frame {
        let now = self.now.obstacle(i);
        Frame {
            pose: self.kept.obstacles[i as usize].pose,
            ..now
        }
    }
}
