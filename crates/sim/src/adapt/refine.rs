//! Uniform refinement at given times.

use stiction_bodies::{
    Model, State,
    adapt::{AdaptError, MeshChange},
};

use super::Adapter;

/// When a shell is refined.
#[derive(Clone, Debug, PartialEq)]
pub struct RefineAt {
    /// The body.
    pub body: usize,
    /// Times at which all its edges are halved, ascending [s].
    pub times: Vec<f64>,
}

/// Shells that are refined at given times, each at the start of the first step that begins then or
/// later.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Refinements {
    rules: Vec<RefineAt>,
    /// Refinements made so far, by rule.
    done: Vec<u64>,
}

impl Refinements {
    /// The given rules, at most one per body.
    pub fn new(rules: Vec<RefineAt>) -> Self {
        let done = vec![0; rules.len()];
        Self { rules, done }
    }
}

/// Times of steps are multiples of the time step up to rounding [1].
const ROUNDING: f64 = 1e-12;

impl Adapter for Refinements {
    fn changes(&self, model: &Model, state: &State) -> Result<Vec<MeshChange>, AdaptError> {
        let now = state.time * (1.0 + ROUNDING);
        let rules = self.rules.iter().zip(&self.done);
        let due = rules.filter(|(rule, done)| {
            let next = rule.times.get(**done as usize);
            next.is_some_and(|t| *t <= now)
        });
        due.map(|(rule, _)| MeshChange::refine(model, rule.body))
            .collect()
    }

    fn made(&mut self, changes: &[MeshChange], _state: &State) {
        for (rule, done) in self.rules.iter().zip(&mut self.done) {
            *done += u64::from(changes.iter().any(|c| c.body == rule.body));
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
