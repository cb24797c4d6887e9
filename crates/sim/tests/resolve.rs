//! Overlap at the start, moved apart.
#![allow(clippy::unwrap_used, clippy::panic)]

mod common;

use common::{GRAVITY, cloth, rubber, sheet};
use stiction_bodies::{
    BodyKind, Model, State,
    builder::{BodySpec, Builder},
    material::Damping,
    obstacle::{Obstacle, ObstacleShape, Solid},
};
use stiction_contact::detect::{Laws, PairLaw};
use stiction_geometry::collide::triangles_intersect;
use stiction_geometry::shapes::{BoxSolid, BoxSurface, TetPattern};
use stiction_math::{Quat, Vec3};
use stiction_sim::{
    colliders::{ContactRules, material_names},
    overlap::overlaps,
    resolve::{Config, ResolveError, ResolveReport, resolve},
};

const T: f64 = 2e-3;

fn rules(model: &Model) -> ContactRules {
    let count = material_names(model).len() as u32;
    let law = PairLaw {
        mu: 0.5,
        ..PairLaw::default()
    };
    ContactRules {
        thickness: T,
        laws: Laws::new(count, |_, _| law),
    }
}

fn shell(b: &mut Builder, name: &str, cells: u32, turn: Vec3, shift: Vec3) -> usize {
    let mut mesh = sheet(cells);
    let size = Vec3::repeat(0.2);
    mesh.transform(&Quat::from_scaled_axis(turn), &size, &shift);
    b.shell(BodySpec::new(name), mesh, &cloth()).unwrap()
}

fn solid(b: &mut Builder, name: &str, solid: Solid, at: Vec3) {
    let placement = stiction_geometry::analytic::Pose {
        translation: at,
        ..Default::default()
    };
    b.obstacle(Obstacle {
        name: name.to_owned(),
        material: name.to_owned(),
        shape: ObstacleShape::Solid(solid),
        placement,
        motion: None,
    });
}

fn floor(b: &mut Builder) {
    let normal = Vec3::z();
    solid(
        b,
        "floor",
        Solid::Plane {
            normal,
            offset: 0.0,
        },
        Vec3::zeros(),
    );
}

/// Every pair of triangles of different bodies, one by one.
fn crossings(model: &Model, state: &State) -> usize {
    let mut all = Vec::new();
    for (i, body) in model.bodies.iter().enumerate() {
        let mut x = Vec::new();
        body.surface.positions(&state.x, &state.rotations, &mut x);
        for t in &body.surface.triangles {
            all.push((i, t.map(|v| x[v as usize])));
        }
    }
    let mut count = 0;
    for (k, (i, a)) in all.iter().enumerate() {
        let other = all[k..].iter().filter(|(j, _)| j != i);
        count += other.filter(|(_, b)| triangles_intersect(a, b)).count();
    }
    count
}

fn rest(model: &Model) -> Vec<Vec3> {
    model
        .bodies
        .iter()
        .flat_map(|b| b.rest().to_vec())
        .collect()
}

/// Resolves and judges with code of its own; what was done, the state and the state before.
fn judged(b: Builder) -> (Model, State, State, ResolveReport) {
    let (model, mut state) = b.finish().unwrap();
    let (before, shapes) = (state.clone(), rest(&model));
    assert!(!overlaps(&model, &state, &rules(&model)).unwrap().is_empty());
    let report = resolve(&model, &mut state, &rules(&model), &Config::default()).unwrap();
    assert_eq!(crossings(&model, &state), 0);
    let left = overlaps(&model, &state, &rules(&model)).unwrap();
    assert!(left.is_empty(), "{}", left[0]);
    assert_eq!(shapes, rest(&model));
    assert_eq!(state.v, before.v);
    (model, state, before, report)
}

#[test]
fn two_sheets_that_cross_a_little_come_apart() {
    for tilt in [0.05, 0.15, -0.1] {
        let mut b = Builder::new(GRAVITY, None);
        shell(&mut b, "lower", 12, Vec3::zeros(), Vec3::zeros());
        // One side of the upper sheet dips through the lower one.
        let dip = Vec3::new(0.0, tilt, 0.0);
        let height = 0.1 * f64::sin(f64::abs(tilt)) - 2e-3;
        let shift = Vec3::new(0.013, 0.007, height);
        shell(&mut b, "upper", 11, dip, shift);
        let (model, state) = b.finish().unwrap();
        assert!(crossings(&model, &state) > 5);
        let mut b = Builder::new(GRAVITY, None);
        shell(&mut b, "lower", 12, Vec3::zeros(), Vec3::zeros());
        shell(&mut b, "upper", 11, dip, shift);
        let (_, _, _, report) = judged(b);
        // No node goes farther than a few times what it was through and the thickness.
        assert!(report.moved < 0.015, "{report:?}");
    }
}

#[test]
fn a_sheet_that_lies_too_close_is_lifted_and_no_more() {
    let mut b = Builder::new(GRAVITY, None);
    shell(&mut b, "lower", 6, Vec3::zeros(), Vec3::zeros());
    let up = Vec3::new(0.011, 0.017, 0.2 * T);
    shell(&mut b, "upper", 6, Vec3::zeros(), up);
    let (model, state, before, report) = judged(b);
    assert!(report.moved < 1.5 * T, "{report:?}");
    // Both yield, and the upper one stays above.
    let height = |s: &State, body: usize| {
        let x = &s.x[model.bodies[body].blocks.clone()];
        x.iter().map(|x| x.z).sum::<f64>() / x.len() as f64
    };
    assert!(height(&state, 1) > height(&before, 1));
    assert!(height(&state, 0) < height(&before, 0));
}

#[test]
fn a_block_that_is_sunk_in_the_floor_rises_without_turning_inside_out() {
    let mut b = Builder::new(GRAVITY, None);
    let mut mesh = BoxSolid {
        size: [0.1; 3],
        cells: [4; 3],
        pattern: TetPattern::Kuhn,
    }
    .build()
    .unwrap();
    let at = Vec3::new(0.0, 0.0, 0.05 - 0.012);
    mesh.transform(&Quat::identity(), &Vec3::repeat(1.0), &at);
    b.solid(BodySpec::new("block"), mesh, &rubber()).unwrap();
    floor(&mut b);
    let (model, state, _, report) = judged(b);
    let lowest = state.x.iter().map(|x| x.z).fold(f64::INFINITY, f64::min);
    assert!(lowest >= 0.99 * T, "{lowest}");
    assert!(report.moved < 0.03);
    let body = &model.bodies[0];
    for t in &body.tets {
        let x = t.map(|i| state.x[i as usize]);
        let volume = (x[1] - x[0]).cross(&(x[2] - x[0])).dot(&(x[3] - x[0]));
        assert!(volume > 0.0);
    }
}

#[test]
fn a_rigid_box_that_is_sunk_in_a_plane_rises_straight() {
    let mut b = Builder::new(GRAVITY, None);
    let mut mesh = BoxSurface {
        size: [0.1, 0.2, 0.06],
        cells: [2; 3],
    }
    .build()
    .unwrap();
    let at = Vec3::new(0.1, 0.0, 0.03 - 0.02);
    mesh.transform(&Quat::identity(), &Vec3::repeat(1.0), &at);
    let spec = BodySpec::new("box");
    b.rigid(spec, &mesh, 500.0, Damping::default()).unwrap();
    floor(&mut b);
    let (model, state, before, report) = judged(b);
    assert!(matches!(model.bodies[0].kind, BodyKind::Rigid(_)));
    let displacement = state.x[0] - before.x[0];
    assert!(
        (displacement - Vec3::z() * (0.02 + T)).norm() < 1e-4,
        "{displacement}"
    );
    assert!(state.rotations[0].angle() < 1e-3 && report.rounds < 20);
}

#[test]
fn a_box_deep_in_another_leaves_through_the_nearest_side() {
    let mut b = Builder::new(GRAVITY, None);
    for (name, z) in [("lower", 0.0), ("upper", 0.09)] {
        let mut mesh = BoxSurface {
            size: [0.1; 3],
            cells: [3; 3],
        }
        .build()
        .unwrap();
        let at = Vec3::new(0.01, 0.0, z);
        mesh.transform(&Quat::identity(), &Vec3::repeat(1.0), &at);
        let spec = BodySpec::new(name);
        b.rigid(spec, &mesh, 500.0, Damping::default()).unwrap();
    }
    let (_, state, before, _) = judged(b);
    // Equal masses share the displacement.
    assert!(state.x[2].z - before.x[2].z > 0.004);
    assert!(before.x[0].z - state.x[0].z > 0.004);
}

#[test]
fn overlaps_of_pinned_bodies_are_refused_with_their_names() {
    let mut b = Builder::new(GRAVITY, None);
    let body = shell(&mut b, "flag", 4, Vec3::zeros(), Vec3::zeros());
    let all: Vec<u32> = (0..25).collect();
    b.pin(body, &all, None).unwrap();
    solid(
        &mut b,
        "post",
        Solid::Sphere { radius: 0.05 },
        Vec3::zeros(),
    );
    let (model, mut state) = b.finish().unwrap();
    let before = state.clone();
    let error = resolve(&model, &mut state, &rules(&model), &Config::default());
    let error = error.unwrap_err();
    assert!(matches!(error, ResolveError::Held(_)));
    let text = error.to_string();
    assert!(text.contains("of `flag` overlaps `post`"), "{text}");
    assert_eq!(state.x, before.x);
}

#[test]
fn inseparable_overlaps_are_refused_after_bounded_work() {
    // A sheet between two plates that are closer than two thicknesses.
    let mut b = Builder::new(GRAVITY, None);
    shell(&mut b, "sheet", 4, Vec3::zeros(), Vec3::zeros());
    let plate = Solid::Box {
        half: Vec3::new(0.5, 0.5, 0.1),
    };
    solid(&mut b, "top", plate, Vec3::z() * (0.1 + 0.5 * T));
    solid(&mut b, "bottom", plate, Vec3::z() * (-0.1 - 0.5 * T));
    let (model, mut state) = b.finish().unwrap();
    let config = Config {
        rounds: 5,
        ..Config::default()
    };
    let error = resolve(&model, &mut state, &rules(&model), &config).unwrap_err();
    assert!(
        matches!(error, ResolveError::Stuck { rounds: 5, .. }),
        "{error}"
    );
}
