//! Animated meshes, what they carry, and stitches.

#![allow(clippy::unwrap_used)]

use std::sync::Arc;

use stiction_bodies::{
    Attachment, Closing, Stencil,
    animated::{AnimatedMesh, AnimationError},
    motion::{Carrier, Interpolation, Motion, Pose, Track},
    obstacle::{Obstacle, ObstacleShape},
};
use stiction_math::{Quat, Vec3};

#[test]
fn every_vertex_follows_the_track_through_its_frames() {
    let times = vec![0.0, 0.5, 2.0, 2.25];
    let frame = |i: usize| {
        let p = |v: usize| Vec3::new(v as f64, (i * i) as f64 - v as f64, (i + v) as f64 * 0.3);
        vec![p(0), p(1), p(2)]
    };
    let frames: Vec<Vec<Vec3>> = (0..4).map(frame).collect();
    for kind in [
        Interpolation::Linear,
        Interpolation::Smooth,
        Interpolation::Spline,
    ] {
        let mesh = AnimatedMesh::new(vec![[0, 1, 2]], times.clone(), frames.clone(), kind).unwrap();
        let mut all = Vec::new();
        for k in -2..30 {
            let t = f64::from(k) * 0.1;
            mesh.positions(t, &mut all);
            for (v, found) in all.iter().enumerate() {
                let keys = frames.iter().map(|f| f[v]).collect();
                let expected = Track::new(times.clone(), keys, kind).unwrap().at(t);
                assert!((found - expected).norm() < 1e-14, "{kind:?} {t}");
                assert!((mesh.vertex(v, t) - expected).norm() < 1e-14);
            }
        }
    }
}

#[test]
fn frames_that_do_not_fit_are_refused_by_number() {
    let new = |triangles, frames| {
        AnimatedMesh::new(triangles, vec![0.0, 1.0], frames, Interpolation::Linear)
    };
    let x = vec![Vec3::zeros(); 3];
    let refused = new(vec![], vec![x.clone(), x[1..].to_vec()]).unwrap_err();
    assert!(refused.to_string().contains("frame 1 has 2 vertices"));
    let refused = new(vec![[0, 1, 3]], vec![x.clone(), x.clone()]).unwrap_err();
    assert_eq!(refused, AnimationError::Index { triangle: 0 });
    let refused = new(vec![], vec![x]).unwrap_err();
    assert!(matches!(refused, AnimationError::Track(_)));
}

/// A point that a triangle carries keeps its place in the frame of the triangle, also off its plane.
#[test]
fn a_carried_point_moves_with_its_triangle_as_with_a_rigid_body() {
    let turn = Quat::from_euler_angles(0.4, -0.9, 1.3);
    let shift = Vec3::new(0.3, -2.0, 0.7);
    let x = [
        Vec3::new(0.1, 0.2, 0.3),
        Vec3::new(1.1, 0.1, 0.5),
        Vec3::new(0.4, 0.9, -0.2),
    ];
    let moved = x.map(|p| turn * p + shift);
    let frames = vec![x.to_vec(), moved.to_vec()];
    let mesh = AnimatedMesh::new(
        vec![[0, 1, 2]],
        vec![0.0, 1.0],
        frames,
        Interpolation::Linear,
    )
    .unwrap();
    let placement = Pose {
        rotation: Quat::from_euler_angles(1.0, 0.2, 0.0),
        translation: Vec3::new(5.0, 0.0, 0.0),
    };
    let obstacle = Obstacle {
        name: "triangle".to_owned(),
        material: "skin".to_owned(),
        shape: ObstacleShape::Animated(Arc::new(mesh)),
        placement,
        motion: None,
    };
    assert!(obstacle.moves());
    let mut vertices = Vec::new();
    obstacle.vertices(1.0, &mut vertices);
    assert!((vertices[1] - placement.apply(&moved[1])).norm() < 1e-14);
    let motion = Motion {
        carrier: Some(Carrier {
            obstacle: Arc::new(obstacle),
            triangle: Some(0),
        }),
        ..Motion::default()
    };
    let local = Vec3::new(0.5, 0.6, 0.9);
    let [from, to] = [local, turn * local + shift].map(|p| placement.apply(&p));
    assert!((motion.pose(0.0).apply(&from) - from).norm() < 1e-14);
    assert!((motion.pose(1.0).apply(&from) - to).norm() < 1e-13);
}

/// A cord of a seam pulls with the stiffness beyond its length, which falls to zero, and is slack below.
#[test]
fn a_stitch_pulls_beyond_the_length_of_its_cord_and_never_pushes() {
    let stitch = Attachment {
        a: Stencil::World(Vec3::zeros()),
        b: Stencil::World(Vec3::zeros()),
        stiffness: 50.0,
        length: 0.0,
        damping: 0.1,
        motion: None,
        closing: Some(Closing {
            times: [1.0, 3.0],
            length: 0.4,
        }),
    };
    let d = Vec3::new(0.0, 0.3, 0.0);
    for (t, force) in [(0.5, 0.0), (1.2, 0.0), (2.0, 5.0), (3.0, 15.0), (9.0, 15.0)] {
        let pull = stitch.pull(&d, t);
        assert!(
            (pull.gradient - Vec3::new(0.0, force, 0.0)).norm() < 1e-12,
            "{t}"
        );
        let e = 1e-6;
        let ahead = stitch.pull(&(d + Vec3::y() * e), t).energy;
        let behind = stitch.pull(&(d - Vec3::y() * e), t).energy;
        assert!(((ahead - behind) / (2.0 * e) - force).abs() < 1e-7);
        let damped = stitch.dashpot(&d, t)[(1, 1)];
        assert_eq!(damped, if force > 0.0 { 5.0 } else { 0.0 });
    }
}
