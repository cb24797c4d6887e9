//! Kinds of bodies defined elsewhere, with degrees of freedom that may exist for one step only.

use std::fmt;

use stiction_math::Vec3;

use super::Mechanics;
use crate::state::Columns;

/// A kind of body that is not one of the built-in variants.
///
/// A body of such a kind may keep any named columns in the state, and its blocks may be made anew for
/// every step (grid nodes of particles, say); [`OpenKind::per_step`] then returns itself.
pub trait OpenKind: Mechanics {
    /// Name of the kind, for messages.
    fn name(&self) -> &str;

    /// A copy, for clones of the model.
    fn boxed(&self) -> Box<dyn OpenKind>;

    /// The transfers at the start and end of a step, if the body's blocks exist per step.
    fn per_step(&self) -> Option<&dyn PerStep> {
        None
    }

    /// The same, to be changed.
    fn per_step_mut(&mut self) -> Option<&mut dyn PerStep> {
        None
    }

    /// Advances the body's own columns by a step of `h` [s] that ended with velocities `v` and
    /// positions `x` of its blocks [m/s, m].
    fn advance_columns(&self, x: &[Vec3], v: &[Vec3], h: f64, columns: &mut Columns);
}

/// Degrees of freedom that exist for one step: filled from the body's columns when it begins.
pub trait PerStep {
    /// Makes the blocks of a step of `h` [s] from `columns`: appends their positions to `x` and their
    /// velocities to `v`. The number of blocks may differ from step to step.
    fn open(&mut self, columns: &Columns, h: f64, x: &mut Vec<Vec3>, v: &mut Vec<Vec3>);

    /// Removes the blocks: between steps the body is its columns alone.
    fn close(&mut self);
}

impl Clone for Box<dyn OpenKind> {
    fn clone(&self) -> Self {
        self.boxed()
    }
}

impl fmt::Display for dyn OpenKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
