//! The linear systems of a Newton step: their matrix, the columns of their solvers and what they cost.

use stiction_contact::{ContactSet, solver::SolverReport};
use stiction_math::{
    BlockMatrix, CgReport, CrWorkspace, KrylovError, LinearOperator, OrthominWorkspace, Vec3,
};

/// Columns of the linear solvers.
#[derive(Default)]
pub(super) struct KrylovColumns {
    pub symmetric: CrWorkspace,
    pub truncated: OrthominWorkspace,
}

impl KrylovColumns {
    pub fn bytes(&self) -> usize {
        self.symmetric.bytes() + self.truncated.bytes()
    }
}

/// H with the derivative of the slips: A + Bᵀ G (1 + μ n τᵀ) B, where τ = u_T/‖u_T‖.
pub(super) struct Following<'a> {
    pub sum: &'a BlockMatrix,
    pub set: &'a ContactSet,
    /// Contact, μ G n and τ.
    pub slips: Vec<(usize, Vec3, Vec3)>,
}

impl LinearOperator for Following<'_> {
    fn len(&self) -> usize {
        self.sum.n()
    }

    fn apply(&self, x: &[Vec3], y: &mut [Vec3]) {
        self.sum.apply(x, y);
        for (c, force, slide) in &self.slips {
            let along = slide.dot(&self.set.velocity(*c, x));
            self.set.add_transpose_of(*c, &(force * along), y);
        }
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
