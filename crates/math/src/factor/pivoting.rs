//! Sparse LU factorisation P A Q = L U with unrestricted row pivoting, by the sparse library.
//!
//! Rows are exchanged for stability during the numeric phase, so that the fill of L and U is known
//! only then: the first factorisation allocates, later ones on the same pattern reuse the memory.
//! The column order has to suit any row order, which costs far more fill than [`super::frontal`];
//! this is the fallback for matrices that the multifrontal method cannot factor.

use super::{buffer, zeros};
use crate::block::for_rows_mut;
use crate::{BlockMatrix, BlockPattern, FactorError, Vec3};
use faer::dyn_stack::{MemBuffer, MemStack, StackReq};
use faer::sparse::linalg::LuError;
use faer::sparse::linalg::lu::{LuRef, NumericLu, SymbolicLu, factorize_symbolic_lu};
use faer::sparse::{SparseColMatRef, SymbolicSparseColMat};
use faer::{Conj, MatMut, Par};

/// Structure and values of one factorisation.
pub(super) struct Pivoting {
    /// For each block of column j from top to bottom, its position among the matrix's values.
    sources: Vec<usize>,
    structure: SymbolicSparseColMat<usize>,
    /// Start of the scalar values of each block column.
    value_start: Vec<usize>,
    symbolic: SymbolicLu<usize>,
    /// Values of the matrix, column by column.
    values: Vec<f64>,
    numeric: NumericLu<usize, f64>,
    x: Vec<f64>,
    scratch: MemBuffer,
}

impl Pivoting {
    /// Orders the columns of the pattern and allocates the values.
    pub fn new(pattern: &BlockPattern) -> Result<Self, FactorError> {
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
        let request = StackReq::or(
            symbolic.factorize_numeric_lu_scratch::<f64>(Par::Seq, Default::default()),
            symbolic.solve_in_place_scratch::<f64>(1, Par::Seq),
        );
        Ok(Self {
            values: zeros(9 * pattern.nnz())?,
            x: zeros(3 * n)?,
            scratch: buffer(request)?,
            numeric: NumericLu::new(),
            sources,
            structure,
            value_start,
            symbolic,
        })
    }

    /// Factors `a`.
    pub fn factor(&mut self, a: &BlockMatrix) -> Result<(), FactorError> {
        let (starts, sources) = (a.pattern.row_start(), &self.sources);
        let gather = |j: usize, values: &mut [f64]| {
            let mut at = 0;
            for c in 0..3 {
                for &source in &sources[starts[j]..starts[j + 1]] {
                    let column = a.values[source].column(c);
                    values[at..at + 3].copy_from_slice(&[column[0], column[1], column[2]]);
                    at += 3;
                }
            }
        };
        for_rows_mut(&self.value_start, &mut self.values, &gather);
        let matrix = SparseColMatRef::new(self.structure.as_ref(), self.values.as_slice());
        self.symbolic
            .factorize_numeric_lu(
                &mut self.numeric,
                matrix,
                Par::Seq,
                MemStack::new(&mut self.scratch),
                Default::default(),
            )
            .map(|_| ())
            .map_err(|error| match error {
                LuError::SymbolicSingular { index } => FactorError::Singular {
                    block: self.symbolic.col_perm().arrays().0[index] / 3,
                },
                LuError::Generic(_) => FactorError::OutOfMemory,
            })
    }

    /// rhs ← A⁻¹ rhs.
    pub fn solve(&mut self, rhs: &mut [Vec3]) {
        for (x, b) in self.x.chunks_exact_mut(3).zip(&*rhs) {
            x.copy_from_slice(b.as_slice());
        }
        let x = MatMut::from_column_major_slice_mut(&mut self.x, 3 * rhs.len(), 1);
        LuRef::new_unchecked(&self.symbolic, &self.numeric).solve_in_place_with_conj(
            Conj::No,
            x,
            Par::Seq,
            MemStack::new(&mut self.scratch),
        );
        for (x, b) in self.x.chunks_exact(3).zip(rhs) {
            *b = Vec3::new(x[0], x[1], x[2]);
        }
    }
}
