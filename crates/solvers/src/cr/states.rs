//! Contacts during the iteration: evaluation of their states, relaxation, and revision by the source.

use stiction_contact::{
    FrictionProblem, coulomb_residual,
    detect::Revision,
    solver::{SolverReport, Task},
};
use stiction_math::{Vec3, reduce};

use super::{
    Config, ContactUpdate, CrStop, Error, SwitchRule,
    iterate::Workspace,
    kkt::{ActiveRows, for_contacts},
    law::{FrictionState, LocalContact, Proposal},
};
use crate::projection::{Metric, Projection};

/// Rounds of relaxation, and sweeps over the contacts in each, when the iteration goes round in circles.
pub(super) const RELAXATION: [usize; 2] = [5, 10];

impl Workspace {
    /// Whether the law is violated by more than the answer may.
    pub(super) fn violates(&self, problem: &FrictionProblem, config: &Config, bound: f64) -> bool {
        let CrStop::Certificate(asked) = config.stop else {
            return true;
        };
        let set = &problem.contacts;
        let worst = reduce::max_ordered(set.len(), |c| {
            let at = LocalContact::new(set, c, &self.y.v, &self.y.c, self.rho[c]);
            coulomb_residual(&at.u, &at.force, &at.n, at.mu, at.rho)
        });
        worst > 0.9 * bound * asked
    }

    /// Proposes new states. Returns by how much they would change the residual [√J], or for the
    /// rules of the paper how many changes are not postponed.
    pub(super) fn evaluate(
        &mut self,
        problem: &FrictionProblem,
        config: &Config,
        pace: f64,
    ) -> f64 {
        let set = &problem.contacts;
        let Self {
            y,
            rho,
            touches,
            rows,
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
            let at = LocalContact::new(set, c, &y.v, &y.c, rho[c]);
            let next = config.law.evaluate(&at, &touches[c], pace);
            let keep = match config.stop {
                CrStop::Thresholds { constraint, .. }
                    if matches!(config.law, SwitchRule::Switching { .. }) =>
                {
                    let (step, grown) = size(c, &next);
                    problem.h * step.max(grown).sqrt() > constraint
                }
                _ => true,
            };
            *proposal = keep.then_some(next);
        });
        let proposals = &*proposals;
        reduce::sum_ordered(set.len(), |c| match &proposals[c] {
            Some(p) => {
                let (step, grown) = size(c, p);
                rho[c] * (step + grown)
            }
            None => 0.0,
        })
        .sqrt()
    }

    /// Takes the proposed states.
    pub(super) fn accept(&mut self, problem: &FrictionProblem) {
        let set = &problem.contacts;
        for (c, proposal) in self.proposals.iter_mut().enumerate() {
            if let Some(Proposal { touch, row, force }) = proposal.take() {
                self.touches[c] = touch;
                self.rows[c] = row;
                self.y.c[c] = force - set.normal[c] * set.cohesion[c];
            }
        }
    }

    /// Relaxes bodies and contacts in turn, each contact by its own exact law [otaduy2009].
    pub(super) fn relax(&mut self, problem: &FrictionProblem) -> Result<(), Error> {
        let set = &problem.contacts;
        let Self {
            approximation,
            transpose,
            y,
            residual,
            z,
            ..
        } = self;
        let mut projection = Projection::new(set, Metric::Inverse(approximation.blocks()))?;
        projection.set_impulses(set, &y.c);
        let [rounds, sweeps] = RELAXATION;
        for _ in 0..rounds {
            problem.momentum_residual(&y.v, &y.c, &mut residual.v);
            approximation.solve(&residual.v, &mut z.v);
            // Half a step: the blocks alone overshoot where neighbours are stiff.
            reduce::axpy(-0.5, &z.v, &mut y.v);
            // The projection adds what impulses do through the blocks: that is taken out first.
            residual.v.fill(Vec3::zeros());
            transpose.add(set, 1.0, &y.c, &mut residual.v);
            let blocks = approximation.blocks();
            for_contacts(&mut y.v, |j, v| *v -= blocks[j] * residual.v[j]);
            projection.project(&mut y.v, sweeps, None);
            projection.impulses(set, &mut y.c);
        }
        self.refresh(problem);
        Ok(())
    }

    /// Brings the contacts up to date; returns whether anything changed.
    pub(super) fn revise(
        &mut self,
        task: &mut Task<'_>,
        config: &Config,
        report: &mut SolverReport,
    ) -> Result<bool, Error> {
        let set = &mut task.problem.contacts;
        let before = set.len();
        let revision = match config.contacts {
            ContactUpdate::Revise => task.source.revise(&self.y.v, set),
            ContactUpdate::Append => {
                let added = task.source.more_contacts(&self.y.v, set);
                Revision::added(before, added)
            }
        };
        if revision.changed == 0 && revision.added == 0 && revision.dropped() == 0 {
            return Ok(false);
        }
        task.problem.check_contacts(0)?;
        report.new_contacts += revision.added;
        let m = task.problem.contacts.len();
        let mut r = vec![Vec3::zeros(); m];
        let mut touches = vec![FrictionState::fresh(); m];
        let mut rows = vec![ActiveRows::default(); m];
        for c in 0..before {
            if let Some(place) = revision.places.get(c).copied().flatten() {
                let place = place as usize;
                (r[place], touches[place], rows[place]) =
                    (self.y.c[c], self.touches[c], self.rows[c]);
            }
        }
        (self.y.c, self.touches, self.rows) = (r, touches, rows);
        self.resize(task.problem);
        Ok(true)
    }
}
