//! Steps of a scene at rest, which repeat.
//!
//! A substep is a function of the state, the memory of the method, the model and the time: that is what lets a run go on
//! from a checkpoint bit for bit. Where a substep under loads that do not change with time leaves state and memory as
//! they were, in all bits, the next one has the same answer. It is not computed again: its report and its certificate are
//! those of the last one. Whatever changes the model, the state or the memory ends the rest.

use stiction_bodies::{Body, BodyKind, Model, State};
use stiction_contact::Certificate;
use stiction_math::Vec3;

use crate::{
    failsafe::Separation,
    method::{Memory, Method, SolveReport},
};

/// The result of a substep.
pub(crate) type Answer = (SolveReport, Separation, Certificate);

/// The end of a substep in which nothing moved.
pub(crate) struct Repeat {
    h: f64,
    state: State,
    memory: Memory,
    /// The result of the substep, if the one before it had ended in the same way.
    answer: Option<Answer>,
}

impl Repeat {
    /// The substep of `h` [s] that has ended in `state` with the result `answer`, if all velocities are zero and it may
    /// repeat; `last` is the one before it.
    pub(crate) fn after(
        last: Option<Self>,
        (model, state, method): (&Model, &State, &dyn Method),
        h: f64,
        answer: Answer,
    ) -> Option<Self> {
        let still = |v: &Vec3| *v == Vec3::zeros();
        if !state.v.iter().all(still) || !method.repeats() || !is_steady(model) {
            return None;
        }
        let memory = method.save();
        let fixed = |last: &Self| {
            last.h.to_bits() == h.to_bits()
                && same_state(&last.state, state)
                && same_memory(&last.memory, &memory)
        };
        let answer = last.as_ref().is_some_and(fixed).then_some(answer);
        Some(Self {
            h,
            state: state.clone(),
            memory,
            answer,
        })
    }

    /// The result of a substep of `h` [s] that starts where this one ended, if it is known.
    pub(crate) fn answer(&self, h: f64) -> Option<Answer> {
        self.answer.filter(|_| self.h.to_bits() == h.to_bits())
    }
}

/// Whether nothing in the model depends on time.
fn is_steady(model: &Model) -> bool {
    // All fields are named, so that a new one is not forgotten here.
    let Model {
        bodies,
        gravity: _,
        gravity_track,
        air,
        motions: _,
        pins,
        held_frames,
        attachments,
        volumes: _,
        obstacles,
        points: _,
        contact: _,
        generation: _,
    } = model;
    let steady = |body: &Body| body.load.is_none() && !matches!(body.kind, BodyKind::Open(_));
    gravity_track.is_none()
        && air.as_ref().is_none_or(|air| air.gust.is_none())
        && pins.iter().all(|pin| pin.motion.is_none())
        && held_frames.iter().all(|frame| frame.motion.is_none())
        && attachments
            .iter()
            .all(|a| a.motion.is_none() && a.closing.is_none())
        && !obstacles.iter().any(|obstacle| obstacle.moves())
        && bodies.iter().all(steady)
}

/// Whether two states agree in everything but time.
fn same_state(a: &State, b: &State) -> bool {
    same_bits(&a.x, &b.x)
        && same_bits(&a.v, &b.v)
        && a.rotations == b.rotations
        && a.frames == b.frames
        && a.columns == b.columns
}

fn same_memory(a: &Memory, b: &Memory) -> bool {
    let mut columns = a.columns.iter().zip(&b.columns);
    a.keys == b.keys
        && a.columns.len() == b.columns.len()
        && columns.all(|(a, b)| a.0 == b.0 && same_bits(&a.1, &b.1))
}

fn same_bits(a: &[Vec3], b: &[Vec3]) -> bool {
    let same = |(a, b): (&Vec3, &Vec3)| (0..3).all(|k| a[k].to_bits() == b[k].to_bits());
    a.len() == b.len() && a.iter().zip(b).all(same)
}
