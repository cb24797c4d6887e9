//! The interior edges of a triangle mesh, each with its two opposite vertices.

use crate::elements::ElementError;

/// An edge shared by two triangles.
pub(crate) struct InteriorEdge {
    /// The two ends of the edge, then the opposite vertices in the first and second triangle.
    /// The first triangle runs through the edge from `nodes[0]` to `nodes[1]`.
    pub nodes: [u32; 4],
    /// The two triangles.
    pub triangles: [usize; 2],
}

/// All interior edges, ordered by their smaller, then their larger node.
///
/// # Errors
/// If more than two triangles share an edge.
pub(crate) fn interior_edges(triangles: &[[u32; 3]]) -> Result<Vec<InteriorEdge>, ElementError> {
    // One record per triangle side: sorted ends, triangle, ends as they run, opposite vertex.
    let mut sides: Vec<([u32; 2], usize, [u32; 2], u32)> = triangles
        .iter()
        .enumerate()
        .flat_map(|(t, &[a, b, c])| {
            [([a, b], c), ([b, c], a), ([c, a], b)]
                .map(|([p, q], o)| ([p.min(q), p.max(q)], t, [p, q], o))
        })
        .collect();
    sides.sort_unstable();
    let mut edges = Vec::new();
    for group in sides.chunk_by(|p, q| p.0 == q.0) {
        match group {
            [_] => {}
            [first, second] => edges.push(InteriorEdge {
                nodes: [first.2[0], first.2[1], first.3, second.3],
                triangles: [first.1, second.1],
            }),
            _ => {
                let [a, b] = group[0].0;
                return Err(ElementError::NonManifoldEdge {
                    a,
                    b,
                    count: group.len(),
                });
            }
        }
    }
    Ok(edges)
}
