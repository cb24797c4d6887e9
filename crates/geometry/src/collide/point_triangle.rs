//! Point and triangle.

use stiction_math::Vec3;

use super::point_edge::{EdgeFeature, project};

/// The feature of a triangle on which the closest point lies.
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
    /// The feature on which the closest point lies.
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

    let foot = Foot::new(&legs, &from, &length2);
    if foot.trusted && foot.inside() {
        return foot.on_face();
    }
    let mut best = PointTriangle {
        weights: [1.0, 0.0, 0.0],
        separation: from[0],
        squared: f64::INFINITY,
        feature: TriangleFeature::Vertex(0),
    };
    if foot.inside() {
        best = foot.on_face();
    }
    // The squared distance is convex, so that its least value on the triangle lies on a side that
    // faces the foot; only if the foot is not trusted, all sides are tried.
    for k in 0..3 {
        let l = (k + 1) % 3;
        if foot.trusted && foot.weights[(k + 2) % 3] > 0.0 {
            continue;
        }
        let on = project(&from[k], &from[l], &legs[k]);
        if on.squared < best.squared {
            let mut weights = [0.0; 3];
            weights[k] = on.weights[0];
            weights[l] = on.weights[1];
            best = PointTriangle {
                weights,
                separation: on.separation,
                squared: on.squared,
                feature: match on.feature {
                    EdgeFeature::End(0) => TriangleFeature::Vertex(k as u8),
                    EdgeFeature::End(_) => TriangleFeature::Vertex(l as u8),
                    EdgeFeature::Interior => TriangleFeature::Edge(k as u8),
                },
            };
        }
    }
    best
}

/// Below this ratio of height to base the foot of the perpendicular alone is not accurate to
/// the last places; see the bound at [`point_triangle`].
const NEEDLE: f64 = 1e-6;

/// The foot of the perpendicular on the triangle's plane, as far as it exists.
struct Foot {
    /// Weights of the corners, of any sign; not numbers if there is no foot.
    weights: [f64; 3],
    /// From the foot to the point.
    separation: Vec3,
    /// Whether the triangle is round enough for this to be accurate.
    trusted: bool,
}

impl Foot {
    #[inline]
    fn new(legs: &[Vec3; 3], from: &[Vec3; 3], length2: &[f64; 3]) -> Foot {
        let i = longest(length2);
        let (j, k) = ((i + 1) % 3, (i + 2) % 3);
        let base2 = length2[i];
        // The apex relative to the end of the base that is nearer to it, and the height vector:
        // its part across the base. Taking the part along the base out a second time leaves an
        // error that does not grow as the height shrinks.
        let (origin, apex, e) = if length2[k] <= length2[j] {
            (i, -legs[k], legs[i])
        } else {
            (j, legs[j], -legs[i])
        };
        let inverse = 1.0 / base2;
        let once = apex - (apex.dot(&e) * inverse) * e;
        let height = once - (once.dot(&e) * inverse) * e;
        let height2 = height.norm_squared();
        let up = from[origin].dot(&height) / height2;
        let rest = from[origin] - up * apex;
        let along = rest.dot(&e) * inverse;
        let mut weights = [0.0; 3];
        weights[origin] = 1.0 - up - along;
        weights[k] = up;
        weights[i + j - origin] = along;
        Foot {
            weights,
            separation: rest - along * e,
            trusted: height2 > NEEDLE * NEEDLE * base2,
        }
    }

    #[inline]
    fn inside(&self) -> bool {
        self.weights.iter().all(|w| *w > 0.0)
    }

    #[inline]
    fn on_face(&self) -> PointTriangle {
        PointTriangle {
            weights: self.weights,
            separation: self.separation,
            squared: self.separation.norm_squared(),
            feature: TriangleFeature::Face,
        }
    }
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
    fn the_seven_regions_of_a_right_triangle_are_distinguished() {
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
