//! Obstacles as meshes, for frames.

use stiction_bodies::{
    Model, State,
    obstacle::{ObstacleShape, Solid},
};
use stiction_geometry::{
    Aabb, TriMesh,
    shapes::{
        BallSurface, BoxSurface, CapsuleSurface, Cone, CylinderSurface, PlanePatch, ShapeError,
        TorusSurface,
    },
};
use stiction_math::{Quat, Vec3};

/// The prefix of an obstacle's name in a time series.
pub const PREFIX: &str = "obstacle.";

/// Sides of a circle: smooth enough for a picture.
const AROUND: u32 = 48;

/// The mesh of every obstacle in its own frame. A plane becomes a patch under the bodies.
pub(crate) fn meshes(model: &Model, state: &State) -> Vec<TriMesh> {
    let mut points = Vec::new();
    let mut all = Vec::new();
    for body in &model.bodies {
        body.surface
            .positions(&state.x, &state.rotations, &mut points);
        all.append(&mut points);
    }
    let bounds = Aabb::of(&all);
    let of = |shape: &ObstacleShape| match shape {
        ObstacleShape::Mesh(mesh) | ObstacleShape::LevelSet(mesh, _) => Ok(mesh.clone()),
        ObstacleShape::Solid(solid) => tessellate(solid, bounds.as_ref()),
        ObstacleShape::Animated(mesh) => {
            let mut first = TriMesh {
                triangles: mesh.triangles().to_vec(),
                ..TriMesh::default()
            };
            mesh.positions(state.time, &mut first.positions);
            Ok(first)
        }
    };
    // A shape that cannot be meshed is not shown; the run does not depend on it.
    model
        .obstacles
        .iter()
        .map(|o| of(&o.shape).unwrap_or_default())
        .collect()
}

fn tessellate(solid: &Solid, bodies: Option<&Aabb>) -> Result<TriMesh, ShapeError> {
    match *solid {
        Solid::Plane { normal, offset } => {
            let (centre, extent) =
                bodies.map_or((Vec3::zeros(), 1.0), |b| (b.centre(), b.diagonal()));
            let size = 12.0 * extent.max(1e-3);
            let patch = PlanePatch {
                normal: normal.into(),
                size,
                cells: 1,
            };
            let mut mesh = patch.build()?;
            let foot = centre - normal * (centre.dot(&normal) - offset);
            mesh.transform(&Quat::identity(), &Vec3::repeat(1.0), &foot);
            Ok(mesh)
        }
        Solid::Box { half } => BoxSurface {
            size: (half * 2.0).into(),
            cells: [1; 3],
        }
        .build(),
        Solid::Sphere { radius } => BallSurface {
            radius,
            frequency: 12,
        }
        .build(),
        Solid::Capsule { radius, half } => CapsuleSurface {
            radius,
            length: 2.0 * half,
            rings: 12,
            along: 1,
        }
        .build(),
        Solid::Cylinder { radius, half } => CylinderSurface {
            radius,
            length: 2.0 * half,
            around: AROUND,
            along: 1,
        }
        .build(),
        Solid::Cone { radius, height } => Cone {
            radius,
            height,
            around: AROUND,
            along: 1,
        }
        .build(),
        Solid::Torus { major, minor } => TorusSurface {
            major,
            minor,
            around: AROUND,
            across: 24,
        }
        .build(),
    }
}
