//! Elastic solids of linear tetrahedra.
//!
//! A tetrahedron has a constant deformation gradient F = ∂x/∂X and the energy V ψ(F) with V its
//! rest volume. Every law here is isotropic and therefore a symmetric function of the signed
//! singular values of F = U diag(σ) Vᵀ (U, V rotations, σ₀ ≥ σ₁ ≥ |σ₂|, σ₂ < 0 when inverted); see
//! [`IsotropicLaw`]. [`Tets`] turns such a law into forces and Hessians.

mod corotated;
mod fixed_corotated;
mod invariants;
mod lame;
mod law;
mod neo_hookean;
mod stable_neo_hookean;
mod stvk;
mod tets;

pub use corotated::Corotated;
pub use fixed_corotated::FixedCorotated;
pub use lame::Lame;
pub use law::IsotropicLaw;
pub use neo_hookean::NeoHookean;
pub use stable_neo_hookean::StableNeoHookean;
pub use stvk::Stvk;
pub(crate) use tets::Modes;
pub use tets::Tets;
