//! The equations of the active rows, as products, and Krylov iterations on them: what `cr` and `sp` share.
//!
//! A contact has up to three rows, one along the normal and two along the tangent. They are kept as one
//! vector in the world frame and a projector P_c to the rows that are active, so that no basis of the
//! tangent plane is chosen. With L = P B the system of [verschoor2019, Eq. 20] reads
//!
//! ```text
//! ⎛  A  −Lᵀ⎞ ⎛v⎞   ⎛f + (I − P) …⎞        residual:  f + Bᵀ r − A v   of a block   [N·s]
//! ⎝ −L  −G ⎠ ⎝r⎠ = ⎝     P k     ⎠                   P (B v + k + G r) of a contact [m/s]
//! ```
//!
//! where r holds all of an impulse, the kinetic friction that is given included: only its part in the
//! range of P is unknown. G is the compliance of the rows, zero for hard contacts.

mod iteration;
mod minres;
mod precondition;

use stiction_contact::{ContactSet, FrictionProblem};
use stiction_math::{LinearOperator, Mat3, Vec3, parallel, reduce};

pub use iteration::KktKrylov;
pub(crate) use iteration::{KktIteration, switching_interval};
pub(crate) use precondition::Approximation;
pub use precondition::CrPreconditioner;

/// A vector of the system: one part per block, one per contact.
#[derive(Clone, Debug, Default)]
pub(crate) struct Column {
    pub v: Vec<Vec3>,
    pub c: Vec<Vec3>,
}

/// Blocks or contacts per piece of a parallel loop.
const PIECE: usize = 512;

impl Column {
    /// Sets the size; all entries are zero then.
    pub fn reset(&mut self, blocks: usize, contacts: usize) {
        for (column, n) in [(&mut self.v, blocks), (&mut self.c, contacts)] {
            column.clear();
            column.resize(n, Vec3::zeros());
        }
    }

    pub fn dot(&self, other: &Self) -> f64 {
        reduce::dot(&self.v, &other.v) + reduce::dot(&self.c, &other.c)
    }

    /// self += a x.
    pub fn axpy(&mut self, a: f64, x: &Self) {
        reduce::axpy(a, &x.v, &mut self.v);
        reduce::axpy(a, &x.c, &mut self.c);
    }

    /// self = x + b self.
    pub fn xpby(&mut self, x: &Self, b: f64) {
        reduce::xpby(&x.v, b, &mut self.v);
        reduce::xpby(&x.c, b, &mut self.c);
    }

    /// self = a self.
    pub fn scale(&mut self, a: f64) {
        let scaled = |x: &mut Vec3| *x *= a;
        self.v.iter_mut().for_each(scaled);
        self.c.iter_mut().for_each(scaled);
    }

    pub fn copy(&mut self, x: &Self) {
        reduce::copy(&x.v, &mut self.v);
        reduce::copy(&x.c, &mut self.c);
    }

    pub fn bytes(&self) -> usize {
        size_of_val(&self.v[..]) + size_of_val(&self.c[..])
    }
}

/// The entries of B by block, so that products with Bᵀ can be taken block by block.
#[derive(Clone, Debug, Default)]
pub(crate) struct Transpose {
    /// The first slot of every block, and the number of slots at the end.
    start: Vec<u32>,
    /// Contact and entry.
    slots: Vec<(u32, u32)>,
}

impl Transpose {
    pub fn update(&mut self, blocks: usize, set: &ContactSet) {
        self.start.clear();
        self.start.resize(blocks + 1, 0);
        for &node in &set.nodes {
            self.start[node as usize + 1] += 1;
        }
        for i in 0..blocks {
            self.start[i + 1] += self.start[i];
        }
        self.slots.clear();
        self.slots.resize(set.nodes.len(), (0, 0));
        let mut next = self.start.clone();
        for c in 0..set.len() {
            for e in set.start[c]..set.start[c + 1] {
                let at = &mut next[set.nodes[e as usize] as usize];
                self.slots[*at as usize] = (c as u32, e);
                *at += 1;
            }
        }
    }

    /// Contact and entry of everything that acts on a block.
    pub fn of(&self, block: usize) -> &[(u32, u32)] {
        &self.slots[self.start[block] as usize..self.start[block + 1] as usize]
    }

    /// y += s Bᵀ r, contacts in their order.
    pub fn add(&self, set: &ContactSet, s: f64, r: &[Vec3], y: &mut [Vec3]) {
        parallel::each_mut(y, PIECE, |i, y| {
            for &(c, e) in self.of(i) {
                let (r, e) = (r[c as usize] * s, e as usize);
                *y += r * set.weights[e];
                if let Some(lever) = set.levers.get(e) {
                    *y += lever.cross(&r);
                }
                if let Some(block) = set.blocks.get(e) {
                    *y += block.tr_mul(&r);
                }
            }
        });
    }

    pub fn bytes(&self) -> usize {
        size_of_val(&self.start[..]) + size_of_val(&self.slots[..])
    }
}

/// The active rows of a contact.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct ActiveRows {
    /// The projector P to the active rows, zero if there is none.
    pub active: Mat3,
    /// The compliance G of the rows [1/kg], zero outside the range of P.
    pub compliance: Mat3,
}

impl ActiveRows {
    pub fn is_active(&self) -> bool {
        self.active != Mat3::zeros()
    }
}

/// The system at hand.
pub(crate) struct Kkt<'a> {
    pub problem: &'a FrictionProblem,
    pub transpose: &'a Transpose,
    pub rows: &'a [ActiveRows],
}

impl Kkt<'_> {
    /// y ← the matrix times x, and `product` ← A times the velocities of x.
    pub fn apply(&self, x: &Column, product: &mut [Vec3], y: &mut Column) {
        self.problem.a.apply(&x.v, product);
        reduce::copy(product, &mut y.v);
        self.add_contacts(x, y);
    }

    /// As [`Kkt::apply`], with A times the velocities of x in the velocities of y already.
    pub fn add_contacts(&self, x: &Column, y: &mut Column) {
        let set = &self.problem.contacts;
        self.transpose.add(set, -1.0, &x.c, &mut y.v);
        for_contacts(&mut y.c, |c, y| {
            let ActiveRows { active, compliance } = &self.rows[c];
            *y = match self.rows[c].is_active() {
                true => -(active * set.velocity(c, &x.v) + compliance * x.c[c]),
                false => Vec3::zeros(),
            };
        });
    }

    /// The residual at (v, r), where `unconstrained` = f − A v [verschoor2019, Sect. 3.5]: no product
    /// with A.
    pub fn residual(&self, unconstrained: &[Vec3], v: &[Vec3], r: &[Vec3], out: &mut Column) {
        let set = &self.problem.contacts;
        reduce::copy(unconstrained, &mut out.v);
        self.transpose.add(set, 1.0, r, &mut out.v);
        for_contacts(&mut out.c, |c, out| {
            let ActiveRows { active, compliance } = &self.rows[c];
            *out = match self.rows[c].is_active() {
                true => active * (set.velocity(c, v) + set.k[c]) + compliance * r[c],
                false => Vec3::zeros(),
            };
        });
    }
}

/// Calls `f` for every contact, in parallel.
pub(crate) fn for_contacts<T: Send>(column: &mut [T], f: impl Fn(usize, &mut T) + Sync) {
    parallel::each_mut(column, PIECE, f);
}
