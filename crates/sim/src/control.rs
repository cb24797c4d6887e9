//! Changes between steps that keep the topology: the state, loads and prescribed motion.

use stiction_bodies::{BodyLoad, State, motion::Motion, schedule::Schedule};
use stiction_math::Vec3;

use crate::Simulation;

/// Loads and prescribed motion as they are now.
#[derive(Clone, Debug, PartialEq)]
pub struct Controls {
    gravity: (Vec3, Option<Schedule<Vec3>>),
    /// One per body.
    loads: Vec<Option<Box<BodyLoad>>>,
    motions: Vec<Motion>,
    /// The motion of each pin and of each held frame.
    pins: Vec<Option<usize>>,
    frames: Vec<Option<usize>>,
    /// One per obstacle.
    obstacles: Vec<Option<Motion>>,
}

impl Simulation {
    /// Loads and prescribed motion as they are now, for [`Simulation::set_controls`].
    pub fn controls(&self) -> Controls {
        let model = &self.model;
        Controls {
            gravity: (model.gravity, model.gravity_track.clone()),
            loads: model.bodies.iter().map(|b| b.load.clone()).collect(),
            motions: model.motions.clone(),
            pins: model.pins.iter().map(|p| p.motion).collect(),
            frames: model.held_frames.iter().map(|f| f.motion).collect(),
            obstacles: model.obstacles.iter().map(|o| o.motion.clone()).collect(),
        }
    }

    /// Takes back the controls of an earlier moment of the same model.
    pub fn set_controls(&mut self, controls: &Controls) {
        self.wake();
        let model = &mut self.model;
        (model.gravity, model.gravity_track) = controls.gravity.clone();
        for (body, load) in model.bodies.iter_mut().zip(&controls.loads) {
            body.load.clone_from(load);
        }
        model.motions.clone_from(&controls.motions);
        for (pin, motion) in model.pins.iter_mut().zip(&controls.pins) {
            pin.motion = *motion;
        }
        for (frame, motion) in model.held_frames.iter_mut().zip(&controls.frames) {
            frame.motion = *motion;
        }
        for (obstacle, motion) in model.obstacles.iter_mut().zip(&controls.obstacles) {
            obstacle.motion.clone_from(motion);
        }
    }

    /// The state, which may be changed between steps: positions, velocities and orientations of
    /// everything that is not prescribed. The number of blocks must stay. The method keeps its memory
    /// of the last contacts.
    pub fn state_mut(&mut self) -> &mut State {
        self.wake();
        &mut self.state
    }

    /// Sets the uniform acceleration of everything [m/s²].
    pub fn set_gravity(&mut self, gravity: Vec3) {
        self.wake();
        self.model.gravity = gravity;
        self.model.gravity_track = None;
    }

    /// Sets the external loads on a body, given by its index.
    pub fn set_load(&mut self, body: usize, load: BodyLoad) {
        self.wake();
        if let Some(body) = self.model.bodies.get_mut(body) {
            body.load = (load != BodyLoad::default()).then(|| Box::new(load));
        }
    }

    /// Sets the motion of an obstacle, given by its index. A motion that does not start from the
    /// current pose is a jump, which the next step covers.
    pub fn move_obstacle(&mut self, obstacle: usize, motion: Motion) {
        self.wake();
        if let Some(obstacle) = self.model.obstacles.get_mut(obstacle) {
            obstacle.motion = Some(motion);
        }
    }

    /// Sets the motion of all pins of a body, given by its index; returns the number of pinned blocks.
    pub fn move_pins(&mut self, body: usize, motion: Motion) -> usize {
        self.wake();
        let model = &mut self.model;
        let Some(blocks) = model.bodies.get(body).map(|b| b.blocks.clone()) else {
            return 0;
        };
        let own = |block: usize| blocks.contains(&block);
        // A motion that nothing else follows is replaced, so that the list does not grow with the steps.
        let pins = model.pins.iter().map(|p| (own(p.block), p.motion));
        let frames = model.held_frames.iter();
        let frames = frames.map(|f| (f.clamp.body == body, f.motion));
        let followers: Vec<_> = pins.chain(frames).collect();
        let candidate = followers.iter().find(|f| f.0).and_then(|f| f.1);
        let shared = |m: usize| followers.iter().any(|f| !f.0 && f.1 == Some(m));
        let index = match candidate.filter(|m| !shared(*m)) {
            Some(index) => {
                model.motions[index] = motion;
                index
            }
            None => {
                model.motions.push(motion);
                model.motions.len() - 1
            }
        };
        let mut count = 0;
        for pin in model.pins.iter_mut().filter(|p| own(p.block)) {
            pin.motion = Some(index);
            count += 1;
        }
        let held = model.held_frames.iter_mut();
        for frame in held.filter(|f| f.clamp.body == body) {
            frame.motion = Some(index);
        }
        count
    }
}
