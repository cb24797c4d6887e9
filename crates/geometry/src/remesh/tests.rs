#![allow(clippy::unwrap_used)]
use stiction_math::{Mat3, Vec3};

use super::{
    edit::{Editor, area_vector},
    sheet::Sheet,
    trace::Trace,
    *,
};
use crate::{
    mesh::TriMesh,
    random::SplitMix,
    shapes::{BoxSurface, Sheet as Rectangle, SheetPattern},
};

fn rectangle(cells: [u32; 2], jitter: f64) -> TriMesh {
    let pattern = match jitter > 0.0 {
        true => SheetPattern::Irregular { jitter, seed: 7 },
        false => SheetPattern::Alternating,
    };
    let size = [1.0, 0.7];
    let mut mesh = Rectangle {
        size,
        cells,
        pattern,
    }
    .build()
    .unwrap();
    // Not along the axes, so that nothing is exact by chance.
    let turn = stiction_math::elementary::rotation(&Vec3::new(0.3, -0.5, 0.8));
    mesh.transform(&turn, &Vec3::repeat(1.0), &Vec3::new(0.1, 0.2, 0.3));
    mesh
}

fn normal(mesh: &TriMesh) -> Vec3 {
    mesh.triangle_normals()[0]
}

/// A bent sheet with two labels.
struct Case {
    mesh: TriMesh,
    world: Vec<Vec3>,
    labels: Vec<u32>,
    hold: Vec<Hold>,
}

impl Case {
    fn new(mesh: TriMesh) -> Self {
        let wave = |p: &Vec3| p + Vec3::new(0.0, 0.02, 0.05) * (5.0 * p.x).sin();
        Self {
            world: mesh.positions.iter().map(wave).collect(),
            labels: vec![0; mesh.triangles.len()],
            hold: vec![Hold::default(); mesh.positions.len()],
            mesh,
        }
    }

    fn remesh(&self, sizing: &[Sizing]) -> Option<Remeshed> {
        self.guarded(sizing, None).0
    }

    fn guarded(
        &self,
        sizing: &[Sizing],
        guard: Option<&dyn Guard>,
    ) -> (Option<Remeshed>, RemeshCounts) {
        let input = SheetInput {
            rest: &self.mesh.positions,
            world: &self.world,
            triangles: &self.mesh.triangles,
            labels: &self.labels,
            hold: &self.hold,
            sizing,
        };
        remesh(&input, RemeshConfig::default(), guard).unwrap()
    }

    /// The case after a change. Checks that the change describes itself correctly.
    fn after(&self, made: &Remeshed) -> Self {
        let values = |of: &[Vec3]| -> Vec<Vec3> {
            (0..made.nodes.len())
                .map(|i| made.nodes.value(i, of))
                .collect()
        };
        let mesh = TriMesh {
            positions: values(&self.mesh.positions),
            triangles: made.triangles.clone(),
        };
        mesh.check().unwrap();
        let (was, is) = (self.mesh.area(), mesh.area());
        assert!((was - is).abs() < 1e-12 * was, "{was} {is}");
        // Old vertices are where they were.
        for (v, x) in self.mesh.positions.iter().enumerate() {
            let at = made.old_nodes.value(v, &mesh.positions);
            assert!((at - x).norm() < 1e-12, "{v}: {at} {x}");
            let weights = made.old_nodes.row(v);
            assert!(weights.iter().all(|e| e.1 > 0.0));
        }
        let mut labels = vec![u32::MAX; mesh.triangles.len()];
        for o in &made.overlaps {
            let old = self.mesh.corners(o.triangle as usize);
            for (k, w) in o.corners.iter().enumerate() {
                let p = old[0] * w[0] + old[1] * w[1] + old[2] * w[2];
                let x = mesh.corners(o.child as usize)[k];
                assert!((p - x).norm() < 1e-10, "{p} {x}");
            }
            let label = self.labels[o.triangle as usize];
            let own = &mut labels[o.child as usize];
            assert!(
                *own == u32::MAX || *own == label,
                "a triangle of two labels"
            );
            *own = label;
        }
        assert!(labels.iter().all(|l| *l != u32::MAX));
        let area = |mesh: &TriMesh, labels: &[u32]| {
            let own = (0..labels.len()).filter(|t| labels[*t] == 1);
            own.map(|t| mesh.area_vector(t).norm()).sum::<f64>()
        };
        let (was, is) = (area(&self.mesh, &self.labels), area(&mesh, &labels));
        assert!((was - is).abs() < 1e-12, "{was} {is}");
        let pinned = |v: usize| {
            let row = made.nodes.row(v);
            let first = self.hold[row[0].0 as usize].pin;
            let all = row.iter().all(|e| self.hold[e.0 as usize].pin == first);
            Hold {
                pin: first.filter(|_| all),
                fixed: made
                    .nodes
                    .same(v)
                    .is_some_and(|o| self.hold[o as usize].fixed),
            }
        };
        Self {
            world: values(&self.world),
            hold: (0..mesh.positions.len()).map(pinned).collect(),
            labels,
            mesh,
        }
    }

    fn uniform(&self, length: f64) -> Vec<Sizing> {
        let normals = self.mesh.vertex_normals();
        normals
            .iter()
            .map(|n| Sizing::uniform(*n, length))
            .collect()
    }

    fn largest_size(&self, sizing: impl Fn(&Vec3) -> Sizing) -> f64 {
        let size = |[a, b]: [u32; 2]| {
            let [a, b] = [a, b].map(|v| self.mesh.positions[v as usize]);
            (0.5 * (sizing(&a).squared(&(b - a)) + sizing(&b).squared(&(b - a)))).sqrt()
        };
        self.mesh.edges().into_iter().map(size).fold(0.0, f64::max)
    }
}

fn editor(case: &Case, length: f64) -> Editor<'_> {
    let sheet = Sheet::new(
        &case.mesh.positions,
        &case.world,
        &case.mesh.triangles,
        &case.labels,
    );
    Editor {
        sheet: sheet.unwrap(),
        sizing: case.uniform(length),
        hold: case.hold.clone(),
        trace: Trace::new(&case.mesh.positions, &case.mesh.triangles),
        config: RemeshConfig::default(),
        guard: None,
        counts: RemeshCounts::default(),
        fresh: Vec::new(),
    }
}

/// Half of the sheet, by the first coordinate of the rest shape.
fn two_labels(mesh: &TriMesh) -> Vec<u32> {
    let x = |t: usize| mesh.corners(t).iter().map(|p| p.x).sum::<f64>();
    (0..mesh.triangles.len())
        .map(|t| u32::from(x(t) > 0.5))
        .collect()
}

/// The longest edge of the triangles at a half-edge [m].
fn longest_around(sheet: &Sheet, h: u32) -> f64 {
    let twin = sheet.twin(h);
    let triangles = [h / 3, if twin == sheet::NONE { h / 3 } else { twin / 3 }];
    let edges = triangles.into_iter().flat_map(|t| 3 * t..3 * t + 3);
    let length = |h: u32| {
        let ends = [sheet.from(h), sheet.to(h)].map(|v| sheet.rest[v as usize]);
        (ends[0] - ends[1]).norm()
    };
    edges.map(length).fold(0.0, f64::max)
}

/// 10⁵ operations in random order: a manifold of the same outline, with all triangles upright and of
/// positive area in rest and world space, that partitions the same area.
#[test]
fn random_operations_keep_a_valid_sheet() {
    let mut case = Case::new(rectangle([8, 6], 0.9));
    case.labels = two_labels(&case.mesh);
    let mut random = SplitMix::new(11);
    let up = normal(&case.mesh);
    let mut done = [0; 3];
    while done.iter().sum::<usize>() < 100_000 {
        let mut e = editor(&case, 10.0);
        for _ in 0..4000 {
            let count = e.sheet.corners.len() as f64;
            let h = 3 * (random.uniform() * count) as u32 + (random.uniform() * 3.0) as u32;
            if e.sheet.corners[h as usize / 3][0] == sheet::NONE {
                continue;
            }
            let (a, b) = (e.sheet.from(h), e.sheet.to(h));
            let d = e.sheet.rest[a as usize] - e.sheet.rest[b as usize];
            match (random.uniform() * 3.0) as u32 {
                // Splits of short edges would end in needles, as no pass does.
                0 if d.norm() > 0.02 && 1.2 * d.norm() > longest_around(&e.sheet, h) => {
                    e.split(h);
                }
                1 => {
                    e.flip(h);
                }
                _ => {
                    e.collapse(a, b);
                }
            }
            e.fresh.clear();
        }
        for (sum, n) in done
            .iter_mut()
            .zip([e.counts.splits, e.counts.flips, e.counts.collapses])
        {
            *sum += n;
        }
        let made = e.trace.finish(&e.sheet).unwrap();
        let next = case.after(&made);
        // The constructor examines fans and orientation.
        Sheet::new(
            &next.mesh.positions,
            &next.world,
            &next.mesh.triangles,
            &next.labels,
        )
        .unwrap();
        let (v, f) = (next.mesh.positions.len(), next.mesh.triangles.len());
        assert_eq!(v + f, next.mesh.edges().len() + 1, "not a disc");
        for t in 0..f {
            let area = next.mesh.area_vector(t);
            assert!(area.dot(&up) > 0.999 * area.norm() && area.norm() > 1e-9);
            let world = next.mesh.triangles[t].map(|v| next.world[v as usize]);
            assert!(area_vector(&world).norm() > 1e-10);
        }
        case = next;
    }
    assert!(done.iter().all(|n| *n > 10_000), "{done:?}");
}

/// A field of sizes that vary in place and direction.
fn field(mesh: &TriMesh) -> impl Fn(&Vec3) -> Sizing + use<> {
    let [a, b, c] = mesh.corners(0);
    let frame = TangentFrame::of(&[a, b, c]).unwrap();
    let tangential = Mat3::identity() - frame.normal * frame.normal.transpose();
    move |x: &Vec3| {
        let near = (-20.0 * (x - Vec3::new(0.1, 0.2, 0.3)).norm_squared()).exp();
        let along = frame.axes[0] * frame.axes[0].transpose();
        Sizing {
            tensor: tangential * 25.0 + along * (3600.0 * near),
            normal: frame.normal,
        }
    }
}

#[test]
fn edges_have_the_required_size() {
    let mut case = Case::new(rectangle([2, 2], 0.0));
    let sizing = field(&case.mesh);
    for _ in 0..6 {
        let at: Vec<Sizing> = case.mesh.positions.iter().map(&sizing).collect();
        let Some(made) = case.remesh(&at) else {
            break;
        };
        case = case.after(&made);
    }
    // With the field sampled at its vertices again and again, nothing is too long.
    assert!(case.largest_size(&sizing) < 1.0 + 1e-6);
    let at: Vec<Sizing> = case.mesh.positions.iter().map(&sizing).collect();
    let e = {
        let mut e = editor(&case, 1.0);
        e.sizing = at;
        e
    };
    let mut quality: Vec<f64> = e.sheet.corners.iter().map(|c| e.quality(c)).collect();
    quality.sort_by(f64::total_cmp);
    assert!(quality[0] > 0.1, "{}", quality[0]);
    assert!(quality[quality.len() / 2] > 0.6);
    // Triangles with edges between ½ and 1 have an area of √3/4 · s² in the metric.
    let area: f64 = (0..case.mesh.triangles.len())
        .map(|t| {
            let x = case.mesh.corners(t);
            let frame = TangentFrame::of(&x).unwrap();
            let m = sizing(&((x[0] + x[1] + x[2]) / 3.0)).within(&frame);
            case.mesh.area_vector(t).norm() * m.determinant().sqrt()
        })
        .sum();
    let per = area / case.mesh.triangles.len() as f64;
    assert!((0.11..0.43).contains(&per), "{per}");
}

#[test]
fn a_flat_sheet_returns_to_its_coarsest() {
    for (cells, jitter) in [([20, 20], 0.0), ([20, 20], 1.0), ([1, 1], 0.0)] {
        let mut case = Case::new(rectangle(cells, jitter));
        case.world.clone_from(&case.mesh.positions);
        for length in [0.06, 10.0] {
            let made = case.remesh(&case.uniform(length)).unwrap();
            case = case.after(&made);
            assert!(case.remesh(&case.uniform(length)).is_none(), "{length}");
        }
        let counts = (case.mesh.positions.len(), case.mesh.triangles.len());
        assert_eq!(counts, (4, 2), "{cells:?}");
    }
}

#[test]
fn a_curved_rest_shape_keeps_its_facets() {
    let mesh = BoxSurface {
        size: [0.2, 0.3, 0.4],
        cells: [1, 2, 3],
    }
    .build()
    .unwrap();
    let mut case = Case::new(mesh.clone());
    case.world.clone_from(&mesh.positions);
    let made = case.remesh(&case.uniform(0.03)).unwrap();
    let fine = case.after(&made);
    fine.mesh.check_closed().unwrap();
    assert!((fine.mesh.volume() - mesh.volume()).abs() < 1e-14);
    let made = fine.remesh(&fine.uniform(10.0)).unwrap();
    let coarse = fine.after(&made);
    // A box has eight corners.
    assert_eq!(coarse.mesh.positions.len(), 8);
    assert!((coarse.mesh.volume() - mesh.volume()).abs() < 1e-14);
}

#[test]
fn labels_pins_and_fixed_vertices_stay() {
    let mesh = rectangle([10, 8], 0.5);
    let mut case = Case::new(mesh);
    case.labels = two_labels(&case.mesh);
    case.world.clone_from(&case.mesh.positions);
    // A row of the grid is a rail; one vertex carries something.
    for hold in &mut case.hold[..11] {
        hold.pin = Some(3);
    }
    case.hold[40].fixed = true;
    let fixed = case.mesh.positions[40];
    let rail = [case.mesh.positions[0], case.mesh.positions[10]];
    let made = case.remesh(&case.uniform(10.0)).unwrap();
    assert_eq!(made.old_nodes.row(40).len(), 1);
    let next = case.after(&made);
    assert!(next.mesh.positions.len() < case.mesh.positions.len() / 2);
    assert!(next.mesh.positions.contains(&fixed));
    let pinned = next.hold.iter().zip(&next.mesh.positions);
    let pinned: Vec<&Vec3> = pinned.filter(|h| h.0.pin.is_some()).map(|h| h.1).collect();
    // Its ends, and where the line between the labels meets it.
    assert_eq!(
        (pinned.len(), pinned[0], pinned[2]),
        (3, &rail[0], &rail[1])
    );
    // Two separate pins are no rail: the edge between them is never made.
    let mut case = Case::new(rectangle([4, 4], 0.0));
    case.world.clone_from(&case.mesh.positions);
    for v in [0, 4] {
        case.hold[v].pin = Some(0);
    }
    let made = case.remesh(&case.uniform(10.0)).unwrap();
    let next = case.after(&made);
    let pins: Vec<u32> = (0..next.hold.len() as u32)
        .filter(|v| next.hold[*v as usize].pin.is_some())
        .collect();
    assert_eq!(pins.len(), 2);
    assert!(!next.mesh.edges().contains(&[pins[0], pins[1]]));
}

#[test]
fn a_guard_stops_what_moves_the_surface() {
    struct Never;
    impl Guard for Never {
        fn allows(&self, _: &Replacement<'_>) -> bool {
            false
        }
    }
    let case = Case::new(rectangle([6, 4], 0.9));
    let (made, counts) = case.guarded(&case.uniform(0.1), Some(&Never));
    assert_eq!((counts.flips, counts.collapses), (0, 0));
    assert!(counts.splits > 0);
    let next = case.after(&made.unwrap());
    let flat = next.mesh.positions.len();
    assert!(flat > case.mesh.positions.len());
    // Every new vertex lies on the old surface in the world.
    let tree = TriangleTree::new(
        case.mesh
            .triangles
            .iter()
            .map(|t| t.map(|v| case.world[v as usize]))
            .collect(),
    );
    for x in &next.world {
        let near = tree.nearest(x, 1.0, |_, _| true).unwrap();
        assert!(near.point.squared < 1e-24);
    }
}

#[test]
fn a_folded_world_shape_is_not_collapsed_into_nothing() {
    // A sheet folded flat onto itself: coarsening across the fold would make triangles without area.
    let mut case = Case::new(rectangle([8, 8], 0.0));
    let [a, b, _] = case.mesh.corners(0);
    let along = (b - a).normalize();
    let middle = case.mesh.positions[40];
    let up = normal(&case.mesh);
    case.world = case
        .mesh
        .positions
        .iter()
        .map(|x| {
            let s = along.dot(&(x - middle));
            x + (along * (s.abs() - s)) + up * (0.01 * f64::from(u8::from(s < -1e-9)))
        })
        .collect();
    let made = case.remesh(&case.uniform(10.0));
    let next = made.map_or(Case::new(case.mesh.clone()), |m| case.after(&m));
    for t in &next.mesh.triangles {
        let area = area_vector(&t.map(|v| next.world[v as usize])).norm();
        assert!(area > 1e-6, "{area}");
    }
}

#[test]
fn meshes_that_are_no_manifold_are_refused() {
    let x = [
        Vec3::zeros(),
        Vec3::x(),
        Vec3::y(),
        Vec3::new(1.0, 1.0, 0.0),
        Vec3::z(),
    ];
    let sheet = |t: &[[u32; 3]]| Sheet::new(&x, &x, t, &vec![0; t.len()]).unwrap_err();
    assert!(matches!(
        sheet(&[[0, 1, 2], [0, 1, 3], [0, 1, 4]]),
        SheetError::NotManifold { edge: [0, 1] }
    ));
    assert!(matches!(sheet(&[[0, 1, 2]]), SheetError::Fan { vertex: 3 }));
    assert!(matches!(
        sheet(&[[0, 1, 1]]),
        SheetError::Corners { triangle: 0 }
    ));
    assert!(matches!(
        sheet(&[[0, 1, 2], [0, 3, 4]]),
        SheetError::Fan { vertex: 0 }
    ));
}
