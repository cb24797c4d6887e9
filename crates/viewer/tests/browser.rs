//! The viewer as a person meets it: in a real browser, offline.
//!
//! Needs Chromium (`apt-get install chromium`, or any other one named by `STICTION_BROWSER`); says so
//! and does nothing where there is none.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stderr
)]
#![cfg(target_os = "linux")]

mod chromium;

use std::{
    collections::BTreeSet,
    fs,
    io::{BufRead, BufReader},
    path::Path,
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

use chromium::{Browser, Pixels};
use stiction_cli::{
    record::{FrameFormat, KeptScene, Recorder, RunFolder, RunInfo},
    scene::{LoadOptions, SceneSource, load},
};

/// Ended when the test is.
struct Ending(Child);

impl Drop for Ending {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Runs a scene for some frames and records it, as `stiction run` does.
fn record(dir: &Path, scene: &str, frames: u64) {
    let source = SceneSource::Builtin(scene.to_owned());
    let scene = load(&source, &LoadOptions::default()).unwrap();
    let (mut sim, plan) = scene.simulation().unwrap();
    let info = RunInfo {
        scene: plan.name,
        variant: plan.variant,
        hash: plan.hash,
        source: KeptScene::default(),
        formats: vec![FrameFormat::Vtu],
        contacts: false,
        probes: plan.probes,
        checks: plan.checks,
    };
    let mut recorder = Recorder::create(RunFolder::claim(dir).unwrap(), info, &sim).unwrap();
    let mut written = 0;
    while written < frames {
        let report = sim.step().unwrap();
        recorder.step(&sim, &report).unwrap();
        if plan.time.is_frame(sim.state().step) {
            recorder.frame(&sim).unwrap();
            written += 1;
        }
    }
}

/// Starts the viewer and waits for the address of its page.
fn viewer(dir: &Path) -> (Ending, String) {
    let mut child = Command::new(env!("CARGO_BIN_EXE_stiction-viewer"))
        .arg(dir)
        .args(["--no-browser", "--paused"])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    let mut out = BufReader::new(child.stdout.take().unwrap());
    out.read_line(&mut line).unwrap();
    (Ending(child), line.trim().to_owned())
}

/// State and local address, in the system's hexadecimal, of all network sockets of a process: those
/// on which it listens and those by which it is connected.
fn sockets(pid: u32) -> Vec<(String, String)> {
    let mut inodes = BTreeSet::new();
    for entry in fs::read_dir(format!("/proc/{pid}/fd")).unwrap() {
        if let Ok(link) = fs::read_link(entry.unwrap().path()) {
            let link = link.to_string_lossy().into_owned();
            if let Some(inode) = link.strip_prefix("socket:[") {
                inodes.insert(inode.trim_end_matches(']').to_owned());
            }
        }
    }
    let mut found = Vec::new();
    for table in ["tcp", "tcp6", "udp", "udp6"] {
        let text = fs::read_to_string(format!("/proc/{pid}/net/{table}")).unwrap_or_default();
        for row in text.lines().skip(1) {
            let cells: Vec<&str> = row.split_whitespace().collect();
            if inodes.contains(cells[9]) {
                found.push((cells[3].to_owned(), cells[1].to_owned()));
            }
        }
    }
    found
}

#[test]
fn a_run_is_seen_in_the_browser_and_nothing_leaves_this_machine() {
    let Some(mut browser) = Browser::start() else {
        eprintln!("skipped: no Chromium is installed (apt-get install chromium)");
        return;
    };
    let dir = tempfile::tempdir().unwrap();
    record(dir.path(), "free-fall", 10);
    let (viewer, url) = viewer(dir.path());
    assert!(url.starts_with("http://127.0.0.1:"), "{url}");

    browser.open(&format!("{url}?renderer=webgl"));
    // The first body is blue, the background nearly black.
    let blue = |p: &[u8; 4]| i32::from(p[2]) - i32::from(p[0]) > 40;
    let left = |p: &Pixels| p.part([0.02, 0.1], [0.58, 0.9]);
    let differing = |a: &Pixels, b: &Pixels| {
        let pairs = left(a).into_iter().zip(left(b));
        pairs.filter(|(a, b)| a != b).count()
    };
    // Until bodies are there and, because the run is paused, nothing moves any more.
    let start = Instant::now();
    let mut still = browser.screenshot();
    loop {
        std::thread::sleep(Duration::from_millis(1500));
        let picture = browser.screenshot();
        let bodies = left(&picture).iter().filter(|p| blue(p)).count();
        let moved = differing(&still, &picture);
        still = picture;
        if bodies > 200 && moved == 0 {
            break;
        }
        if start.elapsed() > Duration::from_secs(120) {
            still.save(&std::env::temp_dir().join("stiction-viewer-test.png"));
            let requests = browser.requests();
            panic!("{bodies} pixels of bodies, {moved} move by themselves; {requests:#?}");
        }
    }
    browser.drag([0.5, 0.985], [0.9, 0.985]);
    std::thread::sleep(Duration::from_secs(2));
    let scrubbed = browser.screenshot();
    if let Ok(folder) = std::env::var("STICTION_PICTURES") {
        still.save(&Path::new(&folder).join("before.png"));
        scrubbed.save(&Path::new(&folder).join("after.png"));
    }
    let changed = differing(&still, &scrubbed);
    assert!(changed > 200, "{changed} pixels changed when scrubbed");

    let requests = browser.requests();
    assert!(requests.iter().any(|r| r.contains("re_viewer_bg.wasm")));
    for request in requests {
        let here = [
            "http://127.0.0.1:",
            "http://localhost:",
            "blob:",
            "data:",
            "about:",
        ];
        assert!(here.iter().any(|h| request.starts_with(h)), "{request}");
    }
    let sockets = sockets(viewer.0.id());
    // 0A is the state of a socket that listens: the page's alone.
    let listening = sockets.iter().filter(|(state, _)| state == "0A").count();
    assert_eq!(listening, 1, "{sockets:?}");
    for (_, address) in sockets {
        // 127.0.0.1, bytes reversed.
        assert!(address.starts_with("0100007F:"), "{address}");
    }
}

#[test]
fn a_run_that_goes_on_is_seen_before_it_ends() {
    let Some(mut browser) = Browser::start() else {
        eprintln!("skipped: no Chromium is installed (apt-get install chromium)");
        return;
    };
    let dir = tempfile::tempdir().unwrap();
    let mut child = Command::new(env!("CARGO_BIN_EXE_stiction-viewer"))
        .arg(dir.path())
        .args(["--no-browser", "--follow"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    // Open until the end of the test: the run goes on.
    let _going = child.stdin.take();
    let mut url = String::new();
    let mut out = BufReader::new(child.stdout.take().unwrap());
    out.read_line(&mut url).unwrap();
    let _viewer = Ending(child);
    browser.open(&format!("{}?renderer=webgl", url.trim()));
    std::thread::sleep(Duration::from_secs(2));
    record(dir.path(), "free-fall", 4);
    let start = Instant::now();
    loop {
        std::thread::sleep(Duration::from_millis(1500));
        let picture = browser.screenshot();
        let pixels = picture.part([0.02, 0.1], [0.58, 0.9]);
        let blue = |p: &&[u8; 4]| i32::from(p[2]) - i32::from(p[0]) > 40;
        let bodies = pixels.iter().filter(blue).count();
        if bodies > 200 {
            break;
        }
        if start.elapsed() > Duration::from_secs(120) {
            picture.save(&std::env::temp_dir().join("stiction-viewer-live.png"));
            panic!("{bodies} pixels of bodies; {:#?}", browser.requests());
        }
    }
}

#[test]
fn pages_under_other_names_are_refused() {
    use std::io::{Read, Write};
    let dir = tempfile::tempdir().unwrap();
    record(dir.path(), "free-fall", 1);
    let (_viewer, url) = viewer(dir.path());
    let (address, token) = url.trim_start_matches("http://").split_once('/').unwrap();
    let page = format!("/{token}");
    for (host, path, status) in [
        (address, page.as_str(), "200"),
        (address, "/", "404"),
        (address, "/proxy", "404"),
        (address, "/../../etc/passwd", "404"),
        ("evil.example:80", page.as_str(), "403"),
    ] {
        let mut stream = std::net::TcpStream::connect(address).unwrap();
        write!(
            stream,
            "GET {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n"
        )
        .unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        assert!(
            answer.starts_with(&format!("HTTP/1.1 {status}")),
            "{answer}"
        );
    }
}

#[test]
fn a_recording_is_saved_without_a_server_and_a_folder_without_a_run_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let run = dir.path().join("run");
    record(&run, "free-fall", 3);
    let file = dir.path().join("run.rrd");
    let save = |run: &Path| {
        Command::new(env!("CARGO_BIN_EXE_stiction-viewer"))
            .arg(run)
            .arg("--save")
            .arg(&file)
            .output()
            .unwrap()
    };
    assert_eq!(save(dir.path()).status.code(), Some(2));
    assert!(!file.exists());
    let saved = save(&run);
    assert!(
        saved.status.success(),
        "{}",
        String::from_utf8_lossy(&saved.stderr)
    );
    let bytes = fs::read(&file).unwrap();
    // How Rerun's files begin.
    assert_eq!(&bytes[..3], b"RRF");
    assert!(bytes.len() > 3000);
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 2);
}

#[test]
fn a_run_that_goes_on_is_followed_until_it_ends() {
    let dir = tempfile::tempdir().unwrap();
    let run = dir.path().join("run");
    let saved = |name: &str| dir.path().join(name);
    let mut following = Command::new(env!("CARGO_BIN_EXE_stiction-viewer"))
        .args(["--follow", "--save"])
        .arg(saved("live.rrd"))
        .arg(&run)
        .stdin(Stdio::piped())
        .spawn()
        .unwrap();
    record(&run, "free-fall", 6);
    std::thread::sleep(Duration::from_millis(500));
    assert!(following.try_wait().unwrap().is_none(), "it did not wait");
    drop(following.stdin.take());
    assert!(following.wait().unwrap().success());
    let replayed = Command::new(env!("CARGO_BIN_EXE_stiction-viewer"))
        .arg(&run)
        .arg("--save")
        .arg(saved("late.rrd"))
        .status()
        .unwrap();
    assert!(replayed.success());
    // The same content, cut into more pieces: one per frame and one at the end at most, each with the names of all that
    // it holds. How many there are depends on how busy the machine is.
    let [live, late] = ["live.rrd", "late.rrd"].map(|n| fs::metadata(saved(n)).unwrap().len());
    assert!(
        live > late / 2 && live < 7 * late,
        "{live} and {late} bytes"
    );
}
