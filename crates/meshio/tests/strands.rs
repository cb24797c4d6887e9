//! Strand files: what is written is read back, and what is broken is refused by name and place.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use proptest::prelude::*;
use stiction_geometry::{
    Strands,
    shapes::{Groom, Scalp},
};
use stiction_math::Vec3;
use stiction_meshio::{
    MeshFileError, MeshFileProblem, MeshLimits,
    strands::{StrandFormat, load, read, save, write},
};

const FORMS: [StrandFormat; 3] = [
    StrandFormat::Text,
    StrandFormat::Double,
    StrandFormat::Single,
];

fn strands() -> impl Strategy<Value = Strands> {
    let point = prop::array::uniform3(prop_oneof![-1.0..1.0f64, any::<f32>().prop_map(f64::from)]);
    let strand = prop::collection::vec(point, 2..6);
    prop::collection::vec(strand, 0..6).prop_map(|list| {
        let mut strands = Strands::default();
        for strand in list {
            let mut points: Vec<Vec3> = strand.into_iter().map(Vec3::from).collect();
            points.dedup();
            let good = points.iter().all(|p| p.iter().all(|x| x.is_finite()));
            if points.len() >= 2 && good {
                strands.push(&points);
            }
        }
        strands
    })
}

fn refusal(bytes: &[u8]) -> MeshFileError {
    read(bytes, &MeshLimits::default()).expect_err("refused")
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn what_is_written_is_read_back(strands in strands()) {
        for form in [StrandFormat::Text, StrandFormat::Double] {
            prop_assert_eq!(&read(&write(&strands, form), &MeshLimits::default()).unwrap(), &strands);
        }
    }

    #[test]
    fn whatever_is_cut_off_is_refused(strands in strands(), part in 0.0..1.0f64) {
        for form in [StrandFormat::Text, StrandFormat::Double] {
            let bytes = write(&strands, form);
            // The line break behind `end` says nothing.
            let whole = if form == StrandFormat::Text { bytes.len() - 1 } else { bytes.len() };
            let cut = (whole as f64 * part) as usize;
            let error = refusal(&bytes[..cut]);
            prop_assert!(!error.to_string().is_empty() && !error.remedy().is_empty());
        }
    }

    #[test]
    fn a_changed_bit_of_the_binary_form_is_noticed(strands in strands(), at in any::<usize>(), bit in 0..8) {
        let mut bytes = write(&strands, StrandFormat::Double);
        let at = at % bytes.len();
        bytes[at] ^= 1u8 << bit;
        refusal(&bytes);
    }

    #[test]
    fn any_bytes_are_answered(bytes in prop::collection::vec(any::<u8>(), 0..200), head in 0..4usize) {
        let heads: [&[u8]; 4] = [
            b"",
            b"strands 1\nstrand ",
            b"STRANDS\0\x01\0\0\0\x08\0\0\0",
            b"strands 1 strand 2 0 0 0 1 0 ",
        ];
        let bytes = [heads[head], &bytes[..]].concat();
        if let Ok(strands) = read(&bytes, &MeshLimits::default()) {
            prop_assert!(strands.points.iter().all(|p| p.iter().all(|x| x.is_finite())));
            prop_assert!((0..strands.len()).all(|s| strands.strand(s).len() >= 2));
        }
    }

    /// Text made of the right words in any order.
    #[test]
    fn any_words_are_answered(words in prop::collection::vec(
        prop::sample::select(vec!["strands", "strand", "end", "1", "2", "0.5", "nan", "1e999", "-3", "#", "\n", "99999999999"]), 0..40)) {
        let text = format!("strands 1\n{}", words.join(" "));
        if let Err(error) = read(text.as_bytes(), &MeshLimits::default()) {
            prop_assert!(!error.to_string().is_empty());
        }
    }
}

#[test]
fn single_precision_keeps_seven_digits_and_half_the_bytes() {
    let groom = Groom::straight(Scalp::Sphere { radius: 0.1 }, 500, 0.06, 30);
    let strands = groom.build().unwrap();
    let single = write(&strands, StrandFormat::Single);
    assert!(single.len() < write(&strands, StrandFormat::Double).len() * 51 / 100);
    let back = read(&single, &MeshLimits::default()).unwrap();
    assert_eq!(back.starts, strands.starts);
    for (a, b) in back.points.iter().zip(&strands.points) {
        assert!((a - b).norm() < 1e-7 * 0.2);
    }
}

#[test]
fn a_groom_is_saved_and_loaded() {
    let folder = tempfile::tempdir().unwrap();
    let strands = Groom::straight(Scalp::HalfSphere { radius: 0.1 }, 50, 0.06, 5)
        .build()
        .unwrap();
    for form in FORMS {
        let path = folder.path().join("hair.strands");
        save(&path, &strands, form).unwrap();
        let back = load(&path, &MeshLimits::default()).unwrap();
        assert_eq!(back.len(), 50);
        if form != StrandFormat::Single {
            assert_eq!(back, strands);
        }
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
    }
    let missing = folder.path().join("no/such/hair.strands");
    let error = save(&missing, &strands, StrandFormat::Text).unwrap_err();
    assert!(
        matches!(error.problem(), MeshFileProblem::Unwritable { .. }),
        "{error}"
    );
    let error = load(&missing, &MeshLimits::default()).unwrap_err();
    assert!(
        error.to_string().contains("no/such/hair.strands"),
        "{error}"
    );
}

#[test]
fn defects_are_named_with_line_and_strand() {
    let cases: [(&str, u64, &str); 10] = [
        ("strand 1\n", 1, "expected strands"),
        ("strands 2\nend", 1, "version 1"),
        (
            "strands 1\nstrand 2\n0 0 0\n0 0 1\n",
            4,
            "ends where `strand` or `end`",
        ),
        (
            "strands 1\nstrand 2\n0 0 0\n0 x 1\nend",
            4,
            "strand 1: expected a coordinate, found `x`",
        ),
        (
            "strands 1\nstrand 2\n0 0 0\n0 nan 1\nend",
            4,
            "strand 1: coordinate y is NaN",
        ),
        (
            "strands 1\nstrand 1\n0 0 0\nend",
            2,
            "strand 1: a strand of 1 points",
        ),
        (
            "strands 1\nstrand 3\n0 0 0\n0 0 1\nend    # padding",
            5,
            "found `end`",
        ),
        (
            "strands 1\nstrand 2\n0 0 0\n0 0 0\nend",
            4,
            "strand 1: points 1 and 2 are in one place",
        ),
        (
            "strands 1\nstrand 2\n0 0 0\n0 0 1\nend\nmore",
            6,
            "nothing behind `end`",
        ),
        (
            "strands 1\nstrand 9000000000\n0 0 0\nend",
            2,
            "9000000000 points exceed the limit",
        ),
    ];
    for (text, line, message) in cases {
        let error = refusal(text.as_bytes());
        assert_eq!(error.line(), Some(line), "{text:?}: {error}");
        assert!(error.to_string().contains(message), "{text:?}: {error}");
    }
    assert!(matches!(refusal(b"").problem(), MeshFileProblem::Empty));
}

#[test]
fn declared_counts_are_not_trusted() {
    let mut strands = Strands::default();
    strands.push(&[Vec3::zeros(), Vec3::x()]);
    let good = write(&strands, StrandFormat::Double);
    for at in [16, 24] {
        let mut bytes = good.clone();
        bytes[at..at + 8].copy_from_slice(&9_000_000u64.to_le_bytes());
        assert!(matches!(
            refusal(&bytes).problem(),
            MeshFileProblem::Short { .. }
        ));
        bytes[at..at + 8].copy_from_slice(&u64::MAX.to_le_bytes());
        refusal(&bytes);
    }
    let few = MeshLimits {
        max_nodes: 1,
        ..MeshLimits::default()
    };
    for form in FORMS {
        let error = read(&write(&strands, form), &few).unwrap_err();
        assert!(
            matches!(error.problem(), MeshFileProblem::TooMany { .. }),
            "{error}"
        );
    }
}
