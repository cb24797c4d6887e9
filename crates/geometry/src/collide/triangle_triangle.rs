//! Exact intersection tests of segments and triangles as closed sets: touching counts.
//!
//! Every decision is the sign of an orientation determinant, computed exactly, so that the answer
//! is right for all input, also degenerate. Coplanar cases are decided in the three coordinate
//! planes: sets in a common plane (or on a common line) meet exactly if all three projections
//! do, because at least one of the projections is one-to-one on that plane.

use stiction_math::Vec3;

use super::predicates::{orient2d, orient3d};

/// Whether two triangles share a point.
pub fn triangles_intersect(a: &[Vec3; 3], b: &[Vec3; 3]) -> bool {
    for k in 0..3 {
        let range = |t: &[Vec3; 3]| {
            let x = t.map(|p| p[k]);
            (x[0].min(x[1]).min(x[2]), x[0].max(x[1]).max(x[2]))
        };
        let (a, b) = (range(a), range(b));
        if a.1 < b.0 || b.1 < a.0 {
            return false;
        }
    }
    // One triangle on one side of the other's plane: the usual case of no intersection.
    let one_side = |t: &[Vec3; 3], s: &[Vec3; 3]| {
        let o = s.map(|p| orient3d(&t[0], &t[1], &t[2], &p));
        o.iter().all(|o| *o > 0) || o.iter().all(|o| *o < 0)
    };
    if one_side(a, b) || one_side(b, a) {
        return false;
    }
    let edges = |t: &[Vec3; 3]| [[t[0], t[1]], [t[1], t[2]], [t[2], t[0]]];
    edges(a).iter().any(|e| segment_meets_triangle(e, b))
        || edges(b).iter().any(|e| segment_meets_triangle(e, a))
}

/// Whether a segment and a triangle share a point.
pub fn segment_meets_triangle(s: &[Vec3; 2], t: &[Vec3; 3]) -> bool {
    let [p, q] = s;
    let [a, b, c] = t;
    let side = [orient3d(a, b, c, p), orient3d(a, b, c, q)];
    if side[0] * side[1] > 0 {
        return false;
    }
    if side == [0, 0] {
        return coplanar(s, t);
    }
    // The line crosses the plane in one point: inside if it passes all edges on the same side.
    let o = [
        orient3d(p, q, a, b),
        orient3d(p, q, b, c),
        orient3d(p, q, c, a),
    ];
    o.iter().all(|o| *o >= 0) || o.iter().all(|o| *o <= 0)
}

/// Intersection test if both ends lie in the plane of the triangle, or if the triangle has no area.
fn coplanar(s: &[Vec3; 2], t: &[Vec3; 3]) -> bool {
    let flat = |p: &Vec3, k: usize| [p[(k + 1) % 3], p[(k + 2) % 3]];
    // Whether projections settle it: not if a triangle without area leaves the segment free to
    // pass next to it in space. Then the triangle is the union of its edges.
    let has_area = (0..3).any(|k| orient2d(flat(&t[0], k), flat(&t[1], k), flat(&t[2], k)) != 0);
    if !has_area {
        return (0..3).any(|i| segments_meet(s, &[t[i], t[(i + 1) % 3]]));
    }
    (0..3).all(|k| {
        let s = [flat(&s[0], k), flat(&s[1], k)];
        let t = [flat(&t[0], k), flat(&t[1], k), flat(&t[2], k)];
        let crosses = (0..3).any(|i| segments_meet_2d(&s, &[t[i], t[(i + 1) % 3]]));
        crosses || inside_2d(&s[0], &t)
    })
}

/// Whether two segments in space share a point.
fn segments_meet(a: &[Vec3; 2], b: &[Vec3; 2]) -> bool {
    orient3d(&a[0], &a[1], &b[0], &b[1]) == 0
        && (0..3).all(|k| {
            let flat = |p: &Vec3| [p[(k + 1) % 3], p[(k + 2) % 3]];
            segments_meet_2d(&a.map(|p| flat(&p)), &b.map(|p| flat(&p)))
        })
}

fn segments_meet_2d(a: &[[f64; 2]; 2], b: &[[f64; 2]; 2]) -> bool {
    // Overlapping ranges settle collinear segments; separating lines the others.
    let apart = |k: usize| {
        a[0][k].max(a[1][k]) < b[0][k].min(b[1][k]) || b[0][k].max(b[1][k]) < a[0][k].min(a[1][k])
    };
    if apart(0) || apart(1) {
        return false;
    }
    let side = |s: &[[f64; 2]; 2], p: [f64; 2]| orient2d(s[0], s[1], p);
    side(a, b[0]) * side(a, b[1]) <= 0 && side(b, a[0]) * side(b, a[1]) <= 0
}

fn inside_2d(p: &[f64; 2], t: &[[f64; 2]; 3]) -> bool {
    let o = [0, 1, 2].map(|i| orient2d(t[i], t[(i + 1) % 3], *p));
    if orient2d(t[0], t[1], t[2]) == 0 {
        return false;
    }
    o.iter().all(|o| *o >= 0) || o.iter().all(|o| *o <= 0)
}
