//! Data that `smooth` carries from step to step, after a change of topology.

use stiction_bodies::{
    Model,
    adapt::Adaptation,
    obstacle::{Obstacle, ObstacleShape},
};
use stiction_contact::smooth::Rest;
use stiction_math::Vec3;

use crate::implicit::IntegratorHistory;

/// The start and the end of the last step on the new mesh. Positions are interpolated as those of
/// the state are, so that the next step still follows this one, and momenta are those of the
/// transferred velocities.
pub(super) fn history(change: &Adaptation<'_>, history: &mut IntegratorHistory) {
    let n = change.before.blocks();
    let before = &mut history.before;
    if [&before.shift, &before.p, &history.end]
        .iter()
        .any(|c| c.len() != n)
    {
        // There was no step yet.
        return;
    }
    let start: Vec<Vec3> = history
        .end
        .iter()
        .zip(&before.shift)
        .map(|(x, d)| x + d)
        .collect();
    before.p = change.momenta(&start, &before.p);
    before.shift = change.interpolated(&before.shift);
    history.end = change.interpolated(&history.end);
}

/// Contacts by the new numbers of vertices, of bodies that have not changed. Contacts of a body that has
/// are new: they have no force until they are pressed farther.
pub(super) fn rests(change: &Adaptation<'_>, rests: &[Rest]) -> Vec<Rest> {
    let keys = renumbered(change);
    let rest = |r: &Rest| keys(r.key).map(|key| Rest { key, ..*r });
    rests.iter().filter_map(rest).collect()
}

/// The new names of pairs of a vertex and a surface; none where either body has changed.
pub(crate) fn renumbered(change: &Adaptation<'_>) -> impl Fn([u32; 2]) -> Option<[u32; 2]> {
    let (from, to) = (first(change.before), first(change.after));
    let bodies = change.before.bodies.len();
    let vertices = from[bodies] + obstacle_vertices(change.before);
    // Further pieces of surfaces come after the colliders, and are numbered anew.
    let surfaces = bodies + change.before.obstacles.len();
    let changed: Vec<bool> = (0..bodies)
        .map(|b| change.change.of_body(b).is_some())
        .collect();
    move |[vertex, surface]| {
        let b = owner(&from, vertex);
        let is_changed = |body: usize| changed.get(body).copied().unwrap_or(false);
        let whole = (surface as usize) < surfaces;
        let same = vertex < vertices && whole && !is_changed(b) && !is_changed(surface as usize);
        same.then(|| [vertex - from[b] + to[b], surface])
    }
}

/// The first vertex of each body, and the number of all at the end.
fn first(model: &Model) -> Vec<u32> {
    let mut next = 0;
    let mut first = Vec::with_capacity(model.bodies.len() + 1);
    for body in &model.bodies {
        first.push(next);
        next += body.surface.len() as u32;
    }
    first.push(next);
    first
}

/// The body of a vertex; obstacles come after all bodies.
fn owner(first: &[u32], vertex: u32) -> usize {
    first.partition_point(|f| *f <= vertex) - 1
}

/// The number of vertices of all obstacles. Points on edges and faces come after these, and are known
/// anew after a change.
fn obstacle_vertices(model: &Model) -> u32 {
    let count = |o: &Obstacle| match &o.shape {
        ObstacleShape::Mesh(mesh) => mesh.positions.len() as u32,
        _ => 0,
    };
    model.obstacles.iter().map(count).sum()
}

/// Sides of sheets by the new numbers of vertices. A new node is on the side of the nodes that it is
/// made of, where they agree.
pub(super) fn sides(change: &Adaptation<'_>, sides: &[([u32; 2], f64)]) -> Vec<([u32; 2], f64)> {
    let (from, to) = (first(change.before), first(change.after));
    let bodies = change.before.bodies.len();
    let vertices = from[bodies] + obstacle_vertices(change.before);
    let owner = |vertex: u32| owner(&from, vertex);
    let mut out = Vec::with_capacity(sides.len());
    for &([vertex, surface], side) in sides {
        let b = owner(vertex);
        let same = b == bodies || change.change.of_body(b).is_none();
        let whole = (surface as usize) < bodies + change.before.obstacles.len();
        if vertex < vertices && whole && same {
            out.push(([vertex - from[b] + to[b], surface], side));
        }
    }
    for mesh in change.change.changes() {
        let b = mesh.body;
        let own = |s: &&([u32; 2], f64)| owner(s.0[0]) == b;
        let mut old: Vec<([u32; 2], f64)> = sides.iter().filter(own).copied().collect();
        // By surface, then by vertex.
        old.sort_by_key(|s| [s.0[1], s.0[0]]);
        for same in old.chunk_by(|a, b| a.0[1] == b.0[1]) {
            let surface = same[0].0[1];
            let side = |node: u32| {
                let at = same.binary_search_by_key(&(from[b] + node), |s| s.0[0]);
                at.ok().map(|i| same[i].1)
            };
            for node in 0..mesh.nodes.len() {
                let row = mesh.nodes.row(node).iter().map(|e| side(e.0));
                let known: Option<Vec<f64>> = row.collect();
                if let Some([one, more @ ..]) = known.as_deref()
                    && more.iter().all(|s| s == one)
                {
                    out.push(([to[b] + node as u32, surface], *one));
                }
            }
        }
    }
    out.sort_by_key(|s| s.0);
    out
}
