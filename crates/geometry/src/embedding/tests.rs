#![allow(clippy::unwrap_used)]
use super::*;
use crate::random::SplitMix;
use crate::shapes::*;
use stiction_math::Quat;

fn check(surface: &TriMesh, cell_size: f64, what: &str) -> Embedding {
    let config = EmbeddingConfig::new(cell_size);
    let e = config.build(surface).unwrap();
    e.lattice.check().unwrap();
    assert_eq!(e.fractions.len(), e.lattice.tets.len());
    assert_eq!(e.vertices.len(), surface.positions.len());
    for t in 0..e.lattice.tets.len() {
        let relative = e.lattice.tet_volume(t) * 12.0 / cell_size.powi(3);
        assert!((relative - 1.0).abs() < 1e-9);
        assert!(e.fractions[t] > 0.0 && e.fractions[t] <= 1.0);
    }
    for v in &e.vertices {
        assert!(v.weights.iter().all(|w| *w >= -1e-12));
        assert!((v.weights.iter().sum::<f64>() - 1.0).abs() < 1e-14);
    }
    let back = e.interpolate(&e.lattice.positions);
    for (x, y) in back.iter().zip(&surface.positions) {
        assert!((x - y).norm() < 1e-12, "{what}: {x} {y}");
    }
    let error = e.volume() / surface.volume() - 1.0;
    assert!(error.abs() < 0.02, "{what}: volume off by {error}");
    let estimate = config.node_count_estimate(surface).unwrap() as f64;
    let ratio = estimate / e.lattice.positions.len() as f64;
    assert!(
        (0.6..1.6).contains(&ratio),
        "{what}: estimate off by {ratio}"
    );
    e
}

#[test]
fn several_shapes_keep_their_volume_and_their_vertices() {
    let ball = BallSurface {
        radius: 0.5,
        frequency: 8,
    };
    let torus = TorusSurface {
        major: 0.5,
        minor: 0.2,
        around: 40,
        across: 16,
    };
    let capsule = CapsuleSurface {
        radius: 0.2,
        length: 0.7,
        rings: 5,
        along: 6,
    };
    let bowl = BowlSurface {
        radius: 0.5,
        depth: 0.5,
        thickness: 0.1,
        rings: 8,
        layers: 1,
    };
    let meshes = [
        (ball.build().unwrap(), "ball"),
        (torus.build().unwrap(), "torus"),
        (capsule.build().unwrap(), "capsule"),
        (bowl.build().unwrap(), "bowl"),
    ];
    for (mut m, what) in meshes {
        for cell in [0.15, 0.083] {
            check(&m, cell, what);
        }
        let turn = Quat::from_euler_angles(0.3, 1.0, -0.5);
        let scale = Vec3::new(1.0, 1.0, 1.0);
        m.transform(&turn, &scale, &Vec3::new(3.0, -2.0, 1.0));
        check(&m, 0.11, what);
    }
}

#[test]
fn walls_thinner_than_a_cell_keep_their_mass_and_hang_together() {
    for tilt in [0.0, 0.3] {
        let mut plate = BoxSurface {
            size: [1.0, 1.0, 0.01],
            cells: [10, 10, 1],
        }
        .build()
        .unwrap();
        let turn = Quat::from_euler_angles(tilt, 0.0, 0.0);
        plate.transform(&turn, &Vec3::new(1.0, 1.0, 1.0), &Vec3::zeros());
        let e = EmbeddingConfig {
            cell_size: 0.1,
            samples: 8,
        }
        .build(&plate)
        .unwrap();
        let error = e.volume() / 0.01 - 1.0;
        assert!(error.abs() < 0.05, "{error}");
        assert_eq!(e.lattice.components().count, 1);
    }
}

#[test]
fn aligned_boxes_are_exact_whatever_their_relation_to_the_lattice() {
    // At 45° the faces of the box can coincide with lattice planes.
    for angle in [0.0, std::f64::consts::FRAC_PI_4] {
        for size in [0.4, 0.45, 0.4 * 2.0_f64.sqrt()] {
            let mut m = BoxSurface {
                size: [size; 3],
                cells: [2; 3],
            }
            .build()
            .unwrap();
            let turn = Quat::from_euler_angles(0.0, 0.0, angle);
            m.transform(&turn, &Vec3::new(1.0, 1.0, 1.0), &Vec3::zeros());
            check(&m, 0.1, &format!("box {size} at {angle}"));
        }
    }
}

#[test]
fn triangles_much_larger_than_the_cells_are_no_trouble() {
    let mut m = BoxSurface {
        size: [1.0, 0.9, 0.8],
        cells: [1; 3],
    }
    .build()
    .unwrap();
    let turn = Quat::from_euler_angles(0.5, 0.4, 0.3);
    m.transform(&turn, &Vec3::new(1.0, 1.0, 1.0), &Vec3::zeros());
    let e = check(&m, 0.07, "box");
    assert_eq!(e.lattice.components().count, 1);
}

#[test]
fn kept_tetrahedra_are_those_that_reach_inside() {
    let ball = BallSurface {
        radius: 0.5,
        frequency: 6,
    };
    let surface = ball.build().unwrap();
    let e = check(&surface, 0.12, "ball");
    // The polyhedron lies between the balls of radius 0.5 and 0.48.
    let mut seen = [0; 2];
    for (t, f) in e.fractions.iter().enumerate() {
        let x = e.lattice.corners(t);
        let nearest = x.iter().map(|p| p.norm()).fold(f64::INFINITY, f64::min);
        let farthest = x.iter().map(|p| p.norm()).fold(0.0, f64::max);
        assert!(nearest < 0.5 + 0.12, "{nearest}");
        if farthest < 0.48 {
            assert_eq!(*f, 1.0);
            seen[0] += 1;
        } else if nearest > 0.5 {
            assert!(*f < 0.3);
            seen[1] += 1;
        }
    }
    assert!(seen[0] > 100);
    // None is missing: every point inside the ball lies in a kept tetrahedron.
    let inside = InsideTest::new(&e.lattice.surface().0).unwrap();
    let mut random = SplitMix::new(2);
    for _ in 0..500 {
        let p = Vec3::from_fn(|_, _| random.uniform() - 0.5);
        if p.norm() < 0.47 {
            assert!(inside.contains(&p), "{p}");
        }
    }
}

#[test]
fn one_thread_and_two_give_the_same_bits() {
    let torus = TorusSurface {
        major: 0.5,
        minor: 0.2,
        around: 20,
        across: 10,
    };
    let m = torus.build().unwrap();
    let with = |threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads);
        let build = || EmbeddingConfig::new(0.1).build(&m).unwrap();
        pool.build().unwrap().install(build)
    };
    assert_eq!(with(1), with(3));
}

#[test]
fn faults_are_named() {
    let ball = BallSurface {
        radius: 0.5,
        frequency: 2,
    };
    let m = ball.build().unwrap();
    let error = |m: &TriMesh, cell| EmbeddingConfig::new(cell).build(m).unwrap_err();
    assert_eq!(error(&m, 0.0), EmbeddingError::CellSize(0.0));
    assert!(matches!(error(&m, 1e-5), EmbeddingError::TooLarge { .. }));
    assert!(matches!(error(&m, 1e-200), EmbeddingError::FarAway { .. }));
    assert_eq!(error(&TriMesh::default(), 0.1), EmbeddingError::Empty);
    let mut turned = m.clone();
    turned.flip();
    assert!(matches!(error(&turned, 0.1), EmbeddingError::Volume { .. }));
    let mut open = m.clone();
    open.triangles.pop();
    let hole = error(&open, 0.1);
    assert!(matches!(
        hole,
        EmbeddingError::Mesh(MeshError::OpenEdge { .. })
    ));
    let samples = EmbeddingConfig {
        cell_size: 0.1,
        samples: 0,
    };
    assert_eq!(samples.build(&m).unwrap_err(), EmbeddingError::Samples(0));
}
