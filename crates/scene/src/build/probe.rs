//! Probes on a built model.

use stiction_bodies::{Model, State, builder::Anchor};
use stiction_geometry::TriMesh;
use stiction_math::{Quat, Vec3};
use stiction_sim::probe::{Axis, Probe, Quantity, Spot, centroid};

use super::Assembly;
use crate::{
    error::ProblemKind,
    read::probe::{Followed, ProbePlan, SpotPlan},
    source::At,
};

/// A probe that waits for the masses, which come last.
pub(super) struct Draft {
    name: String,
    of: Waiting,
}

enum Waiting {
    Nothing(Quantity),
    /// A tracked point.
    Displacement(usize, Axis),
    Travel(Option<usize>),
    Angle(usize, Vec3),
}

impl Assembly<'_> {
    pub(super) fn draft_probe(&mut self, plan: &ProbePlan) -> Option<Draft> {
        let of = Waiting::Nothing(match &plan.of {
            Followed::RelativePosition(a, b, axis) => {
                Quantity::RelativePosition(self.spot(plan, a)?, self.spot(plan, b)?, *axis)
            }
            Followed::RelativeVelocity(a, b, axis) => {
                Quantity::RelativeVelocity(self.spot(plan, a)?, self.spot(plan, b)?, *axis)
            }
            Followed::AngularVelocity(body, axis) => {
                Quantity::AngularVelocity(self.rigid(plan, body)?, *axis)
            }
            Followed::Angle(body, axis) => {
                return Some(Draft {
                    name: plan.name.value.clone(),
                    of: Waiting::Angle(self.rigid(plan, body)?, *axis),
                });
            }
            Followed::Displacement(p, axis) => {
                return Some(Draft {
                    name: plan.name.value.clone(),
                    of: Waiting::Displacement(self.point(plan, p)?, *axis),
                });
            }
            Followed::Travel(body) => {
                return Some(Draft {
                    name: plan.name.value.clone(),
                    of: Waiting::Travel(*body),
                });
            }
            Followed::Quantity(quantity) => quantity.clone(),
            Followed::Position(p, axis) => Quantity::Position(self.point(plan, p)?, *axis),
            Followed::Velocity(p, axis) => Quantity::Velocity(self.point(plan, p)?, *axis),
            Followed::Distance(a, b) => {
                Quantity::Distance(self.point(plan, a)?, self.point(plan, b)?)
            }
            Followed::Volume(body) => {
                let (b, state) = (
                    &self.builder.model().bodies[body.value],
                    self.builder.state(),
                );
                let mut positions = Vec::new();
                b.surface
                    .positions(&state.x, &state.rotations, &mut positions);
                let surface = TriMesh {
                    positions,
                    triangles: b.surface.triangles.clone(),
                };
                if let Err(error) = surface.check_closed() {
                    let message = format!(
                        "probe `{}`: body `{}` encloses no volume: {error}",
                        plan.name.value, b.name
                    );
                    return body.fail(self.reporter, ProblemKind::Value, message, None);
                }
                Quantity::Volume(body.value)
            }
        });
        Some(Draft {
            name: plan.name.value.clone(),
            of,
        })
    }
}

impl Assembly<'_> {
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

    /// The body of a probe that must be rigid.
    fn rigid(&self, plan: &ProbePlan, body: &At<usize>) -> Option<usize> {
        let found = &self.builder.model().bodies[body.value];
        if found.kind.as_rigid().is_some() {
            return Some(body.value);
        }
        let message = format!(
            "probe `{}`: body `{}` is not rigid and has no orientation",
            plan.name.value, found.name
        );
        let help = "of a body that deforms, `spin` is its angular momentum about its own centre";
        body.fail(
            self.reporter,
            ProblemKind::Value,
            message,
            Some(help.to_owned()),
        )
    }
}

impl Draft {
    pub fn finish(self, model: &Model, state: &State) -> Probe {
        let quantity = match self.of {
            Waiting::Nothing(quantity) => quantity,
            Waiting::Displacement(point, axis) => {
                let start = model.points[point].position(state);
                Quantity::Displacement(point, start, axis)
            }
            Waiting::Angle(body, axis) => {
                let rigid = model.bodies[body].kind.as_rigid();
                let start = rigid.map_or_else(Quat::identity, |r| state.rotations[r.index]);
                Quantity::Angle(body, start, axis)
            }
            Waiting::Travel(body) => {
                let bodies: Vec<_> = match body {
                    Some(b) => vec![&model.bodies[b]],
                    None => model.bodies.iter().collect(),
                };
                let start: Vec3 = centroid(&bodies, state);
                Quantity::Travel(body, start)
            }
        };
        Probe {
            name: self.name,
            quantity,
        }
    }
}
