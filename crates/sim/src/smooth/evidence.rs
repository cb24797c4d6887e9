//! What the certificate judges of a step of smooth contact.
//!
//! The problem is A v = f + Bᵀ r with the contact impulses r = h f_c(q⁺, v⁺) and A the diagonal
//! blocks of the Jacobian without contact, which is all of A that the certificate uses. f closes the
//! balance up to the residual that Newton left, so that `dynamics` shows it.

use std::sync::Arc;

use stiction_bodies::{Model, State};
use stiction_contact::{
    ContactSet, FrictionProblem,
    detect::{DetectConfig, DetectError, Detector, Overlap, Placement, Step},
};
use stiction_math::{BlockError, BlockPattern, Mat3, PartShape, ScatterError, SystemMatrix, Vec3};

use super::contact::Contacts;
use crate::{
    colliders::{ContactRules, colliders, place},
    implicit::Implicit,
    method::{Evidence, SolveError},
};

/// The last step, as a friction problem and its solution.
pub(super) struct Record {
    problem: FrictionProblem,
    v: Vec<Vec3>,
    r: Vec<Vec3>,
    detector: Detector,
    /// The detector counts a contact's thickness as its own; smooth contact uses it up.
    thickness: f64,
    placements: Vec<Placement<'static>>,
}

impl Record {
    pub fn new(model: &Model, rules: &ContactRules) -> Result<Self, SolveError> {
        let n = model.blocks();
        // Of a shell or solid the certificate uses the diagonal blocks alone.
        let diagonal = |shape: PartShape| match shape {
            PartShape::Sparse(pattern) => {
                let alone = BlockPattern::from_cliques(pattern.n(), [])?;
                Ok(PartShape::Sparse(Arc::new(alone)))
            }
            other => Ok(other),
        };
        let bodies = model.bodies.iter();
        let shapes: Result<Vec<PartShape>, BlockError> = bodies
            .map(|b| diagonal(b.kind.mechanics().part()))
            .collect();
        let a = SystemMatrix::new(shapes.map_err(ScatterError::Block)?, &[]);
        let mut problem = FrictionProblem::new(a, vec![Vec3::zeros(); n], 1.0);
        let bodies = || model.bodies.iter();
        problem.positions = bodies().flat_map(|b| b.block_positions()).collect();
        problem.mass = bodies().flat_map(|b| b.block_masses()).collect();
        let (bodies, laws) = (colliders(model, rules), rules.laws.clone());
        Ok(Self {
            problem,
            v: vec![Vec3::zeros(); n],
            r: Vec::new(),
            detector: Detector::new(bodies, laws, DetectConfig::default())?,
            thickness: rules.thickness,
            placements: Vec::new(),
        })
    }

    /// Takes a solved step of `h` [s], with the residual that Newton left of its last stage.
    pub fn set(
        &mut self,
        contacts: &Contacts,
        core: &Implicit,
        fixed: &[bool],
        h: f64,
    ) -> Result<(), SolveError> {
        let (stage, residual) = (core.stage(), core.residual());
        let Self { problem, v, r, .. } = self;
        problem.h = h;
        problem.fixed.copy_from_slice(fixed);
        contacts.contact_set(stage.place(), h, fixed, &mut problem.contacts, r)?;
        problem.a.set_zero();
        for i in 0..v.len() {
            let block = match fixed[i] {
                true => Mat3::identity(),
                false => definite(&core.jacobian().diagonal()[i], problem.mass[i]),
            };
            problem.a.add(i, i, &block);
            v[i] = if fixed[i] { Vec3::zeros() } else { stage.v[i] };
            problem.f[i] = if fixed[i] {
                Vec3::zeros()
            } else {
                block * v[i] - residual[i]
            };
        }
        for (c, r) in r.iter().enumerate() {
            for e in problem.contacts.entries(c) {
                problem.f[e.node as usize] -= e.tr_mul(r);
            }
        }
        Ok(())
    }

    pub fn evidence(&self) -> Evidence<'_> {
        Evidence {
            problem: &self.problem,
            v: &self.v,
            r: &self.r,
            start: None,
        }
    }

    /// The deepest overlap of surfaces in `state`, found by the detector that all methods share.
    pub fn overlap(&mut self, model: &Model, state: &State) -> Result<Overlap, DetectError> {
        place(model, state.time, state.time, &mut self.placements);
        let now = Step {
            h: self.problem.h,
            x: &state.x,
            rotations: &state.rotations,
            v: &state.v,
            start: &state.v,
            fixed: &self.problem.fixed,
            obstacles: &self.placements,
            previous: &ContactSet::default(),
        };
        self.detector.overlap(&now, self.thickness)
    }
}

/// The symmetric part of a diagonal block, or the mass where that is not positive definite.
fn definite(block: &Mat3, mass: f64) -> Mat3 {
    let symmetric = (block + block.transpose()) * 0.5;
    match symmetric.cholesky() {
        Some(_) => symmetric,
        None => Mat3::from_diagonal_element(mass),
    }
}
