//! Points that fill a closed surface evenly.
//!
//! The pattern is the additive recurrence of the generalised golden ratio g, the root of g⁴ = g + 1: point n of a box has
//! the fractional parts of n/g, n/g² and n/g³ as its coordinates [roberts2018]. It is as even as a jittered grid, has any density, and
//! is the same on every machine.

use stiction_math::Vec3;

use crate::{Aabb, InsideTest, MeshError, TriMesh};

/// g⁻¹, g⁻², g⁻³.
const STEPS: [f64; 3] = [
    0.819_172_513_396_164_4,
    0.671_043_606_703_789_2,
    0.549_700_477_901_970_3,
];

/// Number of points that [`fill`] examines: those of the surface's box.
pub fn fill_candidates(mesh: &TriMesh, density: f64) -> f64 {
    let size = Aabb::of(&mesh.positions).map_or(Vec3::zeros(), |b| b.max - b.min);
    (size.product() * density).ceil()
}

/// Points inside of a closed surface, `density` of them per cubic metre.
pub fn fill(mesh: &TriMesh, density: f64) -> Result<Vec<Vec3>, MeshError> {
    let inside = InsideTest::new(mesh)?;
    let Some(bounds) = Aabb::of(&mesh.positions) else {
        return Ok(Vec::new());
    };
    let size = bounds.max - bounds.min;
    let at = |n: u64| {
        let place = Vec3::from_fn(|axis, _| {
            let turns = 0.5 + STEPS[axis] * n as f64;
            turns - turns.floor()
        });
        bounds.min + size.component_mul(&place)
    };
    let candidates = 0..fill_candidates(mesh, density) as u64;
    Ok(candidates.map(at).filter(|x| inside.contains(x)).collect())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    /// Of the points of a box those inside of a tetrahedron, a sixth of it, are a sixth of them.
    #[test]
    fn numbers_of_points_are_volumes() {
        let positions = [Vec3::zeros(), Vec3::x(), Vec3::y(), Vec3::z()].to_vec();
        let triangles = vec![[0, 2, 1], [0, 1, 3], [1, 2, 3], [0, 3, 2]];
        let mesh = TriMesh {
            positions,
            triangles,
        };
        let points = fill(&mesh, 6000.0).unwrap();
        // The discrepancy of such sequences in a convex set is of the order of the surface, N^(2/3).
        assert!(
            (points.len() as f64 - 1000.0).abs() < 100.0,
            "{}",
            points.len()
        );
        assert!(points.iter().all(|x| x.min() >= 0.0 && x.sum() <= 1.0));
        let centre = points.iter().sum::<Vec3>() / points.len() as f64;
        assert!((centre - Vec3::repeat(0.25)).amax() < 0.02, "{centre}");
    }

    /// No two points are much closer than the spacing.
    #[test]
    fn points_keep_apart() {
        let mesh = crate::shapes::BoxSurface {
            size: [1.0; 3],
            cells: [1; 3],
        };
        let points = fill(&mesh.build().unwrap(), 500.0).unwrap();
        let spacing = 500f64.powf(-1.0 / 3.0);
        for (i, a) in points.iter().enumerate() {
            for b in &points[..i] {
                // A random pattern would have pairs at 0.05 spacings.
                assert!((a - b).norm() > 0.3 * spacing);
            }
        }
    }
}
