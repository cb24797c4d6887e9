//! Contacts of bodies with solids given by formula.

use rayon::prelude::*;
use stiction_geometry::analytic::{Moving, Nearest, Shape};
use stiction_geometry::collide::ccd::{self, CcdConfig};
use stiction_geometry::collide::{TriangleFeature, point_triangle};
use stiction_math::Vec3;

use super::collider::Form;
use super::emit::{Found, Kind, Touch};
use super::pairs::REACH;
use super::step::Motion;
use super::world::World;

/// An edge or face counts where it is deeper than its vertices by this part of the thickness.
const DEEPER: f64 = 0.1;

impl World {
    /// Contacts within reach of a solid at the start, and those that would come closer than the
    /// thickness during the step.
    pub(super) fn on_shapes(&self, motion: &Motion) -> Vec<Found> {
        let mut found = Vec::new();
        for (collider, moving) in &motion.shapes {
            for (body, c) in self.colliders.iter().enumerate() {
                if matches!(c.form, Form::Body(_)) {
                    let search = Search {
                        world: self,
                        motion,
                        moving,
                        collider: *collider,
                        body,
                        thickness: self.thickness(*collider, body as u32),
                    };
                    search.run(&mut found);
                }
            }
        }
        found
    }
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
    fn run(&self, found: &mut Vec<Found>) {
        let vertices = self.world.first_vertex[self.body]..self.world.first_vertex[self.body + 1];
        if vertices.is_empty() || self.is_far(vertices.clone()) {
            return;
        }
        let start = self.moving.pose(0.0);
        let distance: Vec<f64> = vertices
            .clone()
            .into_par_iter()
            .with_min_len(1024)
            .map(|v| {
                let x = start.invert(&self.motion.x0[v as usize]);
                self.moving.shape.nearest(&x).distance
            })
            .collect();
        let first = vertices.start;
        let of = |v: u32| distance[(v - first) as usize];
        let each = vertices.clone().into_par_iter().with_min_len(512);
        found.par_extend(each.filter_map(|v| self.vertex(v, of(v))));
        if matches!(self.moving.shape, Shape::Plane { .. }) {
            return;
        }
        let edges = self.world.surface.edges();
        let from = edges.partition_point(|e| e[0] < vertices.start);
        let to = edges.partition_point(|e| e[0] < vertices.end);
        let each = edges[from..to].par_iter().with_min_len(512);
        found.par_extend(each.filter_map(|e| self.edge(e, e.map(of))));
        let [from, to] = [self.body, self.body + 1].map(|b| self.world.first_triangle[b] as usize);
        let points = self.moving.shape.points();
        let each = self.world.surface.triangles()[from..to].par_iter();
        let lists: Vec<Vec<Found>> = each
            .with_min_len(512)
            .map(|t| self.face(t, t.map(of), &points))
            .collect();
        found.extend(lists.into_iter().flatten());
    }

    /// Whether the body's box cannot reach the ball around the solid.
    fn is_far(&self, vertices: std::ops::Range<u32>) -> bool {
        let radius = self.moving.shape.radius();
        if !radius.is_finite() {
            return false;
        }
        let range = vertices.start as usize..vertices.end as usize;
        let both = [&self.motion.x0[range.clone()], &self.motion.x1[range]];
        let mut low = Vec3::repeat(f64::INFINITY);
        let mut high = -low;
        for x in both.into_iter().flatten() {
            low = low.inf(x);
            high = high.sup(x);
        }
        let ends = [0.0, 1.0].map(|t| self.moving.pose(t).translation);
        let reach = Vec3::repeat((radius + REACH * self.thickness) * (1.0 + 1e-9));
        let (from, to) = (ends[0].inf(&ends[1]) - reach, ends[0].sup(&ends[1]) + reach);
        (0..3).any(|k| high[k] < from[k] || to[k] < low[k])
    }

    fn vertex(&self, v: u32, distance: f64) -> Option<Found> {
        if !self.motion.free[v as usize] {
            return None;
        }
        let path = self.path(v);
        let time = if distance <= REACH * self.thickness {
            0.0
        } else {
            self.moving.point_impact(&path, self.thickness)?
        };
        let x = self.motion.at(v, time);
        let near = self
            .moving
            .shape
            .nearest(&self.moving.pose(time).invert(&x));
        let (vertices, weights) = ([v; 4], [1.0, 0.0, 0.0, 0.0]);
        Some(self.found(Kind::VertexShape, vertices, weights, 0, &near, time))
    }

    fn edge(&self, e: &[u32; 2], ends: [f64; 2]) -> Option<Found> {
        if !e.iter().any(|v| self.motion.free[*v as usize]) {
            return None;
        }
        let paths = e.map(|v| self.path(v));
        let length = (paths[0][0] - paths[1][0]).norm();
        let reach = REACH * self.thickness;
        if 0.5 * (ends[0] + ends[1] - length) - self.moving.travel(&paths) > reach {
            return None;
        }
        let at = |time: f64| {
            let pose = self.moving.pose(time);
            let x = e.map(|v| pose.invert(&self.motion.at(v, time)));
            let least = self.moving.shape.edge_minimum(&x);
            let sides = x.map(|x| self.moving.shape.nearest(&x).distance);
            let deeper = least.nearest.distance < sides[0].min(sides[1]) - DEEPER * self.thickness;
            (least, least.at > 0.0 && least.at < 1.0 && deeper)
        };
        let (mut least, mut counts) = at(0.0);
        let mut time = 0.0;
        if !counts || least.nearest.distance > reach {
            time = self
                .moving
                .edge_impact(&paths[0], &paths[1], self.thickness)?;
            (least, counts) = at(time);
        }
        let (vertices, weights) = (
            [e[0], e[1], e[1], e[1]],
            [1.0 - least.at, least.at, 0.0, 0.0],
        );
        counts.then(|| self.found(Kind::EdgeShape, vertices, weights, 0, &least.nearest, time))
    }

    fn face(&self, t: &[u32; 3], corners: [f64; 3], points: &[(Vec3, f64)]) -> Vec<Found> {
        let mut found = Vec::new();
        if !t.iter().any(|v| self.motion.free[*v as usize]) {
            return found;
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
            return found;
        }
        let (start, end) = (self.moving.pose(0.0), self.moving.pose(1.0));
        let across = start.rotation.inverse() * (x0[1] - x0[0]).cross(&(x0[2] - x0[0]));
        let rims = [across, -across].map(|d| self.moving.shape.rim(&d).map(|p| (p, 0.0)));
        let rims = rims.into_iter().flatten();
        let parts: Vec<(Vec3, f64)> = points.iter().copied().chain(rims).collect();
        // Of one triangle, all parts that touch when the first one does: others would be reached
        // only through the solid.
        let time = parts
            .iter()
            .map(|(centre, radius)| {
                let way = [start.apply(centre), end.apply(centre)];
                // The part turns, but is taken along its chord.
                let bulge = 0.125 * self.moving.angle().powi(2) * centre.norm();
                let config = CcdConfig::new(radius + self.thickness + bulge);
                let x0 = [way[0], x0[0], x0[1], x0[2]];
                let x1 = [way[1], paths[0][1], paths[1][1], paths[2][1]];
                let near = point_triangle(&x0[0], &[x0[1], x0[2], x0[3]]);
                if near.squared.sqrt() - radius <= reach {
                    return 0.0;
                }
                let impact = ccd::vertex_face(&x0, &x1, &config).impact;
                impact.map_or(f64::INFINITY, |i| i.time)
            })
            .fold(f64::INFINITY, f64::min);
        if time > 1.0 {
            return found;
        }
        let pose = self.moving.pose(time);
        let x = t.map(|v| pose.invert(&self.motion.at(v, time)));
        let distance = |x: &Vec3| self.moving.shape.nearest(x);
        let corners = x.map(|x| distance(&x).distance);
        let least = corners[0].min(corners[1]).min(corners[2]);
        for (part, (centre, radius)) in parts.iter().enumerate() {
            let on = point_triangle(centre, &x);
            let near = distance(&(centre - on.separation));
            let close = on.squared.sqrt() - radius <= reach && near.distance <= reach;
            if on.feature == TriangleFeature::Face
                && (close || near.distance < 0.0)
                && near.distance < least - DEEPER * self.thickness
            {
                let vertices = [t[0], t[1], t[2], t[2]];
                let weights = [on.weights[0], on.weights[1], on.weights[2], 0.0];
                let part = part as u32 + 1;
                found.push(self.found(Kind::FaceShape, vertices, weights, part, &near, time));
            }
        }
        found
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
            touch: Some(Touch {
                collider: self.collider,
                part,
                from: self.moving.pose(0.0).apply(&near.point),
                to: self.moving.pose(1.0).apply(&near.point),
            }),
            continuous: time > 0.0,
        }
    }
}
