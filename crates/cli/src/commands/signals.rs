//! Ctrl-C and requests to terminate: obeyed within a second, whatever a step does.
//!
//! A signal cancels the step, which its long loops see, and the run writes a checkpoint of its last state.
//! Work that cannot be cancelled, such as one large factorisation, is given a moment; then the process
//! ends, and the last checkpoint on the disk stands.

use std::{
    process,
    sync::{
        LazyLock,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::Duration,
};

use stiction_math::Cancel;

/// Time from a signal to the end of a process that is not writing its checkpoint.
pub const GRACE: Duration = Duration::from_millis(600);

static CANCEL: LazyLock<Cancel> = LazyLock::new(Cancel::new);

/// Whether the run has seen the signal and is writing its checkpoint.
static SAVING: AtomicBool = AtomicBool::new(false);

/// Lets signals cancel the run.
pub fn catch() {
    // A second handler in one process is refused; the first one then does the work.
    let _ = ctrlc::set_handler(|| {
        if CANCEL.is_requested() {
            // Asked twice: leave at once. The last checkpoint is complete on disk.
            process::exit(1);
        }
        CANCEL.request();
        thread::spawn(|| {
            thread::sleep(GRACE);
            if !SAVING.load(Ordering::SeqCst) {
                eprintln!("stopped in the middle of a step; the last checkpoint stands");
                process::exit(1);
            }
        });
    });
}

/// The request that signals make.
pub fn cancel() -> Cancel {
    CANCEL.clone()
}

/// Whether the run is to stop.
pub fn stop() -> bool {
    CANCEL.is_requested()
}

/// Tells that the run is writing its last checkpoint, which a signal does not cut short, or no longer.
pub fn saving(now: bool) {
    SAVING.store(now, Ordering::SeqCst);
}
