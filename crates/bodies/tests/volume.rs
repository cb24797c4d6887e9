//! Enclosed volumes: derivatives against differences, laws against closed forms.
#![allow(clippy::unwrap_used)]

use stiction_bodies::{
    Model, State,
    builder::{BodySpec, Builder},
    check::{check_gradient, check_product},
    material::{
        BendingLaw, Damping, MembraneLaw, RestAngles, ShellMaterial, SolidLaw, SolidMaterial,
    },
    volume::{ATMOSPHERE, Region, VolumeError, VolumeLaw},
};
use stiction_geometry::shapes::{BoxSolid, BoxSurface, Sheet, SheetPattern, TetPattern};
use stiction_math::{Quat, Vec3};

const LAWS: [VolumeLaw; 3] = [
    VolumeLaw::Quadratic { compression: 2e-6 },
    VolumeLaw::Gas {
        ambient: ATMOSPHERE,
    },
    VolumeLaw::NearlyIncompressible { compression: 4e-7 },
];

fn rubber() -> SolidMaterial {
    SolidMaterial {
        density: 1000.0,
        young: 1e5,
        poisson: 0.3,
        law: SolidLaw::StableNeoHookean,
        damping: Damping::default(),
    }
}

fn film() -> ShellMaterial {
    ShellMaterial {
        thickness: 1e-3,
        area_density: 1.0,
        membrane: MembraneLaw::StVk {
            young: 1e5,
            poisson: 0.3,
        },
        bending: BendingLaw::None,
        rest_angles: RestAngles::Mesh,
        damping: Damping::default(),
    }
}

/// A closed shell of a box of 0.4 × 0.3 × 0.2 m, away from the origin.
fn bag(law: VolumeLaw, inflation: f64) -> (Model, State) {
    let mut mesh = BoxSurface {
        size: [0.4, 0.3, 0.2],
        cells: [3, 2, 2],
    }
    .build()
    .unwrap();
    mesh.transform(
        &Quat::from_euler_angles(0.3, 0.1, -0.4),
        &Vec3::repeat(1.0),
        &Vec3::new(3.0, -2.0, 1.0),
    );
    let mut b = Builder::new(Vec3::zeros(), None);
    let body = b.shell(BodySpec::new("bag"), mesh, &film()).unwrap();
    b.volume("air", body, Region::Enclosed, law, inflation)
        .unwrap();
    b.finish().unwrap()
}

fn shaken(state: &State, size: f64) -> Vec<Vec3> {
    let mut seed = 7u64;
    let mut random = || {
        seed = seed
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (seed >> 11) as f64 / (1u64 << 53) as f64 - 0.5
    };
    let mut moved = |x: &Vec3| x + Vec3::from_fn(|_, _| size * random());
    state.x.iter().map(&mut moved).collect()
}

#[test]
fn derivatives_agree_with_differences() {
    for law in LAWS {
        for inflation in [0.0, 3e4] {
            let (model, state) = bag(law, inflation);
            let volume = &model.volumes[0];
            let x = shaken(&state, 0.05);
            let force = |x: &[Vec3]| {
                let mut g = vec![Vec3::zeros(); x.len()];
                volume.add_gradient(x, volume.energy(volume.measure(x))[1], &mut g);
                g
            };
            let energy = |x: &[Vec3]| (volume.energy(volume.measure(x))[0], force(x));
            let error = check_gradient(energy, &x, 0.1, 1e-6);
            assert!(error < 1e-8, "{law:?}: gradient {error:e}");
            // The Hessian as a whole: sparse part and the dense one of rank one.
            let product = |x: &[Vec3], d: &[Vec3]| {
                let [_, first, second] = volume.energy(volume.measure(x));
                let mut g = vec![Vec3::zeros(); x.len()];
                volume.add_gradient(x, 1.0, &mut g);
                let along: f64 = g.iter().zip(d).map(|(g, d)| g.dot(d)).sum();
                let mut y = vec![Vec3::zeros(); x.len()];
                volume.add_product(x, d, first, &mut y);
                y.iter()
                    .zip(&g)
                    .map(|(y, g)| y + g * (second * along))
                    .collect()
            };
            let d = shaken(
                &State {
                    x: vec![Vec3::zeros(); x.len()],
                    ..State::default()
                },
                1.0,
            );
            let error = check_product(force, product, &x, &d, 0.1, 1e-6);
            assert!(error < 1e-8, "{law:?}: product {error:e}");
            // Blocks and products are the same sparse matrix.
            let mut by_blocks = vec![Vec3::zeros(); x.len()];
            volume.for_each_block(&x, |i, j, m| by_blocks[i as usize] += m * d[j as usize]);
            let mut by_product = vec![Vec3::zeros(); x.len()];
            volume.add_product(&x, &d, 1.0, &mut by_product);
            let size: f64 = by_product.iter().map(|v| v.norm()).sum();
            for (a, b) in by_blocks.iter().zip(&by_product) {
                assert!((a - b).norm() < 1e-13 * size);
            }
        }
    }
}

#[test]
fn volumes_are_those_of_boxes_and_forces_balance() {
    let (model, state) = bag(LAWS[1], 5e4);
    let volume = &model.volumes[0];
    assert!((volume.rest - 0.024).abs() < 1e-14);
    assert!((volume.pressure(volume.rest) - (ATMOSPHERE + 5e4)).abs() < 1e-9);
    let x = shaken(&state, 0.03);
    let mut g = vec![Vec3::zeros(); x.len()];
    volume.add_gradient(&x, 1.0, &mut g);
    let total: Vec3 = g.iter().sum();
    let turn: Vec3 = g.iter().zip(&x).map(|(g, x)| x.cross(g)).sum();
    assert!(total.norm() < 1e-14 && turn.norm() < 1e-13);
}

#[test]
fn laws_meet_the_closed_forms_of_the_paper() {
    let v0 = 0.7;
    for v in [0.3, 0.7, 1.2] {
        // Isothermal work of an ideal gas against the atmosphere, by integrating P₀V₀/V − P₀.
        let n = 20_000;
        let (mut gas, mut water) = (0.0, 0.0);
        for i in 0..n {
            let mid = v0 + (v - v0) * (i as f64 + 0.5) / n as f64;
            let step = (v - v0) / n as f64;
            gas -= (ATMOSPHERE * v0 / mid - ATMOSPHERE) * step;
            // κ = −(1/V) ∂V/∂P constant: P = −ln(V/V₀)/κ above the surroundings.
            water += (mid / v0).ln() / 4e-7 * step;
        }
        assert!((LAWS[1].energy(v, v0, 0.0)[0] - gas).abs() <= 1e-6 * gas.abs());
        assert!((LAWS[2].energy(v, v0, 0.0)[0] - water).abs() <= 1e-6 * water.abs());
    }
    // All three agree to second order at V₀ for κ = 1/P₀.
    let k = 1.0 / ATMOSPHERE;
    let same = [
        VolumeLaw::Quadratic { compression: k },
        LAWS[1],
        VolumeLaw::NearlyIncompressible { compression: k },
    ];
    for law in same {
        let [w, dw, ddw] = law.energy(v0, v0, 0.0);
        assert!(w.abs() < 1e-9 && dw.abs() < 1e-9);
        assert!((ddw - ATMOSPHERE / v0).abs() < 1e-9 * ddw);
    }
    assert_eq!(LAWS[1].energy(-1.0, v0, 0.0)[0], f64::INFINITY);
}

#[test]
fn regions_of_solids_and_of_bodies_without_any() {
    let mut b = Builder::new(Vec3::zeros(), None);
    let hollow = stiction_geometry::shapes::BallShell {
        radius: 0.5,
        thickness: 0.1,
        frequency: 3,
        layers: 1,
    }
    .build()
    .unwrap();
    let ball = b.solid(BodySpec::new("ball"), hollow, &rubber()).unwrap();
    let block = BoxSolid {
        size: [0.4, 0.3, 0.2],
        cells: [1, 1, 1],
        pattern: TetPattern::Kuhn,
    };
    let block = b
        .solid(BodySpec::new("block"), block.build().unwrap(), &rubber())
        .unwrap();
    let sheet = Sheet {
        size: [1.0, 1.0],
        cells: [2, 2],
        pattern: SheetPattern::Regular,
    };
    let sheet = b
        .shell(BodySpec::new("sheet"), sheet.build().unwrap(), &film())
        .unwrap();
    for region in [Region::Enclosed, Region::Cavity, Region::Solid] {
        b.volume("v", ball, region, LAWS[0], 0.0).unwrap();
    }
    let v: Vec<f64> = b.model().volumes.iter().map(|v| v.rest).collect();
    assert!((v[0] - v[1] - v[2]).abs() < 1e-12 && v[1] > 0.0 && v[2] > 0.0);
    // The cavity of radius 0.4 m, as a polyhedron inside the sphere.
    let sphere = 4.0 / 3.0 * std::f64::consts::PI * 0.4f64.powi(3);
    assert!(v[1] < sphere && v[1] > 0.85 * sphere);
    let error = |r: Result<(), _>| match r.unwrap_err() {
        stiction_bodies::builder::BuildError::Volume { source, .. } => source,
        other => unreachable!("{other}"),
    };
    let mut fill = |body, region, law, p| error(b.volume("v", body, region, law, p));
    assert!(matches!(
        fill(block, Region::Cavity, LAWS[0], 0.0),
        VolumeError::NoRegion(_)
    ));
    assert!(matches!(
        fill(sheet, Region::Enclosed, LAWS[0], 0.0),
        VolumeError::Open(..)
    ));
    let bad = VolumeLaw::Gas { ambient: -1.0 };
    assert!(matches!(
        fill(block, Region::Solid, bad, 0.0),
        VolumeError::Parameter {
            parameter: "pressure",
            ..
        }
    ));
    assert!(matches!(
        fill(block, Region::Solid, LAWS[1], -2e5),
        VolumeError::Parameter {
            parameter: "inflation",
            ..
        }
    ));
}
