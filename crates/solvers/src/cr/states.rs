//! Contacts during the iteration: evaluation of their states, and revision by the source.

use stiction_contact::{
    FrictionProblem,
    detect::Revision,
    solver::{SolverReport, Task},
};
use stiction_math::Vec3;

use super::{
    Config, ContactUpdate, Error, SwitchRule,
    iterate::Workspace,
    law::{FrictionState, LocalContact, Proposal},
};
use crate::kkt::{ActiveRows, KktIteration, for_contacts};

impl Workspace {
    /// Proposes new states, all at the same velocities and impulses. Returns whether any change is large
    /// enough not to be postponed.
    pub(super) fn evaluate(
        &mut self,
        problem: &FrictionProblem,
        law: &SwitchRule,
        constraint: f64,
    ) -> bool {
        let set = &problem.contacts;
        let Self {
            iteration: KktIteration { y, rows, .. },
            rho,
            touches,
            proposals,
            ..
        } = self;
        let size = |c: usize, proposal: &Proposal| {
            let before = y.c[c] + set.normal[c] * set.cohesion[c];
            let step = (proposal.force - before) / rho[c];
            // Rows that were not active before show their violation now.
            let u = set.velocity(c, &y.v) + set.k[c];
            let after = proposal.row.active * u + proposal.row.compliance * proposal.force;
            let now = rows[c].active * u + rows[c].compliance * before;
            let grown = (after.norm_squared() - now.norm_squared()).max(0.0);
            (step.norm_squared(), grown)
        };
        for_contacts(proposals, |c, proposal| {
            let at = LocalContact::new(set, c, &y.v, &y.c);
            let next = law.evaluate(&at, &touches[c]);
            let (step, grown) = size(c, &next);
            *proposal = (problem.h * step.max(grown).sqrt() > constraint).then_some(next);
        });
        proposals.iter().any(Option::is_some)
    }

    /// Takes the proposed states.
    pub(super) fn accept(&mut self, problem: &FrictionProblem) {
        let set = &problem.contacts;
        for (c, proposal) in self.proposals.iter_mut().enumerate() {
            if let Some(Proposal { touch, row, force }) = proposal.take() {
                self.touches[c] = touch;
                self.iteration.rows[c] = row;
                self.iteration.y.c[c] = force - set.normal[c] * set.cohesion[c];
            }
        }
    }

    /// Brings the contacts up to date; returns whether anything changed.
    pub(super) fn revise(
        &mut self,
        task: &mut Task<'_>,
        config: &Config,
        report: &mut SolverReport,
    ) -> Result<bool, Error> {
        let Some(revision) = revise(task, config.contacts, &self.iteration.y.v)? else {
            return Ok(false);
        };
        report.new_contacts += revision.added;
        let m = task.problem.contacts.len();
        let iteration = &mut self.iteration;
        iteration.y.c = revision.moved(&iteration.y.c, Vec3::zeros(), m);
        self.touches = revision.moved(&self.touches, FrictionState::fresh(), m);
        iteration.rows = revision.moved(&iteration.rows, ActiveRows::default(), m);
        iteration.resize(task.problem);
        self.resize(task.problem);
        Ok(true)
    }
}

/// Lets the source bring the contacts up to date with the velocities `v`; returns what changed, if anything.
pub(super) fn revise(
    task: &mut Task<'_>,
    update: ContactUpdate,
    v: &[Vec3],
) -> Result<Option<Revision>, Error> {
    let set = &mut task.problem.contacts;
    let before = set.len();
    let revision = match update {
        ContactUpdate::Revise(rule) => task.source.revise(v, set, &rule),
        ContactUpdate::Append => Revision::added(before, task.source.more_contacts(v, set)),
    };
    if revision.is_empty() {
        return Ok(None);
    }
    task.problem.check_contacts(0)?;
    Ok(Some(revision))
}
