//! Contacts of the last step after a change of topology, for warm starts and sides.
//!
//! - A feature that survives keeps its contact under its new name.
//! - Vertices on an analytic shape or level set: impulse per mass is interpolated to the new nodes,
//!   so that the sum stays the same and a load that was in balance with weight still is.
//! - Pairs of mesh features: every pair of their parts gets the normal, which says on which side they
//!   are, and the closest of them the impulse.
//! - An edge or face on an analytic shape that was split: dropped, because its key does not say where
//!   on the feature the contact was. Its ends and midpoint have contacts of their own.

use stiction_bodies::{
    Body, Model, State,
    adapt::{Adaptation, MeshChange},
    obstacle::ObstacleShape,
};
use stiction_contact::{
    ContactKey,
    detect::{DetectConfig, DetectError, Detector, Feature},
};
use stiction_geometry::collide::{edge_edge, point_edge, point_triangle};
use stiction_math::Vec3;

use crate::colliders::{ContactRules, colliders};

/// Contacts of the last step.
pub(crate) struct Carried<'a> {
    /// Their keys.
    pub key: &'a [ContactKey],
    /// Their normals.
    pub normal: &'a [Vec3],
    /// Their impulses [N·s]; what is missing is zero.
    pub r: &'a [Vec3],
}

/// Contacts after a change.
#[derive(Default)]
pub(crate) struct Contacts {
    pub key: Vec<ContactKey>,
    pub normal: Vec<Vec3>,
    pub r: Vec<Vec3>,
}

impl Contacts {
    fn push(&mut self, key: ContactKey, normal: Vec3, r: Vec3) {
        self.key.push(key);
        self.normal.push(normal);
        self.r.push(r);
    }
}

/// The contacts `old` by the names that they have after the change, in the state `after`.
pub(crate) fn carry(
    change: &Adaptation<'_>,
    rules: &ContactRules,
    config: DetectConfig,
    after: &State,
    old: &Carried<'_>,
) -> Result<Contacts, DetectError> {
    let mut out = Contacts::default();
    if old.key.is_empty() {
        return Ok(out);
    }
    let detector = |model| Detector::new(colliders(model, rules), rules.laws.clone(), config);
    let names = [detector(change.before)?, detector(change.after)?];
    let parts = Parts::new(change);
    let mut loads = Vec::new();
    for (c, key) in old.key.iter().enumerate() {
        let (normal, r) = (old.normal[c], old.r.get(c).copied().unwrap_or_default());
        let [first, second] = [key.first, key.second].map(|name| names[0].feature(name));
        let (Some((first, again)), Some((second, _))) = (first, second) else {
            continue;
        };
        match (first, second) {
            (Feature::Vertex { collider, vertex }, Feature::Solid(solid))
                if parts.changes(collider) =>
            {
                loads.push(Load {
                    group: (collider, solid, again),
                    vertex,
                    normal,
                    r,
                });
            }
            (first, Feature::Solid(_)) => {
                if let [same] = parts.of(&first)[..]
                    && let Some(name) = names[1].name(&same, again)
                {
                    let key = ContactKey {
                        first: name,
                        second: key.second,
                    };
                    out.push(key, normal, r);
                }
            }
            (first, second) => {
                let (firsts, seconds) = (parts.of(&first), parts.of(&second));
                let pairs = firsts
                    .iter()
                    .flat_map(|a| seconds.iter().map(move |b| (a, b)));
                let mut best: Option<(f64, usize)> = None;
                for (a, b) in pairs {
                    let (Some(first), Some(second)) =
                        (names[1].name(a, again), names[1].name(b, 0))
                    else {
                        continue;
                    };
                    let apart = distance(
                        &points(change.after, after, a),
                        &points(change.after, after, b),
                    );
                    if best.is_none_or(|(least, _)| apart < least) {
                        best = Some((apart, out.key.len()));
                    }
                    out.push(ContactKey { first, second }, normal, Vec3::zeros());
                }
                if let Some((_, closest)) = best {
                    out.r[closest] = r;
                }
            }
        }
    }
    spread(change, &names[1], loads, &mut out);
    Ok(out)
}

/// A contact of a vertex of a shell that changes with an analytic shape.
struct Load {
    /// The collider, the name of the other side, how often the pair was listed before.
    group: (u32, u64, u64),
    vertex: u32,
    normal: Vec3,
    r: Vec3,
}

/// Distributes loads on old nodes over new ones.
fn spread(change: &Adaptation<'_>, names: &Detector, mut loads: Vec<Load>, out: &mut Contacts) {
    loads.sort_by_key(|l| (l.group, l.vertex));
    for group in loads.chunk_by(|a, b| a.group == b.group) {
        let (collider, solid, again) = group[0].group;
        let body = collider as usize;
        let Some(mesh) = change.change.of_body(body) else {
            continue;
        };
        let (from, to) = (
            change.before.bodies[body].block_masses(),
            change.after.bodies[body].block_masses(),
        );
        let touched = mesh.nodes.transposed(mesh.old_nodes.len());
        let mut new: Vec<(u32, Vec3, Vec3)> = Vec::new();
        for load in group {
            for &(node, w) in touched.row(load.vertex as usize) {
                let density = load.r / from[load.vertex as usize];
                let r = density * (w * to[node as usize]);
                new.push((node, load.normal * w, r));
            }
        }
        new.sort_by_key(|n| n.0);
        for same in new.chunk_by(|a, b| a.0 == b.0) {
            let vertex = same[0].0;
            let Some(first) = names.name(&Feature::Vertex { collider, vertex }, again) else {
                continue;
            };
            let normal: Vec3 = same.iter().map(|n| n.1).sum();
            let key = ContactKey {
                first,
                second: solid,
            };
            out.push(
                key,
                normal.try_normalize(0.0).unwrap_or(normal),
                same.iter().map(|n| n.2).sum(),
            );
        }
    }
}

/// Images of the features of shells.
struct Parts<'a> {
    change: &'a Adaptation<'a>,
    /// Of each body that changes: new nodes on old edges, as (ends of the edge, place along it, node),
    /// sorted.
    on_edges: Vec<(usize, Vec<OnEdge>)>,
}

type OnEdge = ([u32; 2], f64, u32);

impl<'a> Parts<'a> {
    fn new(change: &'a Adaptation<'a>) -> Self {
        let of = |mesh: &MeshChange| {
            let mut list: Vec<OnEdge> = Vec::new();
            for node in 0..mesh.nodes.len() {
                if let [(a, v), (b, w)] = *mesh.nodes.row(node) {
                    let (ends, along) = if a < b { ([a, b], w) } else { ([b, a], v) };
                    list.push((ends, along, node as u32));
                }
            }
            list.sort_by(|a, b| a.0.cmp(&b.0).then(a.1.total_cmp(&b.1)));
            (mesh.body, list)
        };
        Self {
            on_edges: change.change.changes().iter().map(of).collect(),
            change,
        }
    }

    /// Whether a collider is a shell whose mesh changes.
    fn changes(&self, collider: u32) -> bool {
        self.change.change.of_body(collider as usize).is_some()
    }

    /// The features that a feature becomes; itself where nothing changes, none if it is gone.
    fn of(&self, feature: &Feature) -> Vec<Feature> {
        let mesh = |collider: u32| self.change.change.of_body(collider as usize);
        match *feature {
            Feature::Vertex { collider, vertex } => match mesh(collider) {
                None => vec![*feature],
                Some(mesh) => {
                    let same = mesh.old_nodes.same(vertex as usize);
                    let new = same.map(|vertex| Feature::Vertex { collider, vertex });
                    new.into_iter().collect()
                }
            },
            Feature::Edge { collider, ends } => {
                let Some(mesh) = mesh(collider) else {
                    return vec![*feature];
                };
                let [Some(a), Some(b)] = ends.map(|v| mesh.old_nodes.same(v as usize)) else {
                    return Vec::new();
                };
                let list = self.on_edges.iter().find(|l| l.0 == collider as usize);
                let list = list.map_or(&[][..], |l| &l.1);
                let at = list.partition_point(|e| e.0 < ends);
                let own = list[at..].iter().take_while(|e| e.0 == ends);
                let mut chain = vec![a];
                chain.extend(own.map(|e| e.2));
                chain.push(b);
                let part = |w: &[u32]| Feature::Edge {
                    collider,
                    ends: [w[0].min(w[1]), w[0].max(w[1])],
                };
                chain.windows(2).map(part).collect()
            }
            Feature::Triangle { collider, triangle } => match mesh(collider) {
                None => vec![*feature],
                Some(_) => {
                    let children = self
                        .change
                        .change
                        .children(collider as usize, triangle as usize);
                    let new = |triangle| Feature::Triangle { collider, triangle };
                    children.map(new).collect()
                }
            },
            Feature::Solid(_) => vec![*feature],
        }
    }
}

/// Positions of the vertices of a feature [m].
fn points(model: &Model, state: &State, feature: &Feature) -> Vec<Vec3> {
    let bodies = model.bodies.len();
    let body = |collider: u32| model.bodies.get(collider as usize);
    let corners = |collider: u32, triangle: u32| {
        let list = match body(collider) {
            Some(body) => &body.surface.triangles[..],
            None => match &model.obstacles.get(collider as usize - bodies)?.shape {
                ObstacleShape::Solid(_) => return None,
                shape => shape.triangles(),
            },
        };
        list.get(triangle as usize).copied()
    };
    let at = |collider: u32, vertex: u32| match body(collider) {
        Some(body) => vertex_of(body, state, vertex),
        None => {
            let obstacle = model.obstacles.get(collider as usize - bodies)?;
            let local = match &obstacle.shape {
                ObstacleShape::Mesh(mesh) | ObstacleShape::LevelSet(mesh, _) => {
                    *mesh.positions.get(vertex as usize)?
                }
                ObstacleShape::Animated(mesh) if (vertex as usize) < mesh.len() => {
                    mesh.vertex(vertex as usize, state.time)
                }
                ObstacleShape::Animated(_) | ObstacleShape::Solid(_) => return None,
            };
            Some(obstacle.pose(state.time).apply(&local))
        }
    };
    let (collider, vertices): (u32, Vec<u32>) = match *feature {
        Feature::Vertex { collider, vertex } => (collider, vec![vertex]),
        Feature::Edge { collider, ends } => (collider, ends.to_vec()),
        Feature::Triangle { collider, triangle } => {
            let corners = corners(collider, triangle);
            (collider, corners.map(|c| c.to_vec()).unwrap_or_default())
        }
        Feature::Solid(_) => (0, Vec::new()),
    };
    vertices
        .into_iter()
        .filter_map(|v| at(collider, v))
        .collect()
}

fn vertex_of(body: &Body, state: &State, vertex: u32) -> Option<Vec3> {
    let inside = (vertex as usize) < body.surface.len();
    inside.then(|| body.surface.stencil(vertex as usize).position(state))
}

/// The distance of two features [m].
fn distance(first: &[Vec3], second: &[Vec3]) -> f64 {
    match (first, second) {
        ([a], [b]) => (a - b).norm(),
        ([a], [b, c]) => point_edge(a, &[*b, *c]).separation.norm(),
        ([a], [b, c, d]) => point_triangle(a, &[*b, *c, *d]).separation.norm(),
        ([a, b], [c, d]) => edge_edge(&[*a, *b], &[*c, *d]).separation.norm(),
        _ => f64::INFINITY,
    }
}
