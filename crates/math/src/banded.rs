//! Batches of many small symmetric banded matrices, such as one per strand of hair.
//!
//! Matrices of one size are interleaved eight by eight, so that every arithmetic operation of the
//! factorisation A = L D Lᵀ serves eight of them. Groups of eight are processed in parallel. A
//! matrix gives the same bits in a full group, in a padded group, alone, and on any number of
//! threads.
//!
//! Every matrix has its own elimination order: a [`BandedLayout`] maps row i of matrix m to a
//! component of a vector of 3-blocks. A rod eliminates x₀ θ₀ x₁ θ₁ … with half-bandwidth 10,
//! whereas the vector stores its positions first and its twists after them.

mod blocks;
mod error;
mod factors;
mod group;
mod kernels;
mod layout;
mod matrices;
mod scratch;
#[cfg(test)]
mod tests;

pub use error::BandedError;
pub use factors::BandedFactors;
pub use layout::{BandSize, BandedLayout, LANES};
pub use matrices::{BandedGroup, BandedMatrices};
