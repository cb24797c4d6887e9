//! Smooth contact of single points with planes: the laws of the paper in closed form.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use stiction_contact::detect::{Collider, ColliderBody, ColliderForm, Laws, PairLaw, Points};
use stiction_contact::smooth::{
    ContactKinematics, FrictionTime, RigidFrame, SmoothConfig, SmoothContacts, transition,
};
use stiction_contact::{CertifyConfig, ContactSet, FrictionProblem, certify};
use stiction_geometry::analytic::Shape;
use stiction_math::{Mat3, MatrixPart, PartShape, SystemMatrix, Vec3};

const DELTA: f64 = 1e-3;
const G: f64 = 9.81;

fn particle_and_plane(normal: Vec3) -> Vec<Collider> {
    let body = ColliderBody {
        triangles: Vec::new(),
        rods: Vec::new(),
        points: Points::nodes([0]),
        rest: vec![Vec3::zeros()],
        closed: false,
        self_contact: false,
        exempt: None,
    };
    let plane = Shape::Plane {
        normal,
        offset: 0.0,
    };
    let collider = |id, form| Collider {
        id,
        material: 0,
        thickness: DELTA,
        form,
    };
    vec![
        collider(0, ColliderForm::Body(body)),
        collider(1, ColliderForm::Shape(plane)),
    ]
}

fn laws(mu: f64) -> Laws {
    Laws::uniform(PairLaw {
        mu,
        ..PairLaw::default()
    })
}

/// One backward Euler step of a point of `mass` by damped Newton with the assembled Jacobian.
fn step(c: &mut SmoothContacts, x: &mut Vec3, v: &mut Vec3, mass: f64, h: f64) {
    let obstacles = [RigidFrame::default()];
    let (x0, v0) = (*x, *v);
    let residual = |c: &SmoothContacts, v: Vec3| {
        let (x, v) = ([x0 + v * h], [v]);
        let at = ContactKinematics {
            x: &x,
            rotations: &[],
            v: &v,
            obstacles: &obstacles,
            chord: 0.0,
        };
        let mut f = [Vec3::new(0.0, 0.0, -G * mass)];
        c.force(&at, &mut f).unwrap();
        let mut j = Mat3::from_diagonal_element(mass);
        c.assemble(&at, h, 1.0, |_, _, b| j -= b * h).unwrap();
        ((v[0] - v0) * mass - f[0] * h, j)
    };
    for _ in 0..20 {
        let at = ContactKinematics {
            x: &[x0],
            rotations: &[],
            v: &[v0],
            obstacles: &obstacles,
            chord: 0.0,
        };
        c.find(&at, h).unwrap();
        let mut u = v0;
        for _ in 0..200 {
            let (r, j) = residual(c, u);
            if r.norm() < 1e-13 * mass {
                break;
            }
            let p = -j.try_inverse().unwrap() * r;
            let mut a = 1.0;
            while residual(c, u + p * a).0.norm() > r.norm() && a > 1e-6 {
                a *= 0.5;
            }
            u += p * a;
        }
        let end = [x0 + u * h];
        let at = ContactKinematics {
            x: &end,
            rotations: &[],
            v: &[u],
            obstacles: &obstacles,
            chord: 0.0,
        };
        if c.is_stale(&at).unwrap() {
            c.find(&at, h).unwrap();
        }
        let deepest = c.deepest(&at).unwrap();
        if !c.raise_stiffness(deepest) {
            (*x, *v) = (end[0], u);
            return;
        }
    }
    panic!("still below the surface at stiffness {}", c.stiffness());
}

#[test]
fn sticking_contacts_creep_at_the_speed_of_the_smoothing() {
    let (mu, mass, h) = (0.5, 0.2, 0.01);
    for angle in [2f64, 10.0, 20.0, 26.0] {
        let tan = angle.to_radians().tan();
        let normal = Vec3::new(tan, 0.0, 1.0).normalize();
        for epsilon in [1e-2, 1e-4] {
            let config = SmoothConfig {
                epsilon,
                stiffness: 100.0,
                ..SmoothConfig::default()
            };
            let colliders = particle_and_plane(normal);
            let mut c = SmoothContacts::new(&colliders, &laws(mu), config).unwrap();
            let (mut x, mut v) = (normal * (0.5 * DELTA), Vec3::zeros());
            for _ in 0..300 {
                step(&mut c, &mut x, &mut v, mass, h);
            }
            // s(v; ε) = tan θ/μ at the terminal creep.
            let ratio = transition(v.norm(), epsilon) / (tan / mu);
            assert!((ratio - 1.0).abs() < 1e-6, "{angle}°, ε {epsilon}: {ratio}");
            assert!(v.dot(&normal).abs() < 1e-9 * v.norm().max(epsilon));
            // The certificate shows the creep instead of hiding it.
            let at = ContactKinematics {
                x: &[x],
                rotations: &[],
                v: &[v],
                obstacles: &[RigidFrame::default()],
                chord: 0.0,
            };
            let (mut set, mut r) = (ContactSet::default(), Vec::new());
            c.contact_set(&at, h, &[false], &mut set, &mut r).unwrap();
            assert_eq!(set.len(), 1);
            let force = r[0] / h;
            assert!((force - Vec3::new(0.0, 0.0, G * mass)).norm() < 1e-6 * G * mass);
            let certificate = judge(set, &[v], &r, mass, h);
            assert!((certificate.creep / v.norm() - 1.0).abs() < 1e-6);
            // Near the cone the residual is bounded by what is left to the cone.
            assert!(certificate.residual >= 0.05 * v.norm(), "{certificate:?}");
            assert!(certificate.residual <= 3.0 * v.norm(), "{certificate:?}");
            assert!(certificate.cone <= 1e-12);
        }
    }
}

fn judge(
    set: ContactSet,
    v: &[Vec3],
    r: &[Vec3],
    mass: f64,
    h: f64,
) -> stiction_contact::Certificate {
    let pattern = stiction_math::BlockPattern::from_cliques(1, [&[0u32][..]]).unwrap();
    let mut a = SystemMatrix::new(vec![PartShape::Sparse(pattern.into())], &[]);
    if let MatrixPart::Sparse(m) = &mut a.parts_mut()[0] {
        m.values[0] = Mat3::from_diagonal_element(mass);
    }
    let f = vec![v[0] * mass - r[0]];
    let mut problem = FrictionProblem::new(a, f, h);
    problem.contacts = set;
    problem.check().unwrap();
    certify(&problem, v, r, &CertifyConfig::default()).unwrap()
}

#[test]
fn sliding_bodies_are_braked_by_mu_times_the_normal_force() {
    let (mu, mass, h) = (0.3, 0.2, 0.01);
    for friction in [
        FrictionTime::Implicit,
        FrictionTime::Lagged { iterations: 1 },
    ] {
        let config = SmoothConfig {
            stiffness: 100.0,
            friction,
            ..SmoothConfig::default()
        };
        let mut c = SmoothContacts::new(&particle_and_plane(Vec3::z()), &laws(mu), config).unwrap();
        let (mut x, mut v) = (Vec3::new(0.0, 0.0, 0.5 * DELTA), Vec3::new(2.0, 1.0, 0.0));
        for i in 0..40 {
            let before = v;
            let at = ContactKinematics {
                x: &[x],
                rotations: &[],
                v: &[v],
                obstacles: &[RigidFrame::default()],
                chord: 0.0,
            };
            c.lag(&at).unwrap();
            step(&mut c, &mut x, &mut v, mass, h);
            if i > 30 {
                let brake = (before - v).norm() / h;
                assert!(
                    (brake / (mu * G) - 1.0).abs() < 1e-4,
                    "{friction:?}: {brake}"
                );
                assert!(before.cross(&(before - v)).norm() < 1e-9);
            }
        }
    }
}
