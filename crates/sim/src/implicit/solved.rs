//! The contacts of a step of a force-based method, for the certificate and for reports.
//!
//! Impulses are r = h f_c(q⁺, v⁺). The scale of a contact's residual comes from the diagonal blocks of
//! the Jacobian without contact. There is no friction problem behind them: the Jacobian is not
//! symmetric, and friction is a force.

use stiction_bodies::Model;
use stiction_contact::{
    ContactSet,
    detect::{DetectConfig, Detector},
};
use stiction_math::{Mat3, Vec3};

use crate::{
    colliders::{ContactRules, collider_names, colliders, sewn},
    error::SolveError,
    forces::ForceState,
    implicit::Implicit,
    method::{SolvedContacts, System},
};

/// The contacts of the last step.
pub(crate) struct Solved {
    contacts: ContactSet,
    h: f64,
    v: Vec<Vec3>,
    r: Vec<Vec3>,
    /// Diagonal blocks of the Jacobian, made definite [kg].
    diagonal: Vec<Mat3>,
    mass: Vec<f64>,
    /// For overlaps at the end of a step, by the definition that all methods share.
    pub detector: Detector,
    /// No contact of the detector is known: sides of sheets are those of the geometry.
    pub none: ContactSet,
}

impl Solved {
    pub fn new(model: &Model, rules: &ContactRules) -> Result<Self, SolveError> {
        let n = model.blocks();
        let (bodies, laws) = (colliders(model, rules), rules.laws.clone());
        Ok(Self {
            contacts: ContactSet::default(),
            h: 0.0,
            v: vec![Vec3::zeros(); n],
            r: Vec::new(),
            diagonal: vec![Mat3::identity(); n],
            mass: model.bodies.iter().flat_map(|b| b.block_masses()).collect(),
            detector: Detector::new(bodies, laws, DetectConfig::default())?
                .named(collider_names(model))
                .sewn(&sewn(model)),
            none: ContactSet::default(),
        })
    }

    /// Takes a solved step of `h` [s]; `fill` writes the contacts and the impulses of a place.
    pub fn set(
        &mut self,
        core: &Implicit,
        fixed: &[bool],
        h: f64,
        fill: impl FnOnce(ForceState<'_>, &mut ContactSet, &mut Vec<Vec3>) -> Result<(), SolveError>,
    ) -> Result<(), SolveError> {
        let Self { v, r, diagonal, .. } = self;
        let (stage, jacobian) = (core.stage(), core.jacobian());
        self.h = h;
        fill(stage.place(), &mut self.contacts, r)?;
        for i in 0..v.len() {
            diagonal[i] = match fixed[i] {
                true => Mat3::identity(),
                false => definite(&jacobian.diagonal()[i], self.mass[i]),
            };
            v[i] = if fixed[i] { Vec3::zeros() } else { stage.v[i] };
        }
        Ok(())
    }

    /// The contacts as the certificate judges them.
    pub fn contacts(&self) -> SolvedContacts<'_> {
        SolvedContacts {
            contacts: &self.contacts,
            h: self.h,
            v: &self.v,
            r: &self.r,
            system: System::Diagonal(&self.diagonal),
            eliminated: None,
            start: None,
        }
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
