//! Cholesky factors in dense panels, by the sparse library: for large systems.

use super::{Triangle, buffer, ordered_triangle, to_scalar, zeros};
use crate::block::for_rows_mut;
use crate::{BlockMatrix, BlockPattern, FactorError, Vec3};
use faer::dyn_stack::{MemBuffer, MemStack, StackReq};
use faer::linalg::cholesky::llt::factor::LltError;
use faer::sparse::linalg::cholesky::supernodal;
use faer::sparse::{SparseColMatRef, SymbolicSparseColMat};
use faer::{Conj, MatMut, Par};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// Panels and the map from block values to the ordered matrix.
#[derive(Debug)]
pub(super) struct Analysis {
    symbolic: supernodal::SymbolicSupernodalCholesky<usize>,
    /// Lower triangle of the ordered scalar matrix.
    structure: SymbolicSparseColMat<usize>,
    /// Start of the values of each ordered block column.
    value_start: Vec<usize>,
    /// Source blocks of each ordered block column, as positions in the block matrix's values.
    sources: Vec<usize>,
    source_start: Vec<usize>,
}

impl Analysis {
    /// The map for `pattern` in the order `order`, whose fill `symbolic` has.
    pub fn new(
        pattern: &BlockPattern,
        order: &[usize],
        symbolic: supernodal::SymbolicSupernodalCholesky<usize>,
    ) -> Self {
        let (blocks, sources) = ordered_triangle(pattern, order, Triangle::Lower);
        let structure = to_scalar(&blocks, Triangle::Lower);
        Self {
            symbolic,
            value_start: structure.col_ptr().iter().step_by(3).copied().collect(),
            structure,
            sources,
            source_start: blocks.col_start,
        }
    }

    /// Writes the ordered lower triangle of A + shift, block columns in parallel.
    fn gather(
        &self,
        order: &[usize],
        a: &BlockMatrix,
        shift: Option<&[f64]>,
        ordered: &mut [f64],
    ) -> Result<(), FactorError> {
        let bad = AtomicUsize::new(usize::MAX);
        for_rows_mut(&self.value_start, ordered, &|j, values| {
            let sources = &self.sources[self.source_start[j]..self.source_start[j + 1]];
            // The diagonal block comes first. Block (k, j) is the transpose of the stored block (j, k),
            // so its column is a row.
            let Some((&diagonal, off)) = sources.split_first() else {
                return;
            };
            let old = order[j];
            let mut diagonal = a.values[diagonal];
            if let Some(shift) = shift {
                for c in 0..3 {
                    diagonal[(c, c)] += shift[old];
                }
            }
            let mut at = 0;
            for c in 0..3 {
                for r in c..3 {
                    values[at] = diagonal[(r, c)];
                    at += 1;
                }
                for &source in off {
                    let block = &a.values[source];
                    values[at] = block[(c, 0)];
                    values[at + 1] = block[(c, 1)];
                    values[at + 2] = block[(c, 2)];
                    at += 3;
                }
            }
            if !values.iter().all(|x| x.is_finite()) {
                bad.fetch_min(old, Relaxed);
            }
        });
        match bad.into_inner() {
            usize::MAX => Ok(()),
            block => Err(FactorError::NotFinite { block }),
        }
    }
}

/// Values of an [`Analysis`], with their memory.
pub(super) struct Numbers {
    /// Values of the ordered matrix.
    ordered: Vec<f64>,
    /// Values of L.
    factor: Vec<f64>,
    /// Ordered right-hand side.
    x: Vec<f64>,
    scratch: MemBuffer,
}

impl Numbers {
    pub fn new(analysis: &Analysis) -> Result<Self, FactorError> {
        let scratch = StackReq::or(
            supernodal::factorize_supernodal_numeric_llt_scratch::<usize, f64>(
                &analysis.symbolic,
                Par::Seq,
                Default::default(),
            ),
            analysis.symbolic.solve_in_place_scratch::<f64>(1, Par::Seq),
        );
        Ok(Self {
            ordered: zeros(analysis.structure.row_idx().len())?,
            factor: zeros(analysis.symbolic.len_val())?,
            x: zeros(analysis.structure.ncols())?,
            scratch: buffer(scratch)?,
        })
    }

    /// Heap memory [bytes].
    pub fn bytes(&self) -> usize {
        (self.ordered.capacity() + self.factor.capacity() + self.x.capacity()) * size_of::<f64>()
            + self.scratch.len()
    }

    /// Factors `a` + diag(shift) ⊗ I₃, of which it reads one triangle.
    pub fn factor(
        &mut self,
        analysis: &Analysis,
        order: &[usize],
        a: &BlockMatrix,
        shift: Option<&[f64]>,
    ) -> Result<(), FactorError> {
        analysis.gather(order, a, shift, &mut self.ordered)?;
        let factored = supernodal::factorize_supernodal_numeric_llt(
            &mut self.factor,
            SparseColMatRef::new(analysis.structure.as_ref(), self.ordered.as_slice()),
            Default::default(),
            &analysis.symbolic,
            Par::Seq,
            MemStack::new(&mut self.scratch),
            Default::default(),
        );
        let named = |LltError::NonPositivePivot { index }| FactorError::NotPositiveDefinite {
            block: order[index / 3],
        };
        factored.map(|_| ()).map_err(named)
    }

    /// rhs ← (L Lᵀ)⁻¹ rhs.
    pub fn solve(&mut self, analysis: &Analysis, order: &[usize], rhs: &mut [Vec3]) {
        for (x, &old) in self.x.chunks_exact_mut(3).zip(order) {
            x.copy_from_slice(rhs[old].as_slice());
        }
        let n = self.x.len();
        supernodal::SupernodalLltRef::new(&analysis.symbolic, &self.factor)
            .solve_in_place_with_conj(
                Conj::No,
                MatMut::from_column_major_slice_mut(&mut self.x, n, 1),
                Par::Seq,
                MemStack::new(&mut self.scratch),
            );
        for (x, &old) in self.x.chunks_exact(3).zip(order) {
            rhs[old] = Vec3::new(x[0], x[1], x[2]);
        }
    }
}
