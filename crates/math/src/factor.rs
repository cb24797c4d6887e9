//! Sparse Cholesky factorisation A = L Lᵀ of a block matrix. Together with `factor/lu.rs` for
//! unsymmetric matrices, the only module that uses the sparse library. Small systems are factorised by
//! our own multifrontal code (`factor/cholesky.rs`), large ones by the library's dense panels.
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

mod cholesky;
mod frontal;
mod fronts;
mod lu;
mod panels;
mod pivoting;

pub use lu::{Lu, LuSymbolic};

use crate::dissection::nested_dissection;
use crate::{BlockMatrix, BlockPattern, Mat3, Vec3};
use faer::dyn_stack::{MemBuffer, MemStack, StackReq};
use faer::sparse::linalg::amd;
use faer::sparse::linalg::cholesky::{simplicial, supernodal};
use faer::sparse::{FaerError, SymbolicSparseColMat, SymbolicSparseColMatRef};
use std::sync::Arc;

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

/// The structure of a factor: order and fill.
#[derive(Debug)]
pub struct Symbolic {
    /// Original block of each ordered block.
    order: Vec<usize>,
    kind: Kind,
    pattern_nnz: usize,
    nnz: usize,
    flops: f64,
}

#[derive(Debug)]
enum Kind {
    /// The sparse library's dense panels: for large systems.
    Panels(Box<panels::Analysis>),
    /// Our own fronts, in which three columns are the unit of work: for small ones.
    Fronts(cholesky::Analysis),
}

/// Operations per entry of L above which dense panels pay off.
const PANELS_RATIO: f64 = 40.0;

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
        let kind = if flops > PANELS_RATIO * nnz as f64 {
            let symbolic = supernodal::factorize_supernodal_symbolic_cholesky(
                upper.as_ref(),
                tree,
                &counts,
                stack,
                Default::default(),
            )?;
            Kind::Panels(Box::new(panels::Analysis::new(pattern, &order, symbolic)))
        } else {
            Kind::Fronts(cholesky::Analysis::new(pattern, order.clone())?)
        };
        Ok(Self {
            order,
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
}

/// A numeric factor with all the memory it needs.
///
/// Until the first successful [`Factor::refactor`], and after a failed one, there is nothing to
/// solve with and [`Factor::solve_in_place`] leaves NaN.
pub struct Factor {
    symbolic: Arc<Symbolic>,
    numbers: Numbers,
    ready: bool,
}

/// Values of a factor, as its structure has them.
enum Numbers {
    Panels(panels::Numbers),
    Fronts(cholesky::Numbers),
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
        let numbers = match &symbolic.kind {
            Kind::Panels(panels) => Numbers::Panels(panels::Numbers::new(panels)?),
            Kind::Fronts(fronts) => Numbers::Fronts(cholesky::Numbers::new(fronts)?),
        };
        Ok(Self {
            symbolic,
            numbers,
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
        match (&symbolic.kind, &mut self.numbers) {
            (Kind::Panels(panels), Numbers::Panels(numbers)) => {
                numbers.factor(panels, &symbolic.order, a, shift)?;
            }
            (Kind::Fronts(fronts), Numbers::Fronts(numbers)) => {
                check_finite(a, shift)?;
                numbers.factor(fronts, a, shift)?;
            }
            // `Factor::new` makes both alike.
            _ => return Ok(()),
        }
        self.ready = true;
        Ok(())
    }

    /// rhs ← A⁻¹ rhs. Allocates nothing.
    pub fn solve_in_place(&mut self, rhs: &mut [Vec3]) {
        debug_assert!(rhs.len() == self.symbolic.n());
        if !self.ready || rhs.len() != self.symbolic.n() {
            rhs.fill(Vec3::repeat(f64::NAN));
            return;
        }
        let symbolic = &*self.symbolic;
        match (&symbolic.kind, &mut self.numbers) {
            (Kind::Panels(panels), Numbers::Panels(numbers)) => {
                numbers.solve(panels, &symbolic.order, rhs);
            }
            (Kind::Fronts(fronts), Numbers::Fronts(numbers)) => numbers.solve(fronts, rhs),
            _ => rhs.fill(Vec3::repeat(f64::NAN)),
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
        match &self.numbers {
            Numbers::Panels(numbers) => numbers.bytes(),
            Numbers::Fronts(numbers) => numbers.bytes(),
        }
    }
}

/// An error for the first block row with an entry, or a shift, that is not finite.
fn check_finite(a: &BlockMatrix, shift: Option<&[f64]>) -> Result<(), FactorError> {
    for (block, row) in a.pattern.row_start().windows(2).enumerate() {
        // 0 x is zero, or not a number; nine sums side by side.
        let row = a.values[row[0]..row[1]].iter();
        let zero = row.fold(Mat3::zeros(), |sum, x| sum + x * 0.0).sum();
        let shift = shift.map_or(0.0, |s| s[block]);
        if zero + 0.0 * shift != 0.0 {
            return Err(FactorError::NotFinite { block });
        }
    }
    Ok(())
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

pub(crate) fn amd_of_pattern(pattern: &BlockPattern) -> Result<Vec<usize>, FactorError> {
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
