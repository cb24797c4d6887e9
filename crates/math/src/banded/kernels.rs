//! Kernels on `L` symmetric banded matrices of one size at once. Every lane is computed in the same
//! order, so that a matrix gives the same bits alone and in a group.
//!
//! Row i of a matrix is stored as its entries in columns i − b … i, the diagonal last; `L` matrices
//! are interleaved entry by entry. Columns left of the first are zero and never read. The compiler
//! turns plain `a * b + c` over the lanes into vector instructions.

/// One entry of `L` matrices.
type Lane<const L: usize> = [f64; L];

/// A ← (L − 1, D⁻¹) with A = L D Lᵀ and L of unit diagonal, in place, row by row: with u = l d,
///
/// uᵢⱼ = aᵢⱼ − Σ_{k<j} uᵢₖ lⱼₖ,  dᵢ = aᵢᵢ − Σ uᵢₖ lᵢₖ.
///
/// `u` is scratch of b entries. Calls `bad(lane, row, pivot)` for the first pivot of each lane that is
/// not positive and finite, and goes on with one in its place.
pub fn factor<const L: usize>(
    a: &mut [Lane<L>],
    b: usize,
    u: &mut [Lane<L>],
    mut bad: impl FnMut(usize, usize, f64),
) {
    let mut failed = [false; L];
    for i in 0..a.len() / (b + 1) {
        let (above, row) = a.split_at_mut(i * (b + 1));
        let row = &mut row[..b + 1];
        let first = b - b.min(i);
        for j in first..b {
            // The row above that has the diagonal in column j of this one.
            let other = &above[(i + j - b) * (b + 1)..][..b + 1];
            // Both rows end in the same column when the other is moved by b − j.
            let shared = &other[b + first - j..b];
            let mut sum = row[j];
            for (u, l) in u[first..j].iter().zip(shared) {
                for lane in 0..L {
                    sum[lane] -= u[lane] * l[lane];
                }
            }
            u[j] = sum;
            for lane in 0..L {
                row[j][lane] = sum[lane] * other[b][lane];
            }
        }
        let mut pivot = row[b];
        for (u, l) in u[first..b].iter().zip(&row[first..b]) {
            for lane in 0..L {
                pivot[lane] -= u[lane] * l[lane];
            }
        }
        // Written so that NaN pivots fail as well.
        if !pivot.iter().all(|&d| d > 0.0 && d < f64::INFINITY) {
            for lane in 0..L {
                let d = pivot[lane];
                if !(d > 0.0 && d < f64::INFINITY) {
                    if !failed[lane] {
                        bad(lane, i, d);
                    }
                    failed[lane] = true;
                    pivot[lane] = 1.0;
                }
            }
        }
        for lane in 0..L {
            row[b][lane] = 1.0 / pivot[lane];
        }
    }
}

/// x ← (L D Lᵀ)⁻¹ x with the result of [`factor`].
pub fn solve<const L: usize>(a: &[Lane<L>], b: usize, x: &mut [Lane<L>]) {
    for (i, row) in a.chunks_exact(b + 1).enumerate() {
        let first = b - b.min(i);
        let (above, rest) = x.split_at_mut(i);
        let mut sum = rest[0];
        for (l, x) in row[first..b].iter().zip(&above[i + first - b..]) {
            for lane in 0..L {
                sum[lane] -= l[lane] * x[lane];
            }
        }
        rest[0] = sum;
    }
    for (x, row) in x.iter_mut().zip(a.chunks_exact(b + 1)) {
        for lane in 0..L {
            x[lane] *= row[b][lane];
        }
    }
    for (i, row) in a.chunks_exact(b + 1).enumerate().rev() {
        let first = b - b.min(i);
        let (above, rest) = x.split_at_mut(i);
        let value = rest[0];
        for (l, x) in row[first..b].iter().zip(&mut above[i + first - b..]) {
            for lane in 0..L {
                x[lane] -= l[lane] * value[lane];
            }
        }
    }
}

/// y ← A x; every yᵢ is a sum in the order of columns.
pub fn apply<const L: usize>(a: &[Lane<L>], b: usize, x: &[Lane<L>], y: &mut [Lane<L>]) {
    for (i, row) in a.chunks_exact(b + 1).enumerate() {
        let first = b - b.min(i);
        let (above, rest) = y.split_at_mut(i);
        let value = x[i];
        let mut sum = [0.0; L];
        let start = i + first - b;
        for ((a, x), y) in row[first..b]
            .iter()
            .zip(&x[start..])
            .zip(&mut above[start..])
        {
            for lane in 0..L {
                sum[lane] += a[lane] * x[lane];
                y[lane] += a[lane] * value[lane];
            }
        }
        for lane in 0..L {
            rest[0][lane] = sum[lane] + row[b][lane] * value[lane];
        }
    }
}
