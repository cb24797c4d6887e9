//! Sparse LU factorisation of a block matrix with symmetric pattern and unsymmetric values.
//!
//! The multifrontal factorisation in an order for symmetric fill comes first (`frontal.rs`). It
//! pivots within a front only; each solution is therefore checked, and refined, by its residual
//!
//! η = ‖b − A x‖∞ / (‖A‖∞ ‖x‖∞ + ‖b‖∞),
//!
//! and if that does not become small the matrix is factored again with unrestricted row pivoting
//! (`pivoting.rs`).

use super::{check_len, frontal, pivoting::Pivoting};
use crate::{BlockMatrix, BlockPattern, FactorError, Preconditioner, Vec3, reduce};
use std::sync::Arc;

/// η at the level of rounding: no refinement is needed.
const FINE: f64 = 1e-14;
/// The largest η that is accepted after refinement.
const ACCEPTABLE: f64 = 1e-11;
/// Maximum number of refinement steps.
const REFINEMENTS: usize = 3;

/// The structure of a factorisation: order, fronts and the map of matrix values.
#[derive(Debug)]
pub struct LuSymbolic {
    pattern: Arc<BlockPattern>,
    fronts: frontal::Analysis,
}

impl LuSymbolic {
    /// Orders the pattern and finds the fill.
    pub fn analyse(pattern: &Arc<BlockPattern>) -> Result<Self, FactorError> {
        Ok(Self {
            pattern: Arc::clone(pattern),
            fronts: frontal::Analysis::new(pattern)?,
        })
    }

    /// The pattern that was analysed.
    pub fn pattern(&self) -> &Arc<BlockPattern> {
        &self.pattern
    }

    /// Number of values in L and U with pivoting within fronts.
    pub fn nnz(&self) -> usize {
        self.fronts.nnz()
    }
}

/// A numeric factorisation.
///
/// Until the first successful [`Lu::refactor`], and after a failed one, there are no factors and
/// [`Lu::solve_in_place`] leaves NaN. A singular matrix shows as an error, as a solution that is
/// not finite or as a very large solution.
pub struct Lu {
    symbolic: Arc<LuSymbolic>,
    /// The matrix, for residuals.
    matrix: BlockMatrix,
    /// ‖A‖∞.
    norm: f64,
    fronts: frontal::Numbers,
    pivoting: Option<Box<Pivoting>>,
    /// The current form of the factors.
    holds: Holds,
    b: Vec<Vec3>,
    r: Vec<Vec3>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Holds {
    Nothing,
    Fronts,
    Pivoting,
}

impl std::fmt::Debug for Lu {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Lu")
            .field("n", &self.symbolic.pattern.n())
            .field("holds", &self.holds)
            .finish()
    }
}

impl Lu {
    /// Allocates the memory for the values of `symbolic`.
    pub fn new(symbolic: Arc<LuSymbolic>) -> Result<Self, FactorError> {
        let n = symbolic.pattern.n();
        Ok(Self {
            matrix: BlockMatrix::zeros(Arc::clone(&symbolic.pattern)),
            norm: 0.0,
            fronts: frontal::Numbers::new(&symbolic.fronts)?,
            pivoting: None,
            holds: Holds::Nothing,
            b: vec![Vec3::zeros(); n],
            r: vec![Vec3::zeros(); n],
            symbolic,
        })
    }

    /// Factors `a`, which must have the analysed pattern. Allocates nothing, except when
    /// unrestricted pivoting is needed for the first time.
    pub fn refactor(&mut self, a: &BlockMatrix) -> Result<(), FactorError> {
        self.holds = Holds::Nothing;
        check_len("block rows", a.n(), self.matrix.n())?;
        let values = self.matrix.values.len();
        check_len("block values", a.values.len(), values)?;
        self.matrix.values.copy_from_slice(&a.values);
        let mut norm = 0.0f64;
        for i in 0..a.n() {
            let row = &a.values[a.pattern.row_start()[i]..a.pattern.row_start()[i + 1]];
            for r in 0..3 {
                let sum: f64 = row.iter().map(|block| block.row(r).abs().sum()).sum();
                if !sum.is_finite() {
                    return Err(FactorError::NotFinite { block: i });
                }
                norm = norm.max(sum);
            }
        }
        self.norm = norm;
        match self.fronts.factor(&self.symbolic.fronts, a) {
            Ok(()) => self.holds = Holds::Fronts,
            Err(_) => self.pivot()?,
        }
        Ok(())
    }

    /// Factors the current matrix with unrestricted row pivoting.
    fn pivot(&mut self) -> Result<(), FactorError> {
        self.holds = Holds::Nothing;
        let pivoting = match &mut self.pivoting {
            Some(pivoting) => pivoting,
            none => none.insert(Box::new(Pivoting::new(&self.symbolic.pattern)?)),
        };
        pivoting.factor(&self.matrix)?;
        self.holds = Holds::Pivoting;
        Ok(())
    }

    /// rhs ← A⁻¹ rhs.
    pub fn solve_in_place(&mut self, rhs: &mut [Vec3]) {
        debug_assert!(rhs.len() == self.matrix.n());
        if rhs.len() != self.matrix.n() || self.holds == Holds::Nothing {
            rhs.fill(Vec3::repeat(f64::NAN));
            return;
        }
        self.b.copy_from_slice(rhs);
        if self.holds == Holds::Fronts {
            self.fronts.solve(&self.symbolic.fronts, rhs);
            if self.refine(rhs) {
                return;
            }
            rhs.copy_from_slice(&self.b);
            if self.pivot().is_err() {
                rhs.fill(Vec3::repeat(f64::NAN));
                return;
            }
        }
        if let Some(pivoting) = &mut self.pivoting {
            pivoting.solve(rhs);
        }
    }

    /// Refines the multifrontal solution `x` of `self.b`; returns whether the residual is
    /// acceptable.
    fn refine(&mut self, x: &mut [Vec3]) -> bool {
        let largest = |v: &[Vec3]| v.iter().fold(0.0f64, |a, v| a.max(v.amax()));
        let scale = largest(&self.b);
        let mut before = f64::INFINITY;
        for step in 0..=REFINEMENTS {
            self.matrix.apply(x, &mut self.r);
            for (r, b) in self.r.iter_mut().zip(&self.b) {
                *r = b - *r;
            }
            let size = self.norm * largest(x) + scale;
            let error = largest(&self.r);
            let eta = if error == 0.0 { 0.0 } else { error / size };
            if eta <= FINE || !eta.is_finite() {
                return eta <= FINE;
            }
            // Refinement no longer helps.
            if step == REFINEMENTS || eta > 0.5 * before {
                return eta <= ACCEPTABLE;
            }
            before = eta;
            self.fronts.solve(&self.symbolic.fronts, &mut self.r);
            reduce::axpy(1.0, &self.r, x);
        }
        false
    }

    /// The structure this factorisation was made for.
    pub fn symbolic(&self) -> &Arc<LuSymbolic> {
        &self.symbolic
    }

    /// Whether the last factorisation used unrestricted pivoting.
    pub fn is_pivoting(&self) -> bool {
        self.holds == Holds::Pivoting
    }

    /// Heap memory of the multifrontal values [bytes].
    pub fn bytes(&self) -> usize {
        self.fronts.bytes() + self.matrix.bytes()
    }
}

impl Preconditioner for Lu {
    fn apply(&mut self, r: &[Vec3], z: &mut [Vec3]) {
        reduce::copy(r, z);
        self.solve_in_place(z);
    }
}
