#![allow(clippy::unwrap_used, clippy::panic)]

use proptest::prelude::*;
use stiction_math::Vec3;

use super::*;
use crate::file::{StoredProblem, StoredSolution};
use crate::generate::{RandomProblem, random};

fn stored(kind: RandomProblem, seed: u64) -> StoredProblem {
    let problem = random(kind, 10, seed);
    let wave = |i: usize| Vec3::new((i as f64).sin(), 0.2 * i as f64, (3.0 * i as f64).cos());
    let v: Vec<Vec3> = (0..problem.blocks()).map(wave).collect();
    let r: Vec<Vec3> = (0..problem.contacts.len()).map(|i| wave(i + 7)).collect();
    StoredProblem {
        origin: "a wave".into(),
        v: Some(v.clone()),
        r: Some(r.clone()),
        solution: Some(StoredSolution { v, r }),
        problem,
    }
}

/// A r and q of the local form, as a check of any form.
fn reduced(stored: &StoredProblem) -> (Vec<f64>, f64) {
    let ProblemForm::Local(local) = Exchange::local(stored).unwrap().form else {
        unreachable!()
    };
    let n = local.w.rows;
    let mut numbers = vec![0.0; n * n];
    for (i, j, x) in local.w.entries {
        numbers[i as usize + n * j as usize] += x;
    }
    let scale = numbers.iter().fold(1.0f64, |m, x| m.max(x.abs()));
    numbers.extend(local.q);
    (numbers, scale)
}

#[test]
fn forms_keep_the_problem() {
    for kind in RandomProblem::ALL {
        for seed in 0..3 {
            let there = stored(kind, seed);
            let (expected, scale) = reduced(&there);
            for form in [Exchange::global(&there), Exchange::local(&there)] {
                let form = form.unwrap();
                let back = form.to_stored().unwrap();
                assert_eq!(back.problem.h, there.problem.h);
                assert_eq!(back.problem.contacts.mu, there.problem.contacts.mu);
                let (found, _) = reduced(&back);
                for (a, b) in found.iter().zip(&expected) {
                    let error = (a - b).abs() / scale;
                    assert!(error < 1e-13, "{kind:?} {seed}: {error:e}");
                }
            }
        }
    }
}

/// The conversion through the global form computes nothing but the rotation of frames, so points of
/// bodies come back as they were.
#[test]
fn the_global_form_comes_back_to_the_last_digits() {
    for kind in [
        RandomProblem::Sparse,
        RandomProblem::Rigid,
        RandomProblem::Coupled,
        RandomProblem::MassRatio,
    ] {
        let there = stored(kind, 1);
        let exchange = Exchange::global(&there).unwrap();
        let back = exchange.to_stored().unwrap();
        let (a, b) = (&there.problem.contacts, &back.problem.contacts);
        assert!(b.blocks.is_empty(), "{kind:?} lost its stencils");
        for c in 0..a.len() {
            assert!((a.normal[c] - b.normal[c]).norm() < 1e-15);
            assert!((a.k[c] - b.k[c]).norm() < 2e-15 * (1.0 + a.k[c].norm()));
            assert_eq!(a.entries(c).len(), b.entries(c).len());
            for e in a.entries(c) {
                let other = b.entries(c).find(|o| o.node == e.node).unwrap();
                assert!((e.matrix() - other.matrix()).amax() < 1e-15);
            }
        }
        assert_eq!(there.problem.f, back.problem.f);
        assert_eq!(there.v, back.v);
        for (a, b) in there.r.unwrap().iter().zip(back.r.unwrap()) {
            assert!((a - b).norm() < 1e-14);
        }
        assert_eq!(there.solution.unwrap().v, back.solution.unwrap().v);
    }
}

#[test]
fn a_problem_without_frames_has_normals_along_x() {
    let mut exchange = Exchange::global(&stored(RandomProblem::Rigid, 2)).unwrap();
    exchange.frames.clear();
    let problem = exchange.to_stored().unwrap().problem;
    assert!(problem.contacts.normal.iter().all(|n| *n == Vec3::x()));
    assert!(!problem.contacts.blocks.is_empty());
}

#[test]
fn meaningless_settings_are_refused() {
    let good = Exchange::local(&stored(RandomProblem::Dense, 0)).unwrap();
    let change = |change: &dyn Fn(&mut ReducedProblem)| {
        let mut bad = good.clone();
        if let ProblemForm::Local(local) = &mut bad.form {
            change(local);
        }
        bad.to_stored().unwrap_err()
    };
    assert!(matches!(
        change(&|l| {
            l.q.pop();
        }),
        ExchangeError::Size { .. }
    ));
    assert!(matches!(
        change(&|l| l.w.entries[1].2 += 1e3),
        ExchangeError::NotSymmetric { matrix: "W", .. }
    ));
    assert!(matches!(
        change(&|l| l.w.entries[0].2 = f64::NAN),
        ExchangeError::Entry { .. }
    ));
    assert!(matches!(
        change(&|l| l.w.entries[0].0 = 10_000),
        ExchangeError::Entry { .. }
    ));
    assert!(matches!(
        change(&|l| l.w.entries.iter_mut().for_each(|e| e.2 = -e.2)),
        ExchangeError::NotDefinite("W")
    ));
    assert!(matches!(
        change(&|l| l.mu[0] = -1.0),
        ExchangeError::Problem(_)
    ));
}

const TEXT: &str = "3\n2\n1\n6\n6\n3\n2\n2\n3\t6\t\n3\t6\t\n3\n3\n0\t2\t3\t\n0\t1\t1\t\n\
    0\n2.0 0 0 0 3 0 0 0 4 1\n0.5 0 0 0 0.5 0 0 0 0.5 2\n5 0 0 0 6 0 0 0 7\n-1 0 0 -2 1 0\n0.3 0.7\n";

fn exchange(form: ProblemForm) -> Exchange {
    Exchange {
        form,
        frames: Vec::new(),
        h: 1.0,
        origin: String::new(),
        guess: None,
        solution: None,
    }
}

fn local_of(text: &str) -> ReducedProblem {
    match siconos::read(text).unwrap() {
        ProblemForm::Local(local) => local,
        ProblemForm::Global(_) => panic!("read as a global problem"),
    }
}

#[test]
fn blocks_with_their_numbers_and_dense_text_are_read() {
    // The lower block is missing, so only the reading is checked.
    let local = local_of(TEXT);
    assert_eq!(local.mu, [0.3, 0.7]);
    assert_eq!(local.q, [-1.0, 0.0, 0.0, -2.0, 1.0, 0.0]);
    let mut diagonal = vec![0.0; 6];
    for &(i, j, x) in &local.w.entries {
        if i == j {
            diagonal[i as usize] = x;
        } else {
            assert_eq!((i + 3, x), (j, 0.5));
        }
    }
    assert_eq!(diagonal, [2.0, 3.0, 4.0, 5.0, 6.0, 7.0]);
    let text = "3 1 0 3 3 3 3 1 0.1 0 0.1 2 0 0 0 3 -1 0 0 0.5";
    let dense = local_of(text);
    assert_eq!(dense.w.entries.len(), 5);
    let stored = exchange(ProblemForm::Local(dense)).to_stored().unwrap();
    assert_eq!(stored.problem.contacts.len(), 1);
}

/// One body of unit mass on one contact, with a flag at the end that no guess follows.
const GLOBAL: &str = "3\n1\n0\n3\n3\n3\t3\n1 0 0\n0 1 0\n0 0 1\n0\n3\n3\n3\t3\n1 0 0\n0 1 0\n\
    0 0 1\n-1 -1 -1 0.5 0 0\n0.1\n0\n";

#[test]
fn a_global_text_is_not_taken_for_a_local_one() {
    let ProblemForm::Global(global) = siconos::read(GLOBAL).unwrap() else {
        panic!("read as a local problem");
    };
    assert_eq!((global.mu, global.w), (vec![0.1], vec![0.5, 0.0, 0.0]));
    assert_eq!(global.f, [-1.0, -1.0, -1.0]);
    assert_eq!((global.h.rows, global.h.columns), (3, 3));
}

/// Triplets, compressed columns and compressed rows of diag(2, 3, 4) with one entry at (0, 2).
#[test]
fn sparse_text_is_read_in_every_storage() {
    let head = "CSparse Version 3.2.0, Sept 12, 2017.  Copyright (c) Timothy A. Davis, 2006-2016";
    let triplets = "triplet: 3-by-3, nzmax: 8 nnz: 4\n 0 0 : 2\n 1 1 : 3\n 2 2 : 4\n 0 2 : 0.5\n";
    let lines = "3-by-3, nzmax: 4 nnz: 4, 1-norm: 4.5\n";
    let columns = "col 0 : locations 0 to 0\n 0 : 2\n col 1 : locations 1 to 1\n 1 : 3\n \
        col 2 : locations 2 to 3\n 0 : 0.5\n 2 : 4\n";
    let rows = "col 0 : locations 0 to 1\n 0 : 2\n 2 : 0.5\n col 1 : locations 2 to 2\n 1 : 3\n \
        col 2 : locations 3 to 3\n 2 : 4\n";
    let rest = "-1 0 0\n0.4\n";
    let mut found = Vec::new();
    for matrix in [
        format!("1\n{head}\n{triplets}"),
        format!("2\n{head}\n{lines}{columns}"),
        format!("3\n{head}\n{lines}{rows}"),
        format!("{head}\n{lines}{columns}"),
    ] {
        let local = local_of(&format!("3\n1\n2\n3\n3\n{matrix}{rest}"));
        assert_eq!(local.mu, [0.4]);
        found.push(local.w.merged());
    }
    let expected = vec![(0, 0, 2.0), (1, 1, 3.0), (0, 2, 0.5), (2, 2, 4.0)];
    assert!(found.iter().all(|w| *w == expected), "{found:?}");
}

#[test]
fn problems_that_siconos_does_not_write_are_refused_with_the_reason() {
    let message = |text: &str| siconos::read(text).unwrap_err().to_string();
    // Numbers after the end.
    assert!(message(&format!("{TEXT} 1.0")).contains("after the end"));
    assert!(message(&format!("{TEXT} 0 0")).contains("after the end"));
    assert!(message(&format!("{GLOBAL} 7")).contains("after the end"));
    assert!(siconos::read(&format!("{TEXT} 0")).is_ok());
    // A block out of turn.
    assert!(message(&TEXT.replace("4 1\n", "4 2\n")).contains("block 2 where block 1"));
    assert!(message("2 1 0 2 2 2 2 1 0 0 1 -1 0 0.5").contains("two dimensions"));
    assert!(message("5 1 0 5 5").contains("rolling friction"));
}

/// As in files of Siconos: an asymmetry of a thousandth is averaged, and reported.
#[test]
fn a_small_asymmetry_is_averaged_and_reported() {
    let text = "3 1 0 3 3 3 3 2 0.004 0 0 2 0 0 0 2 -1 0.1 0 0.5";
    let there = exchange(siconos::read(text).unwrap());
    let (name, fraction) = there.asymmetry().unwrap();
    assert!(
        name == "W" && (fraction - 0.002).abs() < 1e-15,
        "{fraction}"
    );
    let ProblemForm::Local(local) = &there.form else {
        panic!("read as a global problem");
    };
    let (problem, _) = local.problem().unwrap();
    let w = problem.w.diagonal(0);
    assert_eq!((w.m12, w.m21), (0.002, 0.002));
    assert!(there.to_stored().is_ok());
}

/// An eigenvalue of −1e-7 of the largest is an error of computation, not another problem.
#[test]
fn a_slightly_indefinite_matrix_is_taken() {
    let text = "3 1 0 3 3 3 3 1 0 1 0 1 0 1 0 0.9999998 -1 0 0.2 0.5";
    let there = exchange(siconos::read(text).unwrap());
    let stored = there.to_stored().unwrap();
    assert!(stored.problem.blocks() >= 1);
    let negative = "3 1 0 3 3 3 3 1 0 1 0 1 0 1 0 0.5 -1 0 0.2 0.5";
    let there = exchange(siconos::read(negative).unwrap());
    assert!(matches!(
        there.to_stored(),
        Err(ExchangeError::NotDefinite("W"))
    ));
}

proptest! {
    #[test]
    fn any_text_is_read_or_refused(
        cut in 0..TEXT.len(),
        changes in prop::collection::vec((0..TEXT.len(), b' '..b'z'), 0..6),
    ) {
        let mut bytes = TEXT.as_bytes()[..cut].to_vec();
        for (at, value) in changes {
            if let Some(byte) = bytes.get_mut(at) {
                *byte = value;
            }
        }
        let text = String::from_utf8(bytes).unwrap();
        if let Ok(form) = siconos::read(&text) {
            let _ = exchange(form).to_stored();
        }
    }
}
