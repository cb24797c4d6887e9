//! The program from outside: mutated scenes, meshes, strands, problems, checkpoints, run folders and
//! arguments, with limits on memory and time.
//!
//! Whatever it is given, the program ends by itself or on request, without a panic and not by a signal,
//! accepts nothing with a certificate that is not a number, and writes nothing outside its output folder.
//!
//! The cases follow from a seed. `STICTION_FUZZ_CASES=5000 STICTION_FUZZ_SEED=7 cargo test -p stiction-cli
//! --test outside` tries more than the test suite does. The input of a case that failed is kept.
#![cfg(target_os = "linux")]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stderr
)]

mod common;

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
    process::{Child, Command, ExitStatus, Stdio},
    thread::sleep,
    time::{Duration, Instant},
};

use common::{Draw, code, root, stderr, stiction};
use stiction_cli::{math::checksum::Xxh64, record::Summary};

/// Address space of a case [KiB].
const MEMORY: u64 = 4 << 20;
/// A run that has begun is asked to stop after this long.
const RUN: Duration = Duration::from_secs(3);
/// Everything else must have ended, and a run have begun, after this long.
const LOAD: Duration = Duration::from_secs(30);
/// A run that was asked to stop must have ended after this long; one second, and the rest for a busy
/// machine.
const OBEY: Duration = Duration::from_millis(4000);

/// Cases in the test suite.
const CASES: usize = 60;

const SCENE: &str = r#"
gravity = [0, 0, -9.81]
[time]
step = 0.01
duration = 0.05
frame_every = 1
[method]
name = "admm"
max_iterations = 200
[contact]
enabled = true
thickness = 1e-3
[[body]]
name = "cloth"
kind = "shell"
shape = { type = "sheet", size = [0.4, 0.4], cells = [4, 4], pattern = "irregular", seed = 3 }
material = { kind = "shell", area_density = 0.2, thickness = 1e-3, young = 1e5, poisson = 0.3, bending = 1e-5, damping = { stiffness = 0.001 } }
translate = [0, 0, 0.01]
velocity = [0.5, 0, -0.2]
[[body]]
name = "box"
kind = "rigid"
shape = { type = "box", size = [0.05, 0.05, 0.05] }
material = { kind = "rigid", density = 500 }
translate = [0.5, 0.03, 0.04]
[[body]]
name = "hair"
kind = "rods"
shape = { type = "groom", radius = 0.1, count = 5, length = 0.2, segments = 6, frizz = 0.3, seed = 2 }
material = { kind = "rod", density = 1300, radius = 1e-3, young_bending = 1e8, young_stretch = 1e7, poisson = 0.4 }
translate = [0, 0, 1.5]
[[obstacle]]
name = "floor"
shape = { type = "plane", normal = [0, 0, 1] }
[[pin]]
body = "hair"
select = { roots = true }
[[probe]]
name = "height"
type = "centroid"
body = "cloth"
axis = "z"
[[check]]
of = "height"
at = 0.05
below = 1.0
[output]
formats = ["vtu", "obj"]
checkpoint_every = 1
"#;

const ODD: [&str; 24] = [
    "0",
    "-1",
    "1e300",
    "-1e300",
    "1e-300",
    "nan",
    "inf",
    "-inf",
    "9223372036854775807",
    "99999999999999999999",
    "[]",
    "{}",
    "\"\"",
    "[0, 0, 0]",
    "[nan, 0, 0]",
    "[[]]",
    "true",
    "\"../../x\"",
    "\"/dev/zero\"",
    "4294967296",
    "1e9",
    "\"\\u0000\"",
    "\"a/b c\"",
    "0.1",
];

/// Another text: numbers and values replaced, lines removed, repeated and exchanged.
fn mutate_text(draw: &mut Draw, text: &str) -> String {
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    for _ in 0..=draw.below(3) {
        if lines.is_empty() {
            break;
        }
        let at = draw.below(lines.len());
        match draw.below(8) {
            0 => drop(lines.remove(at)),
            1 => lines.insert(at, lines[at].clone()),
            2 => {
                let other = draw.below(lines.len());
                lines.swap(at, other);
            }
            3 => {
                let line: Vec<char> = lines[at].chars().collect();
                let end = draw.below(line.len() + 1);
                lines[at] = line[..end].iter().collect();
            }
            _ => {
                // A value after `=`, or one of the numbers of the line.
                let line = lines[at].clone();
                let odd = *draw.pick(&ODD);
                let starts: Vec<usize> = line
                    .char_indices()
                    .filter(|(i, c)| {
                        let before = line[..*i].chars().last();
                        c.is_ascii_digit()
                            && !before.is_some_and(|b| b.is_alphanumeric() || b == '.')
                    })
                    .map(|(i, _)| i)
                    .collect();
                if let (true, Some((key, _))) = (draw.below(3) == 0, line.split_once('=')) {
                    lines[at] = format!("{key}= {odd}");
                } else if !starts.is_empty() {
                    let start = *draw.pick(&starts);
                    let number = |c: char| c.is_ascii_alphanumeric() || ".+-".contains(c);
                    let length = line[start..].find(|c| !number(c));
                    let end = length.map_or(line.len(), |l| start + l);
                    lines[at] = format!("{}{odd}{}", &line[..start], &line[end..]);
                }
            }
        }
    }
    lines.join("\n")
}

/// Other bytes: some changed, some removed, some repeated.
fn mutate_bytes(draw: &mut Draw, bytes: &[u8]) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    for _ in 0..=draw.below(3) {
        if bytes.is_empty() {
            break;
        }
        let at = draw.below(bytes.len());
        match draw.below(6) {
            0 => bytes.truncate(at),
            1 => bytes[at] = draw.next() as u8,
            2 => bytes[at] ^= 1 << draw.below(8),
            3 => {
                let end = (at + 8).min(bytes.len());
                let odd = [
                    0u64,
                    u64::MAX,
                    1 << 32,
                    f64::NAN.to_bits(),
                    f64::INFINITY.to_bits(),
                ];
                let odd = draw.pick(&odd).to_le_bytes();
                bytes[at..end].copy_from_slice(&odd[..end - at]);
            }
            4 => drop(bytes.drain(at..(at + draw.below(64)).min(bytes.len()))),
            _ => {
                let end = (at + draw.below(64)).min(bytes.len());
                let again = bytes[at..end].to_vec();
                bytes.splice(at..at, again);
            }
        }
    }
    bytes
}

fn mutate(draw: &mut Draw, bytes: &[u8]) -> Vec<u8> {
    match std::str::from_utf8(bytes) {
        Ok(text) if draw.below(4) > 0 => mutate_text(draw, text).into_bytes(),
        _ => mutate_bytes(draw, bytes),
    }
}

/// Initial data of the cases.
struct Seeds {
    meshes: Vec<(String, Vec<u8>)>,
    strands: Vec<Vec<u8>>,
    problems: Vec<Vec<u8>>,
    scenes: Vec<String>,
    /// A completed run of `SCENE` whose checkpoint is of the middle.
    run: PathBuf,
}

fn seeds(dir: &Path) -> Seeds {
    let scene = dir.join("scene.toml");
    fs::write(&scene, SCENE).unwrap();
    let (scene, run) = (scene.to_string_lossy().into_owned(), dir.join("run"));
    let out = run.to_string_lossy().into_owned();
    let args = ["run", &scene, "--out", &out, "--quiet", "--frames", "3"];
    let more = ["--contacts", "--dump-problems", "every=1", "--threads", "1"];
    let output = stiction(&[&args[..], &more].concat());
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    let mut problems: Vec<PathBuf> = fs::read_dir(run.join("problems"))
        .unwrap()
        .map(|f| f.unwrap().path())
        .collect();
    problems.sort();
    let mut meshes: Vec<(String, Vec<u8>)> = Vec::new();
    let broken = root().join("scenes/broken/meshes");
    for entry in fs::read_dir(broken).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        meshes.push((name, fs::read(path).unwrap()));
    }
    for name in ["cloth_000001.vtu", "box_000001.obj", "hair_000001.vtu"] {
        meshes.push((
            name.to_owned(),
            fs::read(run.join("frames").join(name)).unwrap(),
        ));
    }
    meshes.sort();
    let mut strands = Vec::new();
    for form in ["text", "double", "single"] {
        let path = dir.join(form).to_string_lossy().into_owned();
        let args = [
            "groom",
            &path,
            "--count",
            "4",
            "--segments",
            "3",
            "--form",
            form,
        ];
        assert_eq!(code(&stiction(&args)), 0);
        strands.push(fs::read(path).unwrap());
    }
    let small = [
        "free-fall",
        "tumbling",
        "block-slide",
        "capstan",
        "pendulum",
        "grains",
    ];
    let builtin = |name: &&str| {
        stiction_cli::scene::builtin::get(name)
            .unwrap()
            .text
            .to_owned()
    };
    Seeds {
        meshes,
        strands,
        problems: problems.iter().map(|p| fs::read(p).unwrap()).collect(),
        scenes: small
            .iter()
            .map(builtin)
            .chain([SCENE.to_owned()])
            .collect(),
        run,
    }
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let path = entry.unwrap().path();
        let target = to.join(path.file_name().unwrap());
        match path.is_dir() {
            true => copy(&path, &target),
            false => drop(fs::copy(&path, &target).unwrap()),
        }
    }
}

/// One case: its input is in `dir`, and `dir/out` is where it may write. Returns its arguments.
fn case(draw: &mut Draw, seeds: &Seeds, dir: &Path) -> Vec<String> {
    let put = |name: &str, bytes: &[u8]| {
        fs::write(dir.join(name), bytes).unwrap();
        name.to_owned()
    };
    let args = |list: &[&str]| list.iter().map(|a| (*a).to_owned()).collect::<Vec<_>>();
    let run = ["--out", "out", "--frames", "2", "--threads", "1"];
    match draw.below(12) {
        0..=3 => {
            let text = draw.pick(&seeds.scenes).clone();
            let scene = put("scene.toml", mutate_text(draw, &text).as_bytes());
            let mut all = args(&["run", &scene]);
            all.extend(args(&run));
            all
        }
        4 => {
            let (name, bytes) = draw.pick(&seeds.meshes).clone();
            let file = put(&name, &mutate(draw, &bytes));
            match draw.below(2) {
                0 => args(&["doctor", &file, "--out", "out"]),
                _ => args(&["groom", "out/hair.strands", "--on", &file, "--count", "5"]),
            }
        }
        5 => {
            let bytes = draw.pick(&seeds.strands).clone();
            let file = put("hair.strands", &mutate(draw, &bytes));
            args(&["doctor", &file, "--out", "out"])
        }
        6 => {
            let bytes = draw.pick(&seeds.problems).clone();
            let file = put("a.problem", &mutate_bytes(draw, &bytes));
            let solver = *draw.pick(&["auto", "admm", "newton", "ica", "local", "reference"]);
            let most = ["--max-iterations", "50", "--threads", "1"];
            let mut all = args(&["solve", &file, "--solver", solver, "--out", "out"]);
            all.extend(args(&most));
            all
        }
        7 | 8 => {
            // A checkpoint, with a checksum that fits so that its contents are read.
            copy(&seeds.run, &dir.join("out"));
            put("scene.toml", SCENE.as_bytes());
            let path = dir.join("out/checkpoint.bin");
            let bytes = fs::read(&path).unwrap();
            let mut bytes = mutate_bytes(draw, &bytes[..bytes.len() - 8]);
            if bytes.len() > 20 && draw.below(4) > 0 {
                let length = bytes.len() as u64 + 8;
                bytes[12..20].copy_from_slice(&length.to_le_bytes());
            }
            let sum = Xxh64::of(&bytes);
            bytes.extend(sum.to_le_bytes());
            fs::write(&path, bytes).unwrap();
            let mut all = args(&["run", "scene.toml", "--resume", "--quiet"]);
            all.extend(args(&["--out", "out", "--threads", "1"]));
            all
        }
        9 | 10 => {
            // Any file of a run.
            copy(&seeds.run, &dir.join("out"));
            put("scene.toml", SCENE.as_bytes());
            let mut files: Vec<PathBuf> = common::contents(&dir.join("out"))
                .into_iter()
                .map(|f| f.0)
                .collect();
            // Those of which there are few come as often as frames.
            files.sort_by_key(|f| f.components().count());
            let most = if draw.below(2) == 0 { 8 } else { files.len() };
            let file = dir
                .join("out")
                .join(&files[draw.below(most.min(files.len()))]);
            let bytes = fs::read(&file).unwrap();
            fs::write(&file, mutate(draw, &bytes)).unwrap();
            match draw.below(6) {
                0 => args(&["export", "out", "--format", "usd,gltf,obj,ply"]),
                1 => args(&["render", "out", "--out", "out/a.png", "--size", "64,48"]),
                2 => args(&["plot", "out", "--out", "out/a.svg"]),
                3 => args(&[
                    "run",
                    "scene.toml",
                    "--out",
                    "out",
                    "--overwrite",
                    "--threads",
                    "1",
                ]),
                _ => args(&[
                    "run",
                    "scene.toml",
                    "--out",
                    "out",
                    "--resume",
                    "--threads",
                    "1",
                ]),
            }
        }
        _ => {
            let command = *draw.pick(&["run", "doctor", "groom", "solve", "export", "render"]);
            let mut all = args(&[command]);
            let known = [
                "tumbling",
                "--threads",
                "0",
                "--frames",
                "1",
                "-1",
                "--set",
                "time.step=nan",
                "--set",
                "body=[]",
                "--require",
                "residual<nan",
                "--format",
                "none,vtu",
                "--variant",
                "quick",
                "--count",
                "5",
                "--length",
                "inf",
                "--radius",
                "nan",
                "--on",
                "/dev/zero",
                "--method",
                "smooth",
                "--exact",
                "--json",
                "=",
                "",
                "\u{1}",
                "--",
            ];
            for _ in 0..=draw.below(5) {
                all.push((*draw.pick(&known)).to_owned());
            }
            all.extend(match command {
                "groom" => args(&["out/a.strands"]),
                "run" | "export" => args(&["--out", "out"]),
                _ => Vec::new(),
            });
            all
        }
    }
}

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

/// Runs a case; says what is wrong, if anything is.
fn judge(dir: &Path, args: &[String]) -> Option<String> {
    fs::create_dir_all(dir.join("tmp")).unwrap();
    fs::create_dir_all(dir.join("out")).unwrap();
    let before = beside(dir);
    let said = dir.with_extension("said");
    let limited = format!("ulimit -v {MEMORY}; exec \"$0\" \"$@\"");
    let mut child = Command::new("sh")
        .args(["-c", &limited, env!("CARGO_BIN_EXE_stiction")])
        .args(args)
        .current_dir(dir)
        .env("TMPDIR", dir.join("tmp"))
        .env("NO_COLOR", "1")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(fs::File::create(&said).unwrap())
        .spawn()
        .unwrap();
    let is_run = args[0] == "run";
    let begun = || dir.join("out/summary.json").exists();
    let mut status = ended(&mut child, RUN);
    if status.is_none() && !(is_run && begun()) {
        status = ended(&mut child, LOAD);
    }
    let asked = status.is_none() && is_run && begun();
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
    if said.contains("panicked") || said.len() > 100_000 {
        let start: String = said.chars().take(300).collect();
        return Some(format!("it says {} bytes: {start}", said.len()));
    }
    if beside(dir) != before {
        return Some(format!("files outside its folder: {:?}", beside(dir)));
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
    let dir = tempfile::tempdir().unwrap();
    let seeds = seeds(dir.path());
    let mut failures = Vec::new();
    for number in 0..cases {
        let mut draw = Draw(seed.wrapping_mul(1_000_003).wrapping_add(number as u64));
        let place = dir.path().join(format!("case-{number}"));
        fs::create_dir_all(&place).unwrap();
        let args = case(&mut draw, &seeds, &place);
        // What led to a failure is kept as it was before.
        let input = dir.path().join("input");
        let _ = fs::remove_dir_all(&input);
        copy(&place, &input);
        if let Some(wrong) = judge(&place, &args) {
            let kept = std::env::temp_dir().join(format!("stiction-outside-{seed}-{number}"));
            let _ = fs::remove_dir_all(&kept);
            copy(&input, &kept);
            eprintln!(
                "case {number}: {wrong}: stiction {args:?} in {}",
                kept.display()
            );
            failures.push(number);
        }
        let _ = fs::remove_dir_all(&place);
    }
    assert!(failures.is_empty(), "seed {seed}: cases {failures:?}");
}
