//! Solvers put together: splitting, finished by Newton's method. Their folders know nothing of one
//! another.

use stiction_contact::FrictionProblem;
use stiction_math::Vec3;

use crate::{
    admm::{self, Finished, Finisher},
    newton,
};

/// Newton's method as the finish of the splitting.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ByNewton;

impl Finisher for ByNewton {
    fn finish(
        &self,
        problem: &FrictionProblem,
        v: &mut Vec<Vec3>,
        r: &mut Vec<Vec3>,
        bound: f64,
        max_iterations: usize,
    ) -> Result<Finished, String> {
        let config = newton::Config {
            tolerance: bound,
            max_iterations,
            ..newton::Config::default()
        };
        let mut state = newton::State {
            v: std::mem::take(v),
            r: std::mem::take(r),
        };
        let report = newton::solve(problem, &mut state, &config).map_err(|e| e.to_string())?;
        (*v, *r) = (state.v, state.r);
        Ok(Finished {
            iterations: report.iterations,
            certificate: report.certificate,
        })
    }
}

/// A splitting solver for `problem` that Newton's method finishes where `Config::finish` asks for it.
pub fn admm_with_newton(problem: &FrictionProblem) -> Result<admm::Admm, admm::Error> {
    Ok(admm::Admm::new(problem)?.with_finisher(Box::new(ByNewton)))
}
