//! glTF 2.0 in one binary file (`.glb`): a run as morph targets.
//!
//! The first frame is the mesh, every other frame a target that holds its displacements. At the
//! time of a frame its target has weight one and all others zero, so that viewers interpolate
//! linearly between frames. The format has y up; a root node above all bodies rotates them.
//!
//! Normals are those of every frame. Texture coordinates belong to points here: points on the seams of a texture
//! are repeated behind all others, once for every further coordinate.
//!
//! A mesh of this format cannot change its connectivity. A body whose mesh changes has one child
//! node for each segment of frames with one mesh; nodes that are hidden have zero scale, which is
//! how the format animates visibility.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::{Value, json};

use super::{AnimatedBody, AnimatedShape, Animation, Stretch, normals};
use crate::picture::Colour;
use crate::{RecordError, atomic};

const FLOAT: u32 = 5126;
const UNSIGNED: u32 = 5125;
/// Buffer views for vertices and for indices.
const ARRAY: u32 = 34962;
const ELEMENT_ARRAY: u32 = 34963;
/// Kinds of primitives.
const POINTS: u32 = 0;
const LINES: u32 = 1;
const TRIANGLES: u32 = 4;

pub(super) fn write(animation: &Animation, path: &Path) -> Result<(), RecordError> {
    let mut file = File::default();
    file.add(animation);
    let json = file.json();
    let text = json.to_string();
    let pad = |n: usize| n.next_multiple_of(4) - n;
    let (text_pad, bytes_pad) = (pad(text.len()), pad(file.bytes.len()));
    let (text_size, bytes_size) = (text.len() + text_pad, file.bytes.len() + bytes_pad);
    let total = 12 + 8 + text_size + 8 + bytes_size;
    let Ok(total) = u32::try_from(total) else {
        let reason = "the run is larger than the 4 GB that this format can hold; write USD instead";
        return Err(RecordError::invalid(path, reason));
    };
    atomic::write_with(path, |out| {
        out.write_all(b"glTF")?;
        for word in [2, total, text_size as u32] {
            out.write_all(&word.to_le_bytes())?;
        }
        out.write_all(b"JSON")?;
        out.write_all(text.as_bytes())?;
        out.write_all(&b"   "[..text_pad])?;
        out.write_all(&(bytes_size as u32).to_le_bytes())?;
        out.write_all(b"BIN\0")?;
        out.write_all(&file.bytes)?;
        out.write_all(&[0; 3][..bytes_pad])
    })
}

/// A mesh with one texture coordinate per point: points on seams of the texture are repeated.
struct Split {
    /// The point of the body that each point is.
    points: Vec<u32>,
    triangles: Vec<[u32; 3]>,
    /// Of each point; empty without texture.
    texture: Vec<[f32; 2]>,
}

impl Split {
    fn new(stretch: &Stretch) -> Self {
        let count = stretch.frames[0].len() as u32;
        let mut points: Vec<u32> = (0..count).collect();
        let AnimatedShape::Triangles(triangles) = &stretch.shape else {
            return Self {
                points,
                triangles: Vec::new(),
                texture: Vec::new(),
            };
        };
        let mut triangles = triangles.clone();
        if stretch.texture.is_empty() {
            return Self {
                points,
                triangles,
                texture: Vec::new(),
            };
        }
        let mut of: Vec<Option<[f32; 2]>> = vec![None; points.len()];
        let mut again = BTreeMap::new();
        let corners = triangles.as_flattened_mut().iter_mut();
        for (v, uv) in corners.zip(stretch.texture.as_flattened()) {
            let at = *v as usize;
            if *of[at].get_or_insert(*uv) == *uv {
                continue;
            }
            let bits = uv.map(f32::to_bits);
            *v = *again.entry((*v, bits)).or_insert_with(|| {
                points.push(*v);
                of.push(Some(*uv));
                points.len() as u32 - 1
            });
        }
        Self {
            points,
            triangles,
            texture: of.into_iter().map(Option::unwrap_or_default).collect(),
        }
    }
}

/// The sections of the file under construction.
#[derive(Default)]
struct File {
    bytes: Vec<u8>,
    views: Vec<Value>,
    accessors: Vec<Value>,
    meshes: Vec<Value>,
    materials: Vec<Value>,
    nodes: Vec<Value>,
    samplers: Vec<Value>,
    channels: Vec<Value>,
}

impl File {
    fn add(&mut self, animation: &Animation) {
        // The node above all bodies: z up becomes y up.
        let half = std::f64::consts::FRAC_1_SQRT_2;
        self.nodes
            .push(json!({ "name": "run", "rotation": [-half, 0.0, 0.0, half] }));
        let mut bodies = animation.bodies.iter();
        let moves = bodies.any(|b| !b.changes() && !b.rests());
        let times = moves.then(|| self.times(&animation.times, &animation.times));
        let mut children = Vec::new();
        for (i, body) in animation.bodies.iter().enumerate() {
            let material = self.material(i);
            children.push(match body.stretches.as_slice() {
                [only] => self.stretch(&body.name, only, material, times),
                _ => self.changing(body, material, &animation.times),
            });
        }
        if !children.is_empty() {
            self.nodes[0]["children"] = json!(children);
        }
    }

    /// Adds the node of a body, or of a segment of its frames, with constant connectivity.
    fn stretch(
        &mut self,
        name: &str,
        stretch: &Stretch,
        material: usize,
        times: Option<usize>,
    ) -> usize {
        let mut node = json!({ "name": name });
        // The format has no empty accessors.
        let empty = stretch.frames.first().is_none_or(Vec::is_empty);
        if !empty {
            node["mesh"] = json!(self.mesh(name, stretch, material));
        }
        self.nodes.push(node);
        let node = self.nodes.len() - 1;
        if let (Some(times), false) = (times, empty || stretch.rests()) {
            self.animate(node, times, stretch.frames.len());
        }
        node
    }

    /// The node of a body whose mesh changes, above a node for each of its meshes.
    fn changing(&mut self, body: &AnimatedBody, material: usize, times: &[f64]) -> usize {
        let mut children = Vec::new();
        let mut first = 0;
        for (i, stretch) in body.stretches.iter().enumerate() {
            let end = first + stretch.frames.len();
            let own = (!stretch.rests()).then(|| self.times(times, &times[first..end]));
            let name = format!("{} {}", body.name, i + 1);
            let node = self.stretch(&name, stretch, material, own);
            // Without its animation the file shows the first frame.
            if first > 0 {
                self.nodes[node]["scale"] = json!([0, 0, 0]);
            }
            self.show(node, times, first, end);
            children.push(node);
            first = end;
        }
        self.nodes
            .push(json!({ "name": body.name, "children": children }));
        self.nodes.len() - 1
    }

    /// Shows a node from the frame `first` until the frame `end`.
    fn show(&mut self, node: usize, times: &[f64], first: usize, end: usize) {
        let mut keys = vec![(times[0], if first == 0 { 1.0f32 } else { 0.0 })];
        if first > 0 {
            keys.push((times[first], 1.0));
        }
        if end < times.len() {
            keys.push((times[end], 0.0));
        }
        let input: Vec<f64> = keys.iter().map(|k| k.0).collect();
        let input = self.times(times, &input);
        let scales: Vec<f32> = keys.iter().flat_map(|k| [k.1; 3]).collect();
        let view = self.floats(&scales, None);
        self.accessors.push(json!({
            "bufferView": view, "componentType": FLOAT, "count": keys.len(), "type": "VEC3",
        }));
        self.channel(node, "scale", input, self.accessors.len() - 1, "STEP");
    }

    fn material(&mut self, i: usize) -> usize {
        let Colour(rgb) = Colour::palette(i);
        // The format stores linear colours; pictures use sRGB.
        let [r, g, b] = rgb.map(|c| (f64::from(c) / 255.0).powf(2.2));
        self.materials.push(json!({
            "doubleSided": true,
            "pbrMetallicRoughness": {
                "baseColorFactor": [r, g, b, 1.0], "metallicFactor": 0.0, "roughnessFactor": 0.8,
            },
        }));
        self.materials.len() - 1
    }

    fn mesh(&mut self, name: &str, stretch: &Stretch, material: usize) -> usize {
        let split = Split::new(stretch);
        let place = |frame: &Vec<[f32; 3]>| -> Vec<[f32; 3]> {
            split.points.iter().map(|&p| frame[p as usize]).collect()
        };
        let first = place(&stretch.frames[0]);
        let position = self.points(&first);
        let (mode, indices) = match &stretch.shape {
            AnimatedShape::Triangles(_) => {
                (TRIANGLES, self.indices(split.triangles.as_flattened()))
            }
            AnimatedShape::Lines(l, _) => (LINES, self.indices(l.as_flattened())),
            AnimatedShape::Balls(_) => (POINTS, None),
        };
        let mut primitive = json!({
            "attributes": { "POSITION": position }, "mode": mode, "material": material,
        });
        if let Some(indices) = indices {
            primitive["indices"] = json!(indices);
        }
        let normals_of = |frame: &Vec<[f32; 3]>| match &stretch.shape {
            AnimatedShape::Triangles(t) => Some(place(&normals(t, frame))),
            _ => None,
        };
        let upright = normals_of(&stretch.frames[0]);
        // The format has unit normals only; a point without a face has none.
        let unit = |n: &[f32; 3]| n.iter().any(|x| *x != 0.0);
        let upright = upright.filter(|n| n.iter().all(unit));
        if let Some(normals) = &upright {
            primitive["attributes"]["NORMAL"] = json!(self.points(normals));
        }
        if !split.texture.is_empty() {
            primitive["attributes"]["TEXCOORD_0"] = json!(self.texture(&split.texture));
        }
        let mut mesh = json!({ "name": name });
        if !stretch.rests() {
            let difference = |frame: &[[f32; 3]], first: &[[f32; 3]]| -> Vec<[f32; 3]> {
                let moved = frame.iter().zip(first);
                moved
                    .map(|(p, q)| std::array::from_fn(|k| p[k] - q[k]))
                    .collect()
            };
            let mut targets = Vec::new();
            for frame in &stretch.frames[1..] {
                let moved = difference(&place(frame), &first);
                let mut target = json!({ "POSITION": self.points(&moved) });
                if let (Some(first), Some(normals)) = (&upright, normals_of(frame)) {
                    target["NORMAL"] = json!(self.points(&difference(&normals, first)));
                }
                targets.push(target);
            }
            mesh["weights"] = json!(vec![0; targets.len()]);
            primitive["targets"] = json!(targets);
        }
        mesh["primitives"] = json!([primitive]);
        self.meshes.push(mesh);
        self.meshes.len() - 1
    }

    fn animate(&mut self, node: usize, times: usize, frames: usize) {
        let mut weights = vec![0.0f32; frames * (frames - 1)];
        for frame in 1..frames {
            weights[frame * (frames - 1) + frame - 1] = 1.0;
        }
        let output = self.floats(&weights, None);
        self.accessors.push(json!({
            "bufferView": output, "componentType": FLOAT, "count": weights.len(), "type": "SCALAR",
        }));
        self.channel(node, "weights", times, self.accessors.len() - 1, "LINEAR");
    }

    fn channel(&mut self, node: usize, path: &str, input: usize, output: usize, between: &str) {
        self.samplers.push(json!({
            "input": input, "output": output, "interpolation": between,
        }));
        self.channels.push(json!({
            "sampler": self.samplers.len() - 1, "target": { "node": node, "path": path },
        }));
    }

    /// Some of the run's times, counted from its first frame: the format has none below zero.
    fn times(&mut self, run: &[f64], times: &[f64]) -> usize {
        let times: Vec<f32> = times.iter().map(|t| (t - run[0]) as f32).collect();
        let view = self.floats(&times, None);
        self.accessors.push(json!({
            "bufferView": view, "componentType": FLOAT, "count": times.len(), "type": "SCALAR",
            "min": [times[0]], "max": [times[times.len() - 1]],
        }));
        self.accessors.len() - 1
    }

    fn points(&mut self, points: &[[f32; 3]]) -> usize {
        let view = self.floats(points.as_flattened(), Some(ARRAY));
        let [low, high] = AnimatedBody::corners(points);
        self.accessors.push(json!({
            "bufferView": view, "componentType": FLOAT, "count": points.len(), "type": "VEC3",
            "min": low, "max": high,
        }));
        self.accessors.len() - 1
    }

    fn texture(&mut self, uv: &[[f32; 2]]) -> usize {
        // The format counts v from the upper edge.
        let values: Vec<f32> = uv.iter().flat_map(|[u, v]| [*u, 1.0 - v]).collect();
        let view = self.floats(&values, Some(ARRAY));
        self.accessors.push(json!({
            "bufferView": view, "componentType": FLOAT, "count": uv.len(), "type": "VEC2",
        }));
        self.accessors.len() - 1
    }

    fn indices(&mut self, indices: &[u32]) -> Option<usize> {
        if indices.is_empty() {
            return None;
        }
        let bytes = indices.iter().flat_map(|i| i.to_le_bytes());
        let view = self.view(bytes, Some(ELEMENT_ARRAY));
        self.accessors.push(json!({
            "bufferView": view, "componentType": UNSIGNED, "count": indices.len(), "type": "SCALAR",
        }));
        Some(self.accessors.len() - 1)
    }

    fn floats(&mut self, values: &[f32], target: Option<u32>) -> usize {
        self.view(values.iter().flat_map(|x| x.to_le_bytes()), target)
    }

    fn view(&mut self, bytes: impl Iterator<Item = u8>, target: Option<u32>) -> usize {
        let start = self.bytes.len();
        self.bytes.extend(bytes);
        let mut view = json!({
            "buffer": 0, "byteOffset": start, "byteLength": self.bytes.len() - start,
        });
        if let Some(target) = target {
            view["target"] = json!(target);
        }
        self.views.push(view);
        self.views.len() - 1
    }

    fn json(&self) -> Value {
        let mut all = json!({
            "asset": { "version": "2.0", "generator": "stiction" },
            "scene": 0,
            "scenes": [{ "nodes": [0] }],
            "nodes": self.nodes,
        });
        let lists = [
            ("meshes", &self.meshes),
            ("materials", &self.materials),
            ("accessors", &self.accessors),
            ("bufferViews", &self.views),
        ];
        // The format has no empty lists.
        for (name, list) in lists.into_iter().filter(|(_, list)| !list.is_empty()) {
            all[name] = json!(list);
        }
        if !self.bytes.is_empty() {
            all["buffers"] = json!([{ "byteLength": self.bytes.len() }]);
        }
        if !self.channels.is_empty() {
            all["animations"] = json!([{
                "name": "run", "samplers": self.samplers, "channels": self.channels,
            }]);
        }
        all
    }
}
