//! Contacts of a state, for the certificate and for reports.

use stiction_math::{Vec3, Vector};

use super::{
    contacts::{AttachContacts, AttachError, Pair},
    relax::RelaxTrace,
    world::{Follow, Object},
};
use crate::kinematics::{ContactKinematics, FrameOf};
use crate::{Contact, ContactKey, ContactSet, StencilEntry};

impl AttachContacts {
    /// The contacts with a force at `at`, as the certificate judges them, and their impulses r over `h` [s].
    ///
    /// Velocities are those of the particle and of the object at the attachment: what sticks moves with the spring
    /// until it rests, and the certificate shows it as creep. Along the normal a contact counts as compliant, pressed
    /// to its depth by its force, because a penalty is no hard contact; `compliance` has the compression.
    pub fn contact_set(
        &self,
        at: &ContactKinematics,
        h: f64,
        fixed: &[bool],
        set: &mut ContactSet,
        r: &mut Vec<Vec3>,
    ) -> Result<(), AttachError> {
        self.check(at)?;
        if !(h > 0.0 && h.is_finite()) {
            let (name, value) = ("h", h);
            return Err(AttachError::Setting { name, value });
        }
        if fixed.len() < self.world.blocks {
            return Err(AttachError::Length {
                column: "fixed",
                expected: self.world.blocks,
                found: fixed.len(),
            });
        }
        set.clear();
        r.clear();
        self.gather(
            &self.pairs,
            |pair, trace| self.sample(pair, at, h, fixed, trace),
            |sample| {
                if let Some((entries, contact, impulse)) = sample {
                    set.push_entries(entries, contact);
                    r.push(impulse);
                }
            },
        );
        Ok(())
    }

    fn sample(
        &self,
        pair: &Pair,
        at: &ContactKinematics,
        h: f64,
        fixed: &[bool],
        trace: &mut RelaxTrace,
    ) -> Option<(Vec<StencilEntry>, Contact, Vec3)> {
        let spring = self.spring::<f64>(pair, at, trace);
        if !spring.active {
            return None;
        }
        let [particle, object, _] = pair.key;
        let (z, y) = (spring.z.plain(), spring.y.plain());
        let mut entries = Vec::new();
        // Velocity of prescribed parts.
        let mut drift = self.side(particle, 1.0, &z, at, &mut entries);
        let part = &self.world.parts[object as usize];
        match (&part.follow, &part.object, spring.on) {
            (Follow::Framed(of), _, _) => drift += frame_side(*of, -1.0, &y, at, &mut entries),
            (Follow::Weighted { .. }, Object::Mesh(mesh), Some((triangle, weights))) => {
                let base = self.world.first[object as usize];
                let corners = mesh.triangles()[triangle as usize];
                for (v, w) in corners.iter().zip(weights) {
                    drift += self.side(base + v, -w, &y, at, &mut entries);
                }
            }
            _ => {}
        }
        let motion = |entries: &[StencilEntry]| {
            let moving = entries.iter();
            moving.fold(Vec3::zeros(), |u, e| u + e.mul(&at.v[e.node as usize]))
        };
        let (free, held): (Vec<StencilEntry>, Vec<StencilEntry>) =
            entries.into_iter().partition(|e| !fixed[e.node as usize]);
        if free.is_empty() {
            return None;
        }
        drift += motion(&held);
        let velocity = motion(&free) + drift;
        let n = spring.normal;
        let impulse = (y - z) * (self.stiffness() * h);
        let normal_impulse = n.dot(&impulse);
        // u_N = −depth/h + c r_N = 0 with the depth at the end of the step.
        let depth = n.dot(&(y - z));
        let compliance = match normal_impulse > 0.0 {
            true => depth / (h * normal_impulse),
            false => 0.0,
        };
        let contact = Contact {
            point: y,
            normal: n,
            k: drift - n * (n.dot(&velocity) + depth / h),
            mu: pair.mu,
            cohesion: 0.0,
            compliance,
            gap: -depth - h * n.dot(&velocity),
            correction: None,
            key: ContactKey {
                first: u64::from(particle),
                second: u64::from(object) << 1 | u64::from(pair.key[2]),
            },
            pair: [
                self.world.parts[self.world.owner[particle as usize] as usize].id,
                part.id,
            ],
        };
        Some((free, contact, impulse))
    }

    /// Adds the entries of a vertex; returns the velocity of a kinematic one.
    fn side(
        &self,
        vertex: u32,
        weight: f64,
        point: &Vec3,
        at: &ContactKinematics,
        entries: &mut Vec<StencilEntry>,
    ) -> Vec3 {
        let owner = self.world.owner[vertex as usize] as usize;
        match &self.world.parts[owner].follow {
            Follow::Weighted { .. } => {
                for &(j, b) in self.world.entries(vertex) {
                    add(entries, StencilEntry::weight(j, b * weight));
                }
                Vec3::zeros()
            }
            Follow::Framed(of) => frame_side(*of, weight, point, at, entries),
        }
    }
}

fn add(entries: &mut Vec<StencilEntry>, entry: StencilEntry) {
    match entries.iter_mut().find(|e| e.node == entry.node) {
        Some(e) => {
            e.weight += entry.weight;
            e.lever += entry.lever;
        }
        None => entries.push(entry),
    }
}

fn frame_side(
    of: FrameOf,
    weight: f64,
    point: &Vec3,
    at: &ContactKinematics,
    entries: &mut Vec<StencilEntry>,
) -> Vec3 {
    match of {
        FrameOf::Rigid { block, .. } => {
            let lever = (point - at.x[block as usize]) * weight;
            add(entries, StencilEntry::weight(block, weight));
            add(entries, StencilEntry::lever(block + 1, lever));
            Vec3::zeros()
        }
        FrameOf::Obstacle(_) => {
            let frame = of.frame::<f64>(at);
            let lever = Vector::constant(point) - frame.origin;
            frame.velocity_at(&lever).plain() * weight
        }
    }
}
