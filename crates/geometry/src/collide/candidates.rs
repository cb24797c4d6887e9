//! Pairs of surface features that may touch during a step, and how far the step may go.

use std::sync::atomic::{AtomicU64, Ordering};

use stiction_math::{Vec3, parallel};

use super::bvh::ordered;
use super::ccd::{self, CcdConfig, Pair};
use super::surface::{CollisionSurface, SurfaceError, SweptSurface};

/// A pair of features that a filter accepts or rejects, by their vertices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Candidate {
    /// A vertex and the corners of a triangle.
    VertexFace(u32, [u32; 3]),
    /// The ends of two edges.
    EdgeEdge([u32; 2], [u32; 2]),
}

/// All pairs whose boxes overlap and that share no vertex. Two surfaces of triangles that
/// touch have a vertex on a face or two edges that cross, so other pairs of features need not be
/// listed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Candidates {
    /// Vertices `[p, a, b, c]` of a vertex and a face, sorted by vertex, then triangle.
    pub vertex_face: Vec<[u32; 4]>,
    /// Two edges by their numbers ([`CollisionSurface::ends`] has their vertices), sorted by first, then second
    /// edge. There are many of them: in hair, most of what detection holds.
    pub edge_edge: Vec<[u32; 2]>,
}

impl Candidates {
    /// Pairs within one surface that the filter keeps.
    pub fn within(s: &SweptSurface, keep: impl Fn(Candidate) -> bool + Sync) -> Self {
        let keys = |a: u32, b: u32| {
            let (met, kept) = edges_within(s, &keep, a, b);
            (met.key, kept)
        };
        let tasks = s.edge_tasks(keys, std::mem::take);
        Candidates {
            edge_edge: ordered(tasks, s.surface.edges().len(), |key| *key),
            vertex_face: vertex_face(s, s, &keep),
        }
    }

    /// Pairs between two surfaces, over the same positions, that the filter keeps. First the
    /// vertices of `a` with the faces of `b`, then the reverse. Edges have the numbers of their
    /// surfaces, those of `a` first.
    pub fn between(
        a: &SweptSurface,
        b: &SweptSurface,
        keep: impl Fn(Candidate) -> bool + Sync,
    ) -> Self {
        let (ea, eb) = (a.surface.edges(), b.surface.edges());
        let (items, others) = (a.edge_items(), b.edge_items());
        let keys = |p: u32, q: u32| {
            let (i, j) = (items[p as usize], others[q as usize]);
            let (x, y) = (ea[i as usize], eb[j as usize]);
            let kept = !edges_touch(&x, &y) && keep(Candidate::EdgeEdge(x, y));
            ([i, j], kept)
        };
        let tasks = a.edge_tasks_with(b, keys, std::mem::take);
        let mut vertex_face_pairs = vertex_face(a, b, &keep);
        vertex_face_pairs.extend(vertex_face(b, a, &keep));
        Candidates {
            edge_edge: ordered(tasks, ea.len(), |key| *key),
            vertex_face: vertex_face_pairs,
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

    /// Checks that there are positions for all vertices, and that `surface` has the edges.
    pub(crate) fn check(
        &self,
        surface: &CollisionSurface,
        count: usize,
    ) -> Result<(), SurfaceError> {
        surface.check(count)?;
        if let Some(vertex) = highest(&self.vertex_face).filter(|v| *v as usize >= count) {
            return Err(SurfaceError::NoPosition { vertex, count });
        }
        let count = surface.edges().len();
        match highest(&self.edge_edge).filter(|e| *e as usize >= count) {
            Some(edge) => Err(SurfaceError::NoEdge { edge, count }),
            None => Ok(()),
        }
    }
}

/// The highest number in a list.
fn highest<const N: usize>(list: &[[u32; N]]) -> Option<u32> {
    let parts = parallel::map_ranges(list.len(), 1 << 14, |range| {
        list[range].iter().flatten().fold(0, |m, v| m.max(*v))
    });
    parts.into_iter().max()
}

/// Two features that met.
#[derive(Clone, Copy)]
pub(super) struct Met {
    /// Vertex and triangle, or two edges in ascending order, by their numbers: the order in which
    /// pairs are listed.
    pub key: [u32; 2],
    /// Their vertices.
    pub vertices: [u32; 4],
}

/// The edges in two slots of the tree of a surface, and whether they count.
#[inline]
pub(super) fn edges_within(
    s: &SweptSurface,
    keep: &impl Fn(Candidate) -> bool,
    a: u32,
    b: u32,
) -> (Met, bool) {
    let edges = s.slots.edges();
    let (x, y) = (edges[a as usize], edges[b as usize]);
    let apart = !edges_touch(&x, &y);
    let [i, j] = [a, b].map(|slot| s.edge_items()[slot as usize]);
    let (key, [x, y]) = if i < j {
        ([i, j], [x, y])
    } else {
        ([j, i], [y, x])
    };
    let [x, y] = [x, y].map(|e| e.map(|v| s.slots.vertices()[v as usize]));
    let vertices = [x[0], x[1], y[0], y[1]];
    (
        Met { key, vertices },
        apart && keep(Candidate::EdgeEdge(x, y)),
    )
}

/// The vertex in a place of `a` and the triangle in a slot of the tree of `b`, and whether they
/// count.
#[inline]
pub(super) fn vertex_and_face(
    a: &SweptSurface,
    b: &SweptSurface,
    keep: &impl Fn(Candidate) -> bool,
    place: u32,
    slot: u32,
) -> (Met, bool) {
    let v = a.slots.vertices()[place as usize];
    let t = b.slots.triangles()[slot as usize].map(|p| b.slots.vertices()[p as usize]);
    let apart = (v != t[0]) & (v != t[1]) & (v != t[2]);
    let key = [v, b.triangle_items()[slot as usize]];
    let vertices = [v, t[0], t[1], t[2]];
    (
        Met { key, vertices },
        apart && keep(Candidate::VertexFace(v, t)),
    )
}

fn vertex_face(
    a: &SweptSurface,
    b: &SweptSurface,
    keep: &(impl Fn(Candidate) -> bool + Sync),
) -> Vec<[u32; 4]> {
    let keys = |place: u32, slot: u32| {
        let (met, kept) = vertex_and_face(a, b, keep, place, slot);
        (met.key, kept)
    };
    let tasks = a.face_tasks_with(b, keys, std::mem::take);
    let pairs = ordered(tasks, a.surface.vertex_range(), |key| *key);
    let triangles = b.surface.triangles();
    let corners = |[v, j]: &[u32; 2]| {
        let [x, y, z] = triangles[*j as usize];
        [*v, x, y, z]
    };
    parallel::map(pairs.len(), 4096, |i| corners(&pairs[i]))
}

fn edges_touch(a: &[u32; 2], b: &[u32; 2]) -> bool {
    (a[0] == b[0]) | (a[0] == b[1]) | (a[1] == b[0]) | (a[1] == b[1])
}

/// The admissible fraction of a step.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SafeStep {
    /// The largest provably safe fraction of the step, in [0, 1]; 1 if nothing is hit.
    pub fraction: f64,
    /// The pair that limits it.
    pub limited_by: Option<Candidate>,
}

/// The largest fraction of the step from `start` to `end` [m] that keeps all candidates of a surface at least
/// `config.d_min` apart; zero if a pair is too close from the start. Positions
/// x + fraction (x′ − x), computed in floating point, keep the separation too.
pub fn earliest_step(
    candidates: &Candidates,
    surface: &CollisionSurface,
    start: &[Vec3],
    end: &[Vec3],
    config: &CcdConfig,
) -> Result<SafeStep, SurfaceError> {
    candidates.check(surface, start.len().min(end.len()))?;
    let race = Race::new(start, end, config);
    let face = race.earliest(Pair::VertexFace, &candidates.vertex_face, |v| v);
    let edge = race.earliest(Pair::EdgeEdge, &candidates.edge_edge, |e| surface.ends(e));
    Ok(SafeStep::of(face, edge))
}

/// [`earliest_step`] among all candidates within one surface whose boxes span the step, without
/// storing them: memory does not grow with their number.
pub fn earliest_step_within(
    s: &SweptSurface,
    start: &[Vec3],
    end: &[Vec3],
    config: &CcdConfig,
    keep: impl Fn(Candidate) -> bool + Sync,
) -> Result<SafeStep, SurfaceError> {
    s.surface.check(start.len().min(end.len()))?;
    let race = Race::new(start, end, config);
    let run = |pair: Pair| {
        let race = &race;
        move |met: &mut Vec<Met>| race.first(pair, met.iter().map(|m| (m.key, m.vertices)))
    };
    let faces = s.face_tasks_with(
        s,
        |place, slot| vertex_and_face(s, s, &keep, place, slot),
        run(Pair::VertexFace),
    );
    let edges = s.edge_tasks(|a, b| edges_within(s, &keep, a, b), run(Pair::EdgeEdge));
    let first = |tasks: Vec<Option<First>>| tasks.into_iter().flatten().min();
    Ok(SafeStep::of(first(faces), first(edges)))
}

/// An impact: the bits of its time, its place in the list and its vertices.
type First = (u64, [u32; 2], [u32; 4]);

impl SafeStep {
    fn of(face: Option<First>, edge: Option<First>) -> Self {
        let (bits, limited_by) = match (face, edge) {
            (Some((t, _, [p, a, b, c])), e) if e.is_none_or(|e| t <= e.0) => {
                (t, Candidate::VertexFace(p, [a, b, c]))
            }
            (_, Some((t, _, [a, b, c, d]))) => (t, Candidate::EdgeEdge([a, b], [c, d])),
            _ => {
                return SafeStep {
                    fraction: 1.0,
                    limited_by: None,
                };
            }
        };
        SafeStep {
            fraction: f64::from_bits(bits),
            limited_by: Some(limited_by),
        }
    }
}

/// The search for the earliest impact.
struct Race<'a> {
    start: &'a [Vec3],
    end: &'a [Vec3],
    config: &'a CcdConfig,
    slack: f64,
    /// The best time so far, as the bits of a positive number, which order like the number. Pairs
    /// that are provably later than it are left early; their answers cannot matter, so the
    /// minimum does not depend on the order in which threads find it.
    best: AtomicU64,
}

impl<'a> Race<'a> {
    fn new(start: &'a [Vec3], end: &'a [Vec3], config: &'a CcdConfig) -> Self {
        let largest = |x: &[Vec3]| {
            let parts = parallel::map_ranges(x.len(), 4096, |range| {
                x[range].iter().fold(0.0, |m: f64, p| m.max(p.amax()))
            });
            parts.into_iter().fold(0.0, f64::max)
        };
        Race {
            start,
            end,
            config,
            slack: ccd::rounding(largest(start).max(largest(end))),
            best: AtomicU64::new(f64::INFINITY.to_bits()),
        }
    }

    /// The earliest of a list of pairs, of which `vertices` tells the vertices.
    fn earliest<P: Copy + Sync>(
        &self,
        pair: Pair,
        list: &[P],
        vertices: impl Fn(P) -> [u32; 4] + Sync,
    ) -> Option<First> {
        let place = |i: usize| [(i >> 32) as u32, i as u32];
        let first = parallel::map_ranges(list.len(), 512, |range| {
            let entries = range.map(|i| (place(i), vertices(list[i])));
            self.first(pair, entries)
        });
        first.into_iter().flatten().min()
    }

    /// The earliest of some pairs, given their places in the list and their vertices.
    fn first(&self, pair: Pair, list: impl Iterator<Item = ([u32; 2], [u32; 4])>) -> Option<First> {
        let mut first: Option<First> = None;
        for (place, vertices) in list {
            let x0 = vertices.map(|v| self.start[v as usize]);
            let x1 = vertices.map(|v| self.end[v as usize]);
            let limit = f64::from_bits(self.best.load(Ordering::Relaxed));
            let answer = ccd::advance(pair, &x0, &x1, self.config, self.slack, limit);
            if let Some(impact) = answer.impact {
                let bits = impact.time.to_bits();
                self.best.fetch_min(bits, Ordering::Relaxed);
                let found = (bits, place, vertices);
                first = Some(first.map_or(found, |f| f.min(found)));
            }
        }
        first
    }
}
