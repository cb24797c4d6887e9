//! Steps that a barrier can follow: from one iterate of Newton's method to the next, no surface
//! passes through another [li2020].
//!
//! A barrier has a force outside only, so that points outside must stay there during the solve.
//! Continuous collision detection says how far an iterate may go; every iterate is reached from the
//! one before on a path without collision, and the first one from the state at the start of the step.

use stiction_bodies::Model;
use stiction_contact::{
    ContactSet,
    detect::{DetectConfig, DetectStep, Detector, Placement},
};
use stiction_math::elementary::rotation_vector;
use stiction_math::{Quat, Vec3};

use crate::{
    colliders::{ContactRules, collider_names, colliders, place, sewn},
    error::SolveError,
};

/// Surfaces stay this fraction of the contact thickness apart, or of a tenth of it and so on if they are
/// closer already.
const CLEARANCE: f64 = 0.01;
/// Largest number of divisions of that fraction by ten.
const CLOSER: i32 = 8;
/// A colliding displacement is taken up to this fraction of the collision-free part.
const SAFETY: f64 = 0.9;

/// Continuous collision detection between iterates.
pub(super) struct Guard {
    detector: Detector,
    thickness: f64,
    placements: Vec<Placement<'static>>,
    free: Vec<bool>,
    displacement: Vec<Vec3>,
    found: ContactSet,
    none: ContactSet,
}

/// A configuration: one position per block, one orientation per rigid body.
pub(super) struct Configuration<'a> {
    pub x: &'a [Vec3],
    pub rotations: &'a [Quat],
}

impl Guard {
    pub fn new(model: &Model, rules: &ContactRules) -> Result<Self, SolveError> {
        let (bodies, laws) = (colliders(model, rules), rules.laws.clone());
        Ok(Self {
            detector: Detector::new(bodies, laws, DetectConfig::default())?
                .named(collider_names(model))
                .sewn(&sewn(model)),
            thickness: rules.thickness,
            placements: Vec::new(),
            free: vec![false; model.blocks()],
            displacement: Vec::new(),
            found: ContactSet::default(),
            none: ContactSet::default(),
        })
    }

    /// The fraction of the path between two configurations that is free of collisions: 1 if all of it
    /// is, else less than where it collides. Obstacles move from where they are at the first of
    /// `times` [s] to where they are at the second.
    pub fn fraction(
        &mut self,
        model: &Model,
        from: &Configuration<'_>,
        to: &Configuration<'_>,
        times: [f64; 2],
    ) -> Result<f64, SolveError> {
        place(model, times[0], times[1], &mut self.placements);
        self.displacement.clear();
        self.displacement
            .extend(from.x.iter().zip(to.x).map(|(from, to)| to - from));
        for (body, rigid) in model.rigids() {
            let turned = to.rotations[rigid.index] * from.rotations[rigid.index].inverse();
            self.displacement[body.blocks.start + 1] = rotation_vector(&turned);
        }
        // In a step of one second, the displacement is the velocity.
        let step = DetectStep {
            h: 1.0,
            x: from.x,
            rotations: from.rotations,
            v: &self.displacement,
            start: &self.displacement,
            fixed: &self.free,
            obstacles: &self.placements,
            previous: &self.none,
            held: &[],
        };
        self.detector.detect(&step, &mut self.found)?;
        for k in 0..CLOSER {
            let clearance = CLEARANCE * self.thickness * 10f64.powi(-k);
            let fraction = self.detector.safe_fraction(&self.displacement, clearance)?;
            if fraction >= 1.0 {
                return Ok(1.0);
            }
            if fraction > 0.0 {
                return Ok(SAFETY * fraction);
            }
        }
        let pair = self.limiting_pair()?;
        Err(SolveError::Passes {
            fraction: 0.0,
            pair,
        })
    }

    /// The names of the bodies or obstacles that limit the last [`Self::fraction`].
    pub fn limiting_pair(&mut self) -> Result<Option<[String; 2]>, SolveError> {
        let clearance = CLEARANCE * self.thickness * 10f64.powi(1 - CLOSER);
        Ok(self.detector.limiting_pair(&self.displacement, clearance)?)
    }
}
