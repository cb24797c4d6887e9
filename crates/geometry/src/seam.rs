//! Edges of panels that are sewn together: paths and loops on the boundary of a surface, matched in order.

use std::collections::BTreeMap;

use stiction_math::Vec3;

use crate::TriMesh;

/// A path along the boundary of a surface, or a whole loop of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outline {
    /// Its vertices, in order, each once.
    pub vertices: Vec<u32>,
    /// Whether the last one is followed by the first.
    pub closed: bool,
}

/// Two points on two outlines that a stitch joins: vertices with weights, one or two.
pub type Stitch = [Vec<(u32, f64)>; 2];

/// Reason for which vertices are no edge of a panel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SeamError {
    /// Fewer than two of the vertices are on one edge of the boundary.
    #[error("the selection holds no edge of the boundary")]
    NoEdge,
    /// The boundary touches itself.
    #[error("more than two edges of the boundary meet at vertex {0}")]
    Branches(u32),
    /// The vertices are on several separate stretches of the boundary.
    #[error("the selection is {0} separate stretches of the boundary; give each a seam of its own")]
    Several(usize),
    /// Two corners are not on one loop of the boundary.
    #[error("no path along the boundary leads from vertex {0} to vertex {1}")]
    NoPath(u32, u32),
}

/// The neighbours of every boundary vertex along the boundary, two of each.
fn neighbours(edges: &[[u32; 2]]) -> Result<BTreeMap<u32, Vec<u32>>, SeamError> {
    let mut of: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
    for [a, b] in edges {
        of.entry(*a).or_default().push(*b);
        of.entry(*b).or_default().push(*a);
    }
    match of.iter().find(|(_, n)| n.len() > 2) {
        Some((v, _)) => Err(SeamError::Branches(*v)),
        None => Ok(of),
    }
}

/// The vertices from `first` on, then `second`, up to `end`, to a dead end or once around.
fn walk(of: &BTreeMap<u32, Vec<u32>>, first: u32, second: u32, end: Option<u32>) -> Vec<u32> {
    let mut path = vec![first];
    let (mut before, mut at) = (first, second);
    while at != first {
        path.push(at);
        if Some(at) == end {
            break;
        }
        let next = of.get(&at).and_then(|n| n.iter().find(|n| **n != before));
        let Some(next) = next else { break };
        (before, at) = (at, *next);
    }
    path
}

impl TriMesh {
    /// The stretch of the boundary whose vertices are `selected`, which ascend. Vertices without an edge
    /// to another one are left out.
    pub fn outline_of(&self, selected: &[u32]) -> Result<Outline, SeamError> {
        let inside = |v: &u32| selected.binary_search(v).is_ok();
        let mut edges = self.boundary_edges();
        edges.retain(|e| e.iter().all(inside));
        let of = neighbours(&edges)?;
        let ends = of.iter().filter(|(_, n)| n.len() == 1).map(|(v, _)| *v);
        let ends: Vec<u32> = ends.collect();
        let start = ends.first().or(of.keys().next()).copied();
        let start = start.ok_or(SeamError::NoEdge)?;
        let vertices = walk(&of, start, of[&start][0], None);
        if vertices.len() < of.len() {
            return Err(SeamError::Several((ends.len() / 2).max(2)));
        }
        let closed = ends.is_empty();
        Ok(Outline { vertices, closed })
    }

    /// The path along the boundary through the boundary vertices closest to `points` [m], the shorter way
    /// round between every two, for vertices at `x` [m].
    pub fn outline_through(&self, x: &[Vec3], points: &[Vec3]) -> Result<Outline, SeamError> {
        let of = neighbours(&self.boundary_edges())?;
        let nearest = |p: &Vec3| {
            let distance = |v: &u32| (x[*v as usize] - p).norm_squared();
            of.keys()
                .copied()
                .min_by(|a, b| distance(a).total_cmp(&distance(b)))
        };
        let corners: Option<Vec<u32>> = points.iter().map(nearest).collect();
        let corners = corners.ok_or(SeamError::NoEdge)?;
        let mut vertices: Vec<u32> = corners.first().copied().into_iter().collect();
        for pair in corners.windows(2) {
            let [from, to] = [pair[0], pair[1]];
            let length = |path: &Vec<u32>| -> f64 {
                let steps = path.windows(2);
                steps
                    .map(|w| (x[w[1] as usize] - x[w[0] as usize]).norm())
                    .sum()
            };
            let paths = of[&from].iter().map(|n| walk(&of, from, *n, Some(to)));
            let paths = paths.filter(|p| p.last() == Some(&to));
            let path = paths.min_by(|a, b| length(a).total_cmp(&length(b)));
            let path = path.filter(|_| from != to);
            vertices.extend(&path.ok_or(SeamError::NoPath(from, to))?[1..]);
        }
        match vertices.len() {
            0 | 1 => Err(SeamError::NoEdge),
            _ => Ok(Outline {
                vertices,
                closed: false,
            }),
        }
    }
}

/// The stitches between two outlines of vertices at `x` [m].
///
/// With as many vertices on both sides they join one to one, in order. Otherwise every vertex of the
/// longer list joins the point at the same fraction of the other side's length. `directed` outlines are
/// matched as they run; others in the direction, and around loops from the vertex, for which matched
/// points are closest to one another. `reverse` turns the second side around.
pub fn stitches(
    a: &Outline,
    b: &Outline,
    x: &[Vec3],
    directed: bool,
    reverse: bool,
) -> Vec<Stitch> {
    let mut best = b.vertices.clone();
    if !directed {
        let cost = |b: &[u32]| -> f64 {
            let n = a.vertices.len();
            let of = |i: usize| b[i * b.len() / n];
            let pairs = a.vertices.iter().enumerate();
            pairs
                .map(|(i, v)| (x[*v as usize] - x[of(i) as usize]).norm())
                .sum()
        };
        let turns = if a.closed && b.closed {
            b.vertices.len()
        } else {
            1
        };
        let mut least = f64::INFINITY;
        for turned in [false, true] {
            let mut list = b.vertices.clone();
            if turned {
                list.reverse();
            }
            for _ in 0..turns {
                let sum = cost(&list);
                if sum < least {
                    (least, best) = (sum, list.clone());
                }
                list.rotate_left(1);
            }
        }
    }
    if reverse {
        best.reverse();
        if b.closed {
            best.rotate_right(1);
        }
    }
    let one = |v: u32| vec![(v, 1.0)];
    let a_list = &a.vertices;
    let mut found: Vec<Stitch> = if a_list.len() == best.len() {
        a_list
            .iter()
            .zip(&best)
            .map(|(a, b)| [one(*a), one(*b)])
            .collect()
    } else if a_list.len() > best.len() {
        let fractions = fractions(a_list, a.closed, x);
        let pairs = a_list.iter().zip(fractions);
        pairs
            .map(|(v, s)| [one(*v), point(&best, b.closed, x, s)])
            .collect()
    } else {
        let fractions = fractions(&best, b.closed, x);
        let pairs = best.iter().zip(fractions);
        pairs
            .map(|(v, s)| [point(a_list, a.closed, x, s), one(*v)])
            .collect()
    };
    found.retain(|[a, b]| a != b);
    found
}

/// Lengths from the first vertex to every one [m], and around to the first one of a loop.
fn lengths(list: &[u32], closed: bool, x: &[Vec3]) -> Vec<f64> {
    let mut sum = 0.0;
    let mut at = vec![0.0];
    let last = list.len() - usize::from(!closed);
    for i in 0..last {
        let next = list[(i + 1) % list.len()];
        sum += (x[next as usize] - x[list[i] as usize]).norm();
        at.push(sum);
    }
    at
}

fn fractions(list: &[u32], closed: bool, x: &[Vec3]) -> Vec<f64> {
    let at = lengths(list, closed, x);
    let all = at[at.len() - 1].max(f64::MIN_POSITIVE);
    at.iter().take(list.len()).map(|s| s / all).collect()
}

/// The point at the fraction `s` of the length of an outline.
fn point(list: &[u32], closed: bool, x: &[Vec3], s: f64) -> Vec<(u32, f64)> {
    let at = lengths(list, closed, x);
    let place = s * at[at.len() - 1];
    let i = at.partition_point(|l| *l <= place).clamp(1, at.len() - 1) - 1;
    let w = ((place - at[i]) / (at[i + 1] - at[i]).max(f64::MIN_POSITIVE)).clamp(0.0, 1.0);
    let [first, second] = [list[i], list[(i + 1) % list.len()]];
    // Rounding must not make an edge of what is a vertex.
    match () {
        () if w < 1e-6 => vec![(first, 1.0)],
        () if w > 1.0 - 1e-6 => vec![(second, 1.0)],
        () => vec![(first, 1.0 - w), (second, w)],
    }
}
