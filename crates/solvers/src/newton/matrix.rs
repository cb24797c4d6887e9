//! The factor of the matrix A + Bᵀ G B.

use std::sync::Arc;

use stiction_contact::FrictionProblem;
use stiction_math::{Lu, LuSymbolic, Mat3, Vec3};

use super::Error;
use crate::assembled::Assembled;

/// A + Bᵀ G B of one problem with its factor.
pub struct NewtonMatrix {
    sum: Assembled,
    lu: Lu,
}

impl NewtonMatrix {
    /// Analyses the pattern for the contacts marked in `closed`.
    pub fn new(problem: &FrictionProblem, closed: Vec<bool>) -> Result<Self, Error> {
        let sum = Assembled::new(problem, closed)?;
        Ok(Self {
            lu: analyse(&sum)?,
            sum,
        })
    }

    /// Factorises the sum with the given G [kg], one per contact. Returns whether it could be.
    pub fn factor(&mut self, problem: &FrictionProblem, g: &[Mat3]) -> Result<bool, Error> {
        if self.sum.update(problem, g)? {
            self.lu = analyse(&self.sum)?;
        }
        // A matrix without a factor is a failed step like any other.
        Ok(self.lu.refactor(self.sum.matrix()).is_ok())
    }

    /// x ← (A + Bᵀ G B)⁻¹ x.
    pub fn solve(&mut self, x: &mut [Vec3]) {
        self.lu.solve_in_place(x);
    }
}

fn analyse(sum: &Assembled) -> Result<Lu, Error> {
    let symbolic = LuSymbolic::analyse(&sum.matrix().pattern)?;
    Ok(Lu::new(Arc::new(symbolic))?)
}
