//! Connectivity of a triangle mesh: neighbours across edges and triangles around vertices.

/// No triangle: the edge is a border.
pub(super) const NONE: u32 = u32::MAX;

/// The triangles of a surface with their neighbours.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SurfaceTopology {
    triangles: Vec<[u32; 3]>,
    /// Of each triangle the one across the edge opposite to each corner.
    neighbours: Vec<[u32; 3]>,
    /// The first of the triangles around each vertex, and their number at the end.
    first: Vec<u32>,
    around: Vec<u32>,
    /// Whether a vertex is on a border.
    border: Vec<bool>,
}

impl SurfaceTopology {
    /// The connectivity of `triangles` over `vertices` vertices, which must exist. An edge that does not have
    /// exactly two triangles is a border.
    pub fn new(triangles: &[[u32; 3]], vertices: usize) -> Self {
        let mut edges: Vec<([u32; 2], u32, u8)> = Vec::with_capacity(3 * triangles.len());
        let mut first = vec![0u32; vertices + 1];
        for (t, corners) in triangles.iter().enumerate() {
            for i in 0..3 {
                let (a, b) = (corners[(i + 1) % 3], corners[(i + 2) % 3]);
                edges.push(([a.min(b), a.max(b)], t as u32, i as u8));
                first[corners[i] as usize + 1] += 1;
            }
        }
        for v in 0..vertices {
            first[v + 1] += first[v];
        }
        let mut next = first.clone();
        let mut around = vec![0; 3 * triangles.len()];
        for (t, corners) in triangles.iter().enumerate() {
            for &v in corners {
                around[next[v as usize] as usize] = t as u32;
                next[v as usize] += 1;
            }
        }
        edges.sort_unstable();
        let mut neighbours = vec![[NONE; 3]; triangles.len()];
        let mut border = vec![false; vertices];
        for same in edges.chunk_by(|a, b| a.0 == b.0) {
            match same {
                [(_, s, i), (_, t, j)] => {
                    neighbours[*s as usize][*i as usize] = *t;
                    neighbours[*t as usize][*j as usize] = *s;
                }
                others => {
                    for v in others[0].0 {
                        border[v as usize] = true;
                    }
                }
            }
        }
        Self {
            triangles: triangles.to_vec(),
            neighbours,
            first,
            around,
            border,
        }
    }

    /// The triangles.
    pub fn triangles(&self) -> &[[u32; 3]] {
        &self.triangles
    }

    /// The triangle across the edge opposite to a corner, if there is one.
    pub(super) fn across(&self, triangle: u32, corner: usize) -> Option<u32> {
        Some(self.neighbours[triangle as usize][corner]).filter(|t| *t != NONE)
    }

    /// The triangles around a vertex, ascending.
    pub(super) fn around(&self, vertex: u32) -> &[u32] {
        let v = vertex as usize;
        &self.around[self.first[v] as usize..self.first[v + 1] as usize]
    }

    pub(super) fn is_border(&self, vertex: u32) -> bool {
        self.border[vertex as usize]
    }

    /// The place of a vertex among the corners of a triangle.
    pub(super) fn corner(&self, triangle: u32, vertex: u32) -> Option<usize> {
        let corners = &self.triangles[triangle as usize];
        corners.iter().position(|v| *v == vertex)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn neighbours_and_fans_of_two_triangles() {
        let mesh = SurfaceTopology::new(&[[0, 1, 2], [2, 1, 3]], 5);
        assert_eq!(mesh.across(0, 0), Some(1));
        assert_eq!(mesh.across(1, 2), Some(0));
        assert_eq!(mesh.across(0, 1), None);
        assert_eq!(mesh.around(1), [0, 1]);
        assert_eq!(mesh.around(4), []);
        assert!(mesh.is_border(1) && !mesh.is_border(4));
        assert_eq!(mesh.corner(1, 1), Some(1));
    }

    #[test]
    fn an_edge_of_three_triangles_is_a_border() {
        let mesh = SurfaceTopology::new(&[[0, 1, 2], [1, 0, 3], [0, 1, 4]], 5);
        assert!((0..3).all(|t| (0..3).all(|i| mesh.across(t, i).is_none())));
    }
}
