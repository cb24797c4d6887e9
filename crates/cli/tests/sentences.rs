//! Figures of README.md and docs/results.md that a short run can hold.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod common;

use std::{fs, path::Path};

use common::{code, stderr, stdout, stiction};
use serde_json::Value;

fn json(args: &[&str]) -> Value {
    let output = stiction(args);
    serde_json::from_str(&stdout(&output)).unwrap_or_else(|e| panic!("{e}: {}", stderr(&output)))
}

/// README: a cloth, a block and a box rest to rounding with `admm` and creep with `smooth`, by its ε = 1e-4 m/s at most.
/// The two rules that the latter passes are those of what slides and of the force on the slope.
#[test]
fn the_default_scene_rests_with_exact_friction_and_creeps_with_smoothed() {
    let out = tempfile::tempdir().unwrap();
    let folder = out.path().to_string_lossy();
    let rows = json(&[
        "compare",
        "slope",
        "--with",
        "admm,smooth",
        "--threads",
        "1",
        "--json",
        "--out",
        &folder,
    ]);
    let number = |row: usize, key: &str| rows[row][key].as_f64().unwrap();
    // Velocities of 1 m/s and less, gathered over a few contacts per node: some ten roundings.
    assert!(number(0, "creep") < 1e-14, "{rows}");
    assert!(number(0, "residual") < 1e-13, "{rows}");
    assert!(
        (1e-5..1e-4).contains(&number(1, "creep")),
        "not that of smoothed friction: {rows}"
    );
    assert_eq!(rows[0]["checks_passed"], rows[0]["checks"]);
    assert_eq!(
        (&rows[0]["checks"], &rows[1]["checks_passed"]),
        (&7.into(), &2.into())
    );
}

/// A body of unit mass that is pushed against a wall and slides, in Siconos' global text. With u = v + (½, 0, 0) and the
/// push (−1, −1, −1): r_N = ½ and ‖r_T‖ = μ r_N = 0.05.
const GLOBAL: &str = "3\n1\n0\n3\n3\n3\t3\n1 0 0\n0 1 0\n0 0 1\n0\n3\n3\n3\t3\n1 0 0\n0 1 0\n0 0 1\n\
    -1 -1 -1 0.5 0 0\n0.1\n0\n";

/// Two contacts of one body by blocks with their numbers, in Siconos' local text; W is asymmetric by a thousandth in what
/// couples them. The first sticks with r_T = −0.1, the second slides with r_T = −μ r_N.
const BLOCKS: &str = "3\n2\n1\n6\n6\n4\n2\n2\n3\t6\n3\t6\n3\n4\n0\t2\t4\n0\t1\t0\t1\n0\n2 0 0 0 2 0 0 0 2\n1\n\
    1.001 0 0 0 0 0 0 0 0\n2\n0.999 0 0 0 0 0 0 0 0\n3\n2 0 0 0 2 0 0 0 2\n-3 0.2 0 -3 2 0\n0.5 0.5\n";

/// One contact with a dense W.
const DENSE: &str = "3 1 0 3 3 3 3 2 0 0 0 2 0 0 0 2 -1 0.1 0 0.5";

/// Solves a file without naming a solver; returns the impulses of its answer, written as JSON.
fn impulses(file: &Path) -> Vec<f64> {
    let (file, answer) = (file.to_string_lossy(), file.with_extension("json"));
    let to = answer.to_string_lossy();
    let output = stiction(&["solve", &file, "--tolerance", "1e-8", "--out", &to]);
    assert_eq!(code(&output), 0, "{file}: {}", stderr(&output));
    let answer: Value = serde_json::from_str(&fs::read_to_string(&answer).unwrap()).unwrap();
    assert_eq!(answer["solver"], "auto");
    for norm in ["residual", "linear", "eliminated"] {
        assert!(answer[norm].as_f64().unwrap() <= 1e-8, "{file}: {answer}");
    }
    let numbers = answer["r"].as_array().unwrap();
    numbers.iter().map(|x| x.as_f64().unwrap()).collect()
}

/// docs/results.md: files of every form are solved to 1e-8 m/s in both norms by the solver that is taken by default, and
/// say the same as FCLIB's HDF5.
#[test]
fn every_form_of_problem_file_is_solved_in_both_norms() {
    let dir = tempfile::tempdir().unwrap();
    let slip = 0.05 * 0.5f64.sqrt();
    for (name, text, expected) in [
        ("global", GLOBAL, vec![0.5, slip, slip]),
        ("blocks", BLOCKS, vec![1.0, -0.1, 0.0, 1.0, -0.5, 0.0]),
        ("dense", DENSE, vec![0.5, -0.05, 0.0]),
    ] {
        let file = dir.path().join(format!("{name}.dat"));
        fs::write(&file, text).unwrap();
        let again = dir.path().join(format!("{name}.hdf5"));
        let (from, to) = (file.to_string_lossy(), again.to_string_lossy());
        assert_eq!(
            code(&stiction(&["solve", &from, "--out", &to])),
            0,
            "{name}"
        );
        for file in [&file, &again] {
            let found = impulses(file);
            assert_eq!(found.len(), expected.len());
            for (a, b) in found.iter().zip(&expected) {
                // The tolerance over the least eigenvalue of W, which is 1.
                assert!((a - b).abs() < 2e-8, "{}: {found:?}", file.display());
            }
        }
    }
}
