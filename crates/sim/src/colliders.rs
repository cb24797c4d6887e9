//! Colliders of a model for the detector: surfaces that follow blocks, and kinematic obstacles.

use std::borrow::Cow;

use stiction_bodies::{
    Model, Skin, Stencil,
    obstacle::{Obstacle, ObstacleShape},
};
use stiction_contact::detect::{
    Collider, ColliderBody, ColliderForm, ColliderMesh, Exempt, Laws, Placement, Points,
};
use stiction_geometry::{TriMesh, analytic};

/// Contact rules.
#[derive(Clone, Debug, PartialEq)]
pub struct ContactRules {
    /// Distance between surfaces at which they are in contact [m].
    pub thickness: f64,
    /// Friction, cohesion and compliance between every two materials, in the order of
    /// [`material_names`].
    pub laws: Laws,
}

/// The names that a model's bodies and obstacles have in the friction table, sorted, each once.
pub fn material_names(model: &Model) -> Vec<String> {
    let bodies = model.bodies.iter().map(|b| &b.material);
    let mut names: Vec<String> = bodies
        .chain(model.obstacles.iter().map(|o| &o.material))
        .cloned()
        .collect();
    names.sort();
    names.dedup();
    names
}

/// The names of the colliders, in their order.
pub fn collider_names(model: &Model) -> Vec<String> {
    let bodies = model.bodies.iter().map(|b| &b.name);
    let obstacles = model.obstacles.iter().map(|o| &o.name);
    bodies.chain(obstacles).cloned().collect()
}

/// One collider per body, then one per obstacle; their numbers are their places in this list.
pub fn colliders(model: &Model, rules: &ContactRules) -> Vec<Collider> {
    let names = material_names(model);
    let material = |name: &String| names.binary_search(name).unwrap_or(0) as u32;
    let mut list = Vec::with_capacity(model.bodies.len() + model.obstacles.len());
    for body in &model.bodies {
        let surface = &body.surface;
        let per_step = body.kind.per_step().is_some();
        let (points, rest) = match &surface.skin {
            // Without a grid its points depend on nothing, and touch nothing.
            _ if per_step && body.blocks.is_empty() => (Points::nodes([]), Vec::new()),
            // Every node of rods is a vertex, in order.
            Skin::Nodes(blocks) if !surface.segments.is_empty() => {
                (Points::nodes(blocks.iter().copied()), body.rest().to_vec())
            }
            Skin::Nodes(blocks) => {
                let rest = blocks
                    .iter()
                    .map(|&b| body.rest()[b as usize - body.blocks.start])
                    .collect();
                (Points::nodes(blocks.iter().copied()), rest)
            }
            Skin::Embedded(carried) => {
                let entries = carried
                    .iter()
                    .flat_map(|(b, w)| (0..4).map(|a| (b[a], w[a])));
                let at = |b: u32| body.rest()[b as usize - body.blocks.start];
                let rest = carried
                    .iter()
                    .map(|(b, w)| (0..4).map(|a| at(b[a]) * w[a]).sum())
                    .collect();
                let start = (0..=carried.len() as u32).map(|i| 4 * i).collect();
                (
                    Points::Weighted {
                        start,
                        entries: entries.collect(),
                    },
                    rest,
                )
            }
            Skin::Blended { start, entries } => {
                let at = |&(b, w): &(u32, f64)| body.rest()[b as usize - body.blocks.start] * w;
                let at = |r: &[u32]| entries[r[0] as usize..r[1] as usize].iter().map(at).sum();
                let points = Points::Weighted {
                    start: start.clone(),
                    entries: entries.clone(),
                };
                (points, start.windows(2).map(at).collect())
            }
            Skin::Rigid {
                block,
                rigid,
                local,
            } => (
                Points::Rigid {
                    block: *block,
                    rigid: *rigid,
                    local: local.clone(),
                },
                local.clone(),
            ),
        };
        let rigid = body.kind.mechanics().orientation().is_some();
        list.push(Collider {
            id: list.len() as u32,
            material: material(&body.material),
            // So that particles and rods, too, stay the thickness away from all surfaces.
            thickness: rules.thickness + 2.0 * (body.radius + body.padding),
            form: ColliderForm::Body(ColliderBody {
                triangles: surface.triangles.clone(),
                rods: surface.segments.clone(),
                points,
                rest,
                closed: !body.tets.is_empty() || rigid,
                self_contact: !rigid && !per_step,
                exempt: exempt(body),
            }),
        });
    }
    for obstacle in &model.obstacles {
        list.push(Collider {
            id: list.len() as u32,
            material: material(&obstacle.material),
            // An obstacle has no cloth of its own: bodies keep their distance from its surface.
            thickness: rules.thickness,
            form: form(obstacle),
        });
    }
    list
}

/// The first segments of rods never touch the body in which they are rooted.
fn exempt(body: &stiction_bodies::Body) -> Option<Exempt> {
    let (rooted, rods) = (body.rooted?, body.kind.as_rods()?);
    let first = |w: &[u32]| w[0]..w[1].min(w[0].saturating_add(rooted.bare as u32));
    Some(Exempt {
        collider: rooted.body as u32,
        vertices: rods.starts().windows(2).flat_map(first).collect(),
    })
}

fn form(obstacle: &Obstacle) -> ColliderForm {
    match &obstacle.shape {
        ObstacleShape::Mesh(mesh) => ColliderForm::Mesh(ColliderMesh {
            triangles: mesh.triangles.clone(),
            vertices: mesh.positions.clone(),
            closed: is_closed(mesh),
        }),
        ObstacleShape::Solid(solid) => ColliderForm::Shape(*solid),
        ObstacleShape::LevelSet(_, set) => ColliderForm::LevelSet(set.clone()),
        ObstacleShape::Animated(mesh) => {
            let mut first = TriMesh {
                positions: Vec::new(),
                triangles: mesh.triangles().to_vec(),
            };
            mesh.positions(f64::NEG_INFINITY, &mut first.positions);
            ColliderForm::Mesh(ColliderMesh {
                closed: is_closed(&first),
                triangles: first.triangles,
                vertices: first.positions,
            })
        }
    }
}

fn is_closed(mesh: &TriMesh) -> bool {
    mesh.check_closed().is_ok()
}

/// Vertices that seams sew together, as pairs of collider and vertex.
///
/// Vertices sewn to one another in turn are all at one place. Where a stitch ends on an edge, only its
/// other end is sewn to the ends of that edge.
pub fn sewn(model: &Model) -> Vec<[(u32, u32); 2]> {
    let vertex = |block: u32| {
        let at = model
            .bodies
            .partition_point(|b| b.blocks.end <= block as usize);
        let Skin::Nodes(blocks) = &model.bodies.get(at)?.surface.skin else {
            return None;
        };
        let vertex = blocks.iter().position(|b| *b == block)?;
        Some((at as u32, vertex as u32))
    };
    let ends = |stencil: &Stencil| -> Vec<(u32, u32)> {
        stencil.blocks().into_iter().filter_map(vertex).collect()
    };
    let (mut places, mut pairs): (Vec<Vec<(u32, u32)>>, Vec<_>) = (Vec::new(), Vec::new());
    for spring in model.attachments.iter().filter(|s| s.closing.is_some()) {
        let (a, b) = (ends(&spring.a), ends(&spring.b));
        match (&a[..], &b[..]) {
            (&[a], &[b]) => {
                let mut place = vec![a, b];
                places.retain(|known| {
                    let joined = known.contains(&a) || known.contains(&b);
                    if joined {
                        place.extend(known);
                    }
                    !joined
                });
                places.push(place);
            }
            _ => pairs.extend(a.iter().flat_map(|&a| b.iter().map(move |&b| [a, b]))),
        }
    }
    for place in &places {
        for (i, &a) in place.iter().enumerate() {
            pairs.extend(place[..i].iter().filter(|b| **b != a).map(|&b| [a, b]));
        }
    }
    pairs.sort_unstable();
    pairs.dedup();
    pairs
}

/// Placement of every obstacle at the two times [s], into `out` (cleared first).
pub fn place(model: &Model, from: f64, to: f64, out: &mut Vec<Placement<'static>>) {
    out.clear();
    out.extend(model.obstacles.iter().map(|o| match o.shape {
        ObstacleShape::Animated(_) => Placement::Vertices([from, to].map(|t| {
            let mut vertices = Vec::new();
            o.vertices(t, &mut vertices);
            Cow::Owned(vertices)
        })),
        _ => Placement::Poses([o.pose(from), o.pose(to)]),
    }));
}

/// The pose type is shared with the detector.
const _: fn(&Obstacle, f64) -> analytic::Pose = Obstacle::pose;
