//! MINRES [paige1975] with a positive definite preconditioner, on the equations of the active rows.
//!
//! Three-term recurrences for an orthonormal basis of the Krylov space, and Givens rotations of the tridiagonal
//! matrix in it: the iterates are those of conjugate residuals in exact arithmetic, and no step divides by the curvature
//! of an indefinite matrix.

use stiction_math::{Vec3, elementary::hypot};

use super::{Approximation, Column, Kkt};

/// Columns of the recurrences, the newest last where there are several.
#[derive(Default)]
pub(crate) struct Lanczos {
    /// Residual vectors of the basis, not normalised.
    basis: [Column; 2],
    /// C⁻¹ times the last one.
    z: Column,
    /// The matrix times the last basis vector.
    product: Column,
    /// Directions.
    before: Column,
    /// Norms γ of the last basis vectors.
    gamma: [f64; 2],
    /// Cosines and sines of the last rotations.
    rotation: [(f64, f64); 2],
    /// ‖r‖ in the norm of the preconditioner, with the sign of the rotations.
    eta: f64,
}

/// Size of a new basis vector, as a fraction of what it was orthogonalised from, below which it is rounding.
const EXHAUSTED: f64 = 1e-14;

impl Lanczos {
    /// Starts from a residual, with a direction of zeros.
    pub fn start(&mut self, kkt: &Kkt<'_>, approximation: &mut Approximation, residual: &Column) {
        let (n, m) = (residual.v.len(), residual.c.len());
        let [older, last] = &mut self.basis;
        for column in [
            older,
            last,
            &mut self.z,
            &mut self.product,
            &mut self.before,
        ] {
            column.reset(n, m);
        }
        self.basis[1].copy(residual);
        approximation.apply(kkt, residual, &mut self.z);
        let gamma = self.z.dot(residual).max(0.0).sqrt();
        self.gamma = [1.0, gamma];
        self.rotation = [(1.0, 0.0); 2];
        self.eta = gamma;
    }

    /// One step: changes `direction`, the unknowns and their residual. Returns the length of the step along the
    /// direction, which may be zero, or none where the space is exhausted.
    pub fn step(
        &mut self,
        kkt: &Kkt<'_>,
        approximation: &mut Approximation,
        work: &mut [Vec3],
        direction: &mut Column,
        y: &mut Column,
        residual: &mut Column,
    ) -> Option<f64> {
        let [gamma_before, gamma] = self.gamma;
        if gamma <= 0.0 || !gamma.is_finite() {
            return None;
        }
        let Self { z, product, .. } = self;
        z.scale(1.0 / gamma);
        kkt.apply(z, work, product);
        let delta = product.dot(z);
        let [older, last] = &mut self.basis;
        product.axpy(-delta / gamma, last);
        product.axpy(-gamma / gamma_before, older);
        std::mem::swap(older, last);
        last.copy(product);
        // Normalised; the next one takes the place of `product` until the direction is made.
        approximation.apply(kkt, last, product);
        let next = product.dot(last).max(0.0).sqrt();
        // A basis vector of rounding errors is the end of the space.
        let next = if next > EXHAUSTED * hypot(delta, gamma) {
            next
        } else {
            0.0
        };

        let [(c_before, s_before), (c, s)] = self.rotation;
        let alpha = [
            c * delta - c_before * s * gamma,
            s * delta + c_before * c * gamma,
            s_before * gamma,
        ];
        let length = hypot(alpha[0], next);
        if length == 0.0 || !length.is_finite() {
            return None;
        }
        let (c_next, s_next) = (alpha[0] / length, next / length);
        // d ← (z − α₃ d₋₁ − α₂ d)/α₁, where z is normalised.
        self.before.scale(-alpha[2] / length);
        self.before.axpy(1.0 / length, z);
        self.before.axpy(-alpha[1] / length, direction);
        std::mem::swap(&mut self.before, direction);
        let step = c_next * self.eta;
        y.axpy(step, direction);
        self.eta *= -s_next;
        residual.scale(s_next * s_next);
        if next > 0.0 {
            residual.axpy(self.eta * c_next / next, last);
        }
        std::mem::swap(z, product);
        self.gamma = [gamma, next];
        self.rotation = [(c, s), (c_next, s_next)];
        Some(step.abs())
    }

    pub fn bytes(&self) -> usize {
        let [older, last] = &self.basis;
        let columns = [older, last, &self.z, &self.product, &self.before];
        columns.map(Column::bytes).iter().sum()
    }
}
