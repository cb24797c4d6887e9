//! Enclosed volumes that resist volume changes: gas, water, tissue [larionov, Sect. III-D].
//!
//! A region inside a closed surface of one body holds a medium of uniform pressure. Its energy W(V)
//! depends on the volume V alone, so that the force on every vertex is (P − P₀) ∂V/∂x, and the
//! Hessian is a sparse part W′ ∂²V/∂x² and a dense one of rank one, W″ ∂V/∂x ∂V/∂xᵀ.

use stiction_math::elementary;
use stiction_math::{Mat3, Vec3};

use crate::{model::Body, surface::Skin};

/// One standard atmosphere [Pa].
pub const ATMOSPHERE: f64 = 101_325.0;

/// Pressure–volume law of the medium, from the isothermal compression coefficient κ = −(1/V) ∂V/∂P.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum VolumeLaw {
    /// W₂ = (V − V₀)²/(2 V₀ κ) [larionov, Eq. 13]: near V₀ like both others, and defined for any V.
    Quadratic {
        /// κ [1/Pa].
        compression: f64,
    },
    /// P V is constant: W = P₀ (V − V₀) − (P₀ + p) V₀ ln(V/V₀), which is [larionov, Eq. 11] for
    /// p = 0. Infinite for V ≤ 0.
    Gas {
        /// P₀ [Pa], around the body.
        ambient: f64,
    },
    /// κ is constant: W = (V₀ − V (1 − ln(V/V₀)))/κ [larionov, Eq. 12]. Infinite for V ≤ 0.
    NearlyIncompressible {
        /// κ [1/Pa].
        compression: f64,
    },
}

/// A region of a body.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Region {
    /// The volume inside the outer surface.
    #[default]
    Enclosed,
    /// The hollow inside a solid.
    Cavity,
    /// The solid itself.
    Solid,
}

/// A closed surface with a medium inside.
#[derive(Clone, Debug, PartialEq)]
pub struct Volume {
    /// The name given in the scene.
    pub name: String,
    /// The law of the medium.
    pub law: VolumeLaw,
    /// Pressure p above that of the surroundings at the rest volume [Pa].
    pub inflation: f64,
    /// V₀ [m³].
    pub rest: f64,
    /// The region of the body.
    region: Region,
    /// Vertices as weighted blocks: entries `start[i]..start[i + 1]`.
    start: Vec<u32>,
    entries: Vec<(u32, f64)>,
    /// Outward triangles of those vertices.
    triangles: Vec<[u32; 3]>,
}

/// Errors of an enclosed volume.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum VolumeError {
    /// A rigid body keeps its volume.
    #[error("it is rigid, so that its volume never changes")]
    Rigid,
    /// The surface has a boundary.
    #[error("its surface is not closed: the edge ({0}, {1}) has no neighbour; close it with a lid")]
    Open(u32, u32),
    /// The requested region does not exist.
    #[error("{0}")]
    NoRegion(&'static str),
    /// A parameter out of range.
    #[error("{parameter} is {value}, but {rule}")]
    Parameter {
        /// The parameter's name in scenes.
        parameter: &'static str,
        /// The given value.
        value: f64,
        /// The allowed range.
        rule: &'static str,
    },
}

impl VolumeLaw {
    /// W(V) [J], W′(V) [Pa] and W″(V) [Pa/m³] for rest volume `v0` [m³] and inflation `p` [Pa].
    pub fn energy(&self, v: f64, v0: f64, p: f64) -> [f64; 3] {
        match *self {
            Self::Quadratic { compression } => {
                let k = 1.0 / (v0 * compression);
                let d = v - v0;
                [0.5 * k * d * d - p * d, k * d - p, k]
            }
            Self::Gas { .. } | Self::NearlyIncompressible { .. } if v <= 0.0 || v.is_nan() => {
                [f64::INFINITY; 3]
            }
            Self::Gas { ambient } => {
                let inside = (ambient + p) * v0;
                [
                    ambient * (v - v0) - inside * elementary::ln(v / v0),
                    ambient - inside / v,
                    inside / (v * v),
                ]
            }
            Self::NearlyIncompressible { compression } => {
                let ln = elementary::ln(v / v0);
                [
                    (v0 - v * (1.0 - ln)) / compression - p * (v - v0),
                    ln / compression - p,
                    1.0 / (compression * v),
                ]
            }
        }
    }

    fn validate(&self) -> Result<(), VolumeError> {
        let (parameter, value) = match *self {
            Self::Quadratic { compression } | Self::NearlyIncompressible { compression } => {
                ("compression", compression)
            }
            Self::Gas { ambient } => ("pressure", ambient),
        };
        if value > 0.0 && value.is_finite() {
            return Ok(());
        }
        Err(VolumeError::Parameter {
            parameter,
            value,
            rule: "it must be positive",
        })
    }
}

impl Volume {
    /// The `region` of `body`, with its volume at rest as V₀.
    pub fn new(
        name: String,
        body: &Body,
        region: Region,
        law: VolumeLaw,
        inflation: f64,
    ) -> Result<Self, VolumeError> {
        law.validate()?;
        let lowest = match law {
            VolumeLaw::Gas { ambient } => -ambient,
            _ => f64::NEG_INFINITY,
        };
        if !(inflation.is_finite() && inflation > lowest) {
            return Err(VolumeError::Parameter {
                parameter: "inflation",
                value: inflation,
                rule: "the pressure of a gas must stay positive",
            });
        }
        let mut start = vec![0];
        let mut entries = Vec::new();
        match &body.surface.skin {
            Skin::Nodes(blocks) => {
                for &b in blocks {
                    entries.push((b, 1.0));
                    start.push(entries.len() as u32);
                }
            }
            Skin::Embedded(carried) => {
                for (blocks, weights) in carried {
                    entries.extend((0..4).map(|a| (blocks[a], weights[a])));
                    start.push(entries.len() as u32);
                }
            }
            Skin::Blended {
                start: ends,
                entries: all,
            } => {
                start.clone_from(ends);
                entries.clone_from(all);
            }
            Skin::Rigid { .. } => return Err(VolumeError::Rigid),
        }
        let first = body.blocks.start;
        let rest = body.rest();
        let of = |e: &(u32, f64)| rest[e.0 as usize - first] * e.1;
        let ranges = start.windows(2);
        let x: Vec<Vec3> = ranges
            .map(|r| entries[r[0] as usize..r[1] as usize].iter().map(of).sum())
            .collect();
        let triangles = choose(&body.surface.triangles, &x, !body.tets.is_empty(), region)?;
        Ok(Self {
            name,
            law,
            inflation,
            region,
            rest: triangles_volume(&triangles, |i| x[i as usize] - x[0]),
            start,
            entries,
            triangles,
        })
    }

    /// Transfers the volume to a body whose mesh has changed. V₀ is kept.
    pub(crate) fn on(&self, body: &Body) -> Result<Self, VolumeError> {
        let made = Self::new(
            self.name.clone(),
            body,
            self.region,
            self.law,
            self.inflation,
        )?;
        Ok(Self {
            rest: self.rest,
            ..made
        })
    }

    /// The first block of its body.
    pub(crate) fn first_block(&self) -> Option<u32> {
        self.entries.first().map(|e| e.0)
    }

    /// Renumbers every block.
    pub(crate) fn renumber(&mut self, new: impl Fn(u32) -> u32) {
        self.entries.iter_mut().for_each(|e| e.0 = new(e.0));
    }

    /// V [m³] for block positions `x` [m].
    pub fn measure(&self, x: &[Vec3]) -> f64 {
        let o = self.origin(x);
        triangles_volume(&self.triangles, |i| self.vertex(i, x) - o)
    }

    /// A point of the surface. The volume of a closed surface and its derivatives do not depend on
    /// where they are measured from; near by, nothing cancels.
    fn origin(&self, x: &[Vec3]) -> Vec3 {
        self.triangles
            .first()
            .map_or_else(Vec3::zeros, |t| self.vertex(t[0], x))
    }

    /// The pressure inside [Pa] at the volume `v` [m³]: absolute for a gas, above that of the
    /// surroundings otherwise.
    pub fn pressure(&self, v: f64) -> f64 {
        let over = -self.law.energy(v, self.rest, self.inflation)[1];
        match self.law {
            VolumeLaw::Gas { ambient } => ambient + over,
            _ => over,
        }
    }

    /// W, W′ and W″ at the volume `v` [m³].
    pub fn energy(&self, v: f64) -> [f64; 3] {
        self.law.energy(v, self.rest, self.inflation)
    }

    /// g += s ∂V/∂x [m²].
    pub fn add_gradient(&self, x: &[Vec3], s: f64, g: &mut [Vec3]) {
        let o = self.origin(x);
        for t in &self.triangles {
            let p = t.map(|i| self.vertex(i, x) - o);
            for a in 0..3 {
                let d = p[(a + 1) % 3].cross(&p[(a + 2) % 3]) * (s / 6.0);
                for &(b, w) in self.carriers(t[a]) {
                    g[b as usize] += d * w;
                }
            }
        }
    }

    /// Calls `f` with every block (i, j, ∂²V/∂xᵢ∂xⱼ) [m]; a pair may come more than once.
    pub fn for_each_block(&self, x: &[Vec3], mut f: impl FnMut(u32, u32, Mat3)) {
        let o = self.origin(x);
        for t in &self.triangles {
            let p = t.map(|i| self.vertex(i, x) - o);
            for a in 0..3 {
                // ∂/∂x_a = (x_b × x_c)/6: its derivative by x_b is −[x_c]×/6, by x_c it is [x_b]×/6.
                let (b, c) = ((a + 1) % 3, (a + 2) % 3);
                for (other, block) in [(b, -p[c].cross_matrix()), (c, p[b].cross_matrix())] {
                    for &(i, wi) in self.carriers(t[a]) {
                        for &(j, wj) in self.carriers(t[other]) {
                            f(i, j, block * (wi * wj / 6.0));
                        }
                    }
                }
            }
        }
    }

    /// y += s (∂²V/∂x²) d.
    pub fn add_product(&self, x: &[Vec3], d: &[Vec3], s: f64, y: &mut [Vec3]) {
        let o = self.origin(x);
        for t in &self.triangles {
            let p = t.map(|i| self.vertex(i, x) - o);
            let q = t.map(|i| self.vertex(i, d));
            for a in 0..3 {
                let (b, c) = ((a + 1) % 3, (a + 2) % 3);
                let change = (q[b].cross(&p[c]) + p[b].cross(&q[c])) * (s / 6.0);
                for &(i, w) in self.carriers(t[a]) {
                    y[i as usize] += change * w;
                }
            }
        }
    }

    /// The blocks that meet in each triangle.
    pub fn cliques(&self) -> impl Iterator<Item = Vec<u32>> + '_ {
        self.triangles.iter().map(|t| {
            let blocks = t.iter().flat_map(|&i| self.carriers(i).iter().map(|e| e.0));
            let mut blocks: Vec<u32> = blocks.collect();
            blocks.sort_unstable();
            blocks.dedup();
            blocks
        })
    }

    fn carriers(&self, vertex: u32) -> &[(u32, f64)] {
        let i = vertex as usize;
        &self.entries[self.start[i] as usize..self.start[i + 1] as usize]
    }

    fn vertex(&self, i: u32, x: &[Vec3]) -> Vec3 {
        self.carriers(i)
            .iter()
            .map(|&(b, w)| x[b as usize] * w)
            .sum()
    }
}

/// Σ a·(b × c)/6 over outward triangles.
fn triangles_volume(triangles: &[[u32; 3]], at: impl Fn(u32) -> Vec3) -> f64 {
    let one = |t: &[u32; 3]| {
        let [a, b, c] = t.map(&at);
        a.dot(&b.cross(&c)) / 6.0
    };
    triangles.iter().map(one).sum()
}

/// The triangles around a region, oriented outwards.
fn choose(
    triangles: &[[u32; 3]],
    x: &[Vec3],
    solid: bool,
    region: Region,
) -> Result<Vec<[u32; 3]>, VolumeError> {
    check_closed(triangles)?;
    let component = components(triangles, x.len());
    let count = component.iter().max().map_or(0, |c| c + 1);
    let mut volume = vec![0.0; count];
    let o = x.first().copied().unwrap_or_default();
    for (t, &c) in triangles.iter().zip(&component) {
        volume[c] += triangles_volume(&[*t], |i| x[i as usize] - o);
    }
    let flipped = |t: &[u32; 3]| [t[0], t[2], t[1]];
    let chosen: Vec<[u32; 3]> = triangles
        .iter()
        .zip(&component)
        .filter_map(|(t, &c)| match (region, solid) {
            // A shell has no inside of its own: its components are oriented outwards.
            (Region::Enclosed, false) => Some(if volume[c] < 0.0 { flipped(t) } else { *t }),
            (Region::Enclosed, true) => (volume[c] > 0.0).then_some(*t),
            (Region::Cavity, true) => (volume[c] < 0.0).then(|| flipped(t)),
            (Region::Solid, true) => Some(*t),
            (Region::Cavity | Region::Solid, false) => None,
        })
        .collect();
    if chosen.is_empty() {
        return Err(VolumeError::NoRegion(match region {
            Region::Enclosed => "it encloses nothing",
            Region::Cavity => "it is not a solid with a hollow inside",
            Region::Solid => "it is not a solid",
        }));
    }
    Ok(chosen)
}

fn check_closed(triangles: &[[u32; 3]]) -> Result<(), VolumeError> {
    let mut edges: Vec<(u32, u32)> = triangles
        .iter()
        .flat_map(|t| (0..3).map(move |a| (t[a], t[(a + 1) % 3])))
        .collect();
    edges.sort_unstable();
    for &(a, b) in &edges {
        if edges.binary_search(&(b, a)).is_err() {
            return Err(VolumeError::Open(a, b));
        }
    }
    Ok(())
}

/// Connected component of the surface for each triangle.
fn components(triangles: &[[u32; 3]], vertices: usize) -> Vec<usize> {
    let mut parent: Vec<usize> = (0..vertices).collect();
    fn root(parent: &mut [usize], mut i: usize) -> usize {
        while parent[i] != i {
            parent[i] = parent[parent[i]];
            i = parent[i];
        }
        i
    }
    for t in triangles {
        for k in 1..3 {
            let (a, b) = (
                root(&mut parent, t[0] as usize),
                root(&mut parent, t[k] as usize),
            );
            parent[a.max(b)] = a.min(b);
        }
    }
    let mut number = vec![usize::MAX; vertices];
    let mut count = 0;
    triangles
        .iter()
        .map(|t| {
            let r = root(&mut parent, t[0] as usize);
            if number[r] == usize::MAX {
                number[r] = count;
                count += 1;
            }
            number[r]
        })
        .collect()
}
