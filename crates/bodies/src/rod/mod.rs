//! Discrete elastic rods [bergou2008], [bergou2010]: polylines that resist stretching, bending and
//! twist, many of them in one body.
//!
//! The energy of a rod with edges e (rest length l̄ₑ) and inner vertices i (l̄ᵢ half the rest length of
//! both edges) is
//!
//! E = Σₑ ½ E A l̄ₑ (|e|/l̄ₑ − 1)² + Σᵢ ½ (E I₁ (κ₁ − κ̄₁)² + E I₂ (κ₂ − κ̄₂)² + G J (τ − τ̄)²) / l̄ᵢ.
//!
//! A rod with n vertices owns n blocks of positions, then blocks of twists: the degree of freedom of
//! an edge is rθ [m], three to a block, except that the first and the last edge have blocks of their
//! own, so that the frames at the ends of a rod can be prescribed. Components that are left over are
//! never moved. All strands of a body lie in flat columns.
//!
//! With [`Twist::QuasiStatic`] twists are no degrees of freedom. Then the energy of a centreline is the
//! least one over all twists, Ê(x) = min_θ E(x, θ), found at every evaluation from the angles at the
//! start of the step: see `twist`. By the envelope theorem ∂Ê/∂x = ∂E/∂x at the minimiser. The exact
//! Hessian of Ê is dense along a rod; the matrix here is ∂²E/∂x² at fixed twist, which is banded and
//! not less than it, so that Newton's steps are still downhill. Damping sees strains at fixed twist.
//!
//! **Deviations from the papers**
//! - Directors at a trial configuration are transported from the start of the step in one go, and
//!   the derivatives say so: see `strain`. The energy of a step is then a function of its end.
//! - The projected Hessian is that of Gauss and Newton, Σ K ∇s ∇sᵀ, with the size of the geometric
//!   stiffness of stretching, which carries a rod under tension.

mod energy;
mod frames;
mod section;
mod split;
mod strain;
mod twist;

use std::{ops::Range, sync::Arc};

use stiction_geometry::Strands;
use stiction_math::{BandSize, BandedLayout, Vec3, parallel};

pub use frames::{RodFrames, perpendicular, reference_angle, reference_twist, transport};
pub use section::{Natural, RodMaterial, RodSection, Twist, shear_modulus};
pub use split::RodSplit;
pub use strain::{Edge, Strain, VARIABLES, second_derivatives, strains};

use crate::elements::ElementError;

/// The half-bandwidth of a rod's matrix in the order x₀ θ₀ x₁ θ₁ …
pub const BANDWIDTH: usize = 10;
/// The half-bandwidth of the matrix of a rod with quasi-static twist, in the order x₀ x₁ …
pub const POSITION_BANDWIDTH: usize = 8;

/// The rods of one body.
#[derive(Clone, Debug)]
pub struct Rods {
    /// The first node of every rod, and the number of nodes at the end.
    nodes: Vec<u32>,
    /// The first block of every rod in the body's own numbering, and the number at the end.
    blocks: Vec<u32>,
    /// The first edge in `RodFrames`.
    first_edge: usize,
    /// Stiffness and mass.
    section: RodSection,
    /// Whether twists are degrees of freedom.
    twist: Twist,
    /// Rest positions of the nodes [m].
    rest: Vec<Vec3>,
    /// The rest length of every edge [m].
    length: Vec<f64>,
    /// κ̄₁, κ̄₂, τ̄ at the vertex where an edge begins; zero for the first edge of a rod.
    natural: Vec<[f64; 3]>,
    /// The mass of every component of every block [kg].
    mass: Vec<Vec3>,
    /// The order in which the matrix is eliminated.
    layout: Arc<BandedLayout>,
}

/// The configuration at the start of a step, from which frames are transported.
#[derive(Clone, Copy, Debug)]
pub struct RodStart<'a> {
    /// The body's blocks [m].
    pub x: &'a [Vec3],
    /// The directors of the body's edges.
    pub director: &'a [Vec3],
    /// The reference twists of the body's edges [rad].
    pub twist: &'a [f64],
    /// The quasi-static twists of the body's edges [rad]: prescribed values, and initial guesses of
    /// the others.
    pub angle: &'a [f64],
    /// Whether each of them is prescribed.
    pub held: &'a [bool],
}

/// The blocks and edges of one rod.
#[derive(Clone, Copy, Debug)]
struct Strand {
    /// Vertices.
    n: usize,
    /// The first block in the body's numbering.
    block: usize,
    /// The first edge in the body's numbering.
    edge: usize,
}

/// Number of twist blocks of a rod with `n` vertices.
fn twist_blocks(n: usize) -> usize {
    match n {
        0 | 1 => 0,
        2 | 3 => n - 1,
        _ => 2 + (n - 3).div_ceil(3),
    }
}

/// The block after the positions, and the component, of the twist of edge `e` of a rod with `n`
/// vertices.
fn twist_place(n: usize, e: usize) -> (usize, usize) {
    if e == 0 {
        (0, 0)
    } else if e == n - 2 {
        (1, 0)
    } else {
        (2 + (e - 1) / 3, (e - 1) % 3)
    }
}

impl Rods {
    /// Builds rods through `strands` and their reference frames; the director of every first edge
    /// is as close to `director` as possible. `first_edge` is the number of rod edges before this
    /// body.
    pub fn new(
        strands: Strands,
        material: &RodMaterial,
        director: &Vec3,
        first_edge: usize,
    ) -> Result<(Self, RodFrames), ElementError> {
        let section = RodSection::from(material);
        let mut blocks = vec![0];
        for s in 0..strands.len() {
            let n = strands.strand(s).len();
            let twists = match material.twist {
                Twist::Dynamic => twist_blocks(n),
                Twist::QuasiStatic => 0,
            };
            blocks.push(blocks[s] + (n + twists) as u32);
        }
        let edges = strands.points.len() - strands.len();
        let mut rods = Self {
            layout: Arc::new(layout(&strands, &blocks, material.twist)?),
            mass: vec![Vec3::zeros(); blocks[strands.len()] as usize],
            length: Vec::with_capacity(edges),
            natural: vec![[0.0; 3]; edges],
            nodes: strands.starts,
            rest: strands.points,
            blocks,
            first_edge,
            section,
            twist: material.twist,
        };
        if let Some(node) = rods
            .rest
            .iter()
            .position(|p| !p.iter().all(|c| c.is_finite()))
        {
            return Err(ElementError::NonFinite { node });
        }
        let mut frames = RodFrames {
            director: Vec::with_capacity(edges),
            twist: vec![0.0; edges],
            ..RodFrames::default()
        };
        if material.twist == Twist::QuasiStatic {
            frames.angle = vec![0.0; edges];
            frames.held = vec![false; edges];
        }
        for s in 0..rods.len() {
            let strand = rods.strand(s);
            let first = rods.nodes[s] as usize;
            let mut before: Option<(Vec3, Vec3)> = None;
            for e in 0..strand.n - 1 {
                let edge = rods.rest[first + e + 1] - rods.rest[first + e];
                let length = edge.norm();
                if length <= 1e-6 * section.radius {
                    return Err(ElementError::Degenerate {
                        element: strand.edge + e,
                        measure: "length",
                        value: length,
                    });
                }
                let t = edge / length;
                let d = match before {
                    None => perpendicular(&t, director),
                    // Transport keeps it perpendicular up to rounding, which would accumulate.
                    Some((t0, d0)) => perpendicular(&t, &transport(&d0, &t0, &t)),
                };
                before = Some((t, d));
                frames.director.push(d);
                rods.length.push(length);
            }
            rods.spread_mass(strand);
        }
        if material.natural == Natural::Given {
            let mut natural = std::mem::take(&mut rods.natural);
            let x = rods.rest_blocks();
            let start = RodStart {
                x: &x,
                director: &frames.director,
                twist: &frames.twist,
                angle: &frames.angle,
                held: &frames.held,
            };
            for s in 0..rods.len() {
                let strand = rods.strand(s);
                for e in 1..strand.n - 1 {
                    let (a, b) = (
                        rods.edge(strand, e - 1, &x, &start),
                        rods.edge(strand, e, &x, &start),
                    );
                    let [k1, k2] = strains(&a, &b).curvature;
                    natural[strand.edge + e] = [k1, k2, 0.0];
                }
            }
            rods.natural = natural;
        }
        Ok((rods, frames))
    }

    fn spread_mass(&mut self, strand: Strand) {
        let Strand { n, block, edge } = strand;
        let twists = block + n;
        let mut mean = 0.0;
        for e in 0..n - 1 {
            let mass = self.section.mass * self.length[edge + e];
            mean += mass / (n - 1) as f64;
            for i in [e, e + 1] {
                self.mass[block + i] += Vec3::repeat(0.5 * mass);
            }
            if self.twist == Twist::Dynamic {
                let (b, c) = twist_place(n, e);
                self.mass[twists + b][c] = 0.5 * mass;
            }
        }
        if self.twist == Twist::QuasiStatic {
            return;
        }
        // Unused components have a mass as well, to avoid division by zero.
        for m in &mut self.mass[twists..twists + twist_blocks(n)] {
            m.apply(|m| {
                if *m == 0.0 {
                    *m = 0.5 * mean;
                }
            });
        }
    }

    /// Number of rods.
    pub fn len(&self) -> usize {
        self.nodes.len() - 1
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether twists are degrees of freedom.
    pub fn twist(&self) -> Twist {
        self.twist
    }

    fn strand(&self, s: usize) -> Strand {
        Strand {
            n: (self.nodes[s + 1] - self.nodes[s]) as usize,
            block: self.blocks[s] as usize,
            edge: self.nodes[s] as usize - s,
        }
    }

    /// The first node of every rod, and the number of nodes at the end.
    pub fn starts(&self) -> &[u32] {
        &self.nodes
    }

    /// The first block of every rod in the body's own numbering, and the number of blocks at the end.
    pub fn first_blocks(&self) -> impl Iterator<Item = usize> + '_ {
        self.blocks.iter().map(|&b| b as usize)
    }

    /// Number of blocks of the body.
    pub fn block_count(&self) -> usize {
        self.mass.len()
    }

    /// Number of nodes of the body.
    pub fn node_count(&self) -> usize {
        self.rest.len()
    }

    /// The block of every node, in the body's own numbering.
    pub fn node_blocks(&self) -> impl Iterator<Item = u32> + '_ {
        let strands = self.nodes.windows(2).zip(&self.blocks);
        strands.flat_map(|(w, &b)| (0..w[1] - w[0]).map(move |i| b + i))
    }

    /// The blocks of twists of every rod, in the body's own numbering; empty where twist is
    /// quasi-static.
    pub fn twist_block_ranges(&self) -> impl Iterator<Item = Range<usize>> + '_ {
        let strands = self.nodes.windows(2).zip(self.blocks.windows(2));
        strands.map(|(n, b)| (b[0] + n[1] - n[0]) as usize..b[1] as usize)
    }

    /// The indices of the body's edges in `RodFrames`.
    pub fn edges(&self) -> Range<usize> {
        self.first_edge..self.first_edge + self.length.len()
    }

    /// The edge between the nodes `node` and `node + 1` of one rod, in the body's own numbering.
    pub fn edge_after(&self, node: usize) -> Option<usize> {
        let s = self.nodes.partition_point(|&first| first as usize <= node);
        let inside = s > 0 && s <= self.len() && node + 1 < self.nodes[s] as usize;
        inside.then(|| node - (s - 1))
    }

    /// The block (in the body's numbering) that holds nothing but the twist of the edge `edge`: only
    /// the first and the last edge of a rod have one, and none where twist is quasi-static.
    pub fn own_twist_block(&self, edge: usize) -> Option<usize> {
        if self.twist == Twist::QuasiStatic {
            return None;
        }
        let s = self.strand_of_edge(edge)?;
        let strand = self.strand(s);
        let e = edge - strand.edge;
        let (block, _) = twist_place(strand.n, e);
        (block < 2).then(|| strand.block + strand.n + block)
    }

    /// Whether an edge is the first or the last one of its rod.
    pub fn is_end(&self, edge: usize) -> bool {
        self.strand_of_edge(edge).is_some_and(|s| {
            let strand = self.strand(s);
            edge == strand.edge || edge + 2 == strand.edge + strand.n
        })
    }

    /// The block (in the body's numbering) and component of an edge's twist, if it is a degree of
    /// freedom.
    pub fn twist_of(&self, edge: usize) -> Option<(usize, usize)> {
        if self.twist == Twist::QuasiStatic {
            return None;
        }
        let strand = self.strand(self.strand_of_edge(edge)?);
        let (block, component) = twist_place(strand.n, edge - strand.edge);
        Some((strand.block + strand.n + block, component))
    }

    /// The blocks (in the body's numbering) of an edge's two nodes.
    pub fn edge_blocks(&self, edge: usize) -> Option<[usize; 2]> {
        let strand = self.strand(self.strand_of_edge(edge)?);
        let first = strand.block + edge - strand.edge;
        Some([first, first + 1])
    }

    fn strand_of_edge(&self, edge: usize) -> Option<usize> {
        let (mut low, mut high) = (0, self.len());
        while low < high {
            let middle = (low + high) / 2;
            if (self.nodes[middle + 1] as usize) - (middle + 1) <= edge {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        (low < self.len()).then_some(low)
    }

    /// Stiffness and mass of the cross-section.
    pub fn section(&self) -> &RodSection {
        &self.section
    }

    /// Rest positions of the nodes [m].
    pub fn rest(&self) -> &[Vec3] {
        &self.rest
    }

    /// The mass of every component of every block [kg].
    pub fn mass(&self) -> &[Vec3] {
        &self.mass
    }

    /// The total mass [kg].
    pub fn total_mass(&self) -> f64 {
        self.section.mass * self.length.iter().sum::<f64>()
    }

    /// The order in which the matrix is eliminated.
    pub fn layout(&self) -> &Arc<BandedLayout> {
        &self.layout
    }

    /// The positions of all blocks at rest [m]: the nodes, and no twist.
    pub fn rest_blocks(&self) -> Vec<Vec3> {
        let mut x = vec![Vec3::zeros(); self.block_count()];
        for (b, p) in self.node_blocks().zip(&self.rest) {
            x[b as usize] = *p;
        }
        x
    }

    /// The body's part of the frames, with its blocks `x` at the start of the step.
    pub fn start<'a>(&self, x: &'a [Vec3], frames: &'a RodFrames) -> RodStart<'a> {
        RodStart {
            x,
            director: &frames.director[self.edges()],
            twist: &frames.twist[self.edges()],
            angle: frames.angle.get(self.edges()).unwrap_or_default(),
            held: frames.held.get(self.edges()).unwrap_or_default(),
        }
    }

    /// Edge `e` of a rod at the body's blocks `x`; a twist that is no degree of freedom is the one at
    /// the start of the step.
    fn edge(&self, strand: Strand, e: usize, x: &[Vec3], at: &RodStart) -> Edge {
        self.edge_with(strand, e, |i| x[i], at)
    }

    /// Like `edge`, with the body's blocks as a function.
    #[inline]
    fn edge_with(
        &self,
        strand: Strand,
        e: usize,
        x: impl Fn(usize) -> Vec3,
        at: &RodStart,
    ) -> Edge {
        let first = strand.block + e;
        let theta = match self.twist {
            Twist::Dynamic => {
                let (block, component) = twist_place(strand.n, e);
                x(strand.block + strand.n + block)[component] / self.section.radius
            }
            Twist::QuasiStatic => at.angle[strand.edge + e],
        };
        let d0 = at.director[strand.edge + e];
        let t0 = (at.x[first + 1] - at.x[first]).normalize();
        Edge::new(t0, d0, x(first + 1) - x(first), theta)
    }

    /// The edge `edge` (in the body's numbering) at the blocks `x`.
    pub fn edge_at(&self, edge: usize, x: &[Vec3], at: &RodStart) -> Option<Edge> {
        let strand = self.strand(self.strand_of_edge(edge)?);
        Some(self.edge(strand, edge - strand.edge, x, at))
    }

    /// The quasi-static twists that minimise the energy at the body's blocks `x` [rad], with
    /// prescribed ones fixed; none if twists are degrees of freedom.
    pub fn settled(&self, x: &[Vec3], at: &RodStart) -> Option<Vec<f64>> {
        if self.twist == Twist::Dynamic {
            return None;
        }
        let mut all = vec![0.0; self.edges().len()];
        let mut parts = split_by(&mut all, (0..self.len()).map(|s| self.strand(s).n - 1));
        parallel::chunks_mut(&mut parts, 1, |s, angle| {
            let (strand, angle) = (self.strand(s), &mut *angle[0]);
            angle.copy_from_slice(&at.angle[strand.edge..strand.edge + angle.len()]);
            self.relax(strand, x, at, angle);
        });
        Some(all)
    }

    /// Carries the reference frames from the body's blocks `from` to `to`: stage 7 of a step.
    pub fn carry(&self, from: &[Vec3], to: &[Vec3], frames: &mut RodFrames) {
        let range = self.edges();
        let director = &mut frames.director[range.clone()];
        let twist = &mut frames.twist[range];
        for s in 0..self.len() {
            let strand = self.strand(s);
            let mut before: Option<(Vec3, Vec3)> = None;
            for e in 0..strand.n - 1 {
                let i = strand.block + e;
                let t0 = (from[i + 1] - from[i]).normalize();
                let t = (to[i + 1] - to[i]).normalize();
                let at = strand.edge + e;
                let d = perpendicular(&t, &transport(&director[at], &t0, &t));
                if let Some((t0, d0)) = &before {
                    twist[at] = reference_twist((t0, d0), (&t, &d), twist[at]);
                }
                director[at] = d;
                before = Some((t, d));
            }
        }
    }
}

/// The order x₀ θ₀ x₁ θ₁ … of every rod, or x₀ x₁ …
fn layout(strands: &Strands, blocks: &[u32], twist: Twist) -> Result<BandedLayout, ElementError> {
    let mut sizes = Vec::with_capacity(strands.len());
    for s in 0..strands.len() {
        let n = strands.strand(s).len();
        if n < 2 {
            return Err(ElementError::Degenerate {
                element: s,
                measure: "length",
                value: 0.0,
            });
        }
        sizes.push(match twist {
            Twist::Dynamic => BandSize {
                n: 4 * n - 1,
                bandwidth: BANDWIDTH,
            },
            Twist::QuasiStatic => BandSize {
                n: 3 * n,
                bandwidth: POSITION_BANDWIDTH,
            },
        });
    }
    let count = blocks[strands.len()] as usize;
    BandedLayout::new(&sizes, count, |s, row| {
        if twist == Twist::QuasiStatic {
            return 3 * blocks[s] as usize + row;
        }
        let n = sizes[s].n / 4 + 1;
        let first = blocks[s] as usize;
        match (row / 4, row % 4) {
            (e, 3) => {
                let (block, component) = twist_place(n, e);
                3 * (first + n + block) + component
            }
            (i, c) => 3 * (first + i) + c,
        }
    })
    .map_err(|_| ElementError::TooMany { count })
}

/// Splits a list into slices of the given lengths.
fn split_by<T>(list: &mut [T], lengths: impl Iterator<Item = usize>) -> Vec<&mut [T]> {
    let mut rest = list;
    let mut parts = Vec::new();
    for length in lengths {
        let (part, after) = rest.split_at_mut(length);
        parts.push(part);
        rest = after;
    }
    parts
}
