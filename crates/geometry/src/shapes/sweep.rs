//! Tetrahedra from a surface swept through layers.

/// Fills the prisms between `layers` + 1 copies of a triangle mesh with three tetrahedra each.
/// Vertex v of copy l must be numbered l·n + v, and triangles must face towards the next copy.
/// With `ring` there are only `layers` copies, and the last is joined to the first.
///
/// Each prism is cut in the order of its base vertices, so the diagonal on a side depends on
/// the two base vertices of that side only, and neighbours agree.
pub(super) fn sweep(triangles: &[[u32; 3]], n: u32, layers: u32, ring: bool) -> Vec<[u32; 4]> {
    let mut tets = Vec::with_capacity(3 * triangles.len() * layers as usize);
    for l in 0..layers {
        let low = l * n;
        let high = if ring && l + 1 == layers { 0 } else { low + n };
        for &[a, b, c] in triangles {
            let mut base = [a, b, c];
            base.sort_unstable();
            let [p, q, r] = base;
            let odd = [[a, b, c], [b, c, a], [c, a, b]].iter().all(|t| *t != base);
            for mut tet in [
                [low + p, low + q, low + r, high + r],
                [low + p, low + q, high + r, high + q],
                [low + p, high + p, high + q, high + r],
            ] {
                if odd {
                    tet.swap(2, 3);
                }
                tets.push(tet);
            }
        }
    }
    tets
}
