//! Mesh connectivity: edges, hinges, boundaries, components, adjacency and the surface of a
//! tetrahedral mesh.
//!
//! Everything is found by sorting, in O(n log n), and returned in an order that depends on the
//! indices only.

use crate::mesh::{MeshError, TetMesh, TriMesh};

/// For each of n items a list of other items, stored one after the other.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Adjacency {
    /// n + 1 positions in `items`; list i is `items[offsets[i]..offsets[i + 1]]`.
    pub offsets: Vec<usize>,
    /// The lists, each in ascending order.
    pub items: Vec<u32>,
}

impl Adjacency {
    /// The list of item `i`.
    pub fn of(&self, i: usize) -> &[u32] {
        &self.items[self.offsets[i]..self.offsets[i + 1]]
    }

    /// The number of lists.
    pub fn len(&self) -> usize {
        self.offsets.len().saturating_sub(1)
    }

    /// Whether there are no lists.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// From (list, item) pairs that are sorted and free of repetition.
    fn from_sorted(count: usize, pairs: &[(u32, u32)]) -> Self {
        let mut offsets = vec![0; count + 1];
        for (i, _) in pairs {
            offsets[*i as usize + 1] += 1;
        }
        for i in 0..count {
            offsets[i + 1] += offsets[i];
        }
        let items = pairs.iter().map(|(_, item)| *item).collect();
        Adjacency { offsets, items }
    }
}

/// The parts of a mesh that hang together through shared vertices.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Components {
    /// Number of parts. A vertex without elements is a part of its own.
    pub count: usize,
    /// The part of each vertex, numbered in the order of their lowest vertex.
    pub of_vertex: Vec<u32>,
}

/// One side of an edge: a triangle that has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct HalfEdge {
    /// The lower vertex of the edge.
    pub low: u32,
    /// The higher vertex of the edge.
    pub high: u32,
    /// Whether the triangle runs from high to low.
    pub reversed: bool,
    /// The triangle.
    pub triangle: u32,
    /// Its third vertex.
    pub opposite: u32,
}

impl HalfEdge {
    /// The edge in the direction in which the triangle runs along it.
    pub fn directed(&self) -> [u32; 2] {
        if self.reversed {
            [self.high, self.low]
        } else {
            [self.low, self.high]
        }
    }

    pub fn same_edge(a: &HalfEdge, b: &HalfEdge) -> bool {
        a.low == b.low && a.high == b.high
    }
}

impl TriMesh {
    /// All half-edges, sorted by edge, then direction, then triangle.
    pub(crate) fn half_edges(&self) -> Vec<HalfEdge> {
        let mut all = Vec::with_capacity(3 * self.triangles.len());
        for (t, v) in self.triangles.iter().enumerate() {
            for k in 0..3 {
                let (a, b) = (v[k], v[(k + 1) % 3]);
                all.push(HalfEdge {
                    low: a.min(b),
                    high: a.max(b),
                    reversed: a > b,
                    triangle: t as u32,
                    opposite: v[(k + 2) % 3],
                });
            }
        }
        all.sort_unstable();
        all
    }

    /// Every edge once, as [lower vertex, higher vertex], sorted.
    pub fn edges(&self) -> Vec<[u32; 2]> {
        let half = self.half_edges();
        let groups = half.chunk_by(HalfEdge::same_edge);
        groups.map(|g| [g[0].low, g[0].high]).collect()
    }

    /// Every edge with exactly two triangles, as [a, b, c, d], sorted by the edge.
    ///
    /// One triangle is (a, b, c) in its own orientation; the other contains a, b and d, and is
    /// (b, a, d) if the two are oriented alike, in which case a < b. With the area vectors
    /// m = (b−a)×(c−a) and n = (d−a)×(b−a), the dihedral angle
    ///
    /// θ = atan2( (m×n)·(b−a)/‖b−a‖, m·n )
    ///
    /// is zero when flat, and positive where the surface is convex seen from the side the
    /// triangles face (a ridge; a valley is negative). An edge with three or more triangles is
    /// no hinge.
    pub fn hinges(&self) -> Vec<[u32; 4]> {
        let half = self.half_edges();
        let groups = half.chunk_by(HalfEdge::same_edge);
        groups
            .filter(|g| g.len() == 2 && g[0].low != g[0].high)
            .map(|g| {
                let [a, b] = g[0].directed();
                [a, b, g[0].opposite, g[1].opposite]
            })
            .collect()
    }

    /// Every edge with exactly one triangle, in the direction in which that triangle runs along
    /// it, sorted by (lower, higher) vertex.
    pub fn boundary_edges(&self) -> Vec<[u32; 2]> {
        let half = self.half_edges();
        let groups = half.chunk_by(HalfEdge::same_edge);
        groups
            .filter(|g| g.len() == 1)
            .map(|g| g[0].directed())
            .collect()
    }

    /// The vertices of the boundary edges, ascending.
    pub fn boundary_vertices(&self) -> Vec<u32> {
        sorted_set(self.boundary_edges().into_iter().flatten().collect())
    }

    /// Checks that every edge has as many triangles running along it in one direction as in the
    /// other, so that the surface encloses a volume. Edges with four or more triangles, as where
    /// two closed parts touch, are no obstacle.
    pub fn check_closed(&self) -> Result<(), MeshError> {
        let half = self.half_edges();
        for group in half.chunk_by(HalfEdge::same_edge) {
            let split = group.partition_point(|h| !h.reversed);
            let (forward, backward) = group.split_at(split);
            if forward.len() == backward.len() {
                continue;
            }
            let more = if forward.len() > backward.len() {
                forward
            } else {
                backward
            };
            let edge = more[0].directed();
            return Err(match (group.len() % 2, more) {
                (0, [first, second, ..]) => MeshError::FlippedEdge {
                    edge,
                    triangles: [first.triangle, second.triangle],
                },
                _ => MeshError::OpenEdge {
                    edge,
                    triangle: more[0].triangle,
                },
            });
        }
        Ok(())
    }

    /// The triangles around each vertex.
    pub fn vertex_triangles(&self) -> Adjacency {
        vertex_elements(self.positions.len(), &self.triangles)
    }

    /// The vertices joined to each vertex by an edge.
    pub fn vertex_neighbours(&self) -> Adjacency {
        neighbours(self.positions.len(), &self.edges())
    }

    /// The parts that hang together.
    pub fn components(&self) -> Components {
        components(self.positions.len(), &self.triangles)
    }
}

impl TetMesh {
    /// Every edge once, as [lower vertex, higher vertex], sorted.
    pub fn edges(&self) -> Vec<[u32; 2]> {
        const PAIRS: [[usize; 2]; 6] = [[0, 1], [0, 2], [0, 3], [1, 2], [1, 3], [2, 3]];
        let all = self.tets.iter().flat_map(|t| {
            PAIRS.map(|[i, j]| {
                let (a, b) = (t[i], t[j]);
                [a.min(b), a.max(b)]
            })
        });
        sorted_set(all.collect())
    }

    /// The tetrahedra around each vertex.
    pub fn vertex_tets(&self) -> Adjacency {
        vertex_elements(self.positions.len(), &self.tets)
    }

    /// The vertices joined to each vertex by an edge.
    pub fn vertex_neighbours(&self) -> Adjacency {
        neighbours(self.positions.len(), &self.edges())
    }

    /// The parts that hang together.
    pub fn components(&self) -> Components {
        components(self.positions.len(), &self.tets)
    }

    /// The faces that belong to one tetrahedron only, facing outwards if the tetrahedra are
    /// positively oriented, in the order of their tetrahedra. The second result maps each vertex
    /// of the surface to its vertex in this mesh (ascending).
    pub fn surface(&self) -> (TriMesh, Vec<u32>) {
        let faces = self.outer_faces();
        let nodes = sorted_set(faces.iter().flatten().copied().collect());
        let mut local = vec![0u32; self.positions.len()];
        for (i, &v) in nodes.iter().enumerate() {
            local[v as usize] = i as u32;
        }
        let mesh = TriMesh {
            positions: nodes.iter().map(|&v| self.positions[v as usize]).collect(),
            triangles: faces.iter().map(|f| f.map(|v| local[v as usize])).collect(),
        };
        (mesh, nodes)
    }

    fn outer_faces(&self) -> Vec<[u32; 3]> {
        let mut all: Vec<([u32; 3], usize)> = Vec::with_capacity(4 * self.tets.len());
        for (t, tet) in self.tets.iter().enumerate() {
            for (k, face) in tet_faces(tet).into_iter().enumerate() {
                let mut key = face;
                key.sort_unstable();
                all.push((key, 4 * t + k));
            }
        }
        all.sort_unstable();
        let singles = all.chunk_by(|a, b| a.0 == b.0).filter(|g| g.len() == 1);
        let mut places: Vec<usize> = singles.map(|g| g[0].1).collect();
        places.sort_unstable();
        let face = |p: &usize| tet_faces(&self.tets[p / 4])[p % 4];
        places.iter().map(face).collect()
    }
}

/// The four faces of a positively oriented tetrahedron, each counter-clockwise from outside.
pub(crate) fn tet_faces([a, b, c, d]: &[u32; 4]) -> [[u32; 3]; 4] {
    [[*b, *c, *d], [*a, *d, *c], [*a, *b, *d], [*a, *c, *b]]
}

fn sorted_set<T: Ord>(mut items: Vec<T>) -> Vec<T> {
    items.sort_unstable();
    items.dedup();
    items
}

fn vertex_elements<const N: usize>(count: usize, elements: &[[u32; N]]) -> Adjacency {
    let with = |(e, nodes): (usize, &[u32; N])| nodes.map(|v| (v, e as u32));
    let pairs = sorted_set(elements.iter().enumerate().flat_map(with).collect());
    Adjacency::from_sorted(count, &pairs)
}

fn neighbours(count: usize, edges: &[[u32; 2]]) -> Adjacency {
    let both = edges.iter().flat_map(|&[a, b]| [(a, b), (b, a)]);
    Adjacency::from_sorted(count, &sorted_set(both.collect()))
}

/// Joins vertices of each element by union-find; the lowest vertex represents its part.
fn components<const N: usize>(count: usize, elements: &[[u32; N]]) -> Components {
    fn root(parent: &mut [u32], mut v: u32) -> u32 {
        while parent[v as usize] != v {
            parent[v as usize] = parent[parent[v as usize] as usize];
            v = parent[v as usize];
        }
        v
    }
    let mut parent: Vec<u32> = (0..count as u32).collect();
    for nodes in elements {
        for &v in &nodes[1..] {
            let (a, b) = (root(&mut parent, nodes[0]), root(&mut parent, v));
            parent[a.max(b) as usize] = a.min(b);
        }
    }
    let mut of_vertex = vec![0; count];
    let mut next = 0;
    for v in 0..count as u32 {
        let r = root(&mut parent, v);
        if r == v {
            of_vertex[v as usize] = next;
            next += 1;
        } else {
            of_vertex[v as usize] = of_vertex[r as usize];
        }
    }
    Components {
        count: next as usize,
        of_vertex,
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::shapes::{BoxSolid, Sheet, SheetPattern, TetPattern};
    use stiction_math::Vec3;

    fn sheet(cells: [u32; 2]) -> TriMesh {
        Sheet {
            size: [1.0, 1.0],
            cells,
            pattern: SheetPattern::Regular,
        }
        .build()
        .unwrap()
    }

    /// The angle of the definition in [`TriMesh::hinges`].
    fn dihedral(m: &TriMesh, h: [u32; 4]) -> f64 {
        let [a, b, c, d] = h.map(|v| m.positions[v as usize]);
        let e = b - a;
        let (m, n) = (e.cross(&(c - a)), (d - a).cross(&e));
        (m.cross(&n).dot(&e) / e.norm()).atan2(m.dot(&n))
    }

    #[test]
    fn counts_of_a_sheet_obey_euler() {
        let m = sheet([3, 5]);
        let (v, e, f) = (m.positions.len(), m.edges().len(), m.triangles.len());
        assert_eq!(v + f, e + 1);
        assert_eq!(m.boundary_edges().len(), 16);
        assert_eq!(m.hinges().len(), e - 16);
        assert_eq!(m.boundary_vertices().len(), 16);
        assert!(m.edges().is_sorted());
        assert!(matches!(
            m.check_closed().unwrap_err(),
            MeshError::OpenEdge { .. }
        ));
    }

    #[test]
    fn hinge_sign_is_positive_on_a_ridge_and_negative_in_a_valley() {
        for (height, sign) in [(-0.5_f64, 1.0), (0.5, -1.0)] {
            let m = TriMesh {
                positions: vec![
                    Vec3::new(0.0, 0.0, 0.0),
                    Vec3::new(0.0, 1.0, 0.0),
                    Vec3::new(-1.0, 0.5, height),
                    Vec3::new(1.0, 0.5, height),
                ],
                triangles: vec![[1, 2, 0], [1, 0, 3]],
            };
            assert!(m.triangle_normals().iter().all(|n| n.z > 0.0));
            let hinges = m.hinges();
            assert_eq!(hinges, [[0, 1, 2, 3]]);
            let expected = sign * 2.0 * 0.5_f64.atan();
            assert!((dihedral(&m, hinges[0]) - expected).abs() < 1e-14);
            // The other side of the same sheet sees the opposite sign.
            let mut over = m.clone();
            over.flip();
            assert!((dihedral(&over, over.hinges()[0]) + expected).abs() < 1e-14);
        }
    }

    #[test]
    fn the_surface_of_a_block_is_its_boundary() {
        for pattern in [TetPattern::Kuhn, TetPattern::Five] {
            let solid = BoxSolid {
                size: [1.0, 2.0, 3.0],
                cells: [2, 3, 4],
                pattern,
            }
            .build()
            .unwrap();
            let (skin, nodes) = solid.surface();
            assert_eq!(skin.triangles.len(), 2 * 2 * (6 + 12 + 8));
            assert_eq!(skin.positions.len(), 3 * 4 * 5 - 2 * 3);
            assert!(nodes.is_sorted());
            for (p, &v) in skin.positions.iter().zip(&nodes) {
                assert_eq!(*p, solid.positions[v as usize]);
            }
            skin.check_closed().unwrap();
            assert!((skin.volume() - 6.0).abs() < 1e-12);
            assert!((skin.area() - 22.0).abs() < 1e-12);
            assert_eq!(solid.components().count, 1);
            for [a, b] in solid.edges() {
                assert!(solid.vertex_neighbours().of(a as usize).contains(&b));
            }
        }
    }

    #[test]
    fn adjacency_agrees_with_a_search() {
        let m = sheet([2, 2]);
        let around = m.vertex_triangles();
        assert_eq!(around.len(), m.positions.len());
        for v in 0..m.positions.len() {
            let mine = |(t, n): (usize, &[u32; 3])| n.contains(&(v as u32)).then_some(t as u32);
            let slow: Vec<u32> = m.triangles.iter().enumerate().filter_map(mine).collect();
            assert_eq!(around.of(v), slow);
        }
    }

    #[test]
    fn components_are_numbered_by_their_lowest_vertex() {
        let mut m = TriMesh {
            positions: vec![Vec3::zeros(); 7],
            triangles: vec![[5, 1, 6], [0, 2, 4]],
        };
        let c = m.components();
        assert_eq!(c.count, 3);
        assert_eq!(c.of_vertex, [0, 1, 0, 2, 0, 1, 1]);
        m.triangles.push([4, 3, 6]);
        assert_eq!(m.components().count, 1);
    }

    #[test]
    fn closedness_distinguishes_holes_from_flips() {
        let mut m = crate::shapes::BoxSurface {
            size: [1.0; 3],
            cells: [1; 3],
        }
        .build()
        .unwrap();
        m.check_closed().unwrap();
        m.triangles[4].swap(0, 1);
        let flipped = m.check_closed().unwrap_err();
        assert!(matches!(flipped, MeshError::FlippedEdge { triangles, .. }
            if triangles.contains(&4)));
        m.triangles.remove(4);
        let open = m.check_closed().unwrap_err();
        assert!(matches!(open, MeshError::OpenEdge { .. }));
    }
}
