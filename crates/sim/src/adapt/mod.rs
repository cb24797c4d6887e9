//! Stage `adapt`: topology changes between steps.
//!
//! At the start of a step an [`Adapter`] is given the model and the state and returns the meshes
//! that change. Model, state and method memory follow together, or not at all.

pub(crate) mod keys;
mod proximity;
mod refine;
mod remesh;

use stiction_bodies::{
    Model, State,
    adapt::{AdaptError, Adaptation, MeshChange, Topology, TopologyChange},
};

use crate::{
    error::SolveError,
    method::{Memory, Method},
};

pub use refine::{RefineAt, Refinements};
pub use remesh::{RemeshRule, Remeshing};

/// Source of topology changes.
pub trait Adapter: Send {
    /// The changes due at the start of the step from `state`, at most one per body; none if the
    /// topology stays. It is called until there are none.
    fn changes(&self, model: &Model, state: &State) -> Result<Vec<MeshChange>, AdaptError>;

    /// The changes were made at the start of the step from `state`.
    fn made(&mut self, changes: &[MeshChange], state: &State);

    /// Data for a checkpoint.
    fn save(&self) -> Vec<u64>;

    /// Restores the data of `save`.
    fn recall(&mut self, memory: &[u64]);
}

/// Rules by which the meshes of shells change, at most one per body.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Adaptations {
    /// Which are refined, and when.
    pub refined: Vec<RefineAt>,
    /// Which are remeshed, and how.
    pub remeshed: Vec<RemeshRule>,
}

impl Adaptations {
    /// An adapter that follows the rules, if there are any. `thickness` is that of contact [m]; none if there is
    /// no contact.
    pub fn adapter(&self, thickness: Option<f64>) -> Option<Box<dyn Adapter>> {
        let mut list: Vec<Box<dyn Adapter>> = Vec::new();
        if !self.refined.is_empty() {
            list.push(Box::new(Refinements::new(self.refined.clone())));
        }
        if !self.remeshed.is_empty() {
            list.push(Box::new(Remeshing::new(self.remeshed.clone(), thickness)));
        }
        match list.len() {
            0 | 1 => list.pop(),
            _ => Some(Box::new(Adapters { list })),
        }
    }
}

/// Several adapters, for different bodies.
#[derive(Default)]
pub struct Adapters {
    /// The adapters.
    pub list: Vec<Box<dyn Adapter>>,
}

impl Adapter for Adapters {
    fn changes(&self, model: &Model, state: &State) -> Result<Vec<MeshChange>, AdaptError> {
        let mut all = Vec::new();
        for adapter in &self.list {
            all.extend(adapter.changes(model, state)?);
        }
        Ok(all)
    }

    fn made(&mut self, changes: &[MeshChange], state: &State) {
        for adapter in &mut self.list {
            adapter.made(changes, state);
        }
    }

    fn save(&self) -> Vec<u64> {
        let mut all = Vec::new();
        for own in self.list.iter().map(|a| a.save()) {
            all.push(own.len() as u64);
            all.extend(own);
        }
        all
    }

    fn recall(&mut self, memory: &[u64]) {
        let mut rest = memory;
        for adapter in &mut self.list {
            let Some((count, more)) = rest.split_first() else {
                return;
            };
            let (own, after) = more.split_at((*count as usize).min(more.len()));
            adapter.recall(own);
            rest = after;
        }
    }
}

/// Reason for which the topology cannot change. Model, state and method are as they were.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum ChangeError {
    /// The new model cannot be made.
    #[error(transparent)]
    Model(#[from] AdaptError),
    /// The method cannot follow.
    #[error(transparent)]
    Method(#[from] SolveError),
}

/// Model, state, method memory and adapter memory before a change of topology.
pub(crate) struct Before {
    pub model: Model,
    pub state: State,
    pub memory: Memory,
    pub adapter: Vec<u64>,
}

/// Makes all changes that are due. Returns what was before the first one, if there was one; on error
/// all is as before.
pub(crate) fn run(
    adapter: &mut dyn Adapter,
    model: &mut Model,
    state: &mut State,
    method: &mut dyn Method,
) -> Result<Option<Before>, ChangeError> {
    let mut before: Option<Before> = None;
    loop {
        match once(adapter, model, state, method, &mut before) {
            Ok(true) => {}
            Ok(false) => return Ok(before),
            Err(error) => {
                if let Some(before) = before {
                    (*model, *state) = (before.model, before.state);
                    method.recall(before.memory);
                    adapter.recall(&before.adapter);
                }
                return Err(error);
            }
        }
    }
}

/// Makes the next changes; whether there were any.
fn once(
    adapter: &mut dyn Adapter,
    model: &mut Model,
    state: &mut State,
    method: &mut dyn Method,
    before: &mut Option<Before>,
) -> Result<bool, ChangeError> {
    let changes = adapter.changes(model, state)?;
    if changes.is_empty() {
        return Ok(false);
    }
    let change = TopologyChange::new(model, changes)?;
    let after = Topology::after(model, &change).apply(model)?;
    let adaptation = Adaptation {
        before: model,
        after: &after,
        change: &change,
    };
    let next = adaptation.state(state);
    let (memory, kept) = (method.save(), adapter.save());
    method.adapt(&adaptation, state, &next)?;
    adapter.made(change.changes(), state);
    let model = std::mem::replace(model, after);
    let state = std::mem::replace(state, next);
    before.get_or_insert(Before {
        model,
        state,
        memory,
        adapter: kept,
    });
    Ok(true)
}
