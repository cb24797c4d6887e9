//! Surfaces of revolution with a varying number of vertices around the axis.

use std::f64::consts::TAU;
use stiction_math::elementary::{cos, sin};

use stiction_math::Vec3;

use crate::mesh::TriMesh;

/// One circle of vertices around the z axis. `count` = 1 is a pole on the axis.
#[derive(Clone, Copy, Debug)]
pub(super) struct Circle {
    pub radius: f64,
    pub z: f64,
    pub count: u32,
}

impl Circle {
    pub fn pole(z: f64) -> Self {
        Circle {
            radius: 0.0,
            z,
            count: 1,
        }
    }
}

/// Joins each circle to the next. With the profile's direction t and the direction φ of
/// increasing angle, the triangles face along t×φ: a profile that starts at the upper pole and
/// ends at the lower one gives a surface that faces outwards.
pub(super) fn revolve(profile: &[Circle]) -> TriMesh {
    let mut mesh = TriMesh::default();
    let mut previous: Option<[u32; 2]> = None;
    for circle in profile {
        let start = mesh.positions.len() as u32;
        for i in 0..circle.count {
            mesh.positions
                .push(on_circle(circle.radius, i, circle.count, circle.z));
        }
        if let Some(inner) = previous {
            stitch(&mut mesh.triangles, inner, [start, circle.count]);
        }
        previous = Some([start, circle.count]);
    }
    mesh
}

/// Vertex i of n on a circle; a circle of one vertex is a point on the axis.
pub(super) fn on_circle(radius: f64, i: u32, n: u32, z: f64) -> Vec3 {
    let phi = TAU * f64::from(i) / f64::from(n);
    Vec3::new(radius * cos(phi), radius * sin(phi), z)
}

/// Circles from the centre of a disc to just before its rim, for a rim of `around` vertices.
pub(super) fn cap(radius: f64, z: f64, around: u32) -> Vec<Circle> {
    let rings = cap_rings(around);
    let mut circles = vec![Circle::pole(z)];
    for k in 1..rings {
        circles.push(Circle {
            radius: radius * f64::from(k) / f64::from(rings),
            z,
            count: graded(around, k, rings),
        });
    }
    circles
}

/// The number of vertices of [`cap`], without the rim.
pub(super) fn cap_nodes(around: u32) -> u128 {
    let rings = cap_rings(around);
    // `around` ≤ 2³² bounds the loop, and a cap that large is refused for its rim times rings.
    let quick = u128::from(around) * u128::from(rings) / 4;
    if quick > u128::from(super::MAX_NODES) {
        return quick;
    }
    1 + (1..rings)
        .map(|k| u128::from(graded(around, k, rings)))
        .sum::<u128>()
}

/// Ring k of m when the m-th has `around` vertices: in proportion, but enough to go around.
pub(super) fn graded(around: u32, k: u32, m: u32) -> u32 {
    let n = (u64::from(around) * u64::from(k)).div_ceil(u64::from(m)) as u32;
    n.max(3)
}

fn cap_rings(around: u32) -> u32 {
    // Six vertices more per ring make triangles that are nearly equilateral.
    (around / 6 + u32::from(around % 6 >= 3)).max(1)
}

/// Fills the strip between two circles [start, count], walking around both and always
/// advancing on the one whose next edge has its middle first, which keeps diagonals short.
fn stitch(triangles: &mut Vec<[u32; 3]>, inner: [u32; 2], outer: [u32; 2]) {
    let at = |[start, count]: [u32; 2], i: u64| start + (i % u64::from(count)) as u32;
    let steps = |[_, count]: [u32; 2]| if count > 1 { u64::from(count) } else { 0 };
    let (inner_steps, outer_steps) = (steps(inner), steps(outer));
    let (mut i, mut j) = (0, 0);
    while i < inner_steps || j < outer_steps {
        let outer_first = (2 * j + 1) * inner_steps <= (2 * i + 1) * outer_steps;
        if j < outer_steps && (i == inner_steps || outer_first) {
            triangles.push([at(inner, i), at(outer, j), at(outer, j + 1)]);
            j += 1;
        } else {
            triangles.push([at(inner, i), at(outer, j), at(inner, i + 1)]);
            i += 1;
        }
    }
}
