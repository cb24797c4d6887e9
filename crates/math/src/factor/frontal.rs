//! Multifrontal LU factorisation of a block matrix whose pattern is symmetric [duff1983].
//!
//! The order is that of Cholesky on the same graph, so that the fill is that of a symmetric matrix.
//! An order for unrestricted row pivoting has to allow for the fill of AᵀA, ten times as much on
//! hollow balls of tetrahedra. Columns with one structure form a front: a dense matrix of the rows
//! and columns that they touch,
//!
//! ```text
//! F = ⎡F₁₁ F₁₂⎤   P F₁₁ = L₁₁ U₁₁,  U₁₂ = L₁₁⁻¹ P F₁₂,  L₂₁ = F₂₁ U₁₁⁻¹,  S = F₂₂ − L₂₁ U₁₂.
//!     ⎣F₂₁ F₂₂⎦
//! ```
//!
//! S is added into the front of the parent. Rows are exchanged within F₁₁ alone, so that all sizes
//! are known before the numbers. That can fail where elimination with all rows would not; the
//! caller checks the solution ([`super::Lu`]).

use super::fronts::{Front, Fronts, Halves};
use super::{amd_of_pattern, buffer, postordered, zeros};
use crate::{BlockMatrix, BlockPattern, FactorError, Vec3};
use faer::dyn_stack::{MemBuffer, MemStack};
use faer::linalg::lu::partial_pivoting::factor::{lu_in_place, lu_in_place_scratch};
use faer::linalg::matmul::matmul;
use faer::linalg::triangular_solve::{
    solve_lower_triangular_in_place, solve_unit_lower_triangular_in_place,
};
use faer::prelude::{Reborrow, ReborrowMut};
use faer::{Accum, MatMut, Par};

/// A front may absorb its last child if it then has at most this many block columns and this
/// fraction of zeros: wide fronts are fast, but zeros cost time.
const RELAXED: [(usize, f64); 3] = [(4, 0.8), (16, 0.15), (40, 0.05)];
/// Relative pivot size, compared with the largest entry of the front, below which a pivot is
/// rejected.
const SMALLEST_PIVOT: f64 = 1e-14;

/// Fronts and the memory layout of L and U.
#[derive(Debug)]
pub(super) struct Analysis {
    structure: Fronts,
    /// Start of L₁₁\U₁₁, L₂₁ and U₁₂ of each front, and the end.
    at: Vec<usize>,
}

impl Analysis {
    pub fn new(pattern: &BlockPattern) -> Result<Self, FactorError> {
        let order = postordered(pattern, amd_of_pattern(pattern)?)?;
        let structure = Fronts::new(pattern, order, Halves::Both, &RELAXED)?;
        let mut at = vec![0];
        for front in &structure.fronts {
            let (p, u) = front.size();
            at.push(at[at.len() - 1] + p * (p + 2 * u));
        }
        Ok(Self { structure, at })
    }

    /// Number of values in L and U.
    pub fn nnz(&self) -> usize {
        self.at[self.at.len() - 1]
    }
}

/// L₁₁\U₁₁, L₂₁ and U₁₂ of a front of the size (p, u), by columns.
fn parts((p, u): (usize, usize), values: &[f64]) -> (&[f64], &[f64], &[f64]) {
    let (l11, rest) = values[..p * (p + 2 * u)].split_at(p * p);
    let (l21, u12) = rest.split_at(u * p);
    (l11, l21, u12)
}

/// Values of an [`Analysis`], with their memory.
pub(super) struct Numbers {
    /// L₁₁\U₁₁, L₂₁ and U₁₂ of every front.
    factor: Vec<f64>,
    /// Row of its front that each pivot came from.
    rows: Vec<u32>,
    front: Vec<f64>,
    waiting: Vec<f64>,
    x: Vec<f64>,
    y: Vec<f64>,
    permutation: Vec<usize>,
    inverse: Vec<usize>,
    scratch: MemBuffer,
}

impl Numbers {
    pub fn new(analysis: &Analysis) -> Result<Self, FactorError> {
        let structure = &analysis.structure;
        let n = 3 * structure.order.len();
        let sizes = structure.fronts.iter().map(Front::size);
        let (pivots, rows) = sizes.fold((0, 0), |a, (p, u)| (a.0.max(p), a.1.max(p + u)));
        Ok(Self {
            factor: zeros(analysis.nnz())?,
            rows: vec![0; n],
            front: zeros(structure.largest)?,
            waiting: zeros(structure.waiting)?,
            x: zeros(n)?,
            y: zeros(rows)?,
            permutation: vec![0; pivots],
            inverse: vec![0; pivots],
            scratch: buffer(lu_in_place_scratch::<usize, f64>(
                pivots,
                pivots,
                Par::Seq,
                Default::default(),
            ))?,
        })
    }

    /// Heap memory [bytes].
    pub fn bytes(&self) -> usize {
        8 * (self.factor.len() + self.front.len() + self.waiting.len() + self.x.len())
            + 4 * self.rows.len()
    }

    /// Factors `a`, whose pattern was analysed. The error names the original block of a front
    /// without a usable pivot.
    pub fn factor(&mut self, analysis: &Analysis, a: &BlockMatrix) -> Result<(), FactorError> {
        let structure = &analysis.structure;
        // Starts of the pending S: a stack, since children come last to first.
        let mut top = 0;
        for (front, &at) in structure.fronts.iter().zip(&analysis.at) {
            let (p, u) = front.size();
            let m = p + u;
            let f = &mut self.front[..m * m];
            f.fill(0.0);
            for entry in &structure.entries[front.entries.clone()] {
                let block = &a.values[entry.source as usize];
                let at = 3 * (entry.row as usize + m * entry.col as usize);
                for c in 0..3 {
                    let column = block.column(c);
                    for r in 0..3 {
                        f[at + c * m + r] += column[r];
                    }
                }
            }
            for &child in front.children.iter().rev() {
                let child = &structure.fronts[child];
                let size = child.size().1;
                top -= size * size;
                let s = &self.waiting[top..top + size * size];
                extend_add(f, m, s, size, &structure.up[child.below.clone()]);
            }
            let largest = f.iter().fold(0.0f64, |a, x| a.max(x.abs()));
            self.eliminate(front, at, largest)
                .ok_or(FactorError::Singular {
                    block: structure.order[front.pivots.start],
                })?;
            let f = &self.front[..m * m];
            let s = &mut self.waiting[top..top + u * u];
            for (c, column) in s.chunks_exact_mut(u.max(1)).enumerate() {
                let from = (p + c) * m + p;
                column.copy_from_slice(&f[from..from + u]);
            }
            top += u * u;
        }
        Ok(())
    }

    /// Eliminates the pivots of the current front and stores L and U; none without usable pivots.
    fn eliminate(&mut self, front: &Front, at: usize, largest: f64) -> Option<()> {
        let (p, u) = front.size();
        let m = p + u;
        let all = MatMut::from_column_major_slice_mut(&mut self.front[..m * m], m, m);
        let (mut f11, f12, mut f21, f22) = all.split_at_mut(p, p);
        let permutation = &mut self.permutation[..p];
        let stack = MemStack::new(&mut self.scratch);
        let inverse = &mut self.inverse[..p];
        let params = Default::default();
        lu_in_place(f11.rb_mut(), permutation, inverse, Par::Seq, stack, params);
        let usable = |k: usize| f11[(k, k)].abs() > SMALLEST_PIVOT * largest;
        if !(0..p).all(usable) {
            return None;
        }
        let first = 3 * front.pivots.start;
        for (row, &from) in self.rows[first..first + p].iter_mut().zip(&*permutation) {
            *row = from as u32;
        }
        // U₁₂ is permuted while it is copied into the factor's memory.
        let (l, rest) = self.factor[at..].split_at_mut(p * p);
        let (l21, u12) = rest.split_at_mut(u * p);
        let mut u12 = MatMut::from_column_major_slice_mut(&mut u12[..p * u], p, u);
        for c in 0..u {
            for (r, &from) in permutation.iter().enumerate() {
                u12[(r, c)] = f12[(from, c)];
            }
        }
        let l11 = f11.rb();
        solve_unit_lower_triangular_in_place(l11, u12.rb_mut(), Par::Seq);
        // L₂₁ U₁₁ = F₂₁ is U₁₁ᵀ L₂₁ᵀ = F₂₁ᵀ.
        solve_lower_triangular_in_place(l11.transpose(), f21.rb_mut().transpose_mut(), Par::Seq);
        matmul(f22, Accum::Add, f21.rb(), u12.rb(), -1.0, Par::Seq);
        let mut kept = MatMut::from_column_major_slice_mut(l, p, p);
        kept.copy_from(l11);
        let mut kept = MatMut::from_column_major_slice_mut(l21, u, p);
        kept.copy_from(f21.rb());
        Some(())
    }

    /// rhs ← (L U)⁻¹ rhs.
    pub fn solve(&mut self, analysis: &Analysis, rhs: &mut [Vec3]) {
        let structure = &analysis.structure;
        for (x, &old) in self.x.chunks_exact_mut(3).zip(&structure.order) {
            x.copy_from_slice(rhs[old].as_slice());
        }
        for (front, &at) in structure.fronts.iter().zip(&analysis.at) {
            let (p, u) = front.size();
            let first = 3 * front.pivots.start;
            let (l11, l21, _) = parts((p, u), &self.factor[at..]);
            let (y, z) = self.y[..p + u].split_at_mut(p);
            let rows = &self.rows[first..first + p];
            for (y, &row) in y.iter_mut().zip(rows) {
                *y = self.x[first + row as usize];
            }
            z.fill(0.0);
            for k in 0..p {
                let column = &l11[k * p..(k + 1) * p];
                let (done, ahead) = y.split_at_mut(k + 1);
                subtract(ahead, done[k], &column[k + 1..]);
                subtract(z, done[k], &l21[k * u..(k + 1) * u]);
            }
            self.x[first..first + p].copy_from_slice(y);
            for (z, &row) in z.chunks_exact(3).zip(&structure.below[front.below.clone()]) {
                for (x, z) in self.x[3 * row as usize..][..3].iter_mut().zip(z) {
                    *x += z;
                }
            }
        }
        for (front, &at) in structure.fronts.iter().zip(&analysis.at).rev() {
            let (p, u) = front.size();
            let first = 3 * front.pivots.start;
            let (l11, _, u12) = parts((p, u), &self.factor[at..]);
            let y = &mut self.y[..p];
            y.copy_from_slice(&self.x[first..first + p]);
            let mut columns = u12.chunks_exact(p.max(1));
            for &row in &structure.below[front.below.clone()] {
                for x in &self.x[3 * row as usize..][..3] {
                    if let Some(column) = columns.next() {
                        subtract(y, *x, column);
                    }
                }
            }
            for k in (0..p).rev() {
                let column = &l11[k * p..(k + 1) * p];
                let (ahead, done) = y.split_at_mut(k);
                done[0] /= column[k];
                subtract(ahead, done[0], &column[..k]);
            }
            self.x[first..first + p].copy_from_slice(y);
        }
        for (x, &old) in self.x.chunks_exact(3).zip(&structure.order) {
            rhs[old] = Vec3::new(x[0], x[1], x[2]);
        }
    }
}

/// y ← y − a x.
fn subtract(y: &mut [f64], a: f64, x: &[f64]) {
    for (y, x) in y.iter_mut().zip(x) {
        *y -= a * x;
    }
}

/// Adds the S of a child, of `size` rows, into a front of `m` rows; `up` has the front's block row
/// of each of its blocks.
fn extend_add(front: &mut [f64], m: usize, s: &[f64], size: usize, up: &[u32]) {
    for (column, &to) in s.chunks_exact(3 * size.max(1)).zip(up) {
        for c in 0..3 {
            let into = &mut front[(3 * to as usize + c) * m..][..m];
            let from = column[c * size..(c + 1) * size].chunks_exact(3);
            for (from, &row) in from.zip(up) {
                let into = &mut into[3 * row as usize..][..3];
                for (into, from) in into.iter_mut().zip(from) {
                    *into += from;
                }
            }
        }
    }
}
