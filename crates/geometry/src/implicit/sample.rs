//! Points on faces that carry the planes of a potential, and whole faces that carry a distance.

use std::collections::BTreeMap;
use stiction_math::elementary::atan2;

use stiction_math::Vec3;

/// Contribution of a sample to the potential.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SampleForm {
    /// A point with the plane of its face, blended with others by distance.
    Plane,
    /// A whole face: the closest one gives the distance.
    Facet,
}

/// A point on a face that carries its plane, or a whole face.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SurfaceSample {
    /// Whether its plane is blended or its distance counts.
    pub form: SampleForm,
    /// The corners of the face, counter-clockwise from outside.
    pub corners: [u32; 3],
    /// Border edges of the face: bit k is set where the edge from corner k to corner (k + 1) mod 3 belongs to no other
    /// face.
    pub border: u8,
    /// Barycentric coordinates of the point on the face [1]; not read for facets.
    pub weights: [f64; 3],
    /// Its share of the area of the face [1].
    pub share: f64,
    /// Radius of influence [m]: from the point, or from the whole face of a facet.
    pub radius: f64,
}

/// Settings of the sampling of faces.
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
pub fn samples(triangles: &[[u32; 3]], rest: &[Vec3], config: &SampleConfig) -> Vec<SurfaceSample> {
    let edges = edge_faces(triangles);
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
        let border = border(corners, &edges);
        let mut push = |i: u32, j: u32, offset: f64| {
            let b = (f64::from(i) + offset) / parts;
            let c = (f64::from(j) + offset) / parts;
            list.push(SurfaceSample {
                form: SampleForm::Plane,
                corners: *corners,
                border,
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

/// The faces of a mesh as facets that reach `reach` [m], face after face. Faces that name vertices
/// beyond `count` are left out.
pub fn facets(triangles: &[[u32; 3]], count: usize, reach: f64) -> Vec<SurfaceSample> {
    let edges = edge_faces(triangles);
    let known = |c: &[u32; 3]| c.iter().all(|&v| (v as usize) < count);
    let faces = triangles.iter().filter(|c| known(c));
    let faces = faces.map(|corners| SurfaceSample {
        form: SampleForm::Facet,
        corners: *corners,
        border: border(corners, &edges),
        weights: [1.0 / 3.0; 3],
        share: 1.0,
        radius: reach,
    });
    faces.collect()
}

/// Bits of the border edges of a face.
fn border(corners: &[u32; 3], edges: &BTreeMap<[u32; 2], Vec<u32>>) -> u8 {
    let open = |k: &usize| edges.get(&edge(corners, *k)).is_none_or(|f| f.len() < 2);
    (0..3).filter(open).fold(0, |bits, k| bits | 1 << k)
}

/// The edge from corner k of a face, its smaller vertex first.
fn edge(corners: &[u32; 3], k: usize) -> [u32; 2] {
    let (a, b) = (corners[k], corners[(k + 1) % 3]);
    [a.min(b), a.max(b)]
}

/// The faces at every edge of a mesh.
pub(super) fn edge_faces(triangles: &[[u32; 3]]) -> BTreeMap<[u32; 2], Vec<u32>> {
    let mut edges: BTreeMap<[u32; 2], Vec<u32>> = BTreeMap::new();
    for (i, corners) in triangles.iter().enumerate() {
        for k in 0..3 {
            edges.entry(edge(corners, k)).or_default().push(i as u32);
        }
    }
    edges
}

/// Border edges of a mesh, which belong to one face, and that face, in ascending order.
pub fn borders(triangles: &[[u32; 3]]) -> Vec<([u32; 2], u32)> {
    let edges = edge_faces(triangles).into_iter();
    edges
        .filter_map(|(edge, faces)| match faces[..] {
            [face] => Some((edge, face)),
            _ => None,
        })
        .collect()
}

/// Edges of a mesh where its surface bends or ends.
#[derive(Clone, Debug, Default)]
pub struct Creases {
    /// Edges at which two faces meet at more than a degree, and border edges, in ascending order.
    pub edges: Vec<[u32; 2]>,
    /// Upper estimate of how far blended planes deviate from the distance outside the mesh [m]; see
    /// [`creases`].
    pub deviation: f64,
    /// Whether some faces meet at angles that approximate a curved surface: up to 30°.
    pub curved: bool,
}

/// Two faces that meet at less than this angle are one plane [rad].
pub(super) const FLAT: f64 = 0.02;
/// Faces that meet at more than this angle are those of a polyhedron, not of a curved surface [rad].
pub(super) const SHARP: f64 = 0.53;
/// Blended planes deviate by about this fraction of a radius times the sine of the angle between two
/// planes: the kernel gives the farther of them that much weight on average over the support.
const BLENDED: f64 = 0.1;
/// The plane of a sheet goes on beyond its border by this fraction of the radius of its samples.
const BEYOND: f64 = 0.15;

/// The creases of a mesh, and the deviation of the blended potential of samples with radii of
/// `radius_of_size` face sizes from the distance to the mesh.
///
/// Next to a crease between planes at an angle θ, the blended value falls below the distance by up
/// to a fraction of R sin θ: the plane of each face goes on beyond the crease. With R two face
/// sizes, this is harmless for a fine mesh of a smooth surface, where θ is small, and wrong by
/// decimetres for a box of two triangles per side.
pub fn creases(triangles: &[[u32; 3]], rest: &[Vec3], radius_of_size: f64) -> Creases {
    let normal = |f: u32| {
        let [a, b, c] = triangles[f as usize].map(|v| rest[v as usize]);
        (b - a).cross(&(c - a)).try_normalize(f64::MIN_POSITIVE)
    };
    let size = |f: u32| {
        let x = triangles[f as usize].map(|v| rest[v as usize]);
        let middle = (x[0] + x[1] + x[2]) / 3.0;
        x.iter().map(|p| (p - middle).norm()).fold(0.0, f64::max)
    };
    let mut out = Creases::default();
    for (edge, faces) in edge_faces(triangles) {
        let radius = radius_of_size * faces.iter().map(|f| size(*f)).fold(0.0, f64::max);
        let deviation = match faces[..] {
            [first, second] => {
                let (Some(n), Some(m)) = (normal(first), normal(second)) else {
                    continue;
                };
                let (sine, cosine) = (n.cross(&m).norm(), n.dot(&m));
                let angle = atan2(sine, cosine);
                if angle < FLAT {
                    continue;
                }
                out.curved |= angle < SHARP;
                BLENDED * radius * if cosine > 0.0 { sine } else { 1.0 }
            }
            _ => BEYOND * radius,
        };
        out.edges.push(edge);
        out.deviation = out.deviation.max(deviation);
    }
    out
}
