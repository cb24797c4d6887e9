//! Rods rooted in a body: springs between their first two nodes and its material.

use stiction_geometry::{InsideTest, TriMesh};
use stiction_math::{Mat3, Vec3};

use crate::{
    attachment::Attachment,
    model::{Body, Rooted},
    state::State,
    stencil::Stencil,
};

use super::{BuildError, Builder};

/// Parameters of rooted rods.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rooting {
    /// The stiffness of each spring as a multiple of E A / ℓ, the stretching stiffness of the rod's
    /// first segment [1].
    pub stiffness: f64,
    /// Number of first segments of every rod without contact with the body it is rooted in.
    pub bare: usize,
}

impl Default for Rooting {
    /// The stiffness of a segment, and two segments: the first one touches the surface it stands
    /// on, and the next one begins within the contact distance.
    fn default() -> Self {
        Self {
            stiffness: 1.0,
            bare: 2,
        }
    }
}

impl Builder {
    /// Ties the first two nodes of every rod of body `rods` to the material of body `ground` by
    /// springs that act on both, so that roots keep their positions and directions. Nothing is
    /// strained initially, wherever the nodes are, and the rods start with the ground's velocity.
    ///
    /// A solid carries both nodes by extrapolation of its tetrahedron at the root, and a rigid body
    /// as its own points: one spring of length zero for each node. A sheet has no material above
    /// its surface: there, three springs from the corners of the triangle at the root hold the
    /// second node. The springs have the damping of the rods. A root is free to rotate about its
    /// own axis.
    pub fn root(
        &mut self,
        rods: usize,
        ground: usize,
        rooting: &Rooting,
    ) -> Result<(), BuildError> {
        let (hair, body) = (&self.model.bodies[rods], &self.model.bodies[ground]);
        let Some(strands) = hair.kind.as_rods() else {
            return Err(BuildError::NotRods {
                body: hair.name.clone(),
            });
        };
        if !(rooting.stiffness.is_finite() && rooting.stiffness > 0.0) {
            return Err(BuildError::Number {
                what: format!("the stiffness of the roots of body `{}`", hair.name),
                value: rooting.stiffness,
            });
        }
        let soil = Soil::new(body, &self.state).ok_or_else(|| BuildError::Ground {
            rods: hair.name.clone(),
            body: body.name.clone(),
        })?;
        let mut springs = Vec::with_capacity(2 * strands.len());
        let mut velocities = Vec::with_capacity(strands.node_count());
        for range in strands.starts().windows(2) {
            let blocks: Vec<usize> = (range[0]..range[1])
                .filter_map(|node| hair.node_block(node as usize))
                .collect();
            let at = |i: usize| self.state.x[blocks[i]];
            let length = (at(1) - at(0)).norm();
            let spot = soil.spot(&at(0));
            let spot = spot.ok_or_else(|| BuildError::Ground {
                rods: hair.name.clone(),
                body: body.name.clone(),
            })?;
            let stiffness = rooting.stiffness * strands.section().stretch / length;
            for (i, &block) in blocks.iter().take(2).enumerate() {
                for (end, share, length) in soil.ties(&spot, &at(i), 1e-6 * length) {
                    springs.push(Attachment {
                        a: Stencil::node(block as u32),
                        b: end,
                        stiffness: stiffness * share,
                        length,
                        damping: hair.damping.stiffness,
                        motion: None,
                        closing: None,
                    });
                }
            }
            for (i, &block) in blocks.iter().enumerate() {
                velocities.push((block, soil.velocity(&spot, &at(i))));
            }
        }
        for (block, v) in velocities {
            self.state.v[block] = v;
        }
        self.model.attachments.append(&mut springs);
        self.model.bodies[rods].rooted = Some(Rooted {
            body: ground,
            bare: rooting.bare,
        });
        Ok(())
    }
}

/// The body that rods are rooted in, prepared for many queries.
struct Soil<'a> {
    body: &'a Body,
    state: &'a State,
    surface: InsideTest,
    /// Positions of the surface vertices [m].
    positions: Vec<Vec3>,
    /// The tetrahedra at each node: those of node i are `around[start[i]..start[i + 1]]`.
    start: Vec<u32>,
    around: Vec<u32>,
}

/// The material at a root.
enum Spot {
    /// A rigid body.
    Rigid { block: u32, rigid: u32 },
    /// The blocks of a tetrahedron.
    Tet([u32; 4]),
    /// The surface vertices of a triangle of a sheet.
    Triangle([u32; 3]),
}

impl<'a> Soil<'a> {
    fn new(body: &'a Body, state: &'a State) -> Option<Self> {
        let mut positions = Vec::new();
        body.surface
            .positions(&state.x, &state.rotations, &mut positions);
        if body.surface.triangles.is_empty() {
            return None;
        }
        let mesh = TriMesh {
            positions: positions.clone(),
            triangles: body.surface.triangles.clone(),
        };
        let mut start = vec![0_u32; body.blocks.len() + 1];
        for node in body.tets.iter().flatten() {
            start[*node as usize + 1] += 1;
        }
        for i in 0..body.blocks.len() {
            start[i + 1] += start[i];
        }
        let mut next = start.clone();
        let mut around = vec![0; 4 * body.tets.len()];
        for (t, tet) in body.tets.iter().enumerate() {
            for node in tet {
                around[next[*node as usize] as usize] = t as u32;
                next[*node as usize] += 1;
            }
        }
        Some(Self {
            surface: InsideTest::new(&mesh).ok()?,
            body,
            state,
            positions,
            start,
            around,
        })
    }

    /// The material at a root at `p` [m]; none if it is degenerate.
    fn spot(&self, p: &Vec3) -> Option<Spot> {
        let first = self.body.blocks.start as u32;
        if let Some(r) = self.body.kind.as_rigid() {
            return Some(Spot::Rigid {
                block: first,
                rigid: r.index as u32,
            });
        }
        let (corners, _) = self.surface.closest_triangle(p, f64::INFINITY)?;
        if self.body.tets.is_empty() {
            return Some(Spot::Triangle(corners));
        }
        // Of the tetrahedra around the triangle, the one that contains the root or is closest to it
        // in barycentric coordinates.
        let mut best: Option<(f64, u32)> = None;
        for corner in corners {
            for block in self.body.surface.stencil(corner as usize).blocks() {
                let node = (block - first) as usize;
                let tets = self.start[node] as usize..self.start[node + 1] as usize;
                for &t in &self.around[tets] {
                    let tet = self.body.tets[t as usize].map(|i| first + i);
                    let Some(weights) = self.coordinates(&tet, p) else {
                        continue;
                    };
                    let least = weights.into_iter().fold(f64::INFINITY, f64::min);
                    // Ties are broken by index, whatever corner they were found from.
                    let better = |(other, u): (f64, u32)| least > other || least == other && t < u;
                    if best.is_none_or(better) {
                        best = Some((least, t));
                    }
                }
            }
        }
        let (_, t) = best?;
        Some(Spot::Tet(self.body.tets[t as usize].map(|i| first + i)))
    }

    /// Barycentric coordinates of `p` in a tetrahedron of blocks; outside of it some are negative.
    fn coordinates(&self, tet: &[u32; 4], p: &Vec3) -> Option<[f64; 4]> {
        let [a, b, c, d] = tet.map(|i| self.state.x[i as usize]);
        let w = Mat3::from_columns(&[b - a, c - a, d - a]).try_inverse()? * (p - a);
        let weights = [1.0 - w.x - w.y - w.z, w.x, w.y, w.z];
        weights.iter().all(|w| w.is_finite()).then_some(weights)
    }

    /// Springs that tie a node at `p` [m] to the material: their other ends, their fractions of the
    /// stiffness and their lengths [m]. A node closer to a sheet than `level` [m] is on it.
    fn ties(&self, spot: &Spot, p: &Vec3, level: f64) -> Vec<(Stencil, f64, f64)> {
        match spot {
            Spot::Rigid { block, rigid } => {
                let turn = self.state.rotations[*rigid as usize];
                let local = turn.inverse() * (p - self.state.x[*block as usize]);
                let end = Stencil::Rigid {
                    block: *block,
                    rigid: *rigid,
                    local,
                };
                vec![(end, 1.0, 0.0)]
            }
            Spot::Tet(tet) => {
                let weights = self.coordinates(tet, p).unwrap_or([0.25; 4]);
                let nodes = tet.iter().copied().zip(weights).collect();
                vec![(Stencil::Nodes(nodes), 1.0, 0.0)]
            }
            Spot::Triangle(corners) => {
                let (weights, height, normal) = self.above(corners, p);
                let ends = corners.map(|v| self.body.surface.stencil(v as usize));
                if height.abs() <= level {
                    let nodes = ends.iter().flat_map(Stencil::blocks).zip(weights).collect();
                    return vec![(Stencil::Nodes(nodes), 1.0, 0.0)];
                }
                let arms = corners.map(|v| p - self.positions[v as usize]);
                // Together they are as stiff along the sheet as one spring; in the normal direction
                // the rod's own stretching stiffness holds the node.
                let mut sum = Mat3::zeros();
                for arm in &arms {
                    let n = arm.normalize();
                    sum += n * n.transpose();
                }
                let flat = Mat3::identity() - normal * normal.transpose();
                let mut along: Vec<f64> = (flat * sum * flat)
                    .symmetric_eigenvalues()
                    .iter()
                    .copied()
                    .collect();
                along.sort_by(f64::total_cmp);
                let share = 1.0 / along[1].max(LEAST_SHARE);
                let pairs = ends.into_iter().zip(arms);
                pairs.map(|(end, arm)| (end, share, arm.norm())).collect()
            }
        }
    }

    /// The velocity of the material at `p` [m/s], extrapolated above the surface.
    fn velocity(&self, spot: &Spot, p: &Vec3) -> Vec3 {
        let v = &self.state.v;
        match spot {
            Spot::Rigid { block, .. } => {
                let b = *block as usize;
                v[b] + v[b + 1].cross(&(p - self.state.x[b]))
            }
            Spot::Tet(tet) => {
                let weights = self.coordinates(tet, p).unwrap_or([0.25; 4]);
                let terms = tet.iter().zip(weights);
                terms.map(|(i, w)| v[*i as usize] * w).sum()
            }
            Spot::Triangle(corners) => {
                let (weights, height, normal) = self.above(corners, p);
                let blocks = corners.map(|c| self.body.surface.stencil(c as usize).blocks());
                let [va, vb, vc] = blocks.map(|b| v[b[0] as usize]);
                let [a, b, c] = corners.map(|c| self.positions[c as usize]);
                // d/dt of the unit normal, from that of the area vector.
                let area = (b - a).cross(&(c - a));
                let rate = (vb - va).cross(&(c - a)) + (b - a).cross(&(vc - va));
                let turn = (rate - normal * normal.dot(&rate)) / area.norm();
                va * weights[0] + vb * weights[1] + vc * weights[2] + turn * height
            }
        }
    }

    /// A point above a triangle of a sheet: coordinates of its foot, its height [m], the normal.
    fn above(&self, corners: &[u32; 3], p: &Vec3) -> ([f64; 3], f64, Vec3) {
        let [a, b, c] = corners.map(|v| self.positions[v as usize]);
        let area = (b - a).cross(&(c - a));
        let normal = area.normalize();
        let part = |e: Vec3, q: Vec3| e.cross(&(p - q)).dot(&area) / area.norm_squared();
        let weights = [part(c - b, b), part(a - c, c), part(b - a, a)];
        (weights, (p - a).dot(&normal), normal)
    }
}

/// Bound on the stiffness of springs from a triangle that is small compared with the height of the
/// node.
const LEAST_SHARE: f64 = 0.05;
