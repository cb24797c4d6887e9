//! Tetrahedra: derivatives, invariances, the linear limit, closed forms, recovery from inversion.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod elements_common;

use elements_common::{Random, assert_finite, check_all, projection_gap, stretches};
use stiction_bodies::elements::{ElementError, Elements, Hessian};
use stiction_bodies::solid::{
    Corotated, FixedCorotated, IsotropicLaw, Lame, NeoHookean, StableNeoHookean, Stvk, Tets,
};
use stiction_math::nalgebra::{DMatrix, SMatrix, SVector};
use stiction_math::{Mat3, Vec3};

const REST: [Vec3; 4] = [
    Vec3::new(0.1, -0.2, 0.3),
    Vec3::new(1.2, 0.1, 0.2),
    Vec3::new(0.2, 0.9, 0.4),
    Vec3::new(0.4, 0.2, 1.1),
];

fn lame() -> Lame {
    Lame::new(2.0e4, 0.35).unwrap()
}

fn tet<L: IsotropicLaw>(law: L) -> Tets<L> {
    Tets::new(law, &REST, &[[0, 1, 2, 3]], None).unwrap()
}

fn deform(f: &Mat3) -> [Vec3; 4] {
    REST.map(|p| f * p)
}

/// Checks a law; if it is not smooth at σ₁ + σ₂ = 0, states keep that sum above `margin`.
fn check_law<L: IsotropicLaw>(name: &str, law: L, margin: f64) {
    let mut random = Random::new(7);
    let mut kind = 0;
    let states = std::iter::from_fn(|| {
        loop {
            kind += 1;
            if kind > 480 {
                return None;
            }
            let f = random.deformation(kind);
            let s = stretches(&f);
            if s[1] + s[2] >= margin {
                return Some(deform(&f));
            }
        }
    });
    check_all(name, &tet(law), states);
}

#[test]
fn stvk_derivatives() {
    check_law("StVK", Stvk { lame: lame() }, -1.0);
}

#[test]
fn corotated_derivatives() {
    // Finite differences need a margin around the ridge at σ₁ + σ₂ = 0.
    check_law("co-rotated", Corotated { lame: lame() }, 0.15);
}

#[test]
fn fixed_corotated_derivatives() {
    check_law("fixed co-rotated", FixedCorotated { lame: lame() }, 0.15);
}

#[test]
fn neo_hookean_derivatives() {
    check_law("neo-Hookean", NeoHookean { lame: lame() }, -1.0);
}

#[test]
fn stable_neo_hookean_derivatives() {
    check_law("stable neo-Hookean", StableNeoHookean::new(lame()), -1.0);
}

/// Vᵉ BᵀDB of the constant-strain tetrahedron, written out in Voigt form.
fn linear_stiffness(lame: Lame) -> SMatrix<f64, 12, 12> {
    // Gradients from the inverse of [1 x y z], independent of the code under test.
    let m = DMatrix::from_fn(4, 4, |r, c| if c == 0 { 1.0 } else { REST[r][c - 1] });
    let volume = m.determinant() / 6.0;
    let inverse = m.try_inverse().unwrap();
    let mut b = SMatrix::<f64, 6, 12>::zeros();
    for a in 0..4 {
        let (x, y, z) = (inverse[(1, a)], inverse[(2, a)], inverse[(3, a)]);
        let c = 3 * a;
        b[(0, c)] = x;
        b[(1, c + 1)] = y;
        b[(2, c + 2)] = z;
        b[(3, c)] = y;
        b[(3, c + 1)] = x;
        b[(4, c + 1)] = z;
        b[(4, c + 2)] = y;
        b[(5, c)] = z;
        b[(5, c + 2)] = x;
    }
    let mut d = SMatrix::<f64, 6, 6>::zeros();
    for i in 0..3 {
        for j in 0..3 {
            d[(i, j)] = lame.lambda;
        }
        d[(i, i)] += 2.0 * lame.mu;
        d[(i + 3, i + 3)] = lame.mu;
    }
    b.transpose() * d * b * volume
}

fn rest_matches_linear<L: IsotropicLaw>(name: &str, law: L) {
    let model = tet(law);
    let expected = linear_stiffness(lame());
    for kind in [Hessian::Full, Hessian::Projected] {
        let local = model.local(0, &REST, kind);
        let mut worst: f64 = 0.0;
        for r in 0..12 {
            for c in 0..12 {
                let got = local.hessian[r / 3][c / 3][(r % 3, c % 3)];
                worst = worst.max((got - expected[(r, c)]).abs());
            }
        }
        let error = worst / expected.amax();
        assert!(error < 1e-10, "{name} {kind:?}: {error:e}");
        assert!(
            local.energy.abs() < 1e-10 * lame().mu,
            "{name}: rest energy {}",
            local.energy
        );
        assert!(
            local.gradient.iter().all(|g| g.norm() < 1e-9 * lame().mu),
            "{name}: rest force"
        );
    }
}

#[test]
fn every_law_is_linear_elasticity_at_rest() {
    rest_matches_linear("StVK", Stvk { lame: lame() });
    rest_matches_linear("co-rotated", Corotated { lame: lame() });
    rest_matches_linear("fixed co-rotated", FixedCorotated { lame: lame() });
    rest_matches_linear("neo-Hookean", NeoHookean { lame: lame() });
    rest_matches_linear("stable neo-Hookean", StableNeoHookean::new(lame()));
}

/// Sideways stretch at which a bar pulled to `axial` is free of lateral stress, by bisection.
fn free_lateral<L: IsotropicLaw>(law: &L, axial: f64) -> f64 {
    let (mut low, mut high) = (0.2, 3.0);
    for _ in 0..200 {
        let mid = 0.5 * (low + high);
        if law.gradient(&Vec3::new(axial, mid, mid))[1] < 0.0 {
            low = mid;
        } else {
            high = mid;
        }
    }
    0.5 * (low + high)
}

#[test]
fn uniaxial_tension_matches_closed_forms() {
    let Lame { mu, lambda } = lame();
    let poisson = 0.5 * lambda / (lambda + mu);
    let young = mu * (3.0 * lambda + 2.0 * mu) / (lambda + mu);
    for axial in [0.8, 0.95, 1.05, 1.3, 1.8] {
        // Co-rotated: linear elasticity in σ − 1.
        let law = Corotated { lame: lame() };
        let side = free_lateral(&law, axial);
        assert!((side - (1.0 - poisson * (axial - 1.0))).abs() < 1e-9);
        let stress = law.gradient(&Vec3::new(axial, side, side))[0];
        assert!((stress - young * (axial - 1.0)).abs() < 1e-9 * young);

        // StVK: linear elasticity in the Green strain, first Piola stress σ·S.
        let law = Stvk { lame: lame() };
        let e = 0.5 * (axial * axial - 1.0);
        let side = free_lateral(&law, axial);
        assert!((side * side - (1.0 - 2.0 * poisson * e)).abs() < 1e-9);
        let stress = law.gradient(&Vec3::new(axial, side, side))[0];
        assert!((stress - axial * young * e).abs() < 1e-9 * young);

        // Neo-Hookean: with zero lateral stress μ s² = μ − λ ln J, so the axial stress is
        // μ (σ − s²/σ).
        let law = NeoHookean { lame: lame() };
        let side = free_lateral(&law, axial);
        let j = axial * side * side;
        assert!(j > 0.7, "inside the range that is not extrapolated");
        assert!((mu * side * side - (mu - lambda * j.ln())).abs() < 1e-9 * young);
        let stress = law.gradient(&Vec3::new(axial, side, side))[0];
        assert!((stress - mu * (axial - side * side / axial)).abs() < 1e-9 * young);
    }
}

#[test]
fn weight_scales_everything() {
    let full = tet(NeoHookean { lame: lame() });
    let part = Tets::new(
        NeoHookean { lame: lame() },
        &REST,
        &[[0, 1, 2, 3]],
        Some(&[0.25]),
    )
    .unwrap();
    let x = deform(&Random::new(3).deformation(2));
    assert!((part.energy(0, &x) - 0.25 * full.energy(0, &x)).abs() < 1e-12 * full.energy(0, &x));
    let (a, b) = (
        full.local(0, &x, Hessian::Full),
        part.local(0, &x, Hessian::Full),
    );
    assert!((a.hessian[1][2] * 0.25 - b.hessian[1][2]).amax() < 1e-12 * a.hessian[1][2].amax());
}

#[test]
fn projection_leaves_positive_hessians_alone() {
    // Stretched in every direction all stresses are tensile, and the exact Hessian is positive.
    let mut random = Random::new(11);
    let law = tet(NeoHookean { lame: lame() });
    for _ in 0..50 {
        let sigma = Vec3::repeat(1.05) + random.vector(0.04);
        let x = deform(&random.with_stretches(sigma));
        assert!(projection_gap(&law, &x) < 1e-13);
    }
}

/// Relaxes one element by projected Newton steps with backtracking; returns the final energy
/// relative to the start.
fn relax<L: IsotropicLaw>(model: &Tets<L>, start: [Vec3; 4]) -> f64 {
    let mut x = start;
    let first = model.energy(0, &x);
    for _ in 0..200 {
        let local = model.local(0, &x, Hessian::Projected);
        let mut h =
            SMatrix::<f64, 12, 12>::from_fn(|r, c| local.hessian[r / 3][c / 3][(r % 3, c % 3)]);
        h += SMatrix::identity() * (1e-3 * lame().mu);
        let g = SVector::<f64, 12>::from_fn(|r, _| local.gradient[r / 3][r % 3]);
        let step = h.cholesky().unwrap().solve(&g);
        let mut t = 1.0;
        loop {
            let trial: [Vec3; 4] = std::array::from_fn(|a| x[a] - step.fixed_rows::<3>(3 * a) * t);
            if model.energy(0, &trial) <= local.energy - 1e-4 * t * g.dot(&step) || t < 1e-10 {
                x = trial;
                break;
            }
            t *= 0.5;
        }
    }
    model.energy(0, &x) / first
}

fn recovers<L: IsotropicLaw>(name: &str, law: L) {
    let model = tet(law);
    let mut random = Random::new(23);
    for trial in 0..60 {
        // Inverted, flat and crushed elements, slightly uneven so as not to sit on a balance.
        let f = match trial % 3 {
            0 => random.deformation(5),
            1 => random.deformation(6),
            _ => random.deformation(2) * 0.05,
        };
        let start = deform(&f).map(|p| p + random.vector(1e-3));
        let left = relax(&model, start);
        assert!(
            left < 1e-8,
            "{name}: trial {trial} keeps {left:e} of its energy"
        );
    }
}

#[test]
fn inverted_elements_return_to_rest() {
    recovers("co-rotated", Corotated { lame: lame() });
    recovers("fixed co-rotated", FixedCorotated { lame: lame() });
    recovers("neo-Hookean", NeoHookean { lame: lame() });
    recovers("stable neo-Hookean", StableNeoHookean::new(lame()));
}

fn survives<L: IsotropicLaw>(name: &str, law: L) {
    let model = tet(law);
    let point = [Vec3::zeros(); 4];
    let line = [0.0, 1.0, 2.0, 0.5].map(|t| Vec3::new(t, 2.0 * t, -t));
    let flat = REST.map(|p| Vec3::new(p.x, p.y, 0.0));
    let mirrored = REST.map(|p| Vec3::new(p.x, p.y, -p.z));
    let turned = REST.map(|p| -p);
    let huge = REST.map(|p| p * 1e6);
    for x in [point, line, flat, mirrored, turned, huge] {
        assert_finite(name, &model, &x);
    }
}

#[test]
fn collapsed_elements_stay_finite() {
    survives("StVK", Stvk { lame: lame() });
    survives("co-rotated", Corotated { lame: lame() });
    survives("fixed co-rotated", FixedCorotated { lame: lame() });
    survives("neo-Hookean", NeoHookean { lame: lame() });
    survives("stable neo-Hookean", StableNeoHookean::new(lame()));
}

#[test]
fn bad_input_is_named() {
    let law = Stvk { lame: lame() };
    let error = Tets::new(law, &REST, &[[0, 1, 2, 3], [0, 2, 1, 3]], None).unwrap_err();
    assert!(
        matches!(error, ElementError::Degenerate { element: 1, .. }),
        "{error}"
    );
    let error = Tets::new(law, &REST, &[[0, 1, 2, 9]], None).unwrap_err();
    assert!(
        matches!(error, ElementError::NodeOutOfRange { node: 9, .. }),
        "{error}"
    );
    let error = Tets::new(law, &REST, &[[0, 1, 2, 3]], Some(&[0.0])).unwrap_err();
    assert!(
        matches!(error, ElementError::Parameter { name: "weight", .. }),
        "{error}"
    );
    let mut positions = REST;
    positions[2].y = f64::NAN;
    let error = Tets::new(law, &positions, &[[0, 1, 2, 3]], None).unwrap_err();
    assert!(
        matches!(error, ElementError::NonFinite { node: 2 }),
        "{error}"
    );
    assert!(Lame::new(1e5, 0.5).is_err());
    assert!(Lame::new(-1.0, 0.3).is_err());
    assert!(Lame::new(f64::NAN, 0.3).is_err());
}
