//! The iteration of the paper: conjugate residuals between changes of state [verschoor2019, Alg. 1].

use stiction_contact::{
    CertifyConfig, FrictionProblem, certify,
    solver::{Iteration, Solution, SolverBytes, SolverReport, Task},
};
use stiction_math::{CgWorkspace, Vec3, reduce};

use super::{
    Config, CrPreconditioner, Error, Thresholds, conjugate,
    law::{FrictionState, Proposal},
};
use crate::kkt::{KktIteration, for_contacts, switching_interval};

/// Columns of a solve.
#[derive(Default)]
pub(super) struct Workspace {
    pub iteration: KktIteration,
    pub touches: Vec<FrictionState>,
    pub proposals: Vec<Option<Proposal>>,
    /// Masses of contacts [kg]: by the blocks of a stiff matrix, a change that moves a whole body looks small.
    pub rho: Vec<f64>,
    cg: CgWorkspace,
}

/// Growth of the residual since the last start that counts as a breakdown.
const GROWTH: f64 = 1e6;

/// Breakdowns before the diagonal preconditioner takes over.
const BREAKDOWNS: usize = 5;

impl Workspace {
    pub fn bytes(&self) -> SolverBytes {
        let [system, contacts] = self.iteration.bytes();
        SolverBytes {
            system,
            contacts: contacts + size_of_val(&self.touches[..]) + size_of_val(&self.proposals[..]),
        }
    }

    pub fn unconstrained(
        &mut self,
        problem: &FrictionProblem,
        form: CrPreconditioner,
        x: &mut [Vec3],
        tolerance: f64,
    ) -> Result<(), Error> {
        let approximation = &mut self.iteration.approximation;
        approximation.update_system(problem, form)?;
        conjugate(problem, approximation, x, tolerance, &mut self.cg)
    }

    /// Solves by the rules of the paper.
    pub fn solve(
        &mut self,
        task: &mut Task<'_>,
        solution: &mut Solution,
        config: &Config,
        thresholds: Thresholds,
    ) -> Result<SolverReport, Error> {
        self.begin(task.problem, solution, config)?;
        let mut report = SolverReport {
            change: f64::INFINITY,
            error: f64::INFINITY,
            asked: f64::INFINITY,
            ..SolverReport::default()
        };
        let mut breakdowns = 0;
        // Rows of the start: all that it says.
        self.evaluate(task.problem, &config.law, 0.0);
        self.accept(task.problem);
        self.iteration.restart(task.problem);
        let (mut revisions, mut revised) = (0, None);
        while report.iterations < config.max_iterations {
            Error::unless(task.cancel)?;
            let done = self.iteration.now == 0.0 || self.meets(task.problem, thresholds);
            if !done {
                report.iterations += 1;
                let step = self.iteration.step(task.problem);
                let alpha = step.unwrap_or(0.0);
                report.change = alpha.abs() * self.iteration.direction();
                (task.observer)(&Iteration {
                    number: report.iterations,
                    change: report.change,
                    restarted: self.iteration.since == 1,
                    projection: 0.0,
                });
                if !report.change.is_finite() || !self.iteration.now.is_finite() {
                    return Err(Error::Overflow {
                        iterations: report.iterations,
                        change: report.change,
                    });
                }
                let grown = self.iteration.now > GROWTH * self.iteration.first;
                let broken = step.is_none() || grown;
                if broken {
                    breakdowns += 1;
                    if breakdowns > BREAKDOWNS {
                        let form = CrPreconditioner::Diagonal;
                        self.iteration.change_preconditioner(task.problem, form)?;
                    }
                    self.iteration.refresh(task.problem);
                    self.iteration.restart(task.problem);
                }
                let due = self.is_due(task.problem, thresholds);
                if !broken && (alpha < 0.0 || !due) {
                    continue;
                }
            }
            if self.evaluate(task.problem, &config.law, thresholds.constraint) {
                self.accept(task.problem);
                self.iteration.restart(task.problem);
                continue;
            }
            if !done {
                continue;
            }
            // Solved for these contacts: others may have appeared, and their features moved. An answer
            // that needed no iteration after a revision is the answer.
            if revisions < config.max_revisions && revised != Some(report.iterations) {
                revisions += 1;
                revised = Some(report.iterations);
                if self.revise(task, config, &mut report)? {
                    self.evaluate(task.problem, &config.law, 0.0);
                    self.accept(task.problem);
                    self.iteration.restart(task.problem);
                    continue;
                }
            }
            report.converged = true;
            break;
        }
        let judged = certify(
            task.problem,
            &self.iteration.y.v,
            &self.iteration.y.c,
            &CertifyConfig::default(),
        )?;
        report.error = judged.solution_error();
        solution.v.clone_from(&self.iteration.y.v);
        solution.r.clone_from(&self.iteration.y.c);
        Ok(report)
    }

    /// Columns for the problem, and the start.
    fn begin(
        &mut self,
        problem: &FrictionProblem,
        start: &Solution,
        config: &Config,
    ) -> Result<(), Error> {
        let (krylov, form) = (config.krylov, config.preconditioner);
        self.iteration.begin(problem, start, krylov, form)?;
        self.touches.clear();
        self.touches
            .resize(problem.contacts.len(), FrictionState::fresh());
        self.resize(problem);
        Ok(())
    }

    /// Columns that follow the contacts, without those of the iteration.
    pub(super) fn resize(&mut self, problem: &FrictionProblem) {
        let m = problem.contacts.len();
        self.rho.resize(m, 0.0);
        for_contacts(&mut self.rho, |c, rho| {
            *rho = 1.0 / problem.contacts.scale(c, &problem.mass);
        });
        self.proposals.clear();
        self.proposals.resize(m, None);
    }

    /// Whether contacts are evaluated now [verschoor2019, Alg. 2, line 2].
    fn is_due(&self, problem: &FrictionProblem, at: Thresholds) -> bool {
        let size = self.iteration.now / (at.relative * self.weight(problem));
        self.iteration
            .since
            .is_multiple_of(switching_interval(size))
    }

    /// ‖f‖ in the norm of the residual [√J].
    fn weight(&self, problem: &FrictionProblem) -> f64 {
        self.iteration
            .approximation
            .size(&problem.f)
            .max(f64::MIN_POSITIVE)
    }

    /// Whether the equations of the active rows are solved.
    fn meets(&self, problem: &FrictionProblem, at: Thresholds) -> bool {
        let rows = reduce::norm_inf(&self.iteration.residual.c);
        problem.h * rows < at.constraint && self.iteration.now < at.relative * self.weight(problem)
    }
}
