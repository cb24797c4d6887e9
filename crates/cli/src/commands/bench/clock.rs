//! The clock of benchmarks.

use std::time::Instant;

/// On one thread, the time that it was given, where the system counts it: other programs then do
/// not blur the figures. The time on the wall otherwise.
pub(super) struct Clock {
    wall: Instant,
    given: Option<f64>,
}

impl Clock {
    pub fn start() -> Self {
        Clock {
            given: Clock::given(),
            wall: Instant::now(),
        }
    }

    pub fn seconds(&self) -> f64 {
        let wall = self.wall.elapsed().as_secs_f64();
        match (self.given, Clock::given()) {
            (Some(from), Some(to)) if to > from => to - from,
            _ => wall,
        }
    }

    /// The time that this thread has run [s].
    fn given() -> Option<f64> {
        if rayon::current_num_threads() > 1 {
            return None;
        }
        // The system brings its count up to date when a thread steps back.
        std::thread::yield_now();
        let text = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
        let nanoseconds: f64 = text.split_whitespace().next()?.parse().ok()?;
        Some(1e-9 * nanoseconds)
    }
}
