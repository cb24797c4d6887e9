//! The signed distance to the closest of some faces.
//!
//! Unlike blended planes it does not depend on the size of faces, and is never less than the distance
//! to the mesh. It is continuously differentiable where the closest point is unique: everywhere
//! outside a convex mesh. Its gradient jumps at points that are equally close to two faces, in front of
//! concave edges and deep inside.

use stiction_math::{Real, Vec3, Vector};

use super::Jet;
use crate::collide::{TriangleFeature, point_triangle};

/// The closest of some faces to a point.
#[derive(Clone, Copy, Debug)]
pub struct Closest {
    /// Its place in the caller's list.
    pub face: usize,
    /// Where on it the closest point lies.
    pub feature: TriangleFeature,
    /// 1 where the normals point, −1 on the other side, 0 beyond a border, which has no sides.
    pub sign: f64,
    /// The distance [m].
    pub distance: f64,
}

impl Closest {
    /// The signed distance [m]: negative on the side where the normals do not point.
    pub fn signed(&self) -> f64 {
        if self.sign < 0.0 {
            -self.distance
        } else {
            self.distance
        }
    }
}

/// Faces are equally close if their squared distances differ by this fraction.
const TIE: f64 = 1e-9;

/// The closest of `faces` (corners [m], border bits) to `q` [m]; faces without area are left out. None
/// without faces.
///
/// On which side q lies is decided by the face, or by the angle-weighted mean normal of the faces at the
/// closest edge or vertex, which is right for every closed mesh.
pub(super) fn closest(
    q: &Vec3,
    faces: impl Iterator<Item = ([Vec3; 3], u8)> + Clone,
) -> Option<Closest> {
    let mut best: Option<(usize, crate::collide::PointTriangle, [Vec3; 3])> = None;
    for (i, (x, _)) in faces.clone().enumerate() {
        if !area(&x).norm().is_normal() {
            continue;
        }
        let found = point_triangle(q, &x);
        if best.is_none_or(|b| found.squared < b.1.squared) {
            best = Some((i, found, x));
        }
    }
    let (face, found, x) = best?;
    let sign = |normal: &Vec3| {
        if normal.dot(&found.separation) < 0.0 {
            -1.0
        } else {
            1.0
        }
    };
    let side = match found.feature {
        TriangleFeature::Face => sign(&area(&x)),
        _ => {
            let mut normal = Vec3::zeros();
            let mut open = false;
            let limit = found.squared * (1.0 + TIE);
            for (x, border) in faces {
                let other = point_triangle(q, &x);
                let a = area(&x);
                if other.squared > limit
                    || (other.separation - found.separation).norm_squared() > TIE * found.squared
                    || !a.norm().is_normal()
                {
                    continue;
                }
                let (angle, bits) = match other.feature {
                    TriangleFeature::Face => (std::f64::consts::PI, 0),
                    TriangleFeature::Edge(k) => (std::f64::consts::PI, 1 << k),
                    TriangleFeature::Vertex(k) => {
                        let k = k as usize;
                        let (to, from) = (x[(k + 1) % 3] - x[k], x[(k + 2) % 3] - x[k]);
                        (to.angle(&from), 1 << k | 1 << ((k + 2) % 3))
                    }
                };
                open |= border & bits != 0;
                normal += a.normalize() * angle;
            }
            if open { 0.0 } else { sign(&normal) }
        }
    };
    Some(Closest {
        face,
        feature: found.feature,
        sign: side,
        distance: found.squared.sqrt(),
    })
}

fn area(x: &[Vec3; 3]) -> Vec3 {
    (x[1] - x[0]).cross(&(x[2] - x[0])) * 0.5
}

/// The distance to a face and its derivatives.
pub(super) struct Distance<T> {
    pub jet: Jet<T>,
    /// Weights of the corners in the closest point. The derivative by a corner is −weight · gradient.
    pub weights: [T; 3],
    pub normal: Vector<T>,
    pub area: T,
}

/// The signed distance from `q` to the face `x`, on the side `side` of an open sheet.
pub(super) fn distance<T: Real>(
    q: &Vector<T>,
    x: &[Vector<T>; 3],
    closest: &Closest,
    side: f64,
) -> Option<Distance<T>> {
    let a = (x[1] - x[0]).cross(&(x[2] - x[0])).times(0.5);
    let area = a.norm();
    if !area.value().is_normal() {
        return None;
    }
    let one = T::constant(1.0);
    let zero = T::constant(0.0);
    let normal = a.scale(one / area);
    let mut weights = [zero; 3];
    match closest.feature {
        TriangleFeature::Vertex(k) => weights[k as usize % 3] = one,
        TriangleFeature::Edge(k) => {
            let (k, l) = (k as usize % 3, (k as usize + 1) % 3);
            let edge = x[l] - x[k];
            let t = (*q - x[k]).dot(&edge) / edge.norm_squared();
            weights[l] = t;
            weights[k] = -t + 1.0;
        }
        TriangleFeature::Face => {
            let (e, f, r) = (x[1] - x[0], x[2] - x[0], *q - x[0]);
            // (r × f)·n and (e × r)·n over twice the area.
            let half = T::constant(0.5) / area;
            let (b, c) = (
                r.cross(&f).dot(&normal) * half,
                e.cross(&r).dot(&normal) * half,
            );
            weights = [-(b + c) + 1.0, b, c];
        }
    }
    let c = x[0].scale(weights[0]) + x[1].scale(weights[1]) + x[2].scale(weights[2]);
    let r = *q - c;
    let length = r.norm();
    // Beyond a border both sides are outside.
    let sign = if closest.sign == 0.0 {
        1.0
    } else {
        closest.sign * side
    };
    let flat = matches!(closest.feature, TriangleFeature::Face) || !length.value().is_normal();
    let jet = if flat {
        Jet {
            value: normal.dot(&(*q - x[0])) * side,
            gradient: normal.times(side),
        }
    } else {
        Jet {
            value: length * sign,
            gradient: r.scale(T::constant(sign) / length),
        }
    };
    Some(Distance {
        jet,
        weights,
        normal,
        area,
    })
}
