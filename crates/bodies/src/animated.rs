//! Meshes whose vertices move on prescribed paths: animated characters.

use stiction_math::Vec3;

use crate::motion::{Interpolation, TrackError};

/// A triangle mesh with a position of every vertex for each frame, interpolated between frames.
#[derive(Clone, Debug, PartialEq)]
pub struct AnimatedMesh {
    triangles: Vec<[u32; 3]>,
    times: Vec<f64>,
    /// Positions of all vertices [m], one list per frame.
    frames: Vec<Vec<Vec3>>,
    interpolation: Interpolation,
}

/// Errors of an animated mesh.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum AnimationError {
    /// The frames cannot be interpolated.
    #[error("frames: {0}")]
    Track(#[from] TrackError),
    /// A frame has another number of vertices than the first.
    #[error(
        "frame {frame} has {found} vertices and the first one has {expected}; export all frames with one mesh"
    )]
    Count {
        /// The frame, counted from 0.
        frame: usize,
        /// Its number of vertices.
        found: usize,
        /// That of the first frame.
        expected: usize,
    },
    /// A triangle names a vertex that does not exist.
    #[error("triangle {triangle} names a vertex that does not exist")]
    Index {
        /// The triangle.
        triangle: usize,
    },
    /// A coordinate is not finite.
    #[error("vertex {vertex} of frame {frame} has a coordinate that is not finite")]
    NonFinite {
        /// The frame, counted from 0.
        frame: usize,
        /// The vertex.
        vertex: usize,
    },
}

impl AnimatedMesh {
    /// A mesh through `frames` at `times` [s]. It rests before the first and after the last frame.
    pub fn new(
        triangles: Vec<[u32; 3]>,
        times: Vec<f64>,
        frames: Vec<Vec<Vec3>>,
        interpolation: Interpolation,
    ) -> Result<Self, AnimationError> {
        TrackError::check(&times, frames.len())?;
        let expected = frames[0].len();
        for (frame, x) in frames.iter().enumerate() {
            if x.len() != expected {
                let found = x.len();
                return Err(AnimationError::Count {
                    frame,
                    found,
                    expected,
                });
            }
            let bad = |p: &Vec3| !p.iter().all(|c| c.is_finite());
            if let Some(vertex) = x.iter().position(bad) {
                return Err(AnimationError::NonFinite { frame, vertex });
            }
        }
        let outside = |t: &[u32; 3]| t.iter().any(|&v| v as usize >= expected);
        if let Some(triangle) = triangles.iter().position(outside) {
            return Err(AnimationError::Index { triangle });
        }
        Ok(Self {
            triangles,
            times,
            frames,
            interpolation,
        })
    }

    /// Its triangles, counter-clockwise from outside.
    pub fn triangles(&self) -> &[[u32; 3]] {
        &self.triangles
    }

    /// Number of vertices.
    pub fn len(&self) -> usize {
        self.frames[0].len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Times of the frames [s].
    pub fn times(&self) -> &[f64] {
        &self.times
    }

    /// The frames that decide the positions at time `t` [s], with their weights.
    fn weights(&self, t: f64) -> [(usize, f64); 4] {
        let last = self.times.len() - 1;
        let one = |frame| [(frame, 1.0), (frame, 0.0), (frame, 0.0), (frame, 0.0)];
        if t <= self.times[0] {
            return one(0);
        }
        if t >= self.times[last] {
            return one(last);
        }
        // times[i] ≤ t < times[i+1]
        let i = self.times.partition_point(|&k| k <= t) - 1;
        let (t0, t1) = (self.times[i], self.times[i + 1]);
        let s = (t - t0) / (t1 - t0);
        let (before, after) = (i.saturating_sub(1), (i + 2).min(last));
        let (a, b) = match self.interpolation {
            Interpolation::Linear => (1.0 - s, s),
            Interpolation::Smooth => {
                let w = s * s * (3.0 - 2.0 * s);
                (1.0 - w, w)
            }
            Interpolation::Spline => {
                // Hermite form with the tangents of a Catmull–Rom curve through uneven keys.
                let (s2, s3) = (s * s, s * s * s);
                let out = (s3 - 2.0 * s2 + s) * (t1 - t0) / (t1 - self.times[before]);
                let into = (s3 - s2) * (t1 - t0) / (self.times[after] - t0);
                return [
                    (before, -out),
                    (i, 2.0 * s3 - 3.0 * s2 + 1.0 - into),
                    (i + 1, 3.0 * s2 - 2.0 * s3 + out),
                    (after, into),
                ];
            }
        };
        [(i, a), (i + 1, b), (i, 0.0), (i, 0.0)]
    }

    /// The position of vertex `v` at time `t` [s], in the mesh's own frame [m].
    pub fn vertex(&self, v: usize, t: f64) -> Vec3 {
        let weights = self.weights(t);
        let terms = weights.iter().filter(|w| w.1 != 0.0);
        terms.map(|&(frame, w)| self.frames[frame][v] * w).sum()
    }

    /// The positions of all vertices at time `t` [s], in the mesh's own frame [m], into `out` (cleared
    /// first).
    pub fn positions(&self, t: f64, out: &mut Vec<Vec3>) {
        let weights = self.weights(t);
        out.clear();
        out.resize(self.len(), Vec3::zeros());
        for &(frame, w) in weights.iter().filter(|w| w.1 != 0.0) {
            for (to, x) in out.iter_mut().zip(&self.frames[frame]) {
                *to += x * w;
            }
        }
    }

    /// Scales all positions by one factor per axis.
    pub fn scale(&mut self, scale: &Vec3) {
        for x in self.frames.iter_mut().flatten() {
            *x = x.component_mul(scale);
        }
        if scale.product() < 0.0 {
            self.triangles.iter_mut().for_each(|t| t.swap(1, 2));
        }
    }

    /// Moves the frames to later times by `by` [s].
    pub fn delay(&mut self, by: f64) {
        self.times.iter_mut().for_each(|t| *t += by);
    }
}
