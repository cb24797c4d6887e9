//! The signed distance to the closest of some faces.
//!
//! Unlike blended planes it does not depend on the size of faces, and is never less than the distance
//! to the mesh. It is continuously differentiable where the closest point is unique: everywhere
//! outside a convex mesh. Its gradient jumps at points that are equally close to two faces, in front of
//! concave edges and deep inside.

use stiction_math::elementary::angle_between;
use stiction_math::{Real, Vec3, Vector};

use super::Jet;
use crate::collide::{TriangleFeature, point_triangle};

/// The closest of some faces to a point.
#[derive(Clone, Copy, Debug)]
pub struct Closest {
    /// Its place in the caller's list.
    pub face: usize,
    /// The feature of the face on which the closest point lies.
    pub feature: TriangleFeature,
    /// 1 where the normals point, −1 on the other side; beyond a border, those of the planes that end there.
    pub sign: f64,
    /// Whether it lies on a border.
    pub border: bool,
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

/// The largest distance [m] of a face that may be the closest one to a point within `margin` [m], where the closest face
/// is `closest` [m] away now, with what rounding may add.
pub fn farthest_closest(closest: f64, margin: f64) -> f64 {
    (closest + 2.0 * margin) * (1.0 + TIE) + f64::MIN_POSITIVE
}

/// A face: its corners [m], its border bits and how far it reaches [m].
pub(super) type Face = ([Vec3; 3], u8, f64);

/// The closest of `faces` to `q` [m]; faces without area, and those out of reach, are left out. None
/// without faces.
///
/// On which side q lies is decided by the face, or by the angle-weighted mean normal of the faces at the
/// closest edge or vertex, which is right for every closed mesh.
pub(super) fn closest(q: &Vec3, faces: impl Iterator<Item = Face> + Clone) -> Option<Closest> {
    let mut best: Option<(usize, crate::collide::PointTriangle, [Vec3; 3])> = None;
    for (i, (x, _, reach)) in faces.clone().enumerate() {
        let a = area(&x);
        if !a.norm().is_normal() {
            continue;
        }
        let limit = best.map_or(f64::INFINITY, |b| b.1.squared);
        if is_farther(q, &x, &a, limit) {
            continue;
        }
        let found = point_triangle(q, &x);
        if found.squared < reach * reach && best.is_none_or(|b| found.squared < b.1.squared) {
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
    let (side, border) = match found.feature {
        TriangleFeature::Face => (sign(&area(&x)), false),
        _ => {
            let mut normal = Vec3::zeros();
            let mut open = false;
            let limit = found.squared * (1.0 + TIE);
            for (x, border, _) in faces {
                let a = area(&x);
                if is_farther(q, &x, &a, limit) {
                    continue;
                }
                let other = point_triangle(q, &x);
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
                        (angle_between(&to, &from), 1 << k | 1 << ((k + 2) % 3))
                    }
                };
                open |= border & bits != 0;
                normal += a.normalize() * angle;
            }
            (sign(&normal), open)
        }
    };
    Some(Closest {
        face,
        feature: found.feature,
        sign: side,
        border,
        distance: found.squared.sqrt(),
    })
}

/// Whether the plane of the face `x` with the area vector `a`, and so the face, is farther away than √`limit`.
fn is_farther(q: &Vec3, x: &[Vec3; 3], a: &Vec3, limit: f64) -> bool {
    let height = a.dot(&(q - x[0]));
    height * height > limit * (1.0 + TIE) * a.norm_squared()
}

fn area(x: &[Vec3; 3]) -> Vec3 {
    (x[1] - x[0]).cross(&(x[2] - x[0])) * 0.5
}

/// The distance to a face and its derivatives.
pub(super) struct Distance<T> {
    pub jet: Jet<T>,
    /// Weights of the corners in the closest point.
    pub weights: [T; 3],
    /// Derivatives by the corners.
    pub by_corners: [Vector<T>; 3],
    pub normal: Vector<T>,
    pub area: T,
}

/// The signed distance from a point to a face [m], with its derivatives.
#[derive(Clone, Copy, Debug)]
pub struct FaceDistance<T> {
    /// The distance [m]; negative inside.
    pub value: T,
    /// Its derivative by the point.
    pub gradient: Vector<T>,
    /// Its derivatives by the corners.
    pub by_corners: [Vector<T>; 3],
}

impl<T: Real> FaceDistance<T> {
    /// The distance from `q` to the face with the corners `x`, where [`closest`](super::closest) found it, on the side
    /// `side` of an open sheet that goes on level for a fraction of `level` [m] beyond its border; none without area.
    pub fn new(
        q: &Vector<T>,
        x: &[Vector<T>; 3],
        closest: &Closest,
        side: f64,
        level: f64,
    ) -> Option<Self> {
        let found = distance(q, x, closest, side, level)?;
        Some(Self {
            value: found.jet.value,
            gradient: found.jet.gradient,
            by_corners: found.by_corners,
        })
    }
}

/// The signed distance from `q` to the face `x`, on the side `side` of an open sheet.
///
/// Beyond a border, at the height z over the plane of the face and the distance s from the border along that plane, the
/// distance is ρ = √(z² + σ²) for z ≥ 0 and ρ − 2 z²/ρ below: z itself straight below the border, where a point that was
/// pressed through the sheet lies, and continuously differentiable from there around the border. σ is s, or
/// [`lateral`] with `level` > 0 [m].
pub(super) fn distance<T: Real>(
    q: &Vector<T>,
    x: &[Vector<T>; 3],
    closest: &Closest,
    side: f64,
    level: f64,
) -> Option<Distance<T>> {
    let a = (x[1] - x[0]).cross(&(x[2] - x[0])).times(0.5);
    let area = a.norm();
    if !area.value().is_normal() {
        return None;
    }
    let one = T::constant(1.0);
    let zero = T::constant(0.0);
    let normal = a.scale(one / area);
    // Weights of the corners in the foot of q on the plane: (r × f)·n and (e × r)·n over twice the area.
    let foot = || {
        let (e, f, r) = (x[1] - x[0], x[2] - x[0], *q - x[0]);
        let half = T::constant(0.5) / area;
        let (b, c) = (
            r.cross(&f).dot(&normal) * half,
            e.cross(&r).dot(&normal) * half,
        );
        [-(b + c) + 1.0, b, c]
    };
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
        TriangleFeature::Face => weights = foot(),
    }
    let c = x[0].scale(weights[0]) + x[1].scale(weights[1]) + x[2].scale(weights[2]);
    let r = *q - c;
    let length = r.norm();
    let height = normal.dot(&(*q - x[0])) * side;
    let done = |value: T, by_length: T, by_height: T| {
        // Along the line from the closest point, and along the normal.
        let along = if length.value().is_normal() {
            r.scale(by_length / length)
        } else {
            Vector::zero()
        };
        let upright = normal.scale(by_height * side);
        let mut by_corners = weights.map(|w| -along.scale(w));
        if by_height.value() != 0.0 {
            for (by_corner, foot) in by_corners.iter_mut().zip(foot()) {
                *by_corner = *by_corner - upright.scale(foot);
            }
        }
        Some(Distance {
            jet: Jet {
                value,
                gradient: along + upright,
            },
            weights,
            by_corners,
            normal,
            area,
        })
    };
    if matches!(closest.feature, TriangleFeature::Face) || !length.value().is_normal() {
        return done(height, zero, one);
    }
    if !closest.border {
        let sign = T::constant(closest.sign * side);
        return done(length * sign, sign, zero);
    }
    // With ρ and its derivatives by the length and the height.
    let (rho, by_length, by_height) = if level > 0.0 {
        let square = length.squared() - height.squared();
        let Some((sigma, slope)) = lateral(square, level) else {
            return done(height, zero, one);
        };
        let rho = (height.squared() + sigma.squared()).sqrt();
        // s ds = ℓ dℓ − z dz.
        let along = sigma * slope / (rho * square.sqrt());
        (rho, along * length, (one / rho - along) * height)
    } else {
        (length, one, zero)
    };
    if height.value() >= 0.0 {
        return done(rho, by_length, by_height);
    }
    let slope = height / rho;
    let by_rho = slope.squared() * 2.0 + 1.0;
    done(
        rho - height * slope * 2.0,
        by_length * by_rho,
        by_height * by_rho - slope * 4.0,
    )
}

/// Fractions of `level` between which σ grows from nothing to s.
const LATERAL: [f64; 2] = [0.2, 0.6];

/// σ(s) and its slope for s² = `square` [m²]: nothing up to 0.2 `level` beyond a border, s from 0.6 `level` on, and twice
/// continuously differentiable; none where it is nothing.
///
/// A sheet of finite elements that has slid by a little over another of the same size still rests on its border nodes, which
/// stand for the half of a cell inside. A distance would turn their normals outwards at once, by s/δ.
fn lateral<T: Real>(square: T, level: f64) -> Option<(T, T)> {
    let [begin, end] = LATERAL.map(|b| b * level);
    if square.value() <= begin * begin {
        return None;
    }
    let s = square.sqrt();
    if s.value() >= end {
        return Some((s, T::constant(1.0)));
    }
    // σ = s w(t) with w = t³ (10 − 15 t + 6 t²).
    let per = 1.0 / (end - begin);
    let t = (s + (-begin)) * per;
    let t2 = t.squared();
    let w = t2 * t * (t2 * 6.0 - t * 15.0 + 10.0);
    let dw = t2 * (-t + 1.0).squared() * (30.0 * per);
    Some((s * w, w + s * dw))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use stiction_math::Vec3;

    use crate::implicit::{Blend, RigidSurface, facets};
    use crate::shapes::BoxSurface;
    use crate::{SplitMix, TriMesh};

    fn surface(mesh: &TriMesh) -> (RigidSurface, Vec<u32>) {
        let samples = facets(&mesh.triangles, mesh.positions.len(), 10.0);
        let near = (0..samples.len() as u32).collect();
        (RigidSurface::new(&samples, &mesh.positions).unwrap(), near)
    }

    /// An L-shaped prism: the square [−1, 1]² without its quarter x, y > 0, from z = −1 to 1.
    fn bracket() -> TriMesh {
        let outline = [
            (-1.0, -1.0),
            (1.0, -1.0),
            (1.0, 0.0),
            (0.0, 0.0),
            (0.0, 1.0),
            (-1.0, 1.0),
        ];
        let level = |z: f64| outline.map(|(x, y)| Vec3::new(x, y, z));
        let positions = [level(-1.0), level(1.0)].concat();
        let cap = [[0, 1, 2], [0, 2, 3], [0, 3, 4], [0, 4, 5]];
        let mut triangles = Vec::new();
        for [a, b, c] in cap {
            triangles.push([a, c, b]);
            triangles.push([a + 6, b + 6, c + 6]);
        }
        for i in 0..6u32 {
            let j = (i + 1) % 6;
            triangles.extend([[i, j, j + 6], [i, j + 6, i + 6]]);
        }
        TriMesh {
            positions,
            triangles,
        }
    }

    #[test]
    fn a_coarse_box_has_its_exact_distance_inside_and_out() {
        let size = [1.0, 0.1, 0.02];
        let cells = [1, 1, 1];
        let (surface, near) = surface(&BoxSurface { size, cells }.build().unwrap());
        let half = Vec3::from(size) * 0.5;
        let mut random = SplitMix::new(3);
        for _ in 0..2000 {
            let mut c = || 2.0 * random.uniform() - 1.0;
            let q = Vec3::new(0.8 * c(), 0.3 * c(), 0.1 * c());
            let out = q.abs() - half;
            let expected = out.sup(&Vec3::zeros()).norm() + out.max().min(0.0);
            let jet = surface.jet(
                &stiction_math::Vector::constant(&q),
                &near,
                &Blend::default(),
            );
            let found: f64 = jet.unwrap().value;
            assert!(
                (found - expected).abs() < 1e-12,
                "{q:?}: {found} {expected}"
            );
        }
    }

    #[test]
    fn the_side_is_right_at_concave_edges_and_vertices() {
        let (surface, near) = surface(&bracket());
        let mut random = SplitMix::new(4);
        let mut inside = 0;
        for i in 0..4000 {
            // Half of the points are close to the concave edge.
            let scale = if i % 2 == 0 { 1.5 } else { 0.05 };
            let mut c = || 2.0 * random.uniform() - 1.0;
            let q = Vec3::new(scale * c(), scale * c(), 1.5 * c());
            let square = q.amax() < 1.0;
            let is_inside = square && (q.x < 0.0 || q.y < 0.0);
            inside += i32::from(is_inside);
            let height = surface.height(&q, &near).unwrap();
            assert_eq!(height < 0.0, is_inside, "{q:?}: {height}");
        }
        assert!(inside > 500);
    }
}
