//! Linear algebra for Stiction: small dense kernels, block-sparse and banded matrices, the
//! interface to the sparse factorisation library, Krylov methods, colouring and ordered parallel
//! loops.
//!
//! This crate contains no physics. Its results have the same bits for any number of threads.

pub use nalgebra;

/// A vector of three numbers: a position, a velocity or a force.
pub type Vec3 = nalgebra::Vector3<f64>;
/// A vector of two numbers.
pub type Vec2 = nalgebra::Vector2<f64>;
/// A 3×3 matrix, column-major.
pub type Mat3 = nalgebra::Matrix3<f64>;
/// A 2×2 matrix, column-major.
pub type Mat2 = nalgebra::Matrix2<f64>;
/// A 6×6 matrix, column-major.
pub type Mat6 = nalgebra::Matrix6<f64>;
/// A rotation as a unit quaternion.
pub type Quat = nalgebra::UnitQuaternion<f64>;

mod banded;
mod bicgstab;
mod block;
mod cancel;
pub mod checksum;
mod coloring;
mod conjugate_residual;
mod dissection;
mod dual;
mod eig;
pub mod elementary;
mod factor;
pub mod formula;
mod frame;
mod gmres;
mod incomplete;
mod incomplete_lu;
mod krylov;
mod line_search;
pub mod parallel;
mod prefetch;
mod processor;
pub mod reduce;
mod scalar_bands;
mod scatter;
mod svd3;
mod system;
#[cfg(test)]
mod testing;
mod wolfe;
mod woodbury;

pub use banded::{
    BandSize, BandedError, BandedFactors, BandedGroup, BandedLayout, BandedMatrices, LANES,
};
pub use bicgstab::{BicgstabWorkspace, bicgstab};
pub use block::{BlockError, BlockMatrix, BlockPattern};
pub use cancel::Cancel;
pub use coloring::BlockColoring;
pub use conjugate_residual::{CrWorkspace, conjugate_residuals};
pub use dual::{Dual, Real, Vector};
pub use eig::{is_positive_definite3, psd_n, psd2, psd3, sym_eig_n, sym_eig2, sym_eig3};
pub use factor::{Factor, FactorError, Lu, LuSymbolic, Ordering, Symbolic};
pub use frame::frame;
pub use gmres::{GmresWorkspace, gmres};
pub use incomplete::BlockCholesky;
pub use incomplete_lu::IncompleteLu;
pub use krylov::{
    BlockJacobi, CgConfig, CgReport, CgWorkspace, Identity, KrylovError, LinearOperator,
    Preconditioner, conjugate_gradients,
};
pub use line_search::{LineSearchConfig, LineSearchError, LineSearchReport, armijo};
pub use prefetch::prefetch;
pub use processor::instruction_sets;
pub use scalar_bands::{ScalarBands, ScalarFactors};
pub use scatter::{Contribution, Scatter, ScatterError};
pub use svd3::{Svd3, polar3, svd3};
pub use system::{
    IncompleteFactors, MatrixPart, PartShape, SystemError, SystemFactor, SystemMatrix,
};
pub use wolfe::{WolfeConfig, WolfeError, WolfeReport, WolfeSample, wolfe};
pub use woodbury::{BlocksAndRanks, Woodbury};
