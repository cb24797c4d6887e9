//! Contacts of bodies with solids given by their signed distance.
//!
//! Of a sampled mesh, what could poke into a triangle is not known as a list of points. Triangles
//! are searched at points no farther apart than half a cell instead ([`lattice`]), below which the
//! field has no detail of its own.

use rayon::prelude::*;
use stiction_geometry::analytic::{Moving, Nearest};
use stiction_geometry::collide::ccd::{self, CcdConfig};
use stiction_geometry::collide::{TriangleFeature, point_triangle};
use stiction_math::Vec3;

use super::collider::Form;
use super::emit::{Found, Kind, Touch};
use super::pairs::{REACH, listed_again};
use super::step::Motion;
use super::world::World;

/// An edge or face counts where it is deeper than its vertices by this part of the thickness.
const DEEPER: f64 = 0.1;

/// Normals with a smaller cosine are those of different sides.
const SAME_SIDE: f64 = 0.5;

impl World {
    /// Contacts within reach of a solid at the start, and those that would come closer than the
    /// thickness during the step; if `deep`, also those of what is listed again, as among meshes.
    pub(super) fn on_shapes(&self, motion: &Motion, deep: bool) -> Vec<Found> {
        let mut found = Vec::new();
        self.for_each_near(motion, |search| search.run(deep, &mut found));
        found
    }

    /// The largest fraction of the step for which no vertex, edge or part of a solid comes closer
    /// than `d` [m].
    pub(super) fn safe_from_shapes(&self, motion: &Motion, d: f64) -> f64 {
        let mut fraction: f64 = 1.0;
        self.for_each_near(motion, |search| {
            fraction = fraction.min(search.earliest(d));
        });
        fraction
    }

    /// Calls `f` for each body and solid that may touch.
    fn for_each_near(&self, motion: &Motion, mut f: impl FnMut(&Search)) {
        let bodies = |b: &usize| matches!(self.colliders[*b].form, Form::Body(_));
        let bodies: Vec<(usize, [Vec3; 2])> = (0..self.colliders.len())
            .filter(bodies)
            .filter(|b| self.first_vertex[*b] < self.first_vertex[b + 1])
            .map(|b| (b, self.path_bounds(motion, b)))
            .collect();
        for (collider, moving) in &motion.shapes {
            for (body, bounds) in &bodies {
                let thickness = self.thickness(*collider, *body as u32);
                if is_near(moving, bounds, REACH * thickness) {
                    f(&Search {
                        world: self,
                        motion,
                        moving,
                        collider: *collider,
                        body: *body,
                        thickness,
                    });
                }
            }
        }
    }

    /// The box around all that a body passes.
    fn path_bounds(&self, motion: &Motion, body: usize) -> [Vec3; 2] {
        let range = self.first_vertex[body] as usize..self.first_vertex[body + 1] as usize;
        let both = [&motion.x0[range.clone()], &motion.x1[range]];
        let far = Vec3::repeat(f64::INFINITY);
        both.into_iter()
            .flatten()
            .fold([far, -far], |[low, high], x| [low.inf(x), high.sup(x)])
    }
}

/// Whether a box comes within `reach` of the ball around a solid.
fn is_near(moving: &Moving, [low, high]: &[Vec3; 2], reach: f64) -> bool {
    let radius = moving.shape.radius();
    if !radius.is_finite() {
        return true;
    }
    let ends = [0.0, 1.0].map(|t| moving.pose(t).translation);
    let reach = Vec3::repeat((radius + reach) * (1.0 + 1e-9));
    let (from, to) = (ends[0].inf(&ends[1]) - reach, ends[0].sup(&ends[1]) + reach);
    (0..3).all(|k| high[k] >= from[k] && to[k] >= low[k])
}

/// One body and one solid.
struct Search<'a> {
    world: &'a World,
    motion: &'a Motion,
    moving: &'a Moving,
    collider: u32,
    body: usize,
    thickness: f64,
}

impl Search<'_> {
    fn run(&self, deep: bool, found: &mut Vec<Found>) {
        let start = self.moving.pose(0.0);
        let vertices: Vec<u32> = self.vertices().collect();
        let distance: Vec<f64> = vertices
            .par_iter()
            .with_min_len(1024)
            .map(|v| {
                let x = start.invert(&self.motion.x0[*v as usize]);
                self.moving.shape.nearest(&x).distance
            })
            .collect();
        let first = self.vertices().start;
        let of = |v: u32| distance[(v - first) as usize];
        found.extend(gather(&vertices, |v, out| {
            self.vertex(*v, of(*v), deep, out)
        }));
        // No edge or face is deeper in a plane's half-space than its vertices.
        if self.moving.shape.is_plane() {
            return;
        }
        found.extend(gather(self.edges(), |e, out| {
            self.edge(e, e.map(of), deep, out)
        }));
        if let Some(cell) = self.moving.shape.cell() {
            found.extend(gather(self.triangles(), |t, out| {
                self.sampled_face(t, t.map(of), cell, deep, out);
            }));
            return;
        }
        let parts = self.moving.shape.points();
        found.extend(gather(self.triangles(), |t, out| {
            self.face(t, t.map(of), &parts, deep, out);
        }));
    }

    fn earliest(&self, d: f64) -> f64 {
        let free = |v: &u32| self.motion.free[*v as usize];
        let vertex = |v: u32| match free(&v) {
            true => self.moving.point_impact(&self.path(v), d),
            false => None,
        };
        let edge = |e: &[u32; 2]| match e.iter().any(free) {
            true => self
                .moving
                .edge_impact(&self.path(e[0]), &self.path(e[1]), d),
            false => None,
        };
        let parts = self.moving.shape.points();
        let face = |t: &[u32; 3]| {
            let paths = t.map(|v| self.path(v));
            match (t.iter().any(free), self.moving.shape.cell()) {
                (false, _) => None,
                (true, None) => {
                    let rim = self.moving.face_impact(&paths, d);
                    let part = self.part_impact(&paths, &parts, d);
                    rim.into_iter().chain(part).reduce(f64::min)
                }
                (true, Some(cell)) => self.lattice_impact(&paths, cell, d).map(|i| i.0),
            }
        };
        let least = |a: f64, b: f64| a.min(b);
        let vertices = self.vertices().into_par_iter().with_min_len(512);
        let vertices = vertices.filter_map(vertex).reduce(|| 1.0, least);
        if self.moving.shape.is_plane() {
            return vertices;
        }
        let edges = self.edges().par_iter().with_min_len(512);
        let edges = edges.filter_map(edge).reduce(|| vertices, least);
        let faces = self.triangles().par_iter().with_min_len(512);
        faces.filter_map(face).reduce(|| edges, least)
    }

    fn vertices(&self) -> std::ops::Range<u32> {
        self.world.first_vertex[self.body]..self.world.first_vertex[self.body + 1]
    }

    fn edges(&self) -> &[[u32; 2]] {
        let (edges, vertices) = (self.world.surface.edges(), self.vertices());
        let from = edges.partition_point(|e| e[0] < vertices.start);
        let to = edges.partition_point(|e| e[0] < vertices.end);
        &edges[from..to]
    }

    fn triangles(&self) -> &[[u32; 3]] {
        let [from, to] = [self.body, self.body + 1].map(|b| self.world.first_triangle[b] as usize);
        &self.world.surface.triangles()[from..to]
    }

    fn vertex(&self, v: u32, distance: f64, deep: bool, found: &mut Vec<Found>) {
        if !self.motion.free[v as usize] {
            return;
        }
        let path = self.path(v);
        let mut add = |time: f64, deep: bool| {
            let x = self.motion.at(v, time);
            let near = self
                .moving
                .shape
                .nearest(&self.moving.pose(time).invert(&x));
            let (vertices, weights) = ([v; 4], [1.0, 0.0, 0.0, 0.0]);
            let one = self.found(Kind::VertexShape, vertices, weights, 0, &near, time);
            found.push(Found { deep, ..one });
        };
        if distance <= REACH * self.thickness {
            add(0.0, false);
        } else if let Some(time) = self.moving.point_impact(&path, self.thickness) {
            add(time, false);
        } else {
            return;
        }
        if deep && let Some(time) = self.deep(distance, |d| self.moving.point_impact(&path, d)) {
            add(time, true);
            if self.stays_beside(&[v], time) {
                add(1.0, true);
                if let Some(last) = found.last_mut() {
                    last.spare = true;
                }
            }
        }
    }

    fn edge(&self, e: &[u32; 2], ends: [f64; 2], deep: bool, found: &mut Vec<Found>) {
        if !e.iter().any(|v| self.motion.free[*v as usize]) {
            return;
        }
        let paths = e.map(|v| self.path(v));
        let length = (paths[0][0] - paths[1][0]).norm();
        let reach = REACH * self.thickness;
        let slope = self.moving.shape.slope();
        let room = 0.5 * (ends[0] + ends[1] - slope * length);
        if room - slope * self.moving.travel(&paths) > reach {
            return;
        }
        let impact = |d: f64| self.moving.edge_impact(&paths[0], &paths[1], d);
        let mut add = |time: f64, deep: bool| {
            let pose = self.moving.pose(time);
            let x = e.map(|v| pose.invert(&self.motion.at(v, time)));
            let least = self.moving.shape.edge_minimum(&x);
            let sides = x.map(|x| self.moving.shape.nearest(&x).distance);
            let distance = least.nearest.distance;
            let counts = distance < sides[0].min(sides[1]) - DEEPER * self.thickness;
            let inside = least.at > 0.0 && least.at < 1.0;
            let is_found = inside && counts && (time > 0.0 || distance <= reach);
            if is_found {
                let vertices = [e[0], e[1], e[1], e[1]];
                let weights = [1.0 - least.at, least.at, 0.0, 0.0];
                let one = self.found(Kind::EdgeShape, vertices, weights, 0, &least.nearest, time);
                found.push(Found { deep, ..one });
            }
            (is_found, distance)
        };
        let (is_found, distance) = add(0.0, false);
        if !is_found {
            match impact(self.thickness) {
                Some(time) if time > 0.0 => {
                    add(time, false);
                }
                Some(_) => {}
                None => return,
            }
        }
        if deep && let Some(time) = self.deep(distance, impact) {
            add(time, true);
            if self.stays_beside(e, time)
                && add(1.0, true).0
                && let Some(last) = found.last_mut()
            {
                last.spare = true;
            }
        }
    }

    fn face(
        &self,
        t: &[u32; 3],
        corners: [f64; 3],
        points: &[(Vec3, f64)],
        deep: bool,
        found: &mut Vec<Found>,
    ) {
        if !t.iter().any(|v| self.motion.free[*v as usize]) {
            return;
        }
        let paths = t.map(|v| self.path(v));
        let x0 = paths.map(|p| p[0]);
        let longest = (x0[0] - x0[1])
            .norm()
            .max((x0[1] - x0[2]).norm())
            .max((x0[2] - x0[0]).norm());
        let least = corners[0].min(corners[1]).min(corners[2]);
        let reach = REACH * self.thickness;
        // No point of a triangle is farther than longest/√3 from all corners.
        if least - 0.578 * longest - self.moving.travel(&paths) > reach {
            return;
        }
        let start = self.moving.pose(0.0);
        let across = start.rotation.inverse() * (x0[1] - x0[0]).cross(&(x0[2] - x0[0]));
        let rims = [across, -across].map(|d| self.moving.shape.rim(&d).map(|p| (p, 0.0)));
        let rims = rims.into_iter().flatten();
        let parts: Vec<(Vec3, f64)> = points.iter().copied().chain(rims).collect();
        let gaps = parts.iter().map(|(centre, radius)| {
            let on = point_triangle(&start.apply(centre), &x0);
            on.squared.sqrt() - radius
        });
        let gap = gaps.fold(f64::INFINITY, f64::min);
        let impact = |d: f64| self.part_impact(&paths, &parts, d);
        // Of one triangle, all parts that touch when the first one does: others would be reached
        // only through the solid.
        if gap <= reach {
            self.face_at(t, &parts, 0.0, false, found);
        } else if let Some(time) = impact(self.thickness) {
            self.face_at(t, &parts, time, false, found);
        } else {
            return;
        }
        if deep && let Some(time) = self.deep(gap, impact) {
            self.face_at(t, &parts, time, true, found);
        }
    }

    /// The contacts of a triangle with the solid's parts at a time.
    fn face_at(
        &self,
        t: &[u32; 3],
        parts: &[(Vec3, f64)],
        time: f64,
        deep: bool,
        found: &mut Vec<Found>,
    ) {
        let reach = REACH * self.thickness;
        let pose = self.moving.pose(time);
        let x = t.map(|v| pose.invert(&self.motion.at(v, time)));
        let corners = x.map(|x| self.moving.shape.nearest(&x).distance);
        let least = corners[0].min(corners[1]).min(corners[2]);
        for (part, (centre, radius)) in parts.iter().enumerate() {
            let on = point_triangle(centre, &x);
            let near = self.moving.shape.nearest(&(centre - on.separation));
            let close = on.squared.sqrt() - radius <= reach && near.distance <= reach;
            if on.feature == TriangleFeature::Face
                && (close || near.distance < 0.0)
                && near.distance < least - DEEPER * self.thickness
            {
                let vertices = [t[0], t[1], t[2], t[2]];
                let weights = [on.weights[0], on.weights[1], on.weights[2], 0.0];
                let part = part as u32 + 1;
                let one = self.found(Kind::FaceShape, vertices, weights, part, &near, time);
                found.push(Found { deep, ..one });
            }
        }
    }

    /// Contacts of the inside of a triangle with a sampled mesh: one where it is deepest.
    fn sampled_face(
        &self,
        t: &[u32; 3],
        corners: [f64; 3],
        cell: f64,
        deep: bool,
        found: &mut Vec<Found>,
    ) {
        if !t.iter().any(|v| self.motion.free[*v as usize]) {
            return;
        }
        let paths = t.map(|v| self.path(v));
        let least = corners[0].min(corners[1]).min(corners[2]);
        let reach = REACH * self.thickness;
        let way = 0.578 * longest_edge(&paths.map(|p| p[0])) + self.moving.travel(&paths);
        if least - self.moving.shape.slope() * way > reach {
            return;
        }
        let mut add = |time: f64, weights: [f64; 3], deep: bool| {
            let pose = self.moving.pose(time);
            let x = t.map(|v| pose.invert(&self.motion.at(v, time)));
            let least = x.map(|x| self.moving.shape.nearest(&x).distance);
            let least = least[0].min(least[1]).min(least[2]);
            let (weights, mut near) = self.deepest_near(&x, weights, cell);
            if near.distance < least - DEEPER * self.thickness {
                // What is deepest inside a triangle is separated along its normal.
                let across = (x[1] - x[0]).cross(&(x[2] - x[0]));
                if let Some(normal) = across.try_normalize(0.0) {
                    let point = near.point + near.normal * near.distance;
                    near.normal = normal * near.normal.dot(&normal).signum();
                    near.point = point - near.normal * near.distance;
                }
                let vertices = [t[0], t[1], t[2], t[2]];
                let weights = [weights[0], weights[1], weights[2], 0.0];
                let one = self.found(Kind::FaceShape, vertices, weights, 1, &near, time);
                found.push(Found { deep, ..one });
            }
        };
        let start = self.moving.pose(0.0);
        let x = paths.map(|p| start.invert(&p[0]));
        let mut deepest = (f64::INFINITY, [0.0; 3]);
        for w in lattice(&x, cell) {
            let at = x[0] * w[0] + x[1] * w[1] + x[2] * w[2];
            let distance = self.moving.shape.nearest(&at).distance;
            if distance < deepest.0 {
                deepest = (distance, w);
            }
        }
        if deepest.0 <= reach {
            add(0.0, deepest.1, false);
        } else if let Some((time, w)) = self.lattice_impact(&paths, cell, self.thickness) {
            add(time, w, false);
        } else {
            return;
        }
        let again = listed_again(self.thickness, deepest.0);
        if deep
            && again > 0.0
            && let Some((time, w)) = self.lattice_impact(&paths, cell, again)
            && time > 0.0
        {
            add(time, w, true);
        }
    }

    /// From a point of a triangle, in the frame of the solid, down to the deepest one around it.
    fn deepest_near(&self, x: &[Vec3; 3], from: [f64; 3], cell: f64) -> ([f64; 3], Nearest) {
        let nearest = |w: &[f64; 3]| {
            let at = x[0] * w[0] + x[1] * w[1] + x[2] * w[2];
            self.moving.shape.nearest(&at)
        };
        let (mut best, mut near) = (from, nearest(&from));
        let mut step = cell / longest_edge(x);
        for _ in 0..24 {
            let mut moved = false;
            for (a, b) in [(0, 1), (1, 0), (1, 2), (2, 1), (2, 0), (0, 2)] {
                let mut w = best;
                let part = step.min(w[b]);
                w[a] += part;
                w[b] -= part;
                let there = nearest(&w);
                if there.distance < near.distance {
                    (best, near, moved) = (w, there, true);
                }
            }
            if !moved {
                step *= 0.5;
            }
        }
        (best, near)
    }

    /// When and where the first point of a triangle's lattice comes closer than `d`.
    fn lattice_impact(&self, paths: &[[Vec3; 2]; 3], cell: f64, d: f64) -> Option<(f64, [f64; 3])> {
        let mut first: Option<(f64, [f64; 3])> = None;
        for w in lattice(&paths.map(|p| p[0]), cell) {
            let at = |i: usize| paths[0][i] * w[0] + paths[1][i] * w[1] + paths[2][i] * w[2];
            if let Some(time) = self.moving.point_impact(&[at(0), at(1)], d)
                && first.is_none_or(|f| time < f.0)
            {
                first = Some((time, w));
            }
        }
        first
    }

    /// Whether the middle of some vertices is on the same side of the solid at a time and at the end.
    ///
    /// A point of a solid that turns moves along a chord below its surface, and what slides on it may
    /// follow it, however often it is listed. The plane that touches the solid at the end of the step,
    /// below which a convex solid is, holds it at last; at first it would keep off what moves along.
    fn stays_beside(&self, vertices: &[u32], time: f64) -> bool {
        let normal = |time: f64| {
            let pose = self.moving.pose(time);
            let sum: Vec3 = vertices.iter().map(|v| self.motion.at(*v, time)).sum();
            let x = sum / vertices.len() as f64;
            pose.rotation * self.moving.shape.nearest(&pose.invert(&x)).normal
        };
        normal(time).dot(&normal(1.0)) > SAME_SIDE
    }

    /// When something that starts at a `distance` [m] is listed again.
    fn deep(&self, distance: f64, impact: impl Fn(f64) -> Option<f64>) -> Option<f64> {
        if distance <= 0.0 {
            return None;
        }
        impact(listed_again(self.thickness, distance)).filter(|time| *time > 0.0)
    }

    /// When the first of the solid's parts comes closer than `d` to a triangle.
    fn part_impact(&self, paths: &[[Vec3; 2]; 3], parts: &[(Vec3, f64)], d: f64) -> Option<f64> {
        let (start, end) = (self.moving.pose(0.0), self.moving.pose(1.0));
        let [a, b, c] = paths;
        let impact = |(centre, radius): &(Vec3, f64)| {
            // The part turns, but is taken along its chord.
            let bulge = 0.125 * self.moving.angle().powi(2) * centre.norm();
            let config = CcdConfig::new(radius + d + bulge);
            let x0 = [start.apply(centre), a[0], b[0], c[0]];
            let x1 = [end.apply(centre), a[1], b[1], c[1]];
            ccd::vertex_face(&x0, &x1, &config).impact.map(|i| i.time)
        };
        parts.iter().filter_map(impact).reduce(f64::min)
    }

    fn path(&self, v: u32) -> [Vec3; 2] {
        [self.motion.x0[v as usize], self.motion.x1[v as usize]]
    }

    fn found(
        &self,
        kind: Kind,
        vertices: [u32; 4],
        weights: [f64; 4],
        part: u32,
        near: &Nearest,
        time: f64,
    ) -> Found {
        Found {
            kind,
            vertices,
            weights,
            normal: (self.moving.pose(time).rotation * near.normal).normalize(),
            distance: near.distance,
            thickness: self.thickness,
            touch: Some(Box::new(Touch {
                collider: self.collider,
                part,
                from: self.moving.pose(0.0).apply(&near.point),
                to: self.moving.pose(1.0).apply(&near.point),
            })),
            continuous: time > 0.0,
            deep: false,
            last: false,
            spare: false,
        }
    }
}

/// A triangle has no more points than this along each side.
const MOST_POINTS: f64 = 64.0;

/// Weights of points inside a triangle, no farther apart than half a cell or 1/64 of its longest
/// edge; none on the edges, which are searched by themselves, and none in a triangle smaller than
/// a cell, where the field bends too little.
pub(super) fn lattice(x: &[Vec3; 3], cell: f64) -> impl Iterator<Item = [f64; 3]> + use<> {
    let n = (2.0 * longest_edge(x) / cell).ceil();
    let n = if n > 2.0 {
        n.min(MOST_POINTS) as u32
    } else {
        0
    };
    let part = move |i: u32| f64::from(i) / f64::from(n);
    let row = move |i: u32| (1..n - i).map(move |j| [part(i), part(j), part(n - i - j)]);
    (1..n.max(1)).flat_map(row)
}

fn longest_edge(x: &[Vec3; 3]) -> f64 {
    let squared = |i: usize| (x[i] - x[(i + 1) % 3]).norm_squared();
    squared(0).max(squared(1)).max(squared(2)).sqrt()
}

/// What `one` finds in each item, in their order.
pub(super) fn gather<T: Sync>(items: &[T], one: impl Fn(&T, &mut Vec<Found>) + Sync) -> Vec<Found> {
    let parts: Vec<Vec<Found>> = items
        .par_chunks(512)
        .map(|items| {
            let mut found = Vec::new();
            items.iter().for_each(|item| one(item, &mut found));
            found
        })
        .collect();
    parts.into_iter().flatten().collect()
}
