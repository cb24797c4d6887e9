//! A frictional contact problem as plain data, and its possible defects.

use stiction_math::{
    BlockError, LinearOperator, MatrixPart, SystemMatrix, Vec3, is_positive_definite3, parallel,
};

use crate::ContactSet;

/// The contact problem of one linearised step [daviet2020, Eq. 5]: find velocities v [m/s] and
/// contact impulses r [N·s] with
///
/// ```text
/// A v = f + Bᵀ r,     u = B v + k + C r,     (u, r + ξ n) ∈ C_μ for every contact.
/// ```
///
/// r is the impulse on the first body in the world frame, 3 numbers per contact. C is zero for
/// hard contacts; a compliant one has C_cc = c n nᵀ, which lets it yield along the normal and
/// still stick along the tangent. ξ is zero without cohesion. C_μ is the set of pairs that keep the
/// laws of Signorini and Coulomb,
///
/// ```text
/// 0 ≤ u_N ⊥ r_N ≥ 0,   ‖r_T‖ ≤ μ r_N,   r_T = −μ r_N u_T/‖u_T‖ if u_T ≠ 0.
/// ```
///
/// Blocks whose velocity is prescribed are out of the system: A has been eliminated there, f is
/// zero, no contact names them, and what they do to a contact is in k. Their v is zero here.
///
/// **Deviation from the paper**: its compliant contacts have a slack in all three directions; a
/// tangential one would creep by C r_T in every step, so there is none.
#[derive(Clone, Debug)]
pub struct FrictionProblem {
    /// The system matrix A [kg]: M + h²K⁺ + hD.
    pub a: SystemMatrix,
    /// The right-hand side f [N·s], one vector per block.
    pub f: Vec<Vec3>,
    /// The time step h [s].
    pub h: f64,
    /// Positions of the blocks [m], or none; they guide the elimination order of sparse parts and
    /// nothing else.
    pub positions: Vec<Vec3>,
    /// The lumped mass of each block [kg], or the mean inertia of an angular one [kg·m²].
    pub mass: Vec<f64>,
    /// Which blocks are prescribed and hence out of the system.
    pub fixed: Vec<bool>,
    /// Contacts: B, k, μ and the rest.
    pub contacts: ContactSet,
}

/// A defect of a problem.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum ProblemError {
    /// A column has the wrong length.
    #[error("`{column}` has {found} entries instead of {expected}")]
    Length {
        /// The column's name.
        column: &'static str,
        /// Expected number of entries.
        expected: usize,
        /// Number of entries.
        found: usize,
    },
    /// The matrix cannot be laid out by blocks.
    #[error("the matrix cannot be laid out by blocks: {0}")]
    Matrix(BlockError),
    /// The time step is not a positive number.
    #[error("the time step is {0} s")]
    TimeStep(f64),
    /// A block is at fault.
    #[error("block {block}: {fault}")]
    Block {
        /// The block.
        block: usize,
        /// Its defect.
        fault: BlockFault,
    },
    /// A contact is at fault.
    #[error("contact {contact}: {fault}")]
    Contact {
        /// The contact.
        contact: usize,
        /// Its defect.
        fault: ContactFault,
    },
}

/// A defect of a block.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
pub enum BlockFault {
    /// f, position or mass is not finite.
    #[error("its {0} is not finite")]
    NotFinite(&'static str),
    /// The mass is not positive.
    #[error("its mass is {0}")]
    Mass(f64),
    /// The diagonal block of A is not positive definite.
    #[error("the diagonal block of A is not positive definite")]
    Diagonal,
    /// A prescribed block has a right-hand side.
    #[error("it is prescribed, but f is not zero")]
    FixedForce,
}

/// A defect of a contact.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
pub enum ContactFault {
    /// `start` falls, or leads outside the entries.
    #[error("its range of entries is broken")]
    Range,
    /// Nothing in the stencil can move.
    #[error("no block that can move takes part in it")]
    Empty,
    /// An entry names a block that does not exist.
    #[error("it names block {0}, which does not exist")]
    NoBlock(u32),
    /// An entry names a prescribed block.
    #[error("it names block {0}, whose velocity is prescribed")]
    Fixed(u32),
    /// A block is named twice.
    #[error("it names block {0} twice")]
    Twice(u32),
    /// The normal is not of unit length.
    #[error("its normal has length {0}")]
    Normal(f64),
    /// A diagonal entry of W is not positive.
    #[error("its diagonal block of W is not positive: matrix `W` is not positive definite")]
    Delassus,
    /// A number is not finite.
    #[error("its {0} is not finite")]
    NotFinite(&'static str),
    /// A number is negative that must not be.
    #[error("its {0} is negative")]
    Negative(&'static str),
}

/// Tolerance of the length of a normal: some roundings, and readers of text files.
const NORMAL: f64 = 1e-9;

impl FrictionProblem {
    /// A problem without contacts and without prescribed blocks; positions are zero and masses are
    /// the mean diagonals of A until they are set.
    pub fn new(a: SystemMatrix, f: Vec<Vec3>, h: f64) -> Self {
        let n = a.len();
        Self {
            mass: (0..n).map(|i| a.diagonal(i).trace() / 3.0).collect(),
            positions: vec![Vec3::zeros(); n],
            fixed: vec![false; n],
            contacts: ContactSet::default(),
            a,
            f,
            h,
        }
    }

    /// Number of 3-blocks of v.
    pub fn blocks(&self) -> usize {
        self.a.len()
    }

    /// The positions of every part's blocks [m], as the factorisation wants them.
    pub fn part_positions(&self) -> Vec<&[Vec3]> {
        let mut rest = &self.positions[..];
        let parts = self.a.parts().iter().map(|part| {
            let (head, tail) = rest.split_at(part.len().min(rest.len()));
            rest = tail;
            head
        });
        parts.collect()
    }

    /// y ← A v − f − Bᵀ r [N·s, N·m·s]: the impulse that is missing at every block.
    pub fn momentum_residual(&self, v: &[Vec3], r: &[Vec3], y: &mut [Vec3]) {
        self.a.apply(v, y);
        for (y, f) in y.iter_mut().zip(&self.f) {
            *y -= f;
        }
        for (c, r) in r.iter().enumerate() {
            self.contacts.add_transpose_of(c, &-r, y);
        }
    }

    /// Whether the data are consistent and finite: a solver may index and divide after it.
    pub fn check(&self) -> Result<(), ProblemError> {
        if !(self.h.is_finite() && self.h > 0.0) {
            return Err(ProblemError::TimeStep(self.h));
        }
        self.check_lengths()?;
        self.check_blocks()?;
        self.check_contacts(0)
    }

    /// Whether the contacts from `first` on are consistent and finite.
    pub fn check_contacts(&self, first: usize) -> Result<(), ProblemError> {
        self.check_lengths()?;
        let fault = first_fault(self.contacts.len() - first, |i| {
            let contact = first + i;
            Some((contact, self.check_contact(contact).err()?))
        });
        match fault {
            Some((contact, fault)) => Err(ProblemError::Contact { contact, fault }),
            None => Ok(()),
        }
    }

    /// Lengths that turn the velocities of blocks into m/s: the radius of gyration [m] of rigid bodies at
    /// their angular blocks, 1 elsewhere.
    pub fn radii(&self) -> Vec<f64> {
        let mut radii = vec![1.0; self.blocks()];
        for (range, part) in self.a.ranges() {
            if let MatrixPart::Dense(_) = part {
                let [mass, inertia] = [range.start, range.start + 1].map(|i| self.a.diagonal(i));
                radii[range.start + 1] = (inertia.trace() / mass.trace()).sqrt();
            }
        }
        radii
    }

    fn check_blocks(&self) -> Result<(), ProblemError> {
        for (range, part) in self.a.ranges() {
            let first = range.start;
            // Bands are looked through at once, and row by row only to say which one it is.
            let sound = matches!(part, MatrixPart::Banded(m) if m.is_finite());
            let finite = |i: usize| match part {
                _ if sound => true,
                MatrixPart::Sparse(m) => {
                    let rows = m.pattern.row_start();
                    m.values[rows[i]..rows[i + 1]].iter().all(all_finite)
                }
                MatrixPart::Dense(m) => all_finite(m.iter()),
                MatrixPart::Banded(m) => m.block_is_finite(i),
                MatrixPart::Scalar(m) => m.row_is_finite(i),
            };
            let fault = first_fault(part.len(), |i| {
                Some((i, self.check_block(first + i, finite(i)).err()?))
            });
            if let Some((i, fault)) = fault {
                let block = first + i;
                return Err(ProblemError::Block { block, fault });
            }
        }
        Ok(())
    }

    fn check_block(&self, i: usize, finite: bool) -> Result<(), BlockFault> {
        if !finite {
            return Err(BlockFault::NotFinite("row of A"));
        }
        if !all_finite(&self.f[i]) {
            return Err(BlockFault::NotFinite("f"));
        }
        if !self.positions.get(i).is_none_or(all_finite) {
            return Err(BlockFault::NotFinite("position"));
        }
        if !self.mass[i].is_finite() {
            return Err(BlockFault::NotFinite("mass"));
        }
        if self.mass[i] <= 0.0 {
            return Err(BlockFault::Mass(self.mass[i]));
        }
        if !is_positive_definite3(&self.a.diagonal(i)) {
            return Err(BlockFault::Diagonal);
        }
        if self.fixed[i] && self.f[i] != Vec3::zeros() {
            return Err(BlockFault::FixedForce);
        }
        Ok(())
    }

    /// Whether all columns have the lengths that belong together.
    pub(crate) fn check_lengths(&self) -> Result<(), ProblemError> {
        let n = self.blocks();
        length("f", n, self.f.len())?;
        if !self.positions.is_empty() {
            length("positions", n, self.positions.len())?;
        }
        length("mass", n, self.mass.len())?;
        length("fixed", n, self.fixed.len())?;
        let set = &self.contacts;
        let n = set.len();
        length("contacts.start", n + 1, set.start.len())?;
        length("contacts.point", n, set.point.len())?;
        length("contacts.k", n, set.k.len())?;
        length("contacts.mu", n, set.mu.len())?;
        length("contacts.cohesion", n, set.cohesion.len())?;
        length("contacts.compliance", n, set.compliance.len())?;
        length("contacts.gap", n, set.gap.len())?;
        length("contacts.key", n, set.key.len())?;
        length("contacts.pair", n, set.pair.len())?;
        length("contacts.nodes", set.start[n] as usize, set.nodes.len())?;
        length("contacts.weights", set.nodes.len(), set.weights.len())?;
        if !set.levers.is_empty() {
            length("contacts.levers", set.nodes.len(), set.levers.len())?;
        }
        if !set.blocks.is_empty() {
            length("contacts.blocks", set.nodes.len(), set.blocks.len())?;
        }
        Ok(())
    }

    fn check_contact(&self, c: usize) -> Result<(), ContactFault> {
        let set = &self.contacts;
        let (begin, end) = (set.start[c] as usize, set.start[c + 1] as usize);
        if begin > end || end > set.nodes.len() || (c == 0 && begin > 0) {
            return Err(ContactFault::Range);
        }
        let mut moves = false;
        for (i, e) in set.entries(c).enumerate() {
            match self.fixed.get(e.node as usize) {
                None => return Err(ContactFault::NoBlock(e.node)),
                Some(true) => return Err(ContactFault::Fixed(e.node)),
                Some(false) => {}
            }
            if set.nodes[begin..begin + i].contains(&e.node) {
                return Err(ContactFault::Twice(e.node));
            }
            if !e.weight.is_finite() {
                return Err(ContactFault::NotFinite("weight"));
            }
            if !all_finite(&e.lever) {
                return Err(ContactFault::NotFinite("lever"));
            }
            if e.block.is_some_and(|g| !all_finite(&g)) {
                return Err(ContactFault::NotFinite("block"));
            }
            // A lever alone moves its point in a plane only, but every rigid body that has one
            // also has a weight.
            moves |= e.weight != 0.0 || e.block.is_some();
        }
        if !moves {
            return Err(ContactFault::Empty);
        }
        let length = set.normal[c].norm();
        if length.is_nan() || (length - 1.0).abs() > NORMAL {
            return Err(ContactFault::Normal(length));
        }
        if !all_finite(&set.point[c]) {
            return Err(ContactFault::NotFinite("point"));
        }
        if !all_finite(&set.k[c]) {
            return Err(ContactFault::NotFinite("k"));
        }
        if !set.gap[c].is_finite() {
            return Err(ContactFault::NotFinite("gap"));
        }
        for (name, x) in [
            ("friction coefficient", set.mu[c]),
            ("cohesion", set.cohesion[c]),
            ("compliance", set.compliance[c]),
        ] {
            if !x.is_finite() {
                return Err(ContactFault::NotFinite(name));
            }
            if x < 0.0 {
                return Err(ContactFault::Negative(name));
            }
        }
        Ok(())
    }
}

pub(crate) fn length(
    column: &'static str,
    expected: usize,
    found: usize,
) -> Result<(), ProblemError> {
    if expected == found {
        return Ok(());
    }
    Err(ProblemError::Length {
        column,
        expected,
        found,
    })
}

fn all_finite<'a>(x: impl IntoIterator<Item = &'a f64>) -> bool {
    x.into_iter().all(|x| x.is_finite())
}

/// The first fault among 0..n.
fn first_fault<F: Send>(n: usize, fault: impl Fn(usize) -> Option<F> + Sync) -> Option<F> {
    let first = parallel::map_ranges(n, 1024, |mut range| range.find_map(&fault));
    first.into_iter().flatten().next()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::sync::Arc;

    use stiction_math::{BlockPattern, Mat3, PartShape};

    use super::*;
    use crate::{Contact, StencilEntry};

    /// Three nodes in a row and a rigid body: blocks 0–2 and 3–4.
    fn small() -> FrictionProblem {
        let cliques: [&[u32]; 2] = [&[0, 1], &[1, 2]];
        let pattern = Arc::new(BlockPattern::from_cliques(3, cliques).unwrap());
        let mut a = SystemMatrix::new(vec![PartShape::Sparse(pattern), PartShape::Dense], &[]);
        for i in 0..5 {
            a.add(i, i, &Mat3::from_diagonal_element(2.0 + i as f64));
        }
        for (i, j) in [(0, 1), (1, 2)] {
            a.add(i, j, &Mat3::from_diagonal_element(-0.5));
            a.add(j, i, &Mat3::from_diagonal_element(-0.5));
        }
        let f = (0..5).map(|i| Vec3::new(1.0, i as f64, -3.0)).collect();
        let mut p = FrictionProblem::new(a, f, 0.01);
        let contact = Contact {
            mu: 0.5,
            compliance: 0.1,
            ..Contact::default()
        };
        p.contacts.push(&[(0, 1.0)], contact);
        // A point of the rigid body against the middle of the edge (1, 2).
        let arm = Vec3::new(0.1, -0.2, 0.3);
        let entries = [
            StencilEntry::weight(3, 1.0),
            StencilEntry::lever(4, arm),
            StencilEntry::weight(1, -0.25),
            StencilEntry::weight(2, -0.75),
        ];
        p.contacts.push_entries(entries, contact);
        p
    }

    #[test]
    fn a_point_of_a_rigid_body_moves_as_its_velocity_and_spin_say() {
        let p = small();
        let v: Vec<Vec3> = (0..5)
            .map(|i| Vec3::new(i as f64, 1.0 - i as f64, 0.5 * i as f64))
            .collect();
        let mut u = vec![Vec3::zeros(); 2];
        p.contacts.apply(&v, &mut u);
        assert_eq!(u[0], v[0]);
        let point = v[3] + v[4].cross(&Vec3::new(0.1, -0.2, 0.3));
        assert!((u[1] - (point - v[1] * 0.25 - v[2] * 0.75)).norm() < 1e-15);
    }

    #[test]
    fn the_transpose_is_the_transpose() {
        let p = small();
        let v: Vec<Vec3> = (0..5)
            .map(|i| Vec3::new((i as f64).sin(), (i as f64).cos(), 0.3 * i as f64))
            .collect();
        let r = vec![Vec3::new(1.0, -2.0, 3.0), Vec3::new(0.7, 0.1, -0.4)];
        let mut u = vec![Vec3::zeros(); 2];
        p.contacts.apply(&v, &mut u);
        let mut y = vec![Vec3::zeros(); 5];
        p.contacts.add_transpose(&r, &mut y);
        let left: f64 = u.iter().zip(&r).map(|(u, r)| u.dot(r)).sum();
        let right: f64 = y.iter().zip(&v).map(|(y, v)| y.dot(v)).sum();
        assert!((left - right).abs() < 1e-14);
    }

    #[test]
    fn scales_agree_with_the_matrix_of_the_contact() {
        let p = small();
        let w = [1.0, 2.0, 3.0, 4.0, 5.0];
        for c in 0..2 {
            let s = p
                .contacts
                .local_delassus(c, |i| Mat3::from_diagonal_element(1.0 / w[i]));
            assert!((s.trace() / 3.0 - p.contacts.scale(c, &w)).abs() < 1e-15);
        }
        assert_eq!(p.contacts.scale(0, &w), 1.0);
    }

    #[test]
    fn blocks_named_twice_are_merged() {
        let mut set = ContactSet::default();
        set.push(&[(3, 0.5), (1, -1.0), (3, 0.25)], Contact::default());
        assert_eq!(set.nodes, [3, 1]);
        assert_eq!(set.weights, [0.75, -1.0]);
        assert!(set.levers.is_empty());
    }

    #[test]
    fn another_order_keeps_the_contacts() {
        let p = small();
        let swapped = p.contacts.permuted(&[1, 0]);
        assert_eq!(swapped.permuted(&[1, 0]).nodes, p.contacts.nodes);
        assert!(swapped.entries(0).eq(p.contacts.entries(1)));
        assert_eq!(swapped.contact(1), p.contacts.contact(0));
    }

    #[test]
    fn defects_are_named() {
        assert_eq!(small().check(), Ok(()));
        let contact = |contact, fault| Err(ProblemError::Contact { contact, fault });
        let block = |block, fault| Err(ProblemError::Block { block, fault });
        let after = |change: fn(&mut FrictionProblem)| {
            let mut p = small();
            change(&mut p);
            p.check()
        };
        use ContactFault as F;
        assert_eq!(after(|p| p.h = 0.0), Err(ProblemError::TimeStep(0.0)));
        assert_eq!(
            after(|p| p.contacts.mu[1] = -0.1),
            contact(1, F::Negative("friction coefficient"))
        );
        assert_eq!(
            after(|p| p.contacts.k[1].y = f64::NAN),
            contact(1, F::NotFinite("k"))
        );
        assert_eq!(
            after(|p| p.contacts.normal[0] *= 2.0),
            contact(0, F::Normal(2.0))
        );
        assert!(after(|p| p.contacts.normal[0].x = f64::NAN).is_err());
        assert_eq!(
            after(|p| p.contacts.nodes[0] = 7),
            contact(0, F::NoBlock(7))
        );
        assert_eq!(after(|p| p.contacts.nodes[4] = 1), contact(1, F::Twice(1)));
        assert_eq!(after(|p| p.contacts.weights[0] = 0.0), contact(0, F::Empty));
        assert_eq!(after(|p| p.contacts.start[1] = 9), contact(0, F::Range));
        assert_eq!(
            after(|p| p.fixed[1] = true),
            block(1, BlockFault::FixedForce)
        );
        assert_eq!(
            after(|p| {
                p.fixed[1] = true;
                p.f[1] = Vec3::zeros();
            }),
            contact(1, F::Fixed(1))
        );
        assert_eq!(after(|p| p.mass[2] = 0.0), block(2, BlockFault::Mass(0.0)));
        assert_eq!(
            after(|p| p.f[4].z = f64::INFINITY),
            block(4, BlockFault::NotFinite("f"))
        );
        assert_eq!(
            after(|p| {
                p.a.add(3, 3, &Mat3::from_diagonal_element(-9.0));
            }),
            block(3, BlockFault::Diagonal)
        );
        assert_eq!(
            after(|p| {
                p.contacts.mu.pop();
            }),
            Err(ProblemError::Length {
                column: "contacts.mu",
                expected: 2,
                found: 1
            })
        );
    }
}
