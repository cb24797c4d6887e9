//! Additions of a program to a scene before its model is complete.

use std::{fmt, sync::Arc};

use stiction_bodies::builder::{BuildError, Builder};

/// A change of the model that a scene file cannot express, such as a force model of one's own. It is
/// applied after everything in the scene, and is not part of the scene's fingerprint.
#[derive(Clone)]
pub struct Extension(Arc<Change>);

type Change = dyn Fn(&mut Builder) -> Result<(), BuildError> + Send + Sync;

impl Extension {
    /// An extension that changes the builder of the model.
    pub fn new(
        change: impl Fn(&mut Builder) -> Result<(), BuildError> + Send + Sync + 'static,
    ) -> Self {
        Self(Arc::new(change))
    }

    pub(crate) fn apply(&self, builder: &mut Builder) -> Result<(), BuildError> {
        (self.0)(builder)
    }
}

impl fmt::Debug for Extension {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Extension")
    }
}
