//! Pieces of a mesh between its sharp concave edges.
//!
//! The distance to a mesh has a kink in front of a concave edge, where a point touches two faces at
//! once. The distances to two pieces that meet there have none, and a point in the corner is held by both.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use stiction_math::elementary::atan2;

use stiction_math::Vec3;

use super::sample::{FLAT, SHARP, edge_faces};

/// A mesh in more pieces than this is rough rather than made of corners, and stays whole.
const MOST: u32 = 16;

/// The piece of every face, numbered from zero. No two faces that meet at more than 30° at a concave
/// edge are of the same piece, unless there would be more than 16 pieces: then all are one.
pub fn pieces(triangles: &[[u32; 3]], rest: &[Vec3]) -> Vec<u32> {
    let count = triangles.len();
    let area = |f: u32| {
        let [a, b, c] = triangles[f as usize].map(|v| rest[v as usize]);
        (b - a).cross(&(c - a))
    };
    // Faces of one plane stay together.
    let mut plane: Vec<u32> = (0..count as u32).collect();
    let mut bends = Vec::new();
    for (edge, faces) in edge_faces(triangles) {
        let [first, second] = faces[..] else {
            continue;
        };
        let (n, m) = (area(first), area(second));
        let angle = atan2(n.cross(&m).norm(), n.dot(&m));
        if angle < FLAT {
            let (a, b) = (root(&mut plane, first), root(&mut plane, second));
            plane[a.max(b) as usize] = a.min(b);
            continue;
        }
        let corners = triangles[second as usize];
        let other = corners.into_iter().find(|v| !edge.contains(v));
        let rise = other.map_or(0.0, |v| n.dot(&(rest[v as usize] - rest[edge[0] as usize])));
        bends.push((first, second, rise > 0.0 && angle > SHARP));
    }
    let mut beside: BTreeMap<u32, BTreeSet<u32>> = BTreeMap::new();
    let mut against: BTreeMap<u32, BTreeSet<u32>> = BTreeMap::new();
    for (first, second, concave) in bends {
        let (a, b) = (root(&mut plane, first), root(&mut plane, second));
        let list = if concave { &mut against } else { &mut beside };
        list.entry(a).or_default().insert(b);
        list.entry(b).or_default().insert(a);
    }
    if against.is_empty() {
        return vec![0; count];
    }
    let none = BTreeSet::new();
    let mut piece: BTreeMap<u32, u32> = BTreeMap::new();
    let mut next = 0;
    for face in 0..count as u32 {
        let start = root(&mut plane, face);
        if piece.contains_key(&start) {
            continue;
        }
        if next == MOST {
            return vec![0; count];
        }
        let mut queue = VecDeque::from([start]);
        while let Some(p) = queue.pop_front() {
            let mut foes = against.get(&p).unwrap_or(&none).iter();
            if piece.contains_key(&p) || foes.any(|f| piece.get(f) == Some(&next)) {
                continue;
            }
            piece.insert(p, next);
            queue.extend(beside.get(&p).unwrap_or(&none));
        }
        next += 1;
    }
    let of = |f: u32| piece.get(&root(&mut plane, f)).copied().unwrap_or(0);
    (0..count as u32).map(of).collect()
}

/// The first face of the plane of a face.
fn root(plane: &mut [u32], face: u32) -> u32 {
    let mut top = face;
    while plane[top as usize] != top {
        top = plane[top as usize];
    }
    plane[face as usize] = top;
    top
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::TriMesh;
    use crate::shapes::BoxSurface;

    #[test]
    fn a_box_is_one_piece_and_one_turned_inside_out_is_three_pairs() {
        let size = [1.0, 2.0, 3.0];
        let cells = [2, 1, 1];
        let TriMesh {
            positions,
            mut triangles,
        } = BoxSurface { size, cells }.build().unwrap();
        assert!(pieces(&triangles, &positions).iter().all(|p| *p == 0));
        // A cavity: every edge is concave, and only opposite walls could share a piece.
        triangles.iter_mut().for_each(|t| t.swap(1, 2));
        let list = pieces(&triangles, &positions);
        for (a, p) in triangles.iter().zip(&list) {
            for (b, q) in triangles.iter().zip(&list) {
                let normal = |t: &[u32; 3]| {
                    let [x, y, z] = t.map(|v| positions[v as usize]);
                    (y - x).cross(&(z - x)).normalize()
                };
                let same = normal(a).dot(&normal(b)) > 0.9;
                assert_eq!(p == q, same, "{a:?} {b:?}");
            }
        }
    }
}
