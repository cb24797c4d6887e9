//! A whole run as one animation file for other programs: USD and glTF.

mod gltf;
mod usd;

use std::path::Path;

use stiction_geometry::TriMesh;
use stiction_math::Vec3;

use crate::RecordError;

/// A file format for a whole run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Whole {
    /// Universal Scene Description, as text.
    Usd,
    /// glTF 2.0 in one binary file.
    Gltf,
}

impl Whole {
    /// All such formats with their names.
    pub const ALL: [(&str, Self); 2] = [("usd", Self::Usd), ("gltf", Self::Gltf)];

    /// The file extension.
    pub fn extension(self) -> &'static str {
        match self {
            Self::Usd => "usda",
            Self::Gltf => "glb",
        }
    }
}

/// Bodies that move. Positions are single precision, as both formats have it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Animation {
    /// The times of the frames [s], ascending.
    pub times: Vec<f64>,
    /// The visible bodies.
    pub bodies: Vec<AnimatedBody>,
}

/// A body whose points move and whose mesh may change between frames.
#[derive(Clone, Debug, PartialEq)]
pub struct AnimatedBody {
    /// Its name.
    pub name: String,
    /// Segments of frames with one mesh, in order; together they cover all frames.
    pub stretches: Vec<Stretch>,
    /// Velocities of the points [m/s], z up, for each frame; empty, or empty for a frame, if
    /// unknown. Written where the mesh changes.
    pub velocities: Vec<Vec<[f32; 3]>>,
}

/// Successive frames of a body in which the same cells connect the same number of points.
#[derive(Clone, Debug, PartialEq)]
pub struct Stretch {
    /// Connectivity of the points.
    pub shape: AnimatedShape,
    /// Texture coordinates of the corners of triangles [1]; empty if there are none.
    pub texture: Vec<[[f32; 2]; 3]>,
    /// The points [m], z up, for each frame.
    pub frames: Vec<Vec<[f32; 3]>>,
}

/// Connectivity of the points of a body.
#[derive(Clone, Debug, PartialEq)]
pub enum AnimatedShape {
    /// A surface, counter-clockwise seen from outside.
    Triangles(Vec<[u32; 3]>),
    /// Segments of rods of this radius [m]; zero if it is unknown.
    Lines(Vec<[u32; 2]>, f32),
    /// Balls of these radii [m].
    Balls(Vec<f32>),
}

impl AnimatedShape {
    /// An empty shape of the same kind.
    fn emptied(&self) -> Self {
        match self {
            Self::Triangles(_) => Self::Triangles(Vec::new()),
            Self::Lines(_, radius) => Self::Lines(Vec::new(), *radius),
            Self::Balls(_) => Self::Balls(Vec::new()),
        }
    }

    /// Kind of body, for messages.
    fn kind(&self) -> &'static str {
        match self {
            Self::Triangles(_) => "a surface",
            Self::Lines(..) => "rods",
            Self::Balls(_) => "balls",
        }
    }
}

impl AnimatedBody {
    /// A body without frames.
    pub fn new(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            stretches: Vec::new(),
            velocities: Vec::new(),
        }
    }

    /// Appends a frame. A frame without points has the kind of the others, whatever `shape` is.
    pub fn push(&mut self, shape: AnimatedShape, points: Vec<[f32; 3]>) {
        self.push_textured(shape, points, &[]);
    }

    /// Appends a frame with texture coordinates of the corners of triangles, which the first of several
    /// frames with one mesh decides.
    pub fn push_textured(
        &mut self,
        mut shape: AnimatedShape,
        points: Vec<[f32; 3]>,
        texture: &[[[f32; 2]; 3]],
    ) {
        if points.is_empty() {
            shape = self.stretches.last().map_or(shape, |s| s.shape.emptied());
        } else {
            let empty = |s: &&mut Stretch| s.frames.first().is_none_or(Vec::is_empty);
            for before in self.stretches.iter_mut().filter(empty) {
                before.shape = shape.emptied();
            }
        }
        if let Some(last) = self.stretches.last_mut()
            && last.shape == shape
            && last.frames.last().is_none_or(|f| f.len() == points.len())
        {
            last.frames.push(points);
            return;
        }
        let frames = vec![points];
        let fits = matches!(&shape, AnimatedShape::Triangles(t) if t.len() == texture.len());
        self.stretches.push(Stretch {
            texture: if fits { texture.to_vec() } else { Vec::new() },
            shape,
            frames,
        });
    }

    /// Whether the mesh changes between frames.
    pub fn changes(&self) -> bool {
        self.stretches.len() > 1
    }

    /// Whether no point ever moves.
    fn rests(&self) -> bool {
        !self.changes() && self.stretches.iter().all(Stretch::rests)
    }

    /// All frames with the shape that connects their points.
    fn frames(&self) -> impl Iterator<Item = (&AnimatedShape, &[[f32; 3]])> {
        let stretches = self.stretches.iter();
        stretches.flat_map(|s| s.frames.iter().map(|f| (&s.shape, f.as_slice())))
    }

    /// The corners of the box around the points of one frame; both the origin if it has none.
    fn corners(points: &[[f32; 3]]) -> [[f32; 3]; 2] {
        let Some(first) = points.first() else {
            return [[0.0; 3]; 2];
        };
        let mut corners = [*first; 2];
        for p in points {
            for k in 0..3 {
                corners[0][k] = corners[0][k].min(p[k]);
                corners[1][k] = corners[1][k].max(p[k]);
            }
        }
        corners
    }
}

/// Unit normals of the points of a surface: those of its triangles, weighted by their angles.
fn normals(triangles: &[[u32; 3]], points: &[[f32; 3]]) -> Vec<[f32; 3]> {
    let mesh = TriMesh {
        positions: points
            .iter()
            .map(|p| Vec3::from(p.map(f64::from)))
            .collect(),
        triangles: triangles.to_vec(),
    };
    let single = |n: &Vec3| [n.x as f32, n.y as f32, n.z as f32];
    mesh.vertex_normals().iter().map(single).collect()
}

impl Stretch {
    /// Whether no point moves.
    fn rests(&self) -> bool {
        self.frames.windows(2).all(|pair| pair[0] == pair[1])
    }
}

impl Animation {
    /// Writes the file, atomically.
    pub fn write(&self, path: &Path, format: Whole) -> Result<(), RecordError> {
        self.check()
            .map_err(|why| RecordError::invalid(path, why))?;
        match format {
            Whole::Usd => usd::write(self, path),
            Whole::Gltf => gltf::write(self, path),
        }
    }

    fn check(&self) -> Result<(), String> {
        if self.times.is_empty() {
            return Err("there is no frame".into());
        }
        if !self.times.is_sorted_by(|a, b| a < b) {
            return Err("times do not ascend".into());
        }
        self.bodies
            .iter()
            .try_for_each(|b| b.check(self.times.len()))
    }
}

impl AnimatedBody {
    fn check(&self, frames: usize) -> Result<(), String> {
        let name = &self.name;
        let own = self.frames().count();
        if own != frames {
            return Err(format!("body {name} has {own} frames of {frames}"));
        }
        for pair in self.stretches.windows(2) {
            let (from, to) = (pair[0].shape.kind(), pair[1].shape.kind());
            if from != to {
                return Err(format!("body {name} changes from {from} to {to}"));
            }
        }
        self.stretches.iter().try_for_each(|s| s.check(name))?;
        if self.velocities.is_empty() {
            return Ok(());
        }
        let counts = self.frames().map(|(_, points)| points.len());
        let fits = |(count, v): (usize, &Vec<[f32; 3]>)| v.is_empty() || v.len() == count;
        if self.velocities.len() != frames || !counts.zip(&self.velocities).all(fits) {
            return Err(format!(
                "body {name} has another number of velocities than of points"
            ));
        }
        finite(name, self.velocities.iter().flatten())
    }
}

impl Stretch {
    fn check(&self, name: &str) -> Result<(), String> {
        let count = self.frames.first().map_or(0, Vec::len);
        if self.frames.iter().any(|f| f.len() != count) {
            return Err(format!(
                "the number of points of body {name} changes, but not their connectivity"
            ));
        }
        finite(name, self.frames.iter().flatten())?;
        if self
            .texture
            .iter()
            .flatten()
            .flatten()
            .any(|x| !x.is_finite())
        {
            return Err(format!(
                "body {name} has a texture coordinate that is not finite"
            ));
        }
        let highest = match &self.shape {
            AnimatedShape::Triangles(t) => t.iter().flatten().copied().max(),
            AnimatedShape::Lines(l, _) => l.iter().flatten().copied().max(),
            AnimatedShape::Balls(radii) if radii.len() != count => {
                return Err(format!(
                    "body {name} has {} radii for {count} points",
                    radii.len()
                ));
            }
            AnimatedShape::Balls(_) => None,
        };
        match highest {
            Some(v) if v as usize >= count => Err(format!("body {name} has no point {v}")),
            _ => Ok(()),
        }
    }
}

fn finite<'a>(name: &str, mut triples: impl Iterator<Item = &'a [f32; 3]>) -> Result<(), String> {
    match triples.all(|t| t.iter().all(|x| x.is_finite())) {
        true => Ok(()),
        false => Err(format!("body {name} has a coordinate that is not finite")),
    }
}

/// Joins segments into polylines: a segment that starts where the previous one ends continues it.
pub fn polylines(segments: &[[u32; 2]]) -> Vec<Vec<u32>> {
    let mut lines: Vec<Vec<u32>> = Vec::new();
    for [a, b] in segments {
        match lines.last_mut().filter(|line| line.last() == Some(a)) {
            Some(line) => line.push(*b),
            None => lines.push(vec![*a, *b]),
        }
    }
    lines
}

#[cfg(test)]
mod tests;
