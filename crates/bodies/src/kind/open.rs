//! Kinds of bodies defined elsewhere, with columns of their own in the state and blocks that may
//! exist for one step only.

use stiction_math::{ScatterError, Vec3};

use super::Mechanics;
use crate::{
    model::{BodyKind, Model},
    mpm::MaterialPoints,
    state::{Columns, State},
    surface::Surface,
};

/// A kind of body that is not one of the built-in variants.
///
/// It keeps named columns in the state, which checkpoints and clones carry, and advances them at the
/// end of every step.
pub trait OpenKind: Mechanics {
    /// Name of the kind, for messages.
    fn name(&self) -> &str;

    /// Index of the body's columns in `State::columns`.
    fn place(&self) -> usize;

    /// A copy, for clones of the model.
    fn boxed(&self) -> Box<dyn OpenKind>;

    /// Advances the columns by a step of `h` [s] that ended with positions `x` [m] and velocities `v`
    /// [m/s] of the body's blocks.
    fn advance_columns(&self, x: &[Vec3], v: &[Vec3], h: f64, columns: &mut Columns);

    /// Transfers between columns and blocks, if the body's blocks exist for one step only.
    fn per_step(&self) -> Option<&dyn PerStep> {
        None
    }

    /// Mutable access to the transfers.
    fn per_step_mut(&mut self) -> Option<&mut dyn PerStep> {
        None
    }

    /// The body as material points, if it is made of them.
    fn material_points(&self) -> Option<&MaterialPoints> {
        None
    }
}

/// A body whose blocks are created for every step, such as the grid nodes of particles.
///
/// Between steps it has no blocks, only its columns. Its blocks follow those of all bodies with
/// permanent ones, so that it comes after them in the model.
pub trait PerStep {
    /// Creates the blocks of a step of `h` [s] from `columns`: appends their positions to `x` [m]
    /// and velocities to `v` [m/s]. Their number may differ from step to step. Data of the columns
    /// that the step needs are kept in `self`.
    fn open(
        &mut self,
        columns: &Columns,
        h: f64,
        x: &mut Vec<Vec3>,
        v: &mut Vec<Vec3>,
    ) -> Result<(), ScatterError>;

    /// Removes the blocks.
    fn close(&mut self);

    /// Writes the points that touch other bodies into `surface`, as sums over the body's blocks, of which `first` is the
    /// first one. Without blocks the points have no position.
    fn carry(&self, _first: usize, _surface: &mut Surface) {}

    /// Calls `f` with position [m], velocity [m/s] and mass [kg] of every point in `columns`.
    fn for_each_point(&self, columns: &Columns, f: &mut dyn FnMut(&Vec3, &Vec3, f64));

    /// Elastic energy of `columns` [J].
    fn stored_energy(&self, columns: &Columns) -> f64;
}

impl Clone for Box<dyn OpenKind> {
    fn clone(&self) -> Self {
        self.boxed()
    }
}

impl BodyKind {
    /// The transfers of a body whose blocks exist for one step only, and the index of its columns.
    pub fn per_step(&self) -> Option<(&dyn PerStep, usize)> {
        let open = self.as_open()?;
        Some((open.per_step()?, open.place()))
    }
}

impl Model {
    /// Whether a body has blocks that exist for one step only.
    pub fn has_per_step(&self) -> bool {
        self.bodies.iter().any(|b| b.kind.per_step().is_some())
    }

    /// Stage 1: creates the blocks of a step of `h` [s], after all permanent ones.
    pub fn open_step(&mut self, state: &mut State, h: f64) -> Result<(), ScatterError> {
        let State { x, v, columns, .. } = state;
        for body in &mut self.bodies {
            let BodyKind::Open(kind) = &mut body.kind else {
                continue;
            };
            let place = kind.place();
            if let (Some(per_step), Some(columns)) = (kind.per_step_mut(), columns.get(place)) {
                let first = x.len();
                per_step.open(columns, h, x, v)?;
                per_step.carry(first, &mut body.surface);
                body.blocks = first..x.len();
            }
        }
        Ok(())
    }

    /// Stage 7: advances the columns of bodies that have them by a step of `h` [s], and removes the
    /// blocks of the step.
    pub fn end_step(&mut self, state: &mut State, h: f64) {
        let State { x, v, columns, .. } = state;
        for body in &self.bodies {
            let Some(kind) = body.kind.as_open() else {
                continue;
            };
            if let Some(columns) = columns.get_mut(kind.place()) {
                let (x, v) = (&x[body.blocks.clone()], &v[body.blocks.clone()]);
                kind.advance_columns(x, v, h, columns);
            }
        }
        self.close_step(state);
    }

    /// Removes the blocks of a step, whether it has succeeded or not.
    pub fn close_step(&mut self, state: &mut State) {
        let mut permanent = None;
        for body in &mut self.bodies {
            let BodyKind::Open(kind) = &mut body.kind else {
                continue;
            };
            if let Some(per_step) = kind.per_step_mut() {
                per_step.close();
                let first = *permanent.get_or_insert(body.blocks.start);
                per_step.carry(first, &mut body.surface);
                body.blocks = first..first;
            }
        }
        if let Some(first) = permanent {
            state.x.truncate(first);
            state.v.truncate(first);
        }
    }
}
