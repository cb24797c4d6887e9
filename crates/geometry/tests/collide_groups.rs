//! Groups of features that are not paired with one another.
#![allow(clippy::unwrap_used)]

use std::sync::atomic::{AtomicUsize, Ordering};

use stiction_geometry::collide::{Candidate, Candidates, CollisionSurface, SweptSurface};
use stiction_math::Vec3;

/// A tube of `n` segments: all its edges along the axis are close to many others.
fn tube(n: u32, first: u32, place: Vec3) -> (Vec<Vec3>, Vec<[u32; 3]>) {
    let mut x = Vec::new();
    let mut triangles = Vec::new();
    for i in 0..n {
        let angle = std::f64::consts::TAU * f64::from(i) / f64::from(n);
        for z in [0.0, 0.1] {
            x.push(place + Vec3::new(0.05 * angle.cos(), 0.05 * angle.sin(), z));
        }
        let at = |k: u32| first + k % (2 * n);
        let (a, b, c, d) = (at(2 * i), at(2 * i + 1), at(2 * i + 2), at(2 * i + 3));
        triangles.extend([[a, c, b], [b, c, d]]);
    }
    (x, triangles)
}

#[test]
fn a_rigid_body_is_not_searched_for_pairs_of_its_own() {
    let n = 200;
    let (mut x, mut triangles) = tube(n, 0, Vec3::zeros());
    let met = |x: &[Vec3], triangles: &[[u32; 3]], groups: Vec<u32>| {
        let surface = CollisionSurface::new(triangles, &[]).unwrap();
        let owner = groups.clone();
        let surface = surface.with_groups(groups.into());
        let s = SweptSurface::build(surface, x, x, 1e-3).unwrap();
        let asked = AtomicUsize::new(0);
        let found = Candidates::within(&s, |pair| {
            asked.fetch_add(1, Ordering::Relaxed);
            let (a, b) = match pair {
                Candidate::VertexFace(p, t) => (p, t[0]),
                Candidate::EdgeEdge(e, f) => (e[0], f[0]),
            };
            let (a, b) = (owner[a as usize], owner[b as usize]);
            a != b || a == CollisionSurface::NO_GROUP
        });
        (found, asked.into_inner())
    };
    let none = vec![CollisionSurface::NO_GROUP; x.len()];
    assert!(met(&x, &triangles, none).1 > n as usize);
    let (found, asked) = met(&x, &triangles, vec![7; x.len()]);
    assert_eq!((found.len(), asked), (0, 0));
    // Two of them side by side: the pairs between them are those that a filter alone leaves.
    let (y, more) = tube(n, 2 * n, Vec3::new(0.1005, 0.0, 0.0));
    x.extend(y);
    triangles.extend(more);
    let groups: Vec<u32> = (0..4 * n).map(|v| v / (2 * n)).collect();
    let (found, asked) = met(&x, &triangles, groups.clone());
    let surface = CollisionSurface::new(&triangles, &[]).unwrap();
    let s = SweptSurface::build(surface, &x, &x, 1e-3).unwrap();
    let apart = |v: u32, w: u32| groups[v as usize] != groups[w as usize];
    let expected = Candidates::within(&s, |pair| match pair {
        Candidate::VertexFace(p, t) => apart(p, t[0]),
        Candidate::EdgeEdge(e, f) => apart(e[0], f[0]),
    });
    assert_eq!(found, expected);
    assert!(!found.is_empty() && asked < 20 * found.len(), "{asked}");
}
