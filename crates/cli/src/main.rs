//! The `stiction` command.

use std::process::ExitCode;

use clap::Parser;
use stiction_cli::commands::{self, Cli};

/// Blocks of memory from this size on go back to the system when they are freed [bytes].
#[cfg(all(target_os = "linux", target_env = "gnu"))]
const LARGE: libc::c_int = 1 << 20;

/// Columns of a large scene come and go within a step. Left to itself glibc soon keeps them all:
/// a tenth of the memory of a run.
#[allow(unsafe_code)]
fn return_large_blocks() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    // SAFETY: `mallopt` takes two numbers, and there is one thread yet.
    unsafe {
        libc::mallopt(libc::M_MMAP_THRESHOLD, LARGE);
    }
}

fn main() -> ExitCode {
    return_large_blocks();
    match Cli::try_parse() {
        Ok(cli) => commands::main(cli),
        Err(error) => commands::usage(&error),
    }
}
