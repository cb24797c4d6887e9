//! The linear systems of a Newton step: their matrix, the columns of their solvers and what they cost.

use stiction_contact::solver::SolverReport;
use stiction_math::{CgReport, CrWorkspace, GmresWorkspace, KrylovError, Vec3};

/// Columns of the linear solvers.
#[derive(Default)]
pub(super) struct KrylovColumns {
    pub symmetric: CrWorkspace,
    pub unsymmetric: GmresWorkspace,
}

impl KrylovColumns {
    pub fn bytes(&self) -> usize {
        self.symmetric.bytes() + self.unsymmetric.bytes()
    }
}

/// Books the iterations of a linear solve, whose answer serves however far it got. Returns whether the
/// answer is finite.
pub(super) fn count(
    solved: &Result<CgReport, KrylovError>,
    p: &[Vec3],
    report: &mut SolverReport,
) -> bool {
    let iterations = match solved {
        Ok(report) => report.iterations,
        Err(error) => error.reached().0,
    };
    report.iterations += iterations.max(1);
    report.linear_iterations += 1;
    p.iter().all(|p| p.iter().all(|x| x.is_finite()))
}
