//! Kinematic obstacles: shapes that are where their motion puts them, whatever touches them.

use stiction_geometry::TriMesh;
use stiction_math::Vec3;

use crate::motion::{Motion, Pose};

/// The shape of an obstacle in its own frame. Lengths in [m].
#[derive(Clone, Debug, PartialEq)]
pub enum Shape {
    /// All points with n·x ≤ offset.
    Plane {
        /// The unit normal n, pointing out of the obstacle.
        normal: Vec3,
        /// n·x on the surface.
        offset: f64,
    },
    /// An axis-parallel box about the origin.
    Box {
        /// Half the size along each axis.
        half: Vec3,
    },
    /// A ball about the origin.
    Sphere {
        /// Its radius.
        radius: f64,
    },
    /// A capsule along z about the origin.
    Capsule {
        /// Its radius.
        radius: f64,
        /// Half the length of its core.
        half: f64,
    },
    /// A cylinder along z about the origin.
    Cylinder {
        /// Its radius.
        radius: f64,
        /// Half its height.
        half: f64,
    },
    /// A cone along z, base at z = 0, apex at z = height.
    Cone {
        /// Its radius at the base.
        radius: f64,
        /// Its height.
        height: f64,
    },
    /// A torus about the z axis.
    Torus {
        /// From the axis to the middle of the tube.
        major: f64,
        /// The radius of the tube.
        minor: f64,
    },
    /// A triangle mesh.
    Mesh(TriMesh),
}

/// A fixed or moving obstacle.
#[derive(Clone, Debug, PartialEq)]
pub struct Obstacle {
    /// The name given in the scene.
    pub name: String,
    /// The material's name, looked up in the friction table.
    pub material: String,
    /// The shape in its own frame.
    pub shape: Shape,
    /// Where the frame starts.
    pub placement: Pose,
    /// How it moves from there.
    pub motion: Option<Motion>,
}

impl Obstacle {
    /// Where the frame is at time `t` [s].
    pub fn pose(&self, t: f64) -> Pose {
        let moved = self
            .motion
            .as_ref()
            .map_or_else(Pose::identity, |m| m.pose(t));
        Pose {
            rotation: moved.rotation * self.placement.rotation,
            translation: moved.apply(&self.placement.translation),
        }
    }
}
