//! The program from outside: mutated scenes of all kinds of bodies, meshes, strands, problems, checkpoints, run folders and
//! arguments, with limits on memory and time.
//!
//! Whatever it is given, the program ends by itself or on request, without a panic and not by a signal,
//! accepts nothing with a certificate that is not a number, prints one JSON document with `--json`, and writes
//! nothing outside its output folder.
//!
//! The cases follow from a seed. `STICTION_FUZZ_CASES=5000 STICTION_FUZZ_SEED=7 cargo test -p stiction-cli
//! --test outside` tries more than the test suite does, `STICTION_FUZZ_CASE=12` one of them alone, and
//! `STICTION_PROGRAM=target/release/stiction` tests another build. The input of a case that failed is kept.
#![cfg(target_os = "linux")]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stderr
)]

mod cases;
#[path = "../common/mod.rs"]
mod common;
mod mutate;
mod scenes;

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
    process::{Child, Command, ExitStatus, Stdio},
    thread::sleep,
    time::{Duration, Instant},
};

use cases::{case, copy, seeds};
use common::{Draw, program};
use stiction_cli::record::Summary;

/// Address space of a case [KiB].
const MEMORY: u64 = 4 << 20;
/// A run that has begun, and any command that simulates, is asked to stop after this long.
const RUN: Duration = Duration::from_secs(3);
/// Everything else must have ended, and a run have begun, after this long.
const LOAD: Duration = Duration::from_secs(30);
/// A command that was asked to stop must have ended after this long; one second, and the rest for a busy
/// machine.
const OBEY: Duration = Duration::from_millis(4000);

/// Cases in the test suite.
const CASES: usize = 60;

/// Files and folders below `dir` that are not in its folder `out`.
fn beside(dir: &Path) -> BTreeSet<PathBuf> {
    let mut found = BTreeSet::new();
    let mut folders = vec![dir.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            if path == dir.join("out") {
                continue;
            }
            if path.is_dir() {
                folders.push(path.clone());
            }
            found.insert(path);
        }
    }
    found
}

fn ended(child: &mut Child, limit: Duration) -> Option<ExitStatus> {
    let clock = Instant::now();
    while clock.elapsed() < limit {
        if let Some(status) = child.try_wait().unwrap() {
            return Some(status);
        }
        sleep(Duration::from_millis(5));
    }
    None
}

/// Runs a command of a case; says what is wrong, if anything is.
fn judge(dir: &Path, args: &[String]) -> Option<String> {
    // No argument of a program holds a zero byte, and none is longer than 128 KiB.
    if args.iter().any(|a| a.contains('\0') || a.len() > 100_000) {
        return None;
    }
    fs::create_dir_all(dir.join("tmp")).unwrap();
    fs::create_dir_all(dir.join("out")).unwrap();
    let before = beside(dir);
    let (said, printed) = (dir.with_file_name("said"), dir.with_file_name("printed"));
    let limited = format!("ulimit -v {MEMORY}; exec \"$0\" \"$@\"");
    let mut child = Command::new("sh")
        .args(["-c", &limited])
        .arg(program())
        .args(args)
        .current_dir(dir)
        .env("TMPDIR", dir.join("tmp"))
        .env("NO_COLOR", "1")
        .stdin(Stdio::null())
        .stdout(fs::File::create(&printed).unwrap())
        .stderr(fs::File::create(&said).unwrap())
        .spawn()
        .unwrap();
    let is_run = args[0] == "run";
    let simulates = ["check", "compare", "validate", "bench"].contains(&args[0].as_str());
    let begun = || simulates || is_run && dir.join("out/summary.json").exists();
    let mut status = ended(&mut child, RUN);
    if status.is_none() && !begun() {
        status = ended(&mut child, LOAD);
    }
    let asked = status.is_none() && begun();
    if asked {
        let _ = Command::new("kill").arg(child.id().to_string()).status();
        status = ended(&mut child, OBEY);
    }
    let Some(status) = status else {
        let _ = child.kill();
        let _ = child.wait();
        return Some("it does not end".to_owned());
    };
    match status.code() {
        Some(0..=2) => {}
        Some(130) if asked => {}
        other => return Some(format!("it ended with {other:?}, {status}")),
    }
    let said = String::from_utf8_lossy(&fs::read(&said).unwrap()).into_owned();
    // A run has a line for every frame.
    let frames = said.lines().filter(|l| l.starts_with("frame "));
    let message = said.len() - frames.map(|l| l.len() + 1).sum::<usize>();
    if said.contains("panicked") || message > 100_000 {
        let start: String = said.chars().take(300).collect();
        return Some(format!("it says {message} bytes: {start}"));
    }
    if beside(dir) != before {
        return Some(format!("files outside its folder: {:?}", beside(dir)));
    }
    let helped = args.iter().any(|a| a == "--help" || a == "--version");
    if args.iter().any(|a| a == "--json") && status.code() == Some(0) && !helped {
        let text = fs::read(&printed).unwrap();
        if let Err(error) = serde_json::from_slice::<serde_json::Value>(&text) {
            return Some(format!("no JSON document on standard output: {error}"));
        }
    }
    if is_run && status.code() == Some(0) && begun() {
        let Ok(summary) = Summary::read(&dir.join("out/summary.json")) else {
            return Some("its summary cannot be read".to_owned());
        };
        let finite = summary
            .certificate
            .0
            .iter()
            .all(|(_, bound)| bound.max.is_finite());
        if !finite || !summary.time.is_finite() {
            return Some("a certificate that is not a number, and exit 0".to_owned());
        }
    }
    None
}

#[test]
fn whatever_it_is_given_the_program_ends_in_order() {
    let number = |name: &str| std::env::var(name).ok().map(|n| n.parse::<u64>().unwrap());
    let cases = number("STICTION_FUZZ_CASES").map_or(CASES, |n| n as usize);
    let seed = number("STICTION_FUZZ_SEED").unwrap_or(1);
    let all = match number("STICTION_FUZZ_CASE") {
        Some(one) => one as usize..one as usize + 1,
        None => 0..cases,
    };
    let dir = tempfile::tempdir().unwrap();
    let seeds = seeds(dir.path());
    let mut failures = Vec::new();
    for number in all {
        let mut draw = Draw(seed.wrapping_mul(1_000_003).wrapping_add(number as u64));
        let place = dir.path().join(format!("case-{number}"));
        fs::create_dir_all(&place).unwrap();
        let commands = case(&mut draw, &seeds, &place);
        // What led to a failure is kept as it was before.
        let input = dir.path().join("input");
        let _ = fs::remove_dir_all(&input);
        copy(&place, &input);
        for args in &commands {
            let Some(wrong) = judge(&place, args) else {
                continue;
            };
            let kept = std::env::temp_dir().join(format!("stiction-outside-{seed}-{number}"));
            let _ = fs::remove_dir_all(&kept);
            copy(&input, &kept);
            let shown = kept.display();
            eprintln!("case {number}: {wrong}: stiction {args:?} in {shown}");
            failures.push(number);
            break;
        }
        let _ = fs::remove_dir_all(&place);
    }
    assert!(failures.is_empty(), "seed {seed}: cases {failures:?}");
}
