//! Outcome of each contact of a step, for tables, pictures and probes.

use stiction_math::Vec3;

use crate::{CertifyConfig, ContactSet};

/// State of a contact according to Coulomb's law.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ContactState {
    /// No force.
    Open,
    /// The force is inside the friction cone, or nothing slides.
    Stick,
    /// The force is on the cone's surface and the points slide.
    Slide,
}

impl ContactState {
    /// The word used in tables.
    pub fn name(self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::Stick => "stick",
            Self::Slide => "slide",
        }
    }

    /// The number used in files: 0 open, 1 stick, 2 slide.
    pub fn code(self) -> i64 {
        match self {
            Self::Open => 0,
            Self::Stick => 1,
            Self::Slide => 2,
        }
    }
}

/// One contact of a step.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ContactOutcome {
    /// The two bodies or obstacles, as the contact set numbers them.
    pub pair: [u32; 2],
    /// Contact point at the start of the step [m].
    pub point: Vec3,
    /// Unit normal, from the second body to the first.
    pub normal: Vec3,
    /// Distance beyond the contact thickness at the end of the step, along the normal [m]: as the
    /// linear problem has it, h u_N.
    pub gap: f64,
    /// Force along the normal on the first body [N].
    pub normal_force: f64,
    /// Friction force on the first body [N].
    pub tangential_force: Vec3,
    /// Tangential velocity of the first body relative to the second [m/s].
    pub slip: Vec3,
    /// State of the contact.
    pub state: ContactState,
}

impl ContactOutcome {
    /// The whole force on the first body [N].
    pub fn force(&self) -> Vec3 {
        self.normal * self.normal_force + self.tangential_force
    }
}

/// Outcome of every contact of a step of `h` [s], from velocities `v` [m/s] and impulses `r` [N·s].
///
/// The lines between open, stick and slide are those of the certificate: impulses below
/// `config.floor` of the largest are none, slower than `config.slip_speed` is no slip. A contact
/// that bears a pull is open when it bears all of it [daviet2020, Sect. 6.3.1].
pub fn outcomes(
    set: &ContactSet,
    h: f64,
    v: &[Vec3],
    r: &[Vec3],
    config: &CertifyConfig,
) -> Vec<ContactOutcome> {
    let inner = |c: usize| r[c] + set.normal[c] * set.cohesion[c];
    let largest = (0..r.len()).map(|c| inner(c).norm()).fold(0.0, f64::max);
    let outcome = |c: usize| {
        let n = set.normal[c];
        let across = |x: &Vec3| x - n * x.dot(&n);
        let u = set.relative_velocity(c, v, r);
        let (force, slip) = (inner(c), across(&u));
        let on_cone = across(&force).norm() >= (1.0 - config.margin) * set.mu[c] * force.dot(&n);
        let state = if force.norm() <= config.floor * largest {
            ContactState::Open
        } else if on_cone && slip.norm() > config.slip_speed {
            ContactState::Slide
        } else {
            ContactState::Stick
        };
        ContactOutcome {
            pair: set.pair[c],
            point: set.point[c],
            normal: n,
            gap: h * u.dot(&n),
            normal_force: r[c].dot(&n) / h,
            tangential_force: across(&r[c]) / h,
            slip,
            state,
        }
    };
    (0..r.len().min(set.len())).map(outcome).collect()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use std::sync::Arc;

    use crate::{Contact, FrictionProblem};
    use stiction_math::{BlockPattern, Mat3, PartShape, SystemMatrix};

    /// A point of 2 kg on a floor, pushed along it, in a step of 0.1 s: weight 20 N, μ = 0.5.
    #[test]
    fn forces_slip_and_state_of_one_contact() {
        let problem = |push: f64| {
            let contact = Contact {
                mu: 0.5,
                point: Vec3::new(1.0, 2.0, 3.0),
                pair: [4, 7],
                ..Contact::default()
            };
            let pattern = BlockPattern::from_cliques(1, [&[0u32][..]]).unwrap();
            let mut a = SystemMatrix::new(vec![PartShape::Sparse(Arc::new(pattern))], &[]);
            a.add(0, 0, &Mat3::from_diagonal_element(2.0));
            let mut p = FrictionProblem::new(a, vec![Vec3::new(push, 0.0, -2.0)], 0.1);
            p.contacts.push(&[(0, 1.0)], contact);
            p
        };
        let held = problem(0.6);
        let r = [Vec3::new(-0.6, 0.0, 2.0)];
        let all = outcomes(
            &held.contacts,
            held.h,
            &[Vec3::zeros()],
            &r,
            &CertifyConfig::default(),
        );
        assert_eq!(all[0].state, ContactState::Stick);
        assert!((all[0].force() - Vec3::new(-6.0, 0.0, 20.0)).norm() < 1e-12);
        assert_eq!(
            (all[0].pair, all[0].point),
            ([4, 7], Vec3::new(1.0, 2.0, 3.0))
        );
        let slid = problem(3.0);
        let (v, r) = ([Vec3::new(1.0, 0.0, 0.0)], [Vec3::new(-1.0, 0.0, 2.0)]);
        let all = outcomes(&slid.contacts, slid.h, &v, &r, &CertifyConfig::default());
        assert_eq!((all[0].state, all[0].slip), (ContactState::Slide, v[0]));
        let (v, r) = ([Vec3::new(0.0, 0.0, 1.0)], [Vec3::zeros()]);
        let all = outcomes(&slid.contacts, slid.h, &v, &r, &CertifyConfig::default());
        assert_eq!(all[0].state, ContactState::Open);
        assert!((all[0].gap - 0.1).abs() < 1e-15);
    }
}
