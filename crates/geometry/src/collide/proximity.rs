//! Contacts: pairs of features closer than a distance, each once.
//!
//! The closest points of a vertex and a face may lie on an edge or a corner of the face, and the
//! same contact is then found from every triangle around. Contacts are therefore reduced to the
//! features that are active, named by their vertices, computed anew from these (so that the bits
//! do not depend on where they came from), and listed once.

use stiction_math::{Vec3, parallel};

use super::bvh::ordered;
use super::candidates::{Candidate, Candidates, Met, edges_within, vertex_and_face};
use super::edge_edge::edge_edge;
use super::normal::{edge_edge_normal, point_edge_normal, point_triangle_normal};
use super::point_edge::{EdgeFeature, point_edge};
use super::point_triangle::{TriangleFeature, point_triangle};
use super::surface::{CollisionSurface, SurfaceError, SweptSurface};

/// Which features touch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ProximityKind {
    /// Two vertices [p, q], p < q.
    VertexVertex,
    /// A vertex and an edge [p, a, b], a < b.
    VertexEdge,
    /// A vertex and a face [p, a, b, c], corners in the order of the triangle.
    VertexFace,
    /// Two edges [a₀, a₁, b₀, b₁].
    EdgeEdge,
}

/// A pair of features within the distance. Kind and vertices name it for good.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ProximityPair {
    /// Which features.
    pub kind: ProximityKind,
    /// Their vertices, first feature first; unused places repeat the last vertex.
    pub vertices: [u32; 4],
    /// Σ weights·positions is the vector from the closest point of the second feature to that
    /// of the first: positive on the first feature, negative on the second, zero if unused.
    pub weights: [f64; 4],
    /// Unit vector from the second feature to the first.
    pub normal: Vec3,
    /// The distance [m].
    pub gap: f64,
}

/// All contacts among the candidates of a surface whose distance at the positions `x` [m] is at most
/// `distance` [m], each once, sorted by kind, then by vertices or candidate.
///
/// `hint` is asked, by the vertices of the contact, for the side on which the first feature lies
/// where features touch so closely that their distance does not tell; zero if it is not known.
pub fn proximity(
    candidates: &Candidates,
    surface: &CollisionSurface,
    x: &[Vec3],
    distance: f64,
    hint: impl Fn(ProximityKind, &[u32; 4]) -> Vec3 + Sync,
) -> Result<Vec<ProximityPair>, SurfaceError> {
    proximity_as(candidates, surface, x, distance, hint, Some)
}

/// Collects `make` of every contact, in the same order: the contacts themselves are not stored.
pub fn proximity_as<T: Send>(
    candidates: &Candidates,
    surface: &CollisionSurface,
    x: &[Vec3],
    distance: f64,
    hint: impl Fn(ProximityKind, &[u32; 4]) -> Vec3 + Sync,
    make: impl Fn(ProximityPair) -> Option<T> + Sync,
) -> Result<Vec<T>, SurfaceError> {
    check_distance(distance)?;
    candidates.check(surface, x.len())?;
    let near = Near {
        x,
        limit: distance * distance,
        hint: &hint,
        make: &make,
    };
    let mut found = gather(&candidates.vertex_face, |v, out| near.face(v, out));
    let edges = |e: &[u32; 2], out: &mut Found<T>| near.edge(&surface.ends(*e), out);
    found.extend(gather(&candidates.edge_edge, edges));
    let mut all = near.reduced(found.points, found.sides);
    all.extend(found.full);
    Ok(all)
}

/// The contacts that [`proximity()`] finds among all candidates within one surface that the filter
/// keeps, without storing the candidates: memory grows with the contacts alone.
///
/// The boxes of `s` must have a margin of at least `distance` at the positions `x`.
pub fn proximity_within(
    s: &SweptSurface,
    x: &[Vec3],
    distance: f64,
    keep: impl Fn(Candidate) -> bool + Sync,
    hint: impl Fn(ProximityKind, &[u32; 4]) -> Vec3 + Sync,
) -> Result<Vec<ProximityPair>, SurfaceError> {
    proximity_within_as(s, x, distance, keep, hint, Some)
}

/// Collects `make` of every contact, in the same order: the contacts themselves are not stored.
pub fn proximity_within_as<T: Clone + Send + Sync>(
    s: &SweptSurface,
    x: &[Vec3],
    distance: f64,
    keep: impl Fn(Candidate) -> bool + Sync,
    hint: impl Fn(ProximityKind, &[u32; 4]) -> Vec3 + Sync,
    make: impl Fn(ProximityPair) -> Option<T> + Sync,
) -> Result<Vec<T>, SurfaceError> {
    check_distance(distance)?;
    s.surface.check(x.len())?;
    let near = Near {
        x,
        limit: distance * distance,
        hint: &hint,
        make: &make,
    };
    let faces = s.face_tasks_with(
        s,
        |place, slot| vertex_and_face(s, s, &keep, place, slot),
        |met| Task::new(met, |v, out| near.face(v, out)),
    );
    let edges = s.edge_tasks(
        |a, b| edges_within(s, &keep, a, b),
        |met| Task::new(met, |v, out| near.edge(v, out)),
    );
    let all = || faces.iter().chain(&edges);
    let sides = all().flat_map(|t| &t.found.sides).copied().collect();
    let points = all().flat_map(|t| &t.found.points).copied().collect();
    let mut found = near.reduced(points, sides);
    append_in_order(faces, s.surface.vertex_range(), &mut found);
    append_in_order(edges, s.surface.edges().len(), &mut found);
    Ok(found)
}

/// Result of the pairs of one task.
struct Task<T> {
    found: Found<T>,
    /// The place in the list of each full contact.
    keys: Vec<[u32; 2]>,
}

impl<T> Task<T> {
    fn new(met: &[Met], one: impl Fn(&[u32; 4], &mut Found<T>)) -> Self {
        let mut found = Found::default();
        let mut keys = Vec::new();
        for m in met {
            one(&m.vertices, &mut found);
            if found.full.len() > keys.len() {
                keys.push(m.key);
            }
        }
        // The pairs around an edge or vertex are mostly met in the same task.
        found.sides.sort_unstable();
        found.sides.dedup();
        found.points.sort_unstable();
        found.points.dedup();
        Task { found, keys }
    }
}

/// Appends the full contacts of all tasks in the order of their keys, the first of which is below
/// `count`.
fn append_in_order<T: Clone + Send + Sync>(tasks: Vec<Task<T>>, count: usize, all: &mut Vec<T>) {
    let place = |task: usize, keys: &[[u32; 2]]| {
        let numbered = keys.iter().enumerate();
        numbered
            .map(|(i, key)| (*key, [task as u32, i as u32]))
            .collect()
    };
    let places = tasks
        .iter()
        .enumerate()
        .map(|(t, task)| place(t, &task.keys));
    let places = ordered(places.collect(), count, |(key, _)| *key);
    all.extend(parallel::map(places.len(), 1024, |place| {
        let (_, [t, i]) = places[place];
        tasks[t as usize].found.full[i as usize].clone()
    }));
}

fn check_distance(distance: f64) -> Result<(), SurfaceError> {
    if distance >= 0.0 && distance.is_finite() {
        return Ok(());
    }
    Err(SurfaceError::BadDistance(distance))
}

/// Makes the spheres a little larger than rounding could make them too small.
const ROUNDING: f64 = 1.0 + 1e-12;

/// Results of some candidates: contacts of full kind, and the vertices of those that reduce to an
/// edge or a point.
struct Found<T> {
    full: Vec<T>,
    sides: Vec<[u32; 3]>,
    points: Vec<[u32; 2]>,
}

impl<T> Default for Found<T> {
    fn default() -> Self {
        Self {
            full: Vec::new(),
            sides: Vec::new(),
            points: Vec::new(),
        }
    }
}

impl<T> Found<T> {
    fn extend(&mut self, other: Self) {
        self.full.extend(other.full);
        self.sides.extend(other.sides);
        self.points.extend(other.points);
    }

    fn side(&mut self, p: u32, a: u32, b: u32) {
        self.sides.push([p, a.min(b), a.max(b)]);
    }

    fn point(&mut self, p: u32, q: u32) {
        self.points.push([p.min(q), p.max(q)]);
    }
}

/// Candidates per batch, after which results are combined, so that memory for both is short.
const SLAB: usize = 1 << 18;

fn gather<P: Sync, T: Send>(list: &[P], one: impl Fn(&P, &mut Found<T>) + Sync) -> Found<T> {
    let mut all = Found::default();
    for slab in list.chunks(SLAB) {
        let parts = parallel::map_ranges(slab.len(), 4096, |range| {
            let mut found = Found::default();
            slab[range].iter().for_each(|v| one(v, &mut found));
            found
        });
        parts.into_iter().for_each(|part| all.extend(part));
    }
    all
}

/// The narrow phase.
struct Near<'a, H, M> {
    x: &'a [Vec3],
    /// The distance squared [m²].
    limit: f64,
    hint: &'a H,
    make: &'a M,
}

impl<H, M, T> Near<'_, H, M>
where
    H: Fn(ProximityKind, &[u32; 4]) -> Vec3 + Sync,
    M: Fn(ProximityPair) -> Option<T> + Sync,
    T: Send,
{
    /// The contacts of two vertices and of a vertex and an edge, each once.
    fn reduced(&self, mut points: Vec<[u32; 2]>, mut sides: Vec<[u32; 3]>) -> Vec<T> {
        points.sort_unstable();
        points.dedup();
        sides.sort_unstable();
        sides.dedup();
        let mut found = gather(&points, |[p, q], out| {
            out.full.extend((self.make)(self.vertex_vertex(*p, *q)));
        });
        found.extend(gather(&sides, |[p, a, b], out| {
            out.full.extend((self.make)(self.vertex_edge(*p, *a, *b)));
        }));
        found.full
    }

    #[inline]
    fn face(&self, v: &[u32; 4], out: &mut Found<T>) {
        let (x, limit, hint) = (self.x, self.limit, self.hint);
        let [p, a, b, c] = v.map(|v| x[v as usize]);
        // A sphere around the first corner that contains the triangle.
        let apart = p - a;
        let longest = (b - a).norm_squared().max((c - a).norm_squared());
        let reach = (longest.sqrt() + limit.sqrt()) * ROUNDING;
        if apart.norm_squared() > reach * reach {
            return;
        }
        let corners = [a, b, c];
        let near = point_triangle(&p, &corners);
        if near.squared > limit {
            return;
        }
        match near.feature {
            TriangleFeature::Vertex(k) => out.point(v[0], v[1 + k as usize]),
            TriangleFeature::Edge(k) => {
                let k = k as usize;
                out.side(v[0], v[1 + k], v[1 + (k + 1) % 3]);
            }
            TriangleFeature::Face => {
                let kind = ProximityKind::VertexFace;
                let [wa, wb, wc] = near.weights;
                out.full.extend((self.make)(ProximityPair {
                    kind,
                    vertices: *v,
                    weights: [1.0, -wa, -wb, -wc],
                    normal: point_triangle_normal(&near.separation, &corners, &hint(kind, v)),
                    gap: near.squared.sqrt(),
                }));
            }
        }
    }

    #[inline]
    fn edge(&self, v: &[u32; 4], out: &mut Found<T>) {
        let (x, limit, hint) = (self.x, self.limit, self.hint);
        let [a0, a1, b0, b1] = v.map(|v| x[v as usize]);
        // Spheres around the edges, twice their size, reject most pairs cheaply.
        let apart = (a0 - b0) + (a1 - b1);
        let reach = ((a1 - a0).norm() + (b1 - b0).norm() + 2.0 * limit.sqrt()) * ROUNDING;
        if apart.norm_squared() > reach * reach {
            return;
        }
        let (a, b) = ([a0, a1], [b0, b1]);
        let near = edge_edge(&a, &b);
        if near.squared > limit {
            return;
        }
        use EdgeFeature::{End, Interior};
        match (near.feature.0, near.feature.1) {
            (End(i), End(j)) => out.point(v[i as usize], v[2 + j as usize]),
            (End(i), Interior) => out.side(v[i as usize], v[2], v[3]),
            (Interior, End(j)) => out.side(v[2 + j as usize], v[0], v[1]),
            (Interior, Interior) => {
                let kind = ProximityKind::EdgeEdge;
                let [wa, wb] = near.weights;
                out.full.extend((self.make)(ProximityPair {
                    kind,
                    vertices: *v,
                    weights: [wa[0], wa[1], -wb[0], -wb[1]],
                    normal: edge_edge_normal(&near.separation, &a, &b, &hint(kind, v)),
                    gap: near.squared.sqrt(),
                }));
            }
        }
    }

    fn vertex_edge(&self, p: u32, a: u32, b: u32) -> ProximityPair {
        let (x, hint) = (self.x, self.hint);
        let vertices = [p, a, b, b];
        let ends = [x[a as usize], x[b as usize]];
        let near = point_edge(&x[p as usize], &ends);
        let kind = ProximityKind::VertexEdge;
        let [wa, wb] = near.weights;
        ProximityPair {
            kind,
            vertices,
            weights: [1.0, -wa, -wb, 0.0],
            normal: point_edge_normal(&near.separation, &ends, &hint(kind, &vertices)),
            gap: near.squared.sqrt(),
        }
    }

    fn vertex_vertex(&self, p: u32, q: u32) -> ProximityPair {
        let (x, hint) = (self.x, self.hint);
        let vertices = [p, q, q, q];
        let at = x[q as usize];
        let separation = x[p as usize] - at;
        let kind = ProximityKind::VertexVertex;
        ProximityPair {
            kind,
            vertices,
            weights: [1.0, -1.0, 0.0, 0.0],
            normal: point_edge_normal(&separation, &[at, at], &hint(kind, &vertices)),
            gap: separation.norm(),
        }
    }
}
