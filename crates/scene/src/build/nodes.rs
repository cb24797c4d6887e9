//! Which nodes of a body a selection holds.

use stiction_bodies::material::ShellMaterial;
use stiction_geometry::{Aabb, TriMesh, select};
use stiction_math::Vec3;
use stiction_meshio::VertexGroup;

use crate::{
    format::{At, ProblemKind, Reporter},
    read::{
        body::BodyPlan,
        pin::{Filter, Filters},
    },
};

/// The nodes of a body, to be selected from.
pub(super) struct Nodes<'a> {
    pub body: &'a str,
    /// Initial positions [m].
    pub positions: &'a [Vec3],
    pub groups: &'a [VertexGroup],
    /// The first nodes of its rods and the number of nodes, if it is made of rods.
    pub rods: Option<&'a [u32]>,
    pub boundary: &'a dyn Fn() -> Vec<u32>,
}

impl Nodes<'_> {
    /// Those that fulfil all conditions, in order.
    pub fn selected(&self, reporter: &Reporter, filters: &At<Filters>) -> Option<Vec<u32>> {
        let Self {
            body, positions, ..
        } = self;
        let bounds = Aabb::of(positions)?;
        let slack = 1e-9 * (bounds.max - bounds.min).norm();
        let mut nodes: Vec<u32> = (0..positions.len() as u32).collect();
        for filter in &filters.value.0 {
            let chosen = match filter {
                Filter::Region(region) => {
                    let found = select(positions, &region.widened(slack), self.boundary);
                    let found = found.map_err(|error| format!("body `{body}`: {error}"));
                    reporter.ok(ProblemKind::Value, filters.place, found)?
                }
                Filter::Group(group) => match self.groups.iter().find(|g| g.name == group.value) {
                    Some(found) => found.vertices.clone(),
                    None => {
                        let At { value: name, place } = group;
                        let message = format!("body `{body}` has no group `{name}`");
                        let known = self.groups.iter().map(|g| g.name.as_str());
                        return reporter.unknown(*place, message, name, "groups", known);
                    }
                },
                Filter::Ends(end) => match self.rods {
                    Some(starts) => end.nodes(starts),
                    None => {
                        let message =
                            format!("body `{body}` is not made of rods and has no roots and tips");
                        return reporter.refuse(filters.place, message, None);
                    }
                },
                Filter::Nearest(point) => {
                    let distance = |i: &u32| (positions[*i as usize] - point).norm_squared();
                    let nearest = nodes
                        .iter()
                        .min_by(|a, b| distance(a).total_cmp(&distance(b)));
                    nearest.copied().into_iter().collect()
                }
            };
            nodes.retain(|n| chosen.binary_search(n).is_ok());
        }
        if nodes.is_empty() {
            let show = |p: &Vec3| format!("[{:.6}, {:.6}, {:.6}]", p.x, p.y, p.z);
            let count = positions.len();
            let message = format!("the selection holds none of the {count} nodes of body `{body}`");
            let (min, max) = (show(&bounds.min), show(&bounds.max));
            let help = format!("at the start they lie between {min} and {max}");
            return filters.fail(reporter, ProblemKind::EmptySelection, message, help);
        }
        Some(nodes)
    }
}

/// The materials of a shell, its own first, and the place of every triangle's among them.
pub(super) fn patches(
    reporter: &Reporter,
    plan: &BodyPlan,
    own: &ShellMaterial,
    mesh: &TriMesh,
    groups: &[VertexGroup],
) -> Option<(Vec<ShellMaterial>, Vec<u32>)> {
    let nodes = Nodes {
        body: &plan.name.value,
        positions: &mesh.positions,
        groups,
        rods: None,
        boundary: &|| mesh.boundary_vertices(),
    };
    let (mut materials, mut of) = (vec![*own], vec![0; mesh.triangles.len()]);
    for (select, material) in &plan.patches {
        let selected = nodes.selected(reporter, select)?;
        let inside = |v: &u32| selected.binary_search(v).is_ok();
        for (triangle, of) in mesh.triangles.iter().zip(&mut of) {
            if triangle.iter().all(inside) {
                *of = materials.len() as u32;
            }
        }
        materials.push(*material);
    }
    Some((materials, of))
}
