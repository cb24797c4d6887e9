//! `stiction completions` and `stiction man`: shell completions and manual pages, made from the
//! same description that reads the arguments.

use std::{path::PathBuf, process::ExitCode};

use clap::{Args, CommandFactory};
use clap_complete::Shell;
use stiction_record::atomic;

use super::{Cli, Failure};

#[derive(Debug, Args)]
pub struct CompletionsArgs {
    /// The shell.
    shell: Shell,
}

#[derive(Debug, Args)]
pub struct ManArgs {
    /// Write one page per command to this folder, e.g. `~/.local/share/man/man1`.
    dir: Option<PathBuf>,
}

/// Prints the completions of a shell.
pub fn completions(args: &CompletionsArgs) -> Result<ExitCode, Failure> {
    let mut text = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "stiction", &mut text);
    print!("{}", String::from_utf8_lossy(&text));
    Ok(ExitCode::SUCCESS)
}

/// Prints the page of the program, or writes the pages of all commands.
pub fn man(args: &ManArgs) -> Result<ExitCode, Failure> {
    let mut program = Cli::command();
    program.build();
    let page = |name: &str, command: clap::Command| {
        let mut text = Vec::new();
        let page = clap_mangen::Man::new(command).title(name);
        let written = page.render(&mut text);
        written.map(|()| text).map_err(Failure::run)
    };
    let Some(dir) = &args.dir else {
        print!("{}", String::from_utf8_lossy(&page("stiction", program)?));
        return Ok(ExitCode::SUCCESS);
    };
    stiction_record::make_folder(dir).map_err(Failure::run)?;
    let commands = program.get_subcommands().filter(|c| c.get_name() != "help");
    let mut pages: Vec<(String, clap::Command)> = commands
        .map(|c| {
            let name = format!("stiction-{}", c.get_name());
            (name, c.clone())
        })
        .collect();
    pages.insert(0, ("stiction".to_owned(), program.clone()));
    for (name, command) in pages {
        let path = dir.join(format!("{name}.1"));
        atomic::write(&path, &page(&name, command)?).map_err(Failure::run)?;
        println!("{}", path.display());
    }
    Ok(ExitCode::SUCCESS)
}
