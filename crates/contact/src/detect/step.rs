//! Positions during a step.

use std::borrow::Cow;

use stiction_geometry::analytic::{MovingSolid, Pose, Solid};
use stiction_math::elementary::rotation;
use stiction_math::parallel;
use stiction_math::{Quat, Vec3};

use super::collider::{Collider, ColliderForm, Points};
use super::held::HeldPoint;
use super::world::{DetectError, NONE, World};
use crate::ContactSet;

/// A step to search: state, prediction and prescribed motion.
#[derive(Clone, Copy, Debug)]
pub struct DetectStep<'a> {
    /// The time step h [s].
    pub h: f64,
    /// Positions of all blocks at the start [m].
    pub x: &'a [Vec3],
    /// Orientations of rigid bodies at the start.
    pub rotations: &'a [Quat],
    /// Predicted velocities of all blocks [m/s, rad/s]; prescribed ones where `fixed`.
    pub v: &'a [Vec3],
    /// Velocities of all blocks at the start [m/s, rad/s]: contacts that slide then have kinetic friction.
    pub start: &'a [Vec3],
    /// Which blocks are prescribed.
    pub fixed: &'a [bool],
    /// The motions of the obstacles: one for each mesh or shape among the colliders, in their order.
    pub obstacles: &'a [Placement<'a>],
    /// The contacts of the step before, or none: they record the sides of pairs.
    pub previous: &'a ContactSet,
    /// Points of action of those contacts, in the same order, or nothing: loaded contacts that did
    /// not slip stay.
    pub held: &'a [HeldPoint],
}

/// Positions of an obstacle at the start and at the end of a step.
#[derive(Clone, Debug)]
pub enum Placement<'a> {
    /// It moves as a whole.
    Poses([Pose; 2]),
    /// Positions of the vertices of a mesh [m].
    Vertices([Cow<'a, [Vec3]>; 2]),
}

/// Rotation of a collider as a whole in a step.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Turn {
    /// Not as a whole: its nodes move one by one.
    Nodes,
    /// On a prescribed motion, by this rotation.
    Prescribed(Quat),
    /// As a rigid body whose angular velocity is an unknown.
    Free {
        /// The angular block.
        block: u32,
        /// The angular velocity at the start [rad/s].
        start: Vec3,
        /// That of the last velocities that were checked [rad/s].
        now: Vec3,
    },
}

/// Vertices of all colliders, and moving solids.
#[derive(Debug, Default)]
pub(super) struct Motion {
    pub h: f64,
    /// Positions of the vertices at the start and the predicted end [m].
    pub x0: Vec<Vec3>,
    pub x1: Vec<Vec3>,
    /// A bound on the displacement of the predicted end since the step was set [m].
    pub moved: Vec<f32>,
    /// Contribution of prescribed blocks and obstacles to the velocity of vertices [m/s], where there is
    /// one, in ascending order.
    drift: Vec<(u32, Vec3)>,
    drifts: Vec<bool>,
    /// From the centre of mass to each vertex of a rigid body [m]; empty if there is none.
    pub lever: Vec<Vec3>,
    /// Rotation of each collider as a whole.
    pub turns: Vec<Turn>,
    /// Which vertices follow a block that is not prescribed.
    pub free: Vec<bool>,
    pub fixed: Vec<bool>,
    /// Velocities of the blocks at the start [m/s]; empty if no law needs them.
    pub start: Vec<Vec3>,
    /// Analytic shapes, with the places of their colliders.
    pub shapes: Vec<(u32, MovingSolid)>,
}

impl Motion {
    /// Places everything for a step; on an error `self` is not to be used.
    pub(super) fn set(&mut self, world: &World, step: &DetectStep) -> Result<(), DetectError> {
        check(world, step)?;
        self.h = step.h;
        self.fixed.clear();
        self.fixed.extend_from_slice(step.fixed);
        self.start.clear();
        if world.laws.have_kinetic() {
            self.start.extend_from_slice(step.start);
        }
        self.shapes.clear();
        self.turns.clear();
        let count = world.owner.len();
        let levers = if world.rotations > 0 { count } else { 0 };
        for (list, count) in [(&mut self.x0, count), (&mut self.lever, levers)] {
            list.clear();
            list.resize(count, Vec3::zeros());
        }
        self.drift.clear();
        for flags in [&mut self.free, &mut self.drifts] {
            flags.clear();
            flags.resize(count, false);
        }
        let mut placements = step.obstacles.iter();
        for (c, collider) in world.colliders.iter().enumerate() {
            let range = world.first_vertex[c] as usize..world.first_vertex[c + 1] as usize;
            self.turns
                .push(turn(collider, step, placements.as_slice().first()));
            match &collider.form {
                ColliderForm::Shape(shape) => self.solid(c, (*shape).into(), placements.next())?,
                ColliderForm::LevelSet(set) => {
                    self.solid(c, set.clone().into(), placements.next())?
                }
                ColliderForm::Mesh(mesh) => {
                    for (i, v) in range.enumerate() {
                        let (a, b) = match placements.as_slice().first() {
                            Some(Placement::Poses([a, b])) => {
                                (a.apply(&mesh.vertices[i]), b.apply(&mesh.vertices[i]))
                            }
                            Some(Placement::Vertices([a, b])) => (a[i], b[i]),
                            None => return Err(DetectError::Placement(c)),
                        };
                        self.x0[v] = a;
                        self.add_drift(v, (b - a) / step.h);
                    }
                    placements.next();
                }
                ColliderForm::Body(body) => match &body.points {
                    Points::Rigid {
                        block,
                        rigid,
                        local,
                    } => {
                        let (centre, turn) =
                            (step.x[*block as usize], step.rotations[*rigid as usize]);
                        for (i, v) in range.enumerate() {
                            self.lever[v] = turn * local[i];
                            self.x0[v] = centre + self.lever[v];
                            self.prescribe(world, v, step.v);
                        }
                    }
                    Points::Weighted { .. } => {
                        for v in range {
                            let sum = world.entries_of(v).iter();
                            self.x0[v] = sum.map(|(j, b)| step.x[*j as usize] * *b).sum();
                            self.prescribe(world, v, step.v);
                        }
                    }
                },
            }
        }
        self.x1.clear();
        self.x1.extend_from_slice(&self.x0);
        self.predict(world, step.v);
        self.moved.clear();
        self.moved.resize(count, 0.0);
        Ok(())
    }

    /// All end where they start.
    pub(super) fn stand_still(&mut self) {
        self.x1.clone_from(&self.x0);
        for (_, moving) in &mut self.shapes {
            let pose = moving.pose(0.0);
            *moving = MovingSolid::new(moving.shape.clone(), pose, pose);
        }
    }

    fn solid(
        &mut self,
        collider: usize,
        solid: Solid,
        placement: Option<&Placement>,
    ) -> Result<(), DetectError> {
        let Some(Placement::Poses([a, b])) = placement else {
            return Err(DetectError::Placement(collider));
        };
        let moving = MovingSolid::new(solid, *a, *b);
        self.shapes.push((collider as u32, moving));
        Ok(())
    }

    fn prescribe(&mut self, world: &World, v: usize, velocity: &[Vec3]) {
        let mut drift = Vec3::zeros();
        for (j, b) in world.entries_of(v) {
            if self.fixed[*j as usize] {
                drift += velocity[*j as usize] * *b;
            } else {
                self.free[v] = true;
            }
        }
        let spin = world.angular[v];
        if spin != NONE {
            if self.fixed[spin as usize] {
                drift += self.turn(v, &velocity[spin as usize]);
            } else {
                self.free[v] = true;
            }
        }
        self.add_drift(v, drift);
    }

    /// Vertices come in ascending order.
    fn add_drift(&mut self, v: usize, drift: Vec3) {
        if drift != Vec3::zeros() {
            self.drift.push((v as u32, drift));
            self.drifts[v] = true;
        }
    }

    /// Contribution of prescribed blocks and obstacles to the velocity of a vertex [m/s].
    pub(super) fn drift(&self, v: usize) -> Vec3 {
        if !self.drifts[v] {
            return Vec3::zeros();
        }
        let at = self.drift.binary_search_by_key(&(v as u32), |d| d.0);
        at.map_or(Vec3::zeros(), |at| self.drift[at].1)
    }

    /// Sets the end positions for other velocities of the blocks that are not prescribed.
    pub(super) fn predict(&mut self, world: &World, v: &[Vec3]) {
        // More than what rounding takes from the sum.
        const ROUNDING: f64 = 1.0 + 1e-6;
        let (mut x1, mut moved) = (
            std::mem::take(&mut self.x1),
            std::mem::take(&mut self.moved),
        );
        moved.resize(x1.len(), 0.0);
        let mut both: Vec<_> = x1.chunks_mut(4096).zip(moved.chunks_mut(4096)).collect();
        parallel::chunks_mut(&mut both, 1, |chunk, both| {
            for (x1, moved) in both {
                for ((x1, moved), i) in x1.iter_mut().zip(moved.iter_mut()).zip(4096 * chunk..) {
                    let end = self.x0[i] + self.secant(world, i, v) * self.h;
                    *moved = ((f64::from(*moved) + (end - *x1).norm()) * ROUNDING) as f32;
                    *x1 = end;
                }
            }
        });
        (self.x1, self.moved) = (x1, moved);
    }

    /// Brings the angular velocities of free rigid bodies up to date.
    pub(super) fn turn_by(&mut self, v: &[Vec3]) {
        for turn in &mut self.turns {
            if let Turn::Free { block, now, .. } = turn {
                *now = v[*block as usize];
            }
        }
    }

    /// From where a vertex is to where the step takes it, per second [m/s].
    fn secant(&self, world: &World, vertex: usize, v: &[Vec3]) -> Vec3 {
        let mut u = self.drift(vertex);
        for (j, b) in world.entries_of(vertex) {
            if !self.fixed[*j as usize] {
                u += v[*j as usize] * *b;
            }
        }
        let spin = world.angular[vertex];
        if spin != NONE && !self.fixed[spin as usize] {
            u += self.turn(vertex, &v[spin as usize]);
        }
        u
    }

    /// Contribution of the rotation of a rigid body about its centre: the step turns it by exp(h ω).
    fn turn(&self, vertex: usize, omega: &Vec3) -> Vec3 {
        let lever = self.lever[vertex];
        (rotation(&(omega * self.h)) * lever - lever) / self.h
    }

    pub(super) fn bytes(&self) -> usize {
        let vectors = [&self.x0, &self.x1, &self.lever, &self.start];
        let flags = [&self.free, &self.drifts, &self.fixed];
        flags.map(|f| size_of_val(&f[..])).iter().sum::<usize>()
            + size_of_val(&self.drift[..])
            + size_of_val(&self.moved[..])
            + size_of_val(&self.turns[..])
            + vectors.map(|v| size_of_val(&v[..])).iter().sum::<usize>()
    }

    /// A vertex after the fraction `t` of the step.
    pub(super) fn at(&self, vertex: u32, t: f64) -> Vec3 {
        let v = vertex as usize;
        self.x0[v] + (self.x1[v] - self.x0[v]) * t
    }
}

impl World {
    pub(super) fn entries_of(&self, vertex: usize) -> &[(u32, f64)] {
        let range = self.entry_start[vertex] as usize..self.entry_start[vertex + 1] as usize;
        &self.entries[range]
    }
}

/// Rotation of a collider; `placement` is that of an obstacle.
fn turn(collider: &Collider, step: &DetectStep, placement: Option<&Placement>) -> Turn {
    match (&collider.form, placement) {
        (ColliderForm::Body(body), _) => match body.points {
            Points::Rigid { block, .. } => {
                let block = block + 1;
                let start = step.start[block as usize];
                match step.fixed[block as usize] {
                    true => {
                        let turned = step.v[block as usize] * step.h;
                        Turn::Prescribed(rotation(&turned))
                    }
                    false => Turn::Free {
                        block,
                        start,
                        now: start,
                    },
                }
            }
            Points::Weighted { .. } => Turn::Nodes,
        },
        (_, Some(Placement::Poses([from, to]))) => {
            Turn::Prescribed(to.rotation * from.rotation.inverse())
        }
        _ => Turn::Nodes,
    }
}

fn check(world: &World, step: &DetectStep) -> Result<(), DetectError> {
    if !(step.h > 0.0 && step.h.is_finite()) {
        return Err(DetectError::TimeStep(step.h));
    }
    let at_least = |column, expected: usize, found: usize| {
        if found < expected {
            let error = DetectError::Length {
                column,
                expected,
                found,
            };
            return Err(error);
        }
        Ok(())
    };
    at_least("x", world.blocks, step.x.len())?;
    at_least("v", world.blocks, step.v.len())?;
    at_least("start", world.blocks, step.start.len())?;
    at_least("fixed", world.blocks, step.fixed.len())?;
    at_least("rotations", world.rotations, step.rotations.len())?;
    let mut placements = step.obstacles.iter();
    for (i, c) in world.colliders.iter().enumerate() {
        let count = match &c.form {
            ColliderForm::Body(_) => continue,
            ColliderForm::Mesh(m) => m.vertices.len(),
            ColliderForm::Shape(_) | ColliderForm::LevelSet(_) => 0,
        };
        match placements.next() {
            Some(Placement::Vertices([a, b])) => {
                at_least("vertices", count, a.len().min(b.len()))?;
            }
            Some(Placement::Poses(poses)) => {
                let finite = |p: &Pose| {
                    let mut all = p.rotation.coords.iter().chain(p.translation.iter());
                    all.all(|c| c.is_finite())
                };
                if !poses.iter().all(finite) {
                    return Err(DetectError::NotFinite(i));
                }
            }
            None => {}
        }
    }
    let obstacles = |c: &&Collider| !matches!(c.form, ColliderForm::Body(_));
    at_least(
        "obstacles",
        world.colliders.iter().filter(obstacles).count(),
        step.obstacles.len(),
    )
}
