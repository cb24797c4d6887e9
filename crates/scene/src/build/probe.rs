//! Probes on a built model.

use stiction_bodies::{Model, State};
use stiction_geometry::TriMesh;
use stiction_math::Vec3;
use stiction_sim::probe::{Axis, Probe, Quantity, centroid};

use super::Assembly;
use crate::{
    error::Kind,
    read::probe::{Followed, ProbePlan},
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
}

impl Assembly<'_> {
    pub(super) fn draft_probe(&mut self, plan: &ProbePlan) -> Option<Draft> {
        let mut point = |anchor| {
            let point = self.stencil(anchor, plan.place)?;
            Some(self.builder.track(point))
        };
        let of = Waiting::Nothing(match &plan.of {
            Followed::Displacement(p, axis) => {
                return Some(Draft {
                    name: plan.name.value.clone(),
                    of: Waiting::Displacement(point(p)?, *axis),
                });
            }
            Followed::Travel(body) => {
                return Some(Draft {
                    name: plan.name.value.clone(),
                    of: Waiting::Travel(*body),
                });
            }
            Followed::Quantity(quantity) => quantity.clone(),
            Followed::Position(p, axis) => Quantity::Position(point(p)?, *axis),
            Followed::Velocity(p, axis) => Quantity::Velocity(point(p)?, *axis),
            Followed::Distance(a, b) => Quantity::Distance(point(a)?, point(b)?),
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
                    return body.fail(self.reporter, Kind::Value, message, None);
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

impl Draft {
    pub fn finish(self, model: &Model, state: &State) -> Probe {
        let quantity = match self.of {
            Waiting::Nothing(quantity) => quantity,
            Waiting::Displacement(point, axis) => {
                let start = model.points[point].position(state);
                Quantity::Displacement(point, start, axis)
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
