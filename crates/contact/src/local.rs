//! A friction problem reduced to its contacts.

use stiction_math::{BlockMatrix, Vec3};

use crate::{
    Certificate, CertifyConfig, ContactFault, ProblemError,
    coulomb::{SolvedContact, coulomb_residual, judge_laws},
    problem::length,
};

/// The local form of a friction problem: find impulses r [N·s] with
///
/// ```text
/// u = W r + q,     (u, r) ∈ C_μ for every contact.
/// ```
///
/// u and r are in contact frames with the normal along x. W = B A⁻¹ Bᵀ is the Delassus operator; it is
/// semi-definite where contacts are redundant. There are no velocities to balance, so one residual
/// says everything: that of u = W r + q.
#[derive(Clone, Debug)]
pub struct LocalProblem {
    /// W [1/kg], symmetric, one block row per contact.
    pub w: BlockMatrix,
    /// q [m/s], one vector per contact.
    pub q: Vec<Vec3>,
    /// Coefficients of friction, one per contact.
    pub mu: Vec<f64>,
}

impl LocalProblem {
    /// The number of contacts.
    pub fn len(&self) -> usize {
        self.q.len()
    }

    /// Whether there are no contacts.
    pub fn is_empty(&self) -> bool {
        self.q.is_empty()
    }

    /// Whether the data are consistent and finite, and every contact moves along its normal if pushed.
    pub fn check(&self) -> Result<(), ProblemError> {
        let n = self.w.n();
        length("q", n, self.q.len())?;
        length("mu", n, self.mu.len())?;
        let rows = self.w.pattern.row_start();
        for contact in 0..n {
            let row = &self.w.values[rows[contact]..rows[contact + 1]];
            let fault = if !row.iter().flatten().all(|x| x.is_finite()) {
                ContactFault::NotFinite("row of W")
            } else if !self.q[contact].iter().all(|x| x.is_finite()) {
                ContactFault::NotFinite("q")
            } else if !self.mu[contact].is_finite() {
                ContactFault::NotFinite("friction coefficient")
            } else if self.mu[contact] < 0.0 {
                ContactFault::Negative("friction coefficient")
            } else if self.w.diagonal(contact).diagonal().min() <= 0.0 {
                ContactFault::Delassus
            } else {
                continue;
            };
            return Err(ProblemError::Contact { contact, fault });
        }
        Ok(())
    }

    /// u = W r + q of one contact [m/s].
    pub fn velocity(&self, c: usize, r: &[Vec3]) -> Vec3 {
        self.w.row_product(c, r) + self.q[c]
    }

    /// The length ρ [kg] in the residual of a contact: the inverse of the mean diagonal of W_cc.
    pub fn rho(&self, c: usize) -> f64 {
        3.0 / self.w.diagonal(c).trace()
    }

    /// `residual` of the certificate [m/s]; infinite if it is not a number.
    pub fn residual(&self, r: &[Vec3]) -> f64 {
        let mut worst = 0.0f64;
        for (c, r_c) in r.iter().enumerate() {
            let u = self.velocity(c, r);
            let one = coulomb_residual(&u, r_c, &Vec3::x(), self.mu[c], self.rho(c));
            if one.is_nan() {
                return f64::INFINITY;
            }
            worst = worst.max(one);
        }
        worst
    }

    /// Judges impulses `r` [N·s] by the laws of Signorini and Coulomb. `linear` is zero: there are no
    /// velocities besides those that follow from r.
    pub fn certify(&self, r: &[Vec3], config: &CertifyConfig) -> Result<Certificate, ProblemError> {
        length("r", self.len(), r.len())?;
        let state = |c: usize| SolvedContact {
            n: Vec3::x(),
            mu: self.mu[c],
            u: self.velocity(c, r),
            force: r[c],
        };
        Ok(judge_laws(self.len(), state, |c| self.rho(c), config))
    }
}
