//! To the contacts alone and back.

use std::sync::Arc;

use stiction_math::{BlockMatrix, BlockPattern, Mat3, SystemFactor, Vec3, nalgebra};

use super::{ExchangeError, GlobalProblem, ReducedProblem, TripletMatrix, size};
use crate::{FrictionProblem, LocalProblem};

type Dense = nalgebra::DMatrix<f64>;

/// The largest number of rows of W that is made.
const LIMIT: usize = 12_000;

/// W = B A⁻¹ Bᵀ + C and q = B A⁻¹ f + k − W ξ n in the given frames.
pub(super) fn reduce(
    problem: &FrictionProblem,
    frames: &[Mat3],
) -> Result<ReducedProblem, ExchangeError> {
    let set = &problem.contacts;
    let rows = 3 * set.len();
    if rows > LIMIT {
        return Err(ExchangeError::TooLarge { rows, limit: LIMIT });
    }
    let mut factor = SystemFactor::new(&problem.a, &problem.part_positions())
        .map_err(|_| ExchangeError::NotDefinite("A"))?;
    factor
        .refactor(&problem.a, None)
        .map_err(|_| ExchangeError::NotDefinite("A"))?;
    let mut solve = |x: &mut [Vec3]| {
        let solved = factor.solve(&problem.a, x, 1e-15);
        solved.map_err(|_| ExchangeError::NotDefinite("A"))
    };
    let mut w = Dense::zeros(rows, rows);
    let mut x = vec![Vec3::zeros(); problem.blocks()];
    for column in 0..rows {
        x.fill(Vec3::zeros());
        let (c, direction) = (
            column / 3,
            frames[column / 3].column(column % 3).into_owned(),
        );
        for e in set.entries(c) {
            x[e.node as usize] += e.tr_mul(&direction);
        }
        solve(&mut x)?;
        for (d, frame) in frames.iter().enumerate() {
            let u = frame.tr_mul(&set.velocity(d, &x));
            w.fixed_view_mut::<3, 1>(3 * d, column).copy_from(&u);
        }
        if column % 3 == 0 {
            w[(column, column)] += set.compliance[c];
        }
    }
    x.copy_from_slice(&problem.f);
    solve(&mut x)?;
    let mut q: Vec<f64> = Vec::with_capacity(rows);
    for (c, frame) in frames.iter().enumerate() {
        q.extend(&frame.tr_mul(&(set.velocity(c, &x) + set.k[c])));
    }
    for c in (0..set.len()).filter(|&c| set.cohesion[c] != 0.0) {
        for (q, w) in q.iter_mut().zip(w.column(3 * c).iter()) {
            *q -= w * set.cohesion[c];
        }
    }
    let mut entries = Vec::new();
    for j in 0..rows {
        for i in 0..rows {
            // Symmetric to the last digit, whatever rounding did.
            let x = 0.5 * (w[(i, j)] + w[(j, i)]);
            if x != 0.0 {
                entries.push((i as u32, j as u32, x));
            }
        }
    }
    Ok(ReducedProblem {
        w: TripletMatrix {
            rows,
            columns: rows,
            entries,
        },
        q,
        mu: set.mu.clone(),
    })
}

impl ReducedProblem {
    /// The problem by blocks of contacts, with W made symmetric, and how far W was from it: see
    /// [`TripletMatrix::symmetrised`].
    pub fn problem(&self) -> Result<(LocalProblem, f64), ExchangeError> {
        let contacts = self.mu.len();
        size("rows of W", 3 * contacts, self.w.rows)?;
        size("q", 3 * contacts, self.q.len())?;
        self.w.check("W")?;
        let (w, asymmetry) = self.w.symmetrised("W")?;
        let mut pairs: Vec<[u32; 2]> = w.entries.iter().map(|e| [e.0 / 3, e.1 / 3]).collect();
        pairs.sort_unstable();
        pairs.dedup();
        let layout = |_| ExchangeError::Layout("W");
        let pattern = BlockPattern::from_cliques(contacts, pairs.iter().map(|p| &p[..]));
        let mut blocks = BlockMatrix::zeros(Arc::new(pattern.map_err(layout)?));
        for &(i, j, x) in &w.entries {
            let (row, column) = (i as usize, j as usize);
            let place = blocks.pattern.find(row / 3, column / 3);
            let place = place.ok_or(ExchangeError::Layout("W"))?;
            blocks.values[place][(row % 3, column % 3)] += x;
        }
        let vectors = self.q.as_chunks::<3>().0.iter();
        let problem = LocalProblem {
            w: blocks,
            q: vectors.map(|q| Vec3::from(*q)).collect(),
            mu: self.mu.clone(),
        };
        problem.check()?;
        Ok((problem, asymmetry))
    }
}

/// The largest negative part of W that is taken for an error of computation, as a fraction of its
/// largest diagonal entry.
const INDEFINITE: f64 = 1e-5;

/// The global problem v = Yᵀ r, u = Y v + q with W = Y Yᵀ: unit masses that move as the impulses
/// require. Y is Cholesky's factor with the largest pivot first, as long as there is one: W need not
/// have full rank.
pub(super) fn factor(local: &ReducedProblem) -> Result<GlobalProblem, ExchangeError> {
    let rows = 3 * local.mu.len();
    size("rows of W", rows, local.w.rows)?;
    size("q", rows, local.q.len())?;
    if rows > LIMIT {
        return Err(ExchangeError::TooLarge { rows, limit: LIMIT });
    }
    local.w.check("W")?;
    let (w, _) = local.w.symmetrised("W")?;
    let mut rest = Dense::zeros(rows, rows);
    for &(i, j, x) in &w.entries {
        rest[(i as usize, j as usize)] += x;
    }
    let largest = rest.diagonal().iter().fold(0.0f64, |m, x| m.max(*x));
    let mut columns: Vec<nalgebra::DVector<f64>> = Vec::new();
    loop {
        let pivot = (0..rows).max_by(|&i, &j| rest[(i, i)].total_cmp(&rest[(j, j)]));
        // A negative eigenvalue shows on the diagonal: pivots of its size are as wrong as it is.
        let below = rest.diagonal().iter().fold(0.0f64, |m, x| m.max(-x));
        let floor = (1e-15 * largest).max(below);
        let Some(p) = pivot.filter(|&p| rest[(p, p)] > floor) else {
            break;
        };
        let y = rest.column(p) / rest[(p, p)].sqrt();
        rest.ger(-1.0, &y, &y, 1.0);
        // What rounding leaves there must not become a pivot again.
        rest.row_mut(p).fill(0.0);
        rest.column_mut(p).fill(0.0);
        columns.push(y);
    }
    // A matrix with a negative eigenvalue leaves more than rounding.
    if rest.amax() > INDEFINITE * largest {
        return Err(ExchangeError::NotDefinite("W"));
    }
    let n = columns.len();
    let mut h = Vec::new();
    for (i, y) in columns.iter().enumerate() {
        for (j, x) in y.iter().enumerate().filter(|(_, x)| **x != 0.0) {
            h.push((i as u32, j as u32, *x));
        }
    }
    Ok(GlobalProblem {
        m: TripletMatrix {
            rows: n,
            columns: n,
            entries: (0..n as u32).map(|i| (i, i, 1.0)).collect(),
        },
        h: TripletMatrix {
            rows: n,
            columns: rows,
            entries: h,
        },
        f: vec![0.0; n],
        w: local.q.clone(),
        mu: local.mu.clone(),
    })
}
