//! Nodes, skins and meshes, and where they are at a time.

use serde_json::Value;
use stiction_math::nalgebra::{Matrix4, Quaternion, UnitQuaternion, Vector4};
use stiction_math::{Vec2, Vec3};

use super::access::{Document, items};
use super::animation::{Clip, Path};
use super::{fault, inconsistent, link, links, unsupported, upright};
use crate::MeshLimits;
use crate::error::{MeshFileError, MeshFileProblem};

type Mat4 = Matrix4<f64>;

/// The nodes that a scene shows, parents before children.
pub(super) struct Rig {
    nodes: Vec<Node>,
    /// Of the nodes of the scene, each once.
    order: Vec<usize>,
    skins: Vec<Skin>,
}

struct Node {
    name: Option<String>,
    parent: Option<usize>,
    mesh: Option<usize>,
    skin: Option<usize>,
    still: Pose,
    /// Weights of the morph targets, where the node has its own.
    weights: Vec<f64>,
}

/// Transformation of a node to its parent.
#[derive(Clone)]
enum Pose {
    Matrix(Mat4),
    Parts {
        translation: Vec<f64>,
        rotation: Vec<f64>,
        scale: Vec<f64>,
    },
}

struct Skin {
    joints: Vec<usize>,
    inverse: Vec<Mat4>,
}

/// The triangles of one primitive of a node.
pub(super) struct Part {
    /// Place of the node in the file.
    pub node: usize,
    pub triangles: Vec<[u32; 3]>,
    /// Texture coordinates of vertices; empty if there are none.
    pub uv: Vec<Vec2>,
    rest: Vec<Vec3>,
    /// Displacements of every vertex, for each morph target.
    targets: Vec<Vec<Vec3>>,
    /// Weights of the morph targets without animation.
    weights: Vec<f64>,
    /// Joints of the skin and their weights, four or eight of each vertex; empty without a skin.
    influences: Vec<Vec<(usize, f64)>>,
}

impl Part {
    pub fn len(&self) -> usize {
        self.rest.len()
    }
}

fn numbers(of: &Value, key: &str) -> Vec<f64> {
    items(of, key).iter().filter_map(Value::as_f64).collect()
}

impl Pose {
    fn read(node: &Value) -> Self {
        let matrix = numbers(node, "matrix");
        if matrix.len() == 16 {
            return Self::Matrix(Mat4::from_column_slice(&matrix));
        }
        let or = |key, default: &[f64]| {
            let found = numbers(node, key);
            match found.len() == default.len() {
                true => found,
                false => default.to_vec(),
            }
        };
        Self::Parts {
            translation: or("translation", &[0.0; 3]),
            rotation: or("rotation", &[0.0, 0.0, 0.0, 1.0]),
            scale: or("scale", &[1.0; 3]),
        }
    }

    /// The matrix with animated properties of node `node` at time `t` [s].
    fn matrix(&self, node: usize, clip: Option<&Clip>, t: f64) -> Mat4 {
        let Self::Parts {
            translation,
            rotation,
            scale,
        } = self
        else {
            let Self::Matrix(matrix) = self else {
                return Mat4::identity();
            };
            return *matrix;
        };
        let animated = |path, width: usize, still: &[f64]| {
            let value = clip.and_then(|c| c.value(node, path, t));
            value
                .filter(|v| v.len() == width)
                .unwrap_or_else(|| still.to_vec())
        };
        let p = animated(Path::Translation, 3, translation);
        let q = animated(Path::Rotation, 4, rotation);
        let s = animated(Path::Scale, 3, scale);
        let turn = Quaternion::new(q[3], q[0], q[1], q[2]);
        let turn = UnitQuaternion::try_new(turn, 1e-12).unwrap_or_default();
        Mat4::new_translation(&Vec3::new(p[0], p[1], p[2]))
            * turn.to_homogeneous()
            * Mat4::new_nonuniform_scaling(&Vec3::new(s[0], s[1], s[2]))
    }
}

impl Rig {
    pub fn new(document: &Document, limits: &MeshLimits) -> Result<Self, MeshFileError> {
        let json = &document.json;
        let all = items(json, "nodes");
        let (meshes, skins) = (items(json, "meshes"), items(json, "skins"));
        let mut nodes = Vec::with_capacity(all.len());
        for node in all {
            let name = node.get("name").and_then(Value::as_str);
            nodes.push(Node {
                name: name.filter(|n| !n.is_empty()).map(str::to_owned),
                parent: None,
                mesh: link(node, "mesh", meshes.len())?,
                skin: link(node, "skin", skins.len())?,
                still: Pose::read(node),
                weights: numbers(node, "weights"),
            });
        }
        for (i, node) in all.iter().enumerate() {
            for child in links(node, "children", all.len())? {
                if nodes[child].parent.replace(i).is_some() {
                    return Err(inconsistent(format!("node {child} has two parents")));
                }
            }
        }
        let mut rig = Self {
            order: Vec::new(),
            skins: Vec::new(),
            nodes,
        };
        // The nodes of the scene, or without scenes all roots, and what is below them.
        let scenes = items(json, "scenes");
        let scene = link(json, "scene", scenes.len())?.or((!scenes.is_empty()).then_some(0));
        let mut waiting = match scene {
            Some(scene) => links(&scenes[scene], "nodes", all.len())?,
            None => (0..all.len())
                .filter(|&i| rig.nodes[i].parent.is_none())
                .collect(),
        };
        waiting.reverse();
        let mut seen = vec![false; all.len()];
        while let Some(node) = waiting.pop() {
            // A parent's matrix must be known first, and a loop of parents has no first.
            if std::mem::replace(&mut seen[node], true) {
                return Err(inconsistent(format!("node {node} is below itself")));
            }
            rig.order.push(node);
            let mut children = links(&all[node], "children", all.len())?;
            children.reverse();
            waiting.extend(children);
        }
        for skin in skins {
            let joints = links(skin, "joints", all.len())?;
            let accessors = items(json, "accessors").len();
            let inverse = match link(skin, "inverseBindMatrices", accessors)? {
                None => vec![Mat4::identity(); joints.len()],
                Some(accessor) => document
                    .values::<16>(accessor, limits)?
                    .iter()
                    .map(|m| Mat4::from_column_slice(m))
                    .collect(),
            };
            if inverse.len() < joints.len() {
                return Err(inconsistent("a skin has more joints than bind matrices"));
            }
            rig.skins.push(Skin { joints, inverse });
        }
        Ok(rig)
    }

    /// The name of a node.
    pub fn name(&self, node: usize) -> Option<&str> {
        self.nodes[node].name.as_deref()
    }

    /// All triangles that the scene shows.
    pub fn parts(
        &self,
        document: &Document,
        limits: &MeshLimits,
    ) -> Result<Vec<Part>, MeshFileError> {
        let meshes = items(&document.json, "meshes");
        let (mut parts, mut vertices, mut triangles) = (Vec::new(), 0u64, 0u64);
        for &node in &self.order {
            let Some(mesh) = self.nodes[node].mesh.map(|m| &meshes[m]) else {
                continue;
            };
            for primitive in items(mesh, "primitives") {
                let Some(part) = self.part(document, node, mesh, primitive, limits)? else {
                    continue;
                };
                vertices += part.len() as u64;
                triangles += part.triangles.len() as u64;
                for (what, count, limit) in [
                    ("vertices", vertices, limits.max_nodes),
                    ("elements", triangles, limits.max_elements),
                ] {
                    if count > limit {
                        return Err(fault(MeshFileProblem::TooMany { what, count, limit }));
                    }
                }
                parts.push(part);
            }
        }
        Ok(parts)
    }

    fn part(
        &self,
        document: &Document,
        node: usize,
        mesh: &Value,
        primitive: &Value,
        limits: &MeshLimits,
    ) -> Result<Option<Part>, MeshFileError> {
        match primitive.get("mode").and_then(Value::as_u64).unwrap_or(4) {
            4 => {}
            0..=3 => return Ok(None),
            _ => {
                let remedy = "export the mesh as separate triangles";
                return Err(unsupported("a strip or fan of triangles", remedy));
            }
        }
        let attributes = primitive.get("attributes").unwrap_or(&Value::Null);
        let accessors = items(&document.json, "accessors").len();
        let Some(position) = link(attributes, "POSITION", accessors)? else {
            return Ok(None);
        };
        let points = |accessor| -> Result<Vec<Vec3>, MeshFileError> {
            let values = document.values::<3>(accessor, limits)?;
            Ok(values.into_iter().map(Vec3::from).collect())
        };
        let rest = points(position)?;
        let n = rest.len();
        let indices: Vec<u32> = match link(primitive, "indices", accessors)? {
            None => (0..n as u32).collect(),
            Some(accessor) => {
                let mut indices = Vec::new();
                for [i] in document.values::<1>(accessor, limits)? {
                    if !(i >= 0.0 && i < n as f64) {
                        return Err(fault(MeshFileProblem::IndexOutOfRange {
                            index: i as i64,
                            first: 0,
                            count: n as u64,
                        }));
                    }
                    indices.push(i as u32);
                }
                indices
            }
        };
        let (triangles, rest_of) = indices.as_chunks::<3>();
        if !rest_of.is_empty() {
            return Err(inconsistent("a list of triangles is cut short"));
        }
        let same = |count: usize| match count == n {
            true => Ok(()),
            false => Err(inconsistent(format!(
                "an attribute has {count} entries for {n} vertices"
            ))),
        };
        let uv = match link(attributes, "TEXCOORD_0", accessors)? {
            Some(accessor) => upright(document.values::<2>(accessor, limits)?),
            None => Vec::new(),
        };
        if !uv.is_empty() {
            same(uv.len())?;
        }
        let mut targets = Vec::new();
        for target in items(primitive, "targets") {
            let moved = match link(target, "POSITION", accessors)? {
                Some(accessor) => points(accessor)?,
                None => vec![Vec3::zeros(); n],
            };
            same(moved.len())?;
            targets.push(moved);
        }
        let mut weights = self.nodes[node].weights.clone();
        if weights.len() != targets.len() {
            weights = numbers(mesh, "weights");
        }
        weights.resize(targets.len(), 0.0);
        let mut influences = Vec::new();
        if let Some(skin) = self.nodes[node].skin {
            influences = vec![Vec::new(); n];
            let joints = self.skins[skin].joints.len();
            for (names, shares) in [("JOINTS_0", "WEIGHTS_0"), ("JOINTS_1", "WEIGHTS_1")] {
                let (Some(names), Some(shares)) = (
                    link(attributes, names, accessors)?,
                    link(attributes, shares, accessors)?,
                ) else {
                    continue;
                };
                let names = document.values::<4>(names, limits)?;
                let shares = document.values::<4>(shares, limits)?;
                same(names.len())?;
                same(shares.len())?;
                for ((own, names), shares) in influences.iter_mut().zip(names).zip(shares) {
                    for (joint, share) in names.into_iter().zip(shares) {
                        if share == 0.0 {
                            continue;
                        }
                        if !(joint >= 0.0 && joint < joints as f64) {
                            let what = format!("a vertex names joint {joint} of {joints}");
                            return Err(inconsistent(what));
                        }
                        own.push((joint as usize, share));
                    }
                }
            }
            for own in &mut influences {
                let sum: f64 = own.iter().map(|i| i.1).sum();
                if sum.is_nan() || sum <= 0.0 {
                    return Err(inconsistent("a vertex of a skin follows no joint"));
                }
                own.iter_mut().for_each(|i| i.1 /= sum);
            }
        }
        Ok(Some(Part {
            node,
            triangles: triangles.to_vec(),
            uv,
            rest,
            targets,
            weights,
            influences,
        }))
    }

    /// Positions of the vertices of all parts at time `t` [s] of an animation, z up [m].
    pub fn place(
        &self,
        parts: &[Part],
        clip: Option<&Clip>,
        t: f64,
    ) -> Result<Vec<Vec3>, MeshFileError> {
        let mut world = vec![Mat4::identity(); self.nodes.len()];
        for &i in &self.order {
            let node = &self.nodes[i];
            let own = node.still.matrix(i, clip, t);
            world[i] = node.parent.map_or(own, |p| world[p] * own);
        }
        let mut out = Vec::new();
        for part in parts {
            let node = &self.nodes[part.node];
            let animated = clip.and_then(|c| c.value(part.node, Path::Weights, t));
            let weights = animated.filter(|w| w.len() == part.targets.len());
            let weights = weights.as_ref().unwrap_or(&part.weights);
            let joints: Vec<Mat4> = match node.skin.map(|s| &self.skins[s]) {
                Some(skin) => {
                    let joints = skin.joints.iter().zip(&skin.inverse);
                    joints.map(|(&j, bind)| world[j] * bind).collect()
                }
                None => Vec::new(),
            };
            for (v, rest) in part.rest.iter().enumerate() {
                let moved = part.targets.iter().zip(weights).filter(|(_, w)| **w != 0.0);
                let p = moved.fold(*rest, |p, (target, w)| p + target[v] * *w);
                let p = Vector4::new(p.x, p.y, p.z, 1.0);
                let p = match part.influences.get(v) {
                    None => world[part.node] * p,
                    Some(own) => own
                        .iter()
                        .map(|&(j, w)| joints[j] * p * w)
                        .sum::<Vector4<f64>>(),
                };
                let p = Vec3::new(p.x, -p.z, p.y);
                if !p.iter().all(|c| c.is_finite()) {
                    return Err(inconsistent("a vertex is not at a finite place"));
                }
                out.push(p);
            }
        }
        Ok(out)
    }
}
