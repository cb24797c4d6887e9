//! Contacts of a state, for the certificate and for reports.

use stiction_math::{Vec3, Vector};

use super::config::SmoothError;
use super::contacts::{Pair, SmoothContacts};
use super::world::{Follow, FrameOf};
use crate::kinematics::{ContactKinematics, Frozen};
use crate::{Contact, ContactKey, ContactSet, StencilEntry};

/// One contact with a force.
#[derive(Clone, Debug, PartialEq)]
pub struct ContactSample {
    /// The colliders of the vertex and of the surface, by their numbers.
    pub pair: [u32; 2],
    /// The vertex and the place of the surface's collider in the list.
    pub key: ContactKey,
    /// Position of the vertex [m].
    pub point: Vec3,
    /// Unit normal from the surface to the vertex.
    pub normal: Vec3,
    /// The potential at the vertex [m].
    pub gap: f64,
    /// The distance at which forces begin [m]: the tolerance δ less the offset of a contact that began
    /// inside of it.
    pub delta: f64,
    /// The size of the normal force [N].
    pub normal_force: f64,
    /// Friction on the vertex [N], in the world.
    pub friction: Vec3,
    /// The velocity of the vertex less that of the surface [m/s].
    pub velocity: Vec3,
    /// The coefficient of friction at that sliding speed [1].
    pub mu: f64,
    /// The stencil of the relative velocity: positive for the vertex, negative for the surface.
    ///
    /// For a deforming surface these are the weights of the affine field of its vertices, without
    /// the turning of its normals, which no weights can express; it changes the velocity by
    /// (gap × the rate of the normal).
    pub entries: Vec<StencilEntry>,
}

impl SmoothContacts {
    /// All contacts that have a force at `at`, in the order of vertices. With lagged friction, the
    /// friction of each is that of the directions and normal forces that were kept.
    pub fn touching(&self, at: &ContactKinematics) -> Result<Vec<ContactSample>, SmoothError> {
        self.check(at)?;
        let mut list = Vec::new();
        self.gather(
            |pair, out| out.extend(self.touching_pair(pair, at)),
            |t: ContactSample| list.push(t),
        );
        Ok(list)
    }

    fn touching_pair(&self, pair: &Pair, at: &ContactKinematics) -> Option<ContactSample> {
        let touch = self.touch(pair, at)?;
        if touch.gap >= pair.reach() {
            return None;
        }
        let forces = self.forces(pair, &touch, self.stiffness);
        let (normal, _) = touch.normal()?;
        let mut friction = forces.friction.plain();
        if let Some(lagged) = &self.lagged {
            let kept = &lagged.kept;
            let then = self.touch(pair, &Frozen { kept, now: at });
            let then = then.filter(|t| t.gap < pair.reach());
            friction = then.map_or(Vec3::zeros(), |t| {
                self.forces(pair, &t, lagged.stiffness).friction.plain()
            });
        }
        let speed = forces.slide.plain().norm();
        Some(ContactSample {
            pair: self.names(pair),
            key: ContactKey {
                first: u64::from(pair.query),
                second: u64::from(pair.surface),
            },
            point: self.world.motion(pair.query, at).x.plain(),
            normal: normal.plain().normalize(),
            gap: touch.gap,
            delta: pair.reach(),
            normal_force: forces.normal,
            friction,
            velocity: touch.relative_velocity().plain(),
            mu: pair.friction.coefficient(speed),
            entries: self.stencil(pair, at)?,
        })
    }

    /// The entries of the relative velocity of a pair.
    fn stencil(&self, pair: &Pair, at: &ContactKinematics) -> Option<Vec<StencilEntry>> {
        let mut entries = Vec::new();
        let query = self.world.motion(pair.query, at);
        let mut add = |entry: StencilEntry| {
            let found = entries
                .iter_mut()
                .find(|e: &&mut StencilEntry| e.node == entry.node);
            match found {
                Some(e) => {
                    e.weight += entry.weight;
                    e.lever += entry.lever;
                }
                None => entries.push(entry),
            }
        };
        match &self.world.part_of(pair.query).follow {
            Follow::Weighted { .. } => {
                for &(j, b) in self.world.entries(pair.query) {
                    add(StencilEntry::weight(j, b));
                }
            }
            Follow::Framed(FrameOf::Rigid { block, .. }) => {
                add(StencilEntry::weight(*block, 1.0));
                add(StencilEntry::lever(*block + 1, query.lever.plain()));
            }
            Follow::Framed(FrameOf::Obstacle(_)) => {}
        }
        match &self.world.colliders[pair.surface as usize].follow {
            Follow::Framed(FrameOf::Rigid { block, .. }) => {
                let arm = query.x - Vector::constant(&at.x[*block as usize]);
                add(StencilEntry::weight(*block, -1.0));
                add(StencilEntry::lever(*block + 1, -arm.plain()));
            }
            Follow::Framed(FrameOf::Obstacle(_)) => {}
            Follow::Weighted { .. } => {
                let vertices = &self.vertices[pair.vertices.clone()];
                self.touch(pair, at)?
                    .for_each_weight(vertices, |vertex, weight| {
                        for &(j, b) in self.world.entries(vertex) {
                            add(StencilEntry::weight(j, -weight * b));
                        }
                    });
            }
        }
        Some(entries)
    }

    /// The contacts at `at`, the end of a step of `h` [s], as a [`ContactSet`] with impulses `r`
    /// [N·s]: what a certificate judges. Blocks that are `fixed` are left out, and what they do is
    /// in k; contacts of nothing but these are dropped. Both lists are cleared first.
    ///
    /// B v + k is the relative velocity that friction saw, so that the certificate shows what
    /// smoothing costs: `creep` up to ε, and a residual with it. Along the normal a contact counts
    /// as compliant, touching at δ and pressed to its gap by its force: a penalty is no hard
    /// contact; `compliance` has its compression and `gap` the rest.
    pub fn contact_set(
        &self,
        at: &ContactKinematics,
        h: f64,
        fixed: &[bool],
        set: &mut ContactSet,
        r: &mut Vec<Vec3>,
    ) -> Result<(), SmoothError> {
        if !(h > 0.0 && h.is_finite()) {
            let (name, value, rule) = ("h", h, "positive and finite");
            return Err(SmoothError::Setting { name, value, rule });
        }
        if fixed.len() < self.world.blocks {
            return Err(SmoothError::Length {
                column: "fixed",
                expected: self.world.blocks,
                found: fixed.len(),
            });
        }
        set.clear();
        r.clear();
        for touching in self.touching(at)? {
            let n = touching.normal;
            let free = |e: &&StencilEntry| !fixed[e.node as usize];
            let free: Vec<StencilEntry> = touching.entries.iter().filter(free).copied().collect();
            if free.is_empty() {
                continue;
            }
            let moving = free
                .iter()
                .fold(Vec3::zeros(), |u, e| u + e.mul(&at.v[e.node as usize]));
            let impulse = (n * touching.normal_force + touching.friction) * h;
            let normal_impulse = n.dot(&impulse);
            // u_N = (gap − δ)/h + c r_N = 0 with the gap at the end of the step.
            let open = touching.gap - touching.delta;
            let motion = touching.velocity;
            let compliance = if normal_impulse > 0.0 {
                -open / (h * normal_impulse)
            } else {
                0.0
            };
            set.push_entries(
                free,
                Contact {
                    normal: n,
                    k: motion - moving - n * n.dot(&motion) + n * (open / h),
                    mu: touching.mu,
                    cohesion: 0.0,
                    compliance,
                    gap: open - h * n.dot(&motion),
                    correction: None,
                    key: touching.key,
                    pair: touching.pair,
                    point: touching.point,
                },
            );
            r.push(impulse);
        }
        Ok(())
    }
}
