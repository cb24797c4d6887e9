//! Membranes: derivatives, invariances, the linear limit, closed forms, degenerate triangles.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod elements_common;

use elements_common::{Random, assert_finite, check_all, projection_gap};
use stiction_bodies::elements::{ElementError, Elements, Hessian};
use stiction_bodies::membrane::{
    DEFAULT_WARP, NeoHookeanMembrane, RestTriangles, StretchModuli, StretchTable, StvkMembrane,
    TabulatedMembrane,
};
use stiction_math::nalgebra::{Matrix3, SMatrix};
use stiction_math::{Vec2, Vec3};

const YOUNG: f64 = 3.0e5;
const POISSON: f64 = 0.3;
const THICKNESS: f64 = 1.5e-3;

/// A triangle in a tilted plane.
const REST: [Vec3; 3] = [
    Vec3::new(0.1, 0.0, 0.2),
    Vec3::new(1.1, 0.2, 0.5),
    Vec3::new(0.3, 0.9, -0.1),
];

/// A triangle in the plane z = 0, where warp is x and weft is y.
const FLAT: [Vec3; 3] = [
    Vec3::new(0.1, 0.0, 0.0),
    Vec3::new(1.1, 0.2, 0.0),
    Vec3::new(0.3, 0.9, 0.0),
];

fn rest(x: &[Vec3; 3]) -> RestTriangles {
    RestTriangles::new(x, &[[0, 1, 2]], DEFAULT_WARP).unwrap()
}

fn cloth() -> StretchModuli {
    StretchModuli::measured(900.0, 150.0, 500.0, 120.0).unwrap()
}

fn isotropic() -> StretchModuli {
    StretchModuli::isotropic(YOUNG, POISSON, THICKNESS).unwrap()
}

fn stvk(x: &[Vec3; 3], moduli: StretchModuli) -> StvkMembrane {
    StvkMembrane::new(rest(x), moduli)
}

fn neo_hookean(x: &[Vec3; 3]) -> NeoHookeanMembrane {
    NeoHookeanMembrane::new(rest(x), YOUNG, POISSON, THICKNESS).unwrap()
}

fn states() -> impl Iterator<Item = [Vec3; 3]> {
    let mut random = Random::new(5);
    (0..400).map(move |kind| {
        let f = random.deformation(kind);
        REST.map(|p| f * p)
    })
}

/// Triangles squeezed nearly to a line and to a point.
fn thin_states() -> impl Iterator<Item = [Vec3; 3]> {
    let mut random = Random::new(6);
    (0..240).map(move |kind| {
        let width = [1e-8, 1e-4, 1e-2, 0.3][kind % 4];
        let turn = random.rotation();
        let size = if kind % 3 == 0 { 0.2 } else { 1.0 };
        REST.map(|p| turn * (Vec3::new(p.x, 0.0, 0.0) + random.vector(width)) * size)
    })
}

#[test]
fn stvk_derivatives() {
    check_all("StVK", &stvk(&REST, cloth()), states());
    check_all("thin StVK", &stvk(&REST, cloth()), thin_states());
}

#[test]
fn neo_hookean_derivatives() {
    check_all("neo-Hookean", &neo_hookean(&REST), states());
    check_all("thin neo-Hookean", &neo_hookean(&REST), thin_states());
}

/// A·BᵀCB of the constant-strain triangle in the plane z = 0, in 9 dofs.
fn linear_stiffness(c: StretchModuli) -> SMatrix<f64, 9, 9> {
    // Gradients from the inverse of [1 x y], independent of the code under test.
    let m = Matrix3::from_fn(|r, col| if col == 0 { 1.0 } else { FLAT[r][col - 1] });
    let area = 0.5 * m.determinant();
    let inverse = m.try_inverse().unwrap();
    let mut b = SMatrix::<f64, 3, 9>::zeros();
    for a in 0..3 {
        b[(0, 3 * a)] = inverse[(1, a)];
        b[(1, 3 * a + 1)] = inverse[(2, a)];
        b[(2, 3 * a)] = inverse[(2, a)];
        b[(2, 3 * a + 1)] = inverse[(1, a)];
    }
    let d = Matrix3::new(c.c11, c.c12, 0.0, c.c12, c.c22, 0.0, 0.0, 0.0, c.c33);
    b.transpose() * d * b * area
}

fn rest_matches_linear<E: Elements<3>>(name: &str, model: &E, moduli: StretchModuli) {
    let expected = linear_stiffness(moduli);
    for kind in [Hessian::Full, Hessian::Projected] {
        let local = model.local(0, &FLAT, kind);
        let mut worst: f64 = 0.0;
        for r in 0..9 {
            for c in 0..9 {
                let got = local.hessian[r / 3][c / 3][(r % 3, c % 3)];
                worst = worst.max((got - expected[(r, c)]).abs());
            }
        }
        let error = worst / expected.amax();
        assert!(error < 1e-10, "{name} {kind:?}: {error:e}");
    }
}

#[test]
fn every_law_is_linear_plane_stress_at_rest() {
    rest_matches_linear("orthotropic StVK", &stvk(&FLAT, cloth()), cloth());
    rest_matches_linear("isotropic StVK", &stvk(&FLAT, isotropic()), isotropic());
    rest_matches_linear("neo-Hookean", &neo_hookean(&FLAT), isotropic());
}

/// Node gradients of a triangle under the first Piola stress diag(p, 0) along warp, by the shape
/// gradient of the triangle written out.
fn uniaxial_gradient(p: f64) -> [Vec3; 3] {
    let [a, b, c] = FLAT;
    // A ∂N/∂x is half the difference in y of the opposite edge.
    [
        0.5 * p * (b.y - c.y),
        0.5 * p * (c.y - a.y),
        0.5 * p * (a.y - b.y),
    ]
    .map(|v| Vec3::new(v, 0.0, 0.0))
}

#[test]
fn uniaxial_tension_matches_closed_forms() {
    let c = cloth();
    for warp in [0.85f64, 1.1, 1.5] {
        let close = |name: &str, got: [Vec3; 3], p: f64| {
            for (g, expected) in got.iter().zip(uniaxial_gradient(p)) {
                assert!(
                    (g - expected).norm() < 1e-10 * p.abs(),
                    "{name} at {warp}: {g:?}"
                );
            }
        };
        let pull = |weft: f64| FLAT.map(|x| Vec3::new(warp * x.x, weft * x.y, 0.0));

        // StVK: S₂₂ = 0 gives E₂₂ = −(c₁₂/c₂₂) E₁₁ and S₁₁ = (c₁₁ − c₁₂²/c₂₂) E₁₁.
        let e11 = 0.5 * (warp * warp - 1.0);
        let weft = (1.0 - 2.0 * c.c12 / c.c22 * e11).sqrt();
        let p = warp * (c.c11 - c.c12 * c.c12 / c.c22) * e11;
        close("StVK", stvk(&FLAT, c).gradient(0, &pull(weft)), p);

        // Neo-Hookean: zero stress across gives σ₂² = (μ + λ̂/2)/(μ + λ̂σ₁²/2) and the stress
        // μ (σ₁ − σ₂²/σ₁).
        let mu = 0.5 * YOUNG * THICKNESS / (1.0 + POISSON);
        let lambda = YOUNG * THICKNESS * POISSON / (1.0 - POISSON * POISSON);
        let square = (mu + 0.5 * lambda) / (mu + 0.5 * lambda * warp * warp);
        let p = mu * (warp - square / warp);
        close(
            "neo-Hookean",
            neo_hookean(&FLAT).gradient(0, &pull(square.sqrt())),
            p,
        );
    }
}

#[test]
fn turning_the_warp_exchanges_warp_and_weft() {
    let c = cloth();
    let swapped = StretchModuli::measured(c.c22, c.c12, c.c11, c.c33).unwrap();
    let turned = StvkMembrane::new(
        RestTriangles::new(&FLAT, &[[0, 1, 2]], Vec3::y()).unwrap(),
        swapped,
    );
    for x in states() {
        let (a, b) = (stvk(&FLAT, c).energy(0, &x), turned.energy(0, &x));
        assert!((a - b).abs() <= 1e-11 * a.abs().max(1.0), "{a} {b}");
    }
}

#[test]
fn pattern_and_rest_pose_agree() {
    let flat = [FLAT.map(|p| Vec2::new(p.x, p.y))];
    let pattern = RestTriangles::from_pattern(&flat, &[[0, 1, 2]]).unwrap();
    let a = StvkMembrane::new(pattern, cloth());
    let b = stvk(&FLAT, cloth());
    for x in states().take(20) {
        assert!((a.energy(0, &x) - b.energy(0, &x)).abs() < 1e-11 * b.energy(0, &x).max(1.0));
    }
}

#[test]
fn projection_leaves_tension_alone() {
    let mut random = Random::new(12);
    for _ in 0..50 {
        // Equal-ish stretch in all directions: both principal stresses are tensile.
        let sigma = Vec3::repeat(1.2) + random.vector(0.05);
        let f = random.with_stretches(sigma);
        let x = REST.map(|p| f * p);
        assert!(projection_gap(&stvk(&REST, cloth()), &x) < 1e-13);
        assert!(projection_gap(&neo_hookean(&REST), &x) < 1e-13);
    }
}

#[test]
fn compressed_triangles_push_back() {
    // Shrunk by s in both directions, the neo-Hookean triangle's energy falls as it grows again.
    let model = neo_hookean(&REST);
    let mut previous = f64::INFINITY;
    for i in 1..100 {
        let x = REST.map(|p| p * (f64::from(i) / 100.0));
        let energy = model.energy(0, &x);
        assert!(energy < previous, "at scale {i} %");
        previous = energy;
    }
}

#[test]
fn degenerate_triangles_stay_finite() {
    let point = [Vec3::repeat(0.3); 3];
    let line = [0.0, 1.0, 2.5].map(|t| Vec3::new(t, -t, 0.5 * t));
    let twin = [REST[0], REST[0], REST[2]];
    let huge = REST.map(|p| p * 1e6);
    let needle = [
        Vec3::zeros(),
        Vec3::new(1e6, 0.0, 0.0),
        Vec3::new(5e5, 1e-6, 0.0),
    ];
    for x in [point, line, twin, huge, needle] {
        assert_finite("StVK", &stvk(&REST, cloth()), &x);
        assert_finite("neo-Hookean", &neo_hookean(&REST), &x);
    }
}

#[test]
fn bad_input_is_named() {
    let line = [Vec3::zeros(), Vec3::x(), Vec3::x() * 2.0];
    let error = RestTriangles::new(&line, &[[0, 1, 2]], DEFAULT_WARP).unwrap_err();
    assert!(
        matches!(error, ElementError::Degenerate { element: 0, .. }),
        "{error}"
    );
    let error = RestTriangles::new(&REST, &[[0, 1, 2], [0, 1, 1]], DEFAULT_WARP).unwrap_err();
    assert!(
        matches!(error, ElementError::Degenerate { element: 1, .. }),
        "{error}"
    );
    let error = RestTriangles::new(&REST, &[[0, 1, 3]], DEFAULT_WARP).unwrap_err();
    assert!(
        matches!(error, ElementError::NodeOutOfRange { node: 3, .. }),
        "{error}"
    );
    assert!(StretchModuli::measured(1.0, 2.0, 1.0, 1.0).is_err());
    assert!(StretchModuli::measured(1.0, f64::NAN, 1.0, 1.0).is_err());
    assert!(StretchModuli::isotropic(1e5, 1.0, 1e-3).is_err());
    assert!(NeoHookeanMembrane::new(rest(&REST), 1e5, 0.3, 0.0).is_err());
}

#[test]
fn a_triangle_that_faces_the_warp_axis_has_a_frame() {
    let facing = [Vec3::zeros(), Vec3::y(), Vec3::z()];
    let model = stvk(&facing, cloth());
    assert!(model.energy(0, &facing) < 1e-20);
    assert!(model.energy(0, &facing.map(|p| p * 1.1)) > 0.0);
}

/// Two published fabrics [wang2011]: gray-interlock, with negative entries, and 11oz-black-denim.
const INTERLOCK: StretchTable = [
    [16.593832, -14.695990, 34.477123, 36.860302],
    [46.364765, 53.694656, 261.013855, -29.691301],
    [49.285110, 87.596100, 206.373993, 22.768457],
    [123.989220, 105.181770, 365.966217, 44.217571],
    [139.686325, 73.592560, 413.553162, -174.43853],
    [127.443810, 85.848587, 405.872833, 32.238411],
];
const DENIM: StretchTable = [
    [205.352005, 10.234077, 1013.88629, 53.387184],
    [232.027634, 40.646339, 1052.84289, 64.980499],
    [224.592209, 40.384563, 1054.43444, 67.184807],
    [225.951050, 62.095657, 1059.59741, 83.992020],
    [226.039566, 40.502792, 1058.27771, 75.118423],
    [225.767487, 40.917892, 1051.55712, 71.810631],
];

fn fabric(x: &[Vec3; 3], table: &StretchTable) -> TabulatedMembrane {
    TabulatedMembrane::new(rest(x), table).unwrap()
}

#[test]
fn tabulated_derivatives() {
    for (name, table) in [("interlock", INTERLOCK), ("denim", DENIM)] {
        check_all(name, &fabric(&REST, &table), states());
        check_all(name, &fabric(&REST, &table), thin_states());
    }
}

#[test]
fn a_fabric_has_twice_its_published_moduli_at_rest() {
    // Shear is measured against the tensor strain, which is half of the engineering strain.
    let moduli = |c12: f64, [c11, _, c22, c33]: [f64; 4]| {
        StretchModuli::measured(2.0 * c11, 2.0 * c12, 2.0 * c22, c33).unwrap()
    };
    let (i, d) = (INTERLOCK[0], DENIM[0]);
    rest_matches_linear("interlock", &fabric(&FLAT, &INTERLOCK), moduli(0.0, i));
    rest_matches_linear("denim", &fabric(&FLAT, &DENIM), moduli(d[1], d));
}

/// The moduli that the table has for the strain E at these direction `k` · 22.5° and stretch, negative
/// ones set to zero: linear in the stretch from the first row at 1 to row 1 + `k` at 1 + 1/6.
fn interpolated(table: &StretchTable, k: usize, stretch: f64) -> [f64; 4] {
    let t = ((stretch - 1.0) * 6.0).clamp(0.0, 1.0);
    let clamped = |c: f64| c.max(0.0);
    std::array::from_fn(|i| clamped(table[0][i]) * (1.0 - t) + clamped(table[k + 1][i]) * t)
}

/// Under strain along one of the measured directions, the work is that of the published stress.
#[test]
fn a_fabric_stores_the_work_of_the_measured_stress() {
    for table in [INTERLOCK, DENIM] {
        let model = fabric(&FLAT, &table);
        let area = rest(&FLAT).areas()[0];
        for k in 0..5 {
            let phi = k as f64 * std::f64::consts::PI / 8.0;
            let n = Vec2::new(phi.cos(), phi.sin());
            // Beyond 0.18 the moduli are constant.
            for last in [0.05, 0.12, 0.3] {
                // E = t n nᵀ, with the stress C(t) : E; composite midpoint rule.
                let steps = 2000;
                let (mut work, h) = (0.0, last / f64::from(steps));
                for i in 0..steps {
                    let t = h * (f64::from(i) + 0.5);
                    let [c11, c12, c22, c33] = interpolated(&table, k, (1.0 + 2.0 * t).sqrt());
                    let (e11, e22, e12) = (t * n.x * n.x, t * n.y * n.y, t * n.x * n.y);
                    let s = [
                        2.0 * (c11 * e11 + c12 * e22),
                        2.0 * (c12 * e11 + c22 * e22),
                        2.0 * c33 * e12,
                    ];
                    let power = s[0] * n.x * n.x + s[1] * n.y * n.y + 2.0 * s[2] * n.x * n.y;
                    work += power * h;
                }
                let stretch = (1.0 + 2.0 * last).sqrt() - 1.0;
                let along = Vec3::new(n.x, n.y, 0.0);
                let x = FLAT.map(|x| x + along * (stretch * along.dot(&x)));
                let stored = model.energy(0, &x) / area;
                // Kinks are rounded over ε = 0.002: λ by the fraction 2 ε²/λ² and cos 2φ by 2 ε²/λ², each
                // 0.32 % at λ = 0.05.
                assert!(
                    (stored - work).abs() < 0.01 * work,
                    "{k} {last}: {stored} {work}"
                );
            }
        }
    }
}

/// Negative definite combinations of published rows must not make a material that yields energy.
#[test]
fn the_energy_of_a_fabric_is_never_negative() {
    // Rows of navy-sparkle-sweat: c₁₂² > c₁₁ c₂₂ in the third one.
    let sweat = [
        [12.486332, -19.875324, 3.272434, 17.616289],
        [32.172089, 56.012760, 283.466370, -2.438436],
        [48.565407, 94.126335, 180.101227, 4.439080],
        [77.093796, 2.958664, 91.251160, 6.107700],
        [126.205986, 84.471718, 305.131531, 38.495132],
        [92.343170, 117.527084, 243.264908, 47.338436],
    ];
    let model = fabric(&REST, &sweat);
    for x in states() {
        assert!(model.energy(0, &x) >= 0.0);
    }
    let mut bad = sweat;
    bad[0][0] = -1.0;
    assert!(TabulatedMembrane::new(rest(&REST), &bad).is_err());
}
