//! Kinematic obstacles: shapes with a prescribed motion, unaffected by contact.

use std::sync::Arc;

use stiction_geometry::{LevelSet, TriMesh};

use stiction_math::Vec3;

use crate::{
    animated::AnimatedMesh,
    motion::{Motion, Pose},
};

pub use stiction_geometry::analytic::Shape as Solid;

/// The shape of an obstacle in its own frame.
#[derive(Clone, Debug, PartialEq)]
pub enum ObstacleShape {
    /// An analytic shape.
    Solid(Solid),
    /// A triangle mesh.
    Mesh(TriMesh),
    /// A closed triangle mesh with a sampled signed distance for contact.
    LevelSet(TriMesh, Arc<LevelSet>),
    /// A triangle mesh whose vertices move.
    Animated(Arc<AnimatedMesh>),
}

impl ObstacleShape {
    /// Its triangles, if it has a mesh.
    pub fn triangles(&self) -> &[[u32; 3]] {
        match self {
            Self::Solid(_) => &[],
            Self::Mesh(mesh) | Self::LevelSet(mesh, _) => &mesh.triangles,
            Self::Animated(mesh) => mesh.triangles(),
        }
    }
}

/// A fixed or moving obstacle.
#[derive(Clone, Debug, PartialEq)]
pub struct Obstacle {
    /// The name given in the scene.
    pub name: String,
    /// The material's name, looked up in the friction table.
    pub material: String,
    /// The shape in its own frame.
    pub shape: ObstacleShape,
    /// Initial pose of the frame.
    pub placement: Pose,
    /// Motion relative to the initial pose.
    pub motion: Option<Motion>,
}

impl Obstacle {
    /// Whether it ever moves.
    pub fn moves(&self) -> bool {
        self.motion.is_some() || matches!(self.shape, ObstacleShape::Animated(_))
    }

    /// Positions of the vertices of its mesh in the world at time `t` [s], into `out` (cleared first):
    /// none for an analytic shape [m].
    pub fn vertices(&self, t: f64, out: &mut Vec<Vec3>) {
        out.clear();
        match &self.shape {
            ObstacleShape::Solid(_) => {}
            ObstacleShape::Mesh(mesh) | ObstacleShape::LevelSet(mesh, _) => {
                out.extend_from_slice(&mesh.positions);
            }
            ObstacleShape::Animated(mesh) => mesh.positions(t, out),
        }
        let pose = self.pose(t);
        out.iter_mut().for_each(|x| *x = pose.apply(x));
    }

    /// Pose of the frame at time `t` [s].
    pub fn pose(&self, t: f64) -> Pose {
        let moved = self
            .motion
            .as_ref()
            .map_or_else(Pose::default, |m| m.pose(t));
        Pose {
            rotation: moved.rotation * self.placement.rotation,
            translation: moved.apply(&self.placement.translation),
        }
    }
}
