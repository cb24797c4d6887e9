//! Smooth contact with input that is degenerate, far apart, inside out or wrong.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod smooth_scenes;

use smooth_scenes::{DELTA, scenes, sheet, sphere, strip, vector};
use stiction_contact::detect::{Collider, ColliderBody, ColliderForm, Laws, PairLaw, Points};
use stiction_contact::smooth::{
    ContactKinematics, Penalty, RigidFrame, SmoothConfig, SmoothContacts, SmoothError,
};
use stiction_geometry::analytic::{Pose, Shape};
use stiction_geometry::{SplitMix, TriMesh};
use stiction_math::Vec3;

fn laws() -> Laws {
    Laws::uniform(PairLaw {
        mu: 0.5,
        ..PairLaw::default()
    })
}

fn soft(id: u32, mesh: &TriMesh, first: u32, closed: bool, self_contact: bool) -> Collider {
    let count = mesh.positions.len() as u32;
    Collider {
        id,
        material: 0,
        thickness: DELTA,
        form: ColliderForm::Body(ColliderBody {
            triangles: mesh.triangles.clone(),
            rods: Vec::new(),
            points: Points::nodes(first..first + count),
            rest: mesh.positions.clone(),
            closed,
            self_contact,
            exempt: None,
        }),
    }
}

fn place<'a>(x: &'a [Vec3], v: &'a [Vec3], obstacles: &'a [RigidFrame]) -> ContactKinematics<'a> {
    ContactKinematics {
        x,
        rotations: &[],
        v,
        obstacles,
        chord: 0.0,
    }
}

/// Force, product and blocks at a place, all of which must be finite. The force.
fn all_finite(c: &SmoothContacts, at: &ContactKinematics) -> Vec<Vec3> {
    let n = at.x.len();
    let mut f = vec![Vec3::zeros(); n];
    c.force(at, &mut f).unwrap();
    let mut random = SplitMix::new(9);
    let d: Vec<Vec3> = (0..n).map(|_| vector(&mut random)).collect();
    let mut y = vec![Vec3::zeros(); n];
    c.product(at, &d, &d, &mut y).unwrap();
    c.assemble(at, 1.0, 1.0, |_, _, b| {
        assert!(b.iter().all(|c| c.is_finite()))
    })
    .unwrap();
    assert!(f.iter().chain(&y).all(|v| v.iter().all(|c| c.is_finite())));
    assert!(c.energy(at).unwrap().is_finite());
    for t in c.touching(at).unwrap() {
        assert!((t.normal.norm() - 1.0).abs() < 1e-12 && t.normal_force.is_finite());
    }
    f
}

#[test]
fn degenerate_faces_coincident_vertices_and_rest_give_numbers() {
    let mut mesh = sheet(0.4, 4);
    mesh.triangles.push([0, 1, 1]);
    mesh.triangles.push([3, 3, 3]);
    let other = sheet(0.4, 3);
    let colliders = [
        soft(0, &mesh, 0, false, false),
        soft(1, &other, 25, false, false),
    ];
    let mut c = SmoothContacts::new(&colliders, &laws(), SmoothConfig::default()).unwrap();
    for height in [0.0, 0.3 * DELTA] {
        let up = Vec3::new(0.0, 0.0, height);
        let mut x = mesh.positions.clone();
        x[6] = x[7];
        x[12] = x[7];
        x.extend(other.positions.iter().map(|p| p + up));
        let v = vec![Vec3::zeros(); x.len()];
        let at = place(&x, &v, &[]);
        c.find(&at, 0.01).unwrap();
        let f = all_finite(&c, &at);
        assert!(f.iter().any(|f| f.norm() > 0.0));
    }
    // Everything on one point.
    let x = vec![Vec3::new(0.1, 0.2, 0.3); 41];
    let v = vec![Vec3::zeros(); x.len()];
    let at = place(&x, &v, &[]);
    c.find(&at, 0.01).unwrap();
    all_finite(&c, &at);
}

#[test]
fn nothing_in_reach_is_no_contact() {
    let mesh = sheet(0.4, 4);
    let colliders = [
        soft(0, &mesh, 0, false, false),
        soft(1, &mesh, 25, false, false),
    ];
    let mut c = SmoothContacts::new(&colliders, &laws(), SmoothConfig::default()).unwrap();
    let mut x = mesh.positions.clone();
    x.extend(mesh.positions.iter().map(|p| p + Vec3::new(0.0, 0.0, 9.0)));
    let v = vec![Vec3::zeros(); x.len()];
    let at = place(&x, &v, &[]);
    assert!(c.is_stale(&at).unwrap());
    c.find(&at, 0.01).unwrap();
    assert!(!c.is_stale(&at).unwrap());
    assert_eq!(c.deepest(&at).unwrap(), None);
    assert!(all_finite(&c, &at).iter().all(|f| f.norm() == 0.0));
    assert!(c.is_feasible(&at).unwrap());
}

#[test]
fn pairs_that_were_found_are_all_there_are_until_stale() {
    // Forces from the pairs of an earlier place are those of pairs found anew, as long as the
    // earlier ones are not stale.
    for scene in scenes() {
        let config = SmoothConfig::default();
        let mut old = SmoothContacts::new(&scene.colliders, &scene.laws, config).unwrap();
        let mut new = SmoothContacts::new(&scene.colliders, &scene.laws, config).unwrap();
        old.find(&scene.state.place(), 0.01).unwrap();
        let (dx, dv) = scene.directions(1);
        let mut went = 0;
        for t in (1..40).step_by(3) {
            let moved = scene.state.moved(&dx, &dv, 1e-3 * f64::from(t));
            let at = moved.place();
            if old.is_stale(&at).unwrap() {
                went = t;
                break;
            }
            new.set_sides(old.sides().to_vec());
            new.find(&at, 0.0).unwrap();
            let force = |c: &SmoothContacts| {
                let mut f = vec![Vec3::zeros(); moved.x.len()];
                c.force(&at, &mut f).unwrap();
                f
            };
            let (a, b) = (force(&old), force(&new));
            let scale: f64 = a.iter().map(|f| f.norm()).sum();
            for (a, b) in a.iter().zip(&b) {
                assert!(
                    (a - b).norm() <= 1e-12 * scale,
                    "{} at {t}: {a:?} {b:?}",
                    scene.name
                );
            }
        }
        assert!(went > 5, "{}: stale after {went} mm, or never", scene.name);
    }
}

#[test]
fn a_sheet_is_kept_on_the_side_where_it_was() {
    let (a, b) = (sheet(0.4, 4), sheet(0.2, 3));
    let colliders = [soft(0, &a, 0, false, false), soft(1, &b, 25, false, false)];
    for side in [1.0, -1.0] {
        let mut c = SmoothContacts::new(&colliders, &laws(), SmoothConfig::default()).unwrap();
        // First on its side, then a little through.
        for (height, expected) in [(0.5 * DELTA, 1.0), (-0.2 * DELTA, 1.0), (-0.2 * DELTA, 1.0)] {
            let mut x = a.positions.clone();
            let up = Vec3::new(0.0, 0.0, side * height);
            x.extend(b.positions.iter().map(|p| p + up));
            let v = vec![Vec3::zeros(); x.len()];
            let at = place(&x, &v, &[]);
            c.find(&at, 0.01).unwrap();
            let f = all_finite(&c, &at);
            let total: Vec3 = f[25..].iter().sum();
            assert!(
                total.z * side * expected > 0.0,
                "{side} {height}: {total:?}"
            );
            let deepest = c.deepest(&at).unwrap().unwrap();
            assert!((deepest.gap - height).abs() < 1e-12);
        }
        assert!(!c.sides().is_empty());
    }
}

#[test]
fn a_body_touches_itself_from_outside_only() {
    // A strip folded over: its ends touch. The crease does not.
    let flat = strip([1.0, 0.2], [25, 5]);
    let fold = |p: &Vec3, gap: f64| {
        let radius = 0.5 * gap;
        let half = 0.5 * std::f64::consts::PI * radius;
        let s = p.x;
        let (x, z) = if s > half {
            (half - s, radius)
        } else if s < -half {
            (half + s, -radius)
        } else {
            let angle = s / radius;
            (radius * angle.cos(), radius * angle.sin())
        };
        Vec3::new(x, p.y, z)
    };
    let mut c = SmoothContacts::new(
        &[soft(0, &flat, 0, false, true)],
        &laws(),
        SmoothConfig::default(),
    )
    .unwrap();
    let x: Vec<Vec3> = flat
        .positions
        .iter()
        .map(|p| fold(p, 0.5 * DELTA))
        .collect();
    let v = vec![Vec3::zeros(); x.len()];
    let at = place(&x, &v, &[]);
    c.find(&at, 0.01).unwrap();
    let f = all_finite(&c, &at);
    let upper: Vec3 = (0..x.len()).filter(|&i| x[i].z > 0.0).map(|i| f[i]).sum();
    assert!(upper.z > 0.0, "{upper:?}");
    let deepest = c.deepest(&at).unwrap().unwrap();
    assert!(
        (deepest.gap - 0.5 * DELTA).abs() < 0.1 * DELTA,
        "{deepest:?}"
    );
    // Flat, nothing touches.
    let at = place(&flat.positions, &v, &[]);
    c.find(&at, 0.01).unwrap();
    assert_eq!(c.in_contact(&at).unwrap(), 0);
    // A ball with self-contact does not push against its own far side from within.
    let ball = sphere(0.1, 2);
    let mut c = SmoothContacts::new(
        &[soft(0, &ball, 0, true, true)],
        &laws(),
        SmoothConfig::default(),
    )
    .unwrap();
    let squeezed: Vec<Vec3> = ball
        .positions
        .iter()
        .map(|p| Vec3::new(p.x, p.y, 0.2 * p.z))
        .collect();
    let v = vec![Vec3::zeros(); squeezed.len()];
    let at = place(&squeezed, &v, &[]);
    c.find(&at, 0.01).unwrap();
    assert_eq!(c.in_contact(&at).unwrap(), 0);
}

#[test]
fn barriers_refuse_points_inside() {
    let mesh = sheet(0.4, 4);
    let plane = Collider {
        id: 7,
        material: 0,
        thickness: DELTA,
        form: ColliderForm::Shape(Shape::Plane {
            normal: Vec3::z(),
            offset: 0.0,
        }),
    };
    let config = SmoothConfig {
        penalty: Penalty::Barrier,
        ..SmoothConfig::default()
    };
    let mut c =
        SmoothContacts::new(&[soft(0, &mesh, 0, false, false), plane], &laws(), config).unwrap();
    let obstacles = [RigidFrame::still(Pose::default())];
    let mut last = 0.0;
    for height in [0.5 * DELTA, 0.1 * DELTA, 1e-3 * DELTA] {
        let x: Vec<Vec3> = mesh
            .positions
            .iter()
            .map(|p| p + Vec3::new(0.0, 0.0, height))
            .collect();
        let v = vec![Vec3::zeros(); x.len()];
        let at = place(&x, &v, &obstacles);
        c.find(&at, 0.01).unwrap();
        assert!(c.is_feasible(&at).unwrap());
        let up: Vec3 = all_finite(&c, &at).iter().sum();
        assert!(up.z > last);
        last = up.z;
    }
    let mut x = mesh.positions.clone();
    x.iter_mut().for_each(|p| p.z = 0.5 * DELTA);
    x[3].z = -1e-4;
    let v = vec![Vec3::zeros(); x.len()];
    let at = place(&x, &v, &obstacles);
    c.find(&at, 0.01).unwrap();
    assert!(!c.is_feasible(&at).unwrap());
    assert_eq!(c.energy(&at).unwrap(), f64::INFINITY);
    let mut f = vec![Vec3::zeros(); x.len()];
    let error = c.force(&at, &mut f).unwrap_err();
    assert!(
        matches!(
            error,
            SmoothError::Crossed {
                collider: 0,
                vertex: 3,
                ..
            }
        ),
        "{error}"
    );
}

#[test]
fn the_stiffness_is_raised_when_something_penetrates_and_falls_only_without_contact() {
    let ball = sphere(0.1, 2);
    let sphere = Collider {
        id: 1,
        material: 0,
        thickness: DELTA,
        form: ColliderForm::Shape(Shape::Sphere { radius: 0.2 }),
    };
    let mut c = SmoothContacts::new(
        &[soft(0, &ball, 0, true, false), sphere],
        &laws(),
        SmoothConfig::default(),
    )
    .unwrap();
    let obstacles = [RigidFrame::default()];
    let first = c.stiffness();
    let at_height = |c: &mut SmoothContacts, gap: f64| {
        let up = Vec3::new(0.0, 0.0, 0.3 + gap);
        let x: Vec<Vec3> = ball.positions.iter().map(|p| p + up).collect();
        let v = vec![Vec3::zeros(); x.len()];
        let at = place(&x, &v, &obstacles);
        c.find(&at, 0.01).unwrap();
        let deepest = c.deepest(&at).unwrap();
        let raised = c.raise_stiffness(deepest);
        c.relax(&at).unwrap();
        raised
    };
    assert!(!at_height(&mut c, 0.5 * DELTA));
    assert_eq!(c.stiffness(), first);
    assert!(at_height(&mut c, -0.25 * DELTA));
    assert!((c.stiffness() / first - 6.25).abs() < 1e-9);
    assert!(!at_height(&mut c, 0.9 * DELTA));
    assert!(
        (c.stiffness() / first - 6.25).abs() < 1e-9,
        "lowered in contact"
    );
    assert!(!at_height(&mut c, 1.1 * DELTA));
    assert_eq!(c.stiffness(), first);
}

#[test]
fn wrong_input_is_refused() {
    let mesh = sheet(0.4, 2);
    let good = soft(0, &mesh, 0, false, false);
    let new = |c: &Collider, laws: &Laws, config: SmoothConfig| {
        SmoothContacts::new(std::slice::from_ref(c), laws, config).map(|_| ())
    };
    let default = SmoothConfig::default;
    new(&good, &laws(), default()).unwrap();
    for bad in [
        SmoothConfig {
            delta: Some(0.0),
            ..default()
        },
        SmoothConfig {
            stiffness: -1.0,
            ..default()
        },
        SmoothConfig {
            epsilon: f64::NAN,
            ..default()
        },
        SmoothConfig {
            rounding: f64::INFINITY,
            ..default()
        },
    ] {
        let error = new(&good, &laws(), bad).unwrap_err();
        assert!(matches!(error, SmoothError::Setting { .. }), "{error}");
    }
    let sticky = Laws::uniform(PairLaw {
        cohesion: 1.0,
        ..PairLaw::default()
    });
    assert!(matches!(
        new(&good, &sticky, default()),
        Err(SmoothError::Law { .. })
    ));
    let mut thin = good.clone();
    thin.thickness = 0.0;
    assert!(matches!(
        new(&thin, &laws(), default()),
        Err(SmoothError::Collider { .. })
    ));
    let mut foreign = good.clone();
    foreign.material = 3;
    assert!(matches!(
        new(&foreign, &laws(), default()),
        Err(SmoothError::Collider { .. })
    ));
    let mut broken = good.clone();
    if let ColliderForm::Body(b) = &mut broken.form {
        b.triangles[0][0] = 99;
    }
    assert!(matches!(
        new(&broken, &laws(), default()),
        Err(SmoothError::Collider { .. })
    ));

    let mut c = SmoothContacts::new(&[good], &laws(), default()).unwrap();
    let (x, v) = (mesh.positions.clone(), vec![Vec3::zeros(); 9]);
    assert!(matches!(
        c.find(&place(&x[..4], &v, &[]), 0.1),
        Err(SmoothError::Length { .. })
    ));
    assert!(matches!(
        c.find(&place(&x, &v, &[]), f64::NAN),
        Err(SmoothError::Setting { .. })
    ));
    let mut lost = x.clone();
    lost[2].y = f64::NAN;
    assert_eq!(
        c.find(&place(&lost, &v, &[]), 0.1),
        Err(SmoothError::NotFinite)
    );
    assert!(c.is_stale(&place(&lost, &v, &[])).unwrap());
}
