use stiction_geometry::closest_point_on_triangle;
use stiction_math::Vec3;

use crate::{model::Body, state::State, stencil::Stencil};

/// The point of a deformable body's surface closest to `near`, as a stencil over its nodes.
pub(super) fn nearest_point(body: &Body, state: &State, near: &Vec3) -> Stencil {
    let mut positions = Vec::new();
    body.surface
        .positions(&state.x, &state.rotations, &mut positions);
    let mut best = (f64::INFINITY, 0, [1.0, 0.0, 0.0]);
    for (i, t) in body.surface.triangles.iter().enumerate() {
        let corners = t.map(|v| positions[v as usize]);
        let weights = closest_point_on_triangle(near, &corners);
        let point: Vec3 = (0..3).map(|a| corners[a] * weights[a]).sum();
        let distance = (point - near).norm_squared();
        if distance < best.0 {
            best = (distance, i, weights);
        }
    }
    let Some(triangle) = body.surface.triangles.get(best.1) else {
        // For particles and rods, the closest node.
        let distance = |i: &usize| (positions[*i] - near).norm_squared();
        let nearest = (0..positions.len()).min_by(|a, b| distance(a).total_cmp(&distance(b)));
        return nearest.map_or(Stencil::World(*near), |i| body.surface.stencil(i));
    };
    let mut nodes: Vec<(u32, f64)> = Vec::new();
    for (vertex, weight) in triangle.iter().copied().zip(best.2) {
        if weight == 0.0 {
            continue;
        }
        if let Stencil::Nodes(of_vertex) = body.surface.stencil(vertex as usize) {
            for (block, b) in of_vertex {
                match nodes.iter_mut().find(|n| n.0 == block) {
                    Some(n) => n.1 += weight * b,
                    None => nodes.push((block, weight * b)),
                }
            }
        }
    }
    nodes.sort_by_key(|n| n.0);
    Stencil::Nodes(nodes)
}
