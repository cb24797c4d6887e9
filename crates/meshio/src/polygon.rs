//! Cutting a polygon into triangles.

use stiction_math::{Vec2, Vec3};

/// Ear clipping takes time quadratic in the corners; beyond this many a concave polygon is
/// refused, which keeps the reading of a file linear in its size.
const MOST_CONCAVE_CORNERS: usize = 1024;

/// Appends the triangles of the polygon `corners`: a fan when it is strictly convex, ears
/// otherwise. A polygon that is not flat is judged by its projection along its mean normal. The
/// error is a predicate for "the polygon …".
pub(super) fn triangulate(
    positions: &[Vec3],
    corners: &[u32],
    out: &mut Vec<[u32; 3]>,
) -> Result<(), &'static str> {
    match *corners {
        [] | [_] | [_, _] => return Err("has fewer than three corners"),
        [a, b, c] => {
            out.push([a, b, c]);
            return Ok(());
        }
        _ => {}
    }
    let flat = project(positions, corners);
    let n = corners.len();
    let fan = |i: usize| [0, i, i + 1];
    let convex = (0..n).all(|i| turn(&flat, [(i + n - 1) % n, i, (i + 1) % n]) > 0.0)
        && (1..n - 1).all(|i| turn(&flat, fan(i)) > 0.0);
    if convex {
        out.extend((1..n - 1).map(|i| fan(i).map(|k| corners[k])));
        return Ok(());
    }
    if n > MOST_CONCAVE_CORNERS {
        return Err("is concave and has more than 1024 corners");
    }
    clip_ears(&flat, corners, out)
}

/// Twice the signed area of a triangle, positive when counter-clockwise.
fn turn(flat: &[Vec2], [a, b, c]: [usize; 3]) -> f64 {
    (flat[b] - flat[a]).perp(&(flat[c] - flat[a]))
}

/// The polygon seen along its mean normal (by Newell's formula), counter-clockwise.
fn project(positions: &[Vec3], corners: &[u32]) -> Vec<Vec2> {
    let at = |i: usize| positions[corners[i % corners.len()] as usize];
    let origin = at(0);
    let normal: Vec3 = (0..corners.len())
        .map(|i| (at(i) - origin).cross(&(at(i + 1) - origin)))
        .sum();
    let axis = normal.iamax();
    let (u, v) = ((axis + 1) % 3, (axis + 2) % 3);
    let (u, v) = if normal[axis] < 0.0 { (v, u) } else { (u, v) };
    (0..corners.len())
        .map(|i| {
            let p = at(i) - origin;
            Vec2::new(p[u], p[v])
        })
        .collect()
}

/// Cuts off one ear after the other. Only corners that are not strictly convex can lie inside a
/// would-be ear, and cutting an ear changes the standing of its two neighbours alone, so that the
/// whole takes O(n²).
fn clip_ears(flat: &[Vec2], corners: &[u32], out: &mut Vec<[u32; 3]>) -> Result<(), &'static str> {
    const CROSSES: &str = "crosses itself or has no area";
    let n = corners.len();
    let mut next: Vec<usize> = (0..n).map(|i| (i + 1) % n).collect();
    let mut previous: Vec<usize> = (0..n).map(|i| (i + n - 1) % n).collect();
    let mut blocks: Vec<bool> = (0..n)
        .map(|i| turn(flat, [previous[i], i, next[i]]) <= 0.0)
        .collect();
    let is_ear = |i: usize, previous: &[usize], next: &[usize], blocks: &[bool]| {
        let ear = [previous[i], i, next[i]];
        if turn(flat, ear) <= 0.0 || turn(flat, ear).is_nan() {
            return false;
        }
        let mut k = next[ear[2]];
        while k != ear[0] {
            // A corner that coincides with a corner of the ear belongs to a bridge between an
            // outline and its hole.
            let touches = ear.iter().any(|&e| flat[e] == flat[k]);
            if blocks[k] && !touches && inside(flat, ear, k) {
                return false;
            }
            k = next[k];
        }
        true
    };
    let mut ears: Vec<bool> = (0..n)
        .map(|i| is_ear(i, &previous, &next, &blocks))
        .collect();
    let first_triangle = out.len();
    let (mut i, mut left, mut idle) = (0, n, 0);
    while left > 3 {
        if !ears[i] {
            idle += 1;
            if idle > left {
                out.truncate(first_triangle);
                return Err(CROSSES);
            }
            i = next[i];
            continue;
        }
        let (p, q) = (previous[i], next[i]);
        out.push([p, i, q].map(|k| corners[k]));
        next[p] = q;
        previous[q] = p;
        left -= 1;
        idle = 0;
        for k in [p, q] {
            blocks[k] = turn(flat, [previous[k], k, next[k]]) <= 0.0;
        }
        for k in [p, q] {
            ears[k] = is_ear(k, &previous, &next, &blocks);
        }
        // Skipping a corner spreads the cuts around the outline, which avoids long thin fans.
        i = next[q];
    }
    let last = [previous[i], i, next[i]];
    if turn(flat, last) > 0.0 {
        out.push(last.map(|k| corners[k]));
        Ok(())
    } else {
        out.truncate(first_triangle);
        Err(CROSSES)
    }
}

/// Whether corner `k` lies in the triangle or on its edge.
fn inside(flat: &[Vec2], [a, b, c]: [usize; 3], k: usize) -> bool {
    turn(flat, [a, b, k]) >= 0.0 && turn(flat, [b, c, k]) >= 0.0 && turn(flat, [c, a, k]) >= 0.0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lift(points: &[[f64; 2]]) -> Vec<Vec3> {
        // A tilted plane, so that no coordinate can be dropped unpunished.
        points
            .iter()
            .map(|p| Vec3::new(p[0], p[1], 0.3 * p[0] - 0.7 * p[1]))
            .collect()
    }

    /// Every triangle turns the same way and the areas add up: together, a proof that the
    /// triangulation covers the polygon exactly once.
    fn check(points: &[[f64; 2]]) {
        let positions = lift(points);
        let corners: Vec<u32> = (0..points.len() as u32).collect();
        let mut triangles = Vec::new();
        assert_eq!(triangulate(&positions, &corners, &mut triangles), Ok(()));
        assert_eq!(triangles.len(), points.len() - 2);
        let cross = |a: [f64; 2], b: [f64; 2]| a[0] * b[1] - a[1] * b[0];
        let n = points.len();
        let whole: f64 = (0..n).map(|i| cross(points[i], points[(i + 1) % n])).sum();
        let mut sum = 0.0;
        for t in &triangles {
            let [a, b, c] = t.map(|i| points[i as usize]);
            let area = cross([b[0] - a[0], b[1] - a[1]], [c[0] - a[0], c[1] - a[1]]);
            assert!(area * whole > 0.0, "triangle {t:?} is turned or flat");
            sum += area;
        }
        assert!((sum - whole).abs() <= 1e-12 * whole.abs());
    }

    #[test]
    fn convex_concave_and_clockwise_polygons_are_covered_once() {
        check(&[[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0]]);
        check(&[[0.0, 1.0], [1.0, 1.0], [1.0, 0.0], [0.0, 0.0]]);
        check(&[[0.0, 0.0], [2.0, 0.0], [2.0, 2.0], [1.0, 0.5], [0.0, 2.0]]);
        // A corner in the middle of an edge, where a fan from it or across it would be flat.
        check(&[[0.0, 0.0], [1.0, 0.0], [2.0, 0.0], [1.0, 1.0]]);
        check(&[[1.0, 0.0], [2.0, 0.0], [1.0, 1.0], [0.0, 0.0]]);
    }

    #[test]
    fn combs_and_stars_are_covered_once() {
        let mut comb = vec![[0.0, -1.0], [40.0, -1.0]];
        for tooth in (0..40).rev() {
            comb.push([f64::from(tooth) + 0.9, 5.0]);
            comb.push([f64::from(tooth) + 0.1, 0.0]);
        }
        check(&comb);
        let star: Vec<[f64; 2]> = (0..200)
            .map(|i| {
                let (angle, radius) = (
                    0.01 * std::f64::consts::PI * f64::from(i),
                    1.0 + f64::from(i % 2),
                );
                [radius * angle.cos(), radius * angle.sin()]
            })
            .collect();
        check(&star);
    }

    #[test]
    fn a_bow_tie_is_refused() {
        let positions = lift(&[[0.0, 0.0], [1.0, 1.0], [1.0, 0.0], [0.0, 1.0]]);
        let mut out = vec![[7, 7, 7]];
        assert!(triangulate(&positions, &[0, 1, 2, 3], &mut out).is_err());
        assert_eq!(out, [[7, 7, 7]], "a refused polygon leaves nothing behind");
    }

    #[test]
    fn a_pentagram_is_refused() {
        let points: Vec<[f64; 2]> = (0..5)
            .map(|i| {
                let angle = 0.8 * std::f64::consts::PI * f64::from(i);
                [angle.cos(), angle.sin()]
            })
            .collect();
        assert!(triangulate(&lift(&points), &[0, 1, 2, 3, 4], &mut Vec::new()).is_err());
    }
}
