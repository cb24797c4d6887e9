//! Sides of sheets and solids.
//!
//! A distance has no sign. If a vertex has slipped through a face by a little, its separation
//! points to the wrong side and a contact would hold it there. Two sources tell the side: the contact
//! of the same features in the step before, and the outside of a closed surface.
//!
//! Thin rods roll around one another within a step: their normal turns over although they never met.
//! At the end of a step such normals are turned along, so that the next step does not take it for
//! passing through.

use stiction_geometry::collide::ccd::{self, CcdConfig};
use stiction_geometry::collide::{ProximityKind, edge_edge, point_triangle};
use stiction_math::elementary::angle_between;
use stiction_math::{Vec3, parallel};

use super::detector::Detector;
use super::emit::{Found, Kind, lasting_vertices};
use super::step::Motion;
use super::world::World;
use crate::ContactSet;

/// Normals of the same pair that differ by more than this cosine mean that a side was changed.
const REVERSED: f64 = -0.5;

/// Distances below this fraction of the thickness have no direction of their own.
const TOUCHING: f64 = 1e-6;

/// Features that come closer than this fraction of their thickness may have passed.
const PASSED: f64 = 1e-3;

impl Detector {
    /// Brings normals of the step's contacts to its end, at velocities `v` [m/s], where features came
    /// around one another without meeting. Of `contacts` only keys and normals are used.
    pub fn follow_sides(&mut self, v: &[Vec3], contacts: &mut ContactSet) {
        if v.len() < self.world.blocks {
            return;
        }
        self.motion.predict(&self.world, v);
        let (world, motion) = (&self.world, &self.motion);
        let ContactSet { normal, key, .. } = contacts;
        parallel::each_mut(normal, 1024, |c, normal| {
            if let Some((kind, vertices)) = lasting_vertices(world, &key[c])
                && let Some(turned) = world.came_around(motion, kind, &vertices, normal)
            {
                *normal = turned;
            }
        });
    }
}

impl World {
    /// Turns contacts of features that passed through one another and removes those that look
    /// through a closed surface from behind.
    pub(super) fn settle_sides(
        &self,
        motion: &Motion,
        previous: &ContactSet,
        found: &mut Vec<Found>,
    ) {
        let mut known = vec![false; found.len()];
        let keys: Vec<_> = found.iter().map(|f| f.key(self)).collect();
        for (i, old) in super::match_keys(&previous.key, &keys).iter().enumerate() {
            let f = &mut found[i];
            let touching = f.distance <= TOUCHING * f.thickness;
            if let (Some(old), true) = (old, touching) {
                f.normal = previous.normal[*old as usize];
                known[i] = true;
                continue;
            }
            let lasting = matches!(
                f.kind,
                Kind::Pair(ProximityKind::VertexFace | ProximityKind::EdgeEdge)
            );
            if let (Some(old), true) = (old, lasting) {
                known[i] = true;
                if previous.normal[*old as usize].dot(&f.normal) < REVERSED {
                    f.turn();
                }
            }
        }
        let mut drop = vec![false; found.len()];
        // Vertices near closed surfaces: (vertex, collider, distance, contact, behind).
        let mut near = Vec::new();
        for (i, f) in found.iter().enumerate() {
            let Kind::Pair(kind) = f.kind else { continue };
            let split = if kind == ProximityKind::EdgeEdge {
                2
            } else {
                1
            };
            let owner = |k: usize| self.owner[f.vertices[k] as usize];
            let (own, other) = (owner(0), owner(split));
            let behind = |closed: u32, features: &[u32], n: Vec3| {
                self.is_closed(closed) && self.outward(motion, features).dot(&n) < 0.0
            };
            match kind {
                ProximityKind::VertexFace | ProximityKind::VertexEdge => {
                    if known[i] || !self.is_closed(other) {
                        continue;
                    }
                    let ends = if kind == ProximityKind::VertexEdge {
                        3
                    } else {
                        4
                    };
                    let back = behind(other, &f.vertices[1..ends], f.normal);
                    if own == other {
                        drop[i] = back;
                    } else {
                        near.push((f.vertices[0], other, f.distance, i, back));
                    }
                }
                ProximityKind::VertexVertex => {
                    drop[i] = behind(other, &f.vertices[1..2], f.normal)
                        || behind(own, &f.vertices[..1], -f.normal);
                }
                ProximityKind::EdgeEdge => {
                    drop[i] = !known[i]
                        && (behind(other, &f.vertices[2..], f.normal)
                            || behind(own, &f.vertices[..2], -f.normal));
                }
            }
        }
        // The nearest face or edge decides whether a vertex is inside.
        near.sort_unstable_by(|a, b| {
            (a.0, a.1)
                .cmp(&(b.0, b.1))
                .then(a.2.total_cmp(&b.2))
                .then(a.3.cmp(&b.3))
        });
        for group in near.chunk_by(|a, b| (a.0, a.1) == (b.0, b.1)) {
            let inside = group[0].4;
            for (k, (_, _, _, i, back)) in group.iter().enumerate() {
                match (inside, k) {
                    (true, 0) => found[*i].turn(),
                    (true, _) => drop[*i] = true,
                    (false, _) => drop[*i] = *back,
                }
            }
        }
        let mut dropped = drop.iter();
        found.retain(|_| dropped.next() == Some(&false));
    }

    /// The unit separation of two features at the end of the step, if it is opposite to the `normal`
    /// they had and they never met in between.
    fn came_around(
        &self,
        motion: &Motion,
        kind: ProximityKind,
        v: &[u32; 4],
        normal: &Vec3,
    ) -> Option<Vec3> {
        let x1 = v.map(|v| motion.x1[v as usize]);
        let [a, b, c, d] = x1;
        let separation = match kind {
            ProximityKind::EdgeEdge => edge_edge(&[a, b], &[c, d]).separation,
            _ => point_triangle(&a, &[b, c, d]).separation,
        };
        let length = separation.norm();
        if normal.dot(&separation) >= REVERSED * length || !length.is_normal() {
            return None;
        }
        let x0 = v.map(|v| motion.x0[v as usize]);
        let config = CcdConfig::new(PASSED * self.full_thickness(kind, v));
        let met = match kind {
            ProximityKind::EdgeEdge => ccd::edge_edge(&x0, &x1, &config),
            _ => ccd::vertex_face(&x0, &x1, &config),
        };
        met.impact.is_none().then(|| separation / length)
    }

    /// The outward direction of a vertex, edge or face: the sum of the unit normals around it,
    /// weighted by angle at a vertex.
    fn outward(&self, motion: &Motion, feature: &[u32]) -> Vec3 {
        let triangles = self.surface.triangles();
        let mut sum = Vec3::zeros();
        for t in self.fans.of(feature[0] as usize) {
            let t = triangles[*t as usize];
            if !feature.iter().all(|v| t.contains(v)) {
                continue;
            }
            let [a, b, c] = t.map(|v| motion.x0[v as usize]);
            let normal = (b - a).cross(&(c - a));
            let length = normal.norm();
            if !length.is_normal() {
                continue;
            }
            let angle = if feature.len() == 1 {
                let corner = |p: Vec3, q: Vec3, r: Vec3| angle_between(&(q - p), &(r - p));
                match t.iter().position(|v| *v == feature[0]) {
                    Some(0) => corner(a, b, c),
                    Some(1) => corner(b, c, a),
                    _ => corner(c, a, b),
                }
            } else {
                1.0
            };
            sum += normal * (angle / length);
        }
        sum
    }
}
