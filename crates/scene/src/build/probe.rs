//! Probes on a built model.

use stiction_bodies::{Model, State, builder::Anchor};
use stiction_geometry::TriMesh;
use stiction_sim::probe::{Probe, Quantity, Spot, centroid};

use super::Assembly;
use crate::{
    read::{
        names::OfBody,
        pin::SpotPlan,
        probe::{Followed, ProbePlan},
    },
    source::At,
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
            Followed::Rigid(body, quantity) => {
                self.rigid(plan, body)?;
                quantity.clone()
            }
            Followed::Closed(body, quantity) => {
                self.closed(plan, body)?;
                quantity.clone()
            }
        };
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
    fn rigid(&self, plan: &ProbePlan, body: &At<OfBody>) -> Option<()> {
        let found = &self.builder.model().bodies[body.value.0];
        if found.kind.as_rigid().is_some() {
            return Some(());
        }
        let message = format!(
            "probe `{}`: body `{}` is not rigid and has no orientation",
            plan.name.value, found.name
        );
        let help = "of a body that deforms, `spin` is its angular momentum about its own centre";
        self.reporter.refuse(body.place, message, help)
    }

    /// Reports a body whose surface is not closed.
    fn closed(&self, plan: &ProbePlan, body: &At<OfBody>) -> Option<()> {
        let (found, surface) = self.surface(body.value.0);
        let closed = surface.check_closed().map_err(|error| {
            let name = &plan.name.value;
            format!("probe `{name}`: body `{found}` encloses no volume: {error}")
        });
        self.reporter
            .ok(crate::ProblemKind::Value, body.place, closed)
    }

    /// The name of a body and its surface where it starts.
    pub(super) fn surface(&self, body: usize) -> (&str, TriMesh) {
        let (body, state) = (&self.builder.model().bodies[body], self.builder.state());
        let mut surface = TriMesh {
            positions: Vec::new(),
            triangles: body.surface.triangles.clone(),
        };
        body.surface
            .positions(&state.x, &state.rotations, &mut surface.positions);
        (&body.name, surface)
    }
}

/// The probe with the start of what it measures from the start.
pub(super) fn begun(mut probe: Probe, model: &Model, state: &State) -> Probe {
    match &mut probe.quantity {
        Quantity::Displacement(point, start, _) => *start = model.points[*point].position(state),
        Quantity::Angle(body, start, _) => {
            if let Some(rigid) = model.bodies[*body].kind.as_rigid() {
                *start = state.rotations[rigid.index];
            }
        }
        Quantity::Travel(body, start) => {
            let bodies: Vec<_> = match body {
                Some(b) => vec![&model.bodies[*b]],
                None => model.bodies.iter().collect(),
            };
            *start = centroid(&bodies, state);
        }
        _ => {}
    }
    probe
}
