//! Colliders in one numbering: vertices that follow blocks or obstacles, and surfaces with
//! potentials.

use stiction_geometry::Aabb;
use stiction_geometry::analytic::Shape;
use stiction_geometry::implicit::{
    RigidSurface, SampleConfig, SampleForm, SmoothSolid, SurfaceSample, creases, facets, pieces,
    samples,
};
use stiction_math::{Real, Vec3, Vector};

use super::config::{SmoothConfig, SmoothError};
use super::points::{Extra, Spacing};
use crate::detect::{Collider, ColliderForm, Points};
use crate::kinematics::Blocks;
pub(super) use crate::kinematics::FrameOf;

/// All colliders.
#[derive(Debug)]
pub(super) struct World {
    /// Then further pieces of their surfaces: see [`Part::parent`].
    pub colliders: Vec<Part>,
    /// The first vertex of each collider, and the number of all at the end. Points on edges and faces
    /// come after the vertices of all colliders.
    pub first: Vec<u32>,
    /// The first point on an edge or face of each collider, and the number of all points at the end.
    pub first_extra: Vec<u32>,
    /// The collider of each vertex and point.
    pub owner: Vec<u32>,
    /// Positions of the vertices at rest, in the frame of rigid ones [m].
    pub rest: Vec<Vec3>,
    /// Blocks, rigid bodies and obstacles that are named.
    pub blocks: usize,
    pub rigids: usize,
    pub obstacles: usize,
}

/// One collider.
#[derive(Debug)]
pub(super) struct Part {
    pub id: u32,
    pub material: u32,
    pub thickness: f64,
    pub follow: Follow,
    pub skin: Skin,
    pub closed: bool,
    pub self_contact: bool,
    /// The collider that it is a piece of: itself, unless a surface with concave edges has several.
    pub parent: u32,
}

/// Dependence of vertices on blocks.
#[derive(Debug)]
pub(super) enum Follow {
    /// Σ b x over entries.
    Weighted {
        start: Vec<u32>,
        entries: Vec<(u32, f64)>,
    },
    /// Fixed in a frame.
    Framed(FrameOf),
}

/// Surface of a collider.
#[derive(Debug)]
pub(super) enum Skin {
    /// Nothing: only its vertices count.
    None,
    /// An analytic shape.
    Solid(SmoothSolid, Shape),
    /// A mesh that moves as a whole.
    Rigid(Box<RigidSurface>),
    /// A mesh that deforms; corners of samples are vertices of the world.
    Deforming(Vec<SurfaceSample>),
}

/// A point and its motion.
#[derive(Clone, Copy, Debug)]
pub(super) struct Motion<T> {
    pub x: Vector<T>,
    pub v: Vector<T>,
    /// From the origin of its frame [m]; zero for weighted vertices.
    pub lever: Vector<T>,
}

/// The samples of a mesh: planes that are blended, or whole faces where those would be wrong by more
/// than the distance δ at which contacts begin. Blended planes are worth some error, up to [`CURVED`] δ,
/// for a curved surface, whose facets are no better, and for a body that deforms: its faces bend, and the
/// gradient of a distance jumps at every crease. Sheets that deform always have blended planes: vertices
/// of stacked sheets lie on one another's borders, where the distance is not smooth. Facets come piece
/// by piece.
fn surfaces(
    triangles: &[[u32; 3]],
    rest: &[Vec3],
    closed: bool,
    deforms: bool,
    sampling: &SampleConfig,
) -> Vec<Vec<SurfaceSample>> {
    // The radius of a divided face is that of its parts.
    let undivided = sampling.spacing.is_infinite();
    if (closed || !deforms) && undivided {
        let creases = creases(triangles, rest, sampling.radius);
        let limit = if creases.curved || deforms {
            CURVED
        } else {
            1.0
        };
        if creases.deviation > limit * sampling.reach {
            let reach = depth(rest, closed).max(DEEP * sampling.reach);
            let mut lists = Vec::new();
            let faces = facets(triangles, rest.len(), reach);
            for (sample, piece) in faces.into_iter().zip(pieces(triangles, rest)) {
                let piece = piece as usize;
                if lists.len() <= piece {
                    lists.resize(piece + 1, Vec::new());
                }
                lists[piece].push(sample);
            }
            return lists;
        }
    }
    let samples = samples(triangles, rest, sampling);
    if samples.is_empty() {
        Vec::new()
    } else {
        vec![samples]
    }
}

/// The first piece of a surface; the others go to `more`.
fn first_of(skins: Vec<Skin>, more: &mut Vec<Skin>) -> Skin {
    let mut skins = skins.into_iter();
    let first = skins.next().unwrap_or(Skin::None);
    more.extend(skins);
    first
}

/// Facets reach at least this many δ.
const DEEP: f64 = 4.0;

/// Depth inside a facet at which it still acts [m]: to the middle of a solid where it is thin.
fn depth(rest: &[Vec3], closed: bool) -> f64 {
    let size = Aabb::of(rest).map_or(0.0, |b| (b.max - b.min).min());
    if closed { 0.5 * size } else { 0.0 }
}

/// Largest deviation of blended planes from the distance where they are preferred, in units of δ.
const CURVED: f64 = 10.0;

/// Position of a point on a face at rest [m].
fn at(point: &Extra, rest: &[Vec3]) -> Vec3 {
    point.iter().map(|&(v, b)| rest[v as usize] * b).sum()
}

/// Appends the blocks that a point on a face follows, each once.
fn follow_corners(point: &Extra, start: &mut Vec<u32>, entries: &mut Vec<(u32, f64)>) {
    let begin = entries.len();
    for &(vertex, b) in point {
        if b == 0.0 {
            continue;
        }
        for e in start[vertex as usize]..start[vertex as usize + 1] {
            let (block, weight) = entries[e as usize];
            match entries[begin..].iter_mut().find(|e| e.0 == block) {
                Some(entry) => entry.1 += b * weight,
                None => entries.push((block, b * weight)),
            }
        }
    }
    start.push(entries.len() as u32);
}

/// Whether samples are whole faces.
pub(super) fn faceted(samples: &[SurfaceSample]) -> bool {
    samples.first().is_some_and(|s| s.form != SampleForm::Plane)
}

impl World {
    pub fn new(colliders: &[Collider], config: &SmoothConfig) -> Result<Self, SmoothError> {
        let mut w = World {
            colliders: Vec::with_capacity(colliders.len()),
            first: vec![0],
            first_extra: Vec::new(),
            owner: Vec::new(),
            rest: Vec::new(),
            blocks: 0,
            rigids: 0,
            obstacles: 0,
        };
        // Every potential must be reliable up to the largest tolerance of any pair.
        let thickest = colliders.iter().map(|c| c.thickness).fold(0.0, f64::max);
        let sampling = SampleConfig {
            reach: config.delta.unwrap_or(thickest),
            ..config.sampling
        };
        let mut extras = Vec::with_capacity(colliders.len());
        let mut further = Vec::new();
        let spacings = Spacing::of(colliders, sampling.reach);
        for (i, collider) in colliders.iter().enumerate() {
            let fail = |reason: String| SmoothError::Collider {
                collider: i,
                reason,
            };
            if !(collider.thickness >= 0.0 && collider.thickness.is_finite()) {
                return Err(fail(format!("the thickness is {} m", collider.thickness)));
            }
            let part = w.part(collider, config, &sampling, &spacings[i]);
            let (part, extra, more) = part.map_err(fail)?;
            extras.push(extra);
            let follow = |follow: &Follow| match follow {
                Follow::Framed(frame) => Follow::Framed(*frame),
                // Corners are vertices of the collider itself.
                Follow::Weighted { .. } => Follow::Weighted {
                    start: vec![0],
                    entries: Vec::new(),
                },
            };
            further.extend(more.into_iter().map(|skin| Part {
                follow: follow(&part.follow),
                skin,
                ..part
            }));
            w.owner.resize(w.rest.len(), i as u32);
            if w.rest.len() >= u32::MAX as usize {
                return Err(fail("there are too many vertices".into()));
            }
            w.first.push(w.rest.len() as u32);
            w.colliders.push(part);
        }
        w.colliders.append(&mut further);
        for (i, extra) in extras.iter().enumerate() {
            w.first_extra.push(w.rest.len() as u32);
            w.rest.extend(extra);
            w.owner.resize(w.rest.len(), i as u32);
        }
        w.first_extra.push(w.rest.len() as u32);
        Ok(w)
    }

    /// Adds the vertices of a collider and returns the rest of it, and its points on edges and faces.
    fn part(
        &mut self,
        c: &Collider,
        config: &SmoothConfig,
        sampling: &SampleConfig,
        spacing: &Spacing,
    ) -> Result<(Part, Vec<Vec3>, Vec<Skin>), String> {
        let mut extras = Vec::new();
        let mut further = Vec::new();
        let base = self.rest.len() as u32;
        let rigid = |triangles: &[[u32; 3]], x: &[Vec3], closed: bool, more: &mut Vec<Skin>| {
            let mut skins = Vec::new();
            for samples in surfaces(triangles, x, closed, false, sampling) {
                let surface = RigidSurface::new(&samples, x).map_err(|e| e.to_string())?;
                skins.push(Skin::Rigid(Box::new(surface)));
            }
            Ok::<_, String>(first_of(skins, more))
        };
        let known = |triangles: &[[u32; 3]], count: usize| {
            let named = triangles.iter().flatten();
            match named.copied().find(|v| *v as usize >= count) {
                Some(v) => Err(format!("a triangle names vertex {v}, which does not exist")),
                None => Ok(()),
            }
        };
        let finite = |x: &[Vec3]| match x.iter().position(|p| !p.iter().all(|c| c.is_finite())) {
            Some(v) => Err(format!("vertex {v} is not finite")),
            None => Ok(()),
        };
        let (follow, skin, closed, self_contact) = match &c.form {
            ColliderForm::Shape(shape) => {
                shape.check().map_err(|e| e.to_string())?;
                let frame = self.obstacle();
                let skin = Skin::Solid(SmoothSolid::rounded(*shape, config.rounding), *shape);
                (Follow::Framed(frame), skin, true, false)
            }
            // Smooth potentials need surfaces with second derivatives.
            ColliderForm::LevelSet(_) => {
                return Err(
                    "a level set has no smooth surface; let its mesh be touched instead".into(),
                );
            }
            ColliderForm::Mesh(mesh) => {
                known(&mesh.triangles, mesh.vertices.len())?;
                finite(&mesh.vertices)?;
                self.rest.extend(&mesh.vertices);
                let spacing = spacing.of_obstacle();
                let extra = spacing.points(&mesh.triangles, &mesh.vertices)?;
                extras.extend(extra.iter().map(|p| at(p, &mesh.vertices)));
                let frame = self.obstacle();
                let skin = rigid(&mesh.triangles, &mesh.vertices, mesh.closed, &mut further)?;
                (Follow::Framed(frame), skin, mesh.closed, false)
            }
            ColliderForm::Body(body) => {
                known(&body.triangles, body.points.len())?;
                let own = body.self_contact;
                match &body.points {
                    Points::Rigid {
                        block,
                        rigid: index,
                        local,
                    } => {
                        finite(local)?;
                        self.rest.extend(local);
                        let extra = spacing.points(&body.triangles, local)?;
                        extras.extend(extra.iter().map(|p| at(p, local)));
                        self.blocks = self.blocks.max(*block as usize + 2);
                        self.rigids = self.rigids.max(*index as usize + 1);
                        let frame = FrameOf::Rigid {
                            block: *block,
                            rigid: *index,
                        };
                        let skin = rigid(&body.triangles, local, body.closed, &mut further)?;
                        (Follow::Framed(frame), skin, body.closed, false)
                    }
                    Points::Weighted { start, entries } => {
                        if body.rest.len() != body.points.len() {
                            return Err("it has not one rest position per vertex".into());
                        }
                        let sound = start.first() == Some(&0)
                            && start.windows(2).all(|w| w[0] <= w[1])
                            && start.last().is_some_and(|e| *e as usize == entries.len());
                        if !sound {
                            return Err("the ranges of its point map are broken".into());
                        }
                        finite(&body.rest)?;
                        self.rest.extend(&body.rest);
                        let named = entries.iter().map(|e| e.0 as usize + 1);
                        self.blocks = self.blocks.max(named.max().unwrap_or(0));
                        let mut skins = Vec::new();
                        for mut list in
                            surfaces(&body.triangles, &body.rest, body.closed, true, sampling)
                        {
                            for sample in &mut list {
                                sample.corners = sample.corners.map(|v| v + base);
                            }
                            skins.push(Skin::Deforming(list));
                        }
                        let extra = spacing.points(&body.triangles, &body.rest)?;
                        extras.extend(extra.iter().map(|p| at(p, &body.rest)));
                        let (mut start, mut entries) = (start.clone(), entries.clone());
                        for point in &extra {
                            follow_corners(point, &mut start, &mut entries);
                        }
                        let follow = Follow::Weighted { start, entries };
                        let skin = first_of(skins, &mut further);
                        (follow, skin, body.closed, own)
                    }
                }
            }
        };
        let part = Part {
            id: c.id,
            material: c.material,
            thickness: c.thickness,
            follow,
            skin,
            closed,
            self_contact,
            parent: self.colliders.len() as u32,
        };
        Ok((part, extras, further))
    }

    /// The number of a vertex or point in its collider's own list: vertices, then points.
    pub fn local(&self, vertex: u32) -> u32 {
        let owner = self.owner[vertex as usize] as usize;
        let (first, end) = (self.first[owner], self.first[owner + 1]);
        match vertex < end {
            true => vertex - first,
            false => end - first + vertex - self.first_extra[owner],
        }
    }

    fn obstacle(&mut self) -> FrameOf {
        self.obstacles += 1;
        FrameOf::Obstacle(self.obstacles as u32 - 1)
    }

    /// Position and velocity of a vertex.
    pub fn motion<T: Real>(&self, vertex: u32, blocks: &impl Blocks<T>) -> Motion<T> {
        let part = self.part_of(vertex);
        match &part.follow {
            Follow::Weighted { .. } => {
                let (mut x, mut v) = (Vector::zero(), Vector::zero());
                for &(j, b) in self.entries(vertex) {
                    x += blocks.x(j).times(b);
                    v += blocks.v(j).times(b);
                }
                let lever = Vector::zero();
                Motion { x, v, lever }
            }
            Follow::Framed(of) => {
                let frame = of.frame(blocks);
                let local = Vector::constant(&self.rest[vertex as usize]);
                let lever = frame.outward(&local);
                Motion {
                    x: frame.origin + lever,
                    v: frame.velocity_at(&lever),
                    lever,
                }
            }
        }
    }

    /// Calls `add` with what the force `f` on a vertex is for blocks: forces, and a torque for the
    /// angular block of a rigid body.
    pub fn pull<T: Real>(
        &self,
        vertex: u32,
        lever: &Vector<T>,
        f: &Vector<T>,
        mut add: impl FnMut(u32, Vector<T>),
    ) {
        match &self.part_of(vertex).follow {
            Follow::Weighted { .. } => {
                for &(j, b) in self.entries(vertex) {
                    add(j, f.times(b));
                }
            }
            Follow::Framed(FrameOf::Rigid { block, .. }) => {
                add(*block, *f);
                add(*block + 1, lever.cross(f));
            }
            Follow::Framed(FrameOf::Obstacle(_)) => {}
        }
    }

    /// The blocks that a vertex depends on.
    pub fn blocks_of(&self, vertex: u32, out: &mut Vec<u32>) {
        match &self.part_of(vertex).follow {
            Follow::Weighted { .. } => out.extend(self.entries(vertex).iter().map(|e| e.0)),
            Follow::Framed(FrameOf::Rigid { block, .. }) => out.extend([*block, *block + 1]),
            Follow::Framed(FrameOf::Obstacle(_)) => {}
        }
    }

    pub fn part_of(&self, vertex: u32) -> &Part {
        &self.colliders[self.owner[vertex as usize] as usize]
    }

    /// Blocks and weights of a vertex; none if it is fixed in a frame.
    pub fn entries(&self, vertex: u32) -> &[(u32, f64)] {
        let owner = self.owner[vertex as usize] as usize;
        match &self.colliders[owner].follow {
            Follow::Weighted { start, entries } => {
                let i = self.local(vertex) as usize;
                &entries[start[i] as usize..start[i + 1] as usize]
            }
            Follow::Framed(_) => &[],
        }
    }
}
