//! Remeshing of a shell of a model.

use stiction_geometry::remesh::{Guard, Hold, RemeshConfig, SheetInput, Sizing, remesh};

use super::{
    change::{AdaptError, MeshChange, adaptable, shell},
    energy::Budget,
};
use crate::{model::Model, state::State};

impl MeshChange {
    /// Remeshes a shell such that its edges have sizes up to 1 by the tensors `sizing` of its nodes;
    /// none if its mesh is as it should be. Flips and collapses add no more energy than motion can pay for. Lines between materials and pinned lines stay, and so do
    /// nodes that something is attached to.
    pub fn remesh(
        model: &Model,
        state: &State,
        body: usize,
        sizing: &[Sizing],
        config: RemeshConfig,
        guard: Option<&dyn Guard>,
    ) -> Result<Option<Self>, AdaptError> {
        let own = adaptable(model, body)?;
        let (source, _) = shell(model, body)?;
        if sizing.len() != own.node_count() {
            return Err(AdaptError::Inconsistent {
                body: own.name.clone(),
                what: "a node has no sizing tensor, or a tensor no node",
            });
        }
        let mut hold = vec![Hold::default(); own.node_count()];
        for pin in &model.pins {
            if own.blocks.contains(&pin.block) {
                // Zero stays where it is.
                let motion = pin.motion.map_or(0, |m| m as u32 + 1);
                hold[pin.block - own.blocks.start].pin = Some(motion);
            }
        }
        for end in model.attachments.iter().flat_map(|s| [&s.a, &s.b]) {
            if let [node] = end.blocks()[..]
                && own.blocks.contains(&(node as usize))
            {
                hold[node as usize - own.blocks.start].fixed = true;
            }
        }
        let input = SheetInput {
            rest: own.rest(),
            world: &state.x[own.blocks.clone()],
            triangles: &own.surface.triangles,
            labels: &source.patch,
            hold: &hold,
            sizing,
        };
        let budget = Budget::new(model, state, body, source, guard);
        let made = remesh(&input, config, Some(&budget));
        let (made, _) = made.map_err(|source| AdaptError::Sheet {
            body: own.name.clone(),
            source,
        })?;
        Ok(made.map(|mesh| Self::remeshed(body, mesh)))
    }
}
