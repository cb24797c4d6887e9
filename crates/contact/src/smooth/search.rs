//! Which vertices may touch which surfaces.

use stiction_geometry::Aabb;
use stiction_geometry::collide::bvh::{Aabb32, Bvh};
use stiction_geometry::collide::point_triangle;
use stiction_geometry::implicit::{SampleForm, SurfaceSample, closest, farthest_closest};
use stiction_math::elementary::rotation_angle;
use stiction_math::parallel;
use stiction_math::{Quat, Vec3};

use super::config::SmoothError;
use super::contacts::{Near, Pair, SmoothContacts};
use super::world::{Follow, FrameOf, Part, Skin, World, faceted};
use crate::kinematics::ContactKinematics;

/// Positions and velocities at the last search, and its margins.
#[derive(Debug, Default)]
pub(super) struct Search {
    /// Vertices of bodies and obstacles [m].
    x: Vec<Vec3>,
    /// Largest displacement of each before the pairs are stale [m].
    allowed: Vec<f64>,
    frames: Vec<Reach>,
    /// Trees over the samples of deforming surfaces, one per collider.
    trees: Vec<Option<Bvh>>,
    /// On which side of which surface a vertex is, where that is not given: sorted by vertex and
    /// surface. 0 for pairs that are left alone.
    sides: Vec<([u32; 2], f64)>,
    /// Whether a step begins: what is not in contact is on the side where it is now.
    begins: bool,
}

/// Former position of the frame of a collider.
#[derive(Clone, Copy, Debug)]
struct Reach {
    origin: Vec3,
    rotation: Quat,
    /// Radius about the origin of the relevant points [m].
    radius: f64,
    allowed: f64,
}

/// Factor of the predicted motion that the search covers.
const EXTEND: f64 = 2.0;
/// Trees are built anew when their cost has grown by this factor.
const REBUILD: f64 = 1.6;
/// Vertices per parallel task.
const GRAIN: usize = 128;

/// A vertex and a surface in reach, before the lists are joined.
struct Found {
    query: u32,
    surface: u32,
    samples: Vec<u32>,
    /// Without a given side: the sign of the height at the search.
    above: bool,
    /// Whether it is farther away than contacts begin.
    apart: bool,
}

impl SmoothContacts {
    /// Lists the pairs that may touch in motions from `at`, for about `h` [s]: everything is
    /// allowed to move by twice its velocity times `h` and a margin more. Motion is relative to the
    /// mean motion of all vertices, so that a scene that moves as a whole has the same pairs.
    pub fn find(&mut self, at: &ContactKinematics, h: f64) -> Result<(), SmoothError> {
        self.check(at)?;
        if !(h >= 0.0 && h.is_finite()) {
            let (name, value, rule) = ("h", h, "zero or more and finite");
            return Err(SmoothError::Setting { name, value, rule });
        }
        let mut search = std::mem::take(&mut self.search);
        let found = search.run(self, at, h);
        self.search = search;
        self.list(found?);
        Ok(())
    }

    /// Whether something has moved farther than the last [`find`](Self::find) allowed for: pairs
    /// may then be missing, and it is to be called again.
    pub fn is_stale(&self, at: &ContactKinematics) -> Result<bool, SmoothError> {
        self.check(at)?;
        let s = &self.search;
        if s.x.len() != self.world.rest.len() || s.frames.len() != self.world.colliders.len() {
            return Ok(true);
        }
        let displacements = parallel::map(s.x.len(), 1024, |i| {
            self.world.motion(i as u32, at).x.plain() - s.x[i]
        });
        let together = mean(displacements.iter().copied());
        let far = |(displacement, allowed): (&Vec3, &f64)| {
            let displacement = (displacement - together).norm();
            displacement.is_nan() || displacement > *allowed
        };
        if displacements.iter().zip(&s.allowed).any(far) {
            return Ok(true);
        }
        let parts = self.world.colliders.iter().zip(&s.frames);
        for (part, was) in parts {
            if let Some((origin, rotation)) = pose(part, at) {
                let angle = rotation_angle(&(was.rotation * rotation.inverse()));
                let turned = if angle > 0.0 { angle * was.radius } else { 0.0 };
                let displacement = (origin - was.origin - together).norm() + turned;
                if displacement.is_nan() || displacement > was.allowed {
                    return Ok(true);
                }
            }
        }
        Ok(false)
    }

    /// The sides that were found, for a checkpoint: pairs of vertex and surface, and 1, −1 or 0.
    pub fn sides(&self) -> &[([u32; 2], f64)] {
        &self.search.sides
    }

    /// Begins a step: the next search keeps the sides of contacts, and takes all others from where
    /// vertices are then.
    pub fn begin(&mut self) {
        self.search.begins = true;
    }

    /// Takes back what [`sides`](Self::sides) gave.
    pub fn set_sides(&mut self, mut sides: Vec<([u32; 2], f64)>) {
        sides.sort_unstable_by_key(|s| s.0);
        self.search.sides = sides;
    }

    /// Joins what was found into the lists that evaluation uses.
    fn list(&mut self, found: Vec<Found>) {
        self.pairs.clear();
        self.near.clear();
        self.samples.clear();
        self.vertices.clear();
        self.blocks.clear();
        let old = std::mem::take(&mut self.search.sides);
        let begins = std::mem::take(&mut self.search.begins);
        let mut sides = Vec::new();
        for f in found {
            let (first, second) = (self.world.part_of(f.query), f.surface as usize);
            let part = &self.world.colliders[second];
            let own = self.world.owner[f.query as usize] == part.parent;
            let mut side = 1.0;
            if own || !part.closed {
                let key = [f.query, f.surface];
                let known = old.binary_search_by_key(&key, |s| s.0);
                side = match known {
                    Ok(i) if !(begins && f.apart) => old[i].1,
                    _ if f.above => 1.0,
                    // A vertex of a solid lies inside its own far side: no contact.
                    _ if part.closed => 0.0,
                    _ => -1.0,
                };
                sides.push((key, side));
            }
            if side == 0.0 {
                continue;
            }
            let (vertex_start, block_start) = (self.vertices.len(), self.blocks.len());
            let near_start;
            let near_end;
            if let Skin::Deforming(all) = &part.skin {
                near_start = self.near.len();
                let corners = f.samples.iter().flat_map(|&i| all[i as usize].corners);
                self.vertices.extend(corners);
                self.vertices[vertex_start..].sort_unstable();
                dedup_tail(&mut self.vertices, vertex_start);
                let vertices = &self.vertices[vertex_start..];
                let slot = |v: u32| vertices.partition_point(|&u| u < v) as u32;
                let near = f.samples.iter().map(|&i| Near {
                    sample: i,
                    slots: all[i as usize].corners.map(slot),
                });
                self.near.extend(near);
                near_end = self.near.len();
            } else {
                near_start = self.samples.len();
                self.samples.extend(&f.samples);
                near_end = self.samples.len();
                self.world.blocks_of(f.query, &mut self.blocks);
                if let Follow::Framed(FrameOf::Rigid { block, .. }) = part.follow {
                    self.blocks.extend([block, block + 1]);
                }
                self.blocks[block_start..].sort_unstable();
                dedup_tail(&mut self.blocks, block_start);
            }
            self.pairs.push(Pair {
                query: f.query,
                surface: f.surface,
                side,
                delta: delta(self, first, part),
                rest: self.rest_of([f.query, f.surface]),
                friction: self.friction(first.material, part.material),
                near: near_start..near_end,
                vertices: vertex_start..self.vertices.len(),
                blocks: block_start..self.blocks.len(),
            });
        }
        self.search.sides = sides;
    }
}

/// Whether a sample is so near to a vertex of the same body at rest that the two never touch.
fn is_neighbour(vertex: &Vec3, s: &SurfaceSample, rest: &[Vec3]) -> bool {
    let p = s.corners.map(|c| rest[c as usize]);
    let middle = p[0] * s.weights[0] + p[1] * s.weights[1] + p[2] * s.weights[2];
    match s.form {
        SampleForm::Plane => (vertex - middle).norm() < 2.0 * s.radius,
        SampleForm::Facet => {
            let size = p.iter().map(|p| (p - middle).norm()).fold(0.0, f64::max);
            let limit = 2.0 * s.radius.max(size);
            point_triangle(vertex, &p).squared < limit * limit
        }
    }
}

/// Whether a point at the signed distance `height` [m] from the closest face does not come closer than contacts begin, where
/// `reach` [m] is that distance and what all may move. Facets act deep inside a closed surface, and on both sides of an
/// open one.
fn is_out_of_reach(height: f64, closed: bool, reach: f64) -> bool {
    let outside = if closed { height } else { height.abs() };
    outside > reach
}

/// The mean of vectors, in their order; zero of none.
fn mean(list: impl Iterator<Item = Vec3>) -> Vec3 {
    let (mut sum, mut count) = (Vec3::zeros(), 0.0);
    for v in list {
        sum += v;
        count += 1.0;
    }
    if count > 0.0 { sum / count } else { sum }
}

fn dedup_tail(list: &mut Vec<u32>, begin: usize) {
    let mut write = begin;
    for read in begin..list.len() {
        if read == begin || list[read] != list[write - 1] {
            list[write] = list[read];
            write += 1;
        }
    }
    list.truncate(write);
}

/// The tolerance of two colliders [m].
fn delta(contacts: &SmoothContacts, a: &Part, b: &Part) -> f64 {
    let mean = 0.5 * (a.thickness + b.thickness);
    contacts.config.delta.unwrap_or(mean)
}

/// Origin and rotation of the frame of a collider, if it has one.
fn pose(part: &Part, at: &ContactKinematics) -> Option<(Vec3, Quat)> {
    match part.follow {
        Follow::Framed(FrameOf::Rigid { block, rigid }) => {
            Some((at.x[block as usize], at.rotations[rigid as usize]))
        }
        Follow::Framed(FrameOf::Obstacle(i)) => {
            let pose = &at.obstacles[i as usize].pose;
            Some((pose.translation, pose.rotation))
        }
        Follow::Weighted { .. } => None,
    }
}

impl Search {
    fn run(
        &mut self,
        contacts: &SmoothContacts,
        at: &ContactKinematics,
        h: f64,
    ) -> Result<Vec<Found>, SmoothError> {
        let world = &contacts.world;
        let thickest = world.colliders.iter().map(|p| p.thickness);
        let tolerance = contacts
            .config
            .delta
            .unwrap_or(thickest.fold(0.0, f64::max));
        let margin = contacts.config.margin.max(tolerance);
        self.place(world, at, h, margin)?;
        self.grow_trees(world)?;
        // Boxes of whole surfaces first; those without bounds are tried always.
        let mut bounded = Vec::new();
        let mut boxes = Vec::new();
        let mut everywhere = Vec::new();
        for (c, part) in world.colliders.iter().enumerate() {
            match self.bounds(c, part, tolerance) {
                Extent::None => {}
                Extent::All => everywhere.push(c as u32),
                Extent::Box(b) => {
                    bounded.push(c as u32);
                    boxes.push(Aabb32::from(&b));
                }
            }
        }
        let tree = Bvh::build(&boxes).map_err(|_| SmoothError::NotFinite)?;
        Ok(parallel::gather(world.rest.len(), GRAIN, |range, out| {
            let mut surfaces = Vec::new();
            for query in range {
                let (a, x) = (self.allowed[query], self.x[query]);
                let around = Aabb32::from(&Aabb {
                    min: x.add_scalar(-a),
                    max: x.add_scalar(a),
                });
                surfaces.clear();
                surfaces.extend_from_slice(&everywhere);
                tree.overlapping(&around, |i| surfaces.push(bounded[i as usize]));
                surfaces.sort_unstable();
                for &surface in &surfaces {
                    out.extend(self.reach(contacts, query as u32, surface, tolerance));
                }
            }
        }))
    }

    /// Positions, and the allowed displacements.
    fn place(
        &mut self,
        world: &World,
        at: &ContactKinematics,
        h: f64,
        margin: f64,
    ) -> Result<(), SmoothError> {
        let placed = parallel::map(world.rest.len(), 1024, |i| {
            let m = world.motion(i as u32, at);
            (m.x.plain(), m.v.plain())
        });
        let together = mean(placed.iter().map(|p| p.1));
        let allowed = |v: &Vec3| margin + EXTEND * h * (v - together).norm();
        self.x = placed.iter().map(|p| p.0).collect();
        self.allowed = placed.iter().map(|p| allowed(&p.1)).collect();
        let finite = |x: &Vec3| x.iter().all(|c| c.is_finite());
        if !self.x.iter().all(finite) || !self.allowed.iter().all(|a| a.is_finite()) {
            return Err(SmoothError::NotFinite);
        }
        let all = Aabb::of(&self.x);
        self.frames.clear();
        for part in &world.colliders {
            let Some((origin, rotation)) = pose(part, at) else {
                self.frames.push(Reach {
                    origin: Vec3::zeros(),
                    rotation: Quat::identity(),
                    radius: 0.0,
                    allowed: f64::INFINITY,
                });
                continue;
            };
            // Only points where something can be matter: within the surface's reach, and no
            // farther than the farthest vertex.
            let farthest = all.map_or(0.0, |b| {
                let far = (b.min - origin).abs().sup(&(b.max - origin).abs());
                far.norm()
            });
            let extent = match &part.skin {
                Skin::Solid(_, shape) => shape.radius() + margin,
                Skin::Rigid(surface) => surface
                    .bounds()
                    .map_or(0.0, |b| b.min.abs().sup(&b.max.abs()).norm()),
                Skin::None | Skin::Deforming(_) => 0.0,
            };
            let radius = extent.min(farthest);
            let (velocity, spin) = match part.follow {
                Follow::Framed(FrameOf::Rigid { block, .. }) => {
                    (at.v[block as usize], at.v[block as usize + 1])
                }
                Follow::Framed(FrameOf::Obstacle(i)) => {
                    let frame = &at.obstacles[i as usize];
                    (frame.velocity, frame.spin)
                }
                Follow::Weighted { .. } => (Vec3::zeros(), Vec3::zeros()),
            };
            let speed = (velocity - together).norm() + spin.norm() * radius;
            let allowed = margin + EXTEND * h * speed;
            let sound = allowed.is_finite()
                && origin.iter().all(|c| c.is_finite())
                && rotation.coords.iter().all(|c| c.is_finite());
            if !sound {
                return Err(SmoothError::NotFinite);
            }
            self.frames.push(Reach {
                origin,
                rotation,
                radius,
                allowed,
            });
        }
        Ok(())
    }

    /// Trees over samples of deforming surfaces at the places of now.
    fn grow_trees(&mut self, world: &World) -> Result<(), SmoothError> {
        let mut trees = std::mem::take(&mut self.trees);
        trees.resize_with(world.colliders.len(), || None);
        for (part, tree) in world.colliders.iter().zip(&mut trees) {
            let Skin::Deforming(samples) = &part.skin else {
                continue;
            };
            let boxes = parallel::map(samples.len(), 512, |i| {
                Aabb32::from(&self.around(&samples[i]))
            });
            let refitted = match tree {
                Some(t) => t.refit(&boxes).is_ok() && t.degradation() < REBUILD,
                None => false,
            };
            if !refitted {
                *tree = Some(Bvh::build(&boxes).map_err(|_| SmoothError::NotFinite)?);
            }
        }
        self.trees = trees;
        Ok(())
    }

    /// The box outside which a sample has no say.
    fn around(&self, s: &SurfaceSample) -> Aabb {
        let reach = s.radius + self.slack(s);
        let c = self.point(s);
        let mut around = Aabb { min: c, max: c };
        if s.form != SampleForm::Plane {
            for x in s.corners.map(|c| self.x[c as usize]) {
                around.min = around.min.inf(&x);
                around.max = around.max.sup(&x);
            }
        }
        Aabb {
            min: around.min.add_scalar(-reach),
            max: around.max.add_scalar(reach),
        }
    }

    /// The distance of `x` from a sample [m].
    fn distance(&self, x: &Vec3, s: &SurfaceSample) -> f64 {
        match s.form {
            SampleForm::Plane => (x - self.point(s)).norm(),
            SampleForm::Facet => {
                let corners = s.corners.map(|c| self.x[c as usize]);
                point_triangle(x, &corners).squared.sqrt()
            }
        }
    }

    /// Position of a sample [m].
    fn point(&self, s: &SurfaceSample) -> Vec3 {
        let x = s.corners.map(|c| self.x[c as usize]);
        x[0] * s.weights[0] + x[1] * s.weights[1] + x[2] * s.weights[2]
    }

    /// Allowed displacement of a sample [m].
    fn slack(&self, s: &SurfaceSample) -> f64 {
        let slack = s.corners.map(|c| self.allowed[c as usize]);
        slack.into_iter().fold(0.0, f64::max)
    }

    fn bounds(&self, c: usize, part: &Part, tolerance: f64) -> Extent {
        let frame = &self.frames[c];
        let ball = |centre: Vec3, radius: f64| {
            if !radius.is_finite() {
                return Extent::All;
            }
            Extent::Box(Aabb {
                min: centre.add_scalar(-radius),
                max: centre.add_scalar(radius),
            })
        };
        match &part.skin {
            Skin::None => Extent::None,
            Skin::Solid(_, shape) => ball(frame.origin, shape.radius() + tolerance + frame.allowed),
            Skin::Rigid(surface) => match surface.bounds() {
                None => Extent::None,
                Some(b) => {
                    let centre = frame.origin + frame.rotation * b.centre();
                    ball(centre, 0.5 * b.diagonal() + frame.allowed)
                }
            },
            Skin::Deforming(samples) => {
                let boxes = samples.iter().map(|s| self.around(s));
                boxes
                    .reduce(|a, b| a.union(&b))
                    .map_or(Extent::None, Extent::Box)
            }
        }
    }

    /// The samples of a surface that a vertex may come to feel; none if there are none.
    fn reach(
        &self,
        contacts: &SmoothContacts,
        query: u32,
        surface: u32,
        tolerance: f64,
    ) -> Option<Found> {
        let world = &contacts.world;
        let owner = world.owner[query as usize];
        let (first, part) = (world.part_of(query), &world.colliders[surface as usize]);
        let own = owner == part.parent;
        let fixed = |p: &Part| matches!(p.follow, Follow::Framed(FrameOf::Obstacle(_)));
        if (own && !part.self_contact) || (fixed(first) && fixed(part)) {
            return None;
        }
        let (x, a) = (self.x[query as usize], self.allowed[query as usize]);
        let frame = &self.frames[surface as usize];
        let local = || frame.rotation.inverse_transform_vector(&(x - frame.origin));
        let mut samples = Vec::new();
        let height = match &part.skin {
            Skin::None => return None,
            Skin::Solid(solid, _) => {
                let q = stiction_math::Vector::constant(&local());
                let d: f64 = solid.jet(&q).value;
                return (d < tolerance + a + frame.allowed).then_some(Found {
                    query,
                    surface,
                    samples,
                    above: true,
                    apart: false,
                });
            }
            Skin::Rigid(mesh) => {
                let q = local();
                let margin = a + frame.allowed;
                mesh.near(&q, margin, &mut samples);
                let height = mesh.height(&q, &samples)?;
                if mesh.is_faceted() && is_out_of_reach(height, part.closed, tolerance + margin) {
                    return None;
                }
                height
            }
            Skin::Deforming(all) => {
                let around = Aabb32::from(&Aabb {
                    min: x.add_scalar(-a),
                    max: x.add_scalar(a),
                });
                let rest = world.rest[query as usize];
                let mut nearest = (f64::INFINITY, 0);
                let tree = self.trees[surface as usize].as_ref()?;
                tree.overlapping(&around, |i| {
                    let s = &all[i as usize];
                    let distance = self.distance(&x, s);
                    if distance >= s.radius + self.slack(s) + a {
                        return;
                    }
                    if own && is_neighbour(&rest, s, &world.rest) {
                        return;
                    }
                    if (distance, i) < nearest {
                        nearest = (distance, i);
                    }
                    samples.push(i);
                });
                samples.sort_unstable();
                if samples.is_empty() {
                    return None;
                }
                if faceted(all) {
                    let list = samples.iter().map(|&i| &all[i as usize]);
                    let list = list.map(|s| (s, s.corners));
                    let height = closest(&x, list, |c| self.x[c as usize])?.signed();
                    let slack = |i: &u32| self.slack(&all[*i as usize]);
                    let margin = a + samples.iter().map(slack).fold(0.0, f64::max);
                    if is_out_of_reach(height, part.closed, tolerance + margin) {
                        return None;
                    }
                    let limit = farthest_closest(height.abs(), margin);
                    samples.retain(|&i| self.distance(&x, &all[i as usize]) <= limit);
                    height
                } else {
                    let s = all.get(nearest.1 as usize)?;
                    let [p, q, r] = s.corners.map(|c| self.x[c as usize]);
                    let normal = (q - p).cross(&(r - p));
                    let height = normal.dot(&(x - self.point(s)));
                    let length = normal.norm();
                    if length > 0.0 {
                        height / length
                    } else {
                        height
                    }
                }
            }
        };
        (!samples.is_empty()).then_some(Found {
            query,
            surface,
            samples,
            above: height >= 0.0,
            apart: height.abs() > tolerance,
        })
    }
}

enum Extent {
    None,
    All,
    Box(Aabb),
}
