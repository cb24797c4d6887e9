//! Ctrl-C and requests to terminate: obeyed within a second, whatever a command does.
//!
//! A command that has nothing to save ends at once. A run attends to signals itself: a signal cancels the step, which
//! its long loops see, and the run writes a checkpoint of its last state. Work that cannot be cancelled, such as one
//! large factorisation, is given a moment; then the process ends, and the last checkpoint on the disk stands.

use std::{
    process::{self, Child, ExitStatus},
    sync::{
        LazyLock,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use stiction_math::Cancel;

/// Exit code of a command that a signal ended.
pub const INTERRUPTED: u8 = 130;

/// Time from a signal to the end of a process that is not writing its checkpoint.
pub const GRACE: Duration = Duration::from_millis(600);

/// Time between two looks at a child process.
const MOMENT: Duration = Duration::from_millis(20);

static CANCEL: LazyLock<Cancel> = LazyLock::new(Cancel::new);

/// Whether the command stops by itself when it sees the request.
static ATTENDED: AtomicBool = AtomicBool::new(false);

/// Whether the run has seen the signal and is writing its checkpoint.
static SAVING: AtomicBool = AtomicBool::new(false);

/// Lets signals end the process, at once or as [`attend`] says.
pub fn catch() {
    // A second handler in one process is refused; the first one then does the work.
    let _ = ctrlc::set_handler(|| {
        if CANCEL.is_requested() || !ATTENDED.load(Ordering::SeqCst) {
            // Asked twice, or nothing to save: leave at once. The last checkpoint is complete on disk.
            process::exit(INTERRUPTED.into());
        }
        CANCEL.request();
        thread::spawn(|| {
            thread::sleep(GRACE);
            if !SAVING.load(Ordering::SeqCst) {
                eprintln!("stopped in the middle of a step; the last checkpoint is kept");
                process::exit(INTERRUPTED.into());
            }
        });
    });
}

/// Lets signals make a request from now on, which the command obeys.
pub fn attend() {
    ATTENDED.store(true, Ordering::SeqCst);
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

/// Waits for a child process. Ctrl-C reaches both programs, a request to terminate only this one: a child that has not
/// ended by itself within `patience` of a signal is killed.
pub fn wait_for(child: &mut Child, patience: Duration) -> std::io::Result<ExitStatus> {
    attend();
    saving(true);
    let mut told: Option<Instant> = None;
    let ended = loop {
        if let Some(status) = child.try_wait()? {
            break status;
        }
        if stop() && told.get_or_insert_with(Instant::now).elapsed() > patience {
            child.kill()?;
        }
        thread::sleep(MOMENT);
    };
    saving(false);
    Ok(ended)
}

#[cfg(all(test, unix))]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use std::process::{Command, Stdio};

    /// Set for the process that the test below starts.
    const CHILD: &str = "STICTION_TEST_DEAF";

    /// Work that never looks at the request; nothing unless the test below has started it.
    #[test]
    fn deaf_work() {
        let Ok(kind) = std::env::var(CHILD) else {
            return;
        };
        catch();
        if kind == "attended" {
            attend();
        }
        eprintln!("ready");
        thread::sleep(Duration::from_secs(60));
    }

    #[test]
    fn work_that_cannot_be_cancelled_is_ended_soon_after_a_signal() {
        use std::io::{BufRead, BufReader, Read};
        for (kind, least, forced) in [("attended", GRACE, true), ("plain", Duration::ZERO, false)] {
            let mut child = Command::new(std::env::current_exe().unwrap())
                .args([
                    "--exact",
                    "commands::signals::tests::deaf_work",
                    "--nocapture",
                ])
                .env(CHILD, kind)
                .stdout(Stdio::null())
                .stderr(Stdio::piped())
                .spawn()
                .unwrap();
            let mut said = BufReader::new(child.stderr.take().unwrap());
            let mut line = String::new();
            while !line.contains("ready") {
                line.clear();
                assert!(said.read_line(&mut line).unwrap() > 0, "it did not start");
            }
            let clock = Instant::now();
            let kill = Command::new("kill").arg(child.id().to_string()).status();
            assert!(kill.unwrap().success());
            let status = child.wait().unwrap();
            let waited = clock.elapsed();
            assert_eq!(status.code(), Some(INTERRUPTED.into()), "{kind}");
            // One second, and the rest for a busy machine.
            assert!(
                waited >= least && waited < Duration::from_secs(3),
                "{kind}: {waited:?}"
            );
            let mut rest = String::new();
            said.read_to_string(&mut rest).unwrap();
            assert_eq!(
                rest.contains("the last checkpoint is kept"),
                forced,
                "{kind}: {rest}"
            );
        }
    }
}
