//! Rods with quasi-static twist: the least energy of a centreline and its derivatives.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use stiction_bodies::{
    Hessian,
    check::{check_gradient, check_product},
    material::Damping,
    rod::{Natural, RodFrames, RodMaterial, RodSection, RodStart, Rods, Twist, shear_modulus},
};
use stiction_geometry::{SplitMix, Strands};
use stiction_math::{BandedMatrices, LinearOperator, Vec3, nalgebra::DMatrix};

fn material(natural: Natural, twist: Twist) -> RodMaterial {
    RodMaterial {
        density: 1300.0,
        young: 1e7,
        stretch: 2e6,
        shear: shear_modulus(1e7, 0.3),
        radii: [4e-3, 6e-3],
        natural,
        twist,
        damping: Damping::default(),
    }
}

fn noise(random: &mut SplitMix) -> Vec3 {
    Vec3::from_fn(|_, _| 2.0 * random.uniform() - 1.0)
}

fn curls() -> Strands {
    let curl = |n: usize, phase: f64| -> Vec<Vec3> {
        (0..n)
            .map(|i| {
                let a = phase + 0.7 * i as f64;
                Vec3::new(0.03 * a.cos(), 0.02 * a.sin(), 0.02 * i as f64)
            })
            .collect()
    };
    let mut strands = Strands::single(curl(8, 0.3));
    strands.push(&curl(5, 1.9));
    strands
}

/// Rods away from rest and from the start of the step. The root of the first is held at some angle,
/// the second is free.
fn shaken(seed: u64, natural: Natural) -> (Rods, RodFrames, Vec<Vec3>, Vec<Vec3>) {
    let material = material(natural, Twist::QuasiStatic);
    let (rods, mut frames) = Rods::new(curls(), &material, &Vec3::x(), 0).unwrap();
    let mut random = SplitMix::new(seed);
    let move_by = |x: &[Vec3], size: f64, random: &mut SplitMix| -> Vec<Vec3> {
        x.iter().map(|p| p + noise(random) * size).collect()
    };
    let rest = rods.rest_blocks();
    assert_eq!(rest.len(), 13);
    let start = move_by(&rest, 2e-3, &mut random);
    rods.carry(&rest, &start, &mut frames);
    frames.held[0] = true;
    frames.angle[0] = 0.4;
    let x = move_by(&start, 2e-3, &mut random);
    (rods, frames, start, x)
}

fn gradient(rods: &Rods, at: &RodStart, x: &[Vec3]) -> Vec<Vec3> {
    let mut g = vec![Vec3::zeros(); x.len()];
    rods.add_gradient(x, at, 1.0, &mut g);
    g
}

fn product(a: &BandedMatrices, d: &[Vec3]) -> Vec<Vec3> {
    let mut y = vec![Vec3::zeros(); d.len()];
    a.apply(d, &mut y);
    y
}

#[test]
fn the_gradient_is_that_of_the_least_energy() {
    for seed in 0..12 {
        for natural in [Natural::Given, Natural::Straight] {
            let (rods, frames, start, x) = shaken(seed, natural);
            let at = rods.start(&start, &frames);
            let both = |x: &[Vec3]| (rods.energy(x, &at), gradient(&rods, &at, x));
            let error = check_gradient(both, &x, 0.01, 1e-6);
            assert!(error < 1e-7, "seed {seed}: {error:e}");
        }
    }
}

/// By rods with the same centreline whose twists are degrees of freedom.
#[test]
fn the_twists_are_where_the_energy_is_least() {
    for seed in 0..6 {
        let (rods, frames, start, x) = shaken(seed, Natural::Given);
        let least = rods.energy(&x, &rods.start(&start, &frames));
        let settled = rods.settled(&x, &rods.start(&start, &frames)).unwrap();
        assert_eq!((frames.held[0], settled[0]), (true, 0.4));

        let dynamic = material(Natural::Given, Twist::Dynamic);
        let (other, _) = Rods::new(curls(), &dynamic, &Vec3::x(), 0).unwrap();
        let spread = |nodes: &[Vec3], angle: &[f64]| {
            let mut all = vec![Vec3::zeros(); other.block_count()];
            for (b, p) in other.node_blocks().zip(nodes) {
                all[b as usize] = *p;
            }
            for (edge, angle) in angle.iter().enumerate() {
                let (b, c) = other.twist_of(edge).unwrap();
                all[b][c] = angle * other.section().radius;
            }
            all
        };
        let begin = spread(&start, &frames.angle);
        let energy =
            |angle: &[f64]| other.energy(&spread(&x, angle), &other.start(&begin, &frames));
        let found = energy(&settled);
        assert!((found - least).abs() < 1e-12 * least, "{found} {least}");
        let mut random = SplitMix::new(seed);
        for size in [1e-3, 0.1, 0.5] {
            for _ in 0..20 {
                let mut angle = settled.clone();
                for a in &mut angle[1..] {
                    *a += size * (2.0 * random.uniform() - 1.0);
                }
                assert!(energy(&angle) > least);
            }
        }
    }
}

#[test]
fn the_matrix_is_the_hessian_at_fixed_twist_and_not_less_than_the_exact_one() {
    for seed in 0..6 {
        let (rods, frames, start, x) = shaken(seed, Natural::Given);
        let at = rods.start(&start, &frames);
        let mut settled = frames.clone();
        settled.angle = rods.settled(&x, &at).unwrap();
        settled.held.fill(true);
        let fixed = rods.start(&start, &settled);
        let mut full = BandedMatrices::zeros(rods.layout().clone());
        rods.add_matrix(&x, &at, Hessian::Full, 1.0, 0.0, &mut full);
        let mut random = SplitMix::new(100 + seed);
        for _ in 0..4 {
            let d: Vec<Vec3> = x.iter().map(|_| noise(&mut random)).collect();
            let slope = |x: &[Vec3]| gradient(&rods, &fixed, x);
            let error = check_product(slope, |_, d| product(&full, d), &x, &d, 0.01, 1e-6);
            assert!(error < 1e-6, "seed {seed}: {error:e}");
            // dᵀ H d of the least energy, by finite differences of its gradient.
            let moved = |s: f64| -> Vec<Vec3> { (0..x.len()).map(|i| x[i] + d[i] * s).collect() };
            let step = 1e-7;
            let (up, down) = (
                gradient(&rods, &at, &moved(step)),
                gradient(&rods, &at, &moved(-step)),
            );
            let exact: f64 = (0..x.len())
                .map(|i| (up[i] - down[i]).dot(&d[i]) / (2.0 * step))
                .sum();
            let used: f64 = product(&full, &d)
                .iter()
                .zip(&d)
                .map(|(y, d)| y.dot(d))
                .sum();
            assert!(exact < used * (1.0 + 1e-6), "{exact} {used}");
        }
        let mut projected = BandedMatrices::zeros(rods.layout().clone());
        rods.add_matrix(&x, &at, Hessian::Projected, 1.0, 0.0, &mut projected);
        let n = 3 * x.len();
        let dense = DMatrix::from_fn(n, n, |r, c| projected.block(r / 3, c / 3)[(r % 3, c % 3)]);
        let least = dense.clone().symmetric_eigen().eigenvalues.min();
        assert!(least > -1e-10 * dense.norm(), "{least:e}");
    }
}

/// Number of directions in which the least energy of a closed, naturally straight ring twisted by
/// `angle` falls. The first edge and the one that closes the ring coincide and are held.
fn falling_modes(edges: usize, angle: f64, material: &RodMaterial) -> usize {
    let at = |i: usize| {
        let a = std::f64::consts::TAU * i as f64 / edges as f64;
        Vec3::new(0.1 * a.cos(), 0.1 * a.sin(), 0.0)
    };
    let ring = Strands::single((0..edges + 2).map(at).collect());
    let (rods, mut frames) = Rods::new(ring, material, &Vec3::z(), 0).unwrap();
    let x = rods.rest_blocks();
    frames.angle[edges] = angle;
    (frames.held[0], frames.held[edges]) = (true, true);
    let start = rods.start(&x, &frames);
    let settled = rods.settled(&x, &start).unwrap();
    for (edge, found) in settled.iter().enumerate() {
        let even = angle * edge as f64 / edges as f64;
        assert!((found - even).abs() < 1e-9, "{found} {even}");
    }
    let free: Vec<usize> = (6..3 * edges).collect();
    let scale = rods.section().bend[0] / 0.01;
    let step = 1e-7;
    let column = |k: usize| {
        let slope = |s: f64| {
            let mut x = x.clone();
            x[free[k] / 3][free[k] % 3] += s;
            gradient(&rods, &start, &x)
        };
        let (up, down) = (slope(step), slope(-step));
        let entry = move |r: &usize| (up[r / 3][r % 3] - down[r / 3][r % 3]) / (2.0 * step);
        free.iter().map(entry).collect::<Vec<f64>>()
    };
    let columns: Vec<Vec<f64>> = (0..free.len()).map(column).collect();
    let k = DMatrix::from_fn(free.len(), free.len(), |r, c| {
        0.5 * (columns[c][r] + columns[r][c])
    });
    // The ring may roll about itself while it turns about the held edge: that costs nothing.
    let falls = |e: &&f64| **e < -1e-4 * scale;
    k.symmetric_eigenvalues().iter().filter(falls).count()
}

/// A ring leaves its plane when it is twisted by 2π √3 E I / G J [michell1889].
#[test]
fn a_twisted_ring_buckles_where_michell_says() {
    let material = RodMaterial {
        stretch: 1e7,
        radii: [1e-3; 2],
        ..material(Natural::Straight, Twist::QuasiStatic)
    };
    let section = RodSection::from(&material);
    let exact = std::f64::consts::TAU * 3f64.sqrt() * section.bend[0] / section.twist;
    assert_eq!(falling_modes(60, 0.96 * exact, &material), 0);
    assert!(falling_modes(60, 1.04 * exact, &material) > 0);
}
