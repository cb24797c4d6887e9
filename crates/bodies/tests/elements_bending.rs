//! Hinges: derivatives, plates bent to cylinders, directions, collapsed triangles.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod elements_common;

use elements_common::{Random, assert_finite, check_all};
use std::f64::consts::PI;
use stiction_bodies::bending::{BendingRigidity, BendingTable, Hinges};
use stiction_bodies::check::check_element;
use stiction_bodies::elements::{ElementError, Elements};
use stiction_bodies::membrane::DEFAULT_WARP;
use stiction_math::Vec3;

/// Two triangles over the edge 0–1, folded by 0.4 or so at rest.
const REST: [Vec3; 4] = [
    Vec3::new(0.0, 0.0, 0.0),
    Vec3::new(1.0, 0.1, 0.0),
    Vec3::new(0.4, 0.8, 0.2),
    Vec3::new(0.6, -0.9, 0.1),
];
const PAIR: [[u32; 3]; 2] = [[0, 1, 2], [1, 0, 3]];

fn hinge() -> Hinges {
    Hinges::new(
        &REST,
        &PAIR,
        BendingRigidity::isotropic(0.02).unwrap(),
        DEFAULT_WARP,
    )
    .unwrap()
}

/// A hinge with edge `e`, feet `s`, altitudes `h` and fold `theta`, moved at random.
fn folded(random: &mut Random, e: f64, s: [f64; 2], h: [f64; 2], theta: f64) -> [Vec3; 4] {
    let r = random.rotation();
    let shift = random.vector(1.0);
    [
        Vec3::zeros(),
        Vec3::new(e, 0.0, 0.0),
        Vec3::new(s[0] * e, h[0], 0.0),
        Vec3::new(s[1] * e, -h[1] * theta.cos(), h[1] * theta.sin()),
    ]
    .map(|p| r * p + shift)
}

#[test]
fn derivatives() {
    let mut random = Random::new(31);
    let states = (0..400).map(|kind| {
        let mut r = |a, b| random.range(a, b);
        let (e, s, h, theta) = match kind % 5 {
            0 => (
                1.0,
                [r(0.2, 0.8), r(0.2, 0.8)],
                [r(0.5, 1.0), r(0.5, 1.0)],
                r(-1.0, 1.0),
            ),
            // Nearly folded onto itself; the difference stencil must stay below π.
            1 => (1.0, [r(0.2, 0.8), r(0.2, 0.8)], [0.8, 0.9], r(2.5, 2.8)),
            // Stretched, obtuse, with feet outside the edge.
            2 => (
                r(0.3, 3.0),
                [r(-1.0, 2.0), r(-1.0, 2.0)],
                [r(0.3, 3.0), r(0.3, 3.0)],
                r(-2.5, 2.5),
            ),
            // Thin triangles above the fading range.
            3 => (1.0, [0.5, 0.4], [r(0.1, 0.2), r(0.1, 0.8)], r(-0.5, 0.5)),
            // Flat, as most hinges of a cloth.
            _ => (
                1.0,
                [r(0.2, 0.8), r(0.2, 0.8)],
                [r(0.5, 1.0), r(0.5, 1.0)],
                0.0,
            ),
        };
        folded(&mut random, e, s, h, theta)
    });
    let states: Vec<_> = states.chain([REST]).collect();
    check_all("hinge", &hinge(), states.into_iter());
}

#[test]
fn derivatives_while_fading() {
    // Rest altitudes are about 0.76 and 0.96: these triangles keep 1 to 5 % of their area.
    let mut random = Random::new(32);
    let states: Vec<_> = (0..240)
        .map(|kind| {
            let a = random.range(0.010, 0.036);
            let b = if kind % 2 == 0 {
                0.5
            } else {
                random.range(0.012, 0.046)
            };
            let feet = [random.range(0.3, 0.7), random.range(0.3, 0.7)];
            let theta = random.range(-0.8, 0.8);
            folded(&mut random, 1.0, feet, [a, b], theta)
        })
        .collect();
    check_all("fading hinge", &hinge(), states.into_iter());
}

/// gray-interlock [wang2011]: k_e [N·m] of folds along the warp, the bias and the weft.
const INTERLOCK: [[f64; 5]; 3] = [
    [
        23.191698e-6,
        32.932217e-6,
        34.406498e-6,
        39.014420e-6,
        23.382786e-6,
    ],
    [
        24.749964e-6,
        18.651314e-6,
        16.370552e-6,
        25.095791e-6,
        8.860165e-6,
    ],
    [
        14.267624e-6,
        7.052906e-6,
        14.515154e-6,
        24.665127e-6,
        19.383726e-6,
    ],
];

fn tabulated(x: &[Vec3; 4]) -> Hinges {
    let table = BendingTable::published(&INTERLOCK).unwrap();
    Hinges::patched(x, &PAIR, |_| table, DEFAULT_WARP).unwrap()
}

#[test]
fn tabulated_derivatives() {
    let mut random = Random::new(34);
    // At this size the curvatures of the table are angles up to 0.7.
    let small = REST.map(|x| x * 0.02);
    let states: Vec<_> = (0..240)
        .map(|_| {
            let (s, h) = (random.range(0.3, 0.7), random.range(0.012, 0.02));
            let theta = random.range(-1.2, 1.2);
            folded(&mut random, 0.02, [s, 0.5], [h, 0.018], theta)
        })
        .collect();
    check_all("tabulated hinge", &tabulated(&small), states.into_iter());
}

/// The moment of a hinge is D(κ) ‖e‖²/(A₁ + A₂) θ with D = k_e/4 at κ = θ ‖e‖/(2 (A₁ + A₂)), by the
/// table of the fold's direction.
#[test]
fn a_fabric_bends_with_the_rigidity_of_its_table() {
    for (row, turn) in [(0, 0.0), (1, 0.25 * PI), (1, 0.75 * PI), (2, 0.5 * PI)] {
        let (l, h) = (0.02_f64, 0.015_f64);
        let (s, c) = f64::sin_cos(turn);
        let placed = |x: f64, y: f64, z: f64| Vec3::new(c * x - s * y, s * x + c * y, z);
        let at = |theta: f64| {
            [
                placed(0.0, 0.0, 0.0),
                placed(l, 0.0, 0.0),
                placed(0.5 * l, h, 0.0),
                placed(0.5 * l, -h * theta.cos(), h * theta.sin()),
            ]
        };
        let hinges = tabulated(&at(0.0));
        let areas = l * h;
        // Between columns, at a column and beyond the last one [1/m].
        for (curvature, ke) in [
            (2.5, 0.5 * (INTERLOCK[row][0] + INTERLOCK[row][1])),
            (10.0, INTERLOCK[row][2]),
            (30.0, INTERLOCK[row][4]),
        ] {
            let theta = curvature * 2.0 * areas / l;
            let x = at(theta);
            // The second tip moves along the arc with the angle.
            let arc = placed(0.0, theta.sin(), theta.cos());
            let moment = hinges.gradient(0, &x)[3].dot(&arc) * h;
            let expected = 0.25 * ke * l * l / areas * theta;
            assert!(
                (moment - expected).abs() < 1e-9 * expected,
                "{row} {curvature}: {moment} {expected}"
            );
        }
    }
}

#[test]
fn angle_matches_the_angle_between_normals() {
    let flat = hinge().flattened();
    let k = flat.stiffness()[0];
    let mut random = Random::new(33);
    for _ in 0..200 {
        let theta = random.range(-3.0, 3.0);
        let x = folded(&mut random, 0.9, [0.3, 0.6], [0.7, 0.8], theta);
        assert!((flat.energy(0, &x) - 0.5 * k * theta * theta).abs() < 1e-12 * k);
        // The sign: with a rest angle, folding one way costs more than folding the other way.
        let bent = hinge();
        let rest = bent.rest_angles()[0];
        assert!((bent.energy(0, &x) - 0.5 * k * (theta - rest) * (theta - rest)).abs() < 1e-12 * k);
    }
    assert!(
        hinge().rest_angles()[0] > 0.1,
        "the rest shape is folded upwards"
    );
}

/// A sheet [0, length] × [0, width]: positions and triangles of `columns` × `rows` cells, cut in
/// right triangles or, with every second row shifted, in nearly equilateral ones.
fn sheet(size: [f64; 2], cells: [usize; 2], shifted: bool) -> (Vec<Vec3>, Vec<[u32; 3]>) {
    let [columns, rows] = cells;
    let (dx, dy) = (size[0] / columns as f64, size[1] / rows as f64);
    let mut positions = Vec::new();
    for j in 0..=rows {
        for i in 0..=columns {
            let shift = if shifted && j % 2 == 1 { 0.5 * dx } else { 0.0 };
            positions.push(Vec3::new(i as f64 * dx + shift, j as f64 * dy, 0.0));
        }
    }
    let at = |i: usize, j: usize| (j * (columns + 1) + i) as u32;
    let mut triangles = Vec::new();
    for j in 0..rows {
        for i in 0..columns {
            let (a, b, c, d) = (at(i, j), at(i + 1, j), at(i + 1, j + 1), at(i, j + 1));
            if j % 2 == 0 && shifted {
                triangles.extend([[a, b, d], [b, c, d]]);
            } else {
                triangles.extend([[a, b, c], [a, c, d]]);
            }
        }
    }
    (positions, triangles)
}

fn total_energy(hinges: &Hinges, x: &[Vec3]) -> f64 {
    let nodes = hinges.nodes();
    (0..nodes.len())
        .map(|e| hinges.energy(e, &nodes[e].map(|n| x[n as usize])))
        .sum()
}

/// Rolls the plane to a cylinder of radius `radius`, bending along the direction at `angle` to x.
fn roll(x: &[Vec3], radius: f64, angle: f64) -> Vec<Vec3> {
    let (u, v) = (
        Vec3::new(angle.cos(), angle.sin(), 0.0),
        Vec3::new(-angle.sin(), angle.cos(), 0.0),
    );
    x.iter()
        .map(|p| {
            let phi = p.dot(&u) / radius;
            u * (radius * phi.sin()) + v * p.dot(&v) + Vec3::z() * (radius * (1.0 - phi.cos()))
        })
        .collect()
}

/// Bending energy of a rolled sheet relative to ½ D A/R².
fn rolled_ratio(size: [f64; 2], cells: [usize; 2], shifted: bool, angle: f64) -> f64 {
    let rigidity = 1.7e-3;
    let radius = 0.5;
    let (x, triangles) = sheet(size, cells, shifted);
    let hinges = Hinges::new(
        &x,
        &triangles,
        BendingRigidity::isotropic(rigidity).unwrap(),
        DEFAULT_WARP,
    )
    .unwrap();
    let area = size[0] * size[1];
    total_energy(&hinges, &roll(&x, radius, angle)) / (0.5 * rigidity * area / (radius * radius))
}

#[test]
fn a_rolled_strip_stores_the_energy_of_a_plate() {
    // The first and last half column have no hinge, so the error falls like 1/columns.
    let errors: Vec<f64> = [16, 32, 64, 128]
        .map(|n| (rolled_ratio([1.0, 0.25], [n, n / 4], false, 0.0) - 1.0).abs())
        .into();
    assert!(errors[3] < 0.02, "{errors:?}");
    for pair in errors.windows(2) {
        assert!(pair[1] < 0.6 * pair[0], "{errors:?}");
    }
}

#[test]
fn equilateral_sheets_bend_alike_in_every_direction() {
    // 110 columns over 1.1 m and rows of height √3/2 · 0.01 m: equilateral triangles.
    let rows = 110;
    let size = [1.1, rows as f64 * 0.01 * 0.75f64.sqrt()];
    for degrees in [0.0, 17.0, 30.0, 45.0, 60.0, 83.0, 90.0] {
        let ratio = rolled_ratio(size, [110, rows], true, degrees * PI / 180.0);
        assert!((ratio - 1.0).abs() < 0.02, "at {degrees}°: {ratio}");
    }
}

#[test]
fn a_plate_has_its_textbook_rigidity() {
    let plate = BendingRigidity::plate(2.0e11, 0.3, 1e-3).unwrap();
    let expected = 2.0e11 * 1e-9 / (12.0 * 0.91);
    assert!((plate.warp - expected).abs() < 1e-12 * expected);
    assert_eq!((plate.weft, plate.bias), (plate.warp, plate.warp));
}

#[test]
fn direction_decides_the_rigidity() {
    let cloth = BendingRigidity::measured(3.0, 1.0, 0.5).unwrap();
    for (degrees, expected) in [
        (0.0, 3.0),
        (22.5, 1.75),
        (45.0, 0.5),
        (90.0, 1.0),
        (135.0, 0.5),
        (180.0, 3.0),
        (-45.0, 0.5),
    ] {
        let got = cloth.along(degrees * PI / 180.0);
        assert!((got - expected).abs() < 1e-12, "at {degrees}°: {got}");
    }
    // Rolling along the warp (x) meets the warp rigidity, along y the weft rigidity.
    let (x, triangles) = sheet([1.0, 1.0], [40, 40], false);
    let hinges = Hinges::new(&x, &triangles, cloth, DEFAULT_WARP).unwrap();
    let along_warp = total_energy(&hinges, &roll(&x, 0.5, 0.0));
    let along_weft = total_energy(&hinges, &roll(&x, 0.5, 0.5 * PI));
    assert!(
        (along_warp / along_weft - 3.0).abs() < 1e-6,
        "{along_warp} {along_weft}"
    );
}

#[test]
fn collapsed_hinges_stay_finite_and_exert_nothing() {
    let model = hinge();
    let point = [Vec3::repeat(0.2); 4];
    let line = [0.0, 1.0, 0.3, 0.6].map(|t| Vec3::new(t, t, t));
    let no_edge = [REST[0], REST[0], REST[2], REST[3]];
    let flat_side = [REST[0], REST[1], REST[0] * 0.5 + REST[1] * 0.5, REST[3]];
    for x in [point, line, no_edge, flat_side] {
        assert_finite("hinge", &model, &x);
        assert!(model.gradient(0, &x).iter().all(|g| *g == Vec3::zeros()));
    }
    // Folded onto itself: finite, though not smooth.
    assert_finite("hinge", &model, &[REST[0], REST[1], REST[2], REST[2]]);
    let report = check_element(&model, 0, &REST);
    assert!(
        report.gradient < 1e-9,
        "the rest state is free of force: {report:?}"
    );
}

#[test]
fn bad_input_is_named() {
    let rigidity = BendingRigidity::isotropic(1.0).unwrap();
    let x = [REST[0], REST[1], REST[2], REST[3], Vec3::z()];
    let fan = [[0, 1, 2], [1, 0, 3], [0, 1, 4]];
    let error = Hinges::new(&x, &fan, rigidity, DEFAULT_WARP).unwrap_err();
    assert!(
        matches!(
            error,
            ElementError::NonManifoldEdge {
                a: 0,
                b: 1,
                count: 3
            }
        ),
        "{error}"
    );
    let error = Hinges::new(&x, &[[0, 1, 2], [1, 0, 9]], rigidity, DEFAULT_WARP).unwrap_err();
    assert!(
        matches!(error, ElementError::NodeOutOfRange { node: 9, .. }),
        "{error}"
    );
    let flat = [Vec3::zeros(), Vec3::x(), Vec3::x() * 0.5, Vec3::y()];
    let error = Hinges::new(&flat, &PAIR, rigidity, DEFAULT_WARP).unwrap_err();
    assert!(
        matches!(error, ElementError::Degenerate { element: 0, .. }),
        "{error}"
    );
    assert!(BendingRigidity::isotropic(-1.0).is_err());
    assert!(BendingRigidity::isotropic(f64::NAN).is_err());
}
