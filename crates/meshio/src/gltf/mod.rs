//! glTF 2.0: triangles with texture coordinates, skins, morph targets and animations.
//!
//! A file is read as one surface over time. Of the scene that it shows, all meshes are put
//! together in the frame of the root, with z up (the format has y up): (x, y, z) becomes
//! (x, −z, y). Vertices that are one but for normals or texture coordinates, for which the format
//! repeats them, are merged: those of one node that are at one place in every frame.
//!
//! The position of a vertex is that of the specification: morph targets first,
//! p = p₀ + Σ wₖ δₖ, then the matrix of the node, or of a skin Σ wⱼ Gⱼ Bⱼ p with the world
//! matrices Gⱼ of its joints and their inverse bind matrices Bⱼ. Samplers step, interpolate
//! linearly (rotations on the great circle) or by cubic splines.
//!
//! Buffers must be in the file itself: in the second chunk of a `.glb`, or as base64 data.
//! Materials, cameras, further sets of coordinates and extensions are skipped. Sparse accessors,
//! strips and fans are refused.

mod access;
mod animation;
mod pose;

use std::collections::BTreeMap;

use serde_json::Value;
use stiction_geometry::TriMesh;
use stiction_math::{Vec2, Vec3};

use super::error::{FileLocation, MeshFileError, MeshFileProblem};
use super::{MeshFile, MeshLimits, VertexGroup};
use access::{Document, index, items};
use animation::Clip;
use pose::{Part, Rig};

/// A surface whose vertices move.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MeshAnimation {
    /// The mesh with the positions of the first frame, its texture coordinates and the vertices of
    /// each named node as groups.
    pub mesh: MeshFile,
    /// Times of the frames [s], ascending.
    pub times: Vec<f64>,
    /// Positions of the vertices of the mesh for each frame [m].
    pub frames: Vec<Vec<Vec3>>,
}

/// Which frames are read.
#[derive(Clone, Debug, PartialEq)]
pub struct AnimationConfig {
    /// Name of the animation; the first one by default.
    pub clip: Option<String>,
    /// Frames per second at which it is sampled [1/s].
    pub rate: f64,
}

impl Default for AnimationConfig {
    /// Sixty frames per second: twice the usual rate of keys.
    fn default() -> Self {
        Self {
            clip: None,
            rate: 60.0,
        }
    }
}

/// Most bytes of the positions of all frames.
const MOST_BYTES: u64 = 4 << 30;

/// Reads the surface of a glTF file in its rest pose, without animation.
pub fn read(bytes: &[u8], limits: &MeshLimits) -> Result<MeshFile, MeshFileError> {
    let document = Document::parse(bytes, limits)?;
    let rig = Rig::new(&document, limits)?;
    let parts = rig.parts(&document, limits)?;
    let frame = rig.place(&parts, None, 0.0)?;
    Ok(weld(&rig, &parts, vec![0.0], vec![frame])?.mesh)
}

/// Reads the surface of a glTF file over time, sampled at equal intervals from the first to the
/// last key of one of its animations.
pub fn read_animation(
    bytes: &[u8],
    limits: &MeshLimits,
    config: &AnimationConfig,
) -> Result<MeshAnimation, MeshFileError> {
    let document = Document::parse(bytes, limits)?;
    let rig = Rig::new(&document, limits)?;
    let parts = rig.parts(&document, limits)?;
    let clip = Clip::new(&document, config.clip.as_deref())?;
    let [first, last] = clip.span();
    let intervals = ((last - first) * config.rate).ceil().max(0.0);
    let vertices: usize = parts.iter().map(Part::len).sum();
    let size = (intervals + 1.0) * vertices as f64 * 24.0;
    if size.is_nan() || config.rate.is_nan() || size > MOST_BYTES as f64 {
        let (count, limit) = (size.min(1e18) as u64, MOST_BYTES);
        let what = "bytes of sampled positions";
        return Err(fault(MeshFileProblem::TooMany { what, count, limit }));
    }
    let count = intervals as usize;
    let time = |i: usize| match i == count {
        true => last,
        false => first + i as f64 / config.rate,
    };
    let times: Vec<f64> = (0..=count).map(time).collect();
    let frames: Result<Vec<_>, _> = times
        .iter()
        .map(|&t| rig.place(&parts, Some(&clip), t))
        .collect();
    weld(&rig, &parts, times, frames?)
}

/// Merges vertices of one node that are at one place in every frame.
fn weld(
    rig: &Rig,
    parts: &[Part],
    times: Vec<f64>,
    frames: Vec<Vec<Vec3>>,
) -> Result<MeshAnimation, MeshFileError> {
    let bits = |p: &Vec3| [p.x, p.y, p.z].map(|c| (c + 0.0).to_bits());
    let mut merged: Vec<u32> = Vec::new();
    let mut kept: Vec<usize> = Vec::new();
    let mut file = MeshFile::default();
    let (mut triangles, mut uv) = (Vec::new(), Vec::new());
    let textured = parts.iter().all(|p| !p.uv.is_empty());
    let mut groups: BTreeMap<&str, Vec<u32>> = BTreeMap::new();
    let mut first = 0;
    // Candidates of one node share a place in the first frame.
    let mut node = usize::MAX;
    let mut places: BTreeMap<[u64; 3], Vec<u32>> = BTreeMap::new();
    for part in parts {
        if part.node != node {
            places.clear();
            node = part.node;
        }
        for v in first..first + part.len() {
            let same = places.entry(bits(&frames[0][v])).or_default();
            let known = same.iter().copied().find(|&k| {
                let k = kept[k as usize];
                frames.iter().all(|f| bits(&f[k]) == bits(&f[v]))
            });
            merged.push(known.unwrap_or_else(|| {
                let new = kept.len() as u32;
                kept.push(v);
                same.push(new);
                new
            }));
        }
        let map = |v: u32| merged[first + v as usize];
        for t in &part.triangles {
            let corners = t.map(map);
            // A triangle with two corners at one place has no area.
            if corners[0] == corners[1] || corners[1] == corners[2] || corners[2] == corners[0] {
                continue;
            }
            triangles.push(corners);
            if textured {
                uv.push(t.map(|v| part.uv[v as usize]));
            }
        }
        if let Some(name) = rig.name(part.node) {
            let own = (first..first + part.len()).map(|v| merged[v]);
            groups.entry(name).or_default().extend(own);
        }
        first += part.len();
    }
    if triangles.is_empty() {
        let vertices = kept.len() as u64;
        return Err(fault(MeshFileProblem::NoElements { vertices }));
    }
    let frames: Vec<Vec<Vec3>> = frames
        .into_iter()
        .map(|f| kept.iter().map(|&v| f[v]).collect())
        .collect();
    file.surface = Some(TriMesh {
        positions: frames.first().cloned().unwrap_or_default(),
        triangles,
    });
    file.uv = textured.then_some(uv);
    file.groups = groups
        .into_iter()
        .map(|(name, mut vertices)| {
            vertices.sort_unstable();
            vertices.dedup();
            VertexGroup {
                name: name.to_owned(),
                vertices,
            }
        })
        .collect();
    Ok(MeshAnimation {
        mesh: file,
        times,
        frames,
    })
}

/// An error about the file as a whole.
fn fault(problem: MeshFileProblem) -> MeshFileError {
    MeshFileError::new(FileLocation::File, problem)
}

fn inconsistent(what: impl Into<String>) -> MeshFileError {
    fault(MeshFileProblem::Inconsistent {
        what: what.into(),
        remedy: "export the file again",
    })
}

fn unsupported(what: impl Into<String>, remedy: &'static str) -> MeshFileError {
    fault(MeshFileProblem::Unsupported {
        what: what.into(),
        remedy,
    })
}

/// The number at `key` of an object, which must be below `count`; none if there is no such key.
fn link(of: &Value, key: &'static str, count: usize) -> Result<Option<usize>, MeshFileError> {
    let Some(value) = of.get(key) else {
        return Ok(None);
    };
    match index(value).filter(|&i| i < count) {
        Some(i) => Ok(Some(i)),
        None => Err(inconsistent(format!(
            "`{key}` is {value}, but there are {count} of them"
        ))),
    }
}

/// Texture coordinates of vertices with v upwards: the format counts from the upper edge.
fn upright(uv: Vec<[f64; 2]>) -> Vec<Vec2> {
    uv.into_iter().map(|[u, v]| Vec2::new(u, 1.0 - v)).collect()
}

/// The entries of the array at `key`, of which there are none if it is absent.
fn links(of: &Value, key: &'static str, count: usize) -> Result<Vec<usize>, MeshFileError> {
    let one = |value: &Value| {
        index(value).filter(|&i| i < count).ok_or_else(|| {
            inconsistent(format!(
                "`{key}` names {value}, but there are {count} of them"
            ))
        })
    };
    items(of, key).iter().map(one).collect()
}
