//! Points of colliders that are kept out of surfaces: vertices, and more of them where edges and
//! faces are long.
//!
//! Two surfaces can meet without a vertex of either near the other: two planks that cross, a plank
//! over a ball. Edges along which a surface bends or ends are therefore divided finer than half of
//! the narrowest other collider, so that a point of the one lies on a face of the other wherever edges
//! cross. Faces are divided where there are analytic shapes, which have no vertices.
//! Faces and edges that are shorter stay as they are: a fine mesh has its vertices alone.

use stiction_geometry::analytic::Shape;
use stiction_geometry::implicit::{borders, creases};
use stiction_math::Vec3;

use crate::detect::{Collider, ColliderForm, Points};

/// Distances of points on edges and faces [m].
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Spacing {
    edges: f64,
    faces: f64,
    /// The width of the narrowest collider [m].
    narrowest: f64,
}

/// A point on a face or an edge: corners and their weights.
pub(super) type Extra = [(u32, f64); 3];

/// Edges are divided by this fraction of the narrowest collider.
const FRACTION: f64 = 0.5;
/// No spacing is less than this many contact thicknesses.
const FINEST: f64 = 2.0;
/// Lengths within this fraction of a spacing of a whole number of spacings are whole.
const WHOLE: f64 = 1e-6;
/// Number of directions along which the width of a mesh is measured.
const DIRECTIONS: usize = 64;
/// The largest number of such points of one collider.
const MOST: usize = 50_000;

impl Spacing {
    /// The spacing of every collider among the others; contacts begin at the distance `delta` [m].
    pub fn of(colliders: &[Collider], delta: f64) -> Vec<Self> {
        let widths: Vec<Option<f64>> = colliders.iter().map(width).collect();
        let of = |own: usize| {
            let mut spacing = Self {
                edges: f64::INFINITY,
                faces: f64::INFINITY,
                narrowest: f64::INFINITY,
            };
            for (i, collider) in colliders.iter().enumerate() {
                let Some(width) = widths[i].filter(|_| i != own) else {
                    continue;
                };
                let half = FRACTION * width;
                let finest = FINEST * delta;
                spacing.narrowest = spacing.narrowest.min(width);
                spacing.edges = spacing.edges.min(half.max(finest));
                if matches!(collider.form, ColliderForm::Shape(_)) {
                    // A face that spans this far over a ball of that width sinks in by δ/4.
                    let sag = (width * delta).sqrt().min(half);
                    spacing.faces = spacing.faces.min(sag.max(finest));
                }
            }
            spacing
        };
        (0..colliders.len()).map(of).collect()
    }

    /// The spacing for obstacles, which do not collide with analytic shapes.
    pub fn of_obstacle(self) -> Self {
        Self {
            faces: f64::INFINITY,
            ..self
        }
    }

    /// The query points of a mesh in addition to its vertices; an error if there are too many.
    pub fn points(&self, triangles: &[[u32; 3]], rest: &[Vec3]) -> Result<Vec<Extra>, String> {
        let mut list: Vec<Extra> = Vec::new();
        let too_many = |length: f64| {
            let narrowest = self.narrowest;
            format!(
                "its faces and edges are up to {length:.3} m long, and the narrowest body or obstacle is \
                 {narrowest:.4} m wide: it would need more than {MOST} contact points; divide it into \
                 smaller bodies, or raise `contact.thickness`"
            )
        };
        let edges = match self.edges.is_finite() {
            true => creases(triangles, rest, 1.0).edges,
            false => Vec::new(),
        };
        for [a, b] in edges {
            let length = (rest[b as usize] - rest[a as usize]).norm();
            let parts = parts(length, self.edges);
            if parts.is_nan() || parts >= MOST as f64 - list.len() as f64 {
                return Err(too_many(length));
            }
            let parts = parts as u32;
            for i in 1..parts {
                let t = f64::from(i) / f64::from(parts);
                list.push([(a, 1.0 - t), (b, t), (b, 0.0)]);
            }
        }
        if !self.faces.is_finite() {
            return Ok(list);
        }
        for corners in triangles {
            let x = corners.map(|c| rest[c as usize]);
            let length = (0..3).map(|k| (x[k] - x[(k + 1) % 3]).norm());
            let length = length.fold(0.0, f64::max);
            let parts = parts(length, self.faces);
            if parts.is_nan() || 0.5 * parts * parts >= MOST as f64 - list.len() as f64 {
                return Err(too_many(length));
            }
            let parts = parts as u32;
            // Points inside the face; its edges have their own.
            for i in 1..parts {
                for j in 1..parts.saturating_sub(i) {
                    let (b, c) = (
                        f64::from(i) / f64::from(parts),
                        f64::from(j) / f64::from(parts),
                    );
                    let weights = [1.0 - b - c, b, c];
                    list.push(std::array::from_fn(|k| (corners[k], weights[k])));
                }
            }
        }
        Ok(list)
    }
}

/// Smallest width of a collider [m]; none if it has no faces or no bounds.
fn width(collider: &Collider) -> Option<f64> {
    let (triangles, x, closed) = match &collider.form {
        ColliderForm::Shape(shape) => {
            return match *shape {
                Shape::Plane { .. } => None,
                Shape::Box { half } => Some(2.0 * half.min()),
                Shape::Sphere { radius } | Shape::Capsule { radius, .. } => Some(2.0 * radius),
                Shape::Cylinder { radius, half } => Some(2.0 * radius.min(half)),
                Shape::Cone { radius, height } => Some(radius.min(height)),
                Shape::Torus { minor, .. } => Some(2.0 * minor),
            };
        }
        ColliderForm::LevelSet(_) => return None,
        ColliderForm::Mesh(mesh) => (&mesh.triangles, &mesh.vertices, mesh.closed),
        ColliderForm::Body(body) => {
            let x = match &body.points {
                Points::Rigid { local, .. } => local,
                Points::Weighted { .. } => &body.rest,
            };
            (&body.triangles, x, body.closed)
        }
    };
    // A broken mesh is refused elsewhere.
    if triangles.iter().flatten().any(|&v| v as usize >= x.len()) {
        return None;
    }
    let directions = match closed {
        true => directions(triangles.len(), |i| normal(&triangles[i], x)),
        // A sheet is flat: its width is that across a border edge, in the plane of its face.
        false => {
            let borders = borders(triangles);
            directions(borders.len(), |i| {
                let ([a, b], face) = borders[i];
                let edge = x[b as usize] - x[a as usize];
                let across = edge.cross(&normal(&triangles[face as usize], x)?);
                across.try_normalize(f64::MIN_POSITIVE)
            })
        }
    };
    let extents = directions.iter().map(|n| extent(n, x));
    let width = extents.fold(f64::INFINITY, f64::min);
    (width > 0.0 && width.is_finite()).then_some(width)
}

/// Number of parts of a length [m]; a length of a whole number of spacings has that many, whatever rounding makes
/// of it.
fn parts(length: f64, spacing: f64) -> f64 {
    (length / spacing - WHOLE).ceil().max(1.0)
}

/// At most [`DIRECTIONS`] of `count` directions, evenly spaced in their order: the choice does not depend on how a
/// mesh is turned.
fn directions(count: usize, of: impl Fn(usize) -> Option<Vec3>) -> Vec<Vec3> {
    let step = count.div_ceil(DIRECTIONS).max(1);
    (0..count).step_by(step).filter_map(of).collect()
}

/// The unit normal of a face; none without area.
fn normal(corners: &[u32; 3], x: &[Vec3]) -> Option<Vec3> {
    let [a, b, c] = corners.map(|v| x[v as usize]);
    (b - a).cross(&(c - a)).try_normalize(f64::MIN_POSITIVE)
}

/// Extent of points along the direction `n` [m].
fn extent(n: &Vec3, x: &[Vec3]) -> f64 {
    let heights = x.iter().map(|p| n.dot(p));
    let (low, high) = heights.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), z| {
        (low.min(z), high.max(z))
    });
    high - low
}
