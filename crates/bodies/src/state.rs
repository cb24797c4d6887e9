//! What evolves: positions, velocities and orientations.

use stiction_math::{Quat, Vec3};

use crate::rod::Frames;

/// The evolving part of a simulation. The model does not change during a step; this does.
#[derive(Debug, Default, PartialEq)]
pub struct State {
    /// Simulated time [s].
    pub time: f64,
    /// How many steps were taken.
    pub step: u64,
    /// One per 3-block: a node's position [m], a rigid body's centre of mass [m], the twists of three
    /// edges of a rod times its radius [m]; zero for the angular block of a rigid body, whose
    /// orientation is in `rotations`.
    pub x: Vec<Vec3>,
    /// One per 3-block: a node's velocity [m/s], a rigid body's linear [m/s] and angular [rad/s]
    /// velocity, all in the world frame.
    pub v: Vec<Vec3>,
    /// The orientation of each rigid body, in the order of the model's rigid bodies.
    pub rotations: Vec<Quat>,
    /// The reference frames of the edges of rods, in the order of the model's rods.
    pub frames: Frames,
}

impl Clone for State {
    fn clone(&self) -> Self {
        let mut copy = Self::default();
        copy.clone_from(self);
        copy
    }

    /// Reuses the memory of `self`: the step keeps a copy of the state before it, every time.
    fn clone_from(&mut self, source: &Self) {
        self.time = source.time;
        self.step = source.step;
        self.x.clone_from(&source.x);
        self.v.clone_from(&source.v);
        self.rotations.clone_from(&source.rotations);
        self.frames.clone_from(&source.frames);
    }
}

impl State {
    /// The first block that holds a number which is not finite, if there is one.
    pub fn first_non_finite(&self) -> Option<usize> {
        let bad = |p: &Vec3| !p.iter().all(|c| c.is_finite());
        (0..self.x.len()).find(|&i| bad(&self.x[i]) || bad(&self.v[i]))
    }
}
