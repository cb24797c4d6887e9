//! `stiction bench recording`: cost of recording, as a fraction of the run, on the
//! default scene of `stiction run`.

use std::{path::Path, time::Instant};

use serde::Serialize;
use stiction_record::{FrameFormat, RunFolder};

use super::Failure;
use crate::commands::{
    SceneArgs,
    job::Job,
    run::{DEFAULT_SCENE, load},
};

/// Runs of each kind, of which the one in the middle counts.
const ROUNDS: usize = 3;

/// One recording configuration.
#[derive(Debug, Serialize)]
pub struct Row {
    output: &'static str,
    frames: u64,
    /// Wall time of the run [s].
    run: f64,
    /// Of that, all that is not a stage of the simulation: the first frame, tables, frames,
    /// checkpoints, the summary [s].
    recording: f64,
    /// recording / run.
    share: f64,
    /// The share that the project allows itself.
    limit: f64,
}

/// Runs the default scene, with frames and without.
pub fn run(folder: &Path) -> Result<Vec<Row>, Failure> {
    let kinds = [
        ("vtu", vec![FrameFormat::Vtu], 0.10),
        ("no frames", Vec::new(), 0.05),
    ];
    let mut rows = Vec::new();
    for (output, formats, limit) in kinds {
        let mut rounds = Vec::new();
        for _ in 0..ROUNDS {
            rounds.push(measure(folder, output, &formats, limit)?);
        }
        rounds.sort_by(|a, b| a.share.total_cmp(&b.share));
        rows.push(rounds.swap_remove(ROUNDS / 2));
    }
    Ok(rows)
}

/// As a table of text.
pub fn print(rows: &[Row]) {
    println!("recording: scene `{DEFAULT_SCENE}`, as a fraction of the run");
    println!(
        "{:<10} {:>7} {:>9} {:>10} {:>7} {:>7}",
        "output", "frames", "run", "recording", "share", "limit"
    );
    for r in rows {
        println!(
            "{:<10} {:>7} {:>7.2} s {:>7.0} ms {:>6.1}% {:>6.0}%",
            r.output,
            r.frames,
            r.run,
            r.recording * 1e3,
            r.share * 1e2,
            r.limit * 1e2
        );
    }
}

fn measure(
    folder: &Path,
    output: &'static str,
    formats: &[FrameFormat],
    limit: f64,
) -> Result<Row, Failure> {
    let dir = folder.join("stiction-bench-recording");
    let job = Job {
        view: false,
        formats: formats.to_vec(),
        contacts: false,
        exact: false,
        frames: None,
        resume: false,
        quiet: true,
        require: Vec::new(),
        dump: None,
    };
    let scene = load(DEFAULT_SCENE, &SceneArgs::default())?;
    let clock = Instant::now();
    let summary = RunFolder::claim(&dir).map_err(Failure::run);
    let summary = summary.and_then(|folder| job.run(&folder, scene));
    let run = clock.elapsed().as_secs_f64();
    // Whatever came of it, nothing is left behind.
    let _ = std::fs::remove_dir_all(&dir);
    let summary = summary?;
    let simulated = summary.stages.0.iter().filter(|s| s.0 != "record");
    let recording = run - simulated.map(|s| s.1.0).sum::<f64>();
    Ok(Row {
        output,
        frames: summary.frames,
        run,
        recording,
        share: recording / run,
        limit,
    })
}
