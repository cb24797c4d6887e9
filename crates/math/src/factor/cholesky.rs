//! Multifrontal Cholesky factorisation of small block matrices [duff1983], in plain arithmetic.
//!
//! ```text
//! F = ⎡F₁₁  · ⎤   F₁₁ = L₁₁ L₁₁ᵀ,  L₂₁ = F₂₁ L₁₁⁻ᵀ,  S = F₂₂ − L₂₁ L₂₁ᵀ   (lower triangles)
//!     ⎣F₂₁ F₂₂⎦
//! ```
//!
//! S is added into the front of the parent. Pivots come three at a time, and one kernel does nearly
//! all of the work: three columns of a front less three columns of L times a 3×3 block. The dense
//! kernels of the sparse library are faster on large fronts, and slower on those of some ten blocks,
//! where a call costs more than its arithmetic; its column-by-column code, which has no dense
//! kernels, follows an index for every number.
//!
//! Multiplications, additions and square roots are rounded one by one in a fixed order, so that small
//! systems have the same bits on every processor.
//!
//! Columns of a front have an even number of rows, the last of which may be padding: the kernel takes
//! pairs of rows and begins at an even one. What it writes above the diagonal or into the padding is
//! not used.

use super::fronts::{Front, Fronts, Halves};
use super::zeros;
use crate::{BlockMatrix, BlockPattern, FactorError, Vec3};

/// A front may absorb its last child if it then has at most this many block columns and this
/// fraction of zeros (measured on sheets of 11 × 11 and 21 × 21 vertices and boxes of 5³).
const RELAXED: [(usize, f64); 2] = [(4, 0.5), (12, 0.15)];

/// Fronts and the memory layout of L.
#[derive(Debug)]
pub(super) struct Analysis {
    structure: Fronts,
    /// Start of L₁₁ and L₂₁ of each front, and the end.
    at: Vec<usize>,
    /// Number of values of the largest front with its padding.
    largest: usize,
    /// Rows of the highest front.
    height: usize,
}

impl Analysis {
    /// The fronts of `pattern` in the order `order`, a postorder of the elimination tree.
    pub fn new(pattern: &BlockPattern, order: Vec<usize>) -> Result<Self, FactorError> {
        let structure = Fronts::new(pattern, order, Halves::Lower, &RELAXED)?;
        let (mut at, mut largest, mut height) = (vec![0], 0, 0);
        for front in &structure.fronts {
            let (p, u) = front.size();
            let rows = even(p + u);
            at.push(at[at.len() - 1] + rows * p);
            largest = largest.max(rows * (p + u));
            height = height.max(rows);
        }
        Ok(Self {
            structure,
            at,
            largest,
            height,
        })
    }

    /// Number of values stored for L.
    pub fn len_values(&self) -> usize {
        self.at[self.at.len() - 1]
    }
}

/// Values of an [`Analysis`], with their memory.
pub(super) struct Numbers {
    /// L₁₁ and L₂₁ of every front, by columns.
    factor: Vec<f64>,
    front: Vec<f64>,
    waiting: Vec<f64>,
    x: Vec<f64>,
    y: Vec<f64>,
}

impl Numbers {
    pub fn new(analysis: &Analysis) -> Result<Self, FactorError> {
        Ok(Self {
            factor: zeros(analysis.len_values())?,
            front: zeros(analysis.largest)?,
            waiting: zeros(analysis.structure.waiting)?,
            x: zeros(3 * analysis.structure.order.len())?,
            y: zeros(analysis.height)?,
        })
    }

    /// Heap memory [bytes].
    pub fn bytes(&self) -> usize {
        let all = [&self.factor, &self.front, &self.waiting, &self.x, &self.y];
        all.map(|x| size_of_val(&x[..])).iter().sum()
    }

    /// Factors `a` + diag(shift) ⊗ I₃, of which it reads one triangle. The entries must be finite.
    pub fn factor(
        &mut self,
        analysis: &Analysis,
        a: &BlockMatrix,
        shift: Option<&[f64]>,
    ) -> Result<(), FactorError> {
        let structure = &analysis.structure;
        // Starts of the pending S: a stack, since children come last to first.
        let mut top = 0;
        for (front, at) in structure.fronts.iter().zip(analysis.at.windows(2)) {
            let (p, u) = front.size();
            let m = even(p + u);
            let f = &mut self.front[..m * (p + u)];
            f.fill(0.0);
            for entry in &structure.entries[front.entries.clone()] {
                let block = &a.values[entry.source as usize];
                let at = 3 * (entry.row as usize + m * entry.col as usize);
                for (c, column) in block.column_iter().enumerate() {
                    for r in 0..3 {
                        f[at + c * m + r] = column[r];
                    }
                }
            }
            if let Some(shift) = shift {
                let pivots = &structure.order[front.pivots.clone()];
                for (k, &old) in pivots.iter().enumerate() {
                    for c in 3 * k..3 * k + 3 {
                        f[c * m + c] += shift[old];
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
            eliminate(f, m, p / 3).map_err(|k| FactorError::NotPositiveDefinite {
                block: structure.order[front.pivots.start + k],
            })?;
            self.factor[at[0]..at[1]].copy_from_slice(&f[..m * p]);
            let s = &mut self.waiting[top..top + u * u];
            for c in 0..u {
                let from = (p + c) * m + p;
                s[c * u + c..(c + 1) * u].copy_from_slice(&f[from + c..from + u]);
            }
            top += u * u;
        }
        Ok(())
    }

    /// rhs ← (L Lᵀ)⁻¹ rhs.
    pub fn solve(&mut self, analysis: &Analysis, rhs: &mut [Vec3]) {
        let structure = &analysis.structure;
        for (x, &old) in self.x.chunks_exact_mut(3).zip(&structure.order) {
            x.copy_from_slice(rhs[old].as_slice());
        }
        let fronts = || structure.fronts.iter().zip(&analysis.at);
        for (front, &at) in fronts() {
            self.forward(front, &structure.below[front.below.clone()], at);
        }
        for (front, &at) in fronts().rev() {
            self.backward(front, &structure.below[front.below.clone()], at);
        }
        for (x, &old) in self.x.chunks_exact(3).zip(&structure.order) {
            rhs[old] = Vec3::new(x[0], x[1], x[2]);
        }
    }

    /// x₁ ← L₁₁⁻¹ x₁ and x₂ ← x₂ − L₂₁ x₁ of one front.
    fn forward(&mut self, front: &Front, below: &[u32], at: usize) {
        let (p, u) = front.size();
        let m = even(p + u);
        let y = &mut self.y[..m];
        let first = 3 * front.pivots.start;
        y[..p].copy_from_slice(&self.x[first..first + p]);
        y[p..].fill(0.0);
        let columns = &self.factor[at..at + m * p];
        for (k, three) in columns.chunks_exact(3 * m).enumerate() {
            let (l0, l1, l2) = thirds(three, m);
            let k = 3 * k;
            let x0 = y[k] / l0[k];
            let x1 = (y[k + 1] - l0[k + 1] * x0) / l1[k + 1];
            let x2 = (y[k + 2] - l0[k + 2] * x0 - l1[k + 2] * x1) / l2[k + 2];
            (y[k], y[k + 1], y[k + 2]) = (x0, x1, x2);
            let lower = y[k + 3..].iter_mut();
            let lower = lower.zip(&l0[k + 3..]).zip(&l1[k + 3..]).zip(&l2[k + 3..]);
            for (((y, l0), l1), l2) in lower {
                *y -= l0 * x0 + l1 * x1 + l2 * x2;
            }
        }
        self.x[first..first + p].copy_from_slice(&y[..p]);
        for (y, &row) in y[p..].chunks_exact(3).zip(below) {
            for (x, y) in self.x[3 * row as usize..][..3].iter_mut().zip(y) {
                *x += y;
            }
        }
    }

    /// x₁ ← L₁₁⁻ᵀ (x₁ − L₂₁ᵀ x₂) of one front.
    fn backward(&mut self, front: &Front, below: &[u32], at: usize) {
        let (p, u) = front.size();
        let m = even(p + u);
        let y = &mut self.y[..m];
        let first = 3 * front.pivots.start;
        y[..p].copy_from_slice(&self.x[first..first + p]);
        for (y, &row) in y[p..].chunks_exact_mut(3).zip(below) {
            y.copy_from_slice(&self.x[3 * row as usize..][..3]);
        }
        y[p + u..].fill(0.0);
        let columns = &self.factor[at..at + m * p];
        for (k, three) in columns.chunks_exact(3 * m).enumerate().rev() {
            let (l0, l1, l2) = thirds(three, m);
            let k = 3 * k;
            // Two partial sums of each column: those of even and of odd rows.
            let from = even(k + 3);
            let mut sums = [[0.0; 2]; 3];
            let pairs = y[from..].as_chunks::<2>().0.iter();
            let (l0p, l1p, l2p) = (pairs_of(l0, from), pairs_of(l1, from), pairs_of(l2, from));
            for (((y, a), b), c) in pairs.zip(l0p).zip(l1p).zip(l2p) {
                for lane in 0..2 {
                    sums[0][lane] += a[lane] * y[lane];
                    sums[1][lane] += b[lane] * y[lane];
                    sums[2][lane] += c[lane] * y[lane];
                }
            }
            // An odd first row stands alone.
            let odd = (from > k + 3).then_some(k + 3);
            let dot = |l: &[f64], s: [f64; 2]| odd.map_or(0.0, |r| l[r] * y[r]) + (s[0] + s[1]);
            let b = [dot(l0, sums[0]), dot(l1, sums[1]), dot(l2, sums[2])];
            let x2 = (y[k + 2] - b[2]) / l2[k + 2];
            let x1 = (y[k + 1] - b[1] - l1[k + 2] * x2) / l1[k + 1];
            let x0 = (y[k] - b[0] - l0[k + 1] * x1 - l0[k + 2] * x2) / l0[k];
            (y[k], y[k + 1], y[k + 2]) = (x0, x1, x2);
        }
        self.x[first..first + p].copy_from_slice(&y[..p]);
    }
}

/// The next even number.
fn even(rows: usize) -> usize {
    rows + rows % 2
}

/// Three columns of `m` rows.
fn thirds(three: &[f64], m: usize) -> (&[f64], &[f64], &[f64]) {
    let (a, rest) = three.split_at(m);
    let (b, c) = rest.split_at(m);
    (a, b, &c[..m])
}

/// Pairs of rows from the even row `from` on.
fn pairs_of(column: &[f64], from: usize) -> &[[f64; 2]] {
    column[from..].as_chunks::<2>().0
}

/// Eliminates the first `pivots` blocks of a front of columns with `m` rows: its first columns become
/// L₁₁ and L₂₁, the others S. The error is the block whose pivot is not positive.
fn eliminate(front: &mut [f64], m: usize, pivots: usize) -> Result<(), usize> {
    for block in 0..front.len() / (3 * m) {
        let (done, rest) = front.split_at_mut(3 * block * m);
        let target = &mut rest[..3 * m];
        for source in done.chunks_exact(3 * m).take(pivots) {
            subtract_product(target, source, m, 3 * block);
        }
        if block < pivots && !take_roots(target, m, 3 * block) {
            return Err(block);
        }
    }
    Ok(())
}

/// target ← target − source Gᵀ from the row `first` on, for three columns of `m` rows each and the
/// block G of `source` in that row.
fn subtract_product(target: &mut [f64], source: &[f64], m: usize, first: usize) {
    let (l0, l1, l2) = thirds(source, m);
    let g: [[f64; 3]; 3] = std::array::from_fn(|c| [l0, l1, l2].map(|l| l[first + c]));
    let from = first & !1;
    let (l0, l1, l2) = (pairs_of(l0, from), pairs_of(l1, from), pairs_of(l2, from));
    let (t0, rest) = target.split_at_mut(m);
    let (t1, t2) = rest.split_at_mut(m);
    let targets = t0[from..].as_chunks_mut::<2>().0.iter_mut();
    let targets = targets.zip(t1[from..].as_chunks_mut::<2>().0.iter_mut());
    let targets = targets.zip(t2[from..].as_chunks_mut::<2>().0.iter_mut());
    for (((t0, t1), t2), ((l0, l1), l2)) in targets.zip(l0.iter().zip(l1).zip(l2)) {
        for lane in 0..2 {
            let (a, b, c) = (l0[lane], l1[lane], l2[lane]);
            t0[lane] -= a * g[0][0] + b * g[0][1] + c * g[0][2];
            t1[lane] -= a * g[1][0] + b * g[1][1] + c * g[1][2];
            t2[lane] -= a * g[2][0] + b * g[2][1] + c * g[2][2];
        }
    }
}

/// Replaces three updated columns by those of L; false if a pivot is not positive.
fn take_roots(columns: &mut [f64], m: usize, k: usize) -> bool {
    let (c0, rest) = columns.split_at_mut(m);
    let (c1, c2) = rest.split_at_mut(m);
    let positive = |pivot: f64| (pivot > 0.0).then(|| pivot.sqrt());
    let Some(d0) = positive(c0[k]) else {
        return false;
    };
    let (l10, l20) = (c0[k + 1] / d0, c0[k + 2] / d0);
    let Some(d1) = positive(c1[k + 1] - l10 * l10) else {
        return false;
    };
    let l21 = (c1[k + 2] - l20 * l10) / d1;
    let Some(d2) = positive(c2[k + 2] - l20 * l20 - l21 * l21) else {
        return false;
    };
    (c0[k], c0[k + 1], c0[k + 2]) = (d0, l10, l20);
    (c1[k + 1], c1[k + 2], c2[k + 2]) = (d1, l21, d2);
    let (i0, i1, i2) = (1.0 / d0, 1.0 / d1, 1.0 / d2);
    let rows = c0[k + 3..].iter_mut().zip(&mut c1[k + 3..]);
    for ((c0, c1), c2) in rows.zip(&mut c2[k + 3..]) {
        let x0 = *c0 * i0;
        let x1 = (*c1 - x0 * l10) * i1;
        (*c0, *c1, *c2) = (x0, x1, (*c2 - x0 * l20 - x1 * l21) * i2);
    }
    true
}

/// Adds the S of a child, of `size` rows, into a front of columns with `m` rows, by lower triangles;
/// `up` has the front's block row of each of its blocks, in ascending order.
fn extend_add(front: &mut [f64], m: usize, s: &[f64], size: usize, up: &[u32]) {
    for (first, &to) in up.iter().enumerate() {
        for c in 0..3 {
            let into = &mut front[(3 * to as usize + c) * m..][..m];
            let from = &s[(3 * first + c) * size..][3 * first..size];
            for (from, &row) in from.chunks_exact(3).zip(&up[first..]) {
                let into = &mut into[3 * row as usize..][..3];
                for (into, from) in into.iter_mut().zip(from) {
                    *into += from;
                }
            }
        }
    }
}
