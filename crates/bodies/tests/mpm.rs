//! Material points: transfers, stress, return mappings.
#![allow(clippy::unwrap_used)]

#[path = "elements_common/mod.rs"]
mod elements_common;

use elements_common::Random;
use stiction_bodies::{
    check::{check_element, check_product},
    mpm::{GridCells, Hencky, PointLaw, PointMotion, SUPPORT, StepGrid, Yield},
    solid::{FixedCorotated, Lame},
};
use stiction_math::{Mat3, Vec3};

const CELL: f64 = 0.1;

fn lame() -> Lame {
    Lame::new(1e4, 0.3).unwrap()
}

fn elastic() -> PointLaw {
    PointLaw::Elastic(FixedCorotated { lame: lame() })
}

fn sand() -> PointLaw {
    PointLaw::Plastic(
        Hencky::new(lame()),
        Yield::sand(30f64.to_radians()).unwrap(),
    )
}

fn goo() -> PointLaw {
    PointLaw::Plastic(Hencky::new(lame()), Yield::goo(200.0, 10.0).unwrap())
}

/// Points in a box that spans several cells, negative ones included.
fn cloud(random: &mut Random, count: usize) -> Vec<PointMotion> {
    let one = |r: &mut Random| PointMotion {
        x: r.vector(0.17) + Vec3::new(0.0, 0.05, -0.1),
        v: r.vector(2.0),
        affine: Mat3::from_columns(&[r.vector(3.0), r.vector(3.0), r.vector(3.0)]),
    };
    (0..count).map(|_| one(random)).collect()
}

fn grid(points: &[PointMotion]) -> StepGrid {
    StepGrid::new(points.iter().map(|p| p.x), CELL).unwrap()
}

/// Angular momentum of points of one mass [m²/s]: that of their affine velocities is the axial vector of C D with
/// D = cell²/4 I [jiang2015].
fn spin(points: &[PointMotion]) -> Vec3 {
    let one = |p: &PointMotion| {
        let b = p.affine * (0.25 * CELL * CELL);
        let axial = Vec3::new(
            b[(2, 1)] - b[(1, 2)],
            b[(0, 2)] - b[(2, 0)],
            b[(1, 0)] - b[(0, 1)],
        );
        p.x.cross(&p.v) + axial
    };
    points.iter().map(one).sum()
}

/// Bound: rounding of sums of a few hundred terms of order one.
#[test]
fn transfers_conserve_mass_momentum_and_angular_momentum() {
    let points = cloud(&mut Random::new(1), 200);
    let mut grid = grid(&points);
    let mass = 0.5;
    let v = grid.to_nodes(mass, |p| points[p]).unwrap();
    let total = mass * points.len() as f64;
    let near = |a: Vec3, b: Vec3| assert!((a - b).norm() < 1e-12 * total, "{a} {b}");
    assert!((grid.mass.iter().sum::<f64>() - total).abs() < 1e-12 * total);
    let momentum = |points: &[PointMotion]| points.iter().map(|p| p.v * mass).sum::<Vec3>();
    let nodes = || grid.mass.iter().zip(&v).zip(&grid.nodes);
    near(nodes().map(|((m, v), _)| v * *m).sum(), momentum(&points));
    near(
        nodes().map(|((m, v), x)| x.cross(v) * *m).sum(),
        spin(&points) * mass,
    );
    // Nodes move, and points follow.
    let h = 0.01;
    let x: Vec<Vec3> = grid.nodes.iter().zip(&v).map(|(x, v)| x + v * h).collect();
    let after: Vec<PointMotion> = (0..points.len())
        .map(|p| grid.to_point(p, &points[p].x, &x, &v))
        .collect();
    near(momentum(&after), momentum(&points));
    near(spin(&after) * mass, spin(&points) * mass);
}

/// Affine velocity fields pass through the grid unchanged.
#[test]
fn affine_motion_is_transferred_exactly() {
    let mut random = Random::new(2);
    let mut points = cloud(&mut random, 50);
    let c = Mat3::from_columns(&[random.vector(2.0), random.vector(2.0), random.vector(2.0)]);
    let v0 = Vec3::new(0.3, -1.0, 2.0);
    for p in &mut points {
        (p.v, p.affine) = (v0 + c * p.x, c);
    }
    let mut grid = grid(&points);
    let v = grid.to_nodes(0.1, |p| points[p]).unwrap();
    for (v, x) in v.iter().zip(&grid.nodes) {
        // Nodes at the rim have weights down to 1e-9, over which rounding is divided.
        assert!((v - (v0 + c * x)).norm() < 1e-6, "{v}");
    }
    for (p, own) in points.iter().enumerate() {
        let after = grid.to_point(p, &own.x, &grid.nodes, &v);
        assert!((after.v - own.v).norm() < 1e-12);
        assert!((after.affine - own.affine).norm() < 1e-10);
        assert_eq!(after.x, own.x);
    }
}

fn cells(law: PointLaw, random: &mut Random, points: usize, size: f64) -> GridCells {
    let list: Vec<PointMotion> = (0..points)
        .map(|_| PointMotion {
            x: Vec3::repeat(0.1) + random.vector(0.045),
            v: Vec3::zeros(),
            affine: Mat3::zeros(),
        })
        .collect();
    let mut stretched = |_| {
        let sigma = Vec3::repeat(0.99) + random.vector(size);
        random.with_stretches(sigma)
    };
    let deformation: Vec<Mat3> = (0..points).map(&mut stretched).collect();
    GridCells {
        grid: StepGrid::new(list.iter().map(|p| p.x), CELL).unwrap(),
        law,
        volume: 1e-4,
        h: 0.01,
        gain: vec![0.0; points],
        deformation,
    }
}

fn moved(cells: &GridCells, random: &mut Random, size: f64) -> [Vec3; SUPPORT] {
    let rest = cells.gather(0, &cells.grid.nodes);
    rest.map(|x| x + random.vector(size))
}

/// The bounds of every force model of the library.
#[test]
fn fixed_corotated_points_pass_the_derivative_checker() {
    let mut random = Random::new(3);
    for _ in 0..2 {
        let cells = cells(elastic(), &mut random, 2, 0.1);
        let report = check_element(&cells, 0, &moved(&cells, &mut random, 0.01));
        assert!(
            report.gradient < 1e-6 && report.hessian < 1e-6,
            "{report:?}"
        );
        assert!(
            report.symmetry < 1e-12 && report.negative < 1e-10,
            "{report:?}"
        );
        assert!(report.force < 1e-10 && report.torque < 1e-10, "{report:?}");
        assert!(
            report.motion < 1e-9 && report.agreement < 1e-12,
            "{report:?}"
        );
    }
}

/// Plastic stress derives from no energy: its derivative is compared with differences of forces. Forces and torques balance.
#[test]
fn plastic_points_have_exact_derivatives() {
    let mut random = Random::new(4);
    for law in [sand(), goo()] {
        let mut flowing = 0;
        for _ in 0..4 {
            let cells = cells(law, &mut random, 1, 0.05);
            let x = moved(&cells, &mut random, 0.001);
            let sigma = cells.trial(0, &x).sigma;
            let after = law.response(&sigma, 0.0, cells.h);
            flowing += usize::from((after.sigma - sigma).norm() > 1e-3);
            let d: Vec<Vec3> = (0..SUPPORT).map(|_| random.vector(1.0)).collect();
            let g = |x: &[Vec3]| cells_gradient(&cells, x);
            let product = |x: &[Vec3], d: &[Vec3]| {
                let mut y = vec![Vec3::zeros(); SUPPORT];
                cells
                    .add_product(x, stiction_bodies::Hessian::Full, d, 1.0, &mut y)
                    .unwrap();
                y
            };
            let at = spread(&cells, &x);
            let error = check_product(g, product, &at, &d, 1e-3, 1e-3);
            assert!(error < 1e-6, "{law:?} {error}");
            // The assembled derivative is the same.
            let local = stiction_bodies::elements::Elements::local(
                &cells,
                0,
                &x,
                stiction_bodies::Hessian::Full,
            );
            let y = product(&at, &d);
            let nodes = cells.grid.scatter.nodes()[0];
            for a in 0..SUPPORT {
                let row: Vec3 = (0..SUPPORT)
                    .map(|b| local.hessian[a][b] * d[nodes[b] as usize])
                    .sum();
                assert!((row - y[nodes[a] as usize]).norm() < 1e-9 * (1.0 + row.norm()));
            }
            let force: Vec3 = local.gradient.iter().sum();
            let torque: Vec3 = (0..SUPPORT).map(|a| x[a].cross(&local.gradient[a])).sum();
            let size: f64 = local.gradient.iter().map(Vec3::norm).sum();
            assert!(force.norm() < 1e-10 * size.max(1e-9), "{force}");
            assert!(torque.norm() < 1e-10 * size.max(1e-9), "{torque}");
        }
        assert!(flowing > 0, "{law:?} never flows");
    }
}

fn spread(cells: &GridCells, x: &[Vec3; SUPPORT]) -> Vec<Vec3> {
    let mut out = vec![Vec3::zeros(); SUPPORT];
    for (a, &i) in cells.grid.scatter.nodes()[0].iter().enumerate() {
        out[i as usize] = x[a];
    }
    out
}

fn cells_gradient(cells: &GridCells, x: &[Vec3]) -> Vec<Vec3> {
    let mut g = vec![Vec3::zeros(); x.len()];
    cells.add_gradient(x, 1.0, &mut g).unwrap();
    g
}

/// A rotation of the whole grid gives points no stress: linear functions are reproduced. Bound: rounding times stiffness.
#[test]
fn rigid_rotation_has_no_stress() {
    let mut random = Random::new(5);
    let mut block = cells(elastic(), &mut random, 8, 0.0);
    block.deformation.fill(Mat3::identity());
    let turn = random.rotation();
    let x: Vec<Vec3> = block
        .grid
        .nodes
        .iter()
        .map(|x| turn * x + Vec3::x())
        .collect();
    let size = 1e4 * block.volume / CELL;
    for g in cells_gradient(&block, &x) {
        assert!(g.norm() < 1e-12 * size, "{g}");
    }
    // A stretch has one.
    let x: Vec<Vec3> = block.grid.nodes.iter().map(|x| x * 1.01).collect();
    assert!(
        cells_gradient(&block, &x)
            .iter()
            .any(|g| g.norm() > 1e-3 * size)
    );
}

fn flow(rule: Yield, strain: [f64; 3], gain: f64, h: f64) -> (Vec3, Vec3, f64) {
    let elastic = Hencky::new(lame());
    let flow = rule.flow(&elastic, &Vec3::from(strain), gain, h);
    (flow.strain, elastic.stress(&flow.strain), flow.gain)
}

/// Uniaxial compression without strain to the sides, pure shear and expansion against closed forms.
#[test]
fn sand_returns_to_the_cone() {
    let angle = 30f64.to_radians();
    let rule = Yield::sand(angle).unwrap();
    let Lame { mu, lambda } = lame();
    // Where two principal stresses are equal in compression, q = τ₃ − τ₁ = √3 tan φ p, which is p for 30°: τ₁/τ₃ = (1 − 1/3)/(1 + 2/3).
    // From ε = (−e, 0, 0) plastic flow is isochoric: p is that of the trial.
    let e = 0.01;
    let (_, tau, gain) = flow(rule, [-e, 0.0, 0.0], 0.0, 0.01);
    let trial = (lambda / (lambda + 2.0 * mu), 0.4);
    assert!(
        trial.0 > trial.1,
        "the trial must be elastic for this Poisson's ratio"
    );
    assert!((tau.x + (lambda + 2.0 * mu) * e).abs() < 1e-12 * mu);
    let (_, tau, _) = flow(rule, [-3.0 * e, 0.5 * e, 0.5 * e], 0.0, 0.01);
    assert!((tau.y / tau.x - 0.4).abs() < 1e-12, "{tau}");
    assert!((tau.y - tau.z).abs() < 1e-12 * mu);
    let bulk = 3.0 * lambda + 2.0 * mu;
    assert!((tau.sum() - bulk * (-2.0 * e)).abs() < 1e-12 * bulk);
    assert_eq!(gain, 0.0);
    // Pure shear under the pressure of ε = −e: the deviator is radial, of the length √2 s with s on the yield surface.
    let (strain, tau, _) = flow(rule, [-e + 0.1, -e, -e - 0.1], 0.0, 0.01);
    // A plane layer slides with tan φ times the pressure bulk e.
    let shear = angle.tan() * bulk * e;
    assert!((0.5 * (tau.x - tau.z) - shear).abs() < 1e-12 * mu, "{tau}");
    assert!((strain.sum() + 3.0 * e).abs() < 1e-14);
    // Expansion: no stress, and the volume is kept as a gain, which the next compression must use up first.
    let (strain, tau, gain) = flow(rule, [e, 2.0 * e, -e], 0.0, 0.01);
    assert_eq!((strain, tau), (Vec3::zeros(), Vec3::zeros()));
    assert!((gain - 2.0 * e).abs() < 1e-15);
    let (_, tau, gain) = flow(rule, [-0.5 * e; 3], gain, 0.01);
    assert_eq!(tau, Vec3::zeros());
    assert!((gain - 0.5 * e).abs() < 1e-15);
    let (_, tau, gain) = flow(rule, [-0.5 * e; 3], gain, 0.01);
    assert_eq!(gain, 0.0);
    assert!((tau.x + bulk * e / 3.0).abs() < 1e-12 * mu, "{tau}");
}

/// Shear above the yield stress against Bingham's law: without viscosity it returns to von Mises' cylinder; with it the
/// overstress relaxes with the time η/μ.
#[test]
fn goo_returns_to_the_cylinder() {
    let mu = lame().mu;
    let (limit, e) = (200.0, 0.1);
    let tension = |tau: Vec3| {
        let deviator = tau.add_scalar(-tau.mean());
        (1.5 * deviator.norm_squared()).sqrt()
    };
    let (_, tau, _) = flow(Yield::goo(limit, 0.0).unwrap(), [e, 0.0, -e], 0.0, 0.01);
    assert!((tension(tau) - limit).abs() < 1e-10 * limit);
    let (_, tau, _) = flow(Yield::goo(1e9, 0.0).unwrap(), [e, 0.0, -e], 0.0, 0.01);
    let trial = tension(tau);
    assert!((trial - 2.0 * mu * e * 3f64.sqrt()).abs() < 1e-10 * trial);
    // Many small steps at rest: the overstress falls off as exp(−t μ/η), here by e⁻¹, to the order of the step.
    let (eta, steps) = (50.0, 1000);
    let rule = Yield::goo(limit, eta).unwrap();
    let h = eta / mu / f64::from(steps);
    let mut strain = [e, 0.0, -e];
    let mut last = trial;
    for _ in 0..steps {
        let (after, tau, _) = flow(rule, strain, 0.0, h);
        (strain, last) = (after.into(), tension(tau));
    }
    let expected = limit + (trial - limit) * (-1f64).exp();
    assert!(
        (last / expected - 1.0).abs() < 1.0 / f64::from(steps),
        "{last} {expected}"
    );
}

/// Transfers and forces have the same bits with one thread and with four.
#[test]
fn any_number_of_threads_gives_the_same_bits() {
    let points = cloud(&mut Random::new(6), 400);
    let run = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads);
        pool.build().unwrap().install(|| {
            let mut grid = grid(&points);
            let v = grid.to_nodes(0.1, |p| points[p]).unwrap();
            let x: Vec<Vec3> = grid
                .nodes
                .iter()
                .zip(&v)
                .map(|(x, v)| x + v * 1e-3)
                .collect();
            let cells = GridCells {
                deformation: vec![Mat3::identity(); points.len()],
                gain: vec![0.0; points.len()],
                law: sand(),
                volume: 1e-5,
                h: 1e-3,
                grid,
            };
            let mut g = vec![Vec3::zeros(); x.len()];
            cells.add_gradient(&x, 1.0, &mut g).unwrap();
            (v, g)
        })
    };
    assert_eq!(run(1), run(4));
}
