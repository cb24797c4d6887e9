use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

/// A request to give long work up, shared between whoever makes it and the work.
///
/// Clones are the same request. Looking at it costs one relaxed load, so that loops can do so in every
/// iteration. The default is a request that is never made.
#[derive(Clone, Debug, Default)]
pub struct Cancel(Option<Arc<AtomicBool>>);

impl Cancel {
    /// A request that is never made.
    pub const NEVER: &'static Self = &Self(None);

    /// A request that has not been made yet.
    pub fn new() -> Self {
        Self(Some(Arc::default()))
    }

    /// Makes the request. One that is [`Cancel::NEVER`] stays as it is.
    pub fn request(&self) {
        if let Some(flag) = &self.0 {
            flag.store(true, Ordering::SeqCst);
        }
    }

    /// Whether it was made.
    pub fn is_requested(&self) -> bool {
        self.0.as_ref().is_some_and(|f| f.load(Ordering::Relaxed))
    }
}
