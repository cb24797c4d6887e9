use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

/// A shared cancellation request for long computations.
///
/// Clones share one request. Checking it costs one relaxed load, so that loops can check it in
/// every iteration. The default is never requested.
#[derive(Clone, Debug, Default)]
pub struct Cancel(Option<Arc<AtomicBool>>);

impl Cancel {
    /// A token that is never cancelled.
    pub const NEVER: &'static Self = &Self(None);

    /// A token that has not been cancelled yet.
    pub fn new() -> Self {
        Self(Some(Arc::default()))
    }

    /// Requests cancellation. Has no effect on [`Cancel::NEVER`].
    pub fn request(&self) {
        if let Some(flag) = &self.0 {
            flag.store(true, Ordering::SeqCst);
        }
    }

    /// Whether cancellation was requested.
    pub fn is_requested(&self) -> bool {
        self.0.as_ref().is_some_and(|f| f.load(Ordering::Relaxed))
    }
}
