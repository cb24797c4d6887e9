//! Overlaps: the depth for the certificate, and the triangles for a report.

use stiction_geometry::analytic::MovingSolid;
use stiction_geometry::collide::bvh::{Aabb32, Bvh};
use stiction_geometry::collide::{ProximityKind, SurfaceError, SweptSurface, triangles_intersect};
use stiction_math::Vec3;

use super::collider::ColliderForm;
use super::detector::Detector;
use super::emit::{Found, Kind};
use super::quota::Quota;
use super::shape_faces::lattice;
use super::shapes::Pass;
use super::step::{DetectStep, Motion};
use super::world::{DetectError, World};

/// Particles overlap whose centres are closer by this fraction than they touch.
const PARTICLES: f64 = 0.1;

/// So do rods of different bodies. Hair is planted closer than its thickness.
const RODS: f64 = 0.5;

/// Depth of overlap.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct OverlapDepth {
    /// At the deepest place [m].
    pub depth: f64,
    /// As a fraction of the contact distance of the pair, where that is largest [1]: 1 where centrelines,
    /// mid-surfaces or the faces of solids meet. Pairs in contact at no distance do not count.
    pub share: f64,
}

/// Two places that overlap.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Crossing {
    /// The place of the first collider in the list, and its triangle.
    pub first: (u32, u32),
    /// The place of the second collider, and its triangle; none for an analytic shape.
    pub second: (u32, Option<u32>),
}

impl Detector {
    /// The deepest overlap at the start of `step`: how far the closest features within reach are
    /// below their contact thickness; below zero distance where a side is known (solids, closed
    /// surfaces, contacts that `step.previous` names). Velocities are not used.
    ///
    /// It takes the memory of the last [`Detector::detect`], whose step ends with it.
    pub fn overlap(&mut self, step: &DetectStep) -> Result<OverlapDepth, DetectError> {
        self.close();
        self.motion.set(&self.world, step)?;
        self.motion.stand_still();
        let swept = self.world.trees_at_rest(&self.motion, self.swept.take())?;
        let found = self.world.all_at_rest(&self.motion, step, &swept)?;
        self.swept = Some(swept);
        let mut deepest = OverlapDepth::default();
        for f in &found {
            let depth = f.thickness - f.distance;
            deepest.depth = deepest.depth.max(depth);
            if f.thickness > 0.0 {
                deepest.share = deepest.share.max(depth / f.thickness);
            }
        }
        Ok(deepest)
    }

    /// Everything where it is at the start of `step`, without motion.
    pub(super) fn at_rest(&self, step: &DetectStep) -> Result<Motion, DetectError> {
        let mut motion = Motion::default();
        motion.set(&self.world, step)?;
        motion.stand_still();
        Ok(motion)
    }

    /// All pairs of triangles that share a point at the start of `step`, by an exact test, and all
    /// triangles that reach into a solid. Triangles of one collider that share a vertex are left
    /// out, and so are colliders that cannot touch.
    pub fn intersections(&self, step: &DetectStep) -> Result<Vec<Crossing>, DetectError> {
        let mut motion = Motion::default();
        motion.set(&self.world, step)?;
        self.world.intersections(&motion)
    }
}

impl World {
    /// Trees around a motion that stands still: those of another one fitted to it, if there are any.
    pub(super) fn trees_at_rest(
        &self,
        motion: &Motion,
        known: Option<SweptSurface>,
    ) -> Result<SweptSurface, SurfaceError> {
        let (x, margin) = (&motion.x0, self.margin.as_slice());
        match known {
            Some(mut swept) => swept.refit(x, x, margin).map(|()| swept),
            None => SweptSurface::build(self.surface.clone(), x, x, margin),
        }
    }

    /// Pairs within reach in a motion at rest.
    pub(super) fn all_at_rest(
        &self,
        motion: &Motion,
        step: &DetectStep,
        swept: &SweptSurface,
    ) -> Result<Vec<Found>, DetectError> {
        let mut found = self.near_at_rest(motion, swept)?;
        self.settle_sides(motion, step.previous, &mut found);
        found.extend(self.on_shapes(motion, &mut Vec::new(), Pass::First));
        found.extend(self.on_particles(motion, false)?);
        Ok(found)
    }

    /// Whether a feature is inside a solid, or two round bodies reach deep into each other. Rods in
    /// contact with a solid without a mesh are moved out of it.
    pub(super) fn are_inside(&self, f: &Found, tolerance: f64) -> bool {
        let particle = |v: u32| self.particles.binary_search(&v).is_ok();
        let inside = f.distance < -tolerance * f.thickness;
        let Kind::Pair(kind) = f.kind else {
            return inside && particle(f.vertices[0]);
        };
        if inside {
            return true;
        }
        let second = match kind {
            ProximityKind::EdgeEdge => f.vertices[2],
            _ => f.vertices[1],
        };
        let first = f.vertices[0];
        let bare = |v: u32| self.fans.of(v as usize).is_empty();
        if !bare(first) || !bare(second) {
            return false;
        }
        let most = match particle(first) && particle(second) {
            true => PARTICLES,
            false if self.owner[first as usize] == self.owner[second as usize] => return false,
            false => RODS,
        };
        f.thickness - f.distance > most * f.thickness
    }

    pub(super) fn intersections(&self, motion: &Motion) -> Result<Vec<Crossing>, DetectError> {
        let triangles = self.surface.triangles();
        let corners = |t: u32| triangles[t as usize].map(|v| motion.x0[v as usize]);
        let bound = |t: u32| {
            let mut b = Aabb32::EMPTY;
            for x in corners(t) {
                let c: [f32; 3] = std::array::from_fn(|k| x[k] as f32);
                b = b.union(&Aabb32 { min: c, max: c });
            }
            b
        };
        if let Some(vertex) = motion
            .x0
            .iter()
            .position(|x| !x.iter().all(|c| c.is_finite()))
        {
            let vertex = vertex as u32;
            return Err(SurfaceError::NotFinite { vertex }.into());
        }
        let bounds: Vec<Aabb32> = (0..triangles.len() as u32).map(bound).collect();
        let tree = Bvh::build(&bounds).map_err(SurfaceError::from)?;
        let owner = |t: u32| self.owner[triangles[t as usize][0] as usize];
        let group = |t: u32| self.groups[triangles[t as usize][0] as usize];
        let cross = |i: u32, j: u32| {
            let (a, b) = (triangles[i as usize], triangles[j as usize]);
            self.may_touch(owner(i), owner(j))
                && !a.iter().any(|v| b.contains(v))
                && !self.is_sewn(&a, &b)
                && triangles_intersect(&corners(i), &corners(j))
        };
        let quota = Quota::new(self.owner.len());
        let pairs = tree.pairs_apart(group, |i, j| cross(i, j) && quota.admits());
        quota.check(self, |count| {
            tree.pairs_apart(group, |i, j| {
                if cross(i, j) {
                    count(owner(i), owner(j));
                }
                false
            });
        })?;
        let local = |t: u32| (owner(t), t - self.first_triangle[owner(t) as usize]);
        let mut all: Vec<Crossing> = pairs
            .iter()
            .map(|[i, j]| {
                let (second, triangle) = local(*j);
                Crossing {
                    first: local(*i),
                    second: (second, Some(triangle)),
                }
            })
            .collect();
        for (collider, moving) in &motion.shapes {
            for t in 0..triangles.len() as u32 {
                let is_body = matches!(
                    self.colliders[owner(t) as usize].form,
                    ColliderForm::Body(_)
                );
                if is_body && reaches_into(moving, &corners(t)) {
                    all.push(Crossing {
                        first: local(t),
                        second: (*collider, None),
                    });
                }
            }
        }
        Ok(all)
    }
}

/// Whether an edge of the triangle, or the place nearest to one of the solid's points, is inside.
fn reaches_into(moving: &MovingSolid, corners: &[Vec3; 3]) -> bool {
    let pose = moving.pose(0.0);
    let x = corners.map(|c| pose.invert(&c));
    let shape = &moving.shape;
    let edge = |k: usize| shape.edge_minimum(&[x[k], x[(k + 1) % 3]]).nearest.distance < 0.0;
    if (0..3).any(edge) {
        return true;
    }
    if let Some(cell) = shape.cell() {
        let inside = |w: [f64; 3]| {
            let at = x[0] * w[0] + x[1] * w[1] + x[2] * w[2];
            shape.nearest(&at).distance < 0.0
        };
        return lattice(&x, cell).any(inside);
    }
    shape.points().iter().any(|(centre, _)| {
        let near = stiction_geometry::collide::point_triangle(centre, &x);
        shape.nearest(&(centre - near.separation)).distance < 0.0
    })
}
