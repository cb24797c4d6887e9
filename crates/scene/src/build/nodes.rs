//! Which nodes of a body a selection holds.

use stiction_bodies::material::ShellMaterial;
use stiction_geometry::{Aabb, Selection, TriMesh, select};
use stiction_math::Vec3;
use stiction_meshio::VertexGroup;

use crate::{
    error::{ProblemKind, Reporter},
    read::{
        body::BodyPlan,
        pin::{Filter, Filters},
    },
    source::At,
    suggest,
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
                    match select(positions, &widened(region, slack), self.boundary) {
                        Ok(found) => found,
                        Err(error) => {
                            let message = format!("body `{body}`: {error}");
                            return filters.fail(reporter, ProblemKind::Value, message, None);
                        }
                    }
                }
                Filter::Group(group) => match self.groups.iter().find(|g| g.name == group.value) {
                    Some(found) => found.vertices.clone(),
                    None => {
                        let known = self.groups.iter().map(|g| g.name.as_str());
                        let help = suggest::help(&group.value, "groups", known);
                        let message = format!("body `{body}` has no group `{}`", group.value);
                        return group.fail(reporter, ProblemKind::UnknownName, message, help);
                    }
                },
                Filter::Ends(end) => match self.rods {
                    Some(starts) => end.nodes(starts),
                    None => {
                        let message =
                            format!("body `{body}` is not made of rods and has no roots and tips");
                        return filters.fail(reporter, ProblemKind::Value, message, None);
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
            let message = format!(
                "the selection holds none of the {} nodes of body `{body}`",
                positions.len(),
            );
            let help = format!(
                "at the start they lie between {} and {}",
                show(&bounds.min),
                show(&bounds.max)
            );
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

/// Nodes on the boundary of a region belong to it, also after rounding.
fn widened(region: &Selection, slack: f64) -> Selection {
    match region {
        Selection::Box { min, max } => Selection::Box {
            min: min - Vec3::repeat(slack),
            max: max + Vec3::repeat(slack),
        },
        Selection::Sphere { centre, radius } => Selection::Sphere {
            centre: *centre,
            radius: radius + slack,
        },
        Selection::HalfSpace { point, normal } => Selection::HalfSpace {
            point: point - normal * slack,
            normal: *normal,
        },
        other => other.clone(),
    }
}
