//! The momentum of rigid bodies that only contacts join to others.
//!
//! With R⁺ = exp(h ω) R, the angular momentum of a body at the end of a step is exp(h ω) I ω, where I is
//! the inertia at its start. Its balance with the impulse J and the angular impulse T of contacts about
//! the centre of mass at the start is
//!
//! ```text
//! (1 + h α) m v − m v̂ = J,      (1 + h α) exp(h ω) I ω − exp(h ω̂) I ω̂ = T
//! ```
//!
//! with the velocities v̂, ω̂ of a step without contact and mass damping α. As x⁺ = x + h v, the angular
//! momentum about the origin changes by Σ (x + ρ) × r: impulses that act at one point of space at the start
//! of the step leave that of a pair as it is.
//!
//! The potential Φ has I (ω − ω̂) instead, which differs by h ω × I δω where contacts change the spin by
//! δω. The exact derivative of the balance is unsymmetric; A keeps I, and the rest is in f of the last
//! linearisation. Bodies with attachments or drag keep the derivative of Φ, whose other terms they share.

use stiction_bodies::{Body, Model};
use stiction_math::Vec3;

use super::Dynamics;

impl Dynamics {
    /// Whether there are rigid bodies that only contacts join to others.
    pub(crate) fn has_lone(&self) -> bool {
        !self.lone.is_empty()
    }

    /// Blocks of the rigid bodies that only contacts join to others, two each.
    pub(crate) fn lone_blocks(&self) -> impl Iterator<Item = usize> + '_ {
        self.lone.iter().flat_map(|&(_, first)| [first, first + 1])
    }

    /// Replaces the derivative of Φ by what is missing of the balance of momentum [N·s, N·m·s] at the
    /// velocities `v`, for rigid bodies that only contacts join to others.
    pub(crate) fn momentum_of_lone(&self, model: &Model, v: &[Vec3], g: &mut [Vec3]) {
        for (b, body) in self.lone(model) {
            let Some(rigid) = body.kind.as_rigid() else {
                continue;
            };
            let [linear, angular] = [body.blocks.start, body.blocks.start + 1];
            let (rotation, hat) = (&self.r0[rigid.index], &self.inertial[b]);
            let kept = 1.0 + self.h * body.damping.mass;
            let momentum = |omega: &Vec3| rigid.end_momentum(rotation, omega, self.h);
            if !self.fixed[linear] {
                g[linear] = (v[linear] * kept - hat[0]) * rigid.mass;
            }
            if !self.fixed[angular] {
                g[angular] = momentum(&v[angular]) * kept - momentum(&hat[1]);
            }
        }
    }

    /// Sets `v` of rigid bodies that only contacts join to others to the velocities whose momentum
    /// balances the `impulses` of contacts, one per block [N·s, N·m·s], to rounding.
    pub(crate) fn balance_lone(&self, model: &Model, impulses: &[Vec3], v: &mut [Vec3]) {
        for (b, body) in self.lone(model) {
            let Some(rigid) = body.kind.as_rigid() else {
                continue;
            };
            let [linear, angular] = [body.blocks.start, body.blocks.start + 1];
            let (rotation, hat) = (&self.r0[rigid.index], &self.inertial[b]);
            let kept = 1.0 + self.h * body.damping.mass;
            if !self.fixed[linear] {
                v[linear] = (hat[0] + impulses[linear] / rigid.mass) / kept;
            }
            if !self.fixed[angular] {
                let free = rigid.end_momentum(rotation, &hat[1], self.h);
                let momentum = (free + impulses[angular]) / kept;
                v[angular] = rigid.spin_with(rotation, &momentum, &v[angular], self.h);
            }
        }
    }

    fn lone<'a>(&'a self, model: &'a Model) -> impl Iterator<Item = (usize, &'a Body)> + 'a {
        let lone = self.lone.iter();
        lone.filter_map(|&(b, _)| Some((b, model.bodies.get(b)?)))
    }
}

/// The rigid bodies without attachments and drag, with their first blocks.
pub(super) fn lone_bodies(model: &Model) -> Vec<(usize, usize)> {
    let springs = model.attachments.iter();
    let mut attached: Vec<u32> = springs
        .flat_map(|s| s.a.blocks().into_iter().chain(s.b.blocks()))
        .collect();
    attached.sort_unstable();
    let free = |body: &Body| {
        let joined = attached.partition_point(|&i| (i as usize) < body.blocks.start);
        let joined = attached
            .get(joined)
            .is_some_and(|&i| (i as usize) < body.blocks.end);
        body.kind.as_rigid().is_some() && body.drag.is_none() && !joined
    };
    let bodies = model.bodies.iter().enumerate();
    bodies
        .filter(|(_, body)| free(body))
        .map(|(b, body)| (b, body.blocks.start))
        .collect()
}
