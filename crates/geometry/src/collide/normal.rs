//! Unit normals that stay stable when features touch, cross or run parallel.
//!
//! The direction of a separation vector is lost once its length falls to the rounding of the
//! positions. The rule here: while the distance exceeds 10⁻⁹ of the size of the features, the
//! normal is the direction of the separation. Below, it is the geometric normal of the pair
//! (face normal, product of edges, part of the hint across the edge), turned to the side of the
//! hint. The hint is whatever is known about the side: the separation of an earlier step, or the
//! outward normal of a body. A zero hint takes the side of the separation itself.

use stiction_math::Vec3;

/// Ratio of distance to feature size below which a separation vector is mere rounding.
const TOUCHING: f64 = 1e-9;
/// Sine below which a cross product does not define a direction.
const SINGULAR: f64 = 1e-9;

/// Unit normal from a triangle to a point, given the `separation` from the triangle's closest
/// point to it [m].
pub fn point_triangle_normal(separation: &Vec3, corners: &[Vec3; 3], hint: &Vec3) -> Vec3 {
    let (e, f) = (corners[1] - corners[0], corners[2] - corners[0]);
    let size = e.amax().max(f.amax());
    if let Some(n) = direction(separation, size) {
        return n;
    }
    let g = f - e;
    let longest = e.norm_squared().max(f.norm_squared()).max(g.norm_squared());
    let face = e.cross(&f);
    if face.norm() > SINGULAR * longest {
        return oriented(face, separation, hint);
    }
    let along = if g.norm_squared() == longest {
        g
    } else if e.norm_squared() == longest {
        e
    } else {
        f
    };
    perpendicular(&along, separation, hint)
}

/// Unit normal from the second edge to the first, given the `separation` of their closest
/// points [m].
pub fn edge_edge_normal(separation: &Vec3, a: &[Vec3; 2], b: &[Vec3; 2], hint: &Vec3) -> Vec3 {
    let (ea, eb) = (a[1] - a[0], b[1] - b[0]);
    let size = ea.amax().max(eb.amax());
    if let Some(n) = direction(separation, size) {
        return n;
    }
    let cross = ea.cross(&eb);
    if cross.norm() > SINGULAR * ea.norm() * eb.norm() {
        return oriented(cross, separation, hint);
    }
    let along = if ea.norm_squared() >= eb.norm_squared() {
        ea
    } else {
        eb
    };
    perpendicular(&along, separation, hint)
}

/// Unit normal from an edge to a point, given the `separation` from the edge's closest point to
/// it [m]. Two equal ends make this the normal of two points.
pub fn point_edge_normal(separation: &Vec3, ends: &[Vec3; 2], hint: &Vec3) -> Vec3 {
    let along = ends[1] - ends[0];
    match direction(separation, along.amax()) {
        Some(n) => n,
        None => perpendicular(&along, separation, hint),
    }
}

fn direction(separation: &Vec3, size: f64) -> Option<Vec3> {
    let length = separation.norm();
    (length > TOUCHING * size && length.is_normal()).then(|| separation / length)
}

/// `axis`, of either sign, as a unit vector on the side of the hint.
fn oriented(axis: Vec3, separation: &Vec3, hint: &Vec3) -> Vec3 {
    let side = match axis.dot(hint) {
        0.0 => axis.dot(separation),
        s => s,
    };
    let n = axis.normalize();
    if side < 0.0 { -n } else { n }
}

/// A unit vector across `along`, as close to the hint as can be.
fn perpendicular(along: &Vec3, separation: &Vec3, hint: &Vec3) -> Vec3 {
    let unit = |v: &Vec3| {
        let length = v.norm();
        if length.is_normal() {
            v / length
        } else {
            Vec3::zeros()
        }
    };
    let axis = unit(along);
    for wish in [hint, separation] {
        let wish = unit(wish);
        let across = wish - wish.dot(&axis) * axis;
        if across.norm() > SINGULAR {
            return (across - across.dot(&axis) * axis).normalize();
        }
    }
    // Nothing is known about the side: the coordinate axis that is most across the edge.
    let k = axis.iamin();
    let mut e = Vec3::zeros();
    e[k] = 1.0;
    (e - axis[k] * axis).normalize()
}
