use stiction_geometry::closest_point_on_triangle;
use stiction_math::Vec3;

use crate::{model::Body, state::State, stencil::Stencil};

/// The first of the triangles closest to `near`, and the weights of the closest point on it.
pub(super) fn nearest_triangle(
    positions: &[Vec3],
    triangles: &[[u32; 3]],
    near: &Vec3,
) -> Option<(usize, [f64; 3])> {
    let mut best = (f64::INFINITY, None);
    for (i, t) in triangles.iter().enumerate() {
        let corners = t.map(|v| positions[v as usize]);
        let weights = closest_point_on_triangle(near, &corners);
        let point: Vec3 = (0..3).map(|a| corners[a] * weights[a]).sum();
        let distance = (point - near).norm_squared();
        if distance < best.0 {
            best = (distance, Some((i, weights)));
        }
    }
    best.1
}

/// The point of a deformable body's surface closest to `near`, as a stencil over its nodes.
pub(super) fn nearest_point(body: &Body, state: &State, near: &Vec3) -> Stencil {
    let mut positions = Vec::new();
    body.surface
        .positions(&state.x, &state.rotations, &mut positions);
    let Some((triangle, weights)) = nearest_triangle(&positions, &body.surface.triangles, near)
    else {
        // For particles and rods, the closest node.
        let distance = |i: &usize| (positions[*i] - near).norm_squared();
        let nearest = (0..positions.len()).min_by(|a, b| distance(a).total_cmp(&distance(b)));
        return nearest.map_or(Stencil::World(*near), |i| body.surface.stencil(i));
    };
    let mut nodes: Vec<(u32, f64)> = Vec::new();
    for (vertex, weight) in body.surface.triangles[triangle].into_iter().zip(weights) {
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
