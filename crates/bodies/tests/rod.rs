//! Rods: derivatives, invariance, natural shapes and the matrix.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use stiction_bodies::{
    Hessian,
    check::{check_gradient, check_product},
    material::Damping,
    rod::{Natural, RodFrames, RodMaterial, Rods, Twist, shear_modulus},
};
use stiction_geometry::{SplitMix, Strands};
use stiction_math::{BandedMatrices, LinearOperator, Quat, Vec3, nalgebra::DMatrix};

fn material() -> RodMaterial {
    RodMaterial {
        density: 1300.0,
        young: 1e7,
        stretch: 2e6,
        shear: shear_modulus(1e7, 0.3),
        radii: [4e-3, 6e-3],
        natural: Natural::Given,
        twist: Twist::Dynamic,
        damping: Damping::default(),
    }
}

fn noise(random: &mut SplitMix) -> Vec3 {
    Vec3::from_fn(|_, _| 2.0 * random.uniform() - 1.0)
}

/// Two curled rods of different length.
fn curls() -> Strands {
    let curl = |n: usize, phase: f64| -> Vec<Vec3> {
        (0..n)
            .map(|i| {
                let a = phase + 0.7 * i as f64;
                Vec3::new(0.03 * a.cos(), 0.02 * a.sin(), 0.02 * i as f64)
            })
            .collect()
    };
    let mut strands = Strands::single(curl(7, 0.3));
    strands.push(&curl(5, 1.9));
    strands
}

/// The rods far from rest and far from the start of the step, twisted as well.
fn shaken(seed: u64, kind: Natural) -> (Rods, RodFrames, Vec<Vec3>, Vec<Vec3>) {
    let material = RodMaterial {
        natural: kind,
        ..material()
    };
    let (rods, mut frames) = Rods::new(curls(), &material, &Vec3::x(), 0).unwrap();
    let mut random = SplitMix::new(seed);
    let move_by = |x: &[Vec3], size: f64, random: &mut SplitMix| -> Vec<Vec3> {
        x.iter().map(|p| p + noise(random) * size).collect()
    };
    let rest = rods.rest_blocks();
    let start = move_by(&rest, 4e-3, &mut random);
    rods.carry(&rest, &start, &mut frames);
    let x = move_by(&start, 5e-3, &mut random);
    (rods, frames, start, x)
}

/// Only components that a rod has.
fn masked(rods: &Rods, v: &[Vec3]) -> Vec<Vec3> {
    let mut out = vec![Vec3::zeros(); v.len()];
    for b in rods.node_blocks() {
        out[b as usize] = v[b as usize];
    }
    for edge in 0..rods.edges().len() {
        let (b, c) = rods.twist_of(edge).unwrap();
        out[b][c] = v[b][c];
    }
    out
}

fn hessian(
    rods: &Rods,
    x: &[Vec3],
    start: &[Vec3],
    frames: &RodFrames,
    kind: Hessian,
) -> BandedMatrices {
    let mut a = BandedMatrices::zeros(rods.layout().clone());
    rods.add_matrix(x, &rods.start(start, frames), kind, 1.0, 0.0, &mut a);
    a
}

#[test]
fn derivatives_are_exact_far_from_rest_and_from_the_start_of_the_step() {
    for seed in 0..12 {
        for kind in [Natural::Given, Natural::Straight] {
            let (rods, frames, start, x) = shaken(seed, kind);
            let at = rods.start(&start, &frames);
            let gradient = |x: &[Vec3]| {
                let mut g = vec![Vec3::zeros(); x.len()];
                rods.add_gradient(x, &at, 1.0, &mut g);
                g
            };
            let error = check_gradient(|x| (rods.energy(x, &at), gradient(x)), &x, 0.01, 1e-6);
            assert!(error < 1e-7, "gradient, seed {seed}: {error:e}");
            let a = hessian(&rods, &x, &start, &frames, Hessian::Full);
            let mut random = SplitMix::new(1000 + seed);
            let direction: Vec<Vec3> = x.iter().map(|_| noise(&mut random)).collect();
            let direction = masked(&rods, &direction);
            let product = |_: &[Vec3], d: &[Vec3]| {
                let mut y = vec![Vec3::zeros(); d.len()];
                a.apply(d, &mut y);
                y
            };
            let error = check_product(gradient, product, &x, &direction, 0.01, 1e-6);
            assert!(error < 1e-6, "Hessian, seed {seed}: {error:e}");
        }
    }
}

#[test]
fn the_projected_hessian_is_positive_and_exact_where_nothing_is_stressed() {
    let (rods, frames, start, x) = shaken(3, Natural::Given);
    let dense = |a: &BandedMatrices| {
        let n = 3 * x.len();
        DMatrix::from_fn(n, n, |r, c| a.block(r / 3, c / 3)[(r % 3, c % 3)])
    };
    let projected = dense(&hessian(&rods, &x, &start, &frames, Hessian::Projected));
    let least = projected.clone().symmetric_eigen().eigenvalues.min();
    assert!(least > -1e-10 * projected.norm(), "{least:e}");

    let rest = rods.rest_blocks();
    let (_, natural) = Rods::new(curls(), &material(), &Vec3::x(), 0).unwrap();
    let full = dense(&hessian(&rods, &rest, &rest, &natural, Hessian::Full));
    let projected = dense(&hessian(&rods, &rest, &rest, &natural, Hessian::Projected));
    assert!((full - &projected).norm() < 1e-10 * projected.norm());
    assert!(rods.energy(&rest, &rods.start(&rest, &natural)) < 1e-20);
}

#[test]
fn products_are_those_of_the_matrix() {
    let (rods, frames, start, x) = shaken(5, Natural::Straight);
    let mut random = SplitMix::new(7);
    let v: Vec<Vec3> = start.iter().map(|_| noise(&mut random)).collect();
    let v = masked(&rods, &v);
    for (x, kind) in [
        (&start, Hessian::Projected),
        (&x, Hessian::Projected),
        (&x, Hessian::Full),
    ] {
        let a = hessian(&rods, x, &start, &frames, kind);
        let mut by_matrix = vec![Vec3::zeros(); v.len()];
        a.apply(&v, &mut by_matrix);
        let mut by_rods = vec![Vec3::zeros(); v.len()];
        let at = rods.start(&start, &frames);
        rods.add_product(x, &at, kind, 1.0, &v, &mut by_rods);
        let size: f64 = by_matrix.iter().map(|v| v.norm()).sum();
        for (a, b) in by_matrix.iter().zip(&by_rods) {
            assert!((a - b).norm() < 1e-12 * size, "{kind:?}");
        }
    }
}

/// Forces add up to nothing, and torques with the moments of the twists as well.
#[test]
fn forces_and_torques_balance() {
    for seed in 20..25 {
        // At the start of the step, where turning a rod turns its frames by parallel transport.
        let (rods, frames, x, _) = shaken(seed, Natural::Straight);
        let at = rods.start(&x, &frames);
        let mut g = vec![Vec3::zeros(); x.len()];
        rods.add_gradient(&x, &at, 1.0, &mut g);
        let nodes: Vec<usize> = rods.node_blocks().map(|b| b as usize).collect();
        let size: f64 = nodes.iter().map(|&i| g[i].norm()).sum();
        let force: Vec3 = nodes.iter().map(|&i| g[i]).sum();
        assert!(force.norm() < 1e-12 * size);
        let mut torque: Vec3 = nodes.iter().map(|&i| x[i].cross(&g[i])).sum();
        for edge in 0..rods.edges().len() {
            let (b, c) = rods.twist_of(edge).unwrap();
            let [i, j] = rods.edge_blocks(edge).unwrap();
            torque += (x[j] - x[i]).normalize() * (g[b][c] * rods.section().radius);
        }
        assert!(torque.norm() < 1e-12 * size * 0.2, "{}", torque.norm());
    }
}

#[test]
fn the_energy_is_the_same_before_and_after_frames_are_carried() {
    for seed in 30..34 {
        let (rods, mut frames, start, x) = shaken(seed, Natural::Given);
        let before = rods.energy(&x, &rods.start(&start, &frames));
        rods.carry(&start, &x, &mut frames);
        let after = rods.energy(&x, &rods.start(&x, &frames));
        assert!((after - before).abs() < 1e-12 * before, "{before} {after}");
    }
}

#[test]
fn the_energy_does_not_see_rigid_motions() {
    let (rods, mut frames, start, _) = shaken(9, Natural::Given);
    let before = rods.energy(&start, &rods.start(&start, &frames));
    let q = Quat::from_scaled_axis(Vec3::new(0.4, -1.2, 0.9));
    let mut x = start.clone();
    for b in rods.node_blocks() {
        x[b as usize] = q * start[b as usize] + Vec3::new(3.0, 1.0, -2.0);
    }
    frames.director.iter_mut().for_each(|d| *d = q * *d);
    let after = rods.energy(&x, &rods.start(&x, &frames));
    assert!((after - before).abs() < 1e-9 * before, "{before} {after}");
}

/// A frame that is carried round a closed path of its tangent comes back turned by the area that the
/// path encloses on the sphere (Gauss and Bonnet).
#[test]
fn a_carried_frame_turns_by_the_enclosed_area() {
    let (rods, frames0) = Rods::new(
        Strands::single(vec![Vec3::zeros(), Vec3::x()]),
        &material(),
        &Vec3::y(),
        0,
    )
    .unwrap();
    let mut frames = frames0.clone();
    let tilt: f64 = 0.6;
    let steps = 4000;
    let at = |k: usize| {
        let a = std::f64::consts::TAU * k as f64 / steps as f64;
        let t = Vec3::new(tilt.cos(), tilt.sin() * a.cos(), tilt.sin() * a.sin());
        let mut x = rods.rest_blocks();
        x[1] = t;
        x
    };
    let into = perpendicular_to(&at(0)[1]);
    frames.director[0] = into;
    for k in 0..steps {
        rods.carry(&at(k), &at(k + 1), &mut frames);
    }
    let turned = frames.director[0].dot(&into).clamp(-1.0, 1.0).acos();
    let area = std::f64::consts::TAU * (1.0 - tilt.cos());
    assert!((turned - area).abs() < 1e-5, "{turned} {area}");
}

fn perpendicular_to(t: &Vec3) -> Vec3 {
    stiction_bodies::rod::perpendicular(t, &Vec3::y())
}

#[test]
fn matrices_of_rods_are_those_of_their_blocks() {
    let (rods, frames, start, x) = shaken(11, Natural::Given);
    let a = hessian(&rods, &x, &start, &frames, Hessian::Projected);
    let sparse = a.to_sparse(&[]).unwrap();
    let mut random = SplitMix::new(2);
    let v: Vec<Vec3> = x.iter().map(|_| noise(&mut random)).collect();
    let (mut y, mut z) = (v.clone(), v.clone());
    a.apply(&v, &mut y);
    sparse.apply(&v, &mut z);
    for (y, z) in y.iter().zip(&z) {
        assert!((y - z).norm() < 1e-9 * y.norm().max(1.0));
    }
}

/// Number of negative eigenvalues of the energy of a straight round rod bent to a closed ring and
/// twisted by `angle`. The first edge and the one that closes the ring coincide and are held.
fn falling_modes(edges: usize, angle: f64, material: &RodMaterial) -> usize {
    let at = |i: usize| {
        let a = std::f64::consts::TAU * i as f64 / edges as f64;
        Vec3::new(0.1 * a.cos(), 0.1 * a.sin(), 0.0)
    };
    let ring = Strands::single((0..edges + 2).map(at).collect());
    let (rods, frames) = Rods::new(ring, material, &Vec3::z(), 0).unwrap();
    let mut x = rods.rest_blocks();
    for edge in 0..=edges {
        let (b, c) = rods.twist_of(edge).unwrap();
        x[b][c] = angle * edge as f64 / edges as f64 * rods.section().radius;
    }
    let a = hessian(&rods, &x, &x, &frames, Hessian::Full);
    // The twisted ring is in equilibrium: what follows asks whether it is a stable one.
    let mut g = vec![Vec3::zeros(); x.len()];
    rods.add_gradient(&x, &rods.start(&x, &frames), 1.0, &mut g);
    let free_nodes = 2..edges;
    let scale = rods.section().bend[0] / 0.01;
    let force = free_nodes.clone().map(|i| g[i].norm()).fold(0.0, f64::max);
    assert!(force < 1e-9 * scale, "{force:e} {scale:e}");
    let mut free: Vec<usize> = free_nodes.flat_map(|i| 3 * i..3 * i + 3).collect();
    free.extend((1..edges).map(|edge| {
        let (b, c) = rods.twist_of(edge).unwrap();
        3 * b + c
    }));
    let k = DMatrix::from_fn(free.len(), free.len(), |r, c| {
        let (r, c) = (free[r], free[c]);
        a.block(r / 3, c / 3)[(r % 3, c % 3)]
    });
    // The ring may roll about itself while it turns about the held edge: that costs nothing.
    let falls = |e: &&f64| **e < -1e-6 * scale;
    k.symmetric_eigenvalues().iter().filter(falls).count()
}

/// A ring leaves its plane when it is twisted by 2π √3 E I / G J [michell1889].
#[test]
fn a_twisted_ring_buckles_where_michell_says() {
    for poisson in [0.0, 0.5] {
        let material = RodMaterial {
            young: 1e7,
            stretch: 1e7,
            shear: shear_modulus(1e7, poisson),
            radii: [1e-3; 2],
            natural: Natural::Straight,
            ..material()
        };
        let section = stiction_bodies::rod::RodSection::from(&material);
        let exact = std::f64::consts::TAU * 3f64.sqrt() * section.bend[0] / section.twist;
        let critical = |edges| {
            let (mut low, mut high) = (0.5 * exact, 2.0 * exact);
            assert_eq!(falling_modes(edges, low, &material), 0);
            for _ in 0..11 {
                let middle = 0.5 * (low + high);
                if falling_modes(edges, middle, &material) == 0 {
                    low = middle;
                } else {
                    high = middle;
                }
            }
            low
        };
        let errors = [30, 60].map(|edges| (critical(edges) / exact - 1.0).abs());
        assert!(
            errors[1] < 0.02 && errors[1] < 0.35 * errors[0],
            "{errors:?}"
        );
    }
}
