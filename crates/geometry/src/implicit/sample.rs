//! Points on faces that carry the planes of a potential.

use stiction_math::Vec3;

/// A point on a face that carries its plane.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sample {
    /// The corners of the face, counter-clockwise from outside.
    pub corners: [u32; 3],
    /// Where on the face the point is [1].
    pub weights: [f64; 3],
    /// Its share of the area of the face [1].
    pub share: f64,
    /// How far it reaches [m].
    pub radius: f64,
}

/// How faces are sampled.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SampleConfig {
    /// The radius of a sample, in units of the distance from the middle of its (part of a) face to
    /// the farthest corner at rest. Two give about fourteen samples in reach.
    pub radius: f64,
    /// Faces whose middle is farther than this from a corner get several samples [m].
    pub spacing: f64,
    /// Values of the potential below this must be reliable [m]: no radius is smaller than the
    /// distance to the farthest corner and twice this.
    pub reach: f64,
}

impl Default for SampleConfig {
    fn default() -> Self {
        Self {
            radius: 2.0,
            spacing: f64::INFINITY,
            reach: 0.0,
        }
    }
}

/// A face is cut into at most this many parts along each edge.
const PARTS: f64 = 64.0;

/// The samples of a mesh, face after face. `rest` are its vertices at rest [m]; faces that name
/// vertices beyond it are left out.
pub fn samples(triangles: &[[u32; 3]], rest: &[Vec3], config: &SampleConfig) -> Vec<Sample> {
    let mut list = Vec::with_capacity(triangles.len());
    for corners in triangles {
        if corners.iter().any(|&c| c as usize >= rest.len()) {
            continue;
        }
        let x = corners.map(|c| rest[c as usize]);
        let middle = (x[0] + x[1] + x[2]) / 3.0;
        let size = x.iter().map(|p| (p - middle).norm()).fold(0.0, f64::max);
        let parts = (size / config.spacing).ceil().clamp(1.0, PARTS);
        let part = size / parts;
        let radius = (config.radius * part).max(part + 2.0 * config.reach);
        // Upright parts have their middle at (i + 1/3, j + 1/3)/parts, inverted ones at
        // (i + 2/3, j + 2/3)/parts.
        let count = parts as u32;
        let mut push = |i: u32, j: u32, offset: f64| {
            let b = (f64::from(i) + offset) / parts;
            let c = (f64::from(j) + offset) / parts;
            list.push(Sample {
                corners: *corners,
                weights: [1.0 - b - c, b, c],
                share: 1.0 / (parts * parts),
                radius,
            });
        };
        for i in 0..count {
            for j in 0..count - i {
                push(i, j, 1.0 / 3.0);
                if i + j + 1 < count {
                    push(i, j, 2.0 / 3.0);
                }
            }
        }
    }
    list
}
