//! Contacts: pairs of features closer than a distance, each once.
//!
//! The closest points of a vertex and a face may lie on an edge or a corner of the face, and the
//! same contact is then found from every triangle around. Contacts are therefore reduced to the
//! features that are active, named by their vertices, computed anew from these (so that the bits
//! do not depend on where they came from), and listed once.

use rayon::prelude::*;
use stiction_math::Vec3;

use super::candidates::Candidates;
use super::edge_edge::edge_edge;
use super::normal::{edge_edge_normal, point_edge_normal, point_triangle_normal};
use super::point_edge::{EdgeFeature, point_edge};
use super::point_triangle::{TriangleFeature, point_triangle};
use super::surface::SurfaceError;

/// Which features touch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ContactKind {
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
pub struct Contact {
    /// Which features.
    pub kind: ContactKind,
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

/// All contacts among the candidates whose distance at the positions `x` [m] is at most
/// `distance` [m], each once, sorted by kind, then by vertices or candidate.
///
/// `hint` is asked, by the vertices of the contact, for the side on which the first feature lies
/// where features touch so closely that their distance does not tell; zero if it is not known.
pub fn proximity(
    candidates: &Candidates,
    x: &[Vec3],
    distance: f64,
    hint: impl Fn(ContactKind, &[u32; 4]) -> Vec3 + Sync,
) -> Result<Vec<Contact>, SurfaceError> {
    if !(distance >= 0.0 && distance.is_finite()) {
        return Err(SurfaceError::BadDistance(distance));
    }
    candidates.check(x.len())?;
    let limit = distance * distance;
    let faces = gather(&candidates.vertex_face, |v, out| {
        face(v, x, limit, &hint, out)
    });
    let edges = gather(&candidates.edge_edge, |v, out| {
        edge(v, x, limit, &hint, out)
    });

    let mut points = [faces.points, edges.points].concat();
    points.par_sort_unstable();
    points.dedup();
    let mut sides = [faces.sides, edges.sides].concat();
    sides.par_sort_unstable();
    sides.dedup();

    let mut contacts: Vec<Contact> =
        Vec::with_capacity(points.len() + sides.len() + faces.full.len() + edges.full.len());
    let points = points.par_iter().with_min_len(1024);
    contacts.par_extend(points.map(|[p, q]| vertex_vertex(*p, *q, x, &hint)));
    let sides = sides.par_iter().with_min_len(1024);
    contacts.par_extend(sides.map(|[p, a, b]| vertex_edge(*p, *a, *b, x, &hint)));
    contacts.extend(faces.full);
    contacts.extend(edges.full);
    Ok(contacts)
}

/// Makes the spheres a little larger than rounding could make them too small.
const ROUNDING: f64 = 1.0 + 1e-12;

/// What was found among some candidates: contacts of full kind, and the vertices of those that
/// reduce to an edge or a point.
#[derive(Default)]
struct Found {
    full: Vec<Contact>,
    sides: Vec<[u32; 3]>,
    points: Vec<[u32; 2]>,
}

impl Found {
    fn side(&mut self, p: u32, a: u32, b: u32) {
        self.sides.push([p, a.min(b), a.max(b)]);
    }

    fn point(&mut self, p: u32, q: u32) {
        self.points.push([p.min(q), p.max(q)]);
    }
}

fn gather(list: &[[u32; 4]], one: impl Fn(&[u32; 4], &mut Found) + Sync) -> Found {
    let parts: Vec<Found> = list
        .par_chunks(4096)
        .map(|list| {
            let mut found = Found::default();
            list.iter().for_each(|v| one(v, &mut found));
            found
        })
        .collect();
    let mut all = Found::default();
    for part in parts {
        all.full.extend(part.full);
        all.sides.extend(part.sides);
        all.points.extend(part.points);
    }
    all
}

#[inline]
fn face(
    v: &[u32; 4],
    x: &[Vec3],
    limit: f64,
    hint: &impl Fn(ContactKind, &[u32; 4]) -> Vec3,
    out: &mut Found,
) {
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
            let kind = ContactKind::VertexFace;
            let [wa, wb, wc] = near.weights;
            out.full.push(Contact {
                kind,
                vertices: *v,
                weights: [1.0, -wa, -wb, -wc],
                normal: point_triangle_normal(&near.separation, &corners, &hint(kind, v)),
                gap: near.squared.sqrt(),
            });
        }
    }
}

#[inline]
fn edge(
    v: &[u32; 4],
    x: &[Vec3],
    limit: f64,
    hint: &impl Fn(ContactKind, &[u32; 4]) -> Vec3,
    out: &mut Found,
) {
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
            let kind = ContactKind::EdgeEdge;
            let [wa, wb] = near.weights;
            out.full.push(Contact {
                kind,
                vertices: *v,
                weights: [wa[0], wa[1], -wb[0], -wb[1]],
                normal: edge_edge_normal(&near.separation, &a, &b, &hint(kind, v)),
                gap: near.squared.sqrt(),
            });
        }
    }
}

fn vertex_edge(
    p: u32,
    a: u32,
    b: u32,
    x: &[Vec3],
    hint: &impl Fn(ContactKind, &[u32; 4]) -> Vec3,
) -> Contact {
    let vertices = [p, a, b, b];
    let ends = [x[a as usize], x[b as usize]];
    let near = point_edge(&x[p as usize], &ends);
    let kind = ContactKind::VertexEdge;
    let [wa, wb] = near.weights;
    Contact {
        kind,
        vertices,
        weights: [1.0, -wa, -wb, 0.0],
        normal: point_edge_normal(&near.separation, &ends, &hint(kind, &vertices)),
        gap: near.squared.sqrt(),
    }
}

fn vertex_vertex(
    p: u32,
    q: u32,
    x: &[Vec3],
    hint: &impl Fn(ContactKind, &[u32; 4]) -> Vec3,
) -> Contact {
    let vertices = [p, q, q, q];
    let at = x[q as usize];
    let separation = x[p as usize] - at;
    let kind = ContactKind::VertexVertex;
    Contact {
        kind,
        vertices,
        weights: [1.0, -1.0, 0.0, 0.0],
        normal: point_edge_normal(&separation, &[at, at], &hint(kind, &vertices)),
        gap: separation.norm(),
    }
}
