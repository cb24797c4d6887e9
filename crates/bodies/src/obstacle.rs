//! Kinematic obstacles: shapes that are where their motion puts them, whatever touches them.

use std::sync::Arc;

use stiction_geometry::{LevelSet, TriMesh};

use crate::motion::{Motion, Pose};

pub use stiction_geometry::analytic::Shape as Solid;

/// The shape of an obstacle in its own frame.
#[derive(Clone, Debug, PartialEq)]
pub enum Shape {
    /// A solid given by formula.
    Solid(Solid),
    /// A triangle mesh.
    Mesh(TriMesh),
    /// A closed triangle mesh that is seen as it is and touched as its sampled signed distance.
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
            .map_or_else(Pose::default, |m| m.pose(t));
        Pose {
            rotation: moved.rotation * self.placement.rotation,
            translation: moved.apply(&self.placement.translation),
        }
    }
}
