//! Frames: derivatives, mass, invariances, and beams and plates against closed forms.
#![allow(clippy::print_stdout)] // what was measured, with --nocapture
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod elements_common;

use std::f64::consts::PI;

use elements_common::{Random, assert_report};
use stiction_bodies::{
    BodyKind, Hessian, Model, State, Stencil,
    builder::{BodySpec, BuildError, Builder},
    check::check_element,
    elements::Elements,
    frames::{FrameError, Skeleton},
    material::{Damping, SolidLaw, SolidMaterial},
    solid::{Corotated, FixedCorotated, IsotropicLaw, Lame},
};
use stiction_geometry::{Plant, PlantPart, PlantSection};
use stiction_math::nalgebra::{DMatrix, DVector, SymmetricEigen};
use stiction_math::{BlockMatrix, Mat3, Quat, Vec3};

const YOUNG: f64 = 2e6;
const POISSON: f64 = 0.3;
const DENSITY: f64 = 300.0;

fn material(poisson: f64) -> SolidMaterial {
    SolidMaterial {
        density: DENSITY,
        young: YOUNG,
        poisson,
        law: SolidLaw::Corotated,
        damping: Damping::default(),
    }
}

fn part(points: Vec<Vec3>, section: PlantSection, frames: [u32; 2]) -> PlantPart {
    PlantPart {
        points,
        cells: match section {
            PlantSection::Round { .. } => [2, 8],
            PlantSection::Flat { .. } => [2, 2 * frames[1]],
        },
        section,
        up: Vec3::z(),
        frames,
        stiffness: 1.0,
        parent: None,
    }
}

fn rod(length: f64, radius: f64, frames: u32) -> PlantPart {
    let section = PlantSection::Round {
        radii: vec![radius],
    };
    part(
        vec![Vec3::zeros(), Vec3::x() * length],
        section,
        [frames, 1],
    )
}

fn strip(length: f64, width: f64, thickness: f64, frames: [u32; 2]) -> PlantPart {
    let section = PlantSection::Flat {
        widths: vec![width],
        thickness,
    };
    part(vec![Vec3::zeros(), Vec3::x() * length], section, frames)
}

/// A bent trunk with a twig on it and a leaf at its end: cells over two, three and four frames.
fn tree() -> Plant {
    let bent = vec![
        Vec3::zeros(),
        Vec3::new(0.1, 0.0, 0.9),
        Vec3::new(0.4, 0.1, 1.8),
    ];
    let section = PlantSection::Round {
        radii: vec![0.1, 0.06],
    };
    let trunk = part(bent, section, [3, 1]);
    let mut twig = rod(1.0, 0.03, 3);
    twig.points = vec![
        Vec3::new(0.2, 0.15, 0.7),
        Vec3::new(0.2, 0.7, 0.9),
        Vec3::new(0.1, 1.2, 0.8),
    ];
    twig.parent = Some(0);
    let mut leaf = strip(1.0, 0.1, 0.01, [3, 2]);
    leaf.points = vec![Vec3::new(0.45, 0.1, 1.9), Vec3::new(1.2, 0.2, 2.1)];
    leaf.section = PlantSection::Flat {
        widths: vec![0.05, 0.2, 0.05],
        thickness: 0.01,
    };
    leaf.parent = Some(0);
    Plant {
        parts: vec![trunk, twig, leaf],
    }
}

fn checked<L: IsotropicLaw, const K: usize>(name: &str, laws: [L; 2], curves: bool) {
    let skeleton = Skeleton::new(&tree(), DENSITY).unwrap();
    let cells = skeleton.blended::<L, K>(laws, curves).unwrap().unwrap();
    let mut random = Random::new(11);
    for (e, nodes) in cells.nodes().iter().enumerate().take(2) {
        let rest = nodes.map(|n| skeleton.nodes[n as usize]);
        let size = rest
            .iter()
            .map(|p| (p - rest[0]).norm())
            .fold(0.0, f64::max);
        for amount in [0.0, 1e-3, 0.02] {
            let turn = random.rotation();
            // Frames are disturbed by what they are large: thin ones would turn inside out.
            let x: [Vec3; K] = std::array::from_fn(|i| {
                let others = (0..4).map(|a| (rest[i] - rest[i / 4 * 4 + a]).norm());
                let least = others.filter(|d| *d > 0.0).fold(size, f64::min);
                turn * (rest[i] + random.vector(amount * least))
            });
            let report = check_element(&cells, e, &x);
            assert_report(&format!("{name}, cell {e}, {amount}"), &report, 1e-6);
        }
    }
}

#[test]
fn derivatives_of_every_cell() {
    let lame = Lame::new(YOUNG, POISSON).unwrap();
    let rest = Lame {
        mu: 0.0,
        lambda: 0.4 * lame.lambda,
    };
    let corotated = || [lame, rest].map(|lame| Corotated { lame });
    checked::<_, 8>("two frames", corotated(), false);
    checked::<_, 12>("three frames", corotated(), false);
    // Its root follows two frames of the trunk in addition to its own.
    checked::<_, 16>("leaf", corotated(), true);
    let fixed = [lame, rest].map(|lame| FixedCorotated { lame });
    checked::<_, 8>("fixed, two frames", fixed, false);
}

fn built(plant: &Plant, poisson: f64) -> (Model, State) {
    let mut b = Builder::new(Vec3::zeros(), None);
    b.frames(BodySpec::new("tree"), plant, &material(poisson))
        .unwrap();
    b.finish().unwrap()
}

/// Second moments of the nodes about the origin [kg·m²].
fn second(skeleton: &Skeleton) -> Mat3 {
    let nodes = skeleton.nodes.iter().zip(&skeleton.masses);
    nodes.map(|(x, m)| x * x.transpose() * *m).sum()
}

#[test]
fn mass_centre_and_inertia_are_those_of_the_material() {
    for frames in [2, 3, 7] {
        let plant = Plant {
            parts: vec![rod(1.0, 0.05, frames)],
        };
        let skeleton = Skeleton::new(&plant, DENSITY).unwrap();
        let mass = DENSITY * PI * 0.05f64.powi(2);
        assert!((skeleton.masses.iter().sum::<f64>() / mass - 1.0).abs() < 1e-12);
        let section = mass * 0.05f64.powi(2) / 4.0;
        let exact = Mat3::from_diagonal(&Vec3::new(mass / 3.0, section, section));
        assert!((second(&skeleton) - exact).norm() < 1e-12 * exact.norm());
    }
    let plant = Plant {
        parts: vec![strip(1.0, 0.3, 0.01, [4, 3])],
    };
    let skeleton = Skeleton::new(&plant, DENSITY).unwrap();
    let mass = DENSITY * 0.3 * 0.01;
    let exact = Vec3::new(mass / 3.0, mass * 0.09 / 12.0, mass * 1e-4 / 12.0);
    assert!((second(&skeleton) - Mat3::from_diagonal(&exact)).norm() < 1e-12 * mass);
}

#[test]
fn affine_motion_carries_the_skin_and_rigid_motion_costs_nothing() {
    let plant = tree();
    let (model, mut state) = built(&plant, POISSON);
    let (mesh, _) = plant.surface();
    let mut found = Vec::new();
    let surface = &model.bodies[0].surface;
    surface.positions(&state.x, &[], &mut found);
    let gap = |a: &[Vec3], b: &[Vec3]| {
        a.iter()
            .zip(b)
            .map(|(a, b)| (a - b).norm())
            .fold(0.0, f64::max)
    };
    assert!(gap(&found, &mesh.positions) < 1e-12);
    let mut random = Random::new(3);
    let map = Mat3::identity() + Mat3::from_fn(|_, _| random.range(-0.4, 0.4));
    let moved = |x: &Vec3| map * x + Vec3::new(1.0, 2.0, 3.0);
    state.x.iter_mut().for_each(|x| *x = moved(x));
    surface.positions(&state.x, &[], &mut found);
    let target: Vec<Vec3> = mesh.positions.iter().map(moved).collect();
    assert!(gap(&found, &target) < 1e-12);
    // The energy of a uniform deformation is that of the plant's volume, with its own λ.
    let lame = Lame::new(YOUNG, POISSON).unwrap();
    let law = Corotated { lame };
    let volume = model.bodies[0].total_mass() / DENSITY;
    let exact = volume * law.energy(&stiction_math::svd3(&map).sigma);
    let energy = stiction_bodies::energy::elastic_energy(&model.bodies[0], &state);
    assert!((energy / exact - 1.0).abs() < 2e-3, "{energy} {exact}");
    let turn = Quat::from_scaled_axis(Vec3::new(0.4, -2.0, 1.0));
    let (_, rest) = built(&plant, POISSON);
    state.x = rest.x.iter().map(|x| turn * x + Vec3::y()).collect();
    let energy = stiction_bodies::energy::elastic_energy(&model.bodies[0], &state);
    assert!(energy < 1e-18 * exact, "{energy}");
}

/// Displacements of the nodes of a body held at its first `held` nodes under forces on points.
fn statics(model: &Model, state: &State, held: usize, loads: &[(Stencil, Vec3)]) -> Vec<Vec3> {
    let BodyKind::Deformable(body) = &model.bodies[0].kind else {
        panic!("no frames");
    };
    let mut a = BlockMatrix::zeros(body.pattern.clone());
    let mut g = vec![Vec3::zeros(); state.x.len()];
    for term in &body.terms {
        term.add_local(&state.x, Hessian::Full, 1.0, &mut g, 1.0, &mut a)
            .unwrap();
    }
    let n = 3 * (state.x.len() - held);
    let mut k = DMatrix::zeros(n, n);
    for i in held..state.x.len() {
        let start = a.pattern.row_start()[i];
        for (at, &j) in a.pattern.row(i).iter().enumerate() {
            let j = j as usize;
            if j >= held {
                let block = a.values[start + at];
                k.view_mut((3 * (i - held), 3 * (j - held)), (3, 3))
                    .copy_from(&block);
            }
        }
    }
    let mut f = DVector::zeros(n);
    for (stencil, load) in loads {
        stencil.for_each_arm(&[], |i, arm| {
            let i = i as usize;
            if i >= held {
                let push = arm.transpose_mul(load);
                for c in 0..3 {
                    f[3 * (i - held) + c] += push[c];
                }
            }
        });
    }
    // Equilibrate: thin frames have far stiffer axes than others.
    let scale = k.diagonal().map(|d| 1.0 / d.sqrt());
    let scaled = DMatrix::from_fn(n, n, |i, j| k[(i, j)] * scale[i] * scale[j]);
    // Slopes of several frames have means that move nothing: neither loads nor stiffness see them.
    let eigen = SymmetricEigen::new(scaled);
    let most = eigen.eigenvalues.max();
    let inverse = eigen
        .eigenvalues
        .map(|l| if l > 1e-13 * most { 1.0 / l } else { 0.0 });
    let along = eigen.eigenvectors.tr_mul(&f.component_mul(&scale));
    let y = &eigen.eigenvectors * along.component_mul(&inverse);
    let y = y.component_mul(&scale);
    let mut u = vec![Vec3::zeros(); state.x.len()];
    for i in held..u.len() {
        u[i] = Vec3::from_fn(|c, _| y[3 * (i - held) + c]);
    }
    u
}

/// The displacement of the end of a beam under a force there.
fn deflection(part: PlantPart, poisson: f64, load: Vec3) -> Vec3 {
    let held = 4 * part.frames[1] as usize;
    let plant = Plant { parts: vec![part] };
    let (model, state) = built(&plant, poisson);
    let surface = &model.bodies[0].surface;
    let vertices = plant.surface().1;
    let end = vertices.iter().map(|v| v.along).max().unwrap();
    // The whole last row, so that no single point is pressed in.
    let row: Vec<usize> = (0..surface.len())
        .filter(|v| vertices[*v].along == end)
        .collect();
    let share = 1.0 / row.len() as f64;
    let loads: Vec<_> = row
        .iter()
        .map(|v| (surface.stencil(*v), load * share))
        .collect();
    let u = statics(&model, &state, held, &loads);
    row.iter()
        .map(|v| surface.stencil(*v).position_at(&u, &[]) * share)
        .sum()
}

#[test]
fn a_cantilever_bends_as_euler_and_bernoulli_say() {
    let (length, radius) = (1.0, 0.01);
    let inertia = PI * f64::powi(radius, 4) / 4.0;
    let euler = 1e-3 * f64::powi(length, 3) / (3.0 * YOUNG * inertia);
    for poisson in [0.0, POISSON] {
        let shear = YOUNG / (2.0 * (1.0 + poisson));
        let sheared = 1e-3 * length / (shear * PI * radius * radius);
        for cells in [1, 2, 4, 8, 16] {
            let u = deflection(rod(length, radius, cells + 1), poisson, Vec3::z() * 1e-3);
            // Piecewise constant curvature leaves 1/4n² of the deflection out.
            let n = f64::from(cells);
            let expected = euler * (1.0 - 0.25 / (n * n)) + sheared;
            let error = u.z / expected - 1.0;
            println!(
                "ν {poisson} n {n}: {:.5} of Euler, {error:.2e}",
                u.z / euler
            );
            assert!(error.abs() < 1e-6, "{n}: {error}");
        }
    }
}

#[test]
fn rods_stretch_and_twist_by_their_moduli() {
    let (length, radius) = (1.0, 0.02);
    let area = PI * radius * radius;
    let u = deflection(rod(length, radius, 9), POISSON, Vec3::x());
    let exact = length / (YOUNG * area);
    println!("stretch {:.5}", u.x / exact);
    // Near the clamp the section cannot narrow.
    assert!((u.x / exact - 1.0).abs() < 0.02, "{}", u.x / exact);

    let plant = Plant {
        parts: vec![rod(length, radius, 5)],
    };
    let (model, state) = built(&plant, POISSON);
    let surface = &model.bodies[0].surface;
    let vertices = plant.surface().1;
    let end = vertices.iter().map(|v| v.along).max().unwrap();
    let rim: Vec<usize> = (0..surface.len())
        .filter(|v| vertices[*v].along == end && vertices[*v].position.yz().norm() > 0.5 * radius)
        .collect();
    let across = |v: usize| {
        let p = vertices[v].position;
        Vec3::x().cross(&Vec3::new(0.0, p.y, p.z)).normalize()
    };
    let loads: Vec<_> = rim
        .iter()
        .map(|v| (surface.stencil(*v), across(*v)))
        .collect();
    let u = statics(&model, &state, 4, &loads);
    let torque = rim.len() as f64 * radius;
    let shear = YOUNG / (2.0 * (1.0 + POISSON));
    let exact = torque * length / (shear * 0.5 * area * radius * radius);
    let angle = surface
        .stencil(rim[0])
        .position_at(&u, &[])
        .dot(&across(rim[0]))
        / radius;
    println!("twist {:.6}", angle / exact);
    assert!((angle / exact - 1.0).abs() < 1e-9, "{}", angle / exact);
}

#[test]
fn a_strip_bends_as_a_plate_and_several_frames_across_let_it_twist() {
    let (length, width, thickness) = (1.0, 0.1, 0.004);
    let inertia = width * f64::powi(thickness, 3) / 12.0;
    let beam = 1e-4 * f64::powi(length, 3) / (3.0 * YOUNG * inertia);
    let n = 8.0;
    for across in [1, 3] {
        let part = strip(length, width, thickness, [9, across]);
        let u = deflection(part, POISSON, Vec3::z() * 1e-4);
        let ratio = u.z / (beam * (1.0 - 0.25 / (n * n)));
        println!("strip, {across} across: {ratio:.4}");
        // Between free narrowing, 1, and none, 1 − ν²; the clamp holds some of it.
        let low = if across == 1 {
            0.995
        } else {
            1.0 - POISSON * POISSON
        };
        assert!(ratio > low && ratio < 1.005, "{across}: {ratio}");
    }
    // A couple at the corners of the end; the twist of the outer half, which the clamp does not see.
    let shear = YOUNG / (2.0 * (1.0 + POISSON));
    let edges = 1.0 - 0.63 * thickness / width;
    let thin = shear * width * f64::powi(thickness, 3) / 3.0 * edges;
    let stiff = shear * (width * f64::powi(thickness, 3) + f64::powi(width, 3) * thickness) / 12.0;
    let twist = |across: u32| {
        let plant = Plant {
            parts: vec![strip(length, width, thickness, [9, across])],
        };
        let (model, state) = built(&plant, POISSON);
        let surface = &model.bodies[0].surface;
        let vertices = plant.surface().1;
        let sides = |along: u32| {
            [-1.0, 1.0].map(|side| {
                let here = |v: &usize| vertices[*v].along == along && vertices[*v].across == side;
                surface.stencil((0..surface.len()).find(here).unwrap())
            })
        };
        let [a, b] = sides(16);
        let loads = [(a, Vec3::z() * 1e-5), (b, Vec3::z() * -1e-5)];
        let u = statics(&model, &state, 4 * across as usize, &loads);
        let angle = |along: u32| {
            let lift = sides(along).map(|s| s.position_at(&u, &[]).z);
            (lift[0] - lift[1]) / width
        };
        (angle(16) - angle(8)) / (0.5 * length) / (1e-5 * width)
    };
    let (one, two, three) = (twist(1) * stiff, twist(2) * thin, twist(3) * thin);
    println!(
        "twist: {one:.4} of the unwarped with one across, {two:.4} and {three:.4} of a thin strip with two and three"
    );
    assert!((one - 1.0).abs() < 1e-3, "{one}");
    assert!((two - 1.0).abs() < 2e-3, "{two}");
    assert!((three - 1.0).abs() < 2e-3, "{three}");
}

#[test]
fn unsupported_parts_of_frames_are_refused() {
    let mut b = Builder::new(Vec3::zeros(), None);
    let plant = Plant {
        parts: vec![rod(1.0, 0.1, 3)],
    };
    let law = SolidMaterial {
        law: SolidLaw::NeoHookean,
        ..material(0.3)
    };
    let refused = b.frames(BodySpec::new("a"), &plant, &law);
    assert!(matches!(
        refused,
        Err(BuildError::Frames {
            source: FrameError::Law,
            ..
        })
    ));
    // A hairpin.
    let mut folded = rod(1.0, 0.3, 9);
    folded.points = vec![
        Vec3::zeros(),
        Vec3::new(0.5, 0.05, 0.0),
        Vec3::new(0.0, 0.1, 0.0),
    ];
    let refused = Skeleton::new(
        &Plant {
            parts: vec![folded],
        },
        1.0,
    );
    assert!(matches!(refused, Err(FrameError::Folded { .. })));
    // A leaf of three frames across, at the root cell of a branch that grows in the middle of another.
    let mut all = tree();
    all.parts[2].frames = [3, 3];
    all.parts[2].points = vec![Vec3::new(0.2, 0.3, 0.75), Vec3::new(0.8, 0.3, 0.75)];
    all.parts[2].parent = Some(1);
    let refused = Skeleton::new(&all, 1.0);
    assert!(
        matches!(refused, Err(FrameError::TooMany { part: 2, frames: 5 })),
        "{refused:?}"
    );
}
