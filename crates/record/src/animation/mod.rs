//! A whole run as one file that other programs play: USD and glTF.

mod gltf;
mod usd;

use std::path::Path;

use crate::RecordError;

/// A format that holds a whole run.
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

    /// The ending of its files.
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
    /// What is seen.
    pub bodies: Vec<Moving>,
}

/// A body whose points move while what connects them stays.
#[derive(Clone, Debug, PartialEq)]
pub struct Moving {
    /// Its name.
    pub name: String,
    /// What connects its points.
    pub shape: Shape,
    /// Its points [m], z up, for each frame.
    pub frames: Vec<Vec<[f32; 3]>>,
}

/// What connects the points of a body.
#[derive(Clone, Debug, PartialEq)]
pub enum Shape {
    /// A surface, counter-clockwise seen from outside.
    Triangles(Vec<[u32; 3]>),
    /// Segments of rods of this radius [m]; zero if it is not known.
    Lines(Vec<[u32; 2]>, f32),
    /// Balls of these radii [m].
    Balls(Vec<f32>),
}

impl Moving {
    /// Whether no point ever moves.
    fn rests(&self) -> bool {
        self.frames.windows(2).all(|pair| pair[0] == pair[1])
    }

    /// The corners of the box around the points of one frame.
    fn corners(points: &[[f32; 3]]) -> [[f32; 3]; 2] {
        let mut corners = [[f32::INFINITY; 3], [f32::NEG_INFINITY; 3]];
        for p in points {
            for k in 0..3 {
                corners[0][k] = corners[0][k].min(p[k]);
                corners[1][k] = corners[1][k].max(p[k]);
            }
        }
        corners
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

impl Moving {
    fn check(&self, frames: usize) -> Result<(), String> {
        let name = &self.name;
        if self.frames.len() != frames {
            let own = self.frames.len();
            return Err(format!("body {name} has {own} frames of {frames}"));
        }
        let count = self.frames.first().map_or(0, Vec::len);
        if self.frames.iter().any(|f| f.len() != count) {
            return Err(format!("the number of points of body {name} changes"));
        }
        if self
            .frames
            .iter()
            .flatten()
            .flatten()
            .any(|x| !x.is_finite())
        {
            return Err(format!("body {name} has a coordinate that is not finite"));
        }
        let highest = match &self.shape {
            Shape::Triangles(t) => t.iter().flatten().copied().max(),
            Shape::Lines(l, _) => l.iter().flatten().copied().max(),
            Shape::Balls(radii) if radii.len() != count => {
                return Err(format!(
                    "body {name} has {} radii for {count} points",
                    radii.len()
                ));
            }
            Shape::Balls(_) => None,
        };
        match highest {
            Some(v) if v as usize >= count => Err(format!("body {name} has no point {v}")),
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests;
