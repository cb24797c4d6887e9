//! The surface of a body, for contact, drag and output.

use stiction_math::{Quat, Vec3};

use crate::{state::State, stencil::Stencil};

/// Triangles, or the segments of rods, whose vertices move with a body.
#[derive(Clone, Debug, PartialEq)]
pub struct Surface {
    /// Three surface vertices per triangle, counter-clockwise from outside.
    pub triangles: Vec<[u32; 3]>,
    /// Two surface vertices per segment of a rod; empty for all bodies but rods.
    pub segments: Vec<[u32; 2]>,
    /// Map from the body's blocks to the vertices.
    pub skin: Skin,
}

/// Map from blocks to surface vertices.
#[derive(Clone, Debug, PartialEq)]
pub enum Skin {
    /// Each vertex is a node: its block.
    Nodes(Vec<u32>),
    /// Each vertex is carried by a tetrahedron: four blocks and barycentric weights.
    Embedded(Vec<([u32; 4], [f64; 4])>),
    /// Each vertex is a weighted sum of nodes: those of the frames around it.
    Blended {
        /// The first entry of every vertex, and the number of entries at the end.
        start: Vec<u32>,
        /// Blocks and weights [1], vertex by vertex; weights of a vertex sum to one.
        entries: Vec<(u32, f64)>,
    },
    /// Each vertex is fixed in a rigid body's frame, from the centre of mass [m].
    Rigid {
        /// The block of the centre of mass.
        block: u32,
        /// The body's index in `State::rotations`.
        rigid: u32,
        /// Vertex positions in the body's frame [m].
        local: Vec<Vec3>,
    },
}

impl Skin {
    /// Renumbers every block.
    pub(crate) fn renumber(&mut self, new: impl Fn(u32) -> u32) {
        match self {
            Self::Nodes(blocks) => blocks.iter_mut().for_each(|b| *b = new(*b)),
            Self::Embedded(carried) => {
                let blocks = carried.iter_mut().flat_map(|c| &mut c.0);
                blocks.for_each(|b| *b = new(*b));
            }
            Self::Blended { entries, .. } => entries.iter_mut().for_each(|e| e.0 = new(e.0)),
            Self::Rigid { block, .. } => *block = new(*block),
        }
    }
}

impl Surface {
    /// Number of vertices.
    pub fn len(&self) -> usize {
        match &self.skin {
            Skin::Nodes(blocks) => blocks.len(),
            Skin::Embedded(carried) => carried.len(),
            Skin::Blended { start, .. } => start.len().saturating_sub(1),
            Skin::Rigid { local, .. } => local.len(),
        }
    }

    /// Whether the surface has no vertex.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The stencil of vertex `i`.
    pub fn stencil(&self, i: usize) -> Stencil {
        match &self.skin {
            Skin::Nodes(blocks) => Stencil::node(blocks[i]),
            Skin::Embedded(carried) => {
                let (blocks, weights) = carried[i];
                Stencil::Nodes((0..4).map(|a| (blocks[a], weights[a])).collect())
            }
            Skin::Blended { start, entries } => {
                Stencil::Nodes(entries[start[i] as usize..start[i + 1] as usize].to_vec())
            }
            Skin::Rigid {
                block,
                rigid,
                local,
            } => Stencil::Rigid {
                block: *block,
                rigid: *rigid,
                local: local[i],
            },
        }
    }

    /// Computes the position of every vertex [m] into `out` (cleared first).
    pub fn positions(&self, x: &[Vec3], rotations: &[Quat], out: &mut Vec<Vec3>) {
        out.clear();
        match &self.skin {
            Skin::Nodes(blocks) => out.extend(blocks.iter().map(|&b| x[b as usize])),
            Skin::Embedded(carried) => out.extend(carried.iter().map(|c| blend(c, x))),
            Skin::Blended { start, entries } => out.extend(blend_all(start, entries, x)),
            Skin::Rigid {
                block,
                rigid,
                local,
            } => {
                let (c, r) = (x[*block as usize], rotations[*rigid as usize]);
                out.extend(local.iter().map(|p| c + r * p));
            }
        }
    }

    /// Computes the velocity of every vertex [m/s] into `out` (cleared first).
    pub fn velocities(&self, state: &State, out: &mut Vec<Vec3>) {
        out.clear();
        match &self.skin {
            Skin::Nodes(blocks) => out.extend(blocks.iter().map(|&b| state.v[b as usize])),
            Skin::Embedded(carried) => out.extend(carried.iter().map(|c| blend(c, &state.v))),
            Skin::Blended { start, entries } => out.extend(blend_all(start, entries, &state.v)),
            Skin::Rigid {
                block,
                rigid,
                local,
            } => {
                let (v, w) = (state.v[*block as usize], state.v[*block as usize + 1]);
                let r = state.rotations[*rigid as usize];
                out.extend(local.iter().map(|p| v + w.cross(&(r * p))));
            }
        }
    }
}

fn blend((blocks, weights): &([u32; 4], [f64; 4]), of: &[Vec3]) -> Vec3 {
    (0..4).map(|a| of[blocks[a] as usize] * weights[a]).sum()
}

fn blend_all<'a>(
    start: &'a [u32],
    entries: &'a [(u32, f64)],
    of: &'a [Vec3],
) -> impl Iterator<Item = Vec3> + 'a {
    start.windows(2).map(|r| {
        let list = &entries[r[0] as usize..r[1] as usize];
        list.iter().map(|&(b, w)| of[b as usize] * w).sum()
    })
}

/// Twice the area-weighted normal of every vertex divided by six: ⅓ of the area vector of its
/// triangles [m²], into `out` (cleared first).
pub fn vertex_areas(positions: &[Vec3], triangles: &[[u32; 3]], out: &mut Vec<Vec3>) {
    out.clear();
    out.resize(positions.len(), Vec3::zeros());
    for t in triangles {
        let [a, b, c] = t.map(|i| positions[i as usize]);
        let third = (b - a).cross(&(c - a)) / 6.0;
        for &i in t {
            out[i as usize] += third;
        }
    }
}
