//! Kinematic obstacles: shapes with a prescribed motion, unaffected by contact.

use std::sync::Arc;

use stiction_geometry::{LevelSet, TriMesh};

use crate::motion::{Motion, Pose};

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
