//! Mesh files: bytes in, triangles and tetrahedra out, or an error that names the culprit.
//!
//! | extension | format | holds |
//! | --- | --- | --- |
//! | `.obj` | Wavefront OBJ | polygons, groups, texture coordinates |
//! | `.ply` | PLY, text and binary | polygons, texture coordinates of vertices |
//! | `.glb`, `.gltf` | glTF 2.0 with its buffers inside | triangles, texture coordinates, animations |
//! | `.stl` | STL, text and binary | triangles |
//! | `.msh` | Gmsh MSH 2.2 and 4.1, text and binary | triangles, tetrahedra, physical groups |
//! | `.node` + `.ele` | TetGen | tetrahedra, markers |
//! | `.vtk` | VTK legacy, text and binary | polygons, tetrahedra |
//! | `.vtu` | VTK XML unstructured grid, every encoding | polygons, tetrahedra, data arrays |
//!
//! Polylines have a format of their own ([`strands`]).
//!
//! Readers are pure functions of the bytes. None of them trusts a count that the file declares:
//! it is compared with [`MeshLimits`] and with the bytes that are really there before any memory is
//! allocated. Memory and time are linear in the size of the file (for compressed data, in the
//! size that the compressed bytes can expand to).
//!
//! A reader refuses what cannot be represented: a coordinate that is not finite, an index out of
//! range, a cell that is neither a polygon nor a linear tetrahedron. Whether the mesh is any good
//! (manifold, oriented, free of slivers) is a question for the examination of meshes in
//! `stiction-geometry`.

mod bytes;
mod cells;
mod error;
pub mod gltf;
pub mod gmsh;
pub mod obj;
pub mod ply;
mod polygon;
mod soup;
pub mod stl;
pub mod strands;
pub mod tetgen;
pub mod vtk;
pub mod vtu;

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use stiction_geometry::{MeshError, TetMesh, TriMesh};
use stiction_math::{Vec2, Vec3};

pub use error::{FileElement, FileLocation, MeshFileError, MeshFileProblem};

/// Contents of a mesh file. At least one of `surface` and `tets` is present.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MeshFile {
    /// The triangles of the file; polygons are triangulated.
    pub surface: Option<TriMesh>,
    /// The tetrahedra of the file.
    pub tets: Option<TetMesh>,
    /// Texture coordinates of the three corners of every triangle of `surface` [1]. They belong to
    /// corners, because a vertex on a seam of the texture has several.
    pub uv: Option<Vec<[Vec2; 3]>>,
    /// Named vertex sets, in the order in which the file first names them.
    pub groups: Vec<VertexGroup>,
    /// Changes made by the reader, in sentences for the user (for example "all 12 tetrahedra were
    /// turned").
    pub notes: Vec<String>,
}

/// A named set of vertices.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct VertexGroup {
    /// The name in the file.
    pub name: String,
    /// Vertex indices from 0, ascending and distinct. They hold for `surface` and for `tets`:
    /// both carry every vertex of the file in file order.
    pub vertices: Vec<u32>,
}

impl MeshFile {
    /// The vertex set called `name`.
    pub fn group(&self, name: &str) -> Option<&VertexGroup> {
        self.groups.iter().find(|group| group.name == name)
    }

    /// Refuses a mesh that no reader makes: coordinates that are not finite and indices of vertices that do
    /// not exist. A group that names such a vertex is counted as an element.
    pub fn check(&self) -> Result<(), MeshError> {
        if let Some(mesh) = &self.surface {
            mesh.check()?;
            self.check_groups(mesh.positions.len())?;
        }
        if let Some(mesh) = &self.tets {
            mesh.check()?;
            self.check_groups(mesh.positions.len())?;
        }
        Ok(())
    }

    fn check_groups(&self, count: usize) -> Result<(), MeshError> {
        for (element, group) in self.groups.iter().enumerate() {
            if let Some(&index) = group.vertices.iter().find(|v| **v as usize >= count) {
                return Err(MeshError::IndexOutOfRange {
                    element,
                    index,
                    count,
                });
            }
        }
        Ok(())
    }

    /// The surface without the vertices that no triangle uses, and the groups renumbered to it.
    ///
    /// A file of tetrahedra with their boundary triangles gives a surface that carries the
    /// interior vertices as well; a shell made from it must not.
    pub fn compact_surface(&self) -> Option<(TriMesh, Vec<VertexGroup>)> {
        let surface = self.surface.as_ref()?;
        let (positions, triangles, groups) =
            compact(&surface.positions, &surface.triangles, &self.groups);
        let mesh = TriMesh {
            positions,
            triangles,
        };
        Some((mesh, groups))
    }

    /// The compact surface, or without triangles in the file the boundary of its tetrahedra, and the groups
    /// renumbered to it.
    pub fn outer_surface(&self) -> Option<(TriMesh, Vec<VertexGroup>)> {
        self.compact_surface().or_else(|| {
            let (surface, vertices) = self.tets.as_ref()?.surface();
            Some((surface, renumbered(&self.groups, &vertices)))
        })
    }

    /// The tetrahedra without the vertices that none of them uses, and the groups renumbered to them.
    pub fn compact_solid(&self) -> Option<(TetMesh, Vec<VertexGroup>)> {
        let solid = self.tets.as_ref()?;
        let (positions, tets, groups) = compact(&solid.positions, &solid.tets, &self.groups);
        Some((TetMesh { positions, tets }, groups))
    }
}

/// Elements and groups without the vertices that no element uses.
fn compact<const N: usize>(
    positions: &[Vec3],
    elements: &[[u32; N]],
    groups: &[VertexGroup],
) -> (Vec<Vec3>, Vec<[u32; N]>, Vec<VertexGroup>) {
    let mut used: Vec<u32> = elements.iter().flatten().copied().collect();
    used.sort_unstable();
    used.dedup();
    let new = |v: u32| used.binary_search(&v).unwrap_or(0) as u32;
    (
        used.iter().map(|v| positions[*v as usize]).collect(),
        elements.iter().map(|e| e.map(new)).collect(),
        renumbered(groups, &used),
    )
}

/// The groups among the vertices `kept` (ascending), without those that become empty.
fn renumbered(groups: &[VertexGroup], kept: &[u32]) -> Vec<VertexGroup> {
    let vertices = |g: &VertexGroup| {
        let new = g.vertices.iter().filter_map(|v| kept.binary_search(v).ok());
        new.map(|v| v as u32).collect()
    };
    let groups = groups.iter().map(|g| VertexGroup {
        name: g.name.clone(),
        vertices: vertices(g),
    });
    groups.filter(|g| !g.vertices.is_empty()).collect()
}

/// Limits on the contents of a mesh file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MeshLimits {
    /// Most vertices.
    pub max_nodes: u64,
    /// Most triangles plus tetrahedra, after triangulation.
    pub max_elements: u64,
    /// Most bytes, of the file and of what its compressed data expands to.
    pub max_bytes: u64,
}

impl Default for MeshLimits {
    /// Ten million vertices and forty million elements are several times what fits a workstation
    /// run; two gibibytes hold such a mesh in any of the formats.
    fn default() -> Self {
        MeshLimits {
            max_nodes: 10_000_000,
            max_elements: 40_000_000,
            max_bytes: 2 << 30,
        }
    }
}

/// A file format, found from a file name's extension.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MeshFormat {
    /// Wavefront OBJ.
    Obj,
    /// PLY polygon file.
    Ply,
    /// STL.
    Stl,
    /// Gmsh MSH.
    Gmsh,
    /// TetGen `.node` and `.ele`, two files with one stem.
    TetGen,
    /// VTK legacy.
    Vtk,
    /// VTK XML unstructured grid.
    Vtu,
    /// glTF 2.0 with its buffers inside.
    Gltf,
}

impl MeshFormat {
    /// Known extensions, lower case, without the dot.
    pub const EXTENSIONS: [&'static str; 10] = [
        "obj", "ply", "stl", "msh", "node", "ele", "vtk", "vtu", "glb", "gltf",
    ];

    /// The format that the extension of `path` stands for, upper or lower case.
    pub fn of(path: &Path) -> Result<MeshFormat, MeshFileError> {
        let extension = path
            .extension()
            .map(|e| e.to_string_lossy().to_ascii_lowercase())
            .unwrap_or_default();
        match extension.as_str() {
            "obj" => Ok(MeshFormat::Obj),
            "ply" => Ok(MeshFormat::Ply),
            "stl" => Ok(MeshFormat::Stl),
            "msh" => Ok(MeshFormat::Gmsh),
            "node" | "ele" => Ok(MeshFormat::TetGen),
            "vtk" => Ok(MeshFormat::Vtk),
            "vtu" => Ok(MeshFormat::Vtu),
            "glb" | "gltf" => Ok(MeshFormat::Gltf),
            _ => Err(MeshFileError::new(
                FileLocation::File,
                MeshFileProblem::UnknownExtension { extension },
            )
            .in_file(path)),
        }
    }
}

/// Reads the mesh file at `path`; its extension gives the format. For TetGen, either of the two
/// files names the pair.
pub fn load(path: &Path, limits: &MeshLimits) -> Result<MeshFile, MeshFileError> {
    let read_one = |read: fn(&[u8], &MeshLimits) -> Result<MeshFile, MeshFileError>| {
        read(&read_bytes(path, limits)?, limits).map_err(|error| error.in_file(path))
    };
    match MeshFormat::of(path)? {
        MeshFormat::Obj => read_one(obj::read),
        MeshFormat::Ply => read_one(ply::read),
        MeshFormat::Stl => read_one(stl::read),
        MeshFormat::Gmsh => read_one(gmsh::read),
        MeshFormat::Vtk => read_one(vtk::read),
        MeshFormat::Vtu => read_one(vtu::read_mesh),
        MeshFormat::Gltf => read_one(gltf::read),
        MeshFormat::TetGen => load_tetgen(path, limits),
    }
}

/// Reads the glTF file at `path` with an animation.
pub fn load_animation(
    path: &Path,
    limits: &MeshLimits,
    config: &gltf::AnimationConfig,
) -> Result<gltf::MeshAnimation, MeshFileError> {
    let bytes = read_bytes(path, limits)?;
    gltf::read_animation(&bytes, limits, config).map_err(|error| error.in_file(path))
}

fn load_tetgen(path: &Path, limits: &MeshLimits) -> Result<MeshFile, MeshFileError> {
    // Keeps the user's spelling of the file that was named and its case for the other one.
    let upper = path
        .extension()
        .is_some_and(|e| e.to_string_lossy().chars().all(|c| c.is_ascii_uppercase()));
    let sibling = |lower: &str| -> PathBuf {
        if path
            .extension()
            .is_some_and(|e| e.eq_ignore_ascii_case(lower))
        {
            path.to_path_buf()
        } else if upper {
            path.with_extension(lower.to_ascii_uppercase())
        } else {
            path.with_extension(lower)
        }
    };
    let (node_path, ele_path) = (sibling("node"), sibling("ele"));
    let node = read_bytes(&node_path, limits)?;
    let ele = read_bytes(&ele_path, limits)?;
    let nodes = tetgen::read_nodes(&node, limits).map_err(|error| error.in_file(&node_path))?;
    tetgen::read_elements(nodes, &ele, limits).map_err(|error| error.in_file(&ele_path))
}

fn read_bytes(path: &Path, limits: &MeshLimits) -> Result<Vec<u8>, MeshFileError> {
    let refuse = |problem| MeshFileError::new(FileLocation::File, problem).in_file(path);
    let failed = |error: std::io::Error| {
        refuse(MeshFileProblem::Unreadable {
            reason: error.to_string(),
        })
    };
    let too_large = |count| {
        refuse(MeshFileProblem::TooMany {
            what: "bytes",
            count,
            limit: limits.max_bytes,
        })
    };
    // Opening a pipe would wait for its writer, and a device may never end.
    let metadata = std::fs::metadata(path).map_err(failed)?;
    if !metadata.is_file() {
        return Err(failed(std::io::Error::other("it is not a regular file")));
    }
    let file = File::open(path).map_err(failed)?;
    let length = metadata.len();
    if length > limits.max_bytes {
        return Err(too_large(length));
    }
    // The length is only a hint (a file may grow), so the reading is bounded too.
    let mut bytes = Vec::new();
    file.take(limits.max_bytes.saturating_add(1))
        .read_to_end(&mut bytes)
        .map_err(failed)?;
    if bytes.len() as u64 > limits.max_bytes {
        return Err(too_large(bytes.len() as u64));
    }
    Ok(bytes)
}
