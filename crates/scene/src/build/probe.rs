//! Probes on a built model.

use stiction_bodies::builder::Anchor;
use stiction_sim::probe::{Probe, Quantity, Spot};

use super::Assembly;
use crate::{
    format::ProblemKind,
    read::{
        pin::SpotPlan,
        probe::{Followed, ProbePlan},
    },
};

impl Assembly<'_> {
    /// A probe; where its quantity begins is not known before the masses are.
    pub(super) fn probe(&mut self, plan: &ProbePlan) -> Option<Probe> {
        let quantity = match &plan.of {
            Followed::Quantity(quantity) => quantity.clone(),
            Followed::Point(anchor, of) => of(self.point(plan, anchor)?),
            Followed::Points([a, b]) => {
                Quantity::Distance(self.point(plan, a)?, self.point(plan, b)?)
            }
            Followed::Spots([a, b], of) => of(self.spot(plan, a)?, self.spot(plan, b)?),
        };
        match quantity {
            Quantity::AngularVelocity(body, _) | Quantity::Angle(body, ..) => {
                self.rigid(plan, body)?;
            }
            Quantity::Volume(body) => self.closed(plan, body)?,
            _ => {}
        }
        let name = plan.name.value.clone();
        Some(Probe { name, quantity })
    }

    /// A point that a probe follows.
    fn point(&mut self, plan: &ProbePlan, anchor: &Anchor) -> Option<usize> {
        let point = self.stencil(anchor, plan.place)?;
        Some(self.builder.track(point))
    }

    fn spot(&mut self, plan: &ProbePlan, spot: &SpotPlan) -> Option<Spot> {
        match spot {
            SpotPlan::Point(anchor) => self.point(plan, anchor).map(Spot::Point),
            SpotPlan::Centre(body) => Some(Spot::Centre(*body)),
        }
    }

    /// Reports a body that must be rigid and is not.
    fn rigid(&self, plan: &ProbePlan, body: usize) -> Option<()> {
        let (probe, body) = (&plan.name.value, &self.builder.model().bodies[body]);
        if body.kind.as_rigid().is_some() {
            return Some(());
        }
        let body = &body.name;
        let message = format!("probe `{probe}`: body `{body}` is not rigid and has no orientation");
        let help = "of a body that deforms, `spin` is its angular momentum about its own centre";
        self.reporter.refuse(plan.body, message, help)
    }

    /// Reports a body whose surface is not closed.
    fn closed(&self, plan: &ProbePlan, body: usize) -> Option<()> {
        let (probe, body) = (&plan.name.value, &self.builder.model().bodies[body]);
        let closed = body.surface_in(self.builder.state()).check_closed();
        let name = &body.name;
        let closed =
            closed.map_err(|e| format!("probe `{probe}`: body `{name}` encloses no volume: {e}"));
        self.reporter.ok(ProblemKind::Value, plan.body, closed)
    }
}
