//! The mesh under construction, shared by all readers.

use std::collections::BTreeMap;

use stiction_geometry::{TetMesh, TriMesh};
use stiction_math::{Vec2, Vec3};

use super::error::{FileLocation, MeshFileError, MeshFileProblem};
use super::polygon::triangulate;
use super::{MeshFile, MeshLimits, VertexGroup};

/// Vertices, elements and groups read so far, within the limits.
pub(super) struct Soup {
    limits: MeshLimits,
    pub positions: Vec<Vec3>,
    triangles: Vec<[u32; 3]>,
    tets: Vec<[u32; 4]>,
    /// Texture coordinates of the corners of the first triangles, as far as faces had them.
    uv: Vec<[Vec2; 3]>,
    /// Texture coordinates of vertices, for formats that have them there.
    pub vertex_uv: Vec<Vec2>,
    pub groups: Groups,
}

impl Soup {
    /// `bytes` is the size of the file.
    pub fn new(limits: &MeshLimits, bytes: usize) -> Self {
        Soup {
            limits: *limits,
            positions: Vec::new(),
            triangles: Vec::new(),
            tets: Vec::new(),
            uv: Vec::new(),
            vertex_uv: Vec::new(),
            groups: Groups {
                by_name: BTreeMap::new(),
                list: Vec::new(),
                // A file that puts every element into dozens of groups would otherwise need
                // memory quadratic in its size.
                budget: bytes.saturating_mul(8),
                members: 0,
            },
        }
    }

    pub fn push_position(
        &mut self,
        position: [f64; 3],
        place: FileLocation,
    ) -> Result<(), MeshFileError> {
        let count = self.positions.len() as u64 + 1;
        // Indices are 32 bits wide, and the last one marks "none".
        let limit = self.limits.max_nodes.min(u64::from(u32::MAX) - 1);
        if count > limit {
            let what = "vertices";
            return Err(MeshFileError::new(
                place,
                MeshFileProblem::TooMany { what, count, limit },
            ));
        }
        self.positions.push(Vec3::from(position));
        Ok(())
    }

    /// Adds a polygon, cut into triangles. Its corners are in range.
    pub fn push_polygon(
        &mut self,
        corners: &[u32],
        place: FileLocation,
    ) -> Result<(), MeshFileError> {
        self.check_elements(corners.len().saturating_sub(2), place)?;
        triangulate(&self.positions, corners, &mut self.triangles).map_err(|reason| {
            let corners = corners.len();
            MeshFileError::new(place, MeshFileProblem::Polygon { corners, reason })
        })
    }

    /// Adds a polygon with texture coordinates at its corners, cut into triangles. Its corners are in
    /// range. A vertex may occur at several corners with different coordinates.
    pub fn push_textured(
        &mut self,
        corners: &[u32],
        uv: &[Vec2],
        place: FileLocation,
    ) -> Result<(), MeshFileError> {
        let first = self.triangles.len();
        if self.uv.len() != first {
            return self.push_polygon(corners, place);
        }
        self.check_elements(corners.len().saturating_sub(2), place)?;
        let positions: Vec<Vec3> = corners
            .iter()
            .map(|&v| self.positions[v as usize])
            .collect();
        let local: Vec<u32> = (0..corners.len() as u32).collect();
        triangulate(&positions, &local, &mut self.triangles).map_err(|reason| {
            let corners = corners.len();
            MeshFileError::new(place, MeshFileProblem::Polygon { corners, reason })
        })?;
        for triangle in &mut self.triangles[first..] {
            self.uv.push(triangle.map(|k| uv[k as usize]));
            *triangle = triangle.map(|k| corners[k as usize]);
        }
        Ok(())
    }

    /// Adds a triangle strip. Its corners are in range.
    pub fn push_strip(
        &mut self,
        corners: &[u32],
        place: FileLocation,
    ) -> Result<(), MeshFileError> {
        self.check_elements(corners.len().saturating_sub(2), place)?;
        for (i, w) in corners.windows(3).enumerate() {
            // Every other triangle of a strip runs the other way round.
            let triangle = if i % 2 == 0 {
                [w[0], w[1], w[2]]
            } else {
                [w[1], w[0], w[2]]
            };
            self.triangles.push(triangle);
        }
        Ok(())
    }

    pub fn push_tet(
        &mut self,
        corners: [u32; 4],
        place: FileLocation,
    ) -> Result<(), MeshFileError> {
        self.check_elements(1, place)?;
        self.tets.push(corners);
        Ok(())
    }

    fn check_elements(&self, more: usize, place: FileLocation) -> Result<(), MeshFileError> {
        let count = (self.triangles.len() + self.tets.len()) as u64 + more as u64;
        let limit = self.limits.max_elements;
        if count > limit {
            let what = "elements";
            return Err(MeshFileError::new(
                place,
                MeshFileProblem::TooMany { what, count, limit },
            ));
        }
        Ok(())
    }

    pub fn finish(mut self) -> Result<MeshFile, MeshFileError> {
        if self.triangles.is_empty() && self.tets.is_empty() {
            let vertices = self.positions.len() as u64;
            return Err(MeshFileError::new(
                FileLocation::File,
                MeshFileProblem::NoElements { vertices },
            ));
        }
        let mut notes = Vec::new();
        if turn_if_all_inverted(&self.positions, &mut self.tets) {
            notes.push(format!(
                "all {} tetrahedra were turned: the file numbers their corners the other way round",
                self.tets.len()
            ));
        }
        let textured = self.uv.len();
        let uv = (textured > 0 && textured == self.triangles.len()).then_some(self.uv);
        if textured > 0 && uv.is_none() {
            notes.push(
                "some faces have no texture coordinates, so that those of all others are ignored"
                    .to_owned(),
            );
        }
        let groups = self.groups.finish();
        let surface = (!self.triangles.is_empty()).then(|| TriMesh {
            positions: if self.tets.is_empty() {
                std::mem::take(&mut self.positions)
            } else {
                self.positions.clone()
            },
            triangles: self.triangles,
        });
        let tets = (!self.tets.is_empty()).then_some(TetMesh {
            positions: self.positions,
            tets: self.tets,
        });
        Ok(MeshFile {
            surface,
            tets,
            uv,
            groups,
            notes,
        })
    }
}

/// Programs disagree on which way round a tetrahedron is numbered. When every single one has
/// negative volume it is the convention that differs, not the mesh that is broken.
fn turn_if_all_inverted(positions: &[Vec3], tets: &mut [[u32; 4]]) -> bool {
    let volume = |tet: &[u32; 4]| {
        let [a, b, c, d] = tet.map(|v| positions[v as usize]);
        (b - a).cross(&(c - a)).dot(&(d - a))
    };
    let all = !tets.is_empty() && tets.iter().all(|tet| volume(tet) < 0.0);
    if all {
        for tet in tets {
            tet.swap(2, 3);
        }
    }
    all
}

/// Named vertex sets under construction; sets that share a name are one.
pub(super) struct Groups {
    by_name: BTreeMap<String, usize>,
    list: Vec<VertexGroup>,
    budget: usize,
    members: usize,
}

impl Groups {
    /// Raises the bound on members for a second file of `bytes`.
    pub fn allow_for(&mut self, bytes: usize) {
        self.budget = self.budget.saturating_add(bytes.saturating_mul(8));
    }

    /// The handle of the group called `name`.
    pub fn named(&mut self, name: &[u8]) -> usize {
        let name = String::from_utf8_lossy(name).into_owned();
        if let Some(&handle) = self.by_name.get(&name) {
            return handle;
        }
        let handle = self.list.len();
        self.by_name.insert(name.clone(), handle);
        self.list.push(VertexGroup {
            name,
            vertices: Vec::new(),
        });
        handle
    }

    pub fn add(
        &mut self,
        handle: usize,
        vertices: &[u32],
        place: FileLocation,
    ) -> Result<(), MeshFileError> {
        self.members += vertices.len();
        if self.members > self.budget {
            return Err(MeshFileError::new(
                place,
                MeshFileProblem::TooMany {
                    what: "group members",
                    count: self.members as u64,
                    limit: self.budget as u64,
                },
            ));
        }
        self.list[handle].vertices.extend_from_slice(vertices);
        Ok(())
    }

    fn finish(self) -> Vec<VertexGroup> {
        let mut groups = self.list;
        for group in &mut groups {
            group.vertices.sort_unstable();
            group.vertices.dedup();
        }
        groups.retain(|group| !group.vertices.is_empty());
        groups
    }
}
