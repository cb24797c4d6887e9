//! Delaunay triangulation by flipping edges [lawson1977].

use crate::mesh::TriMesh;

const NONE: u32 = u32::MAX;

/// Flips inner edges of a planar, correctly oriented triangulation (xy coordinates) until no
/// vertex lies inside the circumcircle of a neighbouring triangle.
pub(super) fn make_delaunay(mesh: &mut TriMesh) {
    let mut neighbours = neighbour_table(mesh);
    let edges = 3 * mesh.triangles.len() as u32;
    let mut stack: Vec<u32> = (0..edges).rev().collect();
    while let Some(edge) = stack.pop() {
        let (t, k) = ((edge / 3) as usize, (edge % 3) as usize);
        if let Some(touched) = flip_if_needed(mesh, &mut neighbours, t, k) {
            stack.extend(touched);
        }
    }
}

/// Looks at the edge opposite to corner k of triangle t. If the far vertex of the neighbour
/// lies in the circumcircle, the two triangles (a, b, c), (d, c, b) become (a, b, d), (a, d, c);
/// the four outer edges then need another look.
fn flip_if_needed(
    mesh: &mut TriMesh,
    neighbours: &mut [[u32; 3]],
    t: usize,
    k: usize,
) -> Option<[u32; 4]> {
    let other = neighbours[t][k];
    if other == NONE {
        return None;
    }
    let u = other as usize;
    let m = neighbours[u].iter().position(|n| *n == t as u32)?;
    let pick = |tri: usize, k: usize| mesh.triangles[tri][k % 3];
    let (a, b, c, d) = (pick(t, k), pick(t, k + 1), pick(t, k + 2), pick(u, m));
    if !inside_circle(mesh, [a, b, c, d]) {
        return None;
    }
    let ab = neighbours[t][(k + 2) % 3];
    let ca = neighbours[t][(k + 1) % 3];
    let bd = neighbours[u][(m + 1) % 3];
    let dc = neighbours[u][(m + 2) % 3];
    mesh.triangles[t] = [a, b, d];
    mesh.triangles[u] = [a, d, c];
    neighbours[t] = [bd, u as u32, ab];
    neighbours[u] = [dc, ca, t as u32];
    for (outside, old, new) in [(bd, u, t), (ca, t, u)] {
        if outside != NONE {
            for n in &mut neighbours[outside as usize] {
                if *n == old as u32 {
                    *n = new as u32;
                }
            }
        }
    }
    let (t, u) = (t as u32, u as u32);
    Some([3 * t, 3 * t + 2, 3 * u, 3 * u + 1])
}

/// Whether d lies inside the circle through the counter-clockwise a, b, c by more than rounding.
/// The margin also keeps four points on one circle from being flipped for ever.
fn inside_circle(mesh: &TriMesh, nodes: [u32; 4]) -> bool {
    let [a, b, c, d] = nodes.map(|i| mesh.positions[i as usize]);
    let row = |p: &stiction_math::Vec3| {
        let (x, y) = (p.x - d.x, p.y - d.y);
        [x, y, x * x + y * y]
    };
    let (a, b, c) = (row(&a), row(&b), row(&c));
    let det = a[0] * (b[1] * c[2] - b[2] * c[1]) - a[1] * (b[0] * c[2] - b[2] * c[0])
        + a[2] * (b[0] * c[1] - b[1] * c[0]);
    let scale = a[2].max(b[2]).max(c[2]);
    det > 1e-12 * scale * scale
}

/// For each triangle and corner the triangle across the opposite edge.
fn neighbour_table(mesh: &TriMesh) -> Vec<[u32; 3]> {
    let mut table = vec![[NONE; 3]; mesh.triangles.len()];
    let half = mesh.half_edges();
    for pair in half.chunk_by(|a, b| a.low == b.low && a.high == b.high) {
        let [one, two] = pair else { continue };
        for (from, to) in [(one, two), (two, one)] {
            let corners = mesh.triangles[from.triangle as usize];
            for k in 0..3 {
                if corners[k] == from.opposite {
                    table[from.triangle as usize][k] = to.triangle;
                }
            }
        }
    }
    table
}
