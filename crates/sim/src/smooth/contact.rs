//! Smooth contact forces as the stages of a step see them: obstacles at the right time, rotation
//! vectors of rigid bodies, weights of the integrator.

use stiction_bodies::{Model, motion::Pose};
use stiction_contact::{
    ContactSet,
    smooth::{self, Frame, Room, SmoothConfig, SmoothContacts, SmoothError},
};
use stiction_math::{Mat3, Vec3, reduce};

use crate::{
    colliders::{ContactRules, colliders},
    error::SolveError,
    forces::Place,
    jacobian::Jacobian,
    prescribed::Side,
};

/// The contacts of a model.
pub(super) struct Contacts {
    smooth: SmoothContacts,
    /// Obstacles at the time of the stage.
    frames: Vec<Frame>,
    /// The rigid body of each angular block.
    angular: Vec<Option<usize>>,
    scratch: Vec<Vec3>,
}

/// The velocity of an obstacle is a difference over this part of the step.
const PART: f64 = 1e-3;

impl Contacts {
    pub fn new(
        model: &Model,
        rules: &ContactRules,
        config: &SmoothConfig,
    ) -> Result<Self, SmoothError> {
        let mut angular = vec![None; model.blocks()];
        for (body, rigid) in model.rigids() {
            angular[body.blocks.start + 1] = Some(rigid.index);
        }
        Ok(Self {
            smooth: SmoothContacts::new(&colliders(model, rules), &rules.laws, *config)?,
            frames: Vec::new(),
            scratch: vec![Vec3::zeros(); angular.len()],
            angular,
        })
    }

    /// Places the obstacles where they are at `time` [s] in a step of `h` [s].
    pub fn frame(&mut self, model: &Model, time: f64, h: f64, side: Side) {
        let dt = match side {
            Side::Before => PART * h,
            Side::After => -PART * h,
        };
        self.frames.clear();
        self.frames.extend(model.obstacles.iter().map(|o| {
            let now: Pose = o.pose(time);
            Frame::reached(&o.pose(time - dt), &now, dt)
        }));
    }

    fn at<'a>(&'a self, place: Place<'a>) -> smooth::Place<'a> {
        among(place, &self.frames)
    }

    /// Lists what may touch while things move from `place` for about `h` [s].
    pub fn find(&mut self, place: Place<'_>, h: f64) -> Result<(), SolveError> {
        Ok(self.smooth.find(&among(place, &self.frames), h)?)
    }

    /// Whether something moved so far that contacts may be missing.
    pub fn is_stale(&self, place: Place<'_>) -> Result<bool, SolveError> {
        Ok(self.smooth.is_stale(&self.at(place))?)
    }

    /// Whether nothing in reach is inside.
    pub fn is_feasible(&self, place: Place<'_>) -> Result<bool, SolveError> {
        Ok(self.smooth.is_feasible(&self.at(place))?)
    }

    /// Takes normal forces and directions of lagged friction from `place`.
    pub fn lag(&mut self, place: Place<'_>) -> Result<(), SolveError> {
        Ok(self.smooth.lag(&among(place, &self.frames))?)
    }

    /// The same with another κ [N/m]: that of the forces which acted there.
    pub fn lag_with(&mut self, kappa: f64, place: Place<'_>) -> Result<(), SolveError> {
        let now = self.stiffness();
        self.set_stiffness(kappa)?;
        let lagged = self.lag(place);
        self.set_stiffness(now)?;
        lagged
    }

    /// f += s f_c.
    pub fn add(&mut self, place: Place<'_>, s: f64, f: &mut [Vec3]) -> Result<(), SolveError> {
        let mut forces = std::mem::take(&mut self.scratch);
        forces.fill(Vec3::zeros());
        let done = self.smooth.force(&self.at(place), &mut forces);
        reduce::axpy(s, &forces, f);
        self.scratch = forces;
        Ok(done?)
    }

    /// Whether the Jacobian is better assembled than applied.
    pub fn is_dense(&self) -> bool {
        self.smooth.has_deforming()
    }

    /// The contacts that products at `place` must look at.
    pub fn active(&self, place: Place<'_>) -> Result<Vec<u32>, SolveError> {
        Ok(self.smooth.active(&self.at(place))?)
    }

    /// y += s (∂f_c/∂q dq + ∂f_c/∂v dv) of the contacts `active` there.
    pub fn add_product(
        &self,
        active: &[u32],
        place: Place<'_>,
        dq: &[Vec3],
        dv: &[Vec3],
        s: f64,
        y: &mut [Vec3],
    ) -> Result<(), SolveError> {
        let mut change = vec![Vec3::zeros(); y.len()];
        self.smooth
            .product_of(active, &self.at(place), dq, dv, &mut change)?;
        reduce::axpy(s, &change, y);
        Ok(())
    }

    /// Calls `sink` with the blocks of −a_c (∂f_c/∂v + a ∂f_c/∂q T), T as in [`crate::forces`].
    pub fn for_each_block(
        &self,
        place: Place<'_>,
        turns: &[Mat3],
        a: f64,
        a_contact: f64,
        mut sink: impl FnMut(usize, usize, Mat3),
    ) -> Result<(), SolveError> {
        let at = self.at(place);
        if turns.is_empty() {
            let take = |i: u32, j: u32, m| sink(i as usize, j as usize, m);
            self.smooth
                .assemble(&at, -a_contact * a, -a_contact, take)?;
            return Ok(());
        }
        // A rotation vector is not the rotation: its columns are turned.
        self.smooth.assemble(&at, -a_contact * a, 0.0, |i, j, m| {
            let m = self.angular[j as usize].map_or(m, |rigid| m * turns[rigid]);
            sink(i as usize, j as usize, m);
        })?;
        self.smooth.assemble(&at, 0.0, -a_contact, |i, j, m| {
            sink(i as usize, j as usize, m);
        })?;
        Ok(())
    }

    /// Calls `sink` with those of these blocks that are on the diagonal.
    pub fn for_each_diagonal(
        &self,
        place: Place<'_>,
        turns: &[Mat3],
        a: f64,
        a_contact: f64,
        mut sink: impl FnMut(usize, Mat3),
    ) -> Result<(), SolveError> {
        let at = self.at(place);
        if turns.is_empty() {
            let take = |i: u32, m| sink(i as usize, m);
            self.smooth
                .assemble_diagonal(&at, -a_contact * a, -a_contact, take)?;
            return Ok(());
        }
        self.smooth
            .assemble_diagonal(&at, -a_contact * a, 0.0, |i, m| {
                let m = self.angular[i as usize].map_or(m, |rigid| m * turns[rigid]);
                sink(i as usize, m);
            })?;
        self.smooth
            .assemble_diagonal(&at, 0.0, -a_contact, |i, m| sink(i as usize, m))?;
        Ok(())
    }

    /// Adds those blocks to the Jacobian.
    pub fn add_blocks(
        &self,
        place: Place<'_>,
        turns: &[Mat3],
        a: f64,
        a_contact: f64,
        jacobian: &mut Jacobian,
    ) -> Result<(), SolveError> {
        let mut done = Ok(());
        self.for_each_block(place, turns, a, a_contact, |i, j, m| {
            if done.is_ok() {
                done = jacobian.add(i, j, &m);
            }
        })?;
        Ok(done?)
    }

    /// Grows `room` until all contacts at `place` have theirs.
    pub fn make_room(&self, place: Place<'_>, room: &mut Room) -> Result<(), SolveError> {
        Ok(self.smooth.make_room(&self.at(place), room)?)
    }

    /// How many contacts press at `place`.
    pub fn count(&self, place: Place<'_>) -> Result<usize, SolveError> {
        Ok(self.smooth.in_contact(&self.at(place))?)
    }

    /// Raises κ if something penetrates at `place`; whether it did.
    pub fn stiffen(&mut self, place: Place<'_>) -> Result<bool, SolveError> {
        let deepest = self.smooth.deepest(&self.at(place))?;
        Ok(self.smooth.raise_stiffness(deepest))
    }

    /// Lowers κ again if nothing touches at `place`.
    pub fn relax(&mut self, place: Place<'_>) -> Result<(), SolveError> {
        Ok(self.smooth.relax(&among(place, &self.frames))?)
    }

    /// The contacts at `place` as the certificate wants them, with their impulses over `h` [s].
    pub fn contact_set(
        &self,
        place: Place<'_>,
        h: f64,
        fixed: &[bool],
        set: &mut ContactSet,
        r: &mut Vec<Vec3>,
    ) -> Result<(), SolveError> {
        Ok(self.smooth.contact_set(&self.at(place), h, fixed, set, r)?)
    }

    /// κ [N/m].
    pub fn stiffness(&self) -> f64 {
        self.smooth.stiffness()
    }

    /// Sets κ [N/m].
    pub fn set_stiffness(&mut self, kappa: f64) -> Result<(), SolveError> {
        Ok(self.smooth.set_stiffness(kappa)?)
    }

    /// On which sides of sheets vertices are, as columns of a checkpoint.
    pub fn sides(&self) -> &[([u32; 2], f64)] {
        self.smooth.sides()
    }

    /// Takes them back.
    pub fn set_sides(&mut self, sides: Vec<([u32; 2], f64)>) {
        self.smooth.set_sides(sides);
    }
}

/// `place` among obstacles that stand at `obstacles`.
fn among<'a>(place: Place<'a>, obstacles: &'a [Frame]) -> smooth::Place<'a> {
    smooth::Place {
        x: place.x,
        rotations: place.rotations,
        v: place.v,
        obstacles,
    }
}
