//! Adaptive remeshing every few steps [li2018, Sect. 5.1; narain2012].

use stiction_bodies::{
    Model, State,
    adapt::{AdaptError, MeshChange},
};
use stiction_geometry::remesh::{FieldConfig, Guard, RemeshConfig, SheetMotion, sizing_field};

use super::{Adapter, proximity::Surroundings};

/// Rule by which a shell is remeshed.
#[derive(Clone, Debug, PartialEq)]
pub struct RemeshRule {
    /// The body.
    pub body: usize,
    /// Steps from one remeshing to the next; the first is at the start.
    pub every: u64,
    /// Criteria of the edge lengths.
    pub field: FieldConfig,
    /// Settings of the operations.
    pub config: RemeshConfig,
    /// Whether nearby surfaces are a criterion [li2018, Eq. 15].
    pub proximity: bool,
}

/// Shells that are remeshed every few steps. What a mesh becomes depends on model and state alone.
#[derive(Clone, Debug, PartialEq)]
pub struct Remeshing {
    rules: Vec<RemeshRule>,
    /// The contact thickness [m]; none if there is no contact.
    thickness: Option<f64>,
    /// Of each rule, 1 + the step at whose start it was last followed; 0 for never.
    done: Vec<u64>,
}

impl Remeshing {
    /// The given rules, at most one per body.
    pub fn new(rules: Vec<RemeshRule>, thickness: Option<f64>) -> Self {
        Self {
            done: vec![0; rules.len()],
            rules,
            thickness,
        }
    }
}

impl Adapter for Remeshing {
    fn changes(&self, model: &Model, state: &State) -> Result<Vec<MeshChange>, AdaptError> {
        let rules = self.rules.iter().zip(&self.done);
        let due = |(rule, done): &(&RemeshRule, &u64)| {
            state.step.is_multiple_of(rule.every.max(1)) && **done != state.step + 1
        };
        let due: Vec<&RemeshRule> = rules.filter(due).map(|r| r.0).collect();
        let Some(reach) = due.iter().map(|r| r.field.limits.largest).reduce(f64::max) else {
            return Ok(Vec::new());
        };
        let around = self
            .thickness
            .map(|thickness| Surroundings::new(model, state, thickness, reach));
        let change = |rule: &&RemeshRule| change(rule, model, state, around.as_ref()).transpose();
        due.iter().filter_map(change).collect()
    }

    fn made(&mut self, changes: &[MeshChange], state: &State) {
        for (rule, done) in self.rules.iter().zip(&mut self.done) {
            if changes.iter().any(|c| c.body == rule.body) {
                *done = state.step + 1;
            }
        }
    }

    fn save(&self) -> Vec<u64> {
        self.done.clone()
    }

    fn recall(&mut self, memory: &[u64]) {
        for (done, kept) in self.done.iter_mut().zip(memory) {
            *done = *kept;
        }
    }
}

/// The change of one shell, if its mesh is not as it should be.
fn change(
    rule: &RemeshRule,
    model: &Model,
    state: &State,
    around: Option<&Surroundings<'_>>,
) -> Result<Option<MeshChange>, AdaptError> {
    let Some(body) = model.bodies.get(rule.body) else {
        return Ok(None);
    };
    let motion = SheetMotion {
        rest: body.rest(),
        x: &state.x[body.blocks.clone()],
        v: &state.v[body.blocks.clone()],
        triangles: &body.surface.triangles,
    };
    let planes = match around {
        Some(around) if rule.proximity => around.planes(rule.body, &motion),
        _ => Vec::new(),
    };
    let sizing = sizing_field(&motion, &planes, &rule.field);
    let guard = around.map(|a| a.guard(rule.body));
    let guard = guard.as_ref().map(|g| g as &dyn Guard);
    MeshChange::remesh(model, state, rule.body, &sizing, rule.config, guard)
}
