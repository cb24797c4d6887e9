//! Prescribed motion: pins, clamps and held frames during a step.

use stiction_bodies::{Body, Clamp, Model, Rods, State, rod::reference_angle};
use stiction_math::Vec3;
use stiction_math::elementary::rotation_vector;

use super::Dynamics;

impl Dynamics {
    /// The velocity that brings every pinned block to its place at t + h.
    pub(super) fn prescribe(&mut self, model: &Model, state: &State, h: f64) {
        let t = state.time + h;
        self.fixed.fill(false);
        self.prescribed.clear();
        for pin in &model.pins {
            let motion = pin.motion.map(|m| &model.motions[m]);
            if motion.is_some_and(|m| !m.holds(t - 0.5 * h)) {
                continue;
            }
            let pose = motion.map(|m| m.pose(t));
            self.fixed[pin.block] = true;
            let change = match (&pin.clamp, &pin.spin) {
                (Some(clamp), _) => {
                    let target = pose.map_or(clamp.director, |p| p.rotation * clamp.director);
                    self.clamped_twist(model, state, clamp, &target)
                }
                (None, None) => {
                    let target = pose.map_or(pin.start, |p| p.apply(&pin.start));
                    target - state.x[pin.block]
                }
                (None, Some(spin)) => {
                    let target = pose.map_or(spin.start, |p| p.rotation * spin.start);
                    rotation_vector(&(target * state.rotations[spin.rigid].inverse()))
                }
            };
            self.prescribed.push((pin.block, change / h));
        }
        self.held.fill(false);
        for frame in &model.held_frames {
            let motion = frame.motion.map(|m| &model.motions[m]);
            if motion.is_some_and(|m| !m.holds(t - 0.5 * h)) {
                continue;
            }
            let director = frame.clamp.director;
            let target = motion.map_or(director, |m| m.pose(t).rotation * director);
            let body = &model.bodies[frame.clamp.body];
            if let Some(rods) = body.kind.as_rods()
                && let Some(angle) =
                    self.clamped_angle(body, rods, state, frame.clamp.edge, &target)
            {
                let place = rods.edges().start + frame.clamp.edge;
                self.angle[place] = angle;
                self.held[place] = true;
            }
        }
        for (body, rods) in model.rods() {
            let start = self.rod_start(body, rods, state);
            if let Some(angle) = rods.settled(start.x, &start) {
                self.angle[rods.edges()].copy_from_slice(&angle);
            }
        }
    }

    /// Change of the twist of a clamped edge in this step [m] that turns its material director to
    /// `target` when its nodes are at their prescribed positions.
    fn clamped_twist(&self, model: &Model, state: &State, clamp: &Clamp, target: &Vec3) -> Vec3 {
        let body = &model.bodies[clamp.body];
        let Some(rods) = body.kind.as_rods() else {
            return Vec3::zeros();
        };
        let (Some((block, c)), Some(theta)) = (
            rods.twist_of(clamp.edge),
            self.clamped_angle(body, rods, state, clamp.edge, target),
        ) else {
            return Vec3::zeros();
        };
        let mut change = Vec3::zeros();
        change[c] = theta * rods.section().radius - state.x[body.blocks.start + block][c];
        change
    }

    /// The twist [rad] that a clamped edge has when its nodes are where they are prescribed to be and
    /// its material director is `target`.
    fn clamped_angle(
        &self,
        body: &Body,
        rods: &Rods,
        state: &State,
        edge: usize,
        target: &Vec3,
    ) -> Option<f64> {
        let first = body.blocks.start;
        let x0 = &state.x[body.blocks.clone()];
        let [i, j] = rods.edge_blocks(edge)?;
        let edge = rods.edge_at(edge, x0, &self.rod_start(body, rods, state))?;
        // Pins are sorted by block: those of the nodes came before that of the twist.
        let moved = |i: usize| {
            let after = self.prescribed.partition_point(|p| p.0 <= first + i);
            let last = self.prescribed[..after].last();
            let held = last.filter(|p| p.0 == first + i);
            x0[i] + held.map_or(Vec3::zeros(), |p| p.1) * self.h
        };
        let t = (moved(j) - moved(i)).normalize();
        Some(reference_angle(&edge, &t, target))
    }
}
