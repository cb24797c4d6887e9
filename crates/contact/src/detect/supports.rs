//! Distances and normals of a body's vertices to a solid at the start of a step, and what they prove
//! of edges and faces.
//!
//! The signed distance f of a convex solid is a convex function, so that f(x) ≥ n·(x − p) for the
//! closest point p of any other place and its normal n. In the frame of a solid that does not turn,
//! vertices move along straight lines, and such a bound over an element and the whole step is least
//! at a corner at the start or at the end.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};

use stiction_geometry::analytic::{MovingSolid, Nearest};
use stiction_math::{Vec3, parallel};

use super::shapes::{DEEPER, SHARP};
use super::step::Motion;
use super::world::World;

/// Normals of corners that differ by more may have a sharp feature between them [rad]: the normal of a corner that is
/// farther away than the face by [`SHARP`] of the thickness leans by √(2 SHARP).
pub(super) const TURNED: f64 = 0.07;

/// The start of a step, as one body and one solid see it.
#[derive(Debug)]
pub(super) struct Start {
    pub collider: u32,
    pub body: u32,
    /// For each vertex of the body, in the frame of the solid.
    near: Vec<Nearest>,
    /// Positions of the vertices in that frame [m].
    x: Vec<Vec3>,
    /// When vertices, edges and faces are to be checked again.
    pub vertices: Leaves,
    pub edges: Leaves,
    pub faces: Leaves,
}

/// For each element of a list, the displacement of its ends since the step was set below which it need
/// not be checked again [m]. Each of them is read and written by the thread that checks the element.
#[derive(Debug, Default)]
pub(super) struct Leaves(Vec<AtomicU32>);

impl Leaves {
    fn new(count: usize) -> Self {
        Self((0..count).map(|_| AtomicU32::new(0)).collect())
    }

    /// Whether an element whose ends have moved by `moved` [m] is proven to be out of contact.
    pub(super) fn spare(&self, element: usize, moved: f32) -> bool {
        moved < f32::from_bits(self.0[element].load(Relaxed))
    }

    /// An element has no contact before its ends have moved by `margin` [m] more.
    pub(super) fn set(&self, element: usize, moved: f32, margin: f64) {
        // Less by the rounding error.
        let clearance = moved + (margin * (1.0 - 1e-6)) as f32;
        self.0[element].store(clearance.to_bits(), Relaxed);
    }
}

impl Start {
    pub(super) fn new(
        world: &World,
        motion: &Motion,
        (collider, moving): &(u32, MovingSolid),
        body: usize,
    ) -> Self {
        let range = world.first_vertex[body] as usize..world.first_vertex[body + 1] as usize;
        let pose = moving.pose(0.0);
        let vertices = &motion.x0[range];
        let count = vertices.len();
        let x = parallel::map(count, 1024, |i| pose.invert(&vertices[i]));
        let near = parallel::map(count, 1024, |i| moving.shape.nearest(&x[i]));
        Start {
            collider: *collider,
            body: body as u32,
            near,
            x,
            vertices: Leaves::new(count),
            edges: Leaves::new(world.edges_of(body).len()),
            faces: Leaves::new(world.triangles_of(body).len()),
        }
    }
}

/// Bounds on the distance of elements for one end of the motion.
pub(super) struct Supports<'a> {
    pub start: &'a Start,
    first: u32,
    moving: &'a MovingSolid,
    /// Positions of the vertices at the end [m], in the frame of the solid; none if it turns or is
    /// not convex, where nothing is proven.
    end: Option<Vec<Vec3>>,
    /// Excess of the end position of each vertex over its initial plane [m], as bits; not a number until it is
    /// needed. Most elements are not checked in most passes.
    bend: Vec<AtomicU64>,
    /// Rounding of a distance [m].
    slack: f64,
}

impl<'a> Supports<'a> {
    pub(super) fn new(
        world: &World,
        motion: &Motion,
        moving: &'a MovingSolid,
        start: &'a Start,
    ) -> Self {
        let body = start.body as usize;
        let first = world.first_vertex[body];
        let range = first as usize..world.first_vertex[body + 1] as usize;
        let straight = moving.shape.is_convex() && moving.angle() == 0.0;
        let end = straight.then(|| {
            let pose = moving.pose(1.0);
            let x = &motion.x1[range.clone()];
            parallel::map(x.len(), 1024, |i| pose.invert(&x[i]))
        });
        let count = if straight { range.len() } else { 0 };
        let unknown = || AtomicU64::new(f64::NAN.to_bits());
        let largest = |x: &[Vec3]| x.iter().fold(Vec3::zeros(), |m, x| m.sup(&x.abs()));
        let (a, b) = (
            largest(&motion.x0[range.clone()]),
            largest(&motion.x1[range]),
        );
        Supports {
            start,
            first,
            moving,
            end,
            bend: (0..count).map(|_| unknown()).collect(),
            slack: moving.rounding(&[[a, b]]),
        }
    }

    /// The closest point of the solid at the start.
    pub(super) fn near(&self, vertex: u32) -> &Nearest {
        &self.start.near[(vertex - self.first) as usize]
    }

    /// A distance [m] below which an element provably does not come during the step; −∞ proves nothing. It falls no
    /// faster than the ends of its vertices move.
    pub(super) fn stays_above(&self, vertices: &[u32]) -> f64 {
        let Some(end) = &self.end else {
            return f64::NEG_INFINITY;
        };
        let below = |i: &u32| {
            let Nearest { normal, point, .. } = self.near(*i);
            let above = |x: &Vec3| normal.dot(&(x - point));
            let both = vertices.iter().map(|j| {
                let j = (j - self.first) as usize;
                let (x, y) = (above(&self.start.x[j]), above(&end[j]));
                // Not a number must not count as far away.
                if x > y || y.is_nan() { y } else { x }
            });
            both.fold(
                f64::INFINITY,
                |m, d| if m.is_nan() || d >= m { m } else { d },
            )
        };
        vertices.iter().map(below).fold(f64::NEG_INFINITY, f64::max) - self.slack
    }

    /// Whether [`Self::stays_above`] is more than `d` [m], which is known sooner.
    pub(super) fn stays_beyond(&self, vertices: &[u32], d: f64) -> bool {
        let Some(end) = &self.end else { return false };
        let limit = d + self.slack;
        vertices.iter().any(|i| {
            let Nearest { normal, point, .. } = self.near(*i);
            let above = |x: &Vec3| normal.dot(&(x - point)) > limit;
            vertices.iter().all(|j| {
                let j = (j - self.first) as usize;
                above(&self.start.x[j]) && above(&end[j])
            })
        })
    }

    /// Excess of the end position of a vertex over its initial plane [m].
    fn bend(&self, end: &[Vec3], vertex: u32) -> f64 {
        let at = (vertex - self.first) as usize;
        let cache = &self.bend[at];
        let known = f64::from_bits(cache.load(Relaxed));
        if !known.is_nan() {
            return known;
        }
        let (x, near) = (end[at], self.near(vertex));
        let plane = near.normal.dot(&(x - near.point));
        let bend = (self.moving.shape.nearest(&x).distance - plane).max(0.0);
        cache.store(bend.to_bits(), Relaxed);
        bend
    }

    /// Whether no place of an edge or triangle is deeper than the interpolation of its corners by
    /// [`DEEPER`] of the thickness, or by [`SHARP`] of it next to a sharp feature, at any time of the
    /// step. If so, by how much the ends of its vertices may move before it is to be checked again [m]. `None` proves
    /// nothing.
    ///
    /// With weights w, the interpolation of the distances less Σ wᵢ nᵢ·(x − pᵢ) is linear in time. At the
    /// start it is Σ wᵢ wⱼ (nⱼ − nᵢ)·(xⱼ − xᵢ) over all pairs, at the end that plus the mean of what
    /// the corners rise above their planes. Where ends move by δ, the former changes by |nⱼ − nᵢ| 2δ at most, the
    /// latter by 2δ.
    pub(super) fn stays_level(&self, vertices: &[u32], thickness: f64) -> Option<f64> {
        let end = self.end.as_ref()?;
        let at = |v: u32| (v - self.first) as usize;
        let (mut turn, mut angle) = (0.0f64, 0.0f64);
        for (k, i) in vertices.iter().enumerate() {
            for j in &vertices[k + 1..] {
                let n = self.near(*j).normal - self.near(*i).normal;
                let x = |x: &[Vec3]| n.dot(&(x[at(*j)] - x[at(*i)]));
                turn = turn.max(x(&self.start.x)).max(x(end));
                angle = angle.max(n.norm_squared());
            }
        }
        let bend = vertices.iter().map(|v| self.bend(end, *v));
        // The largest sum of products of two different weights.
        let most = if vertices.len() == 2 { 0.25 } else { 1.0 / 3.0 };
        let part = if angle < TURNED * TURNED {
            DEEPER
        } else {
            SHARP
        };
        let deeper = bend.fold(0.0, f64::max) + most * turn + 2.0 * self.slack;
        let left = part * thickness - deeper;
        (left > 0.0).then(|| left / (2.0 + 2.0 * most * angle.sqrt()))
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::super::pairs::REACH;
    use super::super::{
        Collider, ColliderBody, ColliderForm, DetectConfig, DetectStep, Detector, Laws, PairLaw,
        Placement, Points,
    };
    use super::*;
    use crate::ContactSet;
    use stiction_geometry::analytic::{Pose, Shape};

    const THICKNESS: f64 = 0.01;

    /// After the first pass over a square of two triangles at rest, `height` [m] above the middle of the top of a
    /// cube of 2 m: the first displacement [m], in steps of `step`, with which each vertex, edge and face is checked
    /// again.
    fn first_checks(height: f64, step: f64) -> Vec<f64> {
        let x = [[-0.5, -0.5], [0.5, -0.5], [0.5, 0.5], [-0.5, 0.5]];
        let x = x.map(|[x, y]| Vec3::new(x, y, 1.0 + height)).to_vec();
        let collider = |id, form| Collider {
            id,
            material: 0,
            thickness: THICKNESS,
            form,
        };
        let sheet = ColliderBody {
            triangles: vec![[0, 1, 2], [0, 2, 3]],
            rods: Vec::new(),
            points: Points::nodes(0..4),
            rest: x.clone(),
            closed: false,
            self_contact: false,
            exempt: None,
        };
        let cube = Shape::Box {
            half: Vec3::repeat(1.0),
        };
        let colliders = vec![
            collider(0, ColliderForm::Body(sheet)),
            collider(1, ColliderForm::Shape(cube)),
        ];
        let laws = Laws::uniform(PairLaw::default());
        let mut detector = Detector::new(colliders, laws, DetectConfig::default()).unwrap();
        let still = [Vec3::zeros(); 4];
        let detection = DetectStep {
            h: 0.01,
            x: &x,
            rotations: &[],
            v: &still,
            start: &still,
            fixed: &[false; 4],
            obstacles: &[Placement::Poses([Pose::default(); 2])],
            previous: &ContactSet::default(),
            held: &[],
        };
        detector
            .detect(&detection, &mut ContactSet::default())
            .unwrap();
        let start = &detector.starts[0];
        let lists = [(&start.vertices, 4), (&start.edges, 5), (&start.faces, 2)];
        let elements = lists
            .into_iter()
            .flat_map(|(list, n)| (0..n).map(move |i| (list, i)));
        let first = |(list, i): (&Leaves, usize)| {
            let mut moved = 0.0;
            while list.spare(i, moved as f32) {
                moved += step;
            }
            moved
        };
        elements.map(first).collect()
    }

    #[test]
    fn what_is_out_of_reach_is_not_checked_again_before_it_has_come_within() {
        // Vertices count from the thickness, edges and faces from the reach.
        let step = 1e-3 * THICKNESS;
        let height = 2.0 * THICKNESS;
        for (i, moved) in first_checks(height, step).into_iter().enumerate() {
            let limit = if i < 4 { THICKNESS } else { REACH * THICKNESS };
            assert!(
                (moved - (height - limit)).abs() <= 1.01 * step,
                "{i}: {moved}"
            );
        }
    }

    #[test]
    fn what_lies_flat_is_not_checked_again_before_it_can_sag() {
        // A sag of DEEPER of the thickness takes half of that at each end, by `stays_level`.
        let step = 1e-3 * THICKNESS;
        let checks = first_checks(1.2 * THICKNESS, step);
        for (i, moved) in checks.into_iter().enumerate().skip(4) {
            let margin = 0.5 * DEEPER * THICKNESS;
            assert!((moved - margin).abs() <= 1.01 * step, "{i}: {moved}");
        }
    }
}
