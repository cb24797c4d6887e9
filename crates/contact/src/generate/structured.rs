//! Problems that are solved by hand.

use std::sync::Arc;
use stiction_math::elementary::sin_cos;

use stiction_math::{BlockPattern, Mat3, PartShape, SystemMatrix, Vec3};

use crate::{Contact, FrictionProblem};

/// A problem and its only solution.
#[derive(Clone, Debug)]
pub struct SolvedProblem {
    /// The problem.
    pub problem: FrictionProblem,
    /// Velocities of the blocks [m/s].
    pub v: Vec<Vec3>,
    /// Impulses at the contacts [N·s].
    pub r: Vec<Vec3>,
}

const H: f64 = 0.01;
const GRAVITY: f64 = 9.81;

/// An elastic block of `nodes` nodes of 0.2 kg, all on a slope of `angle` [rad] that falls along x,
/// sliding downhill at `speed` [m/s] before the step.
///
/// All nodes move as one, so elasticity has no say: the block holds if it was at rest and
/// tan θ ≤ μ, and otherwise gains h g (sin θ − μ cos θ), but friction does not turn it back.
pub fn incline(nodes: usize, angle: f64, mu: f64, speed: f64) -> SolvedProblem {
    let m = 0.2;
    let (sin, cos) = sin_cos(angle);
    let (normal, downhill) = (Vec3::new(sin, 0.0, cos), Vec3::new(cos, 0.0, -sin));
    let gravity = Vec3::z() * (-GRAVITY * H);
    let a = chain_matrix(&vec![m; nodes], 50.0);
    let f = vec![(downhill * speed + gravity) * m; nodes];
    let mut problem = FrictionProblem::new(a, f, H);
    problem.mass = vec![m; nodes];
    for i in 0..nodes {
        problem.positions[i] = Vec3::new(0.0, i as f64, 0.0);
        let contact = Contact {
            normal,
            mu,
            ..Contact::default()
        };
        problem.contacts.push(&[(i as u32, 1.0)], contact);
    }
    let v = downhill * (speed + H * GRAVITY * (sin - mu * cos)).max(0.0);
    let r = (v - downhill * speed - gravity) * m;
    SolvedProblem {
        problem,
        v: vec![v; nodes],
        r: vec![r; nodes],
    }
}

/// A column of nodes at rest on a floor, one on top of another, bottom first, with the given
/// masses [kg]; the top one is pushed aside by an impulse `push` [N·s] along x that friction
/// bears: push ≤ μ h g m at the top.
///
/// Every contact bears the weight above it and hands the push on to the floor.
pub fn stack(masses: &[f64], mu: f64, push: f64) -> SolvedProblem {
    let n = masses.len();
    let mut f: Vec<Vec3> = masses
        .iter()
        .map(|m| Vec3::z() * (-GRAVITY * H * m))
        .collect();
    if let Some(top) = f.last_mut() {
        top.x += push;
    }
    let mut problem = FrictionProblem::new(chain_matrix(masses, 0.0), f, H);
    problem.mass = masses.to_vec();
    let contact = Contact {
        mu,
        ..Contact::default()
    };
    let mut r = Vec::with_capacity(n);
    for i in 0..n as u32 {
        problem.positions[i as usize] = Vec3::z() * f64::from(i);
        match i {
            0 => problem.contacts.push(&[(0, 1.0)], contact),
            _ => problem.contacts.push(&[(i, 1.0), (i - 1, -1.0)], contact),
        }
        let above: f64 = masses[i as usize..].iter().sum();
        r.push(Vec3::new(-push, 0.0, GRAVITY * H * above));
    }
    SolvedProblem {
        problem,
        v: vec![Vec3::zeros(); n],
        r,
    }
}

/// A chain of `nodes` nodes of 0.1 kg on a floor with μ = 0.5, joined by springs with h²K = 5 kg
/// and pulled at its first node by an impulse `pull` [N·s] along x: its head slides, its tail may
/// hold.
pub fn pulled_chain(nodes: usize, pull: f64) -> FrictionProblem {
    let m = 0.1;
    let mut f = vec![Vec3::z() * (-GRAVITY * H * m); nodes];
    if let Some(head) = f.first_mut() {
        head.x += pull;
    }
    let mut problem = FrictionProblem::new(chain_matrix(&vec![m; nodes], 5.0), f, H);
    problem.mass = vec![m; nodes];
    for i in 0..nodes {
        problem.positions[i] = Vec3::new(-(i as f64), 0.0, 0.0);
        let contact = Contact {
            mu: 0.5,
            ..Contact::default()
        };
        problem.contacts.push(&[(i as u32, 1.0)], contact);
    }
    problem
}

/// Masses [kg] in a row, joined by isotropic springs of h²K = `stiffness` [kg].
fn chain_matrix(masses: &[f64], stiffness: f64) -> SystemMatrix {
    let edges: Vec<[u32; 2]> = (1..masses.len() as u32).map(|i| [i - 1, i]).collect();
    // Edges name nodes below the size only, so there is no error to lose.
    let cliques = edges.iter().map(|e| &e[..]);
    let pattern = BlockPattern::from_cliques(masses.len(), cliques).unwrap_or_default();
    let mut a = SystemMatrix::new(vec![PartShape::Sparse(Arc::new(pattern))], &[]);
    for (i, &m) in masses.iter().enumerate() {
        a.add(i, i, &Mat3::from_diagonal_element(m));
    }
    for [i, j] in edges.iter().map(|e| e.map(|i| i as usize)) {
        for (row, column, sign) in [(i, i, 1.0), (j, j, 1.0), (i, j, -1.0), (j, i, -1.0)] {
            a.add(row, column, &Mat3::from_diagonal_element(sign * stiffness));
        }
    }
    a
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::{CertifyConfig, certify};

    #[test]
    fn answers_by_hand_pass_the_certificate() {
        let mut cases = vec![
            stack(&[1.0, 2.0, 0.5], 0.4, 0.01),
            stack(&[1.0, 1e6, 1e-3, 4.0], 0.5, 0.19),
        ];
        for angle in [0.0, 0.2, 0.46, 0.47, 1.2] {
            for speed in [0.0, 0.01, 1.0] {
                for mu in [0.0, 0.5, 2.0] {
                    cases.push(incline(5, angle, mu, speed));
                }
            }
        }
        for case in cases {
            case.problem.check().unwrap();
            let c = certify(&case.problem, &case.v, &case.r, &CertifyConfig::default()).unwrap();
            for x in [c.residual, c.cone, c.creep, c.linear, c.slip_angle] {
                // A load of 1e5 N·s on a node of 1 kg is only known to 1.5e-11 m/s.
                assert!(x < 2e-11, "{c:?}");
            }
            assert!(c.contact_work <= 1e-15);
        }
    }
}
