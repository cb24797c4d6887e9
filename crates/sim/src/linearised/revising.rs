//! Contacts that follow the motion: nonlinear contact by re-linearisation [verschoor2019, Sect. 3.3].
//!
//! A linear problem has the contacts of where they were detected. Where its answer contradicts the geometry
//! at the end of the step, because a feature slid along an edge, a normal turned or a surface is curved, the
//! contacts concerned are linearised there and the problem is solved again, from the answer: Newton's method on
//! the distances. Normals turn by at most 15° each time. The step is done when all contacts that touch agree with the
//! geometry to a tolerance.

use stiction_contact::{
    detect::{ContactSource, RevisionRule},
    solver::{SolverError, TaskStart},
};
use stiction_math::Vec3;

use super::Linearised;
use crate::{
    error::SolveError,
    method::{SolveReport, StepContext},
    stages::Stage,
};

/// Re-linearisation of contacts at the answer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Revisions {
    /// Gaps of touching contacts are right within this [m].
    pub tolerance: f64,
    /// Largest number of revisions per linearisation.
    pub most: usize,
}

impl Linearised {
    /// Revises the contacts and solves again until they agree with the geometry.
    pub(super) fn solve_revised(
        &mut self,
        step: &mut StepContext<'_>,
        v: &mut [Vec3],
        report: &mut SolveReport,
    ) -> Result<(), SolveError> {
        let Some(Revisions { tolerance, most }) = self.config.revisions else {
            return Ok(());
        };
        for _ in 0..most {
            if !self.revise(step, v, &RevisionRule::within(tolerance))? {
                break;
            }
            self.solve_turning(step, TaskStart::Given, true, v, report)?;
        }
        Ok(())
    }

    /// Brings the contacts up to date with `v`; impulses stay with theirs. Returns whether any changed.
    fn revise(
        &mut self,
        step: &mut StepContext<'_>,
        v: &[Vec3],
        rule: &RevisionRule,
    ) -> Result<bool, SolveError> {
        let Self {
            work: Some(work),
            trial,
            ..
        } = self
        else {
            return Ok(false);
        };
        let contacts = &mut work.problem.contacts;
        let detector = &mut work.detector;
        let revision = step.time(Stage::Detect, |_| detector.revise(v, contacts, rule));
        if revision.is_empty() {
            return Ok(false);
        }
        let r = &mut trial.solution.r;
        *r = revision.moved(r, Vec3::zeros(), contacts.len());
        work.problem.check_contacts(0).map_err(SolverError::from)?;
        Ok(true)
    }
}
