//! Friction problems in the forms that others use, as plain data.
//!
//! FCLIB [acary2014] has two: the **global** one, with the velocities of the bodies, and the
//! **local** one, reduced to the contacts,
//!
//! ```text
//! M v = H r + f,   u = Hᵀ v + w,   (u, r) ∈ C_μ              global
//! u = W r + q,     (u, r) ∈ C_μ                              local
//! ```
//!
//! with u and r in contact frames, three numbers per contact and the normal one first. Neither has
//! cohesion or compliance: cohesion goes into f, w or q by r + ξ n, and compliance along the normal
//! into W, or into one more velocity per contact with mass 1/c.
//!
//! Reading and writing of files is elsewhere; Siconos' text forms are read here from text.

mod convert;
mod local;
mod matrix;
pub mod siconos;

use stiction_math::Mat3;

use crate::ProblemError;
pub use matrix::TripletMatrix;

/// M v = H r + f, u = Hᵀ v + w.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct GlobalProblem {
    /// M [kg], symmetric and positive definite, n × n.
    pub m: TripletMatrix,
    /// H [1], n × 3 per contact.
    pub h: TripletMatrix,
    /// f [N·s].
    pub f: Vec<f64>,
    /// w [m/s], 3 per contact.
    pub w: Vec<f64>,
    /// Coefficients of friction, one per contact.
    pub mu: Vec<f64>,
}

/// u = W r + q.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ReducedProblem {
    /// W [1/kg], symmetric and positive semi-definite.
    pub w: TripletMatrix,
    /// q [m/s], 3 per contact.
    pub q: Vec<f64>,
    /// Coefficients of friction, one per contact.
    pub mu: Vec<f64>,
}

/// Either form.
#[derive(Clone, Debug, PartialEq)]
pub enum ProblemForm {
    /// With the velocities of the bodies.
    Global(GlobalProblem),
    /// Reduced to the contacts.
    Local(ReducedProblem),
}

/// Velocities and impulses in contact frames: a guess or a solution.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Point {
    /// Velocities of the bodies [m/s]; empty with a local problem.
    pub v: Vec<f64>,
    /// Relative velocities [m/s], 3 per contact.
    pub u: Vec<f64>,
    /// Impulses [N·s], 3 per contact.
    pub r: Vec<f64>,
}

/// A problem in another form, and what goes with it.
#[derive(Clone, Debug, PartialEq)]
pub struct Exchange {
    /// The problem.
    pub form: ProblemForm,
    /// Contact frames with the columns n, t, t; empty if they are not known. Then problems made
    /// of this one have the frames' own coordinates, with normals along x.
    pub frames: Vec<Mat3>,
    /// The time step [s]; 1 if it is not known, so that lengths of tolerances are velocities.
    pub h: f64,
    /// Description of the source.
    pub origin: String,
    /// Starting point.
    pub guess: Option<Point>,
    /// Solution.
    pub solution: Option<Point>,
}

/// Reason for which a problem cannot be exchanged.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum ExchangeError {
    /// A column or matrix has the wrong size.
    #[error("`{what}` has {found} entries instead of {expected}")]
    Size {
        /// The quantity.
        what: &'static str,
        /// Expected number.
        expected: usize,
        /// Number found.
        found: usize,
    },
    /// A matrix has an entry outside, or one that is not finite.
    #[error("entry {at} of matrix `{matrix}` is outside it or not finite")]
    Entry {
        /// The matrix.
        matrix: &'static str,
        /// The entry.
        at: usize,
    },
    /// A matrix is not square.
    #[error("matrix `{0}` is not square")]
    NotSquare(&'static str),
    /// A matrix is not symmetric.
    #[error(
        "matrix `{matrix}` is not symmetric: it differs from its transpose by {fraction:.1e} of its \
         largest entry"
    )]
    NotSymmetric {
        /// The matrix.
        matrix: &'static str,
        /// The difference as a fraction of the largest entry.
        fraction: f64,
    },
    /// A matrix has no entries on its diagonal, or its pattern cannot be laid out by blocks.
    #[error("matrix `{0}` cannot be laid out by blocks")]
    Layout(&'static str),
    /// A matrix is not positive (semi-)definite.
    #[error("matrix `{0}` is not positive definite")]
    NotDefinite(&'static str),
    /// Dense matrices of this size are not made.
    #[error("{rows} rows are too many for a dense matrix, whose limit is {limit}")]
    TooLarge {
        /// The rows.
        rows: usize,
        /// The limit.
        limit: usize,
    },
    /// Text that is not what it should be.
    #[error("{what} at line {line}")]
    Text {
        /// The defect.
        what: String,
        /// Line, from 1.
        line: usize,
    },
    /// The problem is not sound.
    #[error(transparent)]
    Problem(#[from] ProblemError),
}

fn size(what: &'static str, expected: usize, found: usize) -> Result<(), ExchangeError> {
    if expected == found {
        return Ok(());
    }
    Err(ExchangeError::Size {
        what,
        expected,
        found,
    })
}

#[cfg(test)]
mod tests;
