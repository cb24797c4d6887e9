//! Pairs of surface features that may touch during a step, and how far the step may go.

use std::sync::atomic::{AtomicU64, Ordering};

use rayon::prelude::*;
use stiction_math::Vec3;

use super::ccd::{self, CcdConfig, Pair};
use super::surface::{Surface, SurfaceError, SweptSurface};

/// A pair of features that a filter is asked about, by their vertices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Candidate {
    /// A vertex and the corners of a triangle.
    VertexFace(u32, [u32; 3]),
    /// The ends of two edges.
    EdgeEdge([u32; 2], [u32; 2]),
}

/// All pairs whose swept boxes overlap and that share no vertex. Two surfaces of triangles that
/// touch have a vertex on a face or two edges that cross, so other pairs of features need not be
/// listed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Candidates {
    /// Vertices `[p, a, b, c]` of a vertex and a face, sorted by vertex, then triangle.
    pub vertex_face: Vec<[u32; 4]>,
    /// Vertices `[a₀, a₁, b₀, b₁]` of two edges, sorted by first, then second edge.
    pub edge_edge: Vec<[u32; 4]>,
}

impl Candidates {
    /// Pairs within one surface that the filter keeps.
    pub fn within(s: &SweptSurface, keep: impl Fn(Candidate) -> bool + Sync) -> Self {
        let edges = s.surface.edges();
        let edge_edge = s.edges.self_pairs(|i, j| {
            let (a, b) = (edges[i as usize], edges[j as usize]);
            !edges_touch(&a, &b) && keep(Candidate::EdgeEdge(a, b))
        });
        Candidates {
            vertex_face: vertex_face(s, s, &keep),
            edge_edge: four_ends(&edge_edge, &s.surface, &s.surface),
        }
    }

    /// Pairs between two surfaces, over the same positions, that the filter keeps. First the
    /// vertices of `a` with the faces of `b`, then the reverse.
    pub fn between(
        a: &SweptSurface,
        b: &SweptSurface,
        keep: impl Fn(Candidate) -> bool + Sync,
    ) -> Self {
        let (ea, eb) = (a.surface.edges(), b.surface.edges());
        let edge_edge = a.edges.pairs(&b.edges, |i, j| {
            let (x, y) = (ea[i as usize], eb[j as usize]);
            !edges_touch(&x, &y) && keep(Candidate::EdgeEdge(x, y))
        });
        let mut vertex_face_pairs = vertex_face(a, b, &keep);
        vertex_face_pairs.extend(vertex_face(b, a, &keep));
        Candidates {
            vertex_face: vertex_face_pairs,
            edge_edge: four_ends(&edge_edge, &a.surface, &b.surface),
        }
    }

    /// The number of pairs.
    pub fn len(&self) -> usize {
        self.vertex_face.len() + self.edge_edge.len()
    }

    /// Whether there are no pairs.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Checks that there are positions for all vertices.
    pub(crate) fn check(&self, count: usize) -> Result<(), SurfaceError> {
        let highest = |list: &[[u32; 4]]| {
            let parts = list.par_chunks(1 << 14);
            let parts = parts.map(|p| p.iter().flatten().fold(0, |m, v| m.max(*v)));
            parts.max()
        };
        match highest(&self.vertex_face).max(highest(&self.edge_edge)) {
            Some(vertex) if vertex as usize >= count => {
                Err(SurfaceError::NoPosition { vertex, count })
            }
            _ => Ok(()),
        }
    }
}

fn vertex_face(
    a: &SweptSurface,
    b: &SweptSurface,
    keep: &(impl Fn(Candidate) -> bool + Sync),
) -> Vec<[u32; 4]> {
    let (vertices, triangles) = (a.surface.vertices(), b.surface.triangles());
    let pairs = a.vertices.pairs(&b.triangles, |i, j| {
        let (v, t) = (vertices[i as usize], triangles[j as usize]);
        v != t[0] && v != t[1] && v != t[2] && keep(Candidate::VertexFace(v, t))
    });
    let corners = |[i, j]: &[u32; 2]| {
        let [x, y, z] = triangles[*j as usize];
        [vertices[*i as usize], x, y, z]
    };
    pairs.par_iter().with_min_len(4096).map(corners).collect()
}

fn four_ends(pairs: &[[u32; 2]], a: &Surface, b: &Surface) -> Vec<[u32; 4]> {
    let (a, b) = (a.edges(), b.edges());
    let ends = |[i, j]: &[u32; 2]| {
        let ([p, q], [r, s]) = (a[*i as usize], b[*j as usize]);
        [p, q, r, s]
    };
    pairs.par_iter().with_min_len(4096).map(ends).collect()
}

fn edges_touch(a: &[u32; 2], b: &[u32; 2]) -> bool {
    a[0] == b[0] || a[0] == b[1] || a[1] == b[0] || a[1] == b[1]
}

/// How far a step may go.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SafeStep {
    /// The largest provably safe fraction of the step, in [0, 1]; 1 if nothing is hit.
    pub fraction: f64,
    /// The pair that limits it.
    pub limited_by: Option<Candidate>,
}

/// The largest fraction of the step from `start` to `end` [m] that keeps all candidates at least
/// `config.d_min` apart; zero if a pair is too close from the start. Positions
/// x + fraction (x′ − x), computed in floating point, keep the separation too.
pub fn earliest_step(
    candidates: &Candidates,
    start: &[Vec3],
    end: &[Vec3],
    config: &CcdConfig,
) -> Result<SafeStep, SurfaceError> {
    candidates.check(start.len().min(end.len()))?;
    let largest = |x: &[Vec3]| {
        let parts = x.par_chunks(4096);
        let parts = parts.map(|x| x.iter().fold(0.0, |m: f64, p| m.max(p.amax())));
        parts.reduce(|| 0.0, f64::max)
    };
    let slack = ccd::rounding(largest(start).max(largest(end)));
    // The best time so far, as the bits of a positive number, which order like the number. Pairs
    // that are provably later than it are left early; their answers cannot matter, so the
    // minimum does not depend on the order in which threads find it.
    let best = AtomicU64::new(f64::INFINITY.to_bits());
    let search = |pair: Pair, list: &[[u32; 4]]| {
        list.par_chunks(512)
            .enumerate()
            .filter_map(|(chunk, list)| {
                let mut first: Option<(u64, usize)> = None;
                for (i, vertices) in list.iter().enumerate() {
                    let x0 = vertices.map(|v| start[v as usize]);
                    let x1 = vertices.map(|v| end[v as usize]);
                    let limit = f64::from_bits(best.load(Ordering::Relaxed));
                    let answer = ccd::advance(pair, &x0, &x1, config, slack, limit);
                    if let Some(impact) = answer.impact {
                        let bits = impact.time.to_bits();
                        best.fetch_min(bits, Ordering::Relaxed);
                        let found = (bits, 512 * chunk + i);
                        first = Some(first.map_or(found, |f| f.min(found)));
                    }
                }
                first
            })
            .min()
    };
    let face = search(Pair::VertexFace, &candidates.vertex_face);
    let edge = search(Pair::EdgeEdge, &candidates.edge_edge);
    let (bits, limited_by) = match (face, edge) {
        (Some((t, i)), e) if e.is_none_or(|e| t <= e.0) => {
            let [p, a, b, c] = candidates.vertex_face[i];
            (t, Candidate::VertexFace(p, [a, b, c]))
        }
        (_, Some((t, i))) => {
            let [a, b, c, d] = candidates.edge_edge[i];
            (t, Candidate::EdgeEdge([a, b], [c, d]))
        }
        _ => {
            return Ok(SafeStep {
                fraction: 1.0,
                limited_by: None,
            });
        }
    };
    Ok(SafeStep {
        fraction: f64::from_bits(bits),
        limited_by: Some(limited_by),
    })
}
