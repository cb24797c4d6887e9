//! Springs: derivatives, the force law of the paper, cloth topology.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod elements_common;

use elements_common::{Random, assert_finite, check_all, projection_gap};
use stiction_bodies::elements::{ElementError, Elements, Hessian};
use stiction_bodies::spring::{SpringConfig, Springs};
use stiction_math::Vec3;

const REST: [Vec3; 2] = [Vec3::new(0.1, 0.2, 0.3), Vec3::new(0.5, -0.1, 0.9)];
const STIFFNESS: f64 = 40.0;

fn spring() -> Springs {
    Springs::new(&REST, &[([0, 1], STIFFNESS)]).unwrap()
}

#[test]
fn derivatives() {
    let mut random = Random::new(41);
    let states: Vec<_> = (0..300)
        .map(|kind| {
            // The energy is a cone at zero length; differences need a length to work on.
            let d = loop {
                let d = random.vector([0.02, 0.3, 0.8, 4.0][kind % 4]);
                if d.norm() > 0.005 {
                    break d;
                }
            };
            let a = random.vector(1.0);
            [a, a + d]
        })
        .chain([REST])
        .collect();
    check_all("spring", &spring(), states.into_iter());
}

#[test]
fn tension_is_stiffness_times_strain() {
    let model = spring();
    let rest = (REST[1] - REST[0]).norm();
    for length in [0.2, 0.7, 1.0, 3.0] {
        let x = [Vec3::zeros(), Vec3::new(0.0, length, 0.0)];
        let g = model.gradient(0, &x);
        let expected = STIFFNESS * (length / rest - 1.0);
        assert!((g[1] - Vec3::new(0.0, expected, 0.0)).norm() < 1e-12 * STIFFNESS);
    }
}

#[test]
fn only_compression_is_projected() {
    let model = spring();
    let rest = (REST[1] - REST[0]).norm();
    assert!(projection_gap(&model, &[Vec3::zeros(), Vec3::x() * (1.1 * rest)]) == 0.0);
    let short = [Vec3::zeros(), Vec3::x() * (0.5 * rest)];
    let h = model.local(0, &short, Hessian::Projected).hessian[0][0];
    assert!((h[(0, 0)] - STIFFNESS / rest).abs() < 1e-12 * STIFFNESS);
    assert!(h[(1, 1)] == 0.0 && h[(2, 2)] == 0.0);
}

#[test]
fn zero_length_is_finite() {
    let model = spring();
    let x = [Vec3::repeat(1.0); 2];
    assert_finite("spring", &model, &x);
    assert_eq!(model.gradient(0, &x), [Vec3::zeros(); 2]);
    assert_finite(
        "spring",
        &model,
        &[Vec3::zeros(), Vec3::new(1e-300, 0.0, 0.0)],
    );
}

#[test]
fn a_square_has_five_edges_and_one_diagonal() {
    let x = [
        Vec3::zeros(),
        Vec3::x(),
        Vec3::new(1.0, 1.0, 0.0),
        Vec3::y(),
    ];
    let cloth = Springs::cloth(&x, &[[0, 1, 2], [0, 2, 3]], SpringConfig::paper()).unwrap();
    assert_eq!(
        cloth.nodes(),
        [[0, 1], [0, 2], [0, 3], [1, 2], [2, 3], [1, 3]]
    );
    // Stretch everything to twice its length: each tension is the stiffness itself.
    let tension = |e: usize| {
        let ends = cloth.nodes()[e].map(|n| x[n as usize] * 2.0);
        cloth.gradient(e, &ends)[1].norm()
    };
    assert!((tension(0) - 414.213_562_373_095).abs() < 1e-9);
    assert!((tension(5) - 82.842_712_474_619).abs() < 1e-9);
}

#[test]
fn bad_input_is_named() {
    let error = Springs::new(&REST, &[([0, 1], 1.0), ([1, 1], 1.0)]).unwrap_err();
    assert!(
        matches!(error, ElementError::Degenerate { element: 1, .. }),
        "{error}"
    );
    assert!(Springs::new(&REST, &[([0, 1], f64::INFINITY)]).is_err());
    assert!(Springs::new(&REST, &[([0, 2], 1.0)]).is_err());
}
