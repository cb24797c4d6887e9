//! A square patch of a plane, as an obstacle.

use stiction_math::Vec3;
use stiction_math::elementary::{rotation_about, rotation_between};

use super::{ShapeError, Sheet, SheetPattern, positive, require};
use crate::mesh::TriMesh;

/// A square patch of the plane through the origin with the given normal, facing along it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PlanePatch {
    /// Direction of the normal, of any length but zero.
    pub normal: [f64; 3],
    /// Edge length [m].
    pub size: f64,
    /// Number of cells along each edge.
    pub cells: u32,
}

const SHAPE: &str = "plane patch";

impl PlanePatch {
    /// The number of vertices.
    pub fn node_count(&self) -> Result<u64, ShapeError> {
        positive(SHAPE, "size", self.size)?;
        let length = Vec3::from(self.normal).norm();
        let good = length > 0.0 && length.is_finite();
        require(good, SHAPE, "normal", "finite and not zero", length)?;
        self.sheet().node_count()
    }

    /// Builds the mesh.
    pub fn build(&self) -> Result<TriMesh, ShapeError> {
        self.node_count()?;
        let mut mesh = self.sheet().build()?;
        // Straight down has no unique shortest rotation from +z; half a turn about x serves.
        let turn = rotation_between(&Vec3::z(), &Vec3::from(self.normal))
            .unwrap_or(rotation_about(&Vec3::x_axis(), std::f64::consts::PI));
        mesh.transform(&turn, &Vec3::new(1.0, 1.0, 1.0), &Vec3::zeros());
        Ok(mesh)
    }

    fn sheet(&self) -> Sheet {
        Sheet {
            size: [self.size; 2],
            cells: [self.cells; 2],
            pattern: SheetPattern::Regular,
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn patches_face_along_their_normal() {
        for normal in [
            [0.0, 0.0, 1.0],
            [0.0, 0.0, -2.0],
            [1.0, 0.0, 0.0],
            [0.3, -2.0, 0.1],
        ] {
            let shape = PlanePatch {
                normal,
                size: 2.0,
                cells: 3,
            };
            let m = shape.build().unwrap();
            assert!((m.area() - 4.0).abs() < 1e-12);
            let n = Vec3::from(normal).normalize();
            for t in m.triangle_normals() {
                assert!((t - n).norm() < 1e-12, "{normal:?}: {t}");
            }
        }
        let flat = PlanePatch {
            normal: [0.0; 3],
            size: 2.0,
            cells: 3,
        };
        let message = flat.build().unwrap_err().to_string();
        assert!(message.contains("`normal` must be finite and not zero"));
    }
}
