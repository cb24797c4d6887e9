//! Running the program as a user would.
#![allow(dead_code, clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Output},
};

pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../..")
        .canonicalize()
        .unwrap()
}

/// Numbers that follow from a seed.
pub struct Draw(pub u64);

impl Draw {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    pub fn below(&mut self, n: usize) -> usize {
        (self.next() % n.max(1) as u64) as usize
    }

    pub fn pick<'a, T>(&mut self, list: &'a [T]) -> &'a T {
        &list[self.below(list.len())]
    }

    /// From 0 to 1.
    pub fn uniform(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1u64 << 53) as f64
    }
}

/// The program under test: `STICTION_PROGRAM`, or else the one that was built for the tests.
pub fn program() -> PathBuf {
    let given = std::env::var_os("STICTION_PROGRAM").map(PathBuf::from);
    given.unwrap_or_else(|| PathBuf::from(env!("CARGO_BIN_EXE_stiction")))
}

pub fn command(args: &[&str]) -> Command {
    let mut command = Command::new(program());
    command.args(args).env("NO_COLOR", "1");
    command
}

pub fn stiction(args: &[&str]) -> Output {
    command(args).output().unwrap()
}

pub fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

/// Standard error, with line breaks and the frames of boxes folded to spaces.
pub fn stderr(output: &Output) -> String {
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    let plain: String = text
        .chars()
        .map(|c| {
            if "│╰╭─┬×▶".contains(c) {
                ' '
            } else {
                c
            }
        })
        .collect();
    plain.split_whitespace().collect::<Vec<_>>().join(" ")
}

pub fn code(output: &Output) -> i32 {
    output
        .status
        .code()
        .unwrap_or_else(|| panic!("killed by a signal: {}", stderr(output)))
}

/// All files below `dir` with their bytes, sorted by path.
pub fn contents(dir: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    fn walk(base: &Path, dir: &Path, out: &mut Vec<(PathBuf, Vec<u8>)>) {
        for entry in fs::read_dir(dir).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                walk(base, &path, out);
            } else {
                out.push((
                    path.strip_prefix(base).unwrap().to_owned(),
                    fs::read(&path).unwrap(),
                ));
            }
        }
    }
    let mut out = Vec::new();
    walk(dir, dir, &mut out);
    out.sort();
    out
}

/// The bytes of the state in a run's checkpoint.
pub fn stored_state(dir: &Path) -> Vec<u8> {
    let checkpoint =
        stiction_cli::record::CheckpointFile::read(&dir.join("checkpoint.bin")).unwrap();
    checkpoint
        .sections()
        .find(|s| s.0 == "state")
        .unwrap()
        .1
        .to_vec()
}

/// Two runs left the same trajectory: state, tables and frames, bit for bit. Times of day differ.
pub fn assert_same_run(a: &Path, b: &Path) {
    assert!(
        stored_state(a) == stored_state(b),
        "the final states differ"
    );
    let of = |dir: &Path| -> Vec<(PathBuf, Vec<u8>)> {
        let timed = ["summary.json", "checkpoint.bin"];
        contents(dir)
            .into_iter()
            .filter(|(p, _)| !timed.iter().any(|t| p.ends_with(t)))
            .collect()
    };
    let (a, b) = (of(a), of(b));
    let names = |x: &[(PathBuf, Vec<u8>)]| x.iter().map(|f| f.0.clone()).collect::<Vec<_>>();
    assert_eq!(names(&a), names(&b));
    for (x, y) in a.iter().zip(&b) {
        assert!(x.1 == y.1, "{} differs", x.0.display());
    }
}
