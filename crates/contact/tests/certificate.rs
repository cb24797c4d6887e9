//! The certificate against answers by hand: a right solution passes, and every violation of
//! Coulomb's law is reported with the magnitude it has.
#![allow(clippy::unwrap_used)]

use std::sync::Arc;

use proptest::prelude::*;
use stiction_contact::{
    Certificate, CertifyConfig, Contact, ContactSet, FrictionProblem, StencilEntry, certify,
    coulomb_residual, eliminated_residual, eliminated_residual_iterated, eliminated_residual_near,
    generate::{RandomProblem, incline, random},
    project_cone,
};
use stiction_math::{BlockPattern, Mat3, PartShape, SystemFactor, SystemMatrix, Vec3};

const MASS: f64 = 2.0;
const MU: f64 = 0.5;

/// Three nodes of mass 2 on a floor: node 0 sticks, node 1 slides along x at 3 m/s, node 2 rises.
/// Then ρ = 2 kg at every contact.
struct Case {
    problem: FrictionProblem,
    v: Vec<Vec3>,
    r: Vec<Vec3>,
}

impl Case {
    fn new() -> Self {
        let none: [&[u32]; 0] = [];
        let pattern = Arc::new(BlockPattern::from_cliques(3, none).unwrap());
        let mut a = SystemMatrix::new(vec![PartShape::Sparse(pattern)], &[]);
        for i in 0..3 {
            a.add(i, i, &Mat3::from_diagonal_element(MASS));
        }
        let mut problem = FrictionProblem::new(a, vec![Vec3::zeros(); 3], 0.1);
        for i in 0..3 {
            let contact = Contact {
                mu: MU,
                ..Contact::default()
            };
            problem.contacts.push(&[(i, 1.0)], contact);
        }
        let mut case = Self {
            problem,
            v: vec![
                Vec3::zeros(),
                Vec3::new(3.0, 0.0, 0.0),
                Vec3::new(0.0, 0.0, 1.0),
            ],
            r: vec![
                Vec3::new(0.3, 0.1, 1.0),
                Vec3::new(-0.5, 0.0, 1.0),
                Vec3::zeros(),
            ],
        };
        case.balance();
        case
    }

    /// Chooses f such that the impulses balance, so that only contacts are at fault.
    fn balance(&mut self) {
        self.problem.f = vec![Vec3::zeros(); 3];
        let mut f = vec![Vec3::zeros(); 3];
        self.problem.momentum_residual(&self.v, &self.r, &mut f);
        self.problem.f = f;
    }

    fn judge(&self) -> Certificate {
        self.problem.check().unwrap();
        certify(&self.problem, &self.v, &self.r, &CertifyConfig::default()).unwrap()
    }

    /// The certificate after a change of velocities and impulses that keeps the balance.
    fn after(change: impl FnOnce(&mut Self)) -> Certificate {
        let mut case = Self::new();
        change(&mut case);
        case.balance();
        case.judge()
    }
}

#[track_caller]
fn close(a: f64, b: f64) {
    assert!((a - b).abs() < 1e-13, "{a} is not {b}");
}

#[test]
fn a_right_solution_passes() {
    let c = Case::new().judge();
    for x in [c.residual, c.cone, c.slip_angle, c.creep, c.linear] {
        close(x, 0.0);
    }
    // Friction of 0.5 N·s along a slip of 3 m/s.
    close(c.contact_work, -1.5);
}

#[test]
fn approach_is_reported_as_it_is() {
    let c = Case::after(|case| case.v[0].z = -1e-3);
    close(c.residual, 1e-3);
    close(c.creep, 0.0);
}

#[test]
fn a_pulling_force_is_reported_by_the_velocity_it_causes() {
    let c = Case::after(|case| case.r[2].z = -1e-3);
    close(c.residual, 1e-3 / MASS);
    close(c.cone, 1.0);
    // It takes energy from the rising node.
    close(c.contact_work, -1.5 - 1e-3);
}

#[test]
fn a_force_outside_the_cone_is_reported() {
    // (0.6, 1) is √5/25 from the cone of μ = ½, and so is the projection of any r − ρ ũ.
    let c = Case::after(|case| case.r[1].x = -0.6);
    let distance = 0.08f64.hypot(0.04);
    close(c.residual, distance / MASS);
    close(c.cone, distance / 1.0f64.hypot(0.6));
    close(c.slip_angle, 0.0);
}

#[test]
fn a_force_outside_the_cone_is_reported_where_it_sticks() {
    let c = Case::after(|case| case.r[0] = Vec3::new(0.0, 0.6, 1.0));
    close(c.residual, 0.08f64.hypot(0.04) / MASS);
}

#[test]
fn a_force_that_does_not_oppose_slip_is_reported_with_its_angle() {
    for angle in [1e-3, 0.3, 1.5, 3.0] {
        let c = Case::after(|case| {
            case.r[1] = Vec3::new(-0.5 * f64::cos(angle), 0.5 * f64::sin(angle), 1.0);
        });
        close(c.slip_angle, angle);
        close(c.cone, 0.0);
        // The chord of the angle, less what the projection forgives of a small turn.
        let chord = f64::sin(angle / 2.0) / MASS;
        assert!(c.residual > 0.5 * chord, "{angle}: {}", c.residual);
    }
}

#[test]
fn slip_under_a_force_inside_the_cone_is_creep() {
    let c = Case::after(|case| case.v[0].y = 1e-3);
    close(c.creep, 1e-3);
    close(c.residual, 1e-3 * 1f64.hypot(MU));
}

#[test]
fn too_little_friction_in_sliding_is_reported() {
    let c = Case::after(|case| case.r[1].x = -0.4);
    close(c.residual, 0.08f64.hypot(0.04) / MASS);
    close(c.creep, 3.0);
    close(c.cone, 0.0);
}

#[test]
fn a_force_on_separating_bodies_is_reported() {
    let c = Case::after(|case| case.r[2].z = 0.1);
    close(c.residual, 0.1 / MASS);
    // The smaller of the two that should not both be there.
    let c = Case::after(|case| case.r[2].z = 10.0);
    close(c.residual, 1.0);
}

#[test]
fn impulses_out_of_balance_are_reported_by_the_velocity_they_cause() {
    let mut case = Case::new();
    case.problem.f[2] += Vec3::new(0.0, 3e-3, 4e-3);
    let c = case.judge();
    close(c.linear, 5e-3 / MASS);
    close(c.residual, 0.0);
}

#[test]
fn a_rigid_bodys_torque_counts_at_its_radius_of_gyration() {
    let mut a = SystemMatrix::new(vec![PartShape::Dense], &[]);
    a.add(0, 0, &Mat3::from_diagonal_element(2.0));
    a.add(1, 1, &Mat3::from_diagonal_element(0.5));
    let mut problem = FrictionProblem::new(a, vec![Vec3::zeros(); 2], 0.1);
    let arm = Vec3::new(0.0, 0.3, 0.0);
    problem.contacts.push_entries(
        [StencilEntry::weight(0, 1.0), StencilEntry::lever(1, arm)],
        Contact::default(),
    );
    // An impulse that nothing balances: 1 N·s gives ½ m/s, its torque 0.3 N·m·s gives 0.6 rad/s
    // at a radius of ½ m.
    let c = certify(
        &problem,
        &[Vec3::zeros(); 2],
        &[Vec3::z()],
        &CertifyConfig::default(),
    )
    .unwrap();
    close(c.linear, 0.5);
    let v = [Vec3::z() * 0.5, Vec3::zeros()];
    let c = certify(&problem, &v, &[Vec3::z()], &CertifyConfig::default()).unwrap();
    close(c.linear, 0.3);
}

#[test]
fn cohesion_bears_a_pull_up_to_its_strength() {
    let set = |strength: f64| {
        move |case: &mut Case| {
            case.problem.contacts.cohesion[0] = strength;
            case.r[0] = Vec3::new(0.0, 0.0, -0.2);
        }
    };
    close(Case::after(set(0.2)).residual, 0.0);
    close(Case::after(set(0.25)).residual, 0.0);
    close(Case::after(set(0.15)).residual, 0.05 / MASS);
    // It also presses for friction: 0.2 N·s of it hold against 0.1.
    let c = Case::after(|case| {
        case.problem.contacts.cohesion[0] = 0.2;
        case.r[0] = Vec3::new(0.1, 0.0, 0.0);
    });
    close(c.residual, 0.0);
    close(c.cone, 0.0);
}

#[test]
fn a_compliant_contact_yields_along_its_normal_only() {
    // 1 N·s on a compliance of 0.1 per kg lets the node sink by 0.1 m/s.
    let c = Case::after(|case| {
        case.problem.contacts.compliance[0] = 0.1;
        case.v[0].z = -0.1;
    });
    close(c.residual, 0.0);
    close(c.creep, 0.0);
    close(c.contact_work, -1.5 - 0.1);
}

#[test]
fn a_gap_is_closed_at_the_end_of_the_step() {
    // 1 cm in 0.1 s: approach at 0.1 m/s is allowed and no contact yet.
    let c = Case::after(|case| {
        case.problem.contacts.correction[0] = 0.01;
        case.problem.contacts.k[0].z = 0.01 / 0.1;
        case.v[0].z = -0.1;
    });
    close(c.residual, 0.0);
    close(c.contact_work, -1.5 - 0.1);
}

#[test]
fn numbers_that_are_not_finite_never_pass() {
    let mut case = Case::new();
    case.v[1].y = f64::NAN;
    assert_eq!(case.judge().residual, f64::INFINITY);
    assert_eq!(case.judge().linear, f64::INFINITY);
    let mut case = Case::new();
    case.r[0].x = f64::NAN;
    assert_eq!(case.judge().residual, f64::INFINITY);
    assert_eq!(case.judge().cone, f64::INFINITY);
}

#[test]
fn sizes_that_do_not_fit_are_refused() {
    let case = Case::new();
    let config = CertifyConfig::default();
    assert!(certify(&case.problem, &case.v[1..], &case.r, &config).is_err());
    assert!(certify(&case.problem, &case.v, &case.r[1..], &config).is_err());
}

proptest! {
    /// The projection is in the cone, and no point of the cone is nearer: checked against the
    /// points of the cone in the plane of n and x, which hold the nearest one by symmetry.
    #[test]
    fn projections_are_the_nearest_points(
        x in prop::array::uniform3(-2.0..2.0f64),
        n in prop::array::uniform3(-1.0..1.0f64),
        mu in prop_oneof![Just(0.0), 0.0..1.0f64, 1.0..20.0f64],
    ) {
        let n = Vec3::from(n);
        prop_assume!(n.norm() > 1e-2);
        let (x, n) = (Vec3::from(x), n.normalize());
        let p = project_cone(&x, &n, mu);
        let tangent = |y: Vec3| y - n * y.dot(&n);
        // The tangent of a vector of length up to 4 is known to some roundings of that.
        prop_assert!(tangent(p).norm() <= mu * p.dot(&n) * (1.0 + 1e-12) + 1e-14);
        let distance = (x - p).norm();
        let across = tangent(x).try_normalize(0.0).unwrap_or(Vec3::zeros());
        for i in 0..=200 {
            let normal = 4.0 * i as f64 / 200.0;
            for j in -20..=20 {
                let q = n * normal + across * (mu * normal * j as f64 / 20.0);
                prop_assert!(distance <= (x - q).norm() + 1e-12);
            }
        }
        // Moreau: what is taken off is orthogonal to what stays.
        prop_assert!((x - p).dot(&p).abs() < 1e-12 * (1.0 + x.norm_squared()));
    }
}

/// Two planes that close on a node from both sides have no solution, however hard they press: the
/// velocity that breaks the law must not be lost next to the impulses.
#[test]
fn huge_impulses_hide_no_overlap() {
    let mut p = incline(1, 0.0, 0.5, 0.0).problem;
    p.f[0] = Vec3::zeros();
    p.contacts = ContactSet::default();
    for normal in [Vec3::x(), -Vec3::x()] {
        let contact = Contact {
            normal,
            k: -normal,
            mu: 0.3,
            ..Contact::default()
        };
        p.contacts.push(&[(0, 1.0)], contact);
    }
    for size in [1.0, 1e10, 1e30] {
        let r = [Vec3::x() * size, -Vec3::x() * size];
        let c = certify(&p, &[Vec3::zeros()], &r, &CertifyConfig::default()).unwrap();
        assert!(c.residual > 0.99, "{size:e}: {c:?}");
    }
}

/// B v and Bᵀ r of contacts without general blocks take a shorter path than the stencil's entries.
#[test]
fn products_with_rows_are_those_of_their_entries() {
    let x = |i: usize| Vec3::new(0.3, -1.7, 2.2) * (1.0 + i as f64).sqrt() + Vec3::ith(i % 3, 0.7);
    let nodes = [StencilEntry::weight(0, 0.4), StencilEntry::weight(1, -1.0)];
    let turning = [
        StencilEntry::weight(2, 1.0),
        StencilEntry::lever(3, x(5)),
        StencilEntry::weight(0, -0.2),
    ];
    let general = [StencilEntry::matrix_at(1, x(2) * x(3).transpose())];
    let stencils: [&[&[StencilEntry]]; 3] = [
        &[&nodes],
        &[&nodes, &turning],
        &[&nodes, &turning, &general],
    ];
    for stencils in stencils {
        let mut set = ContactSet::default();
        for entries in stencils {
            set.push_entries(entries.iter().copied(), Contact::default());
        }
        let v: Vec<Vec3> = (0..4).map(x).collect();
        for c in 0..set.len() {
            let sum = |u: Vec3, e: StencilEntry| u + e.mul(&v[e.node as usize]);
            assert_eq!(set.velocity(c, &v), set.entries(c).fold(Vec3::zeros(), sum));
            let (mut y, mut expected) = (v.clone(), v.clone());
            set.add_transpose_of(c, &x(7), &mut y);
            for e in set.entries(c) {
                expected[e.node as usize] += e.tr_mul(&x(7));
            }
            assert_eq!(y, expected);
        }
    }
}

/// With velocities eliminated: the same number from a factor of A, and from one of A plus its own diagonal,
/// whose condition with A is below 1 + max_j a_jj / λ_min.
#[test]
fn eliminated_velocities_do_not_depend_on_the_factor_at_hand() {
    let config = CertifyConfig::default();
    for kind in RandomProblem::ALL {
        let problem = random(kind, 12, 3);
        // Any impulses do, and velocities that are not theirs.
        let r = vec![Vec3::new(0.1, -0.2, 1.0); problem.contacts.len()];
        let still = vec![Vec3::zeros(); problem.blocks()];
        let exact = eliminated_residual(&problem, &r, &config).unwrap();
        let mass: Vec<f64> = (0..problem.blocks())
            .map(|j| problem.a.diagonal(j).trace() / 3.0)
            .collect();
        for shift in [None, Some(&mass[..])] {
            let mut factor = SystemFactor::new(&problem.a, &problem.part_positions()).unwrap();
            factor.refactor(&problem.a, shift).unwrap();
            let near = eliminated_residual_near(&problem, &still, &r, &mut factor, &config);
            let near = near.unwrap();
            let bound = if shift.is_none() { 1e-9 } else { 1e-4 };
            assert!(
                (near - exact).abs() <= bound * exact,
                "{kind:?}: {near:e} {exact:e}"
            );
        }
        // By conjugate gradients to six digits of the impulses, whose condition is at most 1e2 here.
        let iterated = eliminated_residual_iterated(&problem, &still, &r, &config).unwrap();
        assert!(
            (iterated - exact).abs() <= 1e-4 * exact,
            "{kind:?}: {iterated:e} {exact:e}"
        );
    }
}

#[test]
fn a_contact_without_friction_that_separates_along_its_normal_keeps_the_law() {
    let n = Vec3::z();
    assert_eq!(coulomb_residual(&n, &Vec3::zeros(), &n, 0.0, 2.0), 0.0);
}
