//! Errors of banded matrices.

/// Errors of banded matrices.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
pub enum BandedError {
    /// A row maps to a component that the vector does not have.
    #[error("row {row} of matrix {matrix} maps to component {component} of a vector of {len}")]
    OutsideVector {
        /// The matrix.
        matrix: usize,
        /// The row.
        row: usize,
        /// The component it maps to.
        component: usize,
        /// Number of components of the vector.
        len: usize,
    },
    /// Two rows map to one component.
    #[error("row {row} of matrix {matrix} maps to component {component}, as another row does")]
    Shared {
        /// The matrix.
        matrix: usize,
        /// The row.
        row: usize,
        /// The component it maps to.
        component: usize,
    },
    /// Too many rows for 32-bit indices.
    #[error("{0} rows are too many")]
    TooMany(usize),
    /// An entry outside the matrix or its band.
    #[error("entry ({row}, {column}) of matrix {matrix} lies outside its rows or its band")]
    OutsideBand {
        /// The matrix.
        matrix: usize,
        /// The row.
        row: usize,
        /// The column.
        column: usize,
    },
    /// A matrix is not positive definite, or has an entry that is not finite.
    #[error("matrix {matrix} is not positive definite: its pivot in row {row} is {pivot:e}")]
    NotPositiveDefinite {
        /// The matrix: the first one with such a pivot.
        matrix: usize,
        /// Its first row with such a pivot.
        row: usize,
        /// The pivot.
        pivot: f64,
    },
    /// Matrices and factors with different layouts.
    #[error("the matrices and the factors have different layouts")]
    Layout,
}
