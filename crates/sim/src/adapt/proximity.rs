//! Surfaces near a shell: tangent planes for its sizing, and a guard for its operations.
//!
//! # Deviations from the paper [li2018, Sect. 5.1]
//! - The nearest point is taken per analytic obstacle and over all meshes and bodies together, so that a
//!   floor does not hide the edge of a box.
//! - Nearest points of edges and faces are found by alternating projections from their middle, which
//!   converge for convex obstacles and otherwise give a point that is locally nearest.
//! - An analytic box has the planes of all faces that meet at the nearest point; of other analytic
//!   shapes the plane at the nearest point alone is taken.

use stiction_bodies::{
    Model, State,
    obstacle::{ObstacleShape, Solid},
};
use stiction_geometry::{
    Aabb, Adjacency, TriMesh,
    analytic::Solid as Field,
    closest_point_on_triangle,
    collide::{TriangleFeature, edge_edge, point_edge, point_triangle},
    remesh::{Guard, Replacement, SheetMotion, TangentPlane, TriangleTree},
};
use stiction_math::{Quat, Vec3, parallel};

/// World distance over material distance below which two points of a shell are near each other by
/// contact [li2018, Sect. 5.1].
const SELF_RATIO: f64 = 0.1;
/// Height of an operation, as a fraction of the contact thickness, that cannot close a gap.
const SLACK: f64 = 0.05;
/// Alternating projections from the middle of an edge or face.
const PROJECTIONS: usize = 3;

/// An analytic obstacle or level set in its place.
struct Placed {
    field: Field,
    rotation: Quat,
    translation: Vec3,
}

/// Everything that a shell may be near to at one time.
pub(super) struct Surroundings<'a> {
    model: &'a Model,
    solids: Vec<Placed>,
    mesh: TriMesh,
    around: Adjacency,
    tree: TriangleTree,
    /// First triangle and first vertex of each body's surface in `mesh`; those of obstacles follow.
    first: Vec<[u32; 2]>,
    thickness: f64,
    /// Distance within which surfaces count [m].
    reach: f64,
}

/// A nearest point.
struct Found {
    point: Vec3,
    planes: Vec<TangentPlane>,
}

impl<'a> Surroundings<'a> {
    pub fn new(model: &'a Model, state: &State, thickness: f64, reach: f64) -> Self {
        let mut mesh = TriMesh::default();
        let mut first = Vec::with_capacity(model.bodies.len() + 1);
        let append = |mesh: &mut TriMesh, x: &[Vec3], triangles: &[[u32; 3]]| {
            let base = mesh.positions.len() as u32;
            mesh.positions.extend_from_slice(x);
            let moved = triangles.iter().map(|t| t.map(|i| i + base));
            mesh.triangles.extend(moved);
        };
        let mut x = Vec::new();
        for body in &model.bodies {
            first.push([mesh.triangles.len() as u32, mesh.positions.len() as u32]);
            body.surface.positions(&state.x, &state.rotations, &mut x);
            append(&mut mesh, &x, &body.surface.triangles);
        }
        first.push([mesh.triangles.len() as u32, mesh.positions.len() as u32]);
        let mut solids = Vec::new();
        for obstacle in &model.obstacles {
            let pose = obstacle.pose(state.time);
            match &obstacle.shape {
                shape @ (ObstacleShape::Mesh(_) | ObstacleShape::Animated(_)) => {
                    obstacle.vertices(state.time, &mut x);
                    append(&mut mesh, &x, shape.triangles());
                }
                ObstacleShape::Solid(shape) => solids.push(Placed {
                    field: Field::Shape(*shape),
                    rotation: pose.rotation,
                    translation: pose.translation,
                }),
                ObstacleShape::LevelSet(_, set) => solids.push(Placed {
                    field: Field::LevelSet(set.clone()),
                    rotation: pose.rotation,
                    translation: pose.translation,
                }),
            }
        }
        let corners = (0..mesh.triangles.len()).map(|t| mesh.corners(t));
        Self {
            model,
            solids,
            around: mesh.vertex_triangles(),
            tree: TriangleTree::new(corners.collect()),
            mesh,
            first,
            thickness,
            reach,
        }
    }

    /// Whether triangle `t` is one of `body`.
    fn is_of(&self, t: u32, body: usize) -> bool {
        (self.first[body][0]..self.first[body + 1][0]).contains(&t)
    }

    /// Rest position of a point of a triangle of `body` [m].
    fn rest_of(&self, t: u32, body: usize, weights: &[f64; 3]) -> Vec3 {
        let rest = self.model.bodies[body].rest();
        let corners = self.mesh.triangles[t as usize].map(|v| v - self.first[body][1]);
        let terms = corners.iter().zip(weights);
        terms.map(|(v, w)| rest[*v as usize] * *w).sum()
    }

    /// The tangent planes near each triangle of a shell [li2018, Fig. 4 right].
    pub fn planes(&self, body: usize, shell: &SheetMotion<'_>) -> Vec<Vec<TangentPlane>> {
        let feature = |corners: &[u32]| {
            let x: Vec<Vec3> = corners.iter().map(|v| shell.x[*v as usize]).collect();
            let rest: Vec<Vec3> = corners.iter().map(|v| shell.rest[*v as usize]).collect();
            self.near(body, &x, &rest)
        };
        let vertices = parallel::map(shell.x.len(), 16, |v| feature(&[v as u32]));
        let mesh = TriMesh {
            positions: Vec::new(),
            triangles: shell.triangles.to_vec(),
        };
        let edges = mesh.edges();
        let on_edges = parallel::map(edges.len(), 16, |e| feature(&edges[e]));
        let gather = |t: &[u32; 3]| {
            let mut all = feature(t);
            for k in 0..3 {
                let (a, b) = (t[k], t[(k + 1) % 3]);
                all.extend_from_slice(&vertices[a as usize]);
                if let Ok(e) = edges.binary_search(&[a.min(b), a.max(b)]) {
                    all.extend_from_slice(&on_edges[e]);
                }
            }
            // A plane that several features are near to counts once.
            let mut kept: Vec<TangentPlane> = Vec::with_capacity(all.len());
            for plane in all {
                if !kept.contains(&plane) {
                    kept.push(plane);
                }
            }
            kept
        };
        let triangles = shell.triangles;
        parallel::map(triangles.len(), 16, |t| gather(&triangles[t]))
    }

    /// The planes at the nearest points to a vertex, edge or face of a shell.
    fn near(&self, body: usize, x: &[Vec3], rest: &[Vec3]) -> Vec<TangentPlane> {
        let share = 1.0 / x.len() as f64;
        let middle: Vec<f64> = vec![share; x.len()];
        let blend =
            |of: &[Vec3], w: &[f64]| -> Vec3 { of.iter().zip(w).map(|(p, w)| p * *w).sum() };
        let rounds = if x.len() == 1 { 1 } else { PROJECTIONS };
        let mut planes = Vec::new();
        for source in 0..=self.solids.len() {
            let mut weights = middle.clone();
            let mut found = None;
            for _ in 0..rounds {
                let at = blend(x, &weights);
                found = match self.solids.get(source) {
                    Some(solid) => self.on_solid(solid, &at),
                    None => self.on_mesh(body, &at, &blend(rest, &weights)),
                };
                let Some(Found { point, .. }) = &found else {
                    break;
                };
                weights = closest(x, point);
            }
            planes.extend(found.into_iter().flat_map(|f| f.planes));
        }
        planes
    }

    fn on_solid(&self, solid: &Placed, x: &Vec3) -> Option<Found> {
        let local = solid.rotation.inverse() * (x - solid.translation);
        let near = solid.field.nearest(&local);
        let within = near.distance <= self.reach;
        if !within {
            return None;
        }
        let out = |p: &Vec3| solid.rotation * p + solid.translation;
        let plane = |normal: &Vec3, point: &Vec3| {
            let (normal, point) = (solid.rotation * normal, out(point));
            TangentPlane {
                normal,
                offset: normal.dot(&point),
            }
        };
        let mut planes = Vec::new();
        if let Field::Shape(Solid::Box { half }) = &solid.field {
            for k in 0..3 {
                // A face that the point lies on, or the end of the one that it is beyond.
                if near.point[k].abs() >= half[k] * (1.0 - 1e-9) {
                    let mut normal = Vec3::zeros();
                    normal[k] = 1.0_f64.copysign(near.point[k]);
                    // The same bits for every point of the face.
                    let foot = normal * half[k];
                    planes.push(plane(&normal, &foot));
                }
            }
        }
        if planes.is_empty() {
            planes.push(plane(&near.normal, &near.point));
        }
        Some(Found {
            point: out(&near.point),
            planes,
        })
    }

    /// The nearest point on bodies and mesh obstacles that the shell may touch.
    fn on_mesh(&self, body: usize, x: &Vec3, rest: &Vec3) -> Option<Found> {
        // Points closer than the thickness along the shell are one place: at no distance the ratio
        // would be rounding over rounding.
        let apart = |t: u32, weights: &[f64; 3], distance: f64| {
            if !self.is_of(t, body) {
                return true;
            }
            let material = (self.rest_of(t, body, weights) - rest).norm();
            material > self.thickness && distance < SELF_RATIO * material
        };
        let near = self
            .tree
            .nearest(x, self.reach, |t, p| apart(t, &p.weights, p.squared.sqrt()))?;
        let corners = self.mesh.triangles[near.triangle as usize];
        let faces: Vec<u32> = match near.point.feature {
            TriangleFeature::Face => vec![near.triangle],
            TriangleFeature::Edge(k) => {
                let ends = [corners[k as usize], corners[(k as usize + 1) % 3]];
                let around = self.around.of(ends[0] as usize).iter();
                let both = |t: &&u32| self.mesh.triangles[**t as usize].contains(&ends[1]);
                around.filter(both).copied().collect()
            }
            TriangleFeature::Vertex(k) => self.around.of(corners[k as usize] as usize).to_vec(),
        };
        let plane = |t: u32| {
            let normal = self.mesh.area_vector(t as usize).try_normalize(0.0)?;
            let offset = normal.dot(&self.mesh.corners(t as usize)[0]);
            Some(TangentPlane { normal, offset })
        };
        Some(Found {
            point: x - near.point.separation,
            planes: faces.into_iter().filter_map(plane).collect(),
        })
    }

    /// A judge of operations on a shell.
    pub fn guard(&self, body: usize) -> NearbyGuard<'_> {
        NearbyGuard { around: self, body }
    }
}

/// Weights of the point of a vertex, edge or face that is closest to `p`.
fn closest(x: &[Vec3], p: &Vec3) -> Vec<f64> {
    match x {
        [a, b] => point_edge(p, &[*a, *b]).weights.to_vec(),
        [a, b, c] => closest_point_on_triangle(p, &[*a, *b, *c]).to_vec(),
        _ => vec![1.0],
    }
}

/// Refuses operations that bring a shell closer to other surfaces than the contact thickness, or closer
/// than it was.
pub(super) struct NearbyGuard<'a> {
    around: &'a Surroundings<'a>,
    body: usize,
}

impl Guard for NearbyGuard<'_> {
    fn allows(&self, change: &Replacement<'_>) -> bool {
        let (rest, [old, new]) = (change.rest[0], change.world);
        let around = self.around;
        let thickness = around.thickness;
        let facing: Vec3 = old.iter().map(|[a, b, c]| (b - a).cross(&(c - a))).sum();
        let Some(up) = facing.try_normalize(0.0) else {
            return false;
        };
        let heights = old.as_flattened().iter().map(|p| up.dot(p));
        let (low, high) = heights.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), h| {
            (low.min(h), high.max(h))
        });
        if high - low <= SLACK * thickness {
            return true;
        }
        // As close as before is allowed, up to rounding.
        let bound = |before: f64| before.min(thickness) - 1e-9 * thickness;
        let mut solids = around.solids.iter();
        let apart = solids.all(|solid| depth(solid, new) >= bound(depth(solid, old)));
        if !apart {
            return false;
        }
        let Some(mut bounds) = Aabb::of(old.as_flattened()) else {
            return false;
        };
        bounds.min -= Vec3::repeat(thickness);
        bounds.max += Vec3::repeat(thickness);
        let Some(material) = Aabb::of(rest.as_flattened()) else {
            return false;
        };
        let reach = thickness + (high - low);
        around.tree.all_in(&bounds, |t| {
            if around.is_of(t, self.body) {
                // Parts of the shell that hang together with these triangles are no other surface.
                let own = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]
                    .map(|w| around.rest_of(t, self.body, &w));
                let apart = own.iter().map(|p| material.squared_distance(p));
                let apart = apart.fold(f64::INFINITY, f64::min).sqrt();
                if reach >= SELF_RATIO * apart {
                    return true;
                }
            }
            let other = around.tree.corners(t);
            let gap = |list: &[[Vec3; 3]]| {
                let each = list.iter().map(|own| gap(own, other));
                each.fold(f64::INFINITY, f64::min)
            };
            gap(new) >= bound(gap(old))
        })
    }
}

/// The least signed distance of edges and centres of triangles to a solid [m].
fn depth(solid: &Placed, list: &[[Vec3; 3]]) -> f64 {
    let local = |p: &Vec3| solid.rotation.inverse() * (p - solid.translation);
    let mut least = f64::INFINITY;
    for corners in list {
        let x = corners.map(|p| local(&p));
        for k in 0..3 {
            let minimum = solid.field.edge_minimum(&[x[k], x[(k + 1) % 3]]);
            least = least.min(minimum.nearest.distance);
        }
        let centre = (x[0] + x[1] + x[2]) / 3.0;
        least = least.min(solid.field.nearest(&centre).distance);
    }
    least
}

/// The distance of two triangles that do not cross [m].
fn gap(a: &[Vec3; 3], b: &[Vec3; 3]) -> f64 {
    let corners = |p: &[Vec3; 3], q: &[Vec3; 3]| {
        let each = p.iter().map(|x| point_triangle(x, q).squared);
        each.fold(f64::INFINITY, f64::min)
    };
    let mut least = corners(a, b).min(corners(b, a));
    for i in 0..3 {
        for j in 0..3 {
            let edges = edge_edge(&[a[i], a[(i + 1) % 3]], &[b[j], b[(j + 1) % 3]]);
            least = least.min(edges.squared);
        }
    }
    least.sqrt()
}
