//! The interface of an isotropic elastic law.

use stiction_math::{Mat3, Vec3};

/// An energy density ψ(σ₀, σ₁, σ₂) [J/m³], symmetric in the signed singular values of F.
///
/// The second derivative of ψ as a function of F has a known eigen-structure [smith2019]: in the
/// frames U, V it splits into the 3×3 block ∂²ψ/∂σᵢ∂σⱼ on the diagonal of UᵀδF V and, for each
/// pair i ≠ j, an antisymmetric mode ("twist") and a symmetric one ("flip") with the eigenvalues
/// that [`twist`](Self::twist) and [`flip`](Self::flip) return. Both are supplied in closed form,
/// with the division carried out, so that nothing is divided by a small number where the energy
/// is smooth.
pub trait IsotropicLaw: Sync {
    /// ψ [J/m³].
    fn energy(&self, sigma: &Vec3) -> f64;

    /// ψᵢ = ∂ψ/∂σᵢ [Pa].
    fn gradient(&self, sigma: &Vec3) -> Vec3;

    /// ∂²ψ/∂σᵢ∂σⱼ [Pa].
    fn stretch_hessian(&self, sigma: &Vec3) -> Mat3;

    /// (ψᵢ + ψⱼ)/(σᵢ + σⱼ) [Pa], the eigenvalue of the antisymmetric mode, for i ≠ j.
    fn twist(&self, i: usize, j: usize, sigma: &Vec3) -> f64;

    /// (ψᵢ − ψⱼ)/(σᵢ − σⱼ) [Pa], the eigenvalue of the symmetric mode, for i ≠ j.
    fn flip(&self, i: usize, j: usize, sigma: &Vec3) -> f64;
}
