//! Sparse LU factorisation P A Q = L U of a block matrix that is not symmetric.
//!
//! As with Cholesky, the analysis is done once per pattern and a [`Lu`] owns its memory. Rows are
//! exchanged for stability while numbers are computed, so the fill of L and U is known only then:
//! the first factorisation allocates, later ones on the same pattern reuse what is there.

use super::{buffer, check_len, zeros};
use crate::block::for_rows_mut;
use crate::{BlockMatrix, BlockPattern, FactorError, Preconditioner, Vec3, reduce};
use faer::dyn_stack::{MemBuffer, MemStack, StackReq};
use faer::sparse::linalg::LuError;
use faer::sparse::linalg::lu::{LuRef, NumericLu, SymbolicLu, factorize_symbolic_lu};
use faer::sparse::{SparseColMatRef, SymbolicSparseColMat};
use faer::{Conj, MatMut, Par};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// The structure of a factorisation: column order and the map from block values to columns.
#[derive(Debug)]
pub struct LuSymbolic {
    pattern: Arc<BlockPattern>,
    /// For each block of column j from top to bottom, its place among the matrix's values.
    sources: Vec<usize>,
    structure: SymbolicSparseColMat<usize>,
    /// Where the scalar values of each block column start.
    value_start: Vec<usize>,
    symbolic: SymbolicLu<usize>,
}

impl LuSymbolic {
    /// Orders the columns of the pattern. A pattern is symmetric even if the values are not.
    pub fn analyse(pattern: &Arc<BlockPattern>) -> Result<Self, FactorError> {
        let n = pattern.n();
        let mut sources = Vec::with_capacity(pattern.nnz());
        let mut col_start = Vec::with_capacity(3 * n + 1);
        let mut rows = Vec::with_capacity(9 * pattern.nnz());
        col_start.push(0);
        for j in 0..n {
            // The rows of column j are the columns of row j, because the pattern is symmetric.
            let column = pattern.row(j);
            sources.extend(column.iter().filter_map(|&i| pattern.find(i as usize, j)));
            for _ in 0..3 {
                rows.extend(
                    column
                        .iter()
                        .flat_map(|&i| (0..3).map(move |c| 3 * i as usize + c)),
                );
                col_start.push(rows.len());
            }
        }
        let value_start = col_start.iter().step_by(3).copied().collect();
        let structure = SymbolicSparseColMat::new_checked(3 * n, 3 * n, col_start, None, rows);
        let symbolic = factorize_symbolic_lu(structure.as_ref(), Default::default())?;
        Ok(Self {
            pattern: Arc::clone(pattern),
            sources,
            structure,
            value_start,
            symbolic,
        })
    }

    /// The pattern that was analysed.
    pub fn pattern(&self) -> &Arc<BlockPattern> {
        &self.pattern
    }

    fn gather(&self, a: &BlockMatrix, values: &mut [f64]) -> Result<(), FactorError> {
        let bad = AtomicUsize::new(usize::MAX);
        let starts = self.pattern.row_start();
        for_rows_mut(&self.value_start, values, &|j, values: &mut [f64]| {
            let sources = &self.sources[starts[j]..starts[j + 1]];
            let mut at = 0;
            for c in 0..3 {
                for &source in sources {
                    let column = a.values[source].column(c);
                    values[at..at + 3].copy_from_slice(&[column[0], column[1], column[2]]);
                    at += 3;
                }
            }
            if !values.iter().all(|x| x.is_finite()) {
                bad.fetch_min(j, Relaxed);
            }
        });
        match bad.into_inner() {
            usize::MAX => Ok(()),
            block => Err(FactorError::NotFinite { block }),
        }
    }
}

/// A numeric factorisation.
///
/// Until the first successful [`Lu::refactor`], and after a failed one, there is nothing to solve
/// with and [`Lu::solve_in_place`] leaves NaN. A singular matrix is told by a solution that is not
/// finite or, short of that, by its size: pivots are not examined.
pub struct Lu {
    symbolic: Arc<LuSymbolic>,
    /// Values of the matrix, column by column.
    values: Vec<f64>,
    numeric: NumericLu<usize, f64>,
    x: Vec<f64>,
    scratch: MemBuffer,
    ready: bool,
}

impl std::fmt::Debug for Lu {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Lu")
            .field("n", &self.symbolic.pattern.n())
            .field("ready", &self.ready)
            .finish()
    }
}

impl Lu {
    /// Memory for the numbers of `symbolic`.
    pub fn new(symbolic: Arc<LuSymbolic>) -> Result<Self, FactorError> {
        let n = symbolic.pattern.n();
        let request = StackReq::or(
            symbolic
                .symbolic
                .factorize_numeric_lu_scratch::<f64>(Par::Seq, Default::default()),
            symbolic.symbolic.solve_in_place_scratch::<f64>(1, Par::Seq),
        );
        Ok(Self {
            values: zeros(9 * symbolic.pattern.nnz())?,
            x: zeros(3 * n)?,
            scratch: buffer(request)?,
            numeric: NumericLu::new(),
            ready: false,
            symbolic,
        })
    }

    /// Factors `a`, which must have the pattern that was analysed.
    pub fn refactor(&mut self, a: &BlockMatrix) -> Result<(), FactorError> {
        self.ready = false;
        let symbolic = &*self.symbolic;
        check_len("block rows", a.n(), symbolic.pattern.n())?;
        check_len("block values", a.values.len(), symbolic.pattern.nnz())?;
        symbolic.gather(a, &mut self.values)?;
        if a.n() == 0 {
            return Ok(());
        }
        let matrix = SparseColMatRef::new(symbolic.structure.as_ref(), self.values.as_slice());
        symbolic
            .symbolic
            .factorize_numeric_lu(
                &mut self.numeric,
                matrix,
                Par::Seq,
                MemStack::new(&mut self.scratch),
                Default::default(),
            )
            .map_err(|error| match error {
                LuError::SymbolicSingular { index } => FactorError::Singular {
                    block: symbolic.symbolic.col_perm().arrays().0[index] / 3,
                },
                LuError::Generic(_) => FactorError::OutOfMemory,
            })?;
        self.ready = true;
        Ok(())
    }

    /// rhs ← A⁻¹ rhs. Allocates nothing.
    pub fn solve_in_place(&mut self, rhs: &mut [Vec3]) {
        let n = self.symbolic.pattern.n();
        debug_assert!(rhs.len() == n);
        if !self.ready || rhs.len() != n {
            rhs.fill(Vec3::repeat(f64::NAN));
            return;
        }
        for (x, b) in self.x.chunks_exact_mut(3).zip(&*rhs) {
            x.copy_from_slice(b.as_slice());
        }
        let x = MatMut::from_column_major_slice_mut(&mut self.x, 3 * n, 1);
        LuRef::new_unchecked(&self.symbolic.symbolic, &self.numeric).solve_in_place_with_conj(
            Conj::No,
            x,
            Par::Seq,
            MemStack::new(&mut self.scratch),
        );
        for (x, b) in self.x.chunks_exact(3).zip(rhs) {
            *b = Vec3::new(x[0], x[1], x[2]);
        }
    }

    /// The structure this factorisation was made for.
    pub fn symbolic(&self) -> &Arc<LuSymbolic> {
        &self.symbolic
    }
}

impl Preconditioner for Lu {
    fn apply(&mut self, r: &[Vec3], z: &mut [Vec3]) {
        reduce::copy(r, z);
        self.solve_in_place(z);
    }
}
