use stiction_math::Vec3;

/// A surface of triangles, open or closed.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TriMesh {
    /// Vertex positions [m].
    pub positions: Vec<Vec3>,
    /// Three vertex indices per triangle, counter-clockwise seen from outside.
    pub triangles: Vec<[u32; 3]>,
}

/// A volume of tetrahedra.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TetMesh {
    /// Vertex positions [m].
    pub positions: Vec<Vec3>,
    /// Four vertex indices per tetrahedron, with (b−a)×(c−a)·(d−a) > 0.
    pub tets: Vec<[u32; 4]>,
}
