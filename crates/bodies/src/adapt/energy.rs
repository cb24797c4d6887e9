//! The energy that a change of topology adds, and what pays for it.
//!
//! Splits keep the surface, and with it the energies of stretching and of weight, but narrow the hinges along creases:
//! bending energy grows, and relaxes. Flips and collapses move the surface. What they gain is taken out of the
//! velocities w of the changed bodies relative to their rigid motion, which carry no momentum:
//!
//! ```text
//! w ← s w,    s² = 1 − gain / Σ ½ wᵀ M w     (0 if that is negative)
//! ```
//!
//! Momenta stay as they are; energy that is lost is not given back. Motion may not suffice: a cloth that swings
//! as a whole has little to give. Remeshing therefore makes flips and collapses only as a [`Budget`] allows,
//! a fraction of that motion and what operations before have released.

use std::cell::Cell;

use stiction_geometry::remesh::{Guard, Replacement};
use stiction_math::Vec3;

use super::{
    change::MeshChange,
    transfer::{Adaptation, Momenta},
};
use crate::{
    builder::shells::sample_membrane,
    energy::{attachment_energy, elastic_energy, kinetic_energy, potential_energy, volume_energy},
    membrane::RestTriangles,
    model::{Deformable, Model, ShellSource},
    state::State,
};

impl Adaptation<'_> {
    /// Slows the changed bodies until the energy is at most that before the change, as far as they move
    /// beyond their rigid motion.
    pub(super) fn pay(&self, before: &State, after: &mut State) {
        if !self.change.changes().iter().any(moves_surface) {
            return;
        }
        let gain = self.energy(self.after, after) - self.energy(self.before, before);
        if gain.is_nan() || gain <= 0.0 {
            return;
        }
        let mut motions: Vec<(usize, Vec<Vec3>)> = Vec::new();
        let mut available = 0.0;
        for (b, [_, soft]) in self.soft() {
            let range = self.change.blocks(b)[1].clone();
            let (x, v) = (&after.x[range.clone()], &after.v[range.clone()]);
            let (own, energy) = relative_motion(soft, x, v);
            available += energy;
            motions.push((range.start, own));
        }
        let kept = 1.0 - gain / available;
        // Without any motion there is nothing to take.
        let factor = match available > 0.0 {
            true => kept.max(0.0).sqrt(),
            false => return,
        };
        for (first, own) in motions {
            for (v, w) in after.v[first..].iter_mut().zip(&own) {
                *v -= w * (1.0 - factor);
            }
        }
    }

    /// The energy of the changed bodies, attachments and volumes [J].
    fn energy(&self, model: &Model, state: &State) -> f64 {
        let own = self.change.changes().iter().map(|c| {
            let body = &model.bodies[c.body];
            kinetic_energy(body, state)
                + elastic_energy(body, state)
                + potential_energy(model, body, state)
        });
        own.sum::<f64>() + attachment_energy(model, state) + volume_energy(model, state)
    }
}

/// Whether a mesh is more than a refinement: a new triangle reaches beyond one old triangle.
fn moves_surface(change: &MeshChange) -> bool {
    let overlaps = change.overlaps.windows(2);
    overlaps.into_iter().any(|o| o[0].child == o[1].child)
}

/// Velocities of a body relative to its rigid motion [m/s] and their energy [J].
fn relative_motion(soft: &Deformable, x: &[Vec3], v: &[Vec3]) -> (Vec<Vec3>, f64) {
    let rigid = Momenta::of(soft, x, v).rigid_motion(soft, x);
    let own: Vec<Vec3> = v.iter().zip(&rigid).map(|(v, r)| v - r).collect();
    let row = |i: usize| own[i].dot(&soft.mass.row(&soft.pattern, &own, i));
    let energy = 0.5 * (0..own.len()).map(row).sum::<f64>();
    (own, energy)
}

/// Fraction of the energy of relative motion that one remeshing may use [1]: every few steps one takes it, and
/// waves of a cloth should outlive many.
const SHARE: f64 = 0.01;
/// Strain below which energies count as rounding [1].
const SLACK: f64 = 1e-5;

/// A guard that allows an operation if there is enough energy for what it adds to the energies of
/// stretching and weight.
pub(super) struct Budget<'a> {
    source: &'a ShellSource,
    /// Acceleration of gravity and the body's own [m/s²].
    acceleration: Vec3,
    /// Energy at disposal [J].
    left: Cell<f64>,
    /// A further guard.
    inner: Option<&'a dyn Guard>,
}

impl<'a> Budget<'a> {
    pub fn new(
        model: &Model,
        state: &State,
        body: usize,
        source: &'a ShellSource,
        inner: Option<&'a dyn Guard>,
    ) -> Self {
        let body = &model.bodies[body];
        let range = body.blocks.clone();
        let energy = body.kind.as_deformable().map_or(0.0, |soft| {
            relative_motion(soft, &state.x[range.clone()], &state.v[range]).1
        });
        Self {
            source,
            acceleration: model.gravity_at(state.time) + body.acceleration,
            left: Cell::new(SHARE * energy),
            inner,
        }
    }

    /// The energy of stretching and weight of some triangles [J], and that of stretching at strain `SLACK`.
    fn energy(&self, rest: &[[Vec3; 3]], world: &[[Vec3; 3]], labels: &[u32]) -> Option<[f64; 2]> {
        let mut sum = [0.0; 2];
        for ((rest, world), label) in rest.iter().zip(world).zip(labels) {
            let material = self.source.materials.get(*label as usize)?;
            let triangle = RestTriangles::new(rest, &[[0, 1, 2]], self.source.warp).ok()?;
            let mass = triangle.areas()[0] * material.area_density;
            let centre = (world[0] + world[1] + world[2]) / 3.0;
            let membrane = sample_membrane(triangle, material)?;
            sum[0] += membrane.energy(0, world) - mass * self.acceleration.dot(&centre);
            sum[1] += membrane.energy(0, &rest.map(|x| x * (1.0 + SLACK)));
        }
        Some(sum)
    }

    /// The energy that an operation adds [J], beyond rounding; none where it is unknown.
    fn gain(&self, change: &Replacement<'_>) -> Option<f64> {
        let [rest, world] = [change.rest, change.world];
        let [was, slack] = self.energy(rest[0], world[0], change.labels[0])?;
        let [is, _] = self.energy(rest[1], world[1], change.labels[1])?;
        let gain = is - was;
        Some(if gain.abs() <= slack { 0.0 } else { gain })
    }
}

impl Guard for Budget<'_> {
    fn allows(&self, change: &Replacement<'_>) -> bool {
        // A shell that is cut from flat panels has a rest shape of its own.
        let gain = match self.source.pattern {
            Some(_) => 0.0,
            None => self.gain(change).unwrap_or(0.0),
        };
        let left = self.left.get();
        let allowed = gain <= left && self.inner.is_none_or(|guard| guard.allows(change));
        if allowed {
            self.left.set(left - gain);
        }
        allowed
    }
}
