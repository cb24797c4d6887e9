//! Sparse Cholesky factorisation A = L Lᵀ of a block matrix. Together with `factor/lu.rs` for
//! unsymmetric matrices, the only module that uses the sparse library.
//!
//! The analysis ([`Symbolic`]) depends on the pattern alone and is done once. A [`Factor`] owns
//! all memory that numbers need, so that refactoring and solving allocate nothing.
//!
//! Order and storage are chosen here, not in the library: the fill-reducing order is found on the
//! graph of 3×3 blocks (a ninth of the scalar graph's entries), postordered so that supernodes
//! are contiguous, and the values are gathered straight into that order by a precomputed map.
//!
//! # Threads
//! The gather is parallel. The numeric factorisation and the solve run on the calling thread. The
//! library parallelises inside its dense kernels only: on two cores that was slower than one
//! (0.50 s against 0.34 s for 28 k dofs of tetrahedra), and its parallel solve splits sums by the
//! number of threads, which changes the last bits, and allocates. Factor independent bodies in
//! parallel instead; a [`Factor`] is `Send`.

mod frontal;
mod lu;
mod pivoting;

pub use lu::{Lu, LuSymbolic};

use crate::block::for_rows_mut;
use crate::dissection::nested_dissection;
use crate::{BlockMatrix, BlockPattern, Vec3};
use faer::dyn_stack::{MemBuffer, MemStack, StackReq};
use faer::linalg::cholesky::llt::factor::LltError;
use faer::sparse::linalg::amd;
use faer::sparse::linalg::cholesky::{simplicial, supernodal};
use faer::sparse::{FaerError, SparseColMatRef, SymbolicSparseColMat, SymbolicSparseColMatRef};
use faer::{Conj, MatMut, Par};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// Fill-reducing order of the rows before elimination.
///
/// As a rule: [`Ordering::Amd`] for rods, sheets and small solids; nested dissection for solids of
/// more than a few thousand nodes. [`Ordering::Auto`] compares both and costs one more pass over
/// the block graph, which is little compared with one factorisation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Ordering<'a> {
    /// Approximate minimum degree.
    Amd,
    /// Geometric nested dissection on node positions [m], one per block row.
    NestedDissection(&'a [Vec3]),
    /// Whichever of the two needs fewer operations.
    Auto(&'a [Vec3]),
}

/// Errors of a factorisation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FactorError {
    /// The matrix has a non-positive pivot.
    #[error("the matrix is not positive definite: non-positive pivot in block row {block}")]
    NotPositiveDefinite {
        /// Block row of the pivot, in the matrix's own numbering.
        block: usize,
    },
    /// The matrix has an entry that is not a finite number.
    #[error("block row {block} has an entry that is not finite")]
    NotFinite {
        /// A block row that has one, in the matrix's own numbering; the same on every run.
        block: usize,
    },
    /// Argument sizes do not match the analysed pattern.
    #[error("{what} has {found} entries instead of {expected}")]
    SizeMismatch {
        /// The argument.
        what: &'static str,
        /// Its length.
        found: usize,
        /// The length needed.
        expected: usize,
    },
    /// A column has no pivot at all, so that no order of rows can help.
    #[error("the matrix is singular: column block {block} has no pivot")]
    Singular {
        /// Block column, in the matrix's own numbering.
        block: usize,
    },
    /// The factor does not fit into memory.
    #[error("not enough memory for the factor")]
    OutOfMemory,
}

/// The structure of a factor: order, fill and the map from block values to the ordered matrix.
#[derive(Debug)]
pub struct Symbolic {
    /// Original block of each ordered block.
    order: Vec<usize>,
    /// Ordered scalar matrix, one triangle: lower for supernodes, upper for single columns.
    structure: SymbolicSparseColMat<usize>,
    /// Start of the values of each ordered block column.
    value_start: Vec<usize>,
    /// Source blocks of each ordered block column, as positions in the block matrix's values.
    sources: Vec<usize>,
    source_start: Vec<usize>,
    kind: Kind,
    pattern_nnz: usize,
    nnz: usize,
    flops: f64,
}

#[derive(Debug)]
enum Kind {
    /// Dense panels: for all but the thinnest graphs.
    Supernodal(supernodal::SymbolicSupernodalCholesky<usize>),
    /// Column by column: for chains and tiny bodies, where panels would be mostly overhead.
    Simplicial(simplicial::SymbolicSimplicialCholesky<usize>),
}

/// Operations per entry of L above which dense panels pay off.
const SUPERNODAL_RATIO: f64 = 40.0;

impl Symbolic {
    /// Orders the pattern and finds the fill.
    pub fn analyse(pattern: &BlockPattern, ordering: Ordering) -> Result<Self, FactorError> {
        let n = pattern.n();
        if let Ordering::NestedDissection(x) | Ordering::Auto(x) = ordering {
            check_len("positions", x.len(), n)?;
        }
        let order = match ordering {
            Ordering::Amd => amd_of_pattern(pattern)?,
            Ordering::NestedDissection(x) => nested_dissection(pattern, x, amd_order)?,
            Ordering::Auto(x) => {
                let first = amd_of_pattern(pattern)?;
                let second = nested_dissection(pattern, x, amd_order)?;
                let cheaper = block_flops(pattern, &second)? < block_flops(pattern, &first)?;
                if cheaper { second } else { first }
            }
        };
        let order = postordered(pattern, order)?;

        let (upper, _) = ordered_triangle(pattern, &order, Triangle::Upper);
        let upper = to_scalar(&upper, Triangle::Upper);
        let mut tree = vec![0; 3 * n];
        let mut counts = vec![0; 3 * n];
        let mut buffer = buffer(StackReq::any_of(&[
            simplicial::prefactorize_symbolic_cholesky_scratch::<usize>(
                3 * n,
                upper.row_idx().len(),
            ),
            simplicial::factorize_simplicial_symbolic_cholesky_scratch::<usize>(3 * n),
            supernodal::factorize_supernodal_symbolic_cholesky_scratch::<usize>(3 * n),
        ]))?;
        let stack = MemStack::new(&mut buffer);
        let tree = simplicial::prefactorize_symbolic_cholesky(
            &mut tree,
            &mut counts,
            upper.as_ref(),
            stack,
        );
        let nnz = counts.iter().sum::<usize>();
        let flops = operations(&counts);
        let (kind, triangle) = if flops > SUPERNODAL_RATIO * nnz as f64 {
            let symbolic = supernodal::factorize_supernodal_symbolic_cholesky(
                upper.as_ref(),
                tree,
                &counts,
                stack,
                Default::default(),
            )?;
            (Kind::Supernodal(symbolic), Triangle::Lower)
        } else {
            let symbolic = simplicial::factorize_simplicial_symbolic_cholesky(
                upper.as_ref(),
                tree,
                &counts,
                stack,
            )?;
            (Kind::Simplicial(symbolic), Triangle::Upper)
        };

        let (blocks, sources) = ordered_triangle(pattern, &order, triangle);
        let structure = match triangle {
            Triangle::Upper => upper,
            Triangle::Lower => to_scalar(&blocks, Triangle::Lower),
        };
        let value_start = structure.col_ptr().iter().step_by(3).copied().collect();
        Ok(Self {
            order,
            structure,
            value_start,
            sources,
            source_start: blocks.col_start,
            kind,
            pattern_nnz: pattern.nnz(),
            nnz,
            flops,
        })
    }

    /// Number of block rows.
    pub fn n(&self) -> usize {
        self.order.len()
    }

    /// Entries of L, without the zeros that dense panels store as well.
    pub fn nnz(&self) -> usize {
        self.nnz
    }

    /// Multiply–add operations of one numeric factorisation.
    pub fn flops(&self) -> f64 {
        self.flops
    }

    /// The elimination order: original block row of each ordered one.
    pub fn order(&self) -> &[usize] {
        &self.order
    }

    fn len_values(&self) -> usize {
        match &self.kind {
            Kind::Supernodal(s) => s.len_val(),
            Kind::Simplicial(s) => s.len_val(),
        }
    }

    fn scratch(&self) -> StackReq {
        match &self.kind {
            Kind::Supernodal(s) => StackReq::or(
                supernodal::factorize_supernodal_numeric_llt_scratch::<usize, f64>(
                    s,
                    Par::Seq,
                    Default::default(),
                ),
                s.solve_in_place_scratch::<f64>(1, Par::Seq),
            ),
            Kind::Simplicial(s) => StackReq::or(
                simplicial::factorize_simplicial_numeric_llt_scratch::<usize, f64>(3 * self.n()),
                s.solve_in_place_scratch::<f64>(1),
            ),
        }
    }
}

/// A numeric factor with all the memory it needs.
///
/// Until the first successful [`Factor::refactor`], and after a failed one, there is nothing to
/// solve with and [`Factor::solve_in_place`] leaves NaN.
pub struct Factor {
    symbolic: Arc<Symbolic>,
    /// Values of the ordered matrix.
    ordered: Vec<f64>,
    /// Values of L.
    factor: Vec<f64>,
    /// Ordered right-hand side.
    x: Vec<f64>,
    scratch: MemBuffer,
    ready: bool,
}

impl std::fmt::Debug for Factor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Factor")
            .field("n", &self.symbolic.n())
            .field("nnz", &self.symbolic.nnz)
            .field("ready", &self.ready)
            .finish()
    }
}

impl Factor {
    /// Allocates the memory for the numbers of `symbolic`.
    pub fn new(symbolic: Arc<Symbolic>) -> Result<Self, FactorError> {
        let ordered = zeros(symbolic.structure.row_idx().len())?;
        let factor = zeros(symbolic.len_values())?;
        let x = zeros(3 * symbolic.n())?;
        let scratch = buffer(symbolic.scratch())?;
        Ok(Self {
            symbolic,
            ordered,
            factor,
            x,
            scratch,
            ready: false,
        })
    }

    /// Factors A + diag(shift) ⊗ I₃; `shift` has one entry per block row.
    ///
    /// `a` must have the pattern that was analysed and be symmetric: one triangle is read, which
    /// one depends on the order. Allocates nothing.
    pub fn refactor(&mut self, a: &BlockMatrix, shift: Option<&[f64]>) -> Result<(), FactorError> {
        self.ready = false;
        let symbolic = &*self.symbolic;
        check_len("block rows", a.n(), symbolic.n())?;
        check_len("block values", a.values.len(), symbolic.pattern_nnz)?;
        if let Some(shift) = shift {
            check_len("shift", shift.len(), symbolic.n())?;
        }
        symbolic.gather(a, shift, &mut self.ordered)?;
        let matrix = SparseColMatRef::new(symbolic.structure.as_ref(), self.ordered.as_slice());
        let stack = MemStack::new(&mut self.scratch);
        let result = match &symbolic.kind {
            Kind::Supernodal(s) => supernodal::factorize_supernodal_numeric_llt(
                &mut self.factor,
                matrix,
                Default::default(),
                s,
                Par::Seq,
                stack,
                Default::default(),
            ),
            // The column-by-column code counts pivots from one.
            Kind::Simplicial(s) => simplicial::factorize_simplicial_numeric_llt(
                &mut self.factor,
                matrix,
                Default::default(),
                s,
                stack,
            )
            .map_err(|LltError::NonPositivePivot { index }| {
                LltError::NonPositivePivot { index: index - 1 }
            }),
        };
        match result {
            Ok(_) => {
                self.ready = true;
                Ok(())
            }
            Err(LltError::NonPositivePivot { index }) => Err(FactorError::NotPositiveDefinite {
                block: symbolic.order[index / 3],
            }),
        }
    }

    /// rhs ← A⁻¹ rhs. Allocates nothing.
    pub fn solve_in_place(&mut self, rhs: &mut [Vec3]) {
        debug_assert!(rhs.len() == self.symbolic.n());
        if !self.ready || rhs.len() != self.symbolic.n() {
            rhs.fill(Vec3::repeat(f64::NAN));
            return;
        }
        let symbolic = &*self.symbolic;
        for (x, &old) in self.x.chunks_exact_mut(3).zip(&symbolic.order) {
            x.copy_from_slice(rhs[old].as_slice());
        }
        let stack = MemStack::new(&mut self.scratch);
        let x = MatMut::from_column_major_slice_mut(&mut self.x, 3 * symbolic.n(), 1);
        match &symbolic.kind {
            Kind::Supernodal(s) => supernodal::SupernodalLltRef::new(s, &self.factor)
                .solve_in_place_with_conj(Conj::No, x, Par::Seq, stack),
            Kind::Simplicial(s) => simplicial::SimplicialLltRef::new(s, &self.factor)
                .solve_in_place_with_conj(Conj::No, x, Par::Seq, stack),
        }
        for (x, &old) in self.x.chunks_exact(3).zip(&symbolic.order) {
            rhs[old] = Vec3::new(x[0], x[1], x[2]);
        }
    }

    /// The structure this factor was made for.
    pub fn symbolic(&self) -> &Arc<Symbolic> {
        &self.symbolic
    }

    /// Entries of L, without the zeros that dense panels store as well.
    pub fn nnz(&self) -> usize {
        self.symbolic.nnz
    }

    /// Heap memory of this factor's numbers and scratch [bytes]; the structure is shared.
    pub fn bytes(&self) -> usize {
        (self.ordered.capacity() + self.factor.capacity() + self.x.capacity()) * size_of::<f64>()
            + self.scratch.len()
    }
}

impl Symbolic {
    /// Writes the ordered triangle of A + shift, block columns in parallel.
    fn gather(
        &self,
        a: &BlockMatrix,
        shift: Option<&[f64]>,
        ordered: &mut [f64],
    ) -> Result<(), FactorError> {
        let lower = matches!(self.kind, Kind::Supernodal(_));
        let bad = AtomicUsize::new(usize::MAX);
        for_rows_mut(&self.value_start, ordered, &|j, values| {
            let sources = &self.sources[self.source_start[j]..self.source_start[j + 1]];
            let Some(others) = sources.len().checked_sub(1) else {
                return;
            };
            let old = self.order[j];
            // The diagonal block comes first in a lower column and last in an upper one. Block
            // (k, j) is the transpose of the stored block (j, k), so its column is a row.
            let (diagonal, off) = match lower {
                true => (sources[0], &sources[1..]),
                false => (sources[others], &sources[..others]),
            };
            let mut diagonal = a.values[diagonal];
            if let Some(shift) = shift {
                for c in 0..3 {
                    diagonal[(c, c)] += shift[old];
                }
            }
            let mut at = 0;
            for c in 0..3 {
                if lower {
                    for r in c..3 {
                        values[at] = diagonal[(r, c)];
                        at += 1;
                    }
                }
                for &source in off {
                    let block = &a.values[source];
                    values[at] = block[(c, 0)];
                    values[at + 1] = block[(c, 1)];
                    values[at + 2] = block[(c, 2)];
                    at += 3;
                }
                if !lower {
                    for r in 0..=c {
                        values[at] = diagonal[(r, c)];
                        at += 1;
                    }
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

#[derive(Clone, Copy, PartialEq)]
enum Triangle {
    Lower,
    Upper,
}

/// A triangle of the ordered block graph, diagonal included, in sorted compressed columns.
struct Columns {
    col_start: Vec<usize>,
    rows: Vec<usize>,
}

/// A triangle of the ordered graph, and the position of each of its blocks among the values of the
/// original matrix.
fn ordered_triangle(
    pattern: &BlockPattern,
    order: &[usize],
    triangle: Triangle,
) -> (Columns, Vec<usize>) {
    let mut place = vec![0; order.len()];
    for (new, &old) in order.iter().enumerate() {
        place[old] = new;
    }
    let half = (pattern.nnz() + order.len()) / 2;
    let mut col_start = Vec::with_capacity(order.len() + 1);
    col_start.push(0);
    let (mut rows, mut sources) = (Vec::with_capacity(half), Vec::with_capacity(half));
    let mut column = Vec::new();
    for (new, &old) in order.iter().enumerate() {
        let start = pattern.row_start()[old];
        column.clear();
        for (k, &neighbour) in pattern.row(old).iter().enumerate() {
            let row = place[neighbour as usize];
            let inside = match triangle {
                Triangle::Lower => row >= new,
                Triangle::Upper => row <= new,
            };
            if inside {
                column.push((row, start + k));
            }
        }
        column.sort_unstable();
        rows.extend(column.iter().map(|&(row, _)| row));
        sources.extend(column.iter().map(|&(_, source)| source));
        col_start.push(rows.len());
    }
    (Columns { col_start, rows }, sources)
}

/// Three scalar rows and columns per block; diagonal blocks keep their triangle only.
fn to_scalar(blocks: &Columns, triangle: Triangle) -> SymbolicSparseColMat<usize> {
    let n = blocks.col_start.len() - 1;
    let mut col_start = Vec::with_capacity(3 * n + 1);
    col_start.push(0);
    let mut rows = Vec::with_capacity(9 * blocks.rows.len() - 3 * n);
    for j in 0..n {
        let column = &blocks.rows[blocks.col_start[j]..blocks.col_start[j + 1]];
        for c in 0..3 {
            let inside = |row: &usize| match triangle {
                Triangle::Lower => *row >= 3 * j + c,
                Triangle::Upper => *row <= 3 * j + c,
            };
            rows.extend(column.iter().flat_map(|&k| 3 * k..3 * k + 3).filter(inside));
            col_start.push(rows.len());
        }
    }
    SymbolicSparseColMat::new_checked(3 * n, 3 * n, col_start, None, rows)
}

fn amd_of_pattern(pattern: &BlockPattern) -> Result<Vec<usize>, FactorError> {
    let natural: Vec<usize> = (0..pattern.n()).collect();
    let (upper, _) = ordered_triangle(pattern, &natural, Triangle::Upper);
    amd_order(&upper.col_start, &upper.rows)
}

/// Approximate minimum degree order (new → old) of a graph given by its upper triangle.
fn amd_order(col_start: &[usize], rows: &[usize]) -> Result<Vec<usize>, FactorError> {
    let n = col_start.len() - 1;
    let graph = SymbolicSparseColMatRef::new_checked(n, n, col_start, None, rows);
    let mut buffer = buffer(amd::order_scratch::<usize>(n, rows.len()))?;
    let (mut order, mut inverse) = (vec![0; n], vec![0; n]);
    amd::order(
        &mut order,
        &mut inverse,
        graph,
        Default::default(),
        MemStack::new(&mut buffer),
    )?;
    Ok(order)
}

/// Elimination tree (parent or negative) and entries of each column of L on the block graph.
fn block_tree(
    pattern: &BlockPattern,
    order: &[usize],
) -> Result<(Vec<isize>, Vec<usize>), FactorError> {
    let n = order.len();
    let (upper, _) = ordered_triangle(pattern, order, Triangle::Upper);
    let graph = SymbolicSparseColMatRef::new_checked(n, n, &upper.col_start, None, &upper.rows);
    let mut buffer = buffer(simplicial::prefactorize_symbolic_cholesky_scratch::<usize>(
        n,
        upper.rows.len(),
    ))?;
    let (mut tree, mut counts) = (vec![0isize; n], vec![0; n]);
    simplicial::prefactorize_symbolic_cholesky(
        &mut tree,
        &mut counts,
        graph,
        MemStack::new(&mut buffer),
    );
    Ok((tree, counts))
}

fn block_flops(pattern: &BlockPattern, order: &[usize]) -> Result<f64, FactorError> {
    Ok(operations(&block_tree(pattern, order)?.1))
}

/// Multiply–add operations of a Cholesky factorisation with these column counts.
fn operations(counts: &[usize]) -> f64 {
    let per_column = |&c: &usize| 0.5 * c as f64 * (c as f64 + 3.0);
    counts.iter().map(per_column).sum()
}

/// Reorders by a postorder of the elimination tree: same fill, but every subtree is contiguous, so
/// that columns can be merged into supernodes.
fn postordered(pattern: &BlockPattern, order: Vec<usize>) -> Result<Vec<usize>, FactorError> {
    const NONE: usize = usize::MAX;
    let n = order.len();
    let (parent, _) = block_tree(pattern, &order)?;
    let (mut first_child, mut sibling) = (vec![NONE; n], vec![NONE; n]);
    let mut roots = Vec::new();
    for j in (0..n).rev() {
        match usize::try_from(parent[j]) {
            Ok(p) => {
                sibling[j] = first_child[p];
                first_child[p] = j;
            }
            Err(_) => roots.push(j),
        }
    }
    let mut post = Vec::with_capacity(n);
    let mut stack = Vec::new();
    for &root in roots.iter().rev() {
        stack.push(root);
        while let Some(&j) = stack.last() {
            let child = first_child[j];
            if child == NONE {
                stack.pop();
                post.push(order[j]);
            } else {
                first_child[j] = sibling[child];
                stack.push(child);
            }
        }
    }
    Ok(post)
}

fn buffer(request: StackReq) -> Result<MemBuffer, FactorError> {
    MemBuffer::try_new(request).map_err(|_| FactorError::OutOfMemory)
}

fn zeros(n: usize) -> Result<Vec<f64>, FactorError> {
    let mut values = Vec::new();
    values
        .try_reserve_exact(n)
        .map_err(|_| FactorError::OutOfMemory)?;
    values.resize(n, 0.0);
    Ok(values)
}

fn check_len(what: &'static str, found: usize, expected: usize) -> Result<(), FactorError> {
    if found == expected {
        return Ok(());
    }
    Err(FactorError::SizeMismatch {
        what,
        found,
        expected,
    })
}

impl From<FaerError> for FactorError {
    fn from(_: FaerError) -> Self {
        // Index overflow is the library's other error: a factor beyond the address space.
        Self::OutOfMemory
    }
}
