//! Blocks whose motion is prescribed, at any time within a step.

use stiction_bodies::{Model, State};
use stiction_math::elementary::rotation_vector;
use stiction_math::{Quat, Vec3};

/// Positions and velocities of pinned blocks. Unlike an integrated velocity, theirs is the
/// derivative of the motion itself, so that no scheme can make it ring.
#[derive(Clone, Debug, Default)]
pub struct Prescribed {
    fixed: Vec<bool>,
    /// Block and displacement from the start of the step [m, rad].
    shifts: Vec<(usize, Vec3)>,
    /// Block and velocity [m/s, rad/s].
    velocities: Vec<(usize, Vec3)>,
}

/// The velocity of a motion is a difference over this fraction of the step.
const PART: f64 = 1e-3;

/// Which velocity is meant where a motion has a kink.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// That with which the time is reached.
    Before,
    /// That with which it is left.
    After,
}

impl Prescribed {
    /// Sets everything for the time `time` [s] in a step of `h` [s] from `state`, for the blocks
    /// marked in `fixed`.
    pub fn set(
        &mut self,
        model: &Model,
        state: &State,
        fixed: &[bool],
        time: f64,
        h: f64,
        side: Side,
    ) {
        self.fixed.clear();
        self.fixed.extend_from_slice(fixed);
        self.shifts.clear();
        self.velocities.clear();
        let dt = match side {
            Side::Before => PART * h,
            Side::After => -PART * h,
        };
        for pin in model.pins.iter().filter(|p| fixed[p.block]) {
            let motion = pin.motion.map(|m| &model.motions[m]);
            let [now, just] = [time, time - dt].map(|t| motion.map(|m| m.pose(t)));
            let (shift, velocity) = match &pin.spin {
                None => {
                    let at = |pose: Option<stiction_bodies::motion::Pose>| {
                        pose.map_or(pin.start, |p| p.apply(&pin.start))
                    };
                    let target = at(now);
                    (target - state.x[pin.block], (target - at(just)) / dt)
                }
                Some(spin) => {
                    let at = |pose: Option<stiction_bodies::motion::Pose>| {
                        pose.map_or(spin.start, |p| p.rotation * spin.start)
                    };
                    let turn = |to: Quat, from: Quat| rotation_vector(&(to * from.inverse()));
                    let from = state.rotations[spin.rigid];
                    (turn(at(now), from), turn(at(now), at(just)) / dt)
                }
            };
            self.shifts.push((pin.block, shift));
            self.velocities.push((pin.block, velocity));
        }
    }

    /// Which blocks are prescribed.
    pub fn fixed(&self) -> &[bool] {
        &self.fixed
    }

    /// Writes the prescribed displacements [m, rad].
    pub fn place(&self, shift: &mut [Vec3]) {
        for &(block, value) in &self.shifts {
            shift[block] = value;
        }
    }

    /// Writes the prescribed velocities [m/s, rad/s].
    pub fn drive(&self, v: &mut [Vec3]) {
        for &(block, value) in &self.velocities {
            v[block] = value;
        }
    }

    /// Zero where blocks are prescribed.
    pub fn clear(&self, r: &mut [Vec3]) {
        for (r, fixed) in r.iter_mut().zip(&self.fixed) {
            if *fixed {
                *r = Vec3::zeros();
            }
        }
    }
}
