use super::scene::V;

/// Angle above which triangles keep their common edge sharp.
const CREASE: f32 = 40.0;

/// Unit normals, one per corner of each triangle.
///
/// With `smooth`, a corner averages the triangles around its vertex that lie within the crease
/// angle of its own, weighted by their angle at the vertex, which does not depend on the
/// triangulation of a flat region. A degenerate triangle uses the normals of its neighbours.
pub(super) fn corner_normals(positions: &[V], triangles: &[[u32; 3]], smooth: bool) -> Vec<[V; 3]> {
    let faces: Vec<V> = triangles
        .iter()
        .map(|t| face_normal(positions, *t))
        .collect();
    if !smooth {
        return faces.iter().map(|&normal| [normal; 3]).collect();
    }
    // Corners by vertex, in the order of the triangles, so that sums are the same for all of them.
    let mut start = vec![0usize; positions.len() + 1];
    for &vertex in triangles.as_flattened() {
        start[vertex as usize + 1] += 1;
    }
    for at in 1..start.len() {
        start[at] += start[at - 1];
    }
    let mut fill = start.clone();
    let mut corners = vec![(0usize, 0f32); 3 * triangles.len()];
    for (face, triangle) in triangles.iter().enumerate() {
        for k in 0..3 {
            let [p, q, r] = [k, (k + 1) % 3, (k + 2) % 3].map(|i| positions[triangle[i] as usize]);
            let slot = &mut fill[triangle[k] as usize];
            corners[*slot] = (face, (q - p).angle(&(r - p)));
            *slot += 1;
        }
    }
    let limit = CREASE.to_radians().cos();
    let corner = |face: usize, vertex: u32| {
        let own = faces[face];
        let around = &corners[start[vertex as usize]..start[vertex as usize + 1]];
        let mut sum = V::zeros();
        for &(other, angle) in around {
            if own == V::zeros() || faces[other].dot(&own) >= limit {
                sum += faces[other] * angle;
            }
        }
        sum.try_normalize(1e-12).unwrap_or(own)
    };
    let per_face = |(face, t): (usize, &[u32; 3])| t.map(|vertex| corner(face, vertex));
    triangles.iter().enumerate().map(per_face).collect()
}

/// Zero for a triangle without area.
fn face_normal(positions: &[V], triangle: [u32; 3]) -> V {
    let [a, b, c] = triangle.map(|i| positions[i as usize]);
    (b - a)
        .cross(&(c - a))
        .try_normalize(1e-20)
        .unwrap_or_else(V::zeros)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    use super::*;
    use crate::picture::tests::{cube, sphere};

    #[test]
    fn a_sphere_is_smooth_and_a_cube_keeps_its_edges() {
        let (positions, triangles) = sphere(24, 48, 1.0);
        let positions: Vec<V> = positions.iter().map(|p| p.cast()).collect();
        for (triangle, normals) in triangles
            .iter()
            .zip(corner_normals(&positions, &triangles, true))
        {
            for k in 0..3 {
                let exact = positions[triangle[k] as usize];
                assert!(normals[k].dot(&exact) > 0.999, "{}", normals[k].dot(&exact));
            }
        }
        let (positions, triangles) = cube(1.0);
        let positions: Vec<V> = positions.iter().map(|p| p.cast()).collect();
        for (triangle, normals) in triangles
            .iter()
            .zip(corner_normals(&positions, &triangles, true))
        {
            for normal in normals {
                assert!((normal - face_normal(&positions, *triangle)).norm() < 1e-6);
            }
        }
    }
}
