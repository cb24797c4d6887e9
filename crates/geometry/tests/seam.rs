//! Edges of panels and the stitches between them.

#![allow(clippy::unwrap_used)]

use stiction_geometry::{
    SeamError, TriMesh,
    shapes::{Sheet, SheetPattern},
    stitches,
};
use stiction_math::{Quat, Vec3};

/// Two sheets side by side, of `n` and `m` cells along the common direction y.
fn sheets(n: u32, m: u32) -> TriMesh {
    let sheet = |cells: u32| Sheet {
        size: [1.0, 2.0],
        cells: [2, cells],
        pattern: SheetPattern::Regular,
    };
    let mut mesh = sheet(n).build().unwrap();
    let mut other = sheet(m).build().unwrap();
    let shift = Vec3::new(1.5, 0.0, 0.0);
    other.transform(&Quat::identity(), &Vec3::repeat(1.0), &shift);
    mesh.append(&other).unwrap();
    mesh
}

fn near(mesh: &TriMesh, x: f64) -> Vec<u32> {
    let on = |v: &u32| (mesh.positions[*v as usize].x - x).abs() < 1e-9;
    (0..mesh.positions.len() as u32).filter(on).collect()
}

#[test]
fn edges_of_two_panels_are_matched_level_by_level_in_either_direction() {
    let mesh = sheets(6, 6);
    let x = &mesh.positions;
    let a = mesh.outline_of(&near(&mesh, 0.5)).unwrap();
    let mut b = mesh.outline_of(&near(&mesh, 1.0)).unwrap();
    for _ in 0..2 {
        let found = stitches(&a, &b, x, false, false);
        assert_eq!(found.len(), 7);
        for [a, b] in &found {
            assert_eq!((a.len(), b.len()), (1, 1));
            let gap = x[a[0].0 as usize] - x[b[0].0 as usize];
            assert!((gap - Vec3::new(-0.5, 0.0, 0.0)).norm() < 1e-12);
        }
        b.vertices.reverse();
    }
    let turned = stitches(&a, &b, x, false, true);
    let gap = x[turned[0][0][0].0 as usize] - x[turned[0][1][0].0 as usize];
    assert!((gap.y.abs() - 2.0).abs() < 1e-12);
}

#[test]
fn a_finer_side_meets_points_on_the_edges_of_the_other() {
    let mesh = sheets(9, 4);
    let x = &mesh.positions;
    let y = |p: &[(u32, f64)]| -> f64 { p.iter().map(|(v, w)| x[*v as usize].y * w).sum() };
    let a = mesh.outline_of(&near(&mesh, 0.5)).unwrap();
    let b = mesh.outline_of(&near(&mesh, 1.0)).unwrap();
    for (first, second) in [(&a, &b), (&b, &a)] {
        let found = stitches(first, second, x, false, false);
        assert_eq!(found.len(), 10);
        assert!(found.iter().all(|[a, b]| (y(a) - y(b)).abs() < 1e-12));
    }
}

#[test]
fn a_path_through_corners_takes_the_shorter_way_and_runs_as_given() {
    let mesh = sheets(4, 4);
    let (low, high) = (Vec3::new(0.5, -1.0, 0.0), Vec3::new(0.5, 1.0, 0.0));
    let path = mesh.outline_through(&mesh.positions, &[high, low]).unwrap();
    let y: Vec<f64> = path
        .vertices
        .iter()
        .map(|v| mesh.positions[*v as usize].y)
        .collect();
    assert_eq!(y, [1.0, 0.5, 0.0, -0.5, -1.0]);
    let far = Vec3::new(2.0, 0.0, 0.0);
    let refused = mesh.outline_through(&mesh.positions, &[low, far]);
    assert!(matches!(refused, Err(SeamError::NoPath(..))));
}

#[test]
fn what_is_no_single_stretch_is_refused() {
    let mesh = sheets(4, 4);
    let mut both = near(&mesh, 0.5);
    both.extend(near(&mesh, 1.0));
    both.sort_unstable();
    assert_eq!(mesh.outline_of(&both), Err(SeamError::Several(2)));
    assert_eq!(mesh.outline_of(&[0]), Err(SeamError::NoEdge));
    let all: Vec<u32> = (0..15).collect();
    assert!(mesh.outline_of(&all).unwrap().closed);
}
