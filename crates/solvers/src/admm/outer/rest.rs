//! Bodies at rest, our addition to the paper: a start that is an answer ends the loop before it begins, and an
//! answer of bodies that rest is improved until it is such a start.

use stiction_contact::{
    Certificate, FrictionProblem,
    solver::{SolverReport, Task},
};
use stiction_math::{MatrixPart, Vec3};

use super::{Admm, Error, Run, Start};

/// Fraction of the bound on the certificate below which a start is taken as the answer: what contacts
/// are off by as velocities would be motion in every step.
const RESTS: f64 = 1e-4;

/// Fraction of the bound below which forces on elastic bodies are balanced: they move nothing where contacts hold, and do
/// not grow while starts are taken as they are. Rigid bodies and particles take the velocities of their impulses.
const BALANCED: f64 = 0.1;

/// Multiple of the bound on the certificate below which the velocities of an answer are those of rest: far above
/// what errors at the bound make of them in a heap, and far below visible motion.
const RESTING: f64 = 1e3;

/// Factorisations that bring an answer of bodies at rest from the bound to [`RESTS`] of it.
const SETTLING: usize = 10;

impl Admm {
    /// Whether the start is an answer already, which ends the loop before A + W is factorised: what
    /// rests is solved by what held it in the last step. Where the certificate ends the loop, and well
    /// below its bound, so that errors do not stay at the bound from step to step: contacts that hold do
    /// so to [`RESTS`] of it, forces on elastic bodies are balanced to [`BALANCED`] of it, with velocities
    /// eliminated as well.
    ///
    /// Elastic bodies that are slower than that are at rest: zero velocities are tried first, and nothing then moves, not
    /// even by rounding.
    pub(super) fn starts_solved(
        &mut self,
        task: &mut Task<'_>,
        run: &mut Run,
    ) -> Result<bool, Error> {
        let Some(polish) = self.config.polish.filter(|_| task.local.is_none()) else {
            return Ok(false);
        };
        let h = task.problem.h;
        let asked = polish
            .residual
            .map_or(run.tolerance, |residual| h * residual);
        run.rest = asked.min(run.asked);
        let loose = task.problem.a.parts().iter().any(is_loose);
        let mut judged = match loose {
            true => None,
            false => self.stands_still(task.problem, run)?,
        };
        if judged.is_none() {
            let start = self.certificate(task.problem, run.config.velocity)?;
            judged = self.accepted(task.problem, run, start, loose)?;
        }
        let Some(error) = judged else {
            return Ok(false);
        };
        let more = self.detect_more(task, run.config.velocity)?;
        run.report.new_contacts += more;
        if more > 0 {
            return Ok(false);
        }
        run.ended = true;
        run.report = SolverReport {
            converged: true,
            change: 0.0,
            settling: 0.0,
            error,
            ..run.report
        };
        Ok(true)
    }

    /// The error of the start [m/s] with zero velocities if it is slower than [`RESTS`] of the bound, and zero velocities
    /// are an answer; they are then the start.
    fn stands_still(&mut self, problem: &FrictionProblem, run: &Run) -> Result<Option<f64>, Error> {
        let slow = RESTS * run.rest / problem.h;
        if self.largest(|s, j| s.p[j]) > slow {
            return Ok(None);
        }
        let zero = vec![Vec3::zeros(); problem.blocks()];
        let v = std::mem::replace(&mut self.v, zero.clone());
        let p = std::mem::replace(&mut self.p, zero);
        let still = self.certificate(problem, run.config.velocity)?;
        let judged = self.accepted(problem, run, still, false)?;
        if judged.is_none() {
            (self.v, self.p) = (v, p);
        }
        Ok(judged)
    }

    /// The error of a start [m/s] if it is an answer.
    fn accepted(
        &mut self,
        problem: &FrictionProblem,
        run: &Run,
        start: Certificate,
        loose: bool,
    ) -> Result<Option<f64>, Error> {
        let (h, bound) = (problem.h, run.rest);
        let balanced = if loose { RESTS } else { BALANCED };
        if h * start.residual > RESTS * bound || h * start.linear > balanced * bound {
            return Ok(None);
        }
        if h * start.linear > RESTS * bound {
            // The factor is that of A, unless the start was given.
            if run.config.start == Start::Given {
                return Ok(None);
            }
            let r = self.impulses(problem);
            let change = self.unbalanced(problem, &r, None)?;
            if h * change > BALANCED * bound {
                return Ok(None);
            }
        }
        Ok(Some(start.solution_error()))
    }

    /// Improves an answer of rigid bodies and particles that rest until the next step can take it as it is.
    ///
    /// An answer at the bound is solved, but not at rest: every step would start from the error of the last one, and its
    /// own would be added until that is above the bound. A heap then moves in all digits that the bound leaves open, which
    /// long chains of contacts make many times the bound. Newton's method takes a few factorisations from
    /// there to rounding, and the steps that follow take none. Elastic bodies at rest are held by
    /// [`BALANCED`], and their factorisations are dearer.
    pub(super) fn settle(
        &mut self,
        problem: &mut FrictionProblem,
        run: &mut Run,
    ) -> Result<(), Error> {
        let speed = RESTING * run.rest / problem.h;
        let loose = || !problem.a.is_coupled() && problem.a.parts().iter().all(is_loose);
        if !run.settles || !loose() || self.largest(|s, j| s.p[j]) > speed {
            return Ok(());
        }
        run.settles = false;
        let bound = RESTS * run.rest / problem.h;
        if run.report.error > bound {
            self.improve(problem, (bound, SETTLING), &mut run.report)?;
        }
        Ok(())
    }
}

/// Whether a part of A joins no blocks but those of one rigid body: rigid bodies and particles.
fn is_loose(part: &MatrixPart) -> bool {
    match part {
        MatrixPart::Dense(_) => true,
        MatrixPart::Sparse(a) => a.pattern.nnz() == a.n(),
        MatrixPart::Banded(_) | MatrixPart::Scalar(_) => false,
    }
}
