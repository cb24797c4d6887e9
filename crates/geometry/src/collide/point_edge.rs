//! Point and edge. The pair point and point is the edge whose ends coincide.

use stiction_math::Vec3;

/// The feature of an edge on which the closest point lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum EdgeFeature {
    /// At end 0 or 1.
    End(u8),
    /// Strictly between the ends.
    Interior,
}

/// The point of an edge that is closest to a given point.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PointEdge {
    /// Weights of the two ends: non-negative, their sum is one.
    pub weights: [f64; 2],
    /// From the closest point of the edge to the given point [m].
    pub separation: Vec3,
    /// Squared distance [m²]: the squared length of `separation`.
    pub squared: f64,
    /// The feature on which the closest point lies.
    pub feature: EdgeFeature,
}

/// The point of the edge `ends` that is closest to `p`.
///
/// The distance is accurate to a few units in the last place of |p − a| + |b − a|. An edge
/// whose squared length underflows counts as its first end.
pub fn point_edge(p: &Vec3, ends: &[Vec3; 2]) -> PointEdge {
    let from_a = p - ends[0];
    let from_b = p - ends[1];
    project(&from_a, &from_b, &(ends[1] - ends[0]))
}

/// Closest point from relative vectors: from either end to the point, and along the edge.
#[inline]
pub(crate) fn project(from_a: &Vec3, from_b: &Vec3, edge: &Vec3) -> PointEdge {
    let length2 = edge.norm_squared();
    let along = from_a.dot(edge);
    if along <= 0.0 || length2 == 0.0 {
        return at_end(0, from_a);
    }
    // Measured from the second end, so that neither end loses digits to the other.
    let back = -from_b.dot(edge);
    if back <= 0.0 {
        return at_end(1, from_b);
    }
    let (weights, separation) = if along <= back {
        let s = along / length2;
        ([1.0 - s, s], from_a - s * edge)
    } else {
        let s = back / length2;
        ([s, 1.0 - s], from_b + s * edge)
    };
    PointEdge {
        weights,
        separation,
        squared: separation.norm_squared(),
        feature: EdgeFeature::Interior,
    }
}

#[inline]
fn at_end(end: u8, separation: &Vec3) -> PointEdge {
    PointEdge {
        weights: if end == 0 { [1.0, 0.0] } else { [0.0, 1.0] },
        separation: *separation,
        squared: separation.norm_squared(),
        feature: EdgeFeature::End(end),
    }
}
