//! Looks at a run in the browser: bodies in 3D, contacts and their forces, and plots of the
//! certificate, energies, contacts and probes, all on one timeline.
//!
//! `stiction view` and `stiction run --view` start this program. It reads what the run records and
//! nothing else, and talks to nobody but the browser on this machine.

#![allow(clippy::print_stdout, clippy::print_stderr)] // it talks to a person

mod layout;
mod log;
mod serve;

use std::{
    path::PathBuf,
    process::ExitCode,
    sync::atomic::{AtomicBool, Ordering},
    time::Duration,
};

use clap::Parser;
use rerun::RecordingStreamBuilder;
use stiction_cli::{replay::ReplayError, view::Follower};

/// Interval at which a run in progress is polled.
const INTERVAL: Duration = Duration::from_millis(200);

/// Look at a recorded run in the browser.
#[derive(Debug, Parser)]
#[command(name = "stiction-viewer", version)]
struct Args {
    /// The folder of a run that writes frames as vtu.
    dir: PathBuf,
    /// The run is going on, or about to start: show what it writes as it comes, until standard
    /// input is closed.
    #[arg(long)]
    follow: bool,
    /// Write what would be shown to this file, and serve nothing.
    #[arg(long, value_name = "FILE.rrd")]
    save: Option<PathBuf>,
    /// The port of the page; any free one by default.
    #[arg(long, default_value_t = 0)]
    port: u16,
    /// Do not open a browser, only say where the page is.
    #[arg(long)]
    no_browser: bool,
    /// Stand still at the first frame instead of playing.
    #[arg(long)]
    paused: bool,
}

/// Reason for which nothing can be shown.
#[derive(Debug, thiserror::Error)]
enum Error {
    #[error(transparent)]
    Replay(#[from] ReplayError),
    #[error("the viewer's log: {0}")]
    Log(#[from] rerun::RecordingStreamError),
    #[error("cannot encode the recording: {0}")]
    Encode(#[from] rerun::SerializationError),
    #[error("cannot write the recording: {0}")]
    Flush(#[from] rerun::sink::SinkFlushError),
    #[error("cannot serve on this machine: {0}")]
    Serve(String),
    #[error("{0} cannot be written: {1}")]
    Save(PathBuf, String),
}

/// Set by Ctrl-C and by a request to terminate.
static STOP: AtomicBool = AtomicBool::new(false);
/// Set when the run that is followed has ended: the program that started it closes our standard input, even
/// when it dies.
static ENDED: AtomicBool = AtomicBool::new(false);

fn main() -> ExitCode {
    let args = match Args::try_parse() {
        Ok(args) => args,
        Err(error) => {
            // A closed pipe is no reason to complain about a help text.
            let _ = error.print();
            return ExitCode::from(if error.use_stderr() { 2 } else { 0 });
        }
    };
    match show(&args) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("stiction-viewer: {error}");
            ExitCode::from(match error {
                Error::Replay(_) => 2,
                _ => 1,
            })
        }
    }
}

fn show(args: &Args) -> Result<(), Error> {
    if !args.follow {
        // Says what is wrong before anything is served.
        stiction_cli::replay::Replay::open(&args.dir)?;
    }
    // A second handler in one process is refused; there is none.
    let _ = ctrlc::set_handler(|| STOP.store(true, Ordering::SeqCst));
    let stopped = || STOP.load(Ordering::SeqCst);
    let name = args.dir.file_name().map(|n| n.to_string_lossy());
    let builder = RecordingStreamBuilder::new("stiction")
        .recording_name(name.as_deref().unwrap_or("run"))
        .recording_id("run");
    let (stream, served) = match &args.save {
        Some(path) => {
            let partial = path.with_extension("rrd.partial");
            let saved = builder.save(&partial);
            let failed = |e: &dyn std::fmt::Display| Error::Save(path.clone(), e.to_string());
            (saved.map_err(|e| failed(&e))?, None)
        }
        None => {
            let (stream, page, recording) = serve::serve(builder, args.port)?;
            (stream, Some((page, recording)))
        }
    };
    if let Some((page, _)) = &served {
        println!("{}", page.url());
        if !args.no_browser {
            serve::open_browser(&page.url());
        }
    }
    match args.follow {
        true => drop(std::thread::spawn(|| {
            // What it says does not matter, and an error ends it too.
            let _ = std::io::copy(&mut std::io::stdin(), &mut std::io::sink());
            ENDED.store(true, Ordering::SeqCst);
        })),
        false => ENDED.store(true, Ordering::SeqCst),
    }
    let mut follower = Follower::new(&args.dir);
    let mut laid_out = false;
    loop {
        // Asked before, so that what was written before the end is not missed.
        let ended = ENDED.load(Ordering::SeqCst);
        let frames = follower.frames();
        follower.poll(|news| log::show(&stream, news))?;
        if follower.frames() > 0 && !laid_out {
            layout::send(&stream, &follower, !ended, args.paused)?;
            laid_out = true;
        }
        if served.is_some() {
            // The page shows what has reached the file.
            stream.flush_blocking()?;
        }
        if stopped() || ended {
            break;
        }
        if frames == follower.frames() {
            std::thread::sleep(INTERVAL);
        }
    }
    if let Some(path) = &args.save {
        let failed = |e: &dyn std::fmt::Display| Error::Save(path.clone(), e.to_string());
        stream.flush_blocking().map_err(|e| failed(&e))?;
        stream.disconnect();
        return std::fs::rename(path.with_extension("rrd.partial"), path).map_err(|e| failed(&e));
    }
    stream.flush_blocking()?;
    stream.disconnect();
    if let Some((_, recording)) = &served {
        recording.finish();
    }
    // The browser requests recorded data as long as the page is open.
    while !stopped() {
        std::thread::sleep(INTERVAL);
    }
    Ok(())
}
