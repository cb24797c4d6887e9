//! Point and triangle.

use stiction_math::Vec3;

use super::point_edge::{EdgeFeature, project};

/// Where on a triangle the closest point lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum TriangleFeature {
    /// At corner 0, 1 or 2.
    Vertex(u8),
    /// Strictly inside edge k, which runs from corner k to corner (k + 1) mod 3.
    Edge(u8),
    /// Strictly inside the triangle.
    Face,
}

/// The point of a triangle that is closest to a given point.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PointTriangle {
    /// Weights of the three corners: non-negative, their sum is one up to rounding.
    pub weights: [f64; 3],
    /// From the closest point of the triangle to the given point [m].
    pub separation: Vec3,
    /// Squared distance [m²]: the squared length of `separation`.
    pub squared: f64,
    /// Where the closest point lies.
    pub feature: TriangleFeature,
}

/// The weights of the point of a triangle that is closest to `p`: non-negative, their sum is one
/// up to rounding. See [`point_triangle`] for the distance and the active feature.
pub fn closest_point_on_triangle(p: &Vec3, corners: &[Vec3; 3]) -> [f64; 3] {
    point_triangle(p, corners).weights
}

/// The point of the triangle `corners` that is closest to `p`.
///
/// Holds for every triangle, also needles and triangles without area. With L the largest
/// distance among the four points and u = 2⁻⁵³, the distance is accurate to about ten u L: the
/// foot of the perpendicular is found by orthogonalising the triangle's legs, whose error in
/// distance is d (u L/h)²/2 for a triangle of height h, and the edges are tried as well where
/// that matters, whose error is h²/(2 d); the smaller of the two never exceeds u L/2.
pub fn point_triangle(p: &Vec3, corners: &[Vec3; 3]) -> PointTriangle {
    let [a, b, c] = corners;
    let legs = [b - a, c - b, a - c];
    let from = [p - a, p - b, p - c];
    let length2 = legs.map(|e| e.norm_squared());

    let base = longest(&length2);
    let (foot, trusted) = foot(&legs, &from, base, length2[base]);
    if trusted && let Some(foot) = foot {
        return foot;
    }
    let mut best = foot;
    for k in 0..3 {
        let l = (k + 1) % 3;
        let on = project(&from[k], &from[l], &legs[k]);
        if best.is_none_or(|b| on.squared < b.squared) {
            let mut weights = [0.0; 3];
            weights[k] = on.weights[0];
            weights[l] = on.weights[1];
            best = Some(PointTriangle {
                weights,
                separation: on.separation,
                squared: on.squared,
                feature: match on.feature {
                    EdgeFeature::End(0) => TriangleFeature::Vertex(k as u8),
                    EdgeFeature::End(_) => TriangleFeature::Vertex(l as u8),
                    EdgeFeature::Interior => TriangleFeature::Edge(k as u8),
                },
            });
        }
    }
    // Only a point that is not finite finds no nearest edge.
    best.unwrap_or(PointTriangle {
        weights: [1.0, 0.0, 0.0],
        separation: from[0],
        squared: from[0].norm_squared(),
        feature: TriangleFeature::Vertex(0),
    })
}

/// Below this ratio of height to base the foot of the perpendicular alone is not accurate to
/// the last places; see the bound at [`point_triangle`].
const NEEDLE: f64 = 1e-6;

/// The foot of the perpendicular if it lies strictly inside, and whether the triangle is round
/// enough for it to be the final answer.
#[inline]
fn foot(
    legs: &[Vec3; 3],
    from: &[Vec3; 3],
    base: usize,
    base2: f64,
) -> (Option<PointTriangle>, bool) {
    if base2 == 0.0 {
        return (None, false);
    }
    let (i, j, k) = (base, (base + 1) % 3, (base + 2) % 3);
    let e = &legs[i];
    // The apex relative to the end of the base that is nearer to it, and the height vector:
    // its part across the base. Taking the part along the base out a second time leaves an
    // error that does not grow as the height shrinks.
    let (origin, apex, sign) = if legs[k].norm_squared() <= legs[j].norm_squared() {
        (i, -legs[k], 1.0)
    } else {
        (j, legs[j], -1.0)
    };
    let e = &(sign * e);
    let once = apex - (apex.dot(e) / base2) * e;
    let height = once - (once.dot(e) / base2) * e;
    let height2 = height.norm_squared();
    if height2 == 0.0 {
        return (None, false);
    }
    let up = from[origin].dot(&height) / height2;
    let rest = from[origin] - up * apex;
    let along = rest.dot(e) / base2;
    let left = 1.0 - up - along;
    if !(up > 0.0 && along > 0.0 && left > 0.0) {
        return (None, false);
    }
    let separation = rest - along * e;
    let mut weights = [0.0; 3];
    weights[origin] = left;
    weights[k] = up;
    weights[i + j - origin] = along;
    let foot = PointTriangle {
        weights,
        separation,
        squared: separation.norm_squared(),
        feature: TriangleFeature::Face,
    };
    (Some(foot), height2 > NEEDLE * NEEDLE * base2)
}

#[inline]
fn longest(length2: &[f64; 3]) -> usize {
    let mut k = 0;
    for i in 1..3 {
        if length2[i] > length2[k] {
            k = i;
        }
    }
    k
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_seven_regions_of_a_right_triangle_are_told_apart() {
        let corners = [
            Vec3::new(0.0, 0.0, 0.0),
            Vec3::new(4.0, 0.0, 0.0),
            Vec3::new(0.0, 4.0, 0.0),
        ];
        let check = |p: [f64; 3], feature, weights: [f64; 3], squared| {
            let found = point_triangle(&Vec3::from(p), &corners);
            assert_eq!(found.feature, feature, "{p:?}");
            assert_eq!(found.weights, weights, "{p:?}");
            assert_eq!(found.squared, squared, "{p:?}");
        };
        use TriangleFeature::{Edge, Face, Vertex};
        check([1.0, 1.0, -3.0], Face, [0.5, 0.25, 0.25], 9.0);
        check([1.0, -2.0, 2.0], Edge(0), [0.75, 0.25, 0.0], 8.0);
        check([4.0, 4.0, 1.0], Edge(1), [0.0, 0.5, 0.5], 9.0);
        check([-1.0, 1.0, 0.0], Edge(2), [0.75, 0.0, 0.25], 1.0);
        check([-1.0, -1.0, 0.0], Vertex(0), [1.0, 0.0, 0.0], 2.0);
        check([6.0, -1.0, 0.0], Vertex(1), [0.0, 1.0, 0.0], 5.0);
        check([-1.0, 7.0, 1.0], Vertex(2), [0.0, 0.0, 1.0], 11.0);
    }
}
