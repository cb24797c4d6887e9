//! The factor of the matrix A + Bᵀ G B.

use std::sync::Arc;

use stiction_contact::FrictionProblem;
use stiction_math::{Lu, LuSymbolic, Mat3, Vec3};

use super::Error;
use crate::assembled::Assembled;

/// A + Bᵀ G B of one problem with its factor. Nothing is analysed before the first factor: many starts are answers already.
pub struct NewtonMatrix {
    /// Contacts of the first pattern.
    closed: Vec<bool>,
    made: Option<Made>,
}

struct Made {
    sum: Assembled,
    lu: Lu,
}

impl NewtonMatrix {
    /// The matrix whose first pattern has the contacts marked in `closed`.
    pub fn new(closed: Vec<bool>) -> Self {
        Self { closed, made: None }
    }

    /// Factorises the sum with the given G [kg], one per contact. Returns whether it could be.
    pub fn factor(&mut self, problem: &FrictionProblem, g: &[Mat3]) -> Result<bool, Error> {
        let made = match self.made.take() {
            Some(mut made) => {
                if made.sum.update(problem, g)? {
                    made.lu = analyse(&made.sum)?;
                }
                made
            }
            None => {
                let acts = |g: &Mat3| *g != Mat3::zeros();
                let both = self.closed.iter().zip(g);
                let closed = both.map(|(&closed, g)| closed || acts(g)).collect();
                let mut sum = Assembled::new(problem, closed)?;
                sum.update(problem, g)?;
                let lu = analyse(&sum)?;
                Made { sum, lu }
            }
        };
        let Made { sum, lu } = self.made.insert(made);
        // A matrix without a factor is a failed step like any other.
        Ok(lu.refactor(sum.matrix()).is_ok())
    }

    /// x ← (A + Bᵀ G B)⁻¹ x; nothing before the first factor.
    pub fn solve(&mut self, x: &mut [Vec3]) {
        if let Some(made) = &mut self.made {
            made.lu.solve_in_place(x);
        }
    }
}

fn analyse(sum: &Assembled) -> Result<Lu, Error> {
    let symbolic = LuSymbolic::analyse(&sum.matrix().pattern)?;
    Ok(Lu::new(Arc::new(symbolic))?)
}
