//! Attachments as the contact of the force-based core.

use stiction_bodies::Model;
use stiction_contact::{
    ContactSet,
    attach::{AttachConfig, AttachContacts, AttachError, StoredPair},
    smooth::{ContactKinematics, RigidFrame},
};
use stiction_math::{Mat3, Vec3, reduce};

use crate::{
    colliders::{ContactRules, colliders},
    error::SolveError,
    forces::{Change, ForceState},
    implicit::{Blocks, ContactForces, ContactRates, ContactStage, Trial},
    prescribed::Side,
};

/// The attachments of a model.
pub(super) struct Contacts {
    attach: AttachContacts,
    /// Obstacles at the time of the stage.
    frames: Vec<RigidFrame>,
    /// The rigid body of each angular block.
    angular: Vec<Option<usize>>,
    scratch: Vec<Vec3>,
    /// Length of the step whose displacements are velocities [s]; zero at the start of a step.
    chord: f64,
}

/// Points of a body per point in contact, in the default of k.
const SHARES: f64 = 4.0;
/// The default of k in units of m (1/h² + 4 g/δ): a point that bears the weight of four is compressed by a hundredth
/// of δ, and its oscillations have periods of less than a step, so that backward Euler damps them at once.
const STIFF: f64 = 100.0;

impl Contacts {
    pub fn new(model: &Model, rules: &ContactRules) -> Result<Self, AttachError> {
        let mut angular = vec![None; model.blocks()];
        for (body, rigid) in model.rigids() {
            angular[body.blocks.start + 1] = Some(rigid.index);
        }
        let list = colliders(model, rules);
        Ok(Self {
            attach: AttachContacts::new(&list, &rules.laws, AttachConfig::default())?,
            frames: Vec::new(),
            scratch: vec![Vec3::zeros(); angular.len()],
            angular,
            chord: 0.0,
        })
    }

    /// k unless it is set [N/m]: 100 m (1/h² + 4 g/δ) with the mean mass m of a particle.
    pub fn default_stiffness(&self, model: &Model, thickness: f64, h: f64) -> f64 {
        let (mut mass, mut points) = (0.0, 0);
        for (i, body) in model.bodies.iter().enumerate() {
            mass += body.kind.mechanics().total_mass();
            points += self.attach.particles_of(i);
        }
        let weight = match thickness > 0.0 {
            true => SHARES * model.gravity.norm() / thickness,
            false => 0.0,
        };
        let stiffness = STIFF * mass / points.max(1) as f64 * (1.0 / (h * h) + weight);
        match stiffness > 0.0 && stiffness.is_finite() {
            true => stiffness,
            false => AttachConfig::default().stiffness,
        }
    }

    /// Sets k [N/m].
    pub fn set_stiffness(&mut self, stiffness: f64) -> Result<(), SolveError> {
        Ok(self.attach.set_stiffness(stiffness)?)
    }

    /// Starts a step at `at` with kept attachments.
    pub fn begin(&mut self, at: ForceState<'_>, pairs: &[StoredPair]) -> Result<(), SolveError> {
        Ok(self
            .attach
            .begin(&among(at, &self.frames, self.chord), pairs)?)
    }

    /// The attachments at the end of a step, relaxed.
    pub fn stored(&self, at: ForceState<'_>) -> Result<Vec<StoredPair>, SolveError> {
        Ok(self.attach.stored(&self.at(at))?)
    }

    /// Number of attachments with a force.
    pub fn count(&self, at: ForceState<'_>) -> Result<usize, SolveError> {
        Ok(self.attach.in_contact(&self.at(at))?)
    }

    /// The contacts at `at` in the terms of the certificate, with their impulses over `h` [s].
    pub fn contact_set(
        &self,
        at: ForceState<'_>,
        h: f64,
        fixed: &[bool],
        set: &mut ContactSet,
        r: &mut Vec<Vec3>,
    ) -> Result<(), SolveError> {
        Ok(self.attach.contact_set(&self.at(at), h, fixed, set, r)?)
    }

    fn at<'a>(&'a self, place: ForceState<'a>) -> ContactKinematics<'a> {
        among(place, &self.frames, self.chord)
    }
}

impl ContactForces for Contacts {
    /// Also attaches particles that have entered an object between the start of the step and `at`.
    fn add(&mut self, at: ForceState<'_>, s: f64, f: &mut [Vec3]) -> Result<(), SolveError> {
        self.attach.detect(&among(at, &self.frames, self.chord))?;
        let mut forces = std::mem::take(&mut self.scratch);
        forces.fill(Vec3::zeros());
        let done = self.attach.force(&self.at(at), &mut forces);
        reduce::axpy(s, &forces, f);
        self.scratch = forces;
        Ok(done?)
    }

    fn cliques(&mut self, at: ForceState<'_>) -> Result<Vec<Vec<u32>>, SolveError> {
        Ok(self.attach.cliques(&self.at(at))?)
    }

    fn for_each_block(
        &self,
        at: ForceState<'_>,
        rates: &ContactRates<'_>,
        blocks: Blocks,
        sink: &mut dyn FnMut(usize, usize, &Mat3),
    ) -> Result<(), SolveError> {
        let take = |i: u32, j: u32, m: Mat3| {
            if blocks == Blocks::Diagonal && i != j {
                return;
            }
            // A rotation vector is not the rotation: its columns are turned.
            let turned = self.angular[j as usize].and_then(|rigid| rates.turns.get(rigid));
            let m = turned.map_or(m, |turn| m * turn);
            sink(i as usize, j as usize, &m);
        };
        let c = -rates.a_contact * rates.a;
        Ok(self.attach.assemble(&self.at(at), c, take)?)
    }

    fn active(&self, at: ForceState<'_>) -> Result<Vec<u32>, SolveError> {
        Ok((0..self.count(at)? as u32).collect())
    }

    fn add_product(
        &self,
        _active: &[u32],
        at: ForceState<'_>,
        change: Change<'_>,
        s: f64,
        y: &mut [Vec3],
    ) -> Result<(), SolveError> {
        let mut product = vec![Vec3::zeros(); y.len()];
        self.attach.product(&self.at(at), change.dq, &mut product)?;
        reduce::axpy(s, &product, y);
        Ok(())
    }

    fn is_dense(&self) -> bool {
        true
    }
}

impl ContactStage for Contacts {
    fn place(&mut self, model: &Model, time: f64, h: f64, side: Side) {
        let before = side == Side::Before;
        self.chord = if before { h } else { 0.0 };
        self.frames.clear();
        self.frames.extend(model.obstacles.iter().map(|o| {
            let now = o.pose(time);
            match before {
                true => RigidFrame::reached(&o.pose(time - h), &now, h),
                // The motion that follows.
                false => RigidFrame {
                    pose: now,
                    ..RigidFrame::reached(&now, &o.pose(time + h), h)
                },
            }
        }));
    }

    fn find(&mut self, at: ForceState<'_>, h: f64) -> Result<(), SolveError> {
        Ok(self.attach.find(&among(at, &self.frames, self.chord), h)?)
    }

    fn settle(&mut self, _at: ForceState<'_>) -> Result<(), SolveError> {
        Ok(())
    }

    fn is_stale(&self, at: ForceState<'_>) -> Result<bool, SolveError> {
        Ok(self.attach.is_stale(&self.at(at))?)
    }

    fn lag(&mut self, _at: ForceState<'_>) -> Result<(), SolveError> {
        Ok(())
    }

    fn admit(&mut self, _trial: Trial<'_>, _v: &mut [Vec3]) -> Result<(), SolveError> {
        Ok(())
    }

    fn reach(&mut self, _trial: Trial<'_>, _v: &[Vec3], _to: &[Vec3]) -> Result<f64, SolveError> {
        Ok(1.0)
    }
}

/// `place` among obstacles that stand at `obstacles`, with velocities that are chords of `chord` [s].
fn among<'a>(
    place: ForceState<'a>,
    obstacles: &'a [RigidFrame],
    chord: f64,
) -> ContactKinematics<'a> {
    ContactKinematics {
        x: place.x,
        rotations: place.rotations,
        v: place.v,
        obstacles,
        chord,
    }
}
