//! Results do not depend on the system's elementary functions, which differ between processors.
#![cfg(all(target_os = "linux", target_env = "gnu", target_arch = "x86_64"))]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod common;

use std::{fs, path::Path};

use common::{code, command, stderr};

/// Hides what newer processors have from glibc, which then chooses other variants of its functions.
const OLD: &str = "glibc.cpu.hwcaps=-AVX2,-FMA,-FMA4,-AVX512F,-AVX";

/// Frames of hair turn by sines and arc tangents in every step. With those of the system the tables differ from the second
/// frame on.
#[test]
fn the_same_bits_with_and_without_fused_operations_in_the_system_library() {
    let dir = tempfile::tempdir().unwrap();
    let tables = |name: &str, tunables: &str| {
        let out = dir.path().join(name).to_string_lossy().into_owned();
        let args = [
            "run",
            "groom",
            "--variant",
            "quick",
            "--frames",
            "4",
            "--format",
            "none",
            "--quiet",
            "--out",
            &out,
        ];
        let output = command(&args).env("GLIBC_TUNABLES", tunables).output();
        let output = output.unwrap();
        assert_eq!(code(&output), 0, "{}", stderr(&output));
        ["probes.csv", "certificate.csv"].map(|f| fs::read(Path::new(&out).join(f)).unwrap())
    };
    assert!(tables("new", "") == tables("old", OLD), "the tables differ");
}
