//! `stiction view`: a run in the browser. The viewer is a program of its own, because it brings
//! hundreds of packages that simulating does not need.

use std::{
    env,
    path::{Path, PathBuf},
    process::{Child, Command, ExitCode, Stdio},
    time::Duration,
};

use clap::Args;
use miette::miette;

use super::{Failure, signals};
use crate::replay::Replay;

/// Time that the viewer has to end by itself.
const MOMENT: Duration = Duration::from_millis(100);

const PROGRAM: &str = "stiction-viewer";
const HELP: &str = "it is a program of its own: install it with `cargo install --path \
                    crates/viewer` from the source of this program, or put it beside `stiction`; \
                    `stiction render` and `stiction plot` make pictures without it";

#[derive(Debug, Args)]
pub struct ViewArgs {
    /// The folder of a run that wrote frames as vtu.
    dir: PathBuf,
    /// Write what would be shown to this file, for the Rerun viewer, and serve nothing.
    #[arg(long, value_name = "FILE.rrd")]
    save: Option<PathBuf>,
    /// The port of the page on 127.0.0.1; any free one by default.
    #[arg(long)]
    port: Option<u16>,
    /// Do not open a browser, only say where the page is.
    #[arg(long)]
    no_browser: bool,
    /// Stand still at the first frame instead of playing.
    #[arg(long)]
    paused: bool,
}

pub fn main(args: ViewArgs) -> Result<ExitCode, Failure> {
    // What is wrong with the run is said first, with or without a viewer.
    Replay::open(&args.dir)?;
    let mut command = Command::new(find()?);
    if let Some(path) = &args.save {
        command.arg("--save").arg(path);
    }
    if let Some(port) = args.port {
        command.args(["--port", &port.to_string()]);
    }
    for (asked, flag) in [(args.no_browser, "--no-browser"), (args.paused, "--paused")] {
        if asked {
            command.arg(flag);
        }
    }
    // A folder may be called like an option.
    command.arg("--").arg(&args.dir);
    let mut child = command.spawn().map_err(Failure::run)?;
    let status = signals::wait_for(&mut child, MOMENT).map_err(Failure::run)?;
    let code = status.code().and_then(|c| u8::try_from(c).ok());
    Ok(ExitCode::from(code.unwrap_or(1)))
}

/// The viewer of a run that goes on.
pub struct Viewer(Child);

impl Viewer {
    /// Starts it on the folder of a run. It says on standard error where the page is, because
    /// standard output may be kept for the summary.
    pub fn follow(dir: &Path) -> Result<Self, Failure> {
        let child = Command::new(find()?)
            .args(["--follow", "--"])
            .arg(dir)
            .stdin(Stdio::piped())
            .stdout(std::io::stderr())
            .spawn();
        Ok(Self(child.map_err(Failure::run)?))
    }

    /// Tells it that the run has ended, and waits until the person has seen enough.
    pub fn wait(mut self) -> Result<(), Failure> {
        drop(self.0.stdin.take());
        let ended = signals::wait_for(&mut self.0, MOMENT);
        ended.map(drop).map_err(Failure::run)
    }
}

/// The viewer program: next to this one, or in the search path.
pub fn find() -> Result<PathBuf, Failure> {
    let name = format!("{PROGRAM}{}", env::consts::EXE_SUFFIX);
    let beside = env::current_exe().ok();
    let beside = beside.and_then(|own| Some(own.parent()?.to_owned()));
    let path = env::var_os("PATH").unwrap_or_default();
    beside
        .into_iter()
        .chain(env::split_paths(&path))
        .map(|folder| folder.join(&name))
        .find(|program| program.is_file())
        .ok_or_else(|| Failure::Input(miette!(help = HELP, "`{PROGRAM}` was not found")))
}
