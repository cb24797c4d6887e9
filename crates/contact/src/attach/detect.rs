//! New pairs by continuous collision detection, without a collision-free state [ding, Sects. 2.1.3, 2.2].
//!
//! A particle that is outside of a triangle's plane at the start of the step and meets the triangle before it
//! reaches the trial has entered the object there. The table of known pairs is consulted first: what is attached
//! to an object, or to that side of a sheet, cannot enter it again. Crossings outwards are ignored.
//!
//! Paths are straight between the start of the step and the trial, of vertices that are moved outwards by the
//! thickness. The test is [`ccd::vertex_face`], which may answer early and never late: a pair that is found though the
//! particle stays outside has no force. Candidates come from boxes around paths, with a margin; they stay complete until
//! something moves farther than that ([`Detection::is_stale`]).

use stiction_geometry::Aabb;
use stiction_geometry::collide::bvh::{Aabb32, Bvh};
use stiction_geometry::collide::ccd::{self, CcdConfig};
use stiction_math::{Vec3, Vector, parallel};

use super::{
    contacts::{Anchor, AttachError, Key},
    relax::MeshPoint,
    solid::Surface,
    world::{Follow, Object, World},
};
use crate::kinematics::{ContactKinematics, Framed};

/// Displacement of a vertex before candidates are stale, in displacements over the step.
const AHEAD: f64 = 0.5;
/// Further displacement that is allowed, in thicknesses.
const SLACK: f64 = 2.0;
/// Depth that is rounding, as a fraction of the thickness and of the coordinates.
const ROUNDING: (f64, f64) = (1e-6, 64.0 * f64::EPSILON);
/// Candidates per parallel task.
const GRAIN: usize = 64;
/// Iterations for the place where a path crosses the surface of a solid.
const CROSSINGS: usize = 40;
/// Speed along the surface at the start of the step from which what enters it slides [m/s], as for exact methods.
const SLIDES: f64 = 1e-5;

/// Positions of all vertices, the directions of their offsets, and the frames of solids.
#[derive(Debug, Default)]
struct Snapshot {
    x: Vec<Vec3>,
    v: Vec<Vec3>,
    offsets: Vec<Vec3>,
    /// The frame of each part that is a solid.
    frames: Vec<Option<Framed<f64>>>,
}

/// The search for new pairs.
#[derive(Debug, Default)]
pub(super) struct Detection {
    /// Collider and triangle of every triangle of all meshes.
    triangles: Vec<[u32; 2]>,
    start: Snapshot,
    now: Snapshot,
    /// Positions around which candidates were listed, and the displacement that they allow [m].
    listed: Vec<Vec3>,
    allowed: Vec<f64>,
    /// Vertex and place in `triangles`, ascending.
    candidates: Vec<[u32; 2]>,
}

/// A new pair.
#[derive(Clone, Copy, Debug)]
pub(super) struct Entered {
    pub key: Key,
    /// Order among several of a key: the time or the depth, and the triangle.
    order: (f64, u32),
    pub anchor: Anchor,
    /// Distance of its surface from the object's geometry [m].
    pub thickness: f64,
    /// Whether the particle slid over the object at the start of the step.
    pub slides: bool,
}

impl Snapshot {
    fn set(&mut self, world: &World, at: &ContactKinematics) {
        let of = |v: usize| {
            let x: Vector<f64> = world.position(v as u32, at);
            let moved: Vector<f64> = world.shifted(v as u32, 1.0, at);
            let (x, moved) = (x.plain(), moved.plain());
            (x, moved - x, velocity(world, v as u32, at))
        };
        let each = parallel::map(world.rest.len(), 256, of);
        self.x.clear();
        self.x.extend(each.iter().map(|e| e.0));
        self.offsets.clear();
        self.offsets.extend(each.iter().map(|e| e.1));
        self.v.clear();
        self.v.extend(each.iter().map(|e| e.2));
        self.frames.clear();
        self.frames.extend(
            world
                .parts
                .iter()
                .map(|part| match (&part.object, &part.follow) {
                    (Object::Solid(_), Follow::Framed(of)) => Some(of.frame::<f64>(at)),
                    _ => None,
                }),
        );
    }
}

impl Detection {
    /// Numbers the triangles of all meshes.
    pub fn prepare(&mut self, world: &World) {
        self.triangles.clear();
        for (p, part) in world.parts.iter().enumerate() {
            if let Object::Mesh(mesh) = &part.object {
                let count = mesh.triangles().len() as u32;
                self.triangles.extend((0..count).map(|t| [p as u32, t]));
            }
        }
    }

    /// Takes the start of a step.
    pub fn start(&mut self, world: &mut World, at: &ContactKinematics) {
        self.start.set(world, at);
        world.turn_offsets(&self.start.x);
        self.start.set(world, at);
        self.candidates.clear();
    }

    /// Takes a trial.
    pub fn reach(&mut self, world: &World, at: &ContactKinematics) {
        self.now.set(world, at);
    }

    /// Lists candidates for paths from the start of the step to places around `at`.
    pub fn find(
        &mut self,
        world: &World,
        at: &ContactKinematics,
        h: f64,
    ) -> Result<(), AttachError> {
        self.now.set(world, at);
        let count = world.rest.len();
        let speed = |v: u32| velocity(world, v, at).norm();
        self.listed.clone_from(&self.now.x);
        let allowed = |v: usize| {
            let part = &world.parts[world.owner[v] as usize];
            let ahead = h * speed(v as u32) + (self.now.x[v] - self.start.x[v]).norm();
            (1.0 + AHEAD) * ahead + SLACK * part.thickness
        };
        self.allowed = parallel::map(count, 256, allowed);
        let thickest = world.parts.iter().map(|p| p.thickness).fold(0.0, f64::max);
        let around = |v: u32, more: f64| {
            let v = v as usize;
            let reach = Vec3::repeat(self.allowed[v] + more);
            let (a, b) = (self.start.x[v], self.now.x[v]);
            Aabb {
                min: a.inf(&b) - reach,
                max: a.sup(&b) + reach,
            }
        };
        let points: Vec<Aabb32> = (0..count as u32)
            .map(|v| Aabb32::from(&around(v, 0.0)))
            .collect();
        let faces: Vec<Aabb32> = self
            .triangles
            .iter()
            .map(|&[part, t]| {
                let corners = corners(world, part, t);
                let offset = world.parts[part as usize].longest() * thickest;
                let [a, b, c] = corners.map(|v| around(v, offset));
                Aabb32::from(&a.union(&b).union(&c))
            })
            .collect();
        let keep = |v: u32, face: u32| self.may_meet(world, v, face);
        self.candidates = Bvh::build(&points)?.pairs(&Bvh::build(&faces)?, keep);
        Ok(())
    }

    /// Whether a particle and a triangle can be a pair at all.
    fn may_meet(&self, world: &World, v: u32, face: u32) -> bool {
        let [part, t] = self.triangles[face as usize];
        may_attach(world, v, part)
            && (world.owner[v as usize] != part || !corners(world, part, t).contains(&v))
    }

    /// Whether something moved so far that candidates may be missing.
    pub fn is_stale(&self, world: &World, at: &ContactKinematics) -> bool {
        if self.listed.len() != world.rest.len() {
            return true;
        }
        let moved = |v: usize| {
            let x: Vector<f64> = world.position(v as u32, at);
            let far = (x.plain() - self.listed[v]).norm();
            far.is_nan() || far > self.allowed[v]
        };
        let any = parallel::map_ranges(world.rest.len(), 256, |mut range| range.any(moved));
        any.contains(&true)
    }

    /// Particles that enter an object before they reach the trial and are not `known`.
    pub fn entered(
        &self,
        world: &World,
        at: &ContactKinematics,
        known: impl Fn(&Key) -> bool + Sync,
    ) -> Vec<Entered> {
        let candidates = &self.candidates;
        let mut found = parallel::gather(candidates.len(), GRAIN, |range, found| {
            for &[v, face] in &candidates[range] {
                let [part, t] = self.triangles[face as usize];
                for side in sides(world, part) {
                    let key = [v, part, side];
                    // The table is cheaper than the test.
                    if !known(&key) {
                        found.extend(self.crossing(world, key, t));
                    }
                }
            }
        });
        self.enter_solids(world, at, known, &mut found);
        first(found)
    }

    /// Particles that begin the step between a mesh and the surface that is offset from it, and are not `known`. Their
    /// surface is the one through them, so that no spring begins stretched.
    pub fn begun_inside(&self, world: &World, known: impl Fn(&Key) -> bool) -> Vec<Entered> {
        let mut found: Vec<Entered> = Vec::new();
        for &[v, face] in &self.candidates {
            let [part, t] = self.triangles[face as usize];
            let thickness = world.thickness(world.owner[v as usize] as usize, part as usize);
            for side in sides(world, part) {
                let key = [v, part, side];
                let c = self.start.face(world, part, t, side, thickness);
                let Some(n) = normal(&c, side) else { continue };
                let z = self.start.x[v as usize];
                let height = (z - c[0]).dot(&n);
                if height >= 0.0 || height <= -thickness || known(&key) {
                    continue;
                }
                let weights = weights(&c, &(z - n * height));
                if weights.iter().all(|w| *w >= 0.0) {
                    let point = MeshPoint {
                        triangle: t,
                        weights,
                    };
                    found.push(Entered {
                        key,
                        order: (-height, t),
                        anchor: Anchor::Mesh(point),
                        thickness: thickness + height,
                        slides: self.slides(world, key, &point, &n),
                    });
                }
            }
        }
        first(found)
    }

    /// The place where a particle meets a triangle from outside.
    fn crossing(&self, world: &World, key: Key, t: u32) -> Option<Entered> {
        let [v, part, side] = key;
        let thickness = world.thickness(world.owner[v as usize] as usize, part as usize);
        let c0 = self.start.face(world, part, t, side, thickness);
        let c1 = self.now.face(world, part, t, side, thickness);
        let (z0, z1) = (self.start.x[v as usize], self.now.x[v as usize]);
        let path = Aabb::of(&[z0, z1])?;
        let swept = Aabb::of(&[c0[0], c0[1], c0[2], c1[0], c1[1], c1[2]])?;
        let rounding = ROUNDING.0 * thickness + ROUNDING.1 * swept.max.sup(&-swept.min).amax();
        let apart = |k: usize| {
            path.min[k] > swept.max[k] + rounding || path.max[k] < swept.min[k] - rounding
        };
        if (0..3).any(apart) {
            return None;
        }
        let n = normal(&c0, side)?;
        let before = (z0 - c0[0]).dot(&n);
        let after = (z1 - c1[0]).dot(&normal(&c1, side)?);
        if before < -rounding {
            return None;
        }
        let from = [z0, c0[0], c0[1], c0[2]];
        let to = [z1, c1[0], c1[1], c1[2]];
        let impact = ccd::vertex_face(&from, &to, &CcdConfig::new(0.0)).impact?;
        // A particle that begins in contact enters only if it ends inside.
        if impact.time == 0.0 && after >= 0.0 {
            return None;
        }
        let [_, a, b, c] = impact.weights;
        let positive = [a, b, c].map(|w| w.max(0.0));
        let sum: f64 = positive.iter().sum();
        let point = MeshPoint {
            triangle: t,
            weights: positive.map(|w| w / sum),
        };
        Some(Entered {
            key,
            order: (impact.time, t),
            anchor: Anchor::Mesh(point),
            thickness,
            slides: self.slides(world, key, &point, &n),
        })
    }

    /// Whether a particle slides at the start of the step over the point of a mesh with the unit normal `n`.
    fn slides(&self, world: &World, [v, part, _]: Key, point: &MeshPoint, n: &Vec3) -> bool {
        let corners = corners(world, part, point.triangle);
        let shares = corners.iter().zip(point.weights);
        let below: Vec3 = shares.map(|(&c, w)| self.start.v[c as usize] * w).sum();
        along(&(self.start.v[v as usize] - below), n) > SLIDES
    }

    /// Particles that are inside of a solid at the trial.
    fn enter_solids(
        &self,
        world: &World,
        at: &ContactKinematics,
        known: impl Fn(&Key) -> bool + Sync,
        found: &mut Vec<Entered>,
    ) {
        for (p, part) in world.parts.iter().enumerate() {
            let (Object::Solid(solid), Follow::Framed(of)) = (&part.object, &part.follow) else {
                continue;
            };
            let frame = of.frame::<f64>(at);
            let Some(begun) = self.start.frames[p] else {
                continue;
            };
            let enter = |v: u32| -> Option<Entered> {
                let key = [v, p as u32, 0];
                if !may_attach(world, v, p as u32) {
                    return None;
                }
                let whole = world.thickness(world.owner[v as usize] as usize, p);
                let value = |x: &Vec3, thickness: f64| {
                    let surface = Surface { solid, thickness };
                    surface.field(&Vector::<f64>::constant(x)).0
                };
                let z = Vector::constant(&self.now.x[v as usize]) - frame.origin;
                let local = frame.inward(&z).plain();
                // Cheap, and true of nearly all.
                if value(&local, whole) >= 0.0 || known(&key) {
                    return None;
                }
                // The surface of what begins inside is the one through it, so that no spring begins stretched.
                let arm = Vector::constant(&self.start.x[v as usize]) - begun.origin;
                let before = begun.inward(&arm).plain();
                let thickness = whole + value(&before, whole).min(0.0);
                if value(&local, thickness) >= 0.0 {
                    return None;
                }
                let at = crossing(&before, &local, |x| value(x, thickness));
                let surface = Surface { solid, thickness };
                let (x, n) = surface.project(&Vector::<f64>::constant(&at));
                let apart = self.start.v[v as usize] - begun.velocity_at(&arm).plain();
                Some(Entered {
                    key,
                    order: (0.0, 0),
                    anchor: Anchor::Solid(x.plain()),
                    thickness,
                    slides: along(&apart, &begun.outward(&n).plain()) > SLIDES,
                })
            };
            found.extend(parallel::gather(world.rest.len(), 256, |range, entries| {
                entries.extend(range.filter_map(|v| enter(v as u32)));
            }));
        }
    }
}

impl Snapshot {
    /// The corners of a triangle on a side, moved outwards.
    fn face(&self, world: &World, part: u32, t: u32, side: u32, thickness: f64) -> [Vec3; 3] {
        let sign = if side == 0 { thickness } else { -thickness };
        corners(world, part, t).map(|v| self.x[v as usize] + self.offsets[v as usize] * sign)
    }
}

/// The point of a path at which a field vanishes: its start if that is inside already.
fn crossing(from: &Vec3, to: &Vec3, value: impl Fn(&Vec3) -> f64) -> Vec3 {
    let (mut low, mut high) = ((0.0, value(from)), (1.0, value(to)));
    // What begins on the surface enters there.
    if low.1 <= 0.0 {
        return *from;
    }
    let at = |s: f64| from + (to - from) * s;
    for _ in 0..CROSSINGS {
        let secant = low.0 + (high.0 - low.0) * low.1 / (low.1 - high.1);
        let middle = 0.5 * (low.0 + high.0);
        for s in [secant, middle] {
            if s > low.0 && s < high.0 {
                let f = value(&at(s));
                match f > 0.0 {
                    true => low = (s, f),
                    false => high = (s, f),
                }
            }
        }
        if high.0 - low.0 <= 4.0 * f64::EPSILON {
            break;
        }
    }
    at(high.0)
}

/// The first entry of every key.
fn first(mut found: Vec<Entered>) -> Vec<Entered> {
    let order = |a: &Entered, b: &Entered| {
        let times = a.order.0.total_cmp(&b.order.0);
        let keys = a.key.cmp(&b.key);
        keys.then(times).then(a.order.1.cmp(&b.order.1))
    };
    found.sort_by(order);
    found.dedup_by_key(|entry| entry.key);
    found
}

/// Size of the part of a velocity that is across `n` [m/s].
fn along(v: &Vec3, n: &Vec3) -> f64 {
    (v - n * v.dot(n)).norm()
}

fn may_attach(world: &World, v: u32, part: u32) -> bool {
    let owner = world.owner[v as usize];
    if owner == part {
        return world.parts[part as usize].self_contact;
    }
    if world.is_obstacle(owner as usize) && world.is_obstacle(part as usize) {
        return false;
    }
    let own = v - world.first[owner as usize];
    let exempt = world.parts[owner as usize].exempt.as_ref();
    !exempt.is_some_and(|e| e.collider == part && e.vertices.binary_search(&own).is_ok())
}

/// A closed surface has one side, a sheet two.
fn sides(world: &World, part: u32) -> std::ops::Range<u32> {
    0..if world.parts[part as usize].closed {
        1
    } else {
        2
    }
}

/// Corners of a triangle in the numbering of the world.
fn corners(world: &World, part: u32, t: u32) -> [u32; 3] {
    match &world.parts[part as usize].object {
        Object::Mesh(mesh) => {
            let base = world.first[part as usize];
            mesh.triangles()[t as usize].map(|v| base + v)
        }
        _ => [0; 3],
    }
}

fn normal(c: &[Vec3; 3], side: u32) -> Option<Vec3> {
    let area = (c[1] - c[0]).cross(&(c[2] - c[0]));
    let n = area.try_normalize(f64::MIN_POSITIVE)?;
    Some(if side == 0 { n } else { -n })
}

/// Barycentric weights of a point in the plane of a triangle.
fn weights(c: &[Vec3; 3], y: &Vec3) -> [f64; 3] {
    let area = (c[1] - c[0]).cross(&(c[2] - c[0]));
    let square = area.norm_squared();
    let of = |i: usize| {
        let (a, b) = (c[(i + 1) % 3] - y, c[(i + 2) % 3] - y);
        a.cross(&b).dot(&area) / square
    };
    let (second, third) = (of(1), of(2));
    [1.0 - second - third, second, third]
}

/// Velocity of a vertex [m/s].
fn velocity(world: &World, v: u32, at: &ContactKinematics) -> Vec3 {
    match &world.parts[world.owner[v as usize] as usize].follow {
        Follow::Weighted { .. } => {
            let entries = world.entries(v).iter();
            entries.map(|&(j, b)| at.v[j as usize] * b).sum()
        }
        Follow::Framed(of) => {
            let frame = of.frame::<f64>(at);
            let lever = frame.outward(&Vector::constant(&world.rest[v as usize]));
            frame.velocity_at(&lever).plain()
        }
    }
}
