//! Lighting: a wide key light, a fill light from the side of the camera, a sky, and ambient
//! occlusion of corners and of the ground.

use super::scene::{Scene, V};
use rayon::prelude::*;

/// Total number of sky rays; scenes with many corners get fewer per corner.
const SKY_BUDGET: usize = 500_000;
/// Range of ambient occlusion, in units of the scene.
const SKY_REACH: f32 = 0.5;
const GROUND_CELLS: usize = 96;
const GROUND_MARGIN: f32 = 0.7;

pub(super) struct Lights {
    /// Unit vectors towards the centre of the key light and across it.
    key: [V; 3],
    /// Towards the fill light.
    pub fill: V,
    ground: GroundMap,
}

impl Lights {
    /// Sets the lights and computes the openness of each corner of `scene`.
    pub fn new(scene: &mut Scene) -> Self {
        let view = &scene.view;
        let (right, back): (V, V) = (view.right.cast(), (-view.forward).cast());
        let level = |v: V| {
            V::new(v.x, v.y, 0.0)
                .try_normalize(1e-3)
                .unwrap_or_else(V::zeros)
        };
        // From the left of the camera, high and slightly in front of the subject: surfaces turn
        // from light to dark across the picture and shadows fall to the right.
        let towards = (V::z() * 1.25 - level(right) * 0.8 + level(back) * 0.45).normalize();
        let across = towards
            .cross(&V::z())
            .try_normalize(1e-3)
            .unwrap_or_else(V::x);
        let key = [towards, across, towards.cross(&across)];
        let fill = (level(right) * 0.9 + level(back) * 0.7 + V::z() * 0.25)
            .try_normalize(1e-3)
            .unwrap_or_else(V::z);
        open_corners(scene);
        let ground = GroundMap::new(scene);
        Self { key, fill, ground }
    }

    /// Direction towards a point of the key light, chosen by `at` in the unit square.
    pub fn key(&self, at: [f32; 2]) -> V {
        // Tangent of the light's half angle: soft shadows that are sharp at contacts.
        const WIDTH: f32 = 0.07;
        let (radius, angle) = (WIDTH * at[0].sqrt(), std::f32::consts::TAU * at[1]);
        let [towards, across, up] = self.key;
        (towards + across * (radius * angle.cos()) + up * (radius * angle.sin())).normalize()
    }

    /// Openness of the ground at a point, 0 to 1.
    pub fn ground(&self, x: f32, y: f32) -> f32 {
        self.ground.get(x, y)
    }
}

/// Directions spread evenly over the sphere (a Fibonacci spiral). All corners use the same ones, so
/// neighbours agree and the shading has no grain.
fn sphere(count: usize) -> Vec<V> {
    let golden = std::f64::consts::PI * (3.0 - 5f64.sqrt());
    let direction = |i: usize| {
        let z = 1.0 - (2 * i + 1) as f64 / count as f64;
        let (radius, angle) = ((1.0 - z * z).sqrt(), golden * i as f64);
        V::new(
            (radius * angle.cos()) as f32,
            (radius * angle.sin()) as f32,
            z as f32,
        )
    };
    (0..count).map(direction).collect()
}

/// Cosine-weighted fraction of `directions` above the surface that nothing nearby blocks.
fn openness(scene: &Scene, point: V, normal: V, directions: &[V]) -> f32 {
    let origin = point + normal * 2e-3;
    let (mut open, mut total) = (0.0, 0.0);
    for direction in directions {
        let weight = direction.dot(&normal);
        if weight <= 0.0 {
            continue;
        }
        total += weight;
        let mut reach = SKY_REACH;
        if let Some(ground) = scene.ground
            && direction.z < 0.0
        {
            reach = reach.min(((ground - origin.z) / direction.z).max(0.0));
        }
        let hit = scene.bvh.nearest(origin, *direction, reach);
        let distance = hit.map_or(reach, |hit| hit.t);
        open += weight * (distance / SKY_REACH);
    }
    if total > 0.0 { open / total } else { 1.0 }
}

fn open_corners(scene: &mut Scene) {
    // Corners with the same position and normal share the result.
    let corners: Vec<(V, V)> = scene
        .triangles
        .iter()
        .flat_map(|t| (0..3).map(|k| (t.corners[k], t.normals[k])))
        .collect();
    let key = |(p, n): &(V, V)| [p.x, p.y, p.z, n.x, n.y, n.z].map(f32::to_bits);
    let mut order: Vec<([u32; 6], usize)> = corners
        .iter()
        .map(key)
        .enumerate()
        .map(|(at, key)| (key, at))
        .collect();
    order.par_sort_unstable();
    let groups: Vec<&[([u32; 6], usize)]> = order.chunk_by(|a, b| a.0 == b.0).collect();
    let count = (SKY_BUDGET / groups.len().max(1)).clamp(16, 96);
    let directions = sphere(count);
    let values: Vec<[f32; 2]> = groups
        .par_iter()
        .map(|group| {
            let (point, normal) = corners[group[0].1];
            [normal, -normal].map(|side| openness(scene, point, side, &directions))
        })
        .collect();
    for (group, value) in groups.iter().zip(values) {
        for &(_, at) in *group {
            scene.triangles[at / 3].openness[at % 3] = value;
        }
    }
}

/// Openness of the ground on a grid around the scene, 1 outside.
struct GroundMap {
    origin: [f32; 2],
    cell: [f32; 2],
    values: Vec<f32>,
}

impl GroundMap {
    fn new(scene: &Scene) -> Self {
        let [lo, hi] = scene.bounds;
        let from = [0, 1].map(|k| lo[k].max(-4.0) - GROUND_MARGIN);
        let to = [0, 1].map(|k| hi[k].min(4.0) + GROUND_MARGIN);
        let mut map = Self {
            origin: from,
            cell: [0, 1].map(|k| (to[k] - from[k]) / (GROUND_CELLS - 1) as f32),
            values: Vec::new(),
        };
        let Some(height) = scene.ground else {
            return map;
        };
        let directions = sphere(64);
        map.values = (0..GROUND_CELLS * GROUND_CELLS)
            .into_par_iter()
            .map(|at| {
                let (i, j) = (at % GROUND_CELLS, at / GROUND_CELLS);
                let x = map.origin[0] + i as f32 * map.cell[0];
                let y = map.origin[1] + j as f32 * map.cell[1];
                openness(scene, V::new(x, y, height), V::z(), &directions)
            })
            .collect();
        map
    }

    fn get(&self, x: f32, y: f32) -> f32 {
        let u = (x - self.origin[0]) / self.cell[0];
        let v = (y - self.origin[1]) / self.cell[1];
        let last = (GROUND_CELLS - 1) as f32;
        if self.values.is_empty() || !(u > 0.0 && v > 0.0 && u < last && v < last) {
            return 1.0;
        }
        let (i, j) = (u as usize, v as usize);
        // Smooth steps between the nodes hide the grid's facets.
        let ease = |x: f32| x * x * (3.0 - 2.0 * x);
        let (fx, fy) = (ease(u.fract()), ease(v.fract()));
        let at = |i: usize, j: usize| self.values[j * GROUND_CELLS + i];
        let low = at(i, j) + fx * (at(i + 1, j) - at(i, j));
        let high = at(i, j + 1) + fx * (at(i + 1, j + 1) - at(i, j + 1));
        low + fy * (high - low)
    }
}
