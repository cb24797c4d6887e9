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

use super::{Triangle, amd_of_pattern, block_tree, buffer, ordered_triangle, postordered, zeros};
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

/// Fronts, their structure and their memory layout.
#[derive(Debug)]
pub(super) struct Analysis {
    /// Original block of each ordered block.
    order: Vec<usize>,
    fronts: Vec<Front>,
    /// The blocks of A of all fronts.
    entries: Vec<Entry>,
    /// Rows below the pivots of all fronts, as ordered blocks, and their positions in the parent.
    below: Vec<u32>,
    up: Vec<u32>,
    /// Number of values in L and U, in the largest front, and in all pending S at worst.
    factor: usize,
    largest: usize,
    waiting: usize,
}

/// One front. Ranges index the lists of [`Analysis`].
#[derive(Debug)]
struct Front {
    /// Ordered blocks of the pivots.
    pivots: std::ops::Range<usize>,
    below: std::ops::Range<usize>,
    entries: std::ops::Range<usize>,
    children: Vec<usize>,
    /// Start of L₁₁\U₁₁, L₂₁ and U₁₂.
    at: usize,
}

/// Destination of block `source` of A: block row and column of its front.
#[derive(Debug)]
struct Entry {
    source: u32,
    row: u32,
    col: u32,
}

impl Front {
    /// Scalar pivots and rows below them.
    fn size(&self) -> (usize, usize) {
        (3 * self.pivots.len(), 3 * self.below.len())
    }

    /// L₁₁\U₁₁, L₂₁ and U₁₂, by columns.
    fn parts<'a>(&self, factor: &'a [f64]) -> (&'a [f64], &'a [f64], &'a [f64]) {
        let (p, u) = self.size();
        let (l11, rest) = factor[self.at..self.at + p * (p + 2 * u)].split_at(p * p);
        let (l21, u12) = rest.split_at(u * p);
        (l11, l21, u12)
    }
}

impl Analysis {
    pub fn new(pattern: &BlockPattern) -> Result<Self, FactorError> {
        let order = postordered(pattern, amd_of_pattern(pattern)?)?;
        let (parent, counts) = block_tree(pattern, &order)?;
        let starts = supernodes(&parent, &counts);
        let n = order.len();
        let (lower, _) = ordered_triangle(pattern, &order, Triangle::Lower);
        let mut front_of = vec![0; n];
        for (s, w) in starts.windows(2).enumerate() {
            front_of[w[0]..w[1]].fill(s);
        }
        let mut analysis = Self {
            fronts: Vec::with_capacity(starts.len() - 1),
            entries: Vec::with_capacity(pattern.nnz()),
            below: Vec::new(),
            up: Vec::new(),
            factor: 0,
            largest: 0,
            waiting: 0,
            order,
        };
        let mut children: Vec<Vec<usize>> = vec![Vec::new(); starts.len() - 1];
        // The local row of an ordered block in the front at hand.
        let mut local = vec![u32::MAX; n];
        let mut waiting = 0;
        for (s, w) in starts.windows(2).enumerate() {
            let pivots = w[0]..w[1];
            let mut below: Vec<u32> = Vec::new();
            let mut take = |row: usize| {
                if row >= pivots.end && local[row] != s as u32 {
                    local[row] = s as u32;
                    below.push(row as u32);
                }
            };
            for j in pivots.clone() {
                let column = lower.col_start[j]..lower.col_start[j + 1];
                lower.rows[column].iter().for_each(|&i| take(i));
            }
            let own = std::mem::take(&mut children[s]);
            for &child in &own {
                let rows = analysis.fronts[child].below.clone();
                rows.for_each(|k| take(analysis.below[k] as usize));
            }
            below.sort_unstable();
            let start = analysis.below.len();
            analysis.below.extend(&below);
            let front = Front {
                below: start..analysis.below.len(),
                entries: 0..0,
                children: own,
                at: analysis.factor,
                pivots,
            };
            let (p, u) = front.size();
            analysis.factor += p * (p + 2 * u);
            analysis.largest = analysis.largest.max((p + u) * (p + u));
            // A child's S is freed once it has been added.
            let freed = front.children.iter().map(|&c| analysis.fronts[c].size().1);
            waiting = waiting + u * u - freed.map(|u| u * u).sum::<usize>();
            analysis.waiting = analysis.waiting.max(waiting);
            if let Some(&first) = below.first() {
                children[front_of[first as usize]].push(s);
            }
            analysis.fronts.push(front);
        }
        analysis.place(pattern)?;
        Ok(analysis)
    }

    /// Maps blocks of A and rows of children to positions in each front.
    fn place(&mut self, pattern: &BlockPattern) -> Result<(), FactorError> {
        let n = self.order.len();
        let mut place = vec![0; n];
        for (new, &old) in self.order.iter().enumerate() {
            place[old] = new;
        }
        let small = |k: usize| u32::try_from(k).map_err(|_| FactorError::OutOfMemory);
        self.up = vec![0; self.below.len()];
        let mut local = vec![0u32; n];
        for s in 0..self.fronts.len() {
            let (pivots, below) = (self.fronts[s].pivots.clone(), self.fronts[s].below.clone());
            let rows = self.below[below].iter().map(|&i| i as usize);
            for (k, row) in pivots.clone().chain(rows).enumerate() {
                local[row] = k as u32;
            }
            for &child in &self.fronts[s].children {
                for k in self.fronts[child].below.clone() {
                    self.up[k] = local[self.below[k] as usize];
                }
            }
            let start = self.entries.len();
            for j in pivots.clone() {
                let old = self.order[j];
                let first = pattern.row_start()[old];
                for (k, &other) in pattern.row(old).iter().enumerate() {
                    let i = place[other as usize];
                    if i < pivots.start {
                        continue;
                    }
                    self.entries.push(Entry {
                        source: small(first + k)?,
                        row: local[j],
                        col: local[i],
                    });
                    // Within the pivots, row i brings its own entry.
                    if i >= pivots.end
                        && let Some(mirror) = pattern.find(other as usize, old)
                    {
                        self.entries.push(Entry {
                            source: small(mirror)?,
                            row: local[i],
                            col: local[j],
                        });
                    }
                }
            }
            self.fronts[s].entries = start..self.entries.len();
        }
        Ok(())
    }

    /// Number of values in L and U.
    pub fn nnz(&self) -> usize {
        self.factor
    }
}

/// The first column of each front, and the end: columns with one structure, and children that add
/// little fill.
fn supernodes(parent: &[isize], counts: &[usize]) -> Vec<usize> {
    let n = parent.len();
    // Fronts as (first column, columns, rows with pivots, zeros), in order; a front can absorb only
    // the one before it, which is its last child.
    let mut fronts: Vec<(usize, usize, usize, f64)> = Vec::new();
    for j in 0..n {
        let mut front = (j, 1, counts[j], 0.0);
        while let Some(&(first, columns, rows, zeros)) = fronts.last() {
            if parent[first + columns - 1] != front.0 as isize {
                break;
            }
            let (all, below) = (columns + front.1, front.2 - front.1);
            let height = all + below;
            // Additional zeros in the child's columns.
            let more = zeros + front.3 + (columns * (height - rows)) as f64;
            let total = (all * (all + 2 * below)) as f64;
            let share = 2.0 * more / total;
            let fits = more == 0.0 || RELAXED.iter().any(|&(w, z)| all <= w && share <= z);
            if !fits {
                break;
            }
            front = (first, all, height, more);
            fronts.pop();
        }
        fronts.push(front);
    }
    let mut starts: Vec<usize> = fronts.iter().map(|f| f.0).collect();
    starts.push(n);
    starts
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
        let n = 3 * analysis.order.len();
        let sizes = analysis.fronts.iter().map(Front::size);
        let (pivots, rows) = sizes.fold((0, 0), |a, (p, u)| (a.0.max(p), a.1.max(p + u)));
        Ok(Self {
            factor: zeros(analysis.factor)?,
            rows: vec![0; n],
            front: zeros(analysis.largest)?,
            waiting: zeros(analysis.waiting)?,
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
        // Starts of the pending S: a stack, since children come last to first.
        let mut top = 0;
        for front in &analysis.fronts {
            let (p, u) = front.size();
            let m = p + u;
            let f = &mut self.front[..m * m];
            f.fill(0.0);
            for entry in &analysis.entries[front.entries.clone()] {
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
                let child = &analysis.fronts[child];
                let size = child.size().1;
                top -= size * size;
                let s = &self.waiting[top..top + size * size];
                extend_add(f, m, s, size, &analysis.up[child.below.clone()]);
            }
            let largest = f.iter().fold(0.0f64, |a, x| a.max(x.abs()));
            self.eliminate(front, largest)
                .ok_or(FactorError::Singular {
                    block: analysis.order[front.pivots.start],
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
    fn eliminate(&mut self, front: &Front, largest: f64) -> Option<()> {
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
        let (l, rest) = self.factor[front.at..].split_at_mut(p * p);
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
        for (x, &old) in self.x.chunks_exact_mut(3).zip(&analysis.order) {
            x.copy_from_slice(rhs[old].as_slice());
        }
        for front in &analysis.fronts {
            let (p, u) = front.size();
            let first = 3 * front.pivots.start;
            let (l11, l21, _) = front.parts(&self.factor);
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
            for (z, &row) in z.chunks_exact(3).zip(&analysis.below[front.below.clone()]) {
                for (x, z) in self.x[3 * row as usize..][..3].iter_mut().zip(z) {
                    *x += z;
                }
            }
        }
        for front in analysis.fronts.iter().rev() {
            let (p, _) = front.size();
            let first = 3 * front.pivots.start;
            let (l11, _, u12) = front.parts(&self.factor);
            let y = &mut self.y[..p];
            y.copy_from_slice(&self.x[first..first + p]);
            let mut columns = u12.chunks_exact(p.max(1));
            for &row in &analysis.below[front.below.clone()] {
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
        for (x, &old) in self.x.chunks_exact(3).zip(&analysis.order) {
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
