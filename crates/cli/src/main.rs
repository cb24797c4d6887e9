//! The `stiction` command.

use std::process::ExitCode;

use clap::Parser;
use stiction::commands::{self, Cli};

fn main() -> ExitCode {
    // Pipes that close early (`stiction scenes | head`) end the program quietly.
    commands::quiet_broken_pipes();
    match Cli::try_parse() {
        Ok(cli) => commands::main(cli),
        Err(error) => commands::usage(&error),
    }
}
