//! Conditions that every shape must satisfy, checked without the code that builds shapes.

#![allow(clippy::unwrap_used)]

use stiction_math::Vec3;

use crate::mesh::{TetMesh, TriMesh};

/// Closed, manifold at edges and vertices, outwards, no vertex unused, of the given genus.
pub fn assert_closed_surface(m: &TriMesh, genus: i64, what: &str) {
    m.check().unwrap();
    m.check_closed().unwrap();
    assert_manifold(m, what);
    assert!(m.volume() > 0.0, "{what}: faces inwards");
    let (v, e, f) = (m.positions.len(), m.edges().len(), m.triangles.len());
    let euler = v as i64 - e as i64 + f as i64;
    assert_eq!(euler, 2 - 2 * genus, "{what}: Euler characteristic");
    assert_eq!(m.components().count, 1, "{what}");
}

/// At most two triangles at each edge, and the triangles at each vertex form one fan.
pub fn assert_manifold(m: &TriMesh, what: &str) {
    for v in 0..m.positions.len() as u32 {
        let mut open: Vec<[u32; 2]> = Vec::new();
        for t in m.triangles.iter().filter(|t| t.contains(&v)) {
            let k = t.iter().position(|i| *i == v).unwrap();
            open.push([t[(k + 1) % 3], t[(k + 2) % 3]]);
        }
        assert!(!open.is_empty(), "{what}: vertex {v} is unused");
        // Link the opposite edges into one chain.
        let count = open.len();
        let start = open
            .iter()
            .find(|[from, _]| open.iter().all(|[_, to]| to != from))
            .unwrap_or(&open[0]);
        let (mut at, mut steps) = (start[0], 0);
        loop {
            let next: Vec<_> = open.iter().filter(|[from, _]| *from == at).collect();
            assert!(next.len() <= 1, "{what}: non-manifold edge ({v}, {at})");
            if next.is_empty() || steps == count {
                break;
            }
            at = next[0][1];
            steps += 1;
            if at == start[0] {
                break;
            }
        }
        assert_eq!(steps, count, "{what}: triangles at vertex {v} are no fan");
    }
}

/// Positive tetrahedra, no vertex unused, a closed outward surface, and conforming inside: each
/// face has at most two tetrahedra, on opposite sides.
pub fn assert_solid(m: &TetMesh, genus: i64, min_dihedral_degrees: f64, what: &str) {
    m.check().unwrap();
    for t in 0..m.tets.len() {
        assert!(m.tet_volume(t) > 0.0, "{what}: tetrahedron {t} is inverted");
    }
    let around = m.vertex_tets();
    assert!((0..m.positions.len()).all(|v| !around.of(v).is_empty()));
    let (skin, _) = m.surface();
    assert_closed_surface(&skin, genus, what);
    let gap = (skin.volume() - m.volume()).abs() / m.volume();
    assert!(
        gap < 1e-10,
        "{what}: surface and tetrahedra disagree by {gap}"
    );
    let q = m.quality().unwrap();
    let degrees = q.min_dihedral.to_degrees();
    assert!(degrees > min_dihedral_degrees, "{what}: {degrees}° {q:?}");
}

/// The observed order over doublings 1, 2, 4, … of the resolution.
pub fn assert_second_order(exact: f64, values: &[f64], what: &str) {
    let errors: Vec<f64> = values.iter().map(|v| (v - exact).abs() / exact).collect();
    for pair in errors.windows(2) {
        let order = (pair[0] / pair[1]).log2();
        assert!((1.7..2.6).contains(&order), "{what}: {errors:?}");
    }
    assert!(errors[errors.len() - 1] < 0.02, "{what}: {errors:?}");
}

/// Positive if d lies inside the circle through the counter-clockwise a, b, c (xy plane), by
/// comparing the distance to the circumcentre.
pub fn in_circle(a: &Vec3, b: &Vec3, c: &Vec3, d: &Vec3) -> f64 {
    let (u, v) = (b - a, c - a);
    let w = 2.0 * (u.x * v.y - u.y * v.x);
    let (uu, vv) = (u.norm_squared(), v.norm_squared());
    let centre = a + Vec3::new(v.y * uu - u.y * vv, u.x * vv - v.x * uu, 0.0) / w;
    (a - centre).norm() - (d - centre).norm()
}
